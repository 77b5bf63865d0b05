"""Decision diagrams: functions of the events of a label, each in one form only.

A node asks for one variable (an event, or whatever the user numbers) and leads to two others; a leaf holds a value: true,
false, or a state. Variables are asked in the order of their numbers, and equal nodes are one node, so two functions are equal
just when their nodes are (Bryant 1986). So all labels are covered without listing 2^events of them. `cover` writes a set
of labels as few conjunctions (Minato 1992), which become the guard of a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import reduce

from pdrm.errors import TooLarge, TooManyCases
from pdrm.limits import MOST_DIAGRAM_NODES, MOST_VARIABLES, spend
from pdrm.machines.alphabet import MOST_CUBES, Alphabet, Cube
from pdrm.machines.guards import ALWAYS, And, Event, Exactly, Formula, Guard, Label, Not, Or, Silent

FALSE, TRUE = 0, 1
"""The two leaves that every function of yes and no ends in."""

LEAF = 1 << 30
"""The variable of a leaf: it comes after all others."""

AT_ONCE = 64
"""Nodes and look-ups that are counted together as steps of reading: counting each would take longer than making it."""


class Diagrams:
    """A store of nodes. Nodes are numbers.

    >>> store = Diagrams()
    >>> a, b = store.variable(0), store.variable(1)
    >>> store.choose(a, b, FALSE) == store.choose(b, a, FALSE) != store.choose(a, TRUE, b)
    True
    """

    __slots__ = ("_choices", "_leaves", "_nodes", "high", "low", "value", "variable_of")

    def __init__(self) -> None:
        self.variable_of = [LEAF, LEAF]
        self.low = [FALSE, TRUE]
        self.high = [FALSE, TRUE]
        self.value: dict[int, Hashable] = {FALSE: False, TRUE: True}
        """What each leaf holds."""
        self._leaves: dict[tuple[bool, Hashable], int] = {(True, False): FALSE, (True, True): TRUE}
        self._nodes: dict[tuple[int, int, int], int] = {}
        self._choices: dict[tuple[int, int, int], int] = {}

    def leaf(self, value: Hashable) -> int:
        """The leaf that holds a value."""
        key = isinstance(value, bool), value  # 1 == True
        found = self._leaves.get(key)
        if found is None:
            found = self._leaves[key] = self._add(LEAF, FALSE, FALSE)
            self.value[found] = value
        return found

    def node(self, variable: int, low: int, high: int) -> int:
        """The node that asks for a variable, which those below must not: `low` where it is false, `high` where true."""
        if low == high:
            return low
        key = variable, low, high
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = self._add(variable, low, high)
        return found

    def _add(self, variable: int, low: int, high: int) -> int:
        number = len(self.low)
        if MOST_VARIABLES <= variable < LEAF:
            fault = f"more than {MOST_VARIABLES} events and temporal operators at once"
            raise TooLarge(
                fault, fix="name fewer events, or split the task and combine its machines"
            )
        if not number % AT_ONCE:
            spend(AT_ONCE)
            if number > MOST_DIAGRAM_NODES:
                raise TooLarge(
                    "the labels split into too many cases",
                    fix="use a smaller formula or fewer events",
                )
        self.variable_of.append(variable)
        self.low.append(low)
        self.high.append(high)
        return number

    def variable(self, variable: int) -> int:
        """The function that is true where the variable is."""
        return self.node(variable, FALSE, TRUE)

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        """`then` where the condition holds and `otherwise` elsewhere; these two may have any leaves."""
        if condition == TRUE or then == otherwise:
            return then
        if condition == FALSE:
            return otherwise
        if then == TRUE and otherwise == FALSE:
            return condition
        key = condition, then, otherwise
        found = self._choices.get(key)
        if found is None:
            variables, low, high = self.variable_of, self.low, self.high
            first, second, third = variables[condition], variables[then], variables[otherwise]
            least = min(first, second, third)
            c0, c1 = (low[condition], high[condition]) if first == least else (condition, condition)
            t0, t1 = (low[then], high[then]) if second == least else (then, then)
            o0, o1 = (low[otherwise], high[otherwise]) if third == least else (otherwise, otherwise)
            found = self._choices[key] = self.node(
                least, self.choose(c0, t0, o0), self.choose(c1, t1, o1)
            )
            if not len(self._choices) % AT_ONCE:
                spend(2 * AT_ONCE)
        return found

    def invert(self, node: int) -> int:
        return self.choose(node, FALSE, TRUE)

    def meet(self, nodes: Iterable[int]) -> int:
        """Where all hold."""
        return reduce(lambda one, other: self.choose(one, other, FALSE), nodes, TRUE)

    def join(self, nodes: Iterable[int]) -> int:
        """Where one holds."""
        return reduce(lambda one, other: self.choose(one, TRUE, other), nodes, FALSE)

    def substitute(self, node: int, given: Mapping[int, int], done: dict[int, int]) -> int:
        """The function with other functions in the place of variables; `done` is shared by calls with the same ones."""
        if self.variable_of[node] == LEAF:
            return node
        found = done.get(node)
        if found is None:
            low = self.substitute(self.low[node], given, done)
            high = self.substitute(self.high[node], given, done)
            variable = self.variable_of[node]
            asked = given.get(variable)
            found = done[node] = self.choose(
                self.variable(variable) if asked is None else asked, high, low
            )
        return found

    def rename_leaves(
        self, node: int, rename: Callable[[Hashable], Hashable], done: dict[int, int]
    ) -> int:
        """The function with other values in its leaves; `done` is shared by calls with the same names."""
        found = done.get(node)
        if found is None:
            if self.variable_of[node] == LEAF:
                found = self.leaf(rename(self.value[node]))
            else:
                low = self.rename_leaves(self.low[node], rename, done)
                found = self.node(
                    self.variable_of[node], low, self.rename_leaves(self.high[node], rename, done)
                )
            done[node] = found
            if not len(done) % AT_ONCE:
                spend(AT_ONCE)
        return found

    def leaves(self, node: int) -> list[Hashable]:
        """The values in the leaves of a function, each once, in the order of the labels."""
        seen, found, todo = {node}, list[Hashable](), [node]
        while todo:
            here = todo.pop()
            if self.variable_of[here] == LEAF:
                found.append(self.value[here])
                continue
            for below in (self.high[here], self.low[here]):
                if below not in seen:
                    seen.add(below)
                    todo.append(below)
        return found

    # --- Labels

    def possible(self, alphabet: Alphabet) -> int:
        """The labels in which no two exclusive events are; event number i of the alphabet is variable i."""
        return self.meet(self._at_most_one(group) for group in alphabet.groups)

    def _at_most_one(self, group: int) -> int:
        none, one = TRUE, TRUE
        for position in reversed(range(group.bit_length())):
            if group >> position & 1:
                none, one = self.node(position, none, FALSE), self.node(position, one, none)
        return one

    def of_guard(self, guard: Guard, alphabet: Alphabet) -> int:
        """The labels that a guard reads (none where it is silent).

        >>> store, sigma = Diagrams(), Alphabet(("a", "b"))
        >>> store.of_guard(Exactly({"a"}), sigma) == store.of_guard(And((Event("a"), Not(Event("b")))), sigma)
        True
        """
        match guard:
            case Silent():
                return FALSE
            case Exactly(events):
                signs = [(number, event in events) for number, event in enumerate(alphabet.events)]
                return self.meet(
                    self.variable(number) if there else self.invert(self.variable(number))
                    for number, there in signs
                )
            case Event(name):
                return self.variable(alphabet.events.index(name))
            case Not(inner):
                return self.invert(self.of_guard(inner, alphabet))
            case And(parts):
                return self.meet(self.of_guard(part, alphabet) for part in parts)
            case Or(parts):
                return self.join(self.of_guard(part, alphabet) for part in parts)

    def find(self, node: int, label: Label, events: Collection[str]) -> Hashable:
        """The value of a function at a label."""
        there = {number for number, event in enumerate(events) if event in label}
        while self.variable_of[node] != LEAF:
            node = (self.high if self.variable_of[node] in there else self.low)[node]
        return self.value[node]

    def cover(self, least: int, most: int) -> list[Cube]:
        """Few cubes, none of which could be left out, whose labels include `least` and stay within `most`."""
        return self._cover(least, most, {})[0]

    def _cover(
        self, least: int, most: int, done: dict[tuple[int, int], tuple[list[Cube], int]]
    ) -> tuple[list[Cube], int]:
        """The cubes, and what they cover."""
        if least == FALSE:
            return [], FALSE
        if most == TRUE:
            return [Cube(0, 0)], TRUE
        key = least, most
        if key not in done:
            spend()
            variable = min(self.variable_of[least], self.variable_of[most])
            (l0, l1), (m0, m1) = (
                (self.low[n], self.high[n]) if self.variable_of[n] == variable else (n, n)
                for n in key
            )
            bit = 1 << variable
            absent, absent_set = self._cover(self.choose(m1, FALSE, l0), m0, done)
            present, present_set = self._cover(self.choose(m0, FALSE, l1), m1, done)
            rest = self.join(
                (self.choose(absent_set, FALSE, l0), self.choose(present_set, FALSE, l1))
            )
            either, either_set = self._cover(rest, self.choose(m0, m1, FALSE), done)
            cubes = [
                *(Cube(cube.required, cube.forbidden | bit) for cube in absent),
                *(Cube(cube.required | bit, cube.forbidden) for cube in present),
                *either,
            ]
            spend(len(cubes))
            if len(cubes) > MOST_CUBES:
                fix = "use a formula with fewer events at once, or say which events exclude each other"
                raise TooManyCases(
                    f"a rule would read more than {MOST_CUBES:,} kinds of labels", fix=fix
                )
            covered = self.choose(self.variable(variable), present_set, absent_set)
            done[key] = cubes, self.choose(either_set, TRUE, covered)
        return done[key]


def formula_of(cubes: Collection[Cube], alphabet: Alphabet) -> Formula:
    """The formula that holds for the labels in one of the cubes.

    >>> sigma = Alphabet(("a", "b"))
    >>> print(formula_of([sigma.cube("a"), sigma.cube("", "b")], sigma))
    a | !b
    """
    if any(cube == (0, 0) for cube in cubes):
        return ALWAYS
    parts = [alphabet.formula(cube) for cube in sorted(cubes, key=_simplest_first)]
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _simplest_first(cube: Cube) -> tuple[int, int, int, int]:
    """Conjunctions of few events first, then those of early events."""
    either = cube.required | cube.forbidden
    return either.bit_count(), either & -either, cube.forbidden.bit_count(), either
