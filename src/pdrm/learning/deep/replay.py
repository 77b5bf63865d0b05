"""Experience of off-policy agents (DQN, SAC): a replay buffer of labelled transitions, and
counterfactuals made from it (Section 6).

The buffer contains the environment's transitions and the machine's configurations, not
observations. So a sampled transition can be replayed with any other configuration:
counterfactuals are made when sampling, and need no memory.

For a k-policy, only the top symbols of a stack matter (`relevant_depth`): those that the
steps of a window can pop, and those below them that it sees or that the machine looks at. So
the buffer has a table of observed tops. A counterfactual is any machine state that is not
final with any of these tops. If a window is too long for that, it ends before it would look
deeper than the recorded symbols. `sb3` does the same for Stable-Baselines3.
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
    """A labelled transition.

    The ring buffer, [capacity, N, ...], has one row per step and environment.
    """

    before: Array  # the observation of the domain, without the machine
    action: Array
    after: Array
    label: Array
    reward: Array  # of the environment
    terminated: Array  # True if the environment ended (not if it was truncated)
    over: Array  # True if the episode ended for any reason
    configuration: PackedConfiguration  # of the machine, before the step


# --- The experience of a window that starts in any configuration of the machine.


class Experience(NamedTuple):
    """Rows for an agent that does not know of machines, [B, ...]."""

    seen: Array
    action: Array
    reward: Array  # the scaled, discounted return of up to `n_steps` steps
    following: Array  # the observation after them
    terminated: Array
    discount: Array  # γ to the number of these steps
    weight: Array  # 0 if the machine has no move or its stack is full

    def target(self, value: Array) -> Array:
        """[B]: the critic's target, given the values of the next observations."""
        return self.reward + self.discount * jnp.where(self.terminated, 0, value)


class WindowCarry(NamedTuple):
    """The state in a window."""

    configuration: PackedConfiguration
    after: Array  # the observation of the domain
    reward: Array  # the return so far
    discount: Array  # of the next reward
    terminated: Array
    going: Array  # False after the end of the window
    weight: Array


# --- Counterfactuals: windows with other machine states and observed tops of stacks.

MAX_TOPS = 100_000
"""Maximum number of different tops for one step."""
MANY_TOPS = 10_000
"""Maximum number of different tops for several steps. With more, windows become shorter. The
table is searched at every update."""


@dataclass(frozen=True, slots=True, eq=False)
class Tops:
    """The different tops of stacks, numbered with symbols as digits, the topmost one first."""

    machine: JaxMachine
    symbols: int  # recorded symbols of a stack
    needed: int  # symbols that one step needs

    @property
    def count(self) -> int:
        """The number of different tops."""
        return int(self.machine.symbols**self.symbols)

    def number(self, configuration: PackedConfiguration) -> Array:
        """The number of a configuration's stack."""
        digits = self.machine.top(configuration, self.symbols)
        values = jnp.asarray(self.machine.symbols ** np.arange(self.symbols), jnp.int32)
        return (digits * values).sum()

    def pack(self, state: Array, number: Array) -> PackedConfiguration:
        """The configuration of a machine state with the stack of a number."""
        base = self.machine.symbols
        return self.machine.pack(state, number // base ** np.arange(self.symbols) % base)

    def least(self, configuration: PackedConfiguration) -> Array:
        """Symbols that a stack made from a number must have for one more step.

        None if it is the whole observed stack, and not the top of a higher one.
        """
        is_whole = (configuration.height < self.symbols) | (self.symbols >= self.machine.depth)
        return jnp.where(is_whole, 0, self.needed)

    def note(self, observed: Array, configurations: PackedConfiguration) -> Array:
        """The table [tops] of observed tops after these configurations [N]."""
        return observed.at[jax.vmap(self.number)(configurations)].set(True)


def choose_symbols(
    machine: PushdownRewardMachine, k: int, depth: int, steps: int
) -> tuple[int, int]:
    """The numbers of symbols to record for windows, and that one step needs."""
    needed = relevant_depth(machine, k)
    wanted = relevant_depth(machine, k, steps)
    base = 1 + len(machine.stack)
    if needed is None or wanted is None or base ** min(needed, depth) > MAX_TOPS:
        fault = "one step can look at too many different tops of stacks"
        raise BadSetting(fault, fix="a smaller k, or counterfactuals=0")
    recorded = min(needed, depth)
    while recorded < min(wanted, depth) and base ** (recorded + 1) <= MANY_TOPS:
        recorded += 1
    return recorded, needed


def sample_windows(replay: Row, written: Array, key: Array, count: int, length: int) -> Row:
    """[count, length, ...]: windows of consecutive rows, drawn uniformly with replacement.

    Args:
        replay: The buffer.
        written: The number of rows written for each environment.
        key: A key of `jax.random`.
        count: The number of windows.
        length: Their length.
    """
    capacity, envs = replay.label.shape
    row_key, env_key = jax.random.split(key)
    filled = jnp.minimum(written, capacity)
    first = jax.random.randint(row_key, (count, 1), 0, jnp.maximum(filled - length + 1, 1))
    row = (written - filled + first + jnp.arange(length)) % capacity
    env = jax.random.randint(env_key, (count, 1), 0, envs)
    return take(replay, (row, env))
