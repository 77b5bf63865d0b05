"""What happens at the heads of a pushdown machine: a state, and the symbol on top of the stack (None if it is empty).

`rule_at` is the one rule for a label; `rules_at` lists all rules with their labels. The heads that occur are found by
`reach.saturate`; what holds on every word follows from them: how deep a step looks, how high the stack gets, how fast it grows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import inf
from typing import NamedTuple

from pdrm.machines.guards import Label
from pdrm.machines.labels import LabelSet
from pdrm.machines.machine import Machine, otherwise_at
from pdrm.machines.reach import FramesBelow, list_above, saturate
from pdrm.machines.transitions import (
    ANY,
    BOTTOM,
    NONE,
    Configuration,
    RuleOrOtherwise,
    Step,
    TopSymbols,
    Transition,
)


class PushdownRules(Machine[Transition, Configuration, Step]):
    """The stack symbols and rules of a pushdown machine, and which of the rules applies."""

    stack: tuple[str, ...]

    @cached_property
    def is_reward_machine(self) -> bool:
        """No rule looks at the stack or changes it: this is a reward machine (Section 2), and is written without the stack."""
        plain = all(rule.leaves_stack and not rule.silent for rule in self.transitions)
        return plain and self.stack == (BOTTOM,)

    @cached_property
    def _at(self) -> dict[tuple[str, str, bool], list[Transition]]:
        """The rules by source, top and whether they are silent."""
        at = defaultdict(list)
        for rule in self.transitions:
            at[rule.source, rule.top, rule.silent].append(rule)
        return dict(at)

    def rule(self, state: str, label: Label | None, top: str | None) -> Transition | None:
        """The one rule that applies; a rule that names the top beats a rule with `z`.

        Args:
            state: A state of the machine.
            label: The label that is read (None for the silent rule).
            top: The topmost symbol (None if the stack is empty).
        """
        for looked in (NONE,) if top is None else (top, NONE, ANY):
            for rule in self._at.get((state, looked, label is None), ()):
                if label is None or rule.guard.holds(label):
                    return rule
        return None

    def _silent_rules(self) -> dict[AnyHead, Transition]:
        """The heads with a silent move, in the order of states and tops, and the rule of each."""
        sources = {rule.source for rule in self.transitions if rule.silent}
        states = [state for state in self.states if state in sources]
        return {
            (state, top): rule
            for state, top in product(states, (*self.stack, None))
            if (rule := self.rule(state, None, top)) is not None
        }


class Head(NamedTuple):
    """A state and a top symbol (None for the empty stack)."""

    state: str
    top: str | None


AnyHead = tuple[str, str | None]
"""A head, or its two parts as a plain tuple, as `saturate` has it."""


def replace_top(head: AnyHead, rule: RuleOrOtherwise) -> tuple[str, TopSymbols]:
    """The end of a move, for `saturate`: a state, and the symbols that replace the head's own. The empty stack is a symbol
    below all others, which is never popped."""
    state, top = head
    pushed = rule.replacement(top)
    return rule.target or state, pushed if top is not None else (*pushed, None)


def rule_at(machine: PushdownRules, head: AnyHead, label: Label | None) -> RuleOrOtherwise | None:
    """Return the rule that applies at a head, or `otherwise` if it leads on.

    Args:
        machine: The machine.
        head: A head whose state is not final.
        label: The label that is read (None for the silent move).

    Returns:
        The rule or `otherwise`; None if nothing applies.

    Example:
        >>> from pdrm.language.loading import catalogue
        >>> print(rule_at(catalogue("letter"), Head("u0", "#"), frozenset("A")))
        u0 -> u0 : {A}, z / A z, -0.01
    """
    state, top = head
    rule = machine.rule(state, label, top)
    if rule is None and label is not None and machine.otherwise.action != "error":
        return machine.otherwise
    return rule


def rules_at(machine: PushdownRules, head: AnyHead) -> list[tuple[RuleOrOtherwise, LabelSet]]:
    """The rules that apply at a head for some label, each with the labels that it reads: a silent rule alone, with none; or
    reading ones, those that name the top before those with `z`, and `otherwise` with the labels that are left."""
    state, top = head
    sets = machine.sets
    rules = [rule for rule in machine.rules_from[state] if rule.looks_at(top)]
    silent = machine.rule(state, None, top)
    if silent is not None:
        return [(silent, sets.none)]
    named = [rule.guard for rule in rules if rule.top != ANY]
    free = sets.complement_of(named)
    found: list[tuple[RuleOrOtherwise, LabelSet]] = []
    for rule in rules:
        labels = sets.holding(rule.guard)
        if rule.top == ANY and named:
            labels &= free
        if labels & sets.all:
            found.append((rule, labels))
    return found + otherwise_at(machine, state, rules)


# --- The heads that occur


def explore_machine(
    machine: PushdownRules, begin: Configuration | None = None
) -> FramesBelow[str, str | None]:
    """The heads that occur from a configuration on (default: the start), as `saturate` finds them."""
    first = begin or Configuration(machine.start, machine.stack[:1])

    def moves(head: AnyHead) -> list[tuple[str, TopSymbols]]:
        return [replace_top(head, rule) for rule, _ in rules_at(machine, head)]

    return saturate(moves, [(first.state, (*first.stack, None))])


def reachable_heads(machine: PushdownRules) -> set[Head]:
    """Every head that some word leads to. Final states have heads too."""
    return {Head(*head) for head in explore_machine(machine)}


def waiting_heads(
    machine: PushdownRules, begin: Iterable[Configuration], labels: Collection[Label]
) -> set[Head]:
    """The heads at which the machine can wait for a label: from some configurations on, by any words over these labels.

    >>> from pdrm.language.loading import catalogue
    >>> letter = catalogue("letter")
    >>> sorted(waiting_heads(letter, [letter.begin().after], [frozenset("A")]))
    [Head(state='u0', top='#'), Head(state='u0', top='A')]
    """
    waiting = set[Head]()

    def moves(head: AnyHead) -> list[tuple[str, TopSymbols]]:
        if head[0] in machine.final:
            return []
        rules = [rule_at(machine, head, None)]
        if rules == [None]:
            waiting.add(Head(*head))
            rules = [rule_at(machine, head, label) for label in labels]
        return [replace_top(head, rule) for rule in rules if rule is not None]

    saturate(moves, [(one.state, (*one.stack, None)) for one in begin])
    return waiting


def all_heads(machine: PushdownRules) -> list[Head]:
    """Every state, final ones too, with every top of stack, the empty one last."""
    pairs = product((*machine.states, *machine.final), (*machine.stack, None))
    return list(map(Head._make, pairs))


# --- Silent moves above some known symbols


class KnownTop(NamedTuple):
    """The end of the silent moves above some known symbols."""

    state: str
    known: TopSymbols
    """The symbols that are left."""
    pushes: int = 0
    """The moves that pushed."""


def run_silent_moves(machine: PushdownRules, here: KnownTop) -> KnownTop:
    """Make silent moves until none applies or all known symbols are popped."""
    while here.known and (rule := machine.rule(here.state, None, here.known[0])) is not None:
        state, pushed = replace_top((here.state, here.known[0]), rule)
        here = KnownTop(state, pushed + here.known[1:], here.pushes + (len(pushed) > 1))
    return here


# --- Bounds on the stack that hold on every word: how deep a step looks, how high the stack gets, how fast it grows


def _greatest_gains(machine: PushdownRules, gain: Callable[[KnownTop], int]) -> dict[str, float]:
    """The greatest sum of gains by the silent moves from each state, over all stacks; infinite if unbounded.

    The symbols of the stack are settled one after the other, as far as they are popped.
    """
    greatest = dict.fromkeys((*machine.states, *machine.final), 0.0)
    settled = [
        (state, run_silent_moves(machine, KnownTop(state, (top,))))
        for state, top in machine._silent_rules()
    ]
    for turn in range(
        2 * len(greatest) + 1
    ):  # a sum that grows for more turns than there are states grows without bound
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


def max_pops_per_step(machine: PushdownRules) -> int | None:
    """The most symbols popped off the old stack by one label and its silent moves (None if unbounded).

    >>> from pdrm.language.loading import catalogue
    >>> [max_pops_per_step(catalogue(name)) for name in ("letter", "treasure-maze", "paint")]
    [1, 1, 5]
    """
    pops = _greatest_gains(machine, lambda settled: not settled.known)
    target = machine.otherwise.target
    most = 0.0 if target is None else pops[target]
    for rule, top in product(machine.transitions, machine.stack):
        if not rule.silent and rule.looks_at(top):
            pushed = rule.replacement(top)
            kept = pushed[-1:] == (top,)
            settled = run_silent_moves(
                machine, KnownTop(rule.target, pushed[:-1] if kept else pushed)
            )
            most = max(most, (not kept) + (0 if settled.known else pops[settled.state]))
    return _count(most)


def relevant_depth(machine: PushdownRules, k: int, steps: int = 1) -> int | None:
    """The number of symbols of a stack that decide what a k-policy sees in that many steps (None if unbounded).

    They are those that the steps can pop, and below them the k that the policy sees, or the one that the machine looks at.

    >>> from pdrm.language.loading import catalogue
    >>> [relevant_depth(catalogue("paint"), k) for k in (0, 1, 2)]
    [6, 6, 7]
    """
    pops = max_pops_per_step(machine)
    return None if pops is None else steps * pops + max(k, 1)


# --- Height: what a stack of fixed depth must have room for
#
# A move replaces a head's symbol by others. So the height above a head within n labels is what stands below one of these
# symbols and the height above that one within n - 1 labels (n, if the move is silent). The labels that it takes to pop the
# symbols above that one are not counted: the height found may be too high, never too low.


def max_stack_height(machine: PushdownRules, labels: int, most: int) -> int:
    """The most symbols on the stack within that many labels, also between silent moves; `most` if they are that many or more.

    >>> from pdrm.language.loading import catalogue
    >>> [max_stack_height(catalogue(name), 50, most=100) for name in ("letter", "deliver", "paint")]
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


def stack_growth(machine: PushdownRules) -> StackGrowth:
    """Find the constants of a machine."""
    added = [len(rule.push) - (rule.top != NONE) for rule in machine.transitions]

    pushes = _greatest_gains(machine, lambda settled: settled.pushes)
    after = {rule.target for rule in machine.transitions if not rule.silent}
    after |= {machine.start, machine.otherwise.target or machine.start}

    below = _greatest_gains(machine, lambda settled: len(settled.known) - 1)
    step = 0.0
    for head in explore_machine(machine):
        for rule, labels in rules_at(machine, head):
            if not labels:  # a silent move is part of another step
                continue
            settled = run_silent_moves(machine, KnownTop(*replace_top(head, rule)))
            beyond = 0 if settled.known else below[settled.state]
            step = max(step, len(settled.known) - 1 + beyond)

    return StackGrowth(
        symbols=len(machine.stack),
        added=max([0, *added]),
        silent_pushes=_count(max(pushes[state] for state in after)),
        begun=len(machine.begin().after.stack),
        step=int(step),
    )
