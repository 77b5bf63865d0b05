"""Tasks from context-free grammars: the words of a language, made into a machine that pays when one has been read.

A grammar that one event decides (LL(1)) becomes a machine whose stack holds what is still owed (`owed`). Any other that one event of look-ahead
decides (LR(1)) is read bottom-up (`bottom_up`). Others are refused, with the words that show why (`conflicts`).
"""

from __future__ import annotations

from collections.abc import Mapping

from pdrm.errors import (
    BadGrammar,
    BadSetting,
    EarlyAcceptance,
    PdrmError,
    Undecidable,
    Where,
    warn_caller,
)
from pdrm.language.grammars.bottom_up import reduce_bottom_up
from pdrm.language.grammars.conflicts import explain_conflict
from pdrm.language.grammars.draft import build
from pdrm.language.grammars.grammar_text import (
    Calls,
    Choice,
    Expression,
    Reads,
    Repeat,
    Rule,
    Sequence,
    read_rules,
)
from pdrm.language.grammars.lr_tables import (
    ALL,
    BY_ENDS,
    NOT_AT_ALL,
    Automaton,
    automate,
    looks_ahead,
)
from pdrm.language.grammars.owed import NotTopDown, owe
from pdrm.language.grammars.productions import (
    START,
    Letters,
    Productions,
    expand,
    find_word_in_word,
    tell_apart,
)
from pdrm.language.grammars.shrinking import shrink, size_of
from pdrm.language.task_text import (
    END,
    IGNORE,
    TaskOptions,
    TaskText,
    check_names,
    check_text,
    read_task_text,
)
from pdrm.limits import reading
from pdrm.machines.guards import Guard, events_of
from pdrm.machines.labels import Alphabet
from pdrm.machines.pushdown import PushdownRewardMachine

KIND = "grammar"


def from_grammar(
    text: str,
    *,
    accept: str = "first",
    name: str = "grammar",
    reward: float = 1.0,
    fail: float | str | None = None,
    step: float = 0.0,
    complete: Mapping[str, float] | None = None,
    events: tuple[str, ...] = (),
    exclusive: tuple[tuple[str, ...], ...] | None = None,
) -> PushdownRewardMachine:
    r"""The machine of a context-free grammar in Lark's notation, whose terminals are events in double quotes.

    >>> from pdrm.language import parse_word
    >>> machine = from_grammar('start: pair*\npair: "open" pair* "close"', accept="end")
    >>> [machine.run(parse_word(word)).accepted for word in ("open open close close end", "open close close end")]
    [True, False]

    text: the rules. name: of the machine.
    accept: `"first"`: the machine is final as soon as the events read so far, at least one, are a word of the language; so it accepts a
    word just when no shorter beginning of it (but for the empty one) is in the language. `"end"`: a word is complete when the event
    `end` is read after it.
    reward: paid when the word is complete; step: paid for every label.
    fail: what happens at the first event that no word continues with. A number is paid, and the episode ends in the final state `lost`
    (`run(word).accepted` is then true there, too: look at `run(word).after.state`); None: the machine stays in `lost`, which is not
    final; `"ignore"`: the event is passed over.
    complete: paid each time a rule is complete, by its name, or an event is read (`{'"open"': 0.1}`): as soon as it is certain.
    events: more events that labels may hold; a label with none of the grammar's events is passed over.
    exclusive: groups of events of which a label holds at most one. None: all events are one group.
    """
    check_text(text, 'the rules: pdrm.from_grammar(\'start: "a" "b"\')')
    check_text(name, 'its name: name="pairs"', "the name")
    if complete is not None and not isinstance(complete, Mapping):
        raise BadSetting(
            f"`complete` is {str(complete)[:40]!r}",
            fix='give numbers by rule: complete={"pair": 0.1}',
        )
    options = TaskOptions(accept, reward, fail, step, complete or {}, events, exclusive)
    with reading("<grammar>"):
        return _machine(read_task_text(text, "<grammar>", KIND, name, options))


def read_task(text: str, file: str, name: str) -> PushdownRewardMachine:
    """The machine of a grammar file."""
    return _machine(read_task_text(text, file, KIND, name, TaskOptions()))


def _machine(task: TaskText) -> PushdownRewardMachine:
    rules = read_rules(task.body)
    by_name = {rule.name: rule for rule in rules}
    if START not in by_name:
        where = rules[0].where if rules else Where(task.file)
        raise BadGrammar(
            "no rule is called `start`",
            where=where,
            fix="call the rule that all words come from `start`",
        )
    try:
        return _translate(task, rules, by_name)
    except PdrmError as error:
        if error.where is None or not error.where.line:
            named = (at for guard, at in _places(rules).items() if error.word in events_of(guard))
            error.where = next(named, by_name[START].where)
        raise


def _translate(
    task: TaskText, rules: list[Rule], by_name: Mapping[str, Rule]
) -> PushdownRewardMachine:
    places = _places(rules)
    known = [*by_name, *(f'"{guard}"' for guard in places)]
    check_names(task.options.complete, known, "a rule, or an event in quotes", task.where)
    if task.options.accept == END and (
        where := next((at for one, at in places.items() if END in events_of(one)), None)
    ):
        raise BadGrammar(
            "with `accept end`, the event `end` ends every word",
            where=where,
            fix="leave it out of the rules",
        )
    grammar = expand(rules, task.options, left=False)
    _check_endless(grammar, by_name)
    letters = _letters(grammar, task, places)
    if not grammar.guards:
        fix = "let it read an event"
        raise BadGrammar(
            "only the empty word comes from `start`", where=by_name[START].where, fix=fix
        )
    try:
        drafts = [owe(grammar, letters, task.options)]
    except NotTopDown:
        drafts = []
    if not drafts:
        grammar = expand(rules, task.options, left=True)
        letters = _letters(grammar, task, places)
        automata = _automata(grammar, letters, task.options, by_name)
        drafts = [reduce_bottom_up(automaton, task.options) for automaton in automata]
    machine = build(min(map(shrink, drafts), key=size_of), letters, task.options, task.name)
    if grammar.end is None and (found := find_word_in_word(grammar)) is not None:
        one, other = (
            " ".join(letters.example(min(letters.of[event])) for event in word) for word in found
        )
        warn_caller(EarlyAcceptance(by_name[START].where, (one, other)))
    return machine


FEW_STATES, MOST_STATES = 60, 2_000
"""Parser states up to which more than one way to merge them is tried, and at most."""


def _automata(
    grammar: Productions, letters: Letters, options: TaskOptions, rules: Mapping[str, Rule]
) -> list[Automaton]:
    """Parsers without conflicts.

    Where states are merged, a wrong event may be noticed only after some reductions. That is as good, unless these pay, or the event is
    passed over as if nothing had happened.
    """
    exact = options.fail == IGNORE or bool(options.complete)
    found: list[Automaton] = []
    for merge in (ALL, BY_ENDS):
        automaton = automate(grammar, letters, merge=merge, most=MOST_STATES)
        if (
            automaton.knows_ends
            and not automaton.find_conflicts()
            and not (exact and looks_ahead(automaton))
        ):
            found.append(automaton)
            if len(automaton.states) > FEW_STATES:
                break
    if not found:
        automaton = automate(grammar, letters, merge=NOT_AT_ALL, most=MOST_STATES)
        if automaton.find_conflicts():
            raise _explain(automaton, rules)
        found.append(automaton)
    return found


def _explain(automaton: Automaton, rules: Mapping[str, Rule]) -> Undecidable:
    """What is wrong with a grammar whose parser has conflicts."""
    conflict = explain_conflict(automaton)
    if conflict is None:
        number, letter = automaton.find_conflicts()[0]
        way = automaton.productions[max(automaton.states[number].reduce[letter])]
        name = [*automaton.grammar.names, START][way.left]
        where = find_rule(name, rules)
        fault = f"one event of look-ahead does not say whether `{name}` is complete"
        return Undecidable(fault, where=where, fix=UNDECIDED)
    where = find_rule([*automaton.grammar.names, START][conflict.production.left], rules)

    spelt = [[automaton.letters.example(letter) for letter in word] for word in conflict.words]
    one, other = (_cut(" ".join(word)) for word in spelt)
    first, second = map(_cut, conflict.trees)
    shared = " ".join(spelt[0][: len(conflict.prefix) + 1])
    if conflict.ambiguous:
        fault = f"the {f'word `{one}`' if one else 'empty word'} has two derivations: {first} and {second}"
        error = Undecidable(
            fault, where=where, fix="write the rules so that each word has one derivation"
        )
    else:
        begin = f"`{one}` and `{other}` begin alike (`{_cut(shared)}`)"
        fault = f"{begin}, and one event ahead does not say how to read them: {first} and {second}"
        error = Undecidable(fault, where=where, fix=UNDECIDED)
    error.words, error.shared = (" ".join(spelt[0]), " ".join(spelt[1])), shared
    return error


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


UNDECIDED = "write what the two begin with once, with the alternatives after it, or tell them apart by an earlier event"
LONGEST_SHOWN = 300
"""Characters of a word, or of a derivation, that a message shows."""


def find_rule(name: str, rules: Mapping[str, Rule]) -> Where:
    """Where the rule of a nonterminal is, or the first one that repeats what it stands for."""
    if name in rules:
        return rules[name].where
    for rule in rules.values():
        if name.strip("_") in str(rule.inner):
            return rule.where
    return rules[START].where


def _check_endless(grammar: Productions, rules: Mapping[str, Rule]) -> None:
    for symbol in grammar.find_endless():
        name = grammar.names[symbol]
        if name in rules:
            fix = "give it an alternative that does not need itself"
            raise BadGrammar(
                f"no word comes from rule `{name}`: it never ends", where=rules[name].where, fix=fix
            )


def _letters(grammar: Productions, task: TaskText, places: Mapping[Guard, Where]) -> Letters:
    """The letters that the terminals tell apart."""
    named = dict.fromkeys(event for guard in grammar.guards for event in _in_order(guard))
    events = tuple(dict.fromkeys([*named, *task.options.events]))
    exclusive = (events,) if task.options.exclusive is None else task.options.exclusive
    letters = tell_apart(Alphabet(events, exclusive), grammar.guards)
    for guard, held in zip(letters.guards, letters.of, strict=True):
        if not held:
            fix = "say which events exclude each other: exclusive=((…), …), or lines `exclusive …` (none: they do not)"
            raise BadGrammar(f"no label holds for `{guard}`", where=places.get(guard), fix=fix)
    return letters


def _in_order(guard: Guard) -> list[str]:
    """The events of a guard as they are written."""
    text = str(guard)
    return sorted(events_of(guard), key=text.find)


def _places(rules: list[Rule]) -> dict[Guard, Where]:
    """Where each terminal first stands."""
    found: dict[Guard, Where] = {}
    waiting: list[Expression] = [rule.inner for rule in rules]
    for inner in waiting:
        match inner:
            case Reads(guard, where):
                found.setdefault(guard, where)
            case Sequence(parts):
                waiting += parts
            case Choice(options):
                waiting += options
            case Repeat(once):
                waiting.append(once)
            case Calls():
                pass
    return found
