"""docs/summaries.json and the measured tables of docs/summaries.md: what summaries take, and what the agent `summary` does beside others.

Each part of the record is a command, and goes on where it was stopped (FOLDER: where runs are kept; not given: a folder in .measured):

    python -m pages.summary_study growth               # `pdrm solve` as the maze grows
    python -m pages.summary_study mazes [FOLDER]       # `pdrm reproduce ours`, which is also kept in the package
    python -m pages.summary_study deliveries [FOLDER]  # four deliveries in training, up to a thousand in tests

The mazes of 5, 10 and 20 are the catalogue's; that of 40 is made here, from a seed, with the share of floor that the one of 20 has.
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import numpy as np

import pdrm
from pages.benchmarks import markdown
from pdrm.bench.bench_display import Grid
from pdrm.domains.finite_domain import FLOOR, WALL, FiniteDomain
from pdrm.experiments.curves import Curves, curves_of
from pdrm.experiments.paper.paper_figures import FOUND, SUMMARY
from pdrm.experiments.paper.recorded import keep_record
from pdrm.experiments.store import Store
from pdrm.experiments.study import run_study
from pdrm.files import write_atomically
from pdrm.learning.agents import agent_for
from pdrm.learning.settings import Agent
from pdrm.machines.configurations import Configuration
from pdrm.task import Task

DOCS = Path(__file__).parent.parent / "docs"
RECORD, PAGE = DOCS / "summaries.json", DOCS / "summaries.md"
MEASURED = DOCS.parent / ".measured" / "summaries"
PARTS = ("mazes", "deliveries")
"""Of the page, each between two comments."""

# --- What solving takes as the maze grows

SIZES = (5, 10, 20, 40)
SEED = 0
AWAY = 48
"""Steps to the treasure of the maze that is made: twice as many as in the one of 20."""
LOOPS = 0.08
"""Of the walls between two corridors, how many are open besides."""


def make_maze(size: int, seed: int = SEED) -> FiniteDomain:
    """A maze of that size: corridors that lead everywhere, some loops, the treasure a given number of steps away."""
    random, rows = Random(seed), [[WALL] * size for _ in range(size)]
    inner = range(1, size - 1)
    stack = [(1, 1)]
    rows[1][1] = FLOOR
    while stack:
        row, column = stack[-1]
        ways = [
            (row + 2 * i, column + 2 * j, row + i, column + j)
            for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0))
        ]
        ways = [
            way
            for way in ways
            if way[0] in inner and way[1] in inner and rows[way[0]][way[1]] == WALL
        ]
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
    row, column = random.choice(
        [cell for cell, steps in far.items() if steps == min(AWAY, max(far.values()))]
    )
    rows[row][column] = "t"
    kept = {*far}
    text = "\n".join(
        "".join(sign if sign == WALL or (r, c) in kept else WALL for c, sign in enumerate(line))
        for r, line in enumerate(rows)
    )
    grid = pdrm.domains.parse_map(text, places="tx", start="x")
    return pdrm.domains.grid_domain(
        f"maze-{size}x{size}",
        grid,
        {"t": "t", "x": "x"},
        step_limit=600,
        directions=True,
        machine="treasure-maze",
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


def measure_growth(_folder: Path) -> list[dict[str, Any]]:
    """Solve all mazes, with everything compiled."""
    for size in SIZES[:2]:  # compiles; the smallest needs no more room, so not everything
        measure(size)
    return [measure(size) for size in SIZES]


# --- The mazes: study `ours`, 10 seeds, beside 1-CpRM

MAZES = ("maze", "multi")


def find_first(curves: Curves) -> list[int | None]:
    """[seed]: the training episodes before the first test all of whose episodes achieve the task; None: there is none."""
    achieved = (curves.success == 1).all(axis=2)
    return [int(curves.at[seed.argmax()]) if seed.any() else None for seed in achieved]


def find_needed(curves: Curves) -> list[int | None]:
    """[seed]: the training episodes after which every episode of every test achieves the task; None: the last test does not."""
    achieved = (curves.success == 1).all(axis=2)
    found: list[int | None] = []
    for seed in achieved:
        failed = np.flatnonzero(~seed)
        first = 0 if not len(failed) else int(failed[-1]) + 1
        found.append(int(curves.at[first]) if first < len(seed) else None)
    return found


def measure_mazes(folder: Path) -> list[dict[str, Any]]:
    """Run the study, keep its runs in the package, and say of every run how many episodes it needed, and what it took."""
    outcome, store = run_study(FOUND, folder), Store.below(folder)
    if outcome.failures:
        raise SystemExit(f"{len(outcome.failures)} runs failed: {outcome.failures[0].sentence}")
    device = f"one core of {platform.machine()}, Python {platform.python_version()}"
    keep_record(FOUND, store, "summary", "python -m pages.summary_study mazes", device)
    found = []
    for panel, line in FOUND.lines():
        curves = curves_of(panel, line, FOUND.seed_numbers, store)
        if curves is None or not panel.task.name.startswith(MAZES):
            continue
        runs = [store.run(spec) for spec in curves.specs]
        found.append(
            {
                "task": panel.task.name,
                "line": line.name,
                "episodes": int(curves.at[-1]),
                "test_every": int(curves.at[1] - curves.at[0]),
                "first": find_first(curves),
                "needed": find_needed(curves),
                "numbers": [
                    _count_numbers(run.result, len(panel.task.finite.actions)) for run in runs
                ],
                "processor_seconds": [run.timing["processor_seconds"] for run in runs],
            }
        )
    return found


def _count_numbers(result: dict[str, Any], actions: int) -> int:
    """Numbers in memory: of a table, the values of its rows alone."""
    return int(result["numbers"]) if "numbers" in result else int(result["rows"]) * actions


def mazes_table(rows: list[dict[str, Any]]) -> str:
    """Both agents on each maze."""
    heads = ("task", "agent", "first achieved after", "achieved for good after", "seeds that end so",
             "numbers in memory, at most", "processor seconds")  # fmt: skip
    lines = []
    for row in rows:
        name = "`summary`" if row["line"] == SUMMARY else "1-CpRM"
        achieved = f"{sum(count is not None for count in row['needed'])} of {len(row['needed'])}"
        seconds = f"{statistics.median(row['processor_seconds']):.1f}"
        counts = (_say_counts(row[what]) for what in ("first", "needed"))
        lines.append((row["task"], name, *counts, achieved, f"{max(row['numbers']):,}", seconds))
    return markdown(Grid(heads, lines))


def _say_counts(counts: list[int | None]) -> str:
    """The median, and from the least to the most; a seed that never got there is later than all others."""
    ordered = sorted(float("inf") if count is None else count for count in counts)
    middle, least, most = (
        "never" if count == float("inf") else f"{count:,.1f}".removesuffix(".0")
        for count in (statistics.median(ordered), ordered[0], ordered[-1])
    )
    return f"{middle} ({least} to {most})"


# --- Deliveries: four in training, many in tests

TRAINED_ON = "deliver-4-8"
COUNTS = {8: 10, 100: 5, 1_000: 1}
"""Deliveries of a test -> random sequences of that length for each seed."""
SEEDS = 3
DEPTHS: tuple[int | str, ...] = (0, 1, 2, 3, "full")
DISCOUNT = 0.99
STEPS = 50
"""For each delivery, after which a test is cut off: the optimum takes fewer than 5."""


def list_agents(task: Task) -> dict[str, Agent]:
    """Name -> settings: `summary`, and Q-learning and CpRM with each k, as the paper sets them for this task."""
    found: dict[str, Agent] = {"summary": agent_for(task, "summary", {"episodes": 10})}
    for k in DEPTHS:
        for agent, name in (("q", "pdRM"), ("cprm", "CpRM")):
            found[name if k == "full" else f"{k}-{name}"] = agent_for(task, agent, {"k": k})
    return found


def deliver(
    policy: Any, solution: pdrm.analysis.Solution, count: int, seed: int, *, check: bool
) -> dict[str, Any]:
    """One random sequence with a policy: its discounted return, the optimum, and how it went. check: compare every action with the solver's."""
    task, random = solution.task, Random(f"{seed} {count}")
    machine, domain = task.pushdown, task.finite
    places = [symbol for symbol in machine.stack if symbol != machine.stack[0]]
    stack = (*random.choices(places, k=count), machine.stack[0])
    s, state = int(domain.arrays.start_state[0]), "deliver"
    optimum, paid, weight, steps, wrong = solution.value(s, state, stack), 0.0, 1.0, 0, 0
    while state not in machine.final and steps < STEPS * count:
        values = policy.values(s, state, stack)
        action = random.choice(np.flatnonzero(values == values.max()).tolist())
        wrong += check and domain.actions[action] not in solution.actions(s, state, stack)
        step = machine.step(
            Configuration(state, stack), domain.labels[domain.arrays.label[s, action, 0]]
        )
        paid += weight * (float(domain.arrays.reward[s, action, 0]) + step.reward)
        s, state, stack = int(domain.arrays.next[s, action, 0]), step.after.state, step.after.stack
        weight, steps = weight * DISCOUNT, steps + 1
    return {
        "return": paid,
        "optimum": optimum,
        "steps": steps,
        "finished": state in machine.final,
        "wrong": wrong,
    }


def measure_deliveries(folder: Path) -> list[dict[str, Any]]:
    """Train every agent on four deliveries, test it on more."""
    task = Task(TRAINED_ON)
    solution, found = pdrm.solve(task, discount=DISCOUNT), []
    for name, agent in list_agents(task).items():
        for count, sequences in COUNTS.items():
            tests: list[dict[str, Any]] = []
            for seed in range(SEEDS):
                policy = pdrm.train(task, agent, seed=seed, folder=folder).policy
                numbers = range(1_000 * seed, 1_000 * seed + sequences)
                tests += [
                    deliver(policy, solution, count, number, check=name == "summary")
                    for number in numbers
                ]
            lost = [1 - test["return"] / test["optimum"] for test in tests]
            row = {
                "agent": name,
                "deliveries": count,
                "sequences": len(tests),
                "finished": sum(test["finished"] for test in tests),
                "steps": sum(test["steps"] for test in tests),
                "lost_median": statistics.median(lost),
                "lost_most": max(lost),
                "not_optimal": sum(test["wrong"] for test in tests) if name == "summary" else None,
            }
            found.append(row)
            sys.stdout.write(f"{row}\n")
            sys.stdout.flush()
    return found


def deliveries_table(rows: list[dict[str, Any]]) -> str:
    """A row for each agent, and for each length how many sequences it finished and what it lost."""
    heads = [
        "agent",
        *(
            f"{count:,} deliveries: finished; of the optimum lost, median (most)"
            for count in COUNTS
        ),
    ]
    lines = []
    for name in dict.fromkeys(row["agent"] for row in rows):
        cells = [_say_lost(row) for row in rows if row["agent"] == name]
        lines.append((f"`{name}`" if name == "summary" else name, *cells))
    own = [row for row in rows if row["not_optimal"] is not None]
    steps, wrong = sum(row["steps"] for row in own), sum(row["not_optimal"] for row in own)
    said = (
        f"Of the {steps:,} actions of `summary` in these tests, {wrong:,} were not among those that `pdrm solve` proves optimal; "
        f"its return differs from the optimum by at most {max(abs(row['lost_most']) for row in own):.0e} of it."
    )
    return f"{markdown(Grid(tuple(heads), lines))}\n\n{said}"


def _say_lost(row: dict[str, Any]) -> str:
    lost = [0.0 if abs(row[name]) < 1e-9 else row[name] for name in ("lost_median", "lost_most")]
    said = [f"{share:.1%}".replace("%", " %") if share else "0" for share in lost]
    return f"{row['finished']} of {row['sequences']}; {said[0]} ({said[1]})"


# --- The record and the page

MEASURES: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "growth": measure_growth,
    "mazes": measure_mazes,
    "deliveries": measure_deliveries,
}
TABLES: dict[str, Callable[[list[dict[str, Any]]], str]] = {
    "mazes": mazes_table,
    "deliveries": deliveries_table,
}


def read_record() -> dict[str, list[dict[str, Any]]]:
    """What was measured, by part."""
    found: dict[str, list[dict[str, Any]]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def summaries_page() -> str:
    """The page, with the tables as the record has them."""
    text, record = PAGE.read_text(encoding="utf-8"), read_record()
    for part in PARTS:
        begin, end = (
            f"<!-- {part}: written by python -m pages summaries.md -->",
            f"<!-- end of {part} -->",
        )
        before, after = text.partition(begin)[0], text.partition(end)[2]
        text = f"{before}{begin}\n{TABLES[part](record[part])}\n{end}{after}"
    return text


if __name__ == "__main__":
    part = sys.argv[1]
    place = Path(sys.argv[2]) if len(sys.argv) > 2 else MEASURED / part
    record = {**read_record(), part: MEASURES[part](place)}
    write_atomically(RECORD, (json.dumps(record, indent=1) + "\n").encode())
    sys.stdout.write(
        f"wrote {RECORD.name}: python -m pages summaries.md concepts writes the page and its pictures\n"
    )
