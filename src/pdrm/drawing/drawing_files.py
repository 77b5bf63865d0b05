"""Files: a drawing in the format its file's name asks for, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from pdrm.drawing.figure import NamedMachine
from pdrm.drawing.graphviz import rendered, to_dot
from pdrm.drawing.tikz import to_tikz
from pdrm.drawing.trace import AnyStep, trace_dot
from pdrm.errors import UnknownFormat
from pdrm.files import write_atomically
from pdrm.machines.configurations import Run

MACHINE_FORMATS: dict[str, Callable[[NamedMachine, bool], bytes]] = {
    "svg": lambda machine, title: rendered(to_dot(machine, title=title), "svg"),
    "png": lambda machine, title: rendered(to_dot(machine, title=title), "png"),
    "dot": lambda machine, title: to_dot(machine, title=title).encode(),
    "gv": lambda machine, title: to_dot(machine, title=title).encode(),
    "tex": lambda machine, title: to_tikz(machine, title=title).encode(),
    "tikz": lambda machine, title: to_tikz(machine, title=title, standalone=False).encode(),
}
"""How a machine is drawn in each format: `tex` is a document, `tikz` the picture alone, to be put into another."""

FORMATS = tuple(f".{name}" for name in MACHINE_FORMATS)
"""The endings of a machine's drawing."""

RUN_FORMATS = (".svg", ".png", ".dot", ".gv")
"""The endings of a run's table."""


def draw(machine: NamedMachine, path: str | os.PathLike[str], *, title: bool = False) -> None:
    """Draw a machine into a file, in the format its ending names.

    >>> import tempfile
    >>> from pdrm.language.loading import catalogue
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw(catalogue("letter"), Path(folder) / "letter.svg")
    ...     "<svg" in (Path(folder) / "letter.svg").read_text()
    True
    """
    write_atomically(Path(path), render(machine, Path(path).suffix, title=title))


def render(machine: NamedMachine, format: str, *, title: bool = False) -> bytes:  # noqa: A002 (the plain word for it)
    """A machine drawn in a format: one of `FORMATS`, with or without the dot."""
    return MACHINE_FORMATS[_known(format, FORMATS)](machine, title)


def draw_run(run: Run[AnyStep], path: str | os.PathLike[str]) -> None:
    """Draw a run as a table into a file, in the format its ending names.

    >>> import tempfile
    >>> from pdrm.language.loading import catalogue
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_run(catalogue("letter").run([frozenset("A"), frozenset("B")]), Path(folder) / "run.svg")
    ...     "<svg" in (Path(folder) / "run.svg").read_text()
    True
    """
    chosen = _known(Path(path).suffix, RUN_FORMATS)
    dot = trace_dot(run)
    write_atomically(Path(path), dot.encode() if chosen in ("dot", "gv") else rendered(dot, chosen))


def _known(asked: str, endings: tuple[str, ...]) -> str:
    """The format without dot, in small letters, or an error that lists the known ones."""
    name = asked.removeprefix(".").lower()
    if f".{name}" in endings:
        return name
    message = f"`{asked}` is no format to draw in" if name else "the file's name has no ending that says the format"
    raise UnknownFormat(message, fix=f"use one of {', '.join(endings)}")
