"""Pictures of states: grids as text or images, other states as their names, WaterWorld as discs.

Images are arrays [height, width, 3] of uint8, drawn with Pillow, which is imported on first use.
The same state gives the same bytes, and all states of a domain give images of the same size.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FLOOR, WALL, FiniteDomain, Picture
from pdrm.domains.water import BALLS, Water, WaterWorld

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

Pixels = npt.NDArray[np.uint8]
Point = tuple[float, float]
"""A point of an image: pixels from the left and from the top."""

AGENT_SIGN = "@"

PAPER, INK, GREY, WHITE = "#faf9f6", "#262a33", "#707682", "#ffffff"
STONE, LINE, AGENT = "#3e4451", "#e0ded8", "#d4363a"
TINTS = (  # colour-blind safe, light enough for dark letters (after Tol's "light" scheme)
    "#99c1e8",
    "#f0de8e",
    "#c4d868",
    "#fab8c6",
    "#a4e0f6",
    "#cebee8",
    "#f2a68a",
)
WATER, EVEN, ODD, PLATE = "#e4f0f9", "#3468a8", "#e2a828", "#dadce0"

MARGIN = 10
TEXT_SIZE, NAME_SIZE, SMALLEST = 16, 24, 10
"""Font sizes of text and of a state's name, and the smallest readable size."""
TEXT_LINE, SYMBOL_HEIGHT = 24, 30
"""Heights in pixels of a line of text and of a stack symbol."""
WIDEST = 640
"""Maximum width in pixels of a grid or a name."""
CELL_SIZES = (16, 64)
"""Minimum and maximum side of a cell in pixels."""
BOX, PANEL = 480, 160
"""WaterWorld's side, and the width of the column with text and stack, in pixels."""
TALLEST = 16
"""Maximum number of stack symbols in a text."""
FINENESS = 3
"""Images are drawn this many times larger, then scaled down to smooth the edges."""


# --- Shapes and letters


class Canvas:
    """An image being drawn, with smooth shapes and text. Points are in pixels of the final image.

    >>> Canvas(30, 20).pixels().shape
    (20, 30, 3)
    """

    def __init__(self, width: int, height: int, colour: str = PAPER) -> None:
        from PIL import Image, ImageDraw

        self.width, self.height = width, height
        self.image = Image.new("RGB", (width * FINENESS, height * FINENESS), colour)
        self.draw = ImageDraw.Draw(self.image)

    def pixels(self) -> Pixels:
        return np.array(self.image.reduce(FINENESS))

    def fill_plate(
        self, middle: Point, size: tuple[float, float], radius: float, colour: str
    ) -> None:
        """Fill a rectangle with round corners."""
        left, top = middle[0] - size[0] / 2, middle[1] - size[1] / 2
        edges = [FINENESS * edge for edge in (left, top, left + size[0], top + size[1])]
        # Pillow also fills the pixels at the right and bottom edges.
        corners = [round(edge) - number // 2 for number, edge in enumerate(edges)]
        self.draw.rounded_rectangle(corners, radius * FINENESS, fill=colour)

    def fill_disc(self, middle: Point, diameter: float, colour: str) -> None:
        self.fill_plate(middle, (diameter, diameter), diameter / 2, colour)

    def write(
        self,
        text: str,
        point: Point,
        colour: str,
        max_width: float,
        size: int = TEXT_SIZE,
        anchor: str = "mm",
    ) -> None:
        """Write text around a point ("mm") or to its right ("lm"); shrink, then cut long text."""
        while size > SMALLEST and _length(text, size) > max_width:
            size -= 1
        while text and _length(text, size) > max_width:
            text = text.removesuffix("…")[:-1] + "…" if len(text) > 1 else ""
        font = _font(size)
        _, top, _, bottom = font.getbbox("X", anchor="lm")
        scaled = (point[0] * FINENESS, point[1] * FINENESS - (top + bottom) / 2)
        self.draw.text(scaled, text, fill=colour, font=font, anchor=anchor)


@cache
def _font(size: int) -> FreeTypeFont:
    """Load Pillow's built-in font, the same on every machine."""
    from PIL import ImageFont

    font = ImageFont.load_default(size * FINENESS)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


def _length(text: str, size: int) -> float:
    return _font(size).getlength(text) / FINENESS


# --- A state as text


def draw_text(domain: FiniteDomain, state: int, caption: str = "") -> str:
    """Draw the map with the agent as `@` (or the state's name in brackets), a note and a caption.

    >>> from pdrm.domains.paper_domains import domain
    >>> print(draw_text(domain("maze-5x5"), 0, "step 0"))
    #@###
    #...#
    #.###
    #..t#
    #####
    step 0
    """
    if domain.picture is None:
        lines = [f"[{domain.describe(state)}]"]
        note = ""
    else:
        scene = domain.picture.scene_of(state)
        row, column = domain.picture.cell[state]
        lines = list(scene.rows)
        note = scene.note
        lines[row] = lines[row][:column] + AGENT_SIGN + lines[row][column + 1 :]
    return "\n".join([*lines, *filter(None, (note, caption))])


def list_stack(symbols: Sequence[str]) -> list[str]:
    """List a machine's stack, top first, a line per symbol, and count symbols further below.

    >>> list_stack(("d", "#"))
    ['stack', '  | d |', '  | # |']
    """
    more = [f"… {len(symbols) - TALLEST} more"] if len(symbols) > TALLEST else []
    return ["stack", *(f"  | {symbol} |" for symbol in symbols[:TALLEST]), *more]


# --- A state as an image


def draw_state(
    domain: FiniteDomain, state: int, note: Sequence[str] = (), stack: Sequence[str] = ()
) -> Pixels:
    """Draw the grid or the state's name; to its right lines of text and a stack, top first.

    >>> from pdrm.domains.paper_domains import domain
    >>> maze = domain("maze-5x5")
    >>> draw_state(maze, 0).shape, draw_state(maze, 0, ["search"], ("#",)).shape
    ((341, 341, 3), (341, 521, 3))
    """
    picture = domain.picture
    if picture is None:
        return _lay_out(_draw_name(domain, state), note, stack)
    if any(scene.note for scene in picture.scenes):
        note = [*note, picture.scene_of(state).note]
    return _lay_out(draw_grid(picture, state), note, stack)


def draw_grid(picture: Picture, state: int) -> Canvas:
    """Draw walls, floor cells, places with letters and colours, and the agent."""
    rows = picture.scene_of(state).rows
    height, width = picture.size
    side = min(max(WIDEST // width, CELL_SIZES[0]), CELL_SIZES[1])
    canvas = Canvas(width * side + 1, height * side + 1, LINE)
    characters = {letter for scene in picture.scenes for row in scene.rows for letter in row}
    letters = sorted(characters - {WALL, FLOOR})
    for row, line in enumerate(rows):
        for column, character in enumerate(line):
            middle = ((column + 0.5) * side + 0.5, (row + 0.5) * side + 0.5)
            if character == WALL:
                canvas.fill_plate(middle, (side + 1, side + 1), 0, STONE)
                continue
            canvas.fill_plate(middle, (side - 1, side - 1), 0, WHITE)
            has_agent = (row, column) == picture.cell[state]
            if character in letters:
                tint = TINTS[letters.index(character) % len(TINTS)]
                canvas.fill_plate(middle, (0.9 * side, 0.9 * side), side // 6, tint)
            if has_agent:
                canvas.fill_disc(middle, 0.86 * side, WHITE)
                canvas.fill_disc(middle, 0.74 * side, AGENT)
            if character in letters:
                colour = WHITE if has_agent else INK
                canvas.write(character, middle, colour, side, round(0.56 * side))
    return canvas


def _draw_name(domain: FiniteDomain, state: int) -> Canvas:
    """Draw the name of the state in a box that fits all names."""
    longest = max(domain.state_names, key=len)
    width = round(_length(longest, NAME_SIZE)) + 4 * MARGIN
    height = 2 * TEXT_LINE
    canvas = Canvas(min(width, WIDEST), height)
    middle = (canvas.width / 2, height / 2)
    canvas.fill_plate(middle, (canvas.width, height), MARGIN, AGENT)
    canvas.write(domain.describe(state), middle, WHITE, canvas.width - 2 * MARGIN, NAME_SIZE)
    return canvas


def draw_water(
    world: WaterWorld, water: Water, note: Sequence[str] = (), stack: Sequence[str] = ()
) -> Pixels:
    """Draw the box; to its right lines of text and a machine's stack, top first.

    >>> from pdrm.domains.water import START_NUMBERS, begin
    >>> numbers = np.linspace(0, 0.99, START_NUMBERS, dtype=np.float32)
    >>> water = begin(WaterWorld(), numbers, np)
    >>> draw_water(WaterWorld(), water, ["collect"], ("ball_0", "#")).shape
    (500, 680, 3)
    """
    canvas = Canvas(BOX, BOX, STONE)
    canvas.fill_plate((BOX / 2, BOX / 2), (BOX - 4, BOX - 4), 0, WATER)
    scale = BOX / world.side
    size = 2 * world.radius * scale

    def to_pixels(position: npt.ArrayLike) -> Point:
        x, y = np.asarray(position, np.float64).tolist()
        return x * scale, (world.side - y) * scale

    for number in range(BALLS):
        if water.present[number]:  # even and odd balls in two colours; 0 and 1 are rings
            middle = to_pixels(water.ball_position[number])
            odd = number % 2 == 1
            ring = number < 2
            canvas.fill_disc(middle, 1.35 * size, ODD if odd else EVEN)
            if ring:
                canvas.fill_disc(middle, 0.98 * size, WHITE)
            canvas.write(str(number), middle, INK if ring or odd else WHITE, size, round(size))
    canvas.fill_disc(to_pixels(water.position), 1.55 * size, WHITE)
    canvas.fill_disc(to_pixels(water.position), 1.3 * size, AGENT)
    return _lay_out(canvas, note, stack)


def draw_frame(frame: Pixels, note: Sequence[str], stack: Sequence[str]) -> Pixels:
    """Add lines of text and a machine's stack, top first, to the right of a rendered image."""
    from PIL import Image

    height, width, _ = frame.shape
    body = Canvas(width, height)
    body.image = Image.fromarray(frame).resize(body.image.size)
    return _lay_out(body, note, stack)


def _lay_out(body: Canvas, note: Sequence[str], stack: Sequence[str]) -> Pixels:
    """Lay out the body and, to its right, optional lines of text at the top and the stack below."""
    panel = PANEL + 2 * MARGIN if note or stack else 0
    text_height = TEXT_LINE * (len(note) + 1)
    height = max(body.height, text_height + 4 * SYMBOL_HEIGHT if panel else 0)
    canvas = Canvas(body.width + 2 * MARGIN + panel, height + 2 * MARGIN)
    canvas.image.paste(body.image, (MARGIN * FINENESS, MARGIN * FINENESS))
    left = body.width + 3 * MARGIN
    for number, text in enumerate(note):
        point = (left, MARGIN + TEXT_LINE * (number + 0.5))
        canvas.write(text, point, INK if number else GREY, PANEL, TEXT_SIZE + 2, "lm")
    rows = (height - text_height) // SYMBOL_HEIGHT
    shown = list(stack)
    if len(shown) > rows:
        shown = [*shown[: rows - 1], f"… {len(shown) - rows + 1} more"]
    for row, symbol in enumerate(reversed(shown)):
        middle = (left + PANEL / 2, MARGIN + height - SYMBOL_HEIGHT * (row + 0.5))
        colour = {"ball_0": EVEN, "ball_1": ODD}.get(symbol, PLATE)
        canvas.fill_plate(middle, (PANEL, SYMBOL_HEIGHT - 3), 5, colour)
        canvas.write(symbol, middle, WHITE if colour == EVEN else INK, PANEL - MARGIN)
    return canvas.pixels()
