"""What happens at the heads of a pushdown machine: a state, and the symbol on top of the stack (None if it is empty).

`rule_at` is the one rule for a label; `readings_at` lists all rules with their labels. The heads that occur are found by
`reach.saturate`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from itertools import product
from math import inf
from typing import NamedTuple

from pdrm.machines.configurations import Configuration, Step
from pdrm.machines.guards import Label
from pdrm.machines.labels import LabelSet, LabelSets
from pdrm.machines.machine import Machine, labels_left
from pdrm.machines.reach import Waiting, saturate
from pdrm.machines.transitions import ANY, BOTTOM, NONE, Otherwise, TopSymbols, Transition


class PushdownRules(Machine[Transition, Configuration, Step]):
    """The stack symbols and rules of a pushdown machine, and which of the rules applies."""

    stack: tuple[str, ...]

    @cached_property
    def leaves_stack(self) -> bool:
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
        found = {
            (state, top): self.rule(state, None, top)
            for state, top in product(states, (*self.stack, None))
        }
        return {head: rule for head, rule in found.items() if rule is not None}


class Head(NamedTuple):
    """A state and a top symbol (None for the empty stack)."""

    state: str
    top: str | None


AnyHead = tuple[str, str | None]
"""A head, or its two parts as a plain tuple, as `saturate` has it."""
Acting = Transition | Otherwise
"""A rule, or the machine's `otherwise`."""


def replace_top(head: AnyHead, rule: Acting) -> tuple[str, TopSymbols]:
    """The end of a move, for `saturate`: a state, and the symbols that replace the head's own. The empty stack is a symbol
    below all others, which is never popped."""
    state, top = head
    pushed = rule.replacement(top)
    return rule.target or state, pushed if top is not None else (*pushed, None)


def rule_at(machine: PushdownRules, head: AnyHead, label: Label | None) -> Acting | None:
    """Return the rule that applies at a head, or `otherwise` if it leads on.

    Args:
        machine: The machine.
        head: A head whose state is not final.
        label: The label that is read (None for the silent move).

    Returns:
        The rule or `otherwise`; None if there is no move.

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


def readings_at(
    machine: PushdownRules, sets: LabelSets, head: AnyHead
) -> list[tuple[Acting, LabelSet]]:
    """The rules that apply at a head for some label, each with the labels that it reads: a silent rule alone, with none; or
    reading ones, those that name the top before those with `z`, and `otherwise` with the labels that are left."""
    state, top = head
    rules = [rule for rule in machine.rules_from[state] if rule.looks_at(top)]
    silent = machine.rule(state, None, top)
    if silent is not None:
        return [(silent, sets.none)]
    named = [rule.guard for rule in rules if rule.top != ANY]
    free = sets.left(named)
    found: list[tuple[Acting, LabelSet]] = []
    for rule in rules:
        labels = sets.holding(rule.guard)
        if rule.top == ANY and named:
            labels &= free
        if labels and sets.satisfiable(rule.guard):
            found.append((rule, labels))
    return found + labels_left(machine, sets, state, rules)


# --- The heads that occur


def explore_machine(
    machine: PushdownRules, begin: Configuration | None = None
) -> Waiting[str, str | None]:
    """The heads that occur from a configuration on (default: the start), as `saturate` finds them."""
    sets = LabelSets(machine.alphabet)
    first = begin or Configuration(machine.start, machine.stack[:1])

    def moves(head: AnyHead) -> list[tuple[str, TopSymbols]]:
        return [replace_top(head, rule) for rule, _ in readings_at(machine, sets, head)]

    return saturate(moves, [(first.state, (*first.stack, None))])


def reachable_heads(machine: PushdownRules) -> set[Head]:
    """Every head that some word leads to. Final states have heads too."""
    return {Head(*head) for head in explore_machine(machine)}


def heads_in_play(
    machine: PushdownRules, begin: Iterable[Configuration], labels: Iterable[Label]
) -> set[Head]:
    """The heads at which the machine can wait for a label: from some configurations on, by any words over these labels.

    >>> from pdrm.language.loading import catalogue
    >>> letter = catalogue("letter")
    >>> sorted(heads_in_play(letter, [letter.begin().after], [frozenset("A")]))
    [Head(state='u0', top='#'), Head(state='u0', top='A')]
    """
    emitted = tuple(labels)
    waiting = set[Head]()

    def moves(head: AnyHead) -> list[tuple[str, TopSymbols]]:
        if head[0] in machine.final:
            return []
        rules = [rule_at(machine, head, None)]
        if rules == [None]:
            waiting.add(Head(*head))
            rules = [rule_at(machine, head, label) for label in emitted]
        return [replace_top(head, rule) for rule in rules if rule is not None]

    saturate(moves, [(one.state, (*one.stack, None)) for one in begin])
    return waiting


def all_heads(machine: PushdownRules) -> list[Head]:
    """Every state, final ones too, with every top of stack, the empty one last."""
    pairs = product((*machine.states, *machine.final), (*machine.stack, None))
    return list(map(Head._make, pairs))


# --- Silent moves above some known symbols


class Settled(NamedTuple):
    """The end of the silent moves above some known symbols."""

    state: str
    known: TopSymbols
    """The symbols that are left."""
    paid: float = 0.0
    moves: int = 0
    pushes: int = 0
    """The moves that pushed."""


def settle(machine: PushdownRules, here: Settled, most: float = inf) -> Settled:
    """Make up to `most` silent moves, until none applies or all known symbols are popped."""
    while (
        here.known
        and here.moves < most
        and (rule := machine.rule(here.state, None, here.known[0])) is not None
    ):
        state, pushed = replace_top((here.state, here.known[0]), rule)
        here = Settled(
            state,
            pushed + here.known[1:],
            here.paid + rule.reward,
            here.moves + 1,
            here.pushes + (len(pushed) > 1),
        )
    return here
