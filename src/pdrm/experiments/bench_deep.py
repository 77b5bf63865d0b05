"""What the deep agents cost: our PPO beside Stable-Baselines3's on a CPU, and the product and PPO with many environments.

Ours and the peer's take turns in one process at identical settings; a ratio is the median over rounds. Beside the peer,
seconds are those of the processor, all threads together, so that what other programs take is not counted against either;
elsewhere they are the wall clock's.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time

from pdrm.domains.water import WaterWorld
from pdrm.errors import BadSetting
from pdrm.learning.deep.algorithm import algorithm_of, settings_of
from pdrm.learning.deep.device import on_accelerator
from pdrm.learning.deep.random_walk import random_walk
from pdrm.learning.deep.settings import PPO
from pdrm.learning.deep.training import DeepTraining
from pdrm.machines.catalogue import catalogue
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.jax_env.domain import water_domain
from pdrm.product.jax_env.product import JaxProduct, jax_product
from pdrm.product.view import TopK

Figures = dict[str, float]
Told = Callable[[str], None]
ROUNDS = 5
BESIDE = {"": {"n_envs": 1}, "_64_envs": {"n_envs": 64, "n_steps": 128, "batch_size": 2_048, "n_epochs": 4}}
"""Settings of both sides of the comparisons: SB3's own defaults; and many environments, large batches and few epochs."""
LONGEST = 3_600


def bench_deep(seconds: float, told: Told) -> Figures:
    """All figures; `seconds` is what the comparison takes, about (half of it for each side)."""
    if not 0 < seconds <= LONGEST:
        raise BadSetting(f"{seconds:g} seconds are no time to measure in", fix="use --seconds 60")
    told("random steps of environment and machine")
    figures = random_steps()
    told("PPO with many environments")
    figures |= many_environments()
    if on_accelerator():
        return figures
    for name, given in BESIDE.items():
        told(f"PPO beside Stable-Baselines3's, {given['n_envs']} environments")
        figures |= {f"{figure}{name}": value for figure, value in beside_sb3(given, seconds / len(BESIDE)).items()}
    return figures


def random_steps() -> Figures:
    """Random-policy steps of the product a second, with as many environments as fill the device."""
    n_envs, steps = (2**21, 100) if on_accelerator() else (4_096, 100)
    burst = random_walk(_product(), n_envs, steps)
    burst()
    return {"random_steps_per_s": max(n_envs * steps / _seconds(burst) for _ in range(ROUNDS))}


def many_environments() -> Figures:
    """PPO's training steps a second, with many environments and 2 and 4 epochs."""
    n_envs, batch = (2**16, 2**17) if on_accelerator() else (1_024, 8_192)
    figures: Figures = {}
    for epochs in (2, 4):
        training = _training({"n_envs": n_envs, "n_steps": 32, "batch_size": batch, "n_epochs": epochs})
        burst = _burst(training, 5)
        burst()
        speed = max(5 * training.steps_per_iteration / _seconds(burst) for _ in range(3))
        figures[f"many_ppo_steps_per_s_{epochs}_epochs"] = speed
    return figures


def beside_sb3(given: dict[str, int], seconds: float) -> Figures:
    """Training steps a second of both PPOs at the same settings, in turns."""
    from pdrm.learning.deep.sb3_water import sb3_ppo  # noqa: PLC0415 - an extra that only this needs

    training = _training(given)
    peer = sb3_ppo(WaterWorld(), PPO(**given))  # type: ignore[arg-type]
    steps = training.steps_per_iteration
    burst = _burst(training, 1)
    burst()
    peer(steps)
    turns = max(1, round(seconds / 2 / ROUNDS / max(1e-3, _seconds(burst))))
    ours, theirs = list[float](), list[float]()
    for _ in range(ROUNDS):
        theirs.append(steps / _seconds(lambda: peer(steps), process_time))
        ours.append(median(steps / _seconds(burst, process_time) for _ in range(turns)))
    ratio = median(one / other for one, other in zip(ours, theirs, strict=True))
    return {"ppo_steps_per_s": median(ours), "sb3_ppo_steps_per_s": median(theirs), "sb3_ppo_ratio": ratio}


def _product() -> JaxProduct:
    machine = catalogue("water")
    assert isinstance(machine, PushdownRewardMachine)  # noqa: S101 - it is
    return jax_product(water_domain(WaterWorld()), machine, TopK(1), depth=16)


def _training(given: dict[str, int]) -> DeepTraining:
    product, settings = _product(), settings_of("ppo", dict(given))
    return DeepTraining(algorithm_of("ppo"), lambda _: (product, settings), [0])


def _burst(training: DeepTraining, iterations: int) -> Callable[[], float]:
    return lambda: float(training.advance(iterations).losses.value[0, 0])


def _seconds(burst: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    began = clock()
    burst()
    return clock() - began
