"""WaterWorld (Section 7.5): an agent in a box among ten moving balls, written once over arrays.

Every function takes the array module as `xp`: NumPy for the readable reference, JAX for its
compiled twin. Random numbers in [0, 1) are passed as arguments. Motion is straight, walls are
elastic, and discs touch if their centres are closer than two radii. At most one ball is touched
per step, the one with the lowest number. Balls 2 to 9 then vanish and emit their parity; balls 0
and 1 jump to a new position and emit their name. `A_F` is emitted in the step after the last of 2
to 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from pdrm.errors import UnknownDomain, did_you_mean
from pdrm.lazy import Displayed

Array = Any
"""A NumPy or JAX array."""

SIDES = {"water-17": 17.0, "water-20": 20.0}
"""The paper's two boxes."""
BALLS = 10
EVENTS = ("even", "odd", "A_F", "ball_0", "ball_1")
MACHINES = ("water", "water-strict")
"""The machines of the catalogue for it. They have at most nine symbols on the stack."""
LABELS = (frozenset[str](), *(frozenset({event}) for event in EVENTS))
NOTHING, EVEN, ODD, ALL_FOUND, BALL_0, BALL_1 = range(6)
ACTIONS = ("up", "down", "left", "right", "none")
PUSHES = ((0.0, 1.0), (0.0, -1.0), (-1.0, 0.0), (1.0, 0.0), (0.0, 0.0))
"""The direction of each action."""
EMITTED = (BALL_0, BALL_1, *(EVEN, ODD) * 4)
"""The label of touching each ball."""
START_NUMBERS = 2 + 3 * BALLS
"""Random numbers of a start: positions of the agent and the balls, directions of the balls."""
STEP_NUMBERS = 2
"""Random numbers of a step: the position to which a ball jumps."""
OBSERVED = 4 + 4 * BALLS


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterWorld(Displayed):
    """The box and its moving discs. Only the side and the step limit are from the paper.

    >>> WaterWorld(side=20).name, round(WaterWorld().inner, 1)
    ('water-20', 16.4)
    """

    side: float = 17.0
    radius: float = 0.3
    """Radius of the agent and of every ball."""
    ball_speed: float = 0.5
    acceleration: float = 0.5
    """Change of the agent's velocity by a push of one step."""
    top_speed: float = 1.5
    """Maximum speed of the agent, three times a ball's."""
    interval: float = 0.1
    """Duration of a step."""
    step_limit: int = 10_000
    continuous: bool = False
    """Actions are pushes in any direction, two numbers in [-1, 1], instead of one of five."""
    actions: ClassVar = ACTIONS
    events: ClassVar = EVENTS
    states: ClassVar[None] = None
    """Infinitely many."""
    machine: ClassVar = "water"
    """The catalogue machine made for it."""

    @property
    def name(self) -> str:
        """Its name in the catalogue."""
        return f"water-{self.side:g}" + ("-continuous" if self.continuous else "")

    @property
    def inner(self) -> float:
        """The side of the square in which centres move."""
        return self.side - 2 * self.radius


def water_world(name: str) -> WaterWorld:
    """Make a `WaterWorld` by name: `water-17` or `water-20`.

    >>> water_world("water-20").side
    20.0
    """
    if name not in SIDES:
        raise UnknownDomain(f"unknown WaterWorld `{name}`", fix=did_you_mean(name, SIDES))
    return WaterWorld(side=SIDES[name])


class Water(NamedTuple):
    """Positions, in [radius, side - radius], and velocities of all discs."""

    position: Array
    """[2]: the agent's position."""
    velocity: Array
    """[2]"""
    ball_position: Array
    """[10, 2]"""
    ball_velocity: Array
    """[10, 2]"""
    present: Array
    """[10]: False if the ball has vanished."""
    announced: Array
    """True after `A_F` was emitted."""


def begin(world: WaterWorld, numbers: Array, xp: Any) -> Water:
    """Place all discs at random, the agent at rest; `numbers` are [START_NUMBERS]."""
    positions = world.radius + world.inner * numbers[: 2 + 2 * BALLS].reshape(1 + BALLS, 2)
    heading = xp.float32(6.2831855) * numbers[2 + 2 * BALLS :]
    velocity = world.ball_speed * xp.stack((xp.cos(heading), xp.sin(heading)), axis=-1)
    return Water(
        positions[0],
        xp.zeros_like(positions[0]),
        positions[1:],
        velocity,
        numbers[:BALLS] >= 0.0,
        numbers[0] < 0.0,
    )


def advance(
    world: WaterWorld, water: Water, push: Array, numbers: Array, xp: Any
) -> tuple[Water, Array]:
    """Make a step; return the next state and the number of the label.

    Args:
        world: The box.
        water: The state.
        push: [2], each in [-1, 1].
        numbers: [STEP_NUMBERS] random numbers.
        xp: NumPy or jax.numpy.
    """
    velocity = water.velocity + world.acceleration * push
    speed = xp.sqrt((velocity * velocity).sum(axis=-1, keepdims=True))
    velocity = velocity * xp.minimum(
        xp.float32(1), world.top_speed / xp.maximum(speed, xp.float32(1e-6))
    )
    position, velocity = _bounce(world, water.position + world.interval * velocity, velocity, xp)
    ball_position, ball_velocity = _bounce(
        world, water.ball_position + world.interval * water.ball_velocity, water.ball_velocity, xp
    )
    offset = ball_position - position
    number = xp.arange(BALLS)
    touching = water.present & ((offset * offset).sum(axis=-1) < 4 * world.radius * world.radius)
    announces = ~water.present[2:].any() & ~water.announced
    first = xp.where(touching, number, BALLS).min()
    touched = (number == first) & ~announces
    label = xp.where(announces, ALL_FOUND, (touched * xp.asarray(EMITTED, xp.int32)).sum())
    jumped = world.radius + world.inner * numbers
    ball_position = xp.where((touched & (number < 2))[:, None], jumped, ball_position)
    present = water.present & ~(touched & (number >= 2))
    announced = water.announced | announces
    return Water(position, velocity, ball_position, ball_velocity, present, announced), label


def observe(world: WaterWorld, water: Water, xp: Any) -> Array:
    """[44]: the agent's position and velocity, then each ball's relative to it, in about [-1, 1].

    A vanished ball has zeros.
    """
    agent = xp.concatenate(
        (water.position / (world.side / 2) - 1, water.velocity / world.top_speed)
    )
    offset = (water.ball_position - water.position) / world.side
    velocity = (water.ball_velocity - water.velocity) / (world.top_speed + world.ball_speed)
    balls = xp.where(water.present[:, None], xp.concatenate((offset, velocity), axis=-1), 0)
    return xp.concatenate((agent, balls.reshape(-1))).astype(xp.float32)


def _bounce(world: WaterWorld, position: Array, velocity: Array, xp: Any) -> tuple[Array, Array]:
    """Reflect positions beyond a wall, and their velocities."""
    low, high = world.radius, world.side - world.radius
    below = position < low
    above = position > high
    position = xp.where(above, 2 * high - position, position)
    position = xp.where(below, 2 * low - position, position)
    return position, xp.where(below | above, -velocity, velocity)
