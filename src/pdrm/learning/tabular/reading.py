"""A label read by either kind of machine with a memory, for the readable learners.

The counters of a counting automaton stand where the stack of a pushdown machine does: their values, written as symbols.
"""

from __future__ import annotations

from typing import NamedTuple

from pdrm.domains.labelled_mdp import Label
from pdrm.errors import EndlessSilentMoves
from pdrm.machines.configuration import Configuration
from pdrm.machines.counting import MOST_SILENT_MOVES, CountingConfiguration, CountingRewardAutomaton, CountingStep
from pdrm.machines.pushdown import PushdownRewardMachine

AnyMemory = PushdownRewardMachine | CountingRewardAutomaton


class Reading(NamedTuple):
    """Where a label led, what that paid, and the moves it took a counting automaton (0: not counted)."""

    after: Configuration
    reward: float
    moves: int


def begun(machine: AnyMemory) -> Reading:
    """The start of an episode.

    >>> from pdrm.machines.catalogue import catalogue
    >>> print(begun(catalogue("letter")).after, "|", begun(catalogue("letter-cra")).after)
    u0, # | u0, 0
    """
    if isinstance(machine, CountingRewardAutomaton):
        return _counted(machine.begin())
    step = machine.begin()
    return Reading(step.after, step.reward, 0)


def read(machine: AnyMemory, here: Configuration, label: Label, operations: int | None) -> Reading:
    """One label read. A step of more than so many operations is not made: it only takes one more than there are.

    >>> from pdrm.machines.catalogue import catalogue
    >>> print(read(catalogue("letter-cra"), Configuration("u0", ("9",)), frozenset("A"), None).after)
    u0, 10
    """
    if isinstance(machine, PushdownRewardMachine):
        step = machine.step(here, label)
        return Reading(step.after, step.reward, 0)
    before = CountingConfiguration(here.state, tuple(map(int, here.stack)))
    try:
        return _counted(machine.step(before, label, operations or MOST_SILENT_MOVES))
    except EndlessSilentMoves:
        if operations is None:
            raise
        return Reading(here, 0.0, operations + 1)


def _counted(step: CountingStep) -> Reading:
    return Reading(Configuration(step.after.state, tuple(map(str, step.after.counters))), step.reward, step.moves)
