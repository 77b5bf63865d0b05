"""What is recorded of WaterWorld's agents: one line a test in tidy files, and beside each table what made it.

The records of full runs are kept with the package, so that claims and report have them where there is no GPU; those of one's
own runs, in a folder, go before them.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from pdrm.errors import NotRecorded

RECORDED = Path(__file__).parent / "paper" / "recorded"
"""Where the records of full runs are kept as data."""
COLUMNS = ("domain", "line", "seed", "timesteps", "return", "steps", "achieved")
STEPS_COLUMN = COLUMNS.index("timesteps")
OWN = "water"
"""The folder of one's own records, in that of a report."""


@dataclass(frozen=True, slots=True)
class Tested:
    """The mean over the episodes of one test of one run."""

    domain: str
    line: str
    seed: int
    timesteps: int
    returned: float
    """The raw return."""
    steps: float
    achieved: float
    """The share of episodes that ended in `done`."""


def table(tests: list[Tested], *, head: bool = True) -> str:
    """The tests as a tidy table, or as more lines of one."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    if head:
        rows.writerow(COLUMNS)
    rows.writerows(
        [one.domain, one.line, one.seed, one.timesteps, f"{one.returned:g}", f"{one.steps:g}", f"{one.achieved:g}"]
        for one in tests
    )
    return text.getvalue()


def read_table(path: Path) -> list[Tested]:
    """The tests in a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Tested(
                row["domain"],
                row["line"],
                int(row["seed"]),
                int(row["timesteps"]),
                float(row["return"]),
                float(row["steps"]),
                float(row["achieved"]),
            )
            for row in csv.DictReader(file)
        ]


@dataclass(frozen=True, slots=True)
class Record:
    """What one program of a study came to."""

    study: str
    program: str
    tests: list[Tested]
    about: dict[str, Any]
    """The command, the device, the seconds, the settings."""
    own: bool
    """Whether it was run here; else it came with the package."""


def records(study: str, folder: Path | None = None) -> list[Record]:
    """The programs of a study that are recorded: in a folder of one's own, or else with the package.

    >>> [record.program for record in records("printed")]
    ['ppo', 'rppo']
    """
    for place, own in ((folder, True), (RECORDED, False)):
        found = sorted(place.glob(f"water-{study}-*.csv")) if place is not None else []
        whole = [path for path in found if path.with_suffix(".json").exists()]
        if whole:
            return [_record(study, path, own=own) for path in whole]
    raise NotRecorded(f"WaterWorld, {study}: no run is recorded", fix="pdrm reproduce water")


def _record(study: str, path: Path, *, own: bool) -> Record:
    about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return Record(study, path.stem.removeprefix(f"water-{study}-"), read_table(path), about, own)


@dataclass(frozen=True, slots=True)
class Ending:
    """The first and the last tests of an agent on a map, over its seeds."""

    domain: str
    line: str
    seeds: int
    timesteps: int
    first_return: float
    """The median, before training."""
    returned: float
    """The median, after it."""
    spread: float
    """The standard deviation of the last returns over the seeds."""
    achieved: float
    """The median share of test episodes that achieve the task."""
    mean_achieved: float
    steps: float
    medians: tuple[tuple[int, float], ...]
    """Training steps and the median return of the tests then."""

    def reaches(self, threshold: float) -> int | None:
        """The training steps after which the median return is first as high; None: it never is."""
        return next((time for time, value in self.medians if value >= threshold), None)


def endings(tests: list[Tested]) -> list[Ending]:
    """One for each map and agent, in the order of the table."""
    return [_ending(tests, *key) for key in dict.fromkeys((test.domain, test.line) for test in tests)]


def _ending(tests: list[Tested], domain: str, line: str) -> Ending:
    own = [test for test in tests if (test.domain, test.line) == (domain, line)]
    times = sorted({test.timesteps for test in own})
    at = {time: [test for test in own if test.timesteps == time] for time in times}
    medians = tuple((time, median(test.returned for test in at[time])) for time in times)
    last = at[times[-1]]
    average = mean(test.returned for test in last)
    return Ending(
        domain,
        line,
        len(last),
        times[-1],
        medians[0][1],
        medians[-1][1],
        mean((test.returned - average) ** 2 for test in last) ** 0.5,
        median(test.achieved for test in last),
        mean(test.achieved for test in last),
        mean(test.steps for test in last),
        medians,
    )
