"""The reachable product of a finite domain and a machine (Definition 2), built from the starts outwards, up to a bound.

States are numbered as they are found, nearest first, in arrays that grow; a kernel takes every step from some of them. Those
that have not been expanded, because they lie beyond the bound or nobody asked, are the frontier.
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
"""In `next`: the episode is over, and nothing more is paid. Also where an outcome has probability 0."""

MEMORY = 4 * 2**30
"""Bytes that a product may take unless told otherwise."""


class States(NamedTuple):
    """Product states in the order they were found; the rest of the arrays is room."""

    index: Index  # type: ignore[assignment] # a tuple has a method of that name
    """State of a key: (stack * environment states + environment state) * machine states + machine state."""
    env_state: Integers
    """[x]: the environment state."""
    state: Integers
    """[x]: the machine state."""
    node: Integers
    """[x]: the stack."""
    depth: Integers
    """[x]: the fewest steps to it, as far as the product was explored."""
    origin: Integers
    """[x]: the state it was found from, or -1 at a start."""
    via: Integers
    """[x]: the action and outcome it was found by (action * outcomes + outcome), or the number of the start."""
    expanded: Flags
    """[x]: True if its steps have been taken. If not, it is on the frontier: only an interval of its value is known."""
    next: Integers
    """[x, action, outcome]: the state a step leads to, or END. In a survey: [0, action, outcome]."""
    reward: Floats
    """[x, action, outcome]: what it pays, environment and machine together. In a survey: [0, action, outcome]."""

    @classmethod
    def with_capacity(
        cls, actions: int, outcomes: int, capacity: int, *, count_only: bool = False
    ) -> States:
        """No state yet, and room for `capacity`; a survey keeps no steps."""
        steps = (0 if count_only else capacity, actions, outcomes)
        return cls(
            Index.with_capacity(capacity),
            *np.zeros((6, capacity), np.int32),  # type: ignore[call-arg] # place to via
            np.zeros(capacity, np.bool_),
            np.full(steps, END, np.int32),
            np.zeros(steps),
        )

    def grow(self) -> States:
        """The same states in twice the room."""
        made, capacity = int(self.index.used[0]), 2 * len(self.env_state)
        _, actions, outcomes = self.next.shape
        larger = States.with_capacity(actions, outcomes, capacity, count_only=len(self.next) == 0)
        for column in self._fields[1:]:
            getattr(larger, column)[:made] = getattr(self, column)[:made]
        return larger._replace(index=Index.from_keys(self.index.key[:made], capacity))


class Steps(NamedTuple):
    """Every step of some product states, as kernels read them."""

    next: Integers
    """[x, action, outcome]: the state it leads to, or END."""
    reward: Floats
    """[x, action, outcome]: what it pays."""
    env_state: Integers
    """[x]: the environment state."""
    probability: Floats
    """[environment state, action, outcome]"""


# The loop is flat, and its arrays are taken out of their tuples first: a function called with tuples of arrays inside the loop
# counts references to each of them, and the whole is many times slower.
@njit(cache=True)
def expand(
    table: Table,
    stacks: Stacks,
    world: DomainArrays,
    states: States,
    chosen: Numbers,
    first: int,
) -> tuple[int, int]:
    """Take every step from the chosen states, from number `first` on; a survey keeps the states in which the episode ends.

    Returns how far it came, and OK, UNDEFINED (a label the machine has no move for) or OVERFLOW (make room, then continue). A state
    that is expanded again changes nothing. Its readable twin is `pdrm.analysis.stepped_product`.
    """
    index, places, machine_state, nodes, depth, origin, via, expanded, following, reward = states
    slot, keys, used = index
    count_only = len(following) == 0
    world_next, probability, world_label, world_reward, terminal, _, _, _ = world
    domain_states, actions, outcomes = world_next.shape
    machine_states, first_final = table.move.shape[0], table.first_final
    mask = len(slot) - 1
    for number in range(first, len(chosen)):
        x = chosen[number]
        s, u, node = places[x], machine_state[x], nodes[x]
        if used[0] + actions * outcomes > len(places):
            return number, OVERFLOW
        for a in range(actions):
            for o in range(outcomes):
                if probability[s, a, o] <= 0.0:
                    continue
                # the environment moves, and the machine reads the label
                s2 = world_next[s, a, o]
                u2, node2, paid, status = step(table, stacks, u, node, world_label[s, a, o])
                if status != OK:
                    return number, status
                ended = u2 >= first_final or terminal[s2]
                y = END
                if count_only or not ended:
                    # the number of the product state, given one if it is new
                    key = (np.int64(node2) * domain_states + s2) * machine_states + u2
                    probe = hash_key(key) & mask
                    while slot[probe] >= 0 and keys[slot[probe]] != key:
                        probe = (probe + 1) & mask
                    if slot[probe] < 0:
                        y = used[0]
                        slot[probe], keys[y], used[0] = y, key, y + 1
                        places[y], machine_state[y], nodes[y] = s2, u2, node2
                        depth[y], origin[y], via[y], expanded[y] = (
                            depth[x] + 1,
                            x,
                            a * outcomes + o,
                            ended,
                        )
                    y = slot[probe]
                if not count_only:
                    following[x, a, o], reward[x, a, o] = y, paid + world_reward[s, a, o]
        expanded[x] = True
    return len(chosen), OK


class ProductPath(NamedTuple):
    """The way to a product state."""

    start: int
    """The number of the start."""
    actions: tuple[str, ...]
    word: str
    """The labels that are read, as `pdrm step` reads them."""


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
        """Begin with the states at the starts.

        Args:
            domain: The environment.
            machine: The machine.
            height: The highest stack that is expanded; of states above it only intervals of values are known.
            memory: Bytes to take at most.
            survey: Only count what is reached. States in which an episode has ended are kept too, and no steps are.
        """
        self.domain = domain
        self.machine = machine
        self.height = height
        self.memory = memory
        self.table = tabulate(machine, domain.labels)
        self.count_only = count_only
        self.stacks = Stacks.empty(len(machine.stack))
        _, actions, outcomes = domain.arrays.next.shape
        room = max(INITIAL_CAPACITY, 1 << (2 * actions * outcomes - 1).bit_length())
        self.states = States.with_capacity(actions, outcomes, room, count_only=count_only)
        kept = sum(array.nbytes for array in (*self.states.index, *self.states[1:]))
        # of a state and two stacks; arrays grow by doubling
        self._bytes_each: int = 2 * (kept // room + 2 * 4 * (len(machine.stack) + 5))
        self.probability = _normalize(domain.arrays.probability)
        """[environment state, action, outcome]"""
        self.start_probability = _normalize(domain.arrays.start_probability)
        """[start]"""
        self.starts = np.full(len(domain.arrays.start_state), END, np.int64)
        """[start]: its product state, or END if there is none or it has no chance."""
        self.start_reward = np.zeros(len(self.starts))
        """[start]: what the machine pays before the first action."""
        self._start()

    def __len__(self) -> int:
        return int(self.states.index.used[0])

    @property
    def expanded(self) -> Flags:
        """[x]: True if its steps have been taken."""
        return self.states.expanded[: len(self)]

    @property
    def frontier(self) -> Numbers:
        """The states that have not been expanded."""
        return np.flatnonzero(~self.expanded)

    @property
    def next(self) -> Integers:
        """[x, action, outcome]: the state a step leads to, or END."""
        return self.states.next[: len(self)]

    @property
    def reward(self) -> Floats:
        """[x, action, outcome]: what it pays."""
        return self.states.reward[: len(self)]

    @property
    def env_state(self) -> Integers:
        """[x]: the environment state."""
        return self.states.env_state[: len(self)]

    @property
    def steps(self) -> Steps:
        """Every step, as kernels read them."""
        return Steps(self.next, self.reward, self.env_state, self.probability)

    def average_over_starts(self, value: Floats) -> float:
        """The expected value of an episode by these values of states, with what is paid before the first action."""
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
        """The way on which a state was found."""
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
        """Expand the whole frontier, again and again: to a depth, until nothing is left, or until there are more than `max_states`
        states, or more than fit in memory."""
        limit = self.max_states if max_states is None else min(max_states, self.max_states)
        edge = self.expandable(self.frontier)
        while edge.size and len(self) <= limit:
            if depth is not None and int(self.states.depth[edge[0]]) >= depth:
                return
            before = len(self)
            self.expand(edge)
            edge = self.expandable(before + np.flatnonzero(~self.expanded[before:]))

    def expand(self, chosen: Numbers, max_states: int | None = None) -> bool:
        """Take every step from these states; False if that finds more than `max_states` states, which may leave it half done."""
        first = 0
        while first < len(chosen):
            if max_states is not None and len(self) > max_states:
                return False
            self._make_room(len(chosen) - first)
            first, status = expand(
                self.table, self.stacks, self.domain.arrays, self.states, chosen, first
            )
            if status == UNDEFINED:
                self._find_undefined(int(chosen[first]))
            if status == OVERFLOW:
                self.stacks = self.stacks.reserve(self.stacks.capacity)
        return max_states is None or len(self) <= max_states

    def _find_undefined(self, x: int) -> None:
        """Make the steps from a state with the readable machine, which says for which label it has no move."""
        arrays, s = self.domain.arrays, int(self.env_state[x])
        here = Configuration(self.machine_state(x), self.stack(x))
        for label in np.unique(arrays.label[s][arrays.probability[s] > 0]):
            self.machine.step(here, self.domain.labels[label])

    def expandable(self, chosen: Numbers) -> Numbers:
        """Those of some frontier states whose stacks are not too high."""
        if self.height is None:
            return chosen
        return chosen[self.stacks.height[self.states.node[chosen]] <= self.height]

    @property
    def max_states(self) -> int:
        """The number of states that fit in the memory allowed."""
        return self.memory // self._bytes_each

    def _start(self) -> None:
        arrays = self.domain.arrays
        for k in np.flatnonzero(arrays.start_probability > 0):
            env_state, label = int(arrays.start_state[k]), int(arrays.start_label[k])
            try:
                state, stack, self.start_reward[k] = begin_table(self.table, label)
            except UndefinedMove:
                begun = self.machine.begin().after
                raise self.machine.undefined_move(self.domain.labels[label], begun) from None
            self.stacks = self.stacks.reserve(len(stack))
            node = self.stacks.node_of(stack)
            ended = state >= self.table.first_final or bool(arrays.terminal[env_state])
            if ended and not self.count_only:
                continue
            self._make_room(1)
            states = self.states
            slot, keys, used = states.index
            key = (node * self.domain.states + env_state) * self.table.move.shape[0] + state
            x, probe = find_key(slot, keys, key)
            if x < 0:
                x = len(self)
                slot[probe], keys[x], used[0] = x, key, x + 1
                states.env_state[x], states.state[x], states.node[x] = env_state, state, node
                states.origin[x], states.via[x], states.expanded[x] = -1, k, ended
            self.starts[k] = END if ended else x

    def _make_room(self, wanted: int) -> None:
        """Make room for at least as many new states as one state can lead to, for `wanted` if memory allows."""
        made, capacity = len(self), len(self.states.env_state)
        each = self.next.shape[1] * self.next.shape[2]
        if made + each > capacity or made + min(wanted, capacity) > capacity:
            self.states = self.states.grow()


def _normalize(probability: Floats) -> Floats:
    """The probabilities, whose sums may be off by as much as a domain may round them."""
    return np.ascontiguousarray(probability / probability.sum(axis=-1, keepdims=True))
