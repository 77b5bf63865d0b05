"""The reachable product of a finite domain and a machine (Definition 2), built from the starts outwards, up to a bound."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain
from pdrm.errors import ProductTooLarge, UndefinedMove
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.stacks import FULL, OK, UNDEFINED, Stacks
from pdrm.machines.step_kernel import begin, step
from pdrm.machines.tables import tabulate
from pdrm.machines.transitions import Stack
from pdrm.product.finite_kernel import END, Bound, States, add, find, look, place_all

# --- Ways to a product state in words: the labels read, and the actions taken.


def word_to(product: FiniteProduct, x: int) -> str:
    """The labels of a shortest way to a state, as `pdrm step` reads them.

    >>> from pdrm.domains.paper_domains import domain
    >>> from pdrm.language.loading import catalogue
    >>> from pdrm.product.finite_product import FiniteProduct
    >>> product = FiniteProduct(domain("maze-5x5"), catalogue("treasure-maze"))
    >>> product.explore(depth=2)
    >>> word_to(product, 5), actions_to(product, 5)
    ('u u', ('u', 'u'))
    """
    arrays, labels = product.domain.arrays, product.domain.labels
    start, steps = product.path(x)
    read = [] if arrays.start_label[start] == NO_LABEL else [labels[arrays.start_label[start]]]
    s = int(arrays.start_state[start])
    for action, outcome in steps:
        read.append(labels[arrays.label[s, action, outcome]])
        s = int(arrays.next[s, action, outcome])
    return " ".join("+".join(sorted(label)) or "-" for label in read)


def actions_to(product: FiniteProduct, x: int) -> tuple[str, ...]:
    """The actions of a shortest way to a state."""
    return tuple(product.domain.actions[action] for action, _ in product.path(x)[1])


def undefined_move(product: FiniteProduct, x: int) -> UndefinedMove:
    """The error that says which word the machine has no move for, from a state with such a step."""
    arrays, s = product.domain.arrays, int(product.states.place[x])
    word = word_to(product, x)
    for label in dict.fromkeys(arrays.label[s][arrays.probability[s] > 0].tolist()):
        status = step(product.table, product.stacks, product.states.state[x], product.states.node[x], label)[3]
        if status == UNDEFINED:
            word = f"{word} {'+'.join(sorted(product.domain.labels[label])) or '-'}".strip()
            break
    return UndefinedMove(
        f"the machine `{product.machine.name}` has no move at the end of `{word}`",
        fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R`",
    )


# --- The reachable product of a finite domain and a machine (Definition 2), built from the starts outwards.
#
# States are numbered as they are found, nearest first. What lies beyond the bound, or has not been looked at yet, is open.

FIRST_ROOM = 1024
MEMORY = 4 * 2**30
"""Bytes that a product may take unless told otherwise."""

Numbers = npt.NDArray[np.int64]


class FiniteProduct:
    """Product states (environment state, machine state, stack) found so far.

    >>> from pdrm.domains.paper_domains import domain
    >>> from pdrm.language.loading import catalogue
    >>> product = FiniteProduct(domain("paint"), catalogue("paint"))
    >>> product.explore()
    >>> len(product), product.open.size, product.stack(4)
    (5, 0, ('stain', 'stain', 'stain', 'stain', 'stain', '#'))
    """

    def __init__(
        self,
        domain: FiniteDomain,
        machine: PushdownRewardMachine,
        bound: Bound | None = None,
        memory: int = MEMORY,
    ) -> None:
        self.domain, self.machine, self.bound, self.memory = domain, machine, bound or Bound(), memory
        self.table = tabulate(machine, domain.labels)
        self.stacks = Stacks.empty(len(machine.stack))
        _, actions, outcomes = domain.arrays.next.shape
        self.states = States.room(actions, outcomes, max(FIRST_ROOM, _power_of_two(2 * actions * outcomes)))
        self._bytes_each = self.states.bytes_each + 2 * 4 * (len(machine.stack) + 5)
        self.probability = _summing_to_1(domain.arrays.probability)
        """[environment state, action, outcome]"""
        self.start_probability = _summing_to_1(domain.arrays.start_probability)
        """[start]"""
        self.layers: list[int] = []
        """How many states there were after each look one step further."""
        self.starts = np.full(len(domain.arrays.start_state), END, np.int64)
        """[start]: its product state, or END where there is none or it has no chance."""
        self.start_paid = np.zeros(len(self.starts))
        """[start]: what the machine pays before the first action."""
        self._start()

    def __len__(self) -> int:
        return int(self.states.made[0])

    @property
    def open(self) -> Numbers:
        """The states that have not been looked beyond."""
        return np.flatnonzero(~self.states.looked[: len(self)])

    @property
    def next(self) -> npt.NDArray[np.int32]:
        """[x, action, outcome]: the state a step leads to, or END."""
        return self.states.next[: len(self)]

    @property
    def reward(self) -> npt.NDArray[np.float64]:
        """[x, action, outcome]: what it pays."""
        return self.states.reward[: len(self)]

    @property
    def place(self) -> npt.NDArray[np.int32]:
        """[x]: the environment state."""
        return self.states.place[: len(self)]

    def stack(self, x: int) -> Stack:
        """The stack of a state, top first."""
        names = self.machine.stack
        return tuple(names[symbol - 1] for symbol in self.stacks.stack_of(int(self.states.node[x])))

    def machine_state(self, x: int) -> str:
        """The machine state of a product state."""
        return (*self.machine.states, *self.machine.final)[int(self.states.state[x])]

    def path(self, x: int) -> tuple[int, list[tuple[int, int]]]:
        """A shortest way to a state: the number of the start, then actions with their outcomes."""
        steps: list[tuple[int, int]] = []
        outcomes = self.next.shape[2]
        while self.states.origin[x] >= 0:
            steps.append(divmod(int(self.states.via[x]), outcomes))
            x = int(self.states.origin[x])
        return int(self.states.via[x]), steps[::-1]

    def explore(self, depth: int | None = None, most: int | None = None) -> None:
        """Look one step further from all open states, again and again: to a depth, until nothing is open, or until a
        further look would begin with more than `most` states."""
        edge = self.lookable(self.open)
        while edge.size and (depth is None or int(self.states.depth[edge[0]]) < depth):
            if most is not None and len(self) > most:
                return
            self._refuse_if_too_large(len(edge), depth)
            before = len(self)
            self.look(edge)
            self.layers.append(len(self))
            edge = self.lookable(np.arange(before, len(self)))  # all that was open has been looked at

    def look(self, chosen: Numbers) -> None:
        """Take every step from these states."""
        first = 0
        height = np.iinfo(np.int32).max if self.bound.height is None else self.bound.height
        while first < len(chosen):
            self._room(len(chosen) - first)
            first, status = look(
                self.table, self.stacks, self.domain.arrays, self.states, chosen, first, height, self.bound.number
            )
            if status == UNDEFINED:
                raise undefined_move(self, int(chosen[first]))
            if status == FULL:
                self.stacks = self.stacks.room(self.stacks.capacity)

    def lookable(self, chosen: Numbers) -> Numbers:
        """Those of some open states that lie within the bound."""
        height = self.bound.height
        if height is None or self.bound.rule != "open":
            return chosen
        return chosen[self.stacks.height[self.states.node[chosen]] <= height]

    def bytes_for(self, states: int) -> int:
        """An estimate of the memory that so many states take, with the arrays that grow by doubling."""
        return 2 * states * self._bytes_each

    @property
    def most_states(self) -> int:
        """How many states fit in the memory allowed."""
        return self.memory // (2 * self._bytes_each)

    def _start(self) -> None:
        arrays = self.domain.arrays
        for k, (place, label) in enumerate(zip(arrays.start_state, arrays.start_label, strict=True)):
            if arrays.start_probability[k] == 0:
                continue
            state, node, paid, status = begin(self.table, self.stacks)
            if label != NO_LABEL and status == OK and state < self.table.first_final:
                first = paid
                state, node, paid, status = step(self.table, self.stacks, state, node, label)
                paid += first
            if status == UNDEFINED:
                word = "+".join(sorted(self.domain.labels[label])) or "-"
                raise UndefinedMove(f"the machine has no move for the first label `{word}`", fix="add a rule")
            self.start_paid[k] = paid
            if state < self.table.first_final and not arrays.terminal[place]:
                x, probe = find(self.states, place, state, node)
                if x < 0:
                    x = add(self.states, place, state, node, probe)
                    self.states.origin[x], self.states.via[x] = -1, k
                self.starts[k] = x
        self.layers.append(len(self))

    def _room(self, wanted: int) -> None:
        """Make room for at least as many new states as one state can lead to, for `wanted` if memory allows."""
        made, capacity = len(self), len(self.states.place)
        each = self.next.shape[1] * self.next.shape[2]
        if made + each <= capacity and made + min(wanted, capacity) <= capacity:
            return
        larger = States.room(self.next.shape[1], self.next.shape[2], 2 * capacity)
        for name, old in self.states._asdict().items():
            if name not in ("slot", "made"):
                getattr(larger, name)[:made] = old[:made]
        larger.made[0] = made
        place_all(larger)
        self.states = larger

    def _refuse_if_too_large(self, edge: int, depth: int | None) -> None:
        """Guess from its growth how large the product becomes, and stop while it is still small."""
        each = self.next.shape[1] * self.next.shape[2]
        growth = 1.0
        if len(self.layers) >= 4:
            new = [after - before for before, after in zip(self.layers[-4:], self.layers[-3:], strict=False)]
            growth = max(1.0, (new[-1] / max(1, new[0])) ** (1 / 2))
        further = 1 if depth is None else depth - len(self.layers) + 1
        if depth is None and self.bound.height is not None:
            further = max(1, self.bound.height - len(self.layers))
        estimate = len(self) + float(min(edge * each, edge + 1))
        if growth > 1.0:
            try:
                estimate = len(self) + edge * growth * (growth**further - 1) / (growth - 1)
            except OverflowError:
                estimate = float("inf")
        if self.bytes_for(len(self)) > self.memory or (
            growth > 1.0 and 2 * estimate * self._bytes_each > self.memory and len(self) > 10_000
        ):
            raise ProductTooLarge(
                f"the product of `{self.domain.name}` and `{self.machine.name}` would not fit: {len(self):,} states after"
                f" {len(self.layers) - 1} steps, growing {growth:.2f} times a step; about"
                f" {_count(estimate)} states, {_size(2 * estimate * self._bytes_each)} of"
                f" {_size(float(self.memory))} allowed",
                fix="lower --depth or --height, or allow more with --memory",
            )


def _summing_to_1(probability: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The probabilities, whose sums may be off by as much as a domain may round them."""
    return np.ascontiguousarray(probability / probability.sum(axis=-1, keepdims=True))


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _count(number: float) -> str:
    return f"{number:,.0f}" if number < 1e15 else "more than 10^15"


def _size(size: float) -> str:
    return f"{size / 2**30:,.1f} GiB" if size < 2**60 else "more than a million TiB"
