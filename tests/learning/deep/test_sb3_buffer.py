"""The replay buffer for Stable-Baselines3: what it imagines is exactly what would have happened, row for row."""

from copy import deepcopy
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import NormalizeReward
from sb3_contrib import QRDQN, TQC, CrossQ, RecurrentPPO
from stable_baselines3 import DDPG, DQN, PPO, SAC, TD3
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecFrameStack, VecNormalize

from pdrm import catalogue, parse, wrap
from pdrm.domains import FiniteEnv
from pdrm.domains.water_env import WaterEnv
from pdrm.errors import BadSetting, WrongArguments
from pdrm.language import to_text
from pdrm.learning.deep.sb3 import CounterfactualReplayBuffer
from pdrm.machines.configurations import Configuration

LETTER = catalogue("letter")
ENVS = 3


def letter_env(limit=12):
    return wrap(FiniteEnv("letter", step_limit=limit), LETTER, "info", k=1, flatten=True)


@pytest.fixture
def filled():
    """A buffer after 60 steps of three environments, and everything that happened, as SB3 hands it over."""
    envs = DummyVecEnv([letter_env] * ENVS)
    envs.seed(0)
    buffer = CounterfactualReplayBuffer(
        300,
        envs.observation_space,
        envs.action_space,
        "cpu",
        ENVS,
        machine=LETTER,
        counterfactuals=4,
    )
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
    """The machine's part of an observation, by hand: the three states; then nothing, # or A."""
    states, symbols = [*LETTER.states, *LETTER.final], ["#", "A"]
    vector = [float(name == state) for name in states] + [0.0] * 3
    vector[3 + (symbols.index(stack[0]) + 1 if stack else 0)] = 1.0
    return vector


def test_imagined_rows_are_what_the_machine_would_have_done(filled):
    buffer, history = filled
    ends = set()
    for step, (before, action, last, _, _, infos) in enumerate(history):
        for env in range(ENVS):
            for state in LETTER.states:
                for stack in buffer.stacks:
                    found = buffer.what_if(state, stack, int(buffer.label[step, env]))
                    right = LETTER.step(Configuration(state, stack), infos[env]["label"])
                    assert found.before.tolist() == hot(state, stack)
                    assert found.after.tolist() == hot(right.after.state, right.after.stack)
                    assert found.reward == pytest.approx(right.reward)
                    assert found.final == (right.after.state in LETTER.final)
                    ends.add(found.final)
            assert buffer.observations[step, env].tolist() == before[env].tolist()
            assert buffer.next_observations[step, env].tolist() == last[env].tolist()
            assert buffer.actions[step, env, 0] == action[env]
    assert ends == {False, True}


def test_a_batch_keeps_each_environments_own_rows(filled):
    buffer, history = filled
    real = {}
    for before, action, last, reward, done, infos in history:
        for env in range(ENVS):
            cut = infos[env].get("TimeLimit.truncated", False)
            row = (*before[env], action[env], *last[env])
            real[tuple(np.float32(row).tolist())] = (
                np.float32(reward[env]),
                float(done[env] and not cut),
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
            expected = real[tuple(row)]
            assert (float(batch.rewards[number]), float(batch.dones[number])) == pytest.approx(
                expected
            )


def test_truncation_is_no_end(filled):
    buffer, history = filled
    cut = [
        (step, env)
        for step, one in enumerate(history)
        for env in range(ENVS)
        if one[5][env].get("TimeLimit.truncated")
    ]
    assert cut
    steps, envs = (np.array(column) for column in zip(*cut, strict=True))
    _, _, after, ended, _ = buffer.imagine(np.repeat(steps, 20), np.repeat(envs, 20))
    final = after[:, 42 + 2] == 1
    assert ended.tolist() == final.astype(float).tolist()


def test_observed_stacks_are_those_a_step_and_the_view_can_tell_apart(filled):
    buffer, history = filled
    seen = {info["machine"]["stack"][:2] for one in history for info in one[5]} | {("#",)}
    assert set(buffer.stacks) == seen
    assert len(buffer.stacks) == len(seen)


@pytest.mark.parametrize("k", [0, 1])
def test_kept_stacks_are_stepped_as_the_whole_ones(k):
    """PaintWorld: soap for five stains looks six symbols deep, however little of them is seen."""
    paint = catalogue("paint")
    env = wrap(FiniteEnv("paint"), paint, "info", k=k, flatten=True)
    buffer = CounterfactualReplayBuffer(
        10, env.observation_space, env.action_space, "cpu", machine=paint, k=k
    )
    for number, label in enumerate(env.unwrapped.domain.labels):
        buffer._number[label] = number
        buffer._labels.append(label)
    ends = set()
    for stains in range(1, 6):
        whole = ("stain",) * stains + ("#",)
        buffer._note("ask", whole)
        for number, label in enumerate(buffer._labels):
            right = paint.step(Configuration("ask", whole), label).after
            found = buffer.what_if("ask", buffer.stacks[-1], number)
            assert found.final == (right.state in paint.final)
            ends.add(found.final)
    assert ends == {False, True}


def test_a_stack_too_high_to_be_seen_is_not_imagined():
    """As low a depth as the episodes need: what is imagined would push on."""
    depth = 13

    def made():
        return wrap(
            FiniteEnv("letter", step_limit=12), LETTER, "info", k="full", flatten=True, depth=depth
        )

    given = {"machine": LETTER, "k": "full", "depth": depth, "counterfactuals": 2}
    model = DQN(
        "MlpPolicy",
        DummyVecEnv([made]),
        learning_starts=10,
        batch_size=16,
        policy_kwargs={"net_arch": [8]},
        replay_buffer_class=CounterfactualReplayBuffer,
        replay_buffer_kwargs=given,
        seed=0,
        device="cpu",
    )
    model.learn(40)
    buffer = model.replay_buffer
    letter = buffer._number.setdefault(frozenset("A"), len(buffer._labels))
    if letter == len(buffer._labels):
        buffer._labels.append(frozenset("A"))
    assert buffer.what_if("u0", ("A",) * (depth - 1) + ("#",), letter) is None
    assert buffer.what_if("u0", ("A",) * (depth - 2) + ("#",), letter) is not None


def water(*, continuous):
    def made():
        world = WaterEnv("water-17", continuous=continuous, step_limit=50)
        return wrap(world, "water", "info", k=1, flatten=True)

    return DummyVecEnv([made, made])


@pytest.mark.parametrize("agent", [PPO, RecurrentPPO])
def test_agents_that_learn_from_what_they_do_need_only_the_wrapper(agent):
    policy = "MlpLstmPolicy" if agent is RecurrentPPO else "MlpPolicy"
    sizes = {"net_arch": [8], **({"lstm_hidden_size": 8} if agent is RecurrentPPO else {})}
    model = agent(
        policy,
        water(continuous=False),
        n_steps=32,
        batch_size=16,
        policy_kwargs=sizes,
        seed=0,
        device="cpu",
    )
    before = [part.clone() for part in model.policy.parameters()]
    model.learn(128)
    assert model.num_timesteps == 128
    assert any(
        bool((one != other).any())
        for one, other in zip(before, model.policy.parameters(), strict=True)
    )


@pytest.mark.parametrize("agent", [DQN, SAC, TD3, DDPG])
def test_agents_take_it(agent):
    machine = catalogue("water")
    envs = water(continuous=agent is not DQN)
    model = agent(
        "MlpPolicy",
        envs,
        buffer_size=500,
        learning_starts=50,
        batch_size=16,
        policy_kwargs={"net_arch": [8]},
        replay_buffer_class=CounterfactualReplayBuffer,
        replay_buffer_kwargs={"machine": machine, "counterfactuals": 2},
        seed=0,
        device="cpu",
    )
    model.learn(120)
    assert len(model.replay_buffer.sample(16).rewards) == 48


@pytest.mark.parametrize("agent", [QRDQN, TQC, CrossQ])
def test_agents_that_reckon_with_the_batch_size_are_given_as_many_rows(agent):
    made = {
        "learning_starts": 50,
        "batch_size": 16,
        "policy_kwargs": {"net_arch": [8]},
        "replay_buffer_class": CounterfactualReplayBuffer,
        "seed": 0,
        "device": "cpu",
    }
    envs = water(continuous=agent is not QRDQN)
    model = agent("MlpPolicy", envs, **made)
    before = [part.clone() for part in model.policy.parameters()]
    model.learn(120)
    assert any(
        bool((one != other).any())
        for one, other in zip(before, model.policy.parameters(), strict=True)
    )
    assert len(model.replay_buffer.sample(16).rewards) == 16
    with pytest.raises(BadSetting, match=f"{agent.__name__} takes batches of"):
        agent("MlpPolicy", envs, replay_buffer_kwargs={"enlarge": True}, **made)


class Learns(DQN):
    """An agent with its own training, of which nothing is known."""

    def train(self, gradient_steps, batch_size=100):
        assert len(self.replay_buffer.sample(batch_size).rewards) == batch_size


def test_the_rows_of_a_batch_that_keeps_its_size(filled):
    """A real row to four imagined ones, which belong to real rows of the batch; real ones where the machine has no move."""
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
    buffer.what_if = lambda *_: None
    where = np.arange(50)
    envs = deepcopy(buffer._rng).integers(ENVS, size=50)
    assert (
        buffer._get_samples(where).observations.tolist()
        == buffer.observations[where, envs].tolist()
    )


def test_whether_batches_grow_can_be_chosen():
    model = agent(letter_env(), enlarge=False)
    model.learn(60)
    assert len(model.replay_buffer.sample(16).rewards) == 16
    with pytest.raises(BadSetting, match="enlarge"):
        agent(letter_env(), enlarge="yes")
    sizes = {"learning_starts": 20, "batch_size": 16, "device": "cpu"}
    Learns(
        "MlpPolicy", letter_env(), replay_buffer_class=CounterfactualReplayBuffer, **sizes
    ).learn(60)


@pytest.mark.parametrize("k", [0, 2])
def test_a_dictionary_is_imagined_as_the_vector_is(k):
    """Two buffers live through the same steps, one with each form; what they sample is the same, put in the other form."""
    paint = catalogue("paint")
    forms = [
        wrap(FiniteEnv("paint", step_limit=30), paint, "info", k, flatten=flat)
        for flat in (False, True)
    ]
    inner, rng = forms[0].env.observation_space, np.random.default_rng(3)
    buffers = [
        CounterfactualReplayBuffer(
            200, env.observation_space, env.action_space, "cpu", counterfactuals=5, seed=7
        )
        for env in forms
    ]
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
                last = (
                    {name: np.array([value]) for name, value in end.items()}
                    if number == 0
                    else end[None]
                )
            buffer.add(seen[number], last, action, reward, done, infos)
            seen[number] = after
    where = np.arange(150).repeat(2)
    by_name, flat = (buffer._get_samples(where) for buffer in buffers)
    assert len(flat.rewards) > 600
    space = gymnasium.spaces.Dict(
        [("observation", inner), *list(forms[0].observation_space.items())[1:]]
    )
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
    env = wrap(FiniteEnv("letter", step_limit=12), LETTER, "info")
    sizes = {
        "learning_starts": 20,
        "batch_size": 16,
        "policy_kwargs": {"net_arch": [8]},
        "device": "cpu",
        "seed": 0,
    }
    model = DQN("MultiInputPolicy", env, replay_buffer_class=CounterfactualReplayBuffer, **sizes)
    model.learn(40)
    assert len(model.replay_buffer.sample(16).rewards) == 48


def test_a_form_whose_part_cannot_be_replaced_is_refused_at_once():
    env = wrap(FiniteEnv("letter"), LETTER, "info", discrete=True)
    for given in ({}, {"machine": LETTER}):
        with pytest.raises(BadSetting, match="leave `discrete` out"):
            CounterfactualReplayBuffer(10, env.observation_space, env.action_space, "cpu", **given)
    stacked = gymnasium.spaces.Box(0, 1, (4, 48))
    with pytest.raises(BadSetting, match="neither a dictionary nor a vector"):
        CounterfactualReplayBuffer(10, stacked, env.action_space, "cpu", machine=LETTER)
    env = wrap(FiniteEnv("letter"), LETTER, "info", k=2)
    hidden = gymnasium.spaces.Dict(env.observation_space.spaces)
    for k in (1, 3):
        with pytest.raises(BadSetting, match="does not show"):
            CounterfactualReplayBuffer(10, hidden, env.action_space, "cpu", machine=LETTER, k=k)
    buffer = CounterfactualReplayBuffer(10, hidden, env.action_space, "cpu", machine=LETTER, k=0)
    with pytest.raises(BadSetting, match="made for"):
        feed(buffer, env)


def test_next_observations_must_be_kept():
    env = letter_env()
    given = {"optimize_memory_usage": True, "handle_timeout_termination": False}
    with pytest.raises(BadSetting, match="keeps no next observations"):
        CounterfactualReplayBuffer(10, env.observation_space, env.action_space, "cpu", **given)


def feed(buffer, env):
    """One step of an environment."""
    vector = DummyVecEnv([lambda: env])
    before, action = vector.reset(), np.array([0])
    after, reward, done, infos = vector.step(action)
    buffer.add(before, after, action, reward, done, infos)


@pytest.mark.parametrize(
    ("seen", "given", "told"),
    [
        (1, {"k": 2}, "buffer was given"),
        (2, {"k": 1}, "buffer was given"),
        (2, {"k": 0, "machine": None}, "buffer was given"),
        (1, {"k": "full", "depth": 9}, "buffer was given"),
        (1, {"machine": catalogue("figure-1")}, "buffer was given"),
        (1, {"counterfactuals": -1}, "non-negative integer"),
        (1, {"counterfactuals": 1.5}, "non-negative integer"),
    ],
)
def test_what_does_not_fit_the_environment_is_refused(seen, given, told):
    env = wrap(FiniteEnv("letter", step_limit=12), LETTER, "info", seen, flatten=True)
    kwargs = {"machine": LETTER, "k": seen, **given}
    with pytest.raises(BadSetting, match=told):
        DQN(
            "MlpPolicy",
            env,
            replay_buffer_class=CounterfactualReplayBuffer,
            replay_buffer_kwargs=kwargs,
            device="cpu",
            seed=0,
        ).learn(200)


def agent(env, /, **given):
    """A small DQN with the buffer."""
    sizes = {
        "learning_starts": 20,
        "batch_size": 16,
        "policy_kwargs": {"net_arch": [8]},
        "device": "cpu",
        "seed": 0,
    }
    policy = (
        "MultiInputPolicy"
        if isinstance(env.observation_space, gymnasium.spaces.Dict)
        else "MlpPolicy"
    )
    return DQN(
        policy,
        env,
        replay_buffer_class=CounterfactualReplayBuffer,
        replay_buffer_kwargs=given,
        **sizes,
    )


class Doubles(gymnasium.Wrapper):
    def step(self, action):
        seen, reward, *rest = self.env.step(action)
        return seen, 2 * reward, *rest


class Ends(gymnasium.Wrapper):
    def step(self, action):
        seen, reward, _, truncated, info = self.env.step(action)
        return seen, reward, True, truncated, info


def test_what_a_wrapper_outside_changes_is_refused_because_it_would_not_be_imagined():
    def negate(seen):
        return -seen

    box = gymnasium.spaces.Box(-1, 1, letter_env().observation_space.shape)
    outside = (
        (lambda env: gymnasium.wrappers.TransformReward(env, lambda reward: 100 * reward), {}),
        (lambda env: gymnasium.wrappers.ClipReward(env, 0, 1), {}),
        (Ends, {}),
        (
            lambda env: gymnasium.wrappers.TransformObservation(env, negate, box),
            {"machine": LETTER},
        ),
        (lambda env: VecFrameStack(DummyVecEnv([lambda: env]), 2), {"machine": LETTER}),
    )
    for around, given in outside:
        with pytest.raises(BadSetting, match=r"(out|in)side pdrm\.wrap"):
            agent(around(letter_env()), **given).learn(60)
    for around, given in ((NormalizeReward, {}), *outside[:2]):
        with pytest.raises(BadSetting, match=r"Reward, outside pdrm\.wrap, changes rewards"):
            agent(gymnasium.wrappers.TimeLimit(around(letter_env()), 9), **given)
    assert agent(NormalizeReward(letter_env()), counterfactuals=0).learn(60)
    with pytest.raises(BadSetting, match="made the reward"):
        agent(Doubles(letter_env())).learn(60)
    inside = gymnasium.wrappers.TransformReward(
        FiniteEnv("letter", step_limit=12), lambda reward: reward + 0.1
    )
    model = agent(wrap(inside, LETTER, "info", flatten=True))
    model.learn(60)
    rewards = model.replay_buffer.sample(16).rewards.numpy()
    assert len(rewards) == 48
    assert (rewards > -0.01 + 0.05).all(), "imagined rewards have the wrapper's, too"
    model = agent(gymnasium.wrappers.TimeLimit(letter_env(100), 7))
    model.learn(60)
    assert model.replay_buffer.timeouts.any()


def test_normalised_observations_keep_the_machines_part():
    """An episode's last observation comes back from VecNormalize clipped; the first of its kind is clipped most."""
    for flatten, words in ((True, {}), (False, {"norm_obs_keys": ["at"]})):

        def made(flatten=flatten):
            seen = gymnasium.spaces.Dict({"at": gymnasium.spaces.Box(-np.inf, np.inf, (1,))})
            bare = gymnasium.wrappers.TransformObservation(
                FiniteEnv("letter", step_limit=12),
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
            part = buffer._own_part(
                {name: rows[step] for name, rows in buffer.next_observations.items()}
                if isinstance(buffer.next_observations, dict)
                else buffer.next_observations[step],
                env,
            )
            states = (
                part[:3].tolist() if flatten else [float(part[0] == number) for number in range(3)]
            )
            assert sorted(states) == [0, 0, 1]
        batch = buffer.sample(16, env=envs)
        assert len(batch.rewards) == 48


def test_another_machine_is_noticed_in_the_first_step():
    """Its space is equal, and so are its names; what it pays is not."""
    other = parse(to_text(LETTER).replace("0.01", "0.02"))
    assert other != LETTER

    def second():
        return wrap(FiniteEnv("letter", step_limit=12), other, "info", k=1, flatten=True)

    model = agent(letter_env())
    model.learn(30)
    model.set_env(second())
    with pytest.raises(BadSetting, match="made for"):
        model.learn(30)


@pytest.mark.filterwarnings("ignore:`n_steps=3` is ignored")
def test_returns_over_several_steps_are_not_left_out_without_a_word():
    with pytest.raises(BadSetting, match="was given n_steps=3"):
        DQN(
            "MlpPolicy",
            letter_env(),
            n_steps=3,
            replay_buffer_class=CounterfactualReplayBuffer,
            device="cpu",
        )


def test_a_saved_agent_is_loaded_only_where_the_numbers_mean_the_same(tmp_path):
    other = parse(to_text(LETTER).replace("u1", "v1"))
    dearer = parse(to_text(LETTER).replace("-0.01", "-0.02"))
    for form in ({"flatten": True}, {}):
        env = wrap(FiniteEnv("letter"), LETTER, "info", **form)
        DQN("MlpPolicy" if form else "MultiInputPolicy", env, device="cpu").save(
            tmp_path / "agent.zip"
        )
        for machine in (LETTER, dearer):
            DQN.load(
                tmp_path / "agent.zip",
                env=wrap(FiniteEnv("letter"), machine, "info", **form),
                device="cpu",
            )
        with pytest.raises(ValueError, match=r"do not match.*states='u0 u1 u2'.*states='u0 v1 u2'"):
            DQN.load(
                tmp_path / "agent.zip",
                env=wrap(FiniteEnv("letter"), other, "info", **form),
                device="cpu",
            )


def test_settings_that_it_does_not_have(tmp_path):
    for given, told in (
        ({"n_steps": 3}, "single steps"),
        ({"counterfactual": 4}, "did you mean `counterfactuals`"),
        ({"goal_selection_strategy": "future"}, r"HerReplayBuffer.*\n.*known: `counterfactuals`"),
        ({"env": 4}, "HerReplayBuffer"),
        ({"observation": 4}, "known: `counterfactuals`"),
    ):
        with pytest.raises(WrongArguments, match=told):
            agent(letter_env(), **given)
    with pytest.raises(WrongArguments, match="PPO and A2C have a rollout buffer"):
        PPO(
            "MlpPolicy", letter_env(), rollout_buffer_class=CounterfactualReplayBuffer, device="cpu"
        )
    model = agent(
        letter_env(), counterfactuals=np.int64(3), handle_timeout_termination=True, k=np.int64(1)
    )
    model.learn(30)
    assert len(model.replay_buffer.sample(16).rewards) == 64
    model.save(tmp_path / "agent.zip")
    model.save_replay_buffer(tmp_path / "buffer.pkl")
    again = DQN.load(tmp_path / "agent.zip", env=letter_env())
    again.load_replay_buffer(tmp_path / "buffer.pkl")
    again.learn(30, reset_num_timesteps=False)
    assert again.replay_buffer.size() == 2 * model.replay_buffer.size()
    assert len(again.replay_buffer.sample(16).rewards) == 64


def test_success_rates_are_reported(tmp_path):
    tests = EvalCallback(
        make_vec_env(letter_env), n_eval_episodes=4, eval_freq=20, log_path=tmp_path, verbose=0
    )
    model = agent(letter_env())
    model.learn(60, callback=tests)
    assert [len(test) for test in tests.evaluations_successes] == [4, 4, 4]
    assert len(model.ep_success_buffer) == sum(model.replay_buffer.dones[:60, 0])


def test_an_environment_without_a_machine_is_refused():
    env = gymnasium.make("CartPole-v1")
    kwargs = {
        "machine": "events a\nstack #\nstart u\notherwise stay 0\nu -> u : a, # / #, 0",
        "k": 0,
    }
    for bare in (
        env,
        gymnasium.make("FrozenLake-v1"),
        SubprocVecEnv([partial(gymnasium.make, "FrozenLake-v1")]),
    ):
        with pytest.raises(BadSetting, match=r"the environment is not from pdrm\.wrap"):
            agent(bare)
        bare.close()
    with pytest.raises(BadSetting, match="has no `machine`"):
        agent(env, **kwargs).learn(10)
    with pytest.raises(BadSetting, match="leave `discrete` out"):
        agent(wrap(FiniteEnv("letter"), LETTER, "info", discrete=True))


def test_what_is_not_seen_is_imagined_as_often_as_it_was_observed():
    """Top A lies on # in nine of ten; in u1 it was never seen on another A. Nothing is below #."""
    env = letter_env()
    buffer = CounterfactualReplayBuffer(
        10, env.observation_space, env.action_space, "cpu", counterfactuals=1
    )
    for state, stack, times in (("u0", "A#", 90), ("u0", "AA#", 10), ("u1", "A#", 5)):
        for _ in range(times):
            buffer._note(state, tuple(stack))
    drawn = buffer.draw(20_000)
    shares = {place: drawn.count(place) / 20_000 for place in set(drawn)}
    expected = {
        ("u0", "#"): 0.25,
        ("u1", "#"): 0.25,
        ("u0", "A#"): 0.225,
        ("u0", "AA"): 0.025,
        ("u1", "A#"): 0.25,
    }
    assert shares == pytest.approx(
        {(state, tuple(stack)): share for (state, stack), share in expected.items()}, abs=0.02
    )


def test_the_buffer_needs_to_know_the_machine():
    plain = gymnasium.spaces.Box(0, 1, (9,))
    with pytest.raises(BadSetting, match="does not say which machine"):
        CounterfactualReplayBuffer(10, plain, gymnasium.spaces.Discrete(2), "cpu")
