"""The replay buffer for Stable-Baselines3: counterfactual rows are exactly those of a real step."""

from copy import deepcopy

import gymnasium
import numpy as np
import pytest
from sb3_contrib import QRDQN, TQC, CrossQ, RecurrentPPO
from stable_baselines3 import DDPG, DQN, PPO, SAC, TD3
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

from pdrm import catalogue, domain, parse, wrap
from pdrm.domains import FiniteEnv
from pdrm.domains.environments import WaterEnv
from pdrm.domains.water import WaterWorld
from pdrm.errors import BadSetting
from pdrm.language import to_text
from pdrm.learning.deep.sb3 import CounterfactualReplayBuffer
from pdrm.machines.transitions import Configuration
from pdrm.product import Shaped, Shaping

LETTER = catalogue("letter")
ENVS = 3


def letter_env(limit=12):
    return wrap(FiniteEnv(domain("letter", step_limit=limit)), LETTER, "info", k=1, flatten=True)


def buffer_for(env, size=10, n_envs=1, **given):
    spaces = env.observation_space, env.action_space
    return CounterfactualReplayBuffer(size, *spaces, "cpu", n_envs, **given)


@pytest.fixture
def filled():
    """A buffer after 60 steps of three environments, and the steps as SB3 stores them."""
    envs = DummyVecEnv([letter_env] * ENVS)
    envs.seed(0)
    buffer = buffer_for(envs, 300, ENVS, counterfactuals=4, enlarge=True)
    rng, seen, history = np.random.default_rng(0), envs.reset(), []
    for _ in range(60):
        action = rng.integers(4, size=ENVS)
        after, reward, done, infos = envs.step(action)
        last = after.copy()
        for env in np.flatnonzero(done):
            last[env] = infos[env]["terminal_observation"]
        buffer.add(seen, last, action, reward, done, infos)
        history.append((seen, action, last, reward, done, infos))
        seen = after
    return buffer, history


def hot(state, stack):
    """The machine's part of an observation by hand: the three states, then nothing, # or A."""
    states, symbols = [*LETTER.states, *LETTER.final], ["#", "A"]
    vector = [float(name == state) for name in states] + [0.0] * 3
    vector[3 + (symbols.index(stack[0]) + 1 if stack else 0)] = 1.0
    return vector


def test_counterfactual_rows_are_what_the_machine_would_have_done(filled):
    buffer, history = filled
    stacks = [("#",), ("A", "#"), ("A", "A")]
    drawn = [(state, stack) for state in LETTER.states for stack in stacks]
    buffer.draw = lambda count: drawn
    ends = set()
    for step, (before, action, last, _, _, infos) in enumerate(history):
        for env in range(ENVS):
            places = np.full(len(drawn), step), np.full(len(drawn), env)
            rows = buffer.imagine(*places)
            for (state, stack), seen, _, after, ended, paid in zip(drawn, *rows, strict=True):
                right = LETTER.step(Configuration(state, stack), infos[env]["label"])
                assert seen.tolist() == [*before[env][:42], *hot(state, stack)]
                end = hot(right.after.state, right.after.stack)
                assert after.tolist() == [*last[env][:42], *end]
                assert paid == pytest.approx(right.reward)
                assert ended == (right.after.state in LETTER.final), "a truncation is not an end"
                ends.add(ended)
            assert buffer.observations[step, env].tolist() == before[env].tolist()
            assert buffer.next_observations[step, env].tolist() == last[env].tolist()
            assert buffer.actions[step, env, 0] == action[env]
    assert ends == {False, True}
    assert any(info.get("TimeLimit.truncated") for one in history for info in one[5])


def test_a_batch_keeps_each_environments_own_rows(filled):
    buffer, history = filled
    real = {}
    for before, action, last, reward, done, infos in history:
        for env in range(ENVS):
            truncated = infos[env].get("TimeLimit.truncated", False)
            row = (*before[env], action[env], *last[env])
            real[tuple(np.float32(row).tolist())] = (
                np.float32(reward[env]),
                float(done[env] and not truncated),
            )
    environments = {(*key[:42], key[48], *key[49:91]) for key in real}
    batch = buffer.sample(50)
    rows = np.concatenate(
        [part.numpy() for part in (batch.observations, batch.actions, batch.next_observations)],
        axis=1,
    )
    assert len(rows) == 50 * 5
    for number, row in enumerate(np.float32(rows).tolist()):
        assert (*row[:42], row[48], *row[49:91]) in environments
        if number < 50:
            found = float(batch.rewards[number]), float(batch.dones[number])
            assert found == pytest.approx(real[tuple(row)])


@pytest.mark.parametrize("k", [0, 1])
def test_kept_stacks_are_stepped_as_the_whole_ones(k):
    """PaintWorld: soap for five stains looks six symbols deep, whatever the view."""
    paint = catalogue("paint")
    env = wrap(FiniteEnv("paint"), paint, "info", k=k, flatten=True)
    buffer = buffer_for(env)
    ends = set()
    for stains in range(1, 6):
        whole = ("stain",) * stains + ("#",)
        buffer.note("ask", whole)
        kept = buffer._observed["ask", whole[:k]][-1]
        for label in env.unwrapped.domain.labels:
            right = paint.step(Configuration("ask", whole), label).after
            found = paint.step(Configuration("ask", kept), label).after
            assert (found.state, found.stack[:k]) == (right.state, right.stack[:k])
            ends.add(right.state in paint.final)
    assert ends == {False, True}


def test_a_stack_too_high_to_be_seen_is_left_out():
    """The depth is the maximum of the episodes. Counterfactuals could push further."""
    depth = 13
    bare = FiniteEnv(domain("letter", step_limit=12))
    model = agent(wrap(bare, LETTER, "info", k="full", flatten=True, depth=depth))
    model.learn(40)
    buffer = model.replay_buffer
    buffer.label[:] = frozenset("A")
    buffer.draw = lambda count: [("u0", ("A",) * (depth - below) + ("#",)) for below in (1, 2)]
    assert len(buffer.imagine(np.array([0, 0]), np.array([0, 0]))[-1]) == 1


def test_rows_are_drawn_uniformly_by_what_is_seen_and_below_as_observed():
    """Top A is on # in nine of ten cases, and in u1 never on another A. Nothing is below #."""
    buffer = buffer_for(letter_env(), counterfactuals=1)
    for state, stack, times in (("u0", "A#", 90), ("u0", "AA#", 10), ("u1", "A#", 5)):
        for _ in range(times):
            buffer.note(state, tuple(stack))
    drawn = buffer.draw(20_000)
    shares = {(state, "".join(stack)): 0.0 for state, stack in drawn}
    for state, stack in drawn:
        shares[state, "".join(stack)] += 1 / 20_000
    expected = {
        ("u0", "#"): 0.25,
        ("u1", "#"): 0.25,
        ("u0", "A#"): 0.225,
        ("u0", "AA"): 0.025,
        ("u1", "A#"): 0.25,
    }
    assert shares == pytest.approx(expected, abs=0.02)


def water(*, continuous):
    def made():
        world = WaterEnv(WaterWorld(continuous=continuous, step_limit=50))
        return wrap(world, "water", "info", k=1, flatten=True)

    return DummyVecEnv([made, made])


@pytest.mark.parametrize("kind", [PPO, RecurrentPPO])
def test_on_policy_agents_need_only_the_wrapper(kind):
    policy = "MlpLstmPolicy" if kind is RecurrentPPO else "MlpPolicy"
    sizes = {"net_arch": [8], **({"lstm_hidden_size": 8} if kind is RecurrentPPO else {})}
    envs = water(continuous=False)
    given = {"n_steps": 32, "batch_size": 16, "policy_kwargs": sizes, "seed": 0, "device": "cpu"}
    model = kind(policy, envs, **given)
    before = [part.clone() for part in model.policy.parameters()]
    model.learn(128)
    after = model.policy.parameters()
    assert any(bool((one != other).any()) for one, other in zip(before, after, strict=True))


def agent(env, kind=DQN, /, **given):
    """A small agent with the buffer."""
    dictionary = isinstance(env.observation_space, gymnasium.spaces.Dict)
    policy = "MultiInputPolicy" if dictionary else "MlpPolicy"
    buffer = {
        "replay_buffer_class": CounterfactualReplayBuffer,
        "replay_buffer_kwargs": given,
    }
    sizes = {"learning_starts": 20, "batch_size": 16, "policy_kwargs": {"net_arch": [8]}}
    return kind(policy, env, **buffer, **sizes, device="cpu", seed=0)


@pytest.mark.parametrize("kind", [DQN, SAC, TD3, DDPG, QRDQN, TQC, CrossQ])
def test_agents_take_it(kind):
    envs = water(continuous=kind not in (DQN, QRDQN))
    model = agent(envs, kind)
    before = [part.clone() for part in model.policy.parameters()]
    model.learn(60)
    after = model.policy.parameters()
    assert any(bool((one != other).any()) for one, other in zip(before, after, strict=True))
    assert len(model.replay_buffer.sample(16).rewards) == 16
    if kind in (DQN, SAC, TD3, DDPG):
        larger = agent(envs, kind, enlarge=True).learn(60)
        assert len(larger.replay_buffer.sample(16).rewards) == 48


def test_the_rows_of_a_batch_that_keeps_its_size(filled):
    """One real row for four counterfactual ones of the batch, or real ones if the machine has no
    move."""
    buffer, _ = filled
    buffer.enlarge = False
    for size, real in ((50, 10), (48, 10), (5, 1), (3, 1), (1, 1)):
        where = np.arange(size)
        rng = deepcopy(buffer._rng)
        rows = buffer._get_samples(where)
        assert len(rows.rewards) == len(rows.dones) == len(rows.observations) == size
        happened = buffer.observations[where[:real], rng.integers(ENVS, size=size)[:real]]
        assert rows.observations.numpy()[:real].tolist() == happened.tolist()
        of = np.repeat(np.arange(real), 4)[: size - real]
        assert rows.observations.numpy()[real:, :42].tolist() == happened[of][:, :42].tolist()


@pytest.mark.parametrize("k", [0, 2])
def test_a_dictionary_has_the_same_rows_as_the_vector(k):
    """Two buffers with the same steps in different forms sample the same rows."""
    paint = catalogue("paint")
    forms = [
        wrap(FiniteEnv(domain("paint", step_limit=30)), paint, "info", k, flatten=flat)
        for flat in (False, True)
    ]
    inner, rng = forms[0].env.observation_space, np.random.default_rng(3)
    buffers = [buffer_for(env, 200, counterfactuals=5, enlarge=True, seed=7) for env in forms]
    vectors = [DummyVecEnv([lambda env=env: env]) for env in forms]
    for vector in vectors:
        vector.seed(1)
    seen = [vector.reset() for vector in vectors]
    for _ in range(150):
        action = rng.integers(forms[0].action_space.n, size=1)
        for number, (vector, buffer) in enumerate(zip(vectors, buffers, strict=True)):
            after, reward, done, infos = vector.step(action)
            last = deepcopy(after)
            if done[0]:
                end = infos[0]["terminal_observation"]
                last = end[None] if number else {name: np.array([end[name]]) for name in end}
            buffer.add(seen[number], last, action, reward, done, infos)
            seen[number] = after
    where = np.arange(150).repeat(2)
    by_name, flat = (buffer._get_samples(where) for buffer in buffers)
    assert len(flat.rewards) > 600
    own = list(forms[0].observation_space.items())[1:]
    space = gymnasium.spaces.Dict([("observation", inner), *own])
    for one, other in (
        (by_name.observations, flat.observations),
        (by_name.next_observations, flat.next_observations),
    ):
        columns = {name: values.numpy().astype(int) for name, values in one.items()}
        for number, row in enumerate(other.numpy()):
            entry = {
                name: values[number] if name == "stack" else values[number, 0]
                for name, values in columns.items()
            }
            assert gymnasium.spaces.flatten(space, entry).tolist() == row.tolist()
    for name in ("actions", "rewards", "dones"):
        assert getattr(by_name, name).tolist() == getattr(flat, name).tolist()


def test_agents_take_a_dictionary():
    model = agent(wrap(FiniteEnv(domain("letter", step_limit=12)), LETTER, "info"))
    model.learn(40)
    assert len(model.replay_buffer.sample(16).rewards) == 16


def test_what_cannot_be_replaced_is_refused_at_once():
    env = letter_env()
    with pytest.raises(BadSetting, match="optimize_memory_usage"):
        buffer_for(env, optimize_memory_usage=True, handle_timeout_termination=False)
    for wrong in (-1, 1.5):
        with pytest.raises(BadSetting, match="an integer from 0"):
            buffer_for(env, counterfactuals=wrong)
    box = gymnasium.spaces.Box(-1, 1, env.observation_space.shape)
    for other in (
        gymnasium.make("CartPole-v1"),
        wrap(FiniteEnv("letter"), LETTER, "info", k="none"),
        gymnasium.wrappers.TransformObservation(env, lambda seen: -seen, box),
        VecFrameStack(DummyVecEnv([letter_env]), 2),
    ):
        with pytest.raises(BadSetting, match="does not contain a machine"):
            agent(other)


class Doubles(gymnasium.Wrapper):
    def step(self, action):
        seen, reward, *rest = self.env.step(action)
        return seen, 2 * reward, *rest


class Ends(gymnasium.Wrapper):
    def step(self, action):
        seen, reward, _, truncated, info = self.env.step(action)
        return seen, reward, True, truncated, info


class Negates(gymnasium.Wrapper):
    def step(self, action):
        seen, *rest = self.env.step(action)
        return -seen, *rest


def test_what_a_wrapper_outside_changes_is_refused():
    shaped = Shaped(letter_env(), Shaping(discount=0.9))
    for changed in (Doubles(letter_env()), Ends(letter_env()), Negates(letter_env()), shaped):
        with pytest.raises(BadSetting, match=r"outside pdrm\.wrap"):
            agent(changed).learn(60)
    assert agent(Doubles(letter_env()), counterfactuals=0).learn(60)
    inside = gymnasium.wrappers.TransformReward(
        FiniteEnv(domain("letter", step_limit=12)), lambda reward: reward + 0.1
    )
    model = agent(wrap(inside, LETTER, "info", flatten=True))
    model.learn(60)
    rewards = model.replay_buffer.sample(16).rewards.numpy()
    assert (rewards > -0.01 + 0.05).all(), "counterfactual rewards have the wrapper's, too"
    model = agent(gymnasium.wrappers.TimeLimit(letter_env(100), 7))
    model.learn(60)
    assert model.replay_buffer.timeouts.any()


def test_normalised_observations_keep_the_machines_part():
    """VecNormalize clips the last observation of an episode."""
    for flatten, words in ((True, {}), (False, {"norm_obs_keys": ["at"]})):

        def made(flatten=flatten):
            seen = gymnasium.spaces.Dict({"at": gymnasium.spaces.Box(-np.inf, np.inf, (1,))})
            bare = gymnasium.wrappers.TransformObservation(
                FiniteEnv(domain("letter", step_limit=12)),
                lambda at: {"at": np.array([float(at)], np.float32)},
                seen,
            )
            return wrap(bare, LETTER, "info", flatten=flatten)

        envs = VecNormalize(DummyVecEnv([made, made]), clip_obs=1.0, **words)
        model = agent(envs)
        model.learn(400)
        buffer = model.replay_buffer
        ended = np.argwhere(buffer.dones[: buffer.pos])
        assert len(ended) > 10
        for step, env in ended:
            if flatten:
                states = buffer.next_observations[step, env, 1:4].tolist()
                assert sorted(states) == [0, 0, 1]
            else:
                assert buffer.next_observations["machine"][step, env] in (0, 1, 2)
        assert len(buffer.sample(16, env=envs).rewards) == 16


def test_another_machine_is_noticed_in_the_first_step():
    """Its space and its names are equal, but not its rewards."""
    other = parse(to_text(LETTER).replace("0.01", "0.02"))
    model = agent(letter_env())
    model.learn(30)
    model.set_env(
        wrap(FiniteEnv(domain("letter", step_limit=12)), other, "info", k=1, flatten=True)
    )
    with pytest.raises(BadSetting, match="made for"):
        model.learn(30)


def test_a_saved_agent_is_loaded_only_if_the_numbers_mean_the_same(tmp_path):
    other = parse(to_text(LETTER).replace("u1", "v1"))
    dearer = parse(to_text(LETTER).replace("-0.01", "-0.02"))
    file = tmp_path / "agent.zip"
    for form in ({"flatten": True}, {}):
        env = wrap(FiniteEnv("letter"), LETTER, "info", **form)
        DQN("MlpPolicy" if form else "MultiInputPolicy", env, device="cpu").save(file)
        for machine in (LETTER, dearer):
            DQN.load(file, env=wrap(FiniteEnv("letter"), machine, "info", **form), device="cpu")
        with pytest.raises(ValueError, match=r"do not match.*states u0 u1 u2.*states u0 v1 u2"):
            DQN.load(file, env=wrap(FiniteEnv("letter"), other, "info", **form), device="cpu")


def test_a_saved_buffer_is_learnt_from_again(tmp_path):
    model = agent(letter_env(), counterfactuals=np.int64(3), enlarge=True)
    model.learn(30)
    model.save(tmp_path / "agent.zip")
    model.save_replay_buffer(tmp_path / "buffer.pkl")
    again = DQN.load(tmp_path / "agent.zip", env=letter_env())
    again.load_replay_buffer(tmp_path / "buffer.pkl")
    again.learn(30, reset_num_timesteps=False)
    assert again.replay_buffer.size() == 2 * model.replay_buffer.size()
    assert len(again.replay_buffer.sample(16).rewards) == 64
