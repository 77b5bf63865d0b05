"""Stable-Baselines3's PPO on WaterWorld with the machine, for comparison: the same task, settings and observations as ours."""

from __future__ import annotations

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


def task(world: WaterWorld, machine: str = "water") -> MachineEnv:
    """WaterWorld and its machine as one flat environment."""
    return wrap(WaterEnv(world), machine, "info", TopK(1), flatten=True)


def sb3_ppo(world: WaterWorld, chosen: settings.PPO) -> Callable[[int], None]:
    """A function that trains for so many steps more; torch on one thread, with which networks this small are fastest."""
    torch.set_num_threads(1)
    envs = DummyVecEnv([lambda: task(world)] * chosen.n_envs)
    model = PPO(
        "MlpPolicy",
        envs,
        learning_rate=chosen.learning_rate,
        n_steps=chosen.n_steps,
        batch_size=chosen.batch_size,
        n_epochs=chosen.n_epochs,
        gamma=chosen.gamma,
        gae_lambda=chosen.gae_lambda,
        clip_range=chosen.clip_range,
        ent_coef=chosen.ent_coef,
        vf_coef=chosen.vf_coef,
        max_grad_norm=chosen.max_grad_norm,
        policy_kwargs={"net_arch": list(chosen.net_arch)},
        device="cpu",
        seed=0,
    )

    def learn(steps: int) -> None:
        model.learn(steps, reset_num_timesteps=False)

    return learn
