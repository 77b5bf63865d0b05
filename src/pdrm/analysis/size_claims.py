"""Section 5's claims about sizes, measured on the catalogue's machines.

A theorem is about growth (O and Ω); the number behind it is checked, with the initial stack counted.
Theorem 4 is measured on marked palindromes, which need exponentially many counter configurations and
five rows of a 1-policy: after n letters and no mark, an automaton must be in a different
configuration for each of the 2ⁿ words. The two counters of `machines/conversions.py` keep the last
letter in their state, so the counters alone take 2ⁿ⁻¹ values for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from pdrm.analysis.sizes import Record, sizes, theorem_4
from pdrm.domains.finite_domain import FiniteDomain, from_arrays
from pdrm.errors import BadSetting
from pdrm.machines.conversions import counting_configuration, pushdown_to_counting
from pdrm.machines.guards import label_text
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Stack
from pdrm.task import pushdown_machine

MAX_LABELS = 4096
"""Labels of a machine at most, for the domain of all words."""
LETTERS = tuple(frozenset(letter) for letter in "01x")
MACHINE = "marked-palindrome"
DOMAINS = (
    "letter",
    "maze-5x5",
    "maze-10x10",
    "maze-20x20",
    "multi-10x10",
    "deliver-8",
    "deliver-4-8",
    "paint",
    "echo",
)
"""The paper's tabular domains and Echo; multi-20x20 takes half a minute more and shows the same."""


def all_words(machine: PushdownRewardMachine, step_limit: int = 20) -> FiniteDomain:
    """The domain in which every word can happen: one state, and one action for each label. It shows a machine by itself."""
    labels = list(islice(machine.alphabet.labels(), MAX_LABELS + 1))
    if len(labels) > MAX_LABELS:
        fault = f"`{machine.name}` has more than {MAX_LABELS:,} labels"
        raise BadSetting(fault, fix="declare events exclusive, or name a domain")
    following, label, actions = (
        [[0] * len(labels)],
        [list(range(len(labels)))],
        tuple(map(label_text, labels)),
    )
    return from_arrays(
        "all words",
        following,
        label,
        labels,
        step_limit=step_limit,
        events=machine.events,
        actions=actions,
    )


@dataclass(frozen=True, slots=True)
class Blowup:
    """Counts after all words of n letters over 0, 1 and x, except those that are refused.

    >>> measure_blowup(3)[3]
    Blowup(n=3, words=27, least=8, configurations=12, counters=6, counters_within=8, one_policy_rows=5)
    """

    n: int
    words: int
    """All words of n letters."""
    least: int
    """The number of Theorem 4: 2ⁿ."""
    configurations: int
    """Pairs of state and counters."""
    counters: int
    """Counter configurations."""
    counters_within: int
    """Counter configurations after words of at most n letters, as in a policy's table for n steps."""
    one_policy_rows: int
    """Rows of the pushdown machine's 1-policy, for words of at most n letters."""


def measure_blowup(longest: int = 14) -> list[Blowup]:
    """Read all words of 0 to `longest` letters."""
    machine = pushdown_machine(MACHINE)
    here = {machine.begin().after}
    within, rows = set[tuple[int, ...]](), set[tuple[str, Stack]]()
    found = []
    for n in range(longest + 1):
        counted = {counting_configuration(machine, configuration) for configuration in here}
        vectors = {configuration.counters for configuration in counted}
        within |= vectors
        rows |= {(one.state, one.stack[:1]) for one in here}
        counts = len(counted), len(vectors), len(within)
        found.append(Blowup(n, len(LETTERS) ** n, theorem_4(n), *counts, len(rows)))
        after = {machine.step(one, letter).after for one in here for letter in LETTERS}
        here = {one for one in after if one.state not in machine.final}
    return found


def size_claims(
    records: Sequence[Record] | None = None, blown: Sequence[Blowup] | None = None
) -> list[Record]:
    """The facts size-full, size-k and size-cra (default: measured, which takes about ten seconds).

    >>> facts = size_claims([sizes("letter")], measure_blowup(4))
    >>> [(fact["id"], fact["holds"]) for fact in facts]
    [('size-full', True), ('size-k', True), ('size-cra', True)]
    """
    measured = [sizes(name) for name in DOMAINS] if records is None else records
    rows = measure_blowup() if blown is None else blown
    states = len(pushdown_to_counting(pushdown_machine(MACHINE)).states)
    columns = ["n", "configurations", "counters", "counters_within", "one_policy_rows"]
    told_apart = {
        "at_least": [row.least for row in rows],
        **{name: [getattr(row, name) for row in rows] for name in columns},
        "automaton_states": states,
    }
    enough = all(
        row.configurations >= row.least and row.counters * states >= row.least for row in rows
    )
    whole = (
        "Theorem 1: a policy over whole stacks has at most |S| |U| (|Γ|⁰ + … + |Γ|^h) rows,"
        " h the highest stack"
    )
    top = "Theorem 2: a k-policy has at most |S| |U| (|Γ|⁰ + … + |Γ|^k) rows in any episode"
    counters = (
        "Theorem 3: a policy over counters that simulate the stack is no larger than Theorem 1"
        " allows; Theorem 4: after n letters, an automaton for marked palindromes is in one of at"
        " least 2ⁿ configurations"
    )
    facts = [
        _fact("size-full", whole, 1, measured),
        _fact("size-k", top, 2, measured),
        _fact("size-cra", counters, 3, measured),
    ]
    facts[2]["numbers"] = {**told_apart, "policies": facts[2]["numbers"]}
    facts[2]["holds"] &= enough
    return facts


def _fact(name: str, claim: str, theorem: int, records: Sequence[Record]) -> Record:
    """The sizes that a theorem is about, by domain."""
    numbers = {}
    holds = True
    for record in records:
        chosen = [size for size in record["sizes"] if size["theorem"] == theorem]
        holds &= all(size["holds"] for size in chosen)
        numbers[record["domain"]] = {
            size["what"]: {
                "reachable": size["reachable"],
                "within": size["within"],
                "bound": size["bound_within"],
                "printed_holds": size["printed_holds"],
            }
            for size in chosen
        }
    return {"id": name, "claim": claim, "holds": holds, "numbers": numbers}
