"""Warnings about a task: a machine that pays for the wrong thing in this domain, found before anything is trained.

Final states out of reach are found exactly, by reachability of the domain with the machine. Loops that pay are those of two steps
without chance (`machines/findings`): every loop found is real, longer ones are not looked for.
"""

from __future__ import annotations

from contextlib import suppress
from math import inf

import numpy as np

from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain
from pdrm.domains.user_worlds import UserEnvironment
from pdrm.errors import CannotTranslate, Finding, TaskWarning, UndefinedMove, warn_caller
from pdrm.machines.findings import PaidMove, PayingLoop, find_paying_loops
from pdrm.machines.guards import Label
from pdrm.machines.heads import replace_top, rule_at
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import TopSymbols
from pdrm.task import Task, largest_reward

MAX_NODES = 20_000
"""Heads of a task that are looked at; in larger tasks nothing is said of what is out of reach."""


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
    if isinstance(task.domain, UserEnvironment):
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
    if len(survey) < MAX_NODES:
        missing = [state for state in task.success if state not in reached]
        for state in missing:
            said = f"final state `{state}` cannot be reached in `{task.name}`"
            found.append(Finding("W0608", f"{said}, whatever the agent does"))
        if len(missing) == len(task.success):
            return found
    every = [one for actions in survey.values() for effects in actions for one in effects if one]
    final = machine.final
    ending = max((one.reward for one in every if one.target[1] in final), default=-inf)
    others = {0.0, *(one.reward for one in every if one.target[1] not in final)}
    loops = _warn_of_loop(task.domain, survey, ending)
    may_continue = all(
        any(all(one and one.target[1] not in final for one in effects) for effects in actions)
        for actions in survey.values()
        if actions
    )
    if loops or len(survey) >= MAX_NODES or not may_continue:
        return [*found, *loops]
    limit = task.domain.step_limit
    on, best = limit * min(others), ending + limit * max(others)
    if on > best > -inf:
        said = f"never ending is best: it pays at least {on:g} in an episode of {limit:,} steps"
        found.append(Finding("W0607", f"{said}, and ending at most {best:g}"))
    return found


def warn_of_tasks(*tasks: Task) -> None:
    r"""Warn of likely mistakes, through Python's own warnings, once for each task. Tasks of the catalogue are skipped.

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


# --- The heads that are reached, exactly

_Head = tuple[tuple[int, str], str | None]
"""A place and a machine state; and the top of the stack."""
_Actions = list[list[PaidMove | None]]
"""The outcomes of each action; None if the machine has no move there."""
_Survey = dict[_Head, _Actions]


def _survey(domain: FiniteDomain, machine: PushdownRewardMachine) -> _Survey:
    """The actions at every head of a task that is reached, up to a number of heads."""
    found: _Survey = {}

    def moves(head: _Head) -> list[tuple[tuple[int, str], TopSymbols]]:
        if len(found) == MAX_NODES:
            return []
        found[head] = _act_at(domain, machine, head)
        every = [one for effects in found[head] for one in effects if one]
        return [(one.target, one.replacement) for one in every]

    arrays, starts = domain.arrays, []
    for start in np.flatnonzero(arrays.start_probability > 0):
        here, label = machine.begin().after, arrays.start_label[start]
        with suppress(UndefinedMove):  # an episode says so
            if label != NO_LABEL and here.state not in machine.final:
                here = machine.step(here, domain.labels[label]).after
            starts.append(((int(arrays.start_state[start]), here.state), (*here.stack, None)))
    saturate(moves, starts)
    return found


def _act_at(domain: FiniteDomain, machine: PushdownRewardMachine, head: _Head) -> _Actions:
    """The actions at a head: the silent move alone if there is one, and none if the episode has ended."""
    (place, state), top = head
    arrays, here = domain.arrays, (state, top)

    def read(there: int, label: Label | None, reward: float) -> PaidMove | None:
        rule = rule_at(machine, here, label)
        if rule is None:
            return None
        after, replacement = replace_top(here, rule)
        return PaidMove((there, after), replacement, reward + rule.reward, label, rule)

    if state in machine.final:
        return []
    if rule_at(machine, here, None) is not None:
        return [[read(place, None, 0.0)]]
    if arrays.terminal[place]:
        return []
    columns = (arrays.next, arrays.label, arrays.reward, arrays.probability)
    rows = zip(*(column[place].tolist() for column in columns), strict=True)
    return [
        [
            read(there, domain.labels[number], reward)
            for there, number, reward, chance in zip(*row, strict=True)
            if chance > 0
        ]
        for row in rows
    ]


# --- Loops that pay


def _find_loops(survey: _Survey) -> list[PayingLoop]:
    """The loops that pay, of actions with one outcome."""
    moves = {
        head: [effects[0] for effects in actions if len(effects) == 1 and effects[0]]
        for head, actions in survey.items()
    }
    return find_paying_loops(moves)


def _warn_of_loop(domain: FiniteDomain, survey: _Survey, ending: float) -> list[Finding]:
    """A warning if the best loop pays as much in an episode as the best of the steps that end the task."""
    loop = max(_find_loops(survey), key=lambda loop: loop.paid, default=None)
    if loop is None:
        return []
    paid = loop.paid * domain.step_limit / len(loop.moves)
    if paid < ending:
        return []
    start = domain.describe(loop.head[0][0])
    said = f"a loop pays more than ending: from {start}, `{loop.word}` pays {loop.paid:g} each time"
    in_all = f"{paid:g} in an episode of {domain.step_limit:,} steps"
    ends = "no step that ends the task was found"
    if ending > -inf:
        ends = f"the step that ends the task pays {ending:g}"
    return [Finding("W0606", f"{said}, {in_all}; {ends}", loop.where)]
