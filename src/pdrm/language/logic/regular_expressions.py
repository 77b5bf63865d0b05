"""Regular expressions over events become reward machines.

`"a" ("b" | "c")* "d"`: an event in double quotes, or a guard such as `"a & !t"`, reads a label for
which it holds; `|`, groups, `?`, `*`, `+`, `[ ]` and `~ 2..3` are as in grammars. An expression is a grammar of one
rule that does not refer to itself: the state of the machine is the set of what may still be to come
(Antimirov 1996), and there are finitely many.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from pdrm.errors import BadGrammar, BadSetting, TooLarge, Where
from pdrm.language.grammars.grammar_machine import Translation
from pdrm.language.grammars.grammar_text import Definition, read_expression
from pdrm.language.grammars.productions import NO_MORE, START, Grammar
from pdrm.language.logic.acceptors import Acceptor, reward_machine
from pdrm.language.task_text import TaskOptions, TaskText, placing, read_task_text
from pdrm.limits import MOST_SYMBOLS, MOST_WORKED_OUT
from pdrm.machines.labels import groups_of, names_of
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
    if not task.body:
        fix = 'write events in double quotes: `"a" "b"*`'
        raise BadGrammar("the expression is empty", where=Where(task.file), fix=fix)
    if task.options.complete:
        fault = "an expression has no rules that are completed"
        raise BadSetting(fault, where=task.where.get("complete"), fix="write a grammar")
    where = task.body[0].at(1)
    expression = read_expression(task.body, task.file)
    translation = Translation(task, {START: Definition(START, expression, where)})
    with placing(where, translation.places):
        grammar, _ = translation.expand(lr=False)
        return reward_machine(_explore(grammar), task.name, task.options, where)


class _Forms:
    """Sequences of grammar symbols, numbered; those that end alike share their end. 0 is empty."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.numbers: dict[tuple[int, int], int] = {}
        self.parts: list[tuple[int, int]] = [(NO_MORE, 0)]
        """The first symbol of each form, and the form of the others."""

    def add(self, symbols: Iterable[int], rest: int) -> int:
        """The form of some symbols before another form."""
        for symbol in reversed([*symbols]):
            parts = symbol, rest
            rest = self.numbers.setdefault(parts, len(self.parts))
            if rest == len(self.parts):
                self.parts.append(parts)
        return rest

    def derive(self, forms: Iterable[int]) -> list[int]:
        """The forms, and all that come of them before an event is read."""
        found = dict.fromkeys(forms)
        for form in (order := list(found)):
            symbol, rest = self.parts[form]
            for production in self.grammar.productions[symbol] if form else ():
                after = self.add(production.right, rest)
                if after not in found:
                    found[after] = None
                    order.append(after)
        return order


def _explore(grammar: Grammar) -> Acceptor:
    """The acceptor whose states are sets of forms; labels that nothing reads are skipped."""
    letters = grammar.letters
    forms = _Forms(grammar)
    start = frozenset([forms.add([grammar.start], 0)])
    numbers = {start: 0}
    moves: list[int] = []
    accepting: list[bool] = []
    for state in (order := [start]):
        derived = forms.derive(state)
        reads = [forms.parts[form] for form in derived if form]
        reads = [(symbol, rest) for symbol, rest in reads if grammar.is_terminal(symbol)]

        def lead(held: Hashable, reads: list[tuple[int, int]] = reads) -> Hashable:
            """The state after a label for which some guards hold."""
            if not isinstance(held, int) or not held:
                return None
            after = frozenset(rest for terminal, rest in reads if held >> terminal & 1)
            if after not in numbers:
                numbers[after] = len(order)
                order.append(after)
            return numbers[after]

        moves.append(letters.store.rename_leaves(letters.holding, lead, {}))
        accepting.append(0 in derived)
        if len(order) > MOST_WORKED_OUT or len(forms.parts) > MOST_SYMBOLS:
            fault = f"the expression has more than {MOST_WORKED_OUT:,} states"
            fix = "repeat less often, split the task and combine its machines, or write a grammar"
            raise TooLarge(fault, fix=fix)
    return Acceptor(letters.sets, moves, accepting)
