"""Pushdown reward machines (Definition 1): the tuple, checked when it is built, and its readable step.

This form is the specification. Tables and kernels are compiled from it and must agree with it bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from pdrm.errors import (
    EndlessSilentMoves,
    Finding,
    NoBottom,
    PdrmError,
    UnknownConfiguration,
    UnknownSymbol,
    did_you_mean,
    raise_all,
)
from pdrm.limits import LARGEST_STEP
from pdrm.machines.configurations import Configuration, MachineRun, Move, Step, read_word
from pdrm.machines.guards import Label
from pdrm.machines.labels import Alphabet, names_of
from pdrm.machines.machine import (
    RESERVED,
    Clash,
    Reading,
    find_bad_names,
    find_clashes,
    find_faults,
    find_overlaps,
    join_labels,
)
from pdrm.machines.reach import PushdownSystem, find_endless_silent_moves
from pdrm.machines.transitions import ANY, BOTTOM, NONE, Otherwise, Rule, Transition


@dataclass(frozen=True, slots=True, repr=False)
class PushdownRewardMachine(PushdownSystem):
    """⟨U, u₀, F, Σ, Γ, Z, δ_u, δ_r⟩: `stack` lists Γ with the initial symbol Z first, `transitions` hold δ_u and δ_r.

    `states` may be left out: it is then the start and every state that a rule leaves, in the order of the rules.

    >>> from pdrm.machines.guards import Exactly
    >>> push = Transition("u0", "u0", Exactly(frozenset("A")), "z", ("A", "z"), -0.01)
    >>> pop = Transition("u0", "u1", Exactly(frozenset("B")), "A", (), 1)
    >>> machine = PushdownRewardMachine("tiny", ("A", "B"), ("#", "A"), "u0", ("u1",), Otherwise.error(), (push, pop))
    >>> run = machine.run([frozenset("A"), frozenset("B")])
    >>> run.accepted, run.reward, str(run.after)
    (True, 0.99, 'u1, #')
    """

    name: str
    """Its name."""
    events: tuple[str, ...]
    """Σ is made of these: a label is a set of them."""
    stack: tuple[str, ...]
    """Γ, the initial symbol Z first."""
    start: str
    """u₀."""
    final: tuple[str, ...]
    """F: the states in which the task is over."""
    otherwise: Otherwise
    """The default when no rule applies."""
    transitions: tuple[Transition, ...]
    """The rules."""
    exclusive: tuple[tuple[str, ...], ...] = ()
    """Groups of events of which at most one is in a label."""
    states: tuple[str, ...] = ()
    """U without F, in order."""
    alphabet: Alphabet = field(init=False, repr=False, compare=False)
    """The labels that there are, from the events and their groups."""
    leaves_stack: bool = field(init=False, repr=False, compare=False)
    """No rule looks at the stack or changes it: this is a reward machine (Section 2), and is written without the stack."""
    _from: dict[str, tuple[Transition, ...]] = field(init=False, repr=False, compare=False)
    _at: dict[tuple[str, str, bool], list[Transition]] = field(
        init=False, repr=False, compare=False
    )
    """By source, top and whether they are silent."""

    def __post_init__(self) -> None:
        self._fill_in()
        object.__setattr__(self, "stack", names_of("stack", self.stack))
        at: dict[tuple[str, str, bool], list[Transition]] = {}
        for rule in self.transitions:
            at.setdefault((rule.source, rule.top, rule.silent), []).append(rule)
        object.__setattr__(self, "_at", at)
        plain = all(rule.leaves_stack and not rule.silent for rule in self.transitions)
        object.__setattr__(self, "leaves_stack", plain and self.stack == (BOTTOM,))
        raise_all(chain(find_faults(self), _find_stack_faults(self)))
        fix = "make the labels or the tops differ, declare `exclusive` events, or name the top in one of them and use `z` in the other"
        silent_fix = "let the silent rule start in a state of its own, or name other tops"
        raise_all(find_clashes(self, partial(_find_meetings, self), fix, silent_fix))
        raise_all(find_endless_silent_moves(self))

    def rule_text(self, rule: Rule) -> str:
        """A rule as it is written in a file of this machine."""
        return rule.plain_text if self.leaves_stack else str(rule)

    def findings(self) -> list[Finding]:
        """Warnings: unreachable states, undefined cases, rules that never apply, unused names."""
        from pdrm.machines.findings import inspect_pushdown  # looks for paying loops with NumPy

        return inspect_pushdown(self)

    def rule(self, state: str, label: Label | None, top: str | None) -> Transition | None:
        """The one rule that applies; a rule that names the top beats a rule with `z`. state: of the machine. label: None: the
        silent rule. top: the topmost symbol (None if the stack is empty)."""
        for looked in (NONE,) if top is None else (top, NONE, ANY):
            for rule in self._at.get((state, looked, label is None), ()):
                if label is None or rule.guard.holds(label):
                    return rule
        return None

    def begin(self) -> Step:
        """The start: initial state and symbol, and the silent moves before the first label."""
        before = Configuration(self.start, (self.stack[0],))
        return Step(None, before, tuple(self._silent_moves(before)))

    def step(self, configuration: Configuration, label: Label) -> Step:
        """Read one label: the rule that applies, or `otherwise`, then silent moves until none applies. configuration: where the
        machine is. label: a set of events."""
        self.check_state(configuration.state)
        for symbol in configuration.stack:
            if symbol not in self.stack:
                fix = did_you_mean(symbol, self.stack)
                raise UnknownConfiguration(
                    f"`{symbol}` is not a stack symbol of `{self.name}`", fix=fix
                )
        self.alphabet.check(label)
        return self._step(configuration, label)

    def run(self, word: Iterable[Label] | str) -> MachineRun[Step]:
        """Read a word from the start, up to the final state if one is reached. word: labels, or a text such as "a b+c -"."""
        return read_word(
            word,
            self.alphabet,
            self.final,
            self.begin(),
            lambda last, label: self._step(last.after, label),
        )

    def _step(self, before: Configuration, label: Label) -> Step:
        otherwise = self.otherwise
        if rule := self.rule(before.state, label, before.top):
            move = _apply(rule, before)
        elif otherwise.action == "error":
            raise self.undefined_move(label, before)
        else:
            after = Configuration(otherwise.target or before.state, before.stack)
            move = Move(None, before, after, otherwise.reward)
        return Step(label, before, (move, *self._silent_moves(move.after)))

    def _silent_moves(self, here: Configuration) -> list[Move]:
        moves: list[Move] = []
        kept = 0
        while (rule := self.rule(here.state, None, here.top)) is not None:
            moves.append(_apply(rule, here))
            here = moves[-1].after
            kept += 8 + len(here.stack)
            if kept > LARGEST_STEP:
                raise EndlessSilentMoves(
                    f"one step makes more than {len(moves):,} silent moves, with {len(here.stack):,} symbols on the stack",
                    where=rule.where,
                    fix=f"let fewer moves be silent; the last was {rule}",
                )
        return moves


def _apply(rule: Transition, before: Configuration) -> Move:
    stack = rule.replacement(before.top) + before.stack[1:]
    return Move(rule, before, Configuration(rule.target, stack), rule.reward)


# --- Checks: the stack symbols that rules name, and rules that apply at once


def _find_stack_faults(machine: PushdownRewardMachine) -> Iterator[PdrmError]:
    if not machine.stack:
        fix = "list them, the bottom first: `stack # A`"
        yield NoBottom("the stack has no symbols, so no bottom symbol", fix=fix)
    yield from find_bad_names("stack symbol", machine.stack, reserved=(ANY, NONE, *RESERVED))
    known = {ANY, NONE, *machine.stack}
    for rule in machine.transitions:
        unknown = [] if rule.top in known else [rule.top]
        for symbol in [*unknown, *dict.fromkeys(rule.push)]:
            if symbol == ANY and rule.top != ANY and not unknown:
                own = "look at `z` instead of `eps`"
                yield UnknownSymbol(
                    f"`z` is pushed, but the rule does not look at `z`: rule {rule}",
                    where=rule.where,
                    fix=f"write `{rule.top}` itself" if rule.top != NONE else own,
                    word=symbol,
                )
            elif symbol not in known or symbol == NONE:
                yield UnknownSymbol(
                    f"`{symbol}` is not a stack symbol: rule {rule}",
                    where=rule.where,
                    fix=f"add it to the line `stack`, or {did_you_mean(symbol, machine.stack)}",
                    word=symbol,
                )


def _find_meetings(
    machine: PushdownRewardMachine, readings: list[Reading[Transition]]
) -> Iterator[Clash[Transition]]:
    """The rules of one state that apply at once: on the empty stack, at each top that is named, and at one that is not."""
    by_top: dict[str, list[Reading[Transition]]] = {}
    for reading in readings:
        by_top.setdefault(reading.rule.top, []).append(reading)
    anywhere = by_top.get(NONE, [])
    for clash in find_overlaps(anywhere):
        yield clash._replace(place="" if machine.leaves_stack else " and top (empty)")
    not_named = [top for top in machine.stack if top not in by_top]
    for top in machine.stack:
        if top in by_top or top in not_named[:1]:
            named = by_top.get(top, [])
            any_top = _not_beaten(by_top.get(ANY, []), named)
            for clash in find_overlaps([*named, *any_top, *anywhere]):
                yield clash._replace(place=f" and top {top}")


def _not_beaten(
    any_top: list[Reading[Transition]], named: list[Reading[Transition]]
) -> list[Reading[Transition]]:
    """The rules with `z` at a top that other rules name: these beat them."""
    if not named:
        return any_top
    if any(reading.rule.silent for reading in named):
        return []
    read = join_labels(named)
    return [one if one.rule.silent else one._replace(labels=one.labels - read) for one in any_top]
