"""PaintWorld (Appendix C): stains on the stack, and a price for soap.

There is one state. Asking for i units costs i/(i+1) and emits `soap_i`; at reset `stains_n` is emitted, n from 1 to 5
equally likely. It is tested on each n.
"""

from __future__ import annotations

from dataclasses import replace

from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.domains.outcomes import Outcome, Start, from_outcomes

MOST = 5
"""Stains, and units of soap in one request, at most."""


def paint(step_limit: int = 5) -> FiniteDomain:
    """The domain; start k has k + 1 stains.

    The cheapest episode asks for one unit for one stain; the dearest wipes off four of five stains singly and asks for
    all the soap there is for the last.

    >>> world = paint()
    >>> world.arrays.reward.ravel().round(3).tolist(), [test.name for test in world.tests][:1]
    ([-0.5, -0.667, -0.75, -0.8, -0.833], ['paint, start 0'])
    """
    amounts = range(1, MOST + 1)

    def outcomes(_: str, action: int) -> list[Outcome]:
        units = action + 1
        return [Outcome("floor", label=frozenset({f"soap_{units}"}), reward=-units / (units + 1))]

    world = from_outcomes(
        "paint",
        {"floor": "floor"},
        [f"ask_{units}" for units in amounts],
        outcomes,
        [Start("floor", 1 / MOST, frozenset({f"stains_{n}"})) for n in amounts],
        events=(*(f"stains_{n}" for n in amounts), *(f"soap_{units}" for units in amounts)),
        step_limit=step_limit,
        machine="paint",
        lowest=_dearest(MOST, step_limit),
        highest=-1 / 2,
    )
    return replace(world, tests=tuple(world.starting(k) for k in range(MOST)))


def _dearest(stains: int, steps: int) -> float:
    """The lowest return of an episode: the worst first request, and the worst of what is left."""
    if stains <= 0 or steps == 0:
        return 0.0
    return min(-units / (units + 1) + _dearest(stains - units, steps - 1) for units in range(1, MOST + 1))
