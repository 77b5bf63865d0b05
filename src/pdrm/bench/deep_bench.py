"""What the deep agents cost: environment and machine alone, PPO with many environments, and PPO beside Stable-Baselines3's."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from time import process_time as clock
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.bench.bench_record import Figures, Told, recorded, write_record
from pdrm.domains.water import WaterWorld
from pdrm.errors import BadSetting, PdrmError
from pdrm.files import ensure_folder
from pdrm.language.loading import catalogue
from pdrm.learning.agents import PPO, Deep
from pdrm.learning.deep.deep_learner import device_name, on_accelerator
from pdrm.learning.deep.deep_training import DeepTraining, algorithm_of
from pdrm.learning.deep.many_envs import Envs, Tally, action_keys, begin_envs, step_envs, summed
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.jax_env.jax_domain import seeded, uniforms, water_domain
from pdrm.product.jax_env.jax_product import JaxProduct, jax_product
from pdrm.product.views import TopK

# --- The product stepped by random actions: what environment and machine cost without a learner.

Burst = Callable[[], float]
"""Steps some more; returns the raw returns of the episodes that ended, so that nothing can be left out."""


def random_walk(product: JaxProduct, n_envs: int, steps: int) -> Burst:
    """A function that takes `steps` random steps of each of `n_envs` environments and waits for them."""
    envs = jax.jit(lambda: begin_envs(product, Deep(n_envs=n_envs, staggered=True), seeded(0)))()
    walk = jax.jit(partial(_walked, product, steps), donate_argnums=0)

    def burst() -> float:
        nonlocal envs
        envs, gained = walk(envs)
        return float(gained)

    return burst


def _walked(product: JaxProduct, steps: int, envs: Envs) -> tuple[Envs, jax.Array]:
    def one(envs: Envs, _: None) -> tuple[Envs, Tally]:
        number = jax.vmap(lambda key: uniforms(key, 1)[0])(action_keys(envs))
        stepped = step_envs(product, envs, (number * product.domain.actions).astype(jnp.int32))
        return stepped.envs, stepped.tally

    envs, tally = jax.lax.scan(one, envs, None, length=steps)
    return envs, summed(tally).gained


# --- What the deep agents cost: environment and machine alone, PPO with many environments, and PPO beside the peer's.
#
# On a processor seconds are its own, and our PPO takes turns with Stable-Baselines3's; on a GPU they are the wall clock's, with
# as many environments as fill it and no peer. `python -m pdrm.bench.deep_bench FOLDER` writes the record where neither
# the command nor a peer is installed: it needs NumPy, JAX, optax, Gymnasium and Lark.

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
    import pdrm.bench.sb3_peer  # noqa: F401 - raises there

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
    product, settings = water_product(), PPO(**given)
    return DeepTraining(algorithm_of("ppo"), lambda _: (product, settings), [0])


def weights() -> int:
    """Weights of PPO's actor and critic on it, without biases."""
    product, hidden = water_product(), PPO().net_arch
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
    folder = ensure_folder(folder, fix="choose another folder")
    figures = bench_deep(seconds, lambda what, done: print(f"{done:4.0%} {what}", file=sys.stderr))  # noqa: T201
    command = f"python -m pdrm.bench.deep_bench FOLDER {seconds:g}"
    path = write_record(recorded(record_name(), command, figures), folder)
    sys.stdout.write(f"wrote {path} ({device_name()})\n")


# --- Our PPO beside Stable-Baselines3's on WaterWorld with its machine: the same settings, task and observations, in turns.
#
# A round trains the peer for one iteration and ours for as many as take a noticeable time. A speed is that of the best round:
# other programs empty the caches, which slows the peer more than ours. Seconds are the processor's, torch and XLA have one
# thread each. The peer's environment is ours on NumPy: what share of the peer's time it takes is a figure too.

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
    burst, peer, steps = burst_of(training, 1), _sb3_peer(given), training.steps_per_iteration
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


def _sb3_peer(given: dict[str, Any]) -> Callable[[int], None]:
    from pdrm.bench.sb3_peer import sb3_ppo

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of batches that do not divide the steps, as the paper's do not
        return sb3_ppo(WaterWorld(), PPO(**given))


def environment_seconds() -> float:
    """What a step of the peer's environment takes, the machine and the flat observation included."""
    from pdrm.bench.sb3_peer import task

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


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), *map(float, sys.argv[2:3]))
    except PdrmError as error:
        sys.exit(str(error))
