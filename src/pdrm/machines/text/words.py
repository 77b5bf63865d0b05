"""Words: labels separated by spaces; a label is events joined by `+`, and `-` is the empty label."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pdrm.errors import BadWord, Where
from pdrm.machines.guard import Label

EMPTY = "-"


def parse_word(text: str) -> list[Label]:
    """The labels of a word.

    >>> [sorted(label) for label in parse_word("d d+t - u")]
    [['d'], ['d', 't'], [], ['u']]
    """
    labels: list[Label] = []
    for found in re.finditer(r"\S+", text):
        part = found[0]
        events = [] if part == EMPTY else part.split("+")
        if not all(events):
            raise BadWord(
                f"`{part}` is no label",
                where=Where("<word>", 1, found.start() + 1, text, len(part)),
                fix="join events by `+` as in `d+t`; `-` is the empty label",
            )
        labels.append(frozenset(events))
    return labels


def word_text(word: Iterable[Label]) -> str:
    """The text of a word.

    >>> word_text([frozenset("td"), frozenset()])
    'd+t -'
    """
    return " ".join("+".join(sorted(label)) or EMPTY for label in word)
