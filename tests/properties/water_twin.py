"""WaterWorld in JAX is WaterWorld in NumPy: from the same state, with the same push and random numbers, one step leads to the
same state, observation and label, up to the rounding of 32-bit numbers.

Where a step is within that rounding of a wall or of touching a ball, the two may rightly differ: it is counted apart.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pdrm.domains.water import (
    PUSHES,
    START_NUMBERS,
    STEP_NUMBERS,
    Water,
    WaterWorld,
    advance,
    begin,
    observe,
)

STEPS = 5_000
EPISODE = 250
"""Steps before everything starts again: by then many balls are gone from a small box."""
WORLDS = (
    WaterWorld(side=17),
    WaterWorld(side=20),
    WaterWorld(side=5),
    WaterWorld(side=6, continuous=True),
)
CLOSE = 1e-5
"""Of places and velocities, which are up to 20."""
EDGE = 1e-4
"""Of a squared distance or a place: closer to the edge than this, rounding decides."""


def check(seed: int, steps: int = STEPS) -> Counter[str]:
    """Follow one box in NumPy, and take each of its steps in JAX too."""
    world, drawn = WORLDS[seed % len(WORLDS)], np.random.default_rng(seed)
    numbers = drawn.random((steps, STEP_NUMBERS), dtype=np.float32)
    pushes = drawn.uniform(-1, 1, (steps, 2)).astype(np.float32)
    if not world.continuous:
        pushes = np.array(PUSHES, np.float32)[drawn.integers(len(PUSHES), size=steps)]
    before, after, labels = followed(world, drawn, pushes, numbers)
    twins, twin_labels, seen = map(
        jax.device_get, _program(world)(_stacked(before), pushes, numbers)
    )
    counted = Counter[str]()
    for t, (now, then, label) in enumerate(zip(before, after, labels, strict=True)):
        if on_edge(world, now, pushes[t]):
            counted["too close to an edge to compare"] += 1
            continue
        twin = Water(*(field[t] for field in twins))
        said = f"seed {seed}, step {t} of {world}\nfrom {now}\nby {pushes[t]} {numbers[t]}\nto {then} {label}\nor {twin}"
        assert label == twin_labels[t], f"{said} {twin_labels[t]}"
        assert _alike(then, twin), said
        assert np.abs(observe(world, then, np) - seen[t]).max() <= CLOSE, f"{said}\nseen {seen[t]}"
        counted.update({"cases": 1, "with an event": int(label != 0)})
    return counted


def followed(
    world: WaterWorld,
    drawn: np.random.Generator,
    pushes: np.ndarray[Any, Any],
    numbers: np.ndarray[Any, Any],
) -> tuple[list[Water], list[Water], list[int]]:
    """States before and after each step, and the labels, by NumPy."""
    before, after, labels = list[Water](), list[Water](), list[int]()
    for t in range(len(pushes)):
        if t % EPISODE == 0:
            now = begin(world, drawn.random(START_NUMBERS, dtype=np.float32), np)
        before.append(now)
        now, label = advance(world, now, pushes[t], numbers[t], np)
        after.append(now)
        labels.append(int(label))
    return before, after, labels


def on_edge(world: WaterWorld, water: Water, push: np.ndarray[Any, Any]) -> bool:
    """Whether rounding decides what happens in a step, by 64-bit numbers."""
    place, velocity, ball_position, ball_velocity = (
        np.asarray(field, np.float64) for field in water[:4]
    )
    velocity = velocity + world.acceleration * push
    velocity = velocity * min(1.0, world.top_speed / max(float(np.linalg.norm(velocity)), 1e-6))
    moved = np.vstack(
        [place + world.interval * velocity, ball_position + world.interval * ball_velocity]
    )
    walls = np.abs(np.stack([moved - world.radius, moved - (world.side - world.radius)]))
    low, high = world.radius, world.side - world.radius
    moved = np.where(moved < low, 2 * low - moved, np.where(moved > high, 2 * high - moved, moved))
    touching = np.abs(((moved[1:] - moved[0]) ** 2).sum(axis=1) - 4 * world.radius**2)
    return bool(walls.min() < EDGE or touching.min() < EDGE)


@cache
def _program(world: WaterWorld) -> Any:
    def one(now: Water, push: Any, numbers: Any) -> Any:
        after, label = advance(world, now, push, numbers, jnp)
        return after, label, observe(world, after, jnp)

    return jax.jit(jax.vmap(one))


def _stacked(states: list[Water]) -> Water:
    return Water(*(np.stack(field) for field in zip(*states, strict=True)))


def _alike(one: Water, other: Water) -> bool:
    close = all(np.abs(a - b).max() <= CLOSE for a, b in zip(one[:4], other[:4], strict=True))
    return (
        close
        and np.array_equal(one.present, other.present)
        and bool(one.announced == other.announced)
    )
