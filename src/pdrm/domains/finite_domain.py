"""The labelled Markov decision process of Section 2, finite and as arrays, and what must hold of them.

`DomainArrays` holds integers and floats only, so that it passes unchanged into Numba and JAX. `FiniteDomain` adds the words:
names of states, actions and events, the step limit, how to draw a state, and the range of returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.errors import BadArrays, BadDomainSetting, UnknownConfiguration, Where, did_you_mean
from pdrm.lazy import Displayed

Label = frozenset[str]
"""The set of events true after a transition."""

StateLike = int | str | Sequence[int]
"""A state by its number, its name, or its row and column on a grid."""

NO_LABEL = -1
"""In `start_label`: the domain emits nothing at reset (a machine reads the empty label, and does not read this)."""

WALL, FLOOR = "#", "."
"""Cells of a grid that are not places."""

ROUNDING = 1e-9
"""Tolerance of a sum of probabilities."""

LARGEST_FLOAT = float(np.finfo(np.float64).max)

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
    """The grid without the agent: rows of walls, floor and places, and a note on what has happened."""

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
    """The dynamics of a domain: S states, A actions, at most O outcomes of each action, K outcomes of a reset.

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
    """[S]: True if the environment ends there."""
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
    """The domain's name."""
    arrays: DomainArrays
    """The dynamics."""
    labels: tuple[Label, ...]
    """The labels that it emits, by the numbers that the arrays have for them."""
    events: tuple[str, ...]
    """The events that labels are made of."""
    actions: tuple[str, ...]
    """The names of the actions, by number."""
    step_limit: int
    """Steps after which an episode is truncated."""
    state_names: tuple[str, ...]
    """The names of the states, by number."""
    picture: Picture | None = None
    """The pictures of the states, for domains on a grid."""
    machine: str | None = None
    """The catalogue machine that this domain goes with."""
    lowest: float | None = None
    """The lowest return of an episode with that machine, undiscounted, if known."""
    highest: float | None = None
    """The highest return of an episode with that machine, undiscounted, if known."""
    tests: tuple[FiniteDomain, ...] = ()
    """The domains on which a policy is evaluated (default: this one), with the same states, actions and labels."""
    sources: Mapping[str, Where] = field(default_factory=dict)
    """The line of a map file that names each event, for messages; it is not saved."""

    def __post_init__(self) -> None:
        limit, low, high = self.step_limit, self.lowest, self.highest
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_STEPS:
            fault = f"domain `{self.name}`: a step limit of {limit!r}"
            fix = f"give an integer from 1 to {MOST_STEPS:,}"
            raise BadDomainSetting(fault, fix=fix, word="step_limit")
        if (
            low is not None and high is not None and not low < high
        ):  # returns are normalised by them
            fault = f"domain `{self.name}`: the lowest return is {low:g} and the highest {high:g}"
            fix = "the lowest must be below the highest, or leave both out"
            raise BadDomainSetting(fault, fix=fix, word="highest")
        _check_words(self)
        _check_arrays(self)
        if self.picture is not None:
            _check_picture(self.name, self.picture, self.states)
        for test in self.tests:
            self.check_shares(test)

    def __repr__(self) -> str:
        return f"FiniteDomain({self.name!r}, states={self.states}, actions={len(self.actions)})"

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.state_names)

    @property
    def tested_on(self) -> tuple[FiniteDomain, ...]:
        """The domains on which a policy is evaluated: `tests`, or this one."""
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
            differs = f"it has other actions: {' '.join(other.actions[:8])}"
        elif other.labels != self.labels:
            differs = "it has other labels"
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
        """The number of a state, given its number, its name, or on a grid its row and column, if only one state is there.

        >>> from pdrm.domains.paper_domains import domain
        >>> maze = domain("maze-5x5")
        >>> maze.find_state("row 3, column 3"), maze.find_state((3, 3)), maze.find_state(7)
        (7, 7, 7)
        """
        cells = self.picture.cell if self.picture is not None else ()
        if isinstance(called, str):
            found = [n for n, name in enumerate(self.state_names) if called in (name, str(n))]
        elif np.ndim(called):
            found = [n for n, cell in enumerate(cells) if np.array_equal(cell, called)]
        else:
            found = [n for n in range(self.states) if n == called]
        if len(found) == 1:
            return found[0]
        if found:
            fault = f"{len(found)} states of `{self.name}` are called {called!r}"
            some = ", ".join(f"{n} ({self.describe(n)})" for n in found[:3])
            raise UnknownConfiguration(fault, fix=f"give the number of one: {some}")
        fix = f"states are 0 to {self.states - 1}; {did_you_mean(str(called), self.state_names)}"
        fault = f"{str(called)[:60]!r} is not a state of `{self.name}`"
        raise UnknownConfiguration(fault, fix=fix)

    def starting(self, *chosen: int) -> FiniteDomain:
        """The same domain, starting with some outcomes of its reset only, given by their numbers."""
        count = len(self.arrays.start_state)
        if not all(0 <= start < count for start in chosen):
            fault = f"`{self.name}` has no start {max(chosen)}"
            raise BadDomainSetting(fault, fix=f"its starts are 0 to {count - 1}")
        kept = np.array(chosen, np.int64)
        chance = self.arrays.start_probability[kept]
        arrays = self.arrays._replace(
            start_state=self.arrays.start_state[kept],
            start_probability=chance / chance.sum() if len(chosen) > 1 else np.ones(1),
            start_label=self.arrays.start_label[kept],
        )
        name = f"{self.name}, start {', '.join(map(str, chosen))}"
        return replace(self, name=name, arrays=arrays, tests=())


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


# --- Checks. A fault names the state, the action and the outcome


def _check_words(domain: FiniteDomain) -> None:
    """Labels use declared events, and nothing is listed twice."""
    for kind, listed in (("an event", domain.events), ("a label", domain.labels)):
        if len(set(listed)) < len(listed):
            fault = (
                f"domain `{domain.name}` lists {kind} twice: {', '.join(map(str, listed))[:200]}"
            )
            raise BadArrays(fault, fix="list each once")
    for position, label in enumerate(domain.labels):
        if unknown := sorted(label.difference(domain.events)):
            fault = f"domain `{domain.name}`: label {position} holds `{unknown[0]}`, which is not among its events"
            raise BadArrays(fault, fix="declare the event")


def _check_picture(name: str, picture: Picture, states: int) -> None:
    """Every state is shown inside its scene, and scenes have one size."""
    height, width = picture.size
    even = all(
        len(scene.rows) == height and all(len(row) == width for row in scene.rows)
        for scene in picture.scenes
    )
    inside = all(0 <= row < height and 0 <= column < width for row, column in picture.cell)
    known = all(0 <= scene < len(picture.scenes) for scene in picture.scene)
    if not (even and inside and known and len(picture.scene) == len(picture.cell) == states):
        fault = f"domain `{name}`: its picture does not show every state inside the grid"
        raise BadArrays(fault, fix="give a scene of one size and a cell for every state")


def _check_arrays(domain: FiniteDomain) -> None:
    """Types, shapes, probabilities, indices and rewards are those of a labelled MDP."""
    name, arrays, states, labels = domain.name, domain.arrays, domain.states, len(domain.labels)
    sizes, starts = (states, len(domain.actions), arrays.next.shape[-1]), len(arrays.start_state)
    if min(*sizes, starts) < 1:
        fault = f"domain `{name}` has {states} states, {sizes[1]} actions, {sizes[2]} outcomes and {starts} starts"
        raise BadArrays(fault, fix="give at least one of each")
    for called, array in arrays._asdict().items():
        kind, axes = ARRAY_TYPES[called]
        shape = (starts,) if called.startswith("start_") else sizes[:axes]
        right = isinstance(array, np.ndarray) and array.dtype == kind and array.shape == shape
        if not right or not array.flags.c_contiguous:
            found = f"{getattr(array, 'dtype', type(array).__name__)} of shape {np.shape(array)}"
            fault = (
                f"domain `{name}`: `{called}` is {found}, not a contiguous {kind} of shape {shape}"
            )
            raise BadArrays(fault, fix="`from_arrays` converts what it is given")
    chance, begins = arrays.probability, arrays.start_probability
    most = LARGEST_FLOAT
    for called, array, lowest, highest in (
        ("next", arrays.next, 0, states - 1),
        ("label", arrays.label, 0, labels - 1),
        ("reward", np.where(chance > 0, arrays.reward, 0.0), -most, most),
        ("start_state", arrays.start_state, 0, states - 1),
        ("start_label", arrays.start_label, NO_LABEL, labels - 1),
        ("probability", chance, 0, 1 + ROUNDING),
        ("the sum of probability", chance.sum(axis=-1), 1 - ROUNDING, 1 + ROUNDING),
        ("start_probability", begins, 0, 1 + ROUNDING),
        ("the sum of start_probability", begins.sum(), 1 - ROUNDING, 1 + ROUNDING),
    ):
        wrong = np.argwhere(~((array >= lowest) & (array <= highest)))  # NaN is
        if len(wrong):
            place = tuple(wrong[0].tolist())
            named = ("start",) if "start_" in called else ("state", "action", "outcome")
            where = ", ".join(f"{axis} {index}" for axis, index in zip(named, place, strict=False))
            fault = f"domain `{name}`: {called} is {array[place]}{f' at {where}' if where else ''}"
            raise BadArrays(fault, fix=f"it must be from {lowest:g} to {highest:g}")
