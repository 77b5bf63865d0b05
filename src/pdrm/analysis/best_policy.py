"""Search for the best deterministic k-policy, with bounds on its loss that hold at any time.

A k-policy takes the same action in all states of a class: those with equal environment state,
machine state and top k symbols. Both searches expand partial policies, highest key first. The key
of a partial policy is an upper bound on the return of its completions. The search ends when no key
is above the return of the best complete policy found.

- Deterministic moves (`_DeterministicSearch`): play the partial policy from the start up to the
  first class without an action. The key is the return so far plus the optimal value of the states
  reached. Complete policies are improved by changing the action of one class at a time.
- Stochastic moves (`_BranchAndBound`): the key is the optimal start value of the explored product
  in which classes with a chosen action allow only that action. Branch on the most visited class in
  which the greedy policy takes different actions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import ceil, inf
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.k_policy import PolicyKey
from pdrm.analysis.play_kernel import (
    MAGNITUDE,
    RETURN,
    STEPS,
    SUMS,
    UNCERTAIN,
    ClassArrays,
    Playback,
    PlayedProduct,
    PolicyArrays,
    classify,
    play,
)
from pdrm.analysis.top_bounds import EPSILON
from pdrm.analysis.value_iteration import find_action_values, iterate, sort_states
from pdrm.analysis.values import SolvedValues, ValuedProduct
from pdrm.machines.stacks import OK, lengthen
from pdrm.machines.tables import Integers
from pdrm.product.finite_kernel import END, FiniteProduct, Flags, Floats, Numbers
from pdrm.product.hash_kernel import Index

MAX_BYTES = 2**30
"""Approximate memory for the partial policies of a search."""
SEARCH_SHARE = 0.7
"""The share of the time for the deterministic search. The rest is for branch and bound, if no loss
was proved."""
MAX_OPTIMAL_STATES = 5_000
"""States on optimal paths that branch and bound explores in a deterministic task."""
IMPROVEMENT_SHARE = 0.25
"""The share of the time for improving the first complete policy."""
COMPLETION_PERIOD = 50
"""One in this many expanded policies is also completed greedily."""
MAX_IMPROVEMENTS = 20


class Classes:
    """The classes of a product's states: equal environment state, machine state and top k symbols.

    >>> from pdrm.product.finite_kernel import FiniteProduct
    >>> from pdrm.task import Task
    >>> paint = Task("paint")
    >>> product = FiniteProduct(paint.finite, paint.pushdown)
    >>> product.explore()
    >>> Classes(product, 2).update()[: len(product)].tolist()
    [0, 1, 1, 1, 1]
    """

    def __init__(self, product: FiniteProduct, k: int) -> None:
        self.product = product
        self.k = k
        self.arrays = ClassArrays(
            Index.with_capacity(0), np.zeros(0, np.int32), np.zeros(0, np.int32)
        )
        """As long as the arrays of the product, which have spare rows."""
        self._classified = 0

    def __len__(self) -> int:
        return int(self.arrays.keys.used[0])

    def update(self) -> Integers:
        """Classify the states found since the last call; return the class of each state."""
        product = self.product
        room = len(product.states.env_state)
        if len(self.arrays.member) < room:
            self.arrays = ClassArrays(
                Index.from_keys(self.arrays.keys.key[: len(self)], room),
                lengthen(self.arrays.of_state, room),
                lengthen(self.arrays.member, room),
            )
        machine_states = product.table.move.shape[0]
        while self._classified < len(product):
            self._classified, status = classify(
                product.states, product.stacks, self.k, product.domain.states, machine_states,
                self.arrays, self._classified,
            )  # fmt: skip
            if status != OK:
                product.stacks = product.stacks.reserve(product.stacks.capacity)
        return self.arrays.of_state


Policy = dict[int, int]
"""The action of each class."""


@dataclass(slots=True)
class LossBounds:
    """Bounds on the loss of the best k-policy from the start, and the best policy found."""

    low: float
    high: float
    policy: Policy
    """The actions of the classes that it reaches."""
    classes: Classes = field(repr=False)

    def rows(self) -> dict[PolicyKey, str]:
        """The policy as a table: the action for each environment state, machine state and top."""
        product = self.classes.product
        members = self.classes.arrays.member
        rows = {}
        for klass, action in self.policy.items():
            env_state, state, stack = name_state(product, int(members[klass]))
            rows[env_state, state, stack[: self.classes.k]] = product.domain.actions[action]
        return rows


def name_state(product: FiniteProduct, x: int) -> PolicyKey:
    """The environment state, machine state and stack of a product state."""
    return int(product.env_state[x]), product.machine_state(x), product.stack(x)


def walk(
    product: FiniteProduct, starts: Numbers, allow: Callable[[Numbers], Flags]
) -> Iterator[Numbers]:
    """Yield the states reached after 0, 1, 2, … steps, among them END.

    Successors of a state are followed once only, but a state can be yielded again.

    Args:
        product: The product.
        starts: The states to start from.
        allow: Return [state, action]: True if the action may be taken.
    """
    reached = np.unique(starts)
    followed = np.array([END])
    while reached.size:
        yield reached
        new = np.setdiff1d(reached, followed)
        followed = np.union1d(followed, new)
        allowed = allow(new)
        reached = np.unique(product.next[new][allowed])


def walk_optimal(values: SolvedValues, starts: Numbers) -> Iterator[Numbers]:
    """Walk by optimal actions, expanding states on the way. The moves must be deterministic."""
    product = values.product

    def allow(states: Numbers) -> Flags:
        values.expand(product.expandable(states[~product.expanded[states]]))
        q = find_action_values(product, values.discount, values.value, states)
        best: Flags = q >= q.max(axis=1, keepdims=True) - values.tolerance
        return best & product.expanded[states, np.newaxis]

    return walk(product, starts, allow)


Choices = tuple[int, int, "Choices"] | None
"""The choices of a partial policy as a linked list: class, action, earlier choices."""
Node = TypeVar("Node", Playback, Floats)
"""The data of a search about a partial policy."""


class _OpenPolicy(NamedTuple, Generic[Node]):
    """A partial policy that may still be expanded. The heap compares the first two fields only."""

    rank: int
    """Minus the key, in steps of a quarter of the tolerance."""
    number: int
    """Smaller for newer policies, which are expanded first among equal ranks."""
    key: float
    choices: Choices
    node: Node


class _BestFirst(ABC, Generic[Node]):
    """Expand the partial policy with the highest key until no key is above the best return."""

    node_bytes: int
    """Approximate memory for a partial policy."""

    def __init__(self, values: ValuedProduct, k: int) -> None:
        self.values = values
        self.product = values.product
        self.tolerance = values.tolerance
        self.discount = values.discount
        self.actions = range(len(self.product.domain.actions))
        self.classes = Classes(self.product, k)
        self.policy = Policy()
        """The best complete policy found."""
        self.best_return = -inf
        """Its expected return, or a lower bound of it."""
        self.error = values.slack
        """An upper bound on the rounding error of keys and returns."""
        self.nodes = 0
        """The number of partial policies expanded."""

    def improves(self, policy_return: float) -> bool:
        """Return True if a return is above the best one by more than rounding."""
        return policy_return > self.best_return + self.tolerance / 16

    def keep(self, policy_return: float, reached: Numbers | Integers, action: Integers) -> None:
        """Keep a complete policy as the best one.

        Args:
            policy_return: Its expected return.
            reached: The classes that it reaches.
            action: [class]: its actions.
        """
        self.best_return = policy_return
        self.policy = dict(zip(reached.tolist(), action[reached].tolist(), strict=True))

    @abstractmethod
    def root(self, deadline: Deadline) -> Node:
        """The node of the policy without any action."""

    @abstractmethod
    def evaluate(self, policy: Policy, node: Node, deadline: Deadline) -> float:
        """Update a parent's node in place for a policy with one more action; return the key."""

    @abstractmethod
    def branch(self, policy: Policy, node: Node, deadline: Deadline) -> int | None:
        """The class to choose an action for next, or None if no choice would lower the key."""

    def run(self, deadline: Deadline) -> LossBounds:
        """Search until the best policy is known, or time or memory is used up."""
        children: list[tuple[Policy, Choices, Node]] = [({}, None, self.root(deadline))]
        heap: list[_OpenPolicy[Node]] = []
        numbers = count(0, -1)
        bound = -inf
        """The highest key of the policies that are not expanded."""
        max_nodes = MAX_BYTES // self.node_bytes
        while True:
            for policy, choices, node in children:
                key = self.evaluate(policy, node, deadline)
                if self._can_beat_best(key):
                    rank = -ceil(4 * key / self.tolerance)
                    heappush(heap, _OpenPolicy(rank, next(numbers), key, choices, node))
                else:
                    bound = max(bound, key)
            if not heap or not self._can_beat_best(heap[0].key):
                break
            if len(heap) > max_nodes or len(self.product) > self.product.max_states:
                break
            if deadline.over and self.nodes:
                break
            parent = heappop(heap)
            self.nodes += 1
            policy = _to_policy(parent.choices)
            children = []
            klass = self.branch(policy, parent.node, deadline)
            if klass is None:
                bound = max(bound, parent.key)
                continue
            for action in self.actions:
                choices = (klass, action, parent.choices)
                children.append(({**policy, klass: action}, choices, parent.node.copy()))
        bound = max(self.best_return, bound, *(open_policy.key for open_policy in heap))
        low, high = self.values.start
        min_loss = max(0.0, low - bound - self.error)
        max_loss = high - self.best_return + self.error
        return LossBounds(min_loss, max_loss, self.policy, self.classes)

    def _can_beat_best(self, key: float) -> bool:
        return key > self.best_return + self.tolerance / 2


def _to_policy(choices: Choices) -> Policy:
    policy = Policy()
    while choices is not None:
        klass, action, choices = choices
        policy[klass] = action
    return policy


class _DeterministicSearch(_BestFirst[Playback]):
    """Best-first search and local search for deterministic moves. Nodes are played episodes."""

    def __init__(self, values: SolvedValues, k: int, previous: LossBounds | None) -> None:
        super().__init__(values, k)
        self.solved = values
        self.initial_reward = self.product.average_over_starts(np.zeros(0))
        self.node_bytes = 300 + 16 * len(self.product.starts)
        self._arrays = PolicyArrays(
            action=np.zeros(0, np.int32),
            reached=np.zeros(0, np.bool_),
            stamp=np.ones(1, np.int64),
            visit=np.zeros(0, np.int64),
            at_visit=np.zeros((0, 2)),
        )
        self._make_room()
        self._complete({})
        if previous is not None:
            members = self.classes.arrays.member[: len(self.classes)]
            coarse = previous.classes.update()[members].tolist()
            self._complete(
                {
                    klass: previous.policy[previous_class]
                    for klass, previous_class in enumerate(coarse)
                    if previous_class in previous.policy
                }
            )

    def root(self, deadline: Deadline) -> Playback:
        self._improve(deadline.share(IMPROVEMENT_SHARE))
        return self._new_playback()

    def evaluate(self, policy: Policy, node: Playback, deadline: Deadline) -> float:
        self._play(policy, node, complete=False)
        stopped = node.state != END
        if not stopped.any():
            self._complete(policy)
        later = node.weight[stopped] * self.solved.value[node.state[stopped]]
        return float(node.sums[RETURN] + node.sums[UNCERTAIN] + later.sum())

    def branch(self, policy: Policy, node: Playback, deadline: Deadline) -> int | None:
        if self.nodes % COMPLETION_PERIOD == 0 and self._complete(policy):
            self._improve(deadline.within(1.0))
        stopped = node.state != END
        if not stopped.any():
            return None
        klass = self._played.klass[node.state[stopped]]
        return int(np.bincount(klass, node.weight[stopped]).argmax())

    def _improve(self, deadline: Deadline) -> None:
        """Local search: change the action of one class at a time until no change is better."""
        improved = True
        while improved:
            improved = False
            for klass in list(self.policy):
                for action in self.actions:
                    if deadline.over:
                        return
                    if self._complete({**self.policy, klass: action}):
                        improved = True

    def _complete(self, policy: Policy) -> bool:
        """Complete a policy greedily and keep it if it is the best; return True if it is."""
        playback = self._new_playback()
        self._play(policy, playback, complete=True)
        reached = np.flatnonzero(self._arrays.reached)
        self._arrays.reached[reached] = False
        policy_return = float(playback.sums[RETURN])
        better = self.improves(policy_return)
        if better:
            self.keep(policy_return, reached, self._arrays.action)
        return better

    def _new_playback(self) -> Playback:
        """The episodes before their first step."""
        sums = np.zeros(SUMS)
        sums[RETURN] = self.initial_reward
        return Playback(self.product.starts.copy(), self.product.start_probability.copy(), sums)

    def _play(self, policy: Policy, playback: Playback, *, complete: bool) -> None:
        """Play episodes in place, expanding the states they reach (see `play_kernel.play`)."""
        self._arrays.action[: len(self.classes)] = -1
        self._arrays.action[list(policy)] = list(policy.values())
        self._arrays.stamp[0] += 1
        state, weight, sums = playback
        cut = self.tolerance / (16 * len(state))
        while True:
            stuck = play(self._played, self._arrays, playback, self.discount, cut, complete)
            if stuck < 0:
                break
            expandable = self.product.expandable(state[stuck : stuck + 1])
            if expandable.size:
                self.values.expand(expandable)
                self._make_room()
            else:  # the stack is too high: end the episode here
                value = self.solved.value[state[stuck]]
                floor = self.values.floor[state[stuck]]
                sums[RETURN] += weight[stuck] * floor
                sums[UNCERTAIN] += weight[stuck] * (value - floor)
                state[stuck] = END
        steps = sums[STEPS] + 2 / (1 - self.discount) + len(state)
        magnitude = sums[MAGNITUDE] + abs(self.initial_reward)
        rounding = 4 * EPSILON * float(steps * magnitude)
        self.error = max(self.error, self.values.error + rounding)

    def _make_room(self) -> None:
        """Read the arrays of the product again, and make those of the policy as long."""
        states = self.product.states
        self._played = PlayedProduct(
            next=states.next,
            reward=states.reward,
            expanded=states.expanded,
            klass=self.classes.update(),
            value=self.solved.value,
            floor=self.values.floor,
        )
        room = len(states.env_state)
        arrays = self._arrays
        if len(arrays.visit) < room:
            self._arrays = PolicyArrays(
                lengthen(arrays.action, room, -1),
                lengthen(arrays.reached, room),
                arrays.stamp,
                lengthen(arrays.visit, room),
                lengthen(arrays.at_visit, room),
            )


class _BranchAndBound(_BestFirst[Floats]):
    """Branch and bound over the k-policies of an explored product.

    A node is [x]: upper bounds of the values if classes with an action allow only that action.
    """

    def __init__(self, values: ValuedProduct, k: int) -> None:
        super().__init__(values, k)
        self.count = len(self.product)
        self.node_bytes = 300 + 8 * self.count
        self.klass = self.classes.update()[: self.count]
        self._ordered = sort_states(self.product, self.discount)

    def root(self, deadline: Deadline) -> Floats:
        return self.values.upper.copy()

    def evaluate(self, policy: Policy, node: Floats, deadline: Deadline) -> float:
        self.tighten(self.list_actions(policy), node, 1.0, deadline)
        return self.product.average_over_starts(node)

    def branch(self, policy: Policy, node: Floats, deadline: Deadline) -> int | None:
        """Find the class with the greatest conflict, and try greedy completions of the policy.

        The cost of an action in a class is the sum of its losses (by the upper bounds) over the
        states of the class, weighted by visits. The conflict of a class is its smallest cost: it is
        0 if one action is best in all its states.
        """
        chosen = self.list_actions(policy)
        gap = node[:, np.newaxis] - find_action_values(self.product, self.discount, node)
        fixed = chosen[self.klass]
        cost = self._sum_by_class(np.where(fixed >= 0, fixed, gap.argmin(axis=1)), gap)
        conflict = np.where(chosen >= 0, 0.0, cost.min(axis=1))
        complete = np.where(chosen >= 0, chosen, cost.argmin(axis=1))
        for _ in range(MAX_IMPROVEMENTS):
            lower = self.values.floor[: self.count].copy()
            self.tighten(complete, lower, -1.0, deadline)
            policy_return = self.product.average_over_starts(lower)
            if not self.improves(policy_return):
                break
            self.keep(policy_return, np.unique(self.klass[self.find_reached(complete)]), complete)
            q = find_action_values(self.product, self.discount, lower)
            complete = self._sum_by_class(complete[self.klass], q).argmax(axis=1)
        klass = int(conflict.argmax())
        return klass if conflict[klass] > self.tolerance / 64 else None

    def list_actions(self, policy: Policy) -> Integers:
        """[class]: the action of a partial policy, or -1."""
        actions = np.full(len(self.classes), -1, np.int32)
        actions[list(policy)] = list(policy.values())
        return actions

    def _sum_by_class(self, action: Integers, amount: Floats) -> Floats:
        """[class, action]: the sum over the states of a class, weighted by visits of `action` [x].

        A tiny weight is added for states that are never visited.
        """
        sweeps = int(min(10_000, 30 / (1 - self.discount) + 1))
        weight = self.values.measure_visits(action, sweeps) + 1e-15
        total = np.zeros((len(self.classes), amount.shape[1]))
        np.add.at(total, self.klass, weight[:, np.newaxis] * amount)
        return total

    def tighten(self, policy: Integers, bound: Floats, sign: float, deadline: Deadline) -> None:
        """Tighten bounds of the values under a partial policy by value iteration, in place.

        Args:
            policy: [class]: the only action allowed, or -1 if all are.
            bound: [x]: upper bounds (sign 1) or lower bounds (sign -1).
            sign: The kind of bounds.
            deadline: When to stop.
        """
        ordered = self._ordered
        only = policy[self.klass][ordered.order, np.newaxis]
        allowed = (only < 0) | (only == self.actions)
        value, error = iterate(
            ordered._replace(reward=np.where(allowed, ordered.reward, -inf)),
            self.discount, self.tolerance / 8, self.values.slack, bound, deadline,
        )  # fmt: skip
        bound[:] = sign * np.minimum(sign * bound, sign * value + error)

    def find_reached(self, policy: Integers) -> Numbers:
        """The states that a complete policy reaches."""

        def allow(states: Numbers) -> Flags:
            taken: Flags = policy[self.klass[states], np.newaxis] == self.actions
            return taken & self.product.expanded[states, np.newaxis]

        layers = list(walk(self.product, self.product.starts, allow))
        return np.setdiff1d(np.concatenate(layers), END)


def bound_loss(
    values: ValuedProduct, k: int, previous: LossBounds | None, deadline: Deadline
) -> LossBounds:
    """Bound the loss of the best deterministic k-policy from the start.

    Args:
        values: The product and its values.
        k: The number of symbols that the policy sees.
        previous: An earlier result for this k or a smaller one, whose policy is tried first.
        deadline: When to stop.
    """
    if not isinstance(values, SolvedValues):
        return _BranchAndBound(values, k).run(deadline)
    loss = _DeterministicSearch(values, k, previous).run(deadline.share(SEARCH_SHARE))
    if loss.low <= values.tolerance < loss.high:
        optimal = _explore_optimal(values, deadline)
        loss.low = max(loss.low, _BranchAndBound(optimal, k).run(deadline).low)
    return loss


def _explore_optimal(values: SolvedValues, deadline: Deadline) -> SolvedValues:
    """The product of the optimal paths from the start.

    Branching there finds states that look alike and need different actions.
    """
    product = FiniteProduct(values.product.domain, values.product.machine, values.product.height)
    optimal = SolvedValues(values.solver, product)
    for _ in walk_optimal(optimal, product.starts):
        if len(product) > MAX_OPTIMAL_STATES or deadline.over:
            break
    return optimal


def bound_policy(values: ValuedProduct, loss: LossBounds, floor: Floats) -> tuple[Numbers, Floats]:
    """The expanded states that a policy reaches, and [x]: lower bounds of its values.

    Args:
        values: The product.
        loss: The policy.
        floor: [x]: lower bounds of the values of every policy.
    """
    search = _BranchAndBound(values, loss.classes.k)
    policy = search.list_actions(loss.policy)
    lower = np.array(floor[: search.count])
    search.tighten(policy, lower, -1.0, Deadline())
    reached = search.find_reached(policy)
    return reached[values.product.expanded[reached]], lower
