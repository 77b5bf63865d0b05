"""Third-party agents and environments are trained, evaluated, saved and compared like built-in
ones."""

import os
import subprocess
import sys
from dataclasses import dataclass

import gymnasium
import numpy as np
import pytest

import pdrm
from examples.double_q import DoubleQ
from pdrm.errors import (
    BadPolicyFile,
    BadRunFolder,
    BadSetting,
    DoesNotApply,
    UnknownAgent,
    WrongKind,
)
from pdrm.learning import Learner, Policy, Until
from pdrm.learning.agents import CpRM
from pdrm.learning.evaluation import play_policy
from pdrm.learning.protocol import Agent, Resumable, SelfEvaluating, agent_for
from pdrm.learning.run_folder import RunSpec, is_done, start_run
from pdrm.learning.run_loop import train_batch
from pdrm.task import Task

SHORT = {"episodes": 60, "test_every": 20, "test_episodes": 2}


@dataclass(frozen=True)
class Remembers:
    """Tries all actions in each state in turn. It can be stopped and resumed."""

    name: str = "turns"
    k: int = 1

    def learner(self, task, seed):
        return RemembersLearner(task, seed)


class RemembersLearner:
    def __init__(self, task, seed):
        self.env = task.env(1)
        self.seed, self.steps, self.episodes = seed, 0, 0
        self.counts = np.zeros((task.finite.states, len(task.finite.actions)), np.int64)

    def advance(self, until):
        while not until.reached(self):
            observation, _ = self.env.reset(seed=self.seed + self.episodes)
            over = False
            while not over:
                state = int(observation["observation"])
                action = int(self.counts[state].argmin())
                self.counts[state, action] += 1
                observation, _, terminated, truncated, _ = self.env.step(action)
                self.steps += 1
                over = terminated or truncated
            self.episodes += 1

    def policy(self):
        return Most(self.counts)

    def save(self):
        return {"counts": self.counts, "done": np.array([self.steps, self.episodes])}

    def load(self, arrays):
        self.counts = arrays["counts"]
        self.steps, self.episodes = map(int, arrays["done"])


class Most:
    def __init__(self, counts):
        self.counts = counts

    def act(self, observation, info):
        assert info["machine"]["stack"]
        return int(self.counts[int(observation["observation"])].argmax())


def test_everything_follows_the_protocol():
    for agent in (DoubleQ(), Remembers(), pdrm.SB3("PPO")):
        assert isinstance(agent, Agent)
    for agent in (DoubleQ(), Remembers(), CpRM()):
        learner = start_run(agent_for(agent), Task("maze-5x5"), 0)
        learner.advance(Until(episodes=3))
        assert isinstance(learner, Learner)
        assert isinstance(learner.policy(), Policy)
        assert learner.episodes == 3
        learner.advance(Until(steps=learner.steps + 1))
        assert learner.episodes == 4
    assert isinstance(learner, Resumable)
    assert isinstance(learner, SelfEvaluating)


def test_an_agent_of_your_own_in_a_study_with_ours_and_one_of_stable_baselines(tmp_path):
    pytest.importorskip("stable_baselines3")
    dqn = pdrm.SB3("DQN", total_timesteps=300, test_every=100, test_episodes=2, learning_starts=50)
    agents = [pdrm.QLearning(k=1, **SHORT), agent_for(DoubleQ(), SHORT), dqn]
    study = pdrm.Study(["maze-5x5"], agents, seeds=2)
    results = study.run(tmp_path, workers=2)
    assert not results.failures
    assert [row.unit for row in results.table()] == ["episodes", "episodes", "timesteps"]
    for row in results.curves():
        assert row.episodes > 0
        assert row.timesteps > 0
    for x, y in (("steps", "success"), ("episodes", "return"), (None, "success")):
        (axes,) = results.plot(x=x, y=y).axes[:1]
        assert y in axes.get_ylabel()
    with pytest.raises(BadSetting):
        results.plot(x="seconds")
    first, second = results["sb3-dqn"].runs
    assert first.evaluate(3)["episodes"] == 3
    assert pdrm.Run.load(first.folder).spec == first.spec
    assert first.policy.arrays().keys() == second.policy.arrays().keys()
    own = results["double-q"].runs[0]
    with pytest.raises(BadPolicyFile):  # it has no `save`
        own.evaluate(1)
    assert study.report(tmp_path).exists()
    times = [path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/result.json")]
    study.run(tmp_path)
    assert times == [path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/result.json")]


def test_the_example_learns_a_task_with_a_stack():
    run = pdrm.train("echo", DoubleQ(), episodes=1_000, test_every=500, seed=0)
    assert run.curve.final_return == 1
    assert run.evaluate(5)["success"] == run.success(3) == 1
    assert run.replay().end == "done"


def test_seeds_determine_a_run_and_counts_continue():
    one, same, other = (pdrm.train("letter", DoubleQ(), seed=seed, **SHORT) for seed in (1, 1, 2))
    assert one.curve.text == same.curve.text != other.curve.text
    assert one.curve.episodes.tolist() == [20, 40, 60]
    assert one.curve.at.tolist() == one.curve.episodes.tolist()
    assert (np.diff(one.curve.timesteps) > 0).all()
    assert (
        pdrm.train("letter", DoubleQ(), total_timesteps=500, test_every=250).curve.unit
        == "timesteps"
    )


def test_a_learner_that_saves_resumes_to_the_same_and_its_policy_is_kept(tmp_path):
    spec = RunSpec(Task("letter"), agent_for(Remembers(), SHORT), 3)
    train_batch([spec], [tmp_path / "whole"])

    def stop(status):
        if status.done == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_batch([spec], [tmp_path / "parts"], stop)
    assert not is_done(tmp_path / "parts")
    train_batch([spec], [tmp_path / "parts"])
    for name in ("curve.csv", "policy.npz", "spec.json"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    with pytest.raises(BadRunFolder):  # a file cannot hold a class
        pdrm.Run.load(tmp_path / "whole")
    run = pdrm.Run.load(tmp_path / "whole", agent=Remembers())
    assert run.evaluate(2)["episodes"] == 2
    assert run.evaluate(2, task=Task("letter", success="u2"))["success"] == run.success(2)
    with pytest.raises(BadRunFolder):
        pdrm.Run.load(tmp_path / "whole", agent=Remembers(k=2))


def test_the_general_test_is_the_learners_own():
    """In a deterministic domain, kernel and environment give a learnt policy the same returns."""
    run = pdrm.train("maze-5x5", CpRM(k=1, episodes=1_000))
    learner = start_run(run.spec.agent, run.spec.task, 0)
    learner.advance(Until(episodes=1_000))
    own = learner.test(3, 0)
    general = list(play_policy(run.spec.task.env(1), learner.policy(), 3, seed=0))
    assert own.returns[:3].tolist() == [one.reward for one in general]
    assert own.steps[:3].tolist() == [one.steps for one in general]
    assert own.ends[:3].tolist() == [one.end for one in general]


# --- What is refused


def test_a_run_of_another_source_is_another_run():
    class Other(Remembers):
        """The same fields with other code."""

    ids = {RunSpec(Task("letter"), agent_for(kind(), SHORT), 0).id for kind in (Remembers, Other)}
    assert len(ids) == 2


def test_a_subclass_that_changes_nothing_that_runs_is_refused():
    class Undecorated(CpRM):
        learning_rate = 0.1

    with pytest.raises(WrongKind):
        pdrm.train("letter", Undecorated(), episodes=10)

    @dataclass(frozen=True, kw_only=True)
    class Slow(CpRM):
        learning_rate: float = 0.125

    assert RunSpec(Task("letter"), Slow(), 0).agent.learning_rate == 0.125

    class Own(CpRM):
        def learner(self, task, seed):
            return RemembersLearner(task, seed)

    run = pdrm.train("letter", Own(), **SHORT)
    assert isinstance(run.policy, Most) or run.curve.episodes[-1] == 60


def test_a_learner_that_does_not_train_is_an_error():
    class Idle(RemembersLearner):
        def advance(self, until):
            pass

    @dataclass(frozen=True)
    class Lazy:
        name: str = "lazy"

        def learner(self, task, seed):
            return Idle(task, seed)

    with pytest.raises(BadSetting, match="without training"):
        pdrm.train("letter", Lazy(), **SHORT)
    with pytest.raises(BadSetting, match="no setting"):
        pdrm.train("letter", Lazy(), epsilon=0.1)


def test_an_agent_that_cannot_be_loaded_is_an_error_at_the_first_save(tmp_path):
    class Objects(RemembersLearner):
        def save(self):
            return {"table": np.array([{}, None])}

    class Kept(Remembers):
        def learner(self, task, seed):
            return Objects(task, seed)

    with pytest.raises(BadSetting, match="`save` of agent `turns`"):
        pdrm.train("letter", Kept(), folder=tmp_path, **SHORT)
    assert not list(tmp_path.glob("*/result.json"))


@dataclass(frozen=True)
class Trains(Remembers):
    """An agent with its own length of training."""

    episodes: int = 500


def test_a_run_is_loaded_with_its_own_length_and_a_difference_is_noticed(tmp_path):
    run = pdrm.train("letter", Trains(), folder=tmp_path, **SHORT)
    assert pdrm.Run.load(run.folder, agent=Trains()).spec == run.spec
    with pytest.raises(BadRunFolder, match="another task or agent"):
        pdrm.Run.load(run.folder, agent=Trains(k=2))


MAIN = """
from dataclasses import dataclass
import sys, pdrm
from tests.learning.test_protocol import SHORT, RemembersLearner

@dataclass(frozen=True)
class Own:
    name: str = "own"
    def learner(self, task, seed):
        return RemembersLearner(task, seed)

def spec_id(agent):
    return pdrm.learning.RunSpec(pdrm.Task("letter"), agent, 0).id

if __name__ == "__main__":
    import own

    assert own.spec_id(own.Own()) == spec_id(Own()), "the id depends on how the file is run"
    results = pdrm.Study(["letter"], [Own()], seeds=2, settings=SHORT).run(sys.argv[1], workers=2)
    assert not results.failures, results.failures
"""


def test_an_agent_of_a_script_trains_in_other_processes(tmp_path):
    (tmp_path / "own.py").write_text(MAIN)
    command = [sys.executable, tmp_path / "own.py", tmp_path / "study"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": "."}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# --- Agents of Stable-Baselines3

TINY = {"total_timesteps": 64, "n_steps": 32, "batch_size": 32, "test_episodes": 1}


def test_agents_of_stable_baselines_take_lengths_and_objects(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("stable_baselines3")
    task = Task("echo")
    ppo = pdrm.SB3("PPO", n_steps=32, batch_size=32)
    run = pdrm.train(task, ppo, total_timesteps=64, test_episodes=2, folder=tmp_path)
    assert run.curve.returns.shape[1] == 2
    assert run.curve.at[-1] == 64
    kept = pdrm.Run.load(run.folder)
    assert kept.spec == run.spec
    for flatten in (False, True):
        seen, _ = task.env(1, flatten=flatten).reset(seed=0)
        assert kept.policy.act(seen, deterministic=True) in range(len(task.finite.actions))

    def made():
        own = {"activation_fn": torch.nn.ReLU}
        return pdrm.SB3("PPO", learning_rate=lambda _: 1e-3, policy_kwargs=own, **TINY)

    agent = made()
    run = pdrm.train(task, agent, folder=tmp_path)
    assert run.spec.id == RunSpec(task, made(), 0).id
    with pytest.raises(BadRunFolder, match="not kept"):
        pdrm.Run.load(run.folder)
    assert pdrm.Run.load(run.folder, agent=agent).evaluate(1)["episodes"] == 1


def test_agents_of_stable_baselines_that_cannot_be_made():
    pytest.importorskip("stable_baselines3")
    with pytest.raises(UnknownAgent):
        pdrm.SB3(pdrm.PPO)
    with pytest.raises(BadSetting, match="not a name"):
        pdrm.SB3("PPO", pdrm.PPO)
    for agent in (pdrm.SB3("RecurrentPPO"), pdrm.SB3("PPO", wrong=1), pdrm.SB3("PPO", k="none")):
        with pytest.raises(BadSetting):
            pdrm.train("echo", agent)
    pdrm.train("echo", pdrm.SB3("PPO", "MlpPolicy", k="none", verbose=0, seed=3, **TINY))


# --- Environments of others

LAKE = "name goal\nevents goal\nstart u\nfinal done\notherwise stay 0\nu -> done : goal, 1"


def lake_events(_before, _action, after, _info):
    return {"goal"} if after == 15 else set()


def lake():
    return gymnasium.make("FrozenLake-v1", is_slippery=False)


def test_an_environment_whose_observation_is_a_dictionary():
    class Room(gymnasium.ObservationWrapper):
        """An environment with dictionaries as observations, like MiniGrid."""

        observation_space = gymnasium.spaces.Dict(
            {"at": gymnasium.spaces.Discrete(16), "image": gymnasium.spaces.Box(0, 1, (2,))}
        )

        def observation(self, observation):
            return {"at": observation, "image": np.zeros(2, np.float32)}

    def labels(_before, _action, after, _info):
        return {"goal"} if after["at"] == 15 else set()

    task = Task(lambda: Room(lake()), LAKE, labels=labels, name="room")
    run = pdrm.train(task, DoubleQ(), total_timesteps=200, test_every=100)
    assert set(run.episode()[0].state) == {"at", "image", "machine", "stack"}


def test_a_task_in_an_environment_of_your_own(tmp_path):
    pytest.importorskip("stable_baselines3")
    task = Task(lake, LAKE, labels=lake_events, name="lake")
    assert task.env(1).reset(seed=0)[0]["observation"] == 0
    run = pdrm.train(task, DoubleQ(epsilon=0.5), total_timesteps=3_000, test_every=1_000)
    assert run.curve.returns.shape == (3, 10)
    assert run.evaluate(2)["discount"] == 0.99
    assert run.optimal_value() is None
    ppo = pdrm.SB3("PPO", total_timesteps=64, n_steps=32, batch_size=32, test_episodes=1)
    kept = pdrm.train(task, ppo, folder=tmp_path)
    with pytest.raises(BadRunFolder):
        pdrm.Run.load(kept.folder)
    assert pdrm.Run.load(kept.folder, task=task).evaluate(1)["episodes"] == 1
    dqn = pdrm.SB3(
        "DQN",
        "MlpPolicy",
        total_timesteps=60,
        test_episodes=1,
        learning_starts=30,
        replay_buffer_class=pdrm.learning.CounterfactualReplayBuffer,
    )
    assert pdrm.train(task, dqn).evaluate(1)["episodes"] == 1
    results = pdrm.Study(task, agent_for(DoubleQ(), {"total_timesteps": 200}), seeds=2).run(
        tmp_path, workers=2
    )
    assert not results.failures
    for agent in ("q", "ppo", "summary"):
        with pytest.raises(DoesNotApply, match="SB3"):
            pdrm.train(task, agent)
    with pytest.raises(BadSetting):
        Task(lake, LAKE, labels=lake_events)
    other = Task(lake, LAKE, labels=lambda *_: set(), name="lake")
    assert other != task == Task(lake, LAKE, labels=lake_events, name="lake")
