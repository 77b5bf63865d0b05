"""Tables: the numbering, the moves, and the plain step on them against the readable step."""

import subprocess
import sys

import pytest
from hypothesis import given, settings

from pdrm.errors import BadSetting, ImpossibleLabel, MachineFinished, UndefinedMove, UnknownEvent
from pdrm.language.loading import catalogue
from pdrm.machines.configurations import Configuration
from pdrm.machines.guards import ALWAYS, SILENT, Event, Exactly
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import BEGIN, begin_table, step_table, tabulate
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


def test_states_symbols_and_labels_are_numbered_in_order():
    table = tabulate(LETTER, [A, B, C])
    assert table.move.shape == (3, 3, 3)
    assert (table.start, table.bottom, table.first_final) == (0, 1, 2)
    assert (table.move[2] == -1).all()
    assert (table.silent == -1).all()


def test_pushing_above_the_top_is_one_push_and_no_pop():
    table = tabulate(LETTER, [A, B, C])
    over_bottom, over_a = table.move[0, 0, 1], table.move[0, 0, 2]
    assert over_bottom == over_a
    assert (table.pops[over_a], table.pushes[over_a], table.push[over_a].tolist()) == (0, 1, [2])
    popped = table.move[1, 2, 2]
    assert (table.pops[popped], table.pushes[popped]) == (1, 0)
    kept = table.move[1, 2, 1]
    assert (table.pops[kept], table.pushes[kept], table.reward[kept]) == (0, 0, 1.0)


def test_symbols_are_pushed_deepest_first_and_padded_with_zeros():
    table = tabulate(
        machine_of(rule("u", Event("a"), "A", "B A # "), rule("u", Event("a"), "B", "A")),
        [frozenset("a")],
    )
    long, short = table.move[0, 0, 2], table.move[0, 0, 3]
    assert (table.pops[long], table.push[long].tolist()) == (1, [1, 2, 3])
    assert (table.pops[short], table.push[short].tolist()) == (1, [2, 0, 0])


def test_a_named_top_beats_z_and_eps_keeps_the_top():
    named = rule("end", Event("a"), "A", "A", 2.0)
    any_top = rule("u", Event("a"), "z", "z", 1.0)
    ignoring = rule("u", Exactly(frozenset("b")), "eps", "B", 3.0)
    table = tabulate(machine_of(named, any_top, ignoring), [frozenset("a"), frozenset("b")])
    assert table.reward[table.move[0, 0, 1:]].tolist() == [1.0, 2.0, 1.0]
    assert table.move[0, 0, 0] == -1
    on_empty, on_top = table.move[0, 1, 0], table.move[0, 1, 2]
    assert on_empty == on_top
    assert (table.pops[on_top], table.push[on_top, 0]) == (0, 3)


def test_move_0_begins_an_episode():
    table = tabulate(LETTER, [])
    assert (table.target[BEGIN], table.push[BEGIN, 0], table.reward[BEGIN]) == (0, 1, 0.0)
    assert begin_table(table) == (0, (1,), 0.0)


def test_otherwise_is_a_move_like_any_other():
    for otherwise, after in [
        (Otherwise.stay(0.5), (0, (1,), 0.5)),
        (Otherwise.go("end", -2), (1, (1,), -2.0)),
    ]:
        table = tabulate(machine_of(otherwise=otherwise), [NOTHING])
        assert step_table(table, 0, (1,), 0) == after
        assert step_table(table, 0, (), 0) == (after[0], (), after[2])


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


def test_silent_moves_run_out_and_their_rewards_add_in_order():
    machine = machine_of(
        rule("v", SILENT, "#", "A #", 0.1),
        rule("w", SILENT, "A", "", 0.2, source="v"),
        rule("x", SILENT, "#", "", 0.3, source="w"),
        rule("u", ALWAYS, "eps", "#", 1e16, source="x"),
    )
    table = tabulate(machine, [NOTHING])
    assert begin_table(table) == (3, (), 0.1 + 0.2 + 0.3)
    assert step_table(table, 3, (), 0) == (3, (), 1e16 + 0.1 + 0.2 + 0.3)


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


def test_tables_do_not_import_numba():
    code = "import sys, pdrm.machines.tables, pdrm.machines.stacks, pdrm.machines.stacks; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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
