"""WaterWorld's records: what the page says is what they hold, claims are judged by them, and a study runs to the same kind."""

import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from pdrm.errors import BadSetting, NotRecorded
from pdrm.experiments import water_records, water_runs
from pdrm.experiments.paper import water_programs as water
from pdrm.experiments.paper.paper_claims import parts_17, parts_20
from pdrm.experiments.water_records import RECORDED, Record, endings, read_table, records, table

PAGE = (Path(__file__).parents[2] / "docs" / "deep.md").read_text()
NAMES = sorted(path.stem for path in RECORDED.glob("water-*.csv"))


def test_all_studies_are_recorded():
    recorded = {(record.study, record.program) for study in water.FIGURES.values() for record in records(study)}
    every = {(study, one.name) for study in water.FIGURES.values() for one in water_runs.STUDIES[study]((0,))}
    assert recorded == every - {("strict", "rppo")}


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_what_was_recorded(name):
    """One line of a table for each map and agent."""
    for one in endings(read_table(RECORDED / f"{name}.csv")):
        steps, achieved = f"{one.timesteps / 1e6:.0f} M", f"{one.mean_achieved * 100:.0f} %"
        cells = (one.domain, one.line, steps, f"{one.returned:,.0f}", achieved, f"{one.steps:,.0f}")
        assert f"| {' | '.join(cells)} |" in PAGE


@pytest.mark.parametrize("name", NAMES)
def test_a_record_is_whole(name):
    about = json.loads((RECORDED / f"{name}.json").read_text())
    tests, seeds = read_table(RECORDED / f"{name}.csv"), tuple(range(10))
    runs = {(test.domain, test.line, test.seed) for test in tests}
    assert len(runs) == about["runs"]
    assert {seed for _, _, seed in runs} == set(seeds)
    (program,) = water_runs.programs_of(about["study"], seeds, only=about["program"])
    assert about["settings"] == json.loads(json.dumps(dict(program.settings)))
    for domain, line, seed in runs:
        steps = max(test.timesteps for test in tests if (test.domain, test.line, test.seed) == (domain, line, seed))
        (run,) = [one for one in program.runs if (one.domain, one.line, one.seed) == (domain, line, seed)]
        assert steps == run.total_timesteps


def told(domain, line, returns, achieved):
    """Three tests of two seeds whose medians are these."""
    return [
        water_records.Tested(
            domain, line, seed, 100 * number, value + off, 9.0, achieved if number == len(returns) - 1 else 0.0
        )
        for number, value in enumerate(returns)
        for seed, off in enumerate((-10.0, 10.0))
    ]


AS_THE_PAPER_SAYS = {
    "water-17": {
        water.WITH: ((0, 110_000, 116_000), 1.0),
        water.RECURRENT: ((0, 50_000, 90_000), 0.5),
        water.WITHOUT: ((0, 10_000, 20_000), 0.0),
    },
    "water-20": {
        water.WITH: ((0, 110_000, 116_000), 1.0),
        water.RECURRENT: ((0, 9_000, 9_000), 0.0),
        water.WITHOUT: ((0, 9_000, 9_000), 0.0),
    },
}
VARIED = water_records.Tested("water-17", water.RECURRENT, 2, 200, 40_000.0, 9.0, 0.5)


def as_records(lines):
    tests = [
        one for domain, agents in lines.items() for agent, what in agents.items() for one in told(domain, agent, *what)
    ]
    return [Record("printed", "ppo", [*tests, VARIED], {}, own=True)]


def test_claims_hold_where_it_went_as_the_paper_says():
    found = as_records(AS_THE_PAPER_SAYS)
    assert all(part.holds for part in (*parts_17(found), *parts_20(found)))


@pytest.mark.parametrize(
    ("domain", "line", "went", "part"),
    [
        ("water-17", water.WITH, ((0, 110_000, 115_000), 0.9), "achieves water-17"),
        ("water-17", water.WITH, ((0, 20_000, 116_000), 1.0), "achieves early"),
        ("water-17", water.RECURRENT, ((89_990, 90_000, 90_000), 0.0), "improves"),
        ("water-17", water.RECURRENT, ((0, 116_000, 117_000), 1.0), "ends below PPO + 1-pdRM"),
        ("water-17", water.WITHOUT, ((0, 90_000, 99_000), 0.0), "PPO ends below recurrent PPO"),
        ("water-20", water.WITH, ((0, 9_000, 9_000), 0.0), "achieves water-20"),
        ("water-20", water.WITHOUT, ((0, 9_000, 116_000), 1.0), "PPO does not achieve"),
        ("water-20", water.RECURRENT, ((0, 9_000, 116_000), 1.0), "recurrent PPO does not achieve"),
    ],
)
def test_and_one_line_that_differs_breaks_them(domain, line, went, part):
    lines = {**AS_THE_PAPER_SAYS, domain: {**AS_THE_PAPER_SAYS[domain], line: went}}
    found = as_records(lines)
    failed = [one.text for one in (*parts_17(found), *parts_20(found)) if not one.holds]
    assert any(part in text for text in failed)


def test_ones_own_records_go_first(tmp_path):
    tests = told("water-17", water.WITH, (1.0, 2.0), 0.0)
    (tmp_path / "water-printed-ppo.csv").write_text(table(tests))
    assert not records("printed", tmp_path)[0].own  # without its description it is not whole
    (tmp_path / "water-printed-ppo.json").write_text("{}")
    (found,) = records("printed", tmp_path)
    assert (found.own, found.tests, found.program) == (True, tests, "ppo")
    assert endings(found.tests)[0].reaches(2.0) == 100
    with pytest.raises(NotRecorded):
        records("no-such-study", tmp_path)


def small(program):
    settings = {**program.settings, "n_envs": 4, "n_steps": 40, "batch_size": 40, "n_epochs": 1}
    runs = tuple(replace(run, total_timesteps=320) for run in program.runs)
    return replace(program, runs=runs, settings=settings, world={"step_limit": 60}, test_every=160)


def test_a_study_runs_and_is_recorded_and_goes_on_where_it_was_stopped(tmp_path, capsys):
    programs = tuple(small(program) for program in water.as_printed((0, 1))[:1])
    water_runs.record("printed", programs, tmp_path / "whole", "a command")
    assert "320 of 320 steps" in capsys.readouterr().out
    tests = read_table(tmp_path / "whole" / "water-printed-ppo.csv")
    assert len(tests) == 8 * 3
    about = json.loads((tmp_path / "whole" / "water-printed-ppo.json").read_text())
    assert (about["timesteps"], about["command"]) == (8 * 320, "a command")
    assert (tmp_path / "whole" / "printed-ppo-1-pdrm.npz").exists()
    water_runs.record("printed", programs, tmp_path / "whole", "a command")
    assert not capsys.readouterr().out  # nothing is repeated

    def stop(_program, timesteps, _longest):
        if timesteps == 160:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        water_runs.record("printed", programs, tmp_path / "cut", "a command", stop)
    assert list((tmp_path / "cut").glob("unfinished-*"))
    water_runs.record("printed", programs, tmp_path / "cut", "a command")
    for file in ("water-printed-ppo.csv", "printed-ppo-1-pdrm.npz"):
        assert (tmp_path / "cut" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    assert not list((tmp_path / "cut").glob("unfinished-*"))


def test_wrong_names_are_refused():
    with pytest.raises(BadSetting, match="no study `print`"):
        water_runs.programs_of("print", (0,))
    with pytest.raises(BadSetting, match="no program `dqn`"):
        water_runs.programs_of("printed", (0,), only="dqn")


def test_claims_and_records_need_no_jax():
    assert "jax" not in Path(water_records.__file__).read_text()
