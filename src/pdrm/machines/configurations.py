"""Configurations ⟨u, ζ⟩ and what happens to them: moves, steps (one label read and its silent moves), runs of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, Protocol, TypeVar

from pdrm.errors import BadWord, MissingPackage, Where, WrongKind
from pdrm.lazy import Displayed
from pdrm.machines.guards import Label, label_text
from pdrm.machines.machine import NAME, Machine
from pdrm.machines.transitions import Stack, Transition, number_text


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

    def __str__(self) -> str:
        return f"{self.state}, {' '.join(self.stack) or '(empty)'}"


@dataclass(frozen=True, slots=True)
class Move:
    """One application of a rule (None for the machine's `otherwise`)."""

    rule: Transition | None
    before: Configuration
    after: Configuration
    reward: float


@dataclass(frozen=True, slots=True)
class Step:
    """One label read (None for the silent moves before the first label), the move it caused and the silent ones after it.

    The step's reward is the sum of its moves' rewards, undiscounted, added in order.
    """

    label: Label | None
    before: Configuration
    moves: tuple[Move, ...]

    @property
    def after(self) -> Configuration:
        """The configuration when no silent move is left."""
        return self.moves[-1].after if self.moves else self.before

    @property
    def reward(self) -> float:
        return add_up(move.reward for move in self.moves)


C_co = TypeVar("C_co", covariant=True)


class Read(Protocol[C_co]):
    """A step of any kind of machine: the configuration after it, and its reward."""

    @property
    def after(self) -> C_co: ...
    @property
    def reward(self) -> float: ...


S_co = TypeVar("S_co", bound=Read[object], covariant=True)


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
        where: object = getattr(self.steps[-1], "after", None)
        return f"<Run on {read} label{'s' * (read != 1)}: {end} in {where}; reward {number_text(self.reward)}>"

    @property
    def accepted(self) -> bool:
        return self.finished and self.unread == 0

    @property
    def after(self: MachineRun[Read[C_co]]) -> C_co:
        return self.steps[-1].after

    @property
    def reward(self) -> float:
        """The reward of the whole word, undiscounted."""
        return add_up(step.reward for step in self.steps)

    def frame(self) -> Any:
        """A pandas `DataFrame` with a row for the start and one for each label, the stack top first."""
        try:
            import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError as error:
            raise MissingPackage("a frame needs pandas", fix="pip install pandas") from error
        records = []
        steps: Sequence[Any] = self.steps
        for number, step in enumerate(steps):
            label = None if step.label is None else label_text(step.label)
            after = asdict(step.after)
            records.append({"step": number, "label": label, **after, "reward": step.reward})
        return pandas.DataFrame(records)


def add_up(rewards: Iterable[float]) -> float:
    """The sum from left to right in double precision: every engine adds in this order, so they agree bit for bit."""
    total = 0.0
    for reward in rewards:
        total += reward
    return total


# --- Words: labels separated by spaces, as users type them


def parse_word(text: str) -> list[Label]:
    """The labels of a word.

    >>> [sorted(label) for label in parse_word("d d+t - u")]
    [['d'], ['d', 't'], [], ['u']]
    """
    if not isinstance(text, str):
        raise WrongKind(f"a word is a text, not {str(text)[:40]!r}", fix='parse_word("d d+t - u")')
    labels: list[Label] = []
    for found in re.finditer(r"\S+", text):
        part = found[0]
        events = [] if part == "-" else part.split("+")
        if not all(NAME.fullmatch(event) for event in events):
            where = Where("<word>", 1, found.start() + 1, text, len(part))
            fix = "labels are separated by blanks, `d t`; events of one label are joined by `+`, `d+t`; `-` is the empty label"
            raise BadWord(f"`{part}` is not a label", where=where, fix=fix)
        labels.append(frozenset(events))
    return labels


# --- Reading labels, as far as the three kinds of machine do it alike


class HasState(Protocol):
    """A configuration of any kind of machine."""

    @property
    def state(self) -> str: ...


S = TypeVar("S", bound=Read[HasState])


def read_word(
    machine: Machine[Any], word: Iterable[Label] | str, first: S, read: Callable[[S, Label], S]
) -> MachineRun[S]:
    """Read a word, each step from the last one, up to a final state if one is reached. A text is read by `parse_word`."""
    labels = list(parse_word(word) if isinstance(word, str) else word)
    for label in labels:
        machine.alphabet.check(label)
    steps = [first]
    finished = first.after.state in machine.final
    while not finished and len(steps) <= len(labels):
        steps.append(read(steps[-1], labels[len(steps) - 1]))
        finished = steps[-1].after.state in machine.final
    return MachineRun(tuple(steps), len(labels) + 1 - len(steps), finished)
