"""A folder says which studies it is about: what is read from it asks for the very same runs."""

from pathlib import Path

import pytest

from pdrm.domains import grid_domain, parse_map
from pdrm.errors import BadRunFolder
from pdrm.experiments.panel import Line, Panel
from pdrm.experiments.store import Store
from pdrm.experiments.study import STUDIES, Study, load_studies, recorded, run_study, save_studies
from pdrm.paper.figures import figures
from pdrm.paper.report import write_page
from tests.experiments.small import SHORT, small_study

TASK = "name task\nevents key\nstack #\nstart go\nfinal done\notherwise stay 0\ngo -> done : key, z / z, 1\n"


def own_study():
    """A domain and a machine of one's own."""
    rooms = parse_map("#####\n#@.k#\n#####", places="@k", start="@")
    domain = grid_domain("rooms", rooms, {"k": "key"}, step_limit=20)
    lines = (
        Line(name="hier", agent="hrm", colour="red"),
        Line(name="all", agent="q", k="full", ours=True),
    )
    panel = Panel(
        name="own",
        domain=domain,
        machine=TASK,
        title="Rooms",
        success=("done",),
        lines=lines,
        settings=SHORT,
    )
    return Study(name="mine", title="Mine", panels=(panel,), seeds=(3, 1))


@pytest.mark.parametrize("study", [small_study(), own_study()], ids=["catalogue", "own"])
def test_what_is_kept_asks_for_the_same_runs(study, tmp_path):
    outcome = run_study(study, tmp_path)
    (again,) = load_studies(tmp_path, Store.below(tmp_path))
    assert (again.name, again.title, again.seeds) == (study.name, study.title, study.seeds)
    assert [spec.id for _, _, spec in again.runs()] == [spec.id for _, _, spec in study.runs()]
    lines = [curves for _, curves in recorded([again], Store.below(tmp_path))]
    for curves, (_, before) in zip(lines, outcome.lines, strict=True):
        assert (curves.line.name, curves.line.key, curves.line.ours) == (
            before.line.name,
            before.line.key,
            before.line.ours,
        )
        assert (curves.panel.name, curves.panel.title, curves.panel.task.success) == (
            before.panel.name,
            before.panel.title,
            before.panel.task.success,
        )
        assert (curves.success == before.success).all()


def test_the_papers_studies_are_known_without(tmp_path):
    store = Store.below(tmp_path)
    save_studies([small_study()], tmp_path, store)
    assert (tmp_path / STUDIES).exists()
    save_studies(figures([]), tmp_path, store)
    assert not list(tmp_path.iterdir())
    assert load_studies(tmp_path, store) == []


def test_a_domain_that_is_gone_leaves_nothing(tmp_path):
    save_studies([own_study()], tmp_path, Store.below(tmp_path))
    assert load_studies(tmp_path, Store.below(tmp_path)) == []


@pytest.mark.parametrize("text", ["{", "[1]", '[{"name": "a", "seeds": [0], "panels": [{}]}]'])
def test_a_damaged_file_is_told(text, tmp_path):
    (tmp_path / STUDIES).write_text(text)
    with pytest.raises(BadRunFolder, match="damaged"):
        load_studies(tmp_path, Store.below(tmp_path))


def test_studies_in_one_folder_keep_their_tables_and_reports(tmp_path):
    """A study of the same name replaces the one before."""
    settings = {"episodes": 100, "k": 1}
    tables = Study("letter", "q", seeds=1, settings=settings)
    named = Study("echo", "q", seeds=1, settings=settings, name="named")
    for study in (tables, named):
        study.run(tmp_path)
    rows = (tmp_path / "curves.csv").read_text()
    assert [word in rows for word in ("study,letter,q,", "named,echo,q,")] == [True] * 2
    for study, domain in ((tables, "letter"), (named, "echo")):
        page = study.report(tmp_path).read_text()
        assert [f">{name}</h3>" in page for name in ("letter", "echo")] == [
            name == domain for name in ("letter", "echo")
        ]
    whole = write_page(tmp_path).read_text()
    assert all(f">{name}</h3>" in whole for name in ("letter", "echo"))
    Study("letter", ["q", "cprm"], seeds=2, settings=settings).run(tmp_path)
    kept = load_studies(tmp_path, Store.below(tmp_path))
    assert [(one.name, len(list(one.runs()))) for one in kept] == [("study", 4), ("named", 1)]


def test_a_study_runs_in_a_folder_of_its_own_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = Study("letter", "q", seeds=1, settings={"episodes": 100}, name="mine")
    assert study.run().folder == study.results().folder == Path("mine")
    assert study.report() == Path("mine/index.html")
