"""What the tabular learners cost: beside PyCRM on LetterEnv, at growing stack heights, in memory, in updates; and `wrap`.

Ours and the peer's take turns in one process, burst by burst, so that whatever else the machine does slows both; a ratio is
the median over rounds of the two bursts' ratio. Both see the whole memory (stack or counter) and use the paper's settings.
Seconds are those of the processor: what other programs take is not counted against either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from time import process_time as clock
from typing import Any

import gymnasium
import numpy as np

from pdrm.bench.bench_rows import OnProgress, Row
from pdrm.bench.pycrm_letter import peer_agent
from pdrm.domains.array_domain import from_arrays
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.learning.agents import Counterfactuals, CpRM, QLearning
from pdrm.learning.settings import MOST
from pdrm.learning.tabular.learner import QLearner, make_learner
from pdrm.product.wrapping import wrap
from pdrm.task import Task

ROUNDS = 7
HEIGHTS = (10, 1_000, 100_000)
HELD = 2_000_000
"""Steps with the stack held around a height."""
WAVE = 4
"""How far it rises and falls meanwhile."""
EPISODES = (10, 100, 1_000)
WRAP_BURSTS, WRAP_STEPS = 60, 500

LETTER: dict[str, Any] = {
    "episodes": MOST,
    "learning_rate": 0.01,
    "epsilon": 0.01,
    "epsilon_decay": 1.0,
}
"""The settings that the paper and PyCRM use for LetterEnv."""
PILE = "name pile\nevents up down\nstack # A\nstart u\notherwise error\nu -> u : {up}, z / A z, 0\nu -> u : {down}, A / eps, 0\n"

Burst = Callable[[float], float]
"""Learns for some seconds; returns updates per second."""


def bench_tabular(seconds: float, on_progress: OnProgress) -> Iterator[Row]:
    """All rows; `seconds` is what the bursts beside the peer take in all."""
    on_progress("LetterEnv, beside PyCRM", 0.0)
    yield race_pycrm(seconds / (6 * ROUNDS))
    on_progress("stack heights", 0.5)
    yield from measure_heights(max(HELD // 4, min(HELD, int(HELD * seconds / 10))))
    on_progress("table rows", 0.7)
    yield Row({}, {"bytes_per_row": bytes_per_row()})
    on_progress("the wrapper", 0.75)
    yield from measure_wrap()
    on_progress("updates per step", 0.8)
    yield from count_updates()


def race_pycrm(burst: float) -> Row:
    """Q-learning and counterfactual learning in turns with PyCRM's."""
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
    figures = {name: median(one[name] for one in rounds) for name in runners}
    figures["q_steps_ratio"] = median(
        one["q_steps_per_s"] / one["peer_q_steps_per_s"] for one in rounds
    )
    figures["cprm_updates_ratio"] = median(
        one["cprm_updates_per_s"] / one["peer_cql_updates_per_s"] for one in rounds
    )
    return Row({}, figures)


def _ours(agent: QLearning) -> Burst:
    training, episodes = _begin(Task("letter"), agent), 100

    def burst(seconds: float) -> float:
        nonlocal episodes
        before, began, taken = training.updates, clock(), 0.0
        while taken < seconds:
            last = taken
            training.advance(training.episodes + episodes)
            taken = clock() - began
            if taken - last < seconds / 10:
                episodes *= 2  # a call of the kernel takes a tenth of a millisecond before it learns anything
        return (training.updates - before) / taken

    return burst


def _begin(task: Task, agent: QLearning) -> QLearner:
    training = make_learner(task, agent, seed=0)
    assert isinstance(training, QLearner)
    return training


def _peer(counterfactual: bool) -> Burst:
    agent = peer_agent(counterfactual)
    # PyCRM imagines every machine state with every counter value that is listed for it, in every step.
    machine = agent.env.crm
    updates_per_step = (
        len(machine.U) * len(machine.sample_counter_configurations()) if counterfactual else 1
    )

    def burst(seconds: float) -> float:
        steps, began = 0, clock()
        while (taken := clock() - began) < seconds:
            agent.learn(1)
            steps += agent.env.steps
        return steps * updates_per_step / taken

    return burst


def measure_heights(held: int) -> Iterator[Row]:
    """Nanoseconds per step with the stack around each height, the climb subtracted, and how far they lie apart."""
    rounds = [
        [(pile_seconds(height, held) - pile_seconds(height, 0)) / held * 1e9 for height in HEIGHTS]
        for _ in range(3)
    ]
    costs = [median(cost) for cost in zip(*rounds, strict=True)]
    for height, cost in zip(HEIGHTS, costs, strict=True):
        yield Row({"height": height}, {"height_cost": cost})
    yield Row({}, {"height_cost_ratio": max(costs) / min(costs)})


def pile_seconds(height: int, held: int) -> float:
    """How long an episode on the pile takes, once every state has been seen."""
    training = _begin(Task(pile(height, held), PILE), QLearning(k="full"))
    training.advance(1)
    began = clock()
    training.advance(2)
    return clock() - began


def pile(height: int, held: int) -> FiniteDomain:
    """A walk that raises the stack to a height and holds it there for some steps, up and down by a few symbols.

    It has one state for each step of the climb and of the wave.
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
    """Memory of a table of values divided by its rows, the hash and the room to grow included."""
    training = _begin(Task("maze-20x20"), QLearning(k="full", **LETTER))
    training.advance(1_000)
    table = training.table
    return sum(array.nbytes for array in (table.slot, table.key, table.value)) / training.rows


def measure_wrap() -> Iterator[Row]:
    """Microseconds that `pdrm.wrap` adds to a step of FrozenLake, the label function included, by the form of observations:
    the difference of the best of many short bursts, in turns."""

    def lake() -> gymnasium.Env[Any, Any]:
        return gymnasium.make(
            "FrozenLake-v1", is_slippery=False, max_episode_steps=10**9, disable_env_checker=True
        )

    wrapped = partial(wrap, machine="letter", labels=_events)
    bare = lake()
    forms = {
        "": wrapped(lake()),
        "flat": wrapped(lake(), flatten=True),
        "number": wrapped(lake(), discrete=True),
    }
    rounds = [
        [_seconds_per_step(env) for env in (bare, *forms.values())] for _ in range(WRAP_BURSTS)
    ]
    least, *costs = (min(times) for times in zip(*rounds, strict=True))
    for form, cost in zip(forms, costs, strict=True):
        yield Row({"form": form}, {"wrap_cost_us": (cost - least) * 1e6})


def _events(
    _observation: int, _action: int, next_observation: int, _info: dict[str, Any]
) -> set[str]:
    return {"A"} if next_observation == 4 else set()


def _seconds_per_step(env: gymnasium.Env[Any, Any]) -> float:
    env.reset(seed=0)
    step, began = env.step, clock()
    for _ in range(WRAP_STEPS):
        step(0)
    return (clock() - began) / WRAP_STEPS


def count_updates() -> Iterator[Row]:
    """How many updates a step of 1-CpRM makes in the 10×10 maze after so many episodes, by choice of counterfactuals.

    The same random walks for all; a budget of one update per step, because only the stacks that are observed matter here.
    """
    for choice in (Counterfactuals.EXHAUSTIVE, Counterfactuals.DEDUPLICATED):
        agent = CpRM(
            k=1, counterfactuals=choice, epsilon=1.0, epsilon_decay=1.0, updates_per_step=1
        )
        training = _begin(Task("maze-10x10"), agent)
        for episodes in EPISODES:
            training.advance(episodes)
            observed = int(training.observed.index.used[0])
            about: dict[str, str | int] = {
                "choice": choice.value.replace("-", "_"),
                "episodes": episodes,
            }
            yield Row(about, {"updates": observed * len(training.machine.states)})
