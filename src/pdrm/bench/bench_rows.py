"""What a bench measures, as rows: what a row is about, and its figures by name.

`Row({"task": "maze", "height": 8}, {"growth_states": 21_845})` is one. Everything that shows results is derived from rows: the
flat object of `pdrm bench --json`, the recorded files, tables and pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

Figures = dict[str, float]
"""Name -> number."""
OnProgress = Callable[[str, float], None]
"""Called with what is measured next, and the share of the bench that is done."""
COUNTED = ("envs", "epochs")
"""Coordinates whose name is said in flat names too: `64_envs`."""


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one thing."""

    about: dict[str, str | int]
    """Coordinate -> where the thing lies, in the order of flat names; an empty text is left out of these."""
    figures: Figures

    def flat(self) -> Figures:
        """The figures by their flat names.

        >>> Row({"envs": 64, "epochs": 2}, {"speed": 7.0}).flat(), Row({"form": ""}, {"cost": 3.0}).flat()
        ({'speed_64_envs_2_epochs': 7.0}, {'cost': 3.0})
        """
        where = [
            f"{at}_{name}" if name in COUNTED else str(at)
            for name, at in self.about.items()
            if at != ""
        ]
        return {"_".join((figure, *where)): value for figure, value in self.figures.items()}

    def rounded(self) -> Row:
        """Six digits of what was measured, which is more than any clock is good for; counts are kept.

        >>> Row({}, {"states": 2_204_977.0, "ratio": 2 / 3}).rounded().figures
        {'states': 2204977, 'ratio': 0.666667}
        """
        numbers = self.figures.items()
        return Row(
            self.about,
            {name: int(x) if float(x).is_integer() else float(f"{x:.6g}") for name, x in numbers},
        )


def flatten(rows: Iterable[Row]) -> Figures:
    """All figures of some rows as one flat object."""
    return {name: value for row in rows for name, value in row.flat().items()}


def points(rows: Iterable[Row], x: str, y: str, **about: str) -> list[tuple[float, float]]:
    """A figure by a coordinate or another figure, for the rows that have both and lie where `about` says.

    >>> points([Row({"choice": "all", "episodes": 10}, {"updates": 42.0})], "episodes", "updates", choice="all")
    [(10.0, 42.0)]
    """
    there = [{**row.about, **row.figures} for row in rows if about.items() <= row.about.items()]
    return [(float(fields[x]), float(fields[y])) for fields in there if x in fields and y in fields]
