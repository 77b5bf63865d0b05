"""The policy of the agent `summary`: the moves that it has experienced.

The operators (`analysis/whole_stack`) follow from the moves and the machine, so only the moves are
saved. The operators are found again when the policy is first asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pdrm.analysis.whole_stack import WholeStack
from pdrm.analysis.whole_stack_kernel import NONE, World
from pdrm.domains.finite_domain import FiniteDomain, StateLike
from pdrm.errors import WrongPolicy
from pdrm.files import Arrays, need, within
from pdrm.language.loading import parse
from pdrm.learning.tabular.learner_tables import list_arrays, put_arrays
from pdrm.learning.tabular.policy import TabularPolicy
from pdrm.learning.tabular.policy_table import (
    Memory,
    PolicyRow,
    check_stack,
    check_state,
    number_state,
)
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Symbols, tabulate
from pdrm.machines.transitions import Stack
from pdrm.product.views import FullStack

if TYPE_CHECKING:
    from pdrm.drawing.rows import Rows

KIND = "summary"
CLOSE = 1e-9
"""Values that differ by less than this share of the largest count as equal."""


def nothing_known(states: int, actions: int) -> World:
    """A world of which nothing has been experienced."""
    return World(
        np.full((states, actions), NONE, np.int32),
        np.zeros((states, actions), np.int32),
        np.zeros((states, actions)),
        np.zeros(states, np.bool_),
    )


def world_arrays(world: World) -> Arrays:
    """The experienced moves as they are saved."""
    return list_arrays(world, "world.")


def read_world(arrays: Arrays) -> World:
    """A copy of the experienced moves as they were saved."""
    world: World = put_arrays(nothing_known(0, 0), arrays, "world.")
    return world


@dataclass(frozen=True, eq=False, repr=False)
class SummaryPolicy(TabularPolicy):
    """Acts by the operators of what was experienced, with any stack."""

    labels: tuple[Label, ...]
    discount: float
    world: World
    """The experienced moves."""

    def __len__(self) -> int:
        return int((self.world.next >= 0).sum())

    @property
    def view(self) -> FullStack:
        """The view of the stack: all of it."""
        return FullStack()

    @cached_property
    def machine(self) -> PushdownRewardMachine:
        """The machine it was learnt with."""
        machine = parse(self.machine_text)
        assert isinstance(machine, PushdownRewardMachine)
        return machine

    @cached_property
    def solver(self) -> WholeStack:
        """The operators, found when they are first needed."""
        table = tabulate(self.machine, self.labels)
        return WholeStack(self.world, table, self.discount, precision=1e-9)

    def _shown(self) -> tuple[Sequence[str], Stack]:
        return (*self.machine.states, *self.machine.final), self.machine.stack

    def values(
        self, environment_state: StateLike, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The value of each action, -inf if it was never experienced. `memory`: the stack, top first."""
        states, stack = self._shown()
        check_state(machine_state, states)
        check_stack(memory, stack)
        place, places = number_state(environment_state, self.domain), len(self.world.terminal)
        if place >= places:
            fault = f"{place} is not a state of the environment this was learnt in"
            raise WrongPolicy(fault, fix=f"states are 0 to {places - 1}")
        symbols = tuple(stack.index(str(symbol)) + 1 for symbol in memory)
        return find_values(self.solver, place, states.index(machine_state), symbols)

    def table(self, domain: FiniteDomain | None = None) -> Rows[PolicyRow]:
        """The actions with one symbol on the stack, row by row: environment states whose moves were experienced."""
        from pdrm.drawing.rows import Rows

        known = self.domain if domain is None else domain
        places = np.flatnonzero((self.world.next >= 0).any(axis=1)).tolist()
        states, symbols = self.machine.states, self.machine.stack

        def make(number: int) -> PolicyRow:
            rest, place = divmod(number, len(places))
            state, symbol = divmod(rest, len(symbols))
            seen = places[place], states[state], (symbols[symbol],)
            values = zip(self.actions, self.values(*seen).tolist(), strict=False)
            return PolicyRow.of(known, seen, dict(values))

        return Rows(len(places) * len(states) * len(symbols), make)

    def check_domain(self, domain: FiniteDomain) -> None:
        """Raise unless the policy can act in this domain."""
        own = self.actions, self.labels, len(self.world.terminal)
        if own != (domain.actions, domain.labels, domain.states):
            raise self._other_domain(domain, "actions, labels or states")

    def _saved(self) -> tuple[dict[str, Any], Arrays]:
        labels = [sorted(label) for label in self.labels]
        own = {"kind": KIND, "labels": labels, "discount": self.discount}
        return own, world_arrays(self.world)


def find_values(
    solver: WholeStack, place: int, state: int, symbols: Symbols
) -> npt.NDArray[np.float64]:
    """The values of the actions, -inf if they are not known; those that are close are made equal."""
    if state >= solver.table.first_final or solver.world.terminal[place]:
        return np.zeros(solver.world.next.shape[1])
    values = solver.action_values(place, state, symbols)
    values[np.isnan(values)] = -np.inf
    best = values.max()
    if np.isfinite(best):
        values[values >= best - CLOSE * max(1.0, abs(best))] = best
    return values


def read_summary_policy(arrays: Arrays, description: dict[str, Any]) -> SummaryPolicy:
    """The policy that the arrays and their description are; `ValueError` if they are damaged."""
    text = str(description["machine"])
    machine = parse(text)
    need((isinstance(machine, PushdownRewardMachine), "its machine has no stack"))
    actions = tuple(map(str, description["actions"]))
    labels = tuple(frozenset(map(str, label)) for label in description["labels"])
    discount = float(description["discount"])
    world = read_world(arrays)
    states = len(world.terminal)
    need(
        (0 <= discount < 1, "invalid discount"),
        (all(part.shape == (states, len(actions)) for part in world[:3]), "shapes differ"),
        (within(world.next, NONE, states - 1), "a move leads to no state"),
        (within(world.label, 0, len(labels) - 1), "a move emits no label"),
        (bool(np.isfinite(world.reward).all()), "a reward is not a number"),
    )
    policy = SummaryPolicy(description["about"], text, actions, labels, discount, world)
    tabulate(policy.machine, labels)  # the machine must read the labels
    return policy
