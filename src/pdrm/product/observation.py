"""What a policy sees of the product: the environment's observation, the machine's state, and the whole stack (Section 3, Policy) or its
top k symbols (k-policy).

Observations have two forms, a dictionary and (`flatten`) one vector of float32. Both have a fixed size, so they
show the stack through a window of some places. If the environment's observation is a dictionary itself,
its entries stand next to the machine's: agents such as Stable-Baselines3's refuse nested dictionaries.
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
"""The entries of a dictionary: the environment's, and the machine's two."""


# --- Views of the stack


@dataclass(frozen=True, slots=True)
class FullStack:
    """The whole stack.

    >>> FullStack().of(("A", "#"))
    ('A', '#')
    """

    def of(self, stack: Stack) -> Stack:
        """The seen part of a stack, top first."""
        return stack

    def __str__(self) -> str:
        return "full"


@dataclass(frozen=True, slots=True)
class TopK:
    """The top min(k, height) symbols; k = 0 sees no stack at all.

    >>> TopK(1).of(("A", "#")), TopK(0).of(("A",)), str(TopK(2))
    (('A',), (), '2')
    """

    k: int
    """Symbols that are seen."""

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 0:
            fault = f"k is {self.k!r}, but must be a non-negative integer"
            raise BadSetting(fault, fix='use k=1, or k="full"')

    def of(self, stack: Stack) -> Stack:
        """The seen part of a stack, top first."""
        return stack[: self.k]

    def __str__(self) -> str:
        return str(self.k)


View = FullStack | TopK


def view_of(k: object) -> View:
    """The view that a k stands for: a number of symbols, or "full".

    >>> view_of(2), view_of("full")
    (TopK(k=2), FullStack())
    """
    number = int(k) if isinstance(k, np.integer) else k
    return FullStack() if number == "full" else TopK(number)  # type: ignore[arg-type] # TopK checks it


# --- The machine's part


class Window:
    """The observed part of a configuration, as numbers: the state, and the symbols at some places, top first.

    States are numbered from 0, final ones last; symbols from 1, and 0 is an empty place.

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
        one_too_many = isinstance(view, TopK) and depth is not None
        if one_too_many or type(slots) is not int or slots < self.whole:
            fault = f"k is {view}, and `depth` {depth!r}"
            fix = (
                'a full stack needs to know how high it may get, and only that: k="full", depth=32'
            )
            raise BadSetting(fault, fix=fix)
        self.slots = slots
        self.machine, self.view = machine, view
        states = (*machine.states, *machine.final)
        self.state = {state: number for number, state in enumerate(states)}
        self.symbol = {symbol: number for number, symbol in enumerate(machine.stack, start=1)}
        self.symbols = len(machine.stack) + 1
        """Different contents of a place; empty is one of them."""
        self.width = len(states) + self.symbols * self.slots
        """The length of the one-hot vector."""
        self.offsets = [0, *range(len(states), self.width, self.symbols)]
        """The column of the one-hot vector at which the state begins, and each place."""

    @cached_property
    def fingerprint(self) -> str:
        """The machine and what is seen of it, in short. Two windows with equal fingerprints are read alike."""
        machine = self.machine
        lines = [*map(str, machine.transitions), str(machine.otherwise), str(self)]
        return f"{machine.name}-{sha256(chr(10).join(lines).encode()).hexdigest()[:12]}"

    def __str__(self) -> str:
        seen = f'k="full", depth={self.slots}' if self.whole else f"k={self.view}"
        return f"states {' '.join(self.state)}, stack {' '.join(self.symbol)}, {seen}"

    def numbers(self, state: str, stack: Stack) -> list[int]:
        """The state, and the contents of each place."""
        missing = self.slots - len(stack)
        if missing < 0 and self.whole:
            fault = (
                f"the stack holds {len(stack)} symbols, and the observation has {self.slots} slots"
            )
            raise StackTooHigh(fault, fix="give `wrap` a larger `depth`, or a number as k")
        seen = [self.symbol[name] for name in stack[: self.slots]]
        return [self.state[state], *seen] + [0] * missing

    def one_hot(self, rows: npt.NDArray[np.int64]) -> Floats:
        """Rows of `numbers` as one-hot vectors: [rows, width]."""
        vectors = np.zeros((len(rows), self.width), np.float32)
        np.put_along_axis(vectors, rows + np.array(self.offsets), 1.0, axis=1)
        return vectors


class ShowsMachine:
    """A space of observations that knows the window it shows. SB3 hands a space, and no environment, to replay buffers."""

    window: Window

    def __eq__(self, other: object) -> bool:
        """Equal spaces, in which the same numbers mean the same: an agent of one can act on the other."""
        alike = not isinstance(other, ShowsMachine) or str(self.window) == str(other.window)
        return super().__eq__(other) and alike

    __hash__ = None  # type: ignore[assignment] # as Gymnasium's

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


# --- The environment's part


def list_entries(tree: Any, name: str = "") -> dict[str, Any]:
    """The parts of an observation or of a space. Those of a dictionary within a dictionary are called `outer/inner`.

    >>> list_entries({"at": {"x": 2}, "word": "go"}), list_entries(7)
    ({'at/x': 2, 'word': 'go'}, {'observation': 7})
    """
    if not isinstance(tree, Mapping):  # Gymnasium's spaces of dictionaries are mappings
        return {name or OBSERVATION: tree}
    found: dict[str, Any] = {}
    for key, part in tree.items():
        found |= list_entries(part, f"{name}/{key}" if name else key)
    return found


def _is_flat(space: Space) -> bool:
    """Return True if an observation is a fixed number of numbers. Custom spaces, such as MiniGrid's missions, may not say."""
    try:
        return space.is_np_flattenable
    except NotImplementedError:
        return False


def check_observation(space: Space, observation: Any) -> None:
    """Raise if an observation contradicts its space.

    A `Box` may hold another type, or numbers a little out of bounds, as many environments have it.

    >>> check_observation(spaces.Dict({"at": spaces.Box(0, 1, (2,))}), {"at": np.zeros(2)})
    """
    found = list_entries(observation)
    for name, part in list_entries(space).items():
        seen: Any = found.get(name)
        fits = part.contains(seen) if _is_numbered(part) else part.shape in (None, np.shape(seen))
        if not fits:
            fault = f"the entry `{name}` of an observation at reset is {str(seen)[:60]}, and its space {part}"
            fix = "let the environment observe what its `observation_space` says"
            raise BadEnvironment(fault, fix=fix)


def _is_numbered(space: Space) -> bool:
    return isinstance(space, spaces.Discrete | spaces.MultiDiscrete)


# --- The forms


class ObservationForm(ABC):
    """The form of an observation: the entries of the environment's that are seen, and the machine's part.

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
        """Choose the entries named by `keys` (default: all but texts and others without a fixed number of numbers)."""
        self.environment, self.window = environment, window
        self.nested = isinstance(environment, spaces.Dict)
        found = list_entries(environment)
        keys = (keys,) if isinstance(keys, str) else keys
        for key in keys or ():
            if key not in found:
                fault = f"`keys` names `{key}`, which the observation does not have"
                raise BadSetting(fault, fix=did_you_mean(str(key), found))
        if keys is None:
            keys = [
                name
                for name, part in found.items()
                if not self.nested or (_is_flat(part) and not isinstance(part, spaces.Text))
            ]
        if not keys:
            fault = (
                f"an observation of {environment} has no entry that is a fixed number of numbers"
            )
            raise CannotWrap(fault, fix="name those that the agent shall see: keys=[...]")
        self.entries = spaces.Dict([(name, found[name]) for name in keys])
        self.make_space()

    @abstractmethod
    def make_space(self) -> None:
        """Set the space of the observations."""

    def pick(self, observation: Any) -> dict[str, Any]:
        """The chosen entries of one observation."""
        found = list_entries(observation)
        return {name: found[name] for name in self.entries.spaces}

    @abstractmethod
    def put(self, observation: Any, state: str, stack: Stack) -> Any:
        """One observation."""


class AsDict(ObservationForm):
    """`{"observation": …, "machine": number of the state, "stack": numbers}`, without `stack` if no place is seen; for agents that
    do not see the machine, the environment's part alone.

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
        own: dict[str, Space] = {MACHINE: spaces.Discrete(len(window.state))}
        if window.slots:
            own[STACK] = spaces.MultiDiscrete([window.symbols] * window.slots)
        for name in own.keys() & entries.keys():
            fault = f"the environment's observation has an entry `{name}` already"
            fix = "rename it in a wrapper, name the others with `keys`, or use `flatten=True`"
            raise CannotWrap(fault, fix=fix)
        shown = ProductDict([*entries.items(), *own.items()])
        self.space, shown.window = shown, window

    def put(self, observation: Any, state: str, stack: Stack) -> Any:
        if self.window is None and not self.nested:
            return observation
        seen = self.pick(observation)
        if self.window is not None:
            seen[MACHINE], *shown = self.window.numbers(state, stack)
            if shown:
                seen[STACK] = np.array(shown)
        return seen


class AsVector(ObservationForm):
    """One vector of float32: the environment's part flattened as Gymnasium does, then one-hot state and symbols.

    >>> from pdrm.language.loading import catalogue
    >>> form = AsVector(spaces.Discrete(2), Window(catalogue("letter"), TopK(1)))
    >>> form.put(1, "u0", ("A", "#")).tolist()
    [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """

    def make_space(self) -> None:
        environment, window, own = self.environment, self.window, self.entries
        flat = spaces.flatten_space(own) if _is_flat(own) else None
        if not isinstance(flat, spaces.Box):
            fault = f"an observation of {environment} cannot be flattened"
            raise CannotWrap(fault, fix="leave `flatten` out")
        # The commonest small environments observe one number, and Gymnasium takes 2 µs to make it one-hot.
        self._number = environment if isinstance(environment, spaces.Discrete) else None
        self._numbered = {name: part for name, part in own.spaces.items() if _is_numbered(part)}
        self._width = len(flat.low)
        hot = np.zeros(0 if window is None else window.width)
        self._length = self._width + len(hot)
        low = np.concatenate([flat.low, hot]).astype(np.float32)
        high = np.concatenate([flat.high, hot + 1]).astype(np.float32)
        if window is None:
            self.space = spaces.Box(low, high, dtype=np.float32)
        else:
            shown = ProductBox(low, high, dtype=np.float32)
            self.space, shown.window = shown, window

    def put(self, observation: Any, state: str, stack: Stack) -> Floats:
        vector, window = np.zeros(self._length, np.float32), self.window
        if self._number is not None:
            place = int(observation) - int(self._number.start)
            if not 0 <= place < self._number.n:
                raise _outside(self._number, observation)
            vector[place] = 1
        else:
            parts = self.pick(observation)
            for name, space in self._numbered.items():  # Gymnasium would set another number's bit
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
    fix = "let the environment observe what its space says, or leave `flatten` out"
    return CannotWrap(fault, fix=fix)


# --- Observations, read


def hashable_key(observation: Any) -> Hashable:
    """An observation as a hashable key, for tables.

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
    """The environment's own."""
    state: str
    """The machine's."""
    stack: Stack
    """The symbols that are shown, top first."""
    whole: bool
    """True if that is known to be the whole stack: a place is left empty."""


def read_observation(
    shown: object, states: Sequence[str], symbols: Sequence[str], size: int | None = None
) -> ObservationContents | None:
    """The contents of an observation, or None if it is not one of `pdrm.wrap`. A vector is read only if the number of
    environment states, `size`, is known.

    >>> read_observation({"observation": 7, "machine": 0, "stack": np.array([2, 0])}, ("u0", "u1"), ("#", "A"))
    ObservationContents(observation=7, state='u0', stack=('A',), whole=True)
    >>> read_observation(np.array([0, 1, 1, 0, 0, 0, 1]), ("u0", "u1"), ("#", "A"), size=2)
    ObservationContents(observation=1, state='u0', stack=('A',), whole=False)
    """
    try:
        if isinstance(shown, Mapping):
            own, state = shown[OBSERVATION], int(shown[MACHINE])
            numbers = [int(number) for number in shown.get(STACK, ())]
        else:
            vector, base = np.asarray(shown, np.float32), len(symbols) + 1
            if size is None or vector.ndim != 1 or (len(vector) - size - len(states)) % base:
                return None
            ends = [size, *range(size + len(states), len(vector), base)]
            parts = np.split(vector, ends)
            if not all(part.max() == part.sum() == 1 for part in parts):
                return None
            own, state, *numbers = (int(part.argmax()) for part in parts)
    except (KeyError, TypeError, ValueError):
        return None
    if not 0 <= state < len(states) or not all(0 <= number <= len(symbols) for number in numbers):
        return None
    stack = tuple(symbols[number - 1] for number in numbers if number)
    return ObservationContents(own, states[state], stack, 0 in numbers)
