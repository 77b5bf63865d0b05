"""The figures of `pdrm bench` as small tables."""

from __future__ import annotations

Figures = dict[str, float]


def print_tabular(figures: Figures) -> None:
    """The figures as four small tables."""
    from rich.console import Console
    from rich.table import Table

    from pdrm.experiments.bench_tabular import EPISODES, HEIGHTS

    console = Console(highlight=False)
    peers = Table("LetterEnv, one core", "pdrm", "PyCRM", "ratio", box=None, header_style="bold")
    for title, ours, peer, ratio in (
        ("Q-learning, steps a second", "q_steps_per_s", "peer_q_steps_per_s", "q_steps_ratio"),
        ("CpRM / CQL, updates a second", "cprm_updates_per_s", "peer_cql_updates_per_s", "cprm_updates_ratio"),
    ):
        peers.add_row(title, f"{figures[ours]:,.0f}", f"{figures[peer]:,.0f}", f"{figures[ratio]:,.0f}×")
    peers.add_row("Q-learning, k = 1", f"{figures['q_steps_per_s_top_1']:,.0f}")
    peers.add_row("CpRM, k = 1, deduplicated", f"{figures['cprm_updates_per_s_top_1']:,.0f}")
    heights = Table("stack height", "ns a step", box=None, header_style="bold")
    for height in HEIGHTS:
        heights.add_row(f"{height:,}", f"{figures[f'height_cost_{height}']:.1f}")
    heights.add_row("highest / lowest", f"{figures['height_cost_ratio']:.2f}")
    updates = Table(
        "updates a step after", *(f"{count:,} episodes" for count in EPISODES), box=None, header_style="bold"
    )
    for choice in ("exhaustive", "deduplicated", "co_observed"):
        counts = (f"{figures[f'updates_{choice}_{count}']:,.0f}" for count in EPISODES)
        updates.add_row(choice.replace("_", "-"), *counts)
    for table in (peers, heights, updates):
        console.print(table, "")
    costs = (f"{figures[f'wrap_cost_us{form}']:.1f}" for form in ("", "_flat", "_number"))
    console.print(f"pdrm.wrap adds {' / '.join(costs)} µs a step to FrozenLake (dictionary / flat / number)")
    console.print(f"{figures['bytes_per_row']:.0f} bytes a table row (maze-20x20, whole stack, 4 actions)")


def print_analysis(figures: Figures) -> None:
    """The figures as two small tables: beside Storm, and growth."""
    from rich.console import Console
    from rich.table import Table

    from pdrm.experiments.bench_analysis import NAMES, SIZES, grown

    console = Console(highlight=False)
    heads = (
        "values to within 1e-6",
        "states",
        "components",
        "build, s",
        "bytes a state",
        "solve, s",
        "Storm, s",
        "ratio",
    )
    beside = Table(*heads, "Storm unsound, s", box=None, header_style="bold")
    for task, heights in SIZES.items():
        for name, height in zip(NAMES, heights, strict=True):
            one = {figure: figures[f"{figure}_{task}_{name}"] for figure in SHOWN}
            counts = (f"{one[figure]:,.0f}" for figure in ("states", "components"))
            seconds = (f"{one[figure]:.3g}" for figure in ("solve_s", "storm_s", "storm_time_ratio", "storm_unsound_s"))
            each = (f"{one['build_s']:.3g}", f"{one['bytes_per_state']:.0f}")
            beside.add_row(f"{task}, stacks up to {height:,}", *counts, *each, *seconds)
    growth = Table("stacks up to", *grown(figures), box=None, header_style="bold")
    rows = {task: {one.height: one for one in found} for task, found in grown(figures).items()}
    for height in sorted({height for found in rows.values() for height in found}):
        cells = (found.get(height) for found in rows.values())
        growth.add_row(f"{height:,}", *(f"{one.states:,}; {one.solve_s:.2g} s" if one else "" for one in cells))
    console.print(beside, "")
    console.print(f"worst ratio {figures['storm_time_ratio']:.2f}; ", end="")
    console.print(f"values differ by {figures['storm_difference']:.1e} at most\n")
    console.print(growth)


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
