"""Reward shaping from the machine: V(u, ζ), the value if the agent could choose every label itself.

With one environment state the moves of a machine are a deterministic problem over configurations.
While a symbol z is on top, what lies below matters only through w(u′), the value once z is popped
at u′. So V(u, zζ) = F_z(w)(u) is the highest of a constant (z is never popped) and of lines
c + γᵗ w(u′). Silent moves are paid with the label before them, so the tables hold γV, the value just
before the next label is read. `analysis/whole_stack` has the same operators for whole domains.

The potential is Φ = scale * V + shift, and 0 when an episode has ended; a step is paid
γΦ(after) - Φ(before) more. This changes no optimal policy (Ng, Harada and Russell 1999).
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
from pdrm.machines.heads import all_heads, readings_at
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Integers, Rewards, Table, tabulate
from pdrm.machines.transitions import Stack
from pdrm.product.explore_kernel import Potentials

MAX_SWEEPS = 1_000
"""Sweeps over the operators: about as many as a run to a pop has nested pushes."""
MAX_LINES = 64
"""Lines of one exit. If there are more, those with the fewest steps are kept, and V is too low."""
ROUNDING = 1e-12
"""A line or way that gains less, relative to its size, is dropped."""
NEGLIGIBLE = 1e-18


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
    """-1 is the sign of Toro Icarte's reward machine code; a small one lets rewards speak first."""
    shift: float = 0.0
    """It acts as initial values do (Müller and Kudenko 2025)."""

    def __post_init__(self) -> None:
        numbers = (self.discount, self.value_discount, self.scale, self.shift)
        finite = all(isinstance(number, int | float) and isfinite(number) for number in numbers)
        if not finite or not 0 <= self.discount <= 1 or not 0 <= self.value_discount < 1:
            fix = (
                "give finite numbers, discount from 0 to 1, and potential_discount below 1, such as 0.99: "
                "a machine whose rewards are not discounted may be worth infinitely much"
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
        self._undo = 1.0 / shaping.value_discount if shaping.value_discount > 0 else 0.0
        self.factor = float(shaping.scale) * self._undo
        """Φ = factor * γV + shift."""

    def value(self, state: str, stack: Stack) -> float:
        """V: the value of a configuration if the agent could choose every label."""
        return float(self._undo * self.find_values(stack)[self._states[state]])

    def potential(self, state: str, stack: Stack) -> float:
        """Φ before the end of an episode."""
        values = self.find_values(stack)
        return float(self.factor * values[self._states[state]] + self.shaping.shift)

    def reward(self, before: tuple[str, Stack], after: tuple[str, Stack], *, over: bool) -> float:
        """The shaping of a step: γΦ(after) - Φ(before). Φ is 0 if the episode has terminated."""
        reached = 0.0 if over else self.potential(*after)
        return float(self.shaping.discount) * reached - self.potential(*before)

    def tables(self, capacity: int = 1024) -> Potentials:
        """The same for kernels, with room for that many stacks."""
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
    """[symbol, state]: the best that never pops the symbol; -inf if there is none."""
    exit_state: Integers
    """[symbol, state, line]: the state in which the symbol has just been popped."""
    gain: Rewards
    """[symbol, state, line]: c, the discounted pay until then; -inf if there are fewer lines."""
    weight: Rewards
    """[symbol, state, line]: γᵗ."""

    def apply(self, symbol: int, below: Rewards) -> Rewards:
        """[state]: F_z(w), if `below` is w."""
        lines = self.gain[symbol] + self.weight[symbol] * below[self.exit_state[symbol]]
        values: Rewards = np.maximum(self.constant[symbol], lines.max(axis=-1))
        return values


Head = tuple[int, int]
"""A stack symbol and a state."""
Ways = list[tuple[float, int]]
"""Lines to one exit: c and t."""
Exits = dict[int, Ways]
"""By the state in which the symbol has just been popped."""
Edge = tuple[Head, float, int, Head]
"""From a head, c is paid until after t steps another is reached whose symbol stays for ever."""


def solve_machine(table: Table, discount: float) -> MachineOperators:
    """The operators of a machine compiled for the labels that may be chosen.

    Lines and constants are improved in turn until nothing changes. A run with a loop in it is never
    better than both the run without it and the loop for ever; so soon there are no new lines.
    """
    states = len(table.silent)
    symbols = table.move.shape[2]
    lines: dict[Head, Exits] = {(z, u): {} for z in range(symbols) for u in range(states)}
    constant = np.full((symbols, states), -inf)
    constant[:, table.first_final :] = 0.0
    for _ in range(MAX_SWEEPS):
        edges: list[Edge] = [((symbols, 0), 0.0, 1, (symbols, 0))]
        changed = False
        for head, old in lines.items():
            found = _follow(table, lines, head, discount, edges)
            kept = {
                e: ways[:MAX_LINES]
                for e in sorted(found)
                if (ways := _keep_highest(found[e], constant[head], discount))
            }
            changed = changed or kept != old
            lines[head] = kept
        before = constant
        constant = _solve_constants(edges, (symbols, states), discount)
        if not changed and np.array_equal(before, constant):
            break
    listed = {head: [(e, *way) for e in own for way in own[e]] for head, own in lines.items()}
    gain = np.full((symbols, states, max(1, *map(len, listed.values()))), -inf)
    weight = np.zeros_like(gain)
    exit_state = np.zeros(gain.shape, np.int32)
    for head, own in listed.items():
        for number, (e, c, t) in enumerate(own):
            exit_state[(*head, number)] = e
            gain[(*head, number)] = c
            weight[(*head, number)] = discount**t
    return MachineOperators(constant, exit_state, gain, weight)


def _follow(
    table: Table, lines: dict[Head, Exits], head: Head, discount: float, edges: list[Edge]
) -> Exits:
    """The lines that the moves of a head lead to; ways on which its symbol stays are put in `edges`."""
    z, u = head
    over = (table.move.shape[2], 0)  # a head after the last: nothing more is paid
    silent = int(table.silent[u, z])
    moves = {silent} if silent >= 0 else {int(move) for move in table.move[u, :, z] if move >= 0}
    if not moves:  # the episode is over, or no label can be read
        edges.append((head, 0.0, 0, over))
    exits: Exits = {}
    for move in sorted(moves):
        pushed = tuple(reversed(table.push[move, : table.pushes[move]].tolist()))
        steps = int(silent < 0)
        gain = float(table.reward[move]) * discount**steps
        reached: Exits = {int(table.target[move]): [(gain, steps)]}
        for symbol in pushed if table.pops[move] else (*pushed, z):
            after: Exits = {}
            for state, ways in reached.items():
                goal = (symbol, state) if state < table.first_final else over
                edges += [(head, c, t, goal if discount**t else over) for c, t in ways]
                for e, more in lines.get(goal, {}).items():
                    after.setdefault(e, []).extend(
                        (c + discount**t * later, t + more_steps)
                        for c, t in ways
                        for later, more_steps in more
                    )
            reached = {e: _keep_highest(ways, -inf, discount) for e, ways in after.items()}
        for state, ways in reached.items():
            last = state >= table.first_final
            edges += [(head, c, t, over) for c, t in ways if last or not (discount**t)]
            exits.setdefault(state, []).extend([] if last else ways)
    return exits


def _keep_highest(ways: Ways, constant: float, discount: float) -> Ways:
    """Of lines c + γᵗ w, those that are highest for some w, and above the constant; shortest first."""
    best: dict[float, tuple[float, int]] = {}
    for c, t in ways:
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
    """[symbol, state]: the best way along the edges for ever, by policy iteration; -inf for none."""
    symbols, states = shape
    source = np.array([z * states + u for (z, u), *_ in edges])
    goal = np.array([z * states + u for *_, (z, u) in edges])
    gain = np.array([c for _, c, _, _ in edges])
    weight = np.array([float(discount) ** t for _, _, t, _ in edges])
    heads = symbols * states + 1
    live = np.ones(heads, np.bool_)
    while True:  # an edge to a head that has none leads nowhere
        source, goal, gain, weight = (part[live[goal]] for part in (source, goal, gain, weight))
        left = np.bincount(source, minlength=heads) > 0
        if (left == live).all():
            break
        live = left
    value = np.full(heads, -inf)
    chosen = np.zeros(heads, np.int64)
    chosen[source[::-1]] = np.arange(len(source))[::-1]
    for _ in range(MAX_SWEEPS):
        paid, left_weight, then = gain[chosen], weight[chosen], goal[chosen]
        while left_weight[live].max() > NEGLIGIBLE:  # twice as many steps at once
            paid = paid + left_weight * paid[then]
            left_weight = left_weight * left_weight[then]
            then = then[then]
        value[live] = paid[live]
        offered = gain + weight * value[goal]
        better = offered > value[source] + ROUNDING * (1 + np.abs(offered))
        if not better.any():
            break
        order = np.flatnonzero(better)[np.argsort(offered[better], kind="stable")]
        chosen[source[order]] = order  # the best comes last
    return value[:-1].reshape(shape)


def cover_moves(machine: PushdownRewardMachine) -> tuple[Label, ...]:
    """Labels with which every move that some label makes can be made.

    >>> from pdrm.language.loading import catalogue
    >>> sorted("".join(sorted(label)) for label in cover_moves(catalogue("letter")))
    ['', 'A', 'B', 'C']
    """
    skipped = machine.otherwise if machine.otherwise.action == "error" else None
    readings = chain(*(readings_at(machine, head) for head in all_heads(machine)))
    chosen = (read.example() for rule, read in readings if read and rule is not skipped)
    return tuple(dict.fromkeys(chosen))
