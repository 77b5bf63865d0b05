"""Errors of machines, steps and tables that are built in Python, without positions."""

import math

import pytest

from pdrm.errors import PdrmError, Where
from pdrm.language.loading import catalogue, catalogue_text
from pdrm.machines.conversions import MAX_CHANGE, counting_to_pushdown
from pdrm.machines.counting import CountingConfiguration, CountingTransition
from pdrm.machines.guards import ALWAYS, SILENT, And, Event, parse_word
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import MAX_NODES, Stacks
from pdrm.machines.tables import step_table, tabulate
from pdrm.machines.transitions import Configuration, Otherwise, Transition
from tests.machines.small import UP, counting, machine, reward_machine, rule, said

A = frozenset("A")


FAULTS = [
    ("E0207", lambda: machine(rule(top="eps", push=()), stack=())),
    ("E0205", lambda: machine(otherwise=Otherwise("jump"))),
    ("E0205", lambda: machine(otherwise=Otherwise("go"))),
    ("E0205", lambda: machine(otherwise=Otherwise("stay", "u"))),
    ("E0103", lambda: machine(otherwise=Otherwise.stay(math.inf))),
    ("E0103", lambda: machine(rule(reward=math.nan))),
    ("E0202", lambda: machine(events=())),
    ("E0203", lambda: machine(rule(top="eps", push=("z",)))),
    ("E0204", lambda: machine(stack=("#", "X", "X", "#"))),
    ("E0108", lambda: machine(events=("A", "B", "a b"))),
    ("E0108", lambda: machine(states=("u", "-"))),
    (
        "E0108",
        lambda: PushdownRewardMachine(
            "", ("A",), ("#",), "u", ("f",), Otherwise.stay(0), (rule(),)
        ),
    ),
    ("E0109", lambda: counting(counters=0)),
    ("E0109", lambda: counting(CountingTransition("u", "f", Event("A"), ("-", "-"), (0,), 0))),
    ("E0109", lambda: counting(CountingTransition("u", "f", Event("A"), ("-",), (0, -1), 0))),
    ("E0109", lambda: counting(CountingTransition("u", "f", Event("A"), ("2",), (0,), 0))),
    ("E0404", lambda: machine().step(Configuration("w", ("#",)), A)),
    ("E0404", lambda: machine().step(Configuration("u", ("#", "Y")), A)),
    ("E0402", lambda: machine().step(Configuration("f", ("#",)), A)),
    ("E0401", lambda: machine(otherwise=Otherwise.error()).step(Configuration("u", ("X", "#")), A)),
    ("E0403", lambda: machine().step(Configuration("u", ("#",)), "A")),
    ("E0202", lambda: machine().step(Configuration("u", ("#",)), {"A", "D", "C"})),
    (
        "E0403",
        lambda: machine(exclusive=(("A", "B"),)).step(Configuration("u", ("#",)), {"A", "B"}),
    ),
    ("E0404", lambda: counting(UP).step(CountingConfiguration("w", (0,)), A)),
    ("E0404", lambda: counting(UP).step(CountingConfiguration("u", (0, -1)), A)),
    (
        "E0404",
        lambda: reward_machine("r", ("A",), "u", (), Otherwise.stay(0), ()).step(
            Configuration("w", ("#",)), A
        ),
    ),
    ("E0405", lambda: Stacks.empty(2, 2).node_of((1, 1))),
    ("E0405", lambda: Stacks.empty(2, 2).reserve(MAX_NODES)),
    ("E0202", lambda: tabulate(machine(), [A, frozenset("C")])),
    ("E0402", lambda: step_table(tabulate(machine(), [A]), 1, (1,), 0)),
    ("E0401", lambda: step_table(tabulate(machine(otherwise=Otherwise.error()), [A]), 0, (), 0)),
    ("E0110", lambda: And((ALWAYS,))),
    ("E0506", lambda: catalogue("leter")),
    ("E0506", lambda: catalogue_text("leter")),
    ("E0504", lambda: parse_word("a+b  a+ - b")),
    ("E0305", lambda: counting_to_pushdown(counting(counters=2))),
    (
        "E0305",
        lambda: counting_to_pushdown(
            counting(CountingTransition("u", "u", Event("A"), ("-",), (-MAX_CHANGE - 1,), 0))
        ),
    ),
    (
        "E0305",
        lambda: counting_to_pushdown(
            counting(CountingTransition("u", "u", SILENT, ("-",), (1,), 0))
        ),
    ),
]


@pytest.mark.parametrize(("code", "fault"), FAULTS)
def test_faults_have_their_code(code, fault):
    assert said(fault).startswith(f"error[{code}]")


def test_places_that_are_given_are_kept():
    here = Where("task.py", 7, 1)
    for build in (
        lambda: machine(otherwise=Otherwise("stay", None, math.inf, here)),
        lambda: machine(Transition("u", "f", Event("A"), "#", ("#",), math.nan, here)),
        lambda: counting(CountingTransition("u", "f", Event("A"), ("2",), (0,), 0, here)),
        lambda: counting(CountingTransition("u", "f", Event("A"), ("0",), (0, 0), 0, here)),
    ):
        with pytest.raises(PdrmError) as caught:
            build()
        assert caught.value.where == here


def test_each_unknown_name_has_its_own_suggestion():
    reads = And((Event("kay"), Event("zzzzzz")))
    with pytest.raises(PdrmError) as caught:
        machine(rule(guard=reads), events=("key",))
    fixes = {error.word: error.fix for error in caught.value.errors}
    assert "`key`" in fixes["kay"]
    assert "`key`" not in fixes["zzzzzz"]
