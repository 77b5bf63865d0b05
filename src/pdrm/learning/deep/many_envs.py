"""Many products side by side: begun, stepped together, and restarted one by one as they end; and evaluation episodes.

N is the number of environments, or of evaluation episodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.agents import Deep
from pdrm.learning.settings import Number
from pdrm.product.jax_env.jax_domain import Key, key_of, uniforms
from pdrm.product.jax_env.jax_machine import FINISHED, OK, OVERFLOW, UNDEFINED
from pdrm.product.jax_env.jax_product import JaxProduct, ProductState, ProductStep

# --- Environments of training.

TO_ACT = 0xA511E9B3
"""Keeps the keys that actions are drawn with apart from the environment's own."""


class Visited(NamedTuple):
    """Situations met in training, in which episodes can begin."""

    state: ProductState  # [ROOM]: the last one met, for each environment state, machine state and height of the stack
    known: jax.Array  # [ROOM]: whether there is one


class Envs(NamedTuple):
    """The state of all environments."""

    state: ProductState  # [N]
    gained: jax.Array  # [N]: the raw return of each episode so far
    begun: jax.Array  # [N], int8: the status with which each episode began
    visited: Visited | None = None  # where episodes can begin in addition to the start


class Tally(NamedTuple):
    """Counts, summed over environments and steps."""

    episodes: jax.Array
    """Episodes that ended."""
    gained: jax.Array
    """Their raw returns, summed."""
    overflows: jax.Array
    """Those of them that a full stack truncated."""
    undefined: jax.Array
    """Steps in which the machine had no move (the episode was ended there), or had none at reset."""
    unfit: jax.Array
    """Steps of episodes whose first stack is higher than the depth."""
    finished: jax.Array
    """Steps of episodes that began in a final state."""


def begin_envs(product: JaxProduct, settings: Deep, key: Key, *, restarts: bool = False) -> Envs:
    """All at their start; staggered ones at clocks spread over the step limit. With restarts they keep the situations that they meet."""
    count = settings.n_envs
    state, paid, status = jax.vmap(product.begin)(key_of(key, jnp.arange(count)))
    if settings.staggered:
        clock = (jnp.arange(count) * (product.domain.step_limit / count)).astype(jnp.int32)
        state = state._replace(clock=clock)
    envs = Envs(state, paid, status.astype(jnp.int8))
    if not restarts:
        return envs
    first = jax.tree.map(lambda part: jnp.broadcast_to(part[0], (ROOM, *part.shape[1:])), state)
    return envs._replace(visited=Visited(first, jnp.zeros(ROOM, jnp.bool_)))


def observe_envs(product: JaxProduct, envs: Envs) -> jax.Array:
    """The observation of each, [N, observation size]."""
    return jax.vmap(product.observe)(envs.state)


def action_keys(envs: Envs) -> Key:
    """[N]: a key for each environment's next action."""
    return key_of(envs.state.key ^ jnp.uint32(TO_ACT), envs.state.clock)


class Stepped(NamedTuple):
    """A step of all, [N] each."""

    envs: Envs  # after it, ended ones restarted
    last: ProductState  # after it, before ended ones were restarted
    outcome: ProductStep
    over: jax.Array  # whether the episode ended
    tally: Tally


def step_envs(
    product: JaxProduct, envs: Envs, action: jax.Array, restarts: Number = 0.0
) -> Stepped:
    """One action for each, [N] or [N, action size]. restarts: the share of episodes that begin in situations of earlier ones."""
    last, outcome = jax.vmap(product.step)(envs.state, action)
    over = outcome.terminated | outcome.truncated
    gained = envs.gained + outcome.reward
    tally = Tally(
        over.sum(),
        jnp.where(over, gained, 0).sum(),
        (outcome.truncated & (outcome.status == OVERFLOW)).sum(),
        ((outcome.status == UNDEFINED) | (envs.begun == UNDEFINED)).sum(),
        (envs.begun == OVERFLOW).sum(),
        (envs.begun == FINISHED).sum(),
    )
    state, paid, status = jax.vmap(product.renew)(last, over)
    begun = jnp.where(over, status.astype(jnp.int8), envs.begun)
    visited = None if envs.visited is None else note_visits(envs.visited, last, over)
    after = restart(Envs(state, jnp.where(over, paid, gained), begun, visited), over, restarts)
    return Stepped(after, last, outcome, over, tally)


def sum_tally(tally: Tally) -> Tally:
    """A tally of many steps as one."""
    return Tally(*(part.sum(axis=0) for part in tally))


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
    place = (key_of(key_of(machine.state.astype(jnp.uint32), machine.height), where) % ROOM).astype(
        jnp.int32
    )
    place = jnp.where(over | (machine.height > HEIGHTS), ROOM, place)
    last = jnp.full(ROOM + 1, -1).at[place].max(numbers)
    # One for each place: otherwise the order of writing would matter.
    place = jnp.where(last[place] == numbers, place, ROOM)

    def keep(old: jax.Array, new: jax.Array) -> jax.Array:
        return old.at[place].set(new, mode="drop")

    return Visited(
        jax.tree.map(keep, visited.state, met), visited.known.at[place].set(True, mode="drop")
    )


def restart(envs: Envs, over: jax.Array, share: Number) -> Envs:
    """Let a share of the episodes that have just begun (`over`, [N]) begin in a situation that was met, drawn uniformly."""
    if envs.visited is None:
        return envs
    (state, known), keys = envs.visited, envs.state.key
    count = jnp.cumsum(known)
    drawn = (_draw_shares(keys, RESTART + 1) * count[-1]).astype(jnp.int32)
    rank = jnp.minimum(drawn, count[-1] - 1)
    place = jnp.searchsorted(count, rank + 1)
    there: ProductState = jax.tree.map(lambda part: part[place], state)
    there = there._replace(key=keys, clock=jnp.zeros_like(there.clock))
    chosen = over & known.any() & (_draw_shares(keys, RESTART) < share)

    def choose(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(chosen.reshape(-1, *[1] * (old.ndim - 1)), new, old)

    begun = jnp.where(chosen, OK, envs.begun).astype(jnp.int8)
    begun_there: ProductState = jax.tree.map(choose, there, envs.state)
    return envs._replace(state=begun_there, gained=jnp.where(chosen, 0.0, envs.gained), begun=begun)


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


def learning_reward(
    product: JaxProduct, settings: Deep, before: Envs, stepped: Stepped
) -> jax.Array:
    """[N]: the rewards of a step as networks see them, shaped if the agent is."""
    reward = scale_reward(settings, stepped.outcome.reward)
    if product.potential is None:
        return reward
    shape = jax.vmap(product.potential.reward, (0, 0, 0, None))
    here, there = before.state.configuration, stepped.last.configuration
    return reward + shape(here, there, stepped.outcome.terminated, settings.discount)


# --- Test episodes: a policy without exploration, its raw returns, lengths and the machine's last states.

Carry = Any
"""The memory of a policy: a tree of arrays, or ()."""
Act = Callable[[Carry, jax.Array, jax.Array], tuple[Carry, jax.Array]]
"""memory, [N, observation size], [N] which of them are at their start -> memory, [N] actions."""


def empty_memory(_settings: Deep, _count: int) -> tuple[()]:
    """The memory of a policy that has none."""
    return ()


CHUNK = 500
"""Steps between checks of whether all episodes are over."""


class Episodes(NamedTuple):
    """Results of evaluation episodes, [N] each."""

    returns: jax.Array
    discounted: jax.Array  # rewards before the first action, and for it, count in full
    steps: jax.Array
    ends: jax.Array  # the machine's last state
    cut_off: jax.Array  # whether the stack was full
    undefined: jax.Array  # whether the machine had no move, in a step or at reset
    unfit: jax.Array  # whether the first stack was higher than the depth
    finished: jax.Array  # whether it began in a final state


class _Playing(NamedTuple):
    state: ProductState
    memory: Carry
    played: Episodes
    over: jax.Array
    step: jax.Array


def play(
    product: JaxProduct,
    act: Act,
    memory: Carry,
    key: Key,
    episodes: int,
    discount: Number,
) -> Episodes:
    """Episodes side by side, each up to its end or the limit."""
    state, paid, status = jax.vmap(product.begin)(key_of(key, jnp.arange(episodes)))
    none, undefined, unfit, finished = (
        status == one for one in (-1, UNDEFINED, OVERFLOW, FINISHED)
    )
    steps, ends = jnp.zeros(episodes, jnp.int32), state.configuration.state
    played = Episodes(paid, paid, steps, ends, none, undefined, unfit, finished)
    step_limit = product.domain.step_limit
    chunk = min(CHUNK, step_limit)
    fall = jnp.log1p(jnp.asarray(discount - 1.0, jnp.float32))

    def step(playing: _Playing, _: None) -> tuple[_Playing, None]:
        seen = jax.vmap(product.observe)(playing.state)
        memory, action = act(playing.memory, seen, jnp.broadcast_to(playing.step == 0, none.shape))
        state, outcome = jax.vmap(product.step)(playing.state, action)
        ongoing, before = ~playing.over, playing.played
        # The power of the discount, closer than that of a rounded one.
        counts = jnp.where(playing.step == 0, 1.0, jnp.exp(playing.step * fall))
        played = before._replace(
            returns=before.returns + jnp.where(ongoing, outcome.reward, 0),
            discounted=before.discounted + jnp.where(ongoing, outcome.reward * counts, 0),
            steps=before.steps + ongoing,
            ends=jnp.where(ongoing, state.configuration.state, before.ends),
            cut_off=before.cut_off | (ongoing & outcome.truncated & (outcome.status == OVERFLOW)),
            undefined=before.undefined | (ongoing & (outcome.status == UNDEFINED)),
        )
        over = playing.over | outcome.terminated | outcome.truncated
        return _Playing(state, memory, played, over, playing.step + 1), None

    def step_chunk(playing: _Playing) -> _Playing:
        after: _Playing = jax.lax.scan(step, playing, None, length=chunk)[0]
        return after

    start = _Playing(state, memory, played, none, jnp.int32(0))
    done: _Playing = jax.lax.while_loop(
        lambda now: ~now.over.all() & (now.step < step_limit), step_chunk, start
    )
    return done.played
