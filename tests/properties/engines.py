"""Three engines, one machine: the readable step, the plain step on tables and the Numba kernel agree on every word, in each
state, stack and reward (bit for bit), in where a word ends and why. The kernel's stacks start small, so that they grow.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from pdrm.errors import MachineFinished, UndefinedMove
from pdrm.machines.guards import Label, label_text
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import FINISHED, OK, UNDEFINED, Stacks
from pdrm.machines.tables import Symbols, Table, begin_table, step_table, tabulate
from pdrm.machines.transitions import Step
from tests.properties.random_machines import described, random_machine, random_words
from tests.properties.words_kernel import Words, run

MACHINES = 100
WORDS = 500


class Trace(NamedTuple):
    """What a word did: the configurations from the start on, the bits of their rewards, and how it ended."""

    states: list[int]
    stacks: list[Symbols]
    rewards: bytes
    status: int


def check(seed: int, machines: int = MACHINES, words: int = WORDS) -> int:
    """Compare the engines on random machines and words."""
    random = Random(seed)
    for _ in range(machines):
        machine = random_machine(random)
        labels = list(machine.alphabet.labels())
        compare(machine, labels, random_words(random, len(labels), words))
    return machines * words


def compare(
    machine: PushdownRewardMachine, labels: Sequence[Label], words: list[list[int]]
) -> None:
    """Raise at the first word on which two engines differ."""
    table = tabulate(machine, labels)
    numbers = _readable_numbers(machine)
    for word, kernel in zip(words, kernel_traces(table, len(machine.stack), words), strict=True):
        readable = _readable_trace(machine, [labels[number] for number in word], numbers)
        tabled = table_trace(table, word)
        if not readable == tabled == kernel:
            shown = " ".join(label_text(labels[number]) for number in word)
            raise AssertionError(
                f"{described(machine)}\nword {shown}\n{readable = }\n{tabled = }\n{kernel = }"
            )


Numbers = Callable[[Step], tuple[int, Symbols]]


def _readable_numbers(machine: PushdownRewardMachine) -> Numbers:
    """The state and the stack after a step, numbered as tables do."""
    states = {state: number for number, state in enumerate((*machine.states, *machine.final))}
    symbols = {symbol: number for number, symbol in enumerate(machine.stack, start=1)}
    return lambda step: (
        states[step.after.state],
        tuple(symbols[symbol] for symbol in step.after.stack),
    )


def _readable_trace(machine: PushdownRewardMachine, word: list[Label], numbers: Numbers) -> Trace:
    try:
        result = machine.run(word)
        steps, status = list(result.steps), FINISHED if result.unread else OK
    except UndefinedMove:
        steps, status = list(_steps_until_undefined(machine, word)), UNDEFINED
    states, stacks = zip(*map(numbers, steps), strict=True)
    return Trace(list(states), list(stacks), _bits([step.reward for step in steps]), status)


def _steps_until_undefined(machine: PushdownRewardMachine, word: list[Label]) -> Iterator[Step]:
    step = machine.begin()
    yield step
    for label in word:
        try:
            step = machine.step(step.after, label)
        except UndefinedMove:
            return
        yield step


def table_trace(table: Table, word: list[int]) -> Trace:
    """A word run by the plain step on tables."""
    steps, status = [begin_table(table)], OK
    for label in word:
        try:
            steps.append(step_table(table, steps[-1].state, steps[-1].stack, label))
        except (MachineFinished, UndefinedMove) as error:
            status = FINISHED if isinstance(error, MachineFinished) else UNDEFINED
            break
    states, stacks, rewards = zip(*steps, strict=True)
    return Trace(list(states), list(stacks), _bits(rewards), status)


def kernel_traces(table: Table, symbols: int, words: list[list[int]]) -> Iterator[Trace]:
    """Words run by the Numba kernel."""
    packed = Words.of(words)
    stacks, runs = run(table, Stacks.empty(symbols, capacity=4), packed)
    decoded = [stacks.stack_of(node) for node in range(int(stacks.made[0]))]
    states, nodes = runs.state.tolist(), [decoded[node] for node in runs.node]
    for word, (offset, read, status) in enumerate(
        zip(packed.offsets[:-1].tolist(), runs.read.tolist(), runs.status.tolist(), strict=True)
    ):
        entries = slice(offset + word, offset + word + read + 1)
        yield Trace(states[entries], nodes[entries], runs.reward[entries].tobytes(), status)


def _bits(rewards: Sequence[float]) -> bytes:
    return array("d", rewards).tobytes()
