"""A machine in JAX, and its product with a JAX domain (Definition 2), as pure functions to vmap.

`JaxMachine` makes the moves of `pdrm.machines.tables`, on stacks of a fixed depth packed into
32-bit words. A symbol takes a few bits, and the top symbol is in the lowest bits of the first word.
So push and pop are shifts, and a step is arithmetic on a few integers. A push onto a full stack is
dropped and reported as OVERFLOW. The step stops there, because silent moves from a truncated stack
might never end. A label without a move changes nothing and is reported as UNDEFINED.

Observations of the product are those of `pdrm.wrap(..., flatten=True)`: the domain's vector, the
one-hot machine state, and the visible symbols one-hot. Episodes end at a final state
(`terminated`), at the step limit, or if the stack overflows (`truncated`). A reward before the
first action counts in the return, but is not the reward of an action.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.errors import BadSetting
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import FINISHED, OK, OVERFLOW, UNDEFINED
from pdrm.machines.tables import Symbols, Table, begin_table, tabulate
from pdrm.product.jax_env.jax_domain import JaxDomain, Key, State, key_of
from pdrm.product.observation import TopK, View
from pdrm.product.shaping import MachineOperators, Shaping, solve_machine


class PackedConfiguration(NamedTuple):
    """A configuration with its stack in 32-bit words."""

    state: jax.Array
    """int32"""
    words: jax.Array
    """[words] uint32: the stack, top first."""
    height: jax.Array
    """int32: the number of symbols."""


class MachineStep(NamedTuple):
    """The configuration after a label, the reward, and the status."""

    configuration: PackedConfiguration
    reward: jax.Array
    status: jax.Array


@dataclass(frozen=True, slots=True, eq=False)
class JaxMachine:
    """A machine's table, and the maximum number of symbols on the stack.

    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.machines.tables import tabulate
    >>> machine = JaxMachine(tabulate(catalogue("letter"), [frozenset("A")]), depth=8)
    >>> after = machine.step(machine.begin().configuration, 0)
    >>> machine.top(after.configuration, 3).tolist(), round(float(after.reward), 2)
    ([2, 1, 0], -0.01)
    """

    table: Table
    depth: int = 32

    @property
    def states(self) -> int:
        """The number of states, final ones included."""
        return len(self.table.silent)

    @property
    def symbols(self) -> int:
        """The number of different contents of a stack slot, including empty."""
        return int(self.table.move.shape[2])

    @property
    def bits(self) -> int:
        """Bits of a symbol."""
        return max(1, (self.symbols - 1).bit_length())

    @property
    def symbols_per_word(self) -> int:
        """Symbols in a word."""
        return 32 // self.bits

    def lowest(self, words: jax.Array) -> jax.Array:
        """The symbols in the lowest bits of words."""
        symbols: jax.Array = words & jnp.uint32((1 << self.bits) - 1)
        return symbols

    def begin(self) -> MachineStep:
        """Make the silent moves before the first label."""
        first = begin_table(self.table)
        if len(first.stack) > self.depth:
            fault = f"the machine's first stack does not fit a depth of {self.depth}"
            raise BadSetting(fault, fix="use a larger depth")
        packed = self.pack(first.state, first.stack)
        return MachineStep(packed, jnp.float32(first.reward), jnp.int32(OK))

    def pack(self, state: jax.Array | int, stack: jax.Array | Symbols) -> PackedConfiguration:
        """Pack a configuration given as numbers. Zeros after the stack, top first, are ignored."""
        symbols = jnp.asarray(stack, jnp.uint32)
        capacity = -(-self.depth // self.symbols_per_word) * self.symbols_per_word
        rows = jnp.pad(symbols, (0, capacity - len(symbols))).reshape(-1, self.symbols_per_word)
        words = (rows << self._shifts()).sum(axis=1, dtype=jnp.uint32)
        return PackedConfiguration(jnp.int32(state), words, (symbols > 0).sum(dtype=jnp.int32))

    def top(self, configuration: PackedConfiguration, k: int) -> jax.Array:
        """[k] int32: the top k symbols, 0 for empty slots."""
        words = configuration.words[: -(-k // self.symbols_per_word)]
        symbols = self.lowest(words[:, None] >> self._shifts()).reshape(-1)[:k]
        return jnp.pad(symbols, (0, k - len(symbols))).astype(jnp.int32)

    def _shifts(self) -> np.ndarray[Any, Any]:
        """The first bit of each symbol in a word."""
        return self.bits * np.arange(self.symbols_per_word, dtype=np.uint32)

    def final(self, configuration: PackedConfiguration) -> jax.Array:
        """True if the state is final."""
        return configuration.state >= self.table.first_final

    def step(self, configuration: PackedConfiguration, label: jax.Array | int) -> MachineStep:
        """Read a label, then make silent moves until none applies or the stack overflows."""
        table: Table = jax.tree.map(jnp.asarray, self.table)

        def silent_move(step: MachineStep) -> jax.Array:
            move: jax.Array = table.silent[step.configuration.state, self._top(step.configuration)]
            return move

        def is_silent(step: MachineStep) -> jax.Array:
            return (silent_move(step) >= 0) & (step.status != OVERFLOW)

        def take_silent(step: MachineStep) -> MachineStep:
            after = self._move(step.configuration, silent_move(step), step.reward)
            return after._replace(status=jnp.maximum(step.status, after.status))

        move = table.move[configuration.state, label, self._top(configuration)]
        after = self._move(configuration, move, jnp.float32(0))
        if isinstance(self.table.silent, np.ndarray) and (self.table.silent < 0).all():
            return after  # no silent rules, known at compile time
        result: MachineStep = jax.lax.while_loop(is_silent, take_silent, after)
        return result

    def _move(
        self, before: PackedConfiguration, move: jax.Array, earlier_reward: jax.Array
    ) -> MachineStep:
        """Make a move and add its reward; -1 changes nothing and is UNDEFINED."""
        table: Table = jax.tree.map(jnp.asarray, self.table)
        defined = move >= 0
        pops = defined & (table.pops[move] > 0)
        pushes = jnp.where(defined, table.pushes[move], 0)
        words = jnp.where(pops, self._pop(before.words), before.words)
        height = before.height - pops
        full_height = height + pushes
        for position in range(table.push.shape[1]):
            pushed = (position < pushes) & (height < self.depth)
            words = jnp.where(pushed, self._push(words, table.push[move, position]), words)
            height = height + pushed
        state = jnp.where(defined, table.target[move], before.state)
        reward = earlier_reward + jnp.where(defined, jnp.float32(table.reward)[move], 0)
        status = jnp.where(full_height > height, OVERFLOW, OK)
        status = jnp.where(defined, status, UNDEFINED)
        return MachineStep(PackedConfiguration(state, words, height), reward, status)

    def _top(self, configuration: PackedConfiguration) -> jax.Array:
        return self.lowest(configuration.words[0])

    def _push(self, words: jax.Array, symbol: jax.Array) -> jax.Array:
        spare, last = 32 % self.bits, self.bits * (self.symbols_per_word - 1)
        carried = jnp.concatenate((symbol.astype(jnp.uint32)[None], words[:-1] >> last))
        above: jax.Array = ((words << (self.bits + spare)) >> spare) | carried
        return above

    def _pop(self, words: jax.Array) -> jax.Array:
        last = self.bits * (self.symbols_per_word - 1)
        below = jnp.pad(self.lowest(words[1:]), (0, 1))
        return (words >> self.bits) | (below << last)


# --- The potential of a machine (`pdrm.product.shaping`)
#
# Packed stacks have no nodes to store values, so the operators are applied symbol by symbol, from
# the bottom of the stack to its top.


@dataclass(frozen=True, slots=True, eq=False)
class JaxPotential:
    """Φ of a machine's configurations (`pdrm.product.shaping`), in float32.

    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.machines.tables import tabulate
    >>> letter = catalogue("letter")
    >>> labels = [frozenset(events) for events in ("", "A", "B", "C")]
    >>> machine = JaxMachine(tabulate(letter, labels), depth=8)
    >>> potential = jax_potential(machine, Shaping(discount=0.9), machine.table)
    >>> u1 = 1
    >>> round(float(potential.potential(machine.pack(u1, (2, 1)))), 3)
    0.89
    """

    machine: JaxMachine
    shaping: Shaping
    operators: MachineOperators

    def potential(self, configuration: PackedConfiguration) -> jax.Array:
        """Φ before the end of an episode."""
        machine, height = self.machine, configuration.height
        constant, exit_state, gain, weight = map(jnp.asarray, self.operators)

        def push(number: jax.Array, below: jax.Array) -> jax.Array:
            """[state]: the values with the next symbol, from the bottom, on the stack."""
            word, shift = jnp.divmod(height - 1 - number, machine.symbols_per_word)
            symbol = machine.lowest(configuration.words[word] >> jnp.uint32(machine.bits * shift))
            lines = gain[symbol] + weight[symbol] * below[exit_state[symbol]]
            return jnp.maximum(constant[symbol], lines.max(axis=-1))

        values: jax.Array = jax.lax.fori_loop(0, height, push, constant[0])
        discount = self.shaping.value_discount
        factor = self.shaping.scale / discount if discount > 0 else 0.0
        shift = jnp.float32(self.shaping.shift)
        phi: jax.Array = jnp.float32(factor) * values[configuration.state] + shift
        return phi

    def reward(
        self,
        before: PackedConfiguration,
        after: PackedConfiguration,
        terminated: jax.Array,
        discount: jax.Array | float,
    ) -> jax.Array:
        """The shaping reward γΦ(after) - Φ(before), where Φ = 0 after termination.

        Args:
            before: The first configuration.
            after: The second configuration.
            terminated: True if the episode has terminated; truncation does not count.
            discount: γ to the power of the number of steps between the two.
        """
        return discount * jnp.where(terminated, 0.0, self.potential(after)) - self.potential(before)


def jax_potential(
    machine: JaxMachine,
    shaping: Shaping,
    table: Table,
    reward_scale: float = 1.0,
    reward_clip: float | None = None,
) -> JaxPotential:
    """The potential for the labels of `table`, with rewards scaled and clipped as for networks."""
    reward = table.reward * reward_scale
    reward = reward if reward_clip is None else np.clip(reward, -reward_clip, reward_clip)
    operators = solve_machine(table._replace(reward=reward), float(shaping.value_discount))
    return JaxPotential(machine, shaping, operators)


# --- The product


class ProductState(NamedTuple):
    """The state of one episode."""

    environment: State
    configuration: PackedConfiguration
    clock: jax.Array
    """int32: the number of steps."""
    key: Key
    """The key of all random numbers of the episode."""


class EpisodeStart(NamedTuple):
    """A new episode."""

    state: ProductState
    reward: jax.Array
    """The machine's reward before the first action: of silent moves and of the label at reset."""
    status: jax.Array
    """Of the machine: OK; UNDEFINED or OVERFLOW after the label at reset; FINISHED if final."""


class ProductStep(NamedTuple):
    """The result of a step of the product."""

    reward: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    label: jax.Array
    environment_reward: jax.Array
    environment_terminated: jax.Array
    status: jax.Array
    """Of the machine: OK, UNDEFINED or OVERFLOW."""


@dataclass(frozen=True, slots=True, eq=False)
class JaxProduct:
    """A domain, a machine, and a view of the machine.

    >>> from pdrm.product.jax_env.jax_domain import finite_domain
    >>> from pdrm.product.observation import TopK
    >>> from pdrm.task import Task
    >>> task = Task("letter")
    >>> letter = jax_product(finite_domain(task.finite), task.pushdown, TopK(1))
    >>> state, outcome = letter.step(letter.begin(jnp.uint32(0)).state, 2)
    >>> letter.observe(state).shape, round(float(outcome.reward), 2)
    ((48,), -0.01)
    """

    domain: JaxDomain
    machine: JaxMachine
    readable: PushdownRewardMachine
    """The machine that was compiled."""
    k: int = 1
    """The number of visible stack symbols."""
    visible: Any = 1.0
    """1, or 0 to replace the machine's part of the observation by zeros. Can be traced."""
    potential: JaxPotential | None = None
    """The learners' shaping potential. The rewards of a step are never shaped."""

    @property
    def observation_size(self) -> int:
        """The length of an observation."""
        return self.domain.observation_size + self.machine.states + self.machine.symbols * self.k

    def begin(self, key: Key) -> EpisodeStart:
        """Start an episode."""
        environment, label = self.domain.start(key_of(key, 0))
        first = self.machine.begin()
        if self.machine.table.move.shape[1]:
            read = self.machine.step(first.configuration, jnp.maximum(label, 0))
            read = read._replace(reward=first.reward + read.reward)
            first = MachineStep(
                *jax.tree.map(lambda new, old: jnp.where(label >= 0, new, old), read, first)
            )
        status = jnp.where(self.machine.final(first.configuration), FINISHED, first.status)
        return EpisodeStart(
            ProductState(environment, first.configuration, jnp.int32(0), key), first.reward, status
        )

    def step(self, state: ProductState, action: jax.Array) -> tuple[ProductState, ProductStep]:
        """Take one action."""
        moved = self.domain.step(state.environment, action, key_of(state.key, state.clock + 1))
        configuration, reward, status = self.machine.step(state.configuration, moved.label)
        clock = state.clock + 1
        terminated = moved.terminated | self.machine.final(configuration) | (status == UNDEFINED)
        truncated = ((clock >= self.domain.step_limit) | (status == OVERFLOW)) & ~terminated
        after = ProductState(moved.state, configuration, clock, state.key)
        return after, ProductStep(
            moved.reward + reward,
            terminated,
            truncated,
            moved.label,
            moved.reward,
            moved.terminated,
            status,
        )

    def renew(self, state: ProductState, over: jax.Array) -> EpisodeStart:
        """Return the state, or start a new episode if it is over."""
        new = self.begin(key_of(state.key, 0x7FFFFFFF))
        old = EpisodeStart(state, jnp.zeros_like(new.reward), jnp.full_like(new.status, OK))
        chosen: EpisodeStart = jax.tree.map(lambda n, o: jnp.where(over, n, o), new, old)
        return chosen

    def observe(self, state: ProductState) -> jax.Array:
        """The observation of the policy."""
        return self.seen(self.domain.observe(state.environment), state.configuration)

    def seen(self, observation: jax.Array, configuration: PackedConfiguration) -> jax.Array:
        """Append the observation of a configuration to the domain's."""
        symbols = jax.nn.one_hot(
            self.machine.top(configuration, self.k), self.machine.symbols
        ).reshape(-1)
        state = jax.nn.one_hot(configuration.state, self.machine.states)
        return jnp.concatenate((observation, jnp.concatenate((state, symbols)) * self.visible))


def jax_product(
    domain: JaxDomain, machine: PushdownRewardMachine, view: View | None, *, depth: int = 32
) -> JaxProduct:
    """Make the product. With a view of None, the policy does not see the machine."""
    k = view.k if isinstance(view, TopK) else depth
    if view is None:
        k = 0
    compiled = JaxMachine(tabulate(machine, domain.labels), depth)
    return JaxProduct(domain, compiled, machine, k, float(view is not None))
