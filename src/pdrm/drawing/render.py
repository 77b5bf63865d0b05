"""`draw`: the picture of a machine, of a run on a word, of a domain or of a task, shown in a notebook, printed or saved.

A `Picture` is rendered when it is looked at, in the format that is asked for; a file is written whole or not at all.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial, singledispatch
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.pictures import Pixels, draw_state, draw_text, draw_water
from pdrm.domains.water import ACTIONS, EVENTS, START_NUMBERS, WaterWorld, begin
from pdrm.drawing.figure import make_figure
from pdrm.drawing.graphviz import FONT, escape_html, render_dot, to_dot
from pdrm.drawing.label_tokens import make_printable, spell
from pdrm.drawing.markup import Markup, data_url, html, join, listing, picture, table
from pdrm.drawing.tikz import to_tikz
from pdrm.drawing.trace import HEADINGS, AnyStep, describe_end, trace_run
from pdrm.errors import UnknownFormat, WrongKind
from pdrm.files import write_atomically
from pdrm.machines.checks.wellformed import Machine
from pdrm.machines.configurations import Run
from pdrm.machines.transitions import Rule
from pdrm.task import Task, find_machine

MACHINE_FORMATS: dict[str, Callable[[Machine[Rule], bool], bytes]] = {
    "svg": lambda machine, title: render_dot(to_dot(machine, title=title), "svg"),
    "png": lambda machine, title: render_dot(to_dot(machine, title=title), "png"),
    "pdf": lambda machine, title: render_dot(to_dot(machine, title=title), "pdf"),
    "dot": lambda machine, title: to_dot(machine, title=title).encode(),
    "gv": lambda machine, title: to_dot(machine, title=title).encode(),
    "tex": lambda machine, title: to_tikz(machine, title=title).encode(),
    "tikz": lambda machine, title: to_tikz(machine, title=title, standalone=False).encode(),
}
"""How a machine is drawn in each format: `tex` is a document, `tikz` the picture alone, to be included in another."""

FORMATS = tuple(f".{name}" for name in MACHINE_FORMATS)
"""The endings of a machine's drawing."""

NUMBERS = ("step", "reward")
"""Columns of a run's table that are aligned to the right."""

MOST_EDGES = 150
"""Edges of a machine above which a notebook shows its first rules instead: Graphviz would take too long."""

MOST_LINES = 40
"""Rules of a machine, and rows of a table, that are shown or printed."""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """What `draw` gives: a notebook shows it, `print` writes it as text, `save` writes it to a file."""

    formats: Mapping[str, Callable[[], bytes]]
    """How it is made in each format, by the file's ending without the dot."""
    text: Callable[[], str]
    """How it is written as text."""
    shown: tuple[str, ...]
    """The formats that a notebook is given: `html`, `svg`, `png`."""
    html: Callable[[], str] | None = None

    def __repr__(self) -> str:
        return f"<Picture: {', '.join(f'.{name}' for name in self.formats)}>"

    def __str__(self) -> str:
        return self.text()

    def render(self, format: str) -> bytes:
        """The picture in a format, with or without the dot."""
        return self.formats[_check_format(format, tuple(f".{name}" for name in self.formats))]()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, in the format its ending names."""
        write_atomically(Path(path), self.render(Path(path).suffix))

    def _repr_html_(self) -> str | None:
        return self.html() if self.html is not None and "html" in self.shown else None

    def _repr_svg_(self) -> str | None:
        return self.formats["svg"]().decode() if "svg" in self.shown else None

    def _repr_png_(self) -> bytes | None:
        return self.formats["png"]() if "png" in self.shown else None


def draw(
    what: object, path: str | os.PathLike[str] | None = None, *, title: bool = False
) -> Picture:
    """Draw a machine, a run on a word, a domain or a task.

    what: one of these, or a machine's name, file or text. path: where to save the picture too, in the format its ending names:
    a machine as .svg, .png, .pdf, .dot, .tex or .tikz, a run as .svg, .png or .dot, a domain as .png, a task as .png, .svg or .html.
    title: whether the drawing of a machine has its name on it.

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
    made = _draw(what, title)
    if path is not None:
        made.save(path)
    return made


def draw_run(run: Run[AnyStep], path: str | os.PathLike[str]) -> None:
    """Draw a run as a table into a file, in the format its ending names.

    >>> import tempfile
    >>> from pdrm.language.loading import catalogue
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_run(catalogue("letter").run([frozenset("A"), frozenset("B")]), Path(folder) / "run.svg")
    ...     "<svg" in (Path(folder) / "run.svg").read_text()
    True
    """
    draw(run, path)


def render(machine: Machine[Rule], format: str, *, title: bool = False) -> bytes:
    """A machine drawn in a format: one of `FORMATS`, with or without the dot."""
    return MACHINE_FORMATS[_check_format(format, FORMATS)](machine, title)


def _check_format(asked: str, endings: tuple[str, ...]) -> str:
    """The format without dot, in small letters, or an error that lists the known ones."""
    name = asked.removeprefix(".").lower()
    if f".{name}" in endings:
        return name
    message = (
        f"`{asked}` is not a format for drawings"
        if name
        else "the file's name has no ending, so no format"
    )
    raise UnknownFormat(message, fix=f"use one of {', '.join(endings)}")


@singledispatch
def _draw(what: object, title: bool) -> Picture:
    fix = "give a machine, a run of one, a domain or a task"
    raise WrongKind(f"a {type(what).__name__} cannot be drawn", fix=fix)


# --- A machine


@_draw.register
def _(machine: Machine, title: bool) -> Picture:  # type: ignore[type-arg] # singledispatch looks at the class
    formats = {name: partial(make, machine, title) for name, make in MACHINE_FORMATS.items()}
    small = len({(rule.source, rule.target) for rule in machine.transitions}) <= MOST_EDGES
    shown = ("svg",) if small else ("html",)
    return Picture(
        formats, partial(_list_rules, machine), shown, lambda: listing(_list_rules(machine))
    )


@_draw.register(str)
@_draw.register(os.PathLike)
def _(named: str | os.PathLike[str], title: bool) -> Picture:
    return _draw(find_machine(named), title)


def _list_rules(machine: Machine[Rule]) -> str:
    """What is drawn of a machine, line by line."""
    figure = make_figure(machine)
    ends = f", ends in {' or '.join(machine.final)}" if machine.final else ""
    lines = [
        f"{edge.source} → {edge.target}: {spell(line)}"
        for edge in figure.edges
        for line in edge.lines
    ]
    more = [f"… {len(lines) - MOST_LINES:,} more"] if len(lines) > MOST_LINES else []
    lines = [*lines[:MOST_LINES], *more, *(spell(line) for line in figure.caption)]
    return make_printable(f"{machine.name}: starts in {machine.start}{ends}") + "".join(
        f"\n  {make_printable(line)}" for line in lines
    )


# --- A run on a word, as a table


@_draw.register
def _(run: Run, title: bool) -> Picture:  # type: ignore[type-arg] # the same
    formats = {
        "svg": lambda: render_dot(run_to_dot(run), "svg"),
        "png": lambda: render_dot(run_to_dot(run), "png"),
        **dict.fromkeys(("dot", "gv"), lambda: run_to_dot(run).encode()),
    }
    return Picture(formats, partial(_write_run, run), ("html",), partial(_tabulate_run, run))


def run_to_dot(run: Run[AnyStep]) -> str:
    """A run's table as a graph of one node, in Graphviz's language."""
    head = _table_row(f"<B>{heading}</B>" for heading in HEADINGS)
    body = [_table_row(escape_html(cell) for cell in row) for row in trace_run(run)]
    foot = (
        f'<TR><TD COLSPAN="{len(HEADINGS)}" ALIGN="LEFT">{escape_html(describe_end(run))}</TD></TR>'
    )
    rows = "<HR/>".join([head, "".join(body), foot] if body else [head, foot])
    table = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="4">{rows}</TABLE>'
    return (
        f'digraph trace {{\n  graph [pad=0.15, bgcolor=white];\n  node [shape=plaintext, fontname="{FONT}", fontsize=12];\n'
        f"  trace [label=<{table}>];\n}}\n"
    )


def _table_row(cells: Iterable[str]) -> str:
    sides = ("RIGHT" if heading in NUMBERS else "LEFT" for heading in HEADINGS)
    row = "".join(
        f'<TD ALIGN="{side}">{cell}</TD>' for cell, side in zip(cells, sides, strict=True)
    )
    return f"<TR>{row}</TR>"


def _write_run(run: Run[AnyStep]) -> str:
    """The table with aligned columns."""
    rows = [HEADINGS, *trace_run(run)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join([*lines, describe_end(run)])


def _tabulate_run(run: Run[AnyStep]) -> Markup:
    rows = trace_run(run)
    numbers = [HEADINGS.index(name) for name in NUMBERS]
    more = (
        f" … {len(rows) - MOST_LINES:,} rows are left out here." if len(rows) > MOST_LINES else ""
    )
    return table(HEADINGS, rows[:MOST_LINES], numbers) + html("p", f"{describe_end(run)}{more}")


# --- A domain, as its first state looks, and a task


@_draw.register
def _(domain: FiniteDomain, title: bool) -> Picture:
    state = int(domain.arrays.start_state[0])
    return Picture(
        {"png": lambda: encode_png(draw_state(domain, state))},
        lambda: draw_text(domain, state, repr(domain)),
        ("html", "png"),
        lambda: _show_domain(
            encode_png(draw_state(domain, state)), domain.name, _list_facts(domain)
        ),
    )


@_draw.register
def _(world: WaterWorld, title: bool) -> Picture:
    numbers = np.random.default_rng(0).random(START_NUMBERS).astype(np.float32)
    pixels = partial(draw_water, world, begin(world, numbers, np))
    facts = {"balls": "10", "actions": " ".join(ACTIONS), "events": " ".join(EVENTS)}
    facts |= {"step limit": f"{world.step_limit:,}"}
    return Picture(
        {"png": lambda: encode_png(pixels())},
        lambda: repr(world),
        ("html", "png"),
        lambda: _show_domain(encode_png(pixels()), world.name, facts),
    )


@_draw.register
def _(task: Task, title: bool) -> Picture:
    parts = [_draw(task.domain, title), _draw(task.machine, title)]
    success = f"success: {', '.join(task.success)}"

    def show() -> Markup:
        shown = [Markup(part._repr_html_() or _take_svg(part._repr_svg_() or "")) for part in parts]
        return join((*shown, html("p", success)))

    formats = {
        "html": lambda: show().encode(),
        "png": lambda: _place_pngs(*(part.render("png") for part in parts)),
        "svg": lambda: _place_svgs(
            parts[0].render("png"), parts[1].render("svg").decode()
        ).encode(),
    }
    return Picture(formats, lambda: "\n\n".join([*map(str, parts), success]), ("html",), show)


BETWEEN = 24
"""Pixels between the two pictures of a task."""


def _place_pngs(*files: bytes) -> bytes:
    """Pictures side by side, on white, their middles at one height."""
    from PIL import Image

    images = [Image.open(io.BytesIO(file)).convert("RGB") for file in files]
    height, left = max(image.height for image in images), 0
    width = sum(image.width for image in images) + BETWEEN * (len(images) - 1)
    whole = Image.new("RGB", (width, height), "white")
    for image in images:
        whole.paste(image, (left, (height - image.height) // 2))
        left += image.width + BETWEEN
    return encode_png(np.asarray(whole))


def _place_svgs(map_png: bytes, machine_svg: str) -> str:
    """A map, which is a picture of pixels, and a machine side by side."""
    from PIL import Image

    left_width, left_height = Image.open(io.BytesIO(map_png)).size
    svg = ElementTree.fromstring(machine_svg)
    points = [float(svg.attrib[side].removesuffix("pt")) for side in ("width", "height")]
    right_width, right_height = (value * 4 / 3 for value in points)  # 96 pixels are 72 points
    width, height = left_width + BETWEEN + right_width, max(left_height, right_height)
    places = {
        "x": left_width + BETWEEN,
        "y": (height - right_height) / 2,
        "width": right_width,
        "height": right_height,
    }
    named = " ".join(f'{name}="{value:g}"' for name, value in places.items())
    inner = _take_svg(machine_svg).replace(f'width="{svg.attrib["width"]}"', named, 1)
    inner = inner.replace(f'height="{svg.attrib["height"]}"', "", 1)
    shown = html(
        "image",
        href=data_url(map_png, "png"),
        width=str(left_width),
        y=f"{(height - left_height) / 2:g}",
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">'
    return f"{head}{shown}{inner}</svg>"


def _take_svg(text: str) -> str:
    """The picture without what stands before it in a file."""
    return text[text.find("<svg") :]


def encode_png(pixels: Pixels, colours: int | None = None) -> bytes:
    """The pixels as a file; colours: how many are kept, for a file that is several times smaller. None: all."""
    from PIL import Image

    buffer = io.BytesIO()
    image = Image.fromarray(pixels)
    (image if colours is None else image.quantize(colours, method=Image.Quantize.FASTOCTREE)).save(
        buffer, format="png"
    )
    return buffer.getvalue()


def _show_domain(png: bytes, name: str, facts: Mapping[str, str]) -> Markup:
    return picture(png, "png", name) + table(
        ["", ""], [[fact, said] for fact, said in facts.items()]
    )


def _list_facts(domain: FiniteDomain) -> dict[str, str]:
    """What is said of a domain beside its picture."""

    def some(words: Iterable[Any]) -> str:
        every = list(words)
        return " ".join(map(str, every[:MOST_LINES])) + (
            f" … ({len(every):,})" if len(every) > MOST_LINES else ""
        )

    machine = {} if domain.machine is None else {"machine": domain.machine}
    return {
        "states": f"{domain.states:,}",
        "actions": some(domain.actions),
        "events": some(domain.events),
        "step limit": f"{domain.step_limit:,}",
        **machine,
    }
