"""Any machine as a pushdown reward machine: an object, a file, a name of the catalogue or a text; RMs and CRAs translated."""

from __future__ import annotations

import os

from pdrm.errors import BadSetting
from pdrm.files import means_name
from pdrm.language.document import AnyMachine
from pdrm.language.loading import catalogue, load, names, parse
from pdrm.machines.conversions import counting_to_pushdown, reward_machine_to_pushdown
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reward_machine import RewardMachine

MachineLike = AnyMachine | str | os.PathLike[str]
"""A machine, the path of its file, its name in the catalogue (`./letter` where there is a file of the same name), or its text,
which has more than one line or begins with a brace."""


def pushdown_machine(machine: MachineLike) -> PushdownRewardMachine:
    """The machine as a pushdown one; `CannotTranslate` for more than one counter.

    >>> pushdown_machine("letter").stack, pushdown_machine("letter-counting").stack
    (('#', 'A'), ('#', '□'))
    """
    if isinstance(machine, str | os.PathLike):
        machine = _loaded(machine)
    match machine:
        case PushdownRewardMachine():
            return machine
        case RewardMachine():
            return reward_machine_to_pushdown(machine)
        case CountingRewardAutomaton():
            return counting_to_pushdown(machine)
    raise BadSetting(
        f"{machine!r} is no machine", fix="give a machine, the path of a .pdrm file, or a name of the catalogue"
    )


def _loaded(name: str | os.PathLike[str]) -> AnyMachine:
    """A name of the catalogue is the catalogue's machine; what else there is a file of, or has a folder or ending, a file; what
    has several lines, or begins with a brace, a text."""
    if isinstance(name, str) and ("\n" in name or name.lstrip().startswith("{")):
        return parse(name)
    return catalogue(str(name)) if means_name(name, names()) else load(name)
