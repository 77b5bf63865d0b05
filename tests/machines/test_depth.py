"""How deep a step looks into the stack: stacks that agree so far are stepped alike by the readable machine."""

from itertools import product
from random import Random

from pdrm.language.loading import parse
from pdrm.machines.configurations import Configuration
from pdrm.machines.conversions import counting_to_pushdown
from pdrm.machines.stack_bounds import pops_in_a_step, symbols_that_matter
from tests.properties.random_counting import pushdown_machine
from tests.properties.random_machines import random_machine

HEAD = "events a b\nexclusive a b\nstack # A B\nstart u\nfinal f\nstates u v w\n"
TALL = 4


def experience(machine, here, label):
    """What a policy that sees the whole stack gets to know of a step: None where there is no move."""
    if machine.otherwise.action == "error" and machine.rule(here.state, label, here.top) is None:
        return None
    step = machine.step(here, label)
    return step.after.state, step.reward, step.after.stack


def test_stacks_that_agree_so_far_give_the_same_experience():
    for seed in range(60):
        machine = random_machine(Random(seed)) if seed % 2 else pushdown_machine(Random(seed))
        if pops_in_a_step(machine) is None:
            continue
        told, seen = [symbols_that_matter(machine, k) for k in range(3)], {}
        labels = list(machine.alphabet.labels())
        for stack, state in product(product(machine.stack, repeat=TALL), machine.states):
            for label in labels if machine.rule(state, None, stack[0]) is None else ():
                got = experience(machine, Configuration(state, stack), label)
                for k, matter in enumerate(told):
                    known = got and (*got[:2], got[2][:k])
                    assert seen.setdefault((k, stack[:matter], state, label), known) == known


def test_known_depths():
    for rules, pops in [
        ("otherwise stay 0\nu -> u : a, z / A z, 0\n", 0),
        ("otherwise stay 0\nu -> u : a, A / B, 0\n", 1),
        ("otherwise stay 0\nu -> v : a, z / z, 0\nv -> v : eps, A / eps, 0\n", None),
        (
            "otherwise stay 0\nu -> v : a, z / z, 0\nv -> w : eps, A / eps, 0\nw -> v : eps, B / eps, 0\n",
            None,
        ),
        (
            "otherwise stay 0\nu -> v : a, z / z, 0\nv -> w : eps, A / eps, 0\nw -> f : eps, B / eps, 0\n",
            2,
        ),
        # what the rule pushes is popped again before the old stack is
        (
            "otherwise stay 0\nu -> v : a, z / B z, 0\nv -> w : eps, B / eps, 0\nw -> f : eps, A / eps, 0\n",
            1,
        ),
        (
            "otherwise stay 0\nu -> v : a, A / B B, 0\nv -> w : eps, B / eps, 0\nw -> f : eps, B / eps, 0\n",
            1,
        ),
        # the moves after `otherwise go` pop too
        (
            "otherwise go v 0\nu -> u : a, A / A, 0\nv -> w : eps, A / eps, 0\nw -> f : eps, B / eps, 0\n",
            2,
        ),
        ("otherwise go v 0\nv -> v : eps, A / eps, 0\n", None),
    ]:
        assert pops_in_a_step(parse(HEAD + rules)) == pops


def test_long_and_wide_chains_of_pops_are_measured_at_once():
    """A counter that falls by a thousand, and thirty layers of two states each, every one of which leads to both of the next."""
    long = parse("events a\ncounters 1\nstart u\notherwise stay 0\nu -> u : a, [1] / [-1000], 0\n")
    assert pops_in_a_step(counting_to_pushdown(long)) == 1000
    layers = "".join(
        f"{x}{i} -> {y}{i + 1} : eps, {symbol} / eps, 0\n"
        for i in range(30)
        for x in "vw"
        for y, symbol in ("vA", "wB")
    )
    wide = f"events a\nstack # A B\nstart u\nfinal v30 w30\notherwise stay 0\nu -> v0 : a, z / z, 0\n{layers}"
    assert pops_in_a_step(parse(wide)) == 30
    assert symbols_that_matter(parse(wide), 3, steps=2) == 63
