"""Machines that are combined do together what they do apart: random ones, with stacks and without, run side by side by hand."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from fractions import Fraction
from random import Random
from typing import NamedTuple

from pdrm.errors import (
    BadSetting,
    CannotCombine,
    EarlyAcceptance,
    EndlessSilentMoves,
    TooLarge,
    UndefinedMove,
)
from pdrm.language.combining import combine
from pdrm.language.logic.regular_expressions import from_regex
from pdrm.language.logic.temporal_logic import from_ltlf
from pdrm.machines.guards import Event, Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Otherwise, Transition
from tests.properties.logic import random_expression, random_formula, random_past, text_of
from tests.properties.random_machines import random_machine

COMBINATIONS, WORDS = 40, 40
END = frozenset(["end"])
WHENS = ("and", "or", "p0 & !p1", "!p0 & p1", "p0 | p1", "!(p0 & p1)", "p1", "!p1 | p0")


def check(seed: int, combinations: int = COMBINATIONS, words: int = WORDS) -> Counter[str]:
    """Random machines with a stack, combined with machines of formulas and expressions, or with another stack."""
    random, counts = Random(seed), Counter[str]()
    while counts["combinations"] < combinations:
        parts = random.choice((_one_stack, _one_stack, _no_stack, _matched_stacks, _any_stacks))(
            random
        )
        when, accept = random.choice(WHENS), random.choice(("first", "end"))
        weights = {name: random.choice((1, 0.5, -2)) for name in parts if random.random() < 0.5}
        try:
            machine = combine(parts, when, weights=weights, accept=accept)
        except CannotCombine:
            counts["stacks that move apart"] += 1
            continue
        except (TooLarge, EndlessSilentMoves) as error:  # endless from tops that no word leads to
            counts[f"not made ({type(error).__name__})"] += 1
            continue
        except BadSetting as error:
            if "before the first label" not in error.message:
                raise
            counts["final before the first label"] += 1
            continue
        case = Case(parts, machine, when, accept, weights)
        counts += Counter(combinations=1, cases=words) + compare(random, case, words)
    return counts


def _finite(random: Random) -> PushdownRewardMachine:
    accept, fail = random.choice(("first", "end")), random.choice((None, -1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EarlyAcceptance)
        kind = random.randrange(3)
        if kind == 0:
            return from_regex(
                random_expression(random, random.randint(1, 4))[0],
                accept=accept,
                fail=fail,
                step=-0.1,
            )
        size = random.randint(0, 4)
        text = text_of(
            random_past(random, size + 1) if kind == 1 else random_formula(random, size, past=True)
        )
        try:
            return from_ltlf(text, ["a", "b", "c", "d", "e"], accept=accept, fail=fail, step=0.25)
        except BadSetting:  # it holds on no trace
            return from_ltlf("F a", ["a", "b", "c", "d", "e"], accept=accept, fail=fail, step=0.25)


def _one_stack(random: Random) -> dict[str, PushdownRewardMachine]:
    parts: list[PushdownRewardMachine] = [
        random_machine(random),
        *(_finite(random) for _ in range(random.randint(1, 2))),
    ]
    random.shuffle(parts)
    return {f"p{number}": part for number, part in enumerate(parts)}


def _no_stack(random: Random) -> dict[str, PushdownRewardMachine]:
    return {f"p{number}": _finite(random) for number in range(random.randint(2, 3))}


def _any_stacks(random: Random) -> dict[str, PushdownRewardMachine]:
    return {"p0": random_machine(random), "p1": random_machine(random)}


def _matched_stacks(random: Random) -> dict[str, PushdownRewardMachine]:
    """Two machines that push at `a`, pop at `b` and keep their stacks at `c`, and now and then a third without a stack."""
    parts: dict[str, PushdownRewardMachine] = {"p0": _visibly(random), "p1": _visibly(random)}
    return parts | ({"p2": _finite(random)} if random.random() < 0.3 else {})


def _visibly(random: Random) -> PushdownRewardMachine:
    states, stack = (
        ("u0", "u1", "u2")[: random.randint(1, 3)],
        ("#", "A", "B")[: random.randint(2, 3)],
    )
    rules: list[Transition] = []
    for state in states:
        for top in stack:
            for event in "abc":
                target = "done" if random.random() < 0.1 else random.choice(states)
                over = random.choice(stack[1:])
                push = {
                    "a": (over, top),
                    "b": () if top != "#" else ("#",),
                    "c": (top if top == "#" else over,),
                }[event]
                rules.append(
                    Transition(state, target, Event(event), top, push, random.choice((0, 1, -0.5)))
                )
    return PushdownRewardMachine(
        "visibly",
        ("a", "b", "c"),
        stack,
        "u0",
        ("done",),
        Otherwise.stay(0.1),
        tuple(rules),
        (("a", "b", "c"),),
        states,
    )


class _Apart:
    """The parts, each run by itself."""

    def __init__(self, parts: dict[str, PushdownRewardMachine]) -> None:
        self.parts = parts
        begun = {name: part.begin() for name, part in parts.items()}
        self.here = {name: step.after for name, step in begun.items()}
        self.paid = {name: _pay(step) for name, step in begun.items()}

    def read(self, label: Label) -> None:
        """Let every part that is not finished read the events that are its own."""
        self.paid = dict.fromkeys(self.parts, (Fraction(0), 0.0))
        for name, part in self.parts.items():
            if self.here[name].state not in part.final:
                step = part.step(self.here[name], label & frozenset(part.events))  # type: ignore[arg-type] # of its own kind
                self.here[name], self.paid[name] = step.after, _pay(step)

    def holds(self, when: str) -> bool:
        """Whether the formula holds of the parts that are finished."""
        finished = {name: self.here[name].state in part.final for name, part in self.parts.items()}
        if when in ("and", "or"):
            return (all if when == "and" else any)(finished.values())
        p0, p1 = finished["p0"], finished["p1"]
        return {
            "p0 & !p1": p0 and not p1,
            "!p0 & p1": p1 and not p0,
            "p0 | p1": p0 or p1,
            "!(p0 & p1)": not (p0 and p1),
            "p1": p1,
            "!p1 | p0": p0 or not p1,
        }[when]


def _pay(step: object) -> tuple[Fraction, float]:
    """What a step pays, exactly, and how large the numbers in it are."""
    moves = [move.reward for move in getattr(step, "moves", (step,))]
    return sum((Fraction(reward) for reward in moves), Fraction(0)), max(
        (abs(reward) for reward in moves), default=0.0
    )


class Case(NamedTuple):
    """Machines and what became of them."""

    parts: dict[str, PushdownRewardMachine]
    machine: PushdownRewardMachine
    when: str
    accept: str
    weights: dict[str, float]


def compare(random: Random, case: Case, words: int) -> Counter[str]:
    """Raise where the combination does not do what its parts do."""
    counts: Counter[str] = Counter()
    machine = case.machine
    labels = list(machine.alphabet.labels())
    for _ in range(words):
        word = random.choices(labels, k=random.randint(0, 10))
        apart, here = _Apart(case.parts), machine.begin()
        _same_pay(here, apart, case, word)
        for label in word:
            if here.after.state in machine.final:
                break
            try:
                apart.read(label)
            except UndefinedMove:
                counts["undefined moves"] += 1
                try:
                    machine.step(here.after, label)  # type: ignore[arg-type] # of its own kind
                except UndefinedMove:
                    break
                raise AssertionError(
                    f"a part has no move at {label}, and the combination has one: {case}"
                ) from None
            here = machine.step(here.after, label)  # type: ignore[arg-type] # of its own kind
            _same_pay(here, apart, case, word)
            judged = case.accept == "first" or label >= END
            final = here.after.state in machine.final
            assert final == (judged and apart.holds(case.when)), (
                f"at {label} of {word} final is {final}: {case}"
            )
            counts["final"] += final
            if judged and case.accept == "end":
                break
    return counts


def _same_pay(step: object, apart: _Apart, case: Case, word: list[Label]) -> None:
    paid, _ = _pay(step)
    weights = {name: Fraction(case.weights.get(name, 1)) for name in case.parts}
    wanted = sum((weights[name] * reward for name, (reward, _) in apart.paid.items()), Fraction(0))
    largest = max(abs(float(weights[name])) * size for name, (_, size) in apart.paid.items())
    close = math.isclose(float(paid), float(wanted), rel_tol=1e-9, abs_tol=1e-9 * largest + 1e-300)
    assert close, f"pays {float(paid)} instead of {float(wanted)} on {word}: {case}"
