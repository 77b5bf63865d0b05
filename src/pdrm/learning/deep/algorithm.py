"""A learning algorithm on one product: frozen settings and pure functions. The caller compiles them and maps them over seeds.

Evaluation episodes of a network, side by side, are here, too. N is the number of environments or episodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from pdrm.product.jax_env.jax_domain import Key, key_of
from pdrm.product.jax_env.jax_machine import OK, OVERFLOW, UNDEFINED
from pdrm.product.jax_env.jax_product import JaxProduct, ProductState

if TYPE_CHECKING:
    import numpy as np

Carry = Any
"""The memory of a policy: a tree of arrays, or ()."""


@dataclass(frozen=True, eq=False)
class Algorithm(ABC):
    """PPO, recurrent PPO, DQN or SAC. A state has at least `network`, `envs`, `key` and `timesteps`, over all environments."""

    product: JaxProduct
    settings: Any

    @property
    @abstractmethod
    def rollout(self) -> int:
        """Steps of each environment in an iteration."""

    @property
    def steps_per_iteration(self) -> int:
        """Steps of all environments in an iteration."""
        return int(self.rollout * self.settings.n_envs)

    @abstractmethod
    def new_network(self, rng: np.random.Generator) -> Any:
        """The first parameters."""

    @abstractmethod
    def begin(self, network: Any, key: Key) -> Any:
        """The state before the first step."""

    @abstractmethod
    def iterate(self, state: Any) -> Any:
        """The state after an iteration: collect experience, and learn from it."""

    @abstractmethod
    def act(
        self, network: Any, memory: Carry, seen: jax.Array, start: jax.Array
    ) -> tuple[Carry, jax.Array]:
        """The actions without exploration, and the memories after them.

        seen: [N, observation size]; start: [N], whether an episode begins.
        """

    def empty_memory(self, count: int) -> Carry:
        """The memory at the start of episodes."""
        del count
        return ()


# --- Test episodes: a policy without exploration, its raw returns, lengths and the machine's last states.

CHUNK = 500
"""Steps between checks of whether all episodes are over."""


class Episodes(NamedTuple):
    """Results of evaluation episodes, [N] each."""

    returns: jax.Array
    discounted: jax.Array  # rewards before the first action, and for it, count in full
    steps: jax.Array
    ends: jax.Array  # the machine's last state
    cut_off: jax.Array  # whether the stack was full
    fault: jax.Array  # as in `Envs`


class _Playing(NamedTuple):
    state: ProductState
    memory: Carry
    played: Episodes
    over: jax.Array
    step: jax.Array


def play(algorithm: Algorithm, network: Any, key: Key, episodes: int) -> Episodes:
    """Episodes side by side, each up to its end or the limit."""
    product = algorithm.product
    state, paid, status = jax.vmap(product.begin)(key_of(key, jnp.arange(episodes)))
    none = jnp.zeros(episodes, jnp.bool_)
    played = Episodes(
        paid, paid, jnp.zeros(episodes, jnp.int32), state.configuration.state, none, status
    )
    step_limit = product.domain.step_limit
    fall = jnp.log1p(jnp.asarray(algorithm.settings.discount - 1.0, jnp.float32))

    def step(playing: _Playing, _: None) -> tuple[_Playing, None]:
        seen = jax.vmap(product.observe)(playing.state)
        start = jnp.broadcast_to(playing.step == 0, none.shape)
        memory, action = algorithm.act(network, playing.memory, seen, start)
        state, outcome = jax.vmap(product.step)(playing.state, action)
        # The power of the discount, closer than that of a rounded one.
        counts = jnp.where(playing.step == 0, 1.0, jnp.exp(playing.step * fall))
        before, ongoing = playing.played, ~playing.over
        undefined = ongoing & (outcome.status == UNDEFINED)
        played = Episodes(
            before.returns + jnp.where(ongoing, outcome.reward, 0),
            before.discounted + jnp.where(ongoing, outcome.reward * counts, 0),
            before.steps + ongoing,
            jnp.where(ongoing, state.configuration.state, before.ends),
            before.cut_off | (ongoing & outcome.truncated & (outcome.status == OVERFLOW)),
            jnp.maximum(before.fault, jnp.where(undefined, UNDEFINED, OK)),
        )
        over = playing.over | outcome.terminated | outcome.truncated
        return _Playing(state, memory, played, over, playing.step + 1), None

    def step_chunk(playing: _Playing) -> _Playing:
        after: _Playing = jax.lax.scan(step, playing, None, length=min(CHUNK, step_limit))[0]
        return after

    done: _Playing = jax.lax.while_loop(
        lambda now: ~now.over.all() & (now.step < step_limit),
        step_chunk,
        _Playing(state, algorithm.empty_memory(episodes), played, none, jnp.int32(0)),
    )
    return done.played
