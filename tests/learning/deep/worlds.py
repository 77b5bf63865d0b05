"""Small worlds for deep agents, with solutions known by hand."""

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import jax.numpy as jnp

from pdrm.domains import from_arrays
from pdrm.language.loading import parse
from pdrm.learning.deep.algorithm import Algorithm, Envs, begin_envs, step_envs
from pdrm.product.jax_env.jax_domain import DomainStep, JaxDomain, finite_domain, key_of, uniforms
from pdrm.product.jax_env.jax_product import jax_product
from pdrm.product.observation import TopK

IDLE = parse("name idle\nevents go\nstack #\nstart u\notherwise stay 0\nu -> u : go, z / z, 0\n")
"""A machine without rewards: the rewards below are those of the worlds."""


def cue():
    """One of two cues is shown, then nothing, twice.

    The action that fits the cue has reward 1. Without memory: 1/2.
    """
    # States: cue 0, cue 1, first wait after each, second wait after each, over.
    after = [[2, 2], [3, 3], [4, 4], [5, 5], [6, 6], [6, 6], [6, 6]]
    pays = [[0, 0]] * 4 + [[1, 0], [0, 1], [0, 0]]
    terminal = [False] * 6 + [True]
    label = [[0, 0]] * 7
    world = from_arrays(
        "cue",
        after,
        label,
        [()],
        reward=pays,
        terminal=terminal,
        start={0: 0.5, 1: 0.5},
        step_limit=10,
    )
    shown = jnp.array(
        [[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 1]]
    )
    blurred = replace(finite_domain(world), observe=lambda state: shown[state], observation_size=3)
    return jax_product(blurred, IDLE, None, depth=2)


def target():
    """A number is shown.

    The reward is the negative distance of the action (a number) from it: at best 0.
    """

    def start(key):
        return uniforms(key, 1)[0] - 0.5, jnp.int32(-1)

    def step(state, action, _key):
        return DomainStep(state, jnp.int32(0), -((action[0] - state) ** 2), jnp.bool_(True))

    domain = JaxDomain(
        labels=(frozenset(),),
        start=start,
        step=step,
        observe=lambda state: jnp.reshape(state, 1),
        observation_size=1,
        actions=0,
        action_size=1,
        step_limit=1,
    )
    return jax_product(domain, IDLE, None, depth=2)


def errand(cells=7, visits=6, step_limit=100):
    """A row of cells whose ends are visited in turn.

    Each visit is pushed, and only the last one has a reward.
    """
    last = cells - 1
    after = [[max(0, cell - 1), min(last, cell + 1)] for cell in range(cells)]
    label = [
        [{0: 1, last: 2}.get(there, 0) if there != cell else 0 for there in after[cell]]
        for cell in range(cells)
    ]
    row = from_arrays(
        "errand", after, label, [(), ("l",), ("r",)], step_limit=step_limit, start=cells // 2
    )
    states = [f"u{number}" for number in range(visits)] + ["done"]
    rules = [
        f"{source} -> {goal} : {'lr'[number % 2]}, z / v z, {int(goal == 'done')}"
        for number, (source, goal) in enumerate(pairwise(states))
    ]
    head = "name errand\nevents l r\nexclusive l r\nstack # v\nstart u0\nfinal done\notherwise stay 0\n"
    return jax_product(
        finite_domain(row), parse(head + "\n".join(rules) + "\n"), TopK(1), depth=visits + 2
    )


class Walking(NamedTuple):
    """The state of a walker."""

    network: Any
    envs: Envs
    timesteps: Any


class Walker(Algorithm):
    """Always takes the first action without learning. It compiles fast."""

    def new_network(self, _rng):
        return jnp.zeros(1)

    def begin(self, network, key):
        envs = begin_envs(self.product, self.settings, key_of(key, 1))
        return Walking(network, envs, jnp.int32(0))

    def iterate(self, state):
        count = self.settings.n_envs
        stepped = step_envs(self.product, state.envs, jnp.zeros(count, jnp.int32))
        return state._replace(envs=stepped.envs, timesteps=state.timesteps + count)

    def act(self, _network, memory, seen, _start):
        return memory, jnp.zeros(len(seen), jnp.int32)
