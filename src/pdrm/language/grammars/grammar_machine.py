"""Tasks from context-free grammars: a language, made into a machine that pays for its words.

A grammar that is LL(1) becomes a machine whose stack holds what is still to come (`ll1`). Any other
that is LR(1) is read bottom-up (`lr1`). Others are refused, with words that show why (`conflicts`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pdrm.errors import (
    BadGrammar,
    BadSetting,
    EarlyAcceptance,
    Finding,
    TaskWarning,
    Undecidable,
    Where,
    did_you_mean,
    warn_caller,
)
from pdrm.language.draft import Draft, DraftMove, Moves, State, Symbol
from pdrm.language.grammars.conflicts import find_ambiguity, find_prefix, find_prefix_word
from pdrm.language.grammars.grammar_text import (
    Alternatives,
    Definition,
    Expression,
    Reference,
    Repeat,
    Sequence,
    Terminal,
    read_rules,
)
from pdrm.language.grammars.ll1 import NotLL1, TopDown
from pdrm.language.grammars.lr1 import Automaton, BottomUp
from pdrm.language.grammars.productions import NO_MORE, START, Grammar, Letters, expand
from pdrm.language.grammars.shrinking import shrink
from pdrm.language.task_text import (
    DONE,
    END,
    IGNORE,
    LOST,
    TaskOptions,
    TaskText,
    add_rewards,
    placing,
    read_task_text,
)
from pdrm.machines.guards import NAME, Event, Guard, events_of
from pdrm.machines.labels import FALSE, Alphabet
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Otherwise


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
    r"""Make the machine of a context-free grammar in Lark's notation, with events in double quotes.

    Args:
        text: The rules.
        accept: `"first"`: the machine is final as soon as the events read so far, at least one, are
            a word of the language; so a word is accepted only if none of its non-empty proper
            prefixes is in the language. `"end"`: a word is complete when the event `end` is read
            after it.
        name: The name of the machine.
        reward: Paid when the word is complete.
        fail: What happens at the first event with which no word continues. A number is paid, and
            the episode ends in the final state `lost` (`run(word).accepted` is then true there,
            too: look at `run(word).after.state`). By default the machine stays in `lost`, which is
            not final. `"ignore"` skips the event.
        step: Paid for every label.
        complete: Paid each time a rule is complete, by its name, or an event is read
            (`{'"open"': 0.1}`), as soon as that is certain.
        events: More events that labels may hold. A label with none of the grammar's events is
            skipped.
        exclusive: Groups of events of which a label holds at most one (default: one group of all).

    Example:
        >>> from pdrm.language import parse_word
        >>> machine = from_grammar('start: pair*\npair: "open" pair* "close"', accept="end")
        >>> words = "open open close close end", "open close close end"
        >>> [machine.run(parse_word(word)).accepted for word in words]
        [True, False]
    """
    options = TaskOptions(accept, reward, fail, step, complete or {}, events, exclusive)
    return build(read_task_text(text, "<grammar>", "grammar", name, options))


def build(task: TaskText) -> PushdownRewardMachine:
    """The machine of a task's text."""
    rules = read_rules(task.body, task.file)
    if START not in rules:
        where = next((rule.where for rule in rules.values()), Where(task.file))
        fix = "call the rule that all words come from `start`"
        raise BadGrammar("no rule is called `start`", where=where, fix=fix)
    translation = Translation(task, rules)
    with placing(rules[START].where, translation.places):
        return translation.machine()


class Translation:
    """The rules of a task as a grammar, and as a machine."""

    def __init__(self, task: TaskText, rules: dict[str, Definition]) -> None:
        self.options = task.options
        self.task = task
        self.rules = rules
        self.places: dict[Guard, Where] = {}
        """The first place of each terminal that words can hold."""
        reached = _reach(rules, self.places)
        for name, rule in rules.items():
            if name not in reached:
                fault = f"no word of `start` comes from the rule `{name}`"
                warn_caller(TaskWarning(Finding("W0604", fault, rule.where)))
        known = [*rules, *(f'"{guard}"' for guard in self.places)]
        for one in task.options.complete:
            if one not in known:
                fault = f"`{one[:40]}` is not a rule, or an event in quotes"
                raise BadSetting(fault, where=task.where.get(one), fix=did_you_mean(one, known))

        for guard, where in self.places.items():
            if self.options.accept == END and END in events_of(guard):
                fault = "with `accept end`, the event `end` ends every word"
                raise BadGrammar(fault, where=where, fix="leave it out")

    def machine(self) -> PushdownRewardMachine:
        grammar, end = self.expand(lr=False)
        try:
            parser: TopDown | BottomUp = TopDown(grammar, end, self.options)
            moves = shrink(parser.moves, parser.start, {})
        except NotLL1:
            grammar, end = self.expand(lr=True)
            automaton = Automaton(grammar, end)
            if automaton.find_conflicts():
                raise self._explain(automaton) from None
            parser = BottomUp(automaton, self.options)
            # A merged parser may notice a wrong event after some reductions: these must not pay, and
            # the event must not be skipped as if nothing had happened.
            late = parser.pays or self.options.fail == IGNORE
            moves = shrink(parser.moves, parser.start, {} if late else parser.alike)
        machine = self._write(parser, moves)
        if end is None and (found := find_prefix_word(grammar)) is not None:
            one, other = map(grammar.letters.spell, found)
            warn_caller(EarlyAcceptance(self.rules[START].where, (one, other)))
        return machine

    def _write(self, parser: TopDown | BottomUp, moves: Moves) -> PushdownRewardMachine:
        """The machine of a parser: a label that no guard reads is skipped."""
        options = self.options
        letters = parser.grammar.letters
        final: tuple[str, ...] = (DONE, LOST) if isinstance(options.fail, float) else (DONE,)
        otherwise = Otherwise.stay(options.step)
        if options.fail != IGNORE:
            for (state, top), found in moves.items():
                if letters.others != FALSE and found[0].labels is not None:
                    found.append(DraftMove(letters.others, state, (top,), options.step))
            every = letters.sets.all.node
            read = (
                letters.sets.join([every if one.labels is None else one.labels for one in found])
                for found in moves.values()
            )
            if any(labels != every for labels in read):
                otherwise = Otherwise.go(LOST, add_rewards(options.step, options.paid_for_failing))

        def name_state(state: State) -> str:
            return _clean(parser.name_state(state))

        def name_symbol(symbol: Symbol) -> str:
            return "#" if symbol == parser.start[1] else _clean(parser.name_symbol(symbol))

        draft = Draft(
            letters.sets,
            parser.start,
            moves,
            final,
            otherwise,
            name_state,
            name_symbol,
            letters.known,
        )
        return draft.write(self.task.name)

    def expand(self, lr: bool) -> tuple[Grammar, int | None]:
        """The productions, and the terminal that ends every word, if there is one."""
        ending = Event(END) if self.options.accept == END else None
        grammar = expand(self.rules, self.options.complete, ending, lr)
        if not self.places and not ending:
            fault = "only the empty word comes from `start`"
            raise BadGrammar(fault, where=self.rules[START].where, fix="let it read an event")
        named: dict[str, None] = {}
        for guard in grammar.guards:
            named |= dict.fromkeys(sorted(events_of(guard), key=str(guard).find))
        ends = [END] if ending and named.pop(END, None) is None else []
        events = tuple(dict.fromkeys([*named, *self.options.events, *ends]))
        groups = self.options.exclusive
        if groups is None:
            groups = (events,) if len(events) > 1 else ()
        letters = Letters(Alphabet(events, groups), grammar.guards)
        for guard, held in zip(letters.guards, letters.of, strict=True):
            if not held:
                fix = "say which events exclude each other: exclusive=((…), …), or lines `exclusive …` (none: they do not)"
                where = self.places.get(guard)
                raise BadGrammar(f"no label holds for `{guard}`", where=where, fix=fix)
        grammar.analyse(letters)
        if endless := [one for one in range(len(grammar.names)) if one not in grammar.shortest]:
            passed: list[int] = []
            one = endless[0]
            while one not in passed:  # what it needs may be the reason
                passed.append(one)
                one = next(part for part in grammar.productions[one][-1].right if part in endless)
            around = (grammar.names[part] for part in passed[passed.index(one) :])
            name = next(name for name in around if name in self.rules)
            fault = f"no word comes from rule `{name}`: it never ends"
            fix = "give it an alternative that does not need itself"
            raise BadGrammar(fault, where=self.rules[name].where, fix=fix)
        return grammar, None if ending is None else grammar.guards.index(ending)

    def _explain(self, automaton: Automaton) -> Undecidable:
        """Describe what is wrong with a grammar whose parser has conflicts."""
        names = [*automaton.grammar.names, START]
        spell = automaton.grammar.letters.spell
        ambiguity = find_ambiguity(automaton)
        if ambiguity is not None:
            whole = spell(ambiguity.word)
            shown = f"word `{whole}`" if whole else "empty word"
            first, second = (tree[:LONGEST_SHOWN] for tree in ambiguity.trees)
            fault = f"the {shown} has two derivations: {first} and {second}"
            fix = "write the rules so that each word has one derivation"
            error = Undecidable(fault, where=self._place(names[ambiguity.symbol]), fix=fix)
            error.words = (whole, whole)
            return error
        word, number, letter = find_prefix(automaton)
        shared = "" if word is None else spell(word if letter == NO_MORE else (*word, letter))
        name = names[automaton.states[number].reduce[letter][0].left]
        after = f"after `{shared}`, " if shared else ""
        fault = f"{after}one event of look-ahead does not say if `{name}` is complete"
        fix = 'if two ways to go on begin alike, write the beginning once: `"a" ("b" | "c")` instead of `"a" "b" | "a" "c"`'
        error = Undecidable(fault, where=self._place(name), fix=fix)
        error.shared = shared
        return error

    def _place(self, name: str) -> Where:
        """The place of a rule, or of the first one that holds a group or repetition."""
        holding = (rule for rule in self.rules.values() if name in str(rule.inner))
        return self.rules.get(name, next(holding, self.rules[START])).where


SIGNS = str.maketrans("&|!+(){},", "·∨¬⁺⟨⟩⟨⟩·", '"')


def _clean(name: str) -> str:
    """A text as the language writes names."""
    text = name.translate(SIGNS).replace(" · ", "·").replace(" ∨ ", "∨")
    short = re.sub(r"\s+", ".", text)[:60].strip("-.")
    return short if NAME.fullmatch(short) else "part"


LONGEST_SHOWN = 300
"""Characters of a word, or of a derivation, that a message shows."""


def _reach(rules: Mapping[str, Definition], places: dict[Guard, Where]) -> set[str]:
    """The rules that words come from; the terminals in them are noted in `places`."""
    reached = {START}
    waiting: list[Expression] = [rules[START].inner]
    for inner in waiting:
        match inner:
            case Terminal(guard, where):
                places.setdefault(guard, where)
            case Reference(name):
                if name in rules and name not in reached:
                    reached.add(name)
                    waiting.append(rules[name].inner)
            case Sequence(parts) | Alternatives(parts):
                waiting += parts
            case Repeat(once):
                waiting.append(once)
    return reached
