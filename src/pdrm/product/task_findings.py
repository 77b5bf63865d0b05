"""Warnings about a task: a machine that pays for the wrong thing in this domain, found before anything is trained.

Final states out of reach are found exactly, by reachability of the domain with the machine. Loops that pay are looked for among
configurations of which the topmost symbols of the stack are known: every loop found is real, deeper ones are not looked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain
from pdrm.domains.own_environment import OwnEnvironment
from pdrm.errors import CannotTranslate, Finding, TaskWarning, warn_caller
from pdrm.machines.findings import (
    BOTTOM,
    KNOWN,
    Edge,
    View,
    advance,
    find_paying_cycle,
    find_paying_rule,
)
from pdrm.machines.guards import word_text
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reach import saturate
from pdrm.machines.tables import rule_at
from pdrm.machines.transitions import TopSymbols
from pdrm.task import Task, largest_reward

MOST_NODES = 20_000
"""Situations of a task that are looked at; in larger tasks nothing is said of what is out of reach."""
MOST_SHOWN = 12
"""Labels of a loop that are printed."""


def inspect_task(task: Task) -> list[Finding]:
    """Warn of what is more often a mistake in a task: events that never come, final states that cannot be reached in this domain,
    a loop that pays more than ending, rewards that make never ending best, rewards that are all 0.

    >>> from pdrm.language.loading import parse
    >>> machine = parse('''
    ... name both-paid
    ... events u d l r t x
    ... stack # a
    ... start s
    ... final done
    ... otherwise stay 0
    ... s -> s : d, z / a z, 1
    ... s -> s : u, a / eps, 1
    ... s -> done : t, # / #, 1
    ... ''')
    >>> [finding.code for finding in inspect_task(Task("maze-5x5", machine))]
    ['W0606']
    """
    if isinstance(task.domain, OwnEnvironment):
        return []
    found = [Finding("W0609", text) for text in task.warnings]
    if not largest_reward(task.domain, task.machine):
        said = f"machine `{task.machine.name}` pays 0 for every step, and so does `{task.name}`: there is nothing to learn"
        found.append(Finding("W0612", said))
    if not isinstance(task.domain, FiniteDomain) or not task.machine.final:
        return found
    try:
        machine = task.pushdown
    except CannotTranslate:
        return found
    reached = _Reached(task.domain, machine)
    if reached.complete:
        missing = [state for state in task.success if state not in reached.final]
        for state in missing:
            said = (
                f"final state `{state}` cannot be reached in `{task.name}`, whatever the agent does"
            )
            found.append(Finding("W0608", said))
        if len(missing) == len(task.success):
            return found
    loop = _find_loop(task.domain, machine, max(reached.ending))
    if loop is not None:
        return [*found, loop]
    return [*found, *reached.find_never_ending()]


def warn_of_tasks(*tasks: Task) -> None:
    r"""Warn of what is more often a mistake, through Python's own warnings, once for each task. The catalogue's have nothing of it.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     warn_of_tasks(Task("letter"), Task("letter", "events A B C D\nstart u\nfinal e\notherwise stay 0\nu -> e : D, 1"))
    >>> [one.message.code for one in found]
    ['W0609', 'W0608']
    """
    for task in tasks:
        if task.warned or (task.catalogued and task.text is None):
            continue
        task.warned = True
        for finding in inspect_task(task):
            warn_caller(TaskWarning(finding))


class _Outcome(NamedTuple):
    """One outcome of an action: the next place, the label that is read, and what the environment pays."""

    chance: float
    place: int
    label: int
    reward: float


def _list_actions(domain: FiniteDomain, place: int) -> list[list[_Outcome]]:
    """The outcomes of each action; none if the environment has ended."""
    arrays = domain.arrays
    if arrays.terminal[place]:
        return []
    columns = (arrays.probability, arrays.next, arrays.label, arrays.reward)
    rows = zip(*(column[place].tolist() for column in columns), strict=True)
    return [[_Outcome(*one) for one in zip(*row, strict=True) if one[0] > 0] for row in rows]


def _list_outcomes(domain: FiniteDomain, place: int) -> Iterator[tuple[int, _Outcome]]:
    """Every outcome with the number of its action."""
    for action, outcomes in enumerate(_list_actions(domain, place)):
        yield from ((action, one) for one in outcomes)


def _list_starts(domain: FiniteDomain) -> list[tuple[int, int]]:
    """The place and the label of each start."""
    arrays = domain.arrays
    columns = (arrays.start_probability, arrays.start_state, arrays.start_label)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(place, label) for chance, place, label in rows if chance > 0]


_Control = tuple[int, int, str]
"""A place, a label to be read there first (or NO_LABEL), and a machine state."""


class _Reached:
    """What the domain and the machine come to together, and what single moves pay."""

    def __init__(self, domain: FiniteDomain, machine: PushdownRewardMachine) -> None:
        self.domain, self.machine = domain, machine
        self.count = 0
        self.may_continue = not any(
            rule.silent and rule.target in machine.final for rule in machine.transitions
        )
        """Wherever the task has come to, some action surely does not end it."""
        self.ending, self.others = {-inf}, {0.0}
        """What moves pay that end the task, and others."""
        first: tuple[_Control, str | None] = ((NO_LABEL, NO_LABEL, ""), "")
        heads = saturate(self._moves, first).heads
        self.final = {state for (_, _, state), _ in heads if state in machine.final}

    @property
    def complete(self) -> bool:
        return self.count <= MOST_NODES

    def _moves(self, head: tuple[_Control, str | None]) -> list[tuple[_Control, TopSymbols]]:
        (place, first, state), top = head
        machine = self.machine
        if place == NO_LABEL:
            stack = (machine.stack[0], BOTTOM)
            return [((*start, machine.start), stack) for start in _list_starts(self.domain)]
        self.count += 1
        if state in machine.final or not self.complete:
            return []
        silent = rule_at(machine, state, top, None)
        if silent is not None:
            self.others.add(silent.reward)
            return [((place, first, silent.target), silent.replace(top))]
        actions = [[_Outcome(1.0, place, first, 0.0)]]
        if first == NO_LABEL:
            actions = _list_actions(self.domain, place)
        found: list[tuple[_Control, TopSymbols]] = []
        continues = not actions
        for outcomes in actions:
            rows = [rule_at(machine, state, top, self.domain.labels[one.label]) for one in outcomes]
            for one, row in zip(outcomes, rows, strict=True):
                if row is not None:
                    paid = self.ending if row.target in machine.final else self.others
                    paid.add(row.reward + one.reward)
                    found.append(((one.place, NO_LABEL, row.target), row.replace(top)))
            continues |= all(row is not None and row.target not in machine.final for row in rows)
        self.may_continue = self.may_continue and continues
        return found

    def find_never_ending(self) -> Iterator[Finding]:
        """A warning if not ending surely pays more than any way to an end."""
        limit = self.domain.step_limit
        on = limit * min(self.others)
        best = max(self.ending) + limit * max(self.others)
        if self.complete and self.may_continue and on > best > -inf:
            said = f"never ending is best: it pays at least {on:g} in an episode of {limit:,} steps, and ending at most {best:g}"
            yield Finding("W0607", said)


_Node = tuple[int, View]
"""A place, and what is known of the machine there."""


def _list_edges(
    domain: FiniteDomain, machine: PushdownRewardMachine
) -> tuple[list[_Node], list[Edge]]:
    """The situations in which the topmost symbols are known, and the steps between them."""
    begin = machine.begin().after
    nodes: list[_Node] = []
    number: dict[_Node, int] = {}
    edges: list[Edge] = []

    def visit(place: int, view: View, label: int) -> tuple[int, float] | None:
        """The situation after a label, and what the machine pays, if it is known and the task has not ended."""
        after: tuple[View, float] | None = view, 0.0
        if label != NO_LABEL and view.state not in machine.final:
            after = advance(machine, view, domain.labels[label])
        if after is None or after[0].state in machine.final:
            return None
        node = place, View(after[0].state, after[0].known[:KNOWN])
        if node not in number:
            if len(nodes) >= MOST_NODES:
                return None
            number[node] = len(nodes)
            nodes.append(node)
        return number[node], after[1]

    for place, label in _list_starts(domain):
        visit(place, View(begin.state, (*begin.stack, BOTTOM)), label)
    for source, (place, view) in enumerate(nodes):  # it grows
        for action, one in _list_outcomes(domain, place):
            found = visit(one.place, view, one.label)
            if found is not None and one.chance == 1:
                target, paid = found
                emitted = domain.labels[one.label]
                edges.append(Edge(source, target, one.reward + paid, emitted, action))
    return nodes, edges


def _find_loop(
    domain: FiniteDomain, machine: PushdownRewardMachine, ending: float
) -> Finding | None:
    """A warning if a loop pays as much in an episode as the best of the steps that end the task."""
    nodes, edges = _list_edges(domain, machine)
    loop = find_paying_cycle(edges)
    paid, limit = sum(edge.reward for edge in loop), domain.step_limit
    if not loop or paid * limit / len(loop) < ending:
        return None
    shown = loop[:MOST_SHOWN]
    actions = " ".join(domain.actions[edge.action] for edge in shown)
    word = word_text(edge.label for edge in shown)
    more = " …" if len(loop) > MOST_SHOWN else ""
    pays = f"pays {paid:g} in {len(loop)} step{'s' * (len(loop) > 1)}, {paid * limit / len(loop):g} in an episode of {limit:,}"
    ends = f"the step that ends the task pays {ending:g}"
    if ending == -inf:
        ends = "no step that ends the task was found"
    place = domain.describe(nodes[loop[0].source][0])
    said = f"a loop pays more than ending: `{word}{more}` (actions {actions}{more}, from {place}) {pays}; {ends}"
    views = [nodes[edge.source][1] for edge in loop]
    return Finding("W0606", said, find_paying_rule(machine, views, loop))
