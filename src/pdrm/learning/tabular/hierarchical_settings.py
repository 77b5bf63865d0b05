"""Settings of the hierarchical agent (Section 7.4). Wrong values are refused when they are set."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from pdrm.errors import BadSetting


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchical:
    """A meta-policy over options, learnt together with the options' policies: one α, γ and ε for both.

    >>> Hierarchical(episodes=10, learning_rate=0.01).r_minus
    0.0
    """

    episodes: int = 10_000
    """Training episodes."""
    learning_rate: float = 0.5
    """α"""
    discount: float = 0.99
    """γ"""
    epsilon: float = 1.0
    """ε at first: the share of random options, and of random actions within them."""
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
    r_plus: float | None = None
    """r⁺: what an option's policy is paid for achieving the option; None: the domain's scale, the largest reward or cost that
    the machine or the environment gives at once, and at least 1 (HRM's own r⁺)."""
    r_minus: float = 0.0
    """r⁻: what it is paid where another move changes the configuration; nothing, as in HRM."""

    def __post_init__(self) -> None:
        for name in ("learning_rate", "discount", "epsilon", "epsilon_decay", "epsilon_least"):
            if not (_number(getattr(self, name)) and 0 <= getattr(self, name) <= 1):
                raise _bad(name, getattr(self, name), "a number from 0 to 1", "0.5")
        for name in ("episodes", "step_limit", "test_every", "test_episodes"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise _bad(name, value, "a whole number from 1 on", "100")
        r_plus = 1.0 if self.r_plus is None else self.r_plus
        for name, value in (("r_plus", r_plus), ("r_minus", self.r_minus)):
            if not (_number(value) and isfinite(value)):
                raise _bad(name, value, "a finite number", "1.0")
        if self.r_minus >= r_plus:
            raise _bad("r_minus", self.r_minus, f"less than r_plus, which is {r_plus!r} or more", f"{r_plus - 1.0!r}")


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _bad(name: str, value: object, wanted: str, example: str) -> BadSetting:
    return BadSetting(f"{name} is {value!r}, but must be {wanted}", fix=f"set {name}={example}")
