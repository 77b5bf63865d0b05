"""A proof: a promise, what it is compared with, how many cases it takes, and the check that tries a few of them."""

from __future__ import annotations

import faulthandler
import importlib
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

Check = Callable[[int], int | Counter[str]]
"""From a seed to the number of cases it tried, or to several counts with the cases as `cases`."""


def counts_text(counts: Mapping[str, int]) -> str:
    """What a proof counted besides its cases."""
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """`check` tries some cases, made from a seed alone, and says how many; it raises AssertionError at a wrong one.

    One call should take one to ten seconds: it is the unit in which `make prove` shares time, counts and resumes.
    """

    name: str
    group: str
    promise: str
    """In the words of a user of the package, one sentence."""
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
    """Parts of the package that it depends on without importing them."""
    say: Callable[[Mapping[str, int]], str] = counts_text
    """The other counts in words."""
    share: float = 1.0
    """How much of the time it gets beside the others: more where a case takes long, so that an hour brings each near its number of cases."""
    longest: float = 1_800.0
    """Seconds after which a check counts as one that never ends: its process is ended."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What its result depends on: these, and what they import."""
        return (self.check.partition(":")[0], *self.also)

    def again(self, seed: int | str) -> str:
        """The command that repeats one check."""
        return f".venv/bin/python -m proofs {self.name} --seed {seed}"


class CheckResult(NamedTuple):
    """The cases that one check tried, its seconds, what it counted besides, and a message if it failed."""

    name: str
    seed: int
    cases: int
    seconds: float
    message: str
    counts: dict[str, int]


def find_check(proof: Proof) -> Check:
    """The function that it names."""
    module, _, function = proof.check.partition(":")
    found: Check = getattr(importlib.import_module(module), function)
    return found


def run_check(proof: Proof, seed: int) -> CheckResult:
    """Run one check. Whatever goes wrong in it is a failed case, to be shown with its seed."""
    begin, cases, message, counts = time.perf_counter(), 0, "", dict[str, int]()
    faulthandler.dump_traceback_later(
        proof.longest, exit=True, file=2
    )  # our standard error, or the worker's log
    try:
        found = find_check(proof)(seed)
        counts = {"cases": found} if isinstance(found, int) else dict(found)
        cases = counts.pop("cases", 0)
        assert cases > 0, "the check tried no case"
    except Exception as error:
        message = (
            str(error) if isinstance(error, AssertionError) else ""
        ) or traceback.format_exc()
    finally:
        faulthandler.cancel_dump_traceback_later()
    return CheckResult(proof.name, seed, cases, time.perf_counter() - begin, message, counts)
