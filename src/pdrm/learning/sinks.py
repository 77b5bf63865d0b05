"""Logging to the tools people have already: TensorBoard, and Weights & Biases. Off unless asked for, never needed.

A sink is a `Watch` of a run: `pdrm.train(…, watch=sink)` calls it after every evaluation. The
tool's package is loaded by name when a sink is made.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pdrm.files import FilePath, ensure_folder
from pdrm.lazy import load_package
from pdrm.learning.run_folder import RunSpec
from pdrm.learning.run_loop import Status, Watch


class Sink(AbstractContextManager["Sink"]):
    """Somewhere to log to: called after every evaluation of a run, closed at the end."""

    def __call__(self, status: Status) -> None:
        """Log an evaluation: its results, and the state of the training."""
        returns = status.test.returns
        values = {
            "test/return": float(returns.mean()),
            "test/return_lowest": float(returns.min()),
            "test/steps": float(status.test.steps.mean()),
        }
        values |= {f"train/{name}": value for name, value in status.facts.items()}
        self.log(values, status.done)

    @abstractmethod
    def log(self, values: dict[str, float], done: int) -> None:
        """Write the values, as of so much training."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left to write."""

    def __exit__(self, *_fault: object) -> None:
        self.close()


class TensorBoard(Sink):
    """Event files for TensorBoard, in a folder: `tensorboard --logdir FOLDER` shows them.

    >>> import tempfile, pathlib
    >>> from pdrm.learning.run import train
    >>> folder = tempfile.TemporaryDirectory()
    >>> with TensorBoard(folder.name) as log:
    ...     _ = train("maze-5x5", "q", episodes=200, watch=log)
    >>> [path.name.startswith("events.out.tfevents") for path in pathlib.Path(folder.name).iterdir()]
    [True]
    >>> folder.cleanup()
    """

    def __init__(self, folder: FilePath) -> None:
        self._writer = load_package("tensorboard.summary", "tensorboard").Writer(str(folder))

    def log(self, values: dict[str, float], done: int) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, done)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class WeightsAndBiases(Sink):
    """A run of Weights & Biases. The options are those of `wandb.init`: `mode="offline"` keeps it on this machine.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with WeightsAndBiases("stacks", mode="offline", dir=folder.name, settings={"silent": True}) as log:
    ...     log.log({"test/return": 0.5}, done=10)
    >>> folder.cleanup()
    """

    def __init__(self, project: str, **options: Any) -> None:
        self._run = load_package("wandb", "wandb").init(project=project, **options)

    def log(self, values: dict[str, float], done: int) -> None:
        self._run.log(values, step=done)

    def close(self) -> None:
        self._run.finish()


@contextmanager
def log_evaluations(
    tool: str, specs: Sequence[RunSpec], folders: Sequence[Path]
) -> Iterator[Watch]:
    """A watch that logs every evaluation of the runs with the tool of that name, in their folders."""
    sinks: dict[str, Sink] = {}
    with ExitStack() as stack:
        for spec, folder in zip(specs, folders, strict=True):
            place = str(ensure_folder(folder))
            sink: Sink
            if tool == "tensorboard":
                sink = TensorBoard(place)
            else:
                sink = WeightsAndBiases("pdrm", dir=place, name=folder.name, config=spec.record())
            sinks[spec.id] = stack.enter_context(sink)
        yield lambda status: sinks[status.spec.id](status)
