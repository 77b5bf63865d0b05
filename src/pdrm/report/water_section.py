"""WaterWorld in the report: Figure 5 as printed, and what is ours beside it; from one's own records or those of the package."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from pdrm.drawing.plots import plot_bytes
from pdrm.errors import NotRecorded
from pdrm.experiments.claims import Part
from pdrm.experiments.paper.paper_claims import parts_17, parts_20
from pdrm.experiments.water_records import OWN, Record, endings, records
from pdrm.files import write_atomically
from pdrm.report.curve_plots import water_plot
from pdrm.report.page import Section, details, number, picture, table

ANCHOR = "study-water"
HEADS = ("map", "agent", "steps", "seeds", "return, median", "achieved, mean", "episode length")


class Shown(NamedTuple):
    """A study of WaterWorld in the report."""

    study: str
    title: str
    text: str


STUDIES = (
    Shown("printed", "Figure 5, with the paper's settings", "The claims are judged by these."),
    Shown(
        "tuned",
        "Ours: the same agents, tuned",
        "Many environments side by side, rewards scaled for the networks, a larger learning rate. The same task, and what the "
        "paper found.",
    ),
    Shown(
        "off-policy",
        "Ours: DQN and SAC, with and without counterfactual experiences",
        "The part that the paper's authors could not finish: SAC with CpRM; and DQN. All see the machine's state and the top of "
        "its stack.",
    ),
    Shown(
        "strict",
        "Ours: a wrong touch ends the episode",
        "In the printed machine touching the wrong ball costs nothing, so an agent without memory may touch both in turn. Here it "
        "may not.",
    ),
)


def water_section(folder: Path, figures: Path) -> Section | None:
    """All studies that are recorded, the figures also written as files; None where none is."""
    parts = []
    for shown in STUDIES:
        try:
            found = records(shown.study, folder / OWN)
        except NotRecorded:
            continue
        parts.append(_study(shown, found, figures))
    return Section(ANCHOR, "WaterWorld: deep agents with a stack", "".join(parts)) if parts else None


def _study(shown: Shown, found: Sequence[Record], figures: Path) -> str:
    tests = [test for record in found for test in record.tests]
    figure = water_plot(tests)
    for kind in ("pdf", "png"):
        write_atomically(figures / f"water-{shown.study}.{kind}", plot_bytes(figure, kind))
    caption = f"{shown.title}: median and quartiles over seeds; the dotted line is the highest return"
    rows = [
        [
            one.domain,
            escape(one.line),
            f"{one.timesteps / 1e6:.1f} M",
            str(one.seeds),
            number(one.returned),
            f"{one.mean_achieved * 100:.0f} %",
            number(round(one.steps)),
        ]
        for one in endings(tests)
    ]
    own = all(record.own for record in found)
    badge = "" if own else ' <span class="badge none">recorded</span>'
    return (
        f"<h3>{escape(shown.title)}{badge}</h3><p>{escape(shown.text)} {_made(found, own=own)}</p>"
        + details("the command", _commands(found))
        + picture(plot_bytes(figure, "svg"), "svg", caption, escape(caption))
        + table(HEADS, rows, numbers=range(2, len(HEADS)))
        + (_by_our_settings(list(found)) if shown.study == "tuned" else "")
    )


def _made(found: Sequence[Record], *, own: bool) -> str:
    """Where the numbers come from."""
    devices = ", ".join(sorted({record.about["device"] for record in found}))
    seconds = sum(record.about["seconds"] for record in found)
    steps = sum(record.about["timesteps"] for record in found)
    where = "Run here, on" if own else "Not run here: recorded on"
    return f"{where} {escape(devices)}, {steps / 1e6:,.0f} million steps in {seconds:,.0f} s."


def _commands(found: Sequence[Record]) -> str:
    return "".join(
        f"<div><code>{escape(text)}</code></div>" for text in dict.fromkeys(one.about["command"] for one in found)
    )


def _by_our_settings(found: list[Record]) -> str:
    """What the rules of the claims say of the tuned agents."""
    items = "".join(f"<li>{_verdict(part)}</li>" for part in (*parts_17(found), *parts_20(found)))
    return details("what the paper says of Figure 5, by these runs", f"<ul>{items}</ul>")


def _verdict(part: Part) -> str:
    return f"{'holds' if part.holds else 'does not hold'}: {escape(part.text)}"
