"""A state as an image: numpy only, so that no environment needs a drawing library.

A grid is drawn with walls, floor, lettered places in a colour of their own, and the agent as a disc; under it a line of
text. A domain without a grid is drawn as its states' names, the present one filled.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pdrm.domains.font import HEIGHT, lettering
from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.domains.picture import FLOOR, WALL, Picture

Image = npt.NDArray[np.uint8]
Colour = tuple[int, int, int]

WIDEST = 640
"""Pixels that a grid is wide at most, unless its cells would get too small to letter."""
CELL_SIZES = (14, 64)
"""Pixels of a cell's side, at least and at most."""
MARGIN = 8
NARROWEST = 304
"""Pixels of width at least, so that the line of text has room."""

PAPER, INK, LINE = (250, 249, 246), (38, 42, 51), (226, 223, 216)
STONE, AGENT, WHITE = (62, 68, 81), (214, 69, 65), (255, 255, 255)
# Colour-blind safe, light enough for dark letters (after Tol's "light" scheme).
TINTS = (
    (119, 170, 221),
    (238, 221, 136),
    (187, 204, 51),
    (255, 170, 187),
    (153, 221, 255),
    (170, 170, 0),
    (238, 136, 102),
)


def as_pixels(domain: FiniteDomain, state: int, caption: str = "") -> Image:
    """The state as an RGB image, [height, width, 3]; its size is the same for every state of a domain.

    >>> from pdrm.domains.catalogue import domain
    >>> as_pixels(domain("maze-5x5"), 0).shape
    (367, 337, 3)
    """
    picture = domain.picture
    if picture is None:
        body, note = _names(domain, state), ""
    else:
        body, note = _grid(picture, state), picture.scenes[picture.scene[state]].note
    width = max(body.shape[1] + 2 * MARGIN, NARROWEST)
    image = _blank(body.shape[0] + 4 * MARGIN + 2 * HEIGHT, width, PAPER)
    left = (width - body.shape[1]) // 2
    image[MARGIN : MARGIN + body.shape[0], left : left + body.shape[1]] = body
    _write(image, "; ".join(filter(None, (caption, note))), (body.shape[0] + 2 * MARGIN + 4, MARGIN), INK, 2)
    return image


def _blank(height: int, width: int, colour: Colour) -> Image:
    return np.full((height, width, 3), colour, np.uint8)


def _write(image: Image, text: str, corner: tuple[int, int], colour: Colour, scale: int = 1) -> None:
    """Put text on the image, cut at the right edge."""
    top, left = corner
    mask = np.kron(lettering(text), np.ones((scale, scale), np.bool_))[:, : image.shape[1] - left]
    image[top : top + mask.shape[0], left : left + mask.shape[1]][mask] = colour


def _letter(cell: Image, letter: str, colour: Colour) -> None:
    """Put one character in the middle of a cell."""
    side = cell.shape[0]
    scale = max(1, round(side * 0.55 / HEIGHT))
    _write(cell, letter, ((side - 7 * scale + 1) // 2, (side - 5 * scale + 1) // 2), colour, scale)


def _disc(cell: Image, colour: Colour, radius: float) -> None:
    """A filled circle in the middle of a cell, its edge smoothed."""
    side = cell.shape[0]
    away = np.arange(side) - side / 2
    inside = np.clip(radius * side - np.hypot(away[:, np.newaxis], away) + 0.5, 0, 1)[..., np.newaxis]
    cell[:] = np.rint(cell * (1 - inside) + np.array(colour) * inside).astype(np.uint8)


def _grid(picture: Picture, state: int) -> Image:
    scene = picture.scenes[picture.scene[state]]
    height, width = picture.size
    side = int(np.clip(WIDEST // width, *CELL_SIZES))
    letters = sorted({letter for each in picture.scenes for row in each.rows for letter in row} - {WALL, FLOOR})
    image = _blank(height * side + 1, width * side + 1, LINE)
    for row, line in enumerate(scene.rows):
        for column, shown in enumerate(line):
            inner = image[row * side + 1 : (row + 1) * side, column * side + 1 : (column + 1) * side]
            inner[:] = STONE if shown == WALL else WHITE if shown == FLOOR else TINTS[letters.index(shown) % len(TINTS)]
            here = (row, column) == picture.cell[state]
            if here:
                _disc(inner, AGENT, 0.42)
            if shown not in (WALL, FLOOR):
                _letter(inner, shown, WHITE if here else INK)
    return image


def _names(domain: FiniteDomain, state: int) -> Image:
    """The name of the present state in a filled box, and how many states there are."""
    longest = max(len(name) for name in domain.state_names)
    image = _blank(2 * HEIGHT + 4 * MARGIN, 12 * max(longest, 4) + 4 * MARGIN, AGENT)
    name = domain.describe(state)
    _write(image, name, (2 * MARGIN, (image.shape[1] - 12 * len(name)) // 2), WHITE, 2)
    return image
