"""Every end that a step can have when only the top of the stack is known, found with the readable machine."""

from __future__ import annotations

from pdrm.errors import BadCertificate
from pdrm.machines.configuration import Configuration
from pdrm.machines.guard import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transition import Stack

MOST = 10_000
"""Situations of one step that are followed."""

_Seen = tuple[str, Stack, bool, float]
"""A state, the symbols known of its stack, whether these are all, and what was paid."""
End = tuple[float, Configuration]
"""What a step pays, and the machine's state with the top of its stack alone."""


def step_ends(machine: PushdownRewardMachine, here: Configuration, label: Label) -> set[End] | None:
    """What reading a label pays and leads to, over all stacks with that top symbol; None where there is no move.

    >>> from pdrm.machines.catalogue import catalogue
    >>> echo = catalogue("echo")
    >>> sorted((paid, str(end)) for paid, end in step_ends(echo, Configuration("speak", ("a",)), frozenset({"say_a"})))
    [(0.0, 'speak, (empty)'), (0.0, 'speak, a'), (0.0, 'speak, b'), (1.0, 'done, #')]
    """
    rule, otherwise = machine.rule(here.state, label, here.top), machine.otherwise
    if rule is None and otherwise.action == "error":
        return None
    target = (otherwise.target or here.state) if rule is None else rule.target
    known = here.stack if rule is None else rule.pushed(here.top)
    seen: set[_Seen] = {(target, known, here.top is None, otherwise.reward if rule is None else rule.reward)}
    found, todo = set[End](), list(seen)
    after: list[_Seen]
    for state, symbols, all_known, paid in todo:
        if not symbols and not all_known:  # what lies below is seen only now: any symbol, or the end of the stack
            after = [(state, (symbol,), False, paid) for symbol in machine.stack] + [(state, (), True, paid)]
        else:
            top = symbols[0] if symbols else None
            silent = machine.rule(state, None, top)
            if silent is None:
                found.add((paid, Configuration(state, symbols[:1])))
                continue
            after = [(silent.target, silent.pushed(top) + symbols[1:], all_known, paid + silent.reward)]
        todo.extend(one for one in after if one not in seen)
        seen.update(after)
        if len(seen) > MOST:
            raise BadCertificate("one step of the machine can take too many silent moves", fix="bound the stack")
    return found
