"""The catalogue: every machine printed in the paper, and a few classics, as .pdrm files."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import takewhile

from pdrm.errors import UnknownMachine, did_you_mean
from pdrm.machines.text.build import AnyMachine
from pdrm.machines.text.files import parse

SENTENCE_END = re.compile(r"\.\)?(?=\s|$)")


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
    """What a machine is, in the whole sentences that the first line of its file has, or in the first one.

    >>> about("treasure-maze")
    '1-TreasureMaze (Appendix E): find the treasure t, then retrace the path to the start x.'
    """
    comments = takewhile(lambda line: line.startswith("//"), text_of(name).splitlines())
    first, *more = (line.removeprefix("//").strip() for line in comments)
    whole = " ".join([first, *more])
    ends = [end.end() for end in SENTENCE_END.finditer(whole)]
    return whole[: max((end for end in ends if end <= len(first)), default=min(ends, default=len(whole)))]


def catalogue(name: str) -> AnyMachine:
    """One machine of the catalogue.

    >>> catalogue("letter").stack
    ('#', 'A')
    """
    return parse(text_of(name), f"{name}.pdrm")
