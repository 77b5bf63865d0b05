"""Training deep agents: the four algorithms by name, many runs at once as one compiled program, evaluations and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.errors import BadSetting, Diverged, FinishedAtReset, UndefinedMove
from pdrm.files import Arrays
from pdrm.learning.agents import Deep
from pdrm.learning.deep.algorithm import Algorithm, Episodes, play
from pdrm.learning.deep.dqn import DQNAlgorithm
from pdrm.learning.deep.networks import load_arrays, stack_trees, tree_arrays
from pdrm.learning.deep.ppo import PPOAlgorithm
from pdrm.learning.deep.recurrent_ppo import RecurrentAlgorithm
from pdrm.learning.deep.sac import SACAlgorithm
from pdrm.product.jax_env.jax_domain import Key, key_of, make_key
from pdrm.product.jax_env.jax_machine import FINISHED, OVERFLOW, UNDEFINED
from pdrm.product.jax_env.jax_product import JaxProduct

ALGORITHMS: dict[str, type[Algorithm]] = {
    "ppo": PPOAlgorithm,
    "rppo": RecurrentAlgorithm,
    "dqn": DQNAlgorithm,
    "sac": SACAlgorithm,
}


def make_algorithm(product: JaxProduct, agent: Deep) -> Algorithm:
    """The algorithm of an agent on a product."""
    return ALGORITHMS[agent.name](product, agent.settled())


Numbers = dict[str, Any]
"""Numbers that differ from run to run, by name, [runs] each."""

TESTS = 0x7E57
"""Keeps the keys of evaluations apart from those of training."""


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
        self.numbers: Numbers = {
            name: jnp.asarray(values) for name, values in (numbers or {}).items()
        }
        self.algorithm = algorithm_of({name: own[0] for name, own in self.numbers.items()})
        networks = [self.algorithm.new_network(np.random.default_rng(seed)) for seed in seeds]
        keys = jnp.stack([make_key(seed) for seed in seeds])

        def begin(own: Numbers, network: Any, key: Key) -> Any:
            return algorithm_of(own).begin(network, key)

        self.state = jax.jit(jax.vmap(begin))(self.numbers, stack_trees(networks), keys)
        self._advance_compiled = jax.jit(self._advance, donate_argnums=2)
        self._test_compiled = jax.jit(self._test, static_argnums=0)
        self._tested: tuple[tuple[int, int, int], Episodes] | None = None

    @property
    def timesteps(self) -> int:
        """Steps taken by each run so far."""
        return int(np.asarray(self.state.timesteps)[0])

    @property
    def iterations(self) -> int:
        """Iterations of each run so far."""
        return self.timesteps // self.algorithm.steps_per_iteration

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
        self.state = self._advance_compiled(iterations, self.numbers, self.state)
        self._check_followed(self.state.envs.fault)
        check_numbers(self.state.network, self.seeds)

    def test(self, episodes: int, seed: int = 0) -> Episodes:
        """Test episodes of each run as it stands, [runs, episodes] each; the same starts for all."""
        asked = self.iterations, episodes, seed
        if self._tested is None or self._tested[0] != asked:
            key = key_of(make_key(seed), TESTS)
            played = self._test_compiled(episodes, self.numbers, self.state.network, key)
            self._check_followed(played.fault)
            self._tested = asked, played
        return self._tested[1]

    def snapshot(self, run: int) -> Arrays:
        """The state of one run."""
        return tree_arrays(jax.tree.map(lambda part: part[run], self.state))

    def restore(self, run: int, arrays: Arrays) -> None:
        """Continue one run from its snapshot; `ValueError` if that is damaged."""
        loaded = load_arrays(arrays, jax.tree.map(lambda part: part[run], self.state))
        self.state = jax.tree.map(lambda parts, part: parts.at[run].set(part), self.state, loaded)
        self._tested = None

    def _advance(self, iterations: jax.Array, numbers: Numbers, state: Any) -> Any:
        """Iterations: one program for every number of them."""

        def advance(numbers: Numbers, state: Any) -> Any:
            iterate = jax.jit(self.algorithm_of(numbers).iterate)
            return jax.lax.fori_loop(0, iterations, lambda _, now: iterate(now), state)

        return jax.vmap(advance)(numbers, state)

    def _test(self, episodes: int, numbers: Numbers, network: Any, key: jax.Array) -> Episodes:
        def test(numbers: Numbers, network: Any) -> Episodes:
            return play(self.algorithm_of(numbers), network, key, episodes)

        return jax.vmap(test)(numbers, network)

    def _check_followed(self, fault: jax.Array) -> None:
        """Raise if the machine could not follow: compiled code cannot raise, so it keeps the highest status."""
        worst = int(fault.max())
        if worst == FINISHED:
            fix = "let the first label, not the start, lead there"
            raise FinishedAtReset(
                "the machine is in a final state before the first action", fix=fix
            )
        if worst == OVERFLOW:
            depth = self.algorithm.product.machine.depth
            said = f"the stack that an episode begins with does not fit a depth of {depth}"
            raise BadSetting(said, fix="a larger depth")
        if worst == UNDEFINED:
            fix = "add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine"
            said = "the machine met a label for which it has no rule, and says `otherwise error`"
            raise UndefinedMove(said, fix=fix)


def check_numbers(networks: Any, seeds: Sequence[int]) -> None:
    """Raise if the parameters of a run diverged (NaN or inf); networks: [runs] each."""
    finite = [
        np.isfinite(part).reshape(len(seeds), -1).all(axis=1)
        for part in map(np.asarray, jax.tree.leaves(networks))
    ]
    broken = np.flatnonzero(~np.all(finite, axis=0)).tolist()
    if broken:
        named = ", ".join(str(seeds[run]) for run in broken)
        fault = f"the network of seed {named} has diverged (NaN or inf)"
        error = Diverged(fault, fix="a smaller learning_rate or reward_scale, or a reward_clip")
        error.runs = tuple(broken)
        raise error
