"""The settings that agents have unless they are given: the paper's, Stable-Baselines3's, and those tuned for WaterWorld."""

from __future__ import annotations

from typing import Any

from pdrm.learning.settings import NOTHING
from pdrm.task import DISCOUNTS

OPERATIONS = 30_000
"""Operations an episode may take of an automaton that simulates a stack (they grow sixfold with every symbol of the maze):
about what the paper's 0.03 seconds an episode allow."""

WITH_CHANCE = 0.1
"""The learning rate of tables in your own domain if its moves are random: with a larger one a value is the last few outcomes."""

# --- Everywhere, unless the task says otherwise

USUAL_TABLES = {
    "episodes": 10_000,
    "learning_rate": 0.5,
    "discount": 0.99,
    "epsilon": 1.0,
    "epsilon_decay": 0.995,
    "epsilon_least": 0.01,
    "test_every": 100,
}
USUAL_DEEP = {
    "total_timesteps": 100_000,
    "n_envs": 8,
    "learning_rate": 3e-4,
    "linear_decay": False,
    "discount": 0.99,
    "net_arch": (64, 64),
    "staggered": False,
    "test_episodes": 5,
    "shaping": NOTHING,
}
USUAL_PPO = {
    **USUAL_DEEP,
    "total_timesteps": 2_400_000,
    "n_envs": 128,
    "learning_rate": 1e-3,
    "n_steps": 128,
    "batch_size": 2_048,
    "n_epochs": 4,
    "ent_coef": 0.1,
    "restarts": 0.8,
    "shaping": "emitted",
    "shaping_discount": 0.6,
}
USUAL_RPPO = {
    **USUAL_PPO,
    "restarts": 0.0,
    "lstm_hidden_size": 256,
    "sequence_length": 16,
}
_OFF_POLICY = {
    **USUAL_DEEP,
    "buffer_size": 1_000_000,
    "learning_starts": 100,
    "batch_size": 256,
    "tau": 1.0,
    "train_freq": 4,
    "gradient_steps": 1,
    "n_steps": 1,
}
USUAL_DQN = {
    **_OFF_POLICY,
    "total_timesteps": 240_000,
    "discount": 0.98,
    "learning_rate": 2e-3,
    "linear_decay": True,
    "batch_size": 64,
    "buffer_size": 100_000,
    "gradient_steps": 16,
    "tau": 0.05,
    "shaping": "auto",
    "shaping_discount": 0.6,
    "target_update_interval": 32,
    "exploration_fraction": 0.8,
    "exploration_final_eps": 0.1,
}
USUAL_SAC = {
    **_OFF_POLICY,
    "net_arch": (256, 256),
    "tau": 0.005,
    "train_freq": 1,
    "counterfactuals": 0,
}

# --- In the paper's domains

_MAZE = {
    "episodes": 10_000,
    "learning_rate": 0.5,
    "epsilon": 1.0,
    "epsilon_decay": 0.995,
    "epsilon_least": 0.01,
    "discount": 0.99,
}
_LETTER = {**_MAZE, "learning_rate": 0.01, "epsilon": 0.01, "epsilon_decay": 1.0}
_DELIVER = {**_MAZE, "learning_rate": 0.01, "epsilon_decay": 0.9995, "epsilon_least": 0.1}

PAPER_SETTINGS: dict[str, dict[str, Any]] = {
    "letter": {**_LETTER, "episodes": 5_000},
    "maze-5x5": _MAZE,
    "maze-10x10": _MAZE,
    "maze-20x20": _MAZE,
    "multi-10x10": {**_MAZE, "discount": DISCOUNTS["multi-10x10"]},
    "multi-20x20": {**_MAZE, "discount": DISCOUNTS["multi-20x20"]},
    "deliver-8": _DELIVER,
    "deliver-4-8": {**_DELIVER, "episodes": 15_000},
    # Appendix C gives no rates for PaintWorld; these are the mazes', tested as it says.
    "paint": {**_MAZE, "episodes": 500, "test_every": 5},
    "echo": {**_MAZE, "episodes": 2_000},
}
"""The paper's settings for each of its domains (Appendices C and E), for tabular agents."""

# --- Stable-Baselines3's, and in WaterWorld

_PPO_LIKE_SB3 = {
    "total_timesteps": 100_000,
    "n_envs": 8,
    "learning_rate": 3e-4,
    "n_steps": 2_048,
    "batch_size": 64,
    "n_epochs": 10,
    "ent_coef": 0.0,
    "reward_scale": 1.0,
    "restarts": 0.0,
    "shaping": NOTHING,
    "shaping_discount": None,
}
SB3_SETTINGS: dict[str, dict[str, Any]] = {
    "ppo": _PPO_LIKE_SB3,
    "rppo": {**_PPO_LIKE_SB3, "n_steps": 128, "batch_size": 128},
    "dqn": {
        "total_timesteps": 100_000,
        "discount": 0.99,
        "learning_rate": 1e-4,
        "linear_decay": False,
        "reward_scale": 1.0,
        "buffer_size": 1_000_000,
        "batch_size": 32,
        "tau": 1.0,
        "gradient_steps": 1,
        "counterfactuals": 0,
        "shaping": NOTHING,
        "shaping_discount": None,
        "target_update_interval": 10_000,
        "exploration_fraction": 0.1,
        "exploration_final_eps": 0.05,
    },
    "sac": {"reward_scale": 1.0},
}
"""Stable-Baselines3's defaults, where ours are others, for each deep agent."""

_TUNED = {
    "total_timesteps": 78_643_200,
    "learning_rate": 7e-4,
    "n_envs": 2_048,
    "n_steps": 64,
    "n_epochs": 4,
    "batch_size": 16_384,
    "linear_decay": True,
    "ent_coef": 0.003,
    "reward_scale": 1e-3,
    "reward_clip": 10.0,
    "net_arch": (128, 128),
    "staggered": True,
    "test_episodes": 20,
}
"""Many environments, a larger learning rate and network than printed, scaled rewards (the last one as if it were 1e4)."""
_WATER_OFF_POLICY = {
    "n_envs": 64,
    "train_freq": 4,
    "gradient_steps": 8,
    "n_steps": 10,
    "batch_size": 256,
    "buffer_size": 500_000,
    "learning_starts": 20_000,
    "discount": 0.98,
    "net_arch": (256, 256),
    "staggered": True,
}
"""Of a sweep over discounts, rates, scales and steps of a target, with one seed each, what served the agents without
counterfactual experiences best. With one-step targets neither learnt the task."""

WATER_SETTINGS: dict[str, dict[str, Any]] = {
    "ppo": {**SB3_SETTINGS["ppo"], **_TUNED},
    "rppo": {
        **SB3_SETTINGS["rppo"],
        **_TUNED,
        "lstm_hidden_size": 128,
        "sequence_length": 64,
        "net_arch": (128,),
    },
    "dqn": {
        **SB3_SETTINGS["dqn"],
        **_WATER_OFF_POLICY,
        "total_timesteps": 6_144_000,
        "learning_rate": 1e-4,
        "tau": 0.05,
        "target_update_interval": 256,
        "reward_scale": 1e-3,
        "reward_clip": 10.0,
    },
    "sac": {
        **SB3_SETTINGS["sac"],
        **_WATER_OFF_POLICY,
        "total_timesteps": 3_072_000,
        "learning_rate": 1e-3,
        "reward_scale": 0.1,
        "reward_clip": 1_000.0,
    },
}
"""Ours: the settings tuned for WaterWorld, for each deep agent."""
