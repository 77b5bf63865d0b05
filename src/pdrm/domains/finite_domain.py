"""The labelled Markov decision process of Section 2, finite and as arrays, and what must hold of them.

`DomainArrays` holds integers and floats only, so that it passes unchanged into Numba and JAX. `FiniteDomain` adds the words:
names of states, actions and events, the step limit, how to draw a state, and the range of returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.errors import BadArrays, BadDomainSetting, UnknownConfiguration, Where
from pdrm.lazy import Displayed

Label = frozenset[str]
"""The set of events true after a transition."""

StateLike = int | str | Sequence[int]
"""A state by its number, its name, or its row and column on a grid."""

NEAR = 3
"""Names of states that an error lists."""

NO_LABEL = -1
"""In `start_label`: the domain emits nothing at reset (a machine reads the empty label, and does not read this)."""

WALL, FLOOR = "#", "."
"""Cells of a grid that are not places."""

ROUNDING = 1e-9
"""How far a sum of probabilities may be from 1."""

MOST_STEPS = 2**31 - 1
"""The highest step limit."""

ARRAY_TYPES = {
    "next": ("int32", 3),
    "probability": ("float64", 3),
    "label": ("int32", 3),
    "reward": ("float64", 3),
    "terminal": ("bool", 1),
    "start_state": ("int32", 1),
    "start_probability": ("float64", 1),
    "start_label": ("int32", 1),
}
"""The type of each array, and how many axes it has."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What the grid shows apart from the agent: rows of walls, floor and places, and a word on what has happened."""

    rows: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """For every state, the scene (a position in `scenes`) and where in it the agent stands.

    >>> Picture((Scene(("x.",)),), scene=(0, 0), cell=((0, 0), (0, 1))).size
    (1, 2)
    """

    scenes: tuple[Scene, ...]
    scene: tuple[int, ...]
    cell: tuple[tuple[int, int], ...]

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        rows = self.scenes[0].rows
        return len(rows), len(rows[0])


class DomainArrays(NamedTuple):
    """What a domain does: S states, A actions, at most O outcomes of each action, K outcomes of a reset.

    >>> from pdrm.domains.paper_domains import domain
    >>> arrays = domain("maze-5x5").arrays
    >>> arrays.next.shape, arrays.start_state.tolist()
    ((8, 4, 1), [0])
    """

    next: npt.NDArray[np.int32]
    """[S, A, O]: the next state."""
    probability: npt.NDArray[np.float64]
    """[S, A, O]: sums to 1 over the outcomes; unused outcomes have probability 0."""
    label: npt.NDArray[np.int32]
    """[S, A, O]: position of the emitted label in `labels`."""
    reward: npt.NDArray[np.float64]
    """[S, A, O]: the environment's own reward."""
    terminal: npt.NDArray[np.bool_]
    """[S]: whether the environment ends there."""
    start_state: npt.NDArray[np.int32]
    """[K]: the state of each outcome of a reset."""
    start_probability: npt.NDArray[np.float64]
    """[K]: sums to 1."""
    start_label: npt.NDArray[np.int32]
    """[K]: position in `labels` of the label emitted at reset, or -1 for none."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FiniteDomain(Displayed):
    """A finite labelled MDP, checked when it is built.

    >>> from pdrm.domains.paper_domains import domain
    >>> letter = domain("letter")
    >>> letter.states, letter.actions, letter.events, letter.describe(0)
    (42, ('u', 'd', 'l', 'r'), ('A', 'B', 'C'), 'row 0, column 0; A shows')
    """

    name: str
    """What it is called."""
    arrays: DomainArrays
    """What it does."""
    labels: tuple[Label, ...]
    """The labels that it emits, by the numbers that the arrays have for them."""
    events: tuple[str, ...]
    """The events that labels are made of."""
    actions: tuple[str, ...]
    """The names of the actions, by number."""
    step_limit: int
    """Steps after which an episode is cut off (`truncated`, never `terminated`)."""
    state_names: tuple[str, ...]
    """The names of the states, by number."""
    picture: Picture | None = None
    """How to draw each state, for domains that happen on a grid."""
    machine: str | None = None
    """The catalogue machine that this domain goes with."""
    lowest: float | None = None
    """The lowest return of an episode with that machine, undiscounted, where known."""
    highest: float | None = None
    """The highest return of an episode with that machine, undiscounted, where known."""
    tests: tuple[FiniteDomain, ...] = ()
    """The domains that test what is learnt here, with the same states, actions and labels; none means this one."""
    sources: Mapping[str, Where] = field(default_factory=dict)
    """Where in a map file each event comes from, for messages; it is not saved."""

    def __post_init__(self) -> None:
        check_words(self.name, self.labels, self.events)
        check_step_limit(self.name, self.step_limit)
        check_range(self.name, self.lowest, self.highest)
        check_arrays(
            self.name, self.arrays, len(self.labels), len(self.actions), len(self.state_names)
        )
        for test in self.tests:
            self.check_shares(test)

    def __repr__(self) -> str:
        return f"FiniteDomain({self.name!r}, states={self.states}, actions={len(self.actions)})"

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.state_names)

    @property
    def tested_on(self) -> tuple[FiniteDomain, ...]:
        """The domains that test what was learnt here: `tests`, or this one."""
        return self.tests or (self,)

    def find_labels(self) -> tuple[Label, ...]:
        """The labels that are emitted, at reset or with some chance: of some domains not all that are listed.

        >>> from pdrm.domains.paper_domains import domain
        >>> len(domain("deliver-8").labels), len(domain("deliver-8").find_labels())
        (133, 69)
        """
        arrays = self.arrays
        emitted = {
            *arrays.label[arrays.probability > 0].tolist(),
            *arrays.start_label[arrays.start_probability > 0].tolist(),
        }
        return tuple(label for number, label in enumerate(self.labels) if number in emitted)

    def check_shares(self, other: FiniteDomain) -> None:
        """Raise unless what was learnt here can be tested in the other: as many states, the same actions and labels.

        >>> from pdrm.domains.paper_domains import domain
        >>> domain("maze-5x5").check_shares(domain("maze-10x10"))
        Traceback (most recent call last):
        ...
        pdrm.errors.BadArrays: error[E0702]: `maze-10x10` cannot test `maze-5x5`: it has 43 states, not 8
          fix: the same states, actions and labels in the same order, as `starting` and `dataclasses.replace` keep them
        """
        if other.states != self.states:
            differs = f"it has {other.states} states, not {self.states}"
        elif other.actions != self.actions:
            differs = f"its actions are {_list_some(other.actions)}, not {_list_some(self.actions)}"
        elif other.labels != self.labels:
            differs = _compare_labels(self.labels, other.labels)
        else:
            return
        raise BadArrays(
            f"`{other.name}` cannot test `{self.name}`: {differs}",
            fix="the same states, actions and labels in the same order, as `starting` and `dataclasses.replace` keep them",
        )

    def describe(self, state: int) -> str:
        """A state in words. state: its number."""
        return self.state_names[state]

    def find_state(self, called: StateLike) -> int:
        """The number of a state. called: its number, its name as `describe` has it, or on a grid its row and column, where only one
        state is there.

        >>> from pdrm.domains.paper_domains import domain
        >>> maze = domain("maze-5x5")
        >>> maze.find_state("row 3, column 3"), maze.find_state((3, 3)), maze.find_state(7)
        (7, 7, 7)
        """
        if isinstance(called, str) and called.isascii() and called.isdecimal():
            called = int(called)
        if isinstance(called, int | np.integer) and not isinstance(called, bool):
            if 0 <= called < self.states:
                return int(called)
            fault = f"{called} is not the number of a state of `{self.name}`"
            raise UnknownConfiguration(fault, fix=f"states are 0 to {self.states - 1}")
        if isinstance(called, str):
            found = [number for number, name in enumerate(self.state_names) if name == called]
            return self._choose(
                found,
                f"called `{called}`",
                f"{self._name_near(called)}; or a number up to {self.states - 1}",
            )
        cell = tuple(np.asarray(called).tolist()) if np.shape(called) == (2,) else ()
        if self.picture is not None and cell and all(type(part) is int for part in cell):
            where = f"row {cell[0]}, column {cell[1]}"
            found = [number for number, one in enumerate(self.picture.cell) if one == cell]
            return self._choose(found, f"at {where}", self._name_near_cells(cell))
        ways = "its number or its name" + ", or its row and column, such as (1, 2)" * (
            self.picture is not None
        )
        fix = f"give {ways}; 0 is {self.state_names[0]!r}"
        raise UnknownConfiguration(f"{str(called)[:60]} is not a state of `{self.name}`", fix=fix)

    def _name_near(self, called: str) -> str:
        """The names of some states that are most like this."""
        return "the nearest: " + "; ".join(
            get_close_matches(called, self.state_names, n=NEAR, cutoff=0.0)
        )

    def _name_near_cells(self, cell: tuple[int, ...]) -> str:
        """The names of the states that are nearest to a cell of the grid."""
        cells = enumerate(self.picture.cell if self.picture else ())
        ordered = sorted(cells, key=lambda one: abs(one[1][0] - cell[0]) + abs(one[1][1] - cell[1]))
        return "the nearest: " + "; ".join(
            dict.fromkeys(self.state_names[number] for number, _ in ordered[:NEAR])
        )

    def _choose(self, found: Sequence[int], what: str, fix: str) -> int:
        """The one state that was found; raise where there is none, or several."""
        if len(found) == 1:
            return found[0]
        if not found:
            raise UnknownConfiguration(f"no state of `{self.name}` is {what}", fix=fix)
        some = ", ".join(
            f"{number} ({self.describe(number)})" for number in found[:NEAR]
        ) + ", …" * (len(found) > NEAR)
        raise UnknownConfiguration(
            f"{len(found)} states of `{self.name}` are {what}",
            fix=f"give the number of one: {some}",
        )

    def starting(self, *chosen: int) -> FiniteDomain:
        """The same domain, starting with some outcomes of its reset only (and normalised by the same returns). chosen: their
        numbers."""
        count = len(self.arrays.start_state)
        for k in chosen:
            if not 0 <= k < count:
                raise BadDomainSetting(
                    f"`{self.name}` has no start {k}", fix=f"its starts are 0 to {count - 1}"
                )
        kept = np.array(chosen, np.int64)
        chance = self.arrays.start_probability[kept]
        arrays = self.arrays._replace(
            start_state=self.arrays.start_state[kept],
            start_probability=chance / chance.sum() if len(chosen) > 1 else np.ones(len(chosen)),
            start_label=self.arrays.start_label[kept],
        )
        return replace(
            self, name=f"{self.name}, start {', '.join(map(str, chosen))}", arrays=arrays, tests=()
        )


def pick(probability: npt.NDArray[np.float64], number: float) -> int:
    """The outcome that a number in [0, 1) chooses: the first whose cumulated probability exceeds it.

    >>> pick(np.array([0.5, 0.0, 0.5]), 0.5)
    2
    """
    last, total = 0, 0.0
    for outcome, chance in enumerate(probability.tolist()):
        if chance > 0.0:
            last, total = outcome, total + chance
            if number < total:
                return outcome
    return last  # the sum fell short of 1 by rounding


# --- What must hold of arrays and words; a fault names the state, the action and the outcome


def check_words(name: str, labels: tuple[Label, ...], events: tuple[str, ...]) -> None:
    """Labels use declared events, and nothing is listed twice."""
    if len(set(events)) < len(events):
        raise BadArrays(f"domain `{name}` lists an event twice", fix="list each event once")
    if len(set(labels)) < len(labels):
        raise BadArrays(
            f"domain `{name}` lists a label twice",
            fix="list each label once and refer to it by position",
        )
    for position, label in enumerate(labels):
        for event in sorted(label - set(events)):
            fault = (
                f"domain `{name}`: label {position} holds `{event}`, which is not among its events"
            )
            raise BadArrays(fault, fix="declare the event")


def check_step_limit(name: str, limit: object) -> None:
    """Every episode ends."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_STEPS:
        fix = f"give an integer from 1 to {MOST_STEPS:,}"
        raise BadDomainSetting(f"domain `{name}`: a step limit of {limit!r}", fix=fix)


def check_range(name: str, lowest: float | None, highest: float | None) -> None:
    """Returns are normalised by the two, so the lowest is below the highest."""
    if lowest is not None and highest is not None and not lowest < highest:
        fault = f"domain `{name}`: the lowest return is {lowest:g} and the highest {highest:g}"
        raise BadDomainSetting(fault, fix="the lowest must be below the highest, or leave both out")


def check_arrays(name: str, arrays: DomainArrays, labels: int, actions: int, states: int) -> None:
    """Types, shapes, probabilities, indices and rewards are those of a labelled MDP."""
    _check_kinds(name, arrays)
    outcomes, starts = arrays.next.shape[2], len(arrays.start_state)
    for array, (_, axes) in ARRAY_TYPES.items():
        shape = (starts,) if array.startswith("start_") else (states, actions, outcomes)[:axes]
        found = getattr(arrays, array).shape
        if found != shape:
            raise BadArrays(
                f"domain `{name}`: `{array}` has shape {found}, not {shape}",
                fix="make the shapes agree",
            )
    if min(states, actions, outcomes, starts) < 1:
        fault = f"domain `{name}` has {states} states, {actions} actions, {outcomes} outcomes and {starts} starts"
        raise BadArrays(fault, fix="give at least one of each")
    used = arrays.probability > 0
    _refuse(
        name,
        "next",
        arrays.next,
        (arrays.next < 0) | (arrays.next >= states),
        f"states are 0 to {states - 1}",
    )
    _refuse(
        name,
        "label",
        arrays.label,
        (arrays.label < 0) | (arrays.label >= labels),
        f"labels are 0 to {labels - 1}",
    )
    _refuse(
        name,
        "reward",
        arrays.reward,
        used & ~np.isfinite(arrays.reward),
        "rewards are finite numbers",
    )
    _check_probability(name, "probability", arrays.probability)
    _check_probability(name, "start_probability", arrays.start_probability)
    start, first = arrays.start_state, arrays.start_label
    _refuse(
        name, "start_state", start, (start < 0) | (start >= states), f"states are 0 to {states - 1}"
    )
    _refuse(
        name,
        "start_label",
        first,
        (first < -1) | (first >= labels),
        f"labels are 0 to {labels - 1}, -1 for none",
    )


def _list_some(words: tuple[str, ...]) -> str:
    return " ".join(words[:8]) + (f" … ({len(words)})" if len(words) > 8 else "")


def _compare_labels(labels: tuple[Label, ...], others: tuple[Label, ...]) -> str:
    """The first label that differs."""
    for position, (label, other) in enumerate(zip(labels, others, strict=False)):
        if label != other:
            names = ["{" + ", ".join(sorted(found)) + "}" for found in (other, label)]
            return f"its label {position} is {names[0]}, not {names[1]}"
    return f"it has {len(others)} labels, not {len(labels)}"


def _check_kinds(name: str, arrays: DomainArrays) -> None:
    for called, (kind, axes) in ARRAY_TYPES.items():
        array = getattr(arrays, called)
        found = (
            f"{array.dtype} with {array.ndim} axes"
            if isinstance(array, np.ndarray)
            else type(array).__name__
        )
        if found != f"{kind} with {axes} axes" or not array.flags.c_contiguous:
            fault = (
                f"domain `{name}`: `{called}` is {found}, not a contiguous {kind} with {axes} axes"
            )
            raise BadArrays(fault, fix="`from_arrays` converts what it is given")


def _check_probability(name: str, field: str, array: npt.NDArray[np.float64]) -> None:
    _refuse(
        name,
        field,
        array,
        ~((array >= 0) & (array <= 1 + ROUNDING)),
        "probabilities are between 0 and 1",
    )
    total = array.sum(axis=-1)
    _refuse(
        name,
        f"the sum of {field}",
        np.asarray(total),
        np.asarray(abs(total - 1) > ROUNDING),
        "it must be 1",
    )


def _refuse(
    name: str, field: str, array: npt.NDArray[Any], wrong: npt.NDArray[np.bool_], rule: str
) -> None:
    """Raise at the first wrong entry."""
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        axes = ("start",) if "start_" in field else ("state", "action", "outcome")
        where = ", ".join(f"{axis} {index}" for axis, index in zip(axes, place, strict=False))
        raise BadArrays(
            f"domain `{name}`: {field} is {array[place]}{f' at {where}' if where else ''}", fix=rule
        )
