"""Loops that pay: words that lead back to the situation in which they began, with a reward above 0.

A situation holds the topmost symbols of the stack as far as they are known, so every loop that is found is real. On a machine
alone only those are reported that stay in one state, such as a push and a pop that are both paid: whether a loop through
several states can be repeated (are there more treasures?) depends on the domain, and is found out with it
(`product/task_findings`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from pdrm.errors import Finding, Where
from pdrm.machines.guards import Label, word_text
from pdrm.machines.heads import Head, PushdownRules, Settled, replace_top, rule_at, settle
from pdrm.machines.labels import LabelSet
from pdrm.machines.transitions import Otherwise, Rule, TopSymbols, number_text

N = TypeVar("N", bound=Hashable)

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
    head = Head(view.state, view.known[0])
    rule = rule_at(machine, head, label)
    if rule is None:
        return None
    state, symbols = replace_top(head, rule)
    here = Settled(state, symbols + view.known[1:], 0.0 + rule.reward)
    after = settle(machine, here, MOST_SILENT)
    if after.moves == MOST_SILENT or (not after.known and after.state not in machine.final):
        return None
    return View(after.state, after.known), after.paid


class PaidStep(NamedTuple, Generic[N]):
    """A step from one situation to another."""

    source: N
    target: N
    reward: float
    """What is paid (-inf: the step does not surely lead there)."""
    label: Label
    action: int = 0


def explore_situations(
    starts: Iterable[N], steps_from: Callable[[N], Iterable[PaidStep[N]]], most: int
) -> list[PaidStep[N]]:
    """Find the steps between the situations that can be reached, up to a number of situations."""
    known = dict.fromkeys(islice(starts, most))
    nodes = list(known)
    found: list[PaidStep[N]] = []
    for node in nodes:  # it grows
        for step in steps_from(node):
            if step.target not in known and len(nodes) < most:
                known[step.target] = None
                nodes.append(step.target)
            if step.target in known:
                found.append(step)
    return found


def find_paying_cycle(steps: Sequence[PaidStep[N]]) -> list[PaidStep[N]]:
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

    def stay(view: View) -> Iterator[PaidStep[View]]:
        for label in labels[view.state]:
            found = advance(machine, view, label)
            if found and found[0].state == view.state and len(found[0].known) <= KNOWN:
                yield PaidStep(view, *found, label)

    steps: dict[str, list[PaidStep[View]]] = defaultdict(list)
    views = (View(head.state, (head.top,)) for head in readings)
    for step in explore_situations(views, stay, MOST_VIEWS):
        steps[step.source.state].append(step)
    wrong = "repeated, it pays again"
    if any(head.state in machine.final for head in readings):
        wrong = "repeated, it may pay more than ending; pay once, for what ends the task"
    for state, own in steps.items():
        loop = find_paying_cycle(own)
        if loop:
            first = min(range(len(loop)), key=lambda at: len(loop[at].source.known))
            loop = loop[first:] + loop[:first]
            known = loop[0].source.known[0]
            top = "the empty stack" if known is BOTTOM else f"top {known}"
            word = word_text(step.label for step in loop)
            paid = number_text(sum(step.reward for step in loop))
            said = (
                f"in state `{state}` with {top}, the word `{word}` pays {paid} and changes nothing"
            )
            place = find_paying_rule(machine, ((step.source, step.label) for step in loop))
            yield Finding("W0606", f"{said}: {wrong}", place)


def find_paying_rule(machine: PushdownRules, loop: Iterable[tuple[View, Label]]) -> Where | None:
    """The place of the first rule of a loop that pays."""
    for view, label in loop:
        rule = machine.rule(view.state, label, view.known[0])
        if rule is not None and rule.reward > 0:
            return rule.where
    return None
