"""Off-policy agents: deep Q-learning (Mnih et al. 2015) and soft actor-critic (Haarnoja et al.
2018).

Both are as in Stable-Baselines3, with or without counterfactual experience. The buffer
contains labelled transitions. The observations of real and counterfactual experience are made
when it is sampled (`replay`).
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
from pdrm.learning.deep.replay import (
    Experience,
    Row,
    Tops,
    WindowCarry,
    choose_symbols,
    sample_windows,
)
from pdrm.machines.stacks import OK
from pdrm.product.jax_env.jax_domain import Key, key_of
from pdrm.product.jax_env.jax_product import PackedConfiguration


class LearnerState(NamedTuple):
    """The part of the state that updates change."""

    network: Any
    target: Any  # the target network
    optimiser: Any


class OffPolicyState(NamedTuple):
    """The state of a run."""

    learnt: LearnerState
    envs: Envs
    replay: Row  # [capacity, N, ...]: the buffer
    tops: Array  # [tops]: True for observed tops of stacks
    key: Key
    timesteps: Array

    @property
    def network(self) -> Any:
        """The network."""
        return self.learnt.network


class OffPolicyAlgorithm(Algorithm):
    """DQN or SAC. An iteration is `train_freq` steps and `gradient_steps` updates."""

    settings: OffPolicy

    @abstractmethod
    def begin_learning(self, network: Any) -> LearnerState:
        """The learner before the first update."""

    @abstractmethod
    def explore(self, state: OffPolicyState, seen: Array, keys: Key) -> Array:
        """[N] or [N, action size]: actions with exploration, drawn with keys [N]."""

    @abstractmethod
    def update(self, state: OffPolicyState, learnt: LearnerState, number: Array) -> LearnerState:
        """The learner after an update, of which each iteration has several."""

    @abstractmethod
    def choose(self, network: Any, seen: Array) -> Array:
        """[N] or [N, action size]: the actions without exploration."""

    def act(self, network: Any, memory: Carry, seen: Array, _start: Array) -> tuple[Carry, Array]:
        """The actions without exploration."""
        return memory, self.choose(network, seen)

    @cached_property
    def tops(self) -> Tops:
        """The tops of stacks that matter (without counterfactuals, only the empty one)."""
        product = self.product
        machine = self.product.machine
        steps = self.settings.n_steps
        if not self.settings.counterfactuals:
            return Tops(machine, 0, 0)
        return Tops(machine, *choose_symbols(product.readable, product.k, machine.depth, steps))

    def begin(self, network: Any, key: Key) -> OffPolicyState:
        """The state before the first step."""
        product = self.product
        settings = self.settings
        envs = begin_envs(product, settings, key_of(key, 1))
        action = self.choose(network, jax.vmap(product.observe)(envs.state))
        row = self.step(envs, action)[1]  # for its shape
        capacity = max(1, settings.buffer_size // settings.n_envs)
        replay: Row = jax.tree.map(lambda part: jnp.zeros((capacity, *part.shape), part.dtype), row)
        tops = self.tops.note(jnp.zeros(self.tops.count, jnp.bool_), envs.state.configuration)
        learnt = self.begin_learning(network)
        return OffPolicyState(learnt, envs, replay, tops, key_of(key, 2), jnp.int32(0))

    def iterate(self, state: OffPolicyState) -> OffPolicyState:
        """Collect experience. Learn from it once `learning_starts` steps have been taken."""
        state = self.collect(state)

        def update(learnt: LearnerState, number: Array) -> tuple[LearnerState, None]:
            return self.update(state, learnt, number), None

        after, _ = jax.lax.scan(update, state.learnt, jnp.arange(self.settings.gradient_steps))
        learning = state.timesteps > self.settings.learning_starts
        learnt = nn.select(learning, after, state.learnt)
        return state._replace(learnt=learnt, key=key_of(state.key, 0))

    def step(self, envs: Envs, action: Array) -> tuple[Envs, Row, PackedConfiguration]:
        """Take one action in each environment, [N, ...]; returns also the transitions, and the
        machine's configurations after them."""
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
            index = now.timesteps // self.settings.n_envs % capacity
            replay: Row = jax.tree.map(
                lambda whole, part: whole.at[index].set(part), now.replay, row
            )
            tops = self.tops.note(now.tops, configurations)
            timesteps = now.timesteps + self.settings.n_envs
            return now._replace(envs=envs, replay=replay, tops=tops, timesteps=timesteps), None

        length = self.settings.train_freq
        collected: OffPolicyState = jax.lax.scan(step, state, None, length=length)[0]
        return collected

    def sample(self, state: OffPolicyState, key: Array) -> Experience:
        """[batch_size * (1 + counterfactuals)]: sampled windows, and counterfactual copies of each.

        A copy has a random machine state and a random observed top.

        Args:
            state: The state of the run.
            key: A key of `jax.random`.
        """
        settings = self.settings
        tops = self.tops
        window_key, counterfactual_key = jax.random.split(key)
        written = state.timesteps // settings.n_envs
        size = settings.batch_size
        copies = settings.counterfactuals
        rows = sample_windows(state.replay, written, window_key, size, settings.n_steps)
        first = nn.take(rows.configuration, (slice(None), 0))
        real = (rows, first, jnp.zeros(size, jnp.int32))
        if not copies:
            return jax.vmap(self.replay_window)(*real)
        copied: Row = jax.tree.map(lambda part: jnp.repeat(part, copies, axis=0), rows)
        count = size * copies
        state_key, top_key = jax.random.split(counterfactual_key)
        machine_state = jax.random.randint(state_key, (count,), 0, tops.machine.table.first_final)
        cumulative = jnp.cumsum(state.tops)
        drawn = jax.random.randint(top_key, (count,), 0, cumulative[-1])
        top = jnp.searchsorted(cumulative, drawn, side="right")
        configuration = jax.vmap(tops.pack)(machine_state, top)
        counterfactual = (copied, configuration, jax.vmap(tops.least)(configuration))
        both = jax.tree.map(lambda *parts: jnp.concatenate(parts), real, counterfactual)
        return jax.vmap(self.replay_window)(*both)

    def replay_window(
        self, rows: Row, configuration: PackedConfiguration, least: Array | int = 0
    ) -> Experience:
        """The experience of a window [n_steps, ...] that starts in this configuration.

        The window ends with the episode, or if the stack has fewer than `least` symbols,
        because the symbols below are not known.
        """
        product = self.product
        settings = self.settings

        def step(now: WindowCarry, row: Row) -> tuple[WindowCarry, None]:
            after, machine_reward, status = product.machine.step(now.configuration, row.label)
            ended = row.terminated | product.machine.final(after)
            reward = scale_reward(settings, row.reward + machine_reward)
            total = now.reward + now.discount * reward
            weight = jnp.where(status == OK, now.weight, 0.0)
            going = ~ended & ~row.over & (after.height >= least)
            discount = now.discount * settings.discount
            later = WindowCarry(after, row.after, total, discount, ended, going, weight)
            return nn.select(now.going, later, now), None

        true = jnp.bool_(True)
        zero = jnp.float32(0)
        one = jnp.float32(1)
        start = WindowCarry(configuration, rows.after[0], zero, one, ~true, true, one)
        end: WindowCarry = jax.lax.scan(step, start, rows)[0]
        last = end.configuration
        terminated = end.terminated
        discount = end.discount
        seen = product.seen(rows.before[0], configuration)
        following = product.seen(end.after, last)
        reward = end.reward
        if product.potential is not None:  # the potentials in between cancel out
            reward += product.potential.reward(configuration, last, terminated, discount)
        return Experience(seen, rows.action[0], reward, following, terminated, discount, end.weight)


# --- DQN


class DQNAlgorithm(OffPolicyAlgorithm):
    """DQN: a network with one value per action."""

    settings: DQN

    def new_network(self, rng: nn.Rng) -> nn.Layers:
        """The initial parameters."""
        inputs = self.product.observation_size
        outputs = self.product.domain.actions
        return nn.uniform_layers(rng, (inputs, *self.settings.net_arch, outputs))

    def begin_learning(self, network: nn.Layers) -> LearnerState:
        """The learner before the first update."""
        return LearnerState(network, network, nn.ADAM_SMALL.init(network))

    def choose(self, network: nn.Layers, seen: Array) -> Array:
        """[N]: the actions of highest value."""
        return nn.apply_mlp(network, seen).argmax(axis=-1).astype(jnp.int32)

    def explore(self, state: OffPolicyState, seen: Array, keys: Key) -> Array:
        """[N]: ε-greedy actions. ε decays linearly in `exploration_fraction` of the training."""
        settings = self.settings
        length = settings.exploration_fraction * settings.total_timesteps
        decay = settings.exploration_initial_eps - settings.exploration_final_eps
        share = jnp.clip(state.timesteps / length, 0, 1)
        epsilon = settings.exploration_initial_eps - share * decay
        number = nn.draw_numbers(keys, 2)
        random_action = (number[:, 1] * self.product.domain.actions).astype(jnp.int32)
        return jnp.where(number[:, 0] < epsilon, random_action, self.choose(state.network, seen))

    def update(self, state: OffPolicyState, learnt: LearnerState, number: Array) -> LearnerState:
        """One gradient step on the temporal difference error, with Huber's loss."""
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
        return LearnerState(network, target, optimiser)

    def iterate(self, state: OffPolicyState) -> OffPolicyState:
        """Collect and learn.

        Every `target_update_interval` steps, update the target network by τ.
        """
        after = OffPolicyAlgorithm.iterate(self, state)
        interval = max(1, self.settings.target_update_interval // self.settings.steps_per_iteration)
        is_due = after.timesteps // self.settings.steps_per_iteration % interval == 0
        network, target, _ = after.learnt
        moved = optax.incremental_update(network, target, self.settings.tau)
        learnt = after.learnt._replace(target=nn.select(is_due, moved, target))
        return after._replace(learnt=learnt)


# --- SAC: actions are vectors in [-1, 1], from a Gaussian squashed by tanh. The lower value of two
# critics counts. The weight of the entropy is learnt unless it is given.

MIN_LOG_DEVIATION, MAX_LOG_DEVIATION = -20.0, 2.0


class Networks(NamedTuple):
    """The parameters. Each part has its own optimiser."""

    actor: nn.Layers  # the outputs are means and logarithms of deviations
    critics: nn.Layers  # each [2, ...]: both critics
    log_weight: Array  # the logarithm of the entropy's weight


def action_distribution(actor: nn.Layers, seen: Array) -> tuple[Array, Array]:
    """[B, action size] each: the means and the logarithms of the deviations."""
    mean, spread = jnp.split(nn.apply_mlp(actor, seen), 2, axis=-1)
    return mean, jnp.clip(spread, MIN_LOG_DEVIATION, MAX_LOG_DEVIATION)


def sample_action(actor: nn.Layers, seen: Array, keys: Key) -> tuple[Array, Array]:
    """[B, action size]: actions, and [B]: the logarithms of their densities."""
    mean, spread = action_distribution(actor, seen)
    noise = nn.draw_normals(keys, mean.shape[-1])
    action = jnp.tanh(mean + jnp.exp(spread) * noise)
    density = -0.5 * (noise * noise + nn.LOG_2_PI) - spread - jnp.log(1 - action * action + 1e-6)
    return action, density.sum(axis=-1)


def criticise(critics: nn.Layers, seen: Array, action: Array) -> Array:
    """[2, B]: the values of both critics."""
    x = jnp.concatenate((seen, action), axis=-1)
    return nn.apply_mlp(critics, jnp.broadcast_to(x, (2, *x.shape)))[..., 0]


class SACAlgorithm(OffPolicyAlgorithm):
    """SAC: an actor and two critics with target networks."""

    settings: SAC

    def new_network(self, rng: nn.Rng) -> Networks:
        """The initial parameters."""
        inputs = self.product.observation_size
        action = self.product.domain.action_size
        hidden = self.settings.net_arch
        actor = nn.uniform_layers(rng, (inputs, *hidden, 2 * action))
        critics = nn.stack_trees(
            [nn.uniform_layers(rng, (inputs + action, *hidden, 1)) for _ in range(2)]
        )
        weight = 1.0 if self.settings.ent_coef is None else self.settings.ent_coef
        return Networks(actor, critics, jnp.log(jnp.float32(weight)))

    def begin_learning(self, network: Networks) -> LearnerState:
        """The learner before the first update."""
        return LearnerState(network, network.critics, Networks(*map(nn.ADAM_SMALL.init, network)))

    def choose(self, network: Networks, seen: Array) -> Array:
        """[N, action size]: the means."""
        return jnp.tanh(action_distribution(network.actor, seen)[0])

    def explore(self, state: OffPolicyState, seen: Array, keys: Key) -> Array:
        """[N, action size]: sampled actions, or uniform ones until learning starts."""
        size = self.product.domain.action_size
        random_action = 2 * nn.draw_numbers(keys ^ 1, size) - 1
        is_early = state.timesteps < self.settings.learning_starts
        return jnp.where(is_early, random_action, sample_action(state.network.actor, seen, keys)[0])

    def update(self, state: OffPolicyState, learnt: LearnerState, number: Array) -> LearnerState:
        """One step each for the entropy's weight, critics and actor. Targets move by τ."""
        network, target, optimiser = learnt
        # Not before the scan: the compiler would fuse other operations, and round differently.
        key = key_of(state.key, number + 1)
        batch = self.sample(state, jax.random.key(key))
        keys = key_of(key, jnp.arange(2 * len(batch.reward))).reshape(2, -1)
        rate = nn.learning_rate(self.settings, state.timesteps)
        descend = partial(nn.apply_gradient, nn.ADAM_SMALL, rate=rate)

        action, density = sample_action(network.actor, batch.seen, keys[0])
        log_weight = network.log_weight
        weight_optimiser = optimiser.log_weight
        if self.settings.ent_coef is None:
            target_entropy = self.settings.target_entropy
            if target_entropy is None:
                target_entropy = -float(action.shape[-1])
            gradient = -nn.weighted_mean(density + target_entropy, batch.weight)
            log_weight, weight_optimiser = descend(log_weight, weight_optimiser, gradient)
        weight = jnp.exp(network.log_weight)

        next_action, next_density = sample_action(network.actor, batch.following, keys[1])
        lower = criticise(target, batch.following, next_action).min(axis=0)
        goal = batch.target(lower - weight * next_density)

        def critics_loss(candidate: nn.Layers) -> Array:
            error = criticise(candidate, batch.seen, batch.action) - goal
            return 0.5 * nn.weighted_mean((error * error).sum(axis=0), batch.weight)

        gradients = jax.grad(critics_loss)(network.critics)
        critics, critics_optimiser = descend(network.critics, optimiser.critics, gradients)

        def actor_loss(candidate: nn.Layers) -> Array:
            action, density = sample_action(candidate, batch.seen, keys[0])
            # Not `.min(axis=0)`: its derivative is 0 / 0 if the compiler computes an operand twice
            # with different rounding.
            value = jnp.minimum(*criticise(critics, batch.seen, action))
            return nn.weighted_mean(weight * density - value, batch.weight)

        gradients = jax.grad(actor_loss)(network.actor)
        actor, actor_optimiser = descend(network.actor, optimiser.actor, gradients)
        moved = optax.incremental_update(critics, target, self.settings.tau)
        optimisers = Networks(actor_optimiser, critics_optimiser, weight_optimiser)
        return LearnerState(Networks(actor, critics, log_weight), moved, optimisers)
