"""A figure: what is drawn of a machine, before any layout or file format.

Edges are merged (one a pair of states), variables are named (one a list of values, the same on every edge), and the
caption says what the picture cannot: the variables' values and the machine's `otherwise`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from pdrm.drawing.families import Family, compressed
from pdrm.drawing.label import Line, line_of
from pdrm.drawing.words import VARIABLE, Name, Words, joined, number_sign, renamed
from pdrm.machines.transition import Otherwise
from pdrm.machines.wellformed import Machine


class NamedMachine(Machine, Protocol):
    """A machine of any of the three kinds."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Edge:
    """All the rules from one state to another, in lines.

    >>> Edge("u0", "u0", (("ε, 1",),)).loop
    True
    """

    source: str
    target: str
    lines: tuple[Words, ...]

    @property
    def loop(self) -> bool:
        """Whether it leads back to its own state."""
        return self.source == self.target


@dataclass(frozen=True, slots=True)
class Figure:
    """States, edges and caption of a drawing.

    >>> from pdrm.machines.guard import Event
    >>> from pdrm.machines.pushdown import PushdownRewardMachine
    >>> from pdrm.machines.transition import Transition
    >>> from pdrm.drawing.words import plain
    >>> rule = Transition("u0", "u1", Event("A"), "z", (), 1)
    >>> figure = figure_of(PushdownRewardMachine("m", ("A",), ("#",), "u0", ("u1",), Otherwise.stay(0), (rule,)))
    >>> [plain(line) for edge in figure.edges for line in edge.lines], [plain(line) for line in figure.caption]
    (['A, z / ε, 1'], ['otherwise: stay, 0'])
    """

    title: str
    states: tuple[str, ...]
    start: str
    final: frozenset[str]
    edges: tuple[Edge, ...]
    caption: tuple[Words, ...]
    loops: dict[str, Edge] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "loops", {edge.source: edge for edge in self.edges if edge.loop})


def figure_of(machine: NamedMachine) -> Figure:
    """What to draw of a machine."""
    parallel: dict[tuple[str, str], list[Line]] = {}
    for rule in machine.transitions:
        parallel.setdefault((rule.source, rule.target), []).append(line_of(rule, machine.events))
    merged = {ends: compressed(lines) for ends, lines in parallel.items()}
    variables = _variables(machine, [family for families in merged.values() for family in families])
    edges = tuple(
        Edge(*ends, tuple(_filled(family, variables) for family in families)) for ends, families in merged.items()
    )
    legend = tuple(_legend(variable, values) for values, variable in variables.items())
    states = tuple(dict.fromkeys((*machine.states, *machine.final)))
    caption = (*legend, otherwise_words(machine.otherwise))
    return Figure(machine.name, states, machine.start, frozenset(machine.final), edges, caption)


def otherwise_words(otherwise: Otherwise) -> Words:
    """The `otherwise` rule as a line of the caption."""
    match otherwise.action:
        case "go":
            return ("otherwise: go to ", Name(otherwise.target or ""), f", {number_sign(otherwise.reward)}")
        case "stay":
            return (f"otherwise: stay, {number_sign(otherwise.reward)}",)
        case _:
            return ("otherwise: error",)


def _variables(machine: NamedMachine, families: list[Family]) -> dict[tuple[str, ...], str]:
    """A name for each list of values, none of which the machine uses."""
    used: set[str] = {"z", *machine.events}
    for rule in machine.transitions:
        used |= line_of(rule).names()
    free = (name for name in _letters() if name not in used)
    lists = dict.fromkeys(family.values for family in families if family.values)
    return dict(zip(lists, free, strict=False))


def _letters() -> Iterator[str]:
    """Names for variables: a, b, c, then the Greek ones, then x1, x2, ..."""
    yield from "abcαβγ"
    yield from (f"x{number}" for number in count(1))


def _filled(family: Family, variables: dict[tuple[str, ...], str]) -> Words:
    words = family.line.words()
    return renamed(words, VARIABLE, variables[family.values]) if family.values else words


def _legend(variable: str, values: tuple[str, ...]) -> Words:
    return ("for ", Name(variable), " in ", *joined(" ", [(Name(value),) for value in values]))
