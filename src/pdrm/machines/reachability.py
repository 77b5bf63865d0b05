"""Which heads (state, top symbol) a machine can be in, over all words: exact, though the stack is unbounded.

A pushed symbol is popped, sooner or later, in certain states; these depend on the state and the symbol alone. They are
found as a least fixed point together with the heads themselves, starting from the initial state and symbol.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from pdrm.machines.alphabet import Cube
from pdrm.machines.silent import Head
from pdrm.machines.transition import ANY, Transition

if TYPE_CHECKING:
    from pdrm.machines.pushdown import PushdownRewardMachine

Pushed = tuple[str | None, ...]
"""Symbols on top of the stack, top first; None stands for the empty stack below them."""


def reachable_heads(machine: PushdownRewardMachine) -> set[Head]:
    """Every head that some word leads to. Final states have heads too."""
    return _Exploration(machine).heads


class _Exploration:
    """The fixed point: `popped[head]` are the states in which that head's symbol may be gone."""

    def __init__(self, machine: PushdownRewardMachine) -> None:
        self.machine = machine
        self.heads: set[Head] = set()
        self.popped: defaultdict[Head, set[str]] = defaultdict(set)
        self.waiting: defaultdict[Head, list[tuple[Pushed, Head | None]]] = defaultdict(list)
        self.todo: list[tuple[str, Pushed, Head | None]] = [(machine.start, (machine.stack[0], None), None)]
        while self.todo:
            self._place(*self.todo.pop())

    def _place(self, state: str, symbols: Pushed, owner: Head | None) -> None:
        """The machine is in `state` with `symbols` left of what `owner` was replaced by."""
        if not symbols:
            if owner is not None and state not in self.popped[owner]:
                self.popped[owner].add(state)
                self.todo += [(state, rest, waiter) for rest, waiter in self.waiting[owner]]
            return
        head, rest = Head(state, symbols[0]), symbols[1:]
        if (rest, owner) not in self.waiting[head]:
            self.waiting[head].append((rest, owner))
            self.todo += [(after, rest, owner) for after in self.popped[head]]
        if head not in self.heads:
            self.heads.add(head)
            self.todo += [(target, pushed, head) for target, pushed in moves_at(self.machine, head)]


def moves_at(machine: PushdownRewardMachine, head: Head) -> list[tuple[str, Pushed]]:
    """Where each move at a head leads, and what takes the place of its symbol."""
    if head.state in machine.final:
        return []
    below: Pushed = (None,) if head.top is None else ()
    rules = applicable(machine, head)
    moves: list[tuple[str, Pushed]] = [(rule.target, (*rule.pushed(head.top), *below)) for rule in rules]
    silent = any(rule.silent for rule in rules)
    target = machine.otherwise.target
    if target is not None and not silent and machine.alphabet.uncovered(rule.guard for rule in rules):
        moves.append((target, (head.top,)))
    return moves


def applicable(machine: PushdownRewardMachine, head: Head) -> list[Transition]:
    """The rules that apply at a head for some label, those with `z` left out where rules naming the top read all theirs."""
    rules = [rule for rule in machine.rules_from(head.state) if rule.looks_at(head.top)]
    silent = [rule for rule in rules if rule.silent]
    if silent:
        return [rule for rule in silent if rule.top != ANY] or silent
    named = [rule for rule in rules if rule.top != ANY]
    free = machine.alphabet.uncovered(rule.guard for rule in named)
    return [rule for rule in rules if _reads_some(machine, rule, free if rule.top == ANY else [Cube(0, 0)])]


def _reads_some(machine: PushdownRewardMachine, rule: Transition, free: list[Cube]) -> bool:
    alphabet = machine.alphabet
    return any(alphabet.meet(cube, other) for cube in alphabet.cubes(rule.guard) for other in free)
