"""The report of a study of one's own: a picture of all panels, and a page that needs nothing."""

import re

import pytest

from pdrm.experiments.panel import Line, Panel
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study, run_study
from pdrm.paper.report import write_own_report
from tests.experiments.small import SHORT

LINES = (Line(name="1-pdRM", agent="q"), Line(name="a & b", agent="q", k="full"))
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
    assert write_own_report(outcome.lines, Store.below(place), place) == [
        place / "curves.svg",
        place / "index.html",
    ]
    return place


def test_every_panel_is_in_the_picture(folder):
    drawn = (folder / "curves.svg").read_text()
    assert len(re.findall(r'<g id="axes_\d+">', drawn)) == 3
    for text in ("Letters", "maze", "paint", "1-pdRM", "a &amp; b"):
        assert f"<!-- {text} -->" in drawn


def test_the_page_has_the_final_results_and_nothing_of_the_papers(folder):
    page = (folder / "index.html").read_text()
    assert "<h1>my study</h1>" in page
    assert page.count("95 % interval") >= 3
    assert "mapped" not in page
    assert "All: ." not in page
    assert "<td>a &amp; b</td><td>full</td>" in page
    assert re.search(r"\d of 2 \(\d+ %\)</td>", page)
    for word in ("dashed", "claims", "make reproduce"):
        assert word not in page
    assert set(re.findall(r'href="(?!#|data)([^"]+)"', page)) == {
        "curves.csv",
        "summary.csv",
        "curves.svg",
    }
    for name in re.findall(r'href="(?!#|data)([^"]+)"', page):
        assert (folder / name).exists()
    assert {path.name for path in (folder / "figures").glob("*.png")} == {
        "letter-s.png",
        "maze.png",
        "paint.png",
    }
