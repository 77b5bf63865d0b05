"""From a document to a machine: which of the three kinds it is, and its fields from the header lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pdrm.errors import BadNumber, CannotRead, DuplicateName, MissingHeader, NoBottom, PdrmError, raise_all
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reward_machine import RewardMachine
from pdrm.machines.text.document import Document, Header, RuleSpec
from pdrm.machines.text.reader import number_of
from pdrm.machines.text.rules import WHOLE, counter_rule, plain_rule, stack_rule
from pdrm.machines.text.syntax import Word
from pdrm.machines.transition import Otherwise

AnyMachine = PushdownRewardMachine | RewardMachine | CountingRewardAutomaton
MOST_COUNTERS = 16
"""Counters a counting automaton may have."""

T = TypeVar("T")


def build(document: Document, name: str) -> AnyMachine:
    """The machine a document describes, or all that is wrong with it."""
    try:
        raise_all(document.errors)
        return _Building(document, name).machine()
    except PdrmError as error:
        located = sorted((document.locate(one) for one in error.errors), key=_place)
        raise_all(located)
        raise


def _place(error: PdrmError) -> tuple[int, int]:
    return (error.where.line, error.where.column) if error.where is not None else (0, 0)


class _Building:
    """Header lines looked up by keyword, with the faults found on the way."""

    def __init__(self, document: Document, name: str) -> None:
        self.document = document
        self.default_name = name
        self.errors: list[PdrmError] = []

    def machine(self) -> AnyMachine:
        """The machine of the kind the header lines say."""
        name = self._single("name")
        events, states, final = (tuple(map(str, self._words(key))) for key in ("events", "states", "final"))
        exclusive = tuple(tuple(map(str, header.words)) for header in self.document.lines("exclusive"))
        start, otherwise = self._single("start", needed=True), self._otherwise()
        stack, counters = self._line("stack"), self._single("counters")
        if stack is not None and counters is not None:
            self._fault(
                DuplicateName("a machine has a stack or counters, not both", where=counters.where, fix="remove one")
            )
        if stack is not None and not stack.words:
            fix = "list the stack symbols, the bottom one first: `stack # A`"
            self._fault(NoBottom("the `stack` line names no bottom symbol", where=stack.keyword.where, fix=fix))
        title = str(name or self.default_name)
        if counters is not None:
            count = self._count(counters)
            counting = self._rules(lambda rule: counter_rule(rule, count))
            return CountingRewardAutomaton(
                title, events, count, str(start), final, otherwise, counting, exclusive, states
            )
        if stack is not None:
            symbols, pushdown = tuple(map(str, stack.words)), self._rules(stack_rule)
            return PushdownRewardMachine(
                title, events, symbols, str(start), final, otherwise, pushdown, exclusive, states
            )
        return RewardMachine(title, events, str(start), final, otherwise, self._rules(plain_rule), exclusive, states)

    def _fault(self, error: PdrmError) -> None:
        """Note a fault; the same one in many rules is said once."""
        if not any((error.code, error.message) == (other.code, other.message) for other in self.errors):
            self.errors.append(error)

    def _line(self, keyword: str) -> Header | None:
        """The header line with this keyword; a second one is a fault."""
        lines = self.document.lines(keyword)
        for extra in lines[1:]:
            first = lines[0].keyword.where.line
            fault = f"a second `{keyword}` line; the first is line {first}"
            self._fault(DuplicateName(fault, where=extra.keyword.where, fix="keep one of them"))
        return lines[0] if lines else None

    def _words(self, keyword: str) -> tuple[Word, ...]:
        line = self._line(keyword)
        return line.words if line is not None else ()

    def _single(self, keyword: str, needed: bool = False) -> Word | None:
        """The one word of a header line."""
        line = self._line(keyword)
        if line is None:
            if needed:
                self._fault(MissingHeader(f"the `{keyword}` line is missing", fix=f"add `{keyword} STATE`"))
            return None
        if len(line.words) != 1:
            where = line.words[1].where if line.words else line.keyword.where
            self._fault(
                CannotRead(
                    f"`{keyword}` takes one word, not {len(line.words)}", where=where, fix=f"write `{keyword} WORD`"
                )
            )
            return None
        return line.words[0]

    def _otherwise(self) -> Otherwise:
        line = self._line("otherwise")
        fix = "write `otherwise stay REWARD`, `otherwise go STATE REWARD` or `otherwise error`"
        if line is None:
            self._fault(MissingHeader("the `otherwise` line is missing: what happens where no rule applies?", fix=fix))
            return Otherwise.error()
        where = line.keyword.where
        try:
            match [str(word) for word in line.words]:
                case ["error"]:
                    return Otherwise("error", where=where)
                case ["stay", reward]:
                    return Otherwise("stay", None, number_of(reward, line.words[1].where), where)
                case ["go", state, reward]:
                    return Otherwise("go", state, number_of(reward, line.words[2].where), where)
            self._fault(CannotRead("this `otherwise` cannot be read", where=where, fix=fix))
        except PdrmError as error:
            self._fault(error)
        return Otherwise.error()

    def _count(self, counters: Word) -> int:
        count = int(counters.text) if WHOLE.fullmatch(counters.text) else 0
        if not 1 <= count <= MOST_COUNTERS:
            fault = f"`counters` takes a whole number from 1 to {MOST_COUNTERS}, not `{counters.text[:40]}`"
            raise BadNumber(fault, where=counters.where, fix="write `counters 1`")
        return count

    def _rules(self, convert: Callable[[RuleSpec], T]) -> tuple[T, ...]:
        """The rules as transitions; the faults of all of them, and those of the header, are raised together."""
        rules: list[T] = []
        for rule in self.document.rules:
            try:
                rules.append(convert(rule))
            except PdrmError as error:
                self._fault(error)
        raise_all(self.errors)
        return tuple(rules)
