"""Summaries in Numba: visiting the entries whose ingredients have changed, until no visit gains more than the tolerance.

An entry is an environment state, a machine state and a top symbol. Its operator is a constant and, for every exit, lines
c + γᵗ w (see `operators`), kept in blocks of one arena: sorted by t, so from steep to flat, each the highest of its block
somewhere between the least and the greatest value of w. A visit reads the operators that each action leads to, composes them, and adds
the lines that rise above what is there by more than the tolerance. Nothing that was gained is given up, so visits end.
The readable twin is `tests/properties/plain_summaries.py`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.machines.tables import Integers, Rewards
from pdrm.product.hash_kernel import FREE, Index, hash_key
from pdrm.product.summaries.heads import Flags, Heads

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

NONE = -1
"""No entry, no block, no edge; in `World.next`: a move that is not known."""
ENDS = -1
"""In `to`: the constant is what is paid until the episode ends."""
GUESS = -2
"""In `to`: the constant is the lowest value there can be."""

DONE, MORE_ENTRIES, MORE_BLOCKS, MORE_LINES, MORE_EDGES, MORE_RECORDS, MORE_LEVELS, PAUSED = range(
    8
)
"""Nothing is waiting; or there is no room for something, which the caller makes before it calls again; or enough for one call."""

ENTRIES, BLOCKS, LINES, WAITING, NEXT, CLOCK, VISITS, UNDEFINED, TRIED = range(9)
COUNTERS = 9
"""The counters in `Store.counter`."""


class World(NamedTuple):
    """A deterministic labelled MDP: S states, A actions. What is not known, a learner leaves out: `next` is NONE there."""

    next: Integers
    """[S, A]: the next state, or NONE."""
    label: Integers
    """[S, A]: the number of the label that is emitted."""
    reward: Rewards
    """[S, A]: the environment's own reward."""
    terminal: Flags
    """[S]: whether the environment ends there."""


class Scale(NamedTuple):
    """Powers of the discount, and between which numbers the values of what lies below a symbol can be."""

    power: Floats
    """[t]: the discount to the t. From the last on they do not matter, and lines as long as that count as constants."""
    low: Floats
    """[exit]: the least value with any stack. An exit is environment state * machine states + machine state."""
    high: Floats
    """[exit]: the greatest."""
    lowest: float
    """No value is less."""
    tolerance: float
    """Gains up to this are let go."""
    silent_tolerance: float
    """The same for moves that take no time, which follow each other undiscounted."""


class Store(NamedTuple):
    """The operators found so far. `counter` says how far the arrays are in use; entry 0 is a place to work."""

    entry: Integers
    """[environment state, machine state, symbol]: the number of the entry, or NONE."""
    place: Integers
    """[entry]: the environment state."""
    state: Integers
    """[entry]: the machine state."""
    symbol: Integers
    """[entry]: the top symbol."""
    constant: Floats
    """[entry]: what can be had without ever popping the symbol."""
    to: Integers
    """[entry]: the constant is `gain` and then, after `time` steps, the constant of this entry; or ENDS, or GUESS."""
    gain: Floats
    time: Integers
    floor: Floats
    """[entry]: the operator is at least this, whatever lies below."""
    block: Integers
    """[entry]: its first block, or NONE."""
    waiting: Flags
    """[entry]: whether it is in the queue."""
    changed: Flags
    """[entry]: whether those that read it have not been told yet of a change."""
    reader: Integers
    """[entry]: the first edge to an entry that reads it, or NONE."""
    queue: Integers
    """[entries]: a ring of entries to visit, from counter NEXT on."""
    exit: Integers
    """[block]: the exit that its lines lead to."""
    following: Integers
    """[block]: the entry's next block, or NONE."""
    start: Numbers
    """[block]: where its lines begin."""
    length: Integers
    """[block]: how many they are."""
    room: Integers
    """[block]: how many there is room for."""
    c: Floats
    """[line]"""
    t: Integers
    """[line]"""
    vertex: Floats
    """[line]: the w at which the next line of the block becomes the higher one, going down."""
    edges: Index
    """Edges by (entry read, entry that reads it)."""
    dependent: Integers
    """[edge]: the entry that reads."""
    further: Integers
    """[edge]: the next edge of the entry read, or NONE."""
    slot: Integers
    """[exit]: the block of the entry that is visited."""
    stamp: Numbers
    """[exit]: the visit that `slot` is of."""
    record: Numbers
    """[record, 4]: lines that a visit found: where they begin, how many (0: one with c = 0, t = 0), exit, steps before and after."""
    paid: Floats
    """[record, 3]: what is paid before the lines, the discount before them, what is paid after them."""
    own_c: Floats
    """[own line]: lines of the visited entry itself, as they were."""
    own_t: Integers
    node: Numbers
    """[node, 3]: exits still to go on from: the exit, how many symbols of the rule are gone, steps."""
    node_paid: Floats
    """[node]"""
    counter: Numbers


@njit(cache=True)
def find_entry(store: Store, lowest: float, s: int, u: int, z: int) -> int:
    """The number of an entry, made and queued if it is new; NONE where there is no room."""
    x = store.entry[s, u, z]
    if x == NONE:
        counter = store.counter
        x = np.int32(counter[ENTRIES])
        if x >= len(store.place):
            return NONE
        counter[ENTRIES] += 1
        store.entry[s, u, z] = x
        store.place[x], store.state[x], store.symbol[x] = s, u, z
        store.constant[x], store.floor[x], store.to[x] = lowest, lowest, GUESS
        store.block[x], store.reader[x] = NONE, NONE
        store.changed[x], store.waiting[x] = False, True
        store.queue[(counter[NEXT] + counter[WAITING]) % len(store.queue)] = x
        counter[WAITING] += 1
    return int(x)


@njit(cache=True, inline="always")
def is_reader(slot: Integers, keys: Numbers, y: int, x: int) -> bool:
    """Whether it is noted that entry x reads entry y."""
    key = (y << 32) | x
    mask = len(slot) - 1
    probe = hash_key(key) & mask
    while slot[probe] >= 0 and keys[slot[probe]] != key:
        probe = (probe + 1) & mask
    return bool(slot[probe] >= 0)


@njit(cache=True)
def add_reader(store: Store, y: int, x: int) -> bool:
    """Note that entry x reads entry y; False where there is no room."""
    slot, keys, used = store.edges
    key = (y << 32) | x
    mask = len(slot) - 1
    probe = hash_key(key) & mask
    while slot[probe] >= 0 and keys[slot[probe]] != key:
        probe = (probe + 1) & mask
    if slot[probe] == FREE:
        edge = used[0]
        if edge >= len(keys):
            return False
        slot[probe], keys[edge], used[0] = edge, key, edge + 1
        store.dependent[edge], store.further[edge] = x, store.reader[y]
        store.reader[y] = edge
    return True


@njit(cache=True)
def enqueue(store: Store, x: int) -> None:
    """Have an entry visited, if it is not waiting already."""
    if not store.waiting[x]:
        store.waiting[x] = True
        counter = store.counter
        store.queue[(counter[NEXT] + counter[WAITING]) % len(store.queue)] = x
        counter[WAITING] += 1


@njit(cache=True)
def tell_readers(store: Store, x: int) -> None:
    """Have every entry visited that reads this one."""
    edge = store.reader[x]
    while edge != NONE:
        enqueue(store, store.dependent[edge])
        edge = store.further[edge]


@njit(cache=True)
def trim(store: Store, scale: Scale, x: int) -> None:
    """Drop lines that do not reach the floor of their entry; the one that made it stays, however flat it is."""
    floor, power = store.floor[x], scale.power
    b = store.block[x]
    while b != NONE:
        first, n = store.start[b], store.length[b]
        while n > 0:
            last = first + n - 1
            top = scale.high[store.exit[b]] if n == 1 else store.vertex[last - 1]
            if store.c[last] + power[store.t[last]] * top >= floor:
                break
            n -= 1
        store.length[b] = n
        b = store.following[b]


@njit(cache=True)
def insert(store: Store, scale: Scale, x: int, b: int, c: float, t: int) -> bool:
    """Put a line that rises above a block into it and drop those that no longer do; False where there is no room."""
    power, floor = scale.power, store.floor[x]
    low, high = scale.low[store.exit[b]], scale.high[store.exit[b]]
    first, n = store.start[b], store.length[b]
    i = 0
    while i < n and store.t[first + i] < t:
        i += 1
    # Flatter lines, from position j on, are kept.
    j = i
    if j < n and store.t[first + j] == t:
        j += 1
    while j < n:
        one = first + j
        cross = (store.c[one] - c) / (power[t] - power[store.t[one]])
        end = (
            store.vertex[one]
            if j < n - 1
            else max(low, (floor - store.c[one]) / power[store.t[one]])
        )
        if cross > end:
            break
        j += 1
    # Steeper ones, up to position k.
    k = i - 1
    while k >= 0:
        one = first + k
        cross = (c - store.c[one]) / (power[store.t[one]] - power[t])
        if cross < (high if k == 0 else store.vertex[one - 1]):
            break
        k -= 1
    kept = n - j
    new = k + 2 + kept
    if new > store.room[b]:
        counter = store.counter
        room = max(4, 2 * new)
        begin = counter[LINES]
        if begin + room > len(store.c):
            return False
        counter[LINES] += room
        for m in range(k + 1):
            store.c[begin + m], store.t[begin + m] = store.c[first + m], store.t[first + m]
            store.vertex[begin + m] = store.vertex[first + m]
        for m in range(kept):
            store.c[begin + k + 2 + m], store.t[begin + k + 2 + m] = (
                store.c[first + j + m],
                store.t[first + j + m],
            )
            store.vertex[begin + k + 2 + m] = store.vertex[first + j + m]
        store.start[b], store.room[b] = begin, room
        first = begin
    elif k + 2 > j:
        for m in range(kept - 1, -1, -1):
            store.c[first + k + 2 + m], store.t[first + k + 2 + m] = (
                store.c[first + j + m],
                store.t[first + j + m],
            )
            store.vertex[first + k + 2 + m] = store.vertex[first + j + m]
    elif k + 2 < j:
        for m in range(kept):
            store.c[first + k + 2 + m], store.t[first + k + 2 + m] = (
                store.c[first + j + m],
                store.t[first + j + m],
            )
            store.vertex[first + k + 2 + m] = store.vertex[first + j + m]
    here = first + k + 1
    store.c[here], store.t[here] = c, t
    if k >= 0:
        store.vertex[here - 1] = (c - store.c[here - 1]) / (power[store.t[here - 1]] - power[t])
    if kept > 0:
        store.vertex[here] = (store.c[here + 1] - c) / (power[t] - power[store.t[here + 1]])
    store.length[b] = new
    return True


@njit(cache=True)
def visit(
    heads: Heads, world: World, scale: Scale, store: Store, x: int, goal: int, tolerance: float
) -> int:
    """Add to entry `goal` what entry x gets by one move and what is known of where it leads (goal = x, but when checking).

    First all lines are found and noted, as runs of lines of other entries with something before and after; then they are
    added.
    """
    s, u, z = store.place[x], store.state[x], store.symbol[x]
    power, lowest, latest, low, high = (
        scale.power,
        scale.lowest,
        len(scale.power) - 1,
        scale.low,
        scale.high,
    )
    enough = store.floor[goal] + tolerance
    constants, blocks, starts, lengths = store.constant, store.block, store.start, store.length
    line_c, line_t, exits, following = store.c, store.t, store.exit, store.following
    record, paid, node, node_paid = store.record, store.paid, store.node, store.node_paid
    own_c, own_t, states, entry = store.own_c, store.own_t, store.entry.shape[1], store.entry
    edge_slot, edge_key, _ = store.edges
    found, own = 0, 0
    best, best_to, best_gain, best_time = -math.inf, ENDS, 0.0, 0
    silent = heads.silent[u, z]
    branches = 1 if silent >= 0 else world.next.shape[1]
    if silent < 0 and world.terminal[s]:
        branches, best, best_gain = 0, 0.0, 0.0
    for a in range(branches):
        if silent >= 0:
            rule, place, r, d = silent, s, heads.reward[silent], 0
        else:
            place = world.next[s, a]
            if place < 0:
                continue
            rule = heads.move[u, world.label[s, a], z]
            if rule < 0:
                store.counter[UNDEFINED], store.counter[TRIED] = x, a
                continue
            r, d = power[1] * (world.reward[s, a] + heads.reward[rule]), 1
        state, count, before = heads.target[rule], heads.count[rule], power[d]
        if state >= heads.first_final or (
            count == 0 and world.terminal[place] and not heads.pending[state]
        ):
            if r > best:
                best, best_to, best_gain, best_time = r, ENDS, r, 0
            continue
        if found + 1 >= len(record):
            return MORE_RECORDS
        if count == 0:
            record[found, 0], record[found, 1], record[found, 2], record[found, 3] = (
                0,
                0,
                place * states + state,
                d,
            )
            paid[found, 0], paid[found, 1], paid[found, 2] = r, 1.0, 0.0
            found += 1
            continue
        # The operator of the new top symbol, whose lines are the runs.
        symbol, gone = heads.first[rule], 1
        if heads.stand_in[state, symbol] >= 0:
            symbol, gone = heads.stand_in[state, symbol], 0
        y = int(entry[place, state, symbol])
        if y == NONE:
            y = find_entry(store, lowest, place, state, symbol)
            if y == NONE:
                return MORE_ENTRIES
        if not is_reader(edge_slot, edge_key, y, x) and not add_reader(store, y, x):
            return MORE_EDGES
        if r + before * constants[y] > best:
            best, best_to, best_gain, best_time = r + before * constants[y], y, r, d
        b = blocks[y]
        while b != NONE:
            start, n = starts[b], lengths[b]
            top = -math.inf  # no line of the block can be worth more, whatever is below
            for m in range(start, start + n):
                top = max(top, line_c[m] + power[line_t[m]] * high[exits[b]])
            if r + before * top <= enough:
                b = following[b]
                continue
            shift = 0
            if y == x:
                if own + n > len(own_c):
                    return MORE_RECORDS
                for m in range(n):
                    own_c[own + m], own_t[own + m] = line_c[start + m], line_t[start + m]
                start, shift, own = own, 1, own + n
            run_c, run_t = (own_c, own_t) if shift else (line_c, line_t)
            # What is below it, one exit after the other.
            open_nodes = 1
            node[0, 0], node[0, 1], node[0, 2], node_paid[0] = exits[b], gone, 0, 0.0
            while open_nodes > 0:
                open_nodes -= 1
                e, level, t, c = (
                    node[open_nodes, 0],
                    node[open_nodes, 1],
                    node[open_nodes, 2],
                    node_paid[open_nodes],
                )
                place2, state2 = e // states, e % states
                if level == count:
                    if found + 1 >= len(record):
                        return MORE_RECORDS
                    record[found, 0], record[found, 1], record[found, 2] = (
                        -1 - start if shift else start,
                        n,
                        e,
                    )
                    record[found, 3] = d + t
                    paid[found, 0], paid[found, 1], paid[found, 2] = r, before, c
                    found += 1
                    continue
                symbol2 = heads.first[rule] if level == 0 else heads.second[rule]
                level2 = level + 1
                if heads.stand_in[state2, symbol2] >= 0:
                    symbol2, level2 = heads.stand_in[state2, symbol2], level
                y2 = int(entry[place2, state2, symbol2])
                if y2 == NONE:
                    y2 = find_entry(store, lowest, place2, state2, symbol2)
                    if y2 == NONE:
                        return MORE_ENTRIES
                if not is_reader(edge_slot, edge_key, y2, x) and not add_reader(store, y2, x):
                    return MORE_EDGES
                rest = c + power[t] * constants[y2]
                for m in range(n):
                    value = r + before * (run_c[start + m] + power[run_t[start + m]] * rest)
                    if value > best:
                        best, best_to, best_time = value, y2, d + run_t[start + m] + t
                        best_gain = r + before * (run_c[start + m] + power[run_t[start + m]] * c)
                        if best_time >= latest:
                            best_to, best_gain, best_time = ENDS, value, 0
                b2 = blocks[y2]
                while b2 != NONE:
                    if open_nodes + lengths[b2] >= len(node):
                        return MORE_RECORDS
                    for k in range(starts[b2], starts[b2] + lengths[b2]):
                        rest = c + power[t] * line_c[k]
                        late = t + line_t[k] >= latest
                        end = rest + power[min(latest, t + line_t[k])] * (
                            low[exits[b2]] if late else high[exits[b2]]
                        )
                        for m in range(n):
                            value = r + before * (run_c[start + m] + power[run_t[start + m]] * end)
                            if late and value > best:
                                best, best_to, best_gain, best_time = value, ENDS, value, 0
                            if not late and value > enough:
                                node[open_nodes, 0], node[open_nodes, 1] = exits[b2], level2
                                node[open_nodes, 2], node_paid[open_nodes] = t + line_t[k], rest
                                open_nodes += 1
                                break
                    b2 = following[b2]
            b = following[b]
    # The constant, and with it the floor.
    if best > constants[goal] + tolerance:
        constants[goal], store.to[goal], store.gain[goal], store.time[goal] = (
            best,
            best_to,
            best_gain,
            best_time,
        )
        store.changed[goal] = True
        if best > store.floor[goal]:
            store.floor[goal] = best
            trim(store, scale, goal)
    # The lines.
    slot, stamp = store.slot, store.stamp
    store.counter[CLOCK] += 1
    clock = store.counter[CLOCK]
    b = blocks[goal]
    while b != NONE:
        slot[exits[b]], stamp[exits[b]] = b, clock
        b = following[b]
    floor, vertices, rose = store.floor[goal], store.vertex, False
    for number in range(found):
        start, n, e, d = record[number, 0], record[number, 1], record[number, 2], record[number, 3]
        r, before, after = paid[number, 0], paid[number, 1], paid[number, 2]
        run_c, run_t = (own_c, own_t) if start < 0 else (line_c, line_t)
        start = -1 - start if start < 0 else start
        bottom, top = low[e], high[e]
        b = slot[e] if stamp[e] == clock else NONE
        i, first, size = 0, np.int64(0), 0
        if b != NONE:
            first, size = starts[b], lengths[b]
        for m in range(max(1, n)):
            if n == 0:
                c, t = r, d
            else:
                p = power[run_t[start + m]]
                c, t = r + before * (run_c[start + m] + p * after), d + run_t[start + m]
            if t >= latest:
                if c + power[latest] * bottom > constants[goal] + tolerance:
                    constants[goal], store.to[goal], store.changed[goal] = (
                        c + power[latest] * bottom,
                        ENDS,
                        True,
                    )
                    floor = max(floor, constants[goal])
                    store.floor[goal], rose = floor, True
                continue
            slope = power[t]
            # Does it rise above what is there? Where its slope is between those of two neighbours, at their vertex if anywhere.
            highest = c + slope * top
            if highest <= floor + tolerance:
                continue
            while i < size and line_t[first + i] < t:
                i += 1
            if i < size and line_t[first + i] == t:
                excess = c - line_c[first + i]
            elif i == 0:
                excess = (
                    highest - floor
                    if size == 0
                    else highest - (line_c[first] + power[line_t[first]] * top)
                )
            else:
                last = first + i - 1
                w = (
                    vertices[last]
                    if i < size
                    else max(bottom, (floor - line_c[last]) / power[line_t[last]])
                )
                excess = c + slope * w - (line_c[last] + power[line_t[last]] * w)
            if excess <= tolerance:
                continue
            if b == NONE:
                b = store.counter[BLOCKS]
                if b >= len(exits):
                    return MORE_BLOCKS
                store.counter[BLOCKS] += 1
                exits[b], following[b], starts[b], lengths[b], store.room[b] = (
                    e,
                    blocks[goal],
                    0,
                    0,
                    0,
                )
                blocks[goal] = b
                slot[e], stamp[e] = b, clock
            if not insert(store, scale, goal, b, c, t):
                return MORE_LINES
            store.changed[goal] = True
            if c + slope * bottom > floor:
                floor = c + slope * bottom
                store.floor[goal] = floor
                rose = True
            i, first, size = 0, starts[b], lengths[b]
    if rose:
        trim(store, scale, goal)
    return DONE


@njit(cache=True)
def close_loops(store: Store, scale: Scale) -> None:
    """Raise constants that lead back to themselves to what going round for ever is worth."""
    power, count = scale.power, store.counter[ENTRIES]
    seen = np.zeros(count, np.int32)
    for begin in range(1, count):
        x = begin
        while x >= 0 and seen[x] == 0 and store.to[x] != GUESS:
            seen[x] = begin
            x = store.to[x]
        if x < 0 or seen[x] != begin or store.to[x] == GUESS:
            continue
        total, time, y = 0.0, 0, x  # x is on a loop that was found from `begin`
        while True:
            total += (power[time] if time < len(power) else 0.0) * store.gain[y]
            time += store.time[y]
            y = store.to[y]
            if y == x:
                break
        if time == 0:
            continue
        value = total / (1.0 - (power[time] if time < len(power) else 0.0))
        if value <= store.constant[x] + 0.01 * scale.silent_tolerance:
            continue
        # The values of the others on the loop follow, from the last back to the first.
        order = [x]
        y = store.to[x]
        while y != x:
            order.append(y)
            y = store.to[y]
        for m in range(len(order) - 1, -1, -1):
            y = order[m]
            value = store.gain[y] + power[store.time[y]] * value
            if value > store.constant[y]:
                store.constant[y] = value
                if value > store.floor[y]:
                    store.floor[y] = value
                    trim(store, scale, y)
                tell_readers(store, y)
                enqueue(store, y)


@njit(cache=True)
def settle(heads: Heads, world: World, scale: Scale, store: Store, budget: int) -> int:
    """Visit what is waiting until nothing is, or for so many visits."""
    counter, queue = store.counter, store.queue
    next_loops = counter[VISITS] + counter[ENTRIES]
    for _ in range(budget):
        if counter[WAITING] == 0 or counter[VISITS] >= next_loops:
            close_loops(store, scale)
            next_loops = counter[VISITS] + counter[ENTRIES]
            if counter[WAITING] == 0:
                return DONE
        x = int(
            np.int64(queue[counter[NEXT]])
        )  # of one width wherever `visit` is called, which is compiled once for each
        tolerance = (
            scale.silent_tolerance
            if heads.silent[store.state[x], store.symbol[x]] >= 0
            else scale.tolerance
        )
        status = visit(heads, world, scale, store, x, x, tolerance)
        if status != DONE:
            return status
        counter[NEXT] = (counter[NEXT] + 1) % len(queue)
        counter[WAITING] -= 1
        counter[VISITS] += 1
        store.waiting[x] = False
        if store.changed[x]:
            store.changed[x] = False
            tell_readers(store, x)
    return PAUSED


@njit(cache=True)
def compact(store: Store, c: Floats, t: Integers, vertex: Floats) -> int:
    """Copy the lines that are in use, block by block, into these arrays; how many."""
    used = 0
    for b in range(store.counter[BLOCKS]):
        start, n = store.start[b], store.length[b]
        for m in range(n):
            c[used + m], t[used + m], vertex[used + m] = (
                store.c[start + m],
                store.t[start + m],
                store.vertex[start + m],
            )
        store.start[b], store.room[b] = used, n
        used += n
    return used
