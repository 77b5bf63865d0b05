"""WaterWorld as a Gymnasium environment, on NumPy, and its picture. Importing this module registers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.envs.registration import register, registry
from gymnasium.error import ResetNeeded

from pdrm.domains.pictures import lettering
from pdrm.domains.water import (
    ACTIONS,
    BALLS,
    LABELS,
    OBSERVED,
    PUSHES,
    START_NUMBERS,
    STEP_NUMBERS,
    Water,
    WaterWorld,
    advance,
    begin,
    observe,
    water_world,
)
from pdrm.errors import BadAction, BadDomainSetting

# --- WaterWorld as an image: numpy only. Discs for the agent and the balls, even and odd in two colours, their numbers on them;
# beside the box, whatever a machine that watches has to say: its state, and its stack, top first.

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


# --- WaterWorld as a Gymnasium environment, on NumPy. Importing this module registers it.

IDS = {"pdrm/WaterWorld17-v0": "water-17", "pdrm/WaterWorld20-v0": "water-20"}
"""Gymnasium's name of each. The step limit is the environment's own, so the registry adds none."""

Floats = npt.NDArray[np.float32]


class WaterEnv(gymnasium.Env[Floats, Any]):
    """WaterWorld, given as such or by name; settings are those of `WaterWorld`.

    `info["label"]` is the frozenset of events true after the step; nothing is emitted at reset. An episode is never
    `terminated` (a machine on top may), and `truncated` at the step limit.

    >>> env = WaterEnv("water-17")
    >>> observation, info = env.reset(seed=0)
    >>> observation.shape, info, env.action_space
    ((44,), {'label': None}, Discrete(5))
    >>> env.step(0)[1:]
    (0.0, False, False, {'label': frozenset()})
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(self, world: WaterWorld | str = "water-17", render_mode: str | None = None, **settings: Any) -> None:  # noqa: ANN401
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise BadDomainSetting(f"no rendering is called `{render_mode}`", fix="use `rgb_array`")
        if isinstance(world, WaterWorld) and settings:
            raise BadDomainSetting(f"`{next(iter(settings))}` is set of a world that is built", fix="build it so")
        self.world = water_world(world, **settings) if isinstance(world, str) else world
        self.render_mode = render_mode
        # Everything is scaled to [-1, 1], up to rounding.
        self.observation_space = spaces.Box(-1.01, 1.01, (OBSERVED,), np.float32)
        self.action_space: spaces.Space[Any] = spaces.Discrete(len(ACTIONS))
        if self.world.continuous:
            self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.water: Water | None = None
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode; the options are not used."""
        super().reset(seed=seed, options=options)
        self.water, self.steps = begin(self.world, self._numbers(START_NUMBERS), np), 0
        return self._observation(), {"label": None}

    def step(self, action: Any) -> tuple[Floats, float, bool, bool, dict[str, Any]]:  # noqa: ANN401 - either kind of action
        """One step; a push in any direction is cut to [-1, 1]."""
        if self.water is None:
            raise ResetNeeded("call reset before the first step")
        self.water, label = advance(self.world, self.water, self._push(action), self._numbers(STEP_NUMBERS), np)
        self.steps += 1
        return self._observation(), 0.0, False, self.steps >= self.world.step_limit, {"label": LABELS[int(label)]}

    def render(self) -> Image | None:
        """The box as an image."""
        if self.render_mode is None or self.water is None:
            return None
        return draw_water(self.world, self.water, [f"step {self.steps}"])

    def _numbers(self, count: int) -> Floats:
        return self.np_random.random(count, dtype=np.float32)

    def _observation(self) -> Floats:
        seen: Floats = observe(self.world, self.water, np)  # type: ignore[arg-type]  # called once there is one
        return seen

    def _push(self, action: Any) -> Floats:  # noqa: ANN401 - either kind of action
        if self.world.continuous:
            push = np.asarray(action, np.float32)
            if push.shape != (2,) or not np.isfinite(push).all():
                raise BadAction(f"{action!r} is no push", fix="two numbers in [-1, 1]")
            return np.clip(push, -1, 1)
        if not self.action_space.contains(action):
            listed = ", ".join(f"{number} ({name})" for number, name in enumerate(ACTIONS))
            raise BadAction(f"WaterWorld has no action {action!r}", fix=f"actions are {listed}")
        direction: Floats = DIRECTIONS[int(action)]
        return direction


DIRECTIONS = np.array(PUSHES, np.float32)

for _name, _world in IDS.items():
    if _name not in registry:
        register(_name, entry_point="pdrm.domains.water_env:WaterEnv", kwargs={"world": _world})
