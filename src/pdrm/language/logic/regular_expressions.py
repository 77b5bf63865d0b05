"""Regular expressions over events become reward machines.

`"a" ("b" | "c")* "d"`: an event in double quotes, or a guard such as `"a & !t"`, reads a label for which it holds; `|`, groups, `?`,
`*`, `+`, `[ ]` and `~ 2..3` are as in grammars. Each event or guard as it is written is a position, and the state of the machine
is the set of positions that the last label may have been (Glushkov 1961), so that no silent moves are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from pdrm.errors import BadGrammar, BadSetting, TooLarge, Where
from pdrm.language.grammars import grammar_text as text_form
from pdrm.language.grammars.grammar_text import Choice, Expression, Reads, Repeat, read_expression
from pdrm.language.logic.acceptors import Acceptor, LabelMoves, placing, reward_machine
from pdrm.language.task_text import (
    END,
    TaskOptions,
    TaskText,
    check_text,
    groups_of,
    read_task_text,
)
from pdrm.limits import MOST_SYMBOLS, MOST_WORKED_OUT, reading, spend
from pdrm.machines.guards import Event, Guard, events_of
from pdrm.machines.labels import FALSE, Alphabet, Diagrams, names_of
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
    """The reward machine of a regular expression whose letters are events in double quotes, in the notation of grammars.

    >>> from pdrm.language import parse_word
    >>> machine = from_regex('"a" ("b" | "c")* "d"')
    >>> [machine.run(parse_word(word)).accepted for word in ("a d", "a b c d", "a b", "a d d", "b a d")]
    [True, True, False, False, False]

    name: of the machine.
    accept: `"first"`: the task is done as soon as the labels read so far, at least one, are a word of the expression; so a word is
    accepted just when it is one and no shorter beginning of it (but for the empty one) is. `"end"`: when the event `end` is read after
    a word. reward: paid when the task is done. fail: what the first label does that no word continues with; a number is paid, and
    ends the episode in the final state `lost`; None leads to the state `lost`, which is not final; `"ignore"` passes the label over.
    step: paid for every label. events: more events that labels may hold; a label that nothing in the expression reads is passed over.
    exclusive: groups of events of which a label holds at most one; None: all events are one group, () none are.
    """
    check_text(expression, 'pdrm.from_regex(\'"a" "b"*\')')
    groups = None if exclusive is None else groups_of(exclusive)
    options = TaskOptions(accept, reward, fail, step, {}, names_of("events", events), groups)
    with reading("<regex>"):
        return _build(read_task_text(expression, "<regex>", KIND, name, options), "<regex>")


def read_task(text: str, file: str, name: str) -> PushdownRewardMachine:
    """The machine of a `.regex` file."""
    return _build(read_task_text(text, file, KIND, name, TaskOptions()), file)


def _build(task: TaskText, file: str) -> PushdownRewardMachine:
    if not task.body:
        raise BadGrammar(
            "the expression is empty",
            where=Where(file),
            fix='write events in double quotes: `"a" "b"*`',
        )
    expression, options = read_expression(task.body), task.options
    positions = _Positions(expression)
    letters = dict.fromkeys(
        event
        for reads in positions.reads
        for event in sorted(events_of(reads.guard), key=str(reads).find)
    )
    if options.complete:
        where = task.where.get("complete")
        raise BadSetting(
            "an expression has no rules that are completed", where=where, fix="write a grammar"
        )
    if options.accept == "end":
        for reads in positions.reads:
            if END in events_of(reads.guard):
                fault = f"with `accept end`, the event `{END}` ends every word"
                raise BadGrammar(fault, where=reads.where, fix="leave it out of the expression")
    ending = (END,) if options.accept == "end" else ()
    events = tuple(dict.fromkeys((*letters, *options.events, *ending)))
    groups = (
        ((events,) if len(events) > 1 else ()) if options.exclusive is None else options.exclusive
    )
    alphabet, where = Alphabet(events, groups), task.body[0].at(1)
    with placing(where):
        acceptor = _explore(positions, alphabet, END if ending else None)
        return reward_machine(acceptor, task.name, alphabet, options, where)


class _Positions:
    """What stands first, what may follow what, and what may stand last, as bit masks over positions; position 0 is the start."""

    def __init__(self, expression: Expression) -> None:
        self.reads: list[Reads] = []
        _check_size(expression)
        self.follow = [0]
        empty, first, last = self._place(expression)
        self.follow[0] = first
        self.accepting = last | empty

    def _place(self, expression: Expression) -> tuple[bool, int, int]:
        """Whether it reads nothing, the positions that may come first, and those that may come last."""
        match expression:
            case Reads():
                spend()
                self.reads.append(expression)
                self.follow.append(0)
                bit = 1 << len(self.reads)
                return False, bit, bit
            case Choice(options):
                placed = [self._place(option) for option in options]
                return (
                    any(empty for empty, _, _ in placed),
                    _join(one for _, one, _ in placed),
                    _join(one for *_, one in placed),
                )
            case Repeat(inner, least, most):
                return self._repeat(inner, least, most)
            case text_form.Sequence(parts):
                return self._chain(self._place(part) for part in parts)
        raise AssertionError(f"no rules are called: {expression}")

    def _chain(self, placed: Iterable[tuple[bool, int, int]]) -> tuple[bool, int, int]:
        empty, first, last = True, 0, 0
        for part_empty, part_first, part_last in placed:
            self._let_follow(last, part_first)
            first |= part_first if empty else 0
            last = part_last | (last if part_empty else 0)
            empty &= part_empty
        return empty, first, last

    def _repeat(self, inner: Expression, least: int, most: int | None) -> tuple[bool, int, int]:
        def copies() -> Iterator[tuple[bool, int, int]]:
            for number in range(max(least, 1) if most is None else most):
                empty, first, last = self._place(inner)
                if most is None and number + 1 >= least:
                    self._let_follow(last, first)
                yield empty or number >= least, first, last

        return self._chain(copies())

    def _let_follow(self, these: int, others: int) -> None:
        spend(1 + these.bit_count() // 8)
        for position in _bits(these):
            self.follow[position] |= others


def _join(masks: Iterable[int]) -> int:
    joined = 0
    for mask in masks:
        joined |= mask
    return joined


def _check_size(expression: Expression) -> None:
    """Refuse an expression that would have too many positions before any is made."""
    match expression:
        case Choice(parts) | text_form.Sequence(parts):
            list(map(_check_size, parts))
        case Repeat(inner, _, _):
            _check_size(inner)
    if _count(expression) > MOST_SYMBOLS:
        fault = f"with its repetitions, the expression has more than {MOST_SYMBOLS:,} events"
        raise TooLarge(
            fault,
            where=_place_of(expression),
            fix="repeat less often, or use a stack: a grammar can count",
        )


def _count(expression: Expression) -> int:
    match expression:
        case Choice(parts) | text_form.Sequence(parts):
            return sum(map(_count, parts))
        case Repeat(inner, least, most):
            return _count(inner) * max(least, 1 if most is None else most)
    return 1


def _place_of(expression: Expression) -> Where | None:
    match expression:
        case Reads(_, where):
            return where
        case Choice(parts) | text_form.Sequence(parts):
            return next((place for part in parts if (place := _place_of(part))), None)
        case Repeat(inner, _, _):
            return _place_of(inner)
    return None


def _explore(positions: _Positions, alphabet: Alphabet, end: str | None) -> Acceptor:
    """The acceptor whose states are sets of positions; labels that nothing in the expression reads are passed over."""
    letters = _Letters(positions, alphabet, end)
    numbers, todo, moves = {1: 0}, [1], list[int]()

    def number_of(mask: int) -> int:
        if mask not in numbers:
            numbers[mask] = len(todo)
            todo.append(mask)
        return numbers[mask]

    for state in todo:  # it grows
        spend(1 + state.bit_count() // 8)
        following = _join(positions.follow[number] for number in _bits(state))
        moves.append(letters.lead(lambda there, here=following: number_of(here & there)))  # type: ignore[misc]
        if len(todo) > MOST_WORKED_OUT:
            fault = f"the expression has more than {MOST_WORKED_OUT:,} states"
            raise TooLarge(fault, fix="split the task, and combine its machines")
    accepting = [bool(state & positions.accepting) for state in todo]
    return Acceptor(moves, accepting, LabelMoves(letters.store, alphabet))


class _Letters:
    """Which positions a label may be, as a diagram; where labels hold one event at most, a list of events will do."""

    def __init__(self, positions: _Positions, alphabet: Alphabet, end: str | None) -> None:
        self.store = store = Diagrams()
        self.nowhere = store.leaf(None)
        self.possible = store.possible(alphabet)
        if end is not None:
            self.possible = store.choose(
                store.variable(alphabet.events.index(end)), FALSE, self.possible
            )
        at: dict[Guard, int] = {}
        for number, reads in enumerate(positions.reads, start=1):
            at[reads.guard] = at.get(reads.guard, 0) | 1 << number
        events = {guard.name for guard in at if isinstance(guard, Event)}
        alone = len(events) == len(at) and any(events <= set(group) for group in alphabet.exclusive)
        self.events = (
            sorted((alphabet.events.index(str(event)), there) for event, there in at.items())
            if alone
            else None
        )
        self.there = self.nowhere if alone else self._join(at, alphabet)

    def _join(self, at: Mapping[Guard, int], alphabet: Alphabet) -> int:
        """The diagram whose leaves are sets of positions; None where nothing reads the label."""
        store, found = self.store, self.nowhere
        for guard, there in at.items():
            label = store.choose(self.possible, store.of_guard(guard, alphabet), FALSE)
            found = store.choose(label, store.rename_leaves(found, partial(_add, there), {}), found)
        return found

    def lead(self, target: Callable[[int], int]) -> int:
        """The diagram of the states that labels lead to, from the state for a set of positions."""
        if self.events is None:
            return self.store.rename_leaves(self.there, lambda there: there and target(there), {})  # type: ignore[arg-type]
        found = self.nowhere
        for event, there in reversed(self.events):
            found = self.store.node(event, found, self.store.leaf(target(there)))
        return self.store.choose(self.possible, found, self.nowhere)


def _add(more: int, mask: Any) -> int:
    """The positions of a leaf and some more."""
    return more | (mask or 0)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        bit = mask & -mask
        yield bit.bit_length() - 1
        mask ^= bit
