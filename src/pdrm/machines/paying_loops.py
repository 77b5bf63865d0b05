"""Loops that pay: words that lead back to the situation in which they began, with a reward above 0.

A situation holds the topmost symbols of the stack as far as they are known, so every loop that is found is real. On a machine
alone only those are reported that stay in one state, such as a push and a pop that are both paid: whether a loop through
several states can be repeated (are there more treasures?) depends on the domain, and is found out with it
(`product/task_findings`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from math import inf
from typing import NamedTuple

import numpy as np

from pdrm.errors import Finding, Where
from pdrm.machines.guards import Label, word_text
from pdrm.machines.heads import Head, PushdownRules, Settled, replace_top, rule_at, settle
from pdrm.machines.labels import LabelSet
from pdrm.machines.transitions import Otherwise, Rule, TopSymbols, number_text

KNOWN = 3
"""Symbols of the stack that are looked at: as high as a loop may push above its start, and one more."""

MOST_VIEWS = 10_000
"""Situations of a machine that are looked at."""

MOST_SILENT = 1_000
"""Silent moves followed after a label."""

LONGEST_LOOP = 200
"""Steps of a loop that is found."""

BOTTOM = None
"""Below the lowest symbol, if that is known to be the lowest."""


class View(NamedTuple):
    """A state and the topmost symbols of the stack, as far as they are known."""

    state: str
    known: TopSymbols


def advance(machine: PushdownRules, view: View, label: Label) -> tuple[View, float] | None:
    """Read a label with only the top of the stack known.

    Returns:
        What is known then, and what is paid; None if it depends on what is below, or if no move applies.

    Example:
        >>> from pdrm.language.loading import catalogue
        >>> advance(catalogue("letter"), View("u0", ("#", BOTTOM)), frozenset("A"))
        (View(state='u0', known=('A', '#', None)), -0.01)
    """
    head = view.state, view.known[0]
    rule = rule_at(machine, head, label)
    if rule is None:
        return None
    state, symbols = replace_top(head, rule)
    here = Settled(state, symbols + view.known[1:], 0.0 + rule.reward)
    after = settle(machine, here, MOST_SILENT)
    if after.moves == MOST_SILENT or (not after.known and after.state not in machine.final):
        return None
    return View(after.state, after.known), after.paid


class Effect(NamedTuple):
    """One outcome of an action in a domain."""

    place: int
    """The next place."""
    label: Label | None
    """The label that is read (None: nothing is)."""
    reward: float = 0.0
    """What the environment pays."""
    sure: bool = True
    """It is the only outcome."""


Situation = tuple[int, View]
"""A place of a domain (0 if there is none), and what is known of the machine there."""


class PaidStep(NamedTuple):
    """A step from one situation to another."""

    source: Situation
    target: Situation
    reward: float
    """What is paid (-inf: the step does not surely lead there)."""
    label: Label
    action: int


def list_paid_steps(
    machine: PushdownRules,
    starts: Iterable[Situation],
    actions_at: Callable[[Situation], Iterable[Iterable[Effect]]],
    keep: Callable[[View, View], View | None],
    most: int,
) -> list[PaidStep]:
    """Find the steps between the situations that can be reached.

    Args:
        machine: The machine.
        starts: The first situations.
        actions_at: Lists the effects of each action.
        keep: What is kept of a view, given the view before it; None to leave the step out.
        most: The number of situations to look at.
    """
    known = dict.fromkeys(islice(starts, most))
    nodes = list(known)
    found: list[PaidStep] = []
    for node in nodes:  # it grows
        view = node[1]
        for action, effects in enumerate(actions_at(node)):
            for place, label, reward, sure in effects:
                after = (view, 0.0) if label is None else advance(machine, view, label)
                kept = None if after is None else keep(view, after[0])
                if after is None or kept is None:
                    continue
                target = place, kept
                if target not in known and len(nodes) < most:
                    known[target] = None
                    nodes.append(target)
                if target in known:
                    paid = reward + after[1] if sure else -inf
                    found.append(PaidStep(node, target, paid, label or frozenset(), action))
    return found


def find_paying_cycle(steps: Sequence[PaidStep]) -> list[PaidStep]:
    """Steps that lead back to their start and pay, if there are any.

    The longest ways to every situation are made longer step by step; the last steps of these ways lead round such a loop
    sooner or later.
    """
    if not any(step.reward > 0 for step in steps):
        return []
    nodes = dict.fromkeys(node for step in steps for node in (step.source, step.target))
    number = {node: place for place, node in enumerate(nodes)}
    source = np.array([number[step.source] for step in steps])
    target = np.array([number[step.target] for step in steps])
    reward = np.array([step.reward for step in steps])
    length = np.zeros(len(nodes))
    last = np.full(len(nodes), -1)
    for _ in range(LONGEST_LOOP):
        longer = length[source] + reward
        better = np.flatnonzero(longer > length[target] + 1e-9)
        if not better.size:
            break
        order = better[np.argsort(longer[better], kind="stable")]  # the best is written last
        length[target[order]] = longer[order]
        last[target[order]] = order
    before = {node: [source[last[node]].item()] for node in np.flatnonzero(last >= 0).tolist()}
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        return [steps[last[node]] for node in error.args[1][1:]]
    return []


def find_paying_loops(
    machine: PushdownRules,
    readings: Mapping[Head, Sequence[tuple[Rule | Otherwise, LabelSet]]],
) -> Iterator[Finding]:
    """A loop of each state that has one. A machine that never ends may pay for ever, and so may a reward machine."""
    if not machine.final or machine.leaves_stack:
        return
    labels: dict[str, dict[Label, None]] = defaultdict(dict)
    for head, applying in readings.items():
        read = [one.example() for rule, one in applying if one and rule is not machine.otherwise]
        labels[head.state] |= dict.fromkeys(read)

    def stay(before: View, after: View) -> View | None:
        return after if after.state == before.state and len(after.known) <= KNOWN else None

    found = list_paid_steps(
        machine,
        [(0, View(head.state, (head.top,))) for head in readings],
        lambda node: [[Effect(0, label)] for label in labels[node[1].state]],
        stay,
        MOST_VIEWS,
    )
    steps: dict[str, list[PaidStep]] = defaultdict(list)
    for step in found:
        steps[step.source[1].state].append(step)
    wrong = "repeated, it pays again"
    if any(head.state in machine.final for head in readings):
        wrong = "repeated, it may pay more than ending; pay once, for what ends the task"
    for state, own in steps.items():
        loop = find_paying_cycle(own)
        if loop:
            first = min(range(len(loop)), key=lambda at: len(loop[at].source[1].known))
            loop = loop[first:] + loop[:first]
            known = loop[0].source[1].known[0]
            top = "the empty stack" if known is BOTTOM else f"top {known}"
            word = word_text(step.label for step in loop)
            paid = number_text(sum(step.reward for step in loop))
            said = (
                f"in state `{state}` with {top}, the word `{word}` pays {paid} and changes nothing"
            )
            place = find_paying_rule(machine, loop)
            yield Finding("W0606", f"{said}: {wrong}", place)


def find_paying_rule(machine: PushdownRules, loop: Iterable[PaidStep]) -> Where | None:
    """The place of the first rule of a loop that pays."""
    for (_, view), _, _, label, _ in loop:
        rule = machine.rule(view.state, label, view.known[0])
        if rule is not None and rule.reward > 0:
            return rule.where
    return None
