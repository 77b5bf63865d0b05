"""The hierarchical method in Numba, on any finite domain and any machine: training.

The readable twin is `ReadableHierarchical` (`hierarchical.py`), whose methods are named at each phase:
on the same random numbers the two learn the same, entry by entry. As in `q_kernel`, a step that finds
no room is made again from its beginning.
"""

from __future__ import annotations

from pdrm.domains.finite_domain import DomainArrays
from pdrm.learning.randomness import RngState
from pdrm.learning.tabular import rows_kernel as at
from pdrm.learning.tabular.rows_kernel import (
    GOLDEN_64,
    Progress,
    Rates,
    Tables,
    begin,
    choose_greedily,
    draw,
    follow,
    highest,
    make_row,
    room_for_views,
    uncounted,
    uniform,
)
from pdrm.product.explore_kernel import UNKNOWN, see
from pdrm.product.hash_kernel import FREE, ix


@uncounted
def learn(
    domain: DomainArrays,
    tables: Tables,
    rng: RngState,
    rates: Rates,
    progress: Progress,
    until: int,
) -> int:
    """Train up to episode `until`. The answer is DONE, or what to do before the next call. The step in
    which the time runs out is the last."""
    # Take the arrays out of their tuples, and continue the run from its state.
    explored, options, met, within = tables.explored, tables.options, tables.met, tables.within
    next_state, label_of, own_reward = domain.next, domain.label, domain.reward
    probability, terminal, actions = domain.probability, domain.terminal, domain.next.shape[1]
    slot, keys, used, meta_q, states = tables.table
    seen, symbol_of, machine_states = explored.seen, explored.stacks.symbol, explored.states
    counts, ruled, head_of, head_state, achieved, moved, paid_at = options
    heads = len(head_state)
    numbered, most_views = explored.index.used, room_for_views(slot)
    q = within.reshape(-1, within.shape[2])
    alpha, gamma = rates.alpha, rates.gamma
    run = progress[0]
    here, s, meta_row, step, updates = run.here, run.state, run.row, run.step, run.updates
    option, collected, weight, gained = run.option, run.collected, run.weight, run.gained
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
        if used[0] + 2 > len(keys) or numbered[0] * machine_states > most_views:
            status = at.FULL
            break
        node = here // machine_states
        state = here - node * machine_states
        count, own = counts[state], head_of[state, symbol_of[node]]
        # 3. Choose an option, if none is running (choose_option).
        if meta_row < 0:
            meta_row = make_row(slot, keys, used, states, s, seen[here])
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
        there, earned = follow(explored, here, label)
        if there < 0:
            status, random = there, before
            break
        if seen[there] == UNKNOWN:
            see(explored, there // machine_states)
        if numbered[0] * machine_states > most_views:
            status, random = at.FULL, before
            break
        option = chosen
        paid = own_reward[ix(s), ix(a), ix(o)] + earned
        ends, changed = terminal[ix(after)], there != here
        over = seen[there] < 0 or ends
        last = step + 1 == rates.limit or run.late != 0
        stops = over or changed or achieved[label, own, option] or last
        if not ends:
            met[after] = True
        # 6. Every option learns from the step, at every head (learn).
        for head in range(heads):
            row, later_row = s * heads + head, after * heads + head
            at_state = head_state[ix(head)]
            pays, leaves = paid, changed
            if head != own:
                does = moved[ix(label), ix(head)]
                if does < 0:
                    continue
                would_pay = paid_at[ix(label), ix(head)]
                pays, leaves = own_reward[ix(s), ix(a), ix(o)] + would_pay, does > 0
            column = 0
            for choice in range(counts[ix(at_state)]):
                target = rates.option_pay * pays
                if achieved[ix(label), ix(head), ix(choice)]:
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
                next_row = make_row(slot, keys, used, states, after, seen[there])
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
