"""Operators of stack symbols in Numba (`whole_stack` has the theory).

A *head* is an environment state, a machine state and the symbol on top; an *exit* the two states in
which a symbol has just been popped. Both are numbers: an exit is `place * states + state`, a head
`exit * symbols + symbol`. A line c + γᵗ w(exit) is the tuple (exit, t, c).

A visit to a head composes the operators that its moves lead to, and adds lines and constants that
gain more than the tolerance. Nothing that was gained is given up, so visits end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.typed import Dict, List

from pdrm.machines.tables import Integers, Rewards, Table

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Line = tuple[int, int, float]
Lines = list[Line]

KINDS: Any = types  # numba does not annotate them
HEAD = KINDS.int64
LINE = KINDS.Tuple((HEAD, KINDS.int64, KINDS.float64))
LINES = KINDS.ListType(LINE)
READS = KINDS.ListType(HEAD)

NONE = -1
"""No head; in `World.next`: a move that is not known."""

MET, SEEN, CLOCK, AT, UNDEFINED, TRIED = range(6)
"""In `Operators.counter`: heads met and visited once, time, position of a sweep, and the head and
action of an undefined move."""
COUNTERS = 6

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

    order: Integers
    """[position]: the heads in the order in which they were met."""
    lines: dict[int, Lines]
    """The lines of every head that was met."""
    reads: dict[int, list[int]]
    """The heads that each of them depends on."""
    constant: Floats
    """[head]: a value that can be had without ever popping the symbol, or the least there is; NaN if it was not met."""
    leads_to: Integers
    """[head]: the constant is `gain` plus `weight` times the constant of this head; or NONE."""
    gain: Floats
    weight: Floats
    visited: Numbers
    """[head]: the time of its last visit, or 0."""
    changed: Numbers
    """[head]: the time of its last change."""
    counter: Numbers


@njit(cache=True)
def no_operators(heads: int) -> Operators:
    """No operator yet, of this many heads."""
    counter = np.zeros(COUNTERS, np.int64)
    counter[UNDEFINED] = NONE
    return Operators(
        np.zeros(heads, np.int32),
        Dict.empty(HEAD, LINES),
        Dict.empty(HEAD, READS),
        np.full(heads, math.nan),
        np.zeros(heads, np.int32),
        np.zeros(heads),
        np.zeros(heads),
        np.zeros(heads, np.int64),
        np.zeros(heads, np.int64),
        counter,
    )


@njit(cache=True)
def meet(ranges: Ranges, operators: Operators, head: int, symbols: int) -> None:
    """Make a head known, with the least constant."""
    if math.isnan(operators.constant[head]):
        operators.lines[head] = List.empty_list(LINE)
        operators.reads[head] = List.empty_list(HEAD)
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


@njit(cache=True)
def rises(lines: Lines, begin: int, at: int, line: Line, floor: float, ranges: Ranges) -> bool:
    """Return True if for some w a line is above the floor and all lines from `begin` on but number `at`.

    These lead to the same exit.
    """
    power = ranges.power
    e, t, c = line
    low = max(ranges.low[e], (floor - c) / power[t])
    high = ranges.high[e]
    for number in range(begin, len(lines)):
        _, u, d = lines[number]
        if number != at:
            if t == u and c <= d:
                return False
            if t < u:
                low = max(low, (d - c) / (power[t] - power[u]))
            elif t > u:
                high = min(high, (c - d) / (power[u] - power[t]))
    return bool(low < high)


@njit(cache=True)
def merge(
    old: Lines, new: Lines, tolerance: float, found: Floats, ranges: Ranges
) -> tuple[Lines, bool]:
    """Return the lines that rise above the floor and all others, ordered by exit.

    New ones must rise by more than the tolerance; also returns True if one does.
    """
    exits = np.empty(len(old) + len(new), np.int64)
    for number in range(len(exits)):
        exits[number] = old[number][0] if number < len(old) else new[number - len(old)][0]
    kept = List.empty_list(LINE)
    begin = 0
    rose = False
    for number in np.argsort(exits, kind="mergesort"):
        is_new = number >= len(old)
        e, t, c = line = new[number - len(old)] if is_new else old[number]
        if begin < len(kept) and kept[begin][0] != e:
            begin = len(kept)
        raised = (e, t, c - tolerance) if is_new else line
        if not rises(kept, begin, NONE, raised, found[FLOOR], ranges):
            continue
        rose = rose or is_new
        kept.append(line)
        found[FLOOR] = max(found[FLOOR], c + ranges.power[t] * ranges.low[e])
        for at in range(len(kept) - 2, begin - 1, -1):
            if not rises(kept, begin, at, kept[at], found[FLOOR], ranges):
                kept.pop(at)
    return kept, rose


@njit(cache=True)
def add_line(
    lines: Lines, e: int, t: int, c: float, tolerance: float, found: Floats, ranges: Ranges
) -> None:
    """List a line if it may rise above the floor; a long one counts as a constant."""
    power = ranges.power
    latest = len(power) - 1
    if t >= latest:
        least = c + power[latest] * ranges.low[e]
        consider(found, least, NONE, least, 0.0)
    elif c + power[t] * ranges.high[e] > found[FLOOR] + tolerance:
        lines.append((e, t, c))


@njit(cache=True)
def follow(
    table: Table, ranges: Ranges, operators: Operators, symbol: int, move: int, place: int, paid: float,
    steps: int, tolerance: float, found: Floats, lines: Lines, reads: list[int],
) -> None:  # fmt: skip
    """List the lines (exit, t, c) of a move that replaces `symbol`, and consider its constants."""
    states, symbols = table.silent.shape
    power = ranges.power
    state = table.target[move]
    if state >= table.first_final:
        consider(found, paid, NONE, paid, 0.0)
        return
    pushes = table.pushes[move]
    depth = pushes + 1 - table.pops[move]
    e = int(place * states + state)
    now = List.empty_list(LINE)  # lines through the symbols so far
    add_line(now, e, steps, paid, tolerance, found, ranges)
    for level in range(depth):
        top = table.push[move, pushes - 1 - level] if level < pushes else symbol
        through = List.empty_list(LINE)
        for e, t, gain in now:
            head = e * symbols + top
            meet(ranges, operators, head, symbols)
            reads.append(head)
            consider(found, gain + power[t] * operators.constant[head], head, gain, power[t])
            for after, u, c in operators.lines[head]:
                add_line(through, after, t + u, gain + power[t] * c, tolerance, found, ranges)
        if 0 < level < depth - 1:
            through, _ = merge(List.empty_list(LINE), through, 0.0, found, ranges)
        now = through
    lines.extend(now)


@njit(cache=True)
def visit(world: World, table: Table, ranges: Ranges, operators: Operators, head: int) -> None:
    """Improve the operator of a head by one move."""
    states, symbols = table.silent.shape
    symbol = head % symbols
    place = head // symbols // states
    state = head // symbols % states
    counter = operators.counter
    counter[CLOCK] += 1
    operators.visited[head] = counter[CLOCK]
    constant = operators.constant[head]
    lines = operators.lines[head]
    found = np.array([-math.inf, 0.0, 0.0, 0.0, constant])
    for e, t, c in lines:
        found[FLOOR] = max(found[FLOOR], c + ranges.power[t] * ranges.low[e])
    new = List.empty_list(LINE)
    reads = List.empty_list(HEAD)
    silent = table.silent[state, symbol]
    tolerance = ranges.tolerance
    if silent >= 0:
        tolerance = ranges.silent_tolerance
        paid = table.reward[silent]
        follow(
            table, ranges, operators, symbol, silent, place, paid, 0, tolerance, found, new, reads
        )
    elif world.terminal[place]:
        consider(found, 0.0, NONE, 0.0, 0.0)
    else:
        for action in range(world.next.shape[1]):
            after = world.next[place, action]
            if after == NONE:
                continue
            move = table.move[state, world.label[place, action], symbol]
            if move < 0:
                counter[UNDEFINED] = head
                counter[TRIED] = action
                continue
            paid = ranges.power[1] * (world.reward[place, action] + table.reward[move])
            follow(
                table, ranges, operators, symbol, move, after, paid, 1, tolerance, found, new, reads
            )
    operators.reads[head] = reads
    better = found[BEST] > constant + tolerance
    if better:
        operators.constant[head] = found[BEST]
        operators.leads_to[head] = int(found[TO])
        operators.gain[head] = found[GAIN]
        operators.weight[head] = found[WEIGHT]
        found[FLOOR] = max(found[FLOOR], found[BEST])
    merged, rose = merge(lines, new, tolerance, found, ranges)
    if rose or better:
        operators.lines[head] = merged
        counter[CLOCK] += 1
        operators.changed[head] = counter[CLOCK]


@njit(cache=True)
def is_stale(operators: Operators, head: int) -> bool:
    """Return True if something that a head depends on has changed since its last visit."""
    visited = operators.visited[head]
    latest = 0
    for read in operators.reads[head]:
        latest = max(latest, operators.changed[read])
    return bool(visited == 0 or latest > visited)


@njit(cache=True)
def sweep(world: World, table: Table, ranges: Ranges, operators: Operators, most: int) -> int:
    """Visit heads that are new, then those that are stale, the newest first: so goals come first.

    Returns the number of visits, at most `most`. Position AT says where to continue.
    """
    counter = operators.counter
    for number in range(most):
        if counter[SEEN] < counter[MET]:
            counter[SEEN] += 1
            counter[AT] = counter[SEEN]
        while counter[AT] > 0 and not is_stale(operators, operators.order[counter[AT] - 1]):
            counter[AT] -= 1
        if counter[AT] == 0:
            return number
        counter[AT] -= 1
        visit(world, table, ranges, operators, operators.order[counter[AT]])
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
            for after, _, _ in operators.lines[head]:
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
            for after, t, c in operators.lines[head]:
                best = max(best, c + ranges.power[t] * below[after])
            values[wanted[at]] = best
        below = values
    return below[e]


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


@njit(cache=True)
def list_lines(
    operators: Operators, first: Numbers, count: Numbers
) -> tuple[Numbers, Numbers, Floats]:
    """Return the exits, t and c of all lines; fill [head] with the first of its lines and their number."""
    found = List.empty_list(LINE)
    for head in operators.order[: operators.counter[MET]]:
        first[head] = len(found)
        count[head] = len(operators.lines[head])
        found.extend(operators.lines[head])
    exits = np.empty(len(found), np.int64)
    t = np.empty(len(found), np.int64)
    c = np.empty(len(found))
    for number, line in enumerate(found):
        exits[number], t[number], c[number] = line
    return exits, t, c


@njit(cache=True)
def count_reads(operators: Operators) -> int:
    """Return the number of heads that heads depend on."""
    total = 0
    for reads in operators.reads.values():
        total += len(reads)
    return total


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
