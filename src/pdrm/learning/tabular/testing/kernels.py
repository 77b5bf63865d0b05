"""Greedy episodes in Numba; the readable form is `ReadableQLearning.test`."""

from __future__ import annotations

import numpy as np
from numba import njit

from pdrm.domains.labelled_mdp import DomainArrays
from pdrm.learning.tabular import progress as at
from pdrm.learning.tabular.randomness import GOLDEN, State
from pdrm.learning.tabular.rows.kernels import hashed, mixed
from pdrm.learning.tabular.tables import Values
from pdrm.machines.table import Integers, Rewards
from pdrm.product.configurations import Explored
from pdrm.product.kernels import explore, first_configuration

_GOLDEN = np.uint64(GOLDEN)


@njit(cache=True)
def test(
    domain: DomainArrays,
    explored: Explored,
    values: Values,
    rng: State,
    limit: int,
    most: int,
    returns: Rewards,
    steps: Integers,
    ends: Integers,
) -> int:
    """Greedy episodes without learning, one an entry of `returns`, each of at most `limit` steps and `most` operations (0:
    any); `ends` gets the last machine state. After NO_ROOM and UNEXPLORED as for `learn`, but everything is played anew."""
    q, found, final = values.value, explored.configurations, explored.table.first_final
    slot, keys, _ = values.index
    afters, pays, seens, state_of = found.after, found.paid, found.seen, found.state
    states, actions, outcomes = domain.next.shape
    mask, random, moves, counted = len(slot) - 1, rng[0], found.moves, len(found.moves) > 0
    first, first_paid = first_configuration(explored)
    if first < 0:
        return at.NO_ROOM
    for episode in range(len(returns)):
        k, total, spent = 0, 0.0, 0
        if len(domain.start_state) > 1:
            random += _GOLDEN
            chance = mixed(random)
            for outcome in range(len(domain.start_state)):
                if domain.start_probability[outcome] > 0.0:
                    k = outcome
                    total += domain.start_probability[outcome]
                    if chance < total:
                        break
        s, here, gained, step, label = domain.start_state[k], first, first_paid, 0, domain.start_label[k]
        if state_of[here] >= final:
            label = -1
        starting = label >= 0
        while starting or (step < limit and state_of[here] < final and not domain.terminal[s]):
            own, after = 0.0, s
            if not starting:
                key = seens[here] * states + s
                probe = hashed(key) & mask
                while slot[probe] >= 0 and keys[slot[probe]] != key:
                    probe = (probe + 1) & mask
                row, a, ties = slot[probe], 0, actions
                if row >= 0:
                    best, ties = q[row, 0], 1
                    for action in range(1, actions):
                        if q[row, action] > best:
                            best, ties, a = q[row, action], 1, action
                        elif q[row, action] == best:
                            ties += 1
                if ties > 1:
                    random += _GOLDEN
                    skip = int(mixed(random) * ties)
                    while skip > 0:
                        a += 1
                        skip -= row < 0 or q[row, a] == best
                o, total = 0, 0.0
                if outcomes > 1:
                    random += _GOLDEN
                    chance = mixed(random)
                    for outcome in range(outcomes):
                        if domain.probability[s, a, outcome] > 0.0:
                            o = outcome
                            total += domain.probability[s, a, outcome]
                            if chance < total:
                                break
                after, label, own = domain.next[s, a, o], domain.label[s, a, o], domain.reward[s, a, o]
            there = afters[here, label]
            if there < 0:
                there = explore(explored, here, label)
                if there < 0:
                    return -there
            spent += moves[here, label] if counted else 0
            if 0 < most < spent:
                break
            step += not starting
            gained += own + pays[here, label]
            s, here, starting = after, there, False
        returns[episode], steps[episode], ends[episode] = gained, step, state_of[here]
    rng[0] = random
    return at.DONE
