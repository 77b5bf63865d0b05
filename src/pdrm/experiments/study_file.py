"""A study from a file: TOML, which is data, or a Python file that sets `STUDY`, which is run."""

from __future__ import annotations

import re
import runpy
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from pdrm.domains.paper_domains import names
from pdrm.errors import BadStudy, CannotOpen, PdrmError, Where, did_you_mean
from pdrm.experiments.panel import AgentLine, Panel, name_tasks
from pdrm.experiments.study import TEN_SEEDS, Study
from pdrm.files import MAX_STUDY_BYTES, FilePath, means_name, read_bytes
from pdrm.language.source import decode
from pdrm.learning.protocol import agent_for
from pdrm.learning.run_folder import resolve_seeds
from pdrm.task import find_machine

# --- A study from a TOML file: what it holds becomes a `Study`; nothing in it is run as code.
#
# Every key is checked when the file is read, and every line of a panel is built once, so that errors are reported before
# anything runs: the file, the line, the key, why, and what to do.

Kinds = dict[str, type | tuple[type, ...]]
STUDY: Kinds = {"name": str, "title": str, "seeds": (int, list), "settings": dict, "panels": list}
PANEL: Kinds = dict.fromkeys(("name", "domain", "title", "machine"), str)
PANEL |= {"success": (str, list), "settings": dict, "agents": list}
AGENT: Kinds = dict.fromkeys(("name", "agent", "colour"), str)
AGENT |= {"k": (int, str), "settings": dict}
SHAPE = "see the page on studies: name, seeds, then [[panels]] with a domain, each with [[panels.agents]]"


def read_toml_study(path: Path) -> Study:
    """The study in a file."""
    text = decode(read_bytes(path, MAX_STUDY_BYTES), str(path))
    lines = text.splitlines() or [""]
    table = TomlTable({}, "", str(path), lines, (range(len(lines)),))
    try:
        record = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"^(.*) \(at line (\d+), column (\d+)\)$", str(error), re.DOTALL)
        why, line, column = found.groups() if found else (str(error), len(lines), 1)
        where = table.line(min(int(line), len(lines)) - 1, int(column))
        fault = f"this is not valid TOML: {why}"
        raise BadStudy(fault, where=where, fix="https://toml.io shows how") from error
    return _read_study(replace(table, record=record), path)


@dataclass(frozen=True, slots=True)
class TomlTable:
    r"""A table of the file, and its place for messages: the standard library's reader tells the line of syntax errors only.

    >>> lines = ["name = 'a'", "[[panels]]", "domain = 'letter'", "[[panels]]", "domain = 'echo'"]
    >>> table = TomlTable({"panels": [{}, {}]}, "", "s.toml", lines, (range(5),))
    >>> str(table.tables("panels", "panels")[1].find("there is no domain `echo`"))
    's.toml:5:1'
    """

    record: Any
    path: str
    """The name in messages, such as `panels[1].agents[2]`."""
    file: str
    lines: list[str]
    """Of the whole file."""
    scopes: tuple[range, ...]
    """Its lines, and those of the tables that it is in, the innermost first."""

    def check(self, known: Kinds, required: str = "") -> None:
        """Raise unless all keys are known, of the right kind, and there."""
        if not isinstance(self.record, dict):
            raise self.fault("", f"{self.path} is {self.record!r}, not a table", SHAPE)
        for key, value in self.record.items():
            place = f"{self.path}.{key}".removeprefix(".")
            if key not in known:
                raise self.fault(key, f"{place}: no such key", did_you_mean(key, known))
            if not isinstance(value, known[key]) or isinstance(value, bool):
                raise self.fault(key, f"{place} is {value!r}", SHAPE)
        if required and required not in self.record:
            raise self.fault("", f"{self.path} has no `{required}`", f'add {required} = "…"')

    def tables(self, key: str, header: str) -> list[TomlTable]:
        """The tables of an array in this one; `header` is written above each, unless the array is written in a line."""
        place, within = f"{self.path}.{key}".removeprefix("."), self.scopes[0]
        if not (found := self.record.get(key)):
            raise self.fault("", f"{place} is missing or empty", SHAPE)
        heads = [at for at in within if self.lines[at].replace(" ", "").startswith(f"[[{header}]]")]
        own = [*map(range, heads, [*heads[1:], within.stop]), *[within] * len(found)]
        return [
            replace(self, record=record, path=f"{place}[{number}]", scopes=(lines, *self.scopes))
            for number, (record, lines) in enumerate(zip(found, own, strict=False), 1)
        ]

    def find(self, message: str) -> Where:
        """The line that an error names: by a key in backticks, else by a word; the first line of the table if it names none."""
        named = re.findall("`([^`]+)`", message)
        words = [re.escape(word) for word in (*named, *re.findall(r"[\w.+-]+", message))]
        keys = [rf"\b{word}\s*(=|\]+\s*$)" for word in words[: len(named)]]
        for pattern in (*keys, *(rf"(?<![\w.+-]){word}(?![\w.+-])" for word in words)):
            for at in chain(*self.scopes):
                if re.search(pattern, self.lines[at]):
                    return self.line(at)
        return self.line(self.scopes[0].start)

    def line(self, at: int, column: int = 1) -> Where:
        """A line, by its number from 0 on."""
        text = self.lines[at]
        return Where(self.file, at + 1, column, text, max(1, len(text) - column + 1))

    @contextmanager
    def located(self, key: str = "") -> Iterator[None]:
        """Give an error that is raised inside its place in this file, by this key or by what it names."""
        try:
            yield
        except PdrmError as error:
            if error.where is None:
                error.where = self.find(f"`{key}`" if key else error.message)
            raise

    def fault(self, key: str, why: str, fix: str) -> BadStudy:
        """An error at a key of the table."""
        return BadStudy(why, where=self.find(f"`{key}`"), fix=fix)


def _read_study(table: TomlTable, file: Path) -> Study:
    table.check(STUDY)
    record, seeds = table.record, table.record.get("seeds", TEN_SEEDS)
    with table.located("seeds"):
        resolve_seeds(seeds)
    tables = table.tables("panels", "panels")
    shared = record.get("settings", {})
    panels = [_read_panel(one, file.parent, shared) for one in tables]
    usual = name_tasks([panel.task for panel in panels])
    named = tuple(
        replace(panel, name=panel.name or name) for panel, name in zip(panels, usual, strict=True)
    )
    name, title = record.get("name", file.stem), record.get("title", "")
    with table.located():
        return Study(name=name, title=title, panels=named, seeds=seeds)


def _read_panel(table: TomlTable, folder: Path, shared: dict[str, Any]) -> Panel:
    table.check(PANEL, required="domain")
    record, agents = table.record, table.tables("agents", "panels.agents")
    lines = tuple(_read_line(agent) for agent in agents)
    domain, machine = record["domain"], record.get("machine")
    # A name of the catalogue, or the path of a file next to the study; a misspelt name stays as it is.
    is_name = domain in names() or (means_name(domain, (), folder) and means_name(domain, ()))
    with table.located():
        panel = Panel(
            name=record.get("name", ""),
            domain=domain if is_name else str(folder / domain),
            title=record.get("title", ""),
            lines=lines,
            machine=None if machine is None else find_machine(machine, folder),
            success=record.get("success", ()),
            settings={**shared, **record.get("settings", {})},
        )
        panel.task  # refuses what the machine cannot read
    for line, agent in zip(lines, agents, strict=True):
        with agent.located():
            panel.specs(line, (0,))[0].check()
    return panel


def _read_line(table: TomlTable) -> AgentLine:
    table.check(AGENT, required="agent")
    record = table.record
    with table.located():
        agent = agent_for(record["agent"])
        k = record.get("k", agent.k)
        agent_for(agent, {"k": k})
        return AgentLine(**{"name": f"{record['agent']} {k}", **record, "k": k})


# --- A file of either kind.


def load_study(path: FilePath) -> Study:
    r"""The study in a `.toml` file, or the one a `.py` file calls STUDY.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "views.toml"
    ...     _ = file.write_text("seeds = 3\n[[panels]]\ndomain = 'maze-5x5'\n[[panels.agents]]\nagent = 'q'")
    ...     load_study(file).seeds
    (0, 1, 2)
    """
    file = Path(path)
    if file.suffix == ".toml":
        return read_toml_study(file)
    if file.suffix != ".py":
        raise BadStudy(
            f"{file} is not a study", fix="name a .toml file, or a .py file that sets STUDY"
        )
    if not file.is_file():
        raise CannotOpen(f"{file} cannot be opened: no such file", fix="check the path")
    try:
        study = runpy.run_path(str(file)).get("STUDY")
    except PdrmError:
        raise
    except Exception as error:
        fault = f"{file} raised {type(error).__name__}: {error}"
        raise BadStudy(fault, fix=f"try it by itself: python {file}") from error
    if not isinstance(study, Study):
        raise BadStudy(f"{file} sets no STUDY", fix="STUDY = pdrm.Study(name=…, panels=…)")
    study.check()
    return study
