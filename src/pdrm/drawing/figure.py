"""A figure: what is drawn of a machine, before any layout or file format; many parallel rules in few lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from itertools import count
from typing import Protocol

from pdrm.drawing.label_tokens import (
    VARIABLE,
    Name,
    Words,
    guard_words,
    joined,
    names_in,
    number_sign,
    renamed,
    stack_words,
    top_words,
)
from pdrm.machines.counting import CountingTransition
from pdrm.machines.reward_machine import RewardTransition
from pdrm.machines.transitions import Otherwise, Transition
from pdrm.machines.wellformed import Machine, Rule

# --- Labels of edges: one line a rule, in the order the paper prints its parts.
#
# A line may stand for several rules: every guard of `guards` with every top of `looks`. Three kinds of rules, one shape:
# `ℓ, z / ζ, r` (pushdown), `ℓ, r` (reward machines) and `⟨ℓ, [1], [+1], r⟩` (counting, Appendix A).


@dataclass(frozen=True, slots=True)
class Line:
    """What is read, what is looked at (nothing in a reward machine), and what then happens.

    >>> from pdrm.drawing.label_tokens import Name, plain
    >>> tops = ((Name("u"),), (Name("d"),))
    >>> plain(Line(((Name("a"),),), tops, (" / ε, 1",)).words())
    'a, u|d / ε, 1'
    """

    guards: tuple[Words, ...]
    looks: tuple[Words, ...]
    effect: Words
    opening: str = ""

    def words(self) -> Words:
        """The line in one piece."""
        looks = (", ", *joined("|", self.looks)) if self.looks else ()
        return (self.opening, *joined(" | ", self.guards), *looks, *self.effect)

    def names(self) -> frozenset[str]:
        """The names on the line."""
        return names_in(self.words())

    def renamed(self, old: str, new: str) -> Line:
        """The line with one name replaced throughout."""
        guards = tuple(renamed(guard, old, new) for guard in self.guards)
        looks = tuple(renamed(look, old, new) for look in self.looks)
        return Line(guards, looks, renamed(self.effect, old, new), self.opening)


@singledispatch
def line_of(rule: Rule, _events: Sequence[str] = ()) -> Line:
    """The line of one rule, of whichever kind; the events give the order inside labels."""
    raise TypeError(f"no label is known for {type(rule).__name__}")


@line_of.register
def _(rule: Transition, events: Sequence[str] = ()) -> Line:
    effect = (" / ", *stack_words(rule.push), ", ", number_sign(rule.reward))
    return Line((guard_words(rule.guard, events),), (top_words(rule.top),), effect)


@line_of.register
def _(rule: RewardTransition, events: Sequence[str] = ()) -> Line:
    return Line((guard_words(rule.guard, events),), (), (", ", number_sign(rule.reward)))


@line_of.register
def _(rule: CountingTransition, events: Sequence[str] = ()) -> Line:
    tests = "[" + ", ".join(rule.tests) + "]"
    changes = "[" + ", ".join(number_sign(change, plus=True) for change in rule.changes) + "]"
    effect = (", ", changes, ", ", number_sign(rule.reward), "⟩")
    return Line((guard_words(rule.guard, events),), ((tests,),), effect, opening="⟨")


# --- Families: many parallel rules in few lines, each line exactly the rules it stands for.
#
# Two ways. Rules with the same effect merge where all guards go with all tops (`{u} | {u, x}, u|l|r / ε, −1`). Rules that
# differ in one name throughout become one line with a variable (`{a}, z / a z, 0`, for a in u d l r).
# Few lines are left as they are: the paper prints up to four rules on an edge.

MOST_LINES = 4
"""Lines on an edge that are readable without merging."""

SMALLEST_FAMILY = 3
"""Rules that one line with a variable stands for at least."""


@dataclass(frozen=True, slots=True)
class Family:
    """A line whose open place is filled by each of the values; without values it is that line alone.

    >>> from pdrm.drawing.label_tokens import plain
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


# --- A figure: what is drawn of a machine, before any layout or file format.
#
# Edges are merged (one a pair of states), variables are named (one a list of values, the same on every edge), and the
# caption says what the picture cannot: the variables' values and the machine's `otherwise`.


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

    >>> from pdrm.machines.guards import Event
    >>> from pdrm.machines.pushdown import PushdownRewardMachine
    >>> from pdrm.machines.transitions import Transition
    >>> from pdrm.drawing.label_tokens import plain
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
