"""Checks for the runner's own tests: some hold, the others go wrong in every way a check can."""

import os
import time
from pathlib import Path

from proofs.proof import Proof


def holds(_seed):
    return 10


def slow(_seed):
    time.sleep(0.3)
    return 10


def wrong(seed):
    assert seed != 1, f"twice {seed} is not {seed}"
    return 10


def always_wrong(seed):
    raise ZeroDivisionError(f"seed {seed}")


def dies(_seed):
    os.write(2, b"something is rotten\n")
    os._exit(3)


def dies_once(_seed):
    """The first process that runs it dies."""
    mark = Path(os.environ["PDRM_TEST_MARK"])
    if not mark.exists():
        mark.touch()
        os._exit(3)
    return 10


def proof(name, *, target=50, **changes):
    """A proof by one of these checks."""
    check = f"tests.proofs.checks:{name.replace('-', '_')}"
    words = {
        "group": "Machines",
        "promise": f"It {name}.",
        "compared": "nothing with nothing",
        "unit": "tries",
    }
    return Proof(**{"name": name, "target": target, "check": check, **words, **changes})
