"""DeliverWorld (Section 7.4): visit location types in the order that a sequence, named at reset, gives.

The map holds several places of each type, and a step that ends on one emits its type; every step costs ½. The events
`seq_1` … (8 deliveries) and `short_1` … (4 deliveries) name sequences; what they mean is the machine's business.
"""

from __future__ import annotations

from dataclasses import replace

from pdrm.domains.grid_map import shipped_map
from pdrm.domains.gridworld import grid_domain
from pdrm.domains.labelled_mdp import FiniteDomain

TYPES = {"M": "mall", "S": "store", "C": "cafe", "P": "post"}
LONG = ("seq_1", "seq_2", "seq_3", "seq_4")
SHORT = ("short_1", "short_2", "short_3", "short_4", "short_5")
SHORTEST = {"seq": 36, "short": 20}
"""Steps of the shortest episode of all sequences of 8 and of 4 deliveries, with the step off the last place."""
STEP_COST = 0.5


def deliver_8(step_limit: int = 2_000) -> FiniteDomain:
    """Eight deliveries, in training and in tests.

    >>> [deliver_8().labels[first] for first in deliver_8().arrays.start_label[:2]]
    [frozenset({'seq_1'}), frozenset({'seq_2'})]
    """
    return _world("deliver-8", LONG, "seq", 8, step_limit)


def deliver_4_8(step_limit: int = 2_000) -> FiniteDomain:
    """Four deliveries in training, eight in tests.

    >>> [test.name for test in deliver_4_8().tested_on]
    ['deliver-4-8, test']
    """
    test = _world("deliver-4-8, test", LONG, "seq", 8, step_limit)
    return replace(_world("deliver-4-8", SHORT, "short", 4, step_limit), tests=(test,))


def _world(name: str, sequences: tuple[str, ...], kind: str, deliveries: int, step_limit: int) -> FiniteDomain:
    """The map, starting with one of the sequences. Labels are numbered alike whatever the sequences."""
    world = grid_domain(
        name,
        shipped_map("deliver", places=TYPES),
        TYPES,
        step_limit=step_limit,
        standing=True,
        step_reward=-STEP_COST,
        start_labels=[frozenset({event}) for event in (*LONG, *SHORT)],
        more_events=(*LONG, *SHORT),
        machine="deliver",
        lowest=-STEP_COST * step_limit,
        highest=1e3 * (deliveries + 1)
        - STEP_COST * SHORTEST[kind],  # 1e3 for each delivery, and for stepping off the last
    )
    chosen = [k for k, first in enumerate(world.arrays.start_label) if world.labels[first] <= set(sequences)]
    return replace(world.starting(*chosen), name=name)
