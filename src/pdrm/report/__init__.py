"""The report: one self-contained page that opens from disk.

`build` puts it together: of the paper's figures, or of a study of one's own. `verdicts`, `study_section` and `theory_section` are its
parts. The name below is what users may rely on; it is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.report.build import write_page

__all__ = ["write_page"]

__getattr__, __dir__ = lazy(__name__)
