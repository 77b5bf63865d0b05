"""DOT: a figure in Graphviz's language, the form every picture is laid out from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from math import ceil

from pdrm.drawing.figure import Edge, Figure, NamedMachine, figure_of
from pdrm.drawing.words import plain, printable

FONT = "Times New Roman,Liberation Serif,Nimbus Roman,DejaVu Serif,serif"
"""Serif like the paper's, on any system: the first family that is installed is used."""

LONGEST_COLUMN = 12
"""Lines of a label above which it is set in columns."""

WIDEST_CIRCLE = 12
"""Characters of a state's name above which it gets an ellipse, since a circle would be as high as wide."""

TALL = 3
"""Lines that reach up to where the labels of loops are."""

LETTER_WIDTH = 6.2
"""Points a letter of a label takes on average."""

STATE_RADIUS = 20
"""Points from the middle of a state to its side."""

START = "start arrow"
"""The tail of the initial arrow; no state's name has a space."""


def to_dot(machine: NamedMachine, *, title: bool = False) -> str:
    """A machine in Graphviz's language."""
    return figure_dot(figure_of(machine), title=title)


def figure_dot(figure: Figure, *, title: bool = False) -> str:
    """A figure in Graphviz's language."""
    lines = [
        f"digraph {quoted(figure.title)} {{",
        "  graph [rankdir=LR, nodesep=0.5, ranksep=0.4, splines=true, labelloc=b, labeljust=c, "
        f'margin=0, pad=0.15, bgcolor=white, fontname="{FONT}", fontsize=12];',
        f'  node [shape=circle, fixedsize=false, margin="0.04,0.04", width=0.55, height=0.55, '
        f'fontname="{FONT}", fontsize=16, penwidth=0.8];',
        f'  edge [fontname="{FONT}", fontsize=12, arrowsize=0.7, penwidth=0.8];',
        f"  label={_caption(figure, title)};",
        f'  {quoted(START)} [shape=plaintext, label="start", fontsize=12, width=0, height=0, margin="0.02,0"];',
        *(f"  {_node(figure, state)}" for state in figure.states),
        f"  {quoted(START)} -> {quoted(figure.start)} [minlen=1, weight=10];",
        *(f"  {_edge(figure, edge)}" for edge in figure.edges),
        "}",
    ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A DOT string."""
    return '"' + printable(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def html(text: str) -> str:
    """Text inside a label of Graphviz's HTML kind; a backslash would start one of its escapes."""
    return escape(printable(text), quote=False).replace("\\", "&#92;")


def _node(figure: Figure, state: str) -> str:
    shape = "" if len(state) <= WIDEST_CIRCLE else ", shape=ellipse"
    rings = ", peripheries=2" if state in figure.final else ""
    return f"{quoted(state)} [label=<{_state_label(state)}>{shape}{rings}];"


def _state_label(state: str) -> str:
    """A state's name, `u0` as in the paper: the number set below the letter."""
    indexed = re.fullmatch(r"([^\W\d_])(\d+)", state)
    return f"<I>{indexed[1]}</I><SUB>{indexed[2]}</SUB>" if indexed else f"<I>{html(state)}</I>"


def _edge(figure: Figure, edge: Edge) -> str:
    label = columns([plain(line) for line in edge.lines], _room(figure, edge))
    return f"{quoted(edge.source)} -> {quoted(edge.target)} [label=<{label}>];"


def _room(figure: Figure, edge: Edge) -> int:
    """Blank points to leave beside a tall label, because Graphviz lets labels of loops hang over their states' sides."""
    if edge.loop or len(edge.lines) < TALL:
        return 0
    hanging = [other.lines for other in figure.edges if other.loop and other.source in (edge.source, edge.target)]
    widest = max((len(plain(line)) for lines in hanging for line in lines), default=0)
    return max(0, int(widest * LETTER_WIDTH / 2) - STATE_RADIUS)


def columns(lines: Sequence[str], room: int = 0) -> str:
    """Lines under each other, in several columns where there are many, with blank points to the left and right."""
    count = ceil(len(lines) / LONGEST_COLUMN)
    height = ceil(len(lines) / count)
    cells = "".join(f"<TD>{stacked(lines[i : i + height])}</TD>" for i in range(0, len(lines), height))
    blank = f'<TD WIDTH="{room}"></TD>' if room else ""
    return f'<TABLE BORDER="0" CELLPADDING="4" CELLSPACING="2"><TR>{blank}{cells}{blank}</TR></TABLE>'


def stacked(lines: Iterable[str]) -> str:
    """Lines under each other."""
    return "<BR/>".join(html(line) for line in lines)


def _caption(figure: Figure, title: bool) -> str:
    shown = [f"<B>{html(figure.title)}</B>"] if title else []
    return f"<{'<BR/>'.join([*shown, *(html(plain(line)) for line in figure.caption)])}>"
