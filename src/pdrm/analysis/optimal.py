"""The optimal actions of product states, as far as they can be proved: in, out, or not known.

An action is out where its interval lies below another's. Among those left, ties are decided by exact values where the
frontier cannot be reached, and by bisimulation elsewhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np

from pdrm.analysis.exact import EXCLUDED, find_blocks, solve_exactly
from pdrm.analysis.graph_kernel import mark_reached, mark_unsure
from pdrm.analysis.time_limit import check_time, time_left
from pdrm.analysis.value_kernel import q_values
from pdrm.analysis.values import Known, Values, bound_values
from pdrm.errors import BadSetting
from pdrm.product.finite_kernel import END, Flags, Numbers
from pdrm.product.finite_product import FiniteProduct

Watch = Callable[[int, int], None]
"""Called now and then with the number of states so far, and how many there may be at most."""
MOST_ACTIONS = 62
"""Actions of a domain at most: sets of them are bits of a signed 64-bit number."""
MOST_STATES = 1_500_000
"""States explored at most, unless told otherwise."""
MOST_EXACT = 60_000
"""States whose values are computed as fractions at most."""
MANY = 20_000
"""If there are more states than this and no others, what is known without fractions is said first: those may take long."""
MOST_TIED = 300_000
"""States among which ties are sought at most."""
GROWTH = 1.5
"""How much a product grows before ties are sought again."""
BETWEEN = 20
"""Rounds after which ties are sought in any case: otherwise a true tie would be followed for ever."""
TO_THE_END = 60
"""Steps that the optimal actions are followed from the start."""


@dataclass(frozen=True, slots=True, eq=False)
class Optimal:
    """What is known of the optimal actions of the states that were asked about.

    >>> from pdrm.task import Task
    >>> paint = Task("paint")
    >>> found = find_optimal(FiniteProduct(paint.finite, paint.pushdown), 0.99)
    >>> [bin(int(actions)) for actions in found.surely]
    ['0b1', '0b10', '0b100', '0b1000', '0b10000']
    """

    product: FiniteProduct
    values: Values
    asked: Numbers
    """The states asked about, nearest first."""
    depth: int | None
    """All states within this many steps were asked about; None: all there are."""
    surely: Numbers
    """[x]: its actions that are certainly optimal, as bits."""
    possibly: Numbers
    """[x]: those that are not certainly worse."""
    block: Numbers
    """[x]: equal numbers, equal values."""
    tied_region: Flags
    """[x]: whether `block` says anything about it."""
    exact: dict[int, Fraction]
    """Exact values, where they are known."""
    capped: bool = False
    """Whether the cap of states kept the product from growing further."""

    @property
    def decided_share(self) -> float:
        """The share of the asked states whose optimal actions are all known."""
        return (
            float((self.surely[self.asked] == self.possibly[self.asked]).mean())
            if len(self.asked)
            else 1.0
        )


def find_optimal(
    product: FiniteProduct,
    discount: float,
    depth: int | None = None,
    most: int = MOST_STATES,
    rounds: int = 1_000,
    watch: Watch | None = None,
) -> Optimal:
    """Find the optimal actions of all states within `depth` steps, expanding further only where they depend on it."""
    *_, found = deepen(product, discount, depth, most, rounds, watch)
    return follow_to_the_end(found, most)


def deepen(
    product: FiniteProduct,
    discount: float,
    depth: int | None = None,
    most: int = MOST_STATES,
    rounds: int = 1_000,
    watch: Watch | None = None,
    known: Known | None = None,
) -> Iterator[Optimal]:
    """What is known of the optimal actions, again and again, of nearer states first. It ends when all that was asked is
    decided, when nothing that could be explored would help, or at the cap; or with a TimeoutError.

    The product grows: what was found last holds for it, what was found before for a snapshot taken then.
    """
    actions = len(product.domain.actions)
    if actions > MOST_ACTIONS:
        fault = f"domain `{product.domain.name}` has {actions} actions"
        raise BadSetting(
            fault, fix=f"optimal actions are found among at most {MOST_ACTIONS}: leave some out"
        )
    most = min(most, product.most_states)
    room = max(1, int(most / GROWTH))  # the rest is for following the optimal actions to the end
    wanted, depth = depth, _explore(product, depth, room)
    asked = np.arange(len(product))
    if depth is not None and product.frontier.size:
        asked = np.flatnonzero(product.states.depth[: len(product)] <= depth)
    each = int(np.prod(product.next.shape[1:]))
    settled, undecided, since, full = 0, asked, 0, False
    for last in range(rounds, 0, -1):
        check_time()
        found = bound_values(product, discount, known=known)
        known = found.known or known
        further = _choose_expansion(product, found, undecided)
        if watch is not None:
            watch(len(product), most)
        if last == rounds:
            yield _decide(product, found, asked, depth, ties=False)
        few = max(0, room - len(product)) // each
        done = last == 1 or full or not further.size or not few
        since += 1
        if (
            done or len(product) > GROWTH * settled or since > BETWEEN
        ):  # ties cost time: they are sought now and then
            if not product.frontier.size and len(product) > MANY:
                yield _decide(product, found, asked, depth, fractions=False)
            answer = _decide(product, found, asked, depth)
            settled, since = len(product), 0
            undecided = asked[answer.surely[asked] != answer.possibly[asked]]
            yield replace(
                answer, capped=depth != wanted or (further.size > 0 and (full or not few))
            )
            if done or not undecided.size:
                return
        full = len(further) > few
        product.expand(further[:few])


def look_at_start(product: FiniteProduct, discount: float, known: Known) -> Optimal:
    """What is known before anything has been explored: next to nothing."""
    return _decide(
        product,
        bound_values(product, discount, known=known),
        np.arange(len(product)),
        0,
        ties=False,
    )


def _explore(product: FiniteProduct, depth: int | None, most: int) -> int | None:
    """Explore to a depth, as far as there is time and room; how far that is (None: all there is)."""
    each = int(np.prod(product.next.shape[1:]))
    while time_left() > 0:
        edge, far = product.expandable(product.frontier), len(product.layers) - 1
        if not edge.size or (depth is not None and far >= depth):
            return depth
        if len(product) + len(edge) * each > most:
            break
        product.explore(far + 1)
    return len(product.layers) - 1


def follow_to_the_end(answer: Optimal, most: int, room: int = 1) -> Optimal:
    """Follow the optimal actions from the start beyond what was asked about, so that a policy that ends can be seen to. There may be half as many
    states more then, or `room` in all."""
    product, found = answer.product, answer.values
    each = int(np.prod(product.next.shape[1:]))
    most = min(most, product.most_states, max(room, int(GROWTH * len(product)) + 1))
    starts = product.starts[product.starts != END]
    for _ in range(TO_THE_END):
        check_time()
        further = _find_hopeful(product, found, starts)
        if not further.size or len(product) + further.size * each > most:
            break
        product.expand(further)
        found = bound_values(product, found.discount, known=found.known)
    if found is answer.values:
        return answer
    return replace(_decide(product, found, answer.asked, answer.depth), capped=answer.capped)


def _choose_expansion(product: FiniteProduct, found: Values, asked: Numbers) -> Numbers:
    """The frontier states to expand for the sake of states with several actions in play, the nearest of these first."""
    if not product.expandable(product.frontier).size:
        return np.zeros(0, np.int64)
    undecided = (mark_possible(product, found)[asked].sum(axis=1) > 1) | ~product.expanded[asked]
    several = asked[undecided]
    depth = product.states.depth[several]

    @cache
    def find_for(reach: int) -> Numbers:
        check_time()
        return _find_hopeful(product, found, several[depth <= reach])

    depths = np.unique(depth).tolist()
    nearest = bisect_left(
        depths, True, key=lambda reach: find_for(reach).size > 0
    )  # what some depend on, more do
    return find_for(depths[nearest]) if nearest < len(depths) else np.zeros(0, np.int64)


def _find_hopeful(product: FiniteProduct, found: Values, begin: Numbers) -> Numbers:
    """The frontier states that the most hopeful actions lead to: only they can lower the upper bounds."""
    upper = q_values(product.steps, found.discount, found.upper)
    hopeful = upper >= upper.max(axis=1, keepdims=True) - 2 * found.slack
    return product.expandable(
        np.flatnonzero(_mark_relevant(product, found, hopeful, begin) & ~product.expanded)
    )


def _mark_relevant(product: FiniteProduct, found: Values, possible: Flags, begin: Numbers) -> Flags:
    """[x]: whether the values of some states depend on it: with a discount of 0, only on themselves."""
    if found.discount:
        return mark_reached(product.next, possible, product.expanded, begin)
    alone = np.zeros(len(product), np.bool_)
    alone[begin] = True
    return alone


def mark_possible(product: FiniteProduct, found: Values) -> Flags:
    """[x, action]: whether no other action is certainly better. All actions of a frontier state are possible."""
    lower = q_values(product.steps, found.discount, found.lower) - found.slack
    upper = q_values(product.steps, found.discount, found.upper) + found.slack
    possible: Flags = upper >= lower.max(axis=1, keepdims=True)
    possible[~product.expanded] = True
    return possible


def _decide(
    product: FiniteProduct,
    found: Values,
    asked: Numbers,
    depth: int | None,
    *,
    ties: bool = True,
    fractions: bool = True,
) -> Optimal:
    """Sort the actions of all states into optimal, not optimal and unknown: by intervals, exact values, then ties. Without
    ties, by intervals alone, which takes no time; without fractions, by intervals and ties."""
    expanded, possible = product.expanded, mark_possible(product, found)
    region = _mark_relevant(product, found, possible, asked)
    bits = 1 << np.arange(possible.shape[1], dtype=np.int64)
    possibly = (possible * bits).sum(axis=1)
    surely = np.where(expanded & (possible.sum(axis=1) == 1), possibly, 0)
    ahead = found.discount > 0
    sure = np.flatnonzero(
        region & ~mark_unsure(product.next, possible, expanded, region)
        if ahead
        else region & expanded
    )
    few = ties and fractions and (len(sure) <= MOST_EXACT or not ahead)
    exact = solve_exactly(product, found.discount, sure, possible) if few else None
    value = {} if exact is None else exact.value
    block, tied_region = np.arange(len(product)), np.zeros(len(product), np.bool_)
    if ties and np.count_nonzero(region) <= MOST_TIED:
        number = {v: i for i, v in enumerate(dict.fromkeys(value.values()))}
        block, offer = find_blocks(
            product, np.flatnonzero(region), possible, {x: number[v] for x, v in value.items()}
        )
        tied_region = region
        highest = offer.max(axis=1)
        lowest = np.where(offer == EXCLUDED, np.iinfo(np.int64).max, offer).min(axis=1)
        tied = (highest >= 0) & (lowest == highest)  # every action in play offers the same
        surely[tied] = possibly[tied]
    for x, actions in ({} if exact is None else exact.optimal).items():
        surely[x] = possibly[x] = actions
    whole = bool(expanded.all()) and len(asked) == len(product)
    return Optimal(
        product, found, asked, None if whole else depth, surely, possibly, block, tied_region, value
    )
