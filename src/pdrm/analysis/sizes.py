"""The sizes of policies: what Section 5 allows, what can be reached, what training has seen.

Theorems 1 to 4 as exact numbers, and bounds that always hold. A theorem's number is a *blow-up*: the
rows that a policy's table may take for each of the |S| × |U| pairs of states. n is the number of
labels read (one more than the steps if the domain emits a label at reset). A bound can have
thousands of digits: in JSON it is `{"exact": integer or null, "log10": number}`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pdrm.analysis.k_policy import check_ks
from pdrm.analysis.reachable_rows import MAX_ROWS, Counted, count_views, find_heads, survey
from pdrm.domains.finite_domain import NO_LABEL
from pdrm.drawing.trace import align
from pdrm.errors import BadSetting
from pdrm.machines.conversions import counting_to_pushdown
from pdrm.machines.heads import StackGrowth, stack_growth
from pdrm.task import DomainLike, MachineLike, Task

EXACT = 2**53
"""Integers below this are the same in every JSON reader."""
MAX_STEPS = 1_000_000
"""Steps of an episode at most: the bounds have about as many digits."""

Record = dict[str, Any]
Seen = Mapping[str, Any]
"""The content of a trained table: `agent`, `k`, `seed`, `rows`, and `strings` or `counters`."""


# --- Four formulas


def count_strings(symbols: int, length: int) -> int:
    """The strings of at most `length` symbols: |Γ|⁰ + |Γ|¹ + … + |Γ|^length.

    >>> [count_strings(symbols, 3) for symbols in (1, 2, 5)]
    [4, 15, 156]
    """
    if symbols < 1 or length < 0:
        fault = f"{symbols} symbols and length {length}"
        raise BadSetting(fault, fix="use at least one symbol and a non-negative length")
    return length + 1 if symbols == 1 else (symbols ** (length + 1) - 1) // (symbols - 1)


def theorem_1(growth: StackGrowth, n: int) -> int | None:
    """Theorem 1, a policy that sees the whole stack: strings of at most n·m·(e + 1) symbols.

    Theorem 3's number is the same: the automaton that simulates the stack has a counter
    configuration for each string. None if e does not exist. If the initial symbol can be replaced,
    the number may be too small: see `count_stack_strings`.

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
    """Theorem 4, any automaton for marked palindromes: the 2ⁿ words of n letters, told apart.

    Its states tell some of them apart, so this bounds pairs of state and counters; the counters
    alone are at least 2ⁿ / |U| (the paper's Ω(2ⁿ), with its constant).
    """
    return 1 << n


def count_stack_strings(growth: StackGrowth, n: int) -> int:
    """The strings no longer than the highest stack after n labels: Theorem 1, true of any machine.

    The stack at the beginning is counted, and the growth of a step is taken from the machine.
    """
    return count_strings(growth.symbols, growth.longest(n))


# --- And a count


class Sizes(dict[str, Any]):
    """The sizes as JSON data, which a notebook shows as the table that `pdrm sizes` prints.

    >>> answer = sizes("letter", steps=100, k=1)
    >>> answer
    <Sizes of letter with machine letter, 100 steps: full policy 3,060 rows, 1-policy 104, CRA policy 3,060>
    >>> print(str(answer).splitlines()[3])
    1-policy                2        252         252     104        -
    """

    HEADS = ("", "theorem", "as printed", "bound", "reachable", "seen in training")

    def rows(self) -> list[list[str]]:
        """The cells of the table, row by row."""
        return [
            [
                size["what"],
                str(size["theorem"]),
                number_text(size["printed"]) + " (too small)" * (size["printed_holds"] is False),
                number_text(size["bound"]),
                self._reached_text(size),
                ", ".join(map(_seen_text, size["seen"])) or "-",
            ]
            for size in self["sizes"]
        ]

    def _reached_text(self, size: Record) -> str:
        within = size["within"]
        limit = "" if within in (None, self["steps"]) else f" within {within:,} steps"
        return f"{size['reachable']:,}{limit}"

    def __repr__(self) -> str:
        policies = [size for size in self["sizes"] if size["what"].endswith("policy")]
        said = ", ".join(
            f"{one['what']} {one['reachable']:,}{' rows' * (not place)}"
            for place, one in enumerate(policies)
        )
        return f"<Sizes of {self['domain']} with machine {self['machine']}, {self['steps']:,} steps: {said}>"

    def __str__(self) -> str:
        return align([self.HEADS, *self.rows()])

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
    seen: Sequence[Seen] = (),
    most: int = MAX_ROWS,
) -> Sizes:
    """Count the rows that each kind of policy takes: what the theorems allow, what can be reached.

    Counters are those of the task's machine if it has one counter, else the two that simulate the stack.

    Args:
        task: A `Task`, or a domain, its name or its file.
        machine: A machine instead of the task's own, as for `Task`.
        steps: Steps of an episode (default: the domain's limit).
        k: The k-policies to count, in episodes of any length: their `within` is None.
        seen: The tables of trained runs.
        most: Product states that are listed, at most.

    >>> record = sizes("letter", steps=100, k=1)
    >>> [(size["what"], size["reachable"]) for size in record["sizes"]]
    [('stack strings', 51), ('full policy', 3060), ('1-policy', 104), ('counter configurations', 51), ('CRA policy', 3060)]
    >>> record["holds"]
    True
    """
    given = task if isinstance(task, Task) and machine is None else Task(task, machine)
    counting = given.counting if given.has_counting_automaton else None
    domain = given.finite
    machine = given.pushdown
    limit = domain.step_limit if steps is None else steps
    if not 0 <= limit <= MAX_STEPS:
        raise BadSetting(
            f"episodes of {limit:,} steps", fix=f"use an integer from 0 to {MAX_STEPS}, such as 20"
        )
    growth = stack_growth(machine)
    walk = survey(domain, machine, limit, most)
    ks = check_ks(k)
    views = count_views(machine, find_heads(domain, machine), ks)
    pairs = domain.states * len(machine.states)
    first = int((domain.arrays.start_label != NO_LABEL).any())
    counters = (
        walk if counting is None else survey(domain, counting_to_pushdown(counting), limit, most)
    )
    vectors = walk.counters if counting is None else counters.strings

    def size(
        what: str,
        theorem: int,
        reachable: int,
        within: int | None,
        bounds: Sequence[int],
        printed: Sequence[int | None],
    ) -> Record:
        """One size; the bounds are those of the whole episode, then of the steps that were walked."""
        return {
            "what": what,
            "theorem": theorem,
            "printed": to_json(printed[0]),
            "bound": to_json(bounds[0]),
            "bound_within": to_json(bounds[1]),
            "reachable": reachable,
            "within": within,
            "holds": reachable <= bounds[1],
            "printed_holds": None if printed[1] is None else reachable <= printed[1],
            "seen": _collect_seen(what, seen),
        }

    def growing(
        what: str, theorem: int, factor: int, walked: Counted, counts: Sequence[int]
    ) -> Record:
        """A size that grows with the episode: `factor` rows for each string."""
        within = limit if walked.closed else walked.steps
        bounds = [factor * count_stack_strings(growth, n + first) for n in (limit, within)]
        strings = [theorem_1(growth, n + first) for n in (limit, within)]
        printed = [None if number is None else factor * number for number in strings]
        return size(what, theorem, counts[-1], within, bounds, printed)

    def k_size(symbols: int) -> Record:
        """The size of a k-policy, in episodes of any length."""
        bounds = 2 * [pairs * theorem_2(growth, symbols)]
        found = size(f"{symbols}-policy", 2, views[symbols], None, bounds, bounds)
        return {**found, "k": symbols}

    counted = [
        growing("stack strings", 1, 1, walk, walk.strings),
        growing("full policy", 1, pairs, walk, walk.rows),
        *map(k_size, ks),
        growing("counter configurations", 3, 1, counters, vectors),
        growing("CRA policy", 3, pairs, counters, counters.rows),
    ]
    return Sizes(
        {
            "domain": domain.name,
            "machine": machine.name,
            "counting": None if counting is None else counting.name,
            "environment_states": domain.states,
            "machine_states": len(machine.states),
            **asdict(growth),
            "steps": limit,
            "labels": limit + first,
            "sizes": counted,
            "holds": all(one["holds"] for one in counted),
        }
    )


def _seen_text(one: Record) -> str:
    """The largest table of some runs."""
    runs = f"{one['runs']} run{'s' * (one['runs'] != 1)}"
    return f"{one['agent']}-{one['k']}: {one['most']:,} ({runs})"


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


def _collect_seen(what: str, seen: Sequence[Seen]) -> list[Record]:
    """The largest number that the runs of each agent reached."""
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
