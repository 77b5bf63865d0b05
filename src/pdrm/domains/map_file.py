"""A map file: the map, and above it settings, one per line: words with blanks between them, which a row of a map never has.

    step_limit  50        // steps an episode may take
    place       k key     // entering a cell that shows k emits the event `key`
    start       k         // an episode may begin there (and at `@`)
    directions  yes       // every move emits its direction: u, d, l or r
    slip        0.2       // the probability that a move goes astray, to one of the two sides

Each setting is an option of `grid_domain`. A character that no `place` names emits itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from typing import Any, NamedTuple

from pdrm.domains.finite_domain import FLOOR, WALL, FiniteDomain
from pdrm.domains.grids import DIRECTIONS, START, grid_domain, parse_map
from pdrm.errors import BadDomainSetting, UnknownPlace, Where, did_you_mean

COMMENT = "//"
RULE = "->"
"""Part of every rule of a machine."""


def parse_map_file(text: str, name: str, file: str = "<map>") -> FiniteDomain:
    r"""The domain that a map file describes; `name` is used if it gives none.

    >>> rooms = parse_map_file("step_limit 50\nplace k key\n#####\n#@.k#\n#####", "rooms")
    >>> rooms.name, rooms.states, rooms.events, rooms.step_limit
    ('rooms', 3, ('key',), 50)
    """
    rows, settings = list[str](), list[list[MapWord]]()
    for number, line in enumerate(text.splitlines(), 1):
        words = [] if line.startswith(COMMENT) else _find_words(line, number, file)
        # A setting leaves an empty row, so that lines keep their numbers.
        rows.append(line.partition(f" {COMMENT}")[0].rstrip() if len(words) == 1 else "")
        if len(words) > 1:
            settings.append(words)
    given, places = dict[str, Any](), dict[str, str]()
    for keyword, *words in settings:
        _set(keyword, [word.text for word in words], given, places)
    drawn = "".join(rows)
    emits = {letter: letter for letter in drawn if letter not in (WALL, FLOOR, START)} | places
    clash = [letter for letter, event in emits.items() if event in DIRECTIONS]
    if given.get("directions") and clash:
        fault = f"{file}: `{clash[0]}` emits `{emits[clash[0]]}`, which is also a direction"
        raise BadDomainSetting(fault, fix=f"place {clash[0]} EVENT")
    own = {field: given.pop(field) for field in ("machine", "lowest", "highest") if field in given}
    try:
        grid = parse_map("\n".join(rows), places=emits, start=given.pop("start", ""), file=file)
        made = grid_domain(given.pop("name", name), grid, emits, **given)
        return replace(made, sources=_find_sources(settings, rows, file), **own)
    except (BadDomainSetting, UnknownPlace) as error:
        named = {word.text: word.where for words in settings for word in words}
        where = error.where or named.get(error.word)
        raise type(error)(error.message, where=where, fix=error.fix) from error


class MapWord(NamedTuple):
    """A word of a map file, and its place."""

    text: str
    where: Where


def _find_words(line: str, number: int, file: str) -> list[MapWord]:
    """The words of a line without its comment."""
    code = line.partition(f" {COMMENT}")[0]
    found = [
        MapWord(word[0], Where(file, number, word.start() + 1, line, len(word[0])))
        for word in re.finditer(r"\S+", code)
    ]
    for word in found:
        if word.text == RULE:
            fault = "this is a rule of a machine, not of a map"
            fix = "give the domain first, and this file as its machine"
            raise BadDomainSetting(fault, where=word.where, fix=fix)
    return found


def _find_sources(settings: list[list[MapWord]], rows: list[str], file: str) -> dict[str, Where]:
    """The place that names each event: a setting, else the first cell that shows it."""
    found = dict[str, Where]()
    for keyword, *words in settings:
        named = {"place": words[1:], "bump": words}.get(keyword.text, [])
        if keyword.text == "directions":
            named = [MapWord(direction, keyword.where) for direction in DIRECTIONS]
        for word in named:
            found.setdefault(word.text, word.where)
    for number, row in enumerate(rows, 1):
        for column, letter in enumerate(row, 1):
            found.setdefault(letter, Where(file, number, column, row))
    return found


def _set(keyword: MapWord, words: list[str], given: dict[str, Any], places: dict[str, str]) -> None:
    """Note one setting."""

    def refuse(fault: str, fix: str) -> BadDomainSetting:
        return BadDomainSetting(fault, where=keyword.where, fix=fix)

    name = keyword.text
    if name == "place":
        letter, event = words if len(words) == 2 else ("", "")
        if len(letter) != 1 or letter in (WALL, FLOOR, START):
            fault = f"a place is one character, other than `{WALL}`, `{FLOOR}` and `{START}`, and its event"
            raise refuse(fault, "place k key")
        if letter in places:
            fault = f"`{letter}` emits `{places[letter]}` already"
            raise refuse(fault, "draw the other place with another character")
        places[letter] = event
        return
    if name not in SETTINGS:
        hint = did_you_mean(name.rstrip(":="), ("place", *SETTINGS))
        fix = (
            f"{hint} Floor is drawn as `{FLOOR}`, not as a blank; a comment starts with `{COMMENT}`"
        )
        raise refuse(f"`{name}` is neither a setting nor a row of the map", fix)
    if name in given:
        raise refuse(f"`{name}` is set twice", "set it once")
    read, example = SETTINGS[name]
    try:
        values = tuple(map(read, words))
        if name in LISTS:
            given[name] = values
        else:
            (given[name],) = values
    except ValueError:
        fault = f"`{name}` cannot be `{' '.join(words)[:60]}`"
        raise refuse(fault, f"{name} {example}") from None


def _letter(word: str) -> str:
    if len(word) != 1:
        raise ValueError
    return word


def _switch(word: str) -> bool:
    return bool(["no", "yes"].index(word))


def _number(word: str) -> float:
    value = float(word)
    if not isfinite(value):
        raise ValueError
    return value


def _chance(word: str) -> float:
    value = float(word)
    if not 0 <= value <= 1:
        raise ValueError
    return value


SETTINGS: dict[str, tuple[Callable[[str], Any], str]] = {
    "name": (str, "my-rooms"),
    "step_limit": (int, "100"),
    "start": (_letter, "x"),
    "directions": (_switch, "yes"),
    "standing": (_switch, "yes"),
    "slip": (_chance, "0.2"),
    "bump": (str, "ouch"),
    "step_reward": (_number, "-0.1"),
    "machine": (str, "treasure-maze"),
    "lowest": (_number, "-1"),
    "highest": (_number, "1"),
}
"""The settings besides places: how a word of them is read, and an example."""

LISTS = ("start", "bump")
"""Settings that may have several words; the others have one."""
