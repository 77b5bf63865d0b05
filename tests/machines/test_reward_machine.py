from __future__ import annotations

import pytest

from pdrm.errors import (
    CannotRead,
    ImpossibleLabel,
    MachineFinished,
    Nondeterministic,
    SeveralErrors,
    UndefinedMove,
    UnknownConfiguration,
    UnknownEvent,
    UnknownState,
)
from pdrm.machines.guards import SILENT, And, Event, Exactly, Not
from pdrm.machines.reward_machine import RewardConfiguration, RewardMachine, RewardTransition
from pdrm.machines.transitions import Otherwise

A, B, NOTHING = frozenset("A"), frozenset("B"), frozenset()
COFFEE = (
    RewardTransition("u0", "u1", And((Event("A"), Not(Event("B")))), 0.25),
    RewardTransition("u1", "done", Exactly(B), 1),
    RewardTransition("u1", "u1", Exactly(A | B), -1),
)
STAY = Otherwise.stay(-0.5)


def machine(rules=COFFEE, otherwise=STAY, final=("done",), **more):
    return RewardMachine("coffee", ("A", "B"), "u0", final, otherwise, rules, **more)


def test_a_word_is_read_up_to_the_final_state():
    run = machine().run([NOTHING, A, A | B, A, B, A])
    assert [step.reward for step in run.steps] == [0.0, -0.5, 0.25, -1.0, -0.5, 1.0]
    assert [step.after.state for step in run.steps] == ["u0", "u0", "u1", "u1", "u1", "done"]
    assert [step.rule for step in run.steps] == [None, None, COFFEE[0], COFFEE[2], None, COFFEE[1]]
    assert (run.unread, run.finished, run.accepted) == (1, True, False)
    assert machine().run([A, B]).accepted
    assert not machine().run([A]).accepted


def test_states_are_the_start_and_every_source():
    assert machine().states == ("u0", "u1")
    assert machine(states=("u1", "u0", "dead")).states == ("u1", "u0", "dead")


def test_step_reads_one_label_from_any_state():
    step = machine().step(RewardConfiguration("u1"), B)
    assert (step.label, str(step.before), str(step.after), step.reward) == (B, "u1", "done", 1)


def test_otherwise_goes_to_a_state_or_is_an_error():
    gone = machine(otherwise=Otherwise.go("done", 3)).run([B])
    assert (gone.after.state, gone.reward, gone.accepted) == ("done", 3, True)
    with pytest.raises(UndefinedMove, match=r"machine `coffee` has no rule for label \{B\} at u0"):
        machine(otherwise=Otherwise.error()).run([B])


def test_labels_and_configurations_are_checked():
    with pytest.raises(MachineFinished, match="`done` is a final state of machine `coffee`"):
        machine().step(RewardConfiguration("done"), A)
    with pytest.raises(UnknownConfiguration, match="`u7` is not a state of `coffee`"):
        machine().step(RewardConfiguration("u7"), A)
    with pytest.raises(UnknownEvent, match="event `X`"):
        machine().run([frozenset("X")])
    with pytest.raises(ImpossibleLabel):
        machine(exclusive=(("A", "B"),), rules=COFFEE[:2]).step(RewardConfiguration("u0"), A | B)


def test_two_rules_for_one_label_are_an_error_with_that_label():
    with pytest.raises(Nondeterministic) as error:
        machine((*COFFEE, RewardTransition("u0", "u0", Not(Event("B")), 0)))
    assert error.value.message == (
        "two rules apply in state `u0` for label {A}: at most one rule may apply\n"
        "    u0 -> u1 : A & !B, 0.25\n    u0 -> u0 : !B, 0"
    )
    assert error.value.fix == "make the labels differ, or declare `exclusive` events"


def test_exclusive_events_make_rules_deterministic():
    rules = (
        RewardTransition("u0", "u0", Event("A"), 0),
        RewardTransition("u0", "done", Event("B"), 1),
    )
    with pytest.raises(Nondeterministic, match=r"label \{A, B\}"):
        machine(rules)
    assert machine(rules, exclusive=(("A", "B"),)).run([B]).accepted


def test_silent_rules_are_refused():
    with pytest.raises(
        CannotRead, match=r"a reward machine has no silent moves: rule u0 -> u1 : eps, 0"
    ):
        machine((RewardTransition("u0", "u1", SILENT, 0), *COFFEE[1:]))


def test_names_are_checked_together():
    with pytest.raises(SeveralErrors) as error:
        machine((RewardTransition("u0", "u9", Event("X"), 0),))
    assert {type(one) for one in error.value.errors} == {UnknownState, UnknownEvent}


def test_findings():
    rules = (
        RewardTransition("u0", "done", Exactly(A), 1),
        RewardTransition("u1", "u1", Event("A"), 0),
        RewardTransition("u0", "u0", And((Event("A"), Not(Event("A")))), 0),
    )
    found = machine(rules).findings()
    assert [(one.code, one.message) for one in found] == [
        ("W0601", "state `u1` cannot be reached by any word"),
        ("W0602", "in state `u0`, no rule reads !A | A & B: `otherwise stay -0.5`"),
        ("W0603", "no label fits `A & !A`, so this rule never applies: u0 -> u0 : A & !A, 0"),
        ("W0604", "event `B` is declared but no rule mentions it (a domain may emit it)"),
    ]
    assert machine(otherwise=Otherwise.go("done", 0)).findings()[0].code == "W0602"
