"""What holds of a pushdown machine on every word, found exactly although the stack is unbounded.

Where silent moves end, which heads (state, top symbol) can be reached, how many symbols one step can pop, how high the stack
can get within n labels, and how fast it grows (the m and e of Section 5). All five rest on one fact: from a head, silent moves
are deterministic, and what they do until that symbol is gone depends on the head alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from pdrm.errors import EndlessSilentMoves
from pdrm.machines.alphabet import Cube
from pdrm.machines.transitions import ANY, Transition
from pdrm.machines.wellformed import PushdownSystem

# --- Endless silent moves, decided exactly.
#
# From a head (state, top symbol) silent moves are deterministic, and what happens until that symbol is gone depends on the
# head alone: it is popped in some state, or the moves stop above it, or they never end. The outcome of a head is that of the
# symbols its rule pushes, one after the other; a head that comes up again before its own outcome is known repeats for ever,
# with the stack grown, shrunk and regrown, or kept. The empty stack counts as one more symbol, which is never popped.

MOST_SHOWN = 6
"""Silent moves printed in a message."""

MOST_SEARCHED = 100
"""Silent moves followed to find where they repeat."""


class Head(NamedTuple):
    """A state and a top symbol (None: the empty stack)."""

    state: str
    top: str | None


class Stops(Enum):
    """How the silent moves of a head can end, other than by popping its symbol in some state."""

    ABOVE = "no silent rule applies, or a final state is reached, before the symbol is popped"
    NEVER = "the silent moves go on for ever"


Outcome = str | Stops
"""The state in which the head's symbol is popped, or how else its silent moves end."""


def endless_silent_moves(machine: PushdownSystem) -> list[EndlessSilentMoves]:
    """The shortest example of silent moves that never end, if there is one."""
    if not any(rule.silent for rule in machine.transitions):
        return []
    endless = [head for head, outcome in outcomes(machine).items() if outcome is Stops.NEVER]
    if not endless:
        return []
    # Moves on the empty stack look at no symbol: they are as endless on top of one, and that is what is shown.
    head, moves = min(((head, _until_repeated(machine, head)) for head in endless), key=lambda pair: len(pair[1]))
    shown = "".join(f"\n    {rule}" for rule in moves[:MOST_SHOWN])
    more = f"\n    … ({len(moves)} moves before it repeats)" if len(moves) > MOST_SHOWN else ""
    return [
        EndlessSilentMoves(
            f"silent moves never end in state `{head.state}` with `{head.top}` on top:{shown}{more}",
            where=moves[0].where,
            fix="let one of these rules read a label, or lead to a state and top where no silent rule applies",
        )
    ]


def outcomes(machine: PushdownSystem) -> dict[Head, Outcome]:
    """The outcome of every head."""
    known: dict[Head, Outcome] = {}
    for state in machine.states:
        for top in (*machine.stack, None):
            _settle(machine, Head(state, top), known)
    return known


def _settle(machine: PushdownSystem, head: Head, known: dict[Head, Outcome]) -> None:
    """Find the outcome of one head. The heads that wait for another's outcome are kept in `waiting`, oldest first, each
    with the symbols of its own that are still to be popped, next one last."""
    waiting: dict[Head, list[str | None]] = {}
    while True:
        outcome = Stops.NEVER if head in waiting else known.get(head)
        if outcome is None:
            rule = machine.rule(head.state, None, head.top)
            if rule is not None:
                below: list[str | None] = [None] if head.top is None else []
                waiting[head] = [*below, *reversed(rule.pushed(head.top))]
            outcome = Stops.ABOVE if rule is None else rule.target
            if rule is None:
                known[head] = outcome
        while isinstance(outcome, str) and waiting and not waiting[last := next(reversed(waiting))]:
            known[last] = outcome
            del waiting[last]
        if isinstance(outcome, Stops) or not waiting:
            known.update(dict.fromkeys(waiting, outcome))
            return
        head = Head(outcome, waiting[last].pop())


def _until_repeated(machine: PushdownSystem, head: Head) -> list[Transition]:
    """The silent moves from an endless head, up to where an earlier head has come back with no symbol below it touched."""
    stack = [] if head.top is None else [head.top]
    state, moves = head.state, list[Transition]()
    seen: list[tuple[Head, int]] = []
    while len(moves) < MOST_SEARCHED:
        here = Head(state, stack[-1] if stack else None)
        seen = [(earlier, height) for earlier, height in seen if height <= len(stack)]
        if any(earlier == here for earlier, _ in seen):
            break
        seen.append((here, len(stack)))
        rule = machine.rule(state, None, here.top)
        if rule is None:
            break
        stack[-1:] = reversed(rule.pushed(here.top))
        state = rule.target
        moves.append(rule)
    return moves


# --- Which heads (state, top symbol) a machine can be in, over all words: exact, though the stack is unbounded.
#
# A pushed symbol is popped, sooner or later, in certain states; these depend on the state and the symbol alone. They are
# found as a least fixed point together with the heads themselves, starting from the initial state and symbol.

Pushed = tuple[str | None, ...]
"""Symbols on top of the stack, top first; None stands for the empty stack below them."""


def reachable_heads(machine: PushdownSystem) -> set[Head]:
    """Every head that some word leads to. Final states have heads too."""
    return _Exploration(machine).heads


class _Exploration:
    """The fixed point: `popped[head]` are the states in which that head's symbol may be gone."""

    def __init__(self, machine: PushdownSystem) -> None:
        self.machine = machine
        self.heads: set[Head] = set()
        self.popped: defaultdict[Head, set[str]] = defaultdict(set)
        self.waiting: defaultdict[Head, list[tuple[Pushed, Head | None]]] = defaultdict(list)
        self.todo: list[tuple[str, Pushed, Head | None]] = [(machine.start, (machine.stack[0], None), None)]
        while self.todo:
            self._place(*self.todo.pop())

    def _place(self, state: str, symbols: Pushed, owner: Head | None) -> None:
        """The machine is in `state` with `symbols` left of what `owner` was replaced by."""
        if not symbols:
            if owner is not None and state not in self.popped[owner]:
                self.popped[owner].add(state)
                self.todo += [(state, rest, waiter) for rest, waiter in self.waiting[owner]]
            return
        head, rest = Head(state, symbols[0]), symbols[1:]
        if (rest, owner) not in self.waiting[head]:
            self.waiting[head].append((rest, owner))
            self.todo += [(after, rest, owner) for after in self.popped[head]]
        if head not in self.heads:
            self.heads.add(head)
            self.todo += [(target, pushed, head) for target, pushed in moves_at(self.machine, head)]


def moves_at(machine: PushdownSystem, head: Head) -> list[tuple[str, Pushed]]:
    """Where each move at a head leads, and what takes the place of its symbol."""
    if head.state in machine.final:
        return []
    below: Pushed = (None,) if head.top is None else ()
    rules = applicable(machine, head)
    moves: list[tuple[str, Pushed]] = [(rule.target, (*rule.pushed(head.top), *below)) for rule in rules]
    silent = any(rule.silent for rule in rules)
    target = machine.otherwise.target
    if target is not None and not silent and machine.alphabet.uncovered(rule.guard for rule in rules):
        moves.append((target, (head.top,)))
    return moves


def applicable(machine: PushdownSystem, head: Head) -> list[Transition]:
    """The rules that apply at a head for some label, those with `z` left out where rules naming the top read all theirs."""
    rules = [rule for rule in machine.rules_from(head.state) if rule.looks_at(head.top)]
    silent = [rule for rule in rules if rule.silent]
    if silent:
        return [rule for rule in silent if rule.top != ANY] or silent
    named = [rule for rule in rules if rule.top != ANY]
    free = machine.alphabet.uncovered(rule.guard for rule in named)
    return [rule for rule in rules if _reads_some(machine, rule, free if rule.top == ANY else [Cube(0, 0)])]


def _reads_some(machine: PushdownSystem, rule: Transition, free: list[Cube]) -> bool:
    alphabet = machine.alphabet
    return any(alphabet.meet(cube, other) for cube in alphabet.cubes(rule.guard) for other in free)


# --- How deep one step looks into the stack: the most symbols of the old stack that reading one label can pop.
#
# Two stacks that agree on that many symbols, and on what a k-policy sees beyond them, give it the same experience (so only
# one of them is needed as a counterfactual).


def pops_in_a_step(machine: PushdownSystem) -> int | None:
    """The most symbols popped off the old stack by one label and its silent moves; None if there is no bound.

    >>> from pdrm.language.loading import catalogue
    >>> [pops_in_a_step(catalogue(name)) for name in ("letter", "treasure-maze", "paint")]
    [1, 1, 5]
    """
    ends = outcomes(machine)
    longest = _longest({state: _popping(machine, ends, state) for state in (*machine.states, *machine.final)})
    most = 0
    for state, popped in _after_the_label(machine, ends):
        below = 0 if state is None else longest[state]
        if below is None:
            return None
        most = max(most, popped + below)
    return most


def symbols_that_matter(machine: PushdownSystem, k: int, steps: int = 1) -> int | None:
    """How many symbols of a stack decide what a k-policy meets in so many steps: those that they can pop, and below them the
    k it sees, or the one that the machine looks at; None if there is no bound.

    >>> from pdrm.language.loading import catalogue
    >>> [symbols_that_matter(catalogue("paint"), k) for k in (0, 1, 2)]
    [6, 6, 7]
    """
    pops = pops_in_a_step(machine)
    return None if pops is None else steps * pops + max(k, 1)


def _after_the_label(machine: PushdownSystem, ends: dict[Head, Outcome]) -> Iterator[tuple[str | None, int]]:
    """For each way to read a label: the state in which silent moves go on to the old stack, or None if they do not, and
    how many of its symbols are popped by then."""
    if machine.otherwise.target is not None:
        yield machine.otherwise.target, 0
    for rule in (rule for rule in machine.transitions if not rule.silent):
        for top in (symbol for symbol in machine.stack if rule.looks_at(symbol)):
            pushed = rule.pushed(top)
            kept = pushed[-1:] == (top,)
            yield _consumed(ends, rule.target, pushed[:-1] if kept else pushed), int(not kept)


def _popping(machine: PushdownSystem, ends: dict[Head, Outcome], state: str) -> set[str]:
    """The states in which silent moves from `state` may have popped one symbol of the old stack."""
    found = (ends.get(Head(state, symbol)) for symbol in machine.stack)
    return {end for end in found if isinstance(end, str)}


def _consumed(ends: dict[Head, Outcome], state: str, pushed: tuple[str, ...]) -> str | None:
    """The state once silent moves have popped all that was pushed, or None if they stop before."""
    for symbol in pushed:
        end = ends.get(Head(state, symbol))
        if not isinstance(end, str):
            return None
        state = end
    return state


def _longest(popping: dict[str, set[str]]) -> dict[str, int | None]:
    """For each state the longest chain of silent pops from it; None if it can go round."""
    found: dict[str, int | None] = {}
    for first in popping:
        way = [first]
        while way:
            state = way[-1]
            afters = popping[state]
            ahead = next((after for after in afters if after not in found and after not in way), None)
            if ahead is not None:
                way.append(ahead)
                continue
            lengths = [found.get(after) for after in afters]
            found[state] = (
                None if None in lengths else max((1 + length for length in lengths if length is not None), default=0)
            )
            way.pop()
    return found


# --- How high a stack can get within so many labels: what a stack of fixed depth must have room for.
#
# A move replaces a head's symbol by others. So the height above a head within n labels is that of what the move pushes, or
# what stands below one of these symbols and the height above that one within n - 1 labels (n, if the move is silent). The
# labels that it takes to pop the symbols above that one are not counted: the height found may be too high, never too low.

Heights = dict[Head, int]


class Above(NamedTuple):
    """A head that a move may lead to, and how many symbols stand below its own."""

    head: Head
    below: int


def highest_stack(machine: PushdownSystem, labels: int, most: int) -> int:
    """The most symbols on the stack within so many labels, also between silent moves; `most` if they are that many or more.

    >>> from pdrm.language.loading import catalogue
    >>> [highest_stack(catalogue(name), 50, most=100) for name in ("letter", "deliver", "paint")]
    [51, 9, 6]
    """
    climb = _Climb(machine)
    heights = climb.settled({head: int(head.top is not None) for head in climb.moves}, most)
    for _ in range(labels):
        if climb.highest(heights) >= most:
            break
        after = climb.settled({head: climb.above(head, heights) for head in climb.moves}, most)
        if after == heights:
            break
        heights = after
    return min(most, climb.highest(heights))


class _Climb:
    """What the moves at every reachable head lead to, and the heights above heads within some number of labels."""

    def __init__(self, machine: PushdownSystem) -> None:
        moves = {head: dict.fromkeys(moves_at(machine, head)) for head in reachable_heads(machine)}
        popped = _popped(moves)
        self.start = _led_to(popped, machine.start, (machine.stack[0], None))[0]
        self.moves = {head: [above for move in moves[head] for above in _led_to(popped, *move)[0]] for head in moves}
        self.pushed = {head: max((_count(move[1]) for move in moves[head]), default=0) for head in moves}
        self.silent = [head for head in moves if machine.rule(head.state, None, head.top) is not None]

    def highest(self, heights: Heights) -> int:
        """From the start."""
        return max(above.below + heights[above.head] for above in self.start)

    def above(self, head: Head, heights: Heights) -> int:
        """The height above a head that one more move leads to."""
        found = [above.below + heights[above.head] for above in self.moves[head]]
        return max([heights[head], self.pushed[head], *found])

    def settled(self, heights: Heights, most: int) -> Heights:
        """The heights with all silent moves taken; they are not followed beyond `most`."""
        changed = True
        while changed:
            changed = False
            for head in self.silent:
                height = min(most, self.above(head, heights))
                if height > heights[head]:
                    heights[head], changed = height, True
        return heights


def _popped(moves: dict[Head, dict[tuple[str, Pushed], None]]) -> defaultdict[Head, set[str]]:
    """The states in which the symbol of each head may have gone."""
    popped: defaultdict[Head, set[str]] = defaultdict(set)
    changed = True
    while changed:
        changed = False
        for head, several in moves.items():
            found = set().union(*(_led_to(popped, *move)[1] for move in several))
            if head.top is not None and not found <= popped[head]:
                popped[head] |= found
                changed = True
    return popped


def _led_to(popped: defaultdict[Head, set[str]], state: str, symbols: Pushed) -> tuple[list[Above], set[str]]:
    """The heads that come up with these symbols on top in a state, and the states in which all of them may have gone."""
    states, below, found = {state}, _count(symbols), list[Above]()
    for symbol in symbols:
        below -= symbol is not None
        heads = [Head(one, symbol) for one in states]
        found += [Above(head, below) for head in heads]
        states = set().union(*(popped[head] for head in heads))
    return found, states


def _count(symbols: Pushed) -> int:
    return sum(symbol is not None for symbol in symbols)


# --- How fast a machine's stack grows: the m and e of Section 5, and the exact constants that its bounds leave out.
#
# The paper allows m symbols a transition and e pushing silent transitions a step, so m(e + 1) symbols a step. It forgets the
# symbols an episode begins with, and e need not exist: silent moves may push each time they have popped one more symbol. What
# one step can add always exists, though: silent moves from a head (state, top) end above its symbol, or pop it, in a way
# that depends on the head alone (see `machines/silent.py`).


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
    """e: the most silent transitions of one step that add symbols, over all stacks; None where there is no most."""
    begun: int
    """The height of the stack before the first label is read."""
    step: int
    """The most symbols that one label and its silent moves add, over all reachable heads."""

    def longest(self, labels: int) -> int:
        """The highest that a stack can be after so many labels."""
        return self.begun + labels * self.step


def stack_growth(machine: PushdownSystem) -> StackGrowth:
    """The constants of a machine."""
    silent = _SilentMoves(machine)
    added = max((_added(rule, top) for rule in machine.transitions for top in _tops(machine, rule)), default=0)
    begun = len(machine.begin().after.stack)
    return StackGrowth(len(machine.stack), max(0, added), silent.pushes(), begun, silent.step())


def _added(rule: Transition, top: str | None) -> int:
    """The symbols that a rule puts on the stack, less the one it looks at."""
    return len(rule.pushed(top)) - (top is not None)


def _tops(machine: PushdownSystem, rule: Transition) -> Iterator[str | None]:
    return (top for top in (*machine.stack, None) if rule.looks_at(top))


class _SilentMoves:
    """The silent moves of each head: how many symbols stand in its symbol's place when they stop, how often they push."""

    def __init__(self, machine: PushdownSystem) -> None:
        self.machine = machine
        self.ends = outcomes(machine)

    def popped(self, head: Head) -> str | None:
        """The state in which silent moves have popped the head's symbol, or None if they stop above it."""
        end = self.ends.get(head)
        return end if isinstance(end, str) else None

    def stop(self, state: str, symbols: Pushed) -> tuple[Head, Pushed] | str:
        """The head above which silent moves stop, and what is left below it; or the state once all are popped."""
        for place, symbol in enumerate(symbols):
            after = self.popped(Head(state, symbol))
            if after is None:
                return Head(state, symbol), symbols[place + 1 :]
            state = after
        return state

    def left(self, state: str, symbols: Pushed) -> int | str:
        """How many symbols stand in the place of these when silent moves stop; or the state once all are popped."""
        count = 0
        while not isinstance(found := self.stop(state, symbols), str):
            head, below = found
            count += sum(symbol is not None for symbol in below)
            rule = self.machine.rule(head.state, None, head.top)
            if rule is None:
                return count + (head.top is not None)
            state, symbols = rule.target, (*rule.pushed(head.top), *([None] if head.top is None else []))
        return found

    def step(self) -> int:
        """The most symbols that one label and its silent moves add."""
        below = self._growth_below()
        most = 0
        for head in reachable_heads(self.machine):
            if self.machine.rule(head.state, None, head.top) is None:
                for target, symbols in moves_at(self.machine, head):
                    left = self.left(target, symbols)
                    here = below[left] if isinstance(left, str) else left
                    most = max(most, here - (head.top is not None))
        return most

    def _growth_below(self) -> dict[str, int]:
        """For each state, the most that silent moves add to a stack of any symbols, or take from it at least."""
        states = (*self.machine.states, *self.machine.final)
        found = {state: self._left_above_empty(state) for state in states}
        changed = True
        while changed:
            changed = False
            for state in states:
                for symbol in self.machine.stack:
                    left = self.left(state, (symbol,))
                    growth = (found[left] if isinstance(left, str) else left) - 1
                    if growth > found[state]:
                        found[state], changed = growth, True
        return found

    def _left_above_empty(self, state: str) -> int:
        left = self.left(state, (None,))
        assert isinstance(left, int)  # noqa: S101 - the empty stack is never popped
        return left

    def pushes(self) -> int | None:
        """The most pushing silent moves in a row, over all stacks; None where there is no most."""
        machine = self.machine
        counts = self._pushes_at_heads()
        found = dict.fromkeys((*machine.states, *machine.final), 0)
        for _ in range(len(found) + 1):
            before = dict(found)
            for head, count in counts.items():
                after = self.popped(head)
                found[head.state] = max(found[head.state], count + (0 if after is None else before[after]))
            if found == before:
                break
        else:
            return None  # a way round that pushes
        heads = (Head(state, top) for state in machine.states for top in (*machine.stack, None))
        reading = {target for head in heads if head not in counts for target, _ in moves_at(machine, head)}
        return max(found[state] for state in {machine.start, *reading})

    def _pushes_at_heads(self) -> dict[Head, int]:
        """The pushing silent moves from each head that has silent moves, until its symbol is popped or they stop."""
        machine = self.machine
        heads = [Head(state, top) for state in machine.states for top in (*machine.stack, None)]
        rules = {head: rule for head in heads if (rule := machine.rule(head.state, None, head.top)) is not None}
        counts = dict.fromkeys(rules, 0)
        changed = True
        while changed:  # as often as the longest chain of heads has members: silent moves end
            changed = False
            for head, rule in rules.items():
                state: str | None = rule.target
                count = int(_added(rule, head.top) > 0)
                for symbol in (*rule.pushed(head.top), *([None] if head.top is None else [])):
                    if state is None:
                        break
                    count += counts.get(Head(state, symbol), 0)
                    state = self.popped(Head(state, symbol))
                if count > counts[head]:
                    counts[head], changed = count, True
        return counts
