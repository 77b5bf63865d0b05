"""User domains from a map, from arrays and from Gymnasium's tables, and their errors."""

import gymnasium
import numpy as np
import pytest

from pdrm import wrap
from pdrm.domains import (
    FiniteEnv,
    Outcome,
    Start,
    from_arrays,
    from_gymnasium,
    from_outcomes,
    grid_domain,
    parse_map,
    read_map,
)
from pdrm.domains.finite_domain import Picture, Scene
from pdrm.errors import (
    BadArrays,
    BadDomainSetting,
    BadSetting,
    NoStart,
    NoTransitionTable,
    RaggedMap,
    TooLarge,
    UnknownPlace,
    UnreachablePlace,
)
from tests.contracts import check_domain
from tests.domains.walks import walk, words

KITCHEN = "// a comment\n@.c\n#.t\n"


def kitchen(**options):
    grid = parse_map(KITCHEN, places="ct")
    return grid_domain("kitchen", grid, {"c": "coffee", "t": "tea"}, step_limit=30, **options)


def test_own_map_keeps_the_contract(tmp_path):
    file = tmp_path / "kitchen.txt"
    file.write_text(KITCHEN)
    grid = read_map(file, places="ct")
    check_domain(
        grid_domain("kitchen", grid, {"c": "coffee", "t": "tea"}, step_limit=30, directions=True)
    )


def test_what_a_map_emits():
    for options, heard in [
        ({}, ["", "coffee", ""]),
        ({"directions": True}, ["r", "r+coffee", "r"]),
        ({"standing": True}, ["", "coffee", "coffee"]),
        ({"directions": True, "bump": ()}, ["r", "r+coffee", ""]),
        ({"bump": ("ouch",)}, ["", "coffee", "ouch"]),
    ]:
        assert words(walk(kitchen(**options), "rrr")[0]) == heard


def test_step_reward_and_start_label():
    world = kitchen(step_reward=-1.0, start_labels=[frozenset({"go"})])
    labels, paid = walk(world, "rr")
    assert (words(labels), paid) == (["go", "", "coffee"], -2.0)


def test_faulty_maps():
    for text, error, where in [
        ("@.?", UnknownPlace, "<map>:1:3"),
        ("@..", UnknownPlace, "has no `c`"),
        ("..c", NoStart, "<map>:1:1"),
        ("@.c\n..", RaggedMap, "<map>:2:3"),
        ("@.c\n....", RaggedMap, "<map>:2:4"),
        ("", RaggedMap, "no map"),
        ("// a wall between\n@#c", UnreachablePlace, "<map>:2:3"),
        ("@c" + "." * 250_000, TooLarge, "at most .* cells"),
    ]:
        with pytest.raises(error, match=where):
            parse_map(text, places="c")


def test_own_arrays_keep_the_contract():
    check_domain(
        from_arrays(
            "drift",
            next=[[[0, 1]], [[1, 0]]],
            label=[[[0, 1]], [[0, 0]]],
            labels=[(), ("moved",)],
            probability=[[[0.25, 0.75]], [[1.0, 0.0]]],
            start={0: 0.5, 1: 0.5},
            step_limit=20,
        )
    )


SOUND = {
    "next": [[0, 1], [0, 1]],
    "label": [[0, 1], [0, 0]],
    "labels": [(), ("end",)],
    "step_limit": 10,
}


def test_faulty_arrays():
    for change, message in [
        ({"next": [[0, 2], [0, 1]]}, "next is 2 at state 0, action 1, outcome 0"),
        ({"label": [[0, 1], [0, 7]]}, "label is 7 at state 1, action 1, outcome 0"),
        ({"reward": [[0, 1], [float("nan"), 0]]}, "reward is nan at state 1, action 0, outcome 0"),
        ({"reward": float("inf")}, "reward is inf at state 0, action 0, outcome 0"),
        ({"probability": [[1, 0.5], [1, 1]]}, "sum of probability is 0.5 at state 0, action 1"),
        ({"probability": [[1, 1], [1, -1]]}, "probability is -1.0 at state 1, action 1, outcome 0"),
        ({"probability": [[1, 1]]}, "`probability` is"),
        ({"next": [[[0, 1], [0, 1]], [[0, 1], [0, 1]]]}, "`label` is"),
        ({"next": [[0, 0.5], [0, 1]]}, "`next` is"),
        ({"next": "no"}, "`next` is"),
        ({"start": 5}, "start_state is 5 at start 0"),
        ({"start": {0: 0.5}}, "sum of start_probability is 0.5"),
        ({"start": {}}, "0 starts"),
        ({"start_label": 4}, "start_label is 4 at start 0"),
        ({"terminal": [True]}, "`terminal` is"),
        ({"events": ["other"]}, "label 1 contains .*`end`"),
        ({"events": ["end", "end"]}, "an event twice"),
        ({"labels": [("end",), ("end",)]}, "a label twice"),
        ({"actions": ["only"]}, "shape"),
    ]:
        with pytest.raises(BadArrays, match=message):
            from_arrays("faulty", **(SOUND | change))


def entering(places):
    """A labelling function that names some of the entered states."""
    return lambda *step: {places[step[2]]} if step[2] in places else set()


LAKE = {5: "hole", 7: "hole", 11: "hole", 12: "hole", 15: "goal"}


def test_frozen_lake():
    env = gymnasium.make("FrozenLake-v1")
    lake = from_gymnasium(env, entering(LAKE))
    check_domain(lake)
    assert (lake.name, lake.states, lake.step_limit) == ("FrozenLake-v1", 16, 100)
    assert np.flatnonzero(lake.arrays.terminal).tolist() == sorted(LAKE)
    assert lake.arrays.probability[0, 0].tolist() == pytest.approx([1 / 3] * 3)
    assert lake.arrays.start_state.tolist() == [0]
    assert lake.events == ("goal", "hole")
    named = from_gymnasium(
        env, entering(LAKE), name="pond", state_names=[f"tile {n}" for n in range(16)]
    )
    assert (named.name, named.describe(15)) == ("pond", "tile 15")
    with pytest.raises(BadDomainSetting, match="16 states"):
        from_gymnasium(env, entering(LAKE), state_names=["a", "b"])


def test_taxi_without_its_own_reward_and_end():
    env = gymnasium.make("Taxi-v4")
    bare = from_gymnasium(env, lambda *_: set())
    taxi = from_gymnasium(
        env, lambda *_: set(), reward_weight=0, ignore_end=True, state_names=lambda s: f"taxi {s}"
    )
    check_domain(taxi)
    assert (taxi.arrays.reward.any(), taxi.arrays.terminal.any(), taxi.describe(499)) == (
        False,
        False,
        "taxi 499",
    )
    np.testing.assert_array_equal(taxi.arrays.next[:, :5], bare.arrays.next[:, :5])
    half = from_gymnasium(env, lambda *_: set(), reward_weight=0.5)
    np.testing.assert_array_equal(half.arrays.reward, bare.arrays.reward / 2)
    seen = []
    from_gymnasium(env, lambda *step: seen.append(step[3]["env"] is env) or ())
    assert all(seen)


def test_cliff_walking():
    env = gymnasium.make("CliffWalking-v1")
    cliff = from_gymnasium(env, entering({47: "goal"}), step_limit=50, actions=["u", "r", "d", "l"])
    check_domain(cliff)
    assert words(walk(cliff, "u" + "r" * 11 + "d")[0])[-1] == "goal"
    assert walk(cliff, "u" + "r" * 11 + "d")[1] == -13
    assert walk(cliff, "r")[1] == -100


class Tabled(gymnasium.Env):
    """Two states. The second ends the episode when it is left, not when it is entered."""

    def __init__(self, table):
        self.P = table
        self.observation_space = self.action_space = gymnasium.spaces.Discrete(2)


LEAVING = {0: {0: [(1.0, 1, 0.0, False)]}, 1: {0: [(1.0, 1, 5.0, True)]}}


def test_a_state_that_ends_only_on_one_way_in_gets_a_copy():
    world = from_gymnasium(Tabled(LEAVING), entering({}), step_limit=9, start={0: 1.0})
    assert world.states == 3
    assert world.arrays.next[:, 0, 0].tolist() == [1, 2, 2]
    assert world.arrays.terminal.tolist() == [False, False, True]
    assert world.describe(2) == "1, ended"


def stop_or_stay(_state, action):
    return [Outcome("s", terminal=action == 1, label=frozenset({"stop"} if action == 1 else ()))]


def test_an_action_that_ends_the_episode_does_not_end_it_for_the_others():
    picture = Picture((Scene(("..",)),), (0,), ((0, 1),))
    world = from_outcomes(
        "door",
        {"s": "here"},
        "ab",
        stop_or_stay,
        [Start("s")],
        events=["stop"],
        step_limit=3,
        picture=picture,
    )
    check_domain(world)
    assert world.state_names == ("here", "here, ended")
    assert world.arrays.terminal.tolist() == [False, True]
    assert world.arrays.next[:, :, 0].tolist() == [[0, 1], [1, 1]]
    assert world.picture == Picture((Scene(("..",)),), (0, 0), ((0, 1), (0, 1)))
    env = FiniteEnv(world)
    for action, ended in ((0, False), (1, True)):
        env.reset(seed=0)
        assert env.step(action)[2] is ended


def test_what_stands_around_a_table_is_not_lost_without_a_word():
    lake = gymnasium.make("FrozenLake-v1")
    watched = wrap(lake, "letter", lambda *_: set())
    for env in (
        gymnasium.wrappers.TransformReward(lake, lambda paid: 2 * paid),
        watched,
        gymnasium.wrappers.TimeLimit(watched, 9),
    ):
        with pytest.raises(BadDomainSetting):
            from_gymnasium(env, entering({}))
    statistics = gymnasium.wrappers.RecordEpisodeStatistics(lake)
    assert from_gymnasium(statistics, entering({})).step_limit == 100


FAR = {0: {0: [(1.0, 7, 0.0, True)]}}


@pytest.mark.parametrize(
    ("env", "error", "given"),
    [
        (gymnasium.make("CartPole-v1"), NoTransitionTable, {}),
        (Tabled({0: {}}), NoTransitionTable, {}),
        (Tabled({0: {0: [(1.0, 0)]}}), NoTransitionTable, {}),
        (Tabled({"a": {}}), NoTransitionTable, {}),
        (Tabled(FAR), BadArrays, {"start": {0: 1.0}}),
        (Tabled(LEAVING), BadArrays, {"start": {4: 1.0}}),
        (Tabled(LEAVING), BadSetting, {"labels": "info"}),
        (Tabled(LEAVING), BadDomainSetting, {}),
        (gymnasium.make("CliffWalking-v1"), BadDomainSetting, {"step_limit": None}),
    ],
)
def test_environments_that_cannot_be_read(env, error, given):
    with pytest.raises(error):
        from_gymnasium(env, **{"labels": entering({}), "step_limit": 9, **given})
