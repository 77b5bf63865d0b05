"""A learning algorithm on one product, its training environments, and its evaluation episodes.

An algorithm is frozen settings and pure functions. The caller compiles them and maps them
over seeds. Environments step together, and each restarts when its episode ends. N is the
number of environments or episodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from pdrm.errors import BadSetting, FinishedAtReset, PdrmError, UndefinedMove
from pdrm.learning.agents import Deep
from pdrm.learning.deep.networks import Rng, draw_numbers, select, take
from pdrm.learning.evaluation import SINGLE, round_sums
from pdrm.learning.protocol import EvaluationResult
from pdrm.learning.settings import Number
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import FINISHED, OK, OVERFLOW, UNDEFINED
from pdrm.product.jax_env.jax_domain import Key, key_of, make_key
from pdrm.product.jax_env.jax_product import JaxProduct, ProductState, ProductStep

Carry = Any
"""The memory of a policy: a tree of arrays, or () without memory."""


@dataclass(frozen=True, eq=False)
class Algorithm(ABC):
    """PPO, recurrent PPO, DQN or SAC. A state has at least `network`, `envs`, `key` and
    `timesteps` (of all environments)."""

    product: JaxProduct
    settings: Any

    @abstractmethod
    def new_network(self, rng: Rng) -> Any:
        """The initial parameters."""

    @abstractmethod
    def begin(self, network: Any, key: Key) -> Any:
        """The state before the first step."""

    @abstractmethod
    def iterate(self, state: Any) -> Any:
        """The state after an iteration, which collects experience and learns from it."""

    @abstractmethod
    def act(self, network: Any, memory: Carry, seen: Array, start: Array) -> tuple[Carry, Array]:
        """The actions without exploration, and the memories after them.

        Args:
            network: The parameters.
            memory: The memories.
            seen: [N, observation size]
            start: [N]: True at the start of an episode.
        """

    def empty_memory(self, _count: int) -> Carry:
        """The memories at the start of n episodes."""
        return ()


# --- Training environments.

ACTION_SALT = 0xA511E9B3
"""Makes the keys of actions differ from those of environments."""


class RestartPool(NamedTuple):
    """Situations of earlier training steps, in which episodes can start."""

    state: ProductState  # [RESTART_POOL_SIZE]: the last for each environment state, machine state and stack height
    known: Array  # [RESTART_POOL_SIZE]: True if there is one


class Envs(NamedTuple):
    """All environments, [N] each."""

    state: ProductState
    ended: Array  # ended episodes so far
    cut_off: Array  # ended episodes that a full stack truncated
    fault: Array  # the highest status so far that stops training: UNDEFINED, or OVERFLOW or FINISHED at a start
    visited: RestartPool | None = None  # None without restarts


def begin_envs(product: JaxProduct, settings: Deep, key: Key, *, restarts: bool = False) -> Envs:
    """Environments at their start.

    With `staggered`, their clocks are spread over the step limit. With `restarts`, they record
    situations.
    """
    numbers = jnp.arange(settings.n_envs)
    state, _, status = jax.vmap(product.begin)(key_of(key, numbers))
    if settings.staggered:
        spread = numbers * (product.domain.step_limit / settings.n_envs)
        state = state._replace(clock=spread.astype(jnp.int32))
    none = jnp.zeros_like(numbers)
    envs = Envs(state, none, none, status)
    if not restarts:
        return envs
    first = jax.tree.map(
        lambda part: jnp.broadcast_to(part[0], (RESTART_POOL_SIZE, *part.shape[1:])), state
    )
    return envs._replace(visited=RestartPool(first, jnp.zeros(RESTART_POOL_SIZE, jnp.bool_)))


def action_keys(envs: Envs) -> Key:
    """[N]: a key for each environment's next action."""
    return key_of(envs.state.key ^ jnp.uint32(ACTION_SALT), envs.state.clock)


class EnvStep(NamedTuple):
    """A step of all environments, [N] each."""

    envs: Envs  # after it, with new episodes for those that ended
    last: ProductState  # after it, before new episodes start
    outcome: ProductStep
    over: Array  # True if the episode ended


def step_envs(product: JaxProduct, envs: Envs, action: Array, restarts: Number = 0.0) -> EnvStep:
    """Take one action in each environment.

    Args:
        product: The product.
        envs: The environments.
        action: [N], or [N, action size].
        restarts: The share of episodes that start in situations of earlier ones.
    """
    last, outcome = jax.vmap(product.step)(envs.state, action)
    over = outcome.terminated | outcome.truncated
    state, _, start_status = jax.vmap(product.renew)(last, over)
    visited = envs.visited
    if visited is not None:
        visited = record_situations(visited, last, over)
        is_restart = (
            over & visited.known.any() & (draw_uniforms(state.key, RESTART_SALT) < restarts)
        )
        state = jax.vmap(select)(is_restart, draw_situations(visited, state), state)
        start_status = jnp.where(is_restart, OK, start_status)
    undefined = jnp.where(outcome.status == UNDEFINED, UNDEFINED, OK)
    after = Envs(
        state,
        envs.ended + over,
        envs.cut_off + (outcome.truncated & (outcome.status == OVERFLOW)),
        jnp.maximum(envs.fault, jnp.maximum(start_status, undefined)),
        visited,
    )
    return EnvStep(after, last, outcome, over)


# --- Restarts: episodes that start in situations of earlier ones.

MAX_RESTART_HEIGHT = 32
"""Maximum stack height of a recorded situation."""
RESTART_POOL_SIZE = 4_096
"""Maximum number of recorded situations. Further ones overwrite others."""
RESTARTS_PER_STATE = 8
"""Recorded situations per machine state and stack height, if states are not numbers."""
RESTART_SALT = 0x4E570000
"""Makes the keys of restarts differ from those of the episode."""


def record_situations(visited: RestartPool, met: ProductState, over: Array) -> RestartPool:
    """Record situations, [N], except of episodes that are over."""
    machine = met.configuration
    numbers = jnp.arange(len(over))
    is_numbered = isinstance(met.environment, Array) and met.environment.ndim == 1
    env_state = met.environment
    if not is_numbered:
        env_state = key_of(met.key, met.clock) % RESTARTS_PER_STATE
    key = key_of(machine.state.astype(jnp.uint32), machine.height)
    slot = (key_of(key, env_state) % RESTART_POOL_SIZE).astype(jnp.int32)
    skipped = over | (machine.height > MAX_RESTART_HEIGHT)
    slot = jnp.where(skipped, RESTART_POOL_SIZE, slot)
    # At most one situation for each slot: otherwise the order of writing would matter.
    last = jnp.full(RESTART_POOL_SIZE + 1, -1).at[slot].max(numbers)
    slot = jnp.where(last[slot] == numbers, slot, RESTART_POOL_SIZE)

    recorded: RestartPool = jax.tree.map(
        lambda old, new: old.at[slot].set(new, mode="drop"),
        visited,
        RestartPool(met, jnp.ones_like(over)),
    )
    return recorded


def draw_situations(visited: RestartPool, started: ProductState) -> ProductState:
    """[N]: recorded situations, drawn uniformly with the keys of new episodes."""
    count = jnp.cumsum(visited.known)
    drawn = (draw_uniforms(started.key, RESTART_SALT + 1) * count[-1]).astype(jnp.int32)
    slot = jnp.searchsorted(count, jnp.minimum(drawn, count[-1] - 1) + 1)
    situation = take(visited.state, slot)
    return situation._replace(key=started.key, clock=jnp.zeros_like(situation.clock))


def draw_uniforms(keys: Key, number: int) -> Array:
    """[N]: a number in [0, 1) for each key."""
    return draw_numbers(key_of(keys, number), 1)[:, 0]


# --- The rewards that networks learn from.


def scale_reward(settings: Deep, reward: Array) -> Array:
    """Rewards in the scale of the networks."""
    if settings.reward_scale is not None:
        reward = reward * settings.reward_scale
    if settings.reward_clip is None:
        return reward
    return jnp.clip(reward, -settings.reward_clip, settings.reward_clip)


# --- Evaluation episodes.

EVALUATION_SALT = 0x7E57
"""Makes the keys of evaluations differ from those of training."""


class Episodes(NamedTuple):
    """Results of evaluation episodes, [N] each."""

    returns: Array
    discounted: Array  # rewards before and for the first action are not discounted
    steps: Array
    ends: Array  # the machine's last state
    truncated: Array  # True if a limit ended it
    cut_off: Array  # True if that was a full stack
    fault: Array  # as in `Envs`
    over: Array

    def read(self, machine: PushdownRewardMachine) -> EvaluationResult:
        """The evaluation, with the names of the machine's states."""
        names = np.array((*machine.states, *machine.final))
        return EvaluationResult(
            round_sums(self.returns, SINGLE),
            np.asarray(self.steps, np.int64),
            names[np.asarray(self.ends)],
            discounted=np.asarray(self.discounted, np.float64),
            truncated=np.asarray(self.truncated),
            stack_full=np.asarray(self.cut_off),
        )


FAULTS: dict[int, tuple[type[PdrmError], str, str]] = {
    UNDEFINED: (
        UndefinedMove,
        "the machine read a label for which it has no rule (`otherwise error`)",
        "add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine",
    ),
    OVERFLOW: (
        BadSetting,
        "the stack at the start of an episode does not fit the depth",
        "a larger depth",
    ),
    FINISHED: (
        FinishedAtReset,
        "the machine is in a final state before the first action",
        "make the final state reachable only by reading a label",
    ),
}


def check_status(fault: Array) -> None:
    """Raise the error of the highest status. Compiled code cannot raise."""
    status = int(fault.max())
    if status != OK:
        kind, message, fix = FAULTS[status]
        raise kind(message, fix=fix)


Playing = tuple[ProductState, Carry, Episodes]


def play(algorithm: Algorithm, network: Any, seed: Array | int, episodes: int) -> Episodes:
    """Play episodes in parallel, each to its end or a limit."""
    product = algorithm.product
    key = key_of(make_key(seed), EVALUATION_SALT)
    state, reward, status = jax.vmap(product.begin)(key_of(key, jnp.arange(episodes)))
    no = jnp.zeros(episodes, jnp.bool_)
    ends = state.configuration.state
    first = Episodes(reward, reward, state.clock, ends, no, no, status, no)
    log_discount = jnp.log1p(jnp.asarray(algorithm.settings.discount - 1.0, jnp.float32))

    def step(playing: Playing) -> Playing:
        state, memory, before = playing
        clock = state.clock
        memory, action = algorithm.act(
            network, memory, jax.vmap(product.observe)(state), clock == 0
        )
        state, outcome = jax.vmap(product.step)(state, action)
        # More exact than a power of the discount in single precision.
        weight = jnp.where(clock == 0, 1.0, jnp.exp(clock * log_discount))
        after = Episodes(
            before.returns + outcome.reward,
            before.discounted + outcome.reward * weight,
            state.clock,
            state.configuration.state,
            outcome.truncated,
            outcome.truncated & (outcome.status == OVERFLOW),
            jnp.maximum(before.fault, jnp.where(outcome.status == UNDEFINED, UNDEFINED, OK)),
            outcome.terminated | outcome.truncated,
        )
        return state, memory, select(before.over, before, after)

    start = state, algorithm.empty_memory(episodes), first
    played: Episodes = jax.lax.while_loop(lambda playing: ~playing[2].over.all(), step, start)[2]
    return played
