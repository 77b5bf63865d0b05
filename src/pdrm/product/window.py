"""The window on the stack that an observation of fixed size has: so many places, and numbers for what stands there."""

from __future__ import annotations

from pdrm.errors import BadSetting, StackTooHigh
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transition import Stack
from pdrm.product.view import FullStack, TopK, View


class Window:
    """The places of the stack that are seen, top first, and the numbers of what stands there (0: nothing).

    >>> from pdrm.machines.catalogue import catalogue
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
                        f"a full stack has no bounded space: `depth` is {depth!r}, but must be a whole number from 1 on",
                        fix="say how high it may get: view=FullStack(), depth=32",
                    )
                self.places = depth
            case _:
                raise BadSetting(f"{view!r} is no view of the stack", fix="use TopK(1), or FullStack() with a depth")
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
