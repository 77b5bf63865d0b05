"""Tasks from context-free grammars: the words of a language, made into a machine that pays when one has been read.

A grammar that one event decides becomes a machine whose stack holds what is still owed (`owed`).
"""

from __future__ import annotations

from collections.abc import Mapping

from pdrm.errors import BadGrammar, Undecidable, Where
from pdrm.language.draft import build, shrink
from pdrm.language.grammar_text import Calls, Choice, Expression, Reads, Repeat, Rule, Sequence, read_rules
from pdrm.language.owed import NotTopDown, owe
from pdrm.language.productions import START, Letters, Productions, expand, tell_apart
from pdrm.language.task_text import END, TaskOptions, TaskText, check_names, read_task_text
from pdrm.limits import reading
from pdrm.machines.alphabet import Alphabet
from pdrm.machines.guards import Guard, events_of
from pdrm.machines.pushdown import PushdownRewardMachine

KIND = "grammar"


def from_grammar(  # noqa: PLR0913 - each is a header line of a grammar file
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
        where = rules[0].where if rules else None
        raise BadGrammar("no rule is called `start`", where=where, fix="call the rule that all words come from `start`")
    places = _places(rules)
    known = [*by_name, *(f'"{guard}"' for guard in places)]
    check_names(task.options.complete, known, "a rule, or an event in quotes", task.where)
    if task.options.accept == END and (
        where := next((at for one, at in places.items() if END in events_of(one)), None)
    ):
        raise BadGrammar(
            "with `accept end`, the event `end` ends every word", where=where, fix="leave it out of the rules"
        )
    grammar = expand(rules, task.options, left=False)
    _check_endless(grammar, by_name)
    letters = _letters(grammar, task, places)
    try:
        draft = owe(grammar, letters, task.options)
    except NotTopDown:
        fault = "one event does not always say which alternative of a rule is meant"
        raise Undecidable(
            fault, where=by_name[START].where, fix="let the alternatives begin with different events"
        ) from None
    return build(shrink(draft), letters, task.options, task.name)


def _check_endless(grammar: Productions, rules: Mapping[str, Rule]) -> None:
    for symbol in grammar.find_endless():
        name = grammar.names[symbol]
        if name in rules:
            fix = "give it an alternative that does not need itself"
            raise BadGrammar(f"no word comes from rule `{name}`: it never ends", where=rules[name].where, fix=fix)


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
