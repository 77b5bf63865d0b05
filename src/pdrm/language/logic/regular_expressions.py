"""Regular expressions over events become reward machines.

`"a" ("b" | "c")* "d"`: an event in double quotes, or a guard such as `"a & !t"`, reads a label for
which it holds; `|`, groups, `?`, `*`, `+`, `[ ]` and `~ 2..3` are as in grammars. Each event or guard
as it is written is a position, and the state of the machine is the set of positions that the last
label may have been (Glushkov 1961), so that no silent moves are needed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import reduce
from operator import or_
from typing import NamedTuple

from pdrm.errors import BadGrammar, BadSetting, TooLarge, Where
from pdrm.language.grammars.grammar_text import (
    Alternatives,
    Expression,
    Repeat,
    Sequence,
    Terminal,
    read_expression,
)
from pdrm.language.letters import Letters
from pdrm.language.logic.acceptors import Acceptor, placing, reward_machine
from pdrm.language.task_text import (
    END,
    TaskOptions,
    TaskText,
    read_task_text,
)
from pdrm.limits import MOST_SYMBOLS, MOST_WORKED_OUT
from pdrm.machines.guards import events_of
from pdrm.machines.labels import Alphabet, groups_of, names_of
from pdrm.machines.pushdown import PushdownRewardMachine

KIND = "regex"


def from_regex(
    expression: str,
    *,
    accept: str = "first",
    name: str = "regex",
    reward: float = 1.0,
    fail: float | str | None = None,
    step: float = 0.0,
    events: Iterable[str] = (),
    exclusive: Iterable[Iterable[str]] | None = None,
) -> PushdownRewardMachine:
    """Make the reward machine of a regular expression over events, in the notation of grammars.

    Args:
        expression: Events in double quotes, with `|`, groups, `?`, `*`, `+`, `[ ]` and `~ 2..3`.
        accept: `"first"`: the task is done as soon as the labels read so far, at least one, are a
            word of the expression. `"end"`: when the event `end` is read after a word.
        name: The name of the machine.
        reward: Paid when the task is done.
        fail: What the first label does with which no word continues. A number is paid, and ends the
            episode in the final state `lost`; by default the machine stays in `lost`, which is not
            final; `"ignore"` skips the label.
        step: Paid for every label.
        events: More events that labels may hold. A label that nothing in the expression reads is
            skipped.
        exclusive: Groups of events of which a label holds at most one (default: one group of all).

    Example:
        >>> from pdrm.language import parse_word
        >>> machine = from_regex('"a" ("b" | "c")* "d"')
        >>> [machine.run(parse_word(word)).accepted for word in ("a d", "a b c d", "a b", "b a d")]
        [True, True, False, False]
    """
    groups = None if exclusive is None else groups_of(exclusive)
    options = TaskOptions(accept, reward, fail, step, {}, names_of("events", events), groups)
    return _build(read_task_text(expression, "<regex>", KIND, name, options))


def read_task(text: str, file: str, name: str) -> PushdownRewardMachine:
    """Make the machine of a `.regex` file."""
    return _build(read_task_text(text, file, KIND, name, TaskOptions()))


def _build(task: TaskText) -> PushdownRewardMachine:
    options = task.options
    if not task.body:
        fix = 'write events in double quotes: `"a" "b"*`'
        raise BadGrammar("the expression is empty", where=Where(task.file), fix=fix)
    if options.complete:
        fault = "an expression has no rules that are completed"
        raise BadSetting(fault, where=task.where.get("complete"), fix="write a grammar")
    where = task.body[0].at(1)
    positions = _Positions(read_expression(task.body, task.file), where)
    named: dict[str, None] = {}
    for reads in positions.terminals:
        named |= dict.fromkeys(sorted(events_of(reads.guard), key=str(reads).find))
        if options.accept == "end" and END in events_of(reads.guard):
            fault = f"with `accept end`, the event `{END}` ends every word"
            raise BadGrammar(fault, where=reads.where, fix="leave it out of the expression")
    ending = (END,) if options.accept == "end" else ()
    events = tuple(dict.fromkeys((*named, *options.events, *ending)))
    groups = (events,) if options.exclusive is None and len(events) > 1 else options.exclusive
    with placing(where):
        acceptor = _explore(positions, Alphabet(events, groups or ()), bool(ending))
        return reward_machine(acceptor, task.name, options, where)


class _Fragment(NamedTuple):
    """An expression: if it can read nothing, and its first and last positions as bits."""

    empty: bool
    first: int
    last: int


class _Positions:
    """The positions that may follow each position, as bits; position 0 is the start."""

    def __init__(self, expression: Expression, where: Where) -> None:
        if _count(expression) > MOST_SYMBOLS:
            fault = f"with its repetitions, the expression has more than {MOST_SYMBOLS:,} events"
            fix = "repeat less often, or use a stack: a grammar can count"
            raise TooLarge(fault, where=where, fix=fix)
        self.terminals: list[Terminal] = []
        self.follow = [0]
        whole = self._place(expression)
        self.follow[0] = whole.first
        self.accepting = whole.last | whole.empty

    def _place(self, expression: Expression) -> _Fragment:
        match expression:
            case Terminal():
                self.terminals.append(expression)
                self.follow.append(0)
                bit = 1 << len(self.terminals)
                return _Fragment(False, bit, bit)
            case Alternatives(options):
                parts = [self._place(option) for option in options]
                return _Fragment(
                    any(part.empty for part in parts),
                    _join(part.first for part in parts),
                    _join(part.last for part in parts),
                )
            case Repeat(inner, least, most):
                return self._chain(self._copies(inner, least, most))
            case Sequence(several):
                return self._chain(map(self._place, several))
        raise AssertionError(f"an expression has no rules: {expression}")

    def _chain(self, parts: Iterable[_Fragment]) -> _Fragment:
        empty, first, last = _Fragment(True, 0, 0)
        for part in parts:
            self._let_follow(last, part.first)
            first |= part.first if empty else 0
            last = part.last | (last if part.empty else 0)
            empty &= part.empty
        return _Fragment(empty, first, last)

    def _copies(self, inner: Expression, least: int, most: int | None) -> Iterator[_Fragment]:
        """The copies of a part that is repeated; the last one loops if repetition is unlimited."""
        for number in range(max(least, 1) if most is None else most):
            part = self._place(inner)
            if most is None and number + 1 >= least:
                self._let_follow(part.last, part.first)
            yield part._replace(empty=part.empty or number >= least)

    def _let_follow(self, these: int, others: int) -> None:
        for position in _bits(these):
            self.follow[position] |= others


def _join(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        bit = mask & -mask
        yield bit.bit_length() - 1
        mask ^= bit


def _count(expression: Expression) -> int:
    """The positions of an expression."""
    match expression:
        case Alternatives(parts) | Sequence(parts):
            return sum(map(_count, parts))
        case Repeat(inner, least, most):
            return max(_count(inner), 1) * max(least, most or 1)
    return 1


def _explore(positions: _Positions, alphabet: Alphabet, ends: bool) -> Acceptor:
    """The acceptor whose states are sets of positions; labels that nothing reads are skipped."""
    at: dict[Hashable, int] = {}
    for number, reads in enumerate(positions.terminals, start=1):
        at[reads.guard] = at.get(reads.guard, 0) | 1 << number
    guards = list(dict.fromkeys(reads.guard for reads in positions.terminals))
    letters = Letters(alphabet, guards)
    store = letters.store
    reading = letters.holding
    if ends:
        is_end = store.variable(alphabet.events.index(END))
        reading = store.choose(is_end, store.leaf(None), reading)
    masks = list(at.values())
    numbers = {1: 0}
    moves: list[int] = []
    for state in (order := [1]):
        following = _join(positions.follow[number] for number in _bits(state))

        def lead(held: Hashable, following: int = following) -> Hashable:
            """The state after a label for which some guards hold."""
            if not isinstance(held, int) or not held:
                return None
            after = following & _join(masks[guard] for guard in _bits(held))
            if after not in numbers:
                numbers[after] = len(order)
                order.append(after)
            return numbers[after]

        moves.append(store.rename_leaves(reading, lead, {}))
        if len(order) > MOST_WORKED_OUT:
            fault = f"the expression has more than {MOST_WORKED_OUT:,} states"
            raise TooLarge(fault, fix="split the task, and combine its machines")
    return Acceptor(letters.sets, moves, [bool(one & positions.accepting) for one in order])
