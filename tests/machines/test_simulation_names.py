"""The automaton that simulates a pushdown machine, rule by rule: names of its states, guards, configurations."""

import pytest

from pdrm.errors import PdrmError
from pdrm.language.loading import parse
from pdrm.machines.checks.pushdown_analysis import Head
from pdrm.machines.configurations import Configuration
from pdrm.machines.conversions import (
    LONGEST_NAME,
    Divide,
    Multiply,
    Return,
    counting_configuration,
    fresh_name,
    head_names,
    pushdown_configuration,
    pushdown_to_counting,
)
from pdrm.machines.counting import CountingConfiguration

HEAD = "name m\nevents a b\nstack # A\nstart u\nfinal f\n"


def test_places_have_names():
    here, below = Head("u", "A"), Head("u", None)
    assert [
        str(place)
        for place in (
            Multiply(here, ("A", "#")),
            Return(here, ("A", "#")),
            Return(below, ()),
            Divide("u", 2),
        )
    ] == [
        "u@A*A.#",
        "u@A^A.#",
        "u@^",
        "u%2",
    ]
    assert list(head_names(parse(HEAD + "otherwise stay 0\n")).values()) == [
        "u@#",
        "u@A",
        "u@",
        "f@#",
        "f@A",
        "f@",
    ]


def test_names_that_would_be_the_same_are_told_apart():
    text = "name m\nevents a\nstack # B A@B\nstart u\nstates u u@A\notherwise stay 0\n"
    names = head_names(parse(text))
    assert names[Head("u", "A@B")] == "u@A@B"
    assert names[Head("u@A", "B")] == "u@A@B~1"
    assert len(set(names.values())) == len(names)


def test_places_on_the_way_that_would_be_called_the_same_are_told_apart():
    """Pushing `A B C` and pushing `A B.C` both go by `u@A*B.C`."""
    text = "name m\nevents a b\nexclusive a b\nstack # A B C B.C\nstart u\notherwise stay 0\n"
    machine = parse(text + "u -> u : a, # / A B C, 0\nu -> u : b, # / A B.C, 0\n")
    automaton = pushdown_to_counting(machine)
    assert len(set(automaton.states)) == len(automaton.states)
    assert {"u@A*B.C", "u@A*B.C~1"} <= set(automaton.states)
    for event in "ab":
        word = [frozenset(event)]
        assert (
            pushdown_configuration(machine, automaton.run(word).after).stack
            == machine.run(word).after.stack
        )


def test_made_up_names_are_cut_where_they_are_long():
    assert fresh_name("a" * LONGEST_NAME, ()) == "a" * LONGEST_NAME
    assert fresh_name("b" + "a" * LONGEST_NAME, ()) == "a" * 80
    assert fresh_name("b" * 20 + "--" + "a" * 79, ()) == "a" * 79
    assert fresh_name("b" * 20 + "X" * 80, ()) == "X" * 80
    assert fresh_name("x", ("x", "x~1", "x~2")) == "x~3"


def guards(rules, otherwise):
    machine = parse(HEAD + f"otherwise {otherwise}\n" + rules)
    return [str(rule) for rule in pushdown_to_counting(machine).transitions if rule.source == "u@#"]


def test_guards_leave_out_what_rules_that_name_the_top_read():
    plain = "[-, -] / [0, 0], 0"
    assert guards("u -> f : {a}, z / z, 0\n", "stay 0") == [f"u@# -> f@# : {{a}}, {plain}"]
    assert guards("u -> f : a, # / #, 0\nu -> u : true, z / z, 0\n", "stay 0") == [
        f"u@# -> f@# : a, {plain}",
        f"u@# -> u@# : !a, {plain}",
    ]
    assert guards(
        "u -> f : a & b, # / #, 0\nu -> f : {}, # / #, 0\nu -> u : a, z / z, 0\n", "stay 0"
    ) == [
        f"u@# -> f@# : a & b, {plain}",
        f"u@# -> f@# : {{}}, {plain}",
        f"u@# -> u@# : a & !b, {plain}",
    ]
    assert guards("u -> f : a, z / z, 0\n", "go f 0") == [
        f"u@# -> f@# : a, {plain}",
        f"u@# -> f@# : !a, {plain}",
    ]
    assert guards("", "go f 0") == [f"u@# -> f@# : true, {plain}"]
    assert guards("u -> f : true, z / z, 0\n", "go f 0") == [f"u@# -> f@# : true, {plain}"]
    assert guards("u -> f : eps, z / z, 0\n", "go f 0") == [f"u@# -> f@# : eps, {plain}"]
    assert guards("u -> f : eps, z / z, 1\nu -> u : eps, # / A, 0.5\n", "go f 0") == [
        "u@# -> u@A : eps, [-, -] / [0, 0], 0.5"
    ]


def test_what_becomes_of_otherwise():
    texts = [
        str(pushdown_to_counting(parse(HEAD + f"otherwise {what}\n")).otherwise)
        for what in ("stay 2", "go f 1", "error")
    ]
    assert texts == ["stay 2", "error", "error"]


def test_the_second_counter_is_empty_between_two_labels():
    machine = parse(HEAD + "otherwise stay 0\nu -> u : a, z / A z, 0\n")
    automaton, word = pushdown_to_counting(machine), [frozenset("a")] * 3
    for readable, counted in zip(machine.run(word).steps, automaton.run(word).steps, strict=True):
        assert counting_configuration(machine, readable.after) == counted.after
    assert counting_configuration(machine, Configuration("f", ())) == CountingConfiguration(
        "f@", (0, 0)
    )


def test_a_state_on_the_way_stands_for_no_stack():
    with pytest.raises(PdrmError) as caught:
        pushdown_configuration(
            parse(HEAD + "otherwise stay 0\n"), CountingConfiguration("u%1", (0, 0))
        )
    assert str(caught.value) == (
        "error[E0404]: `u%1` stands for no state and top of `m`\n  fix: decode configurations between two labels"
    )
