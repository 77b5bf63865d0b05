"""Recurrent PPO: an LSTM each for actor and critic, trained on sequences of fixed length (truncated back-propagation).

As in sb3-contrib, memories are zero at the start of an episode, and a sequence begins with the memory that it had when it
was collected. There, a sequence is as long as a batch; here `sequence_length`, and a batch holds many of them side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.deep import actor_critic as ac
from pdrm.learning.deep import lstm as nn
from pdrm.learning.deep.advantage import advantages
from pdrm.learning.deep.many_envs import Envs, Tally, action_keys, begin_envs, observed, scaled, step_envs, summed
from pdrm.learning.deep.networks import side_by_side
from pdrm.learning.deep.optimiser import ADAM
from pdrm.learning.deep.ppo import Metrics, learning_rate, shuffled_rows, stepped_down, steps_per_iteration
from pdrm.learning.deep.ppo_loss import Batch, Losses, ppo_loss
from pdrm.learning.deep.settings import RecurrentPPO
from pdrm.product.jax_env.draws import Key, key_of
from pdrm.product.jax_env.product import JaxProduct

if TYPE_CHECKING:
    import numpy as np


class Recurrent(NamedTuple):
    """The parameters: two memories, and the layers that read them."""

    lstm: nn.Lstm
    """[2, ...]: the actor's and the critic's."""
    head: ac.ActorCritic


class RecurrentState(NamedTuple):
    """Where a run stands."""

    network: Recurrent
    optimiser: Any
    envs: Envs
    memory: nn.Memory
    """[2, n_envs, units]"""
    start: jax.Array
    """[n_envs]: whether the next step is the first of an episode."""
    key: Key
    timesteps: jax.Array


class Sequences(NamedTuple):
    """Rows [sequences, length, ...], with the memory before the first and where episodes start."""

    rows: Batch
    memory: nn.Memory
    """[sequences, 2, units]"""
    start: jax.Array


def network(product: JaxProduct, settings: RecurrentPPO, rng: np.random.Generator) -> Recurrent:
    """The first parameters."""
    units = settings.lstm_hidden_size
    lstm = side_by_side([nn.lstm(rng, product.observation_size, units) for _ in (ac.ACTOR, ac.CRITIC)])
    return Recurrent(lstm, ac.new_actor_critic(rng, units, settings.net_arch, product.domain))


def begin(product: JaxProduct, settings: RecurrentPPO, network: Recurrent, key: Key) -> RecurrentState:
    """Before the first step."""
    envs = begin_envs(product, settings, key_of(key, 1))
    start = jnp.ones(settings.n_envs, jnp.bool_)
    memory = no_memory(settings, settings.n_envs)
    return RecurrentState(network, ADAM.init(network), envs, memory, start, key_of(key, 2), jnp.int32(0))


def no_memory(settings: RecurrentPPO, count: int) -> nn.Memory:
    """What is remembered at the start, [2, count, units]."""
    zeros = jnp.zeros((2, count, settings.lstm_hidden_size))
    return nn.Memory(zeros, zeros)


def recalled(network: Recurrent, memory: nn.Memory, seen: jax.Array, start: jax.Array) -> tuple[nn.Memory, ac.Judged]:
    """One step: the memories after it and what the networks say; seen: [n, inputs]."""
    memory = nn.remembered(network.lstm, memory, nn.gates(network.lstm, seen), _kept(start))
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
    before: nn.Memory
    after: nn.Memory
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
    remembered = nn.Memory(*(jnp.moveaxis(part, 1, 2).reshape(-1, 2, part.shape[-1]) for part in memories))
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
    twice = nn.Memory(*(jnp.concatenate((part, part), axis=1) for part in now.after))
    memory, both = recalled(network, twice, seen, start)
    bootstrapped = settings.gamma * jnp.where(stepped.outcome.truncated, both.value[count:], 0)
    reward = scaled(settings, stepped.outcome.reward) + bootstrapped
    log_probability = ac.log_probability(network.head, now.judged, action, discrete=discrete)
    row = (now.seen, action, log_probability, now.judged.value, reward, stepped.over, now.start, stepped.tally)
    judged: ac.Judged = jax.tree.map(lambda part: part[:count], both)
    kept = nn.Memory(*(part[:, :count] for part in memory))
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
    share = jnp.moveaxis(nn.gates(network.lstm, seen).reshape(2, count, length, -1), 2, 0)

    first = nn.Memory(*(jnp.moveaxis(column, 0, 1) for column in part.memory))
    hidden = nn.along(network.lstm.hidden, first, share, _kept(part.start.T))
    return ac.judge(network.head, jnp.moveaxis(hidden, 0, 2).reshape(2, count * length, -1))
