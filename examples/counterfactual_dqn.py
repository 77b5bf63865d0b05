"""Stable-Baselines3's DQN with and without counterfactual experiences, on your own environment.

A courier walks in a square yard, with two real numbers as the position. Two boxes must be loaded at
their depots and delivered, and only the box loaded last can be taken out. Plain DQN gets no reward
until it has found a whole delivery at random. With the counterfactual replay buffer it also learns
from every walk what its reward would have been with boxes aboard.

    python examples/counterfactual_dqn.py                 one seed with each: less than a minute
    python examples/counterfactual_dqn.py --controls      also DQN with more steps, larger batches
    python examples/counterfactual_dqn.py --controls --seeds 10 --output docs
                                                          the record and picture of the page

With `--output` every finished run is saved, and the same command resumes an interrupted one.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import joblib
import numpy as np
import numpy.typing as npt
import stable_baselines3
import torch
from gymnasium import spaces
from matplotlib.figure import Figure
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

import pdrm
from pdrm.learning import CounterfactualReplayBuffer

TASK = """
name      courier
events    box-for-ann box-for-bob ann bob
exclusive box-for-ann box-for-bob ann bob
stack     # ann bob
start     empty
final     done
otherwise stay -0.01
map       box ann:box-for-ann bob:box-for-bob

for who in ann bob:
    empty -> half : box(who), z / who z, 0
    full  -> full : who,      who / eps, 1
    for other in ann bob where other != who:
        half -> full : box(other), who / other who, 0
full -> done : eps, # / #, 1
"""
Place = npt.NDArray[np.float32]
PLACES = {
    "box-for-ann": (-0.8, -0.8),
    "box-for-bob": (0.8, 0.8),
    "ann": (0.8, -0.8),
    "bob": (-0.8, 0.8),
}
MOVES = np.array([(0, 0.3), (0, -0.3), (-0.3, 0), (0.3, 0)])
RECORD = "counterfactual-dqn.json"
MAX_STEPS = 60
"""Step limit of an episode."""
EVALUATE_EVERY = 1_000
EPISODES = 5
"""Steps between two evaluations, and episodes of each."""
SETTINGS = {
    "learning_rate": 1e-3,
    "gamma": 0.95,
    "learning_starts": 500,
    "train_freq": 4,
    "batch_size": 64,
    "target_update_interval": 500,
    "exploration_final_eps": 0.1,
    "policy_kwargs": {"net_arch": [64, 64]},
}
"""Settings of all lines, which a line can override. Exploration ends at half of `--steps`."""


@dataclass(frozen=True)
class Line:
    """One agent of the comparison."""

    buffer: dict[str, Any] | None = None
    """Settings of the counterfactual buffer. None: SB3's replay buffer."""
    settings: dict[str, Any] = field(default_factory=dict)
    length: int = 1
    """Training length as a multiple of `--steps`."""


LINES = {
    "DQN": Line(),
    "DQN with counterfactuals": Line(buffer={"counterfactuals": 2, "enlarge": True}),
}
CONTROLS = {
    "DQN": Line(length=3),
    "DQN, batch of 192": Line(settings={"batch_size": 192}, length=3),
    "DQN with counterfactuals": LINES["DQN with counterfactuals"],
    "DQN with counterfactuals, enlarge=False": Line(
        buffer={"counterfactuals": 2, "enlarge": False}
    ),
}
"""Controls for the numbers of steps and of rows per batch: plain DQN with more of each, and the
buffer without additional rows."""
COLOURS = ("#7a7f87", "#b58a3c", "#2f6fb0", "#3f9a6d")


class Yard(gymnasium.Env[Any, Any]):
    """A square to walk in, with a little noise, without boxes and rewards."""

    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.Discrete(len(MOVES))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.at = np.zeros(2)
        return self.at.astype(np.float32), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at = np.clip(self.at + MOVES[action] + self.np_random.normal(0, 0.03, 2), -1, 1)
        return self.at.astype(np.float32), 0.0, False, False, {}


def events(
    _observation: Place, _action: int, next_observation: Place, _info: dict[str, Any]
) -> set[str]:
    """The place at the courier's position, if any."""
    return {
        name for name, place in PLACES.items() if np.abs(next_observation - place).max() <= 0.25
    }


def make_env() -> gymnasium.Env[Any, Any]:
    """The yard with the task."""
    yard = gymnasium.wrappers.TimeLimit(Yard(), MAX_STEPS)
    return pdrm.wrap(yard, TASK, events, k=1, flatten=True)


class Evaluations(BaseCallback):
    """Regular evaluations without exploration: the mean return of each, and the share of episodes
    that deliver both boxes."""

    def __init__(self) -> None:
        super().__init__()
        self.env = make_env()
        self.returns: list[float] = []
        self.delivered: list[float] = []

    def _on_step(self) -> bool:
        if self.num_timesteps % EVALUATE_EVERY == 0:
            episodes = [self._play(seed) for seed in range(EPISODES)]
            self.returns.append(float(np.mean([total for total, _ in episodes])))
            self.delivered.append(float(np.mean([done for _, done in episodes])))
        return True

    def _play(self, seed: int) -> tuple[float, bool]:
        observation, _ = self.env.reset(seed=10_000 + seed)
        total = 0.0
        terminated = truncated = False
        while not (terminated or truncated):
            action, _ = self.model.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = self.env.step(int(action))
            total += reward
        return total, terminated


def train(line: Line, seed: int, steps: int) -> dict[str, Any]:
    """Train one run of `steps` times `line.length` steps."""
    torch.set_num_threads(1)  # fastest for networks this small
    started = time.process_time()
    settings = {**SETTINGS, "exploration_fraction": 0.5 / line.length, **line.settings}
    if line.buffer is not None:
        settings["replay_buffer_class"] = CounterfactualReplayBuffer
        settings["replay_buffer_kwargs"] = {**line.buffer, "seed": seed}
    agent = DQN(
        "MlpPolicy",
        make_env(),
        buffer_size=steps * line.length,
        seed=seed,
        device="cpu",
        **settings,
    )
    evaluations = Evaluations()
    agent.learn(steps * line.length, callback=evaluations)
    seconds = round(time.process_time() - started, 1)
    return {
        "seed": seed,
        "returns": evaluations.returns,
        "delivered": evaluations.delivered,
        "seconds": seconds,
    }


def plot(record: dict[str, Any], file: Path) -> None:
    """Plot the share of evaluation episodes that deliver both boxes: mean and quartiles."""
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.add_subplot()
    for (name, line), colour in zip(record["lines"].items(), COLOURS, strict=False):
        shares = np.array([run["delivered"] for run in line["runs"]])
        steps = EVALUATE_EVERY * np.arange(1, shares.shape[1] + 1)
        low, high = np.quantile(shares, (0.25, 0.75), axis=0)
        axes.plot(steps, shares.mean(axis=0), color=colour, label=name)
        axes.fill_between(steps, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.set(xlabel="steps", ylabel="evaluation episodes that deliver", ylim=(-0.02, 1.02))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, metadata={"Date": None})


def make_record(options: argparse.Namespace, lines: dict[str, Line]) -> dict[str, Any]:
    """The record of these options, with the runs that an earlier call has saved."""
    flags = " --controls" if options.controls else ""
    record: dict[str, Any] = {
        "made_by": f"python examples/counterfactual_dqn.py --seeds {options.seeds} --steps {options.steps}{flags}",
        "stable_baselines3": stable_baselines3.__version__,
        "settings": SETTINGS,
        "steps_between_evaluations": EVALUATE_EVERY,
        "episodes_per_evaluation": EPISODES,
        "lines": {
            name: {**asdict(line), "steps": options.steps * line.length, "runs": []}
            for name, line in lines.items()
        },
    }
    file = options.output and options.output / RECORD
    saved = json.loads(file.read_text()) if file and file.exists() else {}
    if all(
        saved.get(key) == value for key, value in record.items() if key not in ("made_by", "lines")
    ):
        for name, line in record["lines"].items():
            earlier = saved["lines"].get(name, line)
            if {**earlier, "runs": []} == line:
                line["runs"] = [run for run in earlier["runs"] if run["seed"] < options.seeds]
    return record


def main() -> None:
    """Train all lines, print the results, and write them to `--output`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=15_000)
    parser.add_argument(
        "--controls",
        action="store_true",
        help="four agents, and three times the steps for plain DQN",
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--output", type=Path, help="folder for the record and the picture")
    options = parser.parse_args()
    if options.output is not None:
        (options.output / "images").mkdir(parents=True, exist_ok=True)
    lines = CONTROLS if options.controls else LINES
    record = make_record(options, lines)
    saved = {(name, run["seed"]) for name in lines for run in record["lines"][name]["runs"]}
    missing = [
        (name, seed) for seed in range(options.seeds) for name in lines if (name, seed) not in saved
    ]
    runs = joblib.Parallel(n_jobs=options.workers, return_as="generator")(
        joblib.delayed(train)(lines[name], seed, options.steps) for name, seed in missing
    )
    for (name, _), run in zip(missing, runs, strict=True):
        record["lines"][name]["runs"].append(run)
        if options.output is not None:
            (options.output / RECORD).write_text(json.dumps(record, indent=1) + "\n")
    for name, line in record["lines"].items():
        last = [run["delivered"][-1] for run in line["runs"] if run["delivered"]]
        share = np.mean(last or [0])
        print(
            f"{name}: after {line['steps']} steps {share:.0%} of the evaluation episodes deliver both boxes "
            f"({len(line['runs'])} seeds)"
        )
    if options.output is not None:
        plot(record, options.output / "images" / "counterfactual-dqn.svg")


if __name__ == "__main__":
    main()
