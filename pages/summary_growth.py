"""docs/summaries.json: what `pdrm solve` takes and keeps as the maze grows; `python -m pages.summary_growth` measures it anew.

The mazes of 5, 10 and 20 are the catalogue's; that of 40 is made here, from a seed, with the share of floor that the one of 20 has.
"""

from __future__ import annotations

import json
import sys
from collections import deque
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pdrm
from pdrm.domains.finite_domain import FLOOR, WALL, FiniteDomain
from pdrm.task import Task

RECORD = Path(__file__).parent.parent / "docs" / "summaries.json"
SIZES = (5, 10, 20, 40)
SEED = 0
AWAY = 48
"""Steps to the treasure of the maze that is made: twice as many as in the one of 20."""
LOOPS = 0.08
"""Of the walls between two corridors, how many are open besides."""


def make_maze(size: int, seed: int = SEED) -> FiniteDomain:
    """A maze of that size: corridors that lead everywhere, some loops, the treasure a given number of steps away."""
    random, rows = Random(seed), [[WALL] * size for _ in range(size)]  # noqa: S311 - a maze is no secret
    inner = range(1, size - 1)
    stack = [(1, 1)]
    rows[1][1] = FLOOR
    while stack:
        row, column = stack[-1]
        ways = [(row + 2 * i, column + 2 * j, row + i, column + j) for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0))]
        ways = [way for way in ways if way[0] in inner and way[1] in inner and rows[way[0]][way[1]] == WALL]
        if not ways:
            stack.pop()
            continue
        row, column, between_row, between_column = random.choice(ways)
        rows[row][column] = rows[between_row][between_column] = FLOOR
        stack.append((row, column))
    for row in inner:
        for column in inner:
            if rows[row][column] == WALL and (row + column) % 2 and random.random() < LOOPS:
                rows[row][column] = FLOOR
    rows[0][1] = "x"
    far = walk(rows, (0, 1))
    row, column = random.choice([cell for cell, steps in far.items() if steps == min(AWAY, max(far.values()))])
    rows[row][column] = "t"
    kept = {*far}
    text = "\n".join(
        "".join(sign if sign == WALL or (r, c) in kept else WALL for c, sign in enumerate(line))
        for r, line in enumerate(rows)
    )
    grid = pdrm.domains.parse_map(text, places="tx", start="x")
    return pdrm.domains.grid_domain(
        f"maze-{size}x{size}", grid, {"t": "t", "x": "x"}, step_limit=600, directions=True, machine="treasure-maze"
    )


def walk(rows: list[list[str]], start: tuple[int, int]) -> dict[tuple[int, int], int]:
    """The steps to every cell that can be reached."""
    steps, todo = {start: 0}, deque([start])
    while todo:
        row, column = todo.popleft()
        for there in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            inside = 0 <= there[0] < len(rows) and 0 <= there[1] < len(rows)
            if inside and rows[there[0]][there[1]] != WALL and there not in steps:
                steps[there] = steps[row, column] + 1
                todo.append(there)
    return steps


def measure(size: int) -> dict[str, Any]:
    """Solve one maze, with everything compiled."""
    task = Task(f"maze-{size}x{size}" if size < max(SIZES) else make_maze(size))
    begun = process_time()
    solution = pdrm.solve(task)
    error = solution.relative_error
    return {
        "size": size,
        "cells": task.finite.states,
        "seconds": round(process_time() - begun, 3),
        "value": solution.start_value,
        "relative_error": error,
        **solution.size._asdict(),
    }


if __name__ == "__main__":
    measure(min(SIZES))  # compiles
    found = [measure(size) for size in SIZES]
    RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(RECORD.read_text(encoding="utf-8"))
