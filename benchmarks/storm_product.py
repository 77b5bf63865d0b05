"""A product given to Storm (the package `stormpy`), to be measured next to ours on the same numbers.

A discount γ becomes a jump to a sink with probability 1 - γ at every step; a value is the largest expected reward until the
sink. Storm's bounds need rewards that are not negative: if some are, all are raised by one number, and the end of an
episode is a state that keeps paying it, which raises every value alike. Storm is a peer to compare with, under a licence of
its own (GPL), and not a part of this package.
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
        "Storm, which this is measured against, is not installed", fix="pip install stormpy"
    ) from error

stormpy.developer.set_log_level(stormpy.developer.LogLevel.ERR)  # else it warns on standard output

SOUND = ("TOPOLOGICAL", "OPTIMISTIC_VALUE_ITERATION", "SOUND_VALUE_ITERATION", "INTERVAL_ITERATION")
"""Storm's methods that guarantee a precision, its own choice first."""
AT_ONCE = 500_000
"""States whose entries are handed over at once."""

Floats = npt.NDArray[np.float64]


class SolvedByStorm(NamedTuple):
    """Seconds that Storm took, and its values of some states."""

    seconds: float
    values: Floats


@dataclass(frozen=True, slots=True)
class StormProduct:
    """A product as Storm's Markov decision process."""

    model: Any
    raised: float
    """The number that its values were raised by."""

    def solve(self, method: str, precision: float, states: npt.NDArray[np.int64]) -> SolvedByStorm:
        """Solve it to an absolute precision by one of Storm's methods, and return the values of some states."""
        environment = stormpy.environments.sound()
        solver = environment.solver().min_max()
        solver.method = getattr(stormpy.environments.MinMaxMethod, method)
        solver.precision = stormpy.Rational(f"1/{round(1 / precision)}")
        solver.relative_termination_criterion = False
        wanted = stormpy.parse_property('R{"paid"}max=? [F "sink"]')
        began = clock()
        result = stormpy.model_checking(self.model, wanted, environment=environment)
        seconds = clock() - began
        return SolvedByStorm(
            seconds, np.array([result.get_value(x) for x in states.tolist()]) - self.raised
        )


def storm_product(product: FiniteProduct, discount: float) -> StormProduct:
    """The product with its states' numbers, then the end, then the sink."""
    count, actions, _ = product.next.shape
    raised = max(0.0, -float(product.reward.min(initial=0.0)))
    builder = stormpy.datastructures.SparseMatrixBuilder[float](
        columns=count + 2, has_custom_row_grouping=True
    )
    paid: list[float] = []
    for first in range(0, count, AT_ONCE):
        last = min(first + AT_ONCE, count)
        builder.add_next_values(*_entries(product, discount, first, last))
        chance = product.probability[product.env_state[first:last]]
        paid += ((chance * product.reward[first:last]).sum(axis=2) + raised).ravel().tolist()
    row, end, sink = count * actions, count, count + 1
    builder.add_next_values(
        [row, row, row + 1], [end, sink, sink], [discount, 1 - discount, 1.0], [row, row + 1]
    )
    labels = stormpy.models.StateLabeling(count + 2)
    for label, state in (("init", 0), ("sink", sink)):
        labels.add_label(label)
        labels.add_label_to_state(label, state)
    rewards = stormpy.models.SparseRewardModel[float](
        optional_state_action_reward_vector=[*paid, raised, 0.0]
    )
    parts = stormpy.models.SparseModelComponents[float](builder.build(), labels, {"paid": rewards})
    return StormProduct(stormpy.models.SparseMdp[float](parts), raised / (1 - discount))


def _entries(
    product: FiniteProduct, discount: float, first: int, last: int
) -> tuple[list[Any], ...]:
    """Rows, columns, chances and first rows of some states, by row and column, each place once."""
    count, actions, outcomes = product.next.shape
    following = product.next[first:last].reshape(-1, outcomes).astype(np.int64)
    chance = discount * product.probability[product.env_state[first:last]].reshape(-1, outcomes)
    rows = np.arange(first * actions, last * actions)
    there = chance > 0
    place = rows[:, None] * (count + 2) + np.where(following == END, count, following)
    places = np.concatenate([place[there], rows * (count + 2) + count + 1])
    chances = np.concatenate([chance[there], np.full(len(rows), 1 - discount)])
    order = np.argsort(places, kind="stable")
    begins = np.flatnonzero(np.diff(places[order], prepend=-1))
    at, into = np.divmod(places[order][begins], count + 2)
    merged = np.add.reduceat(chances[order], begins)
    return at.tolist(), into.tolist(), merged.tolist(), rows[::actions].tolist()
