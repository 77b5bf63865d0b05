"""Warnings about pushdown machines, word for word and with their places."""

import re

from pdrm.language.loading import catalogue, catalogue_names, parse
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guards import ALWAYS, And, Event, Exactly, Not
from pdrm.machines.paying_loops import BOTTOM, View, advance
from pdrm.machines.transitions import Otherwise

HEAD = "name m\nevents a b c\nexclusive a b c\nstack # A B\nstart u\nfinal f g\n"


def said(text):
    """Every warning: its code, its words and its line; but not that nothing is paid, as most machines here pay nothing."""
    return [
        (one.code, one.message, one.where and one.where.line)
        for one in paid(parse(text).findings())
    ]


def paid(findings):
    return [one for one in findings if one.code != "W0612"]


def test_a_machine_that_never_pays():
    rules = "u -> f : a, # / #, {}\nu -> g : b, # / #, 0\n"
    codes = [
        [
            one.code
            for one in parse(HEAD + f"otherwise {other}\n" + rules.format(reward)).findings()
            if one.code > "W0609"
        ]
        for other, reward in (("stay 0", "0"), ("stay 0", "0.5"), ("stay -0.1", "0"))
    ]
    assert codes == [["W0612"], [], []]


def test_a_rule_that_takes_the_bottom_away():
    """Only where `z` is replaced, where another rule looks for the bottom later, and where nothing pushes it again."""
    after = {
        "u -> u : a, z / A, 0\nu -> f : b, # / #, 1": 1,
        "u -> v : a, z / B A, 0\nv -> w : b, z / z, 0\nw -> f : b, # / #, 1": 1,
        "u -> u : a, z / A z, 0\nu -> f : b, # / #, 1": 0,
        "u -> u : a, # / A, 0\nu -> u : a, A / A A, 0\nu -> f : b, # / #, 1": 0,
        "u -> u : a, z / eps, 0\nu -> f : b, # / #, 1": 0,
        "u -> f : a, z / A, 0\nu -> f : b, # / #, 1": 0,
        "u -> u : a, z / A, 0\nu -> u : c, A / #, 0\nu -> f : b, # / #, 1": 0,
        "u -> v : c, # / A #, 0\nv -> v : a, z / B, 0\nu -> f : b, # / #, 1": 0,
    }
    for rules, count in after.items():
        found = [one for one in said(f"{HEAD}otherwise stay -1\n{rules}\n") if one[0] == "W0613"]
        assert len(found) == count, rules
    for name in catalogue_names():
        codes = {one.code for one in catalogue(name).findings()} & {"W0612", "W0613"}
        assert codes == ({"W0612"} if name == "paint" else set()), (
            name
        )  # there the environment pays


def test_states_that_no_word_reaches():
    found = said(
        HEAD
        + "otherwise go f 0\nu -> u : a | b | c, z / B A z, 0\nv -> g : a, z / z, 1\nw -> g : a, z / z, 1\n"
    )
    assert found[:3] == [
        ("W0601", "state `v` cannot be reached by any word", None),
        ("W0601", "state `w` cannot be reached by any word", None),
        ("W0601", "final state `g` cannot be reached by any word", None),
    ]


def test_labels_that_fall_to_otherwise():
    """The tops at which the same labels are unread are said together; a state of silent moves reads none, and one that
    no word reaches with a top is not asked about that top."""
    found = said(
        HEAD
        + "otherwise stay -1\n"
        + "u -> u : a, z / A z, 0\nu -> v : b, A / eps, 0\nu -> w : c, A / eps, 0\n"
        + "v -> f : eps, # / #, 0\nv -> w : eps, A / eps, 0\n"
        + "w -> g : true, z / B z, 0\n"
    )
    assert [one for one in found if one[0] == "W0602"] == [
        ("W0602", "in state `u` with top #, no rule reads !a: `otherwise stay -1`", None),
        ("W0602", "in state `u` with top A, no rule reads {}: `otherwise stay -1`", None),
    ]


def test_tops_that_read_alike_are_listed_together():
    rules = "u -> u : a, # / A #, 0\nu -> u : a, A / B #, 0\nu -> f : b & a, z / z, 0\nu -> u : b, # / eps, 0\n"
    found = said(HEAD + "otherwise error\n" + rules)
    assert [one[1] for one in found if one[0] == "W0602"] == [
        "in state `u` with top #, no rule reads !a & !b: `otherwise error`",
        "in state `u` with top A, no rule reads !a: `otherwise error`",
        "in state `u` with top B or (empty), no rule applies: `otherwise error`",
    ]


def test_states_that_read_alike_are_said_together_and_exclusive_events_once():
    rules = "u -> v : a, z / z, 0\nv -> u : a, z / z, 0\nu -> f : c, z / z, 0\nv -> f : c, z / z, 0\nu -> u : {}, z / z, 0\nv -> v : {}, z / z, 0\n"
    assert [one[1] for one in said(HEAD + "otherwise stay 0\n" + rules) if one[0] == "W0602"] == [
        "in states `u`, `v` with top #, no rule reads b: `otherwise stay 0`"
    ]


def test_an_empty_stack_without_a_rule_is_a_dead_end():
    """Not where a rule looks at no symbol, `otherwise` leads away, the state is final or has no rules at all."""
    pops, ends = "u -> u : a, z / eps, 0\n", "u -> f : b, # / #, 1\n"
    (found,) = [one for one in said(f"{HEAD}otherwise stay -1\n{ends}{pops}") if one[0] == "W0615"]
    assert (found[2], "after `u -> u : a, z / eps, 0`" in found[1]) == (9, True)
    fine = [
        f"otherwise go g -1\n{ends}{pops}",
        f"otherwise stay -1\n{ends}u -> f : a, z / eps, 0\n",
        f"otherwise stay -1\n{ends}u -> u : a, A / eps, 0\nu -> u : c, z / A z, 0\n",
        f"otherwise stay -1\n{ends}u -> v : a, z / eps, 0\nv -> f : c, eps / eps, 1\n",
        f"states u v\notherwise stay -1\n{ends}u -> v : a, z / eps, 0\n",
    ]
    for text in fine:
        assert "W0615" not in [one[0] for one in said(HEAD + text)], text
    for name in catalogue_names():
        assert "W0615" not in {one.code for one in catalogue(name).findings()}, name


def test_every_top_is_asked_about():
    """In `v` the bottom is never on top: the tops that come after it are asked about all the same."""
    found = said(
        HEAD
        + "otherwise stay 0\nu -> v : true, # / A #, 0\nv -> v : a, A / B A, 0\nv -> f : eps, B / B, 0\n"
    )
    assert [one[1] for one in found if one[0] == "W0602"] == [
        "in state `v` with top A, no rule reads !a: `otherwise stay 0`"
    ]


def test_rules_that_never_apply():
    text = (
        HEAD
        + "otherwise stay 0\n"
        + "u -> u : true, # / #, 0\n"
        + "u -> f : a & b, A / A, 0\n"  # line 9: a and b are exclusive
        + "u -> g : a, B / B, 0\n"  # line 10: B is never pushed
        + "u -> g : a, z / z, 0\n"  # line 11: beaten by the rule of line 8
        + "v -> g : a, z / z, 0\n"  # of a state that is not reached: said once, for the state
    )
    assert [one for one in said(text) if one[0] == "W0603"] == [
        ("W0603", "no label fits `a & b`, so this rule never applies: u -> f : a & b, A / A, 0", 9),
        (
            "W0603",
            "its top of stack never occurs in that state, or other rules beat it: u -> g : a, B / B, 0",
            10,
        ),
        (
            "W0603",
            "its top of stack never occurs in that state, or other rules beat it: u -> g : a, z / z, 0",
            11,
        ),
    ]


def test_names_that_no_rule_mentions():
    text = HEAD + "otherwise stay 0\nu -> f : {a}, z / A z, 0\nu -> g : b & !c, eps / eps, 0\n"
    assert [
        one for one in said(text.replace("{a}, z / A z", "{a}, A / A")) if one[0] == "W0604"
    ] == [("W0604", "stack symbol `B` is declared but no rule mentions it", None)]
    only = HEAD + "otherwise stay 0\nu -> f : a, # / B #, 0\n"
    assert [one for one in said(only) if one[0] == "W0604"] == [
        ("W0604", "event `b` is declared but no rule mentions it (a domain may emit it)", None),
        ("W0604", "event `c` is declared but no rule mentions it (a domain may emit it)", None),
        ("W0604", "stack symbol `A` is declared but no rule mentions it", None),
    ]


def test_a_silent_rule_that_is_used_is_none_to_warn_of():
    assert (
        said(
            "name m\nevents a\nstack #\nstart u\nfinal f\notherwise stay 0\nu -> v : eps, # / #, 0\nv -> f : a, # / #, 0\nv -> v : !a, # / #, 0\n"
        )
        == []
    )


def loops(rules, otherwise="stay 0", final="final f\n"):
    """The loops that pay: state, top, word and what it pays."""
    head = f"name m\nevents a b c\nstack # A B C\nstart u\n{final}otherwise {otherwise}\n"
    found = [one.message for one in parse(head + rules).findings() if one.code == "W0606"]
    shape = r"in state `(\w+)` with (.+), the word `(.+)` pays (.+) and changes.*"
    return [re.fullmatch(shape, one).groups() for one in found if not one.startswith("`otherwise")]


def test_loops_speak_of_ending_only_where_there_is_an_end():
    """With the line of the rule that pays; a loop or an `otherwise` that pays in a machine that W0601 says never ends."""
    head = "name m\nevents a b c\nstack # A\nstart u\nfinal f\notherwise stay {}\nu -> u : a & !c, z / z, 1\n"
    for rule, ends in (("u -> f : c, # / #, 1\n", True), ("u -> u : c, z / z, 0\n", False)):
        for otherwise, line in ((0, 7), (1, 6)):
            found = parse(head.format(otherwise) + rule).findings()
            (first, *_) = [one for one in found if one.code == "W0606"]
            assert ("W0601" in {one.code for one in found}, "end" in first.message) == (
                not ends,
                ends,
            )
            assert first.where.line == line


def test_loops_that_pay():
    ends = "u -> f : c, # / #, 1\n"
    push, pop = "u -> u : a & !c, z / A z, 0.5\n", "u -> u : b & !a & !c, A / eps, {}\n"
    assert loops(push + pop.format(0.25) + ends) == [("u", "top A", "a b", "0.75")]
    assert loops(push + pop.format(-0.5) + ends) == []
    assert loops(push + pop.format(0.25), final="") == []  # what never ends is meant to go on
    # in one state only, but of each that has one
    stay = "u -> v : a, # / A #, 0\nv -> v : b & !c, z / z, 1\nv -> w : c, z / z, 0\nw -> w : a & b, z / z, 2\nw -> f : a & !b, z / z, 0\n"
    assert loops(stay) == [("v", "top A", "b", "1"), ("w", "top A", "a+b", "2")]
    assert loops("u -> v : a, z / z, 5\nv -> u : a, z / z, 5\nv -> f : c & !a, z / z, 0\n") == []
    empty = "u -> v : a, # / eps, 0\nv -> v : b & !c, eps / eps, 1\nv -> f : c, eps / eps, 0\n"
    assert loops(empty) == [("v", "the empty stack", "b", "1")]


def test_loops_that_pay_with_silent_moves_and_otherwise():
    ends = "u -> f : c, # / #, 1\n"
    silent = (
        "u -> u : a & !c, # / A #, 1\nu -> u : eps, A / B, {}\nu -> u : b, B / eps, -0.5\n" + ends
    )
    assert loops(silent.format(0.25)) == [("u", "top #", "a b", "0.75")]
    assert loops(silent.format(-1)) == []
    # 542 silent moves after one label are followed, 1,442 are not
    popping = "".join(
        f"u -> u : eps, {x} / {y}, 0\n" for x, y in (("B", "C C C C C C C C"), ("C", "eps"))
    )
    assert loops(
        f"u -> u : a & !c, # / A A #, 1\nu -> u : eps, A / {'B ' * 30}, 0\n{popping}{ends}"
    ) == [("u", "top #", "a", "1")]
    assert (
        loops(f"u -> u : a & !c, # / A A #, 1\nu -> u : eps, A / {'B ' * 80}, 0\n{popping}{ends}")
        == []
    )
    # what `otherwise` pays counts, unless it is an error or leads away
    idle = "u -> u : a, # / A #, -5\nu -> f : b & !a, # / #, 0\n"
    assert loops(idle, "stay 0.5") == [("u", "top A", "b", "0.5")]
    assert loops(idle, "error") == loops(idle, "go f 0.5") == []


def test_a_machine_that_pays_for_waiting():
    """Of any kind, where some label falls to `otherwise` and there is an end that could be missed."""
    rules = {
        "stack #": "u -> f : a, z / z, 1",
        "counters 1": "u -> f : a, [-] / [0], 1",
        "": "u -> f : a, 1",
    }
    for kind, rule in rules.items():
        for otherwise, final, reads, count in [
            ("stay 0.5", "final f", "a", 1),
            ("stay 0", "final f", "a", 0),
            ("stay -1", "final f", "a", 0),
            ("go f 1", "final f", "a", 0),
            ("stay 0.5", "states u f", "a", 0),
            ("stay 0.5", "final f", "true", 0),
        ]:
            text = f"events a\n{kind}\nstart u\n{final}\notherwise {otherwise}\n{rule.replace(': a', f': {reads}')}"
            found = [one for one in parse(text).findings() if one.code == "W0606"]
            assert len(found) == count, text
            assert all(one.where.line == 5 for one in found)


def test_a_rule_that_puts_symbols_below_the_bottom():
    """`z / z A` where it can be read at the bottom, unless the machine takes the bottom symbol off on purpose."""
    after = {
        "u -> u : a, z / z A, 0\nu -> f : b, # / #, 1": "A z",
        "u -> u : a, # / # B A, 0\nu -> f : b, # / #, 1": "B A #",
        "u -> u : a, z / A z, 0\nu -> f : b, # / #, 1": None,
        "u -> u : a, # / A #, 0\nu -> u : a, A / A B, 0\nu -> f : b, # / #, 1": None,
        "u -> u : a, z / z A, 0\nu -> f : b, # / eps, 1": None,
    }
    for rules, push in after.items():
        found = [one for one in said(f"{HEAD}otherwise stay -1\n{rules}\n") if one[0] == "W0614"]
        assert [one[1].partition("write ")[2] for one in found] == [f"{push} after the slash"] * (
            push is not None
        )
    codes = [
        one[0]
        for one in said(
            f"{HEAD}otherwise stay -1\nu -> u : a, z / z A, 0\nu -> f : b, A / eps, 1\n"
        )
    ]
    assert codes[0] == "W0614"  # the cause, before what follows from it
    assert {"W0601", "W0603"} < set(codes)
    for name in catalogue_names():
        assert "W0614" not in {one.code for one in catalogue(name).findings()}, name


def test_a_label_is_read_as_far_as_the_top_of_the_stack_is_known():
    machine = parse(
        HEAD
        + "otherwise error\nu -> v : a, A / eps, 1\nv -> v : eps, B / A, 2\nu -> f : b, z / z, 4\nf2 -> f : a, eps / A, 0\n"
    )
    for known, label, found in (
        (("A", "B"), "a", (("v", ("A",)), 3)),
        (("A", "A"), "a", (("v", ("A",)), 1)),
        (("A",), "a", None),  # what is below decides
        (("A",), "b", (("f", ("A",)), 4)),
        (("A",), "c", None),  # no rule
        (("B",), "a", None),
    ):
        assert advance(machine, View("u", known), frozenset(label)) == found
    assert advance(machine, View("f2", (BOTTOM,)), frozenset("a")) == (("f", ("A", BOTTOM)), 0)


def test_loops_are_looked_for_as_far_as_they_may_push():
    """Higher than two symbols above where it began no loop is followed, nor is one that pays ever more and does not come back."""
    ends = "u -> f : c, # / #, 0\n"
    pops = "u -> u : b & !a, A / eps, 0\n"
    assert loops(f"u -> u : a & !c, # / A A #, 1\n{pops}{ends}") == [("u", "top #", "a b b", "1")]
    assert loops(f"u -> u : a & !c, # / A A A #, 1\n{pops}{ends}") == []
    grows = "u -> u : a & !c, # / A #, 0\nu -> u : a, A / A, 1\n"
    assert loops(grows + ends) == [("u", "top A", "a", "1")]
    # a rule with z is looked up at a top where no other beats it
    beaten = (
        "u -> u : a & !c, z / z, 3\nu -> f : a & !b & !c, # / #, 0\nu -> u : b & c, # / A #, -9\n"
    )
    assert loops(beaten) == [("u", "top A", "a", "3")]


def test_more_cases_than_can_be_listed_are_given_up():
    """The formula has 11 cases; the labels it leaves over have 2^11."""
    head = f"name m\nevents {' '.join(f'e{i}' for i in range(22))}\nstack #\nstart u\nfinal f\notherwise stay 0\n"
    formula = " | ".join(f"e{2 * i} & e{2 * i + 1}" for i in range(11))
    (found,) = paid(parse(head + f"u -> u : {formula}, # / #, 0\n").findings())
    assert found.code == "W0602"
    assert found.message.startswith("the undefined cases are not listed")


def counting(rules, counters=2, otherwise=None):
    return CountingRewardAutomaton(
        "m", ("A",), counters, "u", ("f",), otherwise or Otherwise.stay(0), tuple(rules)
    )


def test_patterns_are_listed_in_the_order_of_the_states():
    """A counter counted down may be zero or not; counted down at zero, or not changed, it is what it was."""
    rules = [
        CountingTransition("u", "w", Exactly(frozenset("A")), ("-", "-"), (1, 0), 0),
        CountingTransition("w", "y", Exactly(frozenset("A")), ("-", "-"), (-1, -1), 0),
        CountingTransition("w", "x", Exactly(frozenset()), ("-", "-"), (0, 0), 0),
        CountingTransition("y", "f", Exactly(frozenset("A")), ("-", "-"), (0, 0), 0),
        CountingTransition("x", "f", Exactly(frozenset("A")), ("-", "-"), (0, 0), 0),
    ]
    assert [one.message for one in paid(counting(rules).findings())] == [
        "in state `u` with counters [0, 0], no rule reads !A: `otherwise stay 0`",
        "in state `y` with counters [0, 0] or [1, 0], no rule reads !A: `otherwise stay 0`",
        "in state `x` with counters [1, 0], no rule reads !A: `otherwise stay 0`",
    ]


def test_idle_counting_rules_have_their_place():
    text = (
        "name m\nevents A B\nexclusive A B\ncounters 1\nstart u\nfinal f\notherwise stay 0\n"
        "u -> f : A & B, [-] / [0], 0\nu -> f : A, [1] / [0], 0\nu -> f : true, [0] / [0], 0\n"
    )
    assert said(text) == [
        (
            "W0603",
            "no label fits `A & B`, so this rule never applies: u -> f : A & B, [-] / [0], 0",
            8,
        ),
        ("W0603", "its counter tests never hold in that state: u -> f : A, [1] / [0], 0", 9),
    ]


def test_where_otherwise_leads_is_reached_too():
    rules = [
        CountingTransition("u", "u", Event("A"), ("-", "-"), (0, 0), 0),
        CountingTransition("v", "f", ALWAYS, ("0", "0"), (0, 0), 0),
        CountingTransition("v", "f", ALWAYS, ("1", "-"), (0, 0), 0),
    ]
    found = counting(rules, otherwise=Otherwise.go("v", 1)).findings()
    assert [one.message for one in found] == [
        "in state `u` with counters [0, 0], no rule reads !A: `otherwise go v 1`",
        "its counter tests never hold in that state: v -> f : true, [1, -] / [0, 0], 0",
    ]
    covered = [CountingTransition("u", "f", Not(Event("A")), ("-", "-"), (0, 0), 0), *rules]
    assert [
        one.message for one in counting(covered, otherwise=Otherwise.go("v", 1)).findings()
    ] == ["state `v` cannot be reached by any word"]


def test_many_zero_patterns_are_given_up_word_for_word():
    counters = 14
    names = [f"u{i}" for i in range(counters)]
    one_up = [
        CountingTransition(
            name,
            after,
            guard,
            ("-",) * counters,
            tuple(change * (i == j) for j in range(counters)),
            0,
        )
        for i, (name, after) in enumerate(zip(names, [*names[1:], "u0"], strict=True))
        for guard, change in ((Event("A"), 1), (Not(Event("A")), 0))
    ]
    machine = CountingRewardAutomaton(
        "m", ("A",), counters, "u0", (), Otherwise.stay(0), tuple(one_up)
    )
    assert [(one.code, one.message) for one in paid(machine.findings())] == [
        (
            "W0602",
            "the undefined cases are not listed: there are more than 10,000 states and zero patterns",
        )
    ]


def test_a_guard_of_no_label_fits_nothing():
    rule = CountingTransition("u", "f", And((Event("A"), Not(Event("A")))), ("-", "-"), (0, 0), 0)
    assert [one.code for one in paid(counting([rule]).findings())] == ["W0601", "W0602", "W0603"]
