"""The results in a small table: for each task and agent, on how many seeds every episode of the final test achieved it."""

from __future__ import annotations

from collections.abc import Sequence

from pdrm.experiments.curves import Curves

COLUMNS = {
    "pdRM": "pdRM",
    "1-pdRM": "1-pdRM",
    "0-pdRM": "0-pdRM (ours)",
    "CpRM": "CpRM",
    "1-CpRM": "1-CpRM",
    "1-CpRM, ours": "1-CpRM, deduplicated (ours)",
    "hier. 1": "hierarchical 1-pdRM",
    "Q-CRA": "Q-CRA",
    "CQL-CRA": "CQL-CRA",
}
"""Heading -> the line it shows."""


def results_markdown(lines: Sequence[Curves]) -> str:
    """The table, in Markdown; "9/10": on nine of ten seeds."""
    panels = dict.fromkeys(curves.panel.name for curves in lines)
    found = {(curves.panel.name, curves.line.name): curves for curves in lines}
    rows = [["task", *COLUMNS], ["---"] * (1 + len(COLUMNS))]
    for panel in panels:
        cells = [_cell(found.get((panel, line))) for line in COLUMNS.values()]
        rows.append([f"`{panel}`", *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(curves: Curves | None) -> str:
    return "" if curves is None else f"{int((curves.final_success == 1).sum())}/{len(curves.seeds)}"
