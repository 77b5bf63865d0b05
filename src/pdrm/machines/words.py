"""Words: labels separated by spaces, as users type them."""

from __future__ import annotations

import re

from pdrm.errors import BadWord, Where, WrongKind
from pdrm.machines.guards import Label
from pdrm.machines.machine import NAME

EMPTY = "-"


def parse_word(text: str) -> list[Label]:
    """The labels of a word.

    >>> [sorted(label) for label in parse_word("d d+t - u")]
    [['d'], ['d', 't'], [], ['u']]
    """
    if not isinstance(text, str):
        raise WrongKind(f"a word is a text, not {str(text)[:40]!r}", fix='parse_word("d d+t - u")')
    labels: list[Label] = []
    for found in re.finditer(r"\S+", text):
        part = found[0]
        events = [] if part == EMPTY else part.split("+")
        if not all(NAME.fullmatch(event) for event in events):
            where = Where("<word>", 1, found.start() + 1, text, len(part))
            fix = "labels are separated by blanks, `d t`; events of one label are joined by `+`, `d+t`; `-` is the empty label"
            raise BadWord(f"`{part}` is not a label", where=where, fix=fix)
        labels.append(frozenset(events))
    return labels
