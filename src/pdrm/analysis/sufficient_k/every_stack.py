"""A yes without a depth: some action is the best in all situations that look alike, however high the stack and whatever is in it.

Where nothing depends on chance, the value of an action, in a situation whose top k symbols are seen, is the greatest of a constant and lines
c + γᵗ w(e), in fractions (`exact_operators`): w(e) is the worth of what lies below the k symbols, once they are gone at the exit e. All that is
known of it is a range, from what may lie there. An action is best in all such situations if no other is better for any w within the range. Each
line depends on one w(e) alone. So to compare with a line of another action, all other w are put to their least, and of what remains, a convex
function of one number, the corners are looked at: for the range this is exact.

Where chance plays a part, only actions that all do the same are told apart from others: none is better.
A yes found here comes with a certificate, which `stack_checker` checks with nothing of this. What is not proved is left undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from pdrm.analysis.sufficient_k.certificate import StackCertificate, format_fraction
from pdrm.analysis.time_limit import check_time
from pdrm.errors import PdrmError
from pdrm.machines.tables import Symbols, tabulate
from pdrm.product.rationals import ExactSteps
from pdrm.product.summaries.exact_operators import (
    Edge,
    ExactOperator,
    ExactOperators,
    Interval,
    Powers,
    TooLarge,
    solve_exactly,
)
from pdrm.product.summaries.heads_in_play import END, Effect, Exit, Moves
from pdrm.task import Task

MOST_VIEWS = 20_000
MOST_HEADS = 10_000
"""Environment states times machine states times symbols: more are not solved in fractions."""

View = tuple[int, int, Symbols]
"""An environment state, a machine state and the symbols that are known of the stack: fewer than asked for are all there are."""


_Walk = dict[View, dict[int, set[View]]]
"""Views, and those that each action may lead to."""


def name_class(view: View, k: int) -> View:
    """What is seen of a view with k symbols.

    >>> name_class((0, 1, (2, 3)), 1)
    (0, 1, (2,))
    """
    return view[0], view[1], view[2][:k]


def is_never_less(
    one: ExactOperator, other: ExactOperator, box: Mapping[Exit, Interval], power: Powers
) -> bool:
    """Whether an operator is at least as high as another wherever the worth of what is below is within the box.

    >>> line = lambda c, t: ExactOperator(None, {(0, 0): {t: Fraction(c)}})
    >>> box, power = {(0, 0): (Fraction(0), Fraction(4))}, Powers(Fraction(1, 2))
    >>> is_never_less(line(2, 1), line(0, 0), box, power), is_never_less(line(1, 1), line(0, 0), box, power)
    (True, False)
    """
    low = {e: box[e][0] for e in (*one.lines, *other.lines)}
    least = one.at(low, power)
    if other.constant is not None and least < other.constant:
        return False
    for e, ways in other.lines.items():
        others = {x: own for x, own in one.lines.items() if x != e}
        flat = ExactOperator(one.constant, others)
        floor = flat.at(low, power) if others or one.constant is not None else None
        lines = [(power(t), c) for t, c in one.lines.get(e, {}).items()]
        lines += [] if floor is None else [(Fraction(0), floor)]
        if not lines:
            return False
        corners = find_corners(lines, *box[e])
        for worth in corners:
            here = max(c + slope * worth for slope, c in lines)
            if any(c + power(t) * worth > here for t, c in ways.items()):
                return False
    return True


def find_corners(
    lines: list[tuple[Fraction, Fraction]], low: Fraction, high: Fraction
) -> list[Fraction]:
    """Where the greatest of some lines (slope, height at 0) bends, and the ends.

    >>> [str(x) for x in find_corners([(Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))], Fraction(0), Fraction(4))]
    ['0', '1', '4']
    """
    best: dict[Fraction, Fraction] = {}
    for slope, height in lines:
        best[slope] = max(height, best.get(slope, height))
    hull: list[
        tuple[Fraction, Fraction, Fraction]
    ] = []  # slope, height, and where it becomes the highest
    for slope, height in sorted(best.items()):
        begin = low
        while hull:
            old, before, began = hull[-1]
            begin = (before - height) / (slope - old)
            if begin > began:
                break
            hull.pop()
            begin = low
        if begin < high or not hull:
            hull.append((slope, height, max(begin, low)))
    return [*dict.fromkeys([low, *(begin for _, _, begin in hull if low < begin < high), high])]


@dataclass(slots=True)
class EveryStack:
    """Looks for an action that is the best in all situations that look alike.

    >>> found = EveryStack.of(Task("echo"), 0.99)
    >>> proof = found.prove("everywhere", 1)
    >>> proof.describe(), found.prove("everywhere", 0)
    ('some 1-policy is optimal from every state, with every stack', None)
    """

    task: Task
    discount: float
    operators: ExactOperators
    _values: dict[tuple[View, bool], dict[int, ExactOperator]] = field(default_factory=dict)

    @classmethod
    def of(cls, task: Task, discount: float) -> EveryStack | None:
        """For a task, if it is small enough and there is time; else None."""
        heads = task.finite.states * len(task.pushdown.states) * (len(task.pushdown.stack) + 1)
        if not discount > 0 or heads > MOST_HEADS:
            return None
        try:
            return cls(task, discount, solve_exactly(task, discount, check_time))
        except (PdrmError, TooLarge, TimeoutError):
            return None

    def prove(self, question: str, k: int) -> StackCertificate | None:
        """The certificate of a yes; None where there is no yes, or it is not known."""
        try:
            search = {
                "same_values": self._find_levels,
                "everywhere": self._find_actions,
                "start": self._find_policy,
            }
            chosen = search[question](k)
        except (TooLarge, TimeoutError):
            return None
        return None if chosen is None else self._write(question, k, chosen)

    # --- What is seen

    def _walk(self, size: int, judge: Callable[[View], Iterable[int] | None]) -> _Walk | None:
        """Every view of so many symbols that may be reached, nearest first, by the actions that are judged to be followed; None where a
        judgement is None."""
        found: _Walk = {}
        todo = dict.fromkeys(self._starts(size))
        while todo:
            layer, todo = todo, {}
            for view in layer:
                if view in found:
                    continue
                check_time()
                followed = judge(view)
                if followed is None:
                    return None
                if len(found) >= MOST_VIEWS:
                    raise TooLarge
                actions = self._moves(view).actions
                found[view] = {
                    action: set(self._rest(view, actions[action], size)) for action in followed
                }
                todo |= dict.fromkeys(after for afters in found[view].values() for after in afters)
        return found

    def _moves(self, view: View) -> Moves:
        s, u, seen = view
        return self.operators.play.moves[s, u, seen[0] if seen else END]

    def _starts(self, size: int) -> Iterator[View]:
        for s, u, stack in self.operators.play.starts:
            yield s, u, stack[:size]

    def _rest(self, view: View, effects: tuple[Effect, ...], size: int) -> Iterator[View]:
        """The views that an action may come to rest in, whatever is below what is seen."""
        play, seen = self.operators.play, view[2]
        for effect in effects:
            s, ends = effect.place, (END,) if len(seen) < size and END not in effect.symbols else ()
            # The machine's state, the symbols that are known, and the lowest that was known before.
            todo = [(effect.state, (*effect.symbols, *seen[1:], *ends), seen[-1:])]
            for u, known, last in todo:
                if u >= play.first_final:
                    continue
                moves = play.moves[s, u, known[0]] if known else None
                if moves is not None and moves.time == 0:
                    ((silent,),) = moves.actions
                    more = [(silent.state, (*silent.symbols, *known[1:]), known[-1:])]
                elif moves is not None and play.terminal[s]:
                    more = []
                elif (
                    len(known) < size and END not in known
                ):  # one symbol more, whichever may lie there
                    more = [
                        (u, (*known, under), (under,))
                        for under in play.below.get((known or last)[-1], ())
                    ]
                else:
                    yield s, u, tuple(symbol for symbol in known if symbol != END)[:size]
                    more = []
                todo += [one for one in more if one not in todo]

    # --- What is best

    def _find_values(self, view: View, size: int) -> dict[int, ExactOperator] | None:
        """The value of each action, as a function of what is below what is seen; None where chance plays a part."""
        s, u, seen = view
        head = s, u, seen[0] if seen else END
        if head not in self.operators.operator:
            return None
        ends = len(seen) < size
        if (view, ends) not in self._values:
            below = (*seen[1:], *((END,) if ends and seen else ()))
            self._values[view, ends] = {
                action: self._follow(
                    effect.paid, effect.place, effect.state, (*effect.symbols, *below)
                )
                for action, (effect,) in enumerate(self.operators.play.moves[head].actions)
            }
        return self._values[view, ends]

    def _follow(self, paid: Fraction, place: int, state: int, symbols: Symbols) -> ExactOperator:
        edges, lines = self.operators.follow(place, state, symbols, paid)
        constants = [found for edge in edges if (found := self._evaluate(edge)) is not None]
        return ExactOperator(max(constants, default=None), lines)

    def _evaluate(self, edge: Edge) -> Fraction | None:
        constant = Fraction(0) if edge.head is None else self.operators.operator[edge.head].constant
        return None if constant is None else edge.gain + self.operators.power(edge.time) * constant

    def _box(self, view: View) -> Mapping[Exit, Interval]:
        return self.operators.box_below(view[2][-1] if view[2] else END)

    def find_best_actions(self, view: View, size: int) -> set[int]:
        """The actions that are the best whatever is below: perhaps not all of them."""
        moves, power = self._moves(view), self.operators.power
        values = self._find_values(view, size)
        if moves.indifferent:
            return set(range(len(moves.actions)))
        if values is None:
            return set()
        check_time()
        box = self._box(view)
        low = {e: box[e][0] for value in values.values() for e in value.lines}
        least = {action: value.at(low, power) for action, value in values.items()}
        hopeful = [action for action in values if least[action] == max(least.values())]
        return {
            action
            for action in hopeful
            if all(is_never_less(values[action], other, box, power) for other in values.values())
        }

    def _find_actions(self, k: int) -> dict[View, int] | None:
        """An action for each view that is the best in all that look alike."""
        best: dict[View, set[int]] = {}

        def judge(view: View) -> Iterable[int] | None:
            own, name = self.find_best_actions(view, max(k, 1)), name_class(view, k)
            best[name] = best.get(name, own) & own
            return range(len(self._moves(view).actions)) if best[name] else None

        views = self._walk(max(k, 1), judge)
        return None if views is None else {view: min(best[name_class(view, k)]) for view in views}

    def _find_policy(self, k: int) -> dict[View, int] | None:
        """A policy that is the best wherever it leads from the start; perhaps there is one that is not found."""
        best: dict[View, set[int]] = {}
        members: dict[View, list[View]] = {}

        def judge(view: View) -> Iterable[int]:
            own, name = self.find_best_actions(view, max(k, 1)), name_class(view, k)
            best[name] = best.get(name, own) & own
            members.setdefault(name, []).append(view)
            return own

        views = self._walk(max(k, 1), judge) or {}
        while True:  # an action that may lead to where none is left is not left either
            left = {
                name: {
                    action
                    for action in actions
                    if all(
                        best[name_class(after, k)]
                        for view in members[name]
                        for after in views[view][action]
                    )
                }
                for name, actions in best.items()
            }
            if left == best:
                break
            best = left
        todo, chosen = list(self._starts(max(k, 1))), dict[View, int]()
        for view in todo:
            if view not in chosen:
                if not best[name_class(view, k)]:
                    return None
                chosen[view] = min(best[name_class(view, k)])
                todo += views[view][chosen[view]]
        return chosen

    def _find_levels(self, k: int) -> dict[View, int] | None:
        """All views, if those that look alike have one value and the same optimal actions."""
        found: dict[View, tuple[Fraction, frozenset[int]]] = {}

        def judge(view: View) -> Iterable[int] | None:
            own = self._find_level(view, max(k, 1))
            same = own is not None and found.setdefault(name_class(view, k), own) == own
            return range(len(self._moves(view).actions)) if same else None

        views = self._walk(max(k, 1), judge)
        return None if views is None else dict.fromkeys(views, -1)

    def _find_level(self, view: View, size: int) -> tuple[Fraction, frozenset[int]] | None:
        """The value and the optimal actions, if they are the same whatever is below."""
        check_time()
        values, box, power = self._find_values(view, size), self._box(view), self.operators.power
        if values is None:
            return None
        exits = {e for value in values.values() for e in value.lines}
        low, high = ({e: box[e][end] for e in exits} for end in (0, 1))
        least, most = (
            {a: value.at(at, power) for a, value in values.items()} for at in (low, high)
        )
        greatest = max(least.values())
        level = max(most.values()) == greatest and all(
            least[a] == greatest or most[a] < greatest for a in values
        )
        return (greatest, frozenset(a for a in values if least[a] == greatest)) if level else None

    # --- Writing it down

    def _write(self, question: str, k: int, chosen: Mapping[View, int]) -> StackCertificate:
        found, domain, machine = self.operators, self.task.finite, self.task.pushdown
        table = tabulate(machine, domain.labels)
        guesses = ExactSteps(domain.arrays, table, table.reward.tolist()).list_guesses(
            self.discount
        )
        return StackCertificate(
            question,
            k,
            self.discount,
            domain.name,
            machine.name,
            sorted(found.play.moves),
            [(symbol, sorted(below)) for symbol, below in sorted(found.play.below.items())],
            [
                (
                    *head,
                    None if operator.constant is None else format_fraction(operator.constant),
                    [
                        (*e, t, format_fraction(c))
                        for e, ways in operator.lines.items()
                        for t, c in ways.items()
                    ],
                )
                for head, operator in found.operator.items()
            ],
            [
                (*head, format_fraction(low), format_fraction(high))
                for head, (low, high) in found.range.items()
            ],
            [(s, u, list(seen), action) for (s, u, seen), action in chosen.items()],
            guesses,
        )
