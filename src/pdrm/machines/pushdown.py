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
from pdrm.machines.configurations import Configuration, Move, Run, Step, read_word
from pdrm.machines.findings import inspect_pushdown
from pdrm.machines.guards import Label
from pdrm.machines.pushdown_analysis import PushdownSystem, find_endless_silent_moves
from pdrm.machines.transitions import ANY, NONE, Otherwise, Transition
from pdrm.machines.wellformed import find_bad_names, find_clashes, find_faults


@dataclass(frozen=True, slots=True)
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
        self._fill_in()
        raise_all([*find_faults(self), *_find_stack_faults(self)])
        raise_all(_find_pushdown_clashes(self))
        raise_all(find_endless_silent_moves(self))

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
        self.check_state(configuration.state)
        for symbol in configuration.stack:
            if symbol not in self.stack:
                fix = did_you_mean(symbol, self.stack)
                raise UnknownConfiguration(f"`{symbol}` is not a stack symbol of `{self.name}`", fix=fix)
        self.alphabet.check(label)
        return self._step(configuration, label)

    def run(self, word: Iterable[Label]) -> Run[Step]:
        """Read a word from the start, up to the final state if one is reached."""
        return read_word(
            word, self.alphabet, self.final, self.begin(), lambda last, label: self._step(last.after, label)
        )

    def _step(self, before: Configuration, label: Label) -> Step:
        if rule := self.rule(before.state, label, before.top):
            move = _apply(rule, before)
        else:
            after = Configuration(self.otherwise_leads_to(label, before), before.stack)
            move = Move(None, before, after, self.otherwise.reward)
        return Step(label, before, (move, *self._silent_moves(move.after)))

    def _silent_moves(self, here: Configuration) -> list[Move]:
        moves: list[Move] = []
        while (rule := self.rule(here.state, None, here.top)) is not None:
            moves.append(_apply(rule, here))
            here = moves[-1].after
        return moves


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
    return find_clashes(
        machine,
        lambda one, other: (top := _common_top(one, other, machine.stack[0])) and f" and top {top}",
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
