"""Certificates: the checker accepts those of true answers, rejects those that say something false, and survives damage.

Each certificate is also changed in one of these ways, all of which make it false or break its proof: a value, a bound
moved past the truth, a state left out, an action that is not optimal, a claim that is not true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from pdrm.analysis.optimal import Optimal
from pdrm.analysis.sufficient_k.certificate import Certificate
from pdrm.analysis.sufficient_k.checker import find_fault
from pdrm.analysis.sufficient_k.k_report import certify
from pdrm.analysis.sufficient_k.questions import QUESTIONS, Answer
from tests.properties.k_policies import Truth
from tests.properties.plain_product import Case

PARTS = (
    "stacks",
    "states",
    "looked",
    "lower",
    "upper",
    "glimpse_lower",
    "glimpse_upper",
    "exact",
    "block",
    "choice",
)
JUNK = (None, -1, 10**9, "x", [], {}, [[]], float("nan"), 0.5, "1/0")


@dataclass(frozen=True, slots=True)
class Certified:
    """A yes, what was found, and what is true."""

    case: Case
    truth: Truth
    found: Optimal
    number: list[int]
    """[x]: the number of a state in the plain product."""
    k: int
    question: str
    answer: Answer

    def checked(self, random: Random) -> Counter[str]:
        """Check its certificate, one that is false, and a damaged one."""
        proof = certify(self.found, self.k, self.question, self.answer)
        wrong = self._fault(proof)
        assert wrong is None, (
            f"{self.case}\nthe certificate of {self.question} at k = {self.k} is rejected: {wrong}"
        )
        counted = Counter({"certificates accepted": 1})
        changed = random.choice(list(self.false(random, proof)))
        assert self._fault(changed) is not None, (
            f"{self.case}\naccepted although false: {changed}\nmade from {proof}"
        )
        self._fault(damaged(random, proof))
        return counted + Counter({"false ones rejected": 1})

    def _fault(self, proof: Certificate) -> str | None:
        return find_fault(self.case.domain, self.case.machine, proof)

    def false(self, random: Random, proof: Certificate) -> Iterator[Certificate]:
        """Certificates that must be rejected."""
        yield without_last(proof)
        if proof.exact:
            x = random.choice(list(proof.exact))
            off = Fraction(random.choice((-1, 1)), random.choice((7, 10**9)))
            yield replace(proof, exact={**proof.exact, x: str(Fraction(proof.exact[x]) + off)})
        looked = [x for x, flag in enumerate(proof.looked) if flag]
        if looked:
            x = random.choice(looked)
            value = float(self.truth.value[self.number[x]])
            past = 1e-6 * (1 + abs(value))
            yield replace(proof, lower=[*proof.lower[:x], value + past, *proof.lower[x + 1 :]])
            yield replace(proof, upper=[*proof.upper[:x], value - past, *proof.upper[x + 1 :]])
        yield from self._other_claims(proof)
        yield from self._worse_choices(proof)

    def _other_claims(self, proof: Certificate) -> Iterator[Certificate]:
        """The same of a smaller k, or for a harder question, where the answer is no."""
        cut = {(s, u, tuple(seen[: self.k - 1])): action for s, u, seen, action in proof.choice}
        fewer = [(s, u, list(seen), action) for (s, u, seen), action in cut.items()]
        if self.k and not self._true(self.k - 1, self.question):
            yield replace(proof, k=self.k - 1, choice=fewer)
        for question in QUESTIONS[: QUESTIONS.index(self.question)]:
            if not self._true(self.k, question):
                yield replace(proof, question=question)
        if not self._true(self.k, self.question, whole=True):
            yield replace(proof, depth=None)

    def _true(self, k: int, question: str, *, whole: bool = False) -> bool:
        """Whether a k is enough for what was asked about, or for all."""
        names = [(s, u, stack[:k]) for s, u, stack in self.truth.plain.states]
        if question == "start":
            return self.truth.optimal_policy(names, self.truth.starts)
        groups: dict[Any, list[int]] = {}
        for y in (
            range(len(names)) if whole else (self.number[x] for x in self.found.asked.tolist())
        ):
            groups.setdefault(names[y], []).append(y)
        if question == "everywhere":
            return all(
                np.bitwise_and.reduce([self.truth.optimal[y] for y in group])
                for group in groups.values()
            )
        return all(
            len({(self.truth.value[y], self.truth.optimal[y]) for y in group}) == 1
            for group in groups.values()
        )

    def _worse_choices(self, proof: Certificate) -> Iterator[Certificate]:
        """Another action where it is not optimal: in a state asked about, or one that episodes start in."""
        if self.question == "same_values":
            return
        members = [self.number[x] for x in self.found.asked.tolist()]
        names = list(self.truth.plain.states)
        machine = (*self.case.machine.states, *self.case.machine.final)
        symbols = {symbol: number for number, symbol in enumerate(self.case.machine.stack, start=1)}
        for place, (s, u, seen, chosen) in enumerate(proof.choice):
            for y in members if self.question == "everywhere" else self.truth.starts:
                at, state, stack = names[y]
                if (at, state, [symbols[symbol] for symbol in stack[: self.k]]) == (
                    s,
                    machine[u],
                    seen,
                ):
                    for action in range(len(self.case.domain.actions)):
                        if action != chosen and not self.truth.optimal[y] >> action & 1:
                            worse = (s, u, seen, action)
                            yield replace(
                                proof,
                                choice=[*proof.choice[:place], worse, *proof.choice[place + 1 :]],
                            )


def without_last(proof: Certificate) -> Certificate:
    """The certificate without its last state."""
    last = str(len(proof.states) - 1)
    return replace(
        proof,
        states=proof.states[:-1],
        looked=proof.looked[:-1],
        lower=proof.lower[:-1],
        upper=proof.upper[:-1],
        block=proof.block[:-1],
        exact={x: value for x, value in proof.exact.items() if x != last},
    )


def damaged(random: Random, proof: Certificate) -> Certificate:
    """The certificate with junk in one of its parts, which may still be a proof: the checker must give an answer."""
    name = random.choice(PARTS)
    part: Any = getattr(proof, name)
    junk: Any = random.choice(JUNK)
    if part and isinstance(part, list) and random.random() < 0.8:
        place = random.randrange(len(part))
        return replace(proof, **{name: [*part[:place], junk, *part[place + 1 :]]})
    return replace(proof, **{name: junk})
