"""The paper: its figures and claims, alternative readings, recorded runs, and the report.

Read in this order: `figures` (the paper's studies as data), `judging` (claims, rules and verdicts),
`claims` (the list of claims), `size_claims` (those about sizes), `readings` and `generated_tasks`
(the figures under alternative readings of the paper), `recorded` (runs that come with the package),
and `report` (a self-contained page, with `claims_section`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.paper.report import write_page

__all__ = ["write_page"]

__getattr__, __dir__ = lazy(__name__)
