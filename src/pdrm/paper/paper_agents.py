"""Agents with extra settings, needed only for alternative readings of the paper."""

from __future__ import annotations

from dataclasses import dataclass

from pdrm.learning.agents import CountingCQL, CountingQ, CpRM, Hierarchical, QLearning, Tabular
from pdrm.learning.settings import ANY_NUMBER

SHAPING_RANGES = dict.fromkeys(("shaping_scale", "shaping_shift"), ANY_NUMBER)


@dataclass(frozen=True, kw_only=True, repr=False)
class PaperTabular(Tabular):
    """Extra settings of all agents that learn from single steps."""

    ties: str = "random"
    """Tie-breaking between best actions: `random`, or the `first` in the domain's order unless all
    values are 0."""
    limit_ends: bool = False
    """Learn from truncated episodes as if they had terminated."""
    seconds_per_episode: float | None = None
    """Wall-clock seconds after which an episode is truncated, as in the paper. The result then
    depends on the computer."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PaperQLearning(QLearning, PaperTabular):
    """Q-learning for readings of the paper."""

    ranges = SHAPING_RANGES

    shaping_scale: float = 1.0
    """The factor of Φ; -1 is the sign in Toro Icarte's code."""
    shaping_shift: float = 0.0
    """A constant added to the scaled Φ, except at the end of an episode."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PaperCpRM(CpRM, PaperTabular):
    """CpRM for readings of the paper."""

    ranges = SHAPING_RANGES

    shaping_scale: float = 1.0
    """As for `PaperQLearning`."""
    shaping_shift: float = 0.0
    """As for `PaperQLearning`."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PaperCountingQ(CountingQ, PaperTabular):
    """Q-learning over counters for readings of the paper."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PaperCountingCQL(CountingCQL, PaperTabular):
    """CQL for readings of the paper."""

    counter_values: int | None = None
    """Counterfactuals use all counter values below this number from the first step on (default:
    only observed values)."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PaperHierarchical(Hierarchical):
    """The hierarchical agent for readings of the paper."""

    ranges = {"option_pay": ANY_NUMBER}

    option_pay: float = 1.0
    """The factor of the rewards of machine and environment for options; 0 leaves only r⁺."""


PAPER_AGENTS = {
    "q": PaperQLearning(),
    "cprm": PaperCpRM(),
    "cra-q": PaperCountingQ(),
    "cra-cql": PaperCountingCQL(),
    "hrm": PaperHierarchical(),
}
"""The agents by the names of their standard versions."""
