"""Acceptors: finite automata for sets of words, and the reward machine of an acceptor.

Regular expressions and temporal formulas both become an acceptor. `reward_machine` determines when
a word is complete (immediately, or at `end`), finds the states without accepted continuations,
minimises the states (Moore 1956), and adds the rewards.
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
    """A finite automaton. State 0 is the initial state."""

    sets: LabelSets
    moves: list[int]
    """The moves of each state, as a diagram over events. The leaves are the next states, or None
    for labels that are skipped, end the word, or are impossible."""
    accepting: list[bool]
    """True for the states that accept the word."""


def reward_machine(
    acceptor: Acceptor, name: str, options: TaskOptions, where: Where, looks_back: bool = False
) -> PushdownRewardMachine:
    """Build the reward machine of an acceptor.

    Args:
        acceptor: The acceptor.
        name: The name of the machine.
        options: The rewards, and the completion of words.
        where: The position of the task, for messages.
        looks_back: True for tasks about the past only. They are meant to finish as soon as they
            hold, so they do not trigger the warning of early acceptance.
    """
    sets = acceptor.sets
    successors = [
        [state for state in sets.leaves(moves) if isinstance(state, int)]
        for moves in acceptor.moves
    ]
    distance = _distances(successors, acceptor.accepting)
    accepts_first = options.accept == "first"
    if not distance.keys() & (successors[0] if accepts_first else {0}):
        raise BadSetting(
            "no word satisfies the task: it can never be done",
            where=where,
            fix="check for contradictions, and for events that are exclusive",
        )
    if accepts_first and not looks_back:
        _warn_of_early_acceptance(successors, acceptor.accepting, where)
    new_leaves: dict[Hashable, Hashable] = {None: None}
    for state, accepts in enumerate(acceptor.accepting):
        new_leaves[state] = state if state in distance else LOST
        if accepts and accepts_first:
            new_leaves[state] = DONE
    done: dict[int, int] = {}
    moves = [
        sets.rename_leaves(diagram, new_leaves.__getitem__, done) for diagram in acceptor.moves
    ]
    if not accepts_first:
        end = sets.variable(sets.alphabet.events.index(END_EVENT))
        for state, accepts in enumerate(acceptor.accepting):
            verdict = sets.leaf(DONE if accepts else LOST)
            moves[state] = sets.choose(end, verdict, moves[state])

    def describe(classes: Mapping[int, int]) -> dict[int, Hashable]:
        """The moves between classes; at first, the distance from acceptance."""
        done: dict[int, int] = {}

        def rename(state: Hashable) -> Hashable:
            return classes[state] if isinstance(state, int) else state

        return {
            state: sets.rename_leaves(diagram, rename, done) if classes else distance.get(state)
            for state, diagram in enumerate(moves)
        }

    classes = refine(describe)
    minimal = {classes[state]: diagram for state, diagram in describe(classes).items()}
    return _draft(sets, minimal, classes[0], options).write(name)


def _distances(successors: list[list[int]], goals: list[bool]) -> dict[int, int]:
    """The minimum number of labels from each state to a goal, for the states that can reach one."""
    predecessors: list[list[int]] = [[] for _ in successors]
    for state, targets in enumerate(successors):
        for target in targets:
            predecessors[target].append(state)
    distances = {state: 0 for state, is_goal in enumerate(goals) if is_goal}
    for state in (order := list(distances)):
        for before in predecessors[state]:
            if before not in distances:
                distances[before] = distances[state] + 1
                order.append(before)
    return distances


def _warn_of_early_acceptance(
    successors: list[list[int]], accepting: list[bool], where: Where
) -> None:
    """Warn if the first accepted word has both accepted and rejected continuations."""
    to_rejection = _distances(successors, [not accepts for accepts in accepting])
    to_acceptance = _distances(successors, accepting)
    seen = {0}
    for state in (order := [0]):
        for target in successors[state]:
            if not accepting[target]:
                if target not in seen:
                    seen.add(target)
                    order.append(target)
            elif target in to_rejection and not to_acceptance.keys().isdisjoint(successors[target]):
                warn_caller(EarlyAcceptance(where))
                return


def _draft(sets: LabelSets, states: dict[int, Hashable], start: int, options: TaskOptions) -> Draft:
    """The moves between different states."""
    rewards: dict[Hashable, float] = {DONE: options.reward, LOST: options.fail_reward}
    moves: Moves = {}
    numbers = {start: 0}
    for state in (order := [start]):
        diagram = states[state]
        assert isinstance(diagram, int)
        state_moves = moves[state, BOTTOM] = []
        for target in sets.leaves(diagram):
            if target in (None, state) or (target == LOST and options.fail == IGNORE):
                continue
            if isinstance(target, int) and target not in numbers:
                numbers[target] = len(order)
                order.append(target)
            labels = sets.rename_leaves(diagram, partial(eq, target), {})
            reward = add_rewards(options.step, rewards.get(target, 0.0))
            state_moves.append(DraftMove(labels, target, (BOTTOM,), reward))
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
