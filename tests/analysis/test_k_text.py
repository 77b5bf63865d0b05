"""Reports on k in words: undecided is neither yes nor no, and a report is printed as its table."""

from dataclasses import replace
from math import inf

import pytest

from pdrm.analysis.solving import solve
from pdrm.analysis.sufficient_k.check_k import KSearch, check_k
from pdrm.analysis.sufficient_k.checker import verify
from pdrm.analysis.sufficient_k.k_report import (
    _count_rows,
    explain_no,
    format_report,
    list_shown,
    summarize,
)
from pdrm.analysis.sufficient_k.k_words import format_numbers
from pdrm.analysis.sufficient_k.questions import MOST_K, Answer
from pdrm.errors import BadSetting, DoesNotApply, UnknownDomain, WrongKind
from pdrm.task import Task


@pytest.fixture(scope="module")
def paint():
    return check_k("paint", "paint", k=range(3, 7))


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ("no no no no", "no k up to 6 is enough"),
        ("undecided undecided undecided undecided", "undecided for k = 3…6; look further"),
        (
            "no no undecided undecided",
            "no k up to 4 is enough; undecided for k = 5, 6; look further",
        ),
        ("no undecided yes yes", "k = 5 is enough (undecided for k = 4)"),
        ("no no yes undecided", "k = 5 is enough"),
    ],
)
def test_what_answers_come_to(paint, verdicts, said):
    answers = {k: {"start": Answer(v)} for k, v in zip(range(3, 7), verdicts.split(), strict=True)}
    assert (
        summarize(replace(paint, answers=answers, ended="time"), "start", {"time": "look further"})
        == said
    )


def test_runs_of_numbers():
    assert [format_numbers(ks) for ks in ([], [4], [1, 2], [0, 2, 3, 4])] == [
        "",
        "4",
        "1, 2",
        "0, 2…4",
    ]


def test_a_report_is_printed_as_its_table(paint):
    following = "next: pdrm.train(task, pdrm.CpRM(k=5))"
    assert str(paint).splitlines() == [*format_report(paint), *explain_no(paint), following]
    assert "why not from the start at k = 4: these look alike" in str(paint)
    assert "k    same values       everywhere        from the start    loss" in str(paint)
    assert "from the start: k = 5 is enough" in str(paint)
    assert repr(paint) == (
        "<KReport of paint with paint: smallest k same values 5, everywhere 5, from the start 5>"
    )


def test_a_k_out_of_range_is_refused():
    for ks in (range(10**11), [-1], [1.5], [MOST_K + 1]):
        with pytest.raises(BadSetting, match=f"from 0 to {MOST_K}"):
            check_k("paint", "paint", ks)


def test_a_bound_below_the_first_stack_is_refused():
    for rule in ("open", "block", "fail"):
        with pytest.raises(BadSetting, match="1 high at the start, and the bound is 0"):
            check_k("letter", "letter", [0], height=0, rule=rule)


def test_a_certified_yes_loses_nothing(paint):
    """Whatever the arithmetic of its gap left over; what is undecided may lose."""
    start = {**paint.answers, 3: {**paint.answers[3], "start": Answer("undecided")}}
    rounded = replace(
        paint,
        answers=start,
        gaps={k: replace(gap, found=(-9.0, -8.0)) for k, gap in paint.gaps.items()},
    )
    assert rounded.loss(5) == (0.0, 0.0)
    assert rounded.loss(3)[0] > 7
    assert format_report(rounded, ["start"])[6] == "5    yes               0"
    assert rounded.record()["gap"]["5"]["loss"] == [0.0, 0.0]


def test_one_state_is_one_state():
    assert (
        "1 state within 0 steps, " in format_report(check_k("letter", k=[0], depth=0, most=100))[1]
    )


def test_a_report_shows_itself_in_a_notebook(paint):
    shown = paint._repr_html_()
    assert shown.count("<tr>") == 1 + len(paint.answers)
    assert "from the start: k = 5 is enough" in shown


def test_smallest_is_for_all_states_unless_a_depth_is_given(paint):
    answers = {
        k: {"everywhere": Answer("yes", depth=d)} for k, d in ((3, 2), (4, 2), (5, 6), (6, None))
    }
    report = replace(paint, answers=answers)
    assert [report.smallest("everywhere", depth) for depth in (None, 1, 2, 3, 6, 7)] == [
        6,
        3,
        3,
        5,
        5,
        6,
    ]
    assert report.furthest("everywhere") == 6
    near = replace(paint, answers={k: answers[k] for k in (3, 4, 5)})
    assert (near.smallest("everywhere"), near.furthest("everywhere")) == (None, 5)


def test_what_there_is_not_is_refused_with_what_there_is(paint):
    for ask in (
        lambda: paint.smallest("begin"),
        lambda: paint.furthest("begin"),
        lambda: paint.witness(4, "begin"),
    ):
        with pytest.raises(BadSetting, match="known: `same_values`, `everywhere`, `start`"):
            ask()
    for ask in (
        lambda: paint.loss(9),
        lambda: paint.witness(9, "start"),
        lambda: paint.certificate(9, "start"),
    ):
        with pytest.raises(BadSetting, match=r"k = 9 was not asked about: there are k = 3…6"):
            ask()


@pytest.mark.parametrize(
    ("everywhere", "start", "lost", "k", "proved"),
    [
        (Answer("yes"), Answer("yes"), 0.0, 3, "all states"),
        (Answer("no"), Answer("yes"), 0.0, 3, "start"),
        (Answer("yes", depth=4), Answer("undecided"), 0.09, 3, "depth"),
        (Answer("yes", depth=4), Answer("undecided"), 0.2, None, "nothing"),
        (Answer("yes", depth=4), Answer("no"), 1.2, None, "nothing"),
        (Answer("yes", depth=4, vacuous=True), Answer("undecided"), 0.09, None, "nothing"),
        (Answer("yes", depth=4), Answer("undecided"), 0.0, 3, "loss"),
        (Answer("undecided"), Answer("undecided"), 0.001, 3, "loss"),
        (Answer("no"), Answer("no"), 0.2, None, "nothing"),
    ],
)
def test_what_is_recommended(paint, everywhere, start, lost, k, proved):
    found = {"same_values": Answer("no"), "everywhere": everywhere, "start": start}
    value = 10.0, 10.0
    gap = replace(paint.gaps[3], found=(10 - 10 * lost, 10 - 10 * lost))
    optimal = replace(paint, answers={3: found}, gaps={3: gap}, solved=value, ended="time")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(paint), "value_from_start", property(lambda _self: value))
        advice = optimal.recommendation
        assert (advice.k, advice.proved) == (k, proved)
        assert advice.agent == ("summary" if k is None else "cprm")
        assert f"so: {advice.text}" == format_report(optimal)[-1]
        assert ("may help" in advice.text) == (proved in {"depth", "nothing"} or lost == 0.001)


def test_a_witness_is_drawn_from_a_report(paint):
    assert paint.draw()._repr_png_().startswith(b"\x89PNG")
    assert "<figure>" in paint._repr_html_()
    with pytest.raises(DoesNotApply, match="for k = 5"):
        paint.draw(k=5)


def test_one_discount_unless_one_is_given():
    assert KSearch(Task("multi-10x10"), seconds=1).discount == solve("multi-10x10").discount == 0.9


def test_of_the_k_that_were_tried_on_the_way_those_next_to_a_change_are_shown():
    report = check_k("paint")
    answers = {k: report.answers[min(k, 5)] for k in (0, 1, 2, 3, 4, 9, 10, 30, 31)}
    found = {**answers, 9: report.answers[4]}
    tried = replace(
        report, answers=found, gaps={k: report.gaps[min(k, 5)] for k in found}, beyond=32
    )
    assert list_shown(tried) == [0, 1, 2, 3, 4, 9, 10, 31]
    assert "9, 10: next to where the answers change; 30 tried, too" in str(tried)
    assert list_shown(replace(tried, beyond=None)) == list(found)


def test_a_report_as_rows_and_as_a_picture_in_a_file(paint, tmp_path):
    rows = paint.table()
    assert [(row.k, row.start) for row in rows] == [(3, "no"), (4, "no"), (5, "yes"), (6, "yes")]
    assert rows[2].record()["loss"] == 0
    paint.draw(tmp_path / "first.svg")
    paint.draw(4, "start", path=tmp_path / "second.svg")
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()


def test_what_is_no_certificate_is_said_and_a_task_of_ones_own_is_asked_for(paint):
    for wrong in (paint, {}):
        with pytest.raises(WrongKind, match=r"report\.certificate"):
            verify(wrong)
    proof = paint.certificate(5, "everywhere")
    with pytest.raises(UnknownDomain, match=r"pdrm\.verify\(proof, task\)"):
        verify(replace(proof, domain="mine"))


def test_english_of_small_numbers(paint):
    zero = replace(
        paint, answers={0: {"start": Answer("no"), "everywhere": Answer("no")}}, beyond=1
    )
    assert summarize(zero, "start") == "k = 0 is not enough"
    one = replace(zero, answers={1: zero.answers[0]}, beyond=2)
    assert "with more than 1 symbol all states" in summarize(one, "everywhere")
    assert (
        summarize(one, "start") == "no k up to 1 is enough"
    )  # states that are not asked about count there, too


def test_a_situation_is_short_where_a_list_of_them_is_shown(paint):
    shown = repr(paint.witness(4, "start")[1])
    assert shown.endswith("stack stain stain stain stain stain #; best: ask_5>")


def test_a_number_in_the_place_of_the_machine_is_answered():
    with pytest.raises(WrongKind, match=r"check_k\(task, k=1\)"):
        check_k("paint", 1)
    with pytest.raises(BadSetting, match="from 0 on"):
        check_k("paint", depth=-3)


def test_a_large_loss_is_said_where_it_is_known(paint):
    lost = replace(
        paint, gaps={k: replace(gap, found=(-9.0, -9.0)) for k, gap in paint.gaps.items()}
    )
    assert "(more than all of it)" in str(lost)
    wide = replace(
        paint, gaps={k: replace(gap, found=(-9.0, 0.0)) for k, gap in paint.gaps.items()}
    )
    assert "not known" in str(wide)


def test_the_rows_of_a_small_table_are_counted_though_not_all_states_are():
    report = check_k("echo", k=[3], depth=3, seconds=5)
    assert report.optimal.product.frontier.size
    assert len(report.optimal.product) < _count_rows(report, 3) < 2_000
    assert _count_rows(report, 900) == inf
