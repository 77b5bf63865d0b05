"""A run as a table."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from pdrm.drawing.render import draw
from pdrm.drawing.trace import TraceRow, trace_run
from tests.drawing import paper


def word(text):
    return [frozenset() if label == "-" else frozenset(label.split("+")) for label in text.split()]


def test_one_row_a_move_with_the_stack_top_first():
    rows = trace_run(paper.letter().run(word("A A+B B")))
    assert rows == [
        TraceRow("1", "{A}", "u0 → u0: {A}, z / A z, −0.01", "#", "A #", "−0.01"),
        TraceRow("2", "{A, B}", "u0 → u0: otherwise", "A #", "A #", "−0.01"),
        TraceRow("3", "{B}", "u0 → u1: {B}, z / z, −0.01", "A #", "A #", "−0.01"),
    ]


def test_counters_stand_in_the_place_of_the_stack():
    rows = trace_run(paper.drawn("counting").run(word("A B C")))
    assert [(row.before, row.after) for row in rows] == [
        ("[0]", "[1]"),
        ("[1]", "[1]"),
        ("[1]", "[0]"),
    ]
    assert rows[-1].rule == "u1 → u1: ⟨C, [1], [−1], 0⟩, then 1 silent move to u3"


def test_the_table_is_drawn(tmp_path):
    run = paper.drawn("silent").run(word("é%$ _^~"))
    for name in ("t.svg", "t.png", "t.dot"):
        draw(run, tmp_path / name)
    picture = ET.parse(tmp_path / "t.svg")
    shown = picture.iter("{http://www.w3.org/2000/svg}text")
    texts = {"".join(text.itertext()).replace("\N{NO-BREAK SPACE}", " ") for text in shown}
    assert {cell for row in trace_run(run) for cell in row} | {"step", "stack before"} <= texts
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_without_moves_and_a_high_stack_are_drawn(tmp_path):
    draw(paper.letter().run([]), tmp_path / "empty.svg")
    rows = trace_run(paper.letter().run(word("A " * 40)))
    assert rows[-1].after == "A A A A A A A A A A A A … 29 more"
