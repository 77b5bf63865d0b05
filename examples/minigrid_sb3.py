"""Stable-Baselines3's DQN and PPO on a nested task in MiniGrid.

In a room of 4 by 4 cells the agent visits the red and the blue tile in any order, then the green one, and then the first two again
in reverse order: 29 steps at best. It does not see the tile that it stands on, so the labelling function asks the environment.

    python examples/minigrid_sb3.py                              DQN with the counterfactual buffer, one seed
    python examples/minigrid_sb3.py --agent dqn ppo --seeds 3    with Stable-Baselines3's own buffer, and PPO
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
TESTS = 16
"""In each run."""
PPO_SETTINGS: dict[str, Any] = {"gamma": 0.95, "n_steps": 256, "batch_size": 256, "ent_coef": 0.01}


class Tiles(EmptyEnv):
    """MiniGrid's empty room, whose goal is green, with a red and a blue tile."""

    def _gen_grid(self, width: int, height: int) -> None:
        super()._gen_grid(width, height)
        self.put_obj(Floor("red"), width - 2, 1)
        self.put_obj(Floor("blue"), 1, height - 2)


def find_place(env: gymnasium.Env[Any, Any]) -> tuple[int, ...]:
    """Where the agent is."""
    return tuple(env.get_wrapper_attr("agent_pos"))


def events(
    _observation: object, _action: int, _next_observation: object, info: dict[str, Any]
) -> set[str]:
    """The colour of the tile that the agent has entered: turning on a tile is no event."""
    here = find_place(info["env"])
    tile = info["env"].unwrapped.grid.get(*here)
    return {tile.color} if tile is not None and here != info["before"] else set()


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
        remember=find_place,
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


class Tests(BaseCallback):
    """One episode without exploration every so many steps. One is enough: nothing in this room is random."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every, self.due, self.env = every, every, make_env()
        self.solved: list[int] = []

    def _on_step(self) -> bool:
        if self.num_timesteps >= self.due:
            self.due += self.every
            seen, info = self.env.reset()
            over = False
            while not over:
                action, _ = self.model.predict(seen, deterministic=True)
                seen, _, terminated, truncated, info = self.env.step(int(action))
                over = terminated or truncated
            self.solved += [self.num_timesteps] * info["is_success"]
        return True


def main() -> None:
    """Train each agent with each seed, and print how its tests went."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--agent", nargs="+", choices=["counterfactual", "dqn", "ppo"], default=["counterfactual"]
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=80_000)
    asked = parser.parse_args()
    torch.set_num_threads(1)  # networks this small are fastest so
    for name in asked.agent:
        for seed in range(asked.seeds):
            began = time.process_time()
            agent = make_agent(name, seed)
            tests = Tests(asked.steps // TESTS)
            agent.learn(asked.steps, callback=tests)
            first = (
                f"first after {tests.solved[0]:,} of {asked.steps:,} steps"
                if tests.solved
                else "never solved"
            )
            seconds = time.process_time() - began
            print(
                f"{name}, seed {seed}: {len(tests.solved)} of {TESTS} tests solved, {first}; {seconds:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
