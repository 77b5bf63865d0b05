"""Random small domains whose labels a given machine can read, made from a seed."""

from __future__ import annotations

from random import Random

import numpy as np

from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain, from_arrays
from pdrm.machines.pushdown import PushdownRewardMachine

MAX_LABELS = 4


def random_domain(random: Random, machine: PushdownRewardMachine) -> FiniteDomain:
    """A domain with 1–3 states, 1–3 actions, 1–2 outcomes of each, 1–2 starts, and up to four of the machine's labels."""
    alphabet = list(machine.alphabet.labels())
    labels = random.sample(alphabet, min(len(alphabet), random.randint(1, MAX_LABELS)))
    states, actions, outcomes = random.randint(1, 3), random.randint(1, 3), random.randint(1, 2)
    shape = states, actions, outcomes
    drawn = np.random.default_rng(random.getrandbits(32))
    chance = drawn.choice((0.0, 0.5, 1.0), shape[:2])
    starts = random.sample(range(states), random.randint(1, min(2, states)))
    terminal = [random.random() < 0.2 and state not in starts for state in range(states)]
    return from_arrays(
        "random",
        drawn.integers(0, states, shape),
        drawn.integers(0, len(labels), shape),
        labels,
        step_limit=20,
        probability=np.stack([chance, 1 - chance], axis=2)[..., :outcomes]
        if outcomes > 1
        else None,
        terminal=terminal,
        start=dict.fromkeys(starts, 1 / len(starts)),
        start_label=random.randrange(len(labels)) if random.random() < 0.3 else NO_LABEL,
        events=machine.events,
    )
