"""Parts of the deep agents, compared with Stable-Baselines3: advantages and losses.

Also runs and policies.
"""

import json
import shutil
import signal
from dataclasses import replace
from random import Random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import RolloutBuffer

from pdrm.domains import domain
from pdrm.domains.water import WaterWorld
from pdrm.errors import BadPolicyFile, PdrmError
from pdrm.language.loading import catalogue
from pdrm.learning.agents import DQN, PPO, SAC
from pdrm.learning.deep.deep_policy import DeepPolicy, load_deep_policy
from pdrm.learning.deep.deep_training import batch_key, make_algorithm, product_for, train_together
from pdrm.learning.deep.networks import PolicyOutputs
from pdrm.learning.deep.ppo import Batch, advantages, ppo_loss
from pdrm.learning.evaluation import play_policy
from pdrm.learning.run import Run
from pdrm.learning.run_folder import CHECKPOINT, RunSpec, is_done, read_checkpoint
from pdrm.learning.run_loop import train_batch
from pdrm.learning.saved_policy import load_policy
from pdrm.product.jax_env.jax_domain import make_key, water_domain
from pdrm.product.jax_env.jax_product import jax_product
from pdrm.product.observation import TopK
from pdrm.task import Task
from tests.properties.random_machines import random_machine
from tests.properties.random_products import random_domain


def test_advantages_are_those_of_stable_baselines3():
    rng, steps, envs = np.random.default_rng(0), 50, 3
    reward, value = rng.normal(size=(2, steps, envs)).astype(np.float32)
    over = rng.random((steps, envs)) < 0.1
    last = rng.normal(size=envs).astype(np.float32)
    theirs = RolloutBuffer(
        steps, spaces.Box(-1, 1, (1,)), spaces.Discrete(2), "cpu", 0.9, 0.97, envs
    )
    theirs.rewards, theirs.values = reward, value
    theirs.episode_starts[1:] = over[:-1]
    theirs.compute_returns_and_advantage(torch.tensor(last), over[-1])
    ours = jax.jit(advantages)(reward, value, over, last, 0.97, 0.9)
    assert np.asarray(ours) == pytest.approx(theirs.advantages, abs=1e-4)


def test_the_loss_is_that_of_stable_baselines3():
    rng, rows = np.random.default_rng(1), 64
    old, gain, value, old_value = rng.normal(size=(4, rows)).astype(np.float32)
    logits, action = rng.normal(size=(rows, 3)).astype(np.float32), rng.integers(3, size=rows)
    settings = PPO(clip_range=0.15, clip_range_vf=0.5, ent_coef=0.01, vf_coef=0.7)
    batch = Batch(np.zeros(rows), action, old, old_value, gain)
    outputs = PolicyOutputs(logits, value, np.zeros(0))
    ours = jax.jit(lambda *seen: ppo_loss(settings, *seen)[0])(
        batch, outputs, np.ones(rows, np.float32)
    )
    # As written in stable_baselines3/ppo/ppo.py.
    t = {
        name: torch.tensor(part) for name, part in locals().items() if isinstance(part, np.ndarray)
    }
    distribution = torch.distributions.Categorical(logits=t["logits"])
    new, spread = distribution.log_prob(t["action"]), distribution.entropy()
    normal = (t["gain"] - t["gain"].mean()) / (t["gain"].std() + 1e-8)
    ratio = torch.exp(new - t["old"])
    policy = -torch.min(normal * ratio, normal * torch.clamp(ratio, 0.85, 1.15)).mean()
    moved = t["old_value"] + torch.clamp(t["value"] - t["old_value"], -0.5, 0.5)
    error = torch.nn.functional.mse_loss(t["gain"] + t["old_value"], moved)
    assert float(ours) == pytest.approx(
        float(policy - 0.01 * spread.mean() + 0.7 * error), rel=1e-4
    )


def test_rows_that_only_fill_up_do_not_count():
    rng = np.random.default_rng(2)
    columns = rng.normal(size=(5, 10)).astype(np.float32)

    @jax.jit
    def loss(cut, weight):
        action, outputs = (
            jnp.zeros(len(weight), jnp.int32),
            PolicyOutputs(cut[:2].T, cut[2], jnp.zeros(0)),
        )
        return ppo_loss(PPO().resolved(), Batch(cut[0], action, *cut[2:]), outputs, weight)[0]

    assert float(loss(columns[:, :7], np.ones(7))) == pytest.approx(
        float(loss(columns, np.arange(10) < 7)), rel=1e-5
    )


def test_the_product_in_jax_is_the_wrapped_environment():
    """With the same world, actions and machine, observations and rewards agree in a whole
    episode."""
    world = WaterWorld(radius=1.5, step_limit=400)
    product = jax_product(water_domain(world), catalogue("water"), TopK(1))
    task = Task(world, "water").env(k=1, flatten=True)
    seen, _ = task.reset(seed=0)
    state = jax.jit(product.begin)(make_key(0)).state
    state = state._replace(environment=task.unwrapped.state)
    step, observe, gained, rng = (
        jax.jit(product.step),
        jax.jit(product.observe),
        0.0,
        np.random.default_rng(0),
    )
    assert np.asarray(observe(state)) == pytest.approx(seen, abs=1e-5)
    for number in range(400):
        action = int(rng.integers(5))
        state, outcome = step(state, action)
        seen, reward, terminated, truncated, _ = task.step(action)
        # Where a ball jumps is drawn by each for itself: put the twin's there too.
        state = state._replace(environment=task.unwrapped.state)
        assert float(outcome.reward) == reward
        assert (bool(outcome.terminated), bool(outcome.truncated)) == (terminated, truncated), (
            number
        )
        assert np.asarray(observe(state)) == pytest.approx(seen, abs=1e-4)
        gained += reward
        if terminated or truncated:
            break
    assert gained >= 3_000


TINY = PPO(
    n_envs=4,
    n_steps=16,
    batch_size=32,
    n_epochs=2,
    net_arch=(8,),
    total_timesteps=384,
    test_every=128,
    test_episodes=5,
)


def runs(folder, *agents):
    """Runs on Echo, one per agent, and their folders. `0` sees the machine and `1` does not."""
    agents = agents or (TINY, replace(TINY, k="none"))
    specs = [RunSpec(Task("echo"), agent, seed=number) for number, agent in enumerate(agents)]
    return specs, [folder / str(number) for number in range(len(agents))]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of two uninterrupted runs, and the calls of their watch."""
    folder, told = tmp_path_factory.mktemp("whole"), []
    train_batch(*runs(folder), told.append)
    return folder, told


def test_a_watch_is_called_after_every_evaluation(whole):
    folder, told = whole
    assert [status.done for status in told] == [128, 128, 256, 256, 384, 384]
    assert {status.total for status in told} == {384}
    assert Run.load(folder / "0").evaluate(episodes=3)["episodes"] == 3
    assert Run.load(folder / "0").episode()[-1].action in (0, 1)


def test_an_episode_shows_what_the_network_sees_and_takes_the_actions_that_it_chooses(
    whole, tmp_path
):
    """Without the machine, with the whole stack, and with pushes in any direction."""
    train_batch(*runs(tmp_path, replace(TINY, k="full", depth=8)))
    for folder in (whole[0] / "1", tmp_path / "0"):
        assert Run.load(folder).episode()[-1].action in (0, 1)
    task = Task(WaterWorld(step_limit=20), "water")
    algorithm = make_algorithm(product_for(task, SAC()), SAC())
    policy = DeepPolicy(algorithm, algorithm.new_network(np.random.default_rng(0)), about={})
    (episode,) = play_policy(policy.env(task), policy, 1, seed=0)
    assert episode.steps == 20


def press(times):
    """A watch that presses Ctrl-C at the first evaluation.

    The second press acts at once, between two reports.
    """

    def stop(_status):
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)

    return stop


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The folder of the same two runs, stopped after their first evaluation, and by two presses
    after their second."""
    folder = tmp_path_factory.mktemp("stopped")
    for presses in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            train_batch(*runs(folder), press(presses))
        assert not any(is_done(one) for one in runs(folder)[1])
        done = {int(read_checkpoint(one)["run.done"]) for one in runs(folder)[1]}
        assert done == {128 * presses}
    return folder


def test_interrupted_runs_resume_to_the_same_end(stopped, whole, tmp_path):
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    train_batch(*runs(tmp_path))
    for file in (
        f"{seed}/{name}"
        for seed in (0, 1)
        for name in ("policy.npz", "policy.json", "curve.csv", "spec.json")
    ):
        assert (tmp_path / file).read_bytes() == (whole[0] / file).read_bytes()
    assert Run.load(tmp_path / "0").curve.returns.shape == (3, 5)


def test_a_scale_that_is_left_to_the_task_is_settled_for_every_run_of_a_batch():
    """The scale of each run is used: next to a run with its own scale, others learnt from
    rewards times 0."""
    task, small = (
        Task("maze-5x5"),
        {"net_arch": (4,), "buffer_size": 64, "n_envs": 2, "shaping": "none"},
    )
    agents = [DQN(reward_scale=0.5, **small), DQN(**small), DQN(reward_scale=1e-4, **small)]
    assert len({batch_key(task, agent) for agent in agents}) == 1
    training = train_together([task] * 3, agents, [0, 0, 0])
    assert training.numbers["reward_scale"].tolist() == pytest.approx([0.5, 1e-4, 1e-4])


def test_runs_of_a_batch_resume_from_their_own_checkpoints(stopped, tmp_path):
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    (tmp_path / "1" / CHECKPOINT).unlink()
    told = []
    train_batch(*runs(tmp_path), told.append)
    done = sorted((status.spec.seed, status.done) for status in told)
    assert done == [(0, 384), (1, 128), (1, 256), (1, 384)]
    assert all(map(is_done, runs(tmp_path)[1]))


def test_a_policy_file_is_read_back_or_refused(whole, tmp_path):
    files = [tmp_path / f"policy.{ending}" for ending in ("npz", "json")]
    for file in files:
        file.write_bytes((whole[0] / "0" / file.name).read_bytes())
    load_policy(files[0]).save(tmp_path / "again.npz")
    for ending in ("npz", "json"):
        assert (tmp_path / f"again.{ending}").read_bytes() == (
            tmp_path / f"policy.{ending}"
        ).read_bytes()
    policy = load_deep_policy(str(files[0]), domain("echo"))
    assert policy.act(np.zeros(policy.product.observation_size)) in (0, 1)
    assert json.loads(files[1].read_text())["about"]["spec"]["seed"] == 0
    files[0].write_bytes(b"no")
    with pytest.raises(BadPolicyFile):
        load_deep_policy(files[0], domain("echo"))


def test_a_policy_acts_on_nothing_that_it_never_saw(whole):
    """An agent that sees nothing of the machine ignores the machine's part of the observation."""
    policy = load_deep_policy(whole[0] / "1" / "policy.npz", domain("echo"))
    size, own = policy.product.observation_size, policy.product.domain.observation_size
    assert size > own
    rng, different = np.random.default_rng(0), 0
    for _ in range(40):
        seen, other = np.zeros((2, size), np.float32)
        seen[:own] = other[:own] = rng.normal(size=own)
        other[own:] = 100 * rng.normal(size=size - own)
        assert policy.act(other) == policy.act(seen)
        different += int(policy.algorithm.act(policy.network, (), other[None], None)[1][0]) != int(
            policy.act(seen)
        )
    assert different  # the network itself would tell them apart


def test_episodes_that_a_full_stack_cuts_off_are_counted(whole, tmp_path):
    """Echo with room for at most two letters. The share is reported during training and saved."""
    told = []
    train_batch(*runs(tmp_path, replace(TINY, depth=3)), told.append)
    shares = [status.facts["truncated_by_stack"] for status in told]
    assert len(shares) == 3
    assert all(0 < share <= 1 for share in shares)
    run = Run.load(tmp_path / "0")
    assert run.result["truncated_by_stack"] == shares[-1]
    assert 0 <= run.evaluate(5)["truncated_by_stack"] <= 5
    assert [status.facts["truncated_by_stack"] for status in whole[1]] == [0] * 6
    assert Run.load(whole[0] / "0").result["truncated_by_stack"] == 0


def test_default_settings_fit_every_task_that_plain_ones_fit():
    """Default counterfactuals and reward scales, and the default shaping of PPO, are all
    accepted."""
    random, fitting = Random(7), 0
    for _ in range(25):
        machine = random_machine(random)
        task = Task(random_domain(random, machine), machine)
        for kind in (PPO, DQN):
            try:
                RunSpec(task, kind.like_sb3(depth=16), 0).check()
            except PdrmError:
                continue
            RunSpec(task, kind(depth=16), 0).check()
            fitting += 1
    assert fitting > 25
