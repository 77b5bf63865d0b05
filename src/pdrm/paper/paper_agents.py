"""Agents of readings of the paper: settings that only a reading needs, and the kernels have."""

from __future__ import annotations

from dataclasses import dataclass

from pdrm.errors import BadSetting, did_you_mean
from pdrm.learning.agents import CountingCQL, CountingQ, CpRM, Hierarchical, QLearning

TIES = ("random", "first")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReadQLearning(QLearning):
    """Q-learning as a reading of the paper has it."""

    ties: str = "random"
    """Tie-breaking among several best actions: a `random` one, or the `first` in the domain's order, unless all are worth 0."""
    limit_ends: bool = False
    """A truncated episode is learnt as one that has ended, with nothing to come."""
    seconds_per_episode: float | None = None
    """Wall-clock seconds after which an episode is truncated, as in the paper. The result then depends on the computer."""
    shaping_scale: float = 1.0
    """The factor of Φ; -1 is the sign of Toro Icarte's code."""
    shaping_shift: float = 0.0
    """Added to Φ then, before the end of an episode."""

    def __post_init__(self) -> None:
        QLearning.__post_init__(self)
        check_ties(self.ties)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReadCpRM(CpRM):
    """CpRM as a reading of the paper has it."""

    ties: str = "random"
    """As for `ReadQLearning`."""
    limit_ends: bool = False
    """As for `ReadQLearning`."""
    seconds_per_episode: float | None = None
    """As for `ReadQLearning`."""
    shaping_scale: float = 1.0
    """As for `ReadQLearning`."""
    shaping_shift: float = 0.0
    """As for `ReadQLearning`."""

    def __post_init__(self) -> None:
        CpRM.__post_init__(self)
        check_ties(self.ties)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReadCountingQ(CountingQ):
    """Q-learning over counters as a reading of the paper has it."""

    ties: str = "random"
    """As for `ReadQLearning`."""
    limit_ends: bool = False
    """As for `ReadQLearning`."""
    seconds_per_episode: float | None = None
    """As for `ReadQLearning`."""

    def __post_init__(self) -> None:
        CountingQ.__post_init__(self)
        check_ties(self.ties)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReadCountingCQL(CountingCQL):
    """CQL as a reading of the paper has it."""

    ties: str = "random"
    """As for `ReadQLearning`."""
    limit_ends: bool = False
    """As for `ReadQLearning`."""
    seconds_per_episode: float | None = None
    """As for `ReadQLearning`."""
    counter_values: int | None = None
    """Counterfactuals use every value of each counter below this from the first step on (default: those observed)."""

    def __post_init__(self) -> None:
        CountingCQL.__post_init__(self)
        check_ties(self.ties)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReadHierarchical(Hierarchical):
    """The hierarchical agent as a reading of the paper has it."""

    option_pay: float = 1.0
    """The factor of what machine and environment pay an option; 0 if r⁺ is all."""


def check_ties(ties: str) -> None:
    """Raise unless ties can be broken so."""
    if ties not in TIES:
        raise BadSetting(f"ties is {ties!r}", fix=did_you_mean(ties, TIES))


READ = {
    "q": ReadQLearning(),
    "cprm": ReadCpRM(),
    "cra-q": ReadCountingQ(),
    "cra-cql": ReadCountingCQL(),
    "hrm": ReadHierarchical(),
}
"""By the names of the agents that they are readings of."""
