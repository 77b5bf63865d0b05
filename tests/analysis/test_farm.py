"""A task whose pushes are far from the start: what is known of the whole stack decides what exploring does not."""

from math import isclose

import pytest

from pdrm.analysis.solving import solve
from pdrm.analysis.sufficient_k.check_k import KSearch, check_k
from pdrm.task import Task

MAP = """step_limit 150
step_reward -0.05
place w well
place q quarry
place g garden
place s smith
place h home

##############
#w....#.....q#
#.###.#.###..#
#...#...#....#
#.#.##.##.##.#
#.#....@...#.#
#.###.##.###.#
#...#..h..#..#
#g..#.###.#.s#
#............#
##############
"""
MACHINE = """events well quarry garden smith home
exclusive well quarry garden smith home
stack # water stone
start work
final rest
otherwise stay 0
work -> work : well, z / water z, 0
work -> work : quarry, z / stone z, 0
work -> work : garden, water / eps, 2
work -> work : smith, stone / eps, 3
work -> rest : home, # / #, 5
work -> rest : home, water / water, -3
work -> rest : home, stone / stone, -3
"""


@pytest.fixture(scope="module")
def farm(tmp_path_factory):
    file = tmp_path_factory.mktemp("farm") / "farm.txt"
    file.write_text(MAP)
    return Task(file, MACHINE)


def test_the_solution_decides_what_exploring_does_not(farm):
    report, solution = check_k(farm, seconds=4), solve(farm)
    for k in range(5):
        assert {answer.verdict for answer in report.answers[k].values()} == {"no"}
        one, other = report.witness(k, "start")
        assert one.seen == other.seen
        assert not set(one.actions) & set(other.actions)
        for place in (one, other):
            assert solution.actions(place.place, place.state, place.stack) == place.actions
    low, high = report.value_from_start
    assert isclose(low, solution.start_value, rel_tol=1e-6)
    assert isclose(high, solution.start_value, rel_tol=1e-6)
    assert (report.recommendation.k, report.recommendation.agent, report.over_limit) == (
        None,
        "summary",
        True,
    )
    assert "--seconds may help" not in str(report)


def test_what_is_stopped_early_knows_the_optimal_value(farm, monkeypatch):
    search = KSearch(farm, seconds=60)

    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "_begin", stop)
    report = search.find()
    assert search.stopped
    low, high = report.value_from_start
    assert high - low < 1e-6
    assert report.answers[0]["start"].verdict == "no"


def test_a_yes_about_states_that_all_look_different_is_vacuous(farm):
    for depth, k in ((3, 0), (12, 2)):
        report = check_k(farm, k=k, depth=depth, seconds=4)
        found = report.answers[k]
        assert found["everywhere"].verdict == "yes"
        assert found["everywhere"].vacuous
        assert repr(found["everywhere"]) == f"<yes, depth {depth}, vacuous>"
        assert report.record()["vacuous"][str(k)] == ["same_values", "everywhere"]
        assert f"yes (depth {depth}, vacuous)" in str(report)
        assert report.furthest("everywhere") is None
        assert report.recommendation.k is None
        assert "it is enough within" not in report.recommendation.text


def test_a_policy_that_sees_little_may_be_optimal_from_the_start(farm):
    advice = check_k(farm, discount=0.9, seconds=4).recommendation
    assert (advice.k, advice.proved) == (1, "start")
