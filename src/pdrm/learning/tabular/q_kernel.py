"""Q-learning and CpRM (Algorithms 1 and 2) in Numba, on any finite domain and any machine.

The readable twin is `ReadableQLearning` (`q_learning.py`), whose methods are named at each phase: on
the same random numbers the two learn the same, entry by entry.

A step finds everything that may need room before it learns anything. If there is none, the step is
made again from its beginning, with the same random numbers, once there is.
"""

from __future__ import annotations

from numba import njit

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
    find_row,
    follow,
    highest,
    make_row,
    room_for_views,
    uncounted,
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


@njit(cache=True)
def shape(
    potentials: Potentials, here: int, there: int, ends: bool, states: int, gamma: float
) -> float:
    """The shaping reward of a step between configurations (ReadableQLearning.update)."""
    value, factor, shift = potentials.value, potentials.factor, potentials.shift
    now = factor * float(value[here // states, here % states]) + shift
    later = 0.0
    if not ends:
        later = factor * float(value[there // states, there % states]) + shift
    return gamma * later - now


@uncounted
def learn(
    domain: DomainArrays,
    tables: Tables,
    rng: RngState,
    rates: Rates,
    progress: Progress,
    until: int,
) -> int:
    """Train up to episode `until`. The answer is DONE, or what to do before the next call."""
    # Take the arrays out of their tuples, and continue the run from its state.
    explored, observed, potentials = tables.explored, tables.observed, tables.potentials
    next_state, label_of, own_reward = domain.next, domain.label, domain.reward
    probability, terminal = domain.probability, domain.terminal
    actions = next_state.shape[1]
    slot, keys, used, q, states = tables.table
    seen, moves_of = explored.seen, explored.moves
    machine_states, final = explored.states, explored.first_final
    counted, shaped = len(explored.counters) > 0, len(potentials.value) > 0
    entry_slot, entry_keys, entries_used = observed.index
    first_of, ready, turn = observed.first, observed.ready, observed.turn
    reached, pays = observed.reached, observed.paid
    alpha, gamma, most, budget = rates.alpha, rates.gamma, rates.operations, rates.budget
    run = progress[0]
    here, s, row, step, updates = run.here, run.state, run.row, run.step, run.updates
    operations, gained, epsilon = run.operations, run.gained, run.epsilon
    numbered = explored.stacks.made if counted else explored.index.used
    most_views = room_for_views(slot)
    random, status, over = rng[0], at.DONE, False
    while run.episode < until:
        # 1. End the episode (episode).
        if over:
            run.all_steps += step
            run.all_updates += updates
            run.last_return = gained
            run.episode += 1
            epsilon = max(epsilon * rates.decay, rates.least)
            here, over = at.NONE, False
            continue
        before = random
        # 2. Begin one: a start of the domain, silent moves, the label at reset (begin).
        if here == at.NONE:
            s, here, gained, operations, random = begin(domain, explored, most, random)
            if here < 0:
                status, here, random = here, at.NONE, before
                break
            row, step, updates = FREE, 0, 0
            if seen[here] == UNKNOWN:
                see(explored, here // machine_states)
            over = seen[here] < 0 or terminal[s] or 0 < most < operations
            continue
        if run.late:
            over = True
            continue
        if 0 < run.pause <= updates:
            status = at.PAUSE
            break
        # 3. Observe the stack, choose an action and draw its outcome (choose).
        entries, own_entry = entries_used[0], 0
        if entries == len(entry_keys):
            status = at.NO_ENTRIES
            break
        if row < 0:
            if used[0] == len(keys) or numbered[0] * machine_states > most_views:
                status = at.FULL
                break
            row = make_row(slot, keys, used, states, s, seen[here])
        if budget > 0:
            node = here // machine_states
            key = node if rates.depth < 0 else stack_code(explored.stacks, node, rates.depth)
            own_entry, probe = find_key(entry_slot, entry_keys, key)
            if own_entry < 0:
                own_entry = entries
                entry_slot[probe], entry_keys[own_entry] = own_entry, key
                first_of[own_entry] = node * machine_states
                entries += 1
                entries_used[0] = entries
        random += GOLDEN_64
        if uniform(random) < epsilon:
            random += GOLDEN_64
            a = int(uniform(random) * actions)
        else:
            a, random = choose_greedily(q, row, 0, actions, random, rates.first_tie)
        o, random = draw(probability, s, a, random)
        # 4. Find what the step leads to (outcome), and what it would from all that is counterfactual (imagined).
        after, label = next_state[ix(s), ix(a), ix(o)], label_of[ix(s), ix(a), ix(o)]
        there, earned = follow(explored, here, label)
        if there < 0:
            status, random = there, before
            break
        if seen[there] == UNKNOWN:
            see(explored, there // machine_states)
        for pair in range(ready[ix(label)], entries * final):
            entry, machine = pair // final, pair % final
            there_too, earned_too = explore(explored, first_of[entry] + machine, label)
            if there_too < UNDEFINED_LABEL:
                status = there_too
                break
            if there_too >= 0 and seen[there_too] == UNKNOWN:
                see(explored, there_too // machine_states)
            reached[label, machine, entry] = there_too
            pays[label, machine, entry] = earned_too
            ready[label] = pair + 1
        if shaped and not fill_potentials(potentials, explored.stacks):
            status = at.NO_VALUES
        room = len(keys) - used[0] - min(budget, entries * final)
        if room < 1 or numbered[0] * machine_states > most_views:
            status = at.FULL
        if status != at.DONE:
            random = before
            break
        # 5. Do not take it if the episode cannot afford it, and no more counterfactuals than it can (affords).
        left = min(entries * final, budget)
        if counted:
            operations += moves_of[label, here]
            if 0 < most < operations:
                over = True
                continue
            machine, entry = turn[0], turn[1]
            for pair in range(left):
                operations += moves_of[ix(label), ix(first_of[ix(entry)] + machine)]
                if 0 < most < operations:
                    left = pair
                    break
                entry += 1
                if entry == entries:
                    machine = machine + 1 if machine + 1 < final else 0
                    entry = 0
        # 6. Learn from the real step, unless it is among the counterfactuals (learn, update).
        over, next_row = seen[ix(there)] < 0 or terminal[ix(after)], FREE
        last = rates.limit_ends and step + 1 == rates.limit
        if not over:
            next_row = make_row(slot, keys, used, states, after, seen[ix(there)])
        paid = own_reward[ix(s), ix(a), ix(o)] + earned
        real = paid
        if shaped:
            real += shape(potentials, here, there, over or last, machine_states, gamma)
        later = FREE if last else next_row
        apart = budget < at.ALL
        if apart:
            update(q, row, a, real, later, alpha, gamma)
            updates += 1
        # 7. Learn from the same step of the counterfactual pairs (update).
        if budget > 0:
            reward, ends = own_reward[s, a, o], terminal[after] or last
            machine, entry = turn[0], turn[1]
            among_them = (here % machine_states) * entries + own_entry < left
            while left > 0:
                # All entries with one machine state: one loop over all pairs is a fifth slower.
                end = min(entries, entry + left)
                left -= end - entry
                for known in range(entry, end):
                    imagined = first_of[ix(known)] + machine
                    there_too = reached[ix(label), ix(machine), ix(known)]
                    if there_too >= 0:  # else undefined: no counterfactual
                        target = reward + pays[ix(label), ix(machine), ix(known)]
                        view = seen[ix(there_too)]
                        if shaped:
                            over_too = ends or view < 0
                            target += shape(
                                potentials, imagined, there_too, over_too, machine_states, gamma
                            )
                        if view >= 0 and not ends:
                            there_row, _ = find_row(slot, keys, states, after, view)
                            if there_row >= 0:  # else nothing was learnt about it yet
                                target += gamma * highest(q, there_row, 0, actions)
                        here_row = make_row(slot, keys, used, states, s, seen[ix(imagined)])
                        q[ix(here_row), ix(a)] += alpha * (target - q[ix(here_row), ix(a)])
                        updates += 1
                entry = end
                if entry == entries:
                    machine = machine + 1 if machine + 1 < final else 0
                    entry = 0
            if apart:
                turn[0], turn[1] = machine, entry
            elif not among_them:
                update(q, row, a, real, later, alpha, gamma)
                updates += 1
        # 8. Move on (episode).
        step += 1
        gained += paid
        s, here, row = after, there, next_row
        over = (
            over
            or step == rates.limit
            or 0 < rates.episode_budget <= updates
            or 0 < most < operations
        )
    # Leave the run in a state from which it can continue.
    run.here, run.state, run.row, run.step, run.updates = here, s, row, step, updates
    run.operations, run.gained, run.epsilon = operations, gained, epsilon
    rng[0] = random
    return status
