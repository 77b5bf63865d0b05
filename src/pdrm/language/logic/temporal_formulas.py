"""Formulas of linear temporal logic on finite traces, with past operators and Declare patterns.

`G(call -> F answer)` consists of events, `true`, `false`, the operators `! & | -> <->`, the future
operators `X` (next), `WX` or `N` (weak next), `F`, `G`, `U`, `W`, `R`, `M`, and the past operators
`Y` (yesterday), `Z` (weak yesterday), `O`, `H`, `S`, `T`. `first` and `last` hold at the first and
last label. Patterns are called by name: `response(call, answer)`. An event with the name of an
operator is written in double quotes. Formulas are reduced to the operators not, and, X, U, Y, S.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, NoReturn

from pdrm.errors import CannotRead, UnknownEvent, did_you_mean
from pdrm.files import MAX_FORMULA_DEPTH, MAX_FORMULA_LENGTH
from pdrm.language.source import Cursor, Line, Token, scan, split_lines
from pdrm.machines.guards import NAME
from pdrm.machines.machine import RESERVED_EVENTS
from pdrm.wording import plural


@dataclass(frozen=True, eq=False, slots=True)
class Temporal:
    """A formula: an event, or an operator (`true ! & X U Y S`) with operands.

    Created by `temporal`.

    >>> a, b = temporal("event", name="a"), temporal("event", name="b")
    >>> dual(eventually)(a) is negate(until(HOLDS, negate(a)))
    True
    """

    operator: str
    parts: tuple[Temporal, ...]
    name: str


@cache
def temporal(operator: str, parts: tuple[Temporal, ...] = (), name: str = "") -> Temporal:
    """Hash-consed constructor: equal formulas are the same object, so subformulas are shared."""
    return Temporal(operator, parts, name)


def subformulas(formula: Temporal) -> list[Temporal]:
    """All subformulas, each after its own parts."""
    order: dict[Temporal, None] = {}
    todo = [formula]
    while todo:
        current = todo[-1]
        missing = [part for part in reversed(current.parts) if part not in order]
        if missing and current not in order:
            todo += missing
        else:
            order[todo.pop()] = None
    return list(order)


# --- The primitive operators, and abbreviations

HOLDS = temporal("true")


def negate(part: Temporal) -> Temporal:
    """The negation, without double negation."""
    return part.parts[0] if part.operator == "!" else temporal("!", (part,))


FAILS = negate(HOLDS)


def both(*parts: Temporal) -> Temporal:
    """The conjunction, without duplicates."""
    flat: dict[Temporal, None] = {}
    for part in parts:
        flat |= dict.fromkeys(part.parts if part.operator == "&" else [part])
    flat.pop(HOLDS, None)
    if FAILS in flat:
        return FAILS
    return temporal("&", tuple(flat)) if len(flat) > 1 else next(iter(flat), HOLDS)


Operator = Callable[..., Temporal]


def dual(operator: Operator) -> Operator:
    """The De Morgan dual of an operator, for example `G` from `F`."""
    return lambda *parts: negate(operator(*map(negate, parts)))


def _operator(name: str) -> Operator:
    """An operator that simplifies to its last operand if that is false (or, if binary, true)."""

    def make(*parts: Temporal) -> Temporal:
        if parts[-1] == FAILS or parts[1:] == (HOLDS,):
            return parts[-1]
        return temporal(name, parts)

    return make


either = dual(both)
after = _operator("X")
"""There is a next label, and the formula holds there."""
before = _operator("Y")
"""There is a previous label, and the formula holds there."""


until = _operator("U")
"""`until(part, goal)`: the goal holds now or later, and the part holds until then."""
since = _operator("S")
"""`since(part, goal)`: the goal holds now or earlier, and the part has held since then."""


def eventually(goal: Temporal) -> Temporal:
    """`F goal`."""
    return until(HOLDS, goal)


def once(goal: Temporal) -> Temporal:
    """`O goal`."""
    return since(HOLDS, goal)


UNARY: dict[str, Operator] = {
    "!": negate,
    "X": after,
    "WX": dual(after),
    "N": dual(after),
    "F": eventually,
    "G": dual(eventually),
    "Y": before,
    "Z": dual(before),
    "O": once,
    "H": dual(once),
}
TEMPORAL_BINARY: dict[str, Operator] = {
    "U": until,
    "R": dual(until),
    "W": lambda part, goal: dual(until)(goal, either(part, goal)),
    "M": lambda part, kept: until(kept, both(part, kept)),
    "S": since,
    "T": dual(since),
}
BINARY: dict[str, Operator] = {
    **TEMPORAL_BINARY,
    "&": both,
    "|": either,
    "->": lambda left, right: either(negate(left), right),
    "<->": lambda left, right: either(both(left, right), both(negate(left), negate(right))),
}
PRECEDENCE = {"<->": 1, "->": 2, "|": 3, "&": 4, **dict.fromkeys(TEMPORAL_BINARY, 5)}
UNARY_PRECEDENCE = 6
LEFT_ASSOCIATIVE = ("<->", "|", "&")
SYNONYMS = {"&&": "&", "||": "|", "~": "!", "=>": "->", "<=>": "<->"}
CONSTANTS = {
    "true": HOLDS,
    "false": FAILS,
    "first": negate(before(HOLDS)),
    "last": negate(after(HOLDS)),
}
PAST = frozenset(("Y", "Z", "O", "H", "S", "T", "first"))


def events_in(formula: Temporal) -> list[str]:
    """The events of a formula, in the order of the text."""
    return [part.name for part in subformulas(formula) if part.operator == "event"]


# --- Patterns of Declare (van der Aalst, Pesic and Schonenberg 2009), and a few for tasks


class Pattern(NamedTuple):
    """A named formula with parameters."""

    arguments: str
    formula: str
    meaning: str


PATTERNS = {
    "existence": Pattern("a", "F a", "a happens"),
    "existence2": Pattern("a", "F(a & X F a)", "a happens at least twice"),
    "existence3": Pattern("a", "F(a & X F(a & X F a))", "a happens at least three times"),
    "absence": Pattern("a", "!F a", "a never happens"),
    "absence2": Pattern("a", "!F(a & X F a)", "a happens at most once"),
    "absence3": Pattern("a", "!F(a & X F(a & X F a))", "a happens at most twice"),
    "exactly1": Pattern("a", "F a & !F(a & X F a)", "a happens once"),
    "exactly2": Pattern("a", "F(a & X F a) & !F(a & X F(a & X F a))", "a happens twice"),
    "init": Pattern("a", "a", "a happens first of all"),
    "last": Pattern("a", "F(a & last)", "a happens last of all"),
    "choice": Pattern("a b", "F a | F b", "a or b happens, or both"),
    "exclusive_choice": Pattern("a b", "(F a | F b) & !(F a & F b)", "a or b happens, not both"),
    "responded_existence": Pattern("a b", "F a -> F b", "if a happens, so does b, before or after"),
    "co_existence": Pattern("a b", "F a <-> F b", "a and b happen both, or neither does"),
    "response": Pattern("a b", "G(a -> F b)", "after each a, b happens (at once or later)"),
    "alternate_response": Pattern(
        "a b", "G(a -> X(!a U b))", "after each a, b happens before the next a"
    ),
    "chain_response": Pattern("a b", "G(a -> X b)", "after each a, b happens next"),
    "precedence": Pattern("a b", "!b W a", "b does not happen before a has"),
    "alternate_precedence": Pattern(
        "a b", "(!b W a) & G(b -> WX(!b W a))", "before each b there is an a of its own"
    ),
    "chain_precedence": Pattern("a b", "!b & G(X b -> a)", "just before each b, a happens"),
    "succession": Pattern("a b", "G(a -> F b) & (!b W a)", "response and precedence"),
    "alternate_succession": Pattern(
        "a b",
        "G(a -> X(!a U b)) & (!b W a) & G(b -> WX(!b W a))",
        "alternate response and precedence",
    ),
    "chain_succession": Pattern("a b", "!b & G(a <-> X b)", "chain response and precedence"),
    "not_co_existence": Pattern("a b", "!(F a & F b)", "a and b do not both happen"),
    "not_succession": Pattern("a b", "G(a -> !F b)", "no b from the first a on"),
    "not_chain_succession": Pattern("a b", "G(a -> !X b)", "b never happens next after a"),
    "before": Pattern("a b", "F b & (!b U a)", "both happen, and b not before a has"),
    "sequence": Pattern("a b", "F(a & X F b)", "a, and some time after it b"),
    "sequence3": Pattern("a b c", "F(a & X F(b & X F c))", "a, after it b, after that c"),
    "avoid": Pattern("a", "G !a", "a never happens (absence, as one says of a place)"),
}
"""The patterns by name. The arguments of a call can be formulas."""


# --- Reading a formula

TOKEN = re.compile(
    r"\s*(?:(?P<sign><->|<=>|->|=>|&&|\|\||[!~&|(),])"
    r'|(?P<quoted>"[^"\n]*")'
    r"|(?P<name>(?!-)(?:(?!->)[^\s\x00-\x1f\x7f{}()\[\],:/&|!<>=+\"'\\~]){1,100})"
    r"|(?P<odd>\S))"
)
"""Names are as in `guards.NAME`, without `~`. `a->b` is an event and an arrow."""
EMPTY: Mapping[str, Temporal] = {}
FORMULA = "<formula>"
"""The file name in messages about a formula that is not in a file."""


def parse_formula(text: str) -> Temporal:
    """Read a formula.

    >>> parse_formula("response(a, b)") is parse_formula("G(a -> F b)")
    True
    """
    return _FormulaParser(split_lines(text, FORMULA), FORMULA, None).parse()


def parse_task(
    lines: list[Line], events: Collection[str] | None = None, file: str = FORMULA
) -> tuple[Temporal, bool]:
    """Read the formula of a task.

    Args:
        lines: The lines of the formula.
        events: The allowed events (default: any).
        file: The name of the file, for messages.

    Returns:
        The formula, and True if it contains only past operators. Then it is evaluated at the last
        label.

    >>> parse_task([Line("t.ltlf", 1, "O a & !b")]) == (parse_formula("F(last & O a & !b)"), True)
    True
    """
    parser = _FormulaParser(lines, file, events)
    formula = parser.parse()
    looks_back = bool(parser.used & PAST) and not parser.used - PAST
    if looks_back:
        formula = eventually(both(CONSTANTS["last"], formula))
    return formula, looks_back


class _FormulaParser(Cursor):
    """An operator-precedence parser."""

    max_depth = MAX_FORMULA_DEPTH + 1

    def __init__(
        self,
        lines: list[Line],
        file: str,
        events: Collection[str] | None,
        arguments: Mapping[str, Temporal] = EMPTY,
    ) -> None:
        super().__init__(scan(lines, file, TOKEN, MAX_FORMULA_LENGTH))
        self.events = events
        self.arguments = arguments
        """The arguments of a pattern, by the names of its parameters."""
        self.used: set[str] = set()
        """The temporal operators, constants and patterns so far."""

    def fail(self, message: str, fix: str, token: Token | None = None) -> NoReturn:
        raise CannotRead(message, where=(token or self.current).where, fix=fix)

    @property
    def operator(self) -> str:
        """The operator or sign that is the next token, in its usual spelling (otherwise empty)."""
        text = SYNONYMS.get(self.current.text, self.current.text)
        return text if self.current.kind in ("sign", "name") else ""

    def parse(self) -> Temporal:
        formula = self.binary()
        if not self.at_end:
            fix = "join the parts by `&`, `|`, `->` or `U`, and check the parentheses"
            self.fail(f"the formula is complete before `{self.current.text}`", fix)
        return formula

    def binary(self, min_precedence: int = 0) -> Temporal:
        """Read a formula up to an operator with a lower precedence."""
        with self.nested():
            if (sign := self.operator) in UNARY:
                self.next()
                self.used |= {sign} - {"!"}
                left = UNARY[sign](self.binary(UNARY_PRECEDENCE))
            else:
                left = self.single()
            while PRECEDENCE.get(sign := self.operator, -1) >= min_precedence:
                self.used |= {sign} & TEMPORAL_BINARY.keys()
                parts = [left]
                while self.operator == sign and (len(parts) < 2 or sign in ("&", "|")):
                    self.next()
                    parts.append(self.binary(PRECEDENCE[sign] + (sign in LEFT_ASSOCIATIVE)))
                left = BINARY[sign](*parts)  # a long conjunction is flat
            return left

    def single(self) -> Temporal:
        token = self.next()
        text = token.text.strip('"')
        if token.kind == "sign" and text == "(":
            inside = self.binary()
            self.expect(")", token)
            return inside
        if token.kind == "quoted" and NAME.fullmatch(text):
            return self.event(token)
        if token.kind == "name" and text not in TEMPORAL_BINARY:
            opened = self.take("(")
            return self.event(token) if opened is None else self.call(token, opened)
        following = f"`{token.text}`" if token.text else "the end"
        fix = 'write events and operators: `F(a & X F b)`; `"U"` is the event U'
        return self.fail(f"a formula is missing before {following}", fix, token)

    def call(self, name: Token, opened: Token) -> Temporal:
        """Read the arguments of a pattern, and expand it."""
        pattern = PATTERNS.get(name.text)
        if pattern is None:
            fix = did_you_mean(name.text, [*PATTERNS, *UNARY])
            self.fail(f"no pattern is called `{name.text}`", fix, name)
        self.used.add(name.text)
        arguments = [self.binary()]
        while self.take(","):
            arguments.append(self.binary())
        self.expect(")", opened)
        parameters = pattern.arguments.split()
        if len(arguments) != len(parameters):
            fix = f"write `{name.text}({', '.join(parameters)})`: {pattern.meaning}"
            counts = f"{plural(len(parameters), 'argument')}, not {len(arguments)}"
            self.fail(f"`{name.text}` takes {counts}", fix, name)
        values = dict(zip(parameters, arguments, strict=True))
        return _FormulaParser(split_lines(pattern.formula, FORMULA), FORMULA, None, values).parse()

    def event(self, token: Token) -> Temporal:
        text = token.text.strip('"')
        if token.kind == "name" and text not in (self.events or ()) and text in CONSTANTS:
            self.used |= {text} & {"first", "last"}
            return CONSTANTS[text]
        if text in self.arguments:
            return self.arguments[text]
        if text in RESERVED_EVENTS:
            self.fail(f"`{text}` cannot be an event", "use another name", token)
        if self.events is not None and text not in self.events:
            raise UnknownEvent(
                f"`{text}` is not one of the events",
                where=token.where,
                fix=did_you_mean(text, self.events) or "list it among the events",
                word=text,
            )
        return temporal("event", name=text)

    def expect(self, sign: str, opened: Token) -> None:
        if not self.take(sign):
            following = f"`{self.current.text}`" if self.current.text else "the end"
            fix = f"close the parenthesis at {opened.where}"
            self.fail(f"`{sign}` is missing before {following}", fix)
