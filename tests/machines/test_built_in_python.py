"""Machines built in Python, where nothing has a place in a text: what is said of a fault is kept in `messages.txt`."""

import math
from pathlib import Path

import pytest

from pdrm.errors import PdrmError, Where
from pdrm.language.loading import catalogue, catalogue_text
from pdrm.machines.configurations import Configuration
from pdrm.machines.conversions import MOST_CHANGE, counting_to_pushdown
from pdrm.machines.counting import CountingConfiguration, CountingTransition
from pdrm.machines.guards import ALWAYS, SILENT, And, Event
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import MOST_NODES, Stacks
from pdrm.machines.tables import step_table, tabulate
from pdrm.machines.transitions import Otherwise, Transition
from pdrm.machines.words import parse_word
from tests.golden import check_golden, places_of
from tests.machines.small import UP, counting, machine, reward_machine, rule, said

A = frozenset("A")


FAULTS = {
    "stack-empty": lambda: machine(rule(top="eps", push=()), stack=()),
    "otherwise-jump": lambda: machine(otherwise=Otherwise("jump")),
    "otherwise-go-nowhere": lambda: machine(otherwise=Otherwise("go")),
    "otherwise-stay-with-a-state": lambda: machine(otherwise=Otherwise("stay", "u")),
    "otherwise-unknown-state": lambda: machine(otherwise=Otherwise.go("w", 1)),
    "otherwise-infinite": lambda: machine(otherwise=Otherwise.stay(math.inf)),
    "reward-nan": lambda: machine(rule(reward=math.nan)),
    "reward-infinite": lambda: machine(rule(reward=-math.inf)),
    "source-not-declared": lambda: machine(rule(), rule(source="w"), states=("u",)),
    "target-unknown": lambda: machine(rule(target="w")),
    "start-unknown": lambda: machine(start="w"),
    "start-final": lambda: machine(start="f"),
    "final-with-rules": lambda: machine(rule(), rule(source="f")),
    "event-unknown": lambda: machine(rule(guard=Event("C"))),
    "events-none": lambda: machine(events=()),
    "exclusive-unknown": lambda: machine(exclusive=(("A", "C"),)),
    "top-unknown": lambda: machine(rule(top="Y", push=())),
    "push-unknown": lambda: machine(rule(push=("Y", "Y", "#"))),
    "z-pushed": lambda: machine(rule(push=("z",))),
    "z-pushed-without-a-look": lambda: machine(rule(top="eps", push=("z",))),
    "symbols-twice": lambda: machine(stack=("#", "X", "X", "#")),
    "name-with-a-space": lambda: machine(events=("A", "B", "a b")),
    "name-too-long": lambda: machine(events=("A", "B", "x" * 101)),
    "name-reserved": lambda: machine(events=("A", "B", "eps")),
    "name-dash": lambda: machine(states=("u", "-")),
    "name-empty": lambda: PushdownRewardMachine(
        "", ("A",), ("#",), "u", ("f",), Otherwise.stay(0), (rule(),)
    ),
    "counters-none": lambda: counting(counters=0),
    "counters-many-tests": lambda: counting(
        CountingTransition("u", "f", Event("A"), ("-", "-"), (0,), 0)
    ),
    "counters-many-changes": lambda: counting(
        CountingTransition("u", "f", Event("A"), ("-",), (0, -1), 0)
    ),
    "counters-test": lambda: counting(CountingTransition("u", "f", Event("A"), ("2",), (0,), 0)),
    "counters-silent-clash": lambda: counting(
        CountingTransition("u", "f", SILENT, ("0",), (0,), 0),
        CountingTransition("u", "u", ALWAYS, ("-",), (0,), 0),
    ),
    "counters-clash": lambda: counting(
        CountingTransition("u", "f", Event("A"), ("0",), (0,), 0),
        CountingTransition("u", "u", Event("B"), ("-",), (0,), 0),
    ),
    "step-unknown-state": lambda: machine().step(Configuration("w", ("#",)), A),
    "step-unknown-symbol": lambda: machine().step(Configuration("u", ("#", "Y")), A),
    "step-final": lambda: machine().step(Configuration("f", ("#",)), A),
    "step-undefined": lambda: machine(otherwise=Otherwise.error()).step(
        Configuration("u", ("X", "#")), A
    ),
    "step-text-for-a-label": lambda: machine().step(Configuration("u", ("#",)), "A"),
    "step-unknown-event": lambda: machine().step(Configuration("u", ("#",)), {"A", "D", "C"}),
    "step-exclusive-events": lambda: machine(exclusive=(("A", "B"),)).step(
        Configuration("u", ("#",)), {"A", "B"}
    ),
    "counting-unknown-state": lambda: counting(UP).step(CountingConfiguration("w", (0,)), A),
    "counting-negative": lambda: counting(UP).step(CountingConfiguration("u", (0, -1)), A),
    "reward-machine-unknown-state": lambda: reward_machine(
        "r", ("A",), "u", (), Otherwise.stay(0), ()
    ).step(Configuration("w", ("#",)), A),
    "stacks-none": lambda: Stacks.empty(2, 0),
    "stacks-too-many": lambda: Stacks.empty(2, MOST_NODES + 1),
    "stacks-no-room": lambda: Stacks.empty(2, 2).node_of((1, 1)),
    "stacks-no-more": lambda: Stacks.empty(2, 2).room(MOST_NODES),
    "table-unknown-event": lambda: tabulate(machine(), [A, frozenset("C")]),
    "table-final": lambda: step_table(tabulate(machine(), [A]), 1, (1,), 0),
    "table-undefined": lambda: step_table(
        tabulate(machine(otherwise=Otherwise.error()), [A]), 0, (), 0
    ),
    "and-of-one": lambda: And((ALWAYS,)),
    "catalogue-unknown": lambda: catalogue("leter"),
    "catalogue-text-unknown": lambda: catalogue_text("leter"),
    "word-with-half-a-label": lambda: parse_word("a+b  a+ - b"),
    "translate-two-counters": lambda: counting_to_pushdown(counting(counters=2)),
    "translate-large-change": lambda: counting_to_pushdown(
        counting(CountingTransition("u", "u", Event("A"), ("-",), (-MOST_CHANGE - 1,), 0))
    ),
    "translate-endless": lambda: counting_to_pushdown(
        counting(CountingTransition("u", "u", SILENT, ("-",), (1,), 0))
    ),
}


def test_messages_are_as_agreed():
    check_golden(
        Path(__file__).parent / "messages.txt",
        {name: places_of(said(fault)) for name, fault in FAULTS.items()},
    )


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
