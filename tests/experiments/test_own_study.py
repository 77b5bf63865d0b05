"""The report of a study of one's own: a picture of all panels, and a page that needs nothing."""

import re
from functools import partial

import numpy as np
import pytest

from pdrm.drawing.plots import CurveLine, panel_plot
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.study import Study, run_study
from pdrm.experiments.study_report import figure_svg
from tests.experiments.small import SHORT

LINES = (AgentLine(name="1-pdRM", agent="q"), AgentLine(name="a & b", agent="q", k="full"))
PANELS = (
    Panel(name="letter/s", domain="letter", lines=LINES, settings=SHORT, title="Letters"),
    Panel(name="maze", domain="maze-5x5", lines=LINES[:1], settings=SHORT, success=("home",)),
    Panel(name="paint", domain="paint", lines=LINES[:1], settings=SHORT),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("own")
    study = Study(name="my study", panels=PANELS, seeds=(0, 1))
    outcome = run_study(study, place)
    assert outcome.report() == place / "index.html"
    return place


def test_every_panel_is_in_the_picture(folder):
    drawn = (folder / "curves.svg").read_text()
    assert len(re.findall(r'<g id="axes_\d+">', drawn)) == 3
    for text in ("Letters", "maze", "paint", "1-pdRM", "a &amp; b"):
        assert f"<!-- {text} -->" in drawn


def test_a_figure_is_drawn_again_only_when_its_numbers_have_changed(folder, tmp_path):
    def line(value):
        numbers = np.array([value])
        return CurveLine("a", "p", "episodes", np.array([10]), numbers, numbers, numbers)

    made = []
    for value in (0.5, 0.5, 0.25):
        lines = [line(value)]

        def draw(lines):
            made.append(lines)
            return panel_plot(lines)

        assert figure_svg(tmp_path / "one", partial(draw, lines)).startswith(b"<?xml")
    assert len(made) == 2
