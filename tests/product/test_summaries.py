"""Operators in fractions."""

from fractions import Fraction
from random import Random

import pytest

from pdrm.domains.array_domain import from_arrays
from pdrm.product.summaries import exact_operators
from pdrm.product.summaries.exact_operators import Powers, TooLarge, keep_highest, solve_exactly
from pdrm.task import Task


def test_the_highest_lines_are_kept_and_no_others_are_needed():
    random, power, dropped = Random(1), Powers(Fraction(2, 3)), 0
    for _ in range(60):
        lines = {t: Fraction(random.randint(-6, 6) + t, 2) for t in random.sample(range(6), 4)}
        low, high = sorted(random.sample(range(-4, 9), 2))
        floor = random.choice((None, Fraction(0)))
        kept = keep_highest(lines, Fraction(low), Fraction(high), floor, power)
        for worth in (Fraction(number, 4) for number in range(4 * low, 4 * high + 1)):
            best, own = (
                max((c + power(t) * worth for t, c in some.items()), default=None)
                for some in (lines, kept)
            )
            assert best == own or (floor is not None and best <= floor)
        dropped += len(kept) < len(lines)
    assert dropped > 20


COLLECT = """
name collect
events more less
exclusive more less
stack # B
start u
final done
otherwise OTHERWISE
u -> u : more, z / B z, 0
u -> u : less, B / eps, 1
u -> done : less, # / #, 1
"""


def collecting(otherwise="stay 0", label=((1, 2),)):
    labels = [(), ("more",), ("less",)]
    domain = from_arrays("room", [[0, 0]], label, labels, step_limit=9, events=("more", "less"))
    return Task(domain, COLLECT.replace("OTHERWISE", otherwise))


def test_what_needs_too_much_has_no_exact_operators(monkeypatch):
    with pytest.raises(TooLarge):  # there is no move for an empty label
        solve_exactly(collecting("error", label=[[1, 0]]), 0.9)
    for name, value in (("MOST_BITS", 1), ("SLACKS", (Fraction(-1),))):
        with monkeypatch.context() as patch:
            patch.setattr(exact_operators, name, value)
            with pytest.raises(TooLarge):
                solve_exactly(collecting(), 0.9)


def test_starts_that_are_no_starts_are_left_out():
    sure = collecting()
    domain = from_arrays(
        "two",
        [[0, 0], [1, 1]],
        [[1, 2], [1, 2]],
        [(), ("more",), ("less",)],
        step_limit=9,
        start={0: 1.0, 1: 0.0},
    )
    found = solve_exactly(Task(domain, sure.machine), 0.9)
    assert {head[0] for head in found.heads} == {0}
