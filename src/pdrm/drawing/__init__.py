"""Drawings: machines as in the paper's figures, runs as tables, results as plots.

Names are imported on first use, so a command that prints a table does not load Graphviz. Read in
this order:

- `figure`: the label of a rule in the paper's notation (`make_line`, `spell`), and the drawing of
  a machine, with many parallel rules in few lines (`make_figure`);
- `graphviz` and `tikz`: a figure as DOT, laid out and rendered, and as LaTeX (`to_dot`, `to_tikz`);
- `trace`: a run on a word as the rows of a table (`trace_run`, `describe_end`);
- `render`: the picture of a machine, a run, a domain or a task (`draw`, `Drawing`, `FORMATS`);
- `markup` and `rows`: HTML and tables, for notebooks and the report;
- `plots`: learning curves, witnesses and episodes, with matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.drawing.graphviz import to_dot
    from pdrm.drawing.render import Drawing, draw
    from pdrm.drawing.rows import Rows
    from pdrm.drawing.tikz import to_tikz

__all__ = ["Drawing", "Rows", "draw", "to_dot", "to_tikz"]

__getattr__, __dir__ = lazy(__name__)
