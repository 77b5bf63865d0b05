"""The machine in JAX against the readable step on tables: random machines, silent moves, full stacks, missing moves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from pdrm.errors import BadSetting, UndefinedMove
from pdrm.language.loading import catalogue
from pdrm.machines.tables import Table, begin_table, step_table, tabulate
from pdrm.product.jax_env.jax_machine import OK, OVERFLOW, UNDEFINED, JaxMachine
from tests.strategies import machines_and_words

DEPTH = 64
SIZES = {"states": 8, "labels": 16, "symbols": 8, "moves": 512, "push": 6}


def padded(table):
    """The table in arrays of one size for all machines, so that JAX compiles one program."""

    def grown(array, shape, fill):
        whole = np.full(shape, fill, array.dtype)
        whole[tuple(slice(n) for n in array.shape)] = array
        return whole

    states, labels, symbols, moves, push = SIZES.values()
    columns = (grown(column, moves, 0) for column in (table.target, table.pops, table.pushes))
    return Table(
        grown(table.move, (states, labels, symbols), -1),
        grown(table.silent, (states, symbols), -1),
        *columns,
        grown(table.push, (moves, push), 0),
        grown(table.reward, moves, 0),
        table.start,
        table.bottom,
        table.first_final,
    )


@jax.jit
def one_step(arrays, first_final, configuration, label):
    machine = JaxMachine(Table(*arrays, 0, 0, first_final), DEPTH)
    stepped = machine.step(configuration, label)
    return stepped, machine.top(stepped.configuration, DEPTH)


@given(machines_and_words())
@settings(max_examples=40, deadline=None)
def test_it_is_the_step_on_tables(case):
    machine, words = case
    labels = list(dict.fromkeys(label for word in words for label in word)) or [frozenset()]
    plain = tabulate(machine, labels)
    if (
        max(plain.move.shape[0] - SIZES["states"], len(labels) - 16, len(plain.target) - 512, plain.push.shape[1] - 6)
        > 0
    ):
        return
    table = padded(plain)
    fast = JaxMachine(table, DEPTH)
    for word in words:
        state, stack, _ = begin_table(plain)
        for label in word:
            if state >= plain.first_final:
                break
            packed = fast.pack(state, stack)
            stepped, symbols = one_step(tuple(table[:7]), table.first_final, packed, labels.index(label))
            try:
                state, stack, paid = step_table(plain, state, stack, labels.index(label))
            except UndefinedMove:
                assert int(stepped.status) == UNDEFINED
                assert all(jnp.array_equal(a, b) for a, b in zip(stepped.configuration, packed, strict=True))
                break
            assert int(stepped.status) == OK
            assert int(stepped.configuration.state) == state
            assert int(stepped.configuration.height) == len(stack)
            assert tuple(int(symbol) for symbol in symbols if symbol) == stack
            assert float(stepped.reward) == pytest.approx(paid, rel=1e-6, abs=1e-6)


def test_a_push_onto_a_full_stack_is_lost_and_reported():
    table = tabulate(catalogue("letter"), [frozenset("A"), frozenset("B")])
    machine = JaxMachine(table, depth=2)
    once = machine.step(machine.begin().configuration, 0)
    twice = machine.step(once.configuration, 0)
    assert (int(once.status), int(twice.status)) == (OK, OVERFLOW)
    assert machine.top(twice.configuration, 3).tolist() == [2, 1, 0]
    assert int(twice.configuration.height) == 2


def test_deep_stacks_go_over_several_words():
    table = tabulate(catalogue("letter"), [frozenset("A"), frozenset("B"), frozenset("C")])
    machine = JaxMachine(table, depth=50)
    step = jax.jit(machine.step)
    now = machine.begin().configuration
    for _ in range(40):
        now = step(now, 0).configuration
    assert machine.top(now, 50).tolist() == [2] * 40 + [1] + [0] * 9
    now = step(now, 1).configuration
    for _ in range(40):
        now = step(now, 2).configuration
    assert machine.top(now, 2).tolist() == [1, 0]


def test_a_first_stack_that_does_not_fit():
    with pytest.raises(BadSetting, match="depth"):
        JaxMachine(tabulate(catalogue("letter"), [frozenset()]), depth=0)
