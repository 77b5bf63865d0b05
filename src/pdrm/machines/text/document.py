"""A machine as it is written: header lines and rules with every word's place, whatever the file format.

The readers (text, JSON, Toro Icarte's) make documents; `build` turns a document into a machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pdrm.errors import PdrmError, Where
from pdrm.machines.guard import Guard
from pdrm.machines.text.syntax import Word

KEYWORDS = ("name", "events", "exclusive", "stack", "counters", "states", "start", "final", "otherwise")


@dataclass(frozen=True, slots=True)
class Header:
    """One header line: its keyword and the words after it."""

    keyword: Word
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """One rule with its variables filled in. `look` and `change` are None where the rule has no such part, symbols for a
    pushdown machine, and are marked `vector` for a counting automaton."""

    source: str
    target: str
    guard: Guard
    look: tuple[str, ...] | None
    change: tuple[str, ...] | None
    vector: bool
    reward: float
    where: Where


@dataclass(slots=True)
class Document:
    """Header lines and rules, in the order of the text, and the faults met while reading."""

    file: str
    headers: list[Header] = field(default_factory=list)
    rules: list[RuleSpec] = field(default_factory=list)
    errors: list[PdrmError] = field(default_factory=list)

    def lines(self, keyword: str) -> list[Header]:
        """The header lines with this keyword."""
        return [header for header in self.headers if header.keyword.text == keyword]

    def locate(self, error: PdrmError) -> PdrmError:
        """Point an error at its word: in the line it names, or at the last header that holds the word."""
        if error.where is not None and error.word:
            column = _column(error.where, error.word)
            if column:
                where = error.where
                error.where = Where(where.file, where.line, column, where.text, len(error.word))
        elif error.where is None:
            places = [word.where for header in self.headers for word in header.words if word.text == error.word]
            first = self.headers[0].keyword.where if self.headers else Where(self.file, 1, 1)
            error.where = places[-1] if places else first
        return error


def _column(where: Where, word: str) -> int:
    """The column at which the word stands alone in the line, at or after the place; 0 where it does not."""
    code = where.text.partition("//")[0]
    start = code.find(word, where.column - 1)
    while start >= 0:
        before, after = code[start - 1 : start], code[start + len(word) : start + len(word) + 1]
        if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
            return start + 1
        start = code.find(word, start + 1)
    return 0
