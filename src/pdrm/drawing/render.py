"""`draw`: the picture of a machine, a run on a word, a domain or a task.

A `Drawing` is rendered when it is shown in a notebook, printed or saved.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.pictures import Pixels, draw_state, draw_text, draw_water
from pdrm.domains.user_worlds import JaxWorld, UserEnvironment
from pdrm.domains.water import START_NUMBERS, WaterWorld, begin
from pdrm.drawing.figure import make_figure, spell
from pdrm.drawing.graphviz import FONT, escape_html, render_dot, to_dot
from pdrm.drawing.markup import Markup, data_url, html, join, listing, picture, table
from pdrm.drawing.rows import Cells
from pdrm.drawing.tikz import to_tikz
from pdrm.drawing.trace import HEADINGS, AnyStep, describe_end, trace_run, write_trace
from pdrm.errors import UnknownFormat, WrongKind
from pdrm.files import FilePath, write_atomically
from pdrm.machines.machine import AnyKind, Machine
from pdrm.machines.transitions import MachineRun
from pdrm.task import Task, find_machine

FORMATS = (".svg", ".png", ".pdf", ".dot", ".tex")
"""The file formats of a machine's drawing."""

MAX_EDGES = 150
"""Maximum number of edges drawn in a notebook. For more, Graphviz would take too long."""

MAX_LINES = 40
"""Maximum number of rules, or rows of a table, that are shown or printed."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """The result of `draw`, for notebooks, `print` (as text) and `save`."""

    formats: Sequence[str]
    """The file formats, without the dot."""
    make: Callable[[str], bytes]
    """Returns the contents of a file in one of these formats."""
    text: Callable[[], str]
    html: Callable[[], Markup]

    def __repr__(self) -> str:
        return f"<Drawing: {', '.join(f'.{name}' for name in self.formats)}>"

    def __str__(self) -> str:
        return self.text()

    def render(self, format: str) -> bytes:
        """Render the picture in a format, with or without the dot."""
        name = format.removeprefix(".").lower()
        if name not in self.formats:
            endings = ", ".join(f".{known}" for known in self.formats)
            fault = f"`{format}` is not a format for this drawing"
            raise UnknownFormat(fault, fix=f"use one of {endings}")
        return self.make(name)

    def save(self, path: FilePath) -> None:
        """Write the drawing to a file, in the format given by its suffix."""
        write_atomically(Path(path), self.render(Path(path).suffix))

    def _repr_html_(self) -> str:
        return self.html()


def draw(what: object, path: FilePath | None = None) -> Drawing:
    """Draw a machine, a run on a word, a domain or a task.

    Args:
        what: One of these, or a machine's name, file or text.
        path: A file to write (optional). Its suffix is the format: .svg, .png, .pdf, .dot or .tex
            for a machine, all but .tex for a run, .png for a domain, .svg or .html for a
            task.

    >>> from pdrm.language.loading import catalogue
    >>> print(draw(catalogue("anbn")))
    anbn: starts in left, ends in yes or no
      left → left: a, z / A z, 0
      left → right: b, A / ε, 0
      right → right: b, A / ε, 0
      right → yes: ε, # / #, 1
      left → no: otherwise, 0
      right → no: otherwise, 0
      otherwise (dashed): go to no, 0
    """
    if isinstance(what, str | os.PathLike):
        what = find_machine(what)
    match what:
        case Machine():
            drawing = _draw_machine(what)
        case MachineRun():
            drawing = _draw_run(what)
        case FiniteDomain():
            start = int(what.arrays.start_state[0])
            text = partial(draw_text, what, start, repr(what))
            drawing = _draw_domain(what, partial(draw_state, what, start), text)
        case WaterWorld():
            numbers = np.random.default_rng(0).random(START_NUMBERS).astype(np.float32)
            pixels = partial(draw_water, what, begin(what, numbers, np))
            drawing = _draw_domain(what, pixels, partial(repr, what))
        case UserEnvironment() | JaxWorld():
            text = partial(str, f"{what.name}: an environment")
            drawing = Drawing((), str.encode, text, lambda: html("p", text()))
        case Task():
            drawing = _draw_task(what)
        case _:
            fault = f"a {type(what).__name__} cannot be drawn"
            raise WrongKind(fault, fix="give a machine, a run of a machine, a domain or a task")
    if path is not None:
        drawing.save(path)
    return drawing


# --- A machine


def _draw_machine(machine: AnyKind) -> Drawing:
    def make(format: str) -> bytes:
        if format == "tex":
            return to_tikz(machine).encode()
        return render_dot(to_dot(machine), format)

    def show() -> Markup:
        if len({(rule.source, rule.target) for rule in machine.transitions}) > MAX_EDGES:
            return listing(_list_rules(machine))
        return picture(make("svg"), "svg", machine.name)

    formats = [ending.removeprefix(".") for ending in FORMATS]
    return Drawing(formats, make, partial(_list_rules, machine), show)


def _list_rules(machine: AnyKind) -> str:
    """List the edges and the caption of a machine's figure."""
    figure = make_figure(machine)
    ends = f", ends in {' or '.join(machine.final)}" if machine.final else ""
    rules = [
        f"{edge.source} → {edge.target}: {spell(line)}"
        for edge in figure.edges
        for line in edge.lines
    ]
    more = [f"… {len(rules) - MAX_LINES:,} more"] if len(rules) > MAX_LINES else []
    head = f"{machine.name}: starts in {machine.start}{ends}"
    lines = [*rules[:MAX_LINES], *more, *map(spell, figure.caption)]
    return "\n  ".join([head, *lines])


# --- A run on a word, as a table


def _draw_run(run: MachineRun[AnyStep]) -> Drawing:
    rows = trace_run(run)
    end = describe_end(run)
    dot = _table_to_dot(rows, end)

    def show() -> Markup:
        hidden = len(rows) - MAX_LINES
        more = f" … {hidden:,} more rows." if hidden > 0 else ""
        return table(HEADINGS, rows[:MAX_LINES]) + html("p", f"{end}{more}")

    formats = "svg", "png", "pdf", "dot"
    return Drawing(formats, partial(render_dot, dot), partial(write_trace, run), show)


def _table_to_dot(rows: Sequence[Sequence[str]], end: str) -> str:
    """Convert a run's table to a DOT graph with one node."""

    def line(cells: Iterable[str]) -> str:
        row = "".join(f'<TD ALIGN="LEFT">{cell}</TD>' for cell in cells)
        return f"<TR>{row}</TR>"

    head = line(f"<B>{heading}</B>" for heading in HEADINGS)
    body = "".join(line(map(escape_html, row)) for row in rows)
    foot = f'<TR><TD COLSPAN="{len(HEADINGS)}" ALIGN="LEFT">{escape_html(end)}</TD></TR>'
    parts = "<HR/>".join(part for part in (head, body, foot) if part)
    return (
        "digraph trace {\n  graph [pad=0.15, bgcolor=white];\n"
        f'  node [shape=plaintext, fontname="{FONT}", fontsize=12];\n'
        '  trace [label=<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="4">'
        f"{parts}</TABLE>>];\n}}\n"
    )


# --- A domain in its initial state, and a task


def describe_domain(domain: FiniteDomain | WaterWorld) -> dict[str, Any]:
    """Properties of a domain, as JSON values."""
    return {
        "name": domain.name,
        "states": domain.states,
        "actions": domain.actions,
        "events": domain.events,
        "step_limit": domain.step_limit,
        "machine": domain.machine,
    }


def _draw_domain(
    domain: FiniteDomain | WaterWorld, pixels: Callable[[], Pixels], text: Callable[[], str]
) -> Drawing:
    def make(_format: str) -> bytes:
        return encode_png(pixels())

    def show() -> Markup:
        facts = table(*Cells.from_records([describe_domain(domain)]))
        return picture(make("png"), "png", domain.name) + facts

    return Drawing(("png",), make, text, show)


def _draw_task(task: Task) -> Drawing:
    domain = draw(task.domain)
    machine = draw(task.machine)
    success = f"success: {', '.join(task.success)}"

    def show() -> Markup:
        return join([domain.html(), machine.html(), html("p", success)])

    def make(format: str) -> bytes:
        if format == "html":
            return show().encode()
        svg = machine.render("svg")
        if "png" in domain.formats:
            return _place_svgs(domain.render("png"), svg).encode()
        return svg

    return Drawing(("html", "svg"), make, lambda: f"{domain}\n\n{machine}\n\n{success}", show)


def _place_svgs(png: bytes, svg: bytes) -> str:
    """Place a PNG and an SVG next to each other, scaled to parts of the width."""
    images = (
        html("image", href=data_url(png, "png"), width="400", height="400"),
        html("image", href=data_url(svg, "svg"), x="424", width="776", height="400"),
    )
    return html("svg", *images, xmlns="http://www.w3.org/2000/svg", viewBox="0 0 1200 400")


def encode_png(pixels: Pixels, colours: int | None = None) -> bytes:
    """Encode pixels as PNG. With a number of colours, the file is several times smaller."""
    from PIL import Image

    buffer = io.BytesIO()
    image = Image.fromarray(pixels)
    if colours is not None:
        image = image.quantize(colours, method=Image.Quantize.FASTOCTREE)
    image.save(buffer, format="png")
    return buffer.getvalue()
