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
from pdrm.machines.guards import word_text
from pdrm.machines.paying_loops import (
    BOTTOM,
    KNOWN,
    PaidStep,
    View,
    Way,
    advance,
    explore_situations,
    find_paying_cycle,
    find_paying_rule,
)
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
        said = f"machine `{task.machine.name}` pays 0 for every step, and so does `{task.name}`"
        found.append(Finding("W0612", f"{said}: there is nothing to learn"))
    if not isinstance(task.domain, FiniteDomain) or not task.machine.final:
        return found
    try:
        machine = task.pushdown
    except CannotTranslate:
        return found
    survey = _Survey(task.domain, machine)
    if survey.complete:
        missing = [state for state in task.success if state not in survey.final]
        for state in missing:
            said = f"final state `{state}` cannot be reached in `{task.name}`"
            found.append(Finding("W0608", f"{said}, whatever the agent does"))
        if len(missing) == len(task.success):
            return found
    loops = list(_find_loop(task.domain, machine, max(survey.ending)))
    return [*found, *(loops or survey.find_never_ending())]


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


class _LabelEffect(NamedTuple):
    """One outcome of an action: the next place, the label that is read, and what the environment pays."""

    chance: float
    place: int
    label: int
    reward: float


def _list_actions(domain: FiniteDomain, place: int) -> list[list[_LabelEffect]]:
    """The outcomes of each action; none if the environment has ended."""
    arrays = domain.arrays
    if arrays.terminal[place]:
        return []
    columns = (arrays.probability, arrays.next, arrays.label, arrays.reward)
    rows = zip(*(column[place].tolist() for column in columns), strict=True)
    return [[_LabelEffect(*one) for one in zip(*row, strict=True) if one[0] > 0] for row in rows]


def _list_starts(domain: FiniteDomain) -> list[tuple[int, int]]:
    """The place and the label of each start."""
    arrays = domain.arrays
    possible = arrays.start_probability > 0
    places = arrays.start_state[possible].tolist()
    return list(zip(places, arrays.start_label[possible].tolist(), strict=True))


# --- Exactly: the final states that are reached, and what single moves pay

_Control = tuple[int, int, str]
"""A place, a label to be read there first (or NO_LABEL), and a machine state."""


class _Survey:
    """The heads of a task, and what single moves pay there."""

    def __init__(self, domain: FiniteDomain, machine: PushdownRewardMachine) -> None:
        self.domain = domain
        self.machine = machine
        self.count = 0
        self.may_continue = not any(
            rule.silent and rule.target in machine.final for rule in machine.transitions
        )
        """Wherever the task has come to, some action surely does not end it."""
        self.ending = {-inf}
        """The rewards of moves that end the task."""
        self.others = {0.0}
        """The rewards of other moves."""
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
        actions = [[_LabelEffect(1.0, place, first, 0.0)]]
        if first == NO_LABEL:
            actions = _list_actions(self.domain, place)
        found: list[tuple[_Control, TopSymbols]] = []
        continues = not actions
        for effects in actions:
            surely = True
            for one in effects:
                row = rule_at(machine, state, top, self.domain.labels[one.label])
                if row is None:
                    surely = False
                    continue
                ends = row.target in machine.final
                surely = surely and not ends
                (self.ending if ends else self.others).add(row.reward + one.reward)
                found.append(((one.place, NO_LABEL, row.target), row.replace(top)))
            continues |= surely
        self.may_continue &= continues
        return found

    def find_never_ending(self) -> Iterator[Finding]:
        """A warning if not ending surely pays more than any way to an end."""
        limit = self.domain.step_limit
        on = limit * min(self.others)
        best = max(self.ending) + limit * max(self.others)
        if self.complete and self.may_continue and on > best > -inf:
            said = f"never ending is best: it pays at least {on:g} in an episode of {limit:,} steps"
            yield Finding("W0607", f"{said}, and ending at most {best:g}")


# --- Loops that pay, among situations of which the topmost symbols are known

_Node = tuple[int, View]
"""A place, and what is known of the machine there."""


def _list_steps(
    domain: FiniteDomain, machine: PushdownRewardMachine
) -> tuple[list[_Node], list[PaidStep]]:
    """The situations of a task, and the steps between them."""
    begin = machine.begin().after

    def read(place: int, view: View, label: int) -> list[tuple[_Node, float]]:
        """The situation after a label, and what the machine pays, if it is known and the task has not ended."""
        found: tuple[View, float] | None = view, 0.0
        if label != NO_LABEL and view.state not in machine.final:
            found = advance(machine, view, domain.labels[label])
        if found is None or found[0].state in machine.final:
            return []
        after, paid = found
        return [((place, View(after.state, after.known[:KNOWN])), paid)]

    def ways(node: _Node) -> Iterator[Way[_Node]]:
        for action, effects in enumerate(_list_actions(domain, node[0])):
            for one in effects:
                for after, paid in read(one.place, node[1], one.label):
                    reward = one.reward + paid if one.chance == 1 else -inf
                    yield after, reward, domain.labels[one.label], action

    view = View(begin.state, (*begin.stack, BOTTOM))
    starts = [one for start, label in _list_starts(domain) for one, _ in read(start, view, label)]
    return explore_situations(starts, ways, MOST_NODES)


def _find_loop(
    domain: FiniteDomain, machine: PushdownRewardMachine, ending: float
) -> Iterator[Finding]:
    """A warning if a loop pays as much in an episode as the best of the steps that end the task."""
    nodes, steps = _list_steps(domain, machine)
    loop = find_paying_cycle(steps)
    paid = sum(step.reward for step in loop)
    limit = domain.step_limit
    in_all = paid * limit / max(1, len(loop))
    if not loop or in_all < ending:
        return
    shown = loop[:MOST_SHOWN]
    more = " …" if len(loop) > MOST_SHOWN else ""
    word = word_text(step.label for step in shown)
    actions = " ".join(domain.actions[step.action] for step in shown)
    place = domain.describe(nodes[loop[0].source][0])
    said = f"a loop pays more than ending: `{word}{more}` (actions {actions}{more}, from {place})"
    steps_text = f"{len(loop)} step{'s' * (len(loop) > 1)}"
    pays = f"pays {paid:g} in {steps_text}, {in_all:g} in an episode of {limit:,}"
    ends = "no step that ends the task was found"
    if ending > -inf:
        ends = f"the step that ends the task pays {ending:g}"
    views = [nodes[step.source][1] for step in loop]
    yield Finding("W0606", f"{said} {pays}; {ends}", find_paying_rule(machine, views, loop))
