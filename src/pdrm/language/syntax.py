"""The shape of a line: header, map, `for` or rule, parsed by Lark into small nodes that remember their columns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import cast

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.tree import Meta

from pdrm.errors import BadReward, CannotRead, Where
from pdrm.language.source import COMMENTS, Line, check_depth
from pdrm.limits import spend
from pdrm.machines.guards import SILENT, And, Event, Exactly, Formula, Guard, Not, Or

Node = Tree[Token]
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,6})?", re.ASCII)

FOREIGN = tuple(
    (re.compile(pattern, re.IGNORECASE), sign)
    for pattern, sign in (
        (r"\s*(&&|∧|/\\|\band\b)\s*", " & "),
        (r"\s*(\|\||∨|\bor\b)\s*", " | "),
        (r"(~|¬|\bnot\b)\s*", "!"),
    )
)
"""Signs of other languages in formulas, and ours."""
SHAPES = {
    "header": "KEYWORD WORD …, for example `events A B C`",
    "mapping": "map NAME KEY:VALUE …, for example `map back u:d d:u`",
    "loop": "for NAME in WORD … :, for example `for a in u d l r where a != u:`",
    "rule": "SOURCE -> TARGET : LABEL, TOP / PUSH, REWARD, for example `u0 -> u0 : {A}, z / A z, -0.01`",
    "guard": "{a, t}, a & !t, true or eps",
}
"""How each kind of line is written, for the fix of a syntax error."""

SIGNS = {"WORD": "a name", "$END": "the end of the line"}
"""What the grammar's names stand for; the others stand for the text they match."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a line and where it stands."""

    text: str
    where: Where

    def __str__(self) -> str:
        return self.text


Resolve = Callable[[Node], str]
"""What a term stands for, once loop variables and maps are filled in."""


@lru_cache(maxsize=1)
def _parser() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        start=list(SHAPES),
        propagate_positions=True,
        maybe_placeholders=True,
    )


def parse_line(line: Line) -> Node:
    """The line as a tree whose root says what it is: header, mapping, loop or rule."""
    code, first = line.code, line.code.split(maxsplit=1)[0]
    if first == "for" and "->" not in code:
        return parse_shape(line, "loop")
    if "->" in code or (":" in code and "," in code):
        return parse_shape(line, "rule")
    return parse_shape(line, "mapping" if first == "map" else "header")


def parse_shape(line: Line, shape: str) -> Node:
    """The line parsed as one shape, or `CannotRead` with what was expected and where."""
    check_depth(line)
    code = line.code
    try:
        if shape in ("rule", "guard") and (pieces := _split(code)):
            spend(len(pieces))
            return _fill(_outline(" ".join(piece[1] or "w" for piece in pieces), shape), pieces)
        spend(3 * len(code), line.at(1))
        return _parse(code, shape)
    except UnexpectedInput:
        pass
    try:  # again, for what is wrong with this very line
        return _parse(code, shape)
    except UnexpectedInput as error:
        raise _cannot_read(line, shape, error) from None


@lru_cache(maxsize=1024)
def _parse(code: str, shape: str) -> Node:
    """Trees are never changed, and the same lines are read again and again while a file is edited."""
    return _parser().parse(code, start=shape)


# Rules and guards have no keywords: whether one can be read, and its tree, depend on the signs between its words alone. So each
# outline, the line with `w` for every word, is parsed once, and the lines of that outline are filled into its tree.

PIECE = re.compile(r"[ \t]*+(?:(->|[{}()\[\],:/&|!])|((?:(?!->)[^\s{}()\[\],:/&|!<>=])++))")
"""A sign or a word."""

_Outline = tuple[str, int, int, list["_Outline | int | None"]]
"""A tree by its pieces: what it is, its first and last piece, and its children (a word by its number)."""


def _split(code: str) -> list[re.Match[str]] | None:
    """The signs and words of a line; None where something in it is neither."""
    pieces = list(PIECE.finditer(code))
    return pieces if sum(piece.end() - piece.start() for piece in pieces) == len(code) else None


@lru_cache(maxsize=1024)
def _outline(signs: str, shape: str) -> _Outline:
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    column = 1
    for number, sign in enumerate(signs.split(" ")):
        first[column], last[column + len(sign)] = number, number
        column += len(sign) + 1

    def outline(node: Node) -> _Outline:
        children: list[_Outline | int | None] = [
            outline(child)
            if isinstance(child, Tree)
            else None
            if child is None
            else first[child.column or 1]
            for child in node.children
        ]
        meta = node.meta
        return (
            node.data,
            -1 if meta.empty else first[meta.column],
            -1 if meta.empty else last[meta.end_column],
            children,
        )

    return outline(_parser().parse(signs, start=shape))


def _fill(outline: _Outline, pieces: list[re.Match[str]]) -> Node:
    """The tree of the pieces."""
    data, first, last, inside = outline
    children: list[Node | Token | None] = []
    for child in inside:
        if child is None:
            children.append(None)
        elif isinstance(child, int):
            children.append(Token("WORD", pieces[child][2], column=pieces[child].start(2) + 1))
        else:
            children.append(_fill(child, pieces))
    meta = Meta()  # type: ignore[no-untyped-call]
    if first >= 0:
        meta.empty = False
        meta.column, meta.end_column = (
            pieces[first].start(pieces[first].lastindex or 0) + 1,
            pieces[last].end() + 1,
        )
    return Tree(data, cast("list[Node | Token]", children), meta)


def word_of(line: Line, token: Token) -> Word:
    """A token with its place."""
    return Word(str(token), line.at(token.column or 1, len(token)))


def place_of(line: Line, node: Node | Token) -> Where:
    """Where a node of the line begins, as wide as it is."""
    if isinstance(node, Token):
        return line.at(node.column or 1, len(node))
    meta = node.meta
    return line.at(1) if meta.empty else line.at(meta.column, meta.end_column - meta.column)


def guard_of(node: Node, resolve: Resolve) -> Guard:
    """The guard a parsed label or formula stands for."""
    inner = cast("Node", node.children[0])
    if inner.data == "exactly":
        return Exactly(
            frozenset(resolve(term) for term in inner.children if isinstance(term, Tree))
        )
    if inner.data == "term" and resolve(inner) == "eps":
        return SILENT
    return _formula_of(inner, resolve)


def read_guard(line: Line) -> Guard:
    """The guard that a text of its own stands for: no loop variables, no maps, no comment."""

    def plain(term: Node) -> str:
        if isinstance(term.children[1], Tree) or line.comment:
            raise CannotRead(
                "only events may stand in this label",
                where=line.at(1),
                fix=f"write {SHAPES['guard']}",
            )
        return str(term.children[0])

    return guard_of(parse_shape(line, "guard"), plain)


def _formula_of(node: Node, resolve: Resolve) -> Formula:
    if node.data == "term":
        name = resolve(node)
        return And() if name == "true" else Or() if name == "false" else Event(name)
    parts = tuple(_formula_of(child, resolve) for child in node.children if isinstance(child, Tree))
    if node.data == "negation":
        return Not(parts[0])
    return And(parts) if node.data == "both" else Or(parts)


def _cannot_read(line: Line, shape: str, error: UnexpectedInput) -> CannotRead:
    found, column, width = "the line ends too early", len(line.code) + 1, 1
    if isinstance(error, UnexpectedCharacters):
        found, column = f"`{line.code[error.column - 1]}` does not belong here", error.column
    elif isinstance(error, UnexpectedToken) and error.token.type != "$END":
        found = f"`{str(error.token)[:40]}` does not belong here"
        column, width = error.token.column or 1, len(error.token)
    names = getattr(error, "accepts", None) or getattr(error, "allowed", None) or ()
    expected = sorted(
        {SIGNS.get(name) or f"`{_parser().get_terminal(name).pattern.value}`" for name in names}
    )
    wanted = f"; expected {' or '.join(expected)}" if 0 < len(expected) <= 6 else ""
    fix = (
        _spell_formula(line.code, shape)
        or _spell_words(line.code, shape)
        or f"write {SHAPES[shape]}"
    )
    if shape == "rule" and (
        said := _diagnose_rule(
            line.code, ends={*names} <= {"COMMA", "WORD"} and column > len(line.code)
        )
    ):
        found, wanted, fix = said[0], "", said[1]
    complete = "$END" in names and line.code[column - 1 :].startswith("#")
    if complete or line.code.lstrip().startswith(("#", "--", ";", "/*")):
        fix = COMMENTS
    return CannotRead(f"{found}{wanted}", where=line.at(column, width), fix=fix)


ARROW = re.compile(r"(\s*[^\s:,<>=]+?)\s*(=>|==>|-->|~>|>|→|⇒|⟶)\s*([^\s:]+\s*:.*)")
"""What others write for `->`, between two states."""
FRACTION = re.compile(r"(.*,\s*)([+-]?\d{1,9})/(\d{0,8}[1-9]\d{0,8})\s*")
"""A rule whose reward is a fraction."""


def _diagnose_rule(code: str, *, ends: bool) -> tuple[str, str] | None:
    """What is wrong with a rule whose arrow or reward is, and the line to write; `ends`: it ends where a reward may follow.

    >>> _diagnose_rule("u => v : a, 1", ends=False)
    ('`=>` is not an arrow of this language', 'write `u -> v : a, 1`')
    >>> _diagnose_rule("u -> v : a, z / A z", ends=True)
    ('the reward is missing', 'write `u -> v : a, z / A z, 0`: a rule ends with what it pays')
    """
    if arrow := ARROW.fullmatch(code):
        return (
            f"`{arrow[2]}` is not an arrow of this language",
            f"write `{arrow[1].strip()} -> {arrow[3].strip()}`",
        )
    if fraction := FRACTION.fullmatch(code):
        decimal = f"{int(fraction[2]) / int(fraction[3]):.10g}"
        fix = f"write `{fraction[1].strip()} {decimal}` (a machine made in Python may pay an exact Fraction)"
        return (
            f"`{fraction[2]}/{fraction[3]}` is a fraction, and a reward is written as a decimal",
            fix,
        )
    if (
        not ends
        or ":" not in code
        or any(code.count(one) != code.count(other) for one, other in ("()", "[]", "{}"))
    ):
        return None
    whole, last = code.rstrip(" ,"), code.rsplit(maxsplit=1)[-1]
    if "/" not in code:
        return "the rule ends too early: its reward is missing", f"write {SHAPES['rule']}"
    if NUMBER.fullmatch(last) and whole.endswith(last):
        return (
            f"no comma stands before the reward {last}",
            f"write `{whole.removesuffix(last).strip()}, {last}`",
        )
    return "the reward is missing", f"write `{whole.strip()}, 0`: a rule ends with what it pays"


def _spell_formula(code: str, shape: str) -> str:
    """What to write for a formula in the words or signs of another language; nothing where it has none.

    >>> _spell_formula("u0 -> u1 : a and not b, z / z, 1", "rule")
    'write `a & !b`: & is and, | is or, ! is not'
    """
    if shape not in ("rule", "guard"):
        return ""
    formula = code.partition(":")[2].partition(",")[0].strip() if shape == "rule" else code.strip()
    said = formula
    for foreign, sign in FOREIGN:
        said = foreign.sub(sign, said)
    return "" if said == formula else f"write `{said}`: & is and, | is or, ! is not"


def _spell_words(code: str, shape: str) -> str:
    """What to write for a header with the punctuation of another language, or for a number with a comma; nothing where it has neither.

    >>> _spell_words("events: a, b", "header"), _spell_words("u -> v : a, 0,5", "rule")
    ('write `events a b`: only blanks stand between words', 'write `0.5`, with a point')
    """
    header = shape == "header" or (
        re.match(r"\s*[a-z]+\s*:", code) is not None and "->" not in code and "/" not in code
    )
    if header and (plain := " ".join(re.split(r"[\s:,;=\[\]{}()]+", code)).strip()) != code.strip():
        return f"write `{plain[:80]}`: only blanks stand between words"
    comma = re.search(r", *([+-]?\d+),(\d+)$", code) if shape == "rule" else None
    return f"write `{comma[1]}.{comma[2]}`, with a point" if comma else ""


def number_of(text: str, where: Where, what: str = "a reward") -> float:
    """A finite number, or `BadReward`."""
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        fix = "write a finite number such as 1, -0.01 or 1e5"
        raise BadReward(
            f"`{text[:40]}` is not a number, but {what} must be one", where=where, fix=fix
        )
    return value
