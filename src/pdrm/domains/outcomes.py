"""A domain from a readable function: what can happen in each state under each action, written down as arrays.

A state that ends the episode on one way in and not on another becomes two: itself, and a copy that is the end. Only ways in
that an episode can take count: what cannot be reached, and what a final state would do next, never happens.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypedDict, TypeVar, Unpack

import numpy as np

from pdrm.domains.finite_domain import NO_LABEL, DomainArrays, FiniteDomain, Label, Picture
from pdrm.errors import BadArrays, Where

State = TypeVar("State", bound=Hashable)

EMPTY: Label = frozenset()


class Outcome(NamedTuple):
    """One thing that may happen: where it leads, how likely, what is then true and what the environment pays.

    >>> Outcome("home", label=frozenset({"x"})).probability
    1.0
    """

    next: Hashable
    probability: float = 1.0
    label: Label = EMPTY
    reward: float = 0.0
    terminal: bool = False
    """Whether the environment ends with it."""


class Start(NamedTuple):
    """One way an episode may begin; no label is not the empty label.

    >>> Start("home").label is None
    True
    """

    state: Hashable
    probability: float = 1.0
    label: Label | None = None


class OptionalFields(TypedDict, total=False):
    """The optional fields of `FiniteDomain`."""

    picture: Picture | None
    machine: str | None
    lowest: float | None
    highest: float | None
    tests: tuple[FiniteDomain, ...]
    sources: Mapping[str, Where]


def from_outcomes(
    name: str,
    states: Mapping[State, str],
    actions: Sequence[str],
    outcomes: Callable[[State, int], Sequence[Outcome]],
    starts: Sequence[Start],
    *,
    events: Sequence[str],
    step_limit: int,
    **words: Unpack[OptionalFields],
) -> FiniteDomain:
    """Write the domain down: `states` maps each state to its name, `outcomes` says what an action (by number) can do.

    Where a state ends the episode on one way in and not on another, a copy of it, numbered after the others, is the end.

    >>> coin = lambda state, action: [Outcome("s", 0.5, frozenset({"heads"})), Outcome("s", 0.5)]
    >>> tiny = from_outcomes("coin", {"s": "s"}, ["toss"], coin, [Start("s")], events=["heads"], step_limit=9)
    >>> tiny.arrays.label.tolist(), tiny.labels[1]
    ([[[1, 0]]], frozenset({'heads'}))
    """
    written: Table = {
        state: [tuple(outcomes(state, action)) for action in range(len(actions))]
        for state in states
    }
    table = _split_ends(written, (start.state for start in starts))
    found = [outcome.label for row in table.values() for cell in row for outcome in cell]
    labels = _order_labels(
        [*found, *(start.label for start in starts if start.label is not None)], events
    )
    arrays = _fill_arrays(table, starts, {label: position for position, label in enumerate(labels)})
    copies = [state for state in table if isinstance(state, _Ended)]
    called = dict(zip(table, states.values(), strict=False))  # copies come after the states
    state_names = (*states.values(), *(f"{called[copy.state]}, ended" for copy in copies))
    picture = words.get("picture")
    if picture is not None and copies:
        words["picture"] = _picture_copies(picture, list(table))
    return FiniteDomain(
        name, arrays, labels, tuple(events), tuple(actions), step_limit, state_names, **words
    )


def _order_labels(labels: Iterable[Label], events: Sequence[str]) -> tuple[Label, ...]:
    """Each label once, by the declared order of its events: the same in every process, unlike a set's own order."""
    place = {event: position for position, event in enumerate(events)}
    return tuple(
        sorted(
            set(labels), key=lambda label: sorted((place.get(event, -1), event) for event in label)
        )
    )


def _fill_arrays(
    table: Table, starts: Sequence[Start], position: Mapping[Label, int]
) -> DomainArrays:
    number = {state: place for place, state in enumerate(table)}
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
                if outcome.next not in number:
                    what = (
                        f"state {state}, action {action}, outcome {index} leads to {outcome.next!r}"
                    )
                    raise BadArrays(f"{what}, which is not a state", fix="list every state")
                following[place] = number[outcome.next]
                label[place] = position[outcome.label]
                probability[place], reward[place] = outcome.probability, outcome.reward
                terminal[number[outcome.next]] |= outcome.terminal
    for k, start in enumerate(starts):
        if start.state not in number:
            raise BadArrays(
                f"start {k} is {start.state!r}, which is not a state", fix="list every state"
            )
    first = [NO_LABEL if start.label is None else position[start.label] for start in starts]
    states, chances = (
        [number[start.state] for start in starts],
        [start.probability for start in starts],
    )
    begin = np.array(states, np.int32), np.array(chances, np.float64)
    return DomainArrays(
        following, probability, label, reward, terminal, *begin, np.array(first, np.int32)
    )


# --- States that end the episode on some ways in only

Table = dict[Hashable, list[tuple[Outcome, ...]]]
"""What each action can do, by state."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """The copy of a state in which the episode has ended."""

    state: Hashable


def _split_ends(table: Table, starts: Iterable[Hashable]) -> Table:
    """The table in which every way into a state agrees on whether it ends there; copies come last and lead to themselves."""
    going, ended = _reach(table, starts)
    copies = {state: _Ended(state) for state in table if state in going and state in ended}

    def redirect(outcome: Outcome) -> Outcome:
        if not outcome.terminal or outcome.next not in going:
            return outcome
        copy = copies.get(outcome.next)
        return outcome._replace(terminal=False) if copy is None else outcome._replace(next=copy)

    split: Table = {
        state: [tuple(map(redirect, cell)) for cell in row] for state, row in table.items()
    }
    for state, copy in copies.items():
        split[copy] = [(Outcome(copy, terminal=True),)] * len(table[state])
    return split


def _reach(table: Table, starts: Iterable[Hashable]) -> tuple[set[Hashable], set[Hashable]]:
    """The states in which an episode can go on, and those in which it can end."""
    frontier = [
        state for state in dict.fromkeys(starts) if state in table
    ]  # others are refused with the arrays
    going, ended = set(frontier), set[Hashable]()
    for state in frontier:  # grows while it is read
        for outcome in (
            outcome for cell in table[state] for outcome in cell if outcome.probability > 0
        ):
            if outcome.terminal:
                ended.add(outcome.next)
            elif outcome.next in table and outcome.next not in going:
                going.add(outcome.next)
                frontier.append(outcome.next)
    return going, ended


def _picture_copies(picture: Picture, states: Sequence[Hashable]) -> Picture:
    """The picture, in which a copy looks as its state does."""
    place = {state: number for number, state in enumerate(states)}
    copied = [place[state.state] for state in states if isinstance(state, _Ended)]
    return replace(
        picture,
        scene=(*picture.scene, *(picture.scene[number] for number in copied)),
        cell=(*picture.cell, *(picture.cell[number] for number in copied)),
    )
