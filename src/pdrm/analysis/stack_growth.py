"""How fast a machine's stack grows: the m and e of Section 5, and the exact constants that its bounds leave out.

The paper allows m symbols a transition and e pushing silent transitions a step, so m(e + 1) symbols a step. It forgets the
symbols an episode begins with, and e need not exist: silent moves may push each time they have popped one more symbol. What
one step can add always exists, though: silent moves from a head (state, top) end above its symbol, or pop it, in a way
that depends on the head alone (see `machines/silent.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reachability import Pushed, moves_at, reachable_heads
from pdrm.machines.silent import Head, outcomes
from pdrm.machines.transition import Transition


@dataclass(frozen=True, slots=True)
class StackGrowth:
    """What the sizes of a machine's policies depend on.

    >>> from pdrm.machines.catalogue import catalogue
    >>> stack_growth(catalogue("deliver"))
    StackGrowth(symbols=5, added=8, silent_pushes=0, begun=1, step=8)
    """

    symbols: int
    """|Γ|"""
    added: int
    """m: the most symbols that one transition adds, those it pushes less the one it looks at."""
    silent_pushes: int | None
    """e: the most silent transitions of one step that add symbols, over all stacks; None where there is no most."""
    begun: int
    """The height of the stack before the first label is read."""
    step: int
    """The most symbols that one label and its silent moves add, over all reachable heads."""

    def longest(self, labels: int) -> int:
        """The highest that a stack can be after so many labels."""
        return self.begun + labels * self.step


def stack_growth(machine: PushdownRewardMachine) -> StackGrowth:
    """The constants of a machine."""
    silent = _SilentMoves(machine)
    added = max((_added(rule, top) for rule in machine.transitions for top in _tops(machine, rule)), default=0)
    begun = len(machine.begin().after.stack)
    return StackGrowth(len(machine.stack), max(0, added), silent.pushes(), begun, silent.step())


def _added(rule: Transition, top: str | None) -> int:
    """The symbols that a rule puts on the stack, less the one it looks at."""
    return len(rule.pushed(top)) - (top is not None)


def _tops(machine: PushdownRewardMachine, rule: Transition) -> Iterator[str | None]:
    return (top for top in (*machine.stack, None) if rule.looks_at(top))


class _SilentMoves:
    """The silent moves of each head: how many symbols stand in its symbol's place when they stop, how often they push."""

    def __init__(self, machine: PushdownRewardMachine) -> None:
        self.machine = machine
        self.ends = outcomes(machine)

    def popped(self, head: Head) -> str | None:
        """The state in which silent moves have popped the head's symbol, or None if they stop above it."""
        end = self.ends.get(head)
        return end if isinstance(end, str) else None

    def stop(self, state: str, symbols: Pushed) -> tuple[Head, Pushed] | str:
        """The head above which silent moves stop, and what is left below it; or the state once all are popped."""
        for place, symbol in enumerate(symbols):
            after = self.popped(Head(state, symbol))
            if after is None:
                return Head(state, symbol), symbols[place + 1 :]
            state = after
        return state

    def left(self, state: str, symbols: Pushed) -> int | str:
        """How many symbols stand in the place of these when silent moves stop; or the state once all are popped."""
        count = 0
        while not isinstance(found := self.stop(state, symbols), str):
            head, below = found
            count += sum(symbol is not None for symbol in below)
            rule = self.machine.rule(head.state, None, head.top)
            if rule is None:
                return count + (head.top is not None)
            state, symbols = rule.target, (*rule.pushed(head.top), *([None] if head.top is None else []))
        return found

    def step(self) -> int:
        """The most symbols that one label and its silent moves add."""
        below = self._growth_below()
        most = 0
        for head in reachable_heads(self.machine):
            if self.machine.rule(head.state, None, head.top) is None:
                for target, symbols in moves_at(self.machine, head):
                    left = self.left(target, symbols)
                    here = below[left] if isinstance(left, str) else left
                    most = max(most, here - (head.top is not None))
        return most

    def _growth_below(self) -> dict[str, int]:
        """For each state, the most that silent moves add to a stack of any symbols, or take from it at least."""
        states = (*self.machine.states, *self.machine.final)
        found = {state: self._left_above_empty(state) for state in states}
        changed = True
        while changed:
            changed = False
            for state in states:
                for symbol in self.machine.stack:
                    left = self.left(state, (symbol,))
                    growth = (found[left] if isinstance(left, str) else left) - 1
                    if growth > found[state]:
                        found[state], changed = growth, True
        return found

    def _left_above_empty(self, state: str) -> int:
        left = self.left(state, (None,))
        assert isinstance(left, int)  # noqa: S101 - the empty stack is never popped
        return left

    def pushes(self) -> int | None:
        """The most pushing silent moves in a row, over all stacks; None where there is no most."""
        machine = self.machine
        counts = self._pushes_at_heads()
        found = dict.fromkeys((*machine.states, *machine.final), 0)
        for _ in range(len(found) + 1):
            before = dict(found)
            for head, count in counts.items():
                after = self.popped(head)
                found[head.state] = max(found[head.state], count + (0 if after is None else before[after]))
            if found == before:
                break
        else:
            return None  # a way round that pushes
        heads = (Head(state, top) for state in machine.states for top in (*machine.stack, None))
        reading = {target for head in heads if head not in counts for target, _ in moves_at(machine, head)}
        return max(found[state] for state in {machine.start, *reading})

    def _pushes_at_heads(self) -> dict[Head, int]:
        """The pushing silent moves from each head that has silent moves, until its symbol is popped or they stop."""
        machine = self.machine
        heads = [Head(state, top) for state in machine.states for top in (*machine.stack, None)]
        rules = {head: rule for head in heads if (rule := machine.rule(head.state, None, head.top)) is not None}
        counts = dict.fromkeys(rules, 0)
        changed = True
        while changed:  # as often as the longest chain of heads has members: silent moves end
            changed = False
            for head, rule in rules.items():
                state: str | None = rule.target
                count = int(_added(rule, head.top) > 0)
                for symbol in (*rule.pushed(head.top), *([None] if head.top is None else [])):
                    if state is None:
                        break
                    count += counts.get(Head(state, symbol), 0)
                    state = self.popped(Head(state, symbol))
                if count > counts[head]:
                    counts[head], changed = count, True
        return counts
