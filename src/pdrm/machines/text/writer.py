"""Writing machines as canonical .pdrm text: `parse(to_text(machine)) == machine`."""

from __future__ import annotations

from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.rules import states_of
from pdrm.machines.text.build import AnyMachine
from pdrm.machines.text.layout import lay_out


def to_text(machine: AnyMachine) -> str:
    """The machine as a .pdrm file, every rule on its own line.

    >>> from pdrm.machines.reward_machine import RewardMachine
    >>> from pdrm.machines.transition import Otherwise
    >>> print(to_text(RewardMachine("idle", ("a",), "u", (), Otherwise.stay(0), ())), end="")
    name      idle
    events    a
    start     u
    final
    otherwise stay 0
    """
    lines = [f"name {machine.name}", f"events {' '.join(machine.events)}"]
    lines += [f"exclusive {' '.join(group)}" for group in machine.exclusive]
    if isinstance(machine, PushdownRewardMachine):
        lines.append(f"stack {' '.join(machine.stack)}")
    elif isinstance(machine, CountingRewardAutomaton):
        lines.append(f"counters {machine.counters}")
    if machine.states != states_of(machine.start, machine.final, machine.transitions):
        lines.append(f"states {' '.join(machine.states)}")
    lines += [f"start {machine.start}", f"final {' '.join(machine.final)}", f"otherwise {machine.otherwise}"]
    rules = [str(rule) for rule in machine.transitions]
    return lay_out("\n".join([*lines, *([""] if rules else []), *rules]) + "\n", machine.name)
