"""Tasks written as a set of words (a grammar, an expression, a formula): what their texts have in common.

Such a text is a first line with its kind, header lines that say when a word is complete and what is paid, and a body:

    grammar  brackets
    accept   end
    reward   1
    start: pair*
    pair: "open" pair* "close"

A label is read as the event in it. One that holds none of the task's events is passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction

from pdrm.errors import BadReward, BadSetting, CannotRead, DuplicateName, Where, did_you_mean
from pdrm.language.source import Line, split_lines
from pdrm.language.syntax import number_of
from pdrm.machines.labels import Alphabet, names_of
from pdrm.machines.rewards import reward_of

IGNORE = "ignore"
"""As `fail`: an event that no word continues with is passed over."""
ENDS = ("first", "end")
END = "end"
"""The event that ends a word where `accept` is `end`."""
DONE, LOST = "done", "lost"
"""The final state of a word that is complete, and the state in which none can be completed any more."""


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """When a word is complete, what is paid, and which labels there are; each is a header line of a file, too.

    >>> TaskOptions(accept="end", reward=10).step
    0.0
    """

    accept: str = "first"
    """`first`: the task is done as soon as the events read so far (at least one) are a word; `end`: when `end` is read after one."""
    reward: float = 1.0
    """Paid when the task is done."""
    fail: float | str | None = None
    """What the first event does that no word continues with: a number is paid and ends the episode in the final state `lost`; None leads
    to the state `lost`, which is not final; `ignore` passes the event over."""
    step: float = 0.0
    """Paid for every label."""
    complete: Mapping[str, float] = field(default_factory=dict)
    """Paid each time a part of the task is complete (a rule of a grammar, or an event as it is written)."""
    events: tuple[str, ...] = ()
    """Events that the task does not name, but that labels may hold."""
    exclusive: tuple[tuple[str, ...], ...] | None = None
    """Groups of events of which a label holds at most one; None: all of them are one such group."""

    def __post_init__(self) -> None:
        if self.accept not in ENDS:
            raise BadSetting(f"`accept` is {self.accept!r}", fix='use "first" or "end"')
        if isinstance(self.fail, str) and self.fail != IGNORE:
            raise BadSetting(f"`fail` is {self.fail!r}", fix='use a number, None or "ignore"')
        object.__setattr__(self, "reward", _number("reward", self.reward))
        object.__setattr__(self, "step", _number("step", self.step))
        if self.fail is not None and not isinstance(self.fail, str):
            object.__setattr__(self, "fail", _number("fail", self.fail))
        paid = {
            name: _number(f"complete {name}", number)
            for name, number in dict(self.complete).items()
        }
        object.__setattr__(self, "complete", paid)
        object.__setattr__(self, "events", names_of("events", self.events))
        if self.exclusive is not None:
            object.__setattr__(self, "exclusive", groups_of(self.exclusive))

    @property
    def paid_for_failing(self) -> float:
        """What the first event pays that no word continues with."""
        return 0.0 if self.fail is None or isinstance(self.fail, str) else self.fail


def _number(name: str, value: float) -> float:
    number = reward_of(value)
    if not math.isfinite(number):
        raise BadReward(f"`{name}` is {number}", fix="use a finite number such as 1 or -0.01")
    return number


@dataclass(frozen=True, slots=True)
class TaskText:
    """A task as it is written: its name, what its header lines say, and the lines of its body."""

    name: str
    options: TaskOptions
    body: tuple[Line, ...]
    where: dict[str, Where]
    """Where the header lines are, and the names after `complete`."""
    file: str


KEYWORDS = tuple(one.name for one in fields(TaskOptions))


def groups_of(exclusive: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Groups of events as tuples; one group alone is refused, because it would be taken event by event."""
    return Alphabet((), exclusive).exclusive  # type: ignore[arg-type] # it takes lists, too


def check_text(text: object, example: str, what: str = "the task") -> None:
    """Refuse what is not a text, where a task is given as one."""
    if not isinstance(text, str):
        raise BadSetting(f"{what} is a text, not {str(text)[:40]!r}", fix=f"write {example}")


def read_task_text(text: str, file: str, kind: str, name: str, options: TaskOptions) -> TaskText:
    r"""Split a text into header lines, which take the place of the options given, and a body.

    >>> task = read_task_text('grammar pairs\naccept end\nstart: "a" "b"', "t.grammar", "grammar", "t", TaskOptions())
    >>> task.name, task.options.accept, [line.text for line in task.body]
    ('pairs', 'end', ['start: "a" "b"'])
    """
    lines = [line for line in split_lines(text, file) if line.code.strip()]
    changes: dict[str, object] = {}
    where: dict[str, Where] = {}
    number = 0
    for number, line in enumerate(lines):
        keyword, *words = line.code.split()
        if number == 0 and keyword == kind and len(words) <= 1:
            name = words[0] if words else name
        elif keyword in KEYWORDS:
            place = line.at(line.indent + 1, len(keyword))
            if keyword in changes and keyword not in ("complete", "exclusive", "events"):
                raise DuplicateName(
                    f"a second `{keyword}` line", where=place, fix="keep one of them"
                )
            where.setdefault(keyword, place)
            _take(changes, line, keyword, words, where)
        else:
            break
    else:
        number += 1
    return TaskText(name, replace(options, **changes), tuple(lines[number:]), where, file)  # type: ignore[arg-type]


def _take(
    changes: dict[str, object], line: Line, keyword: str, words: list[str], where: dict[str, Where]
) -> None:
    """Keep what one header line says."""
    place = line.at(line.indent + 1, len(keyword))
    match keyword, words:
        case "accept", [end] if end in ENDS:
            changes["accept"] = end
        case "fail", ["ignore"]:
            changes["fail"] = IGNORE
        case (("reward" | "step" | "fail"), [number]):
            changes[keyword] = number_of(number, _place(line, number))
        case "complete", [_, *_, number]:
            paid = number_of(number, _place(line, number))
            names = _unquote(line.code.split(None, 1)[1].rsplit(None, 1)[0])
            given = dict[str, float](changes.get("complete", {}))  # type: ignore[call-overload]
            for part in names:
                where.setdefault(part, _place(line, part))
            changes["complete"] = given | dict.fromkeys(names, paid)
        case "events", [_, *_]:
            changes["events"] = (*changes.get("events", ()), *words)  # type: ignore[misc]
        case "exclusive", _:
            changes["exclusive"] = (
                *(changes.get("exclusive") or ()),
                *([tuple(words)] if words else []),
            )  # type: ignore[misc]
        case _:
            raise CannotRead(
                f"this `{keyword}` line cannot be read", where=place, fix=f"write {SHAPES[keyword]}"
            )


SHAPES = {
    "accept": "`accept first` or `accept end`",
    "reward": "`reward NUMBER`",
    "fail": "`fail NUMBER` or `fail ignore`",
    "step": "`step NUMBER`",
    "complete": "`complete NAME … NUMBER`, where a name is a rule or a quoted event",
    "events": "`events NAME …`",
    "exclusive": "`exclusive EVENT …`",
}


def _place(line: Line, word: str) -> Where:
    """Where a word stands in a line, the last time: by itself, not within another."""
    alone = [found.start() for found in re.finditer(rf"(?<!\S){re.escape(word)}(?!\S)", line.code)]
    return line.at((alone[-1] if alone else line.code.rfind(word)) + 1, len(word))


def _unquote(text: str) -> list[str]:
    """Names separated by blanks; one in quotes may hold blanks, and keeps its quotes."""
    pieces = text.split('"')
    names: list[str] = []
    for number, piece in enumerate(pieces):
        names += [f'"{piece}"'] if number % 2 else piece.split()
    return names


def check_names(
    names: Iterable[str], known: Iterable[str], what: str, where: Mapping[str, Where]
) -> None:
    """Raise at the first name that is not known."""
    listed = list(known)
    for name in names:
        if name not in listed:
            fault = f"`{name[:40]}` is not {what}"
            raise BadSetting(fault, where=where.get(name), fix=did_you_mean(name, listed))


def add_rewards(*rewards: float) -> float:
    """The sum of rewards as they are written: 0.1 and 0.2 are 0.3.

    >>> add_rewards(0.1, 0.2)
    0.3
    """
    return float(sum((Fraction(repr(paid)) for paid in rewards), Fraction(0)))
