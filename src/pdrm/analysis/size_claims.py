"""Section 5's claims about sizes, as facts over `sizes_record`s and the measured blow-up: numbers, and whether they hold.

A theorem is about growth (O and Ω); what is checked is the number behind it, the stack that an episode begins with counted.
Whether the number printed in the paper suffices too is reported beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pdrm.analysis.palindrome import Blowup, blowup
from pdrm.analysis.sizes import Record, sizes_record
from pdrm.domains.catalogue import domain
from pdrm.errors import BadSetting
from pdrm.machines.catalogue import catalogue
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.simulation import pushdown_to_counting

DOMAINS = ("letter", "maze-5x5", "maze-10x10", "maze-20x20", "multi-10x10", "deliver-8", "deliver-4-8", "paint", "echo")
"""The paper's tabular domains and Echo; multi-20x20 takes half a minute more and says the same."""


def size_claims(records: Sequence[Record] | None = None, blown: Sequence[Blowup] | None = None) -> list[Record]:
    """The facts size-full, size-k and size-cra; what is not given is measured (about ten seconds).

    >>> facts = size_claims([catalogue_record("letter")], blowup(4, 4))
    >>> [(fact["id"], fact["holds"]) for fact in facts]
    [('size-full', True), ('size-k', True), ('size-cra', True)]
    """
    measured = [catalogue_record(name) for name in DOMAINS] if records is None else records
    return [size_full(measured), size_k(measured), size_cra(blowup() if blown is None else blown)]


def catalogue_record(name: str, **settings: Any) -> Record:  # noqa: ANN401 - those of `sizes_record`
    """The sizes of a domain of the catalogue with its own machine."""
    where = domain(name)
    machine = catalogue(str(where.machine))
    if not isinstance(machine, PushdownRewardMachine):
        raise BadSetting(f"the machine of `{name}` has no stack", fix="name another domain")
    return sizes_record(where, machine, **settings)


def size_full(records: Sequence[Record]) -> Record:
    """Theorem 1: rows of a policy that sees the whole stack."""
    numbers = {}
    for record in records:
        strings, rows = record["sizes"][:2]
        walked = [row for row in record["growth"] if row["strings"] is not None]
        numbers[record["domain"]] = {
            "steps": rows["within"],
            "strings": strings["reachable"],
            "rows": rows["reachable"],
            "bound": rows["bound_within"],
            "printed_holds": strings["printed_holds"] and rows["printed_holds"],
            "grows_last_step": round(walked[-1]["strings"] / walked[-2]["strings"], 3) if len(walked) > 1 else None,
        }
    claim = "Theorem 1: a policy over whole stacks has at most |S| |U| (|Γ|⁰ + … + |Γ|^h) rows, h the highest stack"
    holds = all(size["holds"] for record in records for size in record["sizes"][:2])
    return {"id": "size-full", "claim": claim, "holds": holds, "numbers": numbers}


def size_k(records: Sequence[Record]) -> Record:
    """Theorem 2: rows of a k-policy."""
    numbers = {
        record["domain"]: {
            size["what"]: {"rows": size["reachable"], "bound": size["bound"]["exact"]} for size in _k_sizes(record)
        }
        for record in records
    }
    claim = "Theorem 2: a k-policy has at most |S| |U| (|Γ|⁰ + … + |Γ|^k) rows, however long the episode"
    holds = all(size["holds"] for record in records for size in _k_sizes(record))
    return {"id": "size-k", "claim": claim, "holds": holds, "numbers": numbers}


def size_cra(blown: Sequence[Blowup]) -> Record:
    """Theorems 3 and 4: configurations of a counting automaton for marked palindromes."""
    machine = catalogue("marked-palindrome")
    assert isinstance(machine, PushdownRewardMachine)  # noqa: S101 - it is in the catalogue
    states = len(pushdown_to_counting(machine).states)
    numbers = {
        "n": [row.n for row in blown],
        "at_least": [row.least for row in blown],
        "configurations": [row.configurations for row in blown],
        "counters": [row.counters for row in blown],
        "counters_within": [row.counters_within for row in blown],
        "most_moves": [row.most_moves for row in blown],
        "one_policy_rows": [row.one_policy_rows for row in blown],
        "automaton_states": states,
    }
    holds = all(row.configurations >= row.least and row.counters * states >= row.least for row in blown)
    claim = "Theorem 4: after n letters, an automaton for marked palindromes is in one of at least 2ⁿ configurations"
    return {"id": "size-cra", "claim": claim, "holds": holds, "numbers": numbers}


def _k_sizes(record: Record) -> list[Record]:
    return [size for size in record["sizes"] if "k" in size]
