"""Reward machines in the text format of Toro Icarte et al.: initial state, final states, then `(u, v, 'formula', reward)`.

Their program evaluates such files as Python; this reader only matches them. A label that no formula covers ends their
episode with reward 0, so it leads to a final state of its own here, `undefined`.
"""

from __future__ import annotations

import re

from pdrm.errors import CannotRead, NotConstant, PdrmError
from pdrm.machines.guard import Guard, events_of
from pdrm.machines.text.document import Document, Header, RuleSpec
from pdrm.machines.text.reader import number_of
from pdrm.machines.text.source import Line, split_lines
from pdrm.machines.text.syntax import Word, read_guard

FIRST = re.compile(r"\s*(\d{1,9})\s*(#.*)?", re.ASCII)
SECOND = re.compile(r"\s*\[\s*((?:\d{1,9}\s*(?:,\s*\d{1,9}\s*)*,?)?)\s*\]\s*(#.*)?", re.ASCII)
RULE = re.compile(
    r"\s*\(\s*(\d{1,9})\s*,\s*(\d{1,9})\s*,\s*(?:'([^']*)'|\"([^\"]*)\")\s*,\s*(\w+)\(([^()]*)\)\s*\)\s*,?\s*(#.*)?",
    re.ASCII,
)
FORMULA = re.compile(r"[\w!&| ]+", re.ASCII)
UNDEFINED = "undefined"


def looks_like(text: str) -> bool:
    """Whether a text begins as such a file does, or has its rules soon: then a line may be missing before them."""
    lines = [line for line in text.split("\n", 8)[:8] if line.strip()]
    begins = len(lines) > 1 and FIRST.fullmatch(lines[0]) and SECOND.fullmatch(lines[1])
    return bool(begins) or any(RULE.fullmatch(line) for line in lines)


def read_toro_icarte(text: str, file: str) -> Document:
    """The document that such a file stands for."""
    document = Document(file)
    try:
        lines = [line for line in split_lines(text, file) if line.text.split("#")[0].strip()]
        _read(lines, document)
    except PdrmError as error:
        document.errors.append(error)
    return document


def _read(lines: list[Line], document: Document) -> None:
    first = FIRST.fullmatch(lines[0].text) if lines else None
    if first is None:
        where = lines[0].at(1) if lines else Line(document.file, 1, "").at(1)
        raise CannotRead("the first line must be the number of the initial state", where=where, fix="write `0`")
    second = SECOND.fullmatch(lines[1].text) if len(lines) > 1 else None
    if second is None:
        where = lines[min(1, len(lines) - 1)].at(1)
        raise CannotRead("the second line must list the final states", where=where, fix="write `[2]`, or `[]` for none")
    final = [f"u{number.strip()}" for number in second[1].split(",") if number.strip()]
    for line in lines[2:]:
        try:
            document.rules += [rule for rule in [_rule(line)] if rule.source not in final]
        except PdrmError as error:
            document.errors.append(error)
    events = frozenset[str]().union(*(events_of(rule.guard) for rule in document.rules))
    headers = {
        "events": sorted(events),
        "states": _states(f"u{first[1]}", final, document.rules),
        "start": [f"u{first[1]}"],
    }
    headers |= {"final": [*final, UNDEFINED], "otherwise": ["go", UNDEFINED, "0"]}
    for keyword, words in headers.items():
        place = lines[1 if keyword == "final" else 0].at(1)
        document.headers.append(Header(Word(keyword, place), tuple(Word(word, place) for word in words)))


def _states(start: str, final: list[str], rules: list[RuleSpec]) -> list[str]:
    named = [start, *(state for rule in rules for state in (rule.source, rule.target))]
    return [state for state in dict.fromkeys(named) if state not in final]


def _rule(line: Line) -> RuleSpec:
    match = RULE.fullmatch(line.text)
    if match is None:
        fix = "write (0,1,'a&!b',ConstantRewardFunction(1))"
        raise CannotRead("this line is no transition", where=line.at(line.indent + 1), fix=fix)
    source, target, single, double, function, value, _ = match.groups()
    where = line.at(match.start(1), len(line.text.rstrip()) - match.start(1) + 1)
    if function != "ConstantRewardFunction":
        place = line.at(match.start(5) + 1, len(function))
        fix = "replace it by ConstantRewardFunction(NUMBER), and let the environment pay the rest"
        raise NotConstant(f"`{function}` is code, not a number", where=place, fix=fix)
    reward = number_of(value.strip(), line.at(match.start(6) + 1, max(1, len(value))))
    formula = single if single is not None else double
    guard = _guard(line, formula, match.start(3 if single is not None else 4))
    return RuleSpec(f"u{source}", f"u{target}", guard, None, None, False, reward, where)


def _guard(line: Line, formula: str, start: int) -> Guard:
    where = line.at(start + 1, max(1, len(formula)))
    if not FORMULA.fullmatch(formula) or not formula.strip():
        fix = "use event names, `!`, `&` and `|` only"
        raise CannotRead("this formula cannot be read", where=where, fix=fix)
    words = re.sub(r"\b(True|False)\b", lambda found: found[0].lower(), formula)
    try:
        return read_guard(Line(line.file, line.number, words))
    except PdrmError as error:
        raise type(error)(error.message, where=where, fix=error.fix) from None
