"""Drawings: machines as the paper's figures (SVG, PNG, DOT, TikZ), runs as tables. Graphviz is loaded when one is made."""

from pdrm.drawing.drawing_files import FORMATS, RUN_FORMATS, draw, draw_run, render
from pdrm.drawing.graphviz import to_dot
from pdrm.drawing.tikz import to_tikz
from pdrm.drawing.trace import TraceRow, trace_rows, verdict

__all__ = [
    "FORMATS",
    "RUN_FORMATS",
    "TraceRow",
    "draw",
    "draw_run",
    "render",
    "to_dot",
    "to_tikz",
    "trace_rows",
    "verdict",
]
