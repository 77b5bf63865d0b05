"""Read a study from a TOML file, or from a Python file that sets `STUDY` (which is executed)."""

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

# --- TOML files, which are data only
#
# Every key is checked when the file is read, and every line of a panel is built once. So errors are
# reported before anything runs, with the file, the line, the key, the reason and a fix.

Kinds = dict[str, type | tuple[type, ...]]
STUDY: Kinds = {"name": str, "title": str, "seeds": (int, list), "settings": dict, "panels": list}
PANEL: Kinds = dict.fromkeys(("name", "domain", "title", "machine"), str)
PANEL |= {"success": (str, list), "settings": dict, "agents": list}
AGENT: Kinds = dict.fromkeys(("name", "agent", "colour"), str)
AGENT |= {"k": (int, str), "settings": dict}
SHAPE = "see docs/studies.md: name, seeds, and [[panels]] with a domain and [[panels.agents]]"


def read_toml_study(path: Path) -> Study:
    """Read a study from a TOML file."""
    text = decode(read_bytes(path, MAX_STUDY_BYTES), str(path))
    lines = text.splitlines() or [""]
    table = TomlTable({}, "", str(path), lines, (range(len(lines)),))
    try:
        record = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"^(.*) \(at line (\d+), column (\d+)\)$", str(error), re.DOTALL)
        reason, line, column = found.groups() if found else (str(error), len(lines), 1)
        where = table.line(min(int(line), len(lines)) - 1, int(column))
        fault = f"invalid TOML: {reason}"
        raise BadStudy(fault, where=where, fix="see https://toml.io") from error
    return _read_study(replace(table, record=record), path)


@dataclass(frozen=True, slots=True)
class TomlTable:
    r"""A table of the file with its lines, for messages.

    `tomllib` gives line numbers only for syntax errors.

    >>> lines = ["name = 'a'", "[[panels]]", "domain = 'letter'", "[[panels]]", "domain = 'echo'"]
    >>> table = TomlTable({"panels": [{}, {}]}, "", "s.toml", lines, (range(5),))
    >>> str(table.tables("panels", "panels")[1].find("unknown domain `echo`"))
    's.toml:5:1'
    """

    record: Any
    path: str
    """The name in messages, such as `panels[1].agents[2]`."""
    file: str
    lines: list[str]
    """The lines of the file."""
    scopes: tuple[range, ...]
    """The lines of this table and of the tables around it, innermost first."""

    def check(self, known: Kinds, required: str = "") -> None:
        """Raise unless all keys are known, their values have the right type, and none is
        missing."""
        if not isinstance(self.record, dict):
            raise self.fault("", f"{self.path} is {self.record!r}, not a table", SHAPE)
        for key, value in self.record.items():
            path = self._path_of(key)
            if key not in known:
                raise self.fault(key, f"{path}: no such key", did_you_mean(key, known))
            if not isinstance(value, known[key]) or isinstance(value, bool):
                raise self.fault(key, f"{path} is {value!r}", SHAPE)
        if required and required not in self.record:
            raise self.fault("", f"{self.path} has no `{required}`", f'add {required} = "…"')

    def _path_of(self, key: str) -> str:
        return f"{self.path}.{key}".removeprefix(".")

    def tables(self, key: str, header: str) -> list[TomlTable]:
        """The sub-tables of an array of tables (`[[header]]`), or of an inline array."""
        path = self._path_of(key)
        records = self.record.get(key)
        if not records:
            raise self.fault("", f"{path} is missing or empty", SHAPE)
        scope = self.scopes[0]
        starts = [i for i in scope if self.lines[i].replace(" ", "").startswith(f"[[{header}]]")]
        blocks = map(range, starts, [*starts[1:], scope.stop])
        inline = [scope] * len(records)
        return [
            replace(self, record=record, path=f"{path}[{number}]", scopes=(lines, *self.scopes))
            for number, (record, lines) in enumerate(
                zip(records, chain(blocks, inline), strict=False), 1
            )
        ]

    def find(self, message: str) -> Where:
        """The line of a message: of a key in backticks, or of another word, or the first line."""
        quoted = re.findall("`([^`]+)`", message)
        words = [re.escape(word) for word in (*quoted, *re.findall(r"[\w.+-]+", message))]
        keys = [rf"\b{word}\s*(=|\]+\s*$)" for word in words[: len(quoted)]]
        for pattern in (*keys, *(rf"(?<![\w.+-]){word}(?![\w.+-])" for word in words)):
            for index in chain(*self.scopes):
                if re.search(pattern, self.lines[index]):
                    return self.line(index)
        return self.line(self.scopes[0].start)

    def line(self, index: int, column: int = 1) -> Where:
        """The location of a line, numbered from 0."""
        text = self.lines[index]
        return Where(self.file, index + 1, column, text, max(1, len(text) - column + 1))

    @contextmanager
    def located(self, key: str = "") -> Iterator[None]:
        """Add the location of `key`, or of the message's words, to an error raised in the block."""
        try:
            yield
        except PdrmError as error:
            if error.where is None:
                error.where = self.find(f"`{key}`" if key else error.message)
            raise

    def fault(self, key: str, message: str, fix: str) -> BadStudy:
        """An error at a key of the table."""
        return BadStudy(message, where=self.find(f"`{key}`"), fix=fix)


def _read_study(table: TomlTable, file: Path) -> Study:
    table.check(STUDY)
    record = table.record
    seeds = record.get("seeds", TEN_SEEDS)
    with table.located("seeds"):
        resolve_seeds(seeds)
    shared = record.get("settings", {})
    panels = [_read_panel(panel, file.parent, shared) for panel in table.tables("panels", "panels")]
    defaults = name_tasks([panel.task for panel in panels])
    named = tuple(
        replace(panel, name=panel.name or name)
        for panel, name in zip(panels, defaults, strict=True)
    )
    with table.located():
        return Study(
            name=record.get("name", file.stem),
            title=record.get("title", ""),
            panels=named,
            seeds=seeds,
        )


def _read_panel(table: TomlTable, folder: Path, shared: dict[str, Any]) -> Panel:
    table.check(PANEL, required="domain")
    record = table.record
    agents = table.tables("agents", "panels.agents")
    lines = tuple(_read_line(agent) for agent in agents)
    domain = record["domain"]
    machine = record.get("machine")
    # A catalogue name, or the path of a file next to the study. A misspelt name is kept for
    # messages.
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
        panel.task  # raises if the machine cannot read the domain's events
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


# --- Files of both kinds


def load_study(path: FilePath) -> Study:
    r"""Read a study from a `.toml` file, or from a `.py` file that sets STUDY.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "views.toml"
    ...     panels = "[[panels]]\ndomain = 'maze-5x5'\n[[panels.agents]]\nagent = 'q'"
    ...     _ = file.write_text(f"seeds = 3\n{panels}")
    ...     load_study(file).seeds
    (0, 1, 2)
    """
    file = Path(path)
    if file.suffix == ".toml":
        return read_toml_study(file)
    if file.suffix != ".py":
        raise BadStudy(f"{file} is not a study", fix="give a .toml file, or a .py file with STUDY")
    if not file.is_file():
        raise CannotOpen(f"{file} cannot be opened: no such file", fix="check the path")
    try:
        study = runpy.run_path(str(file)).get("STUDY")
    except PdrmError:
        raise
    except Exception as error:
        fault = f"{file} raised {type(error).__name__}: {error}"
        raise BadStudy(fault, fix=f"run it directly: python {file}") from error
    if not isinstance(study, Study):
        raise BadStudy(f"{file} does not set STUDY", fix="STUDY = pdrm.Study(name=…, panels=…)")
    study.check()
    return study
