"""Logging to TensorBoard and Weights & Biases (optional).

A sink is a `Watch` of a run: `pdrm.train(…, watch=sink)` calls it after every evaluation. The
package of the tool is imported when a sink is made.
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
    """A log: called after every evaluation of a run, and closed at the end."""

    def __call__(self, status: Status) -> None:
        """Log the results of an evaluation, and the statistics of the learner."""
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
        """Write values after so much training."""

    @abstractmethod
    def close(self) -> None:
        """Write everything, and close the log."""

    def __exit__(self, *_fault: object) -> None:
        self.close()


class TensorBoard(Sink):
    """Event files for TensorBoard. `tensorboard --logdir FOLDER` shows them.

    >>> import tempfile, pathlib
    >>> from pdrm.learning.run import train
    >>> folder = tempfile.TemporaryDirectory()
    >>> with TensorBoard(folder.name) as log:
    ...     _ = train("maze-5x5", "q", episodes=200, watch=log)
    >>> files = [path.name for path in pathlib.Path(folder.name).iterdir()]
    >>> [name.startswith("events.out.tfevents") for name in files]
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
    """A run of Weights & Biases.

    Options are those of `wandb.init`: `mode="offline"` stays on this machine.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> options = {"dir": folder.name, "settings": {"silent": True}}
    >>> with WeightsAndBiases("stacks", mode="offline", **options) as log:
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
    """A watch that logs the evaluations of each run in its folder, with the tool of this name."""
    sinks: dict[str, Sink] = {}
    with ExitStack() as stack:
        for spec, folder in zip(specs, folders, strict=True):
            path = str(ensure_folder(folder))
            sink: Sink
            if tool == "tensorboard":
                sink = TensorBoard(path)
            else:
                sink = WeightsAndBiases("pdrm", dir=path, name=folder.name, config=spec.record())
            sinks[spec.id] = stack.enter_context(sink)
        yield lambda status: sinks[status.spec.id](status)
