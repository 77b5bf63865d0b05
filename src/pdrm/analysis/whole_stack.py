"""Optimal values with stacks of any height, from one operator for each symbol on top.

What happens while a symbol z is on top does not depend on the stack below, except through the value
w(s, u) of what is left once z has been popped at ⟨s, u⟩, an *exit*. If moves are deterministic, a
way of acting pops z after t steps at an exit, having gained c, or never does. So the value is

    F_z(w)(s, u) = max( C, max over exits e and lines (c, t) of c + γᵗ w(e) ).

The value with a stack is the composition of the operators of its symbols, from the bottom up. The
empty stack is symbol 0, which is never popped. `whole_stack_kernel` finds the operators.

Values are *continuation values* W: what a configuration adds to the value of the one a step
earlier. That is γ times its value and, before that, what its pending silent moves pay, undiscounted.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from pdrm.analysis.deadline import Deadline
from pdrm.analysis.top_bounds import EPSILON, TINY, bound_all, bound_silent_moves
from pdrm.analysis.values_kernel import narrow_by_top
from pdrm.analysis.whole_stack_kernel import (
    AT,
    CLOCK,
    LINES,
    MET,
    NONE,
    READS,
    TRIED,
    UNDEFINED,
    WANTED,
    Floats,
    Numbers,
    Ranges,
    World,
    evaluate_actions,
    meet,
    no_operators,
    sweep,
)
from pdrm.domains.finite_domain import DomainArrays, FiniteDomain
from pdrm.errors import BadSetting, ProductTooLarge, StochasticMoves
from pdrm.machines.stacks import lengthen
from pdrm.machines.tables import Symbols, Table

NEGLIGIBLE = 1e-18
"""A power of the discount as small as this changes a value by less than a rounding."""
MAX_POWERS = 8_000_000
MAX_HEADS = 50_000_000
"""Environment states times machine states times symbols, at most: arrays have a place for each."""
MAX_SWEEPS = 10_000
"""Sweeps that narrow the range of values."""
ROUNDINGS = 64
"""Roundings of the largest number in one move's arithmetic, at most."""
PROVED_HEIGHT = 1_000
"""The height of stacks that errors are stated for."""
COARSE = 1e-2
"""The first tolerance, as a share of the largest value."""
BUDGET = 1_000
"""Visits between two looks at the clock."""
ROOM = 1_000
"""Lines that there is room for at first."""
AffineLine = tuple[float, int, int, int]
"""c, t, and the environment and machine state of the exit."""


class UndefinedHead(NamedTuple):
    """A move that the machine does not define: `otherwise error`, and no rule applies."""

    env_state: int
    state: int
    symbol: int
    action: int


class WholeStack:
    """The operators of a world and a machine, each found when it is first asked for.

    The world may be a whole domain, or the part of it that a learner has seen (see `note`).

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
        """Bound the values; nothing is solved yet.

        Args:
            world: The environment's moves, as far as they are known.
            table: The machine.
            discount: γ.
            precision: The error to aim at, as a share of the largest value there can be.
            largest_unknown: What the environment pays at most for a move that may become known
                (default: moves that are not known cannot be taken).
        """
        self.world, self.table, self.discount, self.precision = world, table, discount, precision
        self.silent_moves = bound_silent_moves(table)
        self.shape = len(world.terminal), *table.silent.shape
        env_states, states, symbols = self.shape
        if env_states * states * symbols > MAX_HEADS:
            fault = (
                f"{env_states:,} environment states, {states} machine states and {symbols} symbols"
            )
            raise ProductTooLarge(f"{fault} are too many", fix="use a smaller domain or machine")
        self.ranges = self._find_ranges(largest_unknown)
        self.operators = no_operators(env_states * states, symbols)
        self.deadline = Deadline()
        """Once it is over, solving raises a TimeoutError."""
        self._settled = False

    # --- Values

    def action_values(self, env_state: int, state: int, stack: Symbols) -> Floats:
        """[action]: the value of each, NaN if it is not known or the machine has no move for it.

        No silent move may be pending, and the episode must not be over.
        """
        symbols = np.array((*stack, 0), np.int32)
        values = np.empty(self.world.next.shape[1])
        self.settle()
        while not evaluate_actions(
            self.world, self.table, self.ranges, self.operators, env_state, state, symbols, values
        ):
            self._settled = False
            self.settle()
        return values

    def find(self, env_state: int, state: int, symbol: int) -> None:
        """Find one more operator, and those it depends on."""
        _, states, symbols = self.shape
        meet(self.ranges, self.operators, (env_state * states + state) * symbols + symbol, symbols)
        self._settled = False
        self.settle()

    def read(self, env_state: int, state: int, symbol: int) -> tuple[float, list[AffineLine]]:
        """The constant of an operator, and its lines; symbol 0 is the empty stack."""
        self.find(env_state, state, symbol)
        _, states, symbols = self.shape
        operators, head = self.operators, (env_state * states + state) * symbols + symbol
        lines = slice(operators.first[head], operators.first[head] + operators.lines[head])
        columns = operators.c[lines], operators.t[lines], *np.divmod(operators.exit[lines], states)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return float(operators.constant[head]), list(rows)

    def range(self, env_state: int, state: int) -> tuple[float, float]:
        """Between which numbers the continuation value is, whatever the stack."""
        e = env_state * self.shape[1] + state
        return float(self.ranges.low[e]), float(self.ranges.high[e])

    def error_at(self, height: int) -> float:
        """A bound of how far any value of a stack of that height can be from the true one.

        W is composed of operators F that are found from below: each line and constant is a way to
        act, so W is at most the true W*. When solving ends, no move would raise an operator by more
        than the tolerance (the silent one, if it takes no time), wherever w is in its range. So one
        step of the Bellman operator raises W by at most the tolerance, and that of each silent move
        of the step; over all steps this adds up to W* - W, with the discount. A step begins with at
        most `per_step` silent moves, and `per_symbol` more for each symbol that was on the stack.
        Rounding is added: 64 roundings of the largest number for each move and symbol.

        Where silent moves are paid for every symbol that they pop, values and ranges grow with the
        height, and the error is stated for stacks of up to 1,000 symbols only.
        """
        if height > PROVED_HEIGHT and self.silent_moves.grows:
            return inf
        ranges, silent_moves, gap = self.ranges, self.silent_moves, 1 - self.discount
        largest = self.largest
        rounding = ROUNDINGS * EPSILON * largest
        silent = ranges.silent_tolerance + rounding
        steps = (ranges.tolerance + rounding + silent_moves.per_step * silent) / gap
        begin = (silent_moves.per_step + silent_moves.per_symbol * height) * silent
        return float((steps + begin) * (1 + 1e-9) + (height + 1) * rounding)

    @property
    def undefined(self) -> UndefinedHead | None:
        """A move that was needed and that the machine does not define."""
        head = int(self.operators.counter[UNDEFINED])
        if head == NONE:
            return None
        env_state, state, symbol = (int(part) for part in np.unravel_index(head, self.shape))
        return UndefinedHead(env_state, state, symbol, int(self.operators.counter[TRIED]))

    @property
    def size(self) -> dict[str, int]:
        """Counts of entries, of their lines, and of all numbers that are kept."""
        self._make_room()
        met = len(self._list_met())
        lines, reads = self.operators.counter[LINES : READS + 1].tolist()
        return {"entries": met, "lines": lines, "numbers": 3 * lines + reads + 9 * met}

    # --- Solving

    def note(self, env_state: int) -> None:
        """Visit the heads of an environment state again: a move there has become known in `world`."""
        _, states, symbols = self.shape
        heads = slice(env_state * states * symbols, (env_state + 1) * states * symbols)
        self.operators.visited[heads] = 0
        self._settled = False

    def settle(self) -> None:
        """Visit heads until no visit gains more than the tolerance.

        A coarse tolerance comes first: good constants make most lines superfluous.
        """
        if not self._settled:
            begun = self.operators.counter[CLOCK]
            coarse = COARSE * self.largest
            self._settle(self.ranges._replace(tolerance=coarse, silent_tolerance=coarse))
            self.operators.visited[self.operators.visited > begun] = 0
            self._settled = False
            self._settle(self.ranges)

    def _settle(self, ranges: Ranges) -> None:
        counter = self.operators.counter
        while not self._settled:
            counter[AT] = counter[MET]
            self._settled = True
            while sweep(self.world, self.table, ranges, self.operators, BUDGET):
                self._settled = False
                if counter[WANTED]:
                    self._make_room()
                if self.deadline.over:
                    raise TimeoutError("time is up")
            if self._close_loops():
                self._settled = False

    def _make_room(self) -> None:
        """Move lines together, so that there is room for twice as many."""
        operators, counter = self.operators, self.operators.counter
        lines = self._pack(operators.first, operators.lines)
        reads = self._pack(operators.first_read, operators.reads)
        counter[LINES], counter[READS] = len(lines), len(reads)
        room = ROOM + 2 * (max(len(lines), len(reads)) + int(counter[WANTED]))
        counter[WANTED] = 0
        self.operators = operators._replace(
            exit=lengthen(operators.exit[lines], room),
            t=lengthen(operators.t[lines], room),
            c=lengthen(operators.c[lines], room),
            read=lengthen(operators.read[reads], room),
        )

    def _pack(self, first: Numbers, count: Numbers) -> Numbers:
        """The rows of all heads one after the other; `first` becomes where those of each begin."""
        met = self._list_met()
        begin = np.cumsum(count[met]) - count[met]
        rows = np.repeat(first[met] - begin, count[met]) + np.arange(count[met].sum())
        first[met] = begin
        return rows

    def _close_loops(self) -> bool:
        """Raise constants to what following them for ever is worth; return True if one rose.

        The constant of a head is what is gained until another head is reached, and the constant
        there. Following twice as many of these at once, again and again, sums them up.
        """
        operators = self.operators
        met = self._list_met()
        position = np.zeros(len(operators.constant), np.int32)
        position[met] = np.arange(len(met))
        goal = position[np.maximum(operators.leads_to[met], 0)]
        gain = operators.gain[met]
        weight = np.where(operators.leads_to[met] == NONE, 0.0, operators.weight[met])
        while len(met) and weight.max() > NEGLIGIBLE:
            gain = gain + weight * gain[goal]
            weight = weight * weight[goal]
            goal = goal[goal]
        rose = gain > operators.constant[met] + self.ranges.tolerance
        heads = met[rose]
        operators.constant[heads] = gain[rose]
        operators.counter[CLOCK] += 1
        operators.changed[heads] = operators.counter[CLOCK]
        return bool(rose.any())

    def _list_met(self) -> Numbers:
        return self.operators.order[: self.operators.counter[MET]]

    # --- Ranges

    def _find_ranges(self, largest_unknown: float | None) -> Ranges:
        world, table, silent_moves, gap = (
            self.world,
            self.table,
            self.silent_moves,
            1 - self.discount,
        )
        power = _list_powers(self.discount)
        own = world.reward[world.next != NONE]
        if largest_unknown is not None:
            own = np.append(own, [largest_unknown, -largest_unknown])
        every = bound_all(own, table, table.reward, silent_moves, self.discount)
        largest = max(every.high, -every.low, TINY)
        max_stack_height = PROVED_HEIGHT + silent_moves.pushed * len(
            power
        )  # later steps do not count
        unknown = -inf if largest_unknown is None else every.high
        following, label = world.next[..., np.newaxis], world.label[..., np.newaxis]
        reward, sure = world.reward[..., np.newaxis], np.ones((*world.next.shape, 1))

        def narrow(sign: float, bound: float, slope: float, unknown: float) -> Floats:
            """[exit]: the upper (1) or lower (-1) bound of what lies below, by the tops that it can have."""
            value = np.full(self.shape, bound)
            value[:, table.first_final :] = 0.0
            narrow_by_top(
                following, label, reward, sure, world.terminal, table, self.discount,
                sign, unknown, sign * slope, 1e-6 * largest, MAX_SWEEPS, value,
            )  # fmt: skip
            end = (sign * value).max(axis=2).ravel() + slope * max_stack_height
            narrowed: Floats = sign * (end + 1e-9 * largest)
            return narrowed

        low = narrow(-1.0, every.low, every.low_slope, -inf)
        high = narrow(1.0, every.high, every.high_slope, unknown)
        self.largest_paid = float(
            np.abs(world.reward).max(initial=0.0) + np.abs(table.reward).max()
        )
        largest = float(max(np.abs(low).max(), np.abs(high).max()))
        self.largest = largest + self.largest_paid
        tolerance = max(0.35 * self.precision * gap * largest, 4 * EPSILON * largest)
        silent_moves = silent_moves.per_step + gap * silent_moves.per_symbol * PROVED_HEIGHT
        return Ranges(low, high, power, tolerance, tolerance / (1 + silent_moves))


# --- Worlds


def take_certain(arrays: DomainArrays) -> DomainArrays:
    """Of each action the outcome that happens, if moves have no chance: one outcome, of probability 1."""
    happens = arrays.probability.argmax(axis=2)[..., np.newaxis]
    following, label, reward = (
        np.ascontiguousarray(np.take_along_axis(array, happens, axis=2))
        for array in (arrays.next, arrays.label, arrays.reward)
    )
    sure = np.ones(following.shape)
    return arrays._replace(next=following, label=label, reward=reward, probability=sure)


def world_of(arrays: DomainArrays) -> World:
    """The world of a domain whose moves are deterministic.

    >>> from pdrm.domains.paper_domains import domain
    >>> world_of(domain("maze-5x5").arrays).next.shape
    (8, 4)
    """
    certain = take_certain(arrays)
    following, label, reward = certain.next[..., 0], certain.label[..., 0], certain.reward[..., 0]
    return World(following, label, reward, arrays.terminal)


def check_deterministic(domain: FiniteDomain) -> None:
    """Refuse a domain in which an action can have two outcomes."""
    arrays, certain = domain.arrays, take_certain(domain.arrays)
    others = arrays.next != certain.next
    others |= (arrays.label != certain.label) | (arrays.reward != certain.reward)
    different = ((arrays.probability > 0) & others).any(axis=2)  # an outcome listed twice is one
    wrong = different & ~arrays.terminal[:, np.newaxis]
    if wrong.any():
        s, action = np.argwhere(wrong)[0].tolist()
        raise StochasticMoves(
            f"the moves of `{domain.name}` are not deterministic: `{domain.actions[action]}` in"
            f" state {s} ({domain.describe(s)}) has several outcomes",
            fix="pdrm.check_k with the same arguments (`pdrm check-k`) bounds its values",
        )


def _list_powers(discount: float) -> Floats:
    """The powers of the discount down to one that is negligible."""
    count = 1 if discount == 0 else int(np.log(NEGLIGIBLE) / np.log(discount)) + 2
    if count > MAX_POWERS:
        raise BadSetting(f"a discount of {discount} is too close to 1", fix="use at most 0.99999")
    return np.float64(discount) ** np.arange(count + 1)
