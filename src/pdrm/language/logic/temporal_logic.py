"""Reward machines from temporal formulas, by progression on diagrams (Bacchus and Kabanza 1998).

The obligation that remains after a prefix is a Boolean function of the subformulas at the next
label, if there is one. Functions are decision diagrams, so there are finitely many, and equal
functions are the same state. Reading a label expands each subformula: `a U b` becomes `b`, or `a`
and again `a U b` if a label follows. For each past operator, the state also contains the value of
its argument at the previous label, as such a function. So past and future operators can be nested.
Events are the first variables of a diagram, so the nodes below them are the next states.
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
    """Build a reward machine from a formula of linear temporal logic on finite traces.

    A formula is evaluated at the first label. If it contains only past operators, it is evaluated
    at the last label.

    Args:
        formula: The formula, in the notation of `pdrm.language.logic.temporal_formulas`.
        events: The events that labels can contain (default: the events of the formula).
        accept: `"first"`: the task is done as soon as the labels so far, at least one, satisfy the
            formula. `"end"`: it is done when the event `end` is read after such labels.
        reward: The reward for completing the task.
        fail: The effect of the first label after which the formula cannot be satisfied. A number is
            given as reward, and the episode ends in the final state `lost`. By default the machine
            stays in `lost`, which is not final. `"ignore"` skips the label.
        step: The reward for every label.
        exclusive: Groups of events of which a label contains at most one.
        name: The name of the machine.

    >>> machine = from_ltlf("F(a & X F b)", events=["a", "b"])
    >>> machine.run([{"a"}, set(), {"b"}]).accepted, machine.run([{"b"}, {"a"}]).accepted
    (True, False)
    >>> print(*(rule.plain_text for rule in machine.transitions), sep="; ")
    u0 -> u1 : a, 0; u1 -> done : b, 1
    """
    options = TaskOptions(accept, reward, fail, step, {}, events or (), exclusive)
    return build(TaskText(name, options, tuple(split_lines(formula, FORMULA)), {}, FORMULA))


def build(task: TaskText) -> PushdownRewardMachine:
    """Build the machine of a task. With `options.events`, other events are not allowed."""
    options = task.options
    declared = tuple(options.events)
    formula, looks_back = parse_task(list(task.body), declared or None, task.file)
    events = declared or tuple(events_in(formula))
    if options.accept == "end":
        if END_EVENT in events_in(formula):
            raise BadSetting(
                f"the formula contains the event `{END_EVENT}`, which ends the word",
                where=Where(task.file),
                fix="use another name, or accept first",
            )
        events = (*(event for event in events if event != END_EVENT), END_EVENT)
    alphabet = Alphabet(events, groups_of(options.exclusive or ()))
    where = task.body[0].at(1) if task.body else Where(task.file)
    with with_default_location(where):
        acceptor = Progression(formula, alphabet).explore()
        return reward_machine(acceptor, task.name, options, where, looks_back)


State = tuple[int, ...]
"""The remaining obligation, and the previous value of the argument of each past operator."""


class Progression:
    """The states of a formula, as tuples of functions over subformulas at the next label.

    >>> from pdrm.language.logic.temporal_formulas import parse_formula
    >>> acceptor = Progression(parse_formula("F(a & X F b)"), Alphabet(("a", "b"))).explore()
    >>> len(acceptor.moves), acceptor.accepting
    (3, [False, False, True])
    """

    def __init__(self, formula: Temporal, alphabet: Alphabet) -> None:
        self.sets = LabelSets(alphabet)
        self.parts = subformulas(formula)
        atoms = [part for part in self.parts if part.operator not in ("true", "!", "&")]
        """The events and temporal operators, of which the other subformulas are combinations."""
        operators = sum(part.operator != "event" for part in atoms)
        limit(operators, MAX_OPERATORS, "different temporal operators")
        self.more = len(alphabet.events)
        """The variable that is true if a label follows."""
        self.variable = {
            part: self.more + 1 + number for number, part in enumerate(reversed(atoms))
        }
        """The variable of each atom at the next label."""
        past_operators = (part for part in atoms if part.operator in "YS")
        self.back = {part: index for index, part in enumerate(past_operators, start=1)}
        """The index in the state for each past operator."""
        variables = {part: self.sets.variable(number) for part, number in self.variable.items()}
        self.now = self._express(variables)
        """Each subformula as a function of the atoms."""
        at_end = self._express(dict.fromkeys(atoms, FALSE))[formula]
        first = self.sets.choose(self.sets.variable(self.more), self.now[formula], at_end)
        self.start: State = (first, *[FALSE] * len(self.back))

    def _express(self, values: dict[Temporal, int]) -> dict[Temporal, int]:
        """Compute the values of all subformulas from the values of the atoms."""
        values = dict(values)
        for part in self.parts:
            if part not in values:
                values[part] = self._combine(part, values)
        return values

    def _combine(self, part: Temporal, values: dict[Temporal, int]) -> int:
        """The value of a negation, a conjunction or `true`, from the values of its parts."""
        operands = [values[operand] for operand in part.parts]
        return self.sets.invert(operands[0]) if part.operator == "!" else self.sets.meet(operands)

    def _read(self, state: State) -> State:
        """The next state, as functions of the label just read and of the atoms at the next one."""
        sets = self.sets
        more = sets.variable(self.more)
        values: dict[Temporal, int] = {}
        functions = {self.more: TRUE}
        for part in self.parts:  # in order: the value of a part depends on the values of its parts
            match part.operator:
                case "event":
                    value = sets.variable(sets.alphabet.positions[part.name])
                case "X":
                    value = sets.meet((more, self.now[part.parts[0]]))
                case "U":  # at the next label
                    value = sets.meet((more, self.now[part]))
                case "Y" | "S":  # at the previous label
                    value = sets.substitute(state[self.back[part]], functions, {})
                case _:
                    value = self._combine(part, values)
            if part.operator in ("U", "S"):
                holds, goal = part.parts
                continues = sets.meet((values[holds], value))
                value = sets.choose(values[goal], TRUE, continues)
            values[part] = value
            if part in self.variable:
                functions[self.variable[part]] = value
        memory = (values[part.parts[0] if part.operator == "Y" else part] for part in self.back)
        return (sets.substitute(state[0], functions, {}), *memory)

    def explore(self) -> Acceptor:
        """Build the acceptor of the formula."""
        self.numbers = {self.start: 0}
        moves: list[int] = []
        for state in (order := [self.start]):
            moves.append(self._split((self.sets.all.node, *self._read(state)), {}))
            order += islice(self.numbers, len(order), None)
            limit(len(order), MAX_AUTOMATON_STATES, "states")
        at_end = {self.more: FALSE}
        accepting = [self.sets.substitute(state[0], at_end, {}) == TRUE for state in order]
        return Acceptor(self.sets, moves, accepting)

    def _split(self, nodes: State, done: dict[State, int]) -> int:
        """The diagram over events whose leaves are next states (None for impossible labels).

        Args:
            nodes: The possible labels, and the functions of the next state.
            done: A cache of results.
        """
        sets = self.sets
        if nodes in done:
            return done[nodes]
        variable = min(sets.variable_of[node] for node in nodes)
        if nodes[0] == FALSE:
            diagram = sets.leaf(None)
        elif variable < self.more:
            cofactors = [sets.cofactors(node, variable) for node in nodes]
            low = self._split(tuple(if_false for if_false, _ in cofactors), done)
            high = self._split(tuple(if_true for _, if_true in cofactors), done)
            diagram = sets.node(variable, low, high)
        else:
            diagram = sets.leaf(self.numbers.setdefault(nodes[1:], len(self.numbers)))
        done[nodes] = diagram
        return diagram
