"""Acceptors: finite states that say which words are in a language, and the reward machine of one.

Regular expressions and temporal formulas both become an acceptor. `reward_machine` decides when a
word is complete (as soon as it is one, or at `end`), finds the states that no word continues from,
minimises (Moore 1956), and pays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pdrm.errors import BadSetting, EarlyAcceptance, TooLarge, TooManyCases, Where, warn_caller
from pdrm.language.refining import refine
from pdrm.language.task_text import DONE, END, IGNORE, LOST, TaskOptions, add_rewards
from pdrm.limits import MOST_RULES
from pdrm.machines.guards import Event, Formula
from pdrm.machines.labels import LabelSet, LabelSets
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import BOTTOM, Otherwise, Transition


@dataclass(frozen=True, slots=True)
class Acceptor:
    """States by number, the start first; a word is in the language if it leads to an accepting one.

    The moves of a state are a decision diagram over events. Its leaves are the next states, or
    None for labels that are skipped, end the word, or cannot be.
    """

    sets: LabelSets
    moves: list[int]
    accepting: list[bool]

    def begin_outside(self) -> Acceptor:
        """The acceptor without the empty word: an episode cannot end before it begins."""
        if not self.accepting[0]:
            return self
        last = len(self.moves)
        done: dict[int, int] = {}
        moves = [self.rename(one, lambda state: state or last, done) for one in self.moves]
        return Acceptor(self.sets, [*moves, moves[0]], [False, *self.accepting[1:], True])

    def targets(self, moves: int) -> list[int]:
        """The next states, in the order of the labels."""
        return [state for state in self.sets.store.leaves(moves) if isinstance(state, int)]

    def rename(self, moves: int, name: Callable[[int], Hashable], done: dict[int, int]) -> int:
        """The same moves with other names for the states."""

        def rename(state: Hashable) -> Hashable:
            return name(state) if isinstance(state, int) else state

        return self.sets.store.rename_leaves(moves, rename, done)

    def guard_of(self, moves: int, target: int) -> Formula:
        """The labels that lead to a state."""
        labels = self.sets.store.rename_leaves(moves, lambda state: state == target, {})
        return LabelSet(self.sets, labels).formula()


@contextmanager
def placing(where: Where) -> Iterator[None]:
    """Give a place to the error of a task that is too large."""
    try:
        yield
    except (TooLarge, TooManyCases) as error:
        if error.where is None or not error.where.line:
            error.where = where
        raise


OPEN, ACCEPTING, COMPLETE, HOPELESS = range(4)
"""Kinds of states: the word may continue, may end too, has ended, or can no longer be completed."""


def reward_machine(
    acceptor: Acceptor, name: str, options: TaskOptions, where: Where
) -> PushdownRewardMachine:
    """The machine that reads words of the acceptor's language and pays as the options say."""
    whole = acceptor
    if options.accept == "first":
        acceptor = acceptor.begin_outside()
    followers = [acceptor.targets(moves) for moves in acceptor.moves]
    distance = _distances(followers, acceptor.accepting)
    if 0 not in distance:
        fix = "look for parts that contradict each other, and for events that exclude each other"
        raise BadSetting("the task holds on no trace: it can never be done", where=where, fix=fix)
    if options.accept == "first":
        _warn_of_early_acceptance(whole, where)
    accepted = COMPLETE if options.accept == "first" else ACCEPTING
    kinds = [
        HOPELESS if state not in distance else accepted if accepts else OPEN
        for state, accepts in enumerate(acceptor.accepting)
    ]

    def describe(classes: dict[int, int]) -> dict[int, Hashable]:
        done: dict[int, int] = {}
        found: dict[int, Hashable] = {}
        for state, moves in enumerate(acceptor.moves):
            found[state] = (kinds[state], distance.get(state))
            if classes and kinds[state] in (OPEN, ACCEPTING):
                found[state] = acceptor.rename(moves, classes.__getitem__, done)
        return found

    return _write(acceptor, refine(describe), kinds, name, options)


def _distances(followers: list[list[int]], goals: list[bool]) -> dict[int, int]:
    """The fewest labels from each state to a goal; states that lead to none are left out."""
    leading: list[list[int]] = [[] for _ in followers]
    for state, targets in enumerate(followers):
        for target in targets:
            leading[target].append(state)
    found = {state: 0 for state, is_goal in enumerate(goals) if is_goal}
    for state in (order := list(found)):
        for before in leading[state]:
            if before not in found:
                found[before] = found[state] + 1
                order.append(before)
    return found


def _warn_of_early_acceptance(acceptor: Acceptor, where: Where) -> None:
    """Warn if the first word in the language has continuations in it, and others that are not."""
    followers = [acceptor.targets(moves) for moves in acceptor.moves]
    breaks = _distances(followers, [not accepts for accepts in acceptor.accepting])
    continues = _distances(followers, acceptor.accepting)
    seen = {0}
    for state in (order := [0]):
        for target in followers[state]:
            if not acceptor.accepting[target]:
                order += [] if target in seen else [target]
                seen.add(target)
            elif target in breaks and not continues.keys().isdisjoint(followers[target]):
                warn_caller(EarlyAcceptance(where))
                return


def _write(
    acceptor: Acceptor, classes: dict[int, int], kinds: list[int], name: str, options: TaskOptions
) -> PushdownRewardMachine:
    """Name the classes of states from the start on, and write their rules."""
    member = {one: state for state, one in reversed(classes.items())}
    called: dict[int, str] = {}
    for one, state in member.items():
        if kinds[state] in (COMPLETE, HOPELESS):
            called[one] = DONE if kinds[state] == COMPLETE else LOST
    order = [classes[0]]
    called[classes[0]] = "u0"
    rules: list[Transition] = []
    done: dict[int, int] = {}
    for one in order:
        moves = acceptor.rename(acceptor.moves[member[one]], classes.__getitem__, done)
        leads: list[tuple[str, Formula]] = []
        for target in acceptor.targets(moves):
            if target != one:
                if target not in called:
                    called[target] = f"u{len(order)}"
                    order.append(target)
                leads.append((called[target], acceptor.guard_of(moves, target)))
        if options.accept == "end":
            leads.append((DONE if kinds[member[one]] == ACCEPTING else LOST, Event(END)))
        rules += _pay(called[one], leads, options)
        if len(rules) > MOST_RULES:
            fault = f"the task takes more than {MOST_RULES:,} rules"
            raise TooLarge(fault, fix="split it, and combine its machines")
    states = [called[one] for one in order]
    final = [DONE]
    if any(rule.target == LOST for rule in rules):
        (final if isinstance(options.fail, float) else states).append(LOST)
    alphabet = acceptor.sets.alphabet
    otherwise = Otherwise.stay(options.step)
    return PushdownRewardMachine(
        name,
        alphabet.events,
        (BOTTOM,),
        states[0],
        tuple(final),
        otherwise,
        tuple(rules),
        alphabet.exclusive,
        tuple(states),
    )


def _pay(
    source: str, leads: Iterable[tuple[str, Formula]], options: TaskOptions
) -> Iterator[Transition]:
    """The rules that leave a state."""
    fail = options.fail if isinstance(options.fail, float) else 0.0
    for target, guard in leads:
        if target != LOST or options.fail != IGNORE:
            ending = {DONE: options.reward, LOST: fail}.get(target, 0.0)
            yield Transition.plain(source, target, guard, add_rewards(options.step, ending))
