"""Reward machines (Section 2): finite states, rules that read labels and pay, no memory besides the state.

They are run as they are here, and run everywhere else after `conversions.reward_machine_to_pushdown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from pdrm.errors import CannotRead, Finding, PdrmError, Where, raise_all
from pdrm.machines.alphabet import Alphabet
from pdrm.machines.checks.findings import inspect_counting
from pdrm.machines.checks.wellformed import find_faults
from pdrm.machines.checks.zero_patterns import (
    CountingMachine,
    CountingRule,
    Pattern,
    find_counting_clashes,
)
from pdrm.machines.configurations import Run, add_up, read_word
from pdrm.machines.guards import Guard, Label
from pdrm.machines.rewards import number_text
from pdrm.machines.transitions import Otherwise


@dataclass(frozen=True, slots=True)
class RewardTransition(CountingRule):
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
    tests: Pattern = field(default=(), init=False, compare=False, repr=False)
    changes: tuple[int, ...] = field(default=(), init=False, compare=False, repr=False)

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


@dataclass(frozen=True, slots=True, repr=False)
class RewardMachine(CountingMachine[RewardTransition]):
    """⟨U, u₀, F, Σ, δ_u, δ_r⟩; `transitions` hold δ_u and δ_r, and `states` may be left out as for a pushdown machine.

    >>> from pdrm.machines.guards import Event
    >>> rule = RewardTransition("u0", "done", Event("A"), 1)
    >>> machine = RewardMachine("once", ("A",), "u0", ("done",), Otherwise.stay(-0.5), (rule,))
    >>> run = machine.run([frozenset(), frozenset("A")])
    >>> run.accepted, run.reward, str(run.after)
    (True, 0.5, 'done')
    """

    name: str
    """What it is called."""
    events: tuple[str, ...]
    """Σ is made of these: a label is a set of them."""
    start: str
    """u₀."""
    final: tuple[str, ...]
    """F: the states in which the task is over."""
    otherwise: Otherwise
    """What happens where no rule applies."""
    transitions: tuple[RewardTransition, ...]
    """The rules."""
    exclusive: tuple[tuple[str, ...], ...] = ()
    """Groups of events of which at most one is in a label."""
    states: tuple[str, ...] = ()
    """U without F, in order."""
    alphabet: Alphabet = field(init=False, repr=False, compare=False)
    """The labels that there are, from the events and their groups."""
    _from: dict[str, tuple[RewardTransition, ...]] = field(init=False, repr=False, compare=False)
    counters: int = field(default=0, init=False, repr=False, compare=False)
    """None: it remembers its state alone."""

    def __post_init__(self) -> None:
        self._fill_in()
        raise_all(chain(find_faults(self), _find_silent_rules(self)))
        raise_all(find_counting_clashes(self))

    def findings(self) -> list[Finding]:
        """Warnings: unreachable states, undefined cases, rules that never apply, unused names."""
        return inspect_counting(self)

    def rule(self, state: str, label: Label) -> RewardTransition | None:
        """The one rule that applies. state: of the machine. label: a set of events."""
        return next((rule for rule in self._from[state] if rule.guard.holds(label)), None)

    def begin(self) -> RewardStep:
        """The start: the initial state, nothing read, nothing paid."""
        start = RewardConfiguration(self.start)
        return RewardStep(None, start, None, start, 0.0)

    def step(self, configuration: RewardConfiguration, label: Label) -> RewardStep:
        """Read one label: the rule that applies, or `otherwise`. configuration: where the machine is. label: a set of events."""
        self.check_state(configuration.state)
        self.alphabet.check(label)
        return self._step(configuration, label)

    def run(self, word: Iterable[Label] | str) -> Run[RewardStep]:
        """Read a word from the start, up to the final state if one is reached. word: labels, or a text such as "a b+c -"."""
        return read_word(
            word,
            self.alphabet,
            self.final,
            self.begin(),
            lambda last, label: self._step(last.after, label),
        )

    def _step(self, before: RewardConfiguration, label: Label) -> RewardStep:
        rule = self.rule(before.state, label)
        after = RewardConfiguration(rule.target if rule else self.otherwise_leads_to(label, before))
        return RewardStep(label, before, rule, after, add_up([(rule or self.otherwise).reward]))


def _find_silent_rules(machine: RewardMachine) -> Iterator[PdrmError]:
    for rule in machine.transitions:
        if rule.silent:
            yield CannotRead(
                f"a reward machine has no silent moves: rule {rule}",
                where=rule.where,
                fix="let the rule read a label, or give the machine a `stack` line: pushdown machines have silent moves",
            )
