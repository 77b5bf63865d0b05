"""The pictures of a report, drawn once: a picture is taken from its files where the same code drew them from the same numbers.

What a picture depends on is hashed: the numbers and names of its lines, the code of the drawing chapter, and matplotlib's version and
settings. The hash is kept beside the files with a hash of each; where any of them differs, or a file is missing or was changed, it is
drawn again. So a picture that is shown is always the one that would be drawn now.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path

import matplotlib as mpl
import numpy as np

import pdrm
from pdrm.drawing.curve_plots import CurveLine
from pdrm.drawing.plots import Plot, plot_bytes
from pdrm.files import parse_record, write_atomically

KINDS = ("pdf", "png", "svg")
DRAWN = ".drawn.json"
"""How the file that says what the others were drawn from ends."""


def read_or_draw(
    stem: Path, panels: Sequence[Sequence[CurveLine]], draw: Callable[[], Plot]
) -> bytes:
    """The picture of some panels of lines as SVG, which is also in files of this name, with the endings of all kinds; drawn if they are
    not of these lines.

    >>> import tempfile
    >>> from pdrm.drawing.curve_plots import panel_plot
    >>> line = CurveLine("q", "letter", "episodes", np.array([1, 2]), np.zeros(2), np.ones(2), np.ones(2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = read_or_draw(Path(folder) / "letter", [[line]], lambda: panel_plot([line]))
    ...     again = read_or_draw(Path(folder) / "letter", [[line]], lambda: 1 / 0)
    >>> first == again
    True
    """
    asked, record = _hash_lines(stem.name, panels), stem.with_name(stem.name + DRAWN)
    files = {kind: stem.with_name(f"{stem.name}.{kind}") for kind in KINDS}
    known = _read(record, asked, files)
    if known is not None:
        return known
    figure = draw()
    drawn = {kind: plot_bytes(figure, kind) for kind in KINDS}
    record.unlink(missing_ok=True)
    for kind, data in drawn.items():
        write_atomically(files[kind], data)
    hashes = {kind: hashlib.sha256(data).hexdigest() for kind, data in drawn.items()}
    write_atomically(
        record, (json.dumps({"asked": asked, "sha256": hashes}, indent=1) + "\n").encode()
    )
    return drawn["svg"]


def _read(record: Path, asked: str, files: dict[str, Path]) -> bytes | None:
    """The SVG, where the record is of what is asked for and all files are those it was written for."""
    try:
        known = parse_record(record.read_bytes())
        data = {kind: path.read_bytes() for kind, path in files.items()}
    except (OSError, ValueError):
        return None
    hashes = {kind: hashlib.sha256(one).hexdigest() for kind, one in data.items()}
    return data["svg"] if known == {"asked": asked, "sha256": hashes} else None


def _hash_lines(name: str, panels: Sequence[Sequence[CurveLine]]) -> str:
    digest = hashlib.sha256(_drawing().encode() + name.encode())
    for number, line in ((number, line) for number, lines in enumerate(panels) for line in lines):
        for one in fields(line):
            value = getattr(line, one.name)
            shown = (
                value.dtype.str.encode() + value.tobytes()
                if isinstance(value, np.ndarray)
                else repr(value).encode()
            )
            digest.update(f"{number} {one.name} {len(shown)} ".encode() + shown)
    return digest.hexdigest()


@cache
def _drawing() -> str:
    """A hash of what draws: this chapter's code, and matplotlib with its settings."""
    digest, folder = hashlib.sha256(), Path(str(pdrm.__file__)).parent / "drawing"
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    settings = json.dumps({name: str(value) for name, value in sorted(mpl.rcParams.items())})
    digest.update(f"{pdrm.__version__} {mpl.__version__} {np.__version__} {settings}".encode())
    return digest.hexdigest()
