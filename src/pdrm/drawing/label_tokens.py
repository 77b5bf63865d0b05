"""Words of a drawing: names of the machine kept apart from the paper's signs (ε, ∧, −) between them.

The two are spelled differently in Unicode and in LaTeX, and only names can be replaced by a variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pdrm.machines.guards import And, Event, Exactly, Guard, Not, Or, Silent
from pdrm.machines.transitions import ANY, NONE, number_text

VARIABLE = ""
"""The name of a place left open, which no machine can use."""


@dataclass(frozen=True, slots=True)
class Name:
    """An event, a stack symbol or a state.

    >>> plain((Name("#"), " / ", Name("A")))
    '# / A'
    """

    text: str


@dataclass(frozen=True, slots=True)
class ExactLabel:
    """A label in braces, its events in the order the machine declares them.

    >>> plain((ExactLabel(("u", "t")), ", z"))
    '{u, t}, z'
    """

    events: tuple[str, ...]


Words = tuple[str | Name | ExactLabel, ...]
"""Signs (plain strings), names and exact labels, in the order they are read."""


def guard_words(guard: Guard, declared: Sequence[str] = ()) -> Words:
    """A guard in the paper's signs, given the order of the events (alphabetical unless told).

    >>> plain(guard_words(And((Event("a"), Not(Event("t"))))))
    'a ∧ ¬t'
    """

    def inner(part: Guard, *compound: type[And] | type[Or]) -> Words:
        words = guard_words(part, declared)
        return ("(", *words, ")") if isinstance(part, compound) and part.parts else words

    match guard:
        case Silent():
            return ("ε",)
        case Exactly(events):
            return (ExactLabel(in_order(events, declared)),)
        case Event(name):
            return (Name(name),)
        case Not(part):
            return ("¬", *inner(part, And, Or))
        case And(parts):
            return joined(" ∧ ", [inner(part, And, Or) for part in parts], "⊤")
        case Or(parts):
            return joined(" ∨ ", [inner(part, Or) for part in parts], "⊥")


def in_order(events: Iterable[str], declared: Sequence[str]) -> tuple[str, ...]:
    """The events as declared, the others after them by alphabet."""
    position = {event: index for index, event in enumerate(declared)}
    return tuple(sorted(events, key=lambda event: (position.get(event, len(declared)), event)))


def stack_words(symbols: Iterable[str]) -> Words:
    """Stack symbols, top first; `z` and nothing at all are signs."""
    return joined(" ", [("z",) if symbol == ANY else (Name(symbol),) for symbol in symbols], "ε")


def top_words(top: str) -> Words:
    """The symbol a rule looks at."""
    return stack_words(() if top == NONE else (top,))


def number_sign(value: float, plus: bool = False) -> str:
    """A number with a true minus sign, and a plus where asked for.

    >>> number_sign(-1e5), number_sign(2, plus=True)
    ('−1e5', '+2')
    """
    return ("+" if plus and value > 0 else "") + number_text(value).replace("-", "−")


def joined(separator: str, parts: Iterable[Words], empty: str = "") -> Words:
    """Words with a sign between them, or the sign for none."""
    words: list[str | Name | ExactLabel] = []
    for part in parts:
        words += [separator, *part] if words else part
    return tuple(words) or (empty,)


def names_in(words: Words) -> frozenset[str]:
    """The names that occur in the words."""
    names: set[str] = set()
    for word in words:
        match word:
            case Name(text):
                names.add(text)
            case ExactLabel(events):
                names.update(events)
    return frozenset(names)


def renamed(words: Words, old: str, new: str) -> Words:
    """The words with every occurrence of one name replaced; in a label, a place left open comes first."""
    replaced: list[str | Name | ExactLabel] = []
    for word in words:
        match word:
            case Name(text):
                replaced.append(Name(new if text == old else text))
            case ExactLabel(events):
                filled = (new if event == old else event for event in events)
                replaced.append(ExactLabel(tuple(sorted(filled, key=lambda event: event != VARIABLE))))
            case _:
                replaced.append(word)
    return tuple(replaced)


def plain(words: Words) -> str:
    """The words as Unicode text."""

    def one(word: str | Name | ExactLabel) -> str:
        match word:
            case Name(text):
                return printable(text)
            case ExactLabel(events):
                return "{" + ", ".join(printable(event) for event in events) + "}"
            case _:
                return word

    return "".join(one(word) for word in words)


def printable(text: str) -> str:
    r"""Text in which characters that cannot be seen (or stand in XML) are spelled by their code point.

    >>> printable("a\x01b")
    'a⟨U+0001⟩b'
    """
    return "".join(c if c.isprintable() else f"⟨U+{ord(c):04X}⟩" for c in text)
