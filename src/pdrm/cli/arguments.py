"""Arguments shared by several commands, and shell completion of domains, machines, agents and
codes.

Completion must be fast, so it avoids importing the library's heavy modules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from glob import escape, glob
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from pdrm.errors import BadSetting

MAPS = (".txt", ".npz")
MACHINES = (".pdrm", ".json", ".grammar", ".regex", ".ltlf")
CATALOGUE = Path(__file__).parent.parent / "machines" / "catalogue"


def complete(words: Callable[[], Iterable[str]], *endings: str) -> Callable[[str], list[str]]:
    """A completion of words, and of paths with one of these endings."""

    def find(incomplete: str) -> list[str]:
        matches = [word for word in words() if word.startswith(incomplete)]
        patterns = (f"{escape(incomplete)}*{ending}" for ending in endings)
        return [*matches, *sorted(path for pattern in patterns for path in glob(pattern))]

    return find


def domain_names() -> list[str]:
    """The domains of the catalogue."""
    from pdrm.domains.paper_domains import names
    from pdrm.domains.water import SIDES

    return [*names(), *SIDES]


def machine_names() -> list[str]:
    """The machines of the catalogue."""
    return sorted(file.stem for file in CATALOGUE.glob("*.pdrm"))


def task_names() -> Iterable[str]:
    """The domains and machines of the catalogue."""
    return dict.fromkeys([*domain_names(), *machine_names()])


def agent_names() -> Iterable[str]:
    """The built-in agents."""
    from pdrm.learning.agents import AGENTS

    return AGENTS


complete_domain = complete(domain_names, *MAPS)
complete_machine = complete(machine_names, *MACHINES)
complete_agent = complete(agent_names)

Json = Annotated[bool, Option("--json", help="Print JSON.")]
File = Annotated[
    str,
    Argument(
        help="A machine file, a catalogue name, or - for standard input.",
        autocompletion=complete_machine,
    ),
]
DomainName = Annotated[
    str, Argument(help="A catalogue domain, or a domain's file.", autocompletion=complete_domain)
]
MachineName = Annotated[
    str | None,
    Option(
        help="A machine file or catalogue name. [the domain's machine]",
        autocompletion=complete_machine,
    ),
]
Discount = Annotated[
    float | None, Option(help="γ, below 1. [the paper's for its domains, otherwise 0.99]")
]
RunFolders = Annotated[
    list[Path] | None, Argument(help="Run folders. [the only run in runs]", show_default=False)
]
Seed = Annotated[int, Option(min=0, metavar="<int>", help="Seed of the episodes.")]
Seeds = Annotated[int | None, Option(help="Number of seeds. [the study's]")]


def read_ks(text: str) -> list[int]:
    """Parse the values of --k: 0..4, or 0,1,5, or 3.

    >>> read_ks("0..2"), read_ks("5")
    ([0, 1, 2], [5])
    """
    ks: list[int] = []
    if re.fullmatch(r"\d{1,4}(\.\.\d{1,4}|(,\d{1,4})*)", text, re.ASCII):
        first, dots, last = text.partition("..")
        ks = list(range(int(first), int(last) + 1)) if dots else list(map(int, text.split(",")))
    if not ks:
        raise BadSetting(f"invalid list of k: --k {text[:40]!r}", fix="--k 0..4, or --k 0,1,5")
    return ks
