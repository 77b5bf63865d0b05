"""The tables of the tabular learners, the pieces that their kernels share, and greedy episodes.

The pieces, and the loops themselves, are compiled `uncounted`: counting references to arrays at each
call made the loops two to six times slower, inlined or not (Numba 0.68). So they must make no array.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.files import Arrays
from pdrm.learning.randomness import FIRST, GOLDEN, SECOND, RngState
from pdrm.learning.tabular.hierarchical import NO_OPTIONS, Flags, Options
from pdrm.machines.stacks import lengthen
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.explore_kernel import UNKNOWN, ConfigurationGraph, Potentials, explore, see
from pdrm.product.hash_kernel import (
    FREE,
    INITIAL_CAPACITY,
    Index,
    Keys,
    free_slots,
    hash_key,
    ix,
    place_rows,
)

NONE = -1
"""No episode is under way; no option is running."""

# How a kernel ends: one of these, or a negative number of `explore`.
DONE = 0
PAUSE = 1
"""At least `pause` updates were made in the episode: look at the clock and call again."""
FULL, NO_ENTRIES, NO_VALUES = 2, 3, 4
"""The table of q, of observed stacks or of potentials has no room: let it grow and call again."""

PROGRESS = np.dtype(
    [
        ("episode", np.int64),  # that is under way, or begins next
        ("all_steps", np.int64),  # of finished episodes
        ("all_updates", np.int64),
        ("epsilon", np.float64),
        ("last_return", np.float64),  # of the last finished episode
        # Of the episode under way:
        ("here", np.int64),  # the configuration, or NONE
        ("state", np.int64),  # the environment's
        ("row", np.int64),  # of both in the table, or FREE
        ("step", np.int64),
        ("updates", np.int64),
        ("operations", np.int64),
        ("gained", np.float64),
        ("pause", np.int64),  # updates after which the clock is looked at; 0: never
        ("late", np.int64),  # 1: the time of the episode is over
        # Of the hierarchical agent:
        ("option", np.int64),  # that is running, or NONE
        ("collected", np.float64),  # what it was paid, discounted
        ("weight", np.float64),  # of its next reward
    ]
)
"""The state of a run, a record that kernels change."""
Progress = npt.NDArray[np.void]
"""[1]: a record of PROGRESS."""


def begin_progress(epsilon: float) -> Progress:
    """The state of a run before its first episode."""
    progress = np.zeros(1, PROGRESS).view(np.recarray)  # kernels read fields as attributes
    progress["epsilon"], progress["here"], progress["option"] = epsilon, NONE, NONE
    return progress


ANY_VIEW = 2**40
"""More views than there will ever be."""
MAX_CELLS = 2**26
"""Cells of the plain array by which rows are found; if there were more, they are found by hash."""
FIRST_ENTRIES = 64
"""Observed stacks that there is room for at first."""


class QTable(NamedTuple):
    """q as a table: one row for each (s, u, view) that was met, one column for each choice.

    >>> table = QTable.of(np.array([5, 1]), np.zeros((2, 4)), states=3, rows=2, views=2)
    >>> table.slot.tolist(), table.grow(views=3).slot.shape, len(table.grow(views=2).key)
    ([[-1, -1], [1, -1], [-1, 0]], (3, 4), 4)
    """

    slot: Integers
    """[environment state, view]: the row, or FREE; or [slot]: the row whose key hashes there."""
    key: Keys
    """[row]: (number of the view) * environment states + environment state."""
    used: Keys
    """[1]: how many rows there are."""
    value: Rewards
    """[row, choice]"""
    states: int
    """The number of environment states."""

    @classmethod
    def of(
        cls, keys: Keys, value: Rewards, states: int, rows: int = INITIAL_CAPACITY, views: int = 1
    ) -> QTable:
        """These rows, and room for `rows` in all. A table that is hashed has room for any view."""
        if states * views <= MAX_CELLS:
            slot = np.full((states, views), FREE, np.int32)
            slot[keys % states, keys // states] = np.arange(len(keys))
        else:
            slot = free_slots(rows)
            place_rows(slot, keys, len(keys))
        return cls(slot, lengthen(keys, rows), np.array([len(keys)]), lengthen(value, rows), states)

    def grow(self, views: int) -> QTable:
        """The same rows, with room for more views if there are more, else for twice as many rows."""
        used, rows, seen = int(self.used[0]), len(self.key), room_for_views(self.slot)
        if views > seen:
            seen = max(views, 2 * seen)
        else:
            rows *= 2
        return QTable.of(self.key[:used], self.value[:used], self.states, rows, seen)


class ObservedStacks(NamedTuple):
    """The stacks observed so far, one of each class, and what labels do to them.

    A class of stacks is an entry; an entry with each machine state is a counterfactual."""

    index: Index  # type: ignore[assignment] # a tuple has a method of that name
    """Classes of stacks to entries."""
    first: Integers
    """[entry]: the configuration of its stack and machine state 0."""
    reached: Integers
    """[label, machine state, entry]: the configuration that the label leads to; UNDEFINED_LABEL or UNKNOWN."""
    paid: Rewards
    """[label, machine state, entry]: what the machine pays for it."""
    ready: npt.NDArray[np.int64]
    """[label]: the first entries with machine states, in this order, of which this is known."""
    turn: npt.NDArray[np.int64]
    """[2]: the machine state and the entry with which a budget of updates continues."""

    @classmethod
    def of(cls, keys: Keys, first: Integers, labels: int, states: int) -> ObservedStacks:
        """These entries, of which nothing else is known, for these numbers of labels and machine states."""
        index = Index.from_keys(keys, max(2 * len(keys), FIRST_ENTRIES))
        entries = len(index.key)
        reached = np.full((labels, states, entries), UNKNOWN, np.int32)
        paid, ready = np.zeros(reached.shape), np.zeros(labels, np.int64)
        return cls(index, lengthen(first, entries), reached, paid, ready, np.zeros(2, np.int64))

    def grow(self) -> ObservedStacks:
        """The same entries in twice the room."""
        labels, states, _ = self.reached.shape
        return ObservedStacks.of(self.index.key, self.first, labels, states)._replace(
            turn=self.turn
        )


class Tables(NamedTuple):
    """The tables of a run: all have the first two, Q-learning the next two, the hierarchical method the last three."""

    explored: ConfigurationGraph
    table: QTable
    """Of actions, or the meta-policy's of options."""
    observed: ObservedStacks = ObservedStacks.of(np.zeros(0, np.int64), np.zeros(0, np.int32), 0, 0)
    potentials: Potentials = Potentials.none()
    options: Options = NO_OPTIONS
    met: Flags = np.zeros(0, np.bool_)
    """[environment state]: True if the options know anything of it."""
    within: Rewards = np.zeros((0, 0, 0))
    """[environment state, head, option * actions + action]: the options' values."""


def list_arrays(tables: Any, prefix: str = "") -> Arrays:
    """The arrays in a tuple and in the tuples that it holds, by their paths."""
    found: Arrays = {}
    for name, part in tables._asdict().items():
        if isinstance(part, tuple):
            found |= list_arrays(part, f"{prefix}{name}.")
        elif isinstance(part, np.ndarray):
            found[prefix + name] = part
    return found


def put_arrays(tables: Any, arrays: Arrays, prefix: str = "") -> Any:
    """The tuple with copies of the arrays that `list_arrays` found."""
    parts = {}
    for name, part in tables._asdict().items():
        if isinstance(part, tuple):
            parts[name] = put_arrays(part, arrays, f"{prefix}{name}.")
        elif isinstance(part, np.ndarray):
            parts[name] = arrays[prefix + name].copy()
    return tables._replace(**parts)


ALL = 2**62
"""More counterfactuals than there will ever be."""


class Rates(NamedTuple):
    """The settings of a tabular agent as numbers, and of the hierarchical one."""

    alpha: float
    gamma: float
    decay: float
    least: float
    limit: int
    budget: int  # counterfactual updates per step; 0: none; ALL
    depth: int  # symbols by which stacks are classed, or -1: every stack is its own class
    episode_budget: int  # updates per episode, or 0: no limit
    operations: int  # moves of a counting automaton per episode, or 0: no limit
    first_tie: bool  # of several best actions the first is taken, unless all are worth 0
    limit_ends: bool  # a truncated episode is learnt as one that has ended
    option_pay: float  # the factor of what machine and environment pay an option
    r_plus: float
    r_minus: float


_FIRST, _SECOND, GOLDEN_64 = np.uint64(FIRST), np.uint64(SECOND), np.uint64(GOLDEN)
_11, _27, _30, _31 = (np.uint64(bits) for bits in (11, 27, 30, 31))


_OPTIONS: dict[str, Any] = {"cache": True, "_nrt": False}
uncounted = njit(**_OPTIONS)
"""Compiles a kernel that makes no array: without counting references."""
piece = njit(forceinline=True, **_OPTIONS)
"""Compiles a part of such a kernel: in place, too."""


# Numba compiles these for the array [environment state, view] and for hashed slots apart.


@piece
def find_row(slot: Integers, keys: Keys, states: int, s: int, view: int) -> tuple[int, int]:
    """The row of an environment state and a view (`QTable`) or FREE, and its place in `slot`."""
    if slot.ndim == 2:
        place = int(view)
        row = slot[ix(s), ix(view)]
    else:
        key, mask = view * states + s, len(slot) - 1
        place = hash_key(key) & mask
        row = slot[ix(place)]
        while row >= 0 and keys[ix(row)] != key:
            place = (place + 1) & mask
            row = slot[ix(place)]
    return row, place


@piece
def make_row(slot: Integers, keys: Keys, used: Keys, states: int, s: int, view: int) -> int:
    """The same row, made if it is new; there is room for it."""
    row, place = find_row(slot, keys, states, s, view)
    if row == FREE:
        row = used[0]
        keys[row], used[0] = view * states + s, row + 1
        if slot.ndim == 2:
            slot[ix(s), ix(place)] = row
        else:
            slot[ix(place)] = row
    return int(row)


@piece
def room_for_views(slot: Integers) -> int:
    """The number of views that a table has room for."""
    views = ANY_VIEW
    if slot.ndim == 2:
        views = slot.shape[1]
    return views


@piece
def uniform(random: np.uint64) -> float:
    """The number in [0, 1) of a generator's state (`Rng.uniform`). The state moves on by `random += GOLDEN_64` before it."""
    word = (random ^ (random >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return float((word ^ (word >> _31)) >> _11) * 2.0**-53


@piece
def draw(probability: Rewards, s: int, a: int, random: np.uint64) -> tuple[int, np.uint64]:
    """An outcome of `probability[s, a]` (`draw_outcome`), and the generator's state after it."""
    drawn, total = 0, 0.0
    if probability.shape[2] > 1:
        random += GOLDEN_64
        number = uniform(random)
        for outcome in range(probability.shape[2]):
            if probability[ix(s), ix(a), ix(outcome)] > 0.0:
                drawn = outcome
                total += probability[ix(s), ix(a), ix(outcome)]
                if number < total:
                    break
    return drawn, random


@piece
def highest(q: Rewards, row: int, first: int, count: int) -> float:
    """The highest of `count` values of a row, from column `first` on."""
    best: float = q[ix(row), ix(first)]
    for choice in range(1, count):
        best = max(best, q[ix(row), ix(first + choice)])
    return best


@piece
def update(
    q: Rewards, row: int, a: int, target: float, later: int, alpha: float, gamma: float
) -> None:
    """Q moves by α towards a target, and towards γ times the best of a later row unless that is FREE."""
    if later >= 0:
        target += gamma * highest(q, later, 0, q.shape[1])
    q[ix(row), ix(a)] += alpha * (target - q[ix(row), ix(a)])


@piece
def choose_greedily(
    q: Rewards, row: int, first: int, count: int, random: np.uint64, first_tie: bool
) -> tuple[int, np.uint64]:
    """A choice of highest value, among several a random or the first one (`greedy`), and the
    generator's state after it. Without a row (FREE) all are worth nothing."""
    best, ties, chosen = 0.0, count, 0
    if row >= 0:
        best, ties = q[ix(row), ix(first)], 1
        for choice in range(1, count):
            if q[ix(row), ix(first + choice)] > best:
                best, ties, chosen = q[ix(row), ix(first + choice)], 1, choice
            elif q[ix(row), ix(first + choice)] == best:
                ties += 1
    if ties > 1 and not (first_tie and (best != 0.0 or ties < count)):
        random += GOLDEN_64
        skip = int(uniform(random) * ties)
        while skip > 0:
            chosen += 1
            skip -= row < 0 or q[ix(row), ix(first + chosen)] == best
    return chosen, random


@piece
def follow(explored: ConfigurationGraph, here: int, label: int) -> tuple[int, float]:
    """Where a label leads and what the machine pays, looked up or explored (`explore`)."""
    there, earned = UNKNOWN, 0.0
    if here < explored.after.shape[1]:
        there, earned = explored.after[ix(label), ix(here)], explored.reward[ix(label), ix(here)]
    if there == UNKNOWN:
        there, earned = explore(explored, here, label)
    return there, earned


@piece
def read_first(explored: ConfigurationGraph, label: int, most: int) -> tuple[int, float, int]:
    """Read the label at reset, unless that takes more than `most` moves of a counting automaton (0:
    any number). Returns the configuration (or a negative number of `explore`), what was paid since
    the episode began, and the moves."""
    here, gained, operations = explored.start, explored.start_reward, 0
    if label >= 0 and here % explored.states < explored.first_final:
        there, earned = explore(explored, here, label)
        if there >= 0 and len(explored.counters) > 0:
            operations = explored.moves[label, here]
        if not 0 < most < operations:
            gained += earned
            here = there
    return here, gained, operations


@piece
def begin(
    domain: DomainArrays, explored: ConfigurationGraph, most: int, random: np.uint64
) -> tuple[int, int, float, int, np.uint64]:
    """A start of the domain, the result of `read_first`, and the generator's state after it."""
    start, random = draw(domain.start_probability.reshape(1, 1, -1), 0, 0, random)
    here, gained, operations = read_first(explored, domain.start_label[start], most)
    return domain.start_state[start], here, gained, operations, random


@njit(cache=True)
def find_seen(explored: ConfigurationGraph, table: QTable, s: int, here: int) -> int:
    """The row of an environment state and what is seen of a configuration, or FREE."""
    if explored.k >= 0 and explored.seen[here] == UNKNOWN:  # a stack that only evaluations met
        see(explored, here // explored.states)
    view, row = explored.seen[here], FREE
    if 0 <= view < room_for_views(table.slot):
        row, _ = find_row(table.slot, table.key, table.states, s, view)
    return row


@njit(cache=True)
def test(
    domain: DomainArrays,
    tables: Tables,
    rng: RngState,
    rates: Rates,
    limit: int,
    returns: Rewards,
    steps: Integers,
    ends: Integers,
) -> int:
    """Greedy episodes of at most `limit` steps without learning (the `test` of the readable learners), one per
    entry of `returns`; `ends` gets the last machine state. If room runs out, make some and call again:
    everything is played again, with the same random numbers."""
    explored, table, options, within = tables.explored, tables.table, tables.options, tables.within
    actions, states, random = domain.next.shape[1], explored.states, rng[1]
    most, counted, hierarchical = rates.operations, len(explored.counters) > 0, len(within) > 0
    for episode in range(len(returns)):
        # 1. Begin (begin).
        s, here, gained, operations, random = begin(domain, explored, most, random)
        if here < 0:
            return int(here)
        step, option = 0, NONE
        while step < limit and here % states < explored.first_final:
            if domain.terminal[s] or 0 < most < operations:
                break
            # 2. Choose a best action, or option and action for it, and draw its outcome (greedy, draw).
            node = here // states
            head = (
                options.head[here - node * states, explored.stacks.symbol[node]]
                if hierarchical
                else 0
            )
            if option == NONE:
                row = find_seen(explored, table, s, here)
                count = options.counts[here - node * states] if hierarchical else actions
                option, random = choose_greedily(
                    table.value, row, 0, count, random, rates.first_tie
                )
            a = option
            if hierarchical:
                a, random = choose_greedily(
                    within[s], head, option * actions, actions, random, False
                )
            o, random = draw(domain.probability, s, a, random)
            label = domain.label[s, a, o]
            # 3. Take the step, unless the episode cannot afford it; it may end the option (outcome, affords, achieved).
            there, earned = follow(explored, here, label)
            if there < 0:
                return int(there)
            if counted:
                operations += explored.moves[label, here]
                if 0 < most < operations:
                    break
            step += 1
            gained += domain.reward[s, a, o] + earned
            if not hierarchical or there != here or options.achieved[label, head, option]:
                option = NONE
            s, here = domain.next[s, a, o], there
        returns[episode], steps[episode] = gained, step
        ends[episode] = here % states
    rng[1] = random
    return DONE
