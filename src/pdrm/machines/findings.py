"""Warnings about a machine: what is allowed but is more often a mistake.

All kinds of machine are warned of unreachable states, undefined cases, idle rules, unused names and rewards of 0; pushdown machines
also of symbols that get lost, of dead ends, and of loops that pay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from math import inf
from typing import Any, NamedTuple, TypeVar

from pdrm.errors import Finding, TooLarge, TooManyCases, Where
from pdrm.machines.guards import Label, events_of, word_text
from pdrm.machines.heads import (
    Head,
    PushdownRules,
    Settled,
    all_heads,
    explore_machine,
    readings_at,
    replace_top,
    rule_at,
    settle,
)
from pdrm.machines.labels import LabelSet
from pdrm.machines.machine import AnyKind
from pdrm.machines.transitions import (
    ANY,
    Configuration,
    Otherwise,
    Rule,
    TopSymbols,
    Transition,
    number_text,
)

S = TypeVar("S", bound=tuple[str, Any])
Readings = Mapping[S, Sequence[tuple[Rule | Otherwise, LabelSet]]]
"""The rules that apply in each situation that occurs, and their labels."""

# --- All kinds of machine


def inspect(
    machine: AnyKind,
    find_readings: Callable[[], Readings[S]],
    describe: Callable[[list[S]], str],
    idle: str,
    find_more: Callable[[Readings[S]], Iterable[Finding]] = lambda _: (),
) -> list[Finding]:
    """Every warning about a machine.

    Args:
        machine: The machine.
        find_readings: Finds the rules that apply in each situation that occurs, and their labels.
        describe: Says what several situations of a state have in common.
        idle: The reason for which a rule never applies.
        find_more: Finds what only this kind of machine is warned of; it comes first, because it often explains the others.
    """
    events = frozenset[str]().union(*(events_of(rule.guard) for rule in machine.transitions))
    try:
        readings = find_readings()
        return [
            *find_more(readings),
            *_find_unreachable_states(machine, readings),
            *_find_undefined_cases(machine, readings, describe),
            *_find_idle_rules(machine, readings, idle),
            *_find_unused("event", machine.events, events),
            *_find_no_pay(machine),
        ]
    except (TooLarge, TooManyCases) as error:
        said = f"the undefined cases are not listed: {error.message}"
        return [Finding("W0602", said), *_find_no_pay(machine)]


def _find_unreachable_states(machine: AnyKind, readings: Readings[S]) -> Iterator[Finding]:
    reached = {state for state, _ in readings}
    for state in (*machine.states, *machine.final):
        if state not in reached:
            kind = "final state" if state in machine.final else "state"
            yield Finding("W0601", f"{kind} `{state}` cannot be reached by any word")


def _find_undefined_cases(
    machine: AnyKind, readings: Readings[S], describe: Callable[[list[S]], str]
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
        said = f"pays {number_text(otherwise.reward)} for every step in which no rule applies"
        wrong = "; write"
        if any(state in machine.final for state, _ in readings):
            wrong = ": waiting may pay more than ending; pay for the step that ends the task, and"
        text = f"`otherwise {otherwise}` {said}{wrong} `otherwise stay 0` or less"
        yield Finding("W0606", text, otherwise.where)


def _find_idle_rules(machine: AnyKind, readings: Readings[S], idle: str) -> Iterator[Finding]:
    reached = {state for state, _ in readings}
    used = {id(rule) for applying in readings.values() for rule, _ in applying}
    for rule in machine.transitions:
        never = not rule.silent and not machine.sets.satisfiable(rule.guard)
        if never or (id(rule) not in used and rule.source in reached):
            why = f"no label fits `{rule.guard}`" if never else idle
            said = f"the rule {machine.rule_text(rule)} never applies: {why}"
            yield Finding("W0603", said, rule.where)


def _find_unused(kind: str, names: Iterable[str], used: Collection[str]) -> Iterator[Finding]:
    for name in names:
        if name not in used:
            comment = " (a comment starts with `//`)" * name.startswith("#")
            said = f"{kind} `{name}` is declared but no rule mentions it{comment}"
            yield Finding("W0604", said)


def _find_no_pay(machine: AnyKind) -> Iterator[Finding]:
    """A machine that pays 0 whatever happens."""
    paying = machine.otherwise.reward or any(rule.reward for rule in machine.transitions)
    if machine.transitions and not paying:
        said = f"machine `{machine.name}` pays 0 for every step"
        yield Finding("W0612", f"{said}: there is nothing to learn, unless the environment pays")


# --- Pushdown machines


def inspect_pushdown(machine: PushdownRules) -> list[Finding]:
    """Every warning about a pushdown machine."""

    def find_readings() -> Readings[Head]:
        reached = explore_machine(machine)
        heads = [head for head in all_heads(machine) if head in reached]
        return {head: readings_at(machine, head) for head in heads}

    def find_more(readings: Readings[Head]) -> Iterator[Finding]:
        yield from _find_misplaced_bottom(machine, readings)
        yield from _find_dead_ends(machine, readings)
        symbols = {symbol for rule in machine.transitions for symbol in (rule.top, *rule.push)}
        yield from _find_unused("stack symbol", machine.stack[1:], symbols)
        yield from _find_paying_loops(machine, readings)

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
        others = [symbol for symbol in rule.push if symbol not in (ANY, bottom)]
        meant = " ".join((*others, ANY if rule.top == ANY else bottom))
        fix = f"the new top stands leftmost: to push, write {meant} after the slash"
        if bottom in pushed and pushed[-1] != bottom and not taken_off:
            said = f"`{rule}` puts {' '.join(others)} below the bottom symbol {bottom}, where it is never seen"
            yield Finding("W0614", f"{said}; {fix}", rule.where)
        if rule.top == ANY and rule.push and ANY not in rule.push and not pushed_again:
            heads = explore_machine(machine, Configuration(rule.target, pushed))
            later = {state for state, _ in heads}
            looks = [
                one for one in machine.transitions if one.top == bottom and one.source in later
            ]
            if looks:
                said = f"`{rule}` takes the bottom symbol {bottom} away, for which `{looks[0]}` looks later"
                yield Finding("W0613", f"{said}; {fix}", rule.where)


def _find_dead_ends(machine: PushdownRules, readings: Readings[Head]) -> Iterator[Finding]:
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


# --- Loops that pay: words that lead back to the situation in which they began, with a reward above 0
#
# A situation holds the topmost symbols of the stack as far as they are known, so every loop that is found is real. On a machine
# alone only those are reported that stay in one state, such as a push and a pop that are both paid: whether a loop through
# several states can be repeated (are there more treasures?) depends on the domain, and is found out with it
# (`product/task_findings`).

KNOWN = 3
"""Symbols of the stack that are looked at: as high as a loop may push above its start, and one more."""

MOST_VIEWS = 10_000
"""Situations of a machine that are looked at."""

MOST_SILENT = 1_000
"""Silent moves followed after a label."""

LONGEST_LOOP = 200
"""Steps of a loop that is found."""

BOTTOM = None
"""Below the lowest symbol, if that is known to be the lowest."""


class View(NamedTuple):
    """A state and the topmost symbols of the stack, as far as they are known."""

    state: str
    known: TopSymbols


def advance(machine: PushdownRules, view: View, label: Label) -> tuple[View, float] | None:
    """Read a label with only the top of the stack known.

    Returns:
        What is known then, and what is paid; None if it depends on what is below, or if no move applies.

    Example:
        >>> from pdrm.language.loading import catalogue
        >>> advance(catalogue("letter"), View("u0", ("#", BOTTOM)), frozenset("A"))
        (View(state='u0', known=('A', '#', None)), -0.01)
    """
    head = view.state, view.known[0]
    rule = rule_at(machine, head, label)
    if rule is None:
        return None
    state, symbols = replace_top(head, rule)
    here = Settled(state, symbols + view.known[1:], 0.0 + rule.reward)
    after = settle(machine, here, MOST_SILENT)
    if after.moves == MOST_SILENT or (not after.known and after.state not in machine.final):
        return None
    return View(after.state, after.known), after.paid


class LabelEffect(NamedTuple):
    """One outcome of an action in a domain."""

    place: int
    """The next place."""
    label: Label | None
    """The label that is read (None: nothing is)."""
    reward: float = 0.0
    """What the environment pays."""
    sure: bool = True
    """It is the only outcome."""


Situation = tuple[int, View]
"""A place of a domain (0 if there is none), and what is known of the machine there."""


class PaidStep(NamedTuple):
    """A step from one situation to another."""

    source: Situation
    target: Situation
    reward: float
    """What is paid (-inf: the step does not surely lead there)."""
    label: Label
    action: int


def list_paid_steps(
    machine: PushdownRules,
    starts: Iterable[Situation],
    actions_at: Callable[[Situation], Iterable[Iterable[LabelEffect]]],
    keep: Callable[[View, View], View | None],
    most: int,
) -> list[PaidStep]:
    """Find the steps between the situations that can be reached.

    Args:
        machine: The machine.
        starts: The first situations.
        actions_at: Lists the effects of each action.
        keep: What is kept of a view, given the view before it; None to leave the step out.
        most: The number of situations to look at.
    """
    known = dict.fromkeys(islice(starts, most))
    nodes = list(known)
    found: list[PaidStep] = []
    for node in nodes:  # it grows
        view = node[1]
        for action, effects in enumerate(actions_at(node)):
            for place, label, reward, sure in effects:
                after = (view, 0.0) if label is None else advance(machine, view, label)
                kept = None if after is None else keep(view, after[0])
                if after is None or kept is None:
                    continue
                target = place, kept
                if target not in known and len(nodes) < most:
                    known[target] = None
                    nodes.append(target)
                if target in known:
                    paid = reward + after[1] if sure else -inf
                    found.append(PaidStep(node, target, paid, label or frozenset(), action))
    return found


def find_paying_cycle(steps: Sequence[PaidStep]) -> list[PaidStep]:
    """Steps that lead back to their start and pay, if there are any.

    The ways that pay most are made longer step by step; the last steps of these ways lead round such a loop sooner or later
    (Bellman and Ford).
    """
    paid: dict[Situation, float] = defaultdict(float)
    last: dict[Situation, PaidStep] = {}
    for _ in range(LONGEST_LOOP):
        known = dict(paid)
        for step in steps:
            longer = paid[step.source] + step.reward
            if longer > paid[step.target] + 1e-9:
                paid[step.target] = longer
                last[step.target] = step
        try:
            TopologicalSorter({node: [step.source] for node, step in last.items()}).prepare()
        except CycleError as error:
            return [last[node] for node in error.args[1][1:]]
        if paid == known:
            break
    return []


def _find_paying_loops(machine: PushdownRules, readings: Readings[Head]) -> Iterator[Finding]:
    """A loop of each state that has one. A machine that never ends may pay for ever, and so may a reward machine."""
    if not machine.final or machine.leaves_stack:
        return
    tops: dict[str, list[str | None]] = defaultdict(list)
    labels: dict[str, dict[Label, None]] = defaultdict(dict)
    for (state, top), applying in readings.items():
        tops[state].append(top)
        read = [one.example() for rule, one in applying if one and rule is not machine.otherwise]
        labels[state] |= dict.fromkeys(read)
    wrong = "repeated, it pays again"
    if any(state in machine.final for state in tops):
        wrong = "repeated, it may pay more than ending; pay once, for what ends the task"

    def stay(before: View, after: View) -> View | None:
        return after if after.state == before.state and len(after.known) <= KNOWN else None

    def actions_at(situation: Situation) -> list[list[LabelEffect]]:
        return [[LabelEffect(0, label)] for label in labels[situation[1].state]]

    for state, found in tops.items():
        starts = [(0, View(state, (top,))) for top in found]
        loop = find_paying_cycle(list_paid_steps(machine, starts, actions_at, stay, MOST_VIEWS))
        if loop:
            first = min(range(len(loop)), key=lambda at: len(loop[at].source[1].known))
            loop = loop[first:] + loop[:first]
            known = loop[0].source[1].known[0]
            top = "the empty stack" if known is BOTTOM else f"top {known}"
            word = word_text(step.label for step in loop)
            paid = number_text(sum(step.reward for step in loop))
            said = (
                f"in state `{state}` with {top}, the word `{word}` pays {paid} and changes nothing"
            )
            place = find_paying_rule(machine, loop)
            yield Finding("W0606", f"{said}: {wrong}", place)


def find_paying_rule(machine: PushdownRules, loop: Iterable[PaidStep]) -> Where | None:
    """The place of the first rule of a loop that pays."""
    for (_, view), _, _, label, _ in loop:
        rule = machine.rule(view.state, label, view.known[0])
        if rule is not None and rule.reward > 0:
            return rule.where
    return None
