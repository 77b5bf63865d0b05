"""Settings of the hierarchical agent (Section 7.4). Wrong values are refused when they are set."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from pdrm.learning.tabular.schedule import Schedule, bad_setting, is_number


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
