"""How the time is shared: every proof gets one check first; then the one that has had the least time is served next.

So proofs get equal shares of the time, and one that reaches its target, or is found wrong too often, leaves its share to
the others. A check that would not end in time, by those before it, is not begun.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count

from proofs.proof import Proof
from proofs.record import Record

MOST_WRONG = 3
"""Failed checks after which a proof is not tried further: by then it is the program that is wrong."""


class Shares:
    """Who is served next, and what each has had in this session."""

    def __init__(self, proofs: Mapping[str, Proof], records: Mapping[str, Record]) -> None:
        self.proofs, self.records = proofs, records
        self.spent = dict.fromkeys(proofs, 0.0)
        """Seconds of one process in this session."""
        self.running = Counter[str]()
        self.served = set[str]()
        self._seeds = {name: _unused(records[name]) for name in proofs}

    def next(self, left: float) -> tuple[Proof, int] | None:
        """The proof to serve, with `left` seconds to go, and a seed for it."""
        if left <= 0:
            return None
        fitting = [name for name in self.proofs if self.unfinished(name) and self.expected(name) <= left]
        if not fitting:
            return None
        name = min(fitting, key=lambda one: (one in self.served, self._share(one)))
        self.running[name] += 1
        self.served.add(name)
        return self.proofs[name], next(self._seeds[name])

    def returned(self, name: str, seconds: float) -> None:
        """A check came back."""
        self.running[name] -= 1
        self.spent[name] += seconds

    def unfinished(self, name: str) -> bool:
        """Whether it needs more checks than those under way."""
        record = self.records[name]
        each = record.cases / len(record.done) if record.done else 0.0
        enough = record.cases + self.running[name] * each >= self.proofs[name].target
        return not enough and len(record.wrong) < MOST_WRONG

    def expected(self, name: str) -> float:
        """Seconds that its next check should take; 0 before the first."""
        record = self.records[name]
        return record.seconds / len(record.done) if record.done else 0.0

    def to_target(self, name: str) -> float:
        """Seconds of one process until its target; infinite before the first check."""
        record, missing = self.records[name], self.proofs[name].target - self.records[name].cases
        if missing <= 0:
            return 0.0
        return missing * record.seconds / record.cases if record.cases else float("inf")

    def _share(self, name: str) -> float:
        return self.spent[name] + self.running[name] * self.expected(name)


def _unused(record: Record) -> Iterator[int]:
    done = set(record.done)
    return (seed for seed in count() if seed not in done)
