"""Warnings about a machine: what is allowed but is more often a mistake.

All kinds of machine are warned of unreachable states, undefined cases, idle rules, unused names and rewards of 0; pushdown machines
also of symbols that get lost, of dead ends, and of loops that pay (`paying_loops`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from pdrm.errors import Finding, TooLarge, TooManyCases
from pdrm.machines.configurations import HasState
from pdrm.machines.guards import events_of
from pdrm.machines.heads import Head, PushdownRules, all_heads, reachable_heads, readings_at
from pdrm.machines.labels import LabelSet, LabelSets
from pdrm.machines.machine import Machine
from pdrm.machines.paying_loops import find_paying_loops
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import ANY, Otherwise, Rule, Transition, number_text

S = TypeVar("S", bound=HasState)
R = TypeVar("R", bound=Rule)
Readings = Mapping[S, Sequence[tuple[Rule | Otherwise, LabelSet]]]
"""The rules that apply in each situation that occurs, and their labels."""

# --- All kinds of machine


def inspect(
    machine: Machine[R],
    find_readings: Callable[[LabelSets], Readings[S]],
    describe: Callable[[list[S]], str],
    idle: str,
    find_more: Callable[[LabelSets, Readings[S]], Iterable[Finding]] = lambda *_: (),
) -> list[Finding]:
    """Every warning about a machine.

    Args:
        machine: The machine.
        find_readings: Finds the rules that apply in each situation that occurs, and their labels.
        describe: Says what several situations of a state have in common.
        idle: The reason for which a rule never applies.
        find_more: Finds what only this kind of machine is warned of; it comes first, because it often explains the others.
    """
    sets = LabelSets(machine.alphabet)
    try:
        readings = find_readings(sets)
        return [
            *find_more(sets, readings),
            *_find_unreachable_states(machine, readings),
            *_find_undefined_cases(machine, sets, readings, describe),
            *_find_idle_rules(machine, sets, readings, idle),
            *_find_unused_events(machine),
            *_find_no_pay(machine),
        ]
    except (TooLarge, TooManyCases) as error:
        said = f"the undefined cases are not listed: {error.message}"
        return [Finding("W0602", said), *_find_no_pay(machine)]


def _find_unreachable_states(machine: Machine[R], readings: Readings[S]) -> Iterator[Finding]:
    reached = {situation.state for situation in readings}
    for state in (*machine.states, *machine.final):
        if state not in reached:
            kind = "final state" if state in machine.final else "state"
            yield Finding("W0601", f"{kind} `{state}` cannot be reached by any word")


def _find_undefined_cases(
    machine: Machine[R],
    sets: LabelSets,
    readings: Readings[S],
    describe: Callable[[list[S]], str],
) -> Iterator[Finding]:
    """The labels that fall to `otherwise`: one warning for all states in which they are the same."""
    undefined: dict[tuple[str, str], list[S]] = {}
    for situation, applying in readings.items():
        for rule, left in applying:
            if rule is machine.otherwise:
                labels = "no rule applies" if left == sets.all else f"no rule reads {left}"
                undefined.setdefault((situation.state, labels), []).append(situation)
    alike: dict[str, list[str]] = {}
    for (state, labels), several in undefined.items():
        alike.setdefault(f"{describe(several)}, {labels}", []).append(f"`{state}`")
    otherwise = machine.otherwise
    for case, states in alike.items():
        named = f"state{'s' * (len(states) > 1)} {', '.join(states)}"
        yield Finding("W0602", f"in {named}{case}: `otherwise {otherwise}`")
    if undefined and machine.final and otherwise.action == "stay" and otherwise.reward > 0:
        said = f"pays {number_text(otherwise.reward)} for every step in which no rule applies"
        wrong = "; write"
        if any(situation.state in machine.final for situation in readings):
            wrong = ": waiting may pay more than ending; pay for the step that ends the task, and"
        text = f"`otherwise {otherwise}` {said}{wrong} `otherwise stay 0` or less"
        yield Finding("W0606", text, otherwise.where)


def _find_idle_rules(
    machine: Machine[R], sets: LabelSets, readings: Readings[S], idle: str
) -> Iterator[Finding]:
    reached = {situation.state for situation in readings}
    used = {id(rule) for applying in readings.values() for rule, _ in applying}
    for rule in machine.transitions:
        never = not rule.silent and not sets.satisfiable(rule.guard)
        if never or (id(rule) not in used and rule.source in reached):
            why = f"no label fits `{rule.guard}`, so this rule never applies" if never else idle
            yield Finding("W0603", f"{why}: {machine.rule_text(rule)}", rule.where)


def _find_unused_events(machine: Machine[R]) -> Iterator[Finding]:
    mentioned = frozenset[str]().union(*(events_of(rule.guard) for rule in machine.transitions))
    for event in machine.events:
        if event not in mentioned:
            why = "a comment starts with `//`" if event.startswith("#") else "a domain may emit it"
            said = f"event `{event}` is declared but no rule mentions it ({why})"
            yield Finding("W0604", said)


def _find_no_pay(machine: Machine[R]) -> Iterator[Finding]:
    """A machine that pays 0 whatever happens."""
    paying = machine.otherwise.reward or any(rule.reward for rule in machine.transitions)
    if machine.transitions and not paying:
        said = f"machine `{machine.name}` pays 0 for every step"
        yield Finding("W0612", f"{said}: there is nothing to learn, unless the environment pays")


# --- Pushdown machines


def inspect_pushdown(machine: PushdownRules) -> list[Finding]:
    """Every warning about a pushdown machine."""

    def find_readings(sets: LabelSets) -> Readings[Head]:
        reached = reachable_heads(machine)
        heads = [head for head in all_heads(machine) if head in reached]
        return {head: readings_at(machine, sets, head) for head in heads}

    def find_more(sets: LabelSets, readings: Readings[Head]) -> Iterator[Finding]:
        yield from _find_misplaced_bottom(machine, readings)
        yield from _find_dead_ends(machine, readings)
        yield from _find_unused_symbols(machine)
        yield from find_paying_loops(machine, readings)

    def describe(heads: list[Head]) -> str:
        if machine.leaves_stack:
            return ""
        return f" with top {' or '.join(head.top or '(empty)' for head in heads)}"

    idle = "its top of stack never occurs in that state, or other rules beat it"
    return inspect(machine, find_readings, describe, idle, find_more)


def _find_misplaced_bottom(machine: PushdownRules, readings: Readings[Head]) -> Iterator[Finding]:
    """Rules that read the bottom symbol and were probably meant to push, as `z / A z` does.

    `z / A` takes the bottom symbol away, and others look for it later; a machine that pushes it again may do so on purpose.
    `z / z A` puts A below the bottom symbol, where only a machine that takes the bottom symbol off by name may look for it.
    """
    bottom = machine.stack[0]
    pushed_again = any(bottom in rule.push and rule.top != bottom for rule in machine.transitions)
    taken_off = any(rule.top == bottom and bottom not in rule.push for rule in machine.transitions)
    at_bottom = [
        rule for head, found in readings.items() if head.top == bottom for rule, _ in found
    ]
    for rule in dict.fromkeys(at_bottom):
        if not isinstance(rule, Transition):
            continue
        pushed = rule.replacement(bottom)
        if bottom in pushed and pushed[-1] != bottom and not taken_off:
            kept = ANY if ANY in rule.push else bottom
            others = [symbol for symbol in rule.push if symbol != kept]
            said = f"`{rule}` puts {' '.join(others)} below the bottom symbol {bottom}, where it is never seen"
            fix = f"the new top stands leftmost: to push, write {' '.join((*others, kept))} after the slash"
            yield Finding("W0614", f"{said}; {fix}", rule.where)
        if rule.top == ANY and rule.push and ANY not in rule.push and not pushed_again:
            later = _list_later(machine, rule.target)
            looks = [
                one for one in machine.transitions if one.top == bottom and one.source in later
            ]
            if looks:
                said = f"`{rule}` takes the bottom symbol {bottom} away, for which `{looks[0]}` looks later"
                fix = f"to push, write {' '.join((*rule.push, ANY))} after the slash"
                yield Finding("W0613", f"{said}; {fix}", rule.where)


def _list_later(machine: PushdownRules, state: str) -> set[str]:
    """The states to which rules may lead from a state, itself among them."""

    def moves(head: tuple[str, str]) -> list[tuple[str, tuple[str, ...]]]:
        targets = [rule.target for rule in machine.rules_from(head[0])]
        if machine.otherwise.target is not None and head[0] not in machine.final:
            targets.append(machine.otherwise.target)
        return [(target, ("",)) for target in targets]

    return {later for later, _ in saturate(moves, [(state, ("",))])}


def _find_dead_ends(machine: PushdownRules, readings: Readings[Head]) -> Iterator[Finding]:
    """States in which the stack can be empty and no rule applies without a symbol, so that `otherwise stay` keeps the machine
    there for ever. A state that no rule leaves at all is meant to be a dead end."""
    if machine.otherwise.action != "stay":
        return
    for head, applying in readings.items():
        only_otherwise = [rule for rule, _ in applying] == [machine.otherwise]
        if head.top is not None or not only_otherwise or not machine.rules_from(head.state):
            continue
        pops = [
            rule
            for other, found in readings.items()
            for rule, _ in found
            if isinstance(rule, Transition)
            and other.top
            and rule.target == head.state
            and not rule.replacement(other.top)
        ]
        last = min(pops, key=lambda rule: rule.top not in (ANY, machine.stack[0]), default=None)
        how = f" after `{last}`" if last is not None else ""
        said = f"in state `{head.state}`{how} the stack can be empty, and no rule applies there without a symbol"
        fix = f"keep the bottom symbol {machine.stack[0]} on the stack, or let that rule lead to a final state"
        stays = f"`otherwise {machine.otherwise}` keeps it there for ever"
        yield Finding("W0615", f"{said}: {stays}; {fix}", None if last is None else last.where)


def _find_unused_symbols(machine: PushdownRules) -> Iterator[Finding]:
    mentioned = {symbol for rule in machine.transitions for symbol in (rule.top, *rule.push)}
    for symbol in machine.stack[1:]:
        if symbol not in mentioned:
            yield Finding("W0604", f"stack symbol `{symbol}` is declared but no rule mentions it")
