"""Optimal play with the whole stack: the value and the optimal actions of every configuration, with a proved error.

If moves have no chance (starts may be random), the operators of `whole_stack` give the value with any stack. Else the finite
product is solved, if finitely many configurations can be reached. The problem is the discounted one, without a step limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.top_bounds import check_discount, measure_silence
from pdrm.analysis.value_iteration import bound_values, find_action_values
from pdrm.analysis.whole_stack import (
    HEIGHT,
    UndefinedHead,
    WholeStack,
    check_deterministic,
    world_of,
)
from pdrm.domains.finite_domain import FiniteDomain, StateLike
from pdrm.errors import (
    BadSetting,
    OutOfTime,
    PdrmError,
    StochasticMoves,
    UnboundedStep,
    UndefinedMove,
    UnknownConfiguration,
    did_you_mean,
)
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import (
    Symbols,
    TableStep,
    begin_table,
    run_silent_table,
    tabulate,
)
from pdrm.machines.transitions import Configuration, Stack
from pdrm.product.finite_kernel import FiniteProduct, Floats
from pdrm.product.task_findings import warn_of_tasks
from pdrm.task import DomainLike, MachineLike, Task

SECONDS = 60.0
"""The time limit of solving."""
PRECISION = 1e-12
"""The error that is aimed at, as a share of the largest value there can be."""
USELESS = 0.01
"""An error is an error message if it is a larger share of the values and rewards than this."""
MAX_STATES = 1_000_000
MAX_SHOWN = 20
"""Configurations in a table."""
SOON = 3.0
"""Seconds for solving a task just to compare what was learnt with the optimal value."""


class Begin(NamedTuple):
    """A way in which an episode may begin."""

    chance: float
    paid: float
    """The machine's reward before the first action."""
    s: int
    u: str
    stack: Stack


class SolvedProduct:
    """Values of all configurations that can be reached, if these are finitely many."""

    undefined: UndefinedHead | None = None

    def __init__(self, product: FiniteProduct, discount: float, deadline: Deadline) -> None:
        self.product, self.table, self.discount = product, product.table, discount
        self.silence = measure_silence(product.table)
        self.size = {"states": len(product)}
        bounds = bound_values(product, discount, 1e-12, deadline)
        self._value = (bounds.lower + bounds.upper) / 2
        self._error = bounds.width / 2 + bounds.slack

    def error_at(self, height: int) -> float:
        """The proved error of every value, rounding included."""
        return self._error

    def action_values(self, env_state: int, state: int, symbols: Symbols) -> Floats:
        """[action]: the value of each."""
        product = self.product
        alike = (product.env_state == env_state) & (product.states.state[: len(product)] == state)
        for x in np.flatnonzero(alike).tolist():
            if product.stacks.stack_of(int(product.states.node[x])) == symbols:
                found = find_action_values(product, self.discount, self._value, np.array([x]))
                values: Floats = found[0]
                return values
        raise UnknownConfiguration(
            "this configuration cannot be reached",
            fix="with chance, only configurations that can be reached are solved",
        )


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    r"""Optimal values and actions, with the whole stack in view.

    >>> solution = solve("maze-5x5")
    >>> round(solution.value(0, "search", ("#",)), 3), solution.actions(0, "search", ("#",))
    (91356.433, ('d',))
    >>> solution.actions(3, "return", ("d", "d", "l", "#")), solution.error < 1e-4
    (('u',), True)
    >>> from pdrm.domains.finite_domain import from_arrays
    >>> coin = from_arrays("coin", [[[0, 0]]], [[[0, 1]]], [("a",), ("b",)], step_limit=9, probability=[[[0.5, 0.5]]])
    >>> machine = "name m\nevents a b\nstack #\nstart u\nfinal done\notherwise stay 0\nu -> done : b, # / #, 1\n"
    >>> round(solve(coin, machine, discount=0.5).start_value, 9)
    0.666666667
    """

    task: Task
    discount: float
    solver: WholeStack | SolvedProduct

    def __repr__(self) -> str:
        task = f"{self.task.name} with {self.machine.name}"
        return f"<Solution of {task}: value from the start {self.start_value:.6g}>"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, table

        first, second = self.headlines
        heads, *rows = self.list_cells(self.record()["starts"])
        return html("p", first, html("br"), second) + table(heads, rows, [heads.index("value")])

    @property
    def domain(self) -> FiniteDomain:
        return self.task.finite

    @property
    def machine(self) -> PushdownRewardMachine:
        return self.task.pushdown

    @property
    def error(self) -> float:
        """A proved bound of the error of a value, with stacks of up to 1,000 symbols.

        Dropped lines and rounding are part of it; `WholeStack.error_at` has the proof.
        """
        return self.error_at(HEIGHT)

    def error_at(self, height: int) -> float:
        """The same for stacks of up to that height."""
        return self.solver.error_at(height)

    def value(self, s: StateLike, u: str, stack: Stack) -> float:
        """The optimal value of a configuration, with what pending silent moves pay.

        Args:
            s: The environment state: its number, its name, or its row and column.
            u: The machine state.
            stack: The stack, top first.
        """
        found = self.action_values(s, u, stack)
        return max(found.values()) if found else self._settle(u, stack).reward

    def action_values(self, s: StateLike, u: str, stack: Stack) -> dict[str, float]:
        """The value of each action, if one acts optimally from then on; none if the episode is over.

        If silent moves are pending, these come first.

        >>> found = solve("maze-5x5").action_values(3, "return", ("d", "#"))
        >>> found["u"] > 0 > found["l"]
        True
        """
        env_state, (state, symbols, paid) = self.domain.find_state(s), self._settle(u, stack)
        if state >= self.solver.table.first_final or self.domain.arrays.terminal[env_state]:
            return {}
        values = self.solver.action_values(env_state, state, symbols)
        missing = self.solver.undefined
        for action in np.flatnonzero(np.isnan(values)).tolist():
            missing = missing or UndefinedHead(
                env_state, state, symbols[0] if symbols else 0, action
            )
        if missing is not None:
            raise self._undefined(missing)
        names = self.domain.actions
        return {name: paid + value for name, value in zip(names, values.tolist(), strict=True)}

    def actions(self, s: StateLike, u: str, stack: Stack) -> tuple[str, ...]:
        """The optimal actions: all whose value is the greatest, as far as the proved error can tell.

        Every optimal action is among them; one that is worse by more than four times the error is
        not.
        """
        found = self.action_values(s, u, stack)
        close = 2 * self.error_at(len(stack) + self.solver.silence.pushed)
        best = max(found.values(), default=0.0)
        return tuple(name for name, value in found.items() if value >= best - close)

    # --- From the start

    @cached_property
    def begins(self) -> tuple[Begin, ...]:
        """The ways an episode may begin, with a chance above 0."""
        arrays = self.domain.arrays
        columns = (arrays.start_probability, arrays.start_state, arrays.start_label)
        found = []
        for chance, s, label in zip(*(column.tolist() for column in columns), strict=True):
            if chance > 0:
                state, symbols, paid = begin_table(self.solver.table, label)
                stack = tuple(self.machine.stack[symbol - 1] for symbol in symbols)
                found.append(Begin(chance, paid, s, self._states[state], stack))
        return tuple(found)

    @property
    def start_value(self) -> float:
        """The value of an episode over its starts, with what is paid before the first action."""
        total = sum(one.chance for one in self.begins)
        worth = [one.chance * (one.paid + self.value(*one[2:])) for one in self.begins]
        return sum(worth) / total

    @property
    def _largest_value(self) -> float:
        """The largest value at a start, or 1 if these are smaller."""
        return max([1.0, *(abs(self.value(*one[2:])) for one in self.begins)])

    def record(self) -> dict[str, Any]:
        """The solution at the starts as JSON values."""
        starts = [
            {"chance": one.chance, "paid": one.paid, **self.record_at(*one[2:])}
            for one in self.begins
        ]
        return {
            "domain": self.task.name,
            "machine": self.machine.name,
            "discount": self.discount,
            "value_from_start": self.start_value,
            "error": self.error,
            "relative_error": self.error / self._largest_value,
            "starts": starts,
            "size": self.solver.size,
        }

    def record_at(self, s: StateLike, u: str, stack: Stack) -> dict[str, Any]:
        """One configuration as JSON values."""
        env_state = self.domain.find_state(s)
        return {
            "s": env_state,
            "where": self.domain.describe(env_state),
            "state": u,
            "stack": list(stack),
            "value": self.value(env_state, u, stack),
            "error": self.error_at(len(stack)),
            "actions": list(self.actions(env_state, u, stack)),
            "action_values": self.action_values(env_state, u, stack),
        }

    # --- For people

    @property
    def headlines(self) -> tuple[str, str]:
        """The task, and the value from the start."""
        task = f"{self.task.name} with machine {self.machine.name}, discount {self.discount:g}"
        share = self.error / self._largest_value
        return (
            f"{task}, no step limit (the domain's is {self.domain.step_limit:,})",
            f"value from the start {spell_value(self.start_value)},"
            f" proved to ± {self.error:.2g} ({share:.1g} of it)",
        )

    def list_cells(self, places: list[dict[str, Any]]) -> list[list[str]]:
        """Some recorded configurations as a table: its heads, and a row for each of the first."""
        from pdrm.drawing.trace import write_stack

        rows = [
            [
                f"{one['s']} ({one['where']})",
                one["state"],
                write_stack(one["stack"]),
                spell_value(one["value"]),
                " or ".join(one["actions"]) or "(the episode is over)",
            ]
            for one in places[:MAX_SHOWN]
        ]
        return [["state", "machine", "stack", "value", "best actions"], *rows]

    # --- Numbers for names

    @cached_property
    def _states(self) -> tuple[str, ...]:
        return (*self.machine.states, *self.machine.final)

    def _settle(self, u: str, stack: Stack) -> TableStep:
        """The machine in numbers, after its silent moves, and what these pay."""
        machine = self.machine
        state = self._find_name("state", u, self._states)
        symbols = (1 + self._find_name("stack symbol", one, machine.stack) for one in stack)
        return run_silent_table(self.solver.table, state, tuple(symbols))

    def _find_name(self, kind: str, name: str, names: tuple[str, ...]) -> int:
        if name not in names:
            fault = f"`{name}` is not a {kind} of machine `{self.machine.name}`"
            raise UnknownConfiguration(fault, fix=did_you_mean(str(name), names))
        return names.index(name)

    def _undefined(self, missing: UndefinedHead) -> UndefinedMove:
        arrays = self.domain.arrays
        outcome = arrays.probability[missing.env_state, missing.action].argmax()
        label = self.domain.labels[arrays.label[missing.env_state, missing.action, outcome]]
        top = self.machine.stack[missing.symbol - 1 : missing.symbol]
        return self.machine.undefined_move(label, Configuration(self._states[missing.state], top))


def spell_value(value: float) -> str:
    """A value for people; large ones to three digits after the point."""
    return f"{value:,.6g}" if abs(value) < 1000 else f"{value:,.3f}"


# --- Solving


def solve(
    task: Task | DomainLike,
    machine: MachineLike | None = None,
    *,
    discount: float | None = None,
    precision: float = PRECISION,
    seconds: float | None = SECONDS,
) -> Solution:
    """Solve a task: optimal values and actions with the whole stack in view, with a proved error.

    Without chance the stack may be any; with chance, the configurations that can be reached must be finitely many.
    A step limit is not part of the problem.

    Args:
        task: A `Task`, or a finite domain.
        machine: The machine, unless the domain comes with one.
        discount: γ (default: the task's).
        precision: The error to aim at, as a share of the largest value.
        seconds: The time limit; then `OutOfTime` is raised (None for no limit).

    Example:
        >>> solution = solve("paint", discount=0.9)
        >>> round(solution.value(0, "ask", ("stain", "stain", "#")), 9), solution.actions(0, "ask", ("stain", "stain", "#"))
        (-0.666666667, ('ask_2',))
    """
    chosen = task if isinstance(task, Task) and machine is None else Task(task, machine)
    warn_of_tasks(chosen)
    compile_solver()
    try:
        return find_solution(chosen, discount, precision, seconds)
    except StochasticMoves:
        gamma, deadline = chosen.discount if discount is None else discount, Deadline(seconds)
        product = FiniteProduct(chosen.finite, chosen.pushdown)
        product.explore(max_states=MAX_STATES)
        if product.frontier.size:
            raise
        return Solution(chosen, gamma, SolvedProduct(product, gamma, deadline))


def find_solution(
    task: Task,
    discount: float | None = None,
    precision: float = PRECISION,
    seconds: float | None = SECONDS,
) -> Solution:
    """Solve a task whose moves have no chance, by its operators."""
    gamma = task.discount if discount is None else discount
    check_discount(gamma)
    if not 0 < precision < 1:
        raise BadSetting(
            f"the precision is {precision}", fix="use a number between 0 and 1, such as 1e-6"
        )
    if seconds is not None and not seconds > 0:
        raise BadSetting(f"the time is {seconds} seconds", fix="use a number above 0, such as 60")
    check_deterministic(task.finite)
    table = tabulate(task.pushdown, task.finite.labels)
    solver = WholeStack(world_of(task.finite.arrays), table, gamma, precision=precision)
    solution = Solution(task, gamma, solver)
    solver.deadline = Deadline(seconds)
    try:
        largest = solution._largest_value
    except TimeoutError:
        fault = f"`{task.name}` was not solved within {seconds:g} seconds"
        more = max(SECONDS, 10 * (seconds or 0.0))
        fix = f"allow more: seconds={more:g}, or have check_k bound the value"
        raise OutOfTime(fault, fix=fix) from None
    solver.deadline = Deadline()
    scale = max(largest, solver.largest_paid)
    if solution.error > max(USELESS * scale, precision * solver.largest):
        raise UnboundedStep(
            f"the values of `{task.name}` are known to ± {solution.error:.2g} only: silent moves"
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


@cache
def compile_solver() -> None:
    """Have everything compiled that a solution needs, before a clock runs."""
    find_solution(Task("paint"), 0.9, seconds=None).record()
