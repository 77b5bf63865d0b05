"""Transitions of a pushdown reward machine: δ_u and δ_r of Definition 1 as one record per rule.

`u0 -> u1 : {A}, z / A z, -0.01` moves from `u0` to `u1` on the label {A}, with any top symbol `z`.
It pushes `A` above `z` and gives the reward -0.01. The top `eps` matches without looking at the
stack and pops nothing. The symbols of a push are written with the new top leftmost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, SupportsFloat, TypeVar

from pdrm.errors import BadReward, Where
from pdrm.lazy import Displayed, make_frame
from pdrm.machines.guards import Guard, Label, Silent, check_guard, label_text
from pdrm.wording import plural

ANY = "z"
"""The top of a rule that matches any stack symbol, including the bottom symbol."""

NONE = "eps"
"""The top of a rule that ignores the stack: pops nothing and applies to the empty stack too."""

BOTTOM = "#"
"""The only stack symbol of a reward machine."""

Stack = tuple[str, ...]
"""The symbols of a stack, top first."""

TopSymbols = tuple[str | None, ...]
"""Symbols on top of the stack, top first. None is the empty stack below, which is never popped."""


class Rule:
    """The base class of the rules of all kinds of machine."""

    __slots__ = ()
    source: str
    target: str
    guard: Guard
    reward: float
    where: Where | None

    def __post_init__(self) -> None:
        check_guard(self.guard)
        object.__setattr__(self, "reward", reward_of(self.reward, self.where))

    @property
    def silent(self) -> bool:
        """True if the rule reads no label."""
        return isinstance(self.guard, Silent)

    def reads(self, label: Label | None) -> bool:
        """Return True if the rule reads `label`, or is silent if `label` is None."""
        return self.silent if label is None else self.guard.holds(label)

    @property
    def plain_text(self) -> str:
        """The rule without its effect on the stack or the counters."""
        return self._text("")

    def _text(self, change: str) -> str:
        reward = number_text(self.reward)
        return f"{self.source} -> {self.target} : {self.guard}, {change}{reward}"


@dataclass(frozen=True, slots=True)
class Transition(Rule):
    """A rule of a pushdown machine.

    >>> from pdrm.machines.guards import Event
    >>> rule = Transition("u0", "u1", Event("A"), "z", ("A", "z"), -0.01)
    >>> print(rule, rule.replacement("#"))
    u0 -> u1 : A, z / A z, -0.01 ('A', '#')
    """

    source: str
    """The state in which the rule applies."""
    target: str
    """The next state."""
    guard: Guard
    """The labels that the rule reads."""
    top: str
    """The stack symbol on top: its name, `z` for any symbol, or `eps` to ignore the stack."""
    push: Stack
    """The symbols that replace the top, the new top first. `z` stands for the old top."""
    reward: float
    """The reward of the move."""
    where: Where | None = field(default=None, compare=False, repr=False)
    """The position in a file, for messages."""

    def __post_init__(self) -> None:
        Rule.__post_init__(self)
        object.__setattr__(self, "push", tuple(self.push))

    @property
    def leaves_stack(self) -> bool:
        """True if the rule neither looks at the stack nor changes it."""
        return self.top == NONE and not self.push

    def looks_at(self, top: str | None) -> bool:
        """Return True if the rule applies with `top` on top (None for the empty stack)."""
        return self.top in (top, NONE) or (self.top == ANY and top is not None)

    def replacement(self, top: str | None) -> Stack:
        """The symbols that replace `top`, with `z` expanded.

        A rule with the top `eps` keeps the symbol below its push.
        """
        replaced = tuple(
            top if symbol == ANY and top is not None else symbol for symbol in self.push
        )
        return replaced if self.top != NONE or top is None else (*replaced, top)

    def __str__(self) -> str:
        return self._text(f"{self.top} / {' '.join(self.push) or NONE}, ")


@dataclass(frozen=True, slots=True)
class Otherwise:
    """The default when no rule reads a label: stay, go to a state with the same stack, or raise.

    >>> print(Otherwise.stay(-0.01), Otherwise.go("lost", -1e5), Otherwise.error(), sep="; ")
    stay -0.01; go lost -1e5; error
    """

    action: str
    """`stay`, `go` or `error`."""
    target: str | None = None
    """The next state of `go`."""
    reward: float = 0.0
    """The reward of the move."""
    where: Where | None = field(default=None, compare=False, repr=False)
    """The position in a file, for messages."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reward", reward_of(self.reward, self.where))

    def replacement(self, top: str | None) -> Stack:
        """The symbols that replace `top`: itself."""
        return () if top is None else (top,)

    def change(self, counters: tuple[int, ...]) -> tuple[int, ...]:
        """The counters after the move: unchanged."""
        return counters

    @classmethod
    def stay(cls, reward: float) -> Otherwise:
        """Keep the configuration and give `reward`."""
        return cls("stay", None, reward)

    @classmethod
    def go(cls, target: str, reward: float) -> Otherwise:
        """Move to `target` with the same stack and give `reward`."""
        return cls("go", target, reward)

    @classmethod
    def error(cls) -> Otherwise:
        """Raise `UndefinedMove`."""
        return cls("error")

    def __str__(self) -> str:
        target = f" {self.target}" if self.target is not None else ""
        reward = "" if self.action == "error" else f" {number_text(self.reward)}"
        return f"{self.action}{target}{reward}"


RuleOrOtherwise = Transition | Otherwise
"""A rule, or the `otherwise` of a machine."""


# --- Execution: configurations ⟨u, ζ⟩, moves, steps (a label and its silent moves), runs of words


@dataclass(frozen=True, slots=True)
class Configuration:
    """A machine state and a stack, top first.

    >>> configuration = Configuration("u0", ("A", "#"))
    >>> configuration.top, str(configuration)
    ('A', 'u0, A #')
    """

    state: str
    stack: Stack

    @property
    def top(self) -> str | None:
        """The topmost symbol, or None on the empty stack."""
        return self.stack[0] if self.stack else None

    def after(self, rule: RuleOrOtherwise) -> Configuration:
        """The configuration after a rule is applied."""
        stack = rule.replacement(self.top) + self.stack[1:]
        return Configuration(rule.target or self.state, stack)

    def __str__(self) -> str:
        return f"{self.state}, {' '.join(self.stack) or '(empty)'}"


@dataclass(frozen=True, slots=True)
class Move:
    """One application of a rule (None for `otherwise`)."""

    rule: Transition | None
    before: Configuration
    after: Configuration
    reward: float


C_co = TypeVar("C_co", covariant=True)


@dataclass(frozen=True, slots=True)
class StepRecord(Generic[C_co]):
    """A label (None before the first label) and the silent moves after it.

    The reward is the undiscounted sum of the rewards of the moves, added in order.
    """

    label: Label | None
    before: C_co
    after: C_co
    """The configuration after the last silent move."""
    reward: float


@dataclass(frozen=True, slots=True)
class Step(StepRecord[Configuration]):
    """A step of a pushdown machine, with its moves."""

    moves: tuple[Move, ...]


S_co = TypeVar("S_co", bound=StepRecord[Any], covariant=True)


@dataclass(frozen=True, slots=True, repr=False)
class MachineRun(Displayed, Generic[S_co]):
    """A word read from the start, up to the first final state."""

    steps: tuple[S_co, ...]
    """The step before the first label, and a step for each label."""
    unread: int
    """The number of labels after the final state."""
    finished: bool
    """True if the last state is final."""
    is_reward_machine: bool
    """True if the machine has no stack."""

    def __repr__(self) -> str:
        labels = plural(len(self.steps) - 1, "label")
        end = "ended" if self.finished else "not ended"
        after = self.after.state if self.is_reward_machine else self.after
        return f"<MachineRun on {labels}: {end} in {after}; reward {number_text(self.reward)}>"

    @property
    def accepted(self) -> bool:
        """True if the whole word was read and the last state is final, whatever the reward."""
        return self.finished and self.unread == 0

    @property
    def after(self: MachineRun[StepRecord[C_co]]) -> C_co:
        return self.steps[-1].after

    @property
    def reward(self) -> float:
        """The undiscounted sum of the rewards."""
        return add_up(step.reward for step in self.steps)

    def frame(self) -> Any:
        """A pandas `DataFrame` with a row for the start and a row for each label."""
        records = []
        for number, step in enumerate(self.steps):
            label = None if step.label is None else label_text(step.label)
            after = asdict(step.after)
            records.append({"step": number, "label": label, **after, "reward": step.reward})
        return make_frame(records)


def add_up(rewards: Iterable[float]) -> float:
    """The sum from left to right in double precision.

    Every engine adds in this order, so that they agree bit for bit.
    """
    total = 0.0
    for reward in rewards:
        total += reward
    return total


# --- Rewards are floats, written in the shortest form that reads back as the same float


def reward_of(value: SupportsFloat | str, where: Where | None = None) -> float:
    """Convert a number of any type to a float; raise `BadReward` if it is not finite.

    >>> import numpy as np
    >>> reward_of(np.float32(-0.5)), reward_of(1)
    (-0.5, 1.0)
    """
    if not isinstance(value, str | bytes):  # float("1") would accept a text
        with suppress(TypeError, ValueError, OverflowError):
            number = float(value)
            if math.isfinite(number):
                return number
    raise BadReward(
        f"the reward {str(value)[:40]!r} is not a finite number",
        where=where,
        fix="use a finite number such as 1 or -0.01",
    )


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
