"""Many products side by side: begun, stepped together, begun anew one by one as they end; and test episodes.

N is the number of environments, or of test episodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.learning.agents import Deep
from pdrm.learning.settings import Number
from pdrm.product.jax_env.jax_domain import Key, key_of
from pdrm.product.jax_env.jax_machine import FINISHED, OVERFLOW, UNDEFINED
from pdrm.product.jax_env.jax_product import JaxProduct, ProductState, ProductStep

# --- Environments of training.

TO_ACT = 0xA511E9B3
"""Keeps the keys that actions are drawn with apart from the environment's own."""


class Envs(NamedTuple):
    """Where they all stand."""

    state: ProductState  # [N]
    gained: jax.Array  # [N]: the raw return of each episode so far
    begun: jax.Array  # [N], int8: the status with which each episode began


class Tally(NamedTuple):
    """What happened, summed over environments and steps."""

    episodes: jax.Array
    """Episodes that ended."""
    gained: jax.Array
    """Their raw returns, summed."""
    terminated: jax.Array
    """Of these, how many ended in a final state or by the environment."""
    overflows: jax.Array
    """Of these, how many a full stack cut off."""
    undefined: jax.Array
    """Steps in which the machine had no move (the episode was ended there), or had none at reset."""
    unfit: jax.Array
    """Steps of episodes whose first stack is higher than the depth."""
    finished: jax.Array
    """Steps of episodes that began in a final state."""


def begin_envs(product: JaxProduct, settings: Deep, key: Key) -> Envs:
    """All at their start; staggered ones at clocks spread over the step limit."""
    count = settings.n_envs
    state, paid, status = jax.vmap(product.begin)(key_of(key, jnp.arange(count)))
    if settings.staggered:
        clock = (jnp.arange(count) * (product.domain.step_limit / count)).astype(jnp.int32)
        state = state._replace(clock=clock)
    return Envs(state, paid, status.astype(jnp.int8))


def observe_envs(product: JaxProduct, envs: Envs) -> jax.Array:
    """What each of them shows, [N, observation size]."""
    return jax.vmap(product.observe)(envs.state)


def action_keys(envs: Envs) -> Key:
    """[N]: a key for each environment's next action."""
    return key_of(envs.state.key ^ jnp.uint32(TO_ACT), envs.state.clock)


class Stepped(NamedTuple):
    """A step of all, [N] each."""

    envs: Envs  # after it, ended ones begun anew
    last: ProductState  # after it, before ended ones were begun anew
    outcome: ProductStep
    over: jax.Array  # whether the episode ended
    tally: Tally


def step_envs(product: JaxProduct, envs: Envs, action: jax.Array) -> Stepped:
    """One action for each, [N] or [N, action size]."""
    last, outcome = jax.vmap(product.step)(envs.state, action)
    over = outcome.terminated | outcome.truncated
    gained = envs.gained + outcome.reward
    tally = Tally(
        over.sum(),
        jnp.where(over, gained, 0).sum(),
        outcome.terminated.sum(),
        (outcome.truncated & (outcome.status == OVERFLOW)).sum(),
        ((outcome.status == UNDEFINED) | (envs.begun == UNDEFINED)).sum(),
        (envs.begun == OVERFLOW).sum(),
        (envs.begun == FINISHED).sum(),
    )
    state, paid, status = jax.vmap(product.renew)(last, over)
    begun = jnp.where(over, status.astype(jnp.int8), envs.begun)
    return Stepped(Envs(state, jnp.where(over, paid, gained), begun), last, outcome, over, tally)


def sum_tally(tally: Tally) -> Tally:
    """A tally of many steps as one."""
    return Tally(*(part.sum(axis=0) for part in tally))


def scale_reward(settings: Deep, reward: jax.Array) -> jax.Array:
    """Rewards as the networks see them."""
    reward = reward if settings.reward_scale is None else reward * settings.reward_scale
    return reward if settings.reward_clip is None else jnp.clip(reward, -settings.reward_clip, settings.reward_clip)


def learning_reward(product: JaxProduct, settings: Deep, before: Envs, stepped: Stepped) -> jax.Array:
    """[N]: what networks learn from a step: its reward as they see it, shaped where rewards are."""
    reward = scale_reward(settings, stepped.outcome.reward)
    if product.potential is None:
        return reward
    machines = before.state.configuration, stepped.last.configuration, stepped.outcome.terminated
    shape = product.potential.reward
    return reward + jax.vmap(lambda here, there, ended: shape(here, there, ended, settings.discount))(*machines)


# --- Test episodes: a policy without exploration, its raw returns, lengths and the machine's last states.

Carry = Any
"""What a policy remembers: a tree of arrays, or ()."""
Act = Callable[[Carry, jax.Array, jax.Array], tuple[Carry, jax.Array]]
"""memory, [N, observation size], [N] which of them are at their start -> memory, [N] actions."""


def empty_memory(_settings: Deep, _count: int) -> tuple[()]:
    """What a policy without memory remembers."""
    return ()


CHUNK = 500
"""Steps between checks of whether all episodes are over."""


class Episodes(NamedTuple):
    """How test episodes went, [N] each."""

    returns: jax.Array
    discounted: (
        jax.Array
    )  # the same, as an optimal value counts: what is paid before the first action, and for it, in full
    steps: jax.Array
    ends: jax.Array  # the machine's last state
    terminated: jax.Array
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
    product: JaxProduct, act: Act, memory: Carry, key: Key, episodes: int, step_limit: int, discount: Number
) -> Episodes:
    """That many episodes side by side, each up to its end or the limit."""
    state, paid, status = jax.vmap(product.begin)(key_of(key, jnp.arange(episodes)))
    none, undefined, unfit, finished = (status == one for one in (-1, UNDEFINED, OVERFLOW, FINISHED))
    steps, ends = jnp.zeros(episodes, jnp.int32), state.configuration.state
    played = Episodes(paid, paid, steps, ends, none, none, undefined, unfit, finished)
    chunk, fall = min(CHUNK, step_limit), jnp.log1p(jnp.asarray(discount - 1.0, jnp.float32))

    def step(playing: _Playing, _: None) -> tuple[_Playing, None]:
        seen = jax.vmap(product.observe)(playing.state)
        memory, action = act(playing.memory, seen, jnp.broadcast_to(playing.step == 0, none.shape))
        state, outcome = jax.vmap(product.step)(playing.state, action)
        ongoing, before = ~playing.over, playing.played
        counts = jnp.where(
            playing.step == 0, 1.0, jnp.exp(playing.step * fall)
        )  # the power, closer than of a rounded discount
        played = before._replace(
            returns=before.returns + jnp.where(ongoing, outcome.reward, 0),
            discounted=before.discounted + jnp.where(ongoing, outcome.reward * counts, 0),
            steps=before.steps + ongoing,
            ends=jnp.where(ongoing, state.configuration.state, before.ends),
            terminated=before.terminated | (ongoing & outcome.terminated),
            cut_off=before.cut_off | (ongoing & outcome.truncated & (outcome.status == OVERFLOW)),
            undefined=before.undefined | (ongoing & (outcome.status == UNDEFINED)),
        )
        over = playing.over | outcome.terminated | outcome.truncated
        return _Playing(state, memory, played, over, playing.step + 1), None

    def step_chunk(playing: _Playing) -> _Playing:
        after: _Playing = jax.lax.scan(step, playing, None, length=chunk)[0]
        return after

    start = _Playing(state, memory, played, none, jnp.int32(0))
    done: _Playing = jax.lax.while_loop(lambda now: ~now.over.all() & (now.step < step_limit), step_chunk, start)
    return done.played
