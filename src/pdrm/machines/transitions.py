"""Transitions of a pushdown reward machine: δ_u and δ_r of Definition 1 as one record per rule.

`u0 -> u1 : {A}, z / A z, -0.01` moves from `u0` to `u1` on the label {A}, whatever the top symbol `z`, puts `A` above it
and pays -0.01. The top `eps` looks at no symbol (and pops none); a push is written with the new top leftmost.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import SupportsFloat

from pdrm.errors import BadReward, Where
from pdrm.machines.guards import Guard, Silent, check_guard

ANY = "z"
"""A rule's top: any stack symbol, the bottom one included."""

NONE = "eps"
"""A rule's top: no symbol is looked at, none is popped; it applies to the empty stack too."""

Stack = tuple[str, ...]
"""A stack's symbols, top first."""


class Rule:
    """What the rules of all three kinds of machine have."""

    __slots__ = ()
    source: str
    target: str
    guard: Guard
    reward: float
    where: Where | None

    def __post_init__(self) -> None:
        check_guard(self.guard)
        object.__setattr__(self, "reward", reward_of(self.reward))

    @property
    def silent(self) -> bool:
        """Whether the rule reads no label."""
        return isinstance(self.guard, Silent)


@dataclass(frozen=True, slots=True)
class Transition(Rule):
    """One rule: where it starts, where it leads, what it reads, looks at, pushes and pays.

    >>> from pdrm.machines.guards import Event
    >>> rule = Transition("u0", "u1", Event("A"), "z", ("A", "z"), -0.01)
    >>> print(rule, rule.replacement("#"))
    u0 -> u1 : A, z / A z, -0.01 ('A', '#')
    """

    source: str
    target: str
    guard: Guard
    top: str
    push: Stack
    reward: float
    where: Where | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        Rule.__post_init__(self)
        object.__setattr__(self, "push", tuple(self.push))

    def looks_at(self, top: str | None) -> bool:
        """Whether the rule applies to this top symbol (None: the empty stack)."""
        return self.top in (top, NONE) or (self.top == ANY and top is not None)

    def replacement(self, top: str | None) -> Stack:
        """The symbols that take the place of `top`, with `z` standing for it and a symbol not looked at left there."""
        replaced = tuple(top if symbol == ANY and top is not None else symbol for symbol in self.push)
        return replaced if self.top != NONE or top is None else (*replaced, top)

    def __str__(self) -> str:
        move = f"{self.top} / {' '.join(self.push) or NONE}"
        return f"{self.source} -> {self.target} : {self.guard}, {move}, {number_text(self.reward)}"


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What happens when no rule applies to a label: stay, go to a state (the stack kept), or an error.

    >>> print(Otherwise.stay(-0.01), Otherwise.go("lost", -1e5), Otherwise.error(), sep="; ")
    stay -0.01; go lost -1e5; error
    """

    action: str
    target: str | None = None
    reward: float = 0.0
    where: Where | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reward", reward_of(self.reward))

    @classmethod
    def stay(cls, reward: float) -> Otherwise:
        """Keep the configuration and pay `reward`."""
        return cls("stay", None, reward)

    @classmethod
    def go(cls, target: str, reward: float) -> Otherwise:
        """Move to `target` with the stack kept and pay `reward`."""
        return cls("go", target, reward)

    @classmethod
    def error(cls) -> Otherwise:
        """Raise `UndefinedMove`."""
        return cls("error")

    def __str__(self) -> str:
        target = f" {self.target}" if self.target is not None else ""
        return f"{self.action}{target}" + ("" if self.action == "error" else f" {number_text(self.reward)}")


def reward_of(value: SupportsFloat) -> float:
    """A reward as a plain float, whatever kind of number it was: so that it is written, read and compared as one.

    >>> import numpy as np
    >>> reward_of(np.float32(-0.5)), reward_of(1)
    (-0.5, 1.0)
    """
    with suppress(TypeError, ValueError, OverflowError):
        if not isinstance(value, str | bytes):  # float("1") is 1, but a text is not a reward
            return float(value)
    raise BadReward(f"the reward {str(value)[:40]!r} is not a number", fix="use a finite number such as 1 or -0.01")


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number.

    >>> [number_text(x) for x in (1.0, -0.01, 1e5, 1000.0, 1e-7, 0.1 + 0.2)]
    ['1', '-0.01', '1e5', '1000', '1e-7', '0.30000000000000004']
    """
    if float(value).is_integer() and abs(value) < 1e16:
        digits = str(int(value))
        zeros = len(digits) - len(digits.rstrip("0"))
        return f"{digits[:-zeros]}e{zeros}" if zeros > 4 else digits
    mantissa, e, exponent = repr(float(value)).partition("e")
    return f"{mantissa}{e}{int(exponent)}" if e else mantissa
