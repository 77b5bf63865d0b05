"""Warnings about machines: their codes, and the lines of the rules."""

import pytest

from pdrm.language.loading import catalogue, catalogue_names, parse
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guards import ALWAYS, And, Event, Exactly, Not
from pdrm.machines.transitions import Otherwise

HEAD = "name m\nevents a b c\nexclusive a b c\nstack # A B\nstart u\nfinal f g\n"


def found(text, code):
    """The lines of the warnings with a code (None: the whole machine)."""
    findings = parse(text).findings()
    return [one.where and one.where.line for one in findings if one.code == code]


@pytest.mark.parametrize(
    ("otherwise", "reward", "lines"),
    [("stay 0", "0", [None]), ("stay 0", "0.5", []), ("stay -0.1", "0", [])],
)
def test_a_machine_that_never_pays(otherwise, reward, lines):
    rules = f"u -> f : a, # / #, {{}}\nu -> g : b, # / #, {reward}\n".format(0)
    assert found(f"{HEAD}otherwise {otherwise}\n{rules}", "W0612") == lines


@pytest.mark.parametrize(
    ("rules", "warned"),
    [
        ("u -> u : a, z / A, 0\nu -> f : b, # / #, 1", True),
        ("u -> v : a, z / B A, 0\nv -> w : b, z / z, 0\nw -> f : b, # / #, 1", True),
        ("u -> u : a, z / A z, 0\nu -> f : b, # / #, 1", False),
        ("u -> u : a, # / A, 0\nu -> u : a, A / A A, 0\nu -> f : b, # / #, 1", False),
        ("u -> u : a, z / eps, 0\nu -> f : b, # / #, 1", False),
        ("u -> f : a, z / A, 0\nu -> f : b, # / #, 1", False),
        ("u -> u : a, z / A, 0\nu -> u : c, A / #, 0\nu -> f : b, # / #, 1", False),
    ],
)
def test_a_rule_that_takes_the_bottom_away(rules, warned):
    assert bool(found(f"{HEAD}otherwise stay -1\n{rules}\n", "W0613")) == warned


@pytest.mark.parametrize(
    ("rules", "warned"),
    [
        ("u -> u : a, z / z A, 0\nu -> f : b, # / #, 1", True),
        ("u -> u : a, # / # B A, 0\nu -> f : b, # / #, 1", True),
        ("u -> u : a, z / A z, 0\nu -> f : b, # / #, 1", False),
        ("u -> u : a, # / A #, 0\nu -> u : a, A / A B, 0\nu -> f : b, # / #, 1", False),
        ("u -> u : a, z / z A, 0\nu -> f : b, # / eps, 1", False),
    ],
)
def test_a_rule_that_puts_symbols_below_the_bottom(rules, warned):
    assert bool(found(f"{HEAD}otherwise stay -1\n{rules}\n", "W0614")) == warned


ENDS, POPS = "u -> f : b, # / #, 1\n", "u -> u : a, z / eps, 0\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"otherwise stay -1\n{ENDS}{POPS}", [9]),
        (f"otherwise go g -1\n{ENDS}{POPS}", []),
        (f"otherwise stay -1\n{ENDS}u -> f : a, z / eps, 0\n", []),
        (f"otherwise stay -1\n{ENDS}u -> v : a, z / eps, 0\nv -> f : c, eps / eps, 1\n", []),
        (f"states u v\notherwise stay -1\n{ENDS}u -> v : a, z / eps, 0\n", []),
    ],
)
def test_an_empty_stack_without_a_rule_is_a_dead_end(text, lines):
    assert found(HEAD + text, "W0615") == lines


def test_the_catalogue_is_not_blamed():
    for name in catalogue_names():
        codes = {one.code for one in catalogue(name).findings()}
        assert not codes & {"W0606", "W0613", "W0614", "W0615"}, name
        assert ("W0612" in codes) == (name == "paint"), "there the environment pays"


def test_states_that_no_word_reaches():
    rules = "u -> u : a | b | c, z / B A z, 0\nv -> g : a, z / z, 1\nw -> g : a, z / z, 1\n"
    assert len(found(f"{HEAD}otherwise go f 0\n{rules}", "W0601")) == 3  # v, w and g


def test_labels_that_fall_to_otherwise():
    """Except in a state with silent moves, or for an unreachable top."""
    rules = (
        "u -> u : a, z / A z, 0\nu -> v : b, A / eps, 0\nu -> w : c, A / eps, 0\n"
        "v -> f : eps, # / #, 0\nv -> w : eps, A / eps, 0\nw -> g : true, z / B z, 0\n"
    )
    assert len(found(f"{HEAD}otherwise stay -1\n{rules}", "W0602")) == 2  # in u: with #, with A
    silent = "u -> v : eps, # / #, 0\nv -> f : a, # / #, 0\nv -> v : !a, # / #, 0\n"
    head = "name m\nevents a\nstack #\nstart u\nfinal f\notherwise stay 0\n"
    assert {one.code for one in parse(head + silent).findings()} == {"W0612"}


def test_rules_that_never_apply():
    rules = (
        "u -> u : true, # / #, 0\n"
        "u -> f : a & b, A / A, 0\n"  # line 9: a and b are exclusive
        "u -> g : a, B / B, 0\n"  # line 10: B is never pushed
        "u -> g : a, z / z, 0\n"  # line 11: beaten by the rule of line 8
        "v -> g : a, z / z, 0\n"  # of a state that is not reached: said once, for the state
    )
    assert found(f"{HEAD}otherwise stay 0\n{rules}", "W0603") == [9, 10, 11]


def test_names_that_no_rule_mentions():
    rules = "otherwise stay 0\nu -> f : a, # / B #, 0\n"
    assert len(found(HEAD + rules, "W0604")) == 3  # b, c and A


def loops(rules, otherwise="stay 0", final="final f\n"):
    head = f"name m\nevents a b c\nstack # A B C\nstart u\n{final}otherwise {otherwise}\n"
    return len(found(head + rules, "W0606"))


def test_loops_that_pay():
    ends = "u -> f : c, # / #, 1\n"
    push, pop = "u -> u : a & !c, z / A z, 0.5\n", "u -> u : b & !a & !c, A / eps, {}\n"
    assert loops(push + pop.format(0.25) + ends)
    assert not loops(push + pop.format(-0.5) + ends)
    assert not loops(push + pop.format(0.25), final=""), "the machine is meant to run forever"
    assert not loops("u -> v : a, z / z, 5\nv -> u : a, z / z, 5\nv -> f : c & !a, z / z, 0\n")
    assert loops("u -> u : a & !c, z / z, 1\n" + ends)
    assert loops("u -> u : a & !c, # / A #, -1\nu -> u : eps, A / eps, 2\n" + ends)
    idle = "u -> u : a, # / A #, -5\nu -> f : b & !a, # / #, 0\n"
    assert loops(idle, "stay 0.5")
    assert not loops(idle, "error")
    assert not loops(idle, "go f 0.5")


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("stack #", "u -> f : a, z / z, 1"),
        ("counters 1", "u -> f : a, [-] / [0], 1"),
        ("", "u -> f : a, 1"),
    ],
)
def test_a_machine_that_pays_for_waiting(kind, rule):
    for otherwise, final, reads, lines in [
        ("stay 0.5", "final f", "a", [5]),
        ("stay 0", "final f", "a", []),
        ("go f 1", "final f", "a", []),
        ("stay 0.5", "states u f", "a", []),
        ("stay 0.5", "final f", "true", []),
    ]:
        rules = rule.replace(": a", f": {reads}")
        text = f"events a\n{kind}\nstart u\n{final}\notherwise {otherwise}\n{rules}"
        assert found(text, "W0606") == lines, text


def test_more_cases_than_can_be_listed_are_given_up():
    """The formula has 11 cases, and the unread labels have 2^11."""
    events = " ".join(f"e{i}" for i in range(22))
    formula = " | ".join(f"e{2 * i} & e{2 * i + 1}" for i in range(11))
    head = f"name m\nevents {events}\nstack #\nstart u\nfinal f\notherwise stay 0\n"
    assert found(f"{head}u -> u : {formula}, # / #, 0\n", "W0602") == [None]


def counting(rules, otherwise=None):
    return CountingRewardAutomaton(
        "m", ("A",), 2, "u", ("f",), otherwise or Otherwise.stay(0), tuple(rules)
    )


def codes(machine):
    return [one.code for one in machine.findings() if one.code != "W0612"]


def test_zero_patterns_of_counters_are_followed():
    """A decremented counter may be zero or not. A decremented zero stays zero."""
    a, nothing = Exactly(frozenset("A")), Exactly(frozenset())
    rules = [
        CountingTransition("u", "w", a, ("-", "-"), (1, 0), 0),
        CountingTransition("w", "y", a, ("-", "-"), (-1, -1), 0),
        CountingTransition("w", "x", nothing, ("-", "-"), (0, 0), 0),
        CountingTransition("y", "f", a, ("-", "-"), (0, 0), 0),
        CountingTransition("x", "f", a, ("1", "0"), (0, 0), 0),
    ]
    assert codes(counting(rules)) == ["W0602"] * 3
    head = "name m\nevents A B\nexclusive A B\ncounters 1\nstart u\nfinal f\notherwise stay 0\n"
    text = "u -> f : A & B, [-] / [0], 0\nu -> f : A, [1] / [0], 0\nu -> f : true, [0] / [0], 0\n"
    assert found(head + text, "W0603") == [8, 9]


def test_a_state_that_otherwise_leads_to_is_reached():
    rules = [
        CountingTransition("u", "u", Event("A"), ("-", "-"), (0, 0), 0),
        CountingTransition("v", "f", ALWAYS, ("0", "0"), (0, 0), 0),
    ]
    assert codes(counting(rules, Otherwise.go("v", 1))) == ["W0602"]
    covered = CountingTransition("u", "f", Not(Event("A")), ("-", "-"), (0, 0), 0)
    assert codes(counting([covered, *rules], Otherwise.go("v", 1))) == ["W0601"]


def test_a_guard_of_no_label_fits_nothing():
    guard = And((Event("A"), Not(Event("A"))))
    rule = CountingTransition("u", "f", guard, ("-", "-"), (0, 0), 0)
    assert codes(counting([rule])) == ["W0601", "W0602", "W0603"]
    assert "never applies: no label fits" in str(counting([rule]).findings()[-2])


def test_what_to_do_is_apart_from_what_is_wrong():
    rules = "otherwise stay 1\nu -> u : a, z / A, 0\nu -> u : c, z / z A, 0\nu -> f : b, # / #, 1\n"
    pops = f"otherwise stay -1\n{ENDS}{POPS}"
    loop = f"otherwise stay 0\nu -> u : a, z / z, 1\n{ENDS}"
    findings = [one for text in (rules, pops, loop) for one in parse(HEAD + text).findings()]
    advised = {one.code for one in findings if one.fix}
    assert advised == {"W0606", "W0613", "W0614", "W0615"}
    assert not [one for one in findings if one.fix and one.fix in one.message]


def test_users_see_no_inner_names_of_a_machine():
    inner = {"find_own_faults", "co_applicable_rules", "silent_fix", "fix"}
    assert not inner & {*dir(catalogue("letter"))}
