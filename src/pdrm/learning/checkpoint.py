"""Checkpoints: the arrays of a run, with a checksum that is tested when they are read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pdrm.files import Arrays, encode_arrays, read_arrays

DIGEST = hashlib.sha256().digest_size
"""Bytes of the checksum, at the beginning of the file."""


def encode_checkpoint(arrays: Mapping[str, Any]) -> bytes:
    """The bytes of a checkpoint's file."""
    data = encode_arrays(arrays)
    return hashlib.sha256(data).digest() + data


def decode_checkpoint(data: bytes) -> Arrays:
    """The arrays of a checkpoint; `ValueError` if its checksum does not fit.

    >>> import numpy as np
    >>> data = encode_checkpoint({"a": np.arange(3)})
    >>> decode_checkpoint(data)["a"].tolist()
    [0, 1, 2]
    >>> decode_checkpoint(data[:-1])
    Traceback (most recent call last):
    ...
    ValueError: its checksum does not fit
    """
    own = data[DIGEST:]
    if hashlib.sha256(own).digest() != data[:DIGEST]:
        raise ValueError("its checksum does not fit")
    return read_arrays(own)
