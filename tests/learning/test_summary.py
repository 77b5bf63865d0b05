"""The agent `summary`, which sees the whole stack and acts on the transitions of its experience."""

import json
from copy import deepcopy
from random import Random

import numpy as np
import pytest

import pdrm
from pdrm.analysis.whole_stack import WholeStack, world_of
from pdrm.errors import BadPolicyFile, BadSetting, StochasticMoves
from pdrm.learning import load_policy
from pdrm.learning.agents import Summary
from pdrm.learning.protocol import Until
from pdrm.learning.tabular.seek_kernel import NEAREST, RICHEST, find_path, guess_end, guess_labels
from pdrm.learning.tabular.summary import SummaryLearner
from pdrm.machines.tables import step_table, tabulate
from pdrm.task import Task

MAZE = Task("maze-5x5")


def best_actions(policy, s, u, stack):
    values = policy.values(s, u, stack)
    return {policy.actions[action] for action in np.flatnonzero(values == values.max())}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return pdrm.train(
        MAZE, pdrm.Summary(episodes=12, test_every=4), folder=tmp_path_factory.mktemp("runs")
    )


def test_it_achieves_the_maze_and_plays_it_again(run):
    assert run.curve.returns[-1].tolist() == [100_005.0] * 10
    assert run.evaluate(episodes=3)["ends"] == {"home": 3}
    assert run.episode()[-1].configuration.state == "home"
    assert run.result["rows"] > 0


def test_it_is_optimal_at_heights_that_it_never_met(run):
    solution, random = pdrm.solve(MAZE), Random(0)
    for height in (0, 1, 5, 40, 300):
        for _ in range(6):
            s, u = random.randrange(8), random.choice(("search", "return"))
            stack = tuple(random.choices(MAZE.pushdown.stack, k=height))
            assert best_actions(run.policy, s, u, stack) == set(solution.actions(s, u, stack)), (
                s,
                u,
                stack,
            )


def test_a_resumed_run_equals_an_uninterrupted_one():
    agent = pdrm.Summary(episodes=8, test_every=2)
    whole = SummaryLearner(MAZE, agent, seed=3)
    whole.advance(Until(episodes=4))
    whole.test(10)
    again = SummaryLearner(MAZE, agent, seed=3)
    again.load(whole.save())
    for learner in (whole, again):
        learner.advance(Until(episodes=8))
    for one, other in zip(whole.save().values(), again.save().values(), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(whole.test(10).returns, again.test(10).returns)


def test_a_damaged_policy_is_refused(run, tmp_path):
    policy = run.policy
    policy.save(tmp_path / "policy.npz")
    assert load_policy(tmp_path / "policy.npz").act(0, "search", ("#",)) == policy.act(
        0, "search", ("#",)
    )
    beside = tmp_path / "policy.json"
    description = json.loads(beside.read_text())
    for name, wrong in (
        ("discount", 1.0),
        ("actions", [1]),
        ("labels", "u"),
        ("machine", "nothing"),
    ):
        beside.write_text(json.dumps({**description, name: wrong}))
        with pytest.raises((BadPolicyFile, pdrm.PdrmError)):
            load_policy(tmp_path / "policy.npz")


def test_what_it_cannot_learn_is_refused():
    with pytest.raises(StochasticMoves) as raised:
        pdrm.train("letter", pdrm.Summary(episodes=1))
    assert "cprm" in raised.value.fix
    with pytest.raises(BadSetting, match="whole stack"):
        pdrm.Summary(k=1)
    with pytest.raises(BadSetting, match="below 1"):
        pdrm.Summary(discount=1.0)
    assert Summary().resolved(Task("multi-10x10")).discount == 0.9


def test_the_way_to_what_was_never_tried_is_known_and_the_shortest():
    learner = SummaryLearner(MAZE, pdrm.Summary(episodes=8), seed=0)
    learner.advance(Until(episodes=3))
    stack, guess = (1,), guess_labels(learner.world, len(learner.domain.labels))
    for goal in (NEAREST, RICHEST):
        way = find_path(learner.world, learner.table, guess, 0, 0, stack, 15, goal, 0, 1.0)
        place = 0
        for action in way[:-1]:
            place = learner.world.next[place, action]
            assert place >= 0
        assert not way or learner.world.next[place, way[-1]] < 0
    learner.world.next[:] = np.where(learner.world.next < 0, 0, learner.world.next)
    assert (
        len(find_path(learner.world, learner.table, guess, 0, 0, stack, 15, NEAREST, 0, 1.0)) == 0
    )


def test_the_search_is_the_readable_one():
    """In random parts of the maze, with random stacks, both find paths of equal value."""
    random, learner = Random(2), SummaryLearner(MAZE, pdrm.Summary(episodes=8), seed=0)
    table, arrays, found = learner.table, MAZE.finite.arrays, 0
    for _ in range(150):
        known = np.array([[random.random() < 0.85 for _ in range(4)] for _ in range(8)])
        world = learner.world._replace(
            next=np.where(known, arrays.next[:, :, 0], -1).astype(np.int32),
            label=np.where(known, arrays.label[:, :, 0], 0).astype(np.int32),
        )
        guess, goal = (
            guess_labels(world, len(MAZE.finite.labels)),
            random.choice((NEAREST, RICHEST)),
        )
        stack = tuple(random.choices(range(1, 6), k=random.randint(0, 4)))
        start = random.randrange(8), random.randrange(table.first_final)
        left, turn, discount = random.randint(1, 12), random.randrange(4), random.choice((1.0, 0.5))
        way = find_path(world, table, guess, *start, stack, left, goal, turn, discount)
        plain = plain_seek(world, table, guess, *start, stack, left, goal, turn, discount)
        assert (len(way), way) == (len(plain), plain)
        found += len(way) > 2
    assert found > 20


def plain_seek(world, table, guess, s, u, stack, left, goal, turn, discount):
    """The search of `seek_kernel` in plain Python."""
    todo, met, best = [(s, u, stack, [], 0.0)], {(s, u, stack[:1])}, None
    for place, state, symbols, way, gain in todo:
        if len(way) >= left or (goal == NEAREST and best and not best[0]):
            break
        for action in sorted(range(4), key=lambda action: (action - turn) % 4):
            weight, after = discount ** len(way), int(world.next[place, action])
            if after < 0:
                ends, paid = guess_end(table, state, guess[action], symbols[0] if symbols else 0)
                rating = (ends, 0.0 if goal == NEAREST else -(gain + weight * paid))
                if best is None or rating < best[:2]:
                    best = (*rating, [*way, action])
                continue
            now, below, paid = step_table(table, state, symbols, int(world.label[place, action]))
            if now < table.first_final and (after, now, below[:1]) not in met:
                met.add((after, now, below[:1]))
                todo.append((after, now, below, [*way, action], gain + weight * paid))
    return best[2] if best else []


def test_a_value_is_of_all_that_has_become_known():
    """The value of the start follows a new transition at once, however far away."""
    table = tabulate(MAZE.pushdown, MAZE.finite.labels)
    whole = world_of(MAZE.finite.arrays)
    changes = 0

    def value(solver):
        return np.nanmax(solver.action_values(0, 0, (1,)), initial=-np.inf)

    best = value(WholeStack(whole, table, 0.9))
    for s, action in np.ndindex(*whole.next.shape):
        world = deepcopy(whole)
        world.next[s, action] = -1
        solver = WholeStack(world, table, 0.9, largest_unknown=0.0)
        changes += value(solver) < best - 1
        world.next[s, action] = whole.next[s, action]
        solver.note(s)
        solver.note(int(whole.next[s, action]))
        assert value(solver) == pytest.approx(best, rel=1e-6), (s, action)
    assert changes > 3


def test_what_ends_the_episode_elsewhere_is_tried_last():
    """In `return` with `d` on top, only `u` does not end the episode.

    The labels of the actions are known only from other states.
    """
    learner = SummaryLearner(MAZE, pdrm.Summary(episodes=8), seed=0)
    arrays, learnt = MAZE.finite.arrays, learner.world
    for name in ("next", "label", "reward"):
        getattr(learnt, name)[:] = getattr(arrays, name)[:, :, 0]
    learnt.next[4] = -1
    guess = guess_labels(learnt, len(MAZE.finite.labels))
    assert [MAZE.finite.labels[label] for label in guess] == [
        {action} for action in MAZE.finite.actions
    ]
    stack = (MAZE.pushdown.stack.index("d") + 1, 1)
    for goal in (NEAREST, RICHEST):
        for turn in range(4):
            way = find_path(learnt, learner.table, guess, 4, 1, stack, 15, goal, turn, 1.0)
            assert [MAZE.finite.actions[action] for action in way] == ["u"]
