"""Deterministic pushdown automata as automata-lib keeps them: `json.dumps(dpda.input_parameters, default=list)`.

An automaton says which words it accepts and pays nothing, so the machine reads one event more, `end`: said where the
automaton accepts, it pays 1 and leads to the final state `accepted`; said elsewhere, or where the automaton is stuck, it
leads to `rejected`. The empty label is no letter of the word and changes nothing. An automaton accepts when it passes
an accepting state on silent moves after the last letter; states that remember so are called `…-passed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pdrm.errors import BadShape, PdrmError, Where, did_you_mean
from pdrm.machines.guard import EMPTY_LABEL, SILENT, Exactly, Guard
from pdrm.machines.text.document import Document, Header, RuleSpec
from pdrm.machines.text.json_values import Value, read_values
from pdrm.machines.text.syntax import Word
from pdrm.machines.transition import ANY

LISTS = ("states", "input_symbols", "stack_symbols", "final_states")
NEEDED = (*LISTS, "transitions", "initial_state", "initial_stack_symbol")
MODES = ("both", "final_state", "empty_stack")
PASSED = "-passed"


@dataclass(frozen=True, slots=True)
class Move:
    """One entry of an automaton's table; without a letter, it is silent."""

    source: str
    letter: str
    top: str
    target: str
    push: tuple[str, ...]
    where: Where


@dataclass(frozen=True, slots=True)
class Automaton:
    """The automaton as its dictionary says."""

    states: tuple[str, ...]
    letters: tuple[str, ...]
    symbols: tuple[str, ...]
    start: str
    bottom: str
    final: frozenset[str]
    """Accepting states; none where only an empty stack accepts."""
    empties: bool
    """Whether an empty stack accepts."""
    moves: tuple[Move, ...]
    where: Where

    def passing(self) -> frozenset[str]:
        """The states that are not accepting, and that silent moves may reach from one that is."""
        reached: set[str] = set()
        while True:
            more = {m.target for m in self.moves if not m.letter and m.source in self.final | reached}
            if more <= reached | self.final:
                return frozenset(reached)
            reached |= more - self.final

    def keeps_bottom(self) -> bool:
        """Whether the bottom symbol is always put back, so that the stack is never empty."""
        return all(move.push[-1:] == (self.bottom,) for move in self.moves if move.top == self.bottom)


def looks_like(text: str) -> bool:
    """Whether a JSON text is such a dictionary."""
    return '"initial_stack_symbol"' in text and '"input_symbols"' in text


def read_automaton(text: str, file: str) -> Document:
    r"""The document that such a dictionary stands for.

    >>> document = read_automaton('{"states": ["q"], "input_symbols": ["a"], "stack_symbols": ["0"], "final_states": ["q"],'
    ...     '"initial_state": "q", "initial_stack_symbol": "0", "transitions": {"q": {"a": {"0": ["q", "0"]}}}}', "q.json")
    >>> [(rule.source, str(rule.guard), rule.target, rule.reward) for rule in document.rules]
    [('q', '{a}', 'q', 0.0), ('q', '{}', 'q', 0.0), ('q', '{end}', 'accepted', 1.0)]
    """
    document = Document(file)
    try:
        _write(_automaton(read_values(text, file)), document)
    except PdrmError as error:
        document.errors.append(error)
    return document


def _automaton(value: Value) -> Automaton:
    members = value.members((*NEEDED, "acceptance_mode"), NEEDED)
    mode = members["acceptance_mode"].text() if "acceptance_mode" in members else MODES[0]
    if mode not in MODES:
        where = members["acceptance_mode"].where
        raise BadShape(f"there is no acceptance mode `{mode[:40]}`", where=where, fix=did_you_mean(mode, MODES))
    states, letters, symbols, final = (tuple(_name(item) for item in members[key].items()) for key in LISTS)
    start, bottom = _name(members["initial_state"]), members["initial_stack_symbol"].text()
    final_states = frozenset(final) if mode != "empty_stack" else frozenset[str]()
    empties, moves = mode != "final_state", tuple(_moves(members["transitions"]))
    return Automaton(states, letters, symbols, start, bottom, final_states, empties, moves, value.where)


def _name(value: Value) -> str:
    """A state may be a number there; as a key of the table it is a text."""
    return value.digits() if isinstance(value.data, float) else value.text()


def _moves(table: Value) -> Iterator[Move]:
    for source, letters in _members(table).items():
        for letter, tops in _members(letters).items():
            for top, move in _members(tops).items():
                parts = move.items()
                if len(parts) != 2:
                    raise BadShape("a move is [STATE, PUSH]", where=move.where, fix='write ["q1", ["1", "0"]]')
                pushed = parts[1]
                push = tuple(pushed.data) if isinstance(pushed.data, str) else tuple(v.text() for v in pushed.items())
                yield Move(source, letter, top, _name(parts[0]), push, move.where)


def _members(value: Value) -> dict[str, Value]:
    if not isinstance(value.data, dict):
        raise value.wrong("an object")
    return value.data


def _write(automaton: Automaton, document: Document) -> None:
    """The machine's header lines and rules."""
    passing = automaton.passing()
    states = [*automaton.states, *(state + PASSED for state in automaton.states if state in passing)]
    begin, accepted, rejected = (_fresh(name, states) for name in ("begin", "accepted", "rejected"))
    end, below = _fresh("end", automaton.letters), _fresh("bottom", automaton.symbols)
    events = [*sorted(automaton.letters), end]
    symbols = [automaton.bottom, *sorted(set(automaton.symbols) - {automaton.bottom})]
    start = automaton.start
    if not automaton.keeps_bottom():
        push = (automaton.bottom, below)
        document.rules.append(RuleSpec(begin, start, SILENT, (below,), push, False, 0.0, automaton.where))
        start, symbols, states = begin, [below, *symbols], [begin, *states]
    document.rules += _rules(automaton, passing)
    accepting = {*automaton.final, *(state + PASSED for state in passing)}
    for state in [state for state in states if state != begin]:
        skip, stop = Exactly(EMPTY_LABEL), Exactly(frozenset({end}))
        document.rules.append(RuleSpec(state, state, skip, (ANY,), (ANY,), False, 0.0, automaton.where))
        top = ANY if state in accepting else below
        if state in accepting or (automaton.empties and below in symbols):
            document.rules.append(RuleSpec(state, accepted, stop, (top,), (top,), False, 1.0, automaton.where))
    headers = {"events": events, "exclusive": events, "stack": symbols, "states": states, "start": [start]}
    headers |= {"final": [accepted, rejected], "otherwise": ["go", rejected, "0"]}
    for keyword, words in headers.items():
        named = tuple(Word(word, automaton.where) for word in words)
        document.headers.append(Header(Word(keyword, automaton.where), named))


def _rules(automaton: Automaton, passing: frozenset[str]) -> Iterator[RuleSpec]:
    """The automaton's moves, and those of the states that remember an accepting one."""
    for move in automaton.moves:
        guard: Guard = Exactly(frozenset({move.letter})) if move.letter else SILENT
        remembers = move.target + PASSED if not move.letter and move.target in passing else move.target
        target = remembers if move.source in automaton.final else move.target
        yield RuleSpec(move.source, target, guard, (move.top,), move.push, False, 0.0, move.where)
        if move.source in passing:
            yield RuleSpec(move.source + PASSED, remembers, guard, (move.top,), move.push, False, 0.0, move.where)


def _fresh(name: str, taken: Iterable[str]) -> str:
    """The name, or the first variant of it that is not taken."""
    while name in taken:
        name += "_"
    return name
