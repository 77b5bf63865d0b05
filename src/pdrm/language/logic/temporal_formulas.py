"""Formulas of linear temporal logic on finite traces, with past, and the Declare patterns.

`G(call -> F answer)`: events, `true`, `false`, `! & | -> <->`, the future operators `X` (next), `WX`
or `N` (next, if there is one), `F`, `G`, `U`, `W`, `R`, `M`, the past operators `Y` (yesterday), `Z`
(yesterday, if there was one), `O`, `H`, `S`, `T`, the places `first` and `last`, and patterns by
name, `response(call, answer)`. An event that is called like an operator stands in double quotes. A
formula is kept in the few operators that the others are short for: not, and, X, U, Y, S.
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


@dataclass(frozen=True, eq=False, slots=True)
class Temporal:
    """A formula: an event, or an operator (`true ! & X U Y S`) and what it is of; made by `temporal`.

    >>> a, b = temporal("event", name="a"), temporal("event", name="b")
    >>> dual(eventually)(a) is negate(until(HOLDS, negate(a)))
    True
    """

    operator: str
    parts: tuple[Temporal, ...]
    name: str


@cache
def temporal(operator: str, parts: tuple[Temporal, ...] = (), name: str = "") -> Temporal:
    """A formula; equal ones are one object, so that one in which parts occur many times stays small."""
    return Temporal(operator, parts, name)


def subformulas(formula: Temporal) -> list[Temporal]:
    """The formula and its parts, each once, parts before what they are parts of."""
    found: dict[Temporal, None] = {}
    todo = [formula]
    while todo:
        current = todo[-1]
        waiting = [part for part in reversed(current.parts) if part not in found]
        if waiting and current not in found:
            todo += waiting
        else:
            found[todo.pop()] = None
    return list(found)


# --- The few operators, and what is short for them

HOLDS = temporal("true")


def negate(part: Temporal) -> Temporal:
    """The negation; of a negation, what it negates."""
    return part.parts[0] if part.operator == "!" else temporal("!", (part,))


FAILS = negate(HOLDS)


def both(*parts: Temporal) -> Temporal:
    """The conjunction, without what is written twice."""
    flat: dict[Temporal, None] = {}
    for part in parts:
        flat |= dict.fromkeys(part.parts if part.operator == "&" else [part])
    flat.pop(HOLDS, None)
    if FAILS in flat:
        return FAILS
    return temporal("&", tuple(flat)) if len(flat) > 1 else next(iter(flat), HOLDS)


Operator = Callable[..., Temporal]


def dual(operator: Operator) -> Operator:
    """The operator that says the same of negations, negated: `G` of `F`."""
    return lambda *parts: negate(operator(*map(negate, parts)))


def _operator(name: str) -> Operator:
    """An operator of which its last part is left if that never holds; of two parts, also if it always does."""

    def make(*parts: Temporal) -> Temporal:
        if parts[-1] == FAILS or parts[1:] == (HOLDS,):
            return parts[-1]
        return temporal(name, parts)

    return make


either = dual(both)
after = _operator("X")
"""There is a next label, and it holds there."""
before = _operator("Y")
"""There was a label before, and it held there."""


until = _operator("U")
"""`until(part, goal)`: the goal holds here or later, and the part until then."""
since = _operator("S")
"""`since(part, goal)`: the goal held here or before, and the part since then."""


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
    "->": lambda one, other: either(negate(one), other),
    "<->": lambda one, other: either(both(one, other), both(negate(one), negate(other))),
}
STRENGTH = {"<->": 1, "->": 2, "|": 3, "&": 4, **dict.fromkeys(TEMPORAL_BINARY, 5)}
"""The strength with which each operator binds the formulas next to it."""
STRONGEST = 6
"""The strength of operators in front of a formula."""
FROM_THE_LEFT = ("<->", "|", "&")
SAME = {"&&": "&", "||": "|", "~": "!", "=>": "->", "<=>": "<->"}
PLACES = {
    "true": HOLDS,
    "false": FAILS,
    "first": negate(before(HOLDS)),
    "last": negate(after(HOLDS)),
}
PAST = frozenset(("Y", "Z", "O", "H", "S", "T", "first"))


def events_in(formula: Temporal) -> list[str]:
    """The events of a formula, in the order they are written."""
    return [part.name for part in subformulas(formula) if part.operator == "event"]


# --- Patterns: those that the Declare language names (van der Aalst, Pesic and Schonenberg 2009), and a few for tasks


class Pattern(NamedTuple):
    """A formula with a name."""

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
"""Every pattern by its name. The arguments of a call may be formulas themselves."""


# --- Reading a formula

TOKEN = re.compile(
    r"\s*(?:(?P<sign><->|<=>|->|=>|&&|\|\||[!~&|(),])"
    r'|(?P<quoted>"[^"\n]*")'
    r"|(?P<name>(?!-)(?:(?!->)[^\s\x00-\x1f\x7f{}()\[\],:/&|!<>=+\"'\\~]){1,100})"
    r"|(?P<odd>\S))"
)
"""Names as `machine.NAME` has them, without `~`; `a->b` is an event and an arrow."""
EMPTY: Mapping[str, Temporal] = {}
FORMULA = "<formula>"
"""The name in messages of a formula that is not in a file."""


def parse_formula(text: str) -> Temporal:
    """Read a formula.

    >>> parse_formula("response(a, b)") is parse_formula("G(a -> F b)")
    True
    """
    return _FormulaParser(split_lines(text, FORMULA), FORMULA, None).parse()


def parse_task(
    lines: list[Line], events: Collection[str] | None = None, file: str = FORMULA
) -> tuple[Temporal, bool]:
    """Read the formula on some lines, about these events (default: any).

    A formula that is written with past operators only is about the last label; then True is returned with it.

    >>> parse_task([Line("t.ltlf", 1, "O a & !b")]) == (parse_formula("F(last & O a & !b)"), True)
    True
    """
    parser = _FormulaParser(lines, file, events)
    formula = parser.parse()
    looks_back = bool(parser.written & PAST) and not parser.written - PAST
    return eventually(both(PLACES["last"], formula)) if looks_back else formula, looks_back


class _FormulaParser(Cursor):
    """Reads tokens from the left; operators bind by their strength."""

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
        """The formulas that the events of a pattern stand for."""
        self.written: set[str] = set()
        """Temporal operators, places and patterns so far."""

    def fail(self, message: str, fix: str, token: Token | None = None) -> NoReturn:
        raise CannotRead(message, where=(token or self.current).where, fix=fix)

    @property
    def operator(self) -> str:
        """The operator or sign that stands here, however it is spelt; empty if it is another word."""
        text = SAME.get(self.current.text, self.current.text)
        return text if self.current.kind in ("sign", "name") else ""

    def parse(self) -> Temporal:
        formula = self.binary()
        if not self.at_end:
            fix = "join the two by `&`, `|`, `->` or `U`, and close all parentheses once"
            self.fail(f"the formula is complete before `{self.current.text}`", fix)
        return formula

    def binary(self, weakest: int = 0) -> Temporal:
        """A formula up to an operator that binds less than `weakest`."""
        with self.nested():
            if (sign := self.operator) in UNARY:
                self.next()
                self.written |= {sign} - {"!"}
                left = UNARY[sign](self.binary(STRONGEST))
            else:
                left = self.single()
            while STRENGTH.get(sign := self.operator, -1) >= weakest:
                self.written |= {sign} & TEMPORAL_BINARY.keys()
                parts = [left]
                while self.operator == sign and (len(parts) < 2 or sign in ("&", "|")):
                    self.next()
                    parts.append(self.binary(STRENGTH[sign] + (sign in FROM_THE_LEFT)))
                left = BINARY[sign](*parts)  # a long conjunction costs its length only
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
        found = f"`{token.text}`" if token.text else "the end"
        fix = 'write events and operators: `F(a & X F b)`; `"U"` is the event U'
        return self.fail(f"a formula is missing before {found}", fix, token)

    def call(self, name: Token, opened: Token) -> Temporal:
        """A pattern and its arguments."""
        pattern = PATTERNS.get(name.text)
        if pattern is None:
            fix = did_you_mean(name.text, [*PATTERNS, *UNARY])
            self.fail(f"no pattern is called `{name.text}`", fix, name)
        self.written.add(name.text)
        arguments = [self.binary()]
        while self.take(","):
            arguments.append(self.binary())
        self.expect(")", opened)
        wanted = pattern.arguments.split()
        if len(arguments) != len(wanted):
            fix = f"write `{name.text}({', '.join(wanted)})`: {pattern.meaning}"
            self.fail(f"`{name.text}` takes {len(wanted)}, not {len(arguments)}", fix, name)
        given = dict(zip(wanted, arguments, strict=True))
        return _FormulaParser(split_lines(pattern.formula, FORMULA), FORMULA, None, given).parse()

    def event(self, token: Token) -> Temporal:
        text = token.text.strip('"')
        if token.kind == "name" and text not in (self.events or ()) and text in PLACES:
            self.written |= {text} & {"first", "last"}
            return PLACES[text]
        if text in self.arguments:
            return self.arguments[text]
        if text in RESERVED_EVENTS:
            self.fail(f"`{text}` cannot be an event", "use another name", token)
        if self.events is not None and text not in self.events:
            fix = did_you_mean(text, self.events) or "list it among the events"
            fault = f"`{text}` is not one of the events"
            raise UnknownEvent(fault, where=token.where, fix=fix, word=text)
        return temporal("event", name=text)

    def expect(self, sign: str, opened: Token) -> None:
        if not self.take(sign):
            found = f"`{self.current.text}`" if self.current.text else "the end"
            fix = f"close the parenthesis of {opened.where}"
            self.fail(f"`{sign}` is missing before {found}", fix)
