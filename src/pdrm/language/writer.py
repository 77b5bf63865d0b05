"""Writing .pdrm text: the canonical text of a machine, and the formatter behind `pdrm fmt`.

`parse(to_text(machine)) == machine`.
"""

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

# --- Formatting: changes spacing and columns, but not words, order, blocks and comments

INDENT = 4
KEYWORD_WIDTH = 10
TOKEN = re.compile(r"->|==|!=|[{}()\[\],:/&|!]|(?:(?!->)[^\s{}()\[\],:/&|!<>=])+")


def lay_out(text: str, file: str) -> str:
    r"""Format a text. Raises the errors of reading.

    >>> text = "events   a   b\nu->v:{a},z/a z,1   // up\nlonger->v:a&!b,  z/eps,  -1\n"
    >>> print(lay_out(text, "t"), end="")
    events    a b
    u      -> v : {a},    z / a z, 1  // up
    longer -> v : a & !b, z / eps, -1
    """
    read(read_text, text, file)
    return _arrange(split_lines(text, file))


def _arrange(lines: list[Line]) -> str:
    """Format valid lines."""
    pairs = zip(lines, _depths(lines), strict=True)
    texts: list[str] = []
    for (is_rule, depth), group in groupby(pairs, key=lambda pair: (_is_rule(pair[0]), pair[1])):
        members = [line for line, _ in group]
        texts += _rules(members, depth) if is_rule else [_plain(line, depth) for line in members]
    joined = re.sub(r"\n{3,}", "\n\n", "\n".join(texts))
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
    """Format a header, map, `for`, comment or blank line."""
    code = space_out(line.code)
    first, _, rest = code.partition(" ")
    if code and first != "for":
        code = f"{first:<{KEYWORD_WIDTH}}{rest.replace(': ', ':')}".rstrip()
    pad = " " * (INDENT * depth)
    return pad + "  ".join(filter(None, (code, line.comment))) if code or line.comment else ""


def _rules(lines: list[Line], depth: int) -> list[str]:
    """Format consecutive rules of a block in columns."""
    rows = [_cells(line) for line in lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    pad = " " * (INDENT * depth)
    texts: list[str] = []
    for row in rows:
        source, target, guard, move, reward = map(str.ljust, row, widths)
        texts.append(f"{pad}{source} -> {target} : {guard} {move}{reward}".rstrip())
    pairs = list(zip(texts, lines, strict=True))
    longest = max((len(text) for text, line in pairs if line.comment), default=0)
    return [f"{text:<{longest}}  {line.comment}" if line.comment else text for text, line in pairs]


def _cells(line: Line) -> list[str]:
    """The parts of a rule: source, target, guard and move with their commas, and reward.

    The move is empty in a reward machine.
    """
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
    """Put single spaces between tokens, except around punctuation.

    >>> [space_out(code) for code in ("a&! ( b|c )", "{a ,t}", "[+1,0]", "back( a )")]
    ['a & !(b | c)', '{a, t}', '[+1, 0]', 'back(a)']
    """
    text = ""
    for piece in TOKEN.findall(code):
        is_call = piece == "(" and (text[-1:].isalnum() or text[-1:] == "_")
        tight = is_call or piece in ",:)]}" or text.endswith(("(", "[", "{", "!"))
        text += piece if tight or not text else f" {piece}"
    return text


# --- Machines


def to_text(machine: AnyMachine) -> str:
    """Write a machine as .pdrm text, with a line for each rule.

    >>> from pdrm.machines.pushdown import PushdownRewardMachine
    >>> from pdrm.machines.transitions import Otherwise
    >>> idle = PushdownRewardMachine("idle", ("a",), ("#",), "u", (), Otherwise.stay(0), ())
    >>> print(to_text(idle), end="")
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
    """The necessary header lines of a machine: a value or several words for each keyword."""
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
