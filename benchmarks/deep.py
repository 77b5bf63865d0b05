"""Speed of the deep agents: environment and machine alone, PPO with many environments, and compared
with Stable-Baselines3.

All on WaterWorld with its machine. On a CPU, times are processor seconds, and pdrm's PPO takes
turns with Stable-Baselines3's, with the same settings, task and observations. On a GPU, times are
wall-clock seconds, with enough environments to use it fully and without a comparison. This needs
only NumPy, Numba, JAX, optax, Gymnasium and typer.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import Figures, OnProgress
from pdrm.domains.environments import WaterEnv
from pdrm.domains.water import WaterWorld
from pdrm.errors import MissingPackage
from pdrm.learning.agents import PPO
from pdrm.learning.deep.algorithm import Envs, action_keys, begin_envs, step_envs
from pdrm.learning.deep.deep_training import DeepTraining, make_algorithm
from pdrm.product.jax_env.jax_domain import make_key, uniforms, water_domain
from pdrm.product.jax_env.jax_product import JaxProduct, jax_product
from pdrm.product.observation import TopK
from pdrm.product.wrapping import MachineEnv, wrap
from pdrm.task import Task


class Sizes(NamedTuple):
    """Numbers of environments."""

    random: Sequence[int]
    """For random steps, without a learner."""
    ppo: Sequence[int]


ON_CPU = Sizes(random=(64, 1_024, 16_384), ppo=(64, 1_024))
ON_GPU = Sizes(random=(2**12, 2**15, 2**18, 2**20, 2**22), ppo=(2**11, 2**14, 2**16))
RANDOM_STEPS = 100
N_STEPS, BATCHES, EPOCHS = 32, 16, (1, 2, 4)
"""PPO's steps per environment between updates, batches per epoch, and numbers of epochs."""
HEADLINE = 2
"""Number of epochs of the figure `many_ppo_steps_per_s`."""
ROUNDS = 5
SETTINGS: dict[str, dict[str, Any]] = {
    "": {"n_envs": 1},
    "64_envs": {"n_envs": 64, "n_steps": 128, "batch_size": 2_048, "n_epochs": 4},
    "paper": {
        "n_envs": 5,
        "n_steps": 10_000,
        "batch_size": 3_000,
        "n_epochs": 30,
        "gae_lambda": 0.9,
        "clip_range": 0.15,
        "learning_rate": 3e-6,
    },
}
"""Settings of both libraries. The empty name: Stable-Baselines3's defaults with one environment.
Then many environments with few epochs of large batches, and the paper's settings for 17 × 17 except
`target_kl` and `clip_range_vf`."""
MIN_SECONDS = 0.2
"""Minimum training time of pdrm in a round."""
SHARED = (
    *("n_steps", "batch_size", "n_epochs", "gae_lambda"),
    *("learning_rate", "clip_range", "ent_coef", "vf_coef", "max_grad_norm"),
)
"""Settings with the same name in both libraries."""


def uses_gpu() -> bool:
    """Return True if JAX runs on an accelerator."""
    return bool(jax.default_backend() != "cpu")


def bench_deep(seconds: float, on_progress: OnProgress) -> Iterator[Figures]:
    """All figures. `seconds` is the time of the comparison with Stable-Baselines3."""
    # One thread each is fastest for small networks, and XLA's pool can hang on few cores.
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    gpu = uses_gpu()
    if not gpu and find_spec("stable_baselines3") is None:
        raise MissingPackage("stable-baselines3 is not installed", fix="pip install 'pdrm[sb3]'")
    sizes = ON_GPU if gpu else ON_CPU
    on_progress("random steps of environment and machine")
    random = {n_envs: random_speed(n_envs) for n_envs in sizes.random}
    yield {f"random_steps_per_s_{n_envs}_envs": speed for n_envs, speed in random.items()}
    headlines: list[float] = []
    for n_envs in sizes.ppo:
        on_progress(f"PPO with {n_envs:,} environments")
        figures = measure_ppo(n_envs)
        yield figures
        headlines.append(figures[f"many_ppo_steps_per_s_{n_envs}_envs_{HEADLINE}_epochs"])
    yield {
        "random_steps_per_s": max(random.values()),
        "many_ppo_steps_per_s": max(headlines),
    }
    if not gpu:
        yield from compare_sb3(seconds, on_progress)


def seconds_of(burst: Callable[[], object]) -> float:
    """Processor seconds of a call, or wall-clock seconds on a GPU."""
    clock = perf_counter if uses_gpu() else process_time
    started = clock()
    burst()
    return clock() - started


# --- Environment and machine alone, stepped by random actions


def random_speed(n_envs: int) -> float:
    """Random steps of the product per second: the best of several bursts."""
    product = water_product()
    envs = jax.jit(lambda: begin_envs(product, PPO(n_envs=n_envs, staggered=True), make_key(0)))()
    walk = jax.jit(partial(_walk, product, RANDOM_STEPS), donate_argnums=0)

    def burst() -> float:
        nonlocal envs
        envs, reward = walk(envs)
        return float(reward)  # waits for the result

    burst()
    return n_envs * RANDOM_STEPS / min(seconds_of(burst) for _ in range(ROUNDS))


def _walk(product: JaxProduct, steps: int, envs: Envs) -> tuple[Envs, jax.Array]:
    """Random steps and the sum of their rewards, which keeps the compiler from omitting them."""

    def step(envs: Envs, _: None) -> tuple[Envs, jax.Array]:
        number = jax.vmap(lambda key: uniforms(key, 1)[0])(action_keys(envs))
        stepped = step_envs(product, envs, (number * product.domain.actions).astype(jnp.int32))
        return stepped.envs, stepped.outcome.reward.sum()

    envs, rewards = jax.lax.scan(step, envs, None, length=steps)
    return envs, rewards.sum()


def water_product() -> JaxProduct:
    """WaterWorld 17 × 17 with its machine, with k = 1."""
    return jax_product(water_domain(WaterWorld()), Task("water-17").pushdown, TopK(1), depth=16)


# --- PPO with many environments


def measure_ppo(n_envs: int) -> Figures:
    """PPO's training steps per second for each number of epochs, and the times of collecting and of
    an epoch.

    The time of an epoch is the slope of the line through the times, and the time of collecting its
    intercept.
    """
    figures: Figures = {}
    times: list[float] = []
    for epochs in EPOCHS:
        batch = n_envs * N_STEPS // BATCHES
        training = water_training(
            {"n_envs": n_envs, "n_steps": N_STEPS, "batch_size": batch, "n_epochs": epochs}
        )
        burst = burst_of(training, ROUNDS)
        burst()
        seconds = min(seconds_of(burst) for _ in range(ROUNDS))
        times.append(seconds / ROUNDS / training.algorithm.settings.steps_per_iteration)
        figures[f"many_ppo_steps_per_s_{n_envs}_envs_{epochs}_epochs"] = 1 / times[-1]
    slope, intercept = np.polyfit(EPOCHS, times, 1)
    figures[f"many_ppo_collect_ns_{n_envs}_envs"] = float(intercept) * 1e9
    figures[f"many_ppo_epoch_ns_{n_envs}_envs"] = float(slope) * 1e9
    return figures


def water_training(settings: dict[str, Any]) -> DeepTraining:
    """One run of PPO on WaterWorld."""
    algorithm = make_algorithm(water_product(), PPO.like_sb3(**settings))
    return DeepTraining(lambda _: algorithm, [0])


def burst_of(training: DeepTraining, iterations: int) -> Callable[[], None]:
    """A function that trains for more iterations and waits for the result."""
    return partial(training.iterate, iterations)


# --- PPO compared with Stable-Baselines3's
#
# A round trains Stable-Baselines3 for one iteration, and pdrm for as many iterations as take
# MIN_SECONDS. A speed is that of the best round: other programs evict the caches, which slows
# Stable-Baselines3 more than pdrm. Torch and XLA have one thread each. Stable-Baselines3 uses
# pdrm's environment on NumPy.


def compare_sb3(seconds: float, on_progress: OnProgress) -> Iterator[Figures]:
    """Training steps per second of both, with each of the settings."""
    for name, settings in SETTINGS.items():
        on_progress(f"PPO and Stable-Baselines3's, environments: {settings['n_envs']}")
        figures = race_sb3(settings, seconds / len(SETTINGS))
        ending = f"_{name}" if name else ""
        yield {figure + ending: value for figure, value in figures.items()}


def race_sb3(settings: dict[str, Any], seconds: float) -> Figures:
    """Train both with these settings, in turns for the given time but at least once each."""
    training = water_training(settings)
    burst = burst_of(training, 1)
    peer = sb3_ppo(PPO.like_sb3(**settings).resolved())
    steps = training.algorithm.settings.steps_per_iteration
    burst()
    turns = max(1, round(MIN_SECONDS / seconds_of(burst)))
    ours: list[float] = []
    theirs: list[float] = []
    started = process_time()
    while not ours or process_time() - started < seconds:
        theirs.append(steps / seconds_of(lambda: peer(steps)))
        ours.append(median(steps / seconds_of(burst) for _ in range(turns)))
    return {
        "ppo_steps_per_s": max(ours),
        "sb3_ppo_steps_per_s": max(theirs),
        "sb3_ppo_ratio": max(ours) / max(theirs),
        "sb3_ppo_rounds": len(ours),
    }


def water_task() -> MachineEnv:
    """WaterWorld and its machine as one flat environment."""
    return wrap(WaterEnv(WaterWorld()), "water", "info", k=1, flatten=True)


def sb3_ppo(agent: PPO) -> Callable[[int], object]:
    """A function that trains Stable-Baselines3's PPO for more steps (torch on one thread, fastest
    for networks this small)."""
    import stable_baselines3
    import torch
    from stable_baselines3.common.vec_env import DummyVecEnv

    torch.set_num_threads(1)
    settings = {name: getattr(agent, name) for name in SHARED} | {"gamma": agent.discount}
    network = {"net_arch": list(agent.net_arch)}
    envs = DummyVecEnv([water_task] * agent.n_envs)
    with warnings.catch_warnings():
        # SB3 warns because the paper's batches do not divide the steps.
        warnings.simplefilter("ignore")
        model = stable_baselines3.PPO(
            "MlpPolicy", envs, policy_kwargs=network, device="cpu", seed=0, **settings
        )
    return partial(model.learn, reset_num_timesteps=False)
