"""The potential of a machine (`pdrm.product.summaries.potentials`) in JAX: Φ of a packed configuration, and what it adds to a reward.

Packed stacks have no node to keep values on: the operators are applied symbol by symbol, from the bottom of the stack to its top.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.machines.tables import Integers, Rewards, Table
from pdrm.product.jax_env.jax_machine import JaxMachine, Packed
from pdrm.product.summaries.potentials import Shaping, solve_operators


@dataclass(frozen=True, slots=True, eq=False)
class JaxPotential:
    """Φ of a machine's configurations, 32-bit.

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
    constant: Rewards
    """[symbol, state]"""
    gain: Rewards
    """[symbol, state, line]: -inf where there are fewer lines."""
    weight: Rewards
    """[symbol, state, line]"""
    exit_state: Integers
    """[symbol, state, line]"""

    def of(self, configuration: Packed) -> jax.Array:
        """Φ before the end of an episode."""
        machine, height = self.machine, configuration.height
        constant, gain, weight = (
            jnp.asarray(part, jnp.float32) for part in (self.constant, self.gain, self.weight)
        )
        exit_state, mask = jnp.asarray(self.exit_state), jnp.uint32((1 << machine.bits) - 1)

        def push(place: jax.Array, below: jax.Array) -> jax.Array:
            """[state]: the values with one more symbol on the stack; the topmost is at place 0."""
            word, shift = jnp.divmod(height - 1 - place, machine.symbols_per_word)
            symbol = configuration.words[word] >> (machine.bits * shift).astype(jnp.uint32) & mask
            lines = gain[symbol] + weight[symbol] * below[exit_state[symbol]]
            return jnp.maximum(constant[symbol], lines.max(axis=-1))

        values: jax.Array = jax.lax.fori_loop(0, height, push, constant[0])
        discount = self.shaping.value_discount
        factor = self.shaping.scale / discount if discount > 0 else 0.0
        phi: jax.Array = jnp.float32(factor) * values[configuration.state] + jnp.float32(
            self.shaping.shift
        )
        return phi

    def reward(
        self, before: Packed, after: Packed, terminated: jax.Array, discount: jax.Array | float
    ) -> jax.Array:
        """What is paid more: γΦ(after) - Φ(before), with Φ = 0 at the end of an episode; a cut-off is no end. discount: γ, or γ to the
        number of steps between the two."""
        return discount * jnp.where(terminated, 0.0, self.of(after)) - self.of(before)


def jax_potential(
    machine: JaxMachine,
    shaping: Shaping,
    table: Table,
    reward_scale: float = 1.0,
    reward_clip: float | None = None,
) -> JaxPotential:
    """The potential of a machine that is compiled, in `table`, for the labels that may be chosen; its rewards scaled and clipped as the networks see them."""
    reward = table.reward * reward_scale
    reward = reward if reward_clip is None else np.clip(reward, -reward_clip, reward_clip)
    operators = solve_operators(table._replace(reward=reward), float(shaping.value_discount))
    symbols, states = operators.constant.shape
    found = [[list(operators.lines(z, u)) for u in range(states)] for z in range(symbols)]
    most = max(1, *(len(lines) for row in found for lines in row))
    gain = np.full((symbols, states, most), -np.inf)
    weight, exit_state = np.zeros_like(gain), np.zeros(gain.shape, np.int32)
    for z, row in enumerate(found):
        for u, lines in enumerate(row):
            for number, (reached, paid, left) in enumerate(lines):
                exit_state[z, u, number], gain[z, u, number], weight[z, u, number] = (
                    reached,
                    paid,
                    left,
                )
    return JaxPotential(machine, shaping, operators.constant, gain, weight, exit_state)
