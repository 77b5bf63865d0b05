"""Potentials of the machine: values known by hand, equal in every engine, and shaped environments.

`tests/properties/shaping.py` proves that they change no optimal action.
"""

from random import Random

import pytest

import pdrm
from pdrm.errors import BadSetting
from pdrm.language.loading import parse
from pdrm.machines.stacks import Stacks
from pdrm.machines.tables import tabulate
from pdrm.product import Shaped
from pdrm.product.explore_kernel import fill_potentials
from pdrm.product.shaping import Shaping, cover_moves
from tests.properties.random_machines import random_machine
from tests.properties.wrapping import Case, Playback

EARN = parse(
    "events a b\nexclusive a b\nstack # A\nstart u\nfinal end\notherwise stay 0\n"
    "u -> u   : a, z / A z, 1\n"
    "u -> end : b, # / #,   5\n"
    "u -> v   : b, A / eps, 2\n"
    "v -> u   : eps, z / z, 3\n"
)
"""Every `a` has reward 1, and 5 more when it is popped: 2 for the label, 3 for a silent move."""


def test_values_by_hand():
    potential = Shaping(discount=0.5).of(EARN)
    # A pop has reward 5. Alternating `a` and `b` forever, 1 and 5: (1 + 5/2) / (1 - 1/4) > 5.
    for_ever = (1 + 0.5 * 5) / (1 - 0.25)
    assert potential.value("u", ("#",)) == pytest.approx(max(5, for_ever))
    assert potential.value("u", ("A", "#")) == pytest.approx(5 + 0.5 * 5)
    assert potential.value("u", ("A", "A", "#")) == pytest.approx(5 + 0.5 * 7.5)
    assert potential.value("end", ("A", "#")) == 0
    shaped = Shaping(discount=0.5, scale=-2.0, shift=1.0).of(EARN)
    assert shaped.potential("u", ("A", "#")) == pytest.approx(1 - 2 * 7.5)
    before, after = ("u", ("A", "#")), ("u", ("#",))
    assert shaped.reward(before, after, over=False) == pytest.approx(
        0.5 * (1 - 2 * 5) - (1 - 2 * 7.5)
    )
    assert shaped.reward(before, after, over=True) == pytest.approx(-(1 - 2 * 7.5))


def test_labels_respect_exclusive_events_and_many_events_are_no_matter():
    assert set(cover_moves(EARN)) == {frozenset(), frozenset("a"), frozenset("b")}
    events = " ".join(f"e{number}" for number in range(60))
    wide = parse(
        f"events {events}\nstack #\nstart u\nfinal end\notherwise stay 0\nu -> end : e0 & !e59, z / z, 1\n"
    )
    assert len(cover_moves(wide)) == 2  # of 2^60
    assert Shaping(discount=0.9).of(wide).value("u", ("#",)) == 1


def test_only_what_the_domain_emits():
    task = pdrm.Task("deliver-8")
    every, emitted = (
        Shaping(discount=0.9).of(task.pushdown, labels)
        for labels in (None, task.finite.find_labels())
    )
    assert emitted.value("wait", ("#",)) == every.value("wait", ("#",)) > 0
    nothing = Shaping(discount=0.9).of(task.pushdown, [frozenset()])
    assert nothing.value("wait", ("#",)) == 0


def test_what_is_refused():
    for wrong in (
        {"discount": 1.5},
        {"discount": True},
        {"discount": 1.0},
        {"discount": 0.9, "shift": float("inf")},
    ):
        with pytest.raises(BadSetting):
            Shaping(**wrong)
    assert Shaping(discount=1.0, potential_discount=0.9).value_discount == 0.9


def test_kernels_keep_the_same_values_on_stacks():
    random = Random(3)
    for _ in range(20):
        machine = random_machine(random)
        potential = Shaping(discount=random.choice((0.0, 0.5, 0.99))).of(machine)
        tables, stacks = potential.tables(capacity=2), Stacks.empty(len(machine.stack), capacity=64)
        for _ in range(6):
            stacks.node_of(random.choices(range(1, len(machine.stack) + 1), k=random.randint(0, 8)))
        while not fill_potentials(tables, stacks):
            tables = tables.grow()
        for node in range(int(stacks.made[0])):
            stack = tuple(machine.stack[symbol - 1] for symbol in stacks.stack_of(node))
            assert tables.value[node].tolist() == potential.find_values(stack).tolist()


def test_in_jax():
    jax = pytest.importorskip("jax")
    from pdrm.product.jax_env.jax_product import JaxMachine, jax_potential

    labels, shaping, random = (
        cover_moves(EARN),
        Shaping(discount=0.5, scale=-2.0, shift=1.0),
        Random(0),
    )
    machine, potential = JaxMachine(tabulate(EARN, labels), depth=40), shaping.of(EARN)
    packed = jax_potential(machine, shaping, machine.table)
    find = jax.jit(packed.potential)
    for height in (0, 1, 2, 15, 16, 17, 33, 40):
        stack, state = tuple(random.choices(EARN.stack, k=height)), random.randrange(2)
        own = find(machine.pack(state, tuple(EARN.stack.index(symbol) + 1 for symbol in stack)))
        assert float(own) == pytest.approx(potential.potential(EARN.states[state], stack), rel=1e-5)
    clipped = jax_potential(machine, shaping, machine.table, reward_scale=10.0, reward_clip=1.0)
    turns = (1 + 0.5 * (1 + 1)) / (1 - 0.25)  # `a` and `b` in turn: clipped to at most 1
    assert float(clipped.potential(machine.pack(0, (1,)))) == pytest.approx(1 - 2 * turns)


def test_shaping_of_wrapped_environments_telescopes():
    """The discounted sum of an episode is γᵗΦ(last) - Φ(first), or -Φ(first) at a final state."""
    word = [frozenset(event) for event in "aabab"]
    for truncates in (False, True):
        shaping = Shaping(discount=0.5, shift=2.0)
        bare = Playback(word, [1.0] * 5, Case(5, truncates, 1.0, ignores=False, nested=False))
        env = Shaped(pdrm.wrap(bare, EARN, "info"), shaping)
        env.reset()
        first = shaping.of(EARN).potential("u", ("#",))
        added, terminated, truncated, step = 0.0, False, False, 0
        while not (terminated or truncated):
            _, reward, terminated, truncated, info = env.step(0)
            told = info["machine"]
            assert reward == told["reward"] + told["environment_reward"] + told["shaping"]
            added, step = added + 0.5**step * told["shaping"], step + 1
        last = shaping.of(EARN).potential(told["state"], told["stack"]) if truncates else 0.0
        assert (terminated, truncated) == (not truncates, truncates)
        assert added == pytest.approx(0.5**5 * last - first)
