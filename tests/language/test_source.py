"""From bytes to text to lines: limits, encodings, positions."""

import pytest

from pdrm.errors import PdrmError
from pdrm.language.loading import load
from pdrm.language.reader import read_guard
from pdrm.language.source import Line, decode


def said(call, *arguments):
    with pytest.raises(PdrmError) as caught:
        call(*arguments)
    return str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    missing = tmp_path / "missing.pdrm"
    expected = f"error[E0501]: {missing} cannot be opened: no such file or directory\n  fix: check the path and its permissions"
    assert said(load, missing) == expected
    assert said(load, tmp_path).startswith(
        f"error[E0501]: {tmp_path} cannot be opened: is a directory"
    )


def test_the_place_of_a_byte_that_is_no_text():
    data = "première\nd\u00e9j\u00e0 ".encode() + b"\xffvu\nlast"
    assert said(decode, data, "f.pdrm") == (
        "error[E0105]: byte 0xff is not UTF-8 text\n  --> f.pdrm:2:6\n  |\n2 | d\u00e9j\u00e0 \ufffdvu\n  |      ^\n  fix: save the file as UTF-8"
    )
    assert "f:1:1" in said(decode, b"\xffa", "f")
    assert decode(b"\xef\xbb\xbfname", "f") == "name"


def test_a_file_that_is_too_large(tmp_path):
    file = tmp_path / "large.pdrm"
    file.write_bytes(b"\xff" * 5_000_000)
    assert "E0106" in said(load, file)
    assert "E0106" in said(decode, file.read_bytes(), "<stdin>")


def test_parentheses_and_negations_count_together():
    def read(guard):
        return read_guard(Line("f", 1, guard))

    for fine in (
        "(" * 40 + "a" + ")" * 40,
        "!" * 40 + "a",
        "(" * 20 + "!" * 20 + "a" + ")" * 20,
        " & ".join(["(!a)"] * 100),
        "! " * 40 + "a",
    ):
        assert read(fine)
    assert said(read, "(" * 41 + "a").startswith(
        "error[E0107]: nested more than 40 deep\n  --> f:1:41\n"
    )
    assert "f:1:41" in said(read, "!" * 41 + "a")
    assert "f:1:45" in said(read, "b | (" + "!" * 41 + "a) & ((" + ")")
    assert "f:1:81" in said(read, "!\t" * 41 + "a")
