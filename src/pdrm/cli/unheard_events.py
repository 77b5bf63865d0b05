"""A warning before training: events that a machine waits for and that the domain never emits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pdrm.machines.guard import Label
    from pdrm.machines.text.build import AnyMachine


def warn_of_unheard(machine: AnyMachine, domain: str, labels: Iterable[Label]) -> None:
    """Say on standard error which events in the machine's rules are in none of the labels that the domain emits."""
    unheard = unheard_events(machine, labels)
    if unheard:
        named = ", ".join(f"`{event}`" for event in unheard)
        said = f"reads event{'s' * (len(unheard) > 1)} {named}, which `{domain}` never emits"
        typer.echo(f"warning: machine `{machine.name}` {said}", err=True)


def unheard_events(machine: AnyMachine, labels: Iterable[Label]) -> list[str]:
    """Those events, in the machine's own order. What is declared and in no rule is not waited for.

    >>> from pdrm.machines.catalogue import catalogue
    >>> unheard_events(catalogue("letter"), [frozenset({"A"}), frozenset({"A", "C"})])
    ['B']
    """
    from pdrm.machines.guard import events_of

    read = frozenset[str]().union(*(events_of(rule.guard) for rule in machine.transitions))
    heard = frozenset[str]().union(*labels)
    return [event for event in machine.events if event in read - heard]
