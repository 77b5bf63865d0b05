"""Q-learning and CQL over counting automata: kernel and readable learner are equal, also with
budgets."""

import numpy as np
import pytest

from pdrm.domains.paper_domains import domain
from pdrm.errors import BadSetting, EndlessSilentMoves, UndefinedMove
from pdrm.language.loading import catalogue, parse
from pdrm.learning.agents import CountingCQL
from pdrm.learning.protocol import Until
from pdrm.learning.randomness import Rng, seed_streams
from pdrm.learning.tabular.learner import QLearner, make_learner
from pdrm.learning.tabular.q_learning import ReadableQLearning
from pdrm.machines.conversions import pushdown_to_counting
from pdrm.paper.generated_tasks import deliver_tasks, sequences_of
from pdrm.paper.paper_agents import PaperCountingCQL
from pdrm.product.observation import FullStack, TopK
from pdrm.task import Task
from tests.properties.learners import q_settings, rows_of

CHOICES = [("none", None), ("exhaustive", None), ("exhaustive", 3)]
MAZE = pushdown_to_counting(catalogue("treasure-maze"))


def table(training):
    """The learnt table by environment state, machine state and counters."""
    return rows_of(training.policy().q_table)


def both(where, machine, settings, episodes, seed=5):
    """Both learners after some episodes, and the random state of the readable one."""
    training = QLearner(where, machine, FullStack(), settings, seed)
    training.advance(Until(episodes=episodes))
    rng_state = seed_streams(seed, 2)
    readable = ReadableQLearning(where, machine, FullStack(), settings, Rng(rng_state[:1]))
    returns = [readable.episode() for _ in range(episodes)]
    assert training.progress["last_return"][0] == returns[-1]
    return training, readable, rng_state


def assert_equal(training, readable, rng_state):
    assert table(training) == readable.q
    assert training.rng_state[0] == rng_state[0]
    episodes = training.settings.test_episodes
    tested = training.test(episodes)
    assert tested.returns.tolist() == [
        readable.test(other, Rng(rng_state[1:]))
        for other in training.domain.tested_on
        for _ in range(episodes)
    ]


@pytest.mark.parametrize(("choice", "budget"), CHOICES)
@pytest.mark.parametrize("name", ["letter-cra", "letter-counting"])
def test_letter(name, choice, budget):
    settings = q_settings(
        learning_rate=0.3,
        counterfactuals=choice,
        updates_per_step=budget,
        step_limit=60,
        test_episodes=3,
    )
    assert_equal(*both(domain("letter"), catalogue(name), settings, 12))


@pytest.mark.parametrize(("choice", "budget"), CHOICES)
@pytest.mark.parametrize("operations", [40, 700])
def test_maze_under_a_budget_of_operations(operations, choice, budget):
    settings = q_settings(
        learning_rate=0.3,
        counterfactuals=choice,
        updates_per_step=budget,
        operations_per_episode=operations,
        test_episodes=3,
    )
    assert_equal(*both(domain("maze-5x5"), MAZE, settings, 10))


@pytest.mark.parametrize(("operations", "steps"), [(2, 0), (30, 0), (5_000, 3 * 8)])
def test_the_label_at_reset_counts(operations, steps):
    """DeliverWorld's first label pushes a whole sequence of deliveries.

    If it exceeds the budget, it is not read.
    """
    settings = q_settings(operations_per_episode=operations, step_limit=8, test_episodes=2)
    _, few = deliver_tasks(*sequences_of(catalogue("deliver-four")))
    found = both(few.finite, pushdown_to_counting(few.pushdown), settings, 3)
    assert_equal(*found)
    assert found[0].steps == steps


def test_operations_are_counted_without_a_budget_too():
    settings = q_settings(step_limit=5)
    training = QLearner(domain("maze-5x5"), MAZE, FullStack(), settings, 1)
    training.advance(Until(episodes=1))
    assert training.steps == 5
    known = training.tables.explored.after >= 0
    assert training.tables.explored.moves[known].min() >= 1


def test_counterfactuals_use_every_vector_observed_and_learn_the_same_task_as_the_stack():
    settings = q_settings(
        learning_rate=0.2,
        counterfactuals="exhaustive",
        epsilon=0.1,
        epsilon_decay=1.0,
        test_episodes=20,
    )
    for name in ("letter", "letter-cra"):
        training = QLearner(domain("letter"), catalogue(name), FullStack(), settings, 7)
        training.advance(Until(episodes=400))
        assert training.test(20).returns.mean() > 0.7
    assert training.tables.observed.index.used[0] == training.tables.explored.stacks.made[0] - 1


def test_automaton_and_machine_of_the_letters_pay_alike():
    """For the labels that LetterEnv can emit: A until B shows, then no more A."""
    generator = np.random.default_rng(3)
    stack, counter = catalogue("letter"), catalogue("letter-cra")
    for _ in range(200):
        word = [
            *generator.choice(["A", "C", ""], generator.integers(6)),
            *generator.choice(["B", "C", ""], 12),
        ]
        labels = [frozenset(event) for event in word]
        assert stack.run(labels).reward == counter.run(labels).reward


def test_a_snapshot_keeps_the_counters():
    agent = CountingCQL(operations_per_episode=900)
    at_once, stopped, resumed = (make_learner(Task("maze-5x5"), agent, seed=4) for _ in range(3))
    at_once.advance(Until(episodes=60))
    stopped.advance(Until(episodes=25))
    resumed.load(stopped.save())
    resumed.advance(Until(episodes=60))
    assert table(resumed) == table(at_once)
    assert np.array_equal(resumed.progress, at_once.progress)


def test_counters_may_be_imagined_before_they_are_observed():
    agent = PaperCountingCQL(counter_values=20)
    at_once, stopped, resumed = (make_learner(Task("letter"), agent, seed=1) for _ in range(3))
    assert at_once.tables.observed.index.used[0] == 20
    at_once.advance(Until(episodes=3))
    stopped.advance(Until(episodes=1))
    resumed.load(stopped.save())
    resumed.advance(Until(episodes=3))
    assert table(resumed) == table(at_once)
    assert {vector for _, _, vector in table(resumed)} >= {("0",), ("19",)}


def test_a_policy_over_counters_sees_all_of_them():
    with pytest.raises(BadSetting, match="sees all"):
        QLearner(domain("letter"), catalogue("letter-cra"), TopK(1), q_settings(), 0)
    with pytest.raises(BadSetting, match="operations_per_episode"):
        q_settings(operations_per_episode=0)


def test_without_a_budget_endless_moves_are_an_error():
    endless = parse(
        "name endless\nevents A B C\ncounters 1\nstart u\nfinal v\notherwise stay 0\n"
        "u -> w : !A | A, [-] / [+1], 0\nw -> w : eps, [1] / [+1], 0\nw -> v : eps, [0] / [0], 0\n"
    )
    with pytest.raises(EndlessSilentMoves):
        QLearner(domain("letter"), endless, FullStack(), q_settings(), 0).advance(Until(episodes=1))
    budgeted = QLearner(
        domain("letter"), endless, FullStack(), q_settings(operations_per_episode=50), 0
    )
    budgeted.advance(Until(episodes=3))
    assert budgeted.steps == 0


def test_an_undefined_label_is_an_error_when_real_and_skipped_when_imagined():
    text = "name partial\nevents A B C\ncounters 1\nstart u\nfinal v\notherwise error\n"
    total = "u -> u : !A | A, [-] / [+1], 0\nw -> v : {A}, [-] / [0], 1\n"
    settings = q_settings(
        counterfactuals="exhaustive", learning_rate=0.3, step_limit=30, test_episodes=2
    )
    assert_equal(*both(domain("letter"), parse(text + total), settings, 3))
    with pytest.raises(UndefinedMove):
        QLearner(
            domain("letter"),
            parse(text + "u -> v : {A}, [-] / [0], 1\n"),
            FullStack(),
            q_settings(),
            0,
        ).advance(Until(episodes=1))
