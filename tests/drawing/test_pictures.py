"""Pictures contain every state and every label, in each format."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree as ET

import pygraphviz

from pdrm.drawing.figure import make_figure, spell
from pdrm.drawing.graphviz import figure_dot, render_dot, to_dot
from pdrm.drawing.render import draw
from pdrm.drawing.tikz import escape_prose, spell_formula, to_tikz
from pdrm.machines.guards import Exactly
from tests.drawing import paper

SVG = "{http://www.w3.org/2000/svg}"


def parsed(picture: bytes):
    return ET.fromstring(picture)


def groups(picture: bytes, kind: str):
    """Title -> group of a node or edge; of edges with equal titles, the labelled edge."""
    found = {}
    for group in parsed(picture).iter(f"{SVG}g"):
        title = group.findtext(f"{SVG}title")
        if group.get("class") == kind and (title not in found or texts(group)):
            found[title] = group
    return found


def texts(group):
    return [
        "".join(text.itertext()).replace("\N{NO-BREAK SPACE}", " ")
        for text in group.iter(f"{SVG}text")
    ]


def test_svg_shows_the_machine():
    for name in paper.TEXTS:
        machine = paper.drawn(name)
        figure = make_figure(machine)
        picture = draw(machine).render("svg")
        nodes, edges = groups(picture, "node"), groups(picture, "edge")
        for state in figure.states:
            assert "".join(texts(nodes[state])) == state
            assert len(list(nodes[state].iter(f"{SVG}ellipse"))) == (
                2 if state in machine.final else 1
            )
        for edge in figure.edges:
            said = texts(edges[f"{edge.source}->{edge.target}"])
            assert edge.dashed or said == [spell(line) for line in edge.lines]
        assert f"start arrow->{machine.start}" in edges
        assert picture.count(b'class="edge"') == len(figure.edges) + 1
        shown = texts(parsed(picture))
        assert all(spell(line) in shown for line in figure.caption)


def test_png_is_a_picture_of_decent_resolution():
    picture = draw(paper.letter()).render("png")
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", picture[16:24])
    assert 1000 < width < 4000
    assert 300 < height < 2000


def test_dot_is_read_back_by_graphviz():
    for name in paper.TEXTS:
        machine = paper.drawn(name)
        graph = pygraphviz.AGraph(string=to_dot(machine))
        assert set(graph.nodes()) == {"start arrow", *machine.states, *machine.final}
        ends = {(edge.source, edge.target) for edge in make_figure(machine).edges}
        assert set(map(tuple, graph.edges())) == ends | {("start arrow", machine.start)}


def test_tikz_has_every_state_and_label():
    for name in paper.TEXTS:
        machine = paper.drawn(name)
        figure, source = make_figure(machine), to_tikz(machine)
        for state in figure.states:
            (node,) = re.findall(rf"\\node\[([^\]]*)\] \({state}\) at", source)
            assert ("accepting" in node) == (state in machine.final)
            assert ("initial" in node) == (state == machine.start)
        solid = [edge for edge in figure.edges if not edge.dashed]
        assert all(spell_formula(line) in source for edge in solid for line in edge.lines)
        assert source.count("loop above") == sum(edge.loop for edge in figure.edges)
        bare = re.sub(r"\\[{}]", "", source)
        assert bare.count("{") == bare.count("}")
        assert source.startswith(r"\documentclass")


def test_every_name_the_language_allows_can_be_drawn():
    odd = ("node", "graph", "é□", "%", "$^~_", "a;b", "`", "u.1", "@*?", "日本", "x" * 100, "1-")
    rules = [
        paper.rule("start", state, Exactly(frozenset({odd[0]})), f"{state} / eps", i)
        for i, state in enumerate(odd)
    ]
    machine = paper.built(odd, rules, final=odd, stack=odd)
    picture = draw(machine).render("svg")
    assert {"".join(texts(node)) for node in groups(picture, "node").values()} == {"start", *odd}
    assert len(groups(picture, "node")) == len(odd) + 2


def test_text_is_escaped_for_dot_and_latex():
    odd = 'a "title" <b> & \\N'
    figure = replace(make_figure(paper.letter()), title=odd, caption=((odd,),))
    assert odd in texts(parsed(render_dot(figure_dot(figure), "svg")))
    assert (
        escape_prose(odd)
        == r"a \textquotedbl{}title\textquotedbl{} \textless{}b\textgreater{} \& \textbackslash{}N"
    )


def test_nothing_is_printed_and_graphviz_is_loaded_only_to_draw():
    program = (
        "import sys, pdrm.drawing.render; assert 'pygraphviz' not in sys.modules; "
        "from tests.drawing.paper import letter; pdrm.drawing.render.draw(letter()).render('png'); print('done')"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert (ran.stdout, ran.stderr) == ("done\n", "")
