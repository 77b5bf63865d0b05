"""The label of a rule in the paper's notation, as tokens: names of the machine kept apart from the signs (ε, ∧, −) between them.

The two are spelled differently in Unicode and in LaTeX, and only names can be replaced by a variable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pdrm.machines.counting import CountingTransition
from pdrm.machines.guards import Exactly, Guard, spell_out
from pdrm.machines.transitions import ANY, NONE, Rule, Transition, number_text


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


SIGNS = {
    " & ": " ∧ ",
    " | ": " ∨ ",
    "!": "¬",
    "(": "(",
    ")": ")",
    "true": "⊤",
    "false": "⊥",
    "eps": "ε",
}
"""The paper's signs for those of the language."""


def tokenize_guard(guard: Guard, declared: Sequence[str] = ()) -> Tokens:
    """A guard in the paper's signs, the events of a label in the order they are declared.

    >>> from pdrm.machines.guards import And, Event, Not
    >>> spell(tokenize_guard(And((Event("a"), Not(Event("t"))))))
    'a ∧ ¬t'
    """
    if len(declared) > 1 and guard == spell_out(Exactly(frozenset()), declared):
        guard = Exactly(frozenset())
    if isinstance(guard, Exactly):
        known = [event for event in declared if event in guard.events]
        return (ExactLabel((*known, *sorted(guard.events.difference(known)))),)
    parts = re.split(r"( & | \| |[!()])", str(guard))
    return tuple(SIGNS.get(part) or Name(part) for part in parts if part)


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


def rename(tokens: Tokens, names: Mapping[str, str]) -> Tokens:
    """The tokens with some names replaced; in a label, the new names come first, in the order given."""

    def one(token: Token) -> Token:
        match token:
            case Name(text):
                return Name(names.get(text, text))
            case ExactLabel(events):
                replaced = (new for old, new in names.items() if old in events)
                return ExactLabel((*replaced, *(e for e in events if e not in names)))
            case _:
                return token

    return tuple(map(one, tokens))


def make_printable(text: str) -> str:
    r"""Text in which characters that cannot be seen (or stand in XML) are spelled by their code point.

    >>> make_printable("a\x01b")
    'a⟨U+0001⟩b'
    """
    return "".join(c if c.isprintable() else f"⟨U+{ord(c):04X}⟩" for c in text)


Spell = Callable[[str], str]


def spell(
    tokens: Tokens, name: Spell = make_printable, sign: Spell = str, braces: Sequence[str] = "{}"
) -> str:
    """The tokens as text: Unicode, unless names, signs and braces are spelled differently."""

    def one(token: Token) -> str:
        match token:
            case Name(text):
                return name(text)
            case ExactLabel(events):
                return braces[0] + ", ".join(map(name, events)) + braces[1]
            case _:
                return sign(token)

    return "".join(map(one, tokens))


# --- The line of a rule, in the order the paper prints its parts. Three kinds of rules, one shape:
# `ℓ, z / ζ, r` (pushdown), `ℓ, r` (reward machines) and `⟨ℓ, [1], [+1], r⟩` (counting, Appendix A).


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """The label that is read, the top symbol (none in a reward machine), and the effect.

    A line may stand for several rules: every guard of `guards` with every top of `tops`.

    >>> tops = ((Name("u"),), (Name("d"),))
    >>> spell(EdgeLine(((Name("a"),),), tops, (" / ε, 1",)).tokens())
    'a, u|d / ε, 1'
    """

    guards: tuple[Tokens, ...]
    tops: tuple[Tokens, ...]
    effect: Tokens
    opening: str = ""

    def tokens(self) -> Tokens:
        """The line in one piece."""
        tops = (", ", *join("|", self.tops)) if self.tops else ()
        return (self.opening, *join(" | ", self.guards), *tops, *self.effect)

    def names(self) -> list[str]:
        """The names on the line, in reading order."""
        found: dict[str, None] = {}
        for token in self.tokens():
            match token:
                case Name(text):
                    found[text] = None
                case ExactLabel(events):
                    found |= dict.fromkeys(events)
        return list(found)

    def rename(self, names: Mapping[str, str]) -> EdgeLine:
        """The line with some names replaced throughout."""
        guards = tuple(rename(guard, names) for guard in self.guards)
        tops = tuple(rename(top, names) for top in self.tops)
        return EdgeLine(guards, tops, rename(self.effect, names), self.opening)


def make_line(rule: Rule, events: Sequence[str] = (), *, stack: bool = True) -> EdgeLine:
    """The line of one rule, with the events of labels in this order; stack: False leaves the stack's part out."""
    guards = (tokenize_guard(rule.guard, events),)
    reward = spell_number(rule.reward)
    if isinstance(rule, CountingTransition):
        tests = "[" + ", ".join(rule.tests) + "]"
        changes = ", ".join(spell_number(change, plus=True) for change in rule.changes)
        return EdgeLine(guards, ((tests,),), (f", [{changes}], {reward}⟩",), opening="⟨")
    if isinstance(rule, Transition) and stack:
        top = tokenize_stack(() if rule.top == NONE else (rule.top,))
        return EdgeLine(guards, (top,), (" / ", *tokenize_stack(rule.push), ", ", reward))
    return EdgeLine(guards, (), (", ", reward))
