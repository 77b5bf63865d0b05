"""Summaries: for every environment state, machine state and top symbol, what the symbol is worth as a function of what is below.

What happens while a symbol is on top does not depend on the stack below it, except through what that is worth once the symbol is
gone. Where moves are deterministic, a way of acting pops the symbol after t steps at an *exit* (an environment and a machine state), having
gained c, or never does. So the value is

    F(w) = max( C, the greatest c + γᵗ w(e) over the lines (c, t) of every exit e ),

with w(e) the worth of the stack below at that exit: a constant and some lines, however high the stack is. The worth of a stack is a
composition of these operators, one for each symbol, from the bottom up. `Summaries` finds and keeps them (`summary_kernel`, on the
heads of `heads`); it takes a `World`, which may be a whole domain, what a learner has seen of it, or one state whose actions are labels.

The *worth* of a configuration is what it adds to the value of the one a step earlier: γ times its value, and before that what its pending
silent moves pay, undiscounted. So V(c) is the greatest, over the actions, of what the step pays and the worth of where its label leads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import DomainArrays, FiniteDomain
from pdrm.errors import BadSetting, ProductTooLarge, StochasticMoves
from pdrm.machines.tables import Integers, Symbols, Table
from pdrm.product.hash_kernel import Index
from pdrm.product.summaries.heads import Heads, Silence, find_heads, measure_silence
from pdrm.product.summaries.summary_kernel import (
    BLOCKS,
    COUNTERS,
    DONE,
    ENTRIES,
    GUESS,
    LINES,
    MORE_BLOCKS,
    MORE_EDGES,
    MORE_ENTRIES,
    MORE_LEVELS,
    MORE_LINES,
    MORE_RECORDS,
    NEXT,
    NONE,
    TRIED,
    UNDEFINED,
    VISITS,
    WAITING,
    Floats,
    Scale,
    Store,
    World,
    compact,
    enqueue,
    find_entry,
    settle,
)
from pdrm.product.summaries.worth_kernel import Levels, bound_by_top, check, evaluate

EPSILON = float(np.finfo(np.float64).eps)
NEGLIGIBLE = 1e-18
"""A power of the discount as small as this changes a value by less than a rounding."""
MOST_POWERS = 8_000_000
MOST_SWEEPS = 10_000
"""Of looking for the range of values."""
MOST_HEADS = 100_000_000
"""Environment states times machine states times symbols, at most: each has a number in an array."""
ROUNDINGS = 64
"""How many roundings of the largest number one move's arithmetic has at most, generously counted."""
HEIGHT = 1_000
"""The height of stacks that errors are stated for, where silent moves or rounding make them depend on it."""
VISITS_AT_ONCE, VISITS_WITHIN_TIME = 1_000_000, 1_000
FIRST_SEEN = 64
"""Symbols of a high stack that are looked at before more of it is."""


@dataclass(frozen=True, slots=True)
class Line:
    """One way of acting until the symbol is gone: c + γᵗ w(place, state).

    >>> Line(c=2.0, t=3, place=1, state=0).at(10.0, 0.5)
    3.25
    """

    c: float
    t: int
    place: int
    """The environment state of the exit."""
    state: int
    """The machine state of the exit."""

    def at(self, w: float, discount: float) -> float:
        """Its height, given the worth of what is below at the exit."""
        return float(self.c + discount**self.t * w)


class Operator(NamedTuple):
    """What a symbol on top is worth, as a function of what is below: the greatest of a constant and some lines.

    >>> Operator(1.0, (Line(0.0, 1, place=0, state=0),)).at(lambda place, state: 8.0, 0.5)
    4.0
    """

    constant: float
    """What can be had without the symbol ever being popped, or the lowest value there can be."""
    lines: tuple[Line, ...]

    def at(self, w: Callable[[int, int], float], discount: float) -> float:
        """Its height, where `w(place, state)` is the worth of what is below."""
        return max(
            (self.constant, *(line.at(w(line.place, line.state), discount) for line in self.lines))
        )


class Undefined(NamedTuple):
    """A move that the machine does not define: `otherwise error`, and no rule applies."""

    place: int
    action: int
    state: int
    symbol: int


class Look(NamedTuple):
    """The values of actions in a configuration, and what they depend on."""

    values: list[float | None]
    """[action]: None where it is not known or the machine has no move for it."""
    depth: int
    """The symbols of the stack that they depend on; more than there are: on where it ends, too."""


class Size(NamedTuple):
    """What is kept."""

    entries: int
    exits: int
    lines: int
    numbers: int
    """All of it, as numbers in arrays in use."""


class Summaries:
    """The operators of a world and a machine, each found when it is first asked for.

    Places are environment states, states machine states and symbols stack symbols, by number as in `World` and `Table`; symbol 0
    is the empty stack.

    >>> from pdrm.machines.tables import tabulate
    >>> from pdrm.task import Task
    >>> maze = Task("maze-5x5")
    >>> found = Summaries(world_of(maze.finite.arrays), tabulate(maze.pushdown, maze.finite.labels), 0.99)
    >>> round(found.value(0, 0, (1,)), 3), found.error < 1e-3
    (91356.433, True)

    `precision`: the error of values to aim at, as a share of the largest value there can be.
    `largest_unknown`: moves that are not known may become known (see `note`), and the environment then pays no more than this, or less
    than its negative; None: what is not known cannot be done.
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
        self.world, self.table, self.discount, self.precision = world, table, discount, precision
        self.heads: Heads = find_heads(table)
        self.silence: Silence = measure_silence(table)
        places, states, symbols = (
            len(world.terminal),
            len(self.heads.silent),
            self.heads.silent.shape[1],
        )
        if places * states * symbols > MOST_HEADS:
            fault = f"{places:,} environment states, {states} machine states and {symbols} stack symbols are too many"
            raise ProductTooLarge(fault, fix="use a smaller domain or machine")
        self.scale = self._measure(largest_unknown)
        self.store = _room(places, states, symbols)
        self._residual: tuple[int, Floats] | None = None
        self.most = count_numbers(self.store)
        """Numbers in the arrays of the store, those in reserve included, at most so far; while room is made there are an old and a new array."""
        self._compacted = -1
        self.until = inf
        """The moment (`monotonic`) after which settling raises a TimeoutError."""

    # --- What one asks

    def value(self, place: int, state: int, stack: Sequence[int]) -> float:
        """The value of a configuration, with the stack top first; what pending silent moves pay is part of it."""
        state, symbols, paid = rest_table(self.table, state, tuple(stack))
        return paid + max(
            (value for value in self.action_values(place, state, symbols) if value is not None),
            default=0.0,
        )

    def action_values(self, place: int, state: int, stack: Sequence[int]) -> list[float | None]:
        """[action]: what it pays, and what acting optimally from then on is worth; None where it is not known or the machine has no move
        for it. Nothing where the episode is over. No silent move may be pending."""
        return self.look(place, state, stack).values

    def look(self, place: int, state: int, stack: Sequence[int]) -> Look:
        """The same, and how many symbols of the stack it depends on: below an operator without lines nothing matters."""
        if state >= self.heads.first_final or self.world.terminal[place]:
            return Look([], 0)
        symbols, found, depth = tuple(stack), list[float | None](), 1
        for after, label, r in zip(
            *(array[place].tolist() for array in self.world[:3]), strict=True
        ):
            move = int(self.table.move[state, label, symbols[0] if symbols else 0])
            if after < 0 or move < 0:
                found.append(None)
                continue
            target, pushed, paid = read_move(self.table, move, symbols)
            worth, looked = self._find_worth(after, target, pushed)
            found.append(r + paid + worth)
            depth = max(depth, looked + len(symbols) - len(pushed))
        return Look(found, depth)

    def worth(self, place: int, state: int, stack: Sequence[int]) -> float:
        """What a configuration adds to the value of the one a step earlier, with the stack top first."""
        return self._find_worth(place, state, stack)[0]

    def _find_worth(self, place: int, state: int, stack: Sequence[int]) -> tuple[float, int]:
        """The worth, and how many symbols were looked at; the empty stack counts as one."""
        if state >= self.heads.first_final:
            return 0.0, 0
        e = np.array([place * len(self.heads.silent) + state], np.int32)
        seen = FIRST_SEEN
        while True:
            some = [*stack[:seen]] if seen <= len(stack) else [*stack, 0]
            values, looked = self._evaluate(e, np.array(some, np.int32))
            if values is not None:
                return float(values[0]), looked
            seen *= 8

    def operator(self, place: int, state: int, symbol: int) -> Operator:
        """The operator of a symbol on top: its worth as a function of the worth of what is below."""
        return self.compose(place, state, (symbol,))

    def action_operator(self, place: int, state: int, symbol: int, action: int) -> Operator | None:
        """The value of an action with a symbol on top, as a function of the worth of what is below; None where it is not known or the machine
        has no move for it. No silent move may be pending at this head."""
        after = int(self.world.next[place, action])
        rule = int(self.heads.move[state, self.world.label[place, action], symbol])
        if after < 0 or rule < 0:
            return None
        r, heads = float(self.world.reward[place, action] + self.heads.reward[rule]), self.heads
        pushed = (int(heads.first[rule]), int(heads.second[rule]))[: heads.count[rule]]
        found = self.compose(after, int(heads.target[rule]), pushed)
        return Operator(
            r + found.constant, tuple(replace(line, c=r + line.c) for line in found.lines)
        )

    def compose(self, place: int, state: int, symbols: Sequence[int]) -> Operator:
        """The operator of several symbols on top of each other, top first: its lines end when all of them are gone."""
        constant, lines = -inf, {(place, state): {0: 0.0}}
        for symbol in symbols:
            constant, lines = self._put_below(constant, lines, symbol)
        if state >= self.heads.first_final:
            return Operator(0.0, ())
        return Operator(constant, tuple(_list_lines(lines)))

    def range(self, place: int, state: int) -> tuple[float, float]:
        """Between which numbers the worth is here, whatever the stack."""
        e = place * len(self.heads.silent) + state
        return float(self.scale.low[e]), float(self.scale.high[e])

    @property
    def error(self) -> float:
        """How far any value can be from the true one, with stacks of up to 1,000 symbols; see `error_at`."""
        return self.error_at(HEIGHT)

    def error_at(self, height: int) -> float:
        """How far any value of a stack of that height can be from the true one: a proof, from what one move changes.

        Let T be the Bellman operator of all configurations and W the worth that is found: then |W - W*| is at most the greatest
        |W - TW| divided by 1 - γ, since T brings any two functions closer by γ; and a value is a reward and a worth. Worth is composed of operators, so |W - TW| is at most
        the greatest difference of an operator F and of what one move makes of the operators, over all w in the range of worth:
        `check` in the kernel measures it, in both directions, line by line, at the one w where it can be greatest. What was dropped
        within the tolerance is part of this difference. Added to it are moves that take no time (their differences follow each other in one step),
        how far operators leave the range of values (to which values are clipped), and every rounding, as 64 roundings of the largest number
        in the arithmetic of a move and of each symbol of the stack.
        """
        step, silent, outside, largest = self._measure_residual()
        gap, roundings = 1 - self.discount, ROUNDINGS * EPSILON * largest
        chain = self.silence.pushed + self.silence.most(height) * (1 + self.silence.pushed)
        later = (
            0.0
            if self.silence.longest is not None
            else self.silence.each * self.silence.pushed / gap
        )
        moves = (
            step
            + 2 * outside
            + roundings
            + (chain + later * (1 + self.silence.pushed)) * (silent + roundings)
        )
        return float(moves / gap * (1 + 1e-9) + (height + 1) * roundings)

    @property
    def undefined(self) -> Undefined | None:
        """A move that was needed and that the machine does not define."""
        x = int(self.store.counter[UNDEFINED])
        if x == NONE:
            return None
        store = self.store
        return Undefined(
            int(store.place[x]),
            int(store.counter[TRIED]),
            int(store.state[x]),
            int(store.symbol[x]),
        )

    @property
    def size(self) -> Size:
        """What is kept so far."""
        lengths, entries = (
            self.store.length[: self.store.counter[BLOCKS]],
            int(self.store.counter[ENTRIES]) - 1,
        )
        lines, exits = int(lengths.sum()), int((lengths > 0).sum())
        return Size(
            entries,
            exits,
            lines,
            PER_LINE * lines + len(PER_BLOCK) * exits + len(PER_ENTRY) * entries,
        )

    # --- Finding them

    def settle(self) -> None:
        """Visit what is waiting until nothing gains more than the tolerance."""
        few = VISITS_AT_ONCE if self.until == inf else VISITS_WITHIN_TIME
        while (status := settle(self.heads, self.world, self.scale, self.store, few)) != DONE:
            self._make_room(status)
            if monotonic() > self.until:
                raise TimeoutError("time is up")

    def note(self, place: int) -> None:
        """Have the entries of an environment state visited again, because a move there has become known in `world`."""
        for x in self.store.entry[place].ravel().tolist():
            if x != NONE:
                enqueue(self.store, x)

    def _find(self, place: int, state: int, symbol: int) -> int:
        """The number of an entry, settled."""
        while (x := find_entry(self.store, self.scale.lowest, place, state, symbol)) == NONE:
            self._make_room(MORE_ENTRIES)
        if self.store.counter[WAITING]:
            self.settle()
        return x

    def _put_below(self, constant: float, lines: _Lines, symbol: int) -> tuple[float, _Lines]:
        """Lines that go on with a symbol once they end."""
        found: _Lines = {}
        todo = [(e, prefix, symbol) for e, prefix in lines.items()]
        while todo:
            (place, state), prefix, symbol = todo.pop()
            stand_in = int(self.heads.stand_in[state, symbol])
            x, store = self._find(place, state, symbol if stand_in < 0 else stand_in), self.store
            constant = max(
                constant,
                *(c + self.discount**t * float(store.constant[x]) for t, c in prefix.items()),
            )
            b = int(store.block[x])
            while b != NONE:
                e = divmod(int(store.exit[b]), len(self.heads.silent))
                ways: dict[int, float] = {}
                for m in range(int(store.start[b]), int(store.start[b] + store.length[b])):
                    for t, c in prefix.items():
                        later, gain = t + int(store.t[m]), c + self.discount**t * float(store.c[m])
                        ways[later] = max(gain, ways.get(later, -inf))
                if stand_in >= 0 and ways:
                    todo.append((e, ways, symbol))
                for t, c in ways.items() if stand_in < 0 else ():
                    into = found.setdefault(e, {})
                    into[t] = max(c, into.get(t, -inf))
                b = int(store.following[b])
        return constant, {e: self._keep_highest(e, ways, constant) for e, ways in found.items()}

    def _keep_highest(
        self, e: tuple[int, int], ways: dict[int, float], constant: float
    ) -> dict[int, float]:
        """Those lines to an exit that are the highest for some w."""
        low, high = self.range(*e)
        kept: list[tuple[int, float, float]] = []  # t, c, and the w up to which it is the highest
        for t, c in sorted(ways.items()):
            slope, top = self.discount**t, high
            while kept:
                old, gain, end = kept[-1]
                top = (c - gain) / (self.discount**old - slope)
                if top < end:
                    break
                kept.pop()
                top = high
            if top > low and c + slope * top > constant:
                kept.append((t, c, min(top, high)))
        return {t: c for t, c, _ in kept}

    def _evaluate(self, exits: Integers, stack: Integers) -> tuple[Floats | None, int]:
        """The worth at some exits, and how many symbols were looked at; None: it depends on what is below these."""
        if self.store.counter[WAITING]:  # what was noted counts from now on
            self.settle()
        room = max(1024, 2 * len(exits))
        while True:
            levels = Levels(
                np.zeros(len(stack) + 1, np.int64), np.zeros(room, np.int32), np.zeros(room)
            )
            levels.exit[: len(exits)], levels.first[1] = exits, len(exits)
            status, looked = evaluate(self.heads, self.scale, self.store, stack, levels)
            if status == DONE:
                return levels.value[: len(exits)], looked
            if status == MORE_LEVELS:
                return None, looked
            if status == MORE_RECORDS:
                room *= 4
                continue
            if self.store.counter[ENTRIES] >= len(self.store.place):
                self._make_room(MORE_ENTRIES)
            self.settle()

    def _measure_residual(self) -> Floats:
        """Of moves with a step, of moves without, how far operators leave the range of values, and the largest number."""
        if self.store.counter[WAITING]:
            self.settle()
        entries = int(self.store.counter[ENTRIES])
        if self._residual is None or self._residual[0] != self.store.counter[VISITS]:
            found, x = np.zeros(4), 1
            while x < entries:
                x, status = check(self.heads, self.world, self.scale, self.store, x, found)
                if status != DONE:
                    self._make_room(status)
            paid = np.abs(self.world.reward).max() + np.abs(self.table.reward).max()
            largest = (
                max(found[3], *(float(np.abs(bound).max()) for bound in self.scale[1:3])) + paid
            )
            found[2], found[3] = max(0.0, found[2]), largest
            self._residual = int(self.store.counter[VISITS]), found
        return self._residual[1]

    def _make_room(self, status: int) -> None:
        """Twice the room for what there was none for; for lines, half as much again as are in use, once the others are dropped."""
        store, counter = self.store, self.store.counter
        longer: dict[str, Any] = {}
        if status == MORE_ENTRIES:
            longer = {name: _lengthen(getattr(store, name)) for name in PER_ENTRY}
            queue, waiting = np.zeros(len(longer["place"]), np.int32), int(counter[WAITING])
            queue[:waiting] = store.queue[(counter[NEXT] + np.arange(waiting)) % len(store.queue)]
            longer["queue"], counter[NEXT] = queue, 0
        elif status == MORE_LINES:
            needed = int(store.length[: counter[BLOCKS]].sum())
            useless = counter[LINES] == self._compacted  # nothing has fitted since the last time
            length = max(FIRST_ROOM, 3 * needed // 2, 2 * len(store.c) if useless else 0)
            longer = {
                "c": np.zeros(length),
                "t": np.zeros(length, np.int32),
                "vertex": np.zeros(length),
            }
            counter[LINES] = self._compacted = compact(store, **longer)
        elif status == MORE_EDGES:
            longer = {name: _lengthen(getattr(store, name)) for name in PER_EDGE}
            longer["edges"] = Index.of(
                store.edges.key[: int(store.edges.used[0])], 2 * len(store.edges.key)
            )
        elif status in (MORE_BLOCKS, MORE_RECORDS):
            names = PER_BLOCK if status == MORE_BLOCKS else PER_RECORD
            longer = {name: _lengthen(getattr(store, name)) for name in names}
        self.most = max(self.most, count_numbers(store) + count_numbers(longer.values()))
        self.store = store._replace(**longer)

    # --- Between which numbers values are

    def _measure(self, largest_unknown: float | None) -> Scale:
        world, heads, gap = self.world, self.heads, 1 - self.discount
        lowest, highest = self._bound_all(largest_unknown or 0.0)
        unknown = -inf if largest_unknown is None else highest
        shape = len(world.terminal), len(heads.silent), heads.symbols
        lows, highs = np.full(shape, lowest), np.full(shape, highest)
        lows[:, heads.first_final :] = highs[:, heads.first_final :] = 0.0
        largest = max(highest, -lowest, float(np.finfo(np.float64).tiny))
        if self.silence.longest is not None:
            bound_by_top(
                heads, world, self.discount, lows, highs, unknown, MOST_SWEEPS, 1e-6 * largest
            )
        low, high = (
            lows.min(axis=2).ravel() - 1e-9 * largest,
            highs.max(axis=2).ravel() + 1e-9 * largest,
        )
        largest = float(max(np.abs(low).max(), np.abs(high).max()))
        tolerance = max(0.35 * self.precision * gap * largest, 4 * EPSILON * largest)
        chain = self.silence.pushed + self.silence.most(HEIGHT) * (1 + self.silence.pushed)
        return Scale(
            _list_powers(self.discount), low, high, lowest, tolerance, tolerance / (1 + chain)
        )

    def _bound_all(self, more: float) -> tuple[float, float]:
        """No value is less than the one or more than the other: as if every step paid the least, or the most, that any pays."""
        known, silent = self.world.next >= 0, self.table.silent[self.table.silent >= 0]
        own = self.world.reward[known] if known.any() else np.zeros(1)
        gap, moves = 1 - self.discount, self.silence.most(HEIGHT)
        if self.silence.longest is None:
            moves += int(np.ceil(self.silence.each * self.silence.pushed / gap))
        bounds = []
        for extreme in (np.min, np.max):
            step = extreme([*own, -more, more]) + extreme(self.table.reward)
            free = extreme([*self.table.reward[silent], 0.0])
            bounds.append(float((step + moves * free) / gap + moves * free) * (1 + 1e-9))
        return bounds[0], bounds[1]


def rest_table(table: Table, state: int, symbols: Symbols) -> tuple[int, Symbols, float]:
    """A configuration after its silent moves, and what they pay."""
    paid = 0.0
    while (move := int(table.silent[state, symbols[0] if symbols else 0])) >= 0:
        state, symbols, r = read_move(table, move, symbols)
        paid += r
    return state, symbols, paid


def read_move(table: Table, move: int, symbols: Symbols) -> tuple[int, Symbols, float]:
    """The state and stack after one move, and what it pays."""
    pushed = reversed(table.push[move, : table.pushes[move]].tolist())
    return (
        int(table.target[move]),
        (*pushed, *symbols[table.pops[move] :]),
        float(table.reward[move]),
    )


_Lines = dict[tuple[int, int], dict[int, float]]
"""By exit: the greatest c of each t."""


def _list_lines(lines: _Lines) -> Iterator[Line]:
    for (place, state), ways in sorted(lines.items()):
        for t, c in sorted(ways.items()):
            yield Line(c, t, place, state)


def world_of(arrays: DomainArrays) -> World:
    """The world of a domain whose moves are deterministic: of each action's outcomes, the one that happens.

    >>> from pdrm.domains.paper_domains import domain
    >>> world_of(domain("maze-5x5").arrays).next.shape
    (8, 4)
    """
    happens = arrays.probability.argmax(axis=2)[..., np.newaxis]
    following, label, reward = (
        np.ascontiguousarray(np.take_along_axis(array, happens, axis=2)[..., 0])
        for array in (arrays.next, arrays.label, arrays.reward)
    )
    return World(
        following.astype(np.int32),
        label.astype(np.int32),
        reward.astype(np.float64),
        arrays.terminal,
    )


def check_deterministic(domain: FiniteDomain) -> None:
    """Refuse a domain in which an action can have two outcomes."""
    arrays = domain.arrays
    likely = arrays.probability > 0
    first, different = likely.argmax(axis=2)[..., np.newaxis], np.zeros(likely.shape[:2], np.bool_)
    for array in (
        arrays.next,
        arrays.label,
        arrays.reward,
    ):  # the same outcome, listed twice, is one
        different |= (likely & (array != np.take_along_axis(array, first, axis=2))).any(axis=2)
    wrong = different & ~arrays.terminal[:, np.newaxis]
    if wrong.any():
        s, action = np.argwhere(wrong)[0].tolist()
        chances = ", ".join(f"{chance:g}" for chance in arrays.probability[s, action] if chance > 0)
        raise StochasticMoves(
            f"the moves of `{domain.name}` are not deterministic: `{domain.actions[action]}` in state {s} ({domain.describe(s)})"
            f" has outcomes with chances {chances}",
            fix="pdrm.check_k with the same arguments (`pdrm check-k`) bounds its values",
        )


# --- Room


def count_numbers(parts: Iterable[object]) -> int:
    """The numbers in all arrays among these, and in tuples of them.

    >>> count_numbers((np.zeros(3), 1.0, (np.zeros((2, 2)),)))
    7
    """
    return sum(
        part.size
        if isinstance(part, np.ndarray)
        else count_numbers(part)
        if isinstance(part, tuple)
        else 0
        for part in parts
    )


PER_ENTRY = (
    *(
        "place",
        "state",
        "symbol",
        "constant",
        "to",
        "gain",
        "time",
        "floor",
        "block",
        "waiting",
        "changed",
        "reader",
    ),
)
PER_BLOCK = ("exit", "following", "start", "length", "room")
PER_LINE = 3
PER_EDGE = ("dependent", "further")
PER_RECORD = ("record", "paid", "own_c", "own_t", "node", "node_paid")
FIRST_ROOM = 4096


def _lengthen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    longer = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def _room(places: int, states: int, symbols: int) -> Store:
    """No entry yet but the place to work."""
    counter = np.zeros(COUNTERS, np.int64)
    counter[ENTRIES], counter[UNDEFINED] = 1, NONE
    kinds: dict[str, type] = {
        **dict.fromkeys(
            ("constant", "gain", "floor", "c", "vertex", "own_c", "node_paid"), np.float64
        ),
        **dict.fromkeys(("waiting", "changed"), np.bool_),
        "start": np.int64,
    }
    names = [
        *PER_ENTRY,
        "queue",
        *PER_BLOCK,
        *PER_EDGE,
        "c",
        "t",
        "vertex",
        "own_c",
        "own_t",
        "node_paid",
    ]
    arrays: dict[str, Any] = {
        name: np.zeros(FIRST_ROOM, kinds.get(name, np.int32)) for name in names
    }
    arrays["to"][0], arrays["block"][0], arrays["reader"][0] = GUESS, NONE, NONE
    return Store(
        entry=np.full((places, states, symbols), NONE, np.int32),
        edges=Index.room(FIRST_ROOM),
        slot=np.zeros(places * states, np.int32),
        stamp=np.zeros(places * states, np.int64),
        record=np.zeros((FIRST_ROOM, 4), np.int64),
        paid=np.zeros((FIRST_ROOM, 3)),
        node=np.zeros((FIRST_ROOM, 3), np.int64),
        counter=counter,
        **arrays,
    )


def _list_powers(discount: float) -> Floats:
    """The powers of the discount down to one that is negligible."""
    count = 1 if discount == 0 else int(np.log(NEGLIGIBLE) / np.log(discount)) + 2
    if count > MOST_POWERS:
        raise BadSetting(f"a discount of {discount} is too close to 1", fix="use at most 0.99999")
    return np.float64(discount) ** np.arange(count + 1)
