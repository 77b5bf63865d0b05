"""A domain of your own: from a readable function (`from_outcomes`), or from arrays (`from_arrays`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import NO_LABEL, DomainArrays, FiniteDomain, Label, Picture
from pdrm.errors import BadArrays

# --- From a readable function: the outcomes of each action in each state, written down as arrays
#
# A state that ends the episode on one way in and not on another becomes two: itself, and a copy that is the end.
# Only ways in that an episode can take count.

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


class Ended(NamedTuple):
    """The copy of a state that is the end."""

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
    entered, ended = _find_ends(table, starts)
    split = [place for place, state in enumerate(table) if state in entered and state in ended]
    for state in [list(table)[place] for place in split]:
        end = Ended(state)
        table[end] = [(Outcome(end, terminal=True),)] * len(actions)
    found = {outcome.label for row in table.values() for cell in row for outcome in cell}
    found |= {start.label for start in starts if start.label is not None}
    labels = _order_labels(found, events)
    arrays = _fill_arrays(table, starts, labels, entered)
    names = list(states.values())
    state_names = (*names, *(f"{names[place]}, ended" for place in split))
    if picture is not None:
        picture = replace(
            picture,
            scene=(*picture.scene, *(picture.scene[place] for place in split)),
            cell=(*picture.cell, *(picture.cell[place] for place in split)),
        )
    words = tuple(events), tuple(actions), step_limit, state_names, picture
    return FiniteDomain(name, arrays, labels, *words)


def _find_ends(table: Table, starts: Sequence[Start]) -> tuple[set[Hashable], set[Hashable]]:
    """The states in which an episode can continue, and those in which it can end."""
    frontier = list(dict.fromkeys(start.state for start in starts))
    entered, ended = set(frontier), set[Hashable]()
    for state in frontier:  # grows while it is read
        for outcome in (outcome for cell in table.get(state, ()) for outcome in cell):
            if outcome.probability <= 0:
                continue
            if outcome.terminal:
                ended.add(outcome.next)
            elif outcome.next not in entered:
                entered.add(outcome.next)
                frontier.append(outcome.next)
    return entered, ended


def _order_labels(labels: Iterable[Label], events: Sequence[str]) -> tuple[Label, ...]:
    """The labels by the declared order of their events: the same in every process, unlike a set's own order."""
    place = {event: position for position, event in enumerate(events)}

    def order(label: Label) -> list[tuple[int, str]]:
        return sorted((place.get(event, -1), event) for event in label)

    return tuple(sorted(labels, key=order))


def _fill_arrays(
    table: Table, starts: Sequence[Start], labels: Sequence[Label], entered: set[Hashable]
) -> DomainArrays:
    """The arrays of a table; what ends in a state that has a copy leads to the copy."""
    number = {state: place for place, state in enumerate(table)}
    position = {label: place for place, label in enumerate(labels)}

    def find(state: Hashable, place: str) -> int:
        if state not in number:
            fault = f"{place} {state!r}, which is not a state"
            raise BadArrays(fault, fix="list every state")
        return number[state]

    rows = list(table.values())
    width = max((len(cell) for row in rows for cell in row), default=0)
    shape = (len(rows), len(rows[0]) if rows else 0, width)
    following, label = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    probability, reward = np.zeros(shape), np.zeros(shape)
    terminal = np.zeros(len(rows), np.bool_)
    first = [find(start.state, f"start {k} is") for k, start in enumerate(starts)]
    for state, row in enumerate(rows):
        for action, cell in enumerate(row):
            for index, outcome in enumerate(cell):
                place, target = (state, action, index), outcome.next
                if outcome.terminal and Ended(target) in number:
                    target = Ended(target)
                there = find(target, "state {}, action {}, outcome {} leads to".format(*place))
                following[place] = there
                terminal[there] |= outcome.terminal and target not in entered
                label[place] = position[outcome.label]
                probability[place] = outcome.probability
                reward[place] = outcome.reward
    said = [NO_LABEL if start.label is None else position[start.label] for start in starts]
    return DomainArrays(
        following,
        probability,
        label,
        reward,
        terminal,
        np.array(first, np.int32),
        np.array([start.probability for start in starts], np.float64),
        np.array(said, np.int32),
    )


# --- From arrays

Number = TypeVar("Number", np.int32, np.float64)


def from_arrays(
    name: str,
    next: npt.ArrayLike,
    label: npt.ArrayLike,
    labels: Sequence[Iterable[str]],
    *,
    step_limit: int,
    probability: npt.ArrayLike | None = None,
    reward: npt.ArrayLike = 0.0,
    terminal: npt.ArrayLike | None = None,
    start: int | Mapping[int, float] = 0,
    start_label: int = NO_LABEL,
    events: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    state_names: Sequence[str] | None = None,
) -> FiniteDomain:
    """Build a domain from arrays, each [state, action] (one outcome of each action) or [state, action, outcome].

    Args:
        name: The domain's name.
        next: The next states.
        label: The labels of the outcomes, as positions in `labels`.
        labels: The labels, each a set of events.
        step_limit: Steps after which an episode is truncated.
        probability: The probabilities of the outcomes.
        reward: The environment's own rewards, or one number for all.
        terminal: For each state, True if the environment ends there.
        start: A state, or the probability of each.
        start_label: The label emitted at reset, or -1 for none.
        events: The events, in order (default: those of the labels, sorted).
        actions: The names of the actions (default: numbers).
        state_names: The names of the states (default: numbers).

    Returns:
        The domain. `dataclasses.replace` sets its other fields, such as `machine`, `lowest` and `highest`.

    >>> line = from_arrays("line", [[0, 1], [0, 1]], [[0, 1], [0, 0]], [(), ("end",)], step_limit=10)
    >>> line.arrays.next.shape, line.arrays.probability.ravel().tolist(), line.actions
    ((2, 2, 1), [1.0, 1.0, 1.0, 1.0], ('0', '1'))
    """
    following = _to_outcomes(name, "next", next, np.int32)
    shape = following.shape
    if probability is None:
        if shape[2] > 1:
            fault = f"domain `{name}` has {shape[2]} outcomes and no probabilities"
            raise BadArrays(fault, fix="give `probability`")
        probability = np.ones(shape)
    begin = {start: 1.0} if isinstance(start, int) else start
    arrays = DomainArrays(
        next=following,
        probability=_to_outcomes(name, "probability", probability, np.float64),
        label=_to_outcomes(name, "label", label, np.int32),
        reward=_to_outcomes(
            name, "reward", np.full(shape, reward) if np.ndim(reward) == 0 else reward, np.float64
        ),
        terminal=np.zeros(shape[0], np.bool_) if terminal is None else np.array(terminal, np.bool_),
        start_state=np.array(list(begin), np.int32),
        start_probability=np.array(list(begin.values()), np.float64),
        start_label=np.full(len(begin), start_label, np.int32),
    )
    sets = tuple(frozenset(events_of) for events_of in labels)
    declared = sorted(frozenset().union(*sets)) if events is None else events
    return FiniteDomain(
        name,
        arrays,
        sets,
        tuple(declared),
        tuple(actions or map(str, range(shape[1]))),
        step_limit,
        tuple(state_names or map(str, range(shape[0]))),
    )


def _to_outcomes(
    name: str, field: str, values: npt.ArrayLike, kind: type[Number]
) -> npt.NDArray[Number]:
    """The values as a new array of that type with three axes; numbers that the type cannot hold are refused."""
    try:
        given = np.array(values)
        array = given.astype(kind)
        kept = np.array_equal(array, given, equal_nan=True)
    except (TypeError, ValueError) as error:
        fault = f"domain `{name}`: `{field}` is not an array of numbers"
        raise BadArrays(fault, fix="give nested lists or an array") from error
    if array.ndim not in (2, 3) or not kept:
        fault = f"domain `{name}`: `{field}` has shape {given.shape} of {given.dtype}"
        fix = f"give [state, action] or [state, action, outcome] of {kind.__name__}"
        raise BadArrays(fault, fix=fix)
    return np.ascontiguousarray(array[..., np.newaxis] if array.ndim == 2 else array)
