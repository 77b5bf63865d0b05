"""The base class of all machines: tuples of names and rules, checked at construction.

The checks: every name used by a rule is valid and declared exactly once, the header is complete,
and at most one rule of a state applies at a time. Subclasses define when two rules can apply
together: at the same stack top, or for the same zero pattern of the counters.
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
from pdrm.wording import plural

RESERVED = ("where",)
"""Reserved words: `where` ends the word list of a `for`."""
RESERVED_EVENTS = (NONE, "true", "false", *RESERVED)
MAX_NAME_LENGTH = 90
"""The maximum length of a generated name without its number."""


R_co = TypeVar("R_co", bound=Rule, covariant=True)
C = TypeVar("C", bound=Any)
"""The type of configurations: a state with a stack or counters."""
S = TypeVar("S", bound=StepRecord[Any])
"""The type of steps."""


class Machine(Displayed, Generic[R_co, C, S], ABC):
    """The checks of a machine and the reading of words, for all kinds of machine."""

    name: str
    events: tuple[str, ...]
    start: str
    final: tuple[str, ...]
    otherwise: Otherwise
    transitions: tuple[R_co, ...]
    exclusive: tuple[tuple[str, ...], ...]
    states: tuple[str, ...]
    _fix: ClassVar[str]
    """The fix of the error that two rules apply at once."""
    _silent_fix: ClassVar[str]
    """The fix of the error if one of the rules is silent."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {self.size_text}>"

    @property
    def size_text(self) -> str:
        """The numbers of states and rules, as in `3 states (1 final), 5 rules`."""
        states = plural(len(self.states) + len(self.final), "state")
        return f"{states} ({len(self.final)} final), {plural(len(self.transitions), 'rule')}"

    def __post_init__(self) -> None:
        """Convert sequences to tuples, infer undeclared states, and run all checks."""
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
        """The input alphabet."""
        return Alphabet(self.events, self.exclusive)

    @cached_property
    def sets(self) -> LabelSets:
        """The sets of labels over the alphabet."""
        return LabelSets(self.alphabet)

    @cached_property
    def rules_from(self) -> dict[str, list[R_co]]:
        """The rules of each state, in the order of the machine."""
        rules: dict[str, list[R_co]] = {state: [] for state in (*self.states, *self.final)}
        for rule in self.transitions:
            if rule.source in rules:
                rules[rule.source].append(rule)
        return rules

    # --- Reading labels

    @abstractmethod
    def begin(self) -> S:
        """The initial step, with the silent moves before the first label."""

    def step(self, configuration: C, label: Label) -> S:
        """Read a label: apply a rule or `otherwise`, then silent moves until none applies.

        Args:
            configuration: The configuration before the step.
            label: A set of events.
        """
        state = configuration.state
        if state in self.final:
            raise MachineFinished(
                f"`{state}` is a final state of machine `{self.name}`", fix="start a new episode"
            )
        if state not in self.rules_from:
            raise UnknownConfiguration(
                f"`{state}` is not a state of `{self.name}`",
                fix=did_you_mean(state, self.rules_from),
            )
        self._check_memory(configuration)
        self.alphabet.check(label)
        return self._step(configuration, label)

    def run(self, word: Iterable[Label] | str) -> MachineRun[S]:
        """Read a word from the start, up to the first final state.

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
        """Read a valid label in a valid configuration."""

    @abstractmethod
    def _check_memory(self, configuration: C) -> None:
        """Raise unless the stack or the counters are valid."""

    def undefined_move(self, label: Label, configuration: C) -> UndefinedMove:
        """The error for a label without a rule in a machine with `otherwise error`."""
        return UndefinedMove(
            f"machine `{self.name}` has no rule for label {label_text(label)} at {configuration}",
            fix="add a rule, or write `otherwise stay R` or `otherwise go STATE R` in the machine",
        )

    # --- Kind of machine

    @property
    def is_reward_machine(self) -> bool:
        """True if the machine has no counters, and a stack that no rule looks at or changes."""
        return False

    def rule_text(self, rule: Rule) -> str:
        """A rule in the notation of a file of this machine."""
        return rule.plain_text if self.is_reward_machine else str(rule)

    # --- Checks of subclasses

    @abstractmethod
    def _find_own_faults(self) -> Iterator[PdrmError]:
        """Yield the errors that are specific to this kind of machine."""

    @abstractmethod
    def _co_applicable_rules(
        self, rules: Sequence[LabelledRule]
    ) -> Iterator[tuple[str, list[LabelledRule]]]:
        """Yield groups of rules of a state that can apply together.

        Each group comes with the stack top at which its rules apply, as a text for messages.
        """


AnyKind = Machine[Any, Any, Any]


# --- Rules by state


def states_of(start: str, final: Iterable[str], rules: Iterable[Rule]) -> tuple[str, ...]:
    """Infer U: the start and all sources of rules, without the final states.

    A start without rules is considered misspelt, unless the machine has no rules.
    """
    final_states = set(final)
    sources = dict.fromkeys(rule.source for rule in rules)
    first = [start] if start in sources or not sources else []
    return tuple(state for state in dict.fromkeys([*first, *sources]) if state not in final_states)


def otherwise_at(
    machine: AnyKind, state: str, rules: Iterable[Rule]
) -> list[tuple[Otherwise, LabelSet]]:
    """`otherwise` with the labels that none of `rules` reads.

    The list is empty in a final state, or if every label is read.
    """
    labels = machine.sets.complement_of(rule.guard for rule in rules)
    return [(machine.otherwise, labels)] if labels and state not in machine.final else []


# --- Names and header


def _find_faults(machine: AnyKind) -> Iterator[PdrmError]:
    """Yield the errors that any kind of machine can have."""
    yield from find_bad_names("machine", (machine.name,))
    yield from find_bad_names("event", machine.events, RESERVED_EVENTS)
    yield from find_bad_names("state", (*machine.states, *machine.final), RESERVED)
    states = machine.rules_from
    events = machine.alphabet.positions
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
        fault = f"`otherwise {otherwise.action}` is not a valid default"
        yield MissingHeader(fault, fix="use `stay R`, `go STATE R` or `error`")
    context = "the `otherwise` line"
    yield from find_unknown(UnknownState, targets, states, context, otherwise.where)
    final = frozenset(machine.final)
    for rule in machine.transitions:
        context = f"rule {machine.rule_text(rule)}"
        if rule.source in final:
            yield FinalStateWithRules(
                f"`{rule.source}` is final, so no rule may leave it: {context}",
                where=rule.where,
                fix=f"remove the rule, or take `{rule.source}` off the `final` line",
                word=rule.source,
            )
        ends = rule.source, rule.target
        yield from find_unknown(UnknownState, ends, states, context, rule.where)
        read = sorted(events_of(rule.guard))
        yield from find_unknown(UnknownEvent, read, events, context, rule.where)


def find_bad_names(
    kind: str, names: Sequence[str], reserved: Iterable[str] = ()
) -> Iterator[PdrmError]:
    """Yield errors for names that are invalid, reserved, or declared twice."""
    for name in names:
        if not NAME.fullmatch(name):
            fault = f"{kind} `{name[:40]}` cannot be a name"
            yield BadName(fault, fix="use letters, digits, `_` and the like", word=name)
        elif name in reserved:
            fault = f"{kind} `{name}`: this name is reserved"
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
"""The message and the fix for each kind of unknown name."""


def find_unknown(
    kind: type[PdrmError],
    names: Iterable[str],
    known: Collection[str],
    context: str,
    where: Where | None = None,
) -> Iterator[PdrmError]:
    """Yield an error for each unknown name."""
    fault, default_fix = UNKNOWN[kind]
    for name in names:
        if name not in known:
            fix = suggest(name, known, default_fix)
            yield kind(f"`{name}` {fault} ({context})", where=where, fix=fix, word=name)


def fresh_name(wanted: str, taken: Container[str]) -> str:
    """Return a name that is not in `taken`.

    Args:
        wanted: The name, cut from the left if it is too long, with a number if taken: `u0~2`.
        taken: The names in use.
    """
    stem = wanted[-MAX_NAME_LENGTH:]
    name = stem
    number = 0
    while name in taken:
        number += 1
        name = f"{stem}~{number}"
    return name


# --- Determinism: at most one rule for each state, label and stack top (stricter than the paper)
#
# A silent rule clashes with every rule at the same stack top: a silent move does not wait for the
# label.

MAX_REPORTED = 5
"""The maximum number of clashes in an error."""


class LabelledRule(NamedTuple):
    """A rule with its number in its state and the labels at which it applies.

    A silent rule applies at every label.
    """

    rule: Any
    number: int
    labels: LabelSet


def _find_clashes(machine: AnyKind) -> list[PdrmError]:
    """The errors for pairs of rules that apply together, in the order of the rules.

    At most one error is reported for each line of a file.
    """
    errors: dict[object, PdrmError] = {}
    for state in machine.states:
        rules = machine.rules_from[state]
        if len(rules) < 2:
            continue
        clashes: dict[tuple[int, int], Nondeterministic] = {}
        try:
            for context, group in machine._co_applicable_rules(_label_rules(machine, rules)):
                for first, second, labels in islice(find_overlaps(group), MAX_FAULTS):
                    case = f"{label_text(labels.example())}{context}"
                    error = _clash_error(machine, first.rule, second.rule, case)
                    clashes.setdefault((first.number, second.number), error)
        except TooLarge as error:
            where = rules[0].where
            errors[state] = TooManyCases(error.message, where=where, fix=error.fix)
        for pair in sorted(clashes):
            errors.setdefault(clashes[pair].where or (state, pair), clashes[pair])
        if len(errors) >= MAX_REPORTED:
            break
    return list(errors.values())[:MAX_REPORTED]


def _label_rules(machine: AnyKind, rules: Sequence[Rule]) -> list[LabelledRule]:
    """The rules of a state with their labels, over as few events as possible."""
    events = machine.events
    if not any(
        isinstance(rule.guard, Exactly) for rule in rules
    ):  # `Exactly` depends on all events
        named = frozenset[str]().union(*(events_of(rule.guard) for rule in rules))
        events = tuple(event for event in events if event in named)
    sets = LabelSets(Alphabet(events, machine.exclusive))
    return [
        LabelledRule(rule, number, sets.all if rule.silent else sets.holding(rule.guard))
        for number, rule in enumerate(rules)
    ]


def find_overlaps(
    rules: Sequence[LabelledRule],
) -> Iterator[tuple[LabelledRule, LabelledRule, LabelSet]]:
    """Yield the pairs of rules with common labels, by divide and conquer."""
    if len(rules) < 2:
        return
    middle = len(rules) // 2
    left = rules[:middle]
    right = rules[middle:]
    yield from find_overlaps(left)
    yield from find_overlaps(right)
    common = join_labels(left) & join_labels(right) & rules[0].labels.sets.all
    candidates = [second for second in right if second.labels & common]
    for first, second in product(left, candidates):
        shared = first.labels & second.labels & common
        if shared:
            yield first, second, shared


def join_labels(rules: Sequence[LabelledRule]) -> LabelSet:
    """The labels that at least one of the rules reads."""
    sets = rules[0].labels.sets
    return LabelSet(sets, sets.join([rule.labels.node for rule in rules]))


def _clash_error(machine: AnyKind, first: Rule, second: Rule, case: str) -> Nondeterministic:
    """The error for two rules that apply together.

    Args:
        machine: The machine.
        first: A rule.
        second: A later rule.
        case: The label, and the stack top if there is a stack.
    """
    why = "at most one rule may apply"
    fix = machine._fix
    if first.silent or second.silent:
        why = "next to a silent rule, no other may apply"
        fix = machine._silent_fix
    line = "" if first.where is None else f" ({first.where.path or f'line {first.where.line}'})"
    return Nondeterministic(
        f"two rules apply in state `{first.source}` for label {case}: {why}"
        f"\n    {machine.rule_text(first)}{line}\n    {machine.rule_text(second)}",
        where=second.where or first.where,
        fix=fix,
    )
