"""Operators of stack symbols in Numba (`whole_stack` has the theory).

A *head* is an environment state, a machine state and the symbol on top; an *exit* the two states in
which a symbol has just been popped. Both are numbers: an exit is `env_state * states + state`, a head
`exit * symbols + symbol`. A line c + γᵗ w(exit) is the tuple (exit, t, c).

A visit to a head composes the operators that its moves lead to, and adds lines and constants that
gain more than the tolerance. Nothing that was gained is given up, so visits end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.machines.tables import Integers, Rewards, Table

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Line = tuple[int, int, float]
Lines = list[Line]

NONE = -1
"""No head; in `World.next`: a move that is not known."""

MET, SEEN, CLOCK, AT, UNDEFINED, TRIED, LINES, READS, WANTED = range(9)
"""In `Operators.counter`: heads met and visited once, time, position of a sweep, the head and action
of an undefined move, rows of lines and reads that are used, and more that were wanted."""
COUNTERS = 9

BEST, TO, GAIN, WEIGHT, FLOOR = range(5)


class World(NamedTuple):
    """A deterministic labelled MDP of S states and A actions, as far as it is known."""

    next: Integers
    """[S, A]: the next state, or NONE."""
    label: Integers
    """[S, A]: the number of the label that is emitted."""
    reward: Rewards
    """[S, A]: the environment's own reward."""
    terminal: Flags
    """[S]: True if the environment ends there."""


class Ranges(NamedTuple):
    """Bounds of the continuation value of what lies below a symbol, and the tolerances."""

    low: Floats
    """[exit]: the least, whatever lies below."""
    high: Floats
    """[exit]: the greatest."""
    power: Floats
    """[t]: the discount to the t. The last is negligible: longer lines count as constants."""
    tolerance: float
    """Gains up to this are dropped."""
    silent_tolerance: float
    """The same at heads with a silent move, which are followed without discount."""


class Operators(NamedTuple):
    """The operators found so far."""

    order: Numbers
    """[position]: the heads in the order in which they were met."""
    first: Numbers
    """[head]: the first of its lines."""
    lines: Numbers
    """[head]: the number of its lines."""
    exit: Numbers
    """[line]"""
    t: Numbers
    """[line]"""
    c: Floats
    """[line]"""
    first_read: Numbers
    """[head]: the first of the heads that it depends on."""
    reads: Numbers
    """[head]: the number of these."""
    read: Numbers
    """[read]: the head."""
    noted: Numbers
    """[head]: the time of the last visit that read it."""
    constant: Floats
    """[head]: a value that can be had without ever popping the symbol, or the least there is; NaN if it was not met."""
    leads_to: Numbers
    """[head]: the constant is `gain` plus `weight` times the constant of this head; or NONE."""
    gain: Floats
    weight: Floats
    visited: Numbers
    """[head]: the time of its last visit, or 0."""
    changed: Numbers
    """[head]: the time of its last change."""
    newest: Integers
    """[exit]: NONE (see `merge`)."""
    counter: Numbers


@njit(cache=True)
def no_lines() -> Lines:
    """An empty list (a comprehension over nothing is compiled wrongly)."""
    number = int(np.int64(0))
    return [(number, number, 0.0)][:0]


def no_operators(exits: int, symbols: int) -> Operators:
    """No operator yet."""
    heads = exits * symbols
    constant, gain, weight = np.full(heads, math.nan), np.zeros(heads), np.zeros(heads)
    order, first, lines, first_read, reads, noted, leads_to, visited, changed = np.zeros(
        (9, heads), np.int64
    )
    nothing, counter = np.zeros(0, np.int64), np.zeros(COUNTERS, np.int64)
    counter[UNDEFINED] = NONE
    return Operators(
        order, first, lines, nothing, nothing, np.zeros(0), first_read, reads, nothing, noted,
        constant, leads_to, gain, weight, visited, changed,
        np.full(exits, NONE, np.int32), counter,
    )  # fmt: skip


@njit(cache=True)
def meet(ranges: Ranges, operators: Operators, head: int, symbols: int) -> None:
    """Make a head known, with the least constant."""
    if math.isnan(operators.constant[head]):
        operators.order[operators.counter[MET]] = head
        operators.counter[MET] += 1
        least = ranges.low[head // symbols]
        operators.constant[head] = least
        operators.gain[head] = least
        operators.leads_to[head] = NONE


# --- Visits


@njit(cache=True)
def consider(found: Floats, value: float, head: int, gain: float, weight: float) -> None:
    """Note a constant, if it is the best so far."""
    if value > found[BEST]:
        found[BEST] = value
        found[TO] = head
        found[GAIN] = gain
        found[WEIGHT] = weight


# Arrays are taken out of their tuples before loops: a call with a tuple counts references to each.


@njit(cache=True)
def rises(
    lines: Lines, before: Integers, newest: int, at: int, line: Line, floor: float,
    low: Floats, high: Floats, power: Floats,
) -> bool:  # fmt: skip
    """Return True if for some w a line is above the floor and all lines to its exit but number `at`.

    These are number `newest`, the one `before` it, and so on.
    """
    e, t, c = line
    least = max(low[e], (floor - c) / power[t])
    most = high[e]
    number = newest
    while number != NONE:
        _, u, d = lines[number]
        if number != at:
            if t == u and c <= d:
                return False
            if t < u:
                least = max(least, (d - c) / (power[t] - power[u]))
            elif t > u:
                most = min(most, (c - d) / (power[u] - power[t]))
        number = before[number]
    return bool(least < most)


@njit(cache=True)
def merge(
    old: int, lines: Lines, tolerance: float, found: Floats, ranges: Ranges, newest: Integers
) -> tuple[Lines, bool]:
    """Return the lines that rise above the floor and all others.

    All but the first `old` must rise by more than the tolerance; also returns True if one does.
    `newest` is NONE for every exit, before and after.
    """
    low, high, power = ranges.low, ranges.high, ranges.power
    before = np.full(len(lines), NONE, np.int32)
    kept = np.zeros(len(lines), np.bool_)
    rose = False
    for number in range(len(lines)):
        e, t, c = lines[number]
        asked = (e, t, c - tolerance) if number >= old else (e, t, c)
        if not rises(lines, before, newest[e], NONE, asked, found[FLOOR], low, high, power):
            continue
        kept[number] = True
        rose = rose or number >= old
        found[FLOOR] = max(found[FLOOR], c + power[t] * low[e])
        at = newest[e]
        before[number], newest[e] = at, number
        after = number
        while at != NONE:
            kept[at] = rises(lines, before, number, at, lines[at], found[FLOOR], low, high, power)
            if kept[at]:
                after = at
            else:
                before[after] = before[at]
            at = before[at]
    left = no_lines()
    for number in range(len(lines)):
        newest[lines[number][0]] = NONE
        if kept[number]:
            left.append(lines[number])
    return left, rose


@njit(cache=True)
def add_line(
    lines: Lines, e: int, t: int, c: float, tolerance: float, found: Floats,
    low: Floats, high: Floats, power: Floats,
) -> None:  # fmt: skip
    """List a line if it may rise above the floor; a long one counts as a constant."""
    latest = len(power) - 1
    if t >= latest:
        least = c + power[latest] * low[e]
        consider(found, least, NONE, least, 0.0)
    elif c + power[t] * high[e] > found[FLOOR] + tolerance:
        lines.append((e, t, c))


@njit(cache=True)
def follow(
    table: Table, ranges: Ranges, operators: Operators, symbol: int, move: int, env_state: int, paid: float,
    steps: int, tolerance: float, found: Floats, lines: Lines, reads: list[int],
) -> None:  # fmt: skip
    """List the lines (exit, t, c) of a move that replaces `symbol`, and consider its constants."""
    states, symbols = table.silent.shape
    low, high, power = ranges.low, ranges.high, ranges.power
    constant, first, count = operators.constant, operators.first, operators.lines
    exits, times, gains = operators.exit, operators.t, operators.c
    noted, now_is = operators.noted, operators.counter[CLOCK]
    state = table.target[move]
    if state >= table.first_final:
        consider(found, paid, NONE, paid, 0.0)
        return
    pushes = table.pushes[move]
    depth = pushes + 1 - table.pops[move]
    e = int(env_state * states + state)
    now = no_lines()  # lines through the symbols so far
    add_line(now, e, steps, paid, tolerance, found, low, high, power)
    for level in range(depth):
        top = table.push[move, pushes - 1 - level] if level < pushes else symbol
        through = no_lines()
        for e, t, gain in now:
            head = e * symbols + top
            if math.isnan(constant[head]):
                meet(ranges, operators, head, symbols)
            if noted[head] != now_is:
                noted[head] = now_is
                reads.append(head)
            consider(found, gain + power[t] * constant[head], head, gain, power[t])
            for m in range(first[head], first[head] + count[head]):
                u, later = t + times[m], gain + power[t] * gains[m]
                add_line(through, exits[m], u, later, tolerance, found, low, high, power)
        if 0 < level < depth - 1:
            through, _ = merge(0, through, 0.0, found, ranges, operators.newest)
        now = through
    lines.extend(now)


@njit(cache=True)
def visit(world: World, table: Table, ranges: Ranges, operators: Operators, head: int) -> bool:
    """Improve the operator of a head by one move; return False if there is no room for what is found."""
    states, symbols = table.silent.shape
    symbol = head % symbols
    env_state = head // symbols // states
    state = head // symbols % states
    low, power = ranges.low, ranges.power
    exits, times, gains, counter = operators.exit, operators.t, operators.c, operators.counter
    counter[CLOCK] += 1
    operators.visited[head] = counter[CLOCK]
    constant, first, count = operators.constant[head], operators.first[head], operators.lines[head]
    found = np.array([-math.inf, 0.0, 0.0, 0.0, constant])
    lines, reads = no_lines(), [head][:0]
    for m in range(first, first + count):
        lines.append((exits[m], times[m], gains[m]))
        found[FLOOR] = max(found[FLOOR], gains[m] + power[times[m]] * low[exits[m]])
    silent = table.silent[state, symbol]
    tolerance = ranges.tolerance
    if silent >= 0:
        tolerance = ranges.silent_tolerance
        paid = table.reward[silent]
        follow(
            table,
            ranges,
            operators,
            symbol,
            silent,
            env_state,
            paid,
            0,
            tolerance,
            found,
            lines,
            reads,
        )
    elif world.terminal[env_state]:
        consider(found, 0.0, NONE, 0.0, 0.0)
    else:
        for action in range(world.next.shape[1]):
            after = world.next[env_state, action]
            if after == NONE:
                continue
            move = table.move[state, world.label[env_state, action], symbol]
            if move < 0:
                counter[UNDEFINED] = head
                counter[TRIED] = action
                continue
            paid = power[1] * (world.reward[env_state, action] + table.reward[move])
            follow(
                table,
                ranges,
                operators,
                symbol,
                move,
                after,
                paid,
                1,
                tolerance,
                found,
                lines,
                reads,
            )
    better = found[BEST] > constant + tolerance
    if better:
        found[FLOOR] = max(found[FLOOR], found[BEST])
    kept, rose = merge(count, lines, tolerance, found, ranges, operators.newest)
    read = counter[READS] if len(reads) > operators.reads[head] else operators.first_read[head]
    line = counter[LINES] if len(kept) > count else first
    if read + len(reads) > len(operators.read) or line + len(kept) > len(gains):
        counter[WANTED] = len(reads) + len(kept)
        operators.visited[head] = 0
        return False
    counter[READS] = max(counter[READS], read + len(reads))
    operators.first_read[head], operators.reads[head] = read, len(reads)
    heads = operators.read
    for m in range(len(reads)):
        heads[read + m] = reads[m]
    if rose or better:
        counter[LINES] = max(counter[LINES], line + len(kept))
        operators.first[head], operators.lines[head] = line, len(kept)
        for m in range(len(kept)):
            exits[line + m], times[line + m], gains[line + m] = kept[m]
        counter[CLOCK] += 1
        operators.changed[head] = counter[CLOCK]
    if better:
        operators.constant[head] = found[BEST]
        operators.leads_to[head] = int(found[TO])
        operators.gain[head] = found[GAIN]
        operators.weight[head] = found[WEIGHT]
    return True


@njit(cache=True)
def sweep(world: World, table: Table, ranges: Ranges, operators: Operators, most: int) -> int:
    """Visit heads that are new, then those that are stale, the newest first: so goals come first.

    Returns the number of visits, at most `most`. Position AT says where to continue, WANTED whether
    room for lines ran out.
    """
    counter, order = operators.counter, operators.order
    visited, changed = operators.visited, operators.changed
    first, reads, read = operators.first_read, operators.reads, operators.read
    for number in range(most):
        if counter[SEEN] < counter[MET]:
            counter[SEEN] += 1
            counter[AT] = counter[SEEN]
        stale = False
        while counter[AT] > 0 and not stale:
            counter[AT] -= 1
            head = order[counter[AT]]
            stale = visited[head] == 0
            for m in range(first[head], first[head] + reads[head]):
                stale |= changed[read[m]] > visited[head]
        if not stale:
            return number
        if not visit(world, table, ranges, operators, head):
            return number + 1
    return most


# --- Values


@njit(cache=True)
def evaluate(table: Table, ranges: Ranges, operators: Operators, e: int, stack: Integers) -> float:
    """Return the continuation value with a stack (top first, 0 at its end), or NaN.

    NaN says that a head was met for the first time: once it is settled, ask again.
    """
    symbols = table.silent.shape[1]
    wanted = [int(e)]
    """The exits that each level is asked about, one level after the other."""
    first = [0]
    for symbol in stack:
        end = len(wanted)
        known = {NONE}
        for at in range(first[-1], end):
            head = wanted[at] * symbols + symbol
            meet(ranges, operators, head, symbols)
            for line in range(operators.first[head], operators.first[head] + operators.lines[head]):
                after = int(operators.exit[line])
                if after not in known:
                    known.add(after)
                    wanted.append(after)
        first.append(end)
        if len(wanted) == end:
            break
    if operators.counter[SEEN] < operators.counter[MET]:
        return math.nan
    below = {NONE: 0.0}
    for level in range(len(first) - 2, -1, -1):
        values = {NONE: 0.0}
        for at in range(first[level], first[level + 1]):
            head = wanted[at] * symbols + stack[level]
            best = operators.constant[head]
            for line in range(operators.first[head], operators.first[head] + operators.lines[head]):
                later = ranges.power[operators.t[line]] * below[int(operators.exit[line])]
                best = max(best, operators.c[line] + later)
            values[wanted[at]] = best
        below = values
    return below[e]


@njit(cache=True)
def evaluate_actions(
    world: World, table: Table, ranges: Ranges, operators: Operators,
    env_state: int, state: int, stack: Integers, values: Floats,
) -> bool:  # fmt: skip
    """Fill [action] with the value of each, NaN if it is unknown or undefined; False: ask again."""
    states = table.silent.shape[0]
    known = True
    for action in range(len(values)):
        values[action] = math.nan
        after = world.next[env_state, action]
        move = table.move[state, world.label[env_state, action], stack[0]]
        if after == NONE or move < 0:
            continue
        values[action] = world.reward[env_state, action] + table.reward[move]
        if table.target[move] < table.first_final:
            pushed = table.push[move, : table.pushes[move]][::-1]
            symbols = np.concatenate((pushed, stack[table.pops[move] :]))
            e = after * states + table.target[move]
            values[action] += evaluate(table, ranges, operators, e, symbols)
            known = known and not math.isnan(values[action])
    return known
