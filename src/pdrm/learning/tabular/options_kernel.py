"""The hierarchical method in Numba, on any finite domain and any machine: training, and greedy evaluation.

The readable twin is `ReadableHierarchical` (`hierarchical.py`), whose methods are named at each phase:
on the same random numbers the two learn the same, entry by entry. As in `q_kernel`, a step that finds
no room is made again from its beginning.
"""

from __future__ import annotations

from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.learning.randomness import RngState
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular.learner_tables import OptionTables, Progress, Rates
from pdrm.learning.tabular.rows_kernel import (
    GOLDEN_64,
    begin,
    choose_greedily,
    draw,
    find_row,
    find_seen,
    follow,
    highest,
    place_row,
    room_for_views,
    uniform,
)
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.explore_kernel import UNKNOWN, explore, see
from pdrm.product.hash_kernel import FREE, ix


@njit(cache=True)
def learn(
    domain: DomainArrays,
    tables: OptionTables,
    rng: RngState,
    rates: Rates,
    progress: Progress,
    until: int,
) -> int:
    """Train up to episode `until`. The answer is DONE, or what to do before the next call. The step in
    which the time runs out is the last."""
    # Take the arrays out of their tuples, and continue the run from its state.
    explored, table, options, met, within = tables
    next_state, label_of, own_reward = domain.next, domain.label, domain.reward
    probability, terminal, actions = domain.probability, domain.terminal, domain.next.shape[1]
    slot, keys, used, meta_q, states = table
    seen, after_of, paid_of = explored.seen, explored.after, explored.paid
    symbol_of, machine_states, numbered = (
        explored.stacks.symbol,
        explored.states,
        explored.index.used,
    )
    achieved, counts, ruled, head_of = options.achieved, options.counts, options.ruled, options.head
    head_state, head_top, moved = options.head_state, options.head_top, options.moved
    heads, kept = len(head_state), after_of.shape[1]
    q = within.reshape(-1, within.shape[2])
    alpha, gamma = rates.alpha, rates.gamma
    run = progress[0]
    here, s, meta_row, step, updates = run.here, run.state, run.row, run.step, run.updates
    option, collected, weight, gained = run.option, run.collected, run.weight, run.gained
    most_views = room_for_views(slot)
    random, status, over = rng[0], at.DONE, False
    while run.episode < until:
        # 1. End the episode (episode).
        if over:
            run.all_steps += step
            run.all_updates += updates
            run.last_return = gained
            run.episode += 1
            run.epsilon = max(run.epsilon * rates.decay, rates.least)
            here, over = at.NONE, False
            continue
        before = random
        # 2. Begin one: a start of the domain, silent moves, the label at reset (begin).
        if here == at.NONE:
            s, here, gained, _, random = begin(domain, explored, 0, random)
            if here < 0:
                status, here, random = here, at.NONE, before
                break
            meta_row, option, step, updates = FREE, at.NONE, 0, 0
            if seen[here] == UNKNOWN:
                see(explored, here // machine_states)
            over = seen[here] < 0 or terminal[s]
            continue
        if 0 < run.pause <= updates and not run.late:
            status = at.PAUSE
            break
        run.rows = used[0] + 2
        if run.rows > len(keys) or numbered[0] * machine_states > most_views:
            status = at.FULL
            break
        node = here // machine_states
        state, top = here - node * machine_states, symbol_of[node]
        count, own = counts[state], head_of[state, top]
        # 3. Choose an option, if none is running (choose_option).
        if meta_row < 0:
            meta_row, place = find_row(slot, keys, states, s, seen[here])
            if meta_row == FREE:
                meta_row = used[0]
                keys[meta_row], used[0] = seen[here] * states + s, meta_row + 1
                place_row(slot, s, place, meta_row)
        chosen = option
        if chosen == at.NONE:
            collected, weight = 0.0, 1.0
            random += GOLDEN_64
            if uniform(random) < run.epsilon:
                random += GOLDEN_64
                chosen = int(uniform(random) * count)
            else:
                chosen, random = choose_greedily(meta_q, meta_row, 0, count, random, False)
        # 4. Choose an action for the option, and draw its outcome (choose, draw_outcome).
        met[s] = True
        random += GOLDEN_64
        if uniform(random) < run.epsilon:
            random += GOLDEN_64
            a = int(uniform(random) * actions)
        else:
            column = chosen * actions
            a, random = choose_greedily(q, s * heads + own, column, actions, random, False)
        o, random = draw(probability, s, a, random)
        # 5. Find what the step leads to (outcome).
        after, label = next_state[ix(s), ix(a), ix(o)], label_of[ix(s), ix(a), ix(o)]
        there, earned = UNKNOWN, 0.0
        if here < kept:
            there, earned = after_of[ix(label), ix(here)], paid_of[ix(label), ix(here)]
        if there < 0:
            there, earned = explore(explored, here, label)
        if there >= 0 and seen[there] == UNKNOWN:
            see(explored, there // machine_states)
        if there < 0:
            status = there
        elif numbered[0] * machine_states > most_views:
            status = at.FULL
        if status != at.DONE:
            random = before
            break
        option = chosen
        paid = own_reward[ix(s), ix(a), ix(o)] + earned
        ends, changed = terminal[ix(after)], there != here
        over = seen[there] < 0 or ends
        last = step + 1 == rates.limit or run.late != 0
        stops = over or changed or achieved[state, label, top, option] or last
        if not ends:
            met[after] = True
        # 6. Every option learns from the step, at every head (learn).
        for head in range(heads):
            row, later_row = s * heads + head, after * heads + head
            at_state, at_top = head_state[ix(head)], head_top[ix(head)]
            pays, leaves = paid, changed
            if head != own:
                does = moved[ix(at_state), ix(label), ix(at_top)]
                if does < 0:
                    continue
                would_pay = options.paid[ix(at_state), ix(label), ix(at_top)]
                pays, leaves = own_reward[ix(s), ix(a), ix(o)] + would_pay, does > 0
            column = 0
            for choice in range(counts[ix(at_state)]):
                target = rates.option_pay * pays
                if achieved[ix(at_state), ix(label), ix(at_top), ix(choice)]:
                    target += rates.r_plus
                elif leaves or ends:
                    if ruled[ix(at_state)]:
                        target += rates.r_minus
                else:
                    target += gamma * highest(q, later_row, column, actions)
                q[ix(row), ix(column + a)] += alpha * (target - q[ix(row), ix(column + a)])
                column += actions
            updates += counts[ix(at_state)]
        # 7. The meta-policy learns when the option stops (learn_meta).
        collected += weight * paid
        weight *= gamma
        if stops:
            next_row = FREE
            if not over:
                next_row, place = find_row(slot, keys, states, after, seen[there])
                if next_row == FREE:
                    next_row = used[0]
                    keys[next_row], used[0] = seen[there] * states + after, next_row + 1
                    place_row(slot, after, place, next_row)
                collected += weight * highest(meta_q, next_row, 0, counts[there % machine_states])
            meta_q[meta_row, option] += alpha * (collected - meta_q[meta_row, option])
            updates += 1
            option, meta_row = at.NONE, next_row
        # 8. Move on (episode).
        step += 1
        gained += paid
        s, here, over = after, there, over or last
    # Leave the run in a state from which it can continue.
    run.here, run.state, run.row, run.step, run.updates = here, s, meta_row, step, updates
    run.option, run.collected, run.weight, run.gained = option, collected, weight, gained
    rng[0] = random
    return status


@njit(cache=True)
def test(
    domain: DomainArrays,
    tables: OptionTables,
    rng: RngState,
    rates: Rates,
    limit: int,
    returns: Rewards,
    steps: Integers,
    ends: Integers,
) -> int:
    """Greedy episodes without learning (ReadableHierarchical.test), one per entry of `returns`;
    `ends` gets the last machine state. If room runs out, make some and call again: everything
    is played again, with the same random numbers."""
    explored, table, options, _, q = tables
    actions, machine_states, random = domain.next.shape[1], explored.states, rng[1]
    for episode in range(len(returns)):
        # 1. Begin (begin).
        s, here, gained, _, random = begin(domain, explored, 0, random)
        if here < 0:
            return int(here)
        step, option = 0, at.NONE
        while step < limit and here % machine_states < explored.first_final:
            if domain.terminal[s]:
                break
            node = here // machine_states
            state, top = here - node * machine_states, explored.stacks.symbol[node]
            # 2. Choose a best option, if none is running, a best action for it, and draw its outcome.
            if option == at.NONE:
                row = find_seen(explored, table, s, here)
                count = options.counts[state]
                option, random = choose_greedily(table.value, row, 0, count, random, False)
            head = options.head[state, top]
            a, random = choose_greedily(q[s], head, option * actions, actions, random, False)
            o, random = draw(domain.probability, s, a, random)
            label = domain.label[s, a, o]
            step += 1
            # 3. Take the step; it may end the option (outcome, achieved).
            there, earned = follow(explored, here, label)
            if there < 0:
                return int(there)
            gained += domain.reward[s, a, o] + earned
            if there != here or options.achieved[state, label, top, option]:
                option = at.NONE
            s, here = domain.next[s, a, o], there
        returns[episode], steps[episode] = gained, step
        ends[episode] = here % machine_states
    rng[1] = random
    return at.DONE
