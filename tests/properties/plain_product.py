"""A product once more, to compare with: found by the readable machine, and kept in fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Configuration, Move, Stack, Step
from pdrm.product.finite_kernel import FiniteProduct
from tests.properties.random_machines import described

END = -1
"""Where a step leads once the episode is over."""

Key = tuple[int, str, Stack]
"""A product state: environment state, machine state, stack."""


class Way(NamedTuple):
    """One outcome of an action: its chance, what it pays, and the number of the state it leads to, or END."""

    chance: Fraction
    paid: Fraction
    after: int


@dataclass(frozen=True, slots=True)
class Plain:
    """A product as lists: states in the order they are met, nearest first, and the outcomes of every action."""

    states: dict[Key, int]
    """Each with its number."""
    ways: list[list[list[Way]]]
    """[state][action]: nothing at a state that was not looked beyond."""
    starts: list[Way]
    """How an episode may begin, what is paid before the first action, and the first state."""

    def key(self, x: int) -> Key:
        """The state of this number."""
        return list(self.states)[x]

    @property
    def closed(self) -> bool:
        """Whether every state was looked beyond."""
        return all(self.ways)


@cache
def fraction(number: float) -> Fraction:
    """The fraction that a float is."""
    return Fraction(number)


@dataclass(frozen=True, slots=True)
class Case:
    """A random product and how to solve it."""

    domain: FiniteDomain
    machine: PushdownRewardMachine
    height: int | None
    """The highest stack that is looked beyond."""
    discount: Fraction
    pays: Callable[[Move], Fraction] = lambda move: fraction(move.reward)
    """What a move pays, as it was drawn."""

    def product(self) -> FiniteProduct:
        """The product as the package builds it, not yet explored."""
        return FiniteProduct(self.domain, self.machine, self.height)

    def __str__(self) -> str:
        arrays = "\n".join(
            f"{name} {values.tolist()}" for name, values in self.domain.arrays._asdict().items()
        )
        labels = [sorted(label) for label in self.domain.labels]
        return f"{described(self.machine)}\n{arrays}\nlabels {labels}\nheight {self.height}, discount {self.discount}"


def plain_product(case: Case, most: int) -> Plain:
    """Walk through the product by the readable machine, one step further at a time, until nothing is open that is within
    the bound, or there are more states than `most`."""
    plain, begin = Plain({}, [], []), case.machine.begin()
    arrays = case.domain.arrays
    begins = (
        arrays.start_state.tolist(),
        arrays.start_label.tolist(),
        arrays.start_probability.tolist(),
    )
    for s, label, chance in zip(*begins, strict=True):
        if chance == 0:
            continue
        at, paid = begin.after, _paid(case, begin)
        if label != NO_LABEL and at.state not in case.machine.final:
            step = case.machine.step(at, case.domain.labels[label])
            at, paid = step.after, paid + _paid(case, step)
        total = sum(map(fraction, begins[2]))
        plain.starts.append(Way(fraction(chance) / total, paid, _number(case, plain, s, at)))
    while len(plain.ways) < len(plain.states) <= most:
        for key in list(plain.states)[len(plain.ways) :]:
            plain.ways.append(_looked(case, plain, key))
    plain.ways.extend([] for _ in range(len(plain.states) - len(plain.ways)))
    return plain


def keys(product: FiniteProduct) -> list[Key]:
    """The states of a product, readable."""
    return [
        (int(product.env_state[x]), product.machine_state(x), product.stack(x))
        for x in range(len(product))
    ]


def most_paid(plain: Plain) -> Fraction:
    """The largest reward, or the largest loss, of a step."""
    return max(
        (abs(way.paid) for rows in plain.ways for row in rows for way in row), default=Fraction(0)
    )


def _paid(case: Case, step: Step) -> Fraction:
    return sum((case.pays(move) for move in step.moves), Fraction(0))


def _number(case: Case, plain: Plain, s: int, at: Configuration) -> int:
    """The number of a product state, a new one where it is met first; END where the episode is over."""
    if at.state in case.machine.final or case.domain.arrays.terminal[s]:
        return END
    return plain.states.setdefault((s, at.state, at.stack), len(plain.states))


def _looked(case: Case, plain: Plain, key: Key) -> list[list[Way]]:
    """Every step from a state; none if its stack is too high."""
    s, u, stack = key
    if case.height is not None and len(stack) > case.height:
        return []
    actions = range(len(case.domain.actions))
    return [list(_ways(case, plain, (s, a), Configuration(u, stack))) for a in actions]


def _ways(case: Case, plain: Plain, action: tuple[int, int], here: Configuration) -> Iterator[Way]:
    arrays = case.domain.arrays
    total = sum(map(fraction, arrays.probability[action].tolist()))
    for o, chance in enumerate(arrays.probability[action].tolist()):
        place = (*action, o)
        if chance == 0:
            continue
        step = case.machine.step(here, case.domain.labels[arrays.label[place]])
        paid = fraction(float(arrays.reward[place])) + _paid(case, step)
        after = _number(case, plain, int(arrays.next[place]), step.after)
        yield Way(fraction(chance) / total, paid, after)
