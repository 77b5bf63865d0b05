"""Stable-Baselines3's DQN and PPO with and without reward shaping, on the task of their page.

    python examples/shaped_sb3.py --seeds 3     both agents, four scales: five minutes of one core

Prints a line for each run: the agent, the scale of the potential (0: not shaped), the seed, and the
steps before the first evaluation that solved the task. Evaluations report the true return, because
the shaping is outside of `Monitor`.
"""

import argparse
from typing import Any

import gymnasium
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

import pdrm

TASK = """
name      nested
events    a b goal
exclusive a b goal
stack     # a b
start     none
final     home
otherwise stay 0
for one in a b:
    none -> half : one, # / one #, 0
    back -> back : one, one / eps, 1
    for other in a b where other != one:
        half -> full : other, one / other one, 0
full -> back : goal, z / z, 1
back -> home : eps, # / #, 1
"""
PLACES = {2: "a", 8: "b", 10: "goal"}
SCALES = (0.0, 1.0, 0.3, 0.1)
STEPS = {"dqn": (15_000, 1_000), "ppo": (40_960, 5_120)}
"""Steps of training, and between two evaluations."""


def events(_before: int, _action: int, after: int, _info: dict[str, Any]) -> set[str]:
    """The landmark reached, if any."""
    return {PLACES[after]} if after in PLACES else set()


def make_env() -> gymnasium.Env[Any, Any]:
    """FrozenLake with the task."""
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    return pdrm.wrap(lake, TASK, events, k=2, flatten=True, reward_weight=0)


def make_agent(name: str, scale: float, seed: int) -> BaseAlgorithm:
    """DQN or PPO, shaped if the scale is not 0."""
    discount = 0.95 if name == "ppo" else 0.9
    outside: dict[str, Any] = {}
    if scale:
        shaping = pdrm.product.Shaping(discount=discount, scale=scale)
        outside = {"wrapper_class": pdrm.product.Shaped, "wrapper_kwargs": {"shaping": shaping}}
    envs = make_vec_env(make_env, n_envs=8 if name == "ppo" else 1, seed=seed, **outside)
    shared: dict[str, Any] = {
        "gamma": discount,
        "learning_rate": 1e-3,
        "seed": seed,
        "device": "cpu",
    }
    if name == "ppo":
        return PPO("MlpPolicy", envs, n_steps=128, batch_size=256, ent_coef=0.05, **shared)
    return DQN(
        "MlpPolicy",
        envs,
        learning_starts=500,
        batch_size=64,
        target_update_interval=500,
        exploration_fraction=0.8,
        exploration_final_eps=0.1,
        **shared,
    )


def find_solved(name: str, scale: float, seed: int, steps: int, every: int) -> int | None:
    """The steps before the first greedy evaluation that solved the task."""
    agent = make_agent(name, scale, seed)
    envs = make_vec_env(make_env)
    solved = []

    def evaluate(_local: dict[str, Any], _global: dict[str, Any]) -> bool:
        if agent.num_timesteps % every == 0:
            mean_return, _ = evaluate_policy(agent, envs, n_eval_episodes=1)
            if mean_return == 4:
                solved.append(agent.num_timesteps)
        return not solved

    agent.learn(steps, callback=evaluate)
    return solved[0] if solved else None


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent", nargs="+", choices=list(STEPS), default=list(STEPS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, help="fewer training steps, for a quick try")
    options = parser.parse_args()
    torch.set_num_threads(1)  # fastest for networks this small
    for name in options.agent:
        steps, every = STEPS[name]
        for scale in SCALES:
            for seed in range(options.seeds):
                first = find_solved(name, scale, seed, options.steps or steps, every)
                print(f"{name}, scale {scale:g}, seed {seed}: {first or 'not'} solved", flush=True)


if __name__ == "__main__":
    main()
