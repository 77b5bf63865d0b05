"""The heads of a pushdown machine: a state and the symbol on top of the stack (None if empty).

`rule_at` returns the rule for a label at a head, and `rules_at` all rules with their labels.
`reach.saturate` finds the reachable heads. From these follow bounds that hold on every word: the
depth to which a step looks, the height of the stack, and its growth per step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import NamedTuple

from pdrm.machines.guards import Label
from pdrm.machines.labels import LabelSet
from pdrm.machines.machine import otherwise_at
from pdrm.machines.pushdown_rules import PushdownRules
from pdrm.machines.reach import FramesBelow, list_above, saturate
from pdrm.machines.transitions import ANY, NONE, Configuration, RuleOrOtherwise, TopSymbols


class Head(NamedTuple):
    """A state and a top symbol (None for the empty stack)."""

    state: str
    top: str | None


AnyHead = tuple[str, str | None]
"""A head, possibly as a plain tuple."""


def replace_top(head: AnyHead, rule: RuleOrOtherwise) -> tuple[str, TopSymbols]:
    """The result of a move in the form that `saturate` expects.

    Returns:
        The next state, and the symbols that replace the top. On the empty stack the last symbol is
        None, which stays below all others.
    """
    state, top = head
    pushed = rule.replacement(top)
    return rule.target or state, pushed if top is not None else (*pushed, None)


def rule_at(machine: PushdownRules, head: AnyHead, label: Label | None) -> RuleOrOtherwise | None:
    """Return the rule that applies at a head, or `otherwise` if no rule applies.

    Args:
        machine: The machine.
        head: A head whose state is not final.
        label: The label to read (None for the silent move).

    Returns:
        The rule or `otherwise`. None without a silent rule, or if `otherwise` is an error.

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
    """List the rules that can apply at a head, each with the labels that it reads.

    - A silent rule excludes all others and reads no label.
    - A rule that names the top beats a rule with `z`.
    - `otherwise` comes last, with the labels that no rule reads.
    """
    state, top = head
    sets = machine.sets
    rules = [rule for rule in machine.rules_from[state] if rule.looks_at(top)]
    silent = machine.rule(state, None, top)
    if silent is not None:
        return [(silent, sets.none)]
    named = [rule.guard for rule in rules if rule.top != ANY]
    unread = sets.complement_of(named)
    result: list[tuple[RuleOrOtherwise, LabelSet]] = []
    for rule in rules:
        labels = sets.holding(rule.guard)
        if rule.top == ANY and named:
            labels &= unread
        if labels & sets.all:
            result.append((rule, labels))
    return result + otherwise_at(machine, state, rules)


# --- Reachable heads


def explore_machine(
    machine: PushdownRules, begin: Configuration | None = None
) -> FramesBelow[str, str | None]:
    """Find the heads that are reachable from a configuration (default: the initial one)."""
    first = begin or Configuration(machine.start, machine.stack[:1])

    def moves(head: AnyHead) -> list[tuple[str, TopSymbols]]:
        return [replace_top(head, rule) for rule, _ in rules_at(machine, head)]

    return saturate(moves, [(first.state, (*first.stack, None))])


def reachable_heads(machine: PushdownRules) -> set[Head]:
    """The heads that some word reaches, including heads of final states."""
    return {Head(*head) for head in explore_machine(machine)}


def waiting_heads(
    machine: PushdownRules, begin: Iterable[Configuration], labels: Collection[Label]
) -> set[Head]:
    """The heads at which the machine waits for a label.

    Args:
        machine: The machine.
        begin: The configurations to start from.
        labels: The labels of the words that are read.

    >>> from pdrm.language.loading import catalogue
    >>> letter = catalogue("letter")
    >>> sorted(waiting_heads(letter, [letter.begin().after], [frozenset("A")]))
    [Head(state='u0', top='#'), Head(state='u0', top='A')]
    """
    waiting = set[Head]()

    def moves(head: AnyHead) -> list[tuple[str, TopSymbols]]:
        if head[0] in machine.final:
            return []
        silent = rule_at(machine, head, None)
        if silent is not None:
            return [replace_top(head, silent)]
        waiting.add(Head(*head))
        rules = (rule_at(machine, head, label) for label in labels)
        return [replace_top(head, rule) for rule in rules if rule is not None]

    saturate(moves, [(start.state, (*start.stack, None)) for start in begin])
    return waiting


def all_heads(machine: PushdownRules) -> list[Head]:
    """Every state, including final states, with every top of the stack, the empty stack last."""
    pairs = product((*machine.states, *machine.final), (*machine.stack, None))
    return list(map(Head._make, pairs))


# --- Silent moves above known symbols


class KnownTop(NamedTuple):
    """A state and the known symbols on top of the stack, during silent moves."""

    state: str
    known: TopSymbols
    """The known symbols that are not popped yet."""
    pushes: int = 0
    """The number of moves so far that pushed."""


def run_silent_moves(machine: PushdownRules, top: KnownTop) -> KnownTop:
    """Make silent moves until none applies or all known symbols are popped."""
    while top.known and (rule := machine.rule(top.state, None, top.known[0])) is not None:
        state, pushed = replace_top((top.state, top.known[0]), rule)
        top = KnownTop(state, pushed + top.known[1:], top.pushes + (len(pushed) > 1))
    return top


# --- Bounds on every word: pop depth, height and growth of the stack


def _greatest_gains(machine: PushdownRules, gain: Callable[[KnownTop], int]) -> dict[str, float]:
    """For each state, the supremum over all stacks of the total gain of its silent moves.

    Args:
        machine: The machine.
        gain: The gain of the silent moves above one symbol.

    Returns:
        The suprema, infinite if unbounded. They are computed by iteration, one popped symbol at a
        time. A gain that still grows after as many rounds as there are states is unbounded.
    """
    greatest = dict.fromkeys((*machine.states, *machine.final), 0.0)
    results = [
        (state, run_silent_moves(machine, KnownTop(state, (top,))))
        for state, top in machine.silent_rules()
    ]
    for round_number in range(2 * len(greatest) + 1):
        before = dict(greatest)
        for state, result in results:
            total = gain(result) + (0 if result.known else greatest[result.state])
            if total > greatest[state]:
                greatest[state] = total if round_number <= len(greatest) else inf
        if greatest == before:
            break
    return greatest


def _finite(bound: float) -> int | None:
    return None if bound == inf else int(bound)


# --- Pop depth: the maximum number of symbols of the old stack that a step can pop
#
# Two stacks that agree on that many symbols, and on the symbols that a k-policy sees below them,
# lead to the same experience. So only one of them is needed as a counterfactual.


def max_pops_per_step(machine: PushdownRules) -> int | None:
    """The maximum number of symbols that a step pops off the old stack (None if unbounded).

    >>> from pdrm.language.loading import catalogue
    >>> [max_pops_per_step(catalogue(name)) for name in ("letter", "treasure-maze", "paint")]
    [1, 1, 5]
    """
    pops = _greatest_gains(machine, lambda result: not result.known)
    target = machine.otherwise.target
    greatest = 0.0 if target is None else pops[target]
    for rule, top in product(machine.transitions, machine.stack):
        if not rule.silent and rule.looks_at(top):
            pushed = rule.replacement(top)
            kept = pushed[-1:] == (top,)
            first = KnownTop(rule.target, pushed[:-1] if kept else pushed)
            result = run_silent_moves(machine, first)
            further = 0 if result.known else pops[result.state]
            greatest = max(greatest, (not kept) + further)
    return _finite(greatest)


def relevant_depth(machine: PushdownRules, k: int, steps: int = 1) -> int | None:
    """The number of top symbols that determine the next `steps` steps for a k-policy.

    These are the symbols that the steps can pop, and below them the k symbols that the policy
    sees, or the one symbol that the machine looks at.

    Returns:
        The number, or None if it is unbounded.

    >>> from pdrm.language.loading import catalogue
    >>> [relevant_depth(catalogue("paint"), k) for k in (0, 1, 2)]
    [6, 6, 7]
    """
    pops = max_pops_per_step(machine)
    return None if pops is None else steps * pops + max(k, 1)


# --- Height: the required capacity of a stack of fixed depth
#
# A move replaces the symbol of a head by others. So the height above a head within n labels is the
# number of symbols below one of these, plus the height above that one within n - 1 labels (n if the
# move is silent). The labels needed to pop the symbols above it are not counted. So the result may
# be too high, but never too low.


def max_stack_height(machine: PushdownRules, labels: int, most: int) -> int:
    """The maximum height of the stack within a number of labels, also between silent moves.

    Args:
        machine: The machine.
        labels: The number of labels.
        most: The cap on the result.

    >>> from pdrm.language.loading import catalogue
    >>> [max_stack_height(catalogue(name), 50, most=100) for name in ("letter", "deliver", "paint")]
    [51, 9, 6]
    """
    frames_below = explore_machine(machine)
    above = list_above(frames_below)
    silent = frames_below.keys() & machine.silent_rules().keys()
    heights = dict.fromkeys(frames_below, 1)

    def highest(head: AnyHead | None) -> int:
        return max((below + heights[next_head] for next_head, below in above[head]), default=0)

    def climb(heads: Iterable[AnyHead]) -> dict[AnyHead, int]:
        """The heights with one more move above these heads."""
        return heights | {head: min(most, max(heights[head], highest(head))) for head in heads}

    for label in range(labels + 1):
        before = heights
        if label:
            heights = climb(frames_below)
        while (higher := climb(silent)) != heights:
            heights = higher
        if label and heights == before:
            break
    return min(most, highest(None) - 1)  # the empty stack does not count


# --- Growth: the constants m and e of Section 5, and two that make its bounds exact
#
# The paper allows m symbols per transition and e pushing silent transitions per step, so m(e + 1)
# symbols per step. It omits the symbols on the stack at the start of an episode, and e may not
# exist, because silent moves can push once for every symbol that they pop. The number of symbols
# that a step adds always exists: silent moves stop above the symbol of a head or pop it.


@dataclass(frozen=True, slots=True)
class StackGrowth:
    """The constants in the bounds on the sizes of a machine's policies.

    >>> from pdrm.language.loading import catalogue
    >>> stack_growth(catalogue("deliver"))
    StackGrowth(symbols=5, added=8, silent_pushes=0, begun=1, step=8)
    """

    symbols: int
    """|Γ|"""
    added: int
    """m: the maximum number of symbols that a transition adds, its push less its top."""
    silent_pushes: int | None
    """e: the maximum number of pushing silent transitions of a step (None if unbounded)."""
    begun: int
    """The height of the stack before the first label."""
    step: int
    """The maximum number of symbols that a step adds, over all reachable heads."""

    def longest(self, labels: int) -> int:
        """The maximum height of the stack after a number of labels."""
        return self.begun + labels * self.step


def stack_growth(machine: PushdownRules) -> StackGrowth:
    """Compute the constants of a machine."""
    added = [len(rule.push) - (rule.top != NONE) for rule in machine.transitions]

    pushes = _greatest_gains(machine, lambda result: result.pushes)
    after = {rule.target for rule in machine.transitions if not rule.silent}
    after |= {machine.start, machine.otherwise.target or machine.start}

    growth = _greatest_gains(machine, lambda result: len(result.known) - 1)
    step = 0.0
    for head in explore_machine(machine):
        for rule, labels in rules_at(machine, head):
            if not labels:  # a silent move is part of another step
                continue
            result = run_silent_moves(machine, KnownTop(*replace_top(head, rule)))
            further = 0 if result.known else growth[result.state]
            step = max(step, len(result.known) - 1 + further)

    return StackGrowth(
        symbols=len(machine.stack),
        added=max([0, *added]),
        silent_pushes=_finite(max(pushes[state] for state in after)),
        begun=len(machine.begin().after.stack),
        step=int(step),
    )
