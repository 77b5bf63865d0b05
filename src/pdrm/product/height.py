"""How high a stack can get within so many labels: what a stack of fixed depth must have room for.

A move replaces a head's symbol by others. So the height above a head within n labels is that of what the move pushes, or
what stands below one of these symbols and the height above that one within n - 1 labels (n, if the move is silent). The
labels that it takes to pop the symbols above that one are not counted: the height found may be too high, never too low.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reachability import Pushed, moves_at, reachable_heads
from pdrm.machines.silent import Head

Heights = dict[Head, int]


class Above(NamedTuple):
    """A head that a move may lead to, and how many symbols stand below its own."""

    head: Head
    below: int


def highest_stack(machine: PushdownRewardMachine, labels: int, most: int) -> int:
    """The most symbols on the stack within so many labels, also between silent moves; `most` if they are that many or more.

    >>> from pdrm.machines.catalogue import catalogue
    >>> [highest_stack(catalogue(name), 50, most=100) for name in ("letter", "deliver", "paint")]
    [51, 9, 6]
    """
    climb = _Climb(machine)
    heights = climb.settled({head: int(head.top is not None) for head in climb.moves}, most)
    for _ in range(labels):
        if climb.highest(heights) >= most:
            break
        after = climb.settled({head: climb.above(head, heights) for head in climb.moves}, most)
        if after == heights:
            break
        heights = after
    return min(most, climb.highest(heights))


class _Climb:
    """What the moves at every reachable head lead to, and the heights above heads within some number of labels."""

    def __init__(self, machine: PushdownRewardMachine) -> None:
        moves = {head: dict.fromkeys(moves_at(machine, head)) for head in reachable_heads(machine)}
        popped = _popped(moves)
        self.start = _led_to(popped, machine.start, (machine.stack[0], None))[0]
        self.moves = {head: [above for move in moves[head] for above in _led_to(popped, *move)[0]] for head in moves}
        self.pushed = {head: max((_count(move[1]) for move in moves[head]), default=0) for head in moves}
        self.silent = [head for head in moves if machine.rule(head.state, None, head.top) is not None]

    def highest(self, heights: Heights) -> int:
        """From the start."""
        return max(above.below + heights[above.head] for above in self.start)

    def above(self, head: Head, heights: Heights) -> int:
        """The height above a head that one more move leads to."""
        found = [above.below + heights[above.head] for above in self.moves[head]]
        return max([heights[head], self.pushed[head], *found])

    def settled(self, heights: Heights, most: int) -> Heights:
        """The heights with all silent moves taken; they are not followed beyond `most`."""
        changed = True
        while changed:
            changed = False
            for head in self.silent:
                height = min(most, self.above(head, heights))
                if height > heights[head]:
                    heights[head], changed = height, True
        return heights


def _popped(moves: dict[Head, dict[tuple[str, Pushed], None]]) -> defaultdict[Head, set[str]]:
    """The states in which the symbol of each head may have gone."""
    popped: defaultdict[Head, set[str]] = defaultdict(set)
    changed = True
    while changed:
        changed = False
        for head, several in moves.items():
            found = set().union(*(_led_to(popped, *move)[1] for move in several))
            if head.top is not None and not found <= popped[head]:
                popped[head] |= found
                changed = True
    return popped


def _led_to(popped: defaultdict[Head, set[str]], state: str, symbols: Pushed) -> tuple[list[Above], set[str]]:
    """The heads that come up with these symbols on top in a state, and the states in which all of them may have gone."""
    states, below, found = {state}, _count(symbols), list[Above]()
    for symbol in symbols:
        below -= symbol is not None
        heads = [Head(one, symbol) for one in states]
        found += [Above(head, below) for head in heads]
        states = set().union(*(popped[head] for head in heads))
    return found, states


def _count(symbols: Pushed) -> int:
    return sum(symbol is not None for symbol in symbols)
