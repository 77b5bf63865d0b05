"""Writing .pdrm text: canonical text of a machine (`parse(to_text(m)) == m`), and `pdrm fmt`, which lays a text out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from pdrm.language.document import AnyMachine, read
from pdrm.language.reader import read_text
from pdrm.language.source import Line, split_lines
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.machine import states_of

# --- Layout: spacing and columns are made regular; words, order, blocks and comments are kept

INDENT = 4
KEYWORD_WIDTH = 10
TOKEN = re.compile(r"->|==|!=|[{}()\[\],:/&|!]|(?:(?!->)[^\s{}()\[\],:/&|!<>=])+")


def lay_out(text: str, file: str) -> str:
    r"""The text with regular spacing. Raises as reading does if a line cannot be read.

    >>> print(lay_out("events   a   b\nu->v:{a},z/a z,1   // up\nlonger->v:a&!b,  z/eps,  -1\n", "t"), end="")
    events    a b
    u      -> v : {a},    z / a z, 1  // up
    longer -> v : a & !b, z / eps, -1
    """
    read(read_text, text, file)
    return _arrange(split_lines(text, file))


def _arrange(lines: list[Line]) -> str:
    """Lines that can be read, with regular spacing."""
    placed = zip(lines, _depths(lines), strict=True)
    shown: list[str] = []
    for (is_rule, depth), group in groupby(placed, key=lambda pair: (_is_rule(pair[0]), pair[1])):
        members = [line for line, _ in group]
        shown += _rules(members, depth) if is_rule else [_plain(line, depth) for line in members]
    joined = re.sub(r"\n{3,}", "\n\n", "\n".join(shown))
    return joined.strip("\n") + "\n"


def _is_rule(line: Line) -> bool:
    return "->" in line.code


def _depths(lines: Iterable[Line]) -> Iterator[int]:
    """The number of `for` blocks around each line."""
    open_indents: list[int] = []
    for line in lines:
        if line.code.strip():
            while open_indents and line.indent <= open_indents[-1]:
                open_indents.pop()
        yield len(open_indents)
        if line.code.split()[:1] == ["for"] and not _is_rule(line):
            open_indents.append(line.indent)


def _plain(line: Line, depth: int) -> str:
    """A header, map, `for`, comment or blank line."""
    code = line.code.strip()
    if code:
        code = space_out(code)
        first, _, rest = code.partition(" ")
        if first != "for":
            code = f"{first:<{KEYWORD_WIDTH}}{rest.replace(': ', ':')}".rstrip()
    indented = " " * (INDENT * depth) + code if code or line.comment else ""
    return f"{indented}{'  ' if code and line.comment else ''}{line.comment}"


def _rules(lines: list[Line], depth: int) -> list[str]:
    """Rules that follow one another in one block, their parts in columns."""
    rows = [_cells(line) for line in lines]
    source, target, guard, move = (max(len(row[column]) for row in rows) for column in range(4))
    pad = " " * (INDENT * depth)
    shown = [
        f"{pad}{row[0]:<{source}} -> {row[1]:<{target}} : {row[2]:<{guard}} {row[3]:<{move}}{row[4]}"
        for row in rows
    ]
    pairs = list(zip(shown, lines, strict=True))
    longest = max((len(row) for row, line in pairs if line.comment), default=0)
    return [f"{row:<{longest}}  {line.comment}" if line.comment else row for row, line in pairs]


def _cells(line: Line) -> list[str]:
    """Source, target, guard with its comma, move with its comma (nothing in a reward machine), reward."""
    cells = [""]
    depth = 0
    for piece in TOKEN.findall(line.code):
        depth += (piece in "([{") - (piece in ")]}")
        if piece in ("->", ":", ",", "/") and not depth:
            cells.append("")
        else:
            cells[-1] += f" {piece}"
    source, target, guard, *move, reward = map(space_out, cells)
    return [source, target, f"{guard},", f"{' / '.join(move)}, " if move else "", reward]


def space_out(code: str) -> str:
    """Tokens with one space between them, and none around punctuation that takes none.

    >>> space_out("a&! ( b|c )"), space_out("{a ,t}"), space_out("[+1,0]"), space_out("back( a )"), space_out("for a in u  d :")
    ('a & !(b | c)', '{a, t}', '[+1, 0]', 'back(a)', 'for a in u d:')
    """
    shown = ""
    for piece in TOKEN.findall(code):
        called = piece == "(" and (shown[-1:].isalnum() or shown[-1:] == "_")
        tight = called or piece in ",:)]}" or shown.endswith(("(", "[", "{", "!"))
        shown += piece if tight or not shown else f" {piece}"
    return shown


# --- Machines


def to_text(machine: AnyMachine) -> str:
    """The machine as a .pdrm file, every rule on its own line.

    >>> from pdrm.machines.pushdown import PushdownRewardMachine
    >>> from pdrm.machines.transitions import Otherwise
    >>> print(to_text(PushdownRewardMachine("idle", ("a",), ("#",), "u", (), Otherwise.stay(0), ())), end="")
    name      idle
    events    a
    start     u
    final
    otherwise stay 0
    """
    lines = [
        f"{keyword} {' '.join(words) if isinstance(words, tuple) else words}"
        for keyword, value in header_of(machine).items()
        for words in (value if keyword == "exclusive" else [value])
    ]
    rules = [machine.rule_text(rule) for rule in machine.transitions]
    text = [*lines, *([""] if rules else []), *rules]
    return _arrange([Line(machine.name, number, line) for number, line in enumerate(text, 1)])


def header_of(machine: AnyMachine) -> dict[str, Any]:
    """The header lines of a machine that it needs: one value, or several words."""
    header: dict[str, Any] = {"name": machine.name, "events": machine.events}
    if machine.exclusive:
        header["exclusive"] = machine.exclusive
    if isinstance(machine, CountingRewardAutomaton):
        header["counters"] = machine.counters
    elif not machine.is_reward_machine:
        header["stack"] = machine.stack
    if machine.states != states_of(machine.start, machine.final, machine.transitions):
        header["states"] = machine.states
    ends = {"final": machine.final, "otherwise": machine.otherwise}
    return {**header, "start": machine.start, **ends}
