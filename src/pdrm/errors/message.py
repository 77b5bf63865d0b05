"""What a message is made of: what is wrong, where (`file:line:column` with a caret), why, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import ClassVar

SHOWN_WIDTH = 120
"""Characters of an offending line that a message quotes at most."""


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a source text: 1-based line and column, and the line itself for the caret.

    >>> print(Where("t.pdrm", 2, 4, "u0 => u1"))
    t.pdrm:2:4
    """

    file: str
    line: int
    column: int
    text: str = ""
    width: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def picture(self) -> str:
        """The offending line with a caret under the column, cut to a readable width."""
        cut = max(0, self.column - 1 - SHOWN_WIDTH // 2) if self.column > SHOWN_WIDTH else 0
        shown = self.text[cut : cut + SHOWN_WIDTH]
        shown = "".join(c if c.isprintable() else " " for c in shown)
        margin = " " * len(str(self.line))
        caret = " " * (self.column - 1 - cut) + "^" * max(1, min(self.width, SHOWN_WIDTH))
        return f"{margin} |\n{self.line} | {shown}\n{margin} | {caret}"


class PdrmError(Exception):
    """The parent of every error that pdrm raises on purpose: catch it to catch them all.

    >>> print(PdrmError("nothing works", fix="begin again"))
    error[E0000]: nothing works
      fix: begin again
    """

    code: ClassVar[str] = "E0000"

    def __init__(self, message: str, *, where: Where | None = None, fix: str = "", word: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.fix = fix
        self.word = word
        """The offending word, so that a reader can point at it in the text."""

    @property
    def errors(self) -> tuple[PdrmError, ...]:
        """The faults this error stands for: itself, or each of several."""
        return (self,)

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.message}"]
        if self.where is not None:
            lines += [f"  --> {self.where}", self.where.picture()]
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)


class SeveralErrors(PdrmError):
    """One text can hold several faults; they are reported together, each with its own code."""

    code = "E0001"

    def __init__(self, errors: Sequence[PdrmError]) -> None:
        super().__init__(f"{len(errors)} errors", where=errors[0].where)
        self._errors = tuple(errors)

    def __reduce__(self) -> tuple[type[SeveralErrors], tuple[tuple[PdrmError, ...]]]:
        """How another process makes it again: from the faults, not from the message."""
        return type(self), (self._errors,)

    @property
    def errors(self) -> tuple[PdrmError, ...]:
        """The faults, in the order of the text."""
        return self._errors

    def __str__(self) -> str:
        return "\n\n".join(str(error) for error in self._errors)


def raise_all(errors: Iterable[PdrmError]) -> None:
    """Raise the one error, or all of them together, or nothing."""
    found = list(errors)
    if len(found) == 1:
        raise found[0]
    if found:
        raise SeveralErrors(found)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint that names the closest known word, or lists the few there are."""
    words = list(dict.fromkeys(known))
    same = [word for word in words if word.casefold() == name.casefold()]
    close = same or get_close_matches(name, words, n=1, cutoff=0.5)
    if close:
        return f"did you mean `{close[0]}`?"
    if words:
        shown = ", ".join(f"`{word}`" for word in words[:8])
        return f"known: {shown}{', …' if len(words) > 8 else ''}"
    return ""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a machine may do on purpose, but that is more often a mistake: a warning, never an error.

    >>> print(Finding("W0601", "state `u3` cannot be reached"))
    warning[W0601]: state `u3` cannot be reached
    """

    code: str
    message: str
    where: Where | None = None

    def __str__(self) -> str:
        place = f"\n  --> {self.where}" if self.where is not None else ""
        return f"warning[{self.code}]: {self.message}{place}"


WARNINGS = {
    "W0601": "A state cannot be reached from the start by any word. Remove it, or check the rules that should lead to it.",
    "W0602": "Labels for which no rule applies: the `otherwise` line decides there. Listed so that nothing is a surprise.",
    "W0603": "A rule never applies: its formula holds for no label, or its state and top of stack never occur together.",
    "W0604": "An event or a stack symbol is declared and never used.",
}
"""What each warning code means, for `pdrm explain`."""
