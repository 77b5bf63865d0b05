"""A stack as a number (Section 5): base b = |Γ| + 1, the uppermost symbol the last digit, digits 1…|Γ|.

The paper's own encoding of mazes (digit 0 for `u`, base 4) cannot tell `u` from `u u`; with no digit 0, different stacks
are different numbers. The top symbol stays outside the number, in the automaton's state, where rules can look at it.
"""

from __future__ import annotations

from pdrm.errors import UnknownConfiguration
from pdrm.machines.configuration import Configuration
from pdrm.machines.counting import CountingConfiguration
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.silent import Head
from pdrm.machines.transition import Stack
from pdrm.machines.translation import fresh_name


def number_base(machine: PushdownRewardMachine) -> int:
    """One more than there are stack symbols."""
    return len(machine.stack) + 1


def digit_of(machine: PushdownRewardMachine, symbol: str) -> int:
    """The digit of a stack symbol: 1 for the bottom one, then as they are declared."""
    return machine.stack.index(symbol) + 1


def encode(machine: PushdownRewardMachine, stack: Stack) -> int:
    """The number for some symbols, top first."""
    number = 0
    for symbol in reversed(stack):
        number = number * number_base(machine) + digit_of(machine, symbol)
    return number


def decode(machine: PushdownRewardMachine, number: int) -> Stack:
    """The symbols, top first, that a number stands for."""
    symbols: list[str] = []
    while number:
        number, digit = divmod(number, number_base(machine))
        symbols.append(machine.stack[digit - 1])
    return tuple(symbols)


def head_names(machine: PushdownRewardMachine) -> dict[Head, str]:
    """The automaton's states between two labels: one for each head, final states included."""
    names: dict[Head, str] = {}
    taken: set[str] = set()
    for state in (*machine.states, *machine.final):
        for top in (*machine.stack, None):
            names[Head(state, top)] = fresh_name(f"{state}@{'' if top is None else top}", taken)
            taken.add(names[Head(state, top)])
    return names


def counting_configuration(machine: PushdownRewardMachine, configuration: Configuration) -> CountingConfiguration:
    """The automaton's configuration that stands for one of the pushdown machine's."""
    name = head_names(machine)[Head(configuration.state, configuration.top)]
    return CountingConfiguration(name, (encode(machine, configuration.stack[1:]), 0))


def pushdown_configuration(machine: PushdownRewardMachine, configuration: CountingConfiguration) -> Configuration:
    """The pushdown machine's configuration that one of the automaton's stands for, between two labels."""
    for head, name in head_names(machine).items():
        if name == configuration.state:
            top = () if head.top is None else (head.top,)
            return Configuration(head.state, top + decode(machine, configuration.counters[0]))
    raise UnknownConfiguration(
        f"`{configuration.state}` stands for no state and top of `{machine.name}`",
        fix="decode configurations between two labels",
    )


def stack_of(machine: PushdownRewardMachine, configuration: CountingConfiguration) -> Stack:
    """The stack, top first, that a configuration of the automaton stands for, between two labels."""
    return pushdown_configuration(machine, configuration).stack
