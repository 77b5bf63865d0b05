"""Studies as data: their runs, their order, and their errors."""

from dataclasses import replace
from pathlib import Path

import pytest

import pdrm
from pdrm.errors import (
    BadSetting,
    BadStudy,
    CannotOpen,
    PdrmError,
    UnknownMachine,
    UnknownStudy,
    WrongKind,
)
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.study import Study, plan
from pdrm.language.loading import catalogue_text
from pdrm.learning.run_folder import MAX_SEEDS
from pdrm.paper.figures import figures
from tests.experiments.small import small_study


def test_figures_by_name():
    assert [len(study.panels) for study in figures(["deliver", "maze-10x10"])] == [2, 1]
    twice = figures(["maze-5x5", "maze", "maze-10x10"])
    assert [panel.name for study in twice for panel in study.panels] == [
        "maze-5x5",
        "maze-10x10",
        "maze-20x20",
    ]
    with pytest.raises(UnknownStudy, match="letters"):
        figures(["letters"])


def test_a_shared_run_is_planned_once():
    study = small_study()
    assert len(plan([study, study])) == len(plan([study])) == 6


def test_seeds_can_be_fewer_or_more():
    study = small_study(seeds=(3, 1))
    assert study.seeded(1).seeds == (3,)
    assert study.seeded(4).seeds == (3, 1, 0, 2)
    with pytest.raises(BadStudy):
        study.seeded(0)


@pytest.mark.parametrize("count", [MAX_SEEDS + 1, 99_999_999_999])
def test_too_many_seeds_are_refused(count):
    with pytest.raises(BadStudy, match="seeds"):
        small_study().seeded(count)
    with pytest.raises(BadStudy, match="seeds"):
        small_study(seeds=tuple(range(MAX_SEEDS + 1)))


def panel_with(machine):
    return Panel(
        name="own", domain="letter", lines=(AgentLine(name="a", agent="q"),), machine=machine
    )


def test_a_machine_can_be_given_in_any_form(tmp_path, monkeypatch):
    text = catalogue_text("letter")
    (tmp_path / "task.pdrm").write_text(text)
    monkeypatch.chdir(tmp_path)
    forms = [
        panel_with(form)
        for form in (text, "letter", "task.pdrm", Path("task.pdrm"), tmp_path / "task.pdrm")
    ]
    assert len({panel.specs(panel.lines[0], (0,))[0].id for panel in forms}) == 1
    (tmp_path / "task.pdrm").unlink()  # what was read is kept
    assert forms[2].task.success == pdrm.catalogue("letter").final
    assert panel_with(pdrm.catalogue("letter")).task == forms[0].task


@pytest.mark.parametrize(
    ("machine", "error"), [("nest.pdrm", CannotOpen), ("lettr", UnknownMachine), (7, BadSetting)]
)
def test_an_invalid_machine_is_refused_before_anything_runs(machine, error, tmp_path):
    with pytest.raises(error):
        Study(name="one", panels=(panel_with(machine),)).run(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_error_in_a_machine_has_the_location_in_its_file(tmp_path):
    path = tmp_path / "typo.pdrm"
    path.write_text(catalogue_text("letter").replace("stack", "stak", 1))
    with pytest.raises(PdrmError) as raised:
        Study(name="one", panels=(panel_with(str(path)),)).check()
    assert {error.where.file for error in raised.value.errors} == {str(path)}


@pytest.mark.parametrize("seeds", [(), (1, 1), (-1,), [1.5], [True], "3", 0, True])
def test_bad_seeds_are_refused(seeds):
    with pytest.raises(BadStudy):
        small_study(seeds)


def test_names_must_differ():
    line = AgentLine(name="a", agent="q")
    with pytest.raises(BadStudy, match="lines"):
        Study(name="s", panels=(Panel(name="p", domain="letter", lines=(line, line)),))
    with pytest.raises(BadStudy, match="panels"):
        Study(name="s", panels=())


def test_tasks_times_agents_times_seeds():
    study = Study(
        ["letter", pdrm.Task("maze-5x5")],
        [pdrm.QLearning(k=1), "cprm", pdrm.PPO(k="none")],
        seeds=2,
    )
    assert [panel.name for panel in study.panels] == ["letter", "maze-5x5"]
    assert [line.name for line in study.panels[0].lines] == ["q 1", "cprm", "ppo none"]
    assert len(plan([study])) == 12
    named = {
        spec.agent.learning_rate
        for panel, line, spec in study.runs()
        if line.name == "cprm" and panel.name == "letter"
    }
    assert named == {0.01}  # an agent by name has the paper's settings


def test_lines_are_named_after_differing_settings_or_by_a_dictionary():
    rates = [pdrm.CpRM(k=1, learning_rate=rate) for rate in (0.1, 0.5)]
    lines = Study("letter", [*rates, pdrm.CpRM(k=2), "q"], seeds=1).panels[0].lines
    assert [line.name for line in lines] == [
        "cprm 1, learning_rate=0.1",
        "cprm 1, learning_rate=0.5",
        "cprm 2",
        "q",
    ]
    study = Study(
        {"short": "letter", "long": pdrm.Task("maze-5x5")},
        {"slow": rates[0], "fast": "cprm"},
        seeds=1,
    )
    assert [(panel.name, panel.task.name) for panel in study.panels] == [
        ("short", "letter"),
        ("long", "maze-5x5"),
    ]
    assert [line.name for line in study.panels[0].lines] == ["slow", "fast"]
    two = Study(["letter", pdrm.Task("letter", "letter-counting")], "q")
    assert [panel.name for panel in two.panels] == ["letter, letter", "letter-counting, letter"]
    with pytest.raises(BadStudy, match="cprm 1, cprm 1"):
        Study("letter", [pdrm.CpRM(), pdrm.CpRM()])


def test_swapped_tasks_and_agents_are_detected():
    for tasks, agents in (
        ([pdrm.CpRM()], ["letter"]),
        ("letter", [pdrm.Task("letter")]),
    ):
        with pytest.raises(WrongKind):
            Study(tasks, agents)


def test_lines_that_no_seed_solves_are_named_once(tmp_path, capsys):
    """At the end and below the table, unless a seed succeeds, the study is the paper's, or progress is off."""
    hopeless, fine = pdrm.QLearning(k=0, episodes=300), pdrm.CpRM(k=1, episodes=2_000)
    study = Study(["maze-10x10"], [hopeless, fine], seeds=2)
    capsys.readouterr()
    results = study.run(tmp_path)
    (note,) = results.notes
    assert note.startswith("`q 0` on maze-10x10: no seed solves it")
    assert capsys.readouterr().err.count(note) == 1
    assert str(results.table()).endswith(note)
    assert "no seed solves it" in results._repr_html_()
    assert study.run(tmp_path, progress=False).notes == (note,)
    assert "no seed" not in capsys.readouterr().err
    assert not replace(
        results, lines=[(replace(study, figure="Figure 1"), results.lines[0][1])]
    ).notes
