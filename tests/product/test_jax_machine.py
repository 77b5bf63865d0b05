"""Full and deep stacks in JAX. `tests/properties/jax_machine.py` compares the steps."""

import jax

from pdrm.language.loading import catalogue, parse
from pdrm.machines.stacks import OVERFLOW
from pdrm.machines.tables import tabulate
from pdrm.product.jax_env.jax_product import JaxMachine


def test_silent_moves_stop_on_a_full_stack():
    """Without the dropped `B`, `q` sees the `A` below it and returns to `p`, and so on forever."""
    machine = parse(
        "events a b\nexclusive a b\nstack # A B\nstart u\notherwise stay 0\n"
        "u -> u : a, z / A z, 0\nu -> p : b, z / z, 0\np -> q : eps, z / B z, 0\n"
        "q -> p : eps, A / A, 0\nq -> u : b, B / eps, 1\n"
    )
    packed = JaxMachine(tabulate(machine, [frozenset("a"), frozenset("b")]), depth=4)
    now = packed.begin().configuration
    for label in (0, 0, 0):
        now = packed.step(now, label).configuration
    assert int(packed.step(now, 1).status) == OVERFLOW


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
