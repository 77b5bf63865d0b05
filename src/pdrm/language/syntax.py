"""The syntax of a line: header, map, `for` or rule, parsed by recursive descent.

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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pdrm.errors import BadReward, CannotRead, UnknownMap, Where, did_you_mean
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
"""The syntax of each kind of line, for the fix of a syntax error."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a line and its place."""

    text: str
    where: Where

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """One rule with its variables filled in. `look` and `change` are symbols for a pushdown machine,
    the entries of a `vector` for a counting automaton, and None if the rule has no such part."""

    source: str
    target: str
    guard: Guard
    reward: float
    where: Where
    look: tuple[str, ...] | None = None
    change: tuple[str, ...] | None = None
    vector: bool = False


def read_guard(line: Line) -> Guard:
    """The guard that a text of its own stands for: no loop variables, no maps, no comment."""
    if line.comment:
        fix = f"write {SHAPES['guard']}"
        raise CannotRead("a label has no comment", where=line.at(1), fix=fix)
    parser = LineParser(line, {}, "guard")
    guard = parser.guard()
    parser.end()
    return guard


class _RuleToken(NamedTuple):
    text: str
    is_word: bool
    column: int


class LineParser:
    """The tokens of a line, taken one after the other; words are replaced by what they stand for.

    Without maps, these are kept as they are written: the line is only checked.
    """

    def __init__(
        self, line: Line, maps: Mapping[str, Mapping[str, str]] | None, shape: str = ""
    ) -> None:
        check_depth(line)
        self.line = line
        self.maps = maps
        self.shape = shape or _shape_of(line.code)
        pattern = LOOP_TOKEN if self.shape == "loop" else RULE_TOKEN
        self.tokens = list[_RuleToken]()
        for found in pattern.finditer(line.code):
            kind = found.lastindex or 0
            self.tokens.append(_RuleToken(found[kind], kind == 2, found.start(kind) + 1))
        self.tokens.append(_RuleToken("", False, len(line.code) + 1))
        self.begin({})

    def begin(self, values: Mapping[str, str]) -> None:
        """Return to the first token, with these values of loop variables."""
        self.next = 0
        self.values = values

    def check(self) -> None:
        """Raise if the line cannot be read."""
        match self.shape:
            case "rule":
                self.rule()
            case "mapping":
                self.mapping()
            case "loop":
                self.loop()
                self.conditions()
            case _:
                self.header()

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

    def word(self) -> Word:
        """Take a word as it is written."""
        token = self.tokens[self.next]
        if not token.is_word:
            raise self.refuse("a name")
        self.next += 1
        return Word(token.text, self.line.at(token.column, len(token.text)))

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

    def header(self) -> list[Word]:
        """A keyword and the words after it."""
        words = [self.word()]
        while self.tokens[self.next].text:
            words.append(self.word())
        return words

    def mapping(self) -> tuple[Word, list[tuple[Word, Word]]]:
        """The name of a map, and its keys with their values."""
        self.take("map")
        name, pairs = self.word(), list[tuple[Word, Word]]()
        while not pairs or self.tokens[self.next].text:
            key = self.word()
            self.take(":")
            pairs.append((key, self.word()))
        return name, pairs

    def loop(self) -> tuple[Word, list[str]]:
        """The variable of a `for` and its values; the conditions follow."""
        self.take("for")
        variable = self.word()
        self.take("in")
        words = [self.term()]
        while self.tokens[self.next].is_word and self.tokens[self.next].text != "where":
            words.append(self.term())
        return variable, words

    def conditions(self) -> bool:
        """Return True if the conditions of a `for` hold for the values."""
        holds = True
        if self.take("where", ":") == "where":
            following = "and"
            while following == "and":
                left = self.term()
                equal = self.take("==", "!=") == "=="
                holds &= (left == self.term()) == equal
                following = self.take("and", ":")
        self.end()
        return holds

    def rule(self) -> RuleSpec:
        source = self.term()
        self.take("->")
        target = self.term()
        self.take(":")
        guard = self.guard()
        self.take(",")
        look: tuple[str, ...] | None = None
        change: tuple[str, ...] | None = None
        vector = self.sees("[")
        begin = self.next
        paid = "" if vector else self.term()
        if vector or self.sees("/"):
            look = self.vector() if vector else (paid,)
            self.take("/")
            change = self.vector() if self.sees("[") else self.terms()
            self.take(",")
            begin = self.next
            paid = self.term()
        line = self.line
        reward = 0.0
        column = self.tokens[begin].column
        last = self.tokens[self.next - 1]
        self.end()
        if self.maps is not None:
            reward = number_of(paid, line.at(column, last.column + len(last.text) - column))
        where = line.at(line.indent + 1, max(1, len(line.code) - line.indent))
        return RuleSpec(source, target, guard, reward, where, look, change, vector)

    # Parts of lines

    def term(self) -> str:
        """A word, or a map applied to a term: `back(a)`."""
        token = self.tokens[self.next]
        if not token.is_word:
            raise self.refuse("a name")
        self.next += 1
        name = token.text
        if not self.skip("("):
            return self.values.get(name, name)
        key = self.term()
        self.take(")")
        if self.maps is None:
            return f"{name}({key})"
        where = self.line.at(token.column, self.tokens[self.next - 1].column + 1 - token.column)
        if name not in self.maps:
            fix = did_you_mean(name, self.maps) or f"define it above: `map {name} {key}:…`"
            raise UnknownMap(f"no map is called `{name}`", where=where, fix=fix)
        if key not in self.maps[name]:
            fault = f"map `{name}` has no value for `{key}`"
            raise UnknownMap(fault, where=where, fix=f"add `{key}:…` to its line")
        return self.maps[name][key]

    def terms(self) -> tuple[str, ...]:
        found = [self.term()]
        while self.tokens[self.next].is_word:
            found.append(self.term())
        return tuple(found)

    def vector(self) -> tuple[str, ...]:
        """The tests or the changes of counters."""
        self.take("[")
        entries = [self.word().text]
        while self.take(",", "]") == ",":
            entries.append(self.word().text)
        return tuple(entries)

    def guard(self) -> Guard:
        if not self.skip("{"):
            formula = self.formula()
            return SILENT if formula == Event("eps") else formula
        events: set[str] = set()
        if not self.skip("}"):
            events.add(self.term())
            while self.take(",", "}") == ",":
                events.add(self.term())
        return Exactly(frozenset(events))

    def formula(self) -> Formula:
        parts = [self.conjunction()]
        while self.skip("|"):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def conjunction(self) -> Formula:
        parts = [self.literal()]
        while self.skip("&"):
            parts.append(self.literal())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def literal(self) -> Formula:
        if self.skip("!"):
            return Not(self.literal())
        if self.skip("("):
            inner = self.formula()
            self.take(")")
            return inner
        name = self.term()
        return CONSTANTS.get(name) or Event(name)


CONSTANTS: dict[str, Formula] = {"true": And(), "false": Or()}


def _shape_of(code: str) -> str:
    """The kind of a line, as its first words say."""
    first = code.split(maxsplit=1)[0]
    if first == "for" and "->" not in code:
        return "loop"
    if "->" in code or (":" in code and "," in code):
        return "rule"
    return "mapping" if first == "map" else "header"


def number_of(text: str, where: Where, what: str = "a reward") -> float:
    """A finite number, or `BadReward`."""
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        fix = "write a finite number such as 1, -0.01 or 1e5"
        fault = f"`{text[:40]}` is not a number, but {what} must be one"
        raise BadReward(fault, where=where, fix=fix)
    return value
