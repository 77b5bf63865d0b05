"""A yes for every stack, beside a brute force in fractions; and its certificate, beside falsified ones.

Most products are deterministic and many have stacks without a bound. They are walked through by the readable machine up to a number of states, and
solved exactly twice: as if what lies beyond were worth the least that anything can be, and the most. No chosen action may be worse than
another for certain, and the values that the certificate's operators are composed to must lie in between: where the product is closed, they must be equal.
Each certificate is changed at one place. It must then be rejected, or be harmless: then it says the same of the same task, so all of this still holds,
and what was changed is no other function of what is below than before.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any

from pdrm.analysis.solving import find_solution
from pdrm.analysis.sufficient_k.certificate import StackCertificate
from pdrm.analysis.sufficient_k.checker import find_fault
from pdrm.analysis.sufficient_k.every_stack import EveryStack
from pdrm.task import Task
from tests.properties.exactness import Truth
from tests.properties.plain_product import END, Case, Plain
from tests.properties.random_products import random_case
from tests.properties.summaries import bound_values, draw_case
from tests.properties.summaries import solve_exactly as solve_between

PRODUCTS = 40
MOST_STATES = 40
COMPOSED = 12
"""States whose values are composed of the operators."""
KS = range(4)
QUESTIONS = ("everywhere", "same_values", "start")
ASKED = 4
"""Questions for each product."""
DULL = 0.05
"""The share of products that are kept although there is nothing to choose, or only one stack."""
CHANCE = 0.2
"""The share of products with chance."""


def check(seed: int, products: int = PRODUCTS) -> Counter[str]:
    """Prove what can be proved of random products for every stack."""
    random, counted = Random(seed), Counter[str]()
    while counted["cases"] < products:
        truth = draw_truth(random)
        if truth is None or (truth.is_dull and random.random() > DULL):
            continue
        counted["cases"] += 1
        counted["closed"] += truth.plain.closed
        every = EveryStack.of(
            Task(truth.case.domain, truth.case.machine), float(truth.case.discount)
        )
        if every is None:
            counted["without operators"] += 1
            continue
        for question, k in random.sample(
            [(question, k) for question in QUESTIONS for k in KS], ASKED
        ):
            proof = every.prove(question, k)
            counted["asked"] += 1
            if proof is not None:
                counted["yes"] += 1
                counted[
                    "yes, of a product that was not walked through to its end"
                ] += not truth.plain.closed
                counted += compare(random, truth, proof)
    return counted


@dataclass(frozen=True)
class Between:
    """A product, and between which numbers the value of each state is."""

    case: Case
    plain: Plain
    lower: list[Fraction]
    upper: list[Fraction]

    @property
    def is_dull(self) -> bool:
        """Whether there is nothing to choose, or only one stack."""
        return (
            len(self.case.domain.actions) == 1
            or len({stack for _, _, stack in self.plain.states}) == 1
        )

    def q_values(self, x: int, value: list[Fraction]) -> list[Fraction]:
        """[action]: its value, where the states have these."""

        def later(y):
            return Fraction(0) if y == END else value[y]

        return [
            sum(
                (way.chance * (way.paid + self.case.discount * later(way.after)) for way in ways),
                Fraction(0),
            )
            for ways in self.plain.ways[x]
        ]

    @cached_property
    def names(self) -> list[tuple[int, int, tuple[int, ...]]]:
        """[x]: a state as certificates name it."""
        states = (*self.case.machine.states, *self.case.machine.final)
        symbols = {name: number for number, name in enumerate(self.case.machine.stack, start=1)}
        return [
            (s, states.index(u), tuple(symbols[z] for z in stack))
            for s, u, stack in self.plain.states
        ]


def draw_truth(random: Random) -> Between | None:
    """A random product and what is true of it; None where that is not known."""
    if random.random() < CHANCE:
        case, plain = random_case(random, ("none",), most=12)
        if not plain.closed or case.discount == 0:
            return None
        value = Truth(plain, case.discount).value
        return Between(case, plain, value, value)
    case, plain = draw_case(random, MOST_STATES)
    if case.discount == 0:
        return None
    extent = Fraction(0)
    if not plain.closed:
        found = bound_values(
            case,
            find_solution(Task(case.domain, case.machine), float(case.discount), precision=1e-3),
        )
        if found is None:
            return None
        extent = found
    lower = solve_between(plain, case.discount, -extent)
    return Between(
        case, plain, lower, lower if plain.closed else solve_between(plain, case.discount, extent)
    )


def compare(random: Random, truth: Between, proof: StackCertificate) -> Counter[str]:
    """One certificate and one that was changed."""
    case = truth.case
    fault = find_fault(case.domain, case.machine, proof)
    assert fault is None, (
        f"{case}\nthe certificate of {proof.question} at k = {proof.k} is rejected: {fault}"
    )
    compare_with(truth, proof)
    what, changed = falsify(random, proof)
    fault = find_fault(case.domain, case.machine, changed)
    if fault is None:
        assert what not in MUST, (
            f"{case}\n{what}: accepted although false: {changed}\nmade from {proof}"
        )
        compare_with(truth, changed)
        compare_operators(random, proof, changed)
    find_fault(case.domain, case.machine, damage(random, proof))
    return Counter(
        {"certificates accepted": 1, "changed ones rejected" if fault else "harmless changes": 1}
    )


# --- Beside the brute force


def compare_with(truth: Between, proof: StackCertificate) -> None:
    """Raise where a certificate says something that is not true."""
    size = max(proof.k, 1)

    def shown():
        return f"{truth.case}\n{proof.question} at k = {proof.k}:"

    chosen = {(s, u, tuple(seen)): action for s, u, seen, action in proof.views}
    todo = (
        [way.after for way in truth.plain.starts]
        if proof.question == "start"
        else list(range(len(truth.names)))
    )
    alike: dict[object, list[int]] = {}
    met: set[int] = set()
    for x in todo:
        if x == END or x in met or not truth.plain.ways[x]:
            continue
        met.add(x)
        s, u, stack = truth.names[x]
        assert (s, u, stack[:size]) in chosen, f"{shown()} {truth.names[x]} has no view"
        action = chosen[s, u, stack[:size]]
        alike.setdefault((s, u, stack[: proof.k]), []).append(x)
        if proof.question == "same_values":
            continue
        low, high = truth.q_values(x, truth.lower), truth.q_values(x, truth.upper)
        assert high[action] >= max(low), (
            f"{shown()} action {action} in {truth.names[x]} is not optimal"
        )
        if proof.question == "start":
            todo += [way.after for way in truth.plain.ways[x][action]]
    for group in alike.values():
        if proof.question == "same_values":
            apart = max(truth.lower[x] for x in group) > min(truth.upper[x] for x in group)
            assert not apart, f"{shown()} values of {[truth.names[x] for x in group]} differ"
    compare_values(truth, proof)


def compare_values(truth: Between, proof: StackCertificate) -> None:
    """The values that the operators are composed to are the true ones, and within the range."""
    operators, ranges = read_operators(proof), read_ranges(proof)
    final = len(truth.case.machine.states)
    known: dict[object, Fraction] = {}

    def worth(s: int, u: int, stack: tuple[int, ...]) -> Fraction:
        if u >= final:
            return Fraction(0)
        if (s, u, stack) not in known:
            constant, lines = operators[s, u, stack[0]]
            heights = [c + truth.case.discount**t * worth(*e, stack[1:]) for e, t, c in lines]
            known[s, u, stack] = max(heights if constant is None else [constant, *heights])
        return known[s, u, stack]

    for x, (s, u, stack) in list(enumerate(truth.names))[:COMPOSED]:
        head = s, u, (*stack, 0)[0]
        if head in operators:
            value = worth(s, u, (*stack, 0))
            within = truth.lower[x] <= value / truth.case.discount <= truth.upper[x]
            assert within, (
                f"{truth.case}\n{(s, u, stack)}: {float(value)} of {proof} is not the value"
            )
            inside = ranges[head][0] <= value <= ranges[head][1]
            assert inside, (
                f"{truth.case}\n{(s, u, stack)}: {float(value)} of {proof} is outside its range"
            )


Lines = list[tuple[tuple[int, int], int, Fraction]]


def read_operators(
    proof: StackCertificate,
) -> dict[tuple[int, int, int], tuple[Fraction | None, Lines]]:
    """By head: the constant and the lines."""
    return {
        (s, u, z): (
            None if constant is None else Fraction(constant),
            [((x, v), t, Fraction(c)) for x, v, t, c in lines],
        )
        for s, u, z, constant, lines in proof.operators
    }


def read_ranges(proof: StackCertificate) -> dict[tuple[int, int, int], tuple[Fraction, Fraction]]:
    """By head: the least and the greatest worth."""
    return {(s, u, z): (Fraction(low), Fraction(high)) for s, u, z, low, high in proof.ranges}


# --- Falsified certificates

MUST = ("view", "head", "below", "no action")
"""What is left out by these changes cannot be done without."""


def falsify(random: Random, proof: StackCertificate) -> tuple[str, StackCertificate]:
    """A certificate that is changed at one place, and what was changed."""
    kinds = ["head", "view", "first view", "no action"]
    kinds += ["below"] if proof.below else []
    kinds += ["low", "high", "operator", "constant"] if proof.operators else []
    kinds += (
        ["gain", "steps", "exit", "line"] if any(lines for *_, lines in proof.operators) else []
    )
    kinds += ["action"] if proof.question != "same_values" else []
    what = random.choice(kinds)
    off = Fraction(random.choice((-1, 1)), random.choice((1, 10, 10**9)))
    if what in ("head", "operator"):
        name = {"head": "heads", "operator": "operators"}[what]
        part: list[Any] = getattr(proof, name)
        return what, replace(proof, **{name: put(part, random.randrange(len(part)))})
    if what == "below":
        number = random.randrange(len(proof.below))
        symbol, under = proof.below[number]
        less = random.choice(under)
        return what, replace(
            proof, below=put(proof.below, number, (symbol, [z for z in under if z != less]))
        )
    if what in ("constant", "gain", "steps", "exit", "line"):
        return what, replace(proof, operators=change_operator(random, proof, what, off))
    if what in ("low", "high"):
        number = random.randrange(len(proof.ranges))
        s, u, z, low, high = proof.ranges[number]
        ends = (
            (str(Fraction(low) + off), high) if what == "low" else (low, str(Fraction(high) + off))
        )
        return what, replace(proof, ranges=put(proof.ranges, number, (s, u, z, *ends)))
    number = 0 if what == "first view" else random.randrange(len(proof.views))
    s, u, seen, action = proof.views[number]
    if what == "action" or (what == "no action" and proof.question != "same_values"):
        other = random.randrange(3) if what == "action" else action + 7
        return what, replace(proof, views=put(proof.views, number, (s, u, seen, other)))
    return "view", replace(proof, views=put(proof.views, number))


def put(rows: list[Any], number: int, *instead: object) -> list[Any]:
    """The rows with others in place of one."""
    return [*rows[:number], *instead, *rows[number + 1 :]]


def change_operator(random: Random, proof: StackCertificate, what: str, off: Fraction) -> list[Any]:
    """The operators with another number in one of them."""
    numbers = [
        number for number, (*_, lines) in enumerate(proof.operators) if lines or what == "constant"
    ]
    number = random.choice(numbers)
    s, u, z, constant, lines = proof.operators[number]
    if what == "constant":
        other = off if constant is None else Fraction(constant) + off
        return put(proof.operators, number, (s, u, z, str(other), lines))
    at = random.randrange(len(lines))
    x, v, t, c = lines[at]
    line = {
        "gain": [(x, v, t, str(Fraction(c) + off))],
        "steps": [(x, v, max(0, t + random.choice((-1, 1, 2))), c)],
        "exit": [(*random.choice(proof.heads)[:2], t, c)],
        "line": [],
    }[what]
    return put(proof.operators, number, (s, u, z, constant, put(lines, at, *line)))


def compare_operators(random: Random, proof: StackCertificate, changed: StackCertificate) -> None:
    """Operators that both certificates have are the same functions of what is below, within the range."""
    before, after, ranges = read_operators(proof), read_operators(changed), read_ranges(proof)
    below, discount = dict(proof.below), Fraction(repr(proof.discount))
    discount = Fraction(proof.guesses.get(repr(proof.discount), discount))
    for head in before.keys() & after.keys():
        worth = {}
        for e, _, _ in (*before[head][1], *after[head][1]):
            ends = [ranges[(*e, under)] for under in below[head[2]]]
            low, high = min(low for low, _ in ends), max(high for _, high in ends)
            worth[e] = low + (high - low) * Fraction(random.randrange(0, 9), 8)
        heights = [
            max(
                [c for c in (constant,) if c is not None]
                + [c + discount**t * worth[e] for e, t, c in lines]
            )
            for constant, lines in (before[head], after[head])
        ]
        assert heights[0] == heights[1], f"{head} is another operator in {changed} than in {proof}"


PARTS = ("heads", "below", "operators", "ranges", "views", "k", "discount", "guesses")
JUNK: tuple[Any, ...] = (None, -1, 10**9, "x", [], {}, [[]], float("nan"), 0.5, "1/0")


def damage(random: Random, proof: StackCertificate) -> StackCertificate:
    """The certificate with junk in one of its parts, which may still be a proof: the checker must give an answer."""
    name, junk = random.choice(PARTS), random.choice(JUNK)
    part: Any = getattr(proof, name)
    if part and isinstance(part, list) and random.random() < 0.8:
        place = random.randrange(len(part))
        row = part[place]
        if isinstance(row, tuple) and random.random() < 0.7:
            at = random.randrange(len(row))
            junk = (*row[:at], junk, *row[at + 1 :])
        return replace(proof, **{name: [*part[:place], junk, *part[place + 1 :]]})
    return replace(proof, **{name: junk})
