"""Machines compiled to integer tables, and the readable step on them, without kernels.

States are numbered as in `machine.states`, then `machine.final`; stack symbols from 1 as in `machine.stack`, with 0 for
the empty stack; labels by their position in the sequence the table was compiled for. A table holds arrays and integers
only, so that it passes unchanged into Numba and JAX.
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
"""In `move`: no rule applies and the machine says `otherwise error`, or the state is final. In `silent`: none applies."""

BEGIN = 0
"""The move that begins an episode: it puts the bottom symbol on the empty stack, leads to the start and pays 0."""

Symbols = tuple[int, ...]
"""A stack of numbered symbols, top first."""


class Table(NamedTuple):
    """Every move of a machine, once, and which of them each state, label and top of stack leads to.

    >>> from pdrm.machines.guards import ALWAYS
    >>> from pdrm.machines.transitions import Otherwise, Transition
    >>> rule = Transition("u", "u", ALWAYS, "z", ("A", "z"), 0.5)
    >>> machine = PushdownRewardMachine("tiny", ("a",), ("#", "A"), "u", (), Otherwise.error(), (rule,))
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
    """[move]: the state it leads to. Move 0 is BEGIN, the others are numbered in order of first use."""
    pops: Integers
    """[move]: 1 if the top symbol goes, else 0 (also if it is popped and put straight back)."""
    pushes: Integers
    """[move]: how many symbols it pushes."""
    push: Integers
    """[move, position]: the symbols it pushes, in the order they are pushed (the new top last), then zeros."""
    reward: Rewards
    """[move]: what it pays."""
    start: int
    """The initial state."""
    bottom: int
    """The symbol the stack holds at the start."""
    first_final: int
    """The lowest number of a final state: every state from there on is final."""


class TableRow(NamedTuple):
    """A move as the table lists it: moves at different tops that change the stack alike are one."""

    target: str
    pops: bool
    """The top goes. False if it is put straight back."""
    pushed: Stack
    """The symbols put on the stack, the new top first."""
    reward: float
    """A reward of -0.0 is paid as 0.0, as in every sum from 0.0."""

    @classmethod
    def of(cls, rule: RuleOrOtherwise, state: str, top: str | None) -> TableRow:
        """The row of a rule at a head."""
        pushed = rule.replacement(top)
        kept = top is not None and pushed[-1:] == (top,)
        pops = top is not None and not kept
        return cls(rule.target or state, pops, pushed[:-1] if kept else pushed, 0.0 + rule.reward)


def tabulate(machine: PushdownRewardMachine, labels: Sequence[Label]) -> Table:
    """Compile a machine for these labels. A label given twice has two equal columns, so that a label's number is always
    its position in `labels`.

    >>> from pdrm.language.loading import catalogue
    >>> table = tabulate(catalogue("letter"), [frozenset(), frozenset("A"), frozenset("B"), frozenset("C")])
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
                row = TableRow.of(rule, state, top)
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
"""Moves kept before they are dropped: an environment may emit any of 2^events labels."""


class LazyTable:
    """The moves of a machine, found when they are first needed: a step for whoever meets labels one by one.

    >>> from pdrm.language.loading import catalogue
    >>> moves = LazyTable(catalogue("letter"))
    >>> moves.step("u0", ("#",), frozenset("A"))
    ('u0', ('A', '#'), -0.01)
    """

    def __init__(self, machine: PushdownRewardMachine) -> None:
        self.machine = machine
        self._known: dict[tuple[str, str | None, Label | None], TableRow | None] = {}
        self._may_be_silent = {rule.source for rule in machine.transitions if rule.silent}

    def begin(self) -> tuple[str, Stack, float]:
        """The start, after the silent moves before the first label."""
        return self._run_silent_moves(self.machine.start, (self.machine.stack[0],), 0.0)

    def step(self, state: str, stack: Stack, label: Label) -> tuple[str, Stack, float]:
        """Read one label in a configuration of this machine whose state is not final."""
        row = self._find(state, stack, label)
        if row is None:
            raise self.machine.undefined_move(label, Configuration(state, stack))
        return self._run_silent_moves(row.target, row.pushed + stack[row.pops :], row.reward)

    def _run_silent_moves(self, state: str, stack: Stack, paid: float) -> tuple[str, Stack, float]:
        """Make silent moves until none applies; rewards are added in the order of the moves."""
        while state in self._may_be_silent and (row := self._find(state, stack, None)):
            state = row.target
            stack = row.pushed + stack[row.pops :]
            paid += row.reward
        return state, stack, paid

    def _find(self, state: str, stack: Stack, label: Label | None) -> TableRow | None:
        top = stack[0] if stack else None
        key = state, top, label
        if key not in self._known:
            if label is not None:
                self.machine.alphabet.check(label)
            if len(self._known) >= MAX_KEPT:
                self._known.clear()
            rule = rule_at(self.machine, (state, top), label)
            self._known[key] = None if rule is None else TableRow.of(rule, state, top)
        return self._known[key]


class TableStep(NamedTuple):
    """The configuration after a step, the stack top first, and what the step paid."""

    state: int
    stack: Symbols
    reward: float


def begin_table(table: Table, label: int = -1) -> TableStep:
    """The start, after the silent moves before the first label, and after that if the environment begins with one."""
    begun = _follow(table, TableStep(table.start, (), 0.0), BEGIN)
    if label < 0 or begun.state >= table.first_final:
        return begun
    after = step_table(table, begun.state, begun.stack, label)
    return after._replace(reward=begun.reward + after.reward)


def step_table(table: Table, state: int, stack: Symbols, label: int) -> TableStep:
    """Read one label, then take silent moves until none applies. Rewards are added in the order of the moves."""
    if state >= table.first_final:
        raise MachineFinished(f"state number {state} is final", fix="begin a new episode")
    top = stack[0] if stack else 0
    move = int(table.move[state, label, top])
    if move == NO_MOVE:
        raise UndefinedMove(
            f"the table has no move for label number {label} in state number {state} with top symbol number {top}",
            fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine",
        )
    return _follow(table, TableStep(state, stack, 0.0), move)


def run_silent_table(table: Table, state: int, stack: Symbols) -> TableStep:
    """A configuration after its silent moves, and what these pay."""
    silent = int(table.silent[state, stack[0] if stack else 0])
    return _follow(table, TableStep(state, stack, 0.0), silent)


def _follow(table: Table, step: TableStep, move: int) -> TableStep:
    """Make a move, and silent ones until none applies."""
    while move != NO_MOVE:
        pushed = table.push[move, : table.pushes[move]].tolist()
        stack = (*reversed(pushed), *step.stack[table.pops[move] :])
        step = TableStep(int(table.target[move]), stack, step.reward + float(table.reward[move]))
        move = int(table.silent[step.state, stack[0] if stack else 0])
    return step


# --- Counting automata, as the Numba count runs them
#
# There is one column of labels more, for silent moves, and one rule more, for `otherwise`: without tests, after those that read
# a label.

Values = npt.NDArray[np.int64]
"""[counter]: the counters' values."""

IS_ZERO, IS_NOT_ZERO, IS_ANY = 0, 1, 2
TESTS = (ZERO, NONZERO, ANY_VALUE)
"""The tests of a counter, in the order of these numbers."""

MAX_VALUE = 2**62
"""Counters are 64-bit integers here."""


class CountingTable(NamedTuple):
    """The rules of each state and label, one after the other.

    >>> from pdrm.language.loading import catalogue
    >>> table = tabulate_counting(catalogue("letter-cra"), [frozenset("A"), frozenset("C")])
    >>> table.first[0].tolist(), table.change[:2].tolist(), table.silent
    ([0, 2, 3, 3], [[1], [0]], 2)
    """

    first: Integers
    """[state, label + 1]: the first rule of each state and label; they end where the next begin."""
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
    """What `otherwise` says in a state, as a rule."""
    otherwise, count = automaton.otherwise, automaton.counters
    if otherwise.action == "error":
        return []
    target, tests, changes = otherwise.target or state, (ANY_VALUE,) * count, (0,) * count
    return [CountingTransition(state, target, ALWAYS, tests, changes, otherwise.reward)]
