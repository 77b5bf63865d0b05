"""The deep bench: what it needs to run, what it compares, and how it splits the time."""

import subprocess
import sys
from inspect import signature
from types import SimpleNamespace

import pytest
from stable_baselines3 import PPO

from benchmarks import deep
from benchmarks.deep import (
    SETTINGS,
    measure_ppo,
    water_product,
    water_task,
    water_training,
)
from pdrm.learning import agents

NOT_THERE = ("numba", "joblib", "matplotlib", "PIL", "pygraphviz", "torch", "stable_baselines3")


def test_it_can_be_recorded_where_little_is_installed():
    """As on a GPU machine that has JAX and hardly more."""
    script = f"""
import sys
sys.modules.update(dict.fromkeys({NOT_THERE}))
from benchmarks import deep
from benchmarks.__main__ import main
deep.bench_deep = lambda *_: [{{"figure": 1.0}}]
sys.argv = ["benchmarks", "deep", "--json"]
raise SystemExit(main())
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_both_sides_see_the_same():
    product, peer = water_product(), water_task()
    assert peer.observation_space.shape == (product.observation_size,)
    assert peer.action_space.n == product.domain.actions


def test_the_plain_name_is_of_the_peers_defaults():
    theirs, ours = signature(PPO).parameters, water_training(SETTINGS[""]).settings
    for name in (
        "learning_rate",
        "n_steps",
        "batch_size",
        "n_epochs",
        "gae_lambda",
        "clip_range",
        "vf_coef",
    ):
        assert getattr(ours, name) == theirs[name].default
    assert ours.discount == theirs["gamma"].default
    assert ours.n_envs == 1
    assert ours.net_arch == (64, 64)


def test_time_is_split_into_collecting_and_epochs(monkeypatch):
    """Where a step takes 3 ns and 2 ns more per epoch, that is what is found."""
    steps = 2 * deep.N_STEPS

    def training(given):
        settings = agents.PPO(**given)
        assert settings.n_envs * settings.n_steps == deep.BATCHES * settings.batch_size
        return SimpleNamespace(steps_per_iteration=steps, epochs=settings.n_epochs)

    def seconds_of(burst):
        return deep.ROUNDS * steps * (3e-9 + 2e-9 * burst())

    monkeypatch.setattr(deep, "water_training", training)
    monkeypatch.setattr(deep, "burst_of", lambda training, _iterations: lambda: training.epochs)
    monkeypatch.setattr(deep, "seconds_of", seconds_of)
    found = measure_ppo(2)
    assert found["many_ppo_collect_ns_2_envs"] == pytest.approx(3)
    assert found["many_ppo_epoch_ns_2_envs"] == pytest.approx(2)
    assert found["many_ppo_steps_per_s_2_envs_1_epochs"] == pytest.approx(1e9 / 5)
