"""Warnings about a machine: what is allowed but is more often a mistake.

All kinds of machine are warned of unreachable states, undefined cases, idle rules, unused names and rewards of 0; pushdown machines
also of symbols that get lost, of dead ends, and of loops that pay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from pdrm.errors import Finding, TooLarge, TooManyCases, Where
from pdrm.machines.guards import Label, events_of, word_text
from pdrm.machines.heads import (
    Head,
    PushdownRules,
    all_heads,
    explore_machine,
    replace_top,
    rules_at,
)
from pdrm.machines.labels import LabelSet
from pdrm.machines.machine import AnyKind
from pdrm.machines.transitions import (
    ANY,
    Configuration,
    Otherwise,
    Rule,
    RuleOrOtherwise,
    TopSymbols,
    Transition,
    number_text,
)

S = TypeVar("S", bound=tuple[str, Any])
RulesAt = Mapping[S, Sequence[tuple[Rule | Otherwise, LabelSet]]]
"""The rules that apply in each situation that occurs, and their labels."""

# --- All kinds of machine


def inspect(
    machine: AnyKind,
    find_readings: Callable[[], RulesAt[S]],
    describe: Callable[[list[S]], str],
    find_more: Callable[[RulesAt[S]], Iterable[Finding]] = lambda _: (),
) -> list[Finding]:
    """Every warning about a machine.

    Args:
        machine: The machine.
        find_readings: Finds the rules that apply in each situation that occurs, and their labels.
        describe: Says what several situations of a state have in common.
        find_more: Finds what only this kind of machine is warned of; it comes first, because it often explains the others.
    """
    events = frozenset[str]().union(*(events_of(rule.guard) for rule in machine.transitions))
    try:
        readings = find_readings()
        return [
            *find_more(readings),
            *_find_unreachable_states(machine, readings),
            *_find_undefined_cases(machine, readings, describe),
            *_find_idle_rules(machine, readings),
            *_find_unused("event", machine.events, events),
            *_find_no_pay(machine),
        ]
    except (TooLarge, TooManyCases) as error:
        said = f"the undefined cases are not listed: {error.message}"
        return [Finding("W0602", said), *_find_no_pay(machine)]


def _find_unreachable_states(machine: AnyKind, readings: RulesAt[S]) -> Iterator[Finding]:
    reached = {state for state, _ in readings}
    for state in (*machine.states, *machine.final):
        if state not in reached:
            yield Finding("W0601", f"state `{state}` cannot be reached by any word")


def _find_undefined_cases(
    machine: AnyKind, readings: RulesAt[S], describe: Callable[[list[S]], str]
) -> Iterator[Finding]:
    """The labels that fall to `otherwise`: one warning for all states in which they are the same."""
    undefined: dict[tuple[str, str], list[S]] = defaultdict(list)
    for situation, applying in readings.items():
        for rule, left in applying:
            if rule is machine.otherwise:
                labels = "no rule applies" if left == machine.sets.all else f"no rule reads {left}"
                undefined[situation[0], labels].append(situation)
    alike: dict[str, list[str]] = defaultdict(list)
    for (state, labels), several in undefined.items():
        alike[f"{describe(several)}, {labels}"].append(f"`{state}`")
    otherwise = machine.otherwise
    for case, states in alike.items():
        named = f"state{'s' * (len(states) > 1)} {', '.join(states)}"
        yield Finding("W0602", f"in {named}{case}: `otherwise {otherwise}`")
    if undefined and machine.final and otherwise.action == "stay" and otherwise.reward > 0:
        said = f"`otherwise {otherwise}` pays for every step in which no rule applies"
        fix = "pay for the step that ends the task, and write `otherwise stay 0` or less"
        yield Finding("W0606", f"{said}: waiting may pay more than ending; {fix}", otherwise.where)


def _find_idle_rules(machine: AnyKind, readings: RulesAt[S]) -> Iterator[Finding]:
    reached = {state for state, _ in readings}
    used = {id(rule) for applying in readings.values() for rule, _ in applying}
    for rule in machine.transitions:
        if id(rule) in used:
            continue
        never = not rule.silent and not machine.sets.labels_of(rule.guard)
        if never or rule.source in reached:
            why = (
                "no label fits, what it looks at never occurs in that state, or other rules beat it"
            )
            said = f"the rule {machine.rule_text(rule)} never applies: {why}"
            yield Finding("W0603", said, rule.where)


def _find_unused(kind: str, names: Iterable[str], used: Collection[str]) -> Iterator[Finding]:
    for name in names:
        if name not in used:
            yield Finding("W0604", f"{kind} `{name}` is declared but no rule mentions it")


def _find_no_pay(machine: AnyKind) -> Iterator[Finding]:
    """A machine that pays 0 whatever happens."""
    paying = machine.otherwise.reward or any(rule.reward for rule in machine.transitions)
    if machine.transitions and not paying:
        said = f"machine `{machine.name}` pays 0 for every step"
        yield Finding("W0612", f"{said}: there is nothing to learn, unless the environment pays")


# --- Pushdown machines


def inspect_pushdown(machine: PushdownRules) -> list[Finding]:
    """Every warning about a pushdown machine."""

    def find_readings() -> RulesAt[Head]:
        reached = explore_machine(machine)
        heads = [head for head in all_heads(machine) if head in reached]
        return {head: rules_at(machine, head) for head in heads}

    def find_more(readings: RulesAt[Head]) -> Iterator[Finding]:
        yield from _find_misplaced_bottom(machine, readings)
        yield from _find_dead_ends(machine, readings)
        symbols = {symbol for rule in machine.transitions for symbol in (rule.top, *rule.push)}
        yield from _find_unused("stack symbol", machine.stack[1:], symbols)
        yield from _find_reward_loops(machine, readings)

    def describe(heads: list[Head]) -> str:
        if machine.is_reward_machine:
            return ""
        return f" with top {' or '.join(head.top or '(empty)' for head in heads)}"

    return inspect(machine, find_readings, describe, find_more)


def _find_misplaced_bottom(machine: PushdownRules, readings: RulesAt[Head]) -> Iterator[Finding]:
    """Rules that read the bottom symbol and were probably meant to push, as `z / A z` does.

    `z / A` takes the bottom symbol away, and others look for it later; a machine that pushes it again may do so on purpose.
    `z / z A` puts A below the bottom symbol, where only a machine that takes the bottom symbol off by name may look for it.
    """
    bottom = machine.stack[0]
    pushed_again = any(bottom in rule.push and rule.top != bottom for rule in machine.transitions)
    taken_off = any(rule.top == bottom and bottom not in rule.push for rule in machine.transitions)
    at_bottom = dict.fromkeys(
        rule for head, found in readings.items() if head.top == bottom for rule, _ in found
    )
    fix = "the new top stands leftmost: to push A, write `z / A z`"
    for rule in at_bottom:
        if not isinstance(rule, Transition):
            continue
        pushed = rule.replacement(bottom)
        if bottom in pushed and pushed[-1] != bottom and not taken_off:
            said = (
                f"`{rule}` puts symbols below the bottom symbol {bottom}, where they are never seen"
            )
            yield Finding("W0614", f"{said}; {fix}", rule.where)
        if rule.top == ANY and pushed and ANY not in rule.push and not pushed_again:
            heads = explore_machine(machine, Configuration(rule.target, pushed))
            later = {state for state, _ in heads}
            looks = [
                one for one in machine.transitions if one.top == bottom and one.source in later
            ]
            if looks:
                said = f"`{rule}` takes the bottom symbol {bottom} away, for which `{looks[0]}` looks later"
                yield Finding("W0613", f"{said}; {fix}", rule.where)


def _find_dead_ends(machine: PushdownRules, readings: RulesAt[Head]) -> Iterator[Finding]:
    """States in which the stack can be empty and no rule applies without a symbol, so that `otherwise stay` keeps the machine
    there for ever. A state that no rule leaves at all is meant to be a dead end."""
    if machine.otherwise.action != "stay":
        return
    for head, applying in readings.items():
        only_otherwise = [rule for rule, _ in applying] == [machine.otherwise]
        if head.top is not None or not only_otherwise or not machine.rules_from[head.state]:
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


# --- Loops that pay
#
# Two moves that lead back to the state and top in which they began: a push and its pop, or a move that changes nothing, twice.
# What lies below is not touched, so every such loop can be repeated for ever; longer ones are not looked for. On a machine alone,
# only loops that stay in one state are reported: whether one through several states can be repeated (are there more treasures?)
# depends on the domain, with which a task is inspected (`product/task_findings`).

MIN_LOOP_REWARD = 1e-9
"""A smaller sum of rewards may be a rounding error."""


class HeadMove(NamedTuple):
    """A move at a head."""

    target: Any
    """The control state that it leads to."""
    replacement: TopSymbols
    """The symbols that replace the head's own."""
    reward: float
    label: Label | None
    """The label that is read (None: nothing is)."""
    rule: RuleOrOtherwise | None
    """The rule by which the machine moves."""


class RewardLoop(NamedTuple):
    """Two moves that lead back to the head at which they began, and pay."""

    head: tuple[Any, str | None]
    moves: tuple[HeadMove, HeadMove]
    reward: float
    left: TopSymbols
    """The symbols that replace the head's own; its own is on top again."""

    @property
    def word(self) -> str:
        """The labels that are read."""
        return word_text(move.label for move in self.moves if move.label is not None)

    @property
    def where(self) -> Where | None:
        """The place of the rule that pays more."""
        rule = max(self.moves, key=lambda move: move.reward).rule
        return None if rule is None else rule.where


def find_reward_loops(
    moves: Mapping[tuple[Any, str | None], Sequence[HeadMove]],
) -> list[RewardLoop]:
    """Find all loops of two of these moves that pay."""
    found = []
    for head, leaving in moves.items():
        for first in leaving:
            if not first.replacement:
                continue
            for second in moves.get((first.target, first.replacement[0]), ()):
                left = second.replacement + first.replacement[1:]
                paid = first.reward + second.reward
                if (second.target, *left[:1]) == head and paid > MIN_LOOP_REWARD:
                    found.append(RewardLoop(head, (first, second), paid, left))
    return found


def _find_reward_loops(machine: PushdownRules, readings: RulesAt[Head]) -> Iterator[Finding]:
    """A loop of each state that has one. A machine that never ends may pay for ever, and so may a reward machine."""
    if not machine.final or machine.is_reward_machine:
        return
    moves: dict[tuple[Any, str | None], list[HeadMove]] = defaultdict(list)
    for head, applying in readings.items():
        for rule, labels in applying:
            if isinstance(rule, Transition) and rule.target == head.state:
                label = None if rule.silent else labels.example()
                effect = replace_top(head, rule)
                moves[head].append(HeadMove(*effect, rule.reward, label, rule))
    wrong = "repeated, it may pay more than ending; pay once, for what ends the task"
    warned = set[str]()
    for loop in find_reward_loops(moves):
        state, top = loop.head
        if loop.left == (top,) and state not in warned:
            warned.add(state)
            here = f"in state `{state}` with top {top or '(empty)'}"
            said = f"the word `{loop.word}` pays {number_text(loop.reward)} and changes nothing"
            yield Finding("W0606", f"{here}, {said}: {wrong}", loop.where)
