"""A counting reward automaton under exploration: counter vectors, numbered as they are reached, in place of stacks.

The kernels run on numbers alone. They leave a successor that they do not know in `Configurations.wanted`; `Counters.find` has
the automaton make that step, once for each configuration and label, because a step may take millions of moves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pdrm.errors import BadSetting, EndlessSilentMoves
from pdrm.machines.counting import MOST_SILENT_MOVES, CountingConfiguration, CountingRewardAutomaton
from pdrm.machines.guards import Label
from pdrm.machines.stacks import Stacks
from pdrm.machines.tables import LARGEST_VALUE, UNDEFINED_MOVE, Table, Values, tabulate_counting
from pdrm.product.exploration import FULL_VIEW, Configurations, Explored

Vector = tuple[int, ...]
"""A value for each counter."""


class Counters:
    """Makes an automaton's steps for the kernels. All that is found is kept in `Explored`, and nothing here.

    >>> from pdrm.language.loading import catalogue
    >>> counters = Counters(catalogue("letter-cra"), [frozenset("A"), frozenset("B")])
    >>> explored = counters.begin()
    >>> explored.configurations.wanted[:] = 0, 0  # where does A lead from the start?
    >>> explored = counters.find(explored)
    >>> counters.vectors(explored), explored.configurations.moves[0].tolist()
    ([(0,), (1,)], [1, 0])
    """

    def __init__(
        self,
        automaton: CountingRewardAutomaton,
        labels: Sequence[Label],
        operations: int | None = None,
    ) -> None:
        """`operations`: a step of more moves is not made, only noted as one more than that; None: it is an error."""
        self._rules = tabulate_counting(automaton, labels)
        self._steepest = int(np.abs(self._rules.change).max(initial=1))
        self.automaton, self.labels, self.operations = automaton, tuple(labels), operations
        self._begun = automaton.begin()
        self._states = (*automaton.states, *automaton.final)
        self._numbers = {state: number for number, state in enumerate(self._states)}
        self._nodes: dict[Vector, int] = {}

    def begin(self, capacity: int = 1024) -> Explored:
        """The automaton with nothing reached but the counters it begins with."""
        from pdrm.product.explore_kernel import first_configuration

        found = Configurations.room(
            len(self.labels),
            len(self._states),
            capacity,
            capacity,
            counters=self.automaton.counters,
        )
        found.counters[0] = self._begun.after.counters
        explored = Explored(self._table(), Stacks.empty(1, capacity), found, FULL_VIEW)
        first_configuration(explored)
        return explored

    def vectors(self, explored: Explored) -> list[Vector]:
        """The counter vectors reached so far, in the order of their numbers."""
        return [
            tuple(row)
            for row in explored.configurations.counters[: explored.stacks.made[0]].tolist()
        ]

    def find(self, explored: Explored) -> Explored:
        """Find the successor that is wanted, and keep it (in larger arrays where there is no room)."""
        from pdrm.product.explore_kernel import UNDEFINED_LABEL

        found = explored.configurations
        here, label = found.wanted.tolist()
        after, paid, moves = self._step(
            int(found.state[here]), found.counters[found.node[here]].copy(), label
        )
        if moves == 0:
            found.after[here, label] = UNDEFINED_LABEL
            return explored
        if (
            self.operations is not None and moves > self.operations
        ):  # more than an episode has: it is never made
            reached, paid, moves = here, 0.0, self.operations + 1
        else:
            explored, reached = self._number(explored, after)
        found = explored.configurations
        found.after[here, label], found.paid[here, label], found.moves[here, label] = (
            reached,
            paid,
            moves,
        )
        return explored

    def number_vector(self, explored: Explored, vector: Vector) -> tuple[Explored, int]:
        """The number of a counter vector, given to it where it is new (in larger arrays where there is no room)."""
        made = int(explored.stacks.made[0])
        if len(self._nodes) != made:  # what was explored comes from elsewhere, a checkpoint say
            self._nodes = {vector: node for node, vector in enumerate(self.vectors(explored))}
        node = self._nodes.setdefault(vector, made)
        if node == made:
            if made == explored.stacks.capacity:
                explored = explored.grow()
            explored.configurations.counters[made] = vector
            explored.stacks.made[0] = made + 1
        return explored, node

    def _step(
        self, state: int, counters: Values, label: int
    ) -> tuple[CountingConfiguration, float, int]:
        """Where a label leads, what it pays, and the moves it takes: 0 if no rule reads it."""
        from pdrm.product.explore_kernel import count

        most = MOST_SILENT_MOVES if self.operations is None else self.operations
        if int(counters.max()) + (most + 2) * self._steepest > LARGEST_VALUE:
            fault = f"the counters of `{self.automaton.name}` may grow beyond 64 bits"
            raise BadSetting(fault, fix="use a smaller budget of operations")
        before = CountingConfiguration(self._states[state], tuple(counters.tolist()))
        after, paid, moves = count(self._rules, state, counters, label, most)
        if moves == most + 2 and self.operations is None:
            raise EndlessSilentMoves(
                f"machine `{self.automaton.name}` makes more than {most:,} silent moves after one label at {before}",
                fix="set operations_per_episode: an episode ends before such a step",
            )
        return CountingConfiguration(self._states[after], tuple(counters.tolist())), paid, moves

    def _number(
        self, explored: Explored, configuration: CountingConfiguration
    ) -> tuple[Explored, int]:
        """The number of a configuration, given to it and to its counters where they are new."""
        from pdrm.product.explore_kernel import configuration as number_of

        explored, node = self.number_vector(explored, configuration.counters)
        state = self._numbers[configuration.state]
        number = number_of(explored, state, node)
        if number < 0:
            explored = explored.grow()
            number = number_of(explored, state, node)
        return explored, int(number)

    def _table(self) -> Table:
        """A table whose only move begins an episode: where labels lead is found in `Configurations` alone."""
        start, states = self._numbers[self._begun.after.state], len(self._states)
        return Table(
            move=np.full((states, len(self.labels), 2), UNDEFINED_MOVE, np.int32),
            silent=np.full((states, 2), UNDEFINED_MOVE, np.int32),
            target=np.array([start], np.int32),
            pops=np.zeros(1, np.int32),
            pushes=np.zeros(1, np.int32),
            push=np.zeros((1, 1), np.int32),
            reward=np.array([self._begun.reward]),
            start=start,
            bottom=1,
            first_final=len(self.automaton.states),
        )
