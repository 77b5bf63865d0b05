"""Checks for proofs of the runner itself: one that holds, and some that go wrong in every way a check can."""

import os
import time

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
    mark = os.environ["PDRM_TEST_MARK"]
    if not os.path.exists(mark):  # noqa: PTH110
        open(mark, "w").close()  # noqa: PTH123
        os._exit(3)
    return 10


def proof(name, *, target=50, group="Machines", **changes):
    """A proof by one of these checks."""
    check = f"tests.proofs.checks:{name.replace('-', '_')}"
    words = {"promise": f"It {name}.", "compared": "nothing with nothing", "unit": "tries"}
    return Proof(**{"name": name, "group": group, "target": target, "check": check, **words, **changes})
