"""The hierarchical method in Numba, on any finite domain and any machine: training, and greedy tests."""

from __future__ import annotations

import numpy as np
from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular.learner_tables import NO_OPTION, HierarchicalRates, Options, Progress
from pdrm.learning.tabular.randomness import GOLDEN, RngState
from pdrm.learning.tabular.rows_kernel import Values, hashed, mixed
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.exploration import Explored
from pdrm.product.explore_kernel import explore, first_configuration

# --- The hierarchical method in Numba, on any finite domain and any machine.
#
# The readable form is `hierarchical.py`; entry by entry the two learn the same on the same random numbers. The loops are
# written out flat for the reason given in `pdrm.learning.tabular.q_kernel`. Within a step everything that may need room comes
# before anything is learnt, so that a step that stops for room is taken up again as if it had not stopped.

_GOLDEN = np.uint64(GOLDEN)


@njit(cache=True)
def learn(
    domain: DomainArrays,
    explored: Explored,
    options: Options,
    meta: Values,
    policies: Values,
    rng: RngState,
    rates: HierarchicalRates,
    progress: Progress,
    until: int,
) -> int:
    """Train up to episode `until`. NO_ROOM: make room and call again; CLOCK: look at the clock and call again. Nothing is lost
    or done twice. The step in which the time runs out is the last."""
    ints, floats, found = progress.ints, progress.floats, explored.configurations
    afters, pays, seens, state_of, node_of = found.after, found.paid, found.seen, found.state, found.node
    symbols, machine_states, final = explored.stacks.symbol, found.number.shape[1], explored.table.first_final
    meta_q, q, achieved, counts, ruled = meta.value, policies.value, options.achieved, options.counts, options.ruled
    meta_slot, meta_keys, meta_used = meta.index
    slot, keys, used = policies.index
    meta_mask, mask = len(meta_slot) - 1, len(slot) - 1
    successors, chances, labels, own, terminal = (
        domain.next,
        domain.probability,
        domain.label,
        domain.reward,
        domain.terminal,
    )
    states, actions, outcomes = successors.shape
    alpha, gamma, limit, r_plus, r_minus = rates.alpha, rates.gamma, rates.limit, rates.r_plus, rates.r_minus
    s, here, row, a, o = ints[at.STATE], ints[at.CONFIGURATION], ints[at.ROW], ints[at.ACTION], ints[at.OUTCOME]
    phase, step, episode, gained, epsilon = (
        ints[at.PHASE],
        ints[at.STEP],
        ints[at.EPISODE],
        floats[at.GAINED],
        floats[at.EPSILON],
    )
    option, meta_row, collected, weight = ints[at.OPTION], ints[at.META_ROW], floats[at.COLLECTED], floats[at.WEIGHT]
    random, updates, status = rng[0], ints[at.UPDATES], at.DONE
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
            option, meta_row, row = at.NO_OPTION, -1, -1
            label = domain.start_label[ints[at.START]]
            if label >= 0 and state_of[here] < final:
                there = afters[here, label]
                if there < 0:
                    there = explore(explored, here, label)
                    if there < 0:
                        status = -there
                        break
                gained += pays[here, label]
                here = there
            phase = at.CHOOSE
        ended = state_of[here] >= final or terminal[s]
        while not ended:
            state, top = state_of[here], symbols[node_of[here]]
            count, place = counts[state], (top * machine_states + state) * states
            if phase == at.CHOOSE:
                if updates >= look:
                    status = at.CLOCK
                    break
                if meta_row < 0:
                    key = seens[here] * states + s
                    probe = hashed(key) & meta_mask
                    while meta_slot[probe] >= 0 and meta_keys[meta_slot[probe]] != key:
                        probe = (probe + 1) & meta_mask
                    if meta_slot[probe] < 0:
                        if meta_used[0] == len(meta_keys):
                            status = at.NO_ROOM
                            break
                        meta_slot[probe], meta_keys[meta_used[0]] = meta_used[0], key
                        meta_used[0] += 1
                    meta_row = meta_slot[probe]
                if row < 0:
                    key = place + s
                    probe = hashed(key) & mask
                    while slot[probe] >= 0 and keys[slot[probe]] != key:
                        probe = (probe + 1) & mask
                    if slot[probe] < 0:
                        if used[0] == len(keys):
                            status = at.NO_ROOM
                            break
                        slot[probe], keys[used[0]] = used[0], key
                        used[0] += 1
                    row = slot[probe]
                if option == at.NO_OPTION:
                    collected, weight = 0.0, 1.0
                    random += _GOLDEN
                    if mixed(random) < epsilon:
                        random += _GOLDEN
                        option = int(mixed(random) * count)
                    else:
                        best, ties, option = meta_q[meta_row, 0], 1, 0
                        for choice in range(1, count):
                            if meta_q[meta_row, choice] > best:
                                best, ties, option = meta_q[meta_row, choice], 1, choice
                            elif meta_q[meta_row, choice] == best:
                                ties += 1
                        if ties > 1:
                            random += _GOLDEN
                            skip = int(mixed(random) * ties)
                            while skip > 0:
                                option += 1
                                skip -= meta_q[meta_row, option] == best
                random += _GOLDEN
                if mixed(random) < epsilon:
                    random += _GOLDEN
                    a = int(mixed(random) * actions)
                else:
                    column = option * actions
                    best, ties, a = q[row, column], 1, 0
                    for action in range(1, actions):
                        if q[row, column + action] > best:
                            best, ties, a = q[row, column + action], 1, action
                        elif q[row, column + action] == best:
                            ties += 1
                    if ties > 1:
                        random += _GOLDEN
                        skip = int(mixed(random) * ties)
                        while skip > 0:
                            a += 1
                            skip -= q[row, column + a] == best
                o = 0
                if outcomes > 1:
                    random += _GOLDEN
                    chance, total = mixed(random), 0.0
                    for outcome in range(outcomes):
                        if chances[s, a, outcome] > 0.0:
                            o = outcome
                            total += chances[s, a, outcome]
                            if chance < total:
                                break
                phase = at.ACT
            after, label = successors[s, a, o], labels[s, a, o]
            there = afters[here, label]
            if there < 0:
                there = explore(explored, here, label)
                if there < 0:
                    status = -there
                    break
            paid = own[s, a, o] + pays[here, label]
            over, changed = state_of[there] >= final or terminal[after], there != here
            stops = over or changed or achieved[state, label, top, option] or step + 1 == limit or late
            next_row, next_meta = -1, -1
            if not (over or changed):
                key = place + after
                probe = hashed(key) & mask
                while slot[probe] >= 0 and keys[slot[probe]] != key:
                    probe = (probe + 1) & mask
                if slot[probe] < 0:
                    if used[0] == len(keys):
                        status = at.NO_ROOM
                        break
                    slot[probe], keys[used[0]] = used[0], key
                    used[0] += 1
                next_row = slot[probe]
            if stops and not over:
                key = seens[there] * states + after
                probe = hashed(key) & meta_mask
                while meta_slot[probe] >= 0 and meta_keys[meta_slot[probe]] != key:
                    probe = (probe + 1) & meta_mask
                if meta_slot[probe] < 0:
                    if meta_used[0] == len(meta_keys):
                        status = at.NO_ROOM
                        break
                    meta_slot[probe], meta_keys[meta_used[0]] = meta_used[0], key
                    meta_used[0] += 1
                next_meta = meta_slot[probe]
            column = 0
            for choice in range(count):
                target = paid
                if achieved[state, label, top, choice]:
                    target = r_plus
                elif changed:
                    if ruled[state]:
                        target = r_minus
                elif not over:
                    best = q[next_row, column]
                    for action in range(1, actions):
                        best = max(best, q[next_row, column + action])
                    target += gamma * best
                q[row, column + a] += alpha * (target - q[row, column + a])
                column += actions
            updates += count
            collected += weight * paid
            weight *= gamma
            if stops:
                if not over:
                    best = meta_q[next_meta, 0]
                    for choice in range(1, counts[state_of[there]]):
                        best = max(best, meta_q[next_meta, choice])
                    collected += weight * best
                meta_q[meta_row, option] += alpha * (collected - meta_q[meta_row, option])
                updates += 1
                option, meta_row = at.NO_OPTION, next_meta
            step += 1
            gained += paid
            s, here, row, phase = after, there, next_row, at.CHOOSE
            ended = over or step == limit or late
        if status != at.DONE:
            break
        ints[at.ALL_STEPS] += step
        ints[at.ALL_UPDATES] += updates
        episode += 1
        phase, floats[at.LAST_RETURN] = at.BEGIN, gained
        epsilon = max(epsilon * rates.decay, rates.least)
    ints[at.STATE], ints[at.CONFIGURATION], ints[at.ROW], ints[at.ACTION], ints[at.OUTCOME] = s, here, row, a, o
    ints[at.PHASE], ints[at.STEP], ints[at.EPISODE], ints[at.UPDATES] = phase, step, episode, updates
    ints[at.OPTION], ints[at.META_ROW], floats[at.COLLECTED], floats[at.WEIGHT] = option, meta_row, collected, weight
    floats[at.GAINED], floats[at.EPSILON], rng[0] = gained, epsilon, random
    return status


# --- Greedy episodes of the hierarchical agent in Numba; the readable form is `ReadableHierarchical.test`.


@njit(cache=True)
def test(
    domain: DomainArrays,
    explored: Explored,
    options: Options,
    meta: Values,
    policies: Values,
    rng: RngState,
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
