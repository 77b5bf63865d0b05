"""Heads: the states and top symbols that occur, found exactly although the stack is unbounded.

What a machine can do next depends on its head alone, and there are finitely many. `reach` finds those that occur, and in
which states a head's symbol is popped; `silent_moves` and `stack_bounds` read the rest off them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple

from pdrm.machines.configurations import Configuration, Step
from pdrm.machines.guards import Label
from pdrm.machines.labels import LabelSets
from pdrm.machines.machine import Machine, labels_left
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import ANY, TopSymbols, Transition


class PushdownSystem(Machine[Transition], ABC):
    """A pushdown machine as the checks need it; `PushdownRewardMachine` is one, and is checked when it is built."""

    __slots__ = ()
    stack: tuple[str, ...]

    @abstractmethod
    def rule(self, state: str, label: Label | None, top: str | None) -> Transition | None: ...
    @abstractmethod
    def begin(self) -> Step: ...


class Head(NamedTuple):
    """A state and a top symbol (None for the empty stack)."""

    state: str
    top: str | None


Lead = tuple[str, TopSymbols]
"""The end of a move: a state, and the symbols that replace the head's own."""


def lead(rule: Transition, head: Head) -> Lead:
    """The end of a rule's move at a head."""
    below = (None,) if head.top is None else ()
    return rule.target, (*rule.replacement(head.top), *below)


def count(symbols: TopSymbols) -> int:
    """The number of symbols, without the empty stack below them."""
    return sum(symbol is not None for symbol in symbols)


# --- The moves at a head


def rules_at(machine: PushdownSystem, sets: LabelSets, head: Head) -> list[Transition]:
    """The rules that apply at a head for some label; a rule that names the top beats a rule with `z`."""
    rules = [rule for rule in machine.rules_from(head.state) if rule.looks_at(head.top)]
    silent = [rule for rule in rules if rule.silent]
    if silent:
        return [rule for rule in silent if rule.top != ANY] or silent
    satisfiable = [rule for rule in rules if sets.satisfiable(rule.guard)]
    named = [rule.guard for rule in satisfiable if rule.top != ANY]
    if len(named) == len(satisfiable) or not named:
        return satisfiable
    free = sets.left(named)
    return [rule for rule in satisfiable if rule.top != ANY or free & sets.of(rule.guard)]


def moves_at(machine: PushdownSystem, sets: LabelSets, head: Head) -> list[Lead]:
    """The ends of all moves at a head, `otherwise` included."""
    rules = rules_at(machine, sets, head)
    moves = [lead(rule, head) for rule in rules]
    target = machine.otherwise.target
    if target is not None and labels_left(machine, sets, head.state, rules):
        moves.append((target, (head.top,)))
    return moves


def silent_moves_at(machine: PushdownSystem, head: Head) -> list[Lead]:
    """The end of the silent move at a head, if there is one."""
    rule = machine.rule(head.state, None, head.top)
    return [] if rule is None else [lead(rule, head)]


def list_silent_heads(machine: PushdownSystem) -> list[Head]:
    """The heads with a silent move, in the order of states and tops."""
    sources = {rule.source for rule in machine.transitions if rule.silent}
    states = [state for state in machine.states if state in sources]
    heads = [Head(state, top) for state, top in product(states, (*machine.stack, None))]
    return [head for head in heads if machine.rule(head.state, None, head.top) is not None]


# --- The heads that occur


class Above(NamedTuple):
    """A head that comes up, and the number of symbols below its own."""

    head: Head
    below: int


class FoundHeads(NamedTuple):
    """The heads that occur, with the moves at each and the states in which its symbol is popped."""

    moves: dict[Head, list[Lead]]
    exits: dict[tuple[str, str | None], set[str]]

    def come_up(self, state: str, symbols: TopSymbols) -> list[Above]:
        """The heads exposed as these symbols are popped one after the other."""
        states = {state}
        below = count(symbols)
        found: list[Above] = []
        for symbol in symbols:
            below -= symbol is not None
            heads = [Head(one, symbol) for one in states]
            found += [Above(head, below) for head in heads]
            states = set[str]().union(*(self.exits.get(head, ()) for head in heads))
        return found


def explore(moves_at: Callable[[Head], list[Lead]], begin: Iterable[Lead]) -> FoundHeads:
    """Find the heads that occur from some configurations on."""
    moves: dict[Head, list[Lead]] = {}
    first: tuple[str, str | None] = ("", "")
    leads = list(begin)

    def expand(head: tuple[str, str | None]) -> list[Lead]:
        if head == first:
            return leads
        found = moves[Head(*head)] = moves_at(Head(*head))
        return found

    return FoundHeads(moves, saturate(expand, first).exits)


def explore_machine(machine: PushdownSystem) -> FoundHeads:
    """Find the heads that occur from the start on."""
    sets = LabelSets(machine.alphabet)
    begin = [(machine.start, (machine.stack[0], None))]
    return explore(lambda head: moves_at(machine, sets, head), begin)


def reachable_heads(machine: PushdownSystem) -> set[Head]:
    """Every head that some word leads to. Final states have heads too."""
    return set(explore_machine(machine).moves)


def heads_in_play(
    machine: PushdownSystem, begin: Iterable[Configuration], labels: Iterable[Label]
) -> set[Head]:
    """The heads at which the machine can wait for a label: from some configurations on, by any words over these labels.

    >>> from pdrm.language.loading import catalogue
    >>> letter = catalogue("letter")
    >>> sorted(heads_in_play(letter, [letter.begin().after], [frozenset("A")]))
    [Head(state='u0', top='#'), Head(state='u0', top='A')]
    """
    emitted = tuple(labels)

    def moves(head: Head) -> list[Lead]:
        silent = silent_moves_at(machine, head)
        if silent:
            return silent
        rules = [machine.rule(head.state, label, head.top) for label in emitted]
        found = [lead(rule, head) for rule in dict.fromkeys(rules) if rule is not None]
        target = machine.otherwise.target
        return [*found, (target, (head.top,))] if None in rules and target is not None else found

    explored = explore(moves, [(one.state, (*one.stack, None)) for one in begin])
    return {
        head
        for head in explored.moves
        if head.state in machine.states and not silent_moves_at(machine, head)
    }
