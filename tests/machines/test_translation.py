from __future__ import annotations

import pytest

from pdrm.errors import CannotTranslate
from pdrm.language.loading import parse
from pdrm.machines.conversions import counting_to_pushdown
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guards import SILENT, And, Event, Not
from pdrm.machines.transitions import Otherwise

EVENTS = ("A", "B", "C")
A, B, C, NOTHING = frozenset("A"), frozenset("B"), frozenset("C"), frozenset()
ERROR = Otherwise.error()


def rule(move, guard, test, change, reward=0):
    return CountingTransition(*move.split(" -> "), guard, (test,), (change,), reward)


def automaton(*rules, otherwise=ERROR, final=("u2", "u3"), **more):
    return CountingRewardAutomaton(
        "letter", EVENTS, 1, "u0", final, otherwise, rules, (EVENTS,), **more
    )


def appendix_a():
    """The automaton printed in Appendix A: τ reads nothing."""
    neither = And((Not(Event("A")), Not(Event("B"))))
    return automaton(
        rule("u0 -> u1", Event("B"), "1", 0),
        rule("u0 -> u0", Event("A"), "1", 1),
        rule("u0 -> u0", Event("A"), "0", 1),
        rule("u0 -> u2", neither, "0", 1),
        rule("u0 -> u2", neither, "1", 0),
        rule("u1 -> u3", Event("B"), "1", 0),
        rule("u1 -> u3", SILENT, "0", 0, 1),
        rule("u1 -> u1", Event("C"), "1", -1),
    )


def test_appendix_a_translated():
    machine = counting_to_pushdown(appendix_a())
    assert [str(rule) for rule in machine.transitions] == [
        "u0 -> u1 : B, □ / □, 0",
        "u0 -> u0 : A, □ / □ □, 0",
        "u0 -> u0 : A, # / □ #, 0",
        "u0 -> u2 : !A & !B, # / □ #, 0",
        "u0 -> u2 : !A & !B, □ / □, 0",
        "u1 -> u3 : B, □ / □, 0",
        "u1 -> u3 : eps, # / #, 1",
        "u1 -> u1.8.□.1 : C, □ / □, 0",
        "u1.8.□.1 -> u1 : eps, □ / eps, 0",
        "u1.8.□.1 -> u1 : eps, # / #, 0",
    ]
    assert machine.states == ("u0", "u1", "u1.8.□.1")
    assert (machine.stack, machine.start, machine.final) == (("#", "□"), "u0", ("u2", "u3"))
    assert (machine.otherwise, machine.exclusive, machine.events) == (
        Otherwise.error(),
        (EVENTS,),
        EVENTS,
    )


def test_appendix_a_pays_the_same():
    for word, reward in [([A, A, B, C, C], 1), ([A, B, C], 1), ([A, B, B], 0), ([A, C], 0)]:
        for machine in (appendix_a(), counting_to_pushdown(appendix_a())):
            run = machine.run(word)
            assert (run.accepted, run.reward) == (True, reward)


def test_a_decrement_beyond_zero_stops_at_the_bottom():
    rules = rule("u0 -> u0", Event("A"), "-", 2), rule("u0 -> u0", Event("B"), "-", -3, 1)
    run = counting_to_pushdown(automaton(*rules, final=())).run([A, A, B, B, B])
    assert [step.after.stack.count("□") for step in run.steps] == [0, 2, 4, 1, 0, 0]
    assert run.reward == 3


def test_helper_names_never_clash_and_are_never_too_long():
    taken = rule("u0.1.#.1 -> u0", Event("A"), "0", 0)
    clashing = counting_to_pushdown(
        automaton(rule("u0 -> u0", Event("A"), "0", -1), taken, final=())
    )
    assert clashing.states == ("u0", "u0.1.#.1", "u0.1.#.1~1")
    long = "u" * 100
    rules = rule(f"u0 -> {long}", Event("A"), "0", 0), rule(f"{long} -> u0", Event("A"), "-", -2)
    assert len(counting_to_pushdown(automaton(*rules, final=())).states) == 6


def test_states_without_rules_and_otherwise_are_kept():
    go = Otherwise.go("dead", -1)
    machine = counting_to_pushdown(
        automaton(
            rule("u0 -> u0", Event("A"), "-", 1), otherwise=go, final=(), states=("u0", "dead")
        )
    )
    run = machine.run([A, B, A])
    assert (str(run.after), run.reward, machine.states) == ("dead, □ #", -2, ("u0", "dead"))


def test_what_has_no_translation():
    two = CountingRewardAutomaton("two", (), 2, "u0", (), Otherwise.stay(0), ())
    with pytest.raises(CannotTranslate, match="`two` has 2 counters: two can do what no stack can"):
        counting_to_pushdown(two)
    with pytest.raises(
        CannotTranslate,
        match=r"silent moves of `letter` need not end.*:\n    u0 -> u0 : eps, □ / □ □, 0",
    ):
        counting_to_pushdown(automaton(rule("u0 -> u0", SILENT, "-", 1)))
    with pytest.raises(CannotTranslate, match="a change by -100000 takes that many stack symbols"):
        counting_to_pushdown(automaton(rule("u0 -> u0", Event("A"), "-", -100_000)))


HEAD = "name c\nevents A\ncounters 1\nstart u\nfinal f\notherwise error\n"


def test_translated_rules_stand_where_the_automatons_do():
    machine = counting_to_pushdown(
        parse(HEAD + "u -> u : A, [0] / [+2], 0\nu -> f : A, [1] / [-2], 0\n")
    )
    assert [rule.where.line for rule in machine.transitions] == [7, *[8] * 5]


def test_the_largest_changes_are_translated():
    machine = counting_to_pushdown(
        parse(HEAD + "u -> u : A, [0] / [+1000], 0\nu -> f : A, [1] / [-1000], 1\n")
    )
    run = machine.run([A, A])
    assert [len(step.after.stack) for step in run.steps] == [1, 1001, 1]
    assert (run.accepted, run.reward) == (True, 1)
