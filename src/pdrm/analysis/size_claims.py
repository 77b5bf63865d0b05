"""Section 5's claims about sizes, measured on the catalogue's machines: facts with their numbers, and whether they hold.

A theorem is about growth (O and Ω); what is checked is the number behind it, the stack that an episode begins with counted.
Whether the number printed in the paper suffices too is reported beside it. Theorem 4 is measured on marked palindromes, which
need exponentially many counter configurations and five rows of a 1-policy: after n letters and no mark, an automaton must be
in a different configuration for each of the 2ⁿ words. Ours (the two counters of `machines/conversions.py`) keeps the last
letter in its state, so its counters alone take 2ⁿ⁻¹ values for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from pdrm.analysis.reach import find_views
from pdrm.analysis.sizes import Record, sizes_record, theorem_4
from pdrm.domains.array_domain import from_arrays
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting
from pdrm.machines.configurations import Configuration
from pdrm.machines.conversions import counting_configuration, pushdown_to_counting
from pdrm.machines.counting import CountingConfiguration
from pdrm.machines.guards import label_text
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.views import FullStack
from pdrm.task import Task, pushdown_machine

MOST_LABELS = 4096
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
    labels = list(islice(machine.alphabet.labels(), MOST_LABELS + 1))
    if len(labels) > MOST_LABELS:
        fault = f"`{machine.name}` has more than {MOST_LABELS:,} labels"
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
    """What the words of n letters over 0, 1 and x lead to, the words that are refused by then left out.

    >>> measure_blowup(3)[3]
    Blowup(n=3, words=27, least=8, configurations=12, counters=6, counters_within=8, most_moves=38, one_policy_rows=5)
    """

    n: int
    words: int
    """All words of n letters."""
    least: int
    """What Theorem 4 asks for: 2ⁿ."""
    configurations: int
    """Pairs of state and counters after them."""
    counters: int
    """Counter configurations after them."""
    counters_within: int
    """Counter configurations after words of at most n letters, as in the table of a policy for n steps."""
    most_moves: int | None
    """The most moves that the automaton made for one letter so far; None where it was not run, but its configurations
    computed from the stacks they stand for."""
    one_policy_rows: int
    """Rows of the pushdown machine's 1-policy that words of at most n letters lead to."""


def measure_blowup(longest: int = 14, simulated: int = 9) -> list[Blowup]:
    """Words of 0 to `longest` letters; up to `simulated` letters the automaton itself reads them (it takes 8ⁿ moves)."""
    machine = pushdown_machine(MACHINE)
    rows = find_views(all_words(machine), machine).steps(1)
    runs = list(islice(_run_counting(machine), simulated + 1))
    found, within = [], set[tuple[int, ...]]()
    for n, stacked in enumerate(islice(_run_pushdown(machine), longest + 1)):
        computed = {counting_configuration(machine, configuration) for configuration in stacked}
        counted, moves = runs[n] if n < len(runs) else (computed, None)
        vectors = {configuration.counters for configuration in counted}
        within |= vectors
        sizes = len(counted), len(vectors), len(within)
        found.append(
            Blowup(n, len(LETTERS) ** n, theorem_4(n), *sizes, moves, int((rows <= n).sum()))
        )
    return found


def _run_pushdown(machine: PushdownRewardMachine) -> Iterator[set[Configuration]]:
    """The configurations after all words of 0, 1, 2, … letters."""
    here = {machine.begin().after}
    while True:
        yield here
        after = {
            machine.step(configuration, letter).after
            for configuration in here
            for letter in LETTERS
        }
        here = {
            configuration for configuration in after if configuration.state not in machine.final
        }


def _run_counting(
    machine: PushdownRewardMachine,
) -> Iterator[tuple[set[CountingConfiguration], int]]:
    """The same of the automaton with two counters, and the most moves that a letter took so far."""
    automaton = pushdown_to_counting(machine)
    from pdrm.product.explore_kernel import NO_ROOM, begin_exploring, explore

    explored, most = begin_exploring(automaton, LETTERS, FullStack()), 0
    states = (*automaton.states, *automaton.final)
    here = {explored.start}
    while True:
        reached = set()
        for number in here:
            node, state = divmod(number, len(states))
            values = tuple(explored.counters[node].tolist())
            reached.add(CountingConfiguration(states[state], values))
        yield reached, most
        after = set()
        for number in here:
            for letter in range(len(LETTERS)):
                while (there := explore(explored, number, letter)[0]) == NO_ROOM:
                    explored = explored.grow()
                most = max(most, int(explored.moves[letter, number]))
                after.add(int(there))
        here = {number for number in after if number % len(states) < len(automaton.states)}


def size_claims(
    records: Sequence[Record] | None = None, blown: Sequence[Blowup] | None = None
) -> list[Record]:
    """The facts size-full, size-k and size-cra; what is not given is measured (about ten seconds).

    >>> facts = size_claims([sizes_record(Task("letter"))], measure_blowup(4, 4))
    >>> [(fact["id"], fact["holds"]) for fact in facts]
    [('size-full', True), ('size-k', True), ('size-cra', True)]
    """
    measured = [sizes_record(Task(name)) for name in DOMAINS] if records is None else records
    return [
        size_full(measured),
        size_k(measured),
        size_cra(measured, measure_blowup() if blown is None else blown),
    ]


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
            "grows_last_step": round(walked[-1]["strings"] / walked[-2]["strings"], 3)
            if len(walked) > 1
            else None,
        }
    claim = "Theorem 1: a policy over whole stacks has at most |S| |U| (|Γ|⁰ + … + |Γ|^h) rows, h the highest stack"
    holds = all(size["holds"] for record in records for size in record["sizes"][:2])
    return {"id": "size-full", "claim": claim, "holds": holds, "numbers": numbers}


def size_k(records: Sequence[Record]) -> Record:
    """Theorem 2: rows of a k-policy."""
    sizes = {
        record["domain"]: [size for size in record["sizes"] if "k" in size] for record in records
    }
    numbers = {
        name: {
            size["what"]: {"rows": size["reachable"], "bound": size["bound"]["exact"]}
            for size in found
        }
        for name, found in sizes.items()
    }
    claim = "Theorem 2: a k-policy has at most |S| |U| (|Γ|⁰ + … + |Γ|^k) rows, however long the episode"
    holds = all(size["holds"] for found in sizes.values() for size in found)
    return {"id": "size-k", "claim": claim, "holds": holds, "numbers": numbers}


def size_cra(records: Sequence[Record], blown: Sequence[Blowup]) -> Record:
    """Theorem 3: rows of a policy over the counters that simulate the stack; Theorem 4: configurations, state and counters, of an automaton
    for marked palindromes."""
    states = len(pushdown_to_counting(pushdown_machine(MACHINE)).states)
    columns = (
        "n",
        "least",
        "configurations",
        "counters",
        "counters_within",
        "most_moves",
        "one_policy_rows",
    )
    numbers: Record = {
        "at_least" if name == "least" else name: [getattr(row, name) for row in blown]
        for name in columns
    }
    numbers["automaton_states"] = states
    simulating = {
        record["domain"]: [size for size in record["sizes"] if size["theorem"] == 3]
        for record in records
    }
    numbers["policies"] = {
        name: {
            size["what"]: {"reachable": size["reachable"], "bound": size["bound_within"]}
            for size in found
        }
        for name, found in simulating.items()
    }
    holds = all(size["holds"] for found in simulating.values() for size in found)
    holds &= all(
        row.configurations >= row.least and row.counters * states >= row.least for row in blown
    )
    claim = (
        "Theorem 3: a policy over counters that simulate the stack is no larger than Theorem 1 allows; Theorem 4: after n letters, an "
        "automaton for marked palindromes is in one of at least 2ⁿ configurations"
    )
    return {"id": "size-cra", "claim": claim, "holds": holds, "numbers": numbers}
