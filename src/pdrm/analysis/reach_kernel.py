"""Saturation (post*) in Numba: the automaton of all reachable stacks that `reachable_rows` describes."""

from __future__ import annotations

import numpy as np
from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.machines.tables import Table
from pdrm.product.finite_kernel import Numbers

NONE = -1
"""No edge, jump, node or start."""


@njit(cache=True)
def saturate(
    domain: DomainArrays, table: Table, middles: int, most: int
) -> tuple[Numbers, Numbers, Numbers, Numbers, int]:
    """The edges (from, symbol, to) and weights of the automaton, and how many there are.

    The number is more than `most` if there would be too many, and NONE if a label has no rule. `middles`: how many nodes the
    automaton may need in addition to the controls. A start with a label is a control of its own until that label is read.
    """
    actions, outcomes = domain.next.shape[1:]
    machine_states, symbols = table.silent.shape
    acting = len(domain.next) * machine_states
    controls = acting + len(domain.start_state) * machine_states
    bottom = controls
    end = controls + 1
    nodes = controls + 2 + middles
    made_nodes = controls + 2
    middle = np.full((nodes, symbols), NONE, np.int32)
    edges = {NONE: NONE}
    source, symbol, target, weight, next_leaving = [0], [0], [0], [0], [NONE]
    leaving = np.full(nodes, NONE, np.int64)
    """[node]: the edge from it that was found last; the others follow in `next_leaving`."""
    jumps = {NONE: NONE}
    jump_from, jump_weight, next_landing = [0], [0], [NONE]
    landing = np.full(nodes, NONE, np.int64)
    """[node]: the same of the jumps to it."""
    now = [(bottom, 0, end, 0)]
    for start in range(len(domain.start_state)):
        if domain.start_probability[start] > 0.0:
            place = domain.start_state[start] * machine_states
            if domain.start_label[start] >= 0:
                place = acting + start * machine_states
            now.append((int(place + table.start), int(table.bottom), bottom, 0))
    while len(now) > 0 and len(source) - 1 <= most:
        new = [(0, 0, 0, 0) for _ in range(0)]
        for p, g, q, d in now:  # p reads g and goes to q with weight d
            key = (p * symbols + g) * nodes + q
            edge = edges.get(key, NONE)
            if edge >= 0 and weight[edge] <= d:
                continue
            if edge < 0:
                edge = len(source)
                edges[key] = edge
                source.append(p)
                symbol.append(g)
                target.append(q)
                weight.append(d)
                next_leaving.append(leaving[p])
                leaving[p] = edge
            weight[edge] = d
            if (
                p >= controls
            ):  # an edge below a popped symbol is also one of every control that jumped there
                jump = landing[p]
                while jump >= 0:
                    new.append((jump_from[jump], g, q, jump_weight[jump] + d))
                    jump = next_landing[jump]
                continue
            u = p % machine_states
            s = p // machine_states
            start = NONE
            if p >= acting:
                start = s - len(domain.next)
                s = 0
            is_silent = table.silent[u, g] >= 0
            once = is_silent or start >= 0
            if not is_silent and (u >= table.first_final or (start < 0 and domain.terminal[s])):
                continue
            for a in range(1 if once else actions):
                for o in range(1 if once else outcomes):
                    cost = 0
                    if is_silent:
                        move = table.silent[u, g]
                        place = p - u
                    elif start >= 0:
                        move = table.move[u, domain.start_label[start], g]
                        place = domain.start_state[start] * machine_states
                    elif domain.probability[s, a, o] > 0.0:
                        move = table.move[u, domain.label[s, a, o], g]
                        place = domain.next[s, a, o] * machine_states
                        cost = 1
                    else:
                        continue
                    if move < 0:
                        none = np.zeros(0, np.int64)
                        return none, none, none, none, NONE
                    after = int(place + table.target[move])
                    total = d + cost
                    pushes = table.pushes[move]
                    length = pushes + 1 - table.pops[move]
                    for position in range(length):  # a path to q through middle nodes
                        left = pushes - 1 - position
                        read = int(table.push[move, left] if left >= 0 else g)
                        if position == length - 1:
                            new.append((after, read, q, total))
                            continue
                        if middle[after, read] < 0:
                            middle[after, read] = made_nodes
                            made_nodes += 1
                        below = int(middle[after, read])
                        new.append((after, read, below, 0))
                        after = below
                    if length > 0:
                        continue
                    # The move pops g: a jump from the control after it to q, and all edges that leave q by now.
                    key = after * nodes + q
                    jump = jumps.get(key, NONE)
                    if jump >= 0 and jump_weight[jump] <= total:
                        continue
                    if jump < 0:
                        jump = len(jump_from)
                        jumps[key] = jump
                        jump_from.append(after)
                        jump_weight.append(total)
                        next_landing.append(landing[q])
                        landing[q] = jump
                    jump_weight[jump] = total
                    edge = leaving[q]
                    while edge >= 0:
                        new.append((after, symbol[edge], target[edge], total + weight[edge]))
                        edge = next_leaving[edge]
        now = new
    found = np.array(source)[1:], np.array(symbol)[1:], np.array(target)[1:]
    return found[0], found[1], found[2], np.array(weight)[1:], len(source) - 1
