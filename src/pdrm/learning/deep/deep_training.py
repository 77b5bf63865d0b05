"""Training deep agents: the four algorithms behind one record of functions, many seeds at once, evaluations and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.errors import (
    BadSetting,
    Diverged,
    DoesNotApply,
    FinishedAtReset,
    UndefinedMove,
)
from pdrm.files import Arrays
from pdrm.learning.agents import Deep
from pdrm.learning.deep import dqn, ppo, recurrent_ppo, sac
from pdrm.learning.deep.many_envs import Act, Episodes, Tally, play
from pdrm.learning.deep.networks import load_arrays, stack_trees, tree_arrays
from pdrm.product.jax_env.jax_domain import Key, key_of, make_key
from pdrm.product.jax_env.jax_product import JaxProduct

# --- The agents by name, and what they have in common.


class Algorithm(Protocol):
    """A learning algorithm as a module of pure functions: `ppo`, `recurrent_ppo`, `dqn`, `sac`. The caller maps over seeds."""

    def new_network(self, product: JaxProduct, settings: Any, rng: np.random.Generator, /) -> Any:
        """The first parameters."""

    def begin(self, product: JaxProduct, settings: Any, network: Any, key: Key, /) -> Any:
        """The state before the first step."""

    def iterate(self, product: JaxProduct, settings: Any, state: Any, /) -> tuple[Any, Tally]:
        """The state after an iteration, and its counts."""

    def steps_per_iteration(self, settings: Any, /) -> int:
        """Steps that an iteration takes, over all environments."""

    def act(self, product: JaxProduct, settings: Any, network: Any, /) -> Act:
        """The policy without exploration."""

    def empty_memory(self, settings: Any, count: int, /) -> Any:
        """The memory of this many episodes at their start."""


ALGORITHMS: dict[str, Algorithm] = {"ppo": ppo, "rppo": recurrent_ppo, "dqn": dqn, "sac": sac}


def check_actions(agent: Deep, product: JaxProduct) -> None:
    """Raise unless the agent can choose the domain's actions."""
    vectors = product.domain.actions == 0
    if agent.continuous not in (None, vectors):
        own, theirs = ("numbered", "continuous") if vectors else ("continuous", "numbered")
        fix = "use sac or ppo" if vectors else "use ppo, rppo or dqn"
        fault = f"`{agent.name}` chooses {own} actions, and those of `{product.domain.name}` are {theirs}"
        raise DoesNotApply(fault, fix=fix)


# --- Training many runs at once: one agent on many seeds, maybe with different numbers as settings; one program.

Numbers = dict[str, Any]
"""Numbers that differ from run to run, by name, [runs] each."""
RunOf = Callable[[Numbers], tuple[JaxProduct, Any]]
"""The numbers of one run, maybe traced -> its product and settings."""

TESTS = 0x7E57
"""Keeps the keys of evaluations apart from those of training."""


class DeepTraining:
    """Runs side by side."""

    def __init__(
        self,
        algorithm: Algorithm,
        task: RunOf,
        seeds: Sequence[int],
        numbers: Numbers | None = None,
    ) -> None:
        self.algorithm, self.seeds = algorithm, tuple(seeds)

        def settled(own: Numbers) -> tuple[JaxProduct, Any]:
            product, settings = task(own)
            return product, settings.settled()

        self.task = settled
        self.numbers: Numbers = {
            name: jnp.asarray(values) for name, values in (numbers or {}).items()
        }
        first = jax.tree.map(lambda values: values[0], self.numbers)
        self.product, self.settings = self.task(first)
        check_actions(self.settings, self.product)
        self.steps_per_iteration = algorithm.steps_per_iteration(self.settings)
        self.iterations = 0
        self.ended, self.cut_off = np.zeros((2, len(self.seeds)), np.int64)
        """Training episodes of each run that ended; and of these, those that a full stack truncated."""
        networks = [
            algorithm.new_network(self.product, self.settings, np.random.default_rng(seed))
            for seed in seeds
        ]
        keys = jnp.stack([make_key(seed) for seed in seeds])

        def begin(own: Numbers, network: Any, key: Key) -> Any:
            return algorithm.begin(*self.task(own), network, key)

        self.state = jax.jit(jax.vmap(begin))(self.numbers, stack_trees(networks), keys)
        self._advance_compiled = jax.jit(self._advance, donate_argnums=2)
        self._test_compiled = jax.jit(self._test, static_argnums=0)
        self._tested: tuple[int, int, int] | None = None

    @property
    def timesteps(self) -> int:
        """Steps taken by each run so far."""
        return self.iterations * self.steps_per_iteration

    def iterate(self, iterations: int) -> Tally:
        """Train for more iterations; returns the counts of them, [runs] each."""
        self.state, counted = self._advance_compiled(iterations, self.numbers, self.state)
        tally: Tally = jax.device_get(counted)
        self.iterations += iterations
        check_played(tally, self.product.machine.depth)
        check_numbers(self.state.network, self.seeds)
        self.ended += tally.episodes
        self.cut_off += tally.overflows
        return tally

    def test(self, episodes: int, seed: int = 0) -> Episodes:
        """Test episodes of each run as it stands, [runs, episodes] each; the same starts for all."""
        asked = self.iterations, episodes, seed
        if self._tested != asked:
            key = key_of(make_key(seed), TESTS)
            self._played = self._test_compiled(episodes, self.numbers, self.state.network, key)
            check_played(self._played, self.product.machine.depth)
            self._tested = asked
        played: Episodes = self._played
        return played

    def snapshot(self, run: int) -> Arrays:
        """The state of one run."""
        counts = {"ended": self.ended[run], "cut_off": self.cut_off[run]}
        counted = {name: np.asarray(count, np.int64) for name, count in counts.items()}
        state = jax.tree.map(lambda part: part[run], self.state)
        return {"iterations": np.asarray(self.iterations), **counted, **tree_arrays(state)}

    def restore(self, run: int, arrays: Arrays) -> None:
        """Continue one run from its snapshot; `LookupError` or `ValueError` if that is damaged."""
        loaded = load_arrays(arrays, jax.tree.map(lambda part: part[run], self.state))
        self.state = jax.tree.map(lambda parts, part: parts.at[run].set(part), self.state, loaded)
        self.iterations, self._tested = int(arrays["iterations"]), None
        self.ended[run], self.cut_off[run] = int(arrays["ended"]), int(arrays["cut_off"])

    def _advance(self, iterations: jax.Array, numbers: Numbers, state: Any) -> tuple[Any, Tally]:
        """Iterations, and their counts: one program for every number of them."""

        def advance(numbers: Numbers, state: Any) -> tuple[Any, Tally]:
            # Compiled by itself, so that it is traced once for both uses.
            iterate = jax.jit(partial(self.algorithm.iterate, *self.task(numbers)))

            def once(_: jax.Array, carried: tuple[Any, Tally]) -> tuple[Any, Tally]:
                after, tally = iterate(carried[0])
                return after, jax.tree.map(jnp.add, carried[1], tally)

            kinds = jax.eval_shape(iterate, state)[1]
            none = jax.tree.map(lambda kind: jnp.zeros(kind.shape, kind.dtype), kinds)
            advanced: tuple[Any, Tally] = jax.lax.fori_loop(0, iterations, once, (state, none))
            return advanced

        return jax.vmap(advance)(numbers, state)

    def _test(self, episodes: int, numbers: Numbers, network: Any, key: jax.Array) -> Episodes:
        def test(numbers: Numbers, network: Any) -> Episodes:
            product, settings = self.task(numbers)
            act = self.algorithm.act(product, settings, network)
            memory = self.algorithm.empty_memory(settings, episodes)
            return play(product, act, memory, key, episodes, settings.discount)

        return jax.vmap(test)(numbers, network)


def check_played(played: Tally | Episodes, depth: int) -> None:
    """Raise if the machine could not follow: compiled code cannot raise, so it counts."""
    if int(played.finished.sum()):
        fix = "let the first label, not the start, lead there"
        raise FinishedAtReset("the machine is in a final state before the first action", fix=fix)
    if int(played.unfit.sum()):
        fault = f"the stack that an episode begins with does not fit a depth of {depth}"
        raise BadSetting(fault, fix="a larger depth")
    if int(played.undefined.sum()):
        fix = "add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine"
        fault = "the machine met a label for which it has no rule, and says `otherwise error`"
        raise UndefinedMove(fault, fix=fix)


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
