"""The Numba learner equals the readable one, and both learn values known by hand."""

from dataclasses import replace

import numpy as np
import pytest

from pdrm.domains.finite_domain import from_arrays
from pdrm.domains.paper_domains import domain
from pdrm.errors import PdrmError, UndefinedMove
from pdrm.language.loading import catalogue, parse
from pdrm.learning.protocol import Until
from pdrm.learning.randomness import Rng, seed_streams
from pdrm.learning.tabular import rows_kernel as tables
from pdrm.learning.tabular.learner import QLearner
from pdrm.learning.tabular.q_learning import ReadableQLearning
from pdrm.product.observation import FullStack, TopK
from tests.probes import COLLECT, VALUES, corridor
from tests.properties.learners import q_settings

CHOICES = [("none", None), ("exhaustive", None), ("deduplicated", None), ("deduplicated", 3)]


def table(training):
    """The learnt table by what the agent sees."""
    policy = training.policy()
    return {
        policy.q_table.seen(row): policy.q_table.value[row].tolist() for row in range(len(policy))
    }


@pytest.mark.parametrize(("choice", "budget"), CHOICES)
@pytest.mark.parametrize("view", [TopK(0), TopK(1), TopK(2), FullStack()], ids=str)
@pytest.mark.parametrize(
    ("name", "episodes"),
    [("letter", 6), ("maze-5x5", 8), ("paint", 20), ("echo", 12), ("deliver-4-8", 1)],
)
def test_kernel_and_readable_learner_fill_the_same_table(name, episodes, view, choice, budget):
    where = domain(name)
    machine = catalogue(where.machine)
    limit = 60 if name in ("letter", "deliver-4-8") else None
    settings = q_settings(
        learning_rate=0.3,
        counterfactuals=choice,
        updates_per_step=budget,
        step_limit=limit,
        test_episodes=3,
    )
    training = QLearner(where, machine, view, settings, seed=5)
    training.advance(Until(episodes=episodes))
    rng_state = seed_streams(5, 2)
    readable = ReadableQLearning(where, machine, view, settings, Rng(rng_state[:1]))
    for _ in range(episodes):
        readable.episode()
    assert table(training) == readable.q
    assert training.rng_state[0] == rng_state[0]
    test = training.test(3)
    assert test.returns.tolist() == [
        readable.test(other, Rng(rng_state[1:])) for other in where.tested_on for _ in range(3)
    ]


def test_room_and_checkpoints_change_nothing(monkeypatch):
    """Arrays or hash tables, kept or recomputed successors, and a resumed run: the learnt values
    are the same."""
    where = domain("maze-5x5")
    settings = q_settings(learning_rate=0.3, counterfactuals="exhaustive")

    def new():
        return QLearner(where, catalogue(where.machine), FullStack(), settings, seed=5)

    kept, resumed = new(), new()
    kept.advance(Until(episodes=20))
    resumed.load({name: array.copy() for name, array in kept.save().items()})
    kept.advance(Until(episodes=30))
    resumed.advance(Until(episodes=30))
    monkeypatch.setattr(tables, "MAX_CELLS", 4_000)
    forgetful = new()
    explored = forgetful.tables.explored
    explored = explored._replace(after=explored.after[:, :500], reward=explored.reward[:, :500])
    forgetful.tables = forgetful.tables._replace(explored=explored)
    monkeypatch.setattr("pdrm.product.explore_kernel.MAX_KEPT", 500 * len(where.labels))
    forgetful.advance(Until(episodes=30))
    assert kept.tables.table.slot.ndim == 2
    assert forgetful.tables.table.slot.ndim == 1
    assert forgetful.tables.explored.stacks.made[0] * forgetful.tables.explored.states > 500
    assert forgetful.tables.explored.after.shape[1] == 500
    assert table(kept) == table(resumed) == table(forgetful)


def test_classes_of_stacks_too_deep_to_be_numbered_are_kept_apart():
    """Thirty-three pops in a step and three symbols: 4^34 tops of stacks do not fit in 64 bits."""
    pops = "".join(
        f"v{i} -> v{i + 1} : eps, {symbol} / eps, 0\n" for i in range(33) for symbol in "AB"
    )
    pushes = "u -> u : a, z / A z, 0\nu -> u : b, z / B z, 1\n"
    machine = parse(
        f"events a b c\nexclusive a b c\nstack # A B\nstart u\nfinal v33\notherwise stay 0\n{pushes}u -> v0 : c, z / z, 2\n{pops}"
    )
    labels = [("a",), ("b",), ("c",)]
    where = from_arrays(
        "press", [[0] * 99], [[0, 1, 2, *[0, 1] * 48]], labels, step_limit=45
    )  # c is rare
    settings = q_settings(counterfactuals="deduplicated", epsilon_decay=1.0)
    training = QLearner(where, machine, TopK(1), settings, seed=2)
    training.advance(Until(episodes=1))
    readable = ReadableQLearning(where, machine, TopK(1), settings, Rng(seed_streams(2, 2)[:1]))
    readable.episode()
    assert table(training) == readable.q
    assert int(training.tables.observed.index.used[0]) > 33


def test_a_test_in_a_domain_with_other_labels_is_refused():
    letter = domain("letter")
    other = from_arrays(
        "other", [[0] * 4] * 3, [[0, 1, 2, 3]] * 3, [(), ("x",), ("y",), ("z",)], step_limit=20
    )
    with pytest.raises(PdrmError, match="states"):
        replace(letter, tests=(other,))


@pytest.mark.parametrize("choice", ["none", "exhaustive", "deduplicated"])
@pytest.mark.parametrize("view", [TopK(1), TopK(3), FullStack()], ids=str)
def test_values_known_by_hand_are_reached(view, choice):
    settings = q_settings(discount=0.9, epsilon=1.0, epsilon_decay=1.0, counterfactuals=choice)
    training = QLearner(corridor(), COLLECT, view, settings, seed=1)
    training.advance(Until(episodes=2_000))
    policy = training.policy()
    for (cell, state, top), known in VALUES.items():
        below = ("#",) if top == ("A",) else ()
        learnt = policy.values(cell, state, top + below)
        for value, expected in zip(learnt, known, strict=True):
            assert expected is None or value == pytest.approx(expected, abs=1e-6)


def test_a_limit_is_not_an_end():
    """Truncated right before the reward, the last step still has the value of the next state."""
    settings = q_settings(discount=0.9, epsilon=1.0, epsilon_decay=1.0, step_limit=4)
    training = QLearner(corridor(), COLLECT, TopK(1), settings, seed=2)
    training.advance(Until(episodes=5_000))
    assert training.policy().values(1, "up", ("#",))[0] == pytest.approx(8.1, abs=1e-6)


def test_stopping_and_going_on_changes_nothing():
    where, machine = domain("maze-5x5"), catalogue("treasure-maze")
    settings = q_settings(counterfactuals="exhaustive")
    at_once, in_parts = (QLearner(where, machine, FullStack(), settings, seed=3) for _ in range(2))
    at_once.advance(Until(episodes=40))
    for until in (1, 7, 8, 30, 40):
        in_parts.advance(Until(episodes=until))
    assert table(at_once) == table(in_parts)
    assert np.array_equal(at_once.rng_state, in_parts.rng_state)


def test_seeds_differ_and_repeat():
    where, machine = domain("letter"), catalogue("letter")

    def learnt(seed):
        training = QLearner(where, machine, TopK(1), q_settings(episodes=20), seed)
        training.advance(Until(episodes=20))
        return table(training)

    assert learnt(1) == learnt(1)
    assert learnt(1) != learnt(2)


def test_deduplicated_counterfactuals_stop_growing():
    where, machine = domain("maze-10x10"), catalogue("treasure-maze")
    training = QLearner(where, machine, TopK(1), q_settings(counterfactuals="deduplicated"), seed=0)
    training.advance(Until(episodes=200))
    assert int(training.tables.observed.index.used[0]) == 1 + 4 + 16


def test_one_cprm_solves_the_mazes():
    for name in ("maze-5x5", "maze-10x10"):
        where, machine = domain(name), catalogue("treasure-maze")
        training = QLearner(
            where, machine, TopK(1), q_settings(counterfactuals="deduplicated"), seed=4
        )
        training.advance(Until(episodes=3_000))
        assert set(training.test(10).ends) == {"home"}


def test_a_label_without_rule_is_an_error():
    machine = parse(
        "events A B C\nexclusive A B C\nstack #\nstart u\notherwise error\nu -> u : {A}, z / z, 0\n"
    )
    training = QLearner(domain("letter"), machine, TopK(1), q_settings(), seed=0)
    with pytest.raises(UndefinedMove, match="letter"):
        training.advance(Until(episodes=10))
