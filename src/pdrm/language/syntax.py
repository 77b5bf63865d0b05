"""The syntax of a line: header, map, `for` or rule, parsed by recursive descent into small tuples that remember their columns.

header    WORD WORD*
mapping   "map" WORD (WORD ":" WORD)+
loop      "for" WORD "in" WORD+ ["where" condition ("and" condition)*] ":"
condition term ("==" | "!=") term
rule      term "->" term ":" guard ["," look "/" change] "," term
look      term | vector                 vector  "[" WORD ("," WORD)* "]"
change    term+ | vector                term    WORD ["(" term ")"]
guard     "{" [term ("," term)*] "}" | formula
formula   conjunction ("|" conjunction)*
conjunction literal ("&" literal)*
literal   term | "!" literal | "(" formula ")"
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from pdrm.errors import BadReward, CannotRead, Where
from pdrm.language.source import COMMENTS, Line, check_depth
from pdrm.machines.guards import SILENT, And, Event, Exactly, Formula, Guard, Not, Or

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,6})?", re.ASCII)
SIGN_OR_WORD = r"[ \t]*+(?:({signs})|((?:(?!->)[^\s{{}}()\[\],:/&|!<>=])++)|(\S|\s))"
RULE_TOKEN = re.compile(SIGN_OR_WORD.format(signs=r"->|[{}()\[\],:/&|!]"))
LOOP_TOKEN = re.compile(SIGN_OR_WORD.format(signs=r"->|==|!=|[{}()\[\],:/&|!]"))
"""A sign, a word, or a character that is neither."""

SHAPES = {
    "header": "KEYWORD WORD …, for example `events A B C`",
    "mapping": "map NAME KEY:VALUE …, for example `map back u:d d:u`",
    "loop": "for NAME in WORD … :, for example `for a in u d l r where a != u:`",
    "rule": "SOURCE -> TARGET : LABEL, TOP / PUSH, REWARD, for example `u0 -> u0 : {A}, z / A z, -0.01`",
    "guard": "{a, t}, a & !t, true or eps",
}
"""How each kind of line is written, for the fix of a syntax error."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a line and where it stands."""

    text: str
    where: Where

    def __str__(self) -> str:
        return self.text


class Term(NamedTuple):
    """A word, or a map applied to a term: `back(a)`."""

    word: str
    argument: Term | None
    column: int
    end: int


class Formed(NamedTuple):
    """A guard as it is written: `{` of terms, `&`, `|` and `!` of parts, or a term alone."""

    sign: str
    parts: tuple[Formed | Term, ...]


class Vector(NamedTuple):
    """The tests or the changes of counters."""

    entries: tuple[str, ...]


class RuleLine(NamedTuple):
    """A rule as it is written; `look` and `change` are None if it has no such part."""

    source: Term
    target: Term
    guard: Formed
    look: tuple[Term, ...] | Vector | None
    change: tuple[Term, ...] | Vector | None
    reward: Term


class HeaderLine(NamedTuple):
    """A keyword and the words after it."""

    words: tuple[Term, ...]


class MapLine(NamedTuple):
    """The name of a map, and its keys with their values."""

    name: Term
    pairs: tuple[tuple[Term, Term], ...]


class Condition(NamedTuple):
    """`left == right` or `left != right`."""

    left: Term
    equal: bool
    right: Term


class LoopLine(NamedTuple):
    """The variable of a `for`, its values, and the conditions on them."""

    variable: Term
    words: tuple[Term, ...]
    conditions: tuple[Condition, ...]


ParsedLine = HeaderLine | MapLine | LoopLine | RuleLine


def parse_line(line: Line) -> ParsedLine:
    """Parse a line as what its first words say that it is."""
    code, first = line.code, line.code.split(maxsplit=1)[0]
    if first == "for" and "->" not in code:
        return _Parser(line, "loop").loop()
    if "->" in code or (":" in code and "," in code):
        return _Parser(line, "rule").rule()
    return _Parser(line, first).mapping() if first == "map" else _Parser(line, "header").header()


def read_guard(line: Line) -> Guard:
    """The guard that a text of its own stands for: no loop variables, no maps, no comment."""

    def plain(term: Term) -> str:
        if term.argument is not None or line.comment:
            fix = f"write {SHAPES['guard']}"
            raise CannotRead("only events may stand in this label", where=line.at(1), fix=fix)
        return term.word

    parser = _Parser(line, "guard")
    guard = parser.guard()
    parser.end()
    return guard_of(guard, plain)


def guard_of(formed: Formed, resolve: Callable[[Term], str]) -> Guard:
    """The guard that is written, given what its terms stand for."""
    if formed.sign == "{":
        return Exactly(frozenset(resolve(term) for term in formed.parts if isinstance(term, Term)))
    (part,) = formed.parts
    if isinstance(part, Term) and resolve(part) == "eps":
        return SILENT
    return _formula_of(part, resolve)


def _formula_of(part: Formed | Term, resolve: Callable[[Term], str]) -> Formula:
    if isinstance(part, Term):
        name = resolve(part)
        return And() if name == "true" else Or() if name == "false" else Event(name)
    parts = tuple(_formula_of(one, resolve) for one in part.parts)
    if part.sign == "!":
        return Not(parts[0])
    return And(parts) if part.sign == "&" else Or(parts)


class _Token(NamedTuple):
    text: str
    is_word: bool
    column: int


class _Parser:
    """The tokens of a line, taken one after the other."""

    def __init__(self, line: Line, shape: str) -> None:
        check_depth(line)
        self.line = line
        self.shape = "mapping" if shape == "map" else shape
        pattern = LOOP_TOKEN if shape == "loop" else RULE_TOKEN
        self.tokens = list[_Token]()
        for found in pattern.finditer(line.code):
            kind = found.lastindex or 0
            self.tokens.append(_Token(found[kind], kind == 2, found.start(kind) + 1))
        self.tokens.append(_Token("", False, len(line.code) + 1))
        self.next = 0

    # Tokens

    def sees(self, sign: str) -> bool:
        """Return True if the next token is this sign."""
        token = self.tokens[self.next]
        return token.text == sign and not token.is_word

    def take(self, *signs: str) -> str:
        """Take one of these signs or keywords."""
        token = self.tokens[self.next]
        if token.text not in signs or not token.text:
            raise self.refuse(*(f"`{sign}`" for sign in signs))
        self.next += 1
        return token.text

    def skip(self, sign: str) -> bool:
        """Take a sign if it is the next one."""
        found = self.sees(sign)
        self.next += found
        return found

    def word(self) -> Term:
        token = self.tokens[self.next]
        if not token.is_word:
            raise self.refuse("a name")
        self.next += 1
        return Term(token.text, None, token.column, token.column + len(token.text))

    def end(self) -> None:
        if self.tokens[self.next].text:
            raise self.refuse("the end of the line")

    def refuse(self, *expected: str) -> CannotRead:
        """The error that the next token does not fit."""
        token, code = self.tokens[self.next], self.line.code
        before = self.tokens[self.next - 1] if self.next else token
        fault = (
            f"`{token.text[:40]}` does not belong here" if token.text else "the line ends too early"
        )
        if before.text in ("&", "|", "!") and token.text in (",", ")", ""):
            token, fault = before, f"nothing stands after `{before.text}`"
        elif self.shape == "rule" and not token.text and "`,`" in expected:
            fault = "the reward is missing"
        fix = f"write {SHAPES[self.shape]}"
        ended = token.text.startswith("#") and "the end of the line" in expected
        if ended or code.lstrip().startswith(("#", "--", ";", "/*")):
            fix = COMMENTS
        where = self.line.at(token.column, max(1, len(token.text)))
        return CannotRead(f"{fault}; expected {' or '.join(expected)}", where=where, fix=fix)

    # Lines

    def header(self) -> HeaderLine:
        words = [self.word()]
        while self.tokens[self.next].text:
            words.append(self.word())
        return HeaderLine(tuple(words))

    def mapping(self) -> MapLine:
        self.take("map")
        name, pairs = self.word(), list[tuple[Term, Term]]()
        while not pairs or self.tokens[self.next].text:
            key = self.word()
            self.take(":")
            pairs.append((key, self.word()))
        return MapLine(name, tuple(pairs))

    def loop(self) -> LoopLine:
        self.take("for")
        variable = self.word()
        self.take("in")
        words = [self.word()]
        while self.tokens[self.next].is_word and self.tokens[self.next].text != "where":
            words.append(self.word())
        conditions: list[Condition] = []
        if self.take("where", ":") == "where":
            following = "and"
            while following == "and":
                left = self.term()
                equal = self.take("==", "!=") == "=="
                conditions.append(Condition(left, equal, self.term()))
                following = self.take("and", ":")
        self.end()
        return LoopLine(variable, tuple(words), tuple(conditions))

    def rule(self) -> RuleLine:
        source = self.term()
        self.take("->")
        target = self.term()
        self.take(":")
        guard = self.guard()
        self.take(",")
        if self.sees("["):
            look: Vector | tuple[Term, ...] = self.vector()
        else:
            only = self.term()
            if not self.sees("/"):
                self.end()
                return RuleLine(source, target, guard, None, None, only)
            look = (only,)
        self.take("/")
        change = self.vector() if self.sees("[") else self.terms()
        self.take(",")
        reward = self.term()
        self.end()
        return RuleLine(source, target, guard, look, change, reward)

    # Parts of lines

    def term(self) -> Term:
        word = self.word()
        if not self.skip("("):
            return word
        argument = self.term()
        self.take(")")
        return word._replace(argument=argument, end=self.tokens[self.next - 1].column + 1)

    def terms(self) -> tuple[Term, ...]:
        found = [self.term()]
        while self.tokens[self.next].is_word:
            found.append(self.term())
        return tuple(found)

    def vector(self) -> Vector:
        self.take("[")
        entries = [self.word().word]
        while self.take(",", "]") == ",":
            entries.append(self.word().word)
        return Vector(tuple(entries))

    def guard(self) -> Formed:
        if not self.skip("{"):
            return Formed("", (self.formula(),))
        terms: list[Term] = []
        if not self.skip("}"):
            terms.append(self.term())
            while self.take(",", "}") == ",":
                terms.append(self.term())
        return Formed("{", tuple(terms))

    def formula(self) -> Formed | Term:
        parts = [self.conjunction()]
        while self.skip("|"):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else Formed("|", tuple(parts))

    def conjunction(self) -> Formed | Term:
        parts = [self.literal()]
        while self.skip("&"):
            parts.append(self.literal())
        return parts[0] if len(parts) == 1 else Formed("&", tuple(parts))

    def literal(self) -> Formed | Term:
        if self.skip("!"):
            return Formed("!", (self.literal(),))
        if not self.skip("("):
            return self.term()
        inner = self.formula()
        self.take(")")
        return inner


def number_of(text: str, where: Where, what: str = "a reward") -> float:
    """A finite number, or `BadReward`."""
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        fix = "write a finite number such as 1, -0.01 or 1e5"
        fault = f"`{text[:40]}` is not a number, but {what} must be one"
        raise BadReward(fault, where=where, fix=fix)
    return value
