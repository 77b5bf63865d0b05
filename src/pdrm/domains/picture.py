"""How a state looks on a grid: data only, drawn as text or pixels elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

WALL = "#"
FLOOR = "."


@dataclass(frozen=True, slots=True)
class Scene:
    """What the grid shows apart from the agent: rows of walls, floor and places, and a word on what has happened.

    >>> Scene(("#x.", "..t"), "searching").rows[1]
    '..t'
    """

    rows: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """For every state, the scene (a position in `scenes`) and where in it the agent stands.

    >>> Picture((Scene(("x.",)),), scene=(0, 0), cell=((0, 0), (0, 1))).size
    (1, 2)
    """

    scenes: tuple[Scene, ...]
    scene: tuple[int, ...]
    cell: tuple[tuple[int, int], ...]

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        rows = self.scenes[0].rows
        return len(rows), len(rows[0])
