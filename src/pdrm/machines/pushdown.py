"""Pushdown reward machines (Definition 1): the tuple, checked when it is built, and its readable step.

This form is the specification. Tables and kernels are compiled from it and must agree with it bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pdrm.errors import (
    Finding,
    NoBottom,
    Nondeterministic,
    PdrmError,
    TooManyCases,
    UnknownConfiguration,
    UnknownSymbol,
    did_you_mean,
    raise_all,
)
from pdrm.machines.alphabet import Alphabet
from pdrm.machines.configurations import Configuration, Move, Run, Step, check_state, no_rule, read_word
from pdrm.machines.findings import inspect_pushdown
from pdrm.machines.guards import Label
from pdrm.machines.pushdown_analysis import find_endless_silent_moves
from pdrm.machines.transitions import ANY, NONE, Otherwise, Transition
from pdrm.machines.wellformed import find_bad_names, find_clashes, find_faults, group_by_source, states_of


@dataclass(frozen=True, slots=True)
class PushdownRewardMachine:
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
    events: tuple[str, ...]
    stack: tuple[str, ...]
    start: str
    final: tuple[str, ...]
    otherwise: Otherwise
    transitions: tuple[Transition, ...]
    exclusive: tuple[tuple[str, ...], ...] = ()
    states: tuple[str, ...] = ()
    alphabet: Alphabet = field(init=False, repr=False, compare=False)
    _from: dict[str, tuple[Transition, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alphabet", Alphabet(self.events, self.exclusive))
        if not self.states:
            object.__setattr__(self, "states", states_of(self.start, self.final, self.transitions))
        object.__setattr__(self, "_from", group_by_source((*self.states, *self.final), self.transitions))
        raise_all([*find_faults(self), *_find_stack_faults(self)])
        raise_all(_find_pushdown_clashes(self))
        raise_all(find_endless_silent_moves(self))

    def rules_from(self, state: str) -> tuple[Transition, ...]:
        """The rules that leave a state, in the order they were written."""
        return self._from[state]

    def findings(self) -> list[Finding]:
        """Warnings: unreachable states, undefined cases, rules that never apply, unused names."""
        return inspect_pushdown(self)

    def rule(self, state: str, label: Label | None, top: str | None) -> Transition | None:
        """The one rule that applies (label None: the silent one); a rule that names the top beats a rule with `z`."""
        found = None
        for rule in self._from[state]:
            if rule.looks_at(top) and (rule.silent if label is None else rule.guard.holds(label)):
                if rule.top != ANY:
                    return rule
                found = rule
        return found

    def begin(self) -> Step:
        """The start: initial state and symbol, and the silent moves before the first label."""
        before = Configuration(self.start, (self.stack[0],))
        return Step(None, before, tuple(self._silent_moves(before)))

    def step(self, configuration: Configuration, label: Label) -> Step:
        """Read one label: the rule that applies, or `otherwise`, then silent moves until none applies."""
        self._check(configuration)
        self.alphabet.check(label)
        return self._step(configuration, label)

    def run(self, word: Iterable[Label]) -> Run[Step]:
        """Read a word from the start, up to the final state if one is reached."""
        return read_word(
            word, self.alphabet, self.final, self.begin(), lambda last, label: self._step(last.after, label)
        )

    def _step(self, before: Configuration, label: Label) -> Step:
        rule = self.rule(before.state, label, before.top)
        move = self._otherwise(before, label) if rule is None else _apply(rule, before)
        return Step(label, before, (move, *self._silent_moves(move.after)))

    def _silent_moves(self, here: Configuration) -> list[Move]:
        moves: list[Move] = []
        rule = self.rule(here.state, None, here.top)
        while rule is not None:
            moves.append(_apply(rule, here))
            here = moves[-1].after
            rule = self.rule(here.state, None, here.top)
        return moves

    def _otherwise(self, before: Configuration, label: Label) -> Move:
        if self.otherwise.action == "error":
            raise no_rule(self.name, label, before)
        target = before.state if self.otherwise.target is None else self.otherwise.target
        return Move(None, before, Configuration(target, before.stack), self.otherwise.reward)

    def _check(self, configuration: Configuration) -> None:
        """Raise unless the configuration is one of this machine's from which a label can be read."""
        check_state(configuration.state, self.name, self._from, self.final)
        for symbol in configuration.stack:
            if symbol not in self.stack:
                fix = did_you_mean(symbol, self.stack)
                raise UnknownConfiguration(f"`{symbol}` is not a stack symbol of `{self.name}`", fix=fix)


def _apply(rule: Transition, before: Configuration) -> Move:
    stack = rule.replacement(before.top) + before.stack[1:]
    return Move(rule, before, Configuration(rule.target, stack), rule.reward)


# --- Checks: the stack symbols that rules name, and rules that apply at once


def _find_stack_faults(machine: PushdownRewardMachine) -> Iterator[PdrmError]:
    if not machine.stack:
        yield NoBottom("the stack has no symbols, so no bottom symbol", fix="list them, the bottom first: `stack # A`")
    yield from find_bad_names("stack symbol", machine.stack, reserved=(ANY, NONE))
    for rule in machine.transitions:
        unknown = [rule.top] if rule.top not in (ANY, NONE, *machine.stack) else []
        for symbol in [*unknown, *dict.fromkeys(rule.push)]:
            if symbol == ANY and rule.top != ANY:
                yield UnknownSymbol(
                    f"`z` is pushed, but the rule does not look at `z`: rule {rule}",
                    where=rule.where,
                    fix=f"write `{rule.top}` itself" if rule.top != NONE else "look at `z` instead of `eps`",
                    word=symbol,
                )
            elif symbol not in (ANY, *machine.stack):
                fault = f"`{symbol}` is not a stack symbol: rule {rule}"
                yield UnknownSymbol(fault, where=rule.where, fix=did_you_mean(symbol, machine.stack), word=symbol)


def _find_pushdown_clashes(machine: PushdownRewardMachine) -> list[Nondeterministic | TooManyCases]:
    """Pairs of rules that apply at once, each with a label and a top where they do."""

    def place(one: Transition, other: Transition) -> str | None:
        top = _common_top(one, other, machine.stack[0])
        return None if top is None else f" and top {top}"

    return find_clashes(
        machine,
        place,
        fix="make the labels or the tops differ, declare `exclusive` events, or name the top in one of them and use `z` in the other",
        silent_fix="let the silent rule start in a state of its own, or name other tops",
    )


def _common_top(one: Transition, other: Transition, bottom: str) -> str | None:
    """A top of stack at which both rules would apply, or None; a rule that names the top beats a rule with `z`."""
    tops = {one.top, other.top}
    if tops == {NONE}:
        return "(empty)"
    if NONE in tops:
        named = (tops - {NONE}).pop()
        return bottom if named == ANY else named
    if one.top == other.top:
        return bottom if one.top == ANY else one.top
    if ANY not in tops:
        return None
    any_rule, named_rule = (one, other) if one.top == ANY else (other, one)
    return named_rule.top if any_rule.silent and not named_rule.silent else None
