"""Warnings about machines that are valid but probably mistaken.

For all machines: unreachable states, undefined cases, rules that never apply, unused names, and
rewards that are all 0. For pushdown machines also: lost symbols, dead ends, and rewarded loops.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from pdrm.errors import Finding, TooLarge, TooManyCases, Where
from pdrm.machines.guards import Label, events_of, word_text
from pdrm.machines.heads import Head, all_heads, explore_machine, replace_top, rules_at
from pdrm.machines.labels import LabelSet
from pdrm.machines.machine import AnyKind
from pdrm.machines.pushdown_rules import PushdownRules
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
"""The rules that apply in each reachable situation (a state and more), with their labels."""

# --- All kinds of machine


def common_findings(
    machine: AnyKind, rules: RulesAt[S], describe: Callable[[list[S]], str]
) -> list[Finding]:
    """The warnings for all kinds of machine.

    Args:
        machine: The machine.
        rules: The rules that apply in each reachable situation.
        describe: Describes several situations of one state, apart from the state.
    """
    events = frozenset[str]().union(*(events_of(rule.guard) for rule in machine.transitions))
    return [
        *_find_unreachable_states(machine, rules),
        *_find_undefined_cases(machine, rules, describe),
        *_find_idle_rules(machine, rules),
        *_find_unused("event", machine.events, events),
        *_find_no_reward(machine),
    ]


def incomplete_findings(machine: AnyKind, error: TooLarge | TooManyCases) -> list[Finding]:
    """The warnings if there are too many situations."""
    message = f"the undefined cases are not listed: {error.message}"
    return [Finding("W0602", message), *_find_no_reward(machine)]


def _find_unreachable_states(machine: AnyKind, rules: RulesAt[S]) -> Iterator[Finding]:
    reached = {state for state, _ in rules}
    for state in (*machine.states, *machine.final):
        if state not in reached:
            yield Finding("W0601", f"state `{state}` cannot be reached by any word")


def _find_undefined_cases(
    machine: AnyKind, rules: RulesAt[S], describe: Callable[[list[S]], str]
) -> Iterator[Finding]:
    """The labels left to `otherwise`, with one warning for all states with the same labels."""
    undefined: dict[tuple[str, str], list[S]] = defaultdict(list)
    for situation, applying in rules.items():
        for rule, labels in applying:
            if rule is machine.otherwise:
                text = "no rule applies"
                if labels != machine.sets.all:
                    text = f"no rule reads {labels}"
                undefined[situation[0], text].append(situation)
    states_by_case: dict[str, list[str]] = defaultdict(list)
    for (state, text), situations in undefined.items():
        states_by_case[f"{describe(situations)}, {text}"].append(f"`{state}`")
    otherwise = machine.otherwise
    for case, states in states_by_case.items():
        noun = "state" if len(states) == 1 else "states"
        yield Finding("W0602", f"in {noun} {', '.join(states)}{case}: `otherwise {otherwise}`")
    if undefined and machine.final and otherwise.action == "stay" and otherwise.reward > 0:
        message = (
            f"`otherwise {otherwise}` gives a reward for every step in which no rule applies: "
            "waiting may give more than ending"
        )
        fix = "reward the step that ends the task, and write `otherwise stay 0` or less"
        yield Finding("W0606", message, otherwise.where, fix)


def _find_idle_rules(machine: AnyKind, rules: RulesAt[S]) -> Iterator[Finding]:
    reached = {state for state, _ in rules}
    used = {id(rule) for applying in rules.values() for rule, _ in applying}
    why = "no label fits, its top or test never occurs in that state, or other rules beat it"
    for rule in machine.transitions:
        if id(rule) in used:
            continue
        unsatisfiable = not rule.silent and not machine.sets.labels_of(rule.guard)
        if unsatisfiable or rule.source in reached:
            message = f"the rule {machine.rule_text(rule)} never applies: {why}"
            yield Finding("W0603", message, rule.where)


def _find_unused(kind: str, names: Iterable[str], used: Collection[str]) -> Iterator[Finding]:
    for name in names:
        if name not in used:
            yield Finding("W0604", f"{kind} `{name}` is declared but no rule mentions it")


def _find_no_reward(machine: AnyKind) -> Iterator[Finding]:
    """A warning if all rewards are 0."""
    rewarded = machine.otherwise.reward or any(rule.reward for rule in machine.transitions)
    if machine.transitions and not rewarded:
        yield Finding(
            "W0612",
            f"machine `{machine.name}` gives the reward 0 for every step: "
            "there is nothing to learn, unless the environment gives rewards",
        )


# --- Pushdown machines


def inspect_pushdown(machine: PushdownRules) -> list[Finding]:
    """All warnings about a pushdown machine.

    The warnings for pushdown machines only come first, because they often explain the others.
    """

    def describe(heads: list[Head]) -> str:
        if machine.is_reward_machine:
            return ""
        return f" with top {' or '.join(head.top or '(empty)' for head in heads)}"

    symbols = {symbol for rule in machine.transitions for symbol in (rule.top, *rule.push)}
    try:
        reached = explore_machine(machine)
        heads = [head for head in all_heads(machine) if head in reached]
        rules = {head: rules_at(machine, head) for head in heads}
        return [
            *_find_misplaced_bottom(machine, rules),
            *_find_dead_ends(machine, rules),
            *_find_unused("stack symbol", machine.stack[1:], symbols),
            *_find_reward_loops(machine, rules),
            *common_findings(machine, rules, describe),
        ]
    except (TooLarge, TooManyCases) as error:
        return incomplete_findings(machine, error)


def _find_misplaced_bottom(machine: PushdownRules, rules: RulesAt[Head]) -> Iterator[Finding]:
    """Rules that replace the bottom symbol although a push such as `z / A z` was probably intended.

    `z / A` removes the bottom symbol. This is a mistake if other rules look for it later, unless
    the machine pushes it again. `z / z A` pushes A below the bottom symbol, where it is out of
    reach unless the machine pops the bottom symbol by name.
    """
    bottom = machine.stack[0]
    pushed_again = any(bottom in rule.push and rule.top != bottom for rule in machine.transitions)
    popped = any(rule.top == bottom and bottom not in rule.push for rule in machine.transitions)
    at_bottom = dict.fromkeys(
        rule for head, applying in rules.items() if head.top == bottom for rule, _ in applying
    )
    fix = "write the new top leftmost: to push A, write `z / A z`"
    for rule in at_bottom:
        if not isinstance(rule, Transition):
            continue
        pushed = rule.replacement(bottom)
        if bottom in pushed and pushed[-1] != bottom and not popped:
            message = (
                f"`{rule}` puts symbols below the bottom symbol {bottom}, where they are never seen"
            )
            yield Finding("W0614", message, rule.where, fix)
        if rule.top == ANY and pushed and ANY not in rule.push and not pushed_again:
            heads = explore_machine(machine, Configuration(rule.target, pushed))
            later = {state for state, _ in heads}
            seekers = [
                other
                for other in machine.transitions
                if other.top == bottom and other.source in later
            ]
            if seekers:
                message = (
                    f"`{rule}` removes the bottom symbol {bottom}, "
                    f"for which `{seekers[0]}` looks later"
                )
                yield Finding("W0613", message, rule.where, fix)


def _find_dead_ends(machine: PushdownRules, rules: RulesAt[Head]) -> Iterator[Finding]:
    """States in which the stack can be empty although every rule needs a symbol.

    `otherwise stay` then keeps the machine there forever. A state without rules is considered an
    intended dead end.
    """
    if machine.otherwise.action != "stay":
        return
    for head, applying in rules.items():
        only_otherwise = [rule for rule, _ in applying] == [machine.otherwise]
        if head.top is not None or not only_otherwise or not machine.rules_from[head.state]:
            continue
        pops = [
            rule
            for other, other_rules in rules.items()
            for rule, _ in other_rules
            if isinstance(rule, Transition)
            and other.top
            and rule.target == head.state
            and not rule.replacement(other.top)
        ]
        last = min(pops, key=lambda rule: rule.top not in (ANY, machine.stack[0]), default=None)
        context = f"in state `{head.state}`"
        if last is not None:
            context += f" after `{last}`"
        yield Finding(
            "W0615",
            f"{context} the stack can be empty, and no rule applies there without a symbol: "
            f"`otherwise {machine.otherwise}` keeps it there forever",
            None if last is None else last.where,
            f"keep the bottom symbol {machine.stack[0]} on the stack, "
            "or let that rule lead to a final state",
        )


# --- Rewarded loops
#
# A loop is two moves that lead back to the same state and top: a push and its pop, or twice a move
# that changes nothing. The stack below is not touched, so the loop can be repeated forever. Longer
# loops are not searched for. For a machine alone, only loops within one state are reported: whether
# a loop through several states can be repeated (are there more treasures?) depends on the domain,
# which `product/task_findings` takes into account.

MIN_LOOP_REWARD = 1e-9
"""The minimum reward of a loop. Smaller sums may be rounding errors."""


class HeadMove(NamedTuple):
    """A move at a head."""

    target: Any
    """The next control state."""
    replacement: TopSymbols
    """The symbols that replace the top."""
    reward: float
    label: Label | None
    """The label that is read (None for a silent move)."""
    rule: RuleOrOtherwise | None
    """The rule of the machine."""


class RewardLoop(NamedTuple):
    """Two moves from a head back to the same head, with a positive reward."""

    head: tuple[Any, str | None]
    moves: tuple[HeadMove, HeadMove]
    reward: float
    left: TopSymbols
    """The symbols that replace the original top. The first equals it."""

    @property
    def word(self) -> str:
        """The labels of the loop."""
        return word_text(move.label for move in self.moves if move.label is not None)

    @property
    def where(self) -> Where | None:
        """The position of the rule with the higher reward."""
        rule = max(self.moves, key=lambda move: move.reward).rule
        return None if rule is None else rule.where


def find_reward_loops(
    moves: Mapping[tuple[Any, str | None], Sequence[HeadMove]],
) -> list[RewardLoop]:
    """Find all loops of two moves with a positive reward."""
    loops = []
    for head, leaving in moves.items():
        for first in leaving:
            if not first.replacement:
                continue
            for second in moves.get((first.target, first.replacement[0]), ()):
                left = second.replacement + first.replacement[1:]
                reward = first.reward + second.reward
                if (second.target, *left[:1]) == head and reward > MIN_LOOP_REWARD:
                    loops.append(RewardLoop(head, (first, second), reward, left))
    return loops


def _find_reward_loops(machine: PushdownRules, rules: RulesAt[Head]) -> Iterator[Finding]:
    """One loop of each state that has any.

    Machines without a final state and reward machines are skipped: they may give rewards forever.
    """
    if not machine.final or machine.is_reward_machine:
        return
    moves: dict[tuple[Any, str | None], list[HeadMove]] = defaultdict(list)
    for head, applying in rules.items():
        for rule, labels in applying:
            if isinstance(rule, Transition) and rule.target == head.state:
                label = None if rule.silent else labels.example()
                effect = replace_top(head, rule)
                moves[head].append(HeadMove(*effect, rule.reward, label, rule))
    warned = set[str]()
    for loop in find_reward_loops(moves):
        state, top = loop.head
        if loop.left == (top,) and state not in warned:
            warned.add(state)
            message = (
                f"in state `{state}` with top {top or '(empty)'}, the word `{loop.word}` "
                f"gives the reward {number_text(loop.reward)} and changes nothing: "
                "repeated, it may give more than ending"
            )
            fix = "give a reward once, for the step that ends the task"
            yield Finding("W0606", message, loop.where, fix)
