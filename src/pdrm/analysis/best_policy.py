"""The loss of the best deterministic k-policy from the start: bounds that hold whenever the search is stopped.

If moves have no chance, by best-first search. A node is a partial k-policy, played when it is made as far as it knows. Its key is
what it has earned and the optimal value of where each episode stands: no completion earns more. The search ends when the highest
key is at most the best complete policy. Complete ones are improved by changing the action of one class at a time.

With chance, by branch and bound. The bound of a partial policy is the optimal start value of the explored product in which its
classes allow only their action. Branching is on the class that the greedy policy treats differently and visits most.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import ceil, inf
from typing import NamedTuple

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.graph_kernel import find_components
from pdrm.analysis.play_kernel import DOUBT, EARNED, GROSS, STEPS, TOTALS, classify, play
from pdrm.analysis.values import SolvedValues, ValuedProduct, narrow
from pdrm.analysis.values_kernel import measure_occupancy
from pdrm.arrays import lengthen
from pdrm.machines.stacks import OK
from pdrm.machines.tables import Integers
from pdrm.product.finite_kernel import END, Floats, Numbers
from pdrm.product.finite_product import FiniteProduct
from pdrm.product.hash_kernel import Index

EPSILON = float(np.finfo(np.float64).eps)
MOST_BYTES = 2**30
"""Memory for the nodes of a search, about."""
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
    if isinstance(values, SolvedValues):
        return _PolicySearch(values, k, before, tolerance).run(deadline)
    return _Branching(values, k, tolerance).run(deadline)


def find_action_values(values: ValuedProduct, value: Floats) -> Floats:
    """[x, action]: the reward of each action and the discounted value after it; the value itself if nothing was expanded."""
    product = values.product
    later = np.where(product.next != END, value[product.next], 0.0)
    paid = product.probability[product.place] * (product.reward + values.discount * later)
    return np.where(product.expanded[:, np.newaxis], paid.sum(axis=2), value[:, np.newaxis])


class OpenEpisodes(NamedTuple):
    """Where the episode of each start stands."""

    at: Numbers
    """[start]: the state, or END if it is over."""
    weight: Floats
    """[start]: its chance, discounted."""
    total: Floats
    """[TOTALS]: the sums of `play`."""


Choices = tuple[int, int, "Choices"] | None
"""The classes and actions of a partial policy, the last one first."""


class _PolicySearch:
    """Best-first search and local search, for moves without chance."""

    def __init__(self, values: SolvedValues, k: int, before: Loss | None, tolerance: float) -> None:
        self.values, self.product, self.tolerance = values, values.product, tolerance
        self.classes = Classes(self.product, k)
        live = np.flatnonzero(self.product.starts != END)
        self.starts = self.product.starts[live]
        self.chances = self.product.start_probability[live]
        self.paid = float((self.product.start_probability * self.product.start_paid).sum())
        self.rounding, self.nodes = 0.0, 0
        self._stamp, self._mark = np.ones(1, np.int64), np.zeros(0, np.int64)
        self._then, self._seen = np.zeros((0, 2)), np.zeros(0, np.bool_)
        self._action = np.zeros(0, np.int32)
        self._make_room()
        self.policy: Policy = {}
        self.found = -inf
        self._keep({})
        if before is not None:
            coarse = before.classes.update()[self.classes.member[: len(self.classes)]].tolist()
            known = before.policy
            self._keep({klass: known[one] for klass, one in enumerate(coarse) if one in known})

    def run(self, deadline: Deadline) -> Loss:
        """Search until the best policy is known, or until time is up."""
        self._improve(deadline.share(LOCAL))
        bound = self._search(deadline)
        low, high = self.values.start
        lost = self.values.error + self.rounding
        least = max(0.0, low - max(bound, self.found) - lost)
        return Loss(least, high - self.found + lost, self.policy, self.classes, self.nodes)

    def _search(self, deadline: Deadline) -> float:
        """Expand the partial policy with the highest key until none is above the best complete one; returns the highest key."""
        numbers, dropped = count(), -inf
        begin = self._begin()
        heap: list[tuple[int, int, int, float, Choices, OpenEpisodes]] = []
        heappush(heap, (0, 0, next(numbers), self._bound(begin), None, begin))
        most = MOST_BYTES // (300 + 16 * len(self.starts))
        while heap and heap[0][3] > self.found + self.tolerance / 2:
            if deadline.over or len(heap) > most or len(self.product) > self.product.most_states:
                break
            _, size, _, _, choices, episodes = heappop(heap)
            self.nodes += 1
            policy, rest = Policy(), choices
            while rest is not None:
                klass, action, rest = rest
                policy[klass] = action
            if self.nodes % BETWEEN == 0 and self._keep(policy):
                self._improve(deadline.within(1.0))
            going = episodes.at != END
            classes = self._klass[episodes.at[going]]
            klass = int(np.bincount(classes, episodes.weight[going]).argmax())
            for action in range(len(self.product.domain.actions)):
                after = OpenEpisodes._make(array.copy() for array in episodes)
                self._play({**policy, klass: action}, after, complete=False)
                key = self._bound(after)
                if (after.at == END).all():
                    self._keep({**policy, klass: action})
                elif key > self.found + self.tolerance / 2:
                    rank = -ceil(4 * key / self.tolerance)
                    chosen = klass, action, choices
                    heappush(heap, (rank, size - 1, next(numbers), key, chosen, after))
                    continue
                dropped = max(dropped, key)
        return max(dropped, *(node[3] for node in heap), -inf)

    def _bound(self, episodes: OpenEpisodes) -> float:
        """The most that a completion may earn."""
        going, total = episodes.at != END, episodes.total
        later = episodes.weight[going] * self.values.value[episodes.at[going]]
        return float(total[EARNED] + total[DOUBT] + later.sum())

    def _improve(self, deadline: Deadline) -> None:
        """Change the action of one class at a time, as long as that gains."""
        better = True
        while better:
            better = False
            for klass in list(self.policy):
                for action in range(len(self.product.domain.actions)):
                    if deadline.over:
                        return
                    better |= self._keep({**self.policy, klass: action})

    def _keep(self, policy: Policy) -> bool:
        """Complete a policy greedily, and keep it if it is better than the best so far by more than a rounding."""
        episodes = self._begin()
        self._play(policy, episodes, complete=True)
        reached = np.flatnonzero(self._seen)
        self._seen[reached] = False
        better = bool(episodes.total[EARNED] > self.found + self.tolerance / 16)
        if better:
            self.found = float(episodes.total[EARNED])
            self.policy = dict(zip(reached.tolist(), self._action[reached].tolist(), strict=True))
        return better

    def _begin(self) -> OpenEpisodes:
        """The episodes before their first step."""
        total = np.zeros(TOTALS)
        total[EARNED] = self.paid
        return OpenEpisodes(self.starts.copy(), self.chances.copy(), total)

    def _play(self, policy: Policy, episodes: OpenEpisodes, *, complete: bool) -> None:
        """Play episodes in place, expanding what is reached for the first time; if `complete`, greedily where the policy does not know."""
        self._action.fill(-1)
        self._action[list(policy)] = list(policy.values())
        self._stamp[0] += 1
        states, gap, cut = self.product.states, 1 - self.values.discount, self.tolerance / 16
        while True:
            stuck = play(
                states.next, states.reward, states.expanded, self.values.value, self.values.worst, self.values.discount,
                cut / max(1, len(self.starts)), self._klass, self._action, complete, *episodes,
                self._stamp, self._mark, self._then, self._seen,
            )  # fmt: skip
            if stuck < 0:
                break
            x = self.product.expandable(episodes.at[stuck : stuck + 1])
            self.values.expand(x)
            self._make_room()
            states = self.product.states
            if not x.size:  # nothing is known beyond
                at, weight = episodes.at[stuck], episodes.weight[stuck]
                doubt = self.values.value[at] - self.values.worst[at]
                episodes.total[[EARNED, DOUBT]] += weight * self.values.worst[at], weight * doubt
                episodes.at[stuck] = END
        steps = episodes.total[STEPS] + 2 / gap + len(self.starts)
        size = episodes.total[GROSS] + abs(self.paid)
        self.rounding = max(self.rounding, 4 * EPSILON * float(steps * size))

    def _make_room(self) -> None:
        """Arrays by state and by class as long as the product needs."""
        self._klass = self.classes.update()
        room = len(self.product.states.place)
        if len(self._mark) < room:
            self._mark, self._then = lengthen(self._mark, room), lengthen(self._then, room)
            self._action = lengthen(self._action, room, -1)
            self._seen = lengthen(self._seen, room)


class _Branching:
    """Branch and bound over the policies of an explored product, with chance."""

    def __init__(self, values: ValuedProduct, k: int, tolerance: float) -> None:
        self.values, self.product, self.tolerance = values, values.product, tolerance
        self.count = len(self.product)
        self.classes = Classes(self.product, k)
        self.klass = self.classes.update()[: self.count]
        self._components = find_components(self.product.next)
        begin = np.zeros(self.count + 1)
        np.add.at(begin, self.product.starts, self.product.start_probability)
        self.begin = begin[:-1]
        self.found, self.nodes = -inf, 0
        self.policy = np.zeros(len(self.classes), np.int64)

    def run(self, deadline: Deadline) -> Loss:
        """Branch until the best policy is known, or time is up, or only the frontier keeps it from being known."""
        numbers, open_bound = count(), -inf
        start = self.product.average_over_starts
        choices = np.full(len(self.classes), -1)
        upper = self.values.upper.copy()
        heap = [(-start(upper), next(numbers), choices, upper)]
        most = MOST_BYTES // (200 + 8 * self.count)
        while heap and -heap[0][0] > self.found + self.tolerance / 2:
            if (deadline.over and self.nodes) or len(heap) > most:
                break
            key, _, choices, upper = heappop(heap)
            self.nodes += 1
            klass = self._choose(choices, upper, deadline)
            if klass is None:
                open_bound = max(open_bound, -key)
                continue
            for action in range(len(self.product.domain.actions)):
                chosen, above = choices.copy(), upper.copy()
                chosen[klass] = action
                self.tighten(chosen, np.full(self.count, inf), above, deadline)
                bound = start(above)
                if bound > self.found + self.tolerance / 2:
                    heappush(heap, (-bound, next(numbers), chosen, above))
                else:
                    open_bound = max(open_bound, bound)
        bound = max(self.found, open_bound, -heap[0][0] if heap else -inf)
        low, high = self.values.start
        slack = self.values.slack
        reached = self.klass[self.find_reached()].tolist()
        policy = {klass: int(self.policy[klass]) for klass in reached}
        least = max(0.0, low - bound - slack)
        return Loss(least, high - self.found + slack, policy, self.classes, self.nodes)

    def _choose(self, choices: Numbers, upper: Floats, deadline: Deadline) -> int | None:
        """Complete a partial policy, keep it if it is the best, and choose the class to branch on, if there is one."""
        gap = upper[:, np.newaxis] - find_action_values(self.values, upper)
        fixed = choices[self.klass]
        cost = self._add_up(np.where(fixed >= 0, fixed, gap.argmin(axis=1)), gap)
        policy = np.where(choices >= 0, choices, cost.argmin(axis=1))
        conflict = np.where(choices >= 0, 0.0, cost.min(axis=1))
        for _ in range(IMPROVEMENTS):
            lower = self.values.worst[: self.count].copy()
            self.tighten(policy, lower, np.full(self.count, -inf), deadline)
            earned = self.product.average_over_starts(lower)
            if not earned > self.found + self.tolerance / 16:
                break
            self.found, self.policy = earned, policy
            gain = self._add_up(policy[self.klass], find_action_values(self.values, lower))
            policy = gain.argmax(axis=1)
        klass = int(conflict.argmax())
        return klass if conflict[klass] > self.tolerance / 64 else None

    def _add_up(self, action: Numbers, amount: Floats) -> Floats:
        """[class, action]: the sum over the states of each class, weighted by how often a policy visits them (and a little more)."""
        chosen = np.where(self.product.expanded, action, -1).astype(np.int32)
        sweeps = int(min(10_000, 30 / (1 - self.values.discount) + 1))
        steps, discount = self.product.steps, self.values.discount
        weight = measure_occupancy(steps, discount, chosen, self.begin, sweeps) + 1e-15
        total = np.zeros((len(self.classes), amount.shape[1]))
        np.add.at(total, self.klass, weight[:, np.newaxis] * amount)
        return total

    def tighten(self, policy: Numbers, lower: Floats, upper: Floats, deadline: Deadline) -> None:
        """Narrow bounds of the values, in place, with one action allowed in some classes (-1: with all)."""
        only, precision = policy[self.klass].astype(np.int32), self.tolerance / 8
        discount, slack = self.values.discount, self.values.slack
        narrow(
            self.product,
            self._components,
            discount,
            precision,
            slack,
            only,
            lower,
            upper,
            deadline,
        )

    def find_reached(self) -> Numbers:
        """The states that the best policy reaches."""
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
        return np.flatnonzero(seen)


def bound_policy(values: ValuedProduct, loss: Loss, floor: Floats) -> tuple[Numbers, Floats]:
    """The expanded states that a policy reaches, and [x]: lower bounds of the values if it is followed; `floor`: any policy's."""
    branching = _Branching(values, loss.classes.k, values.tolerance)
    branching.policy = np.full(len(branching.classes), -1)
    branching.policy[list(loss.policy)] = list(loss.policy.values())
    lower = np.array(floor[: branching.count])
    branching.tighten(branching.policy, lower, values.upper.copy(), Deadline())
    reached = branching.find_reached()
    return reached[values.product.expanded[reached]], lower
