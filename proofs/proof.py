"""What a proof is: a claim, how many cases it takes, and a check that tries a few of them."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass


def counts_text(counts: Mapping[str, int]) -> str:
    """What a proof counted beside its cases."""
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))


@dataclass(frozen=True, slots=True)
class Proof:
    """`check(seed)` tries some cases, made from the seed alone, and says how many; it raises AssertionError at a wrong one.
    It may count other things beside, by name, with the cases as `cases`.

    One call should take about one to ten seconds: it is the unit that `make prove` counts, repeats and resumes by.
    """

    name: str
    claim: str
    target: int
    check: Callable[[int], int | Counter[str]]
    about: tuple[str, ...] = ("machines",)
    """The folders of the package it depends on: a change elsewhere leaves its record standing."""
    say: Callable[[Mapping[str, int]], str] = counts_text
    """The other counts in words."""
