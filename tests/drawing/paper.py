"""The paper's machines, built in Python, as subjects to draw."""

from __future__ import annotations

from itertools import product

from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guards import SILENT, And, Event, Exactly, Guard, Not
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Otherwise, Transition
from tests.machines.small import reward_machine

DIRECTIONS = "udlr"
BACK = dict(zip("udlr", "durl", strict=True))


def exactly(*events: str) -> Guard:
    return Exactly(frozenset(events))


def rule(source: str, target: str, guard: Guard, move: str, reward: float) -> Transition:
    top, _, push = move.partition("/")
    symbols = tuple(push.split())
    return Transition(
        source, target, guard, top.strip(), () if symbols == ("eps",) else symbols, reward
    )


def letter() -> PushdownRewardMachine:
    """Appendix E."""
    rules = (
        rule("u0", "u0", exactly("A"), "z / A z", -0.01),
        rule("u0", "u0", exactly("C"), "z / z", -0.01),
        rule("u0", "u0", exactly(), "z / z", -0.01),
        rule("u0", "u1", exactly("B"), "z / z", -0.01),
        rule("u1", "u1", exactly("A"), "z / z", -0.01),
        rule("u1", "u1", exactly("B"), "z / z", -0.01),
        rule("u1", "u1", exactly("C"), "z / eps", -0.01),
        rule("u1", "u1", exactly(), "z / z", -0.01),
        rule("u1", "u2", exactly("C"), "# / #", 1),
    )
    return PushdownRewardMachine(
        "letter", ("A", "B", "C"), ("#", "A"), "u0", ("u2",), Otherwise.stay(-0.01), rules
    )


def maze(found: float = 0, step: float = 0, home: float = 1) -> PushdownRewardMachine:
    """Fig. 1, expanded over the four directions."""
    rules: list[Transition] = []
    for a in DIRECTIONS:
        rules.append(rule("u0", "u0", exactly(a), f"z / {a} z", 0))
        rules.append(rule("u0", "u1", exactly(a, "t"), f"z / {a} z", found))
        rules.append(rule("u1", "u1", exactly(BACK[a]), f"{a} / eps", step))
        rules.append(rule("u1", "u3", exactly(BACK[a], "x"), f"{a} / eps", home))
        for b in DIRECTIONS:
            if b != BACK[a]:
                rules.append(rule("u1", "u2", exactly(b), f"{a} / eps", -home))
                rules.append(rule("u1", "u2", exactly(b, "x"), f"{a} / eps", -home))
    return PushdownRewardMachine(
        "maze", tuple("udlrtx"), tuple("#udlr"), "u0", ("u2", "u3"), Otherwise.stay(0), tuple(rules)
    )


def one_treasure() -> PushdownRewardMachine:
    """1-TreasureMaze, Appendix E."""
    return maze(found=1, step=1, home=1e5)


def formula_maze() -> PushdownRewardMachine:
    """The maze of the language's example: formulas, exclusive directions, states with words for names."""
    rules: list[Transition] = []
    for a in DIRECTIONS:
        here, back = Event(a), Event(BACK[a])
        rules.append(rule("search", "search", And((here, Not(Event("t")))), f"z / {a} z", 0))
        rules.append(rule("search", "return", And((here, Event("t"))), f"z / {a} z", 1))
        rules.append(rule("return", "return", And((back, Not(Event("x")))), f"{a} / eps", 1))
        rules.append(rule("return", "home", And((back, Event("x"))), f"{a} / eps", 1e5))
        rules += [
            rule("return", "lost", Event(b), f"{a} / eps", -1e5) for b in DIRECTIONS if b != BACK[a]
        ]
    return PushdownRewardMachine(
        "formula-maze",
        tuple("udlrtx"),
        tuple("#udlr"),
        "search",
        ("home", "lost"),
        Otherwise.go("lost", -1e5),
        tuple(rules),
        exclusive=(tuple("udlr"),),
    )


def multiple_treasure() -> PushdownRewardMachine:
    """MultipleTreasureMaze, Appendix E."""
    rules: list[Transition] = []
    for a in DIRECTIONS:
        rules += [
            rule("u0", "u0", exactly(a), f"z / {a} z", 0),
            rule("u0", "u1", exactly(a, "s"), f"z / {a} z", 1e3),
            rule("u1", "u1", exactly(a), f"z / {a} z", 0),
            rule("u1", "u2", exactly(a, "t"), f"z / {a} z", 1e3),
            rule("u2", "u2", exactly(BACK[a]), f"{a} / eps", 1),
            rule("u2", "u1", exactly(BACK[a], "s"), f"{a} / eps", 1e3),
            rule("u2", "u3", exactly(BACK[a], "s", "T"), f"{a} / eps", 1e3),
            rule("u3", "u3", exactly(BACK[a]), f"{a} / eps", 1),
            rule("u3", "u5", exactly(BACK[a], "x"), f"{a} / eps", 1e5),
        ]
        for b in DIRECTIONS:
            if b != BACK[a]:
                rules.append(rule("u2", "u4", exactly(b), f"{a} / eps", -1e5))
                rules.append(rule("u2", "u4", exactly(b, "s"), f"{a} / eps", -1e5))
                rules.append(rule("u3", "u4", exactly(b), f"{a} / eps", -1e5))
                rules.append(rule("u3", "u4", exactly(b, "x"), f"{a} / eps", -1e5))
    return PushdownRewardMachine(
        "multiple-treasure",
        tuple("udlrstTx"),
        tuple("#udlr"),
        "u0",
        ("u4", "u5"),
        Otherwise.stay(0),
        tuple(rules),
    )


def deliver(length: int = 3) -> PushdownRewardMachine:
    """DeliverWorld, three location types, one event for each sequence of `length` places that starts at home."""
    places = ("home", "office", "shop")
    sequences = {
        f"seq_{i}": ("home", *tail) for i, tail in enumerate(product(places, repeat=length - 1))
    }
    rules = [
        rule("u0", "u1", exactly(name), f"# / {' '.join(seq)} #", 0)
        for name, seq in sequences.items()
    ]
    rules += [rule("u1", "u1", exactly(place), f"{place} / eps", 1e3) for place in places]
    rules.append(rule("u1", "u2", exactly(), "# / #", 1e3))
    events = (*sequences, *places)
    return PushdownRewardMachine(
        "deliver", events, ("#", *places), "u0", ("u2",), Otherwise.stay(0), tuple(rules)
    )


def water() -> PushdownRewardMachine:
    """WaterWorld, Appendix E."""
    rules = (
        rule("u0", "u0", exactly("even"), "z / ball_0 z", 1e3),
        rule("u0", "u0", exactly("odd"), "z / ball_1 z", 1e3),
        rule("u0", "u1", exactly("A_F"), "z / z", 1),
        rule("u1", "u1", exactly("ball_0"), "ball_0 / eps", 1e3),
        rule("u1", "u1", exactly("ball_1"), "ball_1 / eps", 1e3),
        rule("u1", "u2", exactly(), "# / #", 1e5),
    )
    events = ("even", "odd", "A_F", "ball_0", "ball_1")
    stack = ("#", "ball_0", "ball_1")
    return PushdownRewardMachine("water", events, stack, "u0", ("u2",), Otherwise.stay(0), rules)


def silent() -> PushdownRewardMachine:
    """A machine with silent moves, a rule without a top, an empty push and an odd alphabet."""
    rules = (
        rule("u0", "u1", SILENT, "# / □ #", 0.5),
        rule("u1", "u1", exactly("é%$"), "eps / □", 2),
        rule("u1", "u2", exactly("_^~"), "□ / eps", -3),
        rule("u2", "u2", SILENT, "□ / eps", 0.25),
        rule("u2", "u3", SILENT, "# / #", 1),
    )
    return PushdownRewardMachine(
        "silent",
        ("é%$", "_^~"),
        ("#", "□"),
        "u0",
        ("u3",),
        Otherwise.stay(0),
        rules,
        states=("u0", "u1", "u2"),
    )


def letter_counting() -> CountingRewardAutomaton:
    """The counting automaton of Appendix A."""
    neither = And((Not(Event("A")), Not(Event("B"))))
    rules = (
        CountingTransition("u0", "u1", Event("B"), ("1",), (0,), 0),
        CountingTransition("u0", "u0", Event("A"), ("1",), (1,), 0),
        CountingTransition("u0", "u0", Event("A"), ("0",), (1,), 0),
        CountingTransition("u0", "u2", neither, ("0",), (1,), 0),
        CountingTransition("u0", "u2", neither, ("1",), (0,), 0),
        CountingTransition("u1", "u3", Event("B"), ("1",), (0,), 0),
        CountingTransition("u1", "u3", SILENT, ("0",), (0,), 1),
        CountingTransition("u1", "u1", Event("C"), ("1",), (-1,), 0),
    )
    return CountingRewardAutomaton(
        "counting",
        ("A", "B", "C"),
        1,
        "u0",
        ("u2", "u3"),
        Otherwise.stay(0),
        rules,
        (("A", "B", "C"),),
    )


def office() -> PushdownRewardMachine:
    """A reward machine: coffee, then the office, the plants never."""
    rules = (
        Transition.plain("u0", "u1", And((Event("coffee"), Not(Event("plant")))), 0),
        Transition.plain("u1", "done", And((Event("office"), Not(Event("plant")))), 1),
        Transition.plain("u0", "broken", Event("plant"), -1),
        Transition.plain("u1", "broken", Event("plant"), -1),
    )
    return reward_machine(
        "office", ("coffee", "office", "plant"), "u0", ("done", "broken"), Otherwise.stay(0), rules
    )


def large(states: int = 200) -> PushdownRewardMachine:
    """A long chain with loops and jumps."""
    names = [f"s{i}" for i in range(states)]
    rules: list[Transition] = []
    for i, name in enumerate(names):
        rules.append(rule(name, name, exactly("a"), "z / A z", 0))
        rules.append(
            rule(name, names[i + 1] if i + 1 < states else "end", exactly("b"), "z / z", 1)
        )
        rules.append(rule(name, names[(7 * i) % states], exactly("a", "b"), "z / z", -1))
    return PushdownRewardMachine(
        "large", ("a", "b"), ("#", "A"), "s0", ("end",), Otherwise.error(), tuple(rules)
    )


DRAWN = {
    "letter": letter,
    "maze": maze,
    "one-treasure": one_treasure,
    "formula-maze": formula_maze,
    "multiple-treasure": multiple_treasure,
    "deliver": deliver,
    "water": water,
    "silent": silent,
    "counting": letter_counting,
    "office": office,
}
