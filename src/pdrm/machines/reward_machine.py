"""Reward machines (Section 2): finite states, rules that read labels and pay, no memory beside the state.

They are run as they are here, and run everywhere else after `conversions.reward_machine_to_pushdown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from pdrm.errors import CannotRead, Finding, PdrmError, Where, raise_all
from pdrm.machines.alphabet import Alphabet
from pdrm.machines.configurations import Run, add_up, check_state, no_rule, read_word
from pdrm.machines.findings import inspect_counting
from pdrm.machines.guards import Guard, Label, Silent, check_guard
from pdrm.machines.transitions import Otherwise, number_text, reward_of
from pdrm.machines.wellformed import find_faults, group_by_source, states_of
from pdrm.machines.zero_patterns import Pattern, find_counting_clashes


@dataclass(frozen=True, slots=True)
class RewardTransition:
    """One rule: where it starts, where it leads, what it reads and pays.

    >>> from pdrm.machines.guards import Event
    >>> print(RewardTransition("u0", "u1", Event("A"), 1))
    u0 -> u1 : A, 1
    """

    source: str
    target: str
    guard: Guard
    reward: float
    where: Where | None = field(default=None, compare=False, repr=False)
    tests: ClassVar[Pattern] = ()
    changes: ClassVar[tuple[int, ...]] = ()

    def __post_init__(self) -> None:
        check_guard(self.guard)
        object.__setattr__(self, "reward", reward_of(self.reward))

    @property
    def silent(self) -> bool:
        """Whether the rule reads no label: a fault in a reward machine."""
        return isinstance(self.guard, Silent)

    def __str__(self) -> str:
        return f"{self.source} -> {self.target} : {self.guard}, {number_text(self.reward)}"


@dataclass(frozen=True, slots=True)
class RewardConfiguration:
    """All that a reward machine remembers: its state. A record, so that the three kinds of machine are used alike."""

    state: str

    def __str__(self) -> str:
        return self.state


@dataclass(frozen=True, slots=True)
class RewardStep:
    """One label read (None: the start, before the first) and the rule that read it (None: `otherwise`)."""

    label: Label | None
    before: RewardConfiguration
    rule: RewardTransition | None
    after: RewardConfiguration
    reward: float


@dataclass(frozen=True, slots=True)
class RewardMachine:
    """⟨U, u₀, F, Σ, δ_u, δ_r⟩; `transitions` hold δ_u and δ_r, and `states` may be left out as for a pushdown machine.

    >>> from pdrm.machines.guards import Event
    >>> rule = RewardTransition("u0", "done", Event("A"), 1)
    >>> machine = RewardMachine("once", ("A",), "u0", ("done",), Otherwise.stay(-0.5), (rule,))
    >>> run = machine.run([frozenset(), frozenset("A")])
    >>> run.accepted, run.reward, str(run.after)
    (True, 0.5, 'done')
    """

    name: str
    events: tuple[str, ...]
    start: str
    final: tuple[str, ...]
    otherwise: Otherwise
    transitions: tuple[RewardTransition, ...]
    exclusive: tuple[tuple[str, ...], ...] = ()
    states: tuple[str, ...] = ()
    alphabet: Alphabet = field(init=False, repr=False, compare=False)
    _from: dict[str, tuple[RewardTransition, ...]] = field(init=False, repr=False, compare=False)
    counters: ClassVar[int] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "alphabet", Alphabet(self.events, self.exclusive))
        if not self.states:
            object.__setattr__(self, "states", states_of(self.start, self.final, self.transitions))
        object.__setattr__(self, "_from", group_by_source((*self.states, *self.final), self.transitions))
        raise_all([*find_faults(self), *_silent_rules(self)])
        raise_all(find_counting_clashes(self))

    def rules_from(self, state: str) -> tuple[RewardTransition, ...]:
        """The rules that leave a state, in the order they were written."""
        return self._from[state]

    def findings(self) -> list[Finding]:
        """Warnings: unreachable states, undefined cases, rules that never apply, unused names."""
        return inspect_counting(self)

    def rule(self, state: str, label: Label) -> RewardTransition | None:
        """The one rule that applies."""
        return next((rule for rule in self._from[state] if rule.guard.holds(label)), None)

    def begin(self) -> RewardStep:
        """The start: the initial state, nothing read, nothing paid."""
        start = RewardConfiguration(self.start)
        return RewardStep(None, start, None, start, 0.0)

    def step(self, configuration: RewardConfiguration, label: Label) -> RewardStep:
        """Read one label: the rule that applies, or `otherwise`."""
        check_state(configuration.state, self.name, self._from, self.final)
        self.alphabet.check(label)
        return self._step(configuration, label)

    def run(self, word: Iterable[Label]) -> Run[RewardStep]:
        """Read a word from the start, up to the final state if one is reached."""
        return read_word(
            word, self.alphabet, self.final, self.begin(), lambda last, label: self._step(last.after, label)
        )

    def _step(self, before: RewardConfiguration, label: Label) -> RewardStep:
        rule = self.rule(before.state, label)
        if rule is not None:
            return RewardStep(label, before, rule, RewardConfiguration(rule.target), add_up([rule.reward]))
        if self.otherwise.action == "error":
            raise no_rule(self.name, label, before)
        target = before.state if self.otherwise.target is None else self.otherwise.target
        return RewardStep(label, before, None, RewardConfiguration(target), add_up([self.otherwise.reward]))


def _silent_rules(machine: RewardMachine) -> Iterator[PdrmError]:
    for rule in machine.transitions:
        if rule.silent:
            yield CannotRead(
                f"a reward machine has no silent moves: rule {rule}",
                where=rule.where,
                fix="let the rule read a label, or give the machine a `stack` line: pushdown machines have silent moves",
            )
