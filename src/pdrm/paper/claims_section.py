"""The claims of the paper with their verdicts, as a part of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pdrm.drawing.markup import Markup, html, join, number, table
from pdrm.experiments.study_report import Section, badge, bullets, details
from pdrm.paper.judging import DOES_NOT_HOLD, HOLDS, JudgedClaim
from pdrm.paper.readings import Cell, about_readings, count_holding

CLASSES = {HOLDS: "holds", DOES_NOT_HOLD: "fails"}
RULES = Markup(
    "<p>Each claim of the paper is a rule over the recorded runs. <em>Achieves</em>: in the median over the seeds, every episode of "
    "the last evaluation completes the task. <em>Before</em>, <em>faster</em>: less training until the median return is 90 % of "
    "the way from the lowest return there is to the best final median of the paper's agents. The rules were fixed before the runs "
    "were made; a choice made after results had been seen is given below the claim that it decides.</p>"
)
ABOUT_READINGS = Markup(
    "<p>What the paper leaves open we decided by argument, and these are the verdicts if one thing is decided otherwise. A claim that "
    "holds in its whole column is robust. <code>pdrm reproduce readings</code> runs them all.</p>"
)


def claims_section(judged: Sequence[JudgedClaim], anchors: Mapping[str, str]) -> Section:
    """The table of claims; `anchors` has the anchor of each study."""
    rows = [_claim(one, anchors.get(one.claim.study)) for one in judged]
    return Section("claims", "Claims", RULES + table(["verdict", "id", "claim"], rows))


def _claim(one: JudgedClaim, anchor: str | None) -> list[str]:
    record = one.record()
    text = html("a", one.claim.text, href=f"#{anchor}") if anchor else one.claim.text
    soft = [html("div", remark, class_="soft") for remark in (*remarks(record), one.why) if remark]
    shown = join([text, *soft, _parts(record["parts"])])
    return [_verdict(one.verdict), html("code", one.claim.id), shown]


def remarks(record: Mapping[str, Any]) -> list[str]:
    """The remarks on a verdict: what it rests on, and what it hangs on."""
    seeds, of_seeds, device = record["seeds"], record["of_seeds"], record["recorded_on"]
    again = f"your own: pdrm reproduce {record['figure']}"
    found = {
        f"judged by {seeds} of {of_seeds} seeds only": seeds is not None and seeds < of_seeds,
        f"judged by runs that came with pdrm, recorded on {device}; {again}": device,
        f"on a knife edge: {record['knife_edge']}": record["knife_edge"],
        f"chosen after seeing results: {record['chosen_after_results']}": record[
            "chosen_after_results"
        ],
    }
    return [remark for remark, applies in found.items() if applies]


def _verdict(verdict: str) -> Markup:
    return badge(verdict, CLASSES.get(verdict, "none"))


def _parts(parts: Sequence[Mapping[str, Any]]) -> Markup:
    """The parts of a claim: those that fail, and to open, those that hold."""

    def write(part: Mapping[str, Any]) -> str:
        return f"{part['text']} ({numbers_text(part['numbers'])})"

    failing = [f"not so: {write(part)}" for part in parts if not part["holds"]]
    holding = [write(part) for part in parts if part["holds"]]
    shown = join(html("div", text, class_="soft") for text in failing)
    return shown + (
        details(f"parts that hold: {len(holding)}", bullets(holding)) if holding else ""
    )


def numbers_text(numbers: Mapping[str, Any]) -> str:
    """The numbers of a part in a line.

    >>> numbers_text({"median_success": 1.0, "late": None})
    'median success 1, late never'
    >>> numbers_text({"loss": [98008.0, None], "share_from": 0.0, "share_to": 0.25})
    'loss 98,008 to not known, share 0 to 0.25'
    """
    said = ", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in numbers.items())
    return said.replace("share from", "share").replace(", share to", " to")


def _value(value: Any) -> str:
    match value:
        case None:
            return "never"
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return number(float(value))
        case dict():
            return "; ".join(f"{name}: {_value(inner)}" for name, inner in value.items())
        case [least, most]:
            return f"{_value(least)} to {'not known' if most is None else _value(most)}"
        case _:
            return str(value)


def readings_section(cells: Sequence[Cell]) -> Section:
    """A matrix for each figure: readings by claims, and the number of readings under which each claim holds."""
    body = ABOUT_READINGS
    for figure in dict.fromkeys(cell.figure for cell in cells):
        mine = [cell for cell in cells if cell.figure == figure]
        about = about_readings(figure)
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
    came = " (came with pdrm)" if cell.came_with_package else ""
    rests = html("div", cell.rests + came, class_="soft")
    parts = details("parts", _parts(cell.record["parts"])) if cell.record["parts"] else ""
    return _verdict(cell.verdict) + rests + parts
