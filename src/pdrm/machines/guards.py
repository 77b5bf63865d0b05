"""Guards: the labels that a rule reads.

A label is the set of events that are true after a transition of the environment. A guard is an
exact set `{a, t}`, a formula over events such as `a & !t`, or `SILENT`, the silent move of
Definition 1. A silent move reads no label. `{}` is the empty label, which is not silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pdrm.errors import BadShape, BadWord, Where, WrongKind

Label = frozenset[str]
"""The events that are true after one transition of the environment."""


@dataclass(frozen=True, slots=True)
class Silent:
    """The guard of a silent move, written `eps`. `SILENT` is its only instance.

    >>> str(SILENT), SILENT.holds(frozenset())
    ('eps', False)
    """

    def holds(self, _label: Label) -> bool:
        return False

    def __str__(self) -> str:
        return "eps"


SILENT = Silent()


@dataclass(frozen=True, slots=True)
class Exactly:
    """Holds for exactly one label.

    >>> str(Exactly(frozenset("ta"))), Exactly(frozenset("a")).holds(frozenset("at"))
    ('{a, t}', False)
    """

    events: Label

    def __post_init__(self) -> None:
        events: object = self.events
        if isinstance(events, str):
            raise BadShape(
                f"a label is a set of events, not the text {events!r}",
                fix='write Exactly({"a", "t"})',
            )
        object.__setattr__(self, "events", frozenset(self.events))

    def holds(self, label: Label) -> bool:
        return label == self.events

    def __str__(self) -> str:
        return label_text(self.events)


@dataclass(frozen=True, slots=True)
class Event:
    """Holds if the event is in the label.

    >>> Event("a").holds(frozenset("at")), Event("a").holds(frozenset())
    (True, False)
    """

    name: str

    def holds(self, label: Label) -> bool:
        return self.name in label

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Not:
    """Negation.

    >>> print(Not(Event("t")), Not(Event("t")).holds(frozenset("a")))
    !t True
    """

    inner: Formula

    def __post_init__(self) -> None:
        _check_formula(self, self.inner)

    def holds(self, label: Label) -> bool:
        return not self.inner.holds(label)

    def __str__(self) -> str:
        return f"!({self.inner})" if isinstance(self.inner, NaryFormula) else f"!{self.inner}"


@dataclass(frozen=True, slots=True)
class NaryFormula:
    """A conjunction or disjunction of no formulas, or of two or more.

    A single formula is written without a connective, so that every formula has one text.
    """

    parts: tuple[Formula, ...] = ()

    def __post_init__(self) -> None:
        parts = tuple(self.parts)
        object.__setattr__(self, "parts", parts)
        if len(parts) == 1:
            raise BadShape(
                "`And` and `Or` take no parts, or two or more", fix="use the part itself"
            )
        for part in parts:
            _check_formula(self, part)


@dataclass(frozen=True, slots=True)
class And(NaryFormula):
    """Conjunction. The empty conjunction is `true` (`ALWAYS`).

    >>> print(And((Event("a"), Not(Event("t")))), ALWAYS)
    a & !t true
    """

    def holds(self, label: Label) -> bool:
        return all(part.holds(label) for part in self.parts)

    def __str__(self) -> str:
        return _join(" & ", self.parts, NaryFormula) or "true"


@dataclass(frozen=True, slots=True)
class Or(NaryFormula):
    """Disjunction. The empty disjunction is `false`.

    >>> print(Or((And((Event("a"), Not(Event("t")))), Event("x"))))
    a & !t | x
    """

    def holds(self, label: Label) -> bool:
        return any(part.holds(label) for part in self.parts)

    def __str__(self) -> str:
        return _join(" | ", self.parts, Or) or "false"


def _join(sign: str, parts: Iterable[Formula], looser: type[NaryFormula]) -> str:
    """Join the parts with a sign; parts that bind less tightly are in parentheses."""
    return sign.join(
        f"({part})" if isinstance(part, looser) and part.parts else str(part) for part in parts
    )


def _check_formula(whole: Not | NaryFormula, part: object) -> None:
    """Raise unless the part of a formula is a formula: `Exactly` and `SILENT` cannot be nested."""
    if not isinstance(part, Formula):
        raise BadShape(
            f"`{type(whole).__name__}` contains formulas, not {str(part)[:40]!r}",
            fix='build it from Event, Not, And and Or: And((Event("a"), Not(Event("t"))))',
        )


def check_guard(guard: object) -> None:
    """Raise unless this is a guard."""
    if not isinstance(guard, Guard):
        raise BadShape(
            f"a rule has a guard, not {str(guard)[:40]!r}",
            fix='use Event("a"), Exactly({"a", "t"}), And, Or, Not or SILENT',
        )


Formula = Event | Not | And | Or
Guard = Silent | Exactly | Formula
ALWAYS = And()
"""The formula `true`, which holds for every label."""


def join_formulas(connective: type[And] | type[Or], parts: Sequence[Formula]) -> Formula:
    """The conjunction or disjunction of formulas. A single formula is returned as it is."""
    return parts[0] if len(parts) == 1 else connective(tuple(parts))


def events_of(guard: Guard) -> frozenset[str]:
    """The events that occur in a guard."""
    match guard:
        case Silent():
            return frozenset()
        case Exactly(events):
            return events
        case Event(name):
            return frozenset([name])
        case Not(inner):
            return events_of(inner)
        case And(parts) | Or(parts):
            return frozenset().union(*(events_of(part) for part in parts))


def spell_out(guard: Exactly, events: Iterable[str]) -> Formula:
    """Write an exact label as a formula over `events`.

    >>> print(spell_out(Exactly(frozenset("a")), "ab"))
    a & !b
    """
    present = sorted(guard.events)
    parts: list[Formula] = [Event(event) for event in present]
    parts += [Not(Event(event)) for event in events if event not in present]
    return join_formulas(And, parts)


# --- Labels and words as texts

NAME = re.compile(r"(?!-)[^\s\x00-\x1f\x7f{}()\[\],:/&|!<>=+\"'\\]{1,100}")
"""The names of events, states, stack symbols and machines."""


def label_text(label: Iterable[str]) -> str:
    """A label as the paper prints it.

    >>> label_text({"t", "a"}), label_text(())
    ('{a, t}', '{}')
    """
    return "{" + ", ".join(sorted(label)) + "}"


def word_text(word: Iterable[Label]) -> str:
    """A word in the notation of `pdrm step FILE WORD`.

    >>> word_text([frozenset("d"), frozenset("dt"), frozenset()])
    'd d+t -'
    """
    return " ".join("+".join(sorted(label)) or "-" for label in word)


def parse_word(text: str) -> list[Label]:
    """Read the labels of a word.

    >>> [sorted(label) for label in parse_word("d d+t - u")]
    [['d'], ['d', 't'], [], ['u']]
    """
    if not isinstance(text, str):
        raise WrongKind(f"a word is a text, not {str(text)[:40]!r}", fix='parse_word("d d+t - u")')
    labels: list[Label] = []
    for match in re.finditer(r"\S+", text):
        part = match[0]
        events = [] if part == "-" else part.split("+")
        if not all(NAME.fullmatch(event) for event in events):
            where = Where("<word>", 1, match.start() + 1, text, len(part))
            raise BadWord(
                f"`{part}` is not a label",
                where=where,
                fix="separate labels by blanks, `d t`, and join the events of a label by `+`, `d+t`; "
                "`-` is the empty label",
            )
        labels.append(frozenset(events))
    return labels
