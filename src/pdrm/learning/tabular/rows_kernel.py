"""Pieces that the kernels of the tabular learners share: random numbers, rows and greedy choices.

What Q-learning does in every step is written out there: as functions of arrays, drawing, choosing,
looking up and making rows made it two to six times slower, inlined or not (Numba 0.68), and a call
that is handed `Explored`, which counts references to each of its arrays, as long as ten steps.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.learning.randomness import FIRST, GOLDEN, SECOND
from pdrm.learning.tabular.learner_tables import ANY_VIEW, QTable
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.explore_kernel import UNKNOWN, Explored, explore, see
from pdrm.product.hash_kernel import FREE, Keys, hash_key, ix

_FIRST, _SECOND, GOLDEN_64 = np.uint64(FIRST), np.uint64(SECOND), np.uint64(GOLDEN)
_11, _27, _30, _31 = (np.uint64(bits) for bits in (11, 27, 30, 31))


# Numba compiles these for the array [environment state, view] and for hashed slots apart.


@njit(cache=True)
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


@njit(cache=True)
def room_for_views(slot: Integers) -> int:
    """The number of views that a table has room for."""
    views = ANY_VIEW
    if slot.ndim == 2:
        views = slot.shape[1]
    return views


@njit(cache=True)
def place_row(slot: Integers, s: int, place: int, row: int) -> None:
    """Let a row be found there."""
    if slot.ndim == 2:
        slot[ix(s), ix(place)] = row
    else:
        slot[ix(place)] = row


@njit(cache=True, inline="always")
def uniform(random: np.uint64) -> float:
    """The number in [0, 1) of a generator's state (`Rng.uniform`). The state moves on by `random += GOLDEN_64` before it."""
    word = (random ^ (random >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return float((word ^ (word >> _31)) >> _11) * 2.0**-53


@njit(cache=True)
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


@njit(cache=True)
def highest(q: Rewards, row: int, first: int, count: int) -> float:
    """The highest of `count` values of a row, from column `first` on."""
    best: float = q[ix(row), ix(first)]
    for choice in range(1, count):
        best = max(best, q[ix(row), ix(first + choice)])
    return best


@njit(cache=True)
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


@njit(cache=True)
def follow(explored: Explored, here: int, label: int) -> tuple[int, float]:
    """Where a label leads and what the machine pays, looked up or explored (`explore`)."""
    there, earned = UNKNOWN, 0.0
    if here < explored.after.shape[1]:
        there, earned = explored.after[label, here], explored.paid[label, here]
    if there == UNKNOWN:
        there, earned = explore(explored, here, label)
    return there, earned


@njit(cache=True)
def read_first(explored: Explored, label: int, most: int) -> tuple[int, float, int]:
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


@njit(cache=True)
def begin(
    domain: DomainArrays, explored: Explored, most: int, random: np.uint64
) -> tuple[int, int, float, int, np.uint64]:
    """A start of the domain, the result of `read_first`, and the generator's state after it."""
    start, random = draw(domain.start_probability.reshape(1, 1, -1), 0, 0, random)
    here, gained, operations = read_first(explored, domain.start_label[start], most)
    return domain.start_state[start], here, gained, operations, random


@njit(cache=True)
def find_seen(explored: Explored, table: QTable, s: int, here: int) -> int:
    """The row of an environment state and what is seen of a configuration, or FREE."""
    seen, row = explored.seen, FREE
    if explored.k >= 0 and seen[here] == UNKNOWN:  # a stack that only evaluations met
        see(explored, here // explored.states)
    view = seen[here]
    if 0 <= view < room_for_views(table.slot):
        row, _ = find_row(table.slot, table.key, table.states, s, view)
    return row
