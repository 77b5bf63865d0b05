"""docs/images/bench-*.svg: the records in docs/benchmarks/ as pictures.

Each ends in a comment with a digest of what it shows, by which a test knows one that is out of date: the bytes of a picture
also depend on the version of Matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from pages.bench_plots import Axis, Bar, Curve, curve_plot, ratio_plot, share_plot
from pages.benchmarks import GPU, records
from pdrm.bench.analysis_bench import NAMES, grown
from pdrm.bench.bench_tables import Figures, numbers, three_digits
from pdrm.drawing.plots import growth_plot, plot_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SB3, PYCRM, STORM = "Stable-Baselines3", "PyCRM", "Storm"
BESIDE_SB3 = {"": "SB3's defaults", "_64_envs": "64 environments", "_paper": "the paper's settings"}
SOLVED = {"letter": 0, "brackets": 2}
"""Tasks that Storm solves too -> the number of its colour, which is that in the picture of growth."""


class Picture(NamedTuple):
    """A picture before it is drawn."""

    draw: Callable[..., Figure]
    shown: tuple[Any, ...]
    """What it is given."""

    @property
    def digest(self) -> str:
        """Of what it shows."""
        return sha256(repr(self.shown).encode()).hexdigest()[:16]

    def svg(self) -> bytes:
        """The picture with its digest."""
        return plot_bytes(self.draw(*self.shown), "svg") + f"<!-- shows {self.digest} -->\n".encode()


def pictures() -> dict[str, Picture]:
    """File name in docs/images/ -> the picture."""
    found = {name: record.figures for name, record in records().items()}
    tabular, analysis = found["tabular"], found["analysis"]
    drawn = {
        "bench-ratios.svg": Picture(ratio_plot, (ratios(tabular, analysis, found["deep-cpu"]),)),
        "bench-heights.svg": Picture(curve_plot, heights(tabular)),
        "bench-updates.svg": Picture(curve_plot, updates(tabular)),
        "bench-solve.svg": Picture(curve_plot, solved(analysis)),
        "bench-growth.svg": Picture(growth_plot, (grown(analysis),)),
    }
    shares = {name: Picture(share_plot, deep_shares(found[name])) for name in ("deep-cpu", GPU) if name in found}
    return drawn | {f"bench-{name}.svg": picture for name, picture in shares.items()}


def ratios(tabular: Figures, analysis: Figures, deep: Figures) -> list[Bar]:
    """How many times as fast as the peer each is."""
    bars = [
        Bar("Q-learning", PYCRM, tabular["q_steps_ratio"]),
        Bar("CpRM, updates", PYCRM, tabular["cprm_updates_ratio"]),
    ]
    bars += [Bar(f"PPO, {words}", SB3, deep[f"sb3_ppo_ratio{name}"]) for name, words in BESIDE_SB3.items()]
    for task in SOLVED:
        worst = max(analysis[f"storm_time_ratio_{task}_{size}"] for size in NAMES)
        bars.append(Bar(f"values of {task}", STORM, 1 / worst))
    return bars


def heights(figures: Figures) -> tuple[list[Curve], Axis]:
    """What a step costs by the height of the stack."""
    points = [(float(height), figures[f"height_cost_{height}"]) for height in numbers(figures, "height_cost_")]
    return [Curve("a step", points)], Axis("stack height", "ns a step of Q-learning", from_zero=True)


def updates(figures: Figures) -> tuple[list[Curve], Axis]:
    """Updates a step by episodes, for each choice of counterfactuals."""
    curves = []
    for number, choice in enumerate(("exhaustive", "co_observed", "deduplicated")):
        prefix = f"updates_{choice}_"
        points = [(float(count), figures[f"{prefix}{count}"]) for count in numbers(figures, prefix)]
        curves.append(Curve(choice.replace("_", "-"), points, number))
    return curves, Axis("episodes", "updates a step")


def solved(figures: Figures) -> tuple[list[Curve], Axis]:
    """Seconds by states, ours and Storm's."""
    curves = []
    for task, colour in SOLVED.items():
        for figure, who in (("solve_s", "pdrm"), ("storm_s", "Storm")):
            points = [(figures[f"states_{task}_{size}"], figures[f"{figure}_{task}_{size}"]) for size in NAMES]
            curves.append(Curve(f"{task}, {who}", points, colour, dashed=who == "Storm"))
    return curves, Axis("states", "seconds to values within 1e-6")


def deep_shares(figures: Figures) -> tuple[dict[str, dict[str, float]], str]:
    """Where a training step's time goes, by the number of environments."""
    bars = {}
    for count in numbers(figures, "many_ppo_collect_ns_", "_envs"):
        parts = {
            "collecting": figures[f"many_ppo_collect_ns_{count}_envs"],
            "learning, 2 epochs": 2 * figures[f"many_ppo_epoch_ns_{count}_envs"],
        }
        bars[f"{count:,} environments,\n{three_digits(sum(parts.values()))} ns a step"] = parts
    return bars, "share of PPO's time"
