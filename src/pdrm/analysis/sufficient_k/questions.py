"""When are k-policies optimal? The three questions of Section 4, each answered yes, no or undecided.

Same values (Proposition 1): all states that look alike have one value and one set of optimal actions. Everywhere: they
have an optimal action in common, so that some k-policy is optimal from every state. From the start: some k-policy is
optimal from the start. Each implies the next. A yes to the first two holds to the depth it names; a no holds whatever lies beyond.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import NamedTuple

import numpy as np

from pdrm.analysis.optimal import Optimal
from pdrm.analysis.sufficient_k.certificate import ALL_STATES, DEPTH, EVERY_STACK, StackCertificate
from pdrm.analysis.sufficient_k.from_start import Choice, search_policy
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting
from pdrm.machines.tables import Integers
from pdrm.machines.transitions import Stack
from pdrm.product.finite_kernel import Flags, Numbers
from pdrm.product.finite_product import FiniteProduct, actions_to, word_to

YES, NO, UNDECIDED = "yes", "no", "undecided"
QUESTIONS = ("same_values", "everywhere", "start")
KEPT = 9
"""Of so many k, from 0 on, the classes of states are kept, because they are asked for again."""
MOST_K = 1_000
"""The largest k that is asked about."""


def check_ks(given: int | Iterable[int]) -> list[int]:
    """One k, or some in order, each once; refused where one is not a number of symbols, or far too large."""
    found = set()
    several = isinstance(given, Iterable) and not isinstance(given, str)
    for k in given if several else (given,):  # type: ignore[union-attr] # one by one: there may be far too many
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k <= MOST_K:
            fix = f"use integers from 0 to {MOST_K}: k=1, k=[0, 1, 2], or leave it out"
            raise BadSetting(f"k is {k!r}, which is not a number of symbols to see", fix=fix)
        found.add(int(k))
    return sorted(found)


def is_certain(domain: FiniteDomain) -> bool:
    """Whether an action always has the same outcome: nothing but the start depends on chance."""
    return bool(((domain.arrays.probability > 0).sum(axis=2) == 1).all())


class Classes:
    """Which of some states look alike with k symbols (~k): same environment state, machine state and top k symbols.

    >>> from pdrm.task import Task
    >>> paint = Task("paint")
    >>> product = FiniteProduct(paint.finite, paint.pushdown)
    >>> product.explore()
    >>> classes = Classes(product, np.arange(len(product)))
    >>> classes.at(0).tolist(), classes.at(5).tolist(), classes.count_to_tell_apart()
    ([0, 0, 0, 0, 0], [0, 1, 2, 3, 4], 5)
    """

    def __init__(self, product: FiniteProduct, chosen: Numbers) -> None:
        self.product, states = product, product.states
        self._node = self._below = states.node[chosen].astype(np.int64)
        """[chosen state]: its stack; and the stack below the symbols that the last classes kept have seen."""
        seen = (
            states.place[chosen].astype(np.int64) * product.table.move.shape[0]
            + states.state[chosen]
        )
        self._kept = [_number(seen)]
        self.height = int(product.stacks.height[self._below].max(initial=0))
        """The height of their highest stack."""

    def at(self, k: int) -> Numbers:
        """[chosen state]: the number of its class, from 0 on."""
        for number in islice(self._refine(), k + 1):
            if self._tell_apart(number):
                break
        return number

    def tells_apart(self, k: int) -> bool:
        """Whether no two of the states look alike with k symbols."""
        return self._tell_apart(self.at(k))

    def count_to_tell_apart(self) -> int:
        """The smallest k at which no two of the states look alike; it is at most the height of their stacks.

        The top 1, 2, 4, … symbols of every stack are numbered, each by the two halves of it; then the largest k at which two states still
        look alike is put together from these, the largest first.
        """
        most, number, node = min(self.height, MOST_K), self._kept[0], self._node
        if not most or self._tell_apart(number):
            return 0
        stacks, made = self.product.stacks, int(self.product.stacks.made[0])
        tops = [
            (_number(stacks.symbol[:made].astype(np.int64)), stacks.parent[:made].astype(np.int64))
        ]
        while 1 << len(tops) <= most:
            top, below = tops[-1]
            tops.append((_number(top * (int(top.max()) + 1) + top[below]), below[below]))
        alike = 0
        for size in range(len(tops) - 1, -1, -1):
            top, below = tops[size]
            finer = _number(number * (int(top.max()) + 1) + top[node])
            if not self._tell_apart(finer):
                number, node, alike = finer, below[node], alike + (1 << size)
        return min(alike + 1, most)

    @staticmethod
    def _tell_apart(number: Numbers) -> bool:
        """Whether each state has a class of its own."""
        return bool(number.max(initial=-1) + 1 == len(number))

    def _refine(self) -> Iterator[Numbers]:
        """The classes under ~0, ~1, ~2 and so on."""
        yield from self._kept
        number, node = self._kept[-1], self._below
        stacks, symbols = self.product.stacks, self.product.table.move.shape[2]
        while True:
            number, node = (
                _number(number * symbols + stacks.symbol[node]),
                stacks.parent[node].astype(np.int64),
            )
            if len(self._kept) < KEPT:
                self._kept.append(number)
                self._below = node
            yield number


def _number(seen: Numbers) -> Numbers:
    """What is seen, numbered from 0 on."""
    return np.unique(seen, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """One question's answer for one k."""

    verdict: str
    depth: int | None = None
    """A yes holds for all states within this many steps; None: for all that can be reached."""
    witness: tuple[int, ...] = ()
    """Product states that look alike and prove a no."""
    situations: tuple[Situation, ...] = ()
    """The same in words, where the states are too far away to be in the product."""
    choice: dict[int, int] = field(default_factory=dict)
    """A yes of the last two questions: the action for each class, by a member of it. From the start also where it is undecided: of a policy that is
    optimal as far as is known."""
    proof: StackCertificate | None = None
    """A yes for every stack: its certificate, which may be one for fewer symbols."""
    found_at: int | None = None
    """The k that it was found for, where it follows from the answer for another k."""
    found_on: Optimal | None = None
    """Where it was found, if not on the report's own product."""
    vacuous: bool = False
    """A yes that says nothing: no two of the states it is about look alike, and there are others."""

    def __repr__(self) -> str:
        """The answer in short: its policy and its proof may be long.

        >>> Answer(YES, depth=3, choice={0: 1}), Answer(NO, witness=(3, 4))
        (<yes, depth 3>, <no>)
        """
        far = {DEPTH: f", depth {self.depth}", EVERY_STACK: ", for every stack"}.get(
            self.scope or "", ""
        )
        return f"<{self.verdict}{far}{', vacuous' * self.vacuous}>"

    @property
    def reach(self) -> float:
        """How many steps from the start a yes holds: infinitely many for all states; -1 where it is not a yes.

        >>> Answer(YES).reach, Answer(YES, depth=3).reach, Answer(UNDECIDED).reach
        (inf, 3.0, -1.0)
        """
        if self.verdict != YES:
            return -1.0
        return inf if self.depth is None else float(self.depth)

    @property
    def settled(self) -> bool:
        """Whether it is a yes for all states, or a no.

        >>> Answer(NO).settled, Answer(YES).settled, Answer(YES, depth=3).settled
        (True, True, False)
        """
        return self.verdict == NO or self.reach == inf

    @property
    def scope(self) -> str | None:
        """What a yes is about.

        >>> Answer(YES).scope, Answer(YES, depth=3).scope, Answer(NO).scope
        ('all states', 'depth', None)
        """
        if self.verdict != YES:
            return None
        return (
            DEPTH
            if self.depth is not None
            else ALL_STATES
            if self.proof is None
            else self.proof.scope
        )


def answer_questions(
    optimal: Optimal, k: int, number: Numbers | None = None, start: Answer | None = None
) -> dict[str, Answer]:
    """Answer the three questions for one k; `number`: the classes of the states asked about, and `start`: the answer from the start, if they
    are known."""
    number = Classes(optimal.product, optimal.asked).at(k) if number is None else number
    order = np.argsort(number, kind="stable")
    begins = np.flatnonzero(np.r_[True, np.diff(number[order]) > 0]) if len(order) else order
    groups = _Groups(optimal.asked[order], begins)
    everywhere = _answer_everywhere(optimal, groups)
    answers = (
        _answer_same_values(optimal, groups),
        everywhere,
        start or _answer_start(optimal, k, everywhere),
    )
    return dict(zip(QUESTIONS, answers, strict=True))


class _Groups(NamedTuple):
    """States sorted by class, and where each class begins."""

    states: Numbers
    begins: Numbers

    def members(self, group: int) -> Numbers:
        end = self.begins[group + 1] if group + 1 < len(self.begins) else len(self.states)
        return self.states[self.begins[group] : end]

    def nearest(self, depth: Integers, groups: Flags) -> Numbers:
        """The members of the group whose nearest two are nearest to the start."""
        far = depth[self.states].astype(np.int64)
        sizes = np.diff(np.r_[self.begins, len(far)])
        far = far[
            np.lexsort((far, np.repeat(np.arange(len(sizes)), sizes)))
        ]  # in each group the nearest first
        both = far[self.begins] + np.where(
            sizes > 1, far[np.minimum(self.begins + 1, len(far) - 1)], 0
        )
        return self.members(int(np.where(groups, both, np.iinfo(np.int64).max).argmin()))


def _answer_same_values(optimal: Optimal, groups: _Groups) -> Answer:
    x, begins = groups.states, groups.begins
    if not len(x):
        return Answer(YES, optimal.depth)
    lower, upper = optimal.values.lower[x], optimal.values.upper[x]
    apart = np.maximum.reduceat(lower, begins) > np.minimum.reduceat(upper, begins)
    surely, possibly = optimal.surely[x], optimal.possibly[x]
    # Some member's sure action is certainly none of another's.
    apart |= (
        np.bitwise_or.reduceat(surely, begins) & ~np.bitwise_and.reduceat(possibly, begins)
    ) != 0
    known = np.maximum.reduceat(optimal.block[x], begins) == np.minimum.reduceat(
        optimal.block[x], begins
    )
    known &= np.minimum.reduceat(surely, begins) == np.maximum.reduceat(possibly, begins)
    sizes = np.diff(np.r_[begins, len(x)])
    known |= sizes == 1
    for group in (
        np.flatnonzero(~known & ~apart).tolist() if optimal.exact else ()
    ):  # exact values tell apart what intervals do not
        values = {optimal.exact.get(int(y)) for y in groups.members(group)}
        apart[group] = None not in values and len(values) > 1
    if apart.any():
        members = groups.nearest(optimal.product.states.depth, apart)
        return Answer(NO, witness=_find_difference(optimal, members))
    return Answer(YES, optimal.depth) if known.all() else Answer(UNDECIDED)


def _find_difference(optimal: Optimal, members: Numbers) -> tuple[int, ...]:
    """The nearest two members that certainly differ in value or in optimal actions."""
    near = members[np.argsort(optimal.product.states.depth[members], kind="stable")]
    lower, upper = optimal.values.lower[near], optimal.values.upper[near]
    surely, possibly = optimal.surely[near], optimal.possibly[near]
    exact = [optimal.exact.get(x) for x in near.tolist()]
    number = {value: i for i, value in enumerate(dict.fromkeys(exact))}
    value = np.array([-1 if one is None else number[one] for one in exact])
    known = value >= 0
    # The first that differs from any before it, then the first that it differs from.
    differs = (np.maximum.accumulate(lower) > upper) | (lower > np.minimum.accumulate(upper))
    differs |= np.bitwise_or.accumulate(surely) & ~possibly != 0
    differs |= surely & ~np.bitwise_and.accumulate(possibly) != 0
    differs |= known & (value != value[known.argmax()])
    if not differs.any():
        return tuple(near.tolist())
    y = differs.argmax()
    apart = (
        (lower > upper[y])
        | (lower[y] > upper)
        | (surely & ~possibly[y] != 0)
        | (surely[y] & ~possibly != 0)
    )
    apart |= known & known[y] & (value != value[y])
    return int(near[apart.argmax()]), int(near[y])


def _answer_everywhere(optimal: Optimal, groups: _Groups) -> Answer:
    x, begins = groups.states, groups.begins
    if not len(x):
        return Answer(YES, optimal.depth)
    possible = np.bitwise_and.reduceat(optimal.possibly[x], begins)
    certain = np.bitwise_and.reduceat(optimal.surely[x], begins)
    if (possible == 0).any():
        members = groups.nearest(optimal.product.states.depth, possible == 0)
        return Answer(NO, witness=find_clash(optimal, members))
    alone = np.diff(np.r_[begins, len(x)]) == 1  # has an optimal action, whichever it is
    if ((certain == 0) & ~alone).any():
        return Answer(UNDECIDED)
    lowest = (actions & -actions for actions in certain.tolist())  # the first action, as a bit
    choice = {
        y: bit.bit_length() - 1 for y, bit in zip(x[begins].tolist(), lowest, strict=True) if bit
    }
    return Answer(YES, optimal.depth, choice=choice)


def find_clash(optimal: Optimal, members: Numbers) -> tuple[int, ...]:
    """Few members, the nearest first, that have no optimal action in common: two where two do."""
    near = members[np.argsort(optimal.product.states.depth[members], kind="stable")]
    kinds = np.sort(
        np.unique(optimal.possibly[near], return_index=True)[1]
    )  # of each kind the nearest
    near = near[kinds]
    possibly = optimal.possibly[near]
    for second, actions in enumerate(possibly):
        first = np.flatnonzero(possibly[:second] & actions == 0)
        if len(first):
            return int(near[first[0]]), int(near[second])
    left, chosen = -1, list[int]()
    for x in near.tolist():
        if left & optimal.possibly[x] != left:
            left &= optimal.possibly[x]
            chosen.append(x)
    for x in list(chosen):  # strike out those that are not needed
        rest = [optimal.possibly[y] for y in chosen if y != x]
        if rest and np.bitwise_and.reduce(rest) == 0:
            chosen.remove(x)
    return tuple(chosen)


def _answer_start(optimal: Optimal, k: int, everywhere: Answer) -> Answer:
    """A policy from the start is followed wherever it leads, however few states are asked about: it is a yes for all, a no, or undecided."""
    sure = search_policy(optimal, optimal.surely, k)
    if isinstance(sure, Choice) and not sure.cut:
        return Answer(YES, choice=sure.action)
    if everywhere.reach == inf:
        return Answer(YES, choice=everywhere.choice)
    maybe = search_policy(optimal, optimal.possibly, k)
    if isinstance(maybe, tuple):
        return Answer(NO, witness=maybe)
    return Answer(UNDECIDED, choice=sure.action if isinstance(sure, Choice) else everywhere.choice)


@dataclass(frozen=True, slots=True, repr=False)
class Situation:
    """One product state of a witness, in words: how to get there, what is seen, and what is best to do."""

    place: int
    """The environment state."""
    where: str
    """The environment state in words."""
    state: str
    stack: Stack
    seen: Stack
    """The top k symbols."""
    word: str
    """The labels of a shortest way to it, as `pdrm step` reads them."""
    way: tuple[str, ...]
    """The actions of that way."""
    actions: tuple[str, ...]
    """The actions that are optimal here."""
    certain: bool
    """Whether these are all known to be optimal; else some of them may not be."""
    value: tuple[float, float]
    """The interval of its value."""
    start: str = ""
    """Where the way begins, in words; empty where episodes begin in one place only."""

    def __repr__(self) -> str:
        """The situation in short; `way` and `word` say how to get there."""
        return f"<{self.where}, {self.state}, stack {' '.join(self.stack) or '(empty)'}; best: {' or '.join(self.actions)}>"


def describe_start(domain: FiniteDomain, number: int) -> str:
    """A start in words; nothing where episodes begin in one environment state only.

    >>> from pdrm.task import Task
    >>> describe_start(Task("maze-5x5").finite, 0)
    ''
    """
    arrays = domain.arrays
    several = len(np.unique(arrays.start_state[arrays.start_probability > 0])) > 1
    return domain.describe(int(arrays.start_state[number])) if several else ""


def describe(optimal: Optimal, x: int, k: int) -> Situation:
    """A product state in words."""
    product, stack = optimal.product, optimal.product.stack(x)
    names = product.domain.actions
    return Situation(
        int(product.place[x]),
        product.domain.describe(int(product.place[x])),
        product.machine_state(x),
        stack,
        stack[:k],
        word_to(product, x),
        actions_to(product, x),
        tuple(name for a, name in enumerate(names) if optimal.possibly[x] >> a & 1),
        bool(optimal.possibly[x] == optimal.surely[x]),
        (float(optimal.values.lower[x]), float(optimal.values.upper[x])),
        describe_start(product.domain, product.path(x)[0]),
    )
