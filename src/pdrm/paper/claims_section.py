"""The claims of the paper with their verdicts, and the results as one small table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pdrm.drawing.markup import Markup, html, join, number, table
from pdrm.experiments.curves import Curves
from pdrm.paper.evidence import DOES_NOT_HOLD, HOLDS, Judged, Part
from pdrm.paper.page import Section, badge, bullets, details
from pdrm.paper.readings import Cell, about_readings, count_holding

CLASSES = {HOLDS: "holds", DOES_NOT_HOLD: "fails"}
MARK = "†"
RULES = Markup(
    "<p>Each claim of the paper is a rule over the recorded runs. <em>Achieves</em>: in the median over the seeds, every episode of "
    "the final test achieves the task. <em>Before</em>, <em>faster</em>: less training until the median return is 90 % of "
    "the way from the lowest return there is to the best final median of the paper's agents.</p>"
)


def claims_section(judged: Sequence[Judged], anchors: Mapping[str, str]) -> Section:
    """The table of claims, a row each; `anchors` says where the figure of each study is."""
    rows = [_claim(one, anchors.get(one.claim.study)) for one in judged]
    return Section(
        "claims", "Claims", RULES + _marked(judged) + table(["verdict", "id", "claim"], rows)
    )


def _claim(one: Judged, anchor: str | None) -> list[str]:
    edge = one.knife_edge and "on a knife edge"
    rests = [
        text
        for text in (one.too_few, one.recorded_on and f"recorded on {one.recorded_on}", edge)
        if text
    ]
    verdict = join([badge(one.verdict, CLASSES.get(one.verdict, "none")), *rests], "<br>")
    text = html("a", one.claim.text, href=f"#{anchor}") if anchor else one.claim.text
    return [verdict, html("code", one.claim.id), join((text, _afterwards(one), _why(one)))]


def _marked(judged: Sequence[Judged]) -> Markup:
    """Which verdicts owe something to what was seen."""
    marked = [html("code", one.claim.id) for one in judged if one.claim.afterwards]
    if not marked:
        return html("p", "The rules were fixed before the runs were made.")
    return html(
        "p",
        "The rules were fixed before the runs were made, but not every reading of the paper that they rest on: those marked "
        f"{MARK} (",
        join(marked, ", "),
        ") owe their verdict to a choice made after results had been seen, which is given below them.",
    )


def _afterwards(one: Judged) -> Markup:
    said = f"{MARK} chosen after seeing results: {one.claim.afterwards}."
    return (
        Markup(f" {MARK}") + html("div", said, class_="soft")
        if one.claim.afterwards
        else Markup("")
    )


# --- Every claim under every reading of what the paper leaves open.

ABOUT_READINGS = Markup(
    "<p>What the paper leaves open we decided by argument, and these are the verdicts if one thing is decided otherwise. A cell says "
    "how many parts of the claim hold, of how many, and by how many seeds; its numbers fold out. A claim that holds in its whole "
    "column is robust. Readings that nobody has run are not shown: <code>pdrm reproduce readings</code> runs them all.</p>"
)


def readings_section(cells: Sequence[Cell]) -> Section:
    """A matrix for each figure: readings by claims, and under how many of them each claim holds."""
    body = ABOUT_READINGS
    for figure in dict.fromkeys(cell.figure for cell in cells):
        mine, about = [cell for cell in cells if cell.figure == figure], about_readings(figure)
        claims = list(dict.fromkeys(cell.record["id"] for cell in mine))
        found = {(cell.reading, cell.record["id"]): cell for cell in mine}
        rows = [[html("b", "holds under"), *(count_holding(mine, claim) for claim in claims)]]
        for reading in dict.fromkeys(cell.reading for cell in mine):
            named = html("code", reading) + html("div", about.get(reading, ""), class_="soft")
            rows.append([named, *(_cell(found.get((reading, claim))) for claim in claims)])
        body += html("h3", figure) + table(["reading", *claims], rows)
    return Section("readings", "Claims under other readings", body)


def _cell(cell: Cell | None) -> Markup:
    if cell is None:
        return badge("not run", "none")
    holding, parts = cell.parts
    seeds = cell.record["seeds"]
    rests = f"{holding} of {parts}" + (
        "" if seeds is None else f", {seeds} seed{'s' * (seeds != 1)}"
    )
    came = " (came with pdrm)" if cell.came_with_package else ""
    numbers = [
        f"{'holds' if part['holds'] else 'not so'}: {part['text']} ({_numbers(part['numbers'])})"
        for part in cell.record["parts"]
    ]
    mark = badge(cell.verdict, CLASSES.get(cell.verdict, "none"))
    return (
        mark
        + html("div", rests + came, class_="soft")
        + (details("numbers", bullets(numbers)) if numbers else Markup(""))
    )


def _why(one: Judged) -> Markup:
    if not one.parts:
        return html("div", one.why, class_="soft") if one.why else Markup("")
    edge = (
        html("div", f"on a knife edge: {one.knife_edge}", class_="soft")
        if one.knife_edge
        else Markup("")
    )
    failed = edge + join(
        html("div", f"not so: {_part(part)}", class_="soft") for part in one.parts if not part.holds
    )
    rest = [_part(part) for part in one.parts if part.holds]
    count = f"{len(rest)} part{'s' * (len(rest) != 1)} that hold{'s' * (len(rest) == 1)}"
    return failed + (details(count, bullets(rest)) if rest else Markup(""))


def _part(part: Part) -> str:
    return f"{part.text} ({_numbers(part.numbers)})"


def _numbers(numbers: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in numbers.items())


def _value(value: Any) -> str:
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
    "summary, ours": "summary (ours)",
    "hier. 1": "hierarchical 1-pdRM",
    "Q-CRA": "Q-CRA",
    "CQL-CRA": "CQL-CRA",
}
"""Heading -> the line it shows, for the paper's figures."""


def results_markdown(lines: Sequence[Curves], columns: Mapping[str, str] | None = None) -> str:
    """The table in Markdown, with those of the columns given that have something in them, or one for each line; "9/10": on nine of ten seeds."""
    shown = {curves.line.name: curves.line.name for curves in lines}
    chosen = {name: line for name, line in (columns or shown).items() if line in shown}
    found = {(one.panel.name, one.line.name): f"{one.achieving}/{len(one.seeds)}" for one in lines}
    panels = dict.fromkeys(curves.panel.name for curves in lines)
    results = [
        [f"`{panel}`", *(found.get((panel, line), "") for line in chosen.values())]
        for panel in panels
    ]
    rows = [["task", *chosen], ["---"] * (1 + len(chosen)), *results]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
