"""The product of a JAX domain and a machine (Definition 2): begin, step, observe; one environment, to be mapped over many.

Observations are those of `pdrm.wrap(..., flatten=True)`: the domain's vector, the machine state one-hot, each seen symbol
one-hot. An episode ends at a final state (`terminated`), at the step limit or where the stack overflows (`truncated`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.table import tabulate
from pdrm.product.depth import pops_in_a_step
from pdrm.product.jax_env.domain import JaxDomain, State
from pdrm.product.jax_env.draws import Key, key_of
from pdrm.product.jax_env.machine import OVERFLOW, UNDEFINED, JaxMachine, Packed
from pdrm.product.view import FullStack, View


class ProductState(NamedTuple):
    """Where one episode stands."""

    environment: State
    configuration: Packed
    clock: jax.Array
    """int32: steps taken."""
    key: Key
    """All that is random in the episode comes from it."""


class Outcome(NamedTuple):
    """What a step comes to."""

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
    """A domain, a machine, and what of the machine is seen."""

    domain: JaxDomain
    machine: JaxMachine
    k: int = 1
    """Stack symbols that are seen."""
    visible: Any = 1.0
    """1, or 0 where nothing of the machine is seen (its part of the observation is zeros then). May be traced."""
    pops: int | None = None
    """The most symbols that one step pops; None: no bound."""

    @property
    def observation_size(self) -> int:
        """Numbers in an observation."""
        return self.domain.observation_size + self.machine.states + self.machine.symbols * self.k

    def begin(self, key: Key) -> ProductState:
        """A new episode."""
        environment, label = self.domain.start(key_of(key, 0))
        configuration = self.machine.begin()
        if self.machine.table.move.shape[1]:
            read = self.machine.step(configuration, jnp.maximum(label, 0)).configuration
            configuration = jax.tree.map(lambda new, old: jnp.where(label >= 0, new, old), read, configuration)
        return ProductState(environment, configuration, jnp.int32(0), key)

    def step(self, state: ProductState, action: jax.Array) -> tuple[ProductState, Outcome]:
        """One action."""
        moved = self.domain.step(state.environment, action, key_of(state.key, state.clock + 1))
        configuration, paid, status = self.machine.step(state.configuration, moved.label)
        clock = state.clock + 1
        terminated = moved.terminated | self.machine.final(configuration) | (status == UNDEFINED)
        truncated = ((clock >= self.domain.step_limit) | (status == OVERFLOW)) & ~terminated
        after = ProductState(moved.state, configuration, clock, state.key)
        reward = moved.reward + paid
        return after, Outcome(reward, terminated, truncated, moved.label, moved.reward, moved.terminated, status)

    def renewed(self, state: ProductState, over: jax.Array) -> ProductState:
        """The state, or a new episode where that one is over."""
        fresh = self.begin(key_of(state.key, 0x7FFFFFFF))
        after: ProductState = jax.tree.map(lambda new, old: jnp.where(over, new, old), fresh, state)
        return after

    def observe(self, state: ProductState) -> jax.Array:
        """What the policy sees."""
        return self.seen(self.domain.observe(state.environment), state.configuration)

    def seen(self, observation: jax.Array, configuration: Packed) -> jax.Array:
        """The observation of a domain together with what is seen of a configuration."""
        symbols = jax.nn.one_hot(self.machine.top(configuration, self.k), self.machine.symbols).reshape(-1)
        known = jnp.concatenate((jax.nn.one_hot(configuration.state, self.machine.states), symbols))
        return jnp.concatenate((observation, known * self.visible))


def jax_product(domain: JaxDomain, machine: PushdownRewardMachine, view: View | None, *, depth: int = 32) -> JaxProduct:
    """The product; view None sees nothing of the machine (it still pays).

    >>> from pdrm.domains.catalogue import domain
    >>> from pdrm.machines.catalogue import catalogue
    >>> from pdrm.product.jax_env.domain import finite_domain
    >>> from pdrm.product.view import TopK
    >>> letter = jax_product(finite_domain(domain("letter")), catalogue("letter"), TopK(1))
    >>> state, outcome = letter.step(letter.begin(jnp.uint32(0)), 2)
    >>> letter.observe(state).shape, round(float(outcome.reward), 2)
    ((48,), -0.01)
    """
    compiled, pops = JaxMachine(tabulate(machine, domain.labels), depth), pops_in_a_step(machine)
    if view is None:
        return JaxProduct(domain, compiled, 0, 0.0, pops)
    return JaxProduct(domain, compiled, depth if isinstance(view, FullStack) else view.k, 1.0, pops)
