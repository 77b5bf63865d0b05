"""What reading may cost: every limit on files and texts that come from outside, in one place.

A file may be damaged or hostile, and a small one can stand for something endless. Within these limits reading anything ends
within seconds and a few hundred megabytes, with the thing that was read or with an error that has a place.
"""

from __future__ import annotations

LARGEST_TEXT = 4 * 2**20
"""Bytes of a text (a machine, a study, JSON) at most."""

LONGEST_LINE = 10_000
"""Characters of one line at most."""

DEEPEST = 40
"""Parentheses, negations, blocks or JSON values inside each other at most."""

LARGEST_ARRAYS = 2**27
"""Bytes of the arrays that a compressed `.npz` may unpack to; one that is not compressed may hold as many as the file has."""

LONGEST_DIRECTORY = 2**20
"""Bytes of the list of what is in an `.npz` at most: some 10,000 arrays."""
