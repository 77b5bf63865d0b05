"""What a proof is: a promise, what it is compared with, how many cases it takes, and the check that tries a few of them."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Check = Callable[[int], int | Counter[str]]
"""From a seed to the number of cases it tried, or to several counts with the cases as `cases`."""


def counts_text(counts: Mapping[str, int]) -> str:
    """What a proof counted beside its cases."""
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """`check` tries some cases, made from a seed alone, and says how many; it raises AssertionError at a wrong one.

    One call should take one to ten seconds: it is the unit that `make prove` shares time, counts and resumes by.
    """

    name: str
    group: str
    promise: str
    """In the words of who uses the package, one sentence."""
    compared: str
    """What is compared with what."""
    unit: str
    """What a case is, in the plural."""
    target: int
    """Cases after which it stops."""
    check: str
    """`module:function`, imported where it runs: some need other people's packages."""
    oracles: tuple[str, ...] = ()
    """Other people's packages that take part."""
    also: tuple[str, ...] = ()
    """Folders of the package that it depends on without importing them."""
    say: Callable[[Mapping[str, int]], str] = counts_text
    """The other counts in words."""

    @property
    def module(self) -> str:
        """Where its check is."""
        return self.check.partition(":")[0]


def check_of(check: str) -> Check:
    """The function that a proof names."""
    module, _, function = check.partition(":")
    found: Check = getattr(importlib.import_module(module), function)
    return found
