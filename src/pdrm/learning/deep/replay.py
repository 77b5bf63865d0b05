"""A replay buffer of labelled transitions: what the environment did and where the machine stood, not what was observed.

So a sampled row can be seen with any other configuration of the machine: counterfactual experiences are made when sampling,
and memory does not grow. Rows are written round and round, one a step for each environment.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.product.jax_env.machine import Packed


class Row(NamedTuple):
    """A labelled transition."""

    before: jax.Array
    """The domain's observation, without the machine's."""
    action: jax.Array
    after: jax.Array
    label: jax.Array
    reward: jax.Array
    """The environment's own."""
    terminated: jax.Array
    """Whether the environment itself ended there (truncation does not count)."""
    over: jax.Array
    """Whether the episode ended there, for whatever reason: the next row is another's."""
    configuration: Packed
    """The machine's, before."""


class Replay(NamedTuple):
    """Rows [capacity, n_envs, ...], and how many steps have been written."""

    rows: Row
    written: jax.Array


def empty(like: Row, capacity: int) -> Replay:
    """Room for `capacity` steps of rows like these [n_envs, ...]."""
    rows: Row = jax.tree.map(lambda part: jnp.zeros((capacity, *part.shape), part.dtype), like)
    return Replay(rows, jnp.int32(0))


def added(replay: Replay, row: Row) -> Replay:
    """With one more step."""
    capacity = replay.rows.label.shape[0]
    place = replay.written % capacity
    rows: Any = jax.tree.map(lambda whole, part: whole.at[place].set(part), replay.rows, row)
    return Replay(Row(*rows), replay.written + 1)


def sampled_rows(replay: Replay, key: jax.Array, count: int, length: int) -> Row:
    """So many windows of rows in a row [count, length, ...], uniformly, with replacement; key: of `jax.random`."""
    capacity, envs = replay.rows.label.shape[:2]
    which, env = jax.random.split(key)
    filled = jnp.minimum(replay.written, capacity)
    first = jax.random.randint(which, (count, 1), 0, jnp.maximum(filled - length + 1, 1))
    place = (replay.written - filled + first + jnp.arange(length)) % capacity
    column = jax.random.randint(env, (count, 1), 0, envs)
    rows: Any = jax.tree.map(lambda part: part[place, column], replay.rows)
    return Row(*rows)
