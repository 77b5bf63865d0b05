"""The checker of certificates: what their policy loses at most, in fractions of the floats, with nothing of the solver.

Let W be the upper function, and T W what one step makes of it: γ · max over actions of E[reward + W(next)]. If T W ≤ W + ε wherever
an episode can come, then no configuration is worth more than W + ε / (1 − γ). If the policy's own step is at least W − δ, following it is
worth at least W − δ / (1 − γ). Stacks of any height are covered because both sides are maxima of lines in what the stack below is worth,
which lies in the ranges; that the ranges hold follows from the bottom of the stack upwards.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from pdrm.analysis.certificate import AGAIN, Certificate, demand, load_certificate, need
from pdrm.domains.finite_domain import NO_LABEL
from pdrm.errors import BadCertificate
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import Transition
from pdrm.task import DomainLike, MachineLike, Task

Exit = tuple[int, str]
"""An environment state and a machine state."""
Stack = tuple[str, ...]
State = tuple[int, str, Stack]
Move = tuple[Fraction, str, Stack]
"""Pay, target, and what replaces the top symbol."""
Cell = tuple[str, ...]
"""A symbol of the stack with the symbols below it, as many as the policy sees; END after the last."""
END = ""
"""The head from which the starts are reached."""
BITS = 400
"""Powers of the discount are rounded to this many bits; what that changes is part of every bound."""
NEGLIGIBLE = Fraction(1, 1 << 80)
"""A power of the discount from which on the rest of an episode is counted at its least."""
MOST_SILENT = 10_000
MOST_PLAYED = 100_000
"""Steps of an episode that are followed."""


class Effect(NamedTuple):
    """One outcome of an action at a head: chance, pay, its exit, and the symbols that replace the top one."""

    chance: Fraction
    paid: Fraction
    exit: Exit
    pushed: Stack


class Worth(NamedTuple):
    """The greatest of a constant (None if there is none) and of lines: by exit, the c of each t."""

    constant: Fraction | None
    lines: dict[Exit, dict[int, Fraction]]


def verify(
    certificate: Certificate | str | Path,
    task: Task | DomainLike | None = None,
    machine: MachineLike | None = None,
) -> str:
    """Check a certificate; return what it proves, or raise `BadCertificate`.

    Args:
        certificate: The certificate, or its file.
        task: The task or its domain (default: the one that the certificate names).
        machine: The machine, unless the domain comes with it or the certificate names it.

    Example:
        >>> from pdrm.analysis.k_search import check_k
        >>> proof = check_k("paint", k=[5]).certificate(5, "start")
        >>> verify(proof).startswith("a 5-policy loses at most")
        True
    """
    folder = Path()
    if not isinstance(certificate, Certificate):
        folder = Path(certificate).parent
        certificate = load_certificate(certificate)
    if not isinstance(task, Task) or machine is not None:
        files = {name: _find_file(folder, where) for name, where in certificate.files.items()}
        if task is None and machine is None:
            machine = files.get("machine", certificate.machine)
        task = Task(files.get("domain", certificate.domain) if task is None else task, machine)
    bound = Check(task, certificate).bound()
    said = f"it says that the policy loses at most {certificate.bound:.3g}, and {float(bound):.3g} is proved"
    demand(bound <= Fraction(certificate.bound), said)
    return certificate.claim


def _find_file(folder: Path, where: str) -> str:
    return str(folder / where) if (folder / where).is_file() else where


class Check:
    """One certificate and its task, stepped with the readable machine."""

    def __init__(
        self, task: Task, certificate: Certificate, on_step: Callable[[], None] = lambda: None
    ) -> None:
        """Read a certificate. `on_step` is called again and again; it may raise to end the check."""
        self.on_step = on_step
        self.proof, self.domain, self.machine = certificate, task.finite, task.pushdown
        self.actions = range(len(self.domain.actions))
        demand(self.domain.name == certificate.domain, f"it is about `{certificate.domain}`")
        demand(0 < certificate.discount < 1, "its discount is not between 0 and 1")
        self.discount = Fraction(certificate.discount)
        self.final = set(self.machine.final)
        self._powers = [Fraction(1)]
        self.size = max(1, certificate.k)
        self.heads: dict[tuple[Exit, str], Worth] = {}
        self.whole: dict[State, Fraction] = {}
        self._unfolding: set[tuple[Exit, str]] = set()
        for s, u, seen, whole, constant, lines in certificate.entries:
            known = s < self.domain.states and u in self.machine.states
            demand(known, f"there is no state {s}, {u}")
            value = None if constant is None else Fraction(constant)
            if whole:
                demand(not lines and (s, u, seen) not in self.whole, "a stack has two worths")
                self.whole[s, u, seen] = need(value, "the worth of a whole stack is a number")
            else:
                new = len(seen) == 1 and ((s, u), seen[0]) not in self.heads
                demand(new, "an entry is listed twice")
                found: dict[Exit, dict[int, Fraction]] = {}
                for t, c, s2, u2 in lines:
                    ways = found.setdefault((s2, u2), {})
                    ways[t] = max(Fraction(c), ways.get(t, Fraction(c)))
                demand(value is not None or bool(found), "an entry is empty")
                self.heads[(s, u), seen[0]] = Worth(value, found)
        self.range = {
            (s, u): (Fraction(low), Fraction(high)) for s, u, low, high in certificate.ranges
        }
        self.policy = {(s, u, seen): action for s, u, seen, action in certificate.policy}
        known_actions = set(self.policy.values()) <= set(self.domain.actions)
        demand(known_actions, "its policy has an unknown action")
        numbers = [1.0, *self.domain.arrays.reward.ravel().tolist()]
        numbers += [rule.reward for rule in self.machine.transitions]
        numbers += [one[4] or 0.0 for one in certificate.entries]
        numbers += [c for one in certificate.entries for _, c, _, _ in one[5]]
        numbers += [end for one in certificate.ranges for end in one[2:]]
        self.rounding = Fraction(max(map(abs, numbers))) / (1 << BITS // 2)
        """More than rounding the powers of the discount can change."""

    def power(self, t: int) -> Fraction:
        demand(t < MOST_PLAYED, "a line is too long")
        while len(self._powers) <= t:
            exact = self._powers[-1] * self.discount
            self._powers.append(Fraction(int(exact * (1 << BITS)), 1 << BITS))
        return self._powers[t]

    def bound(self) -> Fraction:
        """An upper bound on the policy's loss."""
        gap = 1 - self.discount
        excess = max(self._check_heads(), self._check_whole())
        if self.proof.question == "start":
            lost = self._start() + (excess + self.rounding) / gap - self._play()
            return max(lost, Fraction(0))
        if self.whole:
            self._demand_closed()
            short = [self._check_stack(x) for x in self.whole]
        else:
            short = [self._check_view(e, cell) for e, cell in self.occurring]
        return (excess + max([Fraction(0), *short]) + self.rounding) / (self.discount * gap)

    # --- Steps

    @cache
    def silent(self, u: str, top: str | None) -> Move | None:
        """The silent move at a head, if there is one."""
        rule = None if u in self.final else self.machine.rule(u, None, top)
        return None if rule is None else _apply(rule, top)

    @cache
    def read(self, u: str, top: str | None, label: int) -> Move:
        """The move at a head that reads a label."""
        rule = self.machine.rule(u, self.domain.labels[label], top)
        if rule is not None:
            return _apply(rule, top)
        otherwise = self.machine.otherwise
        demand(otherwise.action != "error", "the machine has no move for a label that may be read")
        kept = () if top is None else (top,)
        return Fraction(otherwise.reward), otherwise.target or u, kept

    @cache
    def effects(self, s: int, u: str, top: str | None) -> tuple[tuple[Effect, ...], ...]:
        """The outcomes of each action at a head, before silent moves; equal outcomes are one."""
        arrays, found = self.domain.arrays, []
        for action in self.actions:
            chances = [Fraction(p) for p in arrays.probability[s, action].tolist()]
            outcomes: dict[tuple[Fraction, Exit, Stack], Fraction] = {}
            for o, chance in enumerate(chances):
                if chance > 0:
                    paid, after, pushed = self.read(u, top, int(arrays.label[s, action, o]))
                    paid += Fraction(float(arrays.reward[s, action, o]))
                    key = paid, (int(arrays.next[s, action, o]), after), pushed
                    outcomes[key] = outcomes.get(key, Fraction(0)) + chance / sum(chances)
            found.append(tuple(sorted(Effect(p, *key) for key, p in outcomes.items())))
        return tuple(found)

    def rest(self, u: str, stack: Stack) -> tuple[Fraction, str, Stack]:
        """A configuration after its silent moves, and what they pay."""
        paid = Fraction(0)
        for _ in range(MOST_SILENT):
            move = self.silent(u, stack[0] if stack else None)
            if move is None:
                return paid, u, stack
            paid, u, stack = paid + move[0], move[1], move[2] + stack[1:]
        raise BadCertificate("a step takes too many silent moves", fix=AGAIN)

    def begins(self) -> Iterator[tuple[Fraction, Fraction, State]]:
        """The chance of each start, what is paid before the first action, and the first configuration."""
        arrays = self.domain.arrays
        chances = [Fraction(p) for p in arrays.start_probability.tolist()]
        for k, chance in enumerate(chances):
            if chance > 0:
                paid, u, stack = self.rest(self.machine.start, (self.machine.stack[0],))
                label = int(arrays.start_label[k])
                if label != NO_LABEL and u not in self.final:
                    first, u, pushed = self.read(u, stack[0] if stack else None, label)
                    more, u, stack = self.rest(u, pushed + stack[1:])
                    paid += first + more
                yield chance / sum(chances), paid, (int(arrays.start_state[k]), u, stack)

    def over(self, s: int, u: str) -> bool:
        """True if the episode is over once the machine rests."""
        return u in self.final or bool(self.domain.arrays.terminal[s])

    def steps(self, x: State, action: int) -> Iterator[tuple[Fraction, Fraction, State]]:
        """Chance, pay and the configuration after each outcome of an action, silent moves included."""
        s, u, stack = x
        for effect in self.effects(s, u, stack[0] if stack else None)[action]:
            more, after, below = self.rest(effect.exit[1], effect.pushed + stack[1:])
            yield effect.chance, effect.paid + more, (effect.exit[0], after, below)

    # --- Which heads occur

    @cached_property
    def occurring(self) -> frozenset[tuple[Exit, Cell]]:
        """Every head that occurs: an environment and machine state, and the top symbol with what is known below it."""

        def pile(symbols: Stack, below: Cell) -> tuple[Cell, ...]:
            return tuple((symbols[i:] + below)[: self.size] for i in range(len(symbols)))

        def moves(head: tuple[Exit, Cell]) -> list[tuple[Exit, tuple[Cell, ...]]]:
            self.on_step()
            (s, u), cell = head
            top, below = cell[0] or None, cell[1:]
            if u in self.final:
                return []
            silent = self.silent(u, top)
            if silent is not None:
                found = [((s, silent[1]), silent[2])]
            elif self.over(s, u):
                found = []
            else:
                found = [(e.exit, e.pushed) for row in self.effects(s, u, top) for e in row]
            if top is None:  # the end of the stack stays
                return [(e, (*pile(pushed, (END,)), cell)) for e, pushed in found]
            return [(e, pile(pushed, below)) for e, pushed in found]

        starts = self.begins()
        begin = [((s, u), (*pile(stack, (END,)), (END,))) for _, _, (s, u, stack) in starts]
        return frozenset(saturate(moves, begin))

    # --- The upper function

    def worth_at(self, e: Exit, symbol: str) -> Worth | None:
        """The worth of a symbol on top, as a function of what is below; None if nothing is listed."""
        s, u = e
        if u in self.final:
            return Worth(Fraction(0), {})
        silent = self.silent(u, symbol or None)
        if silent is not None:
            demand((e, symbol) not in self._unfolding, "silent moves return to a head")
            self._unfolding.add((e, symbol))
            found = self.compose((s, silent[1]), silent[2] + ((END,) if not symbol else ()))
            self._unfolding.remove((e, symbol))
            return None if found is None else _shift(found, silent[0])
        if self.over(s, u):
            return Worth(Fraction(0), {})
        return self.heads.get((e, symbol))

    @cache
    def compose(self, e: Exit, symbols: Stack) -> Worth | None:
        """The worth of several symbols on top of each other; None if something in it is not listed."""
        self.on_step()
        constant: Fraction | None = None
        lines: dict[Exit, dict[int, Fraction]] = {e: {0: Fraction(0)}}
        for symbol in symbols:
            found: dict[Exit, dict[int, Fraction]] = {}
            for exit_, ways in lines.items():
                worth = self.worth_at(exit_, symbol)
                if worth is None:
                    return None
                for t, c in ways.items():
                    if worth.constant is not None:
                        end = c + self.power(t) * worth.constant
                        constant = end if constant is None else max(constant, end)
                    for after, further in worth.lines.items():
                        into = found.setdefault(after, {})
                        for more, gain in further.items():
                            total = c + self.power(t) * gain
                            into[t + more] = max(total, into.get(t + more, total))
            lines = found
        for over in [at for at in lines if at[1] in self.final]:  # nothing is paid any more
            ends = [*lines.pop(over).values(), *([] if constant is None else [constant])]
            constant = max(ends)
        return Worth(constant, lines)

    def value_of(self, x: State) -> Fraction | None:
        """The upper function at one configuration that rests; None if nothing is listed."""
        s, u, stack = x
        if self.over(s, u):
            return Fraction(0)
        composed = self.compose((s, u), (*stack, END)) if self.heads else None
        known = [self.whole[x]] if x in self.whole else []
        if composed is not None and composed.constant is not None:
            known.append(composed.constant)
        if self.bounded:
            known.append(self.most)
        return min(known, default=None)

    @cached_property
    def tops(self) -> dict[Exit, set[str]]:
        """The symbols that occur on top in each state."""
        found: dict[Exit, set[str]] = {}
        for e, cell in self.occurring:
            found.setdefault(e, set()).add(cell[0])
        return found

    def _check_heads(self) -> Fraction:
        """The most by which one step exceeds the upper function, with any stack below the top symbol."""
        excess = Fraction(0)
        if self.heads:
            self._check_ranges()
        for (e, symbol), worth in self.heads.items():
            demand(symbol == END or symbol in self.machine.stack, f"there is no symbol `{symbol}`")
            demand(symbol != END or not worth.lines, "nothing lies below the end of the stack")
            if self.over(*e) or self.silent(e[1], symbol or None) is not None:
                continue
            below = (END,) if symbol == END else ()
            for effects in self.effects(*e, symbol or None):
                after = self.follow(effects[0], below)
                for exit_ in {at for effect in effects for at in self.follow(effect, below).lines}:
                    for revealed in self.tops.get(exit_, ()):
                        self.demand_worth(exit_, revealed)
                if len(effects) > 1:
                    most = (
                        effect.chance * self.extremes(self.follow(effect, below))[1]
                        for effect in effects
                    )
                    after = Worth(sum(most, Fraction(0)), {})
                excess = max(excess, self.exceed(after, worth))
        return excess + self.rounding

    def demand_worth(self, e: Exit, symbol: str) -> Worth:
        """The worth of a symbol on top; it must be listed."""
        return need(self.worth_at(e, symbol), f"state {e[0]}, {e[1]}, `{symbol}` is not listed")

    def _check_whole(self) -> Fraction:
        """The most by which one step exceeds the upper function, at the stacks that are listed."""
        excess = Fraction(0)
        for x in self.whole:
            if not self.over(x[0], x[1]):
                best = max(self._step_value(x, action) for action in self.actions)
                excess = max(excess, self.discount * best - self.demand_value(x))
        return excess

    def demand_value(self, x: State) -> Fraction:
        """The upper function at one configuration that rests; it must be known."""
        return need(self.value_of(x), "silent moves are paid, and a configuration is not listed")

    def _demand_closed(self) -> None:
        """Demand that an episode never leaves the stacks that are listed."""
        todo = [x for _, _, x in self.begins()]
        for x in self.whole:
            for action in self.actions:
                todo += [] if self.over(x[0], x[1]) else [y for _, _, y in self.steps(x, action)]
        for x in todo:
            demand(self.over(x[0], x[1]) or x in self.whole, "a stack that may occur is not listed")

    def follow(self, effect: Effect, below: Stack) -> Worth:
        """The upper function after an outcome, discounted; `below`: symbols under the pushed ones."""
        found = self.compose(effect.exit, effect.pushed + below)
        found = _shift(need(found, "what follows a listed head is not listed"), effect.paid)
        constant = None if found.constant is None else self.discount * found.constant
        lines = {
            e: {t + 1: self.discount * c for t, c in ways.items()}
            for e, ways in found.lines.items()
        }
        return Worth(constant, lines)

    def _check_ranges(self) -> None:
        """Demand that worths stay in the ranges, if what is below does."""
        for e, (low, high) in self.range.items():
            demand(low <= high, "a range is empty")
            for symbol in self.tops.get(e, ()):
                least, most = self.extremes(self.demand_worth(e, symbol))
                holds = low <= least and most <= high
                demand(holds, f"the range at state {e[0]}, {e[1]} does not hold")

    def extremes(self, worth: Worth) -> tuple[Fraction, Fraction]:
        """The least and the greatest worth over the ranges."""
        ends = []
        for end in (0, 1):
            found = [] if worth.constant is None else [worth.constant]
            for e, ways in worth.lines.items():
                demand(e in self.range, f"there is no range for state {e[0]}, {e[1]}")
                found += [c + self.power(t) * self.range[e][end] for t, c in ways.items()]
            ends.append(max(found))
        return ends[0] - self.rounding, ends[1] + self.rounding

    def exceed(self, one: Worth, other: Worth) -> Fraction:
        """The most by which one worth is above another, over the ranges.

        For one line every exit but its own is best at its least; along its own the difference is concave, and greatest at an end of the range
        or where the other's highest line changes.
        """
        self.on_step()
        floor = self.extremes(other)[0]
        found = Fraction(-(10**30)) if one.constant is None else one.constant - floor
        for e, ways in one.lines.items():
            demand(e in self.range, f"there is no range for state {e[0]}, {e[1]}")
            low, high = self.range[e]
            rest = Worth(other.constant, {at: own for at, own in other.lines.items() if at != e})
            lines = [(self.power(t), c) for t, c in other.lines.get(e, {}).items()]
            if rest.constant is not None or rest.lines:
                lines.append((Fraction(0), self.extremes(rest)[0]))
            highest, corners = _find_envelope(lines, low, high)
            slopes = [slope for slope, _ in highest]
            for t, c in ways.items():
                at = bisect_left(slopes, self.power(t))
                slope, height = highest[min(at, len(highest) - 1)]
                v = corners[at]
                found = max(found, c + self.power(t) * v - height - slope * v)
        return found + 2 * self.rounding

    # --- The policy

    def choose(self, s: int, u: str, seen: Stack) -> int:
        """The policy's action."""
        action = self.policy.get((s, u, seen[: self.proof.k]))
        where = f"state {s}, {u}, seeing {' '.join(seen)}"
        return self.domain.actions.index(need(action, f"the policy has no action at {where}"))

    def _check_view(self, e: Exit, cell: Cell) -> Fraction:
        """The gap of the policy's step below the upper function at a view, with any stack below it."""
        top = cell[0] or None
        if self.over(*e) or self.silent(e[1], top) is not None:
            return Fraction(0)
        rows = self.effects(*e, top)
        if len(set(rows)) == 1:  # all actions do the same
            return Fraction(0)
        action = self.choose(*e, tuple(symbol for symbol in cell if symbol))
        return self.measure_gap(e, cell, action)

    def measure_gap(self, e: Exit, cell: Cell, action: int) -> Fraction:
        """The most by which an action is below the upper function at a view."""
        here = need(self.compose(e, cell), "a view that may occur is not listed")
        effects = self.effects(*e, cell[0] or None)[action]
        demand(len(effects) == 1, "a view that may occur has chance")
        return self.exceed(here, self.follow(effects[0], cell[1:] if cell[0] else cell))

    def _check_stack(self, x: State) -> Fraction:
        """The same at a stack that is listed."""
        if self.over(x[0], x[1]):
            return Fraction(0)
        return self.demand_value(x) - self.discount * self._step_value(x, self.choose(*x))

    def _start(self) -> Fraction:
        """The value of an episode by the upper function."""
        total = Fraction(0)
        for chance, paid, x in self.begins():
            going = not self.over(x[0], x[1])
            best = max(self._step_value(x, action) for action in self.actions) if going else 0
            total += chance * (paid + best)
        return total

    def _step_value(self, x: State, action: int) -> Fraction:
        """The reward of an action plus the upper function after it."""
        steps = self.steps(x, action)
        return sum((p * (paid + self.demand_value(y)) for p, paid, y in steps), Fraction(0))

    def _play(self) -> Fraction:
        """A lower bound on the policy's return from the start."""
        if self.proof.lower:
            return self._evaluate()
        total = Fraction(0)
        for chance, paid, x in self.begins():
            total += chance * (paid + self._follow(x))
        return total

    def _follow(self, x: State) -> Fraction:
        """A lower bound on the policy's return from a configuration, without chance: until it returns, ends, or hardly counts."""
        seen: dict[State, tuple[int, Fraction]] = {}
        earned, size = Fraction(0), Fraction(1)
        while not self.over(x[0], x[1]):
            t = len(seen)
            if x in seen:
                begun, before = seen[x]
                earned = before + (earned - before) / (1 - self.power(t) / self.power(begun))
                break
            if self.bounded and self.power(t) < NEGLIGIBLE:
                earned += self.power(t) * self.span[0]
                break
            demand(self.power(t) > 0, "an episode does not end")
            seen[x] = t, earned
            steps = list(self.steps(x, self.choose(*x)))
            demand(len(steps) == 1, "a move has chance, and no lower bounds are listed")
            _, paid, x = steps[0]
            earned += self.power(t) * paid
            size += abs(paid)
        return earned - size / (1 << BITS // 4)

    def _evaluate(self) -> Fraction:
        """A lower bound on the policy's return, by its lower bounds on values."""
        lower = {(s, u, stack): Fraction(worth) for s, u, stack, worth in self.proof.lower}

        def step(x: State) -> Fraction:
            """A lower bound on the value of the policy's step."""
            total = Fraction(0)
            for chance, paid, y in self.steps(x, self.choose(*x)):
                later = Fraction(0)
                if not self.over(y[0], y[1]):
                    later = lower[y] if y in lower else self.discount * self.span[0]
                total += chance * (paid + later)
            return total

        short = max(worth - self.discount * step(x) for x, worth in lower.items())
        total = Fraction(0)
        for chance, paid, x in self.begins():
            total += chance * (paid + (0 if self.over(x[0], x[1]) else step(x)))
        return total - max(short, Fraction(0)) / (1 - self.discount)

    # --- Bounds of every policy, for what is not listed

    @property
    def bounded(self) -> bool:
        """True if no silent move pays, so that every step pays between two numbers."""
        return not any(rule.silent and rule.reward for rule in self.machine.transitions)

    @cached_property
    def span(self) -> tuple[Fraction, Fraction]:
        """Between which numbers every policy's value is."""
        demand(self.bounded, "silent moves are paid, and a configuration is not listed")
        own = [Fraction(r) for r in set(self.domain.arrays.reward.ravel().tolist())]
        rules = [rule.reward for rule in self.machine.transitions if not rule.silent]
        if self.machine.otherwise.action != "error":
            rules.append(self.machine.otherwise.reward)
        low = min(own) + Fraction(min(rules))
        high = max(own) + Fraction(max(rules))
        gap = 1 - self.discount
        return min(low, low / gap), max(high, high / gap)

    @property
    def most(self) -> Fraction:
        """Every worth is at most this."""
        return max(self.span[1], Fraction(0))


def _find_envelope(
    lines: list[tuple[Fraction, Fraction]], low: Fraction, high: Fraction
) -> tuple[list[tuple[Fraction, Fraction]], list[Fraction]]:
    """The lines that are the highest somewhere between two ends, from flat to steep, and where each begins and the last ends."""
    highest, corners = list[tuple[Fraction, Fraction]](), [low]
    for slope, c in sorted(lines):
        while highest:
            flat, height = highest[-1]
            crossing = low if slope == flat else (height - c) / (slope - flat)
            if crossing > corners[-1]:
                break
            highest.pop()
            if highest:
                corners.pop()
        if not highest:
            highest.append((slope, c))
        elif crossing < high:
            highest.append((slope, c))
            corners.append(crossing)
    return highest, [*corners, high]


def _apply(rule: Transition, top: str | None) -> Move:
    return Fraction(rule.reward), rule.target, tuple(rule.replacement(top))


def _shift(worth: Worth, paid: Fraction) -> Worth:
    """A worth after something was paid."""
    constant = None if worth.constant is None else worth.constant + paid
    return Worth(
        constant, {e: {t: c + paid for t, c in ways.items()} for e, ways in worth.lines.items()}
    )
