"""The checker of certificates for every stack: whether one proves its yes, with the readable machine, in fractions, and nothing of the solver.

Four things make the proof. *Closed*: whatever the task does at a listed head leads to listed heads, where symbols lie upon each other as
listed; so all configurations that can be reached have such stacks. *Fixed point*: an operator is what one move makes of the operators, for all
worth of what is below within the range. *Range*: with what is below within it, the worth is; so it is with every stack, from the bottom up. The
worth that is composed of the operators is then bounded and solves the Bellman equation of all these configurations, and only one function does.
*Dominance*: in every view the chosen action's value is nowhere below another's, for all worth of what is below what is seen.

Two functions, each the greatest of a constant and of lines that depend on one worth each, are compared line by line (`is_covered`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from pdrm.analysis.sufficient_k.certificate import (
    StackCertificate,
    demand,
    read_exactly,
    read_fraction,
    read_guess,
)
from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain
from pdrm.machines.pushdown import PushdownRewardMachine

NOTHING = 0
"""The symbol below the last one."""
MOST_SYMBOLS = 10_000
"""That one step is followed through."""
LONGEST = 20_000
"""Steps of a line: a power of the discount takes room."""
MOST_LINES = 200_000
"""That some symbols upon each other are followed through."""

Head = tuple[int, int, int]
Place = tuple[int, int]
"""An environment state and a machine state."""
View = tuple[int, int, tuple[int, ...]]


class Way(NamedTuple):
    """A line: γᵗ times the worth at some place, and c."""

    at: Place
    t: int
    c: Fraction


class Height(NamedTuple):
    """The greatest of some constants and lines."""

    constants: list[Fraction]
    ways: list[Way]


class Effect(NamedTuple):
    """What happens to a machine and an environment: chance, pay, and what takes the place of the top symbol."""

    chance: Fraction
    paid: Fraction
    at: Place
    symbols: tuple[int, ...]


def is_covered(
    below: Height,
    above: Height,
    low: dict[Place, Fraction],
    high: dict[Place, Fraction],
    power: Powers,
) -> bool:
    """Whether one height is nowhere more than another, wherever each worth is between its least and its greatest.

    To compare with one line, every other worth is at its least. What is left is a convex function of one number less a line: it is nowhere
    negative if it is not where the line's slope passes from the lines that are flatter to those that are steeper.

    >>> one = Height([], [Way((0, 0), 0, Fraction(0))])
    >>> other = Height([], [Way((0, 0), 1, Fraction(2))])
    >>> is_covered(one, other, {(0, 0): Fraction(0)}, {(0, 0): Fraction(4)}, Powers(Fraction(1, 2)))
    True
    """
    floors = [*above.constants, *(way.c + power.of(way.t) * low[way.at] for way in above.ways)]
    if any(constant > max(floors) for constant in below.constants):
        return False
    places = {way.at for way in below.ways}
    for at in places:
        flat = [*above.constants]
        flat += [way.c + power.of(way.t) * low[way.at] for way in above.ways if way.at != at]
        lines = [(power.of(way.t), way.c) for way in above.ways if way.at == at]
        lines += [(Fraction(0), max(flat))] if flat else []
        if not all(
            _is_line_covered(power.of(way.t), way.c, lines, low[at], high[at])
            for way in below.ways
            if way.at == at
        ):
            return False
    return True


def _is_line_covered(
    slope: Fraction,
    c: Fraction,
    lines: list[tuple[Fraction, Fraction]],
    low: Fraction,
    high: Fraction,
) -> bool:
    """Whether one line is nowhere above the greatest of some others.

    It is above those no steeper than itself only from some worth on, above those that are steeper only up to some worth. It is nowhere above
    all of them if the one begins after the other has ended.
    """
    begin, end = (
        low,
        high,
    )  # where it is above all of them, the ends not included unless they are low or high
    begin_open = end_open = False
    for steep, height in lines:
        if steep == slope:
            if height >= c:
                return True
            continue
        cross = (height - c) / (slope - steep)
        if steep < slope and cross >= begin:
            begin, begin_open = cross, True
        elif steep > slope and cross <= end:
            end, end_open = cross, True
    return begin > end or (begin == end and (begin_open or end_open))


class Powers:
    """Powers of the discount."""

    def __init__(self, discount: Fraction) -> None:
        self.discount = discount
        self._known = {0: Fraction(1), 1: discount}

    def of(self, t: int) -> Fraction:
        """The discount to the t.

        >>> Powers(Fraction(1, 2)).of(2)
        Fraction(1, 4)
        """
        if t not in self._known:
            demand(0 <= t <= LONGEST, "a line has too many steps")
            self._known[t] = self.discount**t
        return self._known[t]


class StackCheck:
    """The parts of a proof, checked one after the other."""

    def __init__(
        self, domain: FiniteDomain, machine: PushdownRewardMachine, proof: StackCertificate
    ) -> None:
        self.domain, self.machine, self.proof = domain, machine, proof
        self.guesses = {
            number: read_guess(number, guess) for number, guess in proof.guesses.items()
        }
        demand(isinstance(proof.discount, int | float), "the discount is not a number")
        self.power = Powers(self._read(proof.discount))
        demand(0 < self.power.discount < 1, "the discount is out of range")
        self.states = (*machine.states, *machine.final)
        self.final = len(machine.states)
        self.symbol = {name: number for number, name in enumerate(machine.stack, start=1)}
        self.heads: set[Head] = {(s, u, z) for s, u, z in proof.heads}
        self.below = {symbol: set(under) for symbol, under in proof.below}
        self.operator = {
            (s, u, z): Height(
                [] if constant is None else [read_fraction(constant)],
                [Way((x, v), _whole(t), read_fraction(c)) for x, v, t, c in lines],
            )
            for s, u, z, constant, lines in proof.operators
        }
        demand(len(self.operator) == len(proof.operators), "a head has two operators")
        self.range = {
            (s, u, z): (read_fraction(low), read_fraction(high))
            for s, u, z, low, high in proof.ranges
        }
        self.chosen: dict[View, int] = {
            (s, u, tuple(seen)): action for s, u, seen, action in proof.views
        }
        demand(len(self.chosen) == len(proof.views), "a view has two actions")
        demand(isinstance(proof.k, int) and proof.k >= 0, "k is below 0")
        self.size = max(proof.k, 1)
        self.effects = {head: self._find_effects(*head) for head in self.heads}

    def run(self) -> None:
        """All parts of the proof, each resting on those before."""
        self._check_closed()
        self._check_ranges()
        self._check_fixed_point()
        self._check_views()

    def _read(self, number: float) -> Fraction:
        """The exact number that a float stands for: what was written, what the certificate takes it for, or its decimal."""
        return read_exactly(number, self.guesses)

    # --- What the task does

    def _find_effects(self, s: int, u: int, z: int) -> tuple[int, list[list[Effect]]]:
        """The steps that a move at a head takes, and the effects of each action: of one, where the move is silent."""
        demand(
            0 <= s < self.domain.states and 0 <= u < self.final and 0 <= z <= len(self.symbol),
            "a head does not exist",
        )
        top = self.machine.stack[z - 1] if z else None
        silent = self.machine.rule(self.states[u], None, top)
        if silent is not None:
            return 0, [
                [
                    Effect(
                        Fraction(1),
                        self._read(silent.reward),
                        *self._replace(s, silent.target, silent.replacement(top), z),
                    )
                ]
            ]
        if self.domain.arrays.terminal[s]:
            return 1, []
        return 1, [self._act(s, u, z, action) for action in range(len(self.domain.actions))]

    def _act(self, s: int, u: int, z: int, action: int) -> list[Effect]:
        top, arrays = (self.machine.stack[z - 1] if z else None), self.domain.arrays
        floats = arrays.probability[s, action].tolist()
        chances = [self._read(p) for p in floats]
        if sum(chances) != 1:
            decimals = [Fraction(repr(p)) for p in floats]
            chances = [p / sum(decimals) for p in decimals]
        found: dict[tuple[Fraction, Place, tuple[int, ...]], Fraction] = {}
        columns = (
            column[s, action].tolist() for column in (arrays.label, arrays.reward, arrays.next)
        )
        for chance, label, own, after in zip(chances, *columns, strict=True):
            if chance == 0:
                continue
            rule, otherwise = (
                self.machine.rule(self.states[u], self.domain.labels[label], top),
                self.machine.otherwise,
            )
            if rule is not None:
                target, symbols, paid = rule.target, rule.replacement(top), rule.reward
            else:
                demand(otherwise.action != "error", f"no move is defined at {(s, u, z)}")
                target, symbols, paid = (
                    otherwise.target or self.states[u],
                    () if top is None else (top,),
                    otherwise.reward,
                )
            effect = self._read(own) + self._read(paid), *self._replace(after, target, symbols, z)
            found[effect] = found.get(effect, Fraction(0)) + chance
        return [Effect(chance, *effect) for effect, chance in found.items()]

    def _replace(
        self, s: int, target: str, symbols: tuple[str, ...], z: int
    ) -> tuple[Place, tuple[int, ...]]:
        numbers = tuple(self.symbol[symbol] for symbol in symbols)
        return (s, self.states.index(target)), (*numbers, NOTHING) if z == NOTHING else numbers

    def _starts(self) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        arrays = self.domain.arrays
        columns = arrays.start_state, arrays.start_probability, arrays.start_label
        for s, chance, label in zip(*(column.tolist() for column in columns), strict=True):
            here = self.machine.begin().after
            if label != NO_LABEL and here.state not in self.machine.final:
                here = self.machine.step(here, self.domain.labels[label]).after
            if chance > 0 and here.state not in self.machine.final and not arrays.terminal[s]:
                yield (
                    s,
                    self.states.index(here.state),
                    tuple(self.symbol[symbol] for symbol in here.stack),
                )

    # --- The parts

    def _check_closed(self) -> None:
        """What happens at listed heads leads to listed heads, and symbols lie upon each other as listed."""
        for s, u, stack in self._starts():
            self._check_order((*stack, NOTHING))
            demand(
                (s, u, (*stack, NOTHING)[0]) in self.heads,
                f"a head of the start is missing: {(s, u)}",
            )
        demand(NOTHING not in self.below, "something lies below nothing")
        for (_, _, z), (_, actions) in self.effects.items():
            for effect in (effect for effects in actions for effect in effects):
                if effect.at[1] < self.final:
                    self._check_order(effect.symbols)
                    if effect.symbols and effect.symbols[-1] not in (z, NOTHING):
                        under = self.below.get(effect.symbols[-1], set())
                        demand(
                            self.below.get(z, set()) <= under,
                            f"what lies below symbol {effect.symbols[-1]} is missing",
                        )
                    for head in self._heads_after(effect, z):
                        demand(head in self.heads, f"the head {head} is missing")

    def _check_order(self, symbols: tuple[int, ...]) -> None:
        for above, under in pairwise(symbols):
            demand(
                under in self.below.get(above, set()),
                f"symbol {under} may lie below symbol {above}",
            )

    def _heads_after(self, effect: Effect, z: int) -> list[Head]:
        """The heads that an effect may lead to: those that a pop may reveal, too."""
        if effect.at[1] >= self.final:
            return []
        return [(*effect.at, symbol) for symbol in effect.symbols[:1] or self.below.get(z, set())]

    def _check_ranges(self) -> None:
        """With what is below within the range, the worth is."""
        demand(
            self.range.keys() == self.operator.keys(),
            "heads with an operator and heads with a range differ",
        )
        for head, operator in self.operator.items():
            demand(head in self.heads, f"{head} is not one of the heads")
            low, high = self._box(head[2], operator.ways)
            least, most = self.range[head]
            heights = [
                [
                    *operator.constants,
                    *(way.c + self.power.of(way.t) * bound[way.at] for way in operator.ways),
                ]
                for bound in (low, high)
            ]
            demand(
                bool(heights[0]) and least <= most, f"the operator or the range at {head} is empty"
            )
            demand(least <= max(heights[0]), f"the worth at {head} may be less than its range says")
            demand(max(heights[1]) <= most, f"the worth at {head} may be more than its range says")

    def _box(
        self, z: int, ways: Iterable[Way]
    ) -> tuple[dict[Place, Fraction], dict[Place, Fraction]]:
        """The least and the greatest worth of what is below a symbol, at the places that lines lead to."""
        low, high = dict[Place, Fraction](), dict[Place, Fraction]()
        for at in {way.at for way in ways}:
            demand(bool(self.below.get(z)), f"nothing may lie below symbol {z}, yet it is popped")
            ranges = [self.range[(*at, under)] for under in self.below[z]]
            low[at], high[at] = min(least for least, _ in ranges), max(most for _, most in ranges)
        return low, high

    def _check_fixed_point(self) -> None:
        """Every operator is what one move makes of the operators, wherever what is below is within its range."""
        for head, operator in self.operator.items():
            time, actions = self.effects[head]
            moved = Height([] if actions else [Fraction(0)], [])
            for effects in actions:
                demand(len(effects) == 1, f"what happens at {head} depends on chance")
                for after in self._heads_after(effects[0], head[2]):
                    demand(after in self.operator, f"the operator at {after} is missing")
                one = self._compose(
                    effects[0].at, effects[0].symbols, self.power.of(time) * effects[0].paid, time
                )
                moved.constants.extend(one.constants)
                moved.ways.extend(one.ways)
            low, high = self._box(head[2], [*moved.ways, *operator.ways])
            demand(
                is_covered(moved, operator, low, high, self.power),
                f"the operator at {head} is too low",
            )
            demand(
                is_covered(operator, moved, low, high, self.power),
                f"the operator at {head} is too high",
            )

    def _compose(self, at: Place, symbols: tuple[int, ...], paid: Fraction, time: int) -> Height:
        """The worth somewhere with some symbols on top of what is below, after something was paid and some steps."""
        constants, lines = list[Fraction](), 0
        ways = [Way(at, time, paid)]
        for symbol in (*symbols, None):
            going = [way for way in ways if way.at[1] < self.final]
            constants += [way.c for way in ways if way.at[1] >= self.final]
            if symbol is None:
                return Height(constants, going)
            best: dict[tuple[Place, int], Fraction] = {}
            for way in going:
                operator, power = self.operator[(*way.at, symbol)], self.power.of(way.t)
                lines += len(operator.ways)
                demand(lines <= MOST_LINES, "there are too many lines")
                constants += [way.c + power * constant for constant in operator.constants]
                for more in operator.ways:
                    key, c = (more.at, way.t + more.t), way.c + power * more.c
                    best[key] = max(c, best.get(key, c))
            ways = [Way(place, t, c) for (place, t), c in best.items()]
        return Height(constants, ways)

    # --- Views

    def _check_views(self) -> None:
        """Views lead to views, and in each of them what is asked holds."""
        question, k = self.proof.question, self.proof.k
        demand(question in ("same_values", "everywhere", "start"), "there is no such question")
        for s, u, stack in self._starts():
            demand(
                (s, u, stack[: self.size]) in self.chosen,
                f"a view of the start is missing: {(s, u)}",
            )
        classes: dict[View, object] = {}
        for view, action in self.chosen.items():
            s, u, seen = view
            demand(len(seen) <= self.size, f"{view} has too many symbols")
            top = seen[0] if seen else NOTHING
            time, actions = self.effects[s, u, top]
            demand(time == 1 and bool(actions), f"nothing is done in {view}")
            if question == "same_values":
                says: object = self._find_level(view)
                demand(
                    says is not None, f"values or optimal actions of {view} depend on what is below"
                )
            else:
                says = action
                demand(0 <= action < len(actions), f"no action is chosen for {view}")
                self._check_dominance(view, action)
            demand(
                classes.setdefault((s, u, seen[:k]), says) == says,
                f"views that look like {view} differ",
            )
            followed = [action] if question == "start" else range(len(actions))
            for effect in (effect for number in followed for effect in actions[number]):
                for after in self._rest(effect, seen):
                    demand(after in self.chosen, f"the view {after} is missing")

    def _find_values(self, view: View) -> list[Height]:
        """[action]: its value, as a function of what is below what is seen."""
        s, u, seen = view
        head = s, u, seen[0] if seen else NOTHING
        demand(head in self.operator, f"what happens in {view} depends on chance")
        ends = (NOTHING,) if seen and len(seen) < self.size else ()
        return [
            self._compose(effect.at, (*effect.symbols, *seen[1:], *ends), effect.paid, 0)
            for (effect,) in self.effects[head][1]
        ]

    def _check_dominance(self, view: View, action: int) -> None:
        s, u, seen = view
        actions = self.effects[s, u, seen[0] if seen else NOTHING][1]
        if all(set(effects) == set(actions[0]) for effects in actions):
            return  # they all do the same
        values = self._find_values(view)
        low, high = self._box(
            seen[-1] if seen else NOTHING, [way for value in values for way in value.ways]
        )
        for other, value in enumerate(values):
            covered = is_covered(value, values[action], low, high, self.power)
            demand(covered, f"in {view} action {other} may be better than action {action}")

    def _find_level(self, view: View) -> object:
        """The value and the optimal actions of a view, if they are the same whatever is below."""
        values = self._find_values(view)
        low, high = self._box(
            (view[2] or (NOTHING,))[-1], [way for value in values for way in value.ways]
        )
        least, most = (
            [
                max(
                    [
                        *value.constants,
                        *(way.c + self.power.of(way.t) * bound[way.at] for way in value.ways),
                    ]
                )
                for value in values
            ]
            for bound in (low, high)
        )
        if max(most) != max(least) or any(
            least[a] < max(least) <= most[a] for a in range(len(values))
        ):
            return None
        return max(least), tuple(a for a in range(len(values)) if least[a] == max(least))

    def _rest(self, effect: Effect, seen: tuple[int, ...]) -> set[View]:
        """The views that an effect leads to, after silent moves, whatever lies below what is seen."""
        s, found = effect.at[0], set[View]()
        ends = (NOTHING,) if len(seen) < self.size and NOTHING not in effect.symbols else ()
        # The machine's state, the symbols that are known, and the lowest one of them so far.
        todo = [(effect.at[1], (*effect.symbols, *seen[1:], *ends), (seen or (NOTHING,))[-1])]
        met = set(todo)
        for u, known, last in todo:
            demand(len(todo) < MOST_SYMBOLS, "one step can take too many silent moves")
            if u >= self.final:
                continue
            after: list[tuple[int, tuple[int, ...], int]]
            time, actions = self.effects[s, u, known[0]] if known else (1, [])
            if known and time == 0:
                ((move,),) = actions
                after = [(move.at[1], (*move.symbols, *known[1:]), known[-1])]
            elif known and self.domain.arrays.terminal[s]:
                continue
            elif NOTHING not in known and len(known) < self.size:
                lowest = known[-1] if known else last
                after = [(u, (*known, under), under) for under in self.below.get(lowest, set())]
            else:
                found.add(
                    (s, u, tuple(symbol for symbol in known if symbol != NOTHING)[: self.size])
                )
                continue
            todo += [one for one in after if one not in met]
            met.update(after)
        return found


def _whole(t: object) -> int:
    demand(
        isinstance(t, int) and not isinstance(t, bool) and t >= 0,
        "the steps of a line are not a whole number",
    )
    return int(str(t))
