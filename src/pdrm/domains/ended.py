"""A state that ends the episode on one way in and not on another is two states: itself, and a copy that is the end.

Only ways in that an episode can take count: what cannot be reached, and what a final state would do next, never happens.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pdrm.domains.picture import Picture

if TYPE_CHECKING:  # the outcomes' own module calls this one
    from pdrm.domains.outcomes import Outcome

Table = dict[Hashable, list[tuple["Outcome", ...]]]
"""What each action can do, by state."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The copy of a state in which the episode has ended.

    >>> Ended("home")
    Ended(state='home')
    """

    state: Hashable


def ends_apart(table: Table, starts: Iterable[Hashable], end: Outcome) -> Table:
    """The table in which every way into a state agrees on whether it ends there; copies come last and only repeat `end`.

    >>> from pdrm.domains.outcomes import Outcome
    >>> table = {"s": [(Outcome("s"),), (Outcome("s", terminal=True),)]}
    >>> [outcome.next for (outcome,) in ends_apart(table, ["s"], Outcome(None))["s"]]
    ['s', Ended(state='s')]
    """
    going, ended = _reached(table, starts)
    copies = {state: Ended(state) for state in table if state in going and state in ended}

    def told(outcome: Outcome) -> Outcome:
        if not outcome.terminal or outcome.next not in going:
            return outcome
        there = copies.get(outcome.next)
        return outcome._replace(terminal=False) if there is None else outcome._replace(next=there)

    apart: Table = {state: [tuple(map(told, cell)) for cell in row] for state, row in table.items()}
    for state, copy in copies.items():
        apart[copy] = [(end._replace(next=copy, terminal=True),)] * len(table[state])
    return apart


def _reached(table: Table, starts: Iterable[Hashable]) -> tuple[set[Hashable], set[Hashable]]:
    """The states in which an episode can go on, and those in which it can end."""
    frontier = [state for state in dict.fromkeys(starts) if state in table]  # others are refused with the arrays
    going, ended = set(frontier), set[Hashable]()
    for state in frontier:  # grows while it is read
        for outcome in (outcome for cell in table[state] for outcome in cell if outcome.probability > 0):
            if outcome.terminal:
                ended.add(outcome.next)
            elif outcome.next in table and outcome.next not in going:
                going.add(outcome.next)
                frontier.append(outcome.next)
    return going, ended


def shown_too(picture: Picture, states: Sequence[Hashable]) -> Picture:
    """The picture, in which a copy looks as its state does."""
    place = {state: number for number, state in enumerate(states)}
    copied = [place[state.state] for state in states if isinstance(state, Ended)]
    return replace(
        picture,
        scene=(*picture.scene, *(picture.scene[number] for number in copied)),
        cell=(*picture.cell, *(picture.cell[number] for number in copied)),
    )
