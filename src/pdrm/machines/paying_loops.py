"""Loops that pay: words that lead back to the situation in which they began, with a reward above 0.

A situation holds the topmost symbols of the stack as far as they are known, so every loop that is found is real. On a machine
alone only those are reported that stay in one state, such as a push and a pop that are both paid: whether a loop through
several states can be repeated (are there more treasures?) depends on the domain, and is found out with it
(`product/task_findings`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple, TypeVar

import numpy as np

from pdrm.errors import Finding, Where
from pdrm.machines.guards import Label, word_text
from pdrm.machines.labels import LabelSets
from pdrm.machines.reach import Head, PushdownSystem, lead
from pdrm.machines.transitions import Transition, number_text

N = TypeVar("N", bound=Hashable)

KNOWN = 3
"""Symbols of the stack that are looked at: as high as a loop may push above its start, and one more."""

MOST_LOOKS = 20_000
"""Labels read in search of loops; then the search ends."""

MOST_SILENT = 1_000
"""Silent moves followed after a label."""

LONGEST_LOOP = 200
"""Steps of a loop that is found."""

BOTTOM = None
"""Below the lowest symbol, if that is known to be the lowest."""


class View(NamedTuple):
    """A state and the topmost symbols of the stack, as far as they are known."""

    state: str
    known: tuple[str | None, ...]


def advance(machine: PushdownSystem, view: View, label: Label) -> tuple[View, float] | None:
    """Read a label with only the top of the stack known.

    Returns:
        What is known then, and what is paid; None if it depends on what is below, or if no move applies.

    Example:
        >>> from pdrm.language.loading import catalogue
        >>> advance(catalogue("letter"), View("u0", ("#", BOTTOM)), frozenset("A"))
        (View(state='u0', known=('A', '#', None)), -0.01)
    """
    state, known = view
    paid = 0.0
    for silent in range(MOST_SILENT):
        if not known:
            return None
        rule = machine.rule(state, label if not silent else None, known[0])
        if rule is not None:
            state, replaced = lead(rule, Head(state, known[0]))
            known = (*replaced, *known[1:])
            paid += rule.reward
        elif silent:
            return View(state, known), paid
        elif machine.otherwise.action == "error":
            return None
        else:
            state = machine.otherwise.target or state
            paid = machine.otherwise.reward
        if state in machine.final:
            return View(state, known), paid
    return None


class PaidStep(NamedTuple):
    """A step from one numbered situation to another."""

    source: int
    target: int
    reward: float
    label: Label
    action: int = 0


Way = tuple[N, float, Label, int]
"""A situation that comes next, what is paid (-inf: it does not surely come next), the label, and the action."""


def explore_situations(
    starts: Iterable[N], ways: Callable[[N], Iterable[Way[N]]], most: int
) -> tuple[list[N], list[PaidStep]]:
    """Find the situations that can be reached, and the steps between them, up to a number of situations."""
    nodes = list(dict.fromkeys(starts))[:most]
    number = {node: place for place, node in enumerate(nodes)}
    steps: list[PaidStep] = []
    for source, node in enumerate(nodes):  # it grows
        for after, reward, label, action in ways(node):
            if after not in number and len(nodes) < most:
                number[after] = len(nodes)
                nodes.append(after)
            if after in number:
                steps.append(PaidStep(source, number[after], reward, label, action))
    return nodes, steps


def find_paying_cycle(steps: Sequence[PaidStep]) -> list[PaidStep]:
    """Steps that lead back to their start and pay, if there are any.

    The longest ways to every situation are made longer step by step; the last steps of these ways lead round such a loop
    sooner or later.
    """
    if not any(step.reward > 0 for step in steps):
        return []
    source = np.array([step.source for step in steps])
    target = np.array([step.target for step in steps])
    reward = np.array([step.reward for step in steps])
    length = np.zeros(1 + max(source.max(), target.max()))
    last = np.full(len(length), -1)
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
    machine: PushdownSystem, sets: LabelSets, rules: Mapping[Head, list[Transition]]
) -> Iterator[Finding]:
    """A loop of each state that has one. A machine that never ends may pay for ever, and so may a reward machine."""
    if not machine.final or machine.leaves_stack:
        return
    views: dict[str, list[View]] = {}
    labels: dict[str, dict[Label, None]] = {}
    for head, applying in rules.items():
        views.setdefault(head.state, []).append(View(head.state, (head.top,)))
        read = [sets.of(rule.guard) for rule in applying if not rule.silent]
        labels.setdefault(head.state, {}).update((one.example(), None) for one in read if one)
    wrong = "repeated, it pays again"
    if any(state in machine.final for state in views):
        wrong = "repeated, it may pay more than ending; pay once, for what ends the task"
    looks = MOST_LOOKS
    for state, starts in views.items():
        if looks <= 0 or not labels[state]:
            continue

        def ways(view: View) -> Iterator[Way[View]]:
            for label in labels[view.state]:
                found = advance(machine, view, label)
                if found and found[0].state == view.state and len(found[0].known) <= KNOWN:
                    yield *found, label, 0

        nodes, steps = explore_situations(starts, ways, looks // len(labels[state]))
        looks -= len(nodes) * len(labels[state])
        loop = find_paying_cycle(steps)
        if loop:
            lowest = min(loop, key=lambda step: len(nodes[step.source].known))
            first = loop.index(lowest)
            loop = loop[first:] + loop[:first]
            known = nodes[lowest.source].known[0]
            top = "the empty stack" if known is BOTTOM else f"top {known}"
            word = word_text(step.label for step in loop)
            paid = number_text(sum(step.reward for step in loop))
            said = (
                f"in state `{state}` with {top}, the word `{word}` pays {paid} and changes nothing"
            )
            place = find_paying_rule(machine, [nodes[step.source] for step in loop], loop)
            yield Finding("W0606", f"{said}: {wrong}", place)


def find_paying_rule(
    machine: PushdownSystem, views: Iterable[View], loop: Iterable[PaidStep]
) -> Where | None:
    """The place of the first rule of a loop that pays."""
    for view, step in zip(views, loop, strict=True):
        rule = machine.rule(view.state, step.label, view.known[0])
        if rule is not None and rule.reward > 0:
            return rule.where
    return None
