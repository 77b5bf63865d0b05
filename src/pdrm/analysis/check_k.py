"""Which top-k view of the stack is enough: one report for a domain and a machine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pdrm.analysis.certificate import Certificate, certificate
from pdrm.analysis.k_gap import Gap, k_gap
from pdrm.analysis.k_text import lines
from pdrm.analysis.optimal import Optimal, Watch, optimal
from pdrm.analysis.sufficient_k import QUESTIONS, YES, Answer, answers
from pdrm.analysis.value_iteration import check_discount
from pdrm.analysis.views import check_ks
from pdrm.analysis.witness import Situation, situation
from pdrm.domains.files import find_domain
from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.errors import BadSetting
from pdrm.product.any_machine import MachineLike, pushdown_machine
from pdrm.product.finite.arrays import END, Bound
from pdrm.product.finite.product import MEMORY, FiniteProduct

CLOSED = 200_000
"""A product with no more states than this is taken whole."""
ASKED = 5_000
"""Of a larger one, states are asked about to the depth at which there are about so many."""
LOOKED = 1_000_000
"""States that are looked at for their sake, at most."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KReport:
    """The answers for each k, and the product they were found on. Printed, it is the table that `pdrm check-k` shows."""

    optimal: Optimal
    answers: dict[int, dict[str, Answer]]
    gaps: dict[int, Gap]

    def __str__(self) -> str:
        return "\n".join(lines(self))

    def __repr__(self) -> str:
        product, smallest = self.optimal.product, {question: self.smallest(question) for question in QUESTIONS}
        return f"<KReport of {product.domain.name} with {product.machine.name}: smallest k {smallest}>"

    def smallest(self, question: str) -> int | None:
        """The smallest k whose answer is yes."""
        return min((k for k, found in self.answers.items() if found[question].verdict == YES), default=None)

    def witness(self, k: int, question: str) -> list[Situation]:
        """The situations that prove a no."""
        return [situation(self.optimal, x, k) for x in self.answers[k][question].witness]

    def certificate(self, k: int, question: str) -> Certificate:
        """The proof of a yes. Where only a policy from the start is asked about, on a product no larger than it needs."""
        answer, found = self.answers[k][question], self.optimal
        if question == "start" and answer.verdict == YES and found.product.open.size:
            product = found.product
            small = FiniteProduct(product.domain, product.machine, product.bound, product.memory)
            near = optimal(small, found.values.discount, depth=0)
            again = answers(near, k)[question]
            if again.verdict == YES and again.depth is None:
                found, answer = near, again
        return certificate(found, k, question, answer)

    def record(self) -> dict[str, Any]:
        """The report as JSON values."""
        found, product = self.optimal, self.optimal.product
        return {
            "domain": product.domain.name,
            "machine": product.machine.name,
            "discount": found.values.discount,
            "height": product.bound.height,
            "rule": product.bound.rule,
            "depth": found.depth,
            "states_asked": len(found.asked),
            "states_looked_at": int(product.states.looked[: len(product)].sum()),
            "decided": found.decided(),
            "value_from_start": list(found.values.at_start(product)),
            "k": {
                str(k): {question: answer.verdict for question, answer in asked.items()}
                for k, asked in self.answers.items()
            },
            "depths": {
                str(k): {question: answer.depth for question, answer in asked.items() if answer.verdict == YES}
                for k, asked in self.answers.items()
            },
            "smallest": {question: self.smallest(question) for question in QUESTIONS},
            "witnesses": {
                str(k): {q: [one.record() for one in self.witness(k, q)] for q in asked if asked[q].witness}
                for k, asked in self.answers.items()
            },
            "gap": {
                str(k): {"loss": list(gap.gap), "disagreeing": gap.disagreeing, "spread": gap.spread}
                for k, gap in self.gaps.items()
            },
        }


def check_k(  # noqa: PLR0913 - each is a choice of the user's
    domain: FiniteDomain | str | os.PathLike[str],
    machine: MachineLike,
    ks: Iterable[int] = range(5),
    *,
    discount: float = 0.99,
    depth: int | None = None,
    bound: Bound | None = None,
    most: int = LOOKED,
    memory: int = MEMORY,
    watch: Watch | None = None,
) -> KReport:
    """Answer the three questions for each k. The problem is the discounted one without a step limit.

    Domain and machine may be given by name or file; reward machines and automata with one counter are translated.
    Without a depth, all states are asked about where there are few enough, else those within as many steps as give some
    thousands of them.

    >>> from pdrm.domains.catalogue import domain
    >>> from pdrm.machines.catalogue import catalogue
    >>> report = check_k(domain("paint"), catalogue("paint"), ks=range(6))
    >>> report.smallest("start"), report.witness(4, "start")[1].actions
    (5, ('ask_5',))
    """
    check_discount(discount)
    if depth is not None and depth < 0:
        raise BadSetting(f"the depth is {depth}", fix="a whole number from 0 on")
    wanted = check_ks(ks)
    where, task = _domain(domain), pushdown_machine(machine)
    product = FiniteProduct(where, task, bound, memory)
    _check_start(product)
    if depth is None:
        product.explore(most=min(CLOSED, product.most_states))
        if product.lookable(product.open).size:
            product = FiniteProduct(where, task, bound, memory)
            product.explore(most=ASKED)
            depth = len(product.layers) - 1
    found = optimal(product, discount, depth, most, watch=watch)
    asked = {k: answers(found, k) for k in wanted}
    return KReport(found, asked, {k: k_gap(found, k, given["start"].choice) for k, given in asked.items()})


def _check_start(product: FiniteProduct) -> None:
    """Refuse a bound that the stack exceeds before the first step."""
    height = max((len(product.stack(int(x))) for x in product.starts if x != END), default=0)
    if product.bound.height is not None and height > product.bound.height:
        fault = f"the stack is {height} high at the start, and the bound is {product.bound.height}"
        raise BadSetting(fault, fix=f"allow it: --height {height} or more")


def _domain(given: object) -> FiniteDomain:
    """The domain that is given, or named."""
    if isinstance(given, str | os.PathLike):
        return find_domain(given)
    if not isinstance(given, FiniteDomain):
        fix = "give a FiniteDomain (pdrm.from_gymnasium makes one), a name of the catalogue, or the path of a file"
        raise BadSetting(f"{given!r} is no finite domain", fix=fix)
    return given
