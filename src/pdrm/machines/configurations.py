"""Configurations ⟨u, ζ⟩ and what happens to them: moves, steps (one label read and its silent moves), runs of words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

from pdrm.lazy import Displayed, make_frame
from pdrm.machines.guards import Label, label_text
from pdrm.machines.transitions import Otherwise, Stack, Transition, number_text


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

    def after(self, acting: Transition | Otherwise) -> Configuration:
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
class LabelRead(Generic[C_co]):
    """One label read (None for the silent moves before the first label), and the silent moves after it.

    The reward is the sum of the moves' rewards, undiscounted, added in order.
    """

    label: Label | None
    before: C_co
    after: C_co
    """The configuration when no silent move is left."""
    reward: float


@dataclass(frozen=True, slots=True)
class Step(LabelRead[Configuration]):
    """One label read by a pushdown machine: the move it caused, and the silent ones."""

    moves: tuple[Move, ...]


S_co = TypeVar("S_co", bound=LabelRead[Any], covariant=True)


@dataclass(frozen=True, slots=True, repr=False)
class MachineRun(Displayed, Generic[S_co]):
    """A word read from the start: the silent moves before it, one step per label, and how many labels were left unread
    because a final state had been reached. The word is accepted if all of it was read and the last state is final."""

    steps: tuple[S_co, ...]
    unread: int
    finished: bool

    def __repr__(self) -> str:
        read = len(self.steps) - 1
        end = "ended" if self.finished else "not ended"
        return f"<Run on {read} label{'s' * (read != 1)}: {end} in {self.steps[-1].after}; reward {number_text(self.reward)}>"

    @property
    def accepted(self) -> bool:
        return self.finished and self.unread == 0

    @property
    def after(self: MachineRun[LabelRead[C_co]]) -> C_co:
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
