"""What the tabular learners cost: beside PyCRM on LetterEnv, at growing stack heights, in memory, in updates; and `wrap`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import process_time as clock
from typing import Any

import gymnasium
import numpy as np

from pdrm.bench.bench_record import Figures, Told
from pdrm.bench.pycrm_letter import peer_agent
from pdrm.domains.array_domain import from_arrays
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.paper_domains import domain
from pdrm.errors import BadSetting
from pdrm.language.loading import catalogue, parse
from pdrm.learning.agents import MOST, Counterfactuals, CpRM, QLearning
from pdrm.learning.tabular import learner_tables as at
from pdrm.learning.tabular.training import Training
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.views import FullStack, TopK, View
from pdrm.product.wrapping import wrap

# --- What `pdrm.wrap` adds to a step of someone else's environment: FrozenLake bare and wrapped, in turns.

BURSTS = 60
STEPS = 500


def wrap_costs() -> dict[str, float]:
    """Microseconds a step over the bare environment, the label function included: the best of many short bursts each."""
    lake = partial(
        gymnasium.make, "FrozenLake-v1", is_slippery=False, max_episode_steps=10**9, disable_env_checker=True
    )
    forms: dict[str, dict[str, Any]] = {"": {}, "_flat": {"flatten": True}, "_number": {"discrete": True}}
    bare = lake()
    wrapped = {form: wrap(lake(), "letter", _events, **options) for form, options in forms.items()}
    best = dict.fromkeys(("bare", *forms), float("inf"))
    for _ in range(BURSTS):
        for form, env in {"bare": bare, **wrapped}.items():
            best[form] = min(best[form], _seconds_a_step(env))
    return {f"wrap_cost_us{form}": (best[form] - best["bare"]) * 1e6 for form in forms}


def _events(_observation: int, _action: int, next_observation: int, _info: dict[str, Any]) -> set[str]:
    return {"A"} if next_observation == 4 else set()


def _seconds_a_step(env: gymnasium.Env[Any, Any]) -> float:
    env.reset(seed=0)
    step, began = env.step, clock()
    for _ in range(STEPS):
        step(0)
    return (clock() - began) / STEPS


# --- What the tabular learners cost: beside PyCRM on LetterEnv, at growing stack heights, in memory and in updates.
#
# Ours and the peer's take turns in one process, burst by burst, so that whatever else the machine does slows both; a ratio is
# the median over rounds of the two bursts' ratio. Both see the whole memory (stack or counter) and use the paper's settings.
# Seconds are those of the processor: what other programs take is not counted against either.

LONGEST = 3_600
"""Seconds a bench may be asked to take."""
ROUNDS = 7
HEIGHTS = (10, 1_000, 100_000)
HELD = 2_000_000
"""Steps with the stack held around a height."""
WAVE = 4
"""How far it rises and falls meanwhile."""
EPISODES = (10, 100, 1_000)

PILE = "name pile\nevents up down\nstack # A\nstart u\notherwise error\nu -> u : {up}, z / A z, 0\nu -> u : {down}, A / eps, 0\n"


def bench_tabular(seconds: float, told: Told) -> Figures:
    """All figures; `seconds` is what the bursts beside the peer take in all."""
    if not 0 < seconds <= LONGEST:
        raise BadSetting(f"{seconds:g} seconds are no time to measure in", fix="use --seconds 20")
    told("LetterEnv, beside PyCRM", 0.0)
    figures = beside_pycrm(seconds / (6 * ROUNDS))
    told("stack heights", 0.5)
    figures |= height_costs(max(HELD // 4, min(HELD, int(HELD * seconds / 10))))
    told("table rows", 0.7)
    figures |= {"bytes_per_row": bytes_per_row()}
    told("the wrapper", 0.75)
    figures |= wrap_costs()
    told("updates a step", 0.8)
    return figures | updates_a_step()


def beside_pycrm(burst: float) -> Figures:
    """Q-learning steps and counterfactual updates a second, ours and PyCRM's, on LetterEnv."""
    runners = {
        "q_steps_per_s": _ours(FullStack(), Counterfactuals.NONE),
        "peer_q_steps_per_s": _peer(counterfactual=False),
        "cprm_updates_per_s": _ours(FullStack(), Counterfactuals.EXHAUSTIVE),
        "peer_cql_updates_per_s": _peer(counterfactual=True),
        "q_steps_per_s_top_1": _ours(TopK(1), Counterfactuals.NONE),
        "cprm_updates_per_s_top_1": _ours(TopK(1), Counterfactuals.DEDUPLICATED),
    }
    for run in runners.values():
        run(burst)  # compiles, fills caches, and learns a little
    rounds = [{name: run(burst) for name, run in runners.items()} for _ in range(ROUNDS)]
    figures = {name: median(one[name] for one in rounds) for name in runners}
    for ratio, ours, peers in (
        ("q_steps_ratio", "q_steps_per_s", "peer_q_steps_per_s"),
        ("cprm_updates_ratio", "cprm_updates_per_s", "peer_cql_updates_per_s"),
    ):
        figures[ratio] = median(one[ours] / one[peers] for one in rounds)
    return figures


Burst = Callable[[float], float]
"""Learns for some seconds; returns updates a second."""


def _ours(view: View, choice: Counterfactuals) -> Burst:
    training, episodes = _training(domain("letter"), "letter", view, choice), 100

    def burst(seconds: float) -> float:
        nonlocal episodes
        before, began, taken = int(training.progress.ints[at.ALL_UPDATES]), clock(), 0.0
        while taken < seconds:
            last = taken
            training.advance(episodes)
            taken = clock() - began
            if taken - last < seconds / 10:
                episodes *= 2  # a call of the kernel takes a tenth of a millisecond before it learns anything
        return (int(training.progress.ints[at.ALL_UPDATES]) - before) / taken

    return burst


def _peer(counterfactual: bool) -> Burst:
    agent = peer_agent(counterfactual)
    # PyCRM imagines every machine state with every counter value that is listed for it, in every step.
    machine = agent.env.crm
    updates_a_step = len(machine.U) * len(machine.sample_counter_configurations()) if counterfactual else 1

    def burst(seconds: float) -> float:
        steps, began = 0, clock()
        while (taken := clock() - began) < seconds:
            agent.learn(1)
            steps += agent.env.steps
        return steps * updates_a_step / taken

    return burst


@dataclass(frozen=True, slots=True)
class Pile:
    """A walk that raises the stack to a height and then holds it there, up and down by a few symbols."""

    height: int

    def domain(self, held: int) -> FiniteDomain:
        """The walk with so many steps at the height; one environment state for each step of the climb and of the wave."""
        states = self.height + 2 * WAVE
        following = np.arange(1, states + 1)
        following[-1] = self.height
        falls = np.arange(states) >= self.height + WAVE
        after, label = (np.repeat(column[:, None], 2, axis=1) for column in (following, falls.astype(np.int32)))
        return from_arrays("pile", after, label, [("up",), ("down",)], step_limit=self.height + held)

    def seconds(self, held: int) -> float:
        """How long an episode takes, once everything has been met."""
        machine = parse(PILE)
        assert isinstance(machine, PushdownRewardMachine)  # noqa: S101 - the text says so
        training = Training(self.domain(held), machine, FullStack(), QLearning(), seed=0)
        training.advance(1)
        began = clock()
        training.advance(1)
        return clock() - began


def height_costs(held: int) -> Figures:
    """Nanoseconds a step with the stack around each height, the climb taken off, and how far they lie apart."""
    costs: dict[str, list[float]] = {f"height_cost_{height}": [] for height in HEIGHTS}
    for _ in range(3):
        for height in HEIGHTS:
            pile = Pile(height)
            costs[f"height_cost_{height}"] += [(pile.seconds(held) - pile.seconds(0)) / held * 1e9]
    figures = {name: median(measured) for name, measured in costs.items()}
    return figures | {"height_cost_ratio": max(figures.values()) / min(figures.values())}


def bytes_per_row() -> float:
    """Memory of a table of values divided by its rows, the hash and the room to grow included."""
    training = _training(domain("maze-20x20"), "treasure-maze", FullStack(), Counterfactuals.NONE)
    training.advance(1_000)
    values = training.values
    used = sum(array.nbytes for array in (*values.index, values.value))
    return used / int(values.index.used[0])


def updates_a_step() -> Figures:
    """How many updates a step of 1-CpRM makes in the 10×10 maze after so many episodes, by choice of counterfactuals.

    The same random walks for all; a budget of one update a step, since only the stacks that are observed matter here.
    """
    figures: Figures = {}
    for choice in list(Counterfactuals)[1:]:
        settings = CpRM(counterfactuals=choice, epsilon=1.0, epsilon_decay=1.0, updates_per_step=1)
        training = Training(domain("maze-10x10"), _pushdown("treasure-maze"), TopK(1), settings, seed=0)
        for episodes in EPISODES:
            training.advance(episodes - training.episodes)
            lists = training.observed.length[training.observed.length > 0]
            name = f"updates_{choice.value.replace('-', '_')}_{episodes}"
            figures[name] = float(lists.mean()) * len(training.machine.states)
    return figures


def _training(where: FiniteDomain, machine: str, view: View, choice: Counterfactuals) -> Training:
    """A run with the settings that the paper and PyCRM use for LetterEnv."""
    rates: dict[str, Any] = {"learning_rate": 0.01, "epsilon": 0.01, "epsilon_decay": 1.0}
    plain = choice is Counterfactuals.NONE
    settings = QLearning(episodes=MOST, **rates) if plain else CpRM(episodes=MOST, counterfactuals=choice, **rates)
    return Training(where, _pushdown(machine), view, settings, seed=0)


def _pushdown(name: str) -> PushdownRewardMachine:
    machine = catalogue(name)
    assert isinstance(machine, PushdownRewardMachine)  # noqa: S101 - those named here are
    return machine
