"""When an agent counts as having learnt a task: the return it has to reach, and the training episodes it took to."""

from __future__ import annotations

from collections.abc import Sequence

from pdrm.experiments.curves import Curves
from pdrm.experiments.statistics import episodes_to

SHARE = 0.9
"""Of the way from the lowest return there is to the best final median."""


def learnt_at(lines: Sequence[Curves]) -> float:
    """The return at which the task of a panel counts as learnt, by the agents that set the measure."""
    lowest = lines[0].lowest
    return lowest + SHARE * (max(curves.final_median for curves in lines) - lowest)


def episodes_to_learn(curves: Curves, threshold: float) -> int | None:
    """The training episodes until an agent's median return is at the threshold; None: it never is."""
    return episodes_to(curves.episode, curves.quartiles(curves.returns).median, threshold)
