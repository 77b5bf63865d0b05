"""The loss of the best deterministic k-policy from the start: bounds that hold whenever the search is stopped.

If moves have no chance, by best-first search. A node is a partial k-policy, played up to its first undecided class when it is made.
Its key, what it has earned plus the optimal value of where it stands, bounds every completion. The search ends when the highest
key is at most the best complete policy. Complete ones are improved by changing the action of one class at a time.

With chance, by branch and bound. The bound of a partial policy is the optimal start value of the explored product in which its
classes allow only their action. Branching is on the class that the greedy policy treats differently and visits most.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import ceil, inf
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.k_policy import Row
from pdrm.analysis.play_kernel import DOUBT, EARNED, GROSS, STEPS, TOTALS, classify, play
from pdrm.analysis.top_bounds import EPSILON
from pdrm.analysis.value_iteration import find_action_values, iterate, sort_states
from pdrm.analysis.values import SolvedValues, ValuedProduct
from pdrm.analysis.values_kernel import measure_occupancy
from pdrm.machines.stacks import OK, lengthen
from pdrm.machines.tables import Integers
from pdrm.product.finite_kernel import END, FiniteProduct, Flags, Floats, Numbers
from pdrm.product.hash_kernel import Index

MAX_BYTES = 2**30
"""Memory for the nodes of a search, about."""
SEARCHING = 0.7
"""The share of the time for best-first search; the rest is for branching, if nothing is known to be lost."""
MAX_OPTIMAL_STATES = 5_000
"""States on optimal ways for that."""
LOCAL = 0.25
"""The share of the time in which the first complete policy may be improved before partial ones are searched."""
BETWEEN = 50
"""Nodes after which one is completed."""
IMPROVEMENTS = 20


class Classes:
    """The classes of a product's states: those with equal environment state, machine state and top k symbols.

    >>> from pdrm.product.finite_kernel import FiniteProduct
    >>> from pdrm.task import Task
    >>> paint = Task("paint")
    >>> product = FiniteProduct(paint.finite, paint.pushdown)
    >>> product.explore()
    >>> Classes(product, 2).update()[: len(product)].tolist()
    [0, 1, 1, 1, 1]
    """

    def __init__(self, product: FiniteProduct, k: int) -> None:
        self.product, self.k = product, k
        self._index = Index.with_capacity(0)
        self.member = np.zeros(0, np.int32)
        """[class, with room]: the state that was found first."""
        self.of_state = np.zeros(0, np.int32)
        """[x, with room]: the class of each state."""
        self._done = 0

    def __len__(self) -> int:
        return int(self._index.used[0])

    def update(self) -> Integers:
        """The class of each state, with room for more."""
        product, count = self.product, len(self.product)
        states = product.states
        room = len(states.env_state)
        if len(self.member) < room:
            self._index = Index.from_keys(self._index.key[: len(self)], room)
            self.member = lengthen(self.member, room)
            self.of_state = lengthen(self.of_state, room)
        while self._done < count:
            self._done, status = classify(
                states.env_state, states.state, states.node, product.stacks, self.k, product.domain.states,
                product.table.move.shape[0], self._done, count, self._index, self.of_state, self.member,
            )  # fmt: skip
            if status != OK:
                product.stacks = product.stacks.reserve(product.stacks.capacity)
        return self.of_state


Policy = dict[int, int]
"""The action of each class."""


@dataclass(slots=True)
class Loss:
    """Bounds on the loss of the best k-policy from the start, and the best policy found.

    The policy is about the classes that it reaches; others are not in it.
    """

    low: float
    high: float
    policy: Policy
    classes: Classes = field(repr=False)

    def rows(self) -> dict[Row, str]:
        """The policy as a table: the action at each environment state, machine state and top of the stack."""
        product, k = self.classes.product, self.classes.k
        found = {}
        for klass, action in self.policy.items():
            env_state, state, stack = name_state(product, int(self.classes.member[klass]))
            found[env_state, state, stack[:k]] = product.domain.actions[action]
        return found


def name_state(product: FiniteProduct, x: int) -> Row:
    """The environment state, machine state and stack of a product state."""
    return int(product.env_state[x]), product.machine_state(x), product.stack(x)


def walk(
    product: FiniteProduct, starts: Numbers, choose: Callable[[Numbers], Flags]
) -> Iterator[Numbers]:
    """The states that are reached in 0, 1, 2, … steps, some of them again, and END; `choose` allows actions: [state, action]."""
    reached, seen = np.unique(starts), np.array([END])
    while reached.size:
        yield reached
        new = np.setdiff1d(reached, seen)
        seen = np.union1d(seen, new)
        allowed = choose(new)
        reached = np.unique(product.next[new][allowed])


def walk_optimal(values: SolvedValues, starts: Numbers) -> Iterator[Numbers]:
    """The same by optimal actions, expanding what is reached; moves must have no chance."""
    product = values.product

    def choose(states: Numbers) -> Flags:
        values.expand(product.expandable(states[~product.expanded[states]]))
        q = find_action_values(product, values.discount, values.value, states)
        best: Flags = q >= q.max(axis=1, keepdims=True) - values.tolerance
        return best & product.expanded[states, np.newaxis]

    return walk(product, starts, choose)


Arrays = tuple[npt.NDArray[Any], ...]
"""What a search knows of a partial policy."""
Choices = tuple[int, int, "Choices"] | None
"""The classes and actions of a partial policy, the last one first."""


class _BestFirst(ABC):
    """Expand the partial policy with the highest key, until none is above the best complete policy.

    The key is a bound: no completion earns more.
    """

    node_bytes: int
    """Memory for a partial policy, about."""

    def __init__(self, values: ValuedProduct, k: int) -> None:
        self.values, self.product, self.tolerance = values, values.product, values.tolerance
        self.discount = values.discount
        self.actions = range(len(self.product.domain.actions))
        self.classes = Classes(self.product, k)
        self.policy, self.found = Policy(), -inf
        """The best complete policy so far, and what it earns."""
        self.error = values.slack
        """More than the arithmetic of keys and of what policies earn can be wrong."""
        self.nodes = 0

    def keep(self, earned: float, reached: Numbers | Integers, actions: Integers) -> bool:
        """Keep a complete policy if it is better than the best so far by more than a rounding.

        Args:
            earned: What it earns from the start.
            reached: The classes that it reaches.
            actions: [class]
        """
        if not earned > self.found + self.tolerance / 16:
            return False
        self.found = earned
        self.policy = dict(zip(reached.tolist(), actions[reached].tolist(), strict=True))
        return True

    @abstractmethod
    def begin(self, deadline: Deadline) -> Arrays:
        """The arrays of the policy that chooses nothing yet."""

    @abstractmethod
    def narrow(self, policy: Policy, arrays: Arrays, deadline: Deadline) -> float:
        """Bring the arrays up to date with one more choice, in place; returns the key."""

    @abstractmethod
    def branch(self, policy: Policy, arrays: Arrays, deadline: Deadline) -> int | None:
        """The class to choose an action for next, if there is one."""

    def run(self, deadline: Deadline) -> Loss:
        """Search until the best policy is known, time is up, or only the frontier keeps it from being known."""
        made: list[tuple[Policy, Choices, Arrays]] = [({}, None, self.begin(deadline))]
        heap: list[tuple[int, int, float, Choices, Arrays]] = []
        numbers, bound = count(0, -1), -inf
        most = MAX_BYTES // self.node_bytes
        while True:
            for policy, choices, arrays in made:
                key = self.narrow(policy, arrays, deadline)
                if key <= self.found + self.tolerance / 2:
                    bound = max(bound, key)
                else:  # of equal keys the latest comes first
                    rank = -ceil(4 * key / self.tolerance)
                    heappush(heap, (rank, next(numbers), key, choices, arrays))
            known = not heap or heap[0][2] <= self.found + self.tolerance / 2
            full = len(heap) > most or len(self.product) > self.product.max_states
            if known or full or (deadline.over and self.nodes):
                break
            _, _, key, choices, arrays = heappop(heap)
            self.nodes += 1
            policy, made = _list_choices(choices), []
            chosen = self.branch(policy, arrays, deadline)
            if chosen is None:
                bound = max(bound, key)
                continue
            for action in self.actions:
                copies = tuple(array.copy() for array in arrays)
                made.append(({**policy, chosen: action}, (chosen, action, choices), copies))
        bound = max(self.found, bound, *(node[2] for node in heap))
        low, high = self.values.start
        least = max(0.0, low - bound - self.error)  # no k-policy earns more than `bound`
        return Loss(least, high - self.found + self.error, self.policy, self.classes)


def _list_choices(choices: Choices) -> Policy:
    policy = Policy()
    while choices is not None:
        klass, action, choices = choices
        policy[klass] = action
    return policy


class _PolicySearch(_BestFirst):
    """Best-first search and local search, for moves without chance. The arrays: where the episode of each start stands, its weight, and the sums of `play`."""

    def __init__(self, values: SolvedValues, k: int, before: Loss | None) -> None:
        super().__init__(values, k)
        self.value = values
        self.paid = self.product.average_over_starts(np.zeros(0))
        self.node_bytes = 300 + 16 * len(self.product.starts)
        self._stamp, self._mark = np.ones(1, np.int64), np.zeros(0, np.int64)
        self._then, self._seen = np.zeros((0, 2)), np.zeros(0, np.bool_)
        self._action = np.zeros(0, np.int32)
        self._make_room()
        self._complete({})
        if before is not None:
            coarse = before.classes.update()[self.classes.member[: len(self.classes)]].tolist()
            known = before.policy
            self._complete({klass: known[one] for klass, one in enumerate(coarse) if one in known})

    def begin(self, deadline: Deadline) -> Arrays:
        self._improve(deadline.share(LOCAL))
        return self._start()

    def narrow(self, policy: Policy, arrays: Arrays, deadline: Deadline) -> float:
        self._play(policy, arrays, complete=False)
        at, weight, total = arrays
        if (at == END).all():
            self._complete(policy)
        going = at != END
        later = weight[going] * self.value.value[at[going]]
        return float(total[EARNED] + total[DOUBT] + later.sum())

    def branch(self, policy: Policy, arrays: Arrays, deadline: Deadline) -> int | None:
        if self.nodes % BETWEEN == 0 and self._complete(policy):
            self._improve(deadline.within(1.0))
        at, weight, _ = arrays
        going = at != END
        if not going.any():
            return None
        return int(np.bincount(self._klass[at[going]], weight[going]).argmax())

    def _improve(self, deadline: Deadline) -> None:
        """Change the action of one class at a time, as long as that gains."""
        better = True
        while better:
            better = False
            for klass in list(self.policy):
                for action in self.actions:
                    if deadline.over:
                        return
                    better |= self._complete({**self.policy, klass: action})

    def _complete(self, policy: Policy) -> bool:
        """Complete a policy greedily, and keep it if it is the best."""
        episodes = self._start()
        self._play(policy, episodes, complete=True)
        reached = np.flatnonzero(self._seen)
        self._seen[reached] = False
        return self.keep(float(episodes[-1][EARNED]), reached, self._action)

    def _start(self) -> Arrays:
        """The episodes before their first step."""
        total = np.zeros(TOTALS)
        total[EARNED] = self.paid
        return self.product.starts.copy(), self.product.start_probability.copy(), total

    def _play(self, policy: Policy, episodes: Arrays, *, complete: bool) -> None:
        """Play episodes in place, expanding what is reached for the first time; if `complete`, greedily where the policy does not know."""
        self._action.fill(-1)
        self._action[list(policy)] = list(policy.values())
        self._stamp[0] += 1
        at, weight, total = episodes
        cut = self.tolerance / (16 * len(at))
        while True:
            states, value, worst = self.product.states, self.value.value, self.values.worst
            stuck = play(
                states.next, states.reward, states.expanded, value, worst, self.discount, cut,
                self._klass, self._action, complete, at, weight, total,
                self._stamp, self._mark, self._then, self._seen,
            )  # fmt: skip
            if stuck < 0:
                break
            x = at[stuck]
            expandable = self.product.expandable(at[stuck : stuck + 1])
            if expandable.size:
                self.values.expand(expandable)
                self._make_room()
            else:  # nothing is known beyond
                total[EARNED] += weight[stuck] * worst[x]
                total[DOUBT] += weight[stuck] * (value[x] - worst[x])
                at[stuck] = END
        steps = total[STEPS] + 2 / (1 - self.discount) + len(at)
        size = total[GROSS] + abs(self.paid)
        rounding = 4 * EPSILON * float(steps * size)
        self.error = max(self.error, self.values.error + rounding)

    def _make_room(self) -> None:
        """Arrays by state and by class as long as the product needs."""
        self._klass = self.classes.update()
        room = len(self.product.states.env_state)
        if len(self._mark) < room:
            self._mark, self._then = lengthen(self._mark, room), lengthen(self._then, room)
            self._action = lengthen(self._action, room, -1)
            self._seen = lengthen(self._seen, room)


class _Branching(_BestFirst):
    """Branch and bound over the policies of an explored product, with chance. The array: [x] upper bounds."""

    def __init__(self, values: ValuedProduct, k: int) -> None:
        super().__init__(values, k)
        self.count = len(self.product)
        self.node_bytes = 300 + 8 * self.count
        self.klass = self.classes.update()[: self.count]
        self._swept = sort_states(self.product, self.discount)
        begin = np.zeros(self.count + 1)
        np.add.at(begin, self.product.starts, self.product.start_probability)
        self.visits = begin[:-1]

    def begin(self, deadline: Deadline) -> Arrays:
        return (self.values.upper.copy(),)

    def narrow(self, policy: Policy, arrays: Arrays, deadline: Deadline) -> float:
        (upper,) = arrays
        self.tighten(self.choices(policy), upper, 1.0, deadline)
        return self.product.average_over_starts(upper)

    def branch(self, policy: Policy, arrays: Arrays, deadline: Deadline) -> int | None:
        """Complete the policy greedily, improve it, and keep it if it is the best."""
        (upper,), choices = arrays, self.choices(policy)
        gap = upper[:, np.newaxis] - find_action_values(self.product, self.discount, upper)
        fixed = choices[self.klass]
        cost = self._add_up(np.where(fixed >= 0, fixed, gap.argmin(axis=1)), gap)
        complete = np.where(choices >= 0, choices, cost.argmin(axis=1))
        conflict = np.where(choices >= 0, 0.0, cost.min(axis=1))
        for _ in range(IMPROVEMENTS):
            lower = self.values.worst[: self.count].copy()
            self.tighten(complete, lower, -1.0, deadline)
            reached = np.unique(self.klass[self.find_reached(complete)])
            if not self.keep(self.product.average_over_starts(lower), reached, complete):
                break
            gain = self._add_up(
                complete[self.klass], find_action_values(self.product, self.discount, lower)
            )
            complete = gain.argmax(axis=1)
        klass = int(conflict.argmax())
        return klass if conflict[klass] > self.tolerance / 64 else None

    def choices(self, policy: Policy) -> Integers:
        """[class]: the action of a partial policy, or -1."""
        choices = np.full(len(self.classes), -1, np.int32)
        choices[list(policy)] = list(policy.values())
        return choices

    def _add_up(self, action: Integers, amount: Floats) -> Floats:
        """[class, action]: the sum over the states of each class, weighted by how often a policy visits them (and a little more)."""
        chosen = np.where(self.product.expanded, action, -1).astype(np.int32)
        sweeps = int(min(10_000, 30 / (1 - self.discount) + 1))
        steps, discount = self.product.steps, self.discount
        weight = measure_occupancy(steps, discount, chosen, self.visits, sweeps) + 1e-15
        total = np.zeros((len(self.classes), amount.shape[1]))
        np.add.at(total, self.klass, weight[:, np.newaxis] * amount)
        return total

    def tighten(self, policy: Integers, bound: Floats, sign: float, deadline: Deadline) -> None:
        """Narrow upper (sign 1) or lower bounds (-1), in place, with one action allowed in some classes (-1: with all)."""
        only, swept = policy[self.klass][self._swept.order, np.newaxis], self._swept
        allowed = (only < 0) | (only == self.actions)
        value, error = iterate(
            swept._replace(paid=np.where(allowed, swept.paid, -inf)),
            self.discount, self.tolerance / 8, self.values.slack, bound, deadline,
        )  # fmt: skip
        bound[:] = sign * np.minimum(sign * bound, sign * value + error)

    def find_reached(self, policy: Integers) -> Numbers:
        """The states that a policy reaches."""

        def choose(states: Numbers) -> Flags:
            chosen: Flags = policy[self.klass[states], np.newaxis] == self.actions
            return chosen & self.product.expanded[states, np.newaxis]

        layers = list(walk(self.product, self.product.starts, choose))
        return np.setdiff1d(np.concatenate(layers), END)


def find_loss(values: ValuedProduct, k: int, before: Loss | None, deadline: Deadline) -> Loss:
    """Bound what the best k-policy loses; `before`: what is known of a policy that sees less, or of this one."""
    if not isinstance(values, SolvedValues):
        return _Branching(values, k).run(deadline)
    found = _PolicySearch(values, k, before).run(deadline.share(SEARCHING))
    if found.low <= values.tolerance < found.high:
        ways = _explore_optimal(values, deadline)
        found.low = max(found.low, _Branching(ways, k).run(deadline).low)
    return found


def _explore_optimal(values: SolvedValues, deadline: Deadline) -> SolvedValues:
    """The product of optimal ways from the start: branching there shows where states that look alike need different actions."""
    product = FiniteProduct(values.product.domain, values.product.machine, values.product.height)
    ways = SolvedValues(values.solver, product)
    for _ in walk_optimal(ways, product.starts):
        if len(product) > MAX_OPTIMAL_STATES or deadline.over:
            break
    return ways


def bound_policy(values: ValuedProduct, loss: Loss, floor: Floats) -> tuple[Numbers, Floats]:
    """The expanded states that a policy reaches, and [x]: lower bounds of the values if it is followed; `floor`: lower bounds that hold for every policy."""
    branching = _Branching(values, loss.classes.k)
    policy = branching.choices(loss.policy)
    lower = np.array(floor[: branching.count])
    branching.tighten(policy, lower, -1.0, Deadline())
    reached = branching.find_reached(policy)
    return reached[values.product.expanded[reached]], lower
