"""The certificate checker: an upper bound on the loss of a policy, in exact fractions.

It does not use the solver. Let U be the upper function and T the Bellman operator,
(T U)(x) = γ · max over actions of E[reward + U(next)].

- If T U ≤ U + ε at every reachable configuration, no value is above U + ε / (1 − γ).
- If one step of the policy from lower bounds L gives at least L − δ, the policy's values are at
  least L − δ / (1 − γ). For the question `start`, L is listed. For `everywhere`, L is U.

So the policy loses at most U − L + (ε + δ) / (1 − γ), divided by γ because certificates bound
continuation values.

This covers stacks of any height: U is a maximum of lines in the value of the stack below, which is
within the ranges. That the ranges hold follows by induction from the bottom of the stack, because
they contain the value of every top symbol over a stack within the ranges.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path

from pdrm.analysis.certificate import (
    Certificate,
    demand,
    load_certificate,
    refuse_faults,
    require,
)
from pdrm.analysis.stepped_product import (
    ActionOutcomes,
    ControlState,
    PartialState,
    SteppedProduct,
)
from pdrm.errors import UnknownDomain, UnknownMachine
from pdrm.machines.reach import saturate
from pdrm.machines.transitions import TopSymbols
from pdrm.task import DomainLike, MachineLike, Task

Envelope = dict[tuple[ControlState | None, int], Fraction]
"""The maximum of lines c + γᵗ w(e), as c by (e, t). w(None) is 0, so that line is a constant."""
CONSTANT = (None, 0)
ZERO = Fraction(0)
BITS = 1600
"""Powers of the discount are rounded to this many bits."""
ROUNDING = Fraction(1, 1 << 400)
"""An upper bound on the effect of this rounding on sums of floats (all below 2 to the 1024)."""
MAX_LINE_LENGTH = 100_000
Range = tuple[Fraction, Fraction]
Segment = tuple[Fraction, Fraction, Fraction]
"""The slope of a line, the left end of its interval as the highest line, and its constant."""


def verify(
    certificate: Certificate | str | Path,
    task: Task | DomainLike | None = None,
    machine: MachineLike | None = None,
) -> str:
    """Check a certificate; return the statement it proves, or raise `BadCertificate`.

    Args:
        certificate: The certificate, or its file.
        task: The task or its domain (default: the domain named in the certificate).
        machine: The machine (default: the domain's, or the one named in the certificate).

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
            name: str(folder / file) if (folder / file).is_file() else file
            for name, file in certificate.files.items()
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
    demand(
        bound <= Fraction(certificate.bound),
        f"it claims a loss of at most {certificate.bound:.3g}, but proves {float(bound):.3g}",
    )
    return certificate.claim


class Check(SteppedProduct):
    """A certificate and its task, stepped with the readable machine."""

    def __init__(
        self, task: Task, certificate: Certificate, on_step: Callable[[], None] = lambda: None
    ) -> None:
        """Read a certificate. `on_step` is called repeatedly and can raise to stop the check."""
        super().__init__(task.finite, task.pushdown)
        self.on_step = on_step
        # caches that are freed with the check
        self.power = cache(self._find_power)
        self.upper = cache(self._find_upper)
        self.proof = certificate
        demand(
            self.domain.name == certificate.domain,
            f"the certificate is about `{certificate.domain}`",
        )
        demand(0 < certificate.discount < 1, "its discount is not between 0 and 1")
        self.discount = Fraction(certificate.discount)
        self.entries: dict[PartialState, Envelope] = {}
        for s, u, symbols, whole, constant, lines in certificate.entries:
            largest = max(s, *(line[2] for line in lines), 0)
            known = largest < self.domain.states and u in self.machine.states
            demand(known, f"unknown state {largest}, {u}")
            fits = not lines if whole else len(symbols) == 1
            demand(fits, "an entry is neither a whole stack without lines nor one symbol")
            envelope: Envelope = {CONSTANT: Fraction(constant)}
            for t, c, exit_s, exit_u in lines:
                _add_line(envelope, ((exit_s, exit_u), t), Fraction(c))
            end = (None,) if whole else ()
            self.entries[(s, u), (*symbols, *end)] = envelope
        self.range: dict[ControlState | None, Range] = {None: (ZERO, ZERO)}
        for s, u, low, high in certificate.ranges:
            self.range[s, u] = Fraction(low), Fraction(high)
        self.lower: dict[PartialState, Fraction] = {
            ((s, u), (*stack, None)): Fraction(value) for s, u, stack, value in certificate.lower
        }
        self.policy = {row[:3]: row[3] for row in certificate.policy}
        known = set(self.policy.values()) <= set(self.domain.actions)
        demand(known, "its policy has an unknown action")

    @refuse_faults()
    def bound(self) -> Fraction:
        """An upper bound on the policy's loss."""
        for s, u, low, high in self.proof.ranges:
            lowest, highest = self.range_of_tops((s, u))
            holds = low <= lowest and highest <= high
            demand(holds, f"the range at {_describe((s, u))} does not hold")
        loss = ZERO
        if self.proof.question == "start":
            for probability, start in self.starts():
                upper = self.extremes(self.upper(*start))[1]
                loss += probability * (upper - self.lower_bound(start))
            shortfalls = [value - self.back_up_lower(state) for state, value in self.lower.items()]
        else:
            shortfalls = [
                self.measure_gap(state, self.chosen_action(state)) for state in self.checked()
            ]
        excesses = [
            self.max_excess(self.back_up(action, symbols[1:]), envelope)
            for (control, symbols), envelope in self.entries.items()
            for action in self.outcomes(control, symbols[0])
        ]
        loss += max([*excesses, ZERO]) / (1 - self.discount)
        loss += max([*shortfalls, ZERO]) / (1 - self.discount)
        return max(ZERO, loss) / self.discount

    # --- States

    def run_silent_moves(
        self, control: ControlState, symbols: TopSymbols
    ) -> tuple[Fraction, PartialState]:
        """The state after the silent moves, and their reward; stops if no symbol is known."""
        s, u = control
        total = ZERO
        while symbols and (move := self.move(u, symbols[0], None)):
            reward, u, pushed = move
            total += reward
            symbols = pushed + symbols[1:]
        return total, ((s, u), symbols)

    @cached_property
    def occurring(self) -> list[PartialState]:
        """The reachable heads, with as many symbols below as the policy sees."""
        size = max(1, self.proof.k)

        def tops(symbols: TopSymbols, below: TopSymbols) -> tuple[TopSymbols, ...]:
            """The top of the stack when each of these symbols is on top."""
            return tuple((symbols[i:] + below)[:size] for i in range(len(symbols)))

        def moves(state: PartialState) -> list[tuple[ControlState, tuple[TopSymbols, ...]]]:
            self.on_step()
            control, symbols = state
            return [
                (after, tops(pushed, symbols[1:]))
                for after, pushed in self.successors(control, symbols[0])
            ]

        starts = [(control, tops(stack, ())) for _, (control, stack) in self.starts()]
        return list(saturate(moves, starts))

    @cached_property
    def tops(self) -> dict[ControlState, set[str | None]]:
        """The top symbols that occur in each control state."""
        tops: dict[ControlState, set[str | None]] = {}
        for control, symbols in self.occurring:
            tops.setdefault(control, set()).add(symbols[0])
        return tops

    def checked(self) -> Iterator[PartialState]:
        """Yield the states whose action is compared with U, for the question `everywhere`.

        These are all listed stacks or, if entries are for top symbols, all states that occur.
        States without an entry are skipped if all their actions have the same outcomes.
        """
        every_stack = any(symbols[-1] is not None for _, symbols in self.entries)
        one_symbol = all(len(symbols) == 1 for _, symbols in self.entries)
        demand(one_symbol or not every_stack, "entries are for top symbols and for whole stacks")
        states = [*self.entries, *(state for _, state in self.starts())]
        for state in self.occurring if every_stack else states:
            control, symbols = state
            listed = not every_stack or (control, symbols[:1]) in self.entries
            different = set(map(frozenset, self.actions_at(state)))
            if len(different) > 1 or (different and listed):
                yield state

    def actions_at(self, state: PartialState) -> tuple[ActionOutcomes, ...]:
        """The outcomes of each action at a state; empty if no action can be taken."""
        control, symbols = state
        return self.outcomes(control, symbols[0])

    # --- The upper function

    def _find_power(self, t: int) -> Fraction:
        """γᵗ, rounded."""
        demand(0 <= t < MAX_LINE_LENGTH, "a line is too long")
        return Fraction(int(self.discount**t * (1 << BITS)), 1 << BITS)

    def _find_upper(self, control: ControlState | None, symbols: TopSymbols) -> Envelope:
        """The upper function with these symbols on top of a stack; control None is w(None) = 0.

        Without an entry for all the symbols, the entry of the top symbol is composed with the upper
        function of the symbols below.
        """
        self.on_step()
        if control is None:
            return {CONSTANT: ZERO}
        reward, (control, symbols) = self.run_silent_moves(control, symbols)
        if control[1] in self.machine.final or (symbols and self.is_over(control)):
            return {CONSTANT: reward}
        if not symbols:
            return {(control, 0): reward}
        envelope = self.entries.get((control, symbols))
        if envelope is None:
            head = self.entries.get((control, symbols[:1])) if len(symbols) > 1 else None
            head = require(head, f"{_describe(control, symbols)} is not listed")
            envelope = {}
            for (exit_state, t), c in head.items():
                for (after, more), gain in self.upper(exit_state, symbols[1:]).items():
                    line = CONSTANT if after is None else (after, t + more)
                    _add_line(envelope, line, c + self.power(t) * gain)
        return {line: reward + c for line, c in envelope.items()}

    def back_up(self, action: ActionOutcomes, below: TopSymbols) -> Envelope:
        """The discounted upper function after an action; `below`: the symbols below the top."""
        envelopes: list[Envelope] = []
        for outcome in action:
            envelope: Envelope = {}
            for (e, t), c in self.upper(outcome.control, outcome.pushed + below).items():
                line = CONSTANT if e is None else (e, t + 1)
                envelope[line] = self.discount * (outcome.reward + c)
            envelopes.append(envelope)
        if len(envelopes) == 1:
            return envelopes[0]
        expected = ZERO
        for outcome, envelope in zip(action, envelopes, strict=True):
            expected += outcome.probability * self.extremes(envelope)[1]
        return {CONSTANT: expected}

    def find_range(self, exit_state: ControlState | None) -> Range:
        """The range of the value of the stack below at an exit."""
        fault = f"the range of {_describe(exit_state)} is missing"
        return require(self.range.get(exit_state), fault)

    def extremes(self, envelope: Envelope) -> Range:
        """The lowest and highest value of an envelope over the ranges."""
        ends = [
            [c + self.power(t) * end for end in self.find_range(e)]
            for (e, t), c in envelope.items()
        ]
        return max(low for low, _ in ends) - ROUNDING, max(high for _, high in ends) + ROUNDING

    def range_of_tops(self, control: ControlState) -> Range:
        """The range of values at a control state over all top symbols that occur."""
        ends = [self.extremes(self.upper(control, (top,))) for top in self.tops.get(control, ())]
        if not ends:
            return self.range[control]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def max_excess(self, envelope: Envelope, other: Envelope) -> Fraction:
        """An upper bound on `envelope` − `other` over the ranges.

        Each line of `envelope` is bounded on its own. For a line with exit e, the lines of `other`
        with other exits count with their lowest value. The difference is then concave in w(e). Its
        maximum is at an end of the range, or where the highest line of `other` changes.
        """
        self.on_step()
        excesses = []
        for e in {e for e, _ in envelope}:
            same_exit = [
                (self.power(t), c) for (exit_state, t), c in other.items() if exit_state == e
            ]
            rest = {line: c for line, c in other.items() if line[0] != e}
            if rest:
                same_exit.append((ZERO, self.extremes(rest)[0]))
            low, high = self.find_range(e)
            highest = _list_highest(same_exit, low, high)
            for (exit_state, t), c in envelope.items():
                if exit_state != e:
                    continue
                slope = self.power(t)
                steeper = bisect_left(highest, (slope,))  # the first line at least as steep
                w = highest[steeper][1] if steeper < len(highest) else high
                other_slope, _, other_c = highest[min(steeper, len(highest) - 1)]
                excesses.append(c + slope * w - other_c - other_slope * w)
        return max(excesses) + 2 * ROUNDING

    # --- The policy

    def policy_input(self, state: PartialState) -> tuple[int, str, tuple[str, ...]]:
        """The part of a state that the policy sees."""
        (s, u), symbols = state
        return s, u, tuple(symbol for symbol in symbols[: self.proof.k] if symbol is not None)

    def chosen_action(self, state: PartialState) -> ActionOutcomes:
        """The outcomes of the policy's action, which may be missing if all actions do the same."""
        seen = self.policy_input(state)
        where = _describe(seen[:2], seen[2])
        actions = self.actions_at(state)
        demand(bool(actions), f"no action can be chosen at {where}")
        if len(set(map(frozenset, actions))) == 1:
            return actions[0]
        name = require(self.policy.get(seen), f"the policy has no action at {where}")
        return actions[self.domain.actions.index(name)]

    def measure_gap(self, state: PartialState, action: ActionOutcomes) -> Fraction:
        """The maximum amount by which an action is below the upper function at a state."""
        control, symbols = state
        deterministic = len(action) == 1
        demand(deterministic or symbols[-1] is None, "an action is stochastic for unlisted stacks")
        return self.max_excess(self.upper(control, symbols), self.back_up(action, symbols[1:]))

    def back_up_lower(self, state: PartialState) -> Fraction:
        """The discounted lower bound after the policy's action."""
        total = ZERO
        for outcome in self.chosen_action(state):
            below = state[1][1:]
            reward, after = self.run_silent_moves(outcome.control, outcome.pushed + below)
            value = outcome.reward + reward + self.lower_bound(after)
            total += outcome.probability * value
        return self.discount * total

    def lower_bound(self, state: PartialState) -> Fraction:
        """A lower bound on the policy's value: the listed one, or the floor of every policy."""
        if self.is_over(state[0]):
            return ZERO
        if state in self.lower:
            return self.lower[state]
        return require(self.floor, "silent moves are rewarded, and a configuration is not listed")

    @cached_property
    def floor(self) -> Fraction | None:
        """A lower bound on every policy's value, or None if silent moves have rewards.

        It is the value of repeating the smallest possible reward of a step.
        """
        if any(rule.silent and rule.reward for rule in self.machine.transitions):
            return None
        rewards = [rule.reward for rule in self.machine.transitions if not rule.silent]
        if self.machine.otherwise.action != "error":
            rewards.append(self.machine.otherwise.reward)
        step = Fraction(float(self.domain.arrays.reward.min())) + Fraction(min(rewards))
        return self.discount * min(step, step / (1 - self.discount))


def _describe(control: ControlState | None, symbols: TopSymbols = ()) -> str:
    """A state for messages."""
    return "state " + ", ".join([*map(str, control or ()), *filter(None, symbols)])


def _add_line(envelope: Envelope, line: tuple[ControlState | None, int], c: Fraction) -> None:
    """Add a line, unless the envelope has a higher one with the same slope."""
    envelope[line] = max(c, envelope.get(line, c))


def _list_highest(
    lines: list[tuple[Fraction, Fraction]], low: Fraction, high: Fraction
) -> list[Segment]:
    """The upper envelope of lines (slope, c) between `low` and `high`, from flat to steep."""
    highest = list[Segment]()
    for slope, c in sorted(lines):
        begin = low
        while highest:
            last_slope, last_begin, last_c = highest[-1]
            begin = low if slope == last_slope else (last_c - c) / (slope - last_slope)
            if begin > last_begin:
                break
            highest.pop()
            begin = low
        if begin < high or not highest:
            highest.append((slope, begin, c))
    return highest
