"""When k-policies are optimal, on small random products: every answer is what trying all k-policies gives.

Each product is asked about whole, and to a depth with little room to look further, so that states may stay open. Then a
yes is about the states within the depth, and a no about all.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import numpy as np

from pdrm.analysis.optimal import Optimal, find_optimal
from pdrm.analysis.sufficient_k.k_gap import measure_gap
from pdrm.analysis.sufficient_k.questions import NO, UNDECIDED, YES, Answer, answer_questions
from pdrm.errors import UnboundedStep
from tests.properties.certificates import Certified
from tests.properties.k_policies import Truth
from tests.properties.plain_product import END, Case, Key, keys
from tests.properties.random_products import random_case

PRODUCTS = 40
MOST_STATES = 11
MOST_POLICIES = 2_048
DULL = 0.1
"""The share of products that are kept although every answer about them is likely to be yes."""
KS = range(4)
RULES = ("block", "fail", "none", "none", "none")


def check(seed: int, products: int = PRODUCTS) -> Counter[str]:
    """Ask about random products with at least two actions and few enough policies."""
    random, counted = Random(seed), Counter[str]()
    while counted["cases"] < products:
        case, plain = random_case(random, RULES, MOST_STATES)
        if (
            not plain.closed
            or not 1 < len(case.domain.actions) ** len(plain.states) <= MOST_POLICIES
        ):
            continue
        truth = Truth(plain, case.discount)
        if random.random() < DULL or not alike(truth):
            counted += compared(random, case, truth)
    return counted


def alike(truth: Truth) -> bool:
    """Whether states that differ in their stacks alone have the same value and optimal actions: most answers are yes then."""
    found: dict[tuple[int, str], set[tuple[Fraction, int]]] = {}
    for (s, u, _), y in truth.plain.states.items():
        found.setdefault((s, u), set()).add((truth.value[y], truth.optimal[y]))
    return all(len(kinds) == 1 for kinds in found.values())


def compared(random: Random, case: Case, truth: Truth) -> Counter[str]:
    """Every answer about one product, whole and to a depth."""
    counted = Counter[str](cases=1)
    found = find_optimal(case.product(), float(case.discount))
    counted += Asked(case, truth, found).compared(random)
    depth, most = random.randint(0, 3), random.randint(1, MOST_STATES)
    try:
        found = find_optimal(case.product(), float(case.discount), depth, most)
    except UnboundedStep:  # nothing is known of open states then, and the package says so
        return counted + Counter(refused=1)
    counted.update({"with open states": int(found.product.frontier.size > 0)})
    return counted + Asked(case, truth, found).compared(random)


class Asked:
    """What was found out about a product, beside what is true of it."""

    def __init__(self, case: Case, truth: Truth, found: Optimal) -> None:
        self.case, self.truth, self.found = case, truth, found
        self.number = [truth.plain.states[key] for key in keys(found.product)]
        """[x]: the number of a state in the plain product."""
        self.asked = [self.number[x] for x in found.asked.tolist()]

    def compared(self, random: Random) -> Counter[str]:
        """Raise at the first wrong answer; count those that are undecided."""
        self._states()
        counted = Counter[str]()
        for k in KS:
            given = answer_questions(self.found, k)
            names = [(s, u, stack[:k]) for s, u, stack in self.truth.plain.states]
            for question, answer in given.items():
                right = getattr(self, f"_{question}")(answer, names)
                shown = f"{question} at k = {k}: {answer}, asked {self.found.asked}, depth {self.found.depth}"
                assert right, f"{self.case}\n{shown}"
                closed = "" if self.found.depth is None else " (to a depth)"
                counted.update(
                    {f"answers{closed}": 1, f"undecided{closed}": int(answer.verdict == UNDECIDED)}
                )
                counted.update({f"no{closed}": int(answer.verdict == NO)})
                if answer.verdict == YES:
                    yes = Certified(
                        self.case, self.truth, self.found, self.number, k, question, answer
                    )
                    counted += yes.checked(random)
            self._gap(k, given["start"], names)
        return counted

    def _states(self) -> None:
        """Certain actions are optimal, others than possible ones are not, values are in their intervals."""
        for x in self.found.asked.tolist():
            y = self.number[x]
            surely, possibly = int(self.found.surely[x]), int(self.found.possibly[x])
            assert surely & ~self.truth.optimal[y] == 0, (
                f"{self.case}\nstate {y}: {surely:b} are not all optimal"
            )
            assert self.truth.optimal[y] & ~possibly == 0, (
                f"{self.case}\nstate {y}: not only {possibly:b} are optimal"
            )
            value, values = self.truth.value[y], self.found.values
            assert float(values.lower[x]) <= value <= float(values.upper[x]), (
                f"{self.case}\nstate {y}: {value}"
            )
            assert self.found.exact.get(x, value) == value, f"{self.case}\nstate {y}: {value}"
        named: dict[int, Fraction] = {}
        for x in np.flatnonzero(self.found.tied_region).tolist():
            value = self.truth.value[self.number[x]]
            block = int(self.found.block[x])
            assert named.setdefault(block, value) == value, (
                f"{self.case}\nblock {block} has two values"
            )

    def _groups(self, names: list[Key]) -> list[list[int]]:
        """The states asked about, by class."""
        groups: dict[Key, list[int]] = {}
        for y in self.asked:
            groups.setdefault(names[y], []).append(y)
        return list(groups.values())

    def _same_values(self, answer: Answer, names: list[Key]) -> bool:
        same = all(
            len({(self.truth.value[y], self.truth.optimal[y]) for y in group}) == 1
            for group in self._groups(names)
        )
        if answer.verdict == NO:
            one, other = (self.number[x] for x in answer.witness)
            differ = (self.truth.value[one], self.truth.optimal[one]) != (
                self.truth.value[other],
                self.truth.optimal[other],
            )
            return not same and differ and names[one] == names[other]
        return same or answer.verdict == UNDECIDED

    def _everywhere(self, answer: Answer, names: list[Key]) -> bool:
        common = [
            np.bitwise_and.reduce([self.truth.optimal[y] for y in group])
            for group in self._groups(names)
        ]
        if self.found.depth is None:  # by the definition: some k-policy has the optimal values
            assert self.truth.optimal_policy(names, range(len(names))) == all(common), self.case
        if answer.verdict == NO:
            members = [self.number[x] for x in answer.witness]
            clash = np.bitwise_and.reduce([self.truth.optimal[y] for y in members]) == 0
            return not all(common) and bool(clash) and len({names[y] for y in members}) == 1
        return (
            all(common) and self._chosen_well(answer, names, self.asked)
        ) or answer.verdict == UNDECIDED

    def _start(self, answer: Answer, names: list[Key]) -> bool:
        if answer.verdict == UNDECIDED:
            return True
        if answer.verdict == NO:
            alike = len({names[self.number[x]] for x in answer.witness}) == 1
            return alike and not self.truth.optimal_policy(names, self.truth.starts)
        reached = self._reached(answer, names)
        well = reached is not None and self._chosen_well(answer, names, reached)
        return answer.depth is None and well and self.truth.optimal_policy(names, self.truth.starts)

    def _choice(self, answer: Answer, names: list[Key]) -> dict[Key, int]:
        return {names[self.number[x]]: action for x, action in answer.choice.items()}

    def _chosen_well(self, answer: Answer, names: list[Key], states: list[int]) -> bool:
        """Whether the chosen actions are optimal in all these states (one that is alone in its class may have none)."""
        choice, groups = self._choice(answer, names), Counter(names[y] for y in self.asked)
        return all(
            self.truth.optimal[y] >> choice[names[y]] & 1
            if names[y] in choice
            else groups[names[y]] == 1
            for y in states
        )

    def _reached(self, answer: Answer, names: list[Key]) -> list[int] | None:
        """The states that the policy leads to; None where it leads to one that it has no action for."""
        choice, todo = self._choice(answer, names), list(self.truth.starts)
        for y in todo:
            if names[y] not in choice:
                return None
            if self.case.discount == 0:  # what comes after a step does not count
                continue
            for way in self.truth.plain.ways[y][choice[names[y]]]:
                if way.after != END and way.after not in todo:
                    todo.append(way.after)
        return todo

    def _gap(self, k: int, start: Answer, names: list[Key]) -> None:
        """The k-policy that was found is no better than the best, and the loss that is named is enough."""
        gap = measure_gap(self.found, k, start.choice)
        best, most = self.truth.best(names), self.truth.best(list(range(len(names))))
        tiny = 1e-9 * max(1.0, abs(best), abs(most))
        assert gap.found[0] <= best + tiny, (
            f"{self.case}\nat k = {k}: {gap}, but the best is {best}"
        )
        assert gap.optimal[0] - tiny <= most <= gap.optimal[1] + tiny, (
            f"{self.case}\nat k = {k}: {gap}, not {most}"
        )
        assert most - best <= gap.gap[1] + tiny, (
            f"{self.case}\nat k = {k}: {gap}, but {most - best} are lost"
        )
