"""Machine files: loading in any of the formats we read, and writing without ever leaving half a file."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pdrm.errors import CannotRead, UnknownFormat, Where
from pdrm.files.whole_file import write
from pdrm.machines.text import automata_lib
from pdrm.machines.text.build import AnyMachine, build
from pdrm.machines.text.json_form import read_json, to_json
from pdrm.machines.text.reader import read_text
from pdrm.machines.text.source import decode, read_bytes
from pdrm.machines.text.toro_icarte import looks_like, read_toro_icarte
from pdrm.machines.text.writer import to_text
from pdrm.machines.wellformed import NAME

FORMATS = {".pdrm": to_text, ".json": to_json}
"""What a machine can be saved as, by the ending of the file name."""
OTHERS = (
    (r"^#{3,}$", "the map of a domain", "a map is a domain: pdrm train FILE --machine TASK.pdrm"),
    (r"^\[\[panels\]\]", "a study", "a study is run: pdrm run FILE"),
)
"""A line that files of other kinds have, what they are, and what they are for."""


def load(path: str | os.PathLike[str]) -> AnyMachine:
    r"""The machine in a file: .pdrm text, JSON, a reward machine as Toro Icarte et al. write it, or an automata-lib DPDA.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "tiny.pdrm"
    ...     _ = file.write_text("events a\nstart u\notherwise stay 0\nu -> u : a, 1")
    ...     load(file).name
    'tiny'
    """
    file = Path(path)
    return parse(decode(read_bytes(file), str(file)), str(file))


def parse(text: str, file: str = "<text>") -> AnyMachine:
    r"""The machine that a text describes, in any of the formats.

    >>> machine = parse("name tiny\nevents a\nstart u\notherwise stay 0\nu -> u : a, 1")
    >>> machine.name, machine.run([frozenset("a")]).reward
    ('tiny', 1.0)
    """
    stem = Path(file).stem
    name = stem if NAME.fullmatch(stem) else "machine"
    if text.lstrip()[:1] == "{" or file.endswith(".json"):
        read = automata_lib.read_automaton if automata_lib.looks_like(text) else read_json
        return build(read(text, file), name)
    if looks_like(text):
        return build(read_toro_icarte(text, file), name)
    _check_kind(text, file)
    return build(read_text(text, file), name)


def _check_kind(text: str, file: str) -> None:
    """Refuse files of other kinds in one message: as a machine, each of their lines is wrong."""
    for pattern, kind, use in OTHERS:
        found = re.search(pattern, text, re.MULTILINE)
        if found is not None and "->" not in text:
            where = Where(file, text[: found.start()].count("\n") + 1, 1, found[0], len(found[0]))
            fix = f"give the machine's file ({use.replace('FILE', file)})"
            raise CannotRead(f"this is {kind}, not a machine", where=where, fix=fix)


def save(machine: AnyMachine, path: str | os.PathLike[str]) -> None:
    """Write a machine as .pdrm or .json, by the ending of the name.

    >>> import tempfile
    >>> from pdrm.machines.catalogue import catalogue
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(catalogue("letter"), Path(folder) / "letter.json")
    ...     load(Path(folder) / "letter.json") == catalogue("letter")
    True
    """
    file = Path(path)
    if file.suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise UnknownFormat(f"no machine format ends in `{file.suffix or file.name}`", fix=f"use one of {known}")
    write(file, FORMATS[file.suffix](machine).encode())
