"""Tasks defined by context-free grammars: a machine that rewards the words of a language.

An LL(1) grammar becomes a top-down parser (`ll1`), and any other LR(1) grammar a bottom-up parser
(`lr1`). Other grammars are refused with an explanation (`conflicts`).
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
from pdrm.language.draft import Draft, DraftMove, Moves, Symbol, shrink
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
    r"""Build a machine from a context-free grammar in Lark's notation, with events in quotes.

    Args:
        text: The rules.
        accept: `"first"`: the machine is final as soon as the events so far, at least one, are a
            word of the language. So a word is accepted only if none of its non-empty proper
            prefixes is in the language. `"end"`: a word is complete when the event `end` is read
            after it.
        name: The name of the machine.
        reward: The reward for completing the word.
        fail: The effect of the first event that no word can continue with. A number is given as
            reward, and the episode ends in the final state `lost` (`run(word).accepted` is then
            also true: see `run(word).after.state`). By default the machine stays in `lost`, which
            is not final. `"ignore"` skips the event.
        step: The reward for every label.
        complete: The rewards for completing a rule, by its name, or for reading an event
            (`{'"open"': 0.1}`). They are given as soon as they are certain.
        events: More events that labels can contain. A label without an event of the grammar is
            skipped.
        exclusive: Groups of events of which a label contains at most one (default: one group of
            all).

    >>> from pdrm.language import parse_word
    >>> machine = from_grammar('start: pair*\npair: "open" pair* "close"', accept="end")
    >>> words = "open open close close end", "open close close end"
    >>> [machine.run(parse_word(word)).accepted for word in words]
    [True, False]
    """
    options = TaskOptions(accept, reward, fail, step, complete or {}, events, exclusive)
    return build(read_task_text(text, "<grammar>", "grammar", name, options))


def build(task: TaskText) -> PushdownRewardMachine:
    """Build the machine of a task."""
    rules = read_rules(task.body, task.file)
    if START not in rules:
        where = next((rule.where for rule in rules.values()), Where(task.file))
        raise BadGrammar(
            "no rule is called `start`", where=where, fix="call the rule for the whole task `start`"
        )
    translation = Translation(task, rules)
    with with_default_location(rules[START].where, translation.places):
        return translation.machine()


class Translation:
    """The translation of rules to a grammar, and to a machine."""

    def __init__(self, task: TaskText, rules: dict[str, Definition]) -> None:
        self.options = task.options
        self.task = task
        self.rules = rules
        self.end = Event(END_EVENT) if task.options.accept == END_EVENT else None
        self.places: dict[Guard, Where] = {}
        """The first position of each terminal."""

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
        if self.end is None and (pair := find_prefix_word(grammar)) is not None:
            prefix, longer = pair
            words = grammar.letters.spell(*prefix), grammar.letters.spell(*longer)
            warn_caller(EarlyAcceptance(self.rules[START].where, words))
        return machine

    def _check_names(self, grammar: Grammar) -> None:
        """Warn of unused rules, and refuse rewards for unknown rules and events."""
        for name, rule in self.rules.items():
            if name not in grammar.names[grammar.start :]:
                fault = f"the rule `{name}` is not used by `start`"
                warn_caller(TaskWarning(Finding("W0604", fault, rule.where)))
        known = [*self.rules, *(f'"{guard}"' for guard in self.places)]
        for name in self.options.complete:
            if name not in known:
                fault = f"`{name[:40]}` is not a rule, or an event in quotes"
                where = self.task.where.get(name)
                raise BadSetting(fault, where=where, fix=did_you_mean(name, known))

    def _write(self, parser: TopDown | BottomUp, moves: Moves) -> PushdownRewardMachine:
        """Write the machine of a parser. A label that no guard reads is skipped."""
        options = self.options
        letters = parser.grammar.letters
        otherwise = Otherwise.stay(options.step)
        if options.fail != IGNORE:
            for (state, top), head_moves in moves.items():
                if letters.others != FALSE and head_moves[0].labels is not None:
                    head_moves.append(DraftMove(letters.others, state, (top,), options.step))
            everything = letters.sets.all.node
            read = (
                letters.sets.join(
                    [everything if move.labels is None else move.labels for move in head_moves]
                )
                for head_moves in moves.values()
            )
            if any(labels != everything for labels in read):
                otherwise = Otherwise.go(LOST, add_rewards(options.step, options.fail_reward))

        def name_symbol(symbol: Symbol) -> str:
            return "#" if symbol == parser.start[1] else _clean(parser.name_symbol(symbol))

        draft = Draft(
            letters.sets,
            parser.start,
            moves,
            options.final,
            otherwise,
            lambda state: _clean(parser.name_state(state)),
            name_symbol,
        )
        return draft.write(self.task.name)

    def expand(self, lr: bool) -> Grammar:
        """The grammar for a bottom-up parser (`lr`) or a top-down parser."""
        expansion = Expansion(self.rules, self.options.complete, lr)
        terminals = expansion.terminals
        self.places.update(terminals)
        if not terminals and self.end is None:
            raise BadGrammar(
                "the only word of `start` is the empty word",
                where=self.rules[START].where,
                fix="let it read an event",
            )
        for guard, where in terminals.items():
            if self.end is not None and END_EVENT in events_of(guard):
                raise BadGrammar(
                    "with `accept end`, the event `end` ends every word",
                    where=where,
                    fix="leave it out",
                )
        named = [
            event for guard in terminals for event in sorted(events_of(guard), key=str(guard).find)
        ]
        ending = [] if self.end is None else [self.end]
        events = dict.fromkeys([*named, *self.options.events, *map(str, ending)])
        groups = groups_of(self.options.exclusive or ())
        if self.options.exclusive is None and len(events) > 1:
            groups = (tuple(events),)
        letters = Letters(Alphabet(tuple(events), groups), [*terminals, *ending])
        for guard, numbers in zip(letters.guards, letters.letters_of, strict=True):
            if not numbers:
                raise BadGrammar(
                    f"no label satisfies `{guard}`",
                    where=self.places.get(guard),
                    fix="declare which events are exclusive: exclusive=((…), …), "
                    "or lines `exclusive …` (an empty line for none)",
                )
        grammar = Grammar(letters, expansion, self.end)
        self._check_ends(grammar)
        return grammar

    def _check_ends(self, grammar: Grammar) -> None:
        """Refuse a rule without words, which needs itself."""
        endless = [n for n in range(len(grammar.names)) if n not in grammar.shortest]
        if not endless:
            return
        symbol = endless[0]
        steps = 0
        # After as many steps as there are symbols, the symbol needs itself.
        while steps < len(grammar.names) or grammar.names[symbol] not in self.rules:
            parts = grammar.productions[symbol][-1].right
            symbol = next(part for part in parts if part in endless)
            steps += 1
        name = grammar.names[symbol]
        raise BadGrammar(
            f"the rule `{name}` has no words: it never ends",
            where=self.rules[name].where,
            fix="add an alternative without itself",
        )


SIGNS = str.maketrans("&|!+(){},", "·∨¬⁺⟨⟩⟨⟩·", '"')


def _clean(name: str) -> str:
    """Convert a text to a valid name."""
    text = name.translate(SIGNS).replace(" · ", "·").replace(" ∨ ", "∨")
    short = re.sub(r"\s+", ".", text)[:60].strip("-.")
    return short if NAME.fullmatch(short) else "part"
