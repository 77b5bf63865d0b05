"""Loading and saving machines: files, texts, and the catalogue."""

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
from pdrm.language.writer import to_text
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import NAME
from pdrm.machines.pushdown import PushdownRewardMachine

# --- Machine files

FORMATS = {".pdrm": to_text, ".json": to_json}
"""The formats for saving a machine, by file extension."""
TASK_MODULES = {
    "grammar": "pdrm.language.grammars.grammar_machine",
    "regex": "pdrm.language.logic.regular_expressions",
    "ltlf": "pdrm.language.logic.temporal_logic",
}
"""The modules that build the machines of tasks defined by words.

The keys are file extensions (`.grammar`) and first words of a text (`grammar`).
"""


def load(path: FilePath) -> AnyMachine:
    r"""Load a machine from a file.

    The formats are .pdrm text, grammars, expressions, formulas, JSON, reward machines in the format
    of Toro Icarte et al., and DPDAs of automata-lib.

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
    r"""Read a machine from a text in any of the formats of `load`.

    Args:
        text: The content of a file.
        file: The name of the file, for messages. Its extension can determine the format.

    >>> machine = parse("name tiny\nevents a\nstart u\notherwise stay 0\nu -> u : a, 1")
    >>> machine.name, machine.run([frozenset("a")]).reward
    ('tiny', 1.0)
    """
    if not isinstance(text, str):
        raise WrongKind(f"expected a text, not {str(text)[:40]!r}", fix="pdrm.load reads a file")
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
        from pdrm.language.task_text import TaskOptions, read_task_text

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
    r"""The kind of a task that is defined by words (None for a machine).

    The kind is determined by the extension of the file, or by the first word of the text. Without
    these, a text with lines such as `start: "a"` and without `->` is a grammar.

    >>> kind_of('// pairs\ngrammar pairs\nstart: "a" "b"', "<text>")
    'grammar'
    >>> kind_of("F(a & X b)", "task.ltlf")
    'ltlf'
    """
    code = re.sub(r"^[ \t]*//.*\n", "", text, flags=re.MULTILINE)
    candidates = [Path(file).suffix.removeprefix("."), *code.split(maxsplit=1)[:1]]
    if "->" not in code and re.search(r'^\w+[ \t]*:.*"', code, re.MULTILINE):
        candidates.append("grammar")
    return next((word for word in candidates if word in TASK_MODULES), None)


def save(machine: AnyMachine, path: FilePath) -> None:
    """Save a machine to a file.

    Args:
        machine: A machine of any kind.
        path: The file. Its extension, .pdrm or .json, determines the format.

    >>> import tempfile
    >>> from pdrm.language.loading import catalogue
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(catalogue("letter"), Path(folder) / "letter.json")
    ...     load(Path(folder) / "letter.json") == catalogue("letter")
    True
    """
    file = _check_path(path)
    if not isinstance(machine, PushdownRewardMachine | CountingRewardAutomaton):
        raise WrongKind(
            f"{str(machine)[:40]!r} is not a machine",
            fix='pdrm.save(pdrm.parse(text), "task.pdrm"); '
            'for a domain: pdrm.domains.save_domain(domain, "map.npz")',
        )
    if file.suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise UnknownFormat(
            f"no format of machines has the extension `{file.suffix or file.name}`",
            fix=f"use one of {known}",
        )
    write_atomically(file, FORMATS[file.suffix](machine).encode())


def _check_path(path: object) -> Path:
    """Return the path; raise if it is not path-like."""
    if not isinstance(path, str | os.PathLike):
        raise WrongKind(
            f"expected the path of a file, not {str(path)[:40]!r}",
            fix='use "task.pdrm", or a pathlib.Path',
        )
    return Path(path)


# --- The catalogue: the machines of the paper, and a few classics, as .pdrm files

SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z([])")
"""The boundary between two sentences."""


CATALOGUE = files("pdrm.machines").joinpath("catalogue")


def catalogue_names() -> list[str]:
    """The names of the machines in the catalogue."""
    names = (entry.name for entry in CATALOGUE.iterdir())
    return sorted(name.removesuffix(".pdrm") for name in names if name.endswith(".pdrm"))


def catalogue_text(name: str) -> str:
    """The text of a machine in the catalogue."""
    if name not in catalogue_names():
        raise UnknownMachine(
            f"the catalogue has no machine `{name}`", fix=did_you_mean(str(name), catalogue_names())
        )
    return CATALOGUE.joinpath(f"{name}.pdrm").read_text(encoding="utf-8")


def catalogue_summary(name: str) -> str:
    """A summary of a machine in the catalogue: the first sentence of its file.

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
    """Return a machine of the catalogue, or all names.

    Args:
        name: The name of a machine (default: return the list of names).

    >>> catalogue("letter").stack
    ('#', 'A')
    >>> catalogue()[:2]
    ['anbn', 'deliver']
    """
    return catalogue_names() if name is None else _parse_catalogue(name)


@cache
def _parse_catalogue(name: str) -> AnyMachine:
    return parse(catalogue_text(name), f"{name}.pdrm")
