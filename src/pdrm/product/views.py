"""Views: the part of the stack that a policy sees. All of it (Section 3, Policy), or the top k symbols (k-policy)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pdrm.errors import BadSetting
from pdrm.machines.transitions import Stack


@dataclass(frozen=True, slots=True)
class FullStack:
    """The whole stack.

    >>> FullStack().of(("A", "#"))
    ('A', '#')
    """

    def of(self, stack: Stack) -> Stack:
        """The seen part of a stack, top first."""
        return stack

    def __str__(self) -> str:
        return "full"


@dataclass(frozen=True, slots=True)
class TopK:
    """The top min(k, height) symbols; k = 0 sees no stack at all.

    >>> TopK(1).of(("A", "#")), TopK(0).of(("A",)), str(TopK(2))
    (('A',), (), '2')
    """

    k: int
    """Symbols that are seen."""

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 0:
            raise BadSetting(
                f"k is {self.k!r}, but must be a non-negative integer", fix='use k=1, or k="full"'
            )

    def of(self, stack: Stack) -> Stack:
        """The seen part of a stack, top first."""
        return stack[: self.k]

    def __str__(self) -> str:
        return str(self.k)


View = FullStack | TopK


def view_of(k: object) -> View:
    """The view that a k stands for: a number of symbols, or "full".

    >>> view_of(2), view_of("full")
    (TopK(k=2), FullStack())
    """
    number = int(k) if isinstance(k, np.integer) else k
    return FullStack() if number == "full" else TopK(number)  # type: ignore[arg-type] # TopK checks it
