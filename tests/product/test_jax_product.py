"""The product in JAX, step by step against the domain's arrays and the readable machine."""

from dataclasses import replace
from random import Random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pdrm.domains import water
from pdrm.domains.finite_domain import from_arrays
from pdrm.domains.paper_domains import domain
from pdrm.errors import BadSetting
from pdrm.language.loading import catalogue, parse
from pdrm.machines.stacks import FINISHED, OK, OVERFLOW, UNDEFINED
from pdrm.product.jax_env.jax_domain import finite_domain, key_of, make_key, uniforms, water_domain
from pdrm.product.jax_env.jax_product import jax_product
from pdrm.product.observation import TopK
from tests.properties.random_machines import random_machine


def symbols_of(product, machine, state):
    top = product.machine.top(state.configuration, 8)
    return tuple(machine.stack[symbol - 1] for symbol in top.tolist() if symbol)


def test_a_walk_is_the_readable_one_and_starts_again():
    """LetterEnv with 12 steps: the machine follows the labels, and episodes restart."""
    where, machine = domain("letter"), catalogue("letter")
    product = jax_product(replace(finite_domain(where), step_limit=12), machine, TopK(2))
    step, renewed = jax.jit(product.step), jax.jit(product.renew)
    state, here = product.begin(make_key(3)).state, machine.begin().after
    assert product.observe(state).shape == (product.observation_size,)
    chance, over = np.random.default_rng(0), 0
    for _ in range(120):
        before = int(state.environment)
        action = int(chance.integers(4))
        state, outcome = step(state, action)
        label = where.labels[int(outcome.label)]
        assert int(state.environment) in where.arrays.next[before, action].tolist()
        taken = machine.step(here, label)
        here = taken.after
        assert float(outcome.reward) == pytest.approx(taken.reward)
        assert product.machine.final(state.configuration) == (here.state in machine.final)
        assert symbols_of(product, machine, state) == here.stack[:8]
        seen = np.asarray(product.observe(state))[where.states :]
        names = (*machine.states, *machine.final)
        assert names[int(seen[: len(names)].argmax())] == here.state
        assert bool(outcome.terminated) == (here.state in machine.final)
        assert bool(outcome.truncated) == (not outcome.terminated and int(state.clock) == 12)
        ended = outcome.terminated | outcome.truncated
        after = renewed(state, ended).state
        if ended:
            assert (int(after.clock), int(after.key) != int(state.key)) == (0, True)
            over, here = over + 1, machine.begin().after
        else:
            assert all(
                jnp.array_equal(a, b)
                for a, b in zip(jax.tree.leaves(after), jax.tree.leaves(state), strict=True)
            )
        state = after
    assert over


def begun_by_hand(machine, label, depth):
    """The first configuration of the readable machine, its reward, and the status."""
    begin = machine.begin()
    here, paid = begin.after, begin.reward
    if label is not None and here.state not in machine.final:
        if (
            machine.otherwise.action == "error"
            and machine.rule(here.state, label, here.top) is None
        ):
            return here, paid, UNDEFINED
        step = machine.step(here, label)
        if any(len(move.after.stack) > depth for move in step.moves):
            return None, None, OVERFLOW
        here, paid = step.after, paid + step.reward
    return here, paid, FINISHED if here.state in machine.final else OK


def test_what_is_paid_before_the_first_action_is_what_the_readable_machine_pays():
    """Random machines, also with initial silent moves, with every label at reset and none."""
    met, depth = set(), 8
    for seed in range(12):
        machine = random_machine(Random(seed))
        if len(machine.begin().after.stack) > depth:
            continue
        labels, states = list(machine.alphabet.labels())[:4], (*machine.states, *machine.final)
        for number in range(-1, len(labels)):
            first = {} if number < 0 else {"start_label": number}
            where = from_arrays("d", [[0]], [[0]], labels, step_limit=9, **first)
            product = jax_product(finite_domain(where), machine, TopK(1), depth=depth)
            begun = product.begin(make_key(seed))
            here, paid, status = begun_by_hand(
                machine, None if number < 0 else labels[number], depth
            )
            met.add((int(begun.status), paid not in (None, 0)))
            if status == OVERFLOW:
                assert int(begun.status) in (OVERFLOW, FINISHED)
                continue
            assert int(begun.status) == status
            assert states[int(begun.state.configuration.state)] == here.state
            assert symbols_of(product, machine, begun.state) == here.stack
            assert float(begun.reward) == pytest.approx(paid, rel=1e-6, abs=1e-6)
    assert {(OK, True), (OK, False), (UNDEFINED, False), (FINISHED, True)} <= met


def test_a_first_stack_higher_than_the_depth_is_refused():
    machine = parse(
        "events a\nstack # A\nstart u\notherwise stay 0\nu -> v : eps, # / A A #, 0\nv -> v : a, z / z, 0\n"
    )
    where = from_arrays("d", [[0]], [[0]], [("a",)], step_limit=9)
    fitting = jax_product(finite_domain(where), machine, TopK(1), depth=3)
    assert symbols_of(fitting, machine, fitting.begin(make_key(0)).state) == ("A", "A", "#")
    with pytest.raises(BadSetting, match="first stack does not fit a depth of 2"):
        jax_product(finite_domain(where), machine, TopK(1), depth=2).begin(make_key(0))


def test_water_moves_as_its_formulas_say():
    """The product's random numbers, put into the NumPy functions, give the same states."""
    world = water.WaterWorld(step_limit=30)
    product = jax_product(water_domain(world), catalogue("water"), TopK(1))
    state = product.begin(make_key(5)).state
    plain = water.begin(
        world, np.asarray(uniforms(key_of(make_key(5), 0), water.START_NUMBERS)), np
    )
    for clock in range(5):
        for own, theirs in zip(
            jax.tree.leaves(state.environment), jax.tree.leaves(plain), strict=True
        ):
            assert np.asarray(own) == pytest.approx(np.asarray(theirs), abs=1e-4)
        drawn = np.asarray(uniforms(key_of(state.key, clock + 1), water.STEP_NUMBERS))
        push = np.asarray(water.PUSHES, np.float32)[clock]
        plain, label = water.advance(world, plain, push, drawn, np)
        state, outcome = product.step(state, clock)
        assert int(outcome.label) == int(label)
