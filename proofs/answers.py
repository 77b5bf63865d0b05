"""The counts of the proof about k in words."""

from __future__ import annotations

from collections.abc import Mapping


def answers_text(counts: Mapping[str, int]) -> str:
    """How many answers were left undecided, and what became of certificates."""
    parts = []
    for kind in ("", " (to a depth)"):
        asked, left = counts.get(f"answers{kind}", 0), counts.get(f"undecided{kind}", 0)
        parts.append(f"{left:,} of {asked:,} answers{kind} undecided: {left / max(1, asked):.2%}")
    rest = {name: count for name, count in counts.items() if not name.startswith(("answers", "undecided"))}
    return ", ".join([*parts, *(f"{count:,} {name}" for name, count in sorted(rest.items()))])
