"""What an agent observes of the product: the environment's observation, the machine's state and the view of the stack.

In three forms: a dictionary, one flat vector (all but the environment's part one-hot), or one number for tables. All have a fixed
size, so they see the stack through a window of some places. Where the environment's observation is a dictionary itself, ours has
its entries beside the machine's: agents such as Stable-Baselines3's refuse a dictionary within a dictionary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from pdrm.domains.gymnasium_table import check_flag
from pdrm.errors import BadSetting, CannotWrap, StackTooHigh, did_you_mean
from pdrm.language.writer import to_text
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Stack
from pdrm.product.views import FullStack, TopK, View

MACHINE, STACK = "machine", "stack"
"""What the machine's entries are called in a dictionary."""


class Window:
    """The places of the stack that are seen, top first, and the numbers of what stands there (0: nothing).

    >>> from pdrm.language.loading import catalogue
    >>> window = Window(catalogue("letter"), TopK(3))
    >>> window.numbers(("A", "#")), window.state["u1"]
    ([2, 1, 0], 1)
    """

    def __init__(
        self, machine: PushdownRewardMachine, view: View, depth: int | None = None
    ) -> None:
        match view:
            case TopK():
                if depth is not None:
                    raise BadSetting(
                        f"`depth` bounds a full stack, and k is {view.k}", fix="leave `depth` out"
                    )
                self.places = view.k
            case FullStack():
                if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
                    raise BadSetting(
                        f"a full stack has no bounded space: `depth` is {depth!r}, but must be a positive integer",
                        fix='say how high it may get: k="full", depth=32',
                    )
                self.places = depth
            case _:
                raise BadSetting(
                    f"{view!r} is not a view of the stack",
                    fix="use TopK(1), or FullStack() with a depth",
                )
        self.machine, self.view, self.depth = machine, view, depth
        self.whole = isinstance(view, FullStack)
        self.state = {
            state: number for number, state in enumerate((*machine.states, *machine.final))
        }
        self.symbol = {symbol: number for number, symbol in enumerate(machine.stack, start=1)}
        self.symbols = len(machine.stack) + 1
        """How many different things can stand at a place, nothing among them."""

    def describe(self, space: spaces.Space[Any]) -> str:
        """What observations of a space show, in short: the machine, told from others of its name by its text, what is seen of the
        stack, and how long a vector is. Two that are described alike are read alike."""
        text = crc32(to_text(self.machine).encode())
        seen = f'k="full", depth={self.depth}' if self.whole else f"k={self.view}"
        numbers = f", {math.prod(space.shape)} numbers" if isinstance(space, spaces.Box) else ""
        return f"machine `{self.machine.name}` ({text:08x}), {seen}{numbers}"

    def numbers(self, stack: Stack) -> list[int]:
        """What stands at each place."""
        symbol, missing = self.symbol, self.places - len(stack)
        if missing > 0:
            return [symbol[name] for name in stack] + [0] * missing
        if missing < 0 and self.whole:
            raise StackTooHigh(
                f"the stack holds {len(stack)} symbols, and the observation has room for {self.places}",
                fix="give `wrap` a larger `depth`, or a number as k",
            )
        return [symbol[name] for name in stack[: self.places]]


class Entries:
    """The entries of a dictionary that the environment observes, without nesting: those of a dictionary within it are called
    `outer/inner`.

    keys: those that are seen; None: all but texts and others that are not a fixed number of numbers.

    >>> inner = spaces.Dict({"x": spaces.Discrete(3)})
    >>> entries = Entries(spaces.Dict({"at": inner, "word": spaces.Text(9)}))
    >>> entries.space, entries.pick({"at": {"x": 2}, "word": "go"})
    (Dict('at/x': Discrete(3)), {'at/x': 2})
    """

    def __init__(self, environment: spaces.Dict, keys: tuple[str, ...] | None = None) -> None:
        found = dict(_unnest(environment))
        names = {"/".join(path): path for path in found}
        for key in keys or ():
            if key not in names:
                fault = f"`keys` names `{key}`, which the observation does not have"
                raise BadSetting(fault, fix=did_you_mean(str(key), names))
        numbers = (
            name
            for name, path in names.items()
            if _is_flat(found[path]) and not isinstance(found[path], spaces.Text)
        )
        chosen = tuple(numbers) if keys is None else keys
        if not chosen:
            fix = "name what the agent shall see: keys=[...]"
            raise CannotWrap(
                f"an observation of {environment} has no entry that is a fixed number of numbers",
                fix=fix,
            )
        self._paths = {name: names[name] for name in chosen}
        self.space: spaces.Dict = spaces.Dict(
            [(name, found[path]) for name, path in self._paths.items()]
        )

    def pick(self, observation: Any) -> dict[str, Any]:
        """The entries that are seen, of one observation."""
        seen = {}
        for name, path in self._paths.items():
            part = observation
            for key in path:
                part = part[key]
            seen[name] = part
        return seen


def is_image(space: spaces.Space[Any]) -> bool:
    """Whether Stable-Baselines3 takes what is in a space for an image."""
    if not isinstance(space, spaces.Box) or space.dtype != np.uint8 or len(space.shape) != 3:
        return False
    return not space.low.any() and bool((space.high == 255).all())


def _show_floats(space: spaces.Space[Any]) -> spaces.Space[Any]:
    """The space of an image as float32."""
    return spaces.Box(0, 255, space.shape, np.float32)


def check_observation(space: spaces.Space[Any], observation: Any, name: str = "") -> str:
    """How an observation contradicts its space, in entries, shapes and numbers; nothing, where it does not. What a `Box` holds may
    be of another type or a little out of bounds, as many environments have it.

    >>> check_observation(spaces.Dict({"at": spaces.Box(0, 1, (2,))}), {"at": np.zeros(3)})
    "the observation's entry `at` has the shape (3,), and its space (2,)"
    """
    called = f"the observation's entry `{name}`" if name else "the observation"
    match space:
        case spaces.Dict():
            if not isinstance(observation, Mapping):
                return f"{called} is {str(observation)[:60]}, and its space a dictionary"
            for key, part in space.spaces.items():
                path = f"{name}/{key}" if name else str(key)
                if key not in observation:
                    return f"the observation has no entry `{path}`, and its space has one"
                if fault := check_observation(part, observation[key], path):
                    return fault
        case spaces.Box() | spaces.MultiDiscrete() | spaces.MultiBinary():
            if np.shape(observation) != space.shape:
                return (
                    f"{called} has the shape {np.shape(observation)}, and its space {space.shape}"
                )
        case spaces.Discrete():
            if (
                np.shape(observation) != ()
                or not space.start <= observation < space.start + space.n
            ):
                return f"{called} is {str(observation)[:60]}, and its space {space}"
    return ""


def _unnest(
    environment: spaces.Dict, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], spaces.Space[Any]]]:
    for name, space in environment.spaces.items():
        path = (*above, str(name))
        if isinstance(space, spaces.Dict):
            yield from _unnest(space, path)
        else:
            yield path, space


def _is_flat(space: spaces.Space[Any]) -> bool:
    """Whether an observation is a fixed number of numbers. Spaces of one's own, such as MiniGrid's missions, may not say."""
    try:
        return space.is_np_flattenable
    except NotImplementedError:
        return False


def _entries(environment: spaces.Space[Any], keys: tuple[str, ...] | None) -> Entries | None:
    """The entries of an environment's observation; None where it is not a dictionary."""
    if isinstance(environment, spaces.Dict):
        return Entries(environment, keys)
    if keys is not None:
        raise BadSetting(
            f"`keys` chooses entries of a dictionary, and the observation is {environment}",
            fix="leave it out",
        )
    return None


class ProductDict(spaces.Dict):
    """The space of observations that are dictionaries, which knows the machine, the view and the depth that they show: what is handed
    a space and no environment, as Stable-Baselines3's replay buffers are, need not be told them again.

    >>> from pdrm.language.loading import catalogue
    >>> space = AsDict(spaces.Discrete(2), Window(catalogue("letter"), TopK(1))).space
    >>> list(space), space.machine.name, str(space.view)
    (['observation', 'machine', 'stack'], 'letter', '1')
    """

    def __init__(self, entries: list[tuple[str, spaces.Space[Any]]], window: Window) -> None:
        super().__init__(entries)
        self.machine, self.view, self.depth = window.machine, window.view, window.depth

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and _read_alike(self, other)

    __hash__ = None  # type: ignore[assignment] # as Gymnasium's

    def __repr__(self) -> str:
        return _name_states(super().__repr__(), self)


class AsDict:
    """`{"observation": …, "machine": number of the state, "stack": numbers}`; with no place seen, no `stack`. Where the
    environment's observation is a dictionary, its entries stand in place of `observation`.

    >>> from pdrm.language.loading import catalogue
    >>> form = AsDict(spaces.Discrete(16), Window(catalogue("letter"), TopK(1)))
    >>> form.put(7, "u0", ("A", "#"))
    {'observation': 7, 'machine': 0, 'stack': array([2])}
    """

    def __init__(
        self,
        environment: spaces.Space[Any],
        window: Window,
        keys: tuple[str, ...] | None = None,
        float_images: bool = False,
    ) -> None:
        self._entries = _entries(environment, keys)
        parts = (
            {"observation": environment}
            if self._entries is None
            else dict(self._entries.space.spaces)
        )
        self._images = [name for name, space in parts.items() if float_images and is_image(space)]
        parts |= {name: _show_floats(parts[name]) for name in self._images}
        own: dict[str, spaces.Space[Any]] = {MACHINE: spaces.Discrete(len(window.state))}
        if window.places:
            own[STACK] = spaces.MultiDiscrete([window.symbols] * window.places)
        for name in own:
            if name in parts:
                fix = "rename it in a wrapper, name the others with `keys`, or use `flatten=True`"
                raise CannotWrap(
                    f"the environment's observation has an entry `{name}` already", fix=fix
                )
        self.space: ProductDict = ProductDict([*parts.items(), *own.items()], window)
        self._window = window

    def put(self, observation: object, state: str, stack: Stack) -> Mapping[str, Any]:
        """One observation."""
        window = self._window
        seen = (
            {"observation": observation}
            if self._entries is None
            else self._entries.pick(observation)
        )
        for name in self._images:
            seen[name] = np.asarray(seen[name], np.float32)
        seen[MACHINE] = window.state[state]
        if window.places:
            seen[STACK] = np.array(window.numbers(stack))
        return seen


class ProductBox(spaces.Box):
    """The space of flat observations, which knows the same as `ProductDict`.

    >>> from pdrm.language.loading import catalogue
    >>> space = AsVector(spaces.Discrete(2), Window(catalogue("letter"), TopK(1))).space
    >>> space.shape, space.machine.name, str(space.view)
    ((8,), 'letter', '1')
    """

    def __init__(self, low: npt.NDArray[Any], high: npt.NDArray[Any], window: Window) -> None:
        super().__init__(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
        self.machine, self.view, self.depth = window.machine, window.view, window.depth

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and _read_alike(self, other)

    __hash__ = None  # type: ignore[assignment] # as Gymnasium's

    def __repr__(self) -> str:
        return _name_states(super().__repr__(), self)


def _read_alike(one: ProductDict | ProductBox, other: object) -> bool:
    """Whether the same numbers mean the same states and symbols in two spaces of the same shape: an agent that was trained on one can
    act on the other. A space that does not say is taken to be alike."""
    if not isinstance(other, ProductDict | ProductBox):
        return True
    mine, theirs = (
        (space.machine.states, space.machine.final, space.machine.stack, space.view)
        for space in (one, other)
    )
    return mine == theirs


def _name_states(shown: str, space: ProductDict | ProductBox) -> str:
    """How a space is written, with what its numbers mean: spaces of the same shape are told apart."""
    states, symbols = (*space.machine.states, *space.machine.final), space.machine.stack
    return f"{shown[:-1]}, machine={space.machine.name!r}, states={' '.join(states)!r}, stack={' '.join(symbols)!r})"


class AsVector:
    """One vector of float32: the environment's observation flattened as Gymnasium does, then one-hot state and symbols.

    >>> from pdrm.language.loading import catalogue
    >>> form = AsVector(spaces.Discrete(2), Window(catalogue("letter"), TopK(1)))
    >>> form.put(1, "u0", ("A", "#")).tolist()
    [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """

    def __init__(
        self, environment: spaces.Space[Any], window: Window, keys: tuple[str, ...] | None = None
    ) -> None:
        self._entries = _entries(environment, keys)
        if self._entries is not None:
            environment = self._entries.space
        flat = spaces.flatten_space(environment) if _is_flat(environment) else None
        if not isinstance(flat, spaces.Box):
            raise CannotWrap(
                f"an observation of {environment} cannot be flattened", fix="leave `flatten` out"
            )
        self._environment, self._window = environment, window
        self._numbered = [
            (name, space)
            for name, space in (() if self._entries is None else self._entries.space.spaces.items())
            if isinstance(space, spaces.Discrete | spaces.MultiDiscrete)
        ]
        # The commonest small environments observe one number, and Gymnasium takes 2 µs to make it one-hot.
        self._numbers = environment if isinstance(environment, spaces.Discrete) else None
        self._width = math.prod(flat.shape)
        self._stack_at = self._width + len(window.state)
        self._length = self._stack_at + window.symbols * window.places
        hot = np.zeros(self._length - self._width)
        low, high = np.concatenate([flat.low, hot]), np.concatenate([flat.high, hot + 1])
        self.space: ProductBox = ProductBox(low, high, window)

    def put(self, observation: Any, state: str, stack: Stack) -> npt.NDArray[np.float32]:
        """One observation."""
        window, vector = self._window, np.zeros(self._length, np.float32)
        if self._numbers is not None:
            vector[_number(self._numbers, observation)] = 1
        else:
            if self._entries is not None:
                observation = self._entries.pick(observation)
                for name, space in self._numbered:
                    _check_inside(space, observation[name])
            elif isinstance(self._environment, spaces.MultiDiscrete):
                _check_inside(self._environment, observation)
            try:
                flat: Any = spaces.flatten(
                    self._environment, observation
                )  # an array, because the flat space is a Box
                vector[: self._width] = flat
            except ValueError:
                raise _outside(self._environment, observation) from None
        vector[self._width + window.state[state]] = 1
        at = self._stack_at
        for number in window.numbers(stack) if window.places else ():
            vector[at + number] = 1
            at += window.symbols
        return vector


class AsNumber:
    """One number for the whole, where the environment's observation is one: an index of a table.

    >>> from pdrm.language.loading import catalogue
    >>> form = AsNumber(spaces.Discrete(16), Window(catalogue("letter"), TopK(1)))
    >>> form.put(7, "u0", ("A", "#")), int(form.space.n)
    (65, 144)
    """

    def __init__(
        self, environment: spaces.Space[Any], window: Window, keys: tuple[str, ...] | None = None
    ) -> None:
        if not isinstance(environment, spaces.Discrete) or keys is not None:
            fix = "leave `discrete` out: the observation is a dictionary then, or one vector with `flatten=True`"
            raise CannotWrap(f"an observation of {environment} is not a number", fix=fix)
        count = int(environment.n) * len(window.state) * window.symbols**window.places
        if count >= 2**63:
            raise BadSetting(
                f"{count:.1e} observations cannot be numbered",
                fix="use a smaller k, or `flatten=True`",
            )
        self.space: spaces.Discrete = spaces.Discrete(count)
        self._environment, self._window = environment, window

    def put(self, observation: Any, state: str, stack: Stack) -> int:
        """One observation."""
        window = self._window
        number = _number(self._environment, observation) * len(window.state) + window.state[state]
        for symbol in window.numbers(stack) if window.places else ():
            number = number * window.symbols + symbol
        return number


def _number(environment: spaces.Discrete, observation: Any) -> int:
    """An observation of a `Discrete` space, counted from 0; one outside of it would be taken for something else."""
    number = int(observation) - int(environment.start)
    if not 0 <= number < environment.n:
        raise _outside(environment, observation)
    return number


def _check_inside(space: spaces.Discrete | spaces.MultiDiscrete, observation: Any) -> None:
    """Raise unless the observation is in its space: Gymnasium would set another number's bit."""
    if isinstance(space, spaces.Discrete):
        _number(space, observation)
    elif not space.contains(observation):
        raise _outside(space, observation)


def _outside(environment: spaces.Space[Any], observation: object) -> CannotWrap:
    fix = "let the environment observe what its space says, or leave `flatten` and `discrete` out"
    return CannotWrap(
        f"the observation {str(observation)[:60]} is not in the environment's {environment}",
        fix=fix,
    )


class Seen(NamedTuple):
    """What an observation of `pdrm.wrap` shows."""

    observation: Any
    """The environment's own."""
    state: str
    """The machine's."""
    stack: Stack
    """The symbols that are shown, top first."""
    whole: bool
    """Whether that is known to be the whole stack: a place is left empty."""


def read_seen(
    shown: object, states: Sequence[str], symbols: Sequence[str], size: int | None = None
) -> Seen | None:
    """What an observation shows: a dictionary, or a vector, of which one must know how many numbers (`size`) say where the
    environment is. states, symbols: of the machine, in its order. None: it is no such observation.

    >>> read_seen({"observation": 7, "machine": 0, "stack": np.array([2, 0])}, ("u0", "u1"), ("#", "A"))
    Seen(observation=7, state='u0', stack=('A',), whole=True)
    >>> read_seen(np.array([0, 1, 1, 0, 0, 0, 1]), ("u0", "u1"), ("#", "A"), size=2)
    Seen(observation=1, state='u0', stack=('A',), whole=False)
    """
    try:
        if isinstance(shown, Mapping):
            own, state = shown["observation"], int(shown[MACHINE])
            numbers = [int(number) for number in shown.get(STACK, ())]
        else:
            vector, base = np.asarray(shown, np.float32), len(symbols) + 1
            places = (len(vector) - (size or 0) - len(states)) // base
            ends = np.cumsum([size or 0, len(states), *[base] * places])
            parts = np.split(vector, ends)
            hot = all(part.max() == part.sum() == 1 for part in parts[:-1])
            if size is None or vector.ndim != 1 or len(parts[-1]) or not hot:
                return None
            own, state, *numbers = (int(part.argmax()) for part in parts[:-1])
    except (KeyError, TypeError, ValueError, IndexError):
        return None
    if not 0 <= state < len(states) or not all(0 <= number <= len(symbols) for number in numbers):
        return None
    return Seen(
        own, states[state], tuple(symbols[number - 1] for number in numbers if number), 0 in numbers
    )


Form = AsDict | AsVector | AsNumber
"""A way to put an observation: its space, and how to put one."""


@dataclass(frozen=True, slots=True)
class Observing:
    """How the product is observed: the view of the stack, and the form.

    >>> from pdrm.language.loading import catalogue
    >>> Observing(TopK(2), discrete=True).form(spaces.Discrete(4), catalogue("letter")).space
    Discrete(108)
    """

    view: View = TopK(1)
    depth: int | None = None
    """The places for a full stack; a higher one is an error."""
    flatten: bool = False
    """As one vector of float32."""
    discrete: bool = False
    """As one number."""
    keys: tuple[str, ...] | None = None
    """Which entries of an environment's dictionary are seen; None: all but texts."""
    float_images: bool = False
    """In a dictionary, images as float32."""

    def __post_init__(self) -> None:
        check_flag("flatten", self.flatten)
        check_flag("discrete", self.discrete)
        check_flag("float_images", self.float_images)

    def form(self, environment: spaces.Space[Any], machine: PushdownRewardMachine) -> Form:
        """The form for an environment's observations and a machine."""
        window = Window(machine, self.view, self.depth)
        if self.flatten and self.discrete:
            raise BadSetting(
                "an observation is flattened or numbered, not both", fix="leave one out"
            )
        if self.flatten or self.discrete:
            return (AsVector if self.flatten else AsNumber)(environment, window, self.keys)
        return AsDict(environment, window, self.keys, self.float_images)
