"""Machines side by side: what several machines do together at each label, as one pushdown system.

The state of the combination holds the states of its parts. Parts without a stack may be any number. Several stacks become one
whose symbols are tuples, which works just where the parts always replace the top by equally many symbols, as visibly
pushdown automata over the same calls and returns do (Alur and Madhusudan 2004). Whether they do is decided for the tops that
can occur: each head (state and top) remembers what is below it, so that only what some word reaches is looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from pdrm.errors import BadSetting, CannotCombine, TooLarge
from pdrm.limits import MOST_WORKED_OUT, spend
from pdrm.machines.configurations import Configuration
from pdrm.machines.guards import Exactly, Formula, Guard, Label, label_text, spell_out
from pdrm.machines.labels import FALSE, TRUE, Alphabet, LabelSet, LabelSets
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import ANY, Stack, Transition

END = "end"
"""The event at which a combination is judged, where `accept` is `end`."""


def exact(reward: float) -> Fraction:
    """A reward as the number that was written.

    >>> exact(0.1) + exact(0.2) == exact(0.3)
    True
    """
    return Fraction(repr(float(reward)))


# --- One part


class Effect(NamedTuple):
    """What a part does: where it goes, what takes the place of its top (None: it has no stack, or is finished), what it pays."""

    target: str
    push: Stack | None
    reward: Fraction


class Part:
    """A machine that takes part, and what it does at a state and a top."""

    def __init__(self, name: str, machine: PushdownRewardMachine, weight: Fraction) -> None:
        self.name, self.machine, self.weight = name, machine, weight
        self.final = frozenset(machine.final)
        self.stack = () if machine.leaves_stack else machine.stack
        self.quiet = {rule.source for rule in machine.transitions if rule.silent}
        """States with silent moves."""

    def silent(self, state: str, top: str | None) -> Effect | None:
        """The silent move."""
        rule = None if state in self.final else self.machine.rule(state, None, top)
        return None if rule is None else self._effect(rule, top)

    def readings(self, state: str, top: str | None) -> list[tuple[Guard | None, Effect | None]]:
        """Guards in the order in which they are looked at, and what they do; None: any other label. No effect: an error."""
        machine = self.machine
        if state in self.final:
            return [(None, Effect(state, None, Fraction(0)))]
        rules = [
            rule for rule in machine.rules_from(state) if not rule.silent and rule.looks_at(top)
        ]
        rules.sort(key=lambda rule: rule.top == ANY)  # a rule that names the top beats one with `z`
        found: list[tuple[Guard | None, Effect | None]] = [
            (rule.guard, self._effect(rule, top)) for rule in rules
        ]
        kept = () if top is None else (top,)
        otherwise = machine.otherwise
        target = otherwise.target or state
        stays = Effect(target, kept if self.stack else None, self.pay(otherwise.reward))
        return [*found, (None, None if otherwise.action == "error" else stays)]

    def _effect(self, rule: Transition, top: str | None) -> Effect:
        push = rule.replacement(top) if self.stack else None
        return Effect(rule.target, push, self.pay(rule.reward))

    def pay(self, reward: float) -> Fraction:
        return self.weight * exact(reward)


# --- All parts together

RUN, JUDGE, ENDED, FAILED = range(4)
"""What the combination is doing: reading labels, making silent moves before it is judged, final, or judged and not final."""
FILLER = "_"
"""Stands in a symbol for a part that is finished or whose own stack is of no more use."""
Symbol = tuple[str, ...]


class Place(NamedTuple):
    """A state of the combination."""

    states: tuple[str, ...]
    phase: int


class Move(NamedTuple):
    """A rule of the combination at one head; the guard is a diagram (None: silent)."""

    guard: int | None
    target: Place
    push: tuple[Symbol, ...]
    reward: Fraction


Head = tuple[Place, Symbol | None]
"""A state and the top symbol; None: the stack is empty, or there is none."""
Below = tuple[tuple[Symbol, ...], Head | None]
"""What is left above the symbol that a head began with, and that head; None: the bottom of the stack."""


class _Heads:
    """The heads that words reach, each with what may be below it, so that a pop uncovers what can be there and nothing else."""

    def __init__(self, first: Head) -> None:
        self.found = [first]
        self.below: dict[Head, set[Below]] = {first: {((), None)}}
        self.popped: dict[Head | None, set[Place]] = {None: set(), first: set()}
        """Where the machine is when the symbol that a head began with is gone."""

    def follow(self, head: Head, move: Move) -> None:
        """Reach what a move leads to."""
        if head[1] is None:
            self._reach((move.target, move.push[0] if move.push else None), move.push[1:], None)
        elif move.push:
            self._reach((move.target, move.push[0]), move.push[1:], head)
        elif move.target not in self.popped[head]:
            self.popped[head].add(move.target)
            for rest, origin in list(self.below[head]):
                self._uncover(move.target, rest, origin)

    def _reach(self, head: Head, rest: tuple[Symbol, ...], origin: Head | None) -> None:
        if head not in self.below:
            self.below[head], self.popped[head] = set(), set()
            self.found.append(head)
            if len(self.found) > MOST_WORKED_OUT:
                fault = f"the combination has more than {MOST_WORKED_OUT:,} states and tops"
                raise TooLarge(fault, fix="combine fewer or smaller machines")
        spend()
        if (rest, origin) not in self.below[head]:
            self.below[head].add((rest, origin))
            for place in list(self.popped[head]):
                self._uncover(place, rest, origin)

    def _uncover(self, place: Place, rest: tuple[Symbol, ...], origin: Head | None) -> None:
        waiting = [(place, rest, origin)]
        while waiting:
            place, rest, origin = waiting.pop()
            spend()
            if rest:
                self._reach((place, rest[0]), rest[1:], origin)
            elif place not in self.popped[origin]:
                self.popped[origin].add(place)
                if origin is None:
                    self._reach((place, None), (), None)
                else:
                    waiting += [(place, *more) for more in list(self.below[origin])]


class SideBySide:
    """Explores the heads that words reach, and makes rules of their moves."""

    def __init__(self, parts: list[Part], when: Formula, accept: str) -> None:
        self.parts, self.when, self.accept = parts, when, accept
        own = dict.fromkeys(event for part in parts for event in part.machine.events)
        events = (*own, *([END] if accept == "end" and END not in own else []))
        groups = dict.fromkeys(group for part in parts for group in part.machine.exclusive)
        self.alphabet = Alphabet(events, tuple(groups))
        self.sets = LabelSets(self.alphabet)
        self.store, self.possible = self.sets.store, self.sets.all.node
        self.end = self.store.variable(events.index(END)) if accept == "end" else FALSE
        self.guards: dict[tuple[int, Guard], int] = {}
        self.stacked = [number for number, part in enumerate(parts) if part.stack]
        self.moves: dict[Head, list[Move]] = {}
        self.start = Place(tuple(part.machine.start for part in parts), RUN)
        if accept == "first" and self._holds(self.start.states):
            fault = "`when` holds before anything has been read, so the combination would be final at once"
            raise BadSetting(
                fault, fix='say what must be finished, "a & !b", or judge at the end: accept="end"'
            )
        self._explore()

    def _holds(self, states: tuple[str, ...]) -> bool:
        pairs = list(zip(self.parts, states, strict=True))
        finished = {part.name for part, state in pairs if state in part.final}
        return self.when.holds(
            frozenset(finished | {f"{part.name}.{state}" for part, state in pairs})
        )

    # Heads

    def _explore(self) -> None:
        """Find every head that some word reaches, and its moves."""
        bottom: Symbol | None = (
            tuple(self.parts[number].stack[0] for number in self.stacked) or None
        )
        heads = _Heads((self.start, bottom))
        for head in heads.found:  # it grows
            self.moves[head] = self._moves(head)
            for move in self.moves[head]:
                heads.follow(head, move)

    def _tops(self, top: Symbol | None) -> list[str | None]:
        """The top of each part's own stack."""
        tops: list[str | None] = [None] * len(self.parts)
        for number, symbol in zip(self.stacked, top or (), strict=False):
            tops[number] = symbol
        return tops

    def _moves(self, head: Head) -> list[Move]:
        """What can happen at a head."""
        (states, phase), top = head
        kept = () if top is None else (top,)
        if phase == ENDED:
            return []
        if phase == FAILED:
            return [Move(self.possible, head[0], kept, Fraction(0))]
        tops = self._tops(top)
        silent = [
            part.silent(state, own)
            for part, state, own in zip(self.parts, states, tops, strict=True)
        ]
        if any(silent):
            return [self._silent_move(head, silent)]
        if phase == JUDGE or (self.accept == "first" and self._holds(states)):
            ended = ENDED if self._holds(states) else FAILED
            return [Move(None, Place(states, ended), kept, Fraction(0))]
        found: dict[tuple[Place, tuple[Symbol, ...], Fraction], int] = {}
        for guard, effects in self._cases(states, tops):
            push = self._push(head, effects, guard)
            following = tuple(effect.target for effect in effects)
            reward = sum((effect.reward for effect in effects), Fraction(0))
            for labels, judged in (
                (self.store.choose(self.end, FALSE, guard), False),
                (self.store.choose(self.end, guard, FALSE), True),
            ):
                if labels != FALSE:
                    key = self._enter(following, judged), push, reward
                    found[key] = self.store.choose(found.get(key, FALSE), TRUE, labels)
        return [Move(guard, *rest) for rest, guard in found.items()]

    def _enter(self, states: tuple[str, ...], judged: bool) -> Place:
        """The state of the combination after a move; where no silent one can follow it is judged at once."""
        asked = judged or (self.accept == "first" and self._holds(states))
        if not asked:
            return Place(states, RUN)
        if any(state in part.quiet for part, state in zip(self.parts, states, strict=True)):
            return Place(states, JUDGE if judged else RUN)
        return Place(states, ENDED if self._holds(states) else FAILED)

    def _cases(
        self, states: tuple[str, ...], tops: list[str | None]
    ) -> Iterator[tuple[int, list[Effect]]]:
        """Labels, and what each part does at them; labels at which one has no move are left out."""

        def extend(
            number: int, labels: int, effects: list[Effect]
        ) -> Iterator[tuple[int, list[Effect]]]:
            if number == len(self.parts):
                yield labels, effects
                return
            left = labels
            for guard, effect in self.parts[number].readings(states[number], tops[number]):
                here = (
                    left
                    if guard is None
                    else self.store.choose(self._diagram(number, guard), left, FALSE)
                )
                left = self.store.choose(here, FALSE, left)
                spend()
                if here != FALSE and effect is not None:
                    yield from extend(number + 1, here, [*effects, effect])

        return extend(0, self.possible, [])

    def _diagram(self, number: int, guard: Guard) -> int:
        """The labels that a part's guard reads: an exact set is exact about the part's own events."""
        key = (number, guard)
        if key not in self.guards:
            if isinstance(guard, Exactly):
                guard = spell_out(guard, self.parts[number].machine.events)
            self.guards[key] = self.store.of_guard(guard, self.alphabet)
        return self.guards[key]

    # The stack

    def _push(self, head: Head, effects: list[Effect], labels: int | None) -> tuple[Symbol, ...]:
        """What takes the place of the top: the parts' own symbols side by side."""
        pushes = [effects[number].push for number in self.stacked]
        lengths = {len(push) for push in pushes if push is not None}
        if len(lengths) > 1:
            raise self._not_together(head, effects, labels)
        top = () if head[1] is None else (head[1],)
        if not lengths:  # all stacks are of no more use
            return top
        (length,) = lengths
        return (
            tuple(
                zip(*((FILLER,) * length if push is None else push for push in pushes), strict=True)
            )
            if length
            else ()
        )

    def _silent_move(self, head: Head, silent: list[Effect | None]) -> Move:
        """One part's silent move, or that of all of them, where the stack is pushed or popped."""
        (states, phase), top = head
        tops = self._tops(top)
        stay = [
            Effect(
                state,
                None if state in part.final or not part.stack else (() if own is None else (own,)),
                Fraction(0),
            )
            for part, state, own in zip(self.parts, states, tops, strict=True)
        ]
        alone = [
            n
            for n, effect in enumerate(silent)
            if effect is not None and len(effect.push or ()) == len(stay[n].push or ())
        ]
        moving = alone[:1] or [n for n, effect in enumerate(silent) if effect is not None]
        effects = [silent[n] or stay[n] if n in moving else stay[n] for n in range(len(stay))]
        reward = sum((effect.reward for effect in effects), Fraction(0))
        following = tuple(effect.target for effect in effects)
        return Move(
            None, self._enter(following, phase == JUDGE), self._push(head, effects, None), reward
        )

    def _not_together(self, head: Head, effects: list[Effect], labels: int | None) -> CannotCombine:
        def act(number: int, push: Stack) -> str:
            height = len(push) - (head[1] is not None)
            what = "pops" if height < 0 else "keeps its stack" if not height else "pushes"
            return f"`{self.parts[number].name}` {what}"

        does = [
            act(number, push)
            for number in self.stacked
            if (push := effects[number].push) is not None
        ]
        label = "silently" if labels is None else f"at label {label_text(self._example(labels))}"
        places = ", ".join(
            f"`{part.name}` is in `{state}`"
            for part, state in zip(self.parts, head[0].states, strict=True)
        )
        word = self._word_to(head)
        after = "" if word is None else f" after the word `{word}`" if word else " at the start"
        return CannotCombine(
            f"the stacks do not move together{after}, where {places}: {label}, {' and '.join(does)}",
            fix="one machine has one stack: let both push and pop at the same labels, or combine one of them with machines without a stack",
        )

    def _word_to(self, head: Head) -> str | None:
        """A short word that leads to a head, if one is found soon."""
        begin = tuple(part.machine.begin().after for part in self.parts)
        todo: deque[tuple[tuple[Configuration, ...], tuple[Label, ...]]] = deque([(begin, ())])
        seen = {begin}
        labels = self._some_labels()
        wanted = list(zip(head[0].states, self._tops(head[1]), strict=True))
        while todo and len(seen) < MOST_TRIED:
            here, word = todo.popleft()
            if [
                (one.state, one.top if part.stack else None)
                for part, one in zip(self.parts, here, strict=True)
            ] == wanted:
                return " ".join("+".join(sorted(label)) or "-" for label in word)
            for label in labels:
                following = self._step(here, label)
                if following is not None and following not in seen:
                    seen.add(following)
                    todo.append((following, (*word, label)))
        return None

    def _some_labels(self) -> list[Label]:
        """A few labels of every kind that a guard tells apart."""
        read = (self.store.choose(node, self.possible, FALSE) for node in self.guards.values())
        return list(dict.fromkeys(self._example(node) for node in read if node != FALSE))

    def _example(self, node: int) -> Label:
        return LabelSet(self.sets, node).example()

    def _step(
        self, here: tuple[Configuration, ...], label: Label
    ) -> tuple[Configuration, ...] | None:
        following: list[Configuration] = []
        for part, one in zip(self.parts, here, strict=True):
            own, machine = label & frozenset(part.machine.events), part.machine
            if one.state in part.final:
                following.append(one)
                continue
            stuck = machine.rule(one.state, own, one.top) is None
            if machine.otherwise.action == "error" and stuck:
                return None
            following.append(machine.step(one, own).after)
        return tuple(following)


MOST_TRIED = 3_000
"""Configurations that are tried to find the word of an error message."""
