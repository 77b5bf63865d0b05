"""The configurations reached so far, numbered: an automaton over ⟨u, ζ⟩ that grows when explored.

The number of a configuration is (node of the stack) * machine states + state. The counter vectors
of a counting automaton are numbered like stacks. The successor of a configuration is computed once,
by a step of the machine, and then looked up, whatever the height of the stack. So is the value of
each stack to the machine alone (`shaping`).

On NO_ROOM, call `graph.grow()` and repeat the call: nothing is lost or counted twice. The readable
twins are the machines' own `begin` and `step`.
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
from pdrm.machines.stacks import OK, OVERFLOW, UNDEFINED, A, Stacks, lengthen
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
"""A successor or a view that has not been computed yet."""
ENDED = -3
"""In `ConfigurationGraph.seen`: the state is final."""
FULL_VIEW = -1
"""The k of a view of the whole stack, or of all counters."""
MAX_KEY = 2**62
"""The largest number of a stack's top symbols."""
MAX_KEPT = 2**21
"""Maximum number of successors of a pushdown machine to store. An agent that sees the whole stack
visits millions of configurations, most of them once. Repeating their steps costs less than storing
the successors."""
MAX_CONFIGURATIONS = 2**31 - 1
"""Maximum number of configurations, which are 32-bit integers."""

# Why a label leads to no configuration
UNDEFINED_LABEL = -2
"""No rule applies and the machine has `otherwise error`."""
NO_ROOM = -4
ENDLESS = -5
"""A counting automaton makes more than MAX_SILENT_MOVES silent moves."""
BEYOND = -6
"""The counters might exceed 64 bits."""


class ConfigurationGraph(NamedTuple):
    """A machine being explored, as arrays that kernels read and extend in place."""

    table: Table
    """The moves of a pushdown machine; empty for a counting automaton."""
    rules: CountingTable
    """The rules of a counting automaton; empty for a pushdown machine."""
    stacks: Stacks
    """The stacks. A counting automaton uses only their number, `made`."""
    counters: npt.NDArray[np.int64]
    """[node, counter]: the values of a counter vector; [0, 0] for a pushdown machine."""
    index: Index  # type: ignore[assignment] # a tuple has a method of that name
    """The top symbols seen by a k-policy, numbered, or the nodes of counter vectors."""
    seen: Integers
    """[configuration]: the number of the policy's observation of it, (number of the view of the
    stack) * machine states + state; ENDED for final states, UNKNOWN for stacks not reached yet."""
    after: Integers
    """[label, configuration]: the next configuration, UNKNOWN or UNDEFINED_LABEL."""
    reward: Rewards
    """[label, configuration]: the machine's reward."""
    moves: npt.NDArray[np.int64]
    """[label, configuration]: the number of moves of a counting automaton; otherwise [label, 0]."""
    start: int
    """The configuration in which an episode starts."""
    start_reward: float
    """The reward of the silent moves before the first label."""
    states: int
    """The number of machine states; the final ones come last."""
    first_final: int
    """The lowest number of a final state."""
    k: int
    """The number of symbols seen, or FULL_VIEW."""
    operations: int
    """Maximum moves in a step of a counting automaton. Longer ones are not taken; 0: they raise."""
    highest: int
    """The largest counter from which no step can exceed 64 bits."""

    @property
    def counts(self) -> bool:
        """True if the machine is a counting automaton."""
        return bool(self.counters.shape[1])

    def grow(self) -> ConfigurationGraph:
        """Return a copy with room for twice as many stacks."""
        return self.resized(self.stacks.reserve(self.stacks.capacity))

    def resized(self, stacks: Stacks) -> ConfigurationGraph:
        """Return a copy with these stacks, and arrays of their capacity."""
        nodes, used = stacks.capacity, int(self.index.used[0])
        configurations, labels = nodes * self.states, len(self.after)
        if configurations > MAX_CONFIGURATIONS:
            fault = f"more than {MAX_CONFIGURATIONS:,} configurations are reached"
            raise StackFull(fault, fix="use a smaller k, or a smaller step_limit")
        stored = configurations if self.counts else min(configurations, MAX_KEPT // max(1, labels))
        return self._replace(
            stacks=stacks,
            counters=lengthen(self.counters, nodes) if self.counts else self.counters,
            index=Index.from_keys(self.index.key[:used], nodes),
            seen=lengthen(self.seen, configurations, UNKNOWN),
            after=widen(self.after, stored, UNKNOWN),
            reward=widen(self.reward, stored),
            moves=widen(self.moves, stored if self.counts else 0),
        )


def widen(array: npt.NDArray[A], columns: int, value: int = 0) -> npt.NDArray[A]:
    """Add columns filled with a value."""
    wider = np.full((len(array), columns), value, array.dtype)
    wider[:, : array.shape[1]] = array
    return wider


class Potentials(NamedTuple):
    """The operators of a machine (`shaping.MachineOperators`) and γV of every stack made so far.

    The values of a stack are computed once, from those of the stack below it.

    >>> len(Potentials.none().grow().value)
    0
    """

    constant: Rewards
    exit_state: Integers
    gain: Rewards
    weight: Rewards
    value: Rewards
    """[node, state]: γV of the filled nodes; no nodes without shaping."""
    filled: npt.NDArray[np.int64]
    """[1]: the number of nodes whose values are known."""
    factor: float
    """Φ = factor * γV + shift."""
    shift: float

    @classmethod
    def none(cls) -> Potentials:
        """No shaping."""
        nothing = np.zeros((0, 0))
        lines = np.zeros((0, 0, 0))
        filled = np.zeros(1, np.int64)
        return cls(nothing, lines.astype(np.int32), lines, lines, nothing, filled, 1.0, 0.0)

    def grow(self) -> Potentials:
        """Return a copy with twice the capacity."""
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
    0,
    0,
    0,
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
    """Return the graph of a machine with the start configuration alone.

    >>> from pdrm.language.loading import catalogue
    >>> graph = begin_exploring(catalogue("letter-cra"), [frozenset("A")], FullStack())
    >>> after, _ = explore(graph, graph.start, 0)
    >>> graph.counters[after // graph.states].tolist(), int(graph.moves[0, 0])
    ([1], 1)
    """
    k = FULL_VIEW if isinstance(view, FullStack) else view.k
    table = NO_TABLE
    rules = NO_RULES
    counters = 0
    highest = 0
    if isinstance(machine, CountingRewardAutomaton):
        if k != FULL_VIEW:
            raise BadSetting("a policy over counters sees all of them", fix='use k="full"')
        rules = tabulate_counting(machine, labels)
        counters = machine.counters
        max_moves = (operations or MAX_SILENT_MOVES) + 2
        highest = MAX_VALUE - max_moves * int(np.abs(rules.change).max(initial=1))
        stacks = Stacks.empty(1, capacity)
        stacks.made[0] = 0
    else:
        table = tabulate(machine, labels)
        symbols = len(machine.stack)
        if k * log2(symbols + 1) > log2(MAX_KEY):
            fault = f"k = {k} is too large to index a table"
            raise BadSetting(fault, fix='use a smaller k, or k="full"')
        stacks = Stacks.empty(symbols, capacity)
    nothing = np.zeros((len(labels), 0), np.int32)
    graph = ConfigurationGraph(
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
        first = machine.begin()
        graph, node = add_vector(graph, first.after.counters)
        state = (*machine.states, *machine.final).index(first.after.state)
        reward = first.reward
    else:
        state, stack, reward = begin_table(table)
        while graph.stacks.capacity < len(stack) + 2:
            graph = graph.grow()
        node = graph.stacks.node_of(stack)
        see(graph, node)
    return graph._replace(start=node * graph.states + state, start_reward=float(reward))


def add_vector(graph: ConfigurationGraph, vector: Sequence[int]) -> tuple[ConfigurationGraph, int]:
    """Add a counter vector if it is new; return the graph, larger if necessary, and its node."""
    values = np.array(vector, np.int64)
    while (node := number_vector(graph, values)) == NO_ROOM:
        graph = graph.grow()
    see(graph, node)
    return graph, int(node)


@njit(cache=True)
def see(graph: ConfigurationGraph, node: int) -> None:
    """Number the policy's observations of the configurations with this stack."""
    seen, states, number = graph.seen, graph.states, node
    if len(graph.counters) == 0:
        code = stack_code(graph.stacks, node, graph.k)
        slot, keys, used = graph.index
        number, probe = find_key(slot, keys, code)
        if number < 0:
            number = used[0]
            slot[probe], keys[number], used[0] = number, code, number + 1
    for state in range(states):
        ended = state >= graph.first_final
        seen[node * states + state] = ENDED if ended else number * states + state


@njit(cache=True, inline="always")
def stack_code(stacks: Stacks, node: int, depth: int) -> int:
    """A stack as one number: its top symbols as digits (0: none), or its node if depth is -1."""
    code, base = 0, stacks.child.shape[1]
    for _ in range(depth):
        code = code * base + stacks.symbol[node]
        node = stacks.parent[node]
    return node if depth < 0 else code


@njit(cache=True)
def number_vector(graph: ConfigurationGraph, vector: Values) -> int:
    """The node of a counter vector, added if it is new, or NO_ROOM."""
    slot, keys, used = graph.index
    counters, key = graph.counters, np.int64(0)
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
        graph.stacks.made[0] = node + 1
    return node


# It copies the counters, so it needs reference counts, which its callers are compiled without.
_COUNTED: dict[str, Any] = {"cache": True, "_nrt": True}


@njit(**_COUNTED)
def explore(graph: ConfigurationGraph, configuration: int, label: int) -> tuple[int, float]:
    """Make the machine's step from a configuration: return the next configuration and the reward.

    The result is stored while there is room. A negative configuration says why there is none.
    """
    states, after, moves = graph.states, graph.after, 0
    node = configuration // states
    state = configuration - node * states
    if len(graph.counters) > 0:
        vector, operations = graph.counters[node].copy(), graph.operations
        if vector.max() > graph.highest:
            return BEYOND, 0.0
        max_silent = operations or MAX_SILENT_MOVES
        state, reward, moves = count(graph.rules, state, vector, label, max_silent)
        if operations == 0 and moves == max_silent + 2:
            return ENDLESS, 0.0
        if 0 < operations < moves:  # longer than an episode: the step is never made
            after[label, configuration] = configuration
            graph.moves[label, configuration] = operations + 1
            return configuration, 0.0
        status = UNDEFINED
        if moves > 0:
            node = number_vector(graph, vector)
            status = OVERFLOW if node == NO_ROOM else OK
    else:
        state, node, reward, status = step(graph.table, graph.stacks, state, node, label)
    if status == UNDEFINED:
        if configuration < after.shape[1]:
            after[label, configuration] = UNDEFINED_LABEL
        return UNDEFINED_LABEL, 0.0
    if status != OK:
        return NO_ROOM, 0.0
    reached = node * states + state
    if configuration < after.shape[1]:
        after[label, configuration] = reached
        graph.reward[label, configuration] = reward
        if moves > 0:
            graph.moves[label, configuration] = moves
    return reached, reward


@njit(cache=True)
def fill_potentials(potentials: Potentials, stacks: Stacks) -> bool:
    """Compute the values of the stacks made since the last call; return False if room runs out."""
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


@njit(cache=True, inline="always")
def first_rule(table: CountingTable, state: int, column: int, counters: Values) -> int:
    """The first rule that applies, or -1. The column is a label, or `table.silent`."""
    for rule in range(table.first[state, column], table.first[state, column + 1]):
        for counter in range(len(counters)):
            test = table.test[rule, counter]
            if test != IS_ANY and (test == IS_ZERO) != (counters[counter] == 0):
                break
        else:  # every counter passes its test
            return rule
    return -1


@njit(cache=True, inline="always")
def count_repeats(counters: Values, before: Values, lowest: Values, repeats: int) -> int:
    """The repetitions of a loop, at most `repeats`, until a counter that it changes reaches zero.

    The last iteration led from the counters `before` to `counters`, and never below `lowest`.
    """
    for counter in range(len(counters)):
        change = counters[counter] - before[counter]
        if change != 0 and lowest[counter] < 1:
            repeats = 0
        elif change < 0:
            repeats = min(repeats, (lowest[counter] - 1) // -change)
    return repeats


@njit(cache=True)
def count(
    table: CountingTable, state: int, counters: Values, label: int, max_silent: int
) -> tuple[int, float, int]:
    """Read a label, then make a counting automaton's silent moves until none applies.

    Changes `counters` in place. Returns the state, the reward and the number of moves: 0 if no
    rule reads the label, max_silent + 2 if there are more than `max_silent` silent moves.

    Counters that simulate a stack are emptied in loops over the same few states. The rules that
    apply depend on the state and on which counters are zero. So if an iteration has no reward and
    none of the counters that it changes reaches zero, all iterations of this kind that follow are
    applied at once.
    """
    current = int(state)
    column = int(label)  # the label for the first rule, then silent rules
    reward = 0.0
    moves = 0
    loop_state = -1  # the state whose next visit closes the loop
    loop_start = 0  # the moves before the current iteration
    patience = 1  # the moves after which a loop that was not closed is looked for elsewhere
    before = counters.copy()
    lowest = counters.copy()
    no_reward = True
    while moves < max_silent + 2:
        rule = first_rule(table, current, column, counters)
        if rule < 0:
            break
        for counter in range(len(counters)):
            value = counters[counter] + table.change[rule, counter]
            lowest[counter] = min(lowest[counter], value)
            counters[counter] = max(0, value)
        current = int(table.target[rule])
        column = table.silent
        reward += table.reward[rule]
        no_reward = no_reward and table.reward[rule] == 0.0
        moves += 1
        closed = current == loop_state
        if closed and no_reward:
            length = moves - loop_start
            limit = (max_silent + 2 - moves) // length
            repeats = count_repeats(counters, before, lowest, limit)
            for counter in range(len(counters)):
                counters[counter] += repeats * (counters[counter] - before[counter])
            moves += repeats * length
        if closed or moves >= patience:
            if not closed:
                patience = 2 * moves
            loop_state = current
            loop_start = moves
            no_reward = True
            before[:] = counters
            lowest[:] = counters
    return current, reward, moves
