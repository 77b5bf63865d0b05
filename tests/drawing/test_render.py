"""Files are written atomically, in the format of their suffix."""

from __future__ import annotations

import pytest

from pdrm.drawing.render import FORMATS, draw
from pdrm.errors import UnknownFormat
from tests.drawing import paper

OPENINGS = {
    ".svg": b"<?xml",
    ".pdf": b"%PDF",
    ".png": b"\x89PNG",
    ".dot": b"digraph",
    ".tex": rb"\documentclass",
}


def test_the_ending_says_the_format(tmp_path):
    for ending in FORMATS:
        draw(paper.letter(), tmp_path / f"machine{ending}")
        assert (tmp_path / f"machine{ending}").read_bytes().startswith(OPENINGS[ending])
        assert draw(paper.letter()).render(ending.upper()) == draw(paper.letter()).render(
            ending.removeprefix(".")
        )


def test_a_run_is_saved_in_every_format_but_tex(tmp_path):
    run = paper.letter().run("A A B C")
    for ending in (".svg", ".png", ".pdf", ".dot"):
        draw(run, tmp_path / f"run{ending}")
        assert (tmp_path / f"run{ending}").read_bytes().startswith(OPENINGS[ending])


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path):
    for name in ["machine.gif", "machine", ".svg"]:
        with pytest.raises(UnknownFormat) as error:
            draw(paper.letter(), tmp_path / name)
        assert error.value.fix == "use one of .svg, .png, .pdf, .dot, .tex"
        assert list(tmp_path.iterdir()) == []
