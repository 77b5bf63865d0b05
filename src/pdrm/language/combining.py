"""Combining tasks: one machine that runs several at once, and is final when a formula over them holds.

`product_machine` explores what the parts do together; here the result gets names and rules. What all
tops of a state do alike is one rule with `z`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from pdrm.errors import BadSetting, UnknownMachine, WrongKind, did_you_mean
from pdrm.language.document import AnyMachine
from pdrm.language.product_machine import (
    EMPTY,
    ENDED,
    FAILED,
    JUDGE,
    Part,
    Place,
    Product,
    ProductMove,
    Symbol,
)
from pdrm.language.source import Line
from pdrm.language.syntax import read_guard
from pdrm.language.task_text import ENDS, LOST
from pdrm.machines.conversions import counting_to_pushdown
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import SILENT, And, Event, Exactly, Formula, Guard, Or, Silent, events_of
from pdrm.machines.labels import LabelSet
from pdrm.machines.machine import NAME, RESERVED, fresh_name
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import ANY, BOTTOM, Otherwise, Stack, Transition, reward_of

SEVERAL = "put the machines in a list: pdrm.combine([machine, other])"
"""The fix for machines that are given one by one."""


def combine(
    parts: Mapping[str, AnyMachine] | Iterable[AnyMachine],
    when: str = "and",
    *,
    weights: Mapping[str, float] | None = None,
    accept: str = "first",
    name: str = "",
) -> PushdownRewardMachine:
    """Make one machine that runs several at once and pays the sum of what they pay.

    Args:
        parts: Machines, by name (default: their own names). A part that reaches a final state
            stops there: it is *finished*, and pays no more.
        when: The combination is final when this formula over the names of finished parts holds:
            `"a & !b"` means that a is finished and b is not; `maze.home` that a part is in a state.
            `"and"` means all of them, `"or"` one.
        weights: What a part pays is multiplied by its weight (default: 1).
        accept: `"first"`: final as soon as the formula holds after a label. `"end"`: it is judged
            when the event `end` is read (the parts read that label too), so that `"!a"` can be said.
        name: The name of the combination.

    Each part reads the events of a label that are its own.

    Example:
        >>> import pdrm
        >>> once = pdrm.from_ltlf("F b", events=["a", "b"], reward=10, name="once")
        >>> both = combine([once, pdrm.from_regex('"a" "a"', name="twice")], weights={"twice": 0.5})
        >>> run = both.run([{"a"}, {"b"}, {"a"}])
        >>> run.accepted, run.reward
        (True, 10.5)
    """
    named = _name_parts(parts)
    formula = _read_when(when, named)
    if accept not in ENDS:
        raise BadSetting(f"`accept` is {accept!r}", fix='use "first" or "end"')
    given = dict(weights or {})
    for wrong in given.keys() - named.keys():
        raise BadSetting(
            f"`{wrong}` has a weight and is not a part", fix=did_you_mean(str(wrong), named)
        )
    taking_part = []
    for one, machine in named.items():
        if isinstance(machine, CountingRewardAutomaton):
            machine = counting_to_pushdown(machine)
        taking_part.append(Part(one, machine, reward_of(given.get(one, 1))))
    product = Product(taking_part, formula, accept)
    return _Writing(product).build(name or fresh_name("-".join(named), ()))


def _name_parts(parts: Mapping[str, AnyMachine] | Iterable[AnyMachine]) -> dict[str, AnyMachine]:
    named: dict[str, AnyMachine] = {}
    if not isinstance(parts, Iterable):
        raise WrongKind(f"{str(parts)[:40]!r} is not several machines", fix=SEVERAL)
    names = list(parts) if isinstance(parts, Mapping) else None
    for number, machine in enumerate(parts.values() if isinstance(parts, Mapping) else parts):
        if not isinstance(machine, PushdownRewardMachine | CountingRewardAutomaton):
            fix = 'pdrm.catalogue("letter"), pdrm.load("task.pdrm")'
            raise BadSetting(f"{str(machine)[:40]!r} is not a machine", fix=fix)
        free = fresh_name(str(names[number]) if names else machine.name, named)
        if not NAME.fullmatch(free):
            raise BadSetting(f"`{free[:40]}` cannot name a part", fix="use a word")
        named[free] = machine
    if not named:
        raise BadSetting("nothing is combined", fix="give two machines or more")
    return named


def _read_when(when: str, parts: Mapping[str, AnyMachine]) -> Formula:
    """The formula, whose events are parts or `part.state`."""
    events = tuple(map(Event, parts))
    if when in ("and", "or"):
        joined = And(events) if when == "and" else Or(events)
        return events[0] if len(events) == 1 else joined
    if not isinstance(when, str):
        raise WrongKind(f"`when` is {str(when)[:40]!r}, but must be a formula", fix=SEVERAL)
    line = Line("<when>", 1, when)
    guard = read_guard(line)
    if isinstance(guard, Silent | Exactly):
        fix = 'write for example "a & !b"'
        raise BadSetting("`when` is a formula over the parts", where=line.at(1, len(when)), fix=fix)
    known = list(parts)
    for name, machine in parts.items():
        known += [f"{name}.{state}" for state in (*machine.states, *machine.final)]
    for event in sorted(events_of(guard) - set(known)):
        found = re.search(rf"(?<![\w.-]){re.escape(event)}(?![\w.-])", when)
        where = line.at(found.start() + 1 if found else 1, len(event))
        fix = did_you_mean(event, known)
        raise UnknownMachine(f"`{event}` is not a part", where=where, fix=fix)
    return guard


# --- Writing the machine


class _Writing:
    """Names for states and symbols, and rules for moves."""

    def __init__(self, product: Product) -> None:
        self.product = product
        self.tops: dict[Place, list[Symbol]] = {}
        for place, top in product.moves:
            self.tops.setdefault(place, []).append(top)
        self.names: dict[Place, str] = {}
        ending = {JUDGE: ".judged", FAILED: f".{LOST}"}
        for place in self.tops:
            wanted = ".".join(place.states) + ending.get(place.phase, "")
            self.names[place] = fresh_name(wanted, self.names.values())
        self.symbols = self._name_symbols()

    def _name_symbols(self) -> dict[Symbol, str]:
        """The symbols that occur, the bottom first, then as the parts list them."""
        moves = self.product.moves
        occurring = {symbol for found in moves.values() for move in found for symbol in move.push}
        occurring |= {top for _, top in moves}
        stacks = [self.product.parts[number].machine.stack for number in self.product.stacked]

        def rank(symbol: Symbol) -> tuple[bool, list[int]]:
            pairs = zip(stacks, symbol, strict=False)
            places = [stack.index(own) if own in stack else -1 for stack, own in pairs]
            return symbol != self.product.bottom, places

        names: dict[Symbol, str] = {}
        for symbol in sorted(occurring, key=rank):
            taken = {ANY, *RESERVED, *names.values()}
            names[symbol] = fresh_name(".".join(symbol) or "_", taken)
        return names

    def build(self, name: str) -> PushdownRewardMachine:
        product = self.product
        alphabet = product.alphabet
        rules = [rule for place in self.tops for rule in self._rules(place)]
        otherwise = Otherwise.error()
        if all(part.machine.otherwise.action != "error" for part in product.parts):
            staying = Counter(rule.reward for rule in rules if _stays(rule))
            otherwise = Otherwise.stay(max(staying, key=staying.__getitem__, default=0.0))
            rules = [rule for rule in rules if not _stays(rule) or rule.reward != otherwise.reward]
        final = tuple(name for place, name in self.names.items() if place.phase == ENDED)
        states = tuple(name for place, name in self.names.items() if place.phase != ENDED)
        start = self.names[product.start]
        called = name if NAME.fullmatch(name) else "combination"
        head = (called, alphabet.events)
        groups = alphabet.exclusive
        below = self.symbols.pop(EMPTY, None)
        stack = tuple(self.symbols.values())
        if not product.stacked:
            stack = (BOTTOM,)
            rules = [Transition.plain(r.source, r.target, r.guard, r.reward) for r in rules]
        elif any(top == EMPTY and found for (_, top), found in product.moves.items()):
            begin = fresh_name("begin", states + final)
            push = (stack[0], str(below))
            rules.insert(0, Transition(begin, start, SILENT, str(below), push, 0.0))
            start = begin
            states = (begin, *states)
            stack = (str(below), *stack)
        return PushdownRewardMachine(
            *head, stack, start, final, otherwise, tuple(rules), groups, states
        )

    def _rules(self, place: Place) -> list[Transition]:
        """The rules of one state; one with `z` for what is done at every top that occurs there."""
        there = self.tops[place]
        alike: dict[tuple[int | None, Place, Stack, float], list[str]] = {}
        for top in there:
            for move in self.product.moves[place, top]:
                push = self._push(move, self.symbols[top])
                key = (move.labels, move.target, push, move.reward)
                alike.setdefault(key, []).append(self.symbols[top])
        rules: list[Transition] = []
        for (labels, target, push, reward), tops in alike.items():
            for looked in [ANY] if len(tops) == len(there) > 1 else tops:
                own = tuple(looked if symbol == ANY else symbol for symbol in push)
                ends = (self.names[place], self.names[target])
                rules.append(Transition(*ends, self._guard(labels), looked, own, reward))
        return rules

    def _push(self, move: ProductMove, top: str) -> Stack:
        """The names of what is pushed, with `z` for the old top at its end."""
        push = tuple(self.symbols[symbol] for symbol in move.push)
        return (*push[:-1], ANY) if push[-1:] == (top,) else push

    def _guard(self, labels: int | None) -> Guard:
        if labels is None:
            return SILENT
        return LabelSet(self.product.sets, labels).formula()


def _stays(rule: Transition) -> bool:
    """Return True if a rule changes nothing."""
    return rule.source == rule.target and rule.push == (rule.top,) and not rule.silent
