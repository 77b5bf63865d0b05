"""Kernels of the search for the best k-policy: valuing and classifying states, playing policies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pdrm.analysis.whole_stack_kernel import Operators
from pdrm.machines.stacks import EMPTY, OK, OVERFLOW, Stacks
from pdrm.machines.tables import Integers
from pdrm.product.finite_kernel import END, Flags, Floats, Numbers, States
from pdrm.product.hash_kernel import Index, find_key

MISSING = 3
"""Status of `value_states`: an operator has not been solved yet."""

RETURN, UNCERTAIN, MAGNITUDE, STEPS, SUMS = range(5)
"""The sums of `play`: a lower bound of the expected return, how much higher it can be, the sum of
absolute rewards, and the number of steps."""


class StackValues(NamedTuple):
    """Continuation values of stacks, computed once for each control state on top of them."""

    keys: Index
    """Row of a key: stack * control states + control state."""
    value: Floats
    """[row]"""


@njit(cache=True)
def value_states(
    states: States,
    stacks: Stacks,
    operators: Operators,
    power: Floats,
    machine_states: int,
    known: StackValues,
    value: Floats,
    begin: int,
) -> tuple[int, int, int, int]:
    """Compute the values of the states from `begin` on.

    A stack's value needs the values of the stack below it at the exits of its top symbol. These are
    computed first, depth first, and kept in `known`.

    Returns the number of the first state without a value, a status, and for MISSING the control
    state and the symbol of the operator. The status is OVERFLOW if `known` is full.
    """
    slot, keys, used = known.keys
    stack_value = known.value
    controls = len(operators.newest)
    symbols = len(operators.constant) // controls
    end = states.index.used[0]
    for x in range(begin, end):
        todo = [(int(states.env_state[x]) * machine_states + states.state[x], int(states.node[x]))]
        row = -1
        while len(todo) > 0:
            control, node = todo[-1]
            key = node * controls + control
            row, free = find_key(slot, keys, key)
            if row >= 0:
                todo.pop()
                continue
            symbol = stacks.symbol[node]
            head = control * symbols + symbol
            best, ready = operators.constant[head], True
            if np.isnan(best):
                return x, MISSING, control, symbol
            for line in range(operators.first[head], operators.first[head] + operators.lines[head]):
                below = int(operators.exit[line]), int(stacks.parent[node])
                other, _ = find_key(slot, keys, below[1] * controls + below[0])
                if other < 0:
                    todo.append(below)
                    ready = False
                elif ready:
                    later = power[operators.t[line]] * stack_value[other]
                    best = max(best, operators.c[line] + later)
            if ready:
                row = used[0]
                if row == len(keys):
                    return x, OVERFLOW, -1, -1
                slot[free], keys[row], stack_value[row], used[0] = row, key, best, row + 1
                todo.pop()
        value[x] = stack_value[row] / power[1]
    return end, OK, -1, -1


class ClassArrays(NamedTuple):
    """The classes of product states that look alike to a k-policy."""

    keys: Index
    """Class of a key: (stack of the top k symbols * environment states + environment state) *
    machine states + machine state."""
    of_state: Integers
    """[x]: the class of each state."""
    member: Integers
    """[class]: its first state."""


@njit(cache=True)
def classify(
    states: States,
    stacks: Stacks,
    k: int,
    env_states: int,
    machine_states: int,
    classes: ClassArrays,
    begin: int,
) -> tuple[int, int]:
    """Number the classes of the states from `begin` on.

    The top k symbols are represented by the node of the stack that consists of them alone.

    Returns the number of the first state that is left, and OK or OVERFLOW.
    """
    slot, keys, used = classes.keys
    top = np.empty(k, np.int64)
    end = states.index.used[0]
    for x in range(begin, end):
        count, node = 0, states.node[x]
        while count < k and node != EMPTY:
            top[count] = stacks.symbol[node]
            node = stacks.parent[node]
            count += 1
        node = EMPTY
        for position in range(count - 1, -1, -1):
            child = stacks.child[node, top[position]]
            if child == EMPTY:
                child = stacks.made[0]
                if child == len(stacks.symbol):
                    return x, OVERFLOW
                stacks.symbol[child] = top[position]
                stacks.parent[child] = node
                stacks.height[child] = stacks.height[node] + 1
                stacks.child[node, top[position]] = child
                stacks.made[0] = child + 1
            node = child
        key = (int(node) * env_states + states.env_state[x]) * machine_states + states.state[x]
        row, free = find_key(slot, keys, key)
        if row < 0:
            row = used[0]
            if row == len(keys):
                return x, OVERFLOW
            slot[free], keys[row], used[0] = row, key, row + 1
            classes.member[row] = x
        classes.of_state[x] = row
    return end, OK


class PlayedProduct(NamedTuple):
    """A product with deterministic moves, as `play` reads it."""

    next: Integers
    """[x, action, 0]: the next state, or END."""
    reward: Floats
    """[x, action, 0]"""
    expanded: Flags
    """[x]"""
    klass: Integers
    """[x]: the class of each state."""
    value: Floats
    """[x]: the optimal value."""
    floor: Floats
    """[x]: a lower bound of the value of every policy."""


class Playback(NamedTuple):
    """One episode for each start, played up to the first class without an action."""

    state: Numbers
    """[start]: the state that the episode has reached, or END if it is over."""
    weight: Floats
    """[start]: the probability of the start times the discount so far."""
    sums: Floats
    """[sum]: RETURN, UNCERTAIN, MAGNITUDE and STEPS over all episodes."""

    def copy(self) -> Playback:
        return Playback(self.state.copy(), self.weight.copy(), self.sums.copy())


class PolicyArrays(NamedTuple):
    """A deterministic k-policy, and the work space of `play`."""

    action: Integers
    """[class]: the action, or -1 if none is chosen yet."""
    reached: Flags
    """[class]: True if a complete policy reaches it."""
    stamp: Numbers
    """[1]: the number of the episode that is played."""
    visit: Numbers
    """[x]: the number of the last episode that visited the state."""
    at_visit: Floats
    """[x, 2]: the weight and the return of that episode when it visited the state."""


@njit(cache=True)
def play(
    product: PlayedProduct,
    policy: PolicyArrays,
    playback: Playback,
    discount: float,
    cut: float,
    complete: bool,
) -> int:
    """Continue the episodes as far as the policy has actions.

    An episode that returns to a state repeats forever, so its return is a geometric series. An
    episode whose future counts for less than `cut` ends with `floor` as its value, and the rest up
    to `value` is added to UNCERTAIN.

    Args:
        product: The product.
        policy: The policy.
        playback: The episodes, updated in place.
        discount: γ.
        cut: The greatest uncertainty that ends an episode.
        complete: Choose the greedy action in classes without one, and mark the classes `reached`.

    Returns the number of an episode whose state must be expanded before the next call, or -1.
    """
    following, reward, expanded, klass, value, floor = product
    action, reached, stamp, visit, at_visit = policy
    reached_state, weight, sums = playback
    for i in range(len(reached_state)):
        x, w = reached_state[i], weight[i]
        while x != END:
            c = klass[x]
            if action[c] < 0 and not complete:
                break
            if not expanded[x]:
                reached_state[i], weight[i] = x, w
                return i
            if action[c] < 0:
                best = -np.inf
                for a in range(following.shape[1]):
                    y = following[x, a, 0]
                    q = reward[x, a, 0] + (discount * value[y] if y != END else 0.0)
                    if q > best:
                        best, action[c] = q, a
            reached[c] |= complete
            if visit[x] == stamp[0]:
                lap = sums[RETURN] - at_visit[x, 1]
                sums[RETURN] = at_visit[x, 1] + lap / (1 - w / at_visit[x, 0])
                x = END
                break
            visit[x] = stamp[0]
            at_visit[x, 0], at_visit[x, 1] = w, sums[RETURN]
            step_reward = w * reward[x, action[c], 0]
            sums[RETURN] += step_reward
            sums[MAGNITUDE] += abs(step_reward)
            sums[STEPS] += 1
            x, w = following[x, action[c], 0], w * discount
            if x != END and w * (value[x] - floor[x]) <= cut:
                sums[UNCERTAIN] += w * max(0.0, value[x] - floor[x])
                sums[RETURN] += w * floor[x]
                x = END
        reached_state[i], weight[i] = x, w
        stamp[0] += 1
    return -1
