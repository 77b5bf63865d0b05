"""WaterWorld as an image: numpy only. Discs for the agent and the balls, even and odd in two colours, their numbers on them;
beside the box, whatever a machine that watches has to say: its state, and its stack, top first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.domains.font import lettering
from pdrm.domains.water import BALLS, Water, WaterWorld

Image = npt.NDArray[np.uint8]
Colour = tuple[int, int, int]

BOX, PANEL, MARGIN = 480, 150, 10
PAPER, INK, WATER, LINE = (250, 249, 246), (38, 42, 51), (232, 241, 248), (160, 170, 184)
AGENT, EVEN, ODD, OTHER, WHITE = (38, 42, 51), (68, 119, 170), (238, 136, 102), (200, 200, 200), (255, 255, 255)
# Balls 0 and 1 are ringed: they are the ones to deliver to.
SYMBOLS = {"ball_0": EVEN, "ball_1": ODD}
PLATE = 30
"""Pixels of height of a stack symbol."""


def draw_water(world: WaterWorld, water: Water, note: Sequence[str] = (), stack: Sequence[str] | None = None) -> Image:
    """The box, with lines of text and a stack beside it; [height, width, 3], the same size always.

    >>> from pdrm.domains.water import START_NUMBERS, begin
    >>> numbers = np.linspace(0, 0.99, START_NUMBERS, dtype=np.float32)
    >>> draw_water(WaterWorld(), begin(WaterWorld(), numbers, np), ["collect"], ("ball_0", "#")).shape
    (500, 660, 3)
    """
    image = np.full((BOX + 2 * MARGIN, BOX + PANEL + 3 * MARGIN, 3), PAPER, np.uint8)
    box = image[MARGIN : MARGIN + BOX, MARGIN : MARGIN + BOX]
    box[:] = LINE
    box[2:-2, 2:-2] = WATER
    for number in range(BALLS):
        if bool(water.there[number]):
            _ball(box, world, np.asarray(water.ball_place)[number], number)
    _disc(box, world, np.asarray(water.place), world.radius, AGENT)
    _panel(image[MARGIN:, 2 * MARGIN + BOX :], note, stack)
    return image


def _ball(box: Image, world: WaterWorld, place: npt.NDArray[Any], number: int) -> None:
    colour = ODD if number % 2 else EVEN
    _disc(box, world, place, world.radius * 1.35, colour)
    if number < 2:
        _disc(box, world, place, world.radius * 1.05, WHITE)
    x, y = _pixel(world, place)
    _write(box, str(number), (y - 6, x - 4), INK if number < 2 else WHITE, 2)


def _pixel(world: WaterWorld, place: npt.NDArray[Any]) -> tuple[int, int]:
    scale = BOX / world.side
    return round(float(place[0]) * scale), round((world.side - float(place[1])) * scale)


def _disc(box: Image, world: WaterWorld, place: npt.NDArray[Any], radius: float, colour: Colour) -> None:
    """A filled circle, its edge smoothed."""
    x, y = _pixel(world, place)
    size = radius * BOX / world.side
    top, left = max(0, int(y - size - 2)), max(0, int(x - size - 2))
    part = box[top : int(y + size + 3), left : int(x + size + 3)]
    down, across = np.arange(part.shape[0])[:, None] + top - y, np.arange(part.shape[1]) + left - x
    inside = np.clip(size - np.hypot(down, across) + 0.5, 0, 1)[..., None]
    part[:] = np.rint(part * (1 - inside) + np.array(colour) * inside).astype(np.uint8)


def _panel(panel: Image, note: Sequence[str], stack: Sequence[str] | None) -> None:
    for line, text in enumerate(note):
        _write(panel, text, (22 * line, 0), INK, 2)
    if stack is None:
        return
    top = BOX - PLATE * len(stack)
    for place, symbol in enumerate(stack):
        plate = panel[top + PLATE * place : top + PLATE * (place + 1) - 2, :-MARGIN]
        plate[:] = SYMBOLS.get(symbol, OTHER)
        _write(plate, symbol, (7, 10), WHITE if symbol in SYMBOLS else INK, 2)


def _write(image: Image, text: str, corner: tuple[int, int], colour: Colour, scale: int) -> None:
    """Put text on the image, cut at its edges."""
    top, left = max(0, corner[0]), max(0, corner[1])
    mask = np.kron(lettering(text), np.ones((scale, scale), np.bool_))
    part = image[top : top + mask.shape[0], left : left + mask.shape[1]]
    part[mask[: part.shape[0], : part.shape[1]]] = colour
