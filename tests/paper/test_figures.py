"""The paper's figures as data, and the recordings that come with the package."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import pdrm
from docs.scripts.record_runs import keep_record
from pdrm.errors import NotRecorded
from pdrm.experiments.curves import Store, curves_of
from pdrm.experiments.panel import AgentLine
from pdrm.experiments.study import run_study
from pdrm.files import ensure_folder
from pdrm.paper import recorded
from pdrm.paper.figures import EVERY, STUDIES, study

TABULAR = [study(name) for name in STUDIES]


def test_every_agent_of_the_paper_has_the_same_ten_seeds():
    counts = {
        panel.name: sum(not line.ours for line in panel.lines)
        for of in TABULAR
        for panel in of.panels
    }
    assert counts == {
        "letter": 6,
        "maze-5x5": 6,
        "maze-10x10": 6,
        "maze-20x20": 6,
        "multi-10x10": 2,
        "multi-20x20": 2,
        "deliver-8": 9,
        "deliver-4-8": 6,
        "paint": 5,
    }
    assert {of.seeds for of in TABULAR} == {tuple(range(10))}


@pytest.mark.parametrize("name", EVERY)
def test_every_line_of_the_paper_can_be_built(name):
    for panel, line, spec in study(name).seeded(1).runs():
        if panel.domain.startswith("water"):
            assert spec.agent.deep
            continue
        spec.check()
        assert ("ours" in line.name) == line.ours
        timed = getattr(spec.agent, "seconds_per_episode", None) is not None
        assert timed == (name == "maze-wall-clock"), "other runs do not depend on the computer"


def test_a_recording_contains_the_means_of_the_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded, "FOLDER", ensure_folder(tmp_path / "recorded"))
    line = AgentLine(name="summary", agent="summary", settings={"episodes": 2})
    panel = replace(study("ours").panels[0], lines=(line,))
    short = replace(study("ours"), name="kept", seeds=2, panels=(panel,))
    store = Store.below(tmp_path / "report")
    with pytest.raises(NotRecorded):
        keep_record(short, store, "all", "pdrm reproduce", "a core")
    run_study(short, Path(tmp_path / "report"))
    keep_record(short, store, "all", "pdrm reproduce", "a core")
    kept = recorded.recorded_curves(short, panel, line)
    made = curves_of(panel, line, short.seed_numbers, store)
    assert (kept.unit, kept.seeds, kept.at.tolist()) == ("episodes", (0, 1), made.at.tolist())
    assert kept.returns[:, :, 0].tolist() == made.returns.mean(axis=2).tolist()
    about = json.loads(next(recorded.FOLDER.glob("*.json")).read_text())
    assert (kept.recorded_on, about["version"]) == ("a core", pdrm.__version__)
