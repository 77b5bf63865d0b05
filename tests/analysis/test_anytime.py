"""`check_k` at any time: within its seconds and its cap of states, with answers that hold wherever it was stopped."""

from contextlib import suppress
from math import inf
from time import monotonic

import pytest

from pdrm.analysis.optimal import find_optimal
from pdrm.analysis.solving import solve
from pdrm.analysis.sufficient_k.check_k import KSearch, Plan, check_k
from pdrm.analysis.sufficient_k.checker import find_fault
from pdrm.analysis.sufficient_k.questions import QUESTIONS
from pdrm.analysis.time_limit import check_time, limit_time, time_left
from pdrm.domains.paper_domains import domain
from pdrm.errors import BadSetting
from pdrm.language.loading import catalogue
from pdrm.product.finite_product import Bound, FiniteProduct
from pdrm.task import Task

pytestmark = pytest.mark.compiled


def verdicts(report):
    return {
        k: tuple(answer.verdict for answer in asked.values()) for k, asked in report.answers.items()
    }


def test_a_limit_holds_within_others():
    with limit_time(None):
        check_time()
        with limit_time(-1), limit_time(100):
            assert time_left() < 0
            with pytest.raises(TimeoutError):
                check_time()
        assert time_left() == float("inf")


def test_the_phases_of_a_plan_end_one_after_another():
    for seconds in (0.1, 1.0, 5.0, 60.0, inf):
        for solving in (0.0, 0.01, 1.0, 15.0):
            plan = Plan(seconds, solving)
            assert plan.whole <= plan.begin <= plan.end
            assert plan.end / 2 <= plan.follow <= plan.end
            for answers in (0, 10**6, 10**9):
                assert plan.explore(0.0, answers) <= min(plan.begin, plan.follow)
                assert (
                    plan.explore(0.0, answers) >= 0.4 * seconds
                )  # the half of the rest, less the end of the best policy
            assert plan.every_stack(left=9.0) <= 9.0 - plan.high
    soon, late = (
        Plan(10.0, solving=2.0),
        Plan(10.0, solving=3.0),
    )  # a quarter of the time is between them
    assert soon.follow == 10.0 - soon.high == 7.0
    assert late.follow == Plan(10.0).follow == 8.5


def test_time_is_left_for_witnesses_of_any_height_if_any_height_is_asked_about():
    maze = Task("maze-5x5")
    for bound in (None, Bound()):  # as from Python, and as from the command line
        assert KSearch(maze, bound=bound).plan.high > 0
    for settings in (
        {"bound": Bound(9)},
        {"depth": 3},
    ):  # for the optimal value, and from the start
        assert KSearch(maze, **settings).plan.high > 0
    assert KSearch(maze, bound=Bound(9, "block")).plan.high == 0  # another task


def test_without_k_the_smallest_is_found():
    paint = check_k("paint")
    assert {question: paint.smallest(question) for question in QUESTIONS} == dict.fromkeys(
        QUESTIONS, 5
    )
    assert list(paint.answers) == [0, 1, 2, 3, 4, 5]


def test_larger_k_are_tried_where_some_states_look_alike():
    echo = check_k("echo", depth=6)
    assert max(echo.answers) == echo.beyond - 1 == 5
    assert echo.furthest("everywhere") == 1
    letter = check_k("letter", depth=24)
    assert max(letter.answers) == letter.beyond - 1 > 5
    assert f"same values: no k up to {letter.beyond - 1} is enough; larger k cannot" in str(letter)


def test_the_cap_of_states_is_kept():
    for most, ends in ((20, "states"), (1_000, "decided")):
        report = check_k("maze-5x5", k=[0, 1], most=most, seconds=None)
        assert len(report.optimal.product) <= most
        assert (report.ended, report.complete) == (
            ends,
            ends == "decided",
        )  # by witnesses that are farther away
        for depth in (2, 30):
            report = check_k("maze-10x10", k=[0, 1], depth=depth, most=most, seconds=10)
            assert len(report.optimal.product) <= most
            assert (report.ended, report.complete) == ("states", False)
    assert "a larger `most` may help" in str(report)
    product = FiniteProduct(domain("maze-10x10"), catalogue("treasure-maze"))
    find_optimal(product, 0.99, depth=3, most=400)
    assert len(product) <= 400


def test_the_time_is_kept():
    for name, seconds, settings in (
        ("maze-10x10", 0.5, {}),
        ("maze-20x20", 0.5, {"depth": 60}),
        ("deliver-8", 0.01, {}),
    ):
        begun = monotonic()
        report = check_k(name, seconds=seconds, **settings)
        assert (
            monotonic() - begun < seconds + 20
        )  # of what takes minutes, on a machine that may be busy
        assert report.ended == "time"
        assert report.answers
        assert not report.complete
    for wrong in (0, -1, float("nan")):
        with pytest.raises(BadSetting, match="seconds"):
            check_k("paint", seconds=wrong)


def test_before_anything_is_known_all_is_undecided():
    search = KSearch(Task("maze-5x5"), range(8))
    report = search.report(0)
    assert set(sum(verdicts(report).values(), ())) == {"undecided"}
    low, high = report.loss(1)
    assert low == 0 < high
    assert "then it was stopped" in str(report)


class Stop(Exception):
    """As Ctrl-C does."""


@pytest.mark.parametrize(("name", "settings"), [("letter", {"depth": 4}), ("echo", {"depth": 3})])
def test_wherever_it_is_stopped_the_answers_hold(name, settings):
    """A no stays a no, and every yes has a certificate that the checker accepts."""
    task = Task(name)
    whole = verdicts(check_k(task, k=range(3), most=2_000, **settings))
    certified = 0
    for rounds in (1, 2, 4):
        calls = iter(range(rounds))

        def watch(_states, _most, calls=calls):
            if next(calls, None) is None:
                raise Stop

        search = KSearch(task, range(3), most=2_000, watch=watch, **settings)
        with suppress(Stop):
            search.run()
        report = search.report()
        for k, answers in report.answers.items():
            for place, (question, answer) in enumerate(answers.items()):
                if answer.verdict == "no":
                    assert whole[k][place] == "no"
                if answer.verdict == "yes":
                    proof = report.certificate(k, question)
                    assert find_fault(task.finite, task.pushdown, proof) is None
                    certified += 1
    assert (
        certified or name == "letter"
    )  # where it is a no, or undecided from the start: it goes on for ever


def test_a_snapshot_stays_as_it_is():
    product = FiniteProduct(domain("letter"), catalogue("letter"))
    product.explore(3)
    before = product.snapshot()
    count, frontier, stacks = (
        len(before),
        before.frontier.tolist(),
        [before.stack(x) for x in range(len(before))],
    )
    product.explore(9)
    assert len(product) > len(before) == count
    assert before.frontier.tolist() == frontier
    assert [before.stack(x) for x in range(count)] == stacks


def test_what_is_stopped_knows_what_a_short_search_knows():
    """Witnesses of any height and the value of the solved task do not wait for the end of a search."""
    search = KSearch(Task("maze-10x10"), k=[0, 1], seconds=60)
    report = search.report(5.0)
    assert (report.ended, report.answers[1]["everywhere"].verdict) == ("stopped", "no")
    low, high = report.value_from_start
    assert low <= solve("maze-10x10").start_value <= high < low + 1e-3
    assert "then it was stopped" in str(report)


def test_ctrl_c_gives_what_is_known_and_a_second_one_raises(monkeypatch):
    calls = []

    def stop(self):
        calls.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(KSearch, "run", stop)
    report = check_k("maze-5x5", k=[0])
    assert (report.ended, len(calls)) == ("stopped", 1)
    monkeypatch.setattr(KSearch, "_answer", lambda self, _answers: stop(self))
    with pytest.raises(KeyboardInterrupt):
        check_k("maze-5x5", k=[0])


def test_how_it_goes_is_shown_when_asked_for(monkeypatch, capsys):
    for name in ("QUICK", "EVERY"):
        monkeypatch.setattr(f"pdrm.analysis.sufficient_k.check_k.{name}", -1.0)
    check_k("paint", k=[5])
    assert not capsys.readouterr().err
    check_k("paint", k=[5], progress=True)
    assert "states, 100% decided; what each k loses" in capsys.readouterr().err


def test_a_search_without_time_to_look_round_says_so(monkeypatch):
    """Time that is up while the states to ask about are being chosen leaves fewer than were meant: that is no decision."""
    monkeypatch.setattr("pdrm.analysis.sufficient_k.check_k.CLOSED", 0)
    monkeypatch.setattr(Plan, "near", property(lambda _: -1.0))
    report = check_k("letter", seconds=5.0)
    assert (report.ended, report.complete, report.short) == ("time", False, True)
    assert report.optimal.depth == 0
    assert {answer.verdict for answer in report.answers[0].values()} == {"undecided"}
