"""A learning algorithm on one product: frozen settings and pure functions. The caller compiles them and maps them over seeds.

Evaluation episodes of a network, side by side, are here, too. N is the number of environments or episodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.errors import BadSetting, FinishedAtReset, UndefinedMove
from pdrm.learning.deep.networks import select
from pdrm.learning.evaluation import settle_returns
from pdrm.learning.protocol import Test
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.jax_env.jax_domain import Key, key_of
from pdrm.product.jax_env.jax_product import (
    FINISHED,
    OK,
    OVERFLOW,
    UNDEFINED,
    JaxProduct,
    ProductState,
)

Carry = Any
"""The memory of a policy: a tree of arrays, or ()."""


@dataclass(frozen=True, eq=False)
class Algorithm(ABC):
    """PPO, recurrent PPO, DQN or SAC. A state has at least `network`, `envs`, `key` and `timesteps`, over all environments."""

    product: JaxProduct
    settings: Any

    @property
    @abstractmethod
    def steps_per_iteration(self) -> int:
        """Steps of all environments in an iteration."""

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

TESTS = 0x7E57
"""Keeps the keys of evaluations apart from those of training."""


class Episodes(NamedTuple):
    """Results of evaluation episodes, [N] each."""

    returns: jax.Array
    discounted: jax.Array  # rewards before the first action, and for it, count in full
    steps: jax.Array
    ends: jax.Array  # the machine's last state
    cut_off: jax.Array  # whether the stack was full
    fault: jax.Array  # as in `Envs`

    def of_run(self, run: int) -> Episodes:
        """Those of one of several runs."""
        return Episodes(*(part[run] for part in self))

    def read(self, machine: PushdownRewardMachine) -> Test:
        """The evaluation of one run; the machine names the last states."""
        returns, steps, ends = (np.asarray(part) for part in (self.returns, self.steps, self.ends))
        names = np.array((*machine.states, *machine.final))
        return Test(settle_returns(returns), steps.astype(np.int64), names[ends])


def check_followed(product: JaxProduct, fault: jax.Array) -> None:
    """Raise if the machine could not follow: compiled code cannot raise, so it keeps the highest status."""
    worst = int(fault.max())
    if worst == FINISHED:
        said = "the machine is in a final state before the first action"
        raise FinishedAtReset(said, fix="let the first label, not the start, lead there")
    if worst == OVERFLOW:
        depth = product.machine.depth
        said = f"the stack that an episode begins with does not fit a depth of {depth}"
        raise BadSetting(said, fix="a larger depth")
    if worst == UNDEFINED:
        said = "the machine met a label for which it has no rule, and says `otherwise error`"
        fix = "add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine"
        raise UndefinedMove(said, fix=fix)


class _Playing(NamedTuple):
    state: ProductState
    memory: Carry
    played: Episodes
    over: jax.Array


def play(algorithm: Algorithm, network: Any, key: Key, episodes: int) -> Episodes:
    """Episodes side by side, each up to its end or the limit."""
    product = algorithm.product
    state, paid, status = jax.vmap(product.begin)(key_of(key, jnp.arange(episodes)))
    none = jnp.zeros(episodes, jnp.bool_)
    first = Episodes(paid, paid, state.clock, state.configuration.state, none, status)
    fall = jnp.log1p(jnp.asarray(algorithm.settings.discount - 1.0, jnp.float32))

    def step(playing: _Playing) -> _Playing:
        before, clock = playing.played, playing.state.clock
        seen = jax.vmap(product.observe)(playing.state)
        memory, action = algorithm.act(network, playing.memory, seen, clock == 0)
        state, outcome = jax.vmap(product.step)(playing.state, action)
        # The power of the discount, closer than that of a rounded one.
        counts = jnp.where(clock == 0, 1.0, jnp.exp(clock * fall))
        after = Episodes(
            before.returns + outcome.reward,
            before.discounted + outcome.reward * counts,
            state.clock,
            state.configuration.state,
            outcome.truncated & (outcome.status == OVERFLOW),
            jnp.maximum(before.fault, jnp.where(outcome.status == UNDEFINED, UNDEFINED, OK)),
        )
        over = playing.over | outcome.terminated | outcome.truncated
        return _Playing(state, memory, select(playing.over, before, after), over)

    start = _Playing(state, algorithm.empty_memory(episodes), first, none)
    done: _Playing = jax.lax.while_loop(lambda now: ~now.over.all(), step, start)
    return done.played
