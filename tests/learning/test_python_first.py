"""What the command line does is one short call in Python, and the same words mean the same."""

import numpy as np
import pytest

import pdrm
from pdrm.domains import grid_domain, parse_map
from pdrm.errors import BadSetting, BadStudy

TASK = "events key\nstack #\nstart go\nfinal done lost\notherwise stay 0\ngo -> done : key, z / z, 1"
SHORT = {"episodes": 200, "k": 0}


@pytest.fixture(scope="module")
def world():
    places = parse_map("####\n#@k#\n####", places="@k", start="@")
    return grid_domain("hall", places, {"k": "key"}, step_limit=9, step_reward=-0.25)


def test_machine_success_and_seeds_are_given_as_on_the_command_line(world):
    runs = pdrm.train(world, machine=TASK, success="done", seeds=2, **SHORT)
    assert [run.spec.seed for run in runs] == [0, 1]
    one = pdrm.train(pdrm.Task(world, TASK, success="done"), "q", seed=1, **SHORT)
    assert (one.spec.id, one.spec.task) == (runs[1].spec.id, runs[1].spec.task)
    assert pdrm.train(one.spec.task, success="lost", **SHORT).success(episodes=3) == 0
    study = pdrm.Study([world], ["q"], machine=TASK, success=["done"], seeds=2, settings=SHORT)
    assert [spec.id for _, _, spec in study.runs()] == [run.spec.id for run in runs]
    assert [spec.task for _, _, spec in study.runs()] == [run.spec.task for run in runs]
    with pytest.raises(BadSetting, match="both `seed` and `seeds`"):
        pdrm.train(world, machine=TASK, seed=3, seeds=2)
    with pytest.raises(BadStudy, match="not a final state"):
        pdrm.train(world, machine=TASK, success="home")
    with pytest.raises(BadSetting, match="called `discount` here"):
        pdrm.train(world, pdrm.QLearning(), machine=TASK, gamma=0.9)


def test_a_replay_shows_both_rewards(world, tmp_path):
    run = pdrm.train(world, machine=TASK, **SHORT)
    assert run.policy.table()[0].where == world.state_names[0]
    replay = run.replay()
    assert repr(replay) == "<Replay of hall: 1 step, return 0.75, ended in done>"
    assert "reward 0.75   total 0.75" in str(replay)
    assert "machine 1   environment -0.25" in str(replay)
    assert (replay.machine_reward, replay.environment_reward, len(replay)) == (1, -0.25, 2)
    assert "<pre" in replay._repr_html_()
    assert [picture.shape for picture in replay.pictures()] == [replay.pictures()[0].shape] * 2
    assert not np.array_equal(*replay.pictures())
    assert run.film(tmp_path / "hall.gif") == {"return": 0.75, "steps": 1, "end": "done"}
    with pytest.raises(BadSetting, match="neither"):
        run.film(tmp_path / "hall.mp4")


def test_a_study_of_one_task_and_one_agent_needs_no_lists_and_writes_its_page(world, tmp_path):
    study = pdrm.Study(pdrm.Task(world, TASK), "cprm", seeds=1, settings=SHORT)
    assert [line.name for _, line in study.lines()] == ["cprm"]
    with pytest.raises(pdrm.PdrmError, match="holds no run"):
        study.report(tmp_path)
    results = study.run(tmp_path)
    assert results.report() == study.report(tmp_path) == tmp_path / "index.html"
    assert "cprm" in (tmp_path / "index.html").read_text()


def test_what_is_no_agent_is_refused_with_the_way_to_say_it(world):
    with pytest.raises(BadSetting, match="not an agent"):
        pdrm.train(world, object(), machine=TASK)
    with pytest.raises(pdrm.PdrmError, match="did you mean `q`"):
        pdrm.train(world, "QLearning", machine=TASK)


def test_there_is_no_page_of_nothing(tmp_path):
    with pytest.raises(pdrm.PdrmError, match="holds no runs"):
        pdrm.report.write_page(tmp_path / "nothing")
