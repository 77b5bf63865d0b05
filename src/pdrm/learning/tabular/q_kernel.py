"""Q-learning and CpRM (Algorithms 1 and 2) in Numba, on any finite domain and any machine: training, and greedy evaluation.

The readable twin is `ReadableQLearning` (`q_learning.py`), whose methods are named at each phase: on
the same random numbers the two learn the same, entry by entry.

A step finds everything that may need room before it learns anything. If there is none, the step is
made again from its beginning, with the same random numbers, once there is.
"""

from __future__ import annotations

from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.learning.randomness import RngState
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular.learner_tables import Progress, QTables, Rates
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
    read_first,
    room_for_views,
    uniform,
)
from pdrm.machines.tables import Integers, Rewards
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
    """The shaping reward of a step between configurations (ReadableQLearning.shape)."""
    value, factor, shift = potentials.value, potentials.factor, potentials.shift
    now = factor * float(value[here // states, here % states]) + shift
    later = 0.0
    if not ends:
        later = factor * float(value[there // states, there % states]) + shift
    return gamma * later - now


@njit(cache=True)
def learn(
    domain: DomainArrays,
    tables: QTables,
    rng: RngState,
    rates: Rates,
    progress: Progress,
    until: int,
) -> int:
    """Train up to episode `until`. The answer is DONE, or what to do before the next call."""
    # Take the arrays out of their tuples, and continue the run from its state.
    explored, table, observed, potentials = tables
    next_state, label_of, own_reward = domain.next, domain.label, domain.reward
    probability, terminal = domain.probability, domain.terminal
    outcomes, actions = next_state.shape[2], next_state.shape[1]
    slot, keys, used, q, states = table
    seen, after_of, paid_of, moves_of = explored.seen, explored.after, explored.paid, explored.moves
    machine_states, final = explored.states, explored.first_final
    counted, shaped = len(explored.counters) > 0, len(potentials.value) > 0
    entry_slot, entry_keys, entries_used = observed.index
    first_of, ready, turn = observed.first, observed.ready, observed.turn
    reached, pays = observed.reached, observed.paid
    numbered = explored.stacks.made if counted else explored.index.used
    alpha, gamma, most, budget = rates.alpha, rates.gamma, rates.operations, rates.budget
    run = progress[0]
    here, s, row, step, updates = run.here, run.state, run.row, run.step, run.updates
    operations, gained = run.operations, run.gained
    kept = after_of.shape[1]
    most_views = room_for_views(slot)
    starts = domain.start_probability.reshape(1, 1, -1)
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
            start, random = draw(starts, 0, 0, random)
            s, start_label = domain.start_state[start], domain.start_label[start]
            here, gained, operations = explored.start, explored.start_reward, 0
            if start_label >= 0:
                here, gained, operations = read_first(explored, start_label, most)
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
        run.rows = used[0] + 2
        views = numbered[0] * machine_states
        if run.rows > len(keys) or views > most_views or entries == len(entry_keys):
            status = at.FULL
            break
        if row < 0:
            row, place = find_row(slot, keys, states, s, seen[here])
            if row == FREE:
                row = used[0]
                keys[row], used[0] = seen[here] * states + s, row + 1
                place_row(slot, s, place, row)
        if rates.imagines:
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
        if uniform(random) < run.epsilon:
            random += GOLDEN_64
            a = int(uniform(random) * actions)
        else:
            best, ties, a = q[ix(row), 0], 1, 0
            for action in range(1, actions):
                if q[ix(row), ix(action)] > best:
                    best, ties, a = q[ix(row), ix(action)], 1, action
                elif q[ix(row), ix(action)] == best:
                    ties += 1
            if ties > 1 and not (rates.first_tie and (best != 0.0 or ties < actions)):
                random += GOLDEN_64
                skip = int(uniform(random) * ties)
                while skip > 0:
                    a += 1
                    skip -= q[ix(row), ix(a)] == best
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
        # 4. Find what the step leads to, unless the episode cannot afford it (outcome, affords).
        after, label = next_state[ix(s), ix(a), ix(o)], label_of[ix(s), ix(a), ix(o)]
        there, earned = UNKNOWN, 0.0
        if here < kept:
            there, earned = after_of[ix(label), ix(here)], paid_of[ix(label), ix(here)]
        if there == UNKNOWN:
            there, earned = explore(explored, here, label)
        if there < 0:
            status, random = there, before
            break
        if seen[there] == UNKNOWN:
            see(explored, there // machine_states)
        spent = operations
        if counted:
            spent += moves_of[label, here]
            if 0 < most < spent:
                operations, over = spent, True
                continue
        # 5. Find what the pairs of a machine state and an observed stack lead to that are counterfactual (imagined).
        left, whole = 0, budget == 0 and not counted
        if rates.imagines:
            pairs = entries * final
            left = min(pairs, budget) if budget > 0 else pairs
            first = min(ready[label], entries) if whole else 0
            machine, entry = turn[0], max(turn[1], first)
            for pair in range(final * (entries - first) if whole else left):
                imagined = first_of[entry] + machine
                if reached[label, machine, entry] == UNKNOWN:
                    there_too, earned_too = explore(explored, imagined, label)
                    if there_too < UNDEFINED_LABEL:
                        status = there_too
                        break
                    if there_too >= 0 and seen[there_too] == UNKNOWN:
                        see(explored, there_too // machine_states)
                    reached[label, machine, entry] = there_too
                    pays[label, machine, entry] = earned_too
                if counted:
                    spent += moves_of[label, imagined]
                    if 0 < most < spent:
                        left = pair
                        break
                entry += 1
                if entry == entries:
                    machine = machine + 1 if machine + 1 < final else 0
                    entry = first
            if whole and status == at.DONE:
                ready[label] = entries
        if shaped:
            fill_potentials(potentials, explored.stacks)
        run.rows = used[0] + left + 2
        views = numbered[0] * machine_states
        if status == at.DONE and (run.rows > len(keys) or views > most_views):
            status = at.FULL
        if status != at.DONE:
            random = before
            break
        # 6. Learn from the real step, unless it is among the counterfactuals (learn, update).
        operations = spent
        over, next_row = seen[ix(there)] < 0 or terminal[ix(after)], FREE
        last = rates.limit_ends and step + 1 == rates.limit
        if not over:
            next_row, place = find_row(slot, keys, states, after, seen[ix(there)])
            if next_row == FREE:
                next_row = used[0]
                keys[next_row], used[0] = seen[ix(there)] * states + after, next_row + 1
                place_row(slot, after, place, next_row)
        paid = own_reward[ix(s), ix(a), ix(o)] + earned
        real = paid
        if shaped:
            real += shape(potentials, here, there, over or last, machine_states, gamma)
        apart = not rates.imagines or budget > 0
        if apart:
            if not (over or last):
                real += gamma * highest(q, next_row, 0, actions)
            q[ix(row), ix(a)] += alpha * (real - q[ix(row), ix(a)])
            updates += 1
        # 7. Learn from the same step of the counterfactual pairs (update).
        if rates.imagines:
            reward, ends = own_reward[s, a, o], terminal[after] or last
            machine, entry = turn[0], turn[1]
            for _ in range(left):
                imagined = first_of[ix(entry)] + machine
                there_too = reached[ix(label), ix(machine), ix(entry)]
                if there_too >= 0:  # else undefined: no counterfactual
                    target = reward + pays[ix(label), ix(machine), ix(entry)]
                    view = seen[ix(there_too)]
                    if shaped:
                        nothing = ends or view < 0
                        target += shape(
                            potentials, imagined, there_too, nothing, machine_states, gamma
                        )
                    if view >= 0 and not ends:
                        there_row, _ = find_row(slot, keys, states, after, view)
                        if there_row >= 0:  # else nothing was learnt about it yet
                            target += gamma * highest(q, there_row, 0, actions)
                    here_row, place = find_row(slot, keys, states, s, seen[ix(imagined)])
                    if here_row == FREE:
                        here_row = used[0]
                        keys[here_row], used[0] = seen[ix(imagined)] * states + s, here_row + 1
                        place_row(slot, s, place, here_row)
                    q[ix(here_row), ix(a)] += alpha * (target - q[ix(here_row), ix(a)])
                    updates += 1
                entry += 1
                if entry == entries:
                    machine = machine + 1 if machine + 1 < final else 0
                    entry = 0
            if budget > 0:
                turn[0], turn[1] = machine, entry
            if counted and not apart:
                own_turn = (here % machine_states) * entries + own_entry
                if own_turn >= left:  # the operations did not suffice for its turn
                    if not (over or last):
                        real += gamma * highest(q, next_row, 0, actions)
                    q[ix(row), ix(a)] += alpha * (real - q[ix(row), ix(a)])
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
    run.operations, run.gained, rng[0] = operations, gained, random
    return status


@njit(cache=True)
def test(
    domain: DomainArrays,
    tables: QTables,
    rng: RngState,
    rates: Rates,
    limit: int,
    returns: Rewards,
    steps: Integers,
    ends: Integers,
) -> int:
    """Greedy episodes of at most `limit` steps without learning (ReadableQLearning.test), one per
    entry of `returns`; `ends` gets the last machine state. If room runs out, make some and call
    again: everything is played again, with the same random numbers."""
    explored, table = tables.explored, tables.table
    actions, random = domain.next.shape[1], rng[1]
    most, counted = rates.operations, len(explored.counters) > 0
    for episode in range(len(returns)):
        # 1. Begin (begin).
        s, here, gained, operations, random = begin(domain, explored, most, random)
        if here < 0:
            return int(here)
        step = 0
        while step < limit and here % explored.states < explored.first_final:
            if domain.terminal[s] or 0 < most < operations:
                break
            # 2. Choose a best action and draw its outcome (greedy, draw_outcome).
            row = find_seen(explored, table, s, here)
            a, random = choose_greedily(table.value, row, 0, actions, random, rates.first_tie)
            o, random = draw(domain.probability, s, a, random)
            label = domain.label[s, a, o]
            # 3. Take the step, unless the episode cannot afford it (outcome, affords).
            there, earned = follow(explored, here, label)
            if there < 0:
                return int(there)
            if counted:
                operations += explored.moves[label, here]
                if 0 < most < operations:
                    break
            step += 1
            gained += domain.reward[s, a, o] + earned
            s, here = domain.next[s, a, o], there
        returns[episode], steps[episode] = gained, step
        ends[episode] = here % explored.states
    rng[1] = random
    return at.DONE
