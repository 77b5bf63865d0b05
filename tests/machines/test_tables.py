"""Tables and lazy tables make the same steps as the readable machine."""

from random import Random

import pytest

from pdrm.errors import ImpossibleLabel, MachineFinished, UndefinedMove, UnknownEvent
from pdrm.language.loading import catalogue, catalogue_names, parse
from pdrm.machines import tables
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import LazyTable, step_table, tabulate
from pdrm.machines.transitions import Configuration
from tests.properties.random_machines import described, random_machine

A, B = frozenset("a"), frozenset("b")
SMALL = parse(
    "events a b\nexclusive a b\nstack # A\nstart u\nfinal end\notherwise error\nu -> end : a, A / eps, 0\n"
)


def outcome(function):
    """The result of a step with the exact reward, or None if it is undefined."""
    try:
        state, stack, reward = function()
    except UndefinedMove:
        return None
    return state, stack, float(reward).hex()


def readable(step):
    return step.after.state, step.after.stack, step.reward


def test_every_case_of_the_table_is_the_readable_step():
    """Also from unreachable configurations, where counterfactual experiences can start."""
    for seed in range(60):
        machine = random_machine(Random(seed))
        labels = list(machine.alphabet.labels())
        table = tabulate(machine, labels)
        states, symbols = (*machine.states, *machine.final), ("", *machine.stack)

        def named(after, states=states, symbols=symbols):
            stack = tuple(symbols[symbol] for symbol in after.stack)
            return states[after.state], stack, after.reward

        for state in range(table.first_final):
            for number, label in enumerate(labels):
                for stack in [(), *((top, 1) for top in range(1, len(symbols)))]:
                    here = Configuration(states[state], tuple(symbols[one] for one in stack))
                    expected = outcome(lambda m=machine, h=here, x=label: readable(m.step(h, x)))
                    found = outcome(
                        lambda t=table, u=state, s=stack, n=number: named(step_table(t, u, s, n))
                    )
                    assert found == expected, described(machine)


def assert_rows_alike(machine, random, steps):
    rows, labels = LazyTable(machine), list(machine.alphabet.labels())
    here = machine.begin().after
    assert outcome(rows.begin) == outcome(lambda: readable(machine.begin())), described(machine)
    for _ in range(steps):
        if here.state in machine.final:
            here = machine.begin().after
            if here.state in machine.final:
                return
        label = random.choice(labels)
        expected = outcome(lambda now=here, read=label: readable(machine.step(now, read)))
        found = outcome(lambda now=here, read=label: rows.step(now.state, now.stack, read))
        assert found == expected, described(machine)
        here = machine.begin().after if expected is None else Configuration(*expected[:2])


def test_rows_are_the_readable_step(monkeypatch):
    for seed in range(100):
        assert_rows_alike(random_machine(Random(seed)), Random(seed), steps=60)
    for machine in map(catalogue, catalogue_names()):
        if isinstance(machine, PushdownRewardMachine):
            assert_rows_alike(machine, Random(0), steps=300)
    monkeypatch.setattr(tables, "MAX_KEPT", 3)
    assert_rows_alike(random_machine(Random(1)), Random(1), steps=300)


def test_labels_are_the_machines():
    with pytest.raises(UnknownEvent):
        tabulate(SMALL, [A, frozenset("X")])
    with pytest.raises(ImpossibleLabel):
        tabulate(SMALL, [A | B])
    rows = LazyTable(SMALL)
    for _ in range(2):
        with pytest.raises(UnknownEvent):
            rows.step("u", ("#",), frozenset(["D"]))


def test_what_has_no_table_and_no_move():
    table = tabulate(SMALL, [A, B, A])
    assert (table.move[:, 0] == table.move[:, 2]).all(), "a label twice has two columns"
    for stack in ((1,), ()):
        with pytest.raises(UndefinedMove):
            step_table(table, 0, stack, 0)
    assert step_table(table, 0, (2,), 0) == (1, (), 0.0)
    with pytest.raises(MachineFinished):
        step_table(table, 1, (), 0)
