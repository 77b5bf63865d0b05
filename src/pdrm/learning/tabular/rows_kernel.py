"""The tables of the tabular learners, the functions that their kernels share, and greedy episodes.

The training loops and these functions are compiled without reference counting, so they must not
allocate arrays. Counting the references to arrays at each call made the loops two to six times
slower, inlined or not (Numba 0.68).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from numba import njit

from pdrm.domains.finite_domain import DomainArrays
from pdrm.files import Arrays
from pdrm.learning.randomness import FIRST, GOLDEN, SECOND, RngState
from pdrm.learning.tabular.hierarchical import NO_OPTIONS, Flags, Options
from pdrm.machines.stacks import lengthen
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.explore_kernel import UNKNOWN, ConfigurationGraph, Potentials, explore, see
from pdrm.product.hash_kernel import (
    FREE,
    INITIAL_CAPACITY,
    Index,
    Keys,
    free_slots,
    hash_key,
    ix,
    place_rows,
)

NONE = -1
"""No episode has been started, or no option is being followed."""

# The result of a kernel: one of these, or a negative result of `explore`.
DONE = 0
PAUSE = 1
"""Paused after `pause` updates in an episode, so that the caller can check the time limit."""
FULL, NO_ENTRIES, NO_VALUES = 2, 3, 4
"""The table of q, of observed stacks or of potentials is full: enlarge it and call again."""

PROGRESS = np.dtype(
    [
        ("episode", np.int64),  # the present or the next one
        ("all_steps", np.int64),  # in finished episodes
        ("all_updates", np.int64),  # in finished episodes
        ("epsilon", np.float64),
        ("last_return", np.float64),  # of the last finished episode
        # Of the present episode:
        ("configuration", np.int64),  # or NONE
        ("state", np.int64),  # of the environment
        ("row", np.int64),  # of both in the table, or FREE
        ("step", np.int64),
        ("updates", np.int64),
        ("operations", np.int64),
        ("episode_return", np.float64),
        ("pause", np.int64),  # updates after which to check the clock, or 0: never
        ("late", np.int64),  # 1: the time of the episode is over
        # Of the hierarchical agent:
        ("option", np.int64),  # that is followed, or NONE
        ("option_return", np.float64),  # the discounted rewards since the option was chosen
        ("weight", np.float64),  # the discount of its next reward
    ]
)
"""The state of a run, a record that kernels change."""
Progress = npt.NDArray[np.void]
"""[1]: a record of PROGRESS."""


def initial_progress(epsilon: float) -> Progress:
    """The state of a run before its first episode."""
    progress = np.zeros(1, PROGRESS).view(np.recarray)  # kernels read fields as attributes
    progress["epsilon"] = epsilon
    progress["configuration"] = NONE
    progress["option"] = NONE
    return progress


ANY_VIEW = 2**40
"""Larger than any number of views."""
MAX_CELLS = 2**26
"""Maximum size of the array [environment state, view]. A larger table is hashed."""
FIRST_ENTRIES = 64
"""Initial capacity for observed stacks."""


class QTable(NamedTuple):
    """q as a table: one row for each visited (s, u, view), one column for each choice.

    >>> table = QTable.of(np.array([5, 1]), np.zeros((2, 4)), states=3, rows=2, views=2)
    >>> table.slot.tolist(), table.grow(views=3).slot.shape, len(table.grow(views=2).key)
    ([[-1, -1], [1, -1], [-1, 0]], (3, 4), 4)
    """

    slot: Integers
    """[environment state, view]: the row, or FREE. Or a hash table, [slot]: the row of a key."""
    key: Keys
    """[row]: (number of the view) * environment states + environment state."""
    used: Keys
    """[1]: the number of rows."""
    value: Rewards
    """[row, choice]"""
    states: int
    """The number of environment states."""

    @classmethod
    def of(
        cls, keys: Keys, value: Rewards, states: int, rows: int = INITIAL_CAPACITY, views: int = 1
    ) -> QTable:
        """A table of these rows, with a capacity of `rows`. A hash table has room for any view."""
        if states * views <= MAX_CELLS:
            slot = np.full((states, views), FREE, np.int32)
            slot[keys % states, keys // states] = np.arange(len(keys))
        else:
            slot = free_slots(rows)
            place_rows(slot, keys, len(keys))
        return cls(slot, lengthen(keys, rows), np.array([len(keys)]), lengthen(value, rows), states)

    def grow(self, views: int) -> QTable:
        """The same rows with room for more views if they are too many, otherwise for more rows."""
        used = int(self.used[0])
        rows = len(self.key)
        max_views = max_views_of(self.slot)
        if views > max_views:
            max_views = max(views, 2 * max_views)
        else:
            rows *= 2
        return QTable.of(self.key[:used], self.value[:used], self.states, rows, max_views)


class ObservedStacks(NamedTuple):
    """The stacks observed so far, one of each class, and their successors.

    A class of stacks is an entry. A machine state with an entry is a counterfactual configuration.
    """

    index: Index  # type: ignore[assignment] # a tuple has a method of that name
    """Classes of stacks to entries."""
    first: Integers
    """[entry]: the configuration of its stack and machine state 0."""
    reached: Integers
    """[label, machine state, entry]: the next configuration, UNDEFINED_LABEL or UNKNOWN."""
    paid: Rewards
    """[label, machine state, entry]: the machine's reward."""
    ready: npt.NDArray[np.int64]
    """[label]: the number of pairs (entry, machine state), in this order, with known successors."""
    turn: npt.NDArray[np.int64]
    """[2]: the machine state and the entry with which a budget of updates continues."""

    @classmethod
    def of(cls, keys: Keys, first: Integers, labels: int, states: int) -> ObservedStacks:
        """These entries without successors, for these numbers of labels and machine states."""
        index = Index.from_keys(keys, max(2 * len(keys), FIRST_ENTRIES))
        entries = len(index.key)
        reached = np.full((labels, states, entries), UNKNOWN, np.int32)
        rewards = np.zeros(reached.shape)
        ready = np.zeros(labels, np.int64)
        next_pair = np.zeros(2, np.int64)
        return cls(index, lengthen(first, entries), reached, rewards, ready, next_pair)

    def grow(self) -> ObservedStacks:
        """The same entries in an object of twice the capacity."""
        labels, states, _ = self.reached.shape
        larger = ObservedStacks.of(self.index.key, self.first, labels, states)
        return larger._replace(turn=self.turn)


class Tables(NamedTuple):
    """The tables of a run.

    Every agent has the first two, Q-learning the next two, the hierarchical method the last three.
    """

    explored: ConfigurationGraph
    table: QTable
    """The values of actions, or of options for the meta-policy."""
    observed: ObservedStacks = ObservedStacks.of(np.zeros(0, np.int64), np.zeros(0, np.int32), 0, 0)
    potentials: Potentials = Potentials.none()
    options: Options = NO_OPTIONS
    met: Flags = np.zeros(0, np.bool_)
    """[environment state]: True if the options have values for it."""
    within: Rewards = np.zeros((0, 0, 0))
    """[environment state, head, option * actions + action]: the values of actions for options."""


def list_arrays(tables: Any, prefix: str = "") -> Arrays:
    """The arrays of a tuple and of the tuples inside it, by their paths."""
    found: Arrays = {}
    for name, part in tables._asdict().items():
        if isinstance(part, tuple):
            found |= list_arrays(part, f"{prefix}{name}.")
        elif isinstance(part, np.ndarray):
            found[prefix + name] = part
    return found


def put_arrays(tables: Any, arrays: Arrays, prefix: str = "") -> Any:
    """The tuple with copies of arrays from `list_arrays`."""
    parts = {}
    for name, part in tables._asdict().items():
        if isinstance(part, tuple):
            parts[name] = put_arrays(part, arrays, f"{prefix}{name}.")
        elif isinstance(part, np.ndarray):
            parts[name] = arrays[prefix + name].copy()
    return tables._replace(**parts)


ALL = 2**62
"""Larger than any number of counterfactuals."""


class Rates(NamedTuple):
    """The settings of all tabular agents as numbers."""

    alpha: float
    gamma: float
    epsilon_decay: float
    epsilon_min: float
    step_limit: int
    updates_per_step: int  # counterfactual ones; 0: none; ALL
    class_depth: int  # -1: every stack is its own class
    updates_per_episode: int  # 0: no limit
    max_operations: int  # of a counting automaton per episode; 0: no limit
    first_tie: bool  # the first of several best actions is chosen, unless all are worth 0
    limit_ends: bool  # a truncated episode is learnt as one that has ended
    option_pay: float  # the factor of the environment's and the machine's reward for options
    r_plus: float
    r_minus: float


_FIRST, _SECOND, GOLDEN_64 = np.uint64(FIRST), np.uint64(SECOND), np.uint64(GOLDEN)
_11, _27, _30, _31 = (np.uint64(bits) for bits in (11, 27, 30, 31))

_OPTIONS: dict[str, Any] = {"cache": True, "_nrt": False}
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def njit_norefcount(function: Kernel) -> Kernel:
    """Compile a function that allocates no arrays, without Numba's reference counting."""
    compiled: Kernel = njit(**_OPTIONS)(function)
    return compiled


def njit_inline(function: Kernel) -> Kernel:
    """Compile a function that allocates no arrays, and inline it in kernels that call it."""
    compiled: Kernel = njit(forceinline=True, **_OPTIONS)(function)
    return compiled


# Numba compiles one version of these for the array [environment state, view] and one for the hash
# table.


@njit_inline
def find_row(slot: Integers, keys: Keys, states: int, s: int, view: int) -> tuple[int, int]:
    """The row of an environment state and a view (`QTable`), or FREE, and its index in `slot`."""
    if slot.ndim == 2:
        index = int(view)
        row = slot[ix(s), ix(view)]
    else:
        key, mask = view * states + s, len(slot) - 1
        index = hash_key(key) & mask
        row = slot[ix(index)]
        while row >= 0 and keys[ix(row)] != key:
            index = (index + 1) & mask
            row = slot[ix(index)]
    return row, index


@njit_inline
def make_row(slot: Integers, keys: Keys, used: Keys, states: int, s: int, view: int) -> int:
    """The same row, added if it is new. The table must have room for it."""
    row, index = find_row(slot, keys, states, s, view)
    if row == FREE:
        row = used[0]
        keys[row], used[0] = view * states + s, row + 1
        if slot.ndim == 2:
            slot[ix(s), ix(index)] = row
        else:
            slot[ix(index)] = row
    return int(row)


@njit_inline
def max_views_of(slot: Integers) -> int:
    """The number of views for which a table has room."""
    views = ANY_VIEW
    if slot.ndim == 2:
        views = slot.shape[1]
    return views


@njit_inline
def uniform(random: np.uint64) -> float:
    """The number in [0, 1) of a generator's state (`Rng.uniform`).

    The caller advances the state before each number: `random += GOLDEN_64`.
    """
    word = (random ^ (random >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return float((word ^ (word >> _31)) >> _11) * 2.0**-53


@njit_inline
def draw(probability: Rewards, s: int, a: int, random: np.uint64) -> tuple[int, np.uint64]:
    """A random outcome of `probability[s, a]`, and the generator's state after it (draw)."""
    drawn, total = 0, 0.0
    if probability.shape[2] > 1:
        random += GOLDEN_64
        number = uniform(random)
        for outcome in range(probability.shape[2]):
            if probability[ix(s), ix(a), ix(outcome)] > 0.0:
                drawn = outcome
                total += probability[ix(s), ix(a), ix(outcome)]
                if number < total:
                    break
    return drawn, random


@njit_inline
def highest(q: Rewards, row: int, first: int, count: int) -> float:
    """The maximum of `count` values of a row, from column `first` on."""
    best: float = q[ix(row), ix(first)]
    for choice in range(1, count):
        best = max(best, q[ix(row), ix(first + choice)])
    return best


@njit_inline
def update(
    q: Rewards, row: int, a: int, reward: float, future_row: int, alpha: float, gamma: float
) -> None:
    """Move q[row, a] by α towards the reward plus γ times the best value of the future row.

    The future row is FREE if the task is over.
    """
    target = reward
    if future_row >= 0:
        target += gamma * highest(q, future_row, 0, q.shape[1])
    q[ix(row), ix(a)] += alpha * (target - q[ix(row), ix(a)])


@njit_inline
def choose_greedily(
    q: Rewards, row: int, first: int, count: int, random: np.uint64, first_tie: bool
) -> tuple[int, np.uint64]:
    """A choice of highest value, and the generator's state after it (greedy).

    A tie is broken at random, or by the first. If the row is FREE, all values are 0.
    """
    best, ties, chosen = 0.0, count, 0
    if row >= 0:
        best, ties = q[ix(row), ix(first)], 1
        for choice in range(1, count):
            if q[ix(row), ix(first + choice)] > best:
                best, ties, chosen = q[ix(row), ix(first + choice)], 1, choice
            elif q[ix(row), ix(first + choice)] == best:
                ties += 1
    if ties > 1 and not (first_tie and (best != 0.0 or ties < count)):
        random += GOLDEN_64
        skip = int(uniform(random) * ties)
        while skip > 0:
            chosen += 1
            skip -= row < 0 or q[ix(row), ix(first + chosen)] == best
    return chosen, random


@njit_inline
def read(explored: ConfigurationGraph, configuration: int, label: int) -> tuple[int, float]:
    """The next configuration and the machine's reward, looked up or explored (read)."""
    following, reward = UNKNOWN, 0.0
    if configuration < explored.after.shape[1]:
        following = explored.after[ix(label), ix(configuration)]
        reward = explored.reward[ix(label), ix(configuration)]
    if following == UNKNOWN:
        following, reward = explore(explored, configuration, label)
    return following, reward


@njit_inline
def start_episode(
    domain: DomainArrays, explored: ConfigurationGraph, max_operations: int, random: np.uint64
) -> tuple[int, int, float, int, np.uint64]:
    """Draw a start, and read the label at reset (start_episode).

    A label that takes more than `max_operations` (0: no limit) is not read. Returns the environment
    state, the configuration (negative if `explore` fails), the reward, the operations, and the
    generator's state.
    """
    start, random = draw(domain.start_probability.reshape(1, 1, -1), 0, 0, random)
    label = domain.start_label[start]
    configuration, reward, operations = explored.start, explored.start_reward, 0
    if label >= 0 and configuration % explored.states < explored.first_final:
        following, machine_reward = explore(explored, configuration, label)
        if following >= 0 and len(explored.counters) > 0:
            operations = explored.moves[label, configuration]
        if not 0 < max_operations < operations:
            reward += machine_reward
            configuration = following
    return domain.start_state[start], configuration, reward, operations, random


@njit_norefcount
def find_visited_row(
    explored: ConfigurationGraph, table: QTable, s: int, configuration: int
) -> int:
    """The row of an environment state and the view of a configuration, or FREE."""
    if explored.k >= 0 and explored.seen[configuration] == UNKNOWN:  # a stack new in evaluations
        see(explored, configuration // explored.states)
    view, row = explored.seen[configuration], FREE
    if 0 <= view < max_views_of(table.slot):
        row, _ = find_row(table.slot, table.key, table.states, s, view)
    return row


@njit_norefcount
def test(
    domain: DomainArrays,
    tables: Tables,
    rng: RngState,
    rates: Rates,
    step_limit: int,
    returns: Rewards,
    lengths: Integers,
    ends: Integers,
) -> int:
    """Play one greedy episode without learning per entry of `returns` (test).

    `ends` are the last machine states. If a table is full, enlarge it and call again: all episodes
    are then repeated with the same random numbers.
    """
    explored, table, options = tables.explored, tables.table, tables.options
    option_values = tables.within
    actions, states, random = domain.next.shape[1], explored.states, rng[1]
    max_operations = rates.max_operations
    counting, hierarchical = len(explored.counters) > 0, len(option_values) > 0
    for episode in range(len(returns)):
        # 1. Start an episode (start_episode).
        s, configuration, episode_return, operations, random = start_episode(
            domain, explored, max_operations, random
        )
        if configuration < 0:
            return int(configuration)
        step, option = 0, NONE
        while step < step_limit and configuration % states < explored.first_final:
            if domain.terminal[s] or 0 < max_operations < operations:
                break
            # 2. Choose the best action, or option and action for it (choose_option, choose_action).
            node = configuration // states
            u = configuration - node * states
            head = options.head[u, explored.stacks.symbol[node]] if hierarchical else 0
            if option == NONE:
                row = find_visited_row(explored, table, s, configuration)
                count = options.counts[u] if hierarchical else actions
                option, random = choose_greedily(
                    table.value, row, 0, count, random, rates.first_tie
                )
            a = option
            if hierarchical:
                a, random = choose_greedily(
                    option_values[s], head, option * actions, actions, random, False
                )
            # 3. Draw its outcome, and take the step if operations are left (play).
            o, random = draw(domain.probability, s, a, random)
            label = domain.label[s, a, o]
            following, machine_reward = read(explored, configuration, label)
            if following < 0:
                return int(following)
            if counting:
                operations += explored.moves[label, configuration]
                if 0 < max_operations < operations:
                    break
            step += 1
            episode_return += domain.reward[s, a, o] + machine_reward
            # 4. End the option (completes_option).
            moved = following != configuration
            if not hierarchical or moved or options.achieved[label, head, option]:
                option = NONE
            s, configuration = domain.next[s, a, o], following
        returns[episode] = episode_return
        lengths[episode] = step
        ends[episode] = configuration % states
    rng[1] = random
    return DONE
