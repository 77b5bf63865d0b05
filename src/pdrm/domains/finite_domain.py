"""The finite labelled Markov decision process of Section 2: its arrays, their checks and builders.

`DomainArrays` contains only integers and floats, so Numba and JAX can read it. `FiniteDomain` adds
the names of states, actions and events, the step limit, the pictures of the states, and the range
of returns. `from_outcomes` builds a domain from a readable function, `from_arrays` from arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
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
"""In `start_label`: no label at reset. It is not the empty label, and machines do not read it."""

WALL, FLOOR = "#", "."
"""Cells of a grid without a letter."""

ROUNDING = 1e-9
"""Tolerance for sums of probabilities."""

MAX_STEPS = 2**31 - 1
"""Maximum step limit."""

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
"""The type and the number of axes of each array."""


class Scene(NamedTuple):
    """The grid without the agent: rows of walls, floor and letters, and a note on past events."""

    rows: tuple[str, ...]
    note: str = ""


class Picture(NamedTuple):
    """For every state, the index of its scene and the agent's cell in it.

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
    """The dynamics of a domain: S states, A actions, at most O outcomes per action, K starts.

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
    """[S, A, O]: the index in `labels` of the emitted label."""
    reward: npt.NDArray[np.float64]
    """[S, A, O]: the environment's reward."""
    terminal: npt.NDArray[np.bool_]
    """[S]: True if the environment terminates the episode in this state."""
    start_state: npt.NDArray[np.int32]
    """[K]: the initial states."""
    start_probability: npt.NDArray[np.float64]
    """[K]: sums to 1."""
    start_label: npt.NDArray[np.int32]
    """[K]: the index in `labels` of the label emitted at reset, or -1 for none."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FiniteDomain(Displayed):
    """A finite labelled MDP, checked when it is built.

    >>> from pdrm.domains.paper_domains import domain
    >>> letter = domain("letter")
    >>> letter.states, letter.actions, letter.events, letter.describe(0)
    (42, ('u', 'd', 'l', 'r'), ('A', 'B', 'C'), 'row 0, column 0; A shows')
    """

    name: str
    """The name of the domain."""
    arrays: DomainArrays
    """The dynamics."""
    labels: tuple[Label, ...]
    """The labels, by their numbers in the arrays."""
    events: tuple[str, ...]
    """The events that occur in labels."""
    actions: tuple[str, ...]
    """The names of the actions, by number."""
    step_limit: int
    """Steps after which an episode is truncated."""
    state_names: tuple[str, ...]
    """The names of the states, by number."""
    picture: Picture | None = None
    """The pictures of the states, for domains on a grid."""
    machine: str | None = None
    """The catalogue machine made for this domain."""
    lowest: float | None = None
    """The lowest undiscounted return of an episode with that machine (optional)."""
    highest: float | None = None
    """The highest undiscounted return of an episode with that machine (optional)."""
    tests: tuple[FiniteDomain, ...] = ()
    """The domains of evaluations in training (default: this one).

    They have the same number of states, and the same actions and labels. `Run.evaluate` plays in
    this domain, unless there is exactly one of them.
    """
    sources: Mapping[str, Where] = field(default_factory=dict)
    """The line of a map file that names each event, for messages. Not saved."""

    def __post_init__(self) -> None:
        limit, low, high = self.step_limit, self.lowest, self.highest
        if type(limit) is not int or not 1 <= limit <= MAX_STEPS:
            fault = f"domain `{self.name}`: a step limit of {limit!r}"
            fix = f"give an integer from 1 to {MAX_STEPS:,}"
            raise BadDomainSetting(fault, fix=fix, word="step_limit")
        # Returns are normalised by these bounds.
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
        """The labels that can be emitted (at reset or with positive probability).

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
        """Raise unless policies of this domain can be evaluated in the other.

        Both need the same number of states, and the same actions and labels.
        """
        for what, same in (
            ("a different number of states", self.states == other.states),
            ("different actions", self.actions == other.actions),
            ("different labels", self.labels == other.labels),
        ):
            if not same:
                fault = f"`{other.name}` cannot test `{self.name}`: it has {what}"
                fix = (
                    "keep the number of states, and the actions and labels in order, as "
                    "`starting` and `dataclasses.replace` do"
                )
                raise BadArrays(fault, fix=fix)

    def describe(self, state: int) -> str:
        """The name of a state, given by its number."""
        return self.state_names[state]

    def find_state(self, called: StateLike) -> int:
        """The number of a state, given its number, its name, or its row and column on a grid.

        >>> from pdrm.domains.paper_domains import domain
        >>> maze = domain("maze-5x5")
        >>> maze.find_state("row 3, column 3"), maze.find_state((3, 3)), maze.find_state(7)
        (7, 7, 7)
        """
        # Python numbers, because NumPy numbers would be compared with each number of a cell.
        wanted = np.asarray(called).tolist()
        if type(wanted) is int and 0 <= wanted < self.states:
            return wanted
        wanted = tuple(wanted) if isinstance(wanted, list) else wanted
        cells = [None] * self.states if self.picture is None else self.picture.cell
        listed = enumerate(zip(self.state_names, cells, strict=True))
        matches = [n for n, (name, cell) in listed if wanted in (str(n), name, cell)]
        if len(matches) == 1:
            return matches[0]
        fault = f"{str(called)[:60]!r} is not a state of `{self.name}`"
        fix = f"states are 0 to {self.states - 1}; {did_you_mean(str(called), self.state_names)}"
        if matches:
            fault = f"{str(called)[:60]!r} is more than one state of `{self.name}`"
            fix = f"give the number of one: {', '.join(map(str, matches[:3]))}"
        raise UnknownConfiguration(fault, fix=fix)

    def starting(self, *chosen: int) -> FiniteDomain:
        """Restrict the domain to some of its starts, given by their numbers."""
        kept = list(chosen)
        probability = self.arrays.start_probability[kept]
        arrays = self.arrays._replace(
            start_state=self.arrays.start_state[kept],
            start_probability=probability / probability.sum(),
            start_label=self.arrays.start_label[kept],
        )
        name = f"{self.name}, start {', '.join(map(str, chosen))}"
        return replace(self, name=name, arrays=arrays, tests=())


def pick(probability: npt.NDArray[np.float64], number: float) -> int:
    """Draw an outcome: the first whose cumulated probability exceeds a number in [0, 1).

    >>> pick(np.array([0.5, 0.0, 0.5]), 0.5)
    2
    """
    last = 0
    total = 0.0
    for outcome, chance in enumerate(probability.tolist()):
        if chance > 0.0:
            last = outcome
            total += chance
            if number < total:
                return outcome
    return last  # the sum is below 1 by rounding


# --- Checks. Faults name the state, the action and the outcome


def _check_words(domain: FiniteDomain) -> None:
    """Check that labels use declared events, and that nothing is listed twice."""
    for kind, listed in (("an event", domain.events), ("a label", domain.labels)):
        if len(set(listed)) < len(listed):
            fault = f"domain `{domain.name}` lists {kind} twice: {listed!r:.200}"
            raise BadArrays(fault, fix="list each once")
    for position, label in enumerate(domain.labels):
        for event in label.difference(domain.events):
            fault = (
                f"domain `{domain.name}`: label {position} contains the undeclared event `{event}`"
            )
            raise BadArrays(fault, fix="declare the event")


def _check_arrays(domain: FiniteDomain) -> None:
    """Check the types, shapes, probabilities, indices and rewards."""
    arrays = domain.arrays
    starts = len(arrays.start_state)
    sizes = (domain.states, len(domain.actions), arrays.next.shape[-1])
    if min(*sizes, starts) < 1:
        fault = (
            f"domain `{domain.name}` has {sizes} states, actions and outcomes, and {starts} starts"
        )
        raise BadArrays(fault, fix="give at least one of each")
    for name, array in arrays._asdict().items():
        kind, count = ARRAY_TYPES[name]
        shape = (starts,) if name.startswith("start_") else sizes[:count]
        if array.dtype != kind or array.shape != shape or not array.flags.c_contiguous:
            fault = f"domain `{domain.name}`: `{name}` is {array.dtype} of shape {array.shape}"
            fix = f"a contiguous {kind} of shape {shape} is needed; `from_arrays` converts"
            raise BadArrays(fault, fix=fix)
    chance, start_chance = arrays.probability, arrays.start_probability
    last_state = domain.states - 1
    last_label = len(domain.labels) - 1
    limit = np.finfo(np.float64).max
    for name, array, lowest, highest in (
        ("next", arrays.next, 0, last_state),
        ("label", arrays.label, 0, last_label),
        ("reward", np.where(chance > 0, arrays.reward, 0.0), -limit, limit),
        ("start_state", arrays.start_state, 0, last_state),
        ("start_label", arrays.start_label, NO_LABEL, last_label),
        ("probability", chance, 0, limit),
        ("the sum of probability", chance.sum(axis=-1), 1 - ROUNDING, 1 + ROUNDING),
        ("start_probability", start_chance, 0, limit),
        ("the sum of start_probability", start_chance.sum(), 1 - ROUNDING, 1 + ROUNDING),
    ):
        # NaN compares false, so it is reported as well.
        wrong = np.argwhere(~((array >= lowest) & (array <= highest)))
        if len(wrong):
            index = tuple(wrong[0].tolist())
            axis_names = ("start",) if "start_" in name else ("state", "action", "outcome")
            axes = zip(axis_names, index, strict=False)
            where = ", ".join(f"{axis} {number}" for axis, number in axes) or "reset"
            fault = f"domain `{domain.name}`: {name} is {array[index]} at {where}"
            raise BadArrays(fault, fix=f"it must be from {lowest:g} to {highest:g}")


# --- From a readable function that returns the outcomes of each action in each state
#
# If some reachable transitions into a state terminate and others do not, the state is split: a
# copy, numbered after the other states, is terminal.

State = TypeVar("State", bound=Hashable)


class Outcome(NamedTuple):
    """An outcome of an action: the next state, its probability, the label and the reward.

    >>> Outcome("home", label=frozenset({"x"})).probability
    1.0
    """

    next: Hashable
    probability: float = 1.0
    label: Label = frozenset()
    reward: float = 0.0
    terminal: bool = False
    """True if the environment terminates the episode."""


class Start(NamedTuple):
    """An initial state, with its probability and label. None means "no label", not the empty label.

    >>> Start("home").label is None
    True
    """

    state: Hashable
    probability: float = 1.0
    label: Label | None = None


Table = dict[Hashable, list[Sequence[Outcome]]]
"""The outcomes of each action, by state."""


class Ended(NamedTuple):
    """The terminal copy of a state."""

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
    """Build a domain from a function that returns the outcomes of an action in a state.

    If some reachable transitions into a state terminate and others do not, the state is split: a
    copy, numbered after the other states, is terminal.

    Args:
        name: The name of the domain.
        states: Each state and its name.
        actions: The names of the actions.
        outcomes: `outcomes(state, action)` returns the outcomes of an action, given by its number.
        starts: The initial states.
        events: The events of the labels.
        step_limit: Steps after which an episode is truncated.
        picture: The pictures of the states.

    Returns:
        The domain. `dataclasses.replace` sets its other fields, such as `machine` and `highest`.

    >>> coin = lambda state, action: [Outcome("s", 0.5, frozenset({"heads"})), Outcome("s", 0.5)]
    >>> options = {"events": ["heads"], "step_limit": 9}
    >>> tiny = from_outcomes("coin", {"s": "s"}, ["toss"], coin, [Start("s")], **options)
    >>> tiny.arrays.label.tolist(), tiny.labels[1]
    ([[[1, 0]]], frozenset({'heads'}))
    """
    table: Table = {
        state: [tuple(outcomes(state, action)) for action in range(len(actions))]
        for state in states
    }
    entered, ended = _find_ends(table, starts)
    split = [index for index, state in enumerate(states) if state in entered and state in ended]
    for state in [list(states)[index] for index in split]:
        table[Ended(state)] = [(Outcome(Ended(state), terminal=True),)] * len(actions)
    emitted = {outcome.label for cell in chain(*table.values()) for outcome in cell}
    emitted |= {start.label for start in starts if start.label is not None}
    # Sorted by the declared order of events, because the order of a set differs between processes.
    order = {event: index for index, event in enumerate(events)}
    labels = sorted(emitted, key=lambda label: sorted(order.get(event, -1) for event in label))
    names = list(states.values())
    if picture is not None:
        pictured = [*range(len(states)), *split]
        picture = picture._replace(
            scene=tuple(picture.scene[index] for index in pictured),
            cell=tuple(picture.cell[index] for index in pictured),
        )
    return FiniteDomain(
        name,
        _fill_arrays(table, starts, labels, entered),
        tuple(labels),
        tuple(events),
        tuple(actions),
        step_limit,
        (*names, *(f"{names[index]}, ended" for index in split)),
        picture,
    )


def _find_ends(table: Table, starts: Sequence[Start]) -> tuple[set[Hashable], set[Hashable]]:
    """Return the reachable states in which an episode continues, and those in which it ends."""
    entered = set[Hashable]()
    ended = set[Hashable]()
    frontier = [start.state for start in starts]
    while frontier:
        state = frontier.pop()
        if state in entered:
            continue
        entered.add(state)
        for outcome in chain(*table.get(state, ())):
            if outcome.probability <= 0:
                continue
            if outcome.terminal:
                ended.add(outcome.next)
            else:
                frontier.append(outcome.next)
    return entered, ended


def _fill_arrays(
    table: Table, starts: Sequence[Start], labels: Sequence[Label], entered: set[Hashable]
) -> DomainArrays:
    """Convert a table to arrays; terminal outcomes lead to the copy of a split state."""
    state_number = {state: index for index, state in enumerate(table)}
    label_number = {label: index for index, label in enumerate(labels)}

    def find(state: Hashable) -> int:
        if state not in state_number:
            raise BadArrays(f"{state!r} is not a state", fix="list every state")
        return state_number[state]

    cells = list(chain(*table.values()))
    actions = len(cells) // max(1, len(table))
    shape = len(table), actions, max(map(len, cells), default=0)
    start_labels = [
        NO_LABEL if start.label is None else label_number[start.label] for start in starts
    ]
    arrays = DomainArrays(
        np.zeros(shape, np.int32),
        np.zeros(shape),
        np.zeros(shape, np.int32),
        np.zeros(shape),
        np.zeros(len(table), np.bool_),
        np.array([find(start.state) for start in starts], np.int32),
        np.array([start.probability for start in starts], np.float64),
        np.array(start_labels, np.int32),
    )
    for (state, action), cell in zip(np.ndindex(*shape[:2]), cells, strict=True):
        for number, outcome in enumerate(cell):
            index = (state, action, number)
            copy = Ended(outcome.next)
            target = copy if outcome.terminal and copy in state_number else outcome.next
            arrays.next[index] = find(target)
            arrays.terminal[arrays.next[index]] |= outcome.terminal and target not in entered
            arrays.label[index] = label_number[outcome.label]
            arrays.probability[index] = outcome.probability
            arrays.reward[index] = outcome.reward
    return arrays


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
    """Build a domain from arrays [state, action, outcome], or [state, action] for one outcome.

    Args:
        name: The name of the domain.
        next: The next states.
        label: The labels of the outcomes, as indices of `labels`.
        labels: The labels, each a set of events.
        step_limit: Steps after which an episode is truncated.
        probability: The probabilities of the outcomes (default: 1, for one outcome per action).
        reward: The environment's rewards, or one number for all.
        terminal: For each state, True if the environment terminates the episode.
        start: A state, or the probability of each.
        start_label: The label emitted at reset, or -1 for none.
        events: The events, in order (default: those of the labels, sorted).
        actions: The names of the actions (default: numbers).
        state_names: The names of the states (default: numbers).

    Returns:
        The domain. `dataclasses.replace` sets its other fields, such as `machine` and `highest`.

    >>> next, label = [[0, 1], [0, 1]], [[0, 1], [0, 0]]
    >>> line = from_arrays("line", next, label, [(), ("end",)], step_limit=10)
    >>> line.arrays.next.shape, line.arrays.probability.ravel().tolist(), line.actions
    ((2, 2, 1), [1.0, 1.0, 1.0, 1.0], ('0', '1'))
    """
    following = _to_outcomes(name, "next", next)
    shape = following.shape
    chance = np.ones(shape) if probability is None else probability
    starts = {start: 1.0} if isinstance(start, int) else start
    arrays = DomainArrays(
        next=following,
        probability=_to_outcomes(name, "probability", chance),
        label=_to_outcomes(name, "label", label),
        reward=_to_outcomes(name, "reward", reward if np.ndim(reward) else np.full(shape, reward)),
        terminal=np.zeros(shape[0], np.bool_) if terminal is None else np.array(terminal, np.bool_),
        start_state=np.array(list(starts), np.int32),
        start_probability=np.array(list(starts.values()), np.float64),
        start_label=np.full(len(starts), start_label, np.int32),
    )
    sets = tuple(frozenset(label_events) for label_events in labels)
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
    """Convert values to a new array with three axes; reject numbers that its type cannot store."""
    kind, _ = ARRAY_TYPES[field]
    try:
        original = np.array(values)
        array = original.astype(kind)
        fits = array.ndim in (2, 3) and np.array_equal(array, original, equal_nan=True)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        fault = f"domain `{name}`: `{field}` is not an array of {kind}"
        raise BadArrays(fault, fix="give [state, action] or [state, action, outcome]")
    return np.ascontiguousarray(array[..., np.newaxis] if array.ndim == 2 else array)
