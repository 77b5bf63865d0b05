"""What a proof is: a claim, how many cases it takes, and a check that tries a few of them."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Proof:
    """`check(seed)` tries some cases, made from the seed alone, and says how many; it raises AssertionError at a wrong one.

    One call should take about one to ten seconds: it is the unit that `make prove` counts, repeats and resumes by.
    """

    name: str
    claim: str
    target: int
    check: Callable[[int], int]
    about: tuple[str, ...] = ("machines",)
    """The folders of the package it depends on: a change elsewhere leaves its record standing."""
