"""Tasks written as a set of words (a grammar, an expression, a formula): the header of their texts.

Such a text is a first line with its kind, header lines that say when a word is complete and what is
paid, and a body:

    grammar  brackets
    accept   end
    reward   1
    start: pair*
    pair: "open" pair* "close"

A label is read as the event in it. One that holds none of the task's events is skipped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from pdrm.errors import (
    BadSetting,
    CannotRead,
    DuplicateName,
    PdrmError,
    Where,
)
from pdrm.language.document import number_of
from pdrm.language.source import Line, split_lines
from pdrm.machines.guards import Guard, events_of
from pdrm.machines.labels import names_of
from pdrm.machines.transitions import reward_of

IGNORE = "ignore"
"""As `fail`: an event with which no word continues is skipped."""
ACCEPT_MODES = ("first", "end")
END_EVENT = "end"
"""The event that ends a word if `accept` is `end`."""
DONE, LOST = "done", "lost"
"""The final state of a complete word, and the state in which none can be completed any more."""


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """When a word is complete, what is paid, and which labels there are: the header lines of a file.

    >>> TaskOptions(accept="end", reward=10).step
    0.0
    """

    accept: str = "first"
    """`first`: done as soon as the events read so far (at least one) are a word; `end`: when `end`
    is read after one."""
    reward: float = 1.0
    """Paid when the task is done."""
    fail: float | str | None = None
    """Effect of the first event with which no word continues: a number is paid and ends the episode
    in the final state `lost`; by default the machine stays in `lost`; `ignore` skips the event."""
    step: float = 0.0
    """Paid for every label."""
    complete: Mapping[str, float] = field(default_factory=dict)
    """Paid each time a rule of a grammar is complete, or an event is read."""
    events: Iterable[str] = ()
    """Events that the task does not name, but that labels may hold."""
    exclusive: Iterable[Iterable[str]] | None = None
    """Groups of events of which a label holds at most one (default: one group of all)."""

    def __post_init__(self) -> None:
        if self.accept not in ACCEPT_MODES:
            raise BadSetting(f"`accept` is {self.accept!r}", fix='use "first" or "end"')
        if isinstance(self.fail, str) and self.fail != IGNORE:
            raise BadSetting(f"`fail` is {self.fail!r}", fix='use a number, None or "ignore"')
        checked: dict[str, object] = {
            "reward": reward_of(self.reward),
            "step": reward_of(self.step),
            "complete": {one: reward_of(n) for one, n in self.complete.items()},
            "events": names_of("events", self.events),
        }
        if not isinstance(self.fail, str | None):
            checked["fail"] = reward_of(self.fail)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def final(self) -> tuple[str, ...]:
        """The states in which the episode ends."""
        return (DONE, LOST) if isinstance(self.fail, float) else (DONE,)

    @property
    def fail_reward(self) -> float:
        """The reward of the first event with which no word continues."""
        return self.fail if isinstance(self.fail, float) else 0.0


@dataclass(frozen=True, slots=True)
class TaskText:
    """A task as it is written: its name, its header lines, and the lines of its body."""

    name: str
    options: TaskOptions
    body: tuple[Line, ...]
    where: dict[str, Where]
    """The places of header lines, and of the names after `complete`."""
    file: str


SHAPES = {
    "accept": "`accept first` or `accept end`",
    "reward": "`reward NUMBER`",
    "fail": "`fail NUMBER` or `fail ignore`",
    "step": "`step NUMBER`",
    "complete": "`complete NAME … NUMBER`, where a name is a rule or a quoted event",
    "events": "`events NAME …`",
    "exclusive": "`exclusive EVENT …`",
}
REPEATED = ("complete", "events", "exclusive")
"""Header lines that may stand more than once."""


def read_task_text(text: str, file: str, kind: str, name: str, options: TaskOptions) -> TaskText:
    r"""Split a text into header lines, which replace the options given, and a body.

    >>> text = 'grammar pairs\naccept end\nstart: "a" "b"'
    >>> task = read_task_text(text, "t.grammar", "grammar", "t", TaskOptions())
    >>> task.name, task.options.accept, [line.text for line in task.body]
    ('pairs', 'end', ['start: "a" "b"'])
    """
    lines = [line for line in split_lines(text, file) if line.code.strip()]
    first = lines[0].code.split() if lines else []
    if first[:1] == [kind] and len(first) <= 2:
        name = [name, *first[1:]][-1]
        del lines[0]
    given: dict[str, Any] = {}
    where: dict[str, Where] = {}
    while lines and lines[0].code.split()[0] in SHAPES:
        _read_header(lines.pop(0), given, where)
    if kind != "grammar" and "complete" in where:
        fault = "only a grammar has rules that are completed"
        raise BadSetting(
            fault, where=where["complete"], fix="leave `complete` out, or write a grammar"
        )
    return TaskText(name, replace(options, **given), tuple(lines), where, file)


def _read_header(line: Line, given: dict[str, Any], where: dict[str, Where]) -> None:
    """Keep the setting of a header line, and its place."""
    pieces = re.finditer(r'"[^"]*"|\S+', line.code)
    (keyword, place), *rest = [(one[0], line.at(one.start() + 1, len(one[0]))) for one in pieces]
    words = [word for word, _ in rest]
    if keyword in given and keyword not in REPEATED:
        raise DuplicateName(f"a second `{keyword}` line", where=place, fix="keep one of them")
    where.setdefault(keyword, place)
    match keyword, words:
        case ("accept", ["first" | "end"]) | ("fail", ["ignore"]):
            given[keyword] = words[0]
        case (("reward" | "step" | "fail"), [_]):
            given[keyword] = number_of(*rest[-1])
        case "complete", [_, *_, _]:
            paid = number_of(*rest[-1])
            for part, there in rest[:-1]:
                where.setdefault(part, there)
                given.setdefault(keyword, {})[part] = paid
        case "events", [_, *_]:
            given.setdefault(keyword, []).extend(words)
        case "exclusive", _:
            given.setdefault(keyword, []).extend([words] if words else [])
        case _:
            fix = f"write {SHAPES[keyword]}"
            raise CannotRead(f"this `{keyword}` line cannot be read", where=place, fix=fix)


def add_rewards(*rewards: float) -> float:
    """The sum of rewards, rounded to 15 digits: 0.1 and 0.2 are 0.3.

    >>> add_rewards(0.1, 0.2)
    0.3
    """
    return float(f"{math.fsum(rewards):.15g}")


@contextmanager
def with_default_location(
    where: Where, places: Mapping[Guard, Where] | None = None
) -> Iterator[None]:
    """Give a place to an error that has none: that of the guard with its word, or this one."""
    try:
        yield
    except PdrmError as error:
        if error.where is None or not error.where.line:
            named = (
                place for guard, place in (places or {}).items() if error.word in events_of(guard)
            )
            error.where = next(named, where)
        raise
