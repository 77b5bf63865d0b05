"""The claims of the paper with their verdicts, and the results as one small table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from pdrm.experiments.claims import DOES_NOT_HOLD, HOLDS, Judged, Part
from pdrm.experiments.curves import Curves
from pdrm.report.page import Section, details, number, table

# --- The claims of the paper, one row each: the verdict, the numbers it rests on, and the figure.

CLASSES = {HOLDS: "holds", DOES_NOT_HOLD: "fails"}
MARK = "†"
RULES = (
    "<p>Each claim of the paper is a rule over the recorded runs. <em>Achieves</em>: in the median over the seeds, every episode of "
    "the final test achieves the task. <em>Before</em>, <em>faster</em>: fewer training episodes until the median return is 90 % of "
    "the way from the lowest return there is to the best final median of the paper's agents.</p>"
)


def badge(verdict: str) -> str:
    """A verdict, in its colour."""
    return f'<span class="badge {CLASSES.get(verdict, "none")}">{escape(verdict)}</span>'


def claims_section(judged: Sequence[Judged], anchors: Mapping[str, str]) -> Section:
    """The table of claims; `anchors` says where the figure of each study is."""
    rows = []
    for one in judged:
        link = anchors.get(one.claim.figure)
        text = escape(one.claim.text)
        shown = f'<a href="#{link}">{text}</a>' if link else text
        verdict = badge(one.verdict) + (f"<br>{one.too_few}" if one.too_few else "")
        rows.append([verdict, f"<code>{escape(one.claim.id)}</code>", shown + _afterwards(one) + _why(one)])
    return Section("claims", "Claims", RULES + _marked(judged) + table(["verdict", "id", "claim"], rows))


def _marked(judged: Sequence[Judged]) -> str:
    """Which verdicts owe something to what was seen."""
    marked = [one.claim.id for one in judged if one.claim.afterwards]
    if not marked:
        return "<p>The rules were fixed before the runs were made.</p>"
    named = ", ".join(f"<code>{escape(name)}</code>" for name in marked)
    return (
        "<p>The rules were fixed before the runs were made, but not every reading of the paper that they rest on: those marked "
        f"{MARK} ({named}) owe their verdict to a choice made after results had been seen, which stands below them.</p>"
    )


def _afterwards(one: Judged) -> str:
    if not one.claim.afterwards:
        return ""
    return f' {MARK}<div class="soft">{MARK} chosen after seeing results: {escape(one.claim.afterwards)}.</div>'


def _why(one: Judged) -> str:
    if not one.parts:
        return f'<div class="soft">{escape(one.why)}</div>' if one.why else ""
    failed = [part for part in one.parts if not part.holds]
    shown = "".join(f'<div class="soft">not so: {_part(part)}</div>' for part in failed)
    rest = [part for part in one.parts if part.holds]
    opened = "".join(f"<li>{_part(part)}</li>" for part in rest)
    count = f"{len(rest)} part{'s' * (len(rest) != 1)} that hold{'s' * (len(rest) == 1)}"
    return shown + (details(count, f"<ul>{opened}</ul>") if rest else "")


def _part(part: Part) -> str:
    return f"{escape(part.text)} ({_numbers(part.numbers)})"


def _numbers(numbers: Mapping[str, Any]) -> str:
    return escape(", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in numbers.items()))


def _value(value: Any) -> str:  # noqa: ANN401 - JSON
    if isinstance(value, bool) or value is None:
        return {None: "never", True: "yes", False: "no"}[value]
    if isinstance(value, (int, float)):
        return number(float(value))
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_value(inner)}" for name, inner in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_value(inner) for inner in value[:8]) + (" …" if len(value) > 8 else "")
    return str(value)


# --- The results in a small table: for each task and agent, on how many seeds every episode of the final test achieved it.

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
