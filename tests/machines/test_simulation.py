from __future__ import annotations

import pytest

from pdrm.errors import UnknownConfiguration
from pdrm.machines.configurations import Configuration
from pdrm.machines.conversions import (
    counting_configuration,
    decode,
    encode,
    pushdown_configuration,
    pushdown_to_counting,
)
from pdrm.machines.counting import CountingConfiguration
from pdrm.machines.guards import SILENT, Exactly
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Otherwise, Transition

A, B, C, NOTHING = frozenset("A"), frozenset("B"), frozenset("C"), frozenset()
STAY = Otherwise.stay(-0.5)


def machine(*rules, otherwise=STAY, stack=("#", "A"), final=("done",), **more):
    return PushdownRewardMachine(
        "test", ("A", "B", "C"), stack, "u0", final, otherwise, rules, **more
    )


def rule(move, guard, top, push, reward=0):
    return Transition(*move.split(" -> "), guard, top, tuple(push.split()), reward)


def letter():
    """The LetterEnv machine of the appendix, with the precedence of `#` over `z`."""
    return machine(
        rule("u0 -> u0", Exactly(A), "z", "A z", -0.01),
        rule("u0 -> u1", Exactly(B), "z", "z", -0.01),
        rule("u1 -> u1", Exactly(C), "z", "", -0.01),
        rule("u1 -> done", Exactly(C), "#", "#", 1),
    )


def test_numbers_and_stacks():
    here = letter()
    assert [
        encode(here, stack) for stack in ((), ("#",), ("A",), ("#", "#"), ("A", "#"), ("#", "A"))
    ] == [
        0,
        1,
        2,
        4,
        5,
        7,
    ]
    assert [decode(here, encode(here, stack)) for stack in ((), ("A", "A", "#"))] == [
        (),
        ("A", "A", "#"),
    ]


def test_the_letter_machine_on_two_counters():
    counting = pushdown_to_counting(letter())
    run = counting.run([A, A, B, C, C, C])
    assert run.accepted
    assert [pushdown_configuration(letter(), step.after).stack for step in run.steps] == [
        ("#",),
        ("A", "#"),
        ("A", "A", "#"),
        ("A", "A", "#"),
        ("A", "#"),
        ("#",),
        ("#",),
    ]
    # reading, then per push: down, digit, back, head; per pop: down, back, head. The reading move alone pays.
    assert [step.moves for step in run.steps] == [
        0,
        3,
        3 + 1 + 3,
        1,
        1 + 5 + 1 + 1 + 1,
        1 + 1 + 1 + 1,
        1,
    ]
    assert [step.reward for step in run.steps] == [
        step.reward for step in letter().run([A, A, B, C, C, C]).steps
    ]


def test_empty_stacks_long_pushes_silent_moves_and_otherwise():
    for word, otherwise in [
        ([A, A], Otherwise.go("u1", 2)),
        ([B, B, A], Otherwise.go("done", 2)),
        ([C, C, C], Otherwise.stay(3)),
    ]:
        here = machine(
            rule("u0 -> u1", Exactly(A), "#", ""),
            rule("u1 -> u2", Exactly(A), "eps", "A # A", 1),
            rule("u2 -> u3", SILENT, "z", "A # z z", 0.5),
            rule("u3 -> u3", SILENT, "A", "", 0.25),
            rule("u0 -> u0", Exactly(B), "z", "A A z"),
            otherwise=otherwise,
            states=("u0", "u1", "u2", "u3"),
        )
        one, other = here.run(word), pushdown_to_counting(here).run(word)
        assert [step.after for step in one.steps] == [
            pushdown_configuration(here, step.after) for step in other.steps
        ]
        assert [step.reward for step in one.steps] == [step.reward for step in other.steps]
        assert one.accepted == other.accepted


def test_configurations_there_and_back():
    for stack in ((), ("#",), ("A", "#", "A")):
        there = counting_configuration(letter(), Configuration("u1", stack))
        assert pushdown_configuration(letter(), there) == Configuration("u1", stack)
    with pytest.raises(UnknownConfiguration, match="`u1%0` stands for no state and top of `test`"):
        pushdown_configuration(letter(), CountingConfiguration("u1%0", (0, 0)))
