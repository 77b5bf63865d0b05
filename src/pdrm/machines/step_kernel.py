"""The Numba step: a machine's table run on hash-consed stacks, one label or many words at a time.

A configuration is two integers, a state and a node. The kernels check nothing: states, nodes and labels must be in range.
A kernel that meets a new stack where there is no room returns FULL with the configuration it was given; make room with
`stacks.room()` and call it again. Nodes it had made by then are found again, so the result and the numbers are the same.
"""

from __future__ import annotations

from numba import njit

from pdrm.machines.stacks import EMPTY, FINISHED, FULL, OK, UNDEFINED, Runs, Stacks, Words
from pdrm.machines.tables import BEGIN, Table

NumberedStep = tuple[int, int, float, int]
"""The state and the node after a step, what it paid, and its status (of `pdrm.machines.stacks`)."""


# Numba's cache looks at the date of this file only: after a change to the constants or the order of fields of Table, Stacks,
# Words or Runs, save this file too (the proofs compile afresh for every source).
#
# One loop with one exit, the push written out in it: split into functions that are handed the stacks inside the loop,
# Numba counts references to every array at every move and the whole is ten times slower (measured with Numba 0.68).
@njit(cache=True)
def follow(table: Table, stacks: Stacks, state: int, node: int, move: int) -> NumberedStep:
    """Take a move and then silent moves until none applies, their rewards added one by one. The status is OK or FULL."""
    here, at, paid, status = int(state), int(node), 0.0, OK
    while move >= 0 and status == OK:
        if table.pops[move]:
            at = int(stacks.parent[at])
        for position in range(table.pushes[move]):
            symbol = table.push[move, position]
            child = int(stacks.child[at, symbol])
            if child == EMPTY:
                child = int(stacks.made[0])
                if child == len(stacks.symbol):
                    status = FULL
                    break
                stacks.symbol[child] = symbol
                stacks.parent[child] = at
                stacks.height[child] = stacks.height[at] + 1
                stacks.child[at, symbol] = child
                stacks.made[0] = child + 1
            at = child
        here = int(table.target[move])
        paid += table.reward[move]
        move = table.silent[here, stacks.symbol[at]]
    if status == FULL:
        here, at, paid = int(state), int(node), 0.0
    return here, at, paid, status


@njit(cache=True)
def begin(table: Table, stacks: Stacks) -> NumberedStep:
    """The start of an episode, after the silent moves before the first label. The status is OK or FULL."""
    return follow(table, stacks, table.start, EMPTY, BEGIN)


@njit(cache=True)
def step(table: Table, stacks: Stacks, state: int, node: int, label: int) -> NumberedStep:
    """Read one label, then take silent moves until none applies. Where the status is not OK, nothing has changed."""
    move = table.move[state, label, stacks.symbol[node]]
    if move >= 0:
        done = follow(table, stacks, state, node, move)
    else:
        done = int(state), int(node), 0.0, (FINISHED if state >= table.first_final else UNDEFINED)
    return done


@njit(cache=True)
def run_words(table: Table, stacks: Stacks, words: Words, first: int, runs: Runs) -> int:
    """Run the words from number `first` on, each from the start to its end, a final state or an undefined move. Returns
    the number of the word that needs room (`first` of the next call), or the number of words once all are done."""
    word, count, status = first, len(words.offsets) - 1, OK
    while word < count and status != FULL:
        entry, end = words.offsets[word] + word, words.offsets[word + 1] + word
        last = entry
        state, node, paid, status = begin(table, stacks)
        while status == OK:
            runs.state[last] = state
            runs.node[last] = node
            runs.reward[last] = paid
            if last == end:
                break
            state, node, paid, status = step(table, stacks, state, node, words.labels[last - word])
            last += status == OK
        if status != FULL:
            runs.read[word] = last - entry
            runs.status[word] = status
            word += 1
    return word


def run(table: Table, stacks: Stacks, words: Words) -> tuple[Stacks, Runs]:
    """Run all words, making room for stacks as needed; the nodes in the runs are those of the stacks returned."""
    runs = Runs.room(words)
    first = run_words(table, stacks, words, 0, runs)
    while first < len(words.offsets) - 1:
        stacks = stacks.room(stacks.capacity)
        first = run_words(table, stacks, words, first, runs)
    return stacks, runs
