"""Recurrent PPO: an LSTM each for actor and critic, trained on sequences of fixed length (truncated back-propagation).

As in sb3-contrib, memories are zero at the start of an episode, and a sequence begins with the memory that it had when it
was collected. There, a sequence is as long as a batch; here `sequence_length`, and a batch holds many of them side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.agents import RecurrentPPO
from pdrm.learning.deep import networks as nn
from pdrm.learning.deep.ppo import PPOAlgorithm, Sequences

# --- A long short-term memory (Hochreiter and Schmidhuber 1997): one step, and whole sequences with a backward pass of our own.
#
# Differentiating a scan adds up the weights' gradient at every step; `unroll` goes back through the gates alone and makes
# that gradient of all steps at once, in one product.


class Lstm(NamedTuple):
    """The parameters; the gates in, forget, cell and out stand side by side."""

    inputs: jax.Array  # [..., inputs, 4 · units]
    hidden: jax.Array  # [..., units, 4 · units]
    bias: jax.Array  # [..., 4 · units]


class Memory(NamedTuple):
    """The memory of an LSTM."""

    hidden: jax.Array  # [..., units]
    cell: jax.Array  # [..., units]


def new_lstm(rng: nn.Rng, inputs: int, units: int) -> Lstm:
    """An LSTM as torch makes it."""
    gates = 4 * units
    return Lstm(*nn.draw_uniform(rng, units, (inputs, gates), (units, gates), (gates,)))


def gate_inputs(network: Lstm, x: jax.Array) -> jax.Array:
    """The inputs' share of the gates, [..., B, 4 · units]: for a whole sequence at once."""
    return x @ network.inputs + network.bias[..., None, :]


def open_gates(cell: jax.Array, gates: jax.Array) -> Memory:
    """The memory after a step, given the cell before it and the gates before their activation, [..., B, 4 · units]."""
    enter, forget, new, out = jnp.split(gates, 4, axis=-1)
    cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(new)
    return Memory(jax.nn.sigmoid(out) * jnp.tanh(cell), cell)


def keep(memory: Memory, kept: jax.Array) -> Memory:
    """The memory, emptied where an episode starts. kept: [B], 0 there and else 1."""
    return Memory(memory.hidden * kept[:, None], memory.cell * kept[:, None])


@jax.custom_vjp
def unroll(weight: jax.Array, first: Memory, share: jax.Array, kept: jax.Array) -> jax.Array:
    """The hidden memories of whole sequences, [T, ..., B, units].

    weight: `Lstm.hidden`; first: before the first step; share: [T, ..., B, 4 · units]; kept: [T, B].
    """
    return _forward(weight, first, share, kept)[0]


def _forward(
    weight: jax.Array, first: Memory, share: jax.Array, kept: jax.Array
) -> tuple[jax.Array, Any]:
    def step(memory: Memory, now: tuple[jax.Array, jax.Array]) -> tuple[Memory, Any]:
        before = keep(memory, now[1])
        after, back = jax.vjp(open_gates, before.cell, now[0] + before.hidden @ weight)
        return after, (after.hidden, before.hidden, back)

    hidden, before, backs = jax.lax.scan(step, first, (share, kept), unroll=len(share))[1]
    return hidden, (weight, kept, before, backs)


def _backward(saved: Any, slopes: jax.Array) -> tuple[jax.Array, Memory, jax.Array, jax.Array]:
    """The gradients, given those of the hidden memories; `kept` has none."""
    weight, kept, before, backs = saved
    turned = jnp.swapaxes(weight, -1, -2)

    def step(slope: Memory, now: Any) -> tuple[Memory, jax.Array]:
        hidden, kept, back = now
        cell, gates = back(Memory(slope.hidden + hidden, slope.cell))
        return keep(Memory(gates @ turned, cell), kept), gates

    nothing = jnp.zeros_like(slopes[0])
    first, shares = jax.lax.scan(
        step, Memory(nothing, nothing), (slopes, kept, backs), reverse=True, unroll=len(slopes)
    )
    of_weight = jnp.einsum("t...nu,t...ng->...ug", before, shares)
    return of_weight, first, shares, jnp.zeros_like(kept)


unroll.defvjp(_forward, _backward)


# --- The networks: two LSTMs, and an actor and a critic that read them.


class Recurrent(NamedTuple):
    """The parameters."""

    lstm: Lstm  # [2, ...]: the actor's and the critic's
    head: nn.ActorCritic


@dataclass(frozen=True, eq=False)
class RecurrentAlgorithm(PPOAlgorithm):
    """PPO of networks with a memory."""

    settings: RecurrentPPO

    @property
    def length(self) -> int:
        """Steps of a sequence."""
        return self.settings.sequence_length

    def new_network(self, rng: nn.Rng) -> Recurrent:
        """The first parameters."""
        inputs, units = self.product.observation_size, self.settings.lstm_hidden_size
        lstm = nn.stack_trees([new_lstm(rng, inputs, units) for _ in (nn.ACTOR, nn.CRITIC)])
        head = nn.new_actor_critic(rng, units, self.settings.net_arch, self.product.domain)
        return Recurrent(lstm, head)

    def empty_memory(self, count: int) -> Memory:
        """The memory at the start, [2, count, units]."""
        zeros = jnp.zeros((2, count, self.settings.lstm_hidden_size))
        return Memory(zeros, zeros)

    def judge(
        self, network: Recurrent, memory: Memory, seen: jax.Array, start: jax.Array
    ) -> tuple[Memory, nn.Judged]:
        """The memories after one step of [N, inputs], and the networks' outputs."""
        before = keep(memory, jnp.where(start, 0.0, 1.0))
        gates = gate_inputs(network.lstm, seen) + before.hidden @ network.lstm.hidden
        memory = open_gates(before.cell, gates)
        return memory, nn.judge(network.head, memory.hidden)

    def judge_sequences(self, network: Recurrent, sequences: Sequences) -> nn.Judged:
        """The networks' outputs for whole sequences, [S * T] rows.

        The inputs' share of the gates and the layers that read the memories are one product for the whole batch; only the
        memories themselves go step by step.
        """
        count, length = sequences.start.shape
        seen = sequences.rows.observation.reshape(count * length, -1)
        share = jnp.moveaxis(gate_inputs(network.lstm, seen).reshape(2, count, length, -1), 2, 0)
        first = Memory(*(jnp.moveaxis(column, 0, 1) for column in sequences.memory))
        hidden = unroll(network.lstm.hidden, first, share, jnp.where(sequences.start.T, 0.0, 1.0))
        return nn.judge(network.head, jnp.moveaxis(hidden, 0, 2).reshape(2, count * length, -1))
