"""The report of your own study: a plot of all panels, and a self-contained page."""

import re
from functools import partial

import gymnasium
import numpy as np
import pytest

import pdrm
from examples.double_q import DoubleQ
from pdrm.drawing.plots import CurveLine, study_plot
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.study import Study, run_study
from pdrm.experiments.study_report import figure_svg
from pdrm.learning.protocol import agent_for
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


def test_the_plot_has_every_panel(folder):
    drawn = (folder / "curves.svg").read_text()
    assert len(re.findall(r'<g id="axes_\d+">', drawn)) == 3
    for text in ("Letters", "maze", "paint", "1-pdRM", "a &amp; b"):
        assert f"<!-- {text} -->" in drawn


def test_lines_without_runs_are_noted(tmp_path):
    one, both = (
        Study("letter", agents, seeds=1, settings={"episodes": 20})
        for agents in ("q", ["q", "cprm"])
    )
    one.run(tmp_path)
    results = both.results(tmp_path)
    assert any("`cprm`" in note and "no run" in note for note in results.notes)
    assert "no run is recorded" in results.report().read_text()


def test_a_figure_is_redrawn_only_if_its_data_changed(folder, tmp_path):
    def line(value):
        numbers = [np.array([value])] * 3
        return CurveLine("a", "p", "episodes", np.array([10]), *numbers, "return", "a")

    made = []
    for value in (0.5, 0.5, 0.25):
        lines = [line(value)]

        def draw(lines):
            made.append(lines)
            return study_plot([lines])

        assert figure_svg(tmp_path / "one", partial(draw, lines)).startswith(b"<?xml")
    assert len(made) == 2


def test_the_page_draws_episodes_and_timesteps_separately(tmp_path):
    agents = [pdrm.QLearning(k=1, episodes=200), agent_for(DoubleQ(), {"total_timesteps": 200})]
    lake = pdrm.Task(
        lambda: gymnasium.make("FrozenLake-v1", is_slippery=False, render_mode="rgb_array"),
        "events goal\nstart u\nfinal done\notherwise stay 0\nu -> done : goal, 1",
        labels=lambda before, action, after, info: {"goal"} if after == 15 else set(),
        name="lake",
    )
    Study("letter", agents, seeds=1).run(tmp_path).report()
    drawn = (tmp_path / "figures" / "letter.svg").read_text()
    assert "<!-- training episodes -->" in drawn
    assert "<!-- training timesteps -->" in drawn
    assert Study(lake, agents[1], seeds=1).run(tmp_path / "own").report().exists()
    film = pdrm.train(lake, agents[1]).film(tmp_path / "lake.gif")
    assert (tmp_path / "lake.gif").read_bytes().startswith(b"GIF")
    assert film["steps"] > 0
