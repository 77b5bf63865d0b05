"""Whether a certificate proves its yes, from bounds that prove themselves.

A bound that one step of the Bellman equation does not move outwards is a bound: T(upper) <= upper gives V* <= upper, and
the same below. Actions whose upper worth lies below another's lower worth are out of play; the others tie where they have
the same exact worth, or offer the same chances of the same rewards and of states in blocks of equal value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction

from pdrm.analysis.certificate import Certificate
from pdrm.analysis.checker.problem import OVER, Glimpsed, Problem, Step, demand
from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.errors import PdrmError
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.finite.arrays import RULES

Class = tuple[int, int, tuple[int, ...]]
Outermost = Callable[[Iterable[Fraction]], Fraction]


def fault(domain: FiniteDomain, machine: PushdownRewardMachine, proof: Certificate) -> str | None:
    """What is wrong with a certificate, or None where it proves what it says."""
    try:
        verify(domain, machine, proof)
    except PdrmError as error:
        return error.message
    return None


def verify(domain: FiniteDomain, machine: PushdownRewardMachine, proof: Certificate) -> None:
    """Raise `BadCertificate` unless a certificate proves what it says of this domain and machine. Nothing of the solver that
    made it is used: every step is taken anew with the readable machine, and counted in fractions.

    >>> from dataclasses import replace
    >>> from pdrm.analysis.check_k import check_k
    >>> from pdrm.domains.catalogue import domain
    >>> from pdrm.machines.catalogue import catalogue
    >>> where, machine = domain("paint"), catalogue("paint")
    >>> proof = check_k(where, machine, ks=[5]).certificate(5, "everywhere")
    >>> verify(where, machine, proof)
    >>> fault(where, machine, replace(proof, k=4))
    'no action is chosen for (0, 1, (2, 2, 2, 2))'
    """
    try:
        _verify(domain, machine, proof)
    except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError, AttributeError) as error:
        demand(False, f"it is damaged: {error!r}")


def _verify(domain: FiniteDomain, machine: PushdownRewardMachine, proof: Certificate) -> None:
    demand((proof.domain, proof.machine) == (domain.name, machine.name), "it speaks of another task")
    demand(0 <= proof.discount < 1, "the discount is out of range")
    demand(proof.rule in RULES, "there is no such rule at the bound")
    demand(proof.k >= 0 and (proof.depth is None or proof.depth >= 0), "k or the depth is below 0")
    _Check(Problem(domain, machine, proof), proof).run()


class _Check:
    def __init__(self, problem: Problem, proof: Certificate) -> None:
        self.problem, self.proof = problem, proof
        self.looked = [bool(flag) for flag in proof.looked]
        self.steps = {x: problem.steps(x) for x in range(len(problem.listed)) if self.looked[x]}
        self.lower = [Fraction(value) for value in proof.lower]
        self.upper = [Fraction(value) for value in proof.upper]
        self.exact = {int(x): Fraction(value) for x, value in proof.exact.items()}
        self.in_play: dict[int, list[int]] = {}

    def run(self) -> None:
        """All parts of the proof, each resting on those before."""
        if not all(self.looked):
            self._glimpses()
        self._bounds()
        self._exact_values()
        self._blocks()
        self._question()

    def _worth(self, outcomes: list[Step], value: list[Fraction] | dict[int, Fraction]) -> Fraction:
        gamma = self.problem.discount
        return sum(
            (p * (paid + (gamma * value[y] if gamma and y != OVER else 0)) for p, paid, y in outcomes),
            Fraction(0),
        )

    def _glimpses(self) -> None:
        """The bounds by top symbol do not move outwards, and those of open states are no tighter."""
        problem = self.problem
        for s in range(problem.domain.states):
            for u in range(len(problem.machine.states)):
                for top in range(len(problem.machine.stack) + 1):
                    actions = problem.glimpses(s, u, top)
                    if actions:
                        high = max(self._glimpsed(actions, self.proof.glimpse_upper, max))
                        low = max(self._glimpsed(actions, self.proof.glimpse_lower, min))
                        demand(high <= self.proof.glimpse_upper[s][u][top], f"no upper bound at {(s, u, top)}")
                        demand(low >= self.proof.glimpse_lower[s][u][top], f"no lower bound at {(s, u, top)}")
        for x, looked in enumerate(self.looked):
            if not looked:
                s, state, _ = problem.listed[x]
                u, top = problem.states.index(state), problem.top(x)
                demand(self.upper[x] >= Fraction(self.proof.glimpse_upper[s][u][top]), f"state {x} is open")
                demand(self.lower[x] <= Fraction(self.proof.glimpse_lower[s][u][top]), f"state {x} is open")

    def _glimpsed(
        self, actions: list[Glimpsed], bounds: list[list[list[float]]], outermost: Outermost
    ) -> list[Fraction]:
        """The worth of each action where the stack below the top is the best, or the worst, for each outcome."""
        gamma = self.problem.discount
        return [
            sum(
                (
                    outermost(
                        p * (paid + (gamma * Fraction(bounds[at[0]][at[1]][at[2]]) if at else 0))
                        for p, paid, at in ends
                    )
                    for ends in outcomes
                ),
                Fraction(0),
            )
            for outcomes in actions
        ]

    def _bounds(self) -> None:
        """Bounds of looked-at states do not move outwards; which actions are left in play by them."""
        for x, actions in self.steps.items():
            low = [self._worth(outcomes, self.lower) for outcomes in actions]
            high = [self._worth(outcomes, self.upper) for outcomes in actions]
            demand(max(low) >= self.lower[x], f"the lower bound of state {x} does not hold")
            demand(max(high) <= self.upper[x], f"the upper bound of state {x} does not hold")
            self.in_play[x] = [a for a, q in enumerate(high) if q >= max(low)]

    def _exact_values(self) -> None:
        """Exact values solve the Bellman equation among themselves, with the actions in play."""
        for x, value in self.exact.items():
            demand(self.looked[x], f"the exact value of state {x} rests on open states")
            for a in self.in_play[x] if self.problem.discount else ():  # at 0 what comes after does not count
                demand(all(y == OVER or y in self.exact for _, _, y in self.steps[x][a]), f"state {x} leaves the rest")
            best = max(self._worth(self.steps[x][a], self.exact) for a in self.in_play[x])
            demand(best == value, f"the exact value of state {x} is wrong")

    def _blocks(self) -> None:
        """States of one block offer the same with the actions in play."""
        first: dict[int, frozenset[object]] = {}
        for x in self.steps:
            if x not in self.exact and self.proof.block[x] >= 0:
                offers = frozenset(self._offer(x, a) for a in self.in_play[x])
                demand(first.setdefault(self.proof.block[x], offers) == offers, f"state {x} is not like its block")

    def _name(self, y: int) -> object:
        """A name for a state's value: equal names, equal values."""
        if y == OVER:
            return "over"
        if y in self.exact:
            return self.exact[y]
        if not self.looked[y] or self.proof.block[y] < 0:
            return "open", y
        return "block", self.proof.block[y]

    def _offer(self, x: int, a: int) -> object:
        return frozenset(Counter((p, paid, self._name(y)) for p, paid, y in self.steps[x][a]).items())

    def _optimal(self, x: int) -> set[int] | None:
        """All optimal actions of a state, or None where the proof does not tell."""
        if not self.looked[x]:
            return None
        actions = self.in_play[x]
        if x in self.exact:
            return {a for a in actions if self._worth(self.steps[x][a], self.exact) == self.exact[x]}
        return set(actions) if len({self._offer(x, a) for a in actions}) == 1 else None

    def _class(self, x: int) -> Class:
        s, state, stack = self.problem.listed[x]
        seen = tuple(self.problem.symbol[symbol] for symbol in stack[: self.proof.k])
        return s, self.problem.states.index(state), seen

    def _depths(self) -> dict[int, int]:
        """The fewest steps to each state, as far as the proof goes."""
        depth = dict.fromkeys(self.problem.starts, 0)
        for x in (todo := list(depth)):
            if self.looked[x]:
                for y in dict.fromkeys(step.after for outcomes in self.steps[x] for step in outcomes):
                    if y != OVER and y not in depth:
                        depth[y] = depth[x] + 1
                        todo.append(y)
        return depth

    def _question(self) -> None:
        demand(self.proof.question in ("same_values", "everywhere", "start"), "it answers no question")
        choice = {(s, u, tuple(seen)): a for s, u, seen, a in self.proof.choice}
        demand(len(choice) == len(self.proof.choice), "a class has two actions")
        depths, limit = self._depths(), self.proof.depth
        asked = [x for x, depth in depths.items() if limit is None or depth <= limit]
        groups: dict[Class, list[int]] = {}
        for x in asked:
            groups.setdefault(self._class(x), []).append(x)
        whole = all(self.looked[x] for x in asked if limit is None or depths[x] < limit)
        if self.proof.question == "start":
            # A state alone in its class has an optimal action, whichever it is; that it is alone takes all states.
            alone = {members[0] for members in groups.values() if len(members) == 1} if whole else set[int]()
            self._from_start(choice, set(asked), alone)
            return
        demand(whole, "there are states to ask about beyond an open one")
        for name, members in groups.items():
            self._alike(name, members, choice.get(name))

    def _alike(self, name: Class, members: list[int], chosen: int | None) -> None:
        """States that look alike have an optimal action in common, the chosen one; or values and all optimal actions."""
        if self.proof.question == "everywhere":
            demand(chosen is not None or len(members) == 1, f"no action is chosen for {name}")
            demand(chosen is None or all(self._proved(x, chosen) for x in members), f"{name} chooses badly")
        elif len(members) > 1:
            sets = {frozenset(self._optimal(x) or ()) for x in members}
            demand(len(sets) == 1 and frozenset() not in sets, f"optimal actions of {name} differ")
            demand(len({self._name(x) for x in members}) == 1, f"values of {name} differ")

    def _proved(self, x: int, action: int) -> bool:
        return action in (self._optimal(x) or ())

    def _from_start(self, choice: dict[Class, int], asked: set[int], alone: set[int]) -> None:
        """Wherever the policy leads from the start, it is optimal: everywhere, or as far as was asked."""
        seen = dict.fromkeys(self.problem.starts)
        for x in (todo := list(seen)):
            a = choice.get(self._class(x))
            actions = [a] if a is not None and self._proved(x, a) else []
            if not actions and x not in asked:
                continue
            if not actions:
                demand(a is None and x in alone, f"the policy is not proved optimal in state {x}")
                actions = self.in_play.get(x, [])
            if self.problem.discount == 0:
                continue  # what comes after a step does not count
            for step in (step for action in actions for step in self.steps[x][action]):
                if step.after != OVER and step.after not in seen:
                    seen[step.after] = None
                    todo.append(step.after)
