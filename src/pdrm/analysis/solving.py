"""Optimal play with the whole stack: the value and the optimal actions of every configuration, from finitely many numbers.

The summaries of a task (`product/summaries`) are operators, one for each environment state, machine state and top symbol, from which the value
with any stack is composed, however high it is. `find_solution` finds them for a finite domain whose moves are deterministic
(starts may be random) and any pushdown reward machine, with a proved error. The problem is the discounted one; a step limit is not part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from math import inf
from time import monotonic
from typing import Any

from pdrm.analysis.top_bounds import check_discount
from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain, StateLike
from pdrm.errors import (
    BadSetting,
    OutOfTime,
    PdrmError,
    UndefinedMove,
    UnknownConfiguration,
    did_you_mean,
)
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Symbols, Table, begin_table, step_table, tabulate
from pdrm.machines.transitions import Stack
from pdrm.product.summaries.operators import (
    HEIGHT,
    Size,
    Summaries,
    check_deterministic,
    rest_table,
    world_of,
)
from pdrm.task import Task

SECONDS = 60.0
"""How long solving may take."""
PRECISION = 1e-12
"""The error that is aimed at, as a share of the largest value there can be."""
MOST_SHOWN = 20
"""Starts that a notebook shows."""


@dataclass(frozen=True, slots=True)
class Begin:
    """How an episode may begin: its chance, what the machine pays before the first action, and the first configuration."""

    chance: float
    paid: float
    s: int
    u: str
    stack: Stack


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Solution:
    """Optimal values and actions, with the whole stack in view.

    >>> solution = find_solution(Task("maze-5x5"))
    >>> round(solution.value(0, "search", ("#",)), 3), solution.actions(0, "search", ("#",))
    (91356.433, ('d',))
    >>> solution.actions(3, "return", ("d", "d", "l", "#")), solution.error < 1e-4
    (('u',), True)
    """

    task: Task
    discount: float
    summaries: Summaries
    _table: Table
    _states: dict[str, int] = field(default_factory=dict)
    _symbols: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        """The value and the best actions at the start; how to ask about another state and stack.

        >>> print(repr(find_solution(Task("maze-5x5"))))
        <Solution of maze-5x5 with treasure-maze: value from the start 91356.4; best there: d.
        Another: .value(0, 'search', ('#',)), .actions(…), .action_values(…): state (number or name), machine state, stack (top first)>
        """
        head = f"<Solution of {self.task.name} with {self.machine.name}: value from the start {self.start_value:.6g}"
        if not self.begins:
            return f"{head}>"
        first = self.begins[0]
        best = " or ".join(self.actions(first.s, first.u, first.stack)) or "nothing"
        asked = f".value({first.s}, {first.u!r}, {first.stack!r}), .actions(…), .action_values(…)"
        return f"{head}; best there: {best}.\nAnother: {asked}: state (number or name), machine state, stack (top first)>"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, table

        first = f"{self.task.name} with machine {self.machine.name}, discount {self.discount:g}, no step limit"
        said = f"the optimal value from the start is {self.start_value:.6g} (proved error {self.error:.1e})"
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
        return html("p", first, html("br"), said) + table(heads, rows, [3])

    @property
    def domain(self) -> FiniteDomain:
        return self.task.finite

    @property
    def machine(self) -> PushdownRewardMachine:
        return self.task.pushdown

    def value(self, s: StateLike, u: str, stack: Stack) -> float:
        """The optimal value of a configuration: environment state (its number, its name, or its row and column), machine state, and stack (top first).

        Where silent moves are pending, what they pay counts.
        """
        place, state, symbols = self._number(s, u, stack)
        state, symbols, paid = rest_table(self._table, state, symbols)
        if state >= self._table.first_final or self.domain.arrays.terminal[place]:
            return paid
        return max(self.action_values(s, u, stack).values())

    def action_values(self, s: StateLike, u: str, stack: Stack) -> dict[str, float]:
        """The value of each action, and of acting optimally from then on; none where the episode is over.

        Where silent moves are pending, of those after them.

        >>> found = find_solution(Task("maze-5x5")).action_values(3, "return", ("d", "#"))
        >>> found["u"] > 0 > found["l"]
        True
        """
        place, state, symbols = self._number(s, u, stack)
        state, symbols, paid = rest_table(self._table, state, symbols)
        values = self.summaries.action_values(place, state, symbols)
        self._refuse_undefined()
        if None in values:
            label = int(self.summaries.world.label[place, values.index(None)])
            raise self._undefined(state, label, symbols[0] if symbols else 0)
        pairs = zip(self.domain.actions, values, strict=False)  # none where the episode is over
        return {name: paid + value for name, value in pairs if value is not None}

    def actions(self, s: StateLike, u: str, stack: Stack) -> tuple[str, ...]:
        """The optimal actions: all whose value is the greatest, as far as the proved error can tell.

        Every action that is optimal is among them; one that is worse by more than four times the error is not.
        """
        found = self.action_values(s, u, stack)
        close = 2 * self.error_at(len(stack) + self.summaries.silence.pushed)
        best = max(found.values(), default=0.0)
        return tuple(name for name, value in found.items() if value >= best - close)

    @property
    def error(self) -> float:
        """How far a value can be from the true one, with stacks of up to 1,000 symbols: proved, rounding included.

        It is the greatest difference that one move makes to any operator, over the whole range of what can be below, divided by 1 - γ; what was
        dropped within the tolerance is part of it (see `Summaries.error_at`, which has the proof).
        """
        return self.error_at(HEIGHT)

    def error_at(self, height: int) -> float:
        """The same for stacks of up to that height."""
        return self.summaries.error_at(height)

    @property
    def relative_error(self) -> float:
        """The error as a share of the largest value at a start; of 1 where all of these are smaller."""
        return self.error / max(
            1.0, *(abs(self.value(one.s, one.u, one.stack)) for one in self.begins)
        )

    @property
    def size(self) -> Size:
        """What is kept: entries, exits, lines, and all numbers together."""
        return self.summaries.size

    @property
    def begins(self) -> tuple[Begin, ...]:
        """The ways an episode may begin, with a chance above 0."""
        arrays = self.domain.arrays
        columns = (arrays.start_probability, arrays.start_state, arrays.start_label)
        found = []
        for chance, s, label in zip(*(column.tolist() for column in columns), strict=True):
            if chance > 0:
                state, symbols, paid = begin_table(self._table)
                if label != NO_LABEL and state < self._table.first_final:
                    after = step_table(self._table, state, symbols, label)
                    state, symbols, paid = after.state, after.stack, paid + after.reward
                stack = tuple(self.machine.stack[symbol - 1] for symbol in symbols)
                found.append(Begin(chance, paid, s, [*self._states][state], stack))
        return tuple(found)

    @property
    def start_value(self) -> float:
        """The value of an episode: over its starts, with what is paid before the first action."""
        begins = self.begins
        total = sum(one.chance for one in begins)
        worth = [one.chance * (one.paid + self.value(one.s, one.u, one.stack)) for one in begins]
        return sum(worth) / total

    def record(self) -> dict[str, Any]:
        """The solution at the starts as JSON values."""
        return {
            "domain": self.task.name,
            "machine": self.machine.name,
            "discount": self.discount,
            "value_from_start": self.start_value,
            "error": self.error,
            "relative_error": self.relative_error,
            "starts": [
                {
                    "chance": one.chance,
                    "paid": one.paid,
                    **self.record_at(one.s, one.u, one.stack),
                }
                for one in self.begins
            ],
            "size": self.size._asdict(),
        }

    def record_at(self, s: StateLike, u: str, stack: Stack) -> dict[str, Any]:
        """One configuration as JSON values."""
        s, *_ = self._number(s, u, stack)
        return {
            "s": s,
            "where": self.domain.describe(s),
            "state": u,
            "stack": list(stack),
            "value": self.value(s, u, stack),
            "error": self.error_at(len(stack)),
            "actions": list(self.actions(s, u, stack)),
            "action_values": self.action_values(s, u, stack),
        }

    # --- Numbers for names

    def find_state(self, called: StateLike) -> int:
        """The number of an environment state: by its number, its name as it is printed, or on a grid its row and column.

        >>> find_solution(Task("maze-5x5")).find_state("row 3, column 3"), find_solution(Task("maze-5x5")).find_state((3, 3))
        (7, 7)
        """
        if (
            isinstance(called, str)
            and called in self._states
            and called not in self.domain.state_names
        ):
            fix = f"it is a state of the machine: --in {called}; in Python the second argument"
            raise UnknownConfiguration(
                f"no state of `{self.domain.name}` is called `{called}`", fix=fix
            )
        return self.domain.find_state(called)

    def _number(self, s: StateLike, u: str, stack: Stack) -> tuple[int, int, Symbols]:
        place = self.find_state(s)
        if u not in self._states:
            fault = f"`{u}` is not a state of machine `{self.machine.name}`"
            raise UnknownConfiguration(fault, fix=did_you_mean(str(u), self._states))
        for symbol in stack:
            if symbol not in self._symbols:
                fault = f"`{symbol}` is not a stack symbol of machine `{self.machine.name}`"
                raise UnknownConfiguration(fault, fix=did_you_mean(str(symbol), self._symbols))
        return place, self._states[u], tuple(self._symbols[symbol] for symbol in stack)

    def _refuse_undefined(self) -> None:
        found = self.summaries.undefined
        if found is not None:
            label = int(self.summaries.world.label[found.place, found.action])
            raise self._undefined(found.state, label, found.symbol)

    def _undefined(self, state: int, label: int, symbol: int) -> UndefinedMove:
        top = (
            f"top {self.machine.stack[symbol - 1]}"
            if 0 < symbol <= len(self.machine.stack)
            else "this stack"
        )
        word = "+".join(sorted(self.domain.labels[label])) or "-"
        return UndefinedMove(
            f"the machine `{self.machine.name}` has no move for the label `{word}` in state `{[*self._states][state]}` with {top}",
            fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R`",
        )


def find_solution(
    chosen: Task,
    discount: float | None = None,
    precision: float = PRECISION,
    seconds: float | None = SECONDS,
) -> Solution:
    """Solve a task whose moves have no chance, without warnings; `product_solution.solve` is for everyone."""
    gamma = chosen.discount if discount is None else discount
    check_discount(gamma)
    if not 0 < precision < 1:
        raise BadSetting(
            f"the precision is {precision}", fix="use a number between 0 and 1, such as 1e-6"
        )
    if seconds is not None and not seconds > 0:
        raise BadSetting(
            f"the time is {seconds} seconds", fix="use a number above 0, or None for no limit"
        )
    domain, pushdown = chosen.finite, chosen.pushdown
    check_deterministic(domain)
    table = tabulate(pushdown, domain.labels)
    summaries = Summaries(world_of(domain.arrays), table, gamma, precision=precision)
    states = {state: number for number, state in enumerate((*pushdown.states, *pushdown.final))}
    symbols = {symbol: number for number, symbol in enumerate(pushdown.stack, start=1)}
    solution = Solution(chosen, gamma, summaries, table, states, symbols)
    summaries.until = inf if seconds is None else monotonic() + seconds
    try:
        for one in solution.begins:
            solution.value(one.s, one.u, one.stack)
    except TimeoutError:
        fault = f"`{chosen.name}` was not solved within {seconds:g} seconds"
        more = max(SECONDS, 10 * (seconds or 0.0))
        fix = f"allow more: seconds={more:g} (--seconds {more:g}), or have check_k (`pdrm check-k`) bound the value"
        raise OutOfTime(fault, fix=fix) from None
    summaries.until = inf
    return solution


# --- What solving costs, and the optimal value where it costs little

HEADS_PER_SECOND, HORIZON = 3_000, 100
"""How many combinations of environment state, machine state and symbol are solved in a second, carefully estimated, if what comes after so many
steps hardly counts; the farther one looks, the longer it takes."""
SOON = 3.0
"""Seconds that solving may take, by estimate and by the clock, so that what was learnt can be compared with the optimal value."""


def estimate_seconds(task: Task, discount: float) -> float:
    """The seconds that solving a task takes, about."""
    heads = task.finite.states * len(task.pushdown.states) * (len(task.pushdown.stack) + 1)
    return heads / HEADS_PER_SECOND / (1 - discount) / HORIZON


@cache
def compile_solver() -> None:
    """Have everything compiled that a solution and its proved error need, before a clock runs."""
    find_solution(Task("paint"), 0.9).record()


def find_optimal_value(task: Task, discount: float) -> float | None:
    """The optimal value from the start, with the whole stack in view and no step limit; None where it is not found in little time: moves are random, the
    domain is large or continuous, or what was learnt is tested elsewhere."""
    if (
        task.continuous
        or not 0 < discount < 1
        or task.finite.tests
        or estimate_seconds(task, discount) > SOON
    ):
        return None
    try:
        check_deterministic(task.finite)
        compile_solver()  # what is compiled once is not counted
        return find_solution(task, discount, seconds=SOON).start_value
    except (
        PdrmError
    ):  # random moves, one that is not defined, no pushdown machine of its own, or no time
        return None
