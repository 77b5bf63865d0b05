"""A tabular run as the loop in `run` sees it: it advances, is tested, and goes on from a snapshot as if it had never stopped.

A snapshot is taken between two episodes. It has only what cannot be found again: stacks and rows by their numbers, not where each
label leads. Kernels index without looking, so nothing reaches them before `restore` has checked it: names, types and shapes
against those of a new run, every number against its range, and every array against the others that it must agree with.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.errors import CannotTranslate, DoesNotApply
from pdrm.files import Arrays, Fingerprint, distinct, need, within
from pdrm.learning.agents import CountingQ, Hierarchical, QLearning
from pdrm.learning.curve import Test
from pdrm.learning.settings import BuiltInAgent
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular.policy import policy_of
from pdrm.learning.tabular.rows_kernel import Observed, Values
from pdrm.learning.tabular.training import HierarchicalTraining, QTraining
from pdrm.machines.stacks import Stacks
from pdrm.machines.tables import LARGEST_VALUE
from pdrm.product.exploration import FULL_VIEW, Configurations, Explored
from pdrm.product.explore_kernel import UNDEFINED_LABEL
from pdrm.product.hash_kernel import FREE, Index
from pdrm.product.views import View
from pdrm.task import Task

AnyTraining = QTraining | HierarchicalTraining
Numbers = npt.NDArray[np.int64]
TABLES = ("values", "policies")
ENTRIES, LISTS = ("node", "following"), ("first", "last", "length", "turn")
NODES = ("symbol", "parent", "height")
STEPS = ("state", "node", "seen", "after", "paid", "moves")
"""What is known of configurations; kept for counting automata only, whose steps may take long."""


class TabularLearner:
    """One run of a tabular agent."""

    def __init__(self, task: Task, agent: BuiltInAgent, seed: int) -> None:
        self.training = begin_training(task, agent, seed)
        self.total = self.training.settings.total
        self.between_tests = self.training.settings.test_every
        self.ends = (*self.training.machine.states, *self.training.machine.final)

    @property
    def done(self) -> int:
        """Training episodes so far."""
        return self.training.episodes

    def advance(self, episodes: int) -> None:
        """Train for so many episodes more."""
        self.training.advance(min(episodes, self.total - self.done))

    def test(self) -> list[Test]:
        """Greedy episodes in each of the domains that test this one, as one test."""
        parts = [self.training.test(where) for where in self.training.domain.tested_on]
        returns = np.concatenate([part.returns for part in parts])
        steps = np.concatenate([part.steps for part in parts])
        return [Test(returns, steps, np.concatenate([part.ends for part in parts]))]

    def snapshot(self, _run: int) -> Arrays:
        """Where the run stands, between two episodes."""
        return take_snapshot(self.training)

    def restore(self, snapshots: Iterable[Arrays]) -> None:
        """Put the run where its snapshot left it; `ValueError` where that is damaged."""
        (arrays,) = snapshots
        restore(self.training, arrays)

    def save_policy(
        self, _run: int, path: Path, about: dict[str, Any], largest: int | None = None
    ) -> Fingerprint:
        """Write what was learnt so far; its table only if it takes no more than so many bytes."""
        return policy_of(self.training, about, copy=False).save(path, largest)

    def facts(self, _run: int) -> dict[str, float]:
        """Where the run stands, in numbers."""
        return {
            "epsilon": float(self.training.progress.floats[at.EPSILON]),
            "steps": float(self.training.progress.ints[at.ALL_STEPS]),
            "rows": float(self.training.values.index.used[0]),
        }


def begin_training(task: Task, agent: BuiltInAgent, seed: int) -> AnyTraining:
    """A run of a tabular agent, before its first episode."""
    if task.continuous:
        raise DoesNotApply(
            f"agent `{agent.name}` learns a table, and {task.name} is continuous",
            fix='train a network: agent="ppo" (--agent ppo)',
        )
    agent = agent.settled(task)
    view: View | None = agent.view
    assert view is not None
    if isinstance(agent, Hierarchical):
        return HierarchicalTraining(task.finite, task.pushdown, view, agent, seed)
    if isinstance(agent, QLearning):
        machine = task.counting if isinstance(agent, CountingQ) else task.pushdown
        return QTraining(task.finite, machine, view, agent, seed)
    raise CannotTranslate(
        f"agent `{agent.name}` is not tabular", fix="use q, cprm, hrm, cra-q or cra-cql"
    )


# --- Snapshots


def take_snapshot(training: AnyTraining) -> Arrays:
    """Where the run stands, between two episodes."""
    progress, arrays = training.progress, _explored(training.explored)
    arrays = {
        "ints": progress.ints,
        "floats": progress.floats,
        "rng_state": training.rng_state,
        **arrays,
    }
    for name in TABLES:
        if hasattr(training, name):
            values: Values = getattr(training, name)
            used = int(values.index.used[0])
            arrays |= {f"{name}.key": values.index.key[:used], f"{name}.value": values.value[:used]}
    if isinstance(training, QTraining):
        observed, used = training.observed, int(training.observed.index.used[0])
        arrays["observed.key"] = observed.index.key[:used]
        arrays |= {f"observed.{name}": getattr(observed, name)[:used] for name in ENTRIES}
        arrays |= {f"observed.{name}": getattr(observed, name) for name in LISTS}
    return arrays


def restore(training: AnyTraining, arrays: Arrays) -> None:
    """Put a new run where its snapshot left it; `ValueError` says what is wrong with that, and then nothing has changed."""
    check_kinds(arrays, take_snapshot(training))
    _check_progress(training, arrays)
    _check_stacks(training, arrays)
    if len(training.explored.configurations.moves):
        _check_configurations(training, arrays)
    for name in TABLES:
        if hasattr(training, name):
            _check_rows(training, arrays, name)
    if isinstance(training, QTraining):
        _check_observed(training, arrays)
    parts: dict[str, Any] = {"explored": _explored_again(arrays, training.explored)}
    parts |= {name: _values_again(arrays, name) for name in TABLES if hasattr(training, name)}
    if isinstance(training, QTraining):
        parts["observed"], parts["outlook"] = _observed_again(arrays), training.new_outlook()
    training.progress.ints[:], training.progress.floats[:] = arrays["ints"], arrays["floats"]
    training.rng_state[:] = arrays["rng_state"]
    if isinstance(training, QTraining):
        training.potentials.filled[:] = np.minimum(
            training.potentials.filled, 1
        )  # the values of other stacks follow
    for part, value in parts.items():
        setattr(training, part, value)


# --- What must be true of the arrays


FIXED = ("ints", "floats", "rng_state", *(f"observed.{name}" for name in LISTS))
"""The arrays whose length a new run has already; the others grow."""


def check_kinds(arrays: Arrays, new: Arrays) -> None:
    """The arrays of a snapshot have the names, types and shapes of a new run's; those that grow may be longer."""
    for name, like in new.items():
        found = arrays.get(name)
        need((found is not None, f"it has no array `{name}`"))
        assert found is not None
        need(
            (
                found.dtype == like.dtype,
                f"its array `{name}` holds {found.dtype} numbers, not {like.dtype}",
            ),
            (found.ndim == like.ndim, f"its array `{name}` has {found.ndim} axes, not {like.ndim}"),
            (
                found.shape[1:] == like.shape[1:]
                and (name not in FIXED or len(found) == len(like)),
                f"its array `{name}` has the shape {found.shape}, which does not fit {like.shape}",
            ),
        )


def _check_progress(training: AnyTraining, arrays: Arrays) -> None:
    """The run stands between two of its episodes."""
    ints, floats, settings = arrays["ints"], arrays["floats"], training.settings
    low, high = sorted((float(settings.epsilon), float(settings.epsilon_least)))
    timed = settings.seconds_per_episode is not None
    need(
        (
            within(ints[[at.EPISODE]], 0, settings.episodes),
            f"its episode is not one of {settings.episodes:,}",
        ),
        (ints[at.PHASE] == at.BEGIN, "it was not taken between two episodes"),
        (
            timed or (ints[at.LATE] == 0 and ints[at.LOOK] == 0),
            "it has a clock, and its episodes have none",
        ),
        (
            within(ints[[at.ALL_STEPS, at.ALL_UPDATES, at.ALL_OPERATIONS]], 0, at.NEVER),
            "it counts below 0",
        ),
        (
            within(floats[[at.EPSILON]], low, high),
            "its exploration rate is out of the range of the settings",
        ),
        (not np.isnan(floats).any(), "`floats` holds what is not a number"),
    )


def _check_stacks(training: AnyTraining, arrays: Arrays) -> None:
    """The stacks are a tree: each is one symbol on top of one that came before, and none comes twice."""
    symbol, parent, height = (arrays[name].astype(np.int64) for name in NODES)
    made, symbols = len(symbol), training.explored.stacks.child.shape[1] - 1
    need((made == len(parent) == len(height) and made > 0, "its stacks do not fit together"))
    if len(training.explored.configurations.moves):
        need(
            (
                not (symbol.any() or parent.any() or height.any()),
                "it has stacks, and the machine counts",
            )
        )
        return
    need((symbol[0] == parent[0] == height[0] == 0, "its first stack is not the empty one"))
    need(
        (within(symbol[1:], 1, symbols), "a stack has a symbol that the machine does not have"),
        (
            bool(np.all((parent[1:] >= 0) & (parent[1:] < np.arange(1, made)))),
            "a stack stands on one that comes later",
        ),
    )
    need(
        (
            bool(np.all(height[1:] == height[parent[1:]] + 1)),
            "the height of a stack is not its own",
        ),
        (distinct(parent[1:] * (symbols + 1) + symbol[1:]), "a stack comes twice"),
    )


def _check_configurations(training: AnyTraining, arrays: Arrays) -> None:
    """The counter vectors are different ones, and what is known of a configuration leads to another that is known."""
    made, states = len(arrays["symbol"]), len(training.explored.table.silent)
    state, node, after, moves = (arrays[name] for name in ("state", "node", "after", "moves"))
    known, begun = len(state), training.explored.configurations.counters[0]
    counters = arrays["counters"]
    need(
        (len(counters) == made, "its counters do not fit together"),
        (
            all(len(arrays[name]) == known for name in STEPS),
            "its configurations do not fit together",
        ),
    )
    need(
        (within(counters, 0, LARGEST_VALUE), "a counter is out of its range"),
        (bool(np.all(counters[0] == begun)), "the counters do not begin as the machine's do"),
        (distinct(counters), "a vector of counters comes twice"),
        (
            within(state, 0, states - 1) and within(node, 0, made - 1),
            "a configuration does not exist",
        ),
    )
    pairs = node.astype(np.int64) * states + state
    need(
        (distinct(pairs), "a configuration comes twice"),
        (bool(np.all(arrays["seen"] == pairs)), "a configuration is not what is seen of it"),
        (
            within(after, UNDEFINED_LABEL, known - 1),
            "a label leads to a configuration that does not exist",
        ),
        (
            bool(np.all((after >= 0) == (moves > 0))) and within(moves, 0, at.NEVER),
            "moves lead nowhere",
        ),
        (not np.isnan(arrays["paid"]).any(), "`paid` holds what is not a number"),
    )


def _check_rows(training: AnyTraining, arrays: Arrays, name: str) -> None:
    """The rows of a table stand for different things that can be seen."""
    key, value = arrays[f"{name}.key"], arrays[f"{name}.value"]
    explored = training.explored
    states, machine_states, base = (
        training.domain.states, len(explored.table.silent), explored.stacks.child.shape[1],
    )  # fmt: skip
    k = 1 if name == "policies" else explored.k
    codes = len(arrays["symbol"]) if k == FULL_VIEW else base**k
    need(
        (len(key) == len(value), f"the keys and rows of `{name}` do not fit together"),
        (
            within(key, 0, codes * machine_states * states - 1),
            f"a row of `{name}` stands for nothing that can be seen",
        ),
        (distinct(key), f"two rows of `{name}` stand for the same"),
        (
            _are_tops(key // (machine_states * states), base, k),
            f"a row of `{name}` stands for a stack with gaps",
        ),
        (not np.isnan(value).any(), f"`{name}` holds what is not a number"),
    )
    if name == "policies" and isinstance(training, HierarchicalTraining):
        _check_blocks(training, key)


def _check_blocks(training: HierarchicalTraining, key: Numbers) -> None:
    """The options' rows of an environment state stand together, one for each head, in the heads' order."""
    states, machine_states, options = (
        training.domain.states,
        len(training.explored.table.silent),
        training.options,
    )
    heads = options.head_top.astype(np.int64) * machine_states + options.head_state
    whole = len(key) % max(1, len(heads)) == 0
    need((whole, "an environment state has not all of its rows in `policies`"))
    blocks = key.reshape(-1, max(1, len(heads)))
    right = blocks[:, :1] % states + heads * states if len(heads) else blocks
    need((bool(np.all(blocks == right)), "the rows of `policies` are not those of the options"))


def _are_tops(code: Numbers, base: int, k: int) -> bool:
    """Whether codes of the top k symbols are those of stacks: below a place without a symbol there is none."""
    powers = [base**place for place in range(1, k)]
    return all(bool(np.all((code // power % base != 0) | (code % power == 0))) for power in powers)


def _check_observed(training: QTraining, arrays: Arrays) -> None:
    """The observed stacks: an entry's key says its stack's class and its list, and the lists follow from the keys alone."""
    rates, explored = training.rates, training.explored
    key, node = arrays["observed.key"], arrays["observed.node"].astype(np.int64)
    lists, entries, made = len(arrays["observed.first"]), len(key), len(arrays["symbol"])
    following, first, last, length, turn = (
        arrays[f"observed.{name}"] for name in (*ENTRIES[1:], *LISTS)
    )
    need(
        (len(node) == len(following) == entries, "its observed stacks do not fit together"),
        (
            rates.mode != at.PLAIN or entries == 0,
            "it has observed stacks, and the agent imagines nothing",
        ),
        (within(node, 0, made - 1), "it observed a stack that does not exist"),
        (distinct(key), "an observed stack comes twice"),
    )
    code, below = (node, node) if rates.depth < 0 else (np.zeros(entries, np.int64), node)
    for _ in range(max(0, rates.depth)):
        code = code * explored.stacks.child.shape[1] + arrays["symbol"][below]
        below = arrays["parent"][below].astype(np.int64)
    place = key % lists
    need((bool(np.all(key == code * lists + place)), "an observed stack is not what its key says"))
    order = np.argsort(
        place, kind="stable"
    )  # the entries list by list, each in the order in which they came
    inner = order[:-1][place[order[:-1]] == place[order[1:]]]
    after = np.full(entries, FREE, np.int64)
    after[inner] = order[1:][place[order[:-1]] == place[order[1:]]]
    count = np.bincount(place, minlength=lists)
    ends = np.cumsum(count)
    some = count > 0
    begins, stops = np.full(lists, FREE, np.int64), np.full(lists, FREE, np.int64)
    begins[some], stops[some] = order[ends[some] - count[some]], order[ends[some] - 1]
    fit = (
        bool(np.all(found == right))
        for found, right in ((following, after), (first, begins), (last, stops), (length, count))
    )
    turns = turn[:, 1] >= 0
    need(
        (all(fit), "the lists of observed stacks are not lists of them"),
        (
            within(turn[:, 0], 0, max(0, explored.table.first_final - 1)),
            "the next turn is a machine state's that does not exist",
        ),
        (
            within(turn[:, 1], FREE, entries - 1),
            "the next turn is an observed stack's that does not exist",
        ),
    )
    need(
        (
            bool(np.all(place[turn[turns, 1]] == np.flatnonzero(turns))),
            "the next turn is another list's",
        )
    )


# --- Into arrays and back


def _explored(explored: Explored) -> Arrays:
    stacks, found, made = explored.stacks, explored.configurations, int(explored.stacks.made[0])
    kept: Arrays = {name: getattr(stacks, name)[:made] for name in NODES}
    if len(found.moves):
        kept |= {name: getattr(found, name)[: int(found.made[0])] for name in STEPS}
        kept["counters"] = found.counters[:made]
    return kept


def _explored_again(arrays: Arrays, new: Explored) -> Explored:
    """The stacks as they were, with room for as many more; configurations are numbered anew as they are met."""
    made, labels, states = len(arrays["symbol"]), new.table.move.shape[1], len(new.table.silent)
    stacks = Stacks.empty(new.stacks.child.shape[1] - 1, max(2 * made, new.stacks.capacity))
    for name in NODES:
        getattr(stacks, name)[:made] = arrays[name]
    stacks.child[arrays["parent"][1:], arrays["symbol"][1:]] = np.arange(1, made, dtype=np.int32)
    stacks.made[0] = made
    counters = new.configurations.counters.shape[1]
    count = len(arrays["state"]) if counters else 0
    found = Configurations.room(
        labels, states, stacks.capacity, max(2 * count, len(new.configurations.state)), counters
    )
    if counters:
        found.counters[:made] = arrays["counters"]
        for name in STEPS:
            getattr(found, name)[:count] = arrays[name]
        found.number[arrays["node"], arrays["state"]] = np.arange(1, count + 1, dtype=np.int32)
        found.made[0] = count
    return new._replace(stacks=stacks, configurations=found)


def _values_again(arrays: Arrays, name: str) -> Values:
    index, rows = Index.of(arrays[f"{name}.key"]), arrays[f"{name}.value"]
    values = np.zeros((len(index.key), rows.shape[1]))
    values[: len(rows)] = rows
    return Values(index, values)


def _observed_again(arrays: Arrays) -> Observed:
    index = Index.of(arrays["observed.key"])
    used, room = len(arrays["observed.key"]), Observed.room(1, len(index.key))
    for name in ENTRIES:
        getattr(room, name)[:used] = arrays[f"observed.{name}"]
    return Observed(
        index, room.node, room.following, *(arrays[f"observed.{name}"] for name in LISTS)
    )
