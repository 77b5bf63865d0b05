"""Arguments that several commands share, and the values that the shell completes: domains, machines, agents, codes.

What is offered is found without the modules that build anything: the shell waits for it at every press of Tab.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

MAPS = (".txt", ".npz")
MACHINES = (".pdrm", ".json", ".grammar", ".regex", ".ltlf")
CATALOGUE = Path(__file__).parent.parent / "machines" / "catalogue"


def complete_domain(incomplete: str) -> list[str]:
    """Domains of the catalogue, and maps and `.npz` files."""
    from pdrm.domains.paper_domains import names
    from pdrm.domains.water import SIDES

    return [*_begin_with(incomplete, [*names(), *SIDES]), *_list_files(incomplete, MAPS)]


def complete_machine(incomplete: str) -> list[str]:
    """Machines of the catalogue, and files of machines."""
    return [*complete_catalogue(incomplete), *_list_files(incomplete, MACHINES)]


def complete_catalogue(incomplete: str) -> list[str]:
    """Machines of the catalogue."""
    return _begin_with(incomplete, sorted(file.stem for file in CATALOGUE.glob("*.pdrm")))


def complete_task(incomplete: str) -> list[str]:
    """A domain or a machine."""
    return list(dict.fromkeys([*complete_domain(incomplete), *complete_machine(incomplete)]))


def complete_agent(incomplete: str) -> list[str]:
    """Names of agents."""
    from pdrm.learning.agents import AGENTS

    return _begin_with(incomplete, AGENTS)


def complete_code(incomplete: str) -> list[str]:
    """Codes of errors and warnings."""
    from pdrm.errors import explanations

    return _begin_with(incomplete, explanations())


def _begin_with(incomplete: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def _list_files(incomplete: str, endings: tuple[str, ...]) -> list[str]:
    """Files of a kind in the folder that is named so far, written as the word was begun."""
    folder, begun = os.path.split(incomplete)
    try:
        names = sorted(
            entry.name for entry in os.scandir(folder or ".") if entry.name.endswith(endings)
        )
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.startswith(begun)]


DomainName = Annotated[
    str,
    typer.Argument(
        help="A domain of the catalogue, or a domain's file.", autocompletion=complete_domain
    ),
]
MachineName = Annotated[
    str | None,
    typer.Option(
        "--machine",
        help="A machine file or catalogue name. [the domain's own]",
        autocompletion=complete_machine,
    ),
]
