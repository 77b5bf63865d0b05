"""A machine as the text that runs are recorded with: given as text, as an object, as a file or as a name of the catalogue."""

from __future__ import annotations

import os
from pathlib import Path

from pdrm.errors import BadSetting
from pdrm.files.names import means_name
from pdrm.machines.catalogue import names, text_of
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reward_machine import RewardMachine
from pdrm.machines.text.files import parse
from pdrm.machines.text.source import decode, read_bytes
from pdrm.machines.text.writer import to_text
from pdrm.product.any_machine import MachineLike

KINDS: tuple[type, ...] = (PushdownRewardMachine, RewardMachine, CountingRewardAutomaton)


def machine_text(machine: MachineLike, folder: Path = Path()) -> str:
    """The machine's text, once it has been read without a fault; files are looked for in the folder.

    What has more than one line, or begins with a brace, is a machine's text itself.

    >>> machine_text("letter") == machine_text(text_of("letter")) == text_of("letter")
    True
    """
    if isinstance(machine, str | os.PathLike):
        return _read(machine, folder)
    if isinstance(machine, KINDS):
        return to_text(machine)
    fix = "give a machine, its text, the path of a .pdrm file, or a name of the catalogue"
    raise BadSetting(f"{machine!r} is no machine", fix=fix)


def _read(machine: str | os.PathLike[str], folder: Path) -> str:
    if isinstance(machine, str) and ("\n" in machine or machine.lstrip().startswith("{")):
        parse(machine)
        return machine
    if means_name(machine, names(), folder):
        return text_of(str(machine))
    file = folder / machine
    text = decode(read_bytes(file), str(file))
    parse(text, str(file))
    return text
