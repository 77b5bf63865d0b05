"""How deep one step looks into the stack: the most symbols of the old stack that reading one label can pop.

Two stacks that agree on that many symbols, and on what a k-policy sees beyond them, give it the same experience (so only
one of them is needed as a counterfactual).
"""

from __future__ import annotations

from collections.abc import Iterator

from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.silent import Head, Outcome, outcomes


def pops_in_a_step(machine: PushdownRewardMachine) -> int | None:
    """The most symbols popped off the old stack by one label and its silent moves; None if there is no bound.

    >>> from pdrm.machines.catalogue import catalogue
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


def symbols_that_matter(machine: PushdownRewardMachine, k: int, steps: int = 1) -> int | None:
    """How many symbols of a stack decide what a k-policy meets in so many steps: those that they can pop, and below them the
    k it sees, or the one that the machine looks at; None if there is no bound.

    >>> from pdrm.machines.catalogue import catalogue
    >>> [symbols_that_matter(catalogue("paint"), k) for k in (0, 1, 2)]
    [6, 6, 7]
    """
    pops = pops_in_a_step(machine)
    return None if pops is None else steps * pops + max(k, 1)


def _after_the_label(machine: PushdownRewardMachine, ends: dict[Head, Outcome]) -> Iterator[tuple[str | None, int]]:
    """For each way to read a label: the state in which silent moves go on to the old stack, or None if they do not, and
    how many of its symbols are popped by then."""
    if machine.otherwise.target is not None:
        yield machine.otherwise.target, 0
    for rule in (rule for rule in machine.transitions if not rule.silent):
        for top in (symbol for symbol in machine.stack if rule.looks_at(symbol)):
            pushed = rule.pushed(top)
            kept = pushed[-1:] == (top,)
            yield _consumed(ends, rule.target, pushed[:-1] if kept else pushed), int(not kept)


def _popping(machine: PushdownRewardMachine, ends: dict[Head, Outcome], state: str) -> set[str]:
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
