"""A state as a picture: as text with the agent as `@`, and as pixels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FLOOR, WALL, FiniteDomain, Picture

# --- A state as text: the map with the agent as `@`, or the names of the states with the present one in brackets.

AGENT_SIGN = "@"
FEW = 12
"""States that are listed by name at most; beyond, only the present one is."""


def as_text(domain: FiniteDomain, state: int, caption: str = "") -> str:
    """The state, what has happened so far, and a caption.

    >>> from pdrm.domains.paper_domains import domain
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
        rows[row][column] = AGENT_SIGN
        lines, note = ["".join(line) for line in rows], scene.note
    return "\n".join([*lines, *(line for line in (note, caption) if line)])


# --- A bitmap font, 5 by 7, for the printable ASCII characters: enough to letter a grid without a drawing library.
#
# Each character is five columns of two hexadecimal digits, left to right; the lowest bit of a column is its top pixel.

WIDTH, HEIGHT = 5, 7

COLUMNS = (
    "0000000000 00005f0000 0007000700 147f147f14 242a7f2a12 2313086462 3649552250 0005030000"
    " 001c224100 0041221c00 14083e0814 08083e0808 0050300000 0808080808 0060600000 2010080402"
    " 3e5149453e 00427f4000 4261514946 2141454b31 1814127f10 2745454539 3c4a494930 0171090503"
    " 3649494936 064949291e 0036360000 0056360000 0814224100 1414141414 0041221408 0201510906"
    " 324979413e 7e1111117e 7f49494936 3e41414122 7f4141221c 7f49494941 7f09090901 3e4149497a"
    " 7f0808087f 00417f4100 2040413f01 7f08142241 7f40404040 7f020c027f 7f0408107f 3e4141413e"
    " 7f09090906 3e4151215e 7f09192946 4649494931 01017f0101 3f4040403f 1f2040201f 3f4038403f"
    " 6314081463 0708700807 6151494543 007f414100 0204081020 0041417f00 0402010204 4040404040"
    " 0001020400 2054545478 7f48444438 3844444420 384444487f 3854545418 087e090102 0c5252523e"
    " 7f08040478 00447d4000 2040443d00 7f10284400 00417f4000 7c04180478 7c08040478 3844444438"
    " 7c14141408 081414187c 7c08040408 4854545420 043f444020 3c4040207c 1c2040201c 3c4030403c"
    " 4428102844 0c5050503c 4464544c44 0008364100 00007f0000 0041360800 0201020402"
)


def glyph(character: str) -> npt.NDArray[np.bool_]:
    r"""The pixels of a character, [7, 5]; a box for one that the font does not hold.

    >>> print("\n".join("".join(".#"[pixel] for pixel in row) for row in glyph("T").astype(int)))
    #####
    ..#..
    ..#..
    ..#..
    ..#..
    ..#..
    ..#..
    """
    table = COLUMNS.split()
    position = ord(character) - ord(" ")
    columns = bytes.fromhex(table[position] if 0 <= position < len(table) else "7f4141417f")
    return np.array([[bool(column >> row & 1) for column in columns] for row in range(HEIGHT)])


def lettering(text: str) -> npt.NDArray[np.bool_]:
    """The pixels of a line of text, [7, 6 × length]."""
    gap = np.zeros((HEIGHT, 1), np.bool_)
    pieces = [piece for character in text for piece in (glyph(character), gap)]
    return np.hstack(pieces) if pieces else np.zeros((HEIGHT, 0), np.bool_)


# --- A state as an image: numpy only, so that no environment needs a drawing library.
#
# A grid is drawn with walls, floor, lettered places in a colour of their own, and the agent as a disc; under it a line of
# text. A domain without a grid is drawn as its states' names, the present one filled.

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

    >>> from pdrm.domains.paper_domains import domain
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
