"""Labels of edges: one line a rule, in the order the paper prints its parts.

A line may stand for several rules: every guard of `guards` with every top of `looks`. Three kinds of rules, one shape:
`ℓ, z / ζ, r` (pushdown), `ℓ, r` (reward machines) and `⟨ℓ, [1], [+1], r⟩` (counting, Appendix A).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

from pdrm.drawing.words import Words, guard_words, joined, names_in, number_sign, renamed, stack_words, top_words
from pdrm.machines.counting import CountingTransition
from pdrm.machines.reward_machine import RewardTransition
from pdrm.machines.transition import Transition
from pdrm.machines.wellformed import Rule


@dataclass(frozen=True, slots=True)
class Line:
    """What is read, what is looked at (nothing in a reward machine), and what then happens.

    >>> from pdrm.drawing.words import Name, plain
    >>> tops = ((Name("u"),), (Name("d"),))
    >>> plain(Line(((Name("a"),),), tops, (" / ε, 1",)).words())
    'a, u|d / ε, 1'
    """

    guards: tuple[Words, ...]
    looks: tuple[Words, ...]
    effect: Words
    opening: str = ""

    def words(self) -> Words:
        """The line in one piece."""
        looks = (", ", *joined("|", self.looks)) if self.looks else ()
        return (self.opening, *joined(" | ", self.guards), *looks, *self.effect)

    def names(self) -> frozenset[str]:
        """The names on the line."""
        return names_in(self.words())

    def renamed(self, old: str, new: str) -> Line:
        """The line with one name replaced throughout."""
        guards = tuple(renamed(guard, old, new) for guard in self.guards)
        looks = tuple(renamed(look, old, new) for look in self.looks)
        return Line(guards, looks, renamed(self.effect, old, new), self.opening)


@singledispatch
def line_of(rule: Rule, _events: Sequence[str] = ()) -> Line:
    """The line of one rule, of whichever kind; the events give the order inside labels."""
    raise TypeError(f"no label is known for {type(rule).__name__}")


@line_of.register
def _(rule: Transition, events: Sequence[str] = ()) -> Line:
    effect = (" / ", *stack_words(rule.push), ", ", number_sign(rule.reward))
    return Line((guard_words(rule.guard, events),), (top_words(rule.top),), effect)


@line_of.register
def _(rule: RewardTransition, events: Sequence[str] = ()) -> Line:
    return Line((guard_words(rule.guard, events),), (), (", ", number_sign(rule.reward)))


@line_of.register
def _(rule: CountingTransition, events: Sequence[str] = ()) -> Line:
    tests = "[" + ", ".join(rule.tests) + "]"
    changes = "[" + ", ".join(number_sign(change, plus=True) for change in rule.changes) + "]"
    effect = (", ", changes, ", ", number_sign(rule.reward), "⟩")
    return Line((guard_words(rule.guard, events),), ((tests,),), effect, opening="⟨")
