"""Reward machines from regular expressions over events.

In `"a" ("b" | "c")* "d"`, an event in double quotes, or a guard such as `"a & !t"`, reads a label
that satisfies it. `|`, groups, `?`, `*`, `+`, `[ ]` and `~ 2..3` are as in grammars. An expression
is a grammar with one rule that does not refer to itself. A state is the set of the possible
remainders of the word, and there are finitely many (Antimirov 1996).
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
"""The maximum number of symbols of all forms."""


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
    """Build a reward machine from a regular expression over events, in the notation of grammars.

    Args:
        expression: Events in double quotes, with `|`, groups, `?`, `*`, `+`, `[ ]` and `~ 2..3`.
        accept: `"first"`: the task is done as soon as the labels so far, at least one, are a word
            of the expression. `"end"`: it is done when the event `end` is read after a word.
        name: The name of the machine.
        reward: The reward for completing the task.
        fail: The effect of the first label that no word can continue with. A number is given as
            reward, and the episode ends in the final state `lost`. By default the machine stays in
            `lost`, which is not final. `"ignore"` skips the label.
        step: The reward for every label.
        events: More events that labels can contain. A label that satisfies no guard of the
            expression is skipped.
        exclusive: Groups of events of which a label contains at most one (default: one group of
            all).

    >>> from pdrm.language import parse_word
    >>> machine = from_regex('"a" ("b" | "c")* "d"')
    >>> [machine.run(parse_word(word)).accepted for word in ("a d", "a b c d", "a b", "b a d")]
    [True, True, False, False]
    """
    options = TaskOptions(accept, reward, fail, step, {}, events, exclusive)
    return build(read_task_text(expression, "<regex>", "regex", name, options))


def build(task: TaskText) -> PushdownRewardMachine:
    """Build the machine of a task."""
    if not task.body:
        raise BadGrammar("the expression is empty", where=Where(task.file), fix=EXPRESSION)
    where = task.body[0].at(1)
    expression = read_expression(task.body, task.file)
    translation = Translation(task, {START: Definition(START, expression, where)})
    with with_default_location(where, translation.places):
        acceptor = _explore(translation.expand(lr=False))
        return reward_machine(acceptor, task.name, task.options, where)


Form = tuple[int, ...]
"""The remaining symbols of a word."""


def _derive(grammar: Grammar, forms: Iterable[Form]) -> list[Form]:
    """The forms that can be derived without reading an event."""
    known = dict.fromkeys(forms)
    for form in (order := list(known)):
        for production in grammar.productions[form[0]] if form else ():
            derived = production.right + form[1:]
            if derived not in known:
                known[derived] = None
                order.append(derived)
    return order


def _explore(grammar: Grammar) -> Acceptor:
    """Build the acceptor whose states are sets of forms. Labels that no guard reads are skipped."""
    letters = grammar.letters
    start: frozenset[Form] = frozenset([(grammar.start,)])
    numbers = {start: 0}
    moves: list[int] = []
    accepting: list[bool] = []
    size = 0
    for state in (order := [start]):
        derived = _derive(grammar, state)
        reads = [form for form in derived if form and grammar.is_terminal(form[0])]

        def next_state(guards: Hashable, reads: list[Form] = reads) -> Hashable:
            """The state after a label for which these guards hold."""
            if not isinstance(guards, int) or not guards:
                return None
            after = frozenset(form[1:] for form in reads if guards >> form[0] & 1)
            if after not in numbers:
                numbers[after] = len(order)
                order.append(after)
            return numbers[after]

        moves.append(letters.sets.rename_leaves(letters.holding, next_state, {}))
        accepting.append(() in derived)
        size += sum(map(len, derived))
        limit(len(order), MAX_AUTOMATON_STATES, "states")
        limit(size, MAX_FORM_SYMBOLS, "symbols in all states")
    return Acceptor(letters.sets, moves, accepting)
