import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pdrm
from pdrm.errors import BadSetting, CannotWrap, StackTooHigh
from tests.product.tasks import COINS, TRIP, Room, Script, corridor, shopping, watch_room

A = frozenset("A")


def test_the_dictionary():
    env = pdrm.wrap(corridor(), COINS, shopping, k=2)
    assert env.observation_space == spaces.Dict(
        [
            ("observation", spaces.Discrete(3)),
            ("machine", spaces.Discrete(4)),
            ("stack", spaces.MultiDiscrete([3, 3])),
        ]
    )
    assert str(env.reset(seed=0)[0]) == "{'observation': 1, 'machine': 0, 'stack': array([1, 0])}"
    assert set(pdrm.wrap(corridor(), COINS, shopping, k=0).reset()[0]) == {"observation", "machine"}


ENVIRONMENTS = ["FrozenLake-v1", "Blackjack-v1", "CartPole-v1", "MountainCarContinuous-v0"]


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_flat_is_what_gymnasium_makes_of_the_dictionary(name, k):
    plain = pdrm.wrap(gymnasium.make(name), COINS, lambda *_: {"coin"}, k)
    flat = pdrm.wrap(gymnasium.make(name), COINS, lambda *_: {"coin"}, k, flatten=True)
    assert flat.observation_space.dtype == np.float32
    plain.action_space.seed(1)
    pairs = [(plain.reset(seed=4)[0], flat.reset(seed=4)[0])]
    for _ in range(3):
        action = plain.action_space.sample()
        one, other = plain.step(action), flat.step(action)
        pairs.append((one[0], other[0]))
        if one[2]:
            break
    for observation, vector in pairs:
        assert observation in plain.observation_space
        assert vector in flat.observation_space
        expected = spaces.flatten(plain.observation_space, observation).astype(np.float32)
        np.testing.assert_array_equal(vector, expected)


def test_a_full_stack_has_a_depth():
    env = pdrm.wrap(Script([None, A, A, A, A]), "letter", "info", k="full", depth=4)
    assert env.reset()[0]["stack"].tolist() == [1, 0, 0, 0]
    for expected in ([2, 1, 0, 0], [2, 2, 1, 0], [2, 2, 2, 1]):
        assert env.step(0)[0]["stack"].tolist() == expected
    with pytest.raises(StackTooHigh, match=r"5 symbols.*4 slots"):
        env.step(0)


@pytest.mark.parametrize(
    "settings",
    [
        {"k": "full"},
        {"k": "full", "depth": 0},
        {"k": "full", "depth": True},
        {"k": 1, "depth": 3},
        {"k": "whole"},
        {"k": pdrm.product.TopK(1)},
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(settings):
    with pytest.raises(BadSetting, match="fix:"):
        pdrm.wrap(corridor(), COINS, shopping, **settings)


@pytest.mark.parametrize("settings", [{}, {"flatten": True}], ids=str)
def test_observations_are_the_callers_own(settings):
    env = pdrm.wrap(Script([None, A, A, A]), "letter", "info", **settings)
    first = env.reset()[0]
    array = first if settings else first["stack"]
    array[:] = 9
    again = env.reset()[0]
    assert (again if settings else again["stack"]).max() < 9


def test_entries_of_a_dictionary_are_kept_next_to_the_machines():
    env = pdrm.wrap(Room(), TRIP, watch_room)
    assert list(env.observation_space) == [
        "body/speed",
        "direction",
        "image",
        "machine",
        "stack",
    ], "texts are left out"
    seen = env.reset(seed=0)[0]
    assert seen in env.observation_space
    assert (seen["direction"], seen["machine"], seen["stack"].tolist(), seen["image"].shape) == (
        0,
        0,
        [1],
        (2, 2, 1),
    )
    told = pdrm.wrap(Room(), TRIP, watch_room, keys=["mission", "direction"])
    assert list(told.observation_space) == ["mission", "direction", "machine", "stack"]
    assert told.reset(seed=0)[0]["mission"] == "go home"
    assert list(pdrm.wrap(Room(), TRIP, watch_room, keys="image").observation_space) == [
        "image",
        "machine",
        "stack",
    ]


class Taken(Room):
    observation_space = spaces.Dict({"machine": spaces.Discrete(2)})


class Wordy(Room):
    observation_space = spaces.Dict(
        {"mission": spaces.Text(3), "words": spaces.Sequence(spaces.Discrete(2))}
    )


def test_entries_that_cannot_be_seen():
    with pytest.raises(CannotWrap, match="`machine` already"):
        pdrm.wrap(Taken(), TRIP, watch_room)
    with pytest.raises(CannotWrap, match="no entry"):
        pdrm.wrap(Wordy(), TRIP, watch_room)
    with pytest.raises(CannotWrap, match="cannot be flattened"):
        pdrm.wrap(Wordy(), TRIP, watch_room, keys=["words"], flatten=True)
    with pytest.raises(BadSetting, match="did you mean `image`"):
        pdrm.wrap(Room(), TRIP, watch_room, keys=["imag"])
