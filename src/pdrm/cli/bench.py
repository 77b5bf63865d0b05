"""`pdrm bench`: what things cost, measured here and now, interleaved with the peers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pdrm.cli.output import next_command, print_json
from pdrm.errors import BadSetting, did_you_mean

if TYPE_CHECKING:
    from pdrm.experiments.bench_tabular import Figures

BENCHES = ("tabular",)


def bench(
    what: Annotated[str, typer.Argument(help="tabular; without one, all there are.")] = "",
    seconds: Annotated[float, typer.Option(help="How long to measure beside the peer, about.")] = 20.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Measure speed, in turns with PyCRM (pyrewardmachines).

    Example: pdrm bench tabular --seconds 20
    """
    from rich.console import Console

    from pdrm.experiments.bench_tabular import bench_tabular

    if what and what not in BENCHES:
        raise BadSetting(f"there is no bench `{what}`", fix=did_you_mean(what, BENCHES))
    with Console(stderr=True).status("measuring") as status:
        figures = bench_tabular(seconds, lambda part: status.update(f"measuring: {part}"))
    if as_json:
        print_json({name: float(f"{value:.6g}") for name, value in figures.items()})
        return
    print_tabular(figures)
    next_command("pdrm bench tabular --json")


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
