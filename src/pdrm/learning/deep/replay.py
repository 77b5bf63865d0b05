"""Experience of off-policy agents (DQN, SAC): a replay buffer of labelled transitions, and counterfactuals made from it (Section 6).

The buffer holds what the environment did and where the machine stood, not what was observed. So a sampled transition can be
seen with any other configuration of the machine: counterfactual experience is made when sampling, and memory does not grow.

For a k-policy a stack matters only through its top symbols (`relevant_depth`): those that the steps of a window can pop,
and what is seen or looked at below them. So the stacks observed so far are kept as a table of such tops, and a counterfactual
is any machine state that is not final with any of them. If a window is too long for that, it ends before it would look
deeper than what is kept. `sb3` makes the same choice for Stable-Baselines3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from pdrm.errors import BadSetting
from pdrm.learning.deep.networks import take
from pdrm.machines.heads import relevant_depth
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.jax_env.jax_product import JaxMachine, PackedConfiguration


class Row(NamedTuple):
    """A labelled transition; in the buffer [capacity, N, ...], written round and round, one per step for each environment."""

    before: Array  # the domain's observation, without the machine's
    action: Array
    after: Array
    label: Array
    reward: Array  # the environment's own
    terminated: Array  # whether the environment itself ended there (truncation does not count)
    over: Array  # whether the episode ended there, for whatever reason
    configuration: PackedConfiguration  # the machine's, before


# --- The experience of a window, with the machine in any configuration at its start.


class Experience(NamedTuple):
    """Rows for an agent without knowledge of machines, [B, ...]."""

    seen: Array
    action: Array
    reward: Array  # of up to `n_steps` steps, as the networks see it, discounted and summed
    following: Array  # what is seen after them
    terminated: Array
    discount: Array  # γ to the number of these steps
    weight: Array  # 0 if the machine has no move or its stack is full: nothing is learnt then

    def target(self, value: Array) -> Array:
        """[B]: the critic's target, given the values of the next observations."""
        return self.reward + self.discount * jnp.where(self.terminated, 0, value)


class WindowCarry(NamedTuple):
    """The state within a window."""

    configuration: PackedConfiguration
    after: Array
    reward: Array
    discount: Array
    terminated: Array
    going: Array
    weight: Array


# --- Counterfactuals: windows replayed with other machine states and with tops of stacks that were observed.

MAX_TOPS = 100_000
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

    def number(self, configuration: PackedConfiguration) -> Array:
        """The number of a configuration's stack."""
        digits = self.machine.top(configuration, self.symbols)
        values = jnp.asarray(self.machine.symbols ** np.arange(self.symbols), jnp.int32)
        return (digits * values).sum()

    def pack(self, state: Array, number: Array) -> PackedConfiguration:
        """The state with the stack of that number (and nothing below)."""
        base = self.machine.symbols
        return self.machine.pack(state, number // base ** np.arange(self.symbols) % base)

    def least(self, configuration: PackedConfiguration) -> Array:
        """Symbols that a stack made from a number must have for one more step: none if it is the whole stack that was
        observed, not the top of a higher one."""
        whole = (configuration.height < self.symbols) | (self.symbols >= self.machine.depth)
        return jnp.where(whole, 0, self.needed)

    def note(self, observed: Array, configurations: PackedConfiguration) -> Array:
        """The table [tops] of those observed, with the stacks of these configurations [N]."""
        return observed.at[jax.vmap(self.number)(configurations)].set(True)


def choose_symbols(
    machine: PushdownRewardMachine, k: int, depth: int, steps: int
) -> tuple[int, int]:
    """The symbols of a stack that are kept for counterfactual windows of several steps, and those of them that one step needs."""
    needed, whole = (relevant_depth(machine, k, several) for several in (1, steps))
    things = 1 + len(machine.stack)
    if needed is None or whole is None or things ** min(needed, depth) > MAX_TOPS:
        fault = "the tops of stacks that one step may look at are too many to keep"
        raise BadSetting(fault, fix="a smaller k, or counterfactuals=0")
    kept = min(needed, depth)
    while kept < min(whole, depth) and things ** (kept + 1) <= MANY_TOPS:
        kept += 1
    return kept, needed


def sample_windows(replay: Row, written: Array, key: Array, count: int, length: int) -> Row:
    """Windows of consecutive rows [count, length, ...], uniformly, with replacement.

    written: how often each environment's rows were; key: of `jax.random`.
    """
    capacity, envs = replay.label.shape
    which, env = jax.random.split(key)
    filled = jnp.minimum(written, capacity)
    first = jax.random.randint(which, (count, 1), 0, jnp.maximum(filled - length + 1, 1))
    place = (written - filled + first + jnp.arange(length)) % capacity
    column = jax.random.randint(env, (count, 1), 0, envs)
    return take(replay, (place, column))
