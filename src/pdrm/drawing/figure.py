"""A figure: what is drawn of a machine, before any layout or file format.

All rules from one state to another share an edge, and many rules share a line, each line standing for exactly its rules.
There are two ways. Rules with the same effect merge where all guards go with all tops (`{u} | {u, x}, u|l|r / ε, −1`). Rules
that differ in one name throughout become a family: one line with a variable (`{a}, z / a z, 0`, for a in u d l r); those that differ
in two, as the rules of a `map`, one line with two (`back(a), a / ε, 1`, for (a, back(a)) in (u, d) (d, u) …). Variables are called as in the
text that the machine was read from, where there is one. Few lines are left as they are:
the paper prints up to four rules on an edge. The caption says what the picture cannot: the variables' values (the same on every
edge) and the machine's `otherwise`. A state that only `otherwise` leads to has dashed edges.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, permutations

from pdrm.drawing.label_tokens import (
    SECOND,
    VARIABLE,
    ExactLabel,
    Name,
    RuleLine,
    Tokens,
    join,
    make_line,
    rename,
    spell_number,
)
from pdrm.machines.checks.wellformed import Machine
from pdrm.machines.transitions import Otherwise, Rule

MOST_LINES = 4
"""Lines on an edge that are readable without merging."""

MOST_NAMES = 8
"""Names on a line that are tried in pairs."""

MOST_DASHED = 6
"""Edges drawn for `otherwise`."""

SMALLEST_FAMILY = 3
"""Rules that one line with a variable stands for at least."""


@dataclass(frozen=True, slots=True)
class Family:
    """A line whose open place is filled by each of the values, and a second one by each of the `seconds`; without values it is
    that line alone.

    >>> from pdrm.drawing.label_tokens import spell
    >>> line = RuleLine(((Name(""),),), (), (", 1",))
    >>> [spell(member.tokens()) for member in Family(line, ("u", "d")).members()]
    ['u, 1', 'd, 1']
    """

    line: RuleLine
    values: tuple[str, ...] = ()
    seconds: tuple[str, ...] = ()

    def members(self) -> list[RuleLine]:
        """The lines without the variables."""
        lines = [self.line.rename(VARIABLE, value) for value in self.values] or [self.line]
        if not self.seconds:
            return lines
        return [
            line.rename(SECOND, second) for line, second in zip(lines, self.seconds, strict=True)
        ]


def compress(lines: Sequence[RuleLine]) -> list[Family]:
    """The same rules in as few lines as make them readable, in their order."""
    best = _find_pairs(find_families(lines))
    if len(best) > MOST_LINES:
        tops_first = find_families(_merge_guards(_merge_looks(lines)))
        guards_first = find_families(_merge_looks(_merge_guards(lines)))
        best = min(best, tops_first, guards_first, key=len)
    return best


def _find_pairs(families: Sequence[Family]) -> list[Family]:
    """The families, and those of the lines that are alone which differ in two names, gathered, the largest first."""
    groups: dict[RuleLine, dict[tuple[str, str], Family]] = {}
    for family in families:
        names = sorted(family.line.names()) if not family.values else []
        for first, second in permutations(names, 2) if len(names) <= MOST_NAMES else ():
            key = family.line.rename(first, VARIABLE).rename(second, SECOND)
            groups.setdefault(key, {})[first, second] = family
    found: dict[RuleLine, Family] = {}
    taken: set[RuleLine] = set()
    for line, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        pairs = [pair for pair, family in group.items() if family.line not in taken]
        if len(pairs) >= SMALLEST_FAMILY and len({first for first, _ in pairs}) == len(pairs):
            firsts, seconds = zip(*pairs, strict=True)
            found[group[pairs[0]].line] = Family(line, firsts, seconds)
            taken.update(group[pair].line for pair in pairs)
    return [
        found.get(one.line, one) for one in families if one.line in found or one.line not in taken
    ]


def find_families(lines: Sequence[RuleLine]) -> list[Family]:
    """Lines that differ in one name throughout, gathered, the largest families first."""
    groups: dict[RuleLine, dict[str, RuleLine]] = {}
    for line in lines:
        for name in sorted(line.names()):
            groups.setdefault(line.rename(name, VARIABLE), {})[name] = line
    found: dict[RuleLine, Family] = {}
    taken: set[RuleLine] = set()
    for open_line, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        values = tuple(name for name, line in group.items() if line not in taken)
        if len(values) >= SMALLEST_FAMILY:
            found[group[values[0]]] = Family(open_line, values)
            taken.update(group[name] for name in values)
    return [found.get(line, Family(line)) for line in lines if line in found or line not in taken]


def _merge_looks(lines: Iterable[RuleLine]) -> list[RuleLine]:
    """Lines alike but for the symbol they name become one; `z`, ε and counter tests stay apart."""
    merged: dict[RuleLine, RuleLine] = {}
    for line in lines:
        named = line.looks and all(isinstance(token, Name) for look in line.looks for token in look)
        key = replace(line, looks=()) if named else line
        merged[key] = (
            replace(line, looks=(*merged[key].looks, *line.looks)) if key in merged else line
        )
    return list(merged.values())


def _merge_guards(lines: Iterable[RuleLine]) -> list[RuleLine]:
    """Lines alike but for what they read become one."""
    merged: dict[RuleLine, RuleLine] = {}
    for line in lines:
        key = replace(line, guards=())
        merged[key] = (
            replace(line, guards=(*merged[key].guards, *line.guards)) if key in merged else line
        )
    return list(merged.values())


@dataclass(frozen=True, slots=True)
class Edge:
    """All the rules from one state to another, in lines.

    >>> Edge("u0", "u0", (("ε, 1",),)).loop
    True
    """

    source: str
    target: str
    lines: tuple[Tokens, ...]
    dashed: bool = False
    """Whether it stands for `otherwise`, not for rules."""

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
    >>> from pdrm.drawing.label_tokens import spell
    >>> rule = Transition("u0", "u1", Event("A"), "z", (), 1)
    >>> figure = make_figure(PushdownRewardMachine("m", ("A",), ("#",), "u0", ("u1",), Otherwise.stay(0), (rule,)))
    >>> [spell(line) for edge in figure.edges for line in edge.lines], [spell(line) for line in figure.caption]
    (['A, z / ε, 1'], ['otherwise: stay, 0'])
    """

    title: str
    states: tuple[str, ...]
    start: str
    final: frozenset[str]
    edges: tuple[Edge, ...]
    caption: tuple[Tokens, ...]


def make_figure(machine: Machine[Rule]) -> Figure:
    """What to draw of a machine."""
    parallel: dict[tuple[str, str], list[RuleLine]] = {}
    for rule in machine.transitions:
        line = make_line(rule, machine.events, plain=machine.leaves_stack)
        parallel.setdefault((rule.source, rule.target), []).append(line)
    merged = {ends: compress(lines) for ends, lines in parallel.items()}
    variables = _name_variables(
        machine, [family for families in merged.values() for family in families]
    )
    edges = tuple(
        Edge(*ends, tuple(_fill(one, variables) for one in families))
        for ends, families in merged.items()
    )
    dashed = _draw_otherwise(machine, {target for _, target in merged})
    legend = (_explain(*lists, *names) for lists, names in variables.items())
    states = tuple(dict.fromkeys((*machine.states, *machine.final)))
    caption = (*legend, tokenize_otherwise(machine.otherwise, dashed=bool(dashed)))
    return Figure(
        machine.name, states, machine.start, frozenset(machine.final), edges + dashed, caption
    )


def _fill(family: Family, variables: Variables) -> Tokens:
    """A family's line with its variables."""
    first, second = variables.get((family.values, family.seconds), (VARIABLE, SECOND))
    return rename(rename(family.line.tokens(), VARIABLE, first), SECOND, second)


def _explain(values: tuple[str, ...], seconds: tuple[str, ...], first: str, second: str) -> Tokens:
    """The line of the caption that says what a variable stands for, or two."""
    if not seconds:
        return ("for ", Name(first), " in ", *join(" ", [(Name(value),) for value in values]))
    pairs = zip(values, seconds, strict=True)
    listed = [("(", Name(one), ", ", Name(other), ")") for one, other in pairs]
    return ("for (", Name(first), ", ", Name(second), ") in ", *join(" ", listed))


def _draw_otherwise(machine: Machine[Rule], reached: set[str]) -> tuple[Edge, ...]:
    """Dashed edges to the state that `otherwise` leads to, where no rule does: else it would stand alone."""
    target = machine.otherwise.target
    if target is None or target in reached or target == machine.start:
        return ()
    line = ("otherwise, ", spell_number(machine.otherwise.reward))
    sources = [state for state in machine.states if state not in (target, *machine.final)]
    return tuple(Edge(source, target, (line,), dashed=True) for source in sources[:MOST_DASHED])


def tokenize_otherwise(otherwise: Otherwise, *, dashed: bool = False) -> Tokens:
    """The `otherwise` rule as a line of the caption, which says what dashed edges are, where there are any: they have no labels."""
    if otherwise.action == "error":
        return ("otherwise: error",)
    reward = f", {spell_number(otherwise.reward)}"
    return (
        ("otherwise: stay" + reward,)
        if otherwise.target is None
        else (f"otherwise{' (dashed)' * dashed}: go to ", Name(otherwise.target), reward)
    )


Variables = dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, str]]
"""By the values of a variable, and of a second one: what the two are called."""


def _name_variables(machine: Machine[Rule], families: list[Family]) -> Variables:
    """Names for each list of values, none of which the machine uses: those of the text it was read from, where all rules of a family
    are one line of it."""
    used: set[str] = {"z", *machine.events}
    texts: dict[Tokens, str] = {}
    for rule in machine.transitions:
        line = make_line(rule, machine.events, plain=machine.leaves_stack)
        used |= line.names()
        texts[_in_order(line)] = "" if rule.where is None else rule.where.text
    known = used | {*machine.states, *machine.final}
    named: Variables = {}
    meaning: dict[str, frozenset[str]] = {}
    for family in families:
        lists, said = (
            (family.values, family.seconds),
            {texts.get(_in_order(one), "") for one in family.members()},
        )
        names = _find_names(family, said.pop(), known) if family.values and len(said) == 1 else ()
        values = {name: frozenset(several) for name, several in zip(names, lists, strict=False)}
        if names and all(meaning.get(name, several) == several for name, several in values.items()):
            meaning |= values
            named.setdefault(lists, (names[0], names[1] if family.seconds else SECOND))
    taken = used | set(meaning)
    letters = chain("abcαβγ", (f"x{number}" for number in count(1)))
    free = (name for name in letters if name not in taken)
    every = dict.fromkeys((family.values, family.seconds) for family in families if family.values)
    return {
        both: named.get(both) or (next(free), next(free) if both[1] else SECOND) for both in every
    }


def _in_order(line: RuleLine) -> Tokens:
    """The line, with the events of labels in one order, whatever their order is where names have been replaced."""
    tokens = line.tokens()
    return tuple(
        ExactLabel(tuple(sorted(one.events))) if isinstance(one, ExactLabel) else one
        for one in tokens
    )


TERM = re.compile(r"[^\W\d]\w*(?:\([^\W\d]\w*\))?")
"""A loop variable, or a map of one, in the text of a rule."""


def _find_names(family: Family, text: str, known: Collection[str]) -> tuple[str, ...]:
    """What the text of a rule calls the places that are open in its family's line; nothing where that is not clear."""
    rule = text.partition("//")[0].partition(":")[2]
    terms = [
        term for term in dict.fromkeys(TERM.findall(rule)) if term not in (*known, *SIGNS_OF_RULES)
    ]
    places: dict[str, None] = {}
    for token in family.line.tokens():
        names = (
            token.events
            if isinstance(token, ExactLabel)
            else (token.text,)
            if isinstance(token, Name)
            else ()
        )
        places |= dict.fromkeys(name for name in names if name in (VARIABLE, SECOND))
    if len(terms) != len(places):
        return ()
    called = dict(zip(places, terms, strict=True))
    return tuple(called[place] for place in (VARIABLE, SECOND) if place in called)


SIGNS_OF_RULES = ("z", "eps", "true", "false")
