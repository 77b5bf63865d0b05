"""The catalogue: every machine printed in the paper, and a few classics, as .pdrm files."""

from __future__ import annotations

from importlib.resources import files

from pdrm.errors import UnknownMachine, did_you_mean
from pdrm.machines.text.build import AnyMachine
from pdrm.machines.text.files import parse


def names() -> list[str]:
    """The machines there are.

    >>> "letter" in names()
    True
    """
    folder = files(__package__)
    return sorted(entry.name.removesuffix(".pdrm") for entry in folder.iterdir() if entry.name.endswith(".pdrm"))


def text_of(name: str) -> str:
    """The text of one machine's file."""
    if name not in names():
        raise UnknownMachine(f"the catalogue has no machine `{name}`", fix=did_you_mean(name, names()))
    return files(__package__).joinpath(f"{name}.pdrm").read_text(encoding="utf-8")


def catalogue(name: str) -> AnyMachine:
    """One machine of the catalogue.

    >>> catalogue("letter").stack
    ('#', 'A')
    """
    return parse(text_of(name), f"{name}.pdrm")
