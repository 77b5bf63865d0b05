"""TikZ: a figure as LaTeX draws it in the paper, with the positions and curves of Graphviz's layout."""

from __future__ import annotations

import re

from pdrm.drawing.dot import figure_dot
from pdrm.drawing.figure import Edge, Figure, NamedMachine, figure_of
from pdrm.drawing.latex import caption, formula, name, prose
from pdrm.drawing.layout import LaidOutEdge, Layout, Point, laid_out

CENTIMETRES = 0.82 * 2.54 / 72
"""For one of Graphviz's points: LaTeX's letters are smaller than those the layout made room for."""

STRAIGHT = 3
"""Points that a curve may leave the straight line between its ends and still be drawn as one."""

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
    number = {state: index for index, state in enumerate(figure.states, start=1)}  # 0 is the start arrow's tail
    courses = {(edge.source, edge.target): edge for edge in layout.edges}
    shown = [rf"\textbf{{{prose(figure.title)}}}"] if title else []
    below = r" \\ ".join([*shown, *(caption(line) for line in figure.caption)])
    lines = [
        r"% libraries: arrows.meta, automata, positioning; packages: amsmath, amssymb",
        r"\begin{tikzpicture}[shorten >=1pt, auto, >={Stealth}]",
        *(f"  {_state(figure, state, layout.nodes[number[state]])}" for state in figure.states),
        *(
            f"  {line}"
            for edge in figure.edges
            for line in _edge(figure, edge, courses[number[edge.source], number[edge.target]])
        ),
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
    return rf"\node[{', '.join(kinds)}] ({_key(figure, state)}) at {_coordinate(at)} {{${name(state)}$}};"


def _key(figure: Figure, state: str) -> str:
    """TikZ's name for a node: the state's where TikZ can read it, else its number (no state's name has a space)."""
    return state if re.fullmatch(r"[A-Za-z0-9_]+", state) else f"state {figure.states.index(state)}"


def _edge(figure: Figure, edge: Edge, course: LaidOutEdge) -> list[str]:
    """An edge and its label, both where Graphviz has made room for them."""
    label = r" \\ ".join(formula(line) for line in edge.lines)
    source, target = _key(figure, edge.source), _key(figure, edge.target)
    if edge.loop:
        return [rf"\path[->] ({source}) edge [loop above] node [align=center] {{{label}}} ();"]
    at = _coordinate(course.label or course.middle)
    return [rf"\draw[->] ({source}) {_curve(course)} ({target});", rf"\node[align=center] at {at} {{{label}}};"]


def _curve(course: LaidOutEdge) -> str:
    """TikZ's operation between the two states: a line, or the Bézier curves of the layout."""
    if all(abs(course.left(point)) <= STRAIGHT for point in course.curve):
        return "--"
    points = [_coordinate(point) for point in course.curve]
    parts = [f".. controls {points[i]} and {points[i + 1]} .." for i in range(1, len(points) - 1, 3)]
    return "".join(f"{part} {points[3 * i + 3]} " for i, part in enumerate(parts[:-1])) + parts[-1]


def _coordinate(point: Point) -> str:
    return f"({point[0] * CENTIMETRES:.2f}, {point[1] * CENTIMETRES:.2f})"
