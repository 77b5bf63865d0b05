"""Folders that cannot be created are an error with a fix, in all commands."""

import pytest

from pdrm.errors import CannotWrite
from pdrm.experiments.study import run_study
from pdrm.files import ensure_folder
from pdrm.learning.run import train
from pdrm.paper.judging import Evidence
from pdrm.paper.report import write_report


def test_a_file_with_the_name_of_the_folder(tmp_path):
    (tmp_path / "file").touch()
    for ask in (
        ensure_folder,
        lambda folder: train("letter", "q", k=1, episodes=1, folder=folder),
        lambda folder: train("echo", "ppo", n_envs=2, folder=folder),
        lambda folder: run_study([], folder),
        lambda folder: write_report([], [], Evidence(folder)),
    ):
        with pytest.raises(
            CannotWrite, match=r"the folder .*file/runs.* cannot be created: "
        ) as caught:
            ask(tmp_path / "file" / "runs")
        assert "choose another" in caught.value.fix


def test_an_existing_folder_is_unchanged(tmp_path):
    (tmp_path / "kept.txt").write_text("kept")
    assert ensure_folder(tmp_path) == tmp_path
    assert (tmp_path / "kept.txt").read_text() == "kept"
