"""The labelled Markov decision process of Section 2, finite and as arrays: what it is, what must hold of it, and how to build one.

`DomainArrays` holds integers and floats only, so that it passes unchanged into Numba and JAX. `FiniteDomain` adds the words:
names of states, actions and events, the step limit, how to draw a state, and the range of returns. `from_outcomes` builds a
domain from a readable function, `from_arrays` from arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

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

MAX_STEPS = 2**31 - 1
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


class Scene(NamedTuple):
    """The grid without the agent: rows of walls, floor and places, and a note on what has happened."""

    rows: tuple[str, ...]
    note: str = ""


class Picture(NamedTuple):
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

    def scene_of(self, state: int) -> Scene:
        """The scene of a state."""
        return self.scenes[self.scene[state]]


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
        if not isinstance(limit, int) or not 1 <= limit <= MAX_STEPS:
            fault = f"domain `{self.name}`: a step limit of {limit!r}"
            fix = f"give an integer from 1 to {MAX_STEPS:,}"
            raise BadDomainSetting(fault, fix=fix, word="step_limit")
        # returns are normalised by them
        if low is not None and high is not None and not low < high:
            fault = f"domain `{self.name}`: the lowest return is {low:g} and the highest {high:g}"
            fix = "the lowest must be below the highest, or leave both out"
            raise BadDomainSetting(fault, fix=fix, word="highest")
        _check_words(self)
        _check_arrays(self)
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
        pdrm.errors.BadArrays: error[E0702]: `maze-10x10` cannot test `maze-5x5`: it has other states
          fix: the same states, actions and labels in the same order, as `starting` and `dataclasses.replace` keep them
        """
        for what, own, others in (
            ("states", self.states, other.states),
            ("actions", self.actions, other.actions),
            ("labels", self.labels, other.labels),
        ):
            if own != others:
                raise BadArrays(
                    f"`{other.name}` cannot test `{self.name}`: it has other {what}",
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
        # Python's own numbers: NumPy's compare with each cell's
        place = np.asarray(called).tolist()
        if isinstance(place, int) and 0 <= place < self.states:
            return place
        place = tuple(place) if isinstance(place, list) else place
        cells = [None] * self.states if self.picture is None else self.picture.cell
        listed = enumerate(zip(self.state_names, cells, strict=True))
        found = [n for n, (name, cell) in listed if place in (str(n), name, cell)]
        if len(found) == 1:
            return found[0]
        fault = f"{str(called)[:60]!r} is not a state of `{self.name}`"
        fix = f"states are 0 to {self.states - 1}; {did_you_mean(str(called), self.state_names)}"
        if found:
            fix = f"give the number of one: {', '.join(map(str, found[:3]))}"
        raise UnknownConfiguration(fault, fix=fix)

    def starting(self, *chosen: int) -> FiniteDomain:
        """The same domain, starting with some outcomes of its reset only, given by their numbers."""
        arrays, kept = self.arrays, list(chosen)
        chance = arrays.start_probability[kept]
        arrays = arrays._replace(
            start_state=arrays.start_state[kept],
            start_probability=chance / chance.sum(),
            start_label=arrays.start_label[kept],
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
            fault = f"domain `{domain.name}` lists {kind} twice: {listed!r:.200}"
            raise BadArrays(fault, fix="list each once")
    for position, label in enumerate(domain.labels):
        for event in label.difference(domain.events):
            fault = f"domain `{domain.name}`: label {position} holds `{event}`, which is not among its events"
            raise BadArrays(fault, fix="declare the event")


def _check_arrays(domain: FiniteDomain) -> None:
    """Types, shapes, probabilities, indices and rewards are those of a labelled MDP."""
    arrays, states, labels = domain.arrays, domain.states, len(domain.labels)
    sizes, starts = (states, len(domain.actions), arrays.next.shape[-1]), len(arrays.start_state)
    if min(*sizes, starts) < 1:
        fault = (
            f"domain `{domain.name}` has {sizes} states, actions and outcomes, and {starts} starts"
        )
        raise BadArrays(fault, fix="give at least one of each")
    for called, array in arrays._asdict().items():
        kind, count = ARRAY_TYPES[called]
        shape = (starts,) if called.startswith("start_") else sizes[:count]
        if array.dtype != kind or array.shape != shape or not array.flags.c_contiguous:
            fault = f"domain `{domain.name}`: `{called}` is {array.dtype} of shape {array.shape}"
            fix = f"a contiguous {kind} of shape {shape} is needed; `from_arrays` converts"
            raise BadArrays(fault, fix=fix)
    chance, begins = arrays.probability, arrays.start_probability
    most = np.finfo(np.float64).max
    for called, array, lowest, highest in (
        ("next", arrays.next, 0, states - 1),
        ("label", arrays.label, 0, labels - 1),
        ("reward", np.where(chance > 0, arrays.reward, 0.0), -most, most),
        ("start_state", arrays.start_state, 0, states - 1),
        ("start_label", arrays.start_label, NO_LABEL, labels - 1),
        ("probability", chance, 0, most),
        ("the sum of probability", chance.sum(axis=-1), 1 - ROUNDING, 1 + ROUNDING),
        ("start_probability", begins, 0, most),
        ("the sum of start_probability", begins.sum(), 1 - ROUNDING, 1 + ROUNDING),
    ):
        wrong = np.argwhere(~((array >= lowest) & (array <= highest)))  # NaN is
        if len(wrong):
            place = tuple(wrong[0].tolist())
            named = ("start",) if "start_" in called else ("state", "action", "outcome")
            axes = zip(named, place, strict=False)
            where = ", ".join(f"{axis} {index}" for axis, index in axes) or "reset"
            fault = f"domain `{domain.name}`: {called} is {array[place]} at {where}"
            raise BadArrays(fault, fix=f"it must be from {lowest:g} to {highest:g}")


# --- From a readable function: the outcomes of each action in each state, written down as arrays
#
# A state that ends the episode on one way in and not on another becomes two: itself, and a copy that is the end.
# Only ways in that an episode can take count.

State = TypeVar("State", bound=Hashable)


class Outcome(NamedTuple):
    """One thing that may happen: the next state, its probability, the label and the environment's reward.

    >>> Outcome("home", label=frozenset({"x"})).probability
    1.0
    """

    next: Hashable
    probability: float = 1.0
    label: Label = frozenset()
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
    split = [place for place, state in enumerate(states) if state in entered and state in ended]
    for state in [list(states)[place] for place in split]:
        table[Ended(state)] = [(Outcome(Ended(state), terminal=True),)] * len(actions)
    found = {outcome.label for row in table.values() for cell in row for outcome in cell}
    found |= {start.label for start in starts if start.label is not None}
    place_of = {event: place for place, event in enumerate(events)}
    # by the declared order of their events: the same in every process, unlike a set's own order
    labels = sorted(found, key=lambda label: sorted(place_of.get(one, -1) for one in label))
    names = list(states.values())
    if picture is not None:
        shown = [*range(len(states)), *split]
        picture = picture._replace(
            scene=tuple(picture.scene[place] for place in shown),
            cell=tuple(picture.cell[place] for place in shown),
        )
    return FiniteDomain(
        name,
        _fill_arrays(table, starts, labels, entered),
        tuple(labels),
        tuple(events),
        tuple(actions),
        step_limit,
        (*names, *(f"{names[place]}, ended" for place in split)),
        picture,
    )


def _find_ends(table: Table, starts: Sequence[Start]) -> tuple[set[Hashable], set[Hashable]]:
    """The states in which an episode can continue, and those in which it can end."""
    entered, ended = set[Hashable](), set[Hashable]()
    frontier = [start.state for start in starts]
    while frontier:
        state = frontier.pop()
        if state in entered:
            continue
        entered.add(state)
        possible = (one for cell in table.get(state, ()) for one in cell if one.probability > 0)
        for outcome in possible:
            if outcome.terminal:
                ended.add(outcome.next)
            else:
                frontier.append(outcome.next)
    return entered, ended


def _fill_arrays(
    table: Table, starts: Sequence[Start], labels: Sequence[Label], entered: set[Hashable]
) -> DomainArrays:
    """The arrays of a table; what ends in a state that has a copy leads to the copy."""
    number = {state: place for place, state in enumerate(table)}
    position = {label: place for place, label in enumerate(labels)}

    def find(state: Hashable) -> int:
        if state not in number:
            raise BadArrays(f"{state!r} is not a state", fix="list every state")
        return number[state]

    cells = [cell for row in table.values() for cell in row]
    actions = len(cells) // max(1, len(table))
    shape = len(table), actions, max(map(len, cells), default=0)
    following, label = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    probability, reward = np.zeros(shape), np.zeros(shape)
    terminal = np.zeros(len(table), np.bool_)
    for (state, action), cell in zip(np.ndindex(*shape[:2]), cells, strict=True):
        for index, outcome in enumerate(cell):
            place, copy = (state, action, index), Ended(outcome.next)
            target = copy if outcome.terminal and copy in number else outcome.next
            following[place] = there = find(target)
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
        np.array([find(start.state) for start in starts], np.int32),
        np.array([start.probability for start in starts], np.float64),
        np.array(said, np.int32),
    )


# --- From arrays


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
        probability: The probabilities of the outcomes (default: 1, for one outcome of each action).
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
    following = _to_outcomes(name, "next", next)
    shape = following.shape
    chance = np.ones(shape) if probability is None else probability
    begin = {start: 1.0} if isinstance(start, int) else start
    arrays = DomainArrays(
        next=following,
        probability=_to_outcomes(name, "probability", chance),
        label=_to_outcomes(name, "label", label),
        reward=_to_outcomes(name, "reward", reward if np.ndim(reward) else np.full(shape, reward)),
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


def _to_outcomes(name: str, field: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """The values as a new array of its type with three axes; numbers that the type cannot hold are refused."""
    kind, _ = ARRAY_TYPES[field]
    try:
        given = np.array(values)
        array = given.astype(kind)
        fits = array.ndim in (2, 3) and np.array_equal(array, given, equal_nan=True)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        fault = f"domain `{name}`: `{field}` is not an array of {kind}"
        raise BadArrays(fault, fix="give [state, action] or [state, action, outcome]")
    return np.ascontiguousarray(array[..., np.newaxis] if array.ndim == 2 else array)
