"""A learning curve: the tests of a run, one after the other, and its file.

A test is a number of episodes without exploration. `curve.csv` has one line per test episode: how much training came before,
the number of the episode, its return and length, and the machine state in which it ended.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.files import Arrays, need

COLUMNS, ARRAYS = ("test", "return", "steps", "end"), ("at", "returns", "steps", "ends")
"""Of a curve's file, and of a checkpoint."""
UNITS = {"episodes": "episode", "timesteps": "timesteps"}
"""How a curve's first column is called, by what training is counted in."""


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """What the episodes of one test paid, how long they were, and in which machine states they ended."""

    at: int  # training before it, in the agent's unit
    returns: npt.NDArray[np.float64]  # [E]
    steps: npt.NDArray[np.int64]  # [E]
    ends: npt.NDArray[np.str_]  # [E]

    def settle(self) -> Test:
        """The test of a network, with returns as they would be but for its single precision."""
        return replace(self, returns=settle_returns(self.returns))


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The tests of a run: T tests of E episodes each."""

    unit: str  # what training is counted in: episodes or timesteps
    at: npt.NDArray[np.int64]  # [T]: training before each test
    returns: npt.NDArray[np.float64]  # [T, E]
    steps: npt.NDArray[np.int64]  # [T, E]
    ends: npt.NDArray[np.str_]  # [T, E]

    @classmethod
    def of(cls, unit: str, tests: Sequence[Test]) -> Curve:
        """The curve of some tests."""
        return cls(unit, *(np.array([getattr(test, name) for test in tests]) for name in ARRAYS))

    def __len__(self) -> int:
        return len(self.at)

    def __repr__(self) -> str:
        last = f", final mean return {format_return(self.returns[-1].mean())}" if len(self) else ""
        return f"<Curve of {len(self)} tests{last}>"

    @property
    def final_return(self) -> float:
        """The mean return of the last test."""
        return float(self.returns[-1].mean())

    def frame(self) -> Any:
        """The curve as a pandas `DataFrame`, with a row for each episode of a test and the columns of `curve.csv`: the training before
        the test, the number of the episode, its return and length, and the machine state in which it ended."""
        from pdrm.drawing.rows import make_frame

        episodes = self.returns.shape[1] if len(self) else 0
        columns = (
            np.repeat(self.at, episodes),
            np.tile(np.arange(episodes), len(self)),
            self.returns,
            self.steps,
            self.ends,
        )
        names = (UNITS[self.unit], *COLUMNS)
        return make_frame(
            {name: column.ravel() for name, column in zip(names, columns, strict=True)}
        )

    def text(self) -> str:
        """The curve's file."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow((UNITS[self.unit], *COLUMNS))
        for at, *columns in zip(self.at.tolist(), self.returns, self.steps, self.ends, strict=True):
            for number, (gained, steps, end) in enumerate(zip(*columns, strict=True)):
                rows.writerow([at, number, repr(float(gained)), int(steps), end])
        return text.getvalue()

    @classmethod
    def parse(cls, text: str) -> Curve:
        r"""The curve in a file; `ValueError` says what is wrong.

        >>> Curve.parse("episode,test,return,steps,end\n100,0,1.0,5,done\n100,1,0.5,9,u1\n").returns
        array([[1. , 0.5]])
        """
        header, *lines = csv.reader(text.splitlines(), strict=True) if text else [[]]
        unit = next((unit for unit, column in UNITS.items() if header == [column, *COLUMNS]), None)
        need((unit is not None, f"its columns are {', '.join(header)[:100]}"))
        need(
            (
                all(len(line) == len(COLUMNS) + 1 for line in lines),
                "a line has too few or too many columns",
            )
        )
        at, number, returns, steps, ends = (
            zip(*lines, strict=True) if lines else ((), (), (), (), ())
        )
        times = np.unique(np.array(at, np.int64))
        shape = len(times), len(lines) // max(1, len(times))
        need((shape[0] * shape[1] == len(lines), "its tests have different numbers of episodes"))
        order = np.repeat(times, shape[1]), np.tile(np.arange(shape[1]), shape[0])
        given = np.array(at, np.int64), np.array(number, np.int64)
        need(
            (
                all(np.array_equal(*pair) for pair in zip(given, order, strict=True)),
                "its lines are out of order",
            )
        )
        curve = cls(
            unit or "",
            times,
            np.array(returns, np.float64).reshape(shape),
            np.array(steps, np.int64).reshape(shape),
            np.array(ends, np.str_).reshape(shape),
        )
        need(
            (
                not np.isnan(curve.returns).any() and bool((curve.steps >= 0).all()),
                "a number is out of its range",
            )
        )
        return curve

    def arrays(self) -> Arrays:
        """The tests as arrays, for a checkpoint."""
        return {f"tests.{name}": getattr(self, name) for name in ARRAYS}


def read_tests(arrays: Arrays, times: Sequence[int], names: Sequence[str]) -> list[Test]:
    """The tests in a checkpoint's arrays, which were made at these times; an episode ends in one of the named states.

    `ValueError` or `KeyError` says what is wrong.
    """
    at, returns, steps, ends = (arrays[f"tests.{name}"] for name in ARRAYS)
    need(
        (
            at.dtype == np.int64 and at.tolist() == list(times),
            "its tests are not those of the training before it",
        ),
        (
            returns.dtype == np.float64 and steps.dtype == np.int64 and ends.dtype.kind == "U",
            "its tests are no numbers",
        ),
        (
            returns.ndim == 2 and returns.shape == steps.shape == ends.shape,
            "its tests do not fit together",
        ),
        (len(returns) == len(at) and returns.shape[1:] > (0,), "its tests do not fit together"),
    )
    need(
        (not np.isnan(returns).any() and bool((steps >= 0).all()), "a test is out of its range"),
        (
            bool(np.isin(ends, names).all()),
            "a test ended in a state that the machine does not have",
        ),
    )
    return [Test(int(when), *rest) for when, *rest in zip(at, returns, steps, ends, strict=True)]


def settle_returns(returns: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Returns without what single precision, in which networks add up, has done to them: those that are short numbers but for that.

    >>> settle_returns([-7.99999, 100005.0, 0.91000003, 0.123456789]).tolist()
    [-8.0, 100005.0, 0.91, 0.123456789]
    """
    given = np.asarray(returns, np.float64)
    short = np.array([float(f"{value:.4g}") for value in given.ravel().tolist()]).reshape(
        given.shape
    )
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
    achieved = [
        name for name in np.unique(ends) if name in states or name.rpartition("@")[0] in states
    ]
    return np.isin(ends, achieved).astype(np.float64)
