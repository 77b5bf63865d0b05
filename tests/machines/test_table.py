"""Tables: the numbering, the moves, and the plain step on them against the readable step."""

import pytest
from hypothesis import given, settings

from pdrm.errors import BadSetting, ImpossibleLabel, MachineFinished, UndefinedMove, UnknownEvent
from pdrm.language.loading import catalogue
from pdrm.machines.configurations import Configuration
from pdrm.machines.guards import Event, Exactly
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import step_table, tabulate
from pdrm.machines.transitions import Otherwise, Transition
from tests.strategies import machines

A, B, C, NOTHING = frozenset("A"), frozenset("B"), frozenset("C"), frozenset()
LETTER = PushdownRewardMachine(
    "letter",
    ("A", "B", "C"),
    ("#", "A"),
    "u0",
    ("done",),
    Otherwise.stay(-0.01),
    (
        Transition("u0", "u0", Exactly(A), "z", ("A", "z"), -0.01),
        Transition("u0", "u1", Exactly(B), "z", ("z",), -0.01),
        Transition("u1", "u1", Exactly(C), "A", (), -0.01),
        Transition("u1", "done", Exactly(C), "#", ("#",), 1),
    ),
)


def machine_of(*rules, otherwise=None, stack=("#", "A", "B"), final=("end",), **more):
    return PushdownRewardMachine(
        "test", ("a", "b"), stack, "u", final, otherwise or Otherwise.error(), tuple(rules), **more
    )


def rule(target, guard, top, push, reward=0.0, *, source="u"):
    return Transition(source, target, guard, top, tuple(push.split()), reward)


def test_only_pushdown_machines_have_tables():
    for wrong in ("letter", catalogue("letter-cra")):
        with pytest.raises(BadSetting) as caught:
            tabulate(wrong, [A])
        assert caught.value.fix


def test_undefined_and_finished_are_raised():
    table = tabulate(machine_of(rule("end", Event("a"), "A", "")), [frozenset("a")])
    with pytest.raises(
        UndefinedMove, match="label number 0 in state number 0 with top symbol number 1"
    ):
        step_table(table, 0, (1,), 0)
    with pytest.raises(UndefinedMove, match="top symbol number 0"):
        step_table(table, 0, (), 0)
    assert step_table(table, 0, (2,), 0) == (1, (), 0.0)
    with pytest.raises(MachineFinished):
        step_table(table, 1, (), 0)


def test_a_bad_label_is_named_with_the_machine():
    with pytest.raises(
        UnknownEvent, match=r"machine `letter` cannot read a label: event `X` of label \{X\}"
    ):
        tabulate(LETTER, [A, frozenset("X")])
    with pytest.raises(ImpossibleLabel, match=r"cannot read a label: label \{a, b\} holds both"):
        tabulate(machine_of(exclusive=(("a", "b"),)), [frozenset("ab")])


def test_a_label_given_twice_has_two_columns():
    table = tabulate(LETTER, [A, B, A])
    assert (table.move[:, 0] == table.move[:, 2]).all()


@settings(max_examples=30, deadline=None)
@given(machine=machines())
def test_every_case_of_the_table_is_the_readable_step(machine):
    """Also from configurations no word leads to: counterfactual experiences start anywhere."""
    labels = list(machine.alphabet.labels())
    table = tabulate(machine, labels)
    states, symbols = (*machine.states, *machine.final), (None, *machine.stack)
    for state in range(table.first_final):
        for number, label in enumerate(labels):
            for stack in [(), *((top, 1) for top in range(1, len(symbols)))]:
                configuration = Configuration(
                    states[state], tuple(symbols[symbol] for symbol in stack)
                )
                try:
                    readable = machine.step(configuration, label)
                except UndefinedMove:
                    with pytest.raises(UndefinedMove):
                        step_table(table, state, stack, number)
                    continue
                after = step_table(table, state, stack, number)
                assert states[after.state] == readable.after.state
                assert tuple(symbols[symbol] for symbol in after.stack) == readable.after.stack
                assert after.reward.hex() == float(readable.reward).hex()
