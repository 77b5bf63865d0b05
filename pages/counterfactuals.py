"""The table of the page on Stable-Baselines3 that says what counterfactuals bring to its DQN, from its record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).parent.parent / "docs"
RECORD, PAGE = DOCS / "counterfactual-dqn.json", DOCS / "stable-baselines3.md"
BEGIN = "<!-- counterfactuals: written by python -m pages stable-baselines3.md -->"
END = "<!-- end of counterfactuals -->"
ENOUGH = 0.9
"""The share of a test's episodes that must deliver for the task to count as learnt."""


def table(record: dict[str, Any]) -> str:
    """How soon each agent learnt, and how it ended."""
    seeds = len(next(iter(record["lines"].values())))
    rows = [
        "| agent | seeds that learnt it | steps until then, median | last tests: delivered | last tests: mean return |",
        "|---|---|---|---|---|",
    ]
    for name, runs in record["lines"].items():
        firsts = [_learnt_at(record["at"], run["delivered"]) for run in runs]
        met = [first for first in firsts if first is not None]
        # A seed that never learnt it counts as later than all others.
        ordered = sorted(first if first is not None else float("inf") for first in firsts)
        middle = (ordered[(seeds - 1) // 2] + ordered[seeds // 2]) / 2
        median = f"{middle:,.0f}" if np.isfinite(middle) else f"more than {record['at'][-1]:,}"
        last = np.mean([run["delivered"][-1] for run in runs])
        gained = np.mean([run["returns"][-1] for run in runs])
        rows.append(f"| {name} | {len(met)} of {seeds} | {median} | {last:.0%} | {gained:.2f} |")
    seconds = sum(run["seconds"] for runs in record["lines"].values() for run in runs)
    made = f"*`{record['made_by']}`: {seconds / 60:.0f} minutes of one core, Stable-Baselines3 {record['stable_baselines3']}.*"
    return "\n".join([*rows, "", made])


def _learnt_at(at: list[int], delivered: list[float]) -> int | None:
    """The first test from which on two in a row deliver."""
    for step, one, other in zip(at, delivered, [*delivered[1:], delivered[-1]], strict=True):
        if min(one, other) >= ENOUGH:
            return step
    return None


def sb3_page() -> str:
    """The page, with the table as the record has it."""
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    return f"{before}{BEGIN}\n{table(json.loads(RECORD.read_text(encoding='utf-8')))}\n{END}{after}"
