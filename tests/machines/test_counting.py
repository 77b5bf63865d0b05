from __future__ import annotations

from dataclasses import replace

import pytest

from pdrm.errors import (
    EndlessSilentMoves,
    MachineFinished,
    Nondeterministic,
    UndefinedMove,
    UnknownConfiguration,
)
from pdrm.language.loading import parse
from pdrm.machines.counting import (
    CountingConfiguration,
    CountingRewardAutomaton,
    CountingStep,
    CountingTransition,
)
from pdrm.machines.guards import ALWAYS, SILENT, Event, Exactly
from pdrm.machines.transitions import Otherwise

A, B, C, NOTHING = frozenset("A"), frozenset("B"), frozenset("C"), frozenset()
STAY = Otherwise.stay(0)


def rule(move, guard, tests, changes, reward=0):
    return CountingTransition(*move.split(" -> "), guard, tuple(tests), tuple(changes), reward)


def machine(rules, counters=1, otherwise=STAY, final=("done",), **more):
    return CountingRewardAutomaton(
        "test", ("A", "B", "C"), counters, "u0", final, otherwise, tuple(rules), **more
    )


def test_counters_are_floored_at_zero():
    up, down = rule("u0 -> u0", Exactly(A), "-", [2]), rule("u0 -> u0", Exactly(B), "-", [-3], 1)
    run = machine([up, down]).run([A, A, B, B, B])
    assert [step.after.counters for step in run.steps] == [(0,), (2,), (4,), (1,), (0,), (0,)]
    assert run.reward == 3


def test_several_counters_are_tested_and_changed_on_their_own():
    rules = [
        rule("u0 -> u0", Exactly(A), "--", [1, 0]),
        rule("u0 -> u0", Exactly(B), "1-", [-1, 2], 1),
        rule("u0 -> done", Exactly(C), "01", [0, -1], 5),
    ]
    run = machine(rules, counters=2).run([B, C, A, A, C, B, B, C])
    assert [step.after.counters for step in run.steps[-4:]] == [(2, 0), (1, 2), (0, 4), (0, 3)]
    assert (run.accepted, run.reward) == (True, 7)


def test_otherwise_keeps_the_counters():
    up = rule("u0 -> u0", Exactly(A), "0", [2])
    gone = machine([up], otherwise=Otherwise.go("done", 9)).run([A, A])
    assert (str(gone.after), gone.reward) == ("done, [2]", 9)
    with pytest.raises(UndefinedMove):
        machine([up], otherwise=Otherwise.error()).run([A, A])


def test_silent_moves_run_before_the_first_label_and_after_each():
    rules = [
        rule("u0 -> u1", SILENT, "-", [3], 0.5),
        rule("u1 -> u2", Exactly(A), "-", [0], 1),
        rule("u2 -> u2", SILENT, "1", [-1], 0.25),
        rule("u2 -> done", SILENT, "0", [0], 10),
    ]
    run = machine(rules).run([A])
    assert [(step.label, step.reward, step.moves) for step in run.steps] == [
        (None, 0.5, 1),
        (A, 11.75, 5),
    ]
    assert run.steps[1].rule == rules[1]
    assert (run.accepted, run.after) == (True, CountingConfiguration("done", (0,)))


def test_too_many_silent_moves_are_stopped():
    endless = machine([rule("u0 -> u1", Exactly(A), "-", [0]), rule("u1 -> u1", SILENT, "-", [1])])
    with pytest.raises(EndlessSilentMoves):
        replace(endless, most_silent=1000).step(CountingConfiguration("u0", (0,)), A)
    long = machine([rule("u0 -> u1", Exactly(A), "-", [9]), rule("u1 -> u1", SILENT, "1", [-1])])
    assert replace(long, most_silent=9).run([A]).steps[1].moves == 10
    with pytest.raises(EndlessSilentMoves):
        replace(long, most_silent=8).run([A])


def test_the_start_is_a_step_too():
    rules = [rule("u0 -> u1", SILENT, "-", [2], 0.5), rule("u1 -> u1", SILENT, "1", [-1], 1)]
    begun = machine(rules).begin()
    assert begun == CountingStep(
        None, CountingConfiguration("u0", (0,)), CountingConfiguration("u1", (0,)), 2.5, None, 3
    )
    assert machine(rules, most_silent=3).begin() == begun
    for call in (
        lambda: machine(rules, most_silent=2).begin(),
        lambda: machine(rules, most_silent=2).run([]),
    ):
        with pytest.raises(EndlessSilentMoves):
            call()
    still = machine([rule("u0 -> u0", Exactly(A), "-", [0])])
    here = CountingConfiguration("u0", (0,))
    assert still.begin() == CountingStep(None, here, here, 0.0, None, 0)


def test_the_error_of_endless_silent_moves_names_the_rule():
    text = "name m\nevents A\ncounters 1\nstart u\notherwise stay 0\nu -> v : A, [-] / [0], 0\nv -> v : eps, [-] / [+1], 0\n"
    with pytest.raises(EndlessSilentMoves) as caught:
        replace(parse(text, "m.pdrm"), most_silent=3).run([A])
    assert str(caught.value.where) == "m.pdrm:7:1"


def test_rules_clash_if_a_zero_pattern_and_a_label_fit_both():
    a, b, silent = Event("A"), Event("B"), SILENT
    for (one, first), (other, second), clash in [
        ((a, "1-"), (ALWAYS, "-0"), True),
        ((a, "--"), (ALWAYS, "--"), True),
        ((a, "0-"), (ALWAYS, "1-"), False),
        ((a, "1-"), (b, "--"), True),
        ((silent, "0-"), (a, "--"), True),
        ((silent, "0-"), (silent, "--"), True),
        ((silent, "0-"), (a, "1-"), False),
    ]:
        rules = [
            rule("u0 -> u0", one, first, [0, 0]),
            rule("u0 -> done", other, second, [0, 0]),
        ]
        if clash:
            with pytest.raises(Nondeterministic):
                machine(rules, counters=2)
        else:
            machine(rules, counters=2)
    overlapping = [rule("u0 -> u0", a, "1", [0]), rule("u0 -> done", b, "-", [0])]
    machine(overlapping, exclusive=(("A", "B"),))


def test_configurations_are_checked():
    for counters in [(), (0, 0), (-1,)]:
        here = machine([rule("u0 -> done", Event("A"), "-", [1])])
        with pytest.raises(UnknownConfiguration):
            here.step(CountingConfiguration("u0", counters), A)
        with pytest.raises(MachineFinished):
            here.step(CountingConfiguration("done", (0,)), A)
