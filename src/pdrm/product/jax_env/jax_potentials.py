"""The potential of a machine (`pdrm.product.shaping`) in JAX: Φ of a packed configuration.

Packed stacks have no node to keep values on: the operators are applied symbol by symbol, from the bottom of the stack to its top.
Imported only when rewards are shaped, because the operators are solved with Numba.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.machines.tables import Table
from pdrm.product.jax_env.jax_machine import JaxMachine, Packed
from pdrm.product.shaping import MachineOperators, Shaping, solve_machine


@dataclass(frozen=True, slots=True, eq=False)
class JaxPotential:
    """Φ of a machine's configurations (`pdrm.product.shaping`), 32-bit.

    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.machines.tables import tabulate
    >>> letter = catalogue("letter")
    >>> labels = [frozenset(events) for events in ("", "A", "B", "C")]
    >>> machine = JaxMachine(tabulate(letter, labels), depth=8)
    >>> potential = jax_potential(machine, Shaping(discount=0.9), machine.table)
    >>> u1 = 1
    >>> round(float(potential.of(machine.pack(u1, (2, 1)))), 3)
    0.89
    """

    machine: JaxMachine
    shaping: Shaping
    operators: MachineOperators

    def of(self, configuration: Packed) -> jax.Array:
        """Φ before the end of an episode."""
        machine, height = self.machine, configuration.height
        constant, exit_state, gain, weight = map(jnp.asarray, self.operators)

        def push(place: jax.Array, below: jax.Array) -> jax.Array:
            """[state]: the values with one more symbol on the stack; the topmost is at place 0."""
            word, shift = jnp.divmod(height - 1 - place, machine.symbols_per_word)
            symbol = machine.lowest(configuration.words[word] >> jnp.uint32(machine.bits * shift))
            lines = gain[symbol] + weight[symbol] * below[exit_state[symbol]]
            return jnp.maximum(constant[symbol], lines.max(axis=-1))

        values: jax.Array = jax.lax.fori_loop(0, height, push, constant[0])
        discount = self.shaping.value_discount
        factor = self.shaping.scale / discount if discount > 0 else 0.0
        shift = jnp.float32(self.shaping.shift)
        phi: jax.Array = jnp.float32(factor) * values[configuration.state] + shift
        return phi

    def reward(
        self, before: Packed, after: Packed, terminated: jax.Array, discount: jax.Array | float
    ) -> jax.Array:
        """The shaping reward, γΦ(after) - Φ(before), with Φ = 0 at the end of an episode (truncation is none).

        discount: γ, or γ to the number of steps between the two.
        """
        return discount * jnp.where(terminated, 0.0, self.of(after)) - self.of(before)


def jax_potential(
    machine: JaxMachine,
    shaping: Shaping,
    table: Table,
    reward_scale: float = 1.0,
    reward_clip: float | None = None,
) -> JaxPotential:
    """The potential for the labels of `table`, those that may be chosen; rewards are scaled and clipped as for the networks."""
    reward = table.reward * reward_scale
    reward = reward if reward_clip is None else np.clip(reward, -reward_clip, reward_clip)
    operators = solve_machine(table._replace(reward=reward), float(shaping.value_discount))
    return JaxPotential(machine, shaping, operators)
