"""A word is accepted by a machine just when automata-lib's `DPDA` accepts it.

The automaton has one input character a label. It cannot look at an empty stack, so it keeps one more symbol, `_`, below
the machine's: the machine's empty stack is `_` alone, a rule that looks at no symbol is one rule for each symbol and `_`,
and `_` is put back under what is pushed there. A first silent rule puts the machine's bottom symbol on it. Both stop at a
final state, which no rule leaves: there a rest of the word is a rejection, as is a label with no rule (`otherwise error`).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from automata.pda.dpda import DPDA

from pdrm.errors import UndefinedMove
from pdrm.machines.guards import Label, label_text
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import ANY, NONE, Transition
from tests.properties.random_machines import described, random_machine, random_words

MACHINES = 100
WORDS = 200

BEGIN = "begin"
"""The automaton's first state; no random machine has a state of this name."""
BELOW = "_"
"""The automaton's own symbol below the machine's; no random machine has it."""

Paths = dict[str, dict[str, tuple[str, tuple[str, ...]]]]


def check(seed: int, machines: int = MACHINES, words: int = WORDS) -> int:
    """Compare acceptance on random machines and words; every second word is cut where it reaches a final state."""
    random = Random(seed)
    for _ in range(machines):
        machine = random_machine(random)
        labels = list(machine.alphabet.labels())
        automaton = converted(machine, labels)
        for number, word in enumerate(random_words(random, len(labels), words)):
            compare(machine, automaton, labels, cut(machine, labels, word) if number % 2 else word)
    return machines * words


def compare(
    machine: PushdownRewardMachine, automaton: DPDA, labels: Sequence[Label], word: Sequence[int]
) -> bool:
    """Whether the word is accepted; raises where machine and automaton differ."""
    ours = accepted(machine, [labels[number] for number in word])
    theirs = automaton.accepts_input("".join(map(_character, word)))
    if ours != theirs:
        shown = " ".join(label_text(labels[number]) for number in word)
        raise AssertionError(f"{described(machine)}\nword {shown}\n{ours = } {theirs = }")
    return ours


def accepted(machine: PushdownRewardMachine, word: Sequence[Label]) -> bool:
    """Whether the machine accepts; an undefined move is a rejection."""
    try:
        return machine.run(word).accepted
    except UndefinedMove:
        return False


def cut(
    machine: PushdownRewardMachine, labels: Sequence[Label], word: Sequence[int]
) -> Sequence[int]:
    """The word up to the final state it reaches: else nearly every word would be rejected for its unread rest."""
    try:
        unread = machine.run(labels[number] for number in word).unread
    except UndefinedMove:
        return word
    return word[: len(word) - unread]


def converted(machine: PushdownRewardMachine, labels: Sequence[Label]) -> DPDA:
    """The machine as a deterministic pushdown automaton, its rules read off one by one."""
    transitions: dict[str, Paths] = {
        BEGIN: {"": {BELOW: (machine.start, (machine.stack[0], BELOW))}}
    }
    for state in machine.states:
        paths: Paths = {}
        for top in (*machine.stack, BELOW):
            rules = [
                rule
                for rule in machine.transitions
                if rule.source == state and _looks_at(rule, top)
            ]
            silent = [rule for rule in rules if rule.silent]
            if silent:
                paths.setdefault("", {})[top] = _replaced(_strongest(silent), top)
                continue
            for number, label in enumerate(labels):
                reading = [rule for rule in rules if rule.guard.holds(label)]
                if reading:
                    paths.setdefault(_character(number), {})[top] = _replaced(
                        _strongest(reading), top
                    )
                elif machine.otherwise.action != "error":
                    target = state if machine.otherwise.target is None else machine.otherwise.target
                    paths.setdefault(_character(number), {})[top] = (target, (top,))
        transitions[state] = paths
    return DPDA(
        states={BEGIN, *machine.states, *machine.final},
        input_symbols={_character(number) for number in range(len(labels))},
        stack_symbols={*machine.stack, BELOW},
        transitions=transitions,
        initial_state=BEGIN,
        initial_stack_symbol=BELOW,
        final_states=set(machine.final),
        acceptance_mode="final_state",
    )


def _character(label: int) -> str:
    return chr(ord("A") + label)


def _looks_at(rule: Transition, top: str) -> bool:
    return rule.top in (top, NONE) or (rule.top == ANY and top != BELOW)


def _strongest(rules: list[Transition]) -> Transition:
    """The one rule that does not say `z`, or the only one: several with `z` may stand where another beats them all."""
    (rule,) = [rule for rule in rules if rule.top != ANY] or rules
    return rule


def _replaced(rule: Transition, top: str) -> tuple[str, tuple[str, ...]]:
    """Where a rule leads, and what replaces the top, new top first."""
    push = tuple(top if symbol == ANY else symbol for symbol in rule.push)
    return rule.target, push + ((top,) if rule.top == NONE else ())
