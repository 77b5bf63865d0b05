"""Q-learning and CpRM (Algorithms 1 and 2) in Numba, on any finite domain and any machine: training, and greedy tests."""

from __future__ import annotations

import numpy as np
from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular.learner_tables import Progress, Rates
from pdrm.learning.tabular.randomness import GOLDEN, RngState
from pdrm.learning.tabular.rows_kernel import FREE, Observed, Values, hashed, mixed, note
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.exploration import Explored
from pdrm.product.explore_kernel import UNEXPLORED, configuration, explore, first_configuration

# --- Tabular learning in Numba: Q-learning and CpRM (Algorithms 1 and 2) on any finite domain and any machine.
#
# The readable form is `q_learning.py`; entry by entry the two learn the same on the same random numbers. The two loops are
# written out flat, arrays first taken out of their tuples: split into functions that are handed arrays, Numba counts
# references to each at every update, and the whole is five to twenty times slower (measured with Numba 0.68).

_GOLDEN = np.uint64(GOLDEN)

# An index that is unsigned: at a signed one Numba looks whether it counts from the end, which made the loops a third slower.
ix = np.uint64


@njit(cache=True)
def learn(
    domain: DomainArrays,
    explored: Explored,
    values: Values,
    observed: Observed,
    rng: RngState,
    rates: Rates,
    progress: Progress,
    until: int,
) -> int:
    """Train up to episode `until`. NO_ROOM: make room and call again; UNEXPLORED: find the successor that is wanted and call
    again; CLOCK: look at the clock and call again. Nothing is lost or done twice."""
    ints, floats, q, found = progress.ints, progress.floats, values.value, explored.configurations
    slot, keys, used = values.index
    afters, pays, seens, state_of, node_of = found.after, found.paid, found.seen, found.state, found.node
    numbers, nodes, following, symbols, parents = (
        found.number,
        observed.node,
        observed.following,
        explored.stacks.symbol,
        explored.stacks.parent,
    )
    listed, list_keys, symbol_count = observed.index.slot, observed.index.key, explored.stacks.child.shape[1]
    successors, chances, labels, own, terminal = (
        domain.next,
        domain.probability,
        domain.label,
        domain.reward,
        domain.terminal,
    )
    states, actions, outcomes = successors.shape
    final, mask, mode = explored.table.first_final, len(slot) - 1, rates.mode
    s, here, row, a, o = ints[at.STATE], ints[at.CONFIGURATION], ints[at.ROW], ints[at.ACTION], ints[at.OUTCOME]
    phase, step, episode, gained, epsilon = (
        ints[at.PHASE],
        ints[at.STEP],
        ints[at.EPISODE],
        floats[at.GAINED],
        floats[at.EPSILON],
    )
    random, updates, status = rng[0], ints[at.UPDATES], at.DONE
    alpha, gamma = rates.alpha, rates.gamma
    moves, counted, most, spent = found.moves, len(found.moves) > 0, rates.operations, ints[at.OPERATIONS]
    late, look = ints[at.LATE] != 0, ints[at.LOOK] if ints[at.LOOK] > 0 else at.NEVER
    first, first_paid = first_configuration(explored)
    if first < 0:
        return at.NO_ROOM
    while episode < until:
        if phase == at.BEGIN:
            ints[at.START] = 0
            if len(domain.start_state) > 1:
                random += _GOLDEN
                chance, total = mixed(random), 0.0
                for outcome in range(len(domain.start_state)):
                    if domain.start_probability[outcome] > 0.0:
                        ints[at.START] = outcome
                        total += domain.start_probability[outcome]
                        if chance < total:
                            break
            phase = at.ENTER
        if phase == at.ENTER:
            s, here, gained, step, updates = domain.start_state[ints[at.START]], first, first_paid, 0, 0
            label, spent = domain.start_label[ints[at.START]], 0
            if label >= 0 and state_of[here] < final:
                there = afters[here, label]
                if there < 0:
                    there = explore(explored, here, label)
                    if there < 0:
                        status = -there
                        break
                if counted:
                    spent = moves[here, label]
                if not 0 < most < spent:
                    gained += pays[here, label]
                    here = there
            if used[0] >= len(keys):
                status = at.NO_ROOM
                break
            key = seens[here] * states + s
            probe = hashed(key) & mask
            while slot[probe] >= 0 and keys[slot[probe]] != key:
                probe = (probe + 1) & mask
            if slot[probe] < 0:
                slot[probe], keys[used[0]], used[0] = used[0], key, used[0] + 1
            row, phase = slot[probe], at.CHOOSE
        ended = state_of[here] >= final or terminal[s] or 0 < most < spent or (late and phase == at.CHOOSE)
        while not ended:
            if phase == at.CHOOSE:
                if updates >= look:
                    status = at.CLOCK
                    break
                if mode != at.PLAIN:
                    place, code, node = (s if mode == at.CO_OBSERVED else 0), 0, node_of[here]
                    for _ in range(rates.depth):
                        code, node = code * symbol_count + symbols[node], parents[node]
                    key = (node if rates.depth < 0 else code) * len(observed.first) + place
                    probe = hashed(key) & (len(listed) - 1)
                    while listed[probe] >= 0 and list_keys[listed[probe]] != key:
                        probe = (probe + 1) & (len(listed) - 1)
                    if listed[probe] < 0 and not note(observed, key, probe, place, node_of[here]):
                        status = at.NO_ROOM
                        break
                    ints[at.OWN_ENTRY] = listed[probe]
                random += _GOLDEN
                if mixed(random) < epsilon:
                    random += _GOLDEN
                    a = int(mixed(random) * actions)
                else:
                    best, ties, a = q[ix(row), 0], 1, 0
                    for action in range(1, actions):
                        if q[ix(row), ix(action)] > best:
                            best, ties, a = q[ix(row), ix(action)], 1, action
                        elif q[ix(row), ix(action)] == best:
                            ties += 1
                    if ties > 1:
                        random += _GOLDEN
                        skip = int(mixed(random) * ties)
                        while skip > 0:
                            a += 1
                            skip -= q[ix(row), ix(a)] == best
                o = 0
                if outcomes > 1:
                    random += _GOLDEN
                    chance, total = mixed(random), 0.0
                    for outcome in range(outcomes):
                        if chances[ix(s), ix(a), ix(outcome)] > 0.0:
                            o = outcome
                            total += chances[ix(s), ix(a), ix(outcome)]
                            if chance < total:
                                break
                phase = at.ACT
            after, label = successors[ix(s), ix(a), ix(o)], labels[ix(s), ix(a), ix(o)]
            there = afters[ix(here), ix(label)]
            if there < 0:
                there = explore(explored, here, label)
                if there < 0:
                    status = -there
                    break
            if counted and phase == at.ACT and 0 < most < spent + moves[here, label]:
                spent += moves[here, label]
                break
            paid = own[ix(s), ix(a), ix(o)] + pays[ix(here), ix(label)]
            over, next_row, target = state_of[ix(there)] >= final or terminal[ix(after)], row, paid
            if not over:
                if used[0] >= len(keys):
                    status = at.NO_ROOM
                    break
                key = seens[ix(there)] * states + after
                probe = hashed(key) & mask
                next_row = slot[ix(probe)]
                while next_row >= 0 and keys[ix(next_row)] != key:
                    probe = (probe + 1) & mask
                    next_row = slot[ix(probe)]
                if next_row < 0:
                    next_row = used[0]
                    slot[probe], keys[next_row], used[0] = next_row, key, next_row + 1
            if phase == at.ACT:
                if counted:
                    spent += moves[here, label]
                if mode == at.PLAIN or rates.budget > 0:
                    if not over:
                        best = q[ix(next_row), 0]
                        for action in range(1, actions):
                            best = max(best, q[ix(next_row), ix(action)])
                        target += gamma * best
                    q[ix(row), ix(a)] += alpha * (target - q[ix(row), ix(a)])
                    updates += 1
                phase = at.IMAGINE
                if mode != at.PLAIN:
                    place = s if mode == at.CO_OBSERVED else 0
                    pairs = observed.length[place] * final
                    ints[at.LEFT] = min(pairs, rates.budget) if rates.budget > 0 else pairs
                    ints[at.MACHINE] = observed.turn[place, 0] if rates.budget > 0 else 0
                    ints[at.ENTRY] = observed.turn[place, 1] if rates.budget > 0 else FREE
            if mode != at.PLAIN:
                place, own_reward, ends = (s if mode == at.CO_OBSERVED else 0), own[s, a, o], terminal[after]
                machine, entry, left = ints[at.MACHINE], ints[at.ENTRY], ints[at.LEFT]
                while left > 0 and not late:
                    if updates >= look:
                        status = at.CLOCK
                        break
                    if entry < 0:
                        entry = observed.first[place]
                    imagined = numbers[ix(nodes[ix(entry)]), ix(machine)]
                    if imagined < 0:
                        imagined = configuration(explored, machine, nodes[entry])
                    reached = afters[ix(imagined), ix(label)] if imagined >= 0 else imagined
                    if reached < 0 <= imagined:
                        reached = explore(explored, imagined, label)
                    if reached in (at.NO_CONFIGURATION, UNEXPLORED) or used[0] >= len(keys):
                        status = at.UNEXPLORED if reached == UNEXPLORED else at.NO_ROOM
                        break
                    if reached >= 0:
                        if counted:
                            spent += moves[imagined, label]
                            if 0 < most < spent:
                                break
                        target = own_reward + pays[ix(imagined), ix(label)]
                        if not ends and state_of[ix(reached)] < final:
                            key = seens[ix(reached)] * states + after
                            probe = hashed(key) & mask
                            there_row = slot[ix(probe)]
                            while there_row >= 0 and keys[ix(there_row)] != key:
                                probe = (probe + 1) & mask
                                there_row = slot[ix(probe)]
                            if there_row >= 0:  # else it was never learnt about, and is worth nothing yet
                                best = q[ix(there_row), 0]
                                for action in range(1, actions):
                                    best = max(best, q[ix(there_row), ix(action)])
                                target += gamma * best
                        key = seens[ix(imagined)] * states + s
                        probe = hashed(key) & mask
                        here_row = slot[ix(probe)]
                        while here_row >= 0 and keys[ix(here_row)] != key:
                            probe = (probe + 1) & mask
                            here_row = slot[ix(probe)]
                        if here_row < 0:
                            here_row = used[0]
                            slot[probe], keys[here_row], used[0] = here_row, key, here_row + 1
                        q[ix(here_row), ix(a)] += alpha * (target - q[ix(here_row), ix(a)])
                        updates += 1
                    left -= 1
                    entry = following[ix(entry)]
                    if entry < 0:
                        machine = machine + 1 if machine + 1 < final else 0
                ints[at.MACHINE], ints[at.ENTRY], ints[at.LEFT] = machine, entry, left
                if status != at.DONE:
                    break
                if rates.budget > 0:
                    observed.turn[place, 0], observed.turn[place, 1] = machine, entry
                elif left > 0 and (machine, entry) <= (state_of[here], ints[at.OWN_ENTRY]):
                    # The episode is cut off before the turn of what really happened: that is learnt all the same.
                    target = paid
                    if not over:
                        best = q[next_row, 0]
                        for action in range(1, actions):
                            best = max(best, q[next_row, action])
                        target += gamma * best
                    q[row, a] += alpha * (target - q[row, a])
                    updates += 1
            step += 1
            gained += paid
            s, here, row, phase = after, there, next_row, at.CHOOSE
            ended = over or step == rates.limit or 0 < rates.episode_budget <= updates or 0 < most < spent or late
        if status != at.DONE:
            break
        ints[at.ALL_STEPS] += step
        ints[at.ALL_UPDATES] += updates
        ints[at.ALL_OPERATIONS] += spent
        episode += 1
        phase, floats[at.LAST_RETURN] = at.BEGIN, gained
        epsilon = max(epsilon * rates.decay, rates.least)
    ints[at.STATE], ints[at.CONFIGURATION], ints[at.ROW], ints[at.ACTION], ints[at.OUTCOME] = s, here, row, a, o
    ints[at.PHASE], ints[at.STEP], ints[at.EPISODE], ints[at.UPDATES] = phase, step, episode, updates
    ints[at.OPERATIONS] = spent
    floats[at.GAINED], floats[at.EPSILON], rng[0] = gained, epsilon, random
    return status


# --- Greedy episodes in Numba; the readable form is `ReadableQLearning.test`.


@njit(cache=True)
def test(
    domain: DomainArrays,
    explored: Explored,
    values: Values,
    rng: RngState,
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
