"""What actions are worth, and policies, in Numba."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.product.finite.arrays import END

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


@njit(cache=True)
def worth(
    following: Integers, reward: Floats, place: Integers, probability: Floats, discount: float, value: Floats
) -> Floats:
    """[x, action]: the expected reward and discounted value of each action."""
    count, actions, outcomes = following.shape
    found = np.zeros((count, actions))
    for x in range(count):
        s = place[x]
        for a in range(actions):
            q = 0.0
            for o in range(outcomes):
                p = probability[s, a, o]
                if p > 0.0:
                    y = following[x, a, o]
                    q += p * (reward[x, a, o] + (discount * value[y] if y != END else 0.0))
            found[x, a] = q
    return found


@njit(cache=True)
def evaluate(
    following: Integers,
    reward: Floats,
    place: Integers,
    probability: Floats,
    looked: Flags,
    discount: float,
    action: npt.NDArray[np.int64],
    value: Floats,
    sweeps_most: int,
) -> float:
    """Values of one policy, in place; open states keep theirs. Returns the last residual."""
    count, _, outcomes = following.shape
    change = 0.0
    for _ in range(sweeps_most):
        change = 0.0
        for position in range(count):
            # Later states are mostly led to: backwards, so that most of what a state rests on is new.
            x = count - 1 - position
            if not looked[x]:
                continue
            a, s, q = action[x], place[x], 0.0
            for o in range(outcomes):
                p = probability[s, a, o]
                if p > 0.0:
                    y = following[x, a, o]
                    q += p * (reward[x, a, o] + (discount * value[y] if y != END else 0.0))
            change = max(change, abs(q - value[x]))
            value[x] = q
        if change < 1e-10:
            break
    return change


@njit(cache=True)
def met(
    following: Integers,
    place: Integers,
    probability: Floats,
    discount: float,
    action: npt.NDArray[np.int64],
    begin: Floats,
    sweeps_most: int,
) -> Floats:
    """[x]: the discounted number of times that a policy meets each state."""
    count, _, outcomes = following.shape
    now, total = begin.copy(), begin.copy()
    for _ in range(sweeps_most):
        after = np.zeros(count)
        moved = 0.0
        for x in range(count):
            if now[x] > 0.0:
                a, s = action[x], place[x]
                for o in range(outcomes):
                    p = probability[s, a, o]
                    y = following[x, a, o]
                    if p > 0.0 and y != END:
                        after[y] += discount * p * now[x]
                        moved += discount * p * now[x]
        now = after
        total += now
        if moved < 1e-9:
            break
    return total
