"""Letters: the sets of labels that some guards tell apart.

If events are exclusive, each event is a letter. If labels may hold several events, a guard may
hold for several letters, and two guards may share one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from pdrm.errors import TooLarge
from pdrm.machines.guards import Guard
from pdrm.machines.labels import FALSE, Alphabet, LabelSet, LabelSets

MOST_LETTERS = 300
"""Letters at most."""


class Letters:
    """The letters of some guards, numbered.

    >>> from pdrm.machines.guards import Event
    >>> letters = Letters(Alphabet(("a", "t")), [Event("a"), Event("t")])
    >>> [sorted(of) for of in letters.of], [letters.example(one) for one in (0, 1, 2)]
    ([[1, 2], [0, 2]], ['t', 'a', 'a+t'])
    """

    def __init__(self, alphabet: Alphabet, guards: Sequence[Guard]) -> None:
        self.alphabet = alphabet
        self.guards = tuple(guards)
        self.sets = LabelSets(alphabet)
        self.store = self.sets
        possible = self.sets.all.node
        self.holding = self.store.choose(possible, self.store.leaf(0), self.store.leaf(None))
        """The guards that hold for a label as bits (None if the label does not exist)."""
        self.known: dict[int, Guard] = {}
        """How a set of labels is written."""
        for number, guard in reversed([*enumerate(guards)]):
            labels = self.sets.of(guard).node
            self._split(number, labels)
            self.known[labels] = guard
        masks = [mask for mask in self.store.leaves(self.holding) if isinstance(mask, int)]
        self.others = self._labels(0) if 0 in masks else FALSE
        """The labels for which no guard holds."""
        masks = [mask for mask in masks if mask]
        self.labels = [self._labels(mask) for mask in masks]
        """The labels of each letter."""
        self.of = [
            frozenset(letter for letter, mask in enumerate(masks) if mask >> number & 1)
            for number in range(len(self.guards))
        ]
        """The letters that each guard holds for."""

    def _split(self, number: int, held: int) -> None:
        """Mark the labels that a guard holds for."""

        def mark(mask: Hashable) -> Hashable:
            return mask | 1 << number if isinstance(mask, int) else mask

        inside = self.store.choose(held, self.holding, self.store.leaf(None))
        marked = self.store.rename_leaves(inside, mark, {})
        self.holding = self.store.choose(held, marked, self.holding)
        if len(self.store.leaves(self.holding)) > MOST_LETTERS + 2:
            fault = f"the events make more than {MOST_LETTERS} different labels"
            fix = "declare which events exclude each other, or use simpler guards"
            raise TooLarge(fault, fix=fix)

    def example(self, letter: int) -> str:
        """A label of a letter, as one types it."""
        return "+".join(sorted(LabelSet(self.sets, self.labels[letter]).example())) or "-"

    def spell(self, word: Iterable[int]) -> str:
        """Labels of some letters, as one types them."""
        return " ".join(map(self.example, word))

    def _labels(self, mask: int) -> int:
        """The labels for which just these guards hold."""
        return self.store.rename_leaves(self.holding, lambda held: held == mask, {})
