"""Labelled MDPs in JAX: finite domains, WaterWorld and a user's `JaxWorld` as pure functions.

The functions have no batch axis; the learners vmap them. Inside compiled loops a random key is a
32-bit integer, and random numbers are hashes of the key and their position (`hash_word`). Elsewhere
`jax.random.key(key)` is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from pdrm.domains import water
from pdrm.domains.environments import DomainEnv
from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain, Label
from pdrm.domains.user_worlds import JaxWorld
from pdrm.errors import BadDomainSetting

Key = jax.Array
"""A scalar uint32."""
State = Any
"""A pytree of arrays."""

STRIDE = 0x9E3779B9
"""The golden ratio's fraction: the distance of two positions before they are hashed."""


def hash_word(word: jax.Array) -> jax.Array:
    """Hash a 32-bit word by Wellons' `triple32`, a bijection.

    These few integer operations are fused with the code around them, while JAX's own generator
    would be a separate kernel on a GPU.
    """
    word = (word ^ (word >> 17)) * jnp.uint32(0xED5AD4BB)
    word = (word ^ (word >> 11)) * jnp.uint32(0xAC4C1B51)
    word = (word ^ (word >> 15)) * jnp.uint32(0x31848BAB)
    return word ^ (word >> 14)


def key_of(key: Key, number: jax.Array | int) -> Key:
    """Derive a key from a key and a number, or one key for each number of an array.

    >>> int(key_of(jnp.uint32(1), 2)) == int(key_of(jnp.uint32(1), jnp.arange(3))[2])
    True
    """
    return hash_word(
        hash_word(key ^ jnp.uint32(0x5851F42D))
        + jnp.uint32(STRIDE) * jnp.asarray(number, jnp.uint32)
    )


def uniforms(key: Key, count: int) -> jax.Array:
    """[count] random numbers in [0, 1), float32, multiples of 2^-24."""
    words = hash_word(key + jnp.uint32(STRIDE) * jnp.arange(1, count + 1, dtype=jnp.uint32))
    numbers: jax.Array = (words >> 8).astype(jnp.float32) * jnp.float32(2.0**-24)
    return numbers


def make_key(seed: int | jax.Array) -> Key:
    """The key of a seed."""
    return hash_word(jnp.asarray(seed, jnp.uint32) + jnp.uint32(STRIDE))


class DomainStep(NamedTuple):
    """The result of a step."""

    state: State
    label: jax.Array
    """int32: position in `labels`."""
    reward: jax.Array
    """The environment's reward."""
    terminated: jax.Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JaxDomain:
    """A labelled MDP as functions.

    >>> from pdrm.domains.paper_domains import domain
    >>> finite_domain(domain("letter")).observation_size
    42
    """

    labels: tuple[Label, ...]
    start: Callable[[Key], tuple[State, jax.Array]]
    """key -> an initial state, and the number of its label (-1: none)."""
    step: Callable[[State, jax.Array, Key], DomainStep]
    """state, action, key -> the result of the step."""
    observe: Callable[[State], jax.Array]
    """state -> a vector of float32."""
    observation_size: int
    actions: int
    """The number of actions; 0 if actions are vectors."""
    action_size: int = 0
    """The length of an action that is a vector, with numbers in [-1, 1]."""
    step_limit: Any
    """Steps after which an episode is truncated."""


def water_domain(world: water.WaterWorld) -> JaxDomain:
    """WaterWorld. Its numbers can be traced, so one program can run boxes of several sizes."""

    def start(key: Key) -> tuple[State, jax.Array]:
        return water.begin(world, uniforms(key, water.START_NUMBERS), jnp), jnp.int32(NO_LABEL)

    def step(state: State, action: jax.Array, key: Key) -> DomainStep:
        if world.continuous:
            push = jnp.clip(action, -1, 1)
        else:
            push = jnp.asarray(water.PUSHES, jnp.float32)[action]
        state, label = water.advance(world, state, push, uniforms(key, water.STEP_NUMBERS), jnp)
        return DomainStep(state, label, jnp.float32(0), jnp.bool_(False))

    return JaxDomain(
        labels=water.LABELS,
        start=start,
        step=step,
        observe=lambda state: water.observe(world, state, jnp),
        observation_size=water.OBSERVED,
        actions=0 if world.continuous else len(water.ACTIONS),
        action_size=2 if world.continuous else 0,
        step_limit=world.step_limit,
    )


def check_world(world: JaxWorld) -> None:
    """Trace the functions of a user's world, without running them, and check their shapes."""

    def try_step(key: Key) -> tuple[State, State, jax.Array, jax.Array]:
        action = jnp.zeros(world.action_size) if world.action_size else jnp.int32(0)
        state = world.reset(key)
        after = world.step(state, action, key)
        label = jnp.asarray(world.label(state, action, after))
        return state, after, label, jnp.asarray(world.observe(state))

    try:
        state, after, label, observed = jax.eval_shape(try_step, jax.random.key(0))
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        fix = "write it with jax.numpy, without `if` on values: jnp.where(hit, 1.0, 0.0)"
        raise BadDomainSetting(f"`{world.name}` cannot be traced: {reason}", fix=fix) from error
    before_shape, after_shape = (
        jax.tree.map(lambda array: (array.shape, array.dtype.name), part) for part in (state, after)
    )
    for name, actual, expected in (
        ("label", label.shape, (len(world.events),)),
        ("observe", observed.shape, (world.observation_size,)),
        ("step", after_shape, before_shape),
    ):
        if actual != expected:
            fault = f"`{name}` of `{world.name}` returns an array of shape {actual}"
            raise BadDomainSetting(fault, fix=f"return one of shape {expected}")


def user_domain(world: JaxWorld) -> JaxDomain:
    """A user's `JaxWorld`."""
    check_world(world)
    bits = 1 << jnp.arange(len(world.events))

    def start(key: Key) -> tuple[State, jax.Array]:
        return world.reset(jax.random.key(key)), jnp.int32(NO_LABEL)

    def step(state: State, action: jax.Array, key: Key) -> DomainStep:
        if world.action_size:
            action = jnp.clip(action, -1, 1)
        after = world.step(state, action, jax.random.key(key))
        label = (jnp.asarray(world.label(state, action, after), jnp.int32) * bits).sum()
        reward = 0.0 if world.reward is None else world.reward(state, action, after)
        ended = False if world.terminated is None else world.terminated(after)
        return DomainStep(after, label, jnp.float32(reward), jnp.bool_(ended))

    return JaxDomain(
        labels=world.labels,
        start=start,
        step=step,
        observe=lambda state: jnp.asarray(world.observe(state), jnp.float32),
        observation_size=world.observation_size,
        actions=world.actions,
        action_size=world.action_size,
        step_limit=world.step_limit,
    )


def finite_domain(domain: FiniteDomain) -> JaxDomain:
    """A finite domain, with one-hot observations of its state."""
    arrays: Any = jax.tree.map(jnp.asarray, domain.arrays)
    reward = jnp.float32(domain.arrays.reward)
    cumulated = jnp.float32(domain.arrays.probability.cumsum(axis=2))
    start_cumulated = jnp.float32(domain.arrays.start_probability.cumsum())

    def pick(sums: jax.Array, key: Key) -> jax.Array:
        return jnp.minimum((uniforms(key, 1)[0] >= sums).sum(), (sums < sums[-1]).sum())

    def start(key: Key) -> tuple[State, jax.Array]:
        start = pick(start_cumulated, key)
        return arrays.start_state[start], arrays.start_label[start]

    def step(state: State, action: jax.Array, key: Key) -> DomainStep:
        index = (state, action, pick(cumulated[state, action], key))
        after = arrays.next[index]
        return DomainStep(after, arrays.label[index], reward[index], arrays.terminal[after])

    return JaxDomain(
        labels=domain.labels,
        start=start,
        step=step,
        observe=lambda state: jax.nn.one_hot(state, domain.states),
        observation_size=domain.states,
        actions=len(domain.actions),
        step_limit=domain.step_limit,
    )


class JaxWorldEnv(DomainEnv):
    """A `JaxWorld` as a Gymnasium environment, for manual stepping and third-party agents."""

    def __init__(self, world: JaxWorld) -> None:
        super().__init__(world.step_limit)
        self.domain = user_domain(world)
        self._step = jax.jit(self.domain.step)
        self._start = jax.jit(self.domain.start)
        self.observation_space = spaces.Box(-np.inf, np.inf, (world.observation_size,), np.float32)
        self.action_space: spaces.Space[Any] = spaces.Box(-1, 1, (world.action_size,), np.float32)
        if world.actions:
            self.action_space = spaces.Discrete(world.actions)

    def begin(self) -> None:
        self._key = make_key(int(self.np_random.integers(2**32)))
        self.state, _ = self._start(key_of(self._key, 0))
        self.label = None

    def advance(self, action: Any) -> tuple[float, bool]:
        result = self._step(self.state, action, key_of(self._key, self.steps + 1))
        self.state = result.state
        self.label = self.domain.labels[int(result.label)]
        return float(result.reward), bool(result.terminated)

    def observe(self) -> npt.NDArray[np.float32]:
        return np.asarray(self.domain.observe(self.state), np.float32)
