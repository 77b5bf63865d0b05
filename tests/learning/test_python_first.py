"""Every command is one short call in Python, with the same names."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest

import pdrm
from pdrm.cli.main import COMMANDS
from pdrm.domains import grid_domain, parse_map
from pdrm.errors import BadSetting, TaskWarning, UnknownChoice, WrongKind
from pdrm.learning.evaluation import Episode, Moment
from pdrm.learning.replays import Replay
from pdrm.machines.transitions import Configuration

TASK = (
    "events key\nstack #\nstart go\nfinal done lost\notherwise stay 0\ngo -> done : key, z / z, 1"
)
SHORT = {"episodes": 200, "k": 0}


pytestmark = pytest.mark.filterwarnings("ignore:.*final state `lost` cannot be reached")


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
    with pytest.raises(UnknownChoice, match="not a final state"):
        pdrm.train(world, machine=TASK, success="home")
    with pytest.raises(BadSetting, match="gamma"):
        pdrm.train(world, pdrm.QLearning(), machine=TASK, gamma=0.9)


def test_a_replay_shows_rewards_that_people_read(world):
    here = Configuration("go", ("#",))
    moments = [Moment(0, here, 0, frozenset(), 0.05, -0.2), Moment(0, here, 0, frozenset(), 1e-10)]
    shown = str(Replay(pdrm.Task(world, TASK).finite, Episode(moments, truncated=False)))
    assert str(moments[0].reward) == "-0.15000000000000002"
    assert "reward -0.15   total -0.15" in shown
    assert "reward 1e-10" in shown


def test_a_replay_shows_both_rewards(world, tmp_path):
    run = pdrm.train(world, machine=TASK, **SHORT)
    assert run.policy.table()[0].where == world.state_names[0]
    replay = run.replay()
    assert repr(replay) == "<Replay of hall: 1 step, return 0.75, ended in done>"
    assert "reward 0.75   total 0.75" in str(replay)
    assert "machine 1   environment -0.25" in str(replay)
    assert (replay.episode.reward, replay.episode.steps) == (0.75, 1)
    shown = replay._repr_html_()
    assert shown.count("<img") == 2
    assert "monospace" in shown.partition("<details>")[2]
    assert [picture.shape for picture in replay.pictures()] == [replay.pictures()[0].shape] * 2
    assert not np.array_equal(*replay.pictures())
    assert run.film(tmp_path / "hall.gif") == {"return": 0.75, "steps": 1, "end": "done"}
    with pytest.raises(BadSetting, match="neither"):
        run.film(tmp_path / "hall.mp4")


def test_a_study_of_one_task_and_one_agent_needs_no_lists_and_writes_its_page(world, tmp_path):
    study = pdrm.Study(pdrm.Task(world, TASK), "cprm", seeds=1, settings=SHORT)
    assert [line.name for _, line in study.lines()] == ["cprm"]
    with pytest.raises(pdrm.PdrmError, match="contains no run"):
        study.report(tmp_path)
    results = study.run(tmp_path)
    assert results.report() == study.report(tmp_path) == tmp_path / "index.html"
    assert "cprm" in (tmp_path / "index.html").read_text()


def test_warnings_of_a_task_go_where_warnings_of_python_go_and_name_the_caller(world, tmp_path):
    """A task is checked once, and those of the catalogue never."""
    never = TASK.replace("key", "key hat", 1).replace(": key", ": hat")
    for train in (
        lambda task: pdrm.train(task, "q", progress=False, **SHORT),
        lambda task: pdrm.Study(task, "q", seeds=1, settings=SHORT).run(tmp_path, progress=False),
    ):
        task = pdrm.Task(world, never, success="done")
        with pytest.warns(TaskWarning) as found:
            train(task)
        assert [one.message.code for one in found] == ["W0609", "W0608"]
        assert {one.filename for one in found} == {__file__}
        train(task)  # a second warning would be an error
        train(pdrm.Task("letter"))


def test_how_episodes_ended_says_which_were_cut_off(world):
    task = pdrm.Task(world, TASK.replace("1", "-99"), success="done")  # it does not pay to end
    with pytest.warns(TaskWarning, match="never ending is best"):
        run = pdrm.train(task, "q", **SHORT)
    found = run.evaluate(episodes=7)
    assert (found["ends"], found["truncated"], found["success"]) == ({"truncated in go": 7}, 7, 0)
    assert repr(found) == (
        "<Evaluation in hall: 7 episodes, mean return -2.25 (discounted by 0.99: -2.16207), mean length 9, success 0%; "
        "truncated in go: 7>"
    )
    assert json.loads(json.dumps(found)) == found
    assert "truncated in go" in repr(run.replay())


def test_the_line_of_a_curve_is_within_its_band(world):
    run = pdrm.train(pdrm.Task(world, TASK, success="done"), "q", **SHORT)
    (axes,) = run.plot().axes
    low, middle, high = np.percentile(run.curve.returns, (25, 50, 75), axis=1)
    assert np.array_equal(axes.lines[0].get_ydata(), middle)
    assert ((low <= middle) & (middle <= high)).all()


def test_what_is_no_agent_is_refused_with_the_way_to_say_it(world):
    with pytest.raises(BadSetting, match="not an agent"):
        pdrm.train(world, object(), machine=TASK)
    with pytest.raises(pdrm.PdrmError, match="no agent"):
        pdrm.train(world, "QLearning", machine=TASK)


def test_there_is_no_page_of_nothing(tmp_path):
    with pytest.raises(pdrm.PdrmError, match="no finished runs"):
        pdrm.paper.write_page(tmp_path / "nothing")


def test_agents_that_are_classes_are_refused():
    for call in (
        lambda: pdrm.train("letter", pdrm.CpRM),
        lambda: pdrm.Study("letter", [pdrm.CpRM]),
    ):
        with pytest.raises(WrongKind):
            call()
    assert pdrm.PPO(net_arch=[64, 64]) == pdrm.PPO(net_arch=(64, 64))
    assert hash(pdrm.PPO(net_arch=[64, 64])) == hash(pdrm.PPO(net_arch=(64, 64)))


def test_several_seeds_are_one_bar_one_table_and_one_plot(capsys):
    runs = pdrm.train("letter", "q", k=1, episodes=200, seeds=3, progress=True)
    assert capsys.readouterr().err.count("100%") == 1
    assert isinstance(runs, list)
    assert [row.seed for row in runs.table()] == [0, 1, 2]
    assert [row.final_return for row in runs.table()] == [run.curve.final_return for run in runs]
    joint, each = runs.evaluate(episodes=4), [run.evaluate(episodes=4) for run in runs]
    assert joint["returns"] == [paid for one in each for paid in one["returns"]]
    assert sum(joint["ends"].values()) == joint["episodes"] == 12
    shown = runs._repr_html_()
    assert "<table" in shown
    assert shown.count("data:image/png") == 1
    (line,) = runs.plot().axes[0].lines
    assert line.get_ydata()[-1] == np.median([run.curve.final_return for run in runs])
    assert len(repr(runs)) < 100


def test_how_to_has_every_command_in_python():
    """The table contains every command, and the calls in it exist."""
    page = (Path(__file__).parents[2] / "docs" / "how-to.md").read_text()
    rows = re.findall(r"^\| `pdrm ([\w-]+)[^|]*\|([^|]*)\|$", page, re.MULTILINE)
    assert {command for command, _ in rows} == set(COMMANDS)
    for command, calls in rows:
        for call in re.findall(r"`([^`]+)`", calls):
            ast.parse(call)
            for path in re.findall(r"(?<!\w)pdrm((?:\.\w+)+)", call):
                thing = pdrm
                for part in path.split(".")[1:]:
                    thing = getattr(thing, part)
        assert "`" in calls or command in ("new", "reproduce", "claims", "doctor")


def test_a_run_knows_the_optimal_value_of_its_task():
    """The discount is the task's, not the agent's."""
    run = pdrm.train("maze-5x5", pdrm.CpRM(k=1, episodes=500, discount=0.9), progress=False)
    best = run.optimal_value()
    assert run.evaluate(episodes=5)["discount"] == 0.99
    assert best == pdrm.solve("maze-5x5").start_value
    assert run.optimal_value(0.9) == pdrm.solve("maze-5x5", discount=0.9).start_value
    assert run.evaluate(episodes=5)["mean_discounted_return"] <= best + 1e-6
    by_chance = pdrm.train("letter", pdrm.QLearning(k=1, episodes=10), progress=False)
    assert by_chance.optimal_value() is None
