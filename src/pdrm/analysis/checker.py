"""The checker of certificates: what their policy loses at most, in fractions of the floats, with nothing of the solver.

Let U be the upper function, and T U what one step makes of it: γ · max over actions of E[reward + U(next)]. If T U ≤ U + ε wherever
an episode can come, no configuration is worth more than U + ε / (1 − γ). If the policy's own step from L is at least L − δ, following
it is worth at least L − δ / (1 − γ). From the start L is listed; everywhere L is U itself. Stacks of any height are covered because
U is the greatest of lines in what the stack below is worth, which lies in the ranges; that these hold follows from the bottom of the
stack upwards.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from pdrm.analysis.certificate import Certificate, demand, load_certificate, need
from pdrm.domains.finite_domain import NO_LABEL
from pdrm.errors import UnknownDomain, UnknownMachine
from pdrm.machines.guards import Label
from pdrm.machines.heads import AnyHead, replace_top, rule_at
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import TopSymbols
from pdrm.task import DomainLike, MachineLike, Task

Exit = tuple[int, str]
"""An environment state and a machine state."""
View = tuple[Exit, TopSymbols]
"""Where an episode is, and the symbols known from the top; after the last of a stack comes None."""
Lines = dict[tuple[Exit | None, int], Fraction]
"""A worth: the greatest of the lines c + γᵗ w(exit), by exit and t. w(None) is 0, so that its c is a constant."""
CONSTANT = (None, 0)
BITS = 1600
"""Powers of the discount are rounded to this many bits."""
ROUNDING = Fraction(1, 1 << 400)
"""More than this can change in a sum of floats, which are below 2 to the 1024; it is part of every bound."""
LONGEST_LINE = 100_000
MachineMove = tuple[Fraction, str, TopSymbols]
"""Pay, target, and what replaces the top symbol."""


class Effect(NamedTuple):
    """One outcome of an action at a head: chance, pay, its exit, and the symbols that replace the top one."""

    chance: Fraction
    paid: Fraction
    exit: Exit
    pushed: TopSymbols


Row = tuple[Effect, ...]
"""The outcomes of an action."""


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
        files = {
            name: str(folder / where) if (folder / where).is_file() else where
            for name, where in certificate.files.items()
        }
        if task is None and machine is None:
            machine = files.get("machine", certificate.machine)
        named = files.get("domain", certificate.domain)
        try:
            task = Task(named if task is None else task, machine)
        except (UnknownDomain, UnknownMachine) as error:
            if task is None:
                error.fix = "name its task: verify(certificate, task), or --domain and --machine"
            raise
    bound = Check(task, certificate).bound()
    said = f"it says that the policy loses at most {certificate.bound:.3g}, and {float(bound):.3g} is proved"
    demand(bound <= Fraction(certificate.bound), said)
    return certificate.claim


class Check:
    """One certificate and its task, stepped with the readable machine."""

    def __init__(
        self, task: Task, certificate: Certificate, on_step: Callable[[], None] = lambda: None
    ) -> None:
        """Read a certificate. `on_step` is called again and again; it may raise to end the check."""
        self.on_step = on_step
        self.proof, self.domain, self.machine = certificate, task.finite, task.pushdown
        demand(self.domain.name == certificate.domain, f"it is about `{certificate.domain}`")
        demand(0 < certificate.discount < 1, "its discount is not between 0 and 1")
        self.discount = Fraction(certificate.discount)
        self.entries: dict[View, Lines] = {}
        for s, u, seen, whole, constant, lines in certificate.entries:
            states = max(s, *(line[2] for line in lines), 0)
            known = states < self.domain.states and u in self.machine.states
            demand(known, f"unknown state {states}, {u}")
            view = (s, u), (*seen, *[None] * whole)
            demand(view not in self.entries, "an entry is listed twice")
            demand(not lines if whole else len(seen) == 1, "an entry knows too much of the stack")
            worth: Lines = {} if constant is None else {CONSTANT: Fraction(constant)}
            for t, c, s2, u2 in lines:
                _raise(worth, ((s2, u2), t), Fraction(c))
            demand(bool(worth), "an entry is empty")
            self.entries[view] = worth
        self.range: dict[Exit | None, tuple[Fraction, Fraction]] = {None: (Fraction(0),) * 2}
        for s, u, low, high in certificate.ranges:
            self.range[s, u] = Fraction(low), Fraction(high)
        self.lower: dict[View, Fraction] = {
            ((s, u), (*stack, None)): Fraction(worth) for s, u, stack, worth in certificate.lower
        }
        actions = self.domain.actions
        self.policy = {row[:3]: row[3] for row in certificate.policy}
        demand(set(self.policy.values()) <= set(actions), "its policy has an unknown action")

    def bound(self) -> Fraction:
        """An upper bound on the policy's loss."""
        lost, short = Fraction(0), [Fraction(0)]
        for s, u, low, high in self.proof.ranges:
            least, most = self.reach((s, u))
            demand(low <= least and most <= high, f"the range at {_describe((s, u))} does not hold")
        if self.proof.question == "start":
            for chance, view in self.begins():
                lost += chance * (self.extremes(self.worth(*view))[1] - self.least(view))
            short += [least - self.follow_lower(view) for view, least in self.lower.items()]
        else:
            short += [
                self.measure_gap(view, self.rows(view[0], view[1][0])[self.choose(view)])
                for view in self.views()
            ]
        excess = [Fraction(0)]
        for (e, symbols), worth in self.entries.items():
            steps = [self.follow(row, symbols[1:]) for row in self.rows(e, symbols[0])]
            excess += [self.exceed(step, worth) for step in steps]
        repeated = (max(excess) + max(short)) / (1 - self.discount)
        return max(Fraction(0), lost + repeated) / self.discount

    # --- Steps

    @cache
    def move(self, u: str, top: str | None, label: Label | None) -> MachineMove | None:
        """The move at a head that reads a label, or the silent one."""
        rule = None if u in self.machine.final else rule_at(self.machine, (u, top), label)
        return None if rule is None else (Fraction(rule.reward), *replace_top((u, top), rule))

    def read(self, head: AnyHead, label: int) -> MachineMove:
        """Read a label."""
        return need(self.move(*head, self.domain.labels[label]), "the machine has no move")

    @cache
    def rows(self, e: Exit, top: str | None) -> tuple[Row, ...]:
        """The outcomes of each action at a head, before silent moves; nothing if there is no choice of an action."""
        (s, u), arrays, found = e, self.domain.arrays, []
        if self.over(e) or self.move(u, top, None) is not None:
            return ()
        for action in range(len(self.domain.actions)):
            chances = [Fraction(p) for p in arrays.probability[s, action].tolist()]
            merged: dict[tuple[Fraction, Exit, TopSymbols], Fraction] = {}
            for o, chance in enumerate(chances):
                if chance > 0:
                    paid, after, pushed = self.read((u, top), int(arrays.label[s, action, o]))
                    paid += Fraction(float(arrays.reward[s, action, o]))
                    outcome = paid, (int(arrays.next[s, action, o]), after), pushed
                    merged[outcome] = merged.get(outcome, Fraction(0)) + chance / sum(chances)
            found.append(tuple(Effect(chance, *outcome) for outcome, chance in merged.items()))
        return tuple(found)

    def rest(self, e: Exit, symbols: TopSymbols) -> tuple[Fraction, View]:
        """Where silent moves lead, and what they pay; they end at the latest when no symbol is known."""
        (s, u), paid = e, Fraction(0)
        while symbols and (move := self.move(u, symbols[0], None)):
            reward, u, pushed = move
            paid, symbols = paid + reward, pushed + symbols[1:]
        return paid, ((s, u), symbols)

    def over(self, e: Exit) -> bool:
        """True if the episode is over once the machine rests."""
        return e[1] in self.machine.final or bool(self.domain.arrays.terminal[e[0]])

    def begins(self) -> Iterator[tuple[Fraction, View]]:
        """The chance of each start, and where it is when the first action is chosen."""
        arrays = self.domain.arrays
        chances = [Fraction(p) for p in arrays.start_probability.tolist()]
        for place, chance in enumerate(chances):
            if chance > 0:
                s, label = int(arrays.start_state[place]), int(arrays.start_label[place])
                _, view = self.rest((s, self.machine.start), (self.machine.stack[0], None))
                if label != NO_LABEL and view[0][1] not in self.machine.final:
                    head = view[0][1], view[1][0]
                    _, u, pushed = self.read(head, label)
                    _, view = self.rest((s, u), pushed + view[1][1:])
                yield chance / sum(chances), view

    # --- Which heads occur

    def after(self, e: Exit, top: str | None) -> list[tuple[Exit, TopSymbols]]:
        """Every end of a move at a head, the silent one included."""
        silent = self.move(e[1], top, None)
        if silent is not None:
            _, u, pushed = silent
            return [((e[0], u), pushed)]
        return [(one.exit, one.pushed) for row in self.rows(e, top) for one in row]

    @cached_property
    def occurring(self) -> list[View]:
        """Every head that occurs, with as much of what lies below it as the policy sees."""
        size = max(1, self.proof.k)

        def pile(symbols: TopSymbols, below: TopSymbols) -> tuple[TopSymbols, ...]:
            return tuple((symbols[i:] + below)[:size] for i in range(len(symbols)))

        def moves(view: View) -> list[tuple[Exit, tuple[TopSymbols, ...]]]:
            self.on_step()
            e, symbols = view
            return [(to, pile(pushed, symbols[1:])) for to, pushed in self.after(e, symbols[0])]

        return list(saturate(moves, [(e, pile(stack, ())) for _, (e, stack) in self.begins()]))

    @cached_property
    def tops(self) -> dict[Exit, set[str | None]]:
        """The symbols that occur on top in each state."""
        found: dict[Exit, set[str | None]] = {}
        for e, symbols in self.occurring:
            found.setdefault(e, set()).add(symbols[0])
        return found

    def views(self) -> Iterator[View]:
        """The views at which the action matters, wherever the policy begins: those that occur, or the stacks listed."""
        every_stack = any(symbols[-1] is not None for _, symbols in self.entries)
        listed = [*self.entries, *(view for _, view in self.begins())]
        for view in self.occurring if every_stack else listed:
            rows = {frozenset(row) for row in self.rows(view[0], view[1][0])}
            if (
                len(rows) > every_stack
            ):  # at stacks that are not listed all actions must do the same
                yield view

    # --- The upper function

    @cache
    def power(self, t: int) -> Fraction:
        """γᵗ, rounded."""
        demand(t < LONGEST_LINE, "a line is too long")
        return Fraction(int(self.discount**t * (1 << BITS)), 1 << BITS)

    @cache
    def upper(self, e: Exit | None, symbols: TopSymbols) -> Lines | None:
        """The upper function at some symbols on top of a stack; None if something in it is not listed."""
        self.on_step()
        if e is None:
            return {CONSTANT: Fraction(0)}
        paid, (e, symbols) = self.rest(e, symbols)
        if e[1] in self.machine.final or (symbols and self.over(e)):
            return {CONSTANT: paid}
        if not symbols:
            return {(e, 0): paid}
        known = [self.entries[e, symbols]] if (e, symbols) in self.entries else []
        if len(symbols) > 1 and (e, symbols[:1]) in self.entries:
            found: Lines = {}
            for (exit_, t), c in self.entries[e, symbols[:1]].items():
                below = self.upper(exit_, symbols[1:])
                if below is None:
                    return None
                for (after, more), gain in below.items():
                    line = CONSTANT if after is None else (after, t + more)
                    _raise(found, line, c + self.power(t) * gain)
            known.append(found)
        least = min(known, key=lambda lines: lines.get(CONSTANT, 0), default=None)
        return least and {line: paid + c for line, c in least.items()}

    def worth(self, e: Exit, symbols: TopSymbols) -> Lines:
        """The upper function; it must be known."""
        return need(self.upper(e, symbols), f"{_describe(e, symbols)} is not listed")

    def follow(self, row: Row, below: TopSymbols) -> Lines:
        """The upper function after an action, discounted; `below`: the symbols known below the top one."""
        ways: list[Lines] = []
        for one in row:
            after = self.worth(one.exit, one.pushed + below).items()
            later = {(e, t + (e is not None)): one.paid + c for (e, t), c in after}
            ways.append({line: self.discount * c for line, c in later.items()})
        if len(ways) == 1:
            return ways[0]
        most = (one.chance * self.extremes(way)[1] for one, way in zip(row, ways, strict=True))
        return {CONSTANT: sum(most, Fraction(0))}

    def extremes(self, worth: Lines) -> tuple[Fraction, Fraction]:
        """The least and the greatest worth over the ranges."""
        lows, highs = [], []
        for (e, t), c in worth.items():
            low, high = need(self.range.get(e), f"the range of {_describe(e)} is missing")
            lows.append(c + self.power(t) * low)
            highs.append(c + self.power(t) * high)
        return max(lows) - ROUNDING, max(highs) + ROUNDING

    def reach(self, e: Exit) -> tuple[Fraction, Fraction]:
        """Between which numbers the worth is of whatever is on top at an exit, if what is below is in the ranges."""
        ends = [self.extremes(self.worth(e, (top,))) for top in self.tops.get(e, ())]
        least = min((least for least, _ in ends), default=self.range[e][0])
        return least, max((most for _, most in ends), default=self.range[e][1])

    def exceed(self, one: Lines, other: Lines) -> Fraction:
        """The most by which one worth is above another, over the ranges.

        For one line every exit but its own is best at its least; along its own the difference is concave, and greatest at an end of the range
        or where the other's highest line changes.
        """
        self.on_step()
        found = []
        for e in {e for e, _ in one}:
            own = [(self.power(t), c) for (at, t), c in other.items() if at == e]
            rest = {line: c for line, c in other.items() if line[0] != e}
            if rest:
                own.append((Fraction(0), self.extremes(rest)[0]))
            low, high = need(self.range.get(e), f"the range of {_describe(e)} is missing")
            pieces = _find_envelope(own, low, high)
            for slope, c in [(self.power(t), c) for (at, t), c in one.items() if at == e]:
                place = bisect_left(pieces, (slope,))
                steep, begin, height = pieces[min(place, len(pieces) - 1)]
                v = begin if place < len(pieces) else high
                found.append(c + slope * v - height - steep * v)
        return max(found) + 2 * ROUNDING

    # --- The policy

    def choose(self, view: View) -> int:
        """The policy's action."""
        (s, u), symbols = view
        seen = tuple(symbol for symbol in symbols[: self.proof.k] if symbol is not None)
        where = _describe((s, u), seen)
        action = need(self.policy.get((s, u, seen)), f"the policy has no action at {where}")
        return self.domain.actions.index(action)

    def measure_gap(self, view: View, row: Row) -> Fraction:
        """The most by which an action is below the upper function at a view."""
        e, symbols = view
        demand(len(row) == 1 or symbols[-1] is None, "a view that may occur has chance")
        return self.exceed(self.worth(e, symbols), self.follow(row, symbols[1:]))

    def follow_lower(self, view: View) -> Fraction:
        """The policy's step by its lower bounds, discounted."""
        (e, symbols), total = view, Fraction(0)
        for one in self.rows(e, symbols[0])[self.choose(view)]:
            paid, after = self.rest(one.exit, one.pushed + symbols[1:])
            total += one.chance * (one.paid + paid + self.least(after))
        return self.discount * total

    def least(self, view: View) -> Fraction:
        """A lower bound on the policy's worth: that listed, or what any policy gets."""
        if self.over(view[0]):
            return Fraction(0)
        if view in self.lower:
            return self.lower[view]
        return need(self.worst, "silent moves are paid, and a configuration is not listed")

    @cached_property
    def worst(self) -> Fraction | None:
        """Every policy's worth is at least this, as each step pays at least the least; None if silent moves are paid."""
        if any(rule.silent and rule.reward for rule in self.machine.transitions):
            return None
        rules = [rule.reward for rule in self.machine.transitions if not rule.silent]
        if self.machine.otherwise.action != "error":
            rules.append(self.machine.otherwise.reward)
        step = Fraction(float(self.domain.arrays.reward.min())) + Fraction(min(rules))
        return self.discount * min(step, step / (1 - self.discount))


def _describe(e: Exit | None, symbols: TopSymbols = ()) -> str:
    """A view in words."""
    s, u = e or ("", "")
    stack = " ".join(symbol for symbol in symbols if symbol is not None)
    return f"state {s}, {u}" + f", stack {stack}" * bool(stack)


def _raise(lines: Lines, line: tuple[Exit | None, int], c: Fraction) -> None:
    """Add a line to a worth, unless a higher one with the same slope is there."""
    lines[line] = max(c, lines.get(line, c))


def _find_envelope(
    lines: Iterable[tuple[Fraction, Fraction]], low: Fraction, high: Fraction
) -> list[tuple[Fraction, Fraction, Fraction]]:
    """The lines that are the highest somewhere between two ends, from flat to steep, and where each begins: slope, begin, c."""
    found = list[tuple[Fraction, Fraction, Fraction]]()
    for slope, c in sorted(lines):
        begin = low
        while found:
            flat, earlier, height = found[-1]
            begin = low if slope == flat else (height - c) / (slope - flat)
            if begin > earlier:
                break
            found.pop()
            begin = low
        if begin < high or not found:
            found.append((slope, begin, c))
    return found
