"""Combining tasks: one machine that runs several, and is final when a formula over them holds.

A state of the product consists of the states of the parts. There can be any number of reward
machines among the parts. The stacks of other parts become one stack whose symbols are tuples. For
this, they must always replace their tops by the same number of symbols, like visibly pushdown
automata over the same calls and returns (Alur and Madhusudan 2004). Only heads that some word
reaches are checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

from pdrm.errors import (
    BadSetting,
    CannotCombine,
    UnknownMachine,
    WrongKind,
    did_you_mean,
)
from pdrm.language.document import AnyMachine
from pdrm.language.draft import Draft, DraftHead, DraftMove, reach
from pdrm.language.reader import read_guard
from pdrm.language.source import Line
from pdrm.language.task_text import ACCEPT_MODES, END_EVENT, LOST, add_rewards
from pdrm.machines.conversions import counting_to_pushdown
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import (
    ALWAYS,
    NAME,
    Exactly,
    Formula,
    Guard,
    events_of,
    label_text,
    spell_out,
)
from pdrm.machines.labels import FALSE, TRUE, Alphabet, LabelSet, LabelSets
from pdrm.machines.machine import fresh_name
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import ANY, Otherwise, RuleOrOtherwise, Stack, reward_of


def combine(
    parts: Mapping[str, AnyMachine] | Iterable[AnyMachine],
    when: str = "and",
    *,
    weights: Mapping[str, float] | None = None,
    accept: str = "first",
    name: str = "",
) -> PushdownRewardMachine:
    """Combine machines to one that runs them in parallel and gives the sum of their rewards.

    Each part reads the events of a label that it declares. A part in a final state is *finished*:
    it stays there and gives no more rewards.

    Args:
        parts: The machines, optionally by name (default: the names of the machines).
        when: The combination is final when this formula holds. `a` holds if part a is finished,
            and `maze.home` if part maze is in state home, as in `"a & !b"`. `"and"` means all
            parts, `"or"` at least one.
        weights: Factors for the rewards of parts, by name (default: 1).
        accept: `"first"`: the formula is evaluated after every label. `"end"`: it is evaluated
            once, after a label with the event `end` (which the parts also read), so that `"!a"` is
            possible.
        name: The name of the combination.

    >>> import pdrm
    >>> once = pdrm.from_ltlf("F b", events=["a", "b"], reward=10, name="once")
    >>> both = combine([once, pdrm.from_regex('"a" "a"', name="twice")], weights={"twice": 0.5})
    >>> run = both.run([{"a"}, {"b"}, {"a"}])
    >>> run.accepted, run.reward
    (True, 10.5)
    """
    if not isinstance(parts, Iterable) or not isinstance(when, str):
        raise WrongKind(
            "`combine` takes machines and a formula over them",
            fix="put the machines in a list: pdrm.combine([machine, other])",
        )
    machines = _name_parts(parts)
    formula = _read_when(when, machines)
    if accept not in ACCEPT_MODES:
        raise BadSetting(f"`accept` is {accept!r}", fix='use "first" or "end"')
    weights = weights or {}
    for wrong in weights.keys() - machines.keys():
        raise BadSetting(
            f"`{wrong}` has a weight and is not a part", fix=did_you_mean(str(wrong), machines)
        )
    product_parts = []
    for part_name, machine in machines.items():
        if isinstance(machine, CountingRewardAutomaton):
            machine = counting_to_pushdown(machine)
        product_parts.append(Part(part_name, machine, reward_of(weights.get(part_name, 1))))
    draft = Combination(product_parts, formula, accept).draft()
    return draft.write(name or fresh_name("-".join(machines), ()))


def _name_parts(parts: Mapping[str, AnyMachine] | Iterable[AnyMachine]) -> dict[str, AnyMachine]:
    machines: dict[str, AnyMachine] = {}
    pairs = parts.items() if isinstance(parts, Mapping) else [(None, part) for part in parts]
    for name, machine in pairs:
        if not isinstance(machine, PushdownRewardMachine | CountingRewardAutomaton):
            raise BadSetting(
                f"{str(machine)[:40]!r} is not a machine",
                fix='pdrm.catalogue("letter"), pdrm.load("task.pdrm")',
            )
        free = fresh_name(machine.name if name is None else str(name), machines)
        if not NAME.fullmatch(free):
            raise BadSetting(f"`{free[:40]}` cannot name a part", fix="use a word")
        machines[free] = machine
    if not machines:
        raise BadSetting("no machine to combine", fix="pass two machines or more")
    return machines


def _read_when(when: str, parts: Mapping[str, AnyMachine]) -> Formula:
    """Read the formula, whose events are `part` or `part.state`."""
    if when in ("and", "or"):
        when = (" & " if when == "and" else " | ").join(parts)
    line = Line("<when>", 1, when)
    guard = read_guard(line)
    if not isinstance(guard, Formula):
        raise BadSetting(
            "`when` is a formula over the parts",
            where=line.at(1, len(when)),
            fix='write for example "a & !b"',
        )
    names = list(parts)
    for name, machine in parts.items():
        names += [f"{name}.{state}" for state in (*machine.states, *machine.final)]
    for event in sorted(events_of(guard) - set(names)):
        where = line.at(when.index(event) + 1, len(event))
        raise UnknownMachine(
            f"`{event}` is not a part", where=where, fix=did_you_mean(event, names)
        )
    return guard


# --- Parts


@dataclass(frozen=True, slots=True)
class Part:
    """A machine of a combination, with its name and the weight of its rewards."""

    name: str
    machine: PushdownRewardMachine
    weight: float

    def rules(self, state: str, top: str | None) -> Iterator[tuple[Guard, RuleOrOtherwise]]:
        """Yield guards and rules in priority order. Labels that match no guard are errors."""
        rules = self.machine.rules_from[state]
        for rule in sorted(rules, key=lambda rule: rule.top == ANY):  # `z` has lower priority
            if not rule.silent and rule.looks_at(top):
                yield rule.guard, rule
        otherwise = STAY if state in self.machine.final else self.machine.otherwise
        if otherwise.action != "error":
            yield ALWAYS, otherwise

    def push(self, state: str, top: str | None, rule: RuleOrOtherwise) -> Stack | None:
        """The symbols that replace the top (None for a part without a stack or finished)."""
        if self.machine.is_reward_machine or state in self.machine.final:
            return None
        return rule.replacement(top)


# --- The product of the parts

STAY = Otherwise.stay(0)
RUN, JUDGE, ENDED, FAILED = "", "judged", "ended", LOST
"""Phases: reading labels; silent moves before the evaluation of `when`; `when` holds; it fails."""
FILLER = "_"
"""The symbol of a part without a stack, or of a finished part."""
Symbol = tuple[str | None, ...]
"""The symbols of all parts, or Nones below their bottom symbols."""


class CombinedState(NamedTuple):
    """A state of the combination."""

    states: tuple[str, ...]
    phase: str


class Combination:
    """The moves of the combination."""

    def __init__(self, parts: list[Part], when: Formula, accept: str) -> None:
        self.parts = parts
        self.when = when
        self.accept = accept
        declared = dict.fromkeys(event for part in parts for event in part.machine.events)
        events = tuple(declared | dict.fromkeys([END_EVENT] if accept == "end" else []))
        groups = dict.fromkeys(group for part in parts for group in part.machine.exclusive)
        self.sets = LabelSets(Alphabet(events, tuple(groups)))
        self.end = self.sets.variable(events.index(END_EVENT)) if accept == "end" else FALSE
        self.start = CombinedState(tuple(part.machine.start for part in parts), RUN)
        self.bottom: Symbol = tuple(
            FILLER if part.machine.is_reward_machine else part.machine.stack[0] for part in parts
        )
        self.empty: Symbol = (None,) * len(parts)
        """The symbol below all others."""
        if accept == "first" and self._holds(self.start):
            raise BadSetting(
                "`when` holds before the first label: the combination would be final at once",
                fix='name the parts to finish, as in "a & !b", or use accept="end"',
            )

    def draft(self) -> Draft:
        """The moves at the reachable heads.

        The first move pushes the bottom symbols above `empty`. It is omitted if no rule applies
        when the stacks of the parts are empty.
        """
        initial: DraftHead = CombinedState(("begin",), RUN), self.empty
        first = DraftMove(None, self.start, (self.bottom, self.empty), 0.0)
        moves = reach(lambda head: [first] if head == initial else self._moves(head), initial)
        final = tuple(dict.fromkeys(state for state, _ in moves if state.phase == ENDED))
        moves_when_empty = any(
            found for head, found in moves.items() if head != initial and head[1] == self.empty
        )
        start = initial
        if not moves_when_empty:
            start = self.start, self.bottom
            moves = {head: found for head, found in moves.items() if head[1] != self.empty}
        strict = any(part.machine.otherwise.action == "error" for part in self.parts)
        return Draft(
            self.sets,
            start,
            moves,
            final,
            Otherwise.error() if strict else None,
            lambda state: ".".join([*state.states, *{state.phase} - {RUN, ENDED}]),
            self._name_symbol,
        )

    def _name_symbol(self, symbol: Symbol) -> str:
        stacked = [not part.machine.is_reward_machine for part in self.parts]
        return ".".join(filter(None, compress(symbol, stacked))) or FILLER

    def _holds(self, state: CombinedState) -> bool:
        """Return True if the formula holds for the states of the parts."""
        facts = []
        for part, part_state in zip(self.parts, state.states, strict=True):
            facts.append(f"{part.name}.{part_state}")
            if part_state in part.machine.final:
                facts.append(part.name)
        return self.when.holds(frozenset(facts))

    def _evaluate_when(self, state: CombinedState) -> CombinedState:
        """Evaluate the formula in a state without pending silent moves.

        Returns:
            The state, in the phase that follows from the formula.
        """
        if state.phase == JUDGE or self.accept == "first":
            if self._holds(state):
                return CombinedState(state.states, ENDED)
            if state.phase == JUDGE:
                return CombinedState(state.states, FAILED)
        return state

    def _moves(self, head: DraftHead) -> list[DraftMove]:
        """The moves at a head."""
        state, tops = head
        if state.phase == ENDED:
            return []
        if state.phase == FAILED:
            return [DraftMove(self.sets.all.node, state, (tops,), 0.0)]
        silent = [
            part.machine.rule(part_state, None, top)
            for part, part_state, top in zip(self.parts, state.states, tops, strict=True)
        ]
        if any(silent):
            return [self._join(head, [rule or STAY for rule in silent], state.phase, None)]
        evaluated = self._evaluate_when(state)
        if evaluated != state:
            return [DraftMove(None, evaluated, (tops,), 0.0)]
        labels_by_effect: dict[DraftMove, int] = {}
        for labels, rules in self._partition_labels(head):
            without_end = self.sets.choose(self.end, FALSE, labels)
            with_end = self.sets.choose(self.end, labels, FALSE)
            for phase, read in ((RUN, without_end), (JUDGE, with_end)):
                if read != FALSE:
                    effect = self._join(head, rules, phase, read)._replace(labels=None)
                    known = labels_by_effect.get(effect, FALSE)
                    labels_by_effect[effect] = self.sets.choose(read, TRUE, known)
        return [effect._replace(labels=labels) for effect, labels in labels_by_effect.items()]

    def _partition_labels(self, head: DraftHead) -> list[tuple[int, list[RuleOrOtherwise]]]:
        """Partition the labels by the rule that applies in each part.

        Labels that some part cannot read are omitted.
        """
        cases: list[tuple[int, list[RuleOrOtherwise]]] = [(self.sets.all.node, [])]
        for part, state, top in zip(self.parts, head[0].states, head[1], strict=True):
            refined: list[tuple[int, list[RuleOrOtherwise]]] = []
            for unread, rules in cases:
                for guard, rule in part.rules(state, top):
                    if isinstance(guard, Exactly):  # events of other parts do not matter
                        guard = spell_out(guard, part.machine.events)
                    satisfied = self.sets.holding(guard).node
                    read = self.sets.choose(satisfied, unread, FALSE)
                    unread = self.sets.choose(satisfied, FALSE, unread)
                    if read != FALSE:
                        refined.append((read, [*rules, rule]))
            cases = refined
        return cases

    def _join(
        self, head: DraftHead, rules: Sequence[RuleOrOtherwise], phase: str, labels: int | None
    ) -> DraftMove:
        """Join the moves of the parts, with a rule for each part."""
        targets: list[str] = []
        pushes: list[Stack | None] = []
        rewards: list[float] = []
        for part, state, top, rule in zip(self.parts, head[0].states, head[1], rules, strict=True):
            targets.append(rule.target or state)
            pushes.append(part.push(state, top, rule))
            rewards.append(part.weight * rule.reward)
        target = CombinedState(tuple(targets), phase)
        next_rules = [
            rule
            for part, state in zip(self.parts, targets, strict=True)
            for rule in part.machine.rules_from[state]
        ]
        if not any(rule.silent for rule in next_rules):
            target = self._evaluate_when(target)
        reward = add_rewards(*rewards)
        lengths = {len(push) for push in pushes if push is not None}
        if len(lengths) > 1:
            case = "silently"
            if labels is not None:
                case = f"at label {label_text(LabelSet(self.sets, labels).example())}"
            raise CannotCombine(
                f"the stacks do not move together in state `{'.'.join(head[0].states)}`, {case}",
                fix="let both push and pop at the same labels, "
                "or combine one with machines without a stack",
            )
        if not lengths:
            return DraftMove(labels, target, (head[1],), reward)
        fill = (FILLER,) * lengths.pop()
        filled = [fill if push is None else push for push in pushes]
        below = (self.empty,) if head[1] == self.empty else ()
        return DraftMove(labels, target, (*zip(*filled, strict=True), *below), reward)
