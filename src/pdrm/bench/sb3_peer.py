"""Stable-Baselines3's PPO on WaterWorld with the machine, for comparison: the same task, settings and observations as ours."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from pdrm.domains.water import WaterWorld
from pdrm.domains.water_env import WaterEnv
from pdrm.errors import MissingPackage
from pdrm.learning import agents as settings
from pdrm.product.views import TopK
from pdrm.product.wrapping import MachineEnv, wrap

try:
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv
except ImportError as error:
    raise MissingPackage("stable-baselines3 is not installed", fix="pip install 'pdrm[sb3]'") from error

SHARED = (
    *("n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda"),
    *("learning_rate", "clip_range", "ent_coef", "vf_coef", "max_grad_norm"),
)
"""Settings that have the same names on both sides."""


def water_task(world: WaterWorld) -> MachineEnv:
    """WaterWorld and its machine as one flat environment."""
    return wrap(WaterEnv(world), "water", "info", TopK(1), flatten=True)


def sb3_ppo(world: WaterWorld, chosen: settings.PPO) -> Callable[[int], None]:
    """A function that trains for so many steps more; torch on one thread, with which networks this small are fastest."""
    torch.set_num_threads(1)
    given = {name: getattr(chosen, name) for name in SHARED}
    network = {"net_arch": list(chosen.net_arch)}
    envs = DummyVecEnv([lambda: water_task(world)] * chosen.n_envs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about batches that do not divide the steps, as the paper's do not
        model = PPO("MlpPolicy", envs, policy_kwargs=network, device="cpu", seed=0, **given)

    def learn(steps: int) -> None:
        model.learn(steps, reset_num_timesteps=False)

    return learn
