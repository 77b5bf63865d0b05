"""Tables of rows, with notes below them."""

from __future__ import annotations

from typing import Any, NamedTuple

from pdrm.drawing.rows import Rows


class Square(NamedTuple):
    number: int

    def record(self) -> dict[str, Any]:
        return {"number": self.number, "square": self.number**2}


def test_a_slice_keeps_the_notes():
    rows = Rows(10, Square, ["squares"])
    assert rows[2:5]["square"] == [4, 9, 16]
    assert str(rows[2:5]).splitlines()[-1] == "squares"
    assert "squares" in rows[::-1]._repr_html_()
