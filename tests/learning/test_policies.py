"""The policies of all agents: saved, loaded by one function, acting, and evaluated.

Other files are refused.
"""

import hashlib
import json

import numpy as np
import pytest

import pdrm
from pdrm.errors import BadPolicyFile, UnknownFormat, WrongPolicy
from pdrm.learning import load_policy
from pdrm.learning.protocol import Until, agent_for
from pdrm.learning.run import train
from pdrm.learning.tabular.learner import make_learner
from pdrm.learning.tabular.policy import HierarchicalPolicy, QPolicy
from pdrm.machines.transitions import Configuration
from pdrm.task import Task

AGENTS = {"q": "1", "cprm": "2", "hrm": "1", "cra-q": "full", "cra-cql": "full"}


def trained(agent, name="maze-5x5", episodes=1_500):
    task = Task(name)
    training = make_learner(task, agent_for(agent, {"k": AGENTS[agent]}), seed=3)
    training.advance(Until(episodes=episodes))
    return training


@pytest.mark.parametrize("agent", AGENTS)
def test_what_was_saved_is_loaded_again(agent, tmp_path):
    training = trained(agent, episodes=50)
    policy = training.policy({"who": "me"})
    policy.save(tmp_path / "mine.npz")
    again = load_policy(tmp_path / "mine.npz")
    assert type(again) is type(policy) is (HierarchicalPolicy if agent == "hrm" else QPolicy)
    assert (again.about, again.actions) == ({"who": "me"}, ("u", "d", "l", "r"))
    assert list(again.table()) == list(policy.table())
    assert (str(again.view), len(again)) == (AGENTS[agent], training.rows)
    again.save(tmp_path / "copy.npz")
    for ending in ("npz", "json"):
        assert (tmp_path / f"copy.{ending}").read_bytes() == (
            tmp_path / f"mine.{ending}"
        ).read_bytes()


def test_a_policy_is_saved_as_arrays_or_not_at_all(tmp_path):
    policy = trained("q", episodes=5).policy()
    for name in ("policy.json", "policy"):
        with pytest.raises(UnknownFormat, match=r"saved as \.npz"):
            policy.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("agent", ["q", "cprm", "cra-q", "cra-cql"])
def test_every_row_is_found_by_what_it_stands_for(agent):
    policy = trained(agent, episodes=60).policy()
    rows = [policy.q_table.seen(row) for row in range(len(policy))]
    assert len(set(rows)) == len(policy)
    for row, seen in enumerate(rows):
        assert policy.values(*seen).tolist() == policy.q_table.value[row].tolist()
        assert policy.act(*seen) == policy.q_table.value[row].argmax()


@pytest.mark.parametrize("agent", AGENTS)
def test_what_was_never_met_is_worth_nothing(agent):
    policy = trained(agent, episodes=5).policy()
    state, memory = (
        ("search", ("u",) * 50 + ("#",)) if "cra" not in agent else ("search@#", (10**12, 10**12))
    )
    for s in (0, 7, 10**6):
        if agent in ("cra-q", "cra-cql") or s not in range(8):
            assert not policy.values(s, state, memory).any()


@pytest.mark.parametrize("agent", ["q", "hrm"])
def test_what_numbers_no_state_is_refused(agent):
    policy = trained(agent, episodes=5).policy()
    assert policy.act(np.int64(0), "search", ("#",)) == policy.act(0, "search", ("#",))
    for s in (-1, 2.7, "0", None):
        with pytest.raises(
            WrongPolicy, match=r"is not a state of an environment|is not the number of a state"
        ):
            policy.act(s, "search", ("#",))


@pytest.mark.parametrize("agent", AGENTS)
def test_evaluation_plays_what_the_run_tested(agent):
    """In the deterministic maze, the returns in the environment and in the kernel are the same."""
    run = train("maze-5x5", agent, k=AGENTS[agent], episodes=3_000, test_every=1_500, seed=1)
    record = run.evaluate(10, seed=0)
    assert sorted(record["returns"]) == sorted(run.curve.returns[-1].tolist())
    if agent != "cra-cql":  # its tests end early, when the budget of operations is spent
        assert record["mean_steps"] == run.curve.steps[-1].mean()


@pytest.mark.parametrize(
    ("states", "share"), [("home", 1.0), ("lost", 0.0), (("home", "lost"), 1.0)]
)
def test_success_is_the_share_of_episodes_that_end_where_the_task_says(states, share):
    run = train(Task("maze-5x5", success=states), "cprm", k=1, episodes=200, seed=0)
    record = run.evaluate(10, seed=3)
    assert (record["ends"], record["success"], run.success(10, seed=3)) == (
        {"home": 10},
        share,
        share,
    )


@pytest.mark.parametrize("agent", ["q", "cra-q"])
def test_a_policy_is_not_played_with_another_machine(agent):
    """Figure 1's machine has the maze's states and symbols, so the policy would act, but without
    meaning."""
    run = train("maze-5x5", agent, k=AGENTS[agent], episodes=20)
    assert run.evaluate(1, task="maze-5x5")["episodes"] == 1
    with pytest.raises(WrongPolicy, match="another machine"):
        run.evaluate(1, task=Task("maze-5x5", "figure-1"))


def test_a_hierarchical_policy_follows_options():
    run = train("letter", "hrm", k=1, episodes=300, learning_rate=0.3, epsilon=0.3, seed=1)
    rules = {str(rule) for rule in run.spec.task.machine.transitions}
    for seed in range(5):
        moments = run.episode(seed)
        assert moments[0].option is None
        assert {moment.option for moment in moments[1:]} <= rules
        for earlier, before, after in zip(moments, moments[1:], moments[2:], strict=False):
            if before.option != after.option:  # only where one ends is another chosen
                assert before.configuration != earlier.configuration or before.label


def test_an_option_is_followed_until_the_machine_moves_in_every_form():
    """An option acts in every environment state until the configuration changes."""
    policy, actions = trained("hrm").policy(), 4
    first = int(policy.values(0, "search", ("#",)).argmax())
    for place in range(8):
        row = policy.option_values.values(place, "search", ("#",))
        own = row[first * actions : (first + 1) * actions]
        policy.reset()
        assert policy.act(0, "search", ("#",)) in range(actions)
        assert policy.act(place, "search", ("#",)) == own.argmax()
    policy.act(0, "search", ("u", "#"))
    assert list(policy.current_option) == [Configuration("search", ("u", "#"))]


def test_configurations_that_are_none_are_refused():
    policy = trained("hrm", episodes=20).policy()
    assert policy.act(0, "home", ()) == 0, "as every table, where nothing was ever seen"
    with pytest.raises(WrongPolicy, match="serch"):
        policy.act(0, "serch", ("#",))
    counting = trained("cra-q", episodes=20).policy()
    for memory in ((1,), (1, 2, 3), (-1, 0), ("1", "0"), "10", (1.5, 0)):
        with pytest.raises(WrongPolicy, match="counters"):
            counting.act(0, "search@#", memory)


def rewrite(file, **changes):
    """Change arrays of a policy, and adapt its fingerprint."""
    with np.load(file) as read:
        arrays = {name: read[name] for name in read.files} | changes
    np.savez(file, **arrays)
    beside = file.with_suffix(".json")
    fingerprint = hashlib.sha256(file.read_bytes()).hexdigest()
    beside.write_text(json.dumps({**json.loads(beside.read_text()), "sha256": fingerprint}))


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("q", "node"),
        ("q", "machine_state"),
        ("q", "environment_state"),
        ("q", "parent"),
        ("q", "symbol"),
        ("cra-q", "node"),
        ("hrm", "within.node"),
    ],
)
def test_a_policy_with_an_index_out_of_bounds_is_refused(agent, name, tmp_path):
    trained(agent, episodes=20).policy().save(file := tmp_path / "policy.npz")
    with np.load(file) as read:
        array = read[name]
    for wrong in (-1, 10**6):
        array[-1] = wrong
        if (name, wrong) != ("environment_state", 10**6):  # of how many is not said
            rewrite(file, **{name: array})
            with pytest.raises(BadPolicyFile) as told:
                load_policy(file)
            assert told.value.code == "E0803"
    rewrite(file, **{name: array.astype(np.float64)})
    with pytest.raises(BadPolicyFile):
        load_policy(file)


def test_a_damaged_policy_is_refused(tmp_path):
    trained("q", episodes=20).policy().save(file := tmp_path / "policy.npz")
    whole, description = file.read_bytes(), json.loads(file.with_suffix(".json").read_text())
    for damaged in (whole[:200], b"", whole.replace(b"value", b"velue")):
        file.write_bytes(damaged)
        with pytest.raises(BadPolicyFile):
            load_policy(file)
    file.write_bytes(whole)
    for change in ({"view": "many"}, {"actions": ["u"]}, {"pdrm_policy": 9}, {"kind": "options"}):
        file.with_suffix(".json").write_text(json.dumps({**description, **change}))
        with pytest.raises(BadPolicyFile):
            load_policy(file)


def test_a_policy_acts_by_the_info_of_an_environment():
    task = Task("maze-5x5")
    for agent, k in AGENTS.items():
        policy = pdrm.train(task, agent, k=k, episodes=300, progress=False).policy
        env = task.env(k=0)
        observation, info = env.reset(seed=0)
        observation, _, _, _, info = env.step(0)
        here = env.configuration
        action = policy.act(observation, info)
        assert action == policy.act(env.unwrapped.state, here.state, here.stack)


def test_a_file_that_is_missing_is_named(tmp_path):
    run = pdrm.train("letter", "q", episodes=100, folder=tmp_path)
    file = tmp_path / "mine.npz"
    run.policy.save(file)
    for gone, name in ((file, "mine.npz"), (file.with_suffix(".json"), "mine.json")):
        kept = gone.read_bytes()
        gone.unlink()
        with pytest.raises(BadPolicyFile, match=name):
            load_policy(file)
        gone.write_bytes(kept)
    load_policy(file)
    with pytest.raises(BadPolicyFile, match="none"):
        load_policy(tmp_path / "none.npz")
    (run.folder / "policy.npz").unlink()
    for ask in (lambda: run.policy, run.evaluate, lambda: load_policy(run.folder), run.episode):
        with pytest.raises(BadPolicyFile, match=r"no policy\.npz"):
            ask()
