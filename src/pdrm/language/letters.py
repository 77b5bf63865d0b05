"""Letters: the sets of labels that some guards tell apart.

If events are exclusive, each event is a letter. If labels may hold several events, a guard may
hold for several letters, and two guards may share one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from pdrm.errors import TooLarge
from pdrm.machines.guards import Guard
from pdrm.machines.labels import Alphabet, LabelSet, LabelSets

MOST_LETTERS = 300
"""Letters at most."""


class Letters:
    """The letters of some guards, numbered.

    >>> from pdrm.machines.guards import Event
    >>> letters = Letters(Alphabet(("a", "t")), [Event("a"), Event("t")])
    >>> [sorted(of) for of in letters.of], [letters.example(one) for one in range(letters.count)]
    ([[1, 2], [0, 2]], ['t', 'a', 'a+t'])
    """

    def __init__(self, alphabet: Alphabet, guards: Sequence[Guard]) -> None:
        self.alphabet = alphabet
        self.guards = tuple(guards)
        self.sets = LabelSets(alphabet)
        self.store = self.sets.store
        possible = self.sets.all.node
        self.holding = self.store.choose(possible, self.store.leaf(0), self.store.leaf(None))
        """The guards that hold for a label as bits (None if the label does not exist)."""
        for number, guard in enumerate(guards):
            self._split(number, self.sets.of(guard).node)
        self.masks = [mask for mask in self.store.leaves(self.holding) if isinstance(mask, int)]
        self.others = 0 in self.masks
        """True if there are labels for which no guard holds."""
        self.masks = [mask for mask in self.masks if mask]
        self.count = len(self.masks)
        self.of = [
            frozenset(letter for letter, mask in enumerate(self.masks) if mask >> number & 1)
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

    def guard_of(self, wanted: frozenset[int]) -> Guard:
        """A short guard that holds for these letters alone."""
        for guard, letters in zip(self.guards, self.of, strict=True):
            if letters == wanted:
                return guard
        return self._labels({self.masks[letter] for letter in wanted}).formula()

    def no_guard(self) -> Guard:
        """The guard of the labels for which no guard holds."""
        return self._labels({0}).formula()

    def example(self, letter: int) -> str:
        """A label of a letter, as one types it."""
        return "+".join(sorted(self._labels({self.masks[letter]}).example())) or "-"

    def spell(self, word: Iterable[int]) -> str:
        """Labels of some letters, as one types them."""
        return " ".join(map(self.example, word))

    def _labels(self, masks: set[int]) -> LabelSet:
        """The labels for which one of these sets of guards holds."""
        return LabelSet(self.sets, self.store.rename_leaves(self.holding, masks.__contains__, {}))
