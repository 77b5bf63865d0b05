"""Theorem 4 measured: marked palindromes need exponentially many counter configurations, and five rows of a 1-policy.

After n letters and no mark, an automaton must be in a different configuration for each of the 2ⁿ words. Ours (the two
counters of `machines/simulation.py`) keeps the last letter in its state, so its counters alone take 2ⁿ⁻¹ values for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from pdrm.analysis.all_words import all_words
from pdrm.analysis.policy_size import theorem_4
from pdrm.analysis.reach.views import reachable_views
from pdrm.machines.catalogue import catalogue
from pdrm.machines.configuration import Configuration
from pdrm.machines.counting import CountingConfiguration
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.simulation import pushdown_to_counting
from pdrm.machines.stack_number import counting_configuration
from pdrm.product.configurations import UNKNOWN
from pdrm.product.counters import Counters

LETTERS = tuple(frozenset(letter) for letter in "01x")
MACHINE = "marked-palindrome"


@dataclass(frozen=True, slots=True)
class Blowup:
    """What the words of n letters over 0, 1 and x lead to, the words that are refused by then left out.

    >>> blowup(3)[3]
    Blowup(n=3, words=27, least=8, configurations=12, counters=6, counters_within=8, most_moves=38, one_policy_rows=5)
    """

    n: int
    words: int
    """All words of n letters."""
    least: int
    """What Theorem 4 asks for: 2ⁿ."""
    configurations: int
    """Pairs of state and counters after them."""
    counters: int
    """Counter configurations after them."""
    counters_within: int
    """Counter configurations after words of at most n letters, as in the table of a policy for n steps."""
    most_moves: int | None
    """The most moves that the automaton made for one letter so far; None where it was not run, but its configurations
    computed from the stacks they stand for."""
    one_policy_rows: int
    """Rows of the pushdown machine's 1-policy that words of at most n letters lead to."""


def blowup(longest: int = 14, simulated: int = 9) -> list[Blowup]:
    """Words of 0 to `longest` letters; up to `simulated` letters the automaton itself reads them (it takes 8ⁿ moves)."""
    machine = catalogue(MACHINE)
    assert isinstance(machine, PushdownRewardMachine)  # noqa: S101 - it is in the catalogue
    rows = reachable_views(all_words(machine), machine).steps(1)
    runs = list(islice(_counted(machine), simulated + 1))
    found, within = [], set[tuple[int, ...]]()
    for n, stacked in enumerate(islice(_stacked(machine), longest + 1)):
        computed = {counting_configuration(machine, configuration) for configuration in stacked}
        counted, moves = runs[n] if n < len(runs) else (computed, None)
        vectors = {configuration.counters for configuration in counted}
        within |= vectors
        sizes = len(counted), len(vectors), len(within)
        found.append(Blowup(n, len(LETTERS) ** n, theorem_4(n), *sizes, moves, int((rows <= n).sum())))
    return found


def _stacked(machine: PushdownRewardMachine) -> Iterator[set[Configuration]]:
    """The configurations after all words of 0, 1, 2, … letters."""
    here = {machine.begin().after}
    while True:
        yield here
        after = {machine.step(configuration, letter).after for configuration in here for letter in LETTERS}
        here = {configuration for configuration in after if configuration.state not in machine.final}


def _counted(machine: PushdownRewardMachine) -> Iterator[tuple[set[CountingConfiguration], int]]:
    """The same of the automaton with two counters, and the most moves that a letter took so far."""
    automaton = pushdown_to_counting(machine)
    counters = Counters(automaton, LETTERS)
    explored, most = counters.explored(), 0
    states = (*automaton.states, *automaton.final)
    here = {0}
    while True:
        found = explored.configurations
        yield (
            {
                CountingConfiguration(states[found.state[number]], tuple(found.counters[found.node[number]].tolist()))
                for number in here
            },
            most,
        )
        after = set()
        for number in here:
            for letter in range(len(LETTERS)):
                if explored.configurations.after[number, letter] == UNKNOWN:
                    explored.configurations.wanted[:] = number, letter
                    explored = counters.find(explored)
                most = max(most, int(explored.configurations.moves[number, letter]))
                after.add(int(explored.configurations.after[number, letter]))
        here = {number for number in after if explored.configurations.state[number] < len(automaton.states)}
