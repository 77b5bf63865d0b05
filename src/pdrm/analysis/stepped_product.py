"""The product of a finite domain and its readable machine, step by step in fractions, with stacks of any height.

Nothing of it is compiled, and the solver has no part in it: `checker` checks certificates with it, and `reachable_rows` finds
the heads that occur.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain
from pdrm.machines.guards import Label
from pdrm.machines.heads import replace_top, rule_at
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Configuration, TopSymbols

ControlState = tuple[int, str]
"""An environment state and a machine state."""
PartialState = tuple[ControlState, TopSymbols]
"""Where an episode is, and the symbols known from the top; after the last of a stack comes None."""
MachineMove = tuple[Fraction, str, TopSymbols]
"""Pay, target, and what replaces the top symbol."""


class StepOutcome(NamedTuple):
    """One outcome of an action at a head: chance, pay, its exit, and the symbols that replace the top one."""

    chance: Fraction
    paid: Fraction
    exit: ControlState
    pushed: TopSymbols


ActionOutcomes = tuple[StepOutcome, ...]
"""The outcomes of an action."""


class SteppedProduct:
    """The steps of a domain with a machine.

    >>> from pdrm.task import Task
    >>> paint = Task("paint")
    >>> product = SteppedProduct(paint.finite, paint.pushdown)
    >>> [(float(chance), stack) for chance, (_, stack) in product.begins()][-1]
    (0.2, ('stain', 'stain', 'stain', 'stain', 'stain', '#', None))
    """

    def __init__(self, domain: FiniteDomain, machine: PushdownRewardMachine) -> None:
        self.domain, self.machine = domain, machine
        # caches that end with the product
        self.move, self.rows = cache(self._find_move), cache(self._list_rows)

    def _find_move(self, u: str, top: str | None, label: Label | None) -> MachineMove | None:
        """The move at a head that reads a label, or the silent one."""
        rule = None if u in self.machine.final else rule_at(self.machine, (u, top), label)
        return None if rule is None else (Fraction(rule.reward), *replace_top((u, top), rule))

    def _list_rows(self, e: ControlState, top: str | None) -> tuple[ActionOutcomes, ...]:
        """The outcomes of each action at a head, before silent moves; nothing if no action can be chosen."""
        (s, u), arrays, found = e, self.domain.arrays, []
        if self.over(e) or self.move(u, top, None) is not None:
            return ()
        for action in range(len(self.domain.actions)):
            chances = [Fraction(p) for p in arrays.probability[s, action].tolist()]
            merged: dict[tuple[Fraction, ControlState, TopSymbols], Fraction] = {}
            for o, chance in enumerate(chances):
                if chance > 0:
                    label = self.domain.labels[arrays.label[s, action, o]]
                    move = self.move(u, top, label)
                    if move is None:
                        here = Configuration(u, () if top is None else (top,))
                        raise self.machine.undefined_move(label, here)
                    paid, after, pushed = move
                    paid += Fraction(float(arrays.reward[s, action, o]))
                    outcome = paid, (int(arrays.next[s, action, o]), after), pushed
                    merged[outcome] = merged.get(outcome, Fraction(0)) + chance / sum(chances)
            found.append(tuple(StepOutcome(chance, *outcome) for outcome, chance in merged.items()))
        return tuple(found)

    def over(self, e: ControlState) -> bool:
        """True if the episode is over once the machine rests."""
        return e[1] in self.machine.final or bool(self.domain.arrays.terminal[e[0]])

    def begins(self) -> Iterator[tuple[Fraction, PartialState]]:
        """The chance of each start, and where it is when the first action is chosen."""
        arrays = self.domain.arrays
        chances = [Fraction(p) for p in arrays.start_probability.tolist()]
        for chance, s, label in zip(chances, arrays.start_state, arrays.start_label, strict=True):
            at = self.machine.begin().after
            if label != NO_LABEL and at.state not in self.machine.final:
                at = self.machine.step(at, self.domain.labels[label]).after
            if chance > 0:
                yield chance / sum(chances), ((int(s), at.state), (*at.stack, None))

    def after(self, e: ControlState, top: str | None) -> list[tuple[ControlState, TopSymbols]]:
        """Every end of a move at a head, the silent one included."""
        silent = self.move(e[1], top, None)
        if silent is not None:
            return [((e[0], silent[1]), silent[2])]
        return [(one.exit, one.pushed) for row in self.rows(e, top) for one in row]
