"""What can be proved: optimal values, which k is enough, and how large policies get (Sections 4 and 5).

`values` (with `value_kernel` and `graph_kernel`) bounds the value of every product state, `top_abstraction` those beyond the
frontier; `exact` finds values in fractions where ties matter;
`optimal` says which actions are optimal, as far as there is time (`time_limit`). `sufficient_k/` asks which k is enough, and has
certificates with their checker. `solving` finds optimal values and actions with any stack, from the operators of `whole_stack`. `reach` and `sizes` count tables, and `size_claims` measures the paper's claims about them.

The names below are what the rest of the package and users may rely on; each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.analysis.sizes import sizes_record
    from pdrm.analysis.solving import Solution, solve
    from pdrm.analysis.sufficient_k.certificate import (
        Certificate,
        StackCertificate,
        load_certificate,
    )
    from pdrm.analysis.sufficient_k.check_k import KSearch, check_k
    from pdrm.analysis.sufficient_k.checker import verify
    from pdrm.analysis.sufficient_k.k_report import KReport

__all__ = [
    "solve",
    "Solution",
    "check_k",
    "KReport",
    "KSearch",
    "Certificate",
    "StackCertificate",
    "load_certificate",
    "verify",
    "sizes_record",
]

__getattr__, __dir__ = lazy(__name__)
