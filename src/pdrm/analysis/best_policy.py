"""The loss of the best deterministic k-policy from the start: bounds that hold whenever the search is stopped.

If moves have no chance, by best-first search (`find_loss_by_play`). A node is a partial k-policy, played when it is made as far as it
knows. Its key is what it has earned and the optimal value of where each episode stands: no completion earns more. The search
ends when the highest key is at most the best complete policy.

With chance, by branch and bound (`find_loss_by_branching`). The bound of a partial policy is the optimal start value of the
explored product in which its classes allow only their action. Branching is on the class that the greedy policy treats
differently and visits most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import ceil
from typing import NamedTuple

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.graph_kernel import find_components
from pdrm.analysis.play_kernel import CHOSEN, DOUBT, EARNED, GROSS, STEPS, TOTALS, classify, play
from pdrm.analysis.values import ExploredValues, SolvedValues, ValuedProduct, narrow
from pdrm.analysis.values_kernel import measure_occupancy, q_bounds
from pdrm.arrays import lengthen
from pdrm.machines.stacks import OK
from pdrm.machines.tables import Integers
from pdrm.product.finite_kernel import END, Floats, Numbers
from pdrm.product.finite_product import FiniteProduct
from pdrm.product.hash_kernel import Index

EPSILON = float(np.finfo(np.float64).eps)
MOST_BYTES = 2**30
"""Memory for the nodes of a search, about."""
SEARCHING = 0.7
"""The share of the time for best-first search; the rest is for branching, if nothing is known to be lost."""
MOST_ON_WAYS = 5_000
"""States on optimal ways for that."""
LOCAL = 0.25
"""The share of the time in which the first complete policy may be improved before partial ones are searched."""
BETWEEN = 50
"""Nodes after which one is completed."""
IMPROVEMENTS = 20


class Classes:
    """The classes of a product's states: those with equal environment state, machine state and top k symbols.

    >>> from pdrm.product.finite_product import FiniteProduct
    >>> from pdrm.task import Task
    >>> paint = Task("paint")
    >>> product = FiniteProduct(paint.finite, paint.pushdown)
    >>> product.explore()
    >>> Classes(product, 2).update()[: len(product)].tolist()
    [0, 1, 1, 1, 1]
    """

    def __init__(self, product: FiniteProduct, k: int) -> None:
        self.product, self.k = product, k
        self._index = Index.room(1024)
        self.member = np.zeros(1024, np.int32)
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
        if len(self.of_state) < count:
            self.of_state = lengthen(self.of_state, len(states.place))
        while self._done < count:
            self._done, status = classify(
                states.place, states.state, states.node, product.stacks, self.k, product.domain.states,
                product.table.move.shape[0], self._done, count, self._index, self.of_state, self.member,
            )  # fmt: skip
            if status != OK and int(product.stacks.made[0]) == product.stacks.capacity:
                product.stacks = product.stacks.room(product.stacks.capacity)
            elif status != OK:
                self._index = self._index.grow()
                self.member = lengthen(self.member, len(self._index.key))
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
    nodes: int = 0


def find_loss(
    values: ValuedProduct, k: int, before: Loss | None, tolerance: float, deadline: Deadline
) -> Loss:
    """Bound what the best k-policy loses; `before`: what is known of a policy that sees less, or of this one."""
    if not isinstance(values, SolvedValues):
        return _Branching(values, k, tolerance).run(deadline)
    found = _PolicySearch(values, k, before, tolerance).run(deadline.share(SEARCHING))
    if found.low <= tolerance < found.high:
        found.low = max(found.low, refute(values, k, tolerance, deadline))
    return found


def refute(values: SolvedValues, k: int, tolerance: float, deadline: Deadline) -> float:
    """A lower bound of the loss, by branching where optimal ways from the start treat states that look alike differently."""
    product = FiniteProduct(values.product.domain, values.product.machine, values.product.bound)
    ways = SolvedValues(values.solution, product)
    new = np.unique(product.starts[product.starts != END])
    while new.size and len(product) < MOST_ON_WAYS and not deadline.over:
        ways.expand(product.expandable(new))
        new = new[product.expanded[new]]
        after = product.next[new, :, 0]
        worth = product.reward[new, :, 0]
        worth = worth + ways.discount * np.where(after != END, ways.value[after], 0.0)
        best = after[worth >= worth.max(axis=1, keepdims=True) - tolerance]
        new = np.unique(best[best != END])
        new = new[~product.expanded[new]]
    return _Branching(ways, k, tolerance).run(deadline).low


class _Node(NamedTuple):
    """A partial policy: a choice added to another one's, and how far the episodes came."""

    rank: int
    size: int
    number: int
    key: float
    parent: _Node | None
    klass: int
    action: int
    at: Numbers
    weight: Floats
    total: Floats


class _PolicySearch:
    """Best-first search and local search, for moves without chance."""

    def __init__(self, values: SolvedValues, k: int, before: Loss | None, tolerance: float) -> None:
        self.values, self.product, self.discount = values, values.product, values.discount
        self.tolerance = tolerance
        self.classes = Classes(self.product, k)
        live = np.flatnonzero(self.product.starts != END)
        self.starts = self.product.starts[live]
        self.chances = self.product.start_probability[live]
        self.paid = float((self.product.start_probability * self.product.start_paid).sum())
        self.cut = tolerance / (16 * max(1, len(self.starts)))
        self.rounding, self.nodes, self.dropped = 0.0, 0, -np.inf
        self._stamp = np.ones(1, np.int64)
        self._mark, self._then = np.zeros(0, np.int64), np.zeros((0, 2))
        self._action, self._log = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self._make_room()
        self.policy: Policy = {}
        self.found = -np.inf
        self._keep(*self._complete({}, None))
        if before is not None:
            self._keep(*self._complete({}, before))

    def run(self, deadline: Deadline) -> Loss:
        """Search until the best policy is known, or until time is up."""
        self._improve(deadline.share(LOCAL))
        bound = self._search(deadline)
        self.found, self.policy = self._complete({}, Loss(0.0, 0.0, self.policy, self.classes))
        low, high = self.values.start
        lost = self.values.error + self.rounding
        least = max(0.0, low - max(bound, self.found) - lost)
        return Loss(least, high - self.found + lost, self.policy, self.classes, self.nodes)

    def _search(self, deadline: Deadline) -> float:
        """Expand the partial policy with the highest key until none is above the best complete one; returns the highest key."""
        numbers = count()
        at, weight, total = self._begin()
        self._play(at, weight, total)
        heap: list[_Node] = []
        self._push(heap, None, -1, -1, at, weight, total, numbers)
        most = MOST_BYTES // (300 + 16 * len(self.starts))
        while heap and heap[0].key > self.found + self.tolerance / 2:
            if deadline.over or len(heap) > most or self.product_is_full:
                break
            node = heappop(heap)
            self.nodes += 1
            policy = _list_choices(node)
            if self.nodes % BETWEEN == 0 and self._keep(*self._complete(policy, None)):
                self._improve(deadline.within(1.0))
            self._set(policy)
            weights: dict[int, float] = {}
            for x, w in zip(node.at.tolist(), node.weight.tolist(), strict=True):
                if x != END:
                    klass = int(self._klass[x])
                    weights[klass] = weights.get(klass, 0.0) + w
            klass = max(weights, key=lambda one: weights[one])
            for action in range(len(self.product.domain.actions)):
                at, weight, total = node.at.copy(), node.weight.copy(), node.total.copy()
                self._action[klass] = action
                self._play(at, weight, total)
                if (at == END).all():
                    self._keep(float(total[EARNED]), {**policy, klass: action})
                self._push(heap, node, klass, action, at, weight, total, numbers)
            self._unset({**policy, klass: 0})
        return max(self.dropped, *(node.key for node in heap), -np.inf)

    def _push(
        self, heap: list[_Node], parent: _Node | None, klass: int, action: int,
        at: Numbers, weight: Floats, total: Floats, numbers: Iterator[int],
    ) -> None:  # fmt: skip
        """Keep a partial policy if a completion of it may be better than the best."""
        going = at != END
        key = float(
            total[EARNED] + total[DOUBT] + (weight[going] * self.values.value[at[going]]).sum()
        )
        if not going.any() or key <= self.found + self.tolerance / 2:
            self.dropped = max(self.dropped, key)
            return
        rank = -ceil(4 * key / self.tolerance)
        size = 0 if parent is None else parent.size - 1
        node = _Node(rank, size, next(numbers), key, parent, klass, action, at, weight, total)
        heappush(heap, node)

    def _improve(self, deadline: Deadline) -> None:
        """Change the action of one class at a time, as long as that gains."""
        better = True
        while better:
            better = False
            for klass in list(self.policy):
                if deadline.over:
                    return
                for action in range(len(self.product.domain.actions)):
                    if action != self.policy[klass]:
                        better |= self._keep(*self._complete({**self.policy, klass: action}, None))

    def _keep(self, earned: float, policy: Policy) -> bool:
        """Keep a complete policy if it is better than the best so far by more than a rounding."""
        if earned > self.found + self.tolerance / 16:
            self.found, self.policy = earned, policy
            return True
        return False

    def _complete(self, policy: Policy, like: Loss | None) -> tuple[float, Policy]:
        """Fill a policy in as `like` does, elsewhere greedily; what it earns, and its actions in the classes it reaches."""
        hint = np.full(len(self._action), -1, np.int32)
        known = self.classes
        if like is not None:
            known = like.classes
            known.update()
            hint = np.full(len(self.product.states.place) + 1, -1, np.int32)
            hint[list(like.policy)] = list(like.policy.values())
        self._set(policy)
        at, weight, total = self._begin()
        self._play(at, weight, total, known, hint)
        chosen = self._log[: int(total[CHOSEN])].tolist()
        whole = {**policy, **{klass: int(self._action[klass]) for klass in chosen}}
        self._unset(whole)
        return float(total[EARNED]), whole

    def _begin(self) -> tuple[Numbers, Floats, Floats]:
        """The episodes before their first step."""
        total = np.zeros(TOTALS)
        total[EARNED] = self.paid
        return self.starts.astype(np.int64), self.chances.astype(np.float64), total

    def _play(
        self, at: Numbers, weight: Floats, total: Floats, like: Classes | None = None, hint: Integers | None = None
    ) -> None:  # fmt: skip
        """Play episodes in place, expanding what is reached for the first time; with a hint until they are over."""
        self._stamp[0] += 1
        while True:
            states, coarse = self.product.states, self._klass if like is None else like.update()
            if hint is not None and len(hint) <= len(states.place):
                hint = lengthen(hint, 2 * len(states.place), -1)
            stuck = play(
                states.next, states.reward, states.expanded, self.values.value, self.values.worst, self.discount,
                self.cut, self._klass, self._action, coarse, self._action if hint is None else hint, hint is not None,
                at, weight, self._log, total, self._stamp, self._mark, self._then,
            )  # fmt: skip
            if stuck < 0:
                break
            x = at[stuck : stuck + 1]
            if not self.product.expandable(x).size:  # nothing is known beyond
                worst = self.values.worst[x[0]]
                total[EARNED] += weight[stuck] * worst
                total[DOUBT] += weight[stuck] * (self.values.value[x[0]] - worst)
                at[stuck] = END
                continue
            self.values.expand(x)
            self._make_room()
        steps = total[STEPS] + 2 / (1 - self.discount) + len(self.starts)
        self.rounding = max(self.rounding, 4 * EPSILON * steps * (total[GROSS] + abs(self.paid)))

    @property
    def product_is_full(self) -> bool:
        """True if no more states fit in the memory allowed."""
        return len(self.product) > self.product.most_states

    def _make_room(self) -> None:
        """Arrays by state and by class as long as the product needs."""
        self._klass = self.classes.update()
        room = len(self.product.states.place)
        if len(self._mark) < room:
            self._mark, self._then = lengthen(self._mark, room), lengthen(self._then, room)
        if len(self._action) < len(self.classes):
            self._action = lengthen(self._action, 2 * len(self.classes), -1)
            self._log = lengthen(self._log, 2 * len(self.classes))

    def _set(self, policy: Policy) -> None:
        if policy:
            self._action[list(policy)] = list(policy.values())

    def _unset(self, policy: Policy) -> None:
        if policy:
            self._action[list(policy)] = -1


def _list_choices(node: _Node | None) -> Policy:
    """The choices of a partial policy."""
    policy = {}
    while node is not None and node.klass >= 0:
        policy[node.klass] = node.action
        node = node.parent
    return policy


class _Branching:
    """Branch and bound over the policies of an explored product, with chance."""

    def __init__(self, values: ValuedProduct, k: int, tolerance: float) -> None:
        self.values, self.product, self.tolerance = values, values.product, tolerance
        self.count = len(self.product)
        self.classes = Classes(self.product, k)
        self.klass = self.classes.update()[: self.count]
        self.steps, self.discount = self.product.steps, values.discount
        self._components = find_components(self.steps.next)
        begin = np.zeros(self.count + 1)
        np.add.at(begin, self.product.starts, self.product.start_probability)
        self.begin = begin[:-1]
        self.found, self.policy, self.nodes = -np.inf, np.zeros(len(self.classes), np.int32), 0
        self.worst = values.worst[: self.count]

    def run(self, deadline: Deadline) -> Loss:
        """Branch until the best policy is known, or time is up, or only the frontier keeps it from being known."""
        numbers, open_bound = count(), -np.inf
        choices = np.full(len(self.classes), -1, np.int32)
        upper = self.values.upper.copy()
        heap = [(-self._at_start(upper), next(numbers), choices, upper)]
        most = MOST_BYTES // (200 + 8 * self.count)
        while heap and -heap[0][0] > self.found + self.tolerance / 2:
            if (deadline.over and self.nodes) or len(heap) > most:
                break
            key, _, choices, upper = heappop(heap)
            self.nodes += 1
            klass = self._choose(choices, upper, deadline)
            if klass < 0:
                open_bound = max(open_bound, -key)
                continue
            for action in range(len(self.product.domain.actions)):
                chosen, above = choices.copy(), upper.copy()
                chosen[klass] = action
                self._tighten(chosen[self.klass], self.worst.copy(), above, deadline)
                bound = self._at_start(above)
                if bound > self.found + self.tolerance / 2:
                    heappush(heap, (-bound, next(numbers), chosen, above))
                else:
                    open_bound = max(open_bound, bound)
        bound = max(self.found, open_bound, -heap[0][0] if heap else -np.inf)
        low, high = self.values.start
        policy = {klass: int(self.policy[klass]) for klass in self._list_reached()}
        slack = self.values.slack
        return Loss(
            max(0.0, low - bound - slack),
            high - self.found + slack,
            policy,
            self.classes,
            self.nodes,
        )

    def _choose(self, choices: Integers, upper: Floats, deadline: Deadline) -> int:
        """Complete a partial policy, keep it if it is the best, and choose the class to branch on; -1 if there is none."""
        gap = self._measure_gaps(upper, upper)
        fixed = choices[self.klass]
        rows = np.flatnonzero(fixed >= 0)
        kept = gap[rows, fixed[rows]]
        gap[rows] = np.inf
        gap[rows, fixed[rows]] = kept
        greedy = gap.argmin(axis=1).astype(np.int32)
        weight = self._measure_occupancy(greedy)
        cost = self._add_up(weight, np.minimum(gap, 1e300))
        policy = np.where(choices >= 0, choices, cost.argmin(axis=1)).astype(np.int32)
        self._try(policy, choices, upper, deadline)
        conflict = cost[np.arange(len(cost)), policy]
        conflict[choices >= 0] = 0.0
        klass = int(conflict.argmax())
        return klass if conflict[klass] > self.tolerance / 64 else -1

    def _try(self, policy: Integers, choices: Integers, upper: Floats, deadline: Deadline) -> None:
        """Evaluate a complete policy, and improve it as long as that gains."""
        for _ in range(IMPROVEMENTS):
            lower = self.worst.copy()
            self._tighten(policy[self.klass], lower, upper.copy(), deadline)
            earned = self._at_start(lower)
            if not earned > self.found + self.tolerance / 16:
                return
            self.found, self.policy = earned, policy
            gain = -self._measure_gaps(lower, lower)
            weight = self._measure_occupancy(policy[self.klass])
            better = self._add_up(weight, gain).argmax(axis=1).astype(np.int32)
            if (choices >= 0).all() or deadline.over:
                return
            upper, choices, policy = self.values.upper, np.full_like(choices, -1), better

    def _measure_gaps(self, value: Floats, following: Floats) -> Floats:
        """[x, action]: by how much an action is worth less than the value; 0 for what was not expanded."""
        low = np.zeros((self.count, self.steps.next.shape[1]))
        high = np.zeros_like(low)
        q_bounds(self.steps, self.discount, following, following, low, high)
        gaps = value[:, np.newaxis] - low
        gaps[~self.product.expanded] = 0.0
        return gaps

    def _measure_occupancy(self, action: Integers) -> Floats:
        """[x]: how often a policy visits each state; a little everywhere, so that unvisited classes have an action, too."""
        action = np.where(self.product.expanded, action, -1).astype(np.int32)
        sweeps = int(min(10_000, 30 / (1 - self.discount) + 1))
        return measure_occupancy(self.steps, self.discount, action, self.begin, sweeps) + 1e-15

    def _add_up(self, weight: Floats, amount: Floats) -> Floats:
        """[class, action]: the weighted sum over the states of each class."""
        total = np.zeros((len(self.classes), amount.shape[1]))
        np.add.at(total, self.klass, weight[:, np.newaxis] * amount)
        return total

    def _tighten(self, only: Integers, lower: Floats, upper: Floats, deadline: Deadline) -> None:
        """Narrow bounds of the values, in place, with one action allowed in some states."""
        precision, slack = self.tolerance / 8, self.values.slack
        narrow(
            self.product,
            self._components,
            self.discount,
            precision,
            slack,
            only,
            lower,
            upper,
            deadline,
        )

    def _at_start(self, value: Floats) -> float:
        return self.product.average_over_starts(value)

    def _list_reached(self) -> list[int]:
        """The classes that the best policy reaches."""
        action = self.policy[self.klass]
        seen = np.zeros(self.count, np.bool_)
        new = np.unique(self.product.starts[self.product.starts != END])
        while new.size:
            seen[new] = True
            ready = new[self.product.expanded[new]]
            happens = self.product.probability[self.product.place[ready], action[ready]] > 0
            after = np.unique(self.product.next[ready, action[ready]][happens])
            new = after[after != END]
            new = new[~seen[new]]
        return list(dict.fromkeys(self.klass[np.flatnonzero(seen)].tolist()))


def bound_policy(values: ExploredValues, loss: Loss) -> Floats:
    """[x]: lower bounds of the values if a policy is followed; -inf for what it does not reach."""
    branching = _Branching(values, loss.classes.k, values.tolerance)
    action = np.full(len(branching.classes), -1, np.int32)
    action[list(loss.policy)] = list(loss.policy.values())
    branching.policy = action
    lower, upper = values.worst.copy(), values.upper.copy()
    branching._tighten(action[branching.klass], lower, upper, Deadline())
    reached = np.isin(branching.klass, list(loss.policy))
    return np.where(reached, lower, -np.inf)
