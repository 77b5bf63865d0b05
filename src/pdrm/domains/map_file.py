"""A map file: the map, and above it settings, one per line: words with blanks between them, which a row of a map never has.

    step_limit  50        // steps an episode may take
    place       k key     // entering a cell that shows k emits the event `key`
    start       k         // an episode may begin there (and at `@`)
    directions  yes       // every move emits its direction: u, d, l or r
    slip        0.2       // how likely a move goes astray, to one of the two sides

Each setting is an option of `grid_domain`. A character that no `place` names emits itself.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from math import isfinite, nan
from re import finditer
from typing import Any

from pdrm.domains.finite_domain import FLOOR, MOST_STEPS, WALL, FiniteDomain, check_range
from pdrm.domains.grids import DIRECTIONS, START, check_slip, grid_domain, parse_map
from pdrm.errors import BadDomainSetting, PdrmError, UnknownPlace, Where, did_you_mean

COMMENT = "//"
RULE = "->"
"""What every rule of a machine has."""
OWN = {WALL: "a wall", FLOOR: "floor", START: "a start"}
"""What characters mean in every map."""


def parse_map_file(text: str, name: str, file: str = "<map>") -> FiniteDomain:
    r"""The domain that a map file describes; `name` is used where it gives none.

    >>> rooms = parse_map_file("step_limit 50\nplace k key\n#####\n#@.k#\n#####", "rooms")
    >>> rooms.name, rooms.states, rooms.events, rooms.step_limit
    ('rooms', 3, ('key',), 50)
    """
    _refuse_machine(text, file)
    rows, given = list[str](), dict[str, Any]()
    places, settings = dict[str, str](), list[Where]()
    for number, line in enumerate(text.splitlines(), 1):
        words = [] if line.startswith(COMMENT) else _split(line)
        # A setting leaves an empty row, so that lines keep their numbers.
        rows.append(line.partition(f" {COMMENT}")[0].rstrip() if len(words) == 1 else "")
        if len(words) > 1:
            where = Where(file, number, line.index(words[0]) + 1, line, len(words[0]))
            settings.append(where)
            try:
                _set(words[0], words[1:], given, places)
            except PdrmError as error:
                raise type(error)(error.message, where=where, fix=error.fix) from error
    drawn = [letter for letter in "".join(rows).strip() if letter not in (WALL, FLOOR, START)]
    _check_drawn(settings, "".join(rows))
    emits = {
        **dict(zip(drawn, drawn, strict=True)),
        **places,
    }  # a character emits itself unless told otherwise
    if given.get("directions"):
        for letter, event in emits.items():
            if event in DIRECTIONS:
                fault = f"{file}: `{letter}` emits `{event}`, which is also a direction"
                raise BadDomainSetting(fault, fix=f"place {letter} EVENT")
    grid = parse_map("\n".join(rows), places=emits, start=given.pop("start", ""), file=file)
    called = given.pop("name", name)
    sources = _find_sources(settings, rows, file)
    return grid_domain(called, grid, emits, sources=sources, **given)


def _check_drawn(settings: list[Where], drawn: str) -> None:
    """Refuse a place or a start that the map does not show; a file without a map has another fault."""
    for where in settings:
        keyword, *words = _split(where.text)
        for letter in words[:1] if keyword == "place" else words if keyword == "start" else []:
            if letter not in drawn and drawn:
                fix = f"draw `{letter}` where it is, or remove this line"
                raise UnknownPlace(
                    f"the map does not show `{letter}`", where=_point_at(where, letter), fix=fix
                )


def _find_sources(settings: list[Where], rows: list[str], file: str) -> dict[str, Where]:
    """Where each event comes from: the line that names it, else the first cell that shows it."""
    found = dict[str, Where]()
    for where in settings:
        keyword, *words = _split(where.text)
        named = {"place": words[1:], "bump": words, "directions": DIRECTIONS}.get(keyword, ())
        found |= {event: _point_at(where, event) for event in named if event not in found}
    for number, row in enumerate(rows, 1):
        for column, letter in enumerate(row, 1):
            found.setdefault(letter, Where(file, number, column, row))
    return found


def _split(line: str) -> list[str]:
    """The words of a line without its comment."""
    return line.partition(f" {COMMENT}")[0].split()


def _point_at(where: Where, word: str) -> Where:
    """The last place in a line where a word stands; the line's keyword where it does not."""
    found = [
        one.start()
        for one in finditer(r"\S+", where.text.partition(f" {COMMENT}")[0])
        if one[0] == word
    ]
    return replace(where, column=found[-1] + 1, width=len(word)) if found else where


def _refuse_machine(text: str, file: str) -> None:
    """Refuse a machine's file in one message."""
    for number, line in enumerate(text.splitlines(), 1):
        if f" {RULE} " in line and not line.startswith(COMMENT):
            where = Where(file, number, line.index(RULE) + 1, line, len(RULE))
            fix = f"give the domain first: pdrm.Task(DOMAIN, {file!r}) (in a shell: DOMAIN --machine {file})"
            raise BadDomainSetting(
                "this is a rule of a machine, not of a map", where=where, fix=fix
            )


def _set(keyword: str, words: list[str], given: dict[str, Any], places: dict[str, str]) -> None:
    """Note one setting."""
    if keyword == "place":
        letter, event = words if len(words) == 2 else ("", "")
        if letter in OWN:
            fault = f"`{letter}` is {OWN[letter]} in every map, so that it cannot be a place"
            raise BadDomainSetting(
                fault, fix=f"draw the place with another character: place k {event}"
            )
        if len(letter) != 1:
            raise BadDomainSetting(
                "a place is one character and the event it emits", fix="place k key"
            )
        if letter in places:
            fix = f"give `{letter}` one event, and draw the other place with another character"
            raise BadDomainSetting(f"`{letter}` emits `{places[letter]}` already", fix=fix)
        places[letter] = event
        return
    if keyword.startswith((WALL, FLOOR, START)):
        fault = (
            "a row of the map has blanks in it"
            if len(keyword) > 1
            else "this is neither a row of the map nor a setting"
        )
        fix = f"draw floor as `{FLOOR}`, not as a blank; a comment starts with `{COMMENT}`, because `{WALL}` is a wall"
        raise BadDomainSetting(fault, fix=fix)
    if keyword not in SETTINGS:
        if keyword.rstrip(":=") in ("place", *SETTINGS):
            fix = f"{keyword.rstrip(':=')} {' '.join(words)}"
        else:
            fix = f"{did_you_mean(keyword, ('place', *SETTINGS))} (floor is drawn as `{FLOOR}`, not as a blank)"
        raise BadDomainSetting(f"a map has no setting `{keyword}`", fix=fix)
    if words[0] in ("=", ":"):
        raise BadDomainSetting(
            f"`{words[0]}` does not belong here", fix=f"{keyword} {' '.join(words[1:])}"
        )
    if keyword in given:
        raise BadDomainSetting(f"`{keyword}` is set twice", fix="set it once")
    given[keyword] = SETTINGS[keyword](keyword, words)
    check_range(given.get("name", "map"), given.get("lowest"), given.get("highest"))


def _name(keyword: str, words: list[str]) -> str:
    if len(words) != 1:
        raise BadDomainSetting(f"`{keyword}` takes one word", fix=f"{keyword} {'-'.join(words)}")
    return words[0]


def _letters(keyword: str, words: list[str]) -> str:
    if any(len(word) != 1 for word in words):
        raise BadDomainSetting(f"`{keyword}` takes characters of the map", fix=f"{keyword} x")
    return "".join(words)


def _switch(keyword: str, words: list[str]) -> bool:
    if words not in (["yes"], ["no"]):
        raise BadDomainSetting(
            f"`{keyword}` is `{' '.join(words)}`", fix=f"{keyword} yes, or {keyword} no"
        )
    return words == ["yes"]


def _steps(keyword: str, words: list[str]) -> int:
    written = " ".join(words)
    digits = written.lstrip("0")  # counted first: Python does not read thousands of them
    if (
        not (written.isascii() and written.isdecimal())
        or not digits
        or len(digits) > 10
        or not 1 <= int(digits) <= MOST_STEPS
    ):
        fault = f"`{keyword}` is `{written}`, not an integer from 1 to {MOST_STEPS:,}"
        raise BadDomainSetting(fault, fix=f"{keyword} 100")
    return int(digits)


def _number(keyword: str, words: list[str]) -> float:
    value = nan
    with suppress(ValueError):
        value = float(" ".join(words))
    if not isfinite(value):
        fix = f"{keyword} {0.2 if keyword == 'slip' else -0.1}"
        raise BadDomainSetting(f"`{keyword}` is `{' '.join(words)}`, not a number", fix=fix)
    return value


def _slip(keyword: str, words: list[str]) -> float:
    check_slip(value := _number(keyword, words))
    return value


SETTINGS: dict[str, Callable[[str, list[str]], Any]] = {
    "name": _name,
    "step_limit": _steps,
    "start": _letters,
    "directions": _switch,
    "standing": _switch,
    "slip": _slip,
    "bump": lambda _, words: tuple(words),
    "step_reward": _number,
    "machine": _name,
    "lowest": _number,
    "highest": _number,
}
"""What can be set besides places, and how its words are read."""
