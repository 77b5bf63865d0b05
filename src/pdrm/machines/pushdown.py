"""Pushdown reward machines (Definition 1): the tuple, checked when it is built, and its readable step.

This form is the specification. Tables and kernels are compiled from it and must agree with it bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from pdrm.errors import (
    EndlessSilentMoves,
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
from pdrm.limits import LARGEST_STEP
from pdrm.machines.alphabet import Alphabet, Cube, names_of
from pdrm.machines.checks.determinism import Meeting, Reading, find_clashes
from pdrm.machines.checks.findings import inspect_pushdown
from pdrm.machines.checks.pushdown_analysis import PushdownSystem, find_endless_silent_moves
from pdrm.machines.checks.wellformed import ANYTHING, NOTHING, RESERVED, find_bad_names, find_faults
from pdrm.machines.configurations import Configuration, Move, Run, Step, read_word
from pdrm.machines.guards import Label
from pdrm.machines.transitions import ANY, NONE, Otherwise, Transition


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
    """What it is called."""
    events: tuple[str, ...]
    """Σ is made of these: a label is a set of them."""
    stack: tuple[str, ...]
    """Γ, the initial symbol Z first."""
    start: str
    """u₀."""
    final: tuple[str, ...]
    """F: the states in which the task is over."""
    otherwise: Otherwise
    """What happens where no rule applies."""
    transitions: tuple[Transition, ...]
    """The rules."""
    exclusive: tuple[tuple[str, ...], ...] = ()
    """Groups of events of which at most one is in a label."""
    states: tuple[str, ...] = ()
    """U without F, in order."""
    alphabet: Alphabet = field(init=False, repr=False, compare=False)
    """The labels that there are, from the events and their groups."""
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
        raise_all(chain(find_faults(self), _find_stack_faults(self)))
        raise_all(_find_pushdown_clashes(self))
        raise_all(find_endless_silent_moves(self))

    def findings(self) -> list[Finding]:
        """Warnings: unreachable states, undefined cases, rules that never apply, unused names."""
        return inspect_pushdown(self)

    def rule(self, state: str, label: Label | None, top: str | None) -> Transition | None:
        """The one rule that applies; a rule that names the top beats a rule with `z`. state: of the machine. label: None: the
        silent rule. top: the topmost symbol; None: the stack is empty."""
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

    def run(self, word: Iterable[Label] | str) -> Run[Step]:
        """Read a word from the start, up to the final state if one is reached. word: labels, or a text such as "a b+c -"."""
        return read_word(
            word,
            self.alphabet,
            self.final,
            self.begin(),
            lambda last, label: self._step(last.after, label),
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
        yield NoBottom(
            "the stack has no symbols, so no bottom symbol",
            fix="list them, the bottom first: `stack # A`",
        )
    yield from find_bad_names("stack symbol", machine.stack, reserved=(ANY, NONE, *RESERVED))
    known = {ANY, NONE, *machine.stack}
    for rule in machine.transitions:
        unknown = [rule.top] if rule.top not in known else []
        for symbol in [*unknown, *dict.fromkeys(rule.push)]:
            if symbol == ANY and rule.top != ANY and not unknown:
                yield UnknownSymbol(
                    f"`z` is pushed, but the rule does not look at `z`: rule {rule}",
                    where=rule.where,
                    fix=f"write `{rule.top}` itself"
                    if rule.top != NONE
                    else "look at `z` instead of `eps`",
                    word=symbol,
                )
            elif symbol not in known or symbol == NONE:
                fault = f"`{symbol}` is not a stack symbol: rule {rule}"
                fix = f"add it to the line `stack`, or {did_you_mean(symbol, machine.stack)}"
                if symbol.strip("\"'") in machine.stack:
                    fix = "write it without quotes"
                elif symbol.casefold() == "pop":
                    fix = f"to pop, push nothing: `{rule.top} / eps`"
                elif symbol.casefold() in NOTHING:
                    fix = "write `eps`, which looks at no symbol (before the slash) or pushes none (after it)"
                elif symbol.casefold() in (*ANYTHING, ANY):
                    fix = f"any symbol is written `{ANY}`"
                yield UnknownSymbol(fault, where=rule.where, fix=fix, word=symbol)


def _find_pushdown_clashes(machine: PushdownRewardMachine) -> list[Nondeterministic | TooManyCases]:
    """Pairs of rules that apply at once, each with a label and a top where they do."""
    return find_clashes(
        machine,
        lambda readings: _Tops(machine, readings).meetings(),
        fix="make the labels or the tops differ, declare `exclusive` events, or name the top in one of them and use `z` in the other",
        silent_fix="let the silent rule start in a state of its own, or name other tops",
    )


_Reading = Reading[Transition]
_Case = tuple[Cube, str] | None


class _Tops:
    """The rules of one state by the top they look at; a rule that names the top beats a rule with `z`."""

    def __init__(self, machine: PushdownRewardMachine, readings: list[_Reading]) -> None:
        self.machine = machine
        self.naming = [reading for reading in readings if reading.rule.top != ANY]
        self.any = [reading for reading in readings if reading.rule.top == ANY]
        self.at: dict[str, list[_Reading]] = {}
        for reading in self.naming:
            self.at.setdefault(reading.rule.top, []).append(reading)

    def meetings(self) -> Iterator[Meeting[Transition]]:
        """Rules that name tops (or look at none) with each other, rules with `z` with each other and with those that look at
        none, and silent rules with `z` with all that read."""
        first = len(self.machine.events)
        bits = {symbol: 1 << first + number for number, symbol in enumerate(self.machine.stack)}
        looks = [Cube(bits.get(reading.rule.top, 0), 0) for reading in self.naming]
        every = ((1 << len(bits)) - 1) << first
        yield Meeting(self.naming, looks, (every,), self._place_of_named)
        anywhere = [*self.any, *self.at.get(NONE, ())]
        yield Meeting(anywhere, [Cube(0, 0)] * len(anywhere), (), self._place_of_any)
        for silent in (reading for reading in self.any if reading.rule.silent):
            for named in (
                reading
                for reading in self.naming
                if not reading.rule.silent and reading.rule.top != NONE
            ):
                yield Meeting((silent, named), [Cube(0, 0)] * 2, (), self._place_of_named)

    def _place_of_named(self, one: _Reading, other: _Reading, met: list[Cube]) -> _Case:
        tops = [top for top in (one.rule.top, other.rule.top) if top not in (ANY, NONE)]
        return (met[0], f" and top {tops[0] if tops else '(empty)'}") if met else None

    def _place_of_any(self, one: _Reading, other: _Reading, met: list[Cube]) -> _Case:
        """A label and a top that no rule naming it reads; a silent rule naming it leaves no label to read."""
        if one.rule.top == other.rule.top == NONE:
            return None
        if NONE in (one.rule.top, other.rule.top):
            return met[0], f" and top {self.machine.stack[0]}"
        silent = one.rule.silent and other.rule.silent
        for top in self.machine.stack:
            named = self.at.get(top, [])
            if not any(reading.rule.silent for reading in named):
                taken = [] if silent else [cube for reading in named for cube in reading.cubes]
                left = self.machine.alphabet.subtract(met, taken)
                if left:
                    return left[0], f" and top {top}"
        return None
