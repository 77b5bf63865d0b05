"""Files: a drawing in the format its file's name asks for, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

from pdrm.drawing.dot import to_dot
from pdrm.drawing.figure import NamedMachine
from pdrm.drawing.layout import rendered
from pdrm.drawing.tikz import to_tikz
from pdrm.drawing.trace import AnyStep, trace_dot
from pdrm.errors import CannotWrite, UnknownFormat
from pdrm.machines.configuration import Run

MACHINE_FORMATS: dict[str, Callable[[NamedMachine, bool], bytes]] = {
    "svg": lambda machine, title: rendered(to_dot(machine, title=title), "svg"),
    "png": lambda machine, title: rendered(to_dot(machine, title=title), "png"),
    "dot": lambda machine, title: to_dot(machine, title=title).encode(),
    "gv": lambda machine, title: to_dot(machine, title=title).encode(),
    "tex": lambda machine, title: to_tikz(machine, title=title).encode(),
    "tikz": lambda machine, title: to_tikz(machine, title=title, standalone=False).encode(),
}
"""How a machine is drawn in each format: `tex` is a document, `tikz` the picture alone, to be put into another."""

FORMATS = tuple(MACHINE_FORMATS)
"""The formats of a machine's drawing."""

RUN_FORMATS = ("svg", "png", "dot", "gv")
"""The formats of a run's table."""


def draw(machine: NamedMachine, path: str | os.PathLike[str], *, title: bool = False) -> None:
    """Draw a machine into a file, in the format its ending names."""
    _write(Path(path), render(machine, _ending(path), title=title))


def render(machine: NamedMachine, format: str, *, title: bool = False) -> bytes:  # noqa: A002 (the plain word for it)
    """A machine drawn in a format, one of `FORMATS`."""
    return MACHINE_FORMATS[_known(format, FORMATS)](machine, title)


def draw_run(run: Run[AnyStep], path: str | os.PathLike[str]) -> None:
    """Draw a run as a table into a file, in the format its ending names."""
    chosen = _known(_ending(path), RUN_FORMATS)
    dot = trace_dot(run)
    _write(Path(path), dot.encode() if chosen in ("dot", "gv") else rendered(dot, chosen))


def _ending(path: str | os.PathLike[str]) -> str:
    return Path(path).suffix.removeprefix(".")


def _known(asked: str, formats: tuple[str, ...]) -> str:
    """The format in small letters, or an error that lists the known ones."""
    if asked.lower() in formats:
        return asked.lower()
    message = f"`{asked}` is no format to draw in" if asked else "the file's name has no ending that says the format"
    raise UnknownFormat(message, fix=f"use one of {', '.join(f'.{name}' for name in formats)}")


def _write(path: Path, content: bytes) -> None:
    """Write beside the file, then put in its place: whoever reads it finds the old picture or the new one."""
    temporary = path.with_name(f".{path.name[:40]}.{token_hex(4)}.part")
    try:
        try:
            temporary.write_bytes(content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise CannotWrite(
            f"cannot write `{path}`: {error.strerror or error}", fix="choose a folder that exists and may be written to"
        ) from error
