"""Temporal formulas and regular expressions mean what their definitions say: machines made of random ones are compared with an
evaluator that walks over the trace as the textbook does, and with Python's own `re`."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from pdrm.errors import BadSetting, EarlyAcceptance
from pdrm.language.logic.regular_expressions import from_regex
from pdrm.language.logic.temporal_formulas import PATTERNS
from pdrm.language.logic.temporal_logic import from_ltlf
from pdrm.machines.pushdown import PushdownRewardMachine

EVENTS = ("a", "b", "c", "d", "e")
END = frozenset(["end"])
Tree = tuple[Any, ...]
"""A formula: an operator and its arguments, or `("event", name)`."""
Trace = list[frozenset[str]]

UNARY, BINARY = ("!", "X", "WX", "F", "G"), ("&", "|", "->", "<->", "U", "W", "R", "M")
PAST_UNARY, PAST_BINARY = ("Y", "Z", "O", "H"), ("S", "T")
FORMULAS, TRACES = 20, 1_000


def random_formula(random: Random, size: int, past: bool) -> Tree:
    """A formula with this number of operators."""
    if size == 0:
        if random.random() < 0.06:
            return (random.choice(("true", "false", "last", *(["first"] if past else []))),)
        return ("event", random.choice(EVENTS))
    if size > 2 and random.random() < 0.1:
        name = random.choice(list(PATTERNS))
        count = len(PATTERNS[name].arguments.split())
        return (name, *(random_formula(random, random.randrange(2), past) for _ in range(count)))
    if random.random() < 0.45:
        return (
            random.choice((*UNARY, *(PAST_UNARY if past else ()))),
            random_formula(random, size - 1, past),
        )
    left = random.randrange(size)
    operator = random.choice((*BINARY, *(PAST_BINARY if past else ())))
    return (
        operator,
        random_formula(random, left, past),
        random_formula(random, size - 1 - left, past),
    )


def random_past(random: Random, size: int) -> Tree:
    """A formula with past operators only, at least one."""
    while not {"Y", "Z", "O", "H", "S", "T"} & set(operators(tree := _past(random, size))):
        pass
    return tree


def _past(random: Random, size: int) -> Tree:
    if size == 0:
        return ("event", random.choice(EVENTS))
    if random.random() < 0.45:
        return (random.choice(("!", *PAST_UNARY)), _past(random, size - 1))
    left = random.randrange(size)
    return (
        random.choice(("&", "|", "->", *PAST_BINARY)),
        _past(random, left),
        _past(random, size - 1 - left),
    )


def operators(tree: Tree) -> list[str]:
    """The operators of a formula."""
    return [
        tree[0],
        *(each for part in tree[1:] if isinstance(part, tuple) for each in operators(part)),
    ]


def text_of(tree: Tree) -> str:
    """The formula as one writes it."""
    operator, *parts = tree
    if operator == "event":
        return str(parts[0])
    if not parts:
        return str(operator)
    if operator in PATTERNS:
        return f"{operator}({', '.join(map(text_of, parts))})"
    if len(parts) == 1:
        return f"{operator} ({text_of(parts[0])})"
    return f"({text_of(parts[0])}) {operator} ({text_of(parts[1])})"


def evaluate(tree: Tree, trace: Trace) -> list[bool]:
    """Whether the formula holds at each position of a trace, by the definition of each operator."""
    operator, *parts = tree
    n = len(trace)
    if operator in PATTERNS and parts:
        return evaluate(PATTERN_TREES[operator](*parts), trace)
    if operator == "event":
        return [parts[0] in label for label in trace]
    if not parts:
        return [
            {"true": True, "false": False, "last": i == n - 1, "first": i == 0}[operator]
            for i in range(n)
        ]
    one, *two = (evaluate(part, trace) for part in parts)
    other = two[0] if two else one
    return [DEFINITIONS[operator](one, other, i, n) for i in range(n)]


Values = list[bool]
DEFINITIONS: dict[str, Callable[[Values, Values, int, int], bool]] = {
    "!": lambda p, _q, i, _n: not p[i],
    "&": lambda p, q, i, _n: p[i] and q[i],
    "|": lambda p, q, i, _n: p[i] or q[i],
    "->": lambda p, q, i, _n: not p[i] or q[i],
    "<->": lambda p, q, i, _n: p[i] == q[i],
    "X": lambda p, _q, i, n: i + 1 < n and p[i + 1],
    "WX": lambda p, _q, i, n: i + 1 == n or p[i + 1],
    "F": lambda p, _q, i, _n: any(p[i:]),
    "G": lambda p, _q, i, _n: all(p[i:]),
    "U": lambda p, q, i, n: any(q[j] and all(p[i:j]) for j in range(i, n)),
    "W": lambda p, q, i, n: all(p[i:]) or any(q[j] and all(p[i:j]) for j in range(i, n)),
    "R": lambda p, q, i, n: all(q[j] or any(p[i:j]) for j in range(i, n)),
    "M": lambda p, q, i, n: any(p[j] and all(q[i : j + 1]) for j in range(i, n)),
    "Y": lambda p, _q, i, _n: i > 0 and p[i - 1],
    "Z": lambda p, _q, i, _n: i == 0 or p[i - 1],
    "O": lambda p, _q, i, _n: any(p[: i + 1]),
    "H": lambda p, _q, i, _n: all(p[: i + 1]),
    "S": lambda p, q, i, _n: any(q[j] and all(p[j + 1 : i + 1]) for j in range(i + 1)),
    "T": lambda p, q, i, _n: all(q[j] or any(p[j + 1 : i + 1]) for j in range(i + 1)),
}
"""Each operator at position i of n, from what its arguments are everywhere."""


def _event_positions(a: Tree) -> Tree:
    return ("F", a)


def _twice(a: Tree) -> Tree:
    return ("F", ("&", a, ("X", ("F", a))))


def _thrice(a: Tree) -> Tree:
    return ("F", ("&", a, ("X", _twice(a))))


def _not(a: Tree) -> Tree:
    return ("!", a)


def _response(a: Tree, b: Tree) -> Tree:
    return ("G", ("->", a, ("F", b)))


def _precedence(a: Tree, b: Tree) -> Tree:
    return ("W", _not(b), a)


def _alternate_response(a: Tree, b: Tree) -> Tree:
    return ("G", ("->", a, ("X", ("U", _not(a), b))))


def _alternate_precedence(a: Tree, b: Tree) -> Tree:
    return ("&", _precedence(a, b), ("G", ("->", b, ("WX", _precedence(a, b)))))


def _chain_precedence(a: Tree, b: Tree) -> Tree:
    return ("&", _not(b), ("G", ("->", ("X", b), a)))


PATTERN_TREES: dict[str, Any] = {
    "existence": _event_positions,
    "existence2": _twice,
    "existence3": _thrice,
    "absence": lambda a: ("G", _not(a)),
    "absence2": lambda a: _not(_twice(a)),
    "absence3": lambda a: _not(_thrice(a)),
    "exactly1": lambda a: ("&", ("F", a), _not(_twice(a))),
    "exactly2": lambda a: ("&", _twice(a), _not(_thrice(a))),
    "init": lambda a: a,
    "last": lambda a: ("F", ("&", a, ("last",))),
    "choice": lambda a, b: ("F", ("|", a, b)),
    "exclusive_choice": lambda a, b: ("!", ("<->", ("F", a), ("F", b))),
    "responded_existence": lambda a, b: ("->", ("F", a), ("F", b)),
    "co_existence": lambda a, b: ("<->", ("F", a), ("F", b)),
    "response": _response,
    "alternate_response": _alternate_response,
    "chain_response": lambda a, b: ("G", ("->", a, ("X", b))),
    "precedence": _precedence,
    "alternate_precedence": _alternate_precedence,
    "chain_precedence": _chain_precedence,
    "succession": lambda a, b: ("&", _response(a, b), _precedence(a, b)),
    "alternate_succession": lambda a, b: (
        "&",
        _alternate_response(a, b),
        _alternate_precedence(a, b),
    ),
    "chain_succession": lambda a, b: ("&", ("G", ("->", a, ("X", b))), _chain_precedence(a, b)),
    "not_co_existence": lambda a, b: ("|", ("G", _not(a)), ("G", _not(b))),
    "not_succession": lambda a, b: ("G", ("->", a, ("G", _not(b)))),
    "not_chain_succession": lambda a, b: ("G", ("->", a, ("WX", _not(b)))),
    "before": lambda a, b: ("&", ("F", b), ("U", _not(b), a)),
    "sequence": lambda a, b: ("F", ("&", a, ("X", ("F", b)))),
    "sequence3": lambda a, b, c: ("F", ("&", a, ("X", ("F", ("&", b, ("X", ("F", c))))))),
    "avoid": lambda a: ("G", _not(a)),
}
"""The patterns, written a second time."""


def random_trace(random: Random, most: int = 8) -> Trace:
    """Labels of few events or many."""
    density = random.choice((0.15, 0.3, 0.5))
    return [
        frozenset(e for e in EVENTS if random.random() < density)
        for _ in range(random.randint(1, most))
    ]


def holds(tree: Tree, trace: Trace, last: bool) -> bool:
    """Whether a trace satisfies a formula, at its first or at its last position."""
    return evaluate(tree, trace)[-1 if last else 0]


def check_formulas(seed: int, formulas: int = FORMULAS, traces: int = TRACES) -> Counter[str]:
    """Random formulas: a third of the future, a third with past inside, a third of the past alone."""
    random, counts = Random(seed), Counter[str]()
    for number in range(formulas):
        last = number % 3 == 2
        size = random.randint(1, 9)
        tree = (
            random_past(random, size)
            if last
            else random_formula(random, size, past=number % 3 == 1)
        )
        temporal = set(operators(tree)) - {"event", "!", "&", "|", "->", "<->", "true", "false"}
        last = bool(temporal) and temporal <= {"first", *PAST_UNARY, *PAST_BINARY}
        counts += compare_formula(random, tree, last, traces)
    return counts


def _machine(text: str, accept: str) -> PushdownRewardMachine | None:
    """The machine of a formula; None if it is refused because it holds on no trace."""
    try:
        return from_ltlf(text, EVENTS, accept=accept)
    except BadSetting:
        return None


def compare_formula(random: Random, tree: Tree, last: bool, traces: int) -> Counter[str]:
    """Raise where the machine says something else than the definition."""
    text = text_of(tree)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EarlyAcceptance)
        at_end, at_first = (_machine(text, accept) for accept in ("end", "first"))
    counts = Counter(formulas=1, cases=traces, states=len(at_end.states) if at_end else 0)
    for _ in range(traces):
        trace = random_trace(random)
        wanted = holds(tree, trace, last)
        counts["satisfied"] += wanted
        accepted = at_end is not None and at_end.run([*trace, END]).accepted
        assert accepted == wanted, f"{text}: {trace} should be {wanted}"
        assert at_first or not wanted, f"{text} is refused and holds on {trace}"
        if at_first and random.random() < 0.1:
            before = [i for i in range(1, len(trace) + 1) if holds(tree, trace[:i], last)]
            run = at_first.run(trace)
            read = len(trace) - run.unread
            found = (run.finished, read if run.finished else None)
            assert found == (bool(before), before[0] if before else None), (
                f"{text}: {trace} is done at {before}, not {found}"
            )
            counts["words up to the first that satisfies"] += 1
    return counts


# --- Regular expressions, against Python's own

LETTERS = "abc"
WORDS = 1_000


def random_expression(random: Random, size: int, repeats: int = 2) -> tuple[str, str]:
    """An expression over events, and the same one for `re` over letters.

    repeats: repetitions inside each other at most, because `re` tries all ways to share a word among them.
    """
    if size <= 1:
        letter = random.choice(LETTERS)
        return f'"{letter}"', letter
    kind = random.choice(("then", "then", "or", *(("*", "+", "?", "[]", "~") if repeats else ())))
    if kind in ("then", "or"):
        left = random.randint(1, size - 1)
        one, first = random_expression(random, left, repeats)
        two, second = random_expression(random, size - left, repeats)
        sign = " " if kind == "then" else " | "
        return f"({one}{sign}{two})", f"(?:{first}{'' if kind == 'then' else '|'}{second})"
    inner, plain = random_expression(random, size - 1, repeats - 1)
    if kind == "[]":
        return f"[{inner}]", f"(?:{plain})?"
    if kind == "~":
        least, most = sorted((random.randint(0, 2), random.randint(1, 3)))
        return f"({inner}) ~ {least}..{most}", f"(?:{plain}){{{least},{most}}}"
    return f"({inner}){kind}", f"(?:{plain}){kind}"


def check_expressions(seed: int, expressions: int = FORMULAS, words: int = WORDS) -> Counter[str]:
    """Random expressions on random words, among them prefixes of words that match."""
    random, counts = Random(seed), Counter[str]()
    for _ in range(expressions):
        text, plain = random_expression(random, random.randint(1, 9))
        matches = re.compile(plain).fullmatch
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EarlyAcceptance)
            at_end, at_first = (from_regex(text, accept=accept) for accept in ("end", "first"))
        known = sorted(set(at_end.events) - END)
        for _ in range(words):
            word = "".join(random.choices(known, k=random.randint(0, 7)))
            labels = [frozenset(letter) for letter in word]
            while random.random() < 0.3:  # a label without events is passed over
                labels.insert(random.randint(0, len(labels)), frozenset())
            wanted = matches(word) is not None
            assert at_end.run([*labels, END]).accepted == wanted, (
                f"{text} on {word!r}: should be {wanted}"
            )
            first = next((i for i in range(1, len(word) + 1) if matches(word[:i])), None)
            run = at_first.run([frozenset(letter) for letter in word])
            read = len(word) - run.unread if run.finished else None
            assert read == first, f"{text} on {word!r}: done after {read}, should be {first}"
            counts["cases"] += 1
            counts["matched"] += wanted
        counts += Counter(expressions=1, states=len(at_end.states))
    return counts
