"""The results in a small table: for each task and agent, on how many seeds every episode of the final test achieved it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    """The table of the paper's figures, in Markdown; "9/10": on nine of ten seeds."""
    return _markdown(lines, COLUMNS)


def own_results_markdown(lines: Sequence[Curves]) -> str:
    """The same of studies of one's own: a column a line."""
    return _markdown(lines, {curves.line.name: curves.line.name for curves in lines})


def _markdown(lines: Sequence[Curves], columns: Mapping[str, str]) -> str:
    panels = dict.fromkeys(curves.panel.name for curves in lines)
    found = {(curves.panel.name, curves.line.name): curves for curves in lines}
    rows = [["task", *columns], ["---"] * (1 + len(columns))]
    for panel in panels:
        cells = [_cell(found.get((panel, line))) for line in columns.values()]
        rows.append([f"`{panel}`", *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(curves: Curves | None) -> str:
    return "" if curves is None else f"{int((curves.final_success == 1).sum())}/{len(curves.seeds)}"
