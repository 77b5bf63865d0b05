"""What happens at the heads of a pushdown machine: a state, and the symbol on top of the stack (None if it is empty).

`rule_at` is the one rule for a label; `readings_at` lists all rules with their labels. The heads that occur are found by
`reach.saturate`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import inf
from typing import NamedTuple

from pdrm.machines.configurations import Configuration
from pdrm.machines.guards import Label
from pdrm.machines.labels import LabelSet, LabelSets
from pdrm.machines.machine import labels_left
from pdrm.machines.pushdown import Acting, Head, PushdownRewardMachine, replace_top
from pdrm.machines.reach import Waiting, saturate
from pdrm.machines.transitions import ANY, TopSymbols


def rule_at(machine: PushdownRewardMachine, head: Head, label: Label | None) -> Acting | None:
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
    rule = machine.rule(head.state, label, head.top)
    if rule is None and label is not None and machine.otherwise.action != "error":
        return machine.otherwise
    return rule


def readings_at(
    machine: PushdownRewardMachine, sets: LabelSets, head: Head
) -> list[tuple[Acting, LabelSet]]:
    """The rules that apply at a head for some label, each with the labels that it reads: a silent rule alone, with none; or
    reading ones, those that name the top before those with `z`, and `otherwise` with the labels that are left."""
    rules = [rule for rule in machine.rules_from(head.state) if rule.looks_at(head.top)]
    silent = machine.rule(head.state, None, head.top)
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
    return found + labels_left(machine, sets, head.state, rules)


# --- The heads that occur


def explore_machine(machine: PushdownRewardMachine) -> Waiting[str, str | None]:
    """The heads that occur from the start on, as `saturate` finds them."""
    sets = LabelSets(machine.alphabet)

    def moves(head: tuple[str, str | None]) -> list[tuple[str, TopSymbols]]:
        readings = readings_at(machine, sets, Head(*head))
        return [replace_top(head, rule) for rule, _ in readings]

    return saturate(moves, [(machine.start, (machine.stack[0], None))])


def reachable_heads(machine: PushdownRewardMachine) -> set[Head]:
    """Every head that some word leads to. Final states have heads too."""
    return {Head(*head) for head in explore_machine(machine)}


def heads_in_play(
    machine: PushdownRewardMachine, begin: Iterable[Configuration], labels: Iterable[Label]
) -> set[Head]:
    """The heads at which the machine can wait for a label: from some configurations on, by any words over these labels.

    >>> from pdrm.language.loading import catalogue
    >>> letter = catalogue("letter")
    >>> sorted(heads_in_play(letter, [letter.begin().after], [frozenset("A")]))
    [Head(state='u0', top='#'), Head(state='u0', top='A')]
    """
    emitted = tuple(labels)
    waiting = set[Head]()

    def moves(at: tuple[str, str | None]) -> list[tuple[str, TopSymbols]]:
        head = Head(*at)
        if head.state in machine.final:
            return []
        rules = [rule_at(machine, head, None)]
        if rules == [None]:
            waiting.add(head)
            rules = [rule_at(machine, head, label) for label in emitted]
        return [replace_top(head, rule) for rule in rules if rule is not None]

    saturate(moves, [(one.state, (*one.stack, None)) for one in begin])
    return waiting


def all_heads(machine: PushdownRewardMachine) -> list[Head]:
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


def settle(machine: PushdownRewardMachine, here: Settled, most: float = inf) -> Settled:
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
