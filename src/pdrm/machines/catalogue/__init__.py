"""The catalogue: every machine printed in the paper, and a few classics, as .pdrm files."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import takewhile

from pdrm.errors import UnknownMachine, did_you_mean
from pdrm.machines.text.build import AnyMachine
from pdrm.machines.text.files import parse

SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z([])")
"""Where one sentence ends and another begins."""


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


def about(name: str) -> str:
    """What a machine is: the first sentence of its file.

    >>> about("treasure-maze")
    '1-TreasureMaze (Appendix E): find the treasure t, then retrace the path to the start x.'
    """
    comment = "\n".join(takewhile(lambda line: line.startswith("//"), text_of(name).splitlines()))
    return " ".join(SENTENCE.split(comment.replace("//", ""))[0].split())


def catalogue(name: str) -> AnyMachine:
    """One machine of the catalogue.

    >>> catalogue("letter").stack
    ('#', 'A')
    """
    return parse(text_of(name), f"{name}.pdrm")
