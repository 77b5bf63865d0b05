"""The product as a graph, in Numba: its components, sinks first."""

from __future__ import annotations

import numpy as np
from numba import njit

from pdrm.machines.tables import Integers
from pdrm.product.finite_kernel import END


@njit(cache=True)
def find_components(successors: Integers) -> tuple[Integers, Integers]:
    """Tarjan's strongly connected components of the graph [x, action, outcome] -> x or END.

    Returns the states in an order in which each component is a run of neighbours, by their numbers, and comes after all it
    leads to, and where each run begins (with the end of the last).
    """
    count = len(successors)
    edges = successors.shape[1] * successors.shape[2]
    following = successors.reshape(count, edges)
    index, low = np.zeros(count, np.int32), np.zeros(count, np.int32)
    """[x]: when it was first visited (0: not yet, -1: its component is complete), and the earliest state it leads back to."""
    waiting, path, at = (
        np.empty(count, np.int32),
        np.empty(count, np.int32),
        np.zeros(count, np.int32),
    )
    """Visited states whose component is not complete; the path of the search; [x]: the edge to follow next."""
    order, first = np.empty(count, np.int32), np.empty(count + 1, np.int32)
    waits, done, found, number = 0, 0, 0, 0
    first[0] = 0
    # Phase 1: a depth-first search, written as a loop; components are complete in the order sinks first.
    for root in range(count):
        if index[root] != 0:
            continue
        depth = 0
        path[0] = root
        number += 1
        index[root] = low[root] = number
        waiting[waits] = root
        waits += 1
        while depth >= 0:
            x = path[depth]
            if at[x] < edges:
                y = following[x, at[x]]
                at[x] += 1
                if y == END:
                    continue
                if index[y] == 0:
                    number += 1
                    index[y] = low[y] = number
                    waiting[waits] = y
                    waits += 1
                    depth += 1
                    path[depth] = y
                elif index[y] > 0:
                    low[x] = min(low[x], index[y])
            else:
                if low[x] == index[x]:
                    while True:
                        waits -= 1
                        y = waiting[waits]
                        index[y] = -1
                        order[done] = y
                        done += 1
                        if y == x:
                            break
                    found += 1
                    first[found] = done
                depth -= 1
                if depth >= 0:
                    low[path[depth]] = min(low[path[depth]], low[x])
    # Phase 2: within each component, states in the order of their numbers.
    for number in range(found):
        for position in range(first[number], first[number + 1]):
            index[order[position]] = number
    at[:found] = first[:found]
    for x in range(count):
        number = index[x]
        order[at[number]] = x
        at[number] += 1
    return order, first[: found + 1].copy()
