"""The product of a finite domain and its readable machine, in fractions, with any stack.

It is not compiled and independent of the solver: `checker` verifies certificates with it, and
`reachable_rows` finds the reachable heads.
"""

from __future__ import annotations

from collections import defaultdict
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
"""A control state and the known symbols from the top of the stack; None marks the stack's end."""
MachineMove = tuple[Fraction, str, TopSymbols]
"""Reward, next machine state, and the symbols that replace the top symbol."""


class StepOutcome(NamedTuple):
    """One outcome of an action at a head."""

    probability: Fraction
    reward: Fraction
    control: ControlState
    """The next control state."""
    pushed: TopSymbols
    """The symbols that replace the top symbol."""


ActionOutcomes = tuple[StepOutcome, ...]
"""The outcomes of an action."""


class SteppedProduct:
    """The steps of a domain with a machine.

    >>> from pdrm.task import Task
    >>> paint = Task("paint")
    >>> product = SteppedProduct(paint.finite, paint.pushdown)
    >>> [(float(probability), stack) for probability, (_, stack) in product.starts()][-1]
    (0.2, ('stain', 'stain', 'stain', 'stain', 'stain', '#', None))
    """

    def __init__(self, domain: FiniteDomain, machine: PushdownRewardMachine) -> None:
        self.domain = domain
        self.machine = machine
        # caches that are freed with the product
        self.move = cache(self._find_move)
        self.outcomes = cache(self._list_outcomes)

    def _find_move(self, u: str, top: str | None, label: Label | None) -> MachineMove | None:
        """The move at a head for a label, or the silent move if `label` is None."""
        rule = None if u in self.machine.final else rule_at(self.machine, (u, top), label)
        return None if rule is None else (Fraction(rule.reward), *replace_top((u, top), rule))

    def _list_outcomes(self, control: ControlState, top: str | None) -> tuple[ActionOutcomes, ...]:
        """The outcomes of each action at a head, before silent moves.

        Empty if no action can be taken: the episode is over or a silent move is pending.
        """
        s, u = control
        arrays = self.domain.arrays
        if self.is_over(control) or self.move(u, top, None) is not None:
            return ()
        actions = []
        for action in range(len(self.domain.actions)):
            probabilities = [Fraction(p) for p in arrays.probability[s, action].tolist()]
            merged = defaultdict[tuple[Fraction, ControlState, TopSymbols], Fraction](Fraction)
            for o, probability in enumerate(probabilities):
                if probability > 0:
                    label = self.domain.labels[arrays.label[s, action, o]]
                    move = self.move(u, top, label)
                    if move is None:
                        configuration = Configuration(u, () if top is None else (top,))
                        raise self.machine.undefined_move(label, configuration)
                    reward, target, pushed = move
                    reward += Fraction(float(arrays.reward[s, action, o]))
                    outcome = reward, (int(arrays.next[s, action, o]), target), pushed
                    merged[outcome] += probability / sum(probabilities)
            actions.append(tuple(StepOutcome(share, *outcome) for outcome, share in merged.items()))
        return tuple(actions)

    def is_over(self, control: ControlState) -> bool:
        """True if the episode is over once no silent move is pending."""
        s, u = control
        return u in self.machine.final or bool(self.domain.arrays.terminal[s])

    def starts(self) -> Iterator[tuple[Fraction, PartialState]]:
        """Yield the probability of each start, and the state in which the first action is taken."""
        arrays = self.domain.arrays
        probabilities = [Fraction(p) for p in arrays.start_probability.tolist()]
        rows = zip(probabilities, arrays.start_state, arrays.start_label, strict=True)
        for probability, s, label in rows:
            start = self.machine.begin().after
            if label != NO_LABEL and start.state not in self.machine.final:
                start = self.machine.step(start, self.domain.labels[label]).after
            if probability > 0:
                control = int(s), start.state
                yield probability / sum(probabilities), (control, (*start.stack, None))

    def successors(
        self, control: ControlState, top: str | None
    ) -> list[tuple[ControlState, TopSymbols]]:
        """The next control state and the pushed symbols, for every move at a head."""
        s, u = control
        silent = self.move(u, top, None)
        if silent is not None:
            _, target, pushed = silent
            return [((s, target), pushed)]
        return [
            (outcome.control, outcome.pushed)
            for action in self.outcomes(control, top)
            for outcome in action
        ]
