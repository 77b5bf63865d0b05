"""Every domain keeps the contract, and every registered environment passes Gymnasium's check."""

import subprocess
import sys
import warnings
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from pdrm.domains import IDS, FiniteEnv, domain, from_arrays, names
from pdrm.errors import BadArrays
from tests.contracts import check_domain


def test_contract():
    for name in names():
        check_domain(domain(name))


def test_contract_of_the_domains_that_test():
    for name in ["deliver-4-8", "paint"]:
        trained = domain(name)
        for test in trained.tests[:2]:
            check_domain(test)
            assert (test.labels, test.actions, test.state_names) == (
                trained.labels,
                trained.actions,
                trained.state_names,
            )
            assert np.array_equal(test.arrays.next, trained.arrays.next)
            assert np.array_equal(test.arrays.label, trained.arrays.label)


def test_registered_environments_pass_gymnasiums_check():
    for name in IDS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            env = gymnasium.make(name, render_mode="rgb_array")
            check_env(env.unwrapped)
        assert env.unwrapped.domain.name == IDS[name]


def test_every_domain_is_registered():
    assert list(IDS.values()) == names()


def test_numbers_are_drawn_from_the_environments_own_generator():
    before = np.random.get_state()[1].tolist()
    env = FiniteEnv("letter")
    env.reset(seed=0)
    for action in (2, 2, 3, 2):
        env.step(action)
    assert np.random.get_state()[1].tolist() == before


def test_labels_are_numbered_alike_in_every_process():
    script = (
        "from pdrm.domains import domain; print([sorted(x) for x in domain('multi-10x10').labels])"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout != b""


def small(states=2, actions=("l", "r"), labels=((), ("end",)), tests=()):
    following = [[0] * len(actions)] * states
    world = from_arrays(
        "small", following, following, labels, step_limit=5, events=("end", "a"), actions=actions
    )
    return replace(world, tests=tests)


def test_a_domain_that_tests_another_shares_its_states_actions_and_labels():
    for other in (
        {"states": 3},
        {"actions": ("l",)},
        {"actions": ("r", "l")},
        {"labels": ((), ("a",))},
        {"labels": ((), ("end",), ("a",))},
    ):
        with pytest.raises(BadArrays):
            small().check_shares(small(**other))
        with pytest.raises(BadArrays):
            small(tests=(small(), small(**other)))
        assert len(small(tests=(small(),)).tests) == 1
    with pytest.raises(BadArrays, match="number of states"):
        small().check_shares(small(states=3))
