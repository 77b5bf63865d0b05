"""The tables of the tabular learners, their settings as numbers, and the state of a run, as the kernels have them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import UndefinedMove
from pdrm.files import Arrays
from pdrm.learning.agents import Counterfactuals, Tabular
from pdrm.learning.tabular.hierarchical import is_achieved, options_in_play, shortest_with
from pdrm.learning.tabular.q_learning import AnyMemory, class_depth
from pdrm.machines.guards import Label
from pdrm.machines.heads import Head
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import lengthen
from pdrm.machines.tables import Integers, Rewards
from pdrm.product.explore_kernel import UNKNOWN, Explored, Potentials
from pdrm.product.hash_kernel import FIRST_ROOM, FREE, Index, Keys, free_slots, place_rows
from pdrm.product.observation import View

Flags = npt.NDArray[np.bool_]

NONE = -1
"""No episode is under way; no option is running."""

# How a kernel ends: one of these, or a negative number of `explore`.
DONE = 0
FULL = 1
"""A table has no room: grow it (to `rows` rows, and the views that there are) and call again."""
PAUSE = 2
"""At least `pause` updates were made in the episode: look at the clock and call again."""

PROGRESS = np.dtype(
    [
        ("episode", np.int64),  # that is under way, or begins next
        ("all_steps", np.int64),  # of finished episodes
        ("all_updates", np.int64),
        ("epsilon", np.float64),
        ("last_return", np.float64),  # of the last finished episode
        # Of the episode under way:
        ("here", np.int64),  # the configuration, or NONE
        ("state", np.int64),  # the environment's
        ("row", np.int64),  # of both in the table, or FREE
        ("step", np.int64),
        ("updates", np.int64),
        ("operations", np.int64),
        ("gained", np.float64),
        ("pause", np.int64),  # updates after which the clock is looked at; 0: never
        ("late", np.int64),  # 1: the time of the episode is over
        ("rows", np.int64),  # that are asked for with FULL
        # Of the hierarchical agent:
        ("option", np.int64),  # that is running, or NONE
        ("collected", np.float64),  # what it was paid, discounted
        ("weight", np.float64),  # of its next reward
    ]
)
"""The state of a run, a record that kernels change."""
Progress = npt.NDArray[np.void]
"""[1]: a record of PROGRESS."""


def begin_progress(epsilon: float) -> Progress:
    """The state of a run before its first episode."""
    progress = np.zeros(1, PROGRESS).view(np.recarray)  # kernels read fields as attributes
    progress["epsilon"], progress["here"], progress["option"] = epsilon, NONE, NONE
    return progress


ANY_VIEW = 2**40
"""More views than there will ever be."""
MOST_CELLS = 2**26
"""Cells of the plain array by which rows are found; if there were more, they are found by hash."""
FIRST_ENTRIES = 64
"""Observed stacks that there is room for at first."""


class QTable(NamedTuple):
    """q as a table: one row for each (s, u, view) that was met, one column for each choice.

    >>> table = QTable.of(np.array([5, 1]), np.zeros((2, 4)), states=3, views=2)
    >>> table.slot.tolist(), table.grow(rows=9, views=4).slot.shape
    ([[-1, -1], [1, -1], [-1, 0]], (3, 4))
    """

    slot: Integers
    """[environment state, view]: the row, or FREE; or [slot]: the row whose key hashes there."""
    key: Keys
    """[row]: (number of the view) * environment states + environment state."""
    used: Keys
    """[1]: how many rows there are."""
    value: Rewards
    """[row, choice]"""
    states: int
    """The number of environment states."""

    @classmethod
    def of(
        cls, keys: Keys, value: Rewards, states: int, rows: int = FIRST_ROOM, views: int = 1
    ) -> QTable:
        """These rows, and room for `rows` in all. A table that is hashed has room for any view."""
        if states * views <= MOST_CELLS:
            slot = np.full((states, views), FREE, np.int32)
            slot[keys % states, keys // states] = np.arange(len(keys))
        else:
            slot = free_slots(rows)
            place_rows(slot, keys, len(keys))
        return cls(slot, lengthen(keys, rows), np.array([len(keys)]), lengthen(value, rows), states)

    def grow(self, rows: int, views: int) -> QTable:
        """The same rows with room for this many rows and views, or twice as many as before if that is more."""
        used, room = int(self.used[0]), len(self.key)
        seen = ANY_VIEW if self.slot.ndim == 1 else self.slot.shape[1]
        rows = room if rows <= room else max(rows, 2 * room)
        views = seen if views <= seen else max(views, 2 * seen)
        return QTable.of(self.key[:used], self.value[:used], self.states, rows, views)


class Observed(NamedTuple):
    """The stacks observed so far, one of each class, and what labels do to them.

    A class of stacks is an entry; an entry with each machine state is a counterfactual."""

    index: Index  # type: ignore[assignment] # a tuple has a method of that name
    """Classes of stacks to entries."""
    first: Integers
    """[entry]: the configuration of its stack and machine state 0."""
    reached: Integers
    """[label, machine state, entry]: the configuration that the label leads to; UNDEFINED_LABEL or UNKNOWN."""
    paid: Rewards
    """[label, machine state, entry]: what the machine pays for it."""
    ready: npt.NDArray[np.int64]
    """[label]: the first entries that are known by the label and all machine states."""
    turn: npt.NDArray[np.int64]
    """[2]: the machine state and the entry with which a budget of updates continues."""

    @classmethod
    def of(cls, keys: Keys, first: Integers, labels: int, states: int) -> Observed:
        """These entries, of which nothing else is known, for these numbers of labels and machine states."""
        index = Index.of(keys, max(2 * len(keys), FIRST_ENTRIES))
        entries = len(index.key)
        reached = np.full((labels, states, entries), UNKNOWN, np.int32)
        paid, ready = np.zeros(reached.shape), np.zeros(labels, np.int64)
        return cls(index, lengthen(first, entries), reached, paid, ready, np.zeros(2, np.int64))

    def grow(self) -> Observed:
        """The same entries, with more room if there is none."""
        entries = int(self.index.used[0])
        if entries < len(self.first):
            return self
        labels, states, _ = self.reached.shape
        return Observed.of(self.index.key, self.first, labels, states)._replace(turn=self.turn)


class QTables(NamedTuple):
    """The tables of Q-learning and CpRM."""

    explored: Explored
    table: QTable
    observed: Observed
    potentials: Potentials


class OptionTables(NamedTuple):
    """The tables of the hierarchical method."""

    explored: Explored
    table: QTable
    """The meta-policy's."""
    options: Options
    met: Flags
    """[environment state]: True if the options know anything of it."""
    within: Rewards
    """[environment state, head, option * actions + action]: the options' values."""


def list_arrays(tables: Any, prefix: str = "") -> Arrays:
    """The arrays in a tuple and in the tuples that it holds, by their paths."""
    found: Arrays = {}
    for name, part in tables._asdict().items():
        if isinstance(part, tuple):
            found |= list_arrays(part, f"{prefix}{name}.")
        elif isinstance(part, np.ndarray):
            found[prefix + name] = part
    return found


def put_arrays(tables: Any, arrays: Arrays, prefix: str = "") -> Any:
    """The tuple with copies of the arrays that `list_arrays` found."""
    parts = {}
    for name, part in tables._asdict().items():
        if isinstance(part, tuple):
            parts[name] = put_arrays(part, arrays, f"{prefix}{name}.")
        elif isinstance(part, np.ndarray):
            parts[name] = arrays[prefix + name].copy()
    return tables._replace(**parts)


# --- Settings as numbers


class Rates(NamedTuple):
    """The settings of a tabular agent as numbers, and of the hierarchical one."""

    alpha: float
    gamma: float
    decay: float
    least: float
    limit: int
    imagines: bool
    depth: int  # symbols by which stacks are classed, or -1: every stack is its own class
    budget: int  # counterfactual updates per step, or 0: all
    episode_budget: int  # updates per episode, or 0: no limit
    operations: int  # moves of a counting automaton per episode, or 0: no limit
    first_tie: bool  # of several best actions the first is taken, unless all are worth 0
    limit_ends: bool  # a truncated episode is learnt as one that has ended
    option_pay: float  # the factor of what machine and environment pay an option
    r_plus: float
    r_minus: float


def find_rates(settings: Tabular, domain: FiniteDomain, machine: AnyMemory, view: View) -> Rates:
    """The settings as numbers."""
    extras = settings.extras
    return Rates(
        float(settings.learning_rate),
        float(settings.discount),
        float(settings.epsilon_decay),
        float(settings.epsilon_least),
        settings.step_limit or domain.step_limit,
        extras.counterfactuals is not Counterfactuals.NONE,
        class_depth(machine, view, extras.counterfactuals),
        extras.updates_per_step or 0,
        extras.updates_per_episode or 0,
        extras.operations_per_episode or 0,
        extras.ties == "first",
        extras.limit_ends,
        float(extras.option_pay),
        float(extras.r_plus),
        float(extras.r_minus),
    )


# --- Options


STAYS, MOVES, NOT_DEFINED = 0, 1, -1
"""The machine's response to a label (`Options.moved`)."""


class Options(NamedTuple):
    """The options of each machine state, the heads at which they learn, and what each label does there.

    >>> from pdrm.language.loading import catalogue
    >>> heads = [Head("u0", "#"), Head("u1", "#"), Head("u1", "A")]
    >>> options = tabulate_options(catalogue("letter"), [frozenset("B"), frozenset("C")], heads)
    >>> options.counts.tolist(), options.ruled.tolist(), options.achieved[1, 1, 1].tolist()
    ([2, 2, 0], [True, True, False], [False, True])
    >>> options.moved[1, 1].tolist(), options.paid[1, 1].tolist()
    ([-1, 1, 1], [0.0, 1.0, -0.01])
    """

    counts: Integers
    """[state]: how many options leave it; 0 for final states."""
    ruled: Flags
    """[state]: True if they have rules; False if one option without a rule stands in."""
    achieved: Flags
    """[state, label, top, option]: True if the label completes the option; tops as in `Table`, 0 for the empty stack."""
    head_state: Integers
    """[head]: its machine state."""
    head_top: Integers
    """[head]: its top symbol."""
    head: Integers
    """[state, top]: the number of a head, or -1."""
    moved: Integers
    """[state, label, top]: STAYS or MOVES, from the shortest stack with that top; NOT_DEFINED, too, if the head is missing."""
    paid: Rewards
    """[state, label, top]: what the machine pays for it."""


def tabulate_options(
    machine: PushdownRewardMachine, labels: Sequence[Label], heads: Sequence[Head]
) -> Options:
    """The options of a machine for these labels and heads; states, labels and symbols are numbered as by `tabulate`."""
    leaving = list(options_in_play(machine, heads).values())
    states, tops = len(machine.states) + len(machine.final), (None, *machine.stack)
    counts, ruled = np.zeros(states, np.int32), np.zeros(states, np.bool_)
    counts[: len(leaving)] = [len(options) for options in leaving]
    ruled[: len(leaving)] = [options[0] is not None for options in leaving]
    achieved = np.zeros((states, len(labels), len(tops), int(counts.max())), np.bool_)
    number = np.full((states, len(tops)), -1, np.int32)
    moved = np.full(achieved.shape[:3], NOT_DEFINED, np.int32)
    paid = np.zeros(moved.shape)
    head_state = [machine.states.index(head.state) for head in heads]
    head_top = [tops.index(head.top) for head in heads]
    for place, (head, state, top) in enumerate(zip(heads, head_state, head_top, strict=True)):
        before = shortest_with(machine, head)
        number[state, top] = place
        for column, label in enumerate(labels):
            for choice, option in enumerate(leaving[state]):
                achieved[state, column, top, choice] = is_achieved(machine, option, label, head.top)
            with suppress(UndefinedMove):
                step = machine.step(before, label)
                moved[state, column, top] = MOVES if step.after != before else STAYS
                paid[state, column, top] = step.reward
    at_states, at_tops = np.array(head_state, np.int32), np.array(head_top, np.int32)
    return Options(counts, ruled, achieved, at_states, at_tops, number, moved, paid)
