"""Machines from random grammars accept just the words that two independent readers of the same grammar accept.

A grammar is made at random as a tree of alternatives, sequences and repetitions, and its text is given to `pdrm.from_grammar`. One oracle lists the
language: all its words up to a length, by building larger words from smaller ones until nothing is new. So every word up to that length
is compared, with the step at which no word of the language continues it. The other matches expressions against longer words, which
are sampled from the grammar and damaged, and counts derivations: an ambiguous word of a refusal must have two.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from pdrm.errors import BadGrammar, EarlyAcceptance, Undecidable
from pdrm.language.grammars.grammar_machine import from_grammar
from pdrm.machines.guards import parse_word
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Configuration

GRAMMARS = 20
LENGTH = {0: 1, 1: 30, 2: 9, 3: 6, 4: 5}
"""Words up to this length are listed, by the number of events: 1,023 or more where there are two events."""
LONG_WORDS = 10
LONGEST = 20

Word = tuple[str, ...]


@dataclass(frozen=True)
class Node:
    """An expression: an event, a rule, a sequence, a choice, or a repetition (`?`, `*`, `+`)."""

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = ()
    number: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", hash((self.kind, self.text, self.parts)))

    def __hash__(self) -> int:
        return self.number

    def __str__(self) -> str:
        inner = [str(part) for part in self.parts]
        match self.kind:
            case "event":
                return f'"{self.text}"'
            case "rule":
                return self.text
            case "all":
                return " ".join(
                    f"({text})" if part.kind == "any" else text
                    for part, text in zip(self.parts, inner, strict=True)
                )
            case "any":
                return " | ".join(inner)
        return f"({inner[0]}){self.kind}"


Rules = dict[str, Node]


def random_grammar(random: Random) -> tuple[Rules, str]:
    """Some rules over two events or more; a few have no words."""
    for _ in range(20):
        rules, events = _random_rules(random)
        if sum(f'"{event}"' in text_of(rules) for event in events) > 1 and (
            words_come(rules, "end") or random.random() < 0.1
        ):
            break
    return rules, events


def _random_rules(random: Random) -> tuple[Rules, str]:
    events = "abcd"[: random.choice((2, 3, 3, 3, 4))]
    names = ["start", "p", "q", "r"][: random.choice((1, 2, 2, 3, 3, 4))]
    rules = {name: _random_node(random, events, names, 3) for name in names}
    used = _used(rules)
    return {name: node for name, node in rules.items() if name in used}, events


def _used(rules: Rules) -> set[str]:
    """The rules that words can come by."""
    used, waiting = {"start"}, [rules["start"]]
    while waiting:
        node = waiting.pop()
        waiting += node.parts
        if node.kind == "rule" and node.text not in used:
            used.add(node.text)
            waiting.append(rules[node.text])
    return used


def _random_node(random: Random, events: str, names: list[str], depth: int) -> Node:
    chance = random.random()
    if depth == 0 or chance < 0.15:
        if random.random() < 0.68:
            return Node("event", random.choice(events))
        return Node("rule", random.choice(names))
    several = [
        _random_node(random, events, names, depth - 1) for _ in range(random.choice((1, 2, 2, 3)))
    ]
    if chance < 0.6:
        return Node("all", parts=tuple(several) if random.random() < 0.93 else ())
    if chance < 0.82:
        return Node("any", parts=tuple(several))
    return Node(random.choice("?*+"), parts=(several[0],))


def text_of(rules: Rules) -> str:
    """The grammar as it is written."""
    return "\n".join(f"{name}: {node}" for name, node in rules.items())


# --- The first oracle: the language as a set


def list_language(rules: Rules, most: int) -> set[Word]:
    """All words up to a length."""
    known: dict[str, set[Word]] = {name: set() for name in rules}
    while True:
        grown = {name: _list(node, known, most) for name, node in rules.items()}
        if grown == known:
            return known["start"]
        known = grown


def _list(node: Node, known: dict[str, set[Word]], most: int) -> set[Word]:
    """The words of an expression, from those that are known of the rules."""
    inner = [_list(part, known, most) for part in node.parts]
    found: set[Word] = {()}
    match node.kind:
        case "event":
            found = {(node.text,)}
        case "rule":
            found = known[node.text]
        case "any":
            found = set().union(*inner)
        case "all":
            for words in inner:
                found = _join(found, words, most)
        case "?":
            found = inner[0] | found
        case _:
            new = found
            while new:
                new = _join(new, inner[0], most) - found
                found = found | new
            found = found if node.kind == "*" else _join(inner[0], found, most)
    return found


def _join(firsts: set[Word], seconds: set[Word], most: int) -> set[Word]:
    by_length: dict[int, list[Word]] = {}
    for other in seconds:
        by_length.setdefault(len(other), []).append(other)
    return {
        one + other
        for one in firsts
        for size, others in by_length.items()
        if len(one) + size <= most
        for other in others
    }


# --- The second oracle: expressions matched against a word


class Matcher:
    """How many derivations each expression has of each part of a word, counted up to two."""

    def __init__(self, rules: Rules, word: Word) -> None:
        self.rules, self.word = rules, word
        self.counts: dict[tuple[Node, int, int], int] = {}
        self.whole = Node("rule", "start")
        grew = True
        while grew:
            before = dict(self.counts)
            self.asked: set[tuple[Node, int]] = set()
            self.match(self.whole, 0)
            grew = self.counts != before

    def match(self, node: Node, at: int) -> dict[int, int]:
        """Where a match that begins here may end, and in how many ways."""
        size = len(self.word)
        if (node, at) not in self.asked:
            self.asked.add((node, at))
            for end, count in self._ends(node, at).items():
                if count:
                    self.counts[node, at, end] = min(2, count)
        return {
            end: count
            for end in range(at, size + 1)
            if (count := self.counts.get((node, at, end), 0))
        }

    def _ends(self, node: Node, at: int) -> dict[int, int]:
        here = {at: 1}
        match node.kind:
            case "event":
                ends = {at + 1: 1} if self.word[at : at + 1] == (node.text,) else {}
            case "rule":
                ends = self.match(self.rules[node.text], at)
            case "any":
                ends = _add(*(self.match(part, at) for part in node.parts))
            case "all":
                ends = (
                    self._then(node.parts[0], Node("all", parts=node.parts[1:]), at)
                    if node.parts
                    else here
                )
            case "?":
                ends = _add(here, self.match(node.parts[0], at))
            case "*":
                ends = _add(here, self._then(node.parts[0], node, at))
            case _:
                ends = self._then(node.parts[0], Node("*", parts=node.parts), at)
        return ends

    def _then(self, one: Node, other: Node, at: int) -> dict[int, int]:
        ends = [
            {end: count * more for end, more in self.match(other, middle).items()}
            for middle, count in self.match(one, at).items()
        ]
        return _add(*ends)

    def accepted(self) -> set[int]:
        """The lengths of the beginnings of the word that are in the language."""
        return {end for node, at, end in self.counts if node == self.whole and at == 0}

    def begins(self) -> bool:
        """Whether a word of the language begins with this word."""
        self.open: set[tuple[Node, int]] = set()
        grew = True
        while grew:
            before = len(self.open)
            self.asked = set()
            self._begins(self.whole, 0)
            grew = len(self.open) > before
        return (self.whole, 0) in self.open

    def _begins(self, node: Node, at: int) -> bool:
        """Whether the rest of the word is a beginning of what the expression stands for."""
        if (node, at) not in self.asked:
            self.asked.add((node, at))
            if self._opens(node, at):
                self.open.add((node, at))
        return (node, at) in self.open

    def _opens(self, node: Node, at: int) -> bool:
        if at == len(self.word):
            return True
        match node.kind:
            case "event":
                return at + 1 == len(self.word) and self.word[at] == node.text
            case "rule":
                return self._begins(self.rules[node.text], at)
            case "any" | "?":
                return any(self._begins(part, at) for part in node.parts)
            case "all" if not node.parts:
                return False
        rest = (
            Node("all", parts=node.parts[1:]) if node.kind == "all" else Node("*", parts=node.parts)
        )
        after = [self._begins(rest, end) for end in self._ends_of(node.parts[0], at)]
        return any((self._begins(node.parts[0], at), *after))

    def _ends_of(self, node: Node, at: int) -> Iterable[int]:
        """Where a match of a part may end: every part that can be met here was met in matching."""
        return [end for end in range(at, len(self.word) + 1) if (node, at, end) in self.counts]

    def derivations(self) -> int:
        return self.counts.get((self.whole, 0, len(self.word)), 0)


def _add(*several: dict[int, int]) -> dict[int, int]:
    total: dict[int, int] = {}
    for one in several:
        for end, count in one.items():
            total[end] = total.get(end, 0) + count
    return total


def sample(random: Random, rules: Rules, node: Node, fuel: list[int]) -> list[str]:
    """A random word of an expression; while fuel is short, the ways that end sooner."""
    fuel[0] -= 1
    match node.kind:
        case "event":
            return [node.text]
        case "rule":
            return sample(random, rules, rules[node.text], fuel)
        case "all":
            return [event for part in node.parts for event in sample(random, rules, part, fuel)]
        case "any":
            parts = (
                node.parts
                if fuel[0] > 0
                else sorted(node.parts, key=lambda part: str(part).count("(") + len(str(part)))[:1]
            )
            return sample(random, rules, random.choice(parts), fuel)
    if fuel[0] < -200:
        raise RecursionError
    times = (
        random.choice((0, 1))
        if node.kind == "?"
        else (node.kind == "+") + random.choice((0, 0, 1, 1, 2, 3))
    )
    times = times if fuel[0] > 0 else int(node.kind == "+")
    return [event for _ in range(times) for event in sample(random, rules, node.parts[0], fuel)]


# --- The comparison


def check(seed: int, grammars: int = GRAMMARS) -> Counter[str]:
    """Random grammars, each as a machine that ends with `end` and as one that stops as soon as it can."""
    random = Random(seed)
    counted: Counter[str] = Counter()
    for _ in range(grammars):
        rules, events = random_grammar(random)
        for accept in ("end", "first"):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", EarlyAcceptance)
                    machine = from_grammar(text_of(rules), accept=accept)
            except Undecidable as error:
                counted[check_refusal(rules, accept, error)] += 1
            except BadGrammar as error:
                if words_come(rules, accept):
                    raise AssertionError(text_of(rules)) from error
                counted["grammars without words"] += 1
            else:
                words = _Comparing(machine, rules, events, accept).compare(random)
                counted["machines"] += 1
                counted["machines with 1,000 words or more"] += words >= 1_000
                counted["cases"] += words
    return counted


def words_come(rules: Rules, accept: str) -> bool:
    """Whether each rule that is used gives words; where a word ends as soon as it can, the empty one is not enough."""
    events = any('"' in str(node) for node in rules.values())
    ends: set[str] = set()

    def finishes(node: Node) -> bool:
        if node.kind == "rule":
            return node.text in ends
        if node.kind == "any":
            return any(map(finishes, node.parts))
        return all(
            map(finishes, node.parts)
        )  # of repetitions too: nothing in the text may be endless

    for _ in rules:
        ends |= {name for name in rules if finishes(rules[name])}
    return set(rules) <= ends and (events or accept == "end")


def check_refusal(rules: Rules, accept: str, error: Undecidable) -> str:
    """What a refusal is, if the word that it shows proves it."""
    if error.words is None:
        return "grammars that need to look further ahead"
    word = tuple(next(iter(label)) for label in parse_word(error.words[0]))
    if accept == "end":
        assert word[-1:] == ("end",), error
        word = word[:-1]
    assert Matcher(rules, word).derivations() > 1, f"{text_of(rules)}\n{error}"
    return "ambiguous grammars"


class _Comparing:
    def __init__(
        self, machine: PushdownRewardMachine, rules: Rules, events: str, accept: str
    ) -> None:
        self.machine, self.rules, self.accept = machine, rules, accept
        self.used = [event for event in events if event in machine.events]
        self.most = LENGTH[len(self.used)]
        self.language = list_language(rules, self.most + 1)
        self.begun = {word[:size] for word in self.language for size in range(len(word) + 1)}
        self.words = 0

    def compare(self, random: Random) -> int:
        """All short words, with when the machine is lost, and some long ones."""
        self._visit((), self.machine.begin().after)
        for _ in range(LONG_WORDS):
            try:
                word = sample(random, self.rules, self.rules["start"], [LONGEST])
            except RecursionError:
                continue
            if random.random() < 0.6:
                damage(random, word, self.used)
            if len(word) <= 2 * LONGEST:
                self._read(tuple(word))
        return self.words

    def _visit(self, word: Word, here: Configuration) -> None:
        """Compare one short word, and all that it begins."""
        self.words += 1
        self._judge(word, here, word in self.language)
        begins = word in self.begun or Matcher(self.rules, word).begins()
        if (here.state == "lost") == begins:
            raise self._wrong(word, here)
        if here.state != "done" and len(word) < self.most:
            for event in self.used:
                self._visit((*word, event), self.machine.step(here, frozenset([event])).after)

    def _judge(self, word: Word, here: Configuration, expected: bool) -> None:
        if self.accept == "end":
            ended = (
                here.state != "done"
                and self.machine.step(here, frozenset(["end"])).after.state == "done"
            )
        else:
            ended, expected = here.state == "done", expected and bool(word)
        if ended != expected:
            raise self._wrong(word, here)

    def _read(self, word: Word) -> None:
        """Compare a long word, up to where it is accepted first."""
        matcher = Matcher(self.rules, word)
        accepted = matcher.accepted()
        here = self.machine.begin().after
        for size in range(len(word) + 1):
            self._judge(word[:size], here, size in accepted)
            if here.state == "done":
                break
            if size < len(word):
                here = self.machine.step(here, frozenset([word[size]])).after
        else:
            if (here.state == "lost") == matcher.begins():
                raise self._wrong(word, here)
        self.words += 1

    def _wrong(self, word: Word, here: Configuration) -> AssertionError:
        return AssertionError(
            f"{text_of(self.rules)}\naccept {self.accept}\nword {' '.join(word)}\nis at {here}"
        )


def damage(random: Random, word: list[str], events: list[str]) -> None:
    """Change, add or remove an event or two."""
    for _ in range(random.choice((1, 1, 2))):
        place = random.randrange(len(word) + 1)
        if random.random() < 0.5 and word:
            del word[min(place, len(word) - 1)]
        if random.random() < 0.7 and events:
            word.insert(place, random.choice(events))
