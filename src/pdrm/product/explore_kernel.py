"""Exploring configurations in Numba: where a label leads, looked up or found by the machine's step and kept; and what the stacks
met so far are worth to the machine alone (`potentials.py`).

A negative number says why there is none yet: no room (call `explored.grow()`), or a counting automaton's step that Python
makes (call `Counters.find`). Then ask again; nothing is lost or counted twice. The readable twins are the machines' own `begin`
and `step`; that of `count` is `CountingRewardAutomaton.step`.
"""

from __future__ import annotations

from numba import njit

from pdrm.machines.stacks import OK, UNDEFINED, Stacks
from pdrm.machines.step_kernel import begin, step
from pdrm.machines.tables import IS_ANY, IS_ZERO, CountingTable, Values
from pdrm.product.exploration import UNKNOWN, Configurations, Explored, Potentials

NO_ROOM = -1
UNDEFINED_LABEL = -2
"""The machine says `otherwise error` and no rule applies."""
UNEXPLORED = -3
"""The successor is to be found by `Counters.find`; `Configurations.wanted` says which."""


@njit(cache=True, inline="always")
def stack_code(stacks: Stacks, node: int, depth: int) -> int:
    """A stack as one number: the node itself (depth -1), or its top symbols as digits (0 where there are none)."""
    code, base = 0, stacks.child.shape[1]
    for _ in range(depth):
        code = code * base + stacks.symbol[node]
        node = stacks.parent[node]
    return node if depth < 0 else code


@njit(cache=True)
def configuration(explored: Explored, state: int, node: int) -> int:
    """The number of a configuration, given one where it is new."""
    found = explored.configurations
    number = int(found.number[node, state]) - 1
    if number == UNKNOWN:
        number = int(found.made[0])
        if number == len(found.state):
            return NO_ROOM
        found.state[number] = state
        found.node[number] = node
        found.seen[number] = (
            stack_code(explored.stacks, node, explored.k) * found.number.shape[1] + state
        )
        found.number[node, state] = number + 1
        found.made[0] = number + 1
    return number


@njit(cache=True)
def first_configuration(explored: Explored) -> tuple[int, float]:
    """The configuration that an episode begins with, and what the silent moves before the first label pay."""
    state, node, paid, status = begin(explored.table, explored.stacks)
    if status != OK:
        return NO_ROOM, 0.0
    return configuration(explored, state, node), paid


@njit(cache=True)
def explore(explored: Explored, here: int, label: int) -> tuple[int, float]:
    """Where a label leads from a configuration and what the machine pays, found by its step, and kept while there is room for it."""
    found: Configurations = explored.configurations
    # A counting automaton: its step is looked up, or left for Python to find.
    if len(found.moves) > 0:
        after = int(found.after[here, label])
        if after == UNKNOWN:
            found.wanted[0], found.wanted[1] = here, label
            after = UNEXPLORED
        return after, float(found.paid[here, label])
    # A pushdown machine: its step, made here, and kept.
    state, node, paid, status = step(
        explored.table, explored.stacks, found.state[here], found.node[here], label
    )
    if status == UNDEFINED:
        return UNDEFINED_LABEL, 0.0
    if status != OK:
        return NO_ROOM, 0.0
    after = configuration(explored, state, node)
    if after >= 0 and here < len(found.after):
        found.after[here, label] = after
        found.paid[here, label] = paid
    return after, paid


@njit(cache=True)
def fill_potentials(potentials: Potentials, stacks: Stacks) -> bool:
    """Find the values of the stacks made since the last time (`Potential`); False: there is no room for them."""
    constant = potentials.constant
    exit_state = potentials.exit_state
    gain = potentials.gain
    weight = potentials.weight
    value = potentials.value
    filled = potentials.filled
    states = value.shape[1]
    until = min(int(stacks.made[0]), len(value))
    for node in range(filled[0], until):  # a stack comes after the one below it
        symbol, below = stacks.symbol[node], stacks.parent[node]
        for state in range(states):
            best = constant[symbol, state]
            for line in range(gain.shape[2]):
                later = weight[symbol, state, line] * value[below, exit_state[symbol, state, line]]
                best = max(best, gain[symbol, state, line] + later)
            value[node, state] = best
    filled[0] = until
    return until == int(stacks.made[0])


@njit(cache=True)
def count(
    table: CountingTable, state: int, counters: Values, label: int, most: int
) -> tuple[int, float, int]:
    """Read a label and take a counting automaton's silent moves until none applies; `counters` are changed in place.

    Returns the state, what was paid, and the moves: 0 where no rule reads the label, most + 2 where more silent moves than
    `most` would follow.

    Two counters that stand for a stack are emptied one by one, in laps through the same few states. Which rules apply depends on the
    state and on which counters are zero. So once a lap is closed that paid nothing, and on which no counter that it changes was zero
    at any point, as many laps as leave it so are taken at once.
    """
    here, column, paid, moves = int(state), int(label), 0.0, 0
    closed, turned, begun = (
        -1,
        1,
        0,
    )  # the state where the lap closes, the moves after which it is another, and when it was begun
    before, lowest, free = counters.copy(), counters.copy(), True
    while moves < most + 2:
        # The first rule that applies: of the label at first, silent ones after that.
        move = -1
        for rule in range(table.first[here, column], table.first[here, column + 1]):
            applies = True
            for counter in range(len(counters)):
                test = table.test[rule, counter]
                if test != IS_ANY and (test == IS_ZERO) != (counters[counter] == 0):
                    applies = False
            if applies:
                move = rule
                break
        if move < 0:
            break
        # Take it.
        for counter in range(len(counters)):
            value = counters[counter] + table.change[move, counter]
            lowest[counter] = min(lowest[counter], value)
            counters[counter] = max(0, value)
        here, column = int(table.target[move]), table.silent
        paid += table.reward[move]
        free = free and table.reward[move] == 0.0
        moves += 1
        # A lap is closed: take as many more as are the same.
        if here == closed:
            laps = (most + 2 - moves) // (moves - begun) if free else 0
            for counter in range(len(counters)):
                by = counters[counter] - before[counter]
                if by != 0 and lowest[counter] < 1:
                    laps = 0
                elif by < 0:
                    laps = min(laps, (lowest[counter] - 1) // -by)
            for counter in range(len(counters)):
                counters[counter] += laps * (counters[counter] - before[counter])
            moves += laps * (moves - begun)
        # Begin the next one; where none is closed for long, at another state.
        if here == closed or moves >= turned:
            turned = turned if here == closed else 2 * moves
            closed, begun, free = here, moves, True
            before[:], lowest[:] = counters, counters
    return here, paid, moves
