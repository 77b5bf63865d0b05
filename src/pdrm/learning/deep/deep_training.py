"""Training deep agents: compile the product of a task, resolve task-dependent settings, and run
many seeds in one program.

The runs of a batch are one program. They can differ in the seed, the learning rate, the scale
of rewards, WaterWorld's box and physics, and whether they see the machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.user_worlds import JaxWorld, UserEnvironment
from pdrm.domains.water import MACHINES as WATER_MACHINES, WaterWorld
from pdrm.errors import BadSetting, Diverged, DoesNotApply
from pdrm.language.loading import catalogue
from pdrm.learning.agents import AUTO, EMITTED, PPO, Deep, OffPolicy, shaping_of
from pdrm.learning.deep.algorithm import (
    MAX_RESTART_HEIGHT,
    Algorithm,
    Episodes,
    check_status,
    play,
)
from pdrm.learning.deep.networks import stack_trees, take
from pdrm.learning.deep.off_policy import DQNAlgorithm, SACAlgorithm
from pdrm.learning.deep.ppo import PPOAlgorithm, RecurrentAlgorithm
from pdrm.learning.deep.replay import choose_symbols
from pdrm.learning.settings import FULL, NOTHING, Settings
from pdrm.machines.guards import Label
from pdrm.machines.heads import max_stack_height
from pdrm.machines.tables import tabulate
from pdrm.product.jax_env.jax_domain import (
    JaxDomain,
    finite_domain,
    make_key,
    user_domain,
    water_domain,
)
from pdrm.product.jax_env.jax_product import JaxProduct, jax_potential, jax_product
from pdrm.product.observation import TopK
from pdrm.product.shaping import cover_moves
from pdrm.task import Task, largest_reward

# --- The algorithm of a task

ALGORITHMS: dict[str, type[Algorithm]] = {
    "ppo": PPOAlgorithm,
    "rppo": RecurrentAlgorithm,
    "dqn": DQNAlgorithm,
    "sac": SACAlgorithm,
}


def make_algorithm(product: JaxProduct, agent: Deep) -> Algorithm:
    """The algorithm of an agent on a product."""
    return ALGORITHMS[agent.name](product, agent.resolved())


RunNumbers = dict[str, Any]
"""Numbers that differ between runs, by name, [runs] each."""

MIN_DEPTH = 32
"""Minimum capacity of a stack."""
MAX_DEPTH, MAX_WHOLE_STACK_DEPTH = 1024, 512
"""Maximum stack height, in general and for k=full. Higher stacks end their episode."""
PHYSICS = ("side", "radius", "ball_speed", "acceleration", "top_speed")
"""Numbers of WaterWorld that can differ between runs."""
SCALES = ("learning_rate", "reward_scale", "clip_range_vf")
"""Settings that can differ between runs if they are numbers."""
VARYING = (*PHYSICS, *SCALES)


@lru_cache(maxsize=100)
def needed_depth(task: Task, agent: Deep) -> int:
    """The maximum stack height of an episode, up to a limit.

    >>> from pdrm.learning.agents import PPO
    >>> [needed_depth(Task(name), PPO().resolved()) for name in ("letter", "deliver-8")]
    [334, 41]
    """
    if task.continuous and task.pushdown in map(catalogue, WATER_MACHINES):
        return MIN_DEPTH
    assert not isinstance(task.domain, UserEnvironment)  # networks learn in JAX only
    limit = MAX_WHOLE_STACK_DEPTH if agent.k == FULL else MAX_DEPTH
    labels = int(task.domain.step_limit) + 1  # one per step, and one at reset
    height = max_stack_height(task.pushdown, labels, limit)
    if isinstance(agent, PPO) and agent.restarts:
        height = min(limit, height) + MAX_RESTART_HEIGHT  # the maximum at a restart
    return max(MIN_DEPTH, min(limit, height))


DEFAULT_COUNTERFACTUALS = 8
"""The default number of counterfactuals for each sampled experience."""
MAX_SCALED_REWARD = 10.0
"""The largest reward in the scale of the networks, by default."""


def resolve_for_training(task: Task, agent: Deep) -> Deep:
    """The agent with all task-dependent settings.

    In addition to those of `resolved`: depth, scale of rewards, shaping, restarts and
    counterfactuals. These follow from the task, and a run's record has them only if they were
    given.

    >>> from pdrm.learning.agents import DQN
    >>> agent = resolve_for_training(Task("maze-5x5"), DQN(shaping="none"))
    >>> agent.reward_scale, agent.counterfactuals
    (0.0001, 8)
    >>> resolve_for_training(Task("maze-5x5"), DQN(shaping="auto")).counterfactuals
    0
    """
    agent = agent.resolved(task)
    resolved: Settings = {}
    if agent.depth is None:
        resolved["depth"] = needed_depth(task, agent)
    if agent.reward_scale is None:
        largest = max(largest_reward(task.domain, task.pushdown), MAX_SCALED_REWARD)
        resolved["reward_scale"] = MAX_SCALED_REWARD / largest
    if agent.shaping == AUTO:
        has_counterfactuals = isinstance(agent, OffPolicy) and agent.counterfactuals
        resolved["shaping"] = NOTHING if has_counterfactuals else EMITTED
    if isinstance(agent, PPO) and agent.k == NOTHING:
        resolved["restarts"] = 0.0  # it could not see where an episode starts
    agent = replace(agent, **resolved)
    if not isinstance(agent, OffPolicy) or agent.counterfactuals is not None:
        return agent
    counterfactuals = 0
    if agent.k != NOTHING and agent.shaping == NOTHING:
        depth: Any = agent.depth
        k = depth if agent.k == FULL else int(agent.k)
        with suppress(BadSetting):  # the stacks have too many different tops
            choose_symbols(task.pushdown, k, depth, agent.n_steps)
            counterfactuals = DEFAULT_COUNTERFACTUALS
    return replace(agent, counterfactuals=counterfactuals)


def domain_for(world: Any, agent: Deep) -> JaxDomain:
    """A domain in JAX, with the agent's kind of actions."""
    if isinstance(world, WaterWorld):
        return water_domain(replace(world, continuous=agent.continuous is True))
    return user_domain(world) if isinstance(world, JaxWorld) else finite_domain(world)


def product_for(task: Task, agent: Deep) -> JaxProduct:
    """The product of a task as the agent sees it, with the potential of its shaping.

    If the agent sees nothing of the machine, the machine's part of the observation is zeros.
    """
    agent = resolve_for_training(task, agent)
    world = task.domain
    machine = task.pushdown
    depth = agent.depth or MIN_DEPTH
    domain = domain_for(world, agent)
    product = jax_product(domain, machine, agent.view or TopK(1), depth=depth)
    product = replace(product, visible=float(agent.k != NOTHING))
    shaping = shaping_of(agent)
    if shaping is None:
        return product
    labels: Sequence[Label] = domain.labels
    if agent.shaping != EMITTED:
        labels = cover_moves(machine)
    elif isinstance(world, FiniteDomain):
        labels = world.find_labels()
    scale = agent.reward_scale
    clip = agent.reward_clip
    potential = jax_potential(product.machine, shaping, tabulate(machine, labels), scale, clip)
    return replace(product, potential=potential)


def run_numbers(task: Task, agent: Deep) -> dict[str, float]:
    """The numbers in which runs of a batch can differ, for a resolved agent."""
    values = agent.record()
    if agent.shaping != NOTHING:
        del values["reward_scale"]  # the potential contains it
    if isinstance(task.domain, WaterWorld):
        values |= asdict(task.domain)
    numbers = {name: float(values[name]) for name in VARYING if values.get(name) is not None}
    return {**numbers, "visible": float(agent.k != NOTHING)}


def batch_key(task: Task, agent: Deep) -> str:
    """Runs with equal keys can be trained side by side."""
    agent = resolve_for_training(task, agent)
    numbers: dict[str, Any] = dict.fromkeys(run_numbers(task, agent), 1.0)
    task_record = task.record()
    settings = agent.record() | numbers
    if agent.k == NOTHING:
        settings["k"] = 1
    if isinstance(task.domain, WaterWorld):
        world = replace(task.domain, **{name: numbers[name] for name in PHYSICS})
        task_record = {"machine": task_record["machine"], "domain": repr(world)}
    return json.dumps([agent.name, task_record, settings], sort_keys=True)


def check_fits(task: Task, agent: Deep) -> None:
    """Raise unless the agent can choose the task's actions."""
    vectors = product_for(task, agent).domain.actions == 0
    if agent.continuous not in (None, vectors):
        fault = f"`{agent.name}` cannot choose the actions of `{task.name}`"
        fix = "sac or ppo for continuous actions; ppo, rppo or dqn for numbered ones"
        raise DoesNotApply(fault, fix=fix)


# --- Many runs


class DeepTraining:
    """Runs side by side: one agent with many seeds, and possibly with different numbers as
    settings.

    Args:
        algorithm_of: Makes the algorithm of a run from its numbers, which can be traced.
        seeds: The seed of each run.
        numbers: The numbers that differ.
    """

    def __init__(
        self,
        algorithm_of: Callable[[RunNumbers], Algorithm],
        seeds: Sequence[int],
        numbers: RunNumbers | None = None,
    ) -> None:
        self.algorithm_of = algorithm_of
        self.seeds = tuple(seeds)
        given = numbers or {}
        self.numbers: RunNumbers = {name: jnp.asarray(values) for name, values in given.items()}
        self.algorithm = algorithm_of(take(self.numbers, 0))
        networks = [self.algorithm.new_network(np.random.default_rng(seed)) for seed in seeds]
        keys = jnp.stack([make_key(seed) for seed in seeds])

        def advance(iterations: jax.Array, own: RunNumbers, state: Any) -> Any:
            # A separately compiled function: XLA rounds some sums of an inlined one differently.
            iterate = jax.jit(algorithm_of(own).iterate)
            return jax.lax.fori_loop(0, iterations, lambda _, now: iterate(now), state)

        def test(episodes: int, own: RunNumbers, network: Any, seed: jax.Array) -> Episodes:
            return play(algorithm_of(own), network, seed, episodes)

        begin = jax.vmap(lambda own, network, key: algorithm_of(own).begin(network, key))
        self.state = jax.jit(begin)(self.numbers, stack_trees(networks), keys)
        self._advance = jax.jit(jax.vmap(advance, (None, 0, 0)), donate_argnums=2)
        self._test = jax.jit(jax.vmap(test, (None, 0, 0, None)), static_argnums=0)
        self._results: dict[tuple[int, int], Episodes] = {}

    @property
    def timesteps(self) -> int:
        """Steps of each run so far."""
        return int(np.asarray(self.state.timesteps)[0])

    @property
    def ended(self) -> Any:
        """[runs]: ended training episodes."""
        return np.asarray(self.state.envs.ended).sum(axis=1)

    @property
    def cut_off(self) -> Any:
        """[runs]: training episodes that a full stack truncated."""
        return np.asarray(self.state.envs.cut_off).sum(axis=1)

    def iterate(self, iterations: int) -> None:
        """Train for more iterations."""
        self.state = self._advance(iterations, self.numbers, self.state)
        check_status(self.state.envs.fault)
        check_numbers(self.state.network, self.seeds)

    def test(self, episodes: int) -> Episodes:
        """[runs, episodes]: evaluation episodes, with the same starts for all runs."""
        key = self.timesteps, episodes
        if key not in self._results:
            seed = self.timesteps // self.algorithm.settings.steps_per_iteration
            played = self._test(episodes, self.numbers, self.state.network, seed)
            check_status(played.fault)
            self._results = {key: played}
        return self._results[key]


def check_numbers(networks: Any, seeds: Sequence[int]) -> None:
    """Raise if the parameters [runs] of a run diverged (NaN or inf)."""
    leaves = [np.asarray(leaf).reshape(len(seeds), -1) for leaf in jax.tree.leaves(networks)]
    finite = np.isfinite(np.concatenate(leaves, axis=1)).all(axis=1)
    broken = np.flatnonzero(~finite).tolist()
    if broken:
        named = ", ".join(str(seeds[run]) for run in broken)
        fault = f"the network of seed {named} has diverged (NaN or inf)"
        error = Diverged(fault, fix="a smaller learning_rate or reward_scale, or a reward_clip")
        error.runs = tuple(broken)
        raise error


def train_together(
    tasks: Sequence[Task], agents: Sequence[Deep], seeds: Sequence[int]
) -> DeepTraining:
    """The training of runs with the same `batch_key`, before their first step."""
    resolved = [
        resolve_for_training(task, agent) for task, agent in zip(tasks, agents, strict=True)
    ]
    task = tasks[0]
    agent = resolved[0]
    product = product_for(task, agent)
    rows = [run_numbers(*run) for run in zip(tasks, resolved, strict=True)]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    varying = {name: values for name, values in columns.items() if len(set(values)) > 1}

    def algorithm_of(own: RunNumbers) -> Algorithm:
        """The algorithm of a run with these numbers."""
        physics = {name: own[name] for name in PHYSICS if name in own}
        scales = {name: own[name] for name in SCALES if name in own}
        world: Any = task.domain
        domain = domain_for(replace(world, **physics) if physics else world, agent)
        visible = own.get("visible", product.visible)
        run_product = replace(product, domain=domain, visible=visible)
        return make_algorithm(run_product, replace(agent, **scales))

    return DeepTraining(algorithm_of, seeds, varying)
