"""A pushdown machine in the making: moves over letters, and the rules that they are written as."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from pdrm.language.letters import Letters
from pdrm.language.task_text import DONE, IGNORE, LOST, TaskOptions, add_rewards
from pdrm.machines.guards import SILENT, Guard
from pdrm.machines.machine import NAME, RESERVED, fresh_name
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import ANY, NONE, Otherwise, Transition

State = Any
Symbol = Any
Head = tuple[State, Symbol]
"""A state and the symbol on top, both hashable: parsers differ in what they are."""


class DraftMove(NamedTuple):
    """A move at a head for a letter (silent if None); the push has its top first."""

    letter: int | None
    target: State
    push: tuple[Symbol, ...]
    reward: float


Moves = dict[Head, list[DraftMove]]


@dataclass(frozen=True, slots=True)
class Draft:
    """A pushdown machine: its letters, its first head, the moves at a head, and names."""

    letters: Letters
    start: Head
    moves: Callable[[Head], list[DraftMove]]
    name_state: Callable[[State], str]
    name_symbol: Callable[[Symbol], str]


def count_uses(moves: Moves) -> Counter[Symbol]:
    """The occurrences of each symbol."""
    every = ((*move.push, top) for (_, top), found in moves.items() for move in found)
    return Counter(symbol for symbols in every for symbol in symbols)


# --- Names and rules

SIGNS = str.maketrans("&|!+(){},", "·∨¬⁺⟨⟩⟨⟩·", '"')


def _clean(name: str) -> str:
    """A text as the language writes names."""
    text = name.translate(SIGNS).replace(" · ", "·").replace(" ∨ ", "∨")
    short = re.sub(r"\s+", ".", text)[:60].strip("-.")
    return short if NAME.fullmatch(short) else "part"


def build(draft: Draft, moves: Moves, options: TaskOptions, name: str) -> PushdownRewardMachine:
    """The machine of some moves; moves that differ in letters or tops alone become one rule."""
    states: dict[State, str] = {DONE: DONE, LOST: LOST}
    for state, _ in [draft.start, *moves]:
        taken = [*states.values(), *RESERVED]
        states.setdefault(state, fresh_name(_clean(draft.name_state(state)), taken))
    called = {draft.start[1]: "#"}
    for symbol in count_uses(moves):
        taken = [ANY, NONE, *RESERVED, *called.values()]
        called.setdefault(symbol, fresh_name(_clean(draft.name_symbol(symbol)), taken))
    rules = _write(moves, draft.letters, states, called, options)
    reading = dict.fromkeys(rule.source for rule in rules if not rule.silent)
    final = (DONE, LOST) if isinstance(options.fail, float) else (DONE,)
    if options.fail == IGNORE:
        otherwise = Otherwise.stay(options.step)
    else:
        otherwise = Otherwise.go(LOST, add_rewards(options.step, options.paid_for_failing))
        if draft.letters.others:
            skip = draft.letters.no_guard()
            rules += [Transition(one, one, skip, ANY, (ANY,), options.step) for one in reading]
    own = [one for one in states.values() if one not in (DONE, LOST)]
    if options.fail is None:
        own.append(LOST)
    alphabet = draft.letters.alphabet
    return PushdownRewardMachine(
        name,
        alphabet.events,
        tuple(called.values()),
        states[draft.start[0]],
        final,
        otherwise,
        tuple(rules),
        alphabet.exclusive,
        tuple(own),
    )


class DraftRule(NamedTuple):
    """A rule without its guard."""

    source: str
    target: str
    top: str
    push: tuple[str, ...]
    reward: float


def _write(
    moves: Moves,
    letters: Letters,
    states: dict[State, str],
    called: dict[Symbol, str],
    options: TaskOptions,
) -> list[Transition]:
    """The rules: one for all letters with the same effect, and one for most tops with the same."""
    tops: dict[str, list[str]] = {}
    effects: dict[tuple[str, int | None], dict[DraftRule, list[str]]] = {}
    for (state, symbol), found in moves.items():
        top = called[symbol]
        source = states[state]
        if found[0].letter is not None:
            tops.setdefault(source, []).append(top)
        for move in found:
            push = tuple(called[one] for one in move.push)
            if push[-1:] == (top,):
                push = (*push[:-1], ANY)
            rule = DraftRule(source, states[move.target], ANY, push, move.reward)
            effects.setdefault((source, move.letter), {}).setdefault(rule, []).append(top)
    fails = add_rewards(options.step, options.paid_for_failing)
    rules: dict[DraftRule, list[int | None]] = {}
    for (source, letter), alike in effects.items():
        there = {top for found_at in alike.values() for top in found_at}
        missing = [top for top in tops.get(source, ()) if top not in there]
        wrong = source if options.fail == IGNORE else LOST
        for rule in _share(alike, missing if letter is not None else None, wrong, fails):
            rules.setdefault(rule, []).append(letter)
    written = []
    for rule, held in rules.items():
        read = frozenset(letter for letter in held if letter is not None)
        guard: Guard = letters.guard_of(read) if read else SILENT
        push = tuple(rule.top if one == ANY else one for one in rule.push)
        ends = (rule.source, rule.target)
        written.append(Transition(*ends, guard, rule.top, push, rule.reward))
    return written


def _share(
    alike: dict[DraftRule, list[str]], missing: list[str] | None, wrong: str, fails: float
) -> Iterator[DraftRule]:
    """Rules with the tops at which they apply: the commonest has `z`, if that makes them fewer.

    Then the tops that miss it fail. It cannot be shared if `missing` is None.
    """
    commonest = max(alike, key=lambda rule: len(alike[rule]))
    for rule, tops in alike.items():
        if rule == commonest and missing is not None and len(tops) > 1 + len(missing):
            yield rule
            for top in missing:
                yield DraftRule(rule.source, wrong, top, (ANY,), fails)
        else:
            for top in tops:
                yield rule._replace(top=top)
