"""Verdicts to the last digit: rewards of 1 to 17 digits that nearly tie, discounts up to the last float below 1, and rules that
pay a fortune and never apply, against the same product in fractions.

A machine is written as text or JSON, so that what it pays is known without reading a float. Certificates are accepted; those
that a discount of 1 would allow, that claim a yes where the truth is no, or that guess a number wrongly are rejected.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product as combinations
from random import Random
from typing import Any

import numpy as np

from pdrm.analysis.optimal import Optimal, find_optimal
from pdrm.analysis.sufficient_k.certificate import Certificate, format_fraction, read_fraction
from pdrm.analysis.sufficient_k.checker import find_fault
from pdrm.analysis.sufficient_k.k_report import certify
from pdrm.analysis.sufficient_k.questions import NO, YES, Answer, answer_questions
from pdrm.language.json_form import to_json
from pdrm.language.loading import parse
from pdrm.language.writer import to_text
from pdrm.machines.configurations import Move
from pdrm.machines.pushdown import PushdownRewardMachine
from tests.properties.plain_product import END, Case, Plain, Way, keys, plain_product
from tests.properties.random_products import random_case

PRODUCTS = 40
MOST_STATES = 7
MOST_POLICIES = 300
DULL = 0.2
"""The share of products that are kept although every answer about them is yes."""
KS = range(3)
RULES = ("block", "fail", "none")
MOST_DIGITS = 17
LAST = math.nextafter(1.0, 0.0)


def check(seed: int, products: int = PRODUCTS) -> Counter[str]:
    """Ask about random products in which several stacks are reached and there is something to choose."""
    random, counted = Random(seed), Counter[str]()
    while counted["cases"] < products:
        drawn, plain = random_case(random, RULES, MOST_STATES)
        actions = len(drawn.domain.actions)
        if plain.closed and actions > 1 and actions ** len(plain.states) <= MOST_POLICIES:
            product = Exactly(random, drawn)
            if not product.truth.answers(0)["same_values"] or random.random() < DULL:
                counted += product.compare()
    return counted


def write_machine(
    random: Random, machine: PushdownRewardMachine
) -> tuple[PushdownRewardMachine, list[str], str]:
    """The machine with other rewards, read from text or JSON, what its rules pay, as decimals, and what `otherwise` does."""
    pool = draw_rewards(random)
    few = random.sample(pool, min(len(pool), random.choice((2, 3, 6))))
    rules, otherwise = [random.choice(few) for _ in machine.transitions], random.choice(few)
    left = iter([otherwise, *rules])
    if random.random() < 0.5:
        text = re.sub(r'(?<="reward": )[^}]*', lambda _: next(left), to_json(machine))
    else:
        text = re.sub(
            r"(?m)^(otherwise .* |.*->.*, +)\S+$",
            lambda found: found[1] + next(left),
            to_text(machine),
        )
        fortune = f"{random.choice('+-')}{random.randint(1, 9)}e{random.choice((5, 10, 100, 250))}"
        if random.random() < 0.7:
            text = (
                re.sub(r"(?m)^states .*$", r"\g<0> far", text)
                + f"far -> far : true, z / z, {fortune}\n"
            )
    read = parse(text)
    assert next(left, None) is None, text
    assert isinstance(read, PushdownRewardMachine)
    return read, rules, otherwise


def draw_rewards(random: Random) -> list[str]:
    """Decimals of 1 to 17 digits: some that differ in the last digit, sums of others, and 0."""
    digits = random.randint(1, MOST_DIGITS)
    scale = Fraction(10) ** random.randint(-digits - 3, 3)
    one, two = (scale * random.randrange(10 ** (digits - 1), 10**digits) for _ in range(2))
    last = random.choice((scale, 2 * scale, scale * 10 ** random.randint(0, digits)))
    exact = [Fraction(0), one, one, one + last, one - last, two, one + two, 2 * one, -one, -last]
    return [write_decimal(random, number) for number in exact]


def write_decimal(random: Random, number: Fraction) -> str:
    """A decimal fraction, written out or with an exponent."""
    places = 0
    while (number * 10**places).denominator > 1:
        places += 1
    written = Decimal(
        (int(number < 0), tuple(map(int, str(abs(int(number * 10**places))))), -places)
    )
    return f"{written:f}" if random.random() < 0.7 else str(written).lower()


def draw_discount(random: Random) -> float:
    """From 0.001 to the last float below 1, half of them next to it."""
    near = 1 - random.randint(1, 99) * 10.0 ** -random.randint(3, 16)
    steps = 1 - random.randint(1, 9) * (1 - LAST)
    return random.choice(
        (
            0.001,
            0.5,
            0.9,
            0.99,
            round(random.uniform(0.001, 0.999), random.randint(3, 15)),
            near,
            steps,
            LAST,
        )
    )


class Exactly:
    """A product whose numbers are known as they were written, what is true of it, and what is said about it."""

    def __init__(self, random: Random, drawn: Case) -> None:
        self.random = random
        machine, rules, otherwise = write_machine(random, drawn.machine)
        paid = {
            id(rule): Fraction(text) for rule, text in zip(machine.transitions, rules, strict=False)
        }
        self.discount = draw_discount(random)

        def pays(move: Move) -> Fraction:
            return Fraction(otherwise) if move.rule is None else paid[id(move.rule)]

        self.case = Case(drawn.domain, machine, drawn.bound, Fraction(repr(self.discount)), pays)
        self.truth = Truth(plain_product(self.case, MOST_STATES), self.case.discount)

    def compare(self) -> Counter[str]:
        """Raise at the first wrong answer."""
        found = find_optimal(self.case.product(), self.discount)
        number = [self.truth.plain.states[key] for key in keys(found.product)]
        for x, y in enumerate(number):
            value, said = self.truth.value[y], f"{self}\nstate {x}"
            assert (
                Fraction(float(found.values.lower[x]))
                <= value
                <= Fraction(float(found.values.upper[x]))
            ), said
            assert found.exact.get(x, value) == value, f"{said}: {found.exact[x]}, not {value}"
            assert found.surely[x] == found.possibly[x] == self.truth.optimal[y], (
                f"{said}: {found.surely[x]:b}"
            )
        counted = Counter[str](cases=1)
        counted.update({"next to 1": int(self.discount > 1 - 1e-12)})
        for k in KS:
            for question, answer in answer_questions(found, k).items():
                right = YES if self.truth.answers(k)[question] else NO
                assert answer.verdict == right, (
                    f"{self}\n{question} at k = {k}: {answer.verdict}, not {right}"
                )
                counted.update({right: 1})
                counted += self._certify(found, k, question, answer)
        return counted

    def _certify(self, found: Optimal, k: int, question: str, answer: Answer) -> Counter[str]:
        """A certificate of a yes is accepted, forged ones are not; nor is one of a no."""
        if answer.verdict == YES:
            proof = certify(found, k, question, answer)
            fault = find_fault(self.case.domain, self.case.machine, proof)
            assert fault is None, (
                f"{self}\nthe certificate of {question} at k = {k} is rejected: {fault}"
            )
            forged = list(self._forge(proof))
        else:
            choice = {
                x: int(found.surely[x]).bit_length() - 1 for x in reversed(found.asked.tolist())
            }
            forged = [certify(found, k, question, Answer(YES, choice=choice))]
        for proof in forged:
            assert find_fault(self.case.domain, self.case.machine, proof), (
                f"{self}\naccepted although false: {proof}"
            )
        return Counter(
            {
                "certificates accepted": int(answer.verdict == YES),
                "forged ones rejected": len(forged),
            }
        )

    def _forge(self, proof: Certificate) -> Iterator[Certificate]:
        """Values that only a discount of 1 allows, and numbers taken for others."""
        more = self.random.choice((Fraction(100), Fraction(-100), Fraction(1, 10**20)))
        exact = {
            x: format_fraction(read_fraction(value) + more) for x, value in proof.exact.items()
        }
        yield replace(proof, exact=exact)
        yield replace(
            proof, exact=exact, lower=[-1e300] * len(proof.lower), upper=[1e300] * len(proof.upper)
        )
        yield replace(proof, guesses={**proof.guesses, repr(self.discount): "1"})
        yield replace(proof, discount=1.0)

    def __str__(self) -> str:
        return f"{self.case}\n{to_text(self.case.machine)}"


@dataclass(frozen=True)
class Truth:
    """What is true of a closed product, by policy iteration in fractions and by trying all k-policies."""

    plain: Plain
    discount: Fraction

    @cached_property
    def value(self) -> list[Fraction]:
        """[x]: V*."""
        policy = [0] * len(self.plain.ways)
        while True:
            value = self._solve(policy)
            best = [
                max(self._worth(ways, value) for ways in actions) for actions in self.plain.ways
            ]
            if best == value:
                return value
            for x, actions in enumerate(self.plain.ways):
                if best[x] > value[x]:
                    policy[x] = next(
                        a for a, ways in enumerate(actions) if self._worth(ways, value) == best[x]
                    )

    @cached_property
    def optimal(self) -> list[int]:
        """[x]: A*, as bits."""
        return [
            sum(
                1 << a
                for a, ways in enumerate(actions)
                if self._worth(ways, self.value) == self.value[x]
            )
            for x, actions in enumerate(self.plain.ways)
        ]

    def answers(self, k: int) -> dict[str, bool]:
        """The three questions, by their definitions."""
        names = [(s, u, stack[:k]) for s, u, stack in self.plain.states]
        groups: dict[Any, list[int]] = {}
        for x, name in enumerate(names):
            groups.setdefault(name, []).append(x)
        same = all(
            len({(self.value[x], self.optimal[x]) for x in group}) == 1 for group in groups.values()
        )
        common = all(
            np.bitwise_and.reduce([self.optimal[x] for x in group]) for group in groups.values()
        )
        chosen = combinations(range(len(self.plain.ways[0])), repeat=len(groups))
        start = any(
            self._stays_optimal(names, dict(zip(groups, actions, strict=True)))
            for actions in chosen
        )
        return {"same_values": same, "everywhere": common, "start": start}

    def _stays_optimal(self, names: list[Any], action: dict[Any, int]) -> bool:
        """Whether a policy is optimal wherever it gets to from the start."""
        todo = sorted({way.after for way in self.plain.starts} - {END})
        for x in todo:  # grows while it is read
            chosen = action[names[x]]
            if not self.optimal[x] >> chosen & 1:
                return False
            todo += sorted(
                {way.after for way in self.plain.ways[x][chosen] if way.chance} - {END, *todo}
            )
        return True

    def _worth(self, ways: list[Way], value: list[Fraction]) -> Fraction:
        after = ((way, value[way.after] if way.after != END else Fraction(0)) for way in ways)
        return sum(
            (way.chance * (way.paid + self.discount * later) for way, later in after), Fraction(0)
        )

    def _solve(self, policy: list[int]) -> list[Fraction]:
        """The values of a policy, by Gauss and Jordan."""
        size = len(policy)
        rows = [[Fraction(int(x == y)) for y in range(size)] + [Fraction(0)] for x in range(size)]
        for x, row in enumerate(rows):
            for way in self.plain.ways[x][policy[x]]:
                row[size] += way.chance * way.paid
                if way.after != END:
                    row[way.after] -= self.discount * way.chance
        for x in range(size):
            pivot = next(y for y in range(x, size) if rows[y][x])
            rows[x], rows[pivot] = rows[pivot], rows[x]
            rows[x] = [entry / rows[x][x] for entry in rows[x]]
            for y in range(size):
                if y != x and rows[y][x]:
                    rows[y] = [a - rows[y][x] * b for a, b in zip(rows[y], rows[x], strict=True)]
        return [row[size] for row in rows]
