"""What a step can do when only the top of the stack is known: every outcome, whatever lies below.

Values over (environment state, machine state, top) that take the best, or the worst, of these outcomes bound the values of
all product states with that top, however high their stacks: this is what is known about a frontier state.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from pdrm.errors import UnboundedStep
from pdrm.machines.tables import Integers, Rewards, Table

MOST_OUTCOMES = 10_000
"""Outcomes of one step beyond which it is taken to be unbounded."""


class TopSteps(NamedTuple):
    """The outcomes of reading a label in a state with a top symbol, from `first[...]` up to the next one's.

    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.machines.tables import tabulate
    >>> table = tabulate(catalogue("echo"), [frozenset({"a"})])
    >>> steps = abstract_steps(table, list(map(Fraction, table.reward.tolist())))
    >>> steps.top[steps.first[0, 0, 1] : steps.first[0, 0, 2]].tolist()
    [2]
    """

    first: Integers
    """[state, label, top]: where its outcomes begin; they end where those of the next column (top + 1) begin."""
    state: Integers
    """[outcome]: the machine state."""
    top: Integers
    """[outcome]: the top symbol, 0 for the empty stack."""
    paid: Rewards
    """[outcome]: what the machine pays."""


def abstract_steps(table: Table, rewards: Sequence[Fraction]) -> TopSteps:
    """Find all outcomes of all steps of a machine; `rewards`: [move]: what it pays, to be added up and rounded once."""
    states, labels, tops = table.move.shape
    first = np.zeros((states, labels, tops + 1), np.int32)
    rows: list[tuple[int, int, float]] = []
    for u in range(table.first_final):
        for label in range(labels):
            for top in range(tops):
                first[u, label, top] = len(rows)
                rows += sorted(_find_outcomes(table, rewards, int(table.move[u, label, top]), top))
            first[u, label, tops] = len(rows)
    state, top_after, paid = zip(*rows, strict=True) if rows else ((), (), ())
    return TopSteps(
        first, np.array(state, np.int32), np.array(top_after, np.int32), np.array(paid, np.float64)
    )


def _find_outcomes(
    table: Table, rewards: Sequence[Fraction], move: int, top: int
) -> set[tuple[int, int, float]]:
    """State, top and pay after a move and its silent moves, for every stack below the top symbol."""
    if move < 0:
        return set()
    known = (top,) if top else ()
    todo = [(move, known, top == 0, Fraction(0))]
    """A move to take, the known symbols top first, whether the stack ends below them, what was paid."""
    seen, found = set(todo), set[tuple[int, int, float]]()
    while todo:
        taken, symbols, ends, paid = todo.pop()
        u = int(table.target[taken])
        pushed = tuple(table.push[taken, : table.pushes[taken]].tolist())[::-1]
        after = pushed + symbols[int(table.pops[taken]) :]
        paid += rewards[taken]
        # What lies below the known symbols is seen only now: any symbol, or the end of the stack.
        below = (
            [(after, ends)]
            if after or ends
            else [((symbol,), False) for symbol in range(1, table.move.shape[2])]
        )
        for stack, over in below if after or ends else [*below, ((), True)]:
            silent = int(table.silent[u, stack[0] if stack else 0])
            if silent < 0:
                found.add((u, stack[0] if stack else 0, float(paid)))
            elif (following := (silent, stack, over, paid)) not in seen:
                seen.add(following)
                todo.append(following)
        if len(seen) > MOST_OUTCOMES:
            raise UnboundedStep(
                "one step of the machine can take more silent moves than can be followed",
                fix='bound the stack: height=12, rule="block" (--height 12 --rule block)',
            )
    return found
