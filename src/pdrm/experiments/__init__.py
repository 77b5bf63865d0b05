"""Experiments: studies as data, and what came of them.

`panel` and `study` say what is run: tasks × agents × seeds; `study_file` reads one from a file.
`curves` and `statistics` are what came of it; `study_report` writes the page about it.
`paper/` has the paper's figures, its claims and the readings under which they are judged.

The names below are what the rest of the package and users may rely on; each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.experiments.curves import Curves, Store
    from pdrm.experiments.panel import AgentLine, Panel
    from pdrm.experiments.study import Results, Study, run_study
    from pdrm.experiments.study_file import load_study
    from pdrm.learning.execution import Workers
    from pdrm.learning.sinks import TensorBoard, WeightsAndBiases

__all__ = [
    "Study",
    "Panel",
    "AgentLine",
    "load_study",
    "run_study",
    "Results",
    "Curves",
    "Workers",
    "Store",
    "TensorBoard",
    "WeightsAndBiases",
]

__getattr__, __dir__ = lazy(__name__)
