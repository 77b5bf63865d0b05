"""From a written rule to a transition of the machine's kind: with a stack, with counters, or with neither."""

from __future__ import annotations

import re

from pdrm.errors import BadNumber, CannotRead, NoBottom
from pdrm.machines.counting import CountingTransition
from pdrm.machines.reward_machine import RewardTransition
from pdrm.machines.text.document import RuleSpec
from pdrm.machines.transition import NONE, Transition

WHOLE = re.compile(r"[+-]?\d{1,9}", re.ASCII)
"""A whole number as it may be written."""


def stack_rule(rule: RuleSpec) -> Transition:
    """`u0 -> u1 : LABEL, TOP / PUSH, REWARD`."""
    if rule.look is None or rule.change is None or rule.vector:
        fix = "write SOURCE -> TARGET : LABEL, TOP / PUSH, REWARD; the top may be `z` (any) or `eps` (none)"
        raise CannotRead(
            "a rule of a machine with a stack names the top and what replaces it", where=rule.where, fix=fix
        )
    push = tuple(symbol for symbol in rule.change if symbol != NONE)
    return Transition(rule.source, rule.target, rule.guard, rule.look[0], push, rule.reward, rule.where)


def counter_rule(rule: RuleSpec, counters: int) -> CountingTransition:
    """`u0 -> u1 : LABEL, [TEST, …] / [CHANGE, …], REWARD`."""
    if rule.look is None or rule.change is None or not rule.vector:
        fix = "write SOURCE -> TARGET : LABEL, [0, 1 or -] / [CHANGE], REWARD, one entry a counter"
        raise CannotRead("a rule of a counting automaton tests and changes its counters", where=rule.where, fix=fix)
    for entries, what in ((rule.look, "tests"), (rule.change, "changes")):
        if len(entries) != counters:
            fault = f"the rule {what} {len(entries)} counters, but the automaton has {counters}"
            raise BadNumber(fault, where=rule.where, fix=f"write {counters} entries between the brackets")
    for test in rule.look:
        if test not in ("0", "1", "-"):
            fix = "use 0 (zero), 1 (not zero) or - (either)"
            raise BadNumber(f"`{test[:40]}` is no counter test", where=rule.where, fix=fix, word=test)
    for change in rule.change:
        if not WHOLE.fullmatch(change):
            fix = "use a whole number such as +1, 0 or -2"
            raise BadNumber(f"`{change[:40]}` is no counter change", where=rule.where, fix=fix, word=change)
    changes = tuple(int(change) for change in rule.change)
    return CountingTransition(rule.source, rule.target, rule.guard, rule.look, changes, rule.reward, rule.where)


def plain_rule(rule: RuleSpec) -> RewardTransition:
    """`u0 -> u1 : LABEL, REWARD`."""
    if rule.vector:
        fix = "add a line such as `counters 1`"
        raise BadNumber("the rule tests counters, but there is no `counters` line", where=rule.where, fix=fix)
    if rule.look is not None:
        fix = "list the stack symbols, the bottom one first: `stack # A`"
        raise NoBottom("the rule uses a stack, but no `stack` line names the bottom symbol", where=rule.where, fix=fix)
    return RewardTransition(rule.source, rule.target, rule.guard, rule.reward, rule.where)
