"""A figure: what is drawn of a machine, before any layout or file format.

The label of a rule is written as tokens: names of the machine kept apart from the signs (ε, ∧, −) between them, because the two are
spelled differently in Unicode and in LaTeX, and only names can be replaced by a variable.

All rules from one state to another share an edge. Rules that differ in one or two names throughout are a family, drawn as one
line with variables (`{a}, z / a z, 0`, for a in u d l r), which are called as in the text that the machine was read from. If an
edge still has more lines than the paper prints, rules with equal effects are merged too (`{u} | {u, x}, u|l|r / ε, −1`). The
caption holds what the picture cannot: the values of the variables and the machine's `otherwise`.
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
    """A label in braces, its events in the order the machine declares them.

    >>> spell((ExactLabel(("u", "t")), ", z"))
    '{u, t}, z'
    """

    events: tuple[str, ...]


Token = str | Name | ExactLabel

Tokens = tuple[Token, ...]
"""Signs (plain strings), names and exact labels, in the order they are read."""


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
"""The paper's signs for those of the language."""


def tokenize_guard(guard: Guard, declared: Sequence[str] = ()) -> Tokens:
    """A guard in the paper's signs, the events of a label in the order they are declared.

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
    """Stack symbols, top first; `z` and nothing at all are signs."""
    return join(" ", [("z",) if symbol == ANY else (Name(symbol),) for symbol in symbols], "ε")


def spell_number(value: float, plus: bool = False) -> str:
    """A number with a true minus sign, and a plus where asked for.

    >>> spell_number(-1e5), spell_number(2, plus=True)
    ('−1e5', '+2')
    """
    return ("+" if plus and value > 0 else "") + number_text(value).replace("-", "−")


def join(separator: str, parts: Iterable[Tokens], empty: str = "") -> Tokens:
    """Tokens with a sign between them, or the sign for none."""
    tokens: list[Token] = []
    for part in parts:
        tokens += [separator, *part] if tokens else part
    return tuple(tokens) or (empty,)


def rename(tokens: Tokens, names: Mapping[str, str]) -> Tokens:
    """The tokens with some names replaced; in a label, the new names come first, in the order given."""

    def one(token: Token) -> Token:
        match token:
            case Name(text):
                return Name(names.get(text, text))
            case ExactLabel(events):
                replaced = (new for old, new in names.items() if old in events)
                return ExactLabel((*replaced, *(e for e in events if e not in names)))
            case _:
                return token

    return tuple(map(one, tokens))


Spell = Callable[[str], str]


def spell(
    tokens: Tokens, name: Spell = str, sign: Spell = str, braces: Sequence[str] = "{}"
) -> str:
    """The tokens as text: Unicode, unless names, signs and braces are spelled differently."""

    def one(token: Token) -> str:
        match token:
            case Name(text):
                return name(text)
            case ExactLabel(events):
                return braces[0] + ", ".join(map(name, events)) + braces[1]
            case _:
                return sign(token)

    return "".join(map(one, tokens))


# --- The line of a rule, in the order the paper prints its parts. Three kinds of rules, one shape:
# `ℓ, z / ζ, r` (pushdown), `ℓ, r` (reward machines) and `⟨ℓ, [1], [+1], r⟩` (counting, Appendix A).


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """The label that is read, the top symbol (none in a reward machine), and the effect.

    A line may stand for several rules: every guard of `guards` with every top of `tops`.

    >>> tops = ((Name("u"),), (Name("d"),))
    >>> spell(EdgeLine(((Name("a"),),), tops, (" / ε, 1",)).tokens())
    'a, u|d / ε, 1'
    """

    guards: tuple[Tokens, ...]
    tops: tuple[Tokens, ...]
    effect: Tokens
    opening: str = ""

    def tokens(self) -> Tokens:
        """The line in one piece."""
        tops = (", ", *join("|", self.tops)) if self.tops else ()
        return (self.opening, *join(" | ", self.guards), *tops, *self.effect)

    def names(self) -> list[str]:
        """The names on the line, in reading order."""
        found: dict[str, None] = {}
        for token in self.tokens():
            match token:
                case Name(text):
                    found[text] = None
                case ExactLabel(events):
                    found |= dict.fromkeys(events)
        return list(found)

    def rename(self, names: Mapping[str, str]) -> EdgeLine:
        """The line with some names replaced throughout."""
        guards = tuple(rename(guard, names) for guard in self.guards)
        tops = tuple(rename(top, names) for top in self.tops)
        return EdgeLine(guards, tops, rename(self.effect, names), self.opening)


def make_line(rule: Rule, events: Sequence[str] = (), *, stack: bool = True) -> EdgeLine:
    """The line of one rule, with the events of labels in this order; stack: False leaves the stack's part out."""
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
"""Names of the open places of a family's line, which no machine can use."""

MAX_LINES = 4
"""Lines on an edge that are readable without merging."""

MAX_NAMES = 8
"""Names on a line up to which families with two variables are looked for."""

MAX_DASHED = 12
"""Edges drawn for `otherwise`; with more, only the caption names its target."""

MIN_FAMILY = 3
"""Rules that one line with a variable stands for at least."""


class Family(NamedTuple):
    """A line whose open places are filled by each row of names.

    >>> line = EdgeLine(((Name(""),),), (), (", 1",))
    >>> spell(Family(line, (("u",), ("d",))).fill(["a"]).tokens())
    'a, 1'
    """

    line: EdgeLine
    rows: tuple[tuple[str, ...], ...] = ((),)
    text: str = ""
    """The line of the machine's text that all members come from, if it is one."""

    def fill(self, names: Sequence[str]) -> EdgeLine:
        """The line with names in its open places."""
        return self.line.rename(dict(zip(HOLES, names, strict=False)))


def compress(rules: Sequence[tuple[EdgeLine, str]]) -> list[Family]:
    """The rules of an edge, each with the line of its text, in as few lines as are readable."""
    loops: dict[str, list[EdgeLine]] = defaultdict(list)
    for line, text in rules:
        loops[text].append(line)
    families = [family for text, loop in loops.items() for family in find_families(loop, text)]
    if len(families) > MAX_LINES:
        lines = [line for line, _ in rules]
        merged = _merge(_merge(lines, _without_tops), lambda line: replace(line, guards=()))
        families = min(families, find_families(lines), find_families([*merged]), key=len)
    return families


def find_families(lines: Sequence[EdgeLine], text: str = "") -> list[Family]:
    """Gather lines that differ in one name throughout, or in two, the largest families first."""
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
    """Merge lines that differ only in what they are compared without."""
    merged: dict[EdgeLine, EdgeLine] = {}
    for line in lines:
        known = merged.setdefault(without(line), line)
        guards = dict.fromkeys((*known.guards, *line.guards))
        tops = dict.fromkeys((*known.tops, *line.tops))
        merged[without(line)] = replace(known, guards=tuple(guards), tops=tuple(tops))
    return merged.values()


def _without_tops(line: EdgeLine) -> EdgeLine:
    """The line without the symbols that it names; `z`, ε and counter tests stay apart."""
    named = all(isinstance(token, Name) for top in line.tops for token in top)
    return replace(line, tops=()) if named else line


@dataclass(frozen=True, slots=True)
class Arrow:
    """All the rules from one state to another, in lines; a dashed edge stands for `otherwise`.

    >>> Arrow("u0", "u0", (("ε, 1",),)).loop
    True
    """

    source: str
    target: str
    lines: tuple[Tokens, ...]
    dashed: bool = False

    @property
    def loop(self) -> bool:
        """True if it leads back to its own state."""
        return self.source == self.target


@dataclass(frozen=True, slots=True)
class Figure:
    """States, edges and caption of a drawing.

    >>> from pdrm.machines.guards import Event
    >>> from pdrm.machines.pushdown import PushdownRewardMachine
    >>> from pdrm.machines.transitions import Transition
    >>> rule = Transition("u0", "u1", Event("A"), "z", (), 1)
    >>> figure = make_figure(PushdownRewardMachine("m", ("A",), ("#",), "u0", ("u1",), Otherwise.stay(0), (rule,)))
    >>> [spell(line) for edge in figure.edges for line in edge.lines], [spell(line) for line in figure.caption]
    (['A, z / ε, 1'], ['otherwise: stay, 0'])
    """

    title: str
    states: tuple[str, ...]
    start: str
    final: frozenset[str]
    edges: tuple[Arrow, ...]
    caption: tuple[Tokens, ...]


def make_figure(machine: AnyKind) -> Figure:
    """The figure of a machine."""
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
        Arrow(*ends, tuple(one.fill(variables.get(one, ())).tokens() for one in some))
        for ends, some in families.items()
    ]
    edges += _draw_otherwise(machine)
    legend: dict[object, Tokens] = {}
    for family, called in variables.items():
        legend.setdefault((called, frozenset(family.rows)), _explain(family.rows, called))
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
"""Family -> the names of its variables."""


def _explain(rows: tuple[tuple[str, ...], ...], called: tuple[str, ...]) -> Tokens:
    """The line of the caption with the values of a variable, or of two."""
    spelled = [join(", ", [(Name(name),) for name in names]) for names in (called, *rows)]
    if len(called) > 1:
        spelled = [("(", *names, ")") for names in spelled]
    return ("for ", *spelled[0], " in ", *join(" ", spelled[1:]))


def _draw_otherwise(machine: AnyKind) -> Iterator[Arrow]:
    """Dashed edges to the state that `otherwise` leads to."""
    target = machine.otherwise.target
    sources = [state for state in machine.states if state not in (target, *machine.final)]
    if target is not None and len(sources) <= MAX_DASHED:
        line = ("otherwise, ", spell_number(machine.otherwise.reward))
        for source in sources:
            yield Arrow(source, target, (line,), dashed=True)


def tokenize_otherwise(otherwise: Otherwise, *, dashed: bool = False) -> Tokens:
    """The line of the caption about `otherwise`; dashed edges have no labels, so it explains them."""
    if otherwise.action == "error":
        return ("otherwise: error",)
    reward = f", {spell_number(otherwise.reward)}"
    if otherwise.target is None:
        return ("otherwise: stay" + reward,)
    return (f"otherwise{' (dashed)' * dashed}: go to ", Name(otherwise.target), reward)


def _name_variables(families: Iterable[Family], taken: Collection[str]) -> Variables:
    """Name the variables of families as their text does; a second meaning of a name gets a prime."""
    letters = chain("abc", (f"x{number}" for number in count(1)))
    free = (letter for letter in letters if letter not in taken)
    unnamed: dict[tuple[tuple[str, ...], ...], tuple[str, ...]] = {}
    meaning: dict[str, frozenset[str]] = {}
    found: Variables = {}
    for family in families:
        if family.rows == ((),):
            continue
        names = _find_names(family, taken)
        if not names:
            if family.rows not in unnamed:
                unnamed[family.rows] = tuple(next(free) for _ in family.rows[0])
            names = unnamed[family.rows]
        called = []
        for name, column in zip(names, zip(*family.rows, strict=True), strict=True):
            values = frozenset(column)
            while meaning.setdefault(name, values) != values:
                name += "′"
            called.append(name)
        found[family] = tuple(called)
    return found


TERM = re.compile(r"(?<!\w)[^\W\d]\w*(?:\([^\W\d]\w*\))?")
"""A loop variable, or a map of one, in the text of a rule."""

WORDS = ("z", "eps", "true", "false")
"""Words in the text of a rule that name nothing."""


def _find_names(family: Family, taken: Collection[str]) -> tuple[str, ...]:
    """The terms in the text of a rule that stand at the open places of its family's line, if that is clear."""
    rule = family.text.partition("//")[0].partition(":")[2]
    terms = [term for term in dict.fromkeys(TERM.findall(rule)) if term not in (*taken, *WORDS)]
    places = [name for name in family.line.names() if name in HOLES]
    if len(terms) != len(places):
        return ()
    called = dict(zip(places, terms, strict=True))
    return tuple(called[hole] for hole in HOLES[: len(places)])
