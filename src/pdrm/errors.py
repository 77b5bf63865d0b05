"""Every exception of the package.

Each fault has one class, one stable code and one explanation: the class's docstring, which `pdrm explain CODE` prints.
A message says what is wrong, where (`file:line:column` with a caret), why, and what to do.
"""

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
    """The parent of every error that pdrm raises on purpose: catch it to catch them all."""

    code: ClassVar[str] = "E0000"
    title: ClassVar[str] = "something is wrong"

    def __init__(self, message: str, *, where: Where | None = None, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.fix = fix

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
    title = "several faults at once"

    def __init__(self, errors: Sequence[PdrmError]) -> None:
        super().__init__(f"{len(errors)} errors", where=errors[0].where)
        self._errors = tuple(errors)

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
    close = get_close_matches(name, words, n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    if words:
        shown = ", ".join(f"`{word}`" for word in words[:8])
        return f"known: {shown}{', …' if len(words) > 8 else ''}"
    return ""


# --- reading a text ----------------------------------------------------------------------------------------------


class CannotRead(PdrmError):
    """The line does not have the shape of a header, a `for`, a `map` or a rule.

    A rule of a pushdown machine reads `SOURCE -> TARGET : LABEL, TOP / PUSH, REWARD`, for example
    `u0 -> u0 : {A}, z / A z, -0.01`. Labels are exact sets `{a, t}`, formulas `a & !t`, or `eps`.
    """

    code = "E0101"
    title = "a line that cannot be read"


class UnknownKeyword(PdrmError):
    """A header line starts with a word that is not a keyword.

    The keywords are name, events, exclusive, stack, counters, states, start, final, otherwise, map and for.
    """

    code = "E0102"
    title = "an unknown keyword"


class BadReward(PdrmError):
    """A reward must be a finite number such as `1`, `-0.01` or `1e5`; `nan`, `inf` and words are refused."""

    code = "E0103"
    title = "a reward that is not a number"


class BadIndentation(PdrmError):
    """The rules inside a `for` block are indented with spaces, all by the same amount, and nothing else is."""

    code = "E0104"
    title = "indentation that fits no block"


class NotUtf8(PdrmError):
    """Machine files are UTF-8 text. The message names the first byte that is not."""

    code = "E0105"
    title = "not UTF-8"


class TooLarge(PdrmError):
    """A file, a line, a formula or an expansion is beyond what a hand-written machine can need.

    The limits keep a damaged or hostile file from eating the machine's time and memory.
    """

    code = "E0106"
    title = "too large"


class TooDeep(PdrmError):
    """Parentheses, negations, `for` blocks or JSON values are nested beyond reason."""

    code = "E0107"
    title = "nested too deeply"


class BadName(PdrmError):
    """A name may not be empty, hold spaces or any of `{ } ( ) [ ] , : / & | ! < > = +`, nor start with `-`.

    `z` (any stack symbol) and `eps` (none) cannot name a stack symbol; `eps` and `true` cannot name an event.
    """

    code = "E0108"
    title = "a word that cannot be a name"


class BadNumber(PdrmError):
    """A count must be a whole number: the number of counters, a counter test (0, 1 or -) or a counter change."""

    code = "E0109"
    title = "not a whole number"


class BadShape(PdrmError):
    """A JSON value has the wrong type, a key is missing, or a key is not known. See the published schema."""

    code = "E0110"
    title = "a JSON value of the wrong shape"


class NotConstant(PdrmError):
    """Only `ConstantRewardFunction(NUMBER)` can be read: other reward functions are Python code we do not run."""

    code = "E0111"
    title = "a reward function that is not a constant"


# --- names -------------------------------------------------------------------------------------------------------


class UnknownState(PdrmError):
    """A rule, `start` or `otherwise` names a state that no rule leaves and that is not final.

    If a dead end is meant, declare all states: `states u0 u1 dead`.
    """

    code = "E0201"
    title = "an unknown state"


class UnknownEvent(PdrmError):
    """A guard or a label uses an event that the machine's `events` line does not declare."""

    code = "E0202"
    title = "an unknown event"


class UnknownSymbol(PdrmError):
    """A rule uses a stack symbol that the machine's `stack` line does not declare.

    `z` may be pushed back only by a rule that looked at `z`.
    """

    code = "E0203"
    title = "an unknown stack symbol"


class DuplicateName(PdrmError):
    """One name is defined twice: two headers, two events, two symbols, two entries of a map, or a loop variable that is
    also an event, a symbol or a state."""

    code = "E0204"
    title = "two definitions of one name"


class MissingHeader(PdrmError):
    """A machine needs `start` and `otherwise`.

    `otherwise` says what happens where no rule applies: `otherwise stay R`, `otherwise go STATE R` or `otherwise error`.
    """

    code = "E0205"
    title = "a missing header line"


class UnknownMap(PdrmError):
    """A `f(x)` uses a map that is not defined above it, or a value the map does not list."""

    code = "E0206"
    title = "an unknown map or map value"


class NoBottom(PdrmError):
    """The `stack` line lists the stack symbols, the bottom (initial) one first: it must list at least one."""

    code = "E0207"
    title = "the bottom symbol is missing"


# --- what a machine must obey -----------------------------------------------------------------------------------


class Nondeterministic(PdrmError):
    """Two rules of one state apply to the same label and top of stack.

    At most one rule may apply, after one precedence: a rule that names the top symbol beats a rule with `z`. A silent
    rule excludes every reading rule at the same state and top, and a rule that ignores the stack (`eps`) clashes with
    one that looks at it.
    """

    code = "E0301"
    title = "two rules at once"


class EndlessSilentMoves(PdrmError):
    """Silent moves read no label, so a machine must run out of them.

    From the configuration in the message it never does. Configurations that no word reaches count too: counterfactual
    experiences start the machine anywhere.
    """

    code = "E0302"
    title = "silent moves without end"


class FinalStateWithRules(PdrmError):
    """A final state ends the episode, so no rule may leave it (final states are disjoint from the others)."""

    code = "E0303"
    title = "a final state with outgoing rules"


class TooManyCases(PdrmError):
    """A formula splits into more cases than the determinism check will look at. Split the rule into simpler ones."""

    code = "E0304"
    title = "a formula with too many cases"


class CannotTranslate(PdrmError):
    """The theory allows no such translation, or the machine has a feature that it does not cover."""

    code = "E0305"
    title = "no translation"


# --- running a machine -------------------------------------------------------------------------------------------


class UndefinedMove(PdrmError):
    """No rule applies to this label in this configuration, and the machine says `otherwise error`."""

    code = "E0401"
    title = "an undefined move"


class MachineFinished(PdrmError):
    """The machine is in a final state: the episode is over and no further label can be read."""

    code = "E0402"
    title = "the machine has finished"


class ImpossibleLabel(PdrmError):
    """The label holds two events that the machine declares exclusive (at most one of them in any label)."""

    code = "E0403"
    title = "two exclusive events in one label"


class UnknownConfiguration(PdrmError):
    """A configuration names a state or a stack symbol that the machine does not have."""

    code = "E0404"
    title = "a configuration of another machine"


class StackFull(PdrmError):
    """The store of stacks has reached the number of distinct stacks it was given."""

    code = "E0405"
    title = "too many distinct stacks"


# --- files and words --------------------------------------------------------------------------------------------


class CannotOpen(PdrmError):
    """The file does not exist, is a folder, or may not be read."""

    code = "E0501"
    title = "a file that cannot be opened"


class CannotWrite(PdrmError):
    """The file could not be written (no permission, no space, no such folder). What was there before is untouched."""

    code = "E0502"
    title = "a file that cannot be written"


class UnknownFormat(PdrmError):
    """The ending of the file name says which format to write, and this one is not known."""

    code = "E0503"
    title = "an unknown format"


class BadWord(PdrmError):
    """A word is labels separated by spaces; a label is events joined by `+`, or `-` for the empty label."""

    code = "E0504"
    title = "a word that cannot be read"


class UnknownCode(PdrmError):
    """`pdrm explain` was asked about a code that does not exist."""

    code = "E0505"
    title = "an unknown error code"


class UnknownMachine(PdrmError):
    """No machine of that name is in the catalogue, and no such file exists."""

    code = "E0506"
    title = "an unknown machine"


# --- warnings ----------------------------------------------------------------------------------------------------


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


def explanations() -> dict[str, tuple[str, str]]:
    """Code -> (title, explanation) of every error and warning.

    >>> explanations()["E0301"][0]
    'two rules at once'
    """
    table = {kind.code: (kind.title, kind.__doc__ or "") for kind in PdrmError.__subclasses__()}
    table |= {code: (text.split(".")[0].split(":")[0], text) for code, text in WARNINGS.items()}
    return dict(sorted(table.items()))
