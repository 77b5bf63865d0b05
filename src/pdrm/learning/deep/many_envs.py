"""Many products side by side: begun, stepped together, and restarted one by one as they end.

N is the number of environments.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.agents import Deep
from pdrm.learning.deep.networks import select
from pdrm.learning.settings import Number
from pdrm.product.jax_env.jax_domain import Key, key_of, uniforms
from pdrm.product.jax_env.jax_product import (
    OK,
    OVERFLOW,
    UNDEFINED,
    JaxProduct,
    ProductState,
    ProductStep,
)

# --- Environments of training.

TO_ACT = 0xA511E9B3
"""Keeps the keys that actions are drawn with apart from the environment's own."""


class Visited(NamedTuple):
    """Situations met in training, in which episodes can begin."""

    state: ProductState  # [ROOM]: the last one met, for each environment state, machine state and height of the stack
    known: jax.Array  # [ROOM]: whether there is one


class Envs(NamedTuple):
    """All environments, [N] each."""

    state: ProductState
    ended: jax.Array  # the number of episodes that ended so far
    cut_off: jax.Array  # the number of those that a full stack truncated
    fault: jax.Array  # the highest status so far that stops training: UNDEFINED; OVERFLOW or FINISHED as an episode begins
    visited: Visited | None = None  # where episodes can begin in addition to the start


def begin_envs(product: JaxProduct, settings: Deep, key: Key, *, restarts: bool = False) -> Envs:
    """All at their start; staggered ones at clocks spread over the step limit. With restarts they keep the situations that they meet."""
    numbers = jnp.arange(settings.n_envs)
    state, _, status = jax.vmap(product.begin)(key_of(key, numbers))
    if settings.staggered:
        spread = numbers * (product.domain.step_limit / settings.n_envs)
        state = state._replace(clock=spread.astype(jnp.int32))
    none = jnp.zeros_like(numbers)
    envs = Envs(state, none, none, status)
    if not restarts:
        return envs
    first = jax.tree.map(lambda part: jnp.broadcast_to(part[0], (ROOM, *part.shape[1:])), state)
    return envs._replace(visited=Visited(first, jnp.zeros(ROOM, jnp.bool_)))


def action_keys(envs: Envs) -> Key:
    """[N]: a key for each environment's next action."""
    return key_of(envs.state.key ^ jnp.uint32(TO_ACT), envs.state.clock)


class Stepped(NamedTuple):
    """A step of all, [N] each."""

    envs: Envs  # after it, ended ones restarted
    last: ProductState  # after it, before ended ones were restarted
    outcome: ProductStep
    over: jax.Array  # whether the episode ended


def step_envs(
    product: JaxProduct, envs: Envs, action: jax.Array, restarts: Number = 0.0
) -> Stepped:
    """One action for each, [N] or [N, action size]. restarts: the share of episodes that begin in situations of earlier ones."""
    last, outcome = jax.vmap(product.step)(envs.state, action)
    over = outcome.terminated | outcome.truncated
    state, _, begun = jax.vmap(product.renew)(last, over)
    visited = envs.visited
    if visited is not None:
        visited = note_visits(visited, last, over)
        elsewhere = over & visited.known.any() & (_draw_shares(state.key, RESTART) < restarts)
        state = jax.vmap(select)(elsewhere, draw_visited(visited, state), state)
        begun = jnp.where(elsewhere, OK, begun)
    undefined = jnp.where(outcome.status == UNDEFINED, UNDEFINED, OK)
    after = Envs(
        state,
        envs.ended + over,
        envs.cut_off + (outcome.truncated & (outcome.status == OVERFLOW)),
        jnp.maximum(envs.fault, jnp.maximum(begun, undefined)),
        visited,
    )
    return Stepped(after, last, outcome, over)


# --- Beginning in situations of earlier episodes.

HEIGHTS = 32
"""The highest stack of a situation that is kept."""
ROOM = 4_096
"""Situations that are kept. If there are more, they share places."""
SLOTS = 8
"""Situations kept for each machine state and height if states are not numbered."""
RESTART = 0x4E570000
"""Keeps the keys of restarts apart from those of the episode."""


def note_visits(visited: Visited, met: ProductState, over: jax.Array) -> Visited:
    """Keep the situations that were met, [N], unless the episode is over."""
    machine, numbers = met.configuration, jnp.arange(len(over))
    numbered = isinstance(met.environment, jax.Array) and met.environment.ndim == 1
    where = met.environment if numbered else key_of(met.key, met.clock) % SLOTS
    key = key_of(machine.state.astype(jnp.uint32), machine.height)
    place = (key_of(key, where) % ROOM).astype(jnp.int32)
    place = jnp.where(over | (machine.height > HEIGHTS), ROOM, place)
    # One for each place: otherwise the order of writing would matter.
    last = jnp.full(ROOM + 1, -1).at[place].max(numbers)
    place = jnp.where(last[place] == numbers, place, ROOM)

    def keep(old: jax.Array, new: jax.Array) -> jax.Array:
        return old.at[place].set(new, mode="drop")

    kept: Visited = jax.tree.map(keep, visited, Visited(met, jnp.ones_like(over)))
    return kept


def draw_visited(visited: Visited, begun: ProductState) -> ProductState:
    """[N]: situations that were met, drawn uniformly with the keys of episodes that have just begun."""
    count = jnp.cumsum(visited.known)
    drawn = (_draw_shares(begun.key, RESTART + 1) * count[-1]).astype(jnp.int32)
    place = jnp.searchsorted(count, jnp.minimum(drawn, count[-1] - 1) + 1)
    there: ProductState = jax.tree.map(lambda part: part[place], visited.state)
    return there._replace(key=begun.key, clock=jnp.zeros_like(there.clock))


def _draw_shares(keys: Key, number: int) -> jax.Array:
    """[N]: a number from 0 to below 1 for each key."""
    return jax.vmap(lambda key: uniforms(key_of(key, number), 1)[0])(keys)


# --- The rewards that networks learn from.


def scale_reward(settings: Deep, reward: jax.Array) -> jax.Array:
    """Rewards as the networks see them."""
    if settings.reward_scale is not None:
        reward = reward * settings.reward_scale
    if settings.reward_clip is None:
        return reward
    return jnp.clip(reward, -settings.reward_clip, settings.reward_clip)
