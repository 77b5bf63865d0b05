"""TikZ: a figure as LaTeX draws it in the paper, with the positions and bends of Graphviz's layout."""

from __future__ import annotations

import re
from math import atan2, degrees, hypot

from pdrm.drawing.dot import TALL, figure_dot
from pdrm.drawing.figure import Edge, Figure, NamedMachine, figure_of
from pdrm.drawing.latex import caption, formula, name, prose
from pdrm.drawing.layout import LaidOutEdge, Layout, Point, laid_out
from pdrm.drawing.words import printable

CENTIMETRES = 0.82 * 2.54 / 72
"""For one of Graphviz's points: LaTeX's letters are smaller than those the layout made room for."""

SMALLEST_BEND = 8
"""Degrees below which an edge is drawn straight."""

LARGEST_BEND = 60

DOCUMENT = r"""\documentclass[tikz, border=4pt]{standalone}
\usepackage{amsmath, amssymb}
\usetikzlibrary{arrows.meta, automata, positioning}
\begin{document}
%s\end{document}
"""


def to_tikz(machine: NamedMachine, *, title: bool = False, standalone: bool = True) -> str:
    """A machine as a LaTeX document that compiles by itself, or as the picture alone, to be put into another."""
    figure = figure_of(machine)
    picture = _picture(figure, laid_out(figure_dot(figure)), title)
    return DOCUMENT % picture if standalone else picture


def _picture(figure: Figure, layout: Layout, title: bool) -> str:
    places = {(edge.source, edge.target): edge for edge in layout.edges}
    shown = [rf"\textbf{{{prose(figure.title)}}}"] if title else []
    below = r" \\ ".join([*shown, *(caption(line) for line in figure.caption)])
    lines = [
        r"% libraries: arrows.meta, automata, positioning; packages: amsmath, amssymb",
        r"\begin{tikzpicture}[shorten >=1pt, auto, >={Stealth}]",
        *(f"  {_state(figure, state, layout.nodes[printable(state)])}" for state in figure.states),
        r"  \path[->]",
        *(
            f"    {_edge(figure, edge, places[printable(edge.source), printable(edge.target)])}"
            for edge in figure.edges
        ),
        "  ;",
        rf"  \node[align=center, below=2mm] at (current bounding box.south) {{{below}}};",
        r"\end{tikzpicture}",
    ]
    return "\n".join(lines) + "\n"


def _state(figure: Figure, state: str, at: Point) -> str:
    kinds = [
        "state",
        *(["initial"] if state == figure.start else []),
        *(["accepting"] if state in figure.final else []),
    ]
    x, y = (f"{coordinate * CENTIMETRES:.2f}" for coordinate in at)
    return rf"\node[{', '.join(kinds)}] ({_key(figure, state)}) at ({x}, {y}) {{${name(state)}$}};"


def _key(figure: Figure, state: str) -> str:
    """TikZ's name for a node: the state's where TikZ can read it, else its number (no state's name has a space)."""
    return state if re.fullmatch(r"[A-Za-z0-9_]+", state) else f"state {figure.states.index(state)}"


def _edge(figure: Figure, edge: Edge, course: LaidOutEdge) -> str:
    label = r" \\ ".join(formula(line) for line in edge.lines)
    ends = (_key(figure, edge.source), _key(figure, edge.target))
    if edge.loop:
        return f"({ends[0]}) edge [loop above] node [align=center] {{{label}}} ()"
    side = "" if course.label is None or _left_of(course, course.label) >= _left_of(course, course.middle) else ", swap"
    # A tall label right of a state with a loop moves on a little, off the loop's own label.
    place = ", pos=0.6" if len(edge.lines) >= TALL and figure.has_loop(edge.source) else ""
    bend = _bend(course)
    options = f" [bend {'left' if bend > 0 else 'right'}={abs(bend)}]" if bend else ""
    return f"({ends[0]}) edge{options} node [align=center{side}{place}] {{{label}}} ({ends[1]})"


def _bend(course: LaidOutEdge) -> int:
    """Degrees to the left at which the edge leaves, so that its middle is where Graphviz's curve has it."""
    (x0, y0), (x1, y1) = course.curve[0], course.curve[-1]
    chord = hypot(x1 - x0, y1 - y0)
    # TikZ puts the control points at 0.3915 of the chord: a curve leaving at angle t rises to 0.75 * 0.3915 * sin t of it.
    angle = round(degrees(atan2(_left_of(course, course.middle), 0.29 * chord)))
    return max(-LARGEST_BEND, min(LARGEST_BEND, angle)) if abs(angle) >= SMALLEST_BEND else 0


def _left_of(course: LaidOutEdge, point: Point) -> float:
    """How far a point lies to the left of the straight line between the ends."""
    (x0, y0), (x1, y1) = course.curve[0], course.curve[-1]
    length = hypot(x1 - x0, y1 - y0) or 1.0
    return ((x1 - x0) * (point[1] - y0) - (y1 - y0) * (point[0] - x0)) / length
