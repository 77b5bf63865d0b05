"""Following k-policies: their values are those of plain steps, and what k symbols lose is bounded by them."""

from random import Random

import pytest

from pdrm.analysis.sufficient_k.check_k import KSearch, check_k
from pdrm.analysis.sufficient_k.k_answers import Answers
from pdrm.analysis.sufficient_k.k_walks import Walks
from pdrm.analysis.sufficient_k.questions import NO, UNDECIDED, YES, Answer
from pdrm.machines.tables import begin_table, step_table, tabulate
from pdrm.task import Task

CIRCLES = """name circles
events u d l r x t
exclusive u d l r
stack # u d l r
start go
final out
otherwise stay 0
for step in u d l r:
    go -> go : step & !x, z / step z, 1
    go -> back : step & x, z / step z, 3
    back -> go : step, z / eps, 2
go -> out : !u & !d & !l & !r, u / u, 5
back -> back : eps, d / eps, 0.5
"""


def walk_plainly(task, discount, k, policy, steps):
    """What a policy gets within some steps, by the table alone."""
    arrays, total = task.finite.arrays, 0.0
    table = tabulate(task.pushdown, task.finite.labels)
    for chance, first in zip(
        arrays.start_probability.tolist(), arrays.start_state.tolist(), strict=True
    ):
        (u, stack, paid), weight, s = begin_table(table), 1.0, first
        for _ in range(steps):
            if u >= table.first_final or arrays.terminal[s]:
                break
            a = policy[s, u, stack[:k]]
            u, stack, reward = step_table(table, u, stack, int(arrays.label[s, a, 0]))
            paid, weight = (
                paid + weight * (reward + float(arrays.reward[s, a, 0])),
                weight * discount,
            )
            s = int(arrays.next[s, a, 0])
        total += chance * paid
    return total


def test_a_way_is_worth_what_plain_steps_get():
    """Random policies on the maze, with ways that end, repeat themselves, or go on with ever higher stacks."""
    random, kinds = Random(5), set()
    for machine in ("treasure-maze", CIRCLES):
        task = Task("maze-5x5", machine)
        walks = Walks(task, 0.9, within=(-1e4, 1e4))
        for _ in range(40):
            k, policy = random.randint(0, 3), {}
            low, high = walks.follow(k, policy, lambda *_: random.randrange(4)).value
            kinds.add((len(policy) > 6, round(low) != 0))
            assert low <= high < low + 1e-3
            assert walk_plainly(task, 0.9, k, policy, 300) == pytest.approx(
                (low + high) / 2, abs=1e-3
            )
    assert len(kinds) > 2


def test_a_wrong_end_of_a_way_is_noticed(monkeypatch):
    monkeypatch.setattr("pdrm.analysis.sufficient_k.k_walks._repeats", lambda *_: True)
    with pytest.raises(
        (AssertionError, KeyError)
    ):  # another value, or a view that it should have reached
        test_a_way_is_worth_what_plain_steps_get()


@pytest.mark.compiled  # it counts seconds
def test_a_policy_that_was_followed_bounds_the_loss():
    """Exploring alone does not know what any k loses in this maze within so little time."""
    report = check_k("maze-10x10", k=[0, 1], seconds=3)
    assert report.loss(0)[1] < 1e-3 * report.value_from_start[0]
    assert report.loss(1)[1] <= report.loss(0)[1]


def test_answers_carry_over_to_other_k():
    search = KSearch(Task("paint"), k=[0])
    answers = Answers(search.optimal, short=True)
    given = {
        0: Answer(UNDECIDED),
        1: Answer(YES, 2),
        2: Answer(UNDECIDED),
        3: Answer(YES),
        4: Answer(YES, 5),
    }
    no = {
        0: Answer(UNDECIDED),
        1: Answer(YES, 2),
        2: Answer(NO, witness=(0, 1)),
        3: Answer(UNDECIDED),
        4: Answer(YES),
    }
    answers.found = {
        k: {"same_values": Answer(NO), "everywhere": no[k], "start": given[k]} for k in given
    }
    answers.carry_over()
    found = {q: [answers.found[k][q] for k in given] for q in ("everywhere", "start")}
    assert [one.reach for one in found["start"]] == [-1, 2, 2, float("inf"), float("inf")]
    assert [one.found_at for one in found["start"]] == [None, None, 1, None, 3]
    assert [one.verdict for one in found["everywhere"]] == [NO, NO, NO, YES, YES]
    assert [one.depth for one in found["everywhere"]][3:] == [2, None]
