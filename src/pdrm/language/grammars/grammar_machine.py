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
    Where,
    did_you_mean,
    warn_caller,
)
from pdrm.language.draft import Draft, DraftMove, Moves, shrink
from pdrm.language.grammars.conflicts import explain, find_prefix_word
from pdrm.language.grammars.grammar_text import Definition, read_rules
from pdrm.language.grammars.ll1 import NotLL1, TopDown
from pdrm.language.grammars.lr1 import Automaton, BottomUp
from pdrm.language.grammars.productions import START, Expansion, Grammar, Letters
from pdrm.language.task_text import (
    END_EVENT,
    IGNORE,
    LOST,
    TaskOptions,
    TaskText,
    add_rewards,
    read_task_text,
    with_default_location,
)
from pdrm.machines.guards import NAME, Event, Guard, events_of
from pdrm.machines.labels import FALSE, Alphabet, groups_of
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
    with with_default_location(rules[START].where, translation.places):
        return translation.machine()


class Translation:
    """The rules of a task as a grammar, and as a machine."""

    def __init__(self, task: TaskText, rules: dict[str, Definition]) -> None:
        self.options = task.options
        self.task = task
        self.rules = rules
        self.end = Event(END_EVENT) if task.options.accept == END_EVENT else None
        self.places: dict[Guard, Where] = {}
        """The first place of each terminal that words can hold."""

    def machine(self) -> PushdownRewardMachine:
        grammar = self.expand(lr=False)
        self._check_names(grammar)
        try:
            parser: TopDown | BottomUp = TopDown(grammar, self.options)
            moves = shrink(parser.moves, parser.start)
        except NotLL1:
            grammar = self.expand(lr=True)
            automaton = Automaton(grammar)
            if automaton.find_conflicts():
                raise explain(automaton, self.rules) from None
            parser = BottomUp(automaton, self.options)
            moves = shrink(parser.moves, parser.start)
        machine = self._write(parser, moves)
        if self.end is None and (found := find_prefix_word(grammar)) is not None:
            spell = grammar.letters.spell
            words = spell(*found[0]), spell(*found[1])
            warn_caller(EarlyAcceptance(self.rules[START].where, words))
        return machine

    def _check_names(self, grammar: Grammar) -> None:
        """Warn of rules that no word comes from, and refuse a reward for what is neither a rule nor an event."""
        for name, rule in self.rules.items():
            if name not in grammar.names[grammar.start :]:
                fault = f"no word of `start` comes from the rule `{name}`"
                warn_caller(TaskWarning(Finding("W0604", fault, rule.where)))
        known = [*self.rules, *(f'"{guard}"' for guard in self.places)]
        for one in self.options.complete:
            if one not in known:
                fault = f"`{one[:40]}` is not a rule, or an event in quotes"
                where = self.task.where.get(one)
                raise BadSetting(fault, where=where, fix=did_you_mean(one, known))

    def _write(self, parser: TopDown | BottomUp, moves: Moves) -> PushdownRewardMachine:
        """The machine of a parser: a label that no guard reads is skipped."""
        options = self.options
        letters = parser.grammar.letters
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
                otherwise = Otherwise.go(LOST, add_rewards(options.step, options.fail_reward))

        draft = Draft(
            letters.sets,
            parser.start,
            moves,
            options.final,
            otherwise,
            lambda state: _clean(parser.name_state(state)),
            lambda one: "#" if one == parser.start[1] else _clean(parser.name_symbol(one)),
        )
        return draft.write(self.task.name)

    def expand(self, lr: bool) -> Grammar:
        """The grammar, as a parser of this kind needs it."""
        expansion = Expansion(self.rules, self.options.complete, lr)
        terminals = expansion.terminals
        self.places.update(terminals)
        if not terminals and self.end is None:
            fault = "only the empty word comes from `start`"
            raise BadGrammar(fault, where=self.rules[START].where, fix="let it read an event")
        for guard, where in terminals.items():
            if self.end is not None and END_EVENT in events_of(guard):
                fault = "with `accept end`, the event `end` ends every word"
                raise BadGrammar(fault, where=where, fix="leave it out")
        named: dict[str, None] = {}
        for guard in terminals:
            named |= dict.fromkeys(sorted(events_of(guard), key=str(guard).find))
        ending = [] if self.end is None else [self.end]
        events = dict.fromkeys([*named, *self.options.events, *map(str, ending)])
        groups = groups_of(self.options.exclusive or ())
        if self.options.exclusive is None and len(events) > 1:
            groups = (tuple(events),)
        letters = Letters(Alphabet(tuple(events), groups), [*terminals, *ending])
        for guard, held in zip(letters.guards, letters.letters_of, strict=True):
            if not held:
                fix = "say which events exclude each other: exclusive=((…), …), or lines `exclusive …` (none: they do not)"
                fault = f"no label holds for `{guard}`"
                raise BadGrammar(fault, where=self.places.get(guard), fix=fix)
        grammar = Grammar(letters, expansion, self.end)
        self._check_ends(grammar)
        return grammar

    def _check_ends(self, grammar: Grammar) -> None:
        """Refuse a rule that no word comes from, because it needs itself."""
        endless = [one for one in range(len(grammar.names)) if one not in grammar.shortest]
        if not endless:
            return
        one = endless[0]
        steps = 0
        while steps < len(grammar.names) or grammar.names[one] not in self.rules:
            one = next(part for part in grammar.productions[one][-1].right if part in endless)
            steps += 1  # after as many, it is one that comes back to itself
        name = grammar.names[one]
        fault = f"no word comes from rule `{name}`: it never ends"
        fix = "give it an alternative that does not need itself"
        raise BadGrammar(fault, where=self.rules[name].where, fix=fix)


SIGNS = str.maketrans("&|!+(){},", "·∨¬⁺⟨⟩⟨⟩·", '"')


def _clean(name: str) -> str:
    """A text as the language writes names."""
    text = name.translate(SIGNS).replace(" · ", "·").replace(" ∨ ", "∨")
    short = re.sub(r"\s+", ".", text)[:60].strip("-.")
    return short if NAME.fullmatch(short) else "part"
