"""Mistakes with `wrap`, `wrap_vector` and labelling functions: kinds and positions of errors."""

from collections import deque

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from stable_baselines3.common.monitor import Monitor

import pdrm
from pdrm.errors import (
    BadEnvironment,
    BadEnvironmentReward,
    BadLabel,
    BadSetting,
    CannotOpen,
    CannotTranslate,
    CannotWrap,
    EpisodeOver,
    FinishedAtReset,
    ImpossibleLabel,
    NoTransitionTable,
    TaskWarning,
    UndefinedMove,
    UnknownEvent,
    UnknownMachine,
)
from tests.product.tasks import COINS, Script, corridor, shopping

A, B, C = frozenset("A"), frozenset("B"), frozenset("C")


def coins_and_more(_before, _action, after, _info):
    return {"coyn"} if after == 0 else {"door"}


def test_an_unknown_event_says_where_it_came_from():
    env = pdrm.wrap(corridor(), COINS, coins_and_more)
    env.reset(seed=0)
    with pytest.raises(UnknownEvent) as raised:
        deque((env.step(0) for _ in range(100)), maxlen=0)
    assert raised.value.fix.startswith("did you mean `coin`?")
    note = raised.value.__notes__[0]
    for part in ("`coins_and_more` (test_wrap_errors.py:", "FrozenLake-v1", "at step "):
        assert part in note
    with pytest.raises(EpisodeOver):
        env.step(0)


def test_an_unknown_event_at_reset():
    with pytest.raises(UnknownEvent) as raised:
        pdrm.wrap(Script([{"X"}]), "letter", "info").reset()
    assert "at reset" in raised.value.__notes__[0]


def test_an_error_in_a_labelling_function_stays_as_it_is_and_says_where_it_was():
    def faulty(_before, _action, _after, info):
        return {info["nothing"]}

    env = pdrm.wrap(corridor(), COINS, faulty)
    env.reset(seed=0)
    with pytest.raises(KeyError) as raised:
        env.step(0)
    assert "at step 1 of an episode of" in raised.value.__notes__[0]
    assert "faulty" in raised.value.__notes__[0]
    env = pdrm.wrap(corridor(), COINS, lambda *_: set(), labels_at_reset=lambda *_: {1 / 0})
    with pytest.raises(ZeroDivisionError) as divided:
        env.reset(seed=0)
    assert "at reset of" in divided.value.__notes__[0]
    with pytest.raises(KeyError) as raised:
        pdrm.from_gymnasium(corridor(), faulty)
    assert "state 0, action 0, next state 0 of <" in raised.value.__notes__[0]


@pytest.mark.parametrize(
    "returned",
    [None, "A", b"A", {"A": True}, 1, {1}, [["A"]], (x for x in "A")],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_a_label(returned):
    env = pdrm.wrap(Script([None, A]), "letter", lambda *_: returned)
    env.reset()
    with pytest.raises(BadLabel):
        env.step(0)
    with pytest.raises(BadLabel):
        pdrm.from_gymnasium(corridor(), lambda *_: returned)


class Pays(Script):
    def __init__(self, reward):
        super().__init__([None, A, A])
        self.reward = reward

    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, self.reward, *rest


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -float("inf")])
def test_rewards_are_finite(reward):
    env = pdrm.wrap(Pays(reward), "letter", "info")
    env.reset()
    with pytest.raises(BadEnvironmentReward, match="fix: "):
        env.step(0)


FINISHED = "name m\nevents A\nstack #\nstart u\nfinal done\notherwise stay 0\nu -> done : "


def test_an_episode_over_before_it_begins():
    with pytest.raises(FinishedAtReset):
        pdrm.wrap(Script([None]), pdrm.parse(FINISHED + "eps, # / #, 1"), "info")
    env = pdrm.wrap(Script([A, A]), pdrm.parse(FINISHED + "A, # / #, 1"), "info")
    with pytest.raises(FinishedAtReset):
        env.reset()


def test_what_is_not_an_environment():
    for wrong in ("FrozenLake-v1", object(), SyncVectorEnv([corridor]), corridor, COINS):
        with pytest.raises(CannotWrap):
            pdrm.wrap(wrong, COINS, shopping)
    for wrong in ("Taxi-v4", gymnasium.make_vec("FrozenLake-v1", num_envs=2)):
        with pytest.raises(NoTransitionTable):
            pdrm.from_gymnasium(wrong, shopping)
    for wrong in (SyncVectorEnv([corridor]), [corridor()], []):
        with pytest.raises(CannotWrap):
            pdrm.wrap_vector(wrong, COINS, shopping)
    base = corridor()
    with pytest.raises(CannotWrap, match="same environment"):
        pdrm.wrap_vector([lambda: base] * 2, COINS, shopping)


def test_two_machines_are_one_that_is_combined():
    once = pdrm.wrap(corridor(), COINS, shopping)
    for env in (once, gymnasium.wrappers.TimeLimit(once, 9)):
        with pytest.raises(CannotWrap, match=r"pdrm\.combine"):
            pdrm.wrap(env, "letter", shopping)
    both = pdrm.combine([COINS, pdrm.from_ltlf("F coin", events=["coin"], name="once")])
    assert pdrm.wrap(once.env, both, shopping).machine == both


def test_observations_outside_of_their_space():
    for add in (16, -17):
        frozen = gymnasium.make("FrozenLake-v1")
        moved = gymnasium.wrappers.TransformObservation(
            frozen, lambda seen, add=add: seen + add, frozen.observation_space
        )
        for form in ({}, {"flatten": True}):
            with pytest.raises(BadEnvironment):
                pdrm.wrap(moved, "letter", lambda *_: set(), **form).reset(seed=0)

    class Jumps(Script):
        observation_space = gymnasium.spaces.Discrete(1)

    class Dials(Script):
        observation_space = gymnasium.spaces.MultiDiscrete([3, 2])

        def reset(self, **given):
            return np.array(self.ends), super().reset(**given)[1]

    env = pdrm.wrap(Jumps([None, A, A]), "letter", "info", flatten=True)
    env.reset()
    with pytest.raises(CannotWrap):
        env.step(0)
    seen = pdrm.wrap(Dials([A], (2, 1)), "letter", "info", flatten=True).reset()[0]
    assert seen[:5].tolist() == [0, 0, 1, 0, 1]
    with pytest.raises(BadEnvironment):
        pdrm.wrap(Dials([A], (2, 2)), "letter", "info", flatten=True).reset()


def test_a_first_observation_of_another_shape_or_without_an_entry():
    two = gymnasium.spaces.Box(0, 1, (2,))
    for space, seen, said in (
        (two, np.zeros(3), "the entry `observation`"),
        (gymnasium.spaces.Dict({"at": two}), {"at": np.zeros(3)}, "the entry `at`"),
        (gymnasium.spaces.Dict({"at": two}), {"here": np.zeros(2)}, "the entry `at`"),
        (gymnasium.spaces.Dict({"at": two}), np.zeros(2), "the entry `at`"),
    ):
        for form in ({}, {"flatten": True}):
            bare = gymnasium.wrappers.TransformObservation(
                Script([None, A]), lambda _, seen=seen: seen, space
            )
            with pytest.raises(BadEnvironment, match=said):
                pdrm.wrap(bare, "letter", "info", **form).reset()
    loose = gymnasium.wrappers.TransformObservation(
        Script([None, A]), lambda _: np.full(2, 1.1), two
    )
    env = pdrm.wrap(loose, "letter", "info", flatten=True)
    env.reset()  # float64, and out of bounds, as many environments are


def test_what_records_returns_goes_outside():
    for inside in (Monitor, gymnasium.wrappers.RecordEpisodeStatistics):
        counted = gymnasium.wrappers.TimeLimit(inside(Script([None, A, A])), 9)
        with pytest.raises(CannotWrap, match=rf"outside: {inside.__name__}\(pdrm.wrap"):
            pdrm.wrap(counted, "letter", "info")
    own = gymnasium.wrappers.RecordEpisodeStatistics(Script([None, A, A]), stats_key="own")
    env = gymnasium.wrappers.RecordEpisodeStatistics(pdrm.wrap(own, "letter", "info"))
    env.reset()
    env.step(0)
    info = env.step(0)[4]
    assert info["own"]["r"] == 1
    assert info["episode"]["r"] == pytest.approx(1 - 0.02), "the machine takes 0.01 for each step"


def test_no_episode_to_step_in():
    for word, steps in (([None, A, B, C, C], 4), ([None, A], 1), ([None, A], 0)):
        env = pdrm.wrap(Script(word), "letter", "info")
        if steps:
            env.reset()
        for _ in range(steps):
            env.step(0)
        with pytest.raises(EpisodeOver):
            env.step(0)


class Plays(gymnasium.Env):
    """An environment that violates Gymnasium's API."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)
    began, moved = (0, {}), (0, 0.0, False, False, {})

    def __init__(self, **told):
        vars(self).update(told)

    def reset(self, **_given):
        return self.began

    def step(self, _action):
        return self.moved


def test_environments_that_do_not_keep_to_gymnasiums_interface():
    def wrap(**told):
        return pdrm.wrap(Plays(**told), "letter", lambda *_: set())

    for began in (None, 0, (0, 1)):
        with pytest.raises(BadEnvironment):
            wrap(began=began).reset()
    for moved in ((0, 0.0, False, {}), None, (0, 0.0, False, False, None)):
        env = wrap(moved=moved)
        env.reset()
        with pytest.raises(BadEnvironment):
            env.step(0)
        with pytest.raises(EpisodeOver):
            env.step(0)


def wraps(**given):
    return lambda: pdrm.wrap(corridor(), **{"machine": COINS, "labels": shopping, **given})


@pytest.mark.parametrize(("k", "depth", "fix"), [(1, 5, "leave"), ("full", None, "height")])
def test_a_full_stack_and_only_that_has_a_depth(k, depth, fix):
    with pytest.raises(BadSetting) as error:
        wraps(k=k, depth=depth)()
    assert fix in error.value.fix


TWO = "name m\nevents A\ncounters 2\nstart u\notherwise stay 0\nu -> u : A, [-, -] / [1, 1], 0"


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (wraps(machine="leter"), UnknownMachine),
        (wraps(machine="no/such.pdrm"), CannotOpen),
        (wraps(machine=pdrm.parse(TWO)), CannotTranslate),
        (wraps(machine=7), BadSetting),
        (wraps(machine=shopping), BadSetting),
        (wraps(labels="label"), BadSetting),
        (wraps(labels={"A"}), BadSetting),
        (wraps(labels="info", labels_at_reset="x"), BadSetting),
        (wraps(remember=7), BadSetting),
        (wraps(reward_weight="none"), BadSetting),
        (wraps(reward_weight=float("inf")), BadSetting),
        (wraps(reward_weight=True), BadSetting),
        (lambda: pdrm.from_gymnasium(corridor(), shopping, reward_weight=True), BadSetting),
        (lambda: pdrm.wrap_vector([corridor], COINS, shopping, mode="threads"), BadSetting),
        (lambda: pdrm.wrap_vector([corridor], COINS, shopping, autoreset="some"), ValueError),
    ],
)
def test_arguments_that_cannot_be(call, error):
    with pytest.raises(error):
        call()


NO_MOVE = "name m\nevents A\nstack #\nstart u\notherwise error\nu -> u : A, # / #, 0"


@pytest.mark.parametrize(
    ("word", "machine", "error"),
    [
        ([None, {"A", "B"}], "letter", ImpossibleLabel),
        ([None, {"X"}], "letter", UnknownEvent),
        ([None, None], "letter", BadLabel),
        ([None, ()], NO_MOVE, UndefinedMove),
    ],
)
def test_labels_that_the_machine_cannot_read(word, machine, error):
    env = pdrm.wrap(Script([*word, A]), machine, "info")
    env.reset()
    with pytest.raises(error):
        env.step(0)


def test_a_long_vector_is_warned_of():
    picture = gymnasium.spaces.Box(0, 255, (210, 160, 3), np.uint8)
    env = gymnasium.wrappers.TransformObservation(
        Script([None, A]), lambda _: np.zeros((210, 160, 3), np.uint8), picture
    )
    with pytest.warns(TaskWarning, match="W0616"):
        pdrm.wrap(env, "letter", "info", flatten=True)
    pdrm.wrap(env, "letter", "info")


class Tells(Script):
    """An environment whose info already has an entry `machine`."""

    def step(self, action):
        *rest, info = super().step(action)
        return *rest, {**info, "machine": 1}


def test_no_entry_of_the_environments_own_info_is_hidden():
    env = pdrm.wrap(Tells([None, A, A]), "letter", "info")
    env.reset()
    with pytest.raises(CannotWrap):
        env.step(0)
