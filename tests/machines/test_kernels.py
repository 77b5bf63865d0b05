"""Hash-consed stacks and the Numba step: against the plain steps, at any height, with and without room."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdrm.errors import Nondeterministic, StackFull
from pdrm.machines.guards import ALWAYS, SILENT, Event, Exactly
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import EMPTY, FINISHED, FULL, OK, UNDEFINED, Stacks
from pdrm.machines.step_kernel import begin, step
from pdrm.machines.tables import tabulate
from pdrm.machines.transitions import ANY, NONE, Otherwise, Transition
from tests.properties import acceptance, engines
from tests.properties.random_machines import fitting
from tests.properties.words_kernel import Runs, Words, run, run_words
from tests.strategies import alphabets, machines_and_words, transitions

A, B, NOTHING = frozenset("a"), frozenset("b"), frozenset()
WALK = PushdownRewardMachine(
    "walk",
    ("a", "b"),
    ("#", "A", "B"),
    "u",
    ("end",),
    Otherwise.error(),
    (
        Transition("u", "u", Exactly(A), "z", ("B", "A", "z"), 1.0),
        Transition("u", "u", Exactly(B), "A", (), 0.1),
        Transition("u", "u", Exactly(B), "B", (), 0.2),
        Transition("u", "end", Exactly(B), "#", (), 5.0),
        Transition("u", "u", Exactly(frozenset("ab")), "z", (), 0.0),
    ),
)
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
    with pytest.raises(StackFull, match="room for 3 stacks only"):
        stacks.node_of((3, 2, 1))
    assert stacks.room(0) is stacks
    larger = stacks.room()
    assert larger.capacity == 6
    assert larger.node_of((2, 1)) == node
    assert larger.room(100).capacity == 103
    with pytest.raises(StackFull):
        stacks.room(2**31)


def test_steps_by_hand():
    stacks = Stacks.empty(3)
    state, node, paid, status = begin(TABLE, stacks)
    assert (state, stacks.stack_of(node), paid, status) == (0, (1,), 0.0, OK)
    bottom = node
    state, node, paid, status = step(TABLE, stacks, state, node, 0)
    assert (state, stacks.stack_of(node), paid, status) == (0, (3, 2, 1), 1.0, OK)
    assert step(TABLE, stacks, state, node, 2) == (state, node, 0.0, UNDEFINED)
    for reward in (0.2, 0.1):
        state, node, paid, status = step(TABLE, stacks, state, node, 1)
        assert (paid, status) == (reward, OK)
    assert node == bottom
    state, node, paid, status = step(TABLE, stacks, state, node, 1)
    assert (state, node, paid, status) == (1, EMPTY, 5.0, OK)
    assert step(TABLE, stacks, state, node, 0) == (1, EMPTY, 0.0, FINISHED)


def test_only_rules_that_look_at_no_symbol_apply_to_the_empty_stack():
    stacks = Stacks.empty(3)
    _, node, _, _ = begin(TABLE, stacks)
    state, node, _, status = step(TABLE, stacks, 0, node, 3)
    assert (state, node, status) == (0, EMPTY, OK)
    assert [step(TABLE, stacks, 0, EMPTY, label)[3] for label in range(4)] == [UNDEFINED] * 4


def test_full_changes_nothing_and_the_step_goes_on_after_making_room():
    small, large = Stacks.empty(3, capacity=3), Stacks.empty(3)
    _, node, _, _ = begin(TABLE, small)
    _, same, _, _ = begin(TABLE, large)
    assert step(TABLE, small, 0, node, 0) == (0, node, 0.0, FULL)
    assert step(TABLE, small, 0, node, 0) == (0, node, 0.0, FULL)
    grown = small.room()
    assert step(TABLE, grown, 0, node, 0) == step(TABLE, large, 0, same, 0)
    assert begin(TABLE, Stacks.empty(3, capacity=1)) == (0, EMPTY, 0.0, FULL)


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
        while (after := step(table, stacks, *outcome[:2], 0))[3] == FULL:
            assert after == (*outcome[:2], 0.0, FULL)
            stacks = stacks.room()
        outcomes.add(after)
    assert outcomes == {(3, 4, 0.1 + 0.2 + 0.3, OK)}


@settings(max_examples=40, deadline=None)
@given(case=machines_and_words())
def test_readable_table_and_kernel_agree_on_every_word(case):
    machine, words = case
    labels = list(machine.alphabet.labels())
    engines.compare(machine, labels, [[labels.index(label) for label in word] for word in words])


@settings(max_examples=20, deadline=None)
@given(case=machines_and_words(), capacity=st.integers(1, 40))
def test_the_runs_do_not_depend_on_the_room_there_was(case, capacity):
    machine, words = case
    labels = list(machine.alphabet.labels())
    table = tabulate(machine, labels)
    packed = Words.of([[labels.index(label) for label in word] for word in words])
    roomy, expected = run(table, Stacks.empty(len(machine.stack), 100_000), packed)
    tight, runs = run(table, Stacks.empty(len(machine.stack), capacity), packed)
    for one, other in zip(expected, runs, strict=True):
        np.testing.assert_array_equal(one, other)
    assert roomy.made[0] == tight.made[0]


@settings(max_examples=40, deadline=None)
@given(data=st.data(), alphabet=alphabets())
def test_a_rule_fits_just_when_the_machine_accepts_it(data, alphabet):
    """The generators' determinism, case by case, is the constructor's, decided on cubes."""
    stack, states, final = ("#", "A"), ("u", "v"), ("end",)
    # Silent rules lead to the end, so that none is endless.
    drawn = data.draw(st.lists(transitions(alphabet, stack, ("u",), final), min_size=1, max_size=8))
    rules = [Transition(r.source, "end", r.guard, r.top, r.push, r.reward) for r in drawn]

    def build(kept):
        exclusive = alphabet.exclusive
        return PushdownRewardMachine(
            "fit",
            alphabet.events,
            stack,
            "u",
            final,
            Otherwise.error(),
            tuple(kept),
            exclusive,
            states,
        )

    # Rules that name the top come first: whether two rules with `z` clash depends on them.
    if len(
        fitting(sorted(rules, key=lambda rule: rule.top in (ANY, NONE)), alphabet, stack)
    ) == len(rules):
        build(rules)
    else:
        with pytest.raises(Exception) as raised:
            build(rules)
        assert all(isinstance(error, Nondeterministic) for error in raised.value.errors)


def test_a_stack_100_000_high():
    words = Words.of([[0] * 50_000 + [1] * 100_001])
    stacks, runs = run(TABLE, Stacks.empty(3), words)
    assert runs.status.tolist() == [OK]
    assert runs.state[-1] == 1
    assert stacks.height[runs.node].max() == 100_001
    assert stacks.made[0] == 100_002
    assert runs.node[-1] == EMPTY


def test_a_step_touches_the_same_few_entries_at_any_height():
    """A step reads and writes the rows of the node, its parent and its children, whatever lies below."""
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


def test_many_words_are_recorded_one_after_the_other():
    words = Words.of([[], [0, 1], [1, 1, 0], [2, 0]])
    stacks = Stacks.empty(3)
    runs = Runs.room(words)
    assert run_words(TABLE, stacks, words, 0, runs) == 4
    assert runs.read.tolist() == [0, 2, 1, 0]
    assert runs.status.tolist() == [OK, OK, FINISHED, UNDEFINED]
    assert runs.reward.tolist() == [0.0, 0.0, 1.0, 0.2, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert [stacks.stack_of(node) for node in runs.node[1:4]] == [(1,), (3, 2, 1), (2, 1)]


def test_a_small_dose_of_the_proofs(monkeypatch):
    for proof in (engines, acceptance):
        monkeypatch.setattr(proof, "MACHINES", 20)
        monkeypatch.setattr(proof, "WORDS", 50)
        assert proof.check(0) == 1_000
