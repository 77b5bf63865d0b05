"""Agents that learn from a replay buffer: deep Q-learning (Mnih et al. 2015) and soft actor-critic (Haarnoja et al. 2018).

Both are as in Stable-Baselines3, with or without counterfactual experience: the buffer holds labelled transitions; what a network
sees of them, and of counterfactual ones, is made when they are sampled (`replay`).
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from pdrm.learning.agents import DQN, SAC, OffPolicy
from pdrm.learning.deep import networks as nn
from pdrm.learning.deep.algorithm import (
    Algorithm,
    Carry,
    Envs,
    action_keys,
    begin_envs,
    scale_reward,
    step_envs,
)
from pdrm.learning.deep.replay import Experience, Row, Tops, Within, choose_symbols, sample_windows
from pdrm.machines.stacks import OK
from pdrm.product.jax_env.jax_domain import Key, key_of
from pdrm.product.jax_env.jax_product import PackedConfiguration


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
    tops: Array  # [tops]: which tops of stacks were observed
    key: Key
    timesteps: Array

    @property
    def network(self) -> Any:
        """The network."""
        return self.learnt.network


class OffPolicyAlgorithm(Algorithm):
    """DQN or SAC: an iteration is `train_freq` steps of all environments and `gradient_steps` updates."""

    settings: OffPolicy

    @abstractmethod
    def begin_learning(self, network: Any) -> Learnt:
        """Before the first update."""

    @abstractmethod
    def explore(self, state: OffPolicyState, seen: Array, keys: Key) -> Array:
        """[N] or [N, action size]: the actions of training; keys: [N]."""

    @abstractmethod
    def update(self, state: OffPolicyState, learnt: Learnt, number: Array) -> Learnt:
        """The result of one of the updates of an iteration."""

    @abstractmethod
    def choose(self, network: Any, seen: Array) -> Array:
        """[N] or [N, action size]: the actions without exploration."""

    def act(self, network: Any, memory: Carry, seen: Array, _start: Array) -> tuple[Carry, Array]:
        """The actions without exploration."""
        return memory, self.choose(network, seen)

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
        product, settings = self.product, self.settings
        envs = begin_envs(product, settings, key_of(key, 1))
        action = self.choose(network, jax.vmap(product.observe)(envs.state))
        row = self.step(envs, action)[1]  # for its shape
        capacity = max(1, settings.buffer_size // settings.n_envs)
        replay: Row = jax.tree.map(lambda part: jnp.zeros((capacity, *part.shape), part.dtype), row)
        tops = self.tops.note(jnp.zeros(self.tops.count, jnp.bool_), envs.state.configuration)
        learnt = self.begin_learning(network)
        return OffPolicyState(learnt, envs, replay, tops, key_of(key, 2), jnp.int32(0))

    def iterate(self, state: OffPolicyState) -> OffPolicyState:
        """Collect, then learn, once `learning_starts` steps have been taken."""
        state = self.collect(state)

        def update(learnt: Learnt, number: Array) -> tuple[Learnt, None]:
            return self.update(state, learnt, number), None

        after, _ = jax.lax.scan(update, state.learnt, jnp.arange(self.settings.gradient_steps))
        learning = state.timesteps > self.settings.learning_starts
        learnt = nn.select(learning, after, state.learnt)
        return state._replace(learnt=learnt, key=key_of(state.key, 0))

    def step(self, envs: Envs, action: Array) -> tuple[Envs, Row, PackedConfiguration]:
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

    def sample(self, state: OffPolicyState, key: Array) -> Experience:
        """Windows as they were, then each several times with a machine state and an observed top drawn at random.

        key: of `jax.random`. Returns [batch_size * (1 + counterfactuals)] rows.
        """
        settings, tops = self.settings, self.tops
        for_rows, for_others = jax.random.split(key)
        written = state.timesteps // settings.n_envs
        size, copies = settings.batch_size, settings.counterfactuals
        rows = sample_windows(state.replay, written, for_rows, size, settings.n_steps)
        first = nn.take(rows.configuration, (slice(None), 0))
        real = (rows, first, jnp.zeros(size, jnp.int32))
        if not copies:
            return jax.vmap(self.replay_window)(*real)
        again: Row = jax.tree.map(lambda part: jnp.repeat(part, copies, axis=0), rows)
        count = size * copies
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
        self, rows: Row, configuration: PackedConfiguration, least: Array | int = 0
    ) -> Experience:
        """A window [n_steps, ...] with the machine in this configuration at first, up to the end of the episode.

        least: it goes no further with fewer symbols than this on the stack (what is below them is not known).
        """
        product, settings = self.product, self.settings

        def step(now: Within, row: Row) -> tuple[Within, None]:
            after, paid, status = product.machine.step(now.configuration, row.label)
            ended = row.terminated | product.machine.final(after)
            gained = now.reward + now.discount * scale_reward(settings, row.reward + paid)
            weight = jnp.where(status == OK, now.weight, 0.0)
            going = ~ended & ~row.over & (after.height >= least)
            discount = now.discount * settings.discount
            later = Within(after, row.after, gained, discount, ended, going, weight)
            return nn.select(now.going, later, now), None

        true, zero, one = jnp.bool_(True), jnp.float32(0), jnp.float32(1)
        start = Within(configuration, rows.after[0], zero, one, ~true, true, one)
        end: Within = jax.lax.scan(step, start, rows)[0]
        last, terminated, discount = end.configuration, end.terminated, end.discount
        seen = product.seen(rows.before[0], configuration)
        following = product.seen(end.after, last)
        reward = end.reward
        if product.potential is not None:  # the potentials between the two cancel out
            reward += product.potential.reward(configuration, last, terminated, discount)
        return Experience(seen, rows.action[0], reward, following, terminated, discount, end.weight)


# --- DQN


class DQNAlgorithm(OffPolicyAlgorithm):
    """DQN: a network with one value for each action."""

    settings: DQN

    def new_network(self, rng: nn.Rng) -> nn.Layers:
        """The first parameters."""
        inputs, outputs = self.product.observation_size, self.product.domain.actions
        return nn.uniform_layers(rng, (inputs, *self.settings.net_arch, outputs))

    def begin_learning(self, network: nn.Layers) -> Learnt:
        """Before the first update."""
        return Learnt(network, network, nn.ADAM_SMALL.init(network))

    def choose(self, network: nn.Layers, seen: Array) -> Array:
        """[N]: the actions of highest value."""
        return nn.apply_mlp(network, seen).argmax(axis=-1).astype(jnp.int32)

    def explore(self, state: OffPolicyState, seen: Array, keys: Key) -> Array:
        """[N]: any action with probability ε, which falls linearly over the first `exploration_fraction` of training."""
        settings = self.settings
        length = settings.exploration_fraction * settings.total_timesteps
        fall = settings.exploration_initial_eps - settings.exploration_final_eps
        share = jnp.clip(state.timesteps / length, 0, 1)
        epsilon = settings.exploration_initial_eps - share * fall
        number = nn.draw_numbers(keys, 2)
        anything = (number[:, 1] * self.product.domain.actions).astype(jnp.int32)
        return jnp.where(number[:, 0] < epsilon, anything, self.choose(state.network, seen))

    def update(self, state: OffPolicyState, learnt: Learnt, number: Array) -> Learnt:
        """One step down the temporal difference error, by Huber's loss."""
        network, target, optimiser = learnt
        key = jax.random.fold_in(jax.random.key(key_of(state.key, 1)), number)
        batch = self.sample(state, key)
        goal = batch.target(nn.apply_mlp(target, batch.following).max(axis=-1))

        def loss(network: nn.Layers) -> Array:
            values = nn.apply_mlp(network, batch.seen)
            value = (values * jax.nn.one_hot(batch.action, values.shape[-1])).sum(axis=-1)
            return nn.weighted_mean(optax.losses.huber_loss(value, goal), batch.weight)

        gradient = jax.grad(loss)(network)
        rate = nn.learning_rate(self.settings, state.timesteps)
        norm = self.settings.max_grad_norm
        network, optimiser = nn.apply_gradient(
            nn.ADAM_SMALL, network, optimiser, gradient, rate, norm
        )
        return Learnt(network, target, optimiser)

    def iterate(self, state: OffPolicyState) -> OffPolicyState:
        """Collect, then learn; the target network is moved by τ every `target_update_interval` steps."""
        after = OffPolicyAlgorithm.iterate(self, state)
        interval = max(1, self.settings.target_update_interval // self.steps_per_iteration)
        due = after.timesteps // self.steps_per_iteration % interval == 0
        network, target, _ = after.learnt
        moved = optax.incremental_update(network, target, self.settings.tau)
        learnt = after.learnt._replace(target=nn.select(due, moved, target))
        return after._replace(learnt=learnt)


# --- SAC: actions are vectors in [-1, 1], a Gaussian squashed by tanh. Two critics, the lower of which counts; the weight of entropy is
# learnt unless it is given.

MIN_LOG_DEVIATION, MAX_LOG_DEVIATION = -20.0, 2.0


class Networks(NamedTuple):
    """The parameters; each part has an optimiser of its own."""

    actor: nn.Layers  # the last layer: means and logarithms of deviations
    critics: nn.Layers  # each [2, ...]: two critics
    log_weight: Array  # the logarithm of the weight of entropy


def judge(actor: nn.Layers, seen: Array) -> tuple[Array, Array]:
    """[B, action size] each: the means, and the logarithms of the deviations."""
    mean, spread = jnp.split(nn.apply_mlp(actor, seen), 2, axis=-1)
    return mean, jnp.clip(spread, MIN_LOG_DEVIATION, MAX_LOG_DEVIATION)


def sample_action(actor: nn.Layers, seen: Array, keys: Key) -> tuple[Array, Array]:
    """[B, action size] actions, and [B] the logarithms of their densities."""
    mean, spread = judge(actor, seen)
    noise = nn.draw_normals(keys, mean.shape[-1])
    action = jnp.tanh(mean + jnp.exp(spread) * noise)
    density = -0.5 * (noise * noise + nn.LOG_2_PI) - spread - jnp.log(1 - action * action + 1e-6)
    return action, density.sum(axis=-1)


def criticise(critics: nn.Layers, seen: Array, action: Array) -> Array:
    """[2, B]: the values of both critics."""
    x = jnp.concatenate((seen, action), axis=-1)
    return nn.apply_mlp(critics, jnp.broadcast_to(x, (2, *x.shape)))[..., 0]


class SACAlgorithm(OffPolicyAlgorithm):
    """SAC: an actor and two critics, of which there are slow copies."""

    settings: SAC

    def new_network(self, rng: nn.Rng) -> Networks:
        """The first parameters."""
        inputs, action = self.product.observation_size, self.product.domain.action_size
        hidden = self.settings.net_arch
        actor = nn.uniform_layers(rng, (inputs, *hidden, 2 * action))
        critics = nn.stack_trees(
            [nn.uniform_layers(rng, (inputs + action, *hidden, 1)) for _ in range(2)]
        )
        weight = 1.0 if self.settings.ent_coef is None else self.settings.ent_coef
        return Networks(actor, critics, jnp.log(jnp.float32(weight)))

    def begin_learning(self, network: Networks) -> Learnt:
        """Before the first update."""
        return Learnt(network, network.critics, Networks(*map(nn.ADAM_SMALL.init, network)))

    def choose(self, network: Networks, seen: Array) -> Array:
        """[N, action size]: the means."""
        return jnp.tanh(judge(network.actor, seen)[0])

    def explore(self, state: OffPolicyState, seen: Array, keys: Key) -> Array:
        """[N, action size]: sampled actions; uniform ones until learning starts."""
        size = self.product.domain.action_size
        anything = 2 * nn.draw_numbers(keys ^ 1, size) - 1
        early = state.timesteps < self.settings.learning_starts
        return jnp.where(early, anything, sample_action(state.network.actor, seen, keys)[0])

    def update(self, state: OffPolicyState, learnt: Learnt, number: Array) -> Learnt:
        """One step each of the weight of entropy, the critics and the actor, and the slow copies moved by τ."""
        network, target, optimiser = learnt
        # Made here, not before the scan: the compiler would join operations in another way, and round others.
        key = key_of(state.key, number + 1)
        batch = self.sample(state, jax.random.key(key))
        keys = key_of(key, jnp.arange(2 * len(batch.reward))).reshape(2, -1)
        rate = nn.learning_rate(self.settings, state.timesteps)
        descend = partial(nn.apply_gradient, nn.ADAM_SMALL, rate=rate)

        action, density = sample_action(network.actor, batch.seen, keys[0])
        log_weight, weight_optimiser = network.log_weight, optimiser.log_weight
        if self.settings.ent_coef is None:
            wanted = self.settings.target_entropy
            if wanted is None:
                wanted = -float(action.shape[-1])
            gradient = -nn.weighted_mean(density + wanted, batch.weight)
            log_weight, weight_optimiser = descend(log_weight, weight_optimiser, gradient)
        weight = jnp.exp(network.log_weight)

        next_action, next_density = sample_action(network.actor, batch.following, keys[1])
        lower = criticise(target, batch.following, next_action).min(axis=0)
        goal = batch.target(lower - weight * next_density)

        def critics_loss(candidate: nn.Layers) -> Array:
            off = criticise(candidate, batch.seen, batch.action) - goal
            return 0.5 * nn.weighted_mean((off * off).sum(axis=0), batch.weight)

        gradients = jax.grad(critics_loss)(network.critics)
        critics, critics_optimiser = descend(network.critics, optimiser.critics, gradients)

        def actor_loss(candidate: nn.Layers) -> Array:
            action, density = sample_action(candidate, batch.seen, keys[0])
            # Not `.min(axis=0)`: its derivative is 0 / 0 if the compiler computes an operand twice and rounds differently.
            value = jnp.minimum(*criticise(critics, batch.seen, action))
            return nn.weighted_mean(weight * density - value, batch.weight)

        gradients = jax.grad(actor_loss)(network.actor)
        actor, actor_optimiser = descend(network.actor, optimiser.actor, gradients)
        moved = optax.incremental_update(critics, target, self.settings.tau)
        optimisers = Networks(actor_optimiser, critics_optimiser, weight_optimiser)
        return Learnt(Networks(actor, critics, log_weight), moved, optimisers)
