"""Rows of a table that can be looked at in a notebook, printed, gone through like a list, and made a pandas frame where pandas is
installed. Each row is made when it is asked for: a learnt table may have millions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Protocol, TypeVar, overload

from pdrm.drawing.markup import Markup, html, join, number, table
from pdrm.errors import MissingPackage, NotHere, did_you_mean
from pdrm.machines.configurations import Run as WordRun
from pdrm.machines.guards import label_text

SHOWN = 20
"""Rows that are shown or printed; the others are counted."""


class Row(Protocol):
    """A row, by the names of its columns."""

    def record(self) -> dict[str, Any]: ...


R_co = TypeVar("R_co", bound=Row, covariant=True)


def make_frame(records: Sequence[dict[str, Any]] | dict[str, Any]) -> Any:
    """A pandas `DataFrame` of rows, or of columns by their names."""
    try:
        import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError as error:
        fix = "pip install pandas, or go through the values as they are"
        raise MissingPackage("a frame needs the package pandas", fix=fix) from error
    return pandas.DataFrame(records)


class Rows(Sequence[R_co]):
    """So many rows, each made from its number, and notes that are shown below them. A name gives a column.

    >>> from pdrm.learning.run import train
    >>> rows = train("letter", "q", k=1, episodes=200).policy.table()
    >>> len(rows), rows[0].machine_state, rows[0].stack, len(rows["stack"])
    (104, 'u0', ('#',), 104)
    """

    def __init__(self, count: int, make: Callable[[int], R_co], notes: Sequence[str] = ()) -> None:
        self._count, self._make, self._notes = count, make, tuple(notes)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> R_co: ...
    @overload
    def __getitem__(self, place: slice) -> Rows[R_co]: ...
    @overload
    def __getitem__(self, place: str) -> list[Any]: ...
    def __getitem__(self, place: int | slice | str) -> R_co | Rows[R_co] | list[Any]:
        if isinstance(place, str):
            return self._column(place)
        if isinstance(place, slice):
            chosen = range(self._count)[place]
            return Rows(len(chosen), lambda number: self._make(chosen[number]))
        return self._make(range(self._count)[place])

    def frame(self) -> Any:
        """The rows as a pandas `DataFrame`."""
        return make_frame([row.record() for row in self])

    def _column(self, name: str) -> list[Any]:
        records = [row.record() for row in self]
        if records and name not in records[0]:
            raise NotHere(f"the table has no column `{name}`", fix=did_you_mean(name, records[0]))
        return [record.get(name) for record in records]

    def __repr__(self) -> str:
        return f"<{self._count:,} rows>"

    def __str__(self) -> str:
        heads, cells = self._cells()
        widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
        lines = [
            "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
            for row in [heads, *cells]
        ]
        return "\n".join([*lines, *self._count_others(), *self._notes])

    def _repr_html_(self) -> Markup:
        heads, cells = self._cells()
        numbers = [
            place for place, value in enumerate(self._first()) if isinstance(value, int | float)
        ]
        return (
            table(heads, cells, numbers)
            + html("p", *self._count_others())
            + join(html("p", note) for note in self._notes)
        )

    def _first(self) -> list[Any]:
        return list(self[0].record().values()) if self._count else []

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        records = [row.record() for row in self[:SHOWN]]
        heads = list(dict.fromkeys(name for record in records for name in record))
        return heads, [[_write(record.get(head)) for head in heads] for record in records]

    def _count_others(self) -> list[str]:
        return [f"… {self._count - SHOWN:,} more rows"] if self._count > SHOWN else []


def frame_word(run: WordRun[Any]) -> Any:
    """What a machine did with a word, as a frame: a row for the start and one for each label; its stack top first, or its counters."""
    records = []
    for place, step in enumerate(run.steps):
        there = asdict(step.after)
        label = None if step.label is None else label_text(step.label)
        records.append({"step": place, "label": label, **there, "reward": float(step.reward)})
    return make_frame(records)


def _write(value: object) -> str:
    if isinstance(value, tuple | list):
        return " ".join(map(str, value)) or "(empty)"
    return number(value) if isinstance(value, int | float) else "" if value is None else str(value)
