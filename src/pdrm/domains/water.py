"""WaterWorld (Section 7.5): an agent in a box among ten moving balls, written once over arrays.

Every function takes the array module as `xp`: NumPy makes the readable reference, JAX its compiled twin. Nothing here draws
random numbers: they are handed in, in [0, 1). Motion is straight, walls are elastic, discs touch when their centres are
closer than two radii. At most one ball is touched a step, the one with the lowest number: balls 2 to 9 then vanish and emit
their parity, balls 0 and 1 jump to a new place and emit their name. `A_F` is emitted in the step after the last of 2 to 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from pdrm.errors import UnknownDomain, did_you_mean
from pdrm.lazy import Displayed

Array = Any
"""An array of NumPy or of JAX."""

SIDES = {"water-17": 17.0, "water-20": 20.0}
"""The paper's two boxes."""
BALLS = 10
EVENTS = ("even", "odd", "A_F", "ball_0", "ball_1")
LABELS = (frozenset[str](), *(frozenset({event}) for event in EVENTS))
NOTHING, EVEN, ODD, ALL_FOUND, BALL_0, BALL_1 = range(6)
ACTIONS = ("up", "down", "left", "right", "none")
PUSHES = ((0.0, 1.0), (0.0, -1.0), (-1.0, 0.0), (1.0, 0.0), (0.0, 0.0))
"""The direction of each action."""
EMITTED = (BALL_0, BALL_1, *(EVEN, ODD) * 4)
"""The label of touching each ball."""
START_NUMBERS = 2 + 3 * BALLS
"""Numbers that a start takes: the agent's place, each ball's place, each ball's heading."""
STEP_NUMBERS = 2
"""Numbers that a step takes: where a ball jumps."""
OBSERVED = 4 + 4 * BALLS


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterWorld(Displayed):
    """The box and what moves in it. The paper prints none of these numbers but the side and the limit: the others are ours.

    >>> WaterWorld(side=20).name, round(WaterWorld().inner, 1)
    ('water-20', 16.4)
    """

    side: float = 17.0
    radius: float = 0.3
    """Of the agent and of every ball."""
    ball_speed: float = 0.5
    acceleration: float = 0.5
    """Added to the agent's velocity by one step's push."""
    top_speed: float = 1.5
    """The agent's, three times a ball's."""
    interval: float = 0.1
    """Time that a step takes."""
    step_limit: int = 10_000
    continuous: bool = False
    """An action is a push in any direction, two numbers in [-1, 1], instead of one of five."""
    actions: ClassVar = ACTIONS
    events: ClassVar = EVENTS
    states: ClassVar[None] = None
    """Not finitely many."""
    machine: ClassVar = "water"
    """The catalogue machine that it goes with."""

    @property
    def name(self) -> str:
        """Its name in the catalogue."""
        return f"water-{self.side:g}" + ("-continuous" if self.continuous else "")

    @property
    def inner(self) -> float:
        """The side of the square that centres move in."""
        return self.side - 2 * self.radius


def water_world(name: str) -> WaterWorld:
    """`water-17` or `water-20`, as a `WaterWorld`.

    >>> water_world("water-20").side
    20.0
    """
    if name not in SIDES:
        raise UnknownDomain(f"unknown WaterWorld `{name}`", fix=did_you_mean(name, SIDES))
    return WaterWorld(side=SIDES[name])


class Water(NamedTuple):
    """The places and velocities of everything: places in [radius, side - radius]."""

    position: Array
    """[2]: the agent's."""
    velocity: Array
    """[2]"""
    ball_position: Array
    """[10, 2]"""
    ball_velocity: Array
    """[10, 2]"""
    present: Array
    """[10]: True if the ball is still there."""
    announced: Array
    """True once `A_F` has been emitted."""


def begin(world: WaterWorld, numbers: Array, xp: Any) -> Water:
    """Everything at a random place, the agent at rest, the balls under way; numbers: [START_NUMBERS]."""
    places = world.radius + world.inner * numbers[: 2 + 2 * BALLS].reshape(1 + BALLS, 2)
    heading = xp.float32(6.2831855) * numbers[2 + 2 * BALLS :]
    velocity = world.ball_speed * xp.stack((xp.cos(heading), xp.sin(heading)), axis=-1)
    return Water(
        places[0],
        xp.zeros_like(places[0]),
        places[1:],
        velocity,
        numbers[:BALLS] >= 0.0,
        numbers[0] < 0.0,
    )


def advance(
    world: WaterWorld, water: Water, push: Array, numbers: Array, xp: Any
) -> tuple[Water, Array]:
    """One step with a push of length at most 1 in each direction; returns the label's number too. numbers: [STEP_NUMBERS]."""
    velocity = water.velocity + world.acceleration * push
    speed = xp.sqrt((velocity * velocity).sum(axis=-1, keepdims=True))
    velocity = velocity * xp.minimum(
        xp.float32(1), world.top_speed / xp.maximum(speed, xp.float32(1e-6))
    )
    position, velocity = _bounce(world, water.position + world.interval * velocity, velocity, xp)
    ball_position, ball_velocity = _bounce(
        world, water.ball_position + world.interval * water.ball_velocity, water.ball_velocity, xp
    )
    apart = ball_position - position
    number = xp.arange(BALLS)
    touching = water.present & ((apart * apart).sum(axis=-1) < 4 * world.radius * world.radius)
    announces = ~water.present[2:].any() & ~water.announced
    first = xp.where(touching, number, BALLS).min()
    touched = (number == first) & ~announces
    label = xp.where(announces, ALL_FOUND, (touched * xp.asarray(EMITTED, xp.int32)).sum())
    jumped = world.radius + world.inner * numbers
    ball_position = xp.where((touched & (number < 2))[:, None], jumped, ball_position)
    present = water.present & ~(touched & (number >= 2))
    return Water(
        position, velocity, ball_position, ball_velocity, present, water.announced | announces
    ), label


def observe(world: WaterWorld, water: Water, xp: Any) -> Array:
    """[44]: the agent's place and velocity, then each ball's, relative to it, in about [-1, 1]; zeros for a ball that is gone."""
    fast = world.top_speed + world.ball_speed
    own = xp.concatenate((water.position / (world.side / 2) - 1, water.velocity / world.top_speed))
    apart = (water.ball_position - water.position) / world.side
    relative = (water.ball_velocity - water.velocity) / fast
    balls = xp.where(water.present[:, None], xp.concatenate((apart, relative), axis=-1), 0)
    return xp.concatenate((own, balls.reshape(-1))).astype(xp.float32)


def _bounce(world: WaterWorld, place: Array, velocity: Array, xp: Any) -> tuple[Array, Array]:
    """Mirror places beyond a wall at it."""
    low, high = world.radius, world.side - world.radius
    below, above = place < low, place > high
    place = xp.where(below, 2 * low - place, xp.where(above, 2 * high - place, place))
    return place, xp.where(below | above, -velocity, velocity)
