"""Logging to the tools people have already: TensorBoard, and Weights & Biases. Off unless asked for, never needed.

A sink is a `Watch` of a run: `execute(spec, folder, watch)` calls it after every test, and so may a loop of one's own. The
tool's package is loaded by name when a sink is made.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pdrm.errors import BadSetting, CannotWrite, MissingPackage, did_you_mean
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular.agents import AnyTraining
from pdrm.learning.tabular.run import Watch
from pdrm.learning.tabular.training import Test


def scalars(training: AnyTraining, test: Test) -> dict[str, float]:
    """What is logged after a test: how it went, and where the training stands."""
    return {
        "test/return": float(test.returns.mean()),
        "test/return_lowest": float(test.returns.min()),
        "test/steps": float(test.steps.mean()),
        "train/epsilon": float(training.progress.floats[at.EPSILON]),
        "train/steps": float(training.progress.ints[at.ALL_STEPS]),
        "train/rows": float(training.values.index.used[0]),
    }


class Sink:
    """Somewhere to log to: called after every test with the training and its tests, closed at the end."""

    def __call__(self, training: AnyTraining, tests: list[Test]) -> None:
        """Log the last test."""
        self.log(scalars(training, tests[-1]), tests[-1].episode)

    def log(self, values: dict[str, float], episode: int) -> None:
        """Write the values, as of so many training episodes."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what is left to write."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class TensorBoard(Sink):
    """Event files for TensorBoard, in a folder: `tensorboard --logdir FOLDER` shows them.

    >>> import tempfile, pathlib, pdrm
    >>> maze = pdrm.domain("maze-5x5")
    >>> training = pdrm.Training(maze, pdrm.catalogue(maze.machine), pdrm.TopK(1), pdrm.QLearning(), seed=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> with TensorBoard(folder.name) as log:
    ...     for _ in range(2):
    ...         training.advance(10)
    ...         log(training, [training.test()])
    >>> [path.name.startswith("events.out.tfevents") for path in pathlib.Path(folder.name).iterdir()]
    [True]
    >>> folder.cleanup()
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._writer = _loaded("tensorboard.summary", "tensorboard").Writer(str(folder))

    def log(self, values: dict[str, float], episode: int) -> None:
        """Write the values, as of so many training episodes."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, episode)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


class WeightsAndBiases(Sink):
    """A run of Weights & Biases. The options are those of `wandb.init`: `mode="offline"` keeps it on this machine.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with WeightsAndBiases("stacks", mode="offline", dir=folder.name, settings={"silent": True}) as log:
    ...     log.log({"test/return": 0.5}, episode=10)
    >>> folder.cleanup()
    """

    def __init__(self, project: str, **options: Any) -> None:  # noqa: ANN401 - wandb's own
        self._run = _loaded("wandb", "wandb").init(project=project, **options)

    def log(self, values: dict[str, float], episode: int) -> None:
        """Log the values, as of so many training episodes."""
        self._run.log(values, step=episode)

    def close(self) -> None:
        """Finish the run."""
        self._run.finish()


def together(*watches: Watch) -> Watch:
    """One watch that calls each in turn."""

    def all_of_them(training: AnyTraining, tests: list[Test]) -> None:
        for watch in watches:
            watch(training, tests)

    return all_of_them


SINKS: dict[str, Callable[..., Sink]] = {
    "tensorboard": lambda folder, **_: TensorBoard(folder),
    "wandb": lambda folder, name, about: WeightsAndBiases("pdrm", dir=str(folder), name=name, config=about),
}
"""By the name that `pdrm train --log` knows them by: from a run's folder, its name, and what is known about it."""


def known_sink(tool: str) -> str:
    """The tool's name, or `BadSetting` where there is none of that name.

    >>> known_sink("wandb")
    'wandb'
    """
    if tool not in SINKS:
        raise BadSetting(f"there is no logging to `{tool}`", fix=did_you_mean(tool, SINKS))
    return tool


def sink_for(tool: str, folder: Path, name: str, about: dict[str, Any]) -> Sink:
    """The sink of that name for the run in a folder; `tool` is `tensorboard` or `wandb`."""
    make = SINKS[known_sink(tool)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return make(folder, name=name, about=about)
    except OSError as error:
        fault = f"nothing can be logged in {folder}: {error.strerror or error}"
        raise CannotWrite(fault, fix="choose another folder") from error


def _loaded(module: str, package: str) -> Any:  # noqa: ANN401 - modules with types of their own, or none
    """A tool's module, by name: the package works without it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackage(f"{package} is not installed", fix=f"pip install {package}") from error
