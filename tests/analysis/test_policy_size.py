"""Sizes of policies: the theorems' numbers, their gaps, and reachable sizes counted in two ways."""

import json
from itertools import product
from random import Random

import pytest
from hypothesis import given, strategies as st

from pdrm.analysis.reachable_rows import count_reachable, count_views, find_heads
from pdrm.analysis.sizes import (
    all_words,
    count_stack_strings,
    count_strings,
    sizes,
    theorem_1,
    theorem_2,
    theorem_4,
    to_json,
)
from pdrm.domains.finite_domain import from_arrays
from pdrm.domains.paper_domains import domain
from pdrm.errors import BadSetting, ProductTooLarge, UndefinedMove
from pdrm.language.loading import catalogue, catalogue_names, parse
from pdrm.machines.conversions import counting_configuration, pushdown_to_counting
from pdrm.machines.heads import stack_growth
from pdrm.machines.transitions import Configuration
from pdrm.paper.generated_tasks import deliver_tasks, sequences_of
from pdrm.paper.size_claims import DOMAINS, measure_blowup, size_claims
from pdrm.task import Task, pushdown_machine
from tests.properties.random_machines import random_machine

FEW = deliver_tasks(*sequences_of(catalogue("deliver-four")))[0]
"""DeliverWorld-8 with four sequences."""

# Silent moves replace each A on the stack by two symbols and pop these: e does not exist.
SWEEP = """
name sweep
events a b
exclusive a b
stack # A B C
start u
otherwise stay 0
u -> u : a,   z / A z, 0
u -> p : b,   z / z,   0
p -> q : eps, A / B C, 0
q -> q : eps, B / eps, 0
q -> p : eps, C / eps, 0
p -> u : eps, # / #,   0
"""

# Any string of at most two symbols after one label.
ANYTHING = """
name anything
events a b c d e f
exclusive a b c d e f
stack # A
start u
otherwise stay 0
u -> u : a, z / eps, 0
u -> u : b, z / A,   0
u -> u : c, z / # #, 0
u -> u : d, z / A #, 0
u -> u : e, z / A A, 0
u -> u : f, z / # A, 0
"""

# A rule adds no more than the one symbol it pushes, since those that push look at none.
SINGLE = """
name single
events a b c d
exclusive a b c d
stack # A
start u
otherwise stay 0
u -> u : a, z / eps,   0
u -> u : b, z / A,     0
u -> u : c, eps / #,   0
u -> u : d, eps / A,   0
"""

# Three silent pushes before the first label. A label triggers a rule that adds nothing and a
# silent one that adds two symbols.
BEGINS = """
name begins
events a
stack # A
start s
final end
otherwise go grow 0
s    -> s1   : eps, # / A #,   0
s1   -> s2   : eps, A / A A,   0
s2   -> u    : eps, A / A A,   0
u    -> u    : {a}, # / #,     0
grow -> u    : eps, A / A A A, 0
grow -> end  : eps, # / #,     0
"""


def test_strings_are_those_one_can_list():
    for symbols, length in product((1, 2, 3), (0, 1, 4)):
        listed = [
            string for size in range(length + 1) for string in product(range(symbols), repeat=size)
        ]
        assert count_strings(symbols, length) == len(listed)


def test_the_theorems_numbers():
    maze = stack_growth(catalogue("treasure-maze"))
    assert (theorem_1(maze, 9), count_stack_strings(maze, 9)) == (
        (5**10 - 1) // 4,
        (5**11 - 1) // 4,
    )
    assert [theorem_2(maze, k) for k in range(4)] == [1, 6, 31, 156]
    assert theorem_4(20) == 2**20
    with pytest.raises(BadSetting):
        count_strings(0, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SWEEP, (4, 1, None, 1, 1)),
        (ANYTHING, (2, 1, 0, 1, 1)),
        (SINGLE, (2, 1, 0, 1, 1)),
        (BEGINS, (2, 2, 3, 4, 2)),
    ],
)
def test_growth_by_hand(text, expected):
    growth = stack_growth(parse(text))
    assert (
        growth.symbols,
        growth.added,
        growth.silent_pushes,
        growth.begun,
        growth.step,
    ) == expected


def test_the_highest_stack_of_the_catalogue_is_reached_in_one_step():
    for machine in map(pushdown_machine, catalogue_names()):
        growth = stack_growth(machine)
        heights = [
            len(machine.step(machine.begin().after, label).after.stack)
            for label in machine.alphabet.labels()
        ]
        assert max(heights) == growth.longest(1), machine.name


@pytest.mark.parametrize("seed", range(40))
def test_no_silent_moves_push_more_often_than_e(seed):
    machine = random_machine(Random(seed))
    growth = stack_growth(machine)
    starts = [
        Configuration(state, stack) for state in machine.states for stack in stacks_of(machine, 3)
    ]
    reached_by_labels = reading_targets(machine)
    pushed = max(pushes(machine, here) for here in starts if here.state in reached_by_labels)
    if growth.silent_pushes is not None:
        assert pushed <= growth.silent_pushes


def stacks_of(machine, height):
    return [stack for size in range(height + 1) for stack in product(machine.stack, repeat=size)]


def reading_targets(machine):
    """The start, and the states that reading some label leads to at some top."""
    found = {machine.start}
    for state, top in product(machine.states, (*machine.stack, None)):
        if machine.rule(state, None, top) is None:
            rules = {machine.rule(state, label, top) for label in machine.alphabet.labels()}
            found |= {machine.otherwise.target if rule is None else rule.target for rule in rules}
    return found


def pushes(machine, here):
    """The silent moves from here that leave the stack higher than they found it."""
    moves = machine._run_silent_moves(None, here, []).moves
    return sum(len(move.after.stack) > len(move.before.stack) for move in moves)


def test_where_e_does_not_exist_it_grows_with_the_stack():
    machine = parse(SWEEP)
    counts = [pushes(machine, Configuration("p", ("A",) * height + ("#",))) for height in range(5)]
    assert counts == [0, 1, 2, 3, 4]
    growth = stack_growth(machine)
    assert theorem_1(growth, 5) is None
    assert (
        count_reachable(all_words(machine), machine, 5).strings[-1]
        == 6
        <= count_stack_strings(growth, 5)
    )


@pytest.mark.parametrize(("text", "strings"), [(ANYTHING, 7), (SINGLE, 5)])
def test_theorem_1_as_printed_is_too_small_where_the_initial_symbol_can_go(text, strings):
    machine = parse(text)
    growth = stack_growth(machine)
    counted = count_reachable(all_words(machine), machine, 1).strings[-1]
    assert (counted, theorem_1(growth, 1), count_stack_strings(growth, 1)) == (strings, 3, 7)
    record = sizes(Task(all_words(machine), machine), steps=1)
    assert record["holds"]
    assert record["sizes"][0]["printed_holds"] is False


def test_counts_of_the_catalogue_by_hand():
    # every move in the maze pushes its direction, also against a wall: 4ⁿ strings of n moves
    maze = count_reachable(domain("maze-20x20"), catalogue("treasure-maze"), steps=6)
    assert maze.strings == tuple((4 ** (n + 1) - 1) // 3 for n in range(7))
    # an A at every second step at best
    letter = count_reachable(domain("letter"), catalogue("letter"), steps=30)
    assert letter.strings == tuple(n // 2 + 1 for n in range(31))
    # the distinct suffixes of 64 sequences of eight
    deliver = count_reachable(domain("deliver-8"), catalogue("deliver"))
    assert deliver.closed
    assert deliver.strings[-1] == len(
        {stack[i:] for stack in deliver_sequences() for i in range(9)}
    )


def deliver_sequences():
    machine = catalogue("deliver")
    return [rule.push[:-1] for rule in machine.transitions if "seq" in str(rule.guard)]


def test_a_walk_stops_before_it_is_too_long():
    maze, machine = domain("maze-5x5"), catalogue("treasure-maze")
    walk = count_reachable(maze, machine, most=100)
    assert (walk.steps, walk.closed, walk.rows[-1]) == (3, False, 85)


@pytest.mark.parametrize(("name", "high"), [("deliver-8", 9), ("paint", 6)])
def test_views_agree_with_the_stacks_they_are_of(name, high):
    """Seeing as many symbols as there can be is seeing the whole stack."""
    where = domain(name)
    machine = catalogue(where.machine)
    heads = find_heads(where, machine)
    walk = count_reachable(where, machine)
    assert walk.closed
    counts = list(count_views(machine, heads, range(high + 1)).values())
    assert counts == sorted(counts)
    assert counts[-1] == walk.rows[-1]


def test_views_are_counted_in_episodes_of_any_length():
    """The little maze's limit of 15 steps is too short for some of what three symbols show."""
    first, much = (
        sizes("maze-5x5", steps=steps, k=(1, 3), most=1000)["sizes"][2:4] for steps in (15, 1000)
    )
    assert first == much
    assert [(size["reachable"], size["within"]) for size in much] == [(59, None), (869, None)]


def test_a_machine_without_a_stack_shows_its_states():
    text = "name m\nevents a\nstates u v\nstart u\nfinal w\notherwise stay 0\nu -> v : a, 1\nv -> w : a, 1\n"
    machine = parse(text)
    heads = find_heads(all_words(machine), machine)
    assert list(count_views(machine, heads, range(4)).values()) == [2] * 4


def test_the_empty_stack_is_seen():
    """Any string of two symbols may be on the stack, the empty one too."""
    machine = parse(SINGLE)
    heads = find_heads(all_words(machine), machine)
    assert list(count_views(machine, heads, range(4)).values()) == [1, 3, 7, 15]


def test_what_takes_too_long_to_count_is_refused():
    where, machine = domain("maze-10x10"), catalogue("treasure-maze")
    with pytest.raises(ProductTooLarge):
        find_heads(where, machine, most=100)
    heads = find_heads(where, machine)
    with pytest.raises(BadSetting):
        count_views(machine, heads, [60])


def test_a_label_without_a_rule():
    one = from_arrays("one", [[0]], [[0]], [("B", "C")], step_limit=3, events=("A", "B", "C"))
    machine = parse(
        "name m\nevents A B C\nstack #\nstart u\notherwise error\nu -> u : {A}, z / z, 0\n"
    )
    with pytest.raises(UndefinedMove):
        count_reachable(one, machine)
    with pytest.raises(UndefinedMove):
        find_heads(one, machine)


@pytest.mark.parametrize("task", [Task("maze-5x5"), FEW, Task("echo")], ids=str)
def test_counter_configurations_are_those_of_the_automaton(task):
    """Walk with the two counters themselves for a few steps, and with the stack."""
    where, machine = task.finite, task.pushdown
    steps = 0 if task is FEW else 3
    automaton, arrays = pushdown_to_counting(machine), where.arrays
    layer = set()
    for s, label in zip(arrays.start_state.tolist(), arrays.start_label.tolist(), strict=True):
        here = machine.begin().after
        here = here if label < 0 else machine.step(here, where.labels[label]).after
        layer.add((s, counting_configuration(machine, here)))
    found = set(layer)
    for _ in range(steps):
        layer = {
            (
                int(arrays.next[s, a, o]),
                automaton.step(here, where.labels[arrays.label[s, a, o]]).after,
            )
            for s, here in layer
            if here.state not in automaton.final
            for a in range(arrays.next.shape[1])
            for o in range(arrays.next.shape[2])
            if arrays.probability[s, a, o] > 0
        }
        found |= layer
    walk = count_reachable(where, machine, steps)
    assert len({here.counters for _, here in found}) == walk.counters[-1]
    assert len({state for state in found if state[1].state not in automaton.final}) == walk.rows[-1]


def test_the_automaton_of_the_letters_counts_to_151():
    record = sizes("letter", "letter-cra", k=())
    automaton, counts, layer = catalogue("letter-cra"), {0}, {automaton_start()}
    for _ in range(150):  # an A at every second step
        layer = {automaton.step(here, frozenset("A")).after for here in layer}
        counts |= {here.counters[0] for here in layer}
    size = record["sizes"][2]
    assert (record["counting"], size["what"]) == ("letter-cra", "counter configurations")
    assert size["reachable"] == len(counts) == 151


def automaton_start():
    return catalogue("letter-cra").begin().after


def test_marked_palindromes_need_exponentially_many_configurations():
    rows = measure_blowup(longest=10)
    for row in rows:
        assert row.configurations >= row.least == 2**row.n
        assert row.counters_within == 2**row.n
        assert row.counters >= 2**row.n / 2
        assert row.one_policy_rows <= 5
    assert any(row.counters < row.least for row in rows)  # the automaton's state holds a letter


def test_the_two_counters_stand_for_the_stacks():
    """The automaton itself reads all words of up to five letters."""
    machine = catalogue("marked-palindrome")
    automaton = pushdown_to_counting(machine)
    stacked, counted = {machine.begin().after}, {automaton.begin().after}
    for n in range(6):
        assert counted == {counting_configuration(machine, one) for one in stacked}, n
        stacked, counted = (
            {
                after
                for one in here
                for letter in "01x"
                if (after := model.step(one, frozenset(letter)).after).state not in model.final
            }
            for model, here in ((machine, stacked), (automaton, counted))
        )


@pytest.mark.compiled
@pytest.mark.parametrize("name", DOMAINS)
def test_the_bounds_hold_on_the_catalogue_as_printed_and_as_corrected(name):
    record = sizes(name, most=100_000)
    assert record["holds"]
    assert all(size["printed_holds"] for size in record["sizes"])
    assert json.loads(json.dumps(record)) == record
    strings, rows = record["sizes"][:2]
    assert strings["reachable"] <= rows["reachable"] * 2


def test_the_claims():
    facts = size_claims(
        [sizes("letter"), sizes("maze-5x5", most=10_000)],
        measure_blowup(6),
    )
    assert [(fact["id"], fact["holds"]) for fact in facts] == [
        (f"size-{x}", True) for x in ("full", "k", "cra")
    ]
    full, top, cra = (fact["numbers"] for fact in facts)
    assert full["letter"]["stack strings"]["reachable"] == 151
    assert top["letter"]["1-policy"]["reachable"] == 104
    assert top["letter"]["1-policy"]["bound"]["exact"] == 252
    assert cra["configurations"][6] == 106
    assert json.dumps(facts)


def test_a_claim_that_does_not_hold_is_said_not_to():
    record = sizes("letter", steps=10)
    record["sizes"][1]["holds"] = False
    record["sizes"][3]["holds"] = False
    row = measure_blowup(2)[2]
    wrong = type(row)(row.n, row.words, row.least, 3, 3, 3, 5)
    assert [fact["holds"] for fact in size_claims([record], [wrong])] == [False, False, False]


@given(st.integers(1, 10**40))
def test_numbers_for_json(value):
    record = to_json(value)
    assert to_json(0) == {"exact": 0, "log10": 0.0}
    assert record["exact"] == (value if value < 2**53 else None)
    assert abs(10 ** record["log10"] - value) <= 1e-3 * value


def test_what_runs_met_goes_to_its_size():
    seen = [
        {"agent": "q", "k": "full", "rows": 70, "strings": 7, "counters": None},
        {"agent": "q", "k": "full", "rows": 90, "strings": 5, "counters": None},
        {"agent": "q", "k": "1", "rows": 30, "strings": None, "counters": None},
        {"agent": "cra-q", "k": "full", "rows": 80, "strings": None, "counters": 6},
    ]
    record = sizes("letter", steps=20, k=(1, 2), seen=seen)
    met = {
        size["what"]: [(one["agent"], one["runs"], one["most"]) for one in size["seen"]]
        for size in record["sizes"]
    }
    assert met == {
        "stack strings": [("q", 2, 7)],
        "full policy": [("q", 2, 90)],
        "1-policy": [("q", 1, 30)],
        "2-policy": [],
        "counter configurations": [("cra-q", 1, 6)],
        "CRA policy": [("cra-q", 1, 80)],
    }
