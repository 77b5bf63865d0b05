"""How large policies get: what Section 5 allows, what can be reached, what training has seen.

Theorems 1 to 4 as exact numbers, and the bounds that always hold. A theorem's number is a *blow-up*: how many times |S| × |U|
rows a policy's table may take. `n` is the number of labels read (one more than the steps where a domain emits one at reset).
`sizes_record` puts them side by side as plain JSON data for the command, the report and the claims. A bound can have thousands of
digits: it is given as `{"exact": integer or null, "log10": number}`, exact where a JSON reader keeps it so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pdrm.analysis.k_policy import check_ks
from pdrm.analysis.reach import MOST_ROWS, Reached, find_views, survey
from pdrm.domains.finite_domain import NO_LABEL
from pdrm.errors import BadSetting
from pdrm.machines.checks.pushdown_analysis import StackGrowth, stack_growth
from pdrm.machines.conversions import counting_to_pushdown
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.product.finite_kernel import Numbers
from pdrm.task import COUNTED, DomainLike, MachineLike, Task

EXACT = 2**53
"""Integers below this are the same in every JSON reader."""

MOST_STEPS = 1_000_000
"""Steps of an episode at most: the bounds have about as many digits."""

Record = dict[str, Any]
Seen = Mapping[str, Any]
"""What one trained table contains: `agent`, `k`, `seed`, `rows`, and `strings` or `counters`."""


def count_strings(symbols: int, length: int) -> int:
    """How many strings of at most so many symbols there are: |Γ|⁰ + |Γ|¹ + … + |Γ|^length.

    >>> [count_strings(symbols, 3) for symbols in (1, 2, 5)]
    [4, 15, 156]
    """
    if symbols < 1 or length < 0:
        fault = f"{symbols} symbols and length {length}"
        raise BadSetting(fault, fix="use at least one symbol and a non-negative length")
    return length + 1 if symbols == 1 else (symbols ** (length + 1) - 1) // (symbols - 1)


def theorem_1(growth: StackGrowth, n: int) -> int | None:
    """Theorem 1, a policy that sees the whole stack: the strings of at most n·m·(e + 1) symbols, as printed.

    Theorem 3's number is the same: the automaton that simulates the stack has a counter configuration for each string.
    None where e does not exist. Where the initial symbol can go, the number printed may be too small: see `count_stack_strings`.

    >>> theorem_1(StackGrowth(symbols=1, added=2, silent_pushes=1, begun=1, step=4), 10)
    41
    """
    if growth.silent_pushes is None:
        return None
    return count_strings(growth.symbols, n * growth.added * (growth.silent_pushes + 1))


def theorem_2(growth: StackGrowth, k: int) -> int:
    """Theorem 2, a k-policy: the strings of at most k symbols, however long the episode."""
    return count_strings(growth.symbols, k)


def theorem_4(n: int) -> int:
    """Theorem 4, any automaton for marked palindromes: 2ⁿ words of n letters, which it must tell apart.

    Its states tell some of them apart, so this bounds pairs of state and counters; the counters alone are at least
    2ⁿ / |U| (the paper's Ω(2ⁿ), with its constant).
    """
    return 1 << n


def count_stack_strings(growth: StackGrowth, n: int) -> int:
    """The strings no longer than the highest stack after n labels: what Theorem 1 means, true of every machine.

    The stack the episode begins with is counted, and what a step adds is taken from the machine rather than m(e + 1).
    """
    return count_strings(growth.symbols, growth.longest(n))


def sizes_record(
    task: Task,
    *,
    steps: int | None = None,
    k: int | Iterable[int] = (0, 1, 2),
    counting: CountingRewardAutomaton | None = None,
    seen: Sequence[Seen] = (),
    most: int = MOST_ROWS,
) -> Record:
    """The sizes for episodes of so many steps (the domain's limit unless given). `counting`: an automaton with one counter
    for the same task; without one, the two counters that simulate the stack are counted.

    >>> record = sizes_record(Task("letter"), steps=100, k=1)
    >>> [(size["what"], size["reachable"]) for size in record["sizes"]]
    [('stack strings', 51), ('full policy', 3060), ('1-policy', 104), ('counter configurations', 51), ('CRA policy', 3060)]
    >>> record["holds"]
    True
    """
    domain, machine = task.finite, task.pushdown
    limit = domain.step_limit if steps is None else steps
    if not 0 <= limit <= MOST_STEPS:
        raise BadSetting(
            f"episodes of {limit:,} steps",
            fix=f"use integers from 0 to {MOST_STEPS}, such as 20 (--steps 20)",
        )
    growth, walk, views = (
        stack_growth(machine),
        survey(domain, machine, limit, most),
        find_views(domain, machine),
    )
    fewest = {symbols: views.steps(symbols) for symbols in check_ks(k)}
    factor = domain.states * len(machine.states)
    scale = _Scale(growth, limit, int((domain.arrays.start_label != NO_LABEL).any()))
    counters = walk
    if counting is not None:  # its translation's stack is the counter in boxes (Appendix B)
        walked = survey(domain, counting_to_pushdown(counting), limit, most)
        counters = replace(walked, counters=walked.strings)
    counted = [
        scale.size("stack strings", 1, 1, walk, walk.strings),
        scale.size("full policy", 1, factor, walk, walk.rows),
        *(_k_size(k, factor * theorem_2(growth, k), found, limit) for k, found in fewest.items()),
        scale.size("counter configurations", 3, 1, counters, counters.counters),
        scale.size("CRA policy", 3, factor, counters, counters.rows),
    ]
    for size in counted:
        size["seen"] = _collect_seen(size["what"], seen)
    return {
        "domain": domain.name,
        "machine": machine.name,
        "counting": None if counting is None else counting.name,
        "environment_states": domain.states,
        "machine_states": len(machine.states),
        **{
            name: getattr(growth, name)
            for name in ("symbols", "added", "silent_pushes", "begun", "step")
        },
        "steps": limit,
        "labels": limit + scale.first,
        "sizes": counted,
        "growth": _sample_growth(scale, walk, fewest, factor),
        "holds": all(size["holds"] for size in counted),
    }


class Sizes(dict[str, Any]):
    """What `pdrm.sizes` found: the record of `sizes_record`, which a notebook shows as the table that `pdrm sizes` prints.

    >>> answer = sizes("letter", steps=100, k=1)
    >>> answer
    <Sizes of letter with machine letter, 100 steps: full policy 3,060 rows, 1-policy 104, CRA policy 3,060>
    >>> print(str(answer).splitlines()[3])
    1-policy                2        252         252     104
    """

    HEADS = ("", "theorem", "as printed", "bound", "reachable")

    def rows(self) -> list[list[str]]:
        """The cells of the table, row by row."""
        return [
            [
                size["what"],
                str(size["theorem"]),
                number_text(size["printed"]) + " (too small)" * (size["printed_holds"] is False),
                number_text(size["bound"]),
                f"{size['reachable']:,}"
                + f" within {size['within']:,} steps" * (size["within"] != self["steps"]),
            ]
            for size in self["sizes"]
        ]

    def __repr__(self) -> str:
        policies = [size for size in self["sizes"] if size["what"].endswith("policy")]
        said = ", ".join(
            f"{one['what']} {one['reachable']:,}{' rows' * (not place)}"
            for place, one in enumerate(policies)
        )
        return f"<Sizes of {self['domain']} with machine {self['machine']}, {self['steps']:,} steps: {said}>"

    def __str__(self) -> str:
        cells = [[*self.HEADS], *self.rows()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        )

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, table

        return html("p", repr(self).strip("<>")) + table(
            self.HEADS, self.rows(), range(1, len(self.HEADS))
        )


def sizes(
    task: Task | DomainLike,
    machine: MachineLike | None = None,
    *,
    steps: int | None = None,
    k: int | Iterable[int] = (0, 1, 2),
) -> Sizes:
    """How many rows each kind of policy takes: what the theorems allow, and what can be reached.

    task: a `Task`, or a domain, its name or its file. machine: as for `Task`, in place of the task's own. steps: of an episode; None:
    the domain's limit. k: the k-policies to count.

    >>> sizes("maze-5x5", k=1)["sizes"][2]["reachable"]
    59
    """
    given = task if isinstance(task, Task) and machine is None else Task(task, machine)
    own = isinstance(given.machine, CountingRewardAutomaton) or (
        given.text is None and given.machine.name in COUNTED
    )
    return Sizes(sizes_record(given, steps=steps, k=k, counting=given.counting if own else None))


def number_text(number: Record | None) -> str:
    """A bound for people.

    >>> number_text({"exact": 1234, "log10": 3.09}), number_text({"exact": None, "log10": 107.5759}), number_text(None)
    ('1,234', '3.8e107', 'none')
    """
    if number is None:
        return "none"
    if number["exact"] is not None and number["exact"] < 10**9:
        return f"{number['exact']:,}"
    power = int(number["log10"])
    return f"{10 ** (number['log10'] - power):.1f}e{power}"


def to_json(value: int | None) -> Record | None:
    """A number of any length for JSON.

    >>> to_json(12), to_json(10**100)
    ({'exact': 12, 'log10': 1.0792}, {'exact': None, 'log10': 100.0})
    """
    if value is None:
        return None
    return {
        "exact": value if value < EXACT else None,
        "log10": round(math.log10(value), 4) if value else 0.0,
    }


class _Scale(NamedTuple):
    """Sizes that grow with the episode: the machine's growth, the steps asked for, the labels read before the first (0 or 1)."""

    growth: StackGrowth
    limit: int
    first: int

    def size(
        self, what: str, theorem: int, factor: int, walk: Reached, counts: Sequence[int]
    ) -> Record:
        """One of them: `factor` rows per string, and what the walk counted, as far as it got."""
        place = walk.within(self.limit)
        counted, within = (counts[-1], walk.steps) if place is None else (counts[place], self.limit)
        small, small_bound = self.printed(factor, within), self.bound(factor, within)
        return {
            "what": what,
            "theorem": theorem,
            "printed": to_json(self.printed(factor, self.limit)),
            "bound": to_json(self.bound(factor, self.limit)),
            "bound_within": to_json(small_bound),
            "reachable": counted,
            "within": within,
            "holds": counted <= small_bound,
            "printed_holds": None if small is None else counted <= small,
        }

    def bound(self, factor: int, steps: int) -> int:
        """The rows there are room for within so many steps."""
        return factor * count_stack_strings(self.growth, steps + self.first)

    def printed(self, factor: int, steps: int) -> int | None:
        """The same by the number that the paper prints."""
        strings = theorem_1(self.growth, steps + self.first)
        return None if strings is None else factor * strings


def _k_size(k: int, bound: int, fewest: Numbers, limit: int) -> Record:
    """The size of a k-policy: the bound does not depend on the episode."""
    counted = int((fewest <= limit).sum())
    bounds = dict.fromkeys(("printed", "bound", "bound_within"), to_json(bound))
    holds = {"holds": len(fewest) <= bound, "printed_holds": len(fewest) <= bound}
    return {
        "what": f"{k}-policy",
        "theorem": 2,
        **bounds,
        "reachable": counted,
        "within": limit,
        "k": k,
        **holds,
    }


def _collect_seen(what: str, seen: Sequence[Seen]) -> list[Record]:
    """The most of a size that the runs of each agent reached."""
    found: dict[tuple[str, str], list[int]] = {}
    for one in seen:
        agent, k = str(one["agent"]), str(one["k"])
        policy = "full policy" if k == "full" else f"{k}-policy"
        table = {"stack strings": one.get("strings"), "counter configurations": one.get("counters")}
        table["CRA policy" if one.get("counters") is not None else policy] = one["rows"]
        if (count := table.get(what)) is not None:
            found.setdefault((agent, k), []).append(int(count))
    return [
        {"agent": agent, "k": k, "runs": len(counts), "most": max(counts)}
        for (agent, k), counts in found.items()
    ]


def _sample_growth(
    scale: _Scale, walk: Reached, fewest: Mapping[int, Numbers], factor: int
) -> list[Record]:
    """The sizes after all numbers of steps up to 20, then about ten per decade and the round ones, how far the walk got, and
    the last; null where the walk did not get."""
    spread = {round(20 * 1.25**power) for power in range(60)}
    round_ones = {digit * 10**power for power in range(7) for digit in (1, 2, 5)}
    rows = []
    for n in sorted({*range(21), *spread, *round_ones, walk.steps, scale.limit}):
        if n <= scale.limit:
            place = walk.within(n)
            names = ("strings", "rows", "counters")
            counted = {
                name: None if place is None else getattr(walk, name)[place] for name in names
            }
            views = {str(k): int((found <= n).sum()) for k, found in fewest.items()}
            rows.append(
                {"steps": n, "bound": to_json(scale.bound(factor, n)), **counted, "views": views}
            )
    return rows
