"""Witnesses at any height. That they are right is a proof (`tests/properties/high_witness.py`)."""

from pdrm.analysis import whole_stack
from pdrm.analysis.solving import compile_solver
from pdrm.analysis.sufficient_k.check_k import check_k
from pdrm.analysis.sufficient_k.high_witness import Followed, HighWitnesses
from pdrm.analysis.sufficient_k.questions import NO, UNDECIDED
from pdrm.analysis.time_limit import limit_time
from pdrm.cli.setup_commands import make_project
from pdrm.domains.array_domain import from_arrays
from pdrm.language.loading import parse_word
from pdrm.task import Task


def test_a_no_beyond_what_was_explored():
    """Few states decide nothing, and the witness is higher than they are; a bound or a depth makes another question of it."""
    maze = Task("maze-5x5")
    report = check_k(maze, k=[4], most=300, seconds=None)
    answer = report.answers[4]["everywhere"]
    assert answer.verdict == NO == report.answers[4]["same_values"].verdict
    one, other = report.witness(4, "everywhere")
    assert one.seen == other.seen == one.stack[:4]
    assert one.stack != other.stack
    assert not set(one.actions) & set(other.actions)
    for situation in (one, other):
        after = maze.pushdown.run(parse_word(situation.word)).after
        assert (after.state, after.stack) == (situation.state, situation.stack)
        assert len(situation.stack) > 4
    assert report.record()["witnesses"]["4"]["everywhere"][0]["stack"] == one.stack
    for settings in ({"depth": 2}, {"height": 40, "rule": "fail"}):
        asked = check_k(maze, k=[4], most=300, seconds=None, **settings)
        assert not asked.answers[4]["everywhere"].situations


def test_what_is_best_depends_on_how_high_the_stack_is(tmp_path):
    """If the project of `pdrm new` paid 1 for a step back, walking about for some 57 steps first would pay: no exploring gets there."""
    make_project(tmp_path / "garden", "grid")
    text = (tmp_path / "garden/task.pdrm").read_text()
    assert text.count("eps, 0.1 ") == 1
    garden = Task(tmp_path / "garden/map.txt", text.replace("eps, 0.1 ", "eps, 1 "))
    high = HighWitnesses.of(garden, 0.99)
    one, other = high.find("everywhere", 3)
    assert one.seen == other.seen == one.stack[:3]
    assert not set(one.actions) & set(other.actions)
    assert max(len(one.stack), len(other.stack)) > 57
    clash = high.find_from_start(0)
    for situation in (one, other, *clash):
        after = garden.pushdown.run(parse_word(situation.word)).after
        assert (after.state, after.stack) == (situation.state, situation.stack)
    assert len({(situation.place, situation.state) for situation in clash}) == 1


def test_where_it_does_not_apply():
    assert HighWitnesses.of(Task("letter"), 0.99) is None  # chance
    assert HighWitnesses.of(Task("multi-20x20"), 0.99) is None  # too large
    assert check_k("letter", k=[1], most=200, seconds=None).answers[1]["everywhere"].verdict in (
        UNDECIDED,
        "yes",
    )


def test_all_that_a_witness_needs_is_compiled_before_the_clock_runs(monkeypatch):
    called = set()
    for name in ("sweep", "evaluate_actions"):
        kernel = getattr(whole_stack, name)
        monkeypatch.setattr(
            whole_stack,
            name,
            lambda *args, kernel=kernel, name=name: (called.add(name), kernel(*args))[1],
        )
    compile_solver.__wrapped__()
    assert called == {"sweep", "evaluate_actions"}


LIFT = """
events more less
exclusive more less
stack # B
start u
final done
otherwise stay 0
u -> u : more, z / B z, 0.5
u -> u : less, B / eps, 1
u -> done : less, # / #, 1
"""


def lift(**settings):
    labels = [("more",), ("less",)]
    return Task(from_arrays("room", [[0, 0]], [[0, 1]], labels, step_limit=9, **settings), LIFT)


def test_a_pair_that_works_goes_further():
    """With more on the stack there is more to pop: the same moves on both of a pair make a pair with more symbols in view."""
    high = HighWitnesses.of(lift(), 0.9)
    for k in (1, 2, 6, 15):
        one, other = high.find("same_values", k)
        assert one.seen == other.seen == ("B",) * k
        assert one.value[1] < other.value[0] or other.value[1] < one.value[0]
        for situation in (one, other):
            after = high.solution.machine.run(parse_word(situation.word)).after
            assert (after.state, after.stack) == (situation.state, situation.stack)


def test_without_time_or_a_start_nothing_is_found():
    high = HighWitnesses.of(lift(), 0.9)
    high.tries = 25
    assert high.find("everywhere", 1) is None  # a pop is best with any stack
    with limit_time(0):
        assert high.find("everywhere", 1) is None
    over = from_arrays(
        "over", [[0, 0]], [[0, 1]], [("more",), ("less",)], step_limit=9, terminal=[True]
    )
    assert HighWitnesses.of(Task(over, LIFT), 0.9).find("same_values", 0) is None


def test_optimal_play_that_may_stand_still_is_followed_to_its_end():
    """Where doing nothing is as good as ending, ending is found."""
    stall = from_arrays(
        "stall",
        next=[[0, 0]],
        label=[[0, 1]],
        labels=[("apple",), ("market",)],
        actions=("pick", "sell"),
        step_limit=20,
    )
    text = """events apple market
exclusive apple market
stack # A
start gather
final done
otherwise stay 0
gather -> gather : apple, z / A z, 0
gather -> sell : market, z / z, 0
sell -> sell : market, A / eps, 1
sell -> done : market, # / #, 0"""
    high = HighWitnesses.of(Task(stall, text), 0.9)
    ends = high.follow_optimal()
    picked = ends.steps // 2 - 1
    assert ends == Followed(2 * picked + 2, ends=True)
    assert 5 <= picked <= 8
    assert high.follow_optimal(most=5) == Followed(6, ends=None)
    never = HighWitnesses.of(
        Task(
            stall,
            text.replace("sell -> done : market, # / #, 0", "sell -> sell : market, # / #, 0"),
        ),
        0.9,
    )
    assert never.follow_optimal().ends is False
