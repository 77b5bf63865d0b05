"""The table of the page on Stable-Baselines3 that says what counterfactuals bring to its DQN, from its record."""

from __future__ import annotations

import json
from itertools import pairwise
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
    every = record["steps_between_tests"]
    rows = [
        "| agent | trained for | seeds that learnt it | steps until then: median | earliest, latest | last tests: delivered |",
        "|---|---|---|---|---|---|",
    ]
    for name, line in record["lines"].items():
        runs = line["runs"]
        learnt = [_learnt_at(every, run["delivered"]) for run in runs]
        met = [at for at in learnt if at is not None]
        # A seed that never learnt it counts as later than all others.
        middle = np.median([np.inf if at is None else at for at in learnt])
        median = f"{middle:,.0f}" if np.isfinite(middle) else f"more than {line['steps']:,}"
        spread = f"{min(met):,}, {max(met):,}" if met else "none"
        last = np.mean([run["delivered"][-1] for run in runs])
        rows.append(
            f"| {name} | {line['steps']:,} | {len(met)} of {len(runs)} | {median} | {spread} | {last:.0%} |"
        )
    seconds = sum(run["seconds"] for line in record["lines"].values() for run in line["runs"])
    made = f"*`{record['made_by']}`: {seconds / 60:.0f} minutes of one core, Stable-Baselines3 {record['stable_baselines3']}.*"
    return "\n".join([*rows, "", made])


def _learnt_at(every: int, delivered: list[float]) -> int | None:
    """The steps before the first of two tests in a row that deliver; None: there are no two such tests."""
    for number, (one, other) in enumerate(pairwise(delivered), start=1):
        if min(one, other) >= ENOUGH:
            return number * every
    return None


def sb3_page() -> str:
    """The page, with the table as the record has it."""
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    return f"{before}{BEGIN}\n{table(json.loads(RECORD.read_text(encoding='utf-8')))}\n{END}{after}"
