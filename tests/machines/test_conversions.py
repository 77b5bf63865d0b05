"""Appendix B and Section 5 by hand; on random machines they are properties (`translation`)."""

import pytest

from pdrm.errors import CannotTranslate
from pdrm.language.loading import catalogue, parse
from pdrm.machines.conversions import (
    counting_configuration,
    counting_to_pushdown,
    encode,
    pushdown_to_counting,
)

HEAD = "name c\nevents A B C\nexclusive A B C\ncounters 1\nstart u0\nfinal u2 u3\notherwise error\n"
APPENDIX_A = parse(
    HEAD + "u0 -> u1 : B, [1] / [0], 0\n"
    "u0 -> u0 : A, [1] / [+1], 0\n"
    "u0 -> u0 : A, [0] / [+1], 0\n"
    "u0 -> u2 : !A & !B, [0] / [+1], 0\n"
    "u0 -> u2 : !A & !B, [1] / [0], 0\n"
    "u1 -> u3 : B, [1] / [0], 0\n"
    "u1 -> u3 : eps, [0] / [0], 1\n"
    "u1 -> u1 : C, [1] / [-1], 0\n"
)
"""The automaton printed in Appendix A: τ reads nothing."""


def test_appendix_a_translated():
    machine = counting_to_pushdown(APPENDIX_A)
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
    for word, reward in (("A A B C C", 1), ("A B C", 1), ("A B B", 0), ("A C", 0)):
        for one in (APPENDIX_A, machine):
            run = one.run(word)
            assert (run.accepted, run.reward) == (True, reward)


def test_a_decrement_beyond_zero_stops_at_the_bottom():
    rules = "u0 -> u0 : A, [-] / [+2], 0\nu0 -> u0 : B, [-] / [-3], 1\n"
    run = counting_to_pushdown(parse(HEAD + rules)).run("A A B B B")
    assert [step.after.stack.count("□") for step in run.steps] == [0, 2, 4, 1, 0, 0]
    assert run.reward == 3


def test_helper_names_never_clash_and_are_never_too_long():
    taken = "u0 -> u0 : A, [0] / [-1], 0\nu0.1.#.1 -> u0 : A, [0] / [0], 0\n"
    clashing = counting_to_pushdown(parse(HEAD + taken))
    assert clashing.states == ("u0", "u0.1.#.1", "u0.1.#.1~1")
    long = "u" * 100
    rules = f"u0 -> {long} : A, [0] / [0], 0\n{long} -> u0 : A, [-] / [-2], 0\n"
    assert len(counting_to_pushdown(parse(HEAD + rules)).states) == 6


def test_states_without_rules_and_otherwise_are_kept():
    text = HEAD.replace("otherwise error", "states u0 dead\notherwise go dead -1")
    machine = counting_to_pushdown(parse(text + "u0 -> u0 : A, [-] / [+1], 0\n"))
    run = machine.run("A B A")
    assert (str(run.after), run.reward, machine.states) == ("dead, □ #", -2, ("u0", "dead"))


def test_an_error_of_translation_has_its_place():
    for rules, line in (
        ("u0 -> u0 : A, [0] / [0], 0\nu0 -> u0 : A, [1] / [+1001], 0\n", 9),
        ("u0 -> v : A, [0] / [0], 0\nv -> v : eps, [-] / [+1], 0\n", 9),
    ):
        with pytest.raises(CannotTranslate) as caught:
            counting_to_pushdown(parse(HEAD + rules))
        assert caught.value.where.line == line
    largest = "u0 -> u0 : A, [0] / [+1000], 0\nu0 -> u2 : A, [1] / [-1000], 1\n"
    run = counting_to_pushdown(parse(HEAD + largest)).run("A A")
    assert [len(step.after.stack) for step in run.steps] == [1, 1001, 1]
    assert (run.accepted, run.reward) == (True, 1)


LETTER = catalogue("letter")


def test_numbers_and_stacks():
    stacks = ((), ("#",), ("A",), ("#", "#"), ("A", "#"), ("#", "A"))
    assert [encode(LETTER, stack) for stack in stacks] == [0, 1, 2, 4, 5, 7]


def test_the_letter_machine_on_two_counters():
    word = "A A B C C C"
    run, own = pushdown_to_counting(LETTER).run(word), LETTER.run(word)
    assert run.accepted
    for one, other in zip(run.steps, own.steps, strict=True):
        assert one.after == counting_configuration(LETTER, other.after)
        assert one.reward == other.reward
    # reading, then per push: down, digit, back, head; per pop: down, back, head.
    assert [step.moves for step in run.steps[:4]] == [0, 3, 7, 1]
