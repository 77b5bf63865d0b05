import pickle
from collections import deque

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

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
    LongVector,
    NoTransitionTable,
    UndefinedMove,
    UnknownEvent,
    UnknownMachine,
)
from pdrm.product.observation import Window
from tests.product.tasks import COINS, Script, corridor, shopping

A, B, C = frozenset("A"), frozenset("B"), frozenset("C")


def coins_and_more(_before, _action, after, _info):
    return {"coyn"} if after == 0 else {"door"}


def test_an_unknown_event_says_where_it_came_from():
    env = pdrm.wrap(corridor(), COINS, coins_and_more)
    env.reset(seed=0)
    with pytest.raises(UnknownEvent) as raised:
        deque((env.step(0) for _ in range(100)), maxlen=0)
    said = str(raised.value)
    for part in ("`coyn`", "`coins_and_more`", "FrozenLake-v1", "at step ", "did you mean `coin`?"):
        assert part in said
    with pytest.raises(EpisodeOver):
        env.step(0)


def test_an_error_in_a_labelling_function_stays_as_it_is_and_says_where_it_was():
    def faulty(_before, _action, _after, info):
        return {info["nothing"]}

    env = pdrm.wrap(corridor(), COINS, faulty)
    env.reset(seed=0)
    with pytest.raises(KeyError) as raised:
        env.step(0)
    assert "faulty" in raised.value.__notes__[0]
    assert "at step 1 of an episode of" in raised.value.__notes__[0]
    env = pdrm.wrap(corridor(), COINS, lambda *_: set(), labels_at_reset=lambda *_: {1 / 0})
    with pytest.raises(ZeroDivisionError) as divided:
        env.reset(seed=0)
    assert "labels_at_reset" in divided.value.__notes__[0]


def test_what_info_does_not_have_is_said_in_wrap_and_in_tables():
    def compares(_before, _action, _after, info):
        return {"coin"} if info["before"] else set()

    env = pdrm.wrap(corridor(), COINS, compares)
    env.reset(seed=0)
    with pytest.raises(KeyError) as raised:
        env.step(0)
    assert "give remember=" in raised.value.__notes__[1]
    with pytest.raises(KeyError) as raised:
        pdrm.from_gymnasium(corridor(), compares)
    first, second = raised.value.__notes__
    assert "`compares` at test_wrap_errors.py" in first
    assert "for state 0, action 0, next state 0 of <" in first
    assert "`env` alone" in second
    with pytest.raises(ZeroDivisionError) as divided:
        pdrm.from_gymnasium(corridor(), lambda *_: {1 / 0})
    assert len(divided.value.__notes__) == 1
    env = pdrm.wrap(
        corridor(), COINS, lambda *step: {step[3]["befor"]}, remember=lambda env: env.unwrapped.s
    )
    env.reset(seed=0)
    with pytest.raises(KeyError) as raised:
        env.step(0)
    assert len(raised.value.__notes__) == 1


@pytest.mark.parametrize("source", ["info", "function"])
def test_an_unknown_event_at_reset(source):
    labels_at_reset = None if source == "info" else lambda _, info: info["label"]
    env = pdrm.wrap(Script([{"X"}]), "letter", "info", labels_at_reset=labels_at_reset)
    with pytest.raises(UnknownEvent, match=rf"{source}.*at reset"):
        env.reset()


def test_exclusive_events():
    env = pdrm.wrap(corridor(), COINS, lambda *_: {"coin", "pay"})
    env.reset()
    with pytest.raises(ImpossibleLabel, match="at step 1"):
        env.step(0)


def test_no_rule_and_otherwise_error():
    machine = pdrm.parse(
        "name m\nevents A\nstack # X\nstart u\notherwise error\nu -> u : A, # / X #, 0"
    )
    env = pdrm.wrap(Script([None, A, A, A]), machine, "info")
    env.reset()
    env.step(0)
    with pytest.raises(UndefinedMove, match=r"\{A\} at u, X #.*at step 2"):
        env.step(0)


@pytest.mark.parametrize(
    "returned",
    [None, "A", b"A", {"A": True}, 1, {1}, [["A"]], (x for x in "A")],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_label(returned):
    env = pdrm.wrap(Script([None, A]), "letter", lambda *_: returned)
    env.reset()
    with pytest.raises(BadLabel, match="return a set of event names"):
        env.step(0)


def test_no_label_in_info():
    env = pdrm.wrap(corridor(), "letter", "info")
    env.reset()
    with pytest.raises(BadLabel, match=r'info\["label"\]'):
        env.step(0)


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
    with pytest.raises(BadEnvironmentReward, match="step 1"):
        env.step(0)


FINISHED = "name m\nevents A\nstack #\nstart u\nfinal done\notherwise stay 0\nu -> done : "


def test_an_episode_over_before_it_begins():
    with pytest.raises(FinishedAtReset, match="`done`"):
        pdrm.wrap(Script([None]), pdrm.parse(FINISHED + "eps, # / #, 1"), "info")
    env = pdrm.wrap(Script([A, A]), pdrm.parse(FINISHED + "A, # / #, 1"), "info")
    with pytest.raises(FinishedAtReset, match="at reset"):
        env.reset()


class Talks(Script):
    def reset(self, **given):
        observation, info = super().reset(**given)
        return observation, info | {"machine": "mine"}


def test_the_entry_of_info_must_be_free():
    with pytest.raises(CannotWrap, match="`machine`"):
        pdrm.wrap(Talks([None]), "letter", "info").reset()


TWO = "name m\nevents A\ncounters 2\nstart u\notherwise stay 0\nu -> u : A, [-, -] / [1, 1], 0"


@pytest.mark.parametrize(
    ("machine", "error", "said"),
    [
        ("leter", UnknownMachine, "letter"),
        ("no/such.pdrm", CannotOpen, "no/such.pdrm"),
        (pdrm.parse(TWO), CannotTranslate, "2 counters"),
        (7, BadSetting, "7 is not a machine"),
    ],
    ids=["name", "path", "two counters", "number"],
)
def test_what_is_no_machine(machine, error, said):
    with pytest.raises(error, match=said):
        pdrm.wrap(corridor(), machine, shopping)


@pytest.mark.parametrize(
    "given", [{"labels": "label"}, {"labels": {"A"}}, {"labels": "info", "labels_at_reset": "x"}]
)
def test_what_is_no_labelling(given):
    with pytest.raises(BadSetting, match="set of events"):
        pdrm.wrap(corridor(), COINS, **given)


def test_what_is_no_environment():
    with pytest.raises(CannotWrap, match=r"gymnasium.make\('FrozenLake-v1'\)"):
        pdrm.wrap("FrozenLake-v1", COINS, shopping)
    with pytest.raises(CannotWrap, match="interface"):
        pdrm.wrap(object(), COINS, shopping)
    with pytest.raises(CannotWrap, match="shimmy"):
        pdrm.wrap(type("Old", (), {"__module__": "gym.envs.toy"})(), COINS, shopping)
    for given, fix in (
        (DummyVecEnv([corridor]), r"make_vec_env\(lambda: pdrm.wrap"),
        (Script, r"Script\(\)"),
        (corridor, r"corridor\(\)"),
    ):
        with pytest.raises(CannotWrap, match=fix):
            pdrm.wrap(given, COINS, shopping)
    with pytest.raises(NoTransitionTable, match=r"gymnasium.make\('Taxi-v4'\)"):
        pdrm.from_gymnasium("Taxi-v4", shopping)
    vector = SyncVectorEnv([corridor])
    with pytest.raises(CannotWrap, match="wrap_vector"):
        pdrm.wrap(vector, COINS, shopping)
    with pytest.raises(CannotWrap, match="wrap before vectorising"):
        pdrm.product.wrap_vector(vector, COINS, shopping)
    with pytest.raises(CannotWrap):
        pdrm.product.wrap_vector([gymnasium.make("FrozenLake-v1")], COINS, shopping)
    with pytest.raises(CannotWrap):
        pdrm.product.wrap_vector([], COINS, shopping)


def test_arguments_in_each_others_place():
    for wrong in ((COINS, corridor(), shopping), ("letter", corridor(), shopping)):
        with pytest.raises(CannotWrap, match="environment first"):
            pdrm.wrap(*wrong)
    for machine in (COINS, "letter"):
        with pytest.raises(CannotWrap, match=r"`shopping` at tasks\.py:\d+ .*\n.*labels last"):
            pdrm.wrap(corridor(), shopping, machine)


def test_two_machines_are_one_that_is_combined():
    once = pdrm.wrap(corridor(), COINS, shopping)
    for form in ({}, {"flatten": True}):
        with pytest.raises(CannotWrap, match=r"pdrm\.combine"):
            pdrm.wrap(gymnasium.wrappers.TimeLimit(once, 9), "letter", shopping, **form)
    with pytest.raises(CannotWrap) as refused:
        pdrm.wrap(once, COINS, shopping)
    assert str(once.env) in refused.value.fix
    both = pdrm.combine([COINS, pdrm.from_ltlf("F coin", events=["coin"], name="once")])
    assert pdrm.wrap(once.env, both, shopping).machine == both


@pytest.mark.parametrize("given", [{"mode": "threads"}, {"autoreset": "sometimes"}], ids=str)
def test_what_is_no_mode(given):
    with pytest.raises(BadSetting, match="use"):
        pdrm.product.wrap_vector([corridor], COINS, shopping, **given)


def test_functions_that_take_something_else_are_refused():
    with pytest.raises(BadSetting, match=r"labels\(observation, action, next_observation, info\)"):
        pdrm.wrap(corridor(), COINS, lambda _s, _a, _t: set())
    with pytest.raises(BadSetting, match=r"labels_at_reset\(observation, info\)"):
        pdrm.wrap(corridor(), COINS, shopping, labels_at_reset=lambda _observation: None)
    for remember in (7, lambda: None):
        with pytest.raises(BadSetting, match="remember"):
            pdrm.wrap(corridor(), COINS, shopping, remember=remember)
    with pytest.raises(BadSetting, match="leave `remember` out"):
        pdrm.wrap(Script([None, A]), "letter", "info", remember=lambda env: env)


@pytest.mark.parametrize("given", [{"flatten": "yes"}, {"discrete": 1}, {"flatten": None}], ids=str)
def test_what_is_no_flag(given):
    with pytest.raises(BadSetting, match="must be True or False"):
        pdrm.wrap(corridor(), COINS, shopping, **given)


@pytest.mark.parametrize(
    "given",
    [{"reward_weight": "none"}, {"reward_weight": float("inf")}, {"ignore_end": 1}],
    ids=str,
)
def test_what_is_no_weight(given):
    with pytest.raises(BadSetting, match="must be"):
        pdrm.wrap(corridor(), COINS, shopping, **given)
    with pytest.raises(BadSetting, match="must be"):
        pdrm.from_gymnasium(corridor(), shopping, **given)


def test_a_text_is_a_machine():
    assert pdrm.wrap(corridor(), pdrm.language.to_text(COINS), shopping).machine == COINS


def test_an_environment_that_fills_the_entry_of_info_in_a_step():
    class Filling(gymnasium.Wrapper):
        def step(self, action):
            *rest, info = self.env.step(action)
            return *rest, {**info, "machine": "mine"}

    env = pdrm.wrap(Filling(gymnasium.make("FrozenLake-v1")), "letter", lambda *_: set())
    env.reset(seed=0)
    with pytest.raises(CannotWrap, match="`machine` already"):
        env.step(0)
    with pytest.raises(EpisodeOver):
        env.step(0)


class Tells(gymnasium.Wrapper):
    """Adds an entry to `info`."""

    def __init__(self, env, name):
        super().__init__(env)
        self.name = name

    def step(self, action):
        *rest, info = self.env.step(action)
        return *rest, {**info, self.name: True}


def test_no_entry_of_the_environments_own_info_is_hidden():
    for name in ("env", "before"):
        env = pdrm.wrap(
            Tells(Script([None, A, A]), name), "letter", lambda *_: set(), remember=lambda _: 0
        )
        env.reset()
        with pytest.raises(CannotWrap, match=f"entry `{name}` already"):
            env.step(0)
        env = pdrm.wrap(Tells(Script([None, A, A]), name), "letter", "info")
        env.reset()
        assert env.step(0)[4][name] is True, "no function is given the environment here"
    env = pdrm.wrap(Tells(Script([None, A, A]), "is_success"), "letter", "info")
    env.reset()
    info = env.step(0)[4]
    assert (info["is_success"], info["machine"]["own_success"]) == (False, True)


@pytest.mark.parametrize("form", [{"flatten": True}, {"discrete": True}])
def test_observations_outside_of_their_space_are_refused(form):
    for add in (16, -17):
        frozen = gymnasium.make("FrozenLake-v1")
        moved = gymnasium.wrappers.TransformObservation(
            frozen, lambda seen, add=add: seen + add, frozen.observation_space
        )
        env = pdrm.wrap(moved, "letter", lambda *_: set(), **form)
        with pytest.raises(
            BadEnvironment, match=r"the observation is -?\d+, and its space Discrete\(16\)"
        ):
            env.reset(seed=0)


def test_a_later_observation_outside_of_its_space_is_refused_where_it_would_be_taken_for_another():
    class Jumps(Script):
        observation_space = gymnasium.spaces.Discrete(1)

    for form in ({"flatten": True}, {"discrete": True}):
        env = pdrm.wrap(Jumps([None, A, A]), "letter", "info", **form)
        env.reset()
        with pytest.raises(CannotWrap, match="is not in the environment's Discrete"):
            env.step(0)


def test_a_first_observation_of_another_shape_or_without_an_entry_is_refused_in_every_form():
    two = gymnasium.spaces.Box(0, 1, (2,))
    for space, seen, said in (
        (two, np.zeros(3), r"the observation has the shape \(3,\), and its space \(2,\)"),
        (gymnasium.spaces.Dict({"at": two}), {"at": np.zeros(3)}, "entry `at` has the shape"),
        (gymnasium.spaces.Dict({"at": two}), {"here": np.zeros(2)}, "has no entry `at`"),
        (gymnasium.spaces.Dict({"at": two}), np.zeros(2), "its space a dictionary"),
    ):
        for form in ({}, {"flatten": True}):
            env = pdrm.wrap(
                gymnasium.wrappers.TransformObservation(
                    Script([None, A]), lambda _, seen=seen: seen, space
                ),
                "letter",
                "info",
                **form,
            )
            with pytest.raises(BadEnvironment, match=said):
                env.reset()
    loose = gymnasium.wrappers.TransformObservation(
        Script([None, A]), lambda _: np.full(2, 1.1), two
    )
    pdrm.wrap(
        loose, "letter", "info", flatten=True
    ).reset()  # float64, and out of bounds, as many environments are


def test_what_counts_rewards_goes_outside():
    for inside in (Monitor, gymnasium.wrappers.RecordEpisodeStatistics):
        counted = gymnasium.wrappers.TimeLimit(inside(Script([None, A, A])), 9)
        with pytest.raises(
            CannotWrap,
            match=rf"{inside.__name__} inside[^\n]*\n.*outside: {inside.__name__}\(pdrm.wrap",
        ):
            pdrm.wrap(counted, "letter", "info")
    own = gymnasium.wrappers.RecordEpisodeStatistics(Script([None, A, A]), stats_key="own")
    env = gymnasium.wrappers.RecordEpisodeStatistics(pdrm.wrap(own, "letter", "info"))
    env.reset()
    env.step(0)
    info = env.step(0)[4]
    assert info["own"]["r"] == 1
    assert info["episode"]["r"] == pytest.approx(1 - 0.02), "the machine takes 0.01 for each step"


def test_why_there_is_no_episode_to_step_in():
    env = pdrm.wrap(Script([None, A, B, C, C]), "letter", "info")
    with pytest.raises(EpisodeOver, match="no episode has begun"):
        env.step(0)
    env.reset()
    for _ in range(4):
        env.step(0)
    with pytest.raises(EpisodeOver, match="the machine reached its final state `u2`, at step 4"):
        env.step(0)
    env = pdrm.wrap(Script([None, A]), "letter", "info")
    env.reset()
    env.step(0)
    with pytest.raises(EpisodeOver, match="the environment terminated, at step 1"):
        env.step(0)
    env = pdrm.wrap(Script([None, {"Z"}, A]), "letter", "info")
    env.reset()
    with pytest.raises(UnknownEvent):
        env.step(0)
    with pytest.raises(EpisodeOver, match="an error broke it off"):
        env.step(0)


def test_what_others_call_the_configuration_is_answered():
    env = pdrm.wrap(Script([None, A]), "letter", "info")
    env.reset()
    assert (env.configuration.state, env.configuration.stack) == ("u0", ("#",))
    for name in ("machine_state", "stack", "state"):
        with pytest.raises(AttributeError, match=r"env\.configuration\."):
            getattr(env, name)
    assert env.get_wrapper_attr("word") == [None, A], "the environment's own is found as before"
    assert not hasattr(env, "word")


def test_a_long_vector_is_warned_of():
    picture = gymnasium.spaces.Box(0, 255, (210, 160, 3), np.uint8)
    env = gymnasium.wrappers.TransformObservation(
        Script([None, A]), lambda _: np.zeros((210, 160, 3), np.uint8), picture
    )
    with pytest.warns(LongVector, match=r"100,8\d\d numbers[^\n]*\n.*MultiInputPolicy"):
        pdrm.wrap(env, "letter", "info", flatten=True)
    pdrm.wrap(env, "letter", "info")


def test_numbers_are_not_made_of_vectors():
    box = gymnasium.wrappers.TransformObservation(
        Script([A]), lambda _: [0.0], gymnasium.spaces.Box(0, 1, (1,))
    )
    with pytest.raises(CannotWrap, match="flatten=True"):
        pdrm.wrap(box, "letter", "info", discrete=True)


def test_numbers_outside_of_their_space_are_refused_and_others_have_their_bit():
    class Dials(Script):
        observation_space = gymnasium.spaces.MultiDiscrete([3, 2])

        def reset(self, **given):
            return np.array(self.ends), super().reset(**given)[1]

    seen = pdrm.wrap(Dials([A], (2, 1)), "letter", "info", flatten=True).reset()[0]
    assert seen[:5].tolist() == [0, 0, 1, 0, 1]
    with pytest.raises(CannotWrap, match="is not in the environment's MultiDiscrete"):
        pdrm.wrap(Dials([A], (2, 2)), "letter", "info", flatten=True).reset()


def test_an_observation_that_cannot_be_read_is_not_blamed_on_the_labelling():
    class Odd(Script):
        observation_space = gymnasium.spaces.Box(0, 1, (1,))

        def reset(self, **given):
            return "odd" if self.ends == "reset" else [0.5], super().reset(**given)[1]

        def step(self, action):
            return "odd", *super().step(action)[1:]

    with pytest.raises(BadEnvironment, match="shape") as caught:
        pdrm.wrap(Odd([A, A], "reset"), "letter", "info", flatten=True).reset()
    assert "label" not in str(caught.value)
    env = pdrm.wrap(Odd([A, A]), "letter", "info", flatten=True)
    env.reset()
    with pytest.raises(CannotWrap, match="the observation odd is not in") as caught:
        env.step(0)
    assert not getattr(caught.value, "__notes__", [])


def test_what_is_no_view_is_refused():
    with pytest.raises(BadSetting, match="is not a view of the stack"):
        Window(COINS, "top")


class Nothing(gymnasium.Env):
    """An environment of which parts are missing or old."""

    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)


class Plays(Nothing):
    began, moved = (0, {}), (0, 0.0, False, False, {})

    def __init__(self, **told):
        vars(self).update(told)

    def reset(self, **_given):
        return self.began

    def step(self, _action):
        return self.moved


class Unseeded(Plays):
    def reset(self):
        return self.began


class Stumbles(Plays):
    def reset(self, **_given):
        return len(self.began[0])


def test_environments_that_do_not_keep_to_gymnasiums_interface():
    def wrap(env):
        return pdrm.wrap(env, "letter", lambda *_: set())

    with pytest.raises(
        BadEnvironment, match=r"has no `reset` of its own\n.*return observation, \{\}"
    ):
        wrap(Nothing())
    for name in ("observation_space", "action_space"):
        with pytest.raises(BadEnvironment, match=f"has no `{name}`"):
            wrap(gymnasium.wrappers.TimeLimit(Plays(**{name: None}), 9))
    for began, said in (
        (None, "returned None"),
        (0, "only an observation"),
        ((0, 1), "something else"),
    ):
        with pytest.raises(
            BadEnvironment,
            match=rf"`reset` of .*Plays.*{said}; Gymnasium's returns \(observation, info\)",
        ):
            wrap(Plays(began=began)).reset()
    with pytest.raises(
        BadEnvironment, match=r"`reset` of .*Unseeded.* does not take `seed`[^\n]*\n.*shimmy"
    ):
        wrap(gymnasium.wrappers.TimeLimit(Unseeded(), 9)).reset(seed=1)
    with pytest.raises(TypeError, match="len"):
        wrap(Stumbles()).reset()
    for moved, said in (
        ((0, 0.0, False, {}), r"returned 4 values; .*\n.*`done` of the old Gym is `terminated`"),
        (None, "returned None"),
        ((0, 0.0, False, False, None), "the info of"),
    ):
        env = wrap(Plays(moved=moved))
        env.reset()
        with pytest.raises(BadEnvironment, match=said):
            env.step(0)
        with pytest.raises(EpisodeOver):
            env.step(0)
    env = wrap(Plays(moved=(0, None, False, False, {})))
    env.reset()
    with pytest.raises(BadEnvironmentReward, match="paid None"):
        env.step(0)


def test_one_environment_wrapped_twice_plays_one_episode_at_a_time():
    base = corridor()
    first, second = (
        pdrm.wrap(base, COINS, shopping),
        pdrm.wrap(gymnasium.wrappers.TimeLimit(base, 9), COINS, shopping),
    )
    first.reset(seed=0)
    first.step(0)
    second.reset(seed=0)
    with pytest.raises(
        EpisodeOver,
        match=r"another machine on the same environment[^\n]*\n.*make an environment for each",
    ):
        first.step(0)
    second.step(0)
    first.reset(seed=0)
    copied = pickle.loads(pickle.dumps(first))
    copied.step(0)
    second.reset(seed=0)
    copied.step(0)
    with pytest.raises(CannotWrap, match="same environment"):
        pdrm.wrap_vector([lambda: base] * 2, COINS, shopping)
