"""docs/images/: the pictures of the Concepts pages, each of what the library says now.

As with the benches' pictures, each ends in a comment with a digest of what it shows, by which a test knows one that is out
of date.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import NamedTuple

import pdrm
from pages.bench_pictures import Picture
from pages.concepts import formulas, shown, summaries
from pages.concepts.counterfactual import counterfactual_plot
from pages.concepts.labels import labels_plot
from pages.concepts.product import product_plot
from pages.concepts.run import run_plot
from pages.concepts.seeds import seeds_plot
from pages.concepts.trade import trade_plot
from pages.concepts.views import views_plot
from pdrm.drawing.curve_plots import panel_plot
from pdrm.drawing.graphviz import render_dot, to_dot
from pdrm.drawing.plots import episode_plot, sizes_plot, witness_plot
from pdrm.drawing.render import run_to_dot


class GraphPicture(NamedTuple):
    """A machine or a run as `pdrm draw` draws it, in Graphviz's language."""

    dot: str

    @property
    def digest(self) -> str:
        """Of the graph."""
        return sha256(self.dot.encode()).hexdigest()[:16]

    def svg(self) -> bytes:
        """The picture with its digest."""
        return render_dot(self.dot, "svg") + f"<!-- shows {self.digest} -->\n".encode()


@cache
def pictures() -> dict[str, Picture | GraphPicture]:
    """File name in docs/images/ -> the picture."""
    curves = shown.trained()
    return {
        "letter.svg": GraphPicture(to_dot(pdrm.catalogue("letter"))),
        "trace.svg": GraphPicture(
            run_to_dot(shown.MACHINE.run(pdrm.language.parse_word("d d+t u u+x")))
        ),
        "concept-machine.svg": GraphPicture(to_dot(shown.MACHINE)),
        "concept-run.svg": Picture(run_plot, (shown.moments(),)),
        "concept-labels.svg": Picture(labels_plot, shown.labels(steps=4)),
        "concept-product.svg": Picture(product_plot, shown.moment(steps=6)),
        "concept-episode.svg": Picture(episode_plot, shown.episode("maze-10x10")),
        "concept-views.svg": Picture(views_plot, shown.views()),
        "concept-trade.svg": Picture(trade_plot, shown.trade()),
        "witness-maze-5x5.svg": Picture(witness_plot, shown.witness(k=2)),
        "sizes-maze-10x10.svg": Picture(sizes_plot, (shown.sizes("maze-10x10"),)),
        "concept-counterfactual.svg": Picture(counterfactual_plot, shown.counterfactuals(steps=6)),
        "concept-formula.svg": GraphPicture(to_dot(formulas.task())),
        "concept-formulas.svg": Picture(
            formulas.formulas_plot,
            (formulas.TRACE, formulas.rows(formulas.FUTURE), formulas.rows(formulas.PAST)),
        ),
        "concept-combined.svg": GraphPicture(to_dot(formulas.combination())),
        "summary-lines.svg": Picture(summaries.lines_plot, summaries.shown_lines()),
        "summary-composition.svg": Picture(
            summaries.composition_plot, summaries.shown_composition()
        ),
        "summary-growth.svg": Picture(summaries.growth_plot, summaries.growth()),
        "summary-mazes.svg": Picture(summaries.mazes_plot, summaries.mazes()),
        "summary-deliveries.svg": Picture(summaries.deliveries_plot, summaries.deliveries()),
        "concept-curves.svg": Picture(
            lambda *_: panel_plot([one.to_plot() for one in curves]),
            tuple(map(shown.tested, curves)),
        ),
        "concept-seeds.svg": Picture(seeds_plot, shown.tested(curves[0])),
    }
