"""Runs of deep agents: the product that is compiled for a task, what is left to the task, and many runs as one compiled program.

Runs of one batch are one program. They may differ in the seed, the learning rate, the scale of rewards, WaterWorld's box and
physics, and whether they see the machine.
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
from pdrm.domains.water import WaterWorld
from pdrm.errors import BadSetting, Diverged, DoesNotApply
from pdrm.language.loading import catalogue
from pdrm.learning.agents import AUTO, EMITTED, PPO, Deep, OffPolicy, shaping_of
from pdrm.learning.deep.algorithm import HEIGHTS, Algorithm, Episodes, check_followed, play
from pdrm.learning.deep.networks import stack_trees, take
from pdrm.learning.deep.off_policy import DQNAlgorithm, SACAlgorithm
from pdrm.learning.deep.ppo import PPOAlgorithm, RecurrentAlgorithm
from pdrm.learning.deep.replay import choose_symbols
from pdrm.learning.settings import FULL, NOTHING
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


Numbers = dict[str, Any]
"""Numbers that differ from run to run, by name, [runs] each."""

LEAST = 32
"""Symbols that a stack always has room for."""
MOST, MAX_SEEN = 1024, 512
"""Symbols at most, and if the whole stack is seen; higher stacks end their episode, and are reported."""
WATER_MACHINES = ("water", "water-strict")
"""Their stacks have at most nine symbols, because WaterWorld's balls 2 to 9 are touched once each."""
PHYSICS = ("side", "radius", "ball_speed", "acceleration", "top_speed")
"""Numbers of WaterWorld that may differ from run to run."""
SCALES = ("learning_rate", "reward_scale", "clip_range_vf")
"""Settings that may differ from run to run if they are numbers."""
VARYING = (*PHYSICS, *SCALES)


@lru_cache(maxsize=100)
def needed_depth(task: Task, agent: Deep) -> int:
    """Room for the highest stack of an episode (one label per step, one at reset), as far as it is affordable.

    >>> from pdrm.learning.agents import PPO
    >>> [needed_depth(Task(name), PPO().resolved()) for name in ("letter", "deliver-8")]
    [334, 41]
    """
    if task.continuous and task.pushdown in map(catalogue, WATER_MACHINES):
        return LEAST
    most = MAX_SEEN if agent.k == FULL else MOST
    assert not isinstance(task.domain, UserEnvironment)  # networks learn in JAX only
    highest = max_stack_height(task.pushdown, int(task.domain.step_limit) + 1, most)
    if isinstance(agent, PPO) and agent.restarts:
        highest = min(most, highest) + HEIGHTS  # an episode may begin with as many symbols
    return max(LEAST, min(most, highest))


IMAGINED = 8
"""Counterfactual experiences for each sampled one, if an agent leaves it to the task."""
MAX_SCALED_REWARD = 10.0
"""The largest reward that networks see, likewise."""


def settle(task: Task, agent: Deep) -> Deep:
    """The agent with what it leaves to the task: also depth, the scale of rewards, shaping, restarts and counterfactual experiences.

    >>> from pdrm.learning.agents import DQN
    >>> [(one.reward_scale, one.counterfactuals) for one in (settle(Task("maze-5x5"), DQN(shaping=shaping)) for shaping in ("none", "auto"))]
    [(0.0001, 8), (0.0001, 0)]
    """
    agent = agent.resolved(task)
    resolved: dict[str, Any] = {}
    if agent.depth is None:
        resolved["depth"] = needed_depth(task, agent)
    if agent.reward_scale is None:
        largest = max(largest_reward(task.domain, task.pushdown), MAX_SCALED_REWARD)
        resolved["reward_scale"] = MAX_SCALED_REWARD / largest
    if agent.shaping == AUTO:
        imagines = isinstance(agent, OffPolicy) and agent.counterfactuals
        resolved["shaping"] = NOTHING if imagines else EMITTED
    if isinstance(agent, PPO) and agent.k == NOTHING:
        resolved["restarts"] = 0.0  # it could not tell where an episode has begun
    agent = replace(agent, **resolved)
    if not isinstance(agent, OffPolicy) or agent.counterfactuals is not None:
        return agent
    copies = 0
    if agent.k != NOTHING and agent.shaping == NOTHING:
        depth: Any = agent.depth
        seen = depth if agent.k == FULL else int(agent.k)
        with suppress(BadSetting):  # they would teach nothing, or their stacks have too many tops
            choose_symbols(task.pushdown, seen, depth, agent.n_steps)
            copies = IMAGINED
    return replace(agent, counterfactuals=copies)


def domain_for(world: Any, agent: Deep) -> JaxDomain:
    """A task's domain, with the kind of action that the agent chooses."""
    if isinstance(world, WaterWorld):
        return water_domain(replace(world, continuous=agent.continuous is True))
    return user_domain(world) if isinstance(world, JaxWorld) else finite_domain(world)


def product_for(task: Task, agent: Deep) -> JaxProduct:
    """The task's product as the agent sees it, with the potential of its shaping. Without a view, the machine's part is zeros."""
    agent = settle(task, agent)
    world, machine, depth = task.domain, task.pushdown, agent.depth or LEAST
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
    scale, clip = agent.reward_scale, agent.reward_clip
    potential = jax_potential(product.machine, shaping, tabulate(machine, labels), scale, clip)
    return replace(product, potential=potential)


def own_numbers(task: Task, agent: Deep) -> dict[str, float]:
    """The numbers in which a run may differ from others of its batch (the agent is settled)."""
    found = agent.record()
    if agent.shaping != NOTHING:
        del found["reward_scale"]  # it is in the potential
    if isinstance(task.domain, WaterWorld):
        found |= asdict(task.domain)
    own = {name: float(found[name]) for name in VARYING if found.get(name) is not None}
    return {**own, "visible": float(agent.k != NOTHING)}


def batch_key(task: Task, agent: Deep) -> str:
    """Runs with equal keys can be trained side by side."""
    agent = settle(task, agent)
    numbers: dict[str, Any] = dict.fromkeys(own_numbers(task, agent), 1.0)
    where, settings = task.record(), agent.record() | numbers
    if agent.k == NOTHING:
        settings["k"] = 1
    if isinstance(task.domain, WaterWorld):
        alike = replace(task.domain, **{name: numbers[name] for name in PHYSICS})
        where = {"machine": where["machine"], "domain": repr(alike)}
    return json.dumps([agent.name, where, settings], sort_keys=True)


def check_fits(task: Task, agent: Deep) -> None:
    """Raise unless the agent can choose the task's actions."""
    vectors = product_for(task, agent).domain.actions == 0
    if agent.continuous not in (None, vectors):
        fault = f"`{agent.name}` cannot choose the actions of `{task.name}`"
        fix = "sac or ppo for continuous actions; ppo, rppo or dqn for numbered ones"
        raise DoesNotApply(fault, fix=fix)


# --- Many runs


class DeepTraining:
    """Runs side by side: one agent on many seeds, maybe with different numbers as settings.

    Args:
        algorithm_of: The algorithm of a run, given its own numbers, which may be traced.
        seeds: One for each run.
        numbers: Those that differ.
    """

    def __init__(
        self,
        algorithm_of: Callable[[Numbers], Algorithm],
        seeds: Sequence[int],
        numbers: Numbers | None = None,
    ) -> None:
        self.algorithm_of, self.seeds = algorithm_of, tuple(seeds)
        given = numbers or {}
        self.numbers: Numbers = {name: jnp.asarray(values) for name, values in given.items()}
        self.algorithm = algorithm_of(take(self.numbers, 0))
        networks = [self.algorithm.new_network(np.random.default_rng(seed)) for seed in seeds]
        keys = jnp.stack([make_key(seed) for seed in seeds])

        def advance(iterations: jax.Array, own: Numbers, state: Any) -> Any:
            # Compiled as a function of its own: inlined, XLA rounds some sums differently.
            iterate = jax.jit(algorithm_of(own).iterate)
            return jax.lax.fori_loop(0, iterations, lambda _, now: iterate(now), state)

        def test(episodes: int, own: Numbers, network: Any, seed: jax.Array) -> Episodes:
            return play(algorithm_of(own), network, seed, episodes)

        begin = jax.vmap(lambda own, network, key: algorithm_of(own).begin(network, key))
        self.state = jax.jit(begin)(self.numbers, stack_trees(networks), keys)
        self._advance = jax.jit(jax.vmap(advance, (None, 0, 0)), donate_argnums=2)
        self._test = jax.jit(jax.vmap(test, (None, 0, 0, None)), static_argnums=0)
        self._tested: dict[tuple[int, int], Episodes] = {}

    @property
    def timesteps(self) -> int:
        """Steps taken by each run so far."""
        return int(np.asarray(self.state.timesteps)[0])

    @property
    def ended(self) -> Any:
        """[runs]: training episodes that ended."""
        return np.asarray(self.state.envs.ended).sum(axis=1)

    @property
    def cut_off(self) -> Any:
        """[runs]: those of them that a full stack truncated."""
        return np.asarray(self.state.envs.cut_off).sum(axis=1)

    def iterate(self, iterations: int) -> None:
        """Train for more iterations."""
        self.state = self._advance(iterations, self.numbers, self.state)
        check_followed(self.state.envs.fault)
        check_numbers(self.state.network, self.seeds)

    def test(self, episodes: int) -> Episodes:
        """Test episodes of each run as it stands, [runs, episodes] each; the same starts for all."""
        asked = self.timesteps, episodes
        if asked not in self._tested:
            seed = self.timesteps // self.algorithm.steps_per_iteration
            played = self._test(episodes, self.numbers, self.state.network, seed)
            check_followed(played.fault)
            self._tested = {asked: played}
        return self._tested[asked]


def check_numbers(networks: Any, seeds: Sequence[int]) -> None:
    """Raise if the parameters of a run diverged (NaN or inf); networks: [runs] each."""
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
    """Runs that have one `batch_key`, before their first step."""
    resolved = [settle(task, agent) for task, agent in zip(tasks, agents, strict=True)]
    task, agent = tasks[0], resolved[0]
    product = product_for(task, agent)
    own = [own_numbers(*run) for run in zip(tasks, resolved, strict=True)]
    columns = {name: [numbers[name] for numbers in own] for name in own[0]}
    varying = {name: values for name, values in columns.items() if len(set(values)) > 1}

    def algorithm_of(own: Numbers) -> Algorithm:
        """The algorithm of one run, from the numbers that are its own."""
        physics = {name: own[name] for name in PHYSICS if name in own}
        scales = {name: own[name] for name in SCALES if name in own}
        world: Any = task.domain
        domain = domain_for(replace(world, **physics) if physics else world, agent)
        one = replace(product, domain=domain, visible=own.get("visible", product.visible))
        return make_algorithm(one, replace(agent, **scales))

    return DeepTraining(algorithm_of, seeds, varying)
