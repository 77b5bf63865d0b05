"""Tasks and settings for deep agents: the product that is compiled, what is left to the task, and runs that are trained together.

Runs of one batch are one compiled program. They may differ in the seed, the learning rate, the scale of rewards, WaterWorld's box
and physics, and whether they see the machine.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.water import WaterWorld
from pdrm.errors import BadSetting, DoesNotApply
from pdrm.language.loading import catalogue
from pdrm.learning.agents import AUTO, EMITTED, PPO, Deep, OffPolicy, shaping_of
from pdrm.learning.deep.algorithm import Algorithm
from pdrm.learning.deep.deep_training import DeepTraining, Numbers, make_algorithm
from pdrm.learning.deep.many_envs import HEIGHTS
from pdrm.learning.deep.replay import choose_symbols
from pdrm.learning.settings import FULL, NOTHING
from pdrm.machines.guards import Label
from pdrm.machines.stack_bounds import highest_stack
from pdrm.machines.tables import tabulate
from pdrm.product.jax_env.jax_domain import jax_domain, water_domain
from pdrm.product.jax_env.jax_potentials import jax_potential
from pdrm.product.jax_env.jax_product import JaxProduct, jax_product
from pdrm.product.shaping import find_labels
from pdrm.product.views import TopK
from pdrm.task import Task, largest_reward

LEAST = 32
"""Symbols that a stack always has room for."""
MOST, MOST_SEEN = 1024, 512
"""Symbols at most, and if the whole stack is seen; higher stacks end their episode, and are reported."""
WATER_MACHINES = ("water", "water-strict")
"""Their stacks have at most nine symbols, because WaterWorld's balls 2 to 9 are touched once each."""
PHYSICS = ("side", "radius", "ball_speed", "acceleration", "top_speed")
"""Numbers of WaterWorld that may differ from run to run."""
SCALES = ("learning_rate", "reward_scale", "clip_range_vf")
"""Settings that may differ from run to run if they are numbers."""
LARGEST_REWARD = 1e30
"""The largest reward: sums of an episode are numbers of 32 bits."""
LARGEST_TARGET = 1e15
"""The largest reward that networks see: the squares of its sums are, too."""


def needed_depth(task: Task, agent: Deep) -> int:
    """Room for the highest stack of an episode (one label per step, one at reset), as far as it is affordable.

    >>> from pdrm.learning.agents import PPO
    >>> [needed_depth(Task(name), PPO().settled()) for name in ("letter", "deliver-8")]
    [334, 41]
    """
    agent = agent.settled(task)
    if task.continuous and task.pushdown in map(catalogue, WATER_MACHINES):
        return LEAST
    most = MOST_SEEN if agent.k == FULL else MOST
    highest = highest_stack(task.pushdown, int(task.domain.step_limit) + 1, most)
    if isinstance(agent, PPO) and agent.restarts:
        highest = min(most, highest) + HEIGHTS  # an episode may begin with as many symbols
    return max(LEAST, min(most, highest))


def depth_of(task: Task, agent: Deep) -> int:
    """The agent's own depth, or what the task needs."""
    return needed_depth(task, agent) if agent.depth is None else agent.depth


IMAGINED = 8
"""Counterfactual experiences for each sampled one, if an agent leaves it to the task."""
LARGEST_SEEN = 10.0
"""The largest reward that networks see, likewise."""


def settle(task: Task, agent: Deep) -> Deep:
    """The agent with what it leaves to the task: also the scale of rewards, shaping, restarts and counterfactual experiences.

    >>> from pdrm.learning.agents import DQN
    >>> [(one.reward_scale, one.counterfactuals) for one in (settle(Task("maze-5x5"), DQN(shaping=shaping)) for shaping in ("none", "auto"))]
    [(0.0001, 8), (0.0001, 0)]
    """
    agent = agent.settled(task)
    settled: dict[str, Any] = {}
    if agent.reward_scale is None:
        largest = max(largest_reward(task.domain, task.pushdown), LARGEST_SEEN)
        settled["reward_scale"] = min(1.0, LARGEST_SEEN / largest)
    if agent.shaping == AUTO:
        imagines = isinstance(agent, OffPolicy) and agent.counterfactuals
        settled["shaping"] = NOTHING if imagines else EMITTED
    if isinstance(agent, PPO) and agent.k == NOTHING:
        settled["restarts"] = 0.0  # it could not tell where an episode has begun
    agent = replace(agent, **settled)
    if isinstance(agent, OffPolicy) and agent.counterfactuals is None:
        return replace(agent, counterfactuals=IMAGINED if _can_imagine(task, agent) else 0)
    return agent


def _can_imagine(task: Task, agent: OffPolicy) -> bool:
    """Return True if there are counterfactual experiences that would teach the agent something."""
    if agent.k == NOTHING or agent.shaping != NOTHING:
        return False
    depth = depth_of(task, agent)
    seen = depth if agent.k == FULL else int(agent.k)
    try:
        choose_symbols(task.pushdown, seen, depth, agent.n_steps)
    except BadSetting:
        return False
    return True


def product_for(task: Task, agent: Deep) -> JaxProduct:
    """The task's product as the agent sees it, with the potential of its shaping. Without a view, the machine's part is zeros."""
    agent = agent.settled(task)
    view = agent.view or TopK(1)
    world: Any = task.domain
    if isinstance(world, WaterWorld):  # with the kind of action that the agent chooses
        world = replace(world, continuous=agent.continuous is True)
    domain = jax_domain(world)
    product = jax_product(domain, task.pushdown, view, depth=depth_of(task, agent))
    shaping = shaping_of(agent)
    potential = None
    if shaping is not None:
        labels: Sequence[Label] = find_labels(task.pushdown)
        if agent.shaping == EMITTED:
            labels = world.find_labels() if isinstance(world, FiniteDomain) else domain.labels
        table = tabulate(task.pushdown, labels)
        scale, clip = agent.reward_scale, agent.reward_clip
        potential = jax_potential(product.machine, shaping, table, scale, clip)
    return replace(product, potential=potential, visible=float(agent.view is not None))


def batch_key(task: Task, agent: Deep) -> str:
    """Runs with equal keys can be trained side by side."""
    agent = settle(task, agent)
    where, settings = task.record(), agent.record()
    for name in SCALES:
        is_in_potential = name == "reward_scale" and agent.shaping != NOTHING
        if settings.get(name) is not None and not is_in_potential:
            settings[name] = name
    if agent.k == NOTHING:
        settings["k"] = 1
    if isinstance(task.domain, WaterWorld):
        where.pop("world", None)
        alike: dict[str, Any] = dict.fromkeys(PHYSICS, 1.0)
        where["domain"] = repr(replace(task.domain, **alike))
    return json.dumps([agent.name, where, settings], sort_keys=True)


def check_fits(task: Task, agent: Deep) -> None:
    """Raise unless the agent can learn the task: it can choose the actions, and rewards are not too large for 32 bits."""
    settled = settle(task, agent)
    largest = largest_reward(task.domain, task.pushdown)
    if largest > LARGEST_REWARD:
        fault = f"a reward of ±{largest:g} is too large for numbers of 32 bits"
        fix = f"rewards of up to {LARGEST_REWARD:g}, or an agent that learns a table, as cprm"
        raise BadSetting(fault, fix=fix)
    seen = largest * float(settled.reward_scale)
    if settled.reward_clip is not None:
        seen = min(seen, float(settled.reward_clip))
    if seen > LARGEST_TARGET:
        fault = f"a reward of ±{largest:g} is too large for a network to learn from"
        raise BadSetting(fault, fix=f"scale it down: reward_scale={1 / largest:.0e}")
    vectors = product_for(task, settled).domain.actions == 0
    if agent.continuous not in (None, vectors):
        own, theirs = ("numbered", "continuous") if vectors else ("continuous", "numbered")
        fix = "use sac or ppo" if vectors else "use ppo, rppo or dqn"
        fault = f"`{agent.name}` chooses {own} actions, and those of `{task.name}` are {theirs}"
        raise DoesNotApply(fault, fix=fix)


def train_together(
    tasks: Sequence[Task], agents: Sequence[Deep], seeds: Sequence[int]
) -> DeepTraining:
    """Runs that have one `batch_key`, before their first step."""
    settled = [settle(task, agent) for task, agent in zip(tasks, agents, strict=True)]
    first, world = settled[0], tasks[0].domain
    product = product_for(tasks[0], first)
    columns: dict[str, list[float]] = {
        "visible": [float(agent.k != NOTHING) for agent in settled],
        **{
            name: [float(getattr(agent, name, None) or 0.0) for agent in settled] for name in SCALES
        },
        **{name: [float(getattr(task.domain, name, 0.0)) for task in tasks] for name in PHYSICS},
    }
    varying = {name: values for name, values in columns.items() if len(set(values)) > 1}

    def algorithm_of(own: Numbers) -> Algorithm:
        """The algorithm of one run, from the numbers that are its own."""
        one = replace(product, visible=own.get("visible", product.visible))
        physics = {name: own[name] for name in PHYSICS if name in own}
        if physics and isinstance(world, WaterWorld):
            box = replace(world, continuous=product.domain.actions == 0, **physics)
            one = replace(one, domain=water_domain(box))
        scales = {name: own[name] for name in SCALES if name in own}
        return make_algorithm(one, replace(first, **scales))

    return DeepTraining(algorithm_of, seeds, varying)
