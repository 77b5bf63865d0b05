"""Families: many parallel rules in few lines, each line exactly the rules it stands for.

Two ways. Rules with the same effect merge where all guards go with all tops (`{u} | {u, x}, u|l|r / ε, −1`). Rules that
differ in one name throughout become one line with a variable (`{a}, z / a z, 0`, for a in u d l r).
Few lines are left as they are: the paper prints up to four rules on an edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from pdrm.drawing.label import Line
from pdrm.drawing.words import VARIABLE, Name

MOST_LINES = 4
"""Lines on an edge that are readable without merging."""

SMALLEST_FAMILY = 3
"""Rules that one line with a variable stands for at least."""


@dataclass(frozen=True, slots=True)
class Family:
    """A line whose open place is filled by each of the values; without values it is that line alone.

    >>> from pdrm.drawing.words import plain
    >>> line = Line(((Name(""),),), (), (", 1",))
    >>> [plain(member.words()) for member in Family(line, ("u", "d")).members()]
    ['u, 1', 'd, 1']
    """

    line: Line
    values: tuple[str, ...] = ()

    def members(self) -> list[Line]:
        """The lines without the variable."""
        return [self.line.renamed(VARIABLE, value) for value in self.values] or [self.line]


def compressed(lines: Sequence[Line]) -> list[Family]:
    """The same rules in as few lines as make them readable, in their order."""
    best = families(lines)
    if len(best) > MOST_LINES:
        tops_first = families(_merged_guards(_merged_looks(lines)))
        guards_first = families(_merged_looks(_merged_guards(lines)))
        best = min(best, tops_first, guards_first, key=len)
    return best


def families(lines: Sequence[Line]) -> list[Family]:
    """Lines that differ in one name throughout, gathered, the largest families first."""
    groups: dict[Line, dict[str, Line]] = {}
    for line in lines:
        for name in sorted(line.names()):
            groups.setdefault(line.renamed(name, VARIABLE), {})[name] = line
    found: dict[Line, Family] = {}
    taken: set[Line] = set()
    for open_line, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        values = tuple(name for name, line in group.items() if line not in taken)
        if len(values) >= SMALLEST_FAMILY:
            found[group[values[0]]] = Family(open_line, values)
            taken.update(group[name] for name in values)
    return [found.get(line, Family(line)) for line in lines if line in found or line not in taken]


def _merged_looks(lines: Iterable[Line]) -> list[Line]:
    """Lines alike but for the symbol they name become one; `z`, ε and counter tests stay apart."""
    return _merged(
        lines,
        key=lambda line: replace(line, looks=()) if _named(line) else line,
        merge=lambda group: replace(group[0], looks=tuple(look for line in group for look in line.looks)),
    )


def _named(line: Line) -> bool:
    return bool(line.looks) and all(isinstance(word, Name) for look in line.looks for word in look)


def _merged_guards(lines: Iterable[Line]) -> list[Line]:
    """Lines alike but for what they read become one."""
    return _merged(
        lines,
        key=lambda line: replace(line, guards=()),
        merge=lambda group: replace(group[0], guards=tuple(guard for line in group for guard in line.guards)),
    )


def _merged(lines: Iterable[Line], key: Callable[[Line], Line], merge: Callable[[list[Line]], Line]) -> list[Line]:
    groups: dict[Line, list[Line]] = {}
    for line in lines:
        groups.setdefault(key(line), []).append(line)
    return [merge(group) for group in groups.values()]
