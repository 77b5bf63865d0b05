"""Whether some k-policy is optimal from the start: one allowed action for each class that it reaches itself.

This is NP-hard, so it is a search: actions are chosen for classes as they are reached, and taken back where a state is
reached that does not allow what its class has chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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
    return _Search(optimal.product, allowed, asked, k, optimal.values.discount > 0).run()


def class_of(product: FiniteProduct, x: int, k: int) -> Class:
    """What a k-policy sees of a product state."""
    states = product.states
    return int(states.place[x]), int(states.state[x]), product.stacks.stack_of(int(states.node[x]))[:k]


@dataclass(slots=True)
class _Search:
    """The search: states in the order they are reached, and the decisions that led there."""

    product: FiniteProduct
    allowed: Numbers
    asked: Flags
    k: int
    ahead: bool
    """Whether what comes after a step counts: with a discount of 0 it does not."""
    reached: list[int] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    action: dict[Class, tuple[int, int]] = field(default_factory=dict)
    """Class -> its action and the state that it was chosen at."""
    decisions: list[_Decision] = field(default_factory=list)
    cut: bool = False
    names: dict[int, Class] = field(default_factory=dict)

    def run(self) -> Choice | tuple[int, ...] | None:
        self._reach(np.unique(self.product.starts).tolist())
        clash: tuple[int, ...] = ()
        done = 0
        for step in range(MOST_STEPS):
            if step % LOOK == 0 and time_left() <= 0:
                return None
            if done == len(self.reached):
                return Choice({x: a for a, x in self.action.values()}, self.cut)
            x = self.reached[done]
            name = self._class(x)
            if name not in self.action:
                left = [a for a in range(int(self.allowed[x]).bit_length()) if self.allowed[x] >> a & 1]
                self.decisions.append(_Decision(x, left, len(self.reached), done, self.cut))
            elif self.allowed[x] >> self.action[name][0] & 1:
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
                self.action[self._class(last.x)] = a, last.x
                self._follow(last.x, a)
                return last.done + 1
            self.action.pop(self._class(last.x), None)
            self.decisions.pop()
        return None

    def _follow(self, x: int, action: int) -> None:
        if self.ahead:
            self._reach(self.product.next[x, action].tolist())

    def _reach(self, after: list[int]) -> None:
        """Note the states a step leads to."""
        for y in after:
            if y == END or y in self.seen:
                continue
            if self.asked[y] or (self.product.states.expanded[y] and self.allowed[y]):
                self.seen.add(y)
                self.reached.append(y)
            else:
                self.cut = True

    def _class(self, x: int) -> Class:
        if x not in self.names:
            self.names[x] = class_of(self.product, x, self.k)
        return self.names[x]

    def _choose_plainer(self, one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
        """Of two clashes the plainer: one whose states allow no action in common."""
        plain = bool(one) and not np.bitwise_and.reduce(self.allowed[list(one)])
        return one if plain or (one and np.bitwise_and.reduce(self.allowed[list(other)])) else other

    def _find_clash(self, done: int, name: Class) -> tuple[int, ...]:
        """The states of one class that were reached and do not agree: two of them where two do not."""
        *earlier, last = (x for x in self.reached[: done + 1] if self._class(x) == name)
        for x in earlier:
            if not self.allowed[x] & self.allowed[last]:
                return x, last
        return *earlier, last
