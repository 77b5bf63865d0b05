"""Arrays in files: saved arrays can be read, everything else is refused, and no code is run."""

import io
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from pdrm.files import read_arrays


def saved(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def test_saved_arrays_can_be_read():
    found = read_arrays(saved(one=np.arange(3), two=np.array("word")))
    assert found["one"].tolist() == [0, 1, 2]
    assert str(found["two"]) == "word"


def single():
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    return buffer.getvalue()


def test_other_content_is_refused():
    things = saved(thing=np.array([{}], object))
    for data in (
        b"",
        b"PK nothing",
        b"\x80\x04K\x01.",
        saved(one=np.arange(3))[:-30],
        single(),
        things,
    ):
        with pytest.raises(ValueError, match="damaged"):
            read_arrays(data)


def packed(name, data, declared=None, method=zipfile.ZIP_DEFLATED):
    """A zip file with one entry, which can claim a wrong size."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(name, data)
        if declared is not None:
            archive.infolist()[0].file_size = declared
    return buffer.getvalue()


def header(shape, kind="<f8", version=1):
    text = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2, "little") + text


def test_sizes_are_checked_before_memory_is_allocated():
    bomb = packed("x.npy", header((2**22,), "|u1") + bytes(2**22))
    hidden = packed(
        "x.npy", header((8,), "|u1") + bytes(2**22), declared=len(header((8,), "|u1")) + 8
    )
    for data in (
        bomb,
        hidden,
        packed("x.npy", header((10**12,))),
        packed("x.npy", header((-1,)) + bytes(8)),
        packed("x.npy", header((0, 2**70))),
        packed("x.npy", header((1,), version=9) + bytes(8)),
    ):
        with pytest.raises(ValueError, match="it"):
            read_arrays(data, 2**20)


def test_arrays_come_in_c_order():
    found = read_arrays(saved(one=np.asfortranarray(np.arange(6).reshape(2, 3))))["one"]
    assert found.flags.c_contiguous
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_any_flipped_byte_is_refused_or_read():
    data = saved(one=np.arange(5), two=np.array("word"))
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 0x55
        with suppress(ValueError):
            read_arrays(bytes(damaged))
