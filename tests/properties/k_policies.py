"""All k-policies of a small product, evaluated one by one; optimal values in fractions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product as combinations

import numpy as np
import numpy.typing as npt

from tests.properties.plain_product import END, Plain, Way

Floats = npt.NDArray[np.float64]
Policies = npt.NDArray[np.int64]
"""[policy, state]: the action."""


@dataclass(frozen=True)
class Truth:
    """What is true of a closed product, found by trying every policy."""

    plain: Plain
    discount: Fraction

    @cached_property
    def value(self) -> list[Fraction]:
        """[x]: V*, by policy iteration in fractions."""
        policy = np.zeros(len(self.plain.ways), np.int64)
        while True:
            value = self.exactly(policy)
            worth = [[self.worth(ways, value) for ways in actions] for actions in self.plain.ways]
            better = [max(found) > own for found, own in zip(worth, value, strict=True)]
            if not any(better):
                return value
            for x in np.flatnonzero(better):
                policy[x] = worth[x].index(max(worth[x]))

    @cached_property
    def optimal(self) -> list[int]:
        """[x]: A*, as bits."""
        return [
            sum(
                1 << a
                for a, ways in enumerate(actions)
                if self.worth(ways, self.value) == self.value[x]
            )
            for x, actions in enumerate(self.plain.ways)
        ]

    @cached_property
    def starts(self) -> list[int]:
        """The states that an episode can begin in."""
        return sorted({way.after for way in self.plain.starts} - {END})

    def policies(self, names: Sequence[Hashable]) -> Policies:
        """Every way to choose one action for each class; `names` names the class of each state."""
        classes = list(dict.fromkeys(names))
        of = [classes.index(name) for name in names]
        actions = range(len(self.plain.ways[0]))
        return np.array(list(combinations(actions, repeat=len(classes))), np.int64)[:, of]

    def best(self, names: Sequence[Hashable]) -> float:
        """The most that one action a class can get from the start, with what is paid there."""
        found = self.evaluated(self.policies(names))
        begun = [
            float(way.chance)
            * (float(way.paid) + (found[:, way.after] if way.after != END else 0.0))
            for way in self.plain.starts
        ]
        return float(np.max(sum(begun)))

    def worth(self, ways: list[Way], value: Sequence[Fraction]) -> Fraction:
        """What an action is worth."""
        return sum(
            (
                way.chance
                * (way.paid + (self.discount * value[way.after] if way.after != END else 0))
                for way in ways
            ),
            Fraction(0),
        )

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats]:
        """[action, state, state]: discounted chances; [action, state]: expected rewards."""
        count, actions = len(self.plain.ways), len(self.plain.ways[0])
        leads, paid = np.zeros((actions, count, count)), np.zeros((actions, count))
        for x, rows in enumerate(self.plain.ways):
            for a, ways in enumerate(rows):
                for way in ways:
                    paid[a, x] += float(way.chance * way.paid)
                    if way.after != END:
                        leads[a, x, way.after] += float(self.discount * way.chance)
        return leads, paid

    def evaluated(self, policies: Policies) -> Floats:
        """[policy, state]: values in floats."""
        leads, paid = self._arrays
        states = np.arange(len(self.plain.ways))
        return np.linalg.solve(
            np.eye(len(states)) - leads[policies, states], paid[policies, states][..., None]
        )[..., 0]

    def exactly(self, policy: npt.NDArray[np.int64]) -> list[Fraction]:
        """[state]: values in fractions, by elimination."""
        count = len(self.plain.ways)
        rows = []
        for x, a in enumerate(policy.tolist()):
            row = [Fraction(int(x == y)) for y in range(count)] + [Fraction(0)]
            for way in self.plain.ways[x][a]:
                row[count] += way.chance * way.paid
                if way.after != END:
                    row[way.after] -= self.discount * way.chance
            rows.append(row)
        for x in range(count):  # the matrix is diagonally dominant: no pivoting is needed
            own = rows[x][x]
            rows[x] = [entry / own for entry in rows[x]]
            for y in range(count):
                if y != x and rows[y][x]:
                    rows[y] = [
                        entry - rows[y][x] * other
                        for entry, other in zip(rows[y], rows[x], strict=True)
                    ]
        return [row[count] for row in rows]
