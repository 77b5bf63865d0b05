"""Saturation (post*) in Numba: the automaton of all reachable stacks that `reachable_rows` describes."""

from __future__ import annotations

import numpy as np
from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.machines.tables import Table
from pdrm.product.finite_kernel import Numbers

NONE = -1
"""No edge."""
UNDEFINED = -1
"""Instead of the number of edges: a label has no rule."""
MOST_NODES = 2**31


@njit(cache=True)
def saturate(
    world: DomainArrays, table: Table, begun: Numbers, most: int
) -> tuple[Numbers, Numbers, Numbers, Numbers, int]:
    """The edges (from, symbol, to) and weights of the automaton, and how many there are.

    `begun` has the edges that read the stacks of the starts: [edge, (from, symbol, to)]. While edges are found there is one
    symbol more, POPPED: such an edge leads from the control after a pop to the node below, and reads nothing. Whatever leaves
    that node, now or later, leaves that control as well. The number is more than `most` if there would be too many edges, and
    UNDEFINED if a label has no rule.
    """
    actions, outcomes = world.next.shape[1:]
    states, symbols = table.silent.shape
    controls = len(world.next) * states
    popped = symbols
    nodes = begun.max() + 1
    middle = {NONE: NONE}
    """The node below a symbol that was pushed: by the node before it and the symbol."""
    number = {NONE: NONE}
    """The edge of a key."""
    source, symbol, target, weight = [0], [0], [0], [0]
    following = [NONE]
    """The next edge in the same chain: those that leave a node, or the popped ones that lead to it."""
    leaving, entering = [NONE] * nodes, [NONE] * nodes
    """The first edge of each node's chains."""
    now = [(begun[i, 0], begun[i, 1], begun[i, 2], 0) for i in range(len(begun))]
    while len(now) > 0 and len(source) <= most:
        new = now[:0]
        for p, g, q, w in now:
            key = (p * (symbols + 1) + g) * MOST_NODES + q
            edge = number.get(key, NONE)
            if edge != NONE and weight[edge] <= w:
                continue
            if edge == NONE:
                edge = len(source)
                number[key] = edge
                source.append(p)
                symbol.append(g)
                target.append(q)
                weight.append(w)
                if g == popped:
                    following.append(entering[q])
                    entering[q] = edge
                else:
                    following.append(leaving[p])
                    leaving[p] = edge
            weight[edge] = w
            if g == popped:
                other = leaving[q]
                while other != NONE:
                    new.append((p, symbol[other], target[other], w + weight[other]))
                    other = following[other]
                continue
            if p >= controls:
                other = entering[p]
                while other != NONE:
                    new.append((source[other], g, q, weight[other] + w))
                    other = following[other]
                continue
            s, u = p // states, p % states
            silent = table.silent[u, g]
            if silent < 0 and (u >= table.first_final or world.terminal[s]):
                continue
            for a in range(1 if silent >= 0 else actions):
                for o in range(1 if silent >= 0 else outcomes):
                    move, after, total = silent, p - u, w
                    if silent < 0:
                        if world.probability[s, a, o] <= 0.0:
                            continue
                        move, total = table.move[u, world.label[s, a, o], g], w + 1
                        after = world.next[s, a, o] * states
                        if move < 0:
                            nothing = np.zeros(0, np.int64)
                            return nothing, nothing, nothing, nothing, UNDEFINED
                    here = int(after + table.target[move])
                    pushes = table.pushes[move]
                    length = pushes + 1 - table.pops[move]
                    if length == 0:
                        new.append((here, popped, q, total))
                    for position in range(length):  # a way to q that reads what replaces g
                        left = pushes - 1 - position
                        read = int(table.push[move, left] if left >= 0 else g)
                        if position == length - 1:
                            new.append((here, read, q, total))
                            continue
                        key = here * symbols + read
                        if key not in middle:
                            middle[key] = len(leaving)
                            leaving.append(NONE)
                            entering.append(NONE)
                        below = middle[key]
                        new.append((here, read, below, 0))
                        here = below
        now = new
    found = np.array(source)[1:], np.array(symbol)[1:], np.array(target)[1:]
    return found[0], found[1], found[2], np.array(weight)[1:], len(source) - 1
