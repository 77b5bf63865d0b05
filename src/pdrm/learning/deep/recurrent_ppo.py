"""Recurrent PPO: an LSTM each for actor and critic, trained on sequences of fixed length (truncated back-propagation).

As in sb3-contrib, memories are zero at the start of an episode, and a sequence begins with the memory that it had when it
was collected. There, a sequence is as long as a batch; here `sequence_length`, and a batch holds many of them side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.agents import RecurrentPPO
from pdrm.learning.deep import networks as nn
from pdrm.learning.deep.ppo import PPOAlgorithm, Sequences

if TYPE_CHECKING:
    import numpy as np

# --- A long short-term memory (Hochreiter and Schmidhuber 1997): one step, and whole sequences with a backward pass of our own.
#
# Differentiating a scan adds up the weights' gradient at every step; `unroll` goes back through the memories alone and makes
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


def new_lstm(rng: np.random.Generator, inputs: int, units: int) -> Lstm:
    """An LSTM as torch makes it: uniform in ±1/√units."""
    shapes = ((inputs, 4 * units), (units, 4 * units), (4 * units,))
    return Lstm(*(nn.draw_uniform(rng, units**-0.5, shape) for shape in shapes))


def gate_inputs(network: Lstm, x: jax.Array) -> jax.Array:
    """The inputs' share of the gates, [..., B, 4 · units]: for a whole sequence at once."""
    return x @ network.inputs + network.bias[..., None, :]


class _Trace(NamedTuple):
    """The values of a step that the backward pass needs."""

    before: Memory  # zero where an episode starts
    opened: jax.Array  # the gates after their activation, [..., B, 4 · units]
    cell: jax.Array  # tanh of the new cell
    kept: jax.Array


def step_memory(
    weight: jax.Array, memory: Memory, share: jax.Array, kept: jax.Array
) -> tuple[Memory, _Trace]:
    """One step, given the inputs' share of the gates, and the values that the backward pass needs.

    weight: `Lstm.hidden`; kept: [B], 0 where an episode starts.
    """
    before = Memory(memory.hidden * kept[:, None], memory.cell * kept[:, None])
    enter, forget, new, out = jnp.split(share + before.hidden @ weight, 4, axis=-1)
    enter, forget, new, out = (
        jax.nn.sigmoid(enter),
        jax.nn.sigmoid(forget),
        jnp.tanh(new),
        jax.nn.sigmoid(out),
    )
    cell = forget * before.cell + enter * new
    bent = jnp.tanh(cell)
    return Memory(out * bent, cell), _Trace(
        before, jnp.concatenate((enter, forget, new, out), axis=-1), bent, kept
    )


@jax.custom_vjp
def unroll(weight: jax.Array, first: Memory, share: jax.Array, kept: jax.Array) -> jax.Array:
    """The hidden memories of whole sequences, [T, ..., B, units].

    weight: `Lstm.hidden`; first: before the first step; share: [T, ..., B, 4 · units]; kept: [T, B].
    """
    return _forward(weight, first, share, kept)[0]


def _forward(
    weight: jax.Array, first: Memory, share: jax.Array, kept: jax.Array
) -> tuple[jax.Array, Any]:
    def step(
        memory: Memory, now: tuple[jax.Array, jax.Array]
    ) -> tuple[Memory, tuple[jax.Array, _Trace]]:
        memory, trace = step_memory(weight, memory, *now)
        return memory, (memory.hidden, trace)

    hidden, traces = jax.lax.scan(step, first, (share, kept), unroll=len(share))[1]
    return hidden, (weight, traces)


def _backward(
    saved: tuple[jax.Array, _Trace], slopes: jax.Array
) -> tuple[jax.Array, Memory, jax.Array, jax.Array]:
    """The gradients, given those of the hidden memories; `kept` has none."""
    weight, traces = saved
    turned = jnp.swapaxes(weight, -1, -2)

    def step(slope: Memory, now: tuple[jax.Array, _Trace]) -> tuple[Memory, jax.Array]:
        hidden, trace = slope.hidden + now[0], now[1]
        enter, forget, new, out = jnp.split(trace.opened, 4, axis=-1)
        cell = slope.cell + hidden * out * (1 - trace.cell * trace.cell)
        parts = (
            cell * new * enter * (1 - enter),
            cell * trace.before.cell * forget * (1 - forget),
            cell * enter * (1 - new * new),
            hidden * trace.cell * out * (1 - out),
        )
        share, kept = jnp.concatenate(parts, axis=-1), trace.kept[:, None]
        return Memory((share @ turned) * kept, cell * forget * kept), share

    nothing = jnp.zeros_like(slopes[0])
    first, shares = jax.lax.scan(
        step, Memory(nothing, nothing), (slopes, traces), reverse=True, unroll=len(slopes)
    )
    of_weight = jnp.einsum("t...nu,t...ng->...ug", traces.before.hidden, shares)
    return of_weight, first, shares, jnp.zeros_like(traces.kept)


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

    def new_network(self, rng: np.random.Generator) -> Recurrent:
        """The first parameters."""
        inputs, units = self.product.observation_size, self.settings.lstm_hidden_size
        lstm = nn.stack_trees([new_lstm(rng, inputs, units) for _ in (nn.ACTOR, nn.CRITIC)])
        head = nn.new_actor_critic(rng, units, self.settings.net_arch, self.product.domain)
        return Recurrent(lstm, head)

    def empty_memory(self, count: int) -> Memory:
        """The memory at the start, [2, count, units]."""
        zeros = jnp.zeros((2, count, self.settings.lstm_hidden_size))
        return Memory(zeros, zeros)

    def head(self, network: Recurrent) -> nn.ActorCritic:
        """The actor and the critic."""
        return network.head

    def judge(
        self, network: Recurrent, memory: Memory, seen: jax.Array, start: jax.Array
    ) -> tuple[Memory, nn.Judged]:
        """The memories after one step of [N, inputs], and the networks' outputs."""
        share, kept = gate_inputs(network.lstm, seen), jnp.where(start, 0.0, 1.0)
        memory, _ = step_memory(network.lstm.hidden, memory, share, kept)
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
