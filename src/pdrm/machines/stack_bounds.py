"""Bounds on the stack that hold on every word: how deep a step looks, how high the stack gets, how fast it grows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from math import inf

from pdrm.machines.heads import AnyHead, Settled, explore_machine, readings_at, replace_top, settle
from pdrm.machines.labels import LabelSets
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reach import list_above
from pdrm.machines.transitions import NONE


def _greatest_gains(
    machine: PushdownRewardMachine, gain: Callable[[Settled], int]
) -> dict[str, float]:
    """The greatest sum of gains by the silent moves from each state, over all stacks; infinite if unbounded.

    The symbols of the stack are settled one after the other, as far as they are popped.
    """
    greatest = dict.fromkeys((*machine.states, *machine.final), 0.0)
    settled = [
        (state, settle(machine, Settled(state, (top,)))) for state, top in machine._silent_rules()
    ]
    for turn in range(2 * len(greatest) + 1):  # a sum that grows for longer grows without bound
        before = dict(greatest)
        for state, one in settled:
            sum_of_gains = gain(one) + (0 if one.known else greatest[one.state])
            if sum_of_gains > greatest[state]:
                greatest[state] = sum_of_gains if turn <= len(greatest) else inf
        if greatest == before:
            break
    return greatest


def _count(most: float) -> int | None:
    return None if most == inf else int(most)


# --- Pop depth: the most symbols of the old stack that reading one label can pop
#
# Two stacks that agree on that many symbols, and on what a k-policy sees beyond them, give it the same experience (so only
# one of them is needed as a counterfactual).


def pops_in_a_step(machine: PushdownRewardMachine) -> int | None:
    """The most symbols popped off the old stack by one label and its silent moves (None if unbounded).

    >>> from pdrm.language.loading import catalogue
    >>> [pops_in_a_step(catalogue(name)) for name in ("letter", "treasure-maze", "paint")]
    [1, 1, 5]
    """
    pops = _greatest_gains(machine, lambda settled: not settled.known)
    target = machine.otherwise.target
    most = 0.0 if target is None else pops[target]
    for rule, top in product(machine.transitions, machine.stack):
        if not rule.silent and rule.looks_at(top):
            pushed = rule.replacement(top)
            kept = pushed[-1:] == (top,)
            settled = settle(machine, Settled(rule.target, pushed[:-1] if kept else pushed))
            most = max(most, (not kept) + (0 if settled.known else pops[settled.state]))
    return _count(most)


def symbols_that_matter(machine: PushdownRewardMachine, k: int, steps: int = 1) -> int | None:
    """The number of symbols of a stack that decide what a k-policy sees in that many steps (None if unbounded).

    They are those that the steps can pop, and below them the k that the policy sees, or the one that the machine looks at.

    >>> from pdrm.language.loading import catalogue
    >>> [symbols_that_matter(catalogue("paint"), k) for k in (0, 1, 2)]
    [6, 6, 7]
    """
    pops = pops_in_a_step(machine)
    return None if pops is None else steps * pops + max(k, 1)


# --- Height: what a stack of fixed depth must have room for
#
# A move replaces a head's symbol by others. So the height above a head within n labels is what stands below one of these
# symbols and the height above that one within n - 1 labels (n, if the move is silent). The labels that it takes to pop the
# symbols above that one are not counted: the height found may be too high, never too low.


def highest_stack(machine: PushdownRewardMachine, labels: int, most: int) -> int:
    """The most symbols on the stack within that many labels, also between silent moves; `most` if they are that many or more.

    >>> from pdrm.language.loading import catalogue
    >>> [highest_stack(catalogue(name), 50, most=100) for name in ("letter", "deliver", "paint")]
    [51, 9, 6]
    """
    waiting = explore_machine(machine)
    above = list_above(waiting)
    silent = waiting.keys() & machine._silent_rules().keys()
    heights = dict.fromkeys(waiting, 1)

    def highest(head: AnyHead | None) -> int:
        return max((below + heights[one] for one, below in above[head]), default=0)

    def climb(heads: Iterable[AnyHead]) -> dict[AnyHead, int]:
        """The heights with one more move above these heads."""
        return heights | {head: min(most, max(heights[head], highest(head))) for head in heads}

    for label in range(labels + 1):
        before = heights
        if label:
            heights = climb(waiting)
        while (higher := climb(silent)) != heights:
            heights = higher
        if label and heights == before:
            break
    return min(most, highest(None) - 1)  # the empty stack does not count


# --- Growth: the m and e of Section 5, and the exact constants that its bounds leave out
#
# The paper allows m symbols per transition and e pushing silent transitions per step, so m(e + 1) symbols per step. It forgets
# the symbols that an episode begins with, and e need not exist: silent moves may push each time they have popped one more
# symbol. What one step can add always exists, though, because silent moves end above a head's symbol or pop it.


@dataclass(frozen=True, slots=True)
class StackGrowth:
    """The constants that the sizes of a machine's policies depend on.

    >>> from pdrm.language.loading import catalogue
    >>> stack_growth(catalogue("deliver"))
    StackGrowth(symbols=5, added=8, silent_pushes=0, begun=1, step=8)
    """

    symbols: int
    """|Γ|"""
    added: int
    """m: the most symbols that one transition adds, those it pushes less the one it looks at."""
    silent_pushes: int | None
    """e: the most silent transitions of one step that add symbols, over all stacks (None if unbounded)."""
    begun: int
    """The height of the stack before the first label is read."""
    step: int
    """The most symbols that one label and its silent moves add, over all reachable heads."""

    def longest(self, labels: int) -> int:
        """The highest that a stack can be after that many labels."""
        return self.begun + labels * self.step


def stack_growth(machine: PushdownRewardMachine) -> StackGrowth:
    """Find the constants of a machine."""
    added = [len(rule.push) - (rule.top != NONE) for rule in machine.transitions]

    pushes = _greatest_gains(machine, lambda settled: settled.pushes)
    after = {rule.target for rule in machine.transitions if not rule.silent}
    after |= {machine.start, machine.otherwise.target or machine.start}

    sets = LabelSets(machine.alphabet)
    below = _greatest_gains(machine, lambda settled: len(settled.known) - 1)
    step = 0.0
    for head in explore_machine(machine):
        for rule, labels in readings_at(machine, sets, head):
            if not labels:  # a silent move is part of another step
                continue
            settled = settle(machine, Settled(*replace_top(head, rule)))
            beyond = 0 if settled.known else below[settled.state]
            step = max(step, len(settled.known) - 1 + beyond)

    return StackGrowth(
        symbols=len(machine.stack),
        added=max([0, *added]),
        silent_pushes=_count(max(pushes[state] for state in after)),
        begun=len(machine.begin().after.stack),
        step=int(step),
    )
