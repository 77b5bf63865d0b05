"""The sections of the report about the paper's claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pdrm.drawing.markup import Markup, html, join, number, table
from pdrm.experiments.study_report import Section, badge, bullets, details
from pdrm.paper.judging import DOES_NOT_HOLD, HOLDS, JudgedClaim
from pdrm.paper.readings import Cell, about_readings, count_holding

CLASSES = {HOLDS: "holds", DOES_NOT_HOLD: "fails"}
RULES = Markup(
    "<p>Each claim of the paper is a rule over the recorded runs. <em>Achieves</em>: in the median "
    "over the seeds, every episode of the last evaluation completes the task. <em>Before</em>, "
    "<em>faster</em>: less training until the median return has covered 90 % of the range from the "
    "lowest return to the best final median of the paper's agents. The rules were fixed before the "
    "runs. Any choice made after seeing results is given below its claim.</p>"
)
ABOUT_READINGS = Markup(
    "<p>Each row changes one choice that the paper leaves open. A claim that holds in its whole "
    "column is robust. <code>pdrm reproduce readings</code> runs all readings.</p>"
)


def claims_section(judged: Sequence[JudgedClaim], anchors: Mapping[str, str]) -> Section:
    """The table of claims; `anchors` has the anchor of each study."""
    rows = [_claim(claim, anchors.get(claim.claim.study)) for claim in judged]
    return Section("claims", "Claims", RULES + table(["verdict", "id", "claim"], rows))


def _claim(judged: JudgedClaim, anchor: str | None) -> list[str]:
    record = judged.record()
    claim = judged.claim
    text = html("a", claim.text, href=f"#{anchor}") if anchor else claim.text
    notes = [note for note in (*remarks(record), judged.why) if note]
    soft = [html("div", note, class_="soft") for note in notes]
    body = join([text, *soft, _parts(record["parts"])])
    return [_verdict(judged.verdict), html("code", claim.id), body]


def remarks(record: Mapping[str, Any]) -> list[str]:
    """Remarks on a verdict: few seeds, packaged runs, single deciding seeds, and late choices."""
    seeds = record["seeds"]
    found = []
    if seeds is not None and seeds < record["of_seeds"]:
        found.append(f"judged by only {seeds} of {record['of_seeds']} seeds")
    if device := record["recorded_on"]:
        command = f"pdrm reproduce {record['figure']}"
        found.append(f"judged by packaged runs, recorded on {device}; for your own: {command}")
    if record["knife_edge"]:
        found.append(f"on a knife edge: {record['knife_edge']}")
    if record["chosen_after_results"]:
        found.append(f"chosen after seeing results: {record['chosen_after_results']}")
    return found


def _verdict(verdict: str) -> Markup:
    return badge(verdict, CLASSES.get(verdict, "none"))


def _parts(parts: Sequence[Mapping[str, Any]]) -> Markup:
    """The parts of a claim that fail, and a collapsible list of the others."""

    def describe(part: Mapping[str, Any]) -> str:
        return f"{part['text']} ({numbers_text(part['numbers'])})"

    failing = [describe(part) for part in parts if not part["holds"]]
    holding = [describe(part) for part in parts if part["holds"]]
    body = join(html("div", f"fails: {text}", class_="soft") for text in failing)
    if holding:
        body += details(f"parts that hold: {len(holding)}", bullets(holding))
    return body


def numbers_text(numbers: Mapping[str, Any]) -> str:
    """The numbers of a part as text.

    >>> numbers_text({"median_success": 1.0, "late": None})
    'median success 1, late never'
    >>> numbers_text({"loss": [98008.0, None], "share_from": 0.0, "share_to": 0.25})
    'loss 98,008 to unknown, share 0 to 0.25'
    """
    text = ", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in numbers.items())
    return text.replace("share from", "share").replace(", share to", " to")


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
        case [low, high]:
            return f"{_value(low)} to {'unknown' if high is None else _value(high)}"
        case _:
            return str(value)


def readings_section(cells: Sequence[Cell]) -> Section:
    """A table of verdicts for each figure, with a row per reading and a column per claim."""
    body = ABOUT_READINGS
    for figure in dict.fromkeys(cell.figure for cell in cells):
        about = about_readings(figure)
        of_figure = [cell for cell in cells if cell.figure == figure]
        claims = list(dict.fromkeys(cell.record["id"] for cell in of_figure))
        by_key = {(cell.reading, cell.record["id"]): cell for cell in of_figure}
        rows = [[html("b", "holds under"), *(count_holding(of_figure, claim) for claim in claims)]]
        for reading in dict.fromkeys(cell.reading for cell in of_figure):
            title = html("code", reading) + html("div", about.get(reading, ""), class_="soft")
            rows.append([title, *(_cell(by_key.get((reading, claim))) for claim in claims)])
        body += html("h3", figure) + table(["reading", *claims], rows)
    return Section("readings", "Claims under other readings", body)


def _cell(cell: Cell | None) -> Markup:
    if cell is None:
        return badge("not run", "none")
    origin = " (packaged)" if cell.came_with_package else ""
    seeds = html("div", cell.basis + origin, class_="soft")
    parts = details("parts", _parts(cell.record["parts"])) if cell.record["parts"] else ""
    return _verdict(cell.record["verdict"]) + seeds + parts
