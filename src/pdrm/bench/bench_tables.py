"""The figures of `pdrm bench` as tables: for the terminal here, and for the page of benchmarks.

What there is to show is read off the figures' names, so that a record shows what was measured when it was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

Figures = dict[str, float]


class Grid(NamedTuple):
    """A table: the heads of its columns, and its rows; the first column says what a row is about."""

    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def numbers(figures: Figures, before: str, after: str = "") -> list[int]:
    """The numbers in the names of some figures, in order.

    >>> numbers({"height_cost_10": 1.0, "height_cost_ratio": 1.0, "height_cost_1000": 1.0}, "height_cost_")
    [10, 1000]
    """
    found = (re.fullmatch(rf"{before}(\d+){after}", name) for name in figures)
    return sorted({int(match[1]) for match in found if match})


def beside_pycrm(figures: Figures) -> Grid:
    """Speeds on LetterEnv, ours and PyCRM's."""
    rows = [
        (title, f"{figures[ours]:,.0f}", f"{figures[peer]:,.0f}", f"{figures[ratio]:,.0f}×")
        for title, ours, peer, ratio in (
            ("Q-learning, steps a second", "q_steps_per_s", "peer_q_steps_per_s", "q_steps_ratio"),
            ("CpRM / CQL, updates a second", "cprm_updates_per_s", "peer_cql_updates_per_s", "cprm_updates_ratio"),
        )
    ]
    for title, ours in (
        ("Q-learning, k = 1", "q_steps_per_s_top_1"),
        ("CpRM, k = 1, deduplicated", "cprm_updates_per_s_top_1"),
    ):
        rows.append((title, f"{figures[ours]:,.0f}", "", ""))
    return Grid(("LetterEnv, one core", "pdrm", "PyCRM", "ratio"), rows)


def heights(figures: Figures) -> Grid:
    """What a step costs with the stack at a height."""
    rows = [(f"{height:,}", f"{figures[f'height_cost_{height}']:.1f}") for height in numbers(figures, "height_cost_")]
    return Grid(("stack height", "ns a step"), [*rows, ("highest / lowest", f"{figures['height_cost_ratio']:.2f}")])


def updates(figures: Figures) -> Grid:
    """Updates a step, by the choice of counterfactuals."""
    counts = numbers(figures, "updates_exhaustive_")
    rows = [
        (choice.replace("_", "-"), *(f"{figures[f'updates_{choice}_{count}']:,.0f}" for count in counts))
        for choice in ("exhaustive", "deduplicated", "co_observed")
    ]
    return Grid(("updates a step after", *(f"{count:,} episodes" for count in counts)), rows)


def beside_storm(figures: Figures) -> Grid:
    """What solving a product costs, ours and Storm's."""
    heads = ("values to within 1e-6", "states", "components", "build, s", "bytes a state", "solve, s", "Storm, s")
    rows = []
    for name in figures:
        match = re.fullmatch(r"bound_(\w+)_(small|middle|large)", name)
        if match is None:
            continue
        one = {figure: figures[f"{figure}_{match[1]}_{match[2]}"] for figure in SHOWN}
        counts = (f"{one[figure]:,.0f}" for figure in ("states", "components"))
        seconds = (f"{one[figure]:.3g}" for figure in ("solve_s", "storm_s", "storm_time_ratio", "storm_unsound_s"))
        each = (f"{one['build_s']:.3g}", f"{one['bytes_per_state']:.0f}")
        rows.append((f"{match[1]}, stacks up to {figures[name]:,.0f}", *counts, *each, *seconds))
    return Grid((*heads, "ratio", "Storm unsound, s"), rows)


SHOWN = (
    "states",
    "components",
    "build_s",
    "bytes_per_state",
    "solve_s",
    "storm_s",
    "storm_time_ratio",
    "storm_unsound_s",
)


def growth(figures: Figures) -> Grid:
    """States and seconds to solve, by the bound of the stack."""
    found = [re.fullmatch(r"growth_states_(\w+)_(\d+)", name) for name in figures]
    tasks = list(dict.fromkeys(match[1] for match in found if match))
    rows = []
    for height in sorted({int(match[2]) for match in found if match}):
        names = (f"{task}_{height}" for task in tasks)
        cells = (
            f"{figures[f'growth_states_{name}']:,.0f}; {figures[f'growth_solve_s_{name}']:.2g} s"
            if f"growth_states_{name}" in figures
            else ""
            for name in names
        )
        rows.append((f"{height:,}", *cells))
    return Grid(("stacks up to", *tasks), rows)


SETTINGS = {
    "": "its defaults, 1 environment",
    "_64_envs": "64 environments, batches of 2,048, 4 epochs",
    "_paper": "the paper's: 5 environments, batches of 3,000, 30 epochs",
}
"""Suffix of a comparison's figures -> the settings of both sides, in words."""


def beside_sb3(figures: Figures) -> Grid:
    """PPO's training steps a second on WaterWorld, ours and Stable-Baselines3's; empty where there was no peer."""
    rows = [
        (
            words,
            f"{figures[f'ppo_steps_per_s{name}']:,.0f}",
            f"{figures[f'sb3_ppo_steps_per_s{name}']:,.0f}",
            f"{figures[f'sb3_ppo_ratio{name}']:.1f}×",
            f"{100 * figures[f'sb3_env_share{name}']:.0f} %",
        )
        for name, words in SETTINGS.items()
        if f"sb3_ppo_ratio{name}" in figures
    ]
    return Grid(("PPO, steps a second", "pdrm", "SB3", "ratio", "SB3's time in its environment"), rows)


def random_steps(figures: Figures) -> Grid:
    """Steps a second without a learner."""
    counts = numbers(figures, "random_steps_per_s_", "_envs")
    rows = [(f"{count:,}", f"{figures[f'random_steps_per_s_{count}_envs']:,.0f}") for count in counts]
    return Grid(("environments", "random steps a second"), rows)


def many_environments(figures: Figures) -> Grid:
    """PPO with many environments: speeds by the epochs, and where the time goes."""
    counts = numbers(figures, "many_ppo_collect_ns_", "_envs")
    epochs = numbers(figures, f"many_ppo_steps_per_s_{counts[0]}_envs_", "_epochs") if counts else []
    rows = [
        (
            f"{count:,} environments",
            *(f"{figures[f'many_ppo_steps_per_s_{count}_envs_{epoch}_epochs']:,.0f}" for epoch in epochs),
            *(three_digits(figures[f"many_ppo_{part}_ns_{count}_envs"]) for part in ("collect", "epoch")),
        )
        for count in counts
    ]
    speeds = (f"{epoch} epoch{'s' if epoch > 1 else ''}" for epoch in epochs)
    return Grid(("PPO, steps a second", *speeds, "collecting, ns a step", "an epoch, ns a step"), rows)


def three_digits(value: float) -> str:
    """A number as one reads it.

    >>> three_digits(2063.7), three_digits(14.72)
    ('2,064', '14.7')
    """
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"


TABLES: dict[str, tuple[Callable[[Figures], Grid], ...]] = {
    "tabular": (beside_pycrm, heights, updates),
    "analysis": (beside_storm, growth),
    "deep": (beside_sb3, random_steps, many_environments),
}


def notes(name: str, figures: Figures) -> list[str]:
    """What no table holds, in words."""
    if name == "tabular":
        costs = (f"{figures[f'wrap_cost_us{form}']:.1f}" for form in ("", "_flat", "_number"))
        return [
            f"pdrm.wrap adds {' / '.join(costs)} µs a step to FrozenLake (dictionary / flat / number)",
            f"{figures['bytes_per_row']:.0f} bytes a table row (maze-20x20, whole stack, 4 actions)",
        ]
    if name == "analysis":
        differ = f"values differ by {figures['storm_difference']:.1e} at most"
        return [f"worst ratio {figures['storm_time_ratio']:.2f}; {differ}"]
    return []


def print_tables(name: str, figures: Figures) -> None:
    """A bench's tables and notes on the terminal; those without rows are left out."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for make in TABLES[name]:
        grid = make(figures)
        if grid.rows:
            table = Table(*grid.heads, box=None, header_style="bold")
            for row in grid.rows:
                table.add_row(*row)
            console.print(table, "")
    for note in notes(name, figures):
        console.print(note)
    console.print()
