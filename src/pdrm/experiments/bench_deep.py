"""What the deep agents cost: environment and machine alone, PPO with many environments, and PPO beside the peer's.

On a processor seconds are its own, and our PPO takes turns with Stable-Baselines3's; on a GPU they are the wall clock's, with
as many environments as fill it and no peer. `python -m pdrm.experiments.bench_deep FOLDER` writes the record where neither
the command nor a peer is installed: it needs NumPy, JAX, optax, Gymnasium and Lark.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

from pdrm.domains.water import WaterWorld
from pdrm.errors import BadSetting, PdrmError
from pdrm.experiments.bench_record import Figures, Told, recorded, write_record
from pdrm.files.folder import made
from pdrm.learning.deep.algorithm import algorithm_of, settings_of
from pdrm.learning.deep.device import device_name, on_accelerator
from pdrm.learning.deep.random_walk import random_walk
from pdrm.learning.deep.training import DeepTraining
from pdrm.machines.catalogue import catalogue
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.jax_env.domain import water_domain
from pdrm.product.jax_env.product import JaxProduct, jax_product
from pdrm.product.view import TopK

Clock = Callable[[], float]


class Sizes(NamedTuple):
    """Numbers of environments to measure with."""

    random: Sequence[int]
    """Without a learner."""
    ppo: Sequence[int]


ON_CPU = Sizes(random=(64, 1_024, 16_384), ppo=(64, 1_024))
ON_GPU = Sizes(random=(2**12, 2**15, 2**18, 2**20, 2**22), ppo=(2**11, 2**14, 2**16))
RANDOM_STEPS = 100
N_STEPS, BATCHES, EPOCHS = 32, 16, (1, 2, 4)
"""PPO's steps of each environment between updates, batches an epoch, and the numbers of epochs that are tried."""
HEADLINE = 2
"""The number of epochs that `many_ppo_steps_per_s` is of."""
ROUNDS = 5
LONGEST = 3_600


def bench_deep(seconds: float, told: Told) -> Figures:
    """All figures; `seconds` is what the comparison with the peer takes, about."""
    if not 0 < seconds <= LONGEST:
        raise BadSetting(f"{seconds:g} seconds are no time to measure in", fix="use --seconds 20")
    # One thread each: networks this small are fastest so, and XLA's pool can stall on machines with few cores.
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    gpu = on_accelerator()
    peer = None if gpu else _peer()
    sizes, share = (ON_GPU, 0.5) if gpu else (ON_CPU, 0.25)
    told("random steps of environment and machine", 0.0)
    figures = random_steps(sizes.random)
    for number, n_envs in enumerate(sizes.ppo):
        told(f"PPO with {n_envs:,} environments", share * (1 + number / len(sizes.ppo)))
        figures |= many_environments(n_envs)
    figures["ppo_weights"] = weights()
    figures["many_ppo_steps_per_s"] = max(figures[_speed(n_envs, HEADLINE)] for n_envs in sizes.ppo)
    return figures if peer is None else figures | peer(seconds, lambda what, done: told(what, 0.5 + 0.5 * done))


def _peer() -> Callable[[float, Told], Figures]:
    """The comparison, loaded before anything is measured: it says what to install where the peer is missing."""
    from pdrm.experiments.bench_sb3 import beside_sb3  # noqa: PLC0415 - an extra that only a processor's bench needs

    return beside_sb3


def random_steps(numbers: Sequence[int]) -> Figures:
    """Random-policy steps of the product a second, by the number of environments, and the most of them."""
    figures: Figures = {}
    for n_envs in numbers:
        burst = random_walk(water_product(), n_envs, RANDOM_STEPS)
        burst()
        taken = min(seconds_of(burst) for _ in range(ROUNDS))
        figures[f"random_steps_per_s_{n_envs}_envs"] = n_envs * RANDOM_STEPS / taken
    return figures | {"random_steps_per_s": max(figures.values())}


def many_environments(n_envs: int) -> Figures:
    """PPO's training steps a second by the epochs, and from these where the time goes: nanoseconds a step.

    What an epoch costs is the slope of the line through the times, what collecting costs is where that line begins.
    """
    figures: Figures = {}
    taken = []
    for epochs in EPOCHS:
        batch = n_envs * N_STEPS // BATCHES
        settings = {"n_envs": n_envs, "n_steps": N_STEPS, "batch_size": batch, "n_epochs": epochs}
        training = water_training(settings)
        burst = burst_of(training, ROUNDS)
        burst()
        taken.append(min(seconds_of(burst) for _ in range(ROUNDS)) / ROUNDS / training.steps_per_iteration)
        figures[_speed(n_envs, epochs)] = 1 / taken[-1]
    slope, begin = np.polyfit(EPOCHS, taken, 1)
    return figures | {
        f"many_ppo_collect_ns_{n_envs}_envs": float(begin) * 1e9,
        f"many_ppo_epoch_ns_{n_envs}_envs": float(slope) * 1e9,
    }


def _speed(n_envs: int, epochs: int) -> str:
    return f"many_ppo_steps_per_s_{n_envs}_envs_{epochs}_epochs"


def water_product() -> JaxProduct:
    """WaterWorld 17 × 17 with its machine, seen through the top symbol."""
    machine = catalogue("water")
    assert isinstance(machine, PushdownRewardMachine)  # noqa: S101 - it is
    return jax_product(water_domain(WaterWorld()), machine, TopK(1), depth=16)


def water_training(given: dict[str, Any]) -> DeepTraining:
    """One run of PPO on it."""
    product, settings = water_product(), settings_of("ppo", dict(given))
    return DeepTraining(algorithm_of("ppo"), lambda _: (product, settings), [0])


def weights() -> int:
    """Weights of PPO's actor and critic on it, without biases."""
    product, hidden = water_product(), settings_of("ppo", {}).net_arch
    inside = sum(before * after for before, after in pairwise((product.observation_size, *hidden)))
    return int(2 * inside + hidden[-1] * (product.domain.actions + 1))


def burst_of(training: DeepTraining, iterations: int) -> Callable[[], float]:
    """A function that trains for so many iterations more, and waits for them."""
    return lambda: float(training.advance(iterations).losses.value[0, 0])


def seconds_of(burst: Callable[[], object]) -> float:
    """How long it takes: by the processor's clock, or by that on the wall where a GPU does the work."""
    clock: Clock = perf_counter if on_accelerator() else process_time
    began = clock()
    burst()
    return clock() - began


def record_name() -> str:
    """What the record of this device is called."""
    return "deep-gpu" if on_accelerator() else "deep-cpu"


def main(folder: Path, seconds: float = 20.0) -> None:
    """Measure and write the record."""
    folder = made(folder, fix="choose another folder")
    figures = bench_deep(seconds, lambda what, done: print(f"{done:4.0%} {what}", file=sys.stderr))  # noqa: T201
    command = f"python -m pdrm.experiments.bench_deep FOLDER {seconds:g}"
    path = write_record(recorded(record_name(), command, figures), folder)
    sys.stdout.write(f"wrote {path} ({device_name()})\n")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), *map(float, sys.argv[2:3]))
    except PdrmError as error:
        sys.exit(str(error))
