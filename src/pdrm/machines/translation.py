"""Reward machines and 1-counter automata as pushdown reward machines that pay the same on every word (Appendix B).

The counter's value n is the stack `□ … □ #` with n boxes. A rule that counts down by m reads its label, pays 0 and goes
through m helper states, each taking one box off unless `#` is on top; the last one pays the reward. The appendix names the
helpers after q, σ, γ and i; here a rule may read many σ, so its number stands for σ. Silent rules are its case σ = ε.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from pdrm.errors import CannotTranslate, EndlessSilentMoves
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guard import SILENT
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reward_machine import RewardMachine
from pdrm.machines.transition import NONE, Transition

BOTTOM, BOX = "#", "□"
TOPS = {"0": (BOTTOM,), "1": (BOX,), "-": (BOTTOM, BOX)}
"""The top symbols at which a counter test holds."""

MOST_CHANGE = 1_000
"""The largest change of a counter that is translated: it becomes that many symbols pushed, or helper states."""

LONGEST_NAME = 90
"""Characters of a made-up name, with room for a number to tell it from others."""


def reward_machine_to_pushdown(machine: RewardMachine) -> PushdownRewardMachine:
    r"""The machine with a stack `#` that no rule looks at.

    >>> from pdrm.machines.text.files import parse
    >>> machine = reward_machine_to_pushdown(parse("events a\nstart u\notherwise stay 0\nu -> u : a, 1"))
    >>> machine.stack, machine.run([frozenset("a")] * 3).reward
    (('#',), 3.0)
    """
    rules = (
        Transition(rule.source, rule.target, rule.guard, NONE, (), rule.reward, rule.where)
        for rule in machine.transitions
    )
    return PushdownRewardMachine(
        machine.name,
        machine.events,
        (BOTTOM,),
        machine.start,
        machine.final,
        machine.otherwise,
        tuple(rules),
        machine.exclusive,
        machine.states,
    )


def counting_to_pushdown(machine: CountingRewardAutomaton) -> PushdownRewardMachine:
    """The pushdown machine of Appendix B; `CannotTranslate` where there is none.

    >>> from pdrm.machines.catalogue import catalogue
    >>> counting_to_pushdown(catalogue("letter-cra")).run([frozenset(event) for event in "AABCCC"]).reward
    0.95
    """
    _check(machine)
    names = dict.fromkeys((*machine.states, *machine.final))
    rules = [
        rule
        for number, counting in enumerate(machine.transitions, start=1)
        for top in TOPS[counting.tests[0]]
        for rule in _translated(counting, number, top, names)
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
            f"the silent moves of `{machine.name}` need not end, and a pushdown machine's must: {error.message}",
            where=error.where,
            fix=error.fix,
        ) from error


def _check(machine: CountingRewardAutomaton) -> None:
    if machine.counters > 1:
        raise CannotTranslate(
            f"`{machine.name}` has {machine.counters} counters: two can do what no stack can (Section 5)",
            fix="only counting automata with one counter become pushdown machines",
        )
    for rule in machine.transitions:
        if abs(rule.changes[0]) > MOST_CHANGE:
            raise CannotTranslate(
                f"a change by {rule.changes[0]} takes that many stack symbols: rule {rule}",
                where=rule.where,
                fix=f"changes up to {MOST_CHANGE:,} are translated",
            )


def _translated(rule: CountingTransition, number: int, top: str, names: dict[str, None]) -> Iterator[Transition]:
    """The rules for one counting rule and top symbol γ; the helper states that they use are added to `names`."""
    change = rule.changes[0]
    if change >= 0:
        yield Transition(
            rule.source, rule.target, rule.guard, top, (*[BOX] * change, top), rule.reward, where=rule.where
        )
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


def fresh_name(wanted: str, taken: Container[str]) -> str:
    """The wanted name, cut where it is too long for a name, and numbered where it is taken.

    >>> fresh_name("u0", ["u0", "u0~1"])
    'u0~2'
    """
    stem = wanted if len(wanted) <= LONGEST_NAME else wanted[-80:].lstrip("-")
    name, number = stem, 0
    while name in taken:
        number += 1
        name = f"{stem}~{number}"
    return name
