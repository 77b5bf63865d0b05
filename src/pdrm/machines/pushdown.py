"""Pushdown reward machines (Definition 1): the tuple, checked when it is built, and its readable step.

This form is the specification. Tables and kernels are compiled from it and must agree with it bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

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
from pdrm.files import MAX_SILENT_CHAIN, MAX_STEP_STACK
from pdrm.machines.guards import Label
from pdrm.machines.heads import AnyHead, PushdownRules, replace_top
from pdrm.machines.labels import names_of
from pdrm.machines.machine import (
    RESERVED,
    LabelledRule,
    Machine,
    find_bad_names,
    find_unknown,
    join_labels,
)
from pdrm.machines.reach import list_above, saturate
from pdrm.machines.transitions import (
    ANY,
    NONE,
    Configuration,
    Move,
    Otherwise,
    Step,
    TopSymbols,
    Transition,
    add_up,
)


@dataclass(frozen=True, repr=False)
class PushdownRewardMachine(PushdownRules):
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
    _fix = "make the labels or the tops differ, declare `exclusive` events, or name the top in one of them and use `z` in the other"
    _silent_fix = "let the silent rule start in a state of its own, or name other tops"

    def __post_init__(self) -> None:
        object.__setattr__(self, "stack", names_of("stack", self.stack))
        Machine.__post_init__(self)
        raise_all(_find_endless_silent_moves(self))

    def findings(self) -> list[Finding]:
        """Warnings: unreachable states, undefined cases, rules that never apply, unused names."""
        from pdrm.machines.findings import inspect_pushdown

        return inspect_pushdown(self)

    def begin(self) -> Step:
        """The start: initial state and symbol, and the silent moves before the first label."""
        return self._run_silent_moves(None, Configuration(self.start, self.stack[:1]), [])

    def _step(self, before: Configuration, label: Label) -> Step:
        rule = self.rule(before.state, label, before.top)
        if rule is None and self.otherwise.action == "error":
            raise self.undefined_move(label, before)
        return self._run_silent_moves(label, before, [self._move(rule, before)])

    def _move(self, rule: Transition | None, before: Configuration) -> Move:
        acting = rule or self.otherwise
        return Move(rule, before, before.after(acting), acting.reward)

    def _run_silent_moves(
        self, label: Label | None, before: Configuration, moves: list[Move]
    ) -> Step:
        """The step that begins with these moves, and continues with silent ones until none applies."""
        here = moves[-1].after if moves else before
        kept = 0
        while (rule := self.rule(here.state, None, here.top)) is not None:
            moves.append(self._move(rule, here))
            here = moves[-1].after
            kept += 8 + len(here.stack)
            if kept > MAX_STEP_STACK:
                raise EndlessSilentMoves(
                    f"one step makes more than {len(moves):,} silent moves, with {len(here.stack):,} symbols on the stack",
                    where=rule.where,
                    fix=f"let fewer moves be silent; the last was {rule}",
                )
        return Step(label, before, here, add_up(move.reward for move in moves), tuple(moves))

    def _check_memory(self, configuration: Configuration) -> None:
        for symbol in configuration.stack:
            if symbol not in self.stack:
                fault = f"`{symbol}` is not a stack symbol of `{self.name}`"
                raise UnknownConfiguration(fault, fix=did_you_mean(symbol, self.stack))

    # --- Checks: the stack symbols that rules name, and rules that apply at once

    def _find_own_faults(self) -> Iterator[PdrmError]:
        """The faults of the stack symbols."""
        if not self.stack:
            fix = "list them, the bottom first: `stack # A`"
            yield NoBottom("the stack has no symbols, so no bottom symbol", fix=fix)
        yield from find_bad_names("stack symbol", self.stack, reserved=(ANY, NONE, *RESERVED))
        for rule in self.transitions:
            place = f"rule {rule}"
            tops = [] if rule.top in (ANY, NONE) else [rule.top]
            pushed = [symbol for symbol in rule.push if symbol != ANY]
            symbols = dict.fromkeys([*tops, *pushed])
            yield from find_unknown(UnknownSymbol, symbols, self.stack, place, rule.where)
            if ANY in rule.push and rule.top != ANY and rule.top in (NONE, *self.stack):
                fault = f"`z` is pushed, but the rule does not look at `z`: {place}"
                fix = "look at `z` instead, or push the symbol itself"
                yield UnknownSymbol(fault, where=rule.where, fix=fix, word=ANY)

    def _co_applicable_rules(
        self, readings: Sequence[LabelledRule]
    ) -> Iterator[tuple[str, list[LabelledRule]]]:
        """The rules that may apply at once: on the empty stack, at each top that is named, and at one that is not."""
        named_tops = {reading.rule.top for reading in readings}
        tops = sorted(self.stack, key=lambda top: top not in named_tops)
        for top in (None, *tops[: len(named_tops.intersection(tops)) + 1]):
            there = [one for one in readings if one.rule.looks_at(top)]
            named = [one for one in there if one.rule.top == top]
            if any(one.rule.silent for one in named):  # they beat those with `z`
                there = [one for one in there if one.rule.top != ANY]
            elif named:
                read = join_labels(named)
                there = [
                    one._replace(labels=one.labels - read)
                    if one.rule.top == ANY and not one.rule.silent
                    else one
                    for one in there
                ]
            yield "" if self.is_reward_machine else f" and top {top or NONE}", there


# --- Endless silent moves, decided exactly
#
# What the silent moves of a head do until its symbol is gone depends on the head alone. So they never end just if the head
# comes up again in its own moves, with the stack grown, shrunk and regrown, or kept.

MAX_SHOWN = 6
"""Silent moves printed in a message."""


def _find_endless_silent_moves(machine: PushdownRewardMachine) -> Iterator[EndlessSilentMoves]:
    """An example of silent moves that never end, or would take years to end, if there is one."""
    silent = machine._silent_rules()

    def moves(head: AnyHead) -> list[tuple[str, TopSymbols]]:
        return [replace_top(head, silent[head])] if head in silent else []

    waiting = saturate(moves, [(state, (top,)) for state, top in silent])
    above = list_above(waiting)
    after = {head: [one for one, _ in above[head]] for head in waiting}
    counts: dict[AnyHead, int] = {}
    try:
        for head in TopologicalSorter(after).static_order():
            counts[head] = (head in silent) + sum(counts[one] for one in after[head])
            if counts[head] > MAX_SILENT_CHAIN:
                said = f"more than {MAX_SILENT_CHAIN:,} silent moves follow each other"
                yield _silent_moves_error(said, [head], silent)
                return
    except CycleError as error:
        circle = error.args[1][:0:-1]
        first = circle.index(min(circle, key=list(silent).index))
        circle = circle[first:] + circle[:first]
        yield _silent_moves_error("silent moves never end", circle, silent)


def _silent_moves_error(
    said: str, heads: list[AnyHead], silent: dict[AnyHead, Transition]
) -> EndlessSilentMoves:
    """The error about silent moves at these heads."""
    state, top = heads[0]
    rules = [silent[head] for head in heads]
    shown = [f"\n    {rule}" for rule in rules[:MAX_SHOWN]]
    return EndlessSilentMoves(
        f"{said} in state `{state}` with `{top}` on top:{''.join(shown)}",
        where=rules[0].where,
        fix="let one of these rules read a label, or lead to a state and top without a silent rule",
    )
