"""Stable-Baselines3's DQN and PPO on a nested task in MiniGrid.

In a room of 4 by 4 cells the agent visits the red and the blue tile in any order, then the green
tile, and then the first two again in reverse order, in at least 29 steps. It does not observe the
tile that it stands on, so the labelling function reads it from the environment.

    python examples/minigrid_sb3.py                              DQN, counterfactual buffer
    python examples/minigrid_sb3.py --agent dqn ppo --seeds 3    DQN with SB3's buffer, and PPO
"""

import argparse
import time
from typing import Any

import gymnasium
import torch
from gymnasium.wrappers import TransformAction
from minigrid.core.world_object import Floor
from minigrid.envs import EmptyEnv
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

import pdrm
from pdrm.learning import CounterfactualReplayBuffer

TASK = """
name      nested-tiles
events    red blue green
exclusive red blue green
stack     # red blue
start     none
final     home lost
otherwise stay 0

for tile in red blue:
    none -> one  : tile, # / tile #, 0
    back -> back : tile, tile / eps, 1
    for other in red blue where other != tile:
        one  -> two  : other, tile / other tile, 0
        back -> lost : tile, other / other, 0
two  -> back : green, z / z, 1
back -> home : eps, # / #, 1
"""
DQN_SETTINGS: dict[str, Any] = {
    "gamma": 0.95,
    "learning_rate": 1e-3,
    "buffer_size": 100_000,
    "learning_starts": 500,
    "batch_size": 128,
    "train_freq": 4,
    "target_update_interval": 1000,
    "exploration_fraction": 0.8,
    "exploration_final_eps": 0.1,
}
EVALUATIONS = 16
"""Number of evaluations in each run."""
PPO_SETTINGS: dict[str, Any] = {"gamma": 0.95, "n_steps": 256, "batch_size": 256, "ent_coef": 0.01}


class Tiles(EmptyEnv):
    """MiniGrid's empty room, whose goal is green, with a red and a blue tile."""

    def _gen_grid(self, width: int, height: int) -> None:
        super()._gen_grid(width, height)
        self.put_obj(Floor("red"), width - 2, 1)
        self.put_obj(Floor("blue"), 1, height - 2)


def position(env: gymnasium.Env[Any, Any]) -> tuple[int, ...]:
    """The agent's position."""
    return tuple(env.get_wrapper_attr("agent_pos"))


def events(
    _observation: object, _action: int, _next_observation: object, info: dict[str, Any]
) -> set[str]:
    """The colour of the tile that the agent has entered. Turning on a tile is not an event."""
    after = position(info["env"])
    tile = info["env"].unwrapped.grid.get(*after)
    return {tile.color} if tile is not None and after != info["before"] else set()


def make_env() -> gymnasium.Env[Any, Any]:
    """The room with the task. Only three of MiniGrid's seven actions move the agent."""
    room = TransformAction(
        Tiles(size=6, max_steps=120), lambda action: action, gymnasium.spaces.Discrete(3)
    )
    return pdrm.wrap(
        room,
        TASK,
        events,
        k=2,
        flatten=True,
        reward_weight=0,
        ignore_end=True,
        success="home",
        remember=position,
    )


def make_agent(name: str, seed: int) -> BaseAlgorithm:
    """An agent in its environment; "counterfactual" is DQN with the counterfactual buffer."""
    if name == "ppo":
        return PPO(
            "MlpPolicy",
            make_vec_env(make_env, n_envs=8, seed=seed),
            seed=seed,
            device="cpu",
            **PPO_SETTINGS,
        )
    buffer: dict[str, Any] = {}
    if name == "counterfactual":
        buffer = {
            "replay_buffer_class": CounterfactualReplayBuffer,
            "replay_buffer_kwargs": {"counterfactuals": 2, "enlarge": True, "seed": seed},
        }
    return DQN("MlpPolicy", make_env(), seed=seed, device="cpu", **DQN_SETTINGS, **buffer)


class Evaluations(BaseCallback):
    """Evaluate one episode without exploration every `every` steps (one is enough, because the room
    is deterministic)."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every = every
        self.next_evaluation = every
        self.env = make_env()
        self.solved: list[int] = []

    def _on_step(self) -> bool:
        if self.num_timesteps < self.next_evaluation:
            return True
        self.next_evaluation += self.every
        observation, info = self.env.reset()
        done = False
        while not done:
            action, _ = self.model.predict(observation, deterministic=True)
            observation, _, terminated, truncated, info = self.env.step(int(action))
            done = terminated or truncated
        if info["is_success"]:
            self.solved.append(self.num_timesteps)
        return True


def main() -> None:
    """Train each agent with each seed and print the results of its evaluations."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--agent", nargs="+", choices=["counterfactual", "dqn", "ppo"], default=["counterfactual"]
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=80_000)
    options = parser.parse_args()
    torch.set_num_threads(1)  # fastest for networks this small
    for name in options.agent:
        for seed in range(options.seeds):
            started = time.process_time()
            agent = make_agent(name, seed)
            evaluations = Evaluations(options.steps // EVALUATIONS)
            agent.learn(options.steps, callback=evaluations)
            solved = evaluations.solved
            first = (
                f"first after {solved[0]:,} of {options.steps:,} steps"
                if solved
                else "never solved"
            )
            seconds = time.process_time() - started
            print(
                f"{name}, seed {seed}: {len(solved)} of {EVALUATIONS} evaluations solved, {first}; {seconds:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
