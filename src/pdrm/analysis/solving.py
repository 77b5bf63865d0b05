"""Optimal values and actions for policies that see the whole stack, with a proved error.

If moves are deterministic (starts can be random), the operators of `whole_stack` give the value
with any stack. Otherwise the finite product is solved, if finitely many configurations are
reachable. The problem is the discounted one, without a step limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.top_bounds import bound_silent_moves, check_discount
from pdrm.analysis.value_iteration import bound_values, find_action_values
from pdrm.analysis.whole_stack import (
    PROVED_HEIGHT,
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
"""The default time limit."""
PRECISION = 1e-12
"""The default error to aim at, as a share of the largest possible value."""
MAX_RELATIVE_ERROR = 0.01
"""A solution with a larger error, as a share of the values and rewards, is refused."""
MAX_STATES = 1_000_000
MAX_SHOWN = 20
"""Configurations in a table."""
COMPARISON_SECONDS = 3.0
"""The time limit for the optimal value with which learnt returns are compared."""
MAX_COMPARISON_STATES = 20_000
"""The limit of reachable configurations for that, in stochastic tasks."""


class SolvedStart(NamedTuple):
    """The first decision of an episode, with its probability."""

    chance: float
    paid: float
    """The machine's reward before the first action."""
    s: int
    u: str
    stack: Stack


class SolvedProduct:
    """Values of all reachable configurations, if these are finitely many."""

    undefined: UndefinedHead | None = None

    def __init__(
        self, product: FiniteProduct, discount: float, precision: float, deadline: Deadline
    ) -> None:
        self.product = product
        self.table = product.table
        self.discount = discount
        self.silent_moves = bound_silent_moves(product.table)
        self.size = {"states": len(product)}
        bounds = bound_values(product, discount, precision, deadline)
        self._value = (bounds.lower + bounds.upper) / 2
        self._error = bounds.width / 2 + bounds.slack

    def error_at(self, height: int) -> float:
        """The proved error of every value, rounding included."""
        return self._error

    def action_values(self, env_state: int, state: int, symbols: Symbols) -> Floats:
        """[action]: its value."""
        product = self.product
        states = product.states.state[: len(product)]
        for x in np.flatnonzero((product.env_state == env_state) & (states == state)).tolist():
            if product.stacks.stack_of(int(product.states.node[x])) == symbols:
                q = find_action_values(product, self.discount, self._value, np.array([x]))
                values: Floats = q[0]
                return values
        raise UnknownConfiguration(
            "this configuration cannot be reached",
            fix="stochastic tasks are solved for reachable configurations only",
        )


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    r"""Optimal values and actions for policies that see the whole stack.

    >>> solution = solve("maze-5x5")
    >>> round(solution.value(0, "search", ("#",)), 3), solution.actions(0, "search", ("#",))
    (91356.433, ('d',))
    >>> solution.actions(3, "return", ("d", "d", "l", "#")), solution.error < 1e-4
    (('u',), True)
    >>> from pdrm.domains.finite_domain import from_arrays
    >>> coin = from_arrays(
    ...     "coin", [[[0, 0]]], [[[0, 1]]], [("a",), ("b",)], step_limit=9,
    ...     probability=[[[0.5, 0.5]]],
    ... )
    >>> machine = "events a b\nstack #\nstart u\nfinal f\notherwise stay 0\nu -> f : b, # / #, 1"
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
        headings, *rows = self.list_cells(self.record()["starts"])
        head = html("p", first, html("br"), second)
        return head + table(headings, rows, [headings.index("value")])

    @property
    def domain(self) -> FiniteDomain:
        return self.task.finite

    @property
    def machine(self) -> PushdownRewardMachine:
        return self.task.pushdown

    @property
    def error(self) -> float:
        """A proved bound on the error of values with stacks of up to 1,000 symbols.

        It includes dropped lines and rounding (proof: `WholeStack.error_at`).
        """
        return self.error_at(PROVED_HEIGHT)

    def error_at(self, height: int) -> float:
        """A proved bound on the error of values with stacks of up to this height."""
        return self.solver.error_at(height)

    def value(self, s: StateLike, u: str, stack: Stack) -> float:
        """The optimal value of a configuration, including the rewards of pending silent moves.

        Args:
            s: The environment state: its number, its name, or its row and column.
            u: The machine state.
            stack: The stack, top first.
        """
        values = self.action_values(s, u, stack)
        return max(values.values()) if values else self._run_silent_moves(u, stack).reward

    def action_values(self, s: StateLike, u: str, stack: Stack) -> dict[str, float]:
        """The value of each action, followed by optimal ones; empty if the episode is over.

        Pending silent moves are made first.

        >>> values = solve("maze-5x5").action_values(3, "return", ("d", "#"))
        >>> values["u"] > 0 > values["l"]
        True
        """
        env_state = self.domain.find_state(s)
        state, symbols, silent_reward = self._run_silent_moves(u, stack)
        if state >= self.solver.table.first_final or self.domain.arrays.terminal[env_state]:
            return {}
        values = self.solver.action_values(env_state, state, symbols)
        missing = self.solver.undefined
        for action in np.flatnonzero(np.isnan(values)).tolist():
            top = symbols[0] if symbols else 0
            missing = missing or UndefinedHead(env_state, state, top, action)
        if missing is not None:
            raise self._undefined(missing)
        names = self.domain.actions
        return {
            name: silent_reward + value for name, value in zip(names, values.tolist(), strict=True)
        }

    def actions(self, s: StateLike, u: str, stack: Stack) -> tuple[str, ...]:
        """The optimal actions, up to the proved error.

        All optimal actions are included. Actions that are worse by more than four times the error
        are excluded.
        """
        values = self.action_values(s, u, stack)
        close = 2 * self.error_at(len(stack) + self.solver.silent_moves.pushed)
        best = max(values.values(), default=0.0)
        return tuple(name for name, value in values.items() if value >= best - close)

    # --- From the start

    @cached_property
    def begins(self) -> tuple[SolvedStart, ...]:
        """The starts of an episode with a probability above 0."""
        arrays = self.domain.arrays
        columns = (arrays.start_probability, arrays.start_state, arrays.start_label)
        starts = []
        for probability, s, label in zip(*(column.tolist() for column in columns), strict=True):
            if probability > 0:
                state, symbols, reward = begin_table(self.solver.table, label)
                stack = tuple(self.machine.stack[symbol - 1] for symbol in symbols)
                starts.append(SolvedStart(probability, reward, s, self._states[state], stack))
        return tuple(starts)

    @property
    def start_value(self) -> float:
        """The expected value of an episode, including rewards before the first action."""
        total = sum(start.chance for start in self.begins)
        returns = [start.chance * (start.paid + self.value(*start[2:])) for start in self.begins]
        return sum(returns) / total

    @property
    def _largest_value(self) -> float:
        """The largest absolute value of a start, at least 1."""
        values = [self.value(*start[2:]) for start in self.begins]
        return max([1.0, *map(abs, values)])

    def record(self) -> dict[str, Any]:
        """The solution at the starts as JSON values."""
        starts = [
            {
                "chance": start.chance,
                "paid": start.paid,
                **self.record_at(*start[2:]),
            }
            for start in self.begins
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
        """The solution at a configuration as JSON values."""
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

    # --- Text

    @property
    def headlines(self) -> tuple[str, str]:
        """One line about the task, and one about the value from the start."""
        task = f"{self.task.name} with machine {self.machine.name}, discount {self.discount:g}"
        share = self.error / self._largest_value
        return (
            f"{task}, no step limit (the domain's is {self.domain.step_limit:,})",
            f"value from the start {spell_value(self.start_value)},"
            f" proved to ± {self.error:.2g} ({share:.1g} of it)",
        )

    def list_cells(self, records: list[dict[str, Any]]) -> list[list[str]]:
        """The headings and rows of a table of configurations (see `record_at`)."""
        from pdrm.drawing.trace import write_stack

        rows = [
            [
                f"{record['s']} ({record['where']})",
                record["state"],
                write_stack(record["stack"]),
                spell_value(record["value"]),
                " or ".join(record["actions"]) or "(the episode is over)",
            ]
            for record in records[:MAX_SHOWN]
        ]
        return [["state", "machine", "stack", "value", "best actions"], *rows]

    # --- Names to numbers

    @cached_property
    def _states(self) -> tuple[str, ...]:
        return (*self.machine.states, *self.machine.final)

    def _run_silent_moves(self, u: str, stack: Stack) -> TableStep:
        """The machine's configuration in numbers after its silent moves, and their reward."""
        names = self.machine.stack
        state = self._find_name("state", u, self._states)
        symbols = (1 + self._find_name("stack symbol", symbol, names) for symbol in stack)
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
    """A value as text; large values have three decimals."""
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
    """Solve a task: find optimal values and actions, with a proved error.

    The policy sees the whole stack. A deterministic task is solved for every stack. A stochastic
    task must have finitely many reachable configurations. A step limit is not part of the problem.

    Args:
        task: A `Task`, or a finite domain.
        machine: The machine, unless the domain comes with one.
        discount: γ (default: the task's).
        precision: The error to aim at, as a share of the largest value.
        seconds: The time limit, after which `OutOfTime` is raised (None for no limit).

    >>> solution = solve("paint", discount=0.9)
    >>> stack = ("stain", "stain", "#")
    >>> round(solution.value(0, "ask", stack), 9), solution.actions(0, "ask", stack)
    (-0.666666667, ('ask_2',))
    """
    chosen = task if isinstance(task, Task) and machine is None else Task(task, machine)
    warn_of_tasks(chosen)
    compile_solver()
    gamma = chosen.discount if discount is None else discount
    return find_any_solution(chosen, gamma, precision, seconds, MAX_STATES)


def find_any_solution(
    task: Task, discount: float, precision: float, seconds: float | None, max_states: int
) -> Solution:
    """Solve a task by its operators, or a stochastic task by its reachable configurations."""
    try:
        return find_solution(task, discount, precision, seconds)
    except StochasticMoves:
        deadline = Deadline(seconds)
        product = FiniteProduct(task.finite, task.pushdown)
        while product.frontier.size and len(product) <= max_states:
            if deadline.over:
                raise _out_of_time(task, seconds) from None
            product.explore(max_states=min(max_states, 2 * len(product)))
        if product.frontier.size:
            raise
    solution = Solution(task, discount, SolvedProduct(product, discount, precision, deadline))
    if deadline.over and solution.error > MAX_RELATIVE_ERROR * solution._largest_value:
        raise _out_of_time(task, seconds)
    return solution


def _out_of_time(task: Task, seconds: float | None) -> OutOfTime:
    more = max(SECONDS, 10 * (seconds or 0.0))
    return OutOfTime(
        f"`{task.name}` was not solved within {seconds:g} seconds",
        fix=f"allow more: seconds={more:g}, or have check_k bound the value",
    )


def find_solution(
    task: Task,
    discount: float,
    precision: float = PRECISION,
    seconds: float | None = SECONDS,
) -> Solution:
    """Solve a task with deterministic moves by its operators."""
    check_discount(discount)
    if not 0 < precision < 1:
        raise BadSetting(
            f"the precision is {precision}", fix="use a number between 0 and 1, such as 1e-6"
        )
    if seconds is not None and not seconds > 0:
        raise BadSetting(f"the time is {seconds} seconds", fix="use a number above 0, such as 60")
    check_deterministic(task.finite)
    table = tabulate(task.pushdown, task.finite.labels)
    solver = WholeStack(world_of(task.finite.arrays), table, discount, precision=precision)
    solution = Solution(task, discount, solver)
    solver.deadline = Deadline(seconds)
    try:
        largest = solution._largest_value
    except TimeoutError:
        raise _out_of_time(task, seconds) from None
    solver.deadline = Deadline()
    scale = max(largest, solver.largest_reward)
    if solution.error > max(MAX_RELATIVE_ERROR * scale, precision * solver.largest):
        raise UnboundedStep(
            f"the values of `{task.name}` are known to ± {solution.error:.2g} only, because silent"
            " moves with rewards repeat",
            fix="give rewards in the rules that read a label, or use a smaller discount",
        )
    return solution


@lru_cache(maxsize=100)
def find_optimal_value(task: Task, discount: float) -> float | None:
    """The optimal value from the start, without a step limit.

    None if the domain is not finite, policies are evaluated in other domains, or the value is not
    found within seconds (a large domain, or a stochastic one with many configurations).
    """
    if not isinstance(task.domain, FiniteDomain) or task.domain.tests or not 0 < discount < 1:
        return None
    try:
        compile_solver()  # slow, but only once
        solution = find_any_solution(
            task, discount, PRECISION, COMPARISON_SECONDS, MAX_COMPARISON_STATES
        )
    except PdrmError:
        return None
    return solution.start_value


@cache
def compile_solver() -> None:
    """Compile all kernels before the time limit starts."""
    find_solution(Task("paint"), 0.9, seconds=None).record()
