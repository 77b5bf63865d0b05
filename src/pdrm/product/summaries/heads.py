"""A machine in the form that summaries are found for: every move puts at most two symbols in place of the top one.

A head is a machine state and a top symbol. Three kinds of symbols stand beside the machine's own, so that one rule about
operators is enough for every machine. The *empty stack* is symbol 0, which is never popped. A *rest* stands for two or more
symbols that a move pushes together below the new top: a silent move unfolds it. A *stand-in* is put on top of a symbol by states that
never look at it (such a state pushes, or stays, whatever is below), and goes away by itself in a state that does: what such
states do is then found once, and not for every symbol that they may stand on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.machines.tables import UNDEFINED_MOVE, Integers, Rewards, Symbols, Table

Flags = npt.NDArray[np.bool_]

NO_RULE = -1
"""In `move`: no rule reads the label. In `silent`: no silent move."""
NO_STAND_IN = -1


class Heads(NamedTuple):
    """What happens at each head. Symbols from 0 to `symbols` - 1 are the empty stack and the machine's own, as in `Table`.

    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.machines.tables import tabulate
    >>> labels = [frozenset("d"), frozenset("u")]
    >>> heads = find_heads(tabulate(catalogue("treasure-maze"), labels))
    >>> heads.symbols, heads.move.shape  # the empty stack, # u d l r; and a stand-in for u d l r while the agent searches
    (6, (4, 2, 7))
    >>> heads.stand_in[0].tolist()
    [-1, -1, 6, 6, 6, 6, -1]
    """

    move: Integers
    """[state, label, symbol]: the rule that reads the label, or NO_RULE."""
    silent: Integers
    """[state, symbol]: the rule of the silent move, or NO_RULE."""
    stand_in: Integers
    """[state, symbol]: the stand-in that this state puts on top of the symbol, or NO_STAND_IN."""
    pending: Flags
    """[state]: whether a silent move may follow in this state, depending on the symbol that is revealed."""
    target: Integers
    """[rule]: the state it leads to."""
    reward: Rewards
    """[rule]: what it pays."""
    count: Integers  # type: ignore[assignment] # a tuple has a method of that name
    """[rule]: how many symbols take the place of the top one: 0, 1 or 2."""
    first: Integers
    """[rule]: the new top of them."""
    second: Integers
    """[rule]: the one below it."""
    symbols: int
    """How many symbols are the machine's own, the empty stack included."""
    first_final: int
    """Every state from this number on is final."""


class _Rules:
    """Rules numbered as they come up, and the rests that they need."""

    def __init__(self, symbols: int) -> None:
        self.number: dict[tuple[int, str, Symbols], int] = {}
        self.rest: dict[Symbols, int] = {}
        self.symbols = symbols

    def add(self, target: int, reward: float, pushed: Symbols) -> int:
        if len(pushed) > 2:
            pushed = (pushed[0], self.find_rest(pushed[1:]))
        return self.number.setdefault((target, float(reward).hex(), pushed), len(self.number))

    def find_rest(self, pushed: Symbols) -> int:
        if pushed not in self.rest:
            self.rest[pushed] = self.symbols
            self.symbols += 1
        return self.rest[pushed]


def find_heads(table: Table) -> Heads:
    """The heads of a compiled machine."""
    states, labels, symbols = table.move.shape
    rules, own = _Rules(symbols), table.first_final
    move: dict[tuple[int, int, int], int] = {}
    silent: dict[tuple[int, int], int] = {}
    for u in range(own):
        for z in range(symbols):
            if table.silent[u, z] != UNDEFINED_MOVE:
                silent[u, z] = rules.add(*_replace(table, int(table.silent[u, z]), z))
                continue
            for label in range(labels):
                if table.move[u, label, z] != UNDEFINED_MOVE:
                    move[u, label, z] = rules.add(*_replace(table, int(table.move[u, label, z]), z))
    stand_in = _add_stand_ins(table, rules, move, silent)
    unfolded = 0
    while unfolded < len(rules.rest):  # unfolding one may need another
        pushed, symbol = list(rules.rest.items())[unfolded]
        silent.update({(u, symbol): rules.add(u, 0.0, pushed) for u in range(own)})
        unfolded += 1
    return Heads(
        _fill((states, labels, rules.symbols), move),
        _fill((states, rules.symbols), silent),
        _fill((states, rules.symbols), stand_in),
        np.array((table.silent != UNDEFINED_MOVE).any(axis=1)),
        np.array([target for target, _, _ in rules.number], np.int32),
        np.array([float.fromhex(reward) for _, reward, _ in rules.number], np.float64),
        np.array([len(pushed) for _, _, pushed in rules.number], np.int32),
        np.array([(*pushed, 0)[0] for _, _, pushed in rules.number], np.int32),
        np.array([(*pushed, 0, 0)[1] for _, _, pushed in rules.number], np.int32),
        symbols,
        own,
    )


def _add_stand_ins(
    table: Table,
    rules: _Rules,
    move: dict[tuple[int, int, int], int],
    silent: dict[tuple[int, int], int],
) -> dict[tuple[int, int], int]:
    """Add a stand-in for every group of symbols that some states treat alike, with its rules; where each is put."""
    found: dict[tuple[int, int], int] = {}
    for group, keepers in _find_groups(table):
        new, rules.symbols = rules.symbols, rules.symbols + 1
        for u in range(table.first_final):
            if u not in keepers:
                silent[u, new] = rules.add(u, 0.0, ())
                continue
            found.update({(u, z): new for z in group})
            for label, number in enumerate(table.move[u, :, group[0]].tolist()):
                if number != UNDEFINED_MOVE:
                    move[u, label, new] = rules.add(*_replace(table, number, new))
    return found


def _fill(
    shape: tuple[int, ...], cells: dict[tuple[int, int], int] | dict[tuple[int, int, int], int]
) -> Integers:
    array = np.full(shape, NO_RULE, np.int32)
    for place, number in cells.items():
        array[place] = number
    return array


def _replace(table: Table, move: int, top: int) -> tuple[int, float, Symbols]:
    """Where a move leads, what it pays, and what takes the place of the top symbol."""
    pushed = tuple(reversed(table.push[move, : table.pushes[move]].tolist()))
    kept = () if table.pops[move] else (top,)
    return int(table.target[move]), float(table.reward[move]), (*pushed, *kept)


def _find_groups(table: Table) -> list[tuple[list[int], set[int]]]:
    """Symbols that some states never look at and treat alike, with these states."""
    groups: dict[tuple[Symbols | None, ...], list[int]] = {}
    for z in range(1, table.move.shape[2]):
        groups.setdefault(tuple(_keep(table, u, z) for u in range(table.first_final)), []).append(z)
    found = []
    for rows, group in groups.items():
        keepers = {u for u, row in enumerate(rows) if row is not None}
        pushing = any(
            table.pushes[move] for row in rows if row is not None for move in row if move >= 0
        )
        if len(group) > 1 and pushing:
            found.append((group, keepers))
    return found


def _keep(table: Table, u: int, z: int) -> Symbols | None:
    """The moves at a head, by label, if none of them pops the symbol or is silent."""
    row = tuple(table.move[u, :, z].tolist())
    popping = any(move >= 0 and table.pops[move] for move in row)
    return None if popping or table.silent[u, z] != UNDEFINED_MOVE else row


# --- Silent moves: how many one step can take


class Silence(NamedTuple):
    """How many silent moves may follow each other.

    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.machines.tables import tabulate
    >>> measure_silence(tabulate(catalogue("paint"), [frozenset({"soap_3"})]))
    Silence(each=1, longest=5, pushed=2)
    """

    each: int
    """While one symbol is used up, at most."""
    longest: int | None
    """In one step, at most; None where it depends on the height of the stack."""
    pushed: int
    """Symbols that one move pushes, at most."""

    def most(self, height: int) -> int:
        """In one step from a stack of that height, at most."""
        return self.each * (height + self.pushed + 2) if self.longest is None else self.longest


def measure_silence(table: Table) -> Silence:
    """Find how many silent moves one step can take; there must be no endless ones, which a machine is checked for."""
    leaves: dict[tuple[int, int], tuple[int, int]] = {}
    for u, z in np.argwhere(table.silent != UNDEFINED_MOVE).tolist():
        _use_up(table, (u, z), leaves)
    after: dict[int, set[int]] = {}
    for (u, _), (_, left) in leaves.items():
        if left >= 0:
            after.setdefault(u, set()).add(left)
    each = max((moves for moves, _ in leaves.values()), default=0)
    chain = _longest_chain(after, table.first_final)
    pushed = int(table.pushes.max(initial=0)) + 1
    return Silence(each, None if chain is None else each * (chain + 1) if each else 0, pushed)


def _use_up(
    table: Table, head: tuple[int, int], leaves: dict[tuple[int, int], tuple[int, int]]
) -> None:
    """How many silent moves follow at a head until its symbol is gone, and the state then (-1: they stop before)."""
    todo = [head]
    while todo:
        u, z = todo[-1]
        move = int(table.silent[u, z])
        if (u, z) in leaves or move == UNDEFINED_MOVE:
            leaves.setdefault((u, z), (0, -1))
            todo.pop()
            continue
        u, _, pushed = _replace(table, move, z)
        moves, missing = 1, None
        for symbol in pushed:
            if u >= table.first_final:
                u = -1
                break
            if (u, symbol) not in leaves:
                missing = (u, symbol)
                break
            more, u = leaves[u, symbol]
            moves += more
            if u < 0:
                break
        if missing is None:
            leaves[todo.pop()] = (moves, u)
        else:
            todo.append(missing)


def _longest_chain(after: dict[int, set[int]], states: int) -> int | None:
    """How many symbols silent moves can pop one after the other; None where they can go round."""
    chain = dict.fromkeys(range(states), 0)
    for _ in range(states + 1):
        longer = {u: max((1 + chain.get(v, 0) for v in after.get(u, ())), default=0) for u in chain}
        if longer == chain:
            return max(chain.values(), default=0)
        chain = longer
    return None
