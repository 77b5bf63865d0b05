"""Warnings about a task: a machine that pays for the wrong thing in this domain, found before anything is trained.

Two small graphs answer. In the *near* graph the agent is in an environment state, a machine state, and knows the topmost symbols of
the stack: every way in it is real, and what would need symbols below is left out. So a loop in it that pays can be repeated for
ever, and what going on to the step limit pays can be had. In the *far* graph only the top symbol is known, and any symbol that may
lie below it comes up when it is popped: every real way is in it. So a final state that it does not reach cannot be reached, and no
way to an end pays more than its best. Both are built within a budget; where it does not last, nothing is said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from time import monotonic

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.own_environment import OwnEnvironment
from pdrm.errors import CannotTranslate, Finding, TaskWarning, warn_caller
from pdrm.machines.checks.findings import BOTTOM, KNOWN, View, advance
from pdrm.machines.guards import Label, word_text
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.task import Task, largest_reward

MOST_NODES = 20_000
"""Nodes of either graph."""
MOST_SWEEPS = 1_000
"""Steps of an episode that are looked ahead."""
SECONDS = 2.0
"""How long all of it may take."""
MOST_SHOWN = 12
"""Labels of a loop that are printed."""
ROUNDING = 1e-9
ENDED, UNKNOWN, OVER = -1, -2, -3
"""In place of a node: the machine has ended, what comes depends on symbols that are not known, the environment has ended."""

Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


def inspect_task(task: Task) -> list[Finding]:
    """What is more often a mistake in a task: events that never come, final states that cannot be reached in this domain, a loop
    that pays more than ending, rewards that make never ending best, rewards that are all 0.

    >>> from pdrm.language.loading import parse
    >>> machine = parse('''
    ... name both-paid
    ... events u d l r t x
    ... stack # a
    ... start s
    ... final done
    ... otherwise stay 0
    ... s -> s : d, z / a z, 1
    ... s -> s : u, a / eps, 1
    ... s -> done : t, # / #, 1
    ... ''')
    >>> [finding.code for finding in inspect_task(Task("maze-5x5", machine))]
    ['W0606']
    """
    if isinstance(task.domain, OwnEnvironment):
        return []
    found = [Finding("W0609", text) for text in task.warnings]
    if not largest_reward(task.domain, task.machine):
        said = f"machine `{task.machine.name}` pays 0 for every step, and so does `{task.name}`: there is nothing to learn"
        found.append(Finding("W0612", said))
    if not isinstance(task.domain, FiniteDomain) or not task.machine.final:
        return found
    try:
        machine = task.pushdown
    except CannotTranslate:
        return found
    until = monotonic() + SECONDS
    far = _Far(task.domain, machine, until)
    if far.complete:
        missing = [state for state in task.success if state not in far.ends]
        found += [
            Finding(
                "W0608",
                f"final state `{state}` cannot be reached in `{task.name}`, whatever the agent does",
            )
            for state in missing
        ]
        if len(missing) == len(task.success):
            return found
    near = _Near(task.domain, machine, until)
    loop = near.find_loop(until)
    if loop is not None:
        return [*found, *_tell_loop(task, near, loop)]
    return [*found, *_compare(task.domain, near, far, until)] if far.complete else found


def warn_of_tasks(*tasks: Task) -> None:
    r"""Warn of what is more often a mistake, where Python's own warnings go, once for each task. The catalogue's have nothing of it.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     warn_of_tasks(Task("letter"), Task("letter", "events A B C D\nstart u\nfinal e\notherwise stay 0\nu -> e : D, 1"))
    >>> [one.message.code for one in found]
    ['W0609', 'W0608']
    """
    for task in tasks:
        if task.warned or (task.catalogued and task.text is None):
            continue
        task.warned = True
        for finding in inspect_task(task):
            warn_caller(TaskWarning(finding))


def _tell_loop(task: Task, near: _Near, loop: list[tuple[int, int]]) -> Iterator[Finding]:
    """A warning, where the loop pays as much in an episode as the best of the steps that end it."""
    domain, step = task.finite, [near.step(x, a) for x, a in loop]
    paid, limit = sum(reward for reward, _ in step), domain.step_limit
    in_all = paid * limit / len(loop)
    last = near.best_end
    if in_all < last:
        return
    actions = " ".join(domain.actions[a] for _, a in loop[:MOST_SHOWN])
    more = " …" if len(loop) > MOST_SHOWN else ""
    word, place = (
        word_text([label for _, label in step[:MOST_SHOWN]]),
        domain.describe(near.nodes[loop[0][0]][0]),
    )
    pays = f"pays {paid:g} in {len(loop)} step{'s' * (len(loop) > 1)}, {in_all:g} in an episode of {limit:,}"
    ends = (
        "no step that ends the task was found"
        if last == -inf
        else f"the step that ends the task pays {last:g}"
    )
    said = f"a loop pays more than ending: `{word}{more}` (actions {actions}{more}, from {place}) {pays}; {ends}"
    views = zip((near.nodes[x][1] for x, _ in loop), step, strict=True)
    rules = (near.machine.rule(view.state, label, view.known[0]) for view, (_, label) in views)
    yield Finding(
        "W0606",
        said,
        next((rule.where for rule in rules if rule is not None and rule.reward > 0), None),
    )


def _compare(domain: FiniteDomain, near: _Near, far: _Far, until: float) -> Iterator[Finding]:
    """A warning, where going on to the step limit pays more than any way to an end."""
    on, best = near.value_of_going_on(domain.step_limit, until), far.best_ending(until)
    if on is not None and best is not None and on > best + ROUNDING * max(1.0, abs(best)):
        said = f"never ending is best: it pays {on:g} in an episode of {domain.step_limit:,} steps, and ending at most {best:g}"
        yield Finding("W0607", said)


def _list_starts(domain: FiniteDomain) -> list[tuple[float, int, int]]:
    """The chance, the state and the label of each start."""
    arrays = domain.arrays
    columns = (
        arrays.start_probability.tolist(),
        arrays.start_state.tolist(),
        arrays.start_label.tolist(),
    )
    return [start for start in zip(*columns, strict=True) if start[0] > 0]


@dataclass(slots=True)
class _Near:
    """The graph whose ways are all real. A node is an environment state and a view of the machine."""

    domain: FiniteDomain
    machine: PushdownRewardMachine
    until: float
    nodes: list[tuple[int, View]] = field(default_factory=list)
    starts: list[tuple[float, int, float]] = field(default_factory=list)
    """The chance of each, its node (or what stands for one), and what is paid before the first action."""
    best_end: float = -inf
    """The most that a step pays that ends the task."""
    next: Places = field(init=False)
    """[node, action, outcome]"""
    reward: Numbers = field(init=False)
    _number: dict[tuple[int, View], int] = field(default_factory=dict)
    _steps: dict[tuple[View, int], tuple[View, float] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        begin = self.machine.begin()
        view = _shorten(View(begin.after.state, (*begin.after.stack, BOTTOM)))
        for chance, place, label in _list_starts(self.domain):
            ended = view.state in self.machine.final
            after = (view, 0.0) if label < 0 or ended else self._read(view, label)
            paid = begin.reward + (0.0 if after is None else after[1])
            self.starts.append((chance, self._add(place, after), paid))
        arrays = self.domain.arrays
        following, rewards = list[Places](), list[Numbers]()
        x = 0
        while x < len(self.nodes):
            place, here = self.nodes[x]
            labels, places = arrays.label[place], arrays.next[place]
            nexts, pays = np.full(places.shape, UNKNOWN), np.zeros(places.shape)
            full = len(self.nodes) > MOST_NODES or (x % 256 == 0 and monotonic() > self.until)
            for a, o in zip(*np.nonzero(arrays.probability[place] > 0), strict=True):
                after = self._read(here, int(labels[a, o]))
                if after is not None and not (
                    full and (int(places[a, o]), after[0]) not in self._number
                ):
                    nexts[a, o] = self._add(int(places[a, o]), after)
                    pays[a, o] = arrays.reward[place, a, o] + after[1]
                    if nexts[a, o] == ENDED:
                        self.best_end = max(self.best_end, float(pays[a, o]))
            following.append(nexts)
            rewards.append(pays)
            x += 1
        self.next = (
            np.array(following) if following else np.zeros((0, *arrays.next.shape[1:]), np.int64)
        )
        self.reward = np.array(rewards) if rewards else np.zeros(self.next.shape)

    def _read(self, view: View, label: int) -> tuple[View, float] | None:
        key = view, label
        if key not in self._steps:
            after = advance(self.machine, view, self.domain.labels[label])
            self._steps[key] = None if after is None else (_shorten(after[0]), after[1])
        return self._steps[key]

    def _add(self, place: int, after: tuple[View, float] | None) -> int:
        if after is None:
            return UNKNOWN
        if after[0].state in self.machine.final:
            return ENDED
        if self.domain.arrays.terminal[place]:
            return OVER
        key = place, after[0]
        if key not in self._number:
            self._number[key] = len(self.nodes)
            self.nodes.append(key)
        return self._number[key]

    def step(self, x: int, action: int) -> tuple[float, Label]:
        """What an action pays that has one outcome, and the label that it emits."""
        place = self.nodes[x][0]
        o = int(np.argmax(self.domain.arrays.probability[place, action]))
        return float(self.reward[x, action, o]), self.domain.labels[
            int(self.domain.arrays.label[place, action, o])
        ]

    def find_loop(self, until: float) -> list[tuple[int, int]] | None:
        """A loop of steps without chance that pays, as nodes and actions; None: none was found.

        The longest ways to every node are made longer step by step; where there is such a loop, the last steps of these ways lead
        round it sooner or later.
        """
        if not len(self.next):
            return None
        places = np.array([place for place, _ in self.nodes])
        certain = self.domain.arrays.probability[places] > 1 - ROUNDING
        source, action, outcome = np.nonzero(certain & (self.next >= 0))
        target, reward = self.next[source, action, outcome], self.reward[source, action, outcome]
        if not (reward > ROUNDING).any():
            return None
        length, last = np.zeros(len(self.nodes)), np.full(len(self.nodes), -1)
        for sweep in range(len(self.nodes)):
            new = length[source] + reward
            better = np.flatnonzero(new > length[target] + ROUNDING)
            if not better.size or (sweep % 16 == 0 and monotonic() > until):
                return None
            order = better[np.argsort(new[better], kind="stable")]
            length[target[order]], last[target[order]] = (
                new[order],
                order,
            )  # the best of several is written last
            loop = _find_cycle(source, last)
            if loop:
                return [(int(source[edge]), int(action[edge])) for edge in loop]
        return None

    def value_of_going_on(self, limit: int, until: float) -> float | None:
        """What can be had without ever ending the task, within so many steps; None: it is not known."""
        places = np.array([place for place, _ in self.nodes], np.int64)
        chance = (
            self.domain.arrays.probability[places] if len(places) else np.zeros(self.next.shape)
        )
        wrong = ((self.next == ENDED) | (self.next == UNKNOWN)) & (chance > 0)
        expected = (chance * self.reward).sum(axis=2)
        expected[wrong.any(axis=2)] = -inf
        follow = np.where(
            self.next >= 0, self.next, len(places)
        )  # the node after the last is worth nothing
        chance = np.where(self.next >= 0, chance, 0.0)
        value = np.zeros(len(places) + 1)
        for step in range(min(limit, MOST_SWEEPS)):
            ahead = value[follow]
            ahead[chance == 0] = 0.0
            new = np.append((expected + (chance * ahead).sum(axis=2)).max(axis=1), 0.0)
            if np.array_equal(new, value):
                break
            value = new
            if step % 16 == 0 and monotonic() > until:
                return None
        else:
            if limit > MOST_SWEEPS:
                return None
        total = 0.0
        for part, x, paid in self.starts:
            if x in (ENDED, UNKNOWN):
                return None
            total += part * (paid + (float(value[x]) if x >= 0 else 0.0))
        return total if total > -inf else None


def _shorten(view: View) -> View:
    return View(view.state, view.known[:KNOWN])


def _find_cycle(source: Places, last: Places) -> list[int]:
    """The edges of a cycle among the last edges of ways; none: they lead back to where ways begin."""
    colour = np.zeros(len(last), np.int64)
    for first in np.flatnonzero(last >= 0):
        node, number = int(first), int(first) + 1
        while last[node] >= 0 and colour[node] == 0:
            colour[node] = number
            node = int(source[last[node]])
        if last[node] >= 0 and colour[node] == number:
            loop, at = [int(last[node])], int(source[last[node]])
            while at != node:
                loop.append(int(last[at]))
                at = int(source[last[at]])
            return loop[::-1]
    return []


class _Far:
    """The graph that has every real way. A node is an environment state, a machine state and a top symbol."""

    def __init__(self, domain: FiniteDomain, machine: PushdownRewardMachine, until: float) -> None:
        self.domain, self.machine, self.until = domain, machine, until
        self.ends: set[str] = set()
        """The final states that it reaches."""
        self._below: dict[str | None, set[str | None]] = {}
        self._number: dict[tuple[int, str, str | None], int] = {}
        self._edges: dict[tuple[int, int], float] = {}
        """What a step from one node to another pays at most; ENDED is a node too."""
        self._popping: dict[str | None, set[tuple[int, str, float, int]]] = {}
        """By the symbol that was popped: where, in which state, what was paid, from which node."""
        self._follow: dict[str | None, set[str | None]] = {}
        """The symbols that have taken the place of a symbol: what is below it is below them."""
        self._todo: deque[tuple[int, str, str | None, int]] = deque()
        self.starts: list[int] = []
        self.complete = self._explore()

    def _explore(self) -> bool:
        begin = self.machine.begin().after
        symbols: tuple[str | None, ...] = (*begin.stack, BOTTOM)
        if begin.state in self.machine.final:
            self.ends.add(begin.state)
            return True
        for upper, lower in pairwise(symbols):
            self._lie_on(upper, lower)
        for _, place, label in _list_starts(
            self.domain
        ):  # a label is read from a node of its own, to which no step leads
            self.starts.append(self._visit(place, begin.state, symbols[0], label))
        while self._todo:
            if len(self._number) > MOST_NODES or monotonic() > self.until:
                return False
            self._expand(*self._todo.popleft())
        return True

    def _visit(self, place: int, state: str, top: str | None, label: int = -1) -> int:
        key = place, state if label < 0 else f"{state} {label}", top
        if key not in self._number:
            self._number[key] = len(self._number)
            self._todo.append((place, state, top, label))
        return self._number[key]

    def _expand(self, place: int, state: str, top: str | None, first: int) -> None:
        node = self._number[place, state if first < 0 else f"{state} {first}", top]
        arrays, machine = self.domain.arrays, self.machine
        if (rule := machine.rule(state, None, top)) is not None:
            self._move(node, place, rule.target, top, rule.replacement(top), rule.reward)
            return
        if first >= 0:
            steps = [(place, first, 0.0)]
        elif arrays.terminal[place]:
            return
        else:
            used = arrays.probability[place] > 0
            columns = (
                array[place][used].tolist() for array in (arrays.next, arrays.label, arrays.reward)
            )
            steps = list(zip(*columns, strict=True))
        for after, label, own in steps:
            found = machine.rule(state, self.domain.labels[label], top)
            if found is not None:
                self._move(
                    node, after, found.target, top, found.replacement(top), own + found.reward
                )
            elif machine.otherwise.action != "error":
                target, keep = machine.otherwise.target or state, () if top is None else (top,)
                self._move(node, after, target, top, keep, own + machine.otherwise.reward)

    def _move(
        self,
        node: int,
        place: int,
        state: str,
        top: str | None,
        pushed: tuple[str, ...],
        paid: float,
    ) -> None:
        if state in self.machine.final:
            self.ends.add(state)
            self._join(node, ENDED, paid)
        elif not pushed and top is not None:
            self._popping.setdefault(top, set()).add((place, state, paid, node))
            for below in tuple(self._below.get(top, ())):
                self._join(node, self._visit(place, state, below), paid)
        else:
            symbols: tuple[str | None, ...] = (*pushed, *((BOTTOM,) if top is None else ()))
            for upper, lower in pairwise(symbols):
                self._lie_on(upper, lower)
            if top is not None and symbols[-1] != top:
                for lower in tuple(self._below.get(top, ())):
                    self._lie_on(symbols[-1], lower)
                self._follow.setdefault(top, set()).add(symbols[-1])
            self._join(node, self._visit(place, state, symbols[0]), paid)

    def _lie_on(self, upper: str | None, lower: str | None) -> None:
        """One symbol may lie on another from now on: what was popped off it comes to the other."""
        todo = [(upper, lower)]
        while todo:
            one, other = todo.pop()
            below = self._below.setdefault(one, set())
            if other in below or one is BOTTOM:
                continue
            below.add(other)
            for place, state, paid, node in tuple(self._popping.get(one, ())):
                self._join(node, self._visit(place, state, other), paid)
            todo += [(follower, other) for follower in self._follow.get(one, ())]

    def _join(self, node: int, other: int, paid: float) -> None:
        key = node, other
        self._edges[key] = max(paid, self._edges.get(key, -inf))

    def best_ending(self, until: float) -> float | None:
        """The most that a way to an end of the task pays; None: it is not known."""
        if not self._edges:
            return None
        source = np.array([one for one, _ in self._edges])
        target = np.array([other for _, other in self._edges])
        paid = np.array(list(self._edges.values()))
        order = np.argsort(source, kind="stable")
        source, target, paid = source[order], target[order], paid[order]
        firsts = np.flatnonzero(np.append(True, source[1:] != source[:-1]))
        value = np.full(len(self._number) + 1, -inf)
        ends = np.where(target == ENDED, paid, -inf)
        ahead = np.where(target >= 0, target, len(self._number))
        for sweep in range(MOST_SWEEPS):
            new = np.maximum.reduceat(np.maximum(ends, paid + value[ahead]), firsts)
            if not (new > value[source[firsts]] + ROUNDING).any():
                first = self.machine.begin().reward
                return max((first + float(value[x]) for x in self.starts), default=None)
            value[source[firsts]] = np.maximum(new, value[source[firsts]])
            if sweep % 16 == 0 and monotonic() > until:
                return None
        return None
