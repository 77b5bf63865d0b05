"""The checker of certificates: what their policy loses at most, in fractions of the floats, with nothing of the solver.

Let U be the upper function, and T U what one step makes of it: γ · max over actions of E[reward + U(next)]. If T U ≤ U + ε wherever
an episode can come, no configuration is worth more than U + ε / (1 − γ). If the policy's own step from L is at least L − δ, following
it is worth at least L − δ / (1 − γ). From the start L is listed; everywhere L is U itself. Stacks of any height are covered because
U is the greatest of lines in what the stack below is worth, which lies in the ranges; that these hold follows from the bottom of the
stack upwards.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path

from pdrm.analysis.certificate import Certificate, demand, load_certificate, need, refuse_faults
from pdrm.analysis.stepped_product import ActionOutcomes, ControlState, PartialState, SteppedProduct
from pdrm.errors import UnknownDomain, UnknownMachine
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import TopSymbols
from pdrm.task import DomainLike, MachineLike, Task

Lines = dict[tuple[ControlState | None, int], Fraction]
"""A worth: the greatest of the lines c + γᵗ w(exit), by exit and t. w(None) is 0, so that its c is a constant."""
CONSTANT = (None, 0)
BITS = 1600
"""Powers of the discount are rounded to this many bits."""
ROUNDING = Fraction(1, 1 << 400)
"""More than this can change in a sum of floats, which are below 2 to the 1024; it is part of every bound."""
MAX_LINE_LENGTH = 100_000
Range = tuple[Fraction, Fraction]


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
        domain = files.get("domain", certificate.domain) if task is None else task
        try:
            task = Task(domain, machine)
        except (UnknownDomain, UnknownMachine) as error:
            if task is None:
                error.fix = "name its task: verify(certificate, task), or --domain and --machine"
            raise
    bound = Check(task, certificate).bound()
    said = f"it says that the policy loses at most {certificate.bound:.3g}, and {float(bound):.3g} is proved"
    demand(bound <= Fraction(certificate.bound), said)
    return certificate.claim


class Check(SteppedProduct):
    """One certificate and its task, stepped with the readable machine."""

    def __init__(
        self, task: Task, certificate: Certificate, on_step: Callable[[], None] = lambda: None
    ) -> None:
        """Read a certificate. `on_step` is called again and again; it may raise to end the check."""
        super().__init__(task.finite, task.pushdown)
        self.on_step = on_step
        # caches that end with the check
        self.power, self.worth = cache(self._find_power), cache(self._find_worth)
        self.proof = certificate
        demand(self.domain.name == certificate.domain, f"it is about `{certificate.domain}`")
        demand(0 < certificate.discount < 1, "its discount is not between 0 and 1")
        self.discount = Fraction(certificate.discount)
        self.entries: dict[PartialState, Lines] = {}
        for s, u, seen, whole, constant, lines in certificate.entries:
            states = max(s, *(line[2] for line in lines), 0)
            known = states < self.domain.states and u in self.machine.states
            demand(known, f"unknown state {states}, {u}")
            demand(not lines if whole else len(seen) == 1, "an entry knows too much of the stack")
            worth: Lines = {CONSTANT: Fraction(constant)}
            for t, c, s2, u2 in lines:
                _raise(worth, ((s2, u2), t), Fraction(c))
            self.entries[(s, u), (*seen, *[None] * whole)] = worth
        self.range: dict[ControlState | None, Range] = {None: (Fraction(0), Fraction(0))}
        for s, u, low, high in certificate.ranges:
            self.range[s, u] = Fraction(low), Fraction(high)
        self.lower: dict[PartialState, Fraction] = {
            ((s, u), (*stack, None)): Fraction(worth) for s, u, stack, worth in certificate.lower
        }
        self.policy = {row[:3]: row[3] for row in certificate.policy}
        known = set(self.policy.values()) <= set(self.domain.actions)
        demand(known, "its policy has an unknown action")

    @refuse_faults()
    def bound(self) -> Fraction:
        """An upper bound on the policy's loss."""
        for s, u, low, high in self.proof.ranges:
            least, most = self.reach((s, u))
            demand(low <= least and most <= high, f"the range at {_describe((s, u))} does not hold")
        lost, short = Fraction(0), [Fraction(0)]
        if self.proof.question == "start":
            for chance, view in self.begins():
                lost += chance * (self.extremes(self.worth(*view))[1] - self.least(view))
            short += [least - self.follow_lower(view) for view, least in self.lower.items()]
        else:
            short += [self.measure_gap(view, self.choose(view)) for view in self.views()]
        excess = [Fraction(0)]
        for (e, symbols), worth in self.entries.items():
            steps = [self.follow(row, symbols[1:]) for row in self.rows(e, symbols[0])]
            excess += [self.max_excess(step, worth) for step in steps]
        repeated = (max(excess) + max(short)) / (1 - self.discount)
        return max(Fraction(0), lost + repeated) / self.discount

    # --- Views: where an episode may be

    def rest(self, e: ControlState, symbols: TopSymbols) -> tuple[Fraction, PartialState]:
        """Where silent moves lead, and what they pay; they end at the latest when no symbol is known."""
        (s, u), paid = e, Fraction(0)
        while symbols and (move := self.move(u, symbols[0], None)):
            reward, u, pushed = move
            paid, symbols = paid + reward, pushed + symbols[1:]
        return paid, ((s, u), symbols)

    @cached_property
    def occurring(self) -> list[PartialState]:
        """Every head that occurs, with as much of what lies below it as the policy sees."""
        size = max(1, self.proof.k)

        def pile(symbols: TopSymbols, below: TopSymbols) -> tuple[TopSymbols, ...]:
            return tuple((symbols[i:] + below)[:size] for i in range(len(symbols)))

        def moves(view: PartialState) -> list[tuple[ControlState, tuple[TopSymbols, ...]]]:
            self.on_step()
            e, symbols = view
            return [(to, pile(pushed, symbols[1:])) for to, pushed in self.after(e, symbols[0])]

        return list(saturate(moves, [(e, pile(stack, ())) for _, (e, stack) in self.begins()]))

    @cached_property
    def tops(self) -> dict[ControlState, set[str | None]]:
        """The symbols that occur on top in each state."""
        found: dict[ControlState, set[str | None]] = {}
        for e, symbols in self.occurring:
            found.setdefault(e, set()).add(symbols[0])
        return found

    def views(self) -> Iterator[PartialState]:
        """The views at which the action matters, wherever the policy begins: those that occur, or the stacks listed."""
        every_stack = any(symbols[-1] is not None for _, symbols in self.entries)
        listed = [*self.entries, *(view for _, view in self.begins())]
        for view in self.occurring if every_stack else listed:
            different = {frozenset(row) for row in self.rows(view[0], view[1][0])}
            if len(different) > every_stack:  # at stacks not listed all actions must do the same
                yield view

    # --- The upper function

    def _find_power(self, t: int) -> Fraction:
        """γᵗ, rounded."""
        demand(0 <= t < MAX_LINE_LENGTH, "a line is too long")
        return Fraction(int(self.discount**t * (1 << BITS)), 1 << BITS)

    def _find_worth(self, e: ControlState | None, symbols: TopSymbols) -> Lines:
        """The upper function at some symbols on top of a stack."""
        self.on_step()
        if e is None:
            return {CONSTANT: Fraction(0)}
        paid, (e, symbols) = self.rest(e, symbols)
        if e[1] in self.machine.final or (symbols and self.over(e)):
            return {CONSTANT: paid}
        if not symbols:
            return {(e, 0): paid}
        found = self.entries.get((e, symbols))
        if found is None:
            head = self.entries.get((e, symbols[:1])) if len(symbols) > 1 else None
            found = {}
            for (to, t), c in need(head, f"{_describe(e, symbols)} is not listed").items():
                for (after, more), gain in self.worth(to, symbols[1:]).items():
                    line = CONSTANT if after is None else (after, t + more)
                    _raise(found, line, c + self.power(t) * gain)
        return {line: paid + c for line, c in found.items()}

    def follow(self, row: ActionOutcomes, below: TopSymbols) -> Lines:
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

    def find_range(self, e: ControlState | None) -> Range:
        """Between which numbers the worth is of a stack below others at an exit."""
        return need(self.range.get(e), f"the range of {_describe(e)} is missing")

    def extremes(self, worth: Lines) -> Range:
        """The least and the greatest worth over the ranges."""
        ends = [
            [c + self.power(t) * end for end in self.find_range(e)] for (e, t), c in worth.items()
        ]
        return max(low for low, _ in ends) - ROUNDING, max(high for _, high in ends) + ROUNDING

    def reach(self, e: ControlState) -> Range:
        """Between which numbers the worth is of whatever is on top at an exit, if what is below is in the ranges."""
        ends = [self.extremes(self.worth(e, (top,))) for top in self.tops.get(e, ())]
        ends = ends or [self.range[e]]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def max_excess(self, one: Lines, other: Lines) -> Fraction:
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
            low, high = self.find_range(e)
            highest = _find_highest(own, low, high)
            for slope, c in [(self.power(t), c) for (at, t), c in one.items() if at == e]:
                place = bisect_left(highest, (slope,))
                v = highest[place][1] if place < len(highest) else high
                steep, _, height = highest[min(place, len(highest) - 1)]
                found.append(c + slope * v - height - steep * v)
        return max(found) + 2 * ROUNDING

    # --- The policy

    def see(self, view: PartialState) -> tuple[int, str, tuple[str, ...]]:
        """The part of a view that the policy sees."""
        e, symbols = view
        return *e, tuple(symbol for symbol in symbols[: self.proof.k] if symbol is not None)

    def choose(self, view: PartialState) -> ActionOutcomes:
        """The outcomes of the policy's action."""
        seen = self.see(view)
        where = _describe(seen[:2], seen[2])
        action = need(self.policy.get(seen), f"the policy has no action at {where}")
        rows = self.rows(view[0], view[1][0])
        demand(bool(rows), f"no action can be chosen at {where}")
        return rows[self.domain.actions.index(action)]

    def measure_gap(self, view: PartialState, row: ActionOutcomes) -> Fraction:
        """The most by which an action is below the upper function at a view."""
        e, symbols = view
        demand(len(row) == 1 or symbols[-1] is None, "a view that may occur has chance")
        return self.max_excess(self.worth(e, symbols), self.follow(row, symbols[1:]))

    def follow_lower(self, view: PartialState) -> Fraction:
        """The policy's step by its lower bounds, discounted."""
        total = Fraction(0)
        for one in self.choose(view):
            paid, after = self.rest(one.exit, one.pushed + view[1][1:])
            total += one.chance * (one.paid + paid + self.least(after))
        return self.discount * total

    def least(self, view: PartialState) -> Fraction:
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


def _describe(e: ControlState | None, symbols: TopSymbols = ()) -> str:
    """A view in words."""
    return "state " + ", ".join([*map(str, e or ()), *filter(None, symbols)])


def _raise(lines: Lines, line: tuple[ControlState | None, int], c: Fraction) -> None:
    """Add a line to a worth, unless a higher one with the same slope is there."""
    lines[line] = max(c, lines.get(line, c))


def _find_highest(
    lines: list[tuple[Fraction, Fraction]], low: Fraction, high: Fraction
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
