"""The paper: its figures, its claims and readings, the runs recorded with the package, and the report.

Read in this order: `figures` (the paper's studies as data), `judging` (a claim and how it is judged), `claims` (every claim),
`readings` and `generated_tasks` (the figures if the paper is read otherwise), `recorded` (runs that took too long to repeat), `report`
(one self-contained page; `claims_section` is a part of it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.paper.report import write_page

__all__ = ["write_page"]

__getattr__, __dir__ = lazy(__name__)
