"""Proofs about tasks: optimal values, sufficient k, and the sizes of policies (Sections 4 and 5).

`solving` finds optimal values and actions with any stack: from the operators of `whole_stack`, or
for stochastic tasks by `value_iteration` on the finite product. `values` bounds the values of a
growing product, with `top_bounds` for its unexplored part. `k_search` bounds the loss of the best
k-policy: `best_policy` searches for the policy, `regret` compares states that look alike, `witness`
describes them, and `k_report` prints the results. `certify` makes a `certificate`, and `checker`
verifies it on the `stepped_product`, without the solver. `reachable_rows` and `sizes` count tables.

The names below are the chapter's public interface. Each is imported on first use.
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
