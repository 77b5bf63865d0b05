"""Plots as files: in the format the ending names, written whole or not at all, the same bytes for the same plot."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pdrm.errors import UnknownFormat
from pdrm.files.whole_file import write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLOT_FORMATS = (".svg", ".png", ".pdf")


def check_plot_format(path: str | os.PathLike[str]) -> None:
    """Refuse a file name whose ending is no format to plot in."""
    file = Path(path)
    if file.suffix not in PLOT_FORMATS:
        raise UnknownFormat(f"`{file.name}` ends in no format to plot in", fix=f"use one of {', '.join(PLOT_FORMATS)}")


def write_plot(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file."""
    check_plot_format(path)
    file = Path(path)
    write(file, plot_bytes(figure, file.suffix[1:]))


def plot_bytes(figure: Figure, kind: str) -> bytes:
    """A figure as `svg`, `png` or `pdf`."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    about = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    with rc_context({"svg.hashsalt": "pdrm"}):  # else the names of its parts are drawn anew each time
        figure.savefig(buffer, format=kind, dpi=150, metadata=about)
    return buffer.getvalue()
