"""Warnings about a machine: what is allowed but is usually a mistake (unreachable states, undefined cases, idle rules)."""

from __future__ import annotations

from collections.abc import Iterator

from pdrm.errors import Finding, TooManyCases
from pdrm.machines.guards import Silent, events_of
from pdrm.machines.pushdown_analysis import Head, applicable, reachable_heads
from pdrm.machines.transitions import ANY, NONE
from pdrm.machines.wellformed import PushdownSystem
from pdrm.machines.zero_patterns import (
    Case,
    CountingMachine,
    applicable_rules,
    pattern_text,
    reachable_cases,
    unread,
)

# --- Warnings about a machine: what is allowed but more often a mistake (unreachable states, undefined cases, idle rules).


def findings(machine: PushdownSystem) -> list[Finding]:
    """Every warning, in the order of the codes."""
    try:
        heads = reachable_heads(machine)
        return [
            *_unreachable_states(machine, heads),
            *_undefined_cases(machine, heads),
            *_idle_rules(machine, heads),
            *_unused_names(machine),
        ]
    except TooManyCases as error:
        return [Finding("W0602", f"the undefined cases are not listed: {error.message}")]


def _unreachable_states(machine: PushdownSystem, heads: set[Head]) -> Iterator[Finding]:
    reached = {head.state for head in heads}
    for state in (*machine.states, *machine.final):
        if state not in reached:
            kind = "final state" if state in machine.final else "state"
            yield Finding("W0601", f"{kind} `{state}` cannot be reached by any word")


def _undefined_cases(machine: PushdownSystem, heads: set[Head]) -> Iterator[Finding]:
    """The labels that fall to `otherwise`, one finding a state and set of labels, listing its tops."""
    tops: dict[tuple[str, str], list[str]] = {}
    for state in machine.states:
        for top in (*machine.stack, None):
            head = Head(state, top)
            rules = applicable(machine, head) if head in heads else []
            if head not in heads or any(rule.silent for rule in rules):
                continue
            left = machine.alphabet.uncovered(rule.guard for rule in rules)
            if left:
                tops.setdefault((state, machine.alphabet.described(left)), []).append("(empty)" if top is None else top)
    for (state, labels), symbols in tops.items():
        yield Finding(
            "W0602",
            f"in state `{state}` with top {' or '.join(symbols)}, no rule reads {labels}: `otherwise {machine.otherwise}`",
        )


def _idle_rules(machine: PushdownSystem, heads: set[Head]) -> Iterator[Finding]:
    used = {id(rule) for head in heads for rule in applicable(machine, head)}
    reached = {head.state for head in heads}
    for rule in machine.transitions:
        if not rule.silent and not machine.alphabet.cubes(rule.guard):
            yield Finding("W0603", f"no label fits `{rule.guard}`, so this rule never applies: {rule}", rule.where)
        elif id(rule) not in used and rule.source in reached:
            yield Finding(
                "W0603", f"its top of stack never occurs in that state, or other rules beat it: {rule}", rule.where
            )


def _unused_names(machine: PushdownSystem) -> Iterator[Finding]:
    read = frozenset[str]().union(*(events_of(rule.guard) for rule in machine.transitions))
    for event in machine.events:
        if event not in read:
            yield Finding("W0604", f"event `{event}` is declared but no rule mentions it")
    mentioned = {symbol for rule in machine.transitions for symbol in (rule.top, *rule.push)} - {ANY, NONE}
    for symbol in machine.stack[1:]:
        if symbol not in mentioned:
            yield Finding("W0604", f"stack symbol `{symbol}` is declared but no rule mentions it")


# --- Warnings about reward machines and counting automata, found on zero patterns as `findings` does on tops of stack.


def pattern_findings(machine: CountingMachine) -> list[Finding]:
    """Every warning, in the order of the codes."""
    try:
        cases = reachable_cases(machine)
        return [*_unreachable(machine, cases), *_undefined(machine, cases), *_idle(machine, cases), *_unused(machine)]
    except TooManyCases as error:
        return [Finding("W0602", f"the undefined cases are not listed: {error.message}")]


def _unreachable(machine: CountingMachine, cases: set[Case]) -> Iterator[Finding]:
    reached = {case.state for case in cases}
    for state in (*machine.states, *machine.final):
        if state not in reached:
            kind = "final state" if state in machine.final else "state"
            yield Finding("W0601", f"{kind} `{state}` cannot be reached by any word")


def _undefined(machine: CountingMachine, cases: set[Case]) -> Iterator[Finding]:
    patterns: dict[tuple[str, str], list[str]] = {}
    order = {state: place for place, state in enumerate(machine.states)}
    for case in sorted(cases, key=lambda case: (order.get(case.state, 0), case.zeros)):
        labels = unread(machine, case, applicable_rules(machine, case))
        if labels:
            patterns.setdefault((case.state, labels), []).append(pattern_text(case.zeros))
    for (state, labels), zeros in patterns.items():
        place = f" with counters {' or '.join(zeros)}" if machine.counters else ""
        yield Finding("W0602", f"in state `{state}`{place}, no rule reads {labels}: `otherwise {machine.otherwise}`")


def _idle(machine: CountingMachine, cases: set[Case]) -> Iterator[Finding]:
    used = {id(rule) for case in cases for rule in applicable_rules(machine, case)}
    reached = {case.state for case in cases}
    for rule in machine.transitions:
        if not isinstance(rule.guard, Silent) and not machine.alphabet.cubes(rule.guard):
            yield Finding("W0603", f"no label fits `{rule.guard}`, so this rule never applies: {rule}", rule.where)
        elif id(rule) not in used and rule.source in reached:
            yield Finding("W0603", f"its counter tests never hold in that state: {rule}", rule.where)


def _unused(machine: CountingMachine) -> Iterator[Finding]:
    read = frozenset[str]().union(*(events_of(rule.guard) for rule in machine.transitions))
    for event in machine.events:
        if event not in read:
            yield Finding("W0604", f"event `{event}` is declared but no rule mentions it")
