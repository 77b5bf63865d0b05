"""Saturation (post*) in Numba: the automaton of all reachable stacks that `pdrm.analysis.reach` describes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.machines.tables import Integers, Table
from pdrm.product.hash_kernel import FREE, hash_key, place_rows


@njit(cache=True)
def lengthen(array: Any, length: int) -> Any:
    """The array with zeros after it."""
    larger = np.zeros(length, array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True)
def build_slots(keys: Any, used: int) -> Any:
    """Slots for as many keys as fit their array, at most half of them taken, and the first `used` keys put there."""
    slots = 1 << 15
    while slots < 2 * len(keys):
        slots *= 2
    slot = np.full(slots, FREE, np.int32)
    place_rows(slot, keys, used)
    return slot


# The loops are flat, their arrays first taken out of their tuples: handed to functions inside the loop, Numba counts
# references to each, and the whole is many times slower.
@njit(cache=True)
def saturate(
    domain: DomainArrays, table: Table, middles: int, most: int
) -> tuple[Integers, Integers, Integers, Integers, int]:
    """The edges (from, symbol, to) and weights of the automaton, and how many there are: `most` + 1 if there would be more,
    -1 if a label has no rule. `middles`: how many nodes it may need in addition to the controls."""
    successors, chances, labels, terminal = (
        domain.next,
        domain.probability,
        domain.label,
        domain.terminal,
    )
    moves, silent, targets, pops, pushes, pushed = table[:6]
    states, actions, outcomes = successors.shape
    machine_states, symbols = silent.shape
    # Nodes: the controls, a start with a label being one of its own until that label is read; the bottom, the end, the middles.
    acting = states * machine_states
    controls = acting + len(domain.start_state) * machine_states
    bottom, end = controls, controls + 1
    nodes, made_nodes = controls + 2 + middles, controls + 2
    middle = np.full((nodes, symbols), FREE, np.int32)
    longest = pushed.shape[1] + 1
    # Edges with their index, a list of those that leave each node, and a ring of those to process (again).
    capacity = max(1 << 14, len(domain.start_state) + 1)
    edge_key, weight = np.zeros(capacity, np.int64), np.zeros(capacity, np.int32)
    source, symbol, target = (
        np.zeros(capacity, np.int32),
        np.zeros(capacity, np.int32),
        np.zeros(capacity, np.int32),
    )
    following, waits = np.zeros(capacity, np.int32), np.zeros(capacity, np.bool_)
    ring, slot = np.zeros(capacity, np.int32), build_slots(edge_key, 0)
    leaving, degree = np.full(nodes, FREE, np.int32), np.zeros(nodes, np.int32)
    made, head, queued = 0, 0, 0
    # Jumps with their index, and a list of those that land at each node.
    jumps, jump_capacity = 0, 1 << 12
    jump_key, jump_weight = np.zeros(jump_capacity, np.int64), np.zeros(jump_capacity, np.int32)
    jump_from, jump_next = np.zeros(jump_capacity, np.int32), np.zeros(jump_capacity, np.int32)
    jump_slot = build_slots(jump_key, 0)
    landing, landed = np.full(nodes, FREE, np.int32), np.zeros(nodes, np.int32)
    # What processing one edge brings: edges to add, or to make lighter. At first, the bottom and the starts.
    room = max(1 << 10, len(domain.start_state) + 1)
    new_source, new_symbol = np.zeros(room, np.int32), np.zeros(room, np.int32)
    new_target, new_weight = np.zeros(room, np.int32), np.zeros(room, np.int32)
    new_source[0], new_symbol[0], new_target[0], news = bottom, 0, end, 1
    for start in range(len(domain.start_state)):
        if domain.start_probability[start] > 0.0:
            labelled = domain.start_label[start] >= 0
            first = (
                (acting + start * machine_states)
                if labelled
                else domain.start_state[start] * machine_states
            )
            new_source[news], new_symbol[news], new_target[news] = (
                first + table.start,
                table.bottom,
                bottom,
            )
            news += 1
    undefined = False
    while made <= most and not undefined:
        # Phase 1: add the new edges or make them lighter, and queue those that changed.
        for number in range(news):
            p, g, q, d = (
                new_source[number],
                new_symbol[number],
                new_target[number],
                new_weight[number],
            )
            key = (np.int64(p) * symbols + g) * nodes + q
            mask = len(slot) - 1
            probe = hash_key(key) & mask
            while slot[probe] >= 0 and edge_key[slot[probe]] != key:
                probe = (probe + 1) & mask
            edge = slot[probe]
            lighter = edge < 0 or d < weight[edge]
            if edge < 0:
                edge = made
                slot[probe], edge_key[edge], source[edge], symbol[edge], target[edge] = (
                    edge,
                    key,
                    p,
                    g,
                    q,
                )
                following[edge], leaving[p] = leaving[p], edge
                degree[p] += 1
                made += 1
            if lighter:
                weight[edge] = d
                if not waits[edge]:
                    waits[edge] = True
                    ring[(head + queued) % len(ring)] = edge
                    queued += 1
        news = 0
        if queued == 0:
            break
        # Phase 2: take the next edge, p reads g and goes to q with weight d, and make room for whatever it brings.
        edge = ring[head]
        head, queued, waits[edge] = (head + 1) % len(ring), queued - 1, False
        p, g, q, d = source[edge], symbol[edge], target[edge], weight[edge]
        need = (
            (landed[p] if p >= controls else actions * outcomes * (longest + degree[q]))
            + longest
            + degree[q]
            + 1
        )
        if need > room:
            room = 2 * need
            new_source, new_symbol = np.zeros(room, np.int32), np.zeros(room, np.int32)
            new_target, new_weight = np.zeros(room, np.int32), np.zeros(room, np.int32)
        if made + need > capacity:
            larger = 2 * capacity + need
            edge_key, weight, waits = (
                lengthen(edge_key, larger),
                lengthen(weight, larger),
                lengthen(waits, larger),
            )
            source, symbol, target = (
                lengthen(source, larger),
                lengthen(symbol, larger),
                lengthen(target, larger),
            )
            following, slot = lengthen(following, larger), build_slots(edge_key, made)
            old_ring, ring = ring, np.zeros(larger, np.int32)
            for place in range(queued):
                ring[place] = old_ring[(head + place) % len(old_ring)]
            head, capacity = 0, larger
        if jumps + actions * outcomes + 1 > jump_capacity:
            jump_capacity = 2 * jump_capacity + actions * outcomes
            jump_key, jump_weight = (
                lengthen(jump_key, jump_capacity),
                lengthen(jump_weight, jump_capacity),
            )
            jump_from, jump_next = (
                lengthen(jump_from, jump_capacity),
                lengthen(jump_next, jump_capacity),
            )
            jump_slot = build_slots(jump_key, jumps)
        # Phase 3: an edge below a popped symbol is also one of every control that jumped there.
        if p >= controls:
            jump = landing[p]
            while jump >= 0:
                new_source[news], new_symbol[news], new_target[news] = jump_from[jump], g, q
                new_weight[news], news, jump = jump_weight[jump] + d, news + 1, jump_next[jump]
            continue
        # Phase 4: the moves of a control at the top symbol g: one silent move, the label at reset, or every action's outcomes.
        u = p % machine_states
        s, start = (
            (p // machine_states, FREE) if p < acting else (0, (p - acting) // machine_states)
        )
        is_silent = silent[u, g] >= 0
        once = is_silent or start >= 0
        if not is_silent and (u >= table.first_final or (start < 0 and terminal[s])):
            continue
        for a in range(1 if once else actions):
            for o in range(1 if once else outcomes):
                if not once and chances[s, a, o] <= 0.0:
                    continue
                if is_silent:
                    move, cost, place = silent[u, g], 0, p - u
                elif start >= 0:
                    move, cost = moves[u, domain.start_label[start], g], 0
                    place = domain.start_state[start] * machine_states
                else:
                    move, cost, place = (
                        moves[u, labels[s, a, o], g],
                        1,
                        successors[s, a, o] * machine_states,
                    )
                if move < 0:
                    undefined = True
                    break
                after, total = place + targets[move], d + cost
                length = pushes[move] + 1 - pops[move]
                if length > 0:
                    # The move leaves symbols instead of g: a path of new edges to q through middle nodes.
                    for position in range(length):
                        left = pushes[move] - 1 - position
                        new_source[news], new_symbol[news] = (
                            after,
                            pushed[move, left] if left >= 0 else g,
                        )
                        if position == length - 1:
                            new_target[news], new_weight[news] = q, total
                        else:
                            if middle[after, new_symbol[news]] < 0:
                                middle[after, new_symbol[news]], made_nodes = (
                                    made_nodes,
                                    made_nodes + 1,
                                )
                            after = middle[after, new_symbol[news]]
                            new_target[news], new_weight[news] = after, 0
                        news += 1
                    continue
                # The move pops g: a jump from the control after it to q, and all edges that leave q by now.
                key = np.int64(after) * nodes + q
                mask = len(jump_slot) - 1
                probe = hash_key(key) & mask
                while jump_slot[probe] >= 0 and jump_key[jump_slot[probe]] != key:
                    probe = (probe + 1) & mask
                jump = jump_slot[probe]
                lighter = jump < 0 or total < jump_weight[jump]
                if jump < 0:
                    jump = jumps
                    jump_slot[probe], jump_key[jump], jump_from[jump] = jump, key, after
                    jump_next[jump], landing[q] = landing[q], jump
                    landed[q] += 1
                    jumps += 1
                if lighter:
                    jump_weight[jump] = total
                    below = leaving[q]
                    while below >= 0:
                        new_source[news], new_symbol[news], new_target[news] = (
                            after,
                            symbol[below],
                            target[below],
                        )
                        new_weight[news], news, below = (
                            total + weight[below],
                            news + 1,
                            following[below],
                        )
    if undefined:
        made = -1
    kept = max(0, made)
    return source[:kept], symbol[:kept], target[:kept], weight[:kept], made
