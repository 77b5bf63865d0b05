"""A product in Storm's format (the package `stormpy`), for a comparison on the same numbers.

A discount γ becomes a jump to a sink with probability 1 - γ at every step, and a value is the
largest expected reward until the sink. Storm's bounds need nonnegative rewards. If some are
negative, a constant is added to all, and the end of an episode becomes a state that repeats this
constant, which raises every value by the same amount. Storm has its own licence (GPL) and is not
part of this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time as clock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.errors import MissingPackage
from pdrm.product.finite_kernel import END, FiniteProduct

try:
    import stormpy
except ImportError as error:
    raise MissingPackage(
        "Storm, needed for the comparison, is not installed", fix="pip install stormpy"
    ) from error

stormpy.developer.set_log_level(stormpy.developer.LogLevel.ERR)  # no warnings on standard output

SOUND = ("TOPOLOGICAL", "OPTIMISTIC_VALUE_ITERATION", "SOUND_VALUE_ITERATION", "INTERVAL_ITERATION")
"""Storm's methods that guarantee a precision, its default first."""
CHUNK = 500_000
"""Number of states whose entries are passed to Storm at a time."""

Floats = npt.NDArray[np.float64]


class SolvedByStorm(NamedTuple):
    """Storm's processor seconds, and its values of some states."""

    seconds: float
    values: Floats


@dataclass(frozen=True, slots=True)
class StormProduct:
    """A product as Storm's Markov decision process."""

    model: Any
    offset: float
    """The constant added to its values."""

    def solve(self, method: str, precision: float, states: npt.NDArray[np.int64]) -> SolvedByStorm:
        """Solve it to an absolute precision with one of Storm's methods, and return the values of
        some states."""
        environment = stormpy.environments.sound()
        solver = environment.solver().min_max()
        solver.method = getattr(stormpy.environments.MinMaxMethod, method)
        solver.precision = stormpy.Rational(f"1/{round(1 / precision)}")
        solver.relative_termination_criterion = False
        query = stormpy.parse_property('R{"reward"}max=? [F "sink"]')
        started = clock()
        result = stormpy.model_checking(self.model, query, environment=environment)
        seconds = clock() - started
        values = np.array([result.get_value(state) for state in states.tolist()])
        return SolvedByStorm(seconds, values - self.offset)


def storm_product(product: FiniteProduct, discount: float) -> StormProduct:
    """The product as a Storm model: its states with their numbers, then the end, then the sink."""
    count, actions, _ = product.next.shape
    raise_by = max(0.0, -float(product.reward.min(initial=0.0)))
    builder = stormpy.datastructures.SparseMatrixBuilder[float](
        columns=count + 2, has_custom_row_grouping=True
    )
    expected: list[float] = []
    for first in range(0, count, CHUNK):
        last = min(first + CHUNK, count)
        builder.add_next_values(*_entries(product, discount, first, last))
        probability = product.probability[product.env_state[first:last]]
        reward = (probability * product.reward[first:last]).sum(axis=2)
        expected += (reward + raise_by).ravel().tolist()
    row, end, sink = count * actions, count, count + 1
    builder.add_next_values(
        [row, row, row + 1], [end, sink, sink], [discount, 1 - discount, 1.0], [row, row + 1]
    )
    labels = stormpy.models.StateLabeling(count + 2)
    for label, state in (("init", 0), ("sink", sink)):
        labels.add_label(label)
        labels.add_label_to_state(label, state)
    rewards = stormpy.models.SparseRewardModel[float](
        optional_state_action_reward_vector=[*expected, raise_by, 0.0]
    )
    parts = stormpy.models.SparseModelComponents[float](
        builder.build(), labels, {"reward": rewards}
    )
    return StormProduct(stormpy.models.SparseMdp[float](parts), raise_by / (1 - discount))


def _entries(
    product: FiniteProduct, discount: float, first: int, last: int
) -> tuple[list[Any], ...]:
    """Rows, columns, probabilities and first rows of some states, sorted by row and column, without
    duplicates."""
    count, actions, outcomes = product.next.shape
    following = product.next[first:last].reshape(-1, outcomes).astype(np.int64)
    probability = discount * product.probability[product.env_state[first:last]].reshape(
        -1, outcomes
    )
    rows = np.arange(first * actions, last * actions)
    possible = probability > 0
    entry = rows[:, None] * (count + 2) + np.where(following == END, count, following)
    entries = np.concatenate([entry[possible], rows * (count + 2) + count + 1])
    probabilities = np.concatenate([probability[possible], np.full(len(rows), 1 - discount)])
    order = np.argsort(entries, kind="stable")
    starts = np.flatnonzero(np.diff(entries[order], prepend=-1))
    row, column = np.divmod(entries[order][starts], count + 2)
    merged = np.add.reduceat(probabilities[order], starts)
    return row.tolist(), column.tolist(), merged.tolist(), rows[::actions].tolist()
