"""How results are shown: rows as tables, on the terminal and on the page of benchmarks, and growth as a plot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from pdrm.bench.bench_record import Record
from pdrm.bench.bench_rows import Row, points

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Grid(NamedTuple):
    """A table: the heads of its columns, and its lines; the first column says what a line is about."""

    heads: tuple[str, ...]
    lines: Sequence[tuple[str, ...]]


class Table(NamedTuple):
    """How rows are shown as a table: patterns that are filled with a row's coordinates and figures."""

    corner: str
    lines: Sequence[tuple[str, dict[str, str]]]
    """First cell and, by the heads of their columns, the others; for rows that have all that the patterns name."""

    def fill(self, rows: Iterable[Row]) -> Grid:
        """The table of some rows; cells with the same first cell stand in one line.

        >>> table = Table("fruit", [("{fruit}", {"{colour}": "{number:.0f}"})])
        >>> table.fill([Row({"fruit": "apple", "colour": colour}, {"number": 2}) for colour in ("red", "green")])
        Grid(heads=('fruit', 'red', 'green'), lines=[('apple', '2', '2')])
        """
        found: dict[str, dict[str, str]] = {}
        for row in rows:
            fields = {
                name: WORDS.get((name, at), at) for name, at in row.about.items()
            } | row.figures
            for first, cells in self.lines:
                try:
                    filled = {
                        head.format_map(fields): cell.format_map(fields)
                        for head, cell in cells.items()
                    }
                    found.setdefault(first.format_map(fields), {}).update(filled)
                except KeyError:
                    continue
        heads = list(dict.fromkeys(chain.from_iterable(found.values())))
        return Grid(
            (self.corner, *heads),
            [(first, *(cells.get(head, "") for head in heads)) for first, cells in found.items()],
        )


WORDS: dict[tuple[str, str | int], str] = {
    ("form", ""): "dictionary",
    ("settings", ""): "its defaults, 1 environment",
    ("settings", "64_envs"): "64 environments, batches of 2,048, 4 epochs",
    ("settings", "paper"): "the paper's: 5 environments, batches of 3,000, 30 epochs",
}
"""Coordinates that a table says in other words."""

Q = {
    "pdrm": "{q_steps_per_s:,.0f}",
    "PyCRM": "{peer_q_steps_per_s:,.0f}",
    "ratio": "{q_steps_ratio:,.0f}×",
}
CPRM = {
    "pdrm": "{cprm_updates_per_s:,.0f}",
    "PyCRM": "{peer_cql_updates_per_s:,.0f}",
    "ratio": "{cprm_updates_ratio:,.0f}×",
}
SPEEDS = [
    ("Q-learning, steps per second", Q),
    ("CpRM / CQL, updates per second", CPRM),
    ("Q-learning, k = 1", {"pdrm": "{q_steps_per_s_top_1:,.0f}"}),
    ("CpRM, k = 1, deduplicated", {"pdrm": "{cprm_updates_per_s_top_1:,.0f}"}),
]
SOLVED = {
    "states": "{states:,}",
    "components": "{components:,}",
    "build, s": "{build_s:.3g}",
    "bytes per state": "{bytes_per_state:.0f}",
    "solve, s": "{solve_s:.3g}",
    "Storm, s": "{storm_s:.3g}",
    "ratio": "{storm_time_ratio:.3g}",
    "Storm unsound, s": "{storm_unsound_s:.3g}",
}
BESIDE_SB3 = {
    "pdrm": "{ppo_steps_per_s:,.0f}",
    "SB3": "{sb3_ppo_steps_per_s:,.0f}",
    "ratio": "{sb3_ppo_ratio:.1f}×",
    "SB3's time in its environment": "{sb3_env_share:.0%}",
}
MANY = "{envs:,} environments"
TIMES = {
    "collecting, ns per step": "{many_ppo_collect_ns:,.2f}",
    "epoch, ns per step": "{many_ppo_epoch_ns:,.2f}",
}
TABLES = {
    "pycrm": Table("LetterEnv, one core", SPEEDS),
    "heights": Table("stack height", [("{height:,}", {"ns per step": "{height_cost:.1f}"})]),
    "updates": Table(
        "updates per step after", [("{choice}", {"{episodes:,} episodes": "{updates:,.0f}"})]
    ),
    "wrap": Table("pdrm.wrap on FrozenLake", [("{form}", {"µs per step": "{wrap_cost_us:.1f}"})]),
    "storm": Table("values to within 1e-6", [("{task}, stacks up to {bound:,}", SOLVED)]),
    "growth": Table(
        "stacks up to", [("{height:,}", {"{task}": "{growth_states:,}; {growth_solve_s:.2g} s"})]
    ),
    "sb3": Table("PPO beside SB3, steps per second", [("{settings}", BESIDE_SB3)]),
    "random": Table(
        "environments", [("{envs:,}", {"random steps per second": "{random_steps_per_s:,.0f}"})]
    ),
    "ppo": Table(
        "PPO, steps per second",
        [(MANY, {"epochs: {epochs}": "{many_ppo_steps_per_s:,.0f}"}), (MANY, TIMES)],
    ),
}
NOTES = (
    "the most expensive height costs {height_cost_ratio:.2f} times the cheapest",
    "{bytes_per_row:.0f} bytes per table row (maze-20x20, whole stack, 4 actions)",
    "worst ratio {storm_time_ratio:.2f}; values differ by {storm_difference:.1e} at most",
)


def print_tables(record: Record) -> None:
    """Print a record's tables and notes; those that it has nothing for are left out."""
    from rich.console import Console
    from rich.table import Table as Shown

    console = Console(highlight=False)
    for table in TABLES.values():
        heads, lines = table.fill(record.rows)
        if lines:
            shown = Shown(*heads, box=None, header_style="bold")
            for line in lines:
                shown.add_row(*line)
            console.print(shown, "")
    for note in NOTES:
        with suppress(KeyError):
            console.print(note.format_map(record.figures))
    console.print()


def plot_growth(rows: Sequence[Row]) -> Figure:
    """States on the left, seconds on the right (solid to solve, dashed to build), by the bound of the stack; logarithmic.

    >>> figures = {"growth_states": 5, "growth_build_s": 0.001, "growth_solve_s": 0.001}
    >>> [axes.get_ylabel() for axes in plot_growth([Row({"task": "maze", "height": 2}, figures)]).axes]
    ['states', 'seconds']
    """
    from matplotlib.figure import Figure

    from pdrm.drawing.plots import COLOURS

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    tasks = dict.fromkeys(str(row.about["task"]) for row in rows if "growth_states" in row.figures)
    for colour, task in zip(COLOURS, tasks, strict=False):
        for axes, name, label, line in (
            (left, "growth_states", task, "-"),
            (right, "growth_solve_s", f"{task}: solve", "-"),
            (right, "growth_build_s", f"{task}: build", "--"),
        ):
            drawn = zip(*points(rows, "height", name, task=task), strict=True)
            axes.plot(*drawn, label=label, color=colour, linestyle=line, marker="o", markersize=3)
    for axes, what in ((left, "states"), (right, "seconds")):
        axes.set(xscale="log", yscale="log", xlabel="highest stack", ylabel=what)
        axes.grid(visible=True, color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small")
    return figure
