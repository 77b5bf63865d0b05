"""The labelled Markov decision process of Section 2, finite and as arrays.

`DomainArrays` holds integers and floats only, so that it passes unchanged into Numba and JAX; `FiniteDomain` adds the words:
names of states, actions and events, the step limit, how to draw a state, and the range of returns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.domains.picture import Picture
from pdrm.domains.validation import check_arrays, check_range, check_shared, check_words
from pdrm.errors import BadDomainSetting

Label = frozenset[str]
"""The set of events true after a transition."""

NO_LABEL = -1
"""In `start_label`: the domain emits nothing at reset (the empty label would be read; this is not)."""


class DomainArrays(NamedTuple):
    """What a domain does: S states, A actions, at most O outcomes of each action, K outcomes of a reset.

    >>> from pdrm.domains.catalogue import domain
    >>> arrays = domain("maze-5x5").arrays
    >>> arrays.next.shape, arrays.start_state.tolist()
    ((8, 4, 1), [0])
    """

    next: npt.NDArray[np.int32]
    """[S, A, O]: the next state."""
    probability: npt.NDArray[np.float64]
    """[S, A, O]: sums to 1 over the outcomes; unused outcomes have probability 0."""
    label: npt.NDArray[np.int32]
    """[S, A, O]: position of the emitted label in `labels`."""
    reward: npt.NDArray[np.float64]
    """[S, A, O]: the environment's own reward."""
    terminal: npt.NDArray[np.bool_]
    """[S]: whether the environment ends there."""
    start_state: npt.NDArray[np.int32]
    """[K]: the state of each outcome of a reset."""
    start_probability: npt.NDArray[np.float64]
    """[K]: sums to 1."""
    start_label: npt.NDArray[np.int32]
    """[K]: position in `labels` of the label emitted at reset, or -1 for none."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FiniteDomain:
    """A finite labelled MDP, checked when it is built.

    >>> from pdrm.domains.catalogue import domain
    >>> letter = domain("letter")
    >>> letter.states, letter.actions, letter.events, letter.describe(0)
    (42, ('u', 'd', 'l', 'r'), ('A', 'B', 'C'), 'row 0, column 0; A shows')
    """

    name: str
    arrays: DomainArrays
    labels: tuple[Label, ...]
    events: tuple[str, ...]
    actions: tuple[str, ...]
    step_limit: int
    """Steps after which an episode is cut off (`truncated`, never `terminated`)."""
    state_names: tuple[str, ...]
    picture: Picture | None = None
    """How to draw each state, for domains that happen on a grid."""
    machine: str | None = None
    """The catalogue machine that this domain goes with."""
    lowest: float | None = None
    """The lowest return of an episode with that machine, undiscounted, where known."""
    highest: float | None = None
    """The highest return of an episode with that machine, undiscounted, where known."""
    tests: tuple[FiniteDomain, ...] = ()
    """Where what was learnt here is tested; nothing means here. They share states, actions and labels with this one."""

    def __post_init__(self) -> None:
        check_words(self.name, self.labels, self.events, self.step_limit)
        check_range(self.name, self.lowest, self.highest)
        check_arrays(self.name, self.arrays, len(self.labels), len(self.actions), len(self.state_names))
        for test in self.tests:
            self.check_shares(test)

    def __repr__(self) -> str:
        return f"FiniteDomain({self.name!r}, {self.states} states, {len(self.actions)} actions)"

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.state_names)

    @property
    def tested_on(self) -> tuple[FiniteDomain, ...]:
        """The domains that test what was learnt here: `tests`, or this one."""
        return self.tests or (self,)

    def check_shares(self, other: FiniteDomain) -> None:
        """Raise unless what was learnt here can be tested in the other: as many states, the same actions and labels.

        >>> from pdrm.domains.catalogue import domain
        >>> domain("maze-5x5").check_shares(domain("maze-10x10"))
        Traceback (most recent call last):
        ...
        pdrm.errors.domains.BadArrays: error[E0702]: `maze-10x10` cannot test `maze-5x5`: it has 43 states, not 8
          fix: the same states, actions and labels in the same order, as `starting` and `dataclasses.replace` keep them
        """
        check_shared(self, other)

    def describe(self, state: int) -> str:
        """A state in words."""
        return self.state_names[state]

    def starting(self, *chosen: int) -> FiniteDomain:
        """The same domain, starting with these outcomes of its reset only (and normalised by the same returns)."""
        count = len(self.arrays.start_state)
        for k in chosen:
            if not 0 <= k < count:
                raise BadDomainSetting(f"`{self.name}` has no start {k}", fix=f"its starts are 0 to {count - 1}")
        kept = np.array(chosen, np.int64)
        chance = self.arrays.start_probability[kept]
        arrays = self.arrays._replace(
            start_state=self.arrays.start_state[kept],
            start_probability=chance / chance.sum() if len(chosen) > 1 else np.ones(len(chosen)),
            start_label=self.arrays.start_label[kept],
        )
        return replace(self, name=f"{self.name}, start {', '.join(map(str, chosen))}", arrays=arrays, tests=())


def pick(probability: npt.NDArray[np.float64], number: float) -> int:
    """The outcome that a number in [0, 1) chooses: the first whose cumulated probability exceeds it.

    >>> pick(np.array([0.5, 0.0, 0.5]), 0.5)
    2
    """
    last, total = 0, 0.0
    for outcome, chance in enumerate(probability.tolist()):
        if chance > 0.0:
            last, total = outcome, total + chance
            if number < total:
                return outcome
    return last  # the sum fell short of 1 by rounding
