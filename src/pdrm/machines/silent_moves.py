"""Endless silent moves, decided exactly.

What the silent moves of a head do until its symbol is gone depends on the head alone. So they never end just if the head comes
up again in its own moves, with the stack grown, shrunk and regrown, or kept.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from pdrm.errors import EndlessSilentMoves
from pdrm.limits import MOST_SILENT_MOVES
from pdrm.machines.heads import (
    Head,
    PushdownSystem,
    explore,
    lead,
    list_silent_heads,
    silent_moves_at,
)
from pdrm.machines.transitions import Transition

MOST_SHOWN = 6
"""Silent moves printed in a message."""

MOST_SEARCHED = 100
"""Silent moves followed in search of a repetition."""

MOST_COMPARED = 1_000
"""Heads followed to find the shortest example."""


def find_endless_silent_moves(machine: PushdownSystem) -> list[EndlessSilentMoves]:
    """The shortest example of silent moves that never end, or would take years to end, if there is one."""
    heads = list_silent_heads(machine)
    head = _find_endless(machine, heads)
    if head is None:
        return []
    rule = machine.rule(head.state, None, head.top)
    said = f"more than {MOST_SEARCHED} silent moves follow each other"
    shown = ""
    examples = [(one, _follow_until_repeated(machine, one)) for one in heads[:MOST_COMPARED]]
    endless = [(one, moves) for one, moves in examples if moves]
    if endless:
        head, moves = min(endless, key=lambda example: len(example[1]))
        rule, said = moves[0], "silent moves never end"
        shown = ":" + "".join(f"\n    {move}" for move in moves[:MOST_SHOWN])
        if len(moves) > MOST_SHOWN:
            shown += f"\n    … ({len(moves)} moves before it repeats)"
    return [
        EndlessSilentMoves(
            f"{said} in state `{head.state}` with `{head.top}` on top{shown}",
            where=None if rule is None else rule.where,
            fix="let one of these rules read a label, or lead to a state and top without a silent rule",
        )
    ]


def _find_endless(machine: PushdownSystem, heads: list[Head]) -> Head | None:
    """A head that comes up in its own silent moves, or that leads to too many of them."""
    begin = [(head.state, (head.top,)) for head in heads]
    silent = explore(lambda head: silent_moves_at(machine, head), begin)
    after = {
        head: [above.head for one in moves for above in silent.come_up(*one)]
        for head, moves in silent.moves.items()
    }
    counts: dict[Head, int] = {}
    try:
        for head in TopologicalSorter(after).static_order():
            counts[head] = len(silent.moves[head]) + sum(counts[one] for one in after[head])
            if counts[head] > MOST_SILENT_MOVES:
                return head
    except CycleError as error:
        circle: list[Head] = error.args[1]
        return circle[0]
    return None


def _follow_until_repeated(machine: PushdownSystem, head: Head) -> list[Transition]:
    """The silent moves from a head up to where an earlier head has come back with no symbol below it touched, if they do soon."""
    state, stack = head.state, [head.top]
    moves: list[Transition] = []
    seen: dict[Head, int] = {}
    while stack and len(moves) < MOST_SEARCHED:
        here = Head(state, stack[-1])
        seen = {earlier: height for earlier, height in seen.items() if height <= len(stack)}
        if here in seen:
            return moves
        rule = machine.rule(here.state, None, here.top)
        if rule is None:
            return []
        seen[here] = len(stack)
        moves.append(rule)
        state, pushed = lead(rule, here)
        stack[-1:] = reversed(pushed)
    return []
