"""One check, run in this process: the cases it tried, how long it took, and what went wrong."""

from __future__ import annotations

import time
import traceback
from typing import NamedTuple

from proofs.proof import check_of


class Checked(NamedTuple):
    """The outcome of one check: the cases it tried, its seconds, and a message where it failed."""

    name: str
    seed: int
    cases: int
    seconds: float
    message: str
    counts: dict[str, int]
    """What it counted beside its cases."""


def checked(name: str, check: str, seed: int) -> Checked:
    """Run one check. Whatever goes wrong in it is a failed case, to be shown with its seed."""
    begin = time.perf_counter()
    cases, message, counts = 0, "", dict[str, int]()
    try:
        found = check_of(check)(seed)
        counts = {} if isinstance(found, int) else dict(found)
        cases = found if isinstance(found, int) else counts.pop("cases", 0)
        assert cases > 0, "the check tried no case"
    except Exception as error:
        message = (str(error) if isinstance(error, AssertionError) else "") or traceback.format_exc()
    return Checked(name, seed, cases, time.perf_counter() - begin, message, counts)
