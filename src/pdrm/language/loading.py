"""Loading and saving machines (files, texts, the catalogue), and words: labels as people type them."""

from __future__ import annotations

import os
import re
from functools import cache
from importlib import import_module
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from textwrap import dedent
from typing import overload

from pdrm.errors import (
    CannotOpen,
    CannotRead,
    UnknownFormat,
    UnknownMachine,
    WrongKind,
    did_you_mean,
)
from pdrm.files import FilePath, read_bytes, write_atomically
from pdrm.language.document import AnyMachine, build, read
from pdrm.language.json_form import read_json, to_json
from pdrm.language.peer_formats import (
    looks_like_automaton,
    looks_like_toro_icarte,
    read_automaton,
    read_toro_icarte,
)
from pdrm.language.reader import read_text
from pdrm.language.source import decode
from pdrm.language.task_text import TaskOptions, read_task_text
from pdrm.language.writer import to_text
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import NAME
from pdrm.machines.pushdown import PushdownRewardMachine

# --- Machine files

FORMATS = {".pdrm": to_text, ".json": to_json}
"""Formats in which a machine can be saved, by the ending of the file name."""
TASK_MODULES = {
    "grammar": "pdrm.language.grammars.grammar_machine",
    "regex": "pdrm.language.logic.regular_expressions",
    "ltlf": "pdrm.language.logic.temporal_logic",
}
"""Tasks written as a set of words, by the first word of the text or the ending of the file (`grammar`, `.grammar`): the module whose
`build(task)` makes the machine."""


def load(path: FilePath) -> AnyMachine:
    r"""The machine in a file: .pdrm text, a grammar, JSON, a reward machine as Toro Icarte et al. write it, or an automata-lib DPDA.

    Args:
        path: The file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "tiny.pdrm"
    ...     _ = file.write_text("events a\nstart u\notherwise stay 0\nu -> u : a, 1")
    ...     load(file).name
    'tiny'
    """
    file = _check_path(path)
    if str(file) in catalogue_names() and not file.exists():
        raise CannotOpen(f"`{file}` is not a file", fix=f'pdrm.catalogue("{file}")')
    return parse(decode(read_bytes(file), str(file)), str(file))


def parse(text: str, file: str = "<text>") -> AnyMachine:
    r"""The machine that a text describes, in any of the formats.

    Args:
        text: The content of a file.
        file: The file's name for messages; its ending may say which format it is.

    >>> machine = parse("name tiny\nevents a\nstart u\notherwise stay 0\nu -> u : a, 1")
    >>> machine.name, machine.run([frozenset("a")]).reward
    ('tiny', 1.0)
    """
    if not isinstance(text, str):
        raise WrongKind(f"a text is needed, not {str(text)[:40]!r}", fix="pdrm.load reads a file")
    if re.fullmatch(r"\S+\.(pdrm|json|txt|grammar|regex|ltlf)", text):
        raise CannotRead(
            f"`{text}` is the name of a file, not a text",
            fix=f'read a file with pdrm.load("{text}")',
        )
    stem = Path(file).stem
    name = stem if NAME.fullmatch(stem) else "machine"
    text = dedent(text)
    kind = kind_of(text, file)
    if kind is not None:
        task = read_task_text(text, file, kind, name, TaskOptions())
        machine: AnyMachine = import_module(TASK_MODULES[kind]).build(task)
        return machine
    fill = read_text
    if text.lstrip()[:1] == "{" or file.endswith(".json"):
        fill = read_automaton if looks_like_automaton(text) else read_json
    elif looks_like_toro_icarte(text):
        fill = read_toro_icarte
    return build(read(fill, text, file), name)


def kind_of(text: str, file: str) -> str | None:
    r"""The kind of task that a text describes as a set of words (None for a machine), by the ending of the file or its first word.

    Without these, a text with lines such as `start: "a"` and no `->` is a grammar.

    >>> kind_of('// pairs\ngrammar pairs\nstart: "a" "b"', "<text>"), kind_of("F(a & X b)", "task.ltlf")
    ('grammar', 'ltlf')
    """
    code = re.sub(r"^[ \t]*//.*\n", "", text, flags=re.MULTILINE)
    found = [Path(file).suffix.removeprefix("."), *code.split(maxsplit=1)[:1]]
    if "->" not in code and re.search(r'^\w+[ \t]*:.*"', code, re.MULTILINE):
        found.append("grammar")
    return next((word for word in found if word in TASK_MODULES), None)


def save(machine: AnyMachine, path: FilePath) -> None:
    """Write a machine into a file.

    Args:
        machine: A machine of any kind.
        path: The file; its ending, .pdrm or .json, says how the machine is written.

    >>> import tempfile
    >>> from pdrm.language.loading import catalogue
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(catalogue("letter"), Path(folder) / "letter.json")
    ...     load(Path(folder) / "letter.json") == catalogue("letter")
    True
    """
    file = _check_path(path)
    if not isinstance(machine, PushdownRewardMachine | CountingRewardAutomaton):
        fix = 'pdrm.save(pdrm.parse(text), "task.pdrm"); a domain: pdrm.domains.save_domain(domain, "map.npz")'  # type: ignore[unreachable] # for callers without a type checker
        raise WrongKind(f"{str(machine)[:40]!r} is not a machine", fix=fix)
    if file.suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise UnknownFormat(
            f"no machine format ends in `{file.suffix or file.name}`", fix=f"use one of {known}"
        )
    write_atomically(file, FORMATS[file.suffix](machine).encode())


def _check_path(path: object) -> Path:
    """Return the path; raise if it is not path-like."""
    if not isinstance(path, str | os.PathLike):
        raise WrongKind(
            f"the path of a file is needed, not {str(path)[:40]!r}",
            fix='"task.pdrm", or a pathlib.Path',
        )
    return Path(path)


# --- The catalogue: every machine printed in the paper, and a few classics, as .pdrm files

SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z([])")
"""The boundary between two sentences."""


CATALOGUE = files("pdrm.machines").joinpath("catalogue")


def catalogue_names() -> list[str]:
    """The machines there are."""
    names = (entry.name for entry in CATALOGUE.iterdir())
    return sorted(name.removesuffix(".pdrm") for name in names if name.endswith(".pdrm"))


def catalogue_text(name: str) -> str:
    """The text of one machine's file."""
    if name not in catalogue_names():
        fix = did_you_mean(str(name), catalogue_names())
        raise UnknownMachine(f"the catalogue has no machine `{name}`", fix=fix)
    return CATALOGUE.joinpath(f"{name}.pdrm").read_text(encoding="utf-8")


def catalogue_summary(name: str) -> str:
    """A summary of a machine: the first sentence of its file.

    >>> catalogue_summary("treasure-maze")
    '1-TreasureMaze (Appendix E): find the treasure t, then retrace the path to the start x.'
    """
    comment = "\n".join(
        takewhile(lambda line: line.startswith("//"), catalogue_text(name).splitlines())
    )
    return " ".join(SENTENCE.split(comment.replace("//", ""))[0].split())


@overload
def catalogue() -> list[str]: ...
@overload
def catalogue(name: str) -> AnyMachine: ...
def catalogue(name: str | None = None) -> AnyMachine | list[str]:
    """One machine of the catalogue; without a name, the names there are.

    Args:
        name: One of these names.

    >>> catalogue("letter").stack
    ('#', 'A')
    >>> catalogue()[:2]
    ['anbn', 'deliver']
    """
    return catalogue_names() if name is None else _parse_catalogue(name)


@cache
def _parse_catalogue(name: str) -> AnyMachine:
    return parse(catalogue_text(name), f"{name}.pdrm")
