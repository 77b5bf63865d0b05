"""The sizes of a task's policies side by side: what Section 5 allows, what can be reached, what training met.

`sizes_record` is plain JSON data for the command, the report and the claims. A bound can have thousands of digits: it is given
as `{"exact": integer or null, "log10": number}`, exact where a JSON reader keeps it so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pdrm.analysis.policy_size import digits, stack_strings, theorem_1, theorem_2
from pdrm.analysis.reach.stacks import MOST_ROWS, Reached, reached
from pdrm.analysis.reach.views import Numbers, reachable_views
from pdrm.analysis.stack_growth import StackGrowth, stack_growth
from pdrm.analysis.views import check_ks
from pdrm.domains.labelled_mdp import NO_LABEL, FiniteDomain
from pdrm.errors import BadSetting
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.translation import counting_to_pushdown

EXACT = 2**53
"""Integers below this are the same in every JSON reader."""

MOST_STEPS = 1_000_000
"""Steps of an episode: the bounds have about as many digits."""

Record = dict[str, Any]
Seen = Mapping[str, Any]
"""What one trained table holds: `agent`, `k`, `seed`, `rows`, and `strings` or `counters`."""


def sizes_record(  # noqa: PLR0913 - named options, each with a default
    domain: FiniteDomain,
    machine: PushdownRewardMachine,
    *,
    steps: int | None = None,
    ks: Sequence[int] = (0, 1, 2),
    counting: CountingRewardAutomaton | None = None,
    seen: Sequence[Seen] = (),
    most: int = MOST_ROWS,
) -> Record:
    """The sizes for episodes of so many steps (the domain's limit unless given). `counting`: an automaton with one counter
    for the same task; without one, the two counters that simulate the stack are counted.

    >>> from pdrm.domains.catalogue import domain
    >>> from pdrm.machines.catalogue import catalogue
    >>> record = sizes_record(domain("letter"), catalogue("letter"), steps=100, ks=(1,))
    >>> [(size["what"], size["reachable"]) for size in record["sizes"]]
    [('stack strings', 51), ('full policy', 3060), ('1-policy', 104), ('counter configurations', 51), ('CRA policy', 3060)]
    >>> record["holds"]
    True
    """
    limit = _limit(domain.step_limit if steps is None else steps)
    check_ks(ks)
    growth, walk, views = stack_growth(machine), reached(domain, machine, limit, most), reachable_views(domain, machine)
    fewest = {k: views.steps(k) for k in dict.fromkeys(ks)}
    factor, scale = domain.states * len(machine.states), _Scale(growth, limit, _first_label(domain))
    counters = walk if counting is None else _counting_walk(domain, counting, limit, most)
    sizes = [
        scale.size("stack strings", 1, 1, walk, walk.strings),
        scale.size("full policy", 1, factor, walk, walk.rows),
        *(_k_size(k, factor * theorem_2(growth, k), found, limit) for k, found in fewest.items()),
        scale.size("counter configurations", 3, 1, counters, counters.counters),
        scale.size("CRA policy", 3, factor, counters, counters.rows),
    ]
    for size in sizes:
        size["seen"] = _seen(size["what"], seen)
    return {
        "domain": domain.name,
        "machine": machine.name,
        "counting": None if counting is None else counting.name,
        "environment_states": domain.states,
        "machine_states": len(machine.states),
        **{name: getattr(growth, name) for name in ("symbols", "added", "silent_pushes", "begun", "step")},
        "steps": limit,
        "labels": limit + scale.first,
        "sizes": sizes,
        "growth": _growth(scale, walk, fewest, factor),
        "holds": all(size["holds"] for size in sizes),
    }


def _limit(steps: int) -> int:
    """The steps of an episode, refused where their bounds could not be computed."""
    if not 0 <= steps <= MOST_STEPS:
        raise BadSetting(f"episodes of {steps:,} steps", fix=f"whole numbers from 0 to {MOST_STEPS}: --steps 20")
    return steps


def _counting_walk(domain: FiniteDomain, counting: CountingRewardAutomaton, steps: int, most: int) -> Reached:
    """What an automaton with one counter reaches: its translation's stack is the counter in boxes (Appendix B)."""
    walk = reached(domain, counting_to_pushdown(counting), steps, most)
    return replace(walk, counters=walk.strings)


def _first_label(domain: FiniteDomain) -> int:
    """1 where a label is read before the first step."""
    return int(bool((domain.arrays.start_label != NO_LABEL).any()))


def number(value: int | None) -> Record | None:
    """A number of any length for JSON.

    >>> number(12), number(10**100)
    ({'exact': 12, 'log10': 1.0792}, {'exact': None, 'log10': 100.0})
    """
    if value is None:
        return None
    return {"exact": value if value < EXACT else None, "log10": round(digits(value), 4)}


class _Scale(NamedTuple):
    """Sizes that grow with the episode: the machine's growth, the steps asked for, the labels read before the first."""

    growth: StackGrowth
    limit: int
    first: int

    def size(self, what: str, theorem: int, factor: int, walk: Reached, counts: Sequence[int]) -> Record:
        """One of them: `factor` rows a string, and what the walk counted, as far as it got."""
        place = walk.within(self.limit)
        counted, within = (counts[-1], walk.steps) if place is None else (counts[place], self.limit)
        small, small_bound = self.printed(factor, within), self.bound(factor, within)
        return {
            "what": what,
            "theorem": theorem,
            "printed": number(self.printed(factor, self.limit)),
            "bound": number(self.bound(factor, self.limit)),
            "bound_within": number(small_bound),
            "reachable": counted,
            "within": within,
            "holds": counted <= small_bound,
            "printed_holds": None if small is None else counted <= small,
        }

    def bound(self, factor: int, steps: int) -> int:
        """The rows there are room for within so many steps."""
        return factor * stack_strings(self.growth, steps + self.first)

    def printed(self, factor: int, steps: int) -> int | None:
        """The same by the number that the paper prints."""
        strings = theorem_1(self.growth, steps + self.first)
        return None if strings is None else factor * strings


def _k_size(k: int, bound: int, fewest: Numbers, limit: int) -> Record:
    """The size of a k-policy: the bound does not depend on the episode."""
    counted = int((fewest <= limit).sum())
    bounds = dict.fromkeys(("printed", "bound", "bound_within"), number(bound))
    holds = {"holds": len(fewest) <= bound, "printed_holds": len(fewest) <= bound}
    return {"what": f"{k}-policy", "theorem": 2, **bounds, "reachable": counted, "within": limit, "k": k, **holds}


def _seen(what: str, seen: Sequence[Seen]) -> list[Record]:
    """The most of a size that the runs of each agent met."""
    found: dict[tuple[str, str], list[int]] = {}
    for one in seen:
        agent, k = str(one["agent"]), str(one["k"])
        policy = "full policy" if k == "full" else f"{k}-policy"
        met = {"stack strings": one.get("strings"), "counter configurations": one.get("counters")}
        met["CRA policy" if one.get("counters") is not None else policy] = one["rows"]
        if (count := met.get(what)) is not None:
            found.setdefault((agent, k), []).append(int(count))
    return [{"agent": agent, "k": k, "runs": len(counts), "most": max(counts)} for (agent, k), counts in found.items()]


def _growth(scale: _Scale, walk: Reached, fewest: Mapping[int, Numbers], factor: int) -> list[Record]:
    """The sizes after some numbers of steps, close together at first; null where the walk did not get."""
    rows = []
    for n in _sampled(scale.limit, walk.steps):
        place = walk.within(n)
        counted: dict[str, int | None] = dict.fromkeys(("strings", "rows", "counters"))
        if place is not None:
            counted = {name: getattr(walk, name)[place] for name in counted}
        views = {str(k): int((found <= n).sum()) for k, found in fewest.items()}
        rows.append({"steps": n, "bound": number(scale.bound(factor, n)), **counted, "views": views})
    return rows


def _sampled(limit: int, walked: int) -> list[int]:
    """All numbers up to 20, then about ten a decade and the round ones, the last, and how far the walk got."""
    spread = {round(20 * 1.25**power) for power in range(60)}
    round_ones = {digit * 10**power for power in range(7) for digit in (1, 2, 5)}
    return sorted(n for n in {*range(21), *spread, *round_ones, min(limit, walked), limit} if n <= limit)
