"""What a domain looks like: a grid as text or as an image, a state without a grid by its name, WaterWorld as a box of discs.

Images are arrays [height, width, 3] of uint8, drawn with Pillow (loaded when the first one is drawn). The same state gives
the same bytes, and every state of a domain gives an image of the same size.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import floor
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FLOOR, WALL, FiniteDomain, Picture
from pdrm.domains.water import BALLS, Water, WaterWorld
from pdrm.errors import count_to_caller

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

Pixels = npt.NDArray[np.uint8]
Colour = tuple[int, int, int]
Spot = tuple[float, float]
"""The middle of something that is drawn: pixels from the left and from the top."""

AGENT_SIGN = "@"
FEW = 12
"""States of a domain without a grid that are all shown by name; of more, only the present one is."""

PAPER, INK, GREY, WHITE = (250, 249, 246), (38, 42, 51), (112, 118, 130), (255, 255, 255)
STONE, LINE, AGENT = (62, 68, 81), (224, 222, 216), (212, 54, 58)
TINTS = (  # colour-blind safe, light enough for dark letters (after Tol's "light" scheme)
    *((153, 193, 232), (240, 222, 142), (196, 216, 104), (250, 184, 198)),
    *((164, 224, 246), (206, 190, 232), (242, 166, 138)),
)
WATER, EVEN, ODD, PLATE = (228, 240, 249), (52, 104, 168), (226, 168, 40), (218, 220, 224)

MARGIN = 10
TEXT_SIZE, NAME_SIZE, SMALLEST = 16, 24, 10
"""Letter sizes: of a line of text, of a state's name, and the smallest that is readable."""
TEXT_LINE = 24
"""Pixels of height of a line of text."""
NARROWEST = 304
"""Pixels of width at least, so that the lines of text have room."""
WIDEST = 640
"""Pixels that a grid is wide at most, unless its cells would get too small for letters."""
CELL_SIZES = (16, 64)
"""Pixels of a cell's side, at least and at most."""
BOX, PANEL = 480, 150
"""Pixels of WaterWorld's side, and of the width of what is written beside it."""
BESIDE = 190
"""Pixels of width of what is written beside a grid."""
TALLEST = 16
"""Stack symbols that are shown as text."""
LEAST_SYMBOLS = 4
"""Stack symbols that there is always room for beside a grid."""
SYMBOL_HEIGHT = 30
"""Pixels of height of a stack symbol beside the box."""
FINENESS = 8
"""Shapes are drawn this many times larger and scaled down, which makes their edges smooth."""


# --- Shapes and letters


class Canvas:
    """An image being drawn, with smooth shapes and text that fits.

    >>> Canvas(30, 20).pixels().shape
    (20, 30, 3)
    """

    def __init__(self, width: int, height: int, colour: Colour = PAPER) -> None:
        from PIL import Image, ImageDraw

        self.image = Image.new("RGB", (width, height), colour)
        self.draw = ImageDraw.Draw(self.image)

    def pixels(self) -> Pixels:
        return np.array(self.image)

    def paste(self, other: Canvas, left: int, top: int) -> None:
        self.image.paste(other.image, (left, top))

    def fill_square(self, left: int, top: int, side: int, colour: Colour) -> None:
        """Fill a square, sharp to the pixel."""
        self.draw.rectangle((left, top, left + side - 1, top + side - 1), fill=colour)

    def fill_plate(
        self, middle: Spot, size: tuple[int, int], radius: float, colour: Colour
    ) -> None:
        """Fill a rectangle with round corners; size: width and height."""
        corner = [floor(at - (length - 1) / 2) for at, length in zip(middle, size, strict=True)]
        self.image.paste(
            colour,
            (corner[0], corner[1], corner[0] + size[0], corner[1] + size[1]),
            _mask(*size, radius),
        )

    def fill_disc(self, middle: Spot, diameter: float, colour: Colour) -> None:
        size = 2 * int(diameter / 2) + 1  # odd, so that discs in discs have the same middle
        self.fill_plate(middle, (size, size), size / 2, colour)

    def write_line(
        self, text: str, at: Spot, colour: Colour, room: float, size: int = TEXT_SIZE
    ) -> None:
        """Write a line that begins at a place; in smaller letters, then cut, where it is longer than its room."""
        text, size = _fit(text, room, size)
        self.draw.text(at, text, fill=colour, font=_font(size), anchor="lm")

    def write_word(
        self, text: str, middle: Spot, colour: Colour, room: float, size: int = TEXT_SIZE
    ) -> None:
        """Write text around its middle; a single character is centred by what is seen of it."""
        text, size = _fit(text, room, size)
        left, top, right, bottom = _font(size).getbbox(text if len(text) == 1 else "X", anchor="mm")
        aside = (left + right + 1) / 2 if len(text) == 1 else 0
        at = (middle[0] - aside, middle[1] - (top + bottom) / 2)
        self.draw.text(at, text, fill=colour, font=_font(size), anchor="mm")


def _fit(text: str, room: float, size: int) -> tuple[str, int]:
    """The text, cut if need be, and the size of letters at which it is no wider than its room."""
    while size > SMALLEST and _font(size).getlength(text) > room:
        size -= 1
    while text and _font(size).getlength(text) > room:
        text = text.removesuffix("…")[:-1] + "…" if len(text) > 1 else ""
    return text, size


@cache
def _font(size: int) -> FreeTypeFont:
    """Pillow's own font: the same on every machine."""
    from PIL import ImageFont

    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


@cache
def _mask(width: int, height: int, radius: float) -> Image:
    """A rectangle with round corners and smooth edges."""
    from PIL import Image, ImageDraw

    large = Image.new("L", (width * FINENESS, height * FINENESS))
    edges = (0, 0, large.width - 1, large.height - 1)
    ImageDraw.Draw(large).rounded_rectangle(edges, radius * FINENESS, fill=255)
    return large.reduce(FINENESS)


# --- A state as text


def draw_text(domain: FiniteDomain, state: int, caption: str = "") -> str:
    """The map with the agent as `@` (or the names of the states, the present one in brackets), a note and a caption.

    >>> from pdrm.domains.paper_domains import domain
    >>> print(draw_text(domain("maze-5x5"), 0, "step 0"))
    #@###
    #...#
    #.###
    #..t#
    #####
    step 0
    """
    picture = domain.picture
    if picture is None:
        shown = _shown_states(domain, state)
        names = " ".join(f"[{name}]" if number == state else name for number, name in shown)
        lines, note = (
            [names if len(shown) == domain.states else f"{names} of {domain.states:,} states"],
            "",
        )
    else:
        scene = picture.scenes[picture.scene[state]]
        lines, note, (row, column) = list(scene.rows), scene.note, picture.cell[state]
        lines[row] = lines[row][:column] + AGENT_SIGN + lines[row][column + 1 :]
    return "\n".join([*lines, *(line for line in (note, caption) if line)])


def list_stack(symbols: Sequence[str]) -> list[str]:
    """A machine's stack, top first, a line for each symbol; of a high one the upper part.

    >>> list_stack(("d", "#"))
    ['stack', '  | d |', '  | # |']
    """
    more = [f"… {len(symbols) - TALLEST} more"] if len(symbols) > TALLEST else []
    return ["stack", *(f"  | {symbol} |" for symbol in symbols[:TALLEST]), *more]


def is_drawn(mode: str | None, example: str, *, begun: bool) -> bool:
    """Whether an environment is to draw itself: it must have a render mode, and have been reset. As in Gymnasium's own environments, a
    warning says so where there is no mode. example: of a mode."""
    import gymnasium  # only environments ask, which have loaded it

    if mode is None:
        ways = f'task.env(render_mode="{example}"), or gymnasium.make(…, render_mode="{example}")'
        said = f"nothing is drawn without a render_mode: give one when you make it, {ways}"
        gymnasium.logger.warn(said, stacklevel=count_to_caller())
        return False
    if not begun:
        raise gymnasium.error.ResetNeeded("call reset before render")
    return True


def _shown_states(domain: FiniteDomain, state: int) -> list[tuple[int, str]]:
    """Number and name of every state where there are few of them, else of the present one."""
    few = domain.states <= FEW
    return list(enumerate(domain.state_names)) if few else [(state, domain.describe(state))]


# --- A state as an image


def draw_state(domain: FiniteDomain, state: int, caption: str = "") -> Pixels:
    """The grid with the agent as a disc, or the state's name; under it the caption, and a note where scenes have one.

    >>> from pdrm.domains.paper_domains import domain
    >>> draw_state(domain("maze-5x5"), 0, "step 0").shape
    (365, 341, 3)
    """
    picture = domain.picture
    if picture is None:
        body, note, noted = _draw_names(domain, state), "", False
    else:
        body, note = _draw_grid(picture, state), picture.scenes[picture.scene[state]].note
        noted = any(scene.note for scene in picture.scenes)
    lines = [*([caption] if caption else []), *([note] if noted else [])]
    width, height = max(body.image.width + 2 * MARGIN, NARROWEST), body.image.height
    canvas = Canvas(width, height + 2 * MARGIN + TEXT_LINE * len(lines))
    canvas.paste(body, (width - body.image.width) // 2, MARGIN)
    for number, line in enumerate(lines):
        middle = height + MARGIN + TEXT_LINE * (number + 0.5) + 4
        canvas.write_line(line, (MARGIN, middle), GREY if number else INK, width - 2 * MARGIN)
    return canvas.pixels()


def _draw_grid(picture: Picture, state: int) -> Canvas:
    """Walls in one piece, lines between floor cells, lettered places in a colour of their own, and the agent."""
    rows = picture.scenes[picture.scene[state]].rows
    height, width = picture.size
    side = min(max(WIDEST // width, CELL_SIZES[0]), CELL_SIZES[1])
    cells = [
        (row, column, shown) for row, line in enumerate(rows) for column, shown in enumerate(line)
    ]
    canvas = Canvas(width * side + 1, height * side + 1, LINE)
    for row, column, shown in cells:
        if shown != WALL:
            canvas.fill_square(column * side + 1, row * side + 1, side - 1, WHITE)
    for row, column, shown in cells:
        if shown == WALL:
            canvas.fill_square(column * side, row * side, side + 1, STONE)
    letters = sorted(
        {letter for each in picture.scenes for line in each.rows for letter in line} - {WALL, FLOOR}
    )
    inner = side - 1 - 2 * (side // 16)
    for row, column, shown in cells:
        middle = ((column + 0.5) * side + 0.5, (row + 0.5) * side + 0.5)
        here = (row, column) == picture.cell[state]
        if shown in letters:
            canvas.fill_plate(
                middle, (inner, inner), side // 6, TINTS[letters.index(shown) % len(TINTS)]
            )
        if here:
            canvas.fill_disc(middle, 0.86 * side, WHITE)
            canvas.fill_disc(middle, 0.74 * side, AGENT)
        if shown in letters:
            canvas.write_word(shown, middle, WHITE if here else INK, side, round(0.56 * side))
    return canvas


def _draw_names(domain: FiniteDomain, state: int) -> Canvas:
    """The names of the states in boxes, the present one filled; of many states the present one, and how many there are."""
    shown = _shown_states(domain, state)
    longest = max((name for _, name in shown) if len(shown) > 1 else domain.state_names, key=len)
    width, height = max(64, round(_font(NAME_SIZE).getlength(longest)) + 4 * MARGIN), 2 * TEXT_LINE
    left_out = len(shown) < domain.states
    canvas = Canvas((width + MARGIN) * len(shown) - MARGIN, height + TEXT_LINE * left_out)
    for position, (number, name) in enumerate(shown):
        middle = (position * (width + MARGIN) + width / 2, height / 2)
        canvas.fill_plate(middle, (width, height), MARGIN, AGENT if number == state else LINE)
        canvas.write_word(
            name, middle, WHITE if number == state else INK, width - 2 * MARGIN, NAME_SIZE
        )
    if left_out:
        canvas.write_word(
            f"of {domain.states:,} states", (width / 2, height + TEXT_LINE / 2), GREY, width
        )
    return canvas


# --- WaterWorld as an image


def draw_water(
    world: WaterWorld, water: Water, note: Sequence[str] = (), stack: Sequence[str] = ()
) -> Pixels:
    """The box, and beside it lines of text (the step, a machine's state) and a machine's stack, top first.

    >>> from pdrm.domains.water import START_NUMBERS, begin
    >>> numbers = np.linspace(0, 0.99, START_NUMBERS, dtype=np.float32)
    >>> draw_water(WaterWorld(), begin(WaterWorld(), numbers, np), ["collect"], ("ball_0", "#")).shape
    (500, 660, 3)
    """
    box = Canvas(BOX, BOX, STONE)
    box.fill_square(2, 2, BOX - 4, WATER)
    scale = BOX / world.side
    size = 2 * world.radius * scale

    def spot(place: npt.ArrayLike) -> Spot:
        x, y = np.asarray(place, np.float64).tolist()
        return floor(x * scale) + 0.5, floor((world.side - y) * scale) + 0.5

    for number in range(BALLS):
        if bool(
            water.there[number]
        ):  # even and odd balls in two colours; those to deliver to (0 and 1) are rings
            middle, odd, ring = spot(water.ball_place[number]), number % 2 == 1, number < 2
            box.fill_disc(middle, 1.35 * size, ODD if odd else EVEN)
            if ring:
                box.fill_disc(middle, 0.98 * size, WHITE)
            box.write_word(str(number), middle, INK if ring or odd else WHITE, size, round(size))
    box.fill_disc(spot(water.place), 3.1 * world.radius * scale, WHITE)
    box.fill_disc(spot(water.place), 2.6 * world.radius * scale, AGENT)
    canvas = Canvas(BOX + PANEL + 3 * MARGIN, BOX + 2 * MARGIN)
    canvas.paste(box, MARGIN, MARGIN)
    _draw_panel(canvas, note, stack, BOX + 2 * MARGIN)
    return canvas.pixels()


def draw_beside(
    domain: FiniteDomain, state: int, note: Sequence[str] = (), stack: Sequence[str] = ()
) -> Pixels:
    """A state of a finite domain, and beside it lines of text and a machine's stack, top first.

    >>> from pdrm.domains.paper_domains import domain
    >>> draw_beside(domain("maze-5x5"), 0, ["step 0", "search"], ("#",)).shape
    (341, 541, 3)
    """
    from PIL import Image

    body = Image.fromarray(draw_state(domain, state))
    height = max(
        body.height - 2 * MARGIN, TEXT_LINE * (len(note) + 1) + LEAST_SYMBOLS * SYMBOL_HEIGHT
    )
    canvas = Canvas(body.width + BESIDE + MARGIN, max(height + 2 * MARGIN, body.height))
    canvas.image.paste(body, (0, 0))
    _draw_panel(canvas, note, stack, body.width)
    return canvas.pixels()


def _draw_panel(canvas: Canvas, note: Sequence[str], stack: Sequence[str], left: int) -> None:
    """Lines of text from the top, the stack at the bottom, to the right of something."""
    width, height = canvas.image.width - left - MARGIN, canvas.image.height - 2 * MARGIN
    for number, text in enumerate(note):
        at = (left, MARGIN + TEXT_LINE * (number + 0.5))
        canvas.write_line(text, at, INK if number else GREY, width, TEXT_SIZE + 2)
    rows = (height - TEXT_LINE * (len(note) + 1)) // SYMBOL_HEIGHT
    shown = (
        list(stack)
        if len(stack) <= rows
        else [*stack[: rows - 1], f"… {len(stack) - rows + 1} more"]
    )
    for row, symbol in enumerate(shown):
        middle = (left + PANEL / 2, MARGIN + height - SYMBOL_HEIGHT * (len(shown) - row - 0.5))
        colour = {"ball_0": EVEN, "ball_1": ODD}.get(symbol, PLATE)
        canvas.fill_plate(middle, (PANEL, SYMBOL_HEIGHT - 3), 5, colour)
        canvas.write_word(symbol, middle, WHITE if colour == EVEN else INK, PANEL - MARGIN)
