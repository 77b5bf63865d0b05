"""Random rule sets that may not be machines, for the checks at construction."""

import random

from pdrm.machines.guards import ALWAYS, SILENT, And, Event, Exactly, Guard, Not, Or
from pdrm.machines.transitions import ANY, NONE, Otherwise, Transition

STATES = ("q0", "q1", "q2")
SYMBOLS = ("#", "A", "B")
EVENTS = ("a", "b", "c")


def guard(chance: random.Random, silent: float) -> Guard:
    """A random guard, silent with this probability."""
    if chance.random() < silent:
        return SILENT
    literals = tuple(chance.choice((Event(e), Not(Event(e)))) for e in chance.sample(EVENTS, 2))
    exact = Exactly(frozenset(e for e in EVENTS if chance.random() < 0.4))
    return chance.choice(
        (exact, exact, literals[0], And(literals), Or(literals), Not(And(literals)), ALWAYS)
    )


def rule(chance: random.Random, silent: float) -> Transition:
    """A random rule."""
    top = chance.choice((*SYMBOLS, ANY, ANY, NONE))
    symbols = (*SYMBOLS, ANY) if top == ANY else SYMBOLS
    push = tuple(chance.choice(symbols) for _ in range(chance.choice((0, 0, 1, 1, 2, 3))))
    target = chance.choice((*STATES, *STATES, "done"))
    return Transition(
        chance.choice(STATES), target, guard(chance, silent), top, push, chance.choice((0, 1, -0.5))
    )


def parts(chance: random.Random, rules: list[Transition]) -> dict[str, object]:
    """The fields of a machine with these rules."""
    exclusive = chance.choice(((), (), (("a", "b"),), (("a", "b", "c"),)))
    otherwise = chance.choice((Otherwise.stay(0), Otherwise.go("q1", -1), Otherwise.error()))
    return {
        "name": "loose",
        "events": EVENTS,
        "stack": SYMBOLS,
        "start": "q0",
        "final": ("done",),
        "otherwise": otherwise,
        "transitions": tuple(rules),
        "exclusive": exclusive,
        "states": STATES,
    }
