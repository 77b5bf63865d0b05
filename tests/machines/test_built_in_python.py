"""Machines built in Python, where nothing has a place in a text: what is said of a fault, word for word."""

import math
from random import Random

import numpy as np
import pytest

from pdrm.errors import PdrmError, Where
from pdrm.machines.alphabet import Alphabet
from pdrm.machines.catalogue import catalogue, text_of
from pdrm.machines.configuration import Configuration
from pdrm.machines.counting import CountingConfiguration, CountingRewardAutomaton, CountingTransition
from pdrm.machines.guard import ALWAYS, SILENT, And, Event, Exactly, Not, Or, label_text
from pdrm.machines.kernels import begin, step
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reward_machine import RewardConfiguration, RewardMachine, RewardTransition
from pdrm.machines.runs import OK, Runs, Words
from pdrm.machines.silent import Head, Stops, outcomes
from pdrm.machines.simulation import pushdown_to_counting
from pdrm.machines.stacks import MOST_NODES, Stacks
from pdrm.machines.table import step_table, tabulate
from pdrm.machines.text.words import parse_word
from pdrm.machines.transition import Otherwise, Transition, number_text
from pdrm.machines.translation import MOST_CHANGE, counting_to_pushdown, reward_machine_to_pushdown
from proofs.random_machines import random_machine

A = frozenset("A")
STAY = Otherwise.stay(0)


def said(call, *arguments, **settings):
    """All that an error says."""
    with pytest.raises(PdrmError) as caught:
        call(*arguments, **settings)
    return str(caught.value)


def rule(**parts):
    """`u -> f : A, # / #, 0`, with some parts changed."""
    whole = {"source": "u", "target": "f", "guard": Event("A"), "top": "#", "push": ("#",), "reward": 0}
    return Transition(**{**whole, **parts})


def machine(*rules, stack=("#", "X"), otherwise=STAY, start="u", **more):
    events = more.pop("events", ("A", "B"))
    return PushdownRewardMachine("m", events, stack, start, ("f",), otherwise, rules or (rule(),), **more)


def counting(*rules, counters=1, name="c", otherwise=STAY):
    return CountingRewardAutomaton(name, ("A", "B"), counters, "u", ("f",), otherwise, rules)


STATE = "`w` is no state: no rule leaves it and it is not final"
HINT = "known: `u`, `f` (or list it on the `final` line; a dead end: `states u w`)"
WELL_FORMED = [
    (
        lambda: machine(rule(top="eps", push=()), stack=()),
        "error[E0207]: the stack has no symbols, so no bottom symbol\n  fix: list them, the bottom first: `stack # A`",
    ),
    (
        lambda: machine(otherwise=Otherwise("jump")),
        "error[E0205]: `otherwise jump` is no rule\n  fix: use `stay R`, `go STATE R` or `error`",
    ),
    (
        lambda: machine(otherwise=Otherwise("go")),
        "error[E0205]: `otherwise go` is no rule\n  fix: use `stay R`, `go STATE R` or `error`",
    ),
    (
        lambda: machine(otherwise=Otherwise("stay", "u")),
        "error[E0205]: `otherwise stay` is no rule\n  fix: use `stay R`, `go STATE R` or `error`",
    ),
    (lambda: machine(otherwise=Otherwise.go("w", 1)), f"error[E0201]: {STATE} (the `otherwise` line)\n  fix: {HINT}"),
    (
        lambda: machine(otherwise=Otherwise.stay(math.inf)),
        "error[E0103]: the reward of `otherwise` is inf\n  fix: use a finite number",
    ),
    (
        lambda: machine(rule(reward=math.nan)),
        "error[E0103]: the reward of rule u -> f : A, # / #, nan is nan\n  fix: use a finite number",
    ),
    (
        lambda: machine(rule(reward=-math.inf)),
        "error[E0103]: the reward of rule u -> f : A, # / #, -inf is -inf\n  fix: use a finite number",
    ),
    (
        lambda: machine(rule(), rule(source="w"), states=("u",)),
        f"error[E0201]: {STATE} (rule w -> f : A, # / #, 0)\n  fix: {HINT}",
    ),
    (lambda: machine(rule(target="w")), f"error[E0201]: {STATE} (rule u -> w : A, # / #, 0)\n  fix: {HINT}"),
    (lambda: machine(start="w"), f"error[E0201]: {STATE} (the `start` line)\n  fix: {HINT}"),
    (
        lambda: machine(start="f"),
        "error[E0303]: the start state `f` is final\n  fix: use another state as the start",
    ),
    (
        lambda: machine(rule(), rule(source="f")),
        "error[E0303]: `f` is final, so no rule may leave it: f -> f : A, # / #, 0\n"
        "  fix: remove the rule, or take `f` off the `final` line",
    ),
    (
        lambda: machine(rule(guard=Event("C"))),
        "error[E0202]: `C` is not declared as an event (rule u -> f : C, # / #, 0)\n  fix: known: `A`, `B`",
    ),
    (
        lambda: machine(events=()),
        "error[E0202]: `A` is not declared as an event (rule u -> f : A, # / #, 0)\n"
        "  fix: add an `events` line that lists all of them",
    ),
    (
        lambda: machine(exclusive=(("A", "C"),)),
        "error[E0202]: `C` is not declared as an event (the `exclusive` line)\n  fix: known: `A`, `B`",
    ),
    (
        lambda: machine(rule(top="Y", push=())),
        "error[E0203]: `Y` is no stack symbol: rule u -> f : A, Y / eps, 0\n  fix: known: `#`, `X`",
    ),
    (
        lambda: machine(rule(push=("Y", "Y", "#"))),
        "error[E0203]: `Y` is no stack symbol: rule u -> f : A, # / Y Y #, 0\n  fix: known: `#`, `X`",
    ),
    (
        lambda: machine(rule(push=("z",))),
        "error[E0203]: `z` is pushed, but the rule does not look at `z`: rule u -> f : A, # / z, 0\n"
        "  fix: write `#` itself",
    ),
    (
        lambda: machine(rule(top="eps", push=("z",))),
        "error[E0203]: `z` is pushed, but the rule does not look at `z`: rule u -> f : A, eps / z, 0\n"
        "  fix: look at `z` instead of `eps`",
    ),
    (
        lambda: machine(stack=("#", "X", "X", "#")),
        "error[E0204]: stack symbol `#` is declared twice\n  fix: remove one of them\n\n"
        "error[E0204]: stack symbol `X` is declared twice\n  fix: remove one of them",
    ),
    (
        lambda: machine(events=("A", "B", "a b")),
        "error[E0108]: event `a b` cannot be a name\n  fix: use letters, digits, `_` and the like",
    ),
    (
        lambda: machine(events=("A", "B", "x" * 101)),
        f"error[E0108]: event `{'x' * 40}` cannot be a name\n  fix: use letters, digits, `_` and the like",
    ),
    (
        lambda: machine(events=("A", "B", "eps")),
        "error[E0108]: `eps` is reserved and cannot name an event\n  fix: choose another name",
    ),
    (
        lambda: machine(states=("u", "-")),
        "error[E0108]: state `-` cannot be a name\n  fix: use letters, digits, `_` and the like",
    ),
    (
        lambda: PushdownRewardMachine("", ("A",), ("#",), "u", ("f",), Otherwise.stay(0), (rule(),)),
        "error[E0108]: machine `` cannot be a name\n  fix: use letters, digits, `_` and the like",
    ),
]


@pytest.mark.parametrize(("build", "expected"), WELL_FORMED, ids=[str(n) for n in range(len(WELL_FORMED))])
def test_a_machine_that_is_not_well_formed(build, expected):
    assert said(build) == expected


COUNTING = [
    (
        lambda: counting(counters=0),
        "error[E0109]: a counting automaton with 0 counters\n  fix: give it one or more: `counters 1`",
    ),
    (
        lambda: counting(CountingTransition("u", "f", Event("A"), ("-", "-"), (0,), 0)),
        "error[E0109]: 2 tests for 1 counters: rule u -> f : A, [-, -] / [0], 0\n"
        "  fix: write one test and one change for each counter, as in `[1, -] / [-1, 0]`",
    ),
    (
        lambda: counting(CountingTransition("u", "f", Event("A"), ("-",), (0, -1), 0)),
        "error[E0109]: 2 changes for 1 counters: rule u -> f : A, [-] / [0, -1], 0\n"
        "  fix: write one test and one change for each counter, as in `[1, -] / [-1, 0]`",
    ),
    (
        lambda: counting(CountingTransition("u", "f", Event("A"), ("2",), (0,), 0)),
        "error[E0109]: `2` is no counter test: rule u -> f : A, [2] / [0], 0\n  fix: use 0 (zero), 1 (not zero) or - (either)",
    ),
    (
        lambda: counting(
            CountingTransition("u", "f", SILENT, ("0",), (0,), 0), CountingTransition("u", "u", ALWAYS, ("-",), (0,), 0)
        ),
        "error[E0301]: two rules apply in state `u` for label {} and counters [0]: a silent rule leaves no label to read there\n"
        "    u -> f : eps, [0] / [0], 0\n    u -> u : true, [-] / [0], 0\n"
        "  fix: let the silent rule start in a state of its own, or test for other counters",
    ),
    (
        lambda: counting(
            CountingTransition("u", "f", Event("A"), ("0",), (0,), 0),
            CountingTransition("u", "u", Event("B"), ("-",), (0,), 0),
        ),
        "error[E0301]: two rules apply in state `u` for label {A, B} and counters [0]: at most one rule may apply\n"
        "    u -> f : A, [0] / [0], 0\n    u -> u : B, [-] / [0], 0\n"
        "  fix: make the labels or the tests differ, or declare `exclusive` events",
    ),
]


@pytest.mark.parametrize(("build", "expected"), COUNTING, ids=[str(n) for n in range(len(COUNTING))])
def test_a_counting_automaton_that_is_not_well_formed(build, expected):
    assert said(build) == expected


UP = CountingTransition("u", "u", Event("A"), ("-",), (1,), 0)
STRAY = "fix: begin a new episode"
RUNNING = [
    (
        lambda: machine().step(Configuration("w", ("#",)), A),
        "error[E0404]: `w` is no state of `m`\n  fix: known: `u`, `f`",
    ),
    (
        lambda: machine().step(Configuration("u", ("#", "Y")), A),
        "error[E0404]: `Y` is no stack symbol of `m`\n  fix: known: `#`, `X`",
    ),
    (
        lambda: machine().step(Configuration("f", ("#",)), A),
        "error[E0402]: `f` is a final state of machine `m`\n  fix: begin a new episode",
    ),
    (
        lambda: machine(otherwise=Otherwise.error()).step(Configuration("u", ("X", "#")), A),
        "error[E0401]: machine `m` has no rule for label {A} at u, X #\n"
        "  fix: add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine",
    ),
    (
        lambda: machine().step(Configuration("u", ("#",)), "A"),
        "error[E0403]: a label is a set of events, not 'A'\n"
        '  fix: write frozenset({"a", "t"}), or read a word: pdrm.parse_word("a+t -")',
    ),
    (
        lambda: machine().step(Configuration("u", ("#",)), {"A", "D", "C"}),
        "error[E0202]: event `C` of label {A, C, D} is not one of the machine's events\n  fix: known: `A`, `B`",
    ),
    (
        lambda: machine(exclusive=(("A", "B"),)).step(Configuration("u", ("#",)), {"A", "B"}),
        "error[E0403]: label {A, B} holds both `A` and `B`, which are declared exclusive\n"
        "  fix: emit one of them, or remove the `exclusive` line",
    ),
    (
        lambda: counting(UP).step(CountingConfiguration("w", (0,)), A),
        "error[E0404]: `w` is no state of `c`\n  fix: known: `u`, `f`",
    ),
    (
        lambda: counting(UP).step(CountingConfiguration("u", (0, -1)), A),
        "error[E0404]: [0, -1] are no counters of `c`\n  fix: give 1 whole numbers that are not negative",
    ),
    (
        lambda: RewardMachine("r", ("A",), "u", (), Otherwise.stay(0), ()).step(RewardConfiguration("w"), A),
        "error[E0404]: `w` is no state of `r`\n  fix: known: `u`",
    ),
    (lambda: Stacks.empty(2, 0), "error[E0405]: 0 stacks cannot be kept\n  fix: ask for 1 to 2,147,483,647"),
    (
        lambda: Stacks.empty(2, MOST_NODES + 1),
        "error[E0405]: 2,147,483,648 stacks cannot be kept\n  fix: ask for 1 to 2,147,483,647",
    ),
    (
        lambda: Stacks.empty(2, 2).node_of((1, 1)),
        "error[E0405]: there is room for 2 stacks only\n  fix: make room first: `stacks.room(more)`",
    ),
    (
        lambda: Stacks.empty(2, 2).room(MOST_NODES),
        "error[E0405]: more than 2,147,483,647 distinct stacks\n  fix: cap the height of the stack",
    ),
    (
        lambda: tabulate(machine(), [A, frozenset("C")]),
        "error[E0202]: label number 1 of the table: event `C` of label {C} is not one of the machine's events\n"
        "  fix: known: `A`, `B`",
    ),
    (
        lambda: step_table(tabulate(machine(), [A]), 1, (1,), 0),
        "error[E0402]: state number 1 is final\n  fix: begin a new episode",
    ),
    (
        lambda: step_table(tabulate(machine(otherwise=Otherwise.error()), [A]), 0, (), 0),
        "error[E0401]: the table has no move for label number 0 in state number 0 with top symbol number 0\n"
        "  fix: add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine",
    ),
    (
        lambda: And((ALWAYS,)),
        "error[E0110]: `And` and `Or` take two or more parts, or none\n  fix: use the part itself",
    ),
    (lambda: catalogue("leter"), "error[E0506]: the catalogue has no machine `leter`\n  fix: did you mean `letter`?"),
    (lambda: text_of("leter"), "error[E0506]: the catalogue has no machine `leter`\n  fix: did you mean `letter`?"),
    (
        lambda: parse_word("a+b  a+ - b"),
        "error[E0504]: `a+` is no label\n  --> <word>:1:6\n  |\n1 | a+b  a+ - b\n  |      ^^\n"
        "  fix: join events by `+` as in `d+t`; `-` is the empty label",
    ),
    (
        lambda: counting_to_pushdown(counting(counters=2)),
        "error[E0305]: `c` has 2 counters: two can do what no stack can (Section 5)\n"
        "  fix: only counting automata with one counter become pushdown machines",
    ),
    (
        lambda: counting_to_pushdown(
            counting(CountingTransition("u", "u", Event("A"), ("-",), (-MOST_CHANGE - 1,), 0))
        ),
        f"error[E0305]: a change by {-MOST_CHANGE - 1} takes that many stack symbols:"
        f" rule u -> u : A, [-] / [{-MOST_CHANGE - 1}], 0\n  fix: changes up to {MOST_CHANGE:,} are translated",
    ),
    (
        lambda: counting_to_pushdown(counting(CountingTransition("u", "u", SILENT, ("-",), (1,), 0))),
        "error[E0305]: the silent moves of `c` need not end, and a pushdown machine's must: silent moves never end in"
        " state `u` with `□` on top:\n    u -> u : eps, □ / □ □, 0\n"
        "  fix: let one of these rules read a label, or lead to a state and top where no silent rule applies",
    ),
]


@pytest.mark.parametrize(("call", "expected"), RUNNING, ids=[str(n) for n in range(len(RUNNING))])
def test_what_cannot_be_done(call, expected):
    assert said(call) == expected


def test_a_translated_reward_machine_keeps_the_places_of_its_rules():
    from pdrm.machines.text.files import parse

    rules = parse("events A\nstart u\nfinal f\notherwise stay 0\nu -> f : A, 1\n").transitions
    plain = reward_machine_to_pushdown(RewardMachine("r", ("A",), "u", ("f",), Otherwise.stay(0), rules))
    assert [(one, str(one.where)) for one in plain.transitions] == [
        (Transition("u", "f", Event("A"), "eps", (), 1), "<text>:5:1")
    ]


def test_rules_of_the_catalogue_have_their_places():
    assert {rule.where.file for rule in catalogue("letter").transitions} == {"letter.pdrm"}


def test_a_start_without_rules_is_a_state_only_where_there_are_none():
    assert RewardMachine("r", ("A",), "u", (), Otherwise.stay(0), ()).states == ("u",)
    going = RewardTransition("v", "u", Event("A"), 0)
    assert said(RewardMachine, "r", ("A",), "u", (), Otherwise.stay(0), (going,)).count("`u` is no state") == 2
    back = RewardTransition("u", "v", Event("A"), 0)
    assert RewardMachine("r", ("A",), "u", (), Otherwise.stay(0), (going, back)).states == ("u", "v")


def test_a_step_says_all_there_is_to_know():
    plain = RewardMachine("r", ("A",), "u", ("f",), Otherwise.go("f", 2), ())
    begun, step = plain.begin(), plain.step(RewardConfiguration("u"), A)
    assert (begun.label, begun.before, begun.rule, begun.after, begun.reward) == (
        None,
        RewardConfiguration("u"),
        None,
        RewardConfiguration("u"),
        0.0,
    )
    assert (step.label, step.before, step.rule, step.after, step.reward) == (
        A,
        RewardConfiguration("u"),
        None,
        RewardConfiguration("f"),
        2.0,
    )
    counter = counting(UP).step(CountingConfiguration("u", (3,)), frozenset())
    assert (counter.label, counter.before, counter.rule, counter.moves) == (
        frozenset(),
        CountingConfiguration("u", (3,)),
        None,
        1,
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (10_000, "10000"),
        (100_000, "1e5"),
        (-1_200_000, "-12e5"),
        (1e15, "1e15"),
        (123_456_789_012_345_680.0, "1.2345678901234568e17"),
        (1e16, "1e16"),
        (1e22, "1e22"),
        (2.5e-7, "2.5e-7"),
        (1e-300, "1e-300"),
        (0.5, "0.5"),
        (math.inf, "inf"),
        (math.nan, "nan"),
    ],
)
def test_numbers_as_text(value, text):
    assert number_text(value) == text
    assert float(text) == value or math.isnan(value)


def test_formulas_as_text():
    a, b = Event("a"), Event("b")
    assert [
        str(guard)
        for guard in (Not(And((a, b))), Not(Not(a)), Not(Or((a, b))), Not(ALWAYS), Or(), And((Or((a, b)), a)))
    ] == [
        "!(a & b)",
        "!!a",
        "!(a | b)",
        "!(true)",
        "false",
        "(a | b) & a",
    ]
    assert str(Or((Or((a, b)), And((a, b)), Or(), ALWAYS))) == "(a | b) | a & b | false | true"
    assert str(And((And((a, b)), Or(), ALWAYS, Not(a)))) == "(a & b) & false & true & !a"
    assert [str(SILENT), str(Exactly(frozenset())), label_text("ta")] == ["eps", "{}", "{a, t}"]


def test_words_are_packed():
    words = Words.of([[1, 2], [], [3]])
    runs = Runs.room(words)
    assert words.labels.dtype == runs.state.dtype == runs.node.dtype == runs.read.dtype == runs.status.dtype == "int32"
    assert words.offsets.tolist() == [0, 2, 2, 3]
    assert [len(part) for part in runs] == [6, 6, 6, 3, 3]
    assert all(not part.any() for part in runs)


def test_a_simulation_keeps_the_name_and_the_events():
    simulated = pushdown_to_counting(machine(exclusive=(("A", "B"),)))
    assert (simulated.name, simulated.events, simulated.counters, simulated.exclusive) == (
        "m",
        ("A", "B"),
        2,
        (("A", "B"),),
    )


def test_room_is_made_only_where_it_is_needed():
    stacks = Stacks.empty(2, 3)
    assert stacks.room() is stacks
    assert stacks.room(2) is stacks
    node = stacks.node_of((1,))
    assert stacks.room() is stacks
    larger = stacks.room(2)
    assert (larger.capacity, larger.node_of((1,)), int(larger.made[0])) == (6, node, 2)
    assert stacks.room(9).capacity == 11
    assert (Stacks.empty(1).capacity, len(stacks.made)) == (1024, 1)
    assert [part.dtype for part in larger] == [np.int32] * 4 + [np.int64]


def test_the_table_of_a_small_machine():
    small = machine(
        rule(guard=Exactly(A), top="z", push=("X", "z"), target="u", reward=1),
        rule(guard=SILENT, source="v", target="f", top="X", push=(), reward=0.5),
        rule(guard=Exactly(frozenset("B")), top="#", push=("X",), target="v"),
        otherwise=Otherwise.go("f", -2),
    )
    table = tabulate(small, [A, frozenset("B")])
    assert small.states == ("u", "v")
    # moves: begin, otherwise, push X, replace # by X, pop X
    assert table.target.tolist() == [0, 2, 0, 1, 2]
    assert table.pops.tolist() == [0, 0, 0, 1, 1]
    assert table.pushes.tolist() == [1, 0, 1, 1, 0]
    assert table.push.tolist() == [[1], [0], [2], [2], [0]]
    assert table.reward.tolist() == [0, -2, 1, 0, 0.5]
    assert table.move.tolist() == [[[1, 2, 2], [1, 3, 1]], [[1, 1, 1], [1, 1, 1]], [[-1, -1, -1], [-1, -1, -1]]]
    assert table.silent.tolist() == [[-1, -1, -1], [-1, -1, 4], [-1, -1, -1]]
    assert (table.start, table.bottom, table.first_final) == (0, 1, 2)
    assert [part.dtype for part in table[:7]] == [np.int32] * 6 + [np.float64]


def test_a_rule_that_does_what_the_beginning_does():
    """It leads to the start, pays 0 and puts the bottom symbol on the stack: it is move number 0 of the table, as that is."""
    again = machine(rule(target="u", top="eps", push=("#",)), otherwise=Otherwise.error())
    table = tabulate(again, [A])
    assert table.move[0].tolist() == [[0, 0, 0]]
    stacks = Stacks.empty(2)
    state, node, paid, status = begin(table, stacks)
    state, node, paid, status = step(table, stacks, state, node, 0)
    assert (state, stacks.stack_of(node), paid, status) == (0, (1, 1), 0.0, OK)
    assert step_table(table, 0, (1,), 0) == (0, (1, 1), 0.0)


def test_places_that_are_given_are_kept():
    here = Where("task.py", 7, 1)
    for build in (
        lambda: machine(otherwise=Otherwise("stay", None, math.inf, here)),
        lambda: machine(Transition("u", "f", Event("A"), "#", ("#",), math.nan, here)),
        lambda: counting(CountingTransition("u", "f", Event("A"), ("2",), (0,), 0, here)),
        lambda: counting(CountingTransition("u", "f", Event("A"), ("0",), (0, 0), 0, here)),
    ):
        with pytest.raises(PdrmError) as caught:
            build()
        assert caught.value.where == here


def test_the_moves_of_a_step_follow_each_other():
    moving = machine(
        rule(target="v", top="#", push=("X", "#"), reward=1),
        rule(source="v", guard=SILENT, top="X", push=(), reward=0.5),
        otherwise=Otherwise.go("v", 2),
    )
    step = moving.step(Configuration("u", ("#",)), A)
    places = [Configuration("u", ("#",)), Configuration("v", ("X", "#")), Configuration("f", ("#",))]
    assert [(move.before, move.after, move.reward) for move in step.moves] == [
        (places[0], places[1], 1),
        (places[1], places[2], 0.5),
    ]
    (move,) = moving.step(places[0], frozenset("B")).moves
    assert (move.rule, move.before, move.after, move.reward) == (None, places[0], Configuration("v", ("#",)), 2)
    assert (step.label, step.before) == (A, places[0])


def test_configurations_as_text():
    assert [str(Configuration("u", stack)) for stack in ((), ("A", "#"))] == ["u, (empty)", "u, A #"]


def test_a_guard_of_two_thousand_cases_is_the_largest():
    """5 · 5 · 5 · 2 · 2 · 2 · 2 cases, and one more."""
    names = iter(f"e{i}" for i in range(99))
    parts = [Or(tuple(Event(next(names)) for _ in range(size))) for size in (5, 5, 5, 2, 2, 2, 2)]
    sigma = Alphabet(tuple(f"e{i}" for i in range(30)))
    assert len(sigma.cubes(And(tuple(parts)))) == 2_000
    parts[0] = Or((*parts[0].parts, Event("e29")))
    assert "splits into more than 2,000 cases" in said(sigma.cubes, And(tuple(parts)))


@pytest.mark.parametrize("seed", range(40))
def test_how_silent_moves_end_by_following_them(seed):
    """From each head alone: its symbol is popped in some state, or the moves stop above it; the empty stack is never popped."""
    silent = random_machine(Random(seed))
    found = outcomes(silent)
    assert set(found) >= {Head(state, top) for state in silent.states for top in (*silent.stack, None)}
    for head, outcome in found.items():
        state, stack = head.state, [] if head.top is None else [head.top]
        while (move := silent.rule(state, None, stack[0] if stack else None)) is not None:
            stack[:1] = move.pushed(stack[0] if stack else None)
            state = move.target
            if not stack and head.top is not None:
                break
        popped = head.top is not None and not stack
        assert outcome == (state if popped else Stops.ABOVE)
