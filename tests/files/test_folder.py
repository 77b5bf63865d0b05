"""Folders that cannot be created are an error with a way out, wherever one is asked for."""

import pytest
from pdrm.experiments.run_study import run_study, store_in
from pdrm.experiments.water_runs import programs_of, record
from pdrm.learning.tabular.run import RunSpec, execute

from pdrm.errors import CannotWrite
from pdrm.experiments.store import perform
from pdrm.files import ensure_folder
from pdrm.learning.agents import QLearning
from pdrm.learning.deep import deep_run as deep
from pdrm.learning.deep.deep_training import settings_of
from pdrm.report.build import write_report

SPEC = RunSpec("letter", "q", "1", QLearning(episodes=1), seed=0)


def deep_spec():
    return deep.DeepSpec("echo", "ppo", "1", settings_of("ppo", {"n_envs": 2}), (0,))


@pytest.mark.parametrize(
    "asked",
    [
        ensure_folder,
        lambda folder: execute(SPEC, folder),
        lambda folder: perform(SPEC, folder),
        lambda folder: run_study([], folder),
        lambda folder: deep.execute(deep_spec(), folder),
        lambda folder: record("printed", programs_of("printed", (0,), only="ppo"), folder, "test"),
        lambda folder: write_report([], [], store_in(folder), folder),
    ],
    ids=["made", "run", "store", "study", "deep run", "WaterWorld", "report"],
)
def test_where_a_file_is_in_the_way(asked, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite, match=r"the folder .*file/runs.* cannot be created: ") as caught:
        asked(tmp_path / "file" / "runs")
    assert "choose another" in caught.value.fix


def test_one_that_is_there_is_left_alone(tmp_path):
    (tmp_path / "kept.txt").write_text("kept")
    assert ensure_folder(tmp_path) == tmp_path
    assert (tmp_path / "kept.txt").read_text() == "kept"
