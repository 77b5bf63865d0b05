"""Reward shaping from the machine: V(u, ζ), its value if the agent could choose the labels itself.

With a single environment state, the machine is a deterministic control problem over configurations.
While a symbol z is on top, the stack below it matters only through w(u′), the value after popping
z at u′. So V(u, zζ) = F_z(w)(u) is the maximum of a constant (z is never popped) and of lines
c + γᵗ w(u′). The rewards of silent moves belong to the label before them, so the tables contain γV,
the value just before the next label is read. `analysis/whole_stack` has the same operators for
whole domains.

The potential is Φ = scale * V + shift, and 0 after the end of an episode. The reward of a step
grows by γΦ(after) - Φ(before), which preserves optimal policies (Ng, Harada and Russell 1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from pdrm.errors import BadSetting
from pdrm.machines.guards import Label
from pdrm.machines.heads import all_heads, rules_at
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Integers, Rewards, Table, tabulate
from pdrm.machines.transitions import Stack
from pdrm.product.explore_kernel import Potentials

MAX_SWEEPS = 1_000
"""Maximum sweeps over the operators. A sweep extends runs to a pop by one nested push."""
MAX_LINES = 64
"""Maximum lines of one exit. If there are more, the longest are dropped, which lowers V."""
ROUNDING = 1e-12
"""Relative improvement below which a line or an edge is ignored."""
NEGLIGIBLE = 1e-18
"""Weight of a later value below which it is ignored."""


@dataclass(frozen=True, slots=True)
class Shaping:
    """Settings of the potential Φ = scale * V + shift.

    >>> from pdrm.language.loading import catalogue
    >>> potential = Shaping(discount=0.9).of(catalogue("letter"))
    >>> round(potential.value("u1", ("#",)), 3), round(potential.value("u1", ("A", "#")), 3)
    (1.0, 0.89)
    """

    discount: float
    """γ of the agent that learns from the rewards."""
    potential_discount: float | None = None
    """γ of the value V, below 1 (default: the agent's)."""
    scale: float = 1.0
    """-1 is the sign in Toro Icarte's reward machine code. Small scales let rewards dominate."""
    shift: float = 0.0
    """Acts like initial values (Müller and Kudenko 2025)."""

    def __post_init__(self) -> None:
        numbers = (self.discount, self.value_discount, self.scale, self.shift)
        finite = all(isinstance(number, int | float) and isfinite(number) for number in numbers)
        if not finite or not 0 <= self.discount <= 1 or not 0 <= self.value_discount < 1:
            fix = (
                "give finite numbers, discount from 0 to 1, and potential_discount below 1, such as "
                "0.99: without discounting, the value of a machine can be infinite"
            )
            raise BadSetting(f"{self} cannot shape rewards", fix=fix)

    @property
    def value_discount(self) -> float:
        """γ of the value V."""
        return self.discount if self.potential_discount is None else self.potential_discount

    def of(
        self, machine: PushdownRewardMachine, labels: Sequence[Label] | None = None
    ) -> Potential:
        """The potential of a machine that reads these labels (default: any of its alphabet)."""
        chosen = cover_moves(machine) if labels is None else labels
        operators = solve_machine(tabulate(machine, chosen), float(self.value_discount))
        return Potential(self, machine, operators)


class Potential:
    """Φ of a machine's configurations.

    >>> from pdrm.language.loading import catalogue
    >>> potential = Shaping(discount=0.9, scale=-1.0, shift=2.0).of(catalogue("letter"))
    >>> round(potential.potential("u1", ("#",)), 3)
    1.0
    >>> round(potential.reward(("u1", ("A", "#")), ("u1", ("#",)), over=False), 3)
    -0.21
    """

    def __init__(
        self, shaping: Shaping, machine: PushdownRewardMachine, operators: MachineOperators
    ) -> None:
        self.shaping = shaping
        self.operators = operators
        self._states = {u: number for number, u in enumerate((*machine.states, *machine.final))}
        self._symbols = {z: number for number, z in enumerate(machine.stack, start=1)}
        self._inverse_discount = 1.0 / shaping.value_discount if shaping.value_discount > 0 else 0.0
        self.factor = float(shaping.scale) * self._inverse_discount
        """Φ = factor * γV + shift."""

    def value(self, state: str, stack: Stack) -> float:
        """V: the value of a configuration if the agent could choose the labels."""
        return float(self._inverse_discount * self.find_values(stack)[self._states[state]])

    def potential(self, state: str, stack: Stack) -> float:
        """Φ before the end of an episode."""
        values = self.find_values(stack)
        return float(self.factor * values[self._states[state]] + self.shaping.shift)

    def reward(self, before: tuple[str, Stack], after: tuple[str, Stack], *, over: bool) -> float:
        """The shaping reward of a step, γΦ(after) - Φ(before). Φ is 0 if the episode terminated."""
        next_potential = 0.0 if over else self.potential(*after)
        return float(self.shaping.discount) * next_potential - self.potential(*before)

    def tables(self, capacity: int = 1024) -> Potentials:
        """The potential for kernels, with space for this many stacks."""
        values = np.zeros((capacity, self.operators.constant.shape[1]))
        values[0] = self.operators.constant[0]
        shift = float(self.shaping.shift)
        return Potentials(*self.operators, values, np.ones(1, np.int64), self.factor, shift)

    def find_values(self, stack: Stack) -> Rewards:
        """[state]: γV with this stack."""
        values: Rewards = self.operators.constant[0]
        for symbol in reversed(stack):
            values = self.operators.apply(self._symbols[symbol], values)
        return values


class MachineOperators(NamedTuple):
    """F_z(u) of every stack symbol z (0: the empty stack) and state u, as arrays.

    >>> from pdrm.language.loading import catalogue
    >>> letter = catalogue("letter")
    >>> operators = solve_machine(tabulate(letter, cover_moves(letter)), 0.9)
    >>> operators.exit_state[2, 1, 0], operators.gain[2, 1, 0], operators.weight[2, 1, 0]
    (np.int32(1), np.float64(-0.009000000000000001), np.float64(0.9))
    """

    constant: Rewards
    """[symbol, state]: the best value without popping the symbol; -inf if impossible."""
    exit_state: Integers
    """[symbol, state, line]: the state in which the symbol has just been popped."""
    gain: Rewards
    """[symbol, state, line]: c, the discounted reward until then; -inf for unused lines."""
    weight: Rewards
    """[symbol, state, line]: γᵗ."""

    def apply(self, symbol: int, below: Rewards) -> Rewards:
        """[state]: F_z(w), if `below` is w."""
        lines = self.gain[symbol] + self.weight[symbol] * below[self.exit_state[symbol]]
        values: Rewards = np.maximum(self.constant[symbol], lines.max(axis=-1))
        return values


Entry = tuple[int, int]
"""A stack symbol and a state, which index an operator."""
Lines = list[tuple[float, int]]
"""The lines of one exit: c and t."""
Exits = dict[int, Lines]
"""By the state in which the symbol has just been popped."""
Edge = tuple[Entry, float, int, Entry]
"""From an entry, with reward c and after t steps, to an entry whose symbol is never popped."""


def solve_machine(table: Table, discount: float) -> MachineOperators:
    """The operators of a machine whose labels can be chosen freely.

    Lines and constants are improved in turn until nothing changes. A run with a loop is never
    better than both the run without it and repeating the loop forever, so few sweeps find lines.
    """
    states = len(table.silent)
    symbols = table.move.shape[2]
    exits: dict[Entry, Exits] = {(z, u): {} for z in range(symbols) for u in range(states)}
    constant = np.full((symbols, states), -inf)
    constant[:, table.first_final :] = 0.0
    for _ in range(MAX_SWEEPS):
        edges: list[Edge] = [((symbols, 0), 0.0, 1, (symbols, 0))]
        changed = False
        for entry, old in exits.items():
            followed = _follow_moves(table, exits, entry, discount, edges)
            new = {
                e: lines[:MAX_LINES]
                for e in sorted(followed)
                if (lines := _keep_highest(followed[e], constant[entry], discount))
            }
            changed = changed or new != old
            exits[entry] = new
        before = constant
        constant = _solve_constants(edges, (symbols, states), discount)
        if not changed and np.array_equal(before, constant):
            break
    listed = {
        entry: [(e, *line) for e, lines in by_exit.items() for line in lines]
        for entry, by_exit in exits.items()
    }
    gain = np.full((symbols, states, max(1, *map(len, listed.values()))), -inf)
    weight = np.zeros_like(gain)
    exit_state = np.zeros(gain.shape, np.int32)
    for entry, all_lines in listed.items():
        for number, (e, c, t) in enumerate(all_lines):
            exit_state[(*entry, number)] = e
            gain[(*entry, number)] = c
            weight[(*entry, number)] = discount**t
    return MachineOperators(constant, exit_state, gain, weight)


def _follow_moves(
    table: Table, exits: dict[Entry, Exits], entry: Entry, discount: float, edges: list[Edge]
) -> Exits:
    """The lines of an entry, by its moves. Edges to symbols that are never popped go to `edges`."""
    z, u = entry
    over = (table.move.shape[2], 0)  # an entry after the last, without further rewards
    silent = int(table.silent[u, z])
    moves = {silent} if silent >= 0 else {int(move) for move in table.move[u, :, z] if move >= 0}
    if not moves:  # the episode is over, or no label can be read
        edges.append((entry, 0.0, 0, over))
    result: Exits = {}
    for move in sorted(moves):
        pushed = tuple(reversed(table.push[move, : table.pushes[move]].tolist()))
        steps = int(silent < 0)
        gain = float(table.reward[move]) * discount**steps
        reached: Exits = {int(table.target[move]): [(gain, steps)]}
        for symbol in pushed if table.pops[move] else (*pushed, z):
            popped: Exits = {}
            for state, lines in reached.items():
                goal = (symbol, state) if state < table.first_final else over
                edges += [(entry, c, t, goal if discount**t else over) for c, t in lines]
                for e, later_lines in exits.get(goal, {}).items():
                    popped.setdefault(e, []).extend(
                        (c + discount**t * later, t + later_steps)
                        for c, t in lines
                        for later, later_steps in later_lines
                    )
            reached = {e: _keep_highest(lines, -inf, discount) for e, lines in popped.items()}
        for state, lines in reached.items():
            final = state >= table.first_final
            edges += [(entry, c, t, over) for c, t in lines if final or not (discount**t)]
            result.setdefault(state, []).extend([] if final else lines)
    return result


def _keep_highest(lines: Lines, constant: float, discount: float) -> Lines:
    """Keep the lines c + γᵗ w of the upper envelope that exceed the constant, shortest first."""
    best: dict[float, tuple[float, int]] = {}
    for c, t in lines:
        weight = discount**t
        if weight > 0 and (weight not in best or c > best[weight][0]):
            best[weight] = c, t
    hull: list[tuple[float, float, int]] = [] if constant == -inf else [(0.0, float(constant), -1)]
    for weight, (c, t) in sorted(best.items()):
        while len(hull) > 1:
            (flat, low, _), (middle, high, _) = hull[-2:]
            meet = (low - c) / (weight - flat)  # where the first and the new line cross
            slack = ROUNDING * (abs(low) + abs(c) + abs(high))
            if high + middle * meet > low + flat * meet + slack:
                break
            hull.pop()
        hull.append((weight, c, t))
    return [(c, t) for _, c, t in reversed(hull) if t >= 0]


def _solve_constants(edges: list[Edge], shape: tuple[int, int], discount: float) -> Rewards:
    """[symbol, state]: the best infinite path along edges, by policy iteration; -inf if none."""
    symbols, states = shape
    source = np.array([z * states + u for (z, u), *_ in edges])
    goal = np.array([z * states + u for *_, (z, u) in edges])
    gain = np.array([c for _, c, _, _ in edges])
    weight = np.array([float(discount) ** t for _, _, t, _ in edges])
    entries = symbols * states + 1
    live = np.ones(entries, np.bool_)
    while True:  # remove edges to entries without edges
        source, goal, gain, weight = (part[live[goal]] for part in (source, goal, gain, weight))
        still_live = np.bincount(source, minlength=entries) > 0
        if (still_live == live).all():
            break
        live = still_live
    value = np.full(entries, -inf)
    chosen = np.zeros(entries, np.int64)
    chosen[source[::-1]] = np.arange(len(source))[::-1]
    for _ in range(MAX_SWEEPS):
        total, later_weight, later = gain[chosen], weight[chosen], goal[chosen]
        while later_weight[live].max() > NEGLIGIBLE:  # double the number of steps
            total = total + later_weight * total[later]
            later_weight = later_weight * later_weight[later]
            later = later[later]
        value[live] = total[live]
        offered = gain + weight * value[goal]
        better = offered > value[source] + ROUNDING * (1 + np.abs(offered))
        if not better.any():
            break
        order = np.flatnonzero(better)[np.argsort(offered[better], kind="stable")]
        chosen[source[order]] = order  # the best edge is assigned last
    return value[:-1].reshape(shape)


def cover_moves(machine: PushdownRewardMachine) -> tuple[Label, ...]:
    """Choose labels that together cause every move of the machine that some label causes.

    >>> from pdrm.language.loading import catalogue
    >>> sorted("".join(sorted(label)) for label in cover_moves(catalogue("letter")))
    ['', 'A', 'B', 'C']
    """
    skipped = machine.otherwise if machine.otherwise.action == "error" else None
    readings = chain(*(rules_at(machine, head) for head in all_heads(machine)))
    examples = (read.example() for rule, read in readings if read and rule is not skipped)
    return tuple(dict.fromkeys(examples))
