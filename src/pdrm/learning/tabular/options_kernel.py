"""The hierarchical method in Numba, on any finite domain and any machine: training.

The readable twin is `ReadableHierarchical` (`hierarchical.py`). Each phase of the loop below
names the methods of the twin that it implements; on the same random numbers both learn the same
values, entry by entry. As in `q_kernel`, a step for which a table has no room is repeated from
its start.
"""

from __future__ import annotations

from pdrm.domains.finite_domain import DomainArrays
from pdrm.learning.randomness import RngState
from pdrm.learning.tabular import rows_kernel as rows
from pdrm.learning.tabular.rows_kernel import (
    GOLDEN_64,
    Progress,
    Rates,
    Tables,
    choose_greedily,
    draw,
    highest,
    make_row,
    max_views_of,
    njit_norefcount,
    read,
    start_episode,
    uniform,
)
from pdrm.product.explore_kernel import UNKNOWN, see
from pdrm.product.hash_kernel import FREE, ix


@njit_norefcount
def learn(
    domain: DomainArrays,
    tables: Tables,
    rng: RngState,
    rates: Rates,
    progress: Progress,
    until: int,
) -> int:
    """Train up to episode `until`. Returns DONE, or the reason for which to call again.

    The step in which the time runs out is the last of its episode.
    """
    # The arrays, taken out of their tuples.
    explored, options = tables.explored, tables.options
    options_seen, option_values = tables.met, tables.within
    next_states, labels, env_rewards = domain.next, domain.label, domain.reward
    probability, terminal, actions = domain.probability, domain.terminal, domain.next.shape[1]
    slot, keys, row_count, meta_q, env_states = tables.table
    view_of, symbol_of, states = explored.seen, explored.stacks.symbol, explored.states
    counts, has_rules, head_of, head_state, achieved, moves, head_rewards = options
    heads = len(head_state)
    stack_count, max_views = explored.index.used, max_views_of(slot)
    q = option_values.reshape(-1, option_values.shape[2])
    alpha, gamma = rates.alpha, rates.gamma
    # The state of the run.
    run = progress[0]
    configuration, s, meta_row = run.configuration, run.state, run.row
    step, updates, episode_return = run.step, run.updates, run.episode_return
    option, option_return, weight = run.option, run.option_return, run.weight
    random, status, over = rng[0], rows.DONE, False
    while run.episode < until:
        # 1. End the episode (lower_epsilon).
        if over:
            run.all_steps += step
            run.all_updates += updates
            run.last_return = episode_return
            run.episode += 1
            run.epsilon = max(run.epsilon * rates.epsilon_decay, rates.epsilon_min)
            configuration, over = rows.NONE, False
            continue
        random_before = random
        # 2. Start an episode (start_episode).
        if configuration == rows.NONE:
            s, configuration, episode_return, _, random = start_episode(domain, explored, 0, random)
            if configuration < 0:
                status, configuration, random = configuration, rows.NONE, random_before
                break
            meta_row, option, step, updates = FREE, rows.NONE, 0, 0
            if view_of[configuration] == UNKNOWN:
                see(explored, configuration // states)
            over = view_of[configuration] < 0 or terminal[s]
            continue
        if 0 < run.pause <= updates and not run.late:
            status = rows.PAUSE
            break
        if row_count[0] + 2 > len(keys) or stack_count[0] * states > max_views:
            status = rows.FULL
            break
        node = configuration // states
        u = configuration - node * states
        count, current_head = counts[u], head_of[u, symbol_of[node]]
        # 3. Choose an option if none is followed (choose_option).
        if meta_row < 0:
            meta_row = make_row(slot, keys, row_count, env_states, s, view_of[configuration])
        chosen = option
        if chosen == rows.NONE:
            option_return, weight = 0.0, 1.0
            random += GOLDEN_64
            if uniform(random) < run.epsilon:
                random += GOLDEN_64
                chosen = int(uniform(random) * count)
            else:
                chosen, random = choose_greedily(meta_q, meta_row, 0, count, random, False)
        # 4. Choose an action for the option, and draw its outcome (choose_action, draw).
        options_seen[s] = True
        random += GOLDEN_64
        if uniform(random) < run.epsilon:
            random += GOLDEN_64
            a = int(uniform(random) * actions)
        else:
            column = chosen * actions
            a, random = choose_greedily(q, s * heads + current_head, column, actions, random, False)
        o, random = draw(probability, s, a, random)
        # 5. Find the successor (outcome, completes_option).
        next_s, label = next_states[ix(s), ix(a), ix(o)], labels[ix(s), ix(a), ix(o)]
        following, machine_reward = read(explored, configuration, label)
        if following < 0:
            status, random = following, random_before
            break
        if view_of[following] == UNKNOWN:
            see(explored, following // states)
        if stack_count[0] * states > max_views:
            status, random = rows.FULL, random_before
            break
        option = chosen
        reward = env_rewards[ix(s), ix(a), ix(o)] + machine_reward
        env_over, moved = terminal[ix(next_s)], following != configuration
        over = view_of[following] < 0 or env_over
        is_last = step + 1 == rates.step_limit or run.late != 0
        option_ends = over or moved or achieved[label, current_head, option] or is_last
        if not env_over:
            options_seen[next_s] = True
        # 6. Every option learns from the step, at every head (learn).
        for head in range(heads):
            row, next_row = s * heads + head, next_s * heads + head
            u = head_state[ix(head)]
            head_reward, head_moved = reward, moved
            if head != current_head:
                move = moves[ix(label), ix(head)]
                if move < 0:  # no rule applies: no counterfactual step
                    continue
                head_reward = env_rewards[ix(s), ix(a), ix(o)] + head_rewards[ix(label), ix(head)]
                head_moved = move > 0
            column = 0
            for choice in range(counts[ix(u)]):
                target = rates.option_pay * head_reward
                if achieved[ix(label), ix(head), ix(choice)]:
                    target += rates.r_plus
                elif head_moved or env_over:
                    if has_rules[ix(u)]:
                        target += rates.r_minus
                else:
                    target += gamma * highest(q, next_row, column, actions)
                q[ix(row), ix(column + a)] += alpha * (target - q[ix(row), ix(column + a)])
                column += actions
            updates += counts[ix(u)]
        # 7. The meta-policy learns when the option ends (learn_meta).
        option_return += weight * reward
        weight *= gamma
        if option_ends:
            next_meta_row = FREE
            if not over:
                view = view_of[following]
                next_meta_row = make_row(slot, keys, row_count, env_states, next_s, view)
                next_count = counts[following % states]
                option_return += weight * highest(meta_q, next_meta_row, 0, next_count)
            meta_q[meta_row, option] += alpha * (option_return - meta_q[meta_row, option])
            updates += 1
            option, meta_row = rows.NONE, next_meta_row
        # 8. Move on (episode, play).
        step += 1
        episode_return += reward
        s, configuration, over = next_s, following, over or is_last
    # Keep the state of the run, to continue from it.
    run.configuration, run.state, run.row = configuration, s, meta_row
    run.step, run.updates, run.episode_return = step, updates, episode_return
    run.option, run.option_return, run.weight = option, option_return, weight
    rng[0] = random
    return status
