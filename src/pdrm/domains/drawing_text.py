"""A state as text: the map with the agent as `@`, or the names of the states with the present one in brackets."""

from __future__ import annotations

from pdrm.domains.labelled_mdp import FiniteDomain

AGENT = "@"
FEW = 12
"""States that are listed by name at most; beyond, only the present one is."""


def as_text(domain: FiniteDomain, state: int, caption: str = "") -> str:
    """The state, what has happened so far, and a caption.

    >>> from pdrm.domains.catalogue import domain
    >>> print(as_text(domain("maze-5x5"), 0, "step 0"))
    #@###
    #...#
    #.###
    #..t#
    #####
    step 0
    """
    picture = domain.picture
    if picture is None:
        few = domain.states <= FEW
        shown = enumerate(domain.state_names) if few else [(state, domain.describe(state))]
        lines, note = [" ".join(f"[{name}]" if number == state else name for number, name in shown)], ""
    else:
        scene = picture.scenes[picture.scene[state]]
        row, column = picture.cell[state]
        rows = [list(line) for line in scene.rows]
        rows[row][column] = AGENT
        lines, note = ["".join(line) for line in rows], scene.note
    return "\n".join([*lines, *(line for line in (note, caption) if line)])
