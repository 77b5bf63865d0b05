"""TikZ: a figure as LaTeX draws it in the paper, with the positions and curves of Graphviz's layout.

Labels are formulas, captions prose with names as formulas in it.
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
"""The paper's signs inside a formula."""

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
"""Characters that mean something to LaTeX in prose, or that its usual fonts lack."""


def spell_formula(tokens: Tokens) -> str:
    r"""A line of a label.

    >>> from pdrm.drawing.figure import ExactLabel, Name
    >>> print(spell_formula((ExactLabel(("A",)), ", z / ", Name("#"), " z, −1e5")))
    $\{A\},\ z / \#\ z,\ -1e5$
    """

    def sign(text: str) -> str:
        return SIGN.sub(lambda found: SIGNS[found[0]], text)

    return "$" + spell(tokens, spell_name, sign, (r"\{", r"\}")) + "$"


def spell_name(text: str) -> str:
    r"""A name inside a formula: a letter as such, a letter's number below it, words upright.

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
    r"""Text outside formulas.

    >>> print(escape_prose("50% of a_1"))
    50\% of a\_1
    """
    return "".join(CHARACTERS.get(character, character) for character in text)


# --- The picture

CENTIMETRES = 0.82 * 2.54 / 72
"""For one of Graphviz's points: LaTeX's letters are smaller than those the layout made room for."""

BREAK = r" \\ "
"""Between two lines."""

DOCUMENT = r"""\documentclass[tikz, border=4pt]{standalone}
\usepackage{amsmath, amssymb}
\usetikzlibrary{arrows.meta, automata, positioning}
\begin{document}
%s\end{document}
"""


def to_tikz(machine: AnyKind) -> str:
    r"""A machine as a LaTeX document, which compiles by itself or is included by `\includestandalone`."""
    figure = make_figure(machine)
    return DOCUMENT % _picture(figure, lay_out(figure_dot(figure)))


def _picture(figure: Figure, layout: Layout) -> str:
    (_, *nodes), courses = layout  # the first node is the tail of the start arrow
    shown = [
        "".join(
            escape_prose(token) if isinstance(token, str) else spell_formula((token,))
            for token in line
        )
        for line in figure.caption
    ]
    lines = [
        r"% libraries: arrows.meta, automata, positioning; packages: amsmath, amssymb",
        r"\begin{tikzpicture}[shorten >=1pt, auto, >={Stealth}]",
        *(f"  {_state(figure, state, at)}" for state, at in zip(figure.states, nodes, strict=True)),
        *(
            f"  {line}"
            for edge, course in zip(figure.edges, courses, strict=True)
            for line in _edge(figure, edge, course)
        ),
        rf"  \node[align=center, below=2mm] at (current bounding box.south) {{{BREAK.join(shown)}}};",
        r"\end{tikzpicture}",
    ]
    return "\n".join(lines) + "\n"


def _state(figure: Figure, state: str, at: Point) -> str:
    kinds = f"state{', initial' * (state == figure.start)}{', accepting' * (state in figure.final)}"
    return (
        rf"\node[{kinds}] ({_key(figure, state)}) at {_coordinate(at)} {{${spell_name(state)}$}};"
    )


def _key(figure: Figure, state: str) -> str:
    """TikZ's name for a node: the state's where TikZ can read it, else its number (no state's name has a space)."""
    return state if re.fullmatch(r"[A-Za-z0-9_]+", state) else f"state {figure.states.index(state)}"


def _edge(figure: Figure, edge: Arrow, course: LaidOutEdge) -> list[str]:
    """An edge and its label, both where Graphviz has made room for them."""
    label = BREAK.join(spell_formula(line) for line in edge.lines)
    source, target = _key(figure, edge.source), _key(figure, edge.target)
    if edge.dashed:
        return [rf"\draw[->, dashed] ({source}) {_curve(course)} ({target});"]
    if edge.loop:
        return [rf"\path[->] ({source}) edge [loop above] node [align=center] {{{label}}} ();"]
    lines = [rf"\draw[->] ({source}) {_curve(course)} ({target});"]
    if course.label is not None:
        lines.append(rf"\node[align=center] at {_coordinate(course.label)} {{{label}}};")
    return lines


def _curve(course: LaidOutEdge) -> str:
    """TikZ's operation between the two states: the Bézier curves of the layout."""
    _, *points = map(_coordinate, course.curve)
    parts = [
        f".. controls {points[place]} and {points[place + 1]} .. {points[place + 2]}"
        for place in range(0, len(points), 3)
    ]
    return " ".join(parts).removesuffix(f" {points[-1]}")


def _coordinate(point: Point) -> str:
    return f"({point[0] * CENTIMETRES:.2f}, {point[1] * CENTIMETRES:.2f})"
