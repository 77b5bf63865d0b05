"""Experience of off-policy agents (DQN, SAC): a replay buffer of labelled transitions, and counterfactuals made from it (Section 6).

The buffer holds what the environment did and where the machine stood, not what was observed. So a sampled transition can be
seen with any other configuration of the machine: counterfactual experience is made when sampling, and memory does not grow.

For a k-policy a stack matters only through its top symbols (`symbols_that_matter`): those that the steps of a window can pop,
and what is seen or looked at below them. So the stacks observed so far are kept as a table of such tops, and a counterfactual
is any machine state that is not final with any of them. If a window is too long for that, it ends before it would look
deeper than what is kept. `sb3` makes the same choice for Stable-Baselines3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

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
    observe_envs,
    scale_reward,
    step_envs,
    sum_tally,
)
from pdrm.learning.deep.networks import select
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stack_bounds import symbols_that_matter
from pdrm.product.jax_env.jax_domain import Key
from pdrm.product.jax_env.jax_machine import OK, JaxMachine, Packed
from pdrm.product.jax_env.jax_product import JaxProduct

# --- The buffer: rows are written round and round, one per step for each environment.


class Row(NamedTuple):
    """A labelled transition."""

    before: jax.Array  # the domain's observation, without the machine's
    action: jax.Array
    after: jax.Array
    label: jax.Array
    reward: jax.Array  # the environment's own
    terminated: jax.Array  # whether the environment itself ended there (truncation does not count)
    over: jax.Array  # whether the episode ended there, for whatever reason
    configuration: Packed  # the machine's, before


class ReplayBuffer(NamedTuple):
    """Rows [capacity, N, ...], and the number of steps written."""

    rows: Row
    written: jax.Array


def empty_replay(like: Row, capacity: int) -> ReplayBuffer:
    """Room for `capacity` steps of rows like these [N, ...]."""
    rows: Row = jax.tree.map(lambda part: jnp.zeros((capacity, *part.shape), part.dtype), like)
    return ReplayBuffer(rows, jnp.int32(0))


def add_rows(replay: ReplayBuffer, rows: Row) -> ReplayBuffer:
    """The buffer with one more step of every environment, [N, ...]."""
    place = replay.written % replay.rows.label.shape[0]
    written: Row = jax.tree.map(lambda whole, part: whole.at[place].set(part), replay.rows, rows)
    return ReplayBuffer(written, replay.written + 1)


def sample_windows(replay: ReplayBuffer, key: jax.Array, count: int, length: int) -> Row:
    """Windows of consecutive rows [count, length, ...], uniformly, with replacement; key: of `jax.random`."""
    capacity, envs = replay.rows.label.shape[:2]
    which, env = jax.random.split(key)
    filled = jnp.minimum(replay.written, capacity)
    first = jax.random.randint(which, (count, 1), 0, jnp.maximum(filled - length + 1, 1))
    place = (replay.written - filled + first + jnp.arange(length)) % capacity
    column = jax.random.randint(env, (count, 1), 0, envs)
    windows: Row = jax.tree.map(lambda part: part[place, column], replay.rows)
    return windows


# --- The experience of a window, with the machine in any configuration at its start.


class Experience(NamedTuple):
    """Rows for an agent without knowledge of machines, [B, ...]."""

    seen: jax.Array
    action: jax.Array
    reward: jax.Array  # of up to `n_steps` steps, as the networks see it, discounted and summed
    following: jax.Array  # what is seen after them
    terminated: jax.Array
    discount: jax.Array  # γ to the number of these steps
    weight: jax.Array  # 0 if the machine has no move or its stack is full: nothing is learnt then

    def target(self, value: jax.Array) -> jax.Array:
        """[B]: the critic's target, given the values of the next observations."""
        return self.reward + self.discount * jnp.where(self.terminated, 0, value)


class _Within(NamedTuple):
    """The state within a window."""

    configuration: Packed
    after: jax.Array
    reward: jax.Array
    discount: jax.Array
    terminated: jax.Array
    going: jax.Array
    weight: jax.Array


def replay_window(
    product: JaxProduct,
    settings: OffPolicy,
    rows: Row,
    configuration: Packed,
    least: jax.Array | int = 0,
) -> Experience:
    """A window [n_steps, ...] with the machine in this configuration at first, up to the end of the episode.

    least: it goes no further with fewer symbols than this on the stack (what is below them is not known).
    """

    def step(now: _Within, row: Row) -> tuple[_Within, None]:
        after, paid, status = product.machine.step(now.configuration, row.label)
        ended = row.terminated | product.machine.final(after)
        gained = now.reward + now.discount * scale_reward(settings, row.reward + paid)
        weight = jnp.where(status == OK, now.weight, 0.0)
        going = ~ended & ~row.over & (after.height >= least)
        discount = now.discount * settings.discount
        later = _Within(after, row.after, gained, discount, ended, going, weight)
        return select(now.going, later, now), None

    true, zero = jnp.bool_(True), jnp.float32(0)
    start = _Within(configuration, rows.after[0], zero, jnp.float32(1), ~true, true, jnp.float32(1))
    end: _Within = jax.lax.scan(step, start, rows)[0]
    last, terminated, discount = end.configuration, end.terminated, end.discount
    seen = product.seen(rows.before[0], configuration)
    following = product.seen(end.after, last)
    reward = end.reward
    if product.potential is not None:  # the potentials between the two cancel out
        reward += product.potential.reward(configuration, last, terminated, discount)
    return Experience(seen, rows.action[0], reward, following, terminated, discount, end.weight)


# --- Counterfactuals: windows replayed with other machine states and with tops of stacks that were observed.

MOST_TOPS = 100_000
"""Tops of stacks for one step; more are refused."""
MANY_TOPS = 10_000
"""Tops for several steps; beyond, windows are shortened. The table is searched at every update."""


@dataclass(frozen=True, slots=True, eq=False)
class Tops:
    """The tops of stacks that can be told apart, numbered: symbols as digits, the topmost the lowest."""

    machine: JaxMachine
    symbols: int  # kept of a stack
    needed: int  # of them must be left for one more step

    @property
    def count(self) -> int:
        """Their number."""
        return int(self.machine.symbols**self.symbols)

    def number(self, configuration: Packed) -> jax.Array:
        """The number of a configuration's stack."""
        digits = self.machine.top(configuration, self.symbols)
        values = jnp.asarray(self.machine.symbols ** np.arange(self.symbols), jnp.int32)
        return (digits * values).sum()

    def pack(self, state: jax.Array, number: jax.Array) -> Packed:
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

    def least(self, configuration: Packed) -> jax.Array:
        """Symbols that a stack made from a number must have for one more step: none if it is the whole stack that was
        observed, not the top of a higher one."""
        whole = (configuration.height < self.symbols) | (self.symbols >= self.machine.depth)
        return jnp.where(whole, 0, self.needed)

    def note(self, observed: jax.Array, configurations: Packed) -> jax.Array:
        """The table [tops] of those observed, with the stacks of these configurations [N]."""
        return observed.at[jax.vmap(self.number)(configurations)].set(True)


def find_tops(product: JaxProduct, settings: OffPolicy) -> Tops | None:
    """The tops that matter to a policy that sees the product; None without counterfactuals."""
    if not settings.counterfactuals:
        return None
    machine = product.machine
    kept, needed = choose_symbols(product.readable, product.k, machine.depth, settings.n_steps)
    return Tops(machine, kept, needed)


def choose_symbols(
    machine: PushdownRewardMachine, k: int, depth: int, steps: int
) -> tuple[int, int]:
    """The symbols of a stack that are kept for counterfactual windows of several steps, and those of them that one step needs."""
    needed, whole = (symbols_that_matter(machine, k, several) for several in (1, steps))
    if needed is None or whole is None:
        fault = "one step of this machine may pop any number of symbols"
        raise BadSetting(fault, fix="counterfactuals=0")
    things, kept = 1 + len(machine.stack), min(needed, depth)
    if things**kept > MOST_TOPS:
        fault = f"{things}^{kept} tops of stacks are too many to keep"
        raise BadSetting(fault, fix="a smaller k, or counterfactuals=0")
    while kept < min(whole, depth) and things ** (kept + 1) <= MANY_TOPS:
        kept += 1
    return kept, needed


def replay_windows(
    product: JaxProduct, settings: OffPolicy, observed: jax.Array, rows: Row, key: jax.Array
) -> Experience:
    """Windows [count, length, ...] as they were, then each several times with a machine state and an observed top drawn at
    random; [count * (1 + counterfactuals)] rows."""

    def replay(rows: Row, configuration: Packed, least: jax.Array) -> Experience:
        return replay_window(product, settings, rows, configuration, least)

    first: Packed = jax.tree.map(lambda part: part[:, 0], rows.configuration)
    real, tops = (rows, first, jnp.zeros_like(rows.label[:, 0])), find_tops(product, settings)
    if tops is None:
        return jax.vmap(replay)(*real)
    copies = settings.counterfactuals or 0
    again: Row = jax.tree.map(lambda part: jnp.repeat(part, copies, axis=0), rows)
    count = len(again.label)
    for_state, for_top = jax.random.split(key)
    state = jax.random.randint(for_state, (count,), 0, product.machine.table.first_final)
    up_to = jnp.cumsum(observed)
    number = jnp.searchsorted(
        up_to, jax.random.randint(for_top, (count,), 0, up_to[-1]), side="right"
    )
    imagined = jax.vmap(tops.pack)(state, number)
    other = (again, imagined, jax.vmap(tops.least)(imagined))
    return jax.vmap(replay)(*jax.tree.map(lambda *parts: jnp.concatenate(parts), real, other))


# --- Collecting experience, and learning from batches of it.

Choose = Callable[[jax.Array, Key], jax.Array]
"""observations [N, inputs], keys [N] -> actions [N] or [N, action size]."""
Trainable = TypeVar("Trainable")
"""Networks and the states of their optimisers."""


class Past(NamedTuple):
    """The experience so far."""

    envs: Envs
    replay: ReplayBuffer
    tops: jax.Array  # [tops]: which tops of stacks were observed; empty without counterfactuals


def begin_past(product: JaxProduct, settings: OffPolicy, key: Key) -> Past:
    """Before the first step."""
    envs, count, domain = begin_envs(product, settings, key), settings.n_envs, product.domain
    action = (
        jnp.zeros(count, jnp.int32) if domain.actions else jnp.zeros((count, domain.action_size))
    )
    rows = jax.eval_shape(lambda: _rows(product, envs, action, step_envs(product, envs, action)))
    tops = find_tops(product, settings)
    observed = jnp.zeros(0 if tops is None else tops.count, jnp.bool_)
    if tops is not None:
        observed = tops.note(observed, envs.state.configuration)
    return Past(envs, empty_replay(rows, max(1, settings.buffer_size // count)), observed)


def collect(
    product: JaxProduct, settings: OffPolicy, past: Past, choose: Choose
) -> tuple[Past, Tally]:
    """`train_freq` steps of every environment."""
    tops = find_tops(product, settings)

    def step(past: Past, _: None) -> tuple[Past, Tally]:
        envs = past.envs
        action = choose(observe_envs(product, envs), action_keys(envs))
        stepped = step_envs(product, envs, action)
        replay = add_rows(past.replay, _rows(product, envs, action, stepped))
        observed = past.tops if tops is None else tops.note(past.tops, stepped.last.configuration)
        return Past(stepped.envs, replay, observed), stepped.tally

    past, tally = jax.lax.scan(step, past, None, length=settings.train_freq)
    return past, sum_tally(tally)


def _rows(product: JaxProduct, envs: Envs, action: jax.Array, stepped: Stepped) -> Row:
    """The transitions, [N, ...]; an ended episode with its own last observation."""
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


def steps_per_iteration(settings: OffPolicy) -> int:
    """Steps that an iteration takes, over all environments."""
    return settings.train_freq * settings.n_envs


def sample_batch(
    product: JaxProduct, settings: OffPolicy, past: Past, key: jax.Array
) -> Experience:
    """A batch, counterfactuals included; key: of `jax.random`."""
    for_rows, for_others = jax.random.split(key)
    windows = sample_windows(past.replay, for_rows, settings.batch_size, settings.n_steps)
    return replay_windows(product, settings, past.tops, windows, for_others)


def learn(
    settings: OffPolicy,
    timesteps: jax.Array,
    before: Trainable,
    update: Callable[[Trainable, Any], tuple[Trainable, None]],
    inputs: jax.Array,
) -> Trainable:
    """The result of an update per input, once `learning_starts` steps have been taken."""
    after, _ = jax.lax.scan(update, before, inputs)
    return select(timesteps > settings.learning_starts, after, before)
