"""Acceptors: finite states that say which words are in a language, and the reward machine of one.

Regular expressions and temporal formulas both become an acceptor. `reward_machine` decides when a
word is complete (as soon as it is one, or at `end`), finds the states that no word continues from,
minimises (Moore 1956), and pays.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import eq

from pdrm.errors import BadSetting, EarlyAcceptance, Where, warn_caller
from pdrm.files import MAX_RULES
from pdrm.language.draft import Draft, DraftMove, Moves, refine
from pdrm.language.source import limit
from pdrm.language.task_text import DONE, END_EVENT, IGNORE, LOST, TaskOptions, add_rewards
from pdrm.machines.labels import LabelSets
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import BOTTOM, Otherwise


@dataclass(frozen=True, slots=True)
class Acceptor:
    """States by number, the start first; a word is in the language if it leads to an accepting one.

    The moves of a state are a decision diagram over events. Its leaves are the next states, or
    None for labels that are skipped, end the word, or cannot be.
    """

    sets: LabelSets
    moves: list[int]
    accepting: list[bool]


def reward_machine(
    acceptor: Acceptor, name: str, options: TaskOptions, where: Where, looks_back: bool = False
) -> PushdownRewardMachine:
    """The machine that reads words of the acceptor's language and pays as the options say.

    If the task only looks back, it is meant to be done as soon as it can be, so there is no warning of that.
    """
    sets = acceptor.sets
    followers = [
        [state for state in sets.leaves(moves) if isinstance(state, int)]
        for moves in acceptor.moves
    ]
    distance = _distances(followers, acceptor.accepting)
    first = options.accept == "first"
    if not distance.keys() & (followers[0] if first else {0}):
        fix = "look for parts that contradict each other, and for events that exclude each other"
        raise BadSetting("the task holds on no trace: it can never be done", where=where, fix=fix)
    if first and not looks_back:
        _warn_of_early_acceptance(followers, acceptor.accepting, where)
    becomes: dict[Hashable, Hashable] = {None: None}
    for state, accepts in enumerate(acceptor.accepting):
        becomes[state] = state if state in distance else LOST
        if accepts and first:
            becomes[state] = DONE
    done: dict[int, int] = {}
    moves = [sets.rename_leaves(one, becomes.__getitem__, done) for one in acceptor.moves]
    if not first:
        end = sets.variable(sets.alphabet.events.index(END_EVENT))
        for state, accepts in enumerate(acceptor.accepting):
            verdict = sets.leaf(DONE if accepts else LOST)
            moves[state] = sets.choose(end, verdict, moves[state])

    def describe(classes: Mapping[int, int]) -> dict[int, Hashable]:
        """The moves between the classes found so far; at first, the distance from acceptance."""
        done: dict[int, int] = {}

        def rename(state: Hashable) -> Hashable:
            return classes[state] if isinstance(state, int) else state

        return {
            state: sets.rename_leaves(one, rename, done) if classes else distance.get(state)
            for state, one in enumerate(moves)
        }

    classes = refine(describe)
    minimal = {classes[state]: one for state, one in describe(classes).items()}
    return _draft(sets, minimal, classes[0], options).write(name)


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


def _warn_of_early_acceptance(
    followers: list[list[int]], accepting: list[bool], where: Where
) -> None:
    """Warn if the first word in the language has continuations in it, and others that are not."""
    breaks = _distances(followers, [not accepts for accepts in accepting])
    continues = _distances(followers, accepting)
    seen = {0}
    for state in (order := [0]):
        for target in followers[state]:
            if not accepting[target]:
                order += [] if target in seen else [target]
                seen.add(target)
            elif target in breaks and not continues.keys().isdisjoint(followers[target]):
                warn_caller(EarlyAcceptance(where))
                return


def _draft(sets: LabelSets, states: dict[int, Hashable], start: int, options: TaskOptions) -> Draft:
    """The moves between states that differ; labels that change nothing are left out."""
    paid: dict[Hashable, float] = {DONE: options.reward, LOST: options.fail_reward}
    moves: Moves = {}
    numbers = {start: 0}
    for state in (order := [start]):
        diagram = states[state]
        assert isinstance(diagram, int)
        here = moves[state, BOTTOM] = []
        for target in sets.leaves(diagram):
            if target in (None, state) or (target == LOST and options.fail == IGNORE):
                continue
            if isinstance(target, int) and target not in numbers:
                numbers[target] = len(order)
                order.append(target)
            labels = sets.rename_leaves(diagram, partial(eq, target), {})
            reward = add_rewards(options.step, paid.get(target, 0.0))
            here.append(DraftMove(labels, target, (BOTTOM,), reward))
        limit(sum(map(len, moves.values())), MAX_RULES, "rules")
    return Draft(
        sets,
        (start, BOTTOM),
        moves,
        options.final,
        Otherwise.stay(options.step),
        lambda state: f"u{numbers[state]}",
        str,
    )
