"""A pushdown reward machine as an automaton with two counters (Section 5, and the CRA of the 1-TreasureMaze experiment).

The top symbol is part of the state, counter 1 holds the rest as a number in base b (`stack_number`), counter 2 is scratch.
Changes are constant, so a push counts (-1, +b) until counter 1 is zero and then back, and a pop divides through b states.
These moves are silent, pay 0, and are about as many as the number is large: exponentially many in the stack's height.
"""

from __future__ import annotations

from dataclasses import dataclass

from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guard import ALWAYS, SILENT, And, Exactly, Formula, Guard, Not, Silent
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reachability import applicable
from pdrm.machines.silent import Head
from pdrm.machines.stack_number import digit_of, encode, head_names, number_base, stack_of
from pdrm.machines.transition import ANY, Otherwise, Stack, Transition
from pdrm.machines.translation import fresh_name

__all__ = ["encode", "pushdown_to_counting", "stack_of"]


@dataclass(frozen=True, slots=True)
class Multiply:
    """On the way to a head: counter 1 goes b-fold to counter 2, to make room for the last of the symbols left to push."""

    head: Head
    left: Stack

    def __str__(self) -> str:
        return f"{self.head.state}@{self.head.top}*{'.'.join(self.left)}"


@dataclass(frozen=True, slots=True)
class Return:
    """On the way to a head: counter 2 goes back to counter 1; then the symbols left are pushed."""

    head: Head
    left: Stack

    def __str__(self) -> str:
        return f"{self.head.state}@{self.head.top or ''}^{'.'.join(self.left)}"


@dataclass(frozen=True, slots=True)
class Divide:
    """On the way to a state: what has left counter 1 so far is b times counter 2, and a remainder."""

    state: str
    remainder: int

    def __str__(self) -> str:
        return f"{self.state}%{self.remainder}"


Place = Head | Multiply | Return | Divide
"""A state of the automaton: a head of the pushdown machine, or on the way to one."""

Tests = tuple[str, str]
Changes = tuple[int, int]


def pushdown_to_counting(machine: PushdownRewardMachine) -> CountingRewardAutomaton:
    """The automaton with two counters that pays the same in every step; a rule's first move pays, the others pay 0.

    >>> from pdrm.machines.guard import Event
    >>> push = Transition("u0", "u0", Event("A"), "z", ("A", "z"), 1)
    >>> machine = PushdownRewardMachine("tiny", ("A",), ("#", "A"), "u0", (), Otherwise.error(), (push,))
    >>> after = pushdown_to_counting(machine).run([frozenset("A")] * 3).after
    >>> print(after, stack_of(machine, after))
    u0@A, [17, 0] ('A', 'A', 'A', '#')
    """
    return _Simulation(machine).automaton()


class _Simulation:
    """The automaton's rules, made place by place as rules lead to them."""

    def __init__(self, machine: PushdownRewardMachine) -> None:
        self.machine = machine
        self.base = number_base(machine)
        self.names: dict[Place, str] = dict(head_names(machine).items())
        self.taken = set(self.names.values())
        self.rules: list[CountingTransition] = []
        self.todo: list[Place] = list(self.names)
        self.final = tuple(name for head, name in head_names(machine).items() if head.state in machine.final)
        while self.todo:
            self._leave(self.todo.pop())

    def automaton(self) -> CountingRewardAutomaton:
        """The rules as an automaton."""
        machine = self.machine
        return CountingRewardAutomaton(
            machine.name,
            machine.events,
            2,
            self.names[Head(machine.start, machine.stack[0])],
            self.final,
            # where `go` leads depends on the top symbol, so it has been written as rules
            Otherwise.error() if machine.otherwise.action == "go" else machine.otherwise,
            tuple(self.rules),
            machine.exclusive,
            tuple(name for name in self.names.values() if name not in self.final),
        )

    def _leave(self, place: Place) -> None:
        """Add the rules that leave a place."""
        match place:
            case Multiply(head, left):
                self._silent(place, place, ("1", "-"), (-1, self.base))
                self._silent(place, Return(head, left[:-1]), ("0", "-"), (digit_of(self.machine, left[-1]), 0))
            case Return(head, left):
                self._silent(place, place, ("-", "1"), (1, -1))
                self._silent(place, Multiply(head, left) if left else head, ("-", "0"), (0, 0))
            case Divide(state, remainder):
                following = (remainder + 1) % self.base
                self._silent(place, Divide(state, following), ("1", "-"), (-1, 1 if following == 0 else 0))
                # the remainder is the new top's digit; since no digit is 0, a remainder of 0 means that nothing is left
                top = self.machine.stack[remainder - 1] if remainder else None
                self._silent(place, Return(Head(state, top), ()), ("0", "-"), (0, 0))
            case Head(state, _) if state not in self.machine.final:
                self._leave_head(place)

    def _leave_head(self, head: Head) -> None:
        """The pushdown machine's own rules at a head, and its `otherwise go`."""
        rules = applicable(self.machine, head)
        named = [rule.guard for rule in rules if rule.top != ANY]
        for rule in rules:
            # rules that name the top come first, and an automaton knows no precedence
            guard = self._except(rule.guard, named) if rule.top == ANY else rule.guard
            self._add(head, _begun(rule, head), guard, rule.reward)
        guards, otherwise = [rule.guard for rule in rules], self.machine.otherwise
        if otherwise.target is not None and SILENT not in guards and self.machine.alphabet.uncovered(guards):
            self._add(head, Head(otherwise.target, head.top), self._except(ALWAYS, guards), otherwise.reward)

    def _except(self, guard: Guard, others: list[Guard]) -> Guard:
        """The labels of a guard that none of the others reads."""
        if isinstance(guard, Silent) or not others:
            return guard
        first = [] if guard == ALWAYS else [self._formula(guard)]
        parts = [*first, *(Not(self._formula(other)) for other in others if not isinstance(other, Silent))]
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _formula(self, guard: Exactly | Formula) -> Formula:
        if not isinstance(guard, Exactly):
            return guard
        alphabet = self.machine.alphabet
        return alphabet.formula(alphabet.cube(guard.events, set(alphabet.events) - guard.events))

    def _add(self, source: Place, target: Place, guard: Guard, reward: float) -> None:
        names = self._name(source), self._name(target)
        self.rules.append(CountingTransition(*names, guard, ("-", "-"), (0, 0), reward))

    def _silent(self, source: Place, target: Place, tests: Tests, changes: Changes) -> None:
        names = self._name(source), self._name(target)
        self.rules.append(CountingTransition(*names, SILENT, tests, changes, 0))

    def _name(self, place: Place) -> str:
        """The name of a place; one not met before is still to be left."""
        if place not in self.names:
            self.names[place] = fresh_name(str(place), self.taken)
            self.taken.add(self.names[place])
            self.todo.append(place)
        return self.names[place]


def _begun(rule: Transition, head: Head) -> Place:
    """Where a rule's first move leads: to the next head if the stack below the top stays, else on the way to it."""
    pushed = rule.pushed(head.top)
    if not pushed:
        return Divide(rule.target, 0)
    after = Head(rule.target, pushed[0])
    return Multiply(after, pushed[1:]) if len(pushed) > 1 else after
