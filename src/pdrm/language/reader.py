"""Reading .pdrm text: recursive descent on each line, blocks by indentation.

`for` blocks are unrolled and maps are applied. All lines with errors are reported.

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
from pdrm.machines.guards import (
    SILENT,
    And,
    Event,
    Exactly,
    Formula,
    Guard,
    Not,
    Or,
    join_formulas,
)
from pdrm.machines.transitions import NONE, Transition

# --- Lines

TOKEN = re.compile(
    r"[ \t]*+(?:(?P<sign>->|==|!=|[{}()\[\],:/&|!])"
    r"|(?P<name>(?:(?!->)[^\s{}()\[\],:/&|!<>=])++)|(?P<odd>\S|\s))"
)
"""A sign, a word, or a character that is neither."""

SHAPES = {
    "header": "KEYWORD WORD …, for example `events A B C`; above a formula `ltlf NAME`, "
    "above an expression `regex NAME`",
    "mapping": "map NAME KEY:VALUE …, for example `map back u:d d:u`",
    "loop": "for NAME in WORD … :, for example `for a in u d l r where a != u:`",
    "rule": "SOURCE -> TARGET : LABEL, TOP / PUSH, REWARD, "
    "for example `u0 -> u0 : a & !t, z / A z, -0.01`",
    "guard": "{a, t}, a & !t, true or eps",
}
"""The syntax of each kind of line, for the fixes of syntax errors."""


def read_guard(line: Line) -> Guard:
    """Read a guard outside of a rule, without loop variables, maps or comments."""
    if line.comment:
        raise CannotRead(
            "a label cannot have a comment", where=line.at(1), fix=f"write {SHAPES['guard']}"
        )
    parser = LineParser(line, {}, "guard")
    guard = parser.guard()
    parser.end()
    return guard


def read_guard_at(text: str, where: Where) -> Guard:
    """Read a guard from a text, with errors at another position."""
    try:
        return read_guard(Line(where.file, 1, text))
    except PdrmError as error:
        raise type(error)(
            f"{error.message} in the label `{text[:60]}`", where=where, fix=error.fix
        ) from None


class LineParser(Cursor):
    """The parser of a line. Replaces loop variables and applies maps."""

    def __init__(self, line: Line, maps: dict[str, dict[str, str]], shape: str = "") -> None:
        self.line = line
        self.maps = maps
        self.shape = shape or _shape_of(line.code)
        super().__init__(scan([line], line.file, TOKEN, MAX_LINE_LENGTH))
        self.restart({})

    def restart(self, values: Mapping[str, str]) -> None:
        """Return to the first token, with new values of loop variables."""
        self.position = 0
        self.depth = 0
        self.values = values

    # Tokens

    def expect(self, *texts: str) -> str:
        """Take the next token, which must be one of these signs or keywords."""
        if self.current.text not in texts or self.at_end:
            raise self.unexpected(*(f"`{text}`" for text in texts))
        return self.next().text

    def word(self) -> Token:
        """Take a word, without replacing variables."""
        if self.current.kind != "name":
            raise self.unexpected("a name")
        return self.next()

    def end(self) -> None:
        if not self.at_end:
            raise self.unexpected("the end of the line")

    def unexpected(self, *expected: str) -> CannotRead:
        """The error for a next token that does not fit."""
        token = self.current
        before = self.tokens[self.position - 1] if self.position else token
        fault = f"unexpected `{token.text[:40]}`" if token.text else "the line ends too early"
        if before.text in ("&", "|", "!") and token.text in (",", ")", ""):
            token = before
            fault = f"nothing follows `{before.text}`"
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
            fix += "; above a formula write `ltlf NAME`, above an expression `regex NAME`"
            if keyword.text.startswith("#"):
                fix = COMMENTS
            raise UnknownKeyword(
                f"`{keyword.text[:40]}` is not a keyword", where=keyword.where, fix=fix
            )
        words = [keyword]
        while not self.at_end:
            words.append(self.word())
        return words

    def mapping(self) -> None:
        """Read a map."""
        self.expect("map")
        name = self.word()
        if name.text in self.maps:
            raise DuplicateName(
                f"map `{name}` is defined twice", where=name.where, fix="rename one"
            )
        entries: dict[str, str] = {}
        while not entries or not self.at_end:
            key = self.word()
            self.expect(":")
            if key.text in entries:
                raise DuplicateName(
                    f"map `{name}` has two values for `{key}`",
                    where=key.where,
                    fix="keep one of them",
                )
            entries[key.text] = self.word().text
        self.maps[name.text] = entries

    def loop(self) -> tuple[Token, list[str]]:
        """Read the variable of a `for` and its values, up to the conditions."""
        self.expect("for")
        variable = self.word()
        self.expect("in")
        words = [self.term()]
        while self.current.kind == "name" and self.current.text != "where":
            words.append(self.term())
        return variable, words

    def conditions(self) -> bool:
        """Read the conditions of a `for`; return True if they hold for the current values."""
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
        if self.current.text == "[":
            tests = tuple(map(str, self.vector()))
            self.expect("/")
            changes = tuple(integer_of(token.text, token.where) for token in self.vector())
            self.expect(",")
            return CountingTransition(*ends, tests, changes, self.reward(), where)
        start = self.position
        top = self.term()
        if not self.take("/"):
            self.position = start
            return Transition(*ends, UNWRITTEN, (), self.reward(), where)
        push = [self.term()]
        while self.current.kind == "name":
            push.append(self.term())
        self.expect(",")
        symbols = tuple(symbol for symbol in push if symbol != NONE)
        return Transition(*ends, top, symbols, self.reward(), where)

    def reward(self) -> float:
        """Read the reward at the end of a rule."""
        token = self.current
        text = self.term()
        self.end()
        return number_of(text, token.where)

    # Parts of lines

    def term(self) -> str:
        """Read a word, or a map applied to a term: `back(a)`."""
        name, where, _ = self.word()
        if not self.take("("):
            return self.values.get(name, name)
        with self.nested():
            key = self.term()
        self.expect(")")
        if name not in self.maps:
            raise UnknownMap(
                f"no map is called `{name}`",
                where=where,
                fix=did_you_mean(name, self.maps) or f"define it above: `map {name} {key}:…`",
            )
        if key not in self.maps[name]:
            raise UnknownMap(
                f"map `{name}` has no value for `{key}`",
                where=where,
                fix=f"add `{key}:…` to its line",
            )
        return self.maps[name][key]

    def vector(self) -> list[Token]:
        """Read the tests or the changes of counters."""
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
        return join_formulas(Or, parts)

    def conjunction(self) -> Formula:
        parts = [self.literal()]
        while self.take("&"):
            parts.append(self.literal())
        return join_formulas(And, parts)

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
    """The kind of a line."""
    first = code.split(maxsplit=1)[0]
    if first == "for" and "->" not in code:
        return "loop"
    if "->" in code or (":" in code and "," in code):
        return "rule"
    return "mapping" if first == "map" else "header"


# --- Blocks

MAX_WORDS = 1_000_000
"""The maximum number of words after `for` blocks are unrolled."""

NOT_VARIABLES = ("z", "eps", "true", "false")

Values = dict[str, str]
"""The values of loop variables."""


def read_text(text: str, document: Document) -> None:
    """Fill a document from .pdrm text."""
    reader = _Reader(document, text)
    reader.read(0, len(reader.lines), {})
    for keyword in ("events", "stack", "states", "final", "start"):
        for variable in reader.variables.keys() & {*document.names(keyword)}:
            fault = f"loop variable `{variable}` is also on the `{keyword}` line"
            where = reader.variables[variable]
            document.add_error(DuplicateName(fault, where=where, fix="rename the loop variable"))


class _Reader:
    """Fills a document from the lines of a text."""

    def __init__(self, document: Document, text: str) -> None:
        self.document = document
        self.maps: dict[str, dict[str, str]] = {}
        lines = split_lines(text, document.file)
        self.lines = [line for line in lines if line.code.strip()]
        self.parsers: dict[int, LineParser] = {}
        """The parsers of lines in a `for` block, which are read repeatedly."""
        self.words = 0
        self.variables: dict[str, Where] = {}
        """The position of each loop variable."""

    def read(self, start: int, end: int, values: Values) -> None:
        """Read the lines of a block. After an error, reading continues with the next line."""
        indent = self.lines[start].indent if values else 0
        position = start
        while position < end:
            line = self.lines[position]
            parser = self.parsers.get(position) or LineParser(line, self.maps)
            if values:
                self.parsers[position] = parser
            self.words += len(parser.tokens)
            limit(self.words, MAX_WORDS, "words in unrolled loops", line.at(line.indent + 1))
            position += 1
            block = position
            if parser.shape == "loop":
                while position < end and self.lines[position].indent > line.indent:
                    position += 1
            parser.restart(values)
            with self.document.collecting_errors():
                if line.indent != indent or line.code[:indent].strip(" "):
                    fault = "the indentation of this line does not match a block above it"
                    fix = "indent only the lines of a `for` block, all alike, with spaces"
                    where = line.at(1, max(1, line.indent))
                    raise BadIndentation(fault, where=where, fix=fix)
                match parser.shape:
                    case "rule":
                        self.document.add_rule(parser.rule())
                    case "loop":
                        self._loop(parser, block, position, values)
                    case "mapping":
                        parser.mapping()
                    case _:
                        self.document.add_header(parser.header())

    def _loop(self, parser: LineParser, start: int, end: int, values: Values) -> None:
        """Unroll a `for` block whose lines are `start` to `end`."""
        where = parser.line.at(parser.line.indent + 1, 3)
        if len(values) >= MAX_NESTING:
            raise TooDeep(
                f"`for` blocks nested more than {MAX_NESTING} deep", where=where, fix="use fewer"
            )
        variable, words = parser.loop()
        if start == end:
            raise BadIndentation(
                "a `for` block without lines",
                where=where,
                fix="indent the rules of the block by four spaces",
            )
        if variable.text in NOT_VARIABLES:
            raise BadName(
                f"`{variable}` is reserved", where=variable.where, fix="use another loop variable"
            )
        if variable.text in values:
            raise DuplicateName(
                f"loop variable `{variable}` is used by an outer `for`",
                where=variable.where,
                fix="rename it",
            )
        self.variables.setdefault(variable.text, variable.where)
        conditions = parser.position
        for word in words:
            inner = values | {variable.text: word}
            parser.restart(inner)
            parser.position = conditions
            if parser.conditions():
                self.read(start, end, inner)
