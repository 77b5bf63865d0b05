"""Decision diagrams compared with guards and sets of labels."""

import random
from itertools import product

import pytest

from pdrm.errors import TooLarge, TooManyCases
from pdrm.machines.guards import ALWAYS, SILENT, And, Event, Exactly, Not, Or
from pdrm.machines.labels import FALSE, LEAF, MAX_CUBES, Alphabet, LabelSet, LabelSets
from tests.machines.loose import EVENTS, guard


def find(store, node, label, events):
    """The value of a function at a label."""
    while store.variable_of[node] != LEAF:
        there = events[store.variable_of[node]] in label
        node = (store.high if there else store.low)[node]
    return store.value[node]


EVERY = tuple(
    frozenset(event for event, there in zip(EVENTS, bits, strict=True) if there)
    for bits in product((False, True), repeat=len(EVENTS))
)


def test_a_diagram_of_a_guard_finds_the_labels_that_it_holds_for():
    chance, store = random.Random(1), LabelSets(Alphabet(EVENTS))
    for _ in range(100):
        one, other = guard(chance, 0.1), guard(chance, 0)
        nodes = [store.holding(each).node for each in (one, other)]
        values = [[each.holds(label) for label in EVERY] for each in (one, other)]
        if one is SILENT:
            assert nodes[0] == FALSE
            continue
        assert [[find(store, node, label, EVENTS) for label in EVERY] for node in nodes] == values
        assert (nodes[0] == nodes[1]) == (values[0] == values[1])
        formula = LabelSet(store, nodes[0]).formula()
        assert [formula.holds(label) for label in EVERY] == values[0]


def test_a_cover_may_say_anything_about_labels_that_do_not_matter():
    chance, store = random.Random(2), LabelSets(Alphabet(EVENTS))
    for _ in range(100):
        first, second = (store.holding(guard(chance, 0)).node for _ in range(2))
        least, most = store.meet((first, second)), store.join((first, second))
        covered = store.cover(least, most, {})[1]
        for label in EVERY:
            low, held, high = (find(store, n, label, EVENTS) for n in (least, covered, most))
            assert low <= held <= high


def test_what_labels_are_possible():
    for exclusive in ((), (("a", "c"),), (("a", "b", "c"),), (("a", "b"), ("b", "c"))):
        sigma = Alphabet(EVENTS, exclusive)
        store = LabelSets(sigma)
        found = {label for label in EVERY if find(store, store.all.node, label, EVENTS)}
        assert found == set(sigma.labels())


def test_formulas_are_simple():
    store = LabelSets(Alphabet(EVENTS))
    for guard_, text in (
        (Exactly({"a"}), "a & !b & !c"),
        (Or((And((Event("a"), Event("b"))), And((Event("a"), Not(Event("b")))))), "a"),
        (Or((And((Event("a"), Not(Event("b")))), Event("c"))), "c | a & !b"),
        (Or((Event("a"), Not(Event("a")))), "true"),
        (Not(ALWAYS), "false"),
    ):
        assert str(store.holding(guard_).formula()) == text


def test_what_is_too_large_is_refused():
    store = LabelSets(Alphabet(EVENTS))
    with pytest.raises(TooLarge, match="more than 300 events"):
        store.variable(300)
    parity = FALSE
    for variable in reversed(range(12)):  # as many cubes as labels of an odd number of events, 2^11
        parity = store.choose(store.variable(variable), store.invert(parity), parity)
    with pytest.raises(TooManyCases, match=f"more than {MAX_CUBES:,}") as caught:
        LabelSet(store, parity).formula()
    assert caught.value.fix


def test_a_diagram_may_be_deeper_than_the_stack_of_python():
    sets = LabelSets(Alphabet(tuple(f"e{number}" for number in range(1_500))))
    deep = sets.labels_of(Exactly({"e0", "e1499"})).node
    renamed = sets.rename_leaves(deep, {False: "no", True: "yes"}.__getitem__, {})
    assert sets.leaves(renamed) == ["no", "yes"]
    assert sets.substitute(renamed, dict.fromkeys(range(1_500), FALSE), {}) == sets.leaf("no")
    with pytest.raises(TooManyCases):
        LabelSet(sets, deep).formula()
