"""Conversions between the two kinds of machine: 1-counter automata to pushdown machines (Appendix B), and a pushdown machine to an automaton with two counters (Section 5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pdrm.errors import CannotTranslate, EndlessSilentMoves
from pdrm.machines.counting import (
    CountingConfiguration,
    CountingRewardAutomaton,
    CountingTransition,
)
from pdrm.machines.guards import SILENT, Guard
from pdrm.machines.heads import Head, all_heads, rules_at
from pdrm.machines.machine import fresh_name
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import BOTTOM, Configuration, Otherwise, Stack, Transition

# --- 1-counter automata as pushdown machines that pay the same on every word (Appendix B)
#
# The counter's value n is the stack `□ … □ #` with n boxes. A rule that counts down by m reads its label, pays 0 and goes
# through m helper states, each taking one box off unless `#` is on top; the last one pays the reward. The appendix names the
# helpers after q, σ, γ and i; here a rule may read many σ, so its number stands for σ. Silent rules are its case σ = ε.

BOX = "□"
TOPS = {"0": (BOTTOM,), "1": (BOX,), "-": (BOTTOM, BOX)}
"""The top symbols at which a counter test holds."""

MAX_CHANGE = 1_000
"""The largest change of a counter that is translated: it becomes that many symbols pushed, or helper states."""


def counting_to_pushdown(machine: CountingRewardAutomaton) -> PushdownRewardMachine:
    """The pushdown machine of Appendix B; `CannotTranslate` if there is none.

    >>> from pdrm.language.loading import catalogue
    >>> counting_to_pushdown(catalogue("letter-cra")).run([frozenset(event) for event in "AABCCC"]).reward
    0.95
    """
    if machine.counters > 1:
        raise CannotTranslate(
            f"`{machine.name}` has {machine.counters} counters: two can do what no stack can (Section 5)",
            fix="only counting automata with one counter become pushdown machines",
        )
    names = dict.fromkeys((*machine.states, *machine.final))
    rules = [
        rule
        for number, counting in enumerate(machine.transitions, start=1)
        for top in TOPS[counting.tests[0]]
        for rule in _translate(counting, number, top, names)
    ]
    helpers = tuple(names)[len(machine.states) + len(machine.final) :]
    try:
        return PushdownRewardMachine(
            machine.name,
            machine.events,
            (BOTTOM, BOX),
            machine.start,
            machine.final,
            machine.otherwise,
            tuple(rules),
            machine.exclusive,
            (*machine.states, *helpers),
        )
    except EndlessSilentMoves as error:
        fault = f"the silent moves of `{machine.name}` need not end, and a pushdown machine's must: {error.message}"
        raise CannotTranslate(fault, where=error.where, fix=error.fix) from error


def _translate(
    rule: CountingTransition, number: int, top: str, names: dict[str, None]
) -> Iterator[Transition]:
    """The rules for one counting rule and top symbol γ; the helper states that they use are added to `names`."""
    (change,) = rule.changes
    if abs(change) > MAX_CHANGE:
        raise CannotTranslate(
            f"a change by {change} takes that many stack symbols: rule {rule}",
            where=rule.where,
            fix=f"changes up to {MAX_CHANGE:,} are translated",
        )
    if change >= 0:
        push = (*[BOX] * change, top)
        yield Transition(rule.source, rule.target, rule.guard, top, push, rule.reward, rule.where)
        return
    helpers: list[str] = []
    for i in range(1, -change + 1):
        helpers.append(fresh_name(f"{rule.source}.{number}.{top}.{i}", names))
        names[helpers[-1]] = None
    yield Transition(rule.source, helpers[0], rule.guard, top, (top,), 0, rule.where)
    for helper, following in zip(helpers, [*helpers[1:], rule.target], strict=True):
        reward = rule.reward if helper == helpers[-1] else 0
        yield Transition(helper, following, SILENT, BOX, (), reward, rule.where)
        yield Transition(helper, following, SILENT, BOTTOM, (BOTTOM,), reward, rule.where)


# --- A stack as a number (Section 5): base b = |Γ| + 1, the uppermost symbol the last digit, digits 1…|Γ|
#
# The paper's own encoding of mazes (digit 0 for `u`, base 4) cannot tell `u` from `u u`; with no digit 0, different stacks
# are different numbers. The top symbol stays outside the number, in the automaton's state, where rules can look at it.


def encode(machine: PushdownRewardMachine, stack: Stack) -> int:
    """The number for some symbols, top first: digit 1 is the bottom symbol, then as they are declared."""
    number = 0
    for symbol in reversed(stack):
        number = number * (len(machine.stack) + 1) + machine.stack.index(symbol) + 1
    return number


AT, MULTIPLY, RETURN, DIVIDE = "", "*", "^", "%"


class Stage(NamedTuple):
    """A state of the automaton: at a head, or on the way to one.

    MULTIPLY: counter 1 goes b-fold to counter 2, to make room for the last of the symbols left to push. RETURN: counter 2 goes
    back to counter 1; then the symbols left are pushed. DIVIDE: what has left counter 1 so far is b times counter 2, and a
    remainder; the top of the head is not known yet.
    """

    kind: str
    head: Head
    left: Stack = ()
    remainder: int = 0

    @property
    def stem(self) -> str:
        """Its name, unless that is taken."""
        return f"{self.head.state}@{self.head.top or ''}{self.kind}"


def head_names(machine: PushdownRewardMachine) -> dict[Head, str]:
    """The automaton's states between two labels: one for each head, final states included."""
    names: dict[str, Head] = {}
    for head in all_heads(machine):
        names[fresh_name(Stage(AT, head).stem, names)] = head
    return {head: name for name, head in names.items()}


def counting_configuration(
    machine: PushdownRewardMachine, configuration: Configuration
) -> CountingConfiguration:
    """The automaton's configuration that stands for one of the pushdown machine's."""
    name = head_names(machine)[Head(configuration.state, configuration.top)]
    return CountingConfiguration(name, (encode(machine, configuration.stack[1:]), 0))


# --- A pushdown machine as an automaton with two counters (Section 5, and the CRA of the 1-TreasureMaze experiment)
#
# The top symbol is part of the state, counter 1 holds the rest as a number in base b, counter 2 is scratch.
# Changes are constant, so a push counts (-1, +b) until counter 1 is zero and then back, and a pop divides through b states.
# These moves are silent, pay 0, and are about as many as the number is large: exponentially many in the stack's height.


def pushdown_to_counting(machine: PushdownRewardMachine) -> CountingRewardAutomaton:
    """The automaton with two counters that pays the same in every step; a rule's first move pays, the others pay 0.

    >>> from pdrm.machines.guards import Event
    >>> push = Transition("u0", "u0", Event("A"), "z", ("A", "z"), 1)
    >>> machine = PushdownRewardMachine("tiny", ("A",), ("#", "A"), "u0", (), Otherwise.error(), (push,))
    >>> word = [frozenset("A")] * 3
    >>> print(pushdown_to_counting(machine).run(word).after, machine.run(word).after, sep="; ")
    u0@A, [17, 0]; u0, A A A #
    """
    heads = head_names(machine)
    names = {Stage(AT, head): name for head, name in heads.items()}
    rules: list[CountingTransition] = []
    todo = [*names]
    while todo:
        stage = todo.pop()
        for target, guard, tests, changes, reward in _leave(machine, stage):
            if target not in names:
                names[target] = fresh_name(target.stem, names.values())
                todo.append(target)
            rule = CountingTransition(
                names[stage], names[target], guard, tuple(tests), changes, reward
            )
            rules.append(rule)
    final = tuple(name for head, name in heads.items() if head.state in machine.final)
    # `go` leads to another state for each top symbol, so it has been written as rules
    otherwise = Otherwise.error() if machine.otherwise.action == "go" else machine.otherwise
    return CountingRewardAutomaton(
        machine.name,
        machine.events,
        2,
        heads[Head(machine.start, machine.stack[0])],
        final,
        otherwise,
        tuple(rules),
        machine.exclusive,
        tuple(name for name in names.values() if name not in final),
    )


_Leaving = tuple[Stage, Guard, str, tuple[int, int], float]
"""A rule of the automaton: the stage that it leads to, the guard, the tests, the changes, and the reward."""


def _leave(machine: PushdownRewardMachine, stage: Stage) -> Iterator[_Leaving]:
    """The rules that leave a stage."""
    base = len(machine.stack) + 1
    kind, head, left, remainder = stage
    if kind == MULTIPLY:
        yield stage, SILENT, "1-", (-1, base), 0
        then = Stage(RETURN, head, left[:-1])
        yield then, SILENT, "0-", (encode(machine, left[-1:]), 0), 0
    elif kind == RETURN:
        yield stage, SILENT, "-1", (1, -1), 0
        yield Stage(MULTIPLY if left else AT, head, left), SILENT, "-0", (0, 0), 0
    elif kind == DIVIDE:
        following = (remainder + 1) % base
        then = stage._replace(remainder=following)
        yield then, SILENT, "1-", (-1, int(following == 0)), 0
        # the remainder is the new top's digit; since no digit is 0, a remainder of 0 means that nothing is left
        top = machine.stack[remainder - 1] if remainder else None
        yield Stage(RETURN, Head(head.state, top)), SILENT, "0-", (0, 0), 0
    elif head.state not in machine.final:
        yield from _leave_head(machine, head)


def _leave_head(machine: PushdownRewardMachine, head: Head) -> Iterator[_Leaving]:
    """The pushdown machine's own rules at a head, and its `otherwise go`."""
    for rule, labels in rules_at(machine, head):
        if isinstance(rule, Otherwise):
            if rule.target is not None:
                target = Stage(AT, Head(rule.target, head.top))
                yield target, labels.formula(), "--", (0, 0), rule.reward
            continue
        # rules that name the top come first, and an automaton knows no precedence
        is_whole = labels & machine.sets.all == machine.sets.labels_of(rule.guard)
        guard = rule.guard if is_whole else labels.formula()
        pushed = rule.replacement(head.top)
        target = Stage(DIVIDE, Head(rule.target, None))
        if pushed:
            kind = MULTIPLY if len(pushed) > 1 else AT
            target = Stage(kind, Head(rule.target, pushed[0]), pushed[1:])
        yield target, guard, "--", (0, 0), rule.reward
