"""Random numbers inside compiled loops: a key is one 32-bit integer, and numbers are hashes of it and their position.

A few integer operations that the compiler fuses with what surrounds them, where JAX's own generator would be a kernel of
its own on a GPU. The hash is Wellons' `triple32`; keys of keys are hashes too. For anything else, `jax.random.key(key)`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

Key = jax.Array
"""A scalar uint32."""

STRIDE = 0x9E3779B9
"""The golden ratio's fraction: positions are this far apart before they are hashed."""


def hashed(word: jax.Array) -> jax.Array:
    """A bijection of 32-bit words in which every bit depends on every other."""
    word = (word ^ (word >> 17)) * jnp.uint32(0xED5AD4BB)
    word = (word ^ (word >> 11)) * jnp.uint32(0xAC4C1B51)
    word = (word ^ (word >> 15)) * jnp.uint32(0x31848BAB)
    return word ^ (word >> 14)


def key_of(key: Key, number: jax.Array | int) -> Key:
    """The key with this number below a key; of a whole array of numbers, as many keys.

    >>> int(key_of(jnp.uint32(1), 2)) == int(key_of(jnp.uint32(1), jnp.arange(3))[2])
    True
    """
    return hashed(hashed(key ^ jnp.uint32(0x5851F42D)) + jnp.uint32(STRIDE) * jnp.asarray(number, jnp.uint32))


def uniforms(key: Key, count: int) -> jax.Array:
    """So many numbers in [0, 1), float32, multiples of 2^-24.

    >>> uniforms(jnp.uint32(7), 3).shape
    (3,)
    """
    words = hashed(key + jnp.uint32(STRIDE) * jnp.arange(1, count + 1, dtype=jnp.uint32))
    numbers: jax.Array = (words >> 8).astype(jnp.float32) * jnp.float32(2.0**-24)
    return numbers


def seeded(seed: int | jax.Array) -> Key:
    """The key of a seed."""
    return hashed(jnp.asarray(seed, jnp.uint32) + jnp.uint32(STRIDE))
