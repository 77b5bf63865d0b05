"""The policy of the agent `summary`: the moves that it has experienced.

The operators (`analysis/whole_stack`) follow from the moves and the machine, so only the moves are
saved. The operators are found again when the policy is first asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pdrm.analysis.whole_stack import WholeStack
from pdrm.analysis.whole_stack_kernel import NONE, World
from pdrm.domains.finite_domain import FiniteDomain, StateLike
from pdrm.errors import UnknownFormat, WrongPolicy, did_you_mean
from pdrm.files import Arrays, Fingerprint, encode_arrays, need, within, write_atomically
from pdrm.language.document import AnyMachine
from pdrm.language.loading import parse
from pdrm.learning.tabular.policy_table import (
    Memory,
    PolicyRow,
    locate,
    number_state,
    refuse_exploring,
)
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import Symbols, tabulate
from pdrm.product.views import FullStack

if TYPE_CHECKING:
    from pdrm.drawing.rows import Rows

VERSION = 1
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


def copy_world(world: World) -> World:
    """The same moves in other arrays."""
    return World(world.next.copy(), world.label.copy(), world.reward.copy(), world.terminal.copy())


def world_arrays(world: World) -> Arrays:
    """The experienced moves as they are saved."""
    return {f"world.{name}": array.copy() for name, array in world._asdict().items()}


def read_world(arrays: Arrays) -> World:
    """The experienced moves as they were saved."""
    parts: list[Any] = [arrays[f"world.{name}"].copy() for name in World._fields]
    return World(*parts)


@dataclass(frozen=True, eq=False, repr=False)
class SummaryPolicy:
    """Acts by the operators of what was experienced, with any stack."""

    about: dict[str, Any]
    """The run's spec, JSON values only."""
    machine_text: str
    """The machine it was learnt with, as .pdrm text."""
    actions: tuple[str, ...]
    labels: tuple[Label, ...]
    discount: float
    world: World
    """The experienced moves."""
    domain: FiniteDomain | None = field(default=None, kw_only=True)
    """The domain it was learnt in, to describe the environment's states; not kept in a file, but set in `run.policy`."""

    def __len__(self) -> int:
        return int((self.world.next >= 0).sum())

    def __repr__(self) -> str:
        return f"<SummaryPolicy of {len(self):,} experienced moves, {len(self.actions)} actions, view {self.view}>"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

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

    def values(
        self, environment_state: StateLike, machine_state: str, memory: Memory
    ) -> npt.NDArray[np.float64]:
        """The value of each action, -inf if it was never experienced."""
        states = (*self.machine.states, *self.machine.final)
        if machine_state not in states:
            fault = f"`{machine_state}` is not a state of the machine this was learnt with"
            raise WrongPolicy(fault, fix=did_you_mean(str(machine_state), states))
        place = number_state(environment_state, self.domain)
        if place >= len(self.world.terminal):
            fault = f"{place} is not a state of the environment this was learnt in"
            raise WrongPolicy(fault, fix=f"states are 0 to {len(self.world.terminal) - 1}")
        if isinstance(memory, str) or any(symbol not in self.machine.stack for symbol in memory):
            fault = f"{memory!r} is not a stack of the machine this was learnt with"
            raise WrongPolicy(
                fault,
                fix=f"give a tuple of stack symbols, top first: {', '.join(self.machine.stack)}",
            )
        symbols = tuple(self.machine.stack.index(str(symbol)) + 1 for symbol in memory)
        return find_values(self.solver, place, states.index(machine_state), symbols)

    def reset(self) -> None:
        """An episode begins: it remembers nothing, but a loop that serves networks too says so."""

    def act(
        self,
        observation: object,
        machine_state: str | Mapping[str, Any] | None = None,
        memory: Memory | None = None,
        *,
        deterministic: bool = True,
    ) -> int:
        """An action of highest value, the first of several.

        observation: as `Task.env` shows it, with the whole stack, alone or followed by its `info`; or the environment's state (its number, its name, or its row and
        column on a grid), then the machine's, and `memory`: the stack, top first.
        deterministic: as `predict` has it in Stable-Baselines3, and True only, because a policy never explores.
        """
        refuse_exploring(deterministic)
        if isinstance(machine_state, str) and memory is not None:
            state: Any = observation  # which is checked with the others
            return int(np.argmax(self.values(state, machine_state, memory)))
        states = (*self.machine.states, *self.machine.final)
        there = locate(observation, self.view, states, self.machine.stack, len(self.world.terminal))
        return int(np.argmax(self.values(*there)))

    def table(self, domain: FiniteDomain | None = None) -> Rows[PolicyRow]:
        """The actions with one symbol on the stack, row by row: environment states whose moves were experienced."""
        from pdrm.drawing.rows import Rows

        known = self.domain if domain is None else domain
        places = np.flatnonzero((self.world.next >= 0).any(axis=1)).tolist()
        states, symbols = self.machine.states, self.machine.stack

        def make(number: int) -> PolicyRow:
            rest, place = divmod(number, len(places))
            state, symbol = divmod(rest, len(symbols))
            found = self.values(places[place], states[state], (symbols[symbol],)).tolist()
            values = dict(zip(self.actions, found, strict=False))
            where = "" if known is None else known.describe(places[place])
            best = max(values, key=values.__getitem__, default="")
            return PolicyRow(places[place], where, states[state], (symbols[symbol],), best, values)

        return Rows(len(places) * len(states) * len(symbols), make)

    def check_machine(self, machine: AnyMachine) -> None:
        """Raise unless the policy was learnt with this machine."""
        if self.machine != machine:
            fix = "use the machine in its description, or train again"
            raise WrongPolicy("the policy was learnt with another machine", fix=fix)

    def check_domain(self, domain: FiniteDomain) -> None:
        """Raise unless the policy can act in this domain."""
        if (self.actions, self.labels, len(self.world.terminal)) != (
            domain.actions,
            domain.labels,
            domain.states,
        ):
            fault = f"the policy was learnt in a domain with other actions, labels or states than `{domain.name}`"
            raise WrongPolicy(fault, fix="use the domain that it was learnt in, or train again")

    def save(self, path: str | Path) -> Fingerprint:
        """Write it to a `.npz` file and a `.json` next to it. Returns the fingerprint of the arrays."""
        file = Path(path)
        if file.suffix != ".npz":
            raise UnknownFormat(f"{file} does not end in .npz", fix=f"{file.with_suffix('.npz')}")
        data = encode_arrays(world_arrays(self.world))
        found = Fingerprint.of(data)
        description = {
            "pdrm_policy": VERSION,
            "kind": KIND,
            "sha256": found.sha256,
            "view": str(self.view),
            "actions": list(self.actions),
            "labels": [sorted(label) for label in self.labels],
            "discount": self.discount,
            "machine": self.machine_text,
            "about": self.about,
        }
        write_atomically(file, data)
        write_atomically(
            file.with_suffix(".json"), (json.dumps(description, indent=1) + "\n").encode()
        )
        return found


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
    machine = parse(str(description["machine"]))
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
    tabulate(machine, labels)  # type: ignore[arg-type]  # the machine must read the labels
    return SummaryPolicy(
        dict(description["about"]), description["machine"], actions, labels, discount, world
    )
