"""Reading labels, as far as the three kinds of machine do it alike: a word label by label, and what can go wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol, TypeVar

from pdrm.errors import MachineFinished, UndefinedMove, UnknownConfiguration, did_you_mean
from pdrm.machines.alphabet import Alphabet
from pdrm.machines.configuration import Read, Run
from pdrm.machines.guard import Label, label_text


class HasState(Protocol):
    """A configuration of any kind of machine."""

    @property
    def state(self) -> str: ...


S = TypeVar("S", bound=Read[HasState])


def read_word(
    word: Iterable[Label], alphabet: Alphabet, final: Collection[str], first: S, read: Callable[[S, Label], S]
) -> Run[S]:
    """Read a word, each step from the last one, up to a final state if one is reached."""
    labels = list(word)
    for label in labels:
        alphabet.check(label)
    steps = [first]
    while steps[-1].after.state not in final and len(steps) <= len(labels):
        steps.append(read(steps[-1], labels[len(steps) - 1]))
    return Run(tuple(steps), unread=len(labels) + 1 - len(steps), finished=steps[-1].after.state in final)


def check_state(state: str, machine: str, states: Collection[str], final: Collection[str]) -> None:
    """Raise unless a label can be read in this state of the machine."""
    if state in final:
        raise MachineFinished(f"`{state}` is a final state of machine `{machine}`", fix="begin a new episode")
    if state not in states:
        raise UnknownConfiguration(f"`{state}` is no state of `{machine}`", fix=did_you_mean(state, states))


def no_rule(machine: str, label: Label, configuration: object) -> UndefinedMove:
    """The error of `otherwise error`."""
    return UndefinedMove(
        f"machine `{machine}` has no rule for label {label_text(label)} at {configuration}",
        fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine",
    )
