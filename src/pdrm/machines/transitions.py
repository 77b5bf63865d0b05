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

BOTTOM = "#"
"""The one stack symbol of a machine that leaves its stack alone."""

Stack = tuple[str, ...]
"""A stack's symbols, top first."""

TopSymbols = tuple[str | None, ...]
"""Symbols on top of the stack, top first; None stands for the empty stack below them, which is never popped."""


class Rule:
    """The parts that the rules of all kinds of machine share."""

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
        """The rule reads no label."""
        return isinstance(self.guard, Silent)

    @property
    def plain_text(self) -> str:
        """The rule without what it does to the stack or the counters."""
        return f"{self.source} -> {self.target} : {self.guard}, {number_text(self.reward)}"


@dataclass(frozen=True, slots=True)
class Transition(Rule):
    """One rule: its source, its target, what it reads, looks at, pushes and pays.

    >>> from pdrm.machines.guards import Event
    >>> rule = Transition("u0", "u1", Event("A"), "z", ("A", "z"), -0.01)
    >>> print(rule, rule.replacement("#"))
    u0 -> u1 : A, z / A z, -0.01 ('A', '#')
    """

    source: str
    """The state that it leaves."""
    target: str
    """The state that it leads to."""
    guard: Guard
    """The labels that it reads."""
    top: str
    """The symbol on top that it looks at: a stack symbol, `z` for any, `eps` for none."""
    push: Stack
    """The symbols that replace the top, the new top first; `z` stands for the old one."""
    reward: float
    """Its reward."""
    where: Where | None = field(default=None, compare=False, repr=False)
    """Its place in a file, for messages."""

    def __post_init__(self) -> None:
        Rule.__post_init__(self)
        object.__setattr__(self, "push", tuple(self.push))

    @classmethod
    def plain(cls, source: str, target: str, guard: Guard, reward: float) -> Transition:
        """A rule that leaves the stack alone, as all rules of a reward machine do (Section 2).

        >>> from pdrm.machines.guards import Event
        >>> print(Transition.plain("u0", "u1", Event("A"), 1))
        u0 -> u1 : A, eps / eps, 1
        """
        return cls(source, target, guard, NONE, (), reward)

    @property
    def leaves_stack(self) -> bool:
        """The rule neither looks at the stack nor changes it."""
        return self.top == NONE and not self.push

    def looks_at(self, top: str | None) -> bool:
        """Return True if the rule applies to a symbol on top (None if the stack is empty)."""
        return self.top in (top, NONE) or (self.top == ANY and top is not None)

    def replacement(self, top: str | None) -> Stack:
        """The symbols that take the place of `top`, with `z` standing for it and a symbol not looked at left there."""
        replaced = tuple(
            top if symbol == ANY and top is not None else symbol for symbol in self.push
        )
        return replaced if self.top != NONE or top is None else (*replaced, top)

    def __str__(self) -> str:
        move = f"{self.top} / {' '.join(self.push) or NONE}"
        return f"{self.source} -> {self.target} : {self.guard}, {move}, {number_text(self.reward)}"


@dataclass(frozen=True, slots=True)
class Otherwise:
    """The move when no rule applies to a label: stay, go to a state (the stack kept), or an error.

    >>> print(Otherwise.stay(-0.01), Otherwise.go("lost", -1e5), Otherwise.error(), sep="; ")
    stay -0.01; go lost -1e5; error
    """

    action: str
    """`stay`, `go` or `error`."""
    target: str | None = None
    """The state that `go` leads to."""
    reward: float = 0.0
    """Its reward."""
    where: Where | None = field(default=None, compare=False, repr=False)
    """Its place in a file, for messages."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reward", reward_of(self.reward))

    def replacement(self, top: str | None) -> Stack:
        """The top stays."""
        return () if top is None else (top,)

    def change(self, counters: tuple[int, ...]) -> tuple[int, ...]:
        """The counters stay."""
        return counters

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
        return f"{self.action}{target}" + (
            "" if self.action == "error" else f" {number_text(self.reward)}"
        )


# --- Rewards are floats, written in the shortest form that is read back as the same float


def reward_of(value: SupportsFloat) -> float:
    """Return a reward as a float, of whatever kind the number is.

    >>> import numpy as np
    >>> reward_of(np.float32(-0.5)), reward_of(1)
    (-0.5, 1.0)
    """
    if not isinstance(value, str | bytes):  # float("1") is 1, but a text is not a reward
        with suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise BadReward(
        f"the reward {str(value)[:40]!r} is not a number",
        fix="use a finite number such as 1 or -0.01",
    )


def number_text(value: float) -> str:
    """Return the shortest text that is read back as the same number.

    >>> [number_text(x) for x in (1.0, -0.01, 1e5, 1000.0, 1e-7, 0.1 + 0.2)]
    ['1', '-0.01', '1e5', '1000', '1e-7', '0.30000000000000004']
    """
    if float(value).is_integer() and abs(value) < 1e16:
        digits = str(int(value))
        zeros = len(digits) - len(digits.rstrip("0"))
        return f"{digits[:-zeros]}e{zeros}" if zeros > 4 else digits
    mantissa, e, exponent = repr(float(value)).partition("e")
    return f"{mantissa}{e}{int(exponent)}" if e else mantissa
