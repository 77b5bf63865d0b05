"""The tests as the mutation run needs them, a plugin of pytest: fewer random cases, no shrinking, no memory of earlier runs.

mutmut starts every mutant's tests as a copy of a process in which the tests have run: what functions had kept in caches by then
is forgotten, or mutants of a cached function would never be run.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, settings

if TYPE_CHECKING:
    import pytest

FEWER = 15
"""Examples of a Hypothesis test."""
TRIALS = 300
"""Cases of the tests that make their own."""
LEFT_OUT = ("refused_soon", "test_training_", "are_learnt_alike")
"""Parts of the names of tests that count seconds, which are others in a mutant, or train."""

settings.register_profile(
    "mutants",
    phases=[Phase.explicit, Phase.generate],
    database=None,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("mutants")


def pytest_sessionstart() -> None:
    """Begin with empty caches."""
    forget()


def pytest_runtest_setup() -> None:
    """Each test with empty caches while mutmut finds out which tests reach a function."""
    if os.environ.get("MUTANT_UNDER_TEST") == "stats":
        forget()


def forget() -> None:
    """Empty the caches of all functions of the package."""
    for name, module in list(sys.modules.items()):
        if name.startswith("pdrm."):
            for thing in list(vars(module).values()):
                if hasattr(thing, "cache_clear"):
                    thing.cache_clear()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Fewer cases; and the name that mutmut 3.8 looks for and pytest 9.2 no longer has."""
    item._nodeid = item.nodeid  # type: ignore[attr-defined]
    function = getattr(item, "obj", None)
    if hasattr(function, "_hypothesis_internal_use_settings"):
        own = function._hypothesis_internal_use_settings
        function._hypothesis_internal_use_settings = settings(own, max_examples=min(FEWER, own.max_examples))
    module = getattr(item, "module", None)
    if hasattr(module, "TRIALS"):
        module.TRIALS = TRIALS  # type: ignore[union-attr]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what takes too long for thousands of mutants."""
    items[:] = [item for item in items if not any(part in item.name for part in LEFT_OUT)]
