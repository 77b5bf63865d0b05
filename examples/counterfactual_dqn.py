"""Stable-Baselines3's DQN with and without counterfactual experiences, on an environment of one's own.

A courier walks a yard, a square whose place is two real numbers. Two boxes are to be loaded at their depots and delivered, and
only the box loaded last can be taken out. Until a whole delivery has been found by chance, plain DQN is paid for nothing; with
the counterfactual replay buffer every walk also teaches what it would have been worth with boxes aboard.

    python examples/counterfactual_dqn.py                 one seed with each of the two: less than a minute
    python examples/counterfactual_dqn.py --controls      and with more steps or larger batches for plain DQN
    python examples/counterfactual_dqn.py --controls --seeds 10 --output docs
                                                          the record and the picture of the page on Stable-Baselines3

With `--output` every finished run is saved. The same command goes on where it was stopped.
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
LONGEST, EVERY, EPISODES = 60, 1_000, 5
"""Steps of an episode at most; steps between two tests, and episodes of each."""
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
"""The same for all, but for what a line says otherwise. All explore less and less until half of `--steps`."""


@dataclass(frozen=True)
class Line:
    """One agent of the comparison."""

    imagine: dict[str, Any] | None = None
    """The counterfactual buffer's settings. None: SB3's own replay buffer."""
    settings: dict[str, Any] = field(default_factory=dict)
    patience: int = 1
    """How many times `--steps` it is trained."""


LINES = {
    "DQN": Line(),
    "DQN with counterfactuals": Line(imagine={"counterfactuals": 2, "enlarge": True}),
}
CONTROLS = {
    "DQN": Line(patience=3),
    "DQN, batch of 192": Line(settings={"batch_size": 192}, patience=3),
    "DQN with counterfactuals": LINES["DQN with counterfactuals"],
    "DQN with counterfactuals, enlarge=False": Line(
        imagine={"counterfactuals": 2, "enlarge": False}
    ),
}
"""Is it the number of steps, or of rows in a batch? Plain DQN gets more of each; with `enlarge=False` the buffer gets no more rows."""
COLOURS = ("#7a7f87", "#b58a3c", "#2f6fb0", "#3f9a6d")


class Yard(gymnasium.Env[Any, Any]):
    """A square to walk in, with a little noise; it knows nothing of boxes, and pays nothing."""

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
    """The place where the courier is, if any."""
    return {
        name for name, place in PLACES.items() if np.abs(next_observation - place).max() <= 0.25
    }


def make_env() -> gymnasium.Env[Any, Any]:
    """The yard with the task."""
    return pdrm.wrap(gymnasium.wrappers.TimeLimit(Yard(), LONGEST), TASK, events, k=1, flatten=True)


class Tests(BaseCallback):
    """Episodes without exploration every so many steps: the mean return of each test, and the share that was delivered."""

    def __init__(self) -> None:
        super().__init__()
        self.env, self.returns, self.delivered = make_env(), [], []

    def _on_step(self) -> bool:
        if self.num_timesteps % EVERY == 0:
            played = [self._play(seed) for seed in range(EPISODES)]
            self.returns.append(float(np.mean([gained for gained, _ in played])))
            self.delivered.append(float(np.mean([done for _, done in played])))
        return True

    def _play(self, seed: int) -> tuple[float, bool]:
        seen, _ = self.env.reset(seed=10_000 + seed)
        gained, terminated, truncated = 0.0, False, False
        while not (terminated or truncated):
            action, _ = self.model.predict(seen, deterministic=True)
            seen, reward, terminated, truncated, _ = self.env.step(int(action))
            gained += reward
        return gained, terminated


def train(line: Line, seed: int, steps: int) -> dict[str, Any]:
    """One run of `steps` steps, or of so many times more as the line says."""
    torch.set_num_threads(1)  # networks this small are fastest so
    began = time.process_time()
    settings = {**SETTINGS, "exploration_fraction": 0.5 / line.patience, **line.settings}
    if line.imagine is not None:
        settings["replay_buffer_class"] = CounterfactualReplayBuffer
        settings["replay_buffer_kwargs"] = {**line.imagine, "seed": seed}
    agent = DQN(
        "MlpPolicy",
        make_env(),
        buffer_size=steps * line.patience,
        seed=seed,
        device="cpu",
        **settings,
    )
    tests = Tests()
    agent.learn(steps * line.patience, callback=tests)
    seconds = round(time.process_time() - began, 1)
    return {
        "seed": seed,
        "returns": tests.returns,
        "delivered": tests.delivered,
        "seconds": seconds,
    }


def plot(record: dict[str, Any], file: Path) -> None:
    """The share of test episodes that deliver both boxes: mean over the seeds, and the quartiles."""
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.add_subplot()
    for (name, line), colour in zip(record["lines"].items(), COLOURS, strict=False):
        shares = np.array([run["delivered"] for run in line["runs"]])
        at = EVERY * np.arange(1, shares.shape[1] + 1)
        low, high = np.quantile(shares, (0.25, 0.75), axis=0)
        axes.plot(at, shares.mean(axis=0), color=colour, label=name)
        axes.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.set(xlabel="steps", ylabel="test episodes that deliver", ylim=(-0.02, 1.02))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, metadata={"Date": None})


def begin(asked: argparse.Namespace, lines: dict[str, Line]) -> dict[str, Any]:
    """The record of what was asked for, with the runs that an earlier call has saved."""
    flags = " --controls" if asked.controls else ""
    record: dict[str, Any] = {
        "made_by": f"python examples/counterfactual_dqn.py --seeds {asked.seeds} --steps {asked.steps}{flags}",
        "stable_baselines3": stable_baselines3.__version__,
        "settings": SETTINGS,
        "steps_between_tests": EVERY,
        "episodes_of_a_test": EPISODES,
        "lines": {
            name: {**asdict(line), "steps": asked.steps * line.patience, "runs": []}
            for name, line in lines.items()
        },
    }
    file = asked.output and asked.output / RECORD
    saved = json.loads(file.read_text()) if file and file.exists() else {}
    if all(
        saved.get(key) == value for key, value in record.items() if key not in ("made_by", "lines")
    ):
        for name, line in record["lines"].items():
            earlier = saved["lines"].get(name, line)
            if {**earlier, "runs": []} == line:
                line["runs"] = [run for run in earlier["runs"] if run["seed"] < asked.seeds]
    return record


def main() -> None:
    """Train all, print what came of it, and write it down where that is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=15_000)
    parser.add_argument(
        "--controls",
        action="store_true",
        help="four agents, and three times the steps for plain DQN",
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--output", type=Path, help="a folder for the record and the picture")
    asked = parser.parse_args()
    if asked.output is not None:
        (asked.output / "images").mkdir(parents=True, exist_ok=True)
    lines = CONTROLS if asked.controls else LINES
    record = begin(asked, lines)
    saved = {(name, run["seed"]) for name in lines for run in record["lines"][name]["runs"]}
    missing = [
        (name, seed) for seed in range(asked.seeds) for name in lines if (name, seed) not in saved
    ]
    runs = joblib.Parallel(n_jobs=asked.workers, return_as="generator")(
        joblib.delayed(train)(lines[name], seed, asked.steps) for name, seed in missing
    )
    for (name, _), run in zip(missing, runs, strict=True):
        record["lines"][name]["runs"].append(run)
        if asked.output is not None:
            (asked.output / RECORD).write_text(json.dumps(record, indent=1) + "\n")
    for name, line in record["lines"].items():
        last = [run["delivered"][-1] for run in line["runs"] if run["delivered"]]
        share, steps = np.mean(last or [0]), line["steps"]
        print(
            f"{name}: after {steps} steps {share:.0%} of the tests' episodes deliver both boxes ({len(line['runs'])} seeds)"
        )
    if asked.output is not None:
        plot(record, asked.output / "images" / "counterfactual-dqn.svg")


if __name__ == "__main__":
    main()
