"""Pushdown reward machines (Definition 1): the tuple, checked at construction, and its step.

This is the specification. Tables and kernels are compiled from it and agree with it bit for bit.
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
from pdrm.machines.heads import AnyHead, replace_top
from pdrm.machines.labels import names_of
from pdrm.machines.machine import (
    RESERVED,
    LabelledRule,
    Machine,
    find_bad_names,
    find_unknown,
    join_labels,
)
from pdrm.machines.pushdown_rules import PushdownRules
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
    """⟨U, u₀, F, Σ, Γ, Z, δᵤ, δᵣ⟩: `stack` is Γ with Z first, `transitions` are δᵤ and δᵣ.

    `states` is optional. The default is the start and the source of every rule, in their order.

    >>> from pdrm.machines.guards import Exactly
    >>> push = Transition("u0", "u0", Exactly(frozenset("A")), "z", ("A", "z"), -0.01)
    >>> pop = Transition("u0", "u1", Exactly(frozenset("B")), "A", (), 1)
    >>> machine = PushdownRewardMachine(
    ...     "tiny", ("A", "B"), ("#", "A"), "u0", ("u1",), Otherwise.error(), (push, pop)
    ... )
    >>> run = machine.run([frozenset("A"), frozenset("B")])
    >>> run.accepted, run.reward, str(run.after)
    (True, 0.99, 'u1, #')
    """

    name: str
    """The name of the machine."""
    events: tuple[str, ...]
    """The events. Σ consists of sets of events."""
    stack: tuple[str, ...]
    """Γ, the initial symbol Z first."""
    start: str
    """u₀."""
    final: tuple[str, ...]
    """F: the states that end the episode."""
    otherwise: Otherwise
    """The default move when no rule applies."""
    transitions: tuple[Transition, ...]
    """The rules."""
    exclusive: tuple[tuple[str, ...], ...] = ()
    """Groups of events of which a label contains at most one."""
    states: tuple[str, ...] = ()
    """U without F, in order."""
    _fix = (
        "make the labels or the tops differ, declare `exclusive` events, "
        "or name the top in one of them and use `z` in the other"
    )
    _silent_fix = "move the silent rule to a separate state, or name other tops"

    def __post_init__(self) -> None:
        object.__setattr__(self, "stack", names_of("stack", self.stack))
        Machine.__post_init__(self)
        raise_all(_find_endless_silent_moves(self))

    def findings(self) -> list[Finding]:
        """Warnings: unreachable states, undefined cases, rules that never apply, unused names."""
        from pdrm.machines.findings import inspect_pushdown

        return inspect_pushdown(self)

    def begin(self) -> Step:
        """The initial step, with the silent moves before the first label."""
        return self._run_silent_moves(None, Configuration(self.start, self.stack[:1]), [])

    def _step(self, before: Configuration, label: Label) -> Step:
        rule = self.rule(before.state, label, before.top)
        if rule is None and self.otherwise.action == "error":
            raise self.undefined_move(label, before)
        return self._run_silent_moves(label, before, [self._move(rule, before)])

    def _move(self, rule: Transition | None, before: Configuration) -> Move:
        applied = rule or self.otherwise
        return Move(rule, before, before.after(applied), applied.reward)

    def _run_silent_moves(
        self, label: Label | None, before: Configuration, moves: list[Move]
    ) -> Step:
        """The step that starts with `moves` and continues with silent moves until none applies."""
        after = moves[-1].after if moves else before
        size = 0
        while (rule := self.rule(after.state, None, after.top)) is not None:
            moves.append(self._move(rule, after))
            after = moves[-1].after
            size += MOVE_SIZE + len(after.stack)
            if size > MAX_STEP_STACK:
                raise EndlessSilentMoves(
                    f"one step makes more than {len(moves):,} silent moves, "
                    f"with {len(after.stack):,} symbols on the stack",
                    where=rule.where,
                    fix=f"make fewer moves silent; the last was {rule}",
                )
        return Step(label, before, after, add_up(move.reward for move in moves), tuple(moves))

    def _check_memory(self, configuration: Configuration) -> None:
        for symbol in configuration.stack:
            if symbol not in self.stack:
                raise UnknownConfiguration(
                    f"`{symbol}` is not a stack symbol of `{self.name}`",
                    fix=did_you_mean(symbol, self.stack),
                )

    # --- Checks: stack symbols, and rules that apply together

    def _find_own_faults(self) -> Iterator[PdrmError]:
        """Yield the errors in the stack symbols."""
        if not self.stack:
            fix = "list them, the bottom first: `stack # A`"
            yield NoBottom("the stack has no symbols, so no bottom symbol", fix=fix)
        yield from find_bad_names("stack symbol", self.stack, reserved=(ANY, NONE, *RESERVED))
        for rule in self.transitions:
            context = f"rule {rule}"
            tops = [] if rule.top in (ANY, NONE) else [rule.top]
            pushed = [symbol for symbol in rule.push if symbol != ANY]
            symbols = dict.fromkeys([*tops, *pushed])
            yield from find_unknown(UnknownSymbol, symbols, self.stack, context, rule.where)
            if ANY in rule.push and rule.top != ANY and rule.top in (NONE, *self.stack):
                fault = f"`z` is pushed, but the rule does not look at `z`: {context}"
                fix = "look at `z` instead, or push the symbol itself"
                yield UnknownSymbol(fault, where=rule.where, fix=fix, word=ANY)

    def _co_applicable_rules(
        self, rules: Sequence[LabelledRule]
    ) -> Iterator[tuple[str, list[LabelledRule]]]:
        """Yield the rules that can apply on the empty stack, and at each top that rules name.

        Tops that no rule names behave alike, so only one of them is checked.
        """
        named_tops = {labelled.rule.top for labelled in rules}
        tops = sorted(self.stack, key=lambda top: top not in named_tops)
        for top in (None, *tops[: len(named_tops.intersection(tops)) + 1]):
            group = [labelled for labelled in rules if labelled.rule.looks_at(top)]
            named = [labelled for labelled in group if labelled.rule.top == top]
            if any(labelled.rule.silent for labelled in named):  # they beat rules with `z`
                group = [labelled for labelled in group if labelled.rule.top != ANY]
            elif named:
                read = join_labels(named)
                group = [
                    labelled._replace(labels=labelled.labels - read)
                    if labelled.rule.top == ANY and not labelled.rule.silent
                    else labelled
                    for labelled in group
                ]
            yield "" if self.is_reward_machine else f" and top {top or NONE}", group


# --- Endless silent moves, decided exactly
#
# Until its symbol is popped, the silent moves from a head depend only on that head. So they are
# endless if and only if the head recurs within its own moves, whether the stack has grown, shrunk
# and regrown, or stayed the same.

MOVE_SIZE = 8
"""The size of a move without its stack, in symbols: about the memory of its object."""

MAX_SHOWN = 6
"""The maximum number of silent moves in a message."""


def _find_endless_silent_moves(machine: PushdownRewardMachine) -> Iterator[EndlessSilentMoves]:
    """Yield an error for an endless (or extremely long) chain of silent moves, if there is one."""
    silent = machine.silent_rules()

    def moves(head: AnyHead) -> list[tuple[str, TopSymbols]]:
        return [replace_top(head, silent[head])] if head in silent else []

    frames_below = saturate(moves, [(state, (top,)) for state, top in silent])
    above = list_above(frames_below)
    later = {head: [next_head for next_head, _ in above[head]] for head in frames_below}
    counts: dict[AnyHead, int] = {}
    try:
        for head in TopologicalSorter(later).static_order():
            counts[head] = (head in silent) + sum(counts[next_head] for next_head in later[head])
            if counts[head] > MAX_SILENT_CHAIN:
                fault = f"more than {MAX_SILENT_CHAIN:,} silent moves follow each other"
                yield _silent_moves_error(fault, [head], silent)
                return
    except CycleError as error:
        cycle = error.args[1][:0:-1]
        first = cycle.index(min(cycle, key=list(silent).index))
        cycle = cycle[first:] + cycle[:first]
        yield _silent_moves_error("silent moves never end", cycle, silent)


def _silent_moves_error(
    fault: str, heads: list[AnyHead], silent: dict[AnyHead, Transition]
) -> EndlessSilentMoves:
    """The error for silent moves at these heads."""
    state, top = heads[0]
    rules = [silent[head] for head in heads]
    shown = [f"\n    {rule}" for rule in rules[:MAX_SHOWN]]
    return EndlessSilentMoves(
        f"{fault} in state `{state}` with `{top}` on top:{''.join(shown)}",
        where=rules[0].where,
        fix="let one of these rules read a label, or lead to a state and top without a silent rule",
    )
