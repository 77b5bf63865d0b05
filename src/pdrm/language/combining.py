"""Combining tasks: one machine that runs several at once, and is final when a formula over them holds.

`product_machine` explores what the parts do together; here the result gets names and rules. What all
tops of a state do alike is one rule with `z`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pdrm.errors import BadSetting, UnknownMachine, WrongKind, did_you_mean
from pdrm.language.document import AnyMachine
from pdrm.language.product_machine import Part, Product
from pdrm.language.source import Line
from pdrm.language.syntax import read_guard
from pdrm.language.task_text import ENDS
from pdrm.machines.conversions import counting_to_pushdown
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import And, Event, Exactly, Formula, Or, Silent, events_of
from pdrm.machines.machine import NAME, fresh_name
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import reward_of

SEVERAL = "put the machines in a list: pdrm.combine([machine, other])"
"""The fix for machines that are given one by one."""


def combine(
    parts: Mapping[str, AnyMachine] | Iterable[AnyMachine],
    when: str = "and",
    *,
    weights: Mapping[str, float] | None = None,
    accept: str = "first",
    name: str = "",
) -> PushdownRewardMachine:
    """Make one machine that runs several at once and pays the sum of what they pay.

    Args:
        parts: Machines, by name (default: their own names). A part that reaches a final state
            stops there: it is *finished*, and pays no more.
        when: The combination is final when this formula over the names of finished parts holds:
            `"a & !b"` means that a is finished and b is not; `maze.home` that a part is in a state.
            `"and"` means all of them, `"or"` one.
        weights: What a part pays is multiplied by its weight (default: 1).
        accept: `"first"`: final as soon as the formula holds after a label. `"end"`: it is judged
            when the event `end` is read (the parts read that label too), so that `"!a"` can be said.
        name: The name of the combination.

    Each part reads the events of a label that are its own.

    Example:
        >>> import pdrm
        >>> once = pdrm.from_ltlf("F b", events=["a", "b"], reward=10, name="once")
        >>> both = combine([once, pdrm.from_regex('"a" "a"', name="twice")], weights={"twice": 0.5})
        >>> run = both.run([{"a"}, {"b"}, {"a"}])
        >>> run.accepted, run.reward
        (True, 10.5)
    """
    named = _name_parts(parts)
    formula = _read_when(when, named)
    if accept not in ENDS:
        raise BadSetting(f"`accept` is {accept!r}", fix='use "first" or "end"')
    given = dict(weights or {})
    for wrong in given.keys() - named.keys():
        raise BadSetting(
            f"`{wrong}` has a weight and is not a part", fix=did_you_mean(str(wrong), named)
        )
    taking_part = []
    for one, machine in named.items():
        if isinstance(machine, CountingRewardAutomaton):
            machine = counting_to_pushdown(machine)
        taking_part.append(Part(one, machine, reward_of(given.get(one, 1))))
    called = name or fresh_name("-".join(named), ())
    draft = Product(taking_part, formula, accept).draft()
    return draft.write(called if NAME.fullmatch(called) else "combination")


def _name_parts(parts: Mapping[str, AnyMachine] | Iterable[AnyMachine]) -> dict[str, AnyMachine]:
    named: dict[str, AnyMachine] = {}
    if not isinstance(parts, Iterable):
        raise WrongKind(f"{str(parts)[:40]!r} is not several machines", fix=SEVERAL)
    names = list(parts) if isinstance(parts, Mapping) else None
    for number, machine in enumerate(parts.values() if isinstance(parts, Mapping) else parts):
        if not isinstance(machine, PushdownRewardMachine | CountingRewardAutomaton):
            fix = 'pdrm.catalogue("letter"), pdrm.load("task.pdrm")'
            raise BadSetting(f"{str(machine)[:40]!r} is not a machine", fix=fix)
        free = fresh_name(str(names[number]) if names else machine.name, named)
        if not NAME.fullmatch(free):
            raise BadSetting(f"`{free[:40]}` cannot name a part", fix="use a word")
        named[free] = machine
    if not named:
        raise BadSetting("nothing is combined", fix="give two machines or more")
    return named


def _read_when(when: str, parts: Mapping[str, AnyMachine]) -> Formula:
    """The formula, whose events are parts or `part.state`."""
    events = tuple(map(Event, parts))
    if when in ("and", "or"):
        joined = And(events) if when == "and" else Or(events)
        return events[0] if len(events) == 1 else joined
    if not isinstance(when, str):
        raise WrongKind(f"`when` is {str(when)[:40]!r}, but must be a formula", fix=SEVERAL)
    line = Line("<when>", 1, when)
    guard = read_guard(line)
    if isinstance(guard, Silent | Exactly):
        fix = 'write for example "a & !b"'
        raise BadSetting("`when` is a formula over the parts", where=line.at(1, len(when)), fix=fix)
    known = list(parts)
    for name, machine in parts.items():
        known += [f"{name}.{state}" for state in (*machine.states, *machine.final)]
    for event in sorted(events_of(guard) - set(known)):
        found = re.search(rf"(?<![\w.-]){re.escape(event)}(?![\w.-])", when)
        where = line.at(found.start() + 1 if found else 1, len(event))
        fix = did_you_mean(event, known)
        raise UnknownMachine(f"`{event}` is not a part", where=where, fix=fix)
    return guard
