"""What an agent observes of the product: the environment's observation, the machine's state and the view of the stack.

In three forms: a dictionary, one flat vector (all but the environment's part one-hot), or one number for tables. All have a fixed
size, so they see the stack through a window of some places.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from pdrm.errors import BadSetting, CannotWrap, StackTooHigh
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Stack
from pdrm.product.views import FullStack, TopK, View


class Window:
    """The places of the stack that are seen, top first, and the numbers of what stands there (0: nothing).

    >>> from pdrm.language.loading import catalogue
    >>> window = Window(catalogue("letter"), TopK(3))
    >>> window.numbers(("A", "#")), window.state["u1"]
    ([2, 1, 0], 1)
    """

    def __init__(self, machine: PushdownRewardMachine, view: View, depth: int | None = None) -> None:
        match view:
            case TopK():
                if depth is not None:
                    raise BadSetting("`depth` bounds a full stack, and the view is TopK", fix="leave `depth` out")
                self.places = view.k
            case FullStack():
                if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
                    raise BadSetting(
                        f"a full stack has no bounded space: `depth` is {depth!r}, but must be a positive integer",
                        fix="say how high it may get: view=FullStack(), depth=32",
                    )
                self.places = depth
            case _:
                raise BadSetting(f"{view!r} is not a view of the stack", fix="use TopK(1), or FullStack() with a depth")
        self.whole = isinstance(view, FullStack)
        self.state = {state: number for number, state in enumerate((*machine.states, *machine.final))}
        self.symbol = {symbol: number for number, symbol in enumerate(machine.stack, start=1)}
        self.symbols = len(machine.stack) + 1
        """How many different things can stand at a place, nothing among them."""

    def numbers(self, stack: Stack) -> list[int]:
        """What stands at each place."""
        symbol, missing = self.symbol, self.places - len(stack)
        if missing > 0:
            return [symbol[name] for name in stack] + [0] * missing
        if missing < 0 and self.whole:
            raise StackTooHigh(
                f"the stack holds {len(stack)} symbols, and the observation has room for {self.places}",
                fix="give `wrap` a larger `depth`, or use TopK(k)",
            )
        return [symbol[name] for name in stack[: self.places]]


class AsDict:
    """`{"observation": …, "machine": number of the state, "stack": numbers}`; with no place seen, no `stack`.

    >>> from pdrm.language.loading import catalogue
    >>> form = AsDict(spaces.Discrete(16), Window(catalogue("letter"), TopK(1)))
    >>> form.put(7, "u0", ("A", "#"))
    {'observation': 7, 'machine': 0, 'stack': array([2])}
    """

    def __init__(self, environment: spaces.Space[Any], window: Window) -> None:
        parts = {"observation": environment, "machine": spaces.Discrete(len(window.state))}
        if window.places:
            parts["stack"] = spaces.MultiDiscrete([window.symbols] * window.places)
        self.space: spaces.Dict = spaces.Dict(list(parts.items()))
        self._window = window

    def put(self, observation: object, state: str, stack: Stack) -> Mapping[str, Any]:
        """One observation."""
        window = self._window
        seen: dict[str, Any] = {"observation": observation, "machine": window.state[state]}
        if window.places:
            seen["stack"] = np.array(window.numbers(stack))
        return seen


class AsVector:
    """One vector of float32: the environment's observation flattened as Gymnasium does, then one-hot state and symbols.

    >>> from pdrm.language.loading import catalogue
    >>> form = AsVector(spaces.Discrete(2), Window(catalogue("letter"), TopK(1)))
    >>> form.put(1, "u0", ("A", "#")).tolist()
    [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """

    def __init__(self, environment: spaces.Space[Any], window: Window) -> None:
        flat = spaces.flatten_space(environment) if environment.is_np_flattenable else None
        if not isinstance(flat, spaces.Box):
            raise CannotWrap(f"an observation of {environment} cannot be flattened", fix="leave `flatten` out")
        self._environment, self._window = environment, window
        # The commonest small environments observe one number, and Gymnasium takes 2 µs to make it one-hot.
        self._numbers = environment if isinstance(environment, spaces.Discrete) else None
        self._width = math.prod(flat.shape)
        self._stack_at = self._width + len(window.state)
        self._length = self._stack_at + window.symbols * window.places
        hot = np.zeros(self._length - self._width)
        low, high = np.concatenate([flat.low, hot]), np.concatenate([flat.high, hot + 1])
        self.space: spaces.Box = spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)

    def put(self, observation: Any, state: str, stack: Stack) -> npt.NDArray[np.float32]:  # noqa: ANN401 - any environment's
        """One observation."""
        window, vector = self._window, np.zeros(self._length, np.float32)
        if self._numbers is not None:
            vector[_number(self._numbers, observation)] = 1
        else:
            if isinstance(self._environment, spaces.MultiDiscrete) and not self._environment.contains(observation):
                raise _outside(self._environment, observation)  # Gymnasium would set another number's bit
            flat: Any = spaces.flatten(self._environment, observation)  # an array, because the flat space is a Box
            vector[: self._width] = flat
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

    def __init__(self, environment: spaces.Space[Any], window: Window) -> None:
        if not isinstance(environment, spaces.Discrete):
            raise CannotWrap(f"an observation of {environment} is not a number", fix="leave `discrete` out")
        count = int(environment.n) * len(window.state) * window.symbols**window.places
        if count >= 2**63:
            raise BadSetting(f"{count:.1e} observations cannot be numbered", fix="use a smaller k, or `flatten=True`")
        self.space: spaces.Discrete = spaces.Discrete(count)
        self._environment, self._window = environment, window

    def put(self, observation: Any, state: str, stack: Stack) -> int:  # noqa: ANN401 - an integer of any kind
        """One observation."""
        window = self._window
        number = _number(self._environment, observation) * len(window.state) + window.state[state]
        for symbol in window.numbers(stack) if window.places else ():
            number = number * window.symbols + symbol
        return number


def _number(environment: spaces.Discrete, observation: Any) -> int:  # noqa: ANN401 - an integer of any kind
    """An observation of a `Discrete` space, counted from 0; one outside of it would be taken for something else."""
    number = int(observation) - int(environment.start)
    if not 0 <= number < environment.n:
        raise _outside(environment, observation)
    return number


def _outside(environment: spaces.Space[Any], observation: object) -> CannotWrap:
    fix = "let the environment observe what its space says, or leave `flatten` and `discrete` out"
    return CannotWrap(f"the observation {str(observation)[:60]} is not in the environment's {environment}", fix=fix)


Form = AsDict | AsVector | AsNumber
"""A way to put an observation: its space, and how to put one."""


@dataclass(frozen=True, slots=True)
class Observing:
    """How the product is observed: the view of the stack, and the form.

    >>> from pdrm.language.loading import catalogue
    >>> Observing(TopK(2), discrete=True).form(spaces.Discrete(4), catalogue("letter")).space
    Discrete(108)
    """

    view: View = TopK(1)  # noqa: RUF009 - frozen
    depth: int | None = None
    """The places for a full stack; a higher one is an error."""
    flatten: bool = False
    """As one vector of float32."""
    discrete: bool = False
    """As one number."""

    def form(self, environment: spaces.Space[Any], machine: PushdownRewardMachine) -> Form:
        """The form for an environment's observations and a machine."""
        window = Window(machine, self.view, self.depth)
        if self.flatten and self.discrete:
            raise BadSetting("an observation is flattened or numbered, not both", fix="leave one out")
        form = AsVector if self.flatten else AsNumber if self.discrete else AsDict
        return form(environment, window)
