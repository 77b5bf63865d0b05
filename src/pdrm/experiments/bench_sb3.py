"""Our PPO beside Stable-Baselines3's on WaterWorld with its machine: the same settings, task and observations, in turns.

A round trains the peer for one iteration and ours for as many as take a noticeable time. A speed is that of the best round:
other programs empty the caches, which slows the peer more than ours. Seconds are the processor's, torch and XLA have one
thread each. The peer's environment is ours on NumPy: what share of the peer's time it takes is a figure too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from statistics import median
from time import process_time as clock
from typing import Any

from pdrm.domains.water import WaterWorld
from pdrm.experiments.bench_deep import burst_of, seconds_of, water_training
from pdrm.experiments.bench_record import Figures, Told
from pdrm.learning.deep.sb3_water import sb3_ppo, task
from pdrm.learning.deep.settings import PPO

BESIDE: dict[str, dict[str, Any]] = {
    "": {"n_envs": 1},
    "_64_envs": {"n_envs": 64, "n_steps": 128, "batch_size": 2_048, "n_epochs": 4},
    "_paper": {
        "n_envs": 5,
        "n_steps": 10_000,
        "batch_size": 3_000,
        "n_epochs": 30,
        "gae_lambda": 0.9,
        "clip_range": 0.15,
        "learning_rate": 3e-6,
    },
}
"""What both sides are given. The plain name goes to what neither side chose: the peer's defaults, one environment. Then many
environments with few epochs of large batches, and the paper's settings for 17 × 17 but for `target_kl` and `clip_range_vf`."""
NOTICEABLE = 0.2
"""Seconds that ours trains for in a round, at least."""
ENV_STEPS = 2_000


def beside_sb3(seconds: float, told: Told) -> Figures:
    """Training steps a second of both, at each of the settings."""
    env_s = environment_seconds()
    figures: Figures = {"sb3_env_us": env_s * 1e6}
    for number, (name, given) in enumerate(BESIDE.items()):
        envs = f"{given['n_envs']} environment{'s' if given['n_envs'] > 1 else ''}"
        told(f"PPO beside Stable-Baselines3's, {envs}", number / len(BESIDE))
        found = compared(given, seconds / len(BESIDE))
        found["sb3_env_share"] = env_s * found["sb3_ppo_steps_per_s"]
        figures |= {f"{figure}{name}": value for figure, value in found.items()}
    return figures


def compared(given: dict[str, Any], seconds: float) -> Figures:
    """Both at these settings, in turns until the seconds are over, at least once each."""
    training = water_training(given)
    burst, peer, steps = burst_of(training, 1), _peer(given), training.steps_per_iteration
    burst()
    turns = max(1, round(NOTICEABLE / seconds_of(burst)))
    ours, theirs = list[float](), list[float]()
    began = clock()
    while not ours or clock() - began < seconds:
        theirs.append(steps / seconds_of(lambda: peer(steps)))
        ours.append(median(steps / seconds_of(burst) for _ in range(turns)))
    return {
        "ppo_steps_per_s": max(ours),
        "sb3_ppo_steps_per_s": max(theirs),
        "sb3_ppo_ratio": max(ours) / max(theirs),
        "sb3_ppo_rounds": len(ours),
    }


def _peer(given: dict[str, Any]) -> Callable[[int], None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of batches that do not divide the steps, as the paper's do not
        return sb3_ppo(WaterWorld(), PPO(**given))


def environment_seconds() -> float:
    """What a step of the peer's environment takes, the machine and the flat observation included."""
    env = task(WaterWorld())
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(ENV_STEPS)]

    def walk() -> None:
        for action in actions:
            if env.step(action)[3]:
                env.reset()

    walk()
    return min(seconds_of(walk) for _ in range(3)) / ENV_STEPS
