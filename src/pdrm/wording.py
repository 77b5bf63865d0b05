"""The parts of a message: a place in a text, words that are nearly right, the line that called the package."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

SHOWN_WIDTH = 120
"""The most characters of an offending line that a message quotes."""


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a source text: 1-based line and column, and the line itself for the caret; in JSON, the keys that lead there.

    >>> print(Where("t.pdrm", 2, 4, "u0 => u1"), Where("t.json", path="rules[3].label"), sep=", ")
    t.pdrm:2:4, t.json: rules[3].label
    """

    file: str
    line: int = 0
    column: int = 0
    text: str = ""
    width: int = 1
    path: str = ""

    def __str__(self) -> str:
        if self.line:
            return f"{self.file}:{self.line}:{self.column}"
        return f"{self.file}: {self.path}" if self.path else self.file

    def picture(self) -> str:
        """The offending line with a caret under the column, cut to a readable width."""
        cut = max(0, self.column - SHOWN_WIDTH)
        shown = "".join(c if c.isprintable() else " " for c in self.text[cut : cut + SHOWN_WIDTH])
        margin = " " * len(str(self.line))
        caret = " " * (self.column - 1 - cut) + "^" * max(1, min(self.width, SHOWN_WIDTH))
        return f"{margin} |\n{self.line} | {shown}\n{margin} | {caret}"


def tell(said: str, where: Where | None, fix: str) -> str:
    """An error or a warning as text: what is said, the place and the fix."""
    lines = [said]
    if where is not None:
        lines.append(f"  --> {where}")
        if where.line:
            lines.append(where.picture())
    if fix:
        lines.append(f"  fix: {fix}")
    return "\n".join(lines)


def name_alike(word: str, known: Iterable[str], alike: float = 0.66) -> str:
    """The known word that is spelled almost as this one is ("" if there is none); `alike` is the least similarity, up to 1.

    >>> name_alike("shoe", ["sock", "Shoes"]), name_alike("shoe", ["sock"]), name_alike("rde", ["red"])
    ('Shoes', '', 'red')
    """
    words = {one.casefold(): one for one in known}
    close = get_close_matches(word.casefold(), words, n=1, cutoff=alike)
    return words[close[0]] if close else ""


def suggest(word: str, known: Iterable[str], fix: str) -> str:
    """A fix: the known word that is spelled almost as this one is, if there is one, or else another way out."""
    like = name_alike(word, known)
    return f"did you mean `{like}`? (or {fix})" if like else fix


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint that names the closest known word, or one that begins so, or lists the few there are.

    >>> did_you_mean("fina", ["final_state"]), did_you_mean("sarsa", ["summary"])
    ('did you mean `final_state`?', 'known: `summary`')
    """
    words = list(dict.fromkeys(known))
    begun = (word for word in words if name and word.startswith(name))
    close = name_alike(name, words, 0.7) or next(begun, "")
    if close:
        return f"did you mean `{close}`?"
    shown = ", ".join(f"`{word}`" for word in words[:8])
    return f"known: {shown}{', …' if len(words) > 8 else ''}" if words else ""


def caller_stacklevel() -> int:
    """The `stacklevel` of the line that called the package, past the wrappers of Gymnasium."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "pdrm",
        "gymnasium",
    ):
        frame, level = frame.f_back, level + 1
    return level
