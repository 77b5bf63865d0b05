"""Q-learning and CpRM (Algorithms 1 and 2) in Numba, on any finite domain and any machine: training, and greedy tests.

The readable twin is `ReadableQLearning` (`q_learning.py`), whose methods are named at each phase: entry by entry the two learn
the same on the same random numbers. What may be factored out of the loops without cost is said in `rows_kernel.py`.
"""

from __future__ import annotations

from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.learning.randomness import RngState
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular import outlook_kernel as ahead
from pdrm.learning.tabular.learner_tables import Progress, Rates
from pdrm.learning.tabular.outlook_kernel import Outlook
from pdrm.learning.tabular.rows_kernel import (
    GOLDEN_64,
    Observed,
    Values,
    choose_greedily,
    draw,
    find_row,
    highest,
    ix,
    note,
    uniform,
)
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.exploration import UNKNOWN, Explored, Potentials
from pdrm.product.explore_kernel import (
    UNEXPLORED,
    configuration,
    explore,
    fill_potentials,
    first_configuration,
)
from pdrm.product.hash_kernel import FREE


@njit(cache=True)
def learn(
    domain: DomainArrays,
    explored: Explored,
    values: Values,
    observed: Observed,
    outlook: Outlook,
    potentials: Potentials,
    rng: RngState,
    rates: Rates,
    progress: Progress,
    until: int,
) -> int:
    """Train up to episode `until`. NO_ROOM: make room and call again; UNEXPLORED: find the successor that is wanted and call
    again; CLOCK: look at the clock and call again. Nothing is lost or done twice."""
    # Take the arrays out of their tuples, and the run up where it was left.
    ints, floats, q, found = progress.ints, progress.floats, values.value, explored.configurations
    slot, keys, used = values.index
    after_of, paid_of, seen_of, state_of, node_of = (
        found.after,
        found.paid,
        found.seen,
        found.state,
        found.node,
    )
    number_of, entry_node, following = found.number, observed.node, observed.following
    entry_slot, entry_keys, lists = observed.index.slot, observed.index.key, len(observed.first)
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
    symbols, parents, symbol_count = (
        explored.stacks.symbol,
        explored.stacks.parent,
        explored.stacks.child.shape[1],
    )
    states, actions, outcomes = next_state.shape
    final, mode, alpha, gamma = explored.table.first_final, rates.mode, rates.alpha, rates.gamma
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
    moves_of, counted, most, operations = (
        found.moves,
        len(found.moves) > 0,
        rates.operations,
        ints[at.OPERATIONS],
    )
    late, look = ints[at.LATE] != 0, ints[at.LOOK] if ints[at.LOOK] > 0 else at.NEVER
    potential, shaped, factor, shift = (
        potentials.value,
        len(potentials.value) > 0,
        potentials.factor,
        potentials.shift,
    )
    made, filled, bonus, usable = explored.stacks.made, potentials.filled, 0.0, outlook.row.size > 0
    view_reached, paid_there, own_column, column_of, row_of, placed = outlook
    kept = len(after_of)
    first, first_paid = first_configuration(explored)
    if first < 0:
        return at.NO_ROOM
    while episode < until:
        # 1. Draw a start of the domain (begin).
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
            label, operations = domain.start_label[ints[at.START]], 0
            if label >= 0 and state_of[here] < final:
                there, earned = explore(explored, here, label)
                if there < 0:
                    status = -there
                    break
                if counted:
                    operations = moves_of[here, label]
                if not 0 < most < operations:
                    gained += earned
                    here = there
            if used[0] >= len(keys):
                status = at.NO_ROOM
                break
            key = seen_of[here] * states + s
            row, probe = find_row(slot, keys, key)
            if row < 0:
                row = used[0]
                slot[probe], keys[row], used[0] = row, key, row + 1
            phase = at.CHOOSE
        ended = (
            state_of[here] >= final
            or terminal[s]
            or 0 < most < operations
            or (late and phase == at.CHOOSE)
        )
        while not ended:
            place = s if mode == at.CO_OBSERVED else 0
            # 3. Observe the stack, choose an action and draw its outcome (choose).
            if phase == at.CHOOSE:
                if updates >= look:
                    status = at.CLOCK
                    break
                if mode != at.PLAIN:
                    code, node = 0, node_of[here]
                    for _ in range(rates.depth):
                        code, node = code * symbol_count + symbols[node], parents[node]
                    key = (node if rates.depth < 0 else code) * lists + place
                    own_entry, probe = find_row(entry_slot, entry_keys, key)
                    if own_entry < 0:
                        own_entry = note(observed, key, probe, place, node_of[here])
                        if own_entry < 0:
                            status = at.NO_ROOM
                            break
                    ints[at.OWN_ENTRY] = own_entry
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
                phase = at.ACT
            # 4. Take the step, unless the episode cannot afford it (outcome, affords).
            after, label = next_state[ix(s), ix(a), ix(o)], label_of[ix(s), ix(a), ix(o)]
            there, earned = UNKNOWN, 0.0
            if here < kept:
                there, earned = after_of[ix(here), ix(label)], paid_of[ix(here), ix(label)]
            if there < 0:
                there, earned = explore(explored, here, label)
                if there < 0:
                    status = -there
                    break
            if counted and phase == at.ACT and 0 < most < operations + moves_of[here, label]:
                operations += moves_of[here, label]
                break
            paid = own_reward[ix(s), ix(a), ix(o)] + earned
            over, next_row = state_of[ix(there)] >= final or terminal[ix(after)], row
            last = rates.limit_ends and step + 1 == rates.limit
            if shaped and made[0] > filled[0] and not fill_potentials(potentials, explored.stacks):
                status = at.NO_ROOM
                break
            if not over:
                if used[0] >= len(keys):
                    status = at.NO_ROOM
                    break
                key = seen_of[ix(there)] * states + after
                next_row, probe = find_row(slot, keys, key)
                if next_row < 0:
                    next_row = used[0]
                    slot[probe], keys[next_row], used[0] = next_row, key, next_row + 1
            # 5. Learn from the real step, shaped if it is (learn, update, shape); where all are imagined it is among those of phase 6.
            if shaped:
                later = (
                    0.0
                    if over or last
                    else factor * potential[node_of[there], state_of[there]] + shift
                )
                bonus = gamma * later - (factor * potential[node_of[here], state_of[here]] + shift)
            if phase == at.ACT:
                if counted:
                    operations += moves_of[here, label]
                if mode == at.PLAIN or rates.budget > 0:
                    target = paid + bonus if shaped else paid
                    if not (over or last):
                        target += gamma * highest(q, next_row, 0, actions)
                    q[ix(row), ix(a)] += alpha * (target - q[ix(row), ix(a)])
                    updates += 1
                phase = at.IMAGINE
                if mode != at.PLAIN:
                    pairs = observed.length[place] * final
                    ints[at.LEFT] = min(pairs, rates.budget) if rates.budget > 0 else pairs
                    ints[at.MACHINE] = observed.turn[place, 0] if rates.budget > 0 else 0
                    ints[at.ENTRY] = observed.turn[place, 1] if rates.budget > 0 else FREE
            # 6. Learn from the same step of every machine state with every observed stack (imagined, update).
            if mode != at.PLAIN:
                reward, ends = own_reward[s, a, o], terminal[after] or last
                machine, entry, left = ints[at.MACHINE], ints[at.ENTRY], ints[at.LEFT]
                if usable:  # by the tables of `outlook`, in the order of the one list
                    entries, entry = observed.length[0], max(entry, 0)
                    placed[ahead.ENTRIES] = entries
                    if entries > own_column.shape[1] or (
                        placed[ahead.ROWS] < used[0] and not ahead.place_rows(values, outlook)
                    ):
                        status = at.NO_ROOM
                    while status == at.DONE and machine < final:
                        while entry < entries:
                            view = view_reached[ix(label), ix(machine), ix(entry)]
                            column = own_column[ix(machine), ix(entry)]
                            here_row = row_of[ix(s), ix(column)] if column >= 0 else FREE
                            if view == ahead.UNKNOWN or (here_row < 0 and view != ahead.UNDEFINED):
                                if not ahead.look(
                                    explored,
                                    values,
                                    outlook,
                                    s,
                                    label,
                                    machine,
                                    entry,
                                    entry_node[entry],
                                ):
                                    status = at.NO_ROOM
                                    break
                                continue
                            if view != ahead.UNDEFINED:  # else the machine has no rule, as below
                                target = reward + paid_there[ix(label), ix(machine), ix(entry)]
                                if view >= 0 and not ends:
                                    column = column_of[ix(view)]
                                    there_row = (
                                        row_of[ix(after), ix(column)] if column >= 0 else FREE
                                    )
                                    if there_row >= 0:
                                        target += gamma * highest(q, there_row, 0, actions)
                                q[ix(here_row), ix(a)] += alpha * (target - q[ix(here_row), ix(a)])
                                updates += 1
                            entry += 1
                        if status == at.DONE:
                            machine, entry = machine + 1, 0
                    left = (final - machine) * entries - entry
                while not usable and left > 0 and not late:
                    if updates >= look:
                        status = at.CLOCK
                        break
                    if entry < 0:
                        entry = observed.first[place]
                    imagined = number_of[ix(entry_node[ix(entry)]), ix(machine)] - 1
                    if imagined < 0:
                        imagined = configuration(explored, machine, entry_node[entry])
                    reached, earned = min(imagined, UNKNOWN), 0.0
                    if 0 <= imagined < kept:
                        reached, earned = (
                            after_of[ix(imagined), ix(label)],
                            paid_of[ix(imagined), ix(label)],
                        )
                    if reached < 0 <= imagined:
                        reached, earned = explore(explored, imagined, label)
                    if reached in (at.NO_CONFIGURATION, UNEXPLORED) or used[0] >= len(keys):
                        status = at.UNEXPLORED if reached == UNEXPLORED else at.NO_ROOM
                        break
                    if (
                        reached >= 0
                    ):  # else the machine has no rule: what it does not define cannot be imagined
                        if counted:
                            operations += moves_of[imagined, label]
                            if 0 < most < operations:
                                break
                        target = reward + earned
                        if shaped:
                            if made[0] > filled[0] and not fill_potentials(
                                potentials, explored.stacks
                            ):
                                status = at.NO_ROOM
                                break
                            later = 0.0
                            if not ends and state_of[reached] < final:
                                later = (
                                    factor * potential[node_of[reached], state_of[reached]] + shift
                                )
                            target += gamma * later - (
                                factor * potential[node_of[imagined], state_of[imagined]] + shift
                            )
                        if not ends and state_of[ix(reached)] < final:
                            there_row, _ = find_row(
                                slot, keys, seen_of[ix(reached)] * states + after
                            )
                            if (
                                there_row >= 0
                            ):  # else nothing was learnt about it yet, and it is worth nothing
                                target += gamma * highest(q, there_row, 0, actions)
                        key = seen_of[ix(imagined)] * states + s
                        here_row, probe = find_row(slot, keys, key)
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
                    target = paid + bonus if shaped else paid
                    if not (over or last):
                        target += gamma * highest(q, next_row, 0, actions)
                    q[ix(row), ix(a)] += alpha * (target - q[ix(row), ix(a)])
                    updates += 1
            # 7. Move on (episode).
            step += 1
            gained += paid
            s, here, row, phase = after, there, next_row, at.CHOOSE
            ended = (
                over
                or step == rates.limit
                or 0 < rates.episode_budget <= updates
                or 0 < most < operations
                or late
            )
        if status != at.DONE:
            break
        # 8. End the episode (episode).
        ints[at.ALL_STEPS] += step
        ints[at.ALL_UPDATES] += updates
        ints[at.ALL_OPERATIONS] += operations
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
    ints[at.OPERATIONS], floats[at.GAINED], floats[at.EPSILON], rng[0] = (
        operations,
        gained,
        epsilon,
        random,
    )
    return status


@njit(cache=True)
def test(
    domain: DomainArrays,
    explored: Explored,
    values: Values,
    rng: RngState,
    limit: int,
    most: int,
    first_tie: bool,
    returns: Rewards,
    steps: Integers,
    ends: Integers,
) -> int:
    """Greedy episodes without learning (ReadableQLearning.test), one per entry of `returns`, each of at most `limit` steps and
    `most` operations (0: any), the first of several best actions or a random one; `ends` gets the last machine state. NO_ROOM and UNEXPLORED as for `learn`, but everything is
    played anew."""
    q, found, final = values.value, explored.configurations, explored.table.first_final
    slot, keys, _ = values.index
    after_of, paid_of, seen_of, state_of, moves_of = (
        found.after,
        found.paid,
        found.seen,
        found.state,
        found.moves,
    )
    start_probability = domain.start_probability.reshape(1, 1, len(domain.start_state))
    states, actions, _ = domain.next.shape
    random, counted, kept = rng[0], len(found.moves) > 0, len(found.after)
    first, first_paid = first_configuration(explored)
    if first < 0:
        return at.NO_ROOM
    for episode in range(len(returns)):
        # 1. Draw a start of the domain; its label is read first (begin).
        start, random = draw(start_probability, 0, 0, random)
        s, here, gained, step, operations = domain.start_state[start], first, first_paid, 0, 0
        label = domain.start_label[start]
        starting = label >= 0 and state_of[here] < final
        while starting or (step < limit and state_of[here] < final and not domain.terminal[s]):
            # 2. Choose a best action and draw its outcome (greedy, draw_outcome).
            own_reward, after = 0.0, s
            if not starting:
                row, _ = find_row(slot, keys, seen_of[here] * states + s)
                a, random = choose_greedily(q, row, 0, actions, random, first_tie)
                o, random = draw(domain.probability, s, a, random)
                after, label, own_reward = (
                    domain.next[s, a, o],
                    domain.label[s, a, o],
                    domain.reward[s, a, o],
                )
            # 3. Take the step, unless the episode cannot afford it (outcome, affords).
            there, earned = UNKNOWN, 0.0
            if here < kept:
                there, earned = after_of[here, label], paid_of[here, label]
            if there < 0:
                there, earned = explore(explored, here, label)
                if there < 0:
                    return -there
            operations += moves_of[here, label] if counted else 0
            if 0 < most < operations:
                break
            step += not starting
            gained += own_reward + earned
            s, here, starting = after, there, False
        returns[episode], steps[episode], ends[episode] = gained, step, state_of[here]
    rng[0] = random
    return at.DONE
