"""Random small counting automata, pushdown machines and words, for the proofs about translations."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeVar

from pdrm.errors import EndlessSilentMoves, Nondeterministic, SeveralErrors
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guards import ALWAYS, SILENT, And, Event, Exactly, Formula, Guard, Label, Not, Or
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Otherwise, Transition

EVENTS = ("a", "b", "c")
STATES = ("u0", "u1", "u2")
FINAL = ("done",)
STACK = ("#", "A", "B")
REWARDS = (0.0, 1.0, -1.0, 0.1, -0.01, 1e5, 1 / 3)

M = TypeVar("M")
R = TypeVar("R")


def counting_automaton(rng: Random) -> CountingRewardAutomaton:
    """An automaton with one counter and up to thirty rules, one in six of them silent."""

    def rule() -> CountingTransition:
        test, change = rng.choice("01-"), rng.choice((-3, -2, -1, 0, 1, 1, 2, 2, 3, 3))
        return CountingTransition(
            *_states(rng), guard(rng), (test,), (change,), rng.choice(REWARDS)
        )

    shape = _otherwise(rng), _exclusive(rng)
    return _grown(
        rng,
        rule,
        lambda rules: CountingRewardAutomaton(
            "random", EVENTS, 1, "u0", FINAL, shape[0], rules, shape[1], STATES
        ),
    )


def pushdown_machine(rng: Random) -> PushdownRewardMachine:
    """A machine over three stack symbols with up to thirty rules, which push up to three symbols."""

    def rule() -> Transition:
        top = rng.choice((*STACK, "z", "z", "eps"))
        symbols = (*STACK, "z") if top == "z" else STACK
        push = tuple(rng.choice(symbols) for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 2, 3))))
        return Transition(*_states(rng), guard(rng), top, push, rng.choice(REWARDS))

    shape = _otherwise(rng), _exclusive(rng)
    return _grown(
        rng,
        rule,
        lambda rules: PushdownRewardMachine(
            "random", EVENTS, STACK, "u0", FINAL, shape[0], rules, shape[1], STATES
        ),
    )


def _grown(rng: Random, rule: Callable[[], R], build: Callable[[tuple[R, ...]], M]) -> M:
    """A machine of random rules, each kept if the machine is still deterministic with it."""
    rules: tuple[R, ...] = ()
    machine = build(rules)
    for _ in range(rng.randint(5, 30)):
        more = (*rules, rule())
        try:
            machine, rules = build(more), more
        except (Nondeterministic, EndlessSilentMoves, SeveralErrors):
            continue
    return machine


def guard(rng: Random) -> Guard:
    """A silent guard, an exact set or a formula."""
    kind = rng.randrange(6)
    if kind == 0:
        return SILENT
    return Exactly(label(rng)) if kind < 3 else formula(rng, depth=2)


def formula(rng: Random, depth: int) -> Formula:
    """A formula over the events, nested up to a depth."""
    kind = rng.randrange(8) if depth else 0
    if kind < 4:
        return Event(rng.choice(EVENTS))
    if kind == 4:
        return Not(formula(rng, depth - 1))
    if kind == 5:
        return rng.choice((ALWAYS, Or()))
    parts = tuple(formula(rng, depth - 1) for _ in range(rng.randint(2, 3)))
    return And(parts) if kind == 6 else Or(parts)


def label(rng: Random) -> Label:
    """Any set of events, also one that a machine declares impossible."""
    return frozenset(event for event in EVENTS if rng.random() < 0.4)


def word(
    rng: Random, machine: CountingRewardAutomaton | PushdownRewardMachine, longest: int
) -> list[Label]:
    """Up to `longest` labels of the machine's alphabet."""
    labels = list(machine.alphabet.labels())
    return [rng.choice(labels) for _ in range(rng.randint(0, longest))]


def _states(rng: Random) -> tuple[str, str]:
    """A source and a target; few rules lead to the final state, so that most words are read to their end."""
    return rng.choice(STATES), rng.choice((*STATES, *STATES, *STATES, *FINAL))


def _otherwise(rng: Random) -> Otherwise:
    reward = rng.choice(REWARDS)
    ways = (
        Otherwise.stay(reward),
        Otherwise.go(rng.choice((*STATES, *FINAL)), reward),
        Otherwise.error(),
    )
    return rng.choices(ways, (3, 3, 1))[0]


def _exclusive(rng: Random) -> tuple[tuple[str, ...], ...]:
    return rng.choice(((), (), (("a", "b"),), (EVENTS,)))
