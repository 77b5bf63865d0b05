"""The product of a JAX domain and a machine (Definition 2): begin, step, observe; one environment, to be mapped over many.

Observations are those of `pdrm.wrap(..., flatten=True)`: the domain's vector, the machine state one-hot, each seen symbol
one-hot. An episode ends at a final state (`terminated`), at the step limit or if the stack overflows (`truncated`). A reward
before the first action counts in the return, but is not the reward of an action.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.tables import tabulate
from pdrm.product.jax_env.jax_domain import JaxDomain, Key, State, key_of
from pdrm.product.jax_env.jax_machine import (
    FINISHED,
    OK,
    OVERFLOW,
    UNDEFINED,
    JaxMachine,
    JaxPotential,
    MachineStep,
    Packed,
)
from pdrm.product.views import FullStack, View


class ProductState(NamedTuple):
    """The state of one episode."""

    environment: State
    configuration: Packed
    clock: jax.Array
    """int32: steps taken."""
    key: Key
    """All random numbers of the episode come from it."""


class Begun(NamedTuple):
    """A new episode."""

    state: ProductState
    paid: jax.Array
    """By the machine before the first action: its silent moves, and the label at reset if there is one."""
    status: jax.Array
    """Of the machine: OK; UNDEFINED or OVERFLOW by the label at reset; FINISHED if the state is final."""


class ProductStep(NamedTuple):
    """The result of a step of the product."""

    reward: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    label: jax.Array
    environment_reward: jax.Array
    environment_terminated: jax.Array
    status: jax.Array
    """Of the machine: OK, UNDEFINED or OVERFLOW."""


@dataclass(frozen=True, slots=True, eq=False)
class JaxProduct:
    """A domain, a machine, and a view of the machine.

    >>> from pdrm.product.jax_env.jax_domain import finite_domain
    >>> from pdrm.product.views import TopK
    >>> from pdrm.task import Task
    >>> task = Task("letter")
    >>> letter = jax_product(finite_domain(task.finite), task.pushdown, TopK(1))
    >>> state, outcome = letter.step(letter.begin(jnp.uint32(0)).state, 2)
    >>> letter.observe(state).shape, round(float(outcome.reward), 2)
    ((48,), -0.01)
    """

    domain: JaxDomain
    machine: JaxMachine
    readable: PushdownRewardMachine
    """The machine that was compiled."""
    k: int = 1
    """Stack symbols that are seen."""
    visible: Any = 1.0
    """1, or 0 if nothing of the machine is seen (its part of the observation is zeros then). May be traced."""
    potential: JaxPotential | None = None
    """The potential that learners shape rewards with; those of a step are never shaped."""

    @property
    def observation_size(self) -> int:
        """Numbers in an observation."""
        return self.domain.observation_size + self.machine.states + self.machine.symbols * self.k

    def begin(self, key: Key) -> Begun:
        """A new episode."""
        environment, label = self.domain.start(key_of(key, 0))
        begun = self.machine.begin()
        if self.machine.table.move.shape[1]:
            read = self.machine.step(begun.configuration, jnp.maximum(label, 0))
            read = read._replace(reward=begun.reward + read.reward)
            begun = MachineStep(
                *jax.tree.map(lambda new, old: jnp.where(label >= 0, new, old), read, begun)
            )
        status = jnp.where(self.machine.final(begun.configuration), FINISHED, begun.status)
        return Begun(
            ProductState(environment, begun.configuration, jnp.int32(0), key), begun.reward, status
        )

    def step(self, state: ProductState, action: jax.Array) -> tuple[ProductState, ProductStep]:
        """One action."""
        moved = self.domain.step(state.environment, action, key_of(state.key, state.clock + 1))
        configuration, paid, status = self.machine.step(state.configuration, moved.label)
        clock = state.clock + 1
        terminated = moved.terminated | self.machine.final(configuration) | (status == UNDEFINED)
        truncated = ((clock >= self.domain.step_limit) | (status == OVERFLOW)) & ~terminated
        after = ProductState(moved.state, configuration, clock, state.key)
        reward = moved.reward + paid
        return after, ProductStep(
            reward, terminated, truncated, moved.label, moved.reward, moved.terminated, status
        )

    def renew(self, state: ProductState, over: jax.Array) -> Begun:
        """The state, or a new episode if that one is over."""
        fresh = self.begin(key_of(state.key, 0x7FFFFFFF))
        going = Begun(state, jnp.zeros_like(fresh.paid), jnp.full_like(fresh.status, OK))
        after: Begun = jax.tree.map(lambda new, old: jnp.where(over, new, old), fresh, going)
        return after

    def observe(self, state: ProductState) -> jax.Array:
        """The observation of the policy."""
        return self.seen(self.domain.observe(state.environment), state.configuration)

    def seen(self, observation: jax.Array, configuration: Packed) -> jax.Array:
        """The observation of a domain together with that of a configuration."""
        symbols = jax.nn.one_hot(
            self.machine.top(configuration, self.k), self.machine.symbols
        ).reshape(-1)
        known = jnp.concatenate((jax.nn.one_hot(configuration.state, self.machine.states), symbols))
        return jnp.concatenate((observation, known * self.visible))


def jax_product(
    domain: JaxDomain, machine: PushdownRewardMachine, view: View | None, *, depth: int = 32
) -> JaxProduct:
    """The product; a view of None sees nothing of the machine, which still pays."""
    k = 0 if view is None else depth if isinstance(view, FullStack) else view.k
    compiled = JaxMachine(tabulate(machine, domain.labels), depth)
    return JaxProduct(domain, compiled, machine, k, float(view is not None))
