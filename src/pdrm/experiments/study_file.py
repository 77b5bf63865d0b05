"""A study from a file: TOML, which is data, or a Python file that sets `STUDY`, which is run."""

from __future__ import annotations

import os
import re
import runpy
import tomllib
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pdrm.domains.paper_domains import names
from pdrm.errors import BadStudy, CannotOpen, PdrmError, Where, did_you_mean
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.study import TEN_SEEDS, Study
from pdrm.files import means_name, read_bytes
from pdrm.language.source import decode
from pdrm.learning.guest import agent_for
from pdrm.learning.run_spec import resolve_seeds
from pdrm.limits import LARGEST_STUDY
from pdrm.task import find_machine, find_success

# --- The line of each key in a TOML text: the standard library's reader tells it for syntax errors only.

Keys = tuple[str | int, ...]
HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\-]+)\s*\]\]?")
KEY = re.compile(r"\s*([\w\-]+)\s*=")


class KeyLines:
    r"""The line of each table and key.

    >>> text = "name = 'a'\n[[panels]]\ndomain = 'letter'\n[[panels.agents]]\nk = 1\n"
    >>> str(KeyLines("s.toml", text).of(("panels", 0, "agents", 0, "k")))
    's.toml:5:1'
    >>> str(KeyLines("s.toml", text).of(("panels", 0, "agents", 7, "k")))
    's.toml:4:1'
    """

    def __init__(self, file: str, text: str) -> None:
        self.file, self.lines = file, text.splitlines()
        self._found: dict[Keys, int] = {(): 1}
        table: Keys = ()
        for number, line in enumerate(self.lines, start=1):
            if header := HEADER.match(line):
                table = self._table(header[2].split("."), is_array=header[1] == "[[")
                self._found.setdefault(table, number)
                self._found.setdefault(table[:-1], number)
            elif key := KEY.match(line):
                self._found.setdefault((*table, key[1]), number)

    def _table(self, words: list[str], *, is_array: bool) -> Keys:
        """The path of a header: names of arrays are followed by the number of their latest table, which `[[…]]` begins."""
        path: Keys = ()
        for place, word in enumerate(words):
            path = (*path, word)
            tables = 0
            while (*path, tables) in self._found:
                tables += 1
            if is_array and place == len(words) - 1:
                return (*path, tables)
            if tables:
                path = (*path, tables - 1)
        return path

    def has(self, path: Keys) -> bool:
        """Return True if there is a line for this very key (or, in a table on one line, for that table and a key of this name)."""
        if path in self._found:
            return True
        around = self._found.get(path[:-1])
        inline = rf"[{{,]\s*{path[-1]}\s*="
        return around is not None and bool(re.search(inline, self.lines[around - 1]))

    def of(self, path: Keys) -> Where:
        """The line of a key, or of the nearest table around it."""
        while path not in self._found:
            path = path[:-1]
        number = self._found[path]
        text = self.lines[number - 1] if self.lines else ""
        return Where(self.file, number, 1, text, max(1, len(text)))


def path_text(path: Keys) -> str:
    """A path as people write it, counting from 1.

    >>> path_text(("panels", 0, "agents", 1, "k"))
    'panels[1].agents[2].k'
    """
    parts = (f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


# --- A study from a TOML file: what it holds becomes a `Study`; nothing in it is run as code.
#
# Every key is checked when the file is read, and every line of a panel is built once, so that errors are reported before
# anything runs: the file, the line, the key, why, and what to do.

Kinds = dict[str, type | tuple[type, ...]]
STUDY: Kinds = {"name": str, "title": str, "seeds": (int, list), "settings": dict, "panels": list}
PANEL: Kinds = dict.fromkeys(("name", "domain", "title", "machine"), str)
PANEL |= {"success": (str, list), "settings": dict, "agents": list}
AGENT: Kinds = dict.fromkeys(("name", "agent", "colour"), str)
AGENT |= {"k": (int, str), "settings": dict, "seconds": (int, float), "gigabytes": (int, float)}
KINDS = {str: "text", int: "an integer", float: "a number", list: "a list", dict: "a table"}
T = TypeVar("T")
SHAPE = "see the page on studies: name, seeds, then [[panels]] with a domain, each with [[panels.agents]]"


def read_toml_study(path: Path) -> Study:
    """The study in a file."""
    text = decode(read_bytes(path, LARGEST_STUDY), str(path))
    try:
        record = tomllib.loads(text)
    except RecursionError as error:
        fault = "tables or lists are nested too deeply"
        raise BadStudy(fault, where=Where(str(path)), fix=SHAPE) from error
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"^(.*) \(at line (\d+), column (\d+)\)$", str(error), re.DOTALL)
        lines = text.splitlines() or [""]
        line, column = (int(found[2]), int(found[3])) if found else (len(lines), len(lines[-1]) + 1)
        where = Where(str(path), line, column, lines[min(line, len(lines)) - 1])
        fault = f"this is not valid TOML: {found[1] if found else error}"
        raise BadStudy(fault, where=where, fix="https://toml.io shows how") from error
    return _TomlStudy(path, KeyLines(str(path), text)).study(record)


class _TomlStudy:
    """Turns tables into the parts of a study, with the place of each for messages."""

    def __init__(self, path: Path, places: KeyLines) -> None:
        self.folder, self.stem, self.places = path.parent, path.stem, places

    def study(self, record: dict[str, Any]) -> Study:
        self.check(record, STUDY, ())
        panels = self.tables(record, ("panels",))
        shared = record.get("settings", {})
        read = [
            self.panel(panel, ("panels", number), shared) for number, panel in enumerate(panels)
        ]
        made = _call_as_domains(panels, read)
        name, seeds = record.get("name", self.stem), record.get("seeds", TEN_SEEDS)
        self.locate(("seeds",), lambda: resolve_seeds(seeds))
        title = record.get("title", "")
        return self.locate(
            ("panels",), lambda: Study(name=name, title=title, panels=made, seeds=seeds)
        )

    def panel(self, record: dict[str, Any], keys: Keys, shared: dict[str, Any]) -> Panel:
        self.check(record, PANEL, keys, required=("domain",))
        domain = Path(record["domain"])
        success = record.get("success", ())
        agents = enumerate(self.tables(record, (*keys, "agents")))
        lines = tuple(self.line(agent, (*keys, "agents", number)) for number, agent in agents)
        machine = None
        if "machine" in record:
            given = partial(find_machine, record["machine"], self.folder)
            machine = self.locate((*keys, "machine"), given)
            self.locate((*keys, "success"), partial(find_success, machine, success))
        make = partial(
            Panel,
            name=record.get("name", domain.stem),
            domain=self.domain(record["domain"]),
            title=record.get("title") or record.get("name") or domain.name,
            lines=lines,
            machine=machine,
            success=(success,) if isinstance(success, str) else tuple(success),
            settings={**shared, **record.get("settings", {})},
        )
        panel = self.locate((*keys, "domain"), make, scopes=(keys,))
        self.locate((*keys, "success" if success else "domain"), lambda: panel.task)
        for number, line in enumerate(lines):
            agent = (*keys, "agents", number)
            scopes = ((*agent, "settings"), (*keys, "settings"), ("settings",))
            spec = self.locate((*agent, "agent"), partial(panel.specs, line, (0,)), scopes)[0]
            self.locate((*agent, "agent"), spec.check, scopes)
        return panel

    def line(self, record: dict[str, Any], keys: Keys) -> AgentLine:
        self.check(record, AGENT, keys, required=("agent",))
        agent = self.locate((*keys, "agent"), lambda: agent_for(record["agent"]))
        k = record.get("k", agent.k)
        self.locate((*keys, "k"), lambda: agent_for(agent, {"k": k}))
        made = partial(AgentLine, **{"name": f"{record['agent']} {k}", **record, "k": k})
        return self.locate((*keys, "gigabytes" if "gigabytes" in record else "seconds"), made)

    def domain(self, name: str) -> str:
        """A name of the catalogue, or the path of a file next to the study; a misspelt name stays as it is."""
        if name in names() or (means_name(name, (), self.folder) and means_name(name, ())):
            return name
        return str(self.folder / name)

    def check(
        self, record: Any, known: dict[str, Any], keys: Keys, required: tuple[str, ...] = ()
    ) -> None:
        """Raise unless all keys are known, of the right kind, and there."""
        if not isinstance(record, dict):
            raise self.fault(keys, f"{path_text(keys)} is {record!r}, not a table", SHAPE)
        for key, value in record.items():
            path = (*keys, key)
            if key not in known:
                raise self.fault(path, f"{path_text(path)}: no such key", did_you_mean(key, known))
            kinds = known[key] if isinstance(known[key], tuple) else (known[key],)
            if not isinstance(value, kinds) or isinstance(value, bool):
                wanted = " or ".join(KINDS[kind] for kind in kinds)
                raise self.fault(path, f"{path_text(path)} is {value!r}", f"give {wanted}")
        for key in required:
            if key not in record:
                raise self.fault(keys, f"{path_text(keys)} has no `{key}`", f'add {key} = "…"')

    def tables(self, record: dict[str, Any], keys: Keys) -> list[Any]:
        found = record.get(str(keys[-1]), [])
        if not found:
            raise self.fault(keys[:-1], f"{path_text(keys)} is missing or empty", SHAPE)
        return list(found)

    def locate(self, keys: Keys, make: Callable[[], T], scopes: tuple[Keys, ...] = ()) -> T:
        """Call `make`; an error in it gets its place in this file: of a key in these scopes that it names, if any."""
        try:
            return make()
        except PdrmError as error:
            if error.where is None:
                words = re.findall(r"\w+", error.message)
                named = ((*scope, word) for scope in scopes for word in words)
                found = (place for place in named if self.places.has(place))
                error.where = self.places.of(next(found, keys))
            raise

    def fault(self, keys: Keys, why: str, fix: str) -> BadStudy:
        return BadStudy(why, where=self.places.of(keys), fix=fix)


# --- A file of either kind.


def _call_as_domains(
    records: Sequence[dict[str, Any]], panels: Sequence[Panel]
) -> tuple[Panel, ...]:
    """The panels; those without a name have their domain's own name, not the file's, if that tells them apart."""
    names = [
        panel.name if "name" in record else panel.task.name
        for record, panel in zip(records, panels, strict=True)
    ]
    return tuple(
        panel
        if panel.name == name or names.count(name) > 1
        else replace(panel, name=name, title=record.get("title") or name)
        for record, panel, name in zip(records, panels, names, strict=True)
    )


def load_study(path: str | os.PathLike[str]) -> Study:
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
        last = traceback.extract_tb(error.__traceback__)[-1]
        fault = f"{file} raised {type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"
        raise BadStudy(fault, fix=f"try it by itself: python {file}") from error
    if not isinstance(study, Study):
        raise BadStudy(f"{file} sets no STUDY", fix="STUDY = pdrm.Study(name=…, panels=…)")
    study.check()
    return study
