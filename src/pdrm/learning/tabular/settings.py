"""Settings of the tabular agents, with the paper's names in their docstrings. Wrong values are refused when they are set."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf, isfinite
from typing import Any

from pdrm.errors import BadSetting, did_you_mean

# --- What every tabular agent's settings have: how long it trains, its rates, and when it is tested.

MOST = 2**31 - 1
"""Of episodes, steps and updates."""
MOST_TEST_EPISODES = 1_000_000
"""What each of them paid is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The shared settings. Wrong values are refused when they are set.

    >>> Schedule(episodes=10).discount
    0.99
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
    seconds_per_episode: float | None = None
    """Wall-clock seconds after which an episode is truncated, as in the paper; None: never. The result then depends on the
    computer and its load."""
    test_every: int = 100
    """Training episodes between two tests."""
    test_episodes: int = 10
    """Greedy episodes a test."""

    def __post_init__(self) -> None:
        for name in ("learning_rate", "discount", "epsilon", "epsilon_decay", "epsilon_least"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value <= 1:
                raise bad_setting(name, value, "a number from 0 to 1", "0.5")
        if self.epsilon_least > self.epsilon:
            raise bad_setting(
                "epsilon_least", self.epsilon_least, f"at most epsilon, {self.epsilon!r}", f"{self.epsilon}"
            )
        whole_from_one(self, "episodes", "step_limit", "test_every")
        whole_from_one(self, "test_episodes", most=MOST_TEST_EPISODES)
        seconds = self.seconds_per_episode
        if seconds is not None and not (is_number(seconds) and 0 < seconds < inf):
            raise bad_setting("seconds_per_episode", seconds, "a number above 0", "0.03")


def whole_from_one(settings: Schedule, *names: str, most: int = MOST) -> None:
    """Raise unless each of these settings is None or a whole number from 1 to the most there may be."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most):
            raise bad_setting(name, value, f"a whole number from 1 to {most:,}", "100")


def is_number(value: object) -> bool:
    """Whether a value is a number (a truth value is not)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def bad_setting(name: str, value: object, wanted: str, example: str, *, option: bool = True) -> BadSetting:
    """The error that a setting is out of its range. option: `pdrm train` has one of that name."""
    said = f" (--{name.replace('_', '-')} {example})" if option else ""
    return BadSetting(f"{name} is {value!r}, but must be {wanted}", fix=f"set {name}={example}{said}")


# --- Settings of the tabular agents, with the paper's names in their docstrings. Wrong values are refused when they are set.


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


# --- Settings of the hierarchical agent (Section 7.4). Wrong values are refused when they are set.


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchical(Schedule):
    """A meta-policy over options, learnt together with the options' policies: one α, γ and ε for both
    (ε is the share of random options, and of random actions within them).

    >>> Hierarchical(episodes=10, learning_rate=0.01).r_minus
    0.0
    """

    r_plus: float | None = None
    """r⁺: what an option's policy is paid for achieving the option; None: the domain's scale, the largest reward or cost that
    the machine or the environment gives at once, and at least 1 (HRM's own r⁺)."""
    r_minus: float = 0.0
    """r⁻: what it is paid where another move changes the configuration; nothing, as in HRM."""

    def __post_init__(self) -> None:
        Schedule.__post_init__(self)
        r_plus = 1.0 if self.r_plus is None else self.r_plus
        for name, value in (("r_plus", r_plus), ("r_minus", self.r_minus)):
            if not (is_number(value) and isfinite(value)):
                raise bad_setting(name, value, "a finite number", "1.0", option=False)
        if self.r_minus >= r_plus:
            wanted = f"less than r_plus, which is {r_plus!r} or more"
            raise bad_setting("r_minus", self.r_minus, wanted, f"{r_plus - 1.0!r}", option=False)


# --- The paper's settings for each domain (Appendix C and E), as `pdrm train` uses them unless told otherwise.

_MAZE = {"learning_rate": 0.5, "epsilon": 1.0, "epsilon_decay": 0.995, "epsilon_least": 0.01, "discount": 0.99}
_DELIVER = {"learning_rate": 0.01, "epsilon": 1.0, "epsilon_decay": 0.9995, "epsilon_least": 0.1, "discount": 0.99}

PAPER_SETTINGS: dict[str, dict[str, Any]] = {
    "letter": {
        "episodes": 5_000,
        "learning_rate": 0.01,
        "epsilon": 0.01,
        "epsilon_decay": 1.0,
        "epsilon_least": 0.01,
        "discount": 0.99,
    },
    "maze-5x5": {"episodes": 10_000, **_MAZE},
    "maze-10x10": {"episodes": 10_000, **_MAZE},
    "maze-20x20": {"episodes": 10_000, **_MAZE},
    "multi-10x10": {"episodes": 10_000, **_MAZE, "discount": 0.9},
    "multi-20x20": {"episodes": 10_000, **_MAZE, "discount": 0.9},
    "deliver-8": {"episodes": 10_000, **_DELIVER},
    "deliver-4-8": {"episodes": 15_000, **_DELIVER},
    # Appendix C gives no rates for PaintWorld; these are the mazes', tested as it says.
    "paint": {"episodes": 500, **_MAZE, "test_every": 5},
    "echo": {"episodes": 2_000, **_MAZE},
}
