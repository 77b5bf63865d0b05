"""Transitions of a pushdown reward machine, δ_u and δ_r of Definition 1 as one record per rule, and what they do.

`u0 -> u1 : {A}, z / A z, -0.01` moves from `u0` to `u1` on the label {A}, whatever the top symbol `z`, puts `A` above it
and pays -0.01. The top `eps` looks at no symbol (and pops none); a push is written with the new top leftmost.
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
        object.__setattr__(self, "reward", reward_of(self.reward, self.where))

    @property
    def silent(self) -> bool:
        """The rule reads no label."""
        return isinstance(self.guard, Silent)

    def reads(self, label: Label | None) -> bool:
        """Return True if the rule reads a label (None: nothing)."""
        return self.silent if label is None else self.guard.holds(label)

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
        object.__setattr__(self, "reward", reward_of(self.reward, self.where))

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


RuleOrOtherwise = Transition | Otherwise
"""A rule, or the machine's `otherwise`."""


# --- What happens: configurations ⟨u, ζ⟩, moves, steps (one label read and its silent moves), runs of words


@dataclass(frozen=True, slots=True)
class Configuration:
    """A machine state and the stack, top first.

    >>> here = Configuration("u0", ("A", "#"))
    >>> here.top, str(here)
    ('A', 'u0, A #')
    """

    state: str
    stack: Stack

    @property
    def top(self) -> str | None:
        """The topmost symbol, or None on the empty stack."""
        return self.stack[0] if self.stack else None

    def after(self, acting: RuleOrOtherwise) -> Configuration:
        """The configuration that a move leads to."""
        stack = acting.replacement(self.top) + self.stack[1:]
        return Configuration(acting.target or self.state, stack)

    def __str__(self) -> str:
        return f"{self.state}, {' '.join(self.stack) or '(empty)'}"


@dataclass(frozen=True, slots=True)
class Move:
    """One application of a rule (None for the machine's `otherwise`)."""

    rule: Transition | None
    before: Configuration
    after: Configuration
    reward: float


C_co = TypeVar("C_co", covariant=True)


@dataclass(frozen=True, slots=True)
class StepRecord(Generic[C_co]):
    """One label read (None for the silent moves before the first label), and the silent moves after it.

    The reward is the sum of the moves' rewards, undiscounted, added in order.
    """

    label: Label | None
    before: C_co
    after: C_co
    """The configuration when no silent move is left."""
    reward: float


@dataclass(frozen=True, slots=True)
class Step(StepRecord[Configuration]):
    """One label read by a pushdown machine: the move it caused, and the silent ones."""

    moves: tuple[Move, ...]


S_co = TypeVar("S_co", bound=StepRecord[Any], covariant=True)


@dataclass(frozen=True, slots=True, repr=False)
class MachineRun(Displayed, Generic[S_co]):
    """A word read from the start: the silent moves before it, one step per label, and how many labels were left unread
    because a final state had been reached. The word is accepted if all of it was read and the last state is final."""

    steps: tuple[S_co, ...]
    unread: int
    finished: bool
    is_reward_machine: bool
    """The machine is a reward machine."""

    def __repr__(self) -> str:
        read = len(self.steps) - 1
        end = "ended" if self.finished else "not ended"
        return f"<Run on {read} label{'s' * (read != 1)}: {end} in {self.steps[-1].after}; reward {number_text(self.reward)}>"

    @property
    def accepted(self) -> bool:
        """True if all of the word was read and it ended in a final state, whatever that pays."""
        return self.finished and self.unread == 0

    @property
    def after(self: MachineRun[StepRecord[C_co]]) -> C_co:
        return self.steps[-1].after

    @property
    def reward(self) -> float:
        """The reward of the whole word, undiscounted."""
        return add_up(step.reward for step in self.steps)

    def frame(self) -> Any:
        """A pandas `DataFrame` with a row for the start and one for each label, the stack top first."""
        records = []
        for number, step in enumerate(self.steps):
            label = None if step.label is None else label_text(step.label)
            after = asdict(step.after)
            records.append({"step": number, "label": label, **after, "reward": step.reward})
        return make_frame(records)


def add_up(rewards: Iterable[float]) -> float:
    """The sum from left to right in double precision: every engine adds in this order, so they agree bit for bit."""
    total = 0.0
    for reward in rewards:
        total += reward
    return total


# --- Rewards are floats, written in the shortest form that is read back as the same float


def reward_of(value: SupportsFloat | str, where: Where | None = None) -> float:
    """Return a reward as a float, of whatever kind the number is.

    >>> import numpy as np
    >>> reward_of(np.float32(-0.5)), reward_of(1)
    (-0.5, 1.0)
    """
    if not isinstance(value, str | bytes):  # float("1") is 1, but a text is not a reward
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
