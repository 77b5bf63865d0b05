"""Training deep agents: the four algorithms behind one record of functions, many seeds at once, tests and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.errors import BadSetting, FinishedAtReset, UndefinedMove, UnknownAgent, did_you_mean
from pdrm.learning.agents import DQN, PPO, SAC, Deep, RecurrentPPO
from pdrm.learning.deep import dqn, ppo, recurrent_ppo, replay, sac
from pdrm.learning.deep.many_envs import Act, Episodes, Tally, play
from pdrm.learning.deep.networks import stack_trees
from pdrm.product.jax_env.jax_domain import key_of, seeded
from pdrm.product.jax_env.jax_product import JaxProduct

# --- What the four agents have in common, as one record of functions; and the agents by name.

Network = Any
State = Any


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A way to learn; its functions are pure and know nothing of seeds, which are mapped over."""

    name: str
    settings: type[Deep]
    network: Callable[..., Network]
    """product, settings, generator -> the first parameters."""
    begin: Callable[..., State]
    """product, settings, network, key -> the state before the first step."""
    iterate: Callable[..., tuple[State, Any]]
    """product, settings, state -> the state after an iteration, and its metrics."""
    steps_per_iteration: Callable[..., int]
    act: Callable[[JaxProduct, Any, Network], Act]
    """product, settings, network -> the policy without exploration."""
    memory: Callable[[Any, int], Any]
    """settings, how many -> what that many episodes remember at their start."""
    continuous: bool | None
    """Whether actions are vectors; None: either."""


def _nothing(_settings: Deep, _count: int) -> tuple[()]:
    return ()


ALGORITHMS = {
    "ppo": Algorithm(
        "ppo", PPO, ppo.new_network, ppo.begin, ppo.iterate, ppo.steps_per_iteration, ppo.act, _nothing, None
    ),
    "rppo": Algorithm(
        "rppo",
        RecurrentPPO,
        recurrent_ppo.new_network,
        recurrent_ppo.begin,
        recurrent_ppo.iterate,
        ppo.steps_per_iteration,
        recurrent_ppo.act,
        recurrent_ppo.empty_memory,
        None,
    ),
    "dqn": Algorithm(
        "dqn", DQN, dqn.new_network, dqn.begin, dqn.iterate, replay.steps_per_iteration, dqn.act, _nothing, False
    ),
    "sac": Algorithm(
        "sac", SAC, sac.new_network, sac.begin, sac.iterate, replay.steps_per_iteration, sac.act, _nothing, True
    ),
}


def algorithm_of(name: str) -> Algorithm:
    """The agent of this name.

    >>> algorithm_of("ppo").settings.__name__
    'PPO'
    """
    if name not in ALGORITHMS:
        raise UnknownAgent(f"no deep agent is called `{name}`", fix=did_you_mean(name, ALGORITHMS))
    return ALGORITHMS[name]


def check_actions(algorithm: Algorithm, product: JaxProduct) -> None:
    """Raise unless the agent can choose the domain's actions."""
    vectors = product.domain.actions == 0
    if algorithm.continuous is not None and algorithm.continuous != vectors:
        kind = "vectors" if vectors else "one of several"
        fix = "use sac or ppo" if vectors else "use ppo, rppo or dqn"
        raise BadSetting(f"`{algorithm.name}` cannot choose the actions of `{product.domain.name}`, {kind}", fix=fix)


# --- Training many runs at once: the same agent on many seeds (and, where wanted, on many values of its settings), one program.
#
# Everything that decides a run is its algorithm, product, settings and seed.

Numbers = dict[str, Any]
"""Numbers that differ from run to run, by name, [runs] each."""
RunOf = Callable[[Numbers], tuple[JaxProduct, Any]]
"""The numbers of one run, maybe traced -> its product and settings."""

TESTS = 0x7E57
"""What tells the keys of tests from those of training."""


class DeepTraining:
    """Runs side by side."""

    def __init__(self, algorithm: Algorithm, task: RunOf, seeds: Sequence[int], numbers: Numbers | None = None) -> None:
        self.algorithm, self.task, self.seeds = algorithm, task, tuple(seeds)
        self.numbers: Numbers = {name: jnp.asarray(values) for name, values in (numbers or {}).items()}
        first = jax.tree.map(lambda values: values[0], self.numbers)
        self.product, self.settings = task(first)
        check_actions(algorithm, self.product)
        self.steps_per_iteration = algorithm.steps_per_iteration(self.settings)
        self.iterations = 0
        self.ended, self.cut_off = 0, 0
        """Episodes of training that ended, of all runs; and of these, those that a full stack cut off."""
        networks = [algorithm.network(self.product, self.settings, np.random.default_rng(seed)) for seed in seeds]
        keys = jnp.stack([seeded(seed) for seed in seeds])
        self.state = jax.jit(jax.vmap(self._begin))(self.numbers, stack_trees(networks), keys)

    @property
    def timesteps(self) -> int:
        """Steps taken by each run so far."""
        return self.iterations * self.steps_per_iteration

    def advance(self, iterations: int) -> Any:
        """So many iterations more; returns what each came to, [runs, iterations] each."""
        self.state, metrics = self._advance(iterations)(self.numbers, self.state)
        self.iterations += iterations
        tally = metrics.tally
        check_played(tally, self.product.machine.depth)
        self.ended, self.cut_off = self.ended + int(tally.episodes.sum()), self.cut_off + int(tally.overflows.sum())
        return metrics

    def test(self, episodes: int, seed: int = 0) -> Episodes:
        """Test episodes of each run as it stands, [runs, episodes] each; the same starts for all."""
        key = key_of(seeded(seed), TESTS)
        played: Episodes = self._test(episodes)(self.numbers, self.state.network, key)
        check_played(played, self.product.machine.depth)
        return played

    def _begin(self, numbers: Numbers, network: Any, key: jax.Array) -> Any:
        return self.algorithm.begin(*self.task(numbers), network, key)

    def _advance(self, iterations: int) -> Any:
        return _compiled(self, iterations, "_advanced", donate=1)

    def _test(self, episodes: int) -> Any:
        return _compiled(self, episodes, "_tested", donate=None)

    def _advanced(self, iterations: int, numbers: Numbers, state: Any) -> tuple[Any, Any]:
        product, settings = self.task(numbers)
        return jax.lax.scan(
            lambda now, _: self.algorithm.iterate(product, settings, now), state, None, length=iterations
        )

    def _tested(self, episodes: int, numbers: Numbers, network: Any, key: jax.Array) -> Episodes:
        product, settings = self.task(numbers)
        act = self.algorithm.act(product, settings, network)
        memory = self.algorithm.memory(settings, episodes)
        return play(product, act, memory, key, episodes, self.product.domain.step_limit)


def check_played(told: Tally | Episodes, depth: int) -> None:
    """Raise where the machine could not follow: compiled code cannot, and tells what it met instead."""
    if int(told.finished.sum()):
        raise FinishedAtReset(
            "the machine is in a final state before the first action",
            fix="let the first label, not the start, lead there",
        )
    if int(told.unfit.sum()):
        raise BadSetting(f"the stack that an episode begins with does not fit a depth of {depth}", fix="a larger depth")
    if int(told.undefined.sum()):
        raise UndefinedMove(
            "the machine met a label for which it has no rule, and says `otherwise error`",
            fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine",
        )


def _compiled(training: DeepTraining, count: int, name: str, donate: int | None) -> Any:
    """One of a training's functions for a number of iterations or episodes, mapped over runs and compiled once."""
    cache: dict[Any, Any] = training.__dict__.setdefault("_cache", {})
    if (name, count) not in cache:
        function = partial(getattr(training, name), count)
        axes = (0, 0) if donate is not None else (0, 0, None)
        mapped = jax.vmap(function, in_axes=axes)
        cache[name, count] = jax.jit(mapped, donate_argnums=() if donate is None else (donate,))
    return cache[name, count]
