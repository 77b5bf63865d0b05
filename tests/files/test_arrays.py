"""Arrays in files: what was saved comes back; anything else is refused in plain words, and nothing in it is run."""

import io

import numpy as np
import pytest

from pdrm.files import read_arrays


def saved(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def test_what_was_saved_comes_back():
    found = read_arrays(saved(one=np.arange(3), two=np.array("word")))
    assert found["one"].tolist() == [0, 1, 2]
    assert str(found["two"]) == "word"


def single():
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    return buffer.getvalue()


def test_anything_else_is_refused():
    for data, why in [
        (b"", "not an .npz file"),
        (b"PK nothing", "not an .npz file"),
        (b"\x80\x04K\x01.", "not an .npz file"),
        (saved(one=np.arange(3))[:-30], "not an .npz file"),
        (single(), "a single array"),
        (saved(thing=np.array([{}], object)), "`thing` holds Python objects"),
    ]:
        with pytest.raises(ValueError, match=why) as caught:
            read_arrays(data)
        assert "pickle" not in str(caught.value)


def test_a_damaged_array_is_named():
    data = bytearray(saved(one=np.arange(1000)))
    data[300] ^= 0xFF
    with pytest.raises(ValueError, match="`one` is damaged"):
        read_arrays(bytes(data))
