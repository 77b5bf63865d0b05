"""Optimal values and actions with the whole stack: what is known by hand, and what is refused."""

from functools import partial

import numpy as np
import pytest

import pdrm
from pdrm.analysis.solving import find_optimal_value, find_solution
from pdrm.analysis.top_bounds import bound_silent_moves
from pdrm.domains.finite_domain import from_arrays
from pdrm.errors import (
    BadSetting,
    NoDiscount,
    OutOfTime,
    StochasticMoves,
    TaskWarning,
    UnboundedStep,
    UndefinedMove,
    UnknownConfiguration,
)
from pdrm.machines.tables import tabulate
from pdrm.task import Task

COUNT = """
events push pop wait
exclusive push pop wait
stack # A
start u
final f
otherwise OTHERWISE
u -> u : push, z / A z, 0
u -> u : pop, A / eps, 1
u -> f : pop, # / #, 10
"""


def one_state(labels, **more):
    count = len(labels)
    return from_arrays(
        "one",
        [[0] * count],
        [list(range(count))],
        [(label,) for label in labels],
        step_limit=9,
        **more,
    )


def counting(otherwise="stay 0", **more):
    return Task(one_state(("push", "pop", "wait"), **more), COUNT.replace("OTHERWISE", otherwise))


def test_values_that_are_known_by_hand():
    solution = pdrm.solve(counting(), discount=0.5)
    for height in (0, 1, 2, 7, 300):  # pop them all, one after the other
        stack = ("A",) * height + ("#",)
        value = sum(0.5**step for step in range(height)) + 0.5**height * 10
        assert abs(solution.value(0, "u", stack) - value) <= solution.error_at(height)
        assert solution.actions(0, "u", stack) == ("1",)
    assert solution.value(0, "f", ("#",)) == 0.0
    assert solution.actions(0, "f", ("#",)) == ()
    assert solution.value(0, "u", ()) == 0.0  # nothing applies to the empty stack but `otherwise`
    assert solution.actions(0, "u", ()) == ("0", "1", "2")


def test_going_round_for_ever_is_worth_its_limit():
    task = counting(reward=[[[0.0], [-100.0], [3.0]]])
    solution = pdrm.solve(task, discount=0.9)
    assert abs(solution.value(0, "u", ("#",)) - 30.0) <= solution.error
    assert solution.actions(0, "u", ("A", "#")) == ("2",)


def test_starts_labels_at_reset_and_silent_moves_before_the_first_label():
    solution = pdrm.solve("paint", discount=0.9)
    assert [begin.stack[0] for begin in solution.begins] == ["stain"] * 5
    assert abs(solution.start_value + (1 / 2 + 2 / 3 + 3 / 4 + 4 / 5 + 5 / 6) / 5) < 1e-9
    machine = "events a\nstack # A\nstart u\nfinal f\notherwise stay 0\nu -> v : eps, # / A #, 5\nv -> f : a, A / A, 2"
    begun = pdrm.solve(one_state(("a",)), machine, discount=0.9)
    assert abs(begun.start_value - 7.0) < 1e-9
    assert abs(begun.value(0, "u", ("#",)) - 7.0) < 1e-9
    assert begun.actions(0, "u", ("#",)) == ("0",)


def test_silent_moves_that_pay_for_every_symbol():
    machine = "events a\nstack # A\nstart u\nfinal f\notherwise stay 0\nu -> v : a, A / A, 0\nv -> v : eps, A / eps, 1\nv -> f : eps, # / #, 0"
    task = Task(one_state(("a",)), machine)
    assert bound_silent_moves(tabulate(task.pushdown, task.finite.labels)).grows
    solution = pdrm.solve(task, discount=0.9)
    for height in (1, 10, 500):
        assert (
            abs(solution.value(0, "u", ("A",) * height + ("#",)) - height)
            <= solution.error_at(height) + 1e-9
        )


def test_what_is_refused():
    with pytest.raises(StochasticMoves, match="letter"):
        pdrm.solve("letter")
    with pytest.raises(NoDiscount):
        pdrm.solve("paint", discount=1.0)
    with pytest.raises(BadSetting):
        pdrm.solve("paint", precision=0.0)
    with pytest.raises(UndefinedMove, match="wait"):
        pdrm.solve(counting(otherwise="error"))
    apart = pdrm.solve(
        one_state(("push", "pop")), COUNT.replace("OTHERWISE", "error")
    )  # the stack is never empty
    with pytest.raises(UndefinedMove, match="push"):
        apart.action_values(0, "u", ())
    solution = pdrm.solve("maze-5x5")
    with pytest.raises(UnknownConfiguration, match="99"):
        solution.value(99, "search", ("#",))
    with pytest.raises(UnknownConfiguration, match="nowhere"):
        solution.value(0, "nowhere", ("#",))
    with pytest.raises(UnknownConfiguration, match="`q`"):
        solution.actions(0, "search", ("q",))


def test_the_optimal_value_for_comparison_is_also_that_of_small_stochastic_tasks():
    domain = from_arrays(
        "slippery",
        [[[0, 1]], [[1, 1]]],
        [[[0, 1]], [[0, 0]]],
        [(), ("goal",)],
        step_limit=50,
        probability=[[[0.5, 0.5]], [[0.5, 0.5]]],
    )
    machine = "events goal\nstack #\nstart u\nfinal f\notherwise stay 0\nu -> f : goal, # / #, 1"
    task = Task(domain, machine)
    assert find_optimal_value(task, 0.5) == pytest.approx(2 / 3)
    assert find_optimal_value(task, 0.5) == pdrm.solve(task, discount=0.5).start_value
    assert find_optimal_value(Task("letter"), 0.9) is None


def test_stochastic_tasks_are_solved_within_the_time_or_not_at_all():
    states = 20_000
    walk = np.stack([np.arange(states) - 1, np.arange(states) + 1], axis=1).clip(0, states - 1)
    domain = from_arrays(
        "walk",
        walk[:, None],
        (walk == states - 1)[:, None].astype(int),
        [(), ("goal",)],
        step_limit=50,
        probability=np.full((states, 1, 2), 0.5),
    )
    machine = "events goal\nstack #\nstart u\nfinal f\notherwise stay 0\nu -> f : goal, # / #, 1"
    with pytest.raises(OutOfTime):
        pdrm.solve(domain, machine, seconds=1e-6)


def test_outcomes_that_are_the_same_are_one():
    domain = from_arrays(
        "twice",
        [[[0, 0]]],
        [[[0, 0]]],
        [("pop",)],
        step_limit=9,
        probability=[[[0.5, 0.5]]],
        events=("push", "pop", "wait"),
    )
    assert (
        pdrm.solve(domain, COUNT.replace("OTHERWISE", "stay 0"), discount=0.5).start_value == 10.0
    )


UNWIND = """
name unwind
events call ret throw
exclusive call ret throw
stack # F
start run
final done
otherwise stay -0.1
run -> run : call, z / F z, 1
run -> run : ret, F / eps, 0.5
run -> unwind : throw, z / z, 0
unwind -> unwind : eps, F / eps, PAID
unwind -> done : eps, # / #, 10
"""


@pytest.mark.parametrize(("paid", "discount"), [(-1, 0.99), (2, 0.9), (2, 0.99)])
def test_paid_silent_pops_have_a_useful_bound(paid, discount):
    """Values grow with the height of the stack, and so do the bounds one step later."""
    machine = UNWIND.replace("PAID", str(paid))
    task = Task(one_state(("call", "ret", "throw")), machine)
    solution = find_solution(task, discount)
    assert solution.error < 1e-4
    for height in (0, 1, 30, 900):
        stack = ("F",) * height + ("#",)
        later = solution.value(0, "run", ("F", *stack))
        calls = solution.action_values(0, "run", stack)["0"]
        assert calls == pytest.approx(1 + discount * later, abs=solution.error)
        throws = solution.action_values(0, "run", stack)["2"]
        assert throws == pytest.approx(paid * height + 10, abs=solution.error)
    assert solution.error_at(1_001) == float("inf")


def test_a_bound_that_proves_nothing_is_an_error():
    machine = UNWIND.replace("PAID", "-1").replace("z, 1", "z, 0").replace("eps, 0.5", "eps, 0")
    machine = machine.replace("stay -0.1", "stay 0")
    task = Task(one_state(("call", "ret", "throw")), machine)
    assert find_solution(task, 0.99).start_value == pytest.approx(10)
    with pytest.raises(UnboundedStep):
        find_solution(task, 0.99999)


def test_a_solution_shows_its_value():
    assert "value from the start 91356.4" in repr(pdrm.solve("maze-5x5"))


def test_states_with_the_same_name_are_distinguished_by_number():
    domain = from_arrays(
        "two", [[1], [0]], [[0], [0]], [("a",)], step_limit=9, state_names=("here", "here")
    )
    machine = "events a\nstack #\nstart u\nfinal f\notherwise stay 1\nu -> f : a, # / #, 1"
    solution = pdrm.solve(domain, machine)
    with pytest.raises(UnknownConfiguration, match="give the number of one: 0, 1"):
        solution.value("here", "u", ("#",))
    assert solution.value("1", "u", ("#",)) == 1.0


def test_python_warns_as_training_does():
    domain = from_arrays("odd", [[0]], [[0]], [()], step_limit=9)
    machine = "events a\nstack #\nstart u\nfinal f\notherwise stay 0\nu -> f : a, # / #, 1"
    for ask in (pdrm.solve, partial(pdrm.check_k, depth=1, seconds=1)):
        with pytest.warns(TaskWarning) as found:
            ask(domain, machine)
        warnings = [one.message for one in found if one.category is TaskWarning]
        assert [warning.code for warning in warnings] == ["W0609", "W0608"]


def test_a_solution_shows_itself_in_a_notebook():
    solution = pdrm.solve("deliver-4-8")
    shown = solution._repr_html_()
    assert shown.count("<tr>") == 21  # the head, and the first of 64 starts
    assert "4,339.127" in shown
    assert (
        " or ".join(
            solution.actions(solution.begins[0].s, solution.begins[0].u, solution.begins[0].stack)
        )
        in shown
    )
