"""Optimal play with the whole stack: the value and the optimal actions of every configuration.

`find_solution` takes a finite domain whose moves are deterministic (its starts may be random) and any
pushdown reward machine. It finds the operators of `whole_stack`, from which the value with any
stack is composed, with a proved error. The problem is the discounted one, without a step limit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from pdrm.analysis.top_bounds import check_discount
from pdrm.analysis.whole_stack import (
    HEIGHT,
    Size,
    WholeStack,
    check_deterministic,
    measure_silence,
    rest,
    world_of,
)
from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain, StateLike
from pdrm.errors import (
    BadSetting,
    OutOfTime,
    PdrmError,
    UnboundedStep,
    UndefinedMove,
    UnknownConfiguration,
    did_you_mean,
)
from pdrm.machines.guards import label_text
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Symbols, Table, begin_table, step_table, tabulate
from pdrm.machines.transitions import Stack
from pdrm.product.finite_kernel import Floats
from pdrm.task import Task

SECONDS = 60.0
"""The time limit of solving."""
PRECISION = 1e-12
"""The error that is aimed at, as a share of the largest value there can be."""
USELESS = 0.01
"""An error is an error message if it is a larger share of the values and rewards than this."""
MOST_SHOWN = 20
"""Starts that a notebook shows."""
SOON = 3.0
"""Seconds for solving a task just to compare what was learnt with the optimal value."""


@dataclass(frozen=True, slots=True)
class Begin:
    """A way in which an episode may begin."""

    chance: float
    paid: float
    """The machine's reward before the first action."""
    s: int
    u: str
    stack: Stack


@dataclass(frozen=True, eq=False, repr=False)
class TaskSolution(ABC):
    """Optimal values and actions of a task's configurations, with a proved error."""

    task: Task
    discount: float

    @property
    @abstractmethod
    def table(self) -> Table:
        """The machine's moves."""

    @property
    @abstractmethod
    def error(self) -> float:
        """A proved bound of the error of a value."""

    @abstractmethod
    def error_at(self, height: int) -> float:
        """The same for stacks of up to that height."""

    @abstractmethod
    def measure(self) -> dict[str, int]:
        """The numbers that are kept, by name."""

    @abstractmethod
    def _find_values(self, place: int, state: int, symbols: Symbols) -> Floats:
        """[action]: the values at a configuration in which an action is to be taken."""

    @property
    def domain(self) -> FiniteDomain:
        return self.task.finite

    @property
    def machine(self) -> PushdownRewardMachine:
        return self.task.pushdown

    def value(self, s: StateLike, u: str, stack: Stack) -> float:
        """The optimal value of a configuration, with what pending silent moves pay.

        Args:
            s: The environment state: its number, its name, or its row and column.
            u: The machine state.
            stack: The stack, top first.
        """
        found = self.action_values(s, u, stack)
        return max(found.values()) if found else self._rest(s, u, stack)[3]

    def action_values(self, s: StateLike, u: str, stack: Stack) -> dict[str, float]:
        """The value of each action, if one acts optimally from then on; none if the episode is over.

        If silent moves are pending, these come first.

        >>> found = find_solution(Task("maze-5x5")).action_values(3, "return", ("d", "#"))
        >>> found["u"] > 0 > found["l"]
        True
        """
        place, state, symbols, paid = self._rest(s, u, stack)
        if state >= self.table.first_final or self.domain.arrays.terminal[place]:
            return {}
        values = self._find_values(place, state, symbols).tolist()
        return {name: paid + value for name, value in zip(self.domain.actions, values, strict=True)}

    def actions(self, s: StateLike, u: str, stack: Stack) -> tuple[str, ...]:
        """The optimal actions: all whose value is the greatest, as far as the proved error can tell.

        Every optimal action is among them; one that is worse by more than four times the error is
        not.
        """
        found = self.action_values(s, u, stack)
        close = 2 * self.error_at(len(stack) + measure_silence(self.table).pushed)
        best = max(found.values(), default=0.0)
        return tuple(name for name, value in found.items() if value >= best - close)

    @property
    def relative_error(self) -> float:
        """The error as a share of the largest value at a start, or of 1 if these are smaller."""
        values = [abs(self.value(one.s, one.u, one.stack)) for one in self.begins]
        return self.error / max(1.0, *values)

    @cached_property
    def begins(self) -> tuple[Begin, ...]:
        """The ways an episode may begin, with a chance above 0."""
        arrays = self.domain.arrays
        columns = (arrays.start_probability, arrays.start_state, arrays.start_label)
        found = []
        for chance, s, label in zip(*(column.tolist() for column in columns), strict=True):
            if chance > 0:
                state, symbols, paid = begin_table(self.table)
                if label != NO_LABEL and state < self.table.first_final:
                    after = step_table(self.table, state, symbols, label)
                    state, symbols, paid = after.state, after.stack, paid + after.reward
                stack = tuple(self.machine.stack[symbol - 1] for symbol in symbols)
                name = (*self.machine.states, *self.machine.final)[state]
                found.append(Begin(chance, paid, s, name, stack))
        return tuple(found)

    @property
    def start_value(self) -> float:
        """The value of an episode over its starts, with what is paid before the first action."""
        begins = self.begins
        total = sum(one.chance for one in begins)
        worth = [one.chance * (one.paid + self.value(one.s, one.u, one.stack)) for one in begins]
        return sum(worth) / total

    def record(self) -> dict[str, Any]:
        """The solution at the starts as JSON values."""
        starts = [
            {"chance": one.chance, "paid": one.paid, **self.record_at(one.s, one.u, one.stack)}
            for one in self.begins
        ]
        return {
            "domain": self.task.name,
            "machine": self.machine.name,
            "discount": self.discount,
            "value_from_start": self.start_value,
            "error": self.error,
            "relative_error": self.relative_error,
            "starts": starts,
            "size": self.measure(),
        }

    def record_at(self, s: StateLike, u: str, stack: Stack) -> dict[str, Any]:
        """One configuration as JSON values."""
        place = self.find_state(s)
        return {
            "s": place,
            "where": self.domain.describe(place),
            "state": u,
            "stack": list(stack),
            "value": self.value(place, u, stack),
            "error": self.error_at(len(stack)),
            "actions": list(self.actions(place, u, stack)),
            "action_values": self.action_values(place, u, stack),
        }

    # --- Numbers for names

    def find_state(self, called: StateLike) -> int:
        """The number of an environment state, given by number, name, or row and column.

        >>> find_solution(Task("maze-5x5")).find_state("row 3, column 3"), find_solution(Task("maze-5x5")).find_state((3, 3))
        (7, 7)
        """
        if called in self._states and called not in self.domain.state_names:
            raise UnknownConfiguration(
                f"no state of `{self.domain.name}` is called `{called}`",
                fix="it is a state of the machine, which is another argument",
            )
        return self.domain.find_state(called)

    @cached_property
    def _states(self) -> dict[str, int]:
        names = (*self.machine.states, *self.machine.final)
        return {name: number for number, name in enumerate(names)}

    @cached_property
    def _symbols(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.machine.stack, start=1)}

    def _rest(self, s: StateLike, u: str, stack: Stack) -> tuple[int, int, Symbols, float]:
        """A configuration in numbers, after its silent moves, and what these pay."""
        place = self.find_state(s)
        if u not in self._states:
            fault = f"`{u}` is not a state of machine `{self.machine.name}`"
            raise UnknownConfiguration(fault, fix=did_you_mean(str(u), self._states))
        for symbol in stack:
            if symbol not in self._symbols:
                fault = f"`{symbol}` is not a stack symbol of machine `{self.machine.name}`"
                raise UnknownConfiguration(fault, fix=did_you_mean(str(symbol), self._symbols))
        symbols = tuple(self._symbols[symbol] for symbol in stack)
        return (place, *rest(self.table, self._states[u], symbols))


@dataclass(frozen=True, eq=False, repr=False)
class Solution(TaskSolution):
    """Optimal values and actions, with the whole stack in view.

    >>> solution = find_solution(Task("maze-5x5"))
    >>> round(solution.value(0, "search", ("#",)), 3), solution.actions(0, "search", ("#",))
    (91356.433, ('d',))
    >>> solution.actions(3, "return", ("d", "d", "l", "#")), solution.error < 1e-4
    (('u',), True)
    """

    solver: WholeStack

    def __repr__(self) -> str:
        """The value and the best actions at the start, and how to ask about another state and stack.

        >>> print(repr(find_solution(Task("maze-5x5"))))
        <Solution of maze-5x5 with treasure-maze: value from the start 91356.4; best there: d.
        Another: .value(0, 'search', ('#',)), .actions(…), .action_values(…): state (number or name), machine state, stack (top first)>
        """
        head = (
            f"<Solution of {self.task.name} with {self.machine.name}:"
            f" value from the start {self.start_value:.6g}"
        )
        if not self.begins:
            return f"{head}>"
        first = self.begins[0]
        best = " or ".join(self.actions(first.s, first.u, first.stack)) or "nothing"
        asked = f".value({first.s}, {first.u!r}, {first.stack!r}), .actions(…), .action_values(…)"
        arguments = "state (number or name), machine state, stack (top first)"
        return f"{head}; best there: {best}.\nAnother: {asked}: {arguments}>"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, table

        first = (
            f"{self.task.name} with machine {self.machine.name},"
            f" discount {self.discount:g}, no step limit"
        )
        value = f"the optimal value from the start is {self.start_value:.6g}"
        rows = [
            [
                self.domain.describe(one.s),
                one.u,
                " ".join(one.stack),
                f"{self.value(one.s, one.u, one.stack):.6g}",
                " or ".join(self.actions(one.s, one.u, one.stack)) or "nothing",
            ]
            for one in self.begins[:MOST_SHOWN]
        ]
        heads = ["start", "machine", "stack", "value", "best actions"]
        said = html("p", first, html("br"), f"{value} (proved error {self.error:.1e})")
        return said + table(heads, rows, [3])

    @property
    def error(self) -> float:
        """A proved bound of the error of a value, with stacks of up to 1,000 symbols.

        Dropped lines and rounding are part of it; `WholeStack.error_at` has the proof.
        """
        return self.error_at(HEIGHT)

    def error_at(self, height: int) -> float:
        """The same for stacks of up to that height."""
        return self.solver.error_at(height)

    @property
    def size(self) -> Size:
        """The numbers that are kept: entries, exits, lines, and all together."""
        return self.solver.size

    @property
    def table(self) -> Table:
        return self.solver.table

    def measure(self) -> dict[str, int]:
        return self.size._asdict()

    def _find_values(self, place: int, state: int, symbols: Symbols) -> Floats:
        values = self.solver.action_values(place, state, symbols)
        missing = self.solver.undefined
        if missing is not None:
            raise self._undefined(missing.state, missing.place, missing.action, missing.symbol)
        for action in np.flatnonzero(np.isnan(values)).tolist():
            raise self._undefined(state, place, action, symbols[0] if symbols else 0)
        return values

    def _undefined(self, state: int, place: int, action: int, symbol: int) -> UndefinedMove:
        label = self.domain.labels[int(self.solver.world.label[place, action])]
        top = f"top {self.machine.stack[symbol - 1]}" if symbol else "an empty stack"
        return UndefinedMove(
            f"the machine `{self.machine.name}` has no move for the label"
            f" `{label_text(label)}` in state `{[*self._states][state]}` with {top}",
            fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R`",
        )


def find_solution(
    chosen: Task,
    discount: float | None = None,
    precision: float = PRECISION,
    seconds: float | None = SECONDS,
) -> Solution:
    """Solve a task whose moves have no chance; `product_solution.solve` is for everyone."""
    gamma = chosen.discount if discount is None else discount
    check_discount(gamma)
    if not 0 < precision < 1:
        raise BadSetting(
            f"the precision is {precision}", fix="use a number between 0 and 1, such as 1e-6"
        )
    if seconds is not None and not seconds > 0:
        raise BadSetting(f"the time is {seconds} seconds", fix="use a number above 0, such as 60")
    check_deterministic(chosen.finite)
    table = tabulate(chosen.pushdown, chosen.finite.labels)
    solver = WholeStack(world_of(chosen.finite.arrays), table, gamma, precision=precision)
    solution = Solution(chosen, gamma, solver)
    solver.until = inf if seconds is None else monotonic() + seconds
    try:
        for one in solution.begins:
            solution.value(one.s, one.u, one.stack)
    except TimeoutError:
        fault = f"`{chosen.name}` was not solved within {seconds:g} seconds"
        more = max(SECONDS, 10 * (seconds or 0.0))
        fix = f"allow more: seconds={more:g}, or have check_k bound the value"
        raise OutOfTime(fault, fix=fix) from None
    solver.until = inf
    values = [abs(solution.value(one.s, one.u, one.stack)) for one in solution.begins]
    scale = max(1.0, solver.largest_paid, *values)
    if solution.error > max(USELESS * scale, precision * solver.largest):
        raise UnboundedStep(
            f"the values of `{chosen.name}` are known to ± {solution.error:.2g} only: silent moves"
            " are paid again and again",
            fix="pay in the rules that read a label, or use a smaller discount",
        )
    return solution


@lru_cache(maxsize=100)
def find_optimal_value(task: Task, discount: float) -> float | None:
    """The optimal value from the start, with the whole stack in view and no step limit.

    None if it is not found in little time: moves are random, the domain is large or continuous, or
    what was learnt is tested elsewhere.
    """
    if not isinstance(task.domain, FiniteDomain) or task.domain.tests or not 0 < discount < 1:
        return None
    try:
        compile_solver()  # which takes time, but once
        return find_solution(task, discount, seconds=SOON).start_value
    except PdrmError:
        return None


HEADS_PER_SECOND, HORIZON = 3_000, 100


def estimate_seconds(task: Task, discount: float) -> float:
    """The seconds that solving a task takes, about."""
    heads = task.finite.states * len(task.pushdown.states) * (len(task.pushdown.stack) + 1)
    return heads / HEADS_PER_SECOND / (1 - discount) / HORIZON


@cache
def compile_solver() -> None:
    """Have everything compiled that a solution needs, before a clock runs."""
    find_solution(Task("paint"), 0.9).record()
