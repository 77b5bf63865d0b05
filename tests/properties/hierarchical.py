"""The hierarchical agent in Numba equals the readable one: the same tables of the meta-policy
and of every option, bit for bit, and the same evaluation episodes. Machines, domains, views
and settings are random.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.learning.agents import Hierarchical
from pdrm.learning.protocol import Until
from pdrm.learning.randomness import Rng, seed_streams
from pdrm.learning.tabular.hierarchical import ReadableHierarchical
from pdrm.learning.tabular.learner import HierarchicalLearner
from pdrm.learning.tabular.policy import HierarchicalPolicy
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.observation import View
from tests.properties.learners import VIEWS, ended, rows_of
from tests.properties.random_machines import described, random_machine
from tests.properties.random_products import random_domain

RUNS = 500


def check(seed: int, runs: int = RUNS) -> Counter[str]:
    """Train both agents on random tasks."""
    random, counted = Random(seed), Counter[str]()
    for _ in range(runs):
        machine = random_machine(random)
        domain, settings = random_domain(random, machine), random_settings(random)
        ran = compared(machine, domain, random.choice(VIEWS), settings, random.getrandbits(31))
        counted.update({"cases": 1, "cut off by a label without a rule": int(not ran)})
    return counted


def random_settings(random: Random) -> Hierarchical:
    """Random rates, and rewards of options."""
    return Hierarchical(
        episodes=random.randint(1, 8),
        learning_rate=random.choice((0.1, 0.3, 1.0)),
        discount=random.choice((0.0, 0.9, 0.99)),
        epsilon=random.choice((0.2, 1.0)),
        epsilon_decay=random.choice((0.9, 1.0)),
        step_limit=random.choice((None, 5)),
        test_episodes=2,
        r_plus=random.choice((0.5, 1.0, 7.5)),
        r_minus=random.choice((0.0, -0.5)),
    )


def compared(
    machine: PushdownRewardMachine,
    domain: FiniteDomain,
    view: View,
    settings: Hierarchical,
    seed: int,
) -> bool:
    """Return True if both ran to the end, and raise if they differ."""
    training, rng_state = (
        HierarchicalLearner(domain, machine, view, settings, seed),
        seed_streams(seed, 2),
    )
    readable = ReadableHierarchical(domain, machine, view, settings, Rng(rng_state[:1]))
    said = f"{described(machine)}\n{domain.arrays} {domain.labels}\n{view!r} {settings} seed {seed}"
    returns: list[float] = []
    slow = ended(lambda: returns.extend(readable.episode() for _ in range(settings.episodes)))
    assert ended(lambda: training.advance(Until(episodes=settings.episodes))) == slow, (
        f"{said}\nonly one met a label without a rule"
    )
    if not slow:
        return False
    same_tables(training, readable, said)
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


def same_tables(training: HierarchicalLearner, readable: ReadableHierarchical, said: str) -> None:
    """Compare all entries of both tables. Entries beyond the options of a machine state stay 0."""
    policy, actions = training.policy(), len(training.domain.actions)
    assert isinstance(policy, HierarchicalPolicy)
    tables = ((policy.q_table, readable.meta, 1), (policy.option_values, _flat(readable), actions))
    for table, expected, width in tables:
        learnt = rows_of(table)
        for (s, u, view), row in learnt.items():
            room = len(readable.options[u]) * width
            assert not any(row[room:]), f"{said}\n{(s, u, view)}: {row}"
            learnt[s, u, view] = row[:room]
        assert learnt == expected, f"{said}\n{learnt = }\nnot {expected}"


def _flat(readable: ReadableHierarchical) -> dict[tuple[int, str, tuple[str, ...]], list[float]]:
    return {
        seen: [value for row in rows for value in row] for seen, rows in readable.policies.items()
    }
