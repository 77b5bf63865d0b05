"""Draw the pictures of the documentation into docs/images: `python -m docs.scripts.pictures`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pdrm
from docs.scripts.autoencode import autoencode_plot
from docs.scripts.concepts import formulas, shown
from docs.scripts.concepts.counterfactual import counterfactual_plot
from docs.scripts.concepts.labels import labels_plot
from docs.scripts.concepts.product import product_plot
from docs.scripts.concepts.run import run_plot
from docs.scripts.concepts.views import views_plot
from docs.scripts.water import water_plot
from pdrm.drawing.plots import episode_plot, plot_bytes, study_plot, witness_plot

DOCS = Path(__file__).parent.parent
IMAGES = DOCS / "images"
README = DOCS.parent / "README.md"


def readme_machine() -> pdrm.PushdownRewardMachine:
    """The machine of the README's own task."""
    found = re.search(r'pdrm\.parse\("""(.+?)"""\)', README.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return pdrm.parse(found[1], "letter")


def main() -> None:
    """Draw every picture."""
    rows = (formulas.TRACE, formulas.rows(formulas.FUTURE), formulas.rows(formulas.PAST))
    machines = {
        "letter": readme_machine(),
        "trace": shown.MACHINE.run("d d+t u u+x"),
        "concept-machine": shown.MACHINE,
        "concept-formula": formulas.task(),
        "concept-combined": formulas.combination(),
    }
    for name, machine in machines.items():
        pdrm.draw(machine, IMAGES / f"{name}.svg")
    figures = {
        "autoencode": autoencode_plot(),
        "concept-run": run_plot(shown.moments()),
        "concept-labels": labels_plot(*shown.labels(steps=4)),
        "concept-product": product_plot(*shown.moment(steps=6)),
        "concept-episode": episode_plot(*shown.episode("maze-10x10")),
        "concept-views": views_plot(*shown.views()),
        "witness-maze-5x5": witness_plot(*shown.witness(k=2)),
        "concept-counterfactual": counterfactual_plot(*shown.counterfactuals(steps=6)),
        "concept-formulas": formulas.formulas_plot(*rows),
        "water-printed": water_plot("water"),
        "water-tuned": water_plot("water-tuned"),
        "water-strict": water_plot("water-strict"),
        "water-off-policy": water_plot("water-off-policy"),
        "concept-curves": study_plot([[curves.to_plot() for curves in shown.trained()]]),
    }
    for name, figure in figures.items():
        (IMAGES / f"{name}.svg").write_bytes(plot_bytes(figure, "svg"))
        sys.stdout.write(f"drew docs/images/{name}.svg\n")


if __name__ == "__main__":
    main()
