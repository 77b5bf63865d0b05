"""Operators in fractions: what each symbol on top is worth as a function of what is below, with nothing rounded or dropped.

Where moves have chance, no operators are found: only at the heads from which nothing depends on it (`heads_in_play`).
Lines and constants are improved in turn, as `operators` does in floats, until nothing changes at all. There may be no end
to that, so numbers are counted and there is a limit of time. The bounds of worth that it begins with come from
floats and need not be trusted: the range of worth that is found from them is closed under the operators, in fractions, and that alone makes it
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from pdrm.analysis.whole_stack import WholeStack, world_of
from pdrm.machines.tables import Symbols, tabulate
from pdrm.product.rationals import read_number
from pdrm.product.summaries.heads_in_play import (
    Exit,
    Head,
    HeadsInPlay,
    find_certain,
    find_heads_in_play,
)
from pdrm.task import Task

Ways = dict[int, Fraction]
"""Lines to one exit: t -> c."""
Interval = tuple[Fraction, Fraction]

MOST_NUMBERS = 50_000
"""Of all operators together."""
MOST_BITS = 20_000
"""Of a numerator or denominator of an operator."""
SHORT_BITS = 2_000
"""Those of a range are rounded outwards if they are longer."""
ROUNDS = 60
"""Of making the range narrower."""
SLACKS = (Fraction(0), Fraction(1, 10**6), Fraction(1))
"""Shares by which the range is made wider at first, where that is needed."""


class TooLarge(Exception):
    """The operators need more numbers, or longer ones, than are allowed."""


class ExactOperator(NamedTuple):
    """The greatest of a constant (None: there is none) and of lines c + γᵗ w, by exit."""

    constant: Fraction | None
    lines: dict[Exit, Ways]

    def at(self, worth: Mapping[Exit, Fraction], power: Powers) -> Fraction:
        """Its height, where the worth of what is below is this.

        >>> ExactOperator(Fraction(1), {(0, 0): {1: Fraction(0)}}).at({(0, 0): Fraction(8)}, Powers(Fraction(1, 2)))
        Fraction(4, 1)
        """
        heights = [] if self.constant is None else [self.constant]
        for e, ways in self.lines.items():
            heights += [c + power(t) * worth[e] for t, c in ways.items()]
        return max(heights)

    @property
    def numbers(self) -> int:
        """How many there are to write down."""
        return 1 + sum(1 + 2 * len(ways) for ways in self.lines.values())


class Powers:
    """Powers of the discount, each found once.

    >>> Powers(Fraction(1, 2))(3)
    Fraction(1, 8)
    """

    def __init__(self, discount: Fraction) -> None:
        self.discount = discount
        self._found = [Fraction(1)]

    def __call__(self, t: int) -> Fraction:
        while len(self._found) <= t:
            self._found.append(self._found[-1] * self.discount)
        return self._found[t]


def keep_highest(
    ways: Ways, low: Fraction, high: Fraction, floor: Fraction | None, power: Powers
) -> Ways:
    """Of lines to one exit, those that are the highest for some worth in between, and somewhere higher than the floor.

    >>> lines = {0: Fraction(0), 1: Fraction(1), 2: Fraction(0)}
    >>> list(keep_highest(lines, Fraction(0), Fraction(4), Fraction(1), Powers(Fraction(1, 2))))
    [0, 1]
    """
    kept: list[
        tuple[int, Fraction, Fraction]
    ] = []  # t, c, and the worth up to which it is the highest
    for t, c in sorted(ways.items()):
        slope, top = power(t), high
        while kept:
            old, gain, end = kept[-1]
            top = (c - gain) / (power(old) - slope)
            if top < end:
                break
            kept.pop()
            top = high
        if (top > low or not kept) and (floor is None or c + slope * top > floor):
            kept.append((t, c, top))
    return {t: c for t, c, _ in kept}


class Edge(NamedTuple):
    """One way to go on for ever: something is paid, and after so many steps a head is reached whose symbol stays; None: it is over."""

    gain: Fraction
    time: int
    head: Head | None


class ExactOperators:
    """The operators of the heads from which nothing depends on chance.

    >>> found = solve_exactly(Task("echo"), 0.9)
    >>> found.operator[1, 1, 2].lines  # the agent speaks and `a` is on top: it says so
    {(1, 1): {1: Fraction(0, 1)}}
    """

    def __init__(
        self,
        play: HeadsInPlay,
        power: Powers,
        bounds: Callable[[Exit], Interval],
        check_time: Callable[[], None] = lambda: None,
    ) -> None:
        """`bounds`: between which numbers the worth is, with any stack."""
        self.play, self.power, self.bounds, self.check_time = play, power, bounds, check_time
        self.heads = sorted(find_certain(play))
        self.operator: dict[Head, ExactOperator] = {
            head: ExactOperator(None, {}) for head in self.heads
        }
        self.range: dict[Head, Interval] = {}
        """Between which numbers the worth is at a head, whatever is below its symbol."""
        self._choice: dict[Head, int] = {}
        self._bound: dict[Exit, Interval] = {}

    def settle(self) -> None:
        """Improve lines and constants in turn until nothing changes, then find the range of worth."""
        changed = True
        while changed:
            edges: dict[Head, list[Edge]] = {}
            changed = False
            for head in self.heads:
                self.check_time()
                edges[head], lines = self._move(head)
                constant, old = self.operator[head]
                kept = self._keep(lines, constant)
                changed = changed or kept != old
                self.operator[head] = ExactOperator(constant, kept)
            constants = self._solve_constants(edges)
            for head in self.heads:
                changed = changed or constants[head] != self.operator[head].constant
                self.operator[head] = self.operator[head]._replace(constant=constants[head])
            if sum(operator.numbers for operator in self.operator.values()) > MOST_NUMBERS:
                raise TooLarge
        self._find_range()

    def _move(self, head: Head) -> tuple[list[Edge], dict[Exit, Ways]]:
        """What one move at a head makes of the operators."""
        moves, edges, lines = self.play.moves[head], list[Edge](), dict[Exit, Ways]()
        if not moves.actions:
            return [Edge(Fraction(0), 0, None)], {}
        for (effect,) in moves.actions:
            paid = effect.paid * self.power(moves.time)
            more, ways = self.follow(effect.place, effect.state, effect.symbols, paid, moves.time)
            edges += more
            for e, own in ways.items():
                _merge(lines.setdefault(e, {}), own)
        return edges, lines

    def follow(
        self, place: int, state: int, symbols: Symbols, paid: Fraction = Fraction(0), time: int = 0
    ) -> tuple[list[Edge], dict[Exit, Ways]]:
        """Where a configuration leads: to heads whose symbol stays for ever, and out of the symbols on its stack."""
        edges: list[Edge] = []
        reached: dict[Exit, Ways] = {(place, state): {time: paid}}
        for symbol in (*symbols, None):
            after: dict[Exit, Ways] = {}
            for (s, u), ways in reached.items():
                if u >= self.play.first_final:
                    edges += [Edge(c, t, None) for t, c in ways.items()]
                    continue
                if symbol is None:
                    after[s, u] = ways
                    continue
                edges += [Edge(c, t, (s, u, symbol)) for t, c in ways.items()]
                for e, more in self.operator[s, u, symbol].lines.items():
                    into = after.setdefault(e, {})
                    for t, c in ways.items():
                        power = self.power(t)
                        _merge(into, {t + later: c + power * gain for later, gain in more.items()})
            reached = {e: self._prune(e, ways) for e, ways in after.items()}
        return edges, reached

    def _prune(self, e: Exit, ways: Ways) -> Ways:
        if len(ways) == 1 or e[1] >= self.play.first_final:
            return ways
        return keep_highest(ways, *self._bounds(e), None, self.power)

    def _keep(self, lines: dict[Exit, Ways], constant: Fraction | None) -> dict[Exit, Ways]:
        """The lines that matter for some worth of what is below."""
        floor = constant
        for e, ways in lines.items():
            low, _ = self._bounds(e)
            for t, c in ways.items():
                least = c + self.power(t) * low
                floor = least if floor is None or least > floor else floor
        kept = {}
        for e, ways in lines.items():
            low, high = self._bounds(e)
            rising = {
                t: c
                for t, c in ways.items()
                if self._rises(c, c + self.power(t) * high, floor, constant, flat=low == high)
            }
            if found := keep_highest(rising, low, high, constant, self.power):
                kept[e] = found
        return kept

    @staticmethod
    def _rises(
        c: Fraction,
        most: Fraction,
        floor: Fraction | None,
        constant: Fraction | None,
        *,
        flat: bool,
    ) -> bool:
        """Whether a line is anywhere above what is certain: one that makes up the floor itself is kept."""
        if max(c.numerator.bit_length(), c.denominator.bit_length()) > MOST_BITS:
            raise TooLarge
        if constant is not None and most <= constant:
            return False
        return floor is None or most > floor or (flat and most == floor)

    def _bounds(self, e: Exit) -> Interval:
        if e not in self._bound:
            self._bound[e] = self.bounds(e)
        return self._bound[e]

    # --- Ways that go on for ever

    def _solve_constants(self, edges: dict[Head, list[Edge]]) -> dict[Head, Fraction | None]:
        """The most that a way along the edges for ever is worth, by policy iteration; None where there is none."""
        live = dict(edges)
        while True:  # an edge to a head that has none leads nowhere
            dead = {head for head, own in live.items() if not own}
            left = {
                head: [edge for edge in own if edge.head not in dead] for head, own in live.items()
            }
            if left == live:
                break
            live = left
        order = {head: number for head, number in self._choice.items() if number < len(live[head])}
        choice = {head: order.get(head, 0) for head in live}
        while True:
            value = self._follow_choice(live, choice)
            better = False
            for head, own in live.items():
                self.check_time()
                for number, edge in enumerate(own):
                    offered = edge.gain + (
                        self.power(edge.time) * value[edge.head] if edge.head else 0
                    )
                    if offered > value[head]:
                        value[head], choice[head], better = offered, number, True
            if not better:
                self._choice = choice
                return {head: value.get(head) for head in edges}

    def _follow_choice(
        self, live: dict[Head, list[Edge]], choice: dict[Head, int]
    ) -> dict[Head, Fraction]:
        """What it is worth to follow one chosen edge from each head."""
        value: dict[Head, Fraction] = {}
        for start in (head for head, own in live.items() if own):
            way: dict[Head, None] = {}
            at: Head | None = start
            while at is not None and at not in value and at not in way:
                way[at] = None
                at = live[at][choice[at]].head
            if at is not None and at not in value:  # a loop: round it once
                gain, time, place = Fraction(0), 0, at
                while True:
                    edge = live[place][choice[place]]
                    gain, time = gain + self.power(time) * edge.gain, time + edge.time
                    if edge.head is None or edge.head == at:
                        break
                    place = edge.head
                value[at] = gain / (1 - self.power(time))
            for place in reversed(way):
                if place not in value:
                    edge = live[place][choice[place]]
                    value[place] = edge.gain + (
                        self.power(edge.time) * value[edge.head] if edge.head else 0
                    )
        return value

    # --- The range of worth

    def box_below(self, symbol: int) -> _Box:
        """Between which numbers the worth of what is below a symbol is."""
        return _Box(self.range, sorted(self.play.below.get(symbol, ())))

    def _find_range(self) -> None:
        """The range of worth at each head: it is closed, so that with what is below within it, the worth is."""
        self._narrow()
        for end, outermost in enumerate((min, max)):
            if exact := self._climb(outermost):
                for head, worth in exact.items():
                    low, high = self.range[head]
                    self.range[head] = (worth, high) if end == 0 else (low, worth)

    def _narrow(self) -> None:
        """From what is known of any stack, make the range narrower."""
        for slack in SLACKS:
            self.range = {}
            for head in self.heads:
                low, high = self._bounds(head[:2])
                wider = slack * max(abs(low), abs(high), Fraction(1))
                self.range[head] = low - wider, high + wider
            if all(low <= least and most <= high for (low, high), (least, most) in self._apply()):
                break
        else:
            raise TooLarge
        for _ in range(ROUNDS):
            narrower = {
                head: (max(low, _round(least, -1)), min(high, _round(most, 1)))
                for head, ((low, high), (least, most)) in zip(
                    self.heads, self._apply(), strict=True
                )
            }
            if narrower == self.range:
                break
            self.range = narrower

    def _climb(
        self, outermost: Callable[[Iterable[Fraction]], Fraction]
    ) -> dict[Head, Fraction] | None:
        """The least or the greatest worth at each head, over stacks that get higher; None where there is no end to that."""
        found: dict[Head, Fraction] = {}
        for _ in range(ROUNDS):
            self.check_time()
            more: dict[Head, Fraction] = {}
            for head in self.heads:
                operator, below = self.operator[head], self.play.below.get(head[2], ())
                worth = {
                    e: outermost(known)
                    for e in operator.lines
                    if (known := [found[(*e, symbol)] for symbol in below if (*e, symbol) in found])
                }
                if len(worth) == len(operator.lines):
                    more[head] = operator.at(worth, self.power)
            if more == found:
                return found if len(found) == len(self.heads) else None
            if any(worth.denominator.bit_length() > SHORT_BITS for worth in more.values()):
                return None
            found = more
        return None

    def _apply(self) -> list[tuple[Interval, Interval]]:
        """[head]: its range, and what the operators make of what is below."""
        found = []
        boxes = {symbol: self.box_below(symbol) for symbol in {head[2] for head in self.heads}}
        for head in self.heads:
            self.check_time()
            operator, box = self.operator[head], boxes[head[2]]
            least = operator.at({e: box[e][0] for e in operator.lines}, self.power)
            most = operator.at({e: box[e][1] for e in operator.lines}, self.power)
            found.append((self.range[head], (least, most)))
        return found


class _Box(dict[Exit, Interval]):
    """By exit, between which numbers the worth of what is below a symbol is; each is found when it is first asked for."""

    def __init__(self, ranges: Mapping[Head, Interval], below: Sequence[int]) -> None:
        super().__init__()
        self._ranges, self._below = ranges, below

    def __missing__(self, e: Exit) -> Interval:
        found = [self._ranges[(*e, symbol)] for symbol in self._below]
        self[e] = min(low for low, _ in found), max(high for _, high in found)
        return self[e]


def _merge(into: Ways, more: Ways) -> None:
    for t, c in more.items():
        if t not in into or into[t] < c:
            into[t] = c


def _round(number: Fraction, way: int) -> Fraction:
    """A long number rounded down (-1) or up (1); a short one as it is."""
    if number.denominator.bit_length() <= SHORT_BITS:
        return number
    scaled = number * 2**SHORT_BITS
    return Fraction(scaled.__floor__() if way < 0 else scaled.__ceil__(), 2**SHORT_BITS)


def solve_exactly(
    task: Task, discount: float, check_time: Callable[[], None] = lambda: None
) -> ExactOperators:
    """The operators of a task in fractions; `TooLarge` where they need too many numbers, or the machine defines no move."""
    domain, machine = task.finite, task.pushdown
    table = tabulate(machine, domain.labels)
    rewards = [read_number(reward) for reward in table.reward.tolist()]
    play = find_heads_in_play(domain.arrays, table, rewards, check_time)
    if play.undefined:
        raise TooLarge
    rough = WholeStack(world_of(domain.arrays), table, discount)

    def bounds(e: Exit) -> Interval:
        place = e[0] * len(table.silent) + e[1]
        return Fraction(rough.ranges.low[place]), Fraction(rough.ranges.high[place])

    found = ExactOperators(play, Powers(read_number(discount)), bounds, check_time)
    found.settle()
    return found
