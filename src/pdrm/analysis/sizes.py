"""The sizes of policies: the bounds of Section 5, the reachable sizes, and sizes after training.

Theorems 1 to 4 as exact numbers, and bounds that always hold. A theorem's number is a *blow-up*:
the number of rows of a policy's table for each of the |S| × |U| pairs of states. n is the number of
labels read (one more than the steps if the domain emits a label at reset). A bound can have
thousands of digits. In JSON it is `{"exact": integer or null, "log10": number}`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from pdrm.analysis.k_policy import check_ks
from pdrm.analysis.reachable_rows import (
    MAX_ROWS,
    RowCounts,
    count_reachable,
    count_views,
    find_heads,
)
from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain, from_arrays
from pdrm.drawing.trace import align
from pdrm.errors import BadSetting
from pdrm.machines.conversions import counting_to_pushdown
from pdrm.machines.guards import label_text
from pdrm.machines.heads import StackGrowth, stack_growth
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.task import DomainLike, MachineLike, Task
from pdrm.wording import plural

EXACT = 2**53
"""Integers below this are exact in every JSON reader."""
MAX_STEPS = 1_000_000
"""The maximum number of steps of an episode. Bounds have about as many digits."""

MAX_LABELS = 4096
"""The maximum number of labels of a machine for the domain of all words."""

Record = dict[str, Any]
TrainedTable = Mapping[str, Any]
"""The size of a trained table: `agent`, `k`, `seed`, `rows`, and `strings` or `counters`."""


# --- Formulas


def count_strings(symbols: int, length: int) -> int:
    """The number of strings of at most `length` symbols: |Γ|⁰ + |Γ|¹ + … + |Γ|^length.

    >>> [count_strings(symbols, 3) for symbols in (1, 2, 5)]
    [4, 15, 156]
    """
    if symbols < 1 or length < 0:
        raise BadSetting(
            f"{symbols} symbols and length {length}",
            fix="use at least one symbol and a non-negative length",
        )
    return length + 1 if symbols == 1 else (symbols ** (length + 1) - 1) // (symbols - 1)


def theorem_1(growth: StackGrowth, n: int) -> int | None:
    """Theorem 1, for policies that see the whole stack: strings of at most n·m·(e + 1) symbols.

    Theorem 3 has the same number: the automaton that simulates the stack has a counter
    configuration for each string. None if e does not exist. The number can be too small if the
    initial symbol can be replaced (see `count_stack_strings`).

    >>> theorem_1(StackGrowth(symbols=1, added=2, silent_pushes=1, begun=1, step=4), 10)
    41
    """
    if growth.silent_pushes is None:
        return None
    return count_strings(growth.symbols, n * growth.added * (growth.silent_pushes + 1))


def theorem_2(growth: StackGrowth, k: int) -> int:
    """Theorem 2, for k-policies: strings of at most k symbols, for episodes of any length."""
    return count_strings(growth.symbols, k)


def theorem_4(n: int) -> int:
    """Theorem 4, for automata of marked palindromes: they must distinguish 2ⁿ words of n letters.

    This bounds (state, counters) pairs. The counters alone need at least 2ⁿ / |U| values (the
    paper's Ω(2ⁿ), with its constant).
    """
    return 1 << n


def count_stack_strings(growth: StackGrowth, n: int) -> int:
    """A corrected Theorem 1: the number of strings up to the highest possible stack after n labels.

    It counts the initial stack and takes the growth of a step from the machine, so it always holds.
    """
    return count_strings(growth.symbols, growth.longest(n))


# --- Counts


def all_words(machine: PushdownRewardMachine, step_limit: int = 20) -> FiniteDomain:
    """The domain that can emit every word: one state, and one action for each label."""
    labels = list(islice(machine.alphabet.labels(), MAX_LABELS + 1))
    if len(labels) > MAX_LABELS:
        raise BadSetting(
            f"`{machine.name}` has more than {MAX_LABELS:,} labels",
            fix="declare events exclusive, or name a domain",
        )
    return from_arrays(
        "all words",
        [[0] * len(labels)],
        [list(range(len(labels)))],
        labels,
        step_limit=step_limit,
        events=machine.events,
        actions=tuple(map(label_text, labels)),
    )


class Sizes(dict[str, Any]):
    """The sizes as JSON data. Printed and in notebooks, it is the table of `pdrm sizes`.

    >>> answer = sizes("letter", steps=100, k=1)
    >>> print(repr(answer)[:78])
    <Sizes of letter with machine letter, 100 steps: full policy 3,060 rows, 1-pol
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
                number_text(size["printed"])
                + (" (too small)" if size["printed_holds"] is False else ""),
                number_text(size["bound"]),
                self._reachable_text(size),
                ", ".join(map(_seen_text, size["seen"])) or "-",
            ]
            for size in self["sizes"]
        ]

    def _reachable_text(self, size: Record) -> str:
        within = size["within"]
        limit = "" if within in (None, self["steps"]) else f" within {within:,} steps"
        return f"{size['reachable']:,}{limit}"

    def __repr__(self) -> str:
        counts = [
            f"{size['what']} {size['reachable']:,} rows"
            for size in self["sizes"]
            if size["what"].endswith("policy")
        ]
        task = f"{self['domain']} with machine {self['machine']}, {self['steps']:,} steps"
        return f"<Sizes of {task}: {', '.join(counts)}>"

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
    seen: Sequence[TrainedTable] = (),
    most: int = MAX_ROWS,
) -> Sizes:
    """Count the rows of each kind of policy: the bounds of the theorems, and the reachable rows.

    Counters are the task's own if its machine has one counter, otherwise the two counters that
    simulate the stack.

    Args:
        task: A `Task`, or a domain, its name or its file.
        machine: A machine instead of the task's, as for `Task`.
        steps: Steps of an episode (default: the domain's limit).
        k: The k-policies to count, in episodes of any length: their `within` is None.
        seen: The tables of trained runs.
        most: The maximum number of product states that are listed.

    >>> record = sizes("letter", steps=100, k=1)
    >>> [(size["what"], size["reachable"]) for size in record["sizes"][:3]]
    [('stack strings', 51), ('full policy', 3060), ('1-policy', 104)]
    >>> record["holds"]
    True
    """
    chosen = task if isinstance(task, Task) and machine is None else Task(task, machine)
    counting = chosen.counting if chosen.has_counting_automaton else None
    domain = chosen.finite
    machine = chosen.pushdown
    limit = domain.step_limit if steps is None else steps
    if not 0 <= limit <= MAX_STEPS:
        raise BadSetting(
            f"episodes of {limit:,} steps", fix=f"use an integer from 0 to {MAX_STEPS}, such as 20"
        )
    growth = stack_growth(machine)
    walk = count_reachable(domain, machine, limit, most)
    ks = check_ks(k)
    views = count_views(machine, find_heads(domain, machine), ks)
    pairs = domain.states * len(machine.states)
    first = int((domain.arrays.start_label != NO_LABEL).any())
    counters = (
        walk
        if counting is None
        else count_reachable(domain, counting_to_pushdown(counting), limit, most)
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
        """A size. `bounds` and `printed` are for the whole episode and for the steps walked."""
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
        what: str, theorem: int, factor: int, walked: RowCounts, counts: Sequence[int]
    ) -> Record:
        """A size that grows with the episode: `factor` rows per string."""
        within = limit if walked.closed else walked.steps
        bounds = [factor * count_stack_strings(growth, n + first) for n in (limit, within)]
        strings = [theorem_1(growth, n + first) for n in (limit, within)]
        printed = [None if number is None else factor * number for number in strings]
        return size(what, theorem, counts[-1], within, bounds, printed)

    def k_size(symbols: int) -> Record:
        """The size of a k-policy, in episodes of any length."""
        bounds = 2 * [pairs * theorem_2(growth, symbols)]
        record = size(f"{symbols}-policy", 2, views[symbols], None, bounds, bounds)
        return {**record, "k": symbols}

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
            "holds": all(record["holds"] for record in counted),
        }
    )


def _seen_text(seen: Record) -> str:
    """The largest table of the runs of an agent."""
    return f"{seen['agent']}-{seen['k']}: {seen['most']:,} ({plural(seen['runs'], 'run')})"


def number_text(number: Record | None) -> str:
    """A bound as text.

    >>> number_text({"exact": 1234, "log10": 3.09}), number_text(None)
    ('1,234', 'none')
    >>> number_text({"exact": None, "log10": 107.5759})
    '3.8e107'
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


def _collect_seen(what: str, seen: Sequence[TrainedTable]) -> list[Record]:
    """The largest size that the runs of each agent reached."""
    by_agent: dict[tuple[str, str], list[int]] = {}
    for table in seen:
        agent, k = str(table["agent"]), str(table["k"])
        strings, counters = table.get("strings"), table.get("counters")
        policy = "full policy" if k == "full" else f"{k}-policy"
        if counters is not None:
            policy = "CRA policy"
        counts = {
            "stack strings": strings,
            "counter configurations": counters,
            policy: table["rows"],
        }
        if (count := counts.get(what)) is not None:
            by_agent.setdefault((agent, k), []).append(int(count))
    return [
        {"agent": agent, "k": k, "runs": len(counts), "most": max(counts)}
        for (agent, k), counts in by_agent.items()
    ]
