"""Deep runs as the loop in `run` sees them: those that differ in few numbers are trained side by side, in one compiled program.

Everything that decides a run is its task, its agent and its seed. Runs of one batch may differ in the seed, the learning rate,
the scale of rewards, WaterWorld's box and physics, and whether they see the machine.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.jax_world import JaxWorld
from pdrm.domains.water import WaterWorld
from pdrm.errors import BadSetting
from pdrm.files import Arrays, Fingerprint
from pdrm.language.loading import catalogue
from pdrm.learning.agents import AUTO, EMITTED, PPO, Deep, OffPolicy, shaping_of
from pdrm.learning.curve import Test
from pdrm.learning.deep.deep_policy import DeepPolicy, save_policy
from pdrm.learning.deep.deep_training import DeepTraining, algorithm_of, check_actions
from pdrm.learning.deep.many_envs import HEIGHTS
from pdrm.learning.deep.networks import load_arrays, tree_arrays
from pdrm.learning.deep.replay import choose_symbols
from pdrm.learning.settings import FULL, NOTHING, BuiltInAgent
from pdrm.machines.checks.pushdown_analysis import highest_stack
from pdrm.machines.tables import tabulate
from pdrm.product.jax_env.jax_domain import JaxDomain, finite_domain, own_domain, water_domain
from pdrm.product.jax_env.jax_product import JaxProduct, jax_product
from pdrm.product.views import TopK
from pdrm.task import Task, largest_reward

if TYPE_CHECKING:
    from pdrm.product.jax_env.jax_potentials import JaxPotential

LEAST = 32
"""Symbols that a stack always has room for."""
MOST = 1024
"""Symbols at most where the top is seen; higher stacks cut their episode off, and are reported."""
MOST_SEEN = 512
"""Symbols at most where the whole stack is seen."""
WATER_MACHINES = ("water", "water-strict")
"""Their stacks have at most nine symbols, because WaterWorld's balls 2 to 9 are touched once each."""
PHYSICS = ("side", "radius", "ball_speed", "acceleration", "top_speed")
"""Numbers of WaterWorld that may differ from run to run."""
SCALES = ("learning_rate", "reward_scale", "clip_range_vf")
"""Settings that may differ from run to run, where they are numbers."""
LARGEST_REWARD = 1e30
"""The largest reward of an episode: sums of as many as it has are numbers of 32 bits."""
LARGEST_TARGET = 1e15
"""The largest reward that networks see: the squares of what they come to are, too."""
COUNTS = ("iterations", "ended", "cut_off")
"""What a training counts."""


def needed_depth(task: Task, agent: Deep) -> int:
    """Room for the highest stack within an episode (one label per step, one at reset), as far as it is affordable.

    Compiled programs need arrays of fixed size. Where the policy sees a few symbols, depth costs memory alone: at most half a
    kilobyte for each environment and each transition in a replay buffer. Where it sees the whole stack, every symbol is a few
    inputs of the network as well.

    >>> from pdrm.learning.agents import PPO
    >>> [needed_depth(Task(name), PPO().settled()) for name in ("letter", "deliver-8")]
    [334, 41]
    """
    agent = agent.settled(task)
    if task.continuous and task.pushdown in map(catalogue, WATER_MACHINES):
        return LEAST
    most = MOST_SEEN if agent.k == "full" else MOST
    begun = (
        HEIGHTS if isinstance(agent, PPO) and agent.restarts else 0
    )  # symbols that an episode may begin with
    return max(
        LEAST,
        min(most, highest_stack(task.pushdown, int(task.domain.step_limit) + 1, most) + begun),
    )


IMAGINED = 8
"""Experiences imagined beside each sampled one, where an agent leaves it to the task."""
LARGEST_SEEN = 10.0
"""The largest reward that networks see, likewise."""


def settle(task: Task, agent: Deep) -> Deep:
    """The agent with what it leaves to the task: the scale of rewards, whether they are shaped, where episodes begin, and how many experiences are imagined. Whatever comes from
    outside is settled first (`batch_key`, `check_fits`, `DeepLearner`); all other functions take settled agents.

    >>> from pdrm.learning.agents import DQN
    >>> [(one.reward_scale, one.counterfactuals) for one in (settle(Task("maze-5x5"), DQN(shaping=shaping)) for shaping in ("none", "auto"))]
    [(0.0001, 8), (0.0001, 0)]
    """
    agent, settled = agent.settled(task), dict[str, Any]()
    if agent.reward_scale is None:
        settled["reward_scale"] = min(
            1.0, LARGEST_SEEN / max(largest_reward(task.domain, task.pushdown), LARGEST_SEEN)
        )
    if agent.shaping == AUTO:
        settled["shaping"] = (
            NOTHING if isinstance(agent, OffPolicy) and agent.counterfactuals else EMITTED
        )
    if (
        isinstance(agent, PPO) and agent.k == NOTHING
    ):  # it could not tell where an episode has begun
        settled["restarts"] = 0.0
    agent = replace(agent, **settled)
    if isinstance(agent, OffPolicy) and agent.counterfactuals is None:
        return replace(agent, counterfactuals=IMAGINED if _can_imagine(task, agent) else 0)
    return agent


def _can_imagine(task: Task, agent: OffPolicy) -> bool:
    """Whether experiences can be imagined, and would teach the agent anything."""
    if agent.k == NOTHING or agent.shaping != NOTHING:
        return False
    depth = needed_depth(task, agent) if agent.depth is None else agent.depth
    try:
        choose_symbols(
            task.pushdown, depth if agent.k == FULL else int(agent.k), depth, agent.n_steps
        )
    except BadSetting:
        return False
    return True


def domain_for(task: Task, agent: Deep) -> JaxDomain:
    """The task's domain in JAX, with the kind of action that the agent chooses."""
    if isinstance(task.domain, WaterWorld):
        return water_domain(replace(task.domain, continuous=agent.continuous is True))
    return (
        own_domain(task.domain) if isinstance(task.domain, JaxWorld) else finite_domain(task.finite)
    )


def product_for(task: Task, agent: Deep) -> JaxProduct:
    """The task's product as the agent sees it. An agent that sees nothing of the machine sees zeros in its place."""
    agent = agent.settled(task)
    view, depth = agent.view, needed_depth(task, agent) if agent.depth is None else agent.depth
    product = jax_product(
        domain_for(task, agent), task.pushdown, TopK(1) if view is None else view, depth=depth
    )
    product = replace(product, potential=potential_for(task, agent, product))
    return product if view is not None else replace(product, visible=0.0)


def potential_for(task: Task, agent: Deep, product: JaxProduct) -> JaxPotential | None:
    """What the agent's rewards are shaped by, in the unit that its networks see; None: by nothing."""
    shaping = shaping_of(agent)
    if shaping is None:
        return None
    from pdrm.product.jax_env.jax_potentials import jax_potential
    from pdrm.product.shaping import find_labels

    labels = find_labels(task.pushdown)
    if agent.shaping == EMITTED:
        labels = (
            task.domain.find_labels()
            if isinstance(task.domain, FiniteDomain)
            else product.domain.labels
        )
    table = tabulate(task.pushdown, labels)
    return jax_potential(product.machine, shaping, table, agent.reward_scale, agent.reward_clip)


def batch_key(task: Task, agent: BuiltInAgent) -> str:
    """What must be equal of two runs so that they can be trained side by side."""
    agent = settle(task, agent) if isinstance(agent, Deep) else agent
    where = task.record()
    own = {
        name
        for name in SCALES
        if name != "reward_scale" or agent.record().get("shaping") == NOTHING
    }  # potentials are scaled, too
    settings = {
        name: name if name in own and value is not None else value
        for name, value in agent.record().items()
    }
    settings["k"] = 1 if agent.k == "none" else agent.k
    if isinstance(task.domain, WaterWorld):
        where.pop("world", None)
        alike: dict[str, Any] = dict.fromkeys(PHYSICS, 1.0)
        where["domain"] = repr(replace(task.domain, **alike))
    return json.dumps([agent.name, where, settings], sort_keys=True)


def check_fits(task: Task, agent: Deep) -> None:
    """Raise unless the agent can learn the task."""
    settled = settle(task, agent)
    check_rewards(task, settled)
    check_actions(settled, product_for(task, settled))


def check_rewards(task: Task, agent: Deep) -> None:
    """Raise where rewards are too large for the numbers of 32 bits that networks compute with."""
    largest = largest_reward(task.domain, task.pushdown)
    if largest > LARGEST_REWARD:
        fault = f"a reward of ±{largest:g} is too large: what an episode pays would be more than a number of 32 bits can be"
        raise BadSetting(
            fault,
            fix=f"rewards of up to {LARGEST_REWARD:g}, or an agent that learns a table, as cprm",
        )
    seen = largest * float(agent.reward_scale)
    seen = seen if agent.reward_clip is None else min(seen, float(agent.reward_clip))
    if seen > LARGEST_TARGET:
        fault = f"a reward of ±{largest:g} is too large for a network to learn from"
        raise BadSetting(fault, fix=f"scale it down: reward_scale={1 / largest:.0e}")


class DeepLearner:
    """A batch of runs. tasks, agents, seeds: of each run; they have one `batch_key`."""

    def __init__(
        self, tasks: Sequence[Task], agents: Sequence[BuiltInAgent], seeds: Sequence[int]
    ) -> None:
        settled = [
            settle(task, _check_deep(agent)) for task, agent in zip(tasks, agents, strict=True)
        ]
        first = settled[0]
        product = product_for(tasks[0], first)
        numbers = _varying(tasks, settled)

        def run_of(own: dict[str, Any]) -> tuple[JaxProduct, Any]:
            """The product and the settings of one run, from the numbers that are its own."""
            one, world = product, tasks[0].domain
            physics = {name: own[name] for name in PHYSICS if name in own}
            if physics and isinstance(world, WaterWorld):
                kind = replace(world, continuous=product.domain.actions == 0, **physics)
                one = replace(one, domain=water_domain(kind))
            if "visible" in own:
                one = replace(one, visible=own["visible"])
            return one, replace(first, **{name: own[name] for name in SCALES if name in own})

        self.training = DeepTraining(algorithm_of(first.name), run_of, seeds, numbers)
        self.tasks, self.machine = tuple(tasks), tasks[0].pushdown
        self.ends = (*self.machine.states, *self.machine.final)
        self.test_episodes = first.test_episodes
        per_iteration = self.training.steps_per_iteration
        self.total = -(-first.total // per_iteration) * per_iteration
        self.between_tests = max(1, first.between_tests // per_iteration) * per_iteration

    @property
    def done(self) -> int:
        """Steps of training so far, of each run."""
        return self.training.timesteps

    def advance(self, timesteps: int) -> None:
        """Train for so many steps more, in whole iterations, but never past the end."""
        left = min(timesteps, self.total - self.done)
        if left > 0:
            self.training.iterate(max(1, left // self.training.steps_per_iteration))

    def test(self) -> list[Test]:
        """A test of each run; the same starts for all."""
        return self.play(self.test_episodes, seed=self.training.iterations)

    def play(self, episodes: int, seed: int) -> list[Test]:
        """Episodes without exploration of each run as it stands."""
        self.played = played = self.training.test(episodes, seed)
        names = np.array(self.ends)
        columns = (np.asarray(part) for part in (played.returns, played.steps, played.ends))
        return [
            Test(returns.astype(np.float64), steps.astype(np.int64), names[ends])
            for returns, steps, ends in zip(*columns, strict=True)
        ]

    def snapshot(self, run: int) -> Arrays:
        """Where one run stands."""
        training = self.training
        counts = (training.iterations, training.ended[run], training.cut_off[run])
        counted = {
            name: np.asarray(np.int64(count)) for name, count in zip(COUNTS, counts, strict=True)
        }
        return {**counted, **tree_arrays(jax.tree.map(lambda part: part[run], self.training.state))}

    def restore_run(self, run: int, arrays: Arrays) -> None:
        """Put one run where its snapshot left it; `KeyError` or `ValueError` if that is damaged."""
        training = self.training
        loaded = load_arrays(arrays, jax.tree.map(lambda part: part[run], training.state))
        training.state = jax.tree.map(
            lambda parts, part: parts.at[run].set(part), training.state, loaded
        )
        training.iterations = int(arrays["iterations"])
        training.ended[run], training.cut_off[run] = int(arrays["ended"]), int(arrays["cut_off"])

    def policy(self, run: int) -> DeepPolicy:
        """The network of one run, as it stands."""
        training = self.training
        network = jax.tree.map(lambda part: part[run], training.state.network)
        own = {name: values[run] for name, values in training.numbers.items()}
        product, settings = training.task(own)
        domain = self.tasks[run].domain
        finite = domain if isinstance(domain, FiniteDomain) else None
        return DeepPolicy(training.algorithm, settings, product, network, about={}, domain=finite)

    def save_policy(
        self, run: int, path: Path, about: dict[str, Any], _largest: int | None = None
    ) -> Fingerprint:
        """Write the network of one run, and its description."""
        save_policy(
            path, self.training, run, self.machine, {**about, "cut_off": self.facts(run)["cut_off"]}
        )
        return Fingerprint.of(path.read_bytes())

    def facts(self, run: int) -> dict[str, float]:
        """Where a run stands, in numbers: the share of its training episodes that a full stack truncated."""
        return {"cut_off": float(self.training.cut_off[run] / max(1, self.training.ended[run]))}


def _check_deep(agent: BuiltInAgent) -> Deep:
    """The agent; raise unless it is deep."""
    if not isinstance(agent, Deep):
        raise BadSetting(f"agent `{agent.name}` is not deep", fix="use ppo, rppo, dqn or sac")
    return agent


def _varying(tasks: Sequence[Task], agents: Sequence[Deep]) -> dict[str, list[float]]:
    """The numbers in which the runs of a batch differ, by name, one per run."""
    columns: dict[str, list[float]] = {
        "visible": [float(agent.k != "none") for agent in agents],
        **{name: [float(getattr(agent, name, None) or 0.0) for agent in agents] for name in SCALES},
        **{name: [float(getattr(task.domain, name, 0.0)) for task in tasks] for name in PHYSICS},
    }
    return {name: values for name, values in columns.items() if len(set(values)) > 1}
