"""The input alphabet Σ, and sets of its labels.

A label is a set of declared events; at most one event of an exclusive group is in a label. A set of labels is a decision
diagram, which has one form only, so all labels are covered without listing 2^events of them. A diagram whose leaves are
values is a partition of the labels. `cover` writes a set as few conjunctions, which become the guard of a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

from pdrm.errors import (
    BadShape,
    ImpossibleLabel,
    TooLarge,
    TooManyCases,
    UnknownEvent,
    suggest,
)
from pdrm.files import MAX_DIAGRAM_NODES, MAX_VARIABLES
from pdrm.machines.guards import (
    And,
    Event,
    Exactly,
    Formula,
    Guard,
    Label,
    Not,
    Or,
    Silent,
    label_text,
    spell_out,
)

# --- The alphabet


@dataclass(frozen=True)
class Alphabet:
    """The labels over `events` in which no two events of an exclusive group occur together.

    >>> sigma = Alphabet(("u", "d", "t"), (("u", "d"),))
    >>> [label_text(label) for label in sigma.labels()]
    ['{}', '{u}', '{d}', '{t}', '{t, u}', '{d, t}']
    """

    events: tuple[str, ...]
    exclusive: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", names_of("events", self.events))
        object.__setattr__(self, "exclusive", groups_of(self.exclusive))

    @cached_property
    def positions(self) -> dict[str, int]:
        """The number of each event."""
        return {event: number for number, event in enumerate(self.events)}

    @cached_property
    def groups(self) -> list[frozenset[int]]:
        """The exclusive groups as numbers of events."""
        known = self.positions
        return [frozenset(known[one] for one in group if one in known) for group in self.exclusive]

    def check(self, *labels: Collection[str]) -> None:
        """Raise unless these are labels of this alphabet."""
        for label in labels:
            if not isinstance(label, frozenset | set):
                fix = 'write {"a", "t"}; a word of labels can be a text, "a+t -"'
                raise ImpossibleLabel(f"a label is a set of events, not {label!r}", fix=fix)
            text = label_text(label)
            for event in sorted(label.difference(self.events)):
                fault = f"event `{event}` of label {text} is not one of the machine's events"
                fix = suggest(event, self.events, f"add `{event}` to the `events` line")
                raise UnknownEvent(fault, fix=fix)
            for group in self.exclusive:
                both = [event for event in group if event in label]
                if len(both) > 1:
                    fault = f"label {text} holds both `{both[0]}` and `{both[1]}`, which are declared exclusive"
                    fix = "emit one of them, or remove the `exclusive` line"
                    raise ImpossibleLabel(fault, fix=fix)

    def labels(self) -> Iterator[Label]:
        """Every label, smallest first. There may be exponentially many, unless events are exclusive."""
        layer: list[tuple[int, ...]] = [()]
        while layer:  # a part of a label is a label, so larger ones are found from smaller ones
            yield from (frozenset(self.events[place] for place in chosen) for chosen in layer)
            layer = [
                (*chosen, more)
                for chosen in layer
                for more in range(chosen[-1] + 1 if chosen else 0, len(self.events))
                if not any(more in group and group & {*chosen} for group in self.groups)
            ]


def names_of(field: str, names: Iterable[str]) -> tuple[str, ...]:
    """Names given in Python as a tuple; a text is refused, because it would be taken letter by letter."""
    if isinstance(names, Iterable) and not isinstance(names, str | bytes):
        several = tuple(names)
        if all(isinstance(name, str) for name in several):
            return several
    raise BadShape(
        f"`{field}` is {str(names)[:40]!r}, not names",
        fix='write ("a", "b"), or (("a", "b"),) for groups',
    )


def groups_of(groups: object) -> tuple[tuple[str, ...], ...]:
    """Groups of events as tuples; one group alone is refused, because it would be taken event by event."""
    several: Any = groups if isinstance(groups, Iterable) else [groups]
    return tuple(names_of("exclusive", group) for group in several)


# --- Sets of labels
#
# Nodes are numbers. A node asks for one variable (an event, or whatever the user numbers after the events) and leads to two
# others; a leaf holds a value: true, false, or a state. Variables are asked in the order of their numbers, and equal nodes are
# one node, so two functions are equal just when their nodes are (Bryant 1986).

FALSE, TRUE = 0, 1
"""The two leaves that every function of yes and no ends in."""

LEAF = 1 << 30
"""The variable of a leaf: it comes after all others."""

MAX_CUBES = 2_000
"""Conjunctions that a set of labels may be written as."""

MAX_SHOWN = 3
"""Conjunctions that a message spells out."""

Cube = tuple[tuple[int, bool], ...]
"""The labels in which each of these events, in order, is held or not."""


class LabelSets:
    """The sets and partitions of the labels of an alphabet; event number i is variable i.

    >>> sets = LabelSets(Alphabet(("u", "d", "t"), (("u", "d"),)))
    >>> left = sets.all - sets.labels_of(Event("d")) - sets.labels_of(Event("t"))
    >>> str(left), sorted(left.example()), bool(left & sets.labels_of(Event("t")))
    ('!d & !t', [], False)
    """

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.variable_of: list[int] = []
        self.low: list[int] = []
        """The node that each leads to if its variable is false."""
        self.high: list[int] = []
        """The node that each leads to if its variable is true."""
        self.value: dict[int, Hashable] = {}
        """The value of each leaf."""
        self._numbers: dict[Hashable, int] = {}
        self._choices: dict[tuple[int, ...], int] = {}
        self.leaf(False)
        self.leaf(True)
        self.all = LabelSet(self, self.meet(map(self._at_most_one, alphabet.groups)))
        self.none = LabelSet(self, FALSE)

    def leaf(self, value: Hashable) -> int:
        """The leaf that holds a value."""
        found = self._number((isinstance(value, bool), value), LEAF, FALSE, FALSE)  # 1 == True
        self.value[found] = value
        return found

    def node(self, variable: int, low: int, high: int) -> int:
        """The node that asks for a variable, which those below must not: `low` if it is false, `high` if true."""
        return low if low == high else self._number((variable, low, high), variable, low, high)

    def _number(self, key: Hashable, variable: int, low: int, high: int) -> int:
        number = self._numbers.setdefault(key, len(self.low))
        if number == len(self.low):
            if number > MAX_DIAGRAM_NODES:
                fix = "use smaller formulas or fewer events"
                raise TooLarge("the labels split into too many cases", fix=fix)
            self.variable_of.append(variable)
            self.low.append(low)
            self.high.append(high)
        return number

    def variable(self, variable: int) -> int:
        """The function that is true if the variable is."""
        if variable >= MAX_VARIABLES:
            fault = f"more than {MAX_VARIABLES} events and temporal operators at once"
            fix = "name fewer events, or split the task and combine its machines"
            raise TooLarge(fault, fix=fix)
        return self.node(variable, FALSE, TRUE)

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        """`then` if the condition holds and `otherwise` if not; these two may have any leaves."""
        asked = condition, then, otherwise
        found = self._known(asked)
        if found is not None:
            return found
        unknown: list[tuple[int, ...]] = [asked]  # a diagram may be deeper than Python's stack
        while unknown:
            case = unknown[-1]
            variable = min(self.variable_of[node] for node in case)
            low, high = zip(*(self._branches(node, variable) for node in case), strict=True)
            below, above = self._known(low), self._known(high)
            if below is None:
                unknown.append(low)
            elif above is None:
                unknown.append(high)
            else:
                self._choices[unknown.pop()] = self.node(variable, below, above)
        return self._choices[asked]

    def _branches(self, node: int, variable: int) -> tuple[int, int]:
        """The function if the variable, which is not after its own, is false, and if it is true."""
        own = self.variable_of[node] == variable
        return (self.low[node], self.high[node]) if own else (node, node)

    def _known(self, case: tuple[int, ...]) -> int | None:
        """The function of a choice, if it is plain or has been made before."""
        condition, then, otherwise = case
        if condition == TRUE or then == otherwise:
            return then
        if condition == FALSE:
            return otherwise
        if then == TRUE and otherwise == FALSE:
            return condition
        return self._choices.get(case)

    def invert(self, node: int) -> int:
        return self.choose(node, FALSE, TRUE)

    def meet(self, nodes: Iterable[int]) -> int:
        """The function that is true if all are."""
        return reduce(lambda one, other: self.choose(one, other, FALSE), nodes, TRUE)

    def join(self, nodes: Sequence[int]) -> int:
        """The function that is true if one is; halves are joined, since small diagrams share more."""
        if len(nodes) < 2:
            return nodes[0] if nodes else FALSE
        half = len(nodes) // 2
        return self.choose(self.join(nodes[:half]), TRUE, self.join(nodes[half:]))

    def substitute(self, node: int, given: Mapping[int, int], done: dict[int, int]) -> int:
        """The function with variables replaced by functions; `done` is shared by calls with the same ones."""

        def ask(variable: int, low: int, high: int) -> int:
            condition = given[variable] if variable in given else self.variable(variable)
            return self.choose(condition, high, low)

        return self._rebuild(node, lambda leaf: leaf, ask, done)

    def rename_leaves(
        self, node: int, rename: Callable[[Hashable], Hashable], done: dict[int, int]
    ) -> int:
        """The function with other values in its leaves; `done` is shared by calls with the same names."""
        return self._rebuild(
            node, lambda leaf: self.leaf(rename(self.value[leaf])), self.node, done
        )

    def _rebuild(
        self,
        node: int,
        leaf: Callable[[int], int],
        branch: Callable[[int, int, int], int],
        done: dict[int, int],
    ) -> int:
        """The function with leaves and branches made again, each once."""
        if node not in done:
            variable = self.variable_of[node]
            if variable == LEAF:
                done[node] = leaf(node)
            else:
                low = self._rebuild(self.low[node], leaf, branch, done)
                high = self._rebuild(self.high[node], leaf, branch, done)
                done[node] = branch(variable, low, high)
        return done[node]

    def leaves(self, node: int) -> list[Hashable]:
        """The values in the leaves of a function, each once, in the order of the labels."""
        found = list[Hashable]()

        def keep(leaf: int) -> int:
            found.append(self.value[leaf])
            return leaf

        self._rebuild(node, keep, self.node, {})
        return found

    # --- Guards

    def labels_of(self, guard: Guard) -> LabelSet:
        """The labels that a guard reads (none if it is silent)."""
        return self.holding(guard) & self.all

    def holding(self, guard: Guard) -> LabelSet:
        """The sets of events that a guard holds for, exclusive or not.

        >>> sets = LabelSets(Alphabet(("a", "b")))
        >>> sets.holding(Exactly({"a"})) == sets.holding(And((Event("a"), Not(Event("b")))))
        True
        """
        return LabelSet(self, self._of_guard(guard))

    def complement_of(self, guards: Iterable[Guard]) -> LabelSet:
        """The labels that no guard reads."""
        return self.all - LabelSet(self, self.join([self._of_guard(guard) for guard in guards]))

    def _at_most_one(self, group: Iterable[int]) -> int:
        """The labels with at most one of these events."""
        none, one = TRUE, TRUE
        for position in sorted(group, reverse=True):
            none, one = self.node(position, none, FALSE), self.node(position, one, none)
        return one

    def _of_guard(self, guard: Guard) -> int:
        match guard:
            case Silent():
                return FALSE
            case Exactly(events):
                found = TRUE
                for number in reversed(range(len(self.alphabet.events))):
                    there = self.alphabet.events[number] in events
                    found = self.node(number, *((FALSE, found) if there else (found, FALSE)))
                return found
            case Event(name):
                return self.node(self.alphabet.positions[name], FALSE, TRUE)
            case Not(inner):
                return self.invert(self._of_guard(inner))
            case And(parts):
                return self.meet(map(self._of_guard, parts))
            case Or(parts):
                return self.join([self._of_guard(part) for part in parts])

    # --- Formulas

    def cover(
        self, least: int, most: int, done: dict[tuple[int, int], tuple[list[Cube], int]]
    ) -> tuple[list[Cube], int]:
        """Few cubes, none of which could be left out, whose labels include `least` and stay within `most` (Minato 1992), and
        the function that they cover."""
        if least == FALSE:
            return [], FALSE
        if most == TRUE:
            return [()], TRUE
        key = least, most
        if key not in done:
            variable = min(self.variable_of[least], self.variable_of[most])
            (l0, l1), (m0, m1) = (self._branches(node, variable) for node in key)
            absent, absent_set = self.cover(self.choose(m1, FALSE, l0), m0, done)
            present, present_set = self.cover(self.choose(m0, FALSE, l1), m1, done)
            rest = self.join(
                (self.choose(absent_set, FALSE, l0), self.choose(present_set, FALSE, l1))
            )
            either, either_set = self.cover(rest, self.choose(m0, m1, FALSE), done)
            cubes = [((variable, False), *cube) for cube in absent]
            cubes += [((variable, True), *cube) for cube in present]
            cubes += either
            if len(cubes) > MAX_CUBES:
                fix = "use a formula with fewer events at once, or say which events exclude each other"
                fault = f"a rule would read more than {MAX_CUBES:,} kinds of labels"
                raise TooManyCases(fault, fix=fix)
            covered = self.choose(self.variable(variable), present_set, absent_set)
            done[key] = cubes, self.choose(either_set, TRUE, covered)
        return done[key]


def _simplest_first(cube: Cube) -> tuple[object, ...]:
    """Conjunctions of few events first, then those of early events."""
    events = [event for event, _ in cube]
    return len(cube), events[:1], sum(not held for _, held in cube), events[::-1]


@dataclass(frozen=True, slots=True)
class LabelSet:
    """Some labels of an alphabet: made by `LabelSets`, combined with `&` and `-`; false if empty."""

    sets: LabelSets
    node: int

    def __and__(self, other: LabelSet) -> LabelSet:
        return LabelSet(self.sets, self.sets.choose(self.node, other.node, FALSE))

    def __sub__(self, other: LabelSet) -> LabelSet:
        return LabelSet(self.sets, self.sets.choose(other.node, FALSE, self.node))

    def __bool__(self) -> bool:
        return self.node != FALSE

    def example(self) -> Label:
        """A label of the set, without events that it need not hold."""
        sets = self.sets
        held, node = list[int](), (self & sets.all).node
        while node > TRUE:
            if sets.low[node] != FALSE:
                node = sets.low[node]
            else:
                held.append(sets.variable_of[node])
                node = sets.high[node]
        names = sets.alphabet.events
        return frozenset(names[event] for event in held if event < len(names))

    def formula(self) -> Formula:
        """A short formula that holds for just these labels."""
        sets = self.sets
        if len(sets.alphabet.events) > MAX_VARIABLES:
            raise TooManyCases(f"labels of more than {MAX_VARIABLES} events are not spelt out")
        most = sets.choose(sets.all.node, self.node, TRUE)
        parts: list[Formula] = []
        for cube in sorted(sets.cover(self.node, most, {})[0], key=_simplest_first):
            literals: list[Formula] = []
            for number, held in sorted(cube, key=lambda one: not one[1]):
                event = Event(sets.alphabet.events[number])
                literals.append(event if held else Not(event))
            parts.append(literals[0] if len(literals) == 1 else And(tuple(literals)))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def __str__(self) -> str:
        """The first conjunctions of the formula, for messages."""
        formula = self.formula()
        parts = formula.parts if isinstance(formula, Or) else (formula,)
        none = spell_out(Exactly(frozenset()), self.sets.alphabet.events)
        shown = ["{}" if part == none else str(part) for part in parts[:MAX_SHOWN]]
        more = [f"… ({len(parts) - MAX_SHOWN} more)"] if len(parts) > MAX_SHOWN else []
        return " | ".join([*shown, *more])
