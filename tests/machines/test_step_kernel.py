"""Hash-consed stacks and the Numba step: compared with plain steps, at any height and capacity."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pdrm.errors import StackFull
from pdrm.language.loading import parse
from pdrm.machines.guards import ALWAYS, SILENT, Event
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import EMPTY, OK, OVERFLOW, UNDEFINED, Stacks
from pdrm.machines.step_kernel import step
from pdrm.machines.tables import tabulate
from pdrm.machines.transitions import Otherwise, Transition
from tests.properties.words_kernel import Words, begin, run

A, B, NOTHING = frozenset("a"), frozenset("b"), frozenset()
WALK = parse("""
events a b
stack # A B
start u
final end
otherwise error
u -> u : {a}, z / B A z, 1
u -> u : {b}, A / eps, 0.1
u -> u : {b}, B / eps, 0.2
u -> end : {b}, # / eps, 5
u -> u : {a, b}, z / eps, 0
""")
LABELS = [A, B, NOTHING, frozenset("ab")]
TABLE = tabulate(WALK, LABELS)

stacks_of_symbols = st.lists(st.integers(1, 3), max_size=8).map(tuple)


@given(first=stacks_of_symbols, second=stacks_of_symbols)
def test_equal_stacks_are_the_same_node(first, second):
    stacks = Stacks.empty(3, capacity=32)
    one, other = stacks.node_of(first), stacks.node_of(second)
    assert (one == other) == (first == second)
    assert stacks.stack_of(one) == first
    assert stacks.height[one] == len(first)
    assert stacks.node_of(()) == EMPTY


def test_room_keeps_the_numbers_and_doubles():
    stacks = Stacks.empty(3, capacity=3)
    node = stacks.node_of((2, 1))
    with pytest.raises(StackFull, match="for 3 stacks only"):
        stacks.node_of((3, 2, 1))
    assert stacks.reserve(0) is stacks
    larger = stacks.reserve()
    assert larger.capacity == 6
    assert larger.node_of((2, 1)) == node
    assert larger.reserve(100).capacity == 103
    with pytest.raises(StackFull):
        stacks.reserve(2**31)


def test_only_rules_that_look_at_no_symbol_apply_to_the_empty_stack():
    stacks = Stacks.empty(3)
    _, node, _, _ = begin(TABLE, stacks)
    state, node, _, status = step(TABLE, stacks, 0, node, 3)
    assert (state, node, status) == (0, EMPTY, OK)
    assert [step(TABLE, stacks, 0, EMPTY, label)[3] for label in range(4)] == [UNDEFINED] * 4


def test_full_in_the_middle_of_silent_moves_changes_nothing():
    rules = [
        Transition("u", "v", Event("a"), "z", ("A", "z"), 0.1),
        Transition("v", "w", SILENT, "A", ("A", "A"), 0.2),
        Transition("w", "x", SILENT, "A", ("A", "A"), 0.3),
        Transition("x", "u", ALWAYS, "z", (), 0.0),
    ]
    machine = PushdownRewardMachine(
        "silent", ("a",), ("#", "A"), "u", (), Otherwise.error(), tuple(rules)
    )
    table = tabulate(machine, [A])
    outcomes = set()
    for capacity in range(2, 8):
        stacks = Stacks.empty(2, capacity)
        outcome = begin(table, stacks)
        while (after := step(table, stacks, *outcome[:2], 0))[3] == OVERFLOW:
            assert after == (*outcome[:2], 0.0, OVERFLOW)
            stacks = stacks.reserve()
        outcomes.add(after)
    assert outcomes == {(3, 4, 0.1 + 0.2 + 0.3, OK)}


def test_a_stack_100_000_high():
    words = Words.of([[0] * 50_000 + [1] * 100_001])
    stacks, runs = run(TABLE, Stacks.empty(3), words)
    assert runs.status.tolist() == [OK]
    assert runs.state[-1] == 1
    assert stacks.height[runs.node].max() == 100_001
    assert stacks.made[0] == 100_002
    assert runs.node[-1] == EMPTY


def test_a_step_touches_the_same_few_entries_at_any_height():
    """A step reads and writes only the rows of the node, its parent and its children."""
    for height in (1, 10, 10_000):
        stacks = Stacks.empty(3, capacity=height + 10)
        node = stacks.node_of((2,) * height)
        before = [array.copy() for array in stacks]
        # Every stack below is spoilt: a step that looked there would go wrong.
        stacks.symbol[: node - 1] = stacks.parent[: node - 1] = stacks.child[: node - 1] = -(10**6)
        spoilt = [array.copy() for array in stacks]
        _, pushed, paid, status = step(TABLE, stacks, 0, node, 0)
        assert (paid, status, stacks.height[pushed]) == (1.0, OK, height + 2)
        changed = [
            np.argwhere(old != new)[:, 0] for old, new in zip(spoilt[:4], stacks[:4], strict=True)
        ]
        assert [rows.tolist() for rows in changed[:3]] == [[node + 1, node + 2]] * 3
        assert changed[3].tolist() == [node, node + 1]
        assert step(TABLE, stacks, 0, node, 1) == (0, int(before[1][node]), 0.1, OK)
