"""Experience of off-policy agents (DQN, SAC): a replay buffer of labelled transitions, and counterfactuals made from it (Section 6).

The buffer holds what the environment did and where the machine stood, not what was observed. So a sampled transition can be
seen with any other configuration of the machine: counterfactual experience is made when sampling, and memory does not grow.

For a k-policy a stack matters only through its top symbols (`symbols_that_matter`): those that the steps of a window can pop,
and what is seen or looked at below them. So the stacks observed so far are kept as a table of such tops, and a counterfactual
is any machine state that is not final with any of them. If a window is too long for that, it ends before it would look
deeper than what is kept. `sb3` makes the same choice for Stable-Baselines3.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.errors import BadSetting
from pdrm.learning.agents import OffPolicy
from pdrm.learning.deep import networks as nn
from pdrm.learning.deep.algorithm import Algorithm
from pdrm.learning.deep.many_envs import (
    Envs,
    action_keys,
    begin_envs,
    scale_reward,
    step_envs,
)
from pdrm.machines.heads import symbols_that_matter
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.jax_env.jax_domain import Key, key_of
from pdrm.product.jax_env.jax_product import OK, JaxMachine, Packed


class Row(NamedTuple):
    """A labelled transition; in the buffer [capacity, N, ...], written round and round, one per step for each environment."""

    before: jax.Array  # the domain's observation, without the machine's
    action: jax.Array
    after: jax.Array
    label: jax.Array
    reward: jax.Array  # the environment's own
    terminated: jax.Array  # whether the environment itself ended there (truncation does not count)
    over: jax.Array  # whether the episode ended there, for whatever reason
    configuration: Packed  # the machine's, before


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
        base = self.machine.symbols
        return self.machine.pack(state, number // base ** np.arange(self.symbols) % base)

    def least(self, configuration: Packed) -> jax.Array:
        """Symbols that a stack made from a number must have for one more step: none if it is the whole stack that was
        observed, not the top of a higher one."""
        whole = (configuration.height < self.symbols) | (self.symbols >= self.machine.depth)
        return jnp.where(whole, 0, self.needed)

    def note(self, observed: jax.Array, configurations: Packed) -> jax.Array:
        """The table [tops] of those observed, with the stacks of these configurations [N]."""
        return observed.at[jax.vmap(self.number)(configurations)].set(True)


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


# --- The agents that learn from it.


class Learnt(NamedTuple):
    """What an update changes."""

    network: Any
    target: Any  # the slow copy
    optimiser: Any


class OffPolicyState(NamedTuple):
    """The state of a run."""

    learnt: Learnt
    envs: Envs
    replay: Row  # [capacity, N, ...]: the buffer
    tops: jax.Array  # [tops]: which tops of stacks were observed
    key: Key
    timesteps: jax.Array

    @property
    def network(self) -> Any:
        """The network."""
        return self.learnt.network


@dataclass(frozen=True, eq=False)
class OffPolicyAlgorithm(Algorithm):
    """DQN or SAC: an iteration is `train_freq` steps of all environments and `gradient_steps` updates."""

    settings: OffPolicy

    @abstractmethod
    def begin_learning(self, network: Any) -> Learnt:
        """Before the first update."""

    @abstractmethod
    def explore(self, state: OffPolicyState, seen: jax.Array, keys: Key) -> jax.Array:
        """[N] or [N, action size]: the actions of training; keys: [N]."""

    @abstractmethod
    def update_inputs(self, key: Key) -> jax.Array:
        """[gradient_steps]: what tells the updates of an iteration apart, keys or numbers."""

    @abstractmethod
    def update(self, state: OffPolicyState, learnt: Learnt, one: jax.Array, /) -> Learnt:
        """The result of one update, told apart by `one`."""

    @property
    def steps_per_iteration(self) -> int:
        """Steps of all environments in an iteration."""
        return self.settings.train_freq * self.settings.n_envs

    @cached_property
    def tops(self) -> Tops:
        """The tops of stacks that matter to the policy; without counterfactuals one, of no symbols."""
        product, machine, steps = self.product, self.product.machine, self.settings.n_steps
        if not self.settings.counterfactuals:
            return Tops(machine, 0, 0)
        return Tops(machine, *choose_symbols(product.readable, product.k, machine.depth, steps))

    def begin(self, network: Any, key: Key) -> OffPolicyState:
        """The state before the first step."""
        settings, domain, count = self.settings, self.product.domain, self.settings.n_envs
        envs = begin_envs(self.product, settings, key_of(key, 1))
        action = jnp.zeros(count, jnp.int32)
        if not domain.actions:
            action = jnp.zeros((count, domain.action_size))
        row = jax.eval_shape(self.step, envs, action)[1]
        capacity = max(1, settings.buffer_size // count)
        replay: Row = jax.tree.map(lambda part: jnp.zeros((capacity, *part.shape), part.dtype), row)
        tops = jnp.zeros(self.tops.count, jnp.bool_)
        tops = self.tops.note(tops, envs.state.configuration)
        learnt = self.begin_learning(network)
        return OffPolicyState(learnt, envs, replay, tops, key_of(key, 2), jnp.int32(0))

    def iterate(self, state: OffPolicyState) -> OffPolicyState:
        """Collect, then learn, once `learning_starts` steps have been taken."""
        state = self.collect(state)

        def update(learnt: Learnt, one: jax.Array) -> tuple[Learnt, None]:
            return self.update(state, learnt, one), None

        after, _ = jax.lax.scan(update, state.learnt, self.update_inputs(state.key))
        learning = state.timesteps > self.settings.learning_starts
        learnt = nn.select(learning, after, state.learnt)
        return state._replace(learnt=learnt, key=key_of(state.key, 0))

    def step(self, envs: Envs, action: jax.Array) -> tuple[Envs, Row, Packed]:
        """One action for each environment, [N, ...]; the transitions, and the machine's configurations after them."""
        observe = jax.vmap(self.product.domain.observe)
        stepped = step_envs(self.product, envs, action)
        row = Row(
            observe(envs.state.environment),
            action,
            observe(stepped.last.environment),
            stepped.outcome.label,
            stepped.outcome.environment_reward,
            stepped.outcome.environment_terminated,
            stepped.over,
            envs.state.configuration,
        )
        return stepped.envs, row, stepped.last.configuration

    def collect(self, state: OffPolicyState) -> OffPolicyState:
        """The state after `train_freq` steps of every environment."""
        capacity = len(state.replay.label)

        def step(now: OffPolicyState, _: None) -> tuple[OffPolicyState, None]:
            seen = jax.vmap(self.product.observe)(now.envs.state)
            action = self.explore(state, seen, action_keys(now.envs))
            envs, row, configurations = self.step(now.envs, action)
            place = now.timesteps // self.settings.n_envs % capacity
            replay: Row = jax.tree.map(
                lambda whole, part: whole.at[place].set(part), now.replay, row
            )
            tops = self.tops.note(now.tops, configurations)
            timesteps = now.timesteps + self.settings.n_envs
            return now._replace(envs=envs, replay=replay, tops=tops, timesteps=timesteps), None

        length = self.settings.train_freq
        collected: OffPolicyState = jax.lax.scan(step, state, None, length=length)[0]
        return collected

    def sample(self, state: OffPolicyState, key: jax.Array) -> Experience:
        """Windows as they were, then each several times with a machine state and an observed top drawn at random.

        key: of `jax.random`. Returns [batch_size * (1 + counterfactuals)] rows.
        """
        settings, tops = self.settings, self.tops
        for_rows, for_others = jax.random.split(key)
        written = state.timesteps // settings.n_envs
        rows = sample_windows(
            state.replay, written, for_rows, settings.batch_size, settings.n_steps
        )
        first: Packed = jax.tree.map(lambda part: part[:, 0], rows.configuration)
        real = (rows, first, jnp.zeros_like(rows.label[:, 0]))
        copies = settings.counterfactuals
        if not copies:
            return jax.vmap(self.replay_window)(*real)
        again: Row = jax.tree.map(lambda part: jnp.repeat(part, copies, axis=0), rows)
        count = len(again.label)
        for_state, for_top = jax.random.split(for_others)
        state_number = jax.random.randint(for_state, (count,), 0, tops.machine.table.first_final)
        up_to = jnp.cumsum(state.tops)
        drawn = jax.random.randint(for_top, (count,), 0, up_to[-1])
        number = jnp.searchsorted(up_to, drawn, side="right")
        imagined = jax.vmap(tops.pack)(state_number, number)
        other = (again, imagined, jax.vmap(tops.least)(imagined))
        both = jax.tree.map(lambda *parts: jnp.concatenate(parts), real, other)
        return jax.vmap(self.replay_window)(*both)

    def replay_window(
        self, rows: Row, configuration: Packed, least: jax.Array | int = 0
    ) -> Experience:
        """A window [n_steps, ...] with the machine in this configuration at first, up to the end of the episode.

        least: it goes no further with fewer symbols than this on the stack (what is below them is not known).
        """
        product, settings = self.product, self.settings

        def step(now: _Within, row: Row) -> tuple[_Within, None]:
            after, paid, status = product.machine.step(now.configuration, row.label)
            ended = row.terminated | product.machine.final(after)
            gained = now.reward + now.discount * scale_reward(settings, row.reward + paid)
            weight = jnp.where(status == OK, now.weight, 0.0)
            going = ~ended & ~row.over & (after.height >= least)
            discount = now.discount * settings.discount
            later = _Within(after, row.after, gained, discount, ended, going, weight)
            return nn.select(now.going, later, now), None

        true, zero, one = jnp.bool_(True), jnp.float32(0), jnp.float32(1)
        start = _Within(configuration, rows.after[0], zero, one, ~true, true, one)
        end: _Within = jax.lax.scan(step, start, rows)[0]
        last, terminated, discount = end.configuration, end.terminated, end.discount
        seen = product.seen(rows.before[0], configuration)
        following = product.seen(end.after, last)
        reward = end.reward
        if product.potential is not None:  # the potentials between the two cancel out
            reward += product.potential.reward(configuration, last, terminated, discount)
        return Experience(seen, rows.action[0], reward, following, terminated, discount, end.weight)


def sample_windows(replay: Row, written: jax.Array, key: jax.Array, count: int, length: int) -> Row:
    """Windows of consecutive rows [count, length, ...], uniformly, with replacement.

    written: how often each environment's rows were; key: of `jax.random`.
    """
    capacity, envs = replay.label.shape
    which, env = jax.random.split(key)
    filled = jnp.minimum(written, capacity)
    first = jax.random.randint(which, (count, 1), 0, jnp.maximum(filled - length + 1, 1))
    place = (written - filled + first + jnp.arange(length)) % capacity
    column = jax.random.randint(env, (count, 1), 0, envs)
    windows: Row = jax.tree.map(lambda part: part[place, column], replay)
    return windows
