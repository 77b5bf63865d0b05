"""How large a policy gets: Theorems 1 to 4 of Section 5 as exact numbers, and the bounds that always hold.

A theorem's number is a *blow-up*: how many times |S| × |U| rows a policy's table may take. Python's integers are exact,
so nothing overflows; `n` is the number of labels read (one more than the steps where a domain emits one at reset).
"""

from __future__ import annotations

import math

from pdrm.analysis.stack_growth import StackGrowth
from pdrm.errors import BadSetting


def strings_up_to(symbols: int, length: int) -> int:
    """How many strings of at most so many symbols there are: |Γ|⁰ + |Γ|¹ + … + |Γ|^length.

    >>> [strings_up_to(symbols, 3) for symbols in (1, 2, 5)]
    [4, 15, 156]
    """
    if symbols < 1 or length < 0:
        raise BadSetting(f"{symbols} symbols and length {length}", fix="at least one symbol, a length from 0 on")
    return length + 1 if symbols == 1 else (symbols ** (length + 1) - 1) // (symbols - 1)


def theorem_1(growth: StackGrowth, n: int) -> int | None:
    """Theorem 1, a policy that sees the whole stack: the strings of at most n·m·(e + 1) symbols, as printed.

    Theorem 3's number is the same: the automaton that simulates the stack has a counter configuration for each string.
    None where e does not exist. Where the initial symbol can go, the number printed may be too small: see `stack_strings`.

    >>> theorem_1(StackGrowth(symbols=2, added=1, silent_pushes=0, begun=1, step=1), 10)
    2047
    >>> theorem_1(StackGrowth(symbols=1, added=2, silent_pushes=1, begun=1, step=4), 10)
    41
    """
    if growth.silent_pushes is None:
        return None
    return strings_up_to(growth.symbols, n * growth.added * (growth.silent_pushes + 1))


def theorem_2(growth: StackGrowth, k: int) -> int:
    """Theorem 2, a k-policy: the strings of at most k symbols, however long the episode.

    >>> [theorem_2(StackGrowth(symbols=5, added=1, silent_pushes=0, begun=1, step=1), k) for k in (0, 1, 2)]
    [1, 6, 31]
    """
    return strings_up_to(growth.symbols, k)


def theorem_4(n: int) -> int:
    """Theorem 4, any automaton for marked palindromes: 2ⁿ words of n letters, which it must tell apart.

    Its states tell some of them apart, so this bounds pairs of state and counters; the counters alone are at least
    2ⁿ / |U| (the paper's Ω(2ⁿ), the constant said).

    >>> theorem_4(10)
    1024
    """
    return 1 << n


def stack_strings(growth: StackGrowth, n: int) -> int:
    """The strings no longer than the highest stack after n labels: what Theorem 1 means, true of every machine.

    The stack the episode begins with is counted, and what a step adds is taken from the machine rather than m(e + 1).

    >>> stack_strings(StackGrowth(symbols=2, added=1, silent_pushes=0, begun=1, step=1), 10)
    4095
    """
    return strings_up_to(growth.symbols, growth.longest(n))


def digits(number: int) -> float:
    """The decimal logarithm of a number too long to print; 0 for 0.

    >>> round(digits(5**16001), 2)
    11184.22
    """
    return math.log10(number) if number else 0.0
