"""A machine in the making: moves over letters and numbered symbols, and the pushdown reward machine that they become."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from pdrm.language.grammars.productions import Letters
from pdrm.language.task_text import DONE, IGNORE, LOST, TaskOptions, add_rewards
from pdrm.machines.checks.wellformed import NAME, RESERVED
from pdrm.machines.guards import SILENT, Guard
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import ANY, NONE, Otherwise, Stack, Transition


class Move(NamedTuple):
    """A rule: letter None is silent; the push has the new top first."""

    source: str
    letter: int | None
    top: int
    target: str
    push: tuple[int, ...]
    reward: float


@dataclass(slots=True)
class Draft:
    """Moves, what each symbol may be called (the bottom symbol is 0), and the state it begins in."""

    moves: list[Move]
    names: list[tuple[str, ...]]
    start: str


# --- Names and rules

SIGNS = str.maketrans(
    {
        "&": "·",
        "|": "∨",
        "!": "¬",
        "+": "⁺",
        "(": "⟨",
        ")": "⟩",
        "{": "⟨",
        "}": "⟩",
        ",": "·",
        '"': None,
    }
)


def _call(draft: Draft) -> dict[int, str]:
    """A name for each symbol that occurs: the first of those it may have that no other may have, too."""
    occurring = dict.fromkeys(
        symbol for move in draft.moves for symbol in (move.top, *move.push) if symbol
    )
    options = {symbol: [_clean(name) for name in draft.names[symbol]] for symbol in occurring}
    wanted = Counter(name for names in options.values() for name in set(names))
    taken = {"#", ANY, NONE, *RESERVED}
    used = {0: "#"}
    for symbol, names in options.items():
        base = next((name for name in names if wanted[name] == 1 and name not in taken), names[-1])
        name, number = base, 2
        while name in taken:
            name, number = f"{base}.{number}", number + 1
        taken.add(name)
        used[symbol] = name
    return used


def _call_states(draft: Draft) -> Draft:
    """Names for the states that the language can write."""
    names: dict[str, str] = {DONE: DONE, LOST: LOST}
    for state in dict.fromkeys(
        [draft.start, *(one for move in draft.moves for one in (move.source, move.target))]
    ):
        if state not in names:
            name, number = _clean(state), 2
            while name in (*names.values(), *RESERVED):
                name, number = f"{_clean(state)}.{number}", number + 1
            names[state] = name
    moves = [
        move._replace(source=names[move.source], target=names[move.target]) for move in draft.moves
    ]
    return Draft(moves, draft.names, names[draft.start])


def _clean(name: str) -> str:
    """A text as the language writes names."""
    short = re.sub(r"\s+", ".", name.translate(SIGNS).replace(" · ", "·").replace(" ∨ ", "∨"))[
        :60
    ].strip("-.")
    return short if NAME.fullmatch(short) else re.sub(r"[^\w*?·¬∨⟨⟩⁺.…]", "", short) or "part"


def build(draft: Draft, letters: Letters, options: TaskOptions, name: str) -> PushdownRewardMachine:
    """The pushdown reward machine of a draft: moves with the same effect become one rule, or one for any top."""
    draft = _call_states(draft)
    called = _call(draft)
    rules = _write(draft, letters, {**called, -1: ANY}, options)
    sources = list(dict.fromkeys([draft.start, *(rule.source for rule in rules)]))
    final = (DONE,) if options.fail is None or options.fail == IGNORE else (DONE, LOST)
    if options.fail == IGNORE:
        otherwise, states = Otherwise.stay(options.step), sources
    else:
        otherwise = Otherwise.go(LOST, add_rewards(options.step, options.paid_for_failing))
        states = sources if options.fail is not None else [*sources, LOST]
        if letters.others:
            reading = dict.fromkeys(rule.source for rule in rules if not rule.silent)
            rules += [
                Transition(state, state, letters.pass_over(), ANY, (ANY,), options.step)
                for state in reading
            ]
    stack = tuple(called.values())
    alphabet = letters.alphabet
    return PushdownRewardMachine(
        name,
        alphabet.events,
        stack,
        draft.start,
        final,
        otherwise,
        tuple(rules),
        alphabet.exclusive,
        tuple(states),
    )


def _write(
    draft: Draft, letters: Letters, called: dict[int, str], options: TaskOptions
) -> list[Transition]:
    """The rules: letters with the same effect are one guard, and tops with the same effect one rule with `z`."""
    read: dict[tuple[str, str, str, Stack, float], set[int]] = {}
    tops: dict[str, set[int]] = {}
    at: dict[tuple[str, int | None], dict[tuple[str, tuple[int, ...], float], set[int]]] = {}
    for move in draft.moves:
        keeps = move.push[-1:] == (move.top,)
        effect = (move.target, (*move.push[:-1], -1) if keeps else move.push, move.reward)
        at.setdefault((move.source, move.letter), {}).setdefault(effect, set()).add(move.top)
        if move.letter is not None:
            tops.setdefault(move.source, set()).add(move.top)
    for (source, letter), effects in at.items():
        taken = {top for found in effects.values() for top in found}
        missing = tops.get(source, set()) - taken
        most = max(effects.values(), key=len)
        for (target, push, reward), found in effects.items():
            any_top = letter is not None and found is most and len(found) > 1 + len(missing)
            for top in [-1] if any_top else found:
                words = tuple(called[top if one == -1 else one] for one in push)
                read.setdefault((source, called[top], target, words, reward), set()).add(
                    -1 if letter is None else letter
                )
            for top in missing if any_top else ():
                fails = options.fail == IGNORE
                paid = add_rewards(options.step, options.paid_for_failing)
                wrong = (source, called[top], source if fails else LOST, (called[top],), paid)
                read.setdefault(wrong, set()).add(letter or 0)
    rules = []
    for (source, look, target, words, reward), held in read.items():
        guard: Guard = SILENT if -1 in held else letters.guard_of(frozenset(held))
        rules.append(Transition(source, target, guard, look, words, reward))
    return rules
