"""Reaching the product in Numba: one more step from every product state of a layer; and the saturation of `reach`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.machines.tables import Integers, Table
from pdrm.product.exploration import Explored
from pdrm.product.explore_kernel import NO_ROOM, explore

# --- Product states met so far, numbered as they are met, and found again by an open-addressing hash of one 64-bit key.

FREE = -1
"""An empty slot."""


class Met(NamedTuple):
    """Keys of product states: (number of the configuration) * environment states + environment state.

    >>> met = Met.room(100)
    >>> len(met.slot), len(met.key)
    (256, 100)
    """

    slot: Integers
    """[slots]: the row whose key hashes here, or FREE; a power of two, at most half full."""
    key: npt.NDArray[np.int64]
    """[rows]: the key of each product state, in the order they were met."""
    used: npt.NDArray[np.int64]
    """[1]: how many there are."""

    @classmethod
    def room(cls, rows: int) -> Met:
        """None met yet, and room for `rows`."""
        slots = np.full(1 << (2 * rows - 1).bit_length(), FREE, np.int32)
        return cls(slots, np.zeros(rows, np.int64), np.zeros(1, np.int64))

    def grown(self, more: int) -> Met:
        """The same, with room for so many more."""
        used = int(self.used[0])
        if used + more <= len(self.key):
            return self
        larger = Met.room(max(used + more, 2 * len(self.key)))
        larger.key[:used] = self.key[:used]
        larger.used[0] = used
        place_all(larger)
        return larger


# --- Reaching the product in Numba: one more step from every product state of a layer; and the saturation of `views.py`.
#
# The loops are written out flat, arrays first taken out of their tuples: handed to functions inside the loop, Numba counts
# references to each, and the whole is many times slower.

DONE = 0
MULTIPLIER, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


@njit(cache=True, inline="always")
def hashed(key: int) -> int:
    """Where a key is looked for first (before the mask)."""
    return int((np.uint64(key) * MULTIPLIER) >> HALF)


@njit(cache=True)
def place_all(met: Met) -> None:
    """Put the keys, in their order, into empty slots."""
    slot, keys, used = met
    mask = len(slot) - 1
    for row in range(used[0]):
        probe = hashed(keys[row]) & mask
        while slot[probe] >= 0:
            probe = (probe + 1) & mask
        slot[probe] = row


@njit(cache=True)
def meet(met: Met, key: int) -> int:
    """The row of a product state, given one where it is new. There must be room."""
    slot, keys, used = met
    mask = len(slot) - 1
    probe = hashed(key) & mask
    while slot[probe] >= 0 and keys[slot[probe]] != key:
        probe = (probe + 1) & mask
    if slot[probe] < 0:
        slot[probe], keys[used[0]], used[0] = used[0], key, used[0] + 1
    return int(slot[probe])


@njit(cache=True)
def spread(domain: DomainArrays, explored: Explored, met: Met, first: int, last: int) -> tuple[int, int]:
    """Meet the successors of rows `first` to `last` (not included). Returns the row to go on with, and DONE or why not:
    NO_ROOM in `explored` or `met`, or UNDEFINED_LABEL. A row that is done again changes nothing."""
    slot, keys, used = met
    found = explored.configurations
    afters, state_of = found.after, found.state
    successors, chances, labels, terminal = domain.next, domain.probability, domain.label, domain.terminal
    states, actions, outcomes = successors.shape
    final, mask, row, status = explored.table.first_final, len(slot) - 1, first, DONE
    while row < last and status == DONE:
        if used[0] + actions * outcomes > len(keys):
            status = NO_ROOM
            break
        here, s = keys[row] // states, keys[row] % states
        if state_of[here] < final and not terminal[s]:
            for a in range(actions):
                for o in range(outcomes):
                    if chances[s, a, o] > 0.0 and status == DONE:
                        there = afters[here, labels[s, a, o]]
                        if there < 0:
                            there = explore(explored, here, labels[s, a, o])
                        if there < 0:
                            status = there
                        else:
                            key = there * states + successors[s, a, o]
                            probe = hashed(key) & mask
                            while slot[probe] >= 0 and keys[slot[probe]] != key:
                                probe = (probe + 1) & mask
                            if slot[probe] < 0:
                                slot[probe], keys[used[0]], used[0] = used[0], key, used[0] + 1
        row += status == DONE
    return row, status


@njit(cache=True)
def longer(array: Any, length: int) -> Any:  # noqa: ANN401 - an array of any kind, and another of that kind
    """The array with zeros after it."""
    larger = np.zeros(length, array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True)
def saturate(
    domain: DomainArrays, table: Table, middles: int, most: int
) -> tuple[Integers, Integers, Integers, Integers, int]:
    """The edges (from, symbol, to) and weights of the automaton that `views.py` describes, and the edges made: `most` + 1 if
    there would be more, -1 if a label has no rule. `middles`: how many states it may need beside the controls."""
    successors, chances, labels, terminal = domain.next, domain.probability, domain.label, domain.terminal
    moves, silent, targets, pops, pushes, pushed = table[:6]
    states, actions, outcomes = successors.shape
    machine_states, symbols = silent.shape
    acting = states * machine_states
    controls = acting + len(domain.start_state) * machine_states
    bottom, end = controls, controls + 1
    nodes, made_nodes = controls + 2 + middles, controls + 2
    middle = np.full((nodes, symbols), FREE, np.int32)
    longest = pushed.shape[1] + 1
    # edges, a hash of them, those that leave each node, and a ring of those to look at (again)
    capacity = max(1 << 14, len(domain.start_state) + 1)
    source, symbol, target = np.zeros(capacity, np.int32), np.zeros(capacity, np.int32), np.zeros(capacity, np.int32)
    following, weight, waits = np.zeros(capacity, np.int32), np.zeros(capacity, np.int32), np.zeros(capacity, np.bool_)
    ring, slot = np.zeros(capacity, np.int32), np.full(4 * capacity, FREE, np.int32)
    leaving, degree = np.full(nodes, FREE, np.int32), np.zeros(nodes, np.int32)
    made, head, queued = 0, 0, 0
    # jumps: a control that stands where a symbol was popped, at the node below it
    jumps, jump_capacity = 0, 1 << 12
    jump_from, jump_to = np.zeros(jump_capacity, np.int32), np.zeros(jump_capacity, np.int32)
    jump_next, jump_weight = np.zeros(jump_capacity, np.int32), np.zeros(jump_capacity, np.int32)
    jump_slot = np.full(4 * jump_capacity, FREE, np.int32)
    landing, landed = np.full(nodes, FREE, np.int32), np.zeros(nodes, np.int32)
    # what one look brings: edges to add or to lower
    room = max(1 << 10, len(domain.start_state) + 1)
    new_source, new_symbol = np.zeros(room, np.int32), np.zeros(room, np.int32)
    new_target, new_weight = np.zeros(room, np.int32), np.zeros(room, np.int32)
    new_source[0], new_symbol[0], new_target[0], news = bottom, 0, end, 1
    for start in range(len(domain.start_state)):
        if domain.start_probability[start] > 0.0:
            # a start with a label is a control of its own, until that label is read
            first = (
                acting + start * machine_states
                if domain.start_label[start] >= 0
                else domain.start_state[start] * machine_states
            )
            new_source[news], new_symbol[news], new_target[news] = first + table.start, table.bottom, bottom
            news += 1
    undefined = False
    while made <= most and not undefined:
        for number in range(news):
            p, g, q, d = new_source[number], new_symbol[number], new_target[number], new_weight[number]
            key = (np.int64(p) * symbols + g) * nodes + q
            mask = len(slot) - 1
            probe = hashed(key) & mask
            edge = slot[probe]
            while edge >= 0 and (source[edge] != p or symbol[edge] != g or target[edge] != q):
                probe = (probe + 1) & mask
                edge = slot[probe]
            lower = edge < 0 or d < weight[edge]
            if edge < 0:
                edge = made
                slot[probe], source[edge], symbol[edge], target[edge] = edge, p, g, q
                following[edge], leaving[p] = leaving[p], edge
                degree[p] += 1
                made += 1
            if lower:
                weight[edge] = d
                if not waits[edge]:
                    waits[edge] = True
                    ring[(head + queued) % len(ring)] = edge
                    queued += 1
        news = 0
        if queued == 0:
            break
        edge = ring[head]
        head, queued, waits[edge] = (head + 1) % len(ring), queued - 1, False
        p, g, q, d = source[edge], symbol[edge], target[edge], weight[edge]
        # room for whatever this look brings
        need = (landed[p] if p >= controls else actions * outcomes * (longest + degree[q])) + longest + degree[q] + 1
        if need > room:
            room = 2 * need
            new_source, new_symbol = np.zeros(room, np.int32), np.zeros(room, np.int32)
            new_target, new_weight = np.zeros(room, np.int32), np.zeros(room, np.int32)
        if made + need > capacity:
            larger = 2 * capacity + need
            source, symbol, target = longer(source, larger), longer(symbol, larger), longer(target, larger)
            following, weight, waits = longer(following, larger), longer(weight, larger), longer(waits, larger)
            old_ring, ring = ring, np.zeros(larger, np.int32)
            for place in range(queued):
                ring[place] = old_ring[(head + place) % len(old_ring)]
            head, capacity = 0, larger
            size = len(slot)
            while size < 2 * capacity:
                size *= 2
            slot = np.full(size, FREE, np.int32)
            for number in range(made):
                key = (np.int64(source[number]) * symbols + symbol[number]) * nodes + target[number]
                probe = hashed(key) & (size - 1)
                while slot[probe] >= 0:
                    probe = (probe + 1) & (size - 1)
                slot[probe] = number
        if jumps + actions * outcomes + 1 > jump_capacity:
            jump_capacity = 2 * jump_capacity + actions * outcomes
            jump_from, jump_to = longer(jump_from, jump_capacity), longer(jump_to, jump_capacity)
            jump_next, jump_weight = longer(jump_next, jump_capacity), longer(jump_weight, jump_capacity)
            size = len(jump_slot)
            while size < 2 * jump_capacity:
                size *= 2
            jump_slot = np.full(size, FREE, np.int32)
            for number in range(jumps):
                probe = hashed(np.int64(jump_from[number]) * nodes + jump_to[number]) & (size - 1)
                while jump_slot[probe] >= 0:
                    probe = (probe + 1) & (size - 1)
                jump_slot[probe] = number
        if p >= controls:  # below a popped symbol there may be something new
            jump = landing[p]
            while jump >= 0:
                new_source[news], new_symbol[news], new_target[news] = jump_from[jump], g, q
                new_weight[news], news, jump = jump_weight[jump] + d, news + 1, jump_next[jump]
            continue
        u = p % machine_states
        s, start = (p // machine_states, FREE) if p < acting else (0, (p - acting) // machine_states)
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
                    move, cost, place = moves[u, labels[s, a, o], g], 1, successors[s, a, o] * machine_states
                if move < 0:
                    undefined = True
                    break
                after, total = place + targets[move], d + cost
                length = pushes[move] + 1 - pops[move]
                if length > 0:
                    for position in range(length):
                        left = pushes[move] - 1 - position
                        new_source[news], new_symbol[news] = after, pushed[move, left] if left >= 0 else g
                        if position == length - 1:
                            new_target[news], new_weight[news] = q, total
                        else:
                            if middle[after, new_symbol[news]] < 0:
                                middle[after, new_symbol[news]], made_nodes = made_nodes, made_nodes + 1
                            after = middle[after, new_symbol[news]]
                            new_target[news], new_weight[news] = after, 0
                        news += 1
                    continue
                key = np.int64(after) * nodes + q
                mask = len(jump_slot) - 1
                probe = hashed(key) & mask
                jump = jump_slot[probe]
                while jump >= 0 and (jump_from[jump] != after or jump_to[jump] != q):
                    probe = (probe + 1) & mask
                    jump = jump_slot[probe]
                lower = jump < 0 or total < jump_weight[jump]
                if jump < 0:
                    jump = jumps
                    jump_slot[probe], jump_from[jump], jump_to[jump] = jump, after, q
                    jump_next[jump], landing[q] = landing[q], jump
                    landed[q] += 1
                    jumps += 1
                if lower:
                    jump_weight[jump] = total
                    below = leaving[q]
                    while below >= 0:
                        new_source[news], new_symbol[news], new_target[news] = after, symbol[below], target[below]
                        new_weight[news], news, below = total + weight[below], news + 1, following[below]
    if undefined:
        made = -1
    kept = max(0, made)
    return source[:kept], symbol[:kept], target[:kept], weight[:kept], made
