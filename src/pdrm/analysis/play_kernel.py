"""Kernels of the search for the best k-policy: values from operators, classes, and playing a policy."""

from __future__ import annotations

import numpy as np
from numba import njit

from pdrm.analysis.whole_stack_kernel import Operators
from pdrm.machines.stacks import EMPTY, OK, OVERFLOW, Stacks
from pdrm.machines.tables import Integers
from pdrm.product.finite_kernel import END, Flags, Floats, Numbers
from pdrm.product.hash_kernel import Index, find_key

MISSING = 3
"""An operator is needed that is not in the arrays yet."""

EARNED, DOUBT, GROSS, STEPS, TOTALS = range(5)
"""The sums of `play`: what is earned at least, how much more it may be, the absolute rewards, steps."""


@njit(cache=True)
def find_values(
    operators: Operators, power: Floats, stacks: Stacks, known: Index, worth: Floats, env_states: int,
    machine_states: int, discount: float, env_state: Integers, state: Integers, node: Integers, begin: int, end: int, value: Floats,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Set the values of the states from `begin` to `end`, by the worth of their stacks and of every stack below that it depends on.

    Returns how far it came, and OK; OVERFLOW if `known` and `worth` have no room; or MISSING with the exit and symbol of the operator.
    """
    slot, keys, used = known
    exits = env_states * machine_states
    symbols = len(operators.constant) // exits
    for x in range(begin, end):
        todo = [(int(env_state[x]) * machine_states + state[x], int(node[x]))]
        row = -1
        while len(todo) > 0:
            e, here = todo[-1]
            key = here * exits + e
            row, free = find_key(slot, keys, key)
            if row >= 0:
                todo.pop()
                continue
            symbol = stacks.symbol[here]
            head = e * symbols + symbol
            best, ready = operators.constant[head], True
            if np.isnan(best):
                return x, MISSING, e, symbol
            for line in range(operators.first[head], operators.first[head] + operators.lines[head]):
                below = int(operators.exit[line]), int(stacks.parent[here])
                other, _ = find_key(slot, keys, below[1] * exits + below[0])
                if other < 0:
                    todo.append(below)
                    ready = False
                elif ready:
                    best = max(best, operators.c[line] + power[operators.t[line]] * worth[other])
            if ready:
                row = used[0]
                if row == len(keys):
                    return x, OVERFLOW, -1, -1
                slot[free], keys[row], worth[row], used[0] = row, key, best, row + 1
                todo.pop()
        value[x] = worth[row] / discount
    return end, OK, -1, -1


@njit(cache=True)
def classify(
    env_state: Integers, state: Integers, node: Integers, stacks: Stacks, k: int, env_states: int, machine_states: int,
    begin: int, end: int, index: Index, klass: Integers, member: Integers,
) -> tuple[int, int]:  # fmt: skip
    """Number the classes of the states from `begin` to `end`; returns how far it came, and OK or OVERFLOW.

    The top k symbols are known by a node of the tree of stacks: that of the stack with just these.
    """
    slot, keys, used = index
    top = np.empty(k, np.int64)
    for x in range(begin, end):
        count, at = 0, node[x]
        while count < k and at != EMPTY:
            top[count] = stacks.symbol[at]
            at = stacks.parent[at]
            count += 1
        at = EMPTY
        for position in range(count - 1, -1, -1):
            child = stacks.child[at, top[position]]
            if child == EMPTY:
                child = stacks.made[0]
                if child == len(stacks.symbol):
                    return x, OVERFLOW
                stacks.symbol[child] = top[position]
                stacks.parent[child] = at
                stacks.height[child] = stacks.height[at] + 1
                stacks.child[at, top[position]] = child
                stacks.made[0] = child + 1
            at = child
        key = (int(at) * env_states + env_state[x]) * machine_states + state[x]
        row, free = find_key(slot, keys, key)
        if row < 0:
            row = used[0]
            if row == len(keys):
                return x, OVERFLOW
            slot[free], keys[row], used[0] = row, key, row + 1
            member[row] = x
        klass[x] = row
    return end, OK


@njit(cache=True)
def play(
    following: Integers, reward: Floats, expanded: Flags, value: Floats, worst: Floats, discount: float, cut: float,
    klass: Integers, action: Integers, complete: bool, at: Numbers, weight: Floats, total: Floats,
    stamp: Numbers, mark: Numbers, then: Floats, seen: Flags,
) -> int:  # fmt: skip
    """Play episodes as far as a policy knows; if `complete`, choose the best action in every new class, and note in `seen` all classes.

    Returns the number of an episode that came to a state that is to be expanded (call again then), or -1.
    `at[i]` is END for an episode that is over. A configuration that returns makes a geometric series. Once an episode counts for
    less than `cut`, `worst` is added, and the rest up to its value becomes doubt.
    """
    for i in range(len(at)):
        x, w = at[i], weight[i]
        while x != END:
            c = klass[x]
            if action[c] < 0 and not complete:
                break
            if not expanded[x]:
                at[i], weight[i] = x, w
                return i
            if action[c] < 0:
                best = -np.inf
                for b in range(following.shape[1]):
                    y = following[x, b, 0]
                    q = reward[x, b, 0] + (discount * value[y] if y != END else 0.0)
                    if q > best:
                        best, action[c] = q, b
            seen[c] |= complete
            if mark[x] == stamp[0]:
                total[EARNED] = then[x, 1] + (total[EARNED] - then[x, 1]) / (1 - w / then[x, 0])
                x = END
                break
            mark[x] = stamp[0]
            then[x, 0], then[x, 1] = w, total[EARNED]
            paid = w * reward[x, action[c], 0]
            total[EARNED] += paid
            total[GROSS] += abs(paid)
            total[STEPS] += 1
            x, w = following[x, action[c], 0], w * discount
            if x != END and w * (value[x] - worst[x]) <= cut:
                total[DOUBT] += w * max(0.0, value[x] - worst[x])
                total[EARNED] += w * worst[x]
                x = END
        at[i], weight[i] = x, w
        stamp[0] += 1
    return -1
