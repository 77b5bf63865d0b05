"""What holds of a pushdown machine on every word, found exactly although the stack is unbounded.

Which heads (state, top symbol) occur, whether silent moves end, how many symbols one step can pop, how high the stack can get
within n labels, and how fast it grows (the m and e of Section 5). All of it is read off the heads and exits of `reach`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import inf
from typing import NamedTuple

from pdrm.errors import EndlessSilentMoves
from pdrm.limits import MOST_SILENT_MOVES
from pdrm.machines.checks.wellformed import Machine, labels_left
from pdrm.machines.configurations import Configuration, Step
from pdrm.machines.guards import Label
from pdrm.machines.labels import LabelSets
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import ANY, TopSymbols, Transition


class PushdownSystem(Machine[Transition], ABC):
    """What the analysis needs of a pushdown machine; `PushdownRewardMachine`, checked here when it is built, has it."""

    __slots__ = ()
    stack: tuple[str, ...]

    @abstractmethod
    def rule(self, state: str, label: Label | None, top: str | None) -> Transition | None: ...
    @abstractmethod
    def begin(self) -> Step: ...


# --- Heads and the moves at them


class Head(NamedTuple):
    """A state and a top symbol (None: the empty stack)."""

    state: str
    top: str | None


Lead = tuple[str, TopSymbols]
"""Where a move at a head leads: a state, and the symbols that replace the head's own."""


def rules_at(machine: PushdownSystem, sets: LabelSets, head: Head) -> list[Transition]:
    """The rules that apply at a head for some label; a rule that names the top beats a rule with `z`."""
    rules = [rule for rule in machine.rules_from(head.state) if rule.looks_at(head.top)]
    silent = [rule for rule in rules if rule.silent]
    if silent:
        return [rule for rule in silent if rule.top != ANY] or silent
    satisfiable = [rule for rule in rules if sets.satisfiable(rule.guard)]
    named = [rule.guard for rule in satisfiable if rule.top != ANY]
    if len(named) == len(satisfiable) or not named:
        return satisfiable
    free = sets.left(named)
    return [rule for rule in satisfiable if rule.top != ANY or free & sets.of(rule.guard)]


def moves_at(machine: PushdownSystem, sets: LabelSets, head: Head) -> list[Lead]:
    """Where each move at a head leads, `otherwise` included."""
    rules = rules_at(machine, sets, head)
    moves = [_lead(rule, head) for rule in rules]
    target = machine.otherwise.target
    if target is not None and labels_left(machine, sets, head.state, rules):
        moves.append((target, (head.top,)))
    return moves


def _silent_moves_at(machine: PushdownSystem, head: Head) -> list[Lead]:
    """Where the silent move at a head leads, if there is one."""
    rule = machine.rule(head.state, None, head.top)
    return [] if rule is None else [_lead(rule, head)]


def _lead(rule: Transition, head: Head) -> Lead:
    below = (None,) if head.top is None else ()
    return rule.target, (*rule.replacement(head.top), *below)


def _count(symbols: TopSymbols) -> int:
    return sum(symbol is not None for symbol in symbols)


class _Above(NamedTuple):
    """A head that comes up, and the number of symbols below its own."""

    head: Head
    below: int


class _Saturated:
    """The heads that occur from some configurations on, with the moves at each and the states in which its symbol is popped."""

    def __init__(self, moves_at: Callable[[Head], list[Lead]], begin: Iterable[Lead]) -> None:
        self.moves: dict[Head, list[Lead]] = {}
        first: tuple[str, str | None] = ("", "")
        leads = list(begin)

        def moves(head: tuple[str, str | None]) -> list[Lead]:
            if head == first:
                return leads
            found = self.moves[Head(*head)] = moves_at(Head(*head))
            return found

        self.exits = saturate(moves, first).exits

    def come_up(self, state: str, symbols: TopSymbols) -> tuple[list[_Above], set[str]]:
        """The heads that come up as these symbols are popped one after the other, and the states once all of them are."""
        states, below, found = {state}, _count(symbols), list[_Above]()
        for symbol in symbols:
            below -= symbol is not None
            heads = [Head(one, symbol) for one in states]
            found += [_Above(head, below) for head in heads]
            states = set[str]().union(*(self.exits.get(head, ()) for head in heads))
        return found, states


def _explore(machine: PushdownSystem) -> _Saturated:
    """All moves, from the start."""
    moves = partial(moves_at, machine, LabelSets(machine.alphabet))
    return _Saturated(moves, [(machine.start, (machine.stack[0], None))])


def _explore_silent(machine: PushdownSystem) -> _Saturated:
    """Silent moves only: they are deterministic, so a head's symbol is popped in one state or in none."""
    begin = [(head.state, (head.top,)) for head in _list_silent_heads(machine)]
    return _Saturated(partial(_silent_moves_at, machine), begin)


def _list_silent_heads(machine: PushdownSystem) -> list[Head]:
    """The heads with a silent move, in the order of states and tops."""
    sources = {rule.source for rule in machine.transitions if rule.silent}
    states = [state for state in machine.states if state in sources]
    heads = [Head(state, top) for state, top in product(states, (*machine.stack, None))]
    return [head for head in heads if machine.rule(head.state, None, head.top) is not None]


def reachable_heads(machine: PushdownSystem) -> set[Head]:
    """Every head that some word leads to. Final states have heads too."""
    return set(_explore(machine).moves)


def heads_in_play(
    machine: PushdownSystem, begin: Iterable[Configuration], labels: Iterable[Label]
) -> set[Head]:
    """The heads at which the machine can wait for a label: from some configurations on, by any words over these labels.

    >>> from pdrm.language.loading import catalogue
    >>> letter = catalogue("letter")
    >>> sorted(heads_in_play(letter, [letter.begin().after], [frozenset("A")]))
    [Head(state='u0', top='#'), Head(state='u0', top='A')]
    """
    emitted = tuple(labels)

    def moves(head: Head) -> list[Lead]:
        silent = _silent_moves_at(machine, head)
        if silent:
            return silent
        rules = [machine.rule(head.state, label, head.top) for label in emitted]
        found = [_lead(rule, head) for rule in dict.fromkeys(rules) if rule is not None]
        target = machine.otherwise.target
        return [*found, (target, (head.top,))] if None in rules and target is not None else found

    explored = _Saturated(moves, [(one.state, (*one.stack, None)) for one in begin])
    return {
        head
        for head in explored.moves
        if head.state in machine.states and not _silent_moves_at(machine, head)
    }


# --- Endless silent moves, decided exactly
#
# What the silent moves of a head do until its symbol is gone depends on the head alone. So they never end just if the head
# comes up again in its own moves, with the stack grown, shrunk and regrown, or kept.

MOST_SHOWN = 6
"""Silent moves printed in a message."""

MOST_SEARCHED = 100
"""Silent moves followed to find where they repeat."""

MOST_COMPARED = 1_000
"""Heads followed to find the shortest example."""


def find_endless_silent_moves(machine: PushdownSystem) -> list[EndlessSilentMoves]:
    """The shortest example of silent moves that never end, or do not end in a lifetime, if there is one."""
    if not any(rule.silent for rule in machine.transitions):
        return []
    silent = _explore_silent(machine)
    after = {
        head: [above.head for above in silent.come_up(*moves[0])[0]]
        for head, moves in silent.moves.items()
        if moves
    }
    head = _find_endless(after)
    if head is None:
        return []
    rule = machine.rule(head.state, None, head.top)
    few = _list_silent_heads(machine)[:MOST_COMPARED]
    examples = [(one, _until_repeated(machine, one)) for one in few]
    endless = [(one, moves) for one, moves in examples if moves]
    if not endless:
        fault = f"more than {MOST_SEARCHED} silent moves follow each other in state `{head.state}` with `{head.top}` on top"
        return [EndlessSilentMoves(fault, where=None if rule is None else rule.where, fix=LET_END)]
    head, moves = min(endless, key=lambda example: len(example[1]))
    shown = "".join(f"\n    {rule}" for rule in moves[:MOST_SHOWN])
    more = f"\n    … ({len(moves)} moves before it repeats)" if len(moves) > MOST_SHOWN else ""
    fault = f"silent moves never end in state `{head.state}` with `{head.top}` on top:{shown}{more}"
    return [EndlessSilentMoves(fault, where=moves[0].where, fix=LET_END)]


LET_END = "let one of these rules read a label, or lead to a state and top without a silent rule"


def _find_endless(after: dict[Head, list[Head]]) -> Head | None:
    """A head that comes up in its own silent moves, or that leads to too many of them.

    Args:
        after: The heads that come up after the silent move of a head.
    """
    counts: dict[Head, int] = {}
    for first, heads in after.items():
        way = {} if first in counts else {first: iter(heads)}
        while way:  # depth first
            head = next(reversed(way))
            ahead = next((one for one in way[head] if one in after and one not in counts), None)
            if ahead is None:
                counts[head] = 1 + sum(counts.get(one, 0) for one in after[head])
                if counts[head] > MOST_SILENT_MOVES:
                    return head
                del way[head]
            elif ahead in way:
                return ahead
            else:
                way[ahead] = iter(after[ahead])
    return None


def _until_repeated(machine: PushdownSystem, head: Head) -> list[Transition]:
    """The silent moves from a head up to where an earlier head has come back with no symbol below it touched, if they do soon."""
    stack = [] if head.top is None else [head.top]
    here, moves = head, list[Transition]()
    seen: dict[Head, int] = {}
    while len(moves) < MOST_SEARCHED:
        seen = {earlier: height for earlier, height in seen.items() if height <= len(stack)}
        if here in seen:
            return moves
        rule = machine.rule(here.state, None, here.top)
        if rule is None or (here.top is None and head.top is not None):
            return []
        seen[here] = len(stack)
        stack[-1:] = reversed(rule.replacement(here.top))
        here = Head(rule.target, stack[-1] if stack else None)
        moves.append(rule)
    return []


# --- Pop depth: the most symbols of the old stack that reading one label can pop
#
# Two stacks that agree on that many symbols, and on what a k-policy sees beyond them, give it the same experience (so only
# one of them is needed as a counterfactual).


class _Settled(NamedTuple):
    """The end of the silent moves above some known symbols: the state, the symbols left, and the number of moves that pushed."""

    state: str
    left: int
    pushes: int


def _settle(machine: PushdownSystem, state: str, symbols: TopSymbols) -> _Settled:
    """Make silent moves until none applies or all the symbols are popped."""
    stack, pushes = list(reversed(symbols)), 0
    while stack and (rule := machine.rule(state, None, stack[-1])) is not None:
        head = Head(state, stack.pop())
        state, pushed = _lead(rule, head)
        stack += reversed(pushed)
        pushes += _count(pushed) > _count((head.top,))
    return _Settled(state, len(stack), pushes)


def _longest_ways(
    steps: Mapping[str, Iterable[tuple[str, int]]], ends: Mapping[str, int]
) -> dict[str, float]:
    """The greatest sum of steps from each state and what the state pays where they end; infinite if there is no bound."""
    longest: dict[str, float] = dict(ends)
    changed = set(longest)
    for turn in range(2 * len(longest) + 2):
        changed = {
            state
            for state, following in steps.items()
            for after, gain in following
            if after in changed and longest[after] + gain > longest[state]
        }
        if not changed:
            break
        for state in changed:
            best = max(longest[after] + gain for after, gain in steps[state])
            longest[state] = best if turn <= len(longest) else inf
    return longest


def _pops(machine: PushdownSystem) -> dict[str, list[_Settled]]:
    """The silent moves that pop a symbol, by the state in which it is on top; a state that has none is left out."""
    found: dict[str, list[_Settled]] = {}
    for head in _list_silent_heads(machine):
        settled = _settle(machine, head.state, (head.top,))
        if head.top is not None and not settled.left:
            found.setdefault(head.state, []).append(settled)
    return found


def pops_in_a_step(machine: PushdownSystem) -> int | None:
    """The most symbols popped off the old stack by one label and its silent moves; None if there is no bound.

    >>> from pdrm.language.loading import catalogue
    >>> [pops_in_a_step(catalogue(name)) for name in ("letter", "treasure-maze", "paint")]
    [1, 1, 5]
    """
    states = (*machine.states, *machine.final)
    steps = {state: [(one.state, 1) for one in pops] for state, pops in _pops(machine).items()}
    chains = _longest_ways(steps, dict.fromkeys(states, 0))
    target = machine.otherwise.target
    most = 0.0 if target is None else chains[target]
    for rule in machine.transitions:
        for top in machine.stack if not rule.silent else ():
            if rule.looks_at(top):
                pushed = rule.replacement(top)
                kept = pushed[-1:] == (top,)
                settled = _settle(machine, rule.target, pushed[:-1] if kept else pushed)
                most = max(most, (not kept) + (0 if settled.left else chains[settled.state]))
    return None if most == inf else int(most)


def symbols_that_matter(machine: PushdownSystem, k: int, steps: int = 1) -> int | None:
    """The number of symbols of a stack that decide what a k-policy sees in that many steps: those that they can pop, and below
    them the k it sees, or the one that the machine looks at; None if there is no bound.

    >>> from pdrm.language.loading import catalogue
    >>> [symbols_that_matter(catalogue("paint"), k) for k in (0, 1, 2)]
    [6, 6, 7]
    """
    pops = pops_in_a_step(machine)
    return None if pops is None else steps * pops + max(k, 1)


# --- Height: what a stack of fixed depth must have room for
#
# A move replaces a head's symbol by others. So the height above a head within n labels is that of what the move pushes, or
# what stands below one of these symbols and the height above that one within n - 1 labels (n, if the move is silent). The
# labels that it takes to pop the symbols above that one are not counted: the height found may be too high, never too low.


def highest_stack(machine: PushdownSystem, labels: int, most: int) -> int:
    """The most symbols on the stack within that many labels, also between silent moves; `most` if they are that many or more.

    >>> from pdrm.language.loading import catalogue
    >>> [highest_stack(catalogue(name), 50, most=100) for name in ("letter", "deliver", "paint")]
    [51, 9, 6]
    """
    explored = _explore(machine)
    above = {
        head: [one for lead in moves for one in explored.come_up(*lead)[0]]
        for head, moves in explored.moves.items()
    }
    pushed = {
        head: max((_count(symbols) for _, symbols in moves), default=0)
        for head, moves in explored.moves.items()
    }
    silent = {head for head in above if _silent_moves_at(machine, head)}
    under: defaultdict[Head, list[Head]] = defaultdict(list)
    for head in silent:
        for one in above[head]:
            under[one.head].append(head)

    def climb(head: Head, heights: dict[Head, int]) -> int:
        """The height above a head after one more move."""
        found = [one.below + heights[one.head] for one in above[head]]
        return min(most, max([heights[head], pushed[head], *found]))

    def settle(heights: dict[Head, int]) -> dict[Head, int]:
        """The heights with all silent moves taken."""
        todo = list(silent)
        while todo:
            head = todo.pop()
            height = climb(head, heights)
            if height > heights[head]:
                heights[head] = height
                todo += under[head]
        return heights

    heights = settle({head: int(head.top is not None) for head in above})
    for _ in range(labels):
        higher = settle({head: climb(head, heights) for head in above})
        if higher == heights:
            break
        heights = higher
    start = explored.come_up(machine.start, (machine.stack[0], None))[0]
    return min(most, max(one.below + heights[one.head] for one in start))


# --- Growth: the m and e of Section 5, and the exact constants that its bounds leave out
#
# The paper allows m symbols per transition and e pushing silent transitions per step, so m(e + 1) symbols per step. It forgets
# the symbols that an episode begins with, and e need not exist: silent moves may push each time they have popped one more
# symbol. What one step can add always exists, though, because silent moves end above a head's symbol or pop it.


@dataclass(frozen=True, slots=True)
class StackGrowth:
    """What the sizes of a machine's policies depend on.

    >>> from pdrm.language.loading import catalogue
    >>> stack_growth(catalogue("deliver"))
    StackGrowth(symbols=5, added=8, silent_pushes=0, begun=1, step=8)
    """

    symbols: int
    """|Γ|"""
    added: int
    """m: the most symbols that one transition adds, those it pushes less the one it looks at."""
    silent_pushes: int | None
    """e: the most silent transitions of one step that add symbols, over all stacks (None: there is no bound)."""
    begun: int
    """The height of the stack before the first label is read."""
    step: int
    """The most symbols that one label and its silent moves add, over all reachable heads."""

    def longest(self, labels: int) -> int:
        """The highest that a stack can be after that many labels."""
        return self.begun + labels * self.step


def stack_growth(machine: PushdownSystem) -> StackGrowth:
    """The constants of a machine."""
    tops = (*machine.stack, None)
    pairs = [(rule, top) for rule in machine.transitions for top in tops if rule.looks_at(top)]
    added = max((len(rule.replacement(top)) - (top is not None) for rule, top in pairs), default=0)
    begun = len(machine.begin().after.stack)
    pushes = _count_pushes(machine)
    return StackGrowth(len(machine.stack), max(0, added), pushes, begun, _grow_in_a_step(machine))


def _grow_in_a_step(machine: PushdownSystem) -> int:
    """The most symbols that one label and its silent moves add."""
    states = (*machine.states, *machine.final)
    ends = {state: _settle(machine, state, (None,)).left - 1 for state in states}
    for head in _list_silent_heads(machine):
        if head.top is not None:
            left = _settle(machine, head.state, (head.top,)).left
            ends[head.state] = max(ends[head.state], left - 1)
    steps = {state: [(one.state, -1) for one in pops] for state, pops in _pops(machine).items()}
    below = _longest_ways(steps, ends)
    silent, most = set(_list_silent_heads(machine)), 0.0
    for head, moves in _explore(machine).moves.items():
        for state, symbols in moves if head not in silent else ():
            settled = _settle(machine, state, symbols)
            grown = settled.left - (None in symbols) if settled.left else below[settled.state]
            most = max(most, grown - (head.top is not None))
    return int(most)


def _count_pushes(machine: PushdownSystem) -> int | None:
    """The most pushing silent moves in a row, over all stacks; None if there is no bound."""
    ends = dict.fromkeys((*machine.states, *machine.final), 0)
    silent = _list_silent_heads(machine)
    for head in silent:
        pushes = _settle(machine, head.state, (head.top,)).pushes
        ends[head.state] = max(ends[head.state], pushes)
    steps = {
        state: [(one.state, one.pushes) for one in pops] for state, pops in _pops(machine).items()
    }
    longest = _longest_ways(steps, ends)
    sets, targets, quiet = LabelSets(machine.alphabet), {machine.start}, set(silent)
    for head in map(Head._make, product(machine.states, (*machine.stack, None))):
        if head not in quiet:
            targets |= {target for target, _ in moves_at(machine, sets, head)}
    most = max(longest[state] for state in targets)
    return None if most == inf else int(most)
