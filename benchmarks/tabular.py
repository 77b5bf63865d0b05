"""Speed of the tabular learners compared with PyCRM on LetterEnv, at growing stack heights; their
memory; speed of `wrap`.

pdrm and PyCRM take turns in one process, burst by burst, so that other load affects both. A ratio
is the median over the rounds of the ratio of two bursts. Both observe the whole memory (stack or
counter) and use the paper's settings. Times are processor seconds, which exclude other programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from time import process_time as clock
from typing import Any

import gymnasium
import numpy as np

from benchmarks import Figures, OnProgress
from benchmarks.pycrm_letter import peer_agent
from pdrm.domains.finite_domain import FiniteDomain, from_arrays
from pdrm.learning.agents import Counterfactuals, CpRM, QLearning
from pdrm.learning.protocol import Until
from pdrm.learning.settings import MAX_COUNT
from pdrm.learning.tabular.learner import QLearner, make_learner
from pdrm.product.wrapping import wrap
from pdrm.task import Task

ROUNDS = 7
HEIGHTS = (10, 1_000, 100_000)
HELD = 2_000_000
"""Number of steps with the stack held around a height."""
WAVE = 4
"""Symbols by which the stack rises and falls around that height."""
WRAP_BURSTS, WRAP_STEPS = 60, 500

LETTER: dict[str, Any] = {
    "episodes": MAX_COUNT,
    "learning_rate": 0.01,
    "epsilon": 0.01,
    "epsilon_decay": 1.0,
}
"""The settings of the paper and PyCRM for LetterEnv."""
PILE = "name pile\nevents up down\nstack # A\nstart u\notherwise error\nu -> u : {up}, z / A z, 0\nu -> u : {down}, A / eps, 0\n"

Burst = Callable[[float], float]
"""Learns for the given seconds and returns updates per second."""


def bench_tabular(seconds: float, on_progress: OnProgress) -> Iterator[Figures]:
    """All figures. `seconds` is the time of the comparison with PyCRM."""
    on_progress("LetterEnv, compared with PyCRM")
    yield race_pycrm(seconds / (6 * ROUNDS))
    on_progress("stack heights")
    yield measure_heights(max(HELD // 4, min(HELD, int(HELD * seconds / 10))))
    on_progress("table rows")
    yield {"bytes_per_row": bytes_per_row()}
    on_progress("the wrapper")
    yield measure_wrap()


def race_pycrm(burst: float) -> Figures:
    """Run Q-learning and counterfactual learning in turns with PyCRM's."""
    runners = {
        "q_steps_per_s": _ours(QLearning(k="full", **LETTER)),
        "peer_q_steps_per_s": _peer(counterfactual=False),
        "cprm_updates_per_s": _ours(
            CpRM(k="full", counterfactuals=Counterfactuals.EXHAUSTIVE, **LETTER)
        ),
        "peer_cql_updates_per_s": _peer(counterfactual=True),
        "q_steps_per_s_top_1": _ours(QLearning(k=1, **LETTER)),
        "cprm_updates_per_s_top_1": _ours(CpRM(k=1, **LETTER)),
    }
    for run in runners.values():
        run(burst)  # compiles, fills caches, and learns a little
    rounds = [{name: run(burst) for name, run in runners.items()} for _ in range(ROUNDS)]
    figures = {name: median(speeds[name] for speeds in rounds) for name in runners}
    figures["q_steps_ratio"] = median(
        speeds["q_steps_per_s"] / speeds["peer_q_steps_per_s"] for speeds in rounds
    )
    figures["cprm_updates_ratio"] = median(
        speeds["cprm_updates_per_s"] / speeds["peer_cql_updates_per_s"] for speeds in rounds
    )
    return figures


def _ours(agent: QLearning) -> Burst:
    training = _make_learner(Task("letter"), agent)
    episodes = 100

    def burst(seconds: float) -> float:
        nonlocal episodes
        before = training.updates
        started = clock()
        elapsed = 0.0
        while elapsed < seconds:
            last = elapsed
            training.advance(Until(episodes=training.episodes + episodes))
            elapsed = clock() - started
            if elapsed - last < seconds / 10:
                episodes *= 2  # a call of the kernel has an overhead of a tenth of a millisecond
        return (training.updates - before) / elapsed

    return burst


def _make_learner(task: Task, agent: QLearning) -> QLearner:
    training = make_learner(task, agent, seed=0)
    assert isinstance(training, QLearner)
    return training


def _peer(counterfactual: bool) -> Burst:
    agent = peer_agent(counterfactual)
    # PyCRM makes counterfactuals for every machine state and listed counter value in every step.
    machine = agent.env.crm
    updates_per_step = (
        len(machine.U) * len(machine.sample_counter_configurations()) if counterfactual else 1
    )

    def burst(seconds: float) -> float:
        steps = 0
        started = clock()
        while (elapsed := clock() - started) < seconds:
            agent.learn(1)
            steps += agent.env.steps
        return steps * updates_per_step / elapsed

    return burst


def measure_heights(held: int) -> Figures:
    """Nanoseconds per step with the stack around each height, without the climb, and the ratio of
    the largest to the smallest."""
    rounds = [
        [(pile_seconds(height, held) - pile_seconds(height, 0)) / held * 1e9 for height in HEIGHTS]
        for _ in range(3)
    ]
    costs = [median(cost) for cost in zip(*rounds, strict=True)]
    named = {f"height_cost_{height}": cost for height, cost in zip(HEIGHTS, costs, strict=True)}
    return named | {"height_cost_ratio": max(costs) / min(costs)}


def pile_seconds(height: int, held: int) -> float:
    """Seconds of the second episode on the pile, when every state has been visited."""
    training = _make_learner(Task(pile(height, held), PILE), QLearning(k="full"))
    training.advance(Until(episodes=1))
    started = clock()
    training.advance(Until(episodes=2))
    return clock() - started


def pile(height: int, held: int) -> FiniteDomain:
    """A walk that raises the stack to a height and holds it there, up and down by a few symbols.

    It has a state for each step of the climb and of the wave.
    """
    states = height + 2 * WAVE
    following = np.arange(1, states + 1)
    following[-1] = height
    falls = np.arange(states) >= height + WAVE
    after, label = (
        np.repeat(column[:, None], 2, axis=1) for column in (following, falls.astype(np.int32))
    )
    return from_arrays("pile", after, label, [("up",), ("down",)], step_limit=height + held)


def bytes_per_row() -> float:
    """Memory of a table of values per row, including the hash and the reserve."""
    training = _make_learner(Task("maze-20x20"), QLearning(k="full", **LETTER))
    training.advance(Until(episodes=1_000))
    table = training.tables.table
    return sum(array.nbytes for array in (table.slot, table.key, table.value)) / training.rows


def measure_wrap() -> Figures:
    """Microseconds that `pdrm.wrap` adds to a step of FrozenLake, including the labelling function.

    This is the difference of the best of many short bursts, in turns.
    """

    def lake() -> gymnasium.Env[Any, Any]:
        return gymnasium.make(
            "FrozenLake-v1", is_slippery=False, max_episode_steps=10**9, disable_env_checker=True
        )

    wrapped = partial(wrap, machine="letter", labels=_events)
    envs = {
        "bare": lake(),
        "wrap_cost_us": wrapped(lake()),
        "wrap_cost_us_flat": wrapped(lake(), flatten=True),
    }
    rounds = [
        {name: _seconds_per_step(env) for name, env in envs.items()} for _ in range(WRAP_BURSTS)
    ]
    best = {name: min(times[name] for times in rounds) for name in envs}
    bare = best.pop("bare")
    return {name: (seconds - bare) * 1e6 for name, seconds in best.items()}


def _events(
    _observation: int, _action: int, next_observation: int, _info: dict[str, Any]
) -> set[str]:
    return {"A"} if next_observation == 4 else set()


def _seconds_per_step(env: gymnasium.Env[Any, Any]) -> float:
    env.reset(seed=0)
    step = env.step
    started = clock()
    for _ in range(WRAP_STEPS):
        step(0)
    return (clock() - started) / WRAP_STEPS
