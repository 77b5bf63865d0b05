"""WaterWorld's records: what the page says is what they hold, and a study runs, small, to the same kind of record."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pdrm.errors import BadSetting
from pdrm.experiments import water_runs
from pdrm.experiments.paper import water

PAGE = (Path(__file__).parents[2] / "docs" / "deep.md").read_text()
RECORDS = sorted(path.stem for path in water_runs.RECORDED.glob("water-*.csv"))


@pytest.mark.parametrize("name", RECORDS)
def test_the_page_says_what_was_recorded(name):
    for line in water_runs.last_tests(name):
        assert line in PAGE


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_whole(name):
    about = json.loads((water_runs.RECORDED / f"{name}.json").read_text())
    tests = water_runs.read_table(water_runs.RECORDED / f"{name}.csv")
    runs = {(test.domain, test.line, test.seed) for test in tests}
    assert len(runs) == about["runs"]
    assert {seed for _, _, seed in runs} == set(range(10))
    (program,) = [one for one in water_runs.STUDIES[about["study"]](tuple(range(10))) if one.name == about["program"]]
    assert about["settings"] == json.loads(json.dumps(dict(program.settings)))
    for domain, line, seed in runs:
        steps = max(test.timesteps for test in tests if (test.domain, test.line, test.seed) == (domain, line, seed))
        (run,) = [one for one in program.runs if (one.domain, one.line, one.seed) == (domain, line, seed)]
        assert steps == run.total_timesteps


def small(program):
    settings = {**program.settings, "n_envs": 4, "n_steps": 40, "batch_size": 40, "n_epochs": 1}
    runs = tuple(replace(run, total_timesteps=320) for run in program.runs)
    return replace(program, runs=runs, settings=settings, world={"step_limit": 60}, test_every=160)


def test_a_study_runs_and_is_recorded(tmp_path, monkeypatch, capsys):
    programs = tuple(small(program) for program in water.as_printed((0, 1))[:1])
    monkeypatch.setitem(water_runs.STUDIES, "printed", lambda _: programs)
    water_runs.record("printed", tmp_path, (0, 1), only="ppo")
    assert "320 of 320 steps" in capsys.readouterr().out
    tests = water_runs.read_table(tmp_path / "water-printed-ppo.csv")
    assert len(tests) == 8 * 3
    assert json.loads((tmp_path / "water-printed-ppo.json").read_text())["timesteps"] == 8 * 320
    assert (tmp_path / "printed-ppo-1-pdrm.npz").exists()


def test_wrong_names_are_refused(tmp_path):
    with pytest.raises(BadSetting, match="no study `print`"):
        water_runs.record("print", tmp_path, (0,))
    with pytest.raises(BadSetting, match="no program `dqn`"):
        water_runs.record("printed", tmp_path, (0,), only="dqn")
