"""The header of tasks that are defined by a set of words: grammars, expressions and formulas.

Such a text has a first line with its kind, header lines that specify when a word is complete and
the rewards, and a body:

    grammar  brackets
    accept   end
    reward   1
    start: pair*
    pair: "open" pair* "close"

A label stands for the event in it. Labels without an event of the task are skipped.
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
from pdrm.language.source import Line, Token, split_lines
from pdrm.machines.guards import Guard, events_of
from pdrm.machines.labels import names_of
from pdrm.machines.transitions import reward_of

IGNORE = "ignore"
"""The value of `fail` that skips events that no word can continue with."""
ACCEPT_MODES = ("first", "end")
END_EVENT = "end"
"""The event that ends a word if `accept` is `end`."""
DONE, LOST = "done", "lost"
"""The final state after a complete word, and the state from which no word can be completed."""


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """The header lines of a task: completion of a word, rewards, and labels.

    >>> TaskOptions(accept="end", reward=10).step
    0.0
    """

    accept: str = "first"
    """`first`: the task is done as soon as the events so far (at least one) are a word. `end`: it
    is done when the event `end` is read after a word."""
    reward: float = 1.0
    """The reward for completing the task."""
    fail: float | str | None = None
    """The effect of the first event that no word can continue with. A number is given as reward and
    ends the episode in the final state `lost`. None stays in `lost`. `ignore` skips the event."""
    step: float = 0.0
    """The reward for every label."""
    complete: Mapping[str, float] = field(default_factory=dict)
    """The rewards for completing a rule of a grammar, or for reading an event."""
    events: Iterable[str] = ()
    """More events that labels can contain."""
    exclusive: Iterable[Iterable[str]] | None = None
    """Groups of events of which a label contains at most one (default: one group of all)."""

    def __post_init__(self) -> None:
        if self.accept not in ACCEPT_MODES:
            raise BadSetting(f"`accept` is {self.accept!r}", fix='use "first" or "end"')
        if isinstance(self.fail, str) and self.fail != IGNORE:
            raise BadSetting(f"`fail` is {self.fail!r}", fix='use a number, None or "ignore"')
        checked: dict[str, object] = {
            "reward": reward_of(self.reward),
            "step": reward_of(self.step),
            "complete": {name: reward_of(reward) for name, reward in self.complete.items()},
            "events": names_of("events", self.events),
        }
        if not isinstance(self.fail, str | None):
            checked["fail"] = reward_of(self.fail)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def final(self) -> tuple[str, ...]:
        """The final states."""
        return (DONE, LOST) if isinstance(self.fail, float) else (DONE,)

    @property
    def fail_reward(self) -> float:
        """The reward of the first event that no word can continue with."""
        return self.fail if isinstance(self.fail, float) else 0.0


@dataclass(frozen=True, slots=True)
class TaskText:
    """The text of a task, split into name, header and body."""

    name: str
    options: TaskOptions
    body: tuple[Line, ...]
    where: dict[str, Where]
    """The positions of header lines, and of the names after `complete`."""
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
"""The header lines that can occur more than once."""


def read_task_text(text: str, file: str, kind: str, name: str, options: TaskOptions) -> TaskText:
    r"""Split a text into header lines, which override `options`, and a body.

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
    settings: dict[str, Any] = {}
    where: dict[str, Where] = {}
    while lines and lines[0].code.split()[0] in SHAPES:
        _read_header(lines.pop(0), settings, where)
    if kind != "grammar" and "complete" in where:
        raise BadSetting(
            "`complete` is for the rules of a grammar",
            where=where["complete"],
            fix="leave `complete` out, or write a grammar",
        )
    return TaskText(name, replace(options, **settings), tuple(lines), where, file)


def _read_header(line: Line, settings: dict[str, Any], where: dict[str, Where]) -> None:
    """Add the setting of a header line, and its position."""
    keyword, *rest = [
        Token(match[0], line.at(match.start() + 1, len(match[0])))
        for match in re.finditer(r'"[^"]*"|\S+', line.code)
    ]
    name = keyword.text
    words = [token.text for token in rest]
    if name in settings and name not in REPEATED:
        raise DuplicateName(f"a second `{name}` line", where=keyword.where, fix="keep one of them")
    where.setdefault(name, keyword.where)
    match name, words:
        case ("accept", ["first" | "end"]) | ("fail", ["ignore"]):
            settings[name] = words[0]
        case (("reward" | "step" | "fail"), [number]):
            settings[name] = number_of(number, rest[0].where)
        case "complete", [_, *_, number]:
            reward = number_of(number, rest[-1].where)
            for part in rest[:-1]:
                where.setdefault(part.text, part.where)
                settings.setdefault(name, {})[part.text] = reward
        case "events", [_, *_]:
            settings.setdefault(name, []).extend(words)
        case "exclusive", _:
            settings.setdefault(name, []).extend([words] if words else [])
        case _:
            raise CannotRead(
                f"this `{name}` line cannot be read",
                where=keyword.where,
                fix=f"write {SHAPES[name]}",
            )


def add_rewards(*rewards: float) -> float:
    """The sum of rewards, rounded to 15 digits.

    >>> add_rewards(0.1, 0.2)
    0.3
    """
    return float(f"{math.fsum(rewards):.15g}")


@contextmanager
def with_default_location(
    where: Where, places: Mapping[Guard, Where] | None = None
) -> Iterator[None]:
    """Add a position to an error without one.

    Args:
        where: The default position.
        places: The positions of guards, for errors about an event in a guard.
    """
    try:
        yield
    except PdrmError as error:
        if error.where is None or not error.where.line:
            matches = (
                place for guard, place in (places or {}).items() if error.word in events_of(guard)
            )
            error.where = next(matches, where)
        raise
