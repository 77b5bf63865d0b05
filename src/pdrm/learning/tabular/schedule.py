"""What every tabular agent's settings have: how long it trains, its rates, and when it is tested."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from pdrm.errors import BadSetting

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
