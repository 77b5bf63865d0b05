"""Machine files: loading in any of the formats we read, and writing without ever leaving half a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pdrm.errors import CannotWrite, UnknownFormat
from pdrm.machines.text.build import AnyMachine, build
from pdrm.machines.text.json_form import read_json, to_json
from pdrm.machines.text.reader import read_text
from pdrm.machines.text.source import decode, read_bytes
from pdrm.machines.text.toro_icarte import looks_like, read_toro_icarte
from pdrm.machines.text.writer import to_text

FORMATS = {".pdrm": to_text, ".json": to_json}
"""What a machine can be saved as, by the ending of the file name."""


def load(path: str | os.PathLike[str]) -> AnyMachine:
    """The machine in a file: .pdrm text, JSON, or a reward machine as Toro Icarte et al. write it."""
    file = Path(path)
    return parse(decode(read_bytes(file), str(file)), str(file))


def parse(text: str, file: str = "<text>") -> AnyMachine:
    r"""The machine that a text describes, in any of the formats.

    >>> machine = parse("name tiny\nevents a\nstart u\notherwise stay 0\nu -> u : a, 1")
    >>> machine.name, machine.run([frozenset("a")]).reward
    ('tiny', 1.0)
    """
    stem = Path(file).stem
    name = stem if stem.isidentifier() else "machine"
    if text.lstrip()[:1] == "{":
        return build(read_json(text, file), name)
    if looks_like(text):
        return build(read_toro_icarte(text, file), name)
    return build(read_text(text, file), name)


def save(machine: AnyMachine, path: str | os.PathLike[str]) -> None:
    """Write a machine as .pdrm or .json, by the ending of the name."""
    file = Path(path)
    if file.suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise UnknownFormat(f"no machine format ends in `{file.suffix or file.name}`", fix=f"use one of {known}")
    write(file, FORMATS[file.suffix](machine).encode())


def write(path: Path, data: bytes) -> None:
    """Put the bytes in the file, whole or not at all: what was there stays until the new file is complete."""
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        _keep_mode(path, temporary)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        reason = (error.strerror or type(error).__name__).lower()
        raise CannotWrite(
            f"{path} cannot be written: {reason}", fix="check the folder, its permissions and the space"
        ) from error


def _keep_mode(path: Path, temporary: str) -> None:
    """Give the new file the permissions of the one it replaces, or those a new file would get."""
    if path.exists():
        Path(temporary).chmod(path.stat().st_mode & 0o7777)
    else:
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
