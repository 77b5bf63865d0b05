"""What a k-policy is worth from the start, by following it: where moves are deterministic, it goes one way from each start.

The way ends, or comes to where the same will happen again and again, or is followed until what is left counts for nothing. So the value of a policy
is known however high its stacks are, far beyond any explored product, and what the best k-policy loses is at most the rest of V*. The
policies are made, not given: from the optimal actions with the whole stack or those of an explored product, then changed class by class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite

import numpy as np

from pdrm.analysis.time_limit import time_left
from pdrm.domains.finite_domain import NO_LABEL
from pdrm.machines.tables import UNDEFINED_MOVE, begin_table, step_table, tabulate
from pdrm.task import Task

View = tuple[int, int, tuple[int, ...]]
"""What a k-policy sees: environment state, machine state and the top k symbols, the top first, as numbers."""
Policy = dict[View, int]
"""The action for each view."""
Advise = Callable[[int, int, tuple[int, ...]], int]
"""A good action with the whole stack in view: environment state, machine state, stack (top first)."""
Interval = tuple[float, float]

MOST_STEPS = 20_000
"""Steps that a way is followed at most."""
LEFT = 1e-10
"""A way is followed until a later reward counts for less than this share of itself."""
LOOK = 200
"""Steps after which it looks at the time."""
ROUNDING = 1e-13
"""The rounding error of a value, as a share of all that was paid on the way."""


@dataclass(frozen=True, slots=True)
class Way:
    """Where a policy goes from one start: what it is paid, between two bounds, and the views in the order they are reached."""

    value: Interval
    views: list[View]


class Walks:
    """Follows k-policies through a task.

    >>> walks = Walks(Task("maze-5x5"), 0.9, within=(-1e6, 1e6))
    >>> walks.follow(0, {}, lambda s, u, stack: 0).value  # up, into the wall, for ever
    (0.0, 0.0)
    """

    def __init__(self, task: Task, discount: float, within: Interval) -> None:
        """`within`: no policy gets less or more than this from anywhere."""
        self.domain, self.discount, self.within = task.finite, discount, within
        self.actions = range(len(self.domain.actions))
        arrays = self.domain.arrays
        outcome = arrays.probability.argmax(axis=2)[..., None]
        self._label, self._next, self._reward = (
            np.take_along_axis(column, outcome, axis=2)[..., 0].tolist()
            for column in (arrays.label, arrays.next, arrays.reward)
        )
        self._terminal = arrays.terminal.tolist()
        self._table = tabulate(task.pushdown, self.domain.labels)
        table = self._table
        self._move, self._silent, self._target = (
            table.move.tolist(),
            table.silent.tolist(),
            table.target.tolist(),
        )
        self._pops, self._paid = table.pops.tolist(), table.reward.tolist()
        self._push = [
            table.push[move, :count].tolist() for move, count in enumerate(table.pushes.tolist())
        ]
        self._starts = self._list_starts()

    def improve(
        self, k: int, policies: Iterable[Policy], advise: Advise
    ) -> tuple[Interval, Policy]:
        """The best k-policy found, and its value from the start: each of some policies is changed at one view after the other while that is
        better and there is time. Views that a policy does not have get the action that is advised where they are first reached."""
        found = (self._climb(k, dict(given), advise) for given in policies)
        return max(found, key=lambda one: one[0][0], default=(self.within, {}))

    def _climb(self, k: int, policy: Policy, advise: Advise) -> tuple[Interval, Policy]:
        way, done = self.follow(k, policy, advise), set[View]()
        while (
            time_left() > 0
            and (view := next((one for one in way.views if one not in done), None)) is not None
        ):
            done.add(view)
            for action in self.actions:
                changed = {**policy, view: action}
                other = (
                    self.follow(k, changed, advise)
                    if action != policy[view] and time_left() > 0
                    else way
                )
                if other.value[0] > way.value[0] + 1e-9 * abs(way.value[0]):
                    way, policy, done = other, changed, {view}
        return way.value, policy

    def follow(self, k: int, policy: Policy, advise: Advise) -> Way:
        """Follow a policy from every start; it is given the actions that are advised, where it has none."""
        low = high = 0.0
        views: dict[View, None] = {}
        for chance, paid, s, u, stack in self._starts:
            value = self._walk(k, policy, advise, views, s, u, list(reversed(stack)))
            low, high = low + chance * (paid + value[0]), high + chance * (paid + value[1])
        return Way((low, high), list(views))

    def _walk(
        self,
        k: int,
        policy: Policy,
        advise: Advise,
        views: dict[View, None],
        s: int,
        u: int,
        stack: list[int],
    ) -> Interval:
        """The value of one way. The stack's top is the last symbol here."""
        total, size, weight, final = 0.0, 0.0, 1.0, self._table.first_final
        seen = max(k, 1)  # the machine sees the top
        mark, at_mark, lowest, again = (s, u, tuple(stack)), (0.0, 1.0), len(stack), 1
        for step in range(MOST_STEPS):
            if u >= final or self._terminal[s]:
                return _widen(total, total, size)
            if weight < LEFT or (step % LOOK == LOOK - 1 and time_left() <= 0):
                break
            if step and (s, u) == mark[:2] and _repeats(mark[2], stack, lowest, seen):
                # The same will happen for ever, each time discounted by as much.
                before, then = at_mark
                value = before + (total - before) / (1 - weight / then)
                return _widen(value, value, size / (1 - weight / then))
            if step == again:  # ways that repeat themselves later are seen to from a later mark
                mark, at_mark, lowest, again = (
                    (s, u, tuple(stack)),
                    (total, weight),
                    len(stack),
                    2 * again,
                )
            view = s, u, tuple(stack[: -k - 1 : -1])
            views.setdefault(view)
            if view not in policy:
                policy[view] = advise(s, u, tuple(reversed(stack)))
            action = policy[view]
            move = self._move[u][self._label[s][action]][stack[-1] if stack else 0]
            if move == UNDEFINED_MOVE:
                break
            paid, s = self._reward[s][action], self._next[s][action]
            while move != UNDEFINED_MOVE:  # and then silent ones
                paid += self._paid[move]
                if self._pops[move]:
                    stack.pop()
                lowest = min(lowest, len(stack))
                stack.extend(self._push[move])
                u = self._target[move]
                move = self._silent[u][stack[-1] if stack else 0] if u < final else UNDEFINED_MOVE
            total, size, weight = (
                total + weight * paid,
                size + weight * abs(paid),
                weight * self.discount,
            )
        return _widen(total + weight * self.within[0], total + weight * self.within[1], size)

    def _list_starts(self) -> list[tuple[float, float, int, int, tuple[int, ...]]]:
        """Each start: its chance, what is paid there, and its configuration."""
        arrays, table, found = self.domain.arrays, self._table, []
        columns = arrays.start_probability, arrays.start_state, arrays.start_label
        for chance, s, label in zip(*(column.tolist() for column in columns), strict=True):
            u, stack, paid = begin_table(table)
            if label != NO_LABEL and u < table.first_final:
                after = step_table(table, u, stack, label)
                u, stack, paid = after.state, after.stack, paid + after.reward
            if chance > 0:
                found.append((chance, paid, s, u, stack))
        every = sum(one[0] for one in found)
        return [(chance / every, *rest) for chance, *rest in found]


def _repeats(before: tuple[int, ...], stack: list[int], lowest: int, seen: int) -> bool:
    """Whether the same will happen as after a mark: the stack is the same, or nothing was seen of what lies below its top symbols then, and
    these are the same now."""
    if lowest < len(before):  # a symbol below the top of then was seen
        return len(before) == len(stack) and before == tuple(stack)
    return before[-seen:] == tuple(stack[-seen:]) and (
        len(before) >= seen or len(before) == len(stack)
    )


def _widen(low: float, high: float, size: float) -> Interval:
    """An interval that holds the value in spite of rounding."""
    slack = ROUNDING * size if isfinite(size) else 0.0
    return low - slack, high + slack
