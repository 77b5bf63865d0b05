"""Determinism: at most one rule for every state, label and top of stack (the paper's own condition is weaker).

Two silent rules, or a silent and a reading one, clash wherever they meet, because a silent move does not wait for the label.
Where two rules meet, besides the label, is for the kind of machine to say: at a top of stack (`pushdown.py`), at a zero pattern (`zero_patterns.py`), or anywhere.
Rules that meet are found without comparing all pairs. Each rule is a few cubes over the events and over what it looks at; two
cubes are disjoint where one requires what the other forbids, or another event of an exclusive group. So the cubes are split
by such a question, again and again, until all that stand together meet.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice, product
from typing import Generic, NamedTuple, TypeVar

from pdrm.errors import Nondeterministic, TooManyCases
from pdrm.limits import spend
from pdrm.machines.alphabet import Alphabet, Cube
from pdrm.machines.checks.wellformed import Machine
from pdrm.machines.guards import Event, label_text
from pdrm.machines.transitions import Rule

MOST_REPORTED = 5
"""Clashes listed."""

MOST_FOUND = 100
"""Clashes found before the check stops; of these, the first are listed."""

R = TypeVar("R", bound=Rule)


class Reading(NamedTuple, Generic[R]):
    """A rule and the labels that it reads."""

    rule: R
    number: int
    cubes: list[Cube]

    def labels(self) -> list[Cube]:
        """Where it applies: a silent rule at every label."""
        return [Cube(0, 0)] if self.rule.silent else self.cubes


Place = Callable[[Reading[R], Reading[R], list[Cube]], tuple[Cube, str] | None]
"""Where two rules apply at once, given the labels at which they may: one of these, and the place in words; None: nowhere."""


class Meeting(NamedTuple, Generic[R]):
    """Rules of one state, any two of which clash where their cubes meet and `place` names a place."""

    readings: Sequence[Reading[R]]
    looks: Sequence[Cube]
    """What each looks at, as bits above those of the events."""
    apart: tuple[int, ...]
    """Bits of which at most one can be, besides the alphabet's groups."""
    place: Place[R]


def find_clashes(
    machine: Machine[R],
    meetings: Callable[[list[Reading[R]]], Iterable[Meeting[R]]],
    fix: str,
    silent_fix: str,
) -> list[Nondeterministic | TooManyCases]:
    """Pairs of rules that apply at once, in the order of the rules; `meetings` says which rules of a state can clash, and where."""
    faults: list[Nondeterministic | TooManyCases] = []
    for state in machine.states:
        readings: list[Reading[R]] = []
        for number, rule in enumerate(machine.rules_from(state)):
            try:
                readings.append(Reading(rule, number, machine.alphabet.cubes(rule.guard)))
            except TooManyCases as error:
                faults.append(TooManyCases(error.message, where=rule.where, fix=error.fix))
        if len(readings) > 1:
            pairs = (
                clash
                for meeting in meetings(readings)
                for clash in _find_pairs(machine.alphabet, meeting)
            )
            found = sorted(
                islice(pairs, MOST_FOUND), key=lambda pair: (pair[0][0].number, pair[0][1].number)
            )
            faults += _report(
                machine,
                [(one.rule, other.rule, case) for (one, other), case in found],
                fix,
                silent_fix,
            )
        if len(faults) >= MOST_REPORTED:
            break
    return faults[:MOST_REPORTED]


def _find_pairs(
    alphabet: Alphabet, meeting: Meeting[R]
) -> Iterator[tuple[tuple[Reading[R], Reading[R]], str]]:
    """The rules that clash, each pair once, with a label and the place where they do, in words."""
    cubes = [
        _Numbered(number, Cube(cube.required | look.required, cube.forbidden | look.forbidden))
        for number, (reading, look) in enumerate(zip(meeting.readings, meeting.looks, strict=True))
        for cube in reading.labels()
    ]
    seen: set[tuple[int, int]] = set()
    for first, second in _Splitting((*alphabet.groups, *meeting.apart)).within(cubes):
        pair = (min(first, second), max(first, second))
        if first != second and pair not in seen:
            seen.add(pair)
            one, other = (meeting.readings[number] for number in pair)
            spend(1 + len(one.cubes) * len(other.cubes), other.rule.where)
            met = (alphabet.meet(here, there) for here in one.labels() for there in other.labels())
            case = meeting.place(one, other, [cube for cube in met if cube is not None])
            if case is not None:
                silent = one.rule.silent and other.rule.silent
                label = (
                    "eps (both are silent)" if silent else label_text(alphabet.smallest(case[0]))
                )
                yield (one, other), f"label {label}{case[1]}"


def _report(
    machine: Machine[R], clashes: list[tuple[R, R, str]], fix: str, silent_fix: str
) -> Iterator[Nondeterministic]:
    """One error for each line that clashes with lines above it; for each pair of rules that were not read from a text."""
    lines: dict[object, list[tuple[R, R, str]]] = {}
    for one, other, case in clashes:
        blamed = one if one.silent and not other.silent else other
        lines.setdefault(blamed.where or len(lines), []).append((one, other, case))
    for alike in lines.values():
        one, other, case = next((clash for clash in alike if clash[0] == clash[1]), alike[0])
        if one.silent != other.silent:
            way_out = silent_fix
        elif one == other and one.where is not None and one.where == other.where:
            way_out = "this line of a `for` says the same at every turn: use its variable (it replaces whole words only), or move the line out"
        elif one == other:
            yield _repetition(one, other, len(alike) - 1)
            continue
        else:
            way_out = _propose_exclusive(machine, clashes, one, other) or fix
        yield _clash(one, other, case, way_out, len(alike) - 1)


def _propose_exclusive(
    machine: Machine[R], clashes: list[tuple[R, R, str]], one: R, other: R
) -> str:
    """The line that says that events never come together, where two clashing rules read one event each."""
    if (
        not (isinstance(one.guard, Event) and isinstance(other.guard, Event))
        or one.guard == other.guard
    ):
        return ""
    read = {
        rule.guard.name for clash in clashes for rule in clash[:2] if isinstance(rule.guard, Event)
    }
    line = f"exclusive {' '.join(event for event in machine.events if event in read)}"
    return f"where events never come together, say so: `{line}`; else let one rule read `{other.guard} & !{one.guard}`"


def _repetition(one: Rule, other: Rule, more: int) -> Nondeterministic:
    """The error that a rule is there twice."""
    places = [place for rule in (one, other) if (place := _place(rule))]
    where = f" ({' and '.join(places)})" if places else ""
    fault = f"a rule of state `{one.source}` is there twice{where}: at most one rule may apply\n    {one}{_count_more(more)}"
    return Nondeterministic(fault, where=other.where, fix="remove one of the two")


def _place(rule: Rule) -> str:
    """Where a rule stands; nothing: it was made in Python."""
    return "" if rule.where is None else rule.where.path or f"line {rule.where.line}"


def _count_more(more: int) -> str:
    return f"\n    (and {more} more clash{'es' * (more > 1)} of this line)" if more else ""


def _clash(one: Rule, other: Rule, case: str, fix: str, more: int) -> Nondeterministic:
    place = _place(one)
    silent = one.silent != other.silent
    why = "a silent rule leaves no label to read there" if silent else "at most one rule may apply"
    return Nondeterministic(
        f"two rules apply in state `{one.source}` for {case}: {why}\n    {one}{f' ({place})' if place else ''}\n    {other}{_count_more(more)}",
        where=other.where or one.where,
        fix=fix,
    )


# --- Which cubes meet


class _Numbered(NamedTuple):
    """A cube, and which rule it is of."""

    rule: int
    cube: Cube


FEW = 8
"""Cubes that are compared one by one."""

SAMPLE = 12
"""Cubes that are looked at to find the question that splits best."""


class _Splitting:
    """All pairs of cubes that meet, of different rules.

    A question is a mask: an event (required, forbidden, or neither), or an exclusive group (which of its events is required).
    """

    def __init__(self, groups: tuple[int, ...]) -> None:
        self.groups = tuple(group for group in groups if group.bit_count() > 1)

    def within(self, cubes: list[_Numbered]) -> Iterator[tuple[int, int]]:
        """The pairs among these cubes."""
        todo = [cubes]
        while todo:
            cubes = todo.pop()
            question = self._question(combinations(_sample(cubes), 2)) if len(cubes) > FEW else 0
            if not question:
                rules: defaultdict[int, list[_Numbered]] = defaultdict(list)
                for numbered in cubes:
                    rules[numbered.rule].append(numbered)
                for some, others in combinations(rules.values(), 2):
                    yield from self._compare(product(some, others))
                continue
            parts = self._split(cubes, question)
            neither = parts.pop(_NEITHER, [])
            todo += [neither, *parts.values()]
            for part in parts.values():
                yield from self._between(part, neither)

    def _between(self, some: list[_Numbered], others: list[_Numbered]) -> Iterator[tuple[int, int]]:
        """The pairs of one of these and one of those."""
        todo = [(some, others)]
        while todo:
            some, others = todo.pop()
            many = len(some) * len(others) > FEW**2
            question = self._question(product(_sample(some), _sample(others))) if many else 0
            if not question:
                yield from self._compare(product(some, others))
                continue
            parts, facing = self._split(some, question), self._split(others, question)
            todo.append((parts.pop(_NEITHER, []), others))
            unasked = facing.pop(_NEITHER, [])
            todo += [
                pair
                for value, part in parts.items()
                for pair in ((part, facing.get(value, [])), (part, unasked))
            ]

    def _compare(self, pairs: Iterable[tuple[_Numbered, _Numbered]]) -> Iterator[tuple[int, int]]:
        for one, other in pairs:
            spend()
            if one.rule != other.rule and not self._questions(one.cube, other.cube):
                yield one.rule, other.rule

    def _question(self, pairs: Iterable[tuple[_Numbered, _Numbered]]) -> int:
        """The question that tells most of these pairs apart, or 0: all of them meet."""
        asked = Counter(
            question for one, other in pairs for question in self._questions(one.cube, other.cube)
        )
        return max(asked, key=lambda question: asked[question], default=0)

    def _questions(self, one: Cube, other: Cube) -> list[int]:
        """Questions that the two cubes answer differently: none if they meet. Of events there may be many: the first is taken."""
        required, found = one.required | other.required, list[int]()
        for group in self.groups:
            if (required & group).bit_count() > 1:
                found.append(group)
        differ = (one.required & other.forbidden) | (other.required & one.forbidden)
        return [*found, differ & -differ] if differ else found

    def _split(self, cubes: list[_Numbered], question: int) -> dict[int, list[_Numbered]]:
        """The cubes by their answer."""
        spend(len(cubes))
        parts: defaultdict[int, list[_Numbered]] = defaultdict(list)
        single = question.bit_count() == 1
        for numbered in cubes:
            no = _NO if single and numbered.cube.forbidden & question else _NEITHER
            parts[numbered.cube.required & question or no].append(numbered)
        return dict(parts)


_NEITHER, _NO = 0, -1


def _sample(cubes: list[_Numbered]) -> list[_Numbered]:
    return cubes[:: -(-len(cubes) // SAMPLE)] if cubes else cubes
