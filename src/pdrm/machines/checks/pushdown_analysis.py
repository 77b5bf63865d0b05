"""What holds of a pushdown machine on every word, found exactly although the stack is unbounded.

Whether silent moves end, which heads (state, top symbol) can be reached, how many symbols one step can pop, how high the stack
can get within n labels, and how fast it grows (the m and e of Section 5). All of it rests on one fact: a symbol that is pushed
is popped, sooner or later, in states that depend on its head alone. `_Saturation` finds these states, as a least fixed point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from pdrm.errors import EndlessSilentMoves
from pdrm.limits import MOST_SILENT_MOVES, spend
from pdrm.machines.alphabet import Cube
from pdrm.machines.checks.wellformed import Machine, labels_left
from pdrm.machines.configurations import Configuration, Step
from pdrm.machines.guards import Label
from pdrm.machines.transitions import ANY, NONE, Transition


class PushdownSystem(Machine[Transition], ABC):
    """What the analysis needs of a pushdown machine; `PushdownRewardMachine`, checked here when it is built, has it."""

    __slots__ = ()
    stack: tuple[str, ...]

    @abstractmethod
    def rule(self, state: str, label: Label | None, top: str | None) -> Transition | None: ...
    @abstractmethod
    def begin(self) -> Step: ...


# --- Heads, the moves at them, and the states in which their symbols are popped


class Head(NamedTuple):
    """A state and a top symbol (None: the empty stack)."""

    state: str
    top: str | None


TopSymbols = tuple[str | None, ...]
"""Symbols on top of the stack, top first; None stands for the empty stack below them, which is never popped."""

Lead = tuple[str, TopSymbols]
"""Where a move at a head leads: a state, and the symbols that replace the head's own."""

Popped = Mapping[Head, set[str]]
"""The states in which the symbol of a head may be gone."""


def rules_at(machine: PushdownSystem, head: Head) -> list[Transition]:
    """The rules that apply at a head for some label, those with `z` left out where rules naming the top read all theirs."""
    rules = [rule for rule in machine.rules_from(head.state) if rule.looks_at(head.top)]
    silent = [rule for rule in rules if rule.silent]
    if silent:
        return [rule for rule in silent if rule.top != ANY] or silent
    alphabet = machine.alphabet
    free = alphabet.complement(rule.guard for rule in rules if rule.top != ANY)

    def reads_some(rule: Transition) -> bool:
        others = free if rule.top == ANY else [Cube(0, 0)]
        return any(
            alphabet.meet(cube, other) for cube in alphabet.cubes(rule.guard) for other in others
        )

    return [rule for rule in rules if reads_some(rule)]


def moves_at(machine: PushdownSystem, head: Head) -> list[Lead]:
    """Where each move at a head leads, `otherwise` included."""
    rules = rules_at(machine, head)
    moves = [_lead(rule, head) for rule in rules]
    target = machine.otherwise.target
    if target is not None and labels_left(machine, head.state, rules):
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
    """A head that comes up, and how many symbols stand below its own."""

    head: Head
    below: int


def _come_up(popped: Popped, state: str, symbols: TopSymbols) -> tuple[list[_Above], set[str]]:
    """The heads that come up as these symbols are popped one after the other, and the states once all of them are."""
    spend(len(symbols) // 4)
    states, below, found = {state}, _count(symbols), list[_Above]()
    for symbol in symbols:
        below -= symbol is not None
        heads = [Head(one, symbol) for one in states]
        found += [_Above(head, below) for head in heads]
        states = set[str]().union(*(popped.get(head, ()) for head in heads))
    return found, states


class _Saturation:
    """The heads that come up from some configurations on, the moves at each, and the states in which its symbol may be popped.

    A head waits for its symbol to be popped with what is left to pop after it: the rest of what replaced another's symbol.
    """

    def __init__(self, moves_at: Callable[[Head], list[Lead]], begin: Iterable[Lead]) -> None:
        self.moves: dict[Head, list[Lead]] = {}
        self.popped: defaultdict[Head, set[str]] = defaultdict(set)
        self._moves_at = moves_at
        self._waiting: defaultdict[Head, dict[tuple[TopSymbols, Head | None], None]] = defaultdict(
            dict
        )
        self._todo: list[tuple[str, TopSymbols, Head | None]] = [(*lead, None) for lead in begin]
        while self._todo:
            self._place(*self._todo.pop())

    def _place(self, state: str, symbols: TopSymbols, owner: Head | None) -> None:
        """The machine is in `state` with `symbols` left of what replaced the owner's."""
        spend(3 + len(symbols) // 8)
        if not symbols:
            if owner is not None and state not in self.popped[owner]:
                self.popped[owner].add(state)
                self._todo += [(state, *waiting) for waiting in self._waiting[owner]]
            return
        head, waiting = Head(state, symbols[0]), (symbols[1:], owner)
        if waiting not in self._waiting[head]:
            self._waiting[head][waiting] = None
            self._todo += [(after, *waiting) for after in self.popped[head]]
        if head not in self.moves:
            self.moves[head] = self._moves_at(head)
            self._todo += [(*lead, head) for lead in self.moves[head]]

    def come_up(self, lead: Lead) -> list[Head]:
        """The heads that come up after a lead as its symbols are popped."""
        state, symbols = lead
        if len(symbols) == 1:  # most of them, and quickly said
            return [Head(state, symbols[0])]
        return [above.head for above in _come_up(self.popped, state, symbols)[0]]

    def stop_in(self, lead: Lead) -> _Above:
        """The last head that comes up where not all the symbols are popped."""
        return _come_up(self.popped, *lead)[0][-1]


def _reach(machine: PushdownSystem) -> _Saturation:
    """All moves, from the start."""
    return _Saturation(
        lambda head: moves_at(machine, head), [(machine.start, (machine.stack[0], None))]
    )


def _follow_silent_moves(machine: PushdownSystem) -> _Saturation:
    """Silent moves only, from every head: they are deterministic, so a head's symbol is popped in one state or in none."""
    heads = [(state, (top,)) for state in machine.states for top in (*machine.stack, None)]
    return _Saturation(lambda head: _silent_moves_at(machine, head), reversed(heads))


def reachable_heads(machine: PushdownSystem) -> set[Head]:
    """Every head that some word leads to. Final states have heads too."""
    return set(_reach(machine).moves)


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
        if silent := _silent_moves_at(machine, head):
            return silent
        rules = [machine.rule(head.state, label, head.top) for label in emitted]
        found = [_lead(rule, head) for rule in dict.fromkeys(rules) if rule is not None]
        target = machine.otherwise.target
        return [*found, (target, (head.top,))] if None in rules and target is not None else found

    reached = _Saturation(moves, [(one.state, (*one.stack, None)) for one in begin]).moves
    return {
        head
        for head in reached
        if head.state in machine.states and machine.rule(head.state, None, head.top) is None
    }


# --- Endless silent moves, decided exactly
#
# What the silent moves of a head do until its symbol is gone depends on the head alone: they pop it, they stop above it, or they
# never end. If they do not pop it, they go on to the first of the symbols pushed that is not popped; a head that goes on to itself
# in this way repeats for ever, with the stack grown, shrunk and regrown, or kept.

MOST_SHOWN = 6
"""Silent moves printed in a message."""

MOST_SEARCHED = 100
"""Silent moves followed to find where they repeat."""

MOST_COMPARED = 1_000
"""Heads followed to find the shortest example."""


def find_endless_silent_moves(machine: PushdownSystem) -> list[EndlessSilentMoves]:
    """The shortest example of silent moves that never end, if there is one."""
    heads = [(state, (top,)) for state, tops in _silent_tops(machine) for top in tops]
    silent = _Saturation(lambda head: _silent_moves_at(machine, head), reversed(heads))
    after = {head: silent.come_up(moves[0]) for head, moves in silent.moves.items() if moves}
    endless = _leading_to_cycles(
        {head: heads[-1] for head, heads in after.items() if not silent.popped[head]}
    )
    if not endless:
        return _find_long_silent_moves(machine, after)
    # Moves on the empty stack look at no symbol: they are as endless on top of one, and that is what is shown.
    few = endless[:MOST_COMPARED]
    head, moves = min(
        ((head, _until_repeated(machine, head)) for head in few), key=lambda pair: len(pair[1])
    )
    shown = "".join(f"\n    {rule}" for rule in moves[:MOST_SHOWN])
    more = f"\n    … ({len(moves)} moves before it repeats)" if len(moves) > MOST_SHOWN else ""
    return [
        EndlessSilentMoves(
            f"silent moves never end in state `{head.state}` with `{head.top}` on top:{shown}{more}",
            where=moves[0].where,
            fix="let one of these rules read a label, or lead to a state and top where no silent rule applies",
        )
    ]


def _find_long_silent_moves(
    machine: PushdownSystem, after: dict[Head, list[Head]]
) -> list[EndlessSilentMoves]:
    """A head whose silent moves end, but not in a lifetime: each of forty symbols may be replaced by two of the next.

    after: the heads that come up after the silent move of a head.
    """
    counts: dict[Head, int] = {}
    for first, heads in after.items():
        way = [] if first in counts else [(first, iter(heads))]
        while way:  # depth first: no head comes up in its own moves, for these would be endless
            head, ahead = way[-1]
            one = next((one for one in ahead if one in after and one not in counts), None)
            if one is not None:
                way.append((one, iter(after[one])))
                continue
            counts[head] = min(
                1 + sum(counts.get(one, 0) for one in after[head]), MOST_SILENT_MOVES + 1
            )
            way.pop()
    long = next((head for head, count in counts.items() if count > MOST_SILENT_MOVES), None)
    if long is None:
        return []
    rule = machine.rule(long.state, None, long.top)
    return [
        EndlessSilentMoves(
            f"more than {MOST_SILENT_MOVES:,} silent moves follow each other in state `{long.state}` with `{long.top}` on top",
            where=None if rule is None else rule.where,
            fix="let fewer moves be silent, or push fewer symbols in them",
        )
    ]


def _silent_tops(machine: PushdownSystem) -> Iterator[tuple[str, TopSymbols]]:
    """The states that have silent rules, each with the tops at which one applies, in the order of the stack."""
    number = {top: place for place, top in enumerate(machine.stack)}
    for state in machine.states:
        tops = {rule.top for rule in machine.rules_from(state) if rule.silent}
        if NONE in tops or ANY in tops:
            spend(2 * len(machine.stack))
            yield state, (*machine.stack, None) if NONE in tops else machine.stack
        elif tops:
            named: list[str] = sorted(tops, key=number.__getitem__)
            yield state, tuple(named)


def _leading_to_cycles(after: dict[Head, Head]) -> list[Head]:
    """The heads from which one never comes to a head that has no successor."""
    known: dict[Head, bool] = {}
    for head in after:
        way: dict[Head, None] = {}
        here = head
        while here in after and here not in known and here not in way:
            way[here] = None
            here = after[here]
        known.update(dict.fromkeys(way, here in way or known.get(here, False)))
    return [head for head in after if known[head]]


def _until_repeated(machine: PushdownSystem, head: Head) -> list[Transition]:
    """The silent moves from an endless head, up to where an earlier head has come back with no symbol below it touched."""
    stack = [] if head.top is None else [head.top]
    here, moves = head, list[Transition]()
    seen: dict[Head, int] = {}
    while len(moves) < MOST_SEARCHED:
        seen = {earlier: height for earlier, height in seen.items() if height <= len(stack)}
        rule = machine.rule(here.state, None, here.top)
        if here in seen or rule is None:
            break
        seen[here] = len(stack)
        stack[-1:] = reversed(rule.replacement(here.top))
        here = Head(rule.target, stack[-1] if stack else None)
        moves.append(rule)
    return moves


# --- Pop depth: the most symbols of the old stack that reading one label can pop
#
# Two stacks that agree on that many symbols, and on what a k-policy sees beyond them, give it the same experience (so only
# one of them is needed as a counterfactual).


def pops_in_a_step(machine: PushdownSystem) -> int | None:
    """The most symbols popped off the old stack by one label and its silent moves; None if there is no bound.

    >>> from pdrm.language.loading import catalogue
    >>> [pops_in_a_step(catalogue(name)) for name in ("letter", "treasure-maze", "paint")]
    [1, 1, 5]
    """
    popped, states = _follow_silent_moves(machine).popped, (*machine.states, *machine.final)
    chains = _longest_chains(
        {
            state: set[str]().union(*(popped.get(Head(state, top), ()) for top in machine.stack))
            for state in states
        }
    )
    most = 0
    for after, count in _after_the_label(machine, popped):
        below = [chains[state] for state in after]
        if None in below:
            return None
        most = max(most, count, *(count + (length or 0) for length in below))
    return most


def symbols_that_matter(machine: PushdownSystem, k: int, steps: int = 1) -> int | None:
    """How many symbols of a stack decide what a k-policy sees in that many steps: those that they can pop, and below them the
    k it sees, or the one that the machine looks at; None if there is no bound.

    >>> from pdrm.language.loading import catalogue
    >>> [symbols_that_matter(catalogue("paint"), k) for k in (0, 1, 2)]
    [6, 6, 7]
    """
    pops = pops_in_a_step(machine)
    return None if pops is None else steps * pops + max(k, 1)


def _after_the_label(machine: PushdownSystem, popped: Popped) -> Iterator[tuple[set[str], int]]:
    """For each way to read a label: the state in which silent moves go on to the old stack (none if they do not), and how
    many of its symbols are popped by then."""
    if machine.otherwise.target is not None:
        yield {machine.otherwise.target}, 0
    for rule in (rule for rule in machine.transitions if not rule.silent):
        for top in (symbol for symbol in machine.stack if rule.looks_at(symbol)):
            pushed = rule.replacement(top)
            kept = pushed[-1:] == (top,)
            yield _come_up(popped, rule.target, pushed[:-1] if kept else pushed)[1], int(not kept)


def _longest_chains(afters: dict[str, set[str]]) -> dict[str, int | None]:
    """For each state the longest chain of silent pops from it; None if it can go round."""
    found: dict[str, int | None] = {}
    for first in afters:
        way = [first]
        while way:
            state = way[-1]
            ahead = next(
                (after for after in afters[state] if after not in found and after not in way), None
            )
            if ahead is not None:
                way.append(ahead)
                continue
            lengths = [found.get(after) for after in afters[state]]
            longest = max((1 + length for length in lengths if length is not None), default=0)
            found[state] = None if None in lengths else longest
            way.pop()
    return found


# --- Height: what a stack of fixed depth must have room for
#
# A move replaces a head's symbol by others. So the height above a head within n labels is that of what the move pushes, or
# what stands below one of these symbols and the height above that one within n - 1 labels (n, if the move is silent). The
# labels that it takes to pop the symbols above that one are not counted: the height found may be too high, never too low.

Heights = dict[Head, int]


def highest_stack(machine: PushdownSystem, labels: int, most: int) -> int:
    """The most symbols on the stack within that many labels, also between silent moves; `most` if they are that many or more.

    >>> from pdrm.language.loading import catalogue
    >>> [highest_stack(catalogue(name), 50, most=100) for name in ("letter", "deliver", "paint")]
    [51, 9, 6]
    """
    climb = _Climb(machine)
    heights = climb.settle({head: int(head.top is not None) for head in climb.moves}, most)
    for _ in range(labels):
        if climb.highest(heights) >= most:
            break
        after = climb.settle({head: climb.above(head, heights) for head in climb.moves}, most)
        if after == heights:
            break
        heights = after
    return min(most, climb.highest(heights))


class _Climb:
    """What the moves at every reachable head lead to, and the heights above heads within some number of labels."""

    def __init__(self, machine: PushdownSystem) -> None:
        moves, popped = (reached := _reach(machine)).moves, reached.popped
        self.start = _come_up(popped, machine.start, (machine.stack[0], None))[0]
        self.moves = {
            head: [above for lead in moves[head] for above in _come_up(popped, *lead)[0]]
            for head in moves
        }
        self.pushed = {
            head: max((_count(symbols) for _, symbols in moves[head]), default=0) for head in moves
        }
        self.silent = [head for head in moves if _silent_moves_at(machine, head)]
        self.below: defaultdict[Head, list[Head]] = defaultdict(list)
        """The silent heads whose height depends on that above a head."""
        for head in self.silent:
            for above in self.moves[head]:
                self.below[above.head].append(head)

    def highest(self, heights: Heights) -> int:
        """From the start."""
        return max(above.below + heights[above.head] for above in self.start)

    def above(self, head: Head, heights: Heights) -> int:
        """The height above a head that one more move leads to."""
        found = [above.below + heights[above.head] for above in self.moves[head]]
        return max([heights[head], self.pushed[head], *found])

    def settle(self, heights: Heights, most: int) -> Heights:
        """The heights with all silent moves taken; they are not followed beyond `most`."""
        todo = list(self.silent)
        while todo:
            head = todo.pop()
            height = min(most, self.above(head, heights))
            if height > heights[head]:
                heights[head] = height
                todo += self.below[head]
        return heights


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
    """e: the most silent transitions of one step that add symbols, over all stacks; None where it is unbounded."""
    begun: int
    """The height of the stack before the first label is read."""
    step: int
    """The most symbols that one label and its silent moves add, over all reachable heads."""

    def longest(self, labels: int) -> int:
        """The highest that a stack can be after that many labels."""
        return self.begun + labels * self.step


def stack_growth(machine: PushdownSystem) -> StackGrowth:
    """The constants of a machine."""
    growing = _Growing(machine)
    tops = (*machine.stack, None)
    pairs = [(rule, top) for rule in machine.transitions for top in tops if rule.looks_at(top)]
    added = max((len(rule.replacement(top)) - (top is not None) for rule, top in pairs), default=0)
    begun = len(machine.begin().after.stack)
    return StackGrowth(len(machine.stack), max(0, added), growing.pushes(), begun, growing.step())


class _Growing:
    """The silent moves of each head: how many symbols stand in its symbol's place when they stop, how often they push."""

    def __init__(self, machine: PushdownSystem) -> None:
        self.machine = machine
        self.silent = _follow_silent_moves(machine)
        self.states = (*machine.states, *machine.final)
        self.known: dict[Head, int] = {}

    def left(self, state: str, symbols: TopSymbols) -> tuple[int, str | None]:
        """How many symbols stand in the place of these when silent moves stop; and the state, if all were popped."""
        for after in _come_up(self.silent.popped, state, symbols)[1]:
            return 0, after
        head, below = self.silent.stop_in((state, symbols))
        return below + self._left_above(head), None

    def _left_above(self, head: Head) -> int:
        """How many symbols stand in the place of a head's own when silent moves stop: they do not pop it."""
        way: list[_Above] = []
        while head not in self.known and self.silent.moves.get(head):
            way.append(
                _Above(head, (after := self.silent.stop_in(self.silent.moves[head][0])).below)
            )
            head = after.head
        count = self.known.get(head, int(head.top is not None))
        for before in reversed(way):
            count = self.known[before.head] = count + before.below
        return count

    def step(self) -> int:
        """The most symbols that one label and its silent moves add."""
        below = self._growth_below()
        most = 0
        for head, moves in _reach(self.machine).moves.items():
            if not self.silent.moves.get(head):
                for lead in moves:
                    count, after = self.left(*lead)
                    here = count if after is None else below[after]
                    most = max(most, here - (head.top is not None))
        return most

    def _growth_below(self) -> dict[str, int]:
        """For each state, the most that silent moves add to a stack of any symbols, or take from it at least."""
        found = {state: self.left(state, (None,))[0] for state in self.states}
        before: defaultdict[str, list[str]] = defaultdict(list)
        for state, symbol in product(self.states, self.machine.stack):
            count, after = self.left(state, (symbol,))
            if after is None:
                found[state] = max(found[state], count - 1)
            else:
                before[after].append(state)
        todo = list(self.states)
        while todo:  # popping a symbol and going on in the state after it
            after = todo.pop()
            for state in before[after]:
                if found[after] - 1 > found[state]:
                    found[state] = found[after] - 1
                    todo.append(state)
        return found

    def pushes(self) -> int | None:
        """The most pushing silent moves in a row, over all stacks; None where it is unbounded."""
        counts = self._pushes_at_heads()
        found = dict.fromkeys(self.states, 0)
        for _ in range(len(found) + 1):
            before = dict(found)
            for head, count in counts.items():
                popped = max((before[after] for after in self.silent.popped[head]), default=0)
                found[head.state] = max(found[head.state], count + popped)
            if found == before:
                break
        else:
            return None  # a way round that pushes
        reading = [head for head, moves in self.silent.moves.items() if not moves]
        targets = {target for head in reading for target, _ in moves_at(self.machine, head)}
        return max(found[state] for state in {self.machine.start, *targets})

    def _pushes_at_heads(self) -> dict[Head, int]:
        """The pushing silent moves from each head that has silent moves, until its symbol is popped or they stop."""
        moves = {head: moves[0] for head, moves in self.silent.moves.items() if moves}
        after = {
            head: [above.head for above in _come_up(self.silent.popped, *lead)[0]]
            for head, lead in moves.items()
        }
        own = {
            head: int(_count(symbols) > (head.top is not None))
            for head, (_, symbols) in moves.items()
        }
        counts = dict.fromkeys(moves, 0)
        changed = True
        while changed:  # as often as the longest chain of heads has members: silent moves end
            changed = False
            for head in counts:
                count = own[head] + sum(counts.get(one, 0) for one in after[head])
                if count > counts[head]:
                    counts[head], changed = count, True
        return counts
