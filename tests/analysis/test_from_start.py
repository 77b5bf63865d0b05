"""The search for a policy that is optimal from the start: it finds what trying every policy finds, also where it notes what failed."""

from itertools import product
from random import Random

import pytest

from pdrm.analysis.sufficient_k import from_start
from pdrm.analysis.sufficient_k.from_start import Choice, Search
from pdrm.analysis.time_limit import limit_time


class Drawn:
    """States, their classes, the actions that are allowed and where they lead, all drawn at random; some states are not known."""

    def __init__(self, random):
        self.count, self.actions = random.randint(2, 9), random.randint(1, 3)
        states = range(self.count)
        self.class_of = [random.randrange(random.randint(1, 5)) for _ in states]
        self.bits = [random.randrange(1, 1 << self.actions) for _ in states]
        self.unknown = {x for x in states if random.random() < 0.05}
        self.after = {
            (x, a): random.sample(states, random.choice((0, 1, 1, 1, 2)))
            for x in states
            for a in range(self.actions)
        }
        self.first = random.sample(states, random.randint(1, 2))

    def begin(self):
        return self.first

    def allowed(self, x):
        return self.bits[x]

    def follow(self, x, action):
        return self.after[x, action]

    def is_known(self, x):
        return x not in self.unknown

    def name(self, x):
        return self.class_of[x]

    def may_be_chosen(self, action):
        """Whether one action for each class is allowed wherever it leads."""
        new = [x for x in self.first if self.is_known(x)]
        met = set(new)
        while new:
            x = new.pop()
            if not self.bits[x] >> action[self.class_of[x]] & 1:
                return False
            after = [
                y
                for y in self.after[x, action[self.class_of[x]]]
                if self.is_known(y) and y not in met
            ]
            met.update(after)
            new += after
        return True

    def is_possible(self):
        classes = sorted(set(self.class_of))
        chosen = product(range(self.actions), repeat=len(classes))
        return any(self.may_be_chosen(dict(zip(classes, one, strict=True))) for one in chosen)


@pytest.mark.parametrize("plainly", [0, 3, 10_000])
def test_it_finds_what_trying_every_policy_finds(monkeypatch, plainly):
    monkeypatch.setattr(from_start, "PLAINLY", plainly)
    counted = {True: 0, False: 0}
    for seed in range(1_500):
        space = Drawn(Random(seed))
        search = Search(space, 100_000)
        found, possible = search.run(), space.is_possible()
        counted[possible] += 1
        assert isinstance(found, Choice) == possible, seed
        if isinstance(found, Choice):
            action = {space.name(x): a for x, a in found.action.items()}
            assert space.may_be_chosen({name: action.get(name, 0) for name in space.class_of}), seed
        else:
            assert len({space.name(x) for x in found}) == 1, seed
    assert min(counted.values()) > 100


class Ladder:
    """Many steps, each with two actions that lead to the same place, to an end where two states that look alike want different actions."""

    def __init__(self, steps):
        self.steps = steps

    def begin(self):
        return [0]

    def allowed(self, x):
        return {self.steps: 1, self.steps + 1: 2}.get(x, 3)

    def follow(self, x, _action):
        return [x + 1] if x <= self.steps else []

    def is_known(self, _x):
        return True

    def name(self, x):
        return min(x, self.steps)


def test_what_failed_is_not_tried_again(monkeypatch):
    assert Search(Ladder(60), 20_000).run() == (60, 61)
    monkeypatch.setattr(from_start, "PLAINLY", 20_000)
    assert Search(Ladder(60), 20_000).run() is None


def test_a_space_that_is_too_large_is_searched_plainly(monkeypatch):
    monkeypatch.setattr(from_start, "MOST_AHEAD", 10)
    assert Search(Ladder(60), 20_000).run() is None
    assert Search(Ladder(8), 20_000).run() == (8, 9)


def test_when_time_is_up_it_gives_up():
    with limit_time(0):
        assert Search(Ladder(60), 20_000).run() is None
