"""Which heads a task may reach, and which symbols may lie below which: a walk that sees one symbol of the stack.

A head is an environment state, a machine state and the symbol on top. Every step is followed from the start; where a symbol is
popped, any symbol may be revealed that may lie directly below it. So there may be fewer heads in truth, never more. Rewards and
chances are fractions. `find_certain` says from which heads on nothing depends on chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from pdrm.domains.finite_domain import NO_LABEL, DomainArrays
from pdrm.machines.tables import Symbols, Table, begin_table, step_table
from pdrm.product.rationals import read_chances, read_number

Head = tuple[int, int, int]
"""An environment state, a machine state and the top symbol."""
Exit = tuple[int, int]
"""An environment state and a machine state, in which a symbol has just been popped."""

END = 0
"""The symbol that stands for the end of the stack."""


class Effect(NamedTuple):
    """What one outcome of an action does: its chance, what it pays, and what takes the place of the top symbol, top first."""

    chance: Fraction
    paid: Fraction
    place: int
    state: int
    symbols: Symbols


class Moves(NamedTuple):
    """What may happen at a head: the effects of each action; or of the one silent move, which takes no time."""

    time: int
    actions: tuple[tuple[Effect, ...], ...]

    @property
    def certain(self) -> bool:
        """Whether nothing depends on chance."""
        return all(len(effects) == 1 for effects in self.actions)

    @property
    def indifferent(self) -> bool:
        """Whether all actions do the same."""
        return len(set(self.actions)) <= 1


@dataclass(frozen=True, slots=True)
class HeadsInPlay:
    """All heads that may be reached, and what may lie below each symbol. There may be fewer in truth."""

    moves: dict[Head, Moves]
    below: dict[int, set[int]]
    starts: list[tuple[int, int, Symbols]]
    """Where episodes begin: environment state, machine state, stack."""
    first_final: int
    terminal: Sequence[bool]
    undefined: bool = False
    """Whether a label may be read for which the machine defines no move."""

    def after(self, effect: Effect, top: int) -> Iterable[Head]:
        """The heads that an effect may lead to, where it happens with this symbol on top."""
        place, state, symbols = effect.place, effect.state, effect.symbols
        if state < self.first_final:
            for symbol in symbols[:1] or self.below.get(top, ()):
                yield place, state, symbol


def find_heads_in_play(
    arrays: DomainArrays,
    table: Table,
    rewards: Sequence[Fraction],
    check_time: Callable[[], None] = lambda: None,
) -> HeadsInPlay:
    """Follow every step from the start, as far as the top symbol tells. rewards: [move]: what it pays, exactly.

    >>> from pdrm.machines.tables import tabulate
    >>> from pdrm.task import Task
    >>> echo = Task("echo")
    >>> table = tabulate(echo.pushdown, echo.finite.labels)
    >>> found = find_heads_in_play(echo.finite.arrays, table, [read_number(r) for r in table.reward.tolist()])
    >>> {symbol: sorted(below) for symbol, below in found.below.items()}  # # a b
    {1: [0], 2: [1, 2, 3], 3: [1, 2, 3]}
    """
    finder = _Finder(arrays, table, rewards, check_time)
    starts = list(finder.begin())
    finder.spread(starts)
    terminal = arrays.terminal.tolist()
    return HeadsInPlay(
        finder.moves, finder.below, starts, table.first_final, terminal, finder.undefined
    )


class _Finder:
    """The heads found so far."""

    def __init__(
        self,
        arrays: DomainArrays,
        table: Table,
        rewards: Sequence[Fraction],
        check_time: Callable[[], None],
    ) -> None:
        self.arrays, self.table, self.rewards, self.check_time = arrays, table, rewards, check_time
        self.moves: dict[Head, Moves] = {}
        self.below: dict[int, set[int]] = {}
        self.undefined = False

    def begin(self) -> Iterable[tuple[int, int, Symbols]]:
        """The configurations that episodes begin in."""
        arrays, table = self.arrays, self.table
        columns = arrays.start_state, arrays.start_probability, arrays.start_label
        for s, chance, label in zip(*(column.tolist() for column in columns), strict=True):
            state, stack, _ = begin_table(table)
            if label != NO_LABEL and state < table.first_final:
                state, stack, _ = step_table(table, state, stack, label)
            if chance > 0 and state < table.first_final and not arrays.terminal[s]:
                yield s, state, stack

    def spread(self, starts: Iterable[tuple[int, int, Symbols]]) -> None:
        """Find every head, and which symbols may be below which, until nothing is new."""
        todo: list[Head] = []
        for s, u, stack in starts:
            self._put((*stack, END))
            todo.append((s, u, (*stack, END)[0]))
        popped: dict[int, set[Exit]] = {}
        last: dict[int, set[int]] = {}
        """By symbol: the lowest of those that may take its place."""
        while todo:
            self.check_time()
            head = todo.pop()
            if head not in self.moves:
                self.moves[head] = self._read(head)
                for effect in (
                    effect for effects in self.moves[head].actions for effect in effects
                ):
                    if effect.state >= self.table.first_final:
                        continue
                    self._put(effect.symbols)
                    if effect.symbols:
                        todo.append((effect.place, effect.state, effect.symbols[0]))
                        last.setdefault(head[2], set()).add(effect.symbols[-1])
                    else:
                        popped.setdefault(head[2], set()).add((effect.place, effect.state))
            if not todo:
                todo = self._sink(last, popped)

    def _put(self, symbols: Symbols) -> None:
        """Note that these lie on top of each other."""
        for above, under in pairwise(symbols):
            self.below.setdefault(above, set()).add(under)

    def _sink(self, last: dict[int, set[int]], popped: dict[int, set[Exit]]) -> list[Head]:
        """What lies below a symbol lies below what takes its place, too; the heads that a pop may reveal."""
        changed = True
        while changed:
            changed = False
            for top, replaced in last.items():
                for symbol in replaced - {top}:
                    new = self.below.get(top, set()) - self.below.get(symbol, set())
                    if new and symbol != END:
                        self.below.setdefault(symbol, set()).update(new)
                        changed = True
        return [
            head
            for top, exits in popped.items()
            for s, u in exits
            for symbol in self.below.get(top, ())
            if (head := (s, u, symbol)) not in self.moves
        ]

    def _read(self, head: Head) -> Moves:
        s, u, z = head
        silent = int(self.table.silent[u, z])
        if silent >= 0:
            return Moves(0, ((self._replace(Fraction(1), Fraction(0), s, silent, z),),))
        if self.arrays.terminal[s]:
            return Moves(1, ())
        return Moves(
            1, tuple(self._act(s, u, z, action) for action in range(self.arrays.next.shape[1]))
        )

    def _act(self, s: int, u: int, z: int, action: int) -> tuple[Effect, ...]:
        """The effects of an action, each once."""
        arrays, found = self.arrays, dict[Effect, Fraction]()
        chances = read_chances(*arrays.probability[s, action].tolist())
        columns = (
            column[s, action].tolist() for column in (arrays.label, arrays.reward, arrays.next)
        )
        for chance, label, own, after in zip(chances, *columns, strict=True):
            move = int(self.table.move[u, label, z]) if chance else 0
            self.undefined = self.undefined or move < 0
            if chance and move >= 0:
                effect = self._replace(Fraction(0), read_number(own), after, move, z)
                found[effect] = found.get(effect, Fraction(0)) + chance
        return tuple(sorted(effect._replace(chance=chance) for effect, chance in found.items()))

    def _replace(self, chance: Fraction, own: Fraction, place: int, move: int, top: int) -> Effect:
        table = self.table
        pushed = tuple(reversed(table.push[move, : table.pushes[move]].tolist()))
        kept = () if table.pops[move] else (top,)
        return Effect(
            chance, own + self.rewards[move], place, int(table.target[move]), (*pushed, *kept)
        )


def find_certain(play: HeadsInPlay) -> set[Head]:
    """The heads from which nothing depends on chance, now or later."""
    found = {head for head, moves in play.moves.items() if moves.certain}
    while True:
        left = {
            head
            for head in found
            if all(
                after in found
                for effects in play.moves[head].actions
                for effect in effects
                for after in play.after(effect, head[2])
            )
        }
        if left == found:
            return found
        found = left
