"""Machines of any kind: tuples of names and rules, checked when they are built.

Every name that a rule uses is declared, once, and can be a name, and the header is complete. At most one rule applies to a label;
each kind of machine says which rules of a state can meet besides: at a top of stack, or at a zero pattern.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice, product
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from pdrm.errors import (
    MAX_FAULTS,
    BadName,
    DuplicateName,
    FinalStateWithRules,
    MachineFinished,
    MissingHeader,
    Nondeterministic,
    PdrmError,
    TooLarge,
    TooManyCases,
    UndefinedMove,
    UnknownConfiguration,
    UnknownEvent,
    UnknownState,
    UnknownSymbol,
    Where,
    did_you_mean,
    raise_all,
    suggest,
)
from pdrm.lazy import Displayed
from pdrm.machines.guards import NAME, Exactly, Label, events_of, label_text, parse_word
from pdrm.machines.labels import Alphabet, LabelSet, LabelSets, names_of
from pdrm.machines.transitions import NONE, MachineRun, Otherwise, Rule, StepRecord

RESERVED = ("where",)
"""A word that could be a name, but that ends the list of a `for`."""
RESERVED_EVENTS = (NONE, "true", "false", *RESERVED)
MAX_NAME_LENGTH = 90
"""Characters of a generated name, with room for a number to tell it from others."""


R_co = TypeVar("R_co", bound=Rule, covariant=True)
C = TypeVar("C", bound=Any)
"""A configuration: a state, and a stack or counters."""
S = TypeVar("S", bound=StepRecord[Any])
"""A step."""


class Machine(Displayed, Generic[R_co, C, S], ABC):
    """The parts that all kinds of machine share: how they are checked, and how they read words."""

    name: str
    events: tuple[str, ...]
    start: str
    final: tuple[str, ...]
    otherwise: Otherwise
    transitions: tuple[R_co, ...]
    exclusive: tuple[tuple[str, ...], ...]
    states: tuple[str, ...]
    _fix: ClassVar[str]
    """The way out if two rules apply at once."""
    _silent_fix: ClassVar[str]
    """The way out if one of them is silent."""

    def __repr__(self) -> str:
        states, rules = len(self.states) + len(self.final), len(self.transitions)
        size = f"{states} state{'s' * (states != 1)}, {rules} rule{'s' * (rules != 1)}"
        return f"<{type(self).__name__} {self.name!r}: {size}>"

    def __post_init__(self) -> None:
        """Make tuples of what may be lists, fill in the states if they are not declared, and check all."""
        alphabet = Alphabet(self.events, self.exclusive)
        final = names_of("final", self.final)
        rules = tuple(self.transitions)
        fields = {
            "events": alphabet.events,
            "exclusive": alphabet.exclusive,
            "final": final,
            "transitions": rules,
            "states": names_of("states", self.states) or states_of(self.start, final, rules),
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)
        raise_all(chain(_find_faults(self), self._find_own_faults()))
        raise_all(_find_clashes(self))

    @cached_property
    def alphabet(self) -> Alphabet:
        """The labels that there are, from the events and their groups."""
        return Alphabet(self.events, self.exclusive)

    @cached_property
    def sets(self) -> LabelSets:
        """The sets of labels."""
        return LabelSets(self.alphabet)

    @cached_property
    def rules_from(self) -> dict[str, list[R_co]]:
        """The rules that leave each state, in the order they were written."""
        leaving: dict[str, list[R_co]] = {state: [] for state in (*self.states, *self.final)}
        for rule in self.transitions:
            if rule.source in leaving:
                leaving[rule.source].append(rule)
        return leaving

    # --- Reading labels

    @abstractmethod
    def begin(self) -> S:
        """The start: the initial configuration, and the silent moves before the first label."""

    def step(self, configuration: C, label: Label) -> S:
        """Read one label: the rule that applies, or `otherwise`, then silent moves until none applies.

        Args:
            configuration: Where the machine is.
            label: A set of events.
        """
        state = configuration.state
        if state in self.final:
            fault = f"`{state}` is a final state of machine `{self.name}`"
            raise MachineFinished(fault, fix="begin a new episode")
        if state not in self.rules_from:
            fix = did_you_mean(state, self.rules_from)
            raise UnknownConfiguration(f"`{state}` is not a state of `{self.name}`", fix=fix)
        self._check_memory(configuration)
        self.alphabet.check(label)
        return self._step(configuration, label)

    def run(self, word: Iterable[Label] | str) -> MachineRun[S]:
        """Read a word from the start, up to the final state if one is reached.

        Args:
            word: Labels, or a text such as "a b+c -".
        """
        labels = list(parse_word(word) if isinstance(word, str) else word)
        self.alphabet.check(*labels)
        steps = [self.begin()]
        for label in labels:
            if steps[-1].after.state in self.final:
                break
            steps.append(self._step(steps[-1].after, label))
        finished = steps[-1].after.state in self.final
        unread = len(labels) + 1 - len(steps)
        return MachineRun(tuple(steps), unread, finished, self.is_reward_machine)

    @abstractmethod
    def _step(self, before: C, label: Label) -> S:
        """Read one of the machine's labels in one of its configurations."""

    @abstractmethod
    def _check_memory(self, configuration: C) -> None:
        """Raise unless the stack or the counters are the machine's."""

    def undefined_move(self, label: Label, configuration: C) -> UndefinedMove:
        """The error that no rule applies and `otherwise` is an error."""
        return UndefinedMove(
            f"machine `{self.name}` has no rule for label {label_text(label)} at {configuration}",
            fix="add a rule, or say `otherwise stay R` or `otherwise go STATE R` in the machine",
        )

    # --- Its parts

    @property
    def is_reward_machine(self) -> bool:
        """It is a reward machine: it has no stack, or one that no rule looks at or changes."""
        return False

    def rule_text(self, rule: Rule) -> str:
        """A rule as it is written in a file of this machine."""
        return rule.plain_text if self.is_reward_machine else str(rule)

    # --- The checks that differ between kinds of machine

    @abstractmethod
    def _find_own_faults(self) -> Iterator[PdrmError]:
        """The faults that only this kind of machine has."""

    @abstractmethod
    def _co_applicable_rules(
        self, readings: Sequence[LabelledRule]
    ) -> Iterator[tuple[str, list[LabelledRule]]]:
        """Those of a state's rules that may apply at once, and, besides the label, where."""


AnyKind = Machine[Any, Any, Any]


# --- Rules by state


def states_of(start: str, final: Iterable[str], rules: Iterable[Rule]) -> tuple[str, ...]:
    """The states U when they are not declared: every source of a rule, the start first, final ones left out.

    A start that no rule leaves is taken for a misspelt name, unless there are no rules at all.
    """
    ended = set(final)
    sources = dict.fromkeys(rule.source for rule in rules)
    first = [start] if start in sources or not sources else []
    return tuple(state for state in dict.fromkeys([*first, *sources]) if state not in ended)


def otherwise_at(
    machine: AnyKind, state: str, rules: Iterable[Rule]
) -> list[tuple[Otherwise, LabelSet]]:
    """`otherwise`, and the labels that fall to it if these rules apply; nothing if there are none, or in a final state."""
    left = machine.sets.complement_of(rule.guard for rule in rules)
    return [(machine.otherwise, left)] if left and state not in machine.final else []


# --- Names, header and rewards


def _find_faults(machine: AnyKind) -> Iterator[PdrmError]:
    """The faults of what every kind of machine has: names, states, guards, rewards, `otherwise`."""
    yield from find_bad_names("machine", (machine.name,))
    yield from find_bad_names("event", machine.events, RESERVED_EVENTS)
    yield from find_bad_names("state", (*machine.states, *machine.final), RESERVED)
    states, events = machine.rules_from, machine.alphabet.positions
    for group in machine.exclusive:
        yield from find_unknown(UnknownEvent, group, events, "the `exclusive` line")
        yield from find_bad_names("event", group)
    if machine.start in machine.final:
        fault = f"the start state `{machine.start}` is final"
        yield FinalStateWithRules(fault, fix="use another state as the start", word=machine.start)
    else:
        yield from find_unknown(UnknownState, [machine.start], states, "the `start` line")
    otherwise = machine.otherwise
    targets = [] if otherwise.target is None else [otherwise.target]
    if (otherwise.action, len(targets)) not in (("stay", 0), ("go", 1), ("error", 0)):
        fault = f"`otherwise {otherwise.action}` is not a rule"
        yield MissingHeader(fault, fix="use `stay R`, `go STATE R` or `error`")
    place = "the `otherwise` line"
    yield from find_unknown(UnknownState, targets, states, place, otherwise.where)
    final = frozenset(machine.final)
    for rule in machine.transitions:
        place = f"rule {machine.rule_text(rule)}"
        if rule.source in final:
            yield FinalStateWithRules(
                f"`{rule.source}` is final, so no rule may leave it: {place}",
                where=rule.where,
                fix=f"remove the rule, or take `{rule.source}` off the `final` line",
                word=rule.source,
            )
        ends = rule.source, rule.target
        yield from find_unknown(UnknownState, ends, states, place, rule.where)
        read = sorted(events_of(rule.guard))
        yield from find_unknown(UnknownEvent, read, events, place, rule.where)


def find_bad_names(
    kind: str, names: Sequence[str], reserved: Iterable[str] = ()
) -> Iterator[PdrmError]:
    """Names that cannot be written in the language, are reserved, or are declared twice."""
    for name in names:
        if not NAME.fullmatch(name):
            fault = f"{kind} `{name[:40]}` cannot be a name"
            yield BadName(fault, fix="use letters, digits, `_` and the like", word=name)
        elif name in reserved:
            fault = f"`{name}` is reserved and cannot be the name of a {kind}"
            yield BadName(fault, fix="choose another name", word=name)
    for name, count in Counter(names).items():
        if count > 1:
            fault = f"{kind} `{name[:40]}` is listed twice"
            yield DuplicateName(fault, fix="remove one of them", word=name)


UNKNOWN: dict[type[PdrmError], tuple[str, str]] = {
    UnknownState: (
        "is not a state: no rule leaves it and it is not final",
        "list it on the `final` line, or on a line `states` if it is a dead end",
    ),
    UnknownEvent: ("is not declared as an event", "add it to the `events` line"),
    UnknownSymbol: ("is not a stack symbol", "add it to the `stack` line"),
}
"""The fault of a name that is not known, and the way out."""


def find_unknown(
    kind: type[PdrmError],
    names: Iterable[str],
    known: Collection[str],
    place: str,
    where: Where | None = None,
) -> Iterator[PdrmError]:
    """The faults of names that are not known."""
    fault, fix = UNKNOWN[kind]
    for name in names:
        if name not in known:
            fix = suggest(name, known, fix)
            yield kind(f"`{name}` {fault} ({place})", where=where, fix=fix, word=name)


def fresh_name(wanted: str, taken: Container[str]) -> str:
    """The wanted name, its end if it is too long for a name, and numbered if it is taken: `u0~2`."""
    stem = wanted[-MAX_NAME_LENGTH:]
    name, number = stem, 0
    while name in taken:
        number += 1
        name = f"{stem}~{number}"
    return name


# --- Determinism: at most one rule for every state, label and top of stack (the paper's own condition is weaker)
#
# Two silent rules, or a silent and a reading one, clash wherever they meet, because a silent move does not wait for the label.

MAX_REPORTED = 5
"""Clashes listed."""


class LabelledRule(NamedTuple):
    """A rule, its number in its state, and the labels at which it applies: a silent rule at every label."""

    rule: Any
    number: int
    labels: LabelSet


def _find_clashes(machine: AnyKind) -> list[PdrmError]:
    """Pairs of rules that apply at once, one for each line, in the order of the rules."""
    faults: dict[object, PdrmError] = {}
    for state in machine.states:
        rules = machine.rules_from[state]
        if len(rules) < 2:
            continue
        events = machine.events
        if not any(isinstance(rule.guard, Exactly) for rule in rules):  # which exclude all others
            named = frozenset[str]().union(*(events_of(rule.guard) for rule in rules))
            events = tuple(event for event in events if event in named)
        found: dict[tuple[int, int], Nondeterministic] = {}
        try:
            sets = LabelSets(Alphabet(events, machine.exclusive))
            readings = [
                LabelledRule(rule, number, sets.all if rule.silent else sets.holding(rule.guard))
                for number, rule in enumerate(rules)
            ]
            for place, meeting in machine._co_applicable_rules(readings):
                for one, other, labels in islice(find_overlaps(meeting), MAX_FAULTS):
                    at = f"{label_text(labels.example())}{place}"
                    error = _clash_error(machine, one.rule, other.rule, at)
                    found.setdefault((one.number, other.number), error)
        except TooLarge as error:
            where = rules[0].where
            faults[state] = TooManyCases(error.message, where=where, fix=error.fix)
        for pair in sorted(found):
            faults.setdefault(found[pair].where or (state, pair), found[pair])
        if len(faults) >= MAX_REPORTED:
            break
    return list(faults.values())[:MAX_REPORTED]


def find_overlaps(
    readings: Sequence[LabelledRule],
) -> Iterator[tuple[LabelledRule, LabelledRule, LabelSet]]:
    """The pairs among these rules, in their order, that share a label: within each half, then between the halves."""
    if len(readings) < 2:
        return
    middle = len(readings) // 2
    some, others = readings[:middle], readings[middle:]
    yield from find_overlaps(some)
    yield from find_overlaps(others)
    met = join_labels(some) & join_labels(others) & readings[0].labels.sets.all
    facing = [other for other in others if other.labels & met]
    for one, other in product(some, facing):
        shared = one.labels & other.labels & met
        if shared:
            yield one, other, shared


def join_labels(readings: Sequence[LabelledRule]) -> LabelSet:
    """The labels of all these rules together."""
    sets = readings[0].labels.sets
    return LabelSet(sets, sets.join([reading.labels.node for reading in readings]))


def _clash_error(machine: AnyKind, one: Rule, other: Rule, at: str) -> Nondeterministic:
    """The error about two rules that apply at once for a label and a top of stack."""
    why = "at most one rule may apply"
    fix = machine._fix
    if one.silent or other.silent:
        why = "next to a silent rule, no other may apply"
        fix = machine._silent_fix
    place = "" if one.where is None else f" ({one.where.path or f'line {one.where.line}'})"
    return Nondeterministic(
        f"two rules apply in state `{one.source}` for label {at}: {why}"
        f"\n    {machine.rule_text(one)}{place}\n    {machine.rule_text(other)}",
        where=other.where or one.where,
        fix=fix,
    )
