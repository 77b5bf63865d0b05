"""Warnings about a task: the machine rewards the wrong behaviour in this domain.

Unreachable final states are found exactly, by reachability of the domain with the machine. Of
rewarding loops, only those of two deterministic steps are found (`machines/findings`).
"""

from __future__ import annotations

from contextlib import suppress
from math import inf

import numpy as np

from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain
from pdrm.domains.user_worlds import UserEnvironment
from pdrm.errors import CannotTranslate, Finding, TaskWarning, UndefinedMove, warn_caller
from pdrm.machines.findings import HeadMove, RewardLoop, find_reward_loops
from pdrm.machines.guards import Label
from pdrm.machines.heads import replace_top, rule_at
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import TopSymbols
from pdrm.task import Task, largest_reward

MAX_HEADS = 20_000
"""Maximum number of explored heads. For larger tasks, unreachable states are not reported."""


def inspect_task(task: Task) -> list[Finding]:
    """List likely mistakes in a task.

    These are events that never occur, unreachable final states, a loop that rewards more than
    ending, rewards for which never ending is best, and rewards that are all 0.

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
    findings = [Finding("W0609", text) for text in task.warnings]
    if not largest_reward(task.domain, task.machine):
        message = (
            f"machine `{task.machine.name}` and `{task.name}` give reward 0 for every step: "
            "there is nothing to learn"
        )
        findings.append(Finding("W0612", message))
    if not isinstance(task.domain, FiniteDomain) or not task.machine.final:
        return findings
    try:
        machine = task.pushdown
    except CannotTranslate:
        return findings
    explored = _explore_heads(task.domain, machine)
    complete = len(explored) < MAX_HEADS
    if complete:
        reached = {state for (_, state), _ in explored}
        missing = [state for state in task.success if state not in reached]
        for state in missing:
            message = (
                f"final state `{state}` cannot be reached in `{task.name}`, whatever the agent does"
            )
            findings.append(Finding("W0608", message))
        if len(missing) == len(task.success):
            return findings
    final = machine.final
    moves = [move for actions in explored.values() for outcomes in actions for move in outcomes]
    rewards = [(move.reward, move.target[1] in final) for move in moves if move]
    ending = max((reward for reward, ends in rewards if ends), default=-inf)
    continuing = {0.0, *(reward for reward, ends in rewards if not ends)}
    loops = _warn_of_loop(task.domain, explored, ending)
    can_continue = all(
        any(all(move and move.target[1] not in final for move in outcomes) for outcomes in actions)
        for actions in explored.values()
        if actions
    )
    if loops or not complete or not can_continue:
        return [*findings, *loops]
    limit = task.domain.step_limit
    lowest = limit * min(continuing)
    highest = ending + limit * max(continuing)
    if lowest > highest > -inf:
        message = (
            f"never ending is best: its return in an episode of {limit:,} steps is at least "
            f"{lowest:g}, and ending returns at most {highest:g}"
        )
        findings.append(Finding("W0607", message))
    return findings


def warn_of_tasks(*tasks: Task) -> None:
    r"""Warn of likely mistakes with `warnings`, once for each task, except catalogue tasks.

    >>> import warnings
    >>> machine = "events A B C D\nstart u\nfinal e\notherwise stay 0\nu -> e : D, 1"
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_tasks(Task("letter"), Task("letter", machine))
    >>> [warning.message.code for warning in caught]
    ['W0609', 'W0608']
    """
    for task in tasks:
        if task.warned or (task.catalogued and task.text is None):
            continue
        task.warned = True
        for finding in inspect_task(task):
            warn_caller(TaskWarning(finding))


# --- The reachable heads

_Head = tuple[tuple[int, str], str | None]
"""An environment state and a machine state; and the top of the stack."""
_Actions = list[list[HeadMove | None]]
"""The outcomes of each action; None if the machine has no move."""
_Explored = dict[_Head, _Actions]


def _explore_heads(domain: FiniteDomain, machine: PushdownRewardMachine) -> _Explored:
    """The actions at every reachable head of a task, up to MAX_HEADS heads."""
    explored: _Explored = {}

    def successors(head: _Head) -> list[tuple[tuple[int, str], TopSymbols]]:
        if len(explored) == MAX_HEADS:
            return []
        explored[head] = _list_actions(domain, machine, head)
        moves = [move for outcomes in explored[head] for move in outcomes if move]
        return [(move.target, move.replacement) for move in moves]

    arrays = domain.arrays
    starts = []
    for start in np.flatnonzero(arrays.start_probability > 0):
        here = machine.begin().after
        label = arrays.start_label[start]
        with suppress(UndefinedMove):  # reported when an episode starts
            if label != NO_LABEL and here.state not in machine.final:
                here = machine.step(here, domain.labels[label]).after
            starts.append(((int(arrays.start_state[start]), here.state), (*here.stack, None)))
    saturate(successors, starts)
    return explored


def _list_actions(domain: FiniteDomain, machine: PushdownRewardMachine, head: _Head) -> _Actions:
    """The actions at a head: only the silent move if one applies, none if the episode is over."""
    (env_state, state), top = head

    def read(next_state: int, label: Label | None, reward: float) -> HeadMove | None:
        rule = rule_at(machine, (state, top), label)
        if rule is None:
            return None
        after, replacement = replace_top((state, top), rule)
        return HeadMove((next_state, after), replacement, reward + rule.reward, label, rule)

    if state in machine.final:
        return []
    if rule_at(machine, (state, top), None) is not None:
        return [[read(env_state, None, 0.0)]]
    arrays = domain.arrays
    if arrays.terminal[env_state]:
        return []
    columns = (arrays.next, arrays.label, arrays.reward, arrays.probability)
    rows = zip(*(column[env_state].tolist() for column in columns), strict=True)
    return [
        [
            read(next_state, domain.labels[label], reward)
            for next_state, label, reward, probability in zip(*row, strict=True)
            if probability > 0
        ]
        for row in rows
    ]


# --- Rewarding loops


def _find_loops(explored: _Explored) -> list[RewardLoop]:
    """Find the rewarding loops of deterministic actions."""
    moves = {
        head: [outcomes[0] for outcomes in actions if len(outcomes) == 1 and outcomes[0]]
        for head, actions in explored.items()
    }
    return find_reward_loops(moves)


def _warn_of_loop(domain: FiniteDomain, explored: _Explored, ending: float) -> list[Finding]:
    """Warn if the best loop returns as much in an episode as the best final step."""
    loop = max(_find_loops(explored), key=lambda loop: loop.reward, default=None)
    if loop is None:
        return []
    total = loop.reward * domain.step_limit / len(loop.moves)
    if total < ending:
        return []
    start = domain.describe(loop.head[0][0])
    comparison = "no step that ends the task was found"
    if ending > -inf:
        comparison = f"the step that ends the task has reward {ending:g}"
    message = (
        f"a loop rewards more than ending: from {start}, `{loop.word}` has reward {loop.reward:g} "
        f"each time, {total:g} in an episode of {domain.step_limit:,} steps; {comparison}"
    )
    return [Finding("W0606", message, loop.where)]
