"""A study from a TOML file: what it holds becomes a `Study`; nothing in it is run as code.

Every key is checked when the file is read, and every line of a panel is built once, so that a fault is told before
anything runs: the file, the line, the key, why, and what to do.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pdrm.domains.catalogue import names
from pdrm.errors import BadStudy, PdrmError, Where, did_you_mean
from pdrm.experiments.machine_text import machine_text
from pdrm.experiments.study import MOST_SEEDS, TEN_SEEDS, Line, Panel, Study, too_many_seeds
from pdrm.experiments.toml_places import Path as Keys
from pdrm.experiments.toml_places import Places, words
from pdrm.files.names import means_name
from pdrm.machines.text.source import decode, read_bytes

STUDY = {"name": str, "title": str, "seeds": (int, list), "settings": dict, "panels": list}
PANEL = {
    "name": str,
    "domain": str,
    "title": str,
    "machine": str,
    "success": (str, list),
    "settings": dict,
    "agents": list,
}
AGENT = {
    "name": str,
    "agent": str,
    "k": (int, str),
    "settings": dict,
    "colour": str,
    "seconds": (int, float),
    "gigabytes": (int, float),
}
DEEP = ("ppo", "rppo", "dqn", "sac")
KINDS = {str: "text", int: "a whole number", float: "a number", list: "a list", dict: "a table"}
T = TypeVar("T")
SHAPE = "see the page on studies: name, seeds, then [[panels]] with a domain, each with [[panels.agents]]"


def read_toml_study(path: Path) -> Study:
    """The study in a file."""
    text = decode(read_bytes(path), str(path))
    try:
        record = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(str(path), text, str(error)) from error
    return _Reader(path, Places(str(path), text)).study(record)


def _syntax_error(file: str, text: str, message: str) -> BadStudy:
    found = re.search(r"^(.*) \(at line (\d+), column (\d+)\)$", message, re.DOTALL)
    lines = text.splitlines() or [""]
    line, column = (int(found[2]), int(found[3])) if found else (len(lines), len(lines[-1]) + 1)
    where = Where(file, line, column, lines[min(line, len(lines)) - 1])
    return BadStudy(f"this is no TOML: {found[1] if found else message}", where=where, fix="https://toml.io shows how")


class _Reader:
    """Turns tables into the parts of a study, with the place of each for messages."""

    def __init__(self, path: Path, places: Places) -> None:
        self.folder, self.stem, self.places = path.parent, path.stem, places

    def study(self, record: dict[str, Any]) -> Study:
        self.check(record, STUDY, ())
        panels = self.tables(record, ("panels",))
        shared = record.get("settings", {})
        made = tuple(self.panel(panel, ("panels", number), shared) for number, panel in enumerate(panels))
        seeds = record.get("seeds", TEN_SEEDS)
        try:
            if isinstance(seeds, int) and seeds > MOST_SEEDS:
                raise too_many_seeds(seeds)
            seeds = tuple(range(seeds)) if isinstance(seeds, int) else tuple(map(int, seeds))
            name = record.get("name", self.stem)
            return Study(name=name, title=record.get("title", ""), panels=made, seeds=seeds)
        except (PdrmError, ValueError, TypeError) as error:
            why = error.message if isinstance(error, PdrmError) else f"seeds: {error}"
            fix = error.fix if isinstance(error, PdrmError) else "seeds = 5, or seeds = [3, 14, 15]"
            raise BadStudy(why, where=self.places.of(("seeds",) if "seeds" in why else ("panels",)), fix=fix) from error

    def panel(self, record: dict[str, Any], keys: Keys, shared: dict[str, Any]) -> Panel:
        self.check(record, PANEL, keys, required=("domain",))
        domain = record["domain"]
        success = record.get("success", ())
        lines = tuple(
            self.line(agent, (*keys, "agents", n)) for n, agent in enumerate(self.tables(record, (*keys, "agents")))
        )
        panel = Panel(
            name=record.get("name", Path(domain).stem),
            domain=self.domain(domain),
            title=record.get("title", ""),
            lines=lines,
            machine=self.machine(record["machine"], (*keys, "machine")) if "machine" in record else None,
            success=(success,) if isinstance(success, str) else tuple(success),
            settings={**shared, **record.get("settings", {})},
        )
        self.told((*keys, "domain"), panel.world)
        self.told((*keys, "success" if success else "machine"), panel.achieved)
        for number, line in enumerate(lines):
            agent = (*keys, "agents", number)
            scopes = ((*agent, "settings"), (*keys, "settings"), ("settings",))
            self.told((*agent, "agent"), partial(_built, panel, line), scopes)
        return panel

    def line(self, record: dict[str, Any], keys: Keys) -> Line:
        self.check(record, AGENT, keys, required=("agent",))
        agent = record["agent"]
        if agent in DEEP:
            raise self.fault(
                (*keys, "agent"),
                f"`{agent}` is a deep agent, and studies take tabular ones",
                f"pdrm train DOMAIN --agent {agent}",
            )
        k = str(record.get("k", "full" if agent.startswith("cra-") else "1"))
        if k != "full" and not k.isdecimal():
            raise self.fault((*keys, "k"), f"k is {k}", 'k = 1 (a whole number from 0 on), or k = "full"')
        name = record.get("name", f"{agent} {k}")
        rest = {key: record[key] for key in ("settings", "colour", "seconds", "gigabytes") if key in record}
        return Line(name=name, agent=agent, k=k, **rest)

    def domain(self, name: str) -> str:
        """A name of the catalogue, or the path of a file beside the study; a misspelt name stays as it is."""
        if name in names() or (means_name(name, (), self.folder) and means_name(name, ())):
            return name
        return str(self.folder / name)

    def machine(self, name: str, keys: Keys) -> str:
        """A machine's text: of the catalogue, or in a file beside the study."""
        return self.told(keys, partial(machine_text, name, self.folder))

    def check(self, record: Any, known: dict[str, Any], keys: Keys, required: tuple[str, ...] = ()) -> None:  # noqa: ANN401
        """Raise unless all keys are known, of the right kind, and there."""
        if not isinstance(record, dict):
            raise self.fault(keys, f"{words(keys)} is {record!r}, not a table", SHAPE)
        for key, value in record.items():
            if key not in known:
                raise self.fault((*keys, key), f"{words((*keys, key))}: no such key", did_you_mean(key, known))
            kinds = known[key] if isinstance(known[key], tuple) else (known[key],)
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                wanted = " or ".join(KINDS[kind] for kind in kinds)
                raise self.fault((*keys, key), f"{words((*keys, key))} is {value!r}", f"give {wanted}")
        for key in required:
            if key not in record:
                raise self.fault(keys, f"{words(keys)} has no `{key}`", f'add {key} = "…"')

    def tables(self, record: dict[str, Any], keys: Keys) -> list[Any]:
        found = record.get(str(keys[-1]), [])
        if not found:
            raise self.fault(keys[:-1], f"{words(keys)}: there is none", SHAPE)
        return list(found)

    def told(self, keys: Keys, make: Callable[[], T], scopes: tuple[Keys, ...] = ()) -> T:
        """What `make` returns; a fault in it is told with its place in this file: of a key in these scopes that it names, if any."""
        try:
            return make()
        except PdrmError as error:
            if error.where is None:
                named = [(*scope, word) for scope in scopes for word in re.findall(r"\w+", error.message)]
                error.where = self.places.of(next((place for place in named if self.places.has(place)), keys))
            raise

    def fault(self, keys: Keys, why: str, fix: str) -> BadStudy:
        return BadStudy(why, where=self.places.of(keys), fix=fix)


def _built(panel: Panel, line: Line) -> None:
    """Build a line's first run, for the faults that come up in that."""
    panel.specs(line, (0,))[0].training()
