"""The label of a rule in the paper's notation, as tokens: names of the machine kept apart from the signs (ε, ∧, −) between them.

The two are spelled differently in Unicode and in LaTeX, and only names can be replaced by a variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch

from pdrm.machines.counting import CountingTransition
from pdrm.machines.guards import And, Event, Exactly, Guard, Not, Or, Silent
from pdrm.machines.rewards import number_text
from pdrm.machines.transitions import ANY, NONE, Rule, Transition

VARIABLE = ""
"""The name of a place left open, which no machine can use."""

SECOND = " "
"""The name of a second such place."""


@dataclass(frozen=True, slots=True)
class Name:
    """An event, a stack symbol or a state.

    >>> spell((Name("#"), " / ", Name("A")))
    '# / A'
    """

    text: str


@dataclass(frozen=True, slots=True)
class ExactLabel:
    """A label in braces, its events in the order the machine declares them.

    >>> spell((ExactLabel(("u", "t")), ", z"))
    '{u, t}, z'
    """

    events: tuple[str, ...]


Token = str | Name | ExactLabel

Tokens = tuple[Token, ...]
"""Signs (plain strings), names and exact labels, in the order they are read."""


def tokenize_guard(guard: Guard, declared: Sequence[str] = ()) -> Tokens:
    """A guard in the paper's signs, the events of a label in the order given, then by alphabet.

    >>> spell(tokenize_guard(And((Event("a"), Not(Event("t"))))))
    'a ∧ ¬t'
    """

    def inner(part: Guard, *compound: type[And] | type[Or]) -> Tokens:
        tokens = tokenize_guard(part, declared)
        return ("(", *tokens, ")") if isinstance(part, compound) and part.parts else tokens

    match guard:
        case Silent():
            return ("ε",)
        case Exactly(events):
            place = {event: index for index, event in enumerate(declared)}
            return (
                ExactLabel(
                    tuple(sorted(events, key=lambda event: (place.get(event, len(place)), event)))
                ),
            )
        case Event(name):
            return (Name(name),)
        case Not(part):
            return ("¬", *inner(part, And, Or))
        case And(parts):
            nothing = len(declared) > 1 and {*parts} == {Not(Event(event)) for event in declared}
            return (
                (ExactLabel(()),)
                if nothing
                else join(" ∧ ", [inner(part, And, Or) for part in parts], "⊤")
            )
        case Or(parts):
            return join(" ∨ ", [inner(part, Or) for part in parts], "⊥")


def tokenize_stack(symbols: Iterable[str]) -> Tokens:
    """Stack symbols, top first; `z` and nothing at all are signs."""
    return join(" ", [("z",) if symbol == ANY else (Name(symbol),) for symbol in symbols], "ε")


def spell_number(value: float, plus: bool = False) -> str:
    """A number with a true minus sign, and a plus where asked for.

    >>> spell_number(-1e5), spell_number(2, plus=True)
    ('−1e5', '+2')
    """
    return ("+" if plus and value > 0 else "") + number_text(value).replace("-", "−")


def join(separator: str, parts: Iterable[Tokens], empty: str = "") -> Tokens:
    """Tokens with a sign between them, or the sign for none."""
    tokens: list[Token] = []
    for part in parts:
        tokens += [separator, *part] if tokens else part
    return tuple(tokens) or (empty,)


def rename(tokens: Tokens, old: str, new: str) -> Tokens:
    """The tokens with every occurrence of one name replaced; in a label, a place left open comes first."""

    def one(token: Token) -> Token:
        match token:
            case Name(text):
                return Name(new if text == old else text)
            case ExactLabel(events):
                filled = (new if event == old else event for event in events)
                return ExactLabel(
                    tuple(sorted(filled, key=lambda event: event not in (VARIABLE, SECOND)))
                )
            case _:
                return token

    return tuple(map(one, tokens))


def spell(tokens: Tokens) -> str:
    """The tokens as Unicode text."""

    def one(token: Token) -> str:
        match token:
            case Name(text):
                return make_printable(text)
            case ExactLabel(events):
                return "{" + ", ".join(make_printable(event) for event in events) + "}"
            case _:
                return token

    return "".join(one(token) for token in tokens)


def make_printable(text: str) -> str:
    r"""Text in which characters that cannot be seen (or stand in XML) are spelled by their code point.

    >>> make_printable("a\x01b")
    'a⟨U+0001⟩b'
    """
    return "".join(c if c.isprintable() else f"⟨U+{ord(c):04X}⟩" for c in text)


# --- The line of a rule, in the order the paper prints its parts. Three kinds of rules, one shape:
# `ℓ, z / ζ, r` (pushdown), `ℓ, r` (reward machines) and `⟨ℓ, [1], [+1], r⟩` (counting, Appendix A).


@dataclass(frozen=True, slots=True)
class RuleLine:
    """What is read, what is looked at (nothing in a reward machine), and what then happens.

    A line may stand for several rules: every guard of `guards` with every top of `looks`.

    >>> tops = ((Name("u"),), (Name("d"),))
    >>> spell(RuleLine(((Name("a"),),), tops, (" / ε, 1",)).tokens())
    'a, u|d / ε, 1'
    """

    guards: tuple[Tokens, ...]
    looks: tuple[Tokens, ...]
    effect: Tokens
    opening: str = ""

    def tokens(self) -> Tokens:
        """The line in one piece."""
        looks = (", ", *join("|", self.looks)) if self.looks else ()
        return (self.opening, *join(" | ", self.guards), *looks, *self.effect)

    def names(self) -> frozenset[str]:
        """The names on the line."""
        tokens = self.tokens()
        labels = (token.events for token in tokens if isinstance(token, ExactLabel))
        return frozenset(token.text for token in tokens if isinstance(token, Name)).union(*labels)

    def rename(self, old: str, new: str) -> RuleLine:
        """The line with one name replaced throughout."""
        guards = tuple(rename(guard, old, new) for guard in self.guards)
        looks = tuple(rename(look, old, new) for look in self.looks)
        return RuleLine(guards, looks, rename(self.effect, old, new), self.opening)


@singledispatch
def make_line(rule: Rule, _events: Sequence[str] = (), *, plain: bool = False) -> RuleLine:
    """The line of one rule; the events give the order inside labels, `plain` leaves the stack out."""
    raise TypeError(f"no label is known for {type(rule).__name__}")


@make_line.register
def _(rule: Transition, events: Sequence[str] = (), *, plain: bool = False) -> RuleLine:
    guards, reward = (tokenize_guard(rule.guard, events),), (", ", spell_number(rule.reward))
    if plain:
        return RuleLine(guards, (), reward)
    top = tokenize_stack(() if rule.top == NONE else (rule.top,))
    return RuleLine(guards, (top,), (" / ", *tokenize_stack(rule.push), *reward))


@make_line.register
def _(rule: CountingTransition, events: Sequence[str] = (), *, plain: bool = False) -> RuleLine:
    tests = "[" + ", ".join(rule.tests) + "]"
    changes = "[" + ", ".join(spell_number(change, plus=True) for change in rule.changes) + "]"
    effect = (", ", changes, ", ", spell_number(rule.reward), "⟩")
    return RuleLine((tokenize_guard(rule.guard, events),), ((tests,),), effect, opening="⟨")
