"""Acceptors: finite states that say which words are in a language, and the reward machine that one becomes.

Regular expressions and temporal formulas both become an acceptor. `reward_machine` decides when a word is complete (as soon
as it is one, or at `end`), finds the states that no word continues from, minimises (Moore 1956), and pays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import eq
from typing import NamedTuple

from pdrm.errors import EarlyAcceptance, TooLarge, TooManyCases, Where, warn_caller
from pdrm.language.task_text import DONE, END, IGNORE, LOST, TaskOptions, add_rewards
from pdrm.limits import MOST_RULES, spend
from pdrm.machines.guards import Event, Formula
from pdrm.machines.labels import TRUE, Alphabet, Diagrams, formula_of
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import BOTTOM, Otherwise, Transition


class Reading(NamedTuple):
    """Labels that lead from one state to another."""

    target: int
    guard: Formula


class LabelMoves:
    """What a state does with each label: a decision diagram over events, whose leaves are states; None where a label is
    passed over, ends the word, or cannot be."""

    def __init__(self, store: Diagrams, alphabet: Alphabet) -> None:
        self.store, self.alphabet = store, alphabet
        self.impossible = store.invert(store.possible(alphabet))
        self._names: Sequence[int] = ()
        self._done: dict[int, int] = {}

    def targets(self, moves: int) -> list[int]:
        """The states that labels lead to, in the order of the labels."""
        return [value for value in self.store.leaves(moves) if isinstance(value, int)]

    def rename(self, moves: int, names: Sequence[int]) -> int:
        """The same with other numbers for the states: equal just when they do the same."""
        if names is not self._names:
            self._names, self._done = names, {}
        return self.store.rename_leaves(
            moves, lambda value: names[value] if isinstance(value, int) else value, self._done
        )

    def readings(self, moves: int, state: int) -> list[Reading]:
        """The labels that leave a state, by the state that they lead to."""
        found: list[Reading] = []
        for target in self.targets(moves):
            if target != state:
                least = self.store.rename_leaves(moves, partial(eq, target), {})
                most = self.store.choose(self.impossible, TRUE, least)
                found.append(
                    Reading(target, formula_of(self.store.cover(least, most), self.alphabet))
                )
        return found


@dataclass(frozen=True, slots=True)
class Acceptor:
    """States by number, the start first; a word is in the language if it leads to an accepting one."""

    moves: list[int]
    accepting: list[bool]
    reads: LabelMoves

    def followers(self) -> list[list[int]]:
        """The states that each state leads to."""
        return [self.reads.targets(moves) for moves in self.moves]


@contextmanager
def placing(where: Where) -> Iterator[None]:
    """Give a task that is too large for what it is worked out with a place."""
    try:
        yield
    except (TooLarge, TooManyCases) as error:
        if error.where is None or not error.where.line:
            error.where = where
        raise


def reward_machine(
    acceptor: Acceptor, name: str, alphabet: Alphabet, options: TaskOptions, where: Where | None
) -> PushdownRewardMachine:
    """The machine that reads words of the acceptor's language and pays as the options say."""
    if options.accept == "first":
        _warn_of_early_acceptance(acceptor, where)
        acceptor = _begin_outside(acceptor)
    followers = acceptor.followers()
    alive = _leading_to(
        followers, [state for state, accepts in enumerate(acceptor.accepting) if accepts]
    )
    kinds = [
        _kind(acceptor.accepting[state], state in alive, options) for state in range(len(followers))
    ]
    number = _minimise(acceptor, kinds, followers)
    machine = _Building(acceptor, kinds, number, options)
    final = (DONE, LOST) if isinstance(options.fail, float) and machine.loses else (DONE,)
    states = (*machine.names, LOST) if machine.loses and LOST not in final else tuple(machine.names)
    return PushdownRewardMachine(
        name,
        alphabet.events,
        (BOTTOM,),
        machine.names[0],
        final,
        Otherwise.stay(options.step),
        tuple(machine.rules),
        alphabet.exclusive,
        states,
    )


OPEN, ACCEPTING, COMPLETE, HOPELESS = range(4)
"""What a state is: a word may go on, or end here too, or has ended for good, or can no longer be completed."""


def _kind(accepts: bool, alive: bool, options: TaskOptions) -> int:
    if not alive:
        return HOPELESS
    return OPEN if not accepts else COMPLETE if options.accept == "first" else ACCEPTING


def _begin_outside(acceptor: Acceptor) -> Acceptor:
    """An acceptor whose start does not accept: an episode cannot end before it begins."""
    if not acceptor.accepting[0]:
        return acceptor
    count = len(acceptor.moves)
    names = [count, *range(1, count)]
    moves = [acceptor.reads.rename(moves, names) for moves in acceptor.moves]
    return Acceptor([*moves, moves[0]], [False, *acceptor.accepting[1:], True], acceptor.reads)


def _leading_to(followers: list[list[int]], goals: Iterable[int]) -> dict[int, int]:
    """The states from which a goal can be reached, with the fewest labels that takes: none for the goals."""
    leading: list[list[int]] = [[] for _ in followers]
    for state, targets in enumerate(followers):
        for target in targets:
            leading[target].append(state)
    found = dict.fromkeys(goals, 0)
    for state in (order := list(found)):  # it grows
        for before in leading[state]:
            if before not in found:
                found[before] = found[state] + 1
                order.append(before)
    return found


def _warn_of_early_acceptance(acceptor: Acceptor, where: Where | None) -> None:
    """Warn where the first word that is in the language goes on to other words, some in the language and some not."""
    followers, states = acceptor.followers(), range(len(acceptor.moves))
    accepting = [state for state in states if acceptor.accepting[state]]
    breaks = _leading_to(followers, [state for state in states if not acceptor.accepting[state]])
    goes_on = _leading_to(followers, accepting)
    seen, todo = {0}, [0]
    while todo:
        for state in followers[todo.pop()]:
            if (
                acceptor.accepting[state]
                and state in breaks
                and any(target in goes_on for target in followers[state])
            ):
                warn_caller(EarlyAcceptance(where))
                return
            if state not in seen and not acceptor.accepting[state]:
                seen.add(state)
                todo.append(state)


def _minimise(acceptor: Acceptor, kinds: list[int], followers: list[list[int]]) -> list[int]:
    """A number for each state, the same for those that no continuation tells apart.

    States that are not equally far from a complete word are told apart at once, which saves most rounds.
    """
    goals = [state for state, kind in enumerate(kinds) if kind in (ACCEPTING, COMPLETE)]
    far = _leading_to(followers, goals)
    number = _number((kind, far.get(state)) for state, kind in enumerate(kinds))
    count = max(number) + 1
    while True:
        spend(len(number))
        alone = Counter(number)
        keys: list[Hashable] = []
        for state, moves in enumerate(acceptor.moves):
            settled = alone[number[state]] == 1 or kinds[state] in (COMPLETE, HOPELESS)
            keys.append((number[state], None if settled else acceptor.reads.rename(moves, number)))
        number = _number(keys)
        if max(number) + 1 == count:
            return number
        count = max(number) + 1


def _number(keys: Iterable[Hashable]) -> list[int]:
    """Numbers from 0, the same for equal keys."""
    known: dict[Hashable, int] = {}
    return [known.setdefault(key, len(known)) for key in keys]


class _Building:
    """The names and rules of the machine, from the start on."""

    def __init__(
        self, acceptor: Acceptor, kinds: list[int], number: list[int], options: TaskOptions
    ) -> None:
        self.options, self.rules, self.loses = options, list[Transition](), False
        member = {one: state for state, one in reversed(list(enumerate(number)))}
        kind = {one: kinds[state] for one, state in member.items()}
        name = {
            one: DONE if what == COMPLETE else LOST
            for one, what in kind.items()
            if what in (COMPLETE, HOPELESS)
        }
        name[number[0]] = "u0"
        order = [number[0]] if kind[number[0]] != HOPELESS else []
        for one in order:  # it grows
            moves = acceptor.reads.rename(acceptor.moves[member[one]], number)
            for target, guard in acceptor.reads.readings(moves, one):
                if target not in name:
                    name[target] = f"u{len(order)}"
                    order.append(target)
                self._add(name[one], name[target], guard)
            if options.accept == "end":
                self._add(name[one], DONE if kind[one] == ACCEPTING else LOST, Event(END))
        self.names = [name[one] for one in order] or ["u0"]

    def _add(self, source: str, target: str, guard: Formula) -> None:
        if len(self.rules) > MOST_RULES:
            raise TooLarge(
                f"the task takes more than {MOST_RULES:,} rules",
                fix="split it, and combine its machines",
            )
        fail = self.options.fail
        if target != LOST or fail != IGNORE:
            self.loses |= target == LOST
            more = {DONE: self.options.reward, LOST: fail if isinstance(fail, float) else 0.0}.get(
                target, 0.0
            )
            self.rules.append(
                Transition.plain(source, target, guard, add_rewards(self.options.step, more))
            )
