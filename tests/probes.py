"""Tiny worlds whose values are known by hand: every learner must reach them."""

from pdrm.domains import from_arrays
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.language.loading import parse


def corridor() -> FiniteDomain:
    """Three cells in a row, start in the middle; `a` on entering the left one, `b` on entering the right one."""
    labels = (frozenset(), frozenset("a"), frozenset("b"))
    return from_arrays(
        "corridor",
        [[0, 1], [0, 2], [1, 2]],
        [[0, 0], [1, 2], [0, 0]],
        labels,
        step_limit=20,
        start=1,
    )


# Collect `a`s on the stack by going left; each `b` then pays one for the `a` it takes off, and 10 for the last.
COLLECT = parse(
    "name collect\nevents a b\nexclusive a b\nstack # A\nstart up\nfinal done\notherwise stay 0\n"
    "up -> up : a, # / A #, 0\nup -> down : b, A / eps, 1\ndown -> done : true, # / #, 10\n"
)

# With γ = 0.9: left (0), right (0), right (1), anything (10).
VALUES = {
    (1, "up", ("#",)): (0.9**2 * 1 + 0.9**3 * 10, None),
    (0, "up", ("A",)): (None, 0.9 * (1 + 0.9 * 10)),
    (1, "up", ("A",)): (None, 1 + 0.9 * 10),
    (2, "down", ("#",)): (10.0, 10.0),
}
"""(cell, machine state, top symbol) -> the values of left and right that are known by hand."""
