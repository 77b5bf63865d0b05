"""Ties without values: states that do the same with the actions still in play are worth the same, whatever that is.

The coarsest partition in which two states of a block offer the same sets of (chance, reward, block) is a bisimulation of
the product restricted to actions that no interval excludes; restricting to those changes no value. It decides ties even
where an open state leaves values themselves unknown.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pdrm.product.finite.arrays import END
from pdrm.product.finite.product import FiniteProduct

Numbers = npt.NDArray[np.int64]
EXCLUDED = -1


def blocks(
    product: FiniteProduct, region: Numbers, possible: npt.NDArray[np.bool_], given: dict[int, int]
) -> tuple[Numbers, Numbers]:
    """[x]: the block of each state (equal blocks, equal values), and [x, action]: what an action offers, EXCLUDED where
    it is not in play (equal offers of one state, equal worth).

    `region` holds the states that possible actions reach, open ones included; `given` numbers states whose values are
    known, equal numbers for equal values.
    """
    count, actions, _ = product.next.shape
    fixed = np.zeros(count, np.bool_)
    block = np.zeros(count + 1, np.int64)  # END, at -1, is the last
    known = np.array(sorted(given), np.int64)
    fixed[known] = True
    block[known] = [1 + given[x] for x in known.tolist()]
    unseen = region[~product.states.looked[region] & ~fixed[region]]
    fixed[unseen] = True
    most = int(block.max()) + 1
    block[unseen] = most + np.arange(len(unseen))
    block[END] = most + len(unseen)
    free = region[~fixed[region]]
    steps = _steps(product, free)
    following = product.next[free].astype(np.int64)
    allowed = possible[free]
    offset, kinds = int(block.max()) + 1, 0
    while True:
        offer = _offers(steps, block[following], allowed)
        fresh = _together([block[free], *_without_repeats(offer).T])
        found = int(fresh.max(initial=-1)) + 1
        block[free] = offset + fresh
        if found == kinds:
            break
        kinds = found
    everyone = np.full((count, actions), EXCLUDED, np.int64)
    everyone[free] = offer
    return block[:-1], everyone


def _steps(product: FiniteProduct, free: Numbers) -> Numbers:
    """[state, action, outcome]: a number for its chance and reward, -1 where it cannot happen."""
    chance = product.domain.arrays.probability[product.place[free]]
    pair = np.stack([chance.ravel(), product.reward[free].ravel()], axis=1)
    if not len(pair):
        return np.zeros(chance.shape, np.int64)
    number = np.unique(pair, axis=0, return_inverse=True)[1].reshape(chance.shape)
    return np.where(chance > 0, number, -1)


def _offers(steps: Numbers, after: Numbers, allowed: npt.NDArray[np.bool_]) -> Numbers:
    """[state, action]: a number for the set of its outcomes' (chance and reward, block)."""
    size = int(after.max(initial=0)) + 2
    outcome = np.sort(np.where(steps >= 0, steps * size + after, -1), axis=2)
    columns = [outcome[:, :, place].ravel() for place in range(outcome.shape[2])]
    return np.where(allowed, _together(columns).reshape(allowed.shape), EXCLUDED)


def _without_repeats(offer: Numbers) -> Numbers:
    """Each state's offers as a set: sorted, repetitions struck out."""
    ordered = np.sort(offer, axis=1)
    repeated = np.zeros(ordered.shape, np.bool_)
    repeated[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return np.sort(np.where(repeated, EXCLUDED, ordered), axis=1)


def _together(columns: list[Numbers]) -> Numbers:
    """A number for each row of some columns, equal for equal rows."""
    number = np.unique(columns[0], return_inverse=True)[1].astype(np.int64)
    for column in columns[1:]:
        inverse = np.unique(column, return_inverse=True)[1].astype(np.int64)
        number = np.unique(number * (int(inverse.max(initial=0)) + 1) + inverse, return_inverse=True)[1].astype(
            np.int64
        )
    return number
