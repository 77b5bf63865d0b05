"""Limits on files and texts that come from outside, in one place.

A file may be damaged or hostile, and a small one can stand for something endless. With these limits
reading ends within seconds and half a gigabyte, with what was read or with an error that has a place.
"""

from __future__ import annotations

LARGEST_TEXT = 4 * 2**20
"""Bytes of a text (a machine, a study, JSON) at most."""

LONGEST_LINE = 10_000
"""Characters of one line at most."""

MOST_LINES = 100_000
"""Lines of a machine's text at most."""

DEEPEST = 40
"""Parentheses, negations, blocks or JSON values inside each other at most."""

MOST_RULES = 20_000
"""Rules of a machine that is read at most; also names on one of its lines."""

MOST_SYMBOLS = 5_000
"""Symbols on the right-hand sides of a grammar at most."""

MOST_DIAGRAM_NODES = 200_000
"""Nodes of the decision diagrams that a formula or a combination of machines is worked out with: some 100 MB."""

MOST_VARIABLES = 300
"""Events, and operators of a formula, that one diagram may ask for."""

DEEPEST_FORMULA, LONGEST_FORMULA, MOST_OPERATORS = 100, 5_000, 200
"""Operators and parentheses inside each other, words and signs, and different temporal operators of a formula at most."""

MOST_WORKED_OUT = 4_000
"""States that are worked out for a formula, an expression or a combination of machines at most."""

LARGEST_ARRAYS = 2**27
"""Bytes of the arrays that a compressed `.npz` may unpack to; one that is not compressed may hold as many as the file has."""

LARGEST_DOMAIN, MOST_CELLS = 112 * 2**20, 250_000
"""Bytes of a domain's file, and cells of a map, at most."""

LARGEST_CERTIFICATE = 2**27
"""Bytes of a certificate, and values in it, at most."""

LARGEST_STUDY = 2**18
"""Bytes of a study's file at most."""

MOST_SILENT_MOVES = 1_000_000
"""Silent moves that one symbol on a stack may lead to, one after the other."""

LARGEST_STEP = 10_000_000
"""Symbols on the stacks of one step's silent moves at most, eight more counted for each move: what the readable step keeps."""
