"""Constant counting reward automata (Section 5): counters in place of the stack, tested for zero and changed by constants.

A counter is floored at zero. Silent moves run until none applies, as in a pushdown machine; but whether they ever end is
undecidable for two counters, so it is not decided here: a step that makes too many is stopped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pdrm.errors import EndlessSilentMoves, Finding, UnknownConfiguration, raise_all
from pdrm.machines.alphabet import Alphabet
from pdrm.machines.configuration import Run, added
from pdrm.machines.counting_transition import CountingTransition, counting_faults
from pdrm.machines.guard import Label
from pdrm.machines.pattern_findings import pattern_findings
from pdrm.machines.reading import check_state, no_rule, read_word
from pdrm.machines.rules import by_source, states_of
from pdrm.machines.transition import Otherwise
from pdrm.machines.zero_patterns import pattern_clashes, pattern_text

__all__ = [
    "MOST_SILENT_MOVES",
    "CountingConfiguration",
    "CountingRewardAutomaton",
    "CountingStep",
    "CountingTransition",
]

MOST_SILENT_MOVES = 10_000_000
"""Silent moves that one step may make."""


@dataclass(frozen=True, slots=True)
class CountingConfiguration:
    """A state and the counters' values.

    >>> print(CountingConfiguration("u0", (2, 0)))
    u0, [2, 0]
    """

    state: str
    counters: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.state}, {pattern_text(self.counters)}"


@dataclass(frozen=True, slots=True)
class CountingStep:
    """One label read (None: the silent moves before the first), by a rule (None: `otherwise`), and its silent moves.

    The moves are counted, not kept: a step that moves a stack between counters makes millions of them.
    """

    label: Label | None
    before: CountingConfiguration
    rule: CountingTransition | None
    after: CountingConfiguration
    reward: float
    moves: int


@dataclass(frozen=True, slots=True)
class CountingRewardAutomaton:
    """⟨U, F, Σ, Δ, δ, λ, u₀⟩ with a number of `counters`, all zero at the start; `transitions` hold δ and λ.

    `states` may be left out as for a pushdown machine.

    >>> from pdrm.machines.guard import Event
    >>> up = CountingTransition("u0", "u0", Event("A"), ("-",), (1,), 0)
    >>> down = CountingTransition("u0", "u0", Event("B"), ("1",), (-1,), 1)
    >>> end = CountingTransition("u0", "done", Event("B"), ("0",), (0,), 5)
    >>> machine = CountingRewardAutomaton(
    ...     "as", ("A", "B"), 1, "u0", ("done",), Otherwise.stay(0), (up, down, end), (("A", "B"),)
    ... )
    >>> run = machine.run([frozenset(event) for event in "AABBB"])
    >>> run.accepted, run.reward, str(run.after)
    (True, 7.0, 'done, [0]')
    """

    name: str
    events: tuple[str, ...]
    counters: int
    start: str
    final: tuple[str, ...]
    otherwise: Otherwise
    transitions: tuple[CountingTransition, ...]
    exclusive: tuple[tuple[str, ...], ...] = ()
    states: tuple[str, ...] = ()
    alphabet: Alphabet = field(init=False, repr=False, compare=False)
    _from: dict[str, tuple[CountingTransition, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alphabet", Alphabet(self.events, self.exclusive))
        if not self.states:
            object.__setattr__(self, "states", states_of(self.start, self.final, self.transitions))
        object.__setattr__(self, "_from", by_source((*self.states, *self.final), self.transitions))
        raise_all(counting_faults(self))
        raise_all(pattern_clashes(self))

    def rules_from(self, state: str) -> tuple[CountingTransition, ...]:
        """The rules that leave a state, in the order they were written."""
        return self._from[state]

    def findings(self) -> list[Finding]:
        """Warnings: unreachable states, undefined cases, rules that never apply, unused names."""
        return pattern_findings(self)

    def rule(self, state: str, label: Label | None, counters: tuple[int, ...]) -> CountingTransition | None:
        """The one rule that applies (label None: the silent one)."""
        for rule in self._from[state]:
            if (rule.silent if label is None else rule.guard.holds(label)) and rule.allows(counters):
                return rule
        return None

    def begin(self, most_silent: int = MOST_SILENT_MOVES) -> CountingStep:
        """The start: initial state, counters at zero, and the silent moves before the first label."""
        before = CountingConfiguration(self.start, (0,) * self.counters)
        return self._after_silent(CountingStep(None, before, None, before, 0.0, 0), most_silent)

    def step(
        self, configuration: CountingConfiguration, label: Label, most_silent: int = MOST_SILENT_MOVES
    ) -> CountingStep:
        """Read one label: the rule that applies, or `otherwise`, then silent moves until none applies."""
        check_state(configuration.state, self.name, self._from, self.final)
        if len(configuration.counters) != self.counters or any(value < 0 for value in configuration.counters):
            fault = f"{pattern_text(configuration.counters)} are no counters of `{self.name}`"
            raise UnknownConfiguration(fault, fix=f"give {self.counters} whole numbers that are not negative")
        self.alphabet.check(label)
        return self._step(configuration, label, most_silent)

    def run(self, word: Iterable[Label], most_silent: int = MOST_SILENT_MOVES) -> Run[CountingStep]:
        """Read a word from the start, up to the final state if one is reached."""

        def read(last: CountingStep, label: Label) -> CountingStep:
            return self._step(last.after, label, most_silent)

        return read_word(word, self.alphabet, self.final, self.begin(most_silent), read)

    def _step(self, before: CountingConfiguration, label: Label, most_silent: int) -> CountingStep:
        rule = self.rule(before.state, label, before.counters)
        if rule is not None:
            after = CountingConfiguration(rule.target, rule.changed(before.counters))
            return self._after_silent(CountingStep(label, before, rule, after, added([rule.reward]), 1), most_silent)
        if self.otherwise.action == "error":
            raise no_rule(self.name, label, before)
        target = before.state if self.otherwise.target is None else self.otherwise.target
        after, paid = CountingConfiguration(target, before.counters), added([self.otherwise.reward])
        return self._after_silent(CountingStep(label, before, None, after, paid, 1), most_silent)

    def _after_silent(self, step: CountingStep, most_silent: int) -> CountingStep:
        """The step with its silent moves made: their rewards are added in order."""
        state, counters, reward, moves = step.after.state, step.after.counters, step.reward, 0
        while (rule := self.rule(state, None, counters)) is not None:
            if moves == most_silent:
                raise EndlessSilentMoves(
                    f"machine `{self.name}` made {moves:,} silent moves in one step, the last to {state}, "
                    f"{pattern_text(counters)}",
                    where=rule.where,
                    fix=f"if they do end, allow more moves (`most_silent`); if not, see this rule: {rule}",
                )
            state, counters, reward, moves = rule.target, rule.changed(counters), reward + rule.reward, moves + 1
        if moves == 0:
            return step
        after = CountingConfiguration(state, counters)
        return CountingStep(step.label, step.before, step.rule, after, reward, step.moves + moves)
