"""Temporal formulas become reward machines, by progression (Bacchus and Kabanza 1998) on diagrams.

After some labels, what is left to show is a function of the parts of the formula at the next label,
if there is one. Functions are decision diagrams, so equal ones are one state, and there are finitely
many. Reading a label replaces each part by what it comes to: `a U b` is `b`, or `a` and again
`a U b` if a label follows. For each past operator the state also holds the value of its argument one
label ago, as such a function too: then past may stand inside future and future inside past. Events
are asked before all else in a diagram, so what is below them are the next states.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from pdrm.errors import BadSetting, Where
from pdrm.files import MAX_AUTOMATON_STATES, MAX_OPERATORS
from pdrm.language.logic.acceptors import Acceptor, reward_machine
from pdrm.language.logic.temporal_formulas import (
    FORMULA,
    Temporal,
    events_in,
    parse_task,
    subformulas,
)
from pdrm.language.source import limit, split_lines
from pdrm.language.task_text import END_EVENT, TaskOptions, TaskText, with_default_location
from pdrm.machines.labels import FALSE, TRUE, Alphabet, LabelSets, groups_of
from pdrm.machines.pushdown import PushdownRewardMachine


def from_ltlf(
    formula: str,
    events: Iterable[str] | None = None,
    *,
    accept: str = "first",
    reward: float = 1.0,
    fail: float | str | None = None,
    step: float = 0.0,
    exclusive: Iterable[Iterable[str]] = (),
    name: str = "formula",
) -> PushdownRewardMachine:
    """Make the reward machine of a formula of linear temporal logic on finite traces.

    A formula is about the first label; one with past operators only is about the last label read.

    Args:
        formula: Events and operators, as `pdrm.language.logic.temporal_formulas` has them.
        events: The events that labels may hold (default: those that the formula names).
        accept: `"first"`: the task is done as soon as the labels read so far, at least one, satisfy
            the formula. `"end"`: when the event `end` is read after such labels.
        reward: Paid when the task is done.
        fail: Paid at the first label after which the formula cannot be satisfied any more; the
            episode ends there in the final state `lost`. By default nothing is paid and it does not
            end; `"ignore"` skips the label.
        step: Paid for every label.
        exclusive: Groups of events of which a label holds at most one.
        name: The name of the machine.

    Example:
        >>> machine = from_ltlf("F(a & X F b)", events=["a", "b"])
        >>> machine.run([{"a"}, set(), {"b"}]).accepted, machine.run([{"b"}, {"a"}]).accepted
        (True, False)
        >>> print(*(rule.plain_text for rule in machine.transitions), sep="; ")
        u0 -> u1 : a, 0; u1 -> done : b, 1
    """
    options = TaskOptions(accept, reward, fail, step, {}, events or (), exclusive)
    return build(TaskText(name, options, tuple(split_lines(formula, FORMULA)), {}, FORMULA))


def build(task: TaskText) -> PushdownRewardMachine:
    """The machine of a task's text; if `options.events` is given, no other events are allowed."""
    options, file = task.options, task.file
    given = tuple(options.events)
    formula, looks_back = parse_task(list(task.body), given or None, file)
    events = given or tuple(events_in(formula))
    if options.accept == "end":
        if END_EVENT in events_in(formula):
            fault = (
                f"the formula names the event `{END_EVENT}`, which says that the word is complete"
            )
            raise BadSetting(fault, where=Where(file), fix="use another name, or accept first")
        events = (*(event for event in events if event != END_EVENT), END_EVENT)
    alphabet = Alphabet(events, groups_of(options.exclusive or ()))
    with with_default_location(where := task.body[0].at(1) if task.body else Where(file)):
        acceptor = Progression(formula, alphabet).explore()
        return reward_machine(acceptor, task.name, options, where, looks_back)


State = tuple[int, ...]
"""A formula that is left to show, and the formula that each past operator looks back to."""


class Progression:
    """The states of a formula.

    >>> from pdrm.language.logic.temporal_formulas import parse_formula
    >>> acceptor = Progression(parse_formula("F(a & X F b)"), Alphabet(("a", "b"))).explore()
    >>> len(acceptor.moves), acceptor.accepting
    (3, [False, False, True])
    """

    def __init__(self, formula: Temporal, alphabet: Alphabet) -> None:
        self.sets = LabelSets(alphabet)
        self.parts = subformulas(formula)
        asked = [part for part in self.parts if part.operator not in ("true", "!", "&")]
        operators = sum(part.operator != "event" for part in asked)
        limit(operators, MAX_OPERATORS, "different temporal operators")
        self.more = len(alphabet.events)
        """The variable that says whether a label follows."""
        self.variable = {
            part: self.more + 1 + number for number, part in enumerate(reversed(asked))
        }
        """The variable of each part at the next label."""
        self.back = {
            part: slot
            for slot, part in enumerate((part for part in asked if part.operator in "YS"), start=1)
        }
        """The place in the state of what a past operator looks back to."""
        variables = {part: self.sets.variable(one) for part, one in self.variable.items()}
        self.now = self._express(variables)
        nothing = self._express(dict.fromkeys(asked, FALSE))[formula]
        first = self.sets.choose(self.sets.variable(self.more), self.now[formula], nothing)
        self.start: State = (first, *[FALSE] * len(self.back))

    def _express(self, values: dict[Temporal, int]) -> dict[Temporal, int]:
        """The value of every part, from the values of events and temporal operators."""
        found = dict(values)
        for part in self.parts:
            if part not in found:
                found[part] = self._join(part, found)
        return found

    def _join(self, part: Temporal, value: dict[Temporal, int]) -> int:
        """The value of a negation, a conjunction or `true`, from the values of its parts."""
        parts = [value[each] for each in part.parts]
        return self.sets.invert(parts[0]) if part.operator == "!" else self.sets.meet(parts)

    def _read(self, state: State) -> State:
        """The next state, as functions of the label and of what follows."""
        sets = self.sets
        more = sets.variable(self.more)
        value: dict[Temporal, int] = {}
        given = {self.more: TRUE}
        done: dict[int, int] = {}
        for part in self.parts:  # parts before what they are parts of
            match part.operator:
                case "event":
                    found = sets.variable(sets.alphabet.positions[part.name])
                case "X":
                    found = sets.meet((more, self.now[part.parts[0]]))
                case "U":
                    found = sets.meet((more, self.now[part]))
                case "Y" | "S":
                    found = sets.substitute(state[self.back[part]], given, {})
                case _:
                    found = self._join(part, value)
            if part.operator in (
                "U",
                "S",
            ):  # `found` is the same at the next label, or the last one
                holds, goal = part.parts
                again = sets.meet((value[holds], found))
                found = sets.choose(value[goal], TRUE, again)
            value[part] = found
            if part in self.variable:
                given[self.variable[part]] = value[part]
        looks = (value[part.parts[0] if part.operator == "Y" else part] for part in self.back)
        return (sets.substitute(state[0], given, done), *looks)

    def explore(self) -> Acceptor:
        """The acceptor: what a state does with labels is a diagram whose leaves are states, or None for an impossible label."""
        self.numbers = {self.start: 0}
        moves: list[int] = []
        for state in (order := [self.start]):
            moves.append(self._split((self.sets.all.node, *self._read(state)), {}))
            order += islice(self.numbers, len(order), None)
            limit(len(order), MAX_AUTOMATON_STATES, "states")
        ended = {self.more: FALSE}
        accepting = [self.sets.substitute(state[0], ended, {}) == TRUE for state in order]
        return Acceptor(self.sets, moves, accepting)

    def _split(self, nodes: State, done: dict[State, int]) -> int:
        """The diagram over events whose leaves are the states below them."""
        sets = self.sets
        if nodes in done:
            return done[nodes]
        variable = min(sets.variable_of[node] for node in nodes)
        if nodes[0] == FALSE:
            found = sets.leaf(None)
        elif variable < self.more:
            low, high = (
                tuple(after[node] if sets.variable_of[node] == variable else node for node in nodes)
                for after in (sets.low, sets.high)
            )
            absent = self._split(low, done)
            found = sets.node(variable, absent, self._split(high, done))
        else:
            found = sets.leaf(self.numbers.setdefault(nodes[1:], len(self.numbers)))
        done[nodes] = found
        return found
