"""Greedy episodes of the hierarchical agent in Numba; the readable form is `ReadableHierarchical.test`."""

from __future__ import annotations

import numpy as np
from numba import njit

from pdrm.domains.labelled_mdp import DomainArrays
from pdrm.learning.tabular import progress as at
from pdrm.learning.tabular.options.tables import NO_OPTION, Options
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
    options: Options,
    meta: Values,
    policies: Values,
    rng: State,
    limit: int,
    returns: Rewards,
    steps: Integers,
    ends: Integers,
) -> int:
    """Greedy episodes without learning, one an entry of `returns`; `ends` gets the last machine state. After NO_ROOM, make
    room and call again with the generator as it was: everything is played anew."""
    found, final, machine_states = (
        explored.configurations,
        explored.table.first_final,
        explored.configurations.number.shape[1],
    )
    symbols, achieved, counts, random = explored.stacks.symbol, options.achieved, options.counts, rng[0]
    afters, pays, seens, state_of, node_of = found.after, found.paid, found.seen, found.state, found.node
    states, actions, outcomes = domain.next.shape
    first, first_paid = first_configuration(explored)
    if first < 0:
        return at.NO_ROOM
    for episode in range(len(returns)):
        k, total = 0, 0.0
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
        starting, option = label >= 0, NO_OPTION
        while starting or (step < limit and state_of[here] < final and not domain.terminal[s]):
            own, after, state, top = 0.0, s, state_of[here], symbols[node_of[here]]
            if not starting:
                # The meta-policy's choice, where no option is running, and then the option's: the same search twice.
                a = 0
                for level in range(0 if option == NO_OPTION else 1, 2):
                    table = meta if level == 0 else policies
                    slot, keys, mask = table.index.slot, table.index.key, len(table.index.slot) - 1
                    key = (seens[here] if level == 0 else top * machine_states + state) * states + s
                    column, choices = (0, counts[state]) if level == 0 else (option * actions, actions)
                    probe = hashed(key) & mask
                    while slot[probe] >= 0 and keys[slot[probe]] != key:
                        probe = (probe + 1) & mask
                    row, a, ties, best = slot[probe], 0, choices, 0.0
                    if row >= 0:
                        best, ties = table.value[row, column], 1
                        for choice in range(1, choices):
                            if table.value[row, column + choice] > best:
                                best, ties, a = table.value[row, column + choice], 1, choice
                            elif table.value[row, column + choice] == best:
                                ties += 1
                    if ties > 1:
                        random += _GOLDEN
                        skip = int(mixed(random) * ties)
                        while skip > 0:
                            a += 1
                            skip -= row < 0 or table.value[row, column + a] == best
                    if level == 0:
                        option = a
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
                step += 1
            there = afters[here, label]
            if there < 0:
                there = explore(explored, here, label)
                if there < 0:
                    return -there
            gained += own + pays[here, label]
            if there != here or (not starting and achieved[state, label, top, option]):
                option = NO_OPTION
            s, here, starting = after, there, False
        returns[episode], steps[episode], ends[episode] = gained, step, state_of[here]
    rng[0] = random
    return at.DONE
