"""Regular expressions over events become reward machines.

`"a" ("b" | "c")* "d"`: an event in double quotes, or a guard such as `"a & !t"`, reads a label for
which it holds; `|`, groups, `?`, `*`, `+`, `[ ]` and `~ 2..3` are as in grammars. An expression is a grammar of one
rule that does not refer to itself: the state of the machine is the set of what may still be to come
(Antimirov 1996), and there are finitely many.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from pdrm.errors import BadGrammar, Where
from pdrm.files import MAX_AUTOMATON_STATES, MAX_SYMBOLS
from pdrm.language.grammars.grammar_machine import Translation
from pdrm.language.grammars.grammar_text import EXPRESSION, Definition, read_expression
from pdrm.language.grammars.productions import START, Grammar
from pdrm.language.logic.acceptors import Acceptor, reward_machine
from pdrm.language.source import limit
from pdrm.language.task_text import TaskOptions, TaskText, read_task_text, with_default_location
from pdrm.machines.pushdown import PushdownRewardMachine

MAX_FORM_SYMBOLS = 1_000 * MAX_SYMBOLS
"""Symbols of all forms at most."""


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
    options = TaskOptions(accept, reward, fail, step, {}, events, exclusive)
    return build(read_task_text(expression, "<regex>", "regex", name, options))


def build(task: TaskText) -> PushdownRewardMachine:
    """The machine of a task's text."""
    if not task.body:
        raise BadGrammar("the expression is empty", where=Where(task.file), fix=EXPRESSION)
    where = task.body[0].at(1)
    expression = read_expression(task.body, task.file)
    translation = Translation(task, {START: Definition(START, expression, where)})
    with with_default_location(where, translation.places):
        acceptor = _explore(translation.expand(lr=False))
        return reward_machine(acceptor, task.name, task.options, where)


Form = tuple[int, ...]
"""Grammar symbols that are still to come."""


def _derive(grammar: Grammar, forms: Iterable[Form]) -> list[Form]:
    """The forms, and all that come of them before an event is read."""
    found = dict.fromkeys(forms)
    for form in (order := list(found)):
        for production in grammar.productions[form[0]] if form else ():
            after = production.right + form[1:]
            if after not in found:
                found[after] = None
                order.append(after)
    return order


def _explore(grammar: Grammar) -> Acceptor:
    """The acceptor whose states are sets of forms; labels that nothing reads are skipped."""
    letters = grammar.letters
    start: frozenset[Form] = frozenset([(grammar.start,)])
    numbers = {start: 0}
    moves: list[int] = []
    accepting: list[bool] = []
    size = 0
    for state in (order := [start]):
        derived = _derive(grammar, state)
        reads = [form for form in derived if form and grammar.is_terminal(form[0])]

        def lead(held: Hashable, reads: list[Form] = reads) -> Hashable:
            """The state after a label for which some guards hold."""
            if not isinstance(held, int) or not held:
                return None
            after = frozenset(form[1:] for form in reads if held >> form[0] & 1)
            if after not in numbers:
                numbers[after] = len(order)
                order.append(after)
            return numbers[after]

        moves.append(letters.sets.rename_leaves(letters.holding, lead, {}))
        accepting.append(() in derived)
        size += sum(map(len, derived))
        limit(len(order), MAX_AUTOMATON_STATES, "states")
        limit(size, MAX_FORM_SYMBOLS, "symbols in all states")
    return Acceptor(letters.sets, moves, accepting)
