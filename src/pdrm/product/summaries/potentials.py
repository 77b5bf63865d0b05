"""Reward shaping from the machine: what a configuration ⟨u, ζ⟩ is worth if the agent could choose every label itself.

With one environment state the moves of a machine are a deterministic problem over its configurations. Its optimal value V(u, ζ)
is found for every stack at once. While a symbol z is on top, what lies below matters only through w(u′), the value once z is
popped at u′. So V(u, zζ) = F_z(w)(u), the highest of a constant (z is never popped) and of lines c + γᵗ w(u′), one for each way
to pop z that is worth taking. The F_z are finite tables, and a symbol that is pushed costs one more look at them. Silent moves are
paid with the label before them; so the tables hold γV, the value a moment before the next label is read.

The potential is Φ = scale * V + shift, and 0 where an episode ends. A step is paid γΦ(after) - Φ(before) more. Whatever Φ is,
this changes no optimal policy (Ng, Harada and Russell 1999), so nothing here needs to be exact. But it is, up to rounding, unless
one exit of a symbol has more than 64 lines; then V is a little less than the optimal value, and `Operators.thinned` says so.

These are the operators of `operators.Summaries` for a domain with one state whose actions are labels, and `tests/properties/shaping.py` compares the two. They are found
here once more because a potential asks for something else: operators of every head at once, which hold for any worth of what is below (silent moves may pay
without end as the stack gets higher, where Summaries have a range only up to a height); a value of 0 where no label can be read, where Summaries have none;
precision relative to each line, not to the largest value; and nothing to compile for whoever wraps an environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from pdrm.errors import BadSetting
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Integers, Rewards, Table, tabulate
from pdrm.machines.transitions import ANY, Stack
from pdrm.product.exploration import Potentials

MOST_SWEEPS = 1_000
"""Rounds over the operators. A machine needs about as many as a useful run to a pop has nested pushes."""
MOST_LINES = 64
"""Of one entry and exit. Of more, those with the fewest steps are kept: every line is a way to act, so values are then too low."""
LONGEST = 2**60
"""Steps: those of a pop may double with every symbol of the machine."""
ROUNDING = 1e-12
"""A line that improves on the others by less, relative to their size, is dropped."""
MOST_CACHED = 100_000
"""Stacks whose values are kept before the cache is emptied."""


# --- What users set


@dataclass(frozen=True, slots=True)
class Shaping:
    """How rewards are shaped: Φ = scale * V + shift before the end of an episode.

    >>> from pdrm.language.loading import catalogue
    >>> potential = Shaping(discount=0.9).of(catalogue("letter"))
    >>> round(potential.value("u1", ("#",)), 3), round(potential.value("u1", ("A", "#")), 3)
    (1.0, 0.89)
    """

    discount: float
    """γ of the agent that learns from the rewards."""
    potential_discount: float | None = None
    """γ of the value V, below 1; None: the agent's."""
    scale: float = 1.0
    """-1 is the sign of Toro Icarte's reward machine code; a small one lets rewards speak first."""
    shift: float = 0.0
    """It acts as initial values do (Müller and Kudenko 2025)."""

    def __post_init__(self) -> None:
        given = {"discount": self.discount, "potential_discount": self.value_discount}
        for name, value in {**given, "scale": self.scale, "shift": self.shift}.items():
            number = (
                isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
            )
            if not number or (name in given and not 0 <= value <= 1):
                wanted = "a number from 0 to 1" if name in given else "a finite number"
                raise BadSetting(
                    f"the {name} of the shaping is {value!r}, but must be {wanted}",
                    fix=f"{name}=0.9",
                )
        if self.value_discount == 1:
            fault = "a machine whose rewards are not discounted may be worth infinitely much"
            raise BadSetting(fault, fix="give the potential a discount below 1 of its own: 0.99")

    @property
    def value_discount(self) -> float:
        """γ of the value V."""
        return self.discount if self.potential_discount is None else self.potential_discount

    def of(
        self, machine: PushdownRewardMachine, labels: Sequence[Label] | None = None
    ) -> Potential:
        """The potential of a machine that reads these labels; None: any label of its alphabet."""
        chosen = find_labels(machine) if labels is None else labels
        return Potential(
            self, machine, solve_operators(tabulate(machine, chosen), float(self.value_discount))
        )


class Potential:
    """Φ of a machine's configurations, readable: the specification of the kernels and of JAX.

    >>> from pdrm.language.loading import catalogue
    >>> potential = Shaping(discount=0.9, scale=-1.0, shift=2.0).of(catalogue("letter"))
    >>> round(potential.potential("u1", ("#",)), 3), round(potential.reward(("u1", ("A", "#")), ("u1", ("#",)), over=False), 3)
    (1.0, -0.21)
    """

    def __init__(
        self, shaping: Shaping, machine: PushdownRewardMachine, operators: Operators
    ) -> None:
        self.shaping, self.machine, self.operators = shaping, machine, operators
        self._state = {
            state: number for number, state in enumerate((*machine.states, *machine.final))
        }
        self._symbol = {symbol: number for number, symbol in enumerate(machine.stack, start=1)}
        self._nodes: dict[
            tuple[int, str], int
        ] = {}  # by the node below and the symbol on top; 0 is the empty stack
        self._values: list[list[float]] = [operators.constant[0].tolist()]
        self._undo = (
            1.0 / shaping.value_discount if shaping.value_discount > 0 else 0.0
        )  # V = 0 without a future
        self.factor = float(shaping.scale) * self._undo
        """Φ = factor * γV + shift."""

    def value(self, state: str, stack: Stack) -> float:
        """V: what the configuration is worth if the agent could choose every label."""
        return self._undo * self._values_of(stack)[self._state[state]]

    def potential(self, state: str, stack: Stack) -> float:
        """Φ before the end of an episode."""
        return self.factor * self._values_of(stack)[self._state[state]] + float(self.shaping.shift)

    def reward(self, before: tuple[str, Stack], after: tuple[str, Stack], *, over: bool) -> float:
        """What a step is paid more: γΦ(after) - Φ(before). At the end of an episode Φ is 0; a cut-off is no end."""
        reached = 0.0 if over else self.potential(*after)
        return float(self.shaping.discount) * reached - self.potential(*before)

    def tables(self, capacity: int = 1024) -> Potentials:
        """The same for kernels, with room for so many stacks."""
        operators, nodes = self.operators, np.zeros((capacity, self.operators.constant.shape[1]))
        nodes[0] = operators.constant[0]
        return Potentials(
            *operators, nodes, np.ones(1, np.int64), self.factor, float(self.shaping.shift)
        )

    def _values_of(self, stack: Stack) -> list[float]:
        """[state]: γV with this stack. Each stack's values are found once, from those of the stack below its top."""
        if len(self._values) > MOST_CACHED:
            self._nodes.clear()
            del self._values[1:]
        node = 0
        for symbol in reversed(stack):
            above = self._nodes.get((node, symbol))
            if above is None:
                above = self._nodes[node, symbol] = len(self._values)
                self._values.append(
                    apply_operator(self.operators, self._symbol[symbol], self._values[node])
                )
            node = above
        return self._values[node]


# --- The operators


class Operators(NamedTuple):
    """F_z of every stack symbol z (0: what is below the last one) as arrays; an entry is ⟨z, u⟩, numbered z * states + u.

    >>> from pdrm.language.loading import catalogue
    >>> letter = catalogue("letter")
    >>> operators = solve_operators(tabulate(letter, find_labels(letter)), 0.9)
    >>> list(operators.lines(symbol=2, state=1))  # A on top, in u1: it is popped in one step, for -0.01
    [(1, -0.009000000000000001, 0.9)]
    """

    constant: Rewards
    """[symbol, state]: the most that a run is worth which never pops the symbol; -inf where there is none."""
    first: Integers
    """[entry + 1]: where the lines of an entry begin; they end where the next begin."""
    exit_state: Integers
    """[line]: the machine state in which the symbol has just been popped."""
    gain: Rewards
    """[line]: c, what was paid until then, discounted."""
    weight: Rewards
    """[line]: γᵗ."""

    def lines(self, symbol: int, state: int) -> Iterator[tuple[int, float, float]]:
        """The lines of an entry: exit, gain and weight."""
        entry = symbol * self.constant.shape[1] + state
        for line in range(self.first[entry], self.first[entry + 1]):
            yield int(self.exit_state[line]), float(self.gain[line]), float(self.weight[line])

    @property
    def thinned(self) -> bool:
        """Whether some exit of a symbol had more lines than are kept."""
        entry = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
        exits = np.unique(entry * self.constant.shape[1] + self.exit_state, return_counts=True)[1]
        return bool(exits.max(initial=0) >= MOST_LINES)


def apply_operator(operators: Operators, symbol: int, below: Sequence[float]) -> list[float]:
    """[state]: F_z(w), where w is `below`."""
    values: list[float] = operators.constant[symbol].tolist()
    for state in range(len(values)):
        for reached, gain, weight in operators.lines(symbol, state):
            value = gain + weight * below[reached]
            values[state] = max(values[state], value)
    return values


def find_labels(machine: PushdownRewardMachine) -> tuple[Label, ...]:
    """Labels of the alphabet of which, wherever the machine stands, one makes every move that some label makes.

    >>> from pdrm.language.loading import catalogue
    >>> sorted("".join(sorted(label)) for label in find_labels(catalogue("letter")))
    ['', 'A', 'B', 'C']
    """
    alphabet, found = machine.alphabet, dict[Label, None]()
    for state in machine.states:
        reading = [rule for rule in machine.rules_from(state) if not rule.silent]
        for top in (None, *machine.stack):
            rules = [rule for rule in reading if rule.looks_at(top)]
            named = [
                cube for rule in rules if rule.top != ANY for cube in alphabet.cubes(rule.guard)
            ]
            pieces = [alphabet.cubes(rule.guard) for rule in rules if rule.top != ANY]
            pieces += [
                alphabet.subtract(alphabet.cubes(rule.guard), named)
                for rule in rules
                if rule.top == ANY
            ]
            if machine.otherwise.action != "error":
                pieces.append(alphabet.complement(rule.guard for rule in rules))
            found |= {alphabet.smallest(piece[0]): None for piece in pieces if piece}
    return tuple(found)


class _Line(NamedTuple):
    gain: float
    steps: int


_Lines = dict[int, list[_Line]]
"""By exit."""
_END = -1
"""In place of an entry: nothing more is paid."""


class _Edge(NamedTuple):
    """One way to go on for ever: something is paid, and after so many steps an entry is reached whose symbol stays."""

    gain: float
    steps: int
    entry: int


def solve_operators(table: Table, discount: float) -> Operators:
    """The operators of a machine compiled for the labels that may be chosen.

    Lines and constants are improved in turn until nothing changes. A run with a loop in it is never better than both the run
    without it and the loop for ever, so lines are compared with the constant, and soon there are no new ones.
    """
    states, symbols = len(table.silent), table.move.shape[2]
    entries = [(z, u) for z in range(symbols) for u in range(states)]
    moves = [_moves(table, z, u, discount) for z, u in entries]
    lines: list[_Lines] = [{} for _ in entries]
    constant = [0.0 if u >= table.first_final else -inf for _, u in entries]
    for _ in range(MOST_SWEEPS):
        edges: list[list[_Edge]] = []
        changed = False
        for entry, (_, u) in enumerate(entries):
            if u >= table.first_final or not moves[entry]:  # over, or no label can be read
                edges.append([_Edge(0.0, 0, _END)])
                continue
            ways, exits = _take_moves(table, moves[entry], lines, states, discount)
            kept = {
                e: _envelope(found, constant[entry], discount)[:MOST_LINES]
                for e, found in exits.items()
            }
            kept = {e: found for e, found in kept.items() if found}
            edges.append(ways)
            changed = changed or kept != lines[entry]
            lines[entry] = kept
        before, constant = constant, _solve_constants(edges, discount)
        if not changed and before == constant:
            break
    listed = [
        (e, line.gain, discount**line.steps)
        for own in lines
        for e in sorted(own)
        for line in own[e]
    ]
    first = np.cumsum([0, *(sum(map(len, own.values())) for own in lines)], dtype=np.int32)
    columns = list(zip(*listed, strict=True)) or [(), (), ()]
    return Operators(
        np.array(constant).reshape(symbols, states), first,
        np.array(columns[0], np.int32), np.array(columns[1], np.float64), np.array(columns[2], np.float64),
    )  # fmt: skip


class _Move(NamedTuple):
    """A move at one entry, with the symbols above what was below the top, top first, and the steps it takes."""

    gain: float
    steps: int
    target: int
    above: tuple[int, ...]


def _moves(table: Table, z: int, u: int, discount: float) -> list[_Move]:
    """The moves that can be chosen with this symbol on top: the silent one, or those that read a label."""
    silent = int(table.silent[u, z])
    numbers = (
        [silent]
        if silent >= 0
        else sorted({int(move) for move in table.move[u, :, z] if move >= 0})
    )
    found = []
    for move in numbers:
        pushed = tuple(reversed(table.push[move, : table.pushes[move]].tolist()))
        above = pushed if table.pops[move] else (*pushed, z)
        gain = float(table.reward[move]) * (discount if silent < 0 else 1.0)
        found.append(_Move(gain, int(silent < 0), int(table.target[move]), above))
    return found


def _take_moves(
    table: Table, moves: list[_Move], lines: list[_Lines], states: int, discount: float
) -> tuple[list[_Edge], _Lines]:
    """Where the moves of an entry lead: to entries whose symbol is never popped, and out of all that they put there."""
    edges: list[_Edge] = []
    exits: _Lines = {}
    for move in moves:
        reached: _Lines = {move.target: [_Line(move.gain, move.steps)]}
        for symbol in (*move.above, None):
            after: _Lines = {}
            for state, ways in reached.items():
                if state >= table.first_final:
                    edges += [_Edge(way.gain, way.steps, _END) for way in ways]
                elif symbol is None:
                    exits.setdefault(state, []).extend(ways)
                else:
                    entry = symbol * states + state
                    edges += [_Edge(way.gain, way.steps, entry) for way in ways]
                    for e, more in lines[entry].items():
                        after.setdefault(e, []).extend(
                            _Line(way.gain + discount**way.steps * line.gain, min(way.steps + line.steps, LONGEST))
                            for way in ways for line in more
                        )  # fmt: skip
            reached = {e: _envelope(found, -inf, discount) for e, found in after.items()}
    return edges, exits


def _envelope(lines: list[_Line], constant: float, discount: float) -> list[_Line]:
    """Of lines gain + γ^steps * w, those that are highest somewhere, and above the constant; fewest steps first."""
    best: dict[float, _Line] = {}
    for line in lines:
        weight = discount**line.steps
        if weight not in best or line.gain > best[weight].gain:
            best[weight] = line
    kept: list[tuple[float, float, _Line | None]] = (
        [] if constant == -inf else [(0.0, constant, None)]
    )
    for weight in sorted(best):
        gain, line = best[weight].gain, best[weight]
        if kept and weight <= kept[-1][0]:  # a weight of 0: no better than the constant
            continue
        while len(kept) > 1 and not _is_highest(kept[-2], kept[-1], (weight, gain, line)):
            kept.pop()
        kept.append((weight, gain, line))
    return [line for _, _, line in reversed(kept) if line is not None]


def _is_highest(
    low: tuple[float, float, _Line | None],
    middle: tuple[float, float, _Line | None],
    high: tuple[float, float, _Line | None],
) -> bool:
    """Whether, of three lines by weight, the middle one is above the others where these two meet."""
    meet = (low[1] - high[1]) / (high[0] - low[0])
    there = low[1] + low[0] * meet
    return middle[1] + middle[0] * meet > there + ROUNDING * (
        abs(low[1]) + abs(high[1]) + abs(middle[1])
    )


def _solve_constants(edges: list[list[_Edge]], discount: float) -> list[float]:
    """[entry]: the most that a way along the edges for ever is worth, by policy iteration: -inf where there is none."""
    live = [list(own) for own in edges]
    while True:  # an edge to an entry that has none leads nowhere
        dead = {entry for entry, own in enumerate(live) if not own}
        left = [[edge for edge in own if edge.entry not in dead] for own in live]
        if left == live:
            break
        live = left
    choice = [0] * len(live)
    for _ in range(MOST_SWEEPS):
        value = _follow_choice(live, choice, discount)
        changed = False
        for entry, own in enumerate(live):
            for number, edge in enumerate(own):
                later = 0.0 if edge.entry == _END else value[edge.entry]
                offered = edge.gain + discount**edge.steps * later
                if offered > value[entry] + ROUNDING * (1 + abs(offered)):
                    value[entry], choice[entry], changed = offered, number, True
        if not changed:
            break
    return value


def _follow_choice(edges: list[list[_Edge]], choice: list[int], discount: float) -> list[float]:
    """[entry]: what it is worth to follow one chosen edge from each."""
    value: list[float | None] = [None if own else -inf for own in edges]
    for start in range(len(edges)):
        way: list[int] = []
        at = start
        while at != _END and value[at] is None and at not in way:
            way.append(at)
            at = edges[at][choice[at]].entry
        if at != _END and value[at] is None:  # a loop: round it once from `at`
            gain, weight, place = 0.0, 1.0, at
            while True:
                edge = edges[place][choice[place]]
                gain, weight, place = (
                    gain + weight * edge.gain,
                    weight * discount**edge.steps,
                    edge.entry,
                )
                if place == at:
                    break
            value[at] = gain / (1.0 - weight) if weight < 1.0 else -inf
        for place in reversed(way):
            edge = edges[place][choice[place]]
            if value[place] is None:
                later = 0.0 if edge.entry == _END else value[edge.entry]
                assert later is not None
                value[place] = edge.gain + discount**edge.steps * later
    return [-inf if one is None else one for one in value]
