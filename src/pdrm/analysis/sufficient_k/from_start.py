"""Whether some k-policy is optimal from the start: one allowed action for each class that it reaches itself.

This is NP-hard, so it is a search: actions are chosen for classes as they are reached, and taken back where a state is
reached that does not allow what its class has chosen.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import Protocol

import numpy as np

from pdrm.analysis.optimal import Optimal
from pdrm.analysis.time_limit import time_left
from pdrm.product.finite_kernel import END, Flags, Numbers
from pdrm.product.finite_product import FiniteProduct

Class = tuple[int, int, tuple[int, ...]]
"""Environment state, machine state and the top k symbols, as numbers."""

MOST_STEPS = 500_000
"""States visited before the search gives up."""
LOOK = 500
"""States after which it looks at the time."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A policy that is allowed wherever it leads."""

    action: dict[int, int]
    """The action of each class it reaches, by a member of it."""
    cut: bool
    """Whether it leads to states of which nothing is known."""


@dataclass(slots=True)
class _Decision:
    """A class that was given an action at a state: what is left to try, and what to undo."""

    x: int
    left: list[int]
    reached: int
    """How many states had been reached before."""
    done: int
    """How many of them had been dealt with before this one."""
    cut: bool


def search_policy(optimal: Optimal, allowed: Numbers, k: int) -> Choice | tuple[int, ...] | None:
    """A choice of allowed actions; or states that clash, where there is none; or None where the search gave up, or time is up.

    A state that was not asked about and of which nothing is known is where the policy is cut.
    """
    asked = np.zeros(len(optimal.product), np.bool_)
    asked[optimal.asked] = True
    return Search(_Explored(optimal.product, allowed, asked, k, optimal.values.discount > 0), MOST_STEPS).run()


def class_of(product: FiniteProduct, x: int, k: int) -> Class:
    """What a k-policy sees of a product state."""
    states = product.states
    return int(states.place[x]), int(states.state[x]), product.stacks.stack_of(int(states.node[x]))[:k]


class Space(Protocol):
    """Where a policy is searched for: states as numbers."""

    def begin(self) -> list[int]:
        """The states that episodes begin in, each once."""

    def allowed(self, x: int) -> int:
        """The actions that are allowed in a state, as bits."""

    def follow(self, x: int, action: int) -> list[int]:
        """The states that an action may lead to; none where the episode ends."""

    def is_known(self, x: int) -> bool:
        """Whether it is known what is allowed in a state: a policy is cut where it is not."""

    def name(self, x: int) -> Hashable:
        """The class of a state."""


@dataclass(frozen=True, slots=True)
class _Explored:
    """The states of a product that has been explored."""

    product: FiniteProduct
    actions: Numbers
    asked: Flags
    k: int
    ahead: bool
    """Whether what comes after a step counts: with a discount of 0 it does not."""
    names: dict[int, Class] = field(default_factory=dict)

    def begin(self) -> list[int]:
        return [x for x in np.unique(self.product.starts).tolist() if x != END]

    def allowed(self, x: int) -> int:
        return int(self.actions[x])

    def follow(self, x: int, action: int) -> list[int]:
        return [y for y in self.product.next[x, action].tolist() if y != END] if self.ahead else []

    def is_known(self, x: int) -> bool:
        return bool(self.asked[x] or (self.product.states.expanded[x] and self.actions[x]))

    def name(self, x: int) -> Class:
        if x not in self.names:
            self.names[x] = class_of(self.product, x, self.k)
        return self.names[x]


@dataclass(slots=True)
class Search:
    """The search: states in the order they are reached, and the decisions that led there."""

    space: Space
    most: int
    """States visited before it gives up."""
    reached: list[int] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    action: dict[Hashable, tuple[int, int]] = field(default_factory=dict)
    """Class -> its action and the state that it was chosen at."""
    decisions: list[_Decision] = field(default_factory=list)
    cut: bool = False

    def run(self) -> Choice | tuple[int, ...] | None:
        """A choice; or states that clash, where there is none; or None where the search gave up, or time is up."""
        self._reach(self.space.begin())
        clash: tuple[int, ...] = ()
        done = 0
        for step in range(self.most):
            if step % LOOK == 0 and time_left() <= 0:
                return None
            if done == len(self.reached):
                return Choice({x: a for a, x in self.action.values()}, self.cut)
            x = self.reached[done]
            name = self.space.name(x)
            allowed = self.space.allowed(x)
            if name not in self.action:
                left = [a for a in range(allowed.bit_length()) if allowed >> a & 1]
                self.decisions.append(_Decision(x, left, len(self.reached), done, self.cut))
            elif allowed >> self.action[name][0] & 1:
                self._follow(x, self.action[name][0])
                done += 1
                continue
            else:
                clash = self._choose_plainer(clash, self._find_clash(done, name))
            following = self._next_choice()
            if following is None:
                return clash or (x,)
            done = following
        return None

    def _next_choice(self) -> int | None:
        """Take the next untried action, going back as far as necessary; how many states are dealt with then."""
        while self.decisions:
            last = self.decisions[-1]
            self.seen.difference_update(self.reached[last.reached :])
            del self.reached[last.reached :]
            self.cut = last.cut
            if last.left:
                a = last.left.pop(0)
                self.action[self.space.name(last.x)] = a, last.x
                self._follow(last.x, a)
                return last.done + 1
            self.action.pop(self.space.name(last.x), None)
            self.decisions.pop()
        return None

    def _follow(self, x: int, action: int) -> None:
        self._reach(self.space.follow(x, action))

    def _reach(self, after: list[int]) -> None:
        """Note the states a step leads to."""
        for y in after:
            if y in self.seen:
                continue
            if self.space.is_known(y):
                self.seen.add(y)
                self.reached.append(y)
            else:
                self.cut = True

    def _choose_plainer(self, one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
        """Of two clashes the plainer: one whose states allow no action in common."""
        plain = bool(one) and not self._find_common(one)
        return one if plain or (one and self._find_common(other)) else other

    def _find_common(self, states: Iterable[int]) -> int:
        """The actions that are allowed in all of some states."""
        return reduce(and_, map(self.space.allowed, states))

    def _find_clash(self, done: int, name: Hashable) -> tuple[int, ...]:
        """The states of one class that were reached and do not agree: two of them where two do not."""
        *earlier, last = (x for x in self.reached[: done + 1] if self.space.name(x) == name)
        for x in earlier:
            if not self.space.allowed(x) & self.space.allowed(last):
                return x, last
        return *earlier, last
