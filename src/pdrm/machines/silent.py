"""Endless silent moves, decided exactly.

From a head (state, top symbol) silent moves are deterministic, and what happens until that symbol is gone depends on the
head alone: it is popped in some state, or the moves stop above it, or they never end. The outcome of a head is that of the
symbols its rule pushes, one after the other; a head that comes up again before its own outcome is known repeats for ever,
with the stack grown, shrunk and regrown, or kept. The empty stack counts as one more symbol, which is never popped.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from pdrm.errors import EndlessSilentMoves
from pdrm.machines.transition import Transition

if TYPE_CHECKING:
    from pdrm.machines.pushdown import PushdownRewardMachine

MOST_SHOWN = 6
"""Silent moves printed in a message."""

MOST_SEARCHED = 100
"""Silent moves followed to find where they repeat."""


class Head(NamedTuple):
    """A state and a top symbol (None: the empty stack)."""

    state: str
    top: str | None


class Stops(Enum):
    """How the silent moves of a head can end, other than by popping its symbol in some state."""

    ABOVE = "no silent rule applies, or a final state is reached, before the symbol is popped"
    NEVER = "the silent moves go on for ever"


Outcome = str | Stops
"""The state in which the head's symbol is popped, or how else its silent moves end."""


def endless_silent_moves(machine: PushdownRewardMachine) -> list[EndlessSilentMoves]:
    """The shortest example of silent moves that never end, if there is one."""
    if not any(rule.silent for rule in machine.transitions):
        return []
    endless = [head for head, outcome in outcomes(machine).items() if outcome is Stops.NEVER]
    if not endless:
        return []
    # Moves on the empty stack look at no symbol: they are as endless on top of one, and that is what is shown.
    head, moves = min(((head, _until_repeated(machine, head)) for head in endless), key=lambda pair: len(pair[1]))
    shown = "".join(f"\n    {rule}" for rule in moves[:MOST_SHOWN])
    more = f"\n    … ({len(moves)} moves before it repeats)" if len(moves) > MOST_SHOWN else ""
    return [
        EndlessSilentMoves(
            f"silent moves never end in state `{head.state}` with `{head.top}` on top:{shown}{more}",
            where=moves[0].where,
            fix="let one of these rules read a label, or lead to a state and top where no silent rule applies",
        )
    ]


def outcomes(machine: PushdownRewardMachine) -> dict[Head, Outcome]:
    """The outcome of every head."""
    known: dict[Head, Outcome] = {}
    for state in machine.states:
        for top in (*machine.stack, None):
            _settle(machine, Head(state, top), known)
    return known


def _settle(machine: PushdownRewardMachine, head: Head, known: dict[Head, Outcome]) -> None:
    """Find the outcome of one head. The heads that wait for another's outcome are kept in `waiting`, oldest first, each
    with the symbols of its own that are still to be popped, next one last."""
    waiting: dict[Head, list[str | None]] = {}
    while True:
        outcome = Stops.NEVER if head in waiting else known.get(head)
        if outcome is None:
            rule = machine.rule(head.state, None, head.top)
            if rule is not None:
                below: list[str | None] = [None] if head.top is None else []
                waiting[head] = [*below, *reversed(rule.pushed(head.top))]
            outcome = Stops.ABOVE if rule is None else rule.target
            if rule is None:
                known[head] = outcome
        while isinstance(outcome, str) and waiting and not waiting[last := next(reversed(waiting))]:
            known[last] = outcome
            del waiting[last]
        if isinstance(outcome, Stops) or not waiting:
            known.update(dict.fromkeys(waiting, outcome))
            return
        head = Head(outcome, waiting[last].pop())


def _until_repeated(machine: PushdownRewardMachine, head: Head) -> list[Transition]:
    """The silent moves from an endless head, up to where an earlier head has come back with no symbol below it touched."""
    stack = [] if head.top is None else [head.top]
    state, moves = head.state, list[Transition]()
    seen: list[tuple[Head, int]] = []
    while len(moves) < MOST_SEARCHED:
        here = Head(state, stack[-1] if stack else None)
        seen = [(earlier, height) for earlier, height in seen if height <= len(stack)]
        if any(earlier == here for earlier, _ in seen):
            break
        seen.append((here, len(stack)))
        rule = machine.rule(state, None, here.top)
        if rule is None:
            break
        stack[-1:] = reversed(rule.pushed(here.top))
        state = rule.target
        moves.append(rule)
    return moves
