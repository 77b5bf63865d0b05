"""Studies as data: their runs, their order, and what is refused."""

from pathlib import Path

import pytest

import pdrm
from pdrm.errors import BadSetting, BadStudy, CannotOpen, PdrmError, UnknownMachine, UnknownStudy
from pdrm.experiments.execution import Planned, chains, planned
from pdrm.experiments.paper.paper_figures import ON_REQUEST, STUDIES, figures
from pdrm.experiments.study import MOST_SEEDS, Line, Panel, Study
from pdrm.language.loading import catalogue_text
from tests.experiments.small import small_study


def test_every_agent_of_the_paper_is_there_with_the_same_ten_seeds():
    counts = {panel.name: sum(not line.ours for line in panel.lines) for study in STUDIES for panel in study.panels}
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
    assert {study.seeds for study in STUDIES} == {tuple(range(10))}


@pytest.mark.parametrize("study", [*STUDIES, *ON_REQUEST], ids=lambda study: study.name)
def test_every_line_of_the_paper_can_be_built(study):
    for panel, line, spec in study.seeded(1).runs():
        training = spec.training()
        assert set(panel.success) <= {state.partition("@")[0] for state in training.machine.final}
        assert ("ours" in line.name) == line.ours


def test_only_the_runs_with_a_limit_of_time_depend_on_the_machine():
    timed = {study.name for study in (*STUDIES, *ON_REQUEST) for _, _, spec in study.seeded(1).runs()
             if spec.settings.seconds_per_episode is not None}  # fmt: skip
    assert timed == {"maze-wall-clock"}


def test_budgets_stand_for_the_papers_limits():
    by_line = {(panel.name, line.name): spec.settings for panel, line, spec in figures(["maze"], 1)[0].runs()}
    assert by_line["maze-5x5", "CpRM"].updates_per_episode == 30_000
    assert by_line["maze-10x10", "1-CpRM"].updates_per_episode == 60_000
    assert by_line["maze-20x20", "Q-CRA"].operations_per_episode == 100_000
    assert by_line["maze-20x20", "pdRM"].updates_per_episode is None


def test_figures_by_name():
    assert [len(study.panels) for study in figures(["deliver", "maze-10x10"])] == [2, 1]
    twice = figures(["maze-5x5", "maze", "maze-10x10"])
    assert [panel.name for study in twice for panel in study.panels] == ["maze-5x5", "maze-10x10", "maze-20x20"]
    with pytest.raises(UnknownStudy, match="letters"):
        figures(["letters"])


def test_a_run_that_two_studies_share_is_planned_once():
    study = small_study()
    assert len(planned([study, study])) == len(planned([study])) == 6


def test_seeds_can_be_fewer_or_more():
    study = small_study(seeds=(3, 1))
    assert study.seeded(1).seeds == (3,)
    assert study.seeded(4).seeds == (3, 1, 0, 2)
    with pytest.raises(BadStudy):
        study.seeded(0)


@pytest.mark.parametrize("count", [MOST_SEEDS + 1, 99_999_999_999])
def test_more_seeds_than_anyone_means_are_refused(count):
    with pytest.raises(BadStudy, match=f"{count:,} seeds"):
        small_study().seeded(count)
    with pytest.raises(BadStudy, match="seeds"):
        small_study(seeds=tuple(range(MOST_SEEDS + 1)))


def panel_with(machine):
    return Panel(name="own", domain="letter", lines=(Line(name="a", agent="q"),), machine=machine)


def test_a_machine_may_be_given_in_any_form(tmp_path, monkeypatch):
    text = catalogue_text("letter")
    (tmp_path / "task.pdrm").write_text(text)
    monkeypatch.chdir(tmp_path)
    forms = [panel_with(form) for form in (text, "letter", "task.pdrm", Path("task.pdrm"), tmp_path / "task.pdrm")]
    assert {panel.text for panel in forms} == {text}
    assert {panel.specs(panel.lines[0], (0,))[0].id for panel in forms} == {
        forms[0].specs(forms[0].lines[0], (0,))[0].id
    }
    (tmp_path / "task.pdrm").unlink()  # what was read is kept
    assert forms[2].achieved() == pdrm.catalogue("letter").final
    given = panel_with(pdrm.catalogue("letter"))
    assert pdrm.parse(given.text) == pdrm.catalogue("letter")
    assert given.specs(given.lines[0], (0,))[0].training().machine == pdrm.catalogue("letter")


@pytest.mark.parametrize(("machine", "error"), [("nest.pdrm", CannotOpen), ("lettr", UnknownMachine), (7, BadSetting)])
def test_a_machine_that_is_none_is_refused_when_the_panel_is_made(machine, error):
    with pytest.raises(error):
        panel_with(machine)


def test_a_faulty_machine_is_told_by_its_own_file(tmp_path):
    path = tmp_path / "typo.pdrm"
    path.write_text(catalogue_text("letter").replace("stack", "stak", 1))
    with pytest.raises(PdrmError) as raised:
        panel_with(str(path))
    assert {error.where.file for error in raised.value.errors} == {str(path)}


@pytest.mark.parametrize("seeds", [(), (1, 1), (-1,)])
def test_bad_seeds_are_refused(seeds):
    with pytest.raises(BadStudy):
        small_study(seeds)


def test_names_must_differ():
    line = Line(name="a", agent="q")
    with pytest.raises(BadStudy, match="lines"):
        Study(name="s", panels=(Panel(name="p", domain="letter", lines=(line, line)),))
    with pytest.raises(BadStudy, match="panels"):
        Study(name="s", panels=())


def run(title, seconds, gigabytes):
    return Planned(None, title, seconds, gigabytes)


def test_the_longest_are_first_and_the_largest_never_side_by_side():
    runs = [
        run("light", 1, 0.3),
        run("large 1", 50, 10),
        run("long", 60, 0.3),
        run("large 2", 50, 10),
        run("mid", 5, 3),
    ]
    found = [[one.title for one in chain] for chain in chains(runs, workers=2, gigabytes=14)]
    assert found == [["large 1", "large 2"], ["long"], ["mid"], ["light"]]
    assert all(len(chain) == 1 for chain in chains(runs, workers=2, gigabytes=20))
    assert all(len(chain) == 1 for chain in chains(runs, workers=1, gigabytes=10))


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
@pytest.mark.parametrize("gigabytes", [6, 14, 30])
def test_chains_hold_every_run_once_within_the_memory(workers, gigabytes):
    runs = [run(str(number), number % 7, (0.3, 0.5, 2.8, 4.3, 10.8)[number % 5]) for number in range(40)]
    found = chains(runs, workers, gigabytes)
    assert sorted(int(one.title) for chain in found for one in chain) == list(range(40))
    worst = sum(sorted((max(one.gigabytes for one in chain) for chain in found), reverse=True)[:workers])
    least = 10.8 + (workers - 1) * 0.3  # the largest run beside the smallest ones: no order needs less
    assert worst <= max(gigabytes, least) + 1e-9
