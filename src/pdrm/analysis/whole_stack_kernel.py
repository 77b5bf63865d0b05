"""Operators of stack symbols in Numba (`whole_stack` has the theory).

A *control state* is an environment state and a machine state. A *head* adds the symbol on top. An
*exit* is the control state in which a symbol has just been popped. All are numbers: a control state
is `env_state * states + state`, a head `control_state * symbols + symbol`.

A visit to a head composes the operators that its moves lead to. It adds the lines and constants
that raise the head's operator by more than the tolerance. Operators only rise, so visits end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from pdrm.machines.tables import Integers, Rewards, Table
from pdrm.product.finite_kernel import Flags, Floats, Numbers

Line = tuple[int, float, int]
"""The affine line c + γᵗ w(exit) as (t, c, exit)."""
Lines = list[Line]

NONE = -1
"""No head; in `World.next`: an unknown move."""

FOUND, SEEN, CLOCK, POSITION, UNDEFINED, TRIED, LINES, READS, WANTED, COUNTERS = range(10)
"""Indices of `Operators.counter`: heads found, heads visited at least once, time, position of a
sweep, head and action of an undefined move, used rows of lines and reads, and missing rows."""

VALUE, TO, GAIN, WEIGHT, FLOOR = range(5)
"""Indices of `Candidates.best`."""


class World(NamedTuple):
    """The known part of a deterministic labelled MDP with S states and A actions."""

    next: Integers
    """[S, A]: the next state, or NONE."""
    label: Integers
    """[S, A]: the number of the emitted label."""
    reward: Rewards
    """[S, A]: the environment's reward."""
    terminal: Flags
    """[S]: True if the environment ends there."""


class Ranges(NamedTuple):
    """Bounds of the continuation values below a symbol, and the tolerances."""

    low: Floats
    """[exit]: a lower bound for every stack."""
    high: Floats
    """[exit]: an upper bound for every stack."""
    power: Floats
    """[t]: γᵗ. The last is negligible: longer lines count as constants."""
    tolerance: float
    """Smaller improvements are dropped."""
    silent_tolerance: float
    """The tolerance at heads with a silent move, which is not discounted."""


class Operators(NamedTuple):
    """The operators found so far."""

    order: Numbers
    """[position]: the heads in the order in which they were found."""
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
    """[head]: the number of heads that it depends on."""
    read: Numbers
    """[read]: the head."""
    noted: Numbers
    """[head]: the time of the last visit that read it."""
    constant: Floats
    """[head]: a value reached without a pop, or the lower bound; NaN before the head is found."""
    leads_to: Numbers
    """[head]: the constant is `gain` plus `weight` times the constant of this head; or NONE."""
    gain: Floats
    weight: Floats
    visited: Numbers
    """[head]: the time of its last visit, or 0."""
    changed: Numbers
    """[head]: the time of its last change."""
    newest: Integers
    """[exit]: NONE; the work space of `merge`."""
    counter: Numbers


@njit(cache=True)
def no_lines() -> Lines:
    """An empty list (Numba compiles a comprehension over nothing wrongly)."""
    number = int(np.int64(0))
    return [(number, 0.0, number)][:0]


def no_operators(exits: int, symbols: int) -> Operators:
    """The arrays before any head is found."""
    heads = exits * symbols
    nothing = np.zeros(0, np.int64)
    counter = np.zeros(COUNTERS, np.int64)
    counter[UNDEFINED] = NONE
    of_heads = ("order", "first", "lines", "first_read", "reads", "noted", "leads_to", "visited")
    return Operators(
        **{name: np.zeros(heads, np.int64) for name in (*of_heads, "changed")},
        exit=nothing,
        t=nothing,
        c=np.zeros(0),
        read=nothing,
        constant=np.full(heads, math.nan),
        gain=np.zeros(heads),
        weight=np.zeros(heads),
        newest=np.full(exits, NONE, np.int32),
        counter=counter,
    )


@njit(cache=True)
def discover(ranges: Ranges, operators: Operators, head: int, symbols: int) -> None:
    """Add a head, unless it was found before. Its constant is the lower bound."""
    if math.isnan(operators.constant[head]):
        operators.order[operators.counter[FOUND]] = head
        operators.counter[FOUND] += 1
        low = ranges.low[head // symbols]
        operators.constant[head] = low
        operators.gain[head] = low
        operators.leads_to[head] = NONE


# --- Visits


class Candidates(NamedTuple):
    """The lines and constants that a visit to a head has found."""

    best: Floats
    """The best constant: VALUE = GAIN + WEIGHT times the constant of head TO. And FLOOR, a lower
    bound of the operator over the ranges: lines that are always below it are useless."""
    lines: Lines
    reads: list[int]
    """The heads whose operators were used."""
    tolerance: float


@njit(cache=True)
def offer_constant(best: Floats, value: float, head: int, gain: float, weight: float) -> None:
    """Store a constant if it is the best so far."""
    if value > best[VALUE]:
        best[VALUE] = value
        best[TO] = head
        best[GAIN] = gain
        best[WEIGHT] = weight


# Arrays are unpacked before loops: passing a tuple to a function counts references to each of them.


@njit(cache=True)
def rises(
    lines: Lines, before: Integers, newest: int, skipped: int, line: Line, floor: float,
    low: Floats, high: Floats, power: Floats,
) -> bool:  # fmt: skip
    """Return True if for some w a line is above the floor and above all other lines of its exit.

    Args:
        lines: All lines.
        before: [number]: the previous line of the same exit, or NONE.
        newest: The number of the last line of the exit, or NONE.
        skipped: The number of a line to ignore, or NONE.
        line: The line.
        floor: The lower bound of the operator.
        low: [exit]: the lower end of the range of w.
        high: [exit]: the upper end.
        power: [t]: γᵗ.
    """
    t, c, e = line
    least = max(low[e], (floor - c) / power[t])
    most = high[e]
    number = newest
    while number != NONE:
        u, d, _ = lines[number]
        if number != skipped:
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
    lines: Lines, old: int, tolerance: float, best: Floats, ranges: Ranges, newest: Integers
) -> tuple[Lines, bool]:
    """Keep the lines that rise above the floor and all others.

    Lines after the first `old` must rise by more than the tolerance. Also returns True if one does.
    `newest` is NONE for every exit, before and after.
    """
    low, high, power = ranges.low, ranges.high, ranges.power
    before = np.full(len(lines), NONE, np.int32)
    kept = np.zeros(len(lines), np.bool_)
    rose = False
    for number in range(len(lines)):
        t, c, e = lines[number]
        line = (t, c - tolerance, e) if number >= old else (t, c, e)
        if not rises(lines, before, newest[e], NONE, line, best[FLOOR], low, high, power):
            continue
        kept[number] = True
        rose = rose or number >= old
        best[FLOOR] = max(best[FLOOR], c + power[t] * low[e])
        other = newest[e]
        before[number], newest[e] = other, number
        after = number
        while other != NONE:
            kept[other] = rises(
                lines, before, number, other, lines[other], best[FLOOR], low, high, power
            )
            if kept[other]:
                after = other
            else:
                before[after] = before[other]
            other = before[other]
    result = no_lines()
    for number in range(len(lines)):
        newest[lines[number][2]] = NONE
        if kept[number]:
            result.append(lines[number])
    return result, rose


@njit(cache=True)
def add_line(
    lines: Lines, t: int, c: float, e: int, tolerance: float, best: Floats,
    low: Floats, high: Floats, power: Floats,
) -> None:  # fmt: skip
    """Add a line if it may rise above the floor. A line that is too long counts as a constant."""
    longest = len(power) - 1
    if t >= longest:
        least = c + power[longest] * low[e]
        offer_constant(best, least, NONE, least, 0.0)
    elif c + power[t] * high[e] > best[FLOOR] + tolerance:
        lines.append((t, c, e))


@njit(cache=True)
def follow(
    table: Table,
    ranges: Ranges,
    operators: Operators,
    candidates: Candidates,
    symbol: int,
    move: int,
    env_state: int,
    reward: float,
    steps: int,
) -> None:
    """Add the lines and constants of a move of the machine to the candidates.

    The operators of the symbols that the move pushes are composed from the top down.

    Args:
        table: The machine.
        ranges: The ranges.
        operators: The operators.
        candidates: The result, in place.
        symbol: The top symbol, which the move replaces.
        move: The move.
        env_state: The environment state after it.
        reward: The (discounted) reward of the move.
        steps: 1 if it takes a step, 0 if it is silent.
    """
    states, symbols = table.silent.shape
    best, lines, reads, tolerance = candidates
    low, high, power = ranges.low, ranges.high, ranges.power
    constant, first, count = operators.constant, operators.first, operators.lines
    exits, times, gains = operators.exit, operators.t, operators.c
    noted, time = operators.noted, operators.counter[CLOCK]
    state = table.target[move]
    if state >= table.first_final:
        offer_constant(best, reward, NONE, reward, 0.0)
        return
    pushes = table.pushes[move]
    depth = pushes + 1 - table.pops[move]
    control = int(env_state * states + state)
    current = no_lines()
    """The lines through the symbols so far."""
    add_line(current, steps, reward, control, tolerance, best, low, high, power)
    for level in range(depth):
        top = table.push[move, pushes - 1 - level] if level < pushes else symbol
        through = no_lines()
        for t, gain, e in current:
            head = e * symbols + top
            if math.isnan(constant[head]):
                discover(ranges, operators, head, symbols)
            if noted[head] != time:
                noted[head] = time
                reads.append(head)
            offer_constant(best, gain + power[t] * constant[head], head, gain, power[t])
            for m in range(first[head], first[head] + count[head]):
                c = gain + power[t] * gains[m]
                add_line(through, t + times[m], c, exits[m], tolerance, best, low, high, power)
        if 0 < level < depth - 1:
            through, _ = merge(through, 0, 0.0, best, ranges, operators.newest)
        current = through
    lines.extend(current)


@njit(cache=True)
def visit(world: World, table: Table, ranges: Ranges, operators: Operators, head: int) -> bool:
    """Improve the operator of a head by one move; return False if the arrays are full."""
    states, symbols = table.silent.shape
    symbol = head % symbols
    env_state = head // symbols // states
    state = head // symbols % states
    low, power = ranges.low, ranges.power
    exits, times, gains, counter = operators.exit, operators.t, operators.c, operators.counter
    counter[CLOCK] += 1
    operators.visited[head] = counter[CLOCK]
    constant, first, count = operators.constant[head], operators.first[head], operators.lines[head]
    best = np.array([-math.inf, 0.0, 0.0, 0.0, constant])
    lines, reads = no_lines(), [head][:0]
    for m in range(first, first + count):
        lines.append((times[m], gains[m], exits[m]))
        best[FLOOR] = max(best[FLOOR], gains[m] + power[times[m]] * low[exits[m]])
    silent = table.silent[state, symbol]
    tolerance = ranges.silent_tolerance if silent >= 0 else ranges.tolerance
    candidates = Candidates(best, lines, reads, tolerance)
    if silent >= 0:
        reward = table.reward[silent]
        follow(table, ranges, operators, candidates, symbol, silent, env_state, reward, 0)
    elif world.terminal[env_state]:
        offer_constant(best, 0.0, NONE, 0.0, 0.0)
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
            reward = power[1] * (world.reward[env_state, action] + table.reward[move])
            follow(table, ranges, operators, candidates, symbol, move, after, reward, 1)
    better = best[VALUE] > constant + tolerance
    if better:
        best[FLOOR] = max(best[FLOOR], best[VALUE])
    kept, rose = merge(lines, count, tolerance, best, ranges, operators.newest)
    # a list that has become longer moves to the end of its array
    read = counter[READS] if len(reads) > operators.reads[head] else operators.first_read[head]
    line = counter[LINES] if len(kept) > count else first
    if read + len(reads) > len(operators.read) or line + len(kept) > len(gains):
        counter[WANTED] = len(reads) + len(kept)
        operators.visited[head] = 0
        return False
    counter[READS] = max(counter[READS], read + len(reads))
    operators.first_read[head], operators.reads[head] = read, len(reads)
    for m in range(len(reads)):
        operators.read[read + m] = reads[m]
    if rose or better:
        counter[LINES] = max(counter[LINES], line + len(kept))
        operators.first[head], operators.lines[head] = line, len(kept)
        for m in range(len(kept)):
            times[line + m], gains[line + m], exits[line + m] = kept[m]
        counter[CLOCK] += 1
        operators.changed[head] = counter[CLOCK]
    if better:
        operators.constant[head] = best[VALUE]
        operators.leads_to[head] = int(best[TO])
        operators.gain[head] = best[GAIN]
        operators.weight[head] = best[WEIGHT]
    return True


@njit(cache=True)
def sweep(world: World, table: Table, ranges: Ranges, operators: Operators, max_visits: int) -> int:
    """Visit new heads, then heads that depend on changed ones, newest first: goals come first.

    Returns the number of visits. Counter POSITION is where to continue. Counter WANTED is above 0
    if room ran out.
    """
    counter, order = operators.counter, operators.order
    visited, changed = operators.visited, operators.changed
    first, reads, read = operators.first_read, operators.reads, operators.read
    for number in range(max_visits):
        if counter[SEEN] < counter[FOUND]:
            counter[SEEN] += 1
            counter[POSITION] = counter[SEEN]
        stale = False
        while counter[POSITION] > 0 and not stale:
            counter[POSITION] -= 1
            head = order[counter[POSITION]]
            stale = visited[head] == 0
            for m in range(first[head], first[head] + reads[head]):
                stale |= changed[read[m]] > visited[head]
        if not stale:
            return number
        if not visit(world, table, ranges, operators, head):
            return number + 1
    return max_visits


# --- Values


@njit(cache=True)
def evaluate(
    table: Table, ranges: Ranges, operators: Operators, control: int, stack: Integers
) -> float:
    """The continuation value with a stack (top first, with 0 as its end), or NaN.

    NaN means that a new head was found. Solve its operator and call again.
    """
    symbols = table.silent.shape[1]
    wanted = [int(control)]
    """The control states whose value is needed at each level, level by level from the top."""
    first = [0]
    for symbol in stack:
        end = len(wanted)
        known = {NONE}
        for position in range(first[-1], end):
            head = wanted[position] * symbols + symbol
            discover(ranges, operators, head, symbols)
            for line in range(operators.first[head], operators.first[head] + operators.lines[head]):
                after = int(operators.exit[line])
                if after not in known:
                    known.add(after)
                    wanted.append(after)
        first.append(end)
        if len(wanted) == end:
            break
    if operators.counter[SEEN] < operators.counter[FOUND]:
        return math.nan
    below = {NONE: 0.0}
    for level in range(len(first) - 2, -1, -1):
        values = {NONE: 0.0}
        for position in range(first[level], first[level + 1]):
            head = wanted[position] * symbols + stack[level]
            best = operators.constant[head]
            for line in range(operators.first[head], operators.first[head] + operators.lines[head]):
                later = ranges.power[operators.t[line]] * below[int(operators.exit[line])]
                best = max(best, operators.c[line] + later)
            values[wanted[position]] = best
        below = values
    return below[control]


@njit(cache=True)
def evaluate_actions(
    world: World,
    table: Table,
    ranges: Ranges,
    operators: Operators,
    env_state: int,
    state: int,
    stack: Integers,
    values: Floats,
) -> bool:
    """Fill [action] with action values, NaN if a move is unknown or undefined.

    Returns False if new heads were found. Solve their operators and call again.
    """
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
            control = after * states + table.target[move]
            values[action] += evaluate(table, ranges, operators, control, symbols)
            known = known and not math.isnan(values[action])
    return known
