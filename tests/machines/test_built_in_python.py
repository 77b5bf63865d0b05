"""Machines built in Python, where nothing has a place in a text: what is said of a fault, word for word."""

import math

import pytest

from pdrm.errors import PdrmError, Where
from pdrm.language.loading import catalogue, catalogue_text, parse_word
from pdrm.machines.configurations import Configuration
from pdrm.machines.conversions import MOST_CHANGE, counting_to_pushdown
from pdrm.machines.counting import CountingConfiguration, CountingTransition
from pdrm.machines.guards import ALWAYS, SILENT, And, Event
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reward_machine import RewardConfiguration, RewardMachine
from pdrm.machines.stacks import MOST_NODES, Stacks
from pdrm.machines.tables import step_table, tabulate
from pdrm.machines.transitions import Otherwise, Transition
from tests.machines.small import UP, counting, machine, rule, said

A = frozenset("A")


STATE = "`w` is not a state: no rule leaves it and it is not final"
HINT = "known: `u`, `f` (or list it on the `final` line; a dead end: `states u w`)"
WELL_FORMED = [
    (
        lambda: machine(rule(top="eps", push=()), stack=()),
        "error[E0207]: the stack has no symbols, so no bottom symbol\n  fix: list them, the bottom first: `stack # A`",
    ),
    (
        lambda: machine(otherwise=Otherwise("jump")),
        "error[E0205]: `otherwise jump` is not a rule\n  fix: use `stay R`, `go STATE R` or `error`",
    ),
    (
        lambda: machine(otherwise=Otherwise("go")),
        "error[E0205]: `otherwise go` is not a rule\n  fix: use `stay R`, `go STATE R` or `error`",
    ),
    (
        lambda: machine(otherwise=Otherwise("stay", "u")),
        "error[E0205]: `otherwise stay` is not a rule\n  fix: use `stay R`, `go STATE R` or `error`",
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
        "error[E0203]: `Y` is not a stack symbol: rule u -> f : A, Y / eps, 0\n  fix: known: `#`, `X`",
    ),
    (
        lambda: machine(rule(push=("Y", "Y", "#"))),
        "error[E0203]: `Y` is not a stack symbol: rule u -> f : A, # / Y Y #, 0\n  fix: known: `#`, `X`",
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


RUNNING = [
    (
        lambda: machine().step(Configuration("w", ("#",)), A),
        "error[E0404]: `w` is not a state of `m`\n  fix: known: `u`, `f`",
    ),
    (
        lambda: machine().step(Configuration("u", ("#", "Y")), A),
        "error[E0404]: `Y` is not a stack symbol of `m`\n  fix: known: `#`, `X`",
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
        "error[E0404]: `w` is not a state of `c`\n  fix: known: `u`, `f`",
    ),
    (
        lambda: counting(UP).step(CountingConfiguration("u", (0, -1)), A),
        "error[E0404]: [0, -1] are no counters of `c`\n  fix: give 1 whole numbers that are not negative",
    ),
    (
        lambda: RewardMachine("r", ("A",), "u", (), Otherwise.stay(0), ()).step(RewardConfiguration("w"), A),
        "error[E0404]: `w` is not a state of `r`\n  fix: known: `u`",
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
        "error[E0202]: machine `m` cannot read a label: event `C` of label {C} is not one of the machine's events\n"
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
    (
        lambda: catalogue_text("leter"),
        "error[E0506]: the catalogue has no machine `leter`\n  fix: did you mean `letter`?",
    ),
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
