"""The reachable product of a finite domain and a machine (Definition 2), up to a bound.

States are numbered in breadth-first order from the starts, in arrays that grow. A kernel takes
every step from some of them. States that have not been expanded are the frontier.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.domains.finite_domain import NO_LABEL, DomainArrays, FiniteDomain
from pdrm.errors import UndefinedMove
from pdrm.machines.guards import Label, word_text
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import OK, OVERFLOW, UNDEFINED, Stacks
from pdrm.machines.step_kernel import step
from pdrm.machines.tables import Integers, Table, begin_table, tabulate
from pdrm.machines.transitions import Configuration, Stack
from pdrm.product.hash_kernel import INITIAL_CAPACITY, Index, find_key, hash_key

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

END = -1
"""In `next`: the episode is over, with no further reward. Also for outcomes of probability 0."""

MEMORY = 4 * 2**30
"""Default limit of a product's memory in bytes."""


class States(NamedTuple):
    """Product states in the order of their discovery. The rest of the arrays is free."""

    index: Index  # type: ignore[assignment] # a tuple has a method of that name
    """Keys: (stack * environment states + environment state) * machine states + machine state."""
    env_state: Integers
    """[x]: the environment state."""
    state: Integers
    """[x]: the machine state."""
    node: Integers
    """[x]: the stack."""
    depth: Integers
    """[x]: the number of steps of the shortest path to it found so far."""
    origin: Integers
    """[x]: the state from which it was found, or -1 at a start."""
    via: Integers
    """[x]: action * outcomes + outcome that led to it, or the number of the start."""
    expanded: Flags
    """[x]: True if its steps have been taken. Otherwise it is on the frontier."""
    next: Integers
    """[x, action, outcome]: the next state, or END. With `count_only`: [0, action, outcome]."""
    reward: Floats
    """[x, action, outcome]: the reward of both. With `count_only`: [0, action, outcome]."""

    @classmethod
    def with_capacity(
        cls, actions: int, outcomes: int, capacity: int, *, count_only: bool = False
    ) -> States:
        """Make empty arrays; `count_only` stores no steps."""
        steps = (0 if count_only else capacity, actions, outcomes)
        return cls(
            Index.with_capacity(capacity),
            *np.zeros((6, capacity), np.int32),  # type: ignore[call-arg] # env_state to via
            np.zeros(capacity, np.bool_),
            np.full(steps, END, np.int32),
            np.zeros(steps),
        )

    def grow(self) -> States:
        """Return a copy with twice the capacity."""
        made, capacity = int(self.index.used[0]), 2 * len(self.env_state)
        _, actions, outcomes = self.next.shape
        larger = States.with_capacity(actions, outcomes, capacity, count_only=len(self.next) == 0)
        for column in self._fields[1:]:
            getattr(larger, column)[:made] = getattr(self, column)[:made]
        return larger._replace(index=Index.from_keys(self.index.key[:made], capacity))


class Steps(NamedTuple):
    """Every step of some product states, for kernels."""

    next: Integers
    """[x, action, outcome]: the next state, or END."""
    reward: Floats
    """[x, action, outcome]: the reward of environment and machine."""
    env_state: Integers
    """[x]: the environment state."""
    probability: Floats
    """[environment state, action, outcome]"""


# The loop is flat, and arrays are unpacked from their tuples first. If a function were called with
# tuples of arrays inside the loop, Numba would count references to each and be many times slower.
@njit(cache=True)
def expand(
    table: Table,
    stacks: Stacks,
    world: DomainArrays,
    states: States,
    chosen: Numbers,
    first: int,
) -> tuple[int, int]:
    """Take every step from the chosen states, from number `first` on.

    If steps are only counted, states in which the episode ends are stored as well. Returns the
    number of the next state to expand, and OK, UNDEFINED (the machine has no move for a label) or
    OVERFLOW (reserve space, then continue). Expanding a state again changes nothing.
    Its readable twin is `pdrm.analysis.stepped_product`.
    """
    index, env_states, machine_state, nodes, depth, origin, via, expanded, following, reward = (
        states
    )
    slot, keys, used = index
    count_only = len(following) == 0
    world_next, probability, world_label, world_reward, terminal, _, _, _ = world
    domain_states, actions, outcomes = world_next.shape
    machine_states, first_final = table.move.shape[0], table.first_final
    mask = len(slot) - 1
    for number in range(first, len(chosen)):
        x = chosen[number]
        s, u, node = env_states[x], machine_state[x], nodes[x]
        if used[0] + actions * outcomes > len(env_states):
            return number, OVERFLOW
        for a in range(actions):
            for o in range(outcomes):
                if probability[s, a, o] <= 0.0:
                    continue
                # The environment moves, and the machine reads the label.
                s2 = world_next[s, a, o]
                u2, node2, machine_reward, status = step(
                    table, stacks, u, node, world_label[s, a, o]
                )
                if status != OK:
                    return number, status
                ended = u2 >= first_final or terminal[s2]
                y = END
                if count_only or not ended:
                    # Find or add the product state.
                    key = (np.int64(node2) * domain_states + s2) * machine_states + u2
                    probe = hash_key(key) & mask
                    while slot[probe] >= 0 and keys[slot[probe]] != key:
                        probe = (probe + 1) & mask
                    if slot[probe] < 0:
                        y = used[0]
                        slot[probe], keys[y], used[0] = y, key, y + 1
                        env_states[y], machine_state[y], nodes[y] = s2, u2, node2
                        depth[y] = depth[x] + 1
                        origin[y] = x
                        via[y] = a * outcomes + o
                        expanded[y] = ended
                    y = slot[probe]
                if not count_only:
                    following[x, a, o] = y
                    reward[x, a, o] = machine_reward + world_reward[s, a, o]
        expanded[x] = True
    return len(chosen), OK


class ProductPath(NamedTuple):
    """The path on which a product state was found."""

    start: int
    """The number of the start."""
    actions: tuple[str, ...]
    word: str
    """The labels on it, in the format of `pdrm step`."""


class FiniteProduct:
    """Product states (environment state, machine state, stack) found so far.

    >>> from pdrm.task import Task
    >>> paint = Task("paint")
    >>> product = FiniteProduct(paint.finite, paint.pushdown)
    >>> product.explore()
    >>> len(product), product.frontier.size, product.stack(4)
    (5, 0, ('stain', 'stain', 'stain', 'stain', 'stain', '#'))
    """

    def __init__(
        self,
        domain: FiniteDomain,
        machine: PushdownRewardMachine,
        height: int | None = None,
        memory: int = MEMORY,
        *,
        count_only: bool = False,
    ) -> None:
        """Add the states at the starts.

        Args:
            domain: The environment.
            machine: The machine.
            height: The highest stack of a state that is expanded.
            memory: Maximum memory in bytes.
            count_only: Store the states, including those in which an episode ends, but no steps.
        """
        self.domain = domain
        self.machine = machine
        self.height = height
        self.memory = memory
        self.table = tabulate(machine, domain.labels)
        self.count_only = count_only
        self.stacks = Stacks.empty(len(machine.stack))
        _, actions, outcomes = domain.arrays.next.shape
        capacity = max(INITIAL_CAPACITY, 1 << (2 * actions * outcomes - 1).bit_length())
        self.states = States.with_capacity(actions, outcomes, capacity, count_only=count_only)
        bytes_used = sum(array.nbytes for array in (*self.states.index, *self.states[1:]))
        # A state and two stacks. Arrays grow by doubling.
        self._bytes_per_state: int = 2 * (bytes_used // capacity + 2 * 4 * (len(machine.stack) + 5))
        self.probability = _normalize(domain.arrays.probability)
        """[environment state, action, outcome]"""
        self.start_probability = _normalize(domain.arrays.start_probability)
        """[start]"""
        self.starts = np.full(len(domain.arrays.start_state), END, np.int64)
        """[start]: its product state, or END if the episode is over or has probability 0."""
        self.start_reward = np.zeros(len(self.starts))
        """[start]: the machine's reward before the first action."""
        self._start()

    def __len__(self) -> int:
        return int(self.states.index.used[0])

    @property
    def expanded(self) -> Flags:
        """[x]: True if the steps of the state have been taken."""
        return self.states.expanded[: len(self)]

    @property
    def frontier(self) -> Numbers:
        """The states that have not been expanded."""
        return np.flatnonzero(~self.expanded)

    @property
    def next(self) -> Integers:
        """[x, action, outcome]: the next state, or END."""
        return self.states.next[: len(self)]

    @property
    def reward(self) -> Floats:
        """[x, action, outcome]: the reward of environment and machine."""
        return self.states.reward[: len(self)]

    @property
    def env_state(self) -> Integers:
        """[x]: the environment state."""
        return self.states.env_state[: len(self)]

    @property
    def steps(self) -> Steps:
        """Every step, for kernels."""
        return Steps(self.next, self.reward, self.env_state, self.probability)

    def average_over_starts(self, value: Floats) -> float:
        """The expected return of an episode, given the values of the states."""
        after = np.where(self.starts == END, 0.0, value[self.starts] if len(value) else 0.0)
        return float((self.start_probability * (self.start_reward + after)).sum())

    def stack(self, x: int) -> Stack:
        """The stack of a state, top first."""
        names = self.machine.stack
        return tuple(names[symbol - 1] for symbol in self.stacks.stack_of(int(self.states.node[x])))

    def machine_state(self, x: int) -> str:
        """The machine state of a product state."""
        return (*self.machine.states, *self.machine.final)[int(self.states.state[x])]

    def path_to(self, x: int) -> ProductPath:
        """The path on which a state was found."""
        domain, arrays = self.domain, self.domain.arrays
        actions, labels = list[str](), list[Label]()
        while (before := int(self.states.origin[x])) >= 0:
            action, outcome = divmod(int(self.states.via[x]), self.next.shape[2])
            actions.append(domain.actions[action])
            labels.append(domain.labels[arrays.label[self.env_state[before], action, outcome]])
            x = before
        start = int(self.states.via[x])
        if arrays.start_label[start] != NO_LABEL:
            labels.append(domain.labels[arrays.start_label[start]])
        return ProductPath(start, tuple(actions[::-1]), word_text(labels[::-1]))

    def explore(self, depth: int | None = None, max_states: int | None = None) -> None:
        """Expand the frontier repeatedly, until it is empty or a limit is reached.

        Args:
            depth: Maximum number of steps from a start.
            max_states: Maximum number of states (default: as many as fit in memory).
        """
        limit = self.max_states if max_states is None else min(max_states, self.max_states)
        frontier = self.expandable(self.frontier)
        while frontier.size and len(self) <= limit:
            if depth is not None and int(self.states.depth[frontier[0]]) >= depth:
                return
            before = len(self)
            self.expand(frontier)
            frontier = self.expandable(before + np.flatnonzero(~self.expanded[before:]))

    def expand(self, chosen: Numbers, max_states: int | None = None) -> bool:
        """Take every step from these states; stop and return False after `max_states` states."""
        first = 0
        while first < len(chosen):
            if max_states is not None and len(self) > max_states:
                return False
            self._reserve(len(chosen) - first)
            first, status = expand(
                self.table, self.stacks, self.domain.arrays, self.states, chosen, first
            )
            if status == UNDEFINED:
                self._find_undefined(int(chosen[first]))
            if status == OVERFLOW:
                self.stacks = self.stacks.reserve(self.stacks.capacity)
        return max_states is None or len(self) <= max_states

    def _find_undefined(self, x: int) -> None:
        """Take the steps from a state with the readable machine, which raises the error."""
        arrays, s = self.domain.arrays, int(self.env_state[x])
        here = Configuration(self.machine_state(x), self.stack(x))
        for label in np.unique(arrays.label[s][arrays.probability[s] > 0]):
            self.machine.step(here, self.domain.labels[label])

    def expandable(self, chosen: Numbers) -> Numbers:
        """The frontier states, of those given, whose stacks are not too high."""
        if self.height is None:
            return chosen
        return chosen[self.stacks.height[self.states.node[chosen]] <= self.height]

    @property
    def max_states(self) -> int:
        """The number of states that fit in memory."""
        return self.memory // self._bytes_per_state

    def _start(self) -> None:
        arrays = self.domain.arrays
        for k in np.flatnonzero(arrays.start_probability > 0):
            env_state = int(arrays.start_state[k])
            label = int(arrays.start_label[k])
            try:
                state, stack, self.start_reward[k] = begin_table(self.table, label)
            except UndefinedMove:
                before = self.machine.begin().after
                raise self.machine.undefined_move(self.domain.labels[label], before) from None
            self.stacks = self.stacks.reserve(len(stack))
            node = self.stacks.node_of(stack)
            ended = state >= self.table.first_final or bool(arrays.terminal[env_state])
            if ended and not self.count_only:
                continue
            self._reserve(1)
            states = self.states
            slot, keys, used = states.index
            key = (node * self.domain.states + env_state) * self.table.move.shape[0] + state
            x, probe = find_key(slot, keys, key)
            if x < 0:
                x = len(self)
                slot[probe], keys[x], used[0] = x, key, x + 1
                states.env_state[x] = env_state
                states.state[x] = state
                states.node[x] = node
                states.origin[x] = -1
                states.via[x] = k
                states.expanded[x] = ended
            self.starts[k] = END if ended else x

    def _reserve(self, wanted: int) -> None:
        """Reserve space for the successors of one state, and for `wanted` states if possible."""
        made, capacity = len(self), len(self.states.env_state)
        each = self.next.shape[1] * self.next.shape[2]
        if made + each > capacity or made + min(wanted, capacity) > capacity:
            self.states = self.states.grow()


def _normalize(probability: Floats) -> Floats:
    """Scale probabilities to sum to 1 exactly; in a domain they can be off by rounding."""
    return np.ascontiguousarray(probability / probability.sum(axis=-1, keepdims=True))
