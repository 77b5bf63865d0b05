"""The paper's claims about sizes (Section 5), measured on the built-in machines.

The theorems are about growth (O and Ω). The numbers behind them are checked, with the initial stack
counted. Theorem 4 is measured on marked palindromes, which need exponentially many counter
configurations but only five rows of a 1-policy. After n letters without a mark, an automaton must
be in a different configuration for each of the 2ⁿ words. The two counters of
`machines/conversions.py` keep the last letter in the state, so the counters alone need 2ⁿ⁻¹ values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdrm.analysis.sizes import Record, sizes, theorem_4
from pdrm.machines.conversions import counting_configuration, pushdown_to_counting
from pdrm.machines.transitions import Stack
from pdrm.task import pushdown_machine

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
"""The paper's tabular domains and Echo. multi-20x20 takes half a minute more and adds nothing."""


@dataclass(frozen=True, slots=True)
class Blowup:
    """Counts after all words of n letters over 0, 1 and x, without refused words.

    >>> row = measure_blowup(3)[3]
    >>> row.words, row.least, row.configurations, row.counters, row.one_policy_rows
    (27, 8, 12, 6, 5)
    """

    n: int
    words: int
    """The number of words of n letters."""
    least: int
    """The lower bound of Theorem 4: 2ⁿ."""
    configurations: int
    """Pairs of state and counters."""
    counters: int
    """Counter configurations."""
    counters_within: int
    """Counter configurations after words of at most n letters."""
    one_policy_rows: int
    """Rows of the pushdown machine's 1-policy, for words of at most n letters."""


def measure_blowup(longest: int = 14) -> list[Blowup]:
    """Read all words of 0 to `longest` letters."""
    machine = pushdown_machine(MACHINE)
    configurations = {machine.begin().after}
    vectors_within = set[tuple[int, ...]]()
    policy_rows = set[tuple[str, Stack]]()
    measured = []
    for n in range(longest + 1):
        counting = {counting_configuration(machine, one) for one in configurations}
        vectors = {configuration.counters for configuration in counting}
        vectors_within |= vectors
        policy_rows |= {(one.state, one.stack[:1]) for one in configurations}
        measured.append(
            Blowup(
                n=n,
                words=len(LETTERS) ** n,
                least=theorem_4(n),
                configurations=len(counting),
                counters=len(vectors),
                counters_within=len(vectors_within),
                one_policy_rows=len(policy_rows),
            )
        )
        after = {machine.step(one, letter).after for one in configurations for letter in LETTERS}
        configurations = {one for one in after if one.state not in machine.final}
    return measured


def size_claims(
    records: Sequence[Record] | None = None, blowups: Sequence[Blowup] | None = None
) -> list[Record]:
    """The facts size-full, size-k and size-cra, measured by default (about ten seconds).

    >>> facts = size_claims([sizes("letter")], measure_blowup(4))
    >>> [(fact["id"], fact["holds"]) for fact in facts]
    [('size-full', True), ('size-k', True), ('size-cra', True)]
    """
    measured = [sizes(name) for name in DOMAINS] if records is None else records
    rows = measure_blowup() if blowups is None else blowups
    states = len(pushdown_to_counting(pushdown_machine(MACHINE)).states)
    columns = ["n", "configurations", "counters", "counters_within", "one_policy_rows"]
    palindromes = {
        "at_least": [row.least for row in rows],
        **{name: [getattr(row, name) for row in rows] for name in columns},
        "automaton_states": states,
    }
    theorem_4_holds = all(
        row.configurations >= row.least and row.counters * states >= row.least for row in rows
    )
    whole = (
        "Theorem 1: a policy over whole stacks has at most |S| |U| (|Γ|⁰ + … + |Γ|^h) rows,"
        " h the highest stack"
    )
    top = "Theorem 2: a k-policy has at most |S| |U| (|Γ|⁰ + … + |Γ|^k) rows in any episode"
    counters = (
        "Theorem 3: a policy over counters that simulate the stack is at most as large as in Theorem 1"
        " allows; Theorem 4: after n letters, an automaton for marked palindromes is in one of at"
        " least 2ⁿ configurations"
    )
    facts = [
        _fact("size-full", whole, 1, measured),
        _fact("size-k", top, 2, measured),
        _fact("size-cra", counters, 3, measured),
    ]
    facts[2]["numbers"] = {**palindromes, "policies": facts[2]["numbers"]}
    facts[2]["holds"] &= theorem_4_holds
    return facts


def _fact(name: str, claim: str, theorem: int, records: Sequence[Record]) -> Record:
    """A fact about the sizes of one theorem, by domain."""
    numbers = {}
    holds = True
    for record in records:
        sizes_of_theorem = [size for size in record["sizes"] if size["theorem"] == theorem]
        holds &= all(size["holds"] for size in sizes_of_theorem)
        numbers[record["domain"]] = {
            size["what"]: {
                "reachable": size["reachable"],
                "within": size["within"],
                "bound": size["bound_within"],
                "printed_holds": size["printed_holds"],
            }
            for size in sizes_of_theorem
        }
    return {"id": name, "claim": claim, "holds": holds, "numbers": numbers}
