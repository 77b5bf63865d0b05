"""Compressed labels stand for exactly the machine's rules."""

from __future__ import annotations

from itertools import product

from pdrm.drawing.figure import EdgeLine, compress, make_figure, make_line, spell
from pdrm.drawing.graphviz import to_dot
from pdrm.drawing.tikz import to_tikz
from pdrm.language.loading import parse
from pdrm.machines.guards import Exactly
from tests.drawing import paper


def single_rules(line: EdgeLine) -> list[EdgeLine]:
    """The rules of a line: every guard with every top."""
    tops = line.tops or (None,)
    pairs = product(line.guards, tops)
    return [
        EdgeLine((guard,), (top,) if top is not None else (), line.effect, line.opening)
        for guard, top in pairs
    ]


def label(machine, source, target):
    (edge,) = [
        edge
        for edge in make_figure(machine).edges
        if (edge.source, edge.target, edge.dashed) == (source, target, False)
    ]
    return [spell(line) for line in edge.lines]


def caption(machine):
    return [spell(line) for line in make_figure(machine).caption]


def test_the_lines_stand_for_the_rules_and_no_others():
    for name in paper.TEXTS:
        machine = paper.drawn(name)
        for source, target in {(rule.source, rule.target) for rule in machine.transitions}:
            parallel = [
                rule
                for rule in machine.transitions
                if (rule.source, rule.target) == (source, target)
            ]
            lines = [make_line(rule, machine.events) for rule in parallel]
            drawn = [
                rule
                for family in compress([(line, "") for line in lines])
                for line in map(family.fill, family.rows)
                for rule in single_rules(line)
            ]
            assert len(drawn) == len(lines)
            assert set(drawn) == set(lines)


def test_one_variable_stands_for_the_directions_on_every_edge():
    machine = paper.drawn("one-treasure")
    assert label(machine, "u0", "u0") == ["{a}, z / a z, 0"]
    assert label(machine, "u0", "u1") == ["{a, t}, z / a z, 1"]
    assert caption(machine) == [
        "for a in u d l r",
        "for (b, c) in (d, u) (u, d) (r, l) (l, r)",
        "otherwise: stay, 0",
    ]


def test_variables_are_called_as_in_the_text():
    """A loop's variable and its map; a second meaning gets a prime; `1e5` is not a variable."""
    text = (
        "events u d l r t\nexclusive u d l r\nstack # u d l r\nstart s\nfinal f\notherwise stay 0\nmap back u:d d:u l:r r:l\n"
        "for step in u d l r:\n    s -> s : step & !t, z / step z, 0\n    s -> v : {step, t}, z / step z, 0\n"
        "    v -> v : back(step) & !t, step / eps, 1\n"
        "for step in u d l:\n    v -> f : step & t, z / z, 1e5  // step\n"
    )
    machine = parse(text)
    assert label(machine, "s", "s") == ["step ∧ ¬t, z / step z, 0"]
    assert label(machine, "s", "v") == ["{step, t}, z / step z, 0"]
    assert label(machine, "v", "v") == ["back(step) ∧ ¬t, step / ε, 1"]
    assert label(machine, "v", "f") == ["step′ ∧ t, z / z, 1e5"]
    assert "for (back(step), step) in (d, u) (u, d) (r, l) (l, r)" in caption(machine)


def test_otherwise_to_a_state_is_dashed_whether_or_not_rules_lead_there():
    machine = paper.drawn("formula-maze")
    dashed = [edge for edge in make_figure(machine).edges if edge.dashed]
    assert [(edge.source, edge.target) for edge in dashed] == [
        ("search", "lost"),
        ("return", "lost"),
    ]
    assert {spell(edge.lines[0]) for edge in dashed} == {"otherwise, −1e5"}
    assert to_dot(machine).count("style=dashed") == 2
    assert to_tikz(machine).count(r"\draw[->, dashed]") == 2


def test_a_reward_machine_is_drawn_without_a_stack():
    machine = parse("events a b\nstart u\nfinal f\notherwise stay 0\nu -> f : a & !b, 1\n")
    assert label(machine, "u", "f") == ["a ∧ ¬b, 1"]


def test_rules_with_one_effect_are_merged_over_guards_and_tops():
    assert label(paper.drawn("one-treasure"), "u1", "u2") == [
        "{u} | {u, x}, u|l|r / ε, −1e5",
        "{l} | {l, x}, u|d|l / ε, −1e5",
        "{r} | {r, x}, u|d|r / ε, −1e5",
        "{d} | {d, x}, d|l|r / ε, −1e5",
    ]


def test_a_variable_is_never_a_name_of_the_machine():
    events = ("a", "b", "c", "α")
    rules = tuple(
        paper.rule("u0", "u0", Exactly(frozenset({event})), f"z / {event}", 0) for event in events
    )
    machine = paper.built(events, rules, stack=events)
    assert label(machine, "u0", "u0") == ["{x1}, z / x1, 0"]
    assert caption(machine) == ["for x1 in a b c α", "otherwise: error"]
