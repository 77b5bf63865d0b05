"""Agents of readings of the paper: settings that only a reading needs, and the kernels have."""

from __future__ import annotations

from dataclasses import dataclass

from pdrm.learning.agents import CountingCQL, CountingQ, CpRM, Hierarchical, QLearning, Tabular


@dataclass(frozen=True, kw_only=True, repr=False)
class PaperTabular(Tabular):
    """Settings of every agent that learns by steps, as a reading of the paper has it."""

    ties: str = "random"
    """Tie-breaking among several best actions: a `random` one, or the `first` in the domain's order, unless all are worth 0."""
    limit_ends: bool = False
    """A truncated episode is learnt as one that has ended, with nothing to come."""
    seconds_per_episode: float | None = None
    """Wall-clock seconds after which an episode is truncated, as in the paper. The result then depends on the computer."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PaperQLearning(QLearning, PaperTabular):
    """Q-learning as a reading of the paper has it."""

    shaping_scale: float = 1.0
    """The factor of Φ; -1 is the sign of Toro Icarte's code."""
    shaping_shift: float = 0.0
    """Added to Φ then, before the end of an episode."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PaperCpRM(CpRM, PaperTabular):
    """CpRM as a reading of the paper has it."""

    shaping_scale: float = 1.0
    """As for `PaperQLearning`."""
    shaping_shift: float = 0.0
    """As for `PaperQLearning`."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PaperCountingQ(CountingQ, PaperTabular):
    """Q-learning over counters as a reading of the paper has it."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PaperCountingCQL(CountingCQL, PaperTabular):
    """CQL as a reading of the paper has it."""

    counter_values: int | None = None
    """Counterfactuals use every value of each counter below this from the first step on (default: those observed)."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PaperHierarchical(Hierarchical):
    """The hierarchical agent as a reading of the paper has it."""

    option_pay: float = 1.0
    """The factor of what machine and environment pay an option; 0 if r⁺ is all."""


PAPER_AGENTS = {
    "q": PaperQLearning(),
    "cprm": PaperCpRM(),
    "cra-q": PaperCountingQ(),
    "cra-cql": PaperCountingCQL(),
    "hrm": PaperHierarchical(),
}
"""By the names of the agents that they are readings of."""
