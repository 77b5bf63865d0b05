"""Arrays in files: `.npz`, read without ever running code, and with faults in plain words."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]


def arrays_in(data: bytes) -> Arrays:
    """The arrays in the bytes of an `.npz` file, by name; `ValueError` says what is wrong.

    >>> arrays_in(b"no")
    Traceback (most recent call last):
    ...
    ValueError: it is no .npz file, or only a part of one
    """
    try:
        found = np.load(io.BytesIO(data), allow_pickle=False)
    except (
        OSError,
        EOFError,
        ValueError,
        zipfile.BadZipFile,
    ) as error:  # NumPy's own advice is to run what is in the file
        raise ValueError("it is no .npz file, or only a part of one") from error
    if not isinstance(found, np.lib.npyio.NpzFile):
        raise ValueError("it is a single array, not an .npz file")  # noqa: TRY004 - a fault of the file
    with found:
        return {name: _array(found, name) for name in found.files}


def _array(found: Any, name: str) -> npt.NDArray[Any]:  # noqa: ANN401 - NumPy's own
    try:
        return np.array(found[name])
    except ValueError as error:
        fault = "holds Python objects" if "pickle" in str(error).lower() else f"is damaged ({error})"
        raise ValueError(f"its array `{name}` {fault}") from error
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"its array `{name}` is damaged") from error
