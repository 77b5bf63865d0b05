"""A long short-term memory (Hochreiter and Schmidhuber 1997): one step, and whole sequences with a backward pass of our own.

Differentiating a scan adds up the weights' gradient at every step; `along` goes back through the memories alone and
makes that gradient of all steps at once, in one product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    import numpy as np


class Lstm(NamedTuple):
    """The parameters; the gates in, forget, cell and out stand side by side."""

    inputs: jax.Array
    """[..., inputs, 4 · units]"""
    hidden: jax.Array
    """[..., units, 4 · units]"""
    bias: jax.Array
    """[..., 4 · units]"""


class Memory(NamedTuple):
    """What an LSTM remembers."""

    hidden: jax.Array
    """[..., units]"""
    cell: jax.Array
    """[..., units]"""


def lstm(rng: np.random.Generator, inputs: int, units: int) -> Lstm:
    """An LSTM as torch makes it: uniform in ±1/√units."""
    bound = units**-0.5
    shapes = ((inputs, 4 * units), (units, 4 * units), (4 * units,))
    return Lstm(*(jnp.asarray(rng.uniform(-bound, bound, shape), jnp.float32) for shape in shapes))


def gates(network: Lstm, x: jax.Array) -> jax.Array:
    """The inputs' share of the gates, [..., batch, 4 · units]: for a whole sequence at once."""
    return x @ network.inputs + network.bias[..., None, :]


def remembered(network: Lstm, memory: Memory, share: jax.Array, kept: jax.Array) -> Memory:
    """One step of memory, given the inputs' share of the gates; kept: [batch], 0 where nothing is remembered from before."""
    return _step(network.hidden, memory, share, kept)[0]


class _Trace(NamedTuple):
    """What the way back needs of a step."""

    before: Memory
    """Already forgotten where it is to be."""
    opened: jax.Array
    """The gates after their activation, [..., batch, 4 · units]."""
    cell: jax.Array
    """tanh of the new cell."""
    kept: jax.Array


def _step(weight: jax.Array, memory: Memory, share: jax.Array, kept: jax.Array) -> tuple[Memory, _Trace]:
    before = Memory(memory.hidden * kept[:, None], memory.cell * kept[:, None])
    enter, forget, new, out = jnp.split(share + before.hidden @ weight, 4, axis=-1)
    enter, forget, new, out = jax.nn.sigmoid(enter), jax.nn.sigmoid(forget), jnp.tanh(new), jax.nn.sigmoid(out)
    cell = forget * before.cell + enter * new
    bent = jnp.tanh(cell)
    return Memory(out * bent, cell), _Trace(before, jnp.concatenate((enter, forget, new, out), axis=-1), bent, kept)


@jax.custom_vjp
def along(weight: jax.Array, first: Memory, share: jax.Array, kept: jax.Array) -> jax.Array:
    """The hidden memories of whole sequences, [length, ..., batch, units].

    weight: `Lstm.hidden`; first: before the first step; share: [length, ..., batch, 4 · units]; kept: [length, batch].
    """
    return _there(weight, first, share, kept)[0]


def _there(weight: jax.Array, first: Memory, share: jax.Array, kept: jax.Array) -> tuple[jax.Array, Any]:
    def one(memory: Memory, now: tuple[jax.Array, jax.Array]) -> tuple[Memory, tuple[jax.Array, _Trace]]:
        memory, trace = _step(weight, memory, *now)
        return memory, (memory.hidden, trace)

    hidden, traces = jax.lax.scan(one, first, (share, kept), unroll=len(share))[1]
    return hidden, (weight, traces)


def _back(saved: tuple[jax.Array, _Trace], slopes: jax.Array) -> tuple[jax.Array, Memory, jax.Array, jax.Array]:
    """The gradients, given those of the hidden memories; `kept` has none."""
    weight, traces = saved
    turned = jnp.swapaxes(weight, -1, -2)

    def one(slope: Memory, now: tuple[jax.Array, _Trace]) -> tuple[Memory, jax.Array]:
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
    first, shares = jax.lax.scan(one, Memory(nothing, nothing), (slopes, traces), reverse=True, unroll=len(slopes))
    of_weight = jnp.einsum("t...nu,t...ng->...ug", traces.before.hidden, shares)
    return of_weight, first, shares, jnp.zeros_like(traces.kept)


along.defvjp(_there, _back)
