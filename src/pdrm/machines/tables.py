"""Machines compiled to integer tables, and the readable step on them, without kernels.

States are numbered as in `machine.states`, then `machine.final`; stack symbols from 1 as in `machine.stack`, with 0 for
the empty stack; labels by their position in the sequence the table was compiled for. A table holds arrays and integers
only, so that it passes unchanged into Numba and JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.errors import BadSetting, MachineFinished, PdrmError, UndefinedMove
from pdrm.machines.checks.zero_patterns import ANY_VALUE, ZERO
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guards import ALWAYS, Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.rewards import Written
from pdrm.machines.transitions import Transition

Integers = npt.NDArray[np.int32]
Rewards = npt.NDArray[np.float64]

UNDEFINED_MOVE = -1
"""In `move`: no rule applies and the machine says `otherwise error`, or the state is final. In `silent`: none applies."""

BEGIN = 0
"""The move that begins an episode: it puts the bottom symbol on the empty stack, leads to the start and pays 0."""

Symbols = tuple[int, ...]
"""A stack of numbered symbols, top first."""


class Table(NamedTuple):
    """Every move of a machine, once, and which of them each state, label and top of stack leads to.

    >>> from pdrm.machines.guards import ALWAYS
    >>> from pdrm.machines.transitions import Otherwise
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
    """[move]: the state it leads to. Move 0 is BEGIN, the others are numbered as they come up."""
    pops: Integers
    """[move]: 1 where the top symbol goes, else 0 (also where it is popped and put straight back)."""
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


class _Move(NamedTuple):
    """One row of the table. The reward is kept as its hexadecimal text, which tells -0.0 from 0.0, and as it was written."""

    target: int
    pops: int
    push: Symbols
    reward: str
    written: Fraction | None


def tabulate(machine: PushdownRewardMachine, labels: Sequence[Label]) -> Table:
    """Compile a machine for these labels. A label given twice has two equal columns, so that a label's number is always
    its position in `labels`.

    >>> from pdrm.language.loading import catalogue
    >>> table = tabulate(catalogue("letter"), [frozenset(), frozenset("A"), frozenset("B"), frozenset("C")])
    >>> table.move.shape  # three states; four labels; no symbol, # and A
    (3, 4, 3)
    """
    _check(machine, labels)
    states = {state: number for number, state in enumerate((*machine.states, *machine.final))}
    symbols = {symbol: number for number, symbol in enumerate(machine.stack, start=1)}
    tops = (None, *machine.stack)
    start, bottom = states[machine.start], symbols[machine.stack[0]]
    moves = {_Move(start, 0, (bottom,), *_reward(0.0)): BEGIN}
    move = np.full((len(states), len(labels), len(tops)), UNDEFINED_MOVE, np.int32)
    silent = np.full((len(states), len(tops)), UNDEFINED_MOVE, np.int32)
    for state in machine.states:
        at, otherwise = states[state], None
        if machine.otherwise.action != "error":
            target = machine.otherwise.target or state
            otherwise = _Move(states[target], 0, (), *_reward(machine.otherwise.reward))
        for position, top in enumerate(tops):
            rule = machine.rule(state, None, top)
            if rule is not None:
                silent[at, position] = moves.setdefault(
                    _row(rule, top, states, symbols), len(moves)
                )
            for column, label in enumerate(labels):
                rule = machine.rule(state, label, top)
                row = otherwise if rule is None else _row(rule, top, states, symbols)
                if row is not None:
                    move[at, column, position] = moves.setdefault(row, len(moves))
    return Table(move, silent, *_columns(moves), start, bottom, len(machine.states))


def _check(machine: object, labels: Sequence[Label]) -> None:
    if not isinstance(machine, PushdownRewardMachine):
        raise BadSetting(
            f"tables are compiled from pushdown reward machines, not from {str(machine)[:60]!r} ({type(machine).__name__})",
            fix="translate it: pdrm.machines.reward_machine_to_pushdown, counting_to_pushdown; pdrm.catalogue finds by name",
        )
    for label in labels:
        try:
            machine.alphabet.check(label)
        except PdrmError as error:
            raise type(error)(
                f"machine `{machine.name}` cannot read a label: {error.message}", fix=error.fix
            ) from None


def _row(
    rule: Transition, top: str | None, states: dict[str, int], symbols: dict[str, int]
) -> _Move:
    """A rule at one top of stack: `z` is resolved, and a top that is put straight back is not popped."""
    pushed = rule.replacement(top)
    kept = top is not None and pushed[-1:] == (top,)
    push = tuple(symbols[symbol] for symbol in reversed(pushed[:-1] if kept else pushed))
    return _Move(
        states[rule.target], int(top is not None and not kept), push, *_reward(rule.reward)
    )


def _reward(reward: float) -> tuple[str, Fraction | None]:
    return float(reward).hex(), reward.exact if isinstance(reward, Written) else None


def list_rewards(
    machine: PushdownRewardMachine, labels: Sequence[Label], table: Table
) -> list[float]:
    """[move]: the reward as the machine has it, which may be `Written` with more digits than a float holds.

    >>> from pdrm.language.loading import catalogue
    >>> list_rewards(letter := catalogue("letter"), [frozenset("C")], tabulate(letter, [frozenset("C")]))
    [0.0, -0.01, 1.0, -0.01]
    """
    found, tops = [0.0] * len(table.target), (None, *machine.stack)
    for cells in (table.move, table.silent[:, np.newaxis, :]):
        for move, place in zip(*np.unique(cells, return_index=True), strict=True):
            if move != UNDEFINED_MOVE:
                u, column, top = np.unravel_index(place, cells.shape)
                label = labels[column] if cells is table.move else None
                rule = machine.rule(machine.states[u], label, tops[top])
                found[move] = (machine.otherwise if rule is None else rule).reward
    return found


def _columns(moves: dict[_Move, int]) -> tuple[Integers, Integers, Integers, Integers, Rewards]:
    """The moves as the columns target, pops, pushes, push and reward."""
    push = np.zeros((len(moves), max(len(row.push) for row in moves)), np.int32)
    for row, number in moves.items():
        push[number, : len(row.push)] = row.push
    return (
        np.array([row.target for row in moves], np.int32),
        np.array([row.pops for row in moves], np.int32),
        np.array([len(row.push) for row in moves], np.int32),
        push,
        np.array([float.fromhex(row.reward) for row in moves], np.float64),
    )


class TableStep(NamedTuple):
    """The configuration after a step, the stack top first, and what the step paid."""

    state: int
    stack: Symbols
    reward: float


def begin_table(table: Table) -> TableStep:
    """The start, after the silent moves before the first label."""
    return _silent_moves(table, table.start, (table.bottom,), 0.0)


def step_table(table: Table, state: int, stack: Symbols, label: int) -> TableStep:
    """Read one label, then take silent moves until none applies. Rewards are added in the order of the moves."""
    if state >= table.first_final:
        raise MachineFinished(f"state number {state} is final", fix="begin a new episode")
    top = stack[0] if stack else 0
    move = int(table.move[state, label, top])
    if move == UNDEFINED_MOVE:
        raise UndefinedMove(
            f"the table has no move for label number {label} in state number {state} with top symbol number {top}",
            fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine",
        )
    return _silent_moves(
        table, int(table.target[move]), _apply(table, move, stack), 0.0 + float(table.reward[move])
    )


def _silent_moves(table: Table, state: int, stack: Symbols, paid: float) -> TableStep:
    while (move := int(table.silent[state, stack[0] if stack else 0])) != UNDEFINED_MOVE:
        state, stack = int(table.target[move]), _apply(table, move, stack)
        paid += float(table.reward[move])
    return TableStep(state, stack, paid)


def _apply(table: Table, move: int, stack: Symbols) -> Symbols:
    """The stack after a move."""
    pushed = table.push[move, : table.pushes[move]].tolist()
    return (*reversed(pushed), *stack[table.pops[move] :])


# --- Counting automata, as the Numba count runs them
#
# There is one column of labels more, for silent moves, and one rule more, for `otherwise`: without tests, after those that read
# a label.

Values = npt.NDArray[np.int64]
"""[counter]: the counters' values."""

IS_ZERO, IS_NOT_ZERO, IS_ANY = 0, 1, 2

LARGEST_VALUE = 2**62
"""Counters are 64-bit integers here."""


class CountingTable(NamedTuple):
    """The rules of each state and label, one after the other.

    >>> from pdrm.language.loading import catalogue
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
        np.array(
            [[kinds.get(test, IS_NOT_ZERO) for test in rule.tests] for rule in rules], np.int32
        ).reshape(shape),
        np.array([rule.changes for rule in rules], np.int64).reshape(shape),
        np.array([states[rule.target] for rule in rules], np.int32),
        np.array([rule.reward for rule in rules], np.float64),
        len(labels),
    )


def _rules(
    automaton: CountingRewardAutomaton, state: str, label: Label | None
) -> list[CountingTransition]:
    """The rules for a label in a state (None: the silent ones), and then what `otherwise` says."""
    leaving = automaton.rules_from(state)
    if label is None:
        return [rule for rule in leaving if rule.silent]
    automaton.alphabet.check(label)
    reading = [rule for rule in leaving if rule.guard.holds(label)]
    otherwise, count = automaton.otherwise, automaton.counters
    if otherwise.action == "error" or state in automaton.final:
        return reading
    target, tests, changes = otherwise.target or state, (ANY_VALUE,) * count, (0,) * count
    return [*reading, CountingTransition(state, target, ALWAYS, tests, changes, otherwise.reward)]
