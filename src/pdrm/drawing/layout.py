"""Layout and rendering by Graphviz, inside this process (its library comes with pygraphviz)."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import hypot
from threading import Lock

PNG_DPI = 200
"""Dots per inch of a PNG; a picture too large for that is scaled down by Graphviz."""

Point = tuple[float, float]

_ONE_AT_A_TIME = Lock()  # Graphviz is not thread-safe, nor is standard error


@dataclass(frozen=True, slots=True)
class LaidOutEdge:
    """Where an edge runs (control points of its Bézier curve) and where the middle of its label is.

    >>> LaidOutEdge(0, 1, ((0, 0), (0, 4), (8, 4), (8, 0)), (4, 5)).middle
    (4.0, 3.0)
    """

    source: int
    target: int
    curve: tuple[Point, ...]
    label: Point | None

    @property
    def middle(self) -> Point:
        """The middle of the curve."""
        segments = len(self.curve) // 3
        if segments % 2 == 0:
            return self.curve[3 * segments // 2]
        first, second, third, fourth = self.curve[3 * (segments // 2) : 3 * (segments // 2) + 4]
        x, y = ((first[i] + 3 * second[i] + 3 * third[i] + fourth[i]) / 8 for i in (0, 1))
        return x, y

    def left(self, point: Point) -> float:
        """How far a point lies to the left of the straight line between the ends."""
        (x0, y0), (x1, y1) = self.curve[0], self.curve[-1]
        return ((x1 - x0) * (point[1] - y0) - (y1 - y0) * (point[0] - x0)) / (hypot(x1 - x0, y1 - y0) or 1.0)


@dataclass(frozen=True, slots=True)
class Layout:
    """Middles of the nodes and courses of the edges, in points, upwards; nodes count from 0 in the order of the DOT text.

    >>> layout = laid_out("digraph { rankdir=LR; a -> b }")
    >>> layout.nodes[0][1] == layout.nodes[1][1], layout.edges[0].source, layout.edges[0].target
    (True, 0, 1)
    """

    nodes: tuple[Point, ...]
    edges: tuple[LaidOutEdge, ...]


def rendered(dot: str, format: str) -> bytes:  # noqa: A002 (Graphviz's own word)
    """A picture of a graph written in DOT."""
    import pygraphviz

    with _ONE_AT_A_TIME, _quiet():
        graph = pygraphviz.AGraph(string=dot)
        if format == "png":
            graph.graph_attr["dpi"] = str(PNG_DPI)
        return bytes(graph.draw(format=format, prog="dot"))


def laid_out(dot: str) -> Layout:
    """Positions of a graph written in DOT."""
    graph = json.loads(rendered(dot, "json0"))
    # Numbers, not names: Graphviz takes a name that starts with `%` for one of its own and leaves it out.
    nodes = tuple(_point(node["pos"]) for node in sorted(graph["objects"], key=lambda node: int(node["_gvid"])))
    edges = tuple(
        LaidOutEdge(
            edge["tail"],
            edge["head"],
            # The end of the arrow comes first, as `e,x,y`; the curve stops short of it.
            tuple(_point(point) for point in edge["pos"].split() if not point.startswith(("e", "s"))),
            _point(edge["lp"]) if "lp" in edge else None,
        )
        for edge in graph["edges"]
    )
    return Layout(nodes, edges)


def _point(text: str) -> Point:
    x, y = text.split(",")
    return float(x), float(y)


@contextmanager
def _quiet() -> Iterator[None]:
    """Nothing on standard error: the font library's remarks on the system's settings are nobody's concern here."""
    try:
        kept = os.dup(2)
    except OSError:  # closed: nothing can be printed
        yield
        return
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
