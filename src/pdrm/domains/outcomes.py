"""A domain from a readable function: the outcomes of each action in each state, written down as arrays.

A state that ends the episode on one way in and not on another becomes two: itself, and a copy that is the end.
Only ways in that an episode can take count.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pdrm.domains.finite_domain import NO_LABEL, DomainArrays, FiniteDomain, Label, Picture
from pdrm.errors import BadArrays

State = TypeVar("State", bound=Hashable)

EMPTY: Label = frozenset()


class Outcome(NamedTuple):
    """One thing that may happen: the next state, its probability, the label and the environment's reward.

    >>> Outcome("home", label=frozenset({"x"})).probability
    1.0
    """

    next: Hashable
    probability: float = 1.0
    label: Label = EMPTY
    reward: float = 0.0
    terminal: bool = False
    """The environment ends with it."""


class Start(NamedTuple):
    """One way an episode may begin; no label is not the empty label.

    >>> Start("home").label is None
    True
    """

    state: Hashable
    probability: float = 1.0
    label: Label | None = None


Table = dict[Hashable, list[Sequence[Outcome]]]
"""The outcomes of each action, by state."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """The copy of a state in which the episode has ended."""

    state: Hashable


def from_outcomes(
    name: str,
    states: Mapping[State, str],
    actions: Sequence[str],
    outcomes: Callable[[State, int], Sequence[Outcome]],
    starts: Sequence[Start],
    *,
    events: Sequence[str],
    step_limit: int,
    picture: Picture | None = None,
) -> FiniteDomain:
    """Write a domain down.

    If a state ends the episode on one way in and not on another, a copy of it, numbered after the others, is the end.

    Args:
        name: The domain's name.
        states: Each state and its name.
        actions: The names of the actions.
        outcomes: The outcomes of an action, by number, in a state.
        starts: The ways an episode may begin.
        events: The events of the labels.
        step_limit: Steps after which an episode is truncated.
        picture: How to draw the states.

    Returns:
        The domain. `dataclasses.replace` sets its other fields, such as `machine`, `lowest` and `highest`.

    >>> coin = lambda state, action: [Outcome("s", 0.5, frozenset({"heads"})), Outcome("s", 0.5)]
    >>> tiny = from_outcomes("coin", {"s": "s"}, ["toss"], coin, [Start("s")], events=["heads"], step_limit=9)
    >>> tiny.arrays.label.tolist(), tiny.labels[1]
    ([[[1, 0]]], frozenset({'heads'}))
    """
    table: Table = {
        state: [tuple(outcomes(state, action)) for action in range(len(actions))]
        for state in states
    }
    _check_states(table, starts)
    ended = _split_ends(table, starts)
    labels = _order_labels(table, starts, events)
    arrays = _fill_arrays(table, starts, labels)
    state_names = (*states.values(), *(f"{states[state]}, ended" for state in ended))
    if picture is not None and ended:
        place = {state: number for number, state in enumerate(states)}
        copied = [place[state] for state in ended]
        picture = replace(
            picture,
            scene=(*picture.scene, *(picture.scene[number] for number in copied)),
            cell=(*picture.cell, *(picture.cell[number] for number in copied)),
        )
    words = tuple(events), tuple(actions), step_limit, state_names, picture
    return FiniteDomain(name, arrays, labels, *words)


def _check_states(table: Table, starts: Sequence[Start]) -> None:
    """Every state that is led to is listed."""
    for k, start in enumerate(starts):
        if start.state not in table:
            fault = f"start {k} is {start.state!r}, which is not a state"
            raise BadArrays(fault, fix="list every state")
    for number, row in enumerate(table.values()):
        for action, cell in enumerate(row):
            for index, outcome in enumerate(cell):
                if outcome.next not in table:
                    place = f"state {number}, action {action}, outcome {index}"
                    fault = f"{place} leads to {outcome.next!r}, which is not a state"
                    raise BadArrays(fault, fix="list every state")


def _find_ends(table: Table, starts: Sequence[Start]) -> tuple[set[Hashable], set[Hashable]]:
    """The states in which an episode can continue, and those in which it can end."""
    frontier = list(dict.fromkeys(start.state for start in starts))
    entered, ended = set(frontier), set[Hashable]()
    for state in frontier:  # grows while it is read
        for outcome in (outcome for cell in table[state] for outcome in cell):
            if outcome.probability <= 0:
                continue
            if outcome.terminal:
                ended.add(outcome.next)
            elif outcome.next not in entered:
                entered.add(outcome.next)
                frontier.append(outcome.next)
    return entered, ended


def _split_ends(table: Table, starts: Sequence[Start]) -> list[Any]:
    """Give each state that ends the episode on some ways in only a copy, which is the end, and return these states."""
    entered, ended = _find_ends(table, starts)
    split = [state for state in table if state in entered and state in ended]

    def redirect(outcome: Outcome) -> Outcome:
        if not outcome.terminal or outcome.next not in entered:
            return outcome
        if outcome.next in ended:
            return outcome._replace(next=_Ended(outcome.next))
        return outcome._replace(terminal=False)

    for state, row in table.items():
        table[state] = [tuple(map(redirect, cell)) for cell in row]
    for state in split:
        copy = _Ended(state)
        table[copy] = [(Outcome(copy, terminal=True),)] * len(table[state])
    return split


def _order_labels(
    table: Table, starts: Sequence[Start], events: Sequence[str]
) -> tuple[Label, ...]:
    """Each label once, by the declared order of its events: the same in every process, unlike a set's own order."""
    found = {outcome.label for row in table.values() for cell in row for outcome in cell}
    found |= {start.label for start in starts if start.label is not None}
    place = {event: position for position, event in enumerate(events)}

    def order(label: Label) -> list[tuple[int, str]]:
        return sorted((place.get(event, -1), event) for event in label)

    return tuple(sorted(found, key=order))


def _fill_arrays(table: Table, starts: Sequence[Start], labels: Sequence[Label]) -> DomainArrays:
    number = {state: place for place, state in enumerate(table)}
    position = {label: place for place, label in enumerate(labels)}
    rows = list(table.values())
    width = max((len(cell) for row in rows for cell in row), default=0)
    shape = (len(rows), len(rows[0]) if rows else 0, width)
    following, label = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    probability, reward = np.zeros(shape), np.zeros(shape)
    terminal = np.zeros(len(table), np.bool_)
    for state, row in enumerate(rows):
        for action, cell in enumerate(row):
            for index, outcome in enumerate(cell):
                place = (state, action, index)
                following[place] = number[outcome.next]
                label[place] = position[outcome.label]
                probability[place], reward[place] = outcome.probability, outcome.reward
                terminal[number[outcome.next]] |= outcome.terminal
    first = [NO_LABEL if start.label is None else position[start.label] for start in starts]
    return DomainArrays(
        following,
        probability,
        label,
        reward,
        terminal,
        np.array([number[start.state] for start in starts], np.int32),
        np.array([start.probability for start in starts], np.float64),
        np.array(first, np.int32),
    )
