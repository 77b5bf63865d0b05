"""`python -m tests.properties.prove 30m [NAME …]`: run the properties with new seeds until the time is up.

A property is a module of this folder with a function `check(seed)`, or several whose names begin with `check_`. It makes its
cases from the seed alone, raises an error at a wrong one, and returns how many cases it tried. `make test` runs each once.
"""

from __future__ import annotations

import importlib
import inspect
import random
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import cycle
from multiprocessing import get_context
from pathlib import Path

Check = Callable[[int], "int | Mapping[str, int]"]
UNITS = {"s": 1, "m": 60, "h": 3600}
WORKERS = 2


def find_checks() -> dict[str, Check]:
    """The checks of this folder by name: `engines`, `logic.check_formulas`."""
    found: dict[str, Check] = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem.startswith(("test_", "__")) or path.stem == "prove":
            continue
        module = importlib.import_module(f"tests.properties.{path.stem}")
        for name, function in vars(module).items():
            if re.fullmatch(r"check(_\w+)?", name) and _takes_a_seed(function, module.__name__):
                found[path.stem if name == "check" else f"{path.stem}.{name}"] = function
    return found


def _takes_a_seed(function: Check, module: str) -> bool:
    first, *others = inspect.signature(function).parameters.values() or [None]
    is_seed = first is not None and first.name == "seed"
    return (
        is_seed
        and function.__module__ == module
        and all(other.default is not other.empty for other in others)
    )


def run_check(name: str, seed: int) -> tuple[str, int, int, str]:
    """Run one check: its name, its seed, the number of cases, and what went wrong."""
    try:
        counted = find_checks()[name](seed)
    except Exception:
        return name, seed, 0, traceback.format_exc()
    cases = counted if isinstance(counted, int) else counted["cases"]
    return name, seed, cases, "" if cases else "the check tried no case"


def prove(seconds: float, names: list[str]) -> int:
    """Run the checks in turn until the time is up; return 1 if a case was wrong."""
    first_seed = random.SystemRandom().randrange(10**6) * 1_000
    jobs: Iterator[tuple[str, int]] = (
        (name, first_seed + turn // len(names)) for turn, name in enumerate(cycle(names))
    )
    deadline = time.monotonic() + seconds
    cases, checks, wrong = Counter[str](), Counter[str](), 0
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        running: set[Future[tuple[str, int, int, str]]] = set()
        while running or time.monotonic() < deadline:
            while len(running) < WORKERS and time.monotonic() < deadline:
                running.add(pool.submit(run_check, *next(jobs)))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for name, seed, tried, fault in (future.result() for future in done):
                cases[name] += tried
                checks[name] += 1
                if fault:
                    wrong += 1
                    print(f"WRONG {name}, seed {seed}:\n{fault}", flush=True)
                else:
                    print(f"{name}, seed {seed}: {tried:,} cases", flush=True)
    for name in names:
        print(f"{name:<32}{cases[name]:>12,} cases in {checks[name]} checks")
    print(f"{sum(cases.values()):,} cases, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    known = list(find_checks())
    budget = re.fullmatch(r"(\d+)([smh])", sys.argv[1] if sys.argv[1:] else "")
    asked = sys.argv[2:] or known
    if budget is None or not set(asked) <= set(known):
        sys.exit(f"{__doc__}\nNAME: {', '.join(known)}")
    sys.exit(prove(int(budget[1]) * UNITS[budget[2]], asked))
