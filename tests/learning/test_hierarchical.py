"""The hierarchical kernel equals the readable learner, and both learn values known by hand."""

import numpy as np
import pytest

from pdrm.domains import from_arrays
from pdrm.domains.paper_domains import domain
from pdrm.errors import BadSetting, UndefinedMove
from pdrm.language.loading import catalogue, parse
from pdrm.learning.agents import Hierarchical
from pdrm.learning.protocol import Until
from pdrm.learning.randomness import Rng, seed_streams
from pdrm.learning.tabular.hierarchical import ReadableHierarchical, acting_heads, options_of
from pdrm.learning.tabular.learner import HierarchicalLearner
from pdrm.machines.transitions import Configuration
from pdrm.paper.paper_agents import PaperHierarchical
from pdrm.product.explore_kernel import begin_exploring
from pdrm.product.observation import FullStack, TopK
from tests.probes import COLLECT, corridor
from tests.properties.learners import rows_of

VIEWS = [TopK(0), TopK(1), TopK(2), FullStack()]


def machine(rules, otherwise="stay 0"):
    return parse(
        f"name own\nevents a b\nexclusive a b\nstack # A\nstart u\nfinal done\notherwise {otherwise}\n{rules}\n"
    )


def cell(*, label=0, reward=1.0, step_limit=5):
    """One cell and one action."""
    return from_arrays(
        "cell", [[0]], [[label]], [(), "a", "b"], step_limit=step_limit, reward=reward
    )


# In `wait` no rule changes anything, yet the empty label leads on: an option without a rule stands in there. In `u` the rule
# that names its top beats the option's, and does nothing.
STANDING_IN = machine(
    "u -> u : a, # / A #, 1\nu -> u : !a & !b, z / z, 0\nu -> wait : b, z / z, 2\nu -> u : b, # / #, 0\n"
    "wait -> wait : b, z / z, 0.5\nback -> u : a, z / z, 1",
    otherwise="go back -1",
)
TASKS = {
    "deliver-8": (domain("deliver-8"), catalogue("deliver"), 3),
    "deliver-4-8": (domain("deliver-4-8"), catalogue("deliver"), 2),
    "letter": (domain("letter"), catalogue("letter"), 6),
    "maze-5x5": (domain("maze-5x5"), catalogue("treasure-maze"), 8),
    "paint": (domain("paint"), catalogue("paint"), 20),
    "echo": (domain("echo"), catalogue("echo"), 12),
    "corridor": (corridor(), COLLECT, 20),
    "standing in": (corridor(), STANDING_IN, 20),
}


def tables(training):
    """The tables of the meta-policy and of the options, as in the readable learner."""
    policy, actions = training.policy(), len(training.domain.actions)
    counts = dict(
        zip(training.machine.states, training.tables.options.counts.tolist(), strict=False)
    )
    meta, policies = rows_of(policy.q_table), {}
    for seen, values in meta.items():
        assert not any(values[counts[seen[1]] :])
        meta[seen] = values[: counts[seen[1]]]
    for seen, values in rows_of(policy.option_values).items():
        rows = np.reshape(values, (-1, actions)).tolist()
        policies[seen] = rows[: counts[seen[1]]]
    return meta, policies


@pytest.mark.parametrize("view", VIEWS, ids=str)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("epsilon", [1.0, 0.2])
def test_kernel_and_readable_learner_fill_the_same_tables(task, view, epsilon):
    where, goal, episodes = TASKS[task]
    settings = PaperHierarchical(
        option_pay=0.5,
        learning_rate=0.3,
        epsilon=epsilon,
        step_limit=80,
        test_episodes=3,
        r_minus=-0.5,
    )
    training = HierarchicalLearner(where, goal, view, settings, seed=5)
    training.advance(Until(episodes=episodes))
    rng_state = seed_streams(5, 2)
    readable = ReadableHierarchical(where, goal, view, settings, Rng(rng_state[:1]))
    paid = [readable.episode() for _ in range(episodes)]
    assert tables(training) == (readable.meta, readable.policies)
    assert training.rng_state[0] == rng_state[0]
    assert training.progress["last_return"][0] == paid[-1]
    test = training.test(3)
    assert test.returns.tolist() == [
        readable.test(other, Rng(rng_state[1:])) for other in where.tested_on for _ in range(3)
    ]
    assert training.rng_state[1] == rng_state[1]


@pytest.mark.parametrize("view", [TopK(1), TopK(2), FullStack()], ids=str)
def test_the_meta_policy_reaches_values_known_by_hand(view):
    """After exploration, greedy options run straight to their ends, and q is Σ γ^i r_i + γ^τ max
    q'."""
    settings = Hierarchical(discount=0.9, epsilon_decay=0.99, epsilon_least=0.0)
    training = HierarchicalLearner(corridor(), COLLECT, view, settings, seed=1)
    training.advance(Until(episodes=2_000))
    meta, _ = tables(training)
    assert meta[2, "down", ("#",)] == [pytest.approx(10)]
    assert meta[0, "up", view.of(("A", "#"))][1] == pytest.approx(0.9 * 1 + 0.9**2 * 10)
    assert meta[1, "up", ("#",)][0] == pytest.approx(0.9**3 * 10 + 0.9**2 * 1)
    assert training.test(10).returns.tolist() == [11.0] * 10


def test_the_options_reach_values_known_by_hand():
    """Five cells, `a` at the left end and `b` at the right: each option learns its path from
    every step."""
    line = from_arrays(
        "line",
        [[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]],
        [[0, 0], [1, 0], [0, 0], [0, 2], [0, 0]],
        [(), "a", "b"],
        step_limit=50,
        reward=-1.0,
        start=2,
    )
    fork = machine("u -> done : a, # / #, 1\nu -> done : b, # / #, 3")
    settings = Hierarchical(
        discount=0.5, epsilon_decay=0.99, epsilon_least=0.0, r_plus=8.0, r_minus=-2.0
    )
    training = HierarchicalLearner(line, fork, TopK(1), settings, seed=1)
    training.advance(Until(episodes=1_000))
    meta, policies = tables(training)
    # Each step costs 1. The ends pay 1 on the left and 3 on the right, in addition to r⁺ or r⁻.
    goal_a = {
        1: [8.0, -1 + 0.5 * 3.0],
        2: [-1 + 0.5 * 8.0, -1 + 0.5 * 0.5],
        3: [-1 + 0.5 * 3.0, 3 - 1 - 2.0],
    }
    goal_b = {
        1: [1 - 1 - 2.0, -1 + 0.5 * 4.0],
        2: [-1 + 0.5 * 1.0, -1 + 0.5 * 10.0],
        3: [-1 + 0.5 * 4.0, 10.0],
    }
    for goal, known in enumerate((goal_a, goal_b)):
        for place, values in known.items():
            assert policies[place, "u", ("#",)][goal] == pytest.approx(values)
    assert meta[2, "u", ("#",)][1] == pytest.approx(-1 + 0.5 * (-1 + 3))
    assert training.test(10).returns.tolist() == [1.0] * 10


def test_what_three_steps_teach_every_option_was_worked_out_by_hand():
    """α = ½, γ = 0.9, r⁺ = 1, r⁻ = −1.

    In `up` the options are `a` (with # on top) and `b` (with A on top), in `down` anything.
    """
    settings = Hierarchical(learning_rate=0.5, discount=0.9, r_plus=1.0, r_minus=-1.0)
    world, left, right = corridor(), 0, 1
    learner = ReadableHierarchical(world, COLLECT, TopK(1), settings, Rng(seed_streams(0, 1)))
    assert [tuple(head) for head in learner.heads] == [("up", "#"), ("up", "A"), ("down", "#")]
    start, collected = Configuration("up", ("#",)), Configuration("up", ("A", "#"))

    def values(cell):
        return [
            learner.policies[cell, *seen]
            for seen in (("up", ("#",)), ("up", ("A",)), ("down", ("#",)))
        ]

    # Left from the middle emits `a`. With # on top the option `a` is achieved (0 + r⁺) and `b` fails (0 + r⁻); with A on top
    # nothing happens; in `down` any label ends the task (10 + r⁺). Each moves half of the way.
    learner.learn(1, start, left, 0)
    assert values(1) == [[[0.5, 0.0], [-0.5, 0.0]], [[0.0, 0.0], [0.0, 0.0]], [[5.5, 0.0]]]
    # Right from the left cell emits nothing. `a` with # on top is worth 0.9 · 0.5 from there, `b` still 0.9 · max(−0.5, 0).
    learner.learn(0, collected, right, 0)
    assert values(0) == [[[0.0, 0.225], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 5.5]]]
    # Right from the middle emits `b`, with A on top: `b` is achieved (1 + r⁺) and `a` fails (1 + r⁻). With # on top nothing
    # would have happened: `b` is not achieved by its event alone.
    learner.learn(1, collected, right, 0)
    assert values(1) == [[[0.5, 0.0], [-0.5, 0.0]], [[0.0, 0.0], [0.0, 1.0]], [[5.5, 5.5]]]


def test_without_a_stack_the_options_learn_as_in_hrm():
    """With the bottom symbol alone, a machine is a reward machine.

    This is HRM's update by its definition: every edge u → u' that leaves u learns q_uu'(s, a) from
    every step, with u's reward and successor for the label.
    """
    edges = {("u", "a"): ("v", 2.0), ("u", "b"): ("done", -1.0), ("v", "b"): ("u", 0.5)}
    goal = machine("u -> v : a, # / #, 2\nu -> done : b, # / #, -1\nv -> u : b, # / #, 0.5")
    rate, gamma, r_plus, r_minus = 0.25, 0.5, 3.0, -4.0
    settings = Hierarchical(learning_rate=rate, discount=gamma, r_plus=r_plus, r_minus=r_minus)
    world = corridor()
    learner = ReadableHierarchical(world, goal, TopK(1), settings, Rng(seed_streams(0, 1)))
    options = [(source, target) for (source, _), (target, _) in edges.items()]
    q = {(s, *option): [0.0, 0.0] for s in range(3) for option in options}
    random = np.random.default_rng(5)
    s, u = 1, "u"
    for _ in range(300):
        a = int(random.integers(2))
        learner.learn(s, Configuration(u, ("#",)), a, 0)
        after, event = (
            int(world.arrays.next[s, a, 0]),
            "".join(world.labels[world.arrays.label[s, a, 0]]),
        )
        for source, wanted in options:
            target, reward = edges.get((source, event), (source, 0.0))
            if target == source:
                reward += gamma * max(q[after, source, wanted])
            else:
                reward += r_plus if target == wanted else r_minus
            q[s, source, wanted][a] += rate * (reward - q[s, source, wanted][a])
        s, u = after, edges.get((u, event), (u, 0.0))[0]
        u = "u" if u == "done" else u
    learnt = {(s, source, wanted): learner.policies[s, source, ("#",)] for s, source, wanted in q}
    for (s, source, wanted), rows in learnt.items():
        place = [target for own, target in options if own == source].index(wanted)
        assert rows[place] == pytest.approx(q[s, source, wanted])


def test_options_learn_where_the_agent_can_act():
    assert {head.state for head in acting_heads(catalogue("deliver"), domain("deliver-8"))} == {
        "deliver"
    }
    letter = {tuple(head) for head in acting_heads(catalogue("letter"), domain("letter"))}
    assert letter == {(state, top) for state in ("u0", "u1") for top in "#A"}
    training = HierarchicalLearner(
        domain("deliver-8"), catalogue("deliver"), TopK(1), Hierarchical(), seed=0
    )
    assert training.tables.table.value.shape[1] == 5, (
        "a column for each of the four places and the end, none for the sequences"
    )


def test_a_limit_is_not_an_end():
    """Truncated after five steps with reward 1, both levels still learn 1 / (1 - γ)."""
    goal = machine("u -> done : b, z / z, 0")
    training = HierarchicalLearner(cell(), goal, TopK(1), Hierarchical(discount=0.5), seed=2)
    training.advance(Until(episodes=200))
    assert tables(training) == (
        {(0, "u", ("#",)): [pytest.approx(2)]},
        {(0, "u", ("#",)): [[pytest.approx(2)]]},
    )


def test_the_end_of_the_environment_has_no_future():
    way = from_arrays(
        "way", [[1], [1]], [[0], [0]], [(), "b"], step_limit=5, reward=3.0, terminal=[False, True]
    )
    training = HierarchicalLearner(
        way, machine("u -> done : b, z / z, 0"), TopK(1), Hierarchical(), seed=2
    )
    training.advance(Until(episodes=100))
    assert tables(training) == (
        {(0, "u", ("#",)): [pytest.approx(3)]},
        {(0, "u", ("#",)): [[pytest.approx(3)]]},
    )


def test_where_no_rule_changes_anything_an_option_without_a_rule_stands_in():
    goal = machine("u -> rest : a, z / z, 0\nrest -> rest : a, z / z, 0")
    assert options_of(goal, "rest") == (None,)
    training = HierarchicalLearner(cell(label=1), goal, TopK(1), Hierarchical(discount=0.5), seed=2)
    training.advance(Until(episodes=200))
    meta, policies = tables(training)
    assert meta[0, "rest", ("#",)] == [pytest.approx(2)]
    assert policies[0, "rest", ("#",)] == [[pytest.approx(2)]]
    assert meta[0, "u", ("#",)] == [pytest.approx(2)]


@pytest.mark.parametrize("task", ["maze-5x5", "echo", "letter", "deliver-8"])
def test_stopping_and_running_out_of_room_change_nothing(task):
    where, goal, _ = TASKS[task]
    settings = Hierarchical(step_limit=200, epsilon_decay=0.9)
    at_once, in_parts = (
        HierarchicalLearner(where, goal, FullStack(), settings, seed=3) for _ in range(2)
    )
    at_once.advance(Until(episodes=30))
    labels = where.labels
    small = begin_exploring(goal, labels, FullStack(), capacity=2)
    in_parts.tables = in_parts.tables._replace(explored=small)
    for until in (1, 7, 8, 30):
        in_parts.advance(Until(episodes=until))
    assert tables(at_once) == tables(in_parts)
    assert in_parts.episodes == 30
    for name in ("all_steps", "all_updates", "epsilon", "last_return"):
        assert at_once.progress[name] == in_parts.progress[name]
    assert np.array_equal(at_once.rng_state, in_parts.rng_state)
    assert np.array_equal(at_once.test(10).returns, in_parts.test(10).returns)


@pytest.mark.parametrize("view", [TopK(1), TopK(2)], ids=str)
def test_deliver_world_is_learnt(view):
    settings = Hierarchical(learning_rate=0.01, epsilon_decay=0.9995, epsilon_least=0.1)
    training = HierarchicalLearner(
        domain("deliver-8"), catalogue("deliver"), view, settings, seed=1
    )
    training.advance(Until(episodes=10_000))
    test = training.test(10)
    assert test.returns.min() > 8_900
    assert set(test.ends) == {training.machine.final[0]}


def test_a_label_without_a_rule_is_an_error():
    goal = machine("u -> done : b, z / z, 0", otherwise="error")
    training = HierarchicalLearner(cell(), goal, TopK(1), Hierarchical(), seed=2)
    with pytest.raises(UndefinedMove, match="own"):
        training.advance(Until(episodes=1))
    with pytest.raises(UndefinedMove, match="own"):
        training.test(10)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("r_plus", float("inf")),
        ("r_plus", -1.0),
        ("r_minus", float("nan")),
        ("r_minus", 1.0),
    ],
)
def test_wrong_settings_are_refused(name, value):
    with pytest.raises(BadSetting, match="r_minus" if (name, value) == ("r_plus", -1.0) else name):
        Hierarchical(**{name: value})
