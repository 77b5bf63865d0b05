"""Warnings about a machine: what is allowed but is more often a mistake (unreachable states, undefined cases, idle rules, loops that
pay)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypeVar

import numpy as np

from pdrm.errors import Finding, TooLarge, TooManyCases, Where
from pdrm.machines.configurations import HasState
from pdrm.machines.guards import Label, events_of, word_text
from pdrm.machines.heads import Head, PushdownSystem, reachable_heads, rules_at
from pdrm.machines.labels import LabelSets
from pdrm.machines.machine import Machine, labels_left
from pdrm.machines.rewards import number_text
from pdrm.machines.transitions import ANY, Rule, Transition

S = TypeVar("S", bound=HasState)
R = TypeVar("R", bound=Rule)


def inspect_pushdown(machine: PushdownSystem) -> list[Finding]:
    """Every warning: first of symbols that are lost, which often explain the others, then in the order of the codes."""
    sets = LabelSets(machine.alphabet)
    idle = "its top of stack never occurs in that state, or other rules beat it"

    def describe(heads: list[Head]) -> str:
        if machine.leaves_stack:
            return ""
        return f" with top {' or '.join('(empty)' if head.top is None else head.top for head in heads)}"

    try:
        reached = reachable_heads(machine)
        states, tops = (*machine.states, *machine.final), (*machine.stack, None)
        ordered = [Head(*pair) for pair in product(states, tops) if pair in reached]
        rules = {head: rules_at(machine, sets, head) for head in ordered}
        shared = inspect(machine, sets, rules, describe, idle)
    except (TooLarge, TooManyCases) as error:
        return give_up(machine, error)
    mentioned = {symbol for rule in machine.transitions for symbol in (rule.top, *rule.push)}
    unused = [symbol for symbol in machine.stack[1:] if symbol not in mentioned]
    return [
        *_find_lost_bottom(machine, rules),
        *_find_buried_symbols(machine, rules),
        *_find_dead_ends(machine, rules),
        *shared,
        *(
            Finding("W0604", f"stack symbol `{symbol}` is declared but no rule mentions it")
            for symbol in unused
        ),
        *_find_paying_loops(machine, sets, rules),
        *find_no_pay(machine),
    ]


def _find_lost_bottom(
    machine: PushdownSystem, rules: Mapping[Head, list[Transition]]
) -> Iterator[Finding]:
    """Rules such as `z / A`, where `z / A z` would push: at the bottom they take its symbol away, and others look for it later.

    A machine that pushes the symbol again may do so on purpose, and so may a rule that names the symbol, or pops it.
    """
    bottom = machine.stack[0]
    if any(bottom in rule.push and rule.top != bottom for rule in machine.transitions):
        return
    at_bottom = [
        rule for head, applying in rules.items() if head.top == bottom for rule in applying
    ]
    for rule in dict.fromkeys(at_bottom):
        if rule.top == ANY and rule.push and ANY not in rule.push:
            later = _list_later(machine, rule.target)
            looking = [
                other
                for other in machine.transitions
                if other.top == bottom and other.source in later
            ]
            if looking:
                said = f"`{rule}` takes the bottom symbol {bottom} away, for which `{looking[0]}` looks later"
                fix = f"to push, write {' '.join((*rule.push, ANY))} after the slash"
                yield Finding("W0613", f"{said}; {fix}", rule.where)


def _find_buried_symbols(
    machine: PushdownSystem, rules: Mapping[Head, list[Transition]]
) -> Iterator[Finding]:
    """Rules such as `z / z A`, where `z / A z` would push: at the bottom, A comes to lie below the bottom symbol.

    A machine with a rule that takes the bottom symbol off by name may look there on purpose.
    """
    bottom = machine.stack[0]
    if any(rule.top == bottom and bottom not in rule.push for rule in machine.transitions):
        return
    at_bottom = [
        rule for head, applying in rules.items() if head.top == bottom for rule in applying
    ]
    for rule in dict.fromkeys(at_bottom):
        pushed = rule.replacement(bottom)
        if bottom in pushed and pushed[-1] != bottom:
            kept = ANY if ANY in rule.push else bottom
            others = [symbol for symbol in rule.push if symbol != kept]
            said = f"`{rule}` puts {' '.join(others)} below the bottom symbol {bottom}, where it is never seen"
            fix = f"the new top stands leftmost: to push, write {' '.join((*others, kept))} after the slash"
            yield Finding("W0614", f"{said}; {fix}", rule.where)


def _find_dead_ends(
    machine: PushdownSystem, rules: Mapping[Head, list[Transition]]
) -> Iterator[Finding]:
    """States in which the stack can be empty and no rule applies without a symbol, so that `otherwise stay` keeps the machine there for
    ever. A state that no rule leaves at all is meant to be a dead end."""
    for head, applying in rules.items():
        stuck = head.top is None and not applying and head.state not in machine.final
        if stuck and machine.otherwise.action == "stay" and machine.rules_from(head.state):
            pops = [
                rule
                for other, found in rules.items()
                for rule in found
                if other.top is not None
                and rule.target == head.state
                and not rule.replacement(other.top)
            ]
            at_bottom = [rule for rule in pops if rule.top in (ANY, machine.stack[0])]
            last = next(iter(at_bottom or pops), None)
            how = f" after `{last}`" if last is not None else ""
            said = f"in state `{head.state}`{how} the stack can be empty, and no rule applies there without a symbol"
            fix = f"keep the bottom symbol {machine.stack[0]} on the stack, or let that rule lead to a final state"
            stays = f"`otherwise {machine.otherwise}` keeps it there for ever"
            yield Finding("W0615", f"{said}: {stays}; {fix}", None if last is None else last.where)


def _list_later(machine: PushdownSystem, state: str) -> set[str]:
    """The states to which rules may lead from a state, itself among them."""
    seen, todo = {state}, [state]
    while todo:
        here = todo.pop()
        after = {rule.target for rule in machine.transitions if rule.source == here}
        if machine.otherwise.target is not None and here not in machine.final:
            after.add(machine.otherwise.target)
        todo += after - seen
        seen |= after
    return seen


def give_up(machine: Machine[Rule], error: TooLarge | TooManyCases) -> list[Finding]:
    """The warnings about a machine with too many cases."""
    said = f"the undefined cases are not listed: {error.message}"
    return [Finding("W0602", said), *find_no_pay(machine)]


def inspect(
    machine: Machine[R],
    sets: LabelSets,
    rules: Mapping[S, list[R]],
    describe: Callable[[list[S]], str],
    idle: str,
) -> list[Finding]:
    """The warnings that all machines share, given the rules that apply in each situation that occurs."""
    found = list[Finding]()
    reached = {situation.state for situation in rules}
    for state in (*machine.states, *machine.final):
        if state not in reached:
            kind = "final state" if state in machine.final else "state"
            found.append(Finding("W0601", f"{kind} `{state}` cannot be reached by any word"))
    found += _find_undefined_cases(machine, sets, rules, describe)
    used = {id(rule) for applying in rules.values() for rule in applying}
    for rule in machine.transitions:
        never = not rule.silent and not sets.satisfiable(rule.guard)
        if never or (id(rule) not in used and rule.source in reached):
            why = f"no label fits `{rule.guard}`, so this rule never applies" if never else idle
            found.append(Finding("W0603", f"{why}: {machine.rule_text(rule)}", rule.where))
    mentioned = frozenset[str]().union(*(events_of(rule.guard) for rule in machine.transitions))
    for event in machine.events:
        if event not in mentioned:
            why = "a comment starts with `//`" if event.startswith("#") else "a domain may emit it"
            said = f"event `{event}` is declared but no rule mentions it ({why})"
            found.append(Finding("W0604", said))
    return found


def find_no_pay(machine: Machine[R]) -> Iterator[Finding]:
    """A machine that pays 0 whatever happens."""
    if machine.transitions and not (
        machine.otherwise.reward or any(rule.reward for rule in machine.transitions)
    ):
        yield Finding(
            "W0612",
            f"machine `{machine.name}` pays 0 for every step: there is nothing to learn, unless the environment pays",
        )


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
    alike: dict[tuple[str, str], list[str]] = {}
    for (state, labels), several in undefined.items():
        alike.setdefault((labels, describe(several)), []).append(f"`{state}`")
    for (labels, place), states in alike.items():
        named = f"state{'s' * (len(states) > 1)} {', '.join(states)}"
        yield Finding("W0602", f"in {named}{place}, {labels}: `otherwise {machine.otherwise}`")
    idle = machine.otherwise
    if undefined and machine.final and idle.action == "stay" and idle.reward > 0:
        said = f"`otherwise {idle}` pays {number_text(idle.reward)} for every step in which no rule applies"
        ends = any(situation.state in machine.final for situation in rules)
        wrong = (
            ": waiting may pay more than ending; pay for the step that ends the task, and"
            if ends
            else "; write"
        )
        yield Finding("W0606", f"{said}{wrong} `otherwise stay 0` or less", idle.where)


# --- Loops that pay: a word that leads back to the configuration it began in, with a reward above 0
#
# On the machine alone only those are reported that stay in one state, such as a push and a pop that are both paid: whether a loop
# through several states can be repeated (are there more treasures?) depends on the domain, and is found out with it
# (`product/task_findings`).

KNOWN = 3
"""Symbols of the stack that are looked at: as high as a loop may push above where it began, and one more."""

MOST_LOOKS = 20_000
"""Rules looked up in search of loops; then the search ends."""

MOST_SILENT = 1_000
"""Silent moves followed after a label."""

LONGEST_LOOP = 200
"""Steps of a loop that is found."""

BOTTOM = None
"""Below the lowest symbol, if that is known to be the lowest."""


class View(NamedTuple):
    """A state and the topmost symbols of the stack, as far as they are known."""

    state: str
    known: tuple[str | None, ...]


def advance(machine: PushdownSystem, view: View, label: Label) -> tuple[View, float] | None:
    """Read a label where only the top of the stack is known: what is known then, and what is paid. None: it depends on what is
    below, or no rule reads the label and `otherwise` is an error.

    >>> from pdrm.language.loading import catalogue
    >>> advance(catalogue("letter"), View("u0", ("#", BOTTOM)), frozenset("A"))
    (View(state='u0', known=('A', '#', None)), -0.01)
    """
    state, known, paid = view.state, view.known, 0.0
    for silent in range(MOST_SILENT):
        if not known:
            return None
        rule = machine.rule(state, label if not silent else None, known[0])
        if rule is not None:
            below = known if known[0] is BOTTOM else known[1:]
            state, known, paid = (
                rule.target,
                (*rule.replacement(known[0]), *below),
                paid + rule.reward,
            )
        elif silent:
            return View(state, known), paid
        elif machine.otherwise.action == "error":
            return None
        else:
            state, paid = machine.otherwise.target or state, machine.otherwise.reward
        if state in machine.final:
            return View(state, known), paid
    return None


class Edge(NamedTuple):
    """A step from one numbered situation to another."""

    source: int
    target: int
    reward: float
    label: Label
    action: int = 0


def find_paying_cycle(edges: Sequence[Edge]) -> list[Edge]:
    """Steps that lead back to where they begin and pay, if there are any: the longest ways to every situation are made longer
    step by step, and the last steps of these ways lead round such a loop sooner or later."""
    if not any(edge.reward > 0 for edge in edges):
        return []
    source = np.array([edge.source for edge in edges])
    target = np.array([edge.target for edge in edges])
    reward = np.array([edge.reward for edge in edges])
    length = np.zeros(1 + max(source.max(), target.max()))
    last = np.full(len(length), -1)
    for _ in range(LONGEST_LOOP):
        longer = length[source] + reward
        better = np.flatnonzero(longer > length[target] + 1e-9)
        if not better.size:
            break
        order = better[np.argsort(longer[better], kind="stable")]  # the best is written last
        length[target[order]], last[target[order]] = longer[order], order
    seen: dict[int, int] = {}
    for first in np.flatnonzero(last >= 0).tolist():
        node = first
        while last[node] >= 0 and node not in seen:
            seen[node] = first
            node = int(source[last[node]])
        if last[node] >= 0 and seen[node] == first:
            loop = [edges[last[node]]]
            while loop[0].source != node:
                loop.insert(0, edges[last[loop[0].source]])
            return loop
    return []


def _find_paying_loops(
    machine: PushdownSystem, sets: LabelSets, rules: Mapping[Head, list[Transition]]
) -> Iterator[Finding]:
    """A loop of each state that has one. A machine that never ends may pay for ever, and so may a reward machine."""
    looks, ends = 0, any(head.state in machine.final for head in rules)
    for state in machine.states if machine.final and not machine.leaves_stack else ():
        labels = _list_labels(machine, sets, state, rules)
        views = [View(state, (head.top,)) for head in rules if head.state == state]
        number = {view: place for place, view in enumerate(views)}
        edges: list[Edge] = []
        for source, view in enumerate(views):  # it grows
            looks += len(labels)
            for label in labels if looks <= MOST_LOOKS else ():
                found = advance(machine, view, label)
                if found is None or found[0].state != state or len(found[0].known) > KNOWN:
                    continue
                if found[0] not in number:
                    number[found[0]] = len(views)
                    views.append(found[0])
                edges.append(Edge(source, number[found[0]], found[1], label))
        loop = find_paying_cycle(edges)
        if loop:
            first = min(range(len(loop)), key=lambda place: len(views[loop[place].source].known))
            loop = loop[first:] + loop[:first]
            yield _tell_loop(machine, [views[edge.source] for edge in loop], loop, ends=ends)


def _tell_loop(
    machine: PushdownSystem, views: list[View], loop: list[Edge], *, ends: bool
) -> Finding:
    """The warning, at the first rule of the loop that pays. It speaks of ending only if there is a way to an end."""
    top = "the empty stack" if views[0].known[0] is BOTTOM else f"top {views[0].known[0]}"
    word, gained = word_text(edge.label for edge in loop), sum(edge.reward for edge in loop)
    said = f"in state `{views[0].state}` with {top}, the word `{word}` pays {number_text(gained)} and changes nothing"
    wrong = "repeated, it pays again"
    if ends:
        wrong = "repeated, it may pay more than ending; pay once, for what ends the task"
    return Finding("W0606", f"{said}: {wrong}", find_paying_rule(machine, views, loop))


def find_paying_rule(
    machine: PushdownSystem, views: Iterable[View], loop: Iterable[Edge]
) -> Where | None:
    """The place of the first rule of a loop that pays."""
    for view, edge in zip(views, loop, strict=True):
        rule = machine.rule(view.state, edge.label, view.known[0])
        if rule is not None and rule.reward > 0:
            return rule.where
    return None


def _list_labels(
    machine: PushdownSystem, sets: LabelSets, state: str, rules: Mapping[Head, list[Transition]]
) -> list[Label]:
    """A label for each rule of a state."""
    found: dict[Label, None] = {}
    for head, applying in rules.items():
        for rule in applying if head.state == state else ():
            if labels := sets.of(rule.guard):
                label = labels.example()
                if machine.rule(state, label, head.top) is rule:
                    found[label] = None
    return list(found)
