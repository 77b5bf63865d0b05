"""Machines as other programs write them: Toro Icarte's reward machine text, and automata-lib's pushdown automata as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pdrm.errors import BadShape, CannotRead, NotConstant, PdrmError, TooLarge, Where, did_you_mean
from pdrm.language.document import Document, Header, RuleSpec
from pdrm.language.json_form import Value, read_values
from pdrm.language.source import Line, split_lines
from pdrm.language.syntax import Word, number_of, read_guard
from pdrm.machines.guards import EMPTY_LABEL, SILENT, Exactly, Guard, events_of
from pdrm.machines.transitions import ANY

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
    r"\s*+\(\s*+(\d{1,9}+)\s*+,\s*+(\d{1,9}+)\s*+,\s*+(?:'([^']*+)'|\"([^\"]*+)\")\s*+,"
    r"\s*+(\w++)\(([^()]*+)\)\s*+\)\s*+,?+\s*+(#.*)?",
    re.ASCII,
)
FORMULA = re.compile(r"[\w!&| ]+", re.ASCII)
UNDEFINED = "undefined"


def looks_like_toro_icarte(text: str) -> bool:
    """Whether a text begins as such a file does, or has its rules soon: then a line may be missing before them."""
    lines = [line for line in text.split("\n", 8)[:8] if line.strip()]
    begins = len(lines) > 1 and FIRST.fullmatch(lines[0]) and SECOND.fullmatch(lines[1])
    return bool(begins) or any(RULE.fullmatch(line) for line in lines)


def read_toro_icarte(text: str, file: str) -> Document:
    """The document that such a file stands for."""
    document = Document(file)
    try:
        _read(
            [line for line in split_lines(text, file) if line.text.split("#")[0].strip()], document
        )
    except PdrmError as error:
        document.errors.append(error)
    return document


def _read(lines: list[Line], document: Document) -> None:
    first = FIRST.fullmatch(lines[0].text) if lines else None
    if first is None:
        where = lines[0].at(1) if lines else Line(document.file, 1, "").at(1)
        raise CannotRead(
            "the first line must be the number of the initial state", where=where, fix="write `0`"
        )
    second = SECOND.fullmatch(lines[1].text) if len(lines) > 1 else None
    if second is None:
        where = lines[min(1, len(lines) - 1)].at(1)
        raise CannotRead(
            "the second line must list the final states",
            where=where,
            fix="write `[2]`, or `[]` for none",
        )
    final = [f"u{number.strip()}" for number in second[1].split(",") if number.strip()]
    ended = frozenset(final)
    for line in lines[2:]:
        try:
            if (rule := _rule(line)).source not in ended:
                document.add_rule(rule)
        except TooLarge:
            raise
        except PdrmError as error:
            document.note(error)
    start, rules = f"u{first[1]}", document.rules
    named = dict.fromkeys(
        [start, *(state for rule in rules for state in (rule.source, rule.target))]
    )
    headers = {
        "events": sorted(frozenset[str]().union(*(events_of(rule.guard) for rule in rules))),
        "states": [state for state in named if state not in ended],
        "start": [start],
        "final": [*final, UNDEFINED],
        "otherwise": ["go", UNDEFINED, "0"],
    }
    for keyword, words in headers.items():
        place = lines[1 if keyword == "final" else 0].at(1)
        document.add_header(
            Header(Word(keyword, place), tuple(Word(word, place) for word in words))
        )


def _rule(line: Line) -> RuleSpec:
    match = RULE.fullmatch(line.text)
    if match is None:
        fix = "write (0,1,'a&!b',ConstantRewardFunction(1))"
        raise CannotRead("this line is not a transition", where=line.at(line.indent + 1), fix=fix)
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
        raise CannotRead(
            "this formula cannot be read", where=where, fix="use event names, `!`, `&` and `|` only"
        )
    words = re.sub(r"\b(True|False)\b", lambda found: found[0].lower(), formula)
    try:
        return read_guard(Line(line.file, line.number, words))
    except PdrmError as error:
        raise type(error)(error.message, where=where, fix=error.fix) from None


# --- Deterministic pushdown automata as automata-lib keeps them: `json.dumps(dpda.input_parameters, default=list)`.
#
# An automaton says which words it accepts and pays nothing, so the machine reads one event more, `end`: where the
# automaton accepts, `end` pays 1 and leads to the final state `accepted`; elsewhere, or where the automaton is stuck, it
# leads to `rejected`. The empty label is not a letter of the word and changes nothing. An automaton accepts when it passes
# an accepting state on silent moves after the last letter; states that remember so are called `…-passed`.

LISTS = ("states", "input_symbols", "stack_symbols", "final_states")
NEEDED = (*LISTS, "transitions", "initial_state", "initial_stack_symbol")
MODES = ("both", "final_state", "empty_stack")
PASSED = "-passed"


@dataclass(frozen=True, slots=True)
class AutomatonMove:
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
    moves: tuple[AutomatonMove, ...]
    where: Where

    def passing(self) -> frozenset[str]:
        """The states that are not accepting, and that silent moves may reach from one that is."""
        after: dict[str, list[str]] = {}
        for move in (move for move in self.moves if not move.letter):
            after.setdefault(move.source, []).append(move.target)
        found, todo = set(self.final), list(self.final)
        while todo:
            new = set(after.get(todo.pop(), ())) - found
            found |= new
            todo += new
        return frozenset(found - self.final)


def looks_like_automaton(text: str) -> bool:
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
        raise BadShape(
            f"unknown acceptance mode `{mode[:40]}`", where=where, fix=did_you_mean(mode, MODES)
        )
    states, letters, symbols, final = (
        tuple(_name(item) for item in members[key].items()) for key in LISTS
    )
    start, bottom = _name(members["initial_state"]), members["initial_stack_symbol"].text()
    final_states = frozenset(final) if mode != "empty_stack" else frozenset[str]()
    empties, moves = mode != "final_state", tuple(_moves(members["transitions"]))
    return Automaton(
        states, letters, symbols, start, bottom, final_states, empties, moves, value.where
    )


def _name(value: Value) -> str:
    """A state may be a number there; as a key of the table it is a text."""
    return value.digits() if isinstance(value.data, float) else value.text()


def _moves(table: Value) -> Iterator[AutomatonMove]:
    for source, letters in table.object().items():
        for letter, tops in letters.object().items():
            for top, move in tops.object().items():
                parts = move.items()
                if len(parts) != 2:
                    raise BadShape(
                        "a move is [STATE, PUSH]", where=move.where, fix='write ["q1", ["1", "0"]]'
                    )
                pushed = parts[1]
                push = tuple(pushed.data if isinstance(pushed.data, str) else pushed.texts())
                yield AutomatonMove(source, letter, top, _name(parts[0]), push, move.where)


def _write(automaton: Automaton, document: Document) -> None:
    """The machine's header lines and rules."""
    passing = automaton.passing()
    states = [
        *automaton.states,
        *(state + PASSED for state in automaton.states if state in passing),
    ]
    begin, accepted, rejected = (_fresh(name, states) for name in ("begin", "accepted", "rejected"))
    end, below = _fresh("end", automaton.letters), _fresh("bottom", automaton.symbols)
    events = [*sorted(automaton.letters), end]
    symbols = [automaton.bottom, *sorted(set(automaton.symbols) - {automaton.bottom})]
    start = automaton.start
    if any(
        move.push[-1:] != (automaton.bottom,)
        for move in automaton.moves
        if move.top == automaton.bottom
    ):
        push = (automaton.bottom, below)  # the stack may be empty
        document.add_rule(
            RuleSpec(begin, start, SILENT, (below,), push, False, 0.0, automaton.where)
        )
        start, symbols, states = begin, [below, *symbols], [begin, *states]
    for rule in _rules(automaton, passing):
        document.add_rule(rule)
    accepting = {*automaton.final, *(state + PASSED for state in passing)}
    for state in [state for state in states if state != begin]:
        skip, stop = Exactly(EMPTY_LABEL), Exactly(frozenset({end}))
        document.add_rule(RuleSpec(state, state, skip, (ANY,), (ANY,), False, 0.0, automaton.where))
        top = ANY if state in accepting else below
        if state in accepting or (automaton.empties and below in symbols):
            document.add_rule(
                RuleSpec(state, accepted, stop, (top,), (top,), False, 1.0, automaton.where)
            )
    headers = {
        "events": events,
        "exclusive": events,
        "stack": symbols,
        "states": states,
        "start": [start],
    }
    headers |= {"final": [accepted, rejected], "otherwise": ["go", rejected, "0"]}
    for keyword, words in headers.items():
        named = tuple(Word(word, automaton.where) for word in words)
        document.add_header(Header(Word(keyword, automaton.where), named))


def _rules(automaton: Automaton, passing: frozenset[str]) -> Iterator[RuleSpec]:
    """The automaton's moves, and those of the states that remember an accepting one."""
    for move in automaton.moves:
        guard: Guard = Exactly(frozenset({move.letter})) if move.letter else SILENT
        remembers = (
            move.target + PASSED if not move.letter and move.target in passing else move.target
        )
        target = remembers if move.source in automaton.final else move.target
        yield RuleSpec(move.source, target, guard, (move.top,), move.push, False, 0.0, move.where)
        if move.source in passing:
            yield RuleSpec(
                move.source + PASSED,
                remembers,
                guard,
                (move.top,),
                move.push,
                False,
                0.0,
                move.where,
            )


def _fresh(name: str, taken: Iterable[str]) -> str:
    """The name, or the first variant of it that is not taken."""
    while name in taken:
        name += "_"
    return name
