"""A learning curve: the evaluations of a run, one after the other, and its file.

An evaluation is a number of episodes without exploration. `curve.csv` has one line per evaluation episode: the training episodes and environment
steps before it, the number of the episode, its return and length, and the machine state in which it ended.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.errors import BadSetting

COLUMNS = ("episodes", "timesteps", "test", "return", "steps", "end")
"""Of a curve's file."""
UNIT_OF = {"steps": "timesteps", "episodes": "episodes"}
"""The axes of curves, and the units of training."""


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """The episodes of one evaluation: what they paid, how long they were, and in which machine states they ended."""

    returns: npt.NDArray[np.float64]  # [E]
    steps: npt.NDArray[np.int64]  # [E]
    ends: npt.NDArray[np.str_]  # [E]
    episodes: int = 0  # of training before it
    timesteps: int = 0  # of training before it


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The evaluations of a run: T evaluations of E episodes each."""

    unit: str
    """The unit of the agent's training: episodes or timesteps."""
    episodes: npt.NDArray[np.int64]
    """[T]: training episodes before each evaluation."""
    timesteps: npt.NDArray[np.int64]
    """[T]: environment steps of training before each evaluation."""
    returns: npt.NDArray[np.float64]
    """[T, E]"""
    steps: npt.NDArray[np.int64]
    """[T, E]: the lengths of the evaluation episodes."""
    ends: npt.NDArray[np.str_]
    """[T, E]: machine states."""

    @classmethod
    def of(cls, unit: str, tests: Sequence[Test]) -> Curve:
        """The curve of some evaluations."""
        return cls(
            unit,
            np.array([test.episodes for test in tests], np.int64),
            np.array([test.timesteps for test in tests], np.int64),
            np.array([test.returns for test in tests]),
            np.array([test.steps for test in tests]),
            np.array([test.ends for test in tests]),
        )

    def __len__(self) -> int:
        return len(self.episodes)

    def __repr__(self) -> str:
        last = f", final mean return {format_return(self.final_return)}" if len(self) else ""
        return f"<Curve of {len(self)} tests{last}>"

    @property
    def at(self) -> npt.NDArray[np.int64]:
        """[T]: training before each evaluation, in the agent's unit."""
        return self.timesteps if self.unit == "timesteps" else self.episodes

    @property
    def final_return(self) -> float:
        """The mean return of the last evaluation."""
        return float(self.returns[-1].mean())

    def frame(self) -> Any:
        """The curve as a pandas `DataFrame`, with a row for each evaluation episode and the columns of `curve.csv`."""
        from pdrm.drawing.rows import make_frame

        return make_frame([dict(zip(COLUMNS, row, strict=True)) for row in self.rows()])

    def rows(self) -> Iterator[tuple[int, int, int, float, int, str]]:
        """The rows of the curve's file, one for each evaluation episode."""
        for test in self.tests:
            each = zip(test.returns.tolist(), test.steps.tolist(), test.ends.tolist(), strict=True)
            for number, values in enumerate(each):
                yield test.episodes, test.timesteps, number, *values

    def text(self) -> str:
        """The curve's file."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(self.rows())
        return text.getvalue()

    @classmethod
    def parse(cls, text: str, unit: str = "episodes") -> Curve:
        r"""The curve in a file.

        >>> Curve.parse("episodes,timesteps,test,return,steps,end\n100,900,0,1.0,5,done\n100,900,1,0.5,9,u1\n").returns
        array([[1. , 0.5]])
        """
        _, *lines = csv.reader(text.splitlines())
        tests = sum(line[2] == "0" for line in lines)
        episodes, timesteps, _, returns, steps, ends = (
            np.array(column).reshape(tests, -1) for column in zip(*lines, strict=True)
        )
        return cls(
            unit,
            episodes[:, 0].astype(np.int64),
            timesteps[:, 0].astype(np.int64),
            returns.astype(np.float64),
            steps.astype(np.int64),
            ends,
        )

    @property
    def tests(self) -> list[Test]:
        """The evaluations, one by one."""
        training = self.episodes.tolist(), self.timesteps.tolist()
        return [
            Test(*one) for one in zip(self.returns, self.steps, self.ends, *training, strict=True)
        ]


def settle_returns(returns: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Returns without the rounding errors of single precision, if they are short numbers but for that.

    >>> settle_returns([-7.99999, 100005.0, 0.91000003, 0.123456789]).tolist()
    [-8.0, 100005.0, 0.91, 0.123456789]
    """
    given = np.asarray(returns, np.float64)
    rounded = [float(f"{value:.4g}") for value in given.ravel().tolist()]
    short = np.array(rounded).reshape(given.shape)
    return np.where(abs(short - given) <= 2e-6 * abs(given), short, given)


def format_return(value: float) -> str:
    """A return for people.

    >>> [format_return(value) for value in (-7.99999, 100005.0, 0.123456789, 0.0)]
    ['-8', '100005', '0.123457', '0']
    """
    return f"{float(settle_returns(value)):g}"


def find_successes(ends: npt.NDArray[np.str_], states: Sequence[str]) -> npt.NDArray[np.float64]:
    """1.0 for each end in one of the states, else 0.0. An automaton that simulates a stack keeps its top in the state: `home@d`.

    >>> find_successes(np.array(["home", "home@d", "lost@d"]), ["home"]).tolist()
    [1.0, 1.0, 0.0]
    """
    solved = [
        name for name in np.unique(ends) if name in states or name.rpartition("@")[0] in states
    ]
    return np.isin(ends, solved).astype(np.float64)


def check_axes(x: str | None, y: str) -> None:
    """Raise unless curves have these axes."""
    if x not in (None, *UNIT_OF):
        raise BadSetting(f"x is {x!r}", fix='x="steps", or x="episodes"')
    if y not in ("return", "success"):
        raise BadSetting(f"y is {y!r}", fix='y="return", or y="success"')
