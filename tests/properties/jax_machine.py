"""The machine in JAX is the readable one: the same state, stack and status after every label of random words, full stacks
included, and the same reward up to the rounding of 32-bit numbers.

Tables are padded to one size a number of symbols, so that one program is compiled for each and all words run at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import jax
import numpy as np

from pdrm.errors import UndefinedMove
from pdrm.machines.guards import Label, label_text
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import OK, OVERFLOW, UNDEFINED
from pdrm.machines.tables import Table, begin_table, tabulate
from pdrm.product.jax_env.jax_product import JaxMachine
from tests.properties.random_machines import described, random_machine, random_words

MACHINES = 100
WORDS = 200
LONGEST = 12
STATES, LABELS, MOVES, PUSH = 7, 16, 512, 4
DEPTHS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 40)
"""How deep the stacks are: many words fill the smaller ones."""
ROUNDING = 2.0**-22
"""Of a sum of rewards, relative to the sum of their sizes."""


def check(seed: int, machines: int = MACHINES, words: int = WORDS) -> Counter[str]:
    """Run random words by both."""
    random, counted = Random(seed), Counter[str]()
    for number in range(machines):
        machine = random_machine(random)
        labels = list(machine.alphabet.labels())
        depth = DEPTHS[
            (seed + number // 8) % len(DEPTHS)
        ]  # a few machines each: a depth is a program to compile
        counted += compared(
            machine, labels, random_words(random, len(labels), words, LONGEST), depth
        )
    return counted


def compared(
    machine: PushdownRewardMachine, labels: Sequence[Label], words: list[list[int]], depth: int
) -> Counter[str]:
    """How many words ended how; raises at the first on which they differ."""
    table = padded(tabulate(machine, labels))
    if len(machine.begin().after.stack) > depth:
        return Counter({"machines whose first stack does not fit": 1})
    traces = [column.tolist() for column in run(table, depth, words)]
    counted = Counter[str](cases=len(words))
    for number, word in enumerate(words):
        trace = [column[number] for column in traces]
        named = [labels[one] for one in word]
        try:
            counted[same_until(machine, named, trace, depth)] += 1
        except AssertionError as error:
            shown = " ".join(map(label_text, named))
            raise AssertionError(
                f"{described(machine)}\nword {shown}, depth {depth}\n{error}"
            ) from None
    del counted["read"]
    return counted


def same_until(
    machine: PushdownRewardMachine, word: list[Label], trace: list[Any], depth: int
) -> str:
    """How the word ended: read, without a move, or on a full stack. Raises where the trace by JAX differs."""
    states, symbols = (*machine.states, *machine.final), ("", *machine.stack)
    here = machine.begin().after
    for label, state, stack, height, reward, status in zip(word, *trace, strict=False):
        if here.state in machine.final:
            break
        said = f"JAX: {state = } {stack = } {height = } {reward = } {status = }"
        try:
            step = machine.step(here, label)
        except UndefinedMove:
            assert status == UNDEFINED, f"{said}, but there is no move"
            return "words with an undefined move"
        if max(len(move.after.stack) for move in step.moves) > depth:
            assert status == OVERFLOW, f"{said}, not {step}"
            return "words that overfill the stack"
        here = step.after
        seen = states[state], tuple(symbols[symbol] for symbol in stack if symbol), height, status
        assert seen == (here.state, here.stack, len(here.stack), OK), f"{said}, not {step}"
        sizes = sum(abs(move.reward) for move in step.moves)
        assert abs(reward - step.reward) <= ROUNDING * sizes + 1e-30, f"{said}, not {step.reward}"
    return "read"


def padded(table: Table) -> Table:
    """The table in arrays of one size."""
    symbols = table.move.shape[2]
    return table._replace(
        move=_grown(table.move, (STATES, LABELS, symbols), -1),
        silent=_grown(table.silent, (STATES, symbols), -1),
        push=_grown(table.push, (MOVES, PUSH), 0),
        target=_grown(table.target, (MOVES,), 0),
        pops=_grown(table.pops, (MOVES,), 0),
        pushes=_grown(table.pushes, (MOVES,), 0),
        reward=_grown(table.reward, (MOVES,), 0),
    )


def run(table: Table, depth: int, words: list[list[int]]) -> tuple[np.ndarray[Any, Any], ...]:
    """[words, labels] states, stacks ([…, depth]), heights, rewards and statuses after each label, whatever came before."""
    begun, numbers = begin_table(table), ("start", "bottom", "first_final")
    arrays = {name: column for name, column in table._asdict().items() if name not in numbers}
    filled = np.zeros((len(words), LONGEST), np.int32)
    for number, word in enumerate(words):
        filled[number, : len(word)] = word
    start = JaxMachine(table, depth).pack(begun.state, begun.stack)
    return tuple(map(np.asarray, _program(depth)(arrays, start, filled)))


@cache
def _program(depth: int) -> Any:
    """Words in parallel, their labels one after the other."""

    def one(arrays: Any, start: Any, word: Any) -> Any:
        machine = JaxMachine(Table(**arrays, start=0, bottom=0, first_final=0), depth)

        def step(now: Any, label: Any) -> Any:
            stepped = machine.step(now, label)
            after = stepped.configuration
            return after, (
                after.state,
                machine.top(after, depth),
                after.height,
                stepped.reward,
                stepped.status,
            )

        return jax.lax.scan(step, start, word)[1]

    return jax.jit(jax.vmap(one, in_axes=(None, None, 0)))


def _grown(array: np.ndarray[Any, Any], shape: tuple[int, ...], fill: int) -> np.ndarray[Any, Any]:
    whole = np.full(shape, fill, array.dtype)
    whole[tuple(slice(n) for n in array.shape)] = array
    return whole
