"""Reading .pdrm text: lines by recursive descent, blocks by indentation; `for` blocks unrolled, maps applied.

Every faulty line is reported, not just the first.

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

import re
from collections.abc import Mapping

from pdrm.errors import (
    BadIndentation,
    BadName,
    CannotRead,
    DuplicateName,
    PdrmError,
    TooDeep,
    UnknownKeyword,
    UnknownMap,
    Where,
    did_you_mean,
)
from pdrm.files import MAX_LINE_LENGTH, MAX_NESTING
from pdrm.language.document import (
    KEYWORDS,
    UNWRITTEN,
    AnyRule,
    Document,
    integer_of,
    number_of,
)
from pdrm.language.source import COMMENTS, Cursor, Line, Token, limit, scan, split_lines
from pdrm.machines.counting import CountingTransition
from pdrm.machines.guards import SILENT, And, Event, Exactly, Formula, Guard, Not, Or
from pdrm.machines.transitions import NONE, Transition

# --- Lines

TOKEN = re.compile(
    r"[ \t]*+(?:(?P<sign>->|==|!=|[{}()\[\],:/&|!])"
    r"|(?P<name>(?:(?!->)[^\s{}()\[\],:/&|!<>=])++)|(?P<odd>\S|\s))"
)
"""A sign, a word, or a character that is neither."""

SHAPES = {
    "header": "KEYWORD WORD …, for example `events A B C`",
    "mapping": "map NAME KEY:VALUE …, for example `map back u:d d:u`",
    "loop": "for NAME in WORD … :, for example `for a in u d l r where a != u:`",
    "rule": "SOURCE -> TARGET : LABEL, TOP / PUSH, REWARD, for example `u0 -> u0 : a & !t, z / A z, -0.01`",
    "guard": "{a, t}, a & !t, true or eps",
}
"""The syntax of each kind of line, for the fix of a syntax error."""


def read_guard(line: Line) -> Guard:
    """The guard that a text of its own stands for: no loop variables, no maps, no comment."""
    if line.comment:
        fix = f"write {SHAPES['guard']}"
        raise CannotRead("a label has no comment", where=line.at(1), fix=fix)
    parser = LineParser(line, {}, "guard")
    guard = parser.guard()
    parser.end()
    return guard


def read_guard_at(text: str, where: Where) -> Guard:
    """The guard in a text; its errors are shown at another place."""
    try:
        return read_guard(Line(where.file, 1, text))
    except PdrmError as error:
        fault = f"{error.message} in the label `{text[:60]}`"
        raise type(error)(fault, where=where, fix=error.fix) from None


class LineParser(Cursor):
    """The tokens of a line, taken one after the other; words are replaced by what they stand for."""

    def __init__(self, line: Line, maps: dict[str, dict[str, str]], shape: str = "") -> None:
        self.line = line
        self.maps = maps
        self.shape = shape or _shape_of(line.code)
        super().__init__(scan([line], line.file, TOKEN, MAX_LINE_LENGTH))
        self.begin({})

    def begin(self, values: Mapping[str, str]) -> None:
        """Return to the first token, with these values of loop variables."""
        self.position = self.depth = 0
        self.values = values

    # Tokens

    def expect(self, *texts: str) -> str:
        """Take one of these signs or keywords."""
        if self.here.text not in texts or self.at_end:
            raise self.refuse(*(f"`{text}`" for text in texts))
        return self.next().text

    def word(self) -> Token:
        """Take a word as it is written."""
        if self.here.kind != "name":
            raise self.refuse("a name")
        return self.next()

    def end(self) -> None:
        if not self.at_end:
            raise self.refuse("the end of the line")

    def refuse(self, *expected: str) -> CannotRead:
        """The error that the next token does not fit."""
        token = self.here
        before = self.tokens[self.position - 1] if self.position else token
        fault = (
            f"`{token.text[:40]}` does not belong here" if token.text else "the line ends too early"
        )
        if before.text in ("&", "|", "!") and token.text in (",", ")", ""):
            token = before
            fault = f"nothing stands after `{before.text}`"
        fix = f"write {SHAPES[self.shape]}"
        if "#" in (token.text[:1], self.line.code.lstrip()[:1]):
            fix = COMMENTS
        fault = f"{fault}; expected {' or '.join(expected)}"
        return CannotRead(fault, where=token.where, fix=fix)

    # Lines

    def header(self) -> list[Token]:
        """A keyword and the words after it."""
        keyword = self.word()
        if keyword.text not in KEYWORDS:
            fix = did_you_mean(keyword.text, (*KEYWORDS, "map", "for"))
            fix = COMMENTS if keyword.text.startswith("#") else fix
            fault = f"`{keyword.text[:40]}` is not a keyword"
            raise UnknownKeyword(fault, where=keyword.where, fix=fix)
        words = [keyword]
        while not self.at_end:
            words.append(self.word())
        return words

    def mapping(self) -> None:
        """Keep a map: its keys and their values."""
        self.expect("map")
        name = self.word()
        if name.text in self.maps:
            fault = f"map `{name}` is defined twice"
            raise DuplicateName(fault, where=name.where, fix="rename one")
        entries: dict[str, str] = {}
        while not entries or not self.at_end:
            key = self.word()
            self.expect(":")
            if key.text in entries:
                fault = f"map `{name}` has two values for `{key}`"
                raise DuplicateName(fault, where=key.where, fix="keep one of them")
            entries[key.text] = self.word().text
        self.maps[name.text] = entries

    def loop(self) -> tuple[Token, list[str]]:
        """The variable of a `for` and its values; the conditions follow."""
        self.expect("for")
        variable = self.word()
        self.expect("in")
        words = [self.term()]
        while self.here.kind == "name" and self.here.text != "where":
            words.append(self.term())
        return variable, words

    def conditions(self) -> bool:
        """Return True if the conditions of a `for` hold for the values."""
        holds = True
        if self.expect("where", ":") == "where":
            following = "and"
            while following == "and":
                left = self.term()
                equal = self.expect("==", "!=") == "=="
                holds &= (left == self.term()) == equal
                following = self.expect("and", ":")
        self.end()
        return holds

    def rule(self) -> AnyRule:
        line = self.line
        where = line.at(line.indent + 1, max(1, len(line.code) - line.indent))
        source = self.term()
        self.expect("->")
        target = self.term()
        self.expect(":")
        ends = (source, target, self.guard())
        self.expect(",")
        if self.here.text == "[":
            tests = tuple(map(str, self.vector()))
            self.expect("/")
            changes = tuple(integer_of(one.text, one.where) for one in self.vector())
            self.expect(",")
            return CountingTransition(*ends, tests, changes, self.reward(), where)
        begin = self.position
        top = self.term()
        if not self.take("/"):
            self.position = begin
            return Transition(*ends, UNWRITTEN, (), self.reward(), where)
        push = [self.term()]
        while self.here.kind == "name":
            push.append(self.term())
        self.expect(",")
        replaced = tuple(symbol for symbol in push if symbol != NONE)
        return Transition(*ends, top, replaced, self.reward(), where)

    def reward(self) -> float:
        """The last part of a rule."""
        token = self.here
        paid = self.term()
        self.end()
        return number_of(paid, token.where)

    # Parts of lines

    def term(self) -> str:
        """A word, or a map applied to a term: `back(a)`."""
        name, where, _ = self.word()
        if not self.take("("):
            return self.values.get(name, name)
        with self.nested():
            key = self.term()
        self.expect(")")
        if name not in self.maps:
            fix = did_you_mean(name, self.maps) or f"define it above: `map {name} {key}:…`"
            raise UnknownMap(f"no map is called `{name}`", where=where, fix=fix)
        if key not in self.maps[name]:
            fault = f"map `{name}` has no value for `{key}`"
            raise UnknownMap(fault, where=where, fix=f"add `{key}:…` to its line")
        return self.maps[name][key]

    def vector(self) -> list[Token]:
        """The tests or the changes of counters."""
        self.expect("[")
        entries = [self.word()]
        while self.expect(",", "]") == ",":
            entries.append(self.word())
        return entries

    def guard(self) -> Guard:
        if not self.take("{"):
            formula = self.formula()
            return SILENT if formula == Event("eps") else formula
        events: set[str] = set()
        if not self.take("}"):
            events.add(self.term())
            while self.expect(",", "}") == ",":
                events.add(self.term())
        return Exactly(frozenset(events))

    def formula(self) -> Formula:
        parts = [self.conjunction()]
        while self.take("|"):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def conjunction(self) -> Formula:
        parts = [self.literal()]
        while self.take("&"):
            parts.append(self.literal())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def literal(self) -> Formula:
        if self.take("!"):
            with self.nested():
                return Not(self.literal())
        if self.take("("):
            with self.nested():
                inner = self.formula()
            self.expect(")")
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


# --- Blocks

MAX_WORDS = 1_000_000
"""Words of a text's rules once its `for` blocks are unrolled, and turns of these, at most."""

NOT_VARIABLES = ("z", "eps", "true", "false")

Values = dict[str, str]
"""Loop variables and what they stand for."""


def read_text(text: str, document: Document) -> None:
    """Fill a document from .pdrm text."""
    reader = _Reader(document, text)
    reader.read(0, len(reader.lines), {})
    for keyword in ("events", "stack", "states", "final", "start"):
        for variable in reader.variables.keys() & {*document.names(keyword)}:
            fault = f"loop variable `{variable}` is also on the `{keyword}` line"
            where = reader.variables[variable]
            document.note(DuplicateName(fault, where=where, fix="rename the loop variable"))


class _Reader:
    """Fills a document from lines: blocks are found by indentation, maps remembered, loops unrolled, terms resolved."""

    def __init__(self, document: Document, text: str) -> None:
        self.document = document
        self.maps: dict[str, dict[str, str]] = {}
        lines = split_lines(text, document.file)
        self.lines = [line for line in lines if line.code.strip()]
        self.parsers: dict[int, LineParser] = {}
        """Those of lines in a `for`, which are read again."""
        self.words = 0
        self.variables: dict[str, Where] = {}

    def read(self, begin: int, end: int, values: Values) -> None:
        """Read the lines of a block; a fault in one is noted and reading continues."""
        indent = self.lines[begin].indent if values else 0
        at = begin
        while at < end:
            line = self.lines[at]
            parser = self.parsers.get(at) or LineParser(line, self.maps)
            if values:
                self.parsers[at] = parser
            self.words += len(parser.tokens)
            limit(self.words, MAX_WORDS, "words in unrolled loops", line.at(line.indent + 1))
            at += 1
            inside = at
            while parser.shape == "loop" and at < end and self.lines[at].indent > line.indent:
                at += 1
            parser.begin(values)
            with self.document.noting():
                if line.indent != indent or line.code[:indent].strip(" "):
                    fault = "the indentation of this line matches no block above it"
                    fix = "indent the lines of one `for` block alike, with spaces, and no others"
                    where = line.at(1, max(1, line.indent))
                    raise BadIndentation(fault, where=where, fix=fix)
                match parser.shape:
                    case "rule":
                        self.document.add_rule(parser.rule())
                    case "loop":
                        self._loop(parser, inside, at, values)
                    case "mapping":
                        parser.mapping()
                    case _:
                        self.document.add_header(parser.header())

    def _loop(self, parser: LineParser, begin: int, end: int, values: Values) -> None:
        at = parser.line.at(parser.line.indent + 1, 3)
        if len(values) >= MAX_NESTING:
            fault = f"`for` blocks nested more than {MAX_NESTING} deep"
            raise TooDeep(fault, where=at, fix="use fewer")
        variable, words = parser.loop()
        if begin == end:
            fix = "indent the rules that belong to it by four spaces"
            raise BadIndentation("a `for` with no lines inside it", where=at, fix=fix)
        if variable.text in NOT_VARIABLES:
            fix = "use another loop variable"
            raise BadName(f"`{variable}` has a meaning of its own", where=variable.where, fix=fix)
        if variable.text in values:
            fault = f"loop variable `{variable}` is used by an outer `for`"
            raise DuplicateName(fault, where=variable.where, fix="rename it")
        self.variables.setdefault(variable.text, variable.where)
        conditions = parser.position
        for word in words:
            inner = values | {variable.text: word}
            parser.begin(inner)
            parser.position = conditions
            if parser.conditions():
                self.read(begin, end, inner)
