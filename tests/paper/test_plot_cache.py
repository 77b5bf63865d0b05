"""A figure of a report is drawn again just when its lines, its files or what draws it have changed."""

from dataclasses import replace

import numpy as np

from pdrm.drawing.curve_plots import CurveLine, panel_plot
from pdrm.paper import plot_cache
from pdrm.paper.plot_cache import KINDS, read_or_draw

LINE = CurveLine("q", "letter", "episodes", np.array([1, 2]), np.zeros(2), np.ones(2), np.ones(2))


def test_a_figure_is_drawn_again_when_anything_has_changed(tmp_path, monkeypatch):
    drawn = []

    def draw(line=LINE):
        return read_or_draw(
            tmp_path / "letter", [[line]], lambda: drawn.append(line) or panel_plot([line])
        )

    first = draw()
    assert draw() == first
    assert len(drawn) == 1
    for kind in KINDS:
        (tmp_path / f"letter.{kind}").write_bytes(b"something else")
        assert draw() == first
    (tmp_path / "letter.png").unlink()
    (tmp_path / "letter.drawn.json").write_bytes(b"{")
    assert draw() == first
    assert len(drawn) == 1 + len(KINDS) + 1
    assert draw(replace(LINE, middle=np.array([0.0, 1.0]))) != first
    assert draw(replace(LINE, name="cprm")) != first
    assert draw() == first
    assert len(drawn) == 1 + len(KINDS) + 4
    monkeypatch.setattr(plot_cache, "_drawing", lambda: "drawn otherwise")
    draw()
    assert len(drawn) == 1 + len(KINDS) + 5
