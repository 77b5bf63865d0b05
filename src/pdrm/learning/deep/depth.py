"""How many symbols the stacks of a deep run have room for, where one does not say: as many as the task can need.

Compiled programs need arrays of fixed size. Where the policy sees a few symbols, depth costs memory alone: at most half a
kilobyte for each environment and each transition in a replay buffer. Where it sees the whole stack, every symbol is a few
inputs of the network as well.
"""

from __future__ import annotations

from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.height import highest_stack

LEAST = 32
"""Symbols that there is always room for."""
MOST = 1024
"""Symbols at most where the top is seen; higher stacks cut their episode off, and are reported."""
MOST_SEEN = 512
"""Symbols at most where the whole stack is seen."""


def depth_for(machine: PushdownRewardMachine, step_limit: int, *, full: bool = False) -> int:
    """Room for the highest stack within an episode (one label a step, one at reset), if that is affordable.

    full: whether the policy sees the whole stack.

    >>> from pdrm.machines.catalogue import catalogue
    >>> [depth_for(catalogue(name), 300) for name in ("letter", "deliver")]
    [302, 32]
    """
    return max(LEAST, highest_stack(machine, step_limit + 1, MOST_SEEN if full else MOST))
