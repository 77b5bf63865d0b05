"""Files are written whole, in the format their name asks for, or not at all."""

from __future__ import annotations

import os

import pytest

from pdrm.drawing.render import FORMATS, draw
from pdrm.errors import CannotWrite, UnknownFormat
from tests.drawing import paper

OPENINGS = {
    ".svg": b"<?xml",
    ".pdf": b"%PDF",
    ".png": b"\x89PNG",
    ".dot": b"digraph",
    ".gv": b"digraph",
    ".tex": rb"\documentclass",
    ".tikz": b"% libraries",
}


def test_the_ending_says_the_format(tmp_path):
    for ending in FORMATS:
        draw(paper.letter(), tmp_path / f"machine{ending}")
        assert (tmp_path / f"machine{ending}").read_bytes().startswith(OPENINGS[ending])
        assert draw(paper.letter()).render(ending.upper()) == draw(paper.letter()).render(
            ending.removeprefix(".")
        )


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path):
    for name in ["machine.gif", "machine", ".svg"]:
        with pytest.raises(UnknownFormat) as error:
            draw(paper.letter(), tmp_path / name)
        assert error.value.fix == "use one of .svg, .png, .pdf, .dot, .gv, .tex, .tikz"
        assert list(tmp_path.iterdir()) == []


def test_an_unwritable_place_is_reported(tmp_path):
    with pytest.raises(CannotWrite, match="no such file or directory"):
        draw(paper.letter(), tmp_path / "missing" / "machine.svg")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(CannotWrite):
        draw(paper.letter(), tmp_path / "folder.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.svg"]


def test_a_failed_write_leaves_the_old_picture_and_nothing_else(tmp_path, monkeypatch):
    target = tmp_path / "machine.dot"
    target.write_text("old")

    def full(handle: int, _mode: str) -> None:
        os.write(handle, b"half a")
        os.close(handle)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(CannotWrite, match="no space left on device"):
        draw(paper.letter(), target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
