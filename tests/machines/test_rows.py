from random import Random

import pytest

from pdrm.errors import UndefinedMove, UnknownEvent
from pdrm.language.loading import catalogue, catalogue_names
from pdrm.machines import tables
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Rows
from tests.properties.random_machines import described, random_machine


def outcome(function):
    """What a step gives, rewards to the last bit, or the message it fails with."""
    try:
        state, stack, reward = function()
    except UndefinedMove as error:
        return str(error)
    return state, stack, reward.hex()


def readable(step):
    return step.after.state, step.after.stack, float(step.reward)


def assert_alike(machine, random, steps):
    quick = Rows(machine)
    labels = list(machine.alphabet.labels())
    here = machine.begin().after
    assert outcome(quick.begin) == outcome(lambda: readable(machine.begin())), described(machine)
    for _ in range(steps):
        if here.state in machine.final:
            here = machine.begin().after
            if here.state in machine.final:
                return
        label = random.choice(labels)
        expected = outcome(lambda now=here, read=label: readable(machine.step(now, read)))
        found = outcome(lambda now=here, read=label: quick.step(now.state, now.stack, read))
        assert found == expected, described(machine)
        here = (
            machine.begin().after if isinstance(expected, str) else machine.step(here, label).after
        )


def check_it_is_the_readable_step(seed):
    random = Random(seed)
    assert_alike(random_machine(random), random, steps=60)


def test_it_is_the_readable_step():
    for seed in range(150):
        check_it_is_the_readable_step(seed)


def test_it_is_the_readable_step_on_the_catalogue():
    for machine in map(catalogue, catalogue_names()):
        if isinstance(machine, PushdownRewardMachine):
            assert_alike(machine, Random(0), steps=500)


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(tables, "MOST_KEPT", 3)
    assert_alike(random_machine(Random(1)), Random(1), steps=300)


def test_an_unknown_event_is_an_error_every_time():
    quick = Rows(catalogue("letter"))
    for _ in range(2):
        with pytest.raises(UnknownEvent):
            quick.step("u0", ("#",), frozenset(["D"]))
