"""The problem a certificate speaks of, stepped with the readable machine and counted in fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, cached_property
from typing import NamedTuple

from pdrm.analysis.certificate import Certificate
from pdrm.analysis.checker.ends import End, step_ends
from pdrm.analysis.values.rationals import chances, largest_reward, simplest
from pdrm.domains.labelled_mdp import NO_LABEL, FiniteDomain
from pdrm.errors import BadCertificate
from pdrm.machines.configuration import Configuration
from pdrm.machines.pushdown import PushdownRewardMachine

OVER = -1
"""The state after the end of an episode."""


class Step(NamedTuple):
    """One outcome of an action."""

    chance: Fraction
    paid: Fraction
    after: int


Glimpsed = list[list[tuple[Fraction, Fraction, tuple[int, int, int] | None]]]
"""An action's outcomes, each with all ends it can have: chance, pay, and (environment state, machine state, top) or None."""


class Problem:
    """Product states of a certificate by their numbers, and their steps.

    Every step is made afresh; one that leads to a state the certificate does not list is a fault.
    """

    def __init__(self, domain: FiniteDomain, machine: PushdownRewardMachine, proof: Certificate) -> None:
        self.domain, self.machine, self.proof = domain, machine, proof
        self.discount = simplest(proof.discount)
        self.scale = largest_reward(domain, machine)
        self.states = (*machine.states, *machine.final)
        self.symbol = {name: number for number, name in enumerate(machine.stack, start=1)}
        self.stacks: list[tuple[str, ...]] = [()]
        for below, top in proof.stacks[1:]:
            demand(0 <= below < len(self.stacks) and 1 <= top <= len(machine.stack), "a stack is out of order")
            self.stacks.append((machine.stack[top - 1], *self.stacks[below]))
        listed = [(s, self.states[u], self.stacks[node]) for s, u, node in proof.states]
        self.number = {state: x for x, state in enumerate(listed)}
        demand(len(self.number) == len(listed), "a state is listed twice")
        self.listed = listed

    @cached_property
    def starts(self) -> set[int]:
        """The numbers of the states that episodes start in."""
        arrays, found = self.domain.arrays, set()
        for s, chance, label in zip(
            arrays.start_state.tolist(), arrays.start_probability.tolist(), arrays.start_label.tolist(), strict=True
        ):
            here = self.machine.begin().after
            if label != NO_LABEL and here.state not in self.machine.final:
                here = self.machine.step(here, self.domain.labels[label]).after
            if chance > 0:
                found.add(self._place(s, here, OVER))
        return found - {OVER}

    def steps(self, x: int) -> list[list[Step]]:
        """The outcomes of each action of a state."""
        arrays = self.domain.arrays
        s, state, stack = self.listed[x]
        found = []
        for action in range(len(self.domain.actions)):
            outcomes = []
            for o, chance in enumerate(chances(*arrays.probability[s, action].tolist())):
                if chance:
                    step = self.machine.step(
                        Configuration(state, stack), self.domain.labels[arrays.label[s, action, o]]
                    )
                    paid = simplest(float(step.reward + arrays.reward[s, action, o]), self.scale)
                    outcomes.append(Step(chance, paid, self._place(int(arrays.next[s, action, o]), step.after, x)))
            found.append(outcomes)
        return found

    def _place(self, s: int, here: Configuration, before: int) -> int:
        """The number of a state; what the rule at the bound says for one with a higher stack."""
        if here.state in self.machine.final or self.domain.arrays.terminal[s]:
            return OVER
        if self.proof.height is not None and len(here.stack) > self.proof.height and before != OVER:
            if self.proof.rule == "block":
                return before
            if self.proof.rule == "fail":
                return OVER
        x = self.number.get((s, here.state, here.stack))
        demand(x is not None, f"the state {(s, here.state, here.stack)} is missing")
        return x if x is not None else OVER

    def top(self, x: int) -> int:
        """The number of a state's top symbol, 0 for the empty stack."""
        stack = self.listed[x][2]
        return self.symbol[stack[0]] if stack else 0

    def glimpses(self, s: int, u: int, top: int) -> list[Glimpsed]:
        """[action][outcome]: every end it can have, over all stacks below the top symbol: where the rule at the bound
        says so, also to stay, or for the episode to be over. Nothing where the environment is over, or where a label has
        no move (such a state is an error, wherever it is reached)."""
        arrays, found = self.domain.arrays, []
        instead: dict[str, list[tuple[int, int, int] | None]] = {"block": [(s, u, top)], "fail": [None]}
        if arrays.terminal[s]:
            return []
        for action in range(len(self.domain.actions)):
            outcomes: Glimpsed = []
            for o, chance in enumerate(chances(*arrays.probability[s, action].tolist())):
                if chance:
                    ends = self._ends(u, top, int(arrays.label[s, action, o]))
                    if ends is None:
                        return []
                    s2, own = int(arrays.next[s, action, o]), float(arrays.reward[s, action, o])
                    outcomes.append(
                        [
                            (chance, simplest(paid + own, self.scale), at)
                            for paid, after in ends
                            for at in (self._seen(s2, after), *instead.get(self.proof.rule, []))
                        ]
                    )
            found.append(outcomes)
        return found

    def _seen(self, s: int, here: Configuration) -> tuple[int, int, int] | None:
        if here.state in self.machine.final or self.domain.arrays.terminal[s]:
            return None
        return s, self.states.index(here.state), self.symbol[here.stack[0]] if here.stack else 0

    @cache  # noqa: B019 - a problem lives as long as its check
    def _ends(self, u: int, top: int, label: int) -> set[End] | None:
        """What reading a label pays and leads to, over all stacks with that top."""
        stack = (self.machine.stack[top - 1],) if top else ()
        return step_ends(self.machine, Configuration(self.states[u], stack), self.domain.labels[label])


def demand(holds: bool, what: str) -> None:
    """A fault of the certificate, unless it holds."""
    if not holds:
        raise BadCertificate(what, fix="make the certificate again with pdrm check-k")
