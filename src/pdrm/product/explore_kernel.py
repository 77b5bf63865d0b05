"""The configurations of a machine reached so far, numbered: an automaton over ⟨u, ζ⟩ that grows as it is explored.

A configuration's number is (node of the stack) * machine states + state. The counter vectors of a
counting automaton are numbered like stacks. What a label does is found by the machine's step and
looked up from then on, whatever the height of the stack; what the stacks met so far are worth to the
machine alone (`shaping`) is found in the same way.

NO_ROOM asks for `explored.grow()` and the same call again; nothing is lost or counted twice. The
readable twins are the machines' own `begin` and `step`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.errors import BadSetting, StackFull
from pdrm.machines.counting import MAX_SILENT_MOVES, CountingRewardAutomaton
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import OK, UNDEFINED, A, Stacks, lengthen
from pdrm.machines.step_kernel import step
from pdrm.machines.tables import (
    IS_ANY,
    IS_ZERO,
    MAX_VALUE,
    CountingTable,
    Integers,
    Rewards,
    Table,
    Values,
    begin_table,
    tabulate,
    tabulate_counting,
)
from pdrm.product.hash_kernel import Index, find_key, hash_key
from pdrm.product.observation import FullStack, View

UNKNOWN = -1
"""A successor or a view that has not been found yet."""
ENDED = -3
"""In `ConfigurationGraph.seen`: the machine has ended."""
FULL_VIEW = -1
"""The k of a view of the whole stack, or of all counters."""
MAX_KEY = 2**62
"""The tops of stacks are numbers up to this."""
MAX_KEPT = 2**21
"""Successors of a pushdown machine that are kept. A full policy meets millions of configurations,
most of them once: making the step again is then cheaper than the memory."""
MAX_CONFIGURATIONS = 2**31 - 1
"""Configurations are 32-bit integers."""

# Why a label leads to no configuration
UNDEFINED_LABEL = -2
"""The machine says `otherwise error` and no rule applies."""
NO_ROOM = -4
ENDLESS = -5
"""A counting automaton makes more than MAX_SILENT_MOVES silent moves."""
BEYOND = -6
"""The counters may grow beyond 64 bits."""


class ConfigurationGraph(NamedTuple):
    """A machine under exploration, as arrays that kernels read and extend in place."""

    table: Table
    """The moves of a pushdown machine; empty for a counting automaton."""
    rules: CountingTable
    """The rules of a counting automaton; empty for a pushdown machine."""
    stacks: Stacks
    """The stacks; of a counting automaton only their number, `made`, is used."""
    counters: npt.NDArray[np.int64]
    """[node, counter]: the values of a vector of counters; [0, 0] for a pushdown machine."""
    index: Index  # type: ignore[assignment] # a tuple has a method of that name
    """The numbers of the tops that a k-policy sees, or the nodes of counter vectors."""
    seen: Integers
    """[configuration]: the number of what a policy sees of it, (number of the view of the stack) *
    machine states + state; ENDED for final states; UNKNOWN until its stack is met."""
    after: Integers
    """[label, configuration]: the configuration a label leads to, UNKNOWN or UNDEFINED_LABEL."""
    reward: Rewards
    """[label, configuration]: what the machine pays for it."""
    moves: npt.NDArray[np.int64]
    """[label, configuration]: the moves a counting automaton makes for it; else [label, 0]."""
    start: int
    """The configuration that an episode begins with."""
    start_reward: float
    """The reward of the silent moves before the first label."""
    states: int
    """The number of machine states; the final ones come last."""
    first_final: int
    """The lowest number of a final state."""
    k: int
    """The number of symbols seen, or FULL_VIEW."""
    operations: int
    """A step of a counting automaton with more moves is not made; 0: a long one is an error."""
    highest: int
    """A step with larger counters may lead beyond 64 bits."""

    @property
    def counts(self) -> bool:
        """True if the machine is a counting automaton."""
        return bool(self.counters.shape[1])

    def grow(self) -> ConfigurationGraph:
        """The same, with room for twice as many stacks."""
        return self.resized(self.stacks.reserve(self.stacks.capacity))

    def resized(self, stacks: Stacks) -> ConfigurationGraph:
        """The same, with as much room as these stacks have: its own, in longer arrays."""
        nodes, used = stacks.capacity, int(self.index.used[0])
        configurations, labels = nodes * self.states, len(self.after)
        if configurations > MAX_CONFIGURATIONS:
            fault = f"more than {MAX_CONFIGURATIONS:,} configurations are reached"
            raise StackFull(fault, fix="use a smaller k, or a smaller step_limit")
        kept = configurations if self.counts else min(configurations, MAX_KEPT // max(1, labels))
        return self._replace(
            stacks=stacks,
            counters=lengthen(self.counters, nodes) if self.counts else self.counters,
            index=Index.from_keys(self.index.key[:used], nodes),
            seen=lengthen(self.seen, configurations, UNKNOWN),
            after=widen(self.after, kept, UNKNOWN),
            reward=widen(self.reward, kept),
            moves=widen(self.moves, kept if self.counts else 0),
        )


def widen(array: npt.NDArray[A], columns: int, value: int = 0) -> npt.NDArray[A]:
    """The columns of an array, followed by columns of a value."""
    wider = np.full((len(array), columns), value, array.dtype)
    wider[:, : array.shape[1]] = array
    return wider


class Potentials(NamedTuple):
    """The operators of a machine (`shaping.MachineOperators`) and γV of every stack made so far.

    The values of a stack are found once, from those of the stack below it.

    >>> len(Potentials.none().grow().value)
    0
    """

    constant: Rewards
    exit_state: Integers
    gain: Rewards
    weight: Rewards
    value: Rewards
    """[node, state]: γV, as far as it is filled; no nodes if nothing is shaped."""
    filled: npt.NDArray[np.int64]
    """[1]: how many nodes have their values."""
    factor: float
    """Φ = factor * γV + shift."""
    shift: float

    @classmethod
    def none(cls) -> Potentials:
        """Nothing is shaped."""
        nothing = np.zeros((0, 0))
        lines = np.zeros((0, 0, 0))
        filled = np.zeros(1, np.int64)
        return cls(nothing, lines.astype(np.int32), lines, lines, nothing, filled, 1.0, 0.0)

    def grow(self) -> Potentials:
        """The same with twice the room."""
        return self._replace(value=lengthen(self.value, 2 * len(self.value)))


_NONE, _NO_ROWS = np.zeros(0, np.int32), np.zeros((0, 0), np.int32)
_NO_MOVES = np.zeros((0, 0, 0), np.int32)
NO_TABLE = Table(
    _NO_MOVES,
    _NO_ROWS,
    _NONE,
    _NONE,
    _NONE,
    _NO_ROWS,
    np.zeros(0),
    start=0,
    bottom=0,
    first_final=0,
)
NO_RULES = CountingTable(
    _NO_ROWS, _NO_ROWS, np.zeros((0, 0), np.int64), _NONE, np.zeros(0), silent=0
)


def begin_exploring(
    machine: PushdownRewardMachine | CountingRewardAutomaton,
    labels: Sequence[Label],
    view: View,
    operations: int | None = None,
    capacity: int = 1024,
) -> ConfigurationGraph:
    """A machine with nothing reached but the configuration that an episode begins with.

    >>> from pdrm.language.loading import catalogue
    >>> explored = begin_exploring(catalogue("letter-cra"), [frozenset("A")], FullStack())
    >>> there, _ = explore(explored, explored.start, 0)
    >>> explored.counters[there // explored.states].tolist(), int(explored.moves[0, 0])
    ([1], 1)
    """
    k = FULL_VIEW if isinstance(view, FullStack) else view.k
    counters, most = 0, operations or MAX_SILENT_MOVES
    table, rules, highest = NO_TABLE, NO_RULES, 0
    if isinstance(machine, CountingRewardAutomaton):
        if k != FULL_VIEW:
            raise BadSetting("a policy over counters sees all of them", fix='use k="full"')
        rules, counters = tabulate_counting(machine, labels), machine.counters
        highest = MAX_VALUE - (most + 2) * int(np.abs(rules.change).max(initial=1))
        stacks = Stacks.empty(1, capacity)
        stacks.made[0] = 0
    else:
        table, symbols = tabulate(machine, labels), len(machine.stack)
        if k * log2(symbols + 1) > log2(MAX_KEY):
            fault = f"k = {k} is more than a table can be indexed by"
            raise BadSetting(fault, fix='use a smaller k, or k="full"')
        stacks = Stacks.empty(symbols, capacity)
    nothing = np.zeros((len(labels), 0), np.int32)
    explored = ConfigurationGraph(
        table,
        rules,
        stacks,
        np.zeros((0, counters), np.int64),
        Index.with_capacity(1),
        np.zeros(0, np.int32),
        after=nothing,
        reward=nothing.astype(np.float64),
        moves=nothing.astype(np.int64),
        start=0,
        start_reward=0.0,
        states=len(machine.states) + len(machine.final),
        first_final=len(machine.states),
        k=k,
        operations=operations or 0,
        highest=highest,
    ).resized(stacks)
    if isinstance(machine, CountingRewardAutomaton):
        begun = machine.begin()
        explored, node = add_vector(explored, begun.after.counters)
        state, paid = (*machine.states, *machine.final).index(begun.after.state), begun.reward
    else:
        state, stack, paid = begin_table(table)
        while explored.stacks.capacity < len(stack) + 2:
            explored = explored.grow()
        node = explored.stacks.node_of(stack)
        see(explored, node)
    start = node * explored.states + state
    return explored._replace(start=start, start_reward=float(paid))


def add_vector(
    explored: ConfigurationGraph, vector: Sequence[int]
) -> tuple[ConfigurationGraph, int]:
    """The node of a counter vector, given one (in larger arrays if room runs out) if it is new."""
    values = np.array(vector, np.int64)
    while (node := number_vector(explored, values)) == NO_ROOM:
        explored = explored.grow()
    see(explored, node)
    return explored, int(node)


@njit(cache=True)
def see(explored: ConfigurationGraph, node: int) -> None:
    """Number what a policy sees of the configurations with a stack."""
    seen, states, number = explored.seen, explored.states, node
    if len(explored.counters) == 0:
        code = stack_code(explored.stacks, node, explored.k)
        slot, keys, used = explored.index
        number, probe = find_key(slot, keys, code)
        if number < 0:
            number = used[0]
            slot[probe], keys[number], used[0] = number, code, number + 1
    for state in range(states):
        ended = state >= explored.first_final
        seen[node * states + state] = ENDED if ended else number * states + state


@njit(cache=True, inline="always")
def stack_code(stacks: Stacks, node: int, depth: int) -> int:
    """A stack as one number: its top symbols as digits, 0 if there are none; the node itself for a depth of -1."""
    code, base = 0, stacks.child.shape[1]
    for _ in range(depth):
        code = code * base + stacks.symbol[node]
        node = stacks.parent[node]
    return node if depth < 0 else code


@njit(cache=True)
def number_vector(explored: ConfigurationGraph, vector: Values) -> int:
    """The node of a counter vector, given one if it is new, or NO_ROOM."""
    slot, keys, used = explored.index
    counters, key = explored.counters, np.int64(0)
    for value in vector:
        key = np.int64(hash_key(key ^ value))
    node, probe = find_key(slot, keys, int(key))
    while node >= 0 and not np.array_equal(counters[node], vector):
        key += 1
        node, probe = find_key(slot, keys, int(key))
    if node < 0:
        node = used[0]
        if node == len(counters):
            return NO_ROOM
        slot[probe], keys[node], used[0] = node, key, node + 1
        counters[node] = vector
        explored.stacks.made[0] = node + 1
    return node


_COUNTED: dict[str, Any] = {"cache": True, "_nrt": True}


@njit(**_COUNTED)  # it makes an array, which callers that count no references do not
def explore(explored: ConfigurationGraph, here: int, label: int) -> tuple[int, float]:
    """The configuration that a label leads to and what the machine pays, found by its step, and
    kept while there is room for it; or a negative number that says why there is none."""
    states, after, moves = explored.states, explored.after, 0
    node = here // states
    state = here - node * states
    if len(explored.counters) > 0:
        vector, operations = explored.counters[node].copy(), explored.operations
        if vector.max() > explored.highest:
            return BEYOND, 0.0
        most = operations if operations > 0 else MAX_SILENT_MOVES
        state, paid, moves = count(explored.rules, state, vector, label, most)
        if operations == 0 and moves == most + 2:
            return ENDLESS, 0.0
        if 0 < operations < moves:  # more than an episode has: it is never made
            explored.after[label, here], explored.moves[label, here] = here, operations + 1
            return here, 0.0
        status = UNDEFINED if moves == 0 else OK
        if status == OK:
            node = number_vector(explored, vector)
            if node == NO_ROOM:
                return NO_ROOM, 0.0
    else:
        state, node, paid, status = step(explored.table, explored.stacks, state, node, label)
    if status == UNDEFINED:
        if here < after.shape[1]:
            after[label, here] = UNDEFINED_LABEL
        return UNDEFINED_LABEL, 0.0
    if status != OK:
        return NO_ROOM, 0.0
    there = node * states + state
    if here < after.shape[1]:
        after[label, here] = there
        explored.reward[label, here] = paid
        if moves > 0:
            explored.moves[label, here] = moves
    return there, paid


@njit(cache=True)
def fill_potentials(potentials: Potentials, stacks: Stacks) -> bool:
    """Find the values of the stacks made since the last time (`Potential`); False if room runs out."""
    constant, exit_state, gain, weight, value, filled, _, _ = potentials
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
        # Begin the next one; when none is closed for long, at another state.
        if here == closed or moves >= turned:
            turned = turned if here == closed else 2 * moves
            closed, begun, free = here, moves, True
            before[:], lowest[:] = counters, counters
    return here, paid, moves
