"""Which k is enough: what is known of the catalogue's domains, and random products against all k-policies."""

from pathlib import Path

import numpy as np
import pytest

from pdrm.analysis.optimal import MOST_ACTIONS, find_optimal
from pdrm.analysis.sufficient_k.certificate import EVERY_STACK
from pdrm.analysis.sufficient_k.check_k import check_k
from pdrm.analysis.sufficient_k.questions import KEPT, QUESTIONS, Classes, answer_questions
from pdrm.domains.array_domain import from_arrays
from pdrm.domains.outcomes import Outcome, Start, from_outcomes
from pdrm.domains.paper_domains import domain
from pdrm.errors import BadSetting, UnknownDomain, UnknownMachine
from pdrm.language.loading import catalogue, save
from pdrm.machines.guards import Event
from pdrm.machines.transitions import Otherwise, Transition
from pdrm.paper.generated_tasks import deliver_tasks, sequences_of
from pdrm.product.finite_product import FiniteProduct
from tests.machines.small import reward_machine

pytestmark = pytest.mark.compiled

A = Event("A")


EIGHT, FOUR_EIGHT = deliver_tasks(*sequences_of(catalogue("deliver-four")))
"""DeliverWorld with few sequences."""


def report(name, ks, **options):
    """Without a limit of time: on a busy computer the answers are the same."""
    options = {"seconds": None, **options}
    where = domain(name) if isinstance(name, str) else name.finite
    return check_k(
        where, catalogue(where.machine) if isinstance(name, str) else name.pushdown, ks, **options
    )


def verdicts(found):
    return {
        k: tuple(answer.verdict for answer in asked.values()) for k, asked in found.answers.items()
    }


def test_states_look_alike_if_their_top_symbols_are_the_same():
    product = FiniteProduct(domain("echo"), catalogue("echo"))
    product.explore(10)
    for chosen in (np.arange(len(product)), np.arange(0, len(product), 7), np.arange(0)):
        classes, told_apart = Classes(product, chosen), {}
        for k in (KEPT + 3, 0, 1, KEPT - 1, KEPT, 20):  # in any order
            seen = [
                (product.place[x], product.machine_state(x), product.stack(x)[:k])
                for x in chosen.tolist()
            ]
            number = classes.at(k).tolist()
            assert len(set(zip(seen, number, strict=True))) == len(set(seen)) == len(set(number))
            told_apart[k] = len(set(seen)) == len(seen)
        least = classes.count_to_tell_apart()
        assert all(apart == (k >= least) for k, apart in told_apart.items())


def test_paint_needs_five():
    found = report("paint", range(6))
    assert verdicts(found) == {
        **dict.fromkeys(range(5), ("no", "no", "no")),
        5: ("yes", "yes", "yes"),
    }
    assert found.optimal.depth is None
    losses = [found.gaps[k].gap[1] for k in range(6)]
    assert losses == sorted(losses, reverse=True)
    # With no stain seen apart, asking for five units always costs 5/6 against the mean of n/(n+1).
    assert losses[0] == pytest.approx(5 / 6 - 0.71)


def test_echo_needs_one_everywhere_and_has_same_values_at_none():
    found = report("echo", range(5), depth=9)
    assert verdicts(found)[0] == ("no", "no", "no")
    assert all(verdicts(found)[k] == ("no", "yes", "yes") for k in (1, 2, 3, 4))
    first, second = found.witness(1, "same_values")
    assert first.seen == second.seen
    assert first.value != second.value


def test_the_maze_of_the_paper():
    """Section 4 of the specification: from the start k = 0 is enough, everywhere none of 0..4 is."""
    found = report("maze-5x5", range(5), most=100_000)
    assert all(verdicts(found)[k] == ("no", "no", "yes") for k in range(5))
    assert all(found.answers[k]["start"].depth is None for k in range(5))
    assert found.gaps[0].gap[1] < 1e-6
    for k in (1, 2):
        straight, bumped = found.witness(k, "everywhere")
        assert (straight.stack, straight.actions) == (("d", "d", "d", "#"), ("r",))
        assert (bumped.stack, bumped.actions) == (("d", "d", "l", "d", "#"), ("d",))
        assert straight.where == bumped.where == "row 3, column 1"
        assert straight.state == bumped.state == "search"
    for k in (3, 4):
        first, second = found.witness(k, "everywhere")
        assert first.seen == second.seen
        assert not set(first.actions) & set(second.actions)


def test_deliver_world():
    found = report(EIGHT, range(6))
    assert [found.smallest(question) for question in QUESTIONS] == [5, 5, 1]
    shorter = report(FOUR_EIGHT, range(4))
    assert [shorter.smallest(question) for question in QUESTIONS] == [3, 3, 2]


def test_letter_needs_no_stack_at_all():
    found = report("letter", range(2), depth=12)
    assert verdicts(found) == {0: ("no", "yes", "undecided"), 1: ("no", "yes", "undecided")}
    assert found.answers[0]["everywhere"].depth == 12


def test_each_answer_implies_the_next():
    strength = {"yes": 2, "undecided": 1, "no": 0}
    for name, depth in (("maze-10x10", 3), ("multi-10x10", 2), ("letter", 8)):
        for asked in report(name, range(3), depth=depth, most=4_000).answers.values():
            ranks = [strength[answer.verdict] for answer in asked.values()]
            assert not (ranks[0] == 2 and ranks[1] == 0)
            assert not (ranks[1] == 2 and ranks[2] == 0)


def test_a_cap_changes_the_problem_and_is_part_of_the_answer():
    capped = report("letter", range(2), height=4, rule="fail")
    assert capped.optimal.depth is None
    record = capped.record()
    assert (record["height"], record["rule"], record["depth"]) == (4, "fail", None)
    assert record["k"]["1"]["start"] == "yes"


def test_a_witness_leads_where_it_says():
    found = report(FOUR_EIGHT, range(2))
    product = found.optimal.product
    for k, asked in found.answers.items():
        for answer in asked.values():
            seen = {
                (int(product.place[x]), product.machine_state(x), product.stack(x)[:k])
                for x in answer.witness
            }
            assert len(seen) <= 1


def test_a_domain_and_a_machine_by_name_file_or_kind(tmp_path):
    once = reward_machine(
        "once", ("A", "B", "C"), "u", ("f",), Otherwise.stay(0), (Transition.plain("u", "f", A, 1),)
    )
    save(once, tmp_path / "once.pdrm")
    records = [
        check_k(domain("letter"), kind, [0]).record() for kind in (once, tmp_path / "once.pdrm")
    ]
    assert records[0] == records[1]
    assert (
        check_k("letter", "letter", [0], depth=4).record()
        == report("letter", [0], depth=4).record()
    )


@pytest.mark.parametrize(
    ("where", "machine", "error"),
    [
        ("lettr", "letter", UnknownDomain),
        ("letter", "lettr", UnknownMachine),
        (None, "letter", BadSetting),
        ("letter", 3, BadSetting),
    ],
)
def test_what_is_no_domain_or_no_machine(where, machine, error):
    with pytest.raises(error) as caught:
        check_k(where, machine, [0])
    assert caught.value.fix


def crowd(actions):
    """A state whose last action alone pays."""
    label = [[0] * (actions - 1) + [1]]
    return from_arrays(
        "crowd", [[0] * actions], label, [(), ("A",)], events=("A", "B", "C"), step_limit=5
    )


def test_many_actions():
    once = reward_machine(
        "once", ("A", "B", "C"), "u", ("f",), Otherwise.stay(0), (Transition.plain("u", "f", A, 1),)
    )
    found = check_k(crowd(MOST_ACTIONS), once, [0])
    assert found.optimal.surely.tolist() == [1 << (MOST_ACTIONS - 1)]
    assert verdicts(found) == {0: ("yes", "yes", "yes")}
    for more in (MOST_ACTIONS + 1, 64, 70):
        with pytest.raises(BadSetting, match=f"has {more} actions"):
            check_k(crowd(more), once, [0])


def test_bad_depth():
    with pytest.raises(BadSetting):
        report("letter", [0], depth=-1)


def test_undecided_is_said_where_memory_ends():
    where = domain("maze-10x10")
    found = find_optimal(FiniteProduct(where, catalogue(where.machine)), 0.99, depth=3, most=200)
    assert found.decided_share < 1
    assert "undecided" in {answer.verdict for answer in answer_questions(found, 1).values()}


def test_the_search_from_the_start_goes_back(monkeypatch):
    """A first choice that fails later is taken back: a clash between classes, not within one."""
    from pdrm.analysis.sufficient_k.from_start import search_policy

    found = find_optimal(FiniteProduct(EIGHT.finite, EIGHT.pushdown), 0.99)
    choice = search_policy(found, found.surely, 1)
    product = found.product
    seen, todo = set(), [int(x) for x in product.starts]
    action = {}
    for x, a in choice.action.items():
        action[int(product.place[x]), int(product.states.state[x]), product.stack(x)[:1]] = a
    while todo:
        x = todo.pop()
        if x in seen or x < 0:
            continue
        seen.add(x)
        a = action[int(product.place[x]), int(product.states.state[x]), product.stack(x)[:1]]
        assert found.surely[x] >> a & 1
        todo += product.next[x, a].tolist()
    assert len(seen) > 100
    monkeypatch.setattr("pdrm.analysis.sufficient_k.from_start.MOST_STEPS", 5)
    assert search_policy(found, found.surely, 1) is None


def test_ties_are_decided_beyond_what_is_known():
    """In LetterEnv all four ways off the cell A and back are best, though no value there is known exactly."""
    where = domain("letter")
    product = FiniteProduct(where, catalogue(where.machine))
    found = find_optimal(product, 0.99, depth=10)
    tied = [x for x in found.asked.tolist() if found.surely[x] == 0b1111 and x not in found.exact]
    assert tied
    assert all(found.values.upper[x] - found.values.lower[x] > 1e-12 for x in tied)
    assert found.decided_share == 1.0


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("`paint`", "paint"),
        ("`echo`", "echo"),
        ("`deliver-8`, four", EIGHT),
        ("`deliver-4-8`, five", FOUR_EIGHT),
    ],
)
def test_the_page_says_what_comes_out(name, task):
    page = (Path(__file__).parents[2] / "docs" / "sufficient-k.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| {name}"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    found = report(task, range(6))
    assert cells[2] == (
        f"all {len(found.optimal.asked):,}"
        if found.optimal.depth is None
        else f"{len(found.optimal.asked):,} within {found.optimal.depth} steps"
    )
    smallest = {question: found.smallest(question) for question in QUESTIONS}
    every = {
        q: k is not None and found.answers[k][q].scope == EVERY_STACK for q, k in smallest.items()
    }
    assert cells[3:] == [
        "none" if k is None else f"{k}{', for every stack' * every[q]}" for q, k in smallest.items()
    ]


def test_where_every_episode_ends_in_time_nothing_is_said_of_the_step_limit():
    def toss(_state, _action):
        return [Outcome("s", 0.5, frozenset({"heads"})), Outcome("s", 0.5)]

    once = "events heads\nstack #\nstart u\nfinal f\notherwise go f 0\nu -> f : heads, # / #, 1"
    until = "events heads\nstack #\nstart u\nfinal f\notherwise stay 0\nu -> f : heads, # / #, 1"
    for machine, said in ((once, False), (until, True)):
        coin = from_outcomes(
            "coin", {"s": "s"}, ["toss"], toss, [Start("s")], events=["heads"], step_limit=9
        )
        assert (
            "it is not known how long optimal"
            in str(check_k(coin, machine, k=[0, 1], progress=False))
        ) == said
