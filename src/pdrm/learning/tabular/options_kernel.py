"""The hierarchical method in Numba, on any finite domain and any machine: training, and greedy tests.

The readable twin is `ReadableHierarchical` (`hierarchical.py`), whose methods are named at each phase: entry by entry the two
learn the same on the same random numbers. What may be factored out of the loops without cost is said in `rows_kernel.py`. Within
a step everything that may need room comes before anything is learnt, so that a step that stops for room is taken up again as
if it had not stopped. Configurations get their numbers from `explore_kernel.configuration`.
"""

from __future__ import annotations

from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.learning.randomness import RngState
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular.learner_tables import HierarchicalRates, Options, Progress
from pdrm.learning.tabular.rows_kernel import (
    GOLDEN_64,
    Values,
    choose_greedily,
    draw,
    find_row,
    highest,
    ix,
    uniform,
)
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.exploration import UNKNOWN, Explored
from pdrm.product.explore_kernel import explore, first_configuration
from pdrm.product.hash_kernel import FREE


@njit(cache=True)
def rows_of_state(
    policies: Values, options: Options, machine_states: int, states: int, s: int
) -> int:
    """The first of the rows of an environment state, one for each head, in their order; new ones where there are none. FREE:
    there is no room for all of them."""
    slot, keys, used = policies.index
    key = (options.head_top[0] * machine_states + options.head_state[0]) * states + s
    row, _ = find_row(slot, keys, key)
    if row >= 0:
        return row
    first = int(used[0])
    if first + len(options.head_state) > len(keys):
        return FREE
    for head in range(len(options.head_state)):
        key = (options.head_top[head] * machine_states + options.head_state[head]) * states + s
        _, probe = find_row(slot, keys, key)
        slot[probe], keys[first + head] = first + head, key
    used[0] = first + len(options.head_state)
    return first


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
    # Take the arrays out of their tuples, and the run up where it was left.
    ints, floats, found = progress.ints, progress.floats, explored.configurations
    meta_q, q, achieved, counts, ruled = (
        meta.value,
        policies.value,
        options.achieved,
        options.counts,
        options.ruled,
    )
    head_of, head_state, head_top, moved, would_pay = (
        options.head, options.head_state, options.head_top, options.moved, options.paid,
    )  # fmt: skip
    heads, kept = len(head_state), len(found.after)
    meta_slot, meta_keys, meta_used = meta.index
    after_of, paid_of, seen_of, state_of, node_of = (
        found.after,
        found.paid,
        found.seen,
        found.state,
        found.node,
    )
    symbol_of, machine_states, final = (
        explored.stacks.symbol,
        found.number.shape[1],
        explored.table.first_final,
    )
    next_state, probability, label_of, own_reward = (
        domain.next,
        domain.probability,
        domain.label,
        domain.reward,
    )
    terminal, start_probability = (
        domain.terminal,
        domain.start_probability.reshape(1, 1, len(domain.start_state)),
    )
    states, actions, outcomes = next_state.shape
    alpha, gamma, limit, r_plus, r_minus = (
        rates.alpha,
        rates.gamma,
        rates.limit,
        rates.r_plus,
        rates.r_minus,
    )
    s, here, row, a, o = (
        ints[at.STATE],
        ints[at.CONFIGURATION],
        ints[at.ROW],
        ints[at.ACTION],
        ints[at.OUTCOME],
    )
    phase, step, episode, updates = (
        ints[at.PHASE],
        ints[at.STEP],
        ints[at.EPISODE],
        ints[at.UPDATES],
    )
    gained, epsilon, random, status = floats[at.GAINED], floats[at.EPSILON], rng[0], at.DONE
    option, meta_row, collected, weight = (
        ints[at.OPTION],
        ints[at.META_ROW],
        floats[at.COLLECTED],
        floats[at.WEIGHT],
    )
    late, look = ints[at.LATE] != 0, ints[at.LOOK] if ints[at.LOOK] > 0 else at.NEVER
    first, first_paid = first_configuration(explored)
    if first < 0:
        return at.NO_ROOM
    while episode < until:
        # 1. Draw a start of the domain (ReadableQLearning.begin).
        if phase == at.BEGIN:
            ints[at.START], random = draw(start_probability, 0, 0, random)
            phase = at.ENTER
        # 2. Enter it: the machine's silent moves, then the label at reset (begin).
        if phase == at.ENTER:
            s, here, gained, step, updates = (
                domain.start_state[ints[at.START]],
                first,
                first_paid,
                0,
                0,
            )
            option, meta_row, row = at.NO_OPTION, FREE, FREE
            label = domain.start_label[ints[at.START]]
            if label >= 0 and state_of[here] < final:
                there, earned = explore(explored, here, label)
                if there < 0:
                    status = -there
                    break
                gained += earned
                here = there
            phase = at.CHOOSE
        ended = state_of[here] >= final or terminal[s]
        while not ended:
            state, top = state_of[here], symbol_of[node_of[here]]
            count, own = counts[state], head_of[state, top]
            if phase == at.CHOOSE:
                if updates >= look:
                    status = at.CLOCK
                    break
                # 3. Find the rows of both tables (meta_values, policy_values).
                if meta_row < 0:
                    key = seen_of[here] * states + s
                    meta_row, probe = find_row(meta_slot, meta_keys, key)
                    if meta_row < 0:
                        if meta_used[0] >= len(meta_keys):
                            status = at.NO_ROOM
                            break
                        meta_row = meta_used[0]
                        meta_slot[probe], meta_keys[meta_row], meta_used[0] = (
                            meta_row,
                            key,
                            meta_row + 1,
                        )
                if row < 0:
                    row = rows_of_state(policies, options, machine_states, states, s)
                    if row < 0:
                        status = at.NO_ROOM
                        break
                # 4. Choose an option, if none is running (choose_option).
                if option == at.NO_OPTION:
                    collected, weight = 0.0, 1.0
                    random += GOLDEN_64
                    if uniform(random) < epsilon:
                        random += GOLDEN_64
                        option = int(uniform(random) * count)
                    else:
                        best, ties, option = meta_q[ix(meta_row), 0], 1, 0
                        for choice in range(1, count):
                            if meta_q[ix(meta_row), ix(choice)] > best:
                                best, ties, option = meta_q[ix(meta_row), ix(choice)], 1, choice
                            elif meta_q[ix(meta_row), ix(choice)] == best:
                                ties += 1
                        if ties > 1:
                            random += GOLDEN_64
                            skip = int(uniform(random) * ties)
                            while skip > 0:
                                option += 1
                                skip -= meta_q[ix(meta_row), ix(option)] == best
                # 5. Choose an action for the option, and draw its outcome (choose, draw_outcome).
                random += GOLDEN_64
                if uniform(random) < epsilon:
                    random += GOLDEN_64
                    a = int(uniform(random) * actions)
                else:
                    column = option * actions
                    best, ties, a = q[ix(row + own), ix(column)], 1, 0
                    for action in range(1, actions):
                        if q[ix(row + own), ix(column + action)] > best:
                            best, ties, a = q[ix(row + own), ix(column + action)], 1, action
                        elif q[ix(row + own), ix(column + action)] == best:
                            ties += 1
                    if ties > 1:
                        random += GOLDEN_64
                        skip = int(uniform(random) * ties)
                        while skip > 0:
                            a += 1
                            skip -= q[ix(row + own), ix(column + a)] == best
                o = 0
                if outcomes > 1:
                    random += GOLDEN_64
                    number, total = uniform(random), 0.0
                    for outcome in range(outcomes):
                        if probability[ix(s), ix(a), ix(outcome)] > 0.0:
                            o = outcome
                            total += probability[ix(s), ix(a), ix(outcome)]
                            if number < total:
                                break
                phase = at.ACT
            # 6. Take the step (ReadableQLearning.outcome), and make room for what is learnt from it.
            after, label = next_state[ix(s), ix(a), ix(o)], label_of[ix(s), ix(a), ix(o)]
            there, earned = UNKNOWN, 0.0
            if here < kept:
                there, earned = after_of[ix(here), ix(label)], paid_of[ix(here), ix(label)]
            if there < 0:
                there, earned = explore(explored, here, label)
                if there < 0:
                    status = -there
                    break
            paid = own_reward[ix(s), ix(a), ix(o)] + earned
            over, changed = state_of[ix(there)] >= final or terminal[ix(after)], there != here
            stops = (
                over or changed or achieved[state, label, top, option] or step + 1 == limit or late
            )
            next_row, next_meta = FREE, FREE
            if not terminal[ix(after)]:
                next_row = rows_of_state(policies, options, machine_states, states, after)
                if next_row < 0:
                    status = at.NO_ROOM
                    break
            if stops and not over:
                key = seen_of[there] * states + after
                next_meta, probe = find_row(meta_slot, meta_keys, key)
                if next_meta < 0:
                    if meta_used[0] >= len(meta_keys):
                        status = at.NO_ROOM
                        break
                    next_meta = meta_used[0]
                    meta_slot[probe], meta_keys[next_meta], meta_used[0] = (
                        next_meta,
                        key,
                        next_meta + 1,
                    )
            # 7. Every option learns from the step, at every head (learn).
            for head in range(heads):
                at_state, at_top = head_state[ix(head)], head_top[ix(head)]
                pays, ends = paid, changed
                if head != own:
                    if moved[ix(at_state), ix(label), ix(at_top)] < 0:
                        continue
                    pays = (
                        own_reward[ix(s), ix(a), ix(o)]
                        + would_pay[ix(at_state), ix(label), ix(at_top)]
                    )
                    ends = moved[ix(at_state), ix(label), ix(at_top)] > 0
                ends = ends or terminal[ix(after)]
                column = 0
                for choice in range(counts[ix(at_state)]):
                    target = pays
                    if achieved[ix(at_state), ix(label), ix(at_top), ix(choice)]:
                        target += r_plus
                    elif ends:
                        if ruled[ix(at_state)]:
                            target += r_minus
                    else:
                        target += gamma * highest(q, next_row + head, column, actions)
                    q[ix(row + head), ix(column + a)] += alpha * (
                        target - q[ix(row + head), ix(column + a)]
                    )
                    column += actions
                updates += counts[ix(at_state)]
            # 8. The meta-policy learns where the option stops (learn_meta).
            collected += weight * paid
            weight *= gamma
            if stops:
                if not over:
                    collected += weight * highest(meta_q, next_meta, 0, counts[state_of[there]])
                meta_q[meta_row, option] += alpha * (collected - meta_q[meta_row, option])
                updates += 1
                option, meta_row = at.NO_OPTION, next_meta
            # 9. Move on (episode).
            step += 1
            gained += paid
            s, here, row, phase = after, there, next_row, at.CHOOSE
            ended = over or step == limit or late
        if status != at.DONE:
            break
        # 10. End the episode (episode).
        ints[at.ALL_STEPS] += step
        ints[at.ALL_UPDATES] += updates
        episode += 1
        phase, floats[at.LAST_RETURN] = at.BEGIN, gained
        epsilon = max(epsilon * rates.decay, rates.least)
    # Leave the run where it can be taken up again.
    ints[at.STATE], ints[at.CONFIGURATION], ints[at.ROW], ints[at.ACTION], ints[at.OUTCOME] = (
        s,
        here,
        row,
        a,
        o,
    )
    ints[at.PHASE], ints[at.STEP], ints[at.EPISODE], ints[at.UPDATES] = (
        phase,
        step,
        episode,
        updates,
    )
    ints[at.OPTION], ints[at.META_ROW], floats[at.COLLECTED], floats[at.WEIGHT] = (
        option,
        meta_row,
        collected,
        weight,
    )
    floats[at.GAINED], floats[at.EPSILON], rng[0] = gained, epsilon, random
    return status


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
    """Greedy episodes without learning (ReadableHierarchical.test), one per entry of `returns`; `ends` gets the last machine
    state. After NO_ROOM, make room and call again with the generator as it was: everything is played anew."""
    found, final, machine_states = (
        explored.configurations,
        explored.table.first_final,
        explored.table.silent.shape[0],
    )
    symbol_of, achieved, counts, random = (
        explored.stacks.symbol,
        options.achieved,
        options.counts,
        rng[0],
    )
    after_of, paid_of, seen_of, state_of, node_of = (
        found.after,
        found.paid,
        found.seen,
        found.state,
        found.node,
    )
    start_probability = domain.start_probability.reshape(1, 1, len(domain.start_state))
    (states, actions, _), kept = domain.next.shape, len(found.after)
    first, first_paid = first_configuration(explored)
    if first < 0:
        return at.NO_ROOM
    for episode in range(len(returns)):
        # 1. Draw a start of the domain; its label is read first (begin).
        start, random = draw(start_probability, 0, 0, random)
        s, here, gained, step, option = (
            domain.start_state[start],
            first,
            first_paid,
            0,
            at.NO_OPTION,
        )
        label = domain.start_label[start]
        starting = label >= 0 and state_of[here] < final
        while starting or (step < limit and state_of[here] < final and not domain.terminal[s]):
            own_reward, after, state, top = 0.0, s, state_of[here], symbol_of[node_of[here]]
            if not starting:
                # 2. Choose a best option, if none is running, a best action for it, and draw its outcome (greedy, draw_outcome).
                if option == at.NO_OPTION:
                    row, _ = find_row(meta.index.slot, meta.index.key, seen_of[here] * states + s)
                    option, random = choose_greedily(
                        meta.value, row, 0, counts[state], random, False
                    )
                key = (top * machine_states + state) * states + s
                row, _ = find_row(policies.index.slot, policies.index.key, key)
                a, random = choose_greedily(
                    policies.value, row, option * actions, actions, random, False
                )
                o, random = draw(domain.probability, s, a, random)
                after, label, own_reward = (
                    domain.next[s, a, o],
                    domain.label[s, a, o],
                    domain.reward[s, a, o],
                )
                step += 1
            # 3. Take the step; it may end the option (outcome, achieved).
            there, earned = UNKNOWN, 0.0
            if here < kept:
                there, earned = after_of[here, label], paid_of[here, label]
            if there < 0:
                there, earned = explore(explored, here, label)
                if there < 0:
                    return -there
            gained += own_reward + earned
            if there != here or (not starting and achieved[state, label, top, option]):
                option = at.NO_OPTION
            s, here, starting = after, there, False
        returns[episode], steps[episode], ends[episode] = gained, step, state_of[here]
    rng[0] = random
    return at.DONE
