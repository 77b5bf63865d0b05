"""A learning algorithm on one product, the environments that it trains in, and the episodes that it is tested by.

An algorithm is frozen settings and pure functions; the caller compiles them and maps them over seeds. Environments are begun,
stepped together, and restarted one by one as they end. N is the number of environments or episodes.
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
    def new_network(self, rng: Rng) -> Any:
        """The first parameters."""

    @abstractmethod
    def begin(self, network: Any, key: Key) -> Any:
        """The state before the first step."""

    @abstractmethod
    def iterate(self, state: Any) -> Any:
        """The state after an iteration: collect experience, and learn from it."""

    @abstractmethod
    def act(self, network: Any, memory: Carry, seen: Array, start: Array) -> tuple[Carry, Array]:
        """The actions without exploration, and the memories after them.

        seen: [N, observation size]; start: [N], whether an episode begins.
        """

    def empty_memory(self, _count: int) -> Carry:
        """The memories at the start of n episodes."""
        return ()


# --- Environments of training.

TO_ACT = 0xA511E9B3
"""Keeps the keys that actions are drawn with apart from the environment's own."""


class Visited(NamedTuple):
    """Situations met in training, in which episodes can begin."""

    state: ProductState  # [ROOM]: the last one met, for each environment state, machine state and height of the stack
    known: Array  # [ROOM]: whether there is one


class Envs(NamedTuple):
    """All environments, [N] each."""

    state: ProductState
    ended: Array  # the number of episodes that ended so far
    cut_off: Array  # the number of those that a full stack truncated
    fault: Array  # the highest status so far that stops training: UNDEFINED; OVERFLOW or FINISHED as an episode begins
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
    over: Array  # whether the episode ended


def step_envs(product: JaxProduct, envs: Envs, action: Array, restarts: Number = 0.0) -> Stepped:
    """One action for each, [N] or [N, action size]. restarts: the share of episodes that begin in situations of earlier ones."""
    last, outcome = jax.vmap(product.step)(envs.state, action)
    over = outcome.terminated | outcome.truncated
    state, _, begun = jax.vmap(product.renew)(last, over)
    visited = envs.visited
    if visited is not None:
        visited = note_visits(visited, last, over)
        elsewhere = over & visited.known.any() & (draw_shares(state.key, RESTART) < restarts)
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


def note_visits(visited: Visited, met: ProductState, over: Array) -> Visited:
    """Keep the situations that were met, [N], unless the episode is over."""
    machine, numbers = met.configuration, jnp.arange(len(over))
    numbered = isinstance(met.environment, Array) and met.environment.ndim == 1
    where = met.environment if numbered else key_of(met.key, met.clock) % SLOTS
    key = key_of(machine.state.astype(jnp.uint32), machine.height)
    place = (key_of(key, where) % ROOM).astype(jnp.int32)
    place = jnp.where(over | (machine.height > HEIGHTS), ROOM, place)
    # One for each place: otherwise the order of writing would matter.
    last = jnp.full(ROOM + 1, -1).at[place].max(numbers)
    place = jnp.where(last[place] == numbers, place, ROOM)

    kept: Visited = jax.tree.map(
        lambda old, new: old.at[place].set(new, mode="drop"),
        visited,
        Visited(met, jnp.ones_like(over)),
    )
    return kept


def draw_visited(visited: Visited, begun: ProductState) -> ProductState:
    """[N]: situations that were met, drawn uniformly with the keys of episodes that have just begun."""
    count = jnp.cumsum(visited.known)
    drawn = (draw_shares(begun.key, RESTART + 1) * count[-1]).astype(jnp.int32)
    place = jnp.searchsorted(count, jnp.minimum(drawn, count[-1] - 1) + 1)
    there = take(visited.state, place)
    return there._replace(key=begun.key, clock=jnp.zeros_like(there.clock))


def draw_shares(keys: Key, number: int) -> Array:
    """[N]: a number from 0 to below 1 for each key."""
    return draw_numbers(key_of(keys, number), 1)[:, 0]


# --- The rewards that networks learn from.


def scale_reward(settings: Deep, reward: Array) -> Array:
    """Rewards as the networks see them."""
    if settings.reward_scale is not None:
        reward = reward * settings.reward_scale
    if settings.reward_clip is None:
        return reward
    return jnp.clip(reward, -settings.reward_clip, settings.reward_clip)


# --- Test episodes: a policy without exploration, its raw returns, lengths and the machine's last states.

TESTS = 0x7E57
"""Keeps the keys of evaluations apart from those of training."""


class Episodes(NamedTuple):
    """Results of evaluation episodes, [N] each."""

    returns: Array
    discounted: Array  # rewards before the first action, and for it, count in full
    steps: Array
    ends: Array  # the machine's last state
    truncated: Array  # whether a limit ended it
    cut_off: Array  # whether that was a full stack
    fault: Array  # as in `Envs`
    over: Array

    def read(self, machine: PushdownRewardMachine) -> EvaluationResult:
        """The evaluation; the machine names the last states."""
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
        "the machine met a label for which it has no rule, and says `otherwise error`",
        "add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine",
    ),
    OVERFLOW: (
        BadSetting,
        "the stack that an episode begins with does not fit the depth",
        "a larger depth",
    ),
    FINISHED: (
        FinishedAtReset,
        "the machine is in a final state before the first action",
        "make the final state reachable only by reading a label",
    ),
}


def check_followed(fault: Array) -> None:
    """Raise if the machine could not follow: compiled code cannot raise, so it keeps the highest status."""
    worst = int(fault.max())
    if worst != OK:
        kind, said, fix = FAULTS[worst]
        raise kind(said, fix=fix)


Playing = tuple[ProductState, Carry, Episodes]


def play(algorithm: Algorithm, network: Any, seed: Array | int, episodes: int) -> Episodes:
    """Episodes side by side, each up to its end or the limit."""
    product, key = algorithm.product, key_of(make_key(seed), TESTS)
    state, paid, status = jax.vmap(product.begin)(key_of(key, jnp.arange(episodes)))
    none = jnp.zeros(episodes, jnp.bool_)
    first = Episodes(paid, paid, state.clock, state.configuration.state, none, none, status, none)
    fall = jnp.log1p(jnp.asarray(algorithm.settings.discount - 1.0, jnp.float32))

    def step(playing: Playing) -> Playing:
        state, memory, before = playing
        clock = state.clock
        memory, action = algorithm.act(
            network, memory, jax.vmap(product.observe)(state), clock == 0
        )
        state, outcome = jax.vmap(product.step)(state, action)
        # The power of the discount, closer than that of a rounded one.
        counts = jnp.where(clock == 0, 1.0, jnp.exp(clock * fall))
        after = Episodes(
            before.returns + outcome.reward,
            before.discounted + outcome.reward * counts,
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
