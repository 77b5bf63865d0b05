"""Experiments: studies as data, and their results.

`panel` and `study` define the runs: tasks × agents × seeds. `study_file` reads a study from a file.
`curves` and `statistics` contain the results, and `study_report` writes a page about them. The
paper's figures and claims are in `pdrm.paper`.

The names below are the public interface. They are imported lazily.
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
