"""The checker of certificates: whether one proves its yes, with the readable machine, in fractions, and nothing of the solver.

A bound that one step of the Bellman equation does not move outwards is a bound: T(upper) <= upper gives V* <= upper, and
the same below. Actions whose upper value lies below another's lower value are out of play; the others tie where they have
the same exact value, or offer the same chances of the same rewards and of states in blocks of equal value. In three parts: every
end that a step can have when only the top of the stack is known (`find_ends`), the problem stepped with the readable machine
(`Problem`), and the check itself (`check_certificate`; `verify` finds the task for it). Certificates for every stack are checked by `stack_checker`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import NamedTuple

from pdrm.analysis.sufficient_k.certificate import (
    AGAIN,
    DAMAGED,
    Certificate,
    StackCertificate,
    demand,
    load_certificate,
    read_exactly,
    read_fraction,
    read_guess,
)
from pdrm.analysis.sufficient_k.stack_checker import StackCheck
from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain
from pdrm.domains.paper_domains import names
from pdrm.errors import BadCertificate, PdrmError, UnknownDomain, WrongKind
from pdrm.files import MALFORMED
from pdrm.language.loading import catalogue_names
from pdrm.machines.configurations import Configuration
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Stack
from pdrm.task import DomainLike, MachineLike, Task

MOST = 10_000
"""Situations of one step that are followed."""

Read = Callable[[float], Fraction]
"""The exact number that a reward of the machine stands for."""
_Seen = tuple[str, Stack, bool, Fraction]
"""A state, the symbols known of its stack, whether these are all, and what was paid."""
End = tuple[Fraction, Configuration]
"""What a step pays, and the machine's state with the top of its stack alone."""


def find_ends(
    machine: PushdownRewardMachine, here: Configuration, label: Label, read: Read = Fraction
) -> set[End] | None:
    """What reading a label pays and leads to, over all stacks with that top symbol; None where there is no move.

    >>> from pdrm.language.loading import catalogue
    >>> echo = catalogue("echo")
    >>> found = find_ends(echo, Configuration("speak", ("a",)), frozenset({"say_a"}))
    >>> sorted((int(paid), str(end)) for paid, end in found)
    [(0, 'speak, (empty)'), (0, 'speak, a'), (0, 'speak, b'), (1, 'done, #')]
    """
    rule, otherwise, ends = (
        machine.rule(here.state, label, here.top),
        machine.otherwise,
        here.top is None,
    )
    if rule is not None:
        todo: list[_Seen] = [(rule.target, rule.replacement(here.top), ends, read(rule.reward))]
    elif otherwise.action == "error":
        return None
    else:
        todo = [(otherwise.target or here.state, here.stack, ends, read(otherwise.reward))]
    found, seen = set[End](), set(todo)
    after: list[_Seen]
    for state, symbols, all_known, paid in todo:
        if (
            not symbols and not all_known
        ):  # what lies below is seen only now: any symbol, or the end of the stack
            after = [(state, (symbol,), False, paid) for symbol in machine.stack] + [
                (state, (), True, paid)
            ]
        else:
            top = symbols[0] if symbols else None
            silent = machine.rule(state, None, top)
            if silent is None:
                found.add((paid, Configuration(state, symbols[:1])))
                continue
            after = [
                (
                    silent.target,
                    silent.replacement(top) + symbols[1:],
                    all_known,
                    paid + read(silent.reward),
                )
            ]
        todo.extend(one for one in after if one not in seen)
        seen.update(after)
        if len(seen) > MOST:
            raise BadCertificate(
                "one step of the machine can take too many silent moves", fix="bound the stack"
            )
    return found


OVER = -1
"""The state after the end of an episode."""


class Step(NamedTuple):
    """One outcome of an action."""

    chance: Fraction
    paid: Fraction
    after: int


Ends = list[list[tuple[Fraction, Fraction, tuple[int, int, int] | None]]]
"""An action's outcomes, each with all ends it can have: chance, pay, and (environment state, machine state, top) or None."""


class Problem:
    """Product states of a certificate by their numbers, and their steps.

    Every step is made afresh; one that leads to a state the certificate does not list is a fault.
    """

    def __init__(
        self, domain: FiniteDomain, machine: PushdownRewardMachine, proof: Certificate
    ) -> None:
        self.domain, self.machine, self.proof = domain, machine, proof
        self.guesses = {
            number: read_guess(number, guess) for number, guess in proof.guesses.items()
        }
        demand(isinstance(proof.discount, int | float), "the discount is not a number")
        self.discount = self.read(proof.discount)
        demand(0 <= self.discount < 1, "the discount is out of range")
        self.states = (*machine.states, *machine.final)
        self.symbol = {name: number for number, name in enumerate(machine.stack, start=1)}
        stacks: list[Stack] = [()]
        for below, top in proof.stacks[1:]:
            demand(
                0 <= below < len(stacks) and 1 <= top <= len(machine.stack),
                "a stack is out of order",
            )
            stacks.append((machine.stack[top - 1], *stacks[below]))
        self.listed = [(s, self.states[u], stacks[node]) for s, u, node in proof.states]
        self.number = {state: x for x, state in enumerate(self.listed)}
        demand(len(self.number) == len(self.listed), "a state is listed twice")

    def read(self, number: float) -> Fraction:
        """The exact number that a float stands for: what was written, what the certificate takes it for, or its decimal."""
        return read_exactly(number, self.guesses)

    @cached_property
    def starts(self) -> set[int]:
        """The numbers of the states that episodes start in."""
        arrays, found = self.domain.arrays, set()
        columns = arrays.start_state, arrays.start_probability, arrays.start_label
        for s, chance, label in zip(*(column.tolist() for column in columns), strict=True):
            here = self.machine.begin().after
            if label != NO_LABEL and here.state not in self.machine.final:
                here = self.machine.step(here, self.domain.labels[label]).after
            if chance > 0:
                found.add(self._place(s, here, OVER))
        return found - {OVER}

    def steps(self, x: int) -> list[list[Step]]:
        """The outcomes of each action of a state."""
        s, state, stack = self.listed[x]
        found = []
        for action in range(len(self.domain.actions)):
            outcomes = []
            for chance, label, own, s2 in self._move_environment(s, action):
                step = self.machine.step(Configuration(state, stack), self.domain.labels[label])
                paid = own + sum((self.read(move.reward) for move in step.moves), Fraction(0))
                outcomes.append(Step(chance, paid, self._place(s2, step.after, x)))
            found.append(outcomes)
        return found

    def _move_environment(
        self, s: int, action: int
    ) -> Iterator[tuple[Fraction, int, Fraction, int]]:
        """The outcomes of an action in the environment: chance, label, reward and the state after it."""
        outcomes = zip(*self._columns(s, action), strict=True)
        return ((p, label, self.read(own), s2) for p, label, own, s2 in outcomes if p)

    def _columns(
        self, s: int, action: int
    ) -> tuple[list[Fraction], list[int], list[float], list[int]]:
        """Chances, which are made to sum to 1 where they do not, labels, rewards and states of an action's outcomes."""
        arrays = self.domain.arrays
        label, own, after = (
            column[s, action].tolist() for column in (arrays.label, arrays.reward, arrays.next)
        )
        floats = arrays.probability[s, action].tolist()
        chances = [self.read(p) for p in floats]
        if sum(chances) != 1:
            decimals = [Fraction(repr(p)) for p in floats]
            chances = [p / sum(decimals) for p in decimals]
        return chances, label, own, after

    def _place(self, s: int, here: Configuration, before: int) -> int:
        """The number of a state; what the rule at the bound says for one with a higher stack."""
        if here.state in self.machine.final or self.domain.arrays.terminal[s]:
            return OVER
        if self.proof.height is not None and len(here.stack) > self.proof.height and before != OVER:
            if self.proof.rule == "block":
                return before
            if self.proof.rule == "fail":
                return OVER
        state = s, here.state, here.stack
        demand(state in self.number, f"the state {state} is missing")
        return self.number[state]

    def steps_by_top(self, s: int, u: int, top: int) -> list[Ends]:
        """[action][outcome]: every end it can have, over all stacks below the top symbol: where the rule at the bound
        says so, also to stay, or for the episode to be over. Nothing where the environment is over, or where a label has
        no move (such a state is an error, wherever it is reached)."""
        found: list[Ends] = []
        instead: dict[str, list[tuple[int, int, int] | None]] = {
            "open": [],
            "block": [(s, u, top)],
            "fail": [None],
        }
        if self.domain.arrays.terminal[s]:
            return []
        for action in range(len(self.domain.actions)):
            outcomes: Ends = []
            for chance, label, own, s2 in self._move_environment(s, action):
                ends = self._find_ends(u, top, label)
                if ends is None:
                    return []
                pays = [(paid + own, self._abstract(s2, after)) for paid, after in ends]
                outcomes.append(
                    [
                        (chance, paid, at)
                        for paid, to in pays
                        for at in (to, *instead[self.proof.rule])
                    ]
                )
            found.append(outcomes)
        return found

    def _abstract(self, s: int, here: Configuration) -> tuple[int, int, int] | None:
        if here.state in self.machine.final or self.domain.arrays.terminal[s]:
            return None
        return s, self.states.index(here.state), self.symbol[here.stack[0]] if here.stack else 0

    @cache
    def _find_ends(self, u: int, top: int, label: int) -> set[End] | None:
        """What reading a label pays and leads to, over all stacks with that top."""
        stack = (self.machine.stack[top - 1],) if top else ()
        return find_ends(
            self.machine, Configuration(self.states[u], stack), self.domain.labels[label], self.read
        )


Class = tuple[int, int, tuple[int, ...]]
Outermost = Callable[[Iterable[Fraction]], Fraction]


def find_fault(
    domain: FiniteDomain, machine: PushdownRewardMachine, proof: Certificate | StackCertificate
) -> str | None:
    """What is wrong with a certificate; None where it proves what it says."""
    try:
        check_certificate(domain, machine, proof)
    except PdrmError as error:
        return error.message
    return None


def check_certificate(
    domain: FiniteDomain, machine: PushdownRewardMachine, proof: Certificate | StackCertificate
) -> None:
    """Raise `BadCertificate` unless a certificate proves what it says of this domain and machine. Nothing of the solver that
    made it is used: every step is taken anew with the readable machine, and counted in fractions."""
    try:
        demand(
            (proof.domain, proof.machine) == (domain.name, machine.name), "it is about another task"
        )
        if isinstance(proof, StackCertificate):
            StackCheck(domain, machine, proof).run()
            return
        demand(proof.rule in ("open", "block", "fail"), "there is no such rule at the bound")
        demand(
            proof.k >= 0 and (proof.depth is None or proof.depth >= 0), "k or the depth is below 0"
        )
        demand(
            proof.question != "start" or proof.depth is None,
            "a policy from the start is followed to its end: there is no depth",
        )
        _Check(Problem(domain, machine, proof)).run()
    except MALFORMED as error:
        raise BadCertificate(f"it {DAMAGED}", fix=AGAIN) from error


def verify(
    certificate: Certificate | StackCertificate | str | os.PathLike[str],
    task: DomainLike | Task | None = None,
    machine: MachineLike | None = None,
) -> str:
    """Check a certificate anew, without the solver that made it; returns what it proves, in words, or raises `BadCertificate`.

    certificate: the file that `pdrm check-k --certificate` wrote, or `pdrm.check_k(…).certificate(k, "everywhere")`. task, machine:
    as for `Task`; None: the files that the certificate names, or the domain of the catalogue.

    >>> from dataclasses import replace
    >>> from pdrm.analysis.sufficient_k.check_k import check_k
    >>> proof = check_k("paint", k=[5]).certificate(5, "everywhere")
    >>> verify(proof)
    'some 5-policy is optimal from every state'
    >>> find_fault(Task("paint").finite, Task("paint").pushdown, replace(proof, k=4))
    'no action is chosen for (0, 1, (2, 2, 2, 2))'
    """
    if isinstance(certificate, str | os.PathLike):
        path = Path(certificate)
        proof, called = load_certificate(path), str(path)
    elif isinstance(certificate, Certificate | StackCertificate):
        proof, called, path = certificate, "the certificate", None
    else:
        fix = 'give report.certificate(k, "everywhere"), or the file that `pdrm check-k --certificate` wrote'  # type: ignore[unreachable]
        raise WrongKind(f"{type(certificate).__name__} is not a certificate", fix=fix)
    if task is None:
        task, machine = find_files(proof, path, machine=machine)
    where = task if isinstance(task, Task) and machine is None else Task(task, machine)
    try:
        check_certificate(where.finite, where.pushdown, proof)
    except BadCertificate as error:
        raise BadCertificate(f"{called} proves nothing: {error.message}", fix=error.fix) from error
    return proof.describe()


def find_files(
    proof: Certificate | StackCertificate,
    path: Path | None,
    domain: str | None = None,
    machine: MachineLike | None = None,
) -> tuple[str, MachineLike | None]:
    """The domain and the machine that a certificate is about: those given, else the files that it says are beside it, else by name. `path`: of the
    certificate; None: it is not in a file."""
    if path is None and domain is None and proof.domain not in names() and not proof.files:
        fault = f"the certificate is about `{proof.domain}`, a domain of your own"
        raise UnknownDomain(fault, fix="give the task, too: pdrm.verify(proof, task)")
    path = path or Path("proof.json")
    given = proof.files if isinstance(proof.files, dict) else {}
    hints, found = (
        {name: one for name, one in given.items() if isinstance(one, str)},
        dict[str, str](),
    )
    for name in ("domain", "machine"):
        hint = hints.get(name)
        if hint is not None and (file := path.parent / hint).is_file():
            found[name] = os.path.relpath(file)
        elif name == "machine" and hint in catalogue_names():
            found[name] = str(hint)
    chosen = domain or found.get("domain", proof.domain)
    if chosen == proof.domain and chosen not in names():
        map_, task = (
            Path(hints.get(name, other)).name
            for name, other in (("domain", "map.txt"), ("machine", "task.pdrm"))
        )
        missing = f", and there is no {path.parent / hints['domain']}" if "domain" in hints else ""
        fix = (
            f"say where its files are: pdrm verify {path} --domain FOLDER/{map_} --machine FOLDER/{task} "
            f'(in Python pdrm.verify("{path}", "FOLDER/{map_}", "FOLDER/{task}"))'
        )
        raise UnknownDomain(f"it is about `{proof.domain}`, a domain of your own{missing}", fix=fix)
    return chosen, found.get("machine") if machine is None else machine


class _Check:
    """The parts of a proof, checked one after the other."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.proof = problem, (proof := problem.proof)
        self.expanded = [bool(flag) for flag in proof.looked]
        self.steps = {x: problem.steps(x) for x in range(len(problem.listed)) if self.expanded[x]}
        self.exact = {int(x): read_fraction(value) for x, value in proof.exact.items()}
        self.lower, self.upper = (
            [Fraction(float(value)) for value in bounds] for bounds in (proof.lower, proof.upper)
        )
        for x, value in self.exact.items():  # a value is its own bound, and no float comes as near
            demand(self.lower[x] <= value, f"the lower bound of state {x} does not hold")
            demand(self.upper[x] >= value, f"the upper bound of state {x} does not hold")
            self.lower[x] = self.upper[x] = value
        self.in_play: dict[int, list[int]] = {}
        self.low: dict[int, list[Fraction]] = {}
        """[state][action]: its value by the lower bounds; where what comes after is exact, its value."""

    def run(self) -> None:
        """All parts of the proof, each resting on those before."""
        if not all(self.expanded):
            self._check_bounds_by_top()
        self._check_bounds()
        self._check_exact_values()
        self._check_blocks()
        self._check_question()

    def _evaluate(self, outcomes: list[Step], value: list[Fraction]) -> Fraction:
        gamma, total = self.problem.discount, Fraction(0)
        for p, paid, y in outcomes:
            total += p * (paid + (gamma * value[y] if gamma and y != OVER else 0))
        return total

    def _check_bounds_by_top(self) -> None:
        """The bounds by top symbol do not move outwards, and those of frontier states are no tighter."""
        problem, machine = self.problem, self.problem.machine
        lower, upper = self.proof.glimpse_lower, self.proof.glimpse_upper
        tops = range(len(machine.stack) + 1)
        for s, u, top in product(range(problem.domain.states), range(len(machine.states)), tops):
            actions = problem.steps_by_top(s, u, top)
            if actions:
                high = max(self._evaluate_by_top(outcomes, upper, max) for outcomes in actions)
                low = max(self._evaluate_by_top(outcomes, lower, min) for outcomes in actions)
                demand(high <= upper[s][u][top], f"the upper bound at {(s, u, top)} does not hold")
                demand(low >= lower[s][u][top], f"the lower bound at {(s, u, top)} does not hold")
        for x, expanded in enumerate(self.expanded):
            if not expanded:
                s, state, stack = problem.listed[x]
                u, top = problem.states.index(state), problem.symbol[stack[0]] if stack else 0
                outside = self.upper[x] >= upper[s][u][top] and self.lower[x] <= lower[s][u][top]
                demand(outside, f"state {x} is on the frontier, and its bounds are too tight")

    def _evaluate_by_top(
        self, outcomes: Ends, bounds: list[list[list[float]]], outermost: Outermost
    ) -> Fraction:
        """The value of an action where the stack below the top is the best, or the worst, for each outcome."""
        gamma, total = self.problem.discount, Fraction(0)
        for ends in outcomes:
            total += outermost(
                p * (paid + (gamma * Fraction(float(bounds[at[0]][at[1]][at[2]])) if at else 0))
                for p, paid, at in ends
            )
        return total

    def _check_bounds(self) -> None:
        """Bounds of expanded states do not move outwards; which actions are left in play by them."""
        for x, actions in self.steps.items():
            meet = all(
                step.after == OVER or step.after in self.exact
                for outcomes in actions
                for step in outcomes
            )
            low = [self._evaluate(outcomes, self.lower) for outcomes in actions]
            high = low if meet else [self._evaluate(outcomes, self.upper) for outcomes in actions]
            wrong = f"the exact value of state {x} is wrong" if x in self.exact else ""
            demand(
                max(low) >= self.lower[x], wrong or f"the lower bound of state {x} does not hold"
            )
            demand(
                max(high) <= self.upper[x], wrong or f"the upper bound of state {x} does not hold"
            )
            self.in_play[x], self.low[x] = [a for a, q in enumerate(high) if q >= max(low)], low

    def _check_exact_values(self) -> None:
        """Exact values solve the Bellman equation among themselves, with the actions in play."""
        for x, value in self.exact.items():
            demand(self.expanded[x], f"the exact value of state {x} rests on the frontier")
            for a in (
                self.in_play[x] if self.problem.discount else ()
            ):  # at 0 what comes after does not count
                demand(
                    all(y == OVER or y in self.exact for _, _, y in self.steps[x][a]),
                    f"state {x} leaves the rest",
                )
            best = max(self.low[x][a] for a in self.in_play[x])
            demand(best == value, f"the exact value of state {x} is wrong")

    def _check_blocks(self) -> None:
        """States of one block offer the same with the actions in play."""
        first: dict[int, frozenset[object]] = {}
        for x in self.steps:
            if x not in self.exact and self.proof.block[x] >= 0:
                offers = frozenset(self._offer(x, a) for a in self.in_play[x])
                demand(
                    first.setdefault(self.proof.block[x], offers) == offers,
                    f"state {x} is not like its block",
                )

    def _name(self, y: int) -> object:
        """A name for a state's value: equal names, equal values."""
        if y == OVER:
            return "over"
        if y in self.exact:
            return self.exact[y]
        if not self.expanded[y] or self.proof.block[y] < 0:
            return "frontier", y
        return "block", self.proof.block[y]

    def _offer(self, x: int, a: int) -> object:
        return frozenset(
            Counter((p, paid, self._name(y)) for p, paid, y in self.steps[x][a]).items()
        )

    def _optimal_actions(self, x: int) -> set[int] | None:
        """All optimal actions of a state, or None where the proof does not tell."""
        if not self.expanded[x]:
            return None
        actions = self.in_play[x]
        if x in self.exact:
            return {a for a in actions if self.low[x][a] == self.exact[x]}
        return set(actions) if len({self._offer(x, a) for a in actions}) == 1 else None

    def _class(self, x: int) -> Class:
        s, state, stack = self.problem.listed[x]
        seen = tuple(self.problem.symbol[symbol] for symbol in stack[: self.proof.k])
        return s, self.problem.states.index(state), seen

    def _measure_depths(self) -> dict[int, int]:
        """The fewest steps to each state, as far as the proof goes."""
        depth = dict.fromkeys(self.problem.starts, 0)
        for x in (todo := list(depth)):
            if self.expanded[x]:
                for y in dict.fromkeys(
                    step.after for outcomes in self.steps[x] for step in outcomes
                ):
                    if y != OVER and y not in depth:
                        depth[y] = depth[x] + 1
                        todo.append(y)
        return depth

    def _check_question(self) -> None:
        demand(
            self.proof.question in ("same_values", "everywhere", "start"),
            "there is no such question",
        )
        choice = {(s, u, tuple(seen)): a for s, u, seen, a in self.proof.choice}
        demand(len(choice) == len(self.proof.choice), "a class has two actions")
        depths, limit = self._measure_depths(), self.proof.depth
        asked = [x for x, depth in depths.items() if limit is None or depth <= limit]
        groups: dict[Class, list[int]] = {}
        for x in asked:
            groups.setdefault(self._class(x), []).append(x)
        whole = all(self.expanded[x] for x in asked if limit is None or depths[x] < limit)
        if self.proof.question == "start":
            # A state alone in its class has an optimal action, whichever it is; that it is alone takes all states.
            alone = (
                {members[0] for members in groups.values() if len(members) == 1}
                if whole
                else set[int]()
            )
            self._check_policy(choice, alone)
            return
        demand(whole, "there are states to ask about beyond the frontier")
        for name, members in groups.items():
            self._check_class(name, members, choice.get(name))

    def _check_class(self, name: Class, members: list[int], chosen: int | None) -> None:
        """States that look alike have an optimal action in common, the chosen one; or values and all optimal actions."""
        if self.proof.question == "everywhere":
            demand(chosen is not None or len(members) == 1, f"no action is chosen for {name}")
            demand(
                chosen is None or all(self._is_proved(x, chosen) for x in members),
                f"{name} chooses badly",
            )
        elif len(members) > 1:
            sets = {frozenset(self._optimal_actions(x) or ()) for x in members}
            demand(len(sets) == 1 and frozenset() not in sets, f"optimal actions of {name} differ")
            demand(len({self._name(x) for x in members}) == 1, f"values of {name} differ")

    def _is_proved(self, x: int, action: int) -> bool:
        return action in (self._optimal_actions(x) or ())

    def _check_policy(self, choice: dict[Class, int], alone: set[int]) -> None:
        """Wherever the policy leads from the start, it is optimal."""
        seen = dict.fromkeys(self.problem.starts)
        for x in (todo := list(seen)):
            a = choice.get(self._class(x))
            actions = [a] if a is not None and self._is_proved(x, a) else []
            if not actions:
                demand(a is None and x in alone, f"the policy is not proved optimal in state {x}")
                actions = self.in_play.get(x, [])
            if self.problem.discount == 0:
                continue  # what comes after a step does not count
            for step in (step for action in actions for step in self.steps[x][action]):
                if step.after != OVER and step.after not in seen:
                    seen[step.after] = None
                    todo.append(step.after)
