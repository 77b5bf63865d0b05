"""Witnesses at any height: situations that look alike and want different actions, however deep in the stack they differ.

Exploring a product finds witnesses near the start. Where moves are deterministic, `solve` knows the optimal actions with any stack, so that
situations far away can be judged too. They are made, not searched for: two ways to one place whose stacks differ, then the same moves, which put
the same symbols on both. A pair that works goes further: moves that lead back to the same place push more symbols, and often change nothing else.

A no found here is as good as any other. The states can be reached, because the machine itself was stepped to them; no action that may be optimal in
one may be in the other, beyond twice the proved error of either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from itertools import product as combinations
from math import inf
from random import Random

import numpy as np

from pdrm.analysis.solving import Solution, estimate_seconds, find_solution
from pdrm.analysis.sufficient_k.from_start import Search
from pdrm.analysis.sufficient_k.questions import Situation, describe_start, is_certain
from pdrm.analysis.time_limit import time_left
from pdrm.domains.finite_domain import NO_LABEL
from pdrm.errors import PdrmError
from pdrm.machines.configurations import Configuration
from pdrm.machines.transitions import Stack
from pdrm.product.finite_product import format_word
from pdrm.task import Task

MOST_SOLVING = 10.0
"""Seconds that solving may take, by estimate: what takes longer is not solved for the sake of a witness."""
WAYS, LONGEST = 60, 6
"""Random ways from the start that are compared at once, and their steps at most."""
FROM_WAYS = 0.5
"""The share of random ways that begin on optimal ones, not at a start: where pushing takes many steps, others push nothing."""
MOST_WAYS, MOST_PAIRS = 300, 500
"""Places on optimal ways that are looked at, about, and pairs of them for one k."""
TRIES, NEAR_TRIES = 200, 5
"""Such comparisons for one k; and how many of them, the first, only near the starts, which takes least."""
LONGEST_LOOP = 4
"""Steps of moves that lead back to the same place."""
STEPS = 200_000
"""Of looking for a policy from the start, in all: half of them from the first start, half of the rest from the next."""
MOST_PLACES = 8_000
"""Situations that are judged on the ways from one start: each takes about a millisecond."""
RAISED = 20
"""Places from which circles are tried, for one k."""
CIRCLES = 8
"""Circles that are tried from one place, and ways on from each."""
MOST_FOLLOWED = 5_000
"""Steps at most that an optimal policy is followed."""
HIGHEST = 200
"""Symbols of a stack at most that moves in a circle make: judging higher ones takes long."""


@dataclass(frozen=True, slots=True)
class Place:
    """A configuration that was reached: the environment state, the machine's state and stack; the number of the start, and the actions
    from there."""

    s: int
    state: str
    stack: Stack
    start: int
    way: tuple[int, ...] = ()


Pair = tuple[Place, Place]


@dataclass(frozen=True, slots=True)
class Followed:
    """How long optimal play from the start takes.

    >>> Followed(103, ends=True).exceeds(60), Followed(50, ends=None).exceeds(60), Followed(8, ends=False).exceeds(60)
    (True, None, True)
    """

    steps: int
    """How many were followed, from the start from which it takes longest."""
    ends: bool | None
    """Whether it is over then; False: never, because it goes round in a circle. None: it was followed no further."""

    def exceeds(self, limit: int) -> bool | None:
        """Whether it takes more steps than so many; None where that is not known."""
        if self.ends is False or self.steps > limit:
            return True
        return False if self.ends else None


@dataclass(slots=True)
class HighWitnesses:
    """Looks for pairs of situations that look alike up to k symbols and differ.

    >>> found = HighWitnesses.of(Task("maze-5x5"), 0.99)
    >>> one, other = found.find("everywhere", 3)
    >>> one.seen == other.seen, len(one.seen), set(one.actions) & set(other.actions)
    (True, 3, set())
    """

    solution: Solution
    random: Random = field(default_factory=lambda: Random(0))
    known: dict[str, Pair] = field(default_factory=dict)
    """For each question the pair found last."""
    tries: int = TRIES
    turns: Random = field(default_factory=lambda: Random(0))
    """For moves in a circle: they leave the other ways as they are."""
    _actions: dict[tuple[int, str, Stack], tuple[str, ...]] = field(default_factory=dict)
    _ways: list[Place] | None = None

    @classmethod
    def of(cls, task: Task, discount: float) -> HighWitnesses | None:
        """For a task, if its moves are deterministic, it is small enough and there is time; else None."""
        if not may_apply(task, discount) or estimate_seconds(task, discount) > time_left():
            return None
        try:
            left = time_left()
            return cls(find_solution(task, discount, seconds=None if left == inf else left))
        except PdrmError:  # chance, a move that is not defined, or no time
            return None

    def find(self, question: str, k: int) -> tuple[Situation, Situation] | None:
        """Two situations that prove a no, if they are found in time."""
        for one, other in self._pairs(question, k):
            if self._proves(question, one, other):
                self.known[question] = one, other
                return self._describe(one, k), self._describe(other, k)
            if time_left() <= 0:
                break
        return None

    def _pairs(self, question: str, k: int) -> Iterator[Pair]:
        """Pairs of places that look alike up to k symbols: what was found before with more symbols on it, then new ones."""
        if question in self.known:
            yield from self._go_round(self.known[question], k)
        starts = self.starts()
        if not starts:
            return
        ways: list[Place] = []
        for tried in range(self.tries):
            if time_left() <= 0:
                return
            if tried == NEAR_TRIES:
                ways = self._list_optimal()
                yield from _list_alike(ways, k)
            if k <= 2 * LONGEST:  # long words at random lead nowhere
                yield from self._compare_ways(starts, ways, k)
            if tried < RAISED or k > 2 * LONGEST:
                yield from self._raise_unevenly(
                    question, self.turns.choice(ways if tried % 2 and ways else starts), k
                )

    def _compare_ways(self, starts: list[Place], ways: list[Place], k: int) -> Iterator[Pair]:
        """Pairs that came to one place on different random ways, and then went the same way until they look alike."""
        met: dict[tuple[int, str], dict[Stack, Place]] = {}
        for _ in range(WAYS):
            begin = self.random.choice(
                ways if ways and self.random.random() < FROM_WAYS else starts
            )
            place = self.walk(begin, self._draw(self.random.randint(0, LONGEST)))
            if place is not None:
                met.setdefault((place.s, place.state), {}).setdefault(place.stack, place)
        for places in met.values():
            if len(places) > 1:
                word = self._draw(k + self.random.randint(0, LONGEST - 2))
                one, other = (
                    self.walk(place, word) for place in self.random.sample(list(places.values()), 2)
                )
                if one is not None and other is not None and look_alike(one, other, k):
                    yield one, other

    def _list_optimal(self) -> list[Place]:
        """Some places on optimal ways from the starts, the nearest first; and those that one other action leads to from there."""
        if self._ways is None:
            actions, found = self.solution.domain.actions, dict[tuple[int, str, Stack], Place]()
            new = self.starts()[:MOST_WAYS]
            while new and len(found) < MOST_WAYS and time_left() > 0:
                found.update({(place.s, place.state, place.stack): place for place in new})
                after = (
                    self.walk(one, (actions.index(name),))
                    for one in new
                    for name in self.find_actions(one)
                )
                new = [
                    one
                    for one in after
                    if one is not None and (one.s, one.state, one.stack) not in found
                ]
                new = list({(one.s, one.state, one.stack): one for one in new}.values())[:MOST_WAYS]
            beside = (
                self.walk(place, (action,))
                for place in list(found.values())
                for action in range(len(actions))
            )
            for one in beside:
                if one is not None:
                    found.setdefault((one.s, one.state, one.stack), one)
            self._ways = list(found.values())
        return self._ways

    def _raise_unevenly(self, question: str, start: Place, k: int) -> Iterator[Pair]:
        """Pairs that went round in the same circle until k symbols look alike, one of them far more often, and then the same way: what is best may
        depend on how high the stack is."""
        place = self.walk(start, self._draw(self.turns.randint(0, LONGEST), self.turns))
        if place is None:
            return
        for _ in range(CIRCLES):
            loop = self._draw(self.turns.randint(1, LONGEST_LOOP), self.turns)
            more = self._gain(place, loop)
            if more <= 0:
                continue
            raised, times = [self.walk(place, loop * max(1, -(-k // more)))], 1
            while raised[-1] is not None and len(raised[-1].stack) + times * more <= HIGHEST:
                raised.append(self.walk(raised[-1], loop * times))
                times *= 2
            for _ in range(CIRCLES if len(raised) > 1 else 0):
                word = self._draw(self.turns.randint(0, LONGEST), self.turns)
                one, highest = (
                    None if at is None else self.walk(at, word) for at in (raised[0], raised[-1])
                )
                if one is None or highest is None or not look_alike(one, highest, k):
                    continue
                if self._proves(question, one, highest):  # and perhaps a lower one does
                    others = (self.walk(at, word) for at in raised[1:] if at is not None)
                    yield from (
                        (one, other)
                        for other in others
                        if other is not None and look_alike(one, other, k)
                    )

    def _go_round(self, pair: Pair, k: int) -> Iterator[Pair]:
        """The pair after some moves that lead both back to where they were, again and again until they look alike up to k symbols."""
        if look_alike(*pair, k):
            yield pair
        actions = range(len(self.solution.domain.actions))
        for length in range(1, LONGEST_LOOP + 1):
            for loop in combinations(actions, repeat=length):
                more = self._gain(pair[0], loop)
                times = -(-k // more) if more > 0 else 0
                if 0 < times <= (HIGHEST - len(pair[0].stack)) // more:
                    one, other = (self.walk(place, loop * times) for place in pair)
                    if one is not None and other is not None and look_alike(one, other, k):
                        yield one, other

    def _gain(self, place: Place, loop: tuple[int, ...]) -> int:
        """How many symbols higher the stack is when some moves have led back to the same place; 0 where they do not."""
        after = self.walk(place, loop)
        back = after is not None and (after.s, after.state) == (place.s, place.state)
        return len(after.stack) - len(place.stack) if after is not None and back else 0

    def _proves(self, question: str, one: Place, other: Place) -> bool:
        found = [self.find_actions(place) for place in (one, other)]
        if not set(found[0]) & set(found[1]):
            return True
        if question == "everywhere":
            return False
        values = [self.solution.value(place.s, place.state, place.stack) for place in (one, other)]
        close = sum(self.solution.error_at(len(place.stack)) for place in (one, other))
        return abs(values[0] - values[1]) > 2 * close

    def find_actions(self, place: Place) -> tuple[str, ...]:
        """The actions that may be optimal."""
        here = place.s, place.state, place.stack
        if here not in self._actions:
            self._actions[here] = self.solution.actions(*here)
        return self._actions[here]

    def choose(self, s: int, u: int, stack: tuple[int, ...]) -> int:
        """An optimal action with the whole stack in view, by the numbers of the state and of the symbols (top first)."""
        return int(np.nanargmax(self.solution.solver.action_values(s, u, stack)))

    def follow_optimal(self, most: int = MOST_FOLLOWED) -> Followed:
        """Follow optimal actions from each start until the episode ends, so many steps at most, while there is time. Where one leads round in a
        circle, as one that changes nothing may, another that is as good is tried."""
        actions, longest = self.solution.domain.actions, 0
        for start in self.starts():
            met, ways, ends = set[tuple[int, str, Stack]](), [[start]], False
            while ways and not ends:
                if len(met) == most or time_left() <= 0:
                    return Followed(max(longest, len(ways)), ends=None)
                if not ways[-1]:
                    ways.pop()
                    continue
                place = ways[-1].pop(0)
                if (place.s, place.state, place.stack) in met:
                    continue
                met.add((place.s, place.state, place.stack))
                after = [
                    self.walk(place, (actions.index(name),)) for name in self.find_actions(place)
                ]
                ends = None in after
                if not ends:
                    ways.append([replace(one, way=()) for one in after if one is not None])
            longest = max(longest, len(ways) if ends else len(met))
            if not ends:
                return Followed(longest, ends=False)
        return Followed(longest, ends=True)

    def find_from_start(self, k: int) -> tuple[Situation, ...] | None:
        """Situations that prove that no k-policy is optimal from the start, if that is found in time: whatever may be best on the way from one
        of the starts, it leads to some that look alike and want different actions."""
        steps = STEPS
        for start in self.starts():
            steps //= 2
            space = _Anywhere(self, k, start)
            clash = Search(space, steps).run()
            if isinstance(clash, tuple):
                return tuple(self._describe(space.places[x], k) for x in clash)
        return None

    # --- Going there

    def starts(self) -> list[Place]:
        """Where episodes begin, as far as they are not over at once."""
        domain, machine, found = self.solution.domain, self.solution.machine, []
        arrays = domain.arrays
        for number, s in enumerate(arrays.start_state.tolist()):
            here, label = machine.begin().after, int(arrays.start_label[number])
            if label != NO_LABEL and here.state not in machine.final:
                here = machine.step(here, domain.labels[label]).after
            if (
                arrays.start_probability[number] > 0
                and here.state not in machine.final
                and not arrays.terminal[s]
            ):
                found.append(Place(s, here.state, here.stack, number))
        return found

    def _draw(self, length: int, random: Random | None = None) -> tuple[int, ...]:
        return tuple(
            (random or self.random).choices(range(len(self.solution.domain.actions)), k=length)
        )

    def walk(self, place: Place, actions: tuple[int, ...]) -> Place | None:
        """Where some actions lead, by the readable machine; None where the episode ends before."""
        arrays, machine, labels = (
            self.solution.domain.arrays,
            self.solution.machine,
            self.solution.domain.labels,
        )
        s, here = place.s, Configuration(place.state, place.stack)
        for action in actions:
            outcome = int(arrays.probability[s, action].argmax())
            here = machine.step(here, labels[arrays.label[s, action, outcome]]).after
            s = int(arrays.next[s, action, outcome])
            if here.state in machine.final or arrays.terminal[s]:
                return None
        return Place(s, here.state, here.stack, place.start, (*place.way, *actions))

    def _describe(self, place: Place, k: int) -> Situation:
        solution, domain, arrays = self.solution, self.solution.domain, self.solution.domain.arrays
        value, error = (
            solution.value(place.s, place.state, place.stack),
            solution.error_at(len(place.stack)),
        )
        s, first = int(arrays.start_state[place.start]), int(arrays.start_label[place.start])
        read = [] if first == NO_LABEL else [domain.labels[first]]
        for action in place.way:
            outcome = int(arrays.probability[s, action].argmax())
            read.append(domain.labels[arrays.label[s, action, outcome]])
            s = int(arrays.next[s, action, outcome])
        best = solution.actions(place.s, place.state, place.stack)
        return Situation(
            place.s,
            domain.describe(place.s),
            place.state,
            place.stack,
            place.stack[:k],
            format_word(read),
            tuple(domain.actions[action] for action in place.way),
            best,
            len(best) == 1,
            (value - error, value + error),
            describe_start(domain, place.start),
        )


class _Anywhere:
    """All situations, each numbered when it is reached, with the actions that may be optimal: stacks of any height, up to a limit."""

    def __init__(self, high: HighWitnesses, k: int, start: Place) -> None:
        self.high, self.k, self.start = high, k, start
        self.places: list[Place] = []
        self._number: dict[tuple[int, str, Stack], int] = {}
        self._allowed: dict[int, int] = {}
        self._after: dict[tuple[int, int], list[int]] = {}

    def begin(self) -> list[int]:
        return [self._find(self.start)]

    def allowed(self, x: int) -> int:
        if x not in self._allowed:
            every, names = self.high.solution.domain.actions, self.high.find_actions(self.places[x])
            self._allowed[x] = sum(1 << every.index(name) for name in names)
        return self._allowed[x]

    def follow(self, x: int, action: int) -> list[int]:
        if (x, action) not in self._after:
            after = self.high.walk(self.places[x], (action,))
            self._after[x, action] = [] if after is None else [self._find(after)]
        return self._after[x, action]

    def is_known(self, x: int) -> bool:
        return x < MOST_PLACES and len(self.places[x].stack) <= HIGHEST

    def name(self, x: int) -> tuple[int, str, Stack]:
        place = self.places[x]
        return place.s, place.state, place.stack[: self.k]

    def _find(self, place: Place) -> int:
        x = self._number.setdefault((place.s, place.state, place.stack), len(self.places))
        if x == len(self.places):
            self.places.append(place)
        return x


def _list_alike(places: list[Place], k: int) -> Iterator[Pair]:
    """Pairs of the places that look alike up to k symbols: each with the first that looks like it, and with the last."""
    alike: dict[tuple[int, str, Stack], list[Place]] = {}
    for place in places:
        alike.setdefault((place.s, place.state, place.stack[:k]), []).append(place)
    pairs = (
        (one, other)
        for first, *rest in alike.values()
        for other in rest
        for one in (first, rest[-1])
    )
    yield from islice((pair for pair in pairs if look_alike(*pair, k)), MOST_PAIRS)


def may_apply(task: Task, discount: float) -> bool:
    """Whether witnesses can be looked for.

    >>> may_apply(Task("maze-5x5"), 0.99), may_apply(Task("letter"), 0.99)
    (True, False)
    """
    return (
        is_certain(task.finite)
        and discount > 0
        and estimate_seconds(task, discount) <= MOST_SOLVING
    )


def look_alike(one: Place, other: Place, k: int) -> bool:
    """Whether two places differ, and not in what is seen of them.

    >>> here = Place(0, "u", ("A", "B", "#"), start=0)
    >>> look_alike(here, Place(0, "u", ("A", "#"), start=0), 1), look_alike(here, here, 1)
    (True, False)
    """
    same = (one.s, one.state, one.stack[:k]) == (other.s, other.state, other.stack[:k])
    return same and one.stack != other.stack
