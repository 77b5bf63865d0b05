"""Calling a kernel until it is done: whenever it comes back for want of something, it gets that and goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pdrm.errors import UndefinedMove
from pdrm.learning.tabular import progress as at
from pdrm.learning.tabular.episode_clock import EpisodeClock
from pdrm.learning.tabular.progress import Progress

TABLES = ("explored", "values", "observed", "policies")
"""The attributes of a run that grow, as far as it has them."""


class Growing(Protocol):
    """A run whose tables grow."""

    domain: Any
    machine: Any
    explored: Any
    progress: Progress
    clock: EpisodeClock


def until_done(run: Growing, kernel: Callable[[], int]) -> None:
    """Call the kernel until it is done; in between make room where there is none and a counting automaton's step where one
    is wanted, look at the clock, and complain where the machine has no rule."""
    while (status := kernel()) != at.DONE:
        if status == at.NO_ROOM:
            for name in TABLES:
                if hasattr(run, name):
                    setattr(run, name, getattr(run, name).grown())
        elif status == at.UNEXPLORED:
            run.explored = run.counters.find(run.explored)  # type: ignore[attr-defined] # only counting automata ask
        elif status == at.UNDEFINED:
            raise _label_without_rule(run.domain.name, run.machine.name)
        run.clock.look(run.progress)


def _label_without_rule(domain: str, machine: str) -> UndefinedMove:
    """The error of a machine that says `otherwise error` in a domain that it does not cover."""
    return UndefinedMove(
        f"domain `{domain}` emits a label that machine `{machine}` has no rule for",
        fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine; `pdrm check` lists the cases",
    )
