"""Figure 5, WaterWorld: data only. What the paper printed, and what is ours beside it, named so.

A program is a set of runs that JAX trains side by side: they share everything but the numbers in `Run`. So both maps, the
agents with and without the machine, and all seeds of PPO are one program.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

TEN_SEEDS = tuple(range(10))
MAPS = {"water-17": 17.0, "water-20": 20.0}
FIGURES = {"water": "printed", "water-tuned": "tuned", "water-strict": "strict", "water-off-policy": "off-policy"}
"""The studies by the names that `pdrm reproduce` takes."""
TEST_EVERY = 100_000
"""Training steps between tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: its place in a figure, and the numbers that tell it from its neighbours."""

    domain: str
    line: str
    """As the legend shows it."""
    seed: int
    learning_rate: float
    total_timesteps: int
    sees_machine: bool

    @property
    def numbers(self) -> dict[str, float]:
        """What the compiled program is handed."""
        return {
            "side": MAPS[self.domain],
            "visible": float(self.sees_machine),
            "learning_rate": self.learning_rate,
            "total_timesteps": float(self.total_timesteps),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Runs side by side."""

    agent: str
    """ppo, rppo, dqn or sac."""
    runs: tuple[Run, ...]
    settings: Mapping[str, Any]
    """What the runs share."""
    world: Mapping[str, Any] = field(default_factory=dict)
    """What differs from `WaterWorld`'s own numbers, but for the side."""
    machine: str = "water"
    test_every: int = TEST_EVERY
    test_episodes: int = 5

    @property
    def name(self) -> str:
        """Within its study."""
        return self.agent + ("-cprm" if self.settings.get("counterfactuals") else "")

    @property
    def id(self) -> str:
        """The hash of all this."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]


PRINTED = {"n_envs": 5, "n_steps": 10_000, "linear_decay": True, "clip_range": 0.15, "target_kl": 0.3}
PRINTED_PPO = {**PRINTED, "batch_size": 3_000, "n_epochs": 30, "gamma": 0.99, "gae_lambda": 0.9, "vf_coef": 0.5}
PRINTED_RPPO = {**PRINTED, "batch_size": 2_000, "n_epochs": 20, "gamma": 0.95, "gae_lambda": 0.95, "vf_coef": 1.0}
STEPS = {"water-17": 3_000_000, "water-20": 5_000_000}
PPO_RATE = {"water-17": 3e-6, "water-20": 3e-5}
RPPO_RATE = {"water-17": 3e-9, "water-20": 3e-6}
RAW = {"clip_range_vf": 1_000.0}
SCALED = {"clip_range_vf": 1.0, "reward_scale": 1e-3}
"""Ours: rewards a thousandth, and the clipping of values with them."""

WITH, WITHOUT, RECURRENT = "PPO + 1-pdRM", "PPO", "recurrent PPO"


def _ppo_runs(seeds: tuple[int, ...], rate: Mapping[str, float], steps: Mapping[str, int]) -> tuple[Run, ...]:
    return tuple(
        Run(domain=name, line=line, seed=seed, learning_rate=rate[name], total_timesteps=steps[name], sees_machine=sees)
        for name in MAPS
        for line, sees in ((WITH, True), (WITHOUT, False))
        for seed in seeds
    )


def _blind_runs(seeds: tuple[int, ...], rate: Mapping[str, float], steps: Mapping[str, int]) -> tuple[Run, ...]:
    return tuple(
        Run(
            domain=name,
            line=RECURRENT,
            seed=seed,
            learning_rate=rate[name],
            total_timesteps=steps[name],
            sees_machine=False,
        )
        for name in MAPS
        for seed in seeds
    )


def as_printed(seeds: tuple[int, ...] = TEN_SEEDS, rewards: Mapping[str, float] = RAW) -> tuple[Program, ...]:
    """The paper's three agents with the paper's hyperparameters: 240 million steps in all.

    >>> sum(run.total_timesteps for program in as_printed() for run in program.runs)
    240000000
    """
    recurrent = {**PRINTED_RPPO, **rewards, "sequence_length": 20}
    return (
        Program(agent="ppo", runs=_ppo_runs(seeds, PPO_RATE, STEPS), settings={**PRINTED_PPO, **rewards}),
        Program(agent="rppo", runs=_blind_runs(seeds, RPPO_RATE, STEPS), settings=recurrent),
    )


TUNED_STEPS = 78_643_200
TUNED = {
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
}
"""Ours: many environments, a larger learning rate and network, scaled rewards (the last one as if it were 1e4)."""


TUNED_RPPO = {**TUNED, "lstm_hidden_size": 128, "sequence_length": 16, "net_arch": (128,)}


def tuned(seeds: tuple[int, ...] = TEN_SEEDS, machine: str = "water", steps: int = TUNED_STEPS) -> tuple[Program, ...]:
    """Ours: the three agents, tuned for this WaterWorld."""
    rate, long = dict.fromkeys(MAPS, 7e-4), dict.fromkeys(MAPS, steps)
    tests: dict[str, Any] = {"machine": machine, "test_every": steps // 20, "test_episodes": 20}
    return (
        Program(agent="ppo", runs=_ppo_runs(seeds, rate, long), settings=TUNED, **tests),
        Program(agent="rppo", runs=_blind_runs(seeds, rate, long), settings=TUNED_RPPO, **tests),
    )


OFF_POLICY_STEPS = {"dqn": 6_144_000, "sac": 3_072_000}
OFF_POLICY = {
    "n_envs": 64,
    "train_freq": 4,
    "gradient_steps": 8,
    "n_steps": 10,
    "batch_size": 256,
    "buffer_size": 500_000,
    "learning_starts": 20_000,
    "gamma": 0.98,
    "net_arch": (256, 256),
    "staggered": True,
}
DQN_OURS = {**OFF_POLICY, "tau": 0.05, "target_update_interval": 256, "reward_scale": 1e-3, "reward_clip": 10.0}
SAC_OURS = {**OFF_POLICY, "reward_scale": 0.1, "reward_clip": 1_000.0}
"""Ours: of a sweep over discounts, rates, scales and steps of a target, with one seed each, what served the agents without
counterfactual experiences best. With one-step targets neither learnt the task."""


def off_policy(seeds: tuple[int, ...] = TEN_SEEDS) -> tuple[Program, ...]:
    """Ours: DQN and SAC that see the machine, with and without counterfactual experiences, 17 × 17."""
    return tuple(
        Program(
            agent=agent,
            runs=_seeing(f"{agent.upper()}{' + 1-CpRM' if imagined else ' + 1-pdRM'}", seeds, rate, steps),
            settings={**settings, "counterfactuals": imagined},
            world={"continuous": agent == "sac"},
            test_every=steps // 20,
        )
        for agent, settings, rate in (("dqn", DQN_OURS, 1e-4), ("sac", SAC_OURS, 1e-3))
        for steps in (OFF_POLICY_STEPS[agent],)
        for imagined in (0, 2)
    )


def _seeing(line: str, seeds: tuple[int, ...], rate: float, steps: int) -> tuple[Run, ...]:
    return tuple(
        Run(domain="water-17", line=line, seed=seed, learning_rate=rate, total_timesteps=steps, sees_machine=True)
        for seed in seeds
    )
