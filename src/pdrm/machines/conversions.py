"""Conversions between the two kinds of machine.

An automaton with one counter becomes a pushdown machine (Appendix B). A pushdown machine becomes an
automaton with two counters (Section 5).
"""

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

# --- Automata with one counter as pushdown machines with the same rewards (Appendix B)
#
# The counter value n is the stack `□ … □ #` with n boxes. A rule that decrements by m reads its
# label with reward 0 and passes through m helper states. Each helper pops a box unless `#` is on
# top, and the last one gives the reward. The appendix names the helpers after q, σ, γ and i. Here
# a rule can read many σ, so its number replaces σ. Silent rules are the case σ = ε.

BOX = "□"
TOPS = {"0": (BOTTOM,), "1": (BOX,), "-": (BOTTOM, BOX)}
"""The top symbols for which a counter test holds."""

MAX_CHANGE = 1_000
"""The maximum change of a counter: it becomes that many pushed symbols or helper states."""


def counting_to_pushdown(machine: CountingRewardAutomaton) -> PushdownRewardMachine:
    """Return the pushdown machine of Appendix B; raise `CannotTranslate` if there is none.

    >>> from pdrm.language.loading import catalogue
    >>> machine = counting_to_pushdown(catalogue("letter-cra"))
    >>> machine.run([frozenset(event) for event in "AABCCC"]).reward
    0.95
    """
    if machine.counters > 1:
        raise CannotTranslate(
            f"`{machine.name}` has {machine.counters} counters: "
            "no stack can replace two counters (Section 5)",
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
        raise CannotTranslate(
            f"the silent moves of `{machine.name}` may never end, "
            f"and those of a pushdown machine must: {error.message}",
            where=error.where,
            fix=error.fix,
        ) from error


def _translate(
    rule: CountingTransition, number: int, top: str, names: dict[str, None]
) -> Iterator[Transition]:
    """Yield the rules for a counting rule and a top symbol γ, and add their helpers to `names`."""
    (change,) = rule.changes
    if abs(change) > MAX_CHANGE:
        raise CannotTranslate(
            f"a change by {change} needs that many stack symbols: rule {rule}",
            where=rule.where,
            fix=f"change a counter by at most {MAX_CHANGE:,}",
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


# --- A stack as a number (Section 5) in base b = |Γ| + 1 with digits 1…|Γ|, the top the last digit
#
# The paper's encoding of mazes (digit 0 for `u`, base 4) cannot distinguish `u` from `u u`. Without
# the digit 0, different stacks are different numbers. The top symbol is not part of the number but
# of the automaton's state, where rules can look at it.


def encode(machine: PushdownRewardMachine, stack: Stack) -> int:
    """Encode a stack, top first, as a number. The digits are in the order of `machine.stack`."""
    number = 0
    for symbol in reversed(stack):
        number = number * (len(machine.stack) + 1) + machine.stack.index(symbol) + 1
    return number


AT, MULTIPLY, RETURN, DIVIDE = "", "*", "^", "%"
"""The kinds of stages."""


class Stage(NamedTuple):
    """A state of the automaton: at a head, or between two heads.

    - AT a head, the automaton reads a label or makes a silent move.
    - MULTIPLY moves b times counter 1 to counter 2, to make room for the last symbol to push.
    - RETURN moves counter 2 back to counter 1, then pushes the remaining symbols.
    - DIVIDE moves counter 1, divided by b, to counter 2. The remainder is the new top symbol.
    """

    kind: str
    head: Head
    left: Stack = ()
    """The symbols that are still to be pushed."""
    remainder: int = 0

    @property
    def stem(self) -> str:
        """The name of the state, unless it is taken."""
        return f"{self.head.state}@{self.head.top or ''}{self.kind}"


def head_names(machine: PushdownRewardMachine) -> dict[Head, str]:
    """The automaton's state for each head, including heads of final states."""
    names: dict[Head, str] = {}
    for head in all_heads(machine):
        names[head] = fresh_name(Stage(AT, head).stem, names.values())
    return names


def counting_configuration(
    machine: PushdownRewardMachine, configuration: Configuration
) -> CountingConfiguration:
    """The configuration of the automaton for a configuration of the pushdown machine."""
    name = head_names(machine)[Head(configuration.state, configuration.top)]
    return CountingConfiguration(name, (encode(machine, configuration.stack[1:]), 0))


# --- Pushdown machines as automata with two counters (Section 5, and the CRA of 1-TreasureMaze)
#
# The top symbol is part of the state, counter 1 encodes the rest of the stack, and counter 2 is a
# scratch register. Changes are constant, so a push counts (-1, +b) until counter 1 is zero and then
# back, and a pop divides by cycling through b states. These moves are silent and have the reward 0.
# Their number is linear in the encoded number, so exponential in the height of the stack.


def pushdown_to_counting(machine: PushdownRewardMachine) -> CountingRewardAutomaton:
    """Return the automaton with two counters that gives the same reward in every step.

    The first move for a rule gives its reward, the others give 0.

    >>> from pdrm.machines.guards import Event
    >>> push = Transition("u0", "u0", Event("A"), "z", ("A", "z"), 1)
    >>> machine = PushdownRewardMachine(
    ...     "tiny", ("A",), ("#", "A"), "u0", (), Otherwise.error(), (push,)
    ... )
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
    # `go` leads to a different state for each top symbol, so it is translated to rules
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


_StageRule = tuple[Stage, Guard, str, tuple[int, int], float]
"""A rule of the automaton: the next stage, the guard, the tests, the changes, and the reward."""


def _leave(machine: PushdownRewardMachine, stage: Stage) -> Iterator[_StageRule]:
    """Yield the rules of a stage."""
    base = len(machine.stack) + 1
    kind, head, left, remainder = stage
    if kind == MULTIPLY:
        yield stage, SILENT, "1-", (-1, base), 0
        following = Stage(RETURN, head, left[:-1])
        yield following, SILENT, "0-", (encode(machine, left[-1:]), 0), 0
    elif kind == RETURN:
        yield stage, SILENT, "-1", (1, -1), 0
        yield Stage(MULTIPLY if left else AT, head, left), SILENT, "-0", (0, 0), 0
    elif kind == DIVIDE:
        next_remainder = (remainder + 1) % base
        following = stage._replace(remainder=next_remainder)
        yield following, SILENT, "1-", (-1, int(next_remainder == 0)), 0
        # The remainder is the digit of the new top. No digit is 0, so 0 means an empty stack.
        top = machine.stack[remainder - 1] if remainder else None
        yield Stage(RETURN, Head(head.state, top)), SILENT, "0-", (0, 0), 0
    elif head.state not in machine.final:
        yield from _leave_head(machine, head)


def _leave_head(machine: PushdownRewardMachine, head: Head) -> Iterator[_StageRule]:
    """Yield the rules of the pushdown machine at a head, and its `otherwise go`."""
    for rule, labels in rules_at(machine, head):
        if isinstance(rule, Otherwise):
            if rule.target is not None:
                target = Stage(AT, Head(rule.target, head.top))
                yield target, labels.formula(), "--", (0, 0), rule.reward
            continue
        # Rules that name the top have precedence. An automaton has no precedence.
        is_whole = labels & machine.sets.all == machine.sets.labels_of(rule.guard)
        guard = rule.guard if is_whole else labels.formula()
        pushed = rule.replacement(head.top)
        target = Stage(DIVIDE, Head(rule.target, None))
        if pushed:
            kind = MULTIPLY if len(pushed) > 1 else AT
            target = Stage(kind, Head(rule.target, pushed[0]), pushed[1:])
        yield target, guard, "--", (0, 0), rule.reward
