"""Warnings about a machine: what is allowed but is more often a mistake (unreachable states, undefined cases, idle rules)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from pdrm.errors import Finding, TooManyCases
from pdrm.machines.guards import events_of
from pdrm.machines.pushdown_analysis import Head, PushdownSystem, reachable_heads, rules_at
from pdrm.machines.transitions import Rule
from pdrm.machines.wellformed import Machine, labels_left
from pdrm.machines.zero_patterns import Case, CountingMachine, CountingRule, pattern_text, reachable_cases, rules_in

S = TypeVar("S", Head, Case)
"""A situation: a state and what rules look at there."""
R = TypeVar("R", bound=Rule)


def inspect_pushdown(machine: PushdownSystem) -> list[Finding]:
    """Every warning, in the order of the codes."""

    def describe(heads: list[Head]) -> str:
        return f" with top {' or '.join('(empty)' if head.top is None else head.top for head in heads)}"

    try:
        reached = reachable_heads(machine)
        heads = [Head(state, top) for state in (*machine.states, *machine.final) for top in (*machine.stack, None)]
        rules = {head: rules_at(machine, head) for head in heads if head in reached}
        idle = "its top of stack never occurs in that state, or other rules beat it"
        mentioned = {symbol for rule in machine.transitions for symbol in (rule.top, *rule.push)}
        unused = [symbol for symbol in machine.stack[1:] if symbol not in mentioned]
        return [
            *_inspect(machine, rules, describe, idle),
            *(Finding("W0604", f"stack symbol `{symbol}` is declared but no rule mentions it") for symbol in unused),
        ]
    except TooManyCases as error:
        return _give_up(error)


def inspect_counting(machine: CountingMachine[CountingRule]) -> list[Finding]:
    """Every warning about a counting automaton, or about a reward machine as one without counters."""

    def describe(cases: list[Case]) -> str:
        return f" with counters {' or '.join(pattern_text(case.zeros) for case in cases)}" if machine.counters else ""

    try:
        states = (*machine.states, *machine.final)
        cases = sorted(reachable_cases(machine), key=lambda case: (states.index(case.state), case.zeros))
        rules = {case: rules_in(machine, case) for case in cases}
        return list(_inspect(machine, rules, describe, "its counter tests never hold in that state"))
    except TooManyCases as error:
        return _give_up(error)


def _give_up(error: TooManyCases) -> list[Finding]:
    return [Finding("W0602", f"the undefined cases are not listed: {error.message}")]


def _inspect(
    machine: Machine[R], rules: dict[S, list[R]], describe: Callable[[list[S]], str], idle: str
) -> Iterator[Finding]:
    """The warnings that all machines share, given the rules that apply in each situation that occurs."""
    reached = {situation.state for situation in rules}
    for state in (*machine.states, *machine.final):
        if state not in reached:
            kind = "final state" if state in machine.final else "state"
            yield Finding("W0601", f"{kind} `{state}` cannot be reached by any word")
    yield from _find_undefined_cases(machine, rules, describe)
    used = {id(rule) for applying in rules.values() for rule in applying}
    for rule in machine.transitions:
        if not rule.silent and not machine.alphabet.cubes(rule.guard):
            yield Finding("W0603", f"no label fits `{rule.guard}`, so this rule never applies: {rule}", rule.where)
        elif id(rule) not in used and rule.source in reached:
            yield Finding("W0603", f"{idle}: {rule}", rule.where)
    mentioned = frozenset[str]().union(*(events_of(rule.guard) for rule in machine.transitions))
    for event in machine.events:
        if event not in mentioned:
            yield Finding("W0604", f"event `{event}` is declared but no rule mentions it")


def _find_undefined_cases(
    machine: Machine[R], rules: dict[S, list[R]], describe: Callable[[list[S]], str]
) -> Iterator[Finding]:
    """The labels that fall to `otherwise`: one warning per state and set of labels."""
    undefined: dict[tuple[str, str], list[S]] = {}
    for situation, applying in rules.items():
        left = labels_left(machine, situation.state, applying)
        if left:
            undefined.setdefault((situation.state, machine.alphabet.describe(left)), []).append(situation)
    for (state, labels), several in undefined.items():
        place = f"in state `{state}`{describe(several)}"
        yield Finding("W0602", f"{place}, no rule reads {labels}: `otherwise {machine.otherwise}`")
