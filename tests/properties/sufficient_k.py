"""The loss of the best k-policy on small random tasks, compared with all k-policies.

Each task is explored completely and in part, where bounds rest on the bounds of unexplored states.
Certificates prove at least the true loss, and forged ones that claim less are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np

from pdrm.analysis.best_policy import LossBounds, bound_loss
from pdrm.analysis.certificate import Certificate, Entry
from pdrm.analysis.certify import certify_everywhere, certify_start
from pdrm.analysis.checker import Check
from pdrm.analysis.deadline import Deadline
from pdrm.analysis.regret import explore, measure_gaps, measure_regret
from pdrm.analysis.values import ValuedProduct, value_product
from pdrm.errors import BadCertificate, DoesNotApply
from pdrm.product.finite_kernel import MEMORY
from pdrm.task import Task
from tests.properties.k_policies import Truth
from tests.properties.plain_product import END, Case, Key
from tests.properties.random_products import random_case

PRODUCTS = 40
MAX_STATES, MAX_POLICIES = 11, 2_048
KS = range(4)
RULES = ("block", "fail", "none", "none", "none", "none")
FORGED = 5
"""The number of forged versions of each certificate."""


def check(seed: int, products: int = PRODUCTS) -> Counter[str]:
    """Check random tasks with at least two actions and few enough policies."""
    random, counted = Random(seed), Counter[str]()
    while counted["cases"] < products:
        chance = random.random() < 0.5
        case, plain = random_case(random, RULES, MAX_STATES, chance=chance)
        policies = len(case.domain.actions) ** len(plain.states)
        if plain.closed and 1 < policies <= MAX_POLICIES:
            counted += compare(random, case, Truth(plain, case.discount))
            counted["with chance"] += chance
    return counted


def compare(random: Random, case: Case, truth: Truth) -> Counter[str]:
    """Check one task, explored completely and in part."""
    counted, task = Counter[str](cases=1), Task(case.domain, case.machine)
    for depth in (None, random.randint(0, 3)):
        values = value_product(task, float(case.discount), None, MEMORY, Deadline(20.0))
        explore(values, 1_000, depth, Deadline())
        counted["asked"] += 1
        counted["open"] += not values.closed
        counted += _Compared(random, case, truth, task, values).compare()
    return counted


class _Compared:
    """The results for one task, and the true numbers."""

    def __init__(
        self, random: Random, case: Case, truth: Truth, task: Task, values: ValuedProduct
    ) -> None:
        self.random, self.case, self.truth = random, case, truth
        self.task, self.values = task, values
        plain = truth.plain
        best = [float(value) for value in truth.value]
        self.size = 1e-9 * max(
            1.0, *map(abs, best), float(max(abs(way.paid) for way in plain.starts))
        )
        self.gaps = np.array(
            [
                [float(truth.value[x] - truth.worth(ways, truth.value)) for ways in actions]
                for x, actions in enumerate(plain.ways)
            ]
        )
        self.best = truth.best(list(range(len(plain.states))))

    def compare(self) -> Counter[str]:
        """Raise at the first bound that does not hold; count the bounds that decide."""
        counted, before, values = Counter[str](), None, self.values
        low, high = values.start
        assert low - self.size <= self.best <= high + self.size, (
            f"{self.case}\n{low} {self.best} {high}"
        )
        for k in KS:
            names = [(s, u, stack[:k]) for s, u, stack in self.truth.plain.states]
            lost = self.best - self.truth.best(names)
            found = bound_loss(values, k, before, Deadline(self.random.choice((0.0, 5.0))))
            before = found
            said = f"{self.case}\nk = {k}: loss in [{found.low}, {found.high}], and it is {lost}"
            assert found.low - self.size <= lost <= found.high + self.size, said
            counted["losses"] += 1
            counted["losses known"] += found.high - found.low <= 1e-6 + self.size
            self._check_regret(k, names)
            counted += self._certify(k, found)
        return counted

    def _check_regret(self, k: int, names: list[Key]) -> None:
        """Compare regret and spread with their definitions."""
        classes: dict[Hashable, list[int]] = {}
        for x, name in enumerate(names):
            classes.setdefault(name, []).append(x)
        value = np.array([float(one) for one in self.truth.value])
        regret = spread = 0.0
        for members in classes.values():
            gaps = self.gaps[members]
            regret = max(regret, float(gaps.max(axis=0).min()))
            optimal = gaps.min(axis=0) <= 1e-9
            spread = max(
                spread,
                float(np.ptp(value[members])),
                float(gaps.max(axis=0)[optimal].max(initial=0.0)),
            )
        gaps = measure_gaps(self.values)
        found = measure_regret(self.values, k, gaps)
        said = f"{self.case}\nk = {k}: {found}, regret {regret}, spread {spread}"
        for (low, high), true in ((found.regret, regret), (found.spread, spread)):
            assert low <= true + self.size, said
            assert true <= high + self.size, said

    def _certify(self, k: int, found: LossBounds) -> Counter[str]:
        """Check the certificates of the results, and forged ones."""
        counted = Counter[str]()
        if self.case.discount == 0 or self.values.product.height is not None:
            return counted
        makers = (
            lambda: certify_start(self.task, self.values, found),
            lambda: certify_everywhere(self.task, self.values, k),
        )
        for make in makers:
            try:
                proof = make()
            except (DoesNotApply, BadCertificate):
                counted["not certified"] += 1
                continue
            lost = self._lose(proof)
            said = f"{self.case}\n{proof}: it loses {lost}"
            assert lost <= Fraction(proof.bound), said
            counted["certificates"] += 1
            for _ in range(FORGED):
                forged = self._forge(proof)
                if (lost := self._lose(forged)) > Fraction(forged.bound):
                    assert self._is_refused(forged), (
                        f"{self.case}\n{forged}: it loses {lost}\n{forged.entries}"
                    )
                    counted["falsified ones refused"] += 1
        return counted

    def _is_refused(self, proof: Certificate) -> bool:
        try:
            return Check(self.task, proof).bound() > Fraction(proof.bound)
        except BadCertificate:
            return True

    def _lose(self, proof: Certificate) -> Fraction:
        """The true loss of a certificate's policy; it takes the first action in other classes."""
        chosen = {row[:3]: self.case.domain.actions.index(row[3]) for row in proof.policy}
        seen = [(s, u, stack[: proof.k]) for s, u, stack in self.truth.plain.states]
        policy = np.array([chosen.get(name, 0) for name in seen])
        value = self.truth.exactly(policy)
        gaps = [best - own for best, own in zip(self.truth.value, value, strict=True)]
        if proof.question == "everywhere":
            return max(gaps, default=Fraction(0))
        starts = self.truth.plain.starts
        return sum(
            (way.chance * gaps[way.after] for way in starts if way.after != END), Fraction(0)
        )

    def _forge(self, proof: Certificate) -> Certificate:
        """A certificate with another policy or bound, and with changes that may hide this."""
        random, actions = self.random, self.case.domain.actions
        policy = list(proof.policy)
        for place in range(len(policy)):
            if random.random() < 0.3:
                policy[place] = (*policy[place][:3], random.choice(actions))
        bound = proof.bound * random.choice((1.0, 1.0, 0.5, 0.99))
        forged = replace(proof, policy=tuple(policy), bound=bound)
        amount = random.choice((0.01, 1.0, 100.0))
        kind = random.choice(("none", "entries", "drop", "ranges", "lower"))
        if kind == "entries":
            chance = random.choice((0.2, 1.0))
            changed = [
                self._change(one, amount) if random.random() < chance else one
                for one in proof.entries
            ]
            return replace(forged, entries=tuple(changed))
        if kind == "drop" and proof.entries:
            place = random.randrange(len(proof.entries))
            return replace(forged, entries=proof.entries[:place] + proof.entries[place + 1 :])
        if kind == "ranges":
            ranges = tuple((s, u, low / 2, high / 2) for s, u, low, high in proof.ranges)
            return replace(forged, ranges=ranges)
        if kind == "lower":
            lower = tuple((s, u, stack, worth + amount) for s, u, stack, worth in proof.lower)
            return replace(forged, lower=lower)
        return forged

    def _change(self, entry: Entry, amount: float) -> Entry:
        """An entry with another constant, with lower lines, or about another stack."""
        s, u, seen, whole, constant, lines = entry
        kind = self.random.choice(("constant", "lines", "whole"))
        if kind == "constant":
            constant += self.random.choice((-amount, amount))
        if kind == "lines":
            lines = tuple((t, c - amount, s2, u2) for t, c, s2, u2 in lines)
        return s, u, seen, whole != (kind == "whole"), constant, lines


# --- Stacks that grow without end

SHORT_DISCOUNTS = (0.25, 0.4)
FEW_POLICIES = 2_000
EXPLORED = 7
"""Steps within which the optimal value is bounded by brute force."""
PLAYED = 60


def check_growing(seed: int, products: int = PRODUCTS) -> Counter[str]:
    """Check deterministic tasks whose stacks grow forever: play every policy, bound the value."""
    random, counted = Random(seed), Counter[str]()
    while counted["cases"] < products:
        case, plain = random_case(random, ("none",), MAX_STATES, chance=False)
        if plain.closed:
            continue
        discount = random.choice(SHORT_DISCOUNTS)
        growing = _Growing(replace(case, discount=Fraction(discount)))
        values = value_product(
            Task(case.domain, case.machine), discount, None, MEMORY, Deadline(20.0)
        )
        low, high = growing.bound_best()
        found = values.start
        assert found[0] <= high + growing.size, f"{case}\n{found} {low} {high}"
        assert low <= found[1] + growing.size, f"{case}\n{found} {low} {high}"
        before = None
        for k in KS:
            best = growing.try_policies(k)
            if best is None:
                continue
            before = bound_loss(values, k, before, Deadline(5.0))
            said = (
                f"{case}\nk = {k}: {before.low} {before.high}, optimal {low} {high}, policy {best}"
            )
            assert before.low <= high - best + growing.size, said
            assert before.high >= low - best - growing.size, said
            counted["losses"] += 1
            counted["losses above 0"] += before.low > values.tolerance
        counted["cases"] += 1
    return counted


class _Growing:
    """A deterministic task, stepped with the readable machine."""

    def __init__(self, case: Case) -> None:
        self.case, self.gamma = case, float(case.discount)
        self.domain, self.machine = case.domain, case.machine
        paid = max(abs(rule.reward) for rule in self.machine.transitions) + abs(
            self.machine.otherwise.reward
        )
        own = float(np.abs(self.domain.arrays.reward).max())
        self.most = own + 12 * paid
        """An upper bound on the reward of a step: these machines make few silent moves."""
        self.size = 1e-6
        begin = self.machine.begin()
        self.starts = []
        arrays = self.domain.arrays
        for s, chance, label in zip(
            arrays.start_state.tolist(), arrays.start_probability.tolist(), arrays.start_label.tolist(), strict=True
        ):  # fmt: skip
            at, reward = begin.after, sum(move.reward for move in begin.moves)
            if chance > 0 and label >= 0 and at.state not in self.machine.final:
                step = self.machine.step(at, self.domain.labels[label])
                at, reward = step.after, reward + sum(move.reward for move in step.moves)
            self.starts.append((chance / arrays.start_probability.sum(), reward, (s, at)))

    def over(self, x: tuple[int, object]) -> bool:
        return x[1].state in self.machine.final or bool(self.domain.arrays.terminal[x[0]])  # type: ignore[attr-defined]

    def step(self, x: tuple[int, object], action: int) -> tuple[float, tuple[int, object]]:
        arrays, (s, at) = self.domain.arrays, x
        o = int(arrays.probability[s, action].argmax())
        step = self.machine.step(at, self.domain.labels[arrays.label[s, action, o]])  # type: ignore[arg-type]
        paid = float(arrays.reward[s, action, o]) + sum(move.reward for move in step.moves)
        self.most = max(self.most, abs(paid))
        return paid, (int(arrays.next[s, action, o]), step.after)

    def bound_best(self) -> tuple[float, float]:
        """Lower and upper bounds of the optimal value."""
        found = sum(chance * (paid + self.best(x, EXPLORED)) for chance, paid, x in self.starts)
        rest = self.gamma**EXPLORED * self.most / (1 - self.gamma)
        return found - rest, found + rest

    def best(self, x: tuple[int, object], steps: int) -> float:
        if self.over(x) or not steps:
            return 0.0
        found = []
        for action in range(len(self.domain.actions)):
            paid, after = self.step(x, action)
            found.append(paid + self.gamma * self.best(after, steps - 1))
        return max(found)

    def try_policies(self, k: int) -> float | None:
        """The return of the best k-policy, or None if there are too many."""
        best, todo, tried = -np.inf, [dict[Hashable, int]()], 0
        while todo:
            tried += 1
            if tried > FEW_POLICIES:
                return None
            policy = todo.pop()
            earned: float | None = 0.0
            for chance, paid, start in self.starts:
                weight, x = chance, start
                earned += chance * paid
                for _ in range(PLAYED):
                    if self.over(x):
                        break
                    name = x[0], x[1].state, x[1].stack[:k]  # type: ignore[attr-defined]
                    if name not in policy:
                        todo += [
                            {**policy, name: action} for action in range(len(self.domain.actions))
                        ]
                        earned = None
                        break
                    reward, x = self.step(x, policy[name])
                    earned += weight * reward
                    weight *= self.gamma
                if earned is None:
                    break
            best = best if earned is None else max(best, earned)
        return best
