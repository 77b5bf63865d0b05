"""What a report says of witnesses, numbers and policies, in words.

A `Situation` of a witness in one line, with long ways folded; k and values as people write them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from pdrm.analysis.sufficient_k.questions import Situation

FOLDED, MANY_TIMES, LONGEST_FOLDED = 8, 4, 8
"""Words that are folded: so many in a row at least, repeated so often at least, each time so many at most."""


def format_situation(one: Situation, *, luck: bool) -> str:
    """A situation of a witness in one line; `luck`: moves are random, so that its actions lead there only with some luck."""
    best = " or ".join(one.actions) + ("" if one.certain else " (among them)")
    did = f" ({format_way(one, luck)})" if one.way or one.start else ""
    stack = fold(one.stack) or "(empty)"
    return f"after `{fold(one.word.split()) or '(nothing)'}`{did}: {one.where}, {one.state}, stack {stack}; best: {best}"


def format_way(one: Situation, luck: bool) -> str:
    """The way to a situation: its actions, and the start where there are several."""
    did = f"labels {fold(one.word.split())}" if one.word else "nothing"
    did = f"actions {fold(one.way)}{', with some luck' * luck}" if one.way else did
    return f"{did}, from {one.start}" if one.start else did


def fold(words: Sequence[str]) -> str:
    """Words in a line, what is repeated often only once, with how often.

    >>> fold("l l d u d u d u d u r".split()), fold(["apple"] * 9 + ["#"]), fold("d d d".split())
    ('l l (d u) × 4 r', 'apple × 9 #', 'd d d')
    """
    parts, here = list[str](), 0
    while here < len(words):
        size, times = max(
            ((size, _count_repeats(words, here, size)) for size in range(1, LONGEST_FOLDED + 1)),
            key=lambda one: (one[0] * one[1] if one[1] >= MANY_TIMES else 0, -one[0]),
        )
        if size * times < FOLDED or times < MANY_TIMES:
            size, times = 1, 1
        said = " ".join(words[here : here + size])
        parts.append(said if times == 1 else f"{said if size == 1 else f'({said})'} × {times}")
        here += size * times
    return " ".join(parts)


def _count_repeats(words: Sequence[str], here: int, size: int) -> int:
    """How often the words of a length are there in a row."""
    first, times = words[here : here + size], 1
    while words[here + times * size : here + (times + 1) * size] == first:
        times += 1
    return times


def format_numbers(numbers: Iterable[int]) -> str:
    """Numbers in order, three or more neighbours as one run.

    >>> format_numbers([0, 1, 2, 3, 5, 6])
    '0…3, 5, 6'
    """
    ordered = list(numbers)
    breaks = [i for i, (a, b) in enumerate(pairwise(ordered), 1) if b != a + 1]
    runs = [ordered[a:b] for a, b in pairwise([0, *breaks, len(ordered)])]
    return ", ".join(
        f"{run[0]}…{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )


def format_value(low: float, high: float) -> str:
    """A value known to lie in an interval.

    >>> format_value(1.0, 1.0), format_value(1.0, 2.0), format_value(-1e-12, 1e-13)
    ('1', 'between 1 and 2', '0')
    """
    if high - low > 1e-6 * max(1.0, abs(high)):
        return f"between {low:.6g} and {high:.6g}"
    return "0" if low <= 0 <= high else f"{(low + high) / 2:.6g}"


def plural(number: int, what: str) -> str:
    """So many of something.

    >>> plural(1, "step"), plural(2_000, "step")
    ('1 step', '2,000 steps')
    """
    return f"{number:,} {what}" + "s" * (number != 1)


def name_policy(k: int) -> str:
    """A k-policy, with its article.

    >>> name_policy(1), name_policy(8), name_policy(18)
    ('a 1-policy', 'an 8-policy', 'an 18-policy')
    """
    return f"{'an' if str(k).startswith('8') or k in (11, 18) else 'a'} {k}-policy"
