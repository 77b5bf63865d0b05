"""Whether some k-policy is optimal from the start: one allowed action for each class that it reaches itself.

This is NP-hard, so it is a search: actions are chosen for classes as they are reached, and taken back where a state is
reached that does not allow what its class has chosen. What is left to do depends on the states that are still to be dealt with, and on
what was chosen for classes that can be met from there. Where that failed once, it is not tried again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from typing import Protocol

import numpy as np

from pdrm.analysis.optimal import Optimal
from pdrm.analysis.time_limit import time_left
from pdrm.product.finite_kernel import END, Flags, Numbers
from pdrm.product.finite_product import FiniteProduct

Class = tuple[int, int, tuple[int, ...]]
"""Environment state, machine state and the top k symbols, as numbers."""

Rest = tuple[frozenset[int], frozenset[tuple[Hashable, int]]]
"""What is left to do: the states to be dealt with, and the actions of those classes that can be met from there."""

MOST_STEPS = 500_000
"""States visited before the search gives up."""
LOOK = 500
"""States after which it looks at the time."""
PLAINLY = 2_000
"""States after which it notes what failed: most searches are over before."""
MOST_AHEAD = 3_000
"""States that allowed actions lead to, at most, where what failed is noted."""


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
    rest: Rest | None
    """What was left to do, where that is noted."""


def search_policy(optimal: Optimal, allowed: Numbers, k: int) -> Choice | tuple[int, ...] | None:
    """A choice of allowed actions; or states that clash, where there is none; or None where the search gave up, or time is up.

    A state that was not asked about and of which nothing is known is where the policy is cut.
    """
    asked = np.zeros(len(optimal.product), np.bool_)
    asked[optimal.asked] = True
    return Search(
        _Explored(optimal.product, allowed, asked, k, optimal.values.discount > 0), MOST_STEPS
    ).run()


def class_of(product: FiniteProduct, x: int, k: int) -> Class:
    """What a k-policy sees of a product state."""
    states = product.states
    return (
        int(states.place[x]),
        int(states.state[x]),
        product.stacks.stack_of(int(states.node[x]))[:k],
    )


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


class _Ahead:
    """The classes that can be met from each state on, as bits, whichever allowed actions are chosen."""

    def __init__(self, space: Space, known: list[int]) -> None:
        """`known`: all states that can be reached."""
        names = {x: space.name(x) for x in known}
        self.bit = {name: 1 << number for number, name in enumerate(dict.fromkeys(names.values()))}
        self.classes = {x: self.bit[names[x]] for x in known}
        after = {x: _list_after(space, x) for x in known}
        changed = True
        while changed:
            changed = False
            for x in reversed(known):  # what comes later in the list is mostly farther ahead
                met = reduce(or_, (self.classes[y] for y in after[x]), self.classes[x])
                changed |= met != self.classes[x]
                self.classes[x] = met

    @classmethod
    def of(cls, space: Space) -> _Ahead | None:
        """For a space that is small enough, while there is time."""
        known = dict.fromkeys(x for x in space.begin() if space.is_known(x))
        new = list(known)
        while new:
            if time_left() <= 0 or len(known) > MOST_AHEAD:
                return None
            new = list(
                dict.fromkeys(y for x in new for y in _list_after(space, x) if y not in known)
            )
            known.update(dict.fromkeys(new))
        return cls(space, list(known))

    def take_rest(self, states: list[int], action: dict[Hashable, tuple[int, int]]) -> Rest:
        """What is left to do with these states, when these actions are chosen."""
        met = reduce(or_, (self.classes[x] for x in states))
        return frozenset(states), frozenset(
            (name, a) for name, (a, _) in action.items() if self.bit[name] & met
        )


def _list_after(space: Space, x: int) -> list[int]:
    """The states that allowed actions may lead to, as far as they are known."""
    allowed = space.allowed(x)
    actions = (a for a in range(allowed.bit_length()) if allowed >> a & 1)
    return [y for a in actions for y in space.follow(x, a) if space.is_known(y)]


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
    ahead: _Ahead | None = None
    failed: set[Rest] = field(default_factory=set)
    """What cannot be done."""

    def run(self) -> Choice | tuple[int, ...] | None:
        """A choice; or states that clash, where there is none; or None where the search gave up, or time is up."""
        self._reach(self.space.begin())
        clash: tuple[int, ...] = ()
        done = 0
        for step in range(self.most):
            if step % LOOK == 0 and time_left() <= 0:
                return None
            if step == PLAINLY:
                self.ahead = _Ahead.of(self.space)
            if done == len(self.reached):
                return Choice({x: a for a, x in self.action.values()}, self.cut)
            x = self.reached[done]
            name = self.space.name(x)
            allowed = self.space.allowed(x)
            if name not in self.action:
                rest = (
                    None
                    if self.ahead is None
                    else self.ahead.take_rest(self.reached[done:], self.action)
                )
                if rest not in self.failed:
                    left = [a for a in range(allowed.bit_length()) if allowed >> a & 1]
                    self.decisions.append(
                        _Decision(x, left, len(self.reached), done, self.cut, rest)
                    )
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
            if last.rest is not None:
                self.failed.add(last.rest)
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
