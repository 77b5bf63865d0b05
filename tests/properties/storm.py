"""Storm as an oracle: a product in fractions as a Markov decision process, solved in fractions or in floats.

A discount γ becomes a jump to a sink with probability 1 - γ at every step; the value is the largest expected reward until
the sink. Storm's bounds are only right for rewards that are not negative, so all are raised by one c ≥ 0, those of the
steps after the end included: the end is a state that keeps paying c. That raises every value by c / (1 - γ), which is
taken off again.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from math import inf
from typing import Any, NamedTuple

import stormpy
from stormpy import Rational, environments

from tests.properties.plain_product import END, Plain, Way, most_paid

PRECISION = Fraction(1, 10**11)
"""The precision required of Storm's sound methods, relative to the largest value that there could be."""


class Bounds(NamedTuple):
    """A value by one of Storm's sound methods; an end that it does not bound is infinite."""

    lower: float
    upper: float


def exact_solution(
    plain: Plain, discount: Fraction, given: Mapping[int, Fraction] | None = None
) -> list[Fraction]:
    """The optimal values, by Storm's policy iteration in rational numbers; `given` are those of open states."""
    result, raised = _checked(Rational, plain, discount, given or {}, environments.exact())
    return [Fraction(str(result.get_value(x))) - raised for x in range(len(plain.states))]


def sound_solution(
    plain: Plain, discount: Fraction, given: Mapping[int, Fraction] | None = None
) -> list[Bounds]:
    """Bounds of the optimal values, by Storm's own choice of a sound method in floats."""
    given = given or {}
    largest = max(1, most_paid(plain) / (1 - discount), *map(abs, given.values()))
    environment = environments.sound()
    solver = environment.solver().min_max()
    solver.precision = Rational(str(PRECISION * largest))
    solver.relative_termination_criterion = False
    result, raised = _checked(float, plain, discount, given, environment)
    found = []
    for x in range(len(plain.states)):
        lower = -inf if result[x].lower is None else float(result[x].lower) - float(raised)
        upper = inf if result[x].upper is None else float(result[x].upper) - float(raised)
        found.append(Bounds(lower, upper))
    return found


def _checked(
    kind: type,
    plain: Plain,
    discount: Fraction,
    given: Mapping[int, Fraction],
    environment: Any,
) -> tuple[Any, Fraction]:
    """Storm's result, and by how much it was raised."""
    rewards = [way.paid for rows in plain.ways for row in rows for way in row]
    raised = max(
        [
            Fraction(0),
            *(-reward for reward in rewards),
            *(-v * (1 - discount) for v in given.values()),
        ]
    )
    model = _model(kind, plain, discount, given, raised)
    return stormpy.model_checking(model, _until_sink(), environment=environment), raised / (
        1 - discount
    )


@cache
def _until_sink() -> Any:
    return stormpy.parse_property('R{"paid"}max=? [F "sink"]')


def _model(
    kind: type, plain: Plain, discount: Fraction, given: Mapping[int, Fraction], raised: Fraction
):
    """States of the product, then the end, then the sink."""
    count = len(plain.states)
    end, sink = count, count + 1
    builder = stormpy.datastructures.SparseMatrixBuilder[kind](
        columns=count + 2, has_custom_row_grouping=True
    )
    number = (lambda q: Rational(str(q))) if kind is Rational else float
    paid, row = [], 0

    def add(reward: Fraction, leads: dict[int, Fraction]) -> None:
        nonlocal row
        paid.append(number(reward))
        for column in sorted(leads):
            builder.add_next_value(row, column, number(leads[column]))
        row += 1

    for x in range(count):
        builder.new_row_group(row)
        if x in given:
            add(given[x] + raised / (1 - discount), {sink: Fraction(1)})
        for ways in plain.ways[x]:
            add(
                sum((way.chance * way.paid for way in ways), raised),
                _leads(ways, discount, end, sink),
            )
    builder.new_row_group(row)
    add(raised, _leads([Way(Fraction(1), Fraction(0), END)], discount, end, sink))
    builder.new_row_group(row)
    add(Fraction(0), {sink: Fraction(1)})
    labels = stormpy.models.StateLabeling(count + 2)
    for label, state in (("init", 0), ("sink", sink)):
        labels.add_label(label)
        labels.add_label_to_state(label, state)
    rewards = stormpy.models.SparseRewardModel[kind](optional_state_action_reward_vector=paid)
    parts = stormpy.models.SparseModelComponents[kind](builder.build(), labels, {"paid": rewards})
    return stormpy.models.SparseMdp[kind](parts)


def _leads(ways: list[Way], discount: Fraction, end: int, sink: int) -> dict[int, Fraction]:
    """The chances of the states that an action leads to, the sink among them."""
    found = {sink: 1 - discount}
    for way in ways:
        after = end if way.after == END else way.after
        found[after] = found.get(after, Fraction(0)) + discount * way.chance
    return {after: chance for after, chance in found.items() if chance}
