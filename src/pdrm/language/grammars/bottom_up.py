"""Grammars as a machine that reads bottom-up: the stack holds the states of an LR(1) parser.

An event is shifted: its state is pushed. When the right-hand side of a production is on the stack, its states are popped silently and the
state that follows its left-hand side is pushed. Where the next event decides which production it is, the machine state remembers that event.
A state that has one thing to do does it at once, so that a part is complete, and paid, as early as can be.
"""

from __future__ import annotations

from typing import NamedTuple

from pdrm.errors import BadGrammar
from pdrm.language.grammars.draft import Draft, Move
from pdrm.language.grammars.lr_tables import NO_MORE, Automaton, accessing, below
from pdrm.language.task_text import DONE, IGNORE, LOST, TaskOptions, add_rewards
from pdrm.limits import spend

READ = "read"

_Part = tuple[int, int | None, int, int]
"""A part of a reduction: left-hand side, the letter that decided it, how many states are still to be popped, the one on top."""


class _Begin(NamedTuple):
    """How a move begins: in which state, at which letter (None: silent), with what on top, and what is paid so far."""

    source: str
    read: int | None
    top: int
    paid: float


def reduce_bottom_up(automaton: Automaton, options: TaskOptions) -> Draft:
    """The moves of the parser, which must have no conflicts."""
    return _Reading(automaton, options).draft()


class _Reading:
    def __init__(self, automaton: Automaton, options: TaskOptions) -> None:
        self.automaton, self.options = automaton, options
        self.grammar, self.productions, self.states = (
            automaton.grammar,
            automaton.productions,
            automaton.states,
        )
        self.before = accessing(automaton)
        self.moves: list[Move] = []
        self.begun: set[_Part] = set()
        self.waiting: list[_Part] = []
        self.called: dict[str, tuple[int, int | None, int]] = {}
        self.pays = any(production.reward for production in self.productions)

    def draft(self) -> Draft:
        for number in range(len(self.states)):
            self._read(number)
        while self.waiting:
            self._pop(*self.waiting.pop())
        return Draft(self.moves, [self._names(number) for number in range(len(self.states))], READ)

    def _read(self, number: int) -> None:
        """What is done in a state when it is on top."""
        state = self.states[number]
        if number in self.automaton.stops and not self.pays:
            self.moves.append(Move(READ, None, number, DONE, (number,), self.options.reward))
        elif number in self.automaton.stops:
            self._reduce(_Begin(READ, None, number, 0.0), (number,), NO_MORE)
        elif (
            number > 0
            and not state.shift
            and len({way for found in state.reduce.values() for way in found}) == 1
        ):
            self._reduce(_Begin(READ, None, number, 0.0), (number,), None)
        else:
            for letter in range(len(self.automaton.letters.labels)):
                begin = _Begin(READ, letter, number, self.options.step)
                if letter in state.shift:
                    self._shift(begin, (number,), letter)
                elif letter in state.reduce:
                    self._reduce(begin, (number,), letter)

    def _shift(self, begin: _Begin, stack: tuple[int, ...], letter: int) -> None:
        """Push the state after a letter on some states, the first of which is on top."""
        after = self.states[stack[0]].shift[letter]
        reward = self._reward_of(stack[0], letter)
        if self.grammar.end is not None and after in self.automaton.stops:
            self._move(begin, DONE, stack, add_rewards(reward, self.options.reward))
        else:
            self._move(begin, READ, (after, *stack), reward)

    def _reward_of(self, number: int, letter: int) -> float:
        """What reading a letter in a state pays."""
        paid: set[float] = set()
        for item in self.states[number].closure:
            right = self.productions[item[0]].right
            terminal = right[item[1]] if item[1] < len(right) else len(self.automaton.letters.of)
            if self.grammar.is_terminal(terminal) and letter in self.automaton.letters.of[terminal]:
                paid.add(self.grammar.rewards[terminal])
        if len(paid) > 1:
            label = self.automaton.letters.example(letter)
            fix = "pay both alike, or make rules of them and pay for those"
            raise BadGrammar(
                f"label `{label}` can be read as two events, which pay differently", fix=fix
            )
        return paid.pop()

    def _reduce(self, begin: _Begin, stack: tuple[int, ...], letter: int | None) -> None:
        """Begin to reduce with some states on the stack, by the letter that decides; None: nothing needs to."""
        reduce = self.states[stack[0]].reduce
        way = next(iter(reduce.values()))[0] if letter is None else reduce[letter][0]
        production = self.productions[way]
        if way == 0:
            self._move(begin, DONE, stack, self.options.reward)
            return
        pops = len(production.right)
        self._move(begin, self._name(production.left, letter, pops), stack, production.reward)
        tops = {stack[0]}
        for left in range(pops, -1, -1):
            for one in sorted(tops):
                part = production.left, letter, left, one
                if part not in self.begun:
                    self.begun.add(part)
                    self.waiting.append(part)
            tops = below(self.before, tops)

    def _pop(self, left: int, letter: int | None, pops: int, number: int) -> None:
        """Pop a state that is on top, or go on where all are popped."""
        spend(5)
        begin = _Begin(self._name(left, letter, pops), None, number, 0.0)
        if pops:
            self._move(begin, self._name(left, letter, pops - 1), (), 0.0)
            return
        after = self.states[number].goto.get(left)
        if after is None:  # no stack has this state there
            return
        stack = after, number
        if letter is None:
            self._move(begin, READ, stack, 0.0)
        elif letter in self.states[after].shift:
            self._shift(begin, stack, letter)
        elif letter in self.states[after].reduce:
            self._reduce(begin, stack, letter)
        elif self.options.fail == IGNORE:
            self._move(begin, READ, stack, 0.0)
        elif letter != NO_MORE:
            self._move(begin, LOST, stack, self.options.paid_for_failing)

    def _move(self, begin: _Begin, target: str, push: tuple[int, ...], paid: float) -> None:
        self.moves.append(
            Move(begin.source, begin.read, begin.top, target, push, add_rewards(begin.paid, paid))
        )

    # --- Names

    def _name(self, left: int, letter: int | None, pops: int) -> str:
        """What the machine state is called in which so many states are still to be popped."""
        name = self.grammar.names[left]
        if letter is not None:
            name += f".{'end' if letter == NO_MORE else self.automaton.letters.example(letter)}"
        name += f".{pops}" if pops else ""
        while self.called.setdefault(name, (left, letter, pops)) != (
            left,
            letter,
            pops,
        ) or name in (READ, DONE, LOST):
            name += "_"
        return name

    def _names(self, number: int) -> tuple[str, ...]:
        """What a parser state may be called: the symbol that leads to it, with the rule it is in, or its item."""
        if number == 0:
            return ("#",)
        way, dot = max(self.states[number].kernel)
        production = self.productions[way]
        names = [self.grammar.names[symbol] for symbol in production.right]
        if way == 0:
            return (names[dot - 1],)
        left = self.grammar.names[production.left]
        item = f"{left}→{' '.join(names[:dot])} • {' '.join(names[dot:])}".rstrip()
        return names[dot - 1], f"{left} {names[dot - 1]}", item
