"""Training many runs at once: the same agent on many seeds (and, where wanted, on many values of its settings), one program.

Everything that decides a run is its algorithm, product, settings and seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.errors import BadSetting, FinishedAtReset, UndefinedMove
from pdrm.learning.deep.algorithm import Algorithm, check_fits
from pdrm.learning.deep.evaluation import Episodes, play
from pdrm.learning.deep.many_envs import Tally
from pdrm.learning.deep.networks import side_by_side
from pdrm.product.jax_env.draws import key_of, seeded
from pdrm.product.jax_env.product import JaxProduct

Numbers = dict[str, Any]
"""Numbers that differ from run to run, by name, [runs] each."""
Task = Callable[[Numbers], tuple[JaxProduct, Any]]
"""The numbers of one run, maybe traced -> its product and settings."""

TESTS = 0x7E57
"""What tells the keys of tests from those of training."""


class DeepTraining:
    """Runs side by side."""

    def __init__(self, algorithm: Algorithm, task: Task, seeds: Sequence[int], numbers: Numbers | None = None) -> None:
        self.algorithm, self.task, self.seeds = algorithm, task, tuple(seeds)
        self.numbers: Numbers = {name: jnp.asarray(values) for name, values in (numbers or {}).items()}
        first = jax.tree.map(lambda values: values[0], self.numbers)
        self.product, self.settings = task(first)
        check_fits(algorithm, self.product)
        self.steps_per_iteration = algorithm.steps_per_iteration(self.settings)
        self.iterations = 0
        self.ended, self.cut_off = 0, 0
        """Episodes of training that ended, of all runs; and of these, those that a full stack cut off."""
        networks = [algorithm.network(self.product, self.settings, np.random.default_rng(seed)) for seed in seeds]
        keys = jnp.stack([seeded(seed) for seed in seeds])
        self.state = jax.jit(jax.vmap(self._begin))(self.numbers, side_by_side(networks), keys)

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
