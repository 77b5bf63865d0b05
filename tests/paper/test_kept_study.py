"""A folder stores its studies: loading them gives exactly the same runs."""

import pytest

from pdrm.domains import grid_domain, parse_map
from pdrm.errors import BadRunFolder
from pdrm.experiments.curves import Store
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.study import (
    STUDIES,
    Study,
    load_studies,
    recorded_lines,
    run_study,
    save_studies,
)
from pdrm.paper.figures import figures
from tests.experiments.small import SHORT, small_study

TASK = "name task\nevents key\nstack #\nstart go\nfinal done\notherwise stay 0\ngo -> done : key, z / z, 1\n"


def own_study():
    """Your own domain and machine."""
    rooms = parse_map("#####\n#@.k#\n#####", places="@k", start="@")
    domain = grid_domain("rooms", rooms, {"k": "key"}, step_limit=20)
    lines = (
        AgentLine(name="hier", agent="hrm", colour="red"),
        AgentLine(name="all", agent="q", k="full", ours=True),
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
def test_a_loaded_study_has_the_same_runs(study, tmp_path):
    outcome = run_study(study, tmp_path)
    (again,) = load_studies(tmp_path)
    assert (again.name, again.title, again.seeds) == (study.name, study.title, study.seeds)
    assert [spec.id for _, _, spec in again.runs()] == [spec.id for _, _, spec in study.runs()]
    lines = [curves for _, curves in recorded_lines([again], Store.below(tmp_path))]
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


def test_the_papers_studies_need_no_file(tmp_path):
    save_studies([small_study()], tmp_path)
    assert (tmp_path / STUDIES).exists()
    save_studies(figures([]), tmp_path)
    assert not list(tmp_path.iterdir())
    assert load_studies(tmp_path) == []


def test_a_study_without_its_domain_is_empty(tmp_path):
    save_studies([own_study()], tmp_path)
    assert load_studies(tmp_path) == []


@pytest.mark.parametrize("text", ["{", "[1]", '[{"name": "a", "seeds": [0], "panels": [{}]}]'])
def test_a_damaged_file_is_an_error(text, tmp_path):
    (tmp_path / STUDIES).write_text(text)
    with pytest.raises(BadRunFolder, match="damaged"):
        load_studies(tmp_path)
