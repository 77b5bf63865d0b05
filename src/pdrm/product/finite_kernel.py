"""The states of the finite product as arrays that grow, and every step from them, in Numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.machines.stacks import FULL, OK, Stacks
from pdrm.machines.step_kernel import step
from pdrm.machines.tables import Integers, Table
from pdrm.product.hash_kernel import Index, hash_key

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

END = -1
"""In `next`: the episode is over, and nothing more is paid. Also where an outcome has probability 0."""

RULES = ("open", "block", "fail")
OPEN, BLOCK, FAIL = range(3)
"""The rule for a step that would exceed the bound of the stack (see `finite_product.Bound`)."""


class States(NamedTuple):
    """Product states in the order they were found; the rest of the arrays is room."""

    index: Index  # type: ignore[assignment] # a tuple has a method of that name
    """State of a key: (stack * environment states + environment state) * machine states + machine state."""
    place: Integers
    """[x]: the environment state."""
    state: Integers
    """[x]: the machine state."""
    node: Integers
    """[x]: the stack."""
    depth: Integers
    """[x]: the fewest steps to it, as far as the product was explored."""
    origin: Integers
    """[x]: the state it was found from, or -1 at a start."""
    via: Integers
    """[x]: the action and outcome it was found by (action * outcomes + outcome), or the number of the start."""
    expanded: Flags
    """[x]: True if its steps have been taken. If not, it is on the frontier: only an interval of its value is known."""
    next: Integers
    """[x, action, outcome]: the state a step leads to, or END. In a survey: [0, action, outcome]."""
    reward: Floats
    """[x, action, outcome]: what it pays, environment and machine together. In a survey: [0, action, outcome]."""

    @classmethod
    def room(cls, actions: int, outcomes: int, capacity: int, *, survey: bool = False) -> States:
        """No state yet, and room for `capacity`; a survey keeps no steps."""
        steps = (0 if survey else capacity, actions, outcomes)
        return cls(
            Index.room(capacity),
            *np.zeros((6, capacity), np.int32),  # type: ignore[call-arg] # place to via
            np.zeros(capacity, np.bool_),
            np.full(steps, END, np.int32),
            np.zeros(steps),
        )

    def grow(self) -> States:
        """The same states in twice the room."""
        made, capacity = int(self.index.used[0]), 2 * len(self.place)
        _, actions, outcomes = self.next.shape
        larger = States.room(actions, outcomes, capacity, survey=len(self.next) == 0)
        for column, longer in zip(self[1:], larger[1:], strict=True):
            longer[:made] = column[:made]
        return larger._replace(index=Index.of(self.index.key[:made], capacity))

    @property
    def bytes_each(self) -> int:
        """Memory that one state takes, its key and its two slots included."""
        return 6 * 4 + 1 + int(np.prod(self.next.shape[1:])) * 12 + 8 + 2 * 4


class Steps(NamedTuple):
    """Every step of some product states, as kernels read them."""

    next: Integers
    """[x, action, outcome]: the state it leads to, or END."""
    reward: Floats
    """[x, action, outcome]: what it pays."""
    place: Integers
    """[x]: the environment state."""
    probability: Floats
    """[environment state, action, outcome]"""


# The loop is flat, and its arrays are taken out of their tuples first: a function called with tuples of arrays inside the loop
# counts references to each of them, and the whole is many times slower.
@njit(cache=True)
def expand(
    table: Table,
    stacks: Stacks,
    world: DomainArrays,
    states: States,
    chosen: Numbers,
    first: int,
    height: int,
    rule: int,
) -> tuple[int, int]:
    """Take every step from the chosen states, from number `first` on; a survey keeps the states in which the episode ends.

    Returns how far it came, and OK, UNDEFINED (a label the machine has no move for) or FULL (make room, then continue). A state
    that is expanded again changes nothing. The readable twin of a step is `Check.rows` in `pdrm.analysis.checker`.
    """
    slot, keys, used = states.index
    places, machine_state, nodes, depth = states.place, states.state, states.node, states.depth
    origin, via, expanded, following, reward = (
        states.origin,
        states.via,
        states.expanded,
        states.next,
        states.reward,
    )
    survey = len(following) == 0
    world_next, world_label, world_reward, terminal = (
        world.next,
        world.label,
        world.reward,
        world.terminal,
    )
    domain_states, actions, outcomes = world_next.shape
    machine_states, first_final = table.move.shape[0], table.first_final
    mask = len(slot) - 1
    for number in range(first, len(chosen)):
        x = chosen[number]
        s, u, node = places[x], machine_state[x], nodes[x]
        if used[0] + actions * outcomes > len(places):
            return number, FULL
        for a in range(actions):
            for o in range(outcomes):
                if world.probability[s, a, o] <= 0.0:
                    continue
                # the environment moves, and the machine reads the label
                s2 = world_next[s, a, o]
                u2, node2, paid, status = step(table, stacks, u, node, world_label[s, a, o])
                if status != OK:
                    return number, status
                # the end of the episode, and the rule at the bound of the stack
                ended = u2 >= first_final or terminal[s2]
                above = not ended and stacks.height[node2] > height
                y = END
                if above and rule == BLOCK:
                    y = x
                elif (survey or not ended) and not (above and rule == FAIL):
                    # the number of the product state, given one if it is new
                    key = (np.int64(node2) * domain_states + s2) * machine_states + u2
                    probe = hash_key(key) & mask
                    while slot[probe] >= 0 and keys[slot[probe]] != key:
                        probe = (probe + 1) & mask
                    if slot[probe] < 0:
                        y = used[0]
                        slot[probe], keys[y], used[0] = y, key, y + 1
                        places[y], machine_state[y], nodes[y] = s2, u2, node2
                        depth[y], origin[y], via[y], expanded[y] = (
                            depth[x] + 1,
                            x,
                            a * outcomes + o,
                            ended,
                        )
                    y = slot[probe]
                if not survey:
                    following[x, a, o], reward[x, a, o] = y, paid + world_reward[s, a, o]
        expanded[x] = True
    return len(chosen), OK
