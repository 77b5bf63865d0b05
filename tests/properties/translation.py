"""Appendix B and Section 5: a counting automaton and its pushdown machine, and a pushdown machine and its counting automaton,
pay the same in every step of every word, and agree on the memory and on acceptance."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from pdrm.errors import CannotTranslate, EndlessSilentMoves, UndefinedMove
from pdrm.machines.conversions import (
    BOX,
    counting_configuration,
    counting_to_pushdown,
    pushdown_to_counting,
)
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from tests.properties.random_counting import counting_automaton, pushdown_machine, word

MACHINES = 100
WORDS = 200
"""Words a machine."""

MAX_SILENT = 20_000
"""Silent moves after which a word of the simulation is given up: the numbers grow exponentially."""


def check_translation(seed: int, machines: int = MACHINES) -> int:
    """Random 1-counter automata against their translations; returns the number of words."""
    rng = Random(seed)
    cases = 0
    while cases < machines * WORDS:
        counting = counting_automaton(rng)
        try:
            pushdown = counting_to_pushdown(counting)
        except CannotTranslate:
            continue  # silent moves that never end
        for _ in range(WORDS):
            same_on(counting, pushdown, word(rng, counting, longest=12))
        cases += WORDS
    return cases


def same_on(
    counting: CountingRewardAutomaton, pushdown: PushdownRewardMachine, labels: list[Label]
) -> None:
    """Read a word with both, step by step."""
    try:
        one = counting.run(labels)
    except UndefinedMove:
        _undefined_too(pushdown, labels)
        return
    other = pushdown.run(labels)
    assert (one.accepted, one.unread, len(one.steps)) == (
        other.accepted,
        other.unread,
        len(other.steps),
    ), labels
    assert one.reward == other.reward, labels
    for counted, stacked in zip(one.steps, other.steps, strict=True):
        assert counted.reward == stacked.reward, (labels, counted, stacked)
        assert counted.after.state == stacked.after.state, (labels, counted, stacked)
        assert (*[BOX] * counted.after.counters[0], "#") == stacked.after.stack, (
            labels,
            counted,
            stacked,
        )


def check_simulation(seed: int, machines: int = MACHINES) -> int:
    """Random pushdown machines against the two counters that simulate them; returns the number of words."""
    rng = Random(seed)
    cases = 0
    for _ in range(machines):
        pushdown = pushdown_machine(rng)
        counting = pushdown_to_counting(pushdown)
        for _ in range(10):
            cases += simulated_on(pushdown, counting, word(rng, pushdown, longest=6))
    return cases


def simulated_on(
    pushdown: PushdownRewardMachine, counting: CountingRewardAutomaton, labels: list[Label]
) -> int:
    """Read a word with both, step by step; 0 if that would take too many moves."""
    try:
        other = replace(counting, most_silent=MAX_SILENT).run(labels)
    except EndlessSilentMoves:
        return 0
    except UndefinedMove:
        _undefined_too(pushdown, labels)
        return 1
    one = pushdown.run(labels)
    assert (one.accepted, one.unread, one.reward) == (other.accepted, other.unread, other.reward), (
        labels
    )
    for stacked, counted in zip(one.steps, other.steps, strict=True):
        assert stacked.reward == counted.reward, (labels, stacked, counted)
        assert counted.after == counting_configuration(pushdown, stacked.after), (
            labels,
            stacked,
            counted,
        )
        assert counted.after.counters[1] == 0, (labels, stacked, counted)
    return 1


def _undefined_too(machine: PushdownRewardMachine, labels: list[Label]) -> None:
    try:
        machine.run(labels)
    except UndefinedMove:
        return
    raise AssertionError(f"only one of the two machines has no rule: {labels}")
