"""Manual stepping: one loop works for every policy, table or network, in the environment of a
task."""

from dataclasses import replace

import numpy as np
import pytest

import pdrm
from pdrm.domains import grid_domain, parse_map
from pdrm.errors import (
    BadPolicyFile,
    BadSetting,
    CannotTranslate,
    UnknownConfiguration,
    WrongArguments,
    WrongPolicy,
)
from pdrm.learning import load_policy

MAP = """step_limit 50
place a key
place b door

######
#@.a.#
#..b.#
######
"""
TASK = """events key door
exclusive key door
stack # K
start go
final done
otherwise stay 0
go -> go : key, # / K #, 0
go -> done : door, K / eps, 1
"""
SHORT = {"total_timesteps": 512, "n_envs": 4, "n_steps": 16, "test_episodes": 2}


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "shop.txt").write_text(MAP)
    (folder / "task.pdrm").write_text(TASK)
    return pdrm.Task("shop.txt", "task.pdrm", folder=folder)


@pytest.fixture(scope="module")
def runs(task):
    tables = {
        name: pdrm.train(task, name, episodes=300) for name in ("q", "cprm", "hrm", "summary")
    }
    nets = {name: pdrm.train(task, name, progress=False, **SHORT) for name in ("ppo", "rppo")}
    return {**tables, **nets}


def play(policy, env, seed=0):
    observation, _ = env.reset(seed=seed)
    policy.reset()
    actions, over = [], False
    while not over:
        actions.append(policy.act(observation))
        assert isinstance(actions[-1], int)
        observation, _, terminated, truncated, _ = env.step(actions[-1])
        over = terminated or truncated
    return actions


@pytest.mark.filterwarnings("ignore::pdrm.errors.NeverSucceeded")
def test_one_loop_serves_every_policy_with_every_form_of_observation(task, runs):
    for name, run in runs.items():
        k = {"k": "full", "depth": 8} if name == "summary" else {"k": 1}
        named, flat = (
            play(run.policy, task.env(**k, flatten=flatten)) for flatten in (False, True)
        )
        assert named == flat
        if name in ("q", "cprm"):
            assert play(run.policy, task.env(k=2)) == named, "more may be shown than it sees"
        if name in ("q", "cprm", "summary"):
            assert len(named) == 3, "to the key and to the door"


@pytest.mark.filterwarnings("ignore::pdrm.errors.NeverSucceeded")
def test_the_three_arguments_and_the_observation_mean_the_same(task, runs):
    for name, run in runs.items():
        policy, env = run.policy, task.env(k="full", depth=8) if name == "summary" else task.env()
        observation, _ = env.reset(seed=0)
        policy.reset()
        first = policy.act(observation)
        policy.reset()
        assert policy.act(int(observation["observation"]), "go", ("#",)) == first


ONE_COUNTER = """events key door
exclusive key door
counters 1
start go
final done
otherwise stay 0
go -> go : key, [-] / [+1], 0
go -> done : door, [1] / [-1], 1
"""


def test_policies_over_counters_act_on_the_stack_that_an_environment_shows(task):
    """The action is the same as with the counters of the automaton, which counts or simulates a
    stack."""
    own = pdrm.Task(task.finite, ONE_COUNTER)
    for where, agent in (
        (pdrm.Task("letter"), "cra-cql"),
        (pdrm.Task("maze-5x5"), "cra-q"),
        (own, "cra-q"),
    ):
        policy, automaton = pdrm.train(where, agent, episodes=500).policy, where.counting
        for flatten in (False, True):
            env = where.env(k="full", depth=40, flatten=flatten)
            for seed in range(3):
                observation, info = env.reset(seed=seed)
                counted, over = automaton.begin().after, False
                if info["label"] is not None:
                    counted = automaton.step(counted, info["label"]).after
                while not over:
                    place, here = env.unwrapped.state, env.configuration
                    action = policy.act(observation)
                    assert action == policy.act(place, counted.state, counted.counters)
                    assert action == policy.act(place, here.state, here.stack)
                    observation, _, terminated, truncated, info = env.step(action)
                    counted = automaton.step(counted, info["label"]).after
                    over = terminated or truncated or len(env.configuration.stack) > 30
                assert policy.counts
    for wrong in (
        ("u9", ("#",)),
        ("u0", ("#", "X")),
        ("u0", "#"),
        ("u0", (1, 2)),
        ("u0", (1, "#")),
    ):
        with pytest.raises(WrongPolicy):
            pdrm.train("letter", "cra-q", episodes=100).policy.act(0, *wrong)


def test_a_policy_over_counters_says_what_it_must_be_shown(tmp_path):
    run = pdrm.train("letter", "cra-q", episodes=100)
    with pytest.raises(WrongPolicy, match="does not show all"):
        run.policy.act(pdrm.Task("letter").env().reset(seed=0)[0])
    file = tmp_path / "mine.npz"
    run.policy.save(file)
    shown = pdrm.Task("letter").env(k="full", depth=9).reset(seed=0)[0]
    assert load_policy(file).act(shown) == run.policy.act(shown), (
        "the file names the domain and the machine"
    )
    with pytest.raises(WrongPolicy, match="has no machine with a stack"):
        replace(run.policy, task=None).act(shown)
    two = ONE_COUNTER.replace("counters 1", "counters 2").replace("[-] / [+1]", "[-, -] / [+1, 0]")
    two = pdrm.Task(GRID, two.replace("[1] / [-1]", "[1, -] / [-1, 0]"))
    policy = pdrm.train(two, "cra-q", episodes=20).policy
    assert policy.act(0, "go", (0, 0)) in range(4)
    with pytest.raises(CannotTranslate):
        policy.act(0, "go", ("#",))


GRID = grid_domain(
    "hall",
    parse_map("####\n#@k#\n#.d#\n####", places="@kd", start="@"),
    {"k": "key", "d": "door"},
    step_limit=9,
)


@pytest.mark.filterwarnings("ignore::pdrm.errors.NeverSucceeded")
def test_states_may_be_called_what_the_domain_calls_them(task, runs):
    for name, run in runs.items():
        policy, place = run.policy, task.finite.find_state((1, 2))
        answers = set()
        for called in (
            place,
            np.int64(place),
            task.finite.describe(place),
            str(place),
            (1, 2),
            [1, 2],
            np.array([1, 2]),
        ):
            policy.reset()
            answers.add(policy.act(called, "go", ("#",)))
        assert len(answers) == 1, name
        if name in ("q", "cprm", "summary"):
            assert np.array_equal(
                policy.values((1, 2), "go", ("#",)), policy.values(place, "go", ("#",))
            )
        for wrong in ((0, 0), "row 1", (1, 2, 3)):
            with pytest.raises(WrongPolicy):
                policy.act(wrong, "go", ("#",))
    alone = replace(runs["q"].policy, task=None)
    with pytest.raises(WrongPolicy, match="loaded without its domain"):
        alone.act((1, 2), "go", ("#",))


def test_a_place_where_several_states_are_must_be_named_in_full():
    letter = pdrm.domain("letter")
    with pytest.raises(UnknownConfiguration, match="give the number of one"):
        letter.find_state((0, 0))
    assert letter.find_state("row 0, column 0; A shows") == 0
    with pytest.raises(UnknownConfiguration, match="is not a state"):
        pdrm.domain("paint").find_state((0, 0))
    with pytest.raises(UnknownConfiguration, match="is not a state"):
        letter.find_state(42)
    twice = replace(letter, state_names=("here",) * letter.states)
    with pytest.raises(UnknownConfiguration, match="give the number of one"):
        twice.find_state("here")


@pytest.mark.filterwarnings("ignore::pdrm.errors.NeverSucceeded")
def test_users_of_stable_baselines3_may_say_deterministic(task, runs):
    for name, run in runs.items():
        shown = (
            task.env(k="full", depth=8).reset(seed=0)[0]
            if name == "summary"
            else task.env().reset(seed=0)[0]
        )
        policy = run.policy
        first = policy.act(shown)
        policy.reset()
        assert policy.act(shown, deterministic=True) == first
        with pytest.raises(WrongArguments, match="without exploration"):
            policy.act(shown, deterministic=False)


@pytest.mark.filterwarnings("ignore::pdrm.errors.NeverSucceeded")
def test_one_function_loads_tables_and_networks_alike(runs, tmp_path):
    for name, run in runs.items():
        kept = run.save(tmp_path)
        assert kept.folder.parent == tmp_path
        copy = tmp_path / f"{name}.npz"
        run.policy.save(copy)
        own = run.spec.task.finite
        found = [
            load_policy(kept.folder),
            load_policy(kept.folder / "policy.npz"),
            load_policy(copy, own),
        ]
        if name in ("ppo", "rppo"):
            with pytest.raises(BadPolicyFile):
                load_policy(copy)
        else:
            found.append(load_policy(copy))
        for policy in found:
            assert type(policy) is type(run.policy)
            policy.reset()
            first = policy.act(0, "go", ("#",))
            again = run.policy
            again.reset()
            assert first == again.act(0, "go", ("#",))
            if not name.startswith("summary") and policy.domain is not None:
                assert policy.domain.describe(3) == own.describe(3)
    assert load_policy(tmp_path / "q.npz").domain is None
    alone = tmp_path / "alone"
    runs["q"].save(alone)
    assert pdrm.learning.Run.load(alone).spec == runs["q"].spec


def test_waterworld_is_an_environment_too():
    for continuous in (False, True):
        env = pdrm.Task("water-17").env(k=1, flatten=True, continuous=continuous)
        assert env.observation_space.contains(env.reset(seed=0)[0])
        env.step(env.action_space.sample())
    with pytest.raises(BadSetting):
        pdrm.Task("letter").env(continuous=True)
