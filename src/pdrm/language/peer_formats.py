"""Formats of other programs: reward machines of Toro Icarte et al., and DPDAs of automata-lib."""

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

# --- Reward machines of Toro Icarte et al.: initial state, final states, (u, v, 'formula', reward)
#
# The original program evaluates such files as Python. This reader only matches them. There, a label
# that no formula covers ends the episode with reward 0. Here, it leads to a separate final state,
# `undefined`. The quantifiers are possessive, so that matching takes linear time.

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
    """Return True if the first lines contain a list of final states, or a rule."""
    lines = text.split("\n", 8)[:8]
    return any(SECOND.fullmatch(line) or RULE.fullmatch(line) for line in lines)


def read_toro_icarte(text: str, document: Document) -> None:
    """Fill a document from such a file."""
    all_lines = split_lines(text, document.file)
    lines = [line for line in all_lines if line.text.split("#")[0].strip()]
    first, second = [*lines, *all_lines, all_lines[0]][:2]
    start = FIRST.fullmatch(first.text)
    ends = SECOND.fullmatch(second.text)
    if start is None or ends is None:
        raise CannotRead(
            "the first two lines must be the number of the initial state, and the final states",
            where=first.at(1),
            fix="write `0`, and `[2]`, or `[]` for none",
        )
    final = [f"u{number.strip()}" for number in ends[1].split(",") if number.strip()]
    initial = f"u{start[1]}"
    states = {initial: None}
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
        "start": [initial],
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
        raise CannotRead(
            "this line is not a transition",
            where=line.at(line.indent + 1),
            fix="write (0,1,'a&!b',ConstantRewardFunction(1))",
        )

    def at(group: int) -> Where:
        return line.at(match.start(group) + 1, max(1, len(match[group])))

    if match[5] != "ConstantRewardFunction":
        raise NotConstant(
            f"`{match[5]}` is code, not a number",
            where=at(5),
            fix="replace it by ConstantRewardFunction(NUMBER), and add the rest in the environment",
        )
    reward = number_of(match[6].strip(), at(6))
    if not FORMULA.fullmatch(match[4]):
        raise CannotRead(
            "this formula cannot be read", where=at(4), fix="use event names, `!`, `&` and `|` only"
        )
    words = re.sub(r"\b(True|False)\b", lambda word: word[0].lower(), match[4])
    guard = read_guard_at(words, at(4))
    where = line.at(match.start(1), len(line.text.rstrip()) - match.start(1) + 1)
    return Transition(f"u{match[1]}", f"u{match[2]}", guard, UNWRITTEN, (), reward, where)


# --- DPDAs of automata-lib: `json.dumps(dpda.input_parameters, default=list)`
#
# An automaton accepts words and has no rewards. The machine reads an additional event, `end`. If
# the automaton accepts, `end` gives the reward 1 and leads to the final state `accepted`.
# Otherwise, or if the automaton is stuck, it leads to `rejected`. The empty label is not a letter
# and changes nothing. An automaton also accepts if it passes an accepting state on silent moves
# after the last letter. The states `…-passed` record this.

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
"""A state can be a number. As a key of the table it is a text."""
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
        raise BadShape(
            f"unknown acceptance mode `{mode[:40]}`",
            where=inside(where, "acceptance_mode"),
            fix=did_you_mean(mode, MODES),
        )
    letters = automaton["input_symbols"]
    symbols = automaton["stack_symbols"]
    states = automaton["states"]
    final = automaton["final_states"] if mode != "empty_stack" else []
    start = automaton["initial_state"]
    bottom = automaton["initial_stack_symbol"]
    rules = list(_rules(automaton["transitions"], inside(where, "transitions")))
    passing = _passing(rules, final)
    states += [state + PASSED for state in states if state in passing]
    accepting = {*final, *(state + PASSED for state in passing)}
    initial = fresh_name("begin", states)
    accepted = fresh_name("accepted", states)
    rejected = fresh_name("rejected", states)
    end = fresh_name("end", letters)
    below = fresh_name("bottom", symbols)
    symbols = [below, bottom, *sorted(set(symbols) - {bottom})]
    document.add_rule(Transition(initial, start, SILENT, below, (bottom, below), 0.0, where))
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
        "states": [initial, *states],
        "start": [initial],
        "final": [accepted, rejected],
        "otherwise": ["go", rejected, "0"],
    }
    _add_headers(document, where, headers)


def _rules(table: Any, where: Where) -> Iterator[Transition]:
    """Yield the moves of a table. Moves with an empty letter are silent."""
    for source, letters in table.items():
        for letter, tops in letters.items():
            guard = Exactly(frozenset([letter])) if letter else SILENT
            for top, move in tops.items():
                position = inside(where, source, letter, top)
                if len(move) != 2:
                    raise BadShape(
                        "a move is [STATE, PUSH]", where=position, fix='write ["q1", ["1", "0"]]'
                    )
                for number, shape in enumerate((NAME, (str, [str]))):
                    check_shape(move[number], shape, inside(position, number))
                target, push = move
                yield Transition(source, target, guard, top, push, 0.0, position)


def _passing(rules: list[Transition], final: list[str]) -> set[str]:
    """The states that silent moves can reach from accepting states, and that are not accepting."""
    reached = set(final)
    for state in (order := list(final)):
        for rule in rules:
            if rule.silent and rule.source == state and rule.target not in reached:
                reached.add(rule.target)
                order.append(rule.target)
    return reached - set(final)
