"""Faults of a text: it cannot be read, or uses names that are not there (E01xx, E02xx)."""

from pdrm.errors.message import PdrmError


class CannotRead(PdrmError):
    """The line does not have the shape of a header, a `for`, a `map` or a rule.

    A rule of a pushdown machine reads `SOURCE -> TARGET : LABEL, TOP / PUSH, REWARD`, for example
    `u0 -> u0 : {A}, z / A z, -0.01`. Labels are exact sets `{a, t}`, formulas `a & !t`, or `eps`.
    """

    code = "E0101"


class UnknownKeyword(PdrmError):
    """A header line starts with a word that is not a keyword.

    The keywords are name, events, exclusive, stack, counters, states, start, final, otherwise, map and for.
    """

    code = "E0102"


class BadReward(PdrmError):
    """A reward must be a finite number such as `1`, `-0.01` or `1e5`; `nan`, `inf` and words are refused."""

    code = "E0103"


class BadIndentation(PdrmError):
    """The rules inside a `for` block are indented with spaces, all by the same amount, and nothing else is."""

    code = "E0104"


class NotUtf8(PdrmError):
    """Machine files are UTF-8 text. The message names the first byte that is not."""

    code = "E0105"


class TooLarge(PdrmError):
    """A file, a line, a formula or an expansion is beyond what a hand-written machine can need.

    The limits keep a damaged or hostile file from eating the machine's time and memory.
    """

    code = "E0106"


class TooDeep(PdrmError):
    """Parentheses, negations, `for` blocks or JSON values are nested beyond reason."""

    code = "E0107"


class BadName(PdrmError):
    """A name may not be empty, hold spaces or any of `{ } ( ) [ ] , : / & | ! < > = +`, nor start with `-`.

    `z` (any stack symbol) and `eps` (none) cannot name a stack symbol; `eps` and `true` cannot name an event.
    """

    code = "E0108"


class BadNumber(PdrmError):
    """A count must be a whole number: the number of counters, a counter test (0, 1 or -) or a counter change."""

    code = "E0109"


class BadShape(PdrmError):
    """A JSON value has the wrong type, a key is missing, or a key is not known. See the published schema."""

    code = "E0110"


class NotConstant(PdrmError):
    """Only `ConstantRewardFunction(NUMBER)` can be read: other reward functions are Python code we do not run."""

    code = "E0111"


class UnknownState(PdrmError):
    """A rule, `start` or `otherwise` names a state that no rule leaves and that is not final.

    If a dead end is meant, declare all states: `states u0 u1 dead`.
    """

    code = "E0201"


class UnknownEvent(PdrmError):
    """A guard or a label uses an event that the machine's `events` line does not declare."""

    code = "E0202"


class UnknownSymbol(PdrmError):
    """A rule uses a stack symbol that the machine's `stack` line does not declare.

    `z` may be pushed back only by a rule that looked at `z`.
    """

    code = "E0203"


class DuplicateName(PdrmError):
    """One name is defined twice: two headers, two events, two symbols, two entries of a map, or a loop variable that is
    also an event, a symbol or a state."""

    code = "E0204"


class MissingHeader(PdrmError):
    """A machine needs `start` and `otherwise`.

    `otherwise` says what happens where no rule applies: `otherwise stay R`, `otherwise go STATE R` or `otherwise error`.
    """

    code = "E0205"


class UnknownMap(PdrmError):
    """A `f(x)` uses a map that is not defined above it, or a value the map does not list."""

    code = "E0206"


class NoBottom(PdrmError):
    """The `stack` line lists the stack symbols, the bottom (initial) one first: it must list at least one."""

    code = "E0207"
