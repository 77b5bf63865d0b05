"""The input alphabet Σ: the labels a machine may read, as sets of declared events.

Events may be declared exclusive (at most one of a group in any label). Questions about all labels (do two guards meet?
which labels does no rule read?) are answered on *cubes*, conjunctions of required and forbidden events held as bit masks:
exact, and cheap where listing all 2^events labels would not be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from pdrm.errors import BadShape, ImpossibleLabel, TooManyCases, UnknownEvent, name_alike
from pdrm.limits import spend
from pdrm.machines.guards import (
    And,
    Event,
    Exactly,
    Formula,
    Guard,
    Label,
    Not,
    Or,
    Silent,
    label_text,
)

MOST_CUBES = 2_000
"""Cases one guard, or the labels left over at one state, may split into."""

MOST_SHOWN = 3
"""Cubes that a message spells out."""


class Cube(NamedTuple):
    """All labels that hold every required event and no forbidden one (bit masks over the alphabet's events)."""

    required: int
    forbidden: int


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The labels over `events` in which no two events of an exclusive group occur together.

    >>> sigma = Alphabet(("u", "d", "t"), (("u", "d"),))
    >>> [label_text(label) for label in sigma.labels()]
    ['{}', '{u}', '{d}', '{t}', '{t, u}', '{d, t}']
    """

    events: tuple[str, ...]
    exclusive: tuple[tuple[str, ...], ...] = ()
    _bit: dict[str, int] = field(init=False, repr=False, compare=False)
    groups: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """The exclusive groups as bit masks."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", names_of("events", self.events))
        object.__setattr__(self, "exclusive", _groups_of(self.exclusive))
        bit = {event: 1 << position for position, event in enumerate(self.events)}
        object.__setattr__(self, "_bit", bit)
        groups = tuple(
            self._mask(event for event in group if event in bit) for group in self.exclusive
        )
        object.__setattr__(self, "groups", groups)

    def _mask(self, events: Iterable[str]) -> int:
        """The bits of some events, each once however often it is named."""
        mask = 0
        for event in events:
            mask |= self._bit[event]
        return mask

    def check(self, label: Collection[str]) -> None:
        """Raise unless the label is one of this alphabet's."""
        if not isinstance(label, frozenset | set):
            fix = 'write {"a", "t"}; a word of labels can be a text, "a+t -"'
            raise ImpossibleLabel(f"a label is a set of events, not {label!r}", fix=fix)
        for event in sorted(label.difference(self.events)):
            fault = (
                f"event `{event}` of label {label_text(label)} is not one of the machine's events"
            )
            like = name_alike(event, self.events)
            fix = (
                f"did you mean `{like}`?"
                if like
                else f"add `{event}` to the machine's `events` line"
            )
            raise UnknownEvent(fault, fix=fix)
        for group in self.exclusive:
            both = [event for event in group if event in label]
            if len(both) > 1:
                raise ImpossibleLabel(
                    f"label {label_text(label)} holds both `{both[0]}` and `{both[1]}`, which are declared exclusive",
                    fix="emit one of them, or remove the `exclusive` line",
                )

    def labels(self) -> Iterator[Label]:
        """Every label, smallest first. There may be exponentially many, unless events are exclusive."""
        layer: list[tuple[int, ...]] = [()]
        while (
            layer
        ):  # what is part of a label is one, so that larger ones are found from smaller ones
            yield from (frozenset(self.events[place] for place in chosen) for chosen in layer)
            larger = (
                (*chosen, more)
                for chosen in layer
                for more in range((chosen or (-1,))[-1] + 1, len(self.events))
            )
            layer = [
                one
                for one in larger
                if self.possible(self.cube(self.events[place] for place in one))
            ]

    def cube(self, required: Iterable[str] = (), forbidden: Iterable[str] = ()) -> Cube:
        """The cube with these events required and forbidden."""
        return Cube(self._mask(required), self._mask(forbidden))

    def possible(self, cube: Cube) -> bool:
        """Whether some label is in the cube."""
        apart = not cube.required & cube.forbidden
        return apart and all((cube.required & group).bit_count() <= 1 for group in self.groups)

    def meet(self, one: Cube, other: Cube) -> Cube | None:
        """The labels in both cubes, or None where there are none."""
        both = Cube(one.required | other.required, one.forbidden | other.forbidden)
        return both if self.possible(both) else None

    def cubes(self, guard: Guard) -> list[Cube]:
        """Cubes whose union is exactly the labels the guard reads."""
        cubes = self._cubes(guard, positive=True)
        spend(len(cubes) * (1 + len(self.groups) // 8))
        return [cube for cube in cubes if self.possible(cube)]

    def _cubes(self, guard: Guard, positive: bool) -> list[Cube]:
        match guard:
            case Silent():
                return []
            case Exactly(events):
                required = self._mask(events)
                return [Cube(required, ~required & ((1 << len(self.events)) - 1))]
            case Event(name):
                return [Cube(self._bit[name], 0) if positive else Cube(0, self._bit[name])]
            case Not(inner):
                return self._cubes(inner, not positive)
            case And(parts) | Or(parts):
                split = [self._cubes(part, positive) for part in parts]
                if isinstance(guard, Or) == positive:
                    return list(dict.fromkeys(cube for cubes in split for cube in cubes))
                product = [Cube(0, 0)]
                for cubes in split:
                    spend(len(product) * len(cubes) * (1 + len(self.groups) // 8))
                    met = (self.meet(one, other) for one in product for other in cubes)
                    product = _few(dict.fromkeys(cube for cube in met if cube is not None))
                return product

    def complement(self, guards: Iterable[Guard]) -> list[Cube]:
        """Disjoint cubes of the labels that no guard reads."""
        return self.subtract([Cube(0, 0)], (cube for guard in guards for cube in self.cubes(guard)))

    def subtract(self, cubes: list[Cube], taken: Iterable[Cube]) -> list[Cube]:
        """The labels in one of the cubes and in none of those taken, as cubes; disjoint if the cubes are."""
        for cube in taken:
            spend(len(cubes) * (1 + len(self.groups) // 8))
            cubes = _few(piece for rest in cubes for piece in self._without(rest, cube))
        return cubes

    def _without(self, cube: Cube, taken: Cube) -> Iterator[Cube]:
        """The labels of `cube` outside `taken`, as disjoint cubes."""
        if self.meet(cube, taken) is None:
            yield cube
            return
        for position in range(len(self.events)):
            bit = 1 << position
            if taken.required & bit & ~cube.required:
                yield Cube(cube.required, cube.forbidden | bit)
                cube = Cube(cube.required | bit, cube.forbidden)
            elif taken.forbidden & bit & ~cube.forbidden:
                other = Cube(cube.required | bit, cube.forbidden)
                if self.possible(other):
                    yield other
                cube = Cube(cube.required, cube.forbidden | bit)

    def smallest(self, cube: Cube) -> Label:
        """A label of the cube with as few events as can be."""
        return frozenset(event for event in self.events if self._bit[event] & cube.required)

    def formula(self, cube: Cube) -> Formula:
        """The cube as a formula, for messages."""
        required = (Event(event) for event in self.events if self._bit[event] & cube.required)
        forbidden = (
            Not(Event(event)) for event in self.events if self._bit[event] & cube.forbidden
        )
        parts: tuple[Formula, ...] = (*required, *forbidden)
        return parts[0] if len(parts) == 1 else And(parts)

    def describe(self, cubes: list[Cube]) -> str:
        """The labels in any of the cubes, for messages: the first few formulas, and how many more there are.

        >>> sigma = Alphabet(("u", "d", "t"), (("u", "d"),))
        >>> sigma.describe([sigma.cube("u", "dt"), sigma.cube((), "udt")])
        'u & !t | {}'
        """
        shown = " | ".join(map(self._describe, cubes[:MOST_SHOWN]))
        return shown + (f" | … ({len(cubes) - MOST_SHOWN} more)" if len(cubes) > MOST_SHOWN else "")

    def _describe(self, cube: Cube) -> str:
        """A cube as one would write it: without what `exclusive` says already, and the empty label as such."""
        if len(self.events) > 1 and cube.forbidden == (1 << len(self.events)) - 1:
            return label_text(())
        implied = 0
        for group in self.groups:
            implied |= group if cube.required & group else 0
        return str(self.formula(Cube(cube.required, cube.forbidden & ~implied)))


def names_of(field: str, names: Iterable[str]) -> tuple[str, ...]:
    """Names given in Python as a tuple; a text is refused, because it would be taken letter by letter."""
    several = (
        () if isinstance(names, str | bytes) or not isinstance(names, Iterable) else tuple(names)
    )
    if (not several and names not in ((), [])) or not all(
        isinstance(name, str) for name in several
    ):
        raise BadShape(
            f"`{field}` is {str(names)[:40]!r}, not names", fix=f'write {field}=("a", "b")'
        )
    return several


def _groups_of(groups: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Groups of events as tuples; one group alone is refused, because it would be taken event by event."""
    try:
        return tuple(names_of("exclusive", group) for group in groups)
    except (BadShape, TypeError):
        fault = f"`exclusive` is {str(groups)[:60]}, not groups of events"
        raise BadShape(
            fault, fix='write exclusive=(("a", "b"),), with a comma after the one group'
        ) from None


def _few(cubes: Iterable[Cube]) -> list[Cube]:
    """The cubes as a list, refused when there are too many."""
    listed = list(islice(cubes, MOST_CUBES + 1))
    if len(listed) > MOST_CUBES:
        raise TooManyCases(
            f"a formula splits into more than {MOST_CUBES:,} cases",
            fix="split the rule into several with simpler formulas, or declare exclusive events",
        )
    return listed
