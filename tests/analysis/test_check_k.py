"""Which k is enough: numbers known by hand, searches that are stopped, and what a report gives."""

import json
from dataclasses import replace

import pytest

import pdrm
from pdrm.analysis import load_k_policy
from pdrm.analysis.deadline import Deadline
from pdrm.analysis.k_report import KAnswer, KReport, judge
from pdrm.analysis.k_search import check_k
from pdrm.analysis.values import ExploredValues, SolvedValues, value_product
from pdrm.domains.finite_domain import from_arrays
from pdrm.errors import BadSetting, DoesNotApply, NoDiscount, UnknownChoice, WrongPolicy
from pdrm.product.finite_kernel import MEMORY
from pdrm.task import Task

THROW = """name throw
events throw
stack # A
start up
final over
otherwise stay 0
up -> up   : !throw, z / A z, 0
up -> down : throw, z / z, 0
down -> down : eps, A / eps, 1
down -> over : eps, # / eps, 0
"""


@pytest.fixture(scope="module")
def paint():
    return check_k("paint")


def test_paint_by_hand(paint):
    # k symbols tell apart up to k - 1 stains; asking for i of n costs i / (i + 1)
    wanted = [0.37 / 3, 0.37 / 3, 0.17 / 3, 0.07 / 3, 0.02 / 3, 0.0]
    for k, loss in enumerate(wanted):
        low, high = paint.loss[k]
        assert low - 1e-9 <= loss <= high + 1e-9
        assert high - low < 1e-9
    assert (paint.k, paint.recommended, paint.ended) == (5, 5, "decided")
    assert (paint.followed.total, paint.record()["over_limit"]) == (1, False)


def test_the_maze_needs_no_stack_from_the_start():
    report = check_k("maze-5x5", k=[0, 1], seconds=20)
    for k in (0, 1):
        assert report.verdicts[k] == {"same_values": "no", "everywhere": "no", "start": "yes"}
    assert report.recommended == 1
    one, other = report.witness(1)
    assert one.seen == other.seen
    assert one.stack != other.stack
    assert not set(one.actions) & set(other.actions)


def test_echo_is_enough_for_every_stack():
    report = check_k("echo", k=[0, 1], seconds=20)
    assert report.verdicts[0]["start"] == "no"
    assert report.verdicts[1] == {"same_values": "no", "everywhere": "yes", "start": "yes"}
    assert report.answers[1].proof is not None
    assert report.record()["k"]["1"]["every_stack"]
    low, high = report.loss[0]
    assert low <= 0.548 <= high + 0.001


def test_letter_loses_nothing_without_a_stack():
    report = check_k("letter", k=[0], seconds=20)
    assert report.verdicts[0]["start"] == "yes"


@pytest.mark.compiled
def test_deliver_needs_more_than_three_symbols():
    report = check_k("deliver-8", k=[2, 3], seconds=8, from_="start")
    assert report.loss[3][0] > 1
    assert report.loss[2][0] >= report.loss[3][0]
    assert report.loss[2][1] < 60


def test_paid_silent_pops_have_an_answer():
    walk = from_arrays("walk", [[0, 0]], [[0, 1]], [(), ("throw",)], step_limit=20)
    report = check_k(walk, THROW, k=[0, 1], discount=0.5, seconds=20)
    assert report.value[1] - report.value[0] < 1e-6
    assert report.verdicts[1]["start"] == "yes"


def test_stopped_at_once_it_still_holds():
    report = check_k("deliver-4-8", k=[0, 1], seconds=0.01)
    for low, high in report.loss.values():
        assert 0 <= low <= high
    assert report.ended == "time"


def test_progress_without_a_limit():
    assert check_k("paint", k=[5], seconds=None, progress=True).k == 5


def test_stopped_by_the_keyboard(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pdrm.analysis.k_search.bound_loss", stop)
    report = check_k("maze-5x5", k=[0], seconds=5, progress=False)
    assert report.ended == "stopped"
    assert report.verdicts[0]["start"] == "undecided"
    json.dumps(report.record(), allow_nan=False)


def test_from_the_start_only():
    report = check_k("maze-5x5", k=0, from_="start", seconds=10)
    assert report.verdicts[0] == {
        "same_values": "undecided",
        "everywhere": "undecided",
        "start": "yes",
    }
    with pytest.raises(UnknownChoice):
        check_k("maze-5x5", from_="here")


def test_a_bound_leaves_the_task_what_it_is():
    opened = check_k("letter", k=[1], height=3, seconds=5)
    assert opened.verdicts[1]["everywhere"] == "undecided"
    with pytest.raises(DoesNotApply):
        opened.certificate(1)
    assert opened.value[0] <= 0.757771 + 1e-6
    assert opened.value[1] >= 0.757771


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"k": -1}, BadSetting),
        ({"k": True}, BadSetting),
        ({"k": 10**9}, BadSetting),
        ({"memory": 0}, BadSetting),
        ({"most": 0}, BadSetting),
        ({"height": -1}, BadSetting),
        ({"seconds": 0}, BadSetting),
        ({"discount": 1.0}, NoDiscount),
    ],
)
def test_wrong_settings(settings, error):
    with pytest.raises(error):
        check_k("paint", **settings)


def test_a_k_that_is_not_in_the_report(paint):
    with pytest.raises(BadSetting):
        paint.witness(9)
    with pytest.raises(BadSetting):
        paint.smallest("nowhere")


def test_the_policy_plays_what_it_promises(paint, tmp_path):
    policy = paint.policy(2)
    policy.reset()
    with pytest.raises(WrongPolicy, match="info"):
        policy.act({"observation": 0})
    env = Task("paint").env(k="full", depth=8)
    returns = []
    for seed in range(400):
        observation, info = env.reset(seed=seed)
        earned, weight, over = 0.0, 1.0, False
        while not over:
            observation, reward, ended, cut, info = env.step(policy.act(observation, info))
            earned, weight, over = earned + weight * reward, 0.99 * weight, ended or cut
        returns.append(earned)
    promised = paint.value[0] - paint.loss[2][1]
    assert abs(sum(returns) / len(returns) - promised) < 0.03
    policy.save(tmp_path / "policy.json")
    assert load_k_policy(tmp_path / "policy.json").rows == policy.rows
    assert len(policy) == 2


def test_what_a_report_shows(paint):
    said = str(paint)
    assert "nothing, proved" in said
    assert "<- train with this" in said
    assert "after the labels stains_5" in said
    assert paint._repr_html_().count("<svg") + paint._repr_html_().count("data:image") >= 2
    assert [row.k for row in paint.table()] == list(range(6))
    record = paint.record()
    assert record["k"]["5"]["everywhere"] == "yes"
    json.dumps(record, allow_nan=False)


def test_a_tolerance_that_is_not_known_decides_nothing():
    assert judge((0.0, 0.0), float("inf")) == "undecided"


def test_the_provider_of_values():
    for name, kind in (("maze-5x5", SolvedValues), ("letter", ExploredValues)):
        assert isinstance(value_product(Task(name), 0.9, None, MEMORY, Deadline(20)), kind)
    assert isinstance(value_product(Task("paint"), 0.0, None, MEMORY, Deadline()), ExploredValues)
    assert isinstance(value_product(Task("paint"), 0.9, 2, MEMORY, Deadline()), ExploredValues)


def test_memory_is_bounded():
    assert check_k("maze-5x5", k=[6], most=2_000, seconds=5).states < 10_000


@pytest.mark.parametrize("chance", [[1.0, 0.0], [0.5, 0.5]])
def test_an_episode_that_is_over_at_once(chance):
    over = from_arrays(
        "over", [[[0, 0], [0, 0]]], [[[0, 0], [0, 0]]], [("a",)], step_limit=3, probability=[[chance, chance]],
        terminal=[True],
    )  # fmt: skip
    machine = (
        "name m\nevents a\nstack #\nstart u\nfinal done\notherwise stay 1\nu -> u : a, z / A z, 1\n"
    )
    report = check_k(over, machine.replace("stack #", "stack # A"), k=[0, 1], seconds=3)
    assert all(
        found == {"same_values": "yes", "everywhere": "yes", "start": "yes"}
        for found in report.verdicts.values()
    )


def test_solving_with_chance():
    coin = from_arrays(
        "coin", [[[0, 0], [0, 0]]], [[[0, 1], [0, 0]]], [("a",), ("b",)], step_limit=9,
        probability=[[[0.5, 0.5], [1.0, 0.0]]], actions=("toss", "wait"),
    )  # fmt: skip
    machine = "name m\nevents a b\nstack #\nstart u\nfinal done\notherwise stay 0\nu -> done : b, # / #, 1\n"
    solution = pdrm.solve(coin, machine, discount=0.5)
    assert solution.start_value == pytest.approx(2 / 3, abs=1e-9)
    assert solution.actions(0, "u", ("#",)) == ("toss",)
    assert solution.action_values(0, "u", ("#",))["wait"] == pytest.approx(1 / 3, abs=1e-9)
    with pytest.raises(pdrm.PdrmError):
        pdrm.solve("letter", seconds=1)


def test_a_witness_of_values_alone_is_drawn_but_not_printed(tmp_path):
    cave = from_arrays("cave", [[0, 1]] * 2, [[1, 2]] * 2, [(), ("key",), ("door",)], step_limit=20)
    machine = (
        "events key door\nstack # K\nstart u\nfinal out\notherwise stay -0.1\nu -> u : key & !door, z / K z, 0\n"
        "u -> u : door & !key, K / eps, 1\nu -> out : door & !key, # / #, 5"
    )
    report = check_k(Task(cave, machine), k=[0], discount=0.9, seconds=5)
    assert len(report.witness(0)) == 2
    assert "look alike" not in str(report)
    assert "train with this" in report._repr_html_()
    report.draw(tmp_path / "witness.svg")
    assert (tmp_path / "witness.svg").exists()
    with pytest.raises(pdrm.PdrmError, match=r"verify\(certificate, task\)"):
        pdrm.verify(report.certificate(0))


def test_what_is_not_known_is_said():
    before = KReport(Task("maze-5x5"), 0.99, {k: KAnswer(k) for k in (0, 1)})
    assert "the optimal value is not known yet" in str(before)
    assert "0 within" not in str(before)
    for report in (before, check_k("maze-5x5", k=[0, 1], seconds=1e-9)):
        assert report.recommended is None
        assert "<- train with this" not in str(report)


def test_a_safer_k_is_named():
    report = replace(check_k("paint", k=[5]), answers={})
    loses_nothing = KAnswer(1, (0.0, 0.0), spread=(0.8, float("inf")))
    report.answers.update({1: loses_nothing, 2: KAnswer(2, (0.0, 0.0), spread=(0.0, 0.0))})
    report.answers[1].regret = 0.0, 0.0
    assert report.recommended == 1
    assert "try k = 2" in str(report)
