"""Operators of stack symbols in Numba (`whole_stack` has the theory).

A *head* is an environment state, a machine state and the symbol on top; an *exit* the two states in
which a symbol has just been popped. Both are numbers: an exit is `place * states + state`, a head
`exit * symbols + symbol`. A line c + γᵗ w(exit) is its key, `exit << 32 | t`, and c. The lines of a
head are sorted by key, so those of one exit lie together, from steep to flat, each the highest
somewhere between the least and the greatest w.

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

NONE = -1
"""No head; in `World.next`: a move that is not known."""
FULL = -2
"""Room for lines has run out."""

SHIFT, STEPS = 32, 2**32 - 1
"""A key is `exit << SHIFT | t`, and `key & STEPS` is t."""

DONE, PAUSED, MORE_ROOM = range(3)
"""A sweep is over, is to be continued, or has no room in the arrays that hold lines."""

MET, VISITED, LINES, READS, NOTED, CLOCK, AT, VISITS, UNDEFINED, TRIED = range(10)
"""In `Operators.counter`: heads met and visited once, lines and reads in use, heads that the current
visit has read, time, position of a sweep, visits, and the head and action of an undefined move."""
COUNTERS = 10

FIRST, COUNT, ROOM = range(3)
BEST, TO, GAIN, WEIGHT, FLOOR, ROSE = range(6)


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
    """The operators found so far; `counter` says how far the arrays are in use."""

    met: Flags
    """[head]: True if it was met."""
    order: Integers
    """[position]: the heads in the order in which they were met."""
    constant: Floats
    """[head]: a value that can be had without ever popping the symbol, or the least there is."""
    leads_to: Integers
    """[head]: the constant is `gain` plus `weight` times the constant of this head; or NONE."""
    gain: Floats
    weight: Floats
    floor: Floats
    """[head]: the operator is at least this, whatever lies below."""
    lines: Numbers
    """[head, (FIRST, COUNT, ROOM)]: the place of its lines in `key` and `c`."""
    key: Numbers
    """[line]: `exit << SHIFT | t`."""
    c: Floats
    """[line]"""
    reads: Numbers
    """[head, (FIRST, COUNT, ROOM)]: the place in `read` of the heads that it depends on."""
    read: Integers
    visited: Numbers
    """[head]: the time of its last visit, or 0."""
    changed: Numbers
    """[head]: the time of its last change."""
    noted: Numbers
    """[head]: the time of the last visit that read it."""
    work_key: Numbers
    """[2, line]: lines through some of the symbols that a move pushes."""
    work_c: Floats
    stamp: Numbers
    """[exit]: the time at which an evaluation last needed it."""
    slot: Integers
    """[exit]: its position in this evaluation."""
    counter: Numbers


@njit(cache=True)
def meet(ranges: Ranges, operators: Operators, head: int, symbols: int) -> None:
    """Make a head known, with the least constant."""
    if not operators.met[head]:
        operators.met[head] = True
        operators.order[operators.counter[MET]] = head
        operators.counter[MET] += 1
        least = ranges.low[head // symbols]
        operators.constant[head] = least
        operators.floor[head] = least
        operators.gain[head] = least
        operators.leads_to[head] = NONE


# --- The lines of one head


@njit(cache=True, inline="always")
def meeting(power: Floats, key: Numbers, c: Floats, one: int, other: int) -> float:
    """Return the w at which two lines to one exit are equal, the steeper first."""
    slopes = power[key[one] & STEPS] - power[key[other] & STEPS]
    return float((c[other] - c[one]) / slopes)


@njit(cache=True)
def rise(
    key: Numbers, c: Floats, first: int, end: int, at: int, line: int, gain: float,
    floor: float, ranges: Ranges,
) -> float:  # fmt: skip
    """Return how far a line that belongs at position `at` is above the others, at most."""
    power = ranges.power
    e = line >> SHIFT
    slope = power[line & STEPS]
    above_floor = gain + slope * ranges.high[e] - floor
    has_steeper = at > first and key[at - 1] >> SHIFT == e
    has_flatter = at < end and key[at] >> SHIFT == e
    if not has_steeper and not has_flatter:
        return float(above_floor)
    if has_flatter and key[at] == line:
        return float(min(above_floor, gain - c[at]))
    other = at - 1 if has_steeper else at
    other_slope = power[key[other] & STEPS]
    if has_steeper and has_flatter:
        w = meeting(power, key, c, at - 1, at)
    elif has_steeper:
        w = max(ranges.low[e], (floor - c[other]) / other_slope)
    else:
        w = ranges.high[e]
    return float(min(above_floor, gain + slope * w - (c[other] + other_slope * w)))


@njit(cache=True)
def offer(
    key: Numbers, c: Floats, first: int, end: int, line: int, gain: float,
    floor: float, tolerance: float, ranges: Ranges,
) -> int:  # fmt: skip
    """Add a line to those from `first` to `end` if it rises above them, and drop those it hides.

    Return the new end, NONE if it does not rise by more than the tolerance, or FULL.
    """
    power = ranges.power
    e = line >> SHIFT
    slope = power[line & STEPS]
    at = first + int(np.searchsorted(key[first:end], line))
    if rise(key, c, first, end, at, line, gain, floor, ranges) <= tolerance:
        return NONE
    right = at  # the flatter lines from here on stay
    if right < end and key[right] == line:
        right += 1
    while right < end and key[right] >> SHIFT == e:
        flat = power[key[right] & STEPS]
        least = max(ranges.low[e], (floor - c[right]) / flat)
        if right + 1 < end and key[right + 1] >> SHIFT == e:
            least = meeting(power, key, c, right, right + 1)
        if (c[right] - gain) / (slope - flat) > least:
            break
        right += 1
    left = at  # the steeper lines before this one stay
    while left > first and key[left - 1] >> SHIFT == e:
        steep = power[key[left - 1] & STEPS]
        most = ranges.high[e]
        if left - 1 > first and key[left - 2] >> SHIFT == e:
            most = meeting(power, key, c, left - 2, left - 1)
        if (gain - c[left - 1]) / (steep - slope) < most:
            break
        left -= 1
    new_end = end + 1 - (right - left)
    if new_end > len(key):
        return FULL
    key[left + 1 : new_end] = key[right:end].copy()
    c[left + 1 : new_end] = c[right:end].copy()
    key[left] = line
    c[left] = gain
    return int(new_end)


@njit(cache=True)
def drop_low(key: Numbers, c: Floats, first: int, end: int, floor: float, ranges: Ranges) -> int:
    """Drop the lines that do not reach the floor; return the new end."""
    power = ranges.power
    kept = first
    for m in range(first, end):
        e = key[m] >> SHIFT
        w = ranges.high[e]
        if m > first and key[m - 1] >> SHIFT == e:  # lines are dropped from the flat end only
            before = kept - 1
            if before < first or key[before] >> SHIFT != e:
                continue
            w = meeting(power, key, c, before, m)
        if c[m] + power[key[m] & STEPS] * w >= floor:
            key[kept] = key[m]
            c[kept] = c[m]
            kept += 1
    return kept


# --- One move


@njit(cache=True)
def consider(found: Floats, value: float, head: int, gain: float, weight: float) -> None:
    """Note a constant, if it is the best so far."""
    if value > found[BEST]:
        found[BEST] = value
        found[TO] = head
        found[GAIN] = gain
        found[WEIGHT] = weight


@njit(cache=True)
def follow(
    table: Table, ranges: Ranges, operators: Operators, symbol: int, move: int,
    place: int, paid: float, steps: int, tolerance: float, found: Floats, end: int,
) -> int:  # fmt: skip
    """Offer the constants and lines of a move that replaces `symbol`; return the new end, or FULL.

    The lines of the head begin where the lines in use end; `found` has its best constant and floor.
    """
    states, symbols = table.silent.shape
    power = ranges.power
    latest = len(power) - 1
    counter = operators.counter
    key = operators.key
    c = operators.c
    begin = counter[LINES]
    state = table.target[move]
    if state >= table.first_final:
        consider(found, paid, NONE, paid, 0.0)
        return end
    pushes = table.pushes[move]
    depth = pushes + 1 - table.pops[move]
    e = int(place * states + state)
    if depth == 0:
        return add_line(key, c, begin, end, e, steps, paid, tolerance, found, ranges)
    operators.work_key[0, 0] = e << SHIFT | steps
    operators.work_c[0, 0] = paid
    count = 1
    for level in range(depth):
        top = table.push[move, pushes - 1 - level] if level < pushes else symbol
        now_key = operators.work_key[level % 2]
        now_c = operators.work_c[level % 2]
        then_key = operators.work_key[1 - level % 2]
        then_c = operators.work_c[1 - level % 2]
        produced = 0
        for number in range(count):
            e = now_key[number] >> SHIFT
            t = now_key[number] & STEPS
            gain = now_c[number]
            if gain + power[t] * ranges.high[e] <= found[FLOOR] + tolerance:
                continue
            head = e * symbols + top
            if not operators.met[head]:
                meet(ranges, operators, head, symbols)
            if operators.noted[head] != counter[CLOCK]:
                at = counter[READS] + counter[NOTED]
                if at >= len(operators.read):
                    return FULL
                operators.noted[head] = counter[CLOCK]
                operators.read[at] = head
                counter[NOTED] += 1
            consider(found, gain + power[t] * operators.constant[head], head, gain, power[t])
            first = operators.lines[head, FIRST]
            for m in range(first, first + operators.lines[head, COUNT]):
                e = key[m] >> SHIFT
                later = t + (key[m] & STEPS)
                after = gain + power[t] * c[m]
                if later < latest:
                    most = after + power[later] * ranges.high[e]
                    if most <= found[FLOOR] + tolerance:
                        continue
                if level == depth - 1 or later >= latest:
                    end = add_line(key, c, begin, end, e, later, after, tolerance, found, ranges)
                    if end == FULL:
                        return FULL
                    continue
                line = e << SHIFT | later
                longer = offer(then_key, then_c, 0, produced, line, after, -math.inf, 0.0, ranges)
                if longer == FULL:
                    return FULL
                if longer != NONE:
                    produced = longer
        count = produced
    return end


@njit(cache=True)
def add_line(
    key: Numbers, c: Floats, first: int, end: int, e: int, t: int, gain: float,
    tolerance: float, found: Floats, ranges: Ranges,
) -> int:  # fmt: skip
    """Offer a line to the head that is visited; return the new end of its lines, or FULL."""
    power = ranges.power
    latest = len(power) - 1
    if t >= latest:
        least = gain + power[latest] * ranges.low[e]
        consider(found, least, NONE, least, 0.0)
        return end
    floor = found[FLOOR]
    if gain + power[t] * ranges.high[e] <= floor + tolerance:
        return end
    line = e << SHIFT | t
    new = offer(key, c, first, end, line, gain, floor, tolerance, ranges)
    if new == NONE:
        return end
    found[ROSE] = 1.0
    found[FLOOR] = max(floor, gain + power[t] * ranges.low[e])
    return new


# --- Visits


@njit(cache=True)
def visit(world: World, table: Table, ranges: Ranges, operators: Operators, head: int) -> bool:
    """Improve the operator of a head by one move; return False, nothing done, if room runs out."""
    states, symbols = table.silent.shape
    symbol = head % symbols
    place = head // symbols // states
    state = head // symbols % states
    counter = operators.counter
    counter[CLOCK] += 1
    counter[NOTED] = 0
    begin = counter[LINES]
    old_first = operators.lines[head, FIRST]
    old_count = operators.lines[head, COUNT]
    if begin + old_count > len(operators.key):
        return False
    for m in range(old_count):
        operators.key[begin + m] = operators.key[old_first + m]
        operators.c[begin + m] = operators.c[old_first + m]
    end = begin + old_count
    found = np.array([-math.inf, 0.0, 0.0, 0.0, operators.floor[head], 0.0])
    silent = table.silent[state, symbol]
    if silent >= 0:
        tolerance = ranges.silent_tolerance
        paid = table.reward[silent]
        end = follow(
            table, ranges, operators, symbol, silent, place, paid, 0, tolerance, found, end
        )
    else:
        tolerance = ranges.tolerance
        if world.terminal[place]:
            consider(found, 0.0, NONE, 0.0, 0.0)
        for action in range(0 if world.terminal[place] else world.next.shape[1]):
            after = int(world.next[place, action])
            if after == NONE:
                continue
            move = table.move[state, world.label[place, action], symbol]
            if move < 0:
                counter[UNDEFINED] = head
                counter[TRIED] = action
                continue
            paid = ranges.power[1] * (world.reward[place, action] + table.reward[move])
            end = follow(
                table, ranges, operators, symbol, move, after, paid, 1, tolerance, found, end
            )
            if end == FULL:
                return False
    if end == FULL:
        return False
    if counter[READS] + 2 * counter[NOTED] > len(operators.read):
        return False
    if begin + 2 * (end - begin) > len(operators.key):
        return False
    operators.visited[head] = counter[CLOCK]
    commit_reads(operators, head)
    if found[BEST] > operators.constant[head] + tolerance:
        operators.constant[head] = found[BEST]
        operators.leads_to[head] = int(found[TO])
        operators.gain[head] = found[GAIN]
        operators.weight[head] = found[WEIGHT]
        found[FLOOR] = max(found[FLOOR], found[BEST])
        found[ROSE] = 1.0
    if found[ROSE] > 0.0:
        operators.floor[head] = found[FLOOR]
        end = drop_low(operators.key, operators.c, begin, end, found[FLOOR], ranges)
        span = operators.lines[head]
        span[COUNT] = end - begin
        if span[COUNT] > span[ROOM]:
            span[FIRST] = begin
            span[ROOM] = 2 * span[COUNT]
            counter[LINES] += span[ROOM]
        else:
            for m in range(span[COUNT]):
                operators.key[span[FIRST] + m] = operators.key[begin + m]
                operators.c[span[FIRST] + m] = operators.c[begin + m]
        counter[CLOCK] += 1
        operators.changed[head] = counter[CLOCK]
    return True


@njit(cache=True)
def commit_reads(operators: Operators, head: int) -> None:
    """Keep what the current visit has read."""
    counter = operators.counter
    span = operators.reads[head]
    span[COUNT] = counter[NOTED]
    if span[COUNT] > span[ROOM]:
        span[FIRST] = counter[READS]
        span[ROOM] = 2 * span[COUNT]
        counter[READS] += span[ROOM]
    else:
        for m in range(span[COUNT]):
            operators.read[span[FIRST] + m] = operators.read[counter[READS] + m]


@njit(cache=True)
def is_stale(operators: Operators, head: int) -> bool:
    """Return True if something that a head depends on has changed since its last visit."""
    visited = operators.visited[head]
    if visited == 0:
        return True
    first = operators.reads[head, FIRST]
    for m in range(first, first + operators.reads[head, COUNT]):
        if operators.changed[operators.read[m]] > visited:
            return True
    return False


@njit(cache=True)
def sweep(world: World, table: Table, ranges: Ranges, operators: Operators, budget: int) -> int:
    """Visit all heads that are new, then all that are stale, the newest first: so goals come first."""
    counter = operators.counter
    for _ in range(budget):
        if counter[VISITED] < counter[MET]:
            head = operators.order[counter[VISITED]]
            if not visit(world, table, ranges, operators, head):
                return MORE_ROOM
            counter[VISITED] += 1
            counter[VISITS] += 1
            counter[AT] = counter[VISITED]
            continue
        while counter[AT] > 0 and not is_stale(operators, operators.order[counter[AT] - 1]):
            counter[AT] -= 1
        if counter[AT] == 0:
            counter[AT] = counter[MET]
            return DONE
        if not visit(world, table, ranges, operators, operators.order[counter[AT] - 1]):
            return MORE_ROOM
        counter[VISITS] += 1
        counter[AT] -= 1
    return PAUSED


# --- Values


@njit(cache=True)
def evaluate(table: Table, ranges: Ranges, operators: Operators, e: int, stack: Integers) -> float:
    """Return the continuation value with a stack (top first, 0 at its end), or NaN.

    NaN says that a head was met for the first time: once it is settled, ask again.
    """
    symbols = table.silent.shape[1]
    counter = operators.counter
    first = np.zeros(len(stack) + 2, np.int64)
    first[1] = 1
    wanted = np.empty(64, np.int32)
    wanted[0] = e
    depth = 0
    while first[depth + 1] > first[depth]:  # down: the exits that each level is asked about
        counter[CLOCK] += 1
        end = first[depth + 1]
        for at in range(first[depth], first[depth + 1]):
            head = wanted[at] * symbols + stack[depth]
            meet(ranges, operators, head, symbols)
            begin = operators.lines[head, FIRST]
            for m in range(begin, begin + operators.lines[head, COUNT]):
                e = operators.key[m] >> SHIFT
                if operators.stamp[e] != counter[CLOCK]:
                    operators.stamp[e] = counter[CLOCK]
                    if end == len(wanted):
                        wanted = np.concatenate((wanted, np.empty_like(wanted)))
                    wanted[end] = e
                    end += 1
        depth += 1
        first[depth + 1] = end
        if depth == len(stack):
            break
    if counter[VISITED] < counter[MET]:
        return math.nan
    value = np.empty(first[depth])
    for level in range(depth - 1, -1, -1):  # up: their values
        for at in range(first[level], first[level + 1]):
            head = wanted[at] * symbols + stack[level]
            best = operators.constant[head]
            begin = operators.lines[head, FIRST]
            for m in range(begin, begin + operators.lines[head, COUNT]):
                w = value[operators.slot[operators.key[m] >> SHIFT]]
                best = max(best, operators.c[m] + ranges.power[operators.key[m] & STEPS] * w)
            value[at] = best
        for at in range(first[level], first[level + 1]):
            operators.slot[wanted[at]] = at
    return float(value[0])


@njit(cache=True)
def evaluate_actions(
    world: World, table: Table, ranges: Ranges, operators: Operators,
    place: int, state: int, stack: Integers, values: Floats,
) -> bool:  # fmt: skip
    """Fill [action] with the value of each, NaN if it is unknown or undefined; False: ask again."""
    states = table.silent.shape[0]
    known = True
    for action in range(len(values)):
        values[action] = math.nan
        after = world.next[place, action]
        move = table.move[state, world.label[place, action], stack[0]]
        if after == NONE or move < 0:
            continue
        values[action] = world.reward[place, action] + table.reward[move]
        if table.target[move] < table.first_final:
            pushed = table.push[move, : table.pushes[move]][::-1]
            symbols = np.concatenate((pushed, stack[table.pops[move] :]))
            e = after * states + table.target[move]
            values[action] += evaluate(table, ranges, operators, e, symbols)
            known = known and not math.isnan(values[action])
    return known


# --- Bounds that see the top symbol only


@njit(cache=True)
def bound_by_top(
    world: World, table: Table, discount: float, value: Floats, upper: bool,
    unknown: float, growth: float, close: float, sweeps: int,
) -> None:  # fmt: skip
    """Narrow a bound [place, state, symbol] of all continuation values, the upper or the lower one.

    With a stack of height h it is `value + growth * h`. A pop may reveal any symbol. An action that
    is not known is worth `unknown`. It ends when a sweep changes less than `close`.
    """
    places, states, symbols = value.shape
    revealed = np.empty((places, states))
    for _ in range(sweeps):
        for place in range(places):
            for state in range(states):
                own = value[place, state]
                revealed[place, state] = own.max() if upper else own.min()
        change = 0.0
        for place in range(places):
            for state in range(table.first_final):
                for symbol in range(symbols):
                    silent = table.silent[state, symbol]
                    ended = silent < 0 and world.terminal[place]
                    best = 0.0 if ended else -math.inf
                    actions = 1 if silent >= 0 else 0 if ended else world.next.shape[1]
                    for action in range(actions):
                        after = place
                        move = silent
                        factor = 1.0
                        paid = 0.0
                        if silent < 0:
                            after = world.next[place, action]
                            if after == NONE:
                                best = max(best, unknown)
                                continue
                            move = table.move[state, world.label[place, action], symbol]
                            if move < 0:
                                continue
                            factor = discount
                            paid = world.reward[place, action]
                        target = table.target[move]
                        pushes = table.pushes[move]
                        higher = pushes - table.pops[move]
                        later = 0.0
                        if target < table.first_final:
                            later = revealed[after, target]
                            if higher >= 0:
                                top = table.push[move, pushes - 1] if pushes else symbol
                                later = value[after, target, top]
                            later += growth * higher
                        best = max(best, factor * (paid + table.reward[move]) + factor * later)
                    old = value[place, state, symbol]
                    if -math.inf < best and (best < old if upper else best > old):
                        change = max(change, abs(best - old))
                        value[place, state, symbol] = best
        if change <= close:
            return
