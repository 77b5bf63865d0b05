"""Settings of the tabular agents, with the paper's names in their docstrings. Wrong values are refused when they are set."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pdrm.errors import BadSetting, did_you_mean


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
class QLearning:
    """Q-learning, with or without counterfactual experiences.

    >>> QLearning(episodes=10, learning_rate=0.1).epsilon
    1.0
    """

    episodes: int = 10_000
    """Training episodes."""
    learning_rate: float = 0.5
    """α"""
    discount: float = 0.99
    """γ"""
    epsilon: float = 1.0
    """ε at first: the share of random actions."""
    epsilon_decay: float = 0.995
    """ε is multiplied by this after every episode ..."""
    epsilon_least: float = 0.01
    """... down to this."""
    step_limit: int | None = None
    """Steps an episode may take before it is truncated; None: the domain's own."""
    test_every: int = 100
    """Training episodes between two tests."""
    test_episodes: int = 10
    """Greedy episodes a test."""
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
        for name in ("learning_rate", "discount", "epsilon", "epsilon_decay", "epsilon_least"):
            _in_range(name, getattr(self, name), 0, 1)
        for name in (
            "episodes",
            "step_limit",
            "test_every",
            "test_episodes",
            "updates_per_step",
            "updates_per_episode",
            "operations_per_episode",
        ):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise BadSetting(f"{name} is {value!r}, but must be a whole number from 1 on", fix=f"set {name}=100")
        known = [choice.value for choice in Counterfactuals]
        if self.counterfactuals not in known:
            fault = f"counterfactuals is {self.counterfactuals!r}"
            raise BadSetting(fault, fix=did_you_mean(str(self.counterfactuals), known))
        object.__setattr__(self, "counterfactuals", Counterfactuals(self.counterfactuals))


def _in_range(name: str, value: float, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise BadSetting(f"{name} is {value!r}, but must be a number from {least} to {most}", fix=f"set {name}=0.5")
