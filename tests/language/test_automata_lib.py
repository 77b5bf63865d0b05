"""DPDAs of automata-lib: the machine accepts the same words as automata-lib."""

import itertools
import json

import pytest
from automata.pda.dpda import DPDA
from hypothesis import assume, given, settings, strategies as st

from pdrm.errors import EndlessSilentMoves, PdrmError
from pdrm.language.loading import parse

AS_MANY = {
    "states": {"q0", "q1", "q2", "q3"},
    "input_symbols": {"a", "b"},
    "stack_symbols": {"0", "1"},
    "transitions": {
        "q0": {"a": {"0": ("q1", ("1", "0"))}},
        "q1": {"a": {"1": ("q1", ("1", "1"))}, "b": {"1": ("q2", "")}},
        "q2": {"b": {"1": ("q2", "")}, "": {"0": ("q3", ("0",))}},
    },
    "initial_state": "q0",
    "initial_stack_symbol": "0",
    "final_states": {"q3"},
    "acceptance_mode": "final_state",
}
WORDS = ["".join(word) for length in range(7) for word in itertools.product("ab", repeat=length)]


def machine_of(dpda):
    return parse(json.dumps(dpda.input_parameters, default=list), "task.json")


def agree(dpda, words):
    machine, accepted = machine_of(dpda), 0
    for word in words:
        run = machine.run([*(frozenset(letter) for letter in word), frozenset({"end"})])
        assert run.reward == float(dpda.accepts_input(word))
        assert run.after.state == ("accepted" if run.reward else "rejected")
        accepted += run.reward == 1
    return accepted


def test_the_example_of_its_documentation():
    assert agree(DPDA(**AS_MANY), WORDS) == 3
    machine = machine_of(DPDA(**AS_MANY))
    assert machine.stack == ("bottom", "0", "1")
    assert (
        machine.run(
            [frozenset(), frozenset("a"), frozenset(), frozenset("b"), frozenset({"end"})]
        ).reward
        == 1
    )


def test_an_empty_stack_accepts():
    for mode in ["empty_stack", "both"]:
        pops = {**AS_MANY["transitions"], "q2": {"b": {"1": ("q2", "")}, "": {"0": ("q2", "")}}}
        assert agree(DPDA(**(AS_MANY | {"transitions": pops, "acceptance_mode": mode})), WORDS) == 3


def test_passing_an_accepting_state_on_silent_moves_accepts():
    passes = {
        "q0": {"a": {"0": ("q3", ("0",))}},
        "q3": {"": {"0": ("q1", ("0",))}},
        "q1": {"b": {"0": ("q0", ("0",))}},
    }
    dpda = DPDA(**(AS_MANY | {"transitions": passes}))
    assert "q1-passed" in machine_of(dpda).states
    assert agree(dpda, WORDS) == 3  # a, aba, ababa


@st.composite
def automata(draw):
    states, symbols = ["p", "q", "r"], ["0", "1"]
    pushes = st.lists(st.sampled_from(symbols), max_size=2).map(tuple)
    moves = st.tuples(st.sampled_from(states), pushes)
    table = {}
    for state, top in itertools.product(states, symbols):
        silent = draw(st.integers(0, 3)) == 0
        for letter in ("",) if silent else "ab":
            if draw(st.integers(0, 4)):
                table.setdefault(state, {}).setdefault(letter, {})[top] = draw(moves)
    return DPDA(
        states=set(states),
        input_symbols={"a", "b"},
        stack_symbols=set(symbols),
        transitions=table,
        initial_state="p",
        initial_stack_symbol="0",
        final_states=draw(st.sets(st.sampled_from(states))),
        acceptance_mode=draw(st.sampled_from(["final_state", "empty_stack", "both"])),
    )


@given(automata())
@settings(max_examples=150, deadline=None)
def test_random_automata(dpda):
    # automata-lib does not look at the first configuration where a silent move leaves it: begin with a letter.
    first = dpda.transitions.get("p", {}).get("", {})
    try:
        machine_of(dpda)
    except EndlessSilentMoves:  # automata-lib would run for ever
        assume(False)
    agree(dpda, [word for word in WORDS if word or not first])


def test_faults_are_reported_with_their_place():
    for change, code, said, path in [
        ({"acceptance_mode": "final"}, "E0110", "did you mean `final_state`", ": acceptance_mode"),
        (
            {"transitions": {"q0": {"a": {"0": ["q1"]}}}},
            "E0110",
            "[STATE, PUSH]",
            ': transitions.q0.a["0"]',
        ),
        ({"transitions": {"q0": {"a": "0"}}}, "E0110", "an object", ": transitions.q0.a"),
        (
            {"transitions": {"q0": {"a": {"0": ["q9", "0"]}}}},
            "E0201",
            "q9",
            ': transitions.q0.a["0"]',
        ),
        (
            {"transitions": {"q0": {"a": {"7": ["q1", "0"]}}}},
            "E0203",
            "7",
            ': transitions.q0.a["7"]',
        ),
        ({"input_symbols": ["a", "("]}, "E0108", "`(`", ""),
    ]:
        with pytest.raises(PdrmError) as caught:
            parse(json.dumps(AS_MANY | change, default=list), "task.json")
        assert caught.value.errors[0].code == code
        assert said in str(caught.value)
        assert str(caught.value.where) == f"task.json{path}"
