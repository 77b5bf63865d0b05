"""Graphviz: a figure as DOT, laid out and rendered inside this process (the library comes with pygraphviz)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from math import ceil
from threading import Lock
from typing import NamedTuple

from pdrm.drawing.figure import Arrow, Figure, make_figure, spell
from pdrm.machines.machine import AnyKind

PNG_DPI = 200
"""Dots per inch of a PNG; a picture too large for that is scaled down by Graphviz."""

Point = tuple[float, float]

_ONE_AT_A_TIME = Lock()  # Graphviz is not thread-safe, nor is standard error


class LaidOutEdge(NamedTuple):
    """The course of an edge (control points of its Bézier curve) and the middle of its label."""

    curve: list[Point]
    label: Point | None


Layout = tuple[list[Point], list[LaidOutEdge]]
"""The middles of the nodes and the courses of the edges, in points, upwards, in the order of the DOT text."""


def render_dot(dot: str, format: str) -> bytes:
    """A picture of a graph written in DOT, or this text itself as a file."""
    if format == "dot":
        return dot.encode()
    import pygraphviz

    with _ONE_AT_A_TIME, _quiet():
        graph = pygraphviz.AGraph(string=dot)
        if format == "png":
            graph.graph_attr["dpi"] = str(PNG_DPI)
        return bytes(graph.draw(format=format, prog="dot"))


def lay_out(dot: str) -> Layout:
    """Positions of a graph written in DOT, whose edges are numbered by their comments.

    >>> nodes, edges = lay_out('digraph { rankdir=LR; a; b; a -> b [comment="0"] }')
    >>> nodes[0][1] == nodes[1][1], len(edges)
    (True, 1)
    """
    graph = json.loads(render_dot(dot, "json0"))
    # Numbers, not names: Graphviz takes a name that starts with `%` for one of its own and leaves it out.
    nodes = sorted(graph["objects"], key=lambda node: int(node["_gvid"]))
    edges = [edge for edge in graph["edges"] if "comment" in edge]
    edges.sort(key=lambda edge: int(edge["comment"]))
    return [_point(node["pos"]) for node in nodes], list(map(_course, edges))


def _course(edge: dict[str, str]) -> LaidOutEdge:
    # The end of the arrow comes first, as `e,x,y`; the curve stops short of it.
    curve = [_point(point) for point in edge["pos"].split() if not point.startswith(("e", "s"))]
    return LaidOutEdge(curve, _point(edge["lp"]) if "lp" in edge else None)


def _point(text: str) -> Point:
    x, y = text.split(",")
    return float(x), float(y)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence standard error, which the font library comments on the system's settings to."""
    kept = os.dup(2)
    with open(os.devnull, "w") as sink:
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


# --- A figure in Graphviz's language, the form every picture is laid out from

FONT = "Times New Roman,Liberation Serif,Nimbus Roman,DejaVu Serif,serif"
"""Serif like the paper's, on any system: the first family that is installed is used."""

MAX_COLUMN_LENGTH = 12
"""Lines of a label above which it is set in columns."""

MAX_CIRCLE = 12
"""Characters of a state's name above which it gets an ellipse, because a circle would be as high as wide."""

LETTER_WIDTH = 6.2
"""Points a letter of a label takes on average."""

STATE_RADIUS = 20
"""Points from the middle of a state to its side."""

MAX_ROW = 7
"""States up to which a machine is drawn from left to right; a larger one is drawn downwards, or it would be too wide."""

MAX_LINE = 60
"""Characters above which a line of a label is broken, after a sign between events."""

MAX_CURVED = 120
"""Edges above which they are drawn straight: Graphviz would take minutes to find curves."""

EFFORT = ("splines=true", "splines=line, nslimit=0.2, nslimit1=0.2, mclimit=0.1")
"""Graphviz's settings for figures up to that size, and above it."""

START = "start arrow"
"""The tail of the initial arrow; no state's name has a space."""


def to_dot(machine: AnyKind) -> str:
    """A machine in Graphviz's language."""
    return figure_dot(make_figure(machine))


def figure_dot(figure: Figure) -> str:
    """A figure in Graphviz's language."""
    direction = "TB" if len(figure.states) > MAX_ROW else "LR"
    effort = EFFORT[len(figure.edges) > MAX_CURVED]
    caption = "<BR/>".join(escape_html(spell(line)) for line in figure.caption)
    lines = [
        f"digraph {quote(figure.title)} {{",
        f"  graph [rankdir={direction}, nodesep=0.5, ranksep=0.4, {effort}, labelloc=b, "
        f'margin=0, pad=0.15, bgcolor=white, fontname="{FONT}", fontsize=12];',
        f'  node [shape=circle, margin="0.04,0.04", width=0.55, height=0.55, '
        f'fontname="{FONT}", fontsize=16, penwidth=0.8];',
        f'  edge [fontname="{FONT}", fontsize=12, arrowsize=0.7, penwidth=0.8];',
        f"  label=<{caption}>;",
        f"  {quote(START)} [shape=plaintext, label=start, fontsize=12, "
        'width=0, height=0, margin="0.02,0"];',
        *(f"  {_node(figure, state)}" for state in figure.states),
        f"  {quote(START)} -> {quote(figure.start)} [minlen=1, weight=10];",
        *(f"  {_edge(figure, edge, number)}" for number, edge in enumerate(figure.edges)),
        "}",
    ]
    return "\n".join(lines) + "\n"


def quote(text: str) -> str:
    """A DOT string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def escape_html(text: str) -> str:
    """Text inside a label of Graphviz's HTML kind; a backslash would start one of its escapes."""
    return escape(text, quote=False).replace("\\", "&#92;")


def _node(figure: Figure, state: str) -> str:
    """A state with its name, `u0` as in the paper: the number set below the letter."""
    indexed = re.fullmatch(r"([^\W\d_])(\d+)", state)
    name = (
        f"<I>{indexed[1]}</I><SUB>{indexed[2]}</SUB>" if indexed else f"<I>{escape_html(state)}</I>"
    )
    shape = "" if len(state) <= MAX_CIRCLE else ", shape=ellipse"
    rings = ", peripheries=2" if state in figure.final else ""
    return f"{quote(state)} [label=<{name}>{shape}{rings}];"


def _edge(figure: Figure, edge: Arrow, number: int) -> str:
    look = "style=dashed, weight=0" if edge.dashed else f"label=<{_label(figure, edge)}>"
    return f'{quote(edge.source)} -> {quote(edge.target)} [comment="{number}", {look}];'


def _room(figure: Figure, edge: Arrow) -> tuple[int, int]:
    """Blank points before and after a label, because Graphviz lets the labels of loops hang over their states' sides."""
    if edge.loop:
        return 0, 0
    over = {loop.source: _width(loop) / 2 - STATE_RADIUS for loop in figure.edges if loop.loop}
    before, after = over.get(edge.source, 0.0), over.get(edge.target, 0.0)
    return max(0, round(before)), max(0, round(after))


def _break(line: str) -> list[str]:
    """A line in pieces that are not too wide, each but the last with the sign after which it is broken.

    >>> _break(" ∨ ".join(["coffee"] * 9))
    ['coffee ∨ coffee ∨ coffee ∨ coffee ∨ coffee ∨ coffee ∨', 'coffee ∨ coffee ∨ coffee']
    """
    pieces = [""]
    for part in re.split(r"(?<= [∧∨|]) ", line):
        if pieces[-1] and len(pieces[-1]) + len(part) >= MAX_LINE:
            pieces.append(part)
        else:
            pieces[-1] = f"{pieces[-1]} {part}".lstrip()
    return pieces


def _width(edge: Arrow) -> float:
    """The approximate width of an edge's label, in points."""
    return LETTER_WIDTH * max(len(piece) for line in edge.lines for piece in _break(spell(line)))


def _label(figure: Figure, edge: Arrow) -> str:
    """The lines of an edge under each other, in several columns if there are many, with blank points before and after them."""
    pieces = [escape_html(piece) for line in edge.lines for piece in _break(spell(line))]
    height = ceil(len(pieces) / ceil(len(pieces) / MAX_COLUMN_LENGTH))
    columns = "".join(
        f"<TD>{'<BR/>'.join(pieces[first : first + height])}</TD>"
        for first in range(0, len(pieces), height)
    )
    room = _room(figure, edge)
    before, after = (f'<TD WIDTH="{blank}"></TD>' if blank else "" for blank in room)
    cells = f"{before}{columns}{after}"
    return f'<TABLE BORDER="0" CELLPADDING="4" CELLSPACING="2"><TR>{cells}</TR></TABLE>'
