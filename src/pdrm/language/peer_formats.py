"""Machines as other programs write them: Toro Icarte's reward machine text, and automata-lib's pushdown automata as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pdrm.errors import BadShape, CannotRead, NotConstant, Where, did_you_mean
from pdrm.language.document import UNWRITTEN, Document, number_of
from pdrm.language.json_form import Number, check_shape, inside, read_values
from pdrm.language.reader import read_guard_at
from pdrm.language.source import Line, Token, split_lines
from pdrm.machines.guards import SILENT, Exactly, events_of
from pdrm.machines.machine import fresh_name
from pdrm.machines.transitions import ANY, Transition

# --- Reward machines in the text format of Toro Icarte et al.: initial state, final states, then `(u, v, 'formula', reward)`.
#
# Their program evaluates such files as Python; this reader only matches them. A label that no formula covers ends their
# episode with reward 0, so it leads to a final state of its own here, `undefined`.

# The quantifiers are possessive: what they have taken they keep, so that a line is read once however many spaces it has.

FIRST = re.compile(r"\s*+(\d{1,9}+)\s*+(#.*)?", re.ASCII)
SECOND = re.compile(
    r"\s*+\[\s*+((?:\d{1,9}+\s*+(?:,\s*+\d{1,9}+\s*+)*+,?+)?+)\s*+\]\s*+(#.*)?", re.ASCII
)
RULE = re.compile(
    r"\s*+\(\s*+(\d{1,9}+)\s*+,\s*+(\d{1,9}+)\s*+,\s*+(['\"])([^'\"]*+)\3\s*+,"
    r"\s*+(\w++)\(([^()]*+)\)\s*+\)\s*+,?+\s*+(#.*)?",
    re.ASCII,
)
FORMULA = re.compile(r"[\w!&| ]+", re.ASCII)
UNDEFINED = "undefined"


def looks_like_toro_icarte(text: str) -> bool:
    """Return True if a text begins as such a file does, or has its rules soon (a line before them may be missing)."""
    lines = text.split("\n", 8)[:8]
    return any(SECOND.fullmatch(line) or RULE.fullmatch(line) for line in lines)


def read_toro_icarte(text: str, document: Document) -> None:
    """Fill a document from such a file."""
    every = split_lines(text, document.file)
    lines = [line for line in every if line.text.split("#")[0].strip()]
    first, second = [*lines, *every, every[0]][:2]
    start = FIRST.fullmatch(first.text)
    ends = SECOND.fullmatch(second.text)
    if start is None or ends is None:
        fault = "the first two lines must be the number of the initial state, and the final states"
        raise CannotRead(fault, where=first.at(1), fix="write `0`, and `[2]`, or `[]` for none")
    final = [f"u{number.strip()}" for number in ends[1].split(",") if number.strip()]
    begin = f"u{start[1]}"
    states = {begin: None}
    events: set[str] = set()
    for line in lines[2:]:
        with document.collecting_errors():
            rule = _rule(line)
            if rule.source not in final:
                document.add_rule(rule)
                states |= {rule.source: None, rule.target: None}
                events |= events_of(rule.guard)
    headers = {
        "events": sorted(events),
        "states": [state for state in states if state not in final],
        "start": [begin],
        "otherwise": ["go", UNDEFINED, "0"],
    }
    _add_headers(document, first.at(1), headers)
    _add_headers(document, second.at(1), {"final": [*final, UNDEFINED]})


def _add_headers(document: Document, where: Where, headers: dict[str, list[str]]) -> None:
    for keyword, words in headers.items():
        document.add_header([Token(word, where) for word in (keyword, *words)])


def _rule(line: Line) -> Transition:
    match = RULE.fullmatch(line.text)
    if match is None:
        fix = "write (0,1,'a&!b',ConstantRewardFunction(1))"
        raise CannotRead("this line is not a transition", where=line.at(line.indent + 1), fix=fix)

    def at(group: int) -> Where:
        return line.at(match.start(group) + 1, max(1, len(match[group])))

    if match[5] != "ConstantRewardFunction":
        fix = "replace it by ConstantRewardFunction(NUMBER), and let the environment pay the rest"
        raise NotConstant(f"`{match[5]}` is code, not a number", where=at(5), fix=fix)
    reward = number_of(match[6].strip(), at(6))
    if not FORMULA.fullmatch(match[4]):
        fix = "use event names, `!`, `&` and `|` only"
        raise CannotRead("this formula cannot be read", where=at(4), fix=fix)
    words = re.sub(r"\b(True|False)\b", lambda found: found[0].lower(), match[4])
    guard = read_guard_at(words, at(4))
    where = line.at(match.start(1), len(line.text.rstrip()) - match.start(1) + 1)
    return Transition(f"u{match[1]}", f"u{match[2]}", guard, UNWRITTEN, (), reward, where)


# --- Deterministic pushdown automata as automata-lib keeps them: `json.dumps(dpda.input_parameters, default=list)`.
#
# An automaton says which words it accepts and pays nothing, so the machine reads one event more, `end`: where the
# automaton accepts, `end` pays 1 and leads to the final state `accepted`; elsewhere, or where the automaton is stuck, it
# leads to `rejected`. The empty label is not a letter of the word and changes nothing. An automaton accepts when it passes
# an accepting state on silent moves after the last letter; states that remember so are called `…-passed`.

NAME = (Number, str)
AUTOMATON = {
    "states": [NAME],
    "input_symbols": [str],
    "stack_symbols": [str],
    "final_states": [NAME],
    "transitions": {str: {str: {str: list}}},
    "initial_state": NAME,
    "initial_stack_symbol": str,
    "acceptance_mode?": str,
}
"""A state may be a number there; as a key of the table it is a text."""
MODES = ("both", "final_state", "empty_stack")
PASSED = "-passed"


def looks_like_automaton(text: str) -> bool:
    """Return True if a JSON text is such a dictionary."""
    return '"initial_stack_symbol"' in text and '"input_symbols"' in text


def read_automaton(text: str, document: Document) -> None:
    """Fill a document from such a dictionary."""
    automaton = read_values(text, document.file)
    where = Where(document.file)
    check_shape(automaton, AUTOMATON, where)
    mode = automaton.get("acceptance_mode", MODES[0])
    if mode not in MODES:
        fix = did_you_mean(mode, MODES)
        fault = f"unknown acceptance mode `{mode[:40]}`"
        raise BadShape(fault, where=inside(where, "acceptance_mode"), fix=fix)
    letters, symbols = automaton["input_symbols"], automaton["stack_symbols"]
    states, final = automaton["states"], automaton["final_states"]
    start, bottom = automaton["initial_state"], automaton["initial_stack_symbol"]
    if mode == "empty_stack":
        final = []
    rules = list(_rules(automaton["transitions"], inside(where, "transitions")))
    passing = _passing(rules, final)
    states += [state + PASSED for state in states if state in passing]
    accepting = {*final, *(state + PASSED for state in passing)}
    begin = fresh_name("begin", states)
    accepted = fresh_name("accepted", states)
    rejected = fresh_name("rejected", states)
    end = fresh_name("end", letters)
    below = fresh_name("bottom", symbols)
    symbols = [below, bottom, *sorted(set(symbols) - {bottom})]
    document.add_rule(Transition(begin, start, SILENT, below, (bottom, below), 0.0, where))
    for rule in rules:
        passed = rule.target + PASSED if rule.silent and rule.target in passing else rule.target
        after = passed if rule.source in final else rule.target
        document.add_rule(replace(rule, target=after))
        if rule.source in passing:
            document.add_rule(replace(rule, source=rule.source + PASSED, target=passed))
    ended = Exactly(frozenset([end]))
    for state in states:
        document.add_rule(Transition(state, state, Exactly(frozenset()), ANY, (ANY,), 0.0, where))
        top = ANY if state in accepting else below
        if state in accepting or mode != "final_state":
            document.add_rule(Transition(state, accepted, ended, top, (top,), 1.0, where))
    events = [*sorted(letters), end]
    headers = {
        "events": events,
        "exclusive": events,
        "stack": symbols,
        "states": [begin, *states],
        "start": [begin],
        "final": [accepted, rejected],
        "otherwise": ["go", rejected, "0"],
    }
    _add_headers(document, where, headers)


def _rules(table: Any, where: Where) -> Iterator[Transition]:
    """The moves of a table; without a letter, they are silent."""
    for source, letters in table.items():
        for letter, tops in letters.items():
            guard = Exactly(frozenset([letter])) if letter else SILENT
            for top, move in tops.items():
                at = inside(where, source, letter, top)
                if len(move) != 2:
                    fix = 'write ["q1", ["1", "0"]]'
                    raise BadShape("a move is [STATE, PUSH]", where=at, fix=fix)
                for number, shape in enumerate((NAME, (str, [str]))):
                    check_shape(move[number], shape, inside(at, number))
                target, push = move
                yield Transition(source, target, guard, top, push, 0.0, at)


def _passing(rules: list[Transition], final: list[str]) -> set[str]:
    """The states that are not accepting, and that silent moves may reach from one that is."""
    found = set(final)
    for state in (order := list(final)):
        for rule in rules:
            if rule.silent and rule.source == state and rule.target not in found:
                found.add(rule.target)
                order.append(rule.target)
    return found - set(final)
