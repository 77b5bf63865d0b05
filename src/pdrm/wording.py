"""The parts of a message: locations, spelling suggestions, plurals, and the caller's line."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

SHOWN_WIDTH = 120
"""Maximum number of characters of an offending line that a message quotes."""


@dataclass(frozen=True, slots=True)
class Where:
    """A source location: 1-based line and column with the line's text, or in JSON a path of keys.

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


def format_message(message: str, where: Where | None, fix: str) -> str:
    """An error or warning with its location and fix."""
    lines = [message]
    if where is not None:
        lines.append(f"  --> {where}")
        if where.line:
            lines.append(where.picture())
    if fix:
        lines.append(f"  fix: {fix}")
    return "\n".join(lines)


def name_alike(word: str, known: Iterable[str], cutoff: float = 0.66) -> str:
    """The closest known word, or "" if none has a similarity of at least `cutoff`.

    >>> name_alike("shoe", ["sock", "Shoes"]), name_alike("shoe", ["sock"])
    ('Shoes', '')
    """
    words = {name.casefold(): name for name in known}
    close = get_close_matches(word.casefold(), words, n=1, cutoff=cutoff)
    return words[close[0]] if close else ""


def suggest(word: str, known: Iterable[str], fix: str) -> str:
    """A fix that suggests the closest known word, if any, before another fix."""
    like = name_alike(word, known)
    return f"did you mean `{like}`? (or {fix})" if like else fix


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the closest known word or a completion of the name, otherwise the known words.

    >>> did_you_mean("fina", ["final_state"]), did_you_mean("sarsa", ["summary"])
    ('did you mean `final_state`?', 'known: `summary`')
    """
    words = list(dict.fromkeys(known))
    completions = (word for word in words if name and word.startswith(name))
    close = name_alike(name, words, 0.7) or next(completions, "")
    if close:
        return f"did you mean `{close}`?"
    shown = ", ".join(f"`{word}`" for word in words[:8])
    return f"known: {shown}{', …' if len(words) > 8 else ''}" if words else ""


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "counter"), plural(1_200, "state")
    ('1 counter', '1,200 states')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def caller_stacklevel() -> int:
    """The `stacklevel` of the line that called the package, past the wrappers of Gymnasium."""
    frame = sys._getframe(1)
    level = 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "pdrm",
        "gymnasium",
    ):
        frame = frame.f_back
        level += 1
    return level
