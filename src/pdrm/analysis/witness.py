"""Witnesses: product states that look alike and want different things, in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pdrm.analysis.optimal import Optimal
from pdrm.machines.transition import Stack
from pdrm.product.finite.words import actions_to, word_to


@dataclass(frozen=True, slots=True)
class Situation:
    """One product state of a witness: how to get there, what is seen, and what is best to do."""

    place: int
    """The environment state."""
    where: str
    """The environment state in words."""
    state: str
    stack: Stack
    seen: Stack
    """The top k symbols."""
    word: str
    """The labels of a shortest way to it, as `pdrm step` reads them."""
    way: tuple[str, ...]
    """The actions of that way."""
    actions: tuple[str, ...]
    """The actions that are optimal here."""
    certain: bool
    """Whether these are all known to be optimal; else some of them may not be."""
    value: tuple[float, float]
    """The interval of its value."""

    def record(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def situation(optimal: Optimal, x: int, k: int) -> Situation:
    """A product state in words."""
    product, stack = optimal.product, optimal.product.stack(x)
    names = product.domain.actions
    return Situation(
        int(product.place[x]),
        product.domain.describe(int(product.place[x])),
        product.machine_state(x),
        stack,
        stack[:k],
        word_to(product, x),
        actions_to(product, x),
        tuple(name for a, name in enumerate(names) if optimal.possibly[x] >> a & 1),
        bool(optimal.possibly[x] == optimal.surely[x]),
        (float(optimal.values.lower[x]), float(optimal.values.upper[x])),
    )
