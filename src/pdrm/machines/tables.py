"""Machines compiled to integer tables, and a readable step on them without kernels.

States are numbered in the order of `machine.states`, then `machine.final`. Stack symbols are
numbered from 1 in the order of `machine.stack`, and 0 is the empty stack. Labels are numbered by
their position in the given sequence. A table contains only arrays and integers, so that it can be
passed to Numba and JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.errors import MachineFinished, UndefinedMove
from pdrm.machines.counting import (
    ANY_VALUE,
    NONZERO,
    ZERO,
    CountingRewardAutomaton,
    CountingTransition,
)
from pdrm.machines.guards import ALWAYS, Label
from pdrm.machines.heads import rule_at
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Configuration, RuleOrOtherwise, Stack

Integers = npt.NDArray[np.int32]
Rewards = npt.NDArray[np.float64]

NO_MOVE = -1
"""No rule applies or, in `move`, the state is final."""

BEGIN = 0
"""The first move of an episode: pushes the bottom symbol and goes to the start with reward 0."""

Symbols = tuple[int, ...]
"""A stack of numbered symbols, top first."""


class Table(NamedTuple):
    """The distinct moves of a machine, and the move for each state, label and stack top.

    >>> from pdrm.machines.guards import ALWAYS
    >>> from pdrm.machines.transitions import Otherwise, Transition
    >>> rule = Transition("u", "u", ALWAYS, "z", ("A", "z"), 0.5)
    >>> machine = PushdownRewardMachine(
    ...     "tiny", ("a",), ("#", "A"), "u", (), Otherwise.error(), (rule,)
    ... )
    >>> table = tabulate(machine, [frozenset("a")])
    >>> table.move.tolist()
    [[[-1, 1, 1]]]
    >>> step_table(table, *begin_table(table)[:2], 0)
    TableStep(state=0, stack=(2, 1), reward=0.5)
    """

    move: Integers
    """[state, label, top]: the move that reads the label, or -1."""
    silent: Integers
    """[state, top]: the silent move, or -1."""
    target: Integers
    """[move]: the next state. Move 0 is BEGIN, the others are numbered in order of first use."""
    pops: Integers
    """[move]: 1 if the top symbol is removed, else 0 (also if it is popped and pushed again)."""
    pushes: Integers
    """[move]: the number of pushed symbols."""
    push: Integers
    """[move, position]: the pushed symbols in order (the new top last), padded with zeros."""
    reward: Rewards
    """[move]: the reward."""
    start: int
    """The initial state."""
    bottom: int
    """The bottom symbol."""
    first_final: int
    """The first final state. All states from there on are final."""


class TableRow(NamedTuple):
    """A distinct move. Moves at different tops with the same effect on the stack share a row."""

    target: str
    pops: bool
    """True if the top is removed, False if it is kept or pushed again."""
    pushed: Stack
    """The symbols above the kept part of the stack, the new top first."""
    reward: float
    """The reward, with 0.0 instead of -0.0."""

    @classmethod
    def from_rule(cls, rule: RuleOrOtherwise, state: str, top: str | None) -> TableRow:
        """The row of a rule at a head."""
        pushed = rule.replacement(top)
        kept = top is not None and pushed[-1:] == (top,)
        pops = top is not None and not kept
        return cls(rule.target or state, pops, pushed[:-1] if kept else pushed, 0.0 + rule.reward)


def tabulate(machine: PushdownRewardMachine, labels: Sequence[Label]) -> Table:
    """Compile a machine for these labels.

    Repeated labels have equal columns, so that the number of a label is its position in `labels`.

    >>> from pdrm.language.loading import catalogue
    >>> table = tabulate(catalogue("letter"), [frozenset(label) for label in ("", "A", "B", "C")])
    >>> table.move.shape  # three states; four labels; no symbol, # and A
    (3, 4, 3)
    """
    machine.alphabet.check(*labels)
    states = {state: number for number, state in enumerate((*machine.states, *machine.final))}
    symbols = {symbol: number for number, symbol in enumerate((None, *machine.stack))}
    rows = {TableRow(machine.start, False, (machine.stack[0],), 0.0): BEGIN}
    numbers = np.full((len(states), 1 + len(labels), len(symbols)), NO_MOVE, np.int32)
    for state, top in product(machine.states, symbols):
        for column, read in enumerate((None, *labels)):
            rule = rule_at(machine, (state, top), read)
            if rule is not None:
                row = TableRow.from_rule(rule, state, top)
                number = rows.setdefault(row, len(rows))
                numbers[states[state], column, symbols[top]] = number
    push = np.zeros((len(rows), max(len(row.pushed) for row in rows)), np.int32)
    for number, row in enumerate(rows):
        push[number, : len(row.pushed)] = [symbols[symbol] for symbol in reversed(row.pushed)]
    return Table(
        move=np.ascontiguousarray(numbers[:, 1:]),
        silent=np.ascontiguousarray(numbers[:, 0]),
        target=np.array([states[row.target] for row in rows], np.int32),
        pops=np.array([row.pops for row in rows], np.int32),
        pushes=np.array([len(row.pushed) for row in rows], np.int32),
        push=push,
        reward=np.array([row.reward for row in rows], np.float64),
        start=states[machine.start],
        bottom=1,
        first_final=len(machine.states),
    )


MAX_KEPT = 100_000
"""The maximum size of the cache, since an environment can emit up to 2^events labels."""


class LazyTable:
    """A move table that is filled on demand, for environments that emit labels one at a time.

    >>> from pdrm.language.loading import catalogue
    >>> moves = LazyTable(catalogue("letter"))
    >>> moves.step("u0", ("#",), frozenset("A"))
    ('u0', ('A', '#'), -0.01)
    """

    def __init__(self, machine: PushdownRewardMachine) -> None:
        self.machine = machine
        self._cache: dict[tuple[str, str | None, Label | None], TableRow | None] = {}
        self._silent_sources = {rule.source for rule in machine.transitions if rule.silent}

    def begin(self) -> tuple[str, Stack, float]:
        """The state, stack and reward after the silent moves before the first label."""
        return self._run_silent_moves(self.machine.start, (self.machine.stack[0],), 0.0)

    def step(self, state: str, stack: Stack, label: Label) -> tuple[str, Stack, float]:
        """Read a label in a valid configuration whose state is not final."""
        row = self._find(state, stack, label)
        if row is None:
            raise self.machine.undefined_move(label, Configuration(state, stack))
        return self._run_silent_moves(row.target, row.pushed + stack[row.pops :], row.reward)

    def _run_silent_moves(
        self, state: str, stack: Stack, reward: float
    ) -> tuple[str, Stack, float]:
        """Make silent moves until none applies, and add their rewards in order."""
        while state in self._silent_sources and (row := self._find(state, stack, None)):
            state = row.target
            stack = row.pushed + stack[row.pops :]
            reward += row.reward
        return state, stack, reward

    def _find(self, state: str, stack: Stack, label: Label | None) -> TableRow | None:
        top = stack[0] if stack else None
        key = state, top, label
        if key not in self._cache:
            if label is not None:
                self.machine.alphabet.check(label)
            if len(self._cache) >= MAX_KEPT:
                self._cache.clear()
            rule = rule_at(self.machine, (state, top), label)
            self._cache[key] = None if rule is None else TableRow.from_rule(rule, state, top)
        return self._cache[key]


class TableStep(NamedTuple):
    """The configuration after a step, with the stack top first, and the reward."""

    state: int
    stack: Symbols
    reward: float


def begin_table(table: Table, label: int = -1) -> TableStep:
    """The initial step.

    Args:
        table: The table.
        label: The label that the environment emits at reset (-1 for none).
    """
    first = _follow(table, TableStep(table.start, (), 0.0), BEGIN)
    if label < 0 or first.state >= table.first_final:
        return first
    after = step_table(table, first.state, first.stack, label)
    return after._replace(reward=first.reward + after.reward)


def step_table(table: Table, state: int, stack: Symbols, label: int) -> TableStep:
    """Read a label, then make silent moves until none applies, and add the rewards in order."""
    if state >= table.first_final:
        raise MachineFinished(f"state number {state} is final", fix="start a new episode")
    top = stack[0] if stack else 0
    move = int(table.move[state, label, top])
    if move == NO_MOVE:
        raise UndefinedMove(
            f"the table has no move for label number {label} in state number {state} "
            f"with top symbol number {top}",
            fix="add a rule, or write `otherwise stay R` or `otherwise go STATE R` in the machine",
        )
    return _follow(table, TableStep(state, stack, 0.0), move)


def run_silent_table(table: Table, state: int, stack: Symbols) -> TableStep:
    """The configuration after the silent moves, and their reward."""
    silent = int(table.silent[state, stack[0] if stack else 0])
    return _follow(table, TableStep(state, stack, 0.0), silent)


def _follow(table: Table, step: TableStep, move: int) -> TableStep:
    """Make a move, then silent moves until none applies."""
    while move != NO_MOVE:
        pushed = table.push[move, : table.pushes[move]].tolist()
        stack = (*reversed(pushed), *step.stack[table.pops[move] :])
        step = TableStep(int(table.target[move]), stack, step.reward + float(table.reward[move]))
        move = int(table.silent[step.state, stack[0] if stack else 0])
    return step


# --- Counting automata, for the Numba kernels
#
# Silent moves have an additional column after the labels. `otherwise` is an additional rule without
# tests, after the rules that read a label.

Values = npt.NDArray[np.int64]
"""[counter]: the values of the counters."""

IS_ZERO, IS_NOT_ZERO, IS_ANY = 0, 1, 2
TESTS = (ZERO, NONZERO, ANY_VALUE)
"""The counter tests in the order of these numbers."""

MAX_VALUE = 2**62
"""The maximum value of a counter, a 64-bit integer."""


class CountingTable(NamedTuple):
    """The rules of a counting automaton by state and label.

    >>> from pdrm.language.loading import catalogue
    >>> table = tabulate_counting(catalogue("letter-cra"), [frozenset("A"), frozenset("C")])
    >>> table.first[0].tolist(), table.change[:2].tolist(), table.silent
    ([0, 2, 3, 3], [[1], [0]], 2)
    """

    first: Integers
    """[state, label + 1]: the first rule of a state and label. Its rules end at the next entry."""
    test: Integers
    """[rule, counter]: IS_ZERO, IS_NOT_ZERO or IS_ANY."""
    change: npt.NDArray[np.int64]
    """[rule, counter]: the change. A counter never falls below zero."""
    target: Integers
    """[rule]: the next state."""
    reward: Rewards
    """[rule]: the reward."""
    silent: int
    """The column of silent moves."""


def tabulate_counting(automaton: CountingRewardAutomaton, labels: Sequence[Label]) -> CountingTable:
    """Compile a counting automaton for these labels."""
    automaton.alphabet.check(*labels)
    states = {state: number for number, state in enumerate((*automaton.states, *automaton.final))}
    rules: list[CountingTransition] = []
    first = np.zeros((len(states), len(labels) + 2), np.int32)
    for state, number in states.items():
        for column, label in enumerate((*labels, None)):
            first[number, column] = len(rules)
            rules += [rule for rule in automaton.rules_from[state] if rule.reads(label)]
            if label is not None and state not in automaton.final:
                rules += _otherwise(automaton, state)
        first[number, -1] = len(rules)
    shape = (len(rules), automaton.counters)
    tests = [[TESTS.index(test) for test in rule.tests] for rule in rules]
    return CountingTable(
        first,
        np.array(tests, np.int32).reshape(shape),
        np.array([rule.changes for rule in rules], np.int64).reshape(shape),
        np.array([states[rule.target] for rule in rules], np.int32),
        np.array([rule.reward for rule in rules], np.float64),
        len(labels),
    )


def _otherwise(automaton: CountingRewardAutomaton, state: str) -> list[CountingTransition]:
    """`otherwise` as an explicit transition from `state`."""
    otherwise = automaton.otherwise
    if otherwise.action == "error":
        return []
    target = otherwise.target or state
    tests = (ANY_VALUE,) * automaton.counters
    changes = (0,) * automaton.counters
    return [CountingTransition(state, target, ALWAYS, tests, changes, otherwise.reward)]
