"""How time is shared between proofs: everyone first, then fairly, and what one leaves goes to the others."""

from proofs.checked import Checked
from proofs.record import Record
from proofs.shares import MOST_WRONG, Shares
from tests.proofs.checks import proof

TIMES = {"quick": 1.0, "slow": 10.0, "short": 2.0}
TARGETS = {"quick": 10**6, "slow": 10**6, "short": 30}


def simulated(budget, workers=1, records=None, *, wrong=()):
    """What each proof gets if its checks take just these times and try ten cases each."""
    proofs = {name: proof(name, target=TARGETS[name]) for name in TIMES}
    shares = Shares(proofs, records or {name: Record("") for name in proofs})
    now, running, order = 0.0, [], []
    while True:
        while len(running) < workers and (served := shares.next(budget - now)) is not None:
            running.append((now + TIMES[served[0].name], served[0].name, served[1]))
            order.append(served[0].name)
        if not running:
            return shares, order, now
        running.sort(reverse=True)
        now, name, seed = running.pop()
        shares.returned(name, TIMES[name])
        message = "wrong" if name in wrong else ""
        shares.records[name].add(Checked(name, seed, 10, TIMES[name], message, {}), "today")


def test_everyone_is_served_once_before_anyone_is_served_twice():
    _, order, _ = simulated(budget=13)
    assert order[:3] == list(TIMES)


def test_no_proof_is_left_without_a_case():
    shares, _, _ = simulated(budget=13)
    assert all(record.cases for record in shares.records.values())


def test_time_is_shared_evenly_and_what_one_leaves_goes_to_the_others():
    shares, _, _ = simulated(budget=1_000)
    assert shares.records["short"].cases == 30
    assert shares.spent["short"] == 6
    assert abs(shares.spent["quick"] - shares.spent["slow"]) <= 10
    assert sum(shares.spent.values()) > 985


def test_two_at_a_time_have_twice_as_much():
    shares, _, now = simulated(budget=100, workers=2)
    assert sum(shares.spent.values()) > 185
    assert now <= 100


def test_a_check_that_would_end_too_late_is_not_begun():
    shares, _, now = simulated(budget=19.5)
    assert now <= 19.5
    assert len(shares.records["slow"].done) == 1


def test_going_on_takes_new_seeds_and_stops_at_the_target():
    first, _, _ = simulated(budget=30)
    again, _, _ = simulated(budget=30, records=first.records)
    for record in again.records.values():
        assert record.done == list(range(len(record.done)))
    assert len(again.records["slow"].done) > 1
    assert again.records["short"].cases == 30


def test_a_proof_that_is_wrong_too_often_is_given_up():
    shares, _, _ = simulated(budget=200, wrong=("quick",))
    assert len(shares.records["quick"].done) == MOST_WRONG
    assert sum(shares.spent.values()) > 185


def test_time_to_the_target():
    shares, _, _ = simulated(budget=3)
    assert shares.to_target("quick") == (10**6 - shares.records["quick"].cases) / 10
    assert Shares({"slow": proof("slow")}, {"slow": Record("")}).to_target("slow") == float("inf")
