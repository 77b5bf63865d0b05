"""Settings of the tabular agents, with the paper's names in their docstrings. Wrong values are refused when they are set."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pdrm.errors import BadSetting, did_you_mean
from pdrm.learning.tabular.schedule import Schedule, whole_from_one


class Counterfactuals(StrEnum):
    """Which experiences CpRM imagines beside the real one (Section 6): every machine state with certain observed stacks."""

    NONE = "none"
    """None: plain Q-learning."""
    EXHAUSTIVE = "exhaustive"
    """Every stack observed so far, as Algorithms 1 and 2 are printed."""
    DEDUPLICATED = "deduplicated"
    """One observed stack for each class that a k-policy can tell apart, so their number stops growing."""
    CO_OBSERVED = "co-observed"
    """The stacks that were observed together with the present environment state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QLearning(Schedule):
    """Q-learning, with or without counterfactual experiences.

    >>> QLearning(episodes=10, learning_rate=0.1).epsilon
    1.0
    """

    counterfactuals: Counterfactuals = Counterfactuals.NONE
    """The choice of counterfactual experiences."""
    updates_per_step: int | None = None
    """At most so many counterfactual updates a step, taken in turn; None: all of them."""
    updates_per_episode: int | None = None
    """An episode is truncated after so many updates (in place of the paper's wall-clock limit); None: never."""
    operations_per_episode: int | None = None
    """An episode is truncated before a step, real or imagined, with which a counting automaton would have made more moves
    than this in it (in place of the paper's wall-clock limit, too); None: never."""

    def __post_init__(self) -> None:
        Schedule.__post_init__(self)
        whole_from_one(self, "updates_per_step", "updates_per_episode", "operations_per_episode")
        known = [choice.value for choice in Counterfactuals]
        if self.counterfactuals not in known:
            fault = f"counterfactuals is {self.counterfactuals!r}"
            raise BadSetting(fault, fix=did_you_mean(str(self.counterfactuals), known))
        object.__setattr__(self, "counterfactuals", Counterfactuals(self.counterfactuals))
