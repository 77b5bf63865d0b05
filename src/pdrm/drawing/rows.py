"""Tables: rows for notebooks, printing, Markdown, LaTeX or pandas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, overload

from pdrm.drawing.markup import Markup, html, join, number, table
from pdrm.drawing.tikz import escape_prose
from pdrm.drawing.trace import align
from pdrm.errors import UnknownName, did_you_mean
from pdrm.lazy import make_frame

SHOWN = 20
"""Maximum number of rows that are shown or printed. The others are counted."""


class HasRecord(Protocol):
    """A row that can be converted to a dictionary."""

    def record(self) -> dict[str, Any]: ...


R_co = TypeVar("R_co", bound=HasRecord, covariant=True)


class Cells(NamedTuple):
    """A table of texts: its headings, its rows, and its right-aligned columns of numbers."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[int] = ()

    @classmethod
    def from_records(cls, records: Sequence[Mapping[str, Any]]) -> Cells:
        """Format records as cells, without empty columns."""
        written = [{name: _write(value) for name, value in record.items()} for record in records]
        headings = list(
            dict.fromkeys(name for row in written for name, text in row.items() if text)
        )
        numbers = [
            column
            for column, name in enumerate(headings)
            if all(isinstance(record.get(name), int | float | None) for record in records)
        ]
        return cls(headings, [[row.get(name, "") for name in headings] for row in written], numbers)

    def text(self) -> str:
        """The table as lines with aligned columns."""
        return align([self.headings, *self.rows])

    def markdown(self) -> str:
        r"""The table in Markdown.

        >>> print(Cells(["a", "b"], [["x|y", "1"]], [1]).markdown())
        | a | b |
        |---|--:|
        | x\|y | 1 |
        """
        sides = ["--:" if column in self.numbers else "---" for column in range(len(self.headings))]
        first, *others = (
            " | ".join(cell.replace("|", r"\|") for cell in row)
            for row in (self.headings, *self.rows)
        )
        return "\n".join(
            [f"| {first} |", f"|{'|'.join(sides)}|", *(f"| {row} |" for row in others)]
        )

    def latex(self) -> str:
        r"""The table as a `tabular` with the rules of the package booktabs.

        >>> print(Cells(["a", "b"], [["50%", "1"]], [1]).latex())
        \begin{tabular}{lr}
        \toprule
        a & b \\
        \midrule
        50\% & 1 \\
        \bottomrule
        \end{tabular}
        """
        sides = ["r" if column in self.numbers else "l" for column in range(len(self.headings))]
        first, *others = (
            " & ".join(map(escape_prose, row)) + r" \\" for row in (self.headings, *self.rows)
        )
        head = [rf"\begin{{tabular}}{{{''.join(sides)}}}", r"\toprule", first, r"\midrule"]
        return "\n".join([*head, *others, r"\bottomrule", r"\end{tabular}"])


def _write(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple | list):
        return " ".join(map(str, value)) or "(empty)"
    return number(value) if isinstance(value, int | float) else str(value)


class Rows(Sequence[R_co]):
    """The rows of a table, made on demand, with notes below. Indexing by name returns a column.

    >>> from pdrm.learning.run import train
    >>> rows = train("letter", "q", k=1, episodes=200).policy.table()
    >>> len(rows), rows[0].machine_state, rows[0].stack, len(rows["stack"])
    (104, 'u0', ('#',), 104)
    """

    def __init__(self, count: int, make: Callable[[int], R_co], notes: Sequence[str] = ()) -> None:
        self._count = count
        self._make = make
        self._notes = notes

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> R_co: ...
    @overload
    def __getitem__(self, index: slice) -> Rows[R_co]: ...
    @overload
    def __getitem__(self, index: str) -> list[Any]: ...
    def __getitem__(self, index: int | slice | str) -> R_co | Rows[R_co] | list[Any]:
        if isinstance(index, str):
            records = self._records()
            if records and index not in records[0]:
                fix = did_you_mean(index, records[0])
                raise UnknownName(f"the table has no column `{index}`", fix=fix)
            return [record.get(index) for record in records]
        chosen = range(self._count)[index]
        if isinstance(chosen, range):
            return Rows(len(chosen), lambda number: self._make(chosen[number]), self._notes)
        return self._make(chosen)

    def __repr__(self) -> str:
        return f"<{self._count:,} rows>"

    def __str__(self) -> str:
        return "\n".join([self._cells(SHOWN).text(), *self._foot()])

    def _repr_html_(self) -> Markup:
        return table(*self._cells(SHOWN)) + join(html("p", line) for line in self._foot())

    def frame(self) -> Any:
        """Convert the rows to a pandas `DataFrame`."""
        return make_frame(self._records())

    def to_markdown(self) -> str:
        """All rows as a table in Markdown."""
        return self._cells().markdown()

    def to_latex(self) -> str:
        """All rows as a `tabular` with the rules of the package booktabs."""
        return self._cells().latex()

    def _records(self, limit: int | None = None) -> list[dict[str, Any]]:
        return [row.record() for row in self[:limit]]

    def _cells(self, limit: int | None = None) -> Cells:
        return Cells.from_records(self._records(limit))

    def _foot(self) -> list[str]:
        hidden = [f"… {self._count - SHOWN:,} more rows"] if self._count > SHOWN else []
        return [*hidden, *self._notes]
