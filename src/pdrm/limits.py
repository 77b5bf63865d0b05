"""What reading may cost: every limit on files and texts that come from outside, in one place.

A file may be damaged or hostile, and a small one can stand for something endless. With these limits reading anything ends in
about two seconds and half a gigabyte, with the thing that was read or with an error that has a place; `MOST_SECONDS` is the
backstop for texts. Whatever loops over what a file says counts its steps with `spend`; outside of `reading`, where a machine is
built in Python, nothing is counted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pdrm.errors import TooLarge, Where

LARGEST_TEXT = 4 * 2**20
"""Bytes of a text (a machine, a study, JSON) at most."""

LONGEST_LINE = 10_000
"""Characters of one line at most."""

MOST_LINES = 100_000
"""Lines of a machine's text at most."""

DEEPEST = 40
"""Parentheses, negations, blocks or JSON values inside each other at most."""

MOST_RULES = 20_000
"""Rules of a machine that is read at most; also names on one of its lines."""

MOST_SYMBOLS = 5_000
"""Symbols on the right-hand sides of a grammar at most."""

MOST_STEPS = 1_000_000
"""Steps that reading one text may take: turns of a `for`, values of JSON, pairs of rules that are compared."""

MOST_SECONDS = 10.0
"""Processor time that reading one text may take: on a slow computer the steps may last longer than they should."""

MOST_DIAGRAM_NODES = 200_000
"""Nodes of the decision diagrams that a formula or a combination of machines is worked out with: some 100 MB."""

MOST_VARIABLES = 300
"""Events, and operators of a formula, that one diagram may ask for."""

DEEPEST_FORMULA, LONGEST_FORMULA, MOST_OPERATORS = 100, 5_000, 200
"""Operators and parentheses inside each other, words and signs, and different temporal operators of a formula at most."""

MOST_WORKED_OUT = 4_000
"""States that are worked out for a formula, an expression or a combination of machines at most."""

LARGEST_ARRAYS = 2**27
"""Bytes of the arrays that a compressed `.npz` may unpack to; one that is not compressed may hold as many as the file has."""

LARGEST_DOMAIN, MOST_CELLS = 112 * 2**20, 250_000
"""Bytes of a domain's file, and cells of a map, at most."""

LARGEST_CERTIFICATE = 2**27
"""Bytes of a certificate, and values in it, at most."""

LARGEST_STUDY = 2**18
"""Bytes of a study's file at most."""

MOST_SILENT_MOVES = 1_000_000
"""Silent moves that one symbol on a stack may lead to, one after the other."""

LARGEST_STEP = 10_000_000
"""Symbols on the stacks of one step's silent moves at most, eight more counted for each move: what the readable step keeps."""


class _Budget:
    """What is left for reading one text."""

    __slots__ = ("file", "left", "look", "until")

    def __init__(self, file: str) -> None:
        self.file, self.left, self.look = file, MOST_STEPS, MOST_STEPS
        self.until = time.thread_time() + MOST_SECONDS

    def spend(self, steps: int, where: Where | None) -> None:
        self.left -= steps
        if self.left <= self.look:
            self.look = self.left - 1_000
            if self.left < 0 or time.thread_time() > self.until:
                fix = (
                    "use fewer or smaller loops, rules and formulas, or build the machine in Python"
                )
                raise TooLarge(
                    "reading this takes too long", where=where or Where(self.file), fix=fix
                )


_budget: ContextVar[_Budget | None] = ContextVar("budget", default=None)


@contextmanager
def reading(file: str) -> Iterator[None]:
    """Count the steps of everything inside as one reading of this file.

    >>> with reading("small.pdrm"):
    ...     spend(10**7)
    Traceback (most recent call last):
    ...
    pdrm.errors.TooLarge: error[E0106]: reading this takes too long
      --> small.pdrm
      fix: use fewer or smaller loops, rules and formulas, or build the machine in Python
    """
    if _budget.get() is not None:
        yield
        return
    token = _budget.set(_Budget(file))
    try:
        yield
    finally:
        _budget.reset(token)


def spend(steps: int = 1, where: Where | None = None) -> None:
    """Count steps; `TooLarge` at the place where they are more than reading may take."""
    budget = _budget.get()
    if budget is not None:
        budget.spend(steps, where)
