"""Warnings about a machine: what is allowed but is more often a mistake.

All kinds of machine are warned of unreachable states, undefined cases, idle rules, unused names and rewards of 0; pushdown machines
also of symbols that get lost, of dead ends, and of loops that pay (`paying_loops`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, product
from typing import TypeVar

from pdrm.errors import Finding, TooLarge, TooManyCases
from pdrm.machines.configurations import HasState
from pdrm.machines.guards import events_of
from pdrm.machines.labels import LabelSets
from pdrm.machines.machine import Machine, labels_left
from pdrm.machines.paying_loops import find_paying_loops
from pdrm.machines.reach import Head, PushdownSystem, reachable_heads, rules_at
from pdrm.machines.transitions import ANY, Rule, Transition, number_text

S = TypeVar("S", bound=HasState)
R = TypeVar("R", bound=Rule)

# --- All kinds of machine


def inspect(
    machine: Machine[R],
    sets: LabelSets,
    rules: Mapping[S, list[R]],
    describe: Callable[[list[S]], str],
    idle: str,
) -> list[Finding]:
    """The warnings that all machines share.

    Args:
        machine: The machine.
        sets: The sets of its labels.
        rules: The rules that apply in each situation that occurs.
        describe: Says what several situations of a state have in common.
        idle: The reason for which a rule never applies.
    """
    return [
        *_find_unreachable_states(machine, rules),
        *_find_undefined_cases(machine, sets, rules, describe),
        *_find_idle_rules(machine, sets, rules, idle),
        *_find_unused_events(machine),
    ]


def give_up(machine: Machine[Rule], error: TooLarge | TooManyCases) -> list[Finding]:
    """The warnings about a machine with too many cases."""
    said = f"the undefined cases are not listed: {error.message}"
    return [Finding("W0602", said), *find_no_pay(machine)]


def find_no_pay(machine: Machine[R]) -> Iterator[Finding]:
    """A machine that pays 0 whatever happens."""
    if machine.transitions and not (
        machine.otherwise.reward or any(rule.reward for rule in machine.transitions)
    ):
        said = f"machine `{machine.name}` pays 0 for every step"
        yield Finding("W0612", f"{said}: there is nothing to learn, unless the environment pays")


def _find_unreachable_states(machine: Machine[R], rules: Mapping[S, list[R]]) -> Iterator[Finding]:
    reached = {situation.state for situation in rules}
    for state in (*machine.states, *machine.final):
        if state not in reached:
            kind = "final state" if state in machine.final else "state"
            yield Finding("W0601", f"{kind} `{state}` cannot be reached by any word")


def _find_undefined_cases(
    machine: Machine[R],
    sets: LabelSets,
    rules: Mapping[S, list[R]],
    describe: Callable[[list[S]], str],
) -> Iterator[Finding]:
    """The labels that fall to `otherwise`: one warning for all states in which they are the same."""
    undefined: dict[tuple[str, str], list[S]] = {}
    for situation, applying in rules.items():
        left = labels_left(machine, sets, situation.state, applying)
        if left:
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
        if any(situation.state in machine.final for situation in rules):
            wrong = ": waiting may pay more than ending; pay for the step that ends the task, and"
        text = f"`otherwise {otherwise}` {said}{wrong} `otherwise stay 0` or less"
        yield Finding("W0606", text, otherwise.where)


def _find_idle_rules(
    machine: Machine[R], sets: LabelSets, rules: Mapping[S, list[R]], idle: str
) -> Iterator[Finding]:
    reached = {situation.state for situation in rules}
    used = {id(rule) for applying in rules.values() for rule in applying}
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


# --- Pushdown machines

Applying = Mapping[Head, list[Transition]]
"""The rules that apply at each head that occurs."""


def inspect_pushdown(machine: PushdownSystem) -> list[Finding]:
    """Every warning: first of symbols that are lost, which often explain the others, then in the order of the codes."""
    sets = LabelSets(machine.alphabet)

    def describe(heads: list[Head]) -> str:
        if machine.leaves_stack:
            return ""
        return f" with top {' or '.join('(empty)' if head.top is None else head.top for head in heads)}"

    try:
        reached = reachable_heads(machine)
        pairs = product((*machine.states, *machine.final), (*machine.stack, None))
        rules = {
            head: rules_at(machine, sets, head)
            for head in map(Head._make, pairs)
            if head in reached
        }
        idle = "its top of stack never occurs in that state, or other rules beat it"
        shared = inspect(machine, sets, rules, describe, idle)
    except (TooLarge, TooManyCases) as error:
        return give_up(machine, error)
    return [
        *_find_misplaced_bottom(machine, rules),
        *_find_dead_ends(machine, rules),
        *shared,
        *_find_unused_symbols(machine),
        *find_paying_loops(machine, sets, rules),
        *find_no_pay(machine),
    ]


def _find_misplaced_bottom(machine: PushdownSystem, rules: Applying) -> Iterator[Finding]:
    """Rules that read the bottom symbol and were probably meant to push, as `z / A z` does.

    `z / A` takes the bottom symbol away, and others look for it later; a machine that pushes it again may do so on purpose.
    `z / z A` puts A below the bottom symbol, where only a machine that takes the bottom symbol off by name may look for it.
    """
    bottom = machine.stack[0]
    pushed_again = any(bottom in rule.push and rule.top != bottom for rule in machine.transitions)
    taken_off = any(rule.top == bottom and bottom not in rule.push for rule in machine.transitions)
    at_bottom = chain(*(applying for head, applying in rules.items() if head.top == bottom))
    for rule in dict.fromkeys(at_bottom):
        pushed = rule.replacement(bottom)
        if bottom in pushed and pushed[-1] != bottom and not taken_off:
            kept = ANY if ANY in rule.push else bottom
            others = [symbol for symbol in rule.push if symbol != kept]
            said = f"`{rule}` puts {' '.join(others)} below the bottom symbol {bottom}, where it is never seen"
            fix = f"the new top stands leftmost: to push, write {' '.join((*others, kept))} after the slash"
            yield Finding("W0614", f"{said}; {fix}", rule.where)
        if rule.top == ANY and rule.push and ANY not in rule.push and not pushed_again:
            later = _list_later(machine, rule.target)
            for other in machine.transitions:
                if other.top == bottom and other.source in later:
                    said = f"`{rule}` takes the bottom symbol {bottom} away, for which `{other}` looks later"
                    fix = f"to push, write {' '.join((*rule.push, ANY))} after the slash"
                    yield Finding("W0613", f"{said}; {fix}", rule.where)
                    break


def _list_later(machine: PushdownSystem, state: str) -> set[str]:
    """The states to which rules may lead from a state, itself among them."""
    seen = {state}
    todo = [state]
    while todo:
        here = todo.pop()
        after = {rule.target for rule in machine.rules_from(here)}
        if machine.otherwise.target is not None and here not in machine.final:
            after.add(machine.otherwise.target)
        todo += after - seen
        seen |= after
    return seen


def _find_dead_ends(machine: PushdownSystem, rules: Applying) -> Iterator[Finding]:
    """States in which the stack can be empty and no rule applies without a symbol, so that `otherwise stay` keeps the machine
    there for ever. A state that no rule leaves at all is meant to be a dead end."""
    if machine.otherwise.action != "stay":
        return
    for head, applying in rules.items():
        meant = head.state in machine.final or not machine.rules_from(head.state)
        if head.top is not None or applying or meant:
            continue
        pops = [
            rule
            for other, found in rules.items()
            for rule in found
            if other.top and rule.target == head.state and not rule.replacement(other.top)
        ]
        pops.sort(key=lambda rule: rule.top not in (ANY, machine.stack[0]))
        last = pops[0] if pops else None
        how = f" after `{last}`" if last is not None else ""
        said = f"in state `{head.state}`{how} the stack can be empty, and no rule applies there without a symbol"
        fix = f"keep the bottom symbol {machine.stack[0]} on the stack, or let that rule lead to a final state"
        stays = f"`otherwise {machine.otherwise}` keeps it there for ever"
        yield Finding("W0615", f"{said}: {stays}; {fix}", None if last is None else last.where)


def _find_unused_symbols(machine: PushdownSystem) -> Iterator[Finding]:
    mentioned = {symbol for rule in machine.transitions for symbol in (rule.top, *rule.push)}
    for symbol in machine.stack[1:]:
        if symbol not in mentioned:
            yield Finding("W0604", f"stack symbol `{symbol}` is declared but no rule mentions it")
