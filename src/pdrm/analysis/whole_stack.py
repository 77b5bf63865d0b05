"""Optimal values with stacks of any height, from one operator per stack symbol.

While a symbol z is on top, the stack below matters only through its value. Let w(s, u) be the
value of the stack below if z is popped at the control state (s, u), an *exit*. With deterministic
moves, a policy either pops z after t steps at an exit e with discounted return c, or never pops it.
So the value with z on top is

    F_z(w)(s, u) = max( C, max over exits e and lines (t, c) of c + γᵗ w(e) ).

F_z is the operator of z. The value with a stack is the composition of the operators of its
symbols, from the bottom up. The empty stack is symbol 0, which is never popped.
`whole_stack_kernel` finds the operators.

All values here are *continuation values* W: the contribution of a configuration to the value one
step earlier. It consists of the undiscounted rewards of its pending silent moves and γ times the
value of the configuration after them.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.top_bounds import EPSILON, TINY, bound_all, bound_silent_moves
from pdrm.analysis.values_kernel import EnvMoves, narrow_by_top
from pdrm.analysis.whole_stack_kernel import (
    CLOCK,
    FOUND,
    LINES,
    NONE,
    POSITION,
    READS,
    TRIED,
    UNDEFINED,
    WANTED,
    Ranges,
    World,
    discover,
    evaluate_actions,
    no_operators,
    sweep,
)
from pdrm.domains.finite_domain import DomainArrays, FiniteDomain
from pdrm.errors import BadSetting, ProductTooLarge, StochasticMoves
from pdrm.machines.stacks import lengthen
from pdrm.machines.tables import Symbols, Table
from pdrm.product.finite_kernel import Floats, Numbers

NEGLIGIBLE = 1e-18
"""A power of the discount this small changes a value by less than rounding."""
MAX_POWERS = 8_000_000
MAX_HEADS = 50_000_000
"""Environment states times machine states times symbols: the length of the arrays."""
MAX_SWEEPS = 10_000
"""Sweeps that tighten the range of values."""
MAX_ROUNDINGS = 64
"""Roundings of the largest number in the arithmetic of one move."""
PROVED_HEIGHT = 1_000
"""The stack height for which errors are stated."""
COARSE = 1e-2
"""The first tolerance, as a share of the largest value."""
VISITS_PER_CALL = 1_000
"""Visits between two checks of the deadline."""
MIN_ROOM = 1_000
"""Rows for lines and reads at first."""


class AffineLine(NamedTuple):
    """The line c + γᵗ w(exit)."""

    t: int
    c: float
    env_state: int
    """The environment state of the exit."""
    state: int
    """The machine state of the exit."""


class UndefinedHead(NamedTuple):
    """A head and an action whose label no rule reads, with `otherwise error`."""

    env_state: int
    state: int
    symbol: int
    action: int


class WholeStack:
    """The operators of a world and a machine, each solved when it is first needed.

    The world is a whole domain, or the part of it that a learner has seen (see `note`).

    >>> from pdrm.machines.tables import tabulate
    >>> from pdrm.task import Task
    >>> maze = Task("maze-5x5")
    >>> table = tabulate(maze.pushdown, maze.finite.labels)
    >>> solver = WholeStack(world_of(maze.finite.arrays), table, 0.99)
    >>> round(float(np.nanmax(solver.action_values(0, 0, (1,)))), 3), solver.error_at(1) < 0.1
    (91356.433, True)
    """

    def __init__(
        self,
        world: World,
        table: Table,
        discount: float,
        *,
        precision: float = 1e-6,
        largest_unknown: float | None = None,
    ) -> None:
        """Bound the values. Operators are solved later.

        Args:
            world: The known moves of the environment.
            table: The machine.
            discount: γ.
            precision: The error to aim at, as a share of the largest possible value.
            largest_unknown: The maximum environment reward of moves that may become known
                (default: unknown moves cannot be taken).
        """
        self.world = world
        self.table = table
        self.discount = discount
        self.precision = precision
        self.silent_moves = bound_silent_moves(table)
        self.shape = len(world.terminal), *table.silent.shape
        env_states, states, symbols = self.shape
        if env_states * states * symbols > MAX_HEADS:
            size = (
                f"{env_states:,} environment states, {states} machine states and {symbols} symbols"
            )
            raise ProductTooLarge(f"{size} are too many", fix="use a smaller domain or machine")
        self.ranges = self._find_ranges(largest_unknown)
        self.operators = no_operators(env_states * states, symbols)
        self.deadline = Deadline()
        """Solving raises a TimeoutError after it."""
        self._solved = False

    # --- Values

    def action_values(self, env_state: int, state: int, stack: Symbols) -> Floats:
        """[action]: its value, or NaN if the move is unknown or the machine has no rule for it.

        No silent move may be pending, and the episode must not be over.
        """
        symbols = np.array((*stack, 0), np.int32)
        values = np.empty(self.world.next.shape[1])
        self.solve()
        while not evaluate_actions(
            self.world, self.table, self.ranges, self.operators, env_state, state, symbols, values
        ):
            self._solved = False
            self.solve()
        return values

    def find(self, env_state: int, state: int, symbol: int) -> None:
        """Solve the operator of a head, and those it depends on."""
        symbols = self.shape[2]
        discover(self.ranges, self.operators, self._head(env_state, state, symbol), symbols)
        self._solved = False
        self.solve()

    def read(self, env_state: int, state: int, symbol: int) -> tuple[float, list[AffineLine]]:
        """The constant of an operator, and its lines. Symbol 0 is the empty stack."""
        self.find(env_state, state, symbol)
        operators = self.operators
        head = self._head(env_state, state, symbol)
        rows = slice(operators.first[head], operators.first[head] + operators.lines[head])
        exits = np.divmod(operators.exit[rows], self.shape[1])
        columns = [column.tolist() for column in (operators.t[rows], operators.c[rows], *exits)]
        return float(operators.constant[head]), list(map(AffineLine, *columns))

    def _head(self, env_state: int, state: int, symbol: int) -> int:
        return int(np.ravel_multi_index((env_state, state, symbol), self.shape))

    def range(self, env_state: int, state: int) -> tuple[float, float]:
        """The range of the continuation value over all stacks."""
        control = env_state * self.shape[1] + state
        return float(self.ranges.low[control]), float(self.ranges.high[control])

    def error_at(self, height: int) -> float:
        """A proved bound on the error of every value with a stack of this height.

        Proof. Let W be the computed values and W* the true ones. Each line and constant is the
        return of some policy, so W ≤ W*. When solving ends, no move raises an operator by more than
        the tolerance (`silent_tolerance` for silent moves), for any w in the ranges. So a step of
        the Bellman operator raises W by at most the tolerance, plus the silent tolerance for each
        silent move of the step. W* - W is at most the discounted sum of this over all steps. A step
        starts with at most `per_step` silent moves, plus `per_symbol` for each symbol that was on
        the stack. Rounding adds 64 roundings of the largest number for each move and symbol.

        If pops by silent moves are rewarded, values and ranges grow with the height, and the error
        is only stated for stacks of up to 1,000 symbols (infinite above).
        """
        silent_moves = self.silent_moves
        if height > PROVED_HEIGHT and silent_moves.grows:
            return inf
        rounding = MAX_ROUNDINGS * EPSILON * self.largest
        silent = self.ranges.silent_tolerance + rounding
        step = self.ranges.tolerance + rounding + silent_moves.per_step * silent
        all_steps = step / (1 - self.discount)
        at_start = (silent_moves.per_step + silent_moves.per_symbol * height) * silent
        return float((all_steps + at_start) * (1 + 1e-9) + (height + 1) * rounding)

    @property
    def undefined(self) -> UndefinedHead | None:
        """A move that was needed and that the machine does not define, or None."""
        head = int(self.operators.counter[UNDEFINED])
        if head == NONE:
            return None
        env_state, state, symbol = (int(part) for part in np.unravel_index(head, self.shape))
        return UndefinedHead(env_state, state, symbol, int(self.operators.counter[TRIED]))

    @property
    def size(self) -> dict[str, int]:
        """The number of entries, of lines, and of all stored numbers."""
        self._make_room()
        found = len(self._list_found())
        lines, reads = self.operators.counter[LINES : READS + 1].tolist()
        return {"entries": found, "lines": lines, "numbers": 3 * lines + reads + 9 * found}

    # --- Solving

    def note(self, env_state: int) -> None:
        """Solve the heads of an environment state again after a change in `world`."""
        _, states, symbols = self.shape
        heads = slice(env_state * states * symbols, (env_state + 1) * states * symbols)
        self.operators.visited[heads] = 0
        self._solved = False

    def solve(self) -> None:
        """Visit heads until no visit raises an operator by more than the tolerance.

        A coarse tolerance comes first: with good constants most lines are useless.
        """
        if not self._solved:
            start = self.operators.counter[CLOCK]
            coarse = COARSE * self.largest
            self._solve_within(self.ranges._replace(tolerance=coarse, silent_tolerance=coarse))
            self.operators.visited[self.operators.visited > start] = 0
            self._solved = False
            self._solve_within(self.ranges)

    def _solve_within(self, ranges: Ranges) -> None:
        """Solve with the tolerances of these ranges."""
        while not self._solved:
            self.operators.counter[POSITION] = self.operators.counter[FOUND]
            self._solved = True
            while sweep(self.world, self.table, ranges, self.operators, VISITS_PER_CALL):
                self._solved = False
                if self.operators.counter[WANTED]:
                    self._make_room()
                if self.deadline.over:
                    raise TimeoutError("time is up")
            if self._close_loops():
                self._solved = False

    def _make_room(self) -> None:
        """Remove unused rows of lines and reads, and make room for twice as many."""
        operators = self.operators
        counter = operators.counter
        lines = self._pack(operators.first, operators.lines)
        reads = self._pack(operators.first_read, operators.reads)
        counter[LINES], counter[READS] = len(lines), len(reads)
        room = MIN_ROOM + 2 * (max(len(lines), len(reads)) + int(counter[WANTED]))
        counter[WANTED] = 0
        self.operators = operators._replace(
            exit=lengthen(operators.exit[lines], room),
            t=lengthen(operators.t[lines], room),
            c=lengthen(operators.c[lines], room),
            read=lengthen(operators.read[reads], room),
        )

    def _pack(self, first: Numbers, count: Numbers) -> Numbers:
        """The used rows of all heads in sequence; `first` is updated to their new positions."""
        heads = self._list_found()
        packed = np.cumsum(count[heads]) - count[heads]
        rows = np.repeat(first[heads] - packed, count[heads]) + np.arange(count[heads].sum())
        first[heads] = packed
        return rows

    def _close_loops(self) -> bool:
        """Raise constants to the value of following them forever; return True if one rose.

        The constant of a head is a gain plus the weighted constant of another head. Repeated
        squaring sums these chains: each round follows twice as many heads.
        """
        operators = self.operators
        heads = self._list_found()
        position = np.zeros(len(operators.constant), np.int32)
        position[heads] = np.arange(len(heads))
        leads_to = operators.leads_to[heads]
        goal = position[np.maximum(leads_to, 0)]
        gain = operators.gain[heads]
        weight = np.where(leads_to == NONE, 0.0, operators.weight[heads])
        while len(heads) and weight.max() > NEGLIGIBLE:
            gain = gain + weight * gain[goal]
            weight = weight * weight[goal]
            goal = goal[goal]
        rose = gain > operators.constant[heads] + self.ranges.tolerance
        operators.constant[heads[rose]] = gain[rose]
        operators.counter[CLOCK] += 1
        operators.changed[heads[rose]] = operators.counter[CLOCK]
        return bool(rose.any())

    def _list_found(self) -> Numbers:
        """The heads found so far."""
        return self.operators.order[: self.operators.counter[FOUND]]

    # --- Ranges

    def _find_ranges(self, largest_unknown: float | None) -> Ranges:
        """Bound the continuation values at each exit, and derive the tolerances."""
        world, table, silent_moves = self.world, self.table, self.silent_moves
        gap = 1 - self.discount
        power = _list_powers(self.discount)
        env_reward = world.reward[world.next != NONE]
        if largest_unknown is not None:
            env_reward = np.append(env_reward, [largest_unknown, -largest_unknown])
        every = bound_all(env_reward, table, table.reward, self.discount)
        largest = max(every.high, -every.low, TINY)
        # steps with a negligible power do not count
        max_stack_height = PROVED_HEIGHT + silent_moves.pushed * len(power)
        moves = EnvMoves(
            world.next[..., None],
            world.label[..., None],
            world.reward[..., None],
            np.ones((*world.next.shape, 1)),
            world.terminal,
        )

        def narrow(sign: float, bound: float, slope: float, unknown: float) -> Floats:
            """[exit]: the upper (sign 1) or lower (sign -1) bound for every top symbol."""
            value = np.full(self.shape, bound)
            value[:, table.first_final :] = 0.0
            narrow_by_top(
                moves, table, self.discount, sign, unknown, sign * slope, 1e-6 * largest,
                MAX_SWEEPS, value,
            )  # fmt: skip
            end = (sign * value).max(axis=2).ravel() + slope * max_stack_height
            narrowed: Floats = sign * (end + 1e-9 * largest)
            return narrowed

        low = narrow(-1.0, every.low, every.low_slope, -inf)
        high_unknown = -inf if largest_unknown is None else every.high
        high = narrow(1.0, every.high, every.high_slope, high_unknown)
        self.largest_reward = float(
            np.abs(world.reward).max(initial=0.0) + np.abs(table.reward).max()
        )
        largest = float(max(np.abs(low).max(), np.abs(high).max()))
        self.largest = largest + self.largest_reward
        tolerance = max(0.35 * self.precision * gap * largest, 4 * EPSILON * largest)
        silent_count = silent_moves.per_step + gap * silent_moves.per_symbol * PROVED_HEIGHT
        return Ranges(low, high, power, tolerance, tolerance / (1 + silent_count))


# --- Worlds


def take_certain(arrays: DomainArrays) -> DomainArrays:
    """The arrays of a deterministic domain with one outcome for each action."""
    happens = arrays.probability.argmax(axis=2)[..., np.newaxis]
    following, label, reward = (
        np.ascontiguousarray(np.take_along_axis(array, happens, axis=2))
        for array in (arrays.next, arrays.label, arrays.reward)
    )
    probability = np.ones(following.shape)
    return arrays._replace(next=following, label=label, reward=reward, probability=probability)


def world_of(arrays: DomainArrays) -> World:
    """The world of a domain with deterministic moves.

    >>> from pdrm.domains.paper_domains import domain
    >>> world_of(domain("maze-5x5").arrays).next.shape
    (8, 4)
    """
    certain = take_certain(arrays)
    following, label, reward = certain.next[..., 0], certain.label[..., 0], certain.reward[..., 0]
    return World(following, label, reward, arrays.terminal)


def check_deterministic(domain: FiniteDomain) -> None:
    """Refuse a domain in which an action has several outcomes. Equal outcomes count as one."""
    arrays, certain = domain.arrays, take_certain(domain.arrays)
    differs = arrays.next != certain.next
    differs |= (arrays.label != certain.label) | (arrays.reward != certain.reward)
    random = ((arrays.probability > 0) & differs).any(axis=2)
    random &= ~arrays.terminal[:, np.newaxis]
    if random.any():
        s, action = np.argwhere(random)[0].tolist()
        raise StochasticMoves(
            f"the moves of `{domain.name}` are stochastic: `{domain.actions[action]}` in"
            f" state {s} ({domain.describe(s)}) has several outcomes",
            fix="pdrm.check_k with the same arguments (`pdrm check-k`) bounds its values",
        )


def _list_powers(discount: float) -> Floats:
    """The powers of the discount down to a negligible one."""
    count = 1 if discount == 0 else int(np.log(NEGLIGIBLE) / np.log(discount)) + 2
    if count > MAX_POWERS:
        raise BadSetting(f"a discount of {discount} is too close to 1", fix="use at most 0.99999")
    return np.float64(discount) ** np.arange(count + 1)
