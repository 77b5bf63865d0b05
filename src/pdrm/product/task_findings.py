"""Warnings about a task: a machine that pays for the wrong thing in this domain, found before anything is trained.

Final states out of reach are found exactly, by reachability of the domain with the machine. Loops that pay are looked for among
configurations of which the topmost symbols of the stack are known: every loop found is real, deeper ones are not looked for.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain
from pdrm.domains.own_worlds import OwnEnvironment
from pdrm.errors import CannotTranslate, Finding, TaskWarning, warn_caller
from pdrm.machines.findings import (
    BOTTOM,
    KNOWN,
    LabelEffect,
    PaidStep,
    Situation,
    View,
    find_paying_cycle,
    find_paying_rule,
    list_paid_steps,
)
from pdrm.machines.guards import word_text
from pdrm.machines.heads import replace_top, rule_at
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reach import saturate
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
    survey = _survey(task.domain, machine)
    reached = {state for (_, state), _ in survey}
    if len(survey) < MOST_NODES:
        missing = [state for state in task.success if state not in reached]
        for state in missing:
            said = f"final state `{state}` cannot be reached in `{task.name}`"
            found.append(Finding("W0608", f"{said}, whatever the agent does"))
        if len(missing) == len(task.success):
            return found
    every = [one for actions in survey.values() for effects in actions for one in effects if one]
    ending = max((one.reward for one in every if one.state in machine.final), default=-inf)
    others = {0.0, *(one.reward for one in every if one.state not in machine.final)}
    loops = _find_loop(task.domain, machine, ending)
    may_continue = all(
        any(all(one and one.state not in machine.final for one in effects) for effects in actions)
        for actions in survey.values()
        if actions
    )
    if loops or len(survey) >= MOST_NODES or not may_continue:
        return [*found, *loops]
    limit = task.domain.step_limit
    on, best = limit * min(others), ending + limit * max(others)
    if on > best > -inf:
        said = f"never ending is best: it pays at least {on:g} in an episode of {limit:,} steps"
        found.append(Finding("W0607", f"{said}, and ending at most {best:g}"))
    return found


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


def _list_actions(domain: FiniteDomain, place: int) -> list[list[LabelEffect]]:
    """The outcomes of each action; none if the environment has ended. A start is an action at a place of its own."""
    arrays = domain.arrays
    start = place - domain.states
    if start >= 0:
        where, number = arrays.start_state[start].item(), arrays.start_label[start].item()
        return [[LabelEffect(where, None if number == NO_LABEL else domain.labels[number])]]
    if arrays.terminal[place]:
        return []
    columns = (arrays.next, arrays.label, arrays.reward, arrays.probability)
    rows = zip(*(column[place].tolist() for column in columns), strict=True)
    return [
        [
            LabelEffect(there, domain.labels[number], reward, chance == 1)
            for there, number, reward, chance in zip(*row, strict=True)
            if chance > 0
        ]
        for row in rows
    ]


def _list_starts(domain: FiniteDomain) -> list[int]:
    """The places of the starts, numbered after all others."""
    possible = np.flatnonzero(domain.arrays.start_probability > 0)
    return (domain.states + possible).tolist()


# --- Exactly: the heads that are reached

_Head = tuple[tuple[int, str], str | None]
"""A place and a machine state; and the top of the stack."""


class _MachineEffect(NamedTuple):
    """One outcome of an action, and the machine's move there."""

    place: int
    state: str
    replacement: TopSymbols
    reward: float


_Actions = list[list[_MachineEffect | None]]
"""The outcomes of each action; None if the machine has no move there."""


def _survey(domain: FiniteDomain, machine: PushdownRewardMachine) -> dict[_Head, _Actions]:
    """The actions at every head of a task that is reached, up to a number of heads."""
    found: dict[_Head, _Actions] = {}

    def moves(head: _Head) -> list[tuple[tuple[int, str], TopSymbols]]:
        if len(found) == MOST_NODES:
            return []
        found[head] = _act_at(domain, machine, head)
        every = [one for effects in found[head] for one in effects if one]
        return [((one.place, one.state), one.replacement) for one in every]

    stack = (machine.stack[0], BOTTOM)
    saturate(moves, [((place, machine.start), stack) for place in _list_starts(domain)])
    return found


def _act_at(domain: FiniteDomain, machine: PushdownRewardMachine, head: _Head) -> _Actions:
    (place, state), top = head
    if state in machine.final:
        return []
    here = state, top
    effects = _list_actions(domain, place)
    if rule_at(machine, here, None) is not None:
        effects = [[LabelEffect(place, None)]]  # a silent move

    def read(one: LabelEffect) -> _MachineEffect | None:
        rule = rule_at(machine, here, one.label)
        if rule is not None:
            return _MachineEffect(one.place, *replace_top(here, rule), rule.reward + one.reward)
        return None if one.label is not None else _MachineEffect(one.place, state, (top,), 0.0)

    return [[read(one) for one in action] for action in effects]


# --- Loops that pay, among situations of which the topmost symbols are known


def _list_steps(domain: FiniteDomain, machine: PushdownRewardMachine) -> list[PaidStep]:
    """The steps between the situations of a task: those that are known and do not end it."""

    def keep(_: View, after: View) -> View | None:
        return None if after.state in machine.final else View(after.state, after.known[:KNOWN])

    def actions_at(node: Situation) -> list[list[LabelEffect]]:
        return _list_actions(domain, node[0])

    begin = machine.begin().after
    view = View(begin.state, (*begin.stack, BOTTOM))
    starts = [(place, view) for place in _list_starts(domain)]
    return list_paid_steps(machine, starts, actions_at, keep, MOST_NODES)


def has_paying_loop(task: Task) -> bool:
    """Return True unless no loop pays in this domain; it may pay less than ending, as far as is known."""
    return not isinstance(task.domain, FiniteDomain) or bool(
        find_paying_cycle(_list_steps(task.domain, task.pushdown))
    )


def _find_loop(
    domain: FiniteDomain, machine: PushdownRewardMachine, ending: float
) -> list[Finding]:
    """A warning if a loop pays as much in an episode as the best of the steps that end the task."""
    loop = find_paying_cycle(_list_steps(domain, machine))
    paid, limit = sum(step.reward for step in loop), domain.step_limit
    in_all = paid * limit / max(1, len(loop))
    if not loop or in_all < ending:
        return []
    more = " …" if len(loop) > MOST_SHOWN else ""
    word = word_text(step.label for step in loop[:MOST_SHOWN])
    actions = " ".join(domain.actions[step.action] for step in loop[:MOST_SHOWN])
    start = domain.describe(loop[0].source[0])
    said = f"a loop pays more than ending: `{word}{more}` (actions {actions}{more}, from {start})"
    pays = f"pays {paid:g} each time, {in_all:g} in an episode of {limit:,} steps"
    ends = "no step that ends the task was found"
    if ending > -inf:
        ends = f"the step that ends the task pays {ending:g}"
    place = find_paying_rule(machine, loop)
    return [Finding("W0606", f"{said} {pays}; {ends}", place)]
