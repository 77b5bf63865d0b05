"""The observation of a policy: the environment's, the machine's state, and the whole stack
(Section 3, Policy) or its top k symbols (k-policy).

Observations are dictionaries or, with `flatten`, vectors of float32. Both have a fixed size, so
they show the stack through a window with a fixed number of slots. If the environment's observation
is a dictionary, its entries are next to the machine's, because agents such as Stable-Baselines3's
reject nested dictionaries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from pdrm.errors import BadEnvironment, BadSetting, CannotWrap, StackTooHigh, did_you_mean
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Stack

Space = spaces.Space[Any]
Floats = npt.NDArray[np.float32]

OBSERVATION, MACHINE, STACK = "observation", "machine", "stack"
"""The entries of a dictionary: the environment's observation, the machine's state and the stack."""


# --- Views of the stack


@dataclass(frozen=True, slots=True)
class FullStack:
    """The whole stack.

    >>> FullStack().of(("A", "#"))
    ('A', '#')
    """

    def of(self, stack: Stack) -> Stack:
        """The visible part of a stack, top first."""
        return stack

    def __str__(self) -> str:
        return "full"


@dataclass(frozen=True, slots=True)
class TopK:
    """The top min(k, height) symbols; none of the stack for k = 0.

    >>> TopK(1).of(("A", "#")), TopK(0).of(("A",)), str(TopK(2))
    (('A',), (), '2')
    """

    k: int
    """The number of visible symbols."""

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 0:
            fault = f"k is {self.k!r}, but must be a non-negative integer"
            raise BadSetting(fault, fix='use k=1, or k="full"')

    def of(self, stack: Stack) -> Stack:
        """The visible part of a stack, top first."""
        return stack[: self.k]

    def __str__(self) -> str:
        return str(self.k)


View = FullStack | TopK


def view_of(k: object) -> View:
    """Convert k, a number of symbols or "full", to a view.

    >>> view_of(2), view_of("full")
    (TopK(k=2), FullStack())
    """
    number = int(k) if isinstance(k, np.integer) else k
    return FullStack() if number == "full" else TopK(number)  # type: ignore[arg-type] # TopK checks it


# --- The machine's part of an observation


class Window:
    """The observed part of a configuration as numbers: the state, then the slots, top first.

    States are numbered from 0, final ones last. Symbols are numbered from 1; 0 is an empty slot.

    >>> from pdrm.language.loading import catalogue
    >>> window = Window(catalogue("letter"), TopK(3))
    >>> window.numbers("u1", ("A", "#"))
    [1, 2, 1, 0]
    """

    def __init__(
        self, machine: PushdownRewardMachine, view: View, depth: int | None = None
    ) -> None:
        self.whole = isinstance(view, FullStack)
        slots = view.k if isinstance(view, TopK) else depth
        superfluous = not self.whole and depth is not None
        if superfluous or type(slots) is not int or slots < self.whole:
            fault = f"k is {view}, and `depth` {depth!r}"
            fix = "leave `depth` out: it is the maximum height of a full stack"
            if self.whole:
                fix = "a full stack needs a maximum height, such as depth=32"
            raise BadSetting(fault, fix=fix)
        self.slots = slots
        self.machine = machine
        self.view = view
        states = (*machine.states, *machine.final)
        self.state = {state: number for number, state in enumerate(states)}
        self.symbol = {symbol: number for number, symbol in enumerate(machine.stack, start=1)}
        self.symbols = len(machine.stack) + 1
        """The number of different contents of a slot, including empty."""
        self.width = len(states) + self.symbols * self.slots
        """The length of the one-hot vector."""
        self.offsets = [0, *range(len(states), self.width, self.symbols)]
        """The first column of the state, and of each slot, in the one-hot vector."""

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the machine and the view. Windows with equal fingerprints can be exchanged."""
        machine = self.machine
        lines = [*map(str, machine.transitions), str(machine.otherwise), str(self)]
        return f"{machine.name}-{sha256(chr(10).join(lines).encode()).hexdigest()[:12]}"

    def __str__(self) -> str:
        visible = f'k="full", depth={self.slots}' if self.whole else f"k={self.view}"
        return f"states {' '.join(self.state)}, stack {' '.join(self.symbol)}, {visible}"

    def numbers(self, state: str, stack: Stack) -> list[int]:
        """The number of the state, and the contents of each slot."""
        missing = self.slots - len(stack)
        if missing < 0 and self.whole:
            fault = (
                f"the stack holds {len(stack)} symbols, and the observation has {self.slots} slots"
            )
            raise StackTooHigh(fault, fix="give `wrap` a larger `depth`, or a number as k")
        visible = [self.symbol[name] for name in stack[: self.slots]]
        return [self.state[state], *visible] + [0] * missing

    def one_hot(self, rows: npt.NDArray[np.int64]) -> Floats:
        """Convert rows of `numbers` to one-hot vectors: [rows, width]."""
        vectors = np.zeros((len(rows), self.width), np.float32)
        np.put_along_axis(vectors, rows + np.array(self.offsets), 1.0, axis=1)
        return vectors


class ShowsMachine:
    """An observation space with its `Window`: SB3 passes only the space to replay buffers."""

    window: Window

    def __eq__(self, other: object) -> bool:
        """Spaces are equal if their numbers have the same meaning, so agents can be exchanged."""
        alike = not isinstance(other, ShowsMachine) or str(self.window) == str(other.window)
        return super().__eq__(other) and alike

    __hash__ = None  # type: ignore[assignment] # as in Gymnasium's spaces

    def __repr__(self) -> str:
        return f"{super().__repr__()} ({self.window})"


class ProductDict(ShowsMachine, spaces.Dict):
    """The space of observations that are dictionaries.

    >>> from pdrm.language.loading import catalogue
    >>> space = AsDict(spaces.Discrete(2), Window(catalogue("letter"), TopK(1))).space
    >>> list(space), str(space.window)
    (['observation', 'machine', 'stack'], 'states u0 u1 u2, stack # A, k=1')
    """


class ProductBox(ShowsMachine, spaces.Box):
    """The space of flat observations.

    >>> from pdrm.language.loading import catalogue
    >>> AsVector(spaces.Discrete(2), Window(catalogue("letter"), TopK(1))).space.shape
    (8,)
    """


# --- The environment's part of an observation


def list_entries(tree: Any, name: str = "") -> dict[str, Any]:
    """List the entries of an observation or a space; nested ones are called `outer/inner`.

    >>> list_entries({"at": {"x": 2}, "word": "go"}), list_entries(7)
    ({'at/x': 2, 'word': 'go'}, {'observation': 7})
    """
    if not isinstance(tree, Mapping):  # Gymnasium's spaces of dictionaries are mappings
        return {name or OBSERVATION: tree}
    entries: dict[str, Any] = {}
    for key, part in tree.items():
        entries |= list_entries(part, f"{name}/{key}" if name else key)
    return entries


def _is_flat(space: Space) -> bool:
    """Return True if observations have a fixed size; False for unknown custom spaces."""
    try:
        return space.is_np_flattenable
    except NotImplementedError:
        return False


def check_observation(space: Space, observation: Any) -> None:
    """Raise if an observation contradicts its space.

    A `Box` can have another type, or values slightly out of bounds, as in many environments.

    >>> check_observation(spaces.Dict({"at": spaces.Box(0, 1, (2,))}), {"at": np.zeros(2)})
    """
    entries = list_entries(observation)
    for name, part in list_entries(space).items():
        value: Any = entries.get(name)
        fits = part.contains(value) if _is_numbered(part) else part.shape in (None, np.shape(value))
        if not fits:
            fault = (
                f"the entry `{name}` of an observation at reset is {str(value)[:60]}, "
                f"but its space is {part}"
            )
            fix = "make the environment's observations match its `observation_space`"
            raise BadEnvironment(fault, fix=fix)


def _is_numbered(space: Space) -> bool:
    return isinstance(space, spaces.Discrete | spaces.MultiDiscrete)


# --- The forms


class ObservationForm(ABC):
    """The form of an observation: the chosen entries of the environment's, and the machine's part.

    >>> from pdrm.language.loading import catalogue
    >>> inner, window = spaces.Dict({"x": spaces.Discrete(3)}), Window(catalogue("letter"), TopK(1))
    >>> form = AsDict(spaces.Dict({"at": inner, "word": spaces.Text(9)}), window)
    >>> form.put({"at": {"x": 2}, "word": "go"}, "u0", ("A", "#"))
    {'at/x': 2, 'machine': 0, 'stack': array([2])}
    """

    space: Space

    def __init__(
        self, environment: Space, window: Window | None, keys: Sequence[str] | None = None
    ) -> None:
        """Choose the entries named by `keys` (default: all of fixed size, except texts)."""
        self.environment = environment
        self.window = window
        self.nested = isinstance(environment, spaces.Dict)
        available = list_entries(environment)
        keys = (keys,) if isinstance(keys, str) else keys
        for key in keys or ():
            if key not in available:
                fault = f"`keys` names `{key}`, which the observation does not have"
                raise BadSetting(fault, fix=did_you_mean(str(key), available))
        if keys is None:
            keys = [
                name
                for name, part in available.items()
                if not self.nested or (_is_flat(part) and not isinstance(part, spaces.Text))
            ]
        if not keys:
            fault = f"an observation of {environment} has no entry of a fixed size"
            raise CannotWrap(fault, fix="name the entries that the agent sees: keys=[...]")
        self.entries = spaces.Dict([(name, available[name]) for name in keys])
        self.make_space()

    @abstractmethod
    def make_space(self) -> None:
        """Set the space of the observations."""

    def pick(self, observation: Any) -> dict[str, Any]:
        """The chosen entries of an observation."""
        entries = list_entries(observation)
        return {name: entries[name] for name in self.entries.spaces}

    @abstractmethod
    def put(self, observation: Any, state: str, stack: Stack) -> Any:
        """Build the observation of the product."""


class AsDict(ObservationForm):
    """`{"observation": …, "machine": number of the state, "stack": numbers}`.

    Without slots there is no `stack`. Without a window there is only the environment's part.

    >>> from pdrm.language.loading import catalogue
    >>> form = AsDict(spaces.Discrete(16), Window(catalogue("letter"), TopK(1)))
    >>> form.put(7, "u0", ("A", "#")), AsDict(spaces.Discrete(16), None).put(7, "u0", ("A", "#"))
    ({'observation': 7, 'machine': 0, 'stack': array([2])}, 7)
    """

    def make_space(self) -> None:
        window, entries = self.window, self.entries.spaces
        if window is None:
            self.space = self.entries if self.nested else self.environment
            return
        machine_spaces: dict[str, Space] = {MACHINE: spaces.Discrete(len(window.state))}
        if window.slots:
            machine_spaces[STACK] = spaces.MultiDiscrete([window.symbols] * window.slots)
        for name in machine_spaces.keys() & entries.keys():
            fault = f"the environment's observation has an entry `{name}` already"
            fix = "rename it in a wrapper, name the others with `keys`, or use `flatten=True`"
            raise CannotWrap(fault, fix=fix)
        space = ProductDict([*entries.items(), *machine_spaces.items()])
        space.window = window
        self.space = space

    def put(self, observation: Any, state: str, stack: Stack) -> Any:
        if self.window is None and not self.nested:
            return observation
        entries = self.pick(observation)
        if self.window is not None:
            entries[MACHINE], *slots = self.window.numbers(state, stack)
            if slots:
                entries[STACK] = np.array(slots)
        return entries


class AsVector(ObservationForm):
    """A vector of float32: the environment's part, flattened, then one-hot state and symbols.

    >>> from pdrm.language.loading import catalogue
    >>> form = AsVector(spaces.Discrete(2), Window(catalogue("letter"), TopK(1)))
    >>> form.put(1, "u0", ("A", "#")).tolist()
    [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """

    def make_space(self) -> None:
        environment, window, entries = self.environment, self.window, self.entries
        flat = spaces.flatten_space(entries) if _is_flat(entries) else None
        if not isinstance(flat, spaces.Box):
            fault = f"an observation of {environment} cannot be flattened"
            raise CannotWrap(fault, fix="leave `flatten` out")
        # Most small environments observe one number; Gymnasium takes 2 µs to make it one-hot.
        self._number = environment if isinstance(environment, spaces.Discrete) else None
        self._numbered = {name: part for name, part in entries.spaces.items() if _is_numbered(part)}
        self._width = len(flat.low)
        one_hot = np.zeros(0 if window is None else window.width)
        self._length = self._width + len(one_hot)
        low = np.concatenate([flat.low, one_hot]).astype(np.float32)
        high = np.concatenate([flat.high, one_hot + 1]).astype(np.float32)
        if window is None:
            self.space = spaces.Box(low, high, dtype=np.float32)
        else:
            space = ProductBox(low, high, dtype=np.float32)
            space.window = window
            self.space = space

    def put(self, observation: Any, state: str, stack: Stack) -> Floats:
        vector, window = np.zeros(self._length, np.float32), self.window
        if self._number is not None:
            index = int(observation) - int(self._number.start)
            if not 0 <= index < self._number.n:
                raise _outside(self._number, observation)
            vector[index] = 1
        else:
            parts = self.pick(observation)
            for name, space in self._numbered.items():  # Gymnasium would set a bit of another entry
                if not space.contains(parts[name]):
                    raise _outside(space, parts[name])
            flat: Any = spaces.flatten(self.entries, parts)
            vector[: self._width] = flat
        if window is not None:
            for offset, number in zip(window.offsets, window.numbers(state, stack), strict=True):
                vector[self._width + offset + number] = 1
        return vector


def _outside(space: Space, observation: object) -> CannotWrap:
    fault = f"the observation {str(observation)[:60]} is not in the environment's {space}"
    fix = "make the environment's observations match its space, or leave `flatten` out"
    return CannotWrap(fault, fix=fix)


# --- Reading observations


def hashable_key(observation: Any) -> Hashable:
    """Convert an observation to a hashable key, for tables.

    >>> hashable_key({"observation": np.int64(7), "machine": 0, "stack": np.array([2, 1])})
    (7, 0, (2, 1))
    """
    key: Any = observation
    if isinstance(key, Mapping):
        key = tuple(key.values())
    elif isinstance(key, np.ndarray | np.generic):
        key = key.tolist()
    return tuple(map(hashable_key, key)) if isinstance(key, tuple | list) else key


class ObservationContents(NamedTuple):
    """The contents of an observation of `pdrm.wrap`."""

    observation: Any
    """The environment's observation."""
    state: str
    """The machine's state."""
    stack: Stack
    """The visible symbols, top first."""
    whole: bool
    """True if this is certainly the whole stack, because a slot is empty."""


def read_observation(
    observation: object, states: Sequence[str], symbols: Sequence[str], size: int | None = None
) -> ObservationContents | None:
    """Read an observation of `pdrm.wrap`; return None for any other.

    A vector can only be read if the number of environment states, `size`, is given.

    >>> shown = {"observation": 7, "machine": 0, "stack": np.array([2, 0])}
    >>> read_observation(shown, ("u0", "u1"), ("#", "A"))
    ObservationContents(observation=7, state='u0', stack=('A',), whole=True)
    >>> read_observation(np.array([0, 1, 1, 0, 0, 0, 1]), ("u0", "u1"), ("#", "A"), size=2)
    ObservationContents(observation=1, state='u0', stack=('A',), whole=False)
    """
    try:
        if isinstance(observation, Mapping):
            inner, state = observation[OBSERVATION], int(observation[MACHINE])
            numbers = [int(number) for number in observation.get(STACK, ())]
        else:
            vector, base = np.asarray(observation, np.float32), len(symbols) + 1
            if size is None or vector.ndim != 1 or (len(vector) - size - len(states)) % base:
                return None
            parts = np.split(vector, [size, *range(size + len(states), len(vector), base)])
            if not all(part.max() == part.sum() == 1 for part in parts):
                return None
            inner, state, *numbers = (int(part.argmax()) for part in parts)
    except (KeyError, TypeError, ValueError):
        return None
    if not 0 <= state < len(states) or not all(0 <= number <= len(symbols) for number in numbers):
        return None
    stack = tuple(symbols[number - 1] for number in numbers if number)
    return ObservationContents(inner, states[state], stack, 0 in numbers)
