"""The Numba learners equal the readable ones: on the same random numbers, Q-learning, CpRM and
the counting agents learn the same table, bit for bit, and play the same evaluation episodes.
Machines, domains, views and settings are random, with and without shaping.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import CannotTranslate, UndefinedMove
from pdrm.language.document import AnyMachine
from pdrm.learning.agents import SHAPINGS, Counterfactuals, QLearning
from pdrm.learning.protocol import Until
from pdrm.learning.randomness import Rng, seed_streams
from pdrm.learning.tabular.learner import QLearner
from pdrm.learning.tabular.policy import PolicyTable, QPolicy
from pdrm.learning.tabular.q_learning import PolicyInput, ReadableQLearning
from pdrm.machines.conversions import counting_to_pushdown
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.paper.paper_agents import (
    PaperCountingCQL,
    PaperCountingQ,
    PaperCpRM,
    PaperQLearning,
)
from pdrm.product.observation import FullStack, TopK, View
from tests.properties.random_counting import counting_automaton
from tests.properties.random_machines import random_machine
from tests.properties.random_products import random_domain

RUNS = 500
COUNTING = 4
"""One run in COUNTING is over counters."""
VIEWS: tuple[View, ...] = (TopK(0), TopK(1), TopK(2), FullStack())


def q_settings(
    counterfactuals: str = "none", updates_per_step: int | None = None, **given: Any
) -> QLearning:
    """Settings of Q-learning, CpRM or the counting agents."""
    counting = "operations_per_episode" in given
    if counterfactuals == Counterfactuals.NONE:
        given.pop("counter_values", None)
        return (PaperCountingQ if counting else PaperQLearning)(**given)
    kind = PaperCountingCQL if counting else PaperCpRM
    return kind(
        counterfactuals=Counterfactuals(counterfactuals), updates_per_step=updates_per_step, **given
    )


def check(seed: int, runs: int = RUNS) -> Counter[str]:
    """Train both learners on random tasks."""
    random, counted = Random(seed), Counter[str]()
    for number in range(runs):
        counting = number % COUNTING == 0
        machine = ending_automaton(random) if counting else random_machine(random)
        view = FullStack() if counting else random.choice(VIEWS)
        settings = random_settings(
            random, operations=random.choice((30, 300)) if counting else None
        )
        ran = compared(
            machine, random_domain(random, machine), view, settings, random.getrandbits(31)
        )
        counted.update({"cases": 1, f"with counterfactuals: {settings.variant.counterfactuals}": 1})
        counted.update(
            {"over counters": int(counting), "cut off by a label without a rule": int(not ran)}
        )
        counted.update({"shaped": int(settings.shaping != "none")})
    return counted


def ending_automaton(random: Random) -> CountingRewardAutomaton:
    """A counting automaton whose silent moves always end."""
    while True:
        automaton = counting_automaton(random)
        try:
            counting_to_pushdown(automaton)
        except CannotTranslate:
            continue
        return automaton


def random_settings(random: Random, operations: int | None) -> QLearning:
    """Random rates, counterfactuals and budgets, and shaping if there is a stack."""
    more: dict[str, Any] = {
        "operations_per_episode": operations,
        "counter_values": random.choice((None, None, 1, 6)),
    }
    if operations is None:
        more = {
            "shaping": random.choice(SHAPINGS),
            "shaping_shift": random.choice((0.0, 0.0, -2.5)),
            "shaping_scale": random.choice((1.0, 1.0, -1.0, 0.3)),
            "shaping_discount": random.choice((None, None, 0.0, 0.95)),
        }
    return q_settings(
        episodes=random.randint(1, 6),
        learning_rate=random.choice((0.1, 0.3, 1.0)),
        discount=random.choice((0.0, 0.9, 0.99)),
        epsilon=random.choice((0.2, 1.0)),
        epsilon_decay=random.choice((0.9, 1.0)),
        step_limit=random.choice((None, 5)),
        test_episodes=2,
        counterfactuals=random.choice(list(Counterfactuals)),
        updates_per_step=random.choice((None, None, 1, 3)),
        updates_per_episode=random.choice((None, None, 20)),
        ties=random.choice(("random", "first")),
        limit_ends=random.choice((False, False, True)),
        **more,
    )


def compared(
    machine: AnyMachine, domain: FiniteDomain, view: View, settings: QLearning, seed: int
) -> bool:
    """Return True if both ran to the end, and raise if they differ."""
    training, rng_state = QLearner(domain, machine, view, settings, seed), seed_streams(seed, 2)
    readable = ReadableQLearning(domain, machine, view, settings, Rng(rng_state[:1]))
    said = f"{machine}\n{domain.arrays} {domain.labels}\n{view!r} {settings} seed {seed}"
    returns: list[float] = []
    slow = ended(lambda: returns.extend(readable.episode() for _ in range(settings.episodes)))
    assert ended(lambda: training.advance(Until(episodes=settings.episodes))) == slow, (
        f"{said}\nonly one met a label without a rule"
    )
    if not slow:
        return False
    policy = training.policy()
    assert isinstance(policy, QPolicy)
    learnt = rows_of(policy.q_table)
    assert learnt == readable.q, f"{said}\n{learnt = }\nnot {readable.q}"
    assert training.progress["last_return"][0] == returns[-1], said
    assert training.rng_state[0] == rng_state[0], f"{said}\nnot as many random numbers were drawn"
    played: list[float] = []
    slow = ended(
        lambda: played.extend(
            readable.test(domain, Rng(rng_state[1:])) for _ in range(settings.test_episodes)
        )
    )
    tested: list[float] = []
    assert (
        ended(lambda: tested.extend(training.test(settings.test_episodes).returns.tolist())) == slow
    ), said
    assert not slow or tested == played, f"{said}\n{tested = }\nnot {played}"
    return slow


def ended(run: Callable[[], object]) -> bool:
    """Return False if a label had no rule."""
    try:
        run()
    except UndefinedMove:
        return False
    return True


def rows_of(table: PolicyTable) -> dict[PolicyInput, list[float]]:
    """A learnt table as in the readable learners, with counters as symbols."""
    rows = zip(map(table.seen, range(len(table))), table.value.tolist(), strict=True)
    return {(s, u, tuple(map(str, memory))): row for (s, u, memory), row in rows}
