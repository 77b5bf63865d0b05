import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

import pdrm
from pdrm.errors import CannotWrap, TaskWarning
from pdrm.product import Shaped, Shaping
from tests.product.tasks import COINS, TRIP, Room, Script, corridor, shopping, watch_room

A, B, C = (frozenset(letter) for letter in "ABC")
NOTHING = frozenset()


def played(env, actions=()):
    """The steps of an episode from the reset on, as Gymnasium's five values."""
    observation, info = env.reset(seed=3)
    steps = [(observation, 0.0, False, False, info)]
    while not (steps[-1][2] or steps[-1][3]):
        steps.append(env.step(next(actions) if actions else 0))
    return steps


def test_an_episode_of_letter():
    env = pdrm.wrap(Script([None, A, A, B, C, NOTHING, C, C, C]), "letter", "info")
    steps = played(env)
    assert [step[4]["machine"]["state"] for step in steps] == [
        "u0",
        "u0",
        "u0",
        "u1",
        "u1",
        "u1",
        "u1",
        "u2",
    ]
    assert [len(step[4]["machine"]["stack"]) for step in steps] == [1, 2, 3, 3, 2, 2, 1, 1]
    assert [round(step[1], 6) for step in steps] == [0, 0.49, 0.49, 0.49, 0.49, 0.49, 0.49, 1.5]
    assert [step[2] for step in steps] == [False] * 7 + [True], (
        "the machine's final state terminates"
    )
    assert steps[-1][4].pop("is_success")
    assert steps[-1][4]["machine"].pop("shows").startswith("letter-")
    assert steps[-1][4] == {
        "label": C,
        "at": 7,
        "machine": {
            "reward": 1.0,
            "environment_reward": 0.5,
            "own_reward": 0.5,
            "environment_terminated": False,
            "state": "u2",
            "stack": ("#",),
            "label": C,
        },
    }


def test_success_is_reported_as_in_a_task():
    maze = pdrm.catalogue("treasure-maze")
    assert pdrm.wrap(Script([None]), maze, "info").success == set(pdrm.Task("maze-5x5").success)
    two = "name m\nevents A B\nexclusive A B\nstack #\nstart u\nfinal good bad\notherwise stay 0\nu -> good : A, # / #, 1\nu -> bad : B, # / #, 1"
    for word, success, expected in (
        ([None, NOTHING, A], (), [False, True]),
        ([None, NOTHING, B], (), [False, True]),
        ([None, NOTHING, B], "good", [False, False]),
        ([None, A], ["good"], [True]),
        ([None, NOTHING, NOTHING], "good", [False, False]),
    ):
        steps = played(pdrm.wrap(Script(word, "truncated"), two, "info", success=success))
        assert [step[4]["is_success"] for step in steps[1:]] == expected
    with pytest.raises(pdrm.PdrmError, match="good, bad"):
        pdrm.wrap(Script([None]), two, "info", success="goood")
    endless = "name m\nevents A\nstack #\nstart u\notherwise stay 0\nu -> u : A, # / #, 1"
    assert "is_success" not in played(pdrm.wrap(Script([None, A]), endless, "info"))[-1][4]


SILENT_START = """
name silent
events a
stack # X
start u
final done
otherwise stay 0
u -> v : eps, # / X #, 2
v -> v : a, X / X X, 3
v -> done : !a, X / X, 5
"""


def test_what_is_paid_at_reset_is_in_its_info():
    machine = pdrm.parse(SILENT_START)
    silent = pdrm.wrap(Script([None, {"a"}]), machine, "info").reset()[1]["machine"]
    assert (silent["reward"], silent["stack"], silent["label"]) == (2.0, ("X", "#"), None)
    labelled = pdrm.wrap(Script([{"a"}, {"a"}]), machine, "info").reset(options={"x": 1})[1]
    assert labelled["machine"]["reward"] == 5.0
    assert labelled["machine"]["stack"] == ("X", "X", "#")
    assert labelled["machine"]["label"] == labelled["label"] == {"a"}
    assert labelled["options"] == {"x": 1}


def test_the_label_at_reset_by_a_function():
    env = pdrm.wrap(
        Script([{"A"}, {"B"}]),
        "letter",
        lambda *_: (),
        labels_at_reset=lambda _, info: [*info["label"]],
    )
    assert env.reset()[1]["machine"]["stack"] == ("A", "#")
    without = pdrm.wrap(Script([{"A"}, {"B"}]), "letter", lambda *_: ())
    assert without.reset()[1]["machine"]["stack"] == ("#",)


class InPlace(gymnasium.Env):
    """Counts in one array, which every step returns."""

    action_space = spaces.Discrete(2)

    def __init__(self, shaped=lambda array: array):
        self.array, self.shaped = np.zeros(1), shaped
        box = spaces.Box(0, 9, (1,), np.float64)
        self.observation_space = {True: box, False: spaces.Dict({"a": spaces.Tuple([box])})}[
            shaped(1) == 1
        ]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.array[:] = 0
        return self.shaped(self.array), {}

    def step(self, action):
        self.array += action
        return self.shaped(self.array), 0.0, False, False, {}


@pytest.mark.parametrize("shaped", [lambda array: array, lambda array: {"a": (array,)}])
def test_the_observation_before_is_not_changed_by_the_environment(shaped):
    seen = []

    def labels(before, _action, after, _info):
        before, after = (
            part["a"][0] if isinstance(part, dict) else part for part in (before, after)
        )
        seen.append((float(before[0]), float(after[0])))
        return {"A"} if after[0] > before[0] else set()

    env = pdrm.wrap(InPlace(shaped), "letter", labels)
    env.reset(seed=0)
    told = [env.step(action)[4]["machine"]["label"] for action in (1, 0, 1)]
    assert seen == [(0, 1), (1, 1), (1, 2)]
    assert told == [A, NOTHING, A]


def test_other_machines_are_translated(tmp_path):
    counting = pdrm.wrap(Script([None, A, B, C, C]), "letter-counting", "info")
    pushdown = pdrm.wrap(Script([None, A, B, C, C]), pdrm.catalogue("letter-pushdown"), "info")
    assert [step[1:4] for step in played(counting)] == [step[1:4] for step in played(pushdown)]
    path = tmp_path / "once.pdrm"
    path.write_text("name once\nevents A\nstart u\nfinal done\notherwise stay 0\nu -> done : A, 1")
    for form in (path, str(path), pdrm.load(path)):
        assert played(pdrm.wrap(Script([None, A, A]), form, "info"))[-1][1:3] == (1.5, True)


def walk(env, count):
    return [
        (step[0]["observation"], *step[1:])
        for step in (env.step(index % 4) for index in range(count))
    ]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_their_own_way(duplicate):
    env = pdrm.wrap(corridor(), COINS, shopping)
    env.reset(seed=5)
    walk(env, 3)
    twin = duplicate(env)
    assert walk(env, 2) == walk(twin, 2)


def test_the_spec_makes_the_same_environment():
    env = pdrm.wrap(corridor(), COINS, shopping, k=2)
    again = gymnasium.make(env.spec)
    assert again.observation_space == env.observation_space
    assert again.reset(seed=1)[1] == env.reset(seed=1)[1]


def test_the_environments_reward_and_end_can_be_switched_off():
    def play(**settings):
        env = pdrm.wrap(Room(), TRIP, watch_room, **settings)
        env.reset(seed=0)
        return [step[1:3] for step in (env.step(1) for _ in range(3))], env

    assert play()[0] == [(0, False), (0, False), (3, True)]
    assert play(reward_weight=0)[0] == [(0, False), (0, False), (2, True)]
    assert play(reward_weight=-0.5)[0] == [(0, False), (0, False), (1.5, True)]
    for weight in (0, -0.5, 1):
        env = pdrm.wrap(Room(), TRIP, watch_room, reward_weight=weight)
        assert env.reset()[1]["machine"]["own_reward"] == 0
        paid = [env.step(1)[4]["machine"] for _ in range(3)]
        assert [one["own_reward"] for one in paid] == [0, 0, 1], (
            "what the environment paid, whatever it counts"
        )
        assert [one["environment_reward"] for one in paid] == [0, 0, weight]
    steps, env = play(reward_weight=0, ignore_end=True)
    assert steps == [(0, False), (0, False), (2, False)], "the environment ended, but continues"
    *_, reward, terminated, _, info = env.step(1)
    assert (reward, terminated) == (5, True)
    assert info["machine"]["environment_reward"] == 0.0
    assert not info["machine"]["environment_terminated"]
    assert gymnasium.make(env.spec).ignore_end if env.spec else env.ignore_end
    assert (env.reward_weight, copy.deepcopy(env).reward_weight) == (0, 0)


def test_observations_have_keys():
    env = pdrm.wrap(Room(), TRIP, watch_room)
    first, _ = env.reset(seed=0)
    assert env.key(first) == env.key(copy.deepcopy(first))
    moved = env.step(1)[0]
    assert env.key(moved) != env.key(first)
    assert {env.key(first), env.key(moved), env.key(copy.deepcopy(moved))} == {
        env.key(first),
        env.key(moved),
    }
    cards = pdrm.wrap(gymnasium.make("Blackjack-v1"), "letter", lambda *_: set(), k=2)
    seen, _ = cards.reset(seed=0)
    assert cards.key(seen) == (seen["observation"], 0, (1, 0))
    flat = pdrm.wrap(corridor(), COINS, shopping, flatten=True)
    assert flat.key(flat.reset(seed=0)[0]) == (0, 1, 0, 1, 0, 0, 0, 0, 1, 0)


def test_an_agent_that_does_not_see_the_machine():
    plain = pdrm.wrap(corridor(), COINS, shopping)
    blind = pdrm.wrap(corridor(), COINS, shopping, k="none")
    assert blind.observation_space == corridor().observation_space
    assert blind.reset(seed=0)[0] == plain.reset(seed=0)[0]["observation"]
    for action in (0, 1, 2):
        (seen, *_), (hidden, *_) = (plain.step(action), blind.step(action))
        assert hidden == seen["observation"]
    assert list(pdrm.wrap(Room(), TRIP, watch_room, k="none").observation_space) == [
        "body/speed",
        "direction",
        "image",
    ]
    flat = pdrm.wrap(corridor(), COINS, shopping, k="none", flatten=True)
    assert flat.reset(seed=0)[0].tolist() == [0, 1, 0]
    assert pdrm.Task("letter").env(k="none").reset(seed=0)[0] == 10


def test_one_warning_if_the_environment_ends_every_episode_before_the_machine():
    def play(env, episodes):
        for _ in range(episodes):
            played(env)

    env = pdrm.wrap(Script([None, A, A]), "letter", "info")
    play(env, 9)
    with pytest.warns(TaskWarning, match="W0617"):
        play(env, 1)
    play(env, 20)  # warnings are errors in tests
    for word, ends in (([None, A, A], "truncated"), ([None, A, B, C, C], "terminated")):
        play(pdrm.wrap(Script(word, ends), "letter", "info"), 20)


def test_shaping_goes_outside_of_what_records_returns():
    shaping = Shaping(discount=0.9, scale=0.5)
    bare = Monitor(pdrm.wrap(Script([None, A, B, C, C], "truncated"), "letter", "info"))
    env, potential = Shaped(bare, shaping), shaping.of(pdrm.catalogue("letter"))
    env.reset()
    before, total = potential.potential("u0", ("#",)), 0.0
    for _ in range(4):
        _, reward, terminated, _, info = env.step(0)
        told = info["machine"]
        after = 0.0 if terminated else potential.potential(told["state"], told["stack"])
        assert told["shaping"] == pytest.approx(0.9 * after - before)
        true = told["reward"] + told["environment_reward"]
        assert reward == pytest.approx(true + told["shaping"])
        before, total = after, total + true
    assert info["episode"]["r"] == pytest.approx(total)
    with pytest.raises(CannotWrap):
        Shaped(corridor(), shaping)
    agent = PPO("MultiInputPolicy", env, n_steps=8, batch_size=8, device="cpu")
    assert evaluate_policy(agent, env, n_eval_episodes=1)[0] == pytest.approx(total)


def test_labels_see_what_was_remembered_before_the_step():
    seen = []

    def note(_before, _action, _after, info):
        seen.append((info["before"], info["env"].at))
        return []

    env = pdrm.wrap(
        Script([None, A, A, A]), "letter", note, k=np.int64(2), remember=lambda env: env.at
    )
    for _ in range(2):
        assert "before" not in played(env)[-1][4]
    assert seen == [(0, 1), (1, 2), (2, 3)] * 2
    assert env.observation_space["stack"].shape == (2,)
