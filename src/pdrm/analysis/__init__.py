"""Proofs about tasks: optimal values, which k is enough, and how large policies get (Sections 4 and 5).

`solving` finds optimal values and actions with any stack: from the operators of `whole_stack`, or with chance by
`value_iteration` on the finite product. `values` keeps bounds of the values of a product that grows (`top_bounds` for what was
not explored). `k_search` asks what the best k-policy loses: `best_policy` searches for it, `regret` compares states that look
alike, `witness` says which, `k_report` prints it. `certify` makes a `certificate`, and `checker` checks one without the solver,
on the `stepped_product`. `reachable_rows` and `sizes` count tables, and `size_claims` measures the paper's claims about them.

The names below are what the rest of the package and users may rely on; each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.analysis.certificate import Certificate, load_certificate
    from pdrm.analysis.checker import verify
    from pdrm.analysis.k_policy import KPolicy, load_k_policy
    from pdrm.analysis.k_report import KReport
    from pdrm.analysis.k_search import check_k
    from pdrm.analysis.solving import Solution, solve

__all__ = [
    "solve",
    "Solution",
    "check_k",
    "KReport",
    "KPolicy",
    "load_k_policy",
    "Certificate",
    "load_certificate",
    "verify",
]

__getattr__, __dir__ = lazy(__name__)
