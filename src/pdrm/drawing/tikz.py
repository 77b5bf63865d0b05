"""Figures in TikZ, as in the paper, with the positions and curves of Graphviz's layout.

Labels are formulas. Captions are prose with names as formulas.
"""

from __future__ import annotations

import re

from pdrm.drawing.figure import Arrow, Figure, Tokens, make_figure, spell
from pdrm.drawing.graphviz import LaidOutEdge, Layout, Point, figure_dot, lay_out
from pdrm.machines.machine import AnyKind

SIGNS = {
    " | ": r" \mid ",
    ", ": r",\ ",
    " ": r"\ ",
    "ε": r"\epsilon ",
    " ∧ ": r" \land ",
    " ∨ ": r" \lor ",
    "¬": r"\neg ",
    "⊤": r"\top ",
    "⊥": r"\bot ",
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
    "−": "-",
    " / ": " / ",
}
"""The paper's signs in formulas."""

SIGN = re.compile("|".join(sorted(map(re.escape, SIGNS), key=len, reverse=True)))

CHARACTERS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "#": r"\#",
    "$": r"\$",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\textquotedbl{}",
    "□": r"$\square$",
    "⟨": r"$\langle$",
    "⟩": r"$\rangle$",
    "−": "$-$",
}
"""Characters that are special in LaTeX prose, or missing in its usual fonts."""


def spell_formula(tokens: Tokens) -> str:
    r"""Write a line of a label as a formula.

    >>> from pdrm.drawing.figure import ExactLabel, Name
    >>> print(spell_formula((ExactLabel(("A",)), ", z / ", Name("#"), " z, −1e5")))
    $\{A\},\ z / \#\ z,\ -1e5$
    """

    def sign(text: str) -> str:
        return SIGN.sub(lambda match: SIGNS[match[0]], text)

    return "$" + spell(tokens, spell_name, sign, (r"\{", r"\}")) + "$"


def spell_name(text: str) -> str:
    r"""Write a name in a formula: letters italic, their numbers as subscripts, words upright.

    >>> print(spell_name("A"), spell_name("u0"), spell_name("#"), spell_name("loc_1"))
    A u_{0} \# \textsf{loc\_1}
    """
    indexed = re.fullmatch(r"([A-Za-z])([0-9]*)", text)
    if indexed:
        return f"{indexed[1]}_{{{indexed[2]}}}" if indexed[2] else text
    if text in ("#", "%", "$"):
        return CHARACTERS[text]
    return rf"\textsf{{{escape_prose(text)}}}"


def escape_prose(text: str) -> str:
    r"""Escape text outside formulas.

    >>> print(escape_prose("50% of a_1"))
    50\% of a\_1
    """
    return "".join(CHARACTERS.get(character, character) for character in text)


# --- The picture

CENTIMETRES = 0.82 * 2.54 / 72
"""Per Graphviz point, reduced because LaTeX's letters are smaller than those of the layout."""

BREAK = r" \\ "
"""A line break."""

DOCUMENT = r"""\documentclass[tikz, border=4pt]{standalone}
\usepackage{amsmath, amssymb}
\usetikzlibrary{arrows.meta, automata, positioning}
\begin{document}
%s\end{document}
"""


def to_tikz(machine: AnyKind) -> str:
    r"""Convert a machine to a LaTeX document, standalone or for `\includestandalone`."""
    figure = make_figure(machine)
    return DOCUMENT % _picture(figure, lay_out(figure_dot(figure)))


def _picture(figure: Figure, layout: Layout) -> str:
    (_, *nodes), edges = layout  # the first node is the tail of the start arrow
    caption = [
        "".join(
            escape_prose(token) if isinstance(token, str) else spell_formula((token,))
            for token in line
        )
        for line in figure.caption
    ]
    lines = [
        r"% libraries: arrows.meta, automata, positioning; packages: amsmath, amssymb",
        r"\begin{tikzpicture}[shorten >=1pt, auto, >={Stealth}]",
        *(
            f"  {_state(figure, state, point)}"
            for state, point in zip(figure.states, nodes, strict=True)
        ),
        *(
            f"  {line}"
            for edge, laid_out in zip(figure.edges, edges, strict=True)
            for line in _edge(figure, edge, laid_out)
        ),
        r"  \node[align=center, below=2mm] at (current bounding box.south) "
        f"{{{BREAK.join(caption)}}};",
        r"\end{tikzpicture}",
    ]
    return "\n".join(lines) + "\n"


def _state(figure: Figure, state: str, point: Point) -> str:
    initial = ", initial" if state == figure.start else ""
    accepting = ", accepting" if state in figure.final else ""
    return (
        rf"\node[state{initial}{accepting}] ({_key(figure, state)}) "
        rf"at {_coordinate(point)} {{${spell_name(state)}$}};"
    )


def _key(figure: Figure, state: str) -> str:
    """A node's name in TikZ: the state's if TikZ supports it, otherwise its number."""
    return state if re.fullmatch(r"[A-Za-z0-9_]+", state) else f"state {figure.states.index(state)}"


def _edge(figure: Figure, edge: Arrow, laid_out: LaidOutEdge) -> list[str]:
    """Draw an edge and its label at the positions of Graphviz's layout."""
    label = BREAK.join(spell_formula(line) for line in edge.lines)
    source, target = _key(figure, edge.source), _key(figure, edge.target)
    if edge.dashed:
        return [rf"\draw[->, dashed] ({source}) {_curve(laid_out)} ({target});"]
    if edge.loop:
        return [rf"\path[->] ({source}) edge [loop above] node [align=center] {{{label}}} ();"]
    lines = [rf"\draw[->] ({source}) {_curve(laid_out)} ({target});"]
    if laid_out.label is not None:
        lines.append(rf"\node[align=center] at {_coordinate(laid_out.label)} {{{label}}};")
    return lines


def _curve(laid_out: LaidOutEdge) -> str:
    """TikZ's path between two states: the Bézier curves of the layout."""
    _, *points = map(_coordinate, laid_out.curve)
    parts = [
        f".. controls {points[first]} and {points[first + 1]} .. {points[first + 2]}"
        for first in range(0, len(points), 3)
    ]
    return " ".join(parts).removesuffix(f" {points[-1]}")


def _coordinate(point: Point) -> str:
    return f"({point[0] * CENTIMETRES:.2f}, {point[1] * CENTIMETRES:.2f})"
