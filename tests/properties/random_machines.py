"""Random machines and words, made from a seed: valid by construction, and rich in the cases that are easy to get wrong.

Rules are drawn at random and kept if they do not conflict with earlier ones, by the definition of determinism applied to
every label and top one by one. So the constructor must accept them all (it decides on cubes), save endless silent moves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from pdrm.errors import EndlessSilentMoves
from pdrm.machines.guards import ALWAYS, SILENT, And, Event, Exactly, Formula, Guard, Label, Not, Or
from pdrm.machines.labels import Alphabet
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import ANY, NONE, Otherwise, Transition

EVENTS = ("a", "b", "c", "d")
SYMBOLS = ("#", "A", "B", "C")
STATES = ("u0", "u1", "u2", "u3", "u4")
FINAL = ("done", "lost")
REWARDS = (0.0, -0.0, 1.0, -1.0, 0.1, 0.2, -0.3, 1 / 3, 1e-7, 1e5, -1e5, 1e16, 5e-324)
"""Rewards whose sums depend on the order they are added in."""

MAX_TRIES = 100
"""Machines drawn before giving up (about one in twenty has endless silent moves)."""


def random_machine(random: Random) -> PushdownRewardMachine:
    """A valid machine with 1–5 states, 0–2 final ones, 1–4 stack symbols and 1–4 events."""
    for _ in range(MAX_TRIES):
        try:
            return _drawn(random)
        except EndlessSilentMoves:
            continue
    raise AssertionError(f"{MAX_TRIES} machines in a row had endless silent moves")


def random_words(random: Random, labels: int, count: int, longest: int = 12) -> list[list[int]]:
    """Words of 0 to `longest` label numbers. Most extend an earlier word, so that runs share their beginnings."""
    words: list[list[int]] = [[]]
    while len(words) < count:
        begin = random.choice(words) if random.random() < 0.5 else []
        more = random.randint(1, max(1, longest - len(begin)))
        words.append((begin + random.choices(range(labels), k=more))[:longest])
    return words


def described(machine: PushdownRewardMachine) -> str:
    """A machine as text, to repeat a failed case by hand."""
    header = f"events {machine.events} exclusive {machine.exclusive} stack {machine.stack} final {machine.final}"
    return "\n".join(
        [
            header,
            f"start {machine.start} otherwise {machine.otherwise}",
            *map(str, machine.transitions),
        ]
    )


def fitting(
    rules: Iterable[Transition], alphabet: Alphabet, stack: Sequence[str]
) -> list[Transition]:
    """The rules, in order, without those that clash with an earlier one: determinism as defined, case by case."""
    labels = list(alphabet.labels())
    tops = (None, *stack)
    taken: dict[tuple[str, int | None, str | None], str] = {}
    kept = []
    for rule in rules:
        read = (
            [None]
            if rule.silent
            else [n for n, label in enumerate(labels) if rule.guard.holds(label)]
        )
        cases = [
            (rule.source, number, top) for number in read for top in tops if rule.looks_at(top)
        ]
        if not any(_clashes(rule, case, taken, len(labels)) for case in cases):
            # A rule that names the top and one with `z` may share a case: both are written down.
            taken |= {case: taken.get(case, "") + _kind(rule) for case in cases}
            kept.append(rule)
    return kept


def _kind(rule: Transition) -> str:
    return {ANY: "z", NONE: "e"}.get(rule.top, "n")


def _clashes(
    rule: Transition,
    case: tuple[str, int | None, str | None],
    taken: dict[tuple[str, int | None, str | None], str],
    labels: int,
) -> bool:
    """Whether some kept rule applies in this case and neither beats the other."""
    state, number, top = case
    beside = "".join(
        taken.get((state, other, top), "")
        for other in ([None] if number is not None else range(labels))
    )
    same = taken.get(case, "")
    kind = _kind(rule)
    # A rule with `z` that one naming the top beats, silent or reading: then it does not matter how many there are.
    beaten = kind == "z" and ("n" in same or (number is not None and "n" in beside))
    if (kind in same and not beaten) or (same and "e" in same + kind):
        return True
    # A silent rule excludes reading ones, except that a silent rule naming the top beats a reading rule with `z`.
    silent, reading = (kind, beside) if number is None else (beside, kind)
    return any((s, r) != ("n", "z") for s in silent for r in reading)


class _Header(NamedTuple):
    """What the rules of one machine are drawn from, and the shares of silent ones and of those that ignore the stack."""

    events: tuple[str, ...]
    labels: list[Label]
    stack: tuple[str, ...]
    states: tuple[str, ...]
    final: tuple[str, ...]
    silent: float
    ignoring: float


def _drawn(random: Random) -> PushdownRewardMachine:
    events = EVENTS[: random.randint(1, 4)]
    alphabet = Alphabet(events, _exclusive(random, events))
    stack = SYMBOLS[: random.randint(1, 4)]
    states = STATES[: random.randint(1, 5)]
    final = FINAL[: random.randint(0, 2)]
    silent, ignoring = random.choice((0.0, 0.2, 0.4)), random.choice((0.1, 0.1, 0.6))
    header = _Header(events, list(alphabet.labels()), stack, states, final, silent, ignoring)
    rules = [_rule(random, header) for _ in range(random.randint(1, 8 * len(states)))]
    go = Otherwise.go(random.choice((*states, *final)), _reward(random))
    otherwise = random.choice((Otherwise.error(), Otherwise.stay(_reward(random)), go))
    kept = tuple(fitting(rules, alphabet, stack))
    return PushdownRewardMachine(
        "random", events, stack, states[0], final, otherwise, kept, alphabet.exclusive, states
    )


def _exclusive(random: Random, events: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    groups = []
    while len(events) > 1 and random.random() < 0.4:
        groups.append(tuple(sorted(random.sample(events, random.randint(2, len(events))))))
    return tuple(groups)


def _rule(random: Random, header: _Header) -> Transition:
    states, final, stack = header.states, header.final, header.stack
    source = random.choice(states)
    top = (
        NONE
        if random.random() < header.ignoring
        else random.choice((*stack, random.choice(stack), ANY, ANY))
    )
    symbols = (*stack, ANY, ANY) if top == ANY else stack
    push = tuple(random.choices(symbols, k=random.choice((0, 0, 1, 1, 2, 2, 3))))
    guard = _guard(random, header.labels, header.events)
    # Final states end a word, so they are drawn less often; silent moves mostly go forward, so that they end.
    target = random.choice(final) if final and random.random() < 0.08 else random.choice(states)
    if random.random() < header.silent:
        guard = SILENT
        if random.random() < 0.8:
            target = random.choice((*states[states.index(source) + 1 :], *final) or states)
    return Transition(source, target, guard, top, push, _reward(random))


def _guard(random: Random, labels: list[Label], events: tuple[str, ...]) -> Guard:
    chance = random.random()
    if chance < 0.5:
        return Exactly(random.choice(labels))
    return ALWAYS if chance < 0.55 else _formula(random, events, 2)


def _formula(random: Random, events: tuple[str, ...], depth: int) -> Formula:
    chance = random.random()
    if depth == 0 or chance < 0.3:
        return Event(random.choice(events))
    if chance < 0.5:
        return Not(_formula(random, events, depth - 1))
    parts = tuple(_formula(random, events, depth - 1) for _ in range(random.choice((2, 2, 3))))
    return And(parts) if chance < 0.85 else Or(parts)


def _reward(random: Random) -> float:
    return random.choice(REWARDS) if random.random() < 0.5 else random.uniform(-2.0, 2.0)
