"""The files of a policy: arrays in a `.npz`, and beside them a description in JSON that holds their fingerprint.

Both are written whole or not at all, and nothing in them is run when they are read.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.errors import BadPolicyFile, UnknownFormat
from pdrm.files.arrays import arrays_in
from pdrm.files.whole_file import write
from pdrm.learning.run_folder import in_words
from pdrm.machines.text.source import decode, read_bytes

VERSION = 1
ARRAYS = ".npz"
Arrays = dict[str, npt.NDArray[Any]]
FAULTS = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError)
"""What goes wrong inside a file that is damaged or is something else."""


def arrays_bytes(arrays: Arrays) -> bytes:
    """The arrays as one file; the same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def fingerprint(arrays: Arrays) -> str:
    """SHA-256 of the arrays' file."""
    return hashlib.sha256(arrays_bytes(arrays)).hexdigest()


def write_policy(path: str | Path, arrays: Arrays, description: dict[str, Any]) -> None:
    """Write `path` (.npz) and the description beside it (.json)."""
    file, data = Path(path), arrays_bytes(arrays)
    if file.suffix != ARRAYS:
        fault = f"a policy is saved as {ARRAYS}, and `{file.name}` ends otherwise"
        raise UnknownFormat(fault, fix=f"call it {file.with_suffix(ARRAYS).name}")
    about = description["about"]
    described = {"pdrm_policy": VERSION, **description, "sha256": hashlib.sha256(data).hexdigest(), "about": about}
    write(file, data)
    write(file.with_suffix(".json"), (json.dumps(described, indent=1, ensure_ascii=False) + "\n").encode())


def read_policy(path: str | Path) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and the description in a policy's files."""
    file = Path(path)
    beside = file.with_suffix(".json")
    try:
        description = json.loads(decode(read_bytes(beside), str(beside)))
        _check_tabular(file, description)
        sha256 = str(description["sha256"])
    except FAULTS as error:
        raise no_policy(file, in_words(error, beside.name)) from error
    try:
        data = file.read_bytes()
        arrays = arrays_in(data)
    except FAULTS as error:
        raise no_policy(file, in_words(error)) from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise no_policy(file, f"it does not match the fingerprint in {beside.name}")
    if description.get("pdrm_policy") != VERSION:
        raise no_policy(file, f"it is of version {description.get('pdrm_policy')}, and this program reads {VERSION}")
    return arrays, description


def _check_tabular(file: Path, description: dict[str, Any]) -> None:
    """Raise where the policy is a deep agent's: networks need the domain that they were learnt in."""
    if "pdrm_deep_policy" in description:
        fix = f'pdrm.load_deep_policy("{file}", domain), with the domain that it was learnt in'
        raise BadPolicyFile(f"{file} is the policy of a deep agent, not a table", fix=fix)


def no_policy(file: Path, why: str) -> BadPolicyFile:
    """The error that a file holds no policy."""
    fix = "restore a copy of it, or remove the run's folder and train again"
    return BadPolicyFile(f"{file} is no policy, or is damaged: {why}", fix=fix)
