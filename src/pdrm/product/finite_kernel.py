"""The finite product's states as arrays, and every step from them, in Numba; the rule at the bound of the stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.errors import BadSetting
from pdrm.machines.stacks import FULL, OK, Stacks
from pdrm.machines.step_kernel import step
from pdrm.machines.tables import Integers, Rewards, Table

# --- The product's states as arrays that a kernel extends in place, and the rule at the bound of the stack.

END = -1
"""In `next`: the episode is over, and worth nothing more. Also where an outcome has probability 0."""

RULES = ("open", "block", "fail")
OPEN, BLOCK, FAIL = range(3)


@dataclass(frozen=True, slots=True)
class Bound:
    """The highest stack the product is built for, and what happens to a step that would exceed it.

    `open`: it leads to a product state that is kept but not looked beyond; only an interval of its value is known. The
    problem is the paper's own. `block`: it pays, but environment and machine stay as they were. `fail`: it pays, and the
    episode ends. Both of these change the problem, and what is found then holds for the changed one.

    >>> Bound(), Bound(12, "fail").number
    (Bound(height=None, rule='open'), 2)
    """

    height: int | None = None
    rule: str = "open"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise BadSetting(f"no rule at the bound is called `{self.rule}`", fix=f"one of {', '.join(RULES)}")
        if self.height is not None and self.height < 0:
            raise BadSetting(f"the stack's bound is {self.height}", fix="a whole number from 0 on")
        if self.height is None and self.rule != "open":
            raise BadSetting(f"the rule `{self.rule}` needs a bound", fix="name the highest stack: --height 12")

    @property
    def number(self) -> int:
        """The rule as a kernel reads it."""
        return RULES.index(self.rule)


class States(NamedTuple):
    """Product states in the order they were found; the rest of the arrays is room."""

    place: Integers
    """[x]: the environment state."""
    state: Integers
    """[x]: the machine state."""
    node: Integers
    """[x]: the stack."""
    depth: Integers
    """[x]: the fewest steps to it, as far as looked."""
    origin: Integers
    """[x]: the state it was found from, or -1 at a start."""
    via: Integers
    """[x]: the action and outcome it was found by (action * outcomes + outcome), or the number of the start."""
    looked: npt.NDArray[np.bool_]
    """[x]: whether its steps have been taken. One that is not is open: its value is only known to lie in an interval."""
    next: Integers
    """[x, action, outcome]: the state a step leads to, or END."""
    reward: Rewards
    """[x, action, outcome]: what it pays, environment and machine together."""
    slot: Integers
    """A hash table of the states, four slots a state: -1, or a state."""
    made: npt.NDArray[np.int64]
    """[1]: how many states there are."""

    @classmethod
    def room(cls, actions: int, outcomes: int, capacity: int) -> States:
        """No state yet, and room for a power of two of them.

        >>> States.room(actions=4, outcomes=2, capacity=8).next.shape
        (8, 4, 2)
        """
        place, state, node, depth, origin, via = (np.zeros(capacity, np.int32) for _ in range(6))
        return cls(
            place,
            state,
            node,
            depth,
            origin,
            via,
            np.zeros(capacity, np.bool_),
            np.full((capacity, actions, outcomes), END, np.int32),
            np.zeros((capacity, actions, outcomes), np.float64),
            np.full(4 * capacity, -1, np.int32),
            np.zeros(1, np.int64),
        )

    @property
    def bytes_each(self) -> int:
        """Memory that one state takes, its slots included."""
        return 6 * 4 + 1 + int(np.prod(self.next.shape[1:])) * 12 + 4 * 4


# --- Taking every step from product states, in Numba.

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_29, _32 = np.uint64(29), np.uint64(32)


@njit(cache=True)
def find(states: States, place: int, state: int, node: int) -> tuple[int, int]:
    """The product state, or -1, and the slot it has or would have."""
    slot, places, machine, nodes = states.slot, states.place, states.state, states.node
    mask = len(slot) - 1
    word = np.uint64(node) * _MULTIPLIER
    word = (word ^ (word >> _29) ^ np.uint64(place * 64 + state)) * _MULTIPLIER
    probe = int(word >> _32) & mask
    while slot[probe] >= 0:
        x = slot[probe]
        if places[x] == place and machine[x] == state and nodes[x] == node:
            return int(x), probe
        probe = (probe + 1) & mask
    return -1, probe


@njit(cache=True)
def add(states: States, place: int, state: int, node: int, probe: int) -> int:
    """A new product state in its slot; there must be room."""
    x = int(states.made[0])
    states.place[x], states.state[x], states.node[x] = place, state, node
    states.slot[probe] = x
    states.made[0] = x + 1
    return x


@njit(cache=True)
def place_all(states: States) -> None:
    """Put all states into empty slots."""
    for x in range(states.made[0]):
        _, probe = find(states, states.place[x], states.state[x], states.node[x])
        states.slot[probe] = x


@njit(cache=True)
def look(
    table: Table,
    stacks: Stacks,
    world: DomainArrays,
    states: States,
    chosen: npt.NDArray[np.int64],
    first: int,
    height: int,
    rule: int,
) -> tuple[int, int]:
    """Take every step from the chosen states, from number `first` on.

    Returns how far it came, and OK, UNDEFINED (a label the machine has no move for) or FULL (make room, then go on).
    """
    actions, outcomes = states.next.shape[1], states.next.shape[2]
    for number in range(first, len(chosen)):
        x = chosen[number]
        s, u, node = states.place[x], states.state[x], states.node[x]
        if states.made[0] + actions * outcomes > len(states.place):
            return number, FULL
        for a in range(actions):
            for o in range(outcomes):
                if world.probability[s, a, o] <= 0.0:
                    continue
                after, at, paid, status = step(table, stacks, u, node, world.label[s, a, o])
                if status != OK:
                    return number, status
                s2 = world.next[s, a, o]
                states.reward[x, a, o] = paid + world.reward[s, a, o]
                y = END
                if after < table.first_final and not world.terminal[s2]:
                    above = stacks.height[at] > height
                    if above and rule == BLOCK:
                        y = x
                    elif not (above and rule == FAIL):
                        y, probe = find(states, s2, after, at)
                        if y < 0:
                            y = add(states, s2, after, at, probe)
                            states.depth[y] = states.depth[x] + 1
                            states.origin[y] = x
                            states.via[y] = a * outcomes + o
                states.next[x, a, o] = y
        states.looked[x] = True
    return len(chosen), OK
