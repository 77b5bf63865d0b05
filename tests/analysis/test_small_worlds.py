"""The three questions on worlds of a few states whose answers are known by hand, and what becomes of them near the limits."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from pdrm.analysis.optimal import find_optimal
from pdrm.analysis.sufficient_k.check_k import check_k
from pdrm.analysis.sufficient_k.checker import find_fault
from pdrm.analysis.sufficient_k.k_gap import measure_gap
from pdrm.analysis.sufficient_k.questions import answer_questions
from pdrm.analysis.values import bound_by_top
from pdrm.domains.array_domain import from_arrays
from pdrm.domains.paper_domains import domain
from pdrm.errors import BadSetting
from pdrm.language.loading import catalogue, parse
from pdrm.product.finite_product import Bound, FiniteProduct

EVENTS = ("a", "b", "c", "x", "y", "w", "v")
HEAD = "name ways\nevents a b c x y w v\nexclusive a b c x y w v\nstack # X Y W V\nstart u\nfinal end\notherwise go end 0\n"
FIRST = "u -> v : x, # / X #, 0\nu -> v : y, # / Y #, 0\nu -> v : w, # / W #, 0\nu -> v : v, # / V #, 0\n"


def choosing(paying, actions="abc"):
    """A machine that remembers its first label on the stack and pays, once, for an action: `X: {a: 1}` and so on."""
    rules = "".join(
        f"v -> end : {action}, {symbol} / {symbol}, {reward!r}\n"
        for symbol, rewards in paying.items()
        for action, reward in rewards.items()
    )
    return parse(HEAD + FIRST + rules), starting(len(paying), actions)


def starting(ways, actions):
    """One state; an episode starts with x, y, w or v, and an action is an event."""
    labels = [(event,) for event in EVENTS]
    where = from_arrays(
        "d", [[0] * len(actions)], [[EVENTS.index(a) for a in actions]], labels, step_limit=9
    )
    arrays = where.arrays._replace(
        start_state=np.zeros(ways, np.int32),
        start_probability=np.full(ways, 1 / ways),
        start_label=np.arange(3, 3 + ways, dtype=np.int32),
    )
    return replace(where, arrays=arrays)


def verdicts(report, k):
    return tuple(answer.verdict for answer in report.answers[k].values())


def test_three_that_look_alike_may_clash_though_no_two_do():
    machine, where = choosing({"X": {"a": 1, "b": 1}, "Y": {"b": 1, "c": 1}, "W": {"a": 1, "c": 1}})
    report = check_k(where, machine, range(2))
    assert verdicts(report, 0) == ("no", "no", "no")
    assert verdicts(report, 1) == ("yes", "yes", "yes")
    for question in ("everywhere", "start"):
        witness = report.witness(0, question)
        assert sorted(one.stack[0] for one in witness) == ["W", "X", "Y"]
        assert all(len(one.actions) == 2 for one in witness)
    assert report.gaps[0].gap[1] == pytest.approx(1 / 3)


def test_of_those_that_clash_only_the_needed_ones_are_shown():
    """X allows all actions: it has no part in the clash of Y and W, nor in that of Y, W and V."""
    machine, where = choosing({"X": {"a": 1, "b": 1, "c": 1}, "Y": {"b": 1}, "W": {"c": 1}})
    assert sorted(
        one.stack[0] for one in check_k(where, machine, [0]).witness(0, "everywhere")
    ) == ["W", "Y"]
    three = [{"a": 1, "b": 1}, {"b": 1, "c": 1}, {"a": 1, "c": 1}]
    for free in range(4):  # nearer than the others, between them, or farther
        machine, where = choosing(
            dict(zip("XYWV", [*three[:free], {"a": 1, "b": 1, "c": 1}, *three[free:]], strict=True))
        )
        witness = check_k(where, machine, [0]).witness(0, "everywhere")
        assert {one.stack[0] for one in witness} == set("XYWV") - {"XYWV"[free]}


def test_values_that_no_interval_tells_apart_are_told_apart_exactly():
    machine, where = choosing({"X": {"a": 1.0}, "Y": {"a": 1.0 + 1e-14}}, "a")
    report = check_k(where, machine, [0])
    assert verdicts(report, 0) == ("no", "yes", "yes")
    first, second = report.answers[0]["same_values"].witness
    found = report.optimal
    assert found.values.lower[first] <= found.values.upper[second]
    assert found.values.lower[second] <= found.values.upper[first]
    assert {found.exact[first], found.exact[second]} == {1, Fraction("1.00000000000001")}


def test_where_the_episode_is_over_at_once_nothing_is_asked():
    machine = parse(
        "name m\nevents a\nstack #\nstart u\nfinal end\notherwise stay 0\nu -> end : eps, # / #, 1\n"
    )
    where = from_arrays("d", [[0]], [[0]], [("a",)], step_limit=9)
    report = check_k(where, machine, [0])
    assert verdicts(report, 0) == ("yes", "yes", "yes")
    assert report.optimal.decided_share == 1
    assert len(report.optimal.asked) == 0
    assert report.gaps[0].gap[1] == pytest.approx(0, abs=1e-9)
    assert report.record()["value_from_start"] == pytest.approx([1, 1])


GROWING = "name m\nevents a b\nexclusive a b\nstack # A\nstart u\notherwise stay 0\nu -> u : a, z / A z, 1\n"


def growing():
    """a pays 1 and pushes, whatever the stack; b pays nothing."""
    return parse(GROWING), from_arrays("d", [[0, 0]], [[0, 1]], [("a",), ("b",)], step_limit=9)


@pytest.mark.parametrize("rule", ["block", "fail"])
def test_a_yes_about_equal_values_has_a_certificate(rule):
    """Under `block` all stacks are worth the same. Under `fail` the higher ones end sooner: not so."""
    machine, where = growing()
    report = check_k(where, machine, [0], height=4, rule=rule)
    assert report.answers[0]["same_values"].verdict == ("yes" if rule == "block" else "no")
    proof = report.certificate(0, "everywhere")
    assert len(proof.states) == 4
    assert find_fault(where, machine, proof) is None
    same = replace(proof, question="same_values")
    assert (find_fault(where, machine, same) is None) == (rule == "block")


def test_states_above_a_bound_that_only_limits_the_look_are_in_the_certificate():
    machine, where = growing()
    proof = check_k(where, machine, [0], height=3, rule="open").certificate(0, "everywhere")
    assert proof.height == 3
    assert find_fault(where, machine, proof) is None


def test_equal_actions_of_different_values_are_no_proof_of_equal_values():
    machine, where = growing()
    proof = check_k(where, machine, [0], height=3, rule="fail").certificate(0, "everywhere")
    assert "values of" in find_fault(where, machine, replace(proof, question="same_values"))


def test_the_first_action_alone_is_proved_where_the_discount_is_0():
    text = "name m\nevents a b\nstack # A\nstart u\notherwise stay 0\nu -> u : a, # / A #, 1\nu -> u : b, A / A, 1\n"
    where, machine = (
        from_arrays("d", [[0, 0]], [[0, 1]], [("a",), ("b",)], step_limit=9),
        parse(text),
    )
    proof = check_k(where, machine, [0], discount=0.0).certificate(0, "start")
    assert find_fault(where, machine, proof) is None
    assert find_fault(where, machine, replace(proof, discount=0.5)) is not None


@pytest.mark.compiled
def test_a_state_alone_in_its_class_is_proved_whatever_its_best_action(monkeypatch):
    """Ties are not looked into, so many best actions are unknown; but seen whole, every stack is a class of its own."""
    where, machine = domain("letter"), catalogue("letter")
    monkeypatch.setattr("pdrm.analysis.optimal.MOST_TIED", 0)
    report = check_k(where, machine, [30], depth=3, most=500)
    assert report.optimal.decided_share < 1
    assert verdicts(report, 30) == (
        "yes",
        "yes",
        "undecided",
    )  # a policy from the start goes on beyond these steps
    assert report.answers[30]["everywhere"].depth == 3
    proof = report.certificate(30, "everywhere")
    assert find_fault(where, machine, proof) is None
    assert find_fault(where, machine, replace(proof, k=0)) is not None


def test_what_rests_on_open_states_is_undecided():
    """Both actions pay the same for ever and push different symbols: no state is like another as far as can be seen."""
    machine = parse(GROWING.replace("# A", "# A B") + "u -> u : b, z / B z, 1\n")
    where = from_arrays("d", [[0, 0]], [[0, 1]], [("a",), ("b",)], step_limit=9)
    report = check_k(where, machine, [0], depth=3, most=100)
    assert verdicts(report, 0) == ("undecided", "undecided", "yes")
    assert (
        report.answers[0]["start"].scope == "every stack"
    )  # which is proved without a list of states


@pytest.mark.compiled
def test_large_regions_are_left_untied_and_say_so(monkeypatch):
    where, machine = domain("letter"), catalogue("letter")
    tied = find_optimal(FiniteProduct(where, machine), 0.99, depth=4)
    monkeypatch.setattr("pdrm.analysis.optimal.MOST_TIED", 0)
    untied = find_optimal(FiniteProduct(where, machine), 0.99, depth=4, rounds=3)
    assert tied.decided_share == 1
    assert untied.decided_share < 1
    surely = untied.surely[untied.asked]
    assert np.all(surely & ~tied.possibly[tied.asked] == 0)


def test_states_that_depend_on_too_many_others_have_no_exact_value(monkeypatch):
    machine, where = growing()
    product = FiniteProduct(where, machine, Bound(4, "block"))
    whole = find_optimal(product, 0.99)
    assert set(whole.exact) == {0, 1, 2, 3}
    monkeypatch.setattr("pdrm.analysis.exact.MOST_TOGETHER", 0)
    without = find_optimal(FiniteProduct(where, machine, Bound(4, "block")), 0.99)
    assert without.exact == {}
    assert without.surely.tolist() == whole.surely.tolist() == [1] * 4


def test_a_policy_to_begin_with_is_improved_round_by_round(monkeypatch):
    """a pays 1 where x came first, b pays 3 where y did: with neither seen, always b loses 1 in 2 episodes."""
    machine, where = choosing({"X": {"a": 1}, "Y": {"b": 3}}, "ab")
    found = find_optimal(FiniteProduct(where, machine), 0.99)
    always_a = dict.fromkeys(range(len(found.product)), 0)
    assert measure_gap(found, 0, always_a).gap == pytest.approx((0.5, 0.5))
    monkeypatch.setattr("pdrm.analysis.sufficient_k.k_gap.ROUNDS", 0)
    assert measure_gap(found, 0, always_a).gap == pytest.approx((1.5, 1.5))


@pytest.mark.compiled
def test_the_watch_sees_the_product_grow():
    seen = []
    where, machine = domain("letter"), catalogue("letter")
    product = FiniteProduct(where, machine)
    find_optimal(product, 0.99, depth=4, watch=lambda states, most: seen.append((states, most)))
    assert seen
    assert seen == sorted(seen)
    assert seen[-1][0] <= len(product)
    assert {most for _, most in seen} == {min(1_500_000, product.most_states)}


def test_answers_do_not_depend_on_a_start_without_a_chance():
    """With a start of chance 0 in a state of its own, all is as without it, and the certificate holds."""
    machine = parse(GROWING)
    settings = {"step_limit": 9, "events": ["a", "b"]}
    where = from_arrays(
        "d",
        [[0, 0], [1, 1]],
        [[0, 1], [1, 1]],
        [("a",), ("b",)],
        start={0: 1.0, 1: 0.0},
        **settings,
    )
    report = check_k(where, machine, [0], height=3, rule="block")
    assert verdicts(report, 0) == ("yes", "yes", "yes")
    assert find_fault(where, machine, report.certificate(0, "everywhere")) is None
    assert answer_questions(report.optimal, 0)["start"].verdict == "yes"


def test_a_policy_is_bounded_however_little_time_there_is(monkeypatch):
    """Few sweeps, or no time to improve it: the interval still holds what the policy loses at least."""
    machine, where = choosing({"X": {"a": 1}, "Y": {"b": 3}}, "ab")
    found = find_optimal(FiniteProduct(where, machine), 0.99)
    always_a = dict.fromkeys(range(len(found.product)), 0)
    times = iter((1.0, 0.0))
    with monkeypatch.context() as patch:
        patch.setattr("pdrm.analysis.sufficient_k.k_gap.time_left", lambda: next(times, 0.0))
        assert measure_gap(found, 0, always_a).gap == pytest.approx((1.5, 1.5))
    machine, where = growing()
    round_and_round = find_optimal(FiniteProduct(where, machine, Bound(3, "block")), 0.99)
    whole = measure_gap(round_and_round, 0)
    monkeypatch.setattr("pdrm.analysis.sufficient_k.k_gap.SWEEPS", 2)
    short = measure_gap(round_and_round, 0)
    assert short.gap[0] <= whole.gap[0] <= whole.gap[1] <= short.gap[1]
    assert short.gap[1] > whole.gap[1]


def test_what_is_asked_before_ties_are_sought_is_answered_the_same(monkeypatch):
    machine, where = choosing({"X": {"a": 1, "b": 1}, "Y": {"b": 1, "c": 1}, "W": {"a": 1, "c": 1}})
    for ks in ([0, 1], [1], None):
        late = check_k(where, machine, ks)
        with monkeypatch.context() as patch:
            for module in ("optimal", "sufficient_k.check_k"):
                patch.setattr(f"pdrm.analysis.{module}.MANY", 0)
            early = check_k(where, machine, ks)
        assert {k: verdicts(early, k) for k in early.answers} == {
            k: verdicts(late, k) for k in late.answers
        }


def test_bounds_by_the_top_symbol_hold_after_any_number_of_sweeps():
    machine, where = growing()
    product = FiniteProduct(where, machine)
    known = [bound_by_top(product, 0.9, sweeps) for sweeps in (0, 1, 3, 1_000)]
    for wide, narrow in pairwise(known):
        assert np.all(wide.lower <= narrow.lower)
        assert np.all(narrow.lower <= narrow.upper)
        assert np.all(narrow.upper <= wide.upper)


def test_rewards_that_no_float_can_hold_are_refused():
    machine, where = choosing({"X": {"a": 1e308}}, "a")
    with pytest.raises(BadSetting, match="add up to more than a float can hold"):
        check_k(where, machine, [0], discount=0.99)
