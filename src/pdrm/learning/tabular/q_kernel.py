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
from pdrm.learning.tabular.learner_tables import Observed, Progress, QTable, Rates
from pdrm.learning.tabular.rows_kernel import (
    GOLDEN_64,
    choose_greedily,
    draw,
    find_row,
    highest,
    place_row,
    read_first,
    uniform,
)
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.exploration import UNKNOWN, Explored, Potentials
from pdrm.product.explore_kernel import UNDEFINED_LABEL, explore, fill_potentials, see, stack_code
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
    explored: Explored,
    table: QTable,
    observed: Observed,
    potentials: Potentials,
    rng: RngState,
    rates: Rates,
    progress: Progress,
    until: int,
) -> int:
    """Train up to episode `until`. The answer is DONE, or what to do before the next call."""
    # Take the arrays out of their tuples, and continue the run from its state.
    starts = domain.start_probability.reshape(1, 1, -1)
    next_state, label_of, own_reward = domain.next, domain.label, domain.reward
    probability, terminal = domain.probability, domain.terminal
    outcomes, actions = next_state.shape[2], next_state.shape[1]
    slot, keys, used, q = table.slot, table.key, table.used, table.value
    states = table.states
    seen, after_of, paid_of, moves_of = explored.seen, explored.after, explored.paid, explored.moves
    machine_states, final, kept = explored.states, explored.first_final, after_of.shape[1]
    counted, shaped = len(explored.counters) > 0, len(potentials.value) > 0
    entry_slot, entry_keys, entries_used = observed.index
    entry_first, entry_seen, ready = observed.first, observed.seen, observed.ready
    reached, pays, moves, shaping = (
        observed.reached,
        observed.paid,
        observed.moves,
        observed.shaping,
    )
    numbered = explored.stacks.made if len(explored.counters) > 0 else explored.index.used
    alpha, gamma, most, budget = rates.alpha, rates.gamma, rates.operations, rates.budget
    run = progress[0]
    here, s, row, step, updates = run.here, run.state, run.row, run.step, run.updates
    operations, gained, epsilon, episode = run.operations, run.gained, run.epsilon, run.episode
    random, status, over = rng[0], at.DONE, False
    while episode < until:
        # 1. End the episode (episode).
        if over:
            run.all_steps += step
            run.all_updates += updates
            run.last_return = gained
            episode += 1
            epsilon = max(epsilon * rates.decay, rates.least)
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
        run.rows = used[0] + 2
        if run.rows > len(keys) or numbered[0] * machine_states > table.views:
            status = at.NO_ROWS
            break
        if row < 0:
            row, place = find_row(slot, keys, states, s, seen[here])
            if row < 0:
                row = used[0]
                keys[row], used[0] = seen[here] * states + s, row + 1
                place_row(slot, s, place, row)
        # 3. Observe the stack, choose an action and draw its outcome (choose).
        own_entry, entries = 0, entries_used[0]
        if rates.imagines:
            node = here // machine_states
            key = node if rates.depth < 0 else stack_code(explored.stacks, node, rates.depth)
            own_entry, probe = find_key(entry_slot, entry_keys, key)
            if own_entry < 0:
                if entries == len(entry_keys):
                    status = at.NO_ENTRIES
                    break
                own_entry = entries
                entry_slot[probe], entry_keys[own_entry] = own_entry, key
                entry_first[own_entry] = node * machine_states
                entry_seen[own_entry] = seen[node * machine_states]
                entries += 1
                entries_used[0] = entries
        random += GOLDEN_64
        if uniform(random) < epsilon:
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
        if there < 0:
            there, earned = explore(explored, here, label)
            if there < 0:
                status = there
                random = before
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
            machine, entry = 0, 0
            if budget > 0:
                machine, entry = observed.turn[0], observed.turn[1]
            first = min(ready[label], entries) if whole else 0
            entry = max(entry, first)
            count = final * (entries - first) if whole else left
            for pair in range(count):
                if reached[label, machine, entry] == UNKNOWN:
                    imagined = entry_first[entry] + machine
                    there_too, earned_too = explore(explored, imagined, label)
                    if there_too < UNDEFINED_LABEL:
                        status = there_too
                        break
                    if shaped and not fill_potentials(potentials, explored.stacks):
                        status = at.NO_POTENTIALS
                        break
                    if there_too >= 0:
                        if seen[there_too] == UNKNOWN:
                            see(explored, there_too // machine_states)
                        view = seen[there_too]
                        pays[label, machine, entry] = earned_too
                        if counted:
                            moves[label, machine, entry] = moves_of[label, imagined]
                        if shaped:
                            shaping[label, machine, entry] = shape(
                                potentials, imagined, there_too, view < 0, machine_states, gamma
                            )
                        there_too = view
                    reached[label, machine, entry] = there_too
                if counted:
                    spent += moves[label, machine, entry]
                    if 0 < most < spent:
                        left = pair
                        break
                entry += 1
                if entry == entries:
                    machine = machine + 1 if machine + 1 < final else 0
                    entry = first
            if status != at.DONE:
                random = before
                break
            if whole:
                ready[label] = entries
        if shaped and not fill_potentials(potentials, explored.stacks):
            status = at.NO_POTENTIALS
        run.rows = used[0] + left + 2
        if run.rows > len(keys) or numbered[0] * machine_states > table.views:
            status = at.NO_ROWS
        if status != at.DONE:
            random = before
            break
        # 6. Learn from the real step, unless it is among the counterfactuals (learn, update).
        operations = spent
        over, next_row = seen[ix(there)] < 0 or terminal[ix(after)], FREE
        last = rates.limit_ends and step + 1 == rates.limit
        if not over:
            next_row, place = find_row(slot, keys, states, after, seen[ix(there)])
            if next_row < 0:
                next_row = used[0]
                keys[next_row], used[0] = seen[there] * states + after, next_row + 1
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
            machine, entry = 0, 0
            if budget > 0:
                machine, entry = observed.turn[0], observed.turn[1]
            for _ in range(left):
                view = reached[ix(label), ix(machine), ix(entry)]
                if view != UNDEFINED_LABEL:  # undefined: no counterfactual
                    target = reward + pays[ix(label), ix(machine), ix(entry)]
                    if shaped:
                        imagined = entry_first[ix(entry)] + machine
                        target += (
                            shape(potentials, imagined, imagined, True, machine_states, gamma)
                            if ends
                            else shaping[ix(label), ix(machine), ix(entry)]
                        )
                    if view >= 0 and not ends:
                        there_row, _ = find_row(slot, keys, states, after, view)
                        if there_row >= 0:  # else nothing was learnt about it yet
                            target += gamma * highest(q, there_row, 0, actions)
                    view = entry_seen[ix(entry)] + machine
                    here_row, place = find_row(slot, keys, states, s, view)
                    if here_row < 0:
                        here_row = used[0]
                        keys[here_row], used[0] = view * states + s, here_row + 1
                        place_row(slot, s, place, here_row)
                    q[ix(here_row), ix(a)] += alpha * (target - q[ix(here_row), ix(a)])
                    updates += 1
                entry += 1
                if entry == entries:
                    machine = machine + 1 if machine + 1 < final else 0
                    entry = 0
            if budget > 0:
                observed.turn[0], observed.turn[1] = machine, entry
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
    run.operations, run.gained, run.epsilon, run.episode = operations, gained, epsilon, episode
    rng[0] = random
    return status


@njit(cache=True)
def test(
    domain: DomainArrays,
    explored: Explored,
    table: QTable,
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
    starts = domain.start_probability.reshape(1, 1, -1)
    states, actions, _ = domain.next.shape
    seen, most, random = explored.seen, rates.operations, rng[0]
    machine_states, final = explored.states, explored.first_final
    after_of, paid_of, kept = explored.after, explored.paid, explored.after.shape[1]
    counted = len(explored.counters) > 0
    for episode in range(len(returns)):
        # 1. Begin (begin).
        start, random = draw(starts, 0, 0, random)
        s, start_label = domain.start_state[start], domain.start_label[start]
        here, gained, operations = explored.start, explored.start_reward, 0
        if start_label >= 0:
            here, gained, operations = read_first(explored, start_label, most)
            if here < 0:
                return int(here)
        step = 0
        while step < limit and here % machine_states < final and not domain.terminal[s]:
            if 0 < most < operations:
                break
            # 2. Choose a best action and draw its outcome (greedy, draw_outcome).
            if explored.k >= 0 and seen[here] == UNKNOWN:  # a stack that only evaluations met
                see(explored, here // machine_states)
            row, view = FREE, seen[here]
            if 0 <= view < table.views:
                row, _ = find_row(table.slot, table.key, states, s, view)
            a, random = choose_greedily(table.value, row, 0, actions, random, rates.first_tie)
            o, random = draw(domain.probability, s, a, random)
            label = domain.label[s, a, o]
            # 3. Take the step, unless the episode cannot afford it (outcome, affords).
            there, earned = UNKNOWN, 0.0
            if here < kept:
                there, earned = after_of[label, here], paid_of[label, here]
            if there < 0:
                there, earned = explore(explored, here, label)
                if there < 0:
                    return there
            if counted:
                operations += explored.moves[label, here]
                if 0 < most < operations:
                    break
            step += 1
            gained += domain.reward[s, a, o] + earned
            s, here = domain.next[s, a, o], there
        returns[episode], steps[episode] = gained, step
        ends[episode] = here % explored.states
    rng[0] = random
    return at.DONE
