"""Drawings as files: a machine in every format there is, a run as a table; written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from pdrm.drawing.graphviz import FONT, escape_html, render_dot, to_dot
from pdrm.drawing.tikz import to_tikz
from pdrm.drawing.trace import HEADINGS, AnyStep, describe_end, trace_run
from pdrm.errors import UnknownFormat
from pdrm.files import write_atomically
from pdrm.machines.configurations import Run
from pdrm.machines.transitions import Rule
from pdrm.machines.wellformed import Machine

MACHINE_FORMATS: dict[str, Callable[[Machine[Rule], bool], bytes]] = {
    "svg": lambda machine, title: render_dot(to_dot(machine, title=title), "svg"),
    "png": lambda machine, title: render_dot(to_dot(machine, title=title), "png"),
    "dot": lambda machine, title: to_dot(machine, title=title).encode(),
    "gv": lambda machine, title: to_dot(machine, title=title).encode(),
    "tex": lambda machine, title: to_tikz(machine, title=title).encode(),
    "tikz": lambda machine, title: to_tikz(machine, title=title, standalone=False).encode(),
}
"""How a machine is drawn in each format: `tex` is a document, `tikz` the picture alone, to be included in another."""

FORMATS = tuple(f".{name}" for name in MACHINE_FORMATS)
"""The endings of a machine's drawing."""

RUN_FORMATS = (".svg", ".png", ".dot", ".gv")
"""The endings of a run's table."""

NUMBERS = ("step", "reward")
"""Columns of a run's table that are aligned to the right."""


def draw(machine: Machine[Rule], path: str | os.PathLike[str], *, title: bool = False) -> None:
    """Draw a machine into a file, in the format its ending names.

    >>> import tempfile
    >>> from pdrm.language.loading import catalogue
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw(catalogue("letter"), Path(folder) / "letter.svg")
    ...     "<svg" in (Path(folder) / "letter.svg").read_text()
    True
    """
    write_atomically(Path(path), render(machine, Path(path).suffix, title=title))


def render(machine: Machine[Rule], format: str, *, title: bool = False) -> bytes:  # noqa: A002 (the plain word for it)
    """A machine drawn in a format: one of `FORMATS`, with or without the dot."""
    return MACHINE_FORMATS[_check_format(format, FORMATS)](machine, title)


def draw_run(run: Run[AnyStep], path: str | os.PathLike[str]) -> None:
    """Draw a run as a table into a file, in the format its ending names.

    >>> import tempfile
    >>> from pdrm.language.loading import catalogue
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_run(catalogue("letter").run([frozenset("A"), frozenset("B")]), Path(folder) / "run.svg")
    ...     "<svg" in (Path(folder) / "run.svg").read_text()
    True
    """
    chosen = _check_format(Path(path).suffix, RUN_FORMATS)
    dot = run_to_dot(run)
    write_atomically(Path(path), dot.encode() if chosen in ("dot", "gv") else render_dot(dot, chosen))


def run_to_dot(run: Run[AnyStep]) -> str:
    """A run's table as a graph of one node, in Graphviz's language."""
    head = _table_row(f"<B>{heading}</B>" for heading in HEADINGS)
    body = [_table_row(escape_html(cell) for cell in row) for row in trace_run(run)]
    foot = f'<TR><TD COLSPAN="{len(HEADINGS)}" ALIGN="LEFT">{escape_html(describe_end(run))}</TD></TR>'
    rows = "<HR/>".join([head, "".join(body), foot] if body else [head, foot])
    table = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="4">{rows}</TABLE>'
    return (
        f'digraph trace {{\n  graph [pad=0.15, bgcolor=white];\n  node [shape=plaintext, fontname="{FONT}", fontsize=12];\n'
        f"  trace [label=<{table}>];\n}}\n"
    )


def _table_row(cells: Iterable[str]) -> str:
    sides = ("RIGHT" if heading in NUMBERS else "LEFT" for heading in HEADINGS)
    row = "".join(f'<TD ALIGN="{side}">{cell}</TD>' for cell, side in zip(cells, sides, strict=True))
    return f"<TR>{row}</TR>"


def _check_format(asked: str, endings: tuple[str, ...]) -> str:
    """The format without dot, in small letters, or an error that lists the known ones."""
    name = asked.removeprefix(".").lower()
    if f".{name}" in endings:
        return name
    message = f"`{asked}` is not a format for drawings" if name else "the file's name has no ending, so no format"
    raise UnknownFormat(message, fix=f"use one of {', '.join(endings)}")
