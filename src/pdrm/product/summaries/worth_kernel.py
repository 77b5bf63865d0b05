"""What summaries are worth, in Numba: how far they are from a fixed point, values with any stack, and the range of all values."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from pdrm.machines.tables import Integers
from pdrm.product.summaries.heads import Heads
from pdrm.product.summaries.summary_kernel import (
    BLOCKS,
    CLOCK,
    DONE,
    ENTRIES,
    GUESS,
    LINES,
    MORE_ENTRIES,
    MORE_LEVELS,
    MORE_RECORDS,
    NONE,
    Floats,
    Numbers,
    Scale,
    Store,
    World,
    find_entry,
    trim,
    visit,
)

# --- How far one move changes the operators


@njit(cache=True)
def measure_excess(store: Store, scale: Scale, x: int, b: int, e: int, c: float, t: int) -> float:
    """How far a line to exit e rises above block b of entry x (NONE: it has none) and above its floor, at most."""
    power, floor, low, high = scale.power, store.floor[x], scale.low[e], scale.high[e]
    over_floor = c + power[t] * high - floor
    if b == NONE or store.length[b] == 0:
        return float(over_floor)
    first, n = store.start[b], store.length[b]
    i = 0
    while i < n and store.t[first + i] < t:
        i += 1
    if i < n and store.t[first + i] == t:
        return float(min(c - store.c[first + i], over_floor))
    if i == 0:
        return float(
            min(over_floor, c + power[t] * high - (store.c[first] + power[store.t[first]] * high))
        )
    last = first + i - 1
    w = store.vertex[last] if i < n else max(low, (floor - store.c[last]) / power[store.t[last]])
    return float(min(over_floor, c + power[t] * w - (store.c[last] + power[store.t[last]] * w)))


@njit(cache=True)
def clear(store: Store, lowest: float) -> None:
    """Empty entry 0, the place to work."""
    store.block[0], store.constant[0], store.floor[0], store.to[0] = NONE, lowest, lowest, GUESS
    store.changed[0] = False


@njit(cache=True)
def check(
    heads: Heads, world: World, scale: Scale, store: Store, first: int, found: Floats
) -> tuple[int, int]:
    """Measure how far one move changes the operators, from entry `first` on; how far it came, and DONE or what has no room.

    `found` takes the greatest: [0] of moves that take a step, [1] of those that take no time; [2] how far an operator leaves
    the range of values, and [3] the largest number that was met.
    """
    exits, following, starts, lengths = store.exit, store.following, store.start, store.length
    slot, stamp, states = store.slot, store.stamp, store.entry.shape[1]
    blocks, lines = store.counter[BLOCKS], store.counter[LINES]
    work = int(
        np.int64(0)
    )  # entry 0, as an integer of the width that `visit` is compiled for anyway
    for x in range(first, store.counter[ENTRIES]):
        trim(store, scale, x)
        clear(store, scale.lowest)
        status = visit(heads, world, scale, store, x, work, 0.0)
        if status != DONE:
            store.counter[BLOCKS], store.counter[LINES] = blocks, lines
            return x, status
        trim(store, scale, work)
        gap = max(0.0, store.constant[0] - store.floor[x], store.constant[x] - store.floor[0])
        highest = max(store.constant[x], store.constant[0])
        largest = max(abs(store.floor[x]), abs(store.floor[0]))
        for goal, other in ((x, 0), (0, x)):
            store.counter[CLOCK] += 1
            clock = store.counter[CLOCK]
            b = store.block[goal]
            while b != NONE:
                slot[exits[b]], stamp[exits[b]] = b, clock
                b = following[b]
            b = store.block[other]
            while b != NONE:
                e = exits[b]
                at = slot[e] if stamp[e] == clock else NONE
                for m in range(starts[b], starts[b] + lengths[b]):
                    c, t = store.c[m], store.t[m]
                    gap = max(gap, measure_excess(store, scale, goal, at, e, c, t))
                    highest = max(highest, c + scale.power[t] * scale.high[e])
                    largest = max(largest, abs(c))
                b = following[b]
        kind = 1 if heads.silent[store.state[x], store.symbol[x]] >= 0 else 0
        e = store.place[x] * states + store.state[x]
        found[kind] = max(found[kind], gap)
        found[2] = max(found[2], scale.low[e] - store.floor[x], highest - scale.high[e])
        found[3] = max(found[3], largest)
        store.counter[BLOCKS], store.counter[LINES] = blocks, lines
    return store.counter[ENTRIES], DONE


# --- Values with any stack


class Levels(NamedTuple):
    """Exits whose values are needed, level after level of a stack, from the top down."""

    first: Numbers
    """[level]: where its exits begin."""
    exit: Integers
    """[position]"""
    value: Floats
    """[position]"""


@njit(cache=True)
def evaluate(
    heads: Heads, scale: Scale, store: Store, stack: Integers, levels: Levels
) -> tuple[int, int]:
    """Find the values of the exits of level 0, which are there, with the stack's symbols (top first) below.

    DONE, MORE_ENTRIES (one is missing, which has been queued if there was room), MORE_RECORDS (for the levels) or MORE_LEVELS (more of the
    stack is needed; never where its last symbol is 0), and how many symbols were looked at: what is below them does not matter.
    """
    states, clock = store.entry.shape[1], store.counter[CLOCK]
    first, wanted, value = levels.first, levels.exit, levels.value
    slot, stamp, power = store.slot, store.stamp, scale.power
    missing, depth = False, 0
    # Down: which exits each level is asked about, until none is.
    while depth < len(stack):
        level = depth
        depth += 1
        z = stack[level]
        end = first[level + 1]
        clock += 1
        for at in range(first[level], end):
            stamp[wanted[at]] = clock
        at = first[level]
        while at < end:  # those that a stand-in leads to are added to the same level
            e = wanted[at]
            at += 1
            s, u = e // states, e % states
            if heads.stand_in[u, z] >= 0:
                x = find_entry(store, scale.lowest, s, u, heads.stand_in[u, z])
                missing = missing or x == NONE or store.waiting[x]
                b = store.block[x] if x != NONE else NONE
                while b != NONE:
                    if store.length[b] > 0 and stamp[store.exit[b]] != clock:
                        if end >= len(wanted):
                            store.counter[CLOCK] = clock
                            return MORE_RECORDS, depth
                        stamp[store.exit[b]] = clock
                        wanted[end] = store.exit[b]
                        end += 1
                    b = store.following[b]
        first[level + 1] = end
        below = end
        clock += 1
        for at in range(first[level], end):
            e = wanted[at]
            s, u = e // states, e % states
            if heads.stand_in[u, z] >= 0:
                continue
            x = find_entry(store, scale.lowest, s, u, z)
            missing = missing or x == NONE or store.waiting[x]
            b = store.block[x] if x != NONE else NONE
            while b != NONE:
                if store.length[b] > 0 and stamp[store.exit[b]] != clock:
                    if below >= len(wanted):
                        store.counter[CLOCK] = clock
                        return MORE_RECORDS, depth
                    stamp[store.exit[b]] = clock
                    wanted[below] = store.exit[b]
                    below += 1
                b = store.following[b]
        if below == end:
            break
        if level + 2 < len(first):
            first[level + 2] = below
        elif not missing:
            store.counter[CLOCK] = clock
            return MORE_LEVELS, depth
    store.counter[CLOCK] = clock
    if missing:
        return MORE_ENTRIES, depth
    # Up: their values, from those of the level below.
    for level in range(depth - 1, -1, -1):
        z = stack[level]
        if level + 1 < depth:
            for at in range(first[level + 1], first[level + 2]):
                slot[wanted[at]] = at
        for by_stand_in in (False, True):
            if by_stand_in:
                for at in range(first[level], first[level + 1]):
                    slot[wanted[at]] = at
            for at in range(first[level], first[level + 1]):
                e = wanted[at]
                s, u = e // states, e % states
                symbol = heads.stand_in[u, z] if by_stand_in else z
                if (heads.stand_in[u, z] >= 0) != by_stand_in:
                    continue
                x = store.entry[s, u, symbol]
                best = store.constant[x]
                b = store.block[x]
                while b != NONE:
                    if store.length[b] > 0:
                        w = value[slot[store.exit[b]]]
                        for m in range(store.start[b], store.start[b] + store.length[b]):
                            best = max(best, store.c[m] + power[store.t[m]] * w)
                    b = store.following[b]
                value[at] = min(max(best, scale.low[e]), scale.high[e])
    return DONE, depth


# --- Between which numbers a value is, whatever the stack


@njit(cache=True)
def bound_by_top(
    heads: Heads,
    world: World,
    discount: float,
    low: Floats,
    high: Floats,
    unknown: float,
    sweeps: int,
    close: float,
) -> int:
    """Narrow bounds [environment state, machine state, symbol] of all values, seeing the top symbol only; the sweeps it took.

    When the symbol is popped, any symbol may be revealed: the one with the least value (for `low`), or the greatest. `unknown`: what a move that is
    not known may be worth at most. `close`: end once a sweep changes less.
    """
    places, states, symbols = low.shape
    least, most = np.empty((places, states)), np.empty((places, states))
    for sweep in range(sweeps):
        for s in range(places):
            for u in range(states):
                least[s, u], most[s, u] = low[s, u, 0], high[s, u, 0]
                for z in range(1, symbols):
                    least[s, u], most[s, u] = (
                        min(least[s, u], low[s, u, z]),
                        max(most[s, u], high[s, u, z]),
                    )
        change = 0.0
        for s in range(places):
            for u in range(heads.first_final):
                for z in range(symbols):
                    silent = heads.silent[u, z]
                    below, above = -math.inf, -math.inf
                    if silent < 0 and world.terminal[s]:
                        below, above = 0.0, 0.0
                    for a in range(1 if silent >= 0 else world.next.shape[1]):
                        if silent >= 0:
                            rule, place, r, discounted = silent, s, heads.reward[silent], 1.0
                        else:
                            place = world.next[s, a]
                            if world.terminal[s]:
                                continue
                            if place < 0:
                                above = max(above, unknown)
                                continue
                            rule = heads.move[u, world.label[s, a], z]
                            if rule < 0:
                                continue
                            discounted = discount
                            r = discount * (world.reward[s, a] + heads.reward[rule])
                        state = heads.target[rule]
                        if state >= heads.first_final:
                            below, above = max(below, r), max(above, r)
                        elif heads.count[rule] == 0:
                            below = max(below, r + discounted * least[place, state])
                            above = max(above, r + discounted * most[place, state])
                        else:
                            below = max(
                                below, r + discounted * low[place, state, heads.first[rule]]
                            )
                            above = max(
                                above, r + discounted * high[place, state, heads.first[rule]]
                            )
                    if below > low[s, u, z]:
                        change = max(change, below - low[s, u, z])
                        low[s, u, z] = below
                    if above < high[s, u, z] and above > -math.inf:
                        change = max(change, high[s, u, z] - above)
                        high[s, u, z] = above
        if change <= close:
            return sweep + 1
    return sweeps
