"""A layout-independent description of a machine's drawing.

The label of a rule is a sequence of tokens. The machine's names are separate from the signs (ε, ∧,
−) between them, because Unicode and LaTeX spell them differently, and variables replace only names.

All rules from one state to another share an edge. Rules that differ only in one or two names are a
family, drawn as one line with variables (`{a}, z / a z, 0`, for a in u d l r). The variables have
the names in the machine's text. If an edge still has more lines than the paper prints, rules with
equal effects are also merged (`{u} | {u, x}, u|l|r / ε, −1`). The caption contains the values of
the variables and the machine's `otherwise`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, permutations
from typing import NamedTuple

from pdrm.machines.counting import CountingTransition
from pdrm.machines.guards import Exactly, Guard
from pdrm.machines.machine import AnyKind
from pdrm.machines.transitions import ANY, NONE, Otherwise, Rule, Transition, number_text

# --- The label of a rule in the paper's notation


@dataclass(frozen=True, slots=True)
class Name:
    """An event, a stack symbol or a state.

    >>> spell((Name("#"), " / ", Name("A")))
    '# / A'
    """

    text: str


@dataclass(frozen=True, slots=True)
class ExactLabel:
    """A label in braces, with its events in the order of their declaration.

    >>> spell((ExactLabel(("u", "t")), ", z"))
    '{u, t}, z'
    """

    events: tuple[str, ...]


Token = str | Name | ExactLabel

Tokens = tuple[Token, ...]
"""Signs (plain strings), names and exact labels, in reading order."""


SIGNS = {
    " & ": " ∧ ",
    " | ": " ∨ ",
    "!": "¬",
    "(": "(",
    ")": ")",
    "true": "⊤",
    "false": "⊥",
    "eps": "ε",
}
"""The paper's signs for the signs of the text language."""


def tokenize_guard(guard: Guard, declared: Sequence[str] = ()) -> Tokens:
    """A guard in the paper's signs, with the events of a label in the declared order.

    >>> from pdrm.machines.guards import And, Event, Not
    >>> spell(tokenize_guard(And((Event("a"), Not(Event("t"))))))
    'a ∧ ¬t'
    """
    if isinstance(guard, Exactly):
        order = declared or sorted(guard.events)
        return (ExactLabel(tuple(event for event in order if event in guard.events)),)
    parts = re.split(r"( & | \| |[!()])", str(guard))
    return tuple(SIGNS.get(part) or Name(part) for part in parts if part)


def tokenize_stack(symbols: Iterable[str]) -> Tokens:
    """Stack symbols, top first; `z` and the empty sequence are signs."""
    return join(" ", [("z",) if symbol == ANY else (Name(symbol),) for symbol in symbols], "ε")


def spell_number(value: float, plus: bool = False) -> str:
    """A number with a true minus sign, and optionally a plus sign.

    >>> spell_number(-1e5), spell_number(2, plus=True)
    ('−1e5', '+2')
    """
    return ("+" if plus and value > 0 else "") + number_text(value).replace("-", "−")


def join(separator: str, parts: Iterable[Tokens], empty: str = "") -> Tokens:
    """Join tokens with a separator; without parts, return `empty`."""
    tokens: list[Token] = []
    for part in parts:
        tokens += [separator, *part] if tokens else part
    return tuple(tokens) or (empty,)


def rename(tokens: Tokens, names: Mapping[str, str]) -> Tokens:
    """Replace some names; in an exact label, the new names come first, in the given order."""

    def rename_token(token: Token) -> Token:
        match token:
            case Name(text):
                return Name(names.get(text, text))
            case ExactLabel(events):
                replaced = (new for old, new in names.items() if old in events)
                return ExactLabel((*replaced, *(e for e in events if e not in names)))
            case _:
                return token

    return tuple(map(rename_token, tokens))


Spell = Callable[[str], str]


def spell(
    tokens: Tokens, name: Spell = str, sign: Spell = str, braces: Sequence[str] = "{}"
) -> str:
    """Convert tokens to text: Unicode by default, or with other names, signs and braces."""

    def spell_token(token: Token) -> str:
        match token:
            case Name(text):
                return name(text)
            case ExactLabel(events):
                return braces[0] + ", ".join(map(name, events)) + braces[1]
            case _:
                return sign(token)

    return "".join(map(spell_token, tokens))


# --- The line of a rule, as in the paper. Three kinds of rules have one shape:
# `ℓ, z / ζ, r` (pushdown), `ℓ, r` (reward machines) and `⟨ℓ, [1], [+1], r⟩` (counting, Appendix A).


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """The label, the top symbol (none in a reward machine), and the effect.

    A line can stand for several rules: every guard of `guards` with every top of `tops`.

    >>> tops = ((Name("u"),), (Name("d"),))
    >>> spell(EdgeLine(((Name("a"),),), tops, (" / ε, 1",)).tokens())
    'a, u|d / ε, 1'
    """

    guards: tuple[Tokens, ...]
    tops: tuple[Tokens, ...]
    effect: Tokens
    opening: str = ""

    def tokens(self) -> Tokens:
        """The tokens of the whole line."""
        tops = (", ", *join("|", self.tops)) if self.tops else ()
        return (self.opening, *join(" | ", self.guards), *tops, *self.effect)

    def names(self) -> list[str]:
        """The names on the line, in reading order."""
        names: dict[str, None] = {}
        for token in self.tokens():
            match token:
                case Name(text):
                    names[text] = None
                case ExactLabel(events):
                    names |= dict.fromkeys(events)
        return list(names)

    def rename(self, names: Mapping[str, str]) -> EdgeLine:
        """Replace some names throughout the line."""
        guards = tuple(rename(guard, names) for guard in self.guards)
        tops = tuple(rename(top, names) for top in self.tops)
        return EdgeLine(guards, tops, rename(self.effect, names), self.opening)


def make_line(rule: Rule, events: Sequence[str] = (), *, stack: bool = True) -> EdgeLine:
    """Make the line of a rule.

    Args:
        rule: The rule.
        events: The events in the order in which labels list them.
        stack: False leaves the stack out.
    """
    guards = (tokenize_guard(rule.guard, events),)
    reward = spell_number(rule.reward)
    if isinstance(rule, CountingTransition):
        tests = "[" + ", ".join(rule.tests) + "]"
        changes = ", ".join(spell_number(change, plus=True) for change in rule.changes)
        return EdgeLine(guards, ((tests,),), (f", [{changes}], {reward}⟩",), opening="⟨")
    if isinstance(rule, Transition) and stack:
        top = tokenize_stack(() if rule.top == NONE else (rule.top,))
        return EdgeLine(guards, (top,), (" / ", *tokenize_stack(rule.push), ", ", reward))
    return EdgeLine(guards, (), (", ", reward))


# --- Many parallel rules in few lines

HOLES = ("", " ")
"""Placeholders for the variables of a family's line. No machine can have such names."""

MAX_LINES = 4
"""Maximum number of readable lines on an edge. More lines are merged."""

MAX_NAMES = 8
"""Maximum number of names on a line to search for families with two variables."""

MAX_DASHED = 12
"""Maximum number of edges drawn for `otherwise`. With more, only the caption has its target."""

MIN_FAMILY = 3
"""Minimum number of rules for a line with a variable."""


class Family(NamedTuple):
    """A line with placeholders, which each row of names replaces.

    >>> line = EdgeLine(((Name(""),),), (), (", 1",))
    >>> spell(Family(line, (("u",), ("d",))).fill(["a"]).tokens())
    'a, 1'
    """

    line: EdgeLine
    rows: tuple[tuple[str, ...], ...] = ((),)
    text: str = ""
    """The common line of all members in the machine's text, or an empty string."""

    def fill(self, names: Sequence[str]) -> EdgeLine:
        """Replace the placeholders by names."""
        return self.line.rename(dict(zip(HOLES, names, strict=False)))


def compress(rules: Sequence[tuple[EdgeLine, str]]) -> list[Family]:
    """Summarise the rules of an edge, each given with its line of text, in few readable lines."""
    by_text: dict[str, list[EdgeLine]] = defaultdict(list)
    for line, text in rules:
        by_text[text].append(line)
    families = [family for text, same in by_text.items() for family in find_families(same, text)]
    if len(families) > MAX_LINES:
        lines = [line for line, _ in rules]
        merged = _merge(_merge(lines, _without_tops), lambda line: replace(line, guards=()))
        families = min(families, find_families(lines), find_families([*merged]), key=len)
    return families


def find_families(lines: Sequence[EdgeLine], text: str = "") -> list[Family]:
    """Group lines that differ only in one or two names, the largest families first."""
    groups: dict[tuple[int, EdgeLine], dict[tuple[str, ...], EdgeLine]] = defaultdict(dict)
    for line in lines:
        names = line.names()
        for holes in (1, 2) if len(names) <= MAX_NAMES else (1,):
            for row in permutations(names, holes):
                opened = line.rename(dict(zip(row, HOLES, strict=False)))
                groups[holes, opened][row] = line
    families: dict[EdgeLine, Family] = {}
    taken: set[EdgeLine] = set()
    by_size = sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1])))
    for (_, opened), group in by_size:
        rows = tuple(row for row, line in group.items() if line not in taken)
        by_first = {row[0] for row in rows}
        if len(rows) >= MIN_FAMILY and len(by_first) == len(rows):
            families[group[rows[0]]] = Family(opened, rows, text)
            taken.update(group[row] for row in rows)
    return [
        families.get(line, Family(line)) for line in lines if line in families or line not in taken
    ]


def _merge(
    lines: Iterable[EdgeLine], without: Callable[[EdgeLine], EdgeLine]
) -> Iterable[EdgeLine]:
    """Merge lines that are equal `without` some part."""
    merged: dict[EdgeLine, EdgeLine] = {}
    for line in lines:
        other = merged.setdefault(without(line), line)
        guards = dict.fromkeys((*other.guards, *line.guards))
        tops = dict.fromkeys((*other.tops, *line.tops))
        merged[without(line)] = replace(other, guards=tuple(guards), tops=tuple(tops))
    return merged.values()


def _without_tops(line: EdgeLine) -> EdgeLine:
    """Remove the named top symbols of a line, but not `z`, ε or counter tests."""
    named = all(isinstance(token, Name) for top in line.tops for token in top)
    return replace(line, tops=()) if named else line


@dataclass(frozen=True, slots=True)
class Arrow:
    """The edge from one state to another, with its lines; a dashed edge is `otherwise`.

    >>> Arrow("u0", "u0", (("ε, 1",),)).loop
    True
    """

    source: str
    target: str
    lines: tuple[Tokens, ...]
    dashed: bool = False

    @property
    def loop(self) -> bool:
        """True if source and target are the same state."""
        return self.source == self.target


@dataclass(frozen=True, slots=True)
class Figure:
    """States, edges and caption of a drawing.

    >>> from pdrm.machines.guards import Event
    >>> from pdrm.machines.pushdown import PushdownRewardMachine
    >>> from pdrm.machines.transitions import Transition
    >>> rule = Transition("u0", "u1", Event("A"), "z", (), 1)
    >>> header = ("m", ("A",), ("#",), "u0", ("u1",), Otherwise.stay(0))
    >>> figure = make_figure(PushdownRewardMachine(*header, (rule,)))
    >>> [spell(line) for edge in figure.edges for line in edge.lines]
    ['A, z / ε, 1']
    >>> [spell(line) for line in figure.caption]
    ['otherwise: stay, 0']
    """

    title: str
    states: tuple[str, ...]
    start: str
    final: frozenset[str]
    edges: tuple[Arrow, ...]
    caption: tuple[Tokens, ...]


def make_figure(machine: AnyKind) -> Figure:
    """Make the figure of a machine."""
    parallel: dict[tuple[str, str], list[tuple[EdgeLine, str]]] = defaultdict(list)
    names: set[str] = {"z", *machine.events, *machine.states, *machine.final}
    for rule in machine.transitions:
        line = make_line(rule, machine.events, stack=not machine.is_reward_machine)
        text = "" if rule.where is None else rule.where.text
        parallel[rule.source, rule.target].append((line, text))
        names.update(line.names())
    families = {ends: compress(rules) for ends, rules in parallel.items()}
    variables = _name_variables(chain(*families.values()), names)
    edges = [
        Arrow(*ends, tuple(family.fill(variables.get(family, ())).tokens() for family in parts))
        for ends, parts in families.items()
    ]
    edges += _draw_otherwise(machine)
    legend: dict[object, Tokens] = {}
    for family, symbols in variables.items():
        legend.setdefault((symbols, frozenset(family.rows)), _explain(family.rows, symbols))
    dashed = any(edge.dashed for edge in edges)
    return Figure(
        machine.name,
        tuple(dict.fromkeys((*machine.states, *machine.final))),
        machine.start,
        frozenset(machine.final),
        tuple(edges),
        (*legend.values(), tokenize_otherwise(machine.otherwise, dashed=dashed)),
    )


Variables = dict[Family, tuple[str, ...]]
"""The names of a family's variables."""


def _explain(rows: tuple[tuple[str, ...], ...], variables: tuple[str, ...]) -> Tokens:
    """The line of the caption with the values of one or two variables."""
    spelled = [join(", ", [(Name(name),) for name in names]) for names in (variables, *rows)]
    if len(variables) > 1:
        spelled = [("(", *names, ")") for names in spelled]
    return ("for ", *spelled[0], " in ", *join(" ", spelled[1:]))


def _draw_otherwise(machine: AnyKind) -> Iterator[Arrow]:
    """Draw dashed edges to the target of `otherwise`."""
    target = machine.otherwise.target
    sources = [state for state in machine.states if state not in (target, *machine.final)]
    if target is not None and len(sources) <= MAX_DASHED:
        line = ("otherwise, ", spell_number(machine.otherwise.reward))
        for source in sources:
            yield Arrow(source, target, (line,), dashed=True)


def tokenize_otherwise(otherwise: Otherwise, *, dashed: bool = False) -> Tokens:
    """The caption's line about `otherwise`, which explains dashed edges."""
    if otherwise.action == "error":
        return ("otherwise: error",)
    reward = f", {spell_number(otherwise.reward)}"
    if otherwise.target is None:
        return ("otherwise: stay" + reward,)
    return (
        "otherwise (dashed): go to " if dashed else "otherwise: go to ",
        Name(otherwise.target),
        reward,
    )


def _name_variables(families: Iterable[Family], taken: Collection[str]) -> Variables:
    """Name variables as in the machine's text; add a prime if a name has a second meaning."""
    letters = chain("abc", (f"x{number}" for number in count(1)))
    free = (letter for letter in letters if letter not in taken)
    unnamed: dict[tuple[tuple[str, ...], ...], tuple[str, ...]] = {}
    meaning: dict[str, frozenset[str]] = {}
    variables: Variables = {}
    for family in families:
        if family.rows == ((),):
            continue
        names = _find_names(family, taken)
        if not names:
            if family.rows not in unnamed:
                unnamed[family.rows] = tuple(next(free) for _ in family.rows[0])
            names = unnamed[family.rows]
        primed = []
        for name, column in zip(names, zip(*family.rows, strict=True), strict=True):
            values = frozenset(column)
            while meaning.setdefault(name, values) != values:
                name += "′"
            primed.append(name)
        variables[family] = tuple(primed)
    return variables


TERM = re.compile(r"(?<!\w)[^\W\d]\w*(?:\([^\W\d]\w*\))?")
"""A loop variable in the text of a rule, or a map applied to it."""

WORDS = ("z", "eps", "true", "false")
"""Keywords in the text of a rule."""


def _find_names(family: Family, taken: Collection[str]) -> tuple[str, ...]:
    """Find the terms in the text of a rule that match the placeholders, if unambiguous."""
    rule = family.text.partition("//")[0].partition(":")[2]
    terms = [term for term in dict.fromkeys(TERM.findall(rule)) if term not in (*taken, *WORDS)]
    holes = [name for name in family.line.names() if name in HOLES]
    if len(terms) != len(holes):
        return ()
    names = dict(zip(holes, terms, strict=True))
    return tuple(names[hole] for hole in HOLES[: len(holes)])
