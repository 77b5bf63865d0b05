"""A counting reward automaton compiled to integer tables, as the Numba count runs it.

States are numbered as in `states`, then `final`; labels by their position in the sequence the table was made for, and one
column more for silent moves. `otherwise` is one rule more, without tests, after those that read a label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guard import ALWAYS, Label
from pdrm.machines.table import Integers, Rewards
from pdrm.machines.zero_patterns import ANY_VALUE, ZERO

Values = npt.NDArray[np.int64]
"""[counter]: the counters' values."""

IS_ZERO, IS_NOT_ZERO, IS_ANY = 0, 1, 2

LARGEST_VALUE = 2**62
"""Counters are 64-bit integers here."""


class CountingTable(NamedTuple):
    """The rules of each state and label, one after the other.

    >>> from pdrm.machines.catalogue import catalogue
    >>> table = tabulate_counting(catalogue("letter-cra"), [frozenset("A"), frozenset("C")])
    >>> table.first[0].tolist(), table.change[:2].tolist(), table.silent
    ([0, 2, 3, 3], [[1], [0]], 2)
    """

    first: Integers
    """[state, label + 1]: where the rules of each state and label begin; they end where the next begin."""
    test: Integers
    """[rule, counter]: IS_ZERO, IS_NOT_ZERO or IS_ANY."""
    change: npt.NDArray[np.int64]
    """[rule, counter]: what is added; a counter never falls below zero."""
    target: Integers
    """[rule]"""
    reward: Rewards
    """[rule]"""
    silent: int
    """The column of silent moves."""


def tabulate_counting(automaton: CountingRewardAutomaton, labels: Sequence[Label]) -> CountingTable:
    """Compile an automaton for these labels."""
    states = {state: number for number, state in enumerate((*automaton.states, *automaton.final))}
    rules: list[CountingTransition] = []
    first = np.zeros((len(states), len(labels) + 2), np.int32)
    for state, number in states.items():
        for column, label in enumerate((*labels, None)):
            first[number, column] = len(rules)
            rules += _rules(automaton, state, label)
        first[number, -1] = len(rules)
    kinds = {ZERO: IS_ZERO, ANY_VALUE: IS_ANY}
    shape = (len(rules), automaton.counters)
    return CountingTable(
        first,
        np.array([[kinds.get(test, IS_NOT_ZERO) for test in rule.tests] for rule in rules], np.int32).reshape(shape),
        np.array([rule.changes for rule in rules], np.int64).reshape(shape),
        np.array([states[rule.target] for rule in rules], np.int32),
        np.array([rule.reward for rule in rules], np.float64),
        len(labels),
    )


def _rules(automaton: CountingRewardAutomaton, state: str, label: Label | None) -> list[CountingTransition]:
    """The rules for a label in a state (None: the silent ones), and then what `otherwise` says."""
    leaving = automaton.rules_from(state)
    if label is None:
        return [rule for rule in leaving if rule.silent]
    automaton.alphabet.check(label)
    reading = [rule for rule in leaving if rule.guard.holds(label)]
    otherwise, count = automaton.otherwise, automaton.counters
    if otherwise.action == "error" or state in automaton.final:
        return reading
    target = state if otherwise.target is None else otherwise.target
    nothing = CountingTransition(state, target, ALWAYS, (ANY_VALUE,) * count, (0,) * count, otherwise.reward)
    return [*reading, nothing]
