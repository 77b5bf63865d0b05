"""What can be proved: optimal values, which k is enough, and how large policies get (Sections 4 and 5).

`values` (with `value_kernel` and `graph_kernel`) bounds the value of every product state, `top_abstraction` those beyond the
frontier; `exact` finds values in fractions where ties matter;
`optimal` says which actions are optimal, as far as there is time (`time_limit`). `sufficient_k` asks the three questions about
k, with `from_start` and `k_gap`; `check_k` is the report. `certificate` keeps what proves a yes, and `checker` checks it with
nothing of the solver. `solving` finds optimal values and actions with any stack, from summaries. `reach` and `sizes` count tables, and `size_claims` measures the paper's claims about them.

The names below are what the rest of the package and users may rely on; each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.analysis.certificate import Certificate, load_certificate
    from pdrm.analysis.check_k import KReport, KSearch, check_k
    from pdrm.analysis.checker import verify
    from pdrm.analysis.sizes import sizes_record
    from pdrm.analysis.solving import Solution, solve

__all__ = [  # noqa: RUF022 - in the order one reads them
    "solve",
    "Solution",
    "check_k",
    "KReport",
    "KSearch",
    "Certificate",
    "load_certificate",
    "verify",
    "sizes_record",
]

__getattr__, __dir__ = lazy(__name__)
