"""Figures as DOT, laid out and rendered in this process by Graphviz (included in pygraphviz)."""

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
"""Dots per inch of a PNG. Graphviz scales larger pictures down."""

Point = tuple[float, float]

_GRAPHVIZ_LOCK = Lock()  # Graphviz and standard error are not thread-safe


class LaidOutEdge(NamedTuple):
    """The control points of an edge's Bézier curve, and the middle of its label."""

    curve: list[Point]
    label: Point | None


Layout = tuple[list[Point], list[LaidOutEdge]]
"""The middles of the nodes, and the edges, in the order of the DOT text. The y-axis points up."""


def render_dot(dot: str, format: str) -> bytes:
    """Render a graph written in DOT; the format "dot" returns the text itself."""
    if format == "dot":
        return dot.encode()
    import pygraphviz

    with _GRAPHVIZ_LOCK, _quiet():
        graph = pygraphviz.AGraph(string=dot)
        if format == "png":
            graph.graph_attr["dpi"] = str(PNG_DPI)
        return bytes(graph.draw(format=format, prog="dot"))


def lay_out(dot: str) -> Layout:
    """Lay out a graph written in DOT, whose edges are numbered by their comments.

    >>> nodes, edges = lay_out('digraph { rankdir=LR; a; b; a -> b [comment="0"] }')
    >>> nodes[0][1] == nodes[1][1], len(edges)
    (True, 1)
    """
    graph = json.loads(render_dot(dot, "json0"))
    # By number, because Graphviz omits names that start with `%`.
    nodes = sorted(graph["objects"], key=lambda node: int(node["_gvid"]))
    edges = [edge for edge in graph["edges"] if "comment" in edge]
    edges.sort(key=lambda edge: int(edge["comment"]))
    return [_point(node["pos"]) for node in nodes], list(map(_place_edge, edges))


def _place_edge(edge: dict[str, str]) -> LaidOutEdge:
    # The tip of the arrow comes first, as `e,x,y`.
    curve = [_point(point) for point in edge["pos"].split() if not point.startswith(("e", "s"))]
    return LaidOutEdge(curve, _point(edge["lp"]) if "lp" in edge else None)


def _point(text: str) -> Point:
    x, y = text.split(",")
    return float(x), float(y)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence standard error, because the font library complains about system settings."""
    original = os.dup(2)
    with open(os.devnull, "w") as sink:
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(original, 2)
            os.close(original)


# --- A figure in DOT, from which all pictures are laid out

FONT = "Times New Roman,Liberation Serif,Nimbus Roman,DejaVu Serif,serif"
"""Serif fonts like the paper's. The first installed one is used."""

MAX_COLUMN_LENGTH = 12
"""Maximum lines of a label in one column."""

MAX_CIRCLE = 12
"""Maximum length of a state's name in a circle. Longer names get an ellipse."""

LETTER_WIDTH = 6.2
"""Average width of a character of a label, in points."""

STATE_RADIUS = 20
"""Radius of a state, in points."""

MAX_ROW = 7
"""Maximum number of states drawn from left to right. Larger machines are drawn downwards."""

MAX_LINE = 60
"""Maximum length of a label's line. Longer lines are broken after a sign between events."""

MAX_CURVED = 120
"""Maximum number of curved edges. With more, Graphviz would take minutes to find curves."""

CURVED = "splines=true"
STRAIGHT = "splines=line, nslimit=0.2, nslimit1=0.2, mclimit=0.1"
"""Graphviz's settings for figures up to that size, and for larger ones."""

START = "start arrow"
"""The tail of the initial arrow. No state's name contains a space."""


def to_dot(machine: AnyKind) -> str:
    """Convert a machine to DOT."""
    return figure_dot(make_figure(machine))


def figure_dot(figure: Figure) -> str:
    """Convert a figure to DOT."""
    direction = "TB" if len(figure.states) > MAX_ROW else "LR"
    effort = STRAIGHT if len(figure.edges) > MAX_CURVED else CURVED
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
    """Quote a DOT string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def escape_html(text: str) -> str:
    """Escape text in an HTML-like label, where a backslash would start an escape sequence."""
    return escape(text, quote=False).replace("\\", "&#92;")


def _node(figure: Figure, state: str) -> str:
    """The node of a state. The number in a name like `u0` is a subscript, as in the paper."""
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


def _margins(figure: Figure, edge: Arrow) -> tuple[int, int]:
    """Blank points before and after a label, because the labels of loops overlap their states."""
    if edge.loop:
        return 0, 0
    overlap = {loop.source: _width(loop) / 2 - STATE_RADIUS for loop in figure.edges if loop.loop}
    before = overlap.get(edge.source, 0.0)
    after = overlap.get(edge.target, 0.0)
    return max(0, round(before)), max(0, round(after))


def _break(line: str) -> list[str]:
    """Break a line into pieces of at most MAX_LINE characters, after signs between events.

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
    """The lines of an edge, in several columns if necessary, with margins."""
    pieces = [escape_html(piece) for line in edge.lines for piece in _break(spell(line))]
    height = ceil(len(pieces) / ceil(len(pieces) / MAX_COLUMN_LENGTH))
    columns = "".join(
        f"<TD>{'<BR/>'.join(pieces[first : first + height])}</TD>"
        for first in range(0, len(pieces), height)
    )
    before, after = (
        f'<TD WIDTH="{blank}"></TD>' if blank else "" for blank in _margins(figure, edge)
    )
    cells = f"{before}{columns}{after}"
    return f'<TABLE BORDER="0" CELLPADDING="4" CELLSPACING="2"><TR>{cells}</TR></TABLE>'
