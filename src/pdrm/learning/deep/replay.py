"""Experience of off-policy agents: a replay buffer of labelled transitions, and counterfactuals made when sampling (Section 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.errors import BadSetting
from pdrm.learning.agents import OffPolicy
from pdrm.learning.deep.many_envs import (
    Envs,
    Stepped,
    Tally,
    action_keys,
    begin_envs,
    observed,
    scaled,
    step_envs,
    summed,
)
from pdrm.learning.deep.networks import chosen
from pdrm.machines.pushdown_analysis import symbols_that_matter
from pdrm.product.jax_env.jax_domain import Key
from pdrm.product.jax_env.jax_machine import OK, JaxMachine, Packed
from pdrm.product.jax_env.jax_product import JaxProduct

# --- A replay buffer of labelled transitions: what the environment did and where the machine stood, not what was observed.
#
# So a sampled row can be seen with any other configuration of the machine: counterfactual experiences are made when sampling,
# and memory does not grow. Rows are written round and round, one a step for each environment.


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


# --- Counterfactual experiences for deep agents (CpRM, Section 6): sampled transitions seen with other configurations.
#
# For a k-policy a stack matters only through its top symbols: those that the steps of a window can pop, and what is seen or
# looked at below them. So the stacks observed so far are kept as a table of such tops, and an imagined configuration is any
# machine state with any of them. Where a window is too long for that, it ends before it would look deeper than what is kept.

MOST_TOPS = 100_000
"""What one step needs may take so many; more are refused."""
MANY_TOPS = 10_000
"""What several steps need may take so many; beyond, windows are shortened. The table is looked through at every update."""


class Experience(NamedTuple):
    """What an agent without knowledge of machines learns from, [rows, ...]."""

    seen: jax.Array
    action: jax.Array
    reward: jax.Array
    """Of up to `n_steps` steps, as the networks see it, discounted and summed."""
    following: jax.Array
    """What is seen after them."""
    terminated: jax.Array
    discount: jax.Array
    """What the value of what follows is multiplied by: γ to the number of these steps."""
    weight: jax.Array
    """0 where the machine has no move, or its stack is full: such a row teaches nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Tops:
    """The tops of stacks that can be told apart, numbered: symbols as digits, the topmost the lowest."""

    machine: JaxMachine
    symbols: int
    """How many of a stack are kept."""
    needed: int
    """How many of them must be left for one more step."""

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.machine.symbols**self.symbols)

    def number(self, configuration: Packed) -> jax.Array:
        """Of a configuration's stack."""
        digits = self.machine.top(configuration, self.symbols)
        return (digits * jnp.asarray(self.machine.symbols ** np.arange(self.symbols), jnp.int32)).sum()

    def packed(self, state: jax.Array, number: jax.Array) -> Packed:
        """The state with the stack of that number (and nothing below)."""
        base, machine = self.machine.symbols, self.machine
        words = [jnp.uint32(0)] * -(-machine.depth // machine.symbols_per_word)
        height = jnp.int32(0)
        for place in range(self.symbols):
            digit = (number // base**place % base).astype(jnp.uint32)
            word, shift = divmod(place, machine.symbols_per_word)
            words[word] = words[word] | (digit << (machine.bits * shift))
            height = height + (digit > 0)
        return Packed(state, jnp.stack(words), height)

    def whole(self, configuration: Packed) -> jax.Array:
        """Whether a stack made from a number is all of the one observed, not the top of a higher one."""
        return (configuration.height < self.symbols) | (self.symbols >= self.machine.depth)


def tops_of(product: JaxProduct, settings: OffPolicy) -> Tops | None:
    """The tops that matter to a policy that sees the product; None where nothing is imagined."""
    if settings.counterfactuals == 0:
        return None
    if product.readable is None:
        raise BadSetting("this product has no readable machine to imagine with", fix="make it with jax_product")
    needed, whole = (symbols_that_matter(product.readable, product.k, steps) for steps in (1, settings.n_steps))
    if needed is None or whole is None:
        raise BadSetting("one step of this machine may pop any number of symbols", fix="counterfactuals=0")
    depth, things = product.machine.depth, product.machine.symbols
    if things ** min(needed, depth) > MOST_TOPS:
        count = f"{things}^{min(needed, depth)}"
        raise BadSetting(f"{count} tops of stacks are too many to keep", fix="a smaller k, or counterfactuals=0")
    kept = min(needed, depth)
    while kept < min(whole, depth) and things ** (kept + 1) <= MANY_TOPS:
        kept += 1
    return Tops(product.machine, kept, needed)


def noted(tops: Tops, observed: jax.Array, configuration: Packed) -> jax.Array:
    """The table [tops] of what was observed, with these configurations [n_envs]."""
    numbers = jax.vmap(tops.number)(configuration)
    return observed.at[numbers].set(True)


def expanded(product: JaxProduct, settings: OffPolicy, observed: jax.Array, rows: Row, key: jax.Array) -> Experience:
    """The windows as they were, then each several times with a machine state and an observed stack drawn at random."""
    tops, more = tops_of(product, settings), settings.counterfactuals
    real: Any = jax.tree.map(lambda part: part[:, 0], rows.configuration)
    if tops is None:
        return jax.vmap(lambda row, at: experience(product, settings, row, at))(rows, real)
    again: Any = jax.tree.map(lambda part: jnp.repeat(part, more, axis=0), rows)
    count = len(again.label)
    for_state, for_top = jax.random.split(key)
    state = jax.random.randint(for_state, (count,), 0, product.machine.table.first_final)
    up_to = jnp.cumsum(observed)
    number = jnp.searchsorted(up_to, jax.random.randint(for_top, (count,), 0, up_to[-1]), side="right")
    imagined = jax.vmap(tops.packed)(state, number)
    least = jnp.where(jax.vmap(tops.whole)(imagined), 0, tops.needed)
    lived, dreamt = (rows, real, jnp.zeros_like(rows.label[:, 0])), (again, imagined, least)
    both: Any = jax.tree.map(lambda one, other: jnp.concatenate((one, other)), lived, dreamt)
    return jax.vmap(lambda row, at, least: experience(product, settings, row, at, least))(
        Row(*both[0]), Packed(*both[1]), both[2]
    )


class _Along(NamedTuple):
    """Where an imagined run stands within a window."""

    configuration: Packed
    after: jax.Array
    reward: jax.Array
    discount: jax.Array
    terminated: jax.Array
    going: jax.Array
    weight: jax.Array


def experience(
    product: JaxProduct, settings: OffPolicy, rows: Row, configuration: Packed, least: jax.Array | int = 0
) -> Experience:
    """A window [n_steps, ...] with the machine in this configuration at first, up to the end of the episode.

    least: it goes no further with fewer symbols than this on the stack (what is below them is not known).
    """

    def one(now: _Along, row: Row) -> tuple[_Along, None]:
        after, paid, status = product.machine.step(now.configuration, row.label)
        ended = row.terminated | product.machine.final(after)
        gained = now.reward + now.discount * scaled(settings, row.reward + paid)
        weight = jnp.where(status == OK, now.weight, 0.0)
        going = ~ended & ~row.over & (after.height >= least)
        next_ = _Along(after, row.after, gained, now.discount * settings.gamma, ended, going, weight)
        return chosen(now.going, next_, now), None

    true, zero = jnp.bool_(True), jnp.float32(0)
    start = _Along(configuration, rows.after[0], zero, jnp.float32(1), ~true, true, jnp.float32(1))
    end: _Along = jax.lax.scan(one, start, rows)[0]
    seen, following = product.seen(rows.before[0], configuration), product.seen(end.after, end.configuration)
    return Experience(seen, rows.action[0], end.reward, following, end.terminated, end.discount, end.weight)


# --- What an off-policy agent lives through: environments, the replay buffer, and the stacks observed on the way.

Choose = Callable[[jax.Array, Key], jax.Array]
"""observations, keys -> actions."""


class Experiences(NamedTuple):
    """All of it."""

    envs: Envs
    replay: Replay
    tops: jax.Array
    """[tops]: which tops of stacks were observed; empty where nothing is imagined."""


def begin_experiences(product: JaxProduct, settings: OffPolicy, key: Key) -> Experiences:
    """Nothing lived through yet."""
    envs, count, domain = begin_envs(product, settings, key), settings.n_envs, product.domain
    action = jnp.zeros(count, jnp.int32) if domain.actions else jnp.zeros((count, domain.action_size))
    row = jax.eval_shape(lambda: _row(product, envs, action, step_envs(product, envs, action)))
    tops = tops_of(product, settings)
    seen = jnp.zeros(0 if tops is None else tops.count, jnp.bool_)
    if tops is not None:
        seen = noted(tops, seen, envs.state.configuration)
    return Experiences(envs, empty(row, max(1, settings.buffer_size // count)), seen)


def lived(product: JaxProduct, settings: OffPolicy, past: Experiences, choose: Choose) -> tuple[Experiences, Tally]:
    """`train_freq` steps of every environment."""
    tops = tops_of(product, settings)

    def one(past: Experiences, _: None) -> tuple[Experiences, Tally]:
        envs = past.envs
        action = choose(observed(product, envs), action_keys(envs))
        stepped = step_envs(product, envs, action)
        replay = added(past.replay, _row(product, envs, action, stepped))
        seen = past.tops if tops is None else noted(tops, past.tops, stepped.last.configuration)
        return Experiences(stepped.envs, replay, seen), stepped.tally

    past, tally = jax.lax.scan(one, past, None, length=settings.train_freq)
    return past, summed(tally)


def remembered(product: JaxProduct, settings: OffPolicy, past: Experiences, key: jax.Array) -> Experience:
    """A batch, with what is imagined beside it; key: of `jax.random`."""
    rows, imagined = jax.random.split(key)
    batch = sampled_rows(past.replay, rows, settings.batch_size, settings.n_steps)
    return expanded(product, settings, past.tops, batch, imagined)


def off_policy_rate(settings: OffPolicy, timesteps: jax.Array) -> Any:
    """The learning rate after so many steps."""
    if not settings.linear_decay:
        return settings.learning_rate
    return settings.learning_rate * jnp.maximum(0.0, 1.0 - timesteps / settings.total_timesteps)


def _row(product: JaxProduct, envs: Envs, action: jax.Array, stepped: Stepped) -> Row:
    """What happened, [n_envs], an ended episode with its own last observation."""
    outcome = stepped.outcome
    return Row(
        jax.vmap(product.domain.observe)(envs.state.environment),
        action,
        jax.vmap(product.domain.observe)(stepped.last.environment),
        outcome.label,
        outcome.environment_reward,
        outcome.environment_terminated,
        stepped.over,
        envs.state.configuration,
    )
