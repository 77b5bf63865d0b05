"""A machine's step at the speed of a dictionary: what happens at a state, top and label is found once and cached.

It gives what the readable step gives, bit for bit, without its records of moves: state, stack (top first) and reward.
"""

from __future__ import annotations

from typing import NamedTuple

from pdrm.machines.configurations import Configuration
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Stack, Transition

MOST_KEPT = 100_000
"""Cases cached before the cache is emptied: an environment may emit any of 2^events labels."""


class QuickMove(NamedTuple):
    """One move at one top of stack: where it leads, what it does to the stack, and what it pays."""

    target: str
    pops: bool
    """Whether the top goes; not where it is put straight back, to spare a copy of the stack."""
    pushed: Stack
    reward: float


class QuickStep:
    """A machine's `begin` and `step`, cached.

    >>> from pdrm.language.loading import catalogue
    >>> quick = QuickStep(catalogue("letter"))
    >>> quick.step("u0", ("#",), frozenset("A"))
    ('u0', ('A', '#'), -0.01)
    """

    def __init__(self, machine: PushdownRewardMachine) -> None:
        self.machine = machine
        self._reading: dict[tuple[str, str | None, Label], QuickMove] = {}
        self._silent: dict[tuple[str, str | None], QuickMove | None] = {}
        self._may_be_silent = frozenset(
            state
            for state in machine.states
            if any(rule.silent for rule in machine.rules_from(state))
        )

    def begin(self) -> tuple[str, Stack, float]:
        """The start, after the silent moves before the first label."""
        return self._settle(self.machine.start, (self.machine.stack[0],), 0.0)

    def step(self, state: str, stack: Stack, label: Label) -> tuple[str, Stack, float]:
        """Read one label in a configuration of this machine whose state is not final."""
        move = self._reading.get((state, stack[0] if stack else None, label)) or self._find(
            state, stack, label
        )
        if move.pops or move.pushed:
            stack = move.pushed + (stack[1:] if move.pops else stack)
        if move.target in self._may_be_silent:
            return self._settle(move.target, stack, move.reward)
        return move.target, stack, move.reward

    def _settle(self, state: str, stack: Stack, paid: float) -> tuple[str, Stack, float]:
        """Silent moves until none applies; rewards are added in the order of the moves."""
        while state in self._may_be_silent:
            top = stack[0] if stack else None
            if (state, top) not in self._silent:
                rule = self.machine.rule(state, None, top)
                self._silent[state, top] = None if rule is None else _compile(rule, top)
            move = self._silent[state, top]
            if move is None:
                break
            state, paid = move.target, paid + move.reward
            stack = move.pushed + (stack[1:] if move.pops else stack)
        return state, stack, paid

    def _find(self, state: str, stack: Stack, label: Label) -> QuickMove:
        machine, top = self.machine, stack[0] if stack else None
        machine.alphabet.check(label)
        rule = machine.rule(state, label, top)
        if rule is not None:
            move = _compile(rule, top)
        else:
            target = machine.otherwise_leads_to(label, Configuration(state, stack))
            move = QuickMove(target, False, (), 0.0 + machine.otherwise.reward)
        if len(self._reading) >= MOST_KEPT:
            self._reading.clear()
        self._reading[state, top, label] = move
        return move


def _compile(rule: Transition, top: str | None) -> QuickMove:
    """A rule at one top of stack. Sums of rewards start from 0.0, so that a lone -0.0 is paid as 0.0, as everywhere."""
    pushed = rule.replacement(top)
    kept = top is not None and pushed[-1:] == (top,)
    return QuickMove(
        rule.target,
        top is not None and not kept,
        pushed[:-1] if kept else pushed,
        0.0 + rule.reward,
    )
