"""The machine in JAX: full and deep stacks. That it is the readable step is a proof (`proofs/jax_machine.py`)."""

import jax
import pytest

from pdrm.errors import BadSetting
from pdrm.language.loading import catalogue
from pdrm.machines.tables import tabulate
from pdrm.product.jax_env.jax_machine import OK, OVERFLOW, JaxMachine


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
