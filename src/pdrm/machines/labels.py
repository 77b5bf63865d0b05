"""The input alphabet Σ, and sets of its labels.

A label is a set of declared events, with at most one event of each exclusive group. A set of
labels is a canonical decision diagram, so that 2^events labels need not be listed. A diagram with
arbitrary leaf values represents a partition of the labels. `cover` writes a set as few
conjunctions, which become the guard of a rule.
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
    join_formulas,
    label_text,
    spell_out,
)

# --- The alphabet


@dataclass(frozen=True)
class Alphabet:
    """The labels over `events`, with at most one event of each exclusive group.

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
        """The exclusive groups as sets of event numbers."""
        numbers = self.positions
        return [
            frozenset(numbers[event] for event in group if event in numbers)
            for group in self.exclusive
        ]

    def check(self, *labels: Collection[str]) -> None:
        """Raise unless these are labels of the alphabet."""
        for label in labels:
            if not isinstance(label, frozenset | set):
                raise ImpossibleLabel(
                    f"a label is a set of events, not {label!r}",
                    fix='write [{"a", "t"}, {"b"}] for a word, or a text: "a+t b"',
                )
            text = label_text(label)
            for event in sorted(label.difference(self.events)):
                raise UnknownEvent(
                    f"event `{event}` of label {text} is not one of the machine's events",
                    fix=suggest(event, self.events, f"add `{event}` to the `events` line"),
                )
            for group in self.exclusive:
                both = [event for event in group if event in label]
                if len(both) > 1:
                    raise ImpossibleLabel(
                        f"label {text} has `{both[0]}` and `{both[1]}`, which are exclusive",
                        fix="emit one of them, or remove the `exclusive` line",
                    )

    def labels(self) -> Iterator[Label]:
        """All labels, smallest first: exponentially many, unless events are exclusive."""
        layer: list[tuple[int, ...]] = [()]
        while layer:  # every subset of a label is a label, so labels grow by one event at a time
            yield from (frozenset(self.events[number] for number in chosen) for chosen in layer)
            layer = [
                (*chosen, more)
                for chosen in layer
                for more in range(chosen[-1] + 1 if chosen else 0, len(self.events))
                if not any(more in group and group & {*chosen} for group in self.groups)
            ]


def names_of(field: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple; refuse a text, which would be split into letters."""
    if isinstance(names, Iterable) and not isinstance(names, str | bytes):
        result = tuple(names)
        if all(isinstance(name, str) for name in result):
            return result
    raise BadShape(
        f"`{field}` is {str(names)[:40]!r}, not names",
        fix='write ("a", "b"), or (("a", "b"),) for groups',
    )


def groups_of(groups: object) -> tuple[tuple[str, ...], ...]:
    """Return groups of events as tuples; refuse a single group, which would be split."""
    sequence: Any = groups if isinstance(groups, Iterable) else [groups]
    return tuple(names_of("exclusive", group) for group in sequence)


# --- Sets of labels
#
# Nodes are numbers. An inner node tests a variable (an event, or any variable numbered after the
# events) and has two successors. A leaf has a value: true, false, or a state. Every path tests
# variables in increasing order and equal nodes are shared, so that two functions are equal if and
# only if their nodes are (Bryant 1986).

FALSE, TRUE = 0, 1
"""The leaves of a Boolean function."""

LEAF = 1 << 30
"""The variable of a leaf, which is after all others."""

MAX_CUBES = 2_000
"""The maximum number of conjunctions in a formula for a set of labels."""

MAX_SHOWN = 3
"""The maximum number of conjunctions in a message."""

Cube = tuple[tuple[int, bool], ...]
"""A conjunction: event numbers in order, each with True if the event is in the label."""


class LabelSets:
    """The sets and partitions of the labels of an alphabet. Event number i is variable i.

    >>> sets = LabelSets(Alphabet(("u", "d", "t"), (("u", "d"),)))
    >>> rest = sets.complement_of([Event("d"), Event("t")])
    >>> str(rest), sorted(rest.example()), bool(rest & sets.labels_of(Event("t")))
    ('!d & !t', [], False)
    """

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.variable_of: list[int] = []
        self.low: list[int] = []
        """The successor of each node if its variable is false."""
        self.high: list[int] = []
        """The successor of each node if its variable is true."""
        self.value: dict[int, Hashable] = {}
        """The value of each leaf."""
        self._numbers: dict[Hashable, int] = {}
        self._choices: dict[tuple[int, ...], int] = {}
        self.leaf(False)
        self.leaf(True)
        self.all = LabelSet(self, self.meet(map(self._at_most_one, alphabet.groups)))
        self.none = LabelSet(self, FALSE)

    def leaf(self, value: Hashable) -> int:
        """The leaf with a value."""
        key = isinstance(value, bool), value  # since 1 == True
        node = self._number(key, LEAF, FALSE, FALSE)
        self.value[node] = value
        return node

    def node(self, variable: int, low: int, high: int) -> int:
        """The node that tests `variable`: `low` if it is false, `high` if it is true.

        `variable` must come before all variables of `low` and `high`.
        """
        return low if low == high else self._number((variable, low, high), variable, low, high)

    def _number(self, key: Hashable, variable: int, low: int, high: int) -> int:
        number = self._numbers.setdefault(key, len(self.low))
        if number == len(self.low):
            if number > MAX_DIAGRAM_NODES:
                raise TooLarge(
                    "the labels split into too many cases",
                    fix="use smaller formulas or fewer events",
                )
            self.variable_of.append(variable)
            self.low.append(low)
            self.high.append(high)
        return number

    def variable(self, variable: int) -> int:
        """The function that is true if the variable is true."""
        if variable >= MAX_VARIABLES:
            raise TooLarge(
                f"more than {MAX_VARIABLES} events and temporal operators",
                fix="name fewer events, or split the task and combine its machines",
            )
        return self.node(variable, FALSE, TRUE)

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        """The function that is `then` if `condition` holds, else `otherwise` (with any leaves)."""
        wanted = condition, then, otherwise
        result = self._known(wanted)
        if result is not None:
            return result
        unknown: list[tuple[int, ...]] = [wanted]  # a diagram can be deeper than Python's stack
        while unknown:
            case = unknown[-1]
            variable = min(self.variable_of[node] for node in case)
            if_false, if_true = zip(*(self.cofactors(node, variable) for node in case), strict=True)
            low = self._known(if_false)
            high = self._known(if_true)
            if low is None:
                unknown.append(if_false)
            elif high is None:
                unknown.append(if_true)
            else:
                self._choices[unknown.pop()] = self.node(variable, low, high)
        return self._choices[wanted]

    def cofactors(self, node: int, variable: int) -> tuple[int, int]:
        """The function with `variable` false, and with it true.

        `variable` must not come after the variable of the node.
        """
        if self.variable_of[node] == variable:
            return self.low[node], self.high[node]
        return node, node

    def _known(self, case: tuple[int, ...]) -> int | None:
        """The result of a choice if it is trivial or cached, otherwise None."""
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
        """The conjunction of some functions."""
        return reduce(lambda left, right: self.choose(left, right, FALSE), nodes, TRUE)

    def join(self, nodes: Sequence[int]) -> int:
        """The disjunction of some functions, by halves because small diagrams share more."""
        if len(nodes) < 2:
            return nodes[0] if nodes else FALSE
        half = len(nodes) // 2
        return self.choose(self.join(nodes[:half]), TRUE, self.join(nodes[half:]))

    def substitute(self, node: int, functions: Mapping[int, int], done: dict[int, int]) -> int:
        """Replace variables by functions. `done` caches results for the same `functions`."""

        def branch(variable: int, low: int, high: int) -> int:
            condition = functions[variable] if variable in functions else self.variable(variable)
            return self.choose(condition, high, low)

        return self._rebuild(node, lambda leaf: leaf, branch, done)

    def rename_leaves(
        self, node: int, rename: Callable[[Hashable], Hashable], done: dict[int, int]
    ) -> int:
        """Replace the values of the leaves. `done` caches results for the same `rename`."""
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
        """Rebuild a diagram from the leaves up, each node once, the low successor first."""
        todo = [node]  # a diagram can be deeper than Python's stack
        while todo:
            current = todo[-1]
            low = self.low[current]
            high = self.high[current]
            if current in done:
                todo.pop()
            elif self.variable_of[current] == LEAF:
                done[current] = leaf(current)
            elif low not in done:
                todo.append(low)
            elif high not in done:
                todo.append(high)
            else:
                done[current] = branch(self.variable_of[current], done[low], done[high])
        return done[node]

    def leaves(self, node: int) -> list[Hashable]:
        """The values of the leaves of a function, each once, in the order of the labels."""
        visited: dict[int, int] = {}
        self._rebuild(node, lambda leaf: leaf, self.node, visited)
        return [self.value[node] for node in visited if self.variable_of[node] == LEAF]

    # --- Guards

    def labels_of(self, guard: Guard) -> LabelSet:
        """The labels that a guard reads (empty for a silent guard)."""
        return self.holding(guard) & self.all

    def holding(self, guard: Guard) -> LabelSet:
        """The event sets that satisfy a guard, ignoring the exclusive groups.

        >>> sets = LabelSets(Alphabet(("a", "b")))
        >>> sets.holding(Exactly({"a"})) == sets.holding(And((Event("a"), Not(Event("b")))))
        True
        """
        return LabelSet(self, self._of_guard(guard))

    def complement_of(self, guards: Iterable[Guard]) -> LabelSet:
        """The labels that no guard reads."""
        return self.all - LabelSet(self, self.join([self._of_guard(guard) for guard in guards]))

    def _at_most_one(self, group: Iterable[int]) -> int:
        """The event sets with at most one of these events."""
        none = TRUE
        at_most_one = TRUE
        for position in sorted(group, reverse=True):
            no_event = self.node(position, none, FALSE)
            at_most_one = self.node(position, at_most_one, none)
            none = no_event
        return at_most_one

    def _of_guard(self, guard: Guard) -> int:
        match guard:
            case Silent():
                return FALSE
            case Exactly(events):
                label = TRUE
                for number in reversed(range(len(self.alphabet.events))):
                    if self.alphabet.events[number] in events:
                        label = self.node(number, FALSE, label)
                    else:
                        label = self.node(number, label, FALSE)
                return label
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
        """An irredundant list of cubes that covers `least` and stays within `most` (Minato 1992).

        Returns:
            The cubes, and the function that they cover.
        """
        if least == FALSE:
            return [], FALSE
        if most == TRUE:
            return [()], TRUE
        key = least, most
        if key not in done:
            variable = min(self.variable_of[least], self.variable_of[most])
            l0, l1 = self.cofactors(least, variable)
            m0, m1 = self.cofactors(most, variable)
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
                raise TooManyCases(
                    f"the guard of a rule needs more than {MAX_CUBES:,} conjunctions",
                    fix="use a formula with fewer events, or declare exclusive events",
                )
            covered = self.choose(self.variable(variable), present_set, absent_set)
            done[key] = cubes, self.choose(either_set, TRUE, covered)
        return done[key]


def _simplest_first(cube: Cube) -> tuple[object, ...]:
    """A sort key: conjunctions with few events first, then those with early events."""
    events = [event for event, _ in cube]
    return len(cube), events[:1], sum(not present for _, present in cube), events[::-1]


@dataclass(frozen=True, slots=True)
class LabelSet:
    """A set of labels, created by `LabelSets`. Supports `&` and `-`, and is false if empty."""

    sets: LabelSets
    node: int

    def __and__(self, other: LabelSet) -> LabelSet:
        return LabelSet(self.sets, self.sets.choose(self.node, other.node, FALSE))

    def __sub__(self, other: LabelSet) -> LabelSet:
        return LabelSet(self.sets, self.sets.choose(other.node, FALSE, self.node))

    def __bool__(self) -> bool:
        return self.node != FALSE

    def example(self) -> Label:
        """A label in the set, without unnecessary events."""
        sets = self.sets
        variables = list[int]()
        node = (self & sets.all).node
        while node > TRUE:
            if sets.low[node] != FALSE:
                node = sets.low[node]
            else:
                variables.append(sets.variable_of[node])
                node = sets.high[node]
        names = sets.alphabet.events
        return frozenset(names[event] for event in variables if event < len(names))

    def formula(self) -> Formula:
        """A short formula that holds for exactly these labels."""
        sets = self.sets
        if len(sets.alphabet.events) > MAX_VARIABLES:
            raise TooManyCases(
                f"the guards of a machine with more than {MAX_VARIABLES} events are too long",
                fix="declare fewer events",
            )
        most = sets.choose(sets.all.node, self.node, TRUE)
        cubes, _ = sets.cover(self.node, most, {})
        parts: list[Formula] = []
        for cube in sorted(cubes, key=_simplest_first):
            literals: list[Formula] = []
            for number, present in sorted(cube, key=lambda literal: not literal[1]):
                event = Event(sets.alphabet.events[number])
                literals.append(event if present else Not(event))
            parts.append(join_formulas(And, literals))
        return join_formulas(Or, parts)

    def __str__(self) -> str:
        """The first conjunctions of the formula, for messages."""
        formula = self.formula()
        parts = formula.parts if isinstance(formula, Or) else (formula,)
        empty_label = spell_out(Exactly(frozenset()), self.sets.alphabet.events)
        shown = ["{}" if part == empty_label else str(part) for part in parts[:MAX_SHOWN]]
        if len(parts) > MAX_SHOWN:
            shown.append(f"… ({len(parts) - MAX_SHOWN} more)")
        return " | ".join(shown)
