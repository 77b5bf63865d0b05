"""Q-learning and CpRM (Algorithms 1 and 2) in Numba, on any finite domain and any machine.

The readable twin is `ReadableQLearning` (`q_learning.py`). Each phase of the loop below names the
methods of the twin that it implements; on the same random numbers both learn the same values, entry
by entry. Configurations, labels and rows of the table are numbers here.

A step first makes room for everything that it may add to the tables. If that fails, the kernel
returns, and the next call repeats the step from its start with the same random numbers.
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
    find_row,
    highest,
    make_row,
    max_views_of,
    njit_norefcount,
    read,
    start_episode,
    uniform,
    update,
)
from pdrm.product.explore_kernel import (
    UNDEFINED_LABEL,
    UNKNOWN,
    Potentials,
    explore,
    fill_potentials,
    see,
    stack_code,
)
from pdrm.product.hash_kernel import FREE, find_key, ix


@njit_norefcount
def shaping_reward(
    potentials: Potentials,
    configuration: int,
    following: int,
    over: bool,
    states: int,
    gamma: float,
) -> float:
    """The shaping reward of a step from one configuration to another (update)."""
    value, factor, shift = potentials.value, potentials.factor, potentials.shift
    before = factor * float(value[configuration // states, configuration % states]) + shift
    after = 0.0
    if not over:
        after = factor * float(value[following // states, following % states]) + shift
    return gamma * after - before


@njit_norefcount
def learn(
    domain: DomainArrays,
    tables: Tables,
    rng: RngState,
    rates: Rates,
    progress: Progress,
    until: int,
) -> int:
    """Train up to episode `until`. Returns DONE, or the reason for which to call again."""
    # The arrays, taken out of their tuples.
    explored, observed, potentials = tables.explored, tables.observed, tables.potentials
    next_states, labels, env_rewards = domain.next, domain.label, domain.reward
    probability, terminal = domain.probability, domain.terminal
    actions = next_states.shape[1]
    slot, keys, row_count, q, env_states = tables.table
    view_of, moves = explored.seen, explored.moves
    states, running_states = explored.states, explored.first_final  # all; those not final
    counting, shaped = len(explored.counters) > 0, len(potentials.value) > 0
    entry_slot, entry_keys, entry_count = observed.index
    first_of, ready, next_pair = observed.first, observed.ready, observed.turn
    reached, counterfactual_rewards = observed.reached, observed.paid
    alpha, gamma, max_operations = rates.alpha, rates.gamma, rates.max_operations
    budget = rates.updates_per_step
    real_first = budget < rows.ALL
    stack_count = explored.stacks.made if counting else explored.index.used
    max_views = max_views_of(slot)
    # The state of the run.
    run = progress[0]
    configuration, s, row = run.configuration, run.state, run.row
    step, updates, operations = run.step, run.updates, run.operations
    episode_return, epsilon = run.episode_return, run.epsilon
    random, status, over = rng[0], rows.DONE, False
    while run.episode < until:
        # 1. End the episode (lower_epsilon).
        if over:
            run.all_steps += step
            run.all_updates += updates
            run.last_return = episode_return
            run.episode += 1
            epsilon = max(epsilon * rates.epsilon_decay, rates.epsilon_min)
            configuration, over = rows.NONE, False
            continue
        random_before = random
        # 2. Start an episode (start_episode).
        if configuration == rows.NONE:
            s, configuration, episode_return, operations, random = start_episode(
                domain, explored, max_operations, random
            )
            if configuration < 0:
                status, configuration, random = configuration, rows.NONE, random_before
                break
            row, step, updates = FREE, 0, 0
            if view_of[configuration] == UNKNOWN:
                see(explored, configuration // states)
            over = view_of[configuration] < 0 or terminal[s] or 0 < max_operations < operations
            continue
        if run.late:
            over = True
            continue
        if 0 < run.pause <= updates:
            status = rows.PAUSE
            break
        # 3. Observe the stack, choose an action and draw its outcome (choose_action, draw).
        entries, current_entry = entry_count[0], 0
        if entries == len(entry_keys):
            status = rows.NO_ENTRIES
            break
        if row < 0:
            if row_count[0] == len(keys) or stack_count[0] * states > max_views:
                status = rows.FULL
                break
            row = make_row(slot, keys, row_count, env_states, s, view_of[configuration])
        if budget > 0:
            node = configuration // states
            key = node
            if rates.class_depth >= 0:
                key = stack_code(explored.stacks, node, rates.class_depth)
            current_entry, index = find_key(entry_slot, entry_keys, key)
            if current_entry < 0:
                current_entry = entries
                entry_slot[index], entry_keys[current_entry] = current_entry, key
                first_of[current_entry] = node * states
                entries += 1
                entry_count[0] = entries
        random += GOLDEN_64
        if uniform(random) < epsilon:
            random += GOLDEN_64
            a = int(uniform(random) * actions)
        else:
            a, random = choose_greedily(q, row, 0, actions, random, rates.first_tie)
        o, random = draw(probability, s, a, random)
        # 4. Find the successors of this configuration and of all counterfactual ones (outcome).
        next_s, label = next_states[ix(s), ix(a), ix(o)], labels[ix(s), ix(a), ix(o)]
        following, machine_reward = read(explored, configuration, label)
        if following < 0:
            status, random = following, random_before
            break
        if view_of[following] == UNKNOWN:
            see(explored, following // states)
        for pair in range(ready[ix(label)], entries * running_states):
            entry, u = pair // running_states, pair % running_states
            successor, successor_reward = explore(explored, first_of[entry] + u, label)
            if successor < UNDEFINED_LABEL:
                status = successor
                break
            if successor >= 0 and view_of[successor] == UNKNOWN:
                see(explored, successor // states)
            reached[label, u, entry] = successor
            counterfactual_rewards[label, u, entry] = successor_reward
            ready[label] = pair + 1
        if shaped and not fill_potentials(potentials, explored.stacks):
            status = rows.NO_VALUES
        counterfactuals = min(budget, entries * running_states)
        free_rows = len(keys) - row_count[0] - counterfactuals
        if free_rows < 1 or stack_count[0] * states > max_views:
            status = rows.FULL
        if status != rows.DONE:
            random = random_before
            break
        # 5. Count the operations: of the step, and of the counterfactuals until they run out
        #    (spend_operations).
        if counting:
            operations += moves[label, configuration]
            if 0 < max_operations < operations:
                over = True
                continue
            u, entry = next_pair[0], next_pair[1]
            for pair in range(counterfactuals):
                operations += moves[ix(label), ix(first_of[ix(entry)] + u)]
                if 0 < max_operations < operations:
                    counterfactuals = pair
                    break
                entry += 1
                if entry == entries:
                    u = u + 1 if u + 1 < running_states else 0
                    entry = 0
        # 6. Learn from the real step, unless it is one of the counterfactual steps (learn, update).
        over, next_row = view_of[ix(following)] < 0 or terminal[ix(next_s)], FREE
        is_last = rates.limit_ends and step + 1 == rates.step_limit
        if not over:
            next_row = make_row(slot, keys, row_count, env_states, next_s, view_of[ix(following)])
        reward = env_rewards[ix(s), ix(a), ix(o)] + machine_reward
        real_target = reward
        if shaped:
            real_target += shaping_reward(
                potentials, configuration, following, over or is_last, states, gamma
            )
        future_row = FREE if is_last else next_row
        if real_first:
            update(q, row, a, real_target, future_row, alpha, gamma)
            updates += 1
        # 7. Learn from the counterfactual steps (counterfactual_configurations, update).
        if budget > 0:
            env_reward, env_over = env_rewards[s, a, o], terminal[next_s] or is_last
            u, entry = next_pair[0], next_pair[1]
            includes_real = (configuration % states) * entries + current_entry < counterfactuals
            while counterfactuals > 0:
                # All entries with one machine state: one loop over all pairs is a fifth slower.
                end = min(entries, entry + counterfactuals)
                counterfactuals -= end - entry
                for candidate in range(entry, end):
                    counterfactual = first_of[ix(candidate)] + u
                    successor = reached[ix(label), ix(u), ix(candidate)]
                    if successor >= 0:  # no rule applies: no counterfactual step
                        target = (
                            env_reward + counterfactual_rewards[ix(label), ix(u), ix(candidate)]
                        )
                        view = view_of[ix(successor)]
                        if shaped:
                            target += shaping_reward(
                                potentials,
                                counterfactual,
                                successor,
                                env_over or view < 0,
                                states,
                                gamma,
                            )
                        if view >= 0 and not env_over:
                            successor_row, _ = find_row(slot, keys, env_states, next_s, view)
                            if successor_row >= 0:  # otherwise its values are 0
                                target += gamma * highest(q, successor_row, 0, actions)
                        updated_row = make_row(
                            slot, keys, row_count, env_states, s, view_of[ix(counterfactual)]
                        )
                        q[ix(updated_row), ix(a)] += alpha * (target - q[ix(updated_row), ix(a)])
                        updates += 1
                entry = end
                if entry == entries:
                    u = u + 1 if u + 1 < running_states else 0
                    entry = 0
            if real_first:
                next_pair[0], next_pair[1] = u, entry
            elif not includes_real:
                update(q, row, a, real_target, future_row, alpha, gamma)
                updates += 1
        # 8. Move on (episode, play).
        step += 1
        episode_return += reward
        s, configuration, row = next_s, following, next_row
        over = (
            over
            or step == rates.step_limit
            or 0 < rates.updates_per_episode <= updates
            or 0 < max_operations < operations
        )
    # Keep the state of the run, to continue from it.
    run.configuration, run.state, run.row = configuration, s, row
    run.step, run.updates, run.operations = step, updates, operations
    run.episode_return, run.epsilon = episode_return, epsilon
    rng[0] = random
    return status
