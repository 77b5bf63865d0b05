"""The deep bench: what it needs to run, what it compares, and how it splits the time."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from pdrm.bench import deep_bench as bench_deep
from pdrm.bench.deep_bench import BESIDE, compared, many_environments, water_product, water_training, weights
from pdrm.bench.sb3_peer import task
from pdrm.domains.water import WaterWorld
from pdrm.errors import BadSetting

NOT_THERE = ("numba", "joblib", "matplotlib", "pygraphviz", "typer", "rich", "torch", "stable_baselines3")


def test_it_can_be_loaded_where_little_is_installed():
    script = f"import sys; sys.modules.update(dict.fromkeys({NOT_THERE})); import pdrm.bench.deep_bench"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_both_sides_see_the_same():
    product, peer = water_product(), task(WaterWorld())
    assert peer.observation_space.shape == (product.observation_size,)
    assert peer.action_space.n == product.domain.actions


def test_the_plain_name_is_of_the_peers_defaults():
    from inspect import signature

    from stable_baselines3 import PPO

    theirs, ours = signature(PPO).parameters, water_training(BESIDE[""]).settings
    for name in ("learning_rate", "n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "clip_range", "vf_coef"):
        assert getattr(ours, name) == theirs[name].default
    assert ours.n_envs == 1
    assert ours.net_arch == (64, 64)


def test_a_comparison_ends_after_a_round_at_least():
    found = compared({"n_envs": 2, "n_steps": 8, "batch_size": 8, "n_epochs": 1}, 0.0)
    assert found["sb3_ppo_rounds"] == 1
    assert found["sb3_ppo_ratio"] == pytest.approx(found["ppo_steps_per_s"] / found["sb3_ppo_steps_per_s"])


def test_weights_are_those_of_the_network():
    network = water_training({"n_envs": 1, "n_steps": 8, "batch_size": 8}).state.network
    layers = (*network.hidden, network.action, network.value)
    assert weights() == sum(layer.weight.size for layer in layers)


def test_time_is_split_into_collecting_and_epochs(monkeypatch):
    """Where a step takes 3 ns and 2 ns more an epoch, that is what is found."""
    steps = 2 * bench_deep.N_STEPS

    def training(settings):
        return SimpleNamespace(steps_per_iteration=steps, epochs=settings["n_epochs"])

    def seconds_of(burst):
        return bench_deep.ROUNDS * steps * (3e-9 + 2e-9 * burst())

    monkeypatch.setattr(bench_deep, "water_training", training)
    monkeypatch.setattr(bench_deep, "burst_of", lambda training, _iterations: lambda: training.epochs)
    monkeypatch.setattr(bench_deep, "seconds_of", seconds_of)
    found = many_environments(2)
    assert found["many_ppo_collect_ns_2_envs"] == pytest.approx(3)
    assert found["many_ppo_epoch_ns_2_envs"] == pytest.approx(2)
    assert found["many_ppo_steps_per_s_2_envs_1_epochs"] == pytest.approx(1e9 / 5)


def test_no_time_to_measure_in():
    with pytest.raises(BadSetting):
        bench_deep.bench_deep(0.0, lambda *_: None)
