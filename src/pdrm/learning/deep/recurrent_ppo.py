"""Recurrent PPO: an LSTM each for actor and critic, trained on sequences of fixed length (truncated back-propagation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.agents import RecurrentPPO
from pdrm.learning.deep import networks as ac
from pdrm.learning.deep.many_envs import Envs, Tally, action_keys, begin_envs, observed, scaled, step_envs, summed
from pdrm.learning.deep.networks import ADAM, side_by_side
from pdrm.learning.deep.ppo import (
    Batch,
    Losses,
    Metrics,
    advantages,
    learning_rate,
    ppo_loss,
    shuffled_rows,
    stepped_down,
    steps_per_iteration,
)
from pdrm.product.jax_env.jax_domain import Key, key_of
from pdrm.product.jax_env.jax_product import JaxProduct

if TYPE_CHECKING:
    import numpy as np

# --- A long short-term memory (Hochreiter and Schmidhuber 1997): one step, and whole sequences with a backward pass of our own.
#
# Differentiating a scan adds up the weights' gradient at every step; `along` goes back through the memories alone and
# makes that gradient of all steps at once, in one product.


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


# --- Recurrent PPO: an LSTM each for actor and critic, trained on sequences of fixed length (truncated back-propagation).
#
# As in sb3-contrib, memories are zero at the start of an episode, and a sequence begins with the memory that it had when it
# was collected. There, a sequence is as long as a batch; here `sequence_length`, and a batch holds many of them side by side.


class Recurrent(NamedTuple):
    """The parameters: two memories, and the layers that read them."""

    lstm: Lstm
    """[2, ...]: the actor's and the critic's."""
    head: ac.ActorCritic


class RecurrentState(NamedTuple):
    """Where a run stands."""

    network: Recurrent
    optimiser: Any
    envs: Envs
    memory: Memory
    """[2, n_envs, units]"""
    start: jax.Array
    """[n_envs]: whether the next step is the first of an episode."""
    key: Key
    timesteps: jax.Array


class Sequences(NamedTuple):
    """Rows [sequences, length, ...], with the memory before the first and where episodes start."""

    rows: Batch
    memory: Memory
    """[sequences, 2, units]"""
    start: jax.Array


def network(product: JaxProduct, settings: RecurrentPPO, rng: np.random.Generator) -> Recurrent:
    """The first parameters."""
    units = settings.lstm_hidden_size
    lstm = side_by_side([lstm(rng, product.observation_size, units) for _ in (ac.ACTOR, ac.CRITIC)])
    return Recurrent(lstm, ac.new_actor_critic(rng, units, settings.net_arch, product.domain))


def begin(product: JaxProduct, settings: RecurrentPPO, network: Recurrent, key: Key) -> RecurrentState:
    """Before the first step."""
    envs = begin_envs(product, settings, key_of(key, 1))
    start = jnp.ones(settings.n_envs, jnp.bool_)
    memory = no_memory(settings, settings.n_envs)
    return RecurrentState(network, ADAM.init(network), envs, memory, start, key_of(key, 2), jnp.int32(0))


def no_memory(settings: RecurrentPPO, count: int) -> Memory:
    """What is remembered at the start, [2, count, units]."""
    zeros = jnp.zeros((2, count, settings.lstm_hidden_size))
    return Memory(zeros, zeros)


def recalled(network: Recurrent, memory: Memory, seen: jax.Array, start: jax.Array) -> tuple[Memory, ac.Judged]:
    """One step: the memories after it and what the networks say; seen: [n, inputs]."""
    memory = remembered(network.lstm, memory, gates(network.lstm, seen), _kept(start))
    return memory, ac.judge(network.head, memory.hidden)


def _kept(start: jax.Array) -> jax.Array:
    return jnp.where(start, 0.0, 1.0)


def iterate(product: JaxProduct, settings: RecurrentPPO, state: RecurrentState) -> tuple[RecurrentState, Metrics]:
    """Collect and learn once."""
    state, sequences, tally = _collected(product, settings, state)
    state = state._replace(timesteps=state.timesteps + steps_per_iteration(settings))
    state, losses = _learnt(product, settings, state, sequences)
    return state._replace(key=key_of(state.key, 0)), Metrics(tally, losses)


class _Going(NamedTuple):
    """What a step hands to the next: what was seen, the memories before and after seeing it, and what was said of it."""

    envs: Envs
    seen: jax.Array
    start: jax.Array
    before: Memory
    after: Memory
    judged: ac.Judged


def _collected(
    product: JaxProduct, settings: RecurrentPPO, state: RecurrentState
) -> tuple[RecurrentState, Sequences, Tally]:
    """`n_steps` of every environment, in sequences."""

    def sequence(going: _Going, _: None) -> tuple[_Going, Any]:
        after, rows = jax.lax.scan(
            lambda now, _: _collect_one(product, settings, state.network, now),
            going,
            None,
            length=settings.sequence_length,
        )
        return after, (rows, going.before)

    seen = observed(product, state.envs)
    memory, judged = recalled(state.network, state.memory, seen, state.start)
    first = _Going(state.envs, seen, state.start, state.memory, memory, judged)
    count = settings.n_steps // settings.sequence_length
    going, (rows, memories) = jax.lax.scan(sequence, first, None, length=count)
    seen, action, log_probability, value, reward, over, starts, tally = rows

    def timed(part: jax.Array) -> jax.Array:
        return part.reshape(-1, *part.shape[2:])  # [count, length, n, ...] -> [steps, n, ...]

    last = going.judged.value
    gain = advantages(timed(reward), timed(value), timed(over), last, settings.gamma, settings.gae_lambda)
    gain = gain.reshape(value.shape)
    batch = Batch(seen, action, log_probability, value, gain, gain + value)
    remembered = Memory(*(jnp.moveaxis(part, 1, 2).reshape(-1, 2, part.shape[-1]) for part in memories))
    sequences = Sequences(jax.tree.map(_by_sequence, batch), remembered, _by_sequence(starts))
    after = state._replace(envs=going.envs, memory=going.before, start=going.start)
    return after, sequences, summed(summed(tally))


def _collect_one(
    product: JaxProduct, settings: RecurrentPPO, network: Recurrent, now: _Going
) -> tuple[_Going, tuple[Any, ...]]:
    """One step of every environment."""
    discrete, count = product.domain.actions > 0, settings.n_envs
    action = ac.sampled(network.head, now.judged, action_keys(now.envs), discrete=discrete)
    stepped = step_envs(product, now.envs, action)
    # The first half of the rows goes on, the second half is what a truncated episode ended with: one pass for both.
    seen = jnp.concatenate((observed(product, stepped.envs), jax.vmap(product.observe)(stepped.last)))
    start = jnp.concatenate((stepped.over, jnp.zeros_like(stepped.over)))
    twice = Memory(*(jnp.concatenate((part, part), axis=1) for part in now.after))
    memory, both = recalled(network, twice, seen, start)
    bootstrapped = settings.gamma * jnp.where(stepped.outcome.truncated, both.value[count:], 0)
    reward = scaled(settings, stepped.outcome.reward) + bootstrapped
    log_probability = ac.log_probability(network.head, now.judged, action, discrete=discrete)
    row = (now.seen, action, log_probability, now.judged.value, reward, stepped.over, now.start, stepped.tally)
    judged: ac.Judged = jax.tree.map(lambda part: part[:count], both)
    kept = Memory(*(part[:, :count] for part in memory))
    return _Going(stepped.envs, seen[:count], stepped.over, now.after, kept, judged), row


def _by_sequence(part: jax.Array) -> jax.Array:
    """[count, length, n, ...] -> [count * n, length, ...]."""
    moved = jnp.moveaxis(part, 2, 1)
    return moved.reshape(-1, *moved.shape[2:])


def _learnt(
    product: JaxProduct, settings: RecurrentPPO, state: RecurrentState, sequences: Sequences
) -> tuple[RecurrentState, Losses]:
    """The networks after `n_epochs` over the sequences."""
    discrete, rate = product.domain.actions > 0, learning_rate(settings, state.timesteps)

    def update(carry: tuple[Any, Any, jax.Array], rows: tuple[jax.Array, jax.Array]) -> tuple[Any, Losses]:
        part: Sequences = jax.tree.map(lambda column: column[rows[0]], sequences)
        flat: Batch = jax.tree.map(lambda column: column.reshape(-1, *column.shape[2:]), part.rows)
        weight = jnp.repeat(rows[1], settings.sequence_length)

        def loss(network: Recurrent) -> tuple[jax.Array, Losses]:
            judged = _along(network, part)
            log_probability = ac.log_probability(network.head, judged, flat.action, discrete=discrete)
            spread = ac.entropy(network.head, judged, discrete=discrete)
            return ppo_loss(settings, flat, judged.value, log_probability, spread, weight)

        gradient, losses = jax.grad(loss, has_aux=True)(carry[0])
        return stepped_down(settings, carry, gradient, losses, rate)

    rows = shuffled_rows(settings, state.key, len(sequences.start), settings.batch_size // settings.sequence_length)
    start = (state.network, state.optimiser, jnp.bool_(True))
    (network, optimiser, _), losses = jax.lax.scan(update, start, rows)
    return state._replace(network=network, optimiser=optimiser), jax.tree.map(jnp.mean, losses)


def _along(network: Recurrent, part: Sequences) -> ac.Judged:
    """What the networks say all along the sequences, [sequences * length] rows.

    The inputs' share of the gates and the layers that read the memories are one product for the whole batch; only the
    memories themselves go step by step.
    """
    count, length = part.start.shape
    seen = part.rows.observation.reshape(count * length, -1)
    share = jnp.moveaxis(gates(network.lstm, seen).reshape(2, count, length, -1), 2, 0)

    first = Memory(*(jnp.moveaxis(column, 0, 1) for column in part.memory))
    hidden = along(network.lstm.hidden, first, share, _kept(part.start.T))
    return ac.judge(network.head, jnp.moveaxis(hidden, 0, 2).reshape(2, count * length, -1))
